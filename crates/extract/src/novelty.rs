//! Does a page say anything that its site has not said already?
//!
//! In: each page of a crawl, host by host. Out: a [`Verdict`]. Text is cut into runs of three
//! words ([`WordRuns`], which any thread can do) and those are compared with what is remembered ([`Novelty`]). A host remembers what it said in a small bitmap; a page that brings next to nothing new, such as a shop's page in yet
//! another session, is *stale*. When most of a host's latest pages are stale, it has nothing
//! more to say for now, and the links of its stale pages are not followed. Pages that answer "not found" with a 200 are stale
//! by the same measure, and so are the pages of a mirror, which are told by what other hosts said.
//!
//! A page that says that its own URL was not found brings new words, which say nothing: the words of its URL do not count. A page of a few words may be one of
//! a gallery, or whatever a parked host answers. So where there are few words, or none that are new but the URL's, [`JudgedPage`] tells what
//! else the page is. It is stale if its host has had that before, and if a page with the same words led to it: a trap leads to itself, and folders with
//! the same names in them are found on something else.
//!
//! The memory is bounded: a fixed bitmap per host, and a fixed number of hosts, the least recently used of which is forgotten.

mod page;

use std::collections::{HashMap, HashSet};

pub use page::JudgedPage;
use webloom_model::PageUrl;

use crate::scope::is_dated;

/// When a host has nothing more to say.
#[derive(Debug, Clone, PartialEq)]
pub struct NoveltyRules {
    /// Share of a page's word runs that must be new to its host, in percent; below it the page is stale.
    pub new_percent: u32,
    /// Pages of a host before it is judged.
    pub pages_min: u32,
    /// Share of stale pages among a host's latest ones from which on the links of stale pages are not followed, in percent.
    pub stale_percent: u32,
    /// Hosts that are remembered.
    pub hosts_max: usize,
}

impl Default for NoveltyRules {
    fn default() -> Self {
        Self { new_percent: 3, pages_min: 16, stale_percent: 80, hosts_max: 20_000 }
    }
}

/// What a page brings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Something new.
    New,
    /// Nothing new; its host has more to say.
    Stale,
    /// Nothing new, like most of its host's latest pages: its links are not worth following.
    Exhausted,
}

/// Bits of a host's memory: 8192 of them take 1 KiB and tell some thousand word runs apart.
const WORDS: usize = 128;
/// Word runs of a page that are looked at: those with the smallest hashes, the same ones for the same text.
const RUNS_MAX: usize = 256;
/// Word runs that are held before all but the smallest are dropped.
const RUNS_HELD_MAX: usize = 4 * RUNS_MAX;
/// Word runs of a page below which it is compared as a whole.
const RUNS_MIN: usize = 8;
/// Word runs of a page that has enough of them to be judged by nothing else.
const RUNS_ENOUGH: usize = 32;
/// New word runs of a page of which it is known which they are.
const FRESH_MAX: usize = 64;
/// Stands for the words of a page of which none are new to its host.
const WORDS_OF_OTHERS: u64 = 0;
/// How slowly the share of stale pages follows the latest ones: each page moves it by a sixteenth.
const WINDOW: u32 = 16;

#[derive(Debug, Clone)]
struct Said {
    bits: Box<[u64; WORDS]>,
    pages: u32,
    /// Share of stale pages among the latest, of [`SHARE_WHOLE`].
    stale: u32,
    used: u64,
}

const SHARE_WHOLE: u32 = 1 << 16;

/// Remembers what hosts said.
#[derive(Debug)]
pub struct Novelty {
    rules: NoveltyRules,
    hosts: HashMap<String, Said>,
    /// Whole texts, by hash, and the first host that had them.
    texts: HashMap<u64, u64>,
    /// What pages of few words are as a whole, and others beside their words, by hashes with their host's.
    had: HashSet<u64>,
    /// The words of such pages, by hashes of their URLs.
    worded: HashMap<u64, u64>,
    used: u64,
}

