//! What a crawl covers: one small rule per file, put together in [`Scope`].
//!
//! [`Scope::admits`] is asked of every link, of seeds, and of the targets of redirects. It answers with
//! the first rule that refuses, in the order of [`Refusal`].

mod domains;
mod extensions;
mod hosts;
mod joined;
mod length;
mod patterns;
mod scheme;
mod traps;

pub use domains::DomainSet;
pub use extensions::{DEFAULT_EXTENSIONS, ExtensionSet};
pub use hosts::HostSet;
pub use joined::Joined;
pub use patterns::{Patterns, ScopeProblem};
pub use traps::{TrapRules, is_dated};
use webloom_model::{PageUrl, UrlProblem};

/// Why a URL is not followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Refusal {
    /// Not http or https, or not the one of them the crawl allows.
    Scheme,
    /// No URL at all: a blank node, or text that cannot be parsed.
    NotAUrl,
    /// The page or the link says `nofollow`.
    Nofollow,
    /// The URL is longer than allowed.
    TooLong,
    /// The file's extension is of what is surely no page.
    Extension,
    /// The path goes in circles, or is deeper than any honest one.
    Circles,
    /// A date too far off to be anything but a calendar without end.
    Calendar,
    /// Another host than the seeds'.
    Host,
    /// Another domain than the seeds' and those listed.
    Domain,
    /// An `exclude` expression matches.
    Excluded,
    /// No `include` expression matches.
    NotIncluded,
    /// The page has more links than are taken from one.
    TooMany,
}

impl Refusal {
    /// A stable kebab-case name, for counting and for people.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Scheme => "scheme",
            Self::NotAUrl => "not-a-url",
            Self::Nofollow => "nofollow",
            Self::TooLong => "too-long",
            Self::Extension => "extension",
            Self::Circles => "circles",
            Self::Calendar => "calendar",
            Self::Host => "host",
            Self::Domain => "domain",
            Self::Excluded => "excluded",
            Self::NotIncluded => "not-included",
            Self::TooMany => "too-many",
        }
    }
}

impl From<&UrlProblem> for Refusal {
    fn from(problem: &UrlProblem) -> Self {
        match problem {
            UrlProblem::Unparsable { .. } => Self::NotAUrl,
            UrlProblem::Scheme { .. } => Self::Scheme,
            UrlProblem::TooLong { .. } => Self::TooLong,
        }
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Where a crawl may go.
#[derive(Debug, Clone, Default)]
pub enum Reach {
    /// Wherever links lead.
    #[default]
    Anywhere,
    /// The hosts of the seeds.
    Hosts(HostSet),
    /// The pay-level domains of the seeds, and those listed.
    Domains(DomainSet),
}

/// What a crawl covers.
#[derive(Debug, Clone, Default)]
pub struct Scope {
    /// Where it may go.
    pub reach: Reach,
    /// Where else it may go since it runs.
    pub joined: Joined,
    /// What it leaves out there.
    pub filters: ScopeFilters,
}

/// What is left out wherever it is.
#[derive(Debug, Clone)]
pub struct ScopeFilters {
    /// Only https.
    pub https_only: bool,
    /// Bytes of a URL.
    pub url_bytes_max: usize,
    /// Extensions of what is surely no page.
    pub extensions: ExtensionSet,
    /// What gives traps away.
    pub traps: TrapRules,
    /// Regular expressions.
    pub patterns: Patterns,
}

impl Default for ScopeFilters {
    fn default() -> Self {
        Self {
            https_only: false,
            url_bytes_max: webloom_model::url::URL_BYTES_MAX,
            extensions: ExtensionSet::default(),
            traps: TrapRules::default(),
            patterns: Patterns::default(),
        }
    }
}

impl Scope {
    /// Anywhere, with the usual filters.
    pub fn anywhere() -> Self {
        Self::default()
    }

    /// The hosts of the seeds.
    pub fn hosts_of<'a>(seeds: impl IntoIterator<Item = &'a PageUrl>) -> Self {
        Self { reach: Reach::Hosts(seeds.into_iter().map(PageUrl::host).collect()), ..Self::default() }
    }

    /// The pay-level domains of the seeds.
    pub fn domains_of<'a>(seeds: impl IntoIterator<Item = &'a PageUrl>) -> Self {
        let domains = seeds.into_iter().map(PageUrl::pay_level_domain).collect();
        Self { reach: Reach::Domains(domains), ..Self::default() }
    }

    /// True or the reason why not.
    pub fn admits(&self, url: &PageUrl) -> Result<(), Refusal> {
        self.check(url, true, true)
    }

    /// The same, whatever the file's extension: a packed sitemap that a sitemap lists.
    pub fn admits_any_extension(&self, url: &PageUrl) -> Result<(), Refusal> {
        self.check(url, false, true)
    }

    /// The same, wherever it is.
    pub fn admits_anywhere(&self, url: &PageUrl) -> Result<(), Refusal> {
        self.check(url, true, false)
    }

    /// The same, whatever the file's extension.
    pub fn admits_any_extension_anywhere(&self, url: &PageUrl) -> Result<(), Refusal> {
        self.check(url, false, false)
    }

