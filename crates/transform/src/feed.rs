//! Feeds: RSS, Atom, JSON Feed, OPML, sitemaps.

use webloom_model::DetectedPage;

use crate::Sink;

/// Reads a feed, an outline or a sitemap.
pub(crate) fn read(_page: &DetectedPage, _text: &str, _sink: &mut Sink<'_>) {}
