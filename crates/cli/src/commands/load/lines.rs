//! N-Triples and N-Quads by the line, at the speed of memory.
//!
//! In: whole lines of a file. Out: a [`LineLot`], the lines' text and where in it the terms are; no term is copied but those
//! that are written with escapes and blank nodes, which get names of their own. What is written plainly, as nearly all lines of all
//! dumps are, is checked and taken here. Any other line, wrong ones too, goes to the real parser: this one only ever says
//! "plain" or "not for me". Start at [`LineLot::read`].

use memchr::{memchr, memchr3};
use oxrdf::{
    BlankNodeRef, GraphNameRef, LiteralRef, NamedNodeRef, NamedOrBlankNodeRef, Quad, QuadRef, TermRef,
};
use oxrdfio::{RdfFormat, RdfParser};

use super::read::{Source, placed, problem};
use webloom_model::BlankScope;

/// The quads of some lines.
#[derive(Debug, Default)]
pub(super) struct LineLot {
    text: String,
    /// What is not in the text as it is: unescaped literals, names of blank nodes, language tags in lower case.
    made: String,
    lines: Vec<Line>,
    /// What the real parser read.
    others: Vec<Quad>,
}

#[derive(Debug, Clone, Copy)]
enum Line {
    Plain { subject: Node, predicate: Span, object: Object, graph: Option<Node> },
    Other(usize),
}

/// A piece of the text, or of what was made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Span {
    made: bool,
    start: u32,
    end: u32,
}

#[derive(Debug, Clone, Copy)]
enum Node {
    Iri(Span),
    Blank(Span),
}

#[derive(Debug, Clone, Copy)]
enum Object {
    Node(Node),
    Simple(Span),
    Language(Span, Span),
    Typed(Span, Span),
}

/// The line is for the real parser.
struct NotPlain;

impl LineLot {
    /// Reads lines. Problems are told with the number of their line in the file.
    pub(super) fn read(
        bytes: Vec<u8>,
        lines_before: u64,
        source: &Source,
        scope: &BlankScope,
        problems: &mut Vec<String>,
    ) -> Self {
        let mut lot = Self::default();
        // Spans are numbers of 32 bits; chunks are far smaller, unless a line is not.
        let is_small = u32::try_from(bytes.len().saturating_mul(2)).is_ok();
        let text = match String::from_utf8(bytes) {
            Ok(text) if is_small => text,
            Ok(text) => {
                lot.read_otherwise(text.as_bytes(), lines_before, source, scope, problems);
                return lot;
            }
            Err(error) => {
                lot.read_otherwise(error.as_bytes(), lines_before, source, scope, problems);
                return lot;
            }
        };
        let in_graphs = source.format == RdfFormat::NQuads;
        let bytes = text.as_bytes();
        // A byte order mark is no part of the first line.
        let mark = if lines_before == 0 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { 0 };
        let (mut at, mut number) = (mark, lines_before);
        while at < bytes.len() {
            let end = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |length| at + length);
            let mut cursor = Cursor { bytes, at, end, made: &mut lot.made, scope };
            match cursor.line(in_graphs) {
                Ok(Some(line)) => lot.lines.push(line),
                Ok(None) => {}
                // With its end, without which the parser would miss that too.
                Err(NotPlain) => {
                    let line = &bytes[at..bytes.len().min(end + 1)];
                    lot.read_otherwise(line, number, source, scope, problems);
                }
            }
            at = end + 1;
            number += 1;
        }
        lot.text = text;
        lot
    }

    fn read_otherwise(
        &mut self,
        bytes: &[u8],
        lines_before: u64,
        source: &Source,
        scope: &BlankScope,
        problems: &mut Vec<String>,
    ) {
        for quad in RdfParser::from_format(source.format).for_slice(bytes) {
            match quad {
                Ok(quad) => {
                    self.lines.push(Line::Other(self.others.len()));
                    self.others.push(placed(quad, &source.graph, &mut |node| scope.named(node.as_str())));
                }
                Err(error) => problems.push(problem(&error, lines_before)),
            }
        }
    }

    pub(super) fn len(&self) -> usize {
        self.lines.len()
    }

    /// The quads, in the order of the lines; those that name no graph are in `graph`.
    pub(super) fn quads<'a>(&'a self, graph: GraphNameRef<'a>) -> impl Iterator<Item = QuadRef<'a>> + Clone {
        self.lines.iter().map(move |line| match line {
            Line::Other(place) => self.others[*place].as_ref(),
            Line::Plain { subject, predicate, object, graph: named } => QuadRef {
                subject: self.node(*subject),
                predicate: self.iri(*predicate),
                object: match *object {
                    Object::Node(node) => self.node(node).into(),
                    Object::Simple(value) => {
                        TermRef::Literal(LiteralRef::new_simple_literal(self.text_of(value)))
                    }
                    Object::Language(value, language) => {
                        TermRef::Literal(LiteralRef::new_language_tagged_literal_unchecked(
                            self.text_of(value),
                            self.text_of(language),
                        ))
                    }
                    Object::Typed(value, datatype) => TermRef::Literal(LiteralRef::new_typed_literal(
                        self.text_of(value),
                        self.iri(datatype),
                    )),
                },
                graph_name: match named {
                    None => graph,
                    Some(node) => match self.node(*node) {
                        NamedOrBlankNodeRef::NamedNode(node) => GraphNameRef::NamedNode(node),
                        NamedOrBlankNodeRef::BlankNode(node) => GraphNameRef::BlankNode(node),
                    },
                },
            },
        })
    }

    fn text_of(&self, span: Span) -> &str {
        let text = if span.made { &self.made } else { &self.text };
        &text[span.start as usize..span.end as usize]
    }

    fn iri(&self, span: Span) -> NamedNodeRef<'_> {
        NamedNodeRef::new_unchecked(self.text_of(span))
    }

    fn node(&self, node: Node) -> NamedOrBlankNodeRef<'_> {
        match node {
            Node::Iri(span) => self.iri(span).into(),
            Node::Blank(span) => BlankNodeRef::new_unchecked(self.text_of(span)).into(),
        }
    }
}

