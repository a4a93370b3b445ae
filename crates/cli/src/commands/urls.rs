//! `webloom urls`: tells a crawl which URLs to fetch, how urgent they are, and which never to fetch.
//!
//! When no crawl runs, the frontier is changed at once. When one does, the order is left in `DATA/inject/`, where the crawl picks it up
//! within half a second; the command waits for its answer.

use std::io::{Read, Write};
use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context;
use clap::{Args, Subcommand};
use webloom_frontier::{FjallFrontier, FrontierConfig};
use webloom_model::{FrontierError, Injection, PageUrl, SystemClock};
use webloom_pipeline::{CrawlSpec, DataDir, Order, Spool};

use crate::output::{DataArgument, with_commas, wrong_usage};

/// Lines of a list that are handed over at once.
const LIST_MAX: usize = 200_000;
/// Longest list that is read.
const INPUT_BYTES_MAX: u64 = 1 << 30;

/// Add URLs to a crawl, change how urgent they are, or ban them; also while it runs.
#[derive(Debug, Args)]
#[command(after_help = "\
A list is JSON, [{\"url\": \"https://example.org/\", \"score\": 0.3}, {\"url\": \"…\", \"blacklisted\": true}], or one URL a
line, with a score behind it if there is one. Scores go from -1 to 1; URLs found by following links stand at 0.

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
    /// Queue URLs that are new, give those that wait their scores, ban the blacklisted.
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
            What::Add(list) => list.give(|lines| {
                lines.without_hosts()?;
                Ok(vec![Order::Add(lines.injections)])
            }),
            What::Score(list) => list.give(|lines| {
                lines.without_hosts()?;
                if let Some(without) = lines.injections.iter().find(|one| one.score.is_none()) {
                    return Err(wrong_usage(format!("`{}` has no score", without.url)));
                }
                Ok(vec![Order::Score(lines.injections)])
            }),
            What::Ban(list) => list.give(|lines| {
                let urls = lines.injections.into_iter().map(|one| one.url).collect();
                Ok(vec![Order::Ban { urls, hosts: lines.hosts }])
            }),
        }
    }
}

/// A list as it was read.
#[derive(Debug, Default, PartialEq)]
struct Lines {
    injections: Vec<Injection>,
    hosts: Vec<String>,
}

impl Lines {
    /// Refuses names without a scheme: only a ban is for a whole host.
    fn without_hosts(&self) -> anyhow::Result<()> {
        match self.hosts.first() {
            Some(host) => Err(wrong_usage(format!("`{host}` is not a URL; write https://{host}/"))),
            None => Ok(()),
        }
    }
}

impl List {
    fn give(&self, orders: impl Fn(Lines) -> anyhow::Result<Vec<Order>>) -> anyhow::Result<()> {
        let Lines { injections, hosts } = parse(&self.read()?)?;
        let data = DataDir::new(&self.data.data);
        if !data.frontier().is_dir() {
            return Err(wrong_usage(format!(
                "`{}` holds no crawl; name its directory with --data, or make one with `webloom crawl`",
                data.path().display()
            )));
        }
        let mut all = Vec::new();
        let banned_hosts = hosts.len();
        if !hosts.is_empty() {
            all.extend(orders(Lines { injections: Vec::new(), hosts })?);
        }
        for chunk in injections.chunks(LIST_MAX) {
            all.extend(orders(Lines { injections: chunk.to_vec(), hosts: Vec::new() })?);
        }
        let mut sums = serde_json::Map::new();
        for answer in carry_out(&data, &all)? {
            for (name, number) in answer.as_object().into_iter().flatten() {
                let before = sums.get(name).and_then(serde_json::Value::as_u64).unwrap_or(0);
                sums.insert(name.clone(), (before + number.as_u64().unwrap_or(0)).into());
            }
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&sums)?)?;
            return Ok(());
        }
        let mut told: Vec<String> = sums
            .iter()
            .filter_map(|(name, number)| {
                number.as_u64().filter(|number| *number > 0).map(|number| (name, number))
            })
            .map(|(name, number)| format!("{} {name}", with_commas(number)))
            .collect();
        // A host can be banned before anything is known of it.
        if banned_hosts > 0 {
            let hosts = if banned_hosts == 1 { "host" } else { "hosts" };
            told.push(format!("{} {hosts} banned from now on", with_commas(banned_hosts as u64)));
        }
        writeln!(out, "{}", if told.is_empty() { "nothing changed".to_owned() } else { told.join(", ") })?;
        Ok(())
    }

    fn read(&self) -> anyhow::Result<String> {
        let mut text = String::new();
        match self.file.as_deref().filter(|file| *file != std::path::Path::new("-")) {
            Some(file) => {
                let file_name = file.display();
                let file = std::fs::File::open(file)
                    .map_err(|error| wrong_usage(format!("cannot read `{file_name}`: {error}")))?;
                file.take(INPUT_BYTES_MAX)
                    .read_to_string(&mut text)
                    .with_context(|| format!("cannot read `{file_name}`"))?;
            }
            None => {
                std::io::stdin()
                    .take(INPUT_BYTES_MAX)
                    .read_to_string(&mut text)
                    .context("cannot read the list")?;
            }
        }
        if text.len() as u64 >= INPUT_BYTES_MAX {
            return Err(wrong_usage(format!("the list is longer than {INPUT_BYTES_MAX} bytes; cut it up")));
        }
        Ok(text)
    }
}

