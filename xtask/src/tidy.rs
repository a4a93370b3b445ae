//! The rules of the tree that no compiler keeps.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, bail};
use serde_json::Value;

/// The phases. None knows another: what they say to each other is in `model`, and only `pipeline` knows the order.
const PHASES: [&str; 7] = [
    "webloom-archive",
    "webloom-fetch",
    "webloom-detect",
    "webloom-transform",
    "webloom-index",
    "webloom-extract",
    "webloom-frontier",
];

/// Checks every rule and reports all that are broken.
pub fn check(root: &Path) -> anyhow::Result<()> {
    let metadata = metadata(root, &["--no-deps"])?;
    let mut broken = Vec::new();
    for package in metadata["packages"].as_array().into_iter().flatten() {
        let name = package["name"].as_str().unwrap_or_default();
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let ours = dependencies
            .filter(|dependency| dependency["kind"].is_null())
            .filter_map(|dependency| dependency["name"].as_str())
            .filter(|dependency| dependency.starts_with("webloom"));
        for dependency in ours {
            // The XSLT engine knows nothing of Webloom; it could be anybody's.
            if PHASES.contains(&name) && !["webloom-model", "webloom-xslt"].contains(&dependency) {
                broken.push(format!("{name} depends on {dependency}; a phase knows only webloom-model"));
            }
            if name == "webloom-model" {
                broken.push(format!("webloom-model depends on {dependency}; it is the bottom of the tree"));
            }
        }
        let folder =
            Path::new(package["manifest_path"].as_str().unwrap_or_default()).parent().unwrap_or(root);
        if name.starts_with("webloom-") && !folder.join("README.md").is_file() {
            broken.push(format!("{name} has no README.md"));
        }
    }
    for file in tracked_files(root)? {
        if file.ends_with(".rs") {
            let text = std::fs::read_to_string(root.join(&file)).unwrap_or_default();
            let opening = text.lines().next().unwrap_or_default();
            if !opening.starts_with("//!") && !opening.starts_with("#![doc") {
                broken.push(format!("{file} does not open with what it promises (`//!`)"));
            }
        }
    }
    if !broken.is_empty() {
        bail!("the tree is untidy:\n  {}", broken.join("\n  "));
    }
    Ok(())
}

/// `cargo metadata` as JSON.
pub fn metadata(root: &Path, arguments: &[&str]) -> anyhow::Result<Value> {
    let output = Command::new(super::cargo())
        .args(["metadata", "--format-version", "1", "--locked"])
        .args(arguments)
        .current_dir(root)
        .output()
        .context("cannot run cargo metadata")?;
    if !output.status.success() {
        bail!("cargo metadata failed: {}", String::from_utf8_lossy(&output.stderr));
    }
    serde_json::from_slice(&output.stdout).context("cargo metadata gave no JSON")
}

fn tracked_files(root: &Path) -> anyhow::Result<Vec<String>> {
    let output =
        Command::new("git").args(["ls-files"]).current_dir(root).output().context("cannot run git")?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect())
}
