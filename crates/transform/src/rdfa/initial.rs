//! The initial contexts: prefixes and terms that pages may use without declaring them.

/// XHTML's vocabulary, where the empty prefix and the values of `role` are.
pub(super) const XHTML_VOCABULARY: &str = "http://www.w3.org/1999/xhtml/vocab#";

/// The namespace of a prefix of RDFa's initial context; the prefix in lower case.
pub(super) fn prefix(prefix: &str) -> Option<&'static str> {
    Some(match prefix {
        // Vocabularies of the W3C.
        "as" => "https://www.w3.org/ns/activitystreams#",
        "csvw" => "http://www.w3.org/ns/csvw#",
        "dcat" => "http://www.w3.org/ns/dcat#",
        "dqv" => "http://www.w3.org/ns/dqv#",
        "duv" => "https://www.w3.org/ns/duv#",
        "grddl" => "http://www.w3.org/2003/g/data-view#",
        "jsonld" => "http://www.w3.org/ns/json-ld#",
        "ldp" => "http://www.w3.org/ns/ldp#",
        "ma" => "http://www.w3.org/ns/ma-ont#",
        "oa" => "http://www.w3.org/ns/oa#",
        "odrl" => "http://www.w3.org/ns/odrl/2/",
        "org" => "http://www.w3.org/ns/org#",
        "owl" => "http://www.w3.org/2002/07/owl#",
        "prov" => "http://www.w3.org/ns/prov#",
        "qb" => "http://purl.org/linked-data/cube#",
        "rdf" => "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "rdfa" => "http://www.w3.org/ns/rdfa#",
        "rdfs" => "http://www.w3.org/2000/01/rdf-schema#",
        "rif" => "http://www.w3.org/2007/rif#",
        "rr" => "http://www.w3.org/ns/r2rml#",
        "sd" => "http://www.w3.org/ns/sparql-service-description#",
        "skos" => "http://www.w3.org/2004/02/skos/core#",
        "skosxl" => "http://www.w3.org/2008/05/skos-xl#",
        "sosa" => "http://www.w3.org/ns/sosa/",
        "ssn" => "http://www.w3.org/ns/ssn/",
        "time" => "http://www.w3.org/2006/time#",
        "void" => "http://rdfs.org/ns/void#",
        "wdr" => "http://www.w3.org/2007/05/powder#",
        "wdrs" => "http://www.w3.org/2007/05/powder-s#",
        "xhv" => XHTML_VOCABULARY,
        "xml" => "http://www.w3.org/XML/1998/namespace",
        "xsd" => "http://www.w3.org/2001/XMLSchema#",
        // Widely used ones.
        "cc" => "http://creativecommons.org/ns#",
        "ctag" => "http://commontag.org/ns#",
        "dc" | "dcterms" => "http://purl.org/dc/terms/",
        "dc11" => "http://purl.org/dc/elements/1.1/",
        "foaf" => "http://xmlns.com/foaf/0.1/",
        "gr" => "http://purl.org/goodrelations/v1#",
        "ical" => "http://www.w3.org/2002/12/cal/icaltzd#",
        "og" => "http://ogp.me/ns#",
        "rev" => "http://purl.org/stuff/rev#",
        "schema" => "http://schema.org/",
        "sioc" => "http://rdfs.org/sioc/ns#",
        "v" => "http://rdf.data-vocabulary.org/#",
        "vcard" => "http://www.w3.org/2006/vcard/ns#",
        _ => return None,
    })
}

/// Link relations that are terms in XHTML 1, all in XHTML's vocabulary.
const XHTML_TERMS: [&str; 26] = [
    "alternate",
    "appendix",
    "bookmark",
    "chapter",
    "cite",
    "contents",
    "copyright",
    "first",
    "glossary",
    "help",
    "icon",
    "index",
    "last",
    "license",
    "meta",
    "next",
    "p3pv1",
    "prev",
    "previous",
    "role",
    "section",
    "start",
    "stylesheet",
    "subsection",
    "top",
    "up",
];

/// The IRI of a term of the initial context, in two parts. Terms are compared without regard to case.
pub(super) fn term(word: &str, xhtml_terms: bool) -> Option<(&'static str, &'static str)> {
    const POWDER: &str = "http://www.w3.org/2007/05/powder-s#";
    if word.eq_ignore_ascii_case("describedby") {
        return Some((POWDER, "describedby"));
    }
    let known: &[&str] = if xhtml_terms { &XHTML_TERMS } else { &["license", "role"] };
    known.iter().find(|term| term.eq_ignore_ascii_case(word)).map(|term| (XHTML_VOCABULARY, *term))
}
