//! A namespace-aware, non-validating XML 1.0 parser that fills the engine's own tree.
//!
//! In: bytes in any encoding the Encoding Standard knows. Out: a [`Tree`], or an error with address and line. The
//! internal subset of the document type declaration is read for what changes the tree: entities, default attributes,
//! attribute types ID, unparsed entities. Nothing outside of the document is ever read. Start at [`parse`].

pub(crate) mod characters;
mod decode;
mod dtd;
mod html_entities;

use std::borrow::Cow;
use std::collections::HashSet;

use characters::{is_name, is_ncname, name_length, parse_character_reference};
pub(crate) use decode::decode;
use dtd::{Dtd, EntityValue};

use crate::error::{ErrorKind, Limit, Res, XsltError, limit_error};
use crate::limits::Limits;
use crate::tree::{Atom, EMPTY, NAMESPACES_MAX, NONE, NameId, Tree, TreeBuilder, XML_NAMESPACE, is_space};

const XMLNS_NAMESPACE: &str = "http://www.w3.org/2000/xmlns/";
/// Entities inside of entities.
const ENTITY_DEPTH_MAX: u32 = 40;

/// Parses a document. Its nodes know their lines.
pub(crate) fn parse(bytes: &[u8], uri: &str, limits: &Limits) -> Res<Tree> {
    parse_with(bytes, uri, limits, true)
}

/// Parses a document of which nobody will ask the lines of its nodes; errors still have one.
pub(crate) fn parse_data(bytes: &[u8], uri: &str, limits: &Limits) -> Res<Tree> {
    parse_with(bytes, uri, limits, false)
}

fn parse_with(bytes: &[u8], uri: &str, limits: &Limits, lines: bool) -> Res<Tree> {
    if bytes.len() > limits.input_bytes_max {
        return Err(limit_error(
            Limit::InputBytes,
            format!(
                "<{uri}> has {} bytes, more than {} (limit input_bytes_max)",
                bytes.len(),
                limits.input_bytes_max
            ),
        ));
    }
    let text = decode(bytes).map_err(|error| error.at(uri, 0))?;
    let text = if memchr::memchr(b'\r', text.as_bytes()).is_some() {
        Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n"))
    } else {
        text
    };
    let mut parser = Parser::new(uri, limits);
    parser.lines = lines;
    parser.builder.reserve(text.len());
    let mut cursor = Cursor { text: &text, at: 0, line: 1, line_at: 0, counts: true };
    match parser.document(&mut cursor) {
        Ok(()) => Ok(parser.builder.into_tree()),
        Err(mut error) => {
            if error.line.is_none() && matches!(error.kind, ErrorKind::Xml) {
                error.line = Some(cursor.line());
            }
            if error.stylesheet.is_none() {
                error.stylesheet = Some(uri.to_owned());
            }
            Err(error)
        }
    }
}

fn malformed(message: impl Into<String>) -> Box<XsltError> {
    XsltError::new(ErrorKind::Xml, message)
}

/// A place in a text.
pub(crate) struct Cursor<'i> {
    text: &'i str,
    at: usize,
    line: u32,
    line_at: usize,
    /// Whether lines are counted; they are not inside of entities.
    counts: bool,
}

impl<'i> Cursor<'i> {
    fn entity(text: &'i str, line: u32) -> Self {
        Self { text, at: 0, line, line_at: 0, counts: false }
    }

    fn rest(&self) -> &'i str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    /// The line the cursor is on; counted from where it was last asked for.
    fn line(&mut self) -> u32 {
        if self.counts && self.at > self.line_at {
            let passed = &self.text.as_bytes()[self.line_at..self.at];
            self.line += memchr::memchr_iter(b'\n', passed).count() as u32;
            self.line_at = self.at;
        }
        self.line
    }

    fn eat(&mut self, expected: &str) -> bool {
        let found = self.rest().starts_with(expected);
        if found {
            self.at += expected.len();
        }
        found
    }

    fn expect(&mut self, expected: &str, what: &str) -> Res<()> {
        if self.eat(expected) { Ok(()) } else { Err(malformed(format!("`{expected}` is missing {what}"))) }
    }

    fn skip_space(&mut self) -> bool {
        let start = self.at;
        while self.peek().is_some_and(is_space) {
            self.at += 1;
        }
        self.at > start
    }

    fn require_space(&mut self, what: &str) -> Res<()> {
        if self.skip_space() { Ok(()) } else { Err(malformed(format!("white space is missing {what}"))) }
    }

