//! Whether the simulation tells the truth: a small web is crawled for real, and simulated, and the times are compared.

use std::io::Write;

use serde_json::json;
use webloom_pipeline::DataDir;

use super::simulate::World;
use crate::commands::bench::{ServerProcess, WebArguments, crawl_spec};
use crate::commands::crawl::{Show, crawl};

/// Seconds between two requests to one host. Long enough that politeness, and not the machine, decides.
const DELAY: f64 = 0.1;

/// Crawls, simulates, compares.
pub(super) fn run(as_json: bool) -> anyhow::Result<()> {
    let web = WebArguments::skewed(1_200, 200);
    let server = ServerProcess::start(&web)?;
    let spec = crawl_spec(&web, &server, &format!("{}ms", DELAY * 1e3), true)?;
    let folder = tempfile::tempdir()?;
    let report = crawl(&DataDir::new(folder.path()), spec, Show::Nothing)?;
    let measured = report.counters.elapsed().as_secs_f64();
    let pages = report.summary.counts.indexed as f64;
    let sizes = web.web().host_sizes();
    // Every URL that is asked for takes its turn: redirects, missing pages and robots.txt too.
    let fetches = web.web().expected().fetches() as f64;
    let stretch = fetches / web.pages as f64;
    let world = World {
        classes: sizes.iter().map(|size| (1.0, *size as f64 * stretch + 1.0)).collect(),
        rate: 1e6,
        delay: DELAY,
        outward_links: 8.0,
        seeds: 1.0,
    };
    let simulated = world.crawl(1.0 - 1e-6).end().seconds;
    let ratio = simulated / measured;
    let mut out = std::io::stdout().lock();
    if as_json {
        let json = json!({
            "pages": pages, "hosts": sizes.len(), "delay_seconds": DELAY,
            "measured_seconds": measured, "simulated_seconds": simulated, "ratio": ratio,
        });
        writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
    } else {
        writeln!(
            out,
            "{pages:.0} pages on {} hosts, {DELAY} s between two requests to one: crawled in {measured:.1} s, simulated {simulated:.1} s ({ratio:.2}x)",
            sizes.len()
        )?;
    }
    Ok(())
}
