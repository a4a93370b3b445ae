//! `webloom urls`: tells a crawl which URLs to fetch, how urgent they are, and which never to fetch.
//!
//! When no crawl runs, the frontier is changed at once. When one does, the order is left in `DATA/inject/`, where the crawl picks it up
//! within half a second; the command waits for its answer.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};
use serde_json::Value;
use webloom_frontier::{FjallFrontier, FrontierConfig};
use webloom_index::{IndexReader, Snapshot};
use webloom_model::{FrontierError, Injection, PageUrl, SystemClock};
use webloom_pipeline::entries::{WrongEntry, check_list, each_entry, told};
use webloom_pipeline::{CrawlSpec, DataDir, Order, Past, Spool};

use crate::output::{DataArgument, one_line, with_commas, wrong_usage};

/// Entries of a list that are handed over at once,
const CHUNK_ENTRIES: usize = 100_000;
/// unless their URLs are longer than this.
const CHUNK_BYTES: usize = 16 << 20;
/// Longest list that is read.
const INPUT_BYTES_MAX: u64 = 1 << 30;
/// Entries that are wrong and told one by one.
const WRONG_TOLD_MAX: usize = 10;

/// Add URLs to a crawl, change how urgent they are, or ban them; also while it runs.
#[derive(Debug, Args)]
#[command(after_help = "\
A list is JSON, [{\"url\": \"https://example.org/\", \"score\": 0.3}, {\"url\": \"…\", \"blacklisted\": true}], or one URL a
line, with a score behind it if there is one. Scores go from -1 to 1; URLs found by following links stand at 0. Entries
that are wrong are told, the others taken; the exit code is 1 then.

Examples:
  webloom urls add --data crawl list.json
  echo 'https://example.org/news 0.8' | webloom urls score --data crawl
  echo 'ads.example.org' | webloom urls ban --data crawl     a name without a scheme bans the whole host")]
pub struct Urls {
    #[command(subcommand)]
    what: What,
}

#[derive(Debug, Subcommand)]
enum What {
    /// Queue URLs that are new or failed before, give those that wait their scores, ban the blacklisted.
    Add(List),
    /// Give URLs that wait other scores; leave unknown ones alone.
    Score(List),
    /// Never fetch these URLs, nor anything on these hosts.
    Ban(List),
}

#[derive(Debug, Args)]
struct List {
    /// The list; `-` or nothing is standard input.
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    data: DataArgument,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Urls {
    pub fn run(self) -> anyhow::Result<()> {
        match self.what {
            What::Add(list) => list.give(Wish::Add),
            What::Score(list) => list.give(Wish::Score),
            What::Ban(list) => list.give(Wish::Ban),
        }
    }
}

/// What is wished for the URLs of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Wish {
    Add,
    Score,
    Ban,
}

impl Wish {
    /// What is wrong with an entry for this wish, if something is.
    fn problem(self, entry: &Entry) -> Option<String> {
        match (self, entry) {
            (Self::Ban, _) => None,
            (_, Entry::Host(host)) => Some(format!("`{host}` is not a URL; write https://{host}/")),
            (Self::Score, Entry::Url(Injection { url, score: None, .. })) => {
                Some(format!("`{url}` has no score"))
            }
            (_, Entry::Url(_)) => None,
        }
    }

    fn order(self, injections: Vec<Injection>, hosts: Vec<String>) -> Order {
        match self {
            Self::Add => Order::Add(injections),
            Self::Score => Order::Score(injections),
            Self::Ban => Order::Ban { urls: injections.into_iter().map(|one| one.url).collect(), hosts },
        }
    }
}

/// One entry of a list.
#[derive(Debug, Clone, PartialEq)]
enum Entry {
    Url(Injection),
    Host(String),
}

impl List {
    fn give(&self, wish: Wish) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data.data);
        if !data.frontier().is_dir() {
            return Err(wrong_usage(format!(
                "`{}` holds no crawl; name its directory with --data, or make one with `webloom crawl`",
                data.path().display()
            )));
        }
        let bytes = self.read()?;
        let form = Form::of(&bytes)?;
        let desk = Desk::open(&data)?;
        let mut given = Given::new(wish, |order| desk.carry_out(order));
        form.each(&bytes, |number, entry| given.take(number, entry))?;
        given.hand_over()?;
        given.tell(form, self.json)
    }

    fn read(&self) -> anyhow::Result<Vec<u8>> {
        let mut bytes = Vec::new();
        match self.file.as_deref().filter(|file| *file != std::path::Path::new("-")) {
            Some(file) => {
                let file_name = file.display();
                let file = std::fs::File::open(file)
                    .map_err(|error| wrong_usage(format!("cannot read `{file_name}`: {error}")))?;
                file.take(INPUT_BYTES_MAX)
                    .read_to_end(&mut bytes)
                    .with_context(|| format!("cannot read `{file_name}`"))?;
            }
            None => {
                std::io::stdin()
                    .take(INPUT_BYTES_MAX)
                    .read_to_end(&mut bytes)
                    .context("cannot read the list")?;
            }
        }
        if bytes.len() as u64 >= INPUT_BYTES_MAX {
            return Err(wrong_usage(format!("the list is longer than {INPUT_BYTES_MAX} bytes; cut it up")));
        }
        Ok(bytes)
    }
}

