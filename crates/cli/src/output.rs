//! What every command says in the same way: errors of usage, logs, numbers for people.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;
use tracing_subscriber::EnvFilter;
use webloom_index::{IndexReader, Snapshot};
use webloom_pipeline::DataDir;
use webloom_pipeline::spec::short_reason;

/// The arguments ask for something that cannot be done; exit code 2.
#[derive(Debug)]
pub struct WrongUsage(pub String);

impl std::fmt::Display for WrongUsage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for WrongUsage {}

/// An error of usage, ready to be returned.
pub fn wrong_usage(message: impl Into<String>) -> anyhow::Error {
    WrongUsage(message.into()).into()
}

/// The data directory of commands that read one.
#[derive(Debug, Args)]
pub struct DataArgument {
    /// Directory of the crawl.
    #[arg(long, value_name = "DIR", default_value = "webloom-data")]
    pub data: PathBuf,
}

impl DataArgument {
    /// The index as it is now, for reading; a crawl may be writing it.
    pub fn snapshot(&self) -> anyhow::Result<Snapshot> {
        let data = DataDir::new(&self.data);
        if !data.has_index() {
            return Err(wrong_usage(format!(
                "`{}` holds no crawl; name its directory with --data, or make one with `webloom crawl`",
                self.data.display()
            )));
        }
        Ok(IndexReader::open(&data.index())?.snapshot()?)
    }
}

/// Sends logs to stderr. `WEBLOOM_LOG` overrides the flags.
pub fn start_logging(verbose: u8) {
    let level = match verbose {
        0 => "error",
        1 => "warn,webloom_pipeline=debug,webloom_fetch=info",
        _ => "debug,h2=info,hyper=info,tantivy=info",
    };
    let filter = EnvFilter::try_from_env("WEBLOOM_LOG").unwrap_or_else(|_| EnvFilter::new(level));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(io::stderr)
        .with_target(false)
        // Where stderr is gone there is nobody to tell, and telling would end the process.
        .log_internal_errors(false)
        .init();
}

/// Says something on stderr. That nobody reads it any more, because a terminal was closed or a pipe, is no reason to fail.
pub fn say(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}

/// What went wrong and why, each cause once: many errors already say their cause themselves.
pub fn reasons(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain().map(ToString::to_string) {
        let cause = short_reason(&cause);
        if !text.contains(cause) {
            text.push_str(if text.is_empty() { "" } else { ": " });
            text.push_str(cause);
        }
    }
    text
}

/// True when stdout was closed by its reader.
pub fn is_broken_pipe(error: &anyhow::Error) -> bool {
    error.chain().any(|cause| {
        cause.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
    })
}

/// Text of a page on one line, without control characters, which must not reach a terminal.
pub fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ").chars().filter(|c| !c.is_control()).collect()
}

/// `12345678` as `12,345,678`.
pub fn with_commas(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// Bytes for people.
pub fn bytes(number: u64) -> String {
    match number {
        0..1_000 => format!("{number} B"),
        1_000..1_000_000 => format!("{:.1} kB", number as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.1} MB", number as f64 / 1e6),
        _ => format!("{:.2} GB", number as f64 / 1e9),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cause_is_said_once() {
        let inner = anyhow::anyhow!("disk full");
        assert_eq!(
            reasons(&inner.context("cannot write: disk full").context("the crawl failed")),
            "the crawl failed: cannot write: disk full"
        );
    }

    #[test]
    fn numbers_for_people() {
        for (number, expected) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(with_commas(number), expected);
        }
        assert_eq!(bytes(1_500), "1.5 kB");
        assert_eq!(bytes(2_000_000_000), "2.00 GB");
    }
}
