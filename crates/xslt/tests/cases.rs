//! Runs the conformance cases in `cases/` and counts by chapter.
//!
//! Every case must pass but those in `case_format::KNOWN_FAILURES`, and those must fail: the list only shrinks.
//! `cargo nextest run -p webloom-xslt --test cases --no-capture` shows the counts.

#![allow(clippy::print_stdout, reason = "the counts by chapter are this test's report")]

mod case_format;

use std::collections::BTreeMap;
use std::path::Path;

#[test]
fn every_case_gives_what_the_recommendations_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("cases");
    let cases = case_format::load(&folder).expect("the case files must be readable");
    assert!(cases.len() > 700, "only {} cases were found in {}", cases.len(), folder.display());
    let mut counts: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    let mut problems = Vec::new();
    for case in &cases {
        let id = case.id();
        let result = case.run();
        let (passed, total) = counts.entry(&case.chapter).or_default();
        *passed += usize::from(result.is_ok());
        *total += 1;
        let known = case_format::KNOWN_FAILURES.iter().find(|(name, _)| *name == id);
        match (result, known) {
            (Err(problem), None) => problems.push(format!("{id}\n       {problem}")),
            (Ok(()), Some(_)) => {
                problems.push(format!("{id}\n       is listed as failing and passes; take it off the list"));
            }
            _ => {}
        }
    }
    for (name, _) in case_format::KNOWN_FAILURES {
        if cases.iter().all(|case| case.id() != *name) {
            problems.push(format!("{name}\n       is listed as failing and is no case"));
        }
    }
    for (chapter, (passed, total)) in &counts {
        println!("{chapter:<28} {passed:>5}/{total}");
    }
    let passed: usize = counts.values().map(|(passed, _)| passed).sum();
    println!("{:<28} {passed:>5}/{}", "all", cases.len());
    assert!(problems.is_empty(), "{} cases failed:\n\n{}\n", problems.len(), problems.join("\n\n"));
}
