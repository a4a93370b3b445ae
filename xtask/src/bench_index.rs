//! `cargo xtask bench index`: what loading and asking cost here and in Oxigraph, in one run, and what searching costs.
//!
//! Two files of the same size are generated: a crawl, and an RDF file of things. Both stores load both. Then the index is fed the
//! crawl the way a crawl feeds it, in small commits, with and without words, and with pages that are replaced. Then both stores answer the
//! same queries over the same quads, and their answers are compared. `cargo xtask bench queries` does the last part alone.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::{output, python_with, root, step};

/// Quads of one page of the crawl that is asked.
const QUADS_PER_PAGE: u64 = 59;
/// Literals that are searched, for every hundred quads.
const LITERALS_PER_HUNDRED_QUADS: u64 = 100;

/// Measures, and writes `bench/results/DATE-COMMIT-index.json`.
pub fn run(quads: u64) -> anyhow::Result<()> {
    step("cargo", &["build", "--release", "--package", "webloom"], &[])?;
    step("cargo", &["build", "--release", "--package", "webloom-index", "--example", "ingest"], &[])?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let (webloom, ingest) = (target.join("release/webloom"), target.join("release/examples/ingest"));
    let python = python_with("python-oxigraph", &["pyoxigraph==0.5.13"]).context("the peer is pyoxigraph")?;
    let folder = target.join("bench-index");
    fs::create_dir_all(&folder)?;
    let files = folder.join("files");
    fs::create_dir_all(&files)?;
    run_quietly(Command::new(&ingest).arg("--write-files").arg(&files).arg(quads.to_string()))?;

    let peers = root().join("bench/peers");
    let measure = |command: &mut dyn FnMut(&mut Command)| -> anyhow::Result<Value> {
        let mut measured = Command::new(&python);
        measured.arg(peers.join("measure.py"));
        command(&mut measured);
        Ok(serde_json::from_slice(&run_quietly(&mut measured)?)?)
    };
    let mut loads = Vec::new();
    for name in ["crawl.nq", "things.nt"] {
        let file = files.join(name);
        let lines = count_lines(&file)?;
        for store in ["webloom", "webloom with words", "oxigraph"] {
            let data = folder.join("data");
            let _ = fs::remove_dir_all(&data);
            eprintln!("{name} into {store}");
            let mut cost = measure(&mut |measured| {
                match store {
                    "oxigraph" => {
                        measured.arg(&python).arg(peers.join("oxigraph_load.py")).arg(&file).arg(&data)
                    }
                    _ => measured.arg(&webloom).arg("load").arg(&file).arg("--data").arg(&data),
                };
                if store == "webloom" {
                    measured.arg("--no-text");
                }
            })?;
            let bytes = bytes_in(&data)?;
            let cpu = cost["cpu_seconds"].as_f64().unwrap_or_default();
            cost["file"] = name.into();
            cost["store"] = store.into();
            cost["quads"] = lines.into();
            cost["quads_per_cpu_second"] = ((lines as f64 / cpu.max(0.01)).round() as u64).into();
            cost["bytes_per_quad"] = (bytes as f64 / lines as f64).into();
            eprintln!("  {cost}");
            loads.push(cost);
            fs::remove_dir_all(&data)?;
        }
    }
    let mut commits = Vec::new();
    for arguments in [&["--no-text"][..], &["--no-text", "--replace"], &[], &["--replace"]] {
        let text = run_quietly(Command::new(&ingest).args(["40000", "500", "--write-only"]).args(arguments))?;
        let text = String::from_utf8_lossy(&text).into_owned();
        eprintln!("commits of 500 pages {}:\n{text}", arguments.join(" "));
        commits.push(json!({ "arguments": arguments, "said": text.lines().collect::<Vec<_>>() }));
    }
    let queries = queries(quads, &folder, &target)?;
    fs::remove_dir_all(&folder)?;
    keep("index", json!({ "loads": loads, "commits_of_500_pages": commits, "queries": queries }))?;
    Ok(())
}

/// Measures asking and searching alone, and writes `bench/results/DATE-COMMIT-queries.json`.
pub fn run_queries(quads: u64) -> anyhow::Result<()> {
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from);
    let folder = target.join("bench-index");
    fs::create_dir_all(&folder)?;
    let queries = queries(quads, &folder, &target)?;
    fs::remove_dir_all(&folder)?;
    keep("queries", json!({ "queries": queries }))?;
    Ok(())
}

