//! Makes an RDF/XML document safe for its parser: entities bounded, declarations in the one form the
//! parser takes, no element with thousands of attributes.
//!
//! In: decoded text. Out: the same text, with the XML declaration blanked (its encoding is no longer
//! true) and the DOCTYPE rewritten to the entities that matter, line for line; or a diagnostic that
//! says why the document is refused. One pass, no recursion.

use std::borrow::Cow;
use std::collections::HashMap;

use webloom_model::Diagnostic;

use crate::Limits;

/// Entities a document may declare.
const ENTITIES_MAX: usize = 1000;
/// Length of one entity with all it refers to. Namespaces are short; laughs are long.
const ENTITY_BYTES_MAX: usize = 4096;
/// Attributes of one element.
const ATTRIBUTES_MAX: usize = 1000;

/// The text as the parser may have it, or why it may not.
pub(super) fn prepare<'a>(text: &'a str, limits: &Limits) -> Result<Cow<'a, str>, Diagnostic> {
    let mut prolog = 0;
    let mut declaration = None;
    let mut doctype = None;
    // Declaration, comments, instructions and DOCTYPE stand before the first element.
    loop {
        let rest = &text[prolog..];
        let space =
            rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '\u{feff}').len();
        let rest = &rest[space..];
        let start = prolog + space;
        if rest.starts_with("<?") {
            let Some(end) = rest.find("?>") else { break };
            if rest.starts_with("<?xml") && rest[5..].starts_with(|c: char| c.is_ascii_whitespace()) {
                declaration = Some(start..start + end + 2);
            }
            prolog = start + end + 2;
        } else if rest.starts_with("<!--") {
            let Some(end) = rest.find("-->") else { break };
            prolog = start + end + 3;
        } else if rest.starts_with("<!DOCTYPE") && doctype.is_none() {
            let mut entities = Entities::default();
            let end = entities.read(&rest[9..]).map_err(|problem| entity_diagnostic(&problem))?;
            let end = start + 9 + end;
            doctype = Some((start..end, entities));
            prolog = end;
        } else {
            break;
        }
    }
    let entities = doctype.as_ref().map(|(_, entities)| entities);
    check_content(&text[prolog..], entities, limits)?;

    if declaration.is_none() && doctype.is_none() {
        return Ok(Cow::Borrowed(text));
    }
    let mut safe = String::with_capacity(text.len());
    let mut position = 0;
    if let Some(range) = declaration {
        safe.push_str(text[..range.start].trim_start_matches('\u{feff}'));
        safe.extend(text[range.clone()].chars().filter(|c| *c == '\n'));
        position = range.end;
    }
    if let Some((range, entities)) = doctype {
        safe.push_str(&text[position..range.start]);
        entities.write(&mut safe);
        safe.extend(text[range.clone()].chars().filter(|c| *c == '\n'));
        position = range.end;
    }
    safe.push_str(&text[position..]);
    Ok(Cow::Owned(safe))
}

fn entity_diagnostic(problem: &str) -> Diagnostic {
    Diagnostic::error("rdf-xml-entities", format!("the document was refused: {problem}"))
}

/// General entities of the internal subset, their values fully expanded.
#[derive(Default)]
struct Entities<'a> {
    order: Vec<&'a str>,
    values: HashMap<&'a str, String>,
}

impl<'a> Entities<'a> {
    /// Reads a DOCTYPE after its keyword; answers the offset after its `>`.
    fn read(&mut self, text: &'a str) -> Result<usize, String> {
        let bytes = text.as_bytes();
        let unclosed = || "its DOCTYPE does not end".to_owned();
        let mut in_subset = false;
        let mut index = 0;
        while index < bytes.len() {
            match bytes[index] {
                quote @ (b'"' | b'\'') => {
                    index += 1 + memchr::memchr(quote, &bytes[index + 1..]).ok_or_else(unclosed)?;
                }
                b'[' => in_subset = true,
                b']' => in_subset = false,
                b'>' if !in_subset => return Ok(index + 1),
                b'<' if text[index..].starts_with("<!--") => {
                    index += 6 + text[index + 4..].find("-->").ok_or_else(unclosed)?;
                }
                b'<' if text[index..].starts_with("<!ENTITY") => self.declare(&text[index + 8..])?,
                _ => {}
            }
            index += 1;
        }
        Err(unclosed())
    }

