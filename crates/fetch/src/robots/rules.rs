//! What one robots.txt says to one crawler.
//!
//! In: the directives of `lines.rs`, and the crawler's name. Out: [`RobotsRules`], the rules of the groups that speak to it.
//! Groups follow RFC 9309: agents named in a row share the rules that follow; groups of one name are one; who is named
//! anywhere does not hear what is said to `*`. Of the rules that cover a path the longest decides, and of two that are equally
//! long the one that allows. Start at [`RobotsRules::parse`].

use std::ops::Range;
use std::time::Duration;

use webloom_model::PageUrl;

use super::lines::{Directive, Key, directives};
use super::pattern::{Form, covers, normal_path, path_of_url};
use crate::headers::PAUSE_MAX;

/// Bytes of a robots.txt that are read; RFC 9309 asks for 500 KiB at least.
pub const ROBOTS_BYTES_MAX: usize = 500 << 10;

/// Sitemaps that are remembered of one robots.txt.
const SITEMAPS_MAX: usize = 1_000;

/// What one robots.txt says to one crawler.
#[derive(Debug, Clone, Default)]
pub struct RobotsRules {
    /// The rule that decides comes before those it outranks. One list per form, for lengths differ.
    literal: RuleList,
    normal: RuleList,
    crawl_delay: Option<Duration>,
    sitemaps: Vec<String>,
}

/// Rules in the order they are tried, their patterns in one piece of memory.
#[derive(Debug, Clone, Default)]
struct RuleList {
    patterns: Vec<u8>,
    rules: Vec<Rule>,
}

#[derive(Debug, Clone)]
struct Rule {
    pattern: Range<u32>,
    allows: bool,
    line: u32,
}

/// A verdict, and where it comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Decision {
    /// Whether the URL may be fetched.
    pub allowed: bool,
    /// The line of the robots.txt that decided, from 1; nothing when no rule covers the URL.
    pub line: Option<u32>,
}

impl RobotsRules {
    /// Reads a robots.txt for the crawler of the given name. Never fails: what is not understood says nothing.
    pub fn parse(text: &[u8], agent: &str) -> Self {
        let mut named = Group::default();
        let mut everyone = Group::default();
        let mut sitemaps = Vec::new();
        // Whether the last agents named are us, or everyone; and whether a rule has followed, which closes their list.
        let (mut to_us, mut to_everyone, mut list_closed) = (false, false, false);
        // The pause asked of the agents named so far is asked of those that follow in the same list too.
        let mut list_delay = None;
        for Directive { key, value, line } in directives(whole_lines(text)) {
            match key {
                Key::UserAgent => {
                    if std::mem::take(&mut list_closed) {
                        (to_us, to_everyone, list_delay) = (false, false, None);
                    }
                    match value {
                        [b'*'] | [b'*', b' ' | b'\t' | 0x0b | 0x0c, ..] => {
                            to_everyone = true;
                            everyone.delay = everyone.delay.max(list_delay);
                        }
                        _ if is_name_of(value, agent) => {
                            to_us = true;
                            named.is_there = true;
                            named.delay = named.delay.max(list_delay);
                        }
                        _ => {}
                    }
                }
                Key::Allow | Key::Disallow if to_us || to_everyone => {
                    list_closed = true;
                    let allows = key == Key::Allow;
                    for (group, spoken_to) in [(&mut named, to_us), (&mut everyone, to_everyone)] {
                        if spoken_to {
                            group.rules.push((allows, value, line));
                        }
                    }
                }
                // Rules before any agent, or to others. These close their list too.
                Key::Allow | Key::Disallow => list_closed = true,
                // No rules of the standard, so they do not end a list of agents.
                Key::CrawlDelay | Key::RequestRate => {
                    let delay = if key == Key::CrawlDelay { seconds(value) } else { request_rate(value) };
                    list_delay = list_delay.max(delay);
                    for (group, spoken_to) in [(&mut named, to_us), (&mut everyone, to_everyone)] {
                        if spoken_to {
                            group.delay = group.delay.max(delay);
                        }
                    }
                }
                Key::Sitemap if sitemaps.len() < SITEMAPS_MAX => {
                    sitemaps.extend(std::str::from_utf8(value).ok().map(str::to_owned));
                }
                Key::Sitemap => {}
            }
        }
        // To the reference parser, only names of letters, `-` and `_` can be called.
        let is_token = agent.bytes().all(is_token_byte);
        let literal = if named.is_there && is_token { &named } else { &everyone };
        let literal = RuleList::new(&literal.rules, Form::Literal);
        let group = if named.is_there { named } else { everyone };
        Self {
            literal,
            normal: RuleList::new(&group.rules, Form::Normal),
            crawl_delay: group.delay,
            sitemaps,
        }
    }

