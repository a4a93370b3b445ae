//! RDFa 1.1, in HTML, XHTML, SVG and any other XML.

use crate::Sink;
use crate::html::ParsedPage;

/// Reads the RDFa of a page.
pub(crate) fn read(_page: &ParsedPage<'_>, _sink: &mut Sink<'_>) {}
