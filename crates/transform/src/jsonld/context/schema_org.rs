//! schema.org's context, built in: read from our table once, and shared by every block after that.

use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use super::{ActiveContext, Mapping, TermDefinition, Terms, TypeMapping, length_bit};
use crate::jsonld::json::Document;
use crate::jsonld::names::Keyword;

/// Our table of schema.org's terms; its first lines say where it comes from.
const TABLE: &str = include_str!("../../contexts/schema_org.txt");
const NAMESPACE: &str = "http://schema.org/";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
/// The name of schema.org's context among those that are shared.
const SHARED: u32 = 1;

/// Term, IRI and coercion of every line.
fn rows() -> impl Iterator<Item = (&'static str, &'static str, &'static str)> {
    TABLE.lines().filter(|line| !line.starts_with('#')).map(|line| {
        let mut fields = line.split('\t');
        let mut field = || fields.next().unwrap_or_default();
        (field(), field(), field())
    })
}

/// The IRI a row means.
fn iri(term: &str, iri: &str) -> String {
    match iri.strip_prefix("rdf:") {
        _ if iri.is_empty() => format!("{NAMESPACE}{term}"),
        Some(local) => format!("{RDF}{local}"),
        None => iri.to_owned(),
    }
}

static TERMS: LazyLock<Terms> = LazyLock::new(|| {
    let mut terms: Terms = rows()
        .map(|(term, given, coercion)| {
            let mut definition =
                TermDefinition::new(Mapping::Name { text: iri(term, given).into(), valid: true });
            definition.type_mapping = match coercion {
                "" => None,
                "@id" => Some(TypeMapping::Id),
                datatype => {
                    Some(TypeMapping::Datatype { text: format!("{NAMESPACE}{datatype}").into(), valid: true })
                }
            };
            // Namespaces are written as plain strings there, and so are prefixes where they end like one.
            definition.prefix = given.ends_with(['/', '#']);
            (term.into(), Some(Arc::new(definition)))
        })
        .collect();
    for (alias, keyword) in [("type", Keyword::Type), ("id", Keyword::Id)] {
        terms.insert(alias.into(), Some(Arc::new(TermDefinition::new(Mapping::Keyword(keyword)))));
    }
    terms
});

static VOCABULARY: LazyLock<Arc<str>> = LazyLock::new(|| NAMESPACE.into());

/// The same as a document, for the few that want to change it as it is read.
static DOCUMENT: LazyLock<Option<Arc<Document>>> = LazyLock::new(|| {
    let mut text = format!(r#"{{"@context":{{"type":"@type","id":"@id","@vocab":"{NAMESPACE}""#);
    for (term, given, coercion) in rows() {
        let iri = iri(term, given);
        // Neither terms nor IRIs in the table hold anything that JSON would want escaped.
        let _ = match coercion {
            "" if given.is_empty() => write!(text, r#","{term}":{{"@id":"{iri}"}}"#),
            "" => write!(text, r#","{term}":"{iri}""#),
            "@id" => write!(text, r#","{term}":{{"@id":"{iri}","@type":"@id"}}"#),
            datatype => write!(text, r#","{term}":{{"@id":"{iri}","@type":"{NAMESPACE}{datatype}"}}"#),
        };
    }
    text.push_str("}}");
    Document::parse(&text, 10).ok().map(Arc::new)
});

/// schema.org's context as a document.
pub(super) fn document() -> Option<Arc<Document>> {
    DOCUMENT.clone()
}

/// schema.org's terms.
pub(super) fn terms() -> &'static Terms {
    &TERMS
}

/// Applies schema.org's context to one without protected terms.
pub(super) fn apply(context: &mut ActiveContext) {
    let shared = (context.shared == Some(0)).then_some(SHARED);
    context.put_static(&TERMS, length_bit("type"));
    context.vocabulary = Some(Arc::clone(&VOCABULARY));
    context.shared = shared;
}

/// The many names pages have for schema.org's context.
pub(super) fn is_schema_org(iri: &str) -> bool {
    let Some(rest) = iri.strip_prefix("https://").or_else(|| iri.strip_prefix("http://")) else {
        return false;
    };
    let lower = rest.to_ascii_lowercase();
    let name = lower.strip_prefix("www.").unwrap_or(&lower);
    let name = name.split(['#', '?']).next().unwrap_or_default().trim_end_matches('/');
    matches!(
        name,
        "schema.org" | "schema.org/docs/jsonldcontext.jsonld" | "schema.org/docs/jsonldcontext.json" | "schema.org/jsonldcontext"
    )
        // `"@context": "schema.org"` is a relative reference, and a very common slip.
        || name.ends_with("/schema.org")
        || name.ends_with("/www.schema.org")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert!(rows().count() > 3000);
        for (term, iri, coercion) in rows() {
            assert!(iri.is_empty() || coercion.is_empty(), "{term}");
            assert!(iri.is_empty() || iri.starts_with("http") || iri.starts_with("rdf:"), "{term}");
            assert!(matches!(coercion, "" | "@id" | "Date" | "DateTime"), "{term} {coercion}");
            for text in [term, iri] {
                assert!(!text.contains(['"', '\\']) && text.is_ascii(), "{term}");
            }
        }
        for definition in TERMS.values().flatten() {
            if let Mapping::Name { text, valid } = &definition.mapping {
                assert!(*valid && crate::jsonld::names::is_well_formed(text), "{text}");
            }
        }
        assert!(document().is_some());
    }

    #[test]
    fn schema_org_has_many_names() {
        for name in [
            "http://schema.org",
            "https://schema.org/",
            "http://www.schema.org/",
            "https://Schema.org",
            "https://schema.org/docs/jsonldcontext.jsonld",
            "https://example.org/shop/schema.org",
        ] {
            assert!(is_schema_org(name), "{name}");
        }
        for name in [
            "https://schema.org/Person",
            "https://notschema.org",
            "https://bioschemas.org/",
            "urn:schema.org",
        ] {
            assert!(!is_schema_org(name), "{name}");
        }
    }
}
