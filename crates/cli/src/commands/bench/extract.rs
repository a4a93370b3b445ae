//! `webloom bench extract`: what reading pages costs, beside a bare HTML parse of the same pages.
//!
//! One thread, pages of realistic size and markup, everything timed by the processor's own clock. The rounds of all
//! contenders are interleaved, so that a noisy neighbour is noisy for all.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use bytes::Bytes;
use clap::Args;
use webloom_detect::detect;
use webloom_model::{DetectedPage, FetchedPage, PageUrl};
use webloom_testkit::realistic_page;
use webloom_transform::{Syntax, TransformConfig, transform};

use super::bare;

/// Read generated pages with each syntax alone and with all of them, beside a bare HTML parse.
#[derive(Debug, Args)]
pub(super) struct BenchExtract {
    /// Pages.
    #[arg(long, default_value_t = 300)]
    pages: u64,
    /// Rounds; the best of each contender counts.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Write the pages as files into this directory instead, for other programs to read.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// A round of one contender takes at least this long.
const ROUND_SECONDS_MIN: f64 = 0.5;

/// Somebody who reads a page, and what they found.
struct Contender {
    name: String,
    read: Box<dyn Fn(&FetchedPage) -> usize>,
    best_seconds: f64,
    found: usize,
}

impl BenchExtract {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let texts: Vec<String> = (0..self.pages).map(|number| realistic_page(self.seed, number)).collect();
        if let Some(folder) = &self.write {
            std::fs::create_dir_all(folder)?;
            for (number, text) in texts.iter().enumerate() {
                let file = folder.join(format!("{number:05}.html"));
                std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
            }
            return Ok(());
        }
        let mut sizes: Vec<usize> = texts.iter().map(String::len).collect();
        sizes.sort_unstable();
        let bytes: usize = sizes.iter().sum();
        let pages = texts
            .into_iter()
            .enumerate()
            .map(|(number, text)| {
                let url = PageUrl::parse(&format!("https://www.example.org/articles/{number}"))?;
                Ok(FetchedPage::local(url, Some("text/html; charset=utf-8"), Bytes::from(text)))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let mut contenders = contenders();
        for _ in 0..self.rounds.max(1) {
            for contender in &mut contenders {
                // Some kernels count a thread's time in ticks of milliseconds, so one pass may be too short to be told.
                let (start, mut passes) = (thread_seconds()?, 0_u32);
                let spent = loop {
                    contender.found = pages.iter().map(|page| (contender.read)(page)).sum();
                    passes += 1;
                    let spent = thread_seconds()? - start;
                    if spent >= ROUND_SECONDS_MIN {
                        break spent;
                    }
                };
                contender.best_seconds = contender.best_seconds.min(spent / f64::from(passes));
            }
        }
        let bare_seconds = contenders[0].best_seconds;
        let mut out = std::io::stdout().lock();
        let rate = |contender: &Contender| self.pages as f64 / contender.best_seconds;
        let megabytes = |contender: &Contender| bytes as f64 / 1e6 / contender.best_seconds;
        if self.json {
            let rows: Vec<serde_json::Value> = contenders
                .iter()
                .map(|contender| {
                    serde_json::json!({
                        "name": contender.name,
                        "pages_per_second": rate(contender),
                        "megabytes_per_second": megabytes(contender),
                        "of_bare_parse": bare_seconds / contender.best_seconds,
                        "quads": contender.found,
                    })
                })
                .collect();
            let json = serde_json::json!({
                "pages": self.pages,
                "bytes": bytes,
                "median_bytes": sizes.get(sizes.len() / 2),
                "largest_bytes": sizes.last(),
                "rounds": self.rounds,
                "seed": self.seed,
                "contenders": rows,
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
            return Ok(());
        }
        writeln!(
            out,
            "{} pages, {:.1} MB, the middle one {} bytes, the largest {}; one thread, processor time",
            self.pages,
            bytes as f64 / 1e6,
            sizes.get(sizes.len() / 2).unwrap_or(&0),
            sizes.last().unwrap_or(&0),
        )?;
        writeln!(out, "{:<24}{:>10}{:>10}{:>14}{:>12}", "", "pages/s", "MB/s", "of bare parse", "quads")?;
        for contender in &contenders {
            writeln!(
                out,
                "{:<24}{:>10.0}{:>10.1}{:>14.2}{:>12}",
                contender.name,
                rate(contender),
                megabytes(contender),
                bare_seconds / contender.best_seconds,
                contender.found,
            )?;
        }
        Ok(())
    }
}

/// The bare parse first, then everything together, then one by one.
fn contenders() -> Vec<Contender> {
    let contender = |name: &str, read: Box<dyn Fn(&FetchedPage) -> usize>| Contender {
        name: name.to_owned(),
        read,
        best_seconds: f64::INFINITY,
        found: 0,
    };
    let mut all = vec![
        contender("bare html5ever parse", Box::new(|page| bare::parse(&String::from_utf8_lossy(&page.body)))),
        contender("detect", Box::new(|page| detect(page.clone()).detection.syntaxes.len())),
        contender("detect + all syntaxes", Box::new(|page| read(page, &TransformConfig::default()))),
    ];
    for syntax in
        [Syntax::Html, Syntax::Rdfa, Syntax::Microdata, Syntax::JsonLd, Syntax::Microformats, Syntax::Meta]
    {
        let config = TransformConfig { only: Some(BTreeSet::from([syntax])), ..TransformConfig::default() };
        all.push(contender(&format!("detect + {syntax}"), Box::new(move |page| read(page, &config))));
    }
    all
}

fn read(page: &FetchedPage, config: &TransformConfig) -> usize {
    let detected: DetectedPage = detect(page.clone());
    transform(&detected, config).quads.len()
}

/// Seconds this thread has been on a processor.
pub(super) fn thread_seconds() -> anyhow::Result<f64> {
    let text =
        std::fs::read_to_string("/proc/thread-self/schedstat").context("the kernel's books are needed")?;
    let nanoseconds: f64 = text.split_whitespace().next().unwrap_or_default().parse()?;
    Ok(nanoseconds / 1e9)
}
