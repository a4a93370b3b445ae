//! What people narrow a search by, as one key per document: types, vocabularies and languages.
//!
//! In: what a page says of a subject. Out: a [`Shape`] and its key. Pages are made by templates, so a site has thousands of things and
//! few shapes: as one key, kept in a column of numbers, they cost a byte or two for each document, and a filter is
//! decided once per shape and not once per thing. Sites have a column of their own ([`site_of`]).

use webloom_model::url::pay_level_domain;

/// Most types, and most vocabularies, kept for one subject of one page.
const PARTS_MAX: usize = 16;
/// Most languages kept.
const LANGUAGES_MAX: usize = 8;
/// IRIs that are longer are left out: nobody chooses them from a list.
const PART_BYTES_MAX: usize = 400;

const TYPE: char = 't';
const VOCABULARY: char = 'v';
const LANGUAGE: char = 'l';

/// Types, vocabularies and languages of a subject.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Shape<'a> {
    types: Vec<&'a str>,
    vocabularies: Vec<&'a str>,
    languages: Vec<&'a str>,
}

fn add<'a>(parts: &mut Vec<&'a str>, part: &'a str, parts_max: usize) {
    if parts.last() != Some(&part)
        && parts.len() < parts_max
        && !part.is_empty()
        && part.len() <= PART_BYTES_MAX
        && !parts.contains(&part)
        && !part.contains(char::is_control)
    {
        parts.push(part);
    }
}

impl<'a> Shape<'a> {
    pub(crate) fn add_type(&mut self, class: &'a str) {
        add(&mut self.types, class, PARTS_MAX);
    }

    pub(crate) fn add_vocabulary(&mut self, vocabulary: &'a str) {
        add(&mut self.vocabularies, vocabulary, PARTS_MAX);
    }

    pub(crate) fn add_language(&mut self, language: &'a str) {
        add(&mut self.languages, language, LANGUAGES_MAX);
    }

    /// The language of the page is that of its things, unless they say their own.
    pub(crate) fn assume_language(&mut self, language: &'a str) {
        if self.languages.is_empty() {
            self.add_language(language);
        }
    }

    pub(crate) fn has_types(&self) -> bool {
        !self.types.is_empty()
    }

    /// The same for the same shape; nothing when there is nothing to say.
    pub(crate) fn to_key(&self) -> Option<String> {
        let mut key = String::new();
        for (kind, parts) in
            [(TYPE, &self.types), (VOCABULARY, &self.vocabularies), (LANGUAGE, &self.languages)]
        {
            let mut parts = parts.clone();
            parts.sort_unstable();
            for part in parts {
                key.push(kind);
                if kind == LANGUAGE {
                    key.extend(part.chars().map(|character| character.to_ascii_lowercase()));
                } else {
                    key.push_str(part);
                }
                key.push('\n');
            }
        }
        (!key.is_empty()).then_some(key)
    }

    /// What a key was made of.
    pub(crate) fn of_key(key: &'a str) -> Self {
        let mut shape = Self::default();
        for line in key.lines() {
            if let Some(class) = line.strip_prefix(TYPE) {
                shape.types.push(class);
            } else if let Some(vocabulary) = line.strip_prefix(VOCABULARY) {
                shape.vocabularies.push(vocabulary);
            } else if let Some(language) = line.strip_prefix(LANGUAGE) {
                shape.languages.push(language);
            }
        }
        shape
    }

    pub(crate) fn types(&self) -> &[&'a str] {
        &self.types
    }

    pub(crate) fn vocabularies(&self) -> &[&'a str] {
        &self.vocabularies
    }

    pub(crate) fn languages(&self) -> &[&'a str] {
        &self.languages
    }
}

/// The namespace of a predicate: everything up to the last `#`, or else the last `/` or `:`.
pub(crate) fn namespace(predicate: &str) -> &str {
    let bytes = predicate.as_bytes();
    let end = bytes
        .iter()
        .rposition(|byte| *byte == b'#')
        .or_else(|| bytes.iter().rposition(|byte| matches!(byte, b'/' | b':')));
    end.and_then(|end| predicate.get(..=end)).unwrap_or_default()
}

/// The language of a tag without region and script: `en` of `en-GB`. Nothing for what is no tag.
pub(crate) fn primary_language(tag: &str) -> Option<&str> {
    let primary = tag.split(['-', '_']).next().unwrap_or_default();
    ((2..=8).contains(&primary.len()) && primary.bytes().all(|byte| byte.is_ascii_alphabetic()))
        .then_some(primary)
}

/// The site that a graph's name is on: the pay-level domain of its host.
pub(crate) fn site_of(graph: &str) -> Option<&str> {
    let (scheme, rest) = graph.split_once("://")?;
    if !scheme.eq_ignore_ascii_case("http") && !scheme.eq_ignore_ascii_case("https") {
        return None;
    }
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = authority.rsplit_once('@').map_or(authority, |(_, host)| host);
    let host = if host.starts_with('[') {
        host.split_inclusive(']').next().unwrap_or_default()
    } else {
        host.split(':').next().unwrap_or_default()
    };
    if host.is_empty() || host.len() > 255 {
        return None;
    }
    let is_address = host.starts_with('[') || host.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    Some(if is_address { host } else { pay_level_domain(host) })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn namespaces() {
        for (predicate, expected) in [
            ("http://schema.org/name", "http://schema.org/"),
            ("http://www.w3.org/2000/01/rdf-schema#label", "http://www.w3.org/2000/01/rdf-schema#"),
            ("http://example.org/a#b/c", "http://example.org/a#"),
            ("urn:webloom:ns", "urn:webloom:"),
            ("name", ""),
            ("", ""),
        ] {
            assert_eq!(namespace(predicate), expected, "{predicate}");
        }
    }

    #[test]
    fn sites() {
        for (graph, expected) in [
            ("http://www.example.co.uk/a?b#c", Some("example.co.uk")),
            ("https://user:secret@shop.example.org:8080/", Some("example.org")),
            ("http://127.0.0.1:8080/x", Some("127.0.0.1")),
            ("http://[::1]:80/x", Some("[::1]")),
            ("http://localhost/", Some("localhost")),
            ("http:///nothing", None),
            ("urn:example:graph", None),
            ("file:///tmp/x", None),
        ] {
            assert_eq!(site_of(graph), expected, "{graph}");
        }
    }

    #[test]
    fn languages_without_their_regions() {
        for (tag, expected) in
            [("en-GB", Some("en")), ("de", Some("de")), ("x-1", None), ("", None), ("e1", None)]
        {
            assert_eq!(primary_language(tag), expected, "{tag}");
        }
    }

    proptest! {
        #[test]
        fn a_key_says_what_it_was_made_of(
            types in proptest::collection::btree_set("[a-z:/]{1,9}", 0..5),
            vocabularies in proptest::collection::btree_set("[a-z:/]{1,9}", 0..5),
        ) {
            let mut shape = Shape::default();
            for class in &types {
                shape.add_type(class);
            }
            for vocabulary in &vocabularies {
                shape.add_vocabulary(vocabulary);
            }
            let key = shape.to_key().unwrap_or_default();
            prop_assert_eq!(Shape::of_key(&key), shape);
        }
    }
}