/// A place in a line.
struct Cursor<'a> {
    bytes: &'a [u8],
    at: usize,
    end: usize,
    made: &'a mut String,
    scope: &'a BlankScope,
}

impl Cursor<'_> {
    /// A plain line's quad; nothing for an empty line or a comment.
    fn line(&mut self, in_graphs: bool) -> Result<Option<Line>, NotPlain> {
        self.skip_blanks();
        match self.peek() {
            None | Some(b'#') if self.rest_has_no_return() => return Ok(None),
            Some(b'\r') if self.at + 1 == self.end => return Ok(None),
            _ => {}
        }
        let subject = self.node()?;
        self.skip_blanks();
        let predicate = self.iri()?;
        self.skip_blanks();
        let object = match self.peek() {
            Some(b'"') => self.literal()?,
            _ => Object::Node(self.node()?),
        };
        self.skip_blanks();
        let graph = match self.peek() {
            Some(b'<' | b'_') if in_graphs => {
                let graph = self.node()?;
                self.skip_blanks();
                Some(graph)
            }
            _ => None,
        };
        if self.peek() != Some(b'.') {
            return Err(NotPlain);
        }
        self.at += 1;
        self.skip_blanks();
        match self.peek() {
            None => {}
            Some(b'\r') if self.at + 1 == self.end => {}
            Some(_) => return Err(NotPlain),
        }
        Ok(Some(Line::Plain { subject, predicate, object, graph }))
    }

    fn peek(&self) -> Option<u8> {
        (self.at < self.end).then(|| self.bytes[self.at])
    }

    fn skip_blanks(&mut self) {
        while self.at < self.end && matches!(self.bytes[self.at], b' ' | b'\t') {
            self.at += 1;
        }
    }

    /// A return ends a line too; whoever ends lines so goes to the real parser.
    fn rest_has_no_return(&self) -> bool {
        memchr(b'\r', &self.bytes[self.at..self.end]).is_none_or(|place| self.at + place + 1 == self.end)
    }

    fn span(start: usize, end: usize) -> Span {
        Span { made: false, start: start as u32, end: end as u32 }
    }

    fn node(&mut self) -> Result<Node, NotPlain> {
        match self.peek() {
            Some(b'<') => Ok(Node::Iri(self.iri()?)),
            Some(b'_') => Ok(Node::Blank(self.blank()?)),
            _ => Err(NotPlain),
        }
    }

    fn iri(&mut self) -> Result<Span, NotPlain> {
        if self.peek() != Some(b'<') {
            return Err(NotPlain);
        }
        let start = self.at + 1;
        let length = memchr(b'>', &self.bytes[start..self.end]).ok_or(NotPlain)?;
        if !is_plain_iri(&self.bytes[start..start + length]) {
            return Err(NotPlain);
        }
        self.at = start + length + 1;
        Ok(Self::span(start, start + length))
    }

    fn blank(&mut self) -> Result<Span, NotPlain> {
        let start = self.at + 2;
        if self.bytes.get(self.at + 1) != Some(&b':') || start >= self.end {
            return Err(NotPlain);
        }
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let length = self.bytes[start..self.end].iter().take_while(|byte| is_plain(byte)).count();
        let end = start + length;
        if length == 0 || end == self.end || !matches!(self.bytes[end], b' ' | b'\t') {
            return Err(NotPlain);
        }
        let label = std::str::from_utf8(&self.bytes[start..end]).map_err(|_| NotPlain)?;
        self.at = end;
        Ok(make(self.made, self.scope.named(label).as_str()))
    }

    fn literal(&mut self) -> Result<Object, NotPlain> {
        let value = self.quoted()?;
        match self.peek() {
            Some(b'^') => {
                if self.bytes.get(self.at + 1) != Some(&b'^') {
                    return Err(NotPlain);
                }
                self.at += 2;
                let datatype = self.iri()?;
                let name = &self.bytes[datatype.start as usize..datatype.end as usize];
                // A language is needed with these.
                if name.ends_with(b"langString") || name.ends_with(b"dirLangString") {
                    return Err(NotPlain);
                }
                Ok(Object::Typed(value, datatype))
            }
            Some(b'@') => {
                let start = self.at + 1;
                let is_tag = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'-';
                let length = self.bytes[start..self.end].iter().take_while(|byte| is_tag(byte)).count();
                let tag = &self.bytes[start..start + length];
                if !is_plain_tag(tag) {
                    return Err(NotPlain);
                }
                self.at = start + length;
                let language = if tag.iter().any(u8::is_ascii_uppercase) {
                    let tag = std::str::from_utf8(tag).map_err(|_| NotPlain)?;
                    make(self.made, &tag.to_ascii_lowercase())
                } else {
                    Self::span(start, start + length)
                };
                Ok(Object::Language(value, language))
            }
            _ => Ok(Object::Simple(value)),
        }
    }

    /// The text between quotation marks.
    fn quoted(&mut self) -> Result<Span, NotPlain> {
        let start = self.at + 1;
        let length = memchr3(b'"', b'\\', b'\r', &self.bytes[start..self.end]).ok_or(NotPlain)?;
        let end = start + length;
        match self.bytes[end] {
            b'"' => {
                self.at = end + 1;
                Ok(Self::span(start, end))
            }
            b'\\' => self.escaped(start),
            _ => Err(NotPlain),
        }
    }

    fn escaped(&mut self, mut at: usize) -> Result<Span, NotPlain> {
        let made_start = self.made.len() as u32;
        loop {
            let length = memchr3(b'"', b'\\', b'\r', &self.bytes[at..self.end]).ok_or(NotPlain)?;
            let piece = std::str::from_utf8(&self.bytes[at..at + length]).map_err(|_| NotPlain)?;
            self.made.push_str(piece);
            at += length;
            match self.bytes[at] {
                b'"' => {
                    self.at = at + 1;
                    return Ok(Span { made: true, start: made_start, end: self.made.len() as u32 });
                }
                b'\\' => {}
                _ => return Err(NotPlain),
            }
            let digits = match self.bytes[..self.end].get(at + 1).ok_or(NotPlain)? {
                b't' => self.push('\t'),
                b'b' => self.push('\u{8}'),
                b'n' => self.push('\n'),
                b'r' => self.push('\r'),
                b'f' => self.push('\u{c}'),
                b'"' => self.push('"'),
                b'\'' => self.push('\''),
                b'\\' => self.push('\\'),
                b'u' => 4,
                b'U' => 8,
                _ => return Err(NotPlain),
            };
            at += 2;
            if digits > 0 {
                let digits = self.bytes[..self.end].get(at..at + digits).ok_or(NotPlain)?;
                if !digits.iter().all(u8::is_ascii_hexdigit) {
                    return Err(NotPlain);
                }
                at += digits.len();
                let digits = std::str::from_utf8(digits).map_err(|_| NotPlain)?;
                let code = u32::from_str_radix(digits, 16).map_err(|_| NotPlain)?;
                self.made.push(char::from_u32(code).ok_or(NotPlain)?);
            }
        }
    }

    /// Pushes a character; no digits follow.
    fn push(&mut self, character: char) -> usize {
        self.made.push(character);
        0
    }
}

