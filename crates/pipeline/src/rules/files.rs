//! Stylesheets of rules, from files: compiled once, shared, and compiled anew when a file changes.
//!
//! What a stylesheet imports or includes must lie in its own folder; what it may read by `document()` is what its rule lists. A
//! changed stylesheet that is wrong is told in the log, and the last one that was right stays in use. Start at [`StylesheetFile`].

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use parking_lot::{Mutex, RwLock};
use tracing::{info, warn};
use webloom_transform::rules::{CurrentStylesheet, StylesheetSource};
use webloom_xslt::{Limits, Loaded, Loader, Purpose, Stylesheet};

use super::shipped;

/// How often files are looked at for changes.
const LOOK_AGAIN: Duration = Duration::from_secs(1);

/// Bytes of a file that a stylesheet may read.
const FILE_BYTES_MAX: u64 = 64 << 20;

/// A stylesheet in a file, or one of those that come with us.
#[derive(Debug)]
pub struct StylesheetFile {
    path: PathBuf,
    documents: Arc<Documents>,
    state: RwLock<State>,
    looked: Mutex<Instant>,
}

#[derive(Debug)]
struct State {
    current: CurrentStylesheet,
    /// The files that it consists of, as they were when they were compiled.
    files: Vec<Stamp>,
}

/// A file at a time.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Stamp {
    path: PathBuf,
    /// Nothing when it cannot be looked at.
    seen: Option<(u64, Option<SystemTime>)>,
}

impl Stamp {
    fn of(path: &Path) -> Self {
        let seen = fs::metadata(path).ok().map(|found| (found.len(), found.modified().ok()));
        Self { path: path.to_owned(), seen }
    }
}

impl StylesheetFile {
    /// Compiles the stylesheet in a file, or a shipped one when `path` is `shipped:name.xsl`.
    ///
    /// # Errors
    ///
    /// In words, when it cannot be read or is wrong.
    pub fn open(path: &Path, documents: Documents) -> Result<Self, String> {
        let documents = Arc::new(documents);
        let state = compile(path, &documents)?;
        Ok(Self {
            path: path.to_owned(),
            documents,
            state: RwLock::new(state),
            looked: Mutex::new(Instant::now()),
        })
    }

    /// Compiles it again if one of its files is not what it was.
    fn look(&self) {
        let files = self.state.read().files.clone();
        let fresh: Vec<Stamp> = files.iter().map(|stamp| Stamp::of(&stamp.path)).collect();
        if fresh == files {
            return;
        }
        match compile(&self.path, &self.documents) {
            Ok(state) => {
                info!(stylesheet = %self.path.display(), "a changed stylesheet is in use");
                *self.state.write() = state;
            }
            Err(reason) => {
                warn!(stylesheet = %self.path.display(), reason, "a changed stylesheet is wrong; the last one stays in use");
                self.state.write().files = fresh;
            }
        }
    }
}

impl StylesheetSource for StylesheetFile {
    fn current(&self) -> CurrentStylesheet {
        // Who finds somebody else looking takes what there is.
        if let Some(mut looked) = self.looked.try_lock()
            && looked.elapsed() >= LOOK_AGAIN
        {
            self.look();
            *looked = Instant::now();
        }
        self.state.read().current.clone()
    }
}

fn compile(path: &Path, documents: &Arc<Documents>) -> Result<State, String> {
    let limits = Limits::default();
    if let Some(name) = shipped::name_of(path) {
        let source = shipped::text(name).ok_or_else(|| {
            format!("there is no shipped stylesheet `{name}`; there are {}", shipped::names().join(", "))
        })?;
        let stylesheet =
            Stylesheet::compile(source.as_bytes(), &shipped::address(name), &shipped::Shipped, &limits)
                .map_err(|error| error.to_string())?;
        let current = CurrentStylesheet { stylesheet, documents: documents.clone() };
        return Ok(State { current, files: Vec::new() });
    }
    let unreadable = |error: std::io::Error| format!("cannot read `{}`: {error}", path.display());
    // The folder without links in it, so that what is inside can be told.
    let path = path.canonicalize().map_err(unreadable)?;
    let folder = path.parent().unwrap_or(Path::new("/")).to_owned();
    let stamp = Stamp::of(&path);
    let source = fs::read(&path).map_err(unreadable)?;
    let modules = Modules { folder, read: Mutex::new(vec![stamp]) };
    let stylesheet = Stylesheet::compile(&source, &file_uri(&path), &modules, &limits)
        .map_err(|error| error.to_string())?;
    let current = CurrentStylesheet { stylesheet, documents: documents.clone() };
    Ok(State { current, files: modules.read.into_inner() })
}

