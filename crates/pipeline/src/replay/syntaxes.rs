//! Which syntax of a page says what: its archived copy is read again, once for each syntax.
//!
//! In: an [`ArchivedCopy`]. Out: what each syntax gives alone. Nothing is kept with the quads for this; it is worked out when somebody looks
//! at a page. Code from strangers (GRDDL) and the rules of a specification are left out: they may ask others.

use std::collections::BTreeSet;

use oxrdf::Quad;
use webloom_detect::detect;
use webloom_model::PageUrl;
use webloom_transform::{Syntax, TransformConfig, transform};

use super::ArchivedCopy;

/// What each syntax says, in the order of [`Syntax::ALL`]; those that say nothing are left out.
pub fn by_syntax(copy: &ArchivedCopy, url: &PageUrl, bytes_max: u64) -> Vec<(Syntax, Vec<Quad>)> {
    let page = detect(copy.page(url, bytes_max));
    Syntax::ALL
        .into_iter()
        .filter(|syntax| !matches!(syntax, Syntax::Grddl | Syntax::Xslt))
        .map(|syntax| {
            let config =
                TransformConfig { only: Some(BTreeSet::from([syntax])), ..TransformConfig::default() };
            (syntax, transform(&page, &config).quads)
        })
        .filter(|(_, quads)| !quads.is_empty())
        .collect()
}
