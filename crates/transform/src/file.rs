//! Files that are no pages: vCard, iCalendar, CSV, SVG, WSDL, images.

use webloom_model::DetectedPage;

use crate::Sink;
use crate::html::ParsedPage;

/// Reads vCard, iCalendar and CSV.
pub(crate) fn read_text(_page: &DetectedPage, _text: &str, _sink: &mut Sink<'_>) {}

/// Reads an image's description of itself.
pub(crate) fn read_image(_page: &DetectedPage, _sink: &mut Sink<'_>) {}

/// Reads what XML of a known kind says: SVG, WSDL.
pub(crate) fn read_xml(_page: &DetectedPage, _parsed: &ParsedPage<'_>, _sink: &mut Sink<'_>) {}