    /// Reads a name; colons belong to it.
    fn name(&mut self, what: &str) -> Res<&'i str> {
        let rest = self.rest();
        let length = name_length(rest);
        if length == 0 {
            return Err(no_name(what));
        }
        self.at += length;
        Ok(&rest[..length])
    }

    /// Reads up to `end`, which is passed too.
    fn until(&mut self, end: &str, what: &str) -> Res<&'i str> {
        let rest = self.rest();
        let Some(length) = memchr::memmem::find(rest.as_bytes(), end.as_bytes()) else {
            return Err(malformed(format!("{what} is not closed by `{end}`")));
        };
        self.at += length + end.len();
        Ok(&rest[..length])
    }

    /// Reads a quoted string.
    fn quoted(&mut self, what: &str) -> Res<&'i str> {
        match self.peek() {
            Some(b'"') => {
                self.at += 1;
                self.until("\"", what)
            }
            Some(b'\'') => {
                self.at += 1;
                self.until("'", what)
            }
            _ => Err(malformed(format!("{what} is not quoted"))),
        }
    }
}

/// A name as written and what it was last resolved to; a name is seldom resolved twice in a row.
struct RawName {
    raw: Box<str>,
    /// Its first bytes, and which of eight bytes are of the name.
    head: u64,
    mask: u64,
    prefix: u16,
    /// The name that came after this one when it was last seen: documents repeat themselves.
    next: KnownName,
    prefix_length: usize,
    local: Atom,
    namespace: Atom,
    name: NameId,
}

/// The number of a name in the cache.
type KnownName = u16;
/// A name that is not in the cache.
const UNKNOWN: KnownName = KnownName::MAX;

impl RawName {
    /// Whether these bytes start with the name and with nothing that could make it longer.
    #[inline]
    fn is_next(&self, bytes: &[u8]) -> bool {
        let length = self.raw.len();
        bytes.first_chunk::<8>().is_some_and(|first| u64::from_le_bytes(*first) & self.mask == self.head)
            && (length <= 8 || bytes[8..].starts_with(&self.raw.as_bytes()[8..]))
            && bytes.get(length).is_some_and(|byte| matches!(byte, b'>' | b' ' | b'=' | b'/'))
    }
}

/// The first bytes of a name as a number, by which most names can be told apart.
#[inline]
fn head(name: &str) -> u64 {
    let bytes = name.as_bytes();
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_le_bytes(*first),
        None => bytes.iter().rev().fold(0, |head, byte| (head << 8) | u64::from(*byte)),
    }
}

/// An element that was opened, by its name.
#[derive(Clone, Copy)]
struct OpenTag<'i> {
    name: &'i str,
    /// How many namespaces were in scope before it.
    mark: usize,
}

struct RawAttribute<'i> {
    raw: &'i str,
    known: KnownName,
    value: Cow<'i, str>,
}

/// Places for names in the cache.
const SLOTS: usize = 512;
/// Places that are looked at for one name.
const PROBES: usize = 4;

struct Parser<'l> {
    builder: TreeBuilder,
    limits: &'l Limits,
    dtd: Dtd,
    /// Namespaces in scope, the innermost last.
    scope: Vec<(u16, Atom)>,
    /// For each slot the number of a name in `known`, counted from one.
    slots: [KnownName; SLOTS],
    known: Vec<RawName>,
    /// The name that was read last, and the one that is expected now.
    last: KnownName,
    expected: KnownName,
    entity_bytes: usize,
    base: String,
    /// Whether nodes are told their lines.
    lines: bool,
}

impl<'l> Parser<'l> {
    fn new(uri: &str, limits: &'l Limits) -> Self {
        Self {
            builder: TreeBuilder::new(uri, limits.nodes_max),
            limits,
            dtd: Dtd::default(),
            scope: Vec::new(),
            slots: [0; SLOTS],
            known: Vec::new(),
            last: UNKNOWN,
            expected: UNKNOWN,
            entity_bytes: 0,
            base: uri.to_owned(),
            lines: true,
        }
    }