/// How a list is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    Json,
    Lines,
}

impl Form {
    /// The form of a list. What is no JSON from one end to the other is refused here, before anything of it is taken.
    fn of(bytes: &[u8]) -> anyhow::Result<Self> {
        match text_of(bytes).iter().find(|byte| !byte.is_ascii_whitespace()) {
            Some(b'[' | b'{') => {
                check_list(text_of(bytes)).map_err(|error| {
                    wrong_usage(format!("the list is not [{{\"url\": …, \"score\": …}}, …]: {error}"))
                })?;
                Ok(Self::Json)
            }
            _ => Ok(Self::Lines),
        }
    }

    /// What an entry is called.
    fn entry(self) -> &'static str {
        match self {
            Self::Json => "entry",
            Self::Lines => "line",
        }
    }

    /// What several are called.
    fn entries(self) -> &'static str {
        match self {
            Self::Json => "entries",
            Self::Lines => "lines",
        }
    }

    /// Tells the entries of a list one after the other, each with its number, from 1, until something fails.
    fn each(
        self,
        bytes: &[u8],
        mut tell: impl FnMut(u64, Result<Entry, String>) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut done = Ok(());
        match self {
            Self::Json => {
                let mut list = serde_json::Deserializer::from_slice(text_of(bytes));
                each_entry(&mut list, |number, entry| {
                    if done.is_ok() {
                        done = tell(number, read_entry(entry));
                    }
                })?;
            }
            Self::Lines => {
                for (number, line) in text_of(bytes).split(|byte| *byte == b'\n').enumerate() {
                    if let Some(entry) = read_line(line) {
                        tell(number as u64 + 1, entry)?;
                    }
                }
            }
        }
        done
    }
}

/// The list without the mark that some editors begin files with.
fn text_of(bytes: &[u8]) -> &[u8] {
    bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes)
}

/// Reads an entry of a JSON list.
fn read_entry(entry: Result<Injection, WrongEntry>) -> Result<Entry, String> {
    match entry {
        Ok(Injection { score: Some(score), url, .. }) if !is_score(score) => {
            Err(format!("`{url}` has the score {score}, which is not from -1 to 1"))
        }
        Ok(injection) => Ok(Entry::Url(injection)),
        Err(WrongEntry { text, reason }) => Err(format!("`{text}`: {reason}")),
    }
}

fn is_score(score: f32) -> bool {
    (-1.0..=1.0).contains(&score)
}

/// Reads a line; nothing when it says nothing.
fn read_line(line: &[u8]) -> Option<Result<Entry, String>> {
    let Ok(line) = std::str::from_utf8(line) else {
        return Some(Err(format!("`{}` is not UTF-8", told(&String::from_utf8_lossy(line)))));
    };
    let line = line.trim();
    if line.is_empty() || line.starts_with('#') {
        return None;
    }
    let (text, score) = match line.split_once(char::is_whitespace) {
        Some((text, score)) => match score.trim().parse::<f32>().ok().filter(|score| is_score(*score)) {
            Some(score) => (text, Some(score)),
            None => return Some(Err(format!("`{}` is not a URL and a score from -1 to 1", told(line)))),
        },
        None => (line, None),
    };
    Some(read_name(text, score))
}

