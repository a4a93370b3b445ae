//! `cargo xtask compare`: what people use today, doing the same work on the same pages in one run; a report with ratios.
//!
//! Peers come from package registries into folders under `target`. What cannot be had here is left out, and the report says so. Every section is a
//! list of rows; the first is ours. Rates are per second of processor where one process does the work, so that a busy machine changes ratios little.
//! Start at [`run`].

use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::{installed, output, python_with, root, step};

/// Pages of the web that crawlers crawl, and hosts they are on.
const CRAWL: [&str; 4] = ["--pages", "5000", "--hosts", "500"];

/// The web that they crawl politely: forty pages a host, so that none can be done before some ten seconds, and few enough hosts that the slowest
/// crawler has the time to ask all of them whenever it may.
const POLITE: [&str; 4] = ["--pages", "2000", "--hosts", "50"];
/// The pause that each host is left, in milliseconds.
const PAUSE_MS: u32 = 250;

/// Pages that extractors read.
const EXTRACT_PAGES: &str = "60";

/// Quads that stores load, and the slowest of them.
const QUADS: u64 = 1_000_000;
const QUADS_RDFLIB: u64 = 100_000;

/// Versions that are asked for.
const PINNED: [(&str, &str); 10] = [
    ("Scrapy", "2.19.0"),
    ("spider", "2.53.9"),
    ("extruct", "0.18.0"),
    ("pyRdfa3", "3.6.5"),
    ("rdfa-streaming-parser", "3.0.2"),
    ("microdata-rdf-streaming-parser", "3.0.0"),
    ("pyoxigraph", "0.5.13"),
    ("rdflib", "7.6.0"),
    ("FastWARC", "1.1.0"),
    ("warcio", "1.8.1"),
];

/// Who did how much.
struct Row {
    name: String,
    /// Per second, in the section's unit.
    rate: f64,
    /// What it did besides, or did not do.
    remark: String,
}

struct Section {
    title: &'static str,
    unit: &'static str,
    rows: Vec<Row>,
    /// What was not measured, and why.
    missing: Vec<String>,
}

impl Section {
    fn new(title: &'static str, unit: &'static str) -> Self {
        Self { title, unit, rows: Vec::new(), missing: Vec::new() }
    }

    /// Adds a row, or why there is none.
    fn add(&mut self, name: &str, remark: &str, rate: anyhow::Result<f64>) {
        match rate {
            Ok(rate) => {
                eprintln!("  {name}: {rate:.1} {}", self.unit);
                self.rows.push(Row { name: name.to_owned(), rate, remark: remark.to_owned() });
            }
            Err(reason) => {
                eprintln!("  {name}: not measured: {reason:#}");
                self.missing.push(format!("{name}: {reason:#}"));
            }
        }
    }

    /// The first is ours.
    fn ours(&self) -> f64 {
        self.rows.first().map_or(0.0, |row| row.rate)
    }
}

/// The sections by the names they are asked for.
type Measure = fn() -> anyhow::Result<Section>;
const SECTIONS: [(&str, Measure); 5] =
    [("crawl", crawl), ("polite", polite), ("extract", extract), ("store", store), ("warc", warc)];