/// The same queries over the same quads in both stores.
fn queries(quads: u64, folder: &Path, target: &Path) -> anyhow::Result<Value> {
    for example in ["queries", "searches"] {
        step("cargo", &["build", "--release", "--package", "webloom-index", "--example", example], &[])?;
    }
    let examples = target.join("release/examples");
    let python = python_with("python-oxigraph", &["pyoxigraph==0.5.13"]).context("the peer is pyoxigraph")?;
    let (dump, asked) = (folder.join("asked.nq"), folder.join("asked.json"));
    let pages = (quads / QUADS_PER_PAGE).to_string();
    let here = run_quietly(
        Command::new(examples.join("queries")).arg(&pages).arg("--compact").arg("--dump").arg(&dump),
    )?;
    fs::write(&asked, &here)?;
    let data = folder.join("oxigraph");
    let _ = fs::remove_dir_all(&data);
    let there = run_quietly(
        Command::new(&python)
            .arg(root().join("bench/peers/oxigraph_queries.py"))
            .arg(&dump)
            .arg(&data)
            .arg(&asked),
    )?;
    let (here, there): (Value, Value) = (serde_json::from_slice(&here)?, serde_json::from_slice(&there)?);
    let compared = compare(&here, &there);
    let literals = (quads / 100 * LITERALS_PER_HUNDRED_QUADS).to_string();
    let searches: Value =
        serde_json::from_slice(&run_quietly(Command::new(examples.join("searches")).arg(literals))?)?;
    eprintln!(
        "searches over {} literals: p50 {} ms, p99 {} ms",
        searches["literals"], searches["p50_ms"], searches["p99_ms"]
    );
    Ok(json!({ "webloom": here, "oxigraph": there, "compared": compared, "searches": searches }))
}

/// Prints both times of each query, and sums them up.
fn compare(here: &Value, there: &Value) -> Value {
    let list = |value: &Value| value["queries"].as_array().cloned().unwrap_or_default();
    let peers = list(there);
    let (mut logarithms, mut compared, mut slowest, mut unequal) = (0.0, 0u32, 0.0_f64, Vec::new());
    eprintln!("{:<22} {:>12} {:>12} {:>8}  rows", "query", "webloom ms", "oxigraph ms", "ratio");
    for query in list(here) {
        let name = query["name"].as_str().unwrap_or_default();
        let ms = query["ms"].as_f64().unwrap_or(f64::NAN);
        let Some(peer) = peers.iter().find(|peer| peer["name"] == query["name"]) else {
            eprintln!("{name:<22} {ms:>12.3} {:>12} {:>8}  {}", "-", "-", query["rows"]);
            continue;
        };
        let peer_ms = peer["ms"].as_f64().unwrap_or(f64::NAN);
        let ratio = ms / peer_ms;
        let is_equal = query["rows"] == peer["rows"] && query["sum"] == peer["sum"];
        if !is_equal {
            unequal.push(name.to_owned());
        }
        let note = if is_equal { "" } else { "  ANSWERS DIFFER" };
        eprintln!("{name:<22} {ms:>12.3} {peer_ms:>12.3} {ratio:>8.3}  {}{note}", query["rows"]);
        logarithms += ratio.ln();
        compared += 1;
        slowest = slowest.max(ratio);
    }
    let mean = (logarithms / f64::from(compared.max(1))).exp();
    eprintln!(
        "geometric mean of {compared} ratios {mean:.3}, largest {slowest:.3}, answers that differ: {unequal:?}"
    );
    json!({ "queries": compared, "geometric_mean": mean, "largest": slowest, "answers_differ": unequal })
}

/// Writes a result with what is known of the machine. Answers where.
pub fn keep(name: &str, mut result: Value) -> anyhow::Result<PathBuf> {
    result["threads"] = std::thread::available_parallelism().map_or(0, usize::from).into();
    result["load_average"] = fs::read_to_string("/proc/loadavg").unwrap_or_default().trim().into();
    let (date, commit) =
        (output("date", &["-u", "+%Y-%m-%d"])?, output("git", &["rev-parse", "--short", "HEAD"])?);
    let results = root().join("bench/results");
    fs::create_dir_all(&results)?;
    let file = results.join(format!("{date}-{commit}-{name}.json"));
    fs::write(&file, serde_json::to_string_pretty(&result)? + "\n")?;
    eprintln!("{}", file.display());
    Ok(file)
}

fn run_quietly(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let output = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !output.status.success() {
        bail!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    Ok(output.stdout)
}

fn count_lines(file: &Path) -> anyhow::Result<u64> {
    use std::io::BufRead;
    let mut lines = 0;
    for line in std::io::BufReader::with_capacity(1 << 20, fs::File::open(file)?).split(b'\n') {
        lines += u64::from(!line?.is_empty());
    }
    Ok(lines)
}

/// What the files in a folder take, folders in it included.
pub fn bytes_in(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { bytes_in(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
