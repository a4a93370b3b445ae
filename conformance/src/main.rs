//! Runs the public test suites and counts: passed of total, by suite.
//!
//! The suites are not part of this repository. They are looked for where `WEBLOOM_SUITES` says, else in
//! `../shared/suites`; without them this program fails. Each suite is a file in `suites/` with a function from that
//! folder to outcomes, and a line in [`SUITES`] with the cases that are known to fail and why. A case that fails
//! and is not listed fails the run; so does one that is listed and passes, so the lists only shrink.

mod graphs;
mod suites;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What came of one case.
pub struct Outcome {
    /// What it is counted under, such as `rdfa html5`.
    pub group: String,
    /// The case's name in its suite.
    pub id: String,
    /// Why it failed.
    pub result: Result<(), String>,
}

/// A suite: where its cases are run, and which of them are known to fail.
struct Suite {
    name: &'static str,
    run: fn(&Path) -> anyhow::Result<Vec<Outcome>>,
    /// Name of the case (a `*` at its end stands for any rest) and the reason.
    known_failures: &'static [(&'static str, &'static str)],
}

const SUITES: &[Suite] = &[
    Suite { name: "rdfa", run: suites::rdfa::run, known_failures: suites::rdfa::KNOWN_FAILURES },
    Suite { name: "json-ld", run: suites::jsonld::run, known_failures: &[] },
    Suite { name: "feeds", run: suites::feeds::run, known_failures: suites::feeds::KNOWN_FAILURES },
    Suite { name: "microdata", run: suites::microdata::run, known_failures: &[] },
    Suite { name: "microformats", run: suites::microformats::run, known_failures: &[] },
    Suite { name: "mime", run: suites::mime::run, known_failures: &[] },
    Suite { name: "rdf", run: suites::rdf::run, known_failures: &[] },
    Suite { name: "robots", run: suites::robots::run, known_failures: &[] },
    Suite { name: "sparql", run: suites::sparql::run, known_failures: suites::sparql::KNOWN_FAILURES },
    Suite { name: "protocol", run: suites::protocol::run, known_failures: suites::protocol::KNOWN_FAILURES },
    Suite { name: "warc", run: suites::warc::run, known_failures: &[] },
    Suite { name: "xslt", run: suites::xslt::run, known_failures: suites::xslt::KNOWN_FAILURES },
];

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let verbose = arguments.iter().any(|argument| argument == "--failures");
    let wanted: Vec<&String> = arguments.iter().filter(|argument| !argument.starts_with("--")).collect();
    if let Some(unknown) = wanted.iter().find(|name| SUITES.iter().all(|suite| suite.name != **name)) {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        eprintln!("`{unknown}` is no suite; there are {}", names.join(", "));
        return ExitCode::from(2);
    }
    let folder = folder();
    if !folder.is_dir() {
        eprintln!("no suites at {}; set WEBLOOM_SUITES to their folder", folder.display());
        return ExitCode::FAILURE;
    }
    let mut good = true;
    for suite in SUITES {
        if wanted.is_empty() || wanted.iter().any(|name| *name == suite.name) {
            good &= run(suite, &folder, verbose);
        }
    }
    if good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn folder() -> PathBuf {
    match std::env::var_os("WEBLOOM_SUITES") {
        Some(folder) => folder.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/suites"),
    }
}

/// Runs one suite, prints its counts, and answers whether all is as expected.
#[expect(clippy::print_stdout, reason = "the counts are this program's result")]
fn run(suite: &Suite, folder: &Path, verbose: bool) -> bool {
    let outcomes = match (suite.run)(folder) {
        Ok(outcomes) => outcomes,
        Err(error) => {
            eprintln!("{}: {error:#}", suite.name);
            return false;
        }
    };
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for outcome in &outcomes {
        let (passed, total) = counts.entry(&outcome.group).or_default();
        *passed += usize::from(outcome.result.is_ok());
        *total += 1;
    }
    for (group, (passed, total)) in &counts {
        println!("{group:<28} {passed:>5}/{total:<5} {:>6.1} %", 100.0 * *passed as f64 / *total as f64);
    }
    let mut good = !outcomes.is_empty();
    for outcome in &outcomes {
        let reason = suite.known_failures.iter().find(|(id, _)| matches(id, &outcome.id));
        match (&outcome.result, reason) {
            (Err(problem), None) => {
                good = false;
                eprintln!("  FAILED {}: {problem}", outcome.id);
            }
            (Err(problem), Some((_, reason))) if verbose => {
                eprintln!("  known  {}: {reason}\n         {problem}", outcome.id);
            }
            _ => {}
        }
    }
    for (id, _) in suite.known_failures {
        if !outcomes.iter().any(|outcome| matches(id, &outcome.id) && outcome.result.is_err()) {
            good = false;
            eprintln!("  {id} is listed as a known failure and passes; take it off the list");
        }
    }
    good
}

fn matches(pattern: &str, id: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => id.starts_with(prefix),
        None => pattern == id,
    }
}