/// Reads a URL, or the name of a host.
fn read_name(text: &str, score: Option<f32>) -> Result<Entry, String> {
    if text.contains("://") {
        let url = PageUrl::parse(text).map_err(|problem| problem.to_string())?;
        return Ok(Entry::Url(Injection { url, score, blacklisted: false }));
    }
    let is_address = text.starts_with('[') && text.ends_with(']');
    if text.contains(['/', '?', '#', '@']) || text.contains(':') && !is_address {
        return Err(format!("`{}` is neither the name of a host nor a URL with its scheme", told(text)));
    }
    // A host in the form that URLs have it in.
    let url = PageUrl::parse(&format!("http://{text}/")).map_err(|problem| problem.to_string())?;
    if url.host().starts_with('.') {
        let problem = "a ban is of one host; `scope.exclude` takes expressions";
        return Err(format!("`{}` is not the name of a host: {problem}", told(text)));
    }
    Ok(Entry::Host(url.host().to_owned()))
}

/// A list on its way to the crawl, chunk by chunk, and what came of it.
struct Given<F> {
    wish: Wish,
    carry_out: F,
    injections: Vec<Injection>,
    hosts: Vec<String>,
    bytes: usize,
    sums: serde_json::Map<String, Value>,
    hosts_banned: u64,
    entries: u64,
    wrong: u64,
    /// The first of them, with their numbers.
    wrong_told: Vec<(u64, String)>,
}

impl<F: FnMut(&Order) -> anyhow::Result<Option<Value>>> Given<F> {
    fn new(wish: Wish, carry_out: F) -> Self {
        Self {
            wish,
            carry_out,
            injections: Vec::new(),
            hosts: Vec::new(),
            bytes: 0,
            sums: serde_json::Map::new(),
            hosts_banned: 0,
            entries: 0,
            wrong: 0,
            wrong_told: Vec::new(),
        }
    }

    /// Takes an entry that is right, and notes one that is wrong.
    fn take(&mut self, number: u64, entry: Result<Entry, String>) -> anyhow::Result<()> {
        self.entries += 1;
        let entry = entry.and_then(|entry| self.wish.problem(&entry).map_or(Ok(entry), Err));
        match entry {
            Ok(Entry::Url(injection)) => {
                self.bytes += injection.url.as_str().len();
                self.injections.push(injection);
            }
            Ok(Entry::Host(host)) => {
                self.bytes += host.len();
                self.hosts.push(host);
            }
            Err(problem) => {
                self.wrong += 1;
                if self.wrong_told.len() < WRONG_TOLD_MAX {
                    self.wrong_told.push((number, problem));
                }
            }
        }
        if self.injections.len() + self.hosts.len() >= CHUNK_ENTRIES || self.bytes >= CHUNK_BYTES {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Gives what was gathered to the crawl.
    fn hand_over(&mut self) -> anyhow::Result<()> {
        if self.injections.is_empty() && self.hosts.is_empty() {
            return Ok(());
        }
        self.bytes = 0;
        self.hosts_banned += self.hosts.len() as u64;
        let order = self.wish.order(std::mem::take(&mut self.injections), std::mem::take(&mut self.hosts));
        let answer = (self.carry_out)(&order)?.unwrap_or_default();
        for (name, number) in answer.as_object().into_iter().flatten() {
            let before = self.sums.get(name).and_then(Value::as_u64).unwrap_or(0);
            self.sums.insert(name.clone(), (before + number.as_u64().unwrap_or(0)).into());
        }
        Ok(())
    }

    /// Says what came of it. Fails when something was wrong.
    fn tell(mut self, form: Form, json: bool) -> anyhow::Result<()> {
        let text = if json {
            let wrong = self.wrong_told.iter();
            let wrong = wrong.map(|(number, reason)| serde_json::json!({"number": number, "reason": reason}));
            let wrong: Vec<Value> = wrong.collect();
            self.sums.insert("wrong".to_owned(), self.wrong.into());
            self.sums.insert("wrong_entries".to_owned(), wrong.into());
            serde_json::to_string_pretty(&self.sums)?
        } else {
            self.in_words()
        };
        writeln!(std::io::stdout(), "{text}")?;
        if self.wrong == 0 {
            return Ok(());
        }
        for (number, reason) in &self.wrong_told {
            eprintln!("{} {number}: {}", form.entry(), one_line(reason));
        }
        let more = self.wrong - self.wrong_told.len() as u64;
        if more > 0 {
            eprintln!("… and {} more", with_commas(more));
        }
        let [wrong, entries] = [self.wrong, self.entries].map(with_commas);
        anyhow::bail!(
            "{wrong} of {entries} {} refused{}",
            if self.entries == 1 { form.entry() } else { form.entries() },
            if self.wrong < self.entries { "; the others were taken" } else { "" }
        )
    }

    fn in_words(&self) -> String {
        let numbers = self.sums.iter().filter_map(|(name, number)| Some((name, number.as_u64()?)));
        let mut told: Vec<String> = numbers
            .filter(|(_, number)| *number > 0)
            .map(|(name, number)| format!("{} {}", with_commas(number), name.replace('_', " ")))
            .collect();
        // A host can be banned before anything is known of it.
        if self.hosts_banned > 0 {
            let hosts = if self.hosts_banned == 1 { "host" } else { "hosts" };
            told.push(format!("{} {hosts} banned from now on", with_commas(self.hosts_banned)));
        }
        if told.is_empty() { "nothing changed".to_owned() } else { told.join(", ") }
    }
}

/// Where orders are given: the frontier, or the crawl that has it.
pub struct Desk<'a> {
    data: &'a DataDir,
    /// Nothing when a crawl has it.
    here: Option<(FjallFrontier, Option<Snapshot>)>,
}

impl<'a> Desk<'a> {
    /// Opens the frontier of a directory, unless a crawl has it.
    pub fn open(data: &'a DataDir) -> anyhow::Result<Self> {
        let frontier = match FjallFrontier::open(&data.frontier(), config_of(data), Arc::new(SystemClock)) {
            Err(FrontierError::Locked { .. }) => return Ok(Self { data, here: None }),
            opened => opened?,
        };
        let snapshot = match data.has_index() {
            true => Some(IndexReader::open(&data.index())?.snapshot()?),
            false => None,
        };
        let desk = Self { data, here: Some((frontier, snapshot)) };
        // What was ordered before comes first.
        if let Some(past) = desk.past() {
            Spool::new(data.spool()).serve(&past)?;
        }
        Ok(desk)
    }

