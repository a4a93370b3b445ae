//! The `webloom` command: a thin rim around the crates. Start at [`Command`]; each subcommand is a file in `commands/`.

mod commands;
mod output;
mod signals;
mod svg;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A page makes tens of thousands of small strings, on several threads at once: a tenth of the reading was the system's
/// allocator.
#[global_allocator]
static ALLOCATOR: webloom_allocator::Allocator = webloom_allocator::Allocator;

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
    Serve(commands::serve::Serve),
    Top(commands::top::Top),
    Load(commands::load::Load),
    Dump(commands::dump::Dump),
    Stats(commands::stats::Stats),
    Reindex(commands::replay::Reindex),
    Why(commands::why::Why),
    Urls(commands::urls::Urls),
    Materialize(commands::materialize::Materialize),
    Check(commands::check::Check),
    Backup(commands::backup::Backup),
    Restore(commands::backup::Restore),
    Detect(commands::detect::Detect),
    Robots(commands::robots::Robots),
    Xslt(commands::xslt::Xslt),
    Warc(commands::warc::Warc),
    Plan(commands::plan::Plan),
    Bench(commands::bench::Bench),
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    output::start_logging(arguments.verbose);
    // A thousand, as many systems grant, is soon used up by connections and the files of an index.
    webloom_pipeline::ask_for_all_files();
    let done = match arguments.command {
        Command::Demo(demo) => demo.run(),
        Command::Crawl(crawl) => crawl.run(),
        Command::Extract(extract) => extract.run(),
        Command::Query(query) => query.run(),
        Command::Search(search) => search.run(),
        Command::Serve(serve) => serve.run(),
        Command::Top(top) => top.run(),
        Command::Load(load) => load.run(),
        Command::Dump(dump) => dump.run(),
        Command::Stats(stats) => stats.run(),
        Command::Reindex(reindex) => reindex.run(),
        Command::Why(why) => why.run(),
        Command::Urls(urls) => urls.run(),
        Command::Materialize(materialize) => materialize.run(),
        Command::Check(check) => check.run(),
        Command::Backup(backup) => backup.run(),
        Command::Restore(restore) => restore.run(),
        Command::Detect(detect) => detect.run(),
        Command::Robots(robots) => robots.run(),
        Command::Xslt(xslt) => xslt.run(),
        Command::Warc(warc) => warc.run(),
        Command::Plan(plan) => plan.run(),
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
