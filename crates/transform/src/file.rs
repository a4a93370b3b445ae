//! Files that are no pages: vCard, iCalendar, CSV, SVG, WSDL and images.
//!
//! In: a detected file. Out: what it says of itself or of others, with the file as subject where it speaks of
//! itself. One module per kind; `docs/files.md` has the mappings. Start at the three functions here, which [`crate::transform`] and
//! the XML reader call.

mod calendar;
mod content_lines;
mod exif;
mod image;
mod svg;
mod table;
mod vcard;
mod wsdl;

use oxrdf::{Literal, NamedNode, NamedNodeRef};
use webloom_model::vocab::{dcterms, rdf, xsd};
use webloom_model::{DetectedPage, DocumentKind};

use crate::html::ParsedPage;
use crate::{Sink, Syntax};

/// Reads vCard, iCalendar and CSV.
pub(crate) fn read_text(page: &DetectedPage, text: &str, sink: &mut Sink<'_>) {
    if !sink.config().wants(Syntax::File) {
        return;
    }
    let url = &page.page.url;
    match page.detection.kind {
        DocumentKind::VCard => vcard::read(url, text, sink),
        DocumentKind::ICalendar => calendar::read(url, text, sink),
        DocumentKind::Csv => table::read(url, text, &page.detection.media_type, sink),
        _ => {}
    }
}

/// Reads an image's description of itself.
pub(crate) fn read_image(page: &DetectedPage, sink: &mut Sink<'_>) {
    if sink.config().wants(Syntax::File) {
        image::read(page, sink);
    }
}

/// Reads what XML of a known kind says: SVG, WSDL.
pub(crate) fn read_xml(page: &DetectedPage, parsed: &ParsedPage<'_>, text: &str, sink: &mut Sink<'_>) {
    match page.detection.kind {
        DocumentKind::Svg => svg::read(parsed, text, sink),
        DocumentKind::Wsdl => wsdl::read(parsed, sink),
        _ => {}
    }
}

/// The vocabulary of image properties.
pub(crate) mod exif_vocabulary {
    use oxrdf::NamedNodeRef;

    macro_rules! terms {
        ($($name:ident = $local:literal),* $(,)?) => {
            $(pub(crate) const $name: NamedNodeRef<'_> =
                NamedNodeRef::new_unchecked(concat!("http://www.w3.org/2003/12/exif/ns#", $local));)*
        };
    }
    terms! {
        WIDTH = "width",
        HEIGHT = "height",
        MAKE = "make",
        MODEL = "model",
        ORIENTATION = "orientation",
        TAKEN = "dateTimeOriginal",
    }
}

/// What is said of every image.
fn describe_image(subject: &NamedNode, media_type: &str, size: Option<(u32, u32)>, sink: &mut Sink<'_>) {
    sink.push_triple(subject.clone(), rdf::TYPE, NamedNode::from(IMAGE));
    sink.push_triple(subject.clone(), dcterms::FORMAT, Literal::new_simple_literal(media_type));
    if let Some((width, height)) = size {
        for (property, pixels) in [(exif_vocabulary::WIDTH, width), (exif_vocabulary::HEIGHT, height)] {
            sink.push_triple(
                subject.clone(),
                property,
                Literal::new_typed_literal(pixels.to_string(), xsd::INTEGER),
            );
        }
    }
}

const IMAGE: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://xmlns.com/foaf/0.1/Image");
