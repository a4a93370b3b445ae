//! Transformations that pages name, kept compiled: the pages of a site mostly name the same one.
//!
//! In: an address and what the [`ContextSource`] has there. Out: the compiled [`Stylesheet`]. One that was compiled before
//! is given again as long as it, and every module it was put together from, still reads the same. Only so many are kept;
//! the one that was not asked for the longest goes first. What is wrong is not kept. Start at [`Compiled::stylesheet`].

use std::sync::{Arc, Mutex, PoisonError};

use webloom_xslt::{Limits, Stylesheet, XsltError};

use crate::config::ContextSource;
use crate::stylesheet::SourceLoader;

/// Stylesheets that are kept.
const KEPT_MAX: usize = 64;
/// Bytes of text that they may have together; compiled they take several times that.
const KEPT_BYTES_MAX: usize = 4 << 20;

/// Stylesheets that were compiled, the one asked for last at the end.
#[derive(Debug, Default)]
pub struct Compiled {
    kept: Mutex<Vec<Arc<Kept>>>,
}

#[derive(Debug)]
struct Kept {
    iri: String,
    /// The text of the stylesheet and of its modules, with their addresses.
    sources: Vec<(String, Arc<str>)>,
    stylesheet: Stylesheet,
}

impl Kept {
    /// Whether everything it was compiled from is still what it was.
    fn is_current(&self, contexts: &dyn ContextSource) -> bool {
        self.sources.iter().all(|(iri, source)| {
            contexts.document(iri).is_some_and(|now| Arc::ptr_eq(&now, source) || now == *source)
        })
    }

    fn bytes(&self) -> usize {
        self.sources.iter().map(|(_, source)| source.len()).sum()
    }
}

impl Compiled {
    /// The stylesheet at `iri`, whose text is `source`, and the modules that it asked for in vain.
    pub(crate) fn stylesheet(
        &self,
        iri: &str,
        source: &Arc<str>,
        contexts: &dyn ContextSource,
        limits: &Limits,
    ) -> (Result<Stylesheet, XsltError>, Vec<String>) {
        if let Some(known) = self.known(iri, contexts) {
            return (Ok(known), Vec::new());
        }
        let loader = SourceLoader::new(contexts);
        let compiled = Stylesheet::compile(source.as_bytes(), iri, &loader, limits);
        let (mut sources, missed) = loader.modules();
        if let Ok(stylesheet) = &compiled
            && missed.is_empty()
        {
            sources.push((iri.to_owned(), Arc::clone(source)));
            self.keep(Kept { iri: iri.to_owned(), sources, stylesheet: stylesheet.clone() });
        }
        (compiled, missed)
    }

    /// How many are kept.
    pub fn len(&self) -> usize {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether none is kept.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    fn known(&self, iri: &str, contexts: &dyn ContextSource) -> Option<Stylesheet> {
        let found = {
            let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
            let at = kept.iter().rposition(|kept| kept.iri == iri)?;
            let found = kept.remove(at);
            kept.push(Arc::clone(&found));
            found
        };
        found.is_current(contexts).then(|| found.stylesheet.clone())
    }

    fn keep(&self, new: Kept) {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        // It was something else before, or another thread was as quick.
        kept.retain(|known| known.iri != new.iri);
        kept.push(Arc::new(new));
        let mut bytes: usize = kept.iter().map(|kept| kept.bytes()).sum();
        while kept.len() > KEPT_MAX || (bytes > KEPT_BYTES_MAX && !kept.is_empty()) {
            bytes -= kept.remove(0).bytes();
        }
    }
}
