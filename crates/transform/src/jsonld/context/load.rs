//! Where contexts from elsewhere come from: the configuration first, then what is bundled with the program.
//!
//! A context is read once for a block. What is made of it, when it is applied to a context that means the
//! same in every document, is kept for the whole process ([`SharedContexts`]), for as long as its source
//! gives the same text.

use std::sync::{Arc, LazyLock, RwLock};

use super::{ActiveContext, Base};
use crate::jsonld::bundled::bundled;
use crate::jsonld::error::{ErrorCode, Problem, Result};
use crate::jsonld::json::{Document, Value};
use crate::maps::HashMap;
use crate::{ContextSource, Limits};

/// Different contexts a block may name, and theirs with them.
const CONTEXTS_MAX: usize = 32;
/// Contexts kept for the process, beside schema.org's.
const SHARED_MAX: usize = 64;
/// Bytes of a context that is kept, with all it depends on.
const SHARED_BYTES_MAX: usize = 256 << 10;
/// Names below this one are given: the initial context's and schema.org's.
const FIRST_SHARED: u32 = 2;

/// The text of a context, and who gave it.
#[derive(Debug, Clone)]
pub(super) enum Origin {
    Bundled(&'static str),
    Source(Arc<str>),
}

impl Origin {
    fn text(&self) -> &str {
        match self {
            Self::Bundled(text) => text,
            Self::Source(text) => text,
        }
    }

    /// The very same text in memory, which therefore has not changed.
    fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Bundled(one), Self::Bundled(two)) => std::ptr::eq(*one, *two),
            (Self::Source(one), Self::Source(two)) => Arc::ptr_eq(one, two),
            _ => false,
        }
    }
}

/// A context document.
#[derive(Debug, Clone)]
pub(super) struct RemoteContext {
    pub(super) document: Arc<Document>,
    /// Where in it the value of `@context` is.
    pub(super) index: u32,
    pub(super) base: Base,
}

impl RemoteContext {
    pub(super) fn value(&self) -> Value<'_> {
        Value::at(&self.document, self.index)
    }
}

/// Contexts from elsewhere, for one block.
#[derive(Debug)]
pub(in crate::jsonld) struct Loader<'p> {
    source: &'p dyn ContextSource,
    limits: &'p Limits,
    depth_max: usize,
    origins: HashMap<Box<str>, Option<Origin>>,
    /// What was read, or why it could not be.
    documents: HashMap<Box<str>, Result<RemoteContext>>,
    /// What was asked for and nobody knew.
    pub(in crate::jsonld) missing: Vec<String>,
    /// Everything that was used, in order, so that it is known what a context depends on.
    used: Vec<(Box<str>, Origin)>,
}

impl<'p> Loader<'p> {
    pub(in crate::jsonld) fn new(
        source: &'p dyn ContextSource,
        limits: &'p Limits,
        depth_max: usize,
    ) -> Self {
        Self {
            source,
            limits,
            depth_max,
            origins: HashMap::default(),
            documents: HashMap::default(),
            missing: Vec::new(),
            used: Vec::new(),
        }
    }

    /// How much was used up to now.
    pub(super) fn mark(&self) -> usize {
        self.used.len()
    }

    /// The text at an IRI, asked for once.
    fn origin(&mut self, iri: &str) -> Result<Option<Origin>> {
        if let Some(origin) = self.origins.get(iri) {
            return Ok(origin.clone());
        }
        if self.origins.len() >= CONTEXTS_MAX {
            let detail = format!("more than {CONTEXTS_MAX} contexts are named");
            return Err(Problem::new(ErrorCode::ContextOverflow, detail));
        }
        let origin = match self.source.context(iri) {
            Some(text) => Some(Origin::Source(text)),
            None => bundled(iri).map(Origin::Bundled),
        };
        self.origins.insert(iri.into(), origin.clone());
        Ok(origin)
    }