    fn past(&self) -> Option<Past<'_>> {
        let (frontier, snapshot) = self.here.as_ref()?;
        Some(Past { frontier, snapshot: snapshot.clone(), fetcher: None, spec: None })
    }

    /// Carries an order out, or has the crawl do it. Nothing when the crawl has not answered; then it will find the order later.
    pub fn carry_out(&self, order: &Order) -> anyhow::Result<Option<Value>> {
        if let Some(past) = self.past() {
            return Ok(Some(order.carry_out(&past)?));
        }
        let (place, spool) = (self.data.path().display(), Spool::new(self.data.spool()));
        let name = spool
            .submit(order)
            .with_context(|| format!("cannot leave an order in `{}`", self.data.spool().display()))?;
        let answer = spool.answer(&name)?;
        if answer.is_none() {
            if matches!(order, Order::Why(_) | Order::Robots { .. }) {
                spool.withdraw(&name);
                anyhow::bail!("`{place}` is in use, but nobody answers there");
            }
            eprintln!(
                "`{place}` is in use, and the crawl there has not answered yet; the order stays in `{}`",
                self.data.spool().display()
            );
        }
        Ok(answer)
    }
}

/// The settings the crawl was started with, so that its budgets and delays are told as they are.
fn config_of(data: &DataDir) -> FrontierConfig {
    let spec = std::fs::read_to_string(data.spec()).ok().and_then(|text| CrawlSpec::from_toml(&text).ok());
    spec.map(|spec| spec.frontier).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Vec<(u64, Result<Entry, String>)> {
        let mut entries = Vec::new();
        let form = Form::of(text.as_bytes()).unwrap();
        form.each(text.as_bytes(), |number, entry| {
            entries.push((number, entry));
            Ok(())
        })
        .unwrap();
        entries
    }

    #[test]
    fn lists_in_both_forms() {
        let json = parse(
            r#" [{"url": "http://a.example", "score": 0.3}, {"url": "http://b.example/", "blacklisted": true}]"#,
        );
        let lines = parse("# ours\nhttp://a.example 0.3\n\n  ADS.Example \r\nhttp://b.example/");
        assert_eq!(json[0].1, lines[0].1);
        assert_eq!(lines[1], (4, Ok(Entry::Host("ads.example".to_owned()))));
        assert!(matches!(&lines[2], (5, Ok(Entry::Url(Injection { score: None, .. })))));
        assert_eq!(parse("\u{feff}[]"), []);
    }

    #[test]
    fn mistakes_are_told_by_their_numbers_and_the_rest_is_read() {
        for (text, number, expected) in [
            (
                "http://a.example/\nftp://b.example/\nhttp://c.example/",
                2,
                "`ftp://b.example/` cannot be crawled",
            ),
            (
                "http://a.example/ high\nhttp://a.example/",
                1,
                "`http://a.example/ high` is not a URL and a score",
            ),
            ("http://a.example/ nan\nhttp://a.example/", 1, "is not a URL and a score"),
            ("http://a.example/ 1.5\nhttp://a.example/", 1, "is not a URL and a score from -1 to 1"),
            (
                "\na.example/private\nhttp://a.example/",
                2,
                "`a.example/private` is neither the name of a host nor a URL",
            ),
            ("/private\nhttp://a.example/", 1, "neither the name of a host nor a URL"),
            ("a.example:8080\nhttp://a.example/", 1, "neither the name of a host nor a URL"),
            (".a.example\nhttp://a.example/", 1, "a ban is of one host"),
            ("*.a.example\nhttp://a.example/", 1, "`*.a.example` is not a host name"),
            (r#"[{"uri": "http://a.example/"}, {"url": "http://a.example/"}]"#, 1, "unknown field `uri`"),
            (r#"[{"url": "http://a.example/"}, {"url": 7}]"#, 2, "`{\"url\": 7}`: invalid type: integer `7`"),
            (
                r#"[{"url": "http://a.example/"}, {"url": "http://a.example/", "score": -2}]"#,
                2,
                "the score -2",
            ),
            (r#"[{"url": "http://a.example/"}, 7]"#, 2, "expected {\"url\": …"),
        ] {
            let entries = parse(text);
            let (at, wrong) = entries.iter().find(|(_, entry)| entry.is_err()).unwrap();
            assert_eq!(*at, number, "{text}");
            let reason = wrong.as_ref().unwrap_err();
            assert!(reason.contains(expected), "{text}: {reason}");
            assert!(entries.iter().any(|(_, entry)| entry.is_ok()), "{text}");
        }
    }

    #[test]
    fn what_is_no_json_is_refused_as_a_whole() {
        for (text, expected) in [
            ("[{\"url\": \"http://a.example/\"},\n{]", "line 2 column 2"),
            ("[{\"url\": \"http://a.example/\"}", "line 1 column 29"),
            ("[] []", "trailing characters at line 1 column 4"),
            ("{\"url\": \"http://a.example/\"}", "expected a list"),
        ] {
            let error = Form::of(text.as_bytes()).unwrap_err();
            assert!(error.is::<crate::output::WrongUsage>());
            assert!(error.to_string().contains(expected), "{text}: {error}");
        }
    }

    #[test]
    fn long_lists_are_given_in_chunks_and_summed_up() {
        let mut orders = Vec::new();
        let mut given = Given::new(Wish::Add, |order| {
            let Order::Add(injections) = order else { panic!("{order:?}") };
            orders.push(injections.len());
            Ok(Some(serde_json::json!({"queued": injections.len()})))
        });
        let url = PageUrl::parse("http://a.example/").unwrap();
        for number in 1..=CHUNK_ENTRIES as u64 + 20 {
            let entry = match number % 5000 {
                0 => Err("wrong".to_owned()),
                _ => Ok(Entry::Url(Injection::new(url.clone()))),
            };
            given.take(number, entry).unwrap();
        }
        given.take(0, Ok(Entry::Host("a.example".to_owned()))).unwrap();
        given.hand_over().unwrap();
        assert_eq!((given.wrong, given.wrong_told.len(), given.entries), (21, 10, CHUNK_ENTRIES as u64 + 21));
        assert_eq!(given.in_words(), format!("{} queued", with_commas(CHUNK_ENTRIES as u64)));
        drop(given);
        assert_eq!(orders, [CHUNK_ENTRIES]);
    }
}
