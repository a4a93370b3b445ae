//! The `webloom` command: a thin rim around the crates. Start at [`Command`]; each subcommand is a file in `commands/`.

mod commands;
mod output;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Crawls a part of the web into a graph you can search and query while the crawl still runs.
#[derive(Debug, Parser)]
#[command(name = "webloom", version, about, long_about = None, arg_required_else_help = true, after_help = EXAMPLES)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
    /// Say more on stderr: -v for what goes wrong with pages, -vv for everything.
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    verbose: u8,
}

const EXAMPLES: &str = "\
Examples:
  webloom demo                                        a small web, served and crawled on this machine
  webloom crawl https://example.org/ --max-pages 200  one site, politely, into ./webloom-data
  webloom query 'SELECT * { ?s ?p ?o } LIMIT 10'      ask what was found, also while the crawl runs
  webloom search painter                              find things by words
  webloom extract page.html                           the triples of one file, or of one URL

Results go to stdout, everything else to stderr. Exit codes: 0 done, 1 failed, 2 wrong usage.";

#[derive(Debug, Subcommand)]
enum Command {
    Demo(commands::demo::Demo),
    Crawl(Box<commands::crawl::CrawlCommand>),
    Extract(commands::extract::Extract),
    Query(commands::query::Query),
    Search(commands::search::Search),
    Load(commands::load::Load),
    Dump(commands::dump::Dump),
    Stats(commands::stats::Stats),
    Check(commands::check::Check),
    Backup(commands::backup::Backup),
    Restore(commands::backup::Restore),
    Detect(commands::detect::Detect),
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    output::start_logging(arguments.verbose);
    let done = match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::Crawl(crawl) => crawl.run(),
        Command::Extract(extract) => extract.run(),
        Command::Query(query) => query.run(),
        Command::Search(search) => search.run(),
        Command::Load(load) => load.run(),
        Command::Dump(dump) => dump.run(),
        Command::Stats(stats) => stats.run(),
        Command::Check(check) => check.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::Detect(detect) => detect.run(),
        Command::Bench(bench) => bench.run(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        // Whoever read our output has seen enough: `webloom dump | head` is no failure.
        Err(error) if output::is_broken_pipe(&error) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("webloom: {}", output::reasons(&error));
            ExitCode::from(if error.is::<output::WrongUsage>() { 2 } else { 1 })
        }
    }
}