/// Measures everything and writes `bench/results/DATE-COMMIT-compare.md`, `.json` and `.svg`. Where sections are named, those are measured and printed.
pub(crate) fn run(names: &[&str]) -> anyhow::Result<()> {
    if let Some(unknown) = names.iter().find(|name| SECTIONS.iter().all(|(known, _)| known != *name)) {
        bail!("there is no section `{unknown}`; there are {}", SECTIONS.map(|(name, _)| name).join(", "));
    }
    step("cargo", &["build", "--release", "--package", "webloom"], &[])?;
    let sections: Vec<Section> = SECTIONS
        .iter()
        .filter(|(name, _)| names.is_empty() || names.contains(name))
        .map(|(_, measure)| measure())
        .collect::<anyhow::Result<_>>()?;
    if !names.is_empty() {
        eprintln!("\n{}", tables(&sections)?);
        return Ok(());
    }
    let commit = output("git", &["rev-parse", "--short", "HEAD"])?;
    let date = output("date", &["-u", "+%Y-%m-%d"])?;
    let name = format!("{date}-{commit}-compare");
    let folder = root().join("bench/results");
    fs::create_dir_all(&folder)?;
    fs::write(folder.join(format!("{name}.md")), report(&sections, &date, &commit, &name)?)?;
    fs::write(folder.join(format!("{name}.svg")), plot(&sections))?;
    fs::write(folder.join(format!("{name}.json")), serde_json::to_vec_pretty(&as_json(&sections))?)?;
    eprintln!("wrote bench/results/{name}.md");
    Ok(())
}

fn as_json(sections: &[Section]) -> Value {
    let section = |section: &Section| {
        let rows: Vec<Value> = section
            .rows
            .iter()
            .map(|row| json!({"name": row.name, "rate": row.rate, "ours_of_it": section.ours() / row.rate, "remark": row.remark}))
            .collect();
        json!({"title": section.title, "unit": section.unit, "rows": rows, "missing": section.missing})
    };
    json!({"sections": sections.iter().map(section).collect::<Vec<_>>()})
}

fn report(sections: &[Section], date: &str, commit: &str, name: &str) -> anyhow::Result<String> {
    let mut text = String::new();
    writeln!(text, "# Webloom beside what people use today\n")?;
    writeln!(
        text,
        "Made by `cargo xtask compare` on {date} at commit {commit}, on {} cores. All rows of a table did the same work on the same input in one \
         run, one after the other. Ratios count; rates are this machine's. A ratio below 1 is a loss.\n",
        std::thread::available_parallelism().map_or(0, usize::from)
    )?;
    writeln!(text, "{}\n", versions())?;
    writeln!(text, "![Ratios]({name}.svg)\n")?;
    Ok(text + &tables(sections)?)
}

/// A table for each section.
fn tables(sections: &[Section]) -> anyhow::Result<String> {
    let mut text = String::new();
    for section in sections {
        writeln!(text, "## {}\n\n| | {} | Webloom is | |\n|---|---:|---:|---|", section.title, section.unit)?;
        for (place, row) in section.rows.iter().enumerate() {
            let ratio = if place == 0 { String::new() } else { format!("{:.2}x", section.ours() / row.rate) };
            writeln!(text, "| {} | {:.1} | {ratio} | {} |", row.name, row.rate, row.remark)?;
        }
        writeln!(text)?;
        for missing in &section.missing {
            writeln!(text, "Not measured: {missing}.\n")?;
        }
    }
    Ok(text)
}

/// Who took part, in which version: those that are asked for by version here and in `bench.rs`, and Debian's.
fn versions() -> String {
    let mut peers: Vec<String> = PINNED.iter().map(|(name, version)| format!("{name} {version}")).collect();
    for tool in ["wget2", "httrack", VIRTUOSO] {
        if let Ok(version) = output("dpkg-query", &["-W", "-f", "${Version}", tool]) {
            peers.push(format!("{tool} {version}"));
        }
    }
    format!("Peers: {}.", peers.join(", "))
}