    fn document(&mut self, cursor: &mut Cursor<'_>) -> Res<()> {
        if let Some((at, character)) = characters::first_forbidden(cursor.text) {
            cursor.at = at;
            return Err(malformed(format!("the character U+{:04X} is not allowed in XML", character as u32)));
        }
        if cursor.rest().starts_with("<?xml")
            && cursor.rest()[5..].starts_with(|c: char| c.is_ascii_whitespace())
        {
            cursor.at += 5;
            self.declaration(cursor)?;
        }
        let mut seen_doctype = false;
        let mut seen_element = false;
        loop {
            cursor.skip_space();
            if cursor.at == cursor.text.len() {
                break;
            }
            if cursor.eat("<!--") {
                self.comment(cursor)?;
            } else if cursor.eat("<?") {
                self.instruction(cursor)?;
            } else if cursor.rest().starts_with("<!DOCTYPE") && !seen_doctype && !seen_element {
                cursor.at += "<!DOCTYPE".len();
                self.doctype(cursor)?;
                seen_doctype = true;
            } else if cursor.peek() == Some(b'<') && !seen_element {
                seen_element = true;
                self.content(cursor, true, 0)?;
            } else if seen_element {
                return Err(malformed("there is something after the end of the document element"));
            } else {
                return Err(malformed("the document does not start with an element"));
            }
        }
        if seen_element { Ok(()) } else { Err(malformed("the document has no element")) }
    }

    /// `<?xml version="1.0" …?>`, after `<?xml`.
    fn declaration(&mut self, cursor: &mut Cursor<'_>) -> Res<()> {
        let mut position = 0;
        loop {
            let spaced = cursor.skip_space();
            if cursor.eat("?>") {
                break;
            }
            let name = cursor.name("in the XML declaration")?;
            cursor.skip_space();
            cursor.expect("=", "in the XML declaration")?;
            cursor.skip_space();
            let value = cursor.quoted("a value in the XML declaration")?;
            let place = match name {
                "version" => 1,
                "encoding" => 2,
                "standalone" => 3,
                _ => 0,
            };
            let valid = match name {
                "version" => value.starts_with("1.") && value.len() > 2,
                "encoding" => value.starts_with(|c: char| c.is_ascii_alphabetic()),
                _ => value == "yes" || value == "no",
            };
            if place <= position || !spaced || !valid || (position == 0 && place != 1) {
                return Err(malformed("the XML declaration is wrong"));
            }
            if name == "standalone" && value == "yes" {
                self.dtd.standalone = true;
            }
            position = place;
        }
        if position == 0 {
            return Err(malformed("the XML declaration has no version"));
        }
        Ok(())
    }

    /// Says the line of the nodes to come.
    #[inline]
    fn set_line(&mut self, cursor: &mut Cursor<'_>) {
        if self.lines {
            self.builder.set_line(cursor.line());
        }
    }

    fn comment(&mut self, cursor: &mut Cursor<'_>) -> Res<()> {
        self.set_line(cursor);
        let text = cursor.until("--", "a comment")?;
        cursor.expect(">", "after `--` in a comment")?;
        self.builder.comment(text)?;
        Ok(())
    }

    fn instruction(&mut self, cursor: &mut Cursor<'_>) -> Res<()> {
        self.set_line(cursor);
        let (target, content) = instruction(cursor)?;
        self.builder.processing_instruction(target, content)?;
        Ok(())
    }

    fn doctype(&mut self, cursor: &mut Cursor<'_>) -> Res<()> {
        let base = self.base.clone();
        let dtd = &mut self.dtd;
        dtd.doctype(cursor, &base, self.limits, &mut self.builder.unparsed_entities)
    }