    /// The site of a URL: its host or its pay-level domain, whichever the reach goes by. Nothing when it goes anywhere.
    pub fn site_of<'u>(&self, url: &'u PageUrl) -> Option<&'u str> {
        match self.reach {
            Reach::Anywhere => None,
            Reach::Hosts(_) => Some(url.host()),
            Reach::Domains(_) => Some(url.pay_level_domain()),
        }
    }

    /// The site of a URL, when it is beyond the reach and could join it.
    pub fn joins_as<'u>(&self, url: &'u PageUrl) -> Option<&'u str> {
        self.reaches(url).err()?;
        self.site_of(url)
    }

    /// Makes the site of a URL part of the reach, of all clones of this scope too. False when it is.
    pub fn join(&self, url: &PageUrl) -> bool {
        self.joins_as(url).is_some_and(|name| self.joined.insert(name))
    }

    fn reaches(&self, url: &PageUrl) -> Result<(), Refusal> {
        match &self.reach {
            Reach::Anywhere => Ok(()),
            Reach::Hosts(_) if self.joined.has_host(url.host()) => Ok(()),
            Reach::Hosts(hosts) => hosts.check(url),
            Reach::Domains(_) if self.joined.has_domain_of(url.host()) => Ok(()),
            Reach::Domains(domains) => domains.check(url),
        }
    }

    fn check(&self, url: &PageUrl, by_extension: bool, by_reach: bool) -> Result<(), Refusal> {
        let ScopeFilters { https_only, url_bytes_max, extensions, traps, patterns } = &self.filters;
        scheme::check(url, *https_only)?;
        length::check(url, *url_bytes_max)?;
        if by_extension {
            extensions.check(url)?;
        }
        traps.check(url)?;
        if by_reach {
            self.reaches(url)?;
        }
        patterns.check(url)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn url(text: &str) -> PageUrl {
        PageUrl::parse(text).unwrap()
    }

    #[test]
    fn reach_and_filters_answer_with_the_first_reason() {
        let seed = url("https://www.example.co.uk/start");
        let hosts = Scope::hosts_of([&seed]);
        let domains = Scope::domains_of([&seed]);
        let mut strict = Scope::domains_of([&seed]);
        strict.filters.https_only = true;
        strict.filters.url_bytes_max = 60;
        strict.filters.patterns =
            Patterns::new(&["/docs/".to_owned()], &["[?&]session=".to_owned()]).unwrap();
        for (scope, target, expected) in [
            (&hosts, "https://www.example.co.uk/a", Ok(())),
            (&hosts, "http://www.example.co.uk:8080/a", Ok(())),
            (&hosts, "https://example.co.uk/a", Err(Refusal::Host)),
            (&domains, "https://shop.example.co.uk/a", Ok(())),
            (&domains, "https://example.co.uk/", Ok(())),
            (&domains, "https://other.co.uk/", Err(Refusal::Domain)),
            (&domains, "https://notexample.co.uk/", Err(Refusal::Domain)),
            (&domains, "https://example.co.uk.evil.example/", Err(Refusal::Domain)),
            (&domains, "https://example.co.uk/logo.PNG", Err(Refusal::Extension)),
            (&domains, "https://example.co.uk/logo.png?size=2", Err(Refusal::Extension)),
            (&domains, "https://example.co.uk/x?file=logo.png", Ok(())),
            (&domains, "https://example.co.uk/v1.0/page", Ok(())),
            (&strict, "http://example.co.uk/docs/", Err(Refusal::Scheme)),
            (&strict, "https://example.co.uk/docs/", Ok(())),
            (&strict, "https://example.co.uk/docs/?session=1", Err(Refusal::Excluded)),
            (&strict, "https://example.co.uk/blog/", Err(Refusal::NotIncluded)),
            (
                &strict,
                "https://example.co.uk/docs/0123456789012345678901234567890123456789",
                Err(Refusal::TooLong),
            ),
        ] {
            assert_eq!(scope.admits(&url(target)), expected, "{target}");
        }
        assert_eq!(Scope::anywhere().admits(&url("http://anything.example/")), Ok(()));
    }

    #[test]
    fn a_site_joins_by_its_host_or_its_domain_and_filters_hold_there_too() {
        let seed = url("https://old.example/");
        let target = url("https://www.new.co.uk/");
        for (mut scope, name, sibling) in [
            (Scope::hosts_of([&seed]), "www.new.co.uk", Err(Refusal::Host)),
            (Scope::domains_of([&seed]), "new.co.uk", Ok(())),
        ] {
            scope.filters.https_only = true;
            scope.filters.patterns = Patterns::new(&[], &["/private/".to_owned()]).unwrap();
            let of_others = scope.clone();
            assert_eq!(scope.joins_as(&target), Some(name));
            assert_eq!(scope.admits_anywhere(&target), Ok(()));
            assert_eq!(scope.admits_anywhere(&url("http://www.new.co.uk/")), Err(Refusal::Scheme));
            assert_eq!(scope.admits_anywhere(&url("https://www.new.co.uk/private/")), Err(Refusal::Excluded));
            assert!(scope.join(&target) && !scope.join(&target) && !scope.join(&seed));
            assert_eq!(of_others.joins_as(&target), None);
            for (link, expected) in [
                ("https://www.new.co.uk/page", Ok(())),
                ("https://docs.new.co.uk/page", sibling),
                ("https://old.example/page", Ok(())),
                ("https://other.co.uk/", sibling.and(Err(Refusal::Domain))),
                ("https://www.new.co.uk/private/", Err(Refusal::Excluded)),
                ("https://www.new.co.uk/logo.png", Err(Refusal::Extension)),
            ] {
                assert_eq!(of_others.admits(&url(link)), expected, "{name} {link}");
            }
        }
        assert!(!Scope::anywhere().join(&target));
    }
}