/// A bar per peer: how many times as fast we are, on a logarithmic scale around 1.
fn plot(sections: &[Section]) -> String {
    let bars: Vec<(String, f64)> = sections
        .iter()
        .flat_map(|section| {
            section
                .rows
                .iter()
                .skip(1)
                .map(|row| (format!("{}: {}", section.title, row.name), section.ours() / row.rate))
        })
        .collect();
    let (left, width, row) = (330.0, 760.0, 20.0);
    let most = bars.iter().map(|(_, ratio)| ratio.max(1.0 / ratio)).fold(10.0_f64, f64::max);
    let zero = left + 80.0;
    let scale = (width - zero - 60.0) / most.ln();
    let height = bars.len() as f64 * row + 50.0;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n<text x=\"{zero}\" y=\"18\">Webloom is so many times as fast as</text>\n\
         <line x1=\"{zero}\" y1=\"26\" x2=\"{zero}\" y2=\"{}\" stroke=\"#20242c\"/>\n",
        height - 14.0
    );
    for (place, (name, ratio)) in bars.iter().enumerate() {
        let y = 30.0 + place as f64 * row;
        let length = (ratio.ln() * scale).abs();
        let (x, colour) = if *ratio >= 1.0 { (zero, "#3559a8") } else { (zero - length, "#b4552d") };
        let end = if *ratio >= 1.0 { zero + length + 4.0 } else { zero + 4.0 };
        svg.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"end\">{}</text><rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{length:.1}\" height=\"14\" fill=\"{colour}\"/>\
             <text x=\"{end:.1}\" y=\"{:.0}\">{ratio:.2}</text>\n",
            zero - 84.0 + 4.0,
            y + 11.0,
            name.replace('&', "&amp;").replace('<', "&lt;"),
            y + 11.0
        ));
    }
    svg + "</svg>\n"
}

/// The generated web, served for as long as this lives.
pub(crate) struct Web {
    server: Child,
    /// Kept open: the server ends when it cannot say all it has to say.
    said: BufReader<ChildStdout>,
    pub address: String,
}

impl Web {
    pub fn serve(shape: &[&str]) -> anyhow::Result<Self> {
        let mut server = Command::new(webloom())
            .args(["bench", "web"])
            .args(shape)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut line = String::new();
        let mut said = BufReader::new(server.stdout.take().context("the web says nothing")?);
        said.read_line(&mut line)?;
        Ok(Self { server, said, address: line.trim().trim_start_matches("*=").to_owned() })
    }

    /// Ends it, and gives what it took down when it was told a pause.
    fn manners(mut self) -> anyhow::Result<Value> {
        drop(self.server.stdin.take());
        let last = self.said.by_ref().lines().last().context("the web says nothing")??;
        serde_json::from_str(&last).context("the web does not say how it was asked")
    }
}

impl Drop for Web {
    fn drop(&mut self) {
        drop(self.server.stdin.take());
        let _ = self.server.wait();
    }
}

/// Crawlers: everything that is reachable from one seed, robots.txt obeyed, no pause.
fn crawl() -> anyhow::Result<Section> {
    eprintln!("crawlers");
    let mut section = Section::new("Crawling", "pages per CPU-second");
    let ours = |arguments: &[&str]| -> anyhow::Result<f64> {
        let said: Value = serde_json::from_slice(&run_quietly(
            Command::new(webloom()).args(["bench", "crawl", "--json"]).args(CRAWL).args(arguments),
        )?)?;
        let pages = said["expected_pages"].as_f64().context("no pages")?;
        Ok(pages / said["cpu_seconds"].as_f64().context("no seconds")?)
    };
    section.add(
        "Webloom",
        "fetched, all syntaxes to RDF, indexed with words, durable; its own time only",
        ours(&[]),
    );
    let pages = expected_pages()?;
    let scratch = root().join("target/compare");
    let _ = fs::remove_dir_all(&scratch);
    fs::create_dir_all(&scratch)?;
    section.add("Scrapy", "fetched and followed links; no RDF, nothing kept", measured_crawl(pages, scrapy));
    section.add(
        "spider",
        "fetched and followed links, a tenth of the pages missed; no RDF, nothing kept",
        measured_crawl(pages, spider),
    );
    section.add(
        "wget2",
        "fetched, followed links, wrote files; no RDF, no index",
        mirror("wget2", pages, &scratch, |command, address| {
            command
                .args(["--recursive", "--level=inf", "--span-hosts", "--quiet", "--robots=on", "--no-hsts"])
                .args(["--max-threads=32", "--tries=1", "--http2=off"])
                .arg(format!("--http-proxy=http://{address}"))
                .arg("http://site0.example/");
        }),
    );
    section.add(
        "httrack",
        "fetched, followed links, rewrote and wrote files; no RDF, no index",
        mirror("httrack", pages, &scratch, |command, address| {
            command
                .args([
                    "http://site0.example/",
                    "-q",
                    "-e",
                    "-r999",
                    "-c32",
                    "-%c0",
                    "-A0",
                    "-s2",
                    "-I0",
                    "-C0",
                ])
                .args(["--disable-security-limits", "-P", address]);
        }),
    );
    Ok(section)
}

