//! What a page names as its own description: the document that says what it says as data.
//!
//! In: a page, ready to be asked. Out: the targets of its `describedby` and `meta` links, and of its `alternate` links to a type of RDF,
//! be they `<link>` elements or `Link` headers, in the order the page mentions them. Other alternates are pages in other
//! languages, or feeds, and come with the page's links if it links to them.

use oxrdf::{NamedNodeRef, TermRef};
use webloom_model::DocumentKind;
use webloom_model::vocab::{dcterms, xhv};

use crate::view::PageView;

/// Relations to a description, whatever its type.
const DESCRIPTIONS: [NamedNodeRef<'_>; 2] = [xhv::DESCRIBEDBY, xhv::META];
/// Kinds of documents that say the same as data.
const DATA: [DocumentKind; 6] = [
    DocumentKind::RdfXml,
    DocumentKind::Turtle,
    DocumentKind::TriG,
    DocumentKind::NTriples,
    DocumentKind::NQuads,
    DocumentKind::JsonLd,
];

/// The numbers of the descriptions of a page.
pub(crate) fn of(view: &PageView<'_>) -> Vec<u32> {
    let mut found: Vec<u32> =
        DESCRIPTIONS.iter().flat_map(|relation| objects(view, view.page(), *relation)).collect();
    let alternates = objects(view, view.page(), xhv::ALTERNATE);
    found.extend(alternates.into_iter().filter(|target| is_data(view, *target)));
    found.sort_unstable();
    found.dedup();
    found
}

/// True when the page says of a document that it is of a type of RDF.
fn is_data(view: &PageView<'_>, document: u32) -> bool {
    objects(view, document, dcterms::FORMAT).into_iter().any(|format| {
        let is_data = |term: TermRef<'_>| match term {
            TermRef::Literal(format) => {
                Some(DATA.iter().any(|kind| kind.media_type() == Some(format.value())))
            }
            _ => None,
        };
        view.with_term(format, is_data).unwrap_or(false)
    })
}

fn objects(view: &PageView<'_>, subject: u32, predicate: NamedNodeRef<'_>) -> Vec<u32> {
    let Some(predicate) = view.find(predicate.into()) else { return Vec::new() };
    // Too many rows are the queries' to report.
    view.rows([Some(subject), Some(predicate), None])
        .map_while(Result::ok)
        .map(|[_, _, object]| object)
        .collect()
}
