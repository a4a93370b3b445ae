//! robots.txt: what it says, how long it is believed, and where it is kept.
//!
//! In: the bytes of a robots.txt, or how asking for one ended. Out: [`RobotsRules`] that say whether a URL may be
//! fetched and how slowly; a [`RobotsRecord`] that can be kept on disk by a [`RobotsStore`]. Parsing
//! and matching follow RFC 9309 by way of `robotxt`, after repairs in [`RobotsRules::parse`] for what that crate reads
//! otherwise. Asking is the fetcher's part.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use jiff::Timestamp;
use parking_lot::Mutex;
use webloom_model::PageUrl;

use crate::headers::PAUSE_MAX;

/// Bytes of a robots.txt that are read; RFC 9309 asks for 500 KiB at least.
pub const ROBOTS_BYTES_MAX: usize = robotxt::BYTE_LIMIT;

/// What one robots.txt says to one crawler.
#[derive(Debug, Clone)]
pub struct RobotsRules {
    rules: robotxt::Robots,
}

impl RobotsRules {
    /// Reads a robots.txt for the crawler of the given name. Never fails: what is not understood says nothing.
    pub fn parse(text: &[u8], agent: &str) -> Self {
        let text = &text[..text.len().min(ROBOTS_BYTES_MAX + 1)];
        Self { rules: robotxt::Robots::parse(&repaired(text, agent), agent) }
    }

    /// The rules of a host that has none.
    pub fn allow_all() -> Self {
        Self { rules: robotxt::Robots::allow_all() }
    }

    /// Whether the URL may be fetched. The rules are taken to be those of its origin.
    pub fn allows(&self, url: &PageUrl) -> bool {
        self.rules.is_allowed(url.path_and_query())
    }

    /// The pause the host wishes between requests.
    pub fn crawl_delay(&self) -> Option<Duration> {
        self.rules.crawl_delay().map(|delay| delay.min(PAUSE_MAX))
    }

    /// Sitemaps it names, for any crawler.
    pub fn sitemaps(&self) -> impl Iterator<Item = &str> {
        self.rules.sitemaps().iter().map(url::Url::as_str)
    }
}

/// The text with three things mended that `robotxt` reads otherwise than the standard or our URLs:
/// * `User-agent: webloom/2.1` means `webloom`;
/// * `Crawl-delay` is no rule of the standard, so it must not end a list of user agents;
/// * paths are brought into the form our URLs have, where `|` is `%7C` and so on.
///
/// Lines that say nothing are left out, so the text gets no longer in practice.
fn repaired(text: &[u8], agent: &str) -> Vec<u8> {
    let text = text.strip_prefix(b"\xef\xbb\xbf").unwrap_or(text);
    // The last line of a text over the limit is cut somewhere, and half a rule is no rule.
    let whole = match text.len() > ROBOTS_BYTES_MAX {
        true => text.iter().rposition(|byte| is_line_end(*byte)).unwrap_or(0),
        false => text.len(),
    };
    let mut mended = Vec::with_capacity(whole);
    let mut naming_agents = false;
    let mut delays = Vec::new();
    for (key, value) in text[..whole].split(|byte| is_line_end(*byte)).filter_map(directive) {
        let value = match key {
            Key::UserAgent => {
                naming_agents = true;
                product(value, agent)
            }
            Key::CrawlDelay if naming_agents => {
                delays.push(value);
                continue;
            }
            Key::Allow | Key::Disallow => {
                naming_agents = false;
                for delay in delays.drain(..) {
                    push_directive(&mut mended, Key::CrawlDelay, delay);
                }
                Cow::Owned(escaped(value))
            }
            Key::CrawlDelay | Key::Sitemap => Cow::Borrowed(value),
        };
        push_directive(&mut mended, key, &value);
    }
    for delay in delays {
        push_directive(&mut mended, Key::CrawlDelay, delay);
    }
    mended
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    UserAgent,
    Allow,
    Disallow,
    CrawlDelay,
    Sitemap,
}

impl Key {
    /// Spellings seen on the web, each in lower case without hyphens and spaces.
    fn from_spelling(spelling: &str) -> Option<Self> {
        Some(match spelling {
            "useragent" => Self::UserAgent,
            "allow" | "alow" | "allaw" => Self::Allow,
            "disallow" | "dissallow" | "dissalow" | "disalow" | "diasllow" | "disallaw" => Self::Disallow,
            "crawldelay" => Self::CrawlDelay,
            "sitemap" => Self::Sitemap,
            _ => return None,
        })
    }