    /// Reads content: of one element if `single` (with its tags), else of an entity until its end.
    fn content(&mut self, cursor: &mut Cursor<'_>, single: bool, entity_depth: u32) -> Res<()> {
        let mut open: Vec<OpenTag<'_>> = Vec::new();
        let mut attributes: Vec<RawAttribute<'_>> = Vec::new();
        let bytes = cursor.text.as_bytes();
        loop {
            let first = match bytes.get(cursor.at) {
                Some(first @ (b'<' | b'&')) => *first,
                Some(_) => {
                    let rest = cursor.rest();
                    let text = &rest[..text_length(rest.as_bytes())?];
                    self.set_line(cursor);
                    cursor.at += text.len();
                    self.builder.add_text(text)?;
                    continue;
                }
                None => {
                    return match open.last() {
                        Some(OpenTag { name, .. }) => {
                            Err(malformed(format!("the element `{name}` is not closed")))
                        }
                        None if single => Err(malformed("the document element is missing")),
                        None => Ok(()),
                    };
                }
            };
            if first == b'&' {
                self.reference(cursor, entity_depth)?;
                continue;
            }
            match bytes.get(cursor.at + 1) {
                Some(b'/') => {
                    cursor.at += 2;
                    if let Some(expected) = open.last()
                        && let Some(after) = bytes[cursor.at..].strip_prefix(expected.name.as_bytes())
                        && after.first() == Some(&b'>')
                    {
                        cursor.at += expected.name.len() + 1;
                    } else {
                        let name = cursor.name("in an end tag")?;
                        cursor.skip_space();
                        cursor.expect(">", "in an end tag")?;
                        match open.last() {
                            Some(expected) if expected.name == name => {}
                            Some(expected) => {
                                return Err(malformed(format!(
                                    "`</{name}>` closes the element `{}`",
                                    expected.name
                                )));
                            }
                            None => return Err(malformed(format!("`</{name}>` closes no element"))),
                        }
                    }
                    self.builder.end_element();
                    self.scope.truncate(open.pop().map_or(0, |open| open.mark));
                    if single && open.is_empty() {
                        return Ok(());
                    }
                }
                Some(b'!') => {
                    if cursor.eat("<!--") {
                        self.comment(cursor)?;
                    } else if cursor.eat("<![CDATA[") {
                        self.set_line(cursor);
                        let text = cursor.until("]]>", "a CDATA section")?;
                        self.builder.add_text(text)?;
                    } else {
                        return Err(malformed("`<!` starts neither a comment nor a CDATA section"));
                    }
                }
                Some(b'?') => {
                    cursor.at += 2;
                    self.instruction(cursor)?;
                }
                _ => {
                    let mark = self.scope.len();
                    self.set_line(cursor);
                    cursor.at += 1;
                    let (name, known) = self.name(cursor, "after `<`")?;
                    let empty = if cursor.peek() == Some(b'>') && !self.dtd.has_attributes() {
                        cursor.at += 1;
                        let (prefix, name) = self.resolve(name, known, true)?;
                        self.builder.start(prefix, name)?;
                        false
                    } else {
                        self.start_tag(cursor, name, known, &mut attributes)?
                    };
                    if empty {
                        self.builder.end_element();
                        self.scope.truncate(mark);
                        if single && open.is_empty() {
                            return Ok(());
                        }
                    } else {
                        open.push(OpenTag { name, mark });
                    }
                }
            }
        }
    }

