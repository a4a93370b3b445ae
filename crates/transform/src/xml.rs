//! XML into a [`Dom`]: namespaces resolved, entities expanded within bounds, mistakes forgiven.
//!
//! Feeds, XHTML, SVG and whatever else is XML on the web is broken often enough that a reader which stops
//! at the first mistake would read little. This one goes on: a stray `&` is a character, an unknown end tag
//! is skipped, open elements are closed. What was wrong is listed, so that a caller who has a better parser for broken
//! text (HTML's) can choose it. Nothing is loaded from outside the document. Start at [`parse`].

use std::time::Instant;

use html5ever::data::NAMED_ENTITIES;
use html5ever::tendril::StrTendril;
use html5ever::{Attribute, LocalName, Namespace, Prefix, QualName, local_name, ns};
use memchr::{memchr, memchr2, memmem};
use webloom_model::Diagnostic;

use crate::Limits;
use crate::dom::{Dom, Element, NodeData, NodeId};
use crate::maps::HashMap;

/// Tags between two looks at the clock.
const TAGS_PER_LOOK: u64 = 512;
/// Different mistakes that are listed.
const PROBLEMS_MAX: usize = 5;

/// A parsed XML document.
#[derive(Debug)]
pub struct XmlDocument {
    /// The tree. Namespace declarations are among the attributes, in the `xmlns` namespace.
    pub dom: Dom,
    /// Processing instructions, target and data, such as `xml-stylesheet`.
    pub instructions: Vec<(String, String)>,
    /// The public identifier of the DOCTYPE.
    pub public_id: Option<String>,
    /// Mistakes against well-formedness, the first few, and cuts.
    pub diagnostics: Vec<Diagnostic>,
    /// No mistake was found.
    pub well_formed: bool,
}

impl XmlDocument {
    /// The outermost element.
    pub fn root(&self) -> Option<(NodeId, &Element)> {
        self.dom.children(Dom::ROOT).find_map(|id| self.dom.element(id).map(|element| (id, element)))
    }
}

/// Parses a document. Always gives a tree.
pub fn parse(text: &str, limits: &Limits, deadline: Instant) -> XmlDocument {
    let mut parser = Parser::new(text, limits, deadline);
    parser.run();
    parser.finish()
}

/// An element whose end tag is still to come.
struct Open<'a> {
    node: NodeId,
    /// The name as written.
    name: &'a str,
    /// Prefixes this element bound, to be unbound at its end.
    bound: Vec<&'a str>,
}

struct Parser<'a, 'l> {
    text: &'a str,
    position: usize,
    line: u32,
    /// Up to where lines are counted.
    counted: usize,
    limits: &'l Limits,
    deadline: Instant,
    document: XmlDocument,
    open: Vec<Open<'a>>,
    /// Start tags dropped for their depth whose end tags are to be dropped too.
    dropped: usize,
    bindings: HashMap<&'a str, Vec<Namespace>>,
    entities: HashMap<&'a str, String>,
    entity_bytes: usize,
    tags: u64,
    cut: bool,
    has_root: bool,
}

impl<'a, 'l> Parser<'a, 'l> {
    fn new(text: &'a str, limits: &'l Limits, deadline: Instant) -> Self {
        Self {
            text: text.strip_prefix('\u{feff}').unwrap_or(text),
            position: 0,
            line: 1,
            counted: 0,
            limits,
            deadline,
            document: XmlDocument {
                dom: Dom::new(limits.html_nodes_max, text.len()),
                instructions: Vec::new(),
                public_id: None,
                diagnostics: Vec::new(),
                well_formed: true,
            },
            open: Vec::new(),
            dropped: 0,
            bindings: HashMap::from_iter([("xml", vec![ns!(xml)]), ("xmlns", vec![ns!(xmlns)])]),
            entities: HashMap::default(),
            entity_bytes: 0,
            tags: 0,
            cut: false,
            has_root: false,
        }
    }

