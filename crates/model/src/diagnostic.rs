//! What was wrong with a page, said so that its author or our user can act on it.
//!
//! A diagnostic is never an error: whoever writes one has gone on with the rest of the page.

use std::borrow::Cow;
use std::fmt;

use serde::Serialize;

/// How much was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Nothing was lost; the reader guessed or repaired.
    Note,
    /// A part of the page could not be used.
    Warning,
    /// The page, or a whole syntax in it, could not be used.
    Error,
}

impl Severity {
    /// The word used in output and in the graph.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// One finding about one page.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize)]
pub struct Diagnostic {
    /// How much was lost.
    pub severity: Severity,
    /// A stable kebab-case name such as `json-ld-too-deep`, for counting and for filters.
    pub code: Cow<'static, str>,
    /// A sentence that names the thing.
    pub message: String,
    /// Line in the decoded text, from 1, where it is known.
    pub line: Option<u64>,
}

impl Diagnostic {
    /// A finding after which nothing is missing.
    pub fn note(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Note, code, message)
    }

    /// A finding that cost a part of the page.
    pub fn warning(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Warning, code, message)
    }

    /// A finding that cost the page or a whole syntax in it.
    pub fn error(code: &'static str, message: impl Into<String>) -> Self {
        Self::new(Severity::Error, code, message)
    }

    fn new(severity: Severity, code: &'static str, message: impl Into<String>) -> Self {
        Self { severity, code: Cow::Borrowed(code), message: message.into(), line: None }
    }

    /// The same finding, with the line it was made on.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.severity.as_str())?;
        if let Some(line) = self.line {
            write!(f, "line {line}: ")?;
        }
        write!(f, "{} [{}]", self.message, self.code)
    }
}