    /// Reads the attributes of a start tag and opens the element. Says whether it was empty.
    fn start_tag<'i>(
        &mut self,
        cursor: &mut Cursor<'i>,
        element: &'i str,
        known: KnownName,
        attributes: &mut Vec<RawAttribute<'i>>,
    ) -> Res<bool> {
        attributes.clear();
        let empty = loop {
            let spaced = cursor.skip_space();
            match cursor.peek() {
                Some(b'>') => {
                    cursor.at += 1;
                    break false;
                }
                Some(b'/') => {
                    cursor.at += 1;
                    cursor.expect(">", "after `/` in a tag")?;
                    break true;
                }
                None => return Err(malformed(format!("the tag of `{element}` is not closed"))),
                Some(_) if !spaced => {
                    return Err(malformed(format!("white space is missing in the tag of `{element}`")));
                }
                Some(_) => {}
            }
            let (raw, number) = self.name(cursor, "in a tag")?;
            let quote = match cursor.text.as_bytes()[cursor.at..] {
                [b'=', quote @ (b'"' | b'\''), ..] => {
                    cursor.at += 2;
                    quote
                }
                _ => {
                    cursor.skip_space();
                    if !cursor.eat("=") {
                        return Err(malformed(format!("`=` is missing after the attribute `{raw}`")));
                    }
                    cursor.skip_space();
                    let Some(quote @ (b'"' | b'\'')) = cursor.peek() else {
                        return Err(malformed(format!("the value of the attribute `{raw}` is not quoted")));
                    };
                    cursor.at += 1;
                    quote
                }
            };
            let rest = cursor.rest();
            // Most values end before anything else has to be done about them.
            let marks = if quote == b'"' { &VALUE_MARKS[0] } else { &VALUE_MARKS[1] };
            let plain = rest.bytes().position(|byte| marks[usize::from(byte)]);
            let (length, value) = match plain {
                Some(length) if rest.as_bytes()[length] == quote => (length, Cow::Borrowed(&rest[..length])),
                _ => {
                    let Some(length) = memchr::memchr(quote, rest.as_bytes()) else {
                        return Err(malformed(format!("the value of the attribute `{raw}` is not closed")));
                    };
                    (length, self.attribute_value(&rest[..length], 0)?)
                }
            };
            cursor.at += length + 1;
            attributes.push(RawAttribute { raw, known: number, value });
        };
        if self.dtd.has_attributes() {
            self.dtd.normalise(element, attributes);
            let defaults = self.dtd.defaults(element, attributes);
            if !defaults.is_empty() {
                let specified = attributes.drain(..).map(|RawAttribute { raw, known, value }| RawAttribute {
                    raw,
                    known,
                    value,
                });
                let defaulted = defaults.iter().map(|(name, value)| RawAttribute {
                    raw: name.as_str(),
                    known: UNKNOWN,
                    value: Cow::Borrowed(value.as_str()),
                });
                let all: Vec<RawAttribute<'_>> = specified.chain(defaulted).collect();
                self.open(element, known, &all)?;
                return Ok(empty);
            }
        }
        self.open(element, known, attributes)?;
        Ok(empty)
    }

    /// Declares namespaces, resolves names and adds the element and its attributes to the tree.
    fn open(&mut self, element: &str, known: KnownName, attributes: &[RawAttribute<'_>]) -> Res<()> {
        let mark = self.scope.len();
        // Most attributes are told from a declaration by their first letter.
        for attribute in attributes.iter().filter(|attribute| attribute.raw.starts_with('x')) {
            let prefix = match attribute.raw.strip_prefix("xmlns") {
                Some("") => "",
                Some(rest) if rest.starts_with(':') => &rest[1..],
                _ => continue,
            };
            let uri: &str = &attribute.value;
            if attribute.raw.len() > 5 && !is_ncname(prefix) {
                return Err(malformed(format!("`{}` is no namespace declaration", attribute.raw)));
            }
            if prefix == "xmlns" || uri == XMLNS_NAMESPACE || ((prefix == "xml") != (uri == XML_NAMESPACE)) {
                return Err(malformed(format!("`{}=\"{uri}\"` must not be declared", attribute.raw)));
            }
            if !prefix.is_empty() && uri.is_empty() {
                return Err(malformed(format!("the prefix `{prefix}` is declared as nothing")));
            }
            if prefix == "xml" {
                continue;
            }
            let (prefix, uri) = (self.builder.prefix(prefix)?, self.builder.atom(uri));
            if self.scope[mark..].iter().any(|(known, _)| *known == prefix) {
                return Err(malformed(format!("`{}` is there twice", attribute.raw)));
            }
            if self.scope.len() >= NAMESPACES_MAX {
                return Err(limit_error(
                    Limit::Nodes,
                    format!("an element has more than {NAMESPACES_MAX} namespaces in scope"),
                ));
            }
            self.scope.push((prefix, uri));
        }
        let (prefix, name) = self.resolve(element, known, true)?;
        self.builder.start(prefix, name)?;
        for at in mark..self.scope.len() {
            let (prefix, uri) = self.scope[at];
            self.builder.declare(prefix, uri)?;
        }
        if attributes.is_empty() {
            return Ok(());
        }
        let first = self.builder.len();
        let mut seen: Option<HashSet<NameId>> = None;
        let mut few: [NameId; 8] = [NONE; 8];
        for attribute in attributes {
            let special = attribute.raw.starts_with('x');
            if special && (attribute.raw == "xmlns" || attribute.raw.starts_with("xmlns:")) {
                continue;
            }
            let (prefix, name) = self.resolve(attribute.raw, attribute.known, false)?;
            let number = self.builder.len() - first;
            let twice = if number < few.len() {
                let twice = few[..number].contains(&name);
                few[number] = name;
                twice
            } else {
                !seen.get_or_insert_with(|| few.into()).insert(name)
            };
            if twice {
                return Err(malformed(format!("the attribute `{}` is there twice", attribute.raw)));
            }
            if special && attribute.raw == "xml:base" {
                self.builder.set_has_bases();
            }
            self.builder.add_attribute(prefix, name, &attribute.value)?;
            if (special && attribute.raw == "xml:id") || self.dtd.is_id(element, attribute.raw) {
                self.builder.set_id(attribute.value.trim_matches(' '));
            }
        }
        Ok(())
    }

    /// Reads a name; colons belong to it. Gives its number too.
    #[inline]
    fn name<'i>(&mut self, cursor: &mut Cursor<'i>, what: &str) -> Res<(&'i str, KnownName)> {
        if let Some(expected) = self.known.get(usize::from(self.expected))
            && expected.is_next(&cursor.text.as_bytes()[cursor.at..])
        {
            let start = cursor.at;
            cursor.at += expected.raw.len();
            self.last = std::mem::replace(&mut self.expected, expected.next);
            return Ok((&cursor.text[start..cursor.at], self.last));
        }
        self.other_name(cursor, what)
    }

    /// Reads a name that was not expected.
    #[inline(never)]
    fn other_name<'i>(&mut self, cursor: &mut Cursor<'i>, what: &str) -> Res<(&'i str, KnownName)> {
        let raw = cursor.name(what)?;
        let number = match self.known_name(raw) {
            Some(number) => number,
            None => self.learn_name(raw)?,
        };
        if let Some(last) = self.known.get_mut(usize::from(self.last)) {
            last.next = number;
        }
        self.last = number;
        self.expected = self.known.get(usize::from(number)).map_or(UNKNOWN, |known| known.next);
        Ok((raw, number))
    }

    /// Prefix and expanded name of a name as written.
    fn resolve(&mut self, raw: &str, known: KnownName, element: bool) -> Res<(u16, NameId)> {
        let Some(known) = self.known.get_mut(usize::from(known)) else {
            return self.resolve_unknown(raw, element);
        };
        let prefix = known.prefix;
        let namespace = if prefix == 0 && !element {
            EMPTY
        } else {
            match self.scope.iter().rev().find(|(known, _)| *known == prefix) {
                Some((_, uri)) => *uri,
                None if prefix == 0 => EMPTY,
                None => undeclared(&mut self.builder, &raw[..known.prefix_length])?,
            }
        };
        if known.namespace != namespace {
            known.namespace = namespace;
            known.name = self.builder.name_of_atoms(namespace, known.local);
        }
        Ok((prefix, known.name))
    }

    /// The same for a name that is not in the cache.
    #[cold]
    fn resolve_unknown(&mut self, raw: &str, element: bool) -> Res<(u16, NameId)> {
        let (prefix, local) = raw.split_once(':').unwrap_or(("", raw));
        if raw.contains(':') && !(is_ncname(prefix) && is_ncname(local)) {
            return Err(malformed(format!("`{raw}` is not a name with a prefix")));
        }
        let number = self.builder.prefix(prefix)?;
        let namespace = match self.scope.iter().rev().find(|(known, _)| *known == number) {
            _ if prefix.is_empty() && !element => EMPTY,
            Some((_, uri)) => *uri,
            None if prefix.is_empty() => EMPTY,
            None => undeclared(&mut self.builder, prefix)?,
        };
        let local = self.builder.atom(local);
        Ok((number, self.builder.name_of_atoms(namespace, local)))
    }

    /// The slots where a name may be.
    #[inline]
    fn slots(raw: &str, head: u64) -> impl Iterator<Item = usize> + use<> {
        let last = raw.as_bytes().last().map_or(0, |byte| u64::from(*byte));
        let mixed = (head ^ (last << 56) ^ raw.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let first = (mixed >> 55) as usize;
        (0..PROBES).map(move |next| (first + next) % SLOTS)
    }

    /// The number of a name that was seen before.
    #[inline]
    fn known_name(&self, raw: &str) -> Option<KnownName> {
        let head = head(raw);
        for slot in Self::slots(raw, head) {
            let number = self.slots[slot].checked_sub(1)?;
            let known = &self.known[usize::from(number)];
            if known.head == head && *known.raw == *raw {
                return Some(number);
            }
        }
        None
    }

    /// Takes a name into the cache if there is a slot for it. What is no name of an element or attribute stays out.
    #[cold]
    fn learn_name(&mut self, raw: &str) -> Res<KnownName> {
        let (prefix, local) = raw.split_once(':').unwrap_or(("", raw));
        let wrong = raw.contains(':') && !(is_ncname(prefix) && is_ncname(local));
        let head = head(raw);
        let free = Self::slots(raw, head).find(|slot| self.slots[*slot] == 0);
        let Some(slot) = free.filter(|_| !wrong && prefix != "xmlns") else { return Ok(UNKNOWN) };
        self.known.push(RawName {
            raw: Box::from(raw),
            head,
            mask: if raw.len() < 8 { (1 << (8 * raw.len())) - 1 } else { u64::MAX },
            prefix: self.builder.prefix(prefix)?,
            next: UNKNOWN,
            prefix_length: prefix.len(),
            local: self.builder.atom(local),
            namespace: NONE,
            name: NONE,
        });
        // There are at most as many names as slots.
        self.slots[slot] = self.known.len() as KnownName;
        Ok(self.slots[slot] - 1)
    }

    /// `&…;` in content.
    fn reference(&mut self, cursor: &mut Cursor<'_>, entity_depth: u32) -> Res<()> {
        self.set_line(cursor);
        cursor.at += 1;
        // By far the most frequent ones.
        for (written, text) in [("amp;", "&"), ("lt;", "<"), ("gt;", ">"), ("quot;", "\"")] {
            if cursor.eat(written) {
                return self.builder.add_text(text);
            }
        }
        let name = reference_name(cursor)?;
        if let Some(character) = name.strip_prefix('#') {
            let character = parse_character_reference(character)
                .ok_or_else(|| malformed(format!("`&{name};` stands for no character")))?;
            return self.builder.add_text(character.encode_utf8(&mut [0; 4]));
        }
        if let Some(text) = characters::predefined(name) {
            return self.builder.add_text(text);
        }
        match self.dtd.entity(name)? {
            Some(EntityValue::Text(text)) => {
                self.spend_entity(&text)?;
                if memchr::memchr2(b'<', b'&', text.as_bytes()).is_none() {
                    return self.builder.add_text(&text);
                }
                if entity_depth >= ENTITY_DEPTH_MAX {
                    return Err(malformed(format!(
                        "the entity `{name}` contains itself, or others too deeply"
                    )));
                }
                let mut inner = Cursor::entity(&text, cursor.line());
                self.content(&mut inner, false, entity_depth + 1)
            }
            Some(EntityValue::Unread) | None => Ok(()),
            Some(EntityValue::Unparsed) => {
                Err(malformed(format!("the unparsed entity `{name}` must not be in content")))
            }
        }
    }

    fn spend_entity(&mut self, text: &str) -> Res<()> {
        self.entity_bytes = self.entity_bytes.saturating_add(text.len().max(8));
        if self.entity_bytes > self.limits.entity_bytes_max {
            return Err(limit_error(
                Limit::EntityBytes,
                format!(
                    "entities expand to more than {} bytes (limit entity_bytes_max)",
                    self.limits.entity_bytes_max
                ),
            ));
        }
        Ok(())
    }

    /// The normalised value of an attribute.
    fn attribute_value<'i>(&mut self, literal: &'i str, entity_depth: u32) -> Res<Cow<'i, str>> {
        let plain = |byte: u8| !matches!(byte, b'<' | b'&' | b'\t' | b'\n' | b'\r');
        if literal.bytes().all(plain) {
            return Ok(Cow::Borrowed(literal));
        }
        let mut value = String::with_capacity(literal.len());
        let mut cursor = Cursor::entity(literal, 0);
        while let Some(byte) = cursor.peek() {
            match byte {
                b'<' => return Err(malformed("`<` must not be in an attribute")),
                b'\t' | b'\n' | b'\r' => {
                    value.push(' ');
                    cursor.at += 1;
                }
                b'&' => {
                    cursor.at += 1;
                    let name = reference_name(&mut cursor)?;
                    if let Some(character) = name.strip_prefix('#') {
                        value.push(
                            parse_character_reference(character)
                                .ok_or_else(|| malformed(format!("`&{name};` stands for no character")))?,
                        );
                    } else if let Some(text) = characters::predefined(name) {
                        value.push_str(text);
                    } else {
                        match self.dtd.entity(name)? {
                            Some(EntityValue::Text(text)) => {
                                self.spend_entity(&text)?;
                                if entity_depth >= ENTITY_DEPTH_MAX {
                                    return Err(malformed(format!("the entity `{name}` contains itself")));
                                }
                                value.push_str(&self.attribute_value(&text, entity_depth + 1)?);
                            }
                            Some(_) => {
                                return Err(malformed(format!(
                                    "the external entity `{name}` must not be in an attribute"
                                )));
                            }
                            None => {}
                        }
                    }
                }
                _ => {
                    let run =
                        cursor.rest().bytes().position(|byte| !plain(byte)).unwrap_or(cursor.rest().len());
                    value.push_str(&cursor.rest()[..run]);
                    cursor.at += run;
                }
            }
        }
        Ok(Cow::Owned(value))
    }
}