fn expected_pages() -> anyhow::Result<f64> {
    // As many as the web has; see the arguments.
    CRAWL[1].parse().context("no number")
}

fn scrapy() -> anyhow::Result<Command> {
    let python = python_with("scrapy", &["scrapy==2.19.0"])?;
    let mut command = measure()?;
    command.arg(&python).arg(root().join("bench/peers/crawl_scrapy.py"));
    Ok(command)
}

/// The crate, in a program of its own.
fn spider() -> anyhow::Result<Command> {
    let folder = root().join("bench/peers/spider");
    let target = root().join("target/spider");
    let manifest = folder.join("Cargo.toml");
    run_quietly(
        Command::new("cargo")
            .args(["build", "--release", "--quiet", "--manifest-path"])
            .arg(manifest)
            .arg("--target-dir")
            .arg(&target),
    )?;
    let mut command = measure()?;
    command.args(["timeout", "300"]).arg(target.join("release/webloom-peer-spider"));
    Ok(command)
}

/// What runs a command and says at the end what it cost.
fn measure() -> anyhow::Result<Command> {
    let mut command = Command::new(python_with("scrapy", &["scrapy==2.19.0"])?);
    command.arg(root().join("bench/peers/measure.py"));
    Ok(command)
}

/// Runs a crawler over a web of its own. Some give up after the first page now and then, and are asked again.
fn measured_crawl(pages: f64, crawler: fn() -> anyhow::Result<Command>) -> anyhow::Result<f64> {
    let mut last = Err(anyhow::anyhow!("it was never run"));
    for _ in 0..3 {
        let web = Web::serve(&CRAWL)?;
        let said = run_quietly(crawler()?.args([&web.address, "http://site0.example/"]))?;
        last = enough(&said, pages).and_then(|seen| cpu_rate(&said, seen));
        if last.is_ok() {
            break;
        }
    }
    last
}

/// Crawlers again, with a pause between two requests to a host: by the wall, because what counts now is that no host waits longer than it has to. All of it
/// is as the server saw it, from the first request to the last answer.
fn polite() -> anyhow::Result<Section> {
    eprintln!("polite crawlers");
    let mut section = Section::new("Crawling politely", "pages per second");
    let (pause, seconds) = (format!("{PAUSE_MS}ms"), format!("{}", f64::from(PAUSE_MS) / 1e3));
    let ours = |further: &[&str]| -> anyhow::Result<Value> {
        let mut command = Command::new(webloom());
        command.args(["bench", "crawl", "--json", "--delay", &pause]).args(POLITE).args(further);
        Ok(serde_json::from_slice::<Value>(&run_quietly(&mut command)?)?["manners"].take())
    };
    let theirs = |crawler: fn() -> anyhow::Result<Command>, hosts: &[&str]| -> anyhow::Result<Value> {
        let mut command = crawler()?;
        let web = Web::serve(&[&POLITE[..], &["--pause", &pause]].concat())?;
        run_quietly(command.args([&web.address, "http://site0.example/", &seconds]).args(hosts))?;
        web.manners()
    };
    for (name, remark, manners) in [
        ("Webloom", "from one seed, all syntaxes to RDF, indexed, durable", ours(&["--domain-delay", "0s"])),
        (
            "Webloom, by domain",
            "the same, but the pause is for all hosts of a domain together, as it is unless told otherwise",
            ours(&[]),
        ),
        ("Scrapy", "from one seed, links only", theirs(scrapy, &[])),
        ("spider", "a crawl for each host, told all hosts; links only", theirs(spider, &POLITE[3..])),
    ] {
        let (rate, remark) = match manners.and_then(|manners| judged(&manners, remark)) {
            Ok((rate, remark)) => (Ok(rate), remark),
            Err(reason) => (Err(reason), String::new()),
        };
        section.add(name, &remark, rate);
    }
    Ok(section)
}

