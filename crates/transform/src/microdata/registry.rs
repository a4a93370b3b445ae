//! What vocabularies need beyond the general rules: their prefix where it is not what a type's IRI suggests, and
//! properties that imply others.
//!
//! This is the note's registry as a table. It is built in, because a page may not make us fetch another one.

use oxrdf::{NamedNode, NamedNodeRef};
use webloom_model::vocab::rdf;

/// A vocabulary the registry knows.
struct Entry {
    prefix: &'static str,
    /// A property's name, and the properties it is a kind of or equal to.
    properties: &'static [(&'static str, &'static [NamedNodeRef<'static>])],
}

const REGISTRY: &[Entry] = &[
    Entry { prefix: "http://schema.org/", properties: SCHEMA_ORG },
    Entry { prefix: "https://schema.org/", properties: SCHEMA_ORG },
    Entry { prefix: "http://microformats.org/profile/hcard", properties: &[] },
    // The vocabulary the W3C's test suite registers. No host has this name, so no page meets it by accident.
    Entry {
        prefix: "http://expansion/",
        properties: &[("equivalentProperty", &[rdf::TYPE]), ("subPropertyOf", &[rdf::TYPE])],
    },
];

const SCHEMA_ORG: &[(&str, &[NamedNodeRef<'_>])] = &[("additionalType", &[rdf::TYPE])];

/// The vocabulary of an item type, as the prefix its properties' IRIs have.
pub(super) fn vocabulary(item_type: &str) -> &str {
    if let Some(entry) = REGISTRY.iter().find(|entry| item_type.starts_with(entry.prefix)) {
        return entry.prefix;
    }
    let end = match item_type.rfind('#') {
        Some(fragment) => fragment + 1,
        // The authority's slashes end no path segment.
        None => {
            let path = item_type.find("://").map_or(0, |scheme| scheme + 3);
            item_type[path..].rfind('/').map_or(item_type.len(), |slash| path + slash + 1)
        }
    };
    &item_type[..end]
}

/// The IRI of a property, before anyone has checked it.
pub(super) fn property(vocabulary: &str, name: &str) -> String {
    let separator = if vocabulary.ends_with(['/', '#']) { "" } else { "#" };
    format!("{vocabulary}{separator}{name}")
}

/// The properties that hold too where this one does.
pub(super) fn expansions(property: &NamedNode) -> &'static [NamedNodeRef<'static>] {
    REGISTRY
        .iter()
        .find_map(|entry| {
            let name = property.as_str().strip_prefix(entry.prefix)?;
            entry.properties.iter().find(|(known, _)| *known == name)
        })
        .map_or(&[], |(_, broader)| *broader)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_vocabulary_is_a_type_without_its_last_part() {
        for (item_type, name, expected) in [
            ("http://schema.org/Person", "name", "http://schema.org/name"),
            ("http://schema.org/Person/Teacher", "name", "http://schema.org/name"),
            ("https://schema.org/Person", "name", "https://schema.org/name"),
            (
                "http://microformats.org/profile/hcard",
                "given-name",
                "http://microformats.org/profile/hcard#given-name",
            ),
            ("http://xmlns.com/foaf/0.1/Person", "name", "http://xmlns.com/foaf/0.1/name"),
            ("http://foo#bar", "baz", "http://foo#baz"),
            ("http://foo/a/b?c=/d", "baz", "http://foo/a/b?c=/baz"),
            ("http://foo", "baz", "http://foo#baz"),
            ("http://foo/", "baz", "http://foo/baz"),
            ("urn:example", "baz", "urn:example#baz"),
        ] {
            assert_eq!(property(vocabulary(item_type), name), expected, "{item_type}");
        }
    }
}