    /// The rules of a host that has none.
    pub fn allow_all() -> Self {
        Self::default()
    }

    /// Whether the URL may be fetched. The rules are taken to be those of its origin. Paths are compared by what they
    /// mean: `/%7Eme` is `/~me`.
    pub fn allows(&self, url: &PageUrl) -> bool {
        // The file that forbids everything must be readable to be obeyed.
        url.path_and_query() == "/robots.txt"
            || self.normal.decide(&normal_path(url.path_and_query().as_bytes())).allowed
    }

    /// The same for the text of a URL, which need not be whole and is taken as it is: no escape is read, and none is
    /// added. This is how the reference parser of RFC 9309 judges; it knows no crawler whose name is no product token, such
    /// as `bot2`, which a crawl answers to all the same.
    pub fn decide(&self, url: &str) -> Decision {
        self.literal.decide(path_of_url(url).as_bytes())
    }

    /// The pause the host wishes between requests.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.crawl_delay.map(|delay| delay.min(PAUSE_MAX))
    }

    /// Sitemaps it names, for any crawler, as written.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.sitemaps.iter().map(String::as_str)
    }

    /// Bytes this takes in memory, about.
    pub(super) fn weight(&self) -> usize {
        let list = |list: &RuleList| list.patterns.len() + list.rules.len() * size_of::<Rule>();
        let sitemaps: usize = self.sitemaps.iter().map(|sitemap| sitemap.len() + 24).sum();
        list(&self.literal) + list(&self.normal) + sitemaps
    }
}

/// What is said to one name.
#[derive(Default)]
struct Group<'t> {
    is_there: bool,
    rules: Vec<(bool, &'t [u8], u32)>,
    delay: Option<Duration>,
}

impl RuleList {
    fn new(rules: &[(bool, &[u8], u32)], form: Form) -> Self {
        let mut list = Self::default();
        for &(allows, value, line) in rules {
            list.push(&form.of_pattern(value), allows, line);
            // To allow a directory's index page is to allow the directory.
            if let Some(slash) = value.iter().rposition(|byte| *byte == b'/')
                && allows
                && value[slash..].starts_with(b"/index.htm")
            {
                let directory = [&value[..=slash], b"$"].concat();
                list.push(&form.of_pattern(&directory), allows, line);
            }
        }
        // The longest first; of equals, what allows; of equals, what comes first.
        list.rules.sort_by_key(|rule| (std::cmp::Reverse(rule.pattern.len()), !rule.allows));
        list.patterns.shrink_to_fit();
        list.rules.shrink_to_fit();
        list
    }

    fn push(&mut self, pattern: &[u8], allows: bool, line: u32) {
        // A rule without a pattern says nothing. (Escaping makes at most three bytes of one, so the sum of all patterns
        // is within four gigabytes by far.)
        let start = self.patterns.len();
        if let (false, Ok(start), Ok(end)) =
            (pattern.is_empty(), u32::try_from(start), u32::try_from(start + pattern.len()))
        {
            self.patterns.extend_from_slice(pattern);
            self.rules.push(Rule { pattern: start..end, allows, line });
        }
    }

    fn decide(&self, path: &[u8]) -> Decision {
        let pattern = |rule: &Rule| &self.patterns[rule.pattern.start as usize..rule.pattern.end as usize];
        match self.rules.iter().find(|rule| covers(pattern(rule), path)) {
            Some(rule) => Decision { allowed: rule.allows, line: Some(rule.line) },
            None => Decision { allowed: true, line: None },
        }
    }
}