/// Pages per second, and in words how they were asked for.
fn judged(manners: &Value, remark: &str) -> anyhow::Result<(f64, String)> {
    let number = |name: &str| manners[name].as_f64().with_context(|| format!("no `{name}`"));
    let (pages, seconds) = (number("pages")?, number("seconds")?.max(0.01));
    let hurried = number("hurried")?;
    let kept = match hurried == 0.0 {
        true => "every pause kept".to_owned(),
        false => format!("{hurried} of {} requests came too soon", number("requests")?),
    };
    let remark = format!(
        "{remark}; {pages} pages in {seconds:.1} s, where the largest host alone takes {:.1}; {kept}, the shortest {:.0} ms, {} requests beside another to the same host, {} against robots.txt",
        number("seconds_min")?,
        number("smallest_gap_ms")?,
        number("at_once")?,
        number("against_robots")?,
    );
    Ok((pages / seconds, remark))
}

/// A crawler that says how many pages it saw must have seen most: answers how many.
fn enough(said: &[u8], pages: f64) -> anyhow::Result<f64> {
    let text = String::from_utf8_lossy(said);
    let told: Value = serde_json::from_str(text.lines().next().unwrap_or_default())?;
    let seen = told["pages"].as_f64().context("it does not say how many pages it saw")?;
    if seen < pages * 0.8 {
        bail!("it saw {seen} of {pages} pages");
    }
    Ok(seen)
}

/// A mirroring tool of Debian's, led to the web as its proxy. A run that does not end is ended.
fn mirror(
    tool: &str,
    pages: f64,
    scratch: &Path,
    arguments: impl Fn(&mut Command, &str),
) -> anyhow::Result<f64> {
    debian(tool, tool)?;
    let folder = scratch.join(tool);
    fs::create_dir_all(&folder)?;
    let web = Web::serve(&CRAWL)?;
    let mut command = measure()?;
    command.args(["timeout", "300", tool]).current_dir(&folder);
    arguments(&mut command, &web.address);
    // wget2 answers 8 when a page was missing, as some are meant to be.
    command.env("WEBLOOM_MEASURE_ANY_STATUS", "1");
    let said = run_quietly(&mut command)?;
    let files = count_files(&folder);
    if (files as f64) < pages * 0.9 {
        bail!("it wrote {files} files of {pages} pages");
    }
    cpu_rate(&said, pages)
}

fn count_files(folder: &Path) -> usize {
    let Ok(entries) = fs::read_dir(folder) else { return 0 };
    entries.flatten().map(|entry| if entry.path().is_dir() { count_files(&entry.path()) } else { 1 }).sum()
}

/// The last line of what `measure.py` prints.
fn cpu_rate(said: &[u8], amount: f64) -> anyhow::Result<f64> {
    let text = String::from_utf8_lossy(said);
    let cost: Value = serde_json::from_str(text.lines().last().unwrap_or_default())?;
    Ok(amount / cost["cpu_seconds"].as_f64().context("no seconds")?.max(0.01))
}