impl Novelty {
    /// Remembers nothing yet.
    pub fn new(rules: NoveltyRules) -> Self {
        Self {
            rules,
            hosts: HashMap::new(),
            texts: HashMap::new(),
            had: HashSet::new(),
            worded: HashMap::new(),
            used: 0,
        }
    }

    /// Takes a page in, and says what it brings. The word runs are the page's.
    pub fn judge(&mut self, page: &JudgedPage<'_>, words: &WordRuns) -> Verdict {
        self.used += 1;
        let host = page.url.host();
        let host_hash = hash(host.as_bytes(), host.len());
        let remembered_max = self.rules.hosts_max.saturating_mul(16);
        if self.texts.len() >= remembered_max {
            self.texts.clear();
        }
        if self.had.len() >= remembered_max || self.worded.len() >= remembered_max {
            self.had.clear();
            self.worded.clear();
        }
        if self.hosts.len() >= self.rules.hosts_max && !self.hosts.contains_key(host) {
            self.forget();
        }
        let said = self.hosts.entry(host.to_owned()).or_insert_with(|| Said {
            bits: Box::new([0; WORDS]),
            pages: 0,
            stale: 0,
            used: 0,
        });
        said.used = self.used;
        // True for what the host has had before.
        let mut is_known = |what: u64| !self.had.insert(mix(what ^ host_hash));
        // True for a page with the words of the page that led to it, or of one with nobody's own.
        let is_like_that = |words: u64| {
            let from = page.found_on.and_then(|from| self.worded.get(&hash_of(from)));
            from.is_some_and(|from| [words, WORDS_OF_OTHERS].contains(from))
        };
        let dates_alike = words.dates_alike;
        let (stale, words) = match &words.runs {
            Runs::Few { whole, words } => (is_known(*whole) && is_like_that(*words), Some(*words)),
            Runs::Many(runs) => {
                let whole = runs.iter().fold(0_u64, |sum, run| sum.rotate_left(5) ^ run);
                let mirrored = *self.texts.entry(whole).or_insert(host_hash) != host_hash;
                let mut fresh = [0; FRESH_MAX];
                let new = said.take(runs, &mut fresh);
                let is_little = |new: usize| new * 100 < self.rules.new_percent as usize * runs.len();
                if mirrored {
                    (true, None)
                } else if is_little(new) {
                    let stale = runs.len() >= RUNS_ENOUGH || is_known(page.beside_words(dates_alike));
                    (stale, stale.then_some(WORDS_OF_OTHERS))
                } else if page.may_name_itself(new) && is_little(page.not_its_own(&fresh[..new], dates_alike))
                {
                    let words = page.other_words(dates_alike);
                    (is_known(page.beside_words(dates_alike)) && is_like_that(words), Some(words))
                } else {
                    (false, None)
                }
            }
        };
        if let Some(words) = words {
            self.worded.insert(hash_of(page.url), words);
        }
        said.pages = said.pages.saturating_add(1);
        let aim = if stale { SHARE_WHOLE } else { 0 };
        said.stale = (said.stale * (WINDOW - 1) + aim) / WINDOW;
        let judged = said.pages >= self.rules.pages_min;
        let mostly = said.stale * 100 >= self.rules.stale_percent * SHARE_WHOLE;
        match (stale, judged && mostly) {
            (false, _) => Verdict::New,
            (true, false) => Verdict::Stale,
            (true, true) => Verdict::Exhausted,
        }
    }

    /// Forgets the half of the hosts that was used longest ago.
    fn forget(&mut self) {
        let mut used: Vec<u64> = self.hosts.values().map(|said| said.used).collect();
        used.sort_unstable();
        let middle = used.get(used.len() / 2).copied().unwrap_or(0);
        self.hosts.retain(|_, said| said.used > middle);
    }
}

