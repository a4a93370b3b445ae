//! A fuzz target; the properties are in `src/lib.rs`.
#![no_main]
use libfuzzer_sys::fuzz_target;
use webloom_fuzz::*;
use webloom_model::DocumentKind;
use webloom_transform::Syntax;

fuzz_target!(|data: &[u8]| {
    check(DocumentKind::Html, &[Syntax::Html], data);
    check_repeated(DocumentKind::Html, &[], data);
    check_links(data);
});