/// What cannot stay as it is in the value of an attribute, and what ends it: in double quotes and in single ones.
const VALUE_MARKS: [[bool; 256]; 2] = [value_marks(b'"'), value_marks(b'\'')];

const fn value_marks(quote: u8) -> [bool; 256] {
    let mut table = [false; 256];
    let marks = [quote, b'<', b'&', b'\t', b'\n', b'\r'];
    let mut number = 0;
    while number < marks.len() {
        table[marks[number] as usize] = true;
        number += 1;
    }
    table
}

#[cold]
fn no_name(what: &str) -> Box<XsltError> {
    malformed(format!("a name is missing {what}"))
}

/// The namespace of a prefix that no element declares: only `xml` has one.
#[cold]
fn undeclared(builder: &mut TreeBuilder, prefix: &str) -> Res<Atom> {
    match prefix {
        "xml" => Ok(builder.atom(XML_NAMESPACE)),
        _ => Err(malformed(format!("the prefix `{prefix}` is not declared"))),
    }
}

/// How many bytes of text there are before the next tag or reference.
#[inline]
fn text_length(bytes: &[u8]) -> Res<usize> {
    // White space between tags is over sooner than a search could begin.
    if let [b'\n', b'<', ..] = bytes {
        return Ok(1);
    }
    let mut from = 0;
    loop {
        let Some(found) = memchr::memchr3(b'<', b'&', b']', &bytes[from..]) else { return Ok(bytes.len()) };
        let at = from + found;
        if bytes[at] != b']' {
            return Ok(at);
        }
        if bytes[at..].starts_with(b"]]>") {
            return Err(malformed("`]]>` must not be in text"));
        }
        from = at + 1;
    }
}

