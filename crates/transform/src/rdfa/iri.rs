//! IRIs: what references are resolved against, and which texts are terms, CURIEs or IRIs.

use std::borrow::Cow;
use std::fmt::Write as _;

use oxiri::Iri;
use oxrdf::NamedNode;

/// An absolute IRI without fragment.
#[derive(Debug)]
pub(super) struct Base(Iri<String>);

impl Base {
    /// Takes an absolute IRI, without its fragment.
    pub(super) fn parse(iri: &str) -> Option<Self> {
        let iri = iri.split('#').next().unwrap_or_default();
        Iri::parse(iri.to_owned()).ok().map(Self)
    }

    pub(super) fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The base as a node.
    pub(super) fn node(&self) -> NamedNode {
        NamedNode::new_unchecked(self.as_str())
    }

    /// What a reference means here. What no IRI may contain is escaped first; nothing when that does not help.
    pub(super) fn resolve(&self, reference: &str) -> Option<NamedNode> {
        let reference = reference.trim_ascii();
        let resolved = self.0.resolve(reference).or_else(|_| self.0.resolve(&escape(reference))).ok()?;
        Some(NamedNode::new_unchecked(without_dots(resolved)))
    }

    /// The base that a reference sets.
    pub(super) fn join(&self, reference: &str) -> Option<Self> {
        self.resolve(reference).and_then(|node| Self::parse(node.as_str()))
    }
}

/// Takes `.` and `..` out of the path, which resolving does for relative references only.
fn without_dots(iri: Iri<String>) -> String {
    let path = iri.path();
    let is_dots = |segment: &str| matches!(segment, "." | "..");
    if iri.authority().is_none() || !path.split('/').any(is_dots) {
        return iri.into_inner();
    }
    let mut kept: Vec<&str> = Vec::new();
    for segment in path.split('/').skip(1) {
        match segment {
            "." => {}
            ".." => drop(kept.pop()),
            _ => kept.push(segment),
        }
    }
    // A path that ends in dots ends in a directory.
    if path.rsplit('/').next().is_some_and(is_dots) {
        kept.push("");
    }
    let head = iri.as_str().len() - path.len() - iri.query().map_or(0, |query| query.len() + 1);
    let head = head - iri.fragment().map_or(0, |fragment| fragment.len() + 1);
    let (head, tail) = (&iri.as_str()[..head], &iri.as_str()[head + path.len()..]);
    format!("{head}/{}{tail}", kept.join("/"))
}

/// The IRI, repaired where only some characters need escaping.
fn named(iri: String) -> Option<NamedNode> {
    if Iri::parse(iri.as_str()).is_ok() {
        return Some(NamedNode::new_unchecked(iri));
    }
    let escaped = escape(&iri).into_owned();
    Iri::parse(escaped.as_str()).is_ok().then(|| NamedNode::new_unchecked(escaped))
}

/// A name in a namespace that is a valid IRI, or empty where it was none.
pub(super) fn in_namespace(namespace: &str, name: &str) -> Option<NamedNode> {
    let mut iri = String::with_capacity(namespace.len() + name.len());
    iri.push_str(namespace);
    iri.push_str(name);
    // Nearly all names are plain words behind a slash or a hash, and cannot spoil the IRI.
    let plain = namespace.ends_with(['/', '#'])
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.'));
    if plain { Some(NamedNode::new_unchecked(iri)) } else { named(iri) }
}

/// The text as an absolute IRI.
pub(super) fn absolute(text: &str) -> Option<NamedNode> {
    Iri::parse(text).is_ok().then(|| NamedNode::new_unchecked(text))
}