/// Extractors: the same pages, all syntaxes or those they know.
fn extract() -> anyhow::Result<Section> {
    eprintln!("extractors");
    let mut section = Section::new("Extracting", "pages per CPU-second");
    let pages = root().join("target/bench-pages");
    let _ = fs::remove_dir_all(&pages);
    run_quietly(
        Command::new(webloom()).args(["bench", "extract", "--pages", EXTRACT_PAGES, "--write"]).arg(&pages),
    )?;
    let ours: Value = serde_json::from_slice(&run_quietly(Command::new(webloom()).args([
        "bench",
        "extract",
        "--pages",
        EXTRACT_PAGES,
        "--rounds",
        "7",
        "--json",
    ]))?)?;
    section.add("Webloom", "all syntaxes", rate_of(&ours["contenders"], "detect + all"));
    section.add("html5ever", "a bare parse, nothing read", rate_of(&ours["contenders"], "bare"));
    let python = python_with("peers", &["extruct==0.18.0", "pyrdfa3==3.6.5"]);
    let rows = python.and_then(|python| {
        let script = root().join("bench/peers/extract.py");
        Ok(serde_json::from_slice::<Value>(&run_quietly(
            Command::new(python).arg(script).arg(&pages).arg(EXTRACT_PAGES),
        )?)?)
    });
    for (name, remark) in [
        (
            "extruct",
            "Microdata, Open Graph, JSON-LD, microformats, RDFa, Dublin Core; no RDF of the page itself",
        ),
        ("pyRdfa", "RDFa alone"),
    ] {
        section.add(
            name,
            remark,
            rows.as_ref().map_err(|error| anyhow::anyhow!("{error:#}")).and_then(|rows| rate_of(rows, name)),
        );
    }
    let rows = node_extractors(&pages);
    for (name, remark) in
        [("rdfa-streaming-parser", "RDFa alone"), ("microdata-rdf-streaming-parser", "Microdata alone")]
    {
        section.add(
            name,
            remark,
            rows.as_ref().map_err(|error| anyhow::anyhow!("{error:#}")).and_then(|rows| rate_of(rows, name)),
        );
    }
    Ok(section)
}

fn node_extractors(pages: &Path) -> anyhow::Result<Value> {
    if !installed("npm") {
        bail!("npm is not here");
    }
    let folder = root().join("target/compare-node");
    fs::create_dir_all(&folder)?;
    fs::copy(root().join("bench/peers/extract_node.mjs"), folder.join("extract_node.mjs"))?;
    fs::write(folder.join("package.json"), "{\"private\": true}\n")?;
    run_quietly(
        Command::new("npm")
            .args(["install", "--silent", "--no-audit", "--no-fund"])
            .args(["rdfa-streaming-parser@3.0.2", "microdata-rdf-streaming-parser@3.0.0"])
            .current_dir(&folder),
    )?;
    let said = run_quietly(
        Command::new("node").arg("extract_node.mjs").arg(pages).arg(EXTRACT_PAGES).current_dir(&folder),
    )?;
    Ok(serde_json::from_slice(&said)?)
}

fn rate_of(rows: &Value, name: &str) -> anyhow::Result<f64> {
    rows.as_array()
        .and_then(|rows| {
            rows.iter().find(|row| row["name"].as_str().is_some_and(|known| known.starts_with(name)))
        })
        .and_then(|row| row["pages_per_second"].as_f64())
        .with_context(|| format!("no rate of {name}"))
}