    fn run(&mut self) {
        while self.position < self.text.len() && !self.cut {
            let rest = &self.text[self.position..];
            if let Some(markup) = rest.strip_prefix('<') {
                match markup.as_bytes().first() {
                    Some(b'!') => self.declaration(),
                    Some(b'?') => self.instruction(),
                    Some(b'/') => self.end_tag(),
                    Some(byte) if is_name_start(*byte) => self.start_tag(),
                    _ => {
                        self.problem("a `<` that begins no tag");
                        self.characters(1);
                    }
                }
            } else {
                let end = memchr(b'<', rest.as_bytes()).unwrap_or(rest.len());
                self.characters(end);
            }
        }
    }

    fn finish(mut self) -> XmlDocument {
        if !self.cut
            && let Some(open) = self.open.last()
        {
            let message = format!("the document ends before </{}>", shorten(open.name));
            self.problem(&message);
        }
        if !self.has_root && !self.cut {
            self.problem("there is no element");
        }
        self.document
    }

    /// The line of the current position.
    fn line(&mut self) -> u32 {
        let passed = &self.text.as_bytes()[self.counted..self.position];
        self.line = self
            .line
            .saturating_add(u32::try_from(memchr::memchr_iter(b'\n', passed).count()).unwrap_or(u32::MAX));
        self.counted = self.position;
        self.line
    }

    fn problem(&mut self, message: &str) {
        self.document.well_formed = false;
        if self.document.diagnostics.len() < PROBLEMS_MAX {
            let line = u64::from(self.line());
            self.document
                .diagnostics
                .push(Diagnostic::warning("xml-syntax", message.to_owned()).at_line(line));
        }
    }

    fn stop(&mut self, message: String) {
        self.cut = true;
        let line = u64::from(self.line());
        self.document.diagnostics.push(Diagnostic::warning("xml-cut", message).at_line(line));
    }

    fn parent(&self) -> NodeId {
        self.open.last().map_or(Dom::ROOT, |open| open.node)
    }

    /// Takes `length` bytes as characters with references.
    fn characters(&mut self, length: usize) {
        let raw = &self.text[self.position..self.position + length];
        if self.open.is_empty() {
            if !raw.trim_ascii().is_empty() {
                self.problem("text outside of the root element");
            }
            self.position += length;
            return;
        }
        let text = self.resolve(raw);
        self.append_text(&text);
        self.position += length;
    }

    fn append_text(&mut self, text: &StrTendril) {
        if !text.is_empty() && !self.open.is_empty() {
            let line = self.line();
            let parent = self.parent();
            self.document.dom.append_text(parent, text, line);
        }
    }

    /// Replaces references, and line ends by line feeds.
    fn resolve(&mut self, raw: &str) -> StrTendril {
        if memchr2(b'&', b'\r', raw.as_bytes()).is_none() {
            return StrTendril::from_slice(raw);
        }
        let mut out = StrTendril::with_capacity(u32::try_from(raw.len()).unwrap_or(0));
        let mut rest = raw;
        while let Some(at) = memchr2(b'&', b'\r', rest.as_bytes()) {
            out.push_slice(&rest[..at]);
            rest = &rest[at..];
            if let Some(after) = rest.strip_prefix('\r') {
                out.push_char('\n');
                rest = after.strip_prefix('\n').unwrap_or(after);
                continue;
            }
            rest = self.reference(rest, &mut out);
        }
        out.push_slice(rest);
        out
    }

