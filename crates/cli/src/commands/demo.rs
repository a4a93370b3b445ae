//! `webloom demo`: a small web is served on loopback, crawled, and asked.

use std::collections::BTreeSet;
use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use webloom_index::{IndexReader, QueryOptions};
use webloom_pipeline::{DataDir, RawSpec};
use webloom_server::Example;
use webloom_testkit::{WebServer, demo};

use super::crawl::{CrawlReport, Serving, Show, crawl, crawl_and_serve};
use super::query::print_table;
use super::serve::ListenArguments;
use crate::output::wrong_usage;

/// Serve a small web on this machine, crawl it, and show what was learned. Nothing leaves the machine.
#[derive(Debug, Args)]
pub struct Demo {
    /// Directory for the demo's data; made anew each time.
    #[arg(long, value_name = "DIR", default_value = "webloom-demo")]
    data: PathBuf,
    /// End after the answers instead of serving them.
    #[arg(long)]
    no_serve: bool,
    #[command(flatten)]
    listen: ListenArguments,
}

/// Marks a directory as the demo's own, so that only such a one is ever emptied.
const MARK: &str = "webloom-demo.txt";

impl Demo {
    pub fn run(self) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data);
        self.make_room(&data)?;
        let server = WebServer::start_blocking(demo::demo_web(), Default::default())
            .context("cannot serve the demo's web on loopback")?;
        let mut raw = RawSpec::default();
        raw.set("seeds", demo::demo_seeds().to_vec());
        raw.set("scope.within", "anywhere");
        raw.set("politeness.delay", "100ms");
        raw.set("politeness.retry_pause", "500ms");
        raw.set("politeness.crawl_delay_max", "1s");
        raw.set("politeness.contact", "https://webloom.example/demo");
        raw.set("fetch.allow_private", true);
        raw.set("fetch.resolve", vec![server.resolve_rule()]);
        let spec = raw.check()?;

        let hosts: BTreeSet<&str> = demo::demo_pages().iter().map(|page| page.host).collect();
        eprintln!(
            "A web of {} hosts is served on this machine: {}.",
            hosts.len(),
            hosts.into_iter().collect::<Vec<_>>().join(", ")
        );
        eprintln!("Crawling it, politely, from {} …\n", spec.seeds[0]);
        if self.no_serve {
            let report = crawl(&data, spec, Show::for_stderr())?;
            return show_answers(&data, &report);
        }
        let mut serving = Serving::new(self.listen.config()?);
        serving.stay = true;
        serving.examples = demo::demo_queries()
            .iter()
            .map(|query| Example { title: query.title.to_owned(), query: query.sparql.trim().to_owned() })
            .collect();
        let shown = data.clone();
        serving.at_end = Some(Box::new(move |report| show_answers(&shown, report)));
        crawl_and_serve(&data, spec, Show::for_stderr(), Some(serving))?;
        Ok(())
    }

    /// Empties the directory if it is a demo's, refuses if it is anything else.
    fn make_room(&self, data: &DataDir) -> anyhow::Result<()> {
        let mark = self.data.join(MARK);
        if self.data.exists() {
            let empty = std::fs::read_dir(&self.data).is_ok_and(|mut entries| entries.next().is_none());
            if !mark.is_file() && !empty {
                return Err(wrong_usage(format!(
                    "`{}` exists and is not a demo's; name another directory with --data",
                    self.data.display()
                )));
            }
            for part in [data.index(), data.frontier(), data.archive()] {
                if part.exists() {
                    std::fs::remove_dir_all(&part)
                        .with_context(|| format!("cannot remove `{}`", part.display()))?;
                }
            }
        }
        std::fs::create_dir_all(&self.data)?;
        std::fs::write(mark, "Made by `webloom demo`, which empties this directory when it runs again.\n")?;
        Ok(())
    }
}

/// Asks the demo's questions and prints what comes of them.
fn show_answers(data: &DataDir, report: &CrawlReport) -> anyhow::Result<()> {
    eprint!("{}", report.to_text(data.path()));
    let snapshot = IndexReader::open(&data.index())?.snapshot()?;
    let stats = snapshot.stats()?;
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "\n{} pages became {} quads over {} terms.",
        report.summary.counts.indexed, stats.quads, stats.terms
    )?;
    for query in demo::demo_queries() {
        writeln!(out, "\n{}\n", query.title)?;
        for line in query.sparql.trim().lines() {
            writeln!(out, "    {line}")?;
        }
        writeln!(out)?;
        print_table(snapshot.query(query.sparql, &QueryOptions::default())?, &mut out)?;
    }
    let place = data.path().display();
    writeln!(out, "\nThe data is in {place}. Go on with:")?;
    writeln!(out, "    webloom search --data {place} harbour")?;
    writeln!(
        out,
        "    webloom query --data {place} 'SELECT ?type (COUNT(*) AS ?n) {{ ?x a ?type }} GROUP BY ?type ORDER BY DESC(?n)'"
    )?;
    writeln!(out, "    webloom dump --data {place} | less")?;
    Ok(())
}
