//! A fuzz target; the properties are in `src/lib.rs`.
#![no_main]
use libfuzzer_sys::fuzz_target;
use webloom_fuzz::*;
use webloom_model::DocumentKind;
use webloom_transform::Syntax;

fuzz_target!(|data: &[u8]| {
    use DocumentKind::{Atom, JsonFeed, Opml, Rss, Sitemap};
    check_one_of(&[Rss, Atom, JsonFeed, Opml, Sitemap], &[Syntax::Feed], data);
});