    /// Takes one reference off the front of `rest`, which begins with `&`.
    fn reference<'r>(&mut self, rest: &'r str, out: &mut StrTendril) -> &'r str {
        // No name of an entity is longer than this.
        let window = &rest.as_bytes()[..rest.len().min(64)];
        let name = memchr(b';', window).map(|end| (&rest[1..end], &rest[end + 1..]));
        let Some((name, after)) = name.filter(|(name, _)| is_reference(name)) else {
            self.problem("a `&` that begins no reference");
            out.push_char('&');
            return &rest[1..];
        };
        if let Some(number) = name.strip_prefix('#') {
            match character(number) {
                Some(character) => out.push_char(character),
                None => {
                    self.problem("a reference to no character");
                    out.push_char('\u{fffd}');
                }
            }
            return after;
        }
        let known = match name {
            "amp" => Some("&"),
            "lt" => Some("<"),
            "gt" => Some(">"),
            "quot" => Some("\""),
            "apos" => Some("'"),
            _ => None,
        };
        if let Some(known) = known {
            out.push_slice(known);
            return after;
        }
        if let Some(value) = self.entities.get(name) {
            self.entity_bytes += value.len();
            if self.entity_bytes > self.limits.entity_bytes_max {
                let message = format!(
                    "entities expand to more than {} bytes; the rest was left out",
                    self.limits.entity_bytes_max
                );
                self.stop(message);
                return "";
            }
            out.push_slice(value);
            return after;
        }
        // HTML's names are not XML's, but everybody writes them.
        self.problem("a reference to an entity that is not declared");
        match html_entity(name) {
            Some((first, second)) => {
                out.push_char(first);
                if let Some(second) = second {
                    out.push_char(second);
                }
            }
            None => out.push_slice(&rest[..rest.len() - after.len()]),
        }
        after
    }

    /// `<!…`: comment, CDATA section, DOCTYPE.
    fn declaration(&mut self) {
        let rest = &self.text[self.position..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            let line = self.line();
            let (content, length) = match memmem::find(comment.as_bytes(), b"-->") {
                Some(end) => (&comment[..end], end + 7),
                None => {
                    self.problem("a comment without end");
                    (comment, rest.len())
                }
            };
            let id = self.document.dom.create(NodeData::Comment(StrTendril::from_slice(content)), line);
            let parent = self.parent();
            self.document.dom.append(parent, id);
            self.position += length;
        } else if let Some(section) = rest.strip_prefix("<![CDATA[") {
            let (content, length) = match memmem::find(section.as_bytes(), b"]]>") {
                Some(end) => (&section[..end], end + 12),
                None => {
                    self.problem("a CDATA section without end");
                    (section, rest.len())
                }
            };
            let content = StrTendril::from_slice(content);
            self.append_text(&content);
            self.position += length;
        } else if rest.get(2..9).is_some_and(|word| word.eq_ignore_ascii_case("doctype")) {
            self.doctype();
        } else {
            self.problem("a declaration that XML does not have");
            self.position += memchr(b'>', rest.as_bytes()).map_or(rest.len(), |end| end + 1);
        }
    }

    /// Reads the DOCTYPE: its public identifier, and the entities it declares.
    fn doctype(&mut self) {
        let rest = &self.text[self.position..];
        let bytes = rest.as_bytes();
        let mut at = 9;
        let mut quoted: Option<(u8, usize)> = None;
        let mut in_subset = false;
        let mut literals = 0;
        while at < bytes.len() {
            let byte = bytes[at];
            if let Some((quote, start)) = quoted {
                if byte == quote {
                    quoted = None;
                    if !in_subset
                        && literals == 0
                        && rest[..start].trim_ascii_end().to_ascii_uppercase().ends_with("PUBLIC")
                    {
                        self.document.public_id = Some(rest[start + 1..at].to_owned());
                    }
                    literals += 1;
                }
            } else if in_subset && bytes[at..].starts_with(b"<!--") {
                at += memmem::find(&bytes[at..], b"-->").unwrap_or(bytes.len() - at);
            } else if in_subset && bytes[at..].starts_with(b"<!ENTITY") {
                at += self.entity(&rest[at..]);
                continue;
            } else {
                match byte {
                    b'"' | b'\'' => quoted = Some((byte, at)),
                    b'[' => in_subset = true,
                    b']' => in_subset = false,
                    b'>' if !in_subset => {
                        self.position += at + 1;
                        return;
                    }
                    _ => {}
                }
            }
            at += 1;
        }
        self.problem("a DOCTYPE without end");
        self.position = self.text.len();
    }

    /// Reads `<!ENTITY name "value">`; answers how long it is. Those of files and of parameters are passed over.
    fn entity(&mut self, rest: &'a str) -> usize {
        let bytes = rest.as_bytes();
        let body = &rest["<!ENTITY".len()..];
        let mut parts = body.trim_ascii_start().splitn(2, |c: char| c.is_ascii_whitespace());
        let name = parts.next().unwrap_or_default();
        let value = parts.next().unwrap_or_default().trim_ascii_start();
        let quote = value.as_bytes().first().copied().filter(|byte| matches!(byte, b'"' | b'\''));
        if let Some(quote) = quote
            && let Some(end) = memchr(quote, &value.as_bytes()[1..])
        {
            let raw = &value[1..=end];
            // Entities declared before are expanded now, so that a use costs its length and no recursion.
            let expanded = self.resolve(raw);
            if !self.cut && expanded.len() <= self.limits.entity_bytes_max {
                self.entities.entry(name).or_insert_with(|| expanded.to_string());
            }
            let after = value.as_ptr() as usize - rest.as_ptr() as usize + end + 2;
            return after + memchr(b'>', &bytes[after..]).map_or(bytes.len() - after, |close| close + 1);
        }
        // `<!ENTITY x SYSTEM "…">`: a `>` may stand in the literal.
        let mut quoted = None;
        for (at, byte) in bytes.iter().enumerate() {
            match (quoted, byte) {
                (Some(open), byte) if open == byte => quoted = None,
                (None, b'"' | b'\'') => quoted = Some(byte),
                (None, b'>') => return at + 1,
                _ => {}
            }
        }
        bytes.len()
    }

    fn instruction(&mut self) {
        let rest = &self.text[self.position..];
        let (content, length) = match memmem::find(rest.as_bytes(), b"?>") {
            Some(end) => (&rest[2..end.max(2)], end + 2),
            None => {
                self.problem("a processing instruction without end");
                ("", rest.len())
            }
        };
        let (target, data) = content.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((content, ""));
        if !target.eq_ignore_ascii_case("xml") && !target.is_empty() && self.document.instructions.len() < 100
        {
            self.document.instructions.push((target.to_owned(), data.trim().to_owned()));
        }
        self.position += length;
    }

    fn end_tag(&mut self) {
        let rest = &self.text[self.position..];
        let end = memchr(b'>', rest.as_bytes());
        let name = rest[2..end.unwrap_or(rest.len())].trim_ascii();
        if end.is_none() {
            self.problem("an end tag without end");
        }
        let length = end.map_or(rest.len(), |end| end + 1);
        if self.dropped > 0 {
            self.dropped -= 1;
        } else if self.open.last().is_some_and(|open| open.name == name) {
            self.close();
        } else {
            let message = format!("</{}> does not close the open element", shorten(name));
            self.problem(&message);
            // Looked for only nearby: a document of stray end tags must not cost its square.
            if let Some(distance) = self.open.iter().rev().take(32).position(|open| open.name == name) {
                for _ in 0..=distance {
                    self.close();
                }
            }
        }
        self.position += length;
    }

    fn close(&mut self) {
        if let Some(open) = self.open.pop() {
            for prefix in open.bound {
                if let Some(stack) = self.bindings.get_mut(prefix) {
                    stack.pop();
                }
            }
        }
    }

    fn start_tag(&mut self) {
        self.tags += 1;
        if self.tags.is_multiple_of(TAGS_PER_LOOK) && Instant::now() >= self.deadline {
            return self.stop("parsing took too long; the rest was left out".to_owned());
        }
        if self.document.dom.len() >= self.limits.html_nodes_max {
            let message = format!(
                "the document has more than {} nodes; the rest was left out",
                self.limits.html_nodes_max
            );
            return self.stop(message);
        }
        let line = self.line();
        let tag = self.scan_tag();
        if self.cut {
            return;
        }
        if self.open.is_empty() && self.has_root {
            self.problem("a second root element");
        }
        self.has_root = true;
        if self.open.len() >= self.limits.html_depth_max || self.dropped > 0 {
            if self.dropped == 0 {
                let message = format!(
                    "elements are nested deeper than {}; the deeper ones were left out",
                    self.limits.html_depth_max
                );
                self.document
                    .diagnostics
                    .push(Diagnostic::warning("xml-too-deep", message).at_line(u64::from(line)));
            }
            self.dropped += usize::from(!tag.empty);
            return;
        }
        let mut bound = Vec::new();
        for (name, value) in &tag.attributes {
            let prefix = if *name == "xmlns" { "" } else { name.strip_prefix("xmlns:").unwrap_or("xmlns") };
            if prefix != "xmlns" && prefix != "xml" {
                self.bindings.entry(prefix).or_default().push(Namespace::from(&**value));
                bound.push(prefix);
            }
        }
        let name = self.element_name(tag.name);
        let mut attributes: Vec<Attribute> = Vec::with_capacity(tag.attributes.len());
        for (name, value) in tag.attributes {
            let name = self.attribute_name(name);
            if attributes.iter().any(|known| known.name.expanded() == name.expanded()) {
                self.problem("an attribute is given twice");
            } else {
                attributes.push(Attribute { name, value });
            }
        }
        let node =
            self.document.dom.create(NodeData::Element(Element { name, attributes, template: None }), line);
        let parent = self.parent();
        self.document.dom.append(parent, node);
        self.open.push(Open { node, name: tag.name, bound });
        if tag.empty {
            self.close();
        }
    }

    /// Reads a start tag and moves behind it.
    fn scan_tag(&mut self) -> Tag<'a> {
        let bytes = self.text.as_bytes();
        let start = self.position + 1;
        let mut at = skip_name(bytes, start);
        let mut tag = Tag { name: &self.text[start..at], attributes: Vec::new(), empty: false };
        loop {
            at += bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
            match bytes.get(at) {
                None => {
                    self.problem("a tag without end");
                    break;
                }
                Some(b'>') => {
                    at += 1;
                    break;
                }
                Some(b'/') if bytes.get(at + 1) == Some(&b'>') => {
                    tag.empty = true;
                    at += 2;
                    break;
                }
                Some(b'<') => {
                    self.problem("a tag within a tag");
                    break;
                }
                Some(b'/' | b'"' | b'\'' | b'=') => {
                    self.problem("a stray character in a tag");
                    at += 1;
                }
                Some(_) => {
                    let name_start = at;
                    at = skip_name(bytes, at).max(at + 1);
                    while !self.text.is_char_boundary(at) {
                        at += 1;
                    }
                    let name = &self.text[name_start..at];
                    let value;
                    (value, at) = self.attribute_value(at);
                    if tag.attributes.len() < self.limits.html_attributes_max {
                        tag.attributes.push((name, value));
                    }
                }
            }
            if self.cut {
                break;
            }
        }
        self.position = at;
        tag
    }

    /// The value behind an attribute's name at `at`, and where it ends.
    fn attribute_value(&mut self, at: usize) -> (StrTendril, usize) {
        let bytes = self.text.as_bytes();
        let blank = |at: usize| at + bytes[at..].iter().take_while(|byte| byte.is_ascii_whitespace()).count();
        let equals = blank(at);
        if bytes.get(equals) != Some(&b'=') {
            self.problem("an attribute without value");
            return (StrTendril::new(), at);
        }
        let start = blank(equals + 1);
        let (raw, end) = match bytes.get(start) {
            Some(quote @ (b'"' | b'\'')) => match memchr(*quote, &bytes[start + 1..]) {
                Some(length) => (&self.text[start + 1..start + 1 + length], start + length + 2),
                None => {
                    self.problem("an attribute's value without end");
                    (&self.text[start + 1..], bytes.len())
                }
            },
            _ => {
                self.problem("an attribute's value without quotes");
                let length = bytes[start..]
                    .iter()
                    .position(|byte| byte.is_ascii_whitespace() || *byte == b'>')
                    .unwrap_or(bytes.len() - start);
                (&self.text[start..start + length], start + length)
            }
        };
        // White space in a value becomes blanks; a line feed that is meant is written as a reference.
        let value = if raw.bytes().any(|byte| matches!(byte, b'\n' | b'\r' | b'\t')) {
            let blanked = raw.replace("\r\n", " ").replace(['\n', '\r', '\t'], " ");
            self.resolve(&blanked)
        } else {
            self.resolve(raw)
        };
        (value, end)
    }

    fn namespace(&self, prefix: &str) -> Option<Namespace> {
        self.bindings.get(prefix).and_then(|stack| stack.last()).cloned()
    }

    fn element_name(&mut self, name: &str) -> QualName {
        match name.split_once(':') {
            Some((prefix, local)) if !prefix.is_empty() && !local.is_empty() => {
                match self.namespace(prefix) {
                    Some(namespace) => {
                        QualName::new(Some(Prefix::from(prefix)), namespace, LocalName::from(local))
                    }
                    None => {
                        self.problem("a prefix that is not declared");
                        QualName::new(Some(Prefix::from(prefix)), ns!(), LocalName::from(local))
                    }
                }
            }
            _ => QualName::new(None, self.namespace("").unwrap_or(ns!()), LocalName::from(name)),
        }
    }

    fn attribute_name(&mut self, name: &str) -> QualName {
        match name.split_once(':') {
            Some((prefix, local)) if !prefix.is_empty() && !local.is_empty() => {
                let namespace = self.namespace(prefix);
                if namespace.is_none() {
                    self.problem("a prefix that is not declared");
                }
                QualName::new(Some(Prefix::from(prefix)), namespace.unwrap_or(ns!()), LocalName::from(local))
            }
            None if name == "xmlns" => QualName::new(None, ns!(xmlns), local_name!("xmlns")),
            _ => QualName::new(None, ns!(), LocalName::from(name)),
        }
    }
}