    fn as_bytes(self) -> &'static [u8] {
        match self {
            Self::UserAgent => b"user-agent: ",
            Self::Allow => b"allow: ",
            Self::Disallow => b"disallow: ",
            Self::CrawlDelay => b"crawl-delay: ",
            Self::Sitemap => b"sitemap: ",
        }
    }
}

fn is_line_end(byte: u8) -> bool {
    matches!(byte, b'\n' | b'\r' | 0)
}

fn push_directive(text: &mut Vec<u8>, key: Key, value: &[u8]) {
    text.extend_from_slice(key.as_bytes());
    text.extend_from_slice(value);
    text.push(b'\n');
}

/// Key and value of a line, if it has them. A forgotten colon is forgiven.
fn directive(line: &[u8]) -> Option<(Key, &[u8])> {
    let line = line.split(|byte| *byte == b'#').next().unwrap_or_default().trim_ascii();
    let colon = line.iter().position(|byte| *byte == b':');
    let key_of = |end: usize| {
        let spelling: String = line[..end]
            .iter()
            .filter(|byte| !matches!(byte, b'-' | b' ' | b'\t'))
            .map(|byte| char::from(byte.to_ascii_lowercase()))
            .collect();
        Key::from_spelling(&spelling)
    };
    // Longer keys there are none.
    if let Some(end) = colon.filter(|end| *end < 40)
        && let Some(key) = key_of(end)
    {
        return Some((key, line[end + 1..].trim_ascii()));
    }
    let mut spaces = (0..line.len().min(40)).filter(|index| matches!(line[*index], b' ' | b'\t'));
    spaces.find_map(|end| key_of(end).map(|key| (key, line[end..].trim_ascii())))
}

/// The agent's name instead of a value that starts with it and goes on with a version or a remark.
fn product<'a>(value: &'a [u8], agent: &'a str) -> Cow<'a, [u8]> {
    let (start, rest) = value.split_at(value.len().min(agent.len()));
    let ends_there =
        rest.first().is_some_and(|byte| matches!(byte, b'/' | b' ' | b'\t' | b'(' | b';' | b','));
    if start.eq_ignore_ascii_case(agent.as_bytes()) && ends_there {
        Cow::Borrowed(agent.as_bytes())
    } else {
        Cow::Borrowed(value)
    }
}

/// A path pattern with everything escaped that [`PageUrl`] escapes and `robotxt` does not.
fn escaped(pattern: &[u8]) -> Vec<u8> {
    let mut escaped = Vec::with_capacity(pattern.len());
    let mut in_query = false;
    for (index, &byte) in pattern.iter().enumerate() {
        let must_escape = match byte {
            b'\\' | b'^' | b'|' | b'[' | b']' => true,
            // The WHATWG parser escapes it in queries only.
            b'\'' => in_query,
            b'%' => {
                !pattern.get(index + 1..index + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            }
            _ => false,
        };
        in_query |= byte == b'?';
        if must_escape {
            escaped.extend_from_slice(format!("%{byte:02X}").as_bytes());
        } else {
            escaped.push(byte);
        }
    }
    escaped
}

/// How asking for a robots.txt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RobotsClass {
    /// There is one.
    Found,
    /// There is none (4xx, or redirects without end): everything is allowed.
    Missing,
    /// It could not be had (5xx, 429, no connection): nothing is allowed until it can.
    Unreachable,
}

/// What is remembered of the robots.txt of one origin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RobotsRecord {
    /// How asking ended.
    pub class: RobotsClass,
    /// The HTTP status; 0 when there was no answer.
    pub status: u16,
    /// When that was.
    pub fetched_at: Timestamp,
    /// Why it is unreachable.
    pub reason: String,
    /// The text, at most [`ROBOTS_BYTES_MAX`] and one byte, which tells that it was longer.
    pub body: Bytes,
}

/// First byte of a stored record. A record of another format is as good as none.
const RECORD_FORMAT: u8 = 1;

impl RobotsRecord {
    /// The record as bytes, to be kept.
    pub fn to_bytes(&self) -> Vec<u8> {
        let reason = &self.reason.as_bytes()[..self.reason.floor_char_boundary(u16::MAX.into())];
        let mut bytes = Vec::with_capacity(14 + reason.len() + self.body.len());
        bytes.push(RECORD_FORMAT);
        bytes.push(match self.class {
            RobotsClass::Found => 0,
            RobotsClass::Missing => 1,
            RobotsClass::Unreachable => 2,
        });
        bytes.extend(self.status.to_le_bytes());
        bytes.extend(self.fetched_at.as_second().to_le_bytes());
        bytes.extend((reason.len() as u16).to_le_bytes());
        bytes.extend(reason);
        bytes.extend_from_slice(&self.body);
        bytes
    }