/// The text up to the limit. The last line of a longer one is cut somewhere, and half a rule is no rule.
fn whole_lines(text: &[u8]) -> &[u8] {
    match text.get(..ROBOTS_BYTES_MAX) {
        Some(start) if text.len() > ROBOTS_BYTES_MAX => {
            let end = start.iter().rposition(|byte| matches!(byte, b'\n' | b'\r')).unwrap_or(0);
            &start[..end]
        }
        _ => text,
    }
}

/// Whether a `User-agent` value names the crawler. A product token ends where letters, `-` and `_` end, so that
/// `webloom/2.1` means `webloom`. Crawlers whose names hold other characters are compared up to a space or slash.
fn is_name_of(value: &[u8], agent: &str) -> bool {
    let up_to = |ends: fn(&u8) -> bool| &value[..value.iter().position(ends).unwrap_or(value.len())];
    let token = up_to(|byte| !is_token_byte(*byte));
    let word = up_to(|byte| matches!(byte, b' ' | b'\t' | b'/'));
    let agent = agent.as_bytes();
    !agent.is_empty() && (token.eq_ignore_ascii_case(agent) || word.eq_ignore_ascii_case(agent))
}

fn is_token_byte(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'-' | b'_')
}

/// `Crawl-delay: 1.5`.
fn seconds(value: &[u8]) -> Option<Duration> {
    Duration::try_from_secs_f64(std::str::from_utf8(value).ok()?.parse().ok()?).ok()
}

