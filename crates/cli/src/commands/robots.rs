//! `webloom robots`: what a robots.txt says about URLs.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use anyhow::bail;
use clap::Args;
use webloom_fetch::{FetchConfig, Fetcher, MemoryRobotsStore, ResolveRule, RobotsRules, SystemResolver};
use webloom_model::{PageUrl, SystemClock};

use super::extract::read_input;
use crate::output::wrong_usage;

/// Say whether a robots.txt allows a crawler to fetch URLs: a line each, "allowed" or "disallowed", tab, URL.
///
/// Files are judged as RFC 9309's reference parser judges them: URLs count as they are written, the longest rule that covers a
/// URL decides, and what no rule covers is allowed. The origin of a URL is not looked at.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom robots robots.txt --agent webloom --url https://example.org/a --url https://example.org/b
  webloom robots https://example.org/ --agent googlebot --url /search    asks the site for its robots.txt
  webloom robots robots.txt --agent webloom --url /a --explain           names the line that decides")]
pub struct Robots {
    /// A robots.txt, - for standard input, or the URL of a site to ask for its own.
    #[arg(value_name = "FILE|SITE")]
    input: Option<String>,
    /// The crawler's name.
    #[arg(long, value_name = "NAME", default_value = "webloom")]
    agent: String,
    /// URLs or paths to judge.
    #[arg(long, value_name = "URL", required = true, num_args = 1..)]
    url: Vec<String>,
    /// Add the number of the line that decides, or - when none does.
    #[arg(long)]
    explain: bool,
    /// Print one JSON object per URL instead.
    #[arg(long)]
    json: bool,
    /// Ask private and loopback addresses too.
    #[arg(long)]
    allow_private: bool,
    /// Where hosts are, instead of asking DNS: HOST=ADDRESS[:PORT], *.SUFFIX=ADDRESS[:PORT].
    #[arg(long, value_name = "RULE")]
    resolve: Vec<String>,
}

impl Robots {
    pub fn run(mut self) -> anyhow::Result<()> {
        let input = match self.input.take() {
            Some(input) => input,
            // Written behind the URLs, the file looks like one of them.
            None if self.url.len() > 1 => self.url.pop().unwrap_or_default(),
            None => return Err(wrong_usage("name a robots.txt, or the site to ask for one")),
        };
        let is_site = input.starts_with("http://") || input.starts_with("https://");
        let text = if is_site { self.ask(&input)? } else { read_input(Path::new(&input))?.body };
        let rules = RobotsRules::parse(&text, &self.agent);
        let mut out = std::io::stdout().lock();
        for url in &self.url {
            let decision = rules.decide(url);
            let verdict = if decision.allowed { "allowed" } else { "disallowed" };
            if self.json {
                let line =
                    serde_json::json!({"url": url, "allowed": decision.allowed, "line": decision.line});
                writeln!(out, "{line}")?;
            } else if self.explain {
                let line = decision.line.map_or_else(|| "-".to_owned(), |line| line.to_string());
                writeln!(out, "{verdict}\t{url}\t{line}")?;
            } else {
                writeln!(out, "{verdict}\t{url}")?;
            }
        }
        Ok(())
    }

    /// The robots.txt of a site, as a crawl would see it: redirects followed, a missing one empty.
    fn ask(&self, site: &str) -> anyhow::Result<Vec<u8>> {
        let url = PageUrl::parse(site).map_err(|problem| wrong_usage(problem.to_string()))?;
        let resolve = self
            .resolve
            .iter()
            .map(|rule| {
                rule.parse::<ResolveRule>().map_err(|error| wrong_usage(format!("--resolve {rule}: {error}")))
            })
            .collect::<anyhow::Result<_>>()?;
        let config = FetchConfig { allow_private: self.allow_private, resolve, ..FetchConfig::default() };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let record = runtime.block_on(async {
            let resolver = Arc::new(SystemResolver::new()?);
            let store = Arc::new(MemoryRobotsStore::default());
            let fetcher = Fetcher::new(config, resolver, store, Arc::new(SystemClock))?;
            anyhow::Ok(fetcher.fetch_robots_of(&url).await)
        })?;
        match record {
            Ok(record) => {
                eprintln!("{}/robots.txt: {}", url.origin(), record.summary());
                Ok(record.body.to_vec())
            }
            Err(reason) => {
                bail!("{}/robots.txt cannot be had, so nothing may be fetched: {reason}", url.origin())
            }
        }
    }
}
