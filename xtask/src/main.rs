//! The project's own chores, in the only script language it has. `cargo xtask test` is what the README says and what CI
//! runs; the other commands are its parts.

mod bench;
mod bench_index;
mod bench_load;
mod compare;
mod guard;
mod licences;
mod tidy;
mod ui;

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use anyhow::{Context, bail};

const USAGE: &str = "\
cargo xtask test        set up what tests need, then check and test everything (what CI runs)
cargo xtask check       formatting, lints, licences, tidy, generated files
cargo xtask conformance the public suites: passed/total (names of suites, --failures to see the known ones too)
cargo xtask codegen     write config/default.toml (--check: only compare)
cargo xtask ui          the web interface: types, unit tests, build, and its use in Chromium
cargo xtask guard       instructions of hot work beside bench/guard.json (--update: write it anew)
cargo xtask tidy        the rules of the tree: who may depend on whom, what must be there
cargo xtask bench       measurements, results into bench/results (crawl, extract, transform, warc; all when not told)
cargo xtask bench index [QUADS]  loading and asking, here and in Oxigraph (queries: only asking)
cargo xtask bench load [QUADS]   a hundred million quads, a tenth at a time: rates and memory
cargo xtask compare     what people use today, doing the same work in one run; a report into bench/results
cargo xtask compare SECTION...   crawl, polite, extract, store or warc alone, printed";

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["check"] => check(),
        ["conformance", rest @ ..] => conformance(rest),
        ["codegen"] => codegen(false),
        ["codegen", "--check"] => codegen(true),
        ["tidy"] => tidy::check(&root()),
        ["ui"] => ui::check(),
        ["guard"] => guard::check(),
        ["guard", "--update"] => guard::update(),
        ["bench", "index"] => bench_index::run(5_000_000),
        ["bench", "queries"] => bench_index::run_queries(1_000_000),
        ["bench", "load"] => bench_load::run(100_000_000),
        ["bench", "load", quads] => match quads.parse() {
            Ok(quads) => bench_load::run(quads),
            Err(_) => Err(anyhow::anyhow!("`{quads}` is no number of quads")),
        },
        ["bench", "queries", quads] => match quads.parse() {
            Ok(quads) => bench_index::run_queries(quads),
            Err(_) => Err(anyhow::anyhow!("`{quads}` is no number of quads")),
        },
        ["bench", "index", quads] => match quads.parse() {
            Ok(quads) => bench_index::run(quads),
            Err(_) => Err(anyhow::anyhow!("`{quads}` is no number of quads")),
        },
        ["compare", sections @ ..] => compare::run(sections),
        ["bench", what @ ..] => bench::run(what),
        _ => {
            eprintln!("{USAGE}");
            return ExitCode::from(2);
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("xtask: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// Everything CI checks. Ends at the first thing that fails.
fn test() -> anyhow::Result<()> {
    check()?;
    let python = python_with("python", &["rdflib==7.6.0", "SPARQLWrapper==2.0.0", "schemathesis==4.32.5"])
        .context("the tests compare with rdflib and ask the server as others do")?;
    let warc_tools = python_with("python-warc", &["warcio==1.8.1", "cdxj-indexer==1.5.0", "pywb==2.10.0"])
        .context("what is archived is checked with the tools that others use")?;
    let environment = [
        ("WEBLOOM_PYTHON", python.to_string_lossy().into_owned()),
        ("WEBLOOM_WARC_PYTHON", warc_tools.to_string_lossy().into_owned()),
    ];
    if installed("cargo-nextest") {
        step("cargo", &["nextest", "run", "--workspace", "--no-fail-fast"], &environment)?;
        step("cargo", &["test", "--workspace", "--doc", "--quiet"], &environment)?;
    } else {
        step("cargo", &["test", "--workspace"], &environment)?;
    }
    ui::check_if_possible()?;
    guard::check_if_possible()?;
    match suites() {
        Some(_) => conformance(&[])?,
        None => eprintln!("the public suites are not here (WEBLOOM_SUITES), so conformance was not counted"),
    }
    eprintln!("all checks and tests passed");
    Ok(())
}

/// Runs the public suites.
fn conformance(arguments: &[&str]) -> anyhow::Result<()> {
    step("cargo", &["build", "--quiet", "--workspace", "--all-targets"], &[])?;
    let binary = target_folder()?.join("debug/webloom-conformance");
    step(&binary.to_string_lossy(), arguments, &[])
}

/// The folder of the public suites, where it is there.
fn suites() -> Option<PathBuf> {
    let folder = env::var_os("WEBLOOM_SUITES").map_or_else(|| root().join("../shared/suites"), PathBuf::from);
    folder.is_dir().then_some(folder)
}

/// What can be said of the tree without running it.
fn check() -> anyhow::Result<()> {
    step("cargo", &["fmt", "--all", "--check"], &[])?;
    tidy::check(&root())?;
    if installed("cargo-deny") {
        // Advisories need a database from the network; licences, bans and sources do not.
        step("cargo", &["deny", "--offline", "check", "licenses", "bans", "sources"], &[])?;
    }
    licences::check(&root())?;
    step("cargo", &["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"], &[])?;
    codegen(true)
}

/// Prints every field of a crawl specification into `config/default.toml`.
fn codegen(compare_only: bool) -> anyhow::Result<()> {
    // With the whole workspace's features, so that what the tests build is not built again.
    step("cargo", &["build", "--quiet", "--workspace", "--all-targets"], &[])?;
    let printed = Command::new(target_folder()?.join("debug/webloom"))
        .args(["crawl", "--print-spec"])
        .current_dir(root())
        .output()
        .context("cannot run webloom")?;
    if !printed.status.success() {
        bail!("webloom crawl --print-spec failed: {}", String::from_utf8_lossy(&printed.stderr));
    }
    let file = root().join("config/default.toml");
    if compare_only {
        let current = std::fs::read(&file).unwrap_or_default();
        if current != printed.stdout {
            bail!("{} is out of date; run `cargo xtask codegen`", file.display());
        }
        return Ok(());
    }
    std::fs::create_dir_all(root().join("config"))?;
    std::fs::write(&file, printed.stdout).with_context(|| format!("cannot write {}", file.display()))
}

/// Runs a command in the workspace, saying what and how long.
fn step(program: &str, arguments: &[&str], environment: &[(&str, String)]) -> anyhow::Result<()> {
    eprintln!("$ {program} {}", arguments.join(" "));
    let start = Instant::now();
    let program = if program == "cargo" { cargo() } else { program.into() };
    let mut command = Command::new(&program);
    // What cargo told us of ourselves is not meant for the cargo that we start: build scripts that look at it would run again, and
    // much would be built again, each time somebody calls cargo directly.
    for (name, _) in env::vars_os() {
        let told = name.to_string_lossy().into_owned();
        if told.starts_with("CARGO_PKG_") || told.starts_with("CARGO_MANIFEST_") {
            command.env_remove(name);
        }
    }
    let status = command
        .args(arguments)
        .envs(environment.iter().map(|(name, value)| (name, value)))
        .current_dir(root())
        .status()
        .with_context(|| format!("cannot run {program}"))?;
    if !status.success() {
        bail!("`{program} {}` failed", arguments.join(" "));
    }
    eprintln!("  {:.0} s", start.elapsed().as_secs_f64());
    Ok(())
}

fn output(program: &str, arguments: &[&str]) -> anyhow::Result<String> {
    let output = Command::new(program).args(arguments).current_dir(root()).output()?;
    if !output.status.success() {
        bail!("`{program} {}` failed: {}", arguments.join(" "), String::from_utf8_lossy(&output.stderr));
    }
    Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// A Python in a virtual environment of ours that has the packages. Installed once, under `target`.
fn python_with(name: &str, packages: &[&str]) -> anyhow::Result<PathBuf> {
    let environment = root().join("target").join(name);
    let python = environment.join("bin/python");
    let mark = environment.join(format!("{}.installed", packages.join("+")));
    if mark.is_file() {
        return Ok(python);
    }
    let make = || {
        Command::new("python3")
            .args(["-m", "venv", "--clear"])
            .arg(&environment)
            .output()
            .is_ok_and(|made| made.status.success())
    };
    if !make() {
        // Debian splits the module off; elsewhere it comes with Python.
        let _ = Command::new("apt-get").args(["update", "-qq"]).status();
        let _ = Command::new("apt-get").args(["install", "-y", "-qq", "python3", "python3-venv"]).status();
        if !make() {
            bail!(
                "cannot make a Python environment in {}; is python3 with its venv module installed?",
                environment.display()
            );
        }
    }
    let mut words = vec!["-m", "pip", "install", "--quiet"];
    words.extend(packages);
    step(&python.to_string_lossy(), &words, &[])?;
    std::fs::write(mark, "")?;
    Ok(python)
}

fn installed(program: &str) -> bool {
    env::var_os("PATH")
        .is_some_and(|path| env::split_paths(&path).any(|folder| folder.join(program).is_file()))
}

fn target_folder() -> anyhow::Result<PathBuf> {
    let metadata = tidy::metadata(&root(), &["--no-deps"])?;
    let folder = metadata["target_directory"].as_str().context("cargo metadata names no target directory")?;
    Ok(Path::new(folder).to_owned())
}

fn cargo() -> String {
    env::var("CARGO").unwrap_or_else(|_| "cargo".into())
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new(".")).to_owned()
}
