//! JSON-LD contexts, and what GRDDL names, from the archives themselves: those that a crawl fetched are in its own WARC files.
//!
//! In: an IRI. Out: the document, found by the CDXJ indexes beside the files, redirects followed. Archives without indexes
//! know none, and nothing is fetched.

use std::collections::{BTreeSet, HashMap};
use std::path::PathBuf;
use std::sync::Arc;

use parking_lot::Mutex;
use webloom_archive::fields::Fields;
use webloom_archive::{Archive, StoredAnswer};
use webloom_fetch::redirect_to;
use webloom_model::PageUrl;
use webloom_transform::ContextSource;

use super::files::SourceFile;
use super::weave::page_of;
use crate::contexts::Kind;

/// Bytes of one context.
const CONTEXT_BYTES_MAX: u64 = 1 << 20;
/// Contexts that are remembered, found or not.
const KNOWN_MAX: usize = 10_000;
const REDIRECTS_MAX: usize = 5;

/// What was looked for, and what was found.
type Documents = HashMap<(Kind, String), Option<Arc<str>>>;

/// Contexts in archives, behind those of another source.
#[derive(Debug)]
pub(crate) struct ArchivedContexts {
    folders: BTreeSet<PathBuf>,
    others: Arc<dyn ContextSource>,
    known: Mutex<Documents>,
}

impl ArchivedContexts {
    pub(crate) fn new(files: &[SourceFile], others: Arc<dyn ContextSource>) -> Self {
        let folders = files.iter().filter_map(|file| file.path.parent().map(PathBuf::from));
        // A file that is named without a directory is in this one.
        let folders = folders.map(|folder| if folder.as_os_str().is_empty() { ".".into() } else { folder });
        Self { folders: folders.collect(), others, known: Mutex::default() }
    }

    /// What is remembered, or looked up.
    fn find(&self, kind: Kind, iri: &str) -> Option<Arc<str>> {
        let key = (kind, iri.to_owned());
        if let Some(known) = self.known.lock().get(&key) {
            return known.clone();
        }
        let found = self.look_up(kind, iri);
        let mut known = self.known.lock();
        if known.len() >= KNOWN_MAX {
            known.clear();
        }
        known.insert(key, found.clone());
        found
    }

    fn look_up(&self, kind: Kind, iri: &str) -> Option<Arc<str>> {
        let mut url = PageUrl::parse(iri).ok()?;
        for _ in 0..=REDIRECTS_MAX {
            let found = self.folders.iter().find_map(|folder| {
                let archive = Archive::open(folder);
                let capture = archive.find(url.as_str()).ok()??;
                archive.read(&capture, CONTEXT_BYTES_MAX).ok()
            })?;
            match found.http.status()? {
                200..=299 => {
                    let at = found.at().unwrap_or_default();
                    let none = Fields::new();
                    let StoredAnswer { http, body, is_cut, .. } = found;
                    let page = page_of(CONTEXT_BYTES_MAX, &url, at, &http, body, is_cut, &none);
                    match kind.document(&page) {
                        Ok(text) => return Some(Arc::from(text)),
                        Err(_) => url = kind.link(&page)?,
                    }
                }
                301 | 302 | 303 | 307 | 308 => {
                    url = redirect_to(&url, found.http.fields.all("location")).ok()?;
                }
                _ => return None,
            }
        }
        None
    }
}

impl ContextSource for ArchivedContexts {
    fn context(&self, iri: &str) -> Option<Arc<str>> {
        self.others.context(iri).or_else(|| self.find(Kind::Contexts, iri))
    }

    fn vocabulary(&self, iri: &str) -> Option<Arc<str>> {
        self.others.vocabulary(iri)
    }

    fn document(&self, iri: &str) -> Option<Arc<str>> {
        self.others.document(iri).or_else(|| self.find(Kind::Documents, iri))
    }

    /// Not what was archived: what a stranger's transformation can read must not depend on what others named.
    fn readable(&self, iri: &str) -> Option<Arc<str>> {
        self.others.readable(iri)
    }
}
