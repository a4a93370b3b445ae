//! Builds the web interface from `ui/` and puts its files, compressed, where the server can include them.
//!
//! The interface is built with npm when Node is there and `ui/` has changed since it was last built (a stamp of its contents is kept
//! beside the result). Whatever goes wrong is a warning: without Node the server is built all the same, and its page says how
//! to get the interface. `WEBLOOM_UI=skip` leaves `ui/` alone and takes what was built before, if anything was.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-env-changed=WEBLOOM_UI");
    let here = PathBuf::from(std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let out = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    let ui = here.join("../../ui");
    watch(&ui);
    let dist = ui.join("dist");
    if std::env::var_os("WEBLOOM_UI").is_none_or(|word| word != "skip")
        && ui.join("package.json").is_file()
        && let Err(reason) = build(&ui, &dist)
    {
        println!("cargo::warning=the web interface was not built: {reason}");
    }
    if let Err(error) = embed(&dist, &out) {
        println!("cargo::warning=the web interface cannot be embedded: {error}");
        // An empty list still makes a server.
        let _ = fs::write(out.join("ui_files.rs"), "pub static FILES: &[File] = &[];\n");
    }
}

/// Files of `ui/` that the interface is made from.
fn sources(folder: &Path, found: &mut BTreeMap<PathBuf, Vec<u8>>) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if path.is_dir() {
            if !matches!(&*name, "node_modules" | "dist" | "e2e" | "mock" | "test-results" | ".cache") {
                sources(&path, found);
            }
        } else if let Ok(bytes) = fs::read(&path) {
            found.insert(path, bytes);
        }
    }
}

/// Tells cargo to come back when a source changes. A folder that is not there yet is watched by its name.
fn watch(ui: &Path) {
    println!("cargo::rerun-if-changed=build.rs");
    if !ui.is_dir() {
        println!("cargo::rerun-if-changed={}", ui.display());
        return;
    }
    for name in [
        "src",
        "public",
        "index.html",
        "package.json",
        "package-lock.json",
        "vite.config.ts",
        "tsconfig.json",
    ] {
        let path = ui.join(name);
        if path.exists() {
            println!("cargo::rerun-if-changed={}", path.display());
        }
    }
}

/// Runs npm when what was built is not what is there.
fn build(ui: &Path, dist: &Path) -> Result<(), String> {
    let mut files = BTreeMap::new();
    sources(ui, &mut files);
    let stamp = stamp(ui, &files);
    let stamp_file = dist.join(".stamp");
    if fs::read_to_string(&stamp_file).is_ok_and(|kept| kept == stamp) {
        return Ok(());
    }
    if !ui.join("node_modules").is_dir()
        || fs::read_to_string(ui.join("node_modules/.stamp")).ok() != lock(&files)
    {
        install(ui)?;
        if let Some(lock) = lock(&files) {
            let _ = fs::write(ui.join("node_modules/.stamp"), lock);
        }
    }
    npm(ui, &["run", "--silent", "build"])?;
    fs::write(&stamp_file, stamp).map_err(|error| format!("cannot write {}: {error}", stamp_file.display()))
}

/// Installs what the lock file says. Where a registry lacks packages of other platforms, `npm ci` takes the lock file for
/// incomplete and refuses; an install does what it can, and must leave the lock file as it was.
fn install(ui: &Path) -> Result<(), String> {
    let quiet = ["--no-audit", "--no-fund", "--prefer-offline"];
    let Err(reason) = npm(ui, &[&["ci"][..], &quiet].concat()) else { return Ok(()) };
    let lock = ui.join("package-lock.json");
    let Ok(before) = fs::read(&lock) else { return Err(reason) };
    let installed = npm(ui, &[&["install", "--no-save"][..], &quiet].concat());
    if fs::read(&lock).ok().as_ref() != Some(&before) {
        fs::write(&lock, before).map_err(|error| format!("cannot restore {}: {error}", lock.display()))?;
    }
    installed
}

fn lock(files: &BTreeMap<PathBuf, Vec<u8>>) -> Option<String> {
    let (_, bytes) = files.iter().find(|(path, _)| path.ends_with("package-lock.json"))?;
    Some(format!("{:016x}", digest(std::iter::once(bytes.as_slice()))))
}

fn stamp(ui: &Path, files: &BTreeMap<PathBuf, Vec<u8>>) -> String {
    let pieces = files.iter().flat_map(|(path, bytes)| {
        let name = path.strip_prefix(ui).unwrap_or(path).as_os_str().as_encoded_bytes();
        [name, bytes.as_slice()]
    });
    format!("{:016x}", digest(pieces))
}

/// FNV-1a: not for secrets, only to see that something changed.
fn digest<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for piece in pieces {
        for byte in piece.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

fn npm(ui: &Path, arguments: &[&str]) -> Result<(), String> {
    let output = Command::new("npm").args(arguments).current_dir(ui).output().map_err(|error| {
        format!("cannot run npm ({error}); install Node.js 20 or newer, or set WEBLOOM_UI=skip")
    })?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    let last = words.lines().rev().find(|line| !line.trim().is_empty()).unwrap_or("no reason given");
    Err(format!("`npm {}` failed: {last}", arguments.join(" ")))
}

/// Writes every file of the build, compressed, and a table of them.
fn embed(dist: &Path, out: &Path) -> std::io::Result<()> {
    let mut files = Vec::new();
    collect(dist, dist, &mut files)?;
    files.sort();
    let folder = out.join("ui");
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder)?;
    let mut table = String::from("pub static FILES: &[File] = &[\n");
    for (number, (name, path)) in files.iter().enumerate() {
        let bytes = fs::read(path)?;
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
        encoder.write_all(&bytes)?;
        let packed = folder.join(format!("{number}.gz"));
        fs::write(&packed, encoder.finish()?)?;
        let tag = digest(std::iter::once(bytes.as_slice()));
        table.push_str(&format!(
            "    File {{ path: {name:?}, tag: \"\\\"{tag:016x}\\\"\", gzip: include_bytes!({:?}) }},\n",
            packed.display().to_string()
        ));
    }
    table.push_str("];\n");
    fs::write(out.join("ui_files.rs"), table)
}

fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
    if !folder.is_dir() {
        return Ok(());
    }
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let hidden = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        if path.is_dir() {
            collect(root, &path, files)?;
        } else if !hidden && let Ok(relative) = path.strip_prefix(root) {
            files.push((format!("/{}", relative.display()), path.clone()));
        }
    }
    Ok(())
}
