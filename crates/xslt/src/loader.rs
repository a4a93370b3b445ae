//! Where stylesheets and documents beyond the first come from.
//!
//! The engine itself opens no file and no socket. What `xsl:import`, `xsl:include` and `document()` name is resolved to
//! an absolute address here and asked of the caller's [`Loader`].

use oxiri::Iri;

/// Why something is loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Purpose {
    /// `xsl:import`
    Import,
    /// `xsl:include`
    Include,
    /// `document()`
    Document,
    /// A stylesheet that a document names in its `xml-stylesheet` instruction.
    Associated,
}

/// What a loader found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Loaded {
    /// The bytes, as they are stored.
    pub bytes: Vec<u8>,
    /// The address they were found at, after redirects: the base of relative addresses inside.
    pub uri: String,
}

/// Gives the engine stylesheets and documents by address, or says why not.
pub trait Loader: Sync {
    /// Loads `uri`, an absolute address without fragment (or, where no base was known, whatever the stylesheet said).
    ///
    /// # Errors
    ///
    /// The reason in words, when there is nothing or when it may not be read.
    fn load(&self, uri: &str, purpose: Purpose) -> Result<Loaded, String>;
}

/// Refuses everything.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoLoader;

impl Loader for NoLoader {
    fn load(&self, _uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        Err("nothing may be loaded here".to_owned())
    }
}

/// Resolves `reference` against `base`. Bases that are plain paths work too, since people have files.
pub(crate) fn resolve(base: &str, reference: &str) -> String {
    if let Ok(base) = Iri::parse(base) {
        if let Ok(resolved) = base.resolve(reference) {
            return resolved.into_inner();
        }
        return reference.to_owned();
    }
    if reference.is_empty() {
        return base.to_owned();
    }
    if reference.starts_with('/') || Iri::parse(reference).is_ok() {
        return reference.to_owned();
    }
    let folder = base.rfind('/').map_or("", |slash| &base[..=slash]);
    normalise_path(&format!("{folder}{reference}"))
}

/// Takes `.` and `..` out of a path.
fn normalise_path(path: &str) -> String {
    let (rooted, path) = path.strip_prefix('/').map_or((false, path), |rest| (true, rest));
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            ".." if rooted => {}
            _ => parts.push(part),
        }
    }
    format!("{}{}", if rooted { "/" } else { "" }, parts.join("/"))
}

/// Splits an address from its fragment.
pub(crate) fn split_fragment(uri: &str) -> (&str, Option<&str>) {
    match uri.split_once('#') {
        Some((address, fragment)) => (address, Some(fragment)),
        None => (uri, None),
    }
}