/// Reads a JSON list, or one URL a line.
fn parse(text: &str) -> anyhow::Result<Lines> {
    if text.trim_start().starts_with('[') {
        let injections = serde_json::from_str(text).map_err(|error| {
            wrong_usage(format!("the list is not [{{\"url\": …, \"score\": …}}, …]: {error}"))
        })?;
        return Ok(Lines { injections, hosts: Vec::new() });
    }
    let mut lines = Lines::default();
    for (number, line) in text.lines().enumerate() {
        let line = line.trim();
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        let problem = |what: String| wrong_usage(format!("line {}: {what}", number + 1));
        let (text, score) =
            match line.split_once(char::is_whitespace) {
                Some((text, score)) => {
                    let score = score.trim().parse::<f32>().ok().filter(|score| (-1.0..=1.0).contains(score));
                    (
                        text,
                        Some(score.ok_or_else(|| {
                            problem(format!("`{line}` is not a URL and a score from -1 to 1"))
                        })?),
                    )
                }
                None => (line, None),
            };
        if !text.contains("://") {
            if text.contains(['/', '?', '#', ':', '@']) {
                return Err(problem(format!(
                    "`{text}` is neither the name of a host nor a URL with its scheme"
                )));
            }
            // A host in the form that URLs have it in.
            let url = PageUrl::parse(&format!("http://{text}/"))
                .map_err(|problem_| problem(problem_.to_string()))?;
            lines.hosts.push(url.host().to_owned());
            continue;
        }
        let url = PageUrl::parse(text).map_err(|problem_| problem(problem_.to_string()))?;
        lines.injections.push(Injection { url, score, blacklisted: false });
    }
    Ok(lines)
}

/// Carries orders out on the frontier, or has the crawl do it that has it open.
pub fn carry_out(data: &DataDir, orders: &[Order]) -> anyhow::Result<Vec<serde_json::Value>> {
    match FjallFrontier::open(&data.frontier(), config_of(data), Arc::new(SystemClock)) {
        Ok(frontier) => {
            // What was ordered before comes first.
            Spool::new(data.spool()).serve(&frontier)?;
            orders.iter().map(|order| Ok(order.carry_out(&frontier)?)).collect()
        }
        Err(FrontierError::Locked { .. }) => {
            let spool = Spool::new(data.spool());
            let mut answers = Vec::new();
            for order in orders {
                let name = spool
                    .submit(order)
                    .with_context(|| format!("cannot leave an order in `{}`", data.spool().display()))?;
                match spool.answer(&name)? {
                    Some(answer) => answers.push(answer),
                    None if matches!(order, Order::Why(_) | Order::Robots { .. }) => {
                        spool.withdraw(&name);
                        anyhow::bail!("`{}` is in use, but nobody answers there", data.path().display());
                    }
                    None => eprintln!(
                        "`{}` is in use, and the crawl there has not answered yet; the order stays in `{}`",
                        data.path().display(),
                        data.spool().display()
                    ),
                }
            }
            Ok(answers)
        }
        Err(error) => Err(error.into()),
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

    #[test]
    fn lists_in_both_forms() {
        let json = parse(
            r#" [{"url": "http://a.example", "score": 0.3}, {"url": "http://b.example/", "blacklisted": true}]"#,
        );
        let lines = parse("# ours\nhttp://a.example 0.3\n\n  ADS.Example \nhttp://b.example/\n").unwrap();
        assert_eq!(json.unwrap().injections[0], lines.injections[0]);
        assert_eq!(lines.injections[1].score, None);
        assert_eq!(lines.hosts, ["ads.example"]);
    }

    #[test]
    fn mistakes_name_the_line() {
        for (text, expected) in [
            ("http://a.example/\nftp://b.example/", "line 2: `ftp://b.example/` cannot be crawled"),
            ("http://a.example/ high", "line 1: `http://a.example/ high` is not a URL and a score"),
            ("http://a.example/ nan", "is not a URL and a score"),
            ("http://a.example/ 1.5", "is not a URL and a score from -1 to 1"),
            ("a.example/private", "line 1: `a.example/private` is neither the name of a host nor a URL"),
            ("/private", "neither the name of a host nor a URL"),
            ("a.example:8080", "neither the name of a host nor a URL"),
            ("[{\"uri\": \"http://a.example/\"}]", "the list is not"),
            ("[{\"url\": 7}]", "the list is not"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
