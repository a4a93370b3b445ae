//! What pages say of themselves in `<meta>` and `<link>`.

use crate::Sink;
use crate::html::ParsedPage;

/// Reads the `<meta>` and `<link>` vocabularies of a page.
pub(crate) fn read(_page: &ParsedPage<'_>, _sink: &mut Sink<'_>) {}