/// A start tag as written, its values resolved.
struct Tag<'a> {
    name: &'a str,
    attributes: Vec<(&'a str, StrTendril)>,
    empty: bool,
}

fn is_name_start(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b':') || byte >= 0x80
}

fn is_name(byte: u8) -> bool {
    is_name_start(byte) || byte.is_ascii_digit() || matches!(byte, b'-' | b'.')
}

fn skip_name(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| is_name(**byte)).count()
}

/// True for what may stand between `&` and `;`.
fn is_reference(name: &str) -> bool {
    let bytes = name.strip_prefix('#').unwrap_or(name).as_bytes();
    !bytes.is_empty() && bytes.iter().all(|byte| is_name(*byte))
}

/// The character of a numeric reference, without its `#`.
pub(crate) fn character(number: &str) -> Option<char> {
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    let character = code.ok().and_then(char::from_u32)?;
    // Windows' characters by their old numbers are what is meant, whatever the standard says.
    match u32::from(character) {
        code @ 0x80..=0x9f => html5ever::data::C1_REPLACEMENTS[(code - 0x80) as usize].or(Some(character)),
        0 => None,
        _ => Some(character),
    }
}

/// The character or two that HTML means by a name.
pub(crate) fn html_entity(name: &str) -> Option<(char, Option<char>)> {
    let &(first, second) = NAMED_ENTITIES.get(format!("{name};").as_str())?;
    let second = char::from_u32(second).filter(|character| *character != '\0');
    char::from_u32(first).filter(|character| *character != '\0').map(|first| (first, second))
}