    /// The record that was kept as these bytes, if it was.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let (&[format, class, s0, s1], rest) = bytes.split_first_chunk()?;
        let (&seconds, rest) = rest.split_first_chunk()?;
        let (&reason_length, rest) = rest.split_first_chunk()?;
        let (reason, body) = rest.split_at_checked(u16::from_le_bytes(reason_length).into())?;
        if format != RECORD_FORMAT {
            return None;
        }
        Some(Self {
            class: match class {
                0 => RobotsClass::Found,
                1 => RobotsClass::Missing,
                2 => RobotsClass::Unreachable,
                _ => return None,
            },
            status: u16::from_le_bytes([s0, s1]),
            fetched_at: Timestamp::from_second(i64::from_le_bytes(seconds)).ok()?,
            reason: String::from_utf8(reason.to_vec()).ok()?,
            body: Bytes::copy_from_slice(body),
        })
    }
}

/// Keeps records of robots.txt files between requests and, on disk, between runs.
///
/// A record is bytes made by [`RobotsRecord::to_bytes`]. Calls come from async tasks and should be quick;
/// a store that fails may forget, which costs a request.
pub trait RobotsStore: Send + Sync + fmt::Debug {
    /// The record of an origin (`https://example.org`).
    fn get(&self, origin: &str) -> Option<Vec<u8>>;
    /// Replaces the record of an origin.
    fn put(&self, origin: &str, record: &[u8]);
}

/// Keeps records until the process ends.
#[derive(Debug, Default)]
pub struct MemoryRobotsStore {
    records: Mutex<HashMap<String, Vec<u8>>>,
}

impl RobotsStore for MemoryRobotsStore {
    fn get(&self, origin: &str) -> Option<Vec<u8>> {
        self.records.lock().get(origin).cloned()
    }

    fn put(&self, origin: &str, record: &[u8]) {
        self.records.lock().insert(origin.to_owned(), record.to_owned());
    }
}

/// A record, understood.
#[derive(Debug)]
pub(crate) struct KnownRobots {
    pub class: RobotsClass,
    pub status: u16,
    pub fetched_at: Timestamp,
    pub reason: String,
    pub rules: RobotsRules,
    /// What it takes in the cache.
    weight: usize,
}

impl KnownRobots {
    pub fn new(record: &RobotsRecord, agent: &str) -> Self {
        let rules = match record.class {
            RobotsClass::Found => RobotsRules::parse(&record.body, agent),
            RobotsClass::Missing | RobotsClass::Unreachable => RobotsRules::allow_all(),
        };
        Self {
            class: record.class,
            status: record.status,
            fetched_at: record.fetched_at,
            reason: record.reason.clone(),
            rules,
            weight: record.body.len() + 256,
        }
    }
}

/// What was understood lately, by origin. Two generations: when the young one is full it becomes the
/// old one and the old one is forgotten, unless asked for in time.
#[derive(Debug)]
pub(crate) struct RobotsCache {
    generations: Mutex<Generations>,
    bytes_max: usize,
}

#[derive(Debug, Default)]
struct Generations {
    young: HashMap<String, Arc<KnownRobots>>,
    young_weight: usize,
    old: HashMap<String, Arc<KnownRobots>>,
}

impl RobotsCache {
    pub fn new(bytes_max: usize) -> Self {
        Self { generations: Mutex::default(), bytes_max }
    }

    pub fn get(&self, origin: &str) -> Option<Arc<KnownRobots>> {
        let mut generations = self.generations.lock();
        if let Some(known) = generations.young.get(origin) {
            return Some(Arc::clone(known));
        }
        let known = generations.old.remove(origin)?;
        generations.insert(origin, Arc::clone(&known), self.bytes_max);
        Some(known)
    }

    pub fn put(&self, origin: &str, known: Arc<KnownRobots>) {
        let mut generations = self.generations.lock();
        generations.old.remove(origin);
        generations.insert(origin, known, self.bytes_max);
    }
}

