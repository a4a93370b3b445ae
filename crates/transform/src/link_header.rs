//! The `Link` header of HTTP.

use webloom_model::FetchedPage;

use crate::Sink;

/// Reads the `Link` headers of any answer.
pub(crate) fn read(_page: &FetchedPage, _sink: &mut Sink<'_>) {}