    /// Takes one declaration after its keyword. Parameter entities and external ones are passed over:
    /// nothing from outside the document is ever read.
    fn declare(&mut self, declaration: &'a str) -> Result<(), String> {
        let Some((name, rest)) = declaration.trim_ascii_start().split_once(|c: char| c.is_ascii_whitespace())
        else {
            return Ok(());
        };
        let rest = rest.trim_ascii_start();
        let Some(quote @ ('"' | '\'')) = rest.chars().next() else { return Ok(()) };
        let Some(end) = rest[1..].find(quote) else { return Ok(()) };
        if self.order.len() >= ENTITIES_MAX {
            return Err(format!("it declares more than {ENTITIES_MAX} entities"));
        }
        // The first declaration of a name counts, says XML.
        if name == "%" || self.values.contains_key(name) {
            return Ok(());
        }
        let mut value = String::new();
        for piece in pieces(&rest[1..=end]) {
            match piece {
                Piece::Text(text) => value.push_str(text),
                Piece::Reference(reference) => match self.values.get(reference) {
                    Some(known) => value.push_str(known),
                    // Characters and the five of XML are left to the parser; the unknown too, to complain of.
                    None => {
                        value.push('&');
                        value.push_str(reference);
                        value.push(';');
                    }
                },
            }
            if value.len() > ENTITY_BYTES_MAX {
                return Err(format!("the entity `{name}` expands to more than {ENTITY_BYTES_MAX} bytes"));
            }
        }
        self.order.push(name);
        self.values.insert(name, value);
        Ok(())
    }

    /// Writes a DOCTYPE of only the declarations, in double quotes.
    fn write(&self, out: &mut String) {
        out.push_str("<!DOCTYPE r [");
        for name in &self.order {
            out.push_str("<!ENTITY ");
            out.push_str(name);
            out.push_str(" \"");
            for character in self.values[name].chars() {
                match character {
                    '"' | '<' | '>' | '[' | ']' | '%' | '\'' => {
                        out.push_str(&format!("&#{};", u32::from(character)));
                    }
                    '\n' | '\r' => out.push(' '),
                    character => out.push(character),
                }
            }
            out.push_str("\">");
        }
        out.push_str("]>");
    }
}

enum Piece<'a> {
    Text(&'a str),
    Reference(&'a str),
}

/// A value as texts and references.
fn pieces(value: &str) -> impl Iterator<Item = Piece<'_>> {
    let mut rest = value;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some(reference) = rest.strip_prefix('&')
            && let Some(end) = reference.find(|c: char| c == ';' || c == '&' || c.is_ascii_whitespace())
            && reference[end..].starts_with(';')
        {
            rest = &reference[end + 1..];
            return Some(Piece::Reference(&reference[..end]));
        }
        // A lone ampersand is text, and the search for the next one begins behind it.
        let end = memchr::memchr(b'&', &rest.as_bytes()[1..]).map_or(rest.len(), |end| end + 1);
        let (text, tail) = rest.split_at(end);
        rest = tail;
        Some(Piece::Text(text))
    })
}

/// Counts what entities would add to the content, and the attributes of each element.
fn check_content(content: &str, entities: Option<&Entities<'_>>, limits: &Limits) -> Result<(), Diagnostic> {
    if let Some(entities) = entities.filter(|entities| !entities.order.is_empty()) {
        let mut total = 0_usize;
        for position in memchr::memchr_iter(b'&', content.as_bytes()) {
            let name = &content.as_bytes()[position + 1..];
            let Some(end) = name.iter().take(256).position(|byte| *byte == b';') else { continue };
            if let Some(value) =
                std::str::from_utf8(&name[..end]).ok().and_then(|name| entities.values.get(name))
            {
                total += value.len();
                if total > limits.entity_bytes_max {
                    let problem =
                        format!("its entities expand to more than {} bytes", limits.entity_bytes_max);
                    return Err(entity_diagnostic(&problem));
                }
            }
        }
    }
    let bytes = content.as_bytes();
    let mut index = 0;
    while let Some(start) = memchr::memchr(b'<', &bytes[index..]) {
        index += start;
        let tail = &bytes[index..];
        let skip = |end: &[u8]| memchr::memmem::find(tail, end).map_or(tail.len(), |at| at + end.len());
        index += if tail.starts_with(b"<!--") {
            skip(b"-->")
        } else if tail.starts_with(b"<![CDATA[") {
            skip(b"]]>")
        } else if tail.starts_with(b"<?") {
            skip(b"?>")
        } else {
            let mut attributes = 0;
            let mut at = 1;
            while at < tail.len() && tail[at] != b'>' {
                match tail[at] {
                    quote @ (b'"' | b'\'') => {
                        at += 1 + memchr::memchr(quote, &tail[at + 1..]).unwrap_or(tail.len() - at - 1);
                    }
                    b'=' => attributes += 1,
                    _ => {}
                }
                at += 1;
            }
            if attributes > ATTRIBUTES_MAX {
                let message =
                    format!("the document was refused: an element has more than {ATTRIBUTES_MAX} attributes");
                return Err(Diagnostic::error("rdf-xml-attributes", message));
            }
            at.min(tail.len())
        };
    }
    Ok(())
}