/// Escapes what an IRI may not contain.
fn escape(text: &str) -> Cow<'_, str> {
    let bytes = text.as_bytes();
    let hex_follows =
        |at: usize| bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit));
    // Brackets are the host's only, where it is an address of IPv6.
    let host_end = text.find("//[").and_then(|start| Some(start + text[start..].find(']')? + 1)).unwrap_or(0);
    let fragment = text.find('#').unwrap_or(text.len());
    let mut out = String::new();
    let mut copied = 0;
    for (at, character) in text.char_indices() {
        let bad = match character {
            '\0'..=' ' | '"' | '<' | '>' | '\\' | '^' | '`' | '{' | '|' | '}' | '\u{7f}'..='\u{9f}' => true,
            '[' | ']' => at >= host_end,
            '#' => at > fragment,
            '%' => !hex_follows(at),
            '\u{e000}'..='\u{f8ff}' | '\u{fdd0}'..='\u{fdef}' | '\u{fff0}'.. => {
                // Private use, specials and noncharacters, and the planes above, where some are.
                !matches!(character, '\u{10000}'..='\u{1fffd}' | '\u{20000}'..='\u{2fffd}' | '\u{30000}'..='\u{3fffd}')
            }
            _ => false,
        };
        if bad {
            out.push_str(&text[copied..at]);
            let end = at + character.len_utf8();
            for byte in &bytes[at..end] {
                let _ = write!(out, "%{byte:02X}");
            }
            copied = end;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// The two halves of a CURIE, if the text could be one: not so with `//` behind the colon, as in any `http:` IRI.
pub(super) fn split_curie(text: &str) -> Option<(&str, &str)> {
    text.split_once(':').filter(|(_, reference)| !reference.starts_with("//"))
}

/// True for a term: a name, in which slashes are allowed.
pub(super) fn is_term(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(is_name_start)
        && characters.all(|character| is_name_char(character) || character == '/')
}

/// True for a name without colon.
pub(super) fn is_name(text: &str) -> bool {
    let mut characters = text.chars();
    characters.next().is_some_and(is_name_start) && characters.all(is_name_char)
}

fn is_name_start(character: char) -> bool {
    matches!(character,
        'A'..='Z' | 'a'..='z' | '_' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

fn is_name_char(character: char) -> bool {
    is_name_start(character)
        || matches!(character,
            '0'..='9' | '-' | '.' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_are_resolved_as_iris() {
        let base = Base::parse("http://a.example/b/c?q#frag").unwrap();
        for (reference, expected) in [
            ("", Some("http://a.example/b/c?q")),
            (" d ", Some("http://a.example/b/d")),
            ("../../..", Some("http://a.example/")),
            ("#x", Some("http://a.example/b/c?q#x")),
            ("http://b.example/x/../y/./z/..?a/../b", Some("http://b.example/y/?a/../b")),
            ("http://b.example//../..//x#y/../z", Some("http://b.example//x#y/../z")),
            ("mailto:a/../b", Some("mailto:a/../b")),
            ("http://other.example", Some("http://other.example")),
            ("a b", Some("http://a.example/b/a%20b")),
            ("a[1]{2}|%zz%41", Some("http://a.example/b/a%5B1%5D%7B2%7D%7C%25zz%41")),
            ("#a#b", Some("http://a.example/b/c?q#a%23b")),
            ("http://[::1]/[x]", Some("http://[::1]/%5Bx%5D")),
            ("ü", Some("http://a.example/b/ü")),
            ("\u{e000}", Some("http://a.example/b/%EE%80%80")),
            ("http://[", Some("http://%5B")),
            ("http://a.example:port/", None),
            ("mailto:a@b.example", Some("mailto:a@b.example")),
        ] {
            assert_eq!(base.resolve(reference).as_ref().map(NamedNode::as_str), expected, "{reference:?}");
        }
    }

    #[test]
    fn names_and_terms() {
        for (text, name, term) in [
            ("foaf", true, true),
            ("_x", true, true),
            ("a/b", false, true),
            ("9a", false, false),
            ("a:b", false, false),
            ("", false, false),
            ("$x", false, false),
            ("é.-·", true, true),
        ] {
            assert_eq!((is_name(text), is_term(text)), (name, term), "{text}");
        }
    }
}
