//! `cargo xtask bench index`: what loading costs here and in Oxigraph, in one run.
//!
//! Two files of the same size are generated: a crawl, and an RDF file of things. Both stores load both. Then the index is fed the
//! crawl the way a crawl feeds it, in small commits, with and without words, and with pages that are replaced.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::{output, python_with, root, step};

/// Measures, and writes `bench/results/DATE-COMMIT-index.json`.
pub fn run(quads: u64) -> anyhow::Result<()> {
    step("cargo", &["build", "--release", "--package", "webloom"], &[])?;
    step("cargo", &["build", "--release", "--package", "webloom-index", "--example", "ingest"], &[])?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), std::path::PathBuf::from);
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
    fs::remove_dir_all(&folder)?;
    let result = json!({
        "loads": loads,
        "commits_of_500_pages": commits,
        "threads": std::thread::available_parallelism().map_or(0, usize::from),
        "load_average": fs::read_to_string("/proc/loadavg").unwrap_or_default().trim(),
    });
    let (date, commit) =
        (output("date", &["-u", "+%Y-%m-%d"])?, output("git", &["rev-parse", "--short", "HEAD"])?);
    let results = root().join("bench/results");
    fs::create_dir_all(&results)?;
    let file = results.join(format!("{date}-{commit}-index.json"));
    fs::write(&file, serde_json::to_string_pretty(&result)? + "\n")?;
    eprintln!("{}", file.display());
    Ok(())
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

fn bytes_in(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        bytes += if entry.file_type()?.is_dir() { bytes_in(&entry.path())? } else { entry.metadata()?.len() };
    }
    Ok(bytes)
}
