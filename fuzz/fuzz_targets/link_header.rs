//! A fuzz target; the properties are in `src/lib.rs`.
#![no_main]
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| webloom_fuzz::check_link_header(data));