fn shorten(name: &str) -> String {
    name.chars().take(40).collect()
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;
    use std::time::Duration;

    use super::*;
    use crate::dom::Edge;

    /// The tree in a notation where nothing is left to guess.
    fn show(text: &str) -> (String, bool) {
        let document = parse(text, &Limits::default(), Instant::now() + Duration::from_secs(10));
        let mut out = String::new();
        for edge in document.dom.traverse(Dom::ROOT) {
            match (
                &document
                    .dom
                    .node(match edge {
                        Edge::Open(id) | Edge::Close(id) => id,
                    })
                    .data,
                edge,
            ) {
                (NodeData::Element(element), Edge::Open(_)) => {
                    let _ = write!(out, "<{{{}}}{}", element.name.ns, element.name.local);
                    for attribute in &element.attributes {
                        let _ = write!(
                            out,
                            " {{{}}}{}={:?}",
                            attribute.name.ns, attribute.name.local, &*attribute.value
                        );
                    }
                    out.push('>');
                }
                (NodeData::Element(_), Edge::Close(_)) => out.push_str("</>"),
                (NodeData::Text(text), Edge::Open(_)) => out.push_str(text),
                (NodeData::Comment(text), Edge::Open(_)) => {
                    let _ = write!(out, "<!--{text}-->");
                }
                _ => {}
            }
        }
        (out, document.well_formed)
    }

    #[test]
    fn documents_become_trees() {
        for (given, tree, well_formed) in [
            ("<a/>", "<{}a></>", true),
            ("<?xml version='1.0'?>\n<a>x<b y='1'/>z</a>\n", "<{}a>x<{}b {}y=\"1\"></>z</>", true),
            (
                "<p:a xmlns:p='u'><p:b/></p:a>",
                "<{u}a {http://www.w3.org/2000/xmlns/}p=\"u\"><{u}b></></>",
                true,
            ),
            (
                "<a xmlns='u'><b xmlns=''/><c/></a>",
                "<{u}a {http://www.w3.org/2000/xmlns/}xmlns=\"u\"><{}b {http://www.w3.org/2000/xmlns/}xmlns=\"\"></><{u}c></></>",
                true,
            ),
            ("<a xml:lang='de'/>", "<{}a {http://www.w3.org/XML/1998/namespace}lang=\"de\"></>", true),
            ("<a>&lt;&amp;&#65;&#x42;</a>", "<{}a><&AB</>", true),
            ("<a><![CDATA[<b>&amp;]]></a>", "<{}a><b>&amp;</>", true),
            ("<a><!-- c --></a>", "<{}a><!-- c --></>", true),
            ("<!DOCTYPE a [<!ENTITY e 'x&#33;'>]><a b='&e;'>&e;</a>", "<{}a {}b=\"x!\">x!</>", true),
            ("<a b='1\n2&#10;3'>x\r\ny\rz</a>", "<{}a {}b=\"1 2\\n3\">x\ny\nz</>", true),
            // Forgiven.
            ("<a>R&D &nbsp;&nope;</a>", "<{}a>R&D \u{a0}&nope;</>", false),
            ("<a><b>x</a>", "<{}a><{}b>x</></>", false),
            ("<a>x</c>y</a>", "<{}a>xy</>", false),
            ("<a b=1 c>x</a>", "<{}a {}b=\"1\" {}c=\"\">x</>", false),
            ("<a b='1' b='2'/>", "<{}a {}b=\"1\"></>", false),
            ("<a>1 < 2</a>", "<{}a>1 < 2</>", false),
            ("<q:a/>", "<{}a></>", false),
            ("<a>&#0;&#x110000;&#150;</a>", "<{}a>\u{fffd}\u{fffd}\u{2013}</>", false),
            ("<a", "<{}a></>", false),
            ("<a b='", "<{}a {}b=\"\"></>", false),
            ("", "", false),
            ("<!DOCTYPE a [", "", false),
            ("<a é='1'>ü</a>", "<{}a {}é=\"1\">ü</>", true),
        ] {
            assert_eq!(show(given), (tree.to_owned(), well_formed), "{given}");
        }
    }

    #[test]
    fn bombs_do_not_go_off() {
        let mut bomb = "<!DOCTYPE a [<!ENTITY e0 'xxxxxxxxxx'>".to_owned();
        for level in 1..12 {
            let _ = write!(bomb, "<!ENTITY e{level} '{}'>", format!("&e{};", level - 1).repeat(10));
        }
        bomb.push_str("]><a>&e11;</a>");
        for hostile in [
            bomb,
            "<a>".repeat(200_000),
            "</a>".repeat(200_000),
            "<a ".repeat(100_000),
            format!("<a {}>", "b='1' ".repeat(100_000)),
            format!("<a {}>", (0..50_000).map(|n| format!("xmlns:p{n}='u' ")).collect::<String>()),
            "&".repeat(1_000_000),
            "<a>".to_owned() + &"&x;".repeat(300_000),
            "<!ENTITY ".repeat(100_000),
            format!("<!DOCTYPE a [{}", "<!ENTITY ".repeat(100_000)),
        ] {
            let started = Instant::now();
            let document = parse(&hostile, &Limits::default(), started + Duration::from_secs(2));
            assert!(!document.diagnostics.is_empty(), "{}", &hostile[..20]);
        }
    }
}