fn make(made: &mut String, text: &str) -> Span {
    let start = made.len() as u32;
    made.push_str(text);
    Span { made: true, start, end: made.len() as u32 }
}

/// `en`, `de-AT`.
fn is_plain_tag(tag: &[u8]) -> bool {
    let is_language = |part: &[u8]| matches!(part.len(), 2 | 3) && part.iter().all(u8::is_ascii_alphabetic);
    match memchr(b'-', tag) {
        None => is_language(tag),
        Some(place) => {
            let region = &tag[place + 1..];
            is_language(&tag[..place]) && region.len() == 2 && region.iter().all(u8::is_ascii_alphabetic)
        }
    }
}

/// What may stand anywhere behind the scheme and authority of a plain IRI.
const PLAIN: [bool; 256] = {
    let mut plain = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        plain[byte] = character.is_ascii_alphanumeric()
            || matches!(
                character,
                b'-' | b'.'
                    | b'_'
                    | b'~'
                    | b'!'
                    | b'$'
                    | b'&'
                    | b'\''
                    | b'('
                    | b')'
                    | b'*'
                    | b'+'
                    | b','
                    | b';'
                    | b'='
                    | b':'
                    | b'@'
                    | b'/'
                    | b'?'
            );
        byte += 1;
    }
    plain
};