impl Generations {
    fn insert(&mut self, origin: &str, known: Arc<KnownRobots>, bytes_max: usize) {
        if self.young_weight + known.weight > bytes_max / 2 {
            self.old = std::mem::take(&mut self.young);
            self.young_weight = 0;
        }
        self.young_weight += known.weight;
        if let Some(replaced) = self.young.insert(origin.to_owned(), known) {
            self.young_weight = self.young_weight.saturating_sub(replaced.weight);
        }
    }
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
            ("User-agent: *\nDisallow:", "/a", true),
            ("User-agent: *\nDisallow: /a", "/b", true),
            ("user-agent:*\ndisallow:/a", "/ab", false),
            ("User-agent: webloom\nAllow: /\n\nUser-agent: *\nDisallow: /", "/a", true),
            ("User-agent: *\nDisallow: /\n\nUser-agent: WebLoom\nDisallow: /x", "/a", true),
            ("User-agent: webloombot\nDisallow: /", "/a", true),
            ("User-agent: webloom/2.1\nDisallow: /", "/a", false),
            ("User-agent: webloom 2 (the crawler)\nDisallow: /", "/a", false),
            ("User-agent: other/1 webloom\nDisallow: /", "/a", true),
            ("User-agent: *\nDisallow: /a\nAllow: /a/b", "/a/b/c", true),
            ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf", false),
            ("User-agent: *\nDisallow: /*.pdf$", "/x.pdf?y", true),
            ("User-agent: *\nDisallow: /a?b", "/a?b=c", false),
            // Lines of other kinds do not part the agents they stand between.
            ("User-agent: webloom\nCrawl-delay: 3\nUser-agent: b\nDisallow: /", "/a", false),
            ("User-agent: webloom\nSitemap: http://a/\nUser-agent: b\nDisallow: /", "/a", false),
            ("User-agent: webloom\nFoo: bar\nUser-agent: b\nDisallow: /", "/a", false),
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
    fn crawl_delays() {
        for (text, expected) in [
            ("User-agent: *\nCrawl-delay: 2", Some(2000)),
            ("User-agent: *\nCrawl-delay: 0.5\nDisallow: /", Some(500)),
            ("User-agent: webloom\nCrawl-delay: 3\nUser-agent: b\nDisallow: /", Some(3000)),
            ("User-agent: webloom\nDisallow:\nCrawl-delay: 3", Some(3000)),
            ("User-agent: other\nCrawl-delay: 2\nDisallow: /", None),
            ("User-agent: *\nCrawl-delay: -2", None),
            ("User-agent: *\nCrawl-delay: NaN", None),
            ("User-agent: *\nCrawl-delay: soon", None),
            ("User-agent: *\nCrawl-delay: 1e30", None),
            ("User-agent: *\nCrawl-delay: 1e15", Some(PAUSE_MAX.as_millis() as u64)),
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
    fn records_come_back_as_they_were_kept() {
        let record = RobotsRecord {
            class: RobotsClass::Unreachable,
            status: 503,
            fetched_at: Timestamp::from_second(1_794_744_000).unwrap(),
            reason: "answered 503".to_owned(),
            body: Bytes::from_static(b"\xff\x00text"),
        };
        let bytes = record.to_bytes();
        assert_eq!(RobotsRecord::from_bytes(&bytes), Some(record));
        for end in 0..26 {
            assert_eq!(RobotsRecord::from_bytes(&bytes[..end]), None, "{end}");
        }
        let mut newer = bytes;
        newer[0] = 2;
        assert_eq!(RobotsRecord::from_bytes(&newer), None);
    }

    #[test]
    fn the_cache_forgets_what_nobody_asks_for() {
        let record = RobotsRecord {
            class: RobotsClass::Found,
            status: 200,
            fetched_at: Timestamp::UNIX_EPOCH,
            reason: String::new(),
            body: Bytes::from(vec![b'#'; 744]),
        };
        let known = Arc::new(KnownRobots::new(&record, "webloom"));
        let cache = RobotsCache::new(10_000);
        for number in 0..100 {
            cache.put(&format!("http://{number}.example"), Arc::clone(&known));
            assert!(cache.get("http://0.example").is_some(), "forgot after {number}");
        }
        let generations = cache.generations.lock();
        assert!(generations.young.len() + generations.old.len() <= 10);
        assert!(generations.young_weight <= 5_000);
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_robots_file(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let text = [b"User-agent: *\nDisallow: ".as_slice(), &bytes].concat();
            let _ = allows(&text, "/a/b?c");
            let _ = RobotsRecord::from_bytes(&bytes);
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
