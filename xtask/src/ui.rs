//! The web interface: its packages, types, unit tests and build, then its use in a real Chromium against a running `webloom demo`.
//! Needs Node.js; Chromium is installed where it is missing and the package manager can.

use std::path::PathBuf;
use std::process::Command;

use anyhow::{Context, bail};

use crate::{installed, output, root, step, target_folder};

/// The oldest Node.js that the build tools run on.
const NODE_MIN: (u32, u32) = (20, 19);

/// Where browsers are, by the names that Debian and others give them.
const BROWSERS: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// The same among all tests: a machine that cannot have Node.js or Chromium tests everything else, and is told so.
pub(crate) fn check_if_possible() -> anyhow::Result<()> {
    if let Err(reason) = node().and_then(|()| browser().map(drop)) {
        eprintln!("the web interface was NOT tested: {reason:#}");
        return Ok(());
    }
    check()
}

/// Checks, builds and uses the interface. Ends at the first thing that fails.
pub(crate) fn check() -> anyhow::Result<()> {
    node()?;
    // The server's build script installs the packages and builds the interface into the binary; that it was told to skip this elsewhere
    // does not count here.
    // With the whole workspace's features, so that what the tests built is not built again.
    step("cargo", &["build", "--workspace", "--all-targets"], &[("WEBLOOM_UI", "build".to_owned())])?;
    packages()?;
    npm(&["run", "check"], &[])?;
    npm(&["test"], &[])?;
    let browser = browser()?;
    let target = target_folder()?;
    let environment = [
        ("WEBLOOM_BINARY", target.join("debug/webloom").to_string_lossy().into_owned()),
        ("WEBLOOM_CHROMIUM", browser.to_string_lossy().into_owned()),
        ("WEBLOOM_SCREENSHOTS", target.join("ui-screenshots").to_string_lossy().into_owned()),
    ];
    npm(&["run", "e2e"], &environment)
}

/// Finds Node.js, new enough.
fn node() -> anyhow::Result<()> {
    let version = output("node", &["--version"]).context(
        "the web interface needs Node.js 20.19 or newer with npm; install it from your system's packages or from nodejs.org",
    )?;
    let mut numbers = version.trim_start_matches('v').split('.').map(|part| part.parse().unwrap_or(0));
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found < NODE_MIN {
        bail!(
            "Node.js {version} is too old for the web interface; it needs {}.{} or newer",
            NODE_MIN.0,
            NODE_MIN.1
        );
    }
    Ok(())
}

/// Installs what the lock file says, where the build script could not: then npm itself says why.
fn packages() -> anyhow::Result<()> {
    let changed =
        |file: &str| std::fs::metadata(folder().join(file)).and_then(|metadata| metadata.modified()).ok();
    let installed = changed("node_modules/.stamp");
    if installed.is_some()
        && installed >= changed("package-lock.json")
        && changed("dist/index.html").is_some()
    {
        return Ok(());
    }
    npm(&["ci"], &[])?;
    npm(&["run", "build"], &[])
}

/// Finds a Chromium, or installs Debian's.
fn browser() -> anyhow::Result<PathBuf> {
    if let Some(named) = std::env::var_os("WEBLOOM_CHROMIUM") {
        return Ok(named.into());
    }
    if let Some(found) = find_browser() {
        return Ok(found);
    }
    if installed("apt-get") {
        eprintln!("$ apt-get install chromium");
        let _ = Command::new("apt-get").args(["update", "-qq"]).status();
        let _ = Command::new("apt-get")
            .args(["install", "-y", "-qq", "--no-install-recommends", "chromium"])
            .env("DEBIAN_FRONTEND", "noninteractive")
            .status();
    }
    find_browser().context(
        "the web interface is tested in Chromium, which is not here and could not be installed; \
         install the package `chromium`, or name a browser with WEBLOOM_CHROMIUM",
    )
}

fn find_browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    BROWSERS
        .iter()
        .flat_map(|name| folders.iter().map(move |folder| folder.join(name)))
        .find(|file| file.is_file())
}

fn npm(arguments: &[&str], environment: &[(&str, String)]) -> anyhow::Result<()> {
    let folder = folder();
    let mut words = vec!["--prefix", folder.to_str().unwrap_or("ui")];
    words.extend(arguments);
    step("npm", &words, environment)
}

fn folder() -> PathBuf {
    root().join("ui")
}