/// Stores: a generated crawl as N-Quads, loaded in bulk, parsing included.
fn store() -> anyhow::Result<Section> {
    eprintln!("stores");
    let mut section = Section::new("Loading", "quads per CPU-second");
    let folder = root().join("target/compare");
    fs::create_dir_all(&folder)?;
    step("cargo", &["build", "--release", "--package", "webloom-index", "--example", "ingest"], &[])?;
    let ingest = root().join("target/release/examples/ingest");
    run_quietly(Command::new(ingest).arg("--write-files").arg(&folder).arg(QUADS.to_string()))?;
    let file = folder.join("crawl.nq");
    let python = python_with("python-oxigraph", &["pyoxigraph==0.5.13", "rdflib==7.6.0"])?;
    let peers = root().join("bench/peers");
    let data = folder.join("data");
    let load = |quads: u64, arguments: &mut dyn FnMut(&mut Command)| -> anyhow::Result<f64> {
        let _ = fs::remove_dir_all(&data);
        let mut command = Command::new(&python);
        command.arg(peers.join("measure.py"));
        arguments(&mut command);
        cpu_rate(&run_quietly(&mut command)?, quads as f64)
    };
    let ours = load(QUADS, &mut |command| {
        command.arg(webloom()).arg("load").arg(&file).arg("--data").arg(&data).arg("--no-text");
    });
    section.add("Webloom", "six orders, merged", ours);
    let ours = load(QUADS, &mut |command| {
        command.arg(webloom()).arg("load").arg(&file).arg("--data").arg(&data);
    });
    section.add("Webloom with words", "six orders and full text", ours);
    let oxigraph = load(QUADS, &mut |command| {
        command.arg(&python).arg(peers.join("oxigraph_load.py")).arg(&file).arg(&data);
    });
    section.add("Oxigraph", "its bulk loader, from Python; no full text", oxigraph);
    let virtuoso = debian("virtuoso-t", VIRTUOSO).and_then(|()| {
        let _ = fs::remove_dir_all(&data);
        let script = peers.join("virtuoso_load.py");
        let mut command = Command::new(&python);
        command.arg(script).arg(&file).arg(&data).arg(QUADS.to_string());
        cpu_rate(&run_quietly(&mut command)?, QUADS as f64)
    });
    section.add("Virtuoso", "its bulk loader, one thread; no full text", virtuoso);
    let few = folder.join("few.nq");
    let head: Vec<String> = BufReader::new(fs::File::open(&file)?)
        .lines()
        .take(QUADS_RDFLIB as usize)
        .collect::<Result<_, _>>()?;
    fs::write(&few, head.join("\n") + "\n")?;
    let rdflib = load(QUADS_RDFLIB, &mut |command| {
        command
            .arg(&python)
            .arg("-c")
            .arg("import sys, rdflib; rdflib.Dataset().parse(sys.argv[1], format='nquads')");
        command.arg(&few);
    });
    section.add("rdflib", "in memory, a tenth of the quads", rdflib);
    let _ = fs::remove_dir_all(&data);
    Ok(section)
}

/// Debian's package of Virtuoso's server.
const VIRTUOSO: &str = "virtuoso-opensource-7-bin";

/// Archives: iterating over the responses of one file.
fn warc() -> anyhow::Result<Section> {
    eprintln!("archives");
    let mut section = Section::new("Reading WARC", "records per CPU-second");
    let rows = crate::bench::warc_rows();
    match rows {
        Ok(rows) => {
            for (name, rate) in rows {
                section.add(&name, "response records of a gzip file", Ok(rate));
            }
        }
        Err(reason) => section.missing.push(format!("{reason:#}")),
    }
    Ok(section)
}

/// Finds a program of Debian's, or installs it.
pub(crate) fn debian(program: &str, package: &str) -> anyhow::Result<()> {
    if installed(program) {
        return Ok(());
    }
    if installed("apt-get") {
        let _ = Command::new("apt-get").args(["update", "-qq"]).status();
        let _ = Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends", package])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
    }
    if !installed(program) {
        bail!("{package} could not be installed");
    }
    Ok(())
}

fn webloom() -> PathBuf {
    root().join("target/release/webloom")
}

fn run_quietly(command: &mut Command) -> anyhow::Result<Vec<u8>> {
    let done = command.output().with_context(|| format!("cannot run {command:?}"))?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let tail: Vec<&str> = said.lines().rev().take(3).collect();
        bail!("{} failed: {}", command.get_program().to_string_lossy(), tail.join(" / "));
    }
    Ok(done.stdout)
}