/// `Request-rate: 1/10s`: one document in ten seconds. The hours that may follow are not looked at.
fn request_rate(value: &[u8]) -> Option<Duration> {
    let text = std::str::from_utf8(value).ok()?.split_whitespace().next()?;
    let (documents, time) = text.split_once('/')?;
    let split = time.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(time.len());
    let unit = match &time[split..] {
        "" | "s" | "S" => 1.0,
        "m" | "M" => 60.0,
        "h" | "H" => 3600.0,
        _ => return None,
    };
    let documents: u32 = documents.trim().parse().ok().filter(|count| *count > 0)?;
    let time: u32 = time[..split].trim().parse().ok()?;
    Duration::try_from_secs_f64(f64::from(time) * unit / f64::from(documents)).ok()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn allows(text: &[u8], path: &str) -> bool {
        let url = PageUrl::parse(&format!("http://example.org{path}")).unwrap();
        RobotsRules::parse(text, "webloom").allows(&url)
    }

    #[test]
    fn rules() {
        for (text, path, expected) in [
            ("", "/a", true),
            ("User-agent: *\nDisallow: /", "/a", false),
            ("User-agent: *\nDisallow: /", "/robots.txt", true),
            ("User-agent: *\nDisallow: /", "/robots.txt?x", false),
            ("User-agent: *\nDisallow:", "/a", true),
            ("User-agent: *\nDisallow: /a", "/b", true),
            ("user-agent:*\ndisallow:/a", "/ab", false),
            ("User-agent: webloom\nAllow: /\n\nUser-agent: *\nDisallow: /", "/a", true),
            ("User-agent: *\nDisallow: /\n\nUser-agent: WebLoom\nDisallow: /x", "/a", true),
            ("User-agent: *\nDisallow: /\n\nUser-agent: webloom", "/a", true),
            ("User-agent: webloombot\nDisallow: /", "/a", true),
            ("User-agent: webloom-images\nDisallow: /", "/a", true),
            ("User-agent: webloom/2.1\nDisallow: /", "/a", false),
            ("User-agent: webloom 2 (the crawler)\nDisallow: /", "/a", false),
            ("User-agent: other/1 webloom\nDisallow: /", "/a", true),
            ("User-agent: * webloom\nDisallow: /", "/a", false),
            ("User-agent: *webloom\nDisallow: /", "/a", true),
            ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true),
            ("User-agent: *\nDisallow: /a\nAllow: /a", "/a", true),
            ("User-agent: *\nAllow: /a\nDisallow: /a*", "/a", false),
            ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf", false),
            ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf?y", true),
            ("User-agent: *\nDisallow: /a?b", "/a?b=c", false),
            // Groups of one name are one.
            (
                "User-agent: webloom\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: webloom\nDisallow: /c",
                "/c",
                false,
            ),
            (
                "User-agent: webloom\nDisallow: /a\nUser-agent: x\nDisallow: /b\nUser-agent: webloom\nDisallow: /c",
                "/b",
                true,
            ),
            // Lines of other kinds do not part the agents they stand between.
            ("User-agent: webloom\nCrawl-delay: 3\nUser-agent: b\nDisallow: /", "/a", false),
            ("User-agent: webloom\nSitemap: http://a/\nUser-agent: b\nDisallow: /", "/a", false),
            ("User-agent: webloom\nFoo: bar\nUser-agent: b\nDisallow: /", "/a", false),
            ("User-agent: b\nDisallow: /x\nUser-agent: webloom\nDisallow: /", "/a", false),
            // Rules before any agent speak to nobody.
            ("Disallow: /\nUser-agent: *\nDisallow: /x", "/a", true),
            ("\u{feff}User-agent: *\nDisallow: /", "/a", false),
            ("User-agent: *\rDisallow: /a\r\rDisallow: /b", "/b", false),
            ("# all\nUser-agent: * # everyone\nDisallow: /a # not this", "/a", false),
            ("User agent *\nDissallow /a", "/a", false),
            ("<html><body>User-agent: *<br>Disallow: /</body></html>", "/a", true),
            // What our URLs escape.
            ("User-agent: *\nDisallow: /a|b", "/a|b", false),
            ("User-agent: *\nDisallow: /a%7cb", "/a|b", false),
            ("User-agent: *\nDisallow: /x[1]", "/x[1]", false),
            ("User-agent: *\nDisallow: /100%$", "/100%", false),
            ("User-agent: *\nDisallow: /q?a='b", "/q?a='b", false),
            ("User-agent: *\nDisallow: /it's", "/it's", false),
            ("User-agent: *\nDisallow: /caf\u{e9}", "/caf\u{e9}", false),
            ("User-agent: *\nDisallow: /caf%C3%A9", "/caf\u{e9}", false),
            ("User-agent: *\nDisallow: /~me", "/%7Eme", false),
            ("User-agent: *\nDisallow: /%62%61%7A", "/baz", false),
            ("User-agent: *\nDisallow: /a%2Fb", "/a/b", true),
            ("User-agent: *\nDisallow: /\nAllow: /d/index.html", "/d/", true),
        ] {
            assert_eq!(allows(text.as_bytes(), path), expected, "{path} in {text:?}");
        }
        // Latin-1 is no UTF-8, but its ASCII lines count, and its paths are bytes like others.
        let latin1 = b"# caf\xe9\nUser-agent: *\nDisallow: /caf\xe9\nDisallow: /x\n";
        assert!(!allows(latin1, "/caf%E9"));
        assert!(!allows(latin1, "/x"));
        assert!(allows(latin1, "/y"));
    }

    #[test]
    fn names() {
        for (value, agent, expected) in [
            ("foo", "FOO", true),
            ("foo bar", "foo", true),
            ("foo bar", "foo bar", false),
            ("foo/1.0", "foo", true),
            ("foo2", "foo", true),
            ("foo2", "foo2", true),
            ("foo2/1", "foo2", true),
            ("foo", "foo2", false),
            ("", "", false),
            ("1bot", "", false),
        ] {
            assert_eq!(is_name_of(value.as_bytes(), agent), expected, "{value} {agent}");
        }
    }

    #[test]
    fn decisions_name_their_line() {
        let rules = RobotsRules::parse(b"User-agent: *\n\nDisallow: /a\nAllow: /a/b\n", "webloom");
        for (url, allowed, line) in
            [("http://x.example/a", false, Some(3)), ("/a/b", true, Some(4)), ("x.example", true, None)]
        {
            assert_eq!(rules.decide(url), Decision { allowed, line }, "{url}");
        }
    }

    #[test]
    fn crawl_delays() {
        for (text, expected) in [
            ("User-agent: *\nCrawl-delay: 2", Some(2000)),
            ("User-agent: *\nCrawl-delay: 0.5\nDisallow: /", Some(500)),
            ("User-agent: webloom\nCrawl-delay: 3\nUser-agent: b\nDisallow: /", Some(3000)),
            ("User-agent: webloom\nDisallow:\nCrawl-delay: 3", Some(3000)),
            ("User-agent: *\nCrawl-delay: 2\nUser-agent: webloom\nDisallow: /x", Some(2000)),
            ("User-agent: *\nCrawl-delay: 2\nDisallow:\nUser-agent: webloom\nDisallow: /x", None),
            ("User-agent: *\nCrawl-delay: 2\nCrawl-delay: 5", Some(5000)),
            ("User-agent: other\nCrawl-delay: 2\nDisallow: /", None),
            ("User-agent: *\nCrawl-delay: -2", None),
            ("User-agent: *\nCrawl-delay: NaN", None),
            ("User-agent: *\nCrawl-delay: soon", None),
            ("User-agent: *\nCrawl-delay: 1e30", None),
            ("User-agent: *\nCrawl-delay: 1e15", Some(PAUSE_MAX.as_millis() as u64)),
            ("User-agent: *\nRequest-rate: 1/10s 1820-1940", Some(10_000)),
            ("User-agent: *\nRequest-rate: 4/1m", Some(15_000)),
            ("User-agent: *\nRequest-rate: 0/1", None),
            ("User-agent: *\nRequest-rate: 1/fortnight", None),
        ] {
            let found = RobotsRules::parse(text.as_bytes(), "webloom").crawl_delay();
            assert_eq!(found, expected.map(Duration::from_millis), "{text:?}");
        }
    }

    #[test]
    fn what_is_beyond_the_limit_says_nothing() {
        let mut text = b"User-agent: *\nDisallow: /first\n".to_vec();
        while text.len() < ROBOTS_BYTES_MAX - 10 {
            text.extend(b"# words and words\n");
        }
        text.extend(b"Disallow: /last-one-is-cut\n");
        assert!(!allows(&text, "/first"));
        assert!(allows(&text, "/last-one-is-cut"));
        assert!(allows(&text, "/l"));
    }

    #[test]
    fn sitemaps_are_for_everyone() {
        let rules = RobotsRules::parse(
            b"Sitemap: http://example.org/a.xml\nUser-agent: x\nDisallow: /\nSitemap: https://example.org/b.xml",
            "webloom",
        );
        assert_eq!(
            rules.sitemaps().collect::<Vec<_>>(),
            ["http://example.org/a.xml", "https://example.org/b.xml"]
        );
    }

    #[test]
    fn a_file_full_of_stars_is_judged_in_no_time() {
        let text = format!("User-agent: *\n{}", "Disallow: /*a*b*c\n".repeat(ROBOTS_BYTES_MAX / 18));
        let rules = RobotsRules::parse(text.as_bytes(), "webloom");
        assert!(rules.decide(&format!("/{}", "ab".repeat(500))).allowed);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_robots_file(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = [b"User-agent: *\nDisallow: ".as_slice(), &bytes].concat();
            let _ = allows(&text, "/a/b?c");
        }

        /// Whatever path a site owner writes out in full, the page at that path is covered.
        #[test]
        fn a_path_written_out_is_covered(path in "/[ -~&&[^#*$?]]{0,30}") {
            let url = PageUrl::parse(&format!("http://example.org{path}"));
            // Dot segments and backslashes are resolved away before the server sees them, and so are spaces at the end.
            let kept = !path.contains("..") && !path.contains("/.") && !path.contains('\\') && !path.ends_with(' ');
            prop_assume!(kept && !path.contains("%2") && url.is_ok());
            let text = format!("User-agent: *\nDisallow: {path}\n");
            prop_assert!(!allows(text.as_bytes(), &path), "{}", path);
        }
    }
}
