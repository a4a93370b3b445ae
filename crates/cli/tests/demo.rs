//! The first thing a new user runs.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use support::{stderr, stdout_of, webloom};

#[test]
fn the_demo_answers_its_three_questions() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("demo");
    let out = stdout_of(webloom().args(["demo", "--no-serve", "--data"]).arg(&data));
    // Under each question there is at least one row: a table is a header, a line, and answers.
    let lines: Vec<&str> = out.lines().collect();
    let first_rows: Vec<&str> =
        lines.windows(2).filter(|pair| pair[0].starts_with('─')).map(|pair| pair[1]).collect();
    assert_eq!(first_rows.len(), 3, "{out}");
    assert!(first_rows.iter().all(|row| !row.is_empty()), "a question has no answer:\n{out}");
    // It may be run again, and only ever empties what it made itself.
    stdout_of(webloom().args(["demo", "--no-serve", "--data"]).arg(&data));
    let other = folder.path().join("other");
    std::fs::create_dir(&other).unwrap();
    std::fs::write(other.join("precious"), "x").unwrap();
    let refused = webloom().args(["demo", "--no-serve", "--data"]).arg(&other).output().unwrap();
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("is not a demo's"));
    assert!(other.join("precious").exists());
}
