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
    let mut literals = LiteralCost::default();
    let has_literals = memchr::memmem::find(content.as_bytes(), b"parseType").is_some();
    for markup in markup(content) {
        if has_literals && literals.add(&markup, content.as_bytes()) > limits.term_bytes_max {
            let bytes_max = limits.term_bytes_max;
            let message = format!(
                "the document was refused: namespaces add more than {bytes_max} bytes to its literals"
            );
            return Err(Diagnostic::error("rdf-xml-namespaces", message));
        }
        if markup.attributes > ATTRIBUTES_MAX {
            let message =
                format!("the document was refused: an element has more than {ATTRIBUTES_MAX} attributes");
            return Err(Diagnostic::error("rdf-xml-attributes", message));
        }
    }
    Ok(())
}

/// Counts what the parser adds to literals that are markup: to each of their elements that is not within another,
/// every namespace in scope.
#[derive(Default)]
struct LiteralCost {
    /// Bytes of the tags that declare namespaces, by open element.
    open: Vec<usize>,
    in_scope: usize,
    /// How many elements are open outside the literal.
    literal: Option<usize>,
    bytes: usize,
}

impl LiteralCost {
    fn add(&mut self, markup: &Markup, content: &[u8]) -> usize {
        if matches!(markup.kind, MarkupKind::Start | MarkupKind::Empty) {
            let tag = &content[markup.start..markup.end];
            let declares = markup.attributes > 0 && memchr::memmem::find(tag, b"xmlns").is_some();
            let own = if declares { tag.len() } else { 0 };
            if self.literal == Some(self.open.len()) {
                self.bytes = self.bytes.saturating_add(self.in_scope + own);
            }
            if markup.kind == MarkupKind::Start {
                self.open.push(own);
                self.in_scope += own;
                let is_literal = markup.attributes > 0 && has_literal_content(tag);
                if is_literal && self.literal.is_none() {
                    self.literal = Some(self.open.len());
                }
            }
        } else if markup.kind == MarkupKind::End {
            self.in_scope -= self.open.pop().unwrap_or_default();
            if self.literal.is_some_and(|depth| self.open.len() < depth) {
                self.literal = None;
            }
        }
        self.bytes
    }
}

/// A piece between `<` and `>`.
struct Markup {
    start: usize,
    end: usize,
    kind: MarkupKind,
    attributes: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum MarkupKind {
    Start,
    End,
    Empty,
    /// Comment, CDATA, instruction, declaration.
    Other,
}

/// The markup of a text, in order. Knows quotes, comments and CDATA, and nothing else of XML.
fn markup(text: &str) -> impl Iterator<Item = Markup> {
    let bytes = text.as_bytes();
    let mut index = 0;
    std::iter::from_fn(move || {
        let start = index + memchr::memchr(b'<', bytes.get(index..)?)?;
        let tail = &bytes[start..];
        let skip = |end: &[u8]| memchr::memmem::find(tail, end).map_or(tail.len(), |at| at + end.len());
        let mut kind = MarkupKind::Other;
        let mut attributes = 0;
        let length = if tail.starts_with(b"<!--") {
            skip(b"-->")
        } else if tail.starts_with(b"<![CDATA[") {
            skip(b"]]>")
        } else if tail.starts_with(b"<?") {
            skip(b"?>")
        } else {
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
            kind = match tail.get(1) {
                Some(b'/') => MarkupKind::End,
                Some(b'!') => MarkupKind::Other,
                _ if tail.get(at.wrapping_sub(1)) == Some(&b'/') => MarkupKind::Empty,
                _ => MarkupKind::Start,
            };
            (at + 1).min(tail.len())
        };
        index = start + length;
        Some(Markup { start, end: index, kind, attributes })
    })
}

/// True for a start tag with a `parseType` that is neither `Resource` nor `Collection`.
fn has_literal_content(tag: &[u8]) -> bool {
    memchr::memmem::find_iter(tag, b"parseType").any(|position| {
        let value = tag[position + 9..].trim_ascii_start().strip_prefix(b"=").unwrap_or_default();
        let value = value.trim_ascii_start().get(1..).unwrap_or_default();
        !value.starts_with(b"Resource") && !value.starts_with(b"Collection")
    })
}

/// Where the root element's start tag ends, and where its children begin and end.
pub(super) struct Outline {
    pub root_end: usize,
    children: Vec<(usize, usize)>,
    /// True when the text ends before the root does.
    pub is_open: bool,
}

impl Outline {
    pub(super) fn of(text: &str) -> Self {
        let mut outline = Self { root_end: 0, children: Vec::new(), is_open: false };
        let mut depth = 0_usize;
        let mut child_start = 0;
        for markup in markup(text) {
            match markup.kind {
                MarkupKind::Start => {
                    match depth {
                        0 => outline.root_end = markup.end,
                        1 => child_start = markup.start,
                        _ => {}
                    }
                    depth += 1;
                }
                MarkupKind::End => {
                    depth = depth.saturating_sub(1);
                    if depth == 1 {
                        outline.children.push((child_start, markup.end));
                    }
                }
                MarkupKind::Empty if depth == 1 => outline.children.push((markup.start, markup.end)),
                MarkupKind::Empty | MarkupKind::Other => {}
            }
        }
        outline.is_open = depth > 0;
        outline
    }