/// Gives a stylesheet the modules in its own folder, and takes note of them.
struct Modules {
    folder: PathBuf,
    read: Mutex<Vec<Stamp>>,
}

impl Loader for Modules {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        let path = file_path(uri).ok_or("a stylesheet is put together from files of its own folder only")?;
        let path = path.canonicalize().map_err(|error| error.to_string())?;
        if !path.starts_with(&self.folder) {
            return Err(format!("it is outside of the stylesheet's folder `{}`", self.folder.display()));
        }
        self.read.lock().push(Stamp::of(&path));
        read_file(&path).map(|bytes| Loaded { bytes, uri: uri.to_owned() })
    }
}

/// What the `document()` of a stylesheet may read.
#[derive(Debug, Clone, Default)]
pub struct Documents {
    /// Files, and folders with all that is in them; without links in their paths.
    places: Vec<PathBuf>,
    /// Addresses that stand for files.
    mapped: Vec<(String, PathBuf)>,
}

impl Documents {
    /// Reads a list of files, folders, and files that stand for an address (`http://a.example/codes.xml=codes.xml`).
    ///
    /// # Errors
    ///
    /// In words, for the first that is not there.
    pub fn new<'t>(listed: impl IntoIterator<Item = &'t str>) -> Result<Self, String> {
        let mut documents = Self::default();
        let there = |path: &str| {
            Path::new(path)
                .canonicalize()
                .map_err(|error| format!("cannot read the document `{path}`: {error}"))
        };
        for entry in listed {
            match split_mapped(entry) {
                Some((address, path)) => documents.mapped.push((address.to_owned(), there(path)?)),
                None => documents.places.push(there(entry)?),
            }
        }
        Ok(documents)
    }
}

/// Splits an entry that lets a file stand for an address of the web.
pub(crate) fn split_mapped(entry: &str) -> Option<(&str, &str)> {
    let is_address = entry.starts_with("http://") || entry.starts_with("https://");
    entry.rsplit_once('=').filter(|_| is_address)
}

impl Loader for Documents {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        let refused = || "the rule does not list it among its documents".to_owned();
        let path = match self.mapped.iter().find(|(address, _)| address == uri) {
            Some((_, path)) => path.clone(),
            None => {
                let path = file_path(uri).ok_or_else(refused)?;
                // Whether a file is there is told only of those that may be read.
                let path = path.canonicalize().map_err(|_| refused())?;
                if !self.places.iter().any(|place| path.starts_with(place)) {
                    return Err(refused());
                }
                path
            }
        };
        read_file(&path).map(|bytes| Loaded { bytes, uri: uri.to_owned() })
    }
}

fn read_file(path: &Path) -> Result<Vec<u8>, String> {
    let length = fs::metadata(path).map_err(|error| error.to_string())?.len();
    if length > FILE_BYTES_MAX {
        return Err(format!("it is longer than {FILE_BYTES_MAX} bytes"));
    }
    fs::read(path).map_err(|error| error.to_string())
}

/// The `file:` address of an absolute path.
pub fn file_uri(path: &Path) -> String {
    use std::fmt::Write;
    let mut uri = String::from("file://");
    for byte in path.to_string_lossy().bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~!$&'()*+,;=:@".contains(&byte) {
            uri.push(char::from(byte));
        } else {
            // Writing to a string does not fail.
            let _ = write!(uri, "%{byte:02X}");
        }
    }
    uri
}

