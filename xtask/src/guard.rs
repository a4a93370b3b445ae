//! The guard against slow creep: how many instructions small pieces of hot work take, beside what they took when `bench/guard.json` was written.
//!
//! Instructions are counted by valgrind's cachegrind, which gives the same number on a busy machine as on a quiet one. The binary is the one the
//! tests use, so that nothing is built twice; its optimisation is lower than a release's, and what grows in one grows in the other. Start at
//! [`check`]; `cargo xtask guard --update` writes the file anew, for the same commit that makes something dearer on purpose.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};

use crate::{installed, output, root, step};

/// A piece may take this many times what it took.
const GROWTH_MAX: f64 = 1.10;

/// A piece that takes less than this is worth writing down.
const GAIN: f64 = 0.90;

/// The same among all tests: a machine that cannot have valgrind tests everything else, and is told so.
pub(crate) fn check_if_possible() -> anyhow::Result<()> {
    if let Err(reason) = valgrind() {
        eprintln!("instructions were NOT counted: {reason:#}");
        return Ok(());
    }
    check()
}

/// Counts every piece and compares.
pub(crate) fn check() -> anyhow::Result<()> {
    let counts = count_all()?;
    let file = file();
    let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
    let known: BTreeMap<String, u64> =
        serde_json::from_str(&text).with_context(|| format!("{} is damaged", file.display()))?;
    let mut dearer = Vec::new();
    for (piece, count) in &counts {
        let Some(before) = known.get(piece) else {
            dearer.push(format!("{piece} is new"));
            continue;
        };
        let ratio = *count as f64 / (*before).max(1) as f64;
        eprintln!("  {piece:<14} {count:>12} instructions, {ratio:.3}x");
        if ratio > GROWTH_MAX {
            dearer.push(format!(
                "{piece} takes {:.0} % more ({before} before, {count} now)",
                (ratio - 1.0) * 100.0
            ));
        } else if ratio < GAIN {
            eprintln!("  {piece} takes less than it did; `cargo xtask guard --update` writes that down");
        }
    }
    dearer.extend(
        known.keys().filter(|piece| !counts.contains_key(*piece)).map(|piece| format!("{piece} is gone")),
    );
    if dearer.is_empty() {
        return Ok(());
    }
    bail!(
        "instructions: {}. If that is meant, run `cargo xtask guard --update` and commit {} with the change",
        dearer.join("; "),
        file.strip_prefix(root()).unwrap_or(&file).display()
    )
}

/// Counts every piece and writes the counts down.
pub(crate) fn update() -> anyhow::Result<()> {
    let counts = count_all()?;
    let text = serde_json::to_string_pretty(&counts)? + "\n";
    std::fs::write(file(), text).with_context(|| format!("cannot write {}", file().display()))
}

fn file() -> PathBuf {
    root().join("bench/guard.json")
}

/// Finds valgrind, or installs Debian's.
fn valgrind() -> anyhow::Result<()> {
    if installed("valgrind") {
        return Ok(());
    }
    if installed("apt-get") {
        eprintln!("$ apt-get install valgrind");
        let _ = Command::new("apt-get").args(["update", "-qq"]).status();
        let _ = Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends", "valgrind"])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
    }
    if !installed("valgrind") {
        bail!("valgrind is not here and could not be installed; install the package `valgrind`");
    }
    Ok(())
}

fn count_all() -> anyhow::Result<BTreeMap<String, u64>> {
    valgrind()?;
    step("cargo", &["build", "--workspace", "--all-targets"], &[])?;
    let binary = crate::target_folder()?.join("debug/webloom");
    let pieces = output(&binary.to_string_lossy(), &["bench", "guard"])?;
    // As many at a time as there are cores: counts do not depend on it.
    let pieces: Vec<&str> = pieces.lines().collect();
    let mut counts = BTreeMap::new();
    for pair in pieces.chunks(2) {
        let counted: Vec<anyhow::Result<u64>> = std::thread::scope(|scope| {
            let threads: Vec<_> = pair.iter().map(|piece| scope.spawn(|| count(&binary, piece))).collect();
            threads
                .into_iter()
                .map(|thread| thread.join().unwrap_or_else(|_| Err(anyhow::anyhow!("counting ended early"))))
                .collect()
        });
        for (piece, count) in pair.iter().zip(counted) {
            counts.insert((*piece).to_owned(), count.with_context(|| format!("cannot count `{piece}`"))?);
        }
    }
    Ok(counts)
}

/// What doing a piece once takes: with it, less without it.
fn count(binary: &Path, piece: &str) -> anyhow::Result<u64> {
    let (without, with) = (instructions(binary, piece, "1")?, instructions(binary, piece, "2")?);
    Ok(with.saturating_sub(without))
}

fn instructions(binary: &Path, piece: &str, times: &str) -> anyhow::Result<u64> {
    let counted = Command::new("valgrind")
        .args(["--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"])
        .arg(binary)
        .args(["bench", "guard", piece, "--times", times])
        .output()
        .context("cannot run valgrind")?;
    let said = String::from_utf8_lossy(&counted.stderr);
    if !counted.status.success() {
        bail!("{said}");
    }
    let line = said.lines().find_map(|line| line.split_once("refs:")).context("valgrind gave no count")?;
    Ok(line.1.trim().replace(',', "").parse()?)
}