/// Reads a processing instruction, after `<?`.
fn instruction<'i>(cursor: &mut Cursor<'i>) -> Res<(&'i str, &'i str)> {
    let target = cursor.name("after `<?`")?;
    if target.eq_ignore_ascii_case("xml") {
        return Err(malformed("an XML declaration is only allowed at the very start"));
    }
    if !is_ncname(target) {
        return Err(malformed(format!("the target `{target}` must not have a colon")));
    }
    if cursor.eat("?>") {
        return Ok((target, ""));
    }
    cursor.require_space("after the target of a processing instruction")?;
    Ok((target, cursor.until("?>", "a processing instruction")?))
}

/// Reads the name of a reference, after `&`, and its semicolon.
fn reference_name<'i>(cursor: &mut Cursor<'i>) -> Res<&'i str> {
    let rest = cursor.rest();
    let end = rest
        .bytes()
        .take(256)
        .position(|byte| byte == b';' || is_space(byte) || byte == b'<' || byte == b'&');
    match end {
        Some(end) if rest.as_bytes()[end] == b';' && (rest.starts_with('#') || is_name(&rest[..end])) => {
            cursor.at += end + 1;
            Ok(&rest[..end])
        }
        _ => Err(malformed("`&` starts no reference; write `&amp;`")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names of all nodes of a document that have one, as written.
    fn names(document: &str) -> Vec<String> {
        let tree =
            parse(document.as_bytes(), "urn:test", &Limits::default()).expect("the document is well-formed");
        let all = 0..tree.nodes.len() as u32;
        all.filter(|at| tree.node(*at).name != NONE).map(|at| tree.qualified_name(at)).collect()
    }

    #[test]
    fn names_that_start_with_an_expected_one_are_their_own() {
        let document = "<a><title/><link x='1'/><titles/><lin x-y='1'/><title/><link\nx='1'/><categories/><category/>\
                        <categories/><category2/></a>";
        let expected = "a title link x titles lin x-y title link x categories category categories category2";
        assert_eq!(names(document), expected.split(' ').collect::<Vec<_>>());
    }

    #[test]
    fn more_names_than_are_remembered() {
        let written: Vec<String> = (0..2000).map(|number| format!("name-{number}")).collect();
        let elements: String = written.iter().map(|name| format!("<{name} p:{name}=''/>")).collect();
        let document = format!("<r xmlns:p='urn:p'>{elements}{elements}</r>");
        let pairs = written.iter().flat_map(|name| [name.clone(), format!("p:{name}")]);
        let expected: Vec<String> =
            std::iter::once("r".to_owned()).chain(pairs.clone()).chain(pairs).collect();
        assert_eq!(names(&document), expected);
    }
}
