//! What can go wrong with an index, said so that a person or a caller can act on it.

use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The index could not do its job.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum IndexError {
    /// The operating system refused something.
    #[error("cannot {action} `{}`: {source}", path.display())]
    Io {
        /// What was tried: `open`, `write`, `rename`.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// There is no index to read here.
    #[error("there is no index in `{}`", path.display())]
    Missing {
        /// The directory.
        path: PathBuf,
    },
    /// There is an index where a new one was to be made.
    #[error("there is an index in `{}` already", path.display())]
    Exists {
        /// The directory.
        path: PathBuf,
    },
    /// Another process is the writer. Readers are not affected.
    #[error("another process writes to the index in `{}`", path.display())]
    Locked {
        /// The directory.
        path: PathBuf,
    },
    /// Written by a newer (or much older) program.
    #[error("`{}` has format version {found}, this program reads version {known}", path.display())]
    UnknownVersion {
        /// The file.
        path: PathBuf,
        /// The version it says.
        found: u32,
        /// The version this program reads.
        known: u32,
    },
    /// A file does not say what was once written to it.
    #[error("`{}` is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Which part, and how it shows.
        reason: String,
    },
    /// The full-text index failed.
    #[error("the text index failed: {0}")]
    Text(#[from] tantivy::TantivyError),
    /// The query is not SPARQL.
    #[error("not a SPARQL query: {0}")]
    Syntax(#[from] spargebra::SparqlSyntaxError),
    /// Parsing and evaluation are recursive, and a query like this would need more stack than there is.
    #[error("the query is too complex: {what}")]
    TooComplex {
        /// What there is too much of.
        what: String,
    },
    /// The base IRI of a query is not an IRI.
    #[error("`{base}` cannot be the base of a query: {reason}")]
    BaseIri {
        /// What was given.
        base: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The query could not be evaluated.
    #[error("the query failed: {0}")]
    Evaluation(#[from] spareval::QueryEvaluationError),
    /// The query took longer than it may.
    #[error("the query took longer than {limit:?}")]
    TimeLimit {
        /// What it may take.
        limit: Duration,
    },
    /// The query holds more in memory than it may.
    #[error("the query needs more than {limit_bytes} bytes of memory")]
    MemoryLimit {
        /// What it may hold.
        limit_bytes: u64,
    },
    /// The query has more results than it may.
    #[error("the query has more than {limit} results")]
    RowLimit {
        /// How many it may have.
        limit: u64,
    },
    /// The query made a very long text.
    #[error("the query made a term of more than {limit_bytes} bytes")]
    TermLimit {
        /// How long it may be.
        limit_bytes: u64,
    },
    /// A search for words inside a query is not as it must be.
    #[error("SERVICE <urn:webloom:text>: {reason}")]
    TextSearch {
        /// What is wrong.
        reason: String,
    },
    /// The query asks another endpoint.
    #[error("SERVICE <{service}>: other endpoints are not asked from here")]
    Federation {
        /// Its address.
        service: String,
    },
    /// An update removes quads from graphs that are too large to be written anew.
    #[error("removing quads from {graph} would write more than {limit} quads anew")]
    RewriteLimit {
        /// The graph at which it became too much.
        graph: String,
        /// How many quads an update may write anew.
        limit: u64,
    },
    /// An operation of an update cannot be done as the index is.
    #[error("the update failed: {reason}")]
    Update {
        /// Which, and why.
        reason: String,
    },
    /// More follows, or more would have to be held to find out, than may.
    #[error("inference stopped at more than {limit} {what}; the limit is {setting}")]
    EntailmentLimit {
        /// What there was too much of.
        what: &'static str,
        /// The field of [`EntailmentLimits`](crate::EntailmentLimits).
        setting: &'static str,
        /// Its value.
        limit: u64,
    },
    /// One segment cannot number that many terms.
    #[error("{terms} terms are more than one segment can hold; commit smaller batches")]
    TooManyTerms {
        /// How many there were.
        terms: u64,
    },
    /// The disk has no room for what a merge would write.
    #[error("merging in `{}` needs {needed} bytes and a reserve, and the disk has {available}", path.display())]
    NoRoom {
        /// The directory.
        path: PathBuf,
        /// Bytes the merge would write at most.
        needed: u64,
        /// Bytes the disk has.
        available: u64,
    },
    /// An earlier failure left the writer unable to go on; opening the index again heals it.
    #[error("the index writer stopped after an earlier failure; open the index again")]
    Stopped,
}

impl IndexError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Io { action, path, source }
    }

    pub(crate) fn damaged(path: &Path, reason: impl Into<String>) -> Self {
        Self::Damaged { path: path.to_owned(), reason: reason.into() }
    }

    /// True when a file named by the manifest is no longer there: the manifest has moved on meanwhile.
    pub(crate) fn is_vanished_file(&self) -> bool {
        match self {
            Self::Io { source, .. } => source.kind() == io::ErrorKind::NotFound,
            Self::Text(tantivy::TantivyError::OpenReadError(error)) => {
                matches!(error, tantivy::directory::error::OpenReadError::FileDoesNotExist(_))
            }
            Self::Text(tantivy::TantivyError::IoError(error)) => error.kind() == io::ErrorKind::NotFound,
            _ => false,
        }
    }
}