/// True for an absolute IRI of ASCII characters without anything that needs a second look: user names, ports that are no
/// numbers, addresses in brackets, a second `#`.
fn is_plain_iri(iri: &[u8]) -> bool {
    let Some(colon) = memchr(b':', iri) else { return false };
    let scheme = &iri[..colon];
    let is_scheme = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.');
    if !scheme.first().is_some_and(u8::is_ascii_alphabetic) || !scheme.iter().all(is_scheme) {
        return false;
    }
    let mut rest = &iri[colon + 1..];
    if let Some(after) = rest.strip_prefix(b"//") {
        let end = after.iter().position(|byte| matches!(byte, b'/' | b'?' | b'#')).unwrap_or(after.len());
        let host_end = memchr(b':', &after[..end]).unwrap_or(end);
        let is_host = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_');
        let port = after[host_end..end].strip_prefix(b":").unwrap_or_default();
        if !after[..host_end].iter().all(is_host) || !port.iter().all(u8::is_ascii_digit) {
            return false;
        }
        rest = &after[end..];
    }
    let mut in_fragment = false;
    let mut at = 0;
    while at < rest.len() {
        match rest[at] {
            byte if PLAIN[usize::from(byte)] => at += 1,
            b'#' if !in_fragment => {
                in_fragment = true;
                at += 1;
            }
            b'%' if rest.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)) => {
                at += 3;
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use oxrdf::GraphName;
    use proptest::prelude::*;

    use super::*;

    fn source(format: RdfFormat) -> Source {
        Source { path: "test".into(), format, bytes: 0, graph: GraphName::DefaultGraph }
    }

    /// Quads, and how many errors there were.
    type Reading = (Vec<Quad>, usize);

    /// What the lot says, and what the real parser says of the same text.
    fn both(format: RdfFormat, text: &[u8]) -> (LineLot, Reading, Reading) {
        let (source, scope) = (source(format), BlankScope::new("test"));
        let mut problems = Vec::new();
        let lot = LineLot::read(text.to_vec(), 0, &source, &scope, &mut problems);
        let ours = lot.quads(GraphNameRef::DefaultGraph).map(QuadRef::into_owned).collect();
        let (mut quads, mut wrong) = (Vec::new(), 0);
        for quad in RdfParser::from_format(format).for_slice(text) {
            match quad {
                Ok(quad) => quads.push(placed(quad, &source.graph, &mut |node| scope.named(node.as_str()))),
                Err(_) => wrong += 1,
            }
        }
        (lot, (ours, problems.len()), (quads, wrong))
    }

    #[test]
    fn plain_lines_are_taken_and_others_left() {
        for (line, is_plain) in [
            (r#"<http://a.example/s> <http://a.example/p> <http://a.example/o> ."#, true),
            (r#"<http://a.example/s> <http://a.example/p> "o" <http://a.example/g> ."#, true),
            (r#"_:a <urn:p> _:b _:c ."#, true),
            (r#"<urn:s>	<urn:p>"o"@en-GB<urn:g>.	"#, true),
            (r#"<urn:s> <urn:p> "tab\t \"quoted\" \u00e9 \U0001F600 \\" ."#, true),
            (r#"<urn:s> <urn:p> "1"^^<http://www.w3.org/2001/XMLSchema#integer> ."#, true),
            (r#"<urn:s> <urn:p> "s"^^<http://www.w3.org/2001/XMLSchema#string> ."#, true),
            (r#"<urn:s> <urn:p> "é中" ."#, true),
            (r#"<http://a.example:80/%C3%A9?q=1&r#f> <urn:p> "" ."#, true),
            ("<urn:s> <urn:p> <urn:o> .\r", true),
            (r#"<http://a.example/é> <urn:p> "o" ."#, false),
            (r#"<http://me@a.example/> <urn:p> "o" ."#, false),
            (r#"<http://[::1]/> <urn:p> "o" ."#, false),
            (r#"<urn:s> <urn:p> "o"@x-klingon ."#, false),
            (r#"<urn:s> <urn:p> "o" . # said"#, false),
            (r#"_:a.b <urn:p> "o" ."#, false),
        ] {
            let (lot, ours, theirs) = both(RdfFormat::NQuads, line.as_bytes());
            assert_eq!(ours, theirs, "{line}");
            assert_eq!(ours.0.len(), 1, "{line}");
            assert_eq!(lot.others.is_empty(), is_plain, "{line}");
        }
    }

    #[test]
    fn wrong_lines_are_told_by_number() {
        let text = "<urn:s> <urn:p> <urn:o> .\n\n# a comment\n<urn:s> <p> <urn:o> .\n<urn:s> <urn:p> \"o\" .\nnonsense\n";
        let mut problems = Vec::new();
        let (source, scope) = (source(RdfFormat::NTriples), BlankScope::new("test"));
        let lot = LineLot::read(text.as_bytes().to_vec(), 10, &source, &scope, &mut problems);
        assert_eq!(lot.len(), 2);
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].starts_with("line 14: "), "{}", problems[0]);
        assert!(problems[1].starts_with("line 16: "), "{}", problems[1]);
    }

    #[test]
    fn graphs_are_for_quads_only() {
        let (lot, ours, theirs) = both(RdfFormat::NTriples, b"<urn:s> <urn:p> <urn:o> <urn:g> .\n");
        assert_eq!(ours.0, theirs.0);
        assert!(ours.1 > 0 && theirs.1 > 0);
        assert_eq!(lot.others.len(), lot.len());
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// A line means what the real parser says it means, however it is written.
        #[test]
        fn lines_mean_what_they_mean(
            line in r#"(<urn:s>|<http://[a-c:@\[\]%#/?é ]{0,9}>|_:[ab.:_-]{0,3}) ?(<urn:p>|<[ab:/#]{0,6}>)[ \t]?(<urn:o>|_:o|"([ab\\"nutU0é\r]|\\n|\\u00e9|\\U0001f600){0,6}"(@[a-zA-Z0-9-]{0,9}|\^\^<(urn:d|http://www.w3.org/1999/02/22-rdf-syntax-ns#langString)>)?) ?(<urn:g>|_:g )? ?\.?( #c|\r)?"#,
            quads in any::<bool>(),
        ) {
            let format = if quads { RdfFormat::NQuads } else { RdfFormat::NTriples };
            let (_, ours, theirs) = both(format, line.as_bytes());
            prop_assert_eq!(&ours.0, &theirs.0);
            prop_assert_eq!(ours.1 > 0, theirs.1 > 0);
        }

        #[test]
        fn no_bytes_do_harm(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = both(RdfFormat::NQuads, &bytes);
        }
    }
}