    /// The end of the root's child in which a position lies.
    pub(super) fn child_end(&self, position: usize) -> Option<usize> {
        let index = self.children.partition_point(|(_, end)| *end < position);
        self.children.get(index).filter(|(start, _)| *start < position).map(|(_, end)| *end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outlines_see_the_roots_children() {
        let text = "<?x?><!DOCTYPE r [<!ENTITY a \"b\">]><!-- <no> --><r a='>'><b/><c x=\"<\"><d></d></c><![CDATA[<e>]]><f></f></r>";
        let outline = Outline::of(text);
        assert_eq!(&text[outline.root_end..outline.root_end + 4], "<b/>");
        let children: Vec<&str> = outline.children.iter().map(|(start, end)| &text[*start..*end]).collect();
        assert_eq!(children, ["<b/>", "<c x=\"<\"><d></d></c>", "<f></f>"]);
    }

    #[test]
    fn entities_are_bounded() {
        let limits = Limits { entity_bytes_max: 1000, ..Limits::default() };
        let refused = |text: &str| prepare(text, &limits).err().map(|diagnostic| diagnostic.message);
        assert_eq!(refused("<r/>"), None);
        assert_eq!(refused("<!DOCTYPE r [<!ENTITY a 'b'>]><r>&a;&a;</r>"), None);
        let mut laughs = "<!DOCTYPE r [<!ENTITY l0 \"ha\">".to_owned();
        for level in 1..12 {
            let reference = format!("&l{};", level - 1);
            laughs.push_str(&format!("<!ENTITY l{level} \"{}\">", reference.repeat(10)));
        }
        laughs.push_str("]><r>&l11;</r>");
        assert!(refused(&laughs).is_some_and(|message| message.contains("`l4` expands to more than 4096")));
        let flat = format!("<!DOCTYPE r [<!ENTITY a \"{}\">]><r>{}</r>", "x".repeat(100), "&a;".repeat(11));
        assert!(refused(&flat).is_some_and(|message| message.contains("more than 1000 bytes")));
        assert!(refused("<!DOCTYPE r [<!ENTITY a \"b\"").is_some());
        let cycle = "<!DOCTYPE r [<!ENTITY a \"&b;\"><!ENTITY b \"&a;\">]><r>&a;</r>";
        assert_eq!(refused(cycle), None);
        let limits = Limits { term_bytes_max: 10_000, ..Limits::default() };
        let namespaces: String = (0..50).map(|n| format!("xmlns:n{n}='urn:{n}' ")).collect();
        let literal = |parse_type: &str, count: usize| {
            let text =
                format!("<r {namespaces}><p t:parseType='{parse_type}'>{}</p></r>", "<b/>".repeat(count));
            prepare(&text, &limits).err().map(|diagnostic| diagnostic.code)
        };
        assert_eq!(literal("Literal", 5), None);
        assert_eq!(literal("Resource", 50), None);
        assert_eq!(literal("Literal", 50), Some("rdf-xml-namespaces".into()));
        let wide = format!("<r {}/>", (0..2000).map(|n| format!("a{n}='' ")).collect::<String>());
        assert!(refused(&wide).is_some_and(|message| message.contains("attributes")));
    }

    #[test]
    fn doctypes_are_rewritten_line_for_line() {
        let text = "<?xml version='1.0'\nencoding='x'?>\n<!DOCTYPE r [\n<!ENTITY a 'é\"<'>\n<!ENTITY b SYSTEM 'x'>]>\n<r/>";
        let safe = prepare(text, &Limits::default()).unwrap();
        assert_eq!(safe, "\n\n<!DOCTYPE r [<!ENTITY a \"é&#34;&#60;\">]>\n\n\n<r/>");
    }
}
