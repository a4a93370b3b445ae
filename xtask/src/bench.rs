//! The measurements that are kept: run here, written to `bench/results` with date and commit.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::{output, python_with, root, step};

/// Pages that the slower peers read: enough for a rate, few enough to wait for.
const PEER_PAGES: &str = "60";

/// Runs the measurements named, or all.
pub(crate) fn run(what: &[&str]) -> anyhow::Result<()> {
    let all: &[&str] = &["crawl", "extract"];
    let wanted = if what.is_empty() { all } else { what };
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        bail!("`{unknown}` is not measured here; there are {}", all.join(", "));
    }
    step("cargo", &["build", "--release", "--package", "webloom"], &[])?;
    for name in wanted {
        match *name {
            "crawl" => crawl()?,
            _ => extract()?,
        }
    }
    Ok(())
}

/// Crawls a generated web of 50,000 pages twice, the second time with a host that takes ten seconds to answer.
fn crawl() -> anyhow::Result<()> {
    for (name, slow_host, seconds) in [("crawl-50k", "0", "3600"), ("crawl-50k-slow-host", "10", "150")] {
        eprintln!("{name}");
        let arguments = ["bench", "crawl", "--pages", "50000", "--hosts", "500", "--json"];
        let result = webloom(&[&arguments[..], &["--slow-host", slow_host, "--seconds", seconds]].concat())?;
        keep(name, &result)?;
    }
    Ok(())
}

/// Reads the same generated pages with Webloom, a bare HTML parse, extruct and pyRdfa, one after the other.
fn extract() -> anyhow::Result<()> {
    let python = python_with("peers", &["extruct==0.18.0", "pyrdfa3==3.6.5"])?;
    let pages = root().join("target/bench-pages");
    webloom(&["bench", "extract", "--pages", PEER_PAGES, "--write", &pages.to_string_lossy()])?;
    let ours = webloom(&["bench", "extract", "--pages", PEER_PAGES, "--rounds", "9", "--json"])?;
    let mut result: serde_json::Value = serde_json::from_slice(&ours)?;
    let peers = Command::new(python)
        .arg(root().join("bench/peers/extract.py"))
        .arg(&pages)
        .arg(PEER_PAGES)
        .stderr(Stdio::inherit())
        .output()?;
    if !peers.status.success() {
        bail!("the peers failed");
    }
    let peers: serde_json::Value = serde_json::from_slice(&peers.stdout)?;
    let rate = |rows: &serde_json::Value, name: &str| {
        rows.as_array()
            .and_then(|rows| {
                rows.iter().find(|row| row["name"].as_str().is_some_and(|known| known.starts_with(name)))
            })
            .and_then(|row| row["pages_per_second"].as_f64())
            .with_context(|| format!("no rate of {name}"))
    };
    let all = rate(&result["contenders"], "detect + all")?;
    let times = serde_json::json!({
        "of_extruct": all / rate(&peers, "extruct")?,
        "rdfa_of_pyrdfa": rate(&result["contenders"], "detect + rdfa")? / rate(&peers, "pyRdfa")?,
        "of_bare_parse": all / rate(&result["contenders"], "bare")?,
    });
    eprintln!("{times}");
    result["peers"] = peers;
    result["times"] = times;
    keep("extract", &serde_json::to_vec_pretty(&result)?)
}

/// What the release binary prints.
fn webloom(arguments: &[&str]) -> anyhow::Result<Vec<u8>> {
    let result = Command::new(root().join("target/release/webloom"))
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()?;
    if !result.status.success() {
        bail!("webloom {} failed", arguments.join(" "));
    }
    Ok(result.stdout)
}

/// Writes a result under today's date and the commit.
fn keep(name: &str, result: &[u8]) -> anyhow::Result<()> {
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    let date = output("date", &["-u", "+%Y-%m-%d"])?;
    let folder: PathBuf = root().join("bench/results");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join(format!("{date}-{commit}-{name}.json"));
    std::fs::write(&file, result).with_context(|| format!("cannot write {}", file.display()))
}