impl Said {
    /// Takes word runs in, and tells how many are new. Those are put into `fresh`, as long as there are fewer than it can hold.
    fn take(&mut self, runs: &[u64], fresh: &mut [u64; FRESH_MAX]) -> usize {
        let mut new = 0;
        for run in runs {
            let (word, bit) = ((run >> 6) as usize % WORDS, 1 << (run & 63));
            // What is not new is written over by the next.
            fresh[new % FRESH_MAX] = *run;
            new += usize::from(self.bits[word] & bit == 0);
            self.bits[word] |= bit;
        }
        // A memory that is full would find everything stale: it begins anew.
        if self.bits.iter().map(|word| word.count_ones()).sum::<u32>() > (WORDS as u32 * 64) / 2 {
            self.bits.fill(0);
        }
        new
    }
}

/// What a page says, in numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordRuns {
    runs: Runs,
    /// The pages of a calendar differ in the numbers of their dates, and in nothing else.
    dates_alike: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Runs {
    /// Hashes of its runs of three words, of a long text those that are smallest.
    Many(Vec<u64>),
    /// There are few. These are the page as a whole, and its words.
    Few { whole: u64, words: u64 },
}

impl WordRuns {
    /// Of a page.
    pub fn of(page: &JudgedPage<'_>) -> Self {
        let dates_alike = is_dated(page.url);
        let runs = match Self::of_text(page.text, dates_alike) {
            few if few.len() < RUNS_MIN => {
                let words = page.other_words(dates_alike);
                Runs::Few { whole: mix(words) ^ page.beside_words(dates_alike), words }
            }
            many => Runs::Many(many),
        };
        Self { runs, dates_alike }
    }

    fn of_text(text: &str, dates_alike: bool) -> Vec<u64> {
        let mut runs = Vec::with_capacity((text.len() / 6).min(RUNS_HELD_MAX));
        // Zero before the third word, and no word's hash.
        let mut before = [0_u64; 2];
        // What is not below it is not among the smallest.
        let mut bound = u64::MAX;
        for_each_word(text.as_bytes(), dates_alike, |word| {
            let run = run_of(before, word);
            if run < bound && before[0] != 0 {
                if runs.len() == RUNS_HELD_MAX {
                    bound = keep_smallest(&mut runs);
                }
                runs.push(run);
            }
            before = [before[1], word];
        });
        if runs.len() > RUNS_MAX {
            keep_smallest(&mut runs);
        }
        runs.sort_unstable();
        runs.dedup();
        // The smallest hashes share their first bits; the places in a memory are taken from others.
        runs.iter_mut().for_each(|run| *run = mix(*run));
        runs
    }
}

fn hash_of(url: &PageUrl) -> u64 {
    hash(url.as_str().as_bytes(), url.as_str().len())
}

/// The hash of three words in a row.
fn run_of(before: [u64; 2], word: u64) -> u64 {
    mix(before[0].rotate_left(13) ^ before[1].rotate_left(7) ^ word)
}

/// Drops all but the [`RUNS_MAX`] smallest, of which there must be more, and tells the largest of these.
fn keep_smallest(runs: &mut Vec<u64>) -> u64 {
    let (_, &mut largest, _) = runs.select_nth_unstable(RUNS_MAX - 1);
    runs.truncate(RUNS_MAX);
    largest
}

/// What a byte of UTF-8 is to words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Between words.
    Gap,
    Digit,
    Letter,
    /// Begins a character of general punctuation, or a letter beside it.
    Perhaps,
    /// Begins a character of a script that writes no spaces: a word of its own.
    Sign,
}

const PARTS: [Part; 256] = {
    let mut parts = [Part::Letter; 256];
    let mut byte = 0_u8;
    while byte < 0x80 {
        parts[byte as usize] = match byte {
            b'0'..=b'9' => Part::Digit,
            b'a'..=b'z' | b'A'..=b'Z' => Part::Letter,
            _ => Part::Gap,
        };
        byte += 1;
    }
    parts[0xe2] = Part::Perhaps;
    let mut lead = 0xe3;
    while lead <= 0xed {
        parts[lead] = Part::Sign;
        lead += 1;
    }
    parts
};