/// The path that a `file:` address names.
pub fn file_path(uri: &str) -> Option<PathBuf> {
    let path = uri.strip_prefix("file://").map(|rest| rest.strip_prefix("localhost").unwrap_or(rest));
    let path = path.or_else(|| uri.strip_prefix("file:"))?;
    let path = path.split(['?', '#']).next().unwrap_or(path);
    let mut bytes = Vec::with_capacity(path.len());
    let mut rest = path.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let escaped = (*first == b'%')
            .then(|| after.get(..2))
            .flatten()
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok().map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use webloom_xslt::Document;

    use super::*;

    const WRAP: &str = r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform"><xsl:output method="text"/>"#;

    fn sheet(inside: &str) -> String {
        format!("{WRAP}{inside}</xsl:stylesheet>")
    }

    fn run(file: &StylesheetFile) -> Result<String, String> {
        let limits = Limits::untrusted();
        let document = Document::parse(b"<x/>", "http://a.example/x", &limits).unwrap();
        let current = file.current();
        current
            .stylesheet
            .transform(&document, &[], &*current.documents, &limits)
            .map(|output| String::from_utf8(output.bytes).unwrap())
            .map_err(|error| error.to_string())
    }

    #[test]
    fn paths_become_addresses_and_back() {
        for path in ["/tmp/a b/ü#?.xsl", "/plain.xml"] {
            assert_eq!(file_path(&file_uri(Path::new(path))), Some(PathBuf::from(path)));
        }
        assert_eq!(file_path("https://example.org/x"), None);
    }

    #[test]
    fn a_changed_module_is_seen_and_a_wrong_one_changes_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let (main, module) = (folder.path().join("main.xsl"), folder.path().join("module.xsl"));
        fs::write(&main, sheet(r#"<xsl:include href="module.xsl"/>"#)).unwrap();
        fs::write(&module, sheet(r#"<xsl:template match="/">one</xsl:template>"#)).unwrap();
        let file = StylesheetFile::open(&main, Documents::default()).unwrap();
        assert_eq!(run(&file).unwrap(), "one");
        let later = || *file.looked.lock() = Instant::now().checked_sub(LOOK_AGAIN).unwrap();
        for (text, expected) in [("three", "three"), ("<xsl:nonsense", "three"), ("later", "later")] {
            fs::write(&module, sheet(&format!(r#"<xsl:template match="/">{text}</xsl:template>"#))).unwrap();
            later();
            assert_eq!(run(&file).unwrap(), expected);
        }
    }

    #[test]
    fn modules_lie_in_the_stylesheets_folder() {
        let folder = tempfile::tempdir().unwrap();
        let inner = folder.path().join("inner");
        fs::create_dir(&inner).unwrap();
        fs::write(folder.path().join("outer.xsl"), sheet("")).unwrap();
        #[cfg(unix)]
        std::os::unix::fs::symlink(folder.path().join("outer.xsl"), inner.join("link.xsl")).unwrap();
        for href in ["../outer.xsl", "link.xsl", "/etc/passwd", "http://a.example/x.xsl", "absent.xsl"] {
            let main = inner.join("main.xsl");
            fs::write(&main, sheet(&format!(r#"<xsl:import href="{href}"/>"#))).unwrap();
            assert!(StylesheetFile::open(&main, Documents::default()).is_err(), "{href}");
        }
    }

    #[test]
    fn documents_are_those_that_are_listed() {
        let folder = tempfile::tempdir().unwrap();
        let main = folder.path().join("main.xsl");
        for name in ["codes.xml", "secret.xml"] {
            fs::write(folder.path().join(name), "<c>known</c>").unwrap();
        }
        let codes = folder.path().join("codes.xml");
        let mapped = format!("http://a.example/codes={}", codes.display());
        let reads = |address: &str| {
            let inside = format!(
                r#"<xsl:template match="/"><xsl:value-of select="document('{address}')"/></xsl:template>"#
            );
            fs::write(&main, sheet(&inside)).unwrap();
            let documents = Documents::new([codes.to_str().unwrap(), &mapped]).unwrap();
            run(&StylesheetFile::open(&main, documents).unwrap()).is_ok_and(|text| text == "known")
        };
        let own = file_uri(&codes);
        assert!(reads(&own) && reads("http://a.example/codes"));
        for refused in ["file:///etc/passwd", "http://a.example/other"] {
            assert!(!reads(refused), "{refused}");
        }
        assert!(!reads(&file_uri(&folder.path().join("secret.xml"))));
        assert!(Documents::new(["/no/such/file"]).is_err());
    }

    #[test]
    fn shipped_stylesheets_compile() {
        for name in shipped::names() {
            let path = PathBuf::from(format!("shipped:{name}"));
            StylesheetFile::open(&path, Documents::default())
                .unwrap_or_else(|reason| panic!("{name}: {reason}"));
        }
        assert!(StylesheetFile::open(Path::new("shipped:none.xsl"), Documents::default()).is_err());
    }
}
