//! What can go wrong, and where it did.
//!
//! One public error, [`XsltError`]: its [`ErrorKind`] says what a caller may do about it, the message names the thing,
//! and the place (stylesheet or document, line, template) says where to look. Inside of the crate the error travels in
//! a box, so that the results of small functions stay small.

use std::fmt;

use crate::run::Message;

/// A transformation, a stylesheet or a document that failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct XsltError {
    /// What sort of failure this is.
    pub kind: ErrorKind,
    /// What happened, in words.
    pub message: String,
    /// The stylesheet or document in which it happened, by its address.
    pub stylesheet: Option<String>,
    /// The line there, counted from one.
    pub line: Option<u32>,
    /// The template that was being run: its name or its pattern.
    pub template: Option<String>,
    /// What `xsl:message` had said until then.
    pub messages: Vec<Message>,
}

/// The sorts of failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// A document or stylesheet is not well-formed XML.
    Xml,
    /// The stylesheet breaks a rule of XSLT.
    Stylesheet,
    /// An XPath expression or a pattern is wrong.
    XPath,
    /// The stylesheet failed while it ran.
    Run,
    /// The stylesheet ended the transformation with `xsl:message terminate="yes"`.
    Terminated,
    /// The loader did not give a stylesheet, document or entity.
    Load,
    /// A limit of the caller was reached.
    Limit(Limit),
}

/// The limits that can be reached, named like the fields of [`Limits`](crate::Limits).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Limit {
    /// `steps_max`
    Steps,
    /// `depth_max`
    Depth,
    /// `nodes_max`
    Nodes,
    /// `output_bytes_max`
    OutputBytes,
    /// `memory_bytes_max`
    MemoryBytes,
    /// `time_max`
    Time,
    /// `input_bytes_max`
    InputBytes,
    /// `entity_bytes_max`
    EntityBytes,
    /// `documents_max`
    Documents,
}

/// The result of everything inside of the crate.
pub(crate) type Res<T> = Result<T, Box<XsltError>>;

impl XsltError {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Box<Self> {
        Box::new(Self {
            kind,
            message: message.into(),
            stylesheet: None,
            line: None,
            template: None,
            messages: Vec::new(),
        })
    }

    /// Adds the place, unless a closer one is known already.
    pub(crate) fn at(mut self: Box<Self>, stylesheet: &str, line: u32) -> Box<Self> {
        if self.stylesheet.is_none() {
            self.stylesheet = Some(stylesheet.to_owned());
            if self.line.is_none() && line != 0 {
                self.line = Some(line);
            }
        }
        self
    }
}

pub(crate) fn run_error(message: impl Into<String>) -> Box<XsltError> {
    XsltError::new(ErrorKind::Run, message)
}

pub(crate) fn limit_error(limit: Limit, message: impl Into<String>) -> Box<XsltError> {
    XsltError::new(ErrorKind::Limit(limit), message)
}

impl fmt::Display for XsltError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(stylesheet) = &self.stylesheet {
            write!(formatter, "{stylesheet}:")?;
        }
        if let Some(line) = self.line {
            write!(formatter, "{line}:")?;
        }
        if self.stylesheet.is_some() || self.line.is_some() {
            write!(formatter, " ")?;
        }
        write!(formatter, "{}", self.message)?;
        if let Some(template) = &self.template {
            write!(formatter, " (in {template})")?;
        }
        Ok(())
    }
}

impl std::error::Error for XsltError {}

impl From<Box<XsltError>> for XsltError {
    fn from(boxed: Box<XsltError>) -> Self {
        *boxed
    }
}