/// Gives the hash of each word, small and capital letters alike, and if wished all numbers of dates.
fn for_each_word(text: &[u8], dates_alike: bool, mut word: impl FnMut(u64)) {
    let mut at = 0;
    while at < text.len() {
        // Most words are of ASCII letters and digits, and found eight bytes at a time.
        if let Some(end) = plain_word_end(text, at) {
            if end > at {
                let is_date = dates_alike && is_of_a_date(&text[at..end]);
                word(if is_date { NUMBER } else { hash(&text[at..], end - at) });
            }
            // What ends it is one byte that is no word's.
            at = end + 1;
            continue;
        }
        let (start, mut is_number) = (at, true);
        while let Some(&byte) = text.get(at) {
            match PARTS[usize::from(byte)] {
                Part::Gap => break,
                Part::Digit => {}
                Part::Letter => is_number = false,
                Part::Perhaps if text.get(at + 1) == Some(&0x80) => break,
                Part::Perhaps => is_number = false,
                Part::Sign => {
                    if at == start {
                        (at, is_number) = ((at + 3).min(text.len()), false);
                    }
                    break;
                }
            }
            at += 1;
        }
        if at > start {
            let is_date = is_number && dates_alike && is_of_a_date(&text[start..at]);
            word(if is_date { NUMBER } else { hash(&text[start..], at - start) });
        } else {
            at += if text[at] == 0xe2 { 3 } else { 1 };
        }
    }
}

/// The hash of every number of a date, where they are alike.
const NUMBER: u64 = 1;

/// True for a day, a month, a year, or all of them in a row. Rates and readings that are published day by day have other numbers, too.
fn is_of_a_date(word: &[u8]) -> bool {
    let number = || word.iter().fold(0, |number: u32, digit| number * 10 + u32::from(digit - b'0'));
    let is_year = |word: &[u8]| matches!(word, [b'1', b'9', ..] | [b'2', b'0' | b'1', ..]);
    word.iter().all(u8::is_ascii_digit)
        && match word.len() {
            1 | 2 => number() <= 31,
            4 | 8 => is_year(word),
            _ => false,
        }
}

/// Where the ASCII letters and digits end that begin here, if another ASCII character follows them; nothing when one has to look closer, as near
/// the end.
fn plain_word_end(text: &[u8], start: usize) -> Option<usize> {
    let mut end = start;
    loop {
        let eight = u64::from_le_bytes(*text.get(end..)?.first_chunk()?);
        let length = plain_word_bytes(eight);
        end += length;
        if length < 8 {
            return (text[end] < 0x80).then_some(end);
        }
    }
}

/// How many of eight bytes, from the first on, are ASCII letters or digits.
fn plain_word_bytes(eight: u64) -> usize {
    const EACH: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * EACH;
    let plain = eight & !HIGH;
    let small = plain | (0x20 * EACH);
    // In each byte, additions carry into the high bit from the first of a range on, and from behind its last.
    let within = |bytes: u64, first: u8, last: u8| {
        let (from, behind) = (u64::from(0x80 - first) * EACH, u64::from(0x7f - last) * EACH);
        (bytes + from) & !(bytes + behind)
    };
    let word = (within(small, b'a', b'z') | within(plain, b'0', b'9')) & !eight;
    (!word & HIGH).trailing_zeros() as usize / 8
}

