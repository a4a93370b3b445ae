//! What the tests of the command share: running it, and crawling a web served by this process.

#![allow(dead_code, reason = "each test file uses a part")]

use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::time::{Duration, Instant};

use webloom_testkit::WebServer;

/// The command under test.
pub fn webloom() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_webloom"));
    command.stdin(Stdio::null());
    command
}

/// Runs the command to its end and gives its stdout; fails the test with its stderr when it fails.
#[track_caller]
pub fn stdout_of(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?} failed:\n{}", stderr(&output));
    String::from_utf8(output.stdout).unwrap()
}

pub fn stderr(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

/// A crawl of the server's web, from `seed`, wherever it leads, into `data`.
pub fn crawl(server: &WebServer, seed: &str, data: &Path, delay: &str) -> Command {
    crawl_within("anywhere", server, seed, data, delay)
}

/// The same within a scope.
pub fn crawl_within(within: &str, server: &WebServer, seed: &str, data: &Path, delay: &str) -> Command {
    let mut command = webloom();
    command
        .args(["crawl", seed, "--within", within, "--allow-private", "--quiet", "--delay", delay])
        .args(["--resolve", &server.resolve_rule()])
        .args(["--set", &format!("politeness.crawl_delay_max={delay}")])
        .arg("--data")
        .arg(data);
    command
}

/// The lines of the dump that do not depend on when and in which order pages came, sorted.
#[track_caller]
pub fn stable_dump(data: &Path) -> Vec<String> {
    let text = stdout_of(webloom().args(["dump", "--stable", "--data"]).arg(data));
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort_unstable();
    lines
}

/// Sends a signal to a process, by its name: `INT`, `TERM`.
#[track_caller]
pub fn send(process: u32, signal: &str) {
    let signal = format!("-{signal}");
    assert!(Command::new("kill").args([&signal, &process.to_string()]).status().unwrap().success());
}

/// Asks until `done` is satisfied with the answer, or fails the test.
#[track_caller]
pub fn until<T>(patience: Duration, what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let start = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(start.elapsed() < patience, "{what} did not happen within {patience:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// Numbers that look random and are the same in every run.
pub struct Dice(pub u64);

impl Dice {
    pub fn roll(&mut self, below: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % below
    }
}
