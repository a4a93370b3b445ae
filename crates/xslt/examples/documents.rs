//! Documents per second of a stylesheet: `cargo run --release --example documents -- parse|transform COUNT STYLESHEET DOCUMENT`.
//!
//! The stylesheet is compiled once; the document is parsed, and with `transform` also transformed and serialised,
//! COUNT times on one thread, in five rounds of which the best counts. Time is what the processor spent on this thread
//! where Linux says so, else that of the clock. `webloom bench transform --write DIR` writes files to try it with.

use std::error::Error;
use std::io::Write;
use std::time::Instant;

use webloom_xslt::{Document, Limits, NoLoader, Stylesheet};

/// What the `webloom` command uses too.
#[global_allocator]
static ALLOCATOR: webloom_allocator::Allocator = webloom_allocator::Allocator;

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [what, count, stylesheet, document] = arguments.as_slice() else {
        return Err("usage: documents parse|transform COUNT STYLESHEET DOCUMENT".into());
    };
    let count: u32 = count.parse()?;
    let limits = Limits::default();
    let stylesheet = Stylesheet::compile(&std::fs::read(stylesheet)?, "urn:documents", &NoLoader, &limits)?;
    let source = std::fs::read(document)?;
    let clock = Instant::now();
    let mut best = f64::INFINITY;
    for _ in 0..5 {
        let start = seconds(clock);
        for _ in 0..count {
            let document = Document::parse(&source, "urn:documents", &limits)?;
            if what == "transform" {
                std::hint::black_box(stylesheet.transform(&document, &[], &NoLoader, &limits)?);
            }
            std::hint::black_box(document);
        }
        best = best.min(seconds(clock) - start);
    }
    let rate = f64::from(count) / best;
    writeln!(std::io::stdout(), "{document}: {what} {rate:.1} documents/s")?;
    Ok(())
}

/// Seconds of processor time of this thread, or of the clock.
fn seconds(clock: Instant) -> f64 {
    std::fs::read_to_string("/proc/thread-self/schedstat")
        .ok()
        .and_then(|line| line.split(' ').next()?.parse::<f64>().ok())
        .map_or_else(|| clock.elapsed().as_secs_f64(), |nanoseconds| nanoseconds / 1e9)
}
