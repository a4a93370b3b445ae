//! The rule "same domain": a host is within a listed name if it is that name or ends in a dot and it.

use std::collections::BTreeSet;

use webloom_model::PageUrl;

use super::Refusal;

/// Domains: pay-level ones of seeds, and whatever is listed, at any level.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DomainSet(BTreeSet<String>);

impl DomainSet {
    /// Adds a domain, such as `example.org` or `docs.example.org`.
    pub fn insert(&mut self, domain: &str) {
        self.0.insert(normal(domain));
    }

    pub(super) fn check(&self, url: &PageUrl) -> Result<(), Refusal> {
        if is_within(url.host(), |name| self.0.contains(name)) { Ok(()) } else { Err(Refusal::Domain) }
    }
}

/// `example.org.` is the whole name of `example.org`.
pub(super) fn without_root(host: &str) -> &str {
    host.strip_suffix('.').unwrap_or(host)
}

/// True when the host or one of its parents is listed.
pub(super) fn is_within(host: &str, is_listed: impl Fn(&str) -> bool) -> bool {
    let mut name = without_root(host);
    loop {
        if is_listed(name) {
            return true;
        }
        // An address has no parents: `1.2.3.4` is not within `3.4`, and nobody lists `3.4`.
        match name.split_once('.') {
            Some((_, parent)) => name = parent,
            None => return false,
        }
    }
}

impl<'a> FromIterator<&'a str> for DomainSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(domains: I) -> Self {
        Self(domains.into_iter().map(normal).collect())
    }
}

/// `*.example.org` and `.example.org` are written for `example.org` often enough.
fn normal(domain: &str) -> String {
    domain.trim().trim_start_matches("*.").trim_matches('.').to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_match_at_label_boundaries() {
        let set: DomainSet = ["docs.example.org", "*.Example.NET", "[::1]", "10.0.0.1"].into_iter().collect();
        for (url, expected) in [
            ("http://docs.example.org/", true),
            ("http://a.b.docs.example.org/", true),
            ("http://example.org/", false),
            ("http://mydocs.example.org/", false),
            ("http://www.example.net/", true),
            ("http://example.net/", true),
            ("http://www.example.net./", true),
            ("http://[::1]:8080/", true),
            ("http://10.0.0.1/", true),
            ("http://10.0.0.2/", false),
        ] {
            assert_eq!(set.check(&PageUrl::parse(url).unwrap()).is_ok(), expected, "{url}");
        }
    }
}
