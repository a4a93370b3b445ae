//! Microformats, as canonical JSON and as RDF.

use crate::Sink;
use crate::html::ParsedPage;

/// Reads the microformats of a page.
pub(crate) fn read(_page: &ParsedPage<'_>, _sink: &mut Sink<'_>) {}
