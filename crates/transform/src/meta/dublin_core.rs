//! Dublin Core in `<meta>` and `<link>`, and any other vocabulary a page declares the same way.
//!
//! `<link rel="schema.DC" href="http://purl.org/dc/elements/1.1/">` gives a prefix its namespace; `DC`, `DCTERMS` and `DCT`
//! have theirs without. Names are written in any case, with a full stop or a colon; terms are spelled as the vocabulary
//! spells them. Old refinements (`DC.Date.Created`) become the term they refine to.

use oxrdf::{Literal, NamedNode, Term};

use super::{MetaReader, dates};
use crate::dom::Element;

const ELEMENTS: &str = "http://purl.org/dc/elements/1.1/";
const TERMS: &str = "http://purl.org/dc/terms/";

/// Prefixes a page may declare.
const SCHEMAS_MAX: usize = 64;

const ELEMENT_NAMES: &[&str] = &[
    "contributor",
    "coverage",
    "creator",
    "date",
    "description",
    "format",
    "identifier",
    "language",
    "publisher",
    "relation",
    "rights",
    "source",
    "subject",
    "title",
    "type",
];

/// The terms that are no elements.
const TERM_NAMES: &[&str] = &[
    "abstract",
    "accessRights",
    "accrualMethod",
    "accrualPeriodicity",
    "accrualPolicy",
    "alternative",
    "audience",
    "available",
    "bibliographicCitation",
    "conformsTo",
    "created",
    "dateAccepted",
    "dateCopyrighted",
    "dateSubmitted",
    "educationLevel",
    "extent",
    "hasFormat",
    "hasPart",
    "hasVersion",
    "instructionalMethod",
    "isFormatOf",
    "isPartOf",
    "isReferencedBy",
    "isReplacedBy",
    "isRequiredBy",
    "issued",
    "isVersionOf",
    "license",
    "mediator",
    "medium",
    "modified",
    "provenance",
    "references",
    "replaces",
    "requires",
    "rightsHolder",
    "spatial",
    "tableOfContents",
    "temporal",
    "valid",
];

/// Terms whose values are dates.
const DATES: &[&str] = &[
    "available",
    "created",
    "date",
    "dateAccepted",
    "dateCopyrighted",
    "dateSubmitted",
    "issued",
    "modified",
    "valid",
];

/// Terms whose values are codes, in no language.
const CODES: &[&str] = &["extent", "format", "identifier", "language", "type"];

/// Takes a declaration: `<link rel="schema.PREFIX" href>`.
pub(super) fn declare(reader: &mut MetaReader<'_, '_, '_>, rel: &str, href: &str) {
    let Some(prefix) = rel.get(..7).filter(|start| start.eq_ignore_ascii_case("schema.")).map(|_| &rel[7..])
    else {
        return;
    };
    let namespace = href.trim();
    let is_known = reader.schemas.iter().any(|(known, _)| known.eq_ignore_ascii_case(prefix));
    if !is_known
        && !prefix.is_empty()
        && reader.schemas.len() < SCHEMAS_MAX
        && NamedNode::new(namespace).is_ok()
    {
        // Without its last sign a namespace would run into its names.
        let separator = if namespace.ends_with(['/', '#', ':', '=']) { "" } else { "/" };
        reader.schemas.push((prefix.to_owned(), format!("{namespace}{separator}")));
    }
}

/// Reads `<meta name="DC.title">`; false when the name is in no declared vocabulary.
pub(super) fn read_meta(
    reader: &mut MetaReader<'_, '_, '_>,
    element: &Element,
    name: &str,
    content: &str,
) -> bool {
    let Some((predicate, term)) = property(reader, name) else { return false };
    let value: Term =
        match element.attribute_named("scheme").map(str::trim).filter(|scheme| !scheme.is_empty()) {
            Some(scheme) => with_scheme(reader, scheme, content),
            None if DATES.contains(&term) => dates::literal(content).into(),
            None if CODES.contains(&term) => Literal::new_simple_literal(content).into(),
            None => reader.text_of(element, content).into(),
        };
    reader.push(reader.subject.clone(), predicate, value);
    true
}

/// Reads `<link rel="DCTERMS.license">`.
pub(super) fn read_link(reader: &mut MetaReader<'_, '_, '_>, rel: &str, href: &str) {
    if let Some((predicate, _)) = property(reader, rel)
        && let Some(target) = reader.resolve(href)
    {
        reader.push(reader.subject.clone(), predicate, target);
    }
}

/// The predicate of a name, and the term where it is one of Dublin Core's.
fn property(reader: &MetaReader<'_, '_, '_>, name: &str) -> Option<(NamedNode, &'static str)> {
    let (prefix, local) = name.split_once(['.', ':'])?;
    let declared = reader.schemas.iter().find(|(known, _)| known.eq_ignore_ascii_case(prefix));
    let namespace = match declared {
        Some((_, namespace)) => namespace.as_str(),
        None if prefix.eq_ignore_ascii_case("dc") => ELEMENTS,
        None if prefix.eq_ignore_ascii_case("dcterms") || prefix.eq_ignore_ascii_case("dct") => TERMS,
        None => return None,
    };
    // The namespaces of older versions mean the same elements.
    let is_elements = namespace.starts_with("http://purl.org/dc/elements/")
        || namespace.starts_with("https://purl.org/dc/elements/");
    let is_terms = namespace.starts_with(TERMS) || namespace.starts_with("https://purl.org/dc/terms/");
    if !is_elements && !is_terms {
        return NamedNode::new(format!("{namespace}{local}")).ok().map(|predicate| (predicate, ""));
    }
    let find = |table: &[&'static str], text: &str| {
        table.iter().copied().find(|known| known.eq_ignore_ascii_case(text))
    };
    let last = local.rsplit(['.', ':']).next().unwrap_or(local);
    let first = local.split(['.', ':']).next().unwrap_or(local);
    if let Some(term) = find(TERM_NAMES, last) {
        // What is no element is a term, whatever the prefix.
        return Some((NamedNode::new_unchecked(format!("{TERMS}{term}")), term));
    }
    let element = find(ELEMENT_NAMES, first)?;
    let namespace = if is_terms { TERMS } else { ELEMENTS };
    Some((NamedNode::new_unchecked(format!("{namespace}{element}")), element))
}

/// The value under an encoding scheme: an IRI, or a literal of that type.
fn with_scheme(reader: &MetaReader<'_, '_, '_>, scheme: &str, content: &str) -> Term {
    let local = scheme.rsplit(['.', ':']).next().unwrap_or(scheme);
    if (local.eq_ignore_ascii_case("uri") || local.eq_ignore_ascii_case("url"))
        && let Some(node) = reader.resolve(content)
    {
        return node.into();
    }
    let datatype = [
        "Box", "ISO3166", "ISO639-2", "ISO639-3", "Period", "Point", "RFC1766", "RFC3066", "RFC4646",
        "RFC5646", "W3CDTF",
    ]
    .iter()
    .find(|known| known.eq_ignore_ascii_case(local));
    match datatype {
        Some(datatype) => {
            Literal::new_typed_literal(content, NamedNode::new_unchecked(format!("{TERMS}{datatype}"))).into()
        }
        None => Literal::new_simple_literal(content).into(),
    }
}