    /// The context document at an IRI.
    pub(super) fn load(&mut self, iri: &str) -> Result<RemoteContext> {
        let Some(origin) = self.origin(iri)? else {
            if !self.missing.iter().any(|known| known == iri) {
                self.missing.push(iri.to_owned());
            }
            let detail = format!("the context <{iri}> is not known");
            return Err(Problem::new(ErrorCode::LoadingRemoteContextFailed, detail));
        };
        self.used.push((iri.into(), origin.clone()));
        if let Some(known) = self.documents.get(iri) {
            return known.clone();
        }
        let result = self.read(iri, origin.text());
        self.documents.insert(iri.into(), result.clone());
        result
    }

    fn read(&self, iri: &str, text: &str) -> Result<RemoteContext> {
        let failed = |detail: String| Problem::new(ErrorCode::LoadingRemoteContextFailed, detail);
        if text.len() > self.limits.json_bytes_max {
            let bytes = self.limits.json_bytes_max;
            return Err(failed(format!("the context <{iri}> is larger than {bytes} bytes")));
        }
        let document = match Document::parse(text.trim_start_matches('\u{feff}'), self.depth_max) {
            Ok(document) => Arc::new(document),
            Err(error) => {
                return Err(failed(format!("the context <{iri}> cannot be read: {}", error.message)));
            }
        };
        let context = Value::root(&document).as_object().and_then(|object| object.get("@context"));
        let Some(index) = context.map(Value::index) else {
            let detail = format!("<{iri}> is no context");
            return Err(Problem::new(ErrorCode::InvalidRemoteContext, detail));
        };
        let Some(base) = Base::parse(iri) else {
            return Err(failed(format!("<{iri}> is no IRI")));
        };
        Ok(RemoteContext { document, index, base })
    }

    /// What the process knows of applying a context to a shared one.
    pub(super) fn shared(&mut self, parent: u32, iri: &str) -> Result<Option<ActiveContext>> {
        let entry = {
            let Ok(shared) = SHARED.read() else { return Ok(None) };
            shared.contexts.get(&(parent, Box::from(iri))).cloned()
        };
        let Some(entry) = entry else { return Ok(None) };
        for (iri, origin) in &entry.dependencies {
            if !self.origin(iri)?.is_some_and(|found| found.is(origin)) {
                return Ok(None);
            }
        }
        self.used.extend(entry.dependencies.iter().cloned());
        Ok(Some(entry.context.clone()))
    }

    /// Keeps what came of applying a context to a shared one; `mark` was taken before.
    pub(super) fn share(&self, parent: u32, iri: &str, mark: usize, context: &mut ActiveContext) {
        let dependencies = &self.used[mark..];
        let bytes: usize = dependencies.iter().map(|(_, origin)| origin.text().len()).sum();
        if bytes > SHARED_BYTES_MAX {
            return;
        }
        let Ok(mut shared) = SHARED.write() else { return };
        if shared.contexts.len() >= SHARED_MAX {
            shared.contexts.clear();
        }
        // Names are not used again, so nobody mistakes a newer context for the one they hold.
        let Some(next) = shared.next.checked_add(1) else { return };
        context.shared = Some(shared.next);
        shared.next = next;
        let entry = SharedContext {
            context: ActiveContext { base: None, ..context.clone() },
            dependencies: dependencies.to_vec(),
        };
        shared.contexts.insert((parent, iri.into()), Arc::new(entry));
    }
}

/// A context that means the same in every document, and the texts it was made of.
#[derive(Debug)]
struct SharedContext {
    context: ActiveContext,
    dependencies: Vec<(Box<str>, Origin)>,
}

/// The process's contexts, by the shared context they were applied to and by their IRI.
#[derive(Debug)]
struct SharedContexts {
    next: u32,
    contexts: HashMap<(u32, Box<str>), Arc<SharedContext>>,
}

static SHARED: LazyLock<RwLock<SharedContexts>> =
    LazyLock::new(|| RwLock::new(SharedContexts { next: FIRST_SHARED, contexts: HashMap::default() }));
