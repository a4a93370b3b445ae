//! `cargo xtask bench load [QUADS]`: one process loads a large crawl, a tenth at a time; rates and memory after each tenth.
//!
//! In: a hundred million generated quads in ten files. Out: `bench/results/DATE-COMMIT-load.json` and a plot beside it. Times of
//! the processor and memory are read from the kernel's books of the running process.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, bail};
use serde_json::{Value, json};

use crate::{bench_index, root, step};

const PARTS: u64 = 10;

/// What was known of the process after a part.
struct Point {
    quads: u64,
    seconds: f64,
    cpu_seconds: f64,
    /// At its highest so far, files in memory included.
    peak_bytes: u64,
    /// Now, without files.
    anonymous_bytes: u64,
}

/// Measures, and keeps the result. Needs about 25 GB of disk for the default of 100 million quads.
pub fn run(quads: u64) -> anyhow::Result<()> {
    step("cargo", &["build", "--release", "--package", "webloom"], &[])?;
    step("cargo", &["build", "--release", "--package", "webloom-index", "--example", "ingest"], &[])?;
    let target =
        std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), std::path::PathBuf::from);
    let folder = target.join("bench-load");
    let _ = fs::remove_dir_all(&folder);
    let (files, data) = (folder.join("files"), folder.join("data"));
    fs::create_dir_all(&files)?;
    eprintln!("writing {quads} quads");
    let written = Command::new(target.join("release/examples/ingest"))
        .arg("--write-files")
        .arg(&files)
        .args([quads.to_string(), PARTS.to_string()])
        .status()?;
    if !written.success() {
        bail!("the files could not be written");
    }
    let points = load(&target.join("release/webloom"), &files, &data)?;
    let bytes = bench_index::bytes_in(&data)?;
    fs::remove_dir_all(&folder)?;
    let last = points.last().context("nothing was loaded")?;
    eprintln!(
        "{} quads in {:.0} s, {:.0} quads a second, {:.1} bytes a quad, at most {:.2} GiB resident",
        last.quads,
        last.seconds,
        last.quads as f64 / last.seconds,
        bytes as f64 / last.quads as f64,
        last.peak_bytes as f64 / (1_u64 << 30) as f64
    );
    let result = json!({
        "points": points.iter().map(Point::to_json).collect::<Vec<_>>(),
        "bytes_per_quad": bytes as f64 / last.quads as f64,
    });
    let file = bench_index::keep("load", result)?;
    fs::write(file.with_extension("svg"), plot(&points))?;
    Ok(())
}

/// Loads the files with words, and looks at the process each time it has said something.
fn load(
    webloom: &std::path::Path,
    files: &std::path::Path,
    data: &std::path::Path,
) -> anyhow::Result<Vec<Point>> {
    let mut names: Vec<_> =
        fs::read_dir(files)?.map(|entry| entry.map(|entry| entry.path())).collect::<Result<_, _>>()?;
    names.sort();
    let start = Instant::now();
    let mut process = Command::new(webloom)
        .arg("load")
        .args(&names)
        .arg("--data")
        .arg(data)
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()?;
    let said = BufReader::new(process.stderr.take().context("webloom load says nothing")?);
    let mut points: Vec<Point> = Vec::new();
    for line in said.lines() {
        let line = line?;
        eprintln!("{:>7.1} s  {line}", start.elapsed().as_secs_f64());
        // One line for each file; what follows sums them up.
        let loaded = line.split_once(".nq: ").and_then(|(_, rest)| rest.split(' ').next());
        let Some(quads) = loaded.and_then(|quads| quads.replace(',', "").parse::<u64>().ok()) else {
            continue;
        };
        let before = points.last().map_or(0, |point| point.quads);
        points.push(look(process.id(), before + quads, start)?);
    }
    if !process.wait()?.success() {
        bail!("webloom load failed");
    }
    Ok(points)
}

fn look(process: u32, quads: u64, start: Instant) -> anyhow::Result<Point> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // After the name, which is in parentheses: the 12th and 13th field are ticks of a hundredth of a second.
    let fields: Vec<&str> = stat.rsplit(") ").next().unwrap_or_default().split(' ').collect();
    let ticks =
        |place: usize| fields.get(place).and_then(|field| field.parse::<f64>().ok()).unwrap_or_default();
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let bytes = |name: &str| -> u64 {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<u64>().ok()).unwrap_or_default()
            * 1024
    };
    Ok(Point {
        quads,
        seconds: start.elapsed().as_secs_f64(),
        cpu_seconds: (ticks(11) + ticks(12)) / 100.0,
        peak_bytes: bytes("VmHWM:"),
        anonymous_bytes: bytes("RssAnon:"),
    })
}

impl Point {
    fn to_json(&self) -> Value {
        json!({
            "quads": self.quads,
            "seconds": self.seconds,
            "cpu_seconds": self.cpu_seconds,
            "peak_bytes": self.peak_bytes,
            "anonymous_bytes": self.anonymous_bytes,
        })
    }
}

/// The rate of each tenth, by the wall and by the processor, as two lines.
fn plot(points: &[Point]) -> String {
    let (width, height, left, bottom) = (640.0, 320.0, 70.0, 40.0);
    let mut before = (0_u64, 0.0, 0.0);
    let mut rates: Vec<(f64, f64, f64)> = Vec::new();
    for point in points {
        let quads = (point.quads - before.0) as f64;
        rates.push((
            point.quads as f64,
            quads / (point.seconds - before.1).max(0.01),
            quads / (point.cpu_seconds - before.2).max(0.01),
        ));
        before = (point.quads, point.seconds, point.cpu_seconds);
    }
    let most = rates.iter().map(|(_, wall, cpu)| wall.max(*cpu)).fold(1.0_f64, f64::max) * 1.1;
    let all = rates.last().map_or(1.0, |rate| rate.0);
    let x = |quads: f64| left + (width - left - 20.0) * quads / all;
    let y = |rate: f64| (height - bottom) - (height - bottom - 20.0) * rate / most;
    let line = |rate: fn(&(f64, f64, f64)) -> f64, colour: &str| {
        let places: Vec<String> =
            rates.iter().map(|point| format!("{:.1},{:.1}", x(point.0), y(rate(point)))).collect();
        format!(
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"2\" points=\"{}\"/>\n",
            places.join(" ")
        )
    };
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.0} {height:.0}\" font-family=\"sans-serif\" font-size=\"11\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <text x=\"{left}\" y=\"14\"><tspan fill=\"#3559a8\">quads per second</tspan> <tspan fill=\"#b4552d\">quads per CPU-second</tspan></text>\n"
    );
    for part in 0..=4 {
        let rate = most * f64::from(part) / 4.0;
        svg.push_str(&format!(
            "<text x=\"{:.0}\" y=\"{:.1}\" text-anchor=\"end\">{:.0}k</text><line x1=\"{left}\" x2=\"{:.0}\" y1=\"{:.1}\" y2=\"{:.1}\" stroke=\"#ddd\"/>\n",
            left - 6.0,
            y(rate) + 4.0,
            rate / 1000.0,
            width - 20.0,
            y(rate),
            y(rate)
        ));
    }
    for (quads, ..) in &rates {
        svg.push_str(&format!(
            "<text x=\"{:.1}\" y=\"{:.0}\" text-anchor=\"middle\">{:.0} M</text>\n",
            x(*quads),
            height - 20.0,
            quads / 1e6
        ));
    }
    svg + &line(|rate| rate.1, "#3559a8") + &line(|rate| rate.2, "#b4552d") + "</svg>\n"
}
