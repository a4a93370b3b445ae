//! Contexts for JSON-LD blocks: schema.org's, built in, and whatever the configuration knows.
//!
//! The processor works through a context for every block, and schema.org's has three thousand terms.
//! So it never sees that one: it gets a context of the terms the block uses, with the same meaning.
//! Everything a block can ask for is collected before it is parsed.

use std::collections::HashMap;
use std::fmt::Write;
use std::sync::{Arc, LazyLock};

use webloom_model::PageUrl;

use super::bundled::bundled;
use super::scan::Scan;
use crate::TransformConfig;

/// Our table of schema.org's terms; its first lines say where it comes from.
const TABLE: &str = include_str!("../contexts/schema_org.txt");

/// IRI and coercion, as in the table.
type Definition = (&'static str, &'static str);

static TERMS: LazyLock<HashMap<&'static str, Definition>> = LazyLock::new(|| {
    TABLE
        .lines()
        .filter(|line| !line.starts_with('#'))
        .map(|line| {
            let mut fields = line.split('\t');
            let mut field = || fields.next().unwrap_or_default();
            (field(), (field(), field()))
        })
        .collect()
});

/// True for a word that schema.org's context defines.
pub(super) fn is_term(word: &str) -> bool {
    // Longer ones there are none, and most strings are longer.
    word.len() <= 64 && TERMS.contains_key(word)
}

/// Documents by IRI, for one block.
#[derive(Debug, Default)]
pub(super) struct Contexts {
    schema_org: String,
    others: HashMap<String, Arc<str>>,
    missing: Vec<String>,
}

impl Contexts {
    /// Gathers what the block's contexts, and theirs, refer to.
    pub(super) fn collect(scan: &mut Scan, base: &PageUrl, config: &TransformConfig) -> Self {
        let mut contexts = Self::default();
        let mut next = 0;
        while let Some(reference) = scan.references.get(next) {
            next += 1;
            // A reference in a context is relative to that context; those are rare, and absolute ones are not changed.
            let Some(iri) = resolve(base, reference) else { continue };
            if is_schema_org(&iri) || contexts.others.contains_key(&iri) {
                continue;
            }
            let known = config.contexts.context(&iri).or_else(|| bundled(&iri).map(Arc::from));
            let Some(document) = known else {
                contexts.missing.push(iri);
                continue;
            };
            // A context too deep or too large is as good as none.
            if document.len() <= config.limits.json_bytes_max
                && scan.add(&document, config.limits.json_depth_max, true).is_ok()
            {
                contexts.others.insert(iri, document);
            }
        }
        contexts.schema_org = schema_org_context(scan);
        contexts
    }

    /// Contexts that are named and not known, when one of them is named by another context: the processor panics on those.
    pub(super) fn unusable(&self) -> Option<&[String]> {
        (!self.others.is_empty() && !self.missing.is_empty()).then_some(self.missing.as_slice())
    }

    /// The document at an IRI.
    pub(super) fn document(&self, iri: &str) -> Option<String> {
        if is_schema_org(iri) {
            return Some(self.schema_org.clone());
        }
        self.others.get(iri).map(|document| document.as_ref().to_owned())
    }
}

fn resolve(base: &PageUrl, reference: &str) -> Option<String> {
    let base = oxiri::Iri::parse(base.as_str()).ok()?;
    base.resolve(reference).ok().map(oxiri::Iri::into_inner)
}

/// The many names pages have for schema.org's context.
fn is_schema_org(iri: &str) -> bool {
    let Some(rest) = iri.strip_prefix("https://").or_else(|| iri.strip_prefix("http://")) else {
        return false;
    };
    let lower = rest.to_ascii_lowercase();
    let name = lower.strip_prefix("www.").unwrap_or(&lower);
    let name = name.split(['#', '?']).next().unwrap_or_default();
    matches!(
        name.trim_end_matches('/'),
        "schema.org" | "schema.org/docs/jsonldcontext.jsonld" | "schema.org/docs/jsonldcontext.json" | "schema.org/jsonldcontext"
    )
        // `"@context": "schema.org"` is a relative reference, and a very common slip.
        || name.trim_end_matches('/').ends_with("/schema.org")
        || name.trim_end_matches('/').ends_with("/www.schema.org")
}

/// A context that means for this block what schema.org's would.
fn schema_org_context(scan: &Scan) -> String {
    let mut context = String::from(
        r#"{"@context":{"type":"@type","id":"@id","@vocab":"http://schema.org/","schema":"http://schema.org/""#,
    );
    let mut terms: Vec<_> = scan.terms.iter().filter(|term| *term != "schema").collect();
    terms.sort_unstable();
    let mut define = |term: &str, (iri, coercion): Definition| {
        // Neither terms nor IRIs in the table hold anything that JSON would want escaped.
        let _ = match (iri, coercion) {
            ("", "") => write!(context, r#","{term}":{{"@id":"http://schema.org/{term}"}}"#),
            ("", "@id") => write!(context, r#","{term}":{{"@id":"http://schema.org/{term}","@type":"@id"}}"#),
            ("", coercion) => {
                write!(
                    context,
                    r#","{term}":{{"@id":"http://schema.org/{term}","@type":"http://schema.org/{coercion}"}}"#
                )
            }
            (iri, _) => match iri.strip_prefix("rdf:") {
                Some(local) => {
                    write!(
                        context,
                        r#","{term}":{{"@id":"http://www.w3.org/1999/02/22-rdf-syntax-ns#{local}"}}"#
                    )
                }
                None => write!(context, r#","{term}":"{iri}""#),
            },
        };
    };
    for term in terms {
        if let Some(definition) = TERMS.get(term.as_str()) {
            define(term, *definition);
        }
    }
    context.push_str("}}");
    context
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_whole() {
        assert!(TERMS.len() > 3000, "{}", TERMS.len());
        assert_eq!(TERMS["name"], ("", ""));
        assert_eq!(TERMS["image"], ("", "@id"));
        assert_eq!(TERMS["url"], ("", "@id"));
        assert_eq!(TERMS["birthDate"], ("", "Date"));
        assert_eq!(TERMS["HTML"], ("rdf:HTML", ""));
        assert_eq!(TERMS["foaf"], ("http://xmlns.com/foaf/0.1/", ""));
        for (term, (iri, coercion)) in &*TERMS {
            assert!(term.len() <= 64, "{term}");
            assert!(iri.is_empty() || coercion.is_empty(), "{term}");
            assert!(iri.is_empty() || iri.starts_with("http") || iri.starts_with("rdf:"), "{term}");
            assert!(matches!(*coercion, "" | "@id" | "Date" | "DateTime"), "{term} {coercion}");
            for text in [*term, *iri] {
                assert!(!text.contains(['"', '\\']) && text.is_ascii(), "{term}");
            }
        }
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
