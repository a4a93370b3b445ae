//! The measurements that are kept: run here, written to `bench/results` with date and commit.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use anyhow::{Context, bail};

use crate::{output, python_with, root, step};

/// Pages that the slower peers read: enough for a rate, few enough to wait for.
const PEER_PAGES: &str = "60";

/// Runs the measurements named, or all.
pub(crate) fn run(what: &[&str]) -> anyhow::Result<()> {
    let all: &[&str] = &["crawl", "extract", "transform", "warc"];
    let wanted = if what.is_empty() { all } else { what };
    if let Some(unknown) = wanted.iter().find(|name| !all.contains(name)) {
        bail!("`{unknown}` is not measured here; there are {}", all.join(", "));
    }
    step("cargo", &["build", "--release", "--package", "webloom"], &[])?;
    for name in wanted {
        match *name {
            "crawl" => crawl()?,
            "transform" => transform()?,
            "warc" => warc()?,
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
    crawl_compared()
}

/// Crawls a web of 100,000 hosts beside a bare download and a crawl without index, and a smaller one beside Scrapy.
fn crawl_compared() -> anyhow::Result<()> {
    let large = ["--pages", "100000", "--hosts", "100000"];
    let arguments = ["bench", "crawl", "--compare", "--json"];
    let mut result: serde_json::Value =
        serde_json::from_slice(&webloom(&[&arguments[..], &large].concat())?)?;
    let small = ["--pages", "5000", "--hosts", "500"];
    let ours = webloom(&[&["bench", "crawl", "--json"][..], &small].concat())?;
    let python = python_with("scrapy", &["scrapy==2.19.0"])?;
    let web = crate::compare::Web::serve(&small)?;
    let script = root().join("bench/peers/crawl_scrapy.py");
    let scrapy = Command::new(python).arg(script).args([&web.address, "http://site0.example/"]).output()?;
    drop(web);
    let scrapy: serde_json::Value = serde_json::from_slice(&scrapy.stdout).context("Scrapy failed")?;
    result["beside_scrapy"] =
        serde_json::json!({"webloom": serde_json::from_slice::<serde_json::Value>(&ours)?, "scrapy": scrapy});
    keep("crawl-compared", &serde_json::to_vec_pretty(&result)?)
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

/// Runs the same stylesheets over the same documents with Webloom and with libxslt, in process and as a process each.
fn transform() -> anyhow::Result<()> {
    let python = python_with("lxml", &["lxml==6.1.3"])?;
    if let Err(reason) = crate::compare::debian("xsltproc", "xsltproc") {
        eprintln!("{reason}; what a process for each document gives is left out");
    }
    let folder = root().join("target/bench-transform");
    webloom(&["bench", "transform", "--write", &folder.to_string_lossy()])?;
    // Turns, and the best of each: the machine may be slower for a while for reasons of its own.
    let (mut result, mut peers) = (serde_json::Value::Null, serde_json::Value::Null);
    for _ in 0..TURNS {
        let ours = webloom(&["bench", "transform", "--rounds", "3", "--json"])?;
        keep_best(&mut result, serde_json::from_slice(&ours)?);
        let theirs = Command::new(&python)
            .arg(root().join("bench/peers/transform.py"))
            .arg(&folder)
            .stderr(Stdio::inherit())
            .output()?;
        if !theirs.status.success() {
            bail!("the peers failed");
        }
        keep_best(&mut peers, serde_json::from_slice(&theirs.stdout)?);
    }
    let mut times = serde_json::Map::new();
    for job in result["jobs"].as_array().into_iter().flatten() {
        let ours = job["documents_per_second"].as_f64().context("no rate of ours")?;
        let same = peers["jobs"].as_array().into_iter().flatten().find(|peer| peer["name"] == job["name"]);
        for peer in ["libxslt_in_process", "xsltproc_per_document"] {
            if let (Some(rate), Some(name)) = (same.and_then(|row| row[peer].as_f64()), job["name"].as_str())
            {
                times.insert(format!("{name} of {peer}"), serde_json::json!(ours / rate));
            }
        }
    }
    eprintln!("{}", serde_json::to_string_pretty(&times)?);
    result["peers"] = peers;
    result["times"] = times.into();
    keep("transform", &serde_json::to_vec_pretty(&result)?)
}

/// How often each contender has its turn where they take turns.
const TURNS: usize = 5;

/// Takes every number of a later result that is larger. Both have the same shape, and their numbers are rates.
fn keep_best(best: &mut serde_json::Value, later: serde_json::Value) {
    match (best, later) {
        (serde_json::Value::Object(best), serde_json::Value::Object(later)) => {
            for (name, value) in later {
                keep_best(best.entry(name).or_insert(serde_json::Value::Null), value);
            }
        }
        (serde_json::Value::Array(best), serde_json::Value::Array(later)) if best.len() == later.len() => {
            best.iter_mut().zip(later).for_each(|(best, later)| keep_best(best, later));
        }
        (best, later) => {
            let is_less =
                matches!((best.as_f64(), later.as_f64()), (Some(best), Some(later)) if later <= best);
            if !is_less {
                *best = later;
            }
        }
    }
}

/// Reads the same WARC file with Webloom, FastWARC and warcio, one after the other, and makes an index of it.
fn warc() -> anyhow::Result<()> {
    keep("warc", &serde_json::to_vec_pretty(&measure_warc()?)?)
}

/// Reads one file of responses with Webloom, FastWARC and warcio, one after the other.
fn measure_warc() -> anyhow::Result<serde_json::Value> {
    let python = python_with("warc-peers", &["fastwarc==1.1.0", "warcio==1.8.1"])?;
    let folder = root().join("target/bench-warc");
    if folder.is_dir() {
        std::fs::remove_dir_all(&folder)?;
    }
    let ours = webloom(&["bench", "warc", "--write", &folder.to_string_lossy(), "--json"])?;
    let mut result: serde_json::Value = serde_json::from_slice(&ours)?;
    let file = result["file"].as_str().context("no file was written")?.to_owned();
    let peers = Command::new(python)
        .arg(root().join("bench/peers/warc.py"))
        .arg(&file)
        .stderr(Stdio::inherit())
        .output()?;
    if !peers.status.success() {
        bail!("the peers failed");
    }
    let peers: serde_json::Value = serde_json::from_slice(&peers.stdout)?;
    let mut times = serde_json::Map::new();
    for peer in ["fastwarc", "warcio"] {
        for what in ["iterate_answers_per_second", "payloads_answers_per_second"] {
            let rate = |row: &serde_json::Value| row[what].as_f64().context("no rate");
            times.insert(format!("{what} of {peer}"), (rate(&result["read"])? / rate(&peers[peer])?).into());
        }
    }
    eprintln!("{}", serde_json::to_string_pretty(&times)?);
    result["peers"] = peers;
    result["times"] = times.into();
    // Where it was on this machine is nobody's business.
    result["file"] = Path::new(&file).file_name().map(|name| name.to_string_lossy()).into();
    Ok(result)
}

/// Response records per second, of Webloom first and then of its peers.
pub(crate) fn warc_rows() -> anyhow::Result<Vec<(String, f64)>> {
    let result = measure_warc()?;
    let rate = |row: &serde_json::Value| row["iterate_answers_per_second"].as_f64().context("no rate");
    Ok(vec![
        ("Webloom".to_owned(), rate(&result["read"])?),
        ("FastWARC".to_owned(), rate(&result["peers"]["fastwarc"])?),
        ("warcio".to_owned(), rate(&result["peers"]["warcio"])?),
    ])
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
