//! References of feeds to IRIs. Pages are in the crawl's normal form, so that an item's subject is the name of its
//! page's graph; a fragment stays, because many items of one page differ in nothing else.

use oxrdf::NamedNode;
use webloom_model::url::URL_BYTES_MAX;
use webloom_model::{PageUrl, UrlProblem};

/// Resolves a reference. Nothing for what is no reference, and for what is none of our business (`javascript:`).
pub(super) fn resolve(base: &PageUrl, reference: &str) -> Option<NamedNode> {
    let reference = reference.trim();
    if reference.is_empty() {
        return None;
    }
    match base.join(reference) {
        Ok(url) => {
            let fragment =
                reference.split_once('#').map(|(_, fragment)| fragment).filter(|text| !text.is_empty());
            let Some(fragment) = fragment else { return Some(url.graph_name()) };
            NamedNode::new(format!("{}#{fragment}", url.as_str())).ok().or_else(|| Some(url.graph_name()))
        }
        Err(UrlProblem::Scheme { scheme, .. })
            if !matches!(scheme.as_str(), "javascript" | "data" | "about") =>
        {
            absolute(reference)
        }
        Err(_) => None,
    }
}

/// An identifier that is an IRI as it stands: `urn:`, `tag:`, or a URL.
pub(super) fn absolute(text: &str) -> Option<NamedNode> {
    let text = text.trim();
    let (scheme, rest) = text.split_once(':')?;
    let plausible = scheme.len() > 1
        && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
        && !rest.is_empty()
        && text.len() <= URL_BYTES_MAX;
    if !plausible {
        return None;
    }
    if scheme.eq_ignore_ascii_case("http") || scheme.eq_ignore_ascii_case("https") {
        return PageUrl::parse(text).ok().and_then(|url| resolve(&url, text));
    }
    NamedNode::new(text).ok()
}

/// True for an IRI of the web.
pub(super) fn is_page(iri: &NamedNode) -> bool {
    iri.as_str().starts_with("http://") || iri.as_str().starts_with("https://")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let base = PageUrl::parse("http://example.org/a/feed").unwrap();
        for (reference, expected) in [
            ("../x", Some("http://example.org/x")),
            (" HTTP://Example.COM#a ", Some("http://example.com/#a")),
            ("p#frag ment", Some("http://example.org/a/p")),
            ("mailto:a@b.example", Some("mailto:a@b.example")),
            ("javascript:x()", None),
            ("http://[", None),
            ("", None),
        ] {
            assert_eq!(resolve(&base, reference).as_ref().map(NamedNode::as_str), expected, "{reference}");
        }
        for (text, expected) in [
            ("tag:example.org,2004:1", Some("tag:example.org,2004:1")),
            ("urn:uuid:1", Some("urn:uuid:1")),
            ("abc", None),
            ("a:b", None),
            ("12:30", None),
            ("http://EXAMPLE.org/~x", Some("http://example.org/~x")),
        ] {
            assert_eq!(absolute(text).as_ref().map(NamedNode::as_str), expected, "{text}");
        }
    }
}