/// The hash of the word of that length that the text begins with. Small and capital letters alike; never zero.
fn hash(text: &[u8], length: usize) -> u64 {
    // With this bit set a letter is small, and a digit is itself.
    const SMALL: u64 = 0x2020_2020_2020_2020;
    let mut sum = length as u64;
    let mut done = 0;
    while done < length {
        let rest = &text[done..];
        let taken = (length - done).min(8);
        let eight = match rest.first_chunk() {
            Some(eight) => u64::from_le_bytes(*eight) & u64::MAX >> (64 - 8 * taken),
            None => rest[..taken].iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte)),
        };
        sum = (sum.rotate_left(5) ^ (eight | SMALL)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        sum ^= sum >> 29;
        done += taken;
    }
    sum | 1 << 63
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn judge(novelty: &mut Novelty, page: &PageUrl, text: &str) -> Verdict {
        let page = JudgedPage {
            url: page,
            title: None,
            text,
            triples: &[],
            plain_links: &HashSet::new(),
            shown_instead: &[],
            found_on: None,
        };
        novelty.judge(&page, &WordRuns::of(&page))
    }

    fn url(host: &str, number: u32) -> PageUrl {
        PageUrl::parse(&format!("http://{host}/{number}")).unwrap()
    }

    /// Pages of text that no other number has.
    fn prose(number: u32) -> String {
        (0..60_u32).map(|word| format!("w{:x} ", mix(u64::from(number * 1000 + word)) % 5000)).collect()
    }

    #[test]
    fn one_page_under_ever_new_sessions_is_seen_through_soon() {
        let mut novelty = Novelty::new(NoveltyRules::default());
        let verdicts: Vec<Verdict> = (0..200)
            .map(|number| judge(&mut novelty, &url("shop.example", number), &prose(number % 5)))
            .collect();
        let exhausted = verdicts.iter().position(|verdict| *verdict == Verdict::Exhausted);
        assert!(exhausted.is_some_and(|first| first < 60), "{exhausted:?}");
        assert!(verdicts[100..].iter().all(|verdict| *verdict == Verdict::Exhausted));
        // As soon as it says something again, its links are worth something again.
        assert_eq!(judge(&mut novelty, &url("shop.example", 999), &prose(999)), Verdict::New);
    }

    #[test]
    fn a_calendar_has_nothing_more_to_say_soon() {
        let mut novelty = Novelty::new(NoveltyRules::default());
        let months = ["January", "February", "March", "April", "May", "June", "July", "August", "September"];
        let page = |number: usize| {
            let month = months[number % months.len()];
            let (year, day) = (2000 + number, number % 28 + 1);
            let text = format!(
                "{month} {year}. No events. Monday Tuesday Wednesday Thursday Friday Saturday Sunday {day}"
            );
            (PageUrl::parse(&format!("http://a.example/{year}/{}", number % 12 + 1)).unwrap(), text)
        };
        let verdicts: Vec<Verdict> =
            (0..80).map(page).map(|(url, text)| judge(&mut novelty, &url, &text)).collect();
        assert!(verdicts[60..].iter().all(|verdict| *verdict == Verdict::Exhausted), "{verdicts:?}");
        // Without a date in their URLs, pages that differ in numbers are records, and records are what we are after.
        for number in 0..100 {
            let text = format!(
                "Record {number} of the weather station: {} degrees, {} percent, {} millibar",
                number * 7,
                number * 3,
                number * 5
            );
            assert_eq!(judge(&mut novelty, &url("weather.example", number), &text), Verdict::New);
        }
        // Readings of the day have a date in their URLs, and are no calendar for it.
        for number in 0..100_usize {
            let rates: String = (0..8)
                .map(|rate| format!("{}.{:04} ", rate, mix((number * 8 + rate) as u64) % 10_000))
                .collect();
            let page =
                PageUrl::parse(&format!("http://rates.example/2026/{}/{}", number / 28 + 1, number % 28 + 1));
            let text =
                format!("Rates of day {} in month {}, 2026: {rates}", number % 28 + 1, number / 28 + 1);
            assert_eq!(judge(&mut novelty, &page.unwrap(), &text), Verdict::New, "{text}");
        }
    }

    #[test]
    fn of_a_long_text_the_smallest_runs_are_looked_at() {
        for words in [100, 1000, 1030, 20_000] {
            let text: String = (0..words).map(|word| format!("w{} ", mix(word) % 700)).collect();
            let mut hashes = Vec::new();
            for_each_word(text.as_bytes(), false, |word| hashes.push(word));
            let runs =
                hashes.windows(3).map(|run| mix(run[0].rotate_left(13) ^ run[1].rotate_left(7) ^ run[2]));
            let mut runs: Vec<u64> = runs.collect();
            runs.sort_unstable();
            runs.truncate(RUNS_MAX);
            runs.dedup();
            assert_eq!(WordRuns::of_text(&text, false), runs.into_iter().map(mix).collect::<Vec<_>>());
        }
    }

    #[test]
    fn honest_sites_have_more_to_say() {
        let mut novelty = Novelty::new(NoveltyRules::default());
        let menu = "Home About us Contact News Products Imprint all rights reserved since 1999";
        for number in 0..2000 {
            let verdict =
                judge(&mut novelty, &url("honest.example", number), &format!("{menu} {}", prose(number)));
            assert_eq!(verdict, Verdict::New, "page {number}");
        }
    }

    #[test]
    fn a_mirror_is_told_by_what_others_said() {
        let mut novelty = Novelty::new(NoveltyRules::default());
        for number in 0..100 {
            assert_eq!(judge(&mut novelty, &url("first.example", number), &prose(number)), Verdict::New);
        }
        let last =
            (0..100).map(|number| judge(&mut novelty, &url("mirror.example", number), &prose(number))).last();
        assert_eq!(last, Some(Verdict::Exhausted));
    }

    #[test]
    fn memory_is_bounded() {
        let mut novelty = Novelty::new(NoveltyRules { hosts_max: 10, ..NoveltyRules::default() });
        for number in 0..500 {
            judge(&mut novelty, &url("short.example", number), &format!("too short to say {number}"));
            judge(&mut novelty, &url(&format!("h{number}.example"), 0), &prose(number));
            assert!(novelty.hosts.len() <= 10 && novelty.texts.len() <= 160);
            assert!(novelty.had.len() <= 160 && novelty.worded.len() <= 160);
        }
        assert_eq!(judge(&mut novelty, &url("x.example", 1), &"\u{0}é ".repeat(10_000)), Verdict::New);
    }

    proptest! {
        /// Words are the same wherever they stand, and however they are found.
        #[test]
        fn words_are_found_wherever_they_stand(text in "[a-zA-Z0-9 .~\u{10}-é東]{0,60}") {
            let words = |text: &str| {
                let mut words = Vec::new();
                for_each_word(text.as_bytes(), false, |word| words.push(word));
                words
            };
            let alone: Vec<u64> = text
                .split(|letter: char| letter.is_ascii() && !letter.is_ascii_alphanumeric())
                .flat_map(words)
                .collect();
            prop_assert_eq!(words(&text), alone);
        }
    }

    #[test]
    fn words_are_what_a_reader_takes_for_words() {
        let words = |text: &str, dates_alike: bool| {
            let mut words = Vec::new();
            for_each_word(text.as_bytes(), dates_alike, |word| words.push(word));
            words
        };
        for (one, other) in [
            ("Blue harbour", "blue  HARBOUR."),
            ("a\u{2014}b", "a b"),
            ("\u{201c}quoted\u{201d} words", "quoted words"),
            ("\u{6771}\u{4eac}\u{3002}", "\u{6771} \u{4eac} \u{3002}"),
        ] {
            assert_eq!(words(one, false), words(other, false), "{one} and {other}");
        }
        assert_eq!(words("12 1999 20310401", true), words("05 2031 19990101", true));
        assert_ne!(words("12 1999", false), words("5 2031", false));
        assert_ne!(words("w12 31", true), words("w5 31", true));
        for readings in
            [["32", "33"], ["123", "124"], ["0999", "1234"], ["17.7351", "17.7352"], ["31000", "31001"]]
        {
            assert_ne!(words(readings[0], true), words(readings[1], true), "{readings:?}");
        }
        assert_eq!(words("caf\u{e9}s \u{2603}\u{2603}", false).len(), 2);
        assert_eq!(words("\u{e2}\u{80}", false).len(), 1);
        assert!(words("", false).is_empty() && words(" .\u{2003}\u{2014}", false).is_empty());
    }
}
