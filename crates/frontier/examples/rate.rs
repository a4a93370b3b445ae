//! How fast the durable frontier is here: `cargo run --release -p webloom-frontier --example rate [URLS [DIRECTORY [JSON]]]`.
//!
//! A line for each tenth of the way, as `webloom bench frontier` measures it.

#![expect(clippy::print_stdout, reason = "its output is what it is for")]

use std::path::PathBuf;

use webloom_frontier::measure::{MeasureOptions, Part, Report, measure};

// As in the product, so that memory is comparable.
#[global_allocator]
static ALLOCATOR: webloom_allocator::Allocator = webloom_allocator::Allocator;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let urls: u64 = std::env::args().nth(1).map_or(Ok(1_000_000), |text| text.parse())?;
    let temporary = tempfile::tempdir()?;
    let data = std::env::args().nth(2).map_or_else(|| temporary.path().join("frontier"), PathBuf::from);
    let options = MeasureOptions {
        data,
        urls,
        hosts: 100_000.min(urls / 20),
        known_percent: 85,
        links: 2_000_000,
        pages: 100_000,
        questions: 1_000_000,
        scores: 200_000,
    };
    // For a machine to read, beside the lines.
    let json = std::env::args().nth(3);
    let rate = |part: &Part| {
        let worst = part.worst.as_secs_f64() * 1000.0;
        format!(
            "{:.0}k/s ({:.0}k per CPU-s, worst {worst:.0} ms)",
            part.per_second() / 1e3,
            part.per_cpu_second() / 1e3
        )
    };
    let measured = measure(&options, |tenth| {
        println!(
            "{} URLs: checks {}; links {}; fill {}; leases {}; pages {}; scores {}; machine {}; {} MB resident ({} at most), {} anonymous, {:.0} B a URL on disk, \
             {:.0} written, {} runs, {:.1} s, {:.1} CPU-s",
            tenth.urls,
            rate(&tenth.checks),
            rate(&tenth.links),
            rate(&tenth.fill),
            rate(&tenth.leases),
            rate(&tenth.pages),
            rate(&tenth.scores),
            rate(&tenth.yardstick),
            tenth.resident >> 20,
            tenth.resident_most >> 20,
            tenth.anonymous >> 20,
            tenth.disk as f64 / tenth.urls as f64,
            tenth.written as f64 / tenth.urls as f64,
            tenth.runs,
            tenth.wall.as_secs_f64(),
            tenth.cpu.as_secs_f64(),
        );
    })?;
    println!("reopened in {:?}", measured.reopened);
    let report = Report::new(&options, &measured);
    println!("last tenth to first\n{}", report.ratios());
    if let Some(path) = json {
        std::fs::write(path, serde_json::to_string_pretty(&report)?)?;
    }
    Ok(())
}
