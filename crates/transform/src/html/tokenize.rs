//! HTML text into tokens for html5ever's tree builder, by the WHATWG's rules, several times as fast as its own tokeniser.
//!
//! That one takes its input in pieces and goes character by character; measured on realistic pages it takes nearly all of
//! the time of a parse. This one has the whole text at hand: it looks for the next byte that matters with `memchr`, and
//! hands out slices of the text instead of copies. What it emits is the same, which a test compares tree by tree. Parse
//! errors are not reported and the text of comments, which nobody here reads, is not kept. Start at [`Tokenizer::run`].

use std::borrow::Cow;
use std::cell::Cell;

use html5ever::data::{C1_REPLACEMENTS, NAMED_ENTITIES};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Doctype, Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::{Attribute, LocalName, QualName, ns};
use memchr::{memchr, memchr_iter, memchr2, memmem};

/// No named reference that may stand without its semicolon is longer.
const BARE_REFERENCE_BYTES_MAX: usize = 6;
/// No named reference is longer, semicolon included.
const REFERENCE_BYTES_MAX: usize = 33;
/// Names of elements and attributes kept at hand; a power of two.
const NAMES: usize = 512;
/// Longer names are not kept at hand.
const NAME_BYTES_MAX: usize = 64;

/// Goes through one document.
pub(crate) struct Tokenizer<'a, S> {
    text: &'a str,
    /// The same text, to take slices from that share its memory.
    shared: StrTendril,
    position: usize,
    /// The line at `counted`, from 1.
    line: u64,
    counted: usize,
    sink: S,
    /// More attributes than this and one are not kept.
    attributes_max: usize,
    has_nul: bool,
    /// The name of the latest start tag, which alone ends raw text.
    last_start_tag: LocalName,
    names: Names,
}

/// Names that were met before, each in the only place it can be in. They are mostly the same from page to page, so a thread keeps them.
struct Names(Vec<Option<LocalName>>);

thread_local! {
    static NAMES_MET: Cell<Vec<Option<LocalName>>> = const { Cell::new(Vec::new()) };
}

impl Names {
    fn at_hand() -> Self {
        let mut names = NAMES_MET.take();
        names.resize(NAMES, None);
        Self(names)
    }

    /// The name that is written so, in lower case already.
    fn get(&mut self, raw: &str) -> LocalName {
        let bytes = raw.as_bytes();
        if bytes.is_empty() || bytes.len() > NAME_BYTES_MAX {
            return LocalName::from(raw);
        }
        let (first, middle, last) = (bytes[0], bytes[bytes.len() / 2], bytes[bytes.len() - 1]);
        let hash =
            usize::from(first) ^ (usize::from(middle) << 2) ^ (usize::from(last) << 4) ^ (bytes.len() << 5);
        let place = &mut self.0[hash % NAMES];
        match place {
            Some(name) if **name == *raw => name.clone(),
            _ => place.insert(LocalName::from(raw)).clone(),
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        // A thread that ends has nothing to keep.
        let _ = NAMES_MET.try_with(|met| met.set(std::mem::take(&mut self.0)));
    }
}

/// What characters mean, besides the usual.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    Data,
    Raw(RawKind),
    Plaintext,
}

/// A reference's one or two characters.
type Referred = (char, Option<char>);

impl<'a, S: TokenSink> Tokenizer<'a, S> {
    /// `text` must have its line ends made line feeds already: see [`normalize`].
    pub(crate) fn new(text: &'a str, sink: S, attributes_max: usize) -> Self {
        Self {
            text,
            shared: StrTendril::from_slice(text),
            position: 0,
            line: 1,
            counted: 0,
            sink,
            attributes_max,
            has_nul: memchr(0, text.as_bytes()).is_some(),
            last_start_tag: LocalName::from(""),
            names: Names::at_hand(),
        }
    }

    /// Hands all tokens to the sink, until the end or until `stopped` says so; answers the sink.
    pub(crate) fn run(mut self, stopped: impl Fn(&S) -> bool) -> S {
        let mut mode = Mode::Data;
        while self.position < self.text.len() {
            if stopped(&self.sink) {
                return self.sink;
            }
            mode = match mode {
                Mode::Data => self.data(),
                Mode::Raw(kind) => self.raw(kind),
                Mode::Plaintext => {
                    self.emit_raw_text(self.position, self.text.len());
                    self.position = self.text.len();
                    Mode::Plaintext
                }
            };
        }
        if !stopped(&self.sink) {
            self.emit(Token::EOFToken);
            self.sink.end();
        }
        self.sink
    }

    fn bytes(&self) -> &'a [u8] {
        self.text.as_bytes()
    }

    fn rest(&self) -> &'a [u8] {
        &self.bytes()[self.position..]
    }

    fn slice(&self, start: usize, end: usize) -> StrTendril {
        match (u32::try_from(start), u32::try_from(end - start)) {
            (Ok(offset), Ok(length)) => self.shared.subtendril(offset, length),
            _ => StrTendril::from_slice(&self.text[start..end]),
        }
    }

    /// Hands over a token with the line it ends on, text with that of the markup before it, which is near enough for what is only text;
    /// answers what mode it puts the text behind it in.
    fn emit(&mut self, token: Token) -> Mode {
        if !matches!(token, Token::CharacterTokens(_)) {
            self.line += memchr_iter(b'\n', &self.bytes()[self.counted..self.position]).count() as u64;
            self.counted = self.position;
        }
        match self.sink.process_token(token, self.line) {
            TokenSinkResult::RawData(kind) => Mode::Raw(kind),
            TokenSinkResult::Plaintext => Mode::Plaintext,
            // A script or a charset would interrupt a browser here. Neither is anything to us.
            TokenSinkResult::Continue
            | TokenSinkResult::Script(_)
            | TokenSinkResult::EncodingIndicator(_) => Mode::Data,
        }
    }

    /// Ordinary text up to the next `<`, and the markup that begins there.
    fn data(&mut self) -> Mode {
        let bytes = self.bytes();
        let start = self.position;
        match memchr2(b'<', b'&', self.rest()) {
            None => {
                self.position = bytes.len();
                self.emit_data_text(start, bytes.len());
                Mode::Data
            }
            Some(length) => {
                let at = start + length;
                self.position = at;
                self.emit_data_text(start, at);
                if bytes[at] == b'&' { self.data_reference() } else { self.markup() }
            }
        }
    }

    /// Emits characters as they are, `NUL` as the token of its own that it is in ordinary text.
    fn emit_data_text(&mut self, start: usize, end: usize) {
        if start == end {
            return;
        }
        if !self.has_nul {
            self.emit(Token::CharacterTokens(self.slice(start, end)));
            return;
        }
        let mut start = start;
        for (index, piece) in self.text[start..end].split('\0').enumerate() {
            if index > 0 {
                self.emit(Token::NullCharacterToken);
                start += 1;
            }
            if !piece.is_empty() {
                self.emit(Token::CharacterTokens(self.slice(start, start + piece.len())));
            }
            start += piece.len();
        }
    }

    /// Emits characters as they are, `NUL` replaced.
    fn emit_raw_text(&mut self, start: usize, end: usize) {
        if start < end {
            let text = match self.without_nul(&self.text[start..end]) {
                Cow::Borrowed(_) => self.slice(start, end),
                Cow::Owned(text) => StrTendril::from(text),
            };
            self.emit(Token::CharacterTokens(text));
        }
    }

    fn without_nul<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.has_nul && text.contains('\0') {
            Cow::Owned(text.replace('\0', "\u{fffd}"))
        } else {
            Cow::Borrowed(text)
        }
    }

    /// A `&` in ordinary text.
    fn data_reference(&mut self) -> Mode {
        match reference(&self.text[self.position + 1..], false) {
            Some((length, referred)) => {
                self.position += 1 + length;
                self.emit(Token::CharacterTokens(characters(referred)));
            }
            None => {
                self.position += 1;
                self.emit(Token::CharacterTokens(StrTendril::from_char('&')));
            }
        }
        Mode::Data
    }

    /// A `<` in ordinary text.
    fn markup(&mut self) -> Mode {
        let bytes = self.bytes();
        let at = self.position;
        match bytes.get(at + 1) {
            Some(byte) if byte.is_ascii_alphabetic() => self.tag(TagKind::StartTag, at + 1),
            Some(b'/') => match bytes.get(at + 2) {
                Some(byte) if byte.is_ascii_alphabetic() => self.tag(TagKind::EndTag, at + 2),
                Some(b'>') => {
                    self.position = at + 3;
                    Mode::Data
                }
                Some(_) => self.bogus_comment(at + 2),
                None => {
                    self.position = at + 2;
                    self.emit(Token::CharacterTokens(self.slice(at, at + 2)))
                }
            },
            Some(b'!') => self.declaration(),
            Some(b'?') => self.bogus_comment(at + 1),
            _ => {
                self.position = at + 1;
                self.emit(Token::CharacterTokens(StrTendril::from_char('<')))
            }
        }
    }

    fn emit_comment(&mut self, end: usize) -> Mode {
        self.position = end.min(self.text.len());
        self.emit(Token::CommentToken(StrTendril::new()))
    }

    /// What looks like markup and is none: a comment up to the next `>`.
    fn bogus_comment(&mut self, from: usize) -> Mode {
        let end = memchr(b'>', &self.bytes()[from..]).map_or(self.text.len(), |length| from + length + 1);
        self.emit_comment(end)
    }

    /// `<!…`
    fn declaration(&mut self) -> Mode {
        let bytes = self.bytes();
        let at = self.position + 2;
        let rest = &bytes[at..];
        if rest.starts_with(b"--") {
            let end = comment_end(bytes, at + 2);
            self.emit_comment(end)
        } else if rest.len() >= 7 && rest[..7].eq_ignore_ascii_case(b"doctype") {
            self.doctype(at + 7)
        } else if rest.starts_with(b"[CDATA[")
            && self.sink.adjusted_current_node_present_but_not_in_html_namespace()
        {
            let start = at + 7;
            let length = memmem::find(&bytes[start..], b"]]>");
            let end = length.map_or(bytes.len(), |length| start + length);
            self.position = length.map_or(bytes.len(), |_| end + 3);
            self.emit_data_text(start, end);
            Mode::Data
        } else {
            self.bogus_comment(at)
        }
    }

    fn doctype(&mut self, at: usize) -> Mode {
        let mut reader = DoctypeReader { bytes: self.bytes(), at };
        let (ranges, force_quirks) = reader.read();
        self.position = reader.at;
        let identifier = |range: Option<(usize, usize)>, lower: bool| {
            range.map(|(start, end)| {
                let text = self.without_nul(&self.text[start..end]);
                if lower {
                    StrTendril::from(text.to_ascii_lowercase())
                } else {
                    StrTendril::from_slice(&text)
                }
            })
        };
        let doctype = Doctype {
            name: identifier(ranges[0], true),
            public_id: identifier(ranges[1], false),
            system_id: identifier(ranges[2], false),
            force_quirks,
        };
        self.emit(Token::DoctypeToken(doctype))
    }

    /// A tag whose name begins at `start`. One that the text breaks off in is dropped.
    fn tag(&mut self, kind: TagKind, start: usize) -> Mode {
        let name_end = start + name_length(&self.bytes()[start..]);
        let name = self.name(start, name_end);
        match self.attributes(name_end) {
            Some((attributes, self_closing, end)) => {
                self.position = end;
                if kind == TagKind::StartTag {
                    self.last_start_tag = name.clone();
                }
                self.emit(Token::TagToken(Tag {
                    kind,
                    name,
                    self_closing,
                    attrs: attributes,
                    had_duplicate_attributes: false,
                }))
            }
            None => {
                self.position = self.text.len();
                Mode::Data
            }
        }
    }

    /// Attributes from `at` to the end of the tag, whether it closes itself, and where it ends.
    fn attributes(&mut self, mut at: usize) -> Option<(Vec<Attribute>, bool, usize)> {
        let bytes = self.bytes();
        let mut attributes: Vec<Attribute> = Vec::new();
        loop {
            at += blanks(&bytes[at..]);
            match bytes.get(at)? {
                b'>' => return Some((attributes, false, at + 1)),
                b'/' => {
                    if *bytes.get(at + 1)? == b'>' {
                        return Some((attributes, true, at + 2));
                    }
                    at += 1;
                    continue;
                }
                _ => {}
            }
            // A `=` may begin a name, but not go on in it.
            let start = at;
            at += 1 + attribute_name_length(&bytes[at + 1..]);
            let end = at;
            at += blanks(&bytes[at..]);
            let mut value = None;
            if bytes.get(at) == Some(&b'=') {
                at += 1;
                at += blanks(&bytes[at..]);
                let (from, to, next) = match *bytes.get(at)? {
                    quote @ (b'"' | b'\'') => {
                        let end = at + 1 + memchr(quote, &bytes[at + 1..])?;
                        (at + 1, end, end + 1)
                    }
                    _ => {
                        let end =
                            at + bytes[at..].iter().position(|byte| is_blank(*byte) || *byte == b'>')?;
                        (at, end, end)
                    }
                };
                value = Some((from, to));
                at = next;
            }
            // Those beyond the limit are read, to know where the tag ends, and let go.
            if attributes.len() <= self.attributes_max {
                let name = QualName::new(None, ns!(), self.name(start, end));
                if !attributes.iter().any(|known| known.name.local == name.local) {
                    let value = value.map_or_else(StrTendril::new, |(from, to)| self.value(from, to));
                    attributes.push(Attribute { name, value });
                }
            }
        }
    }

    /// An attribute's value, references replaced.
    fn value(&self, start: usize, end: usize) -> StrTendril {
        let raw = &self.text[start..end];
        if memchr(b'&', raw.as_bytes()).is_none() {
            return match self.without_nul(raw) {
                Cow::Borrowed(_) => self.slice(start, end),
                Cow::Owned(text) => StrTendril::from(text),
            };
        }
        let raw = self.without_nul(raw);
        let mut rest = &*raw;
        let mut out = StrTendril::with_capacity(u32::try_from(rest.len()).unwrap_or_default());
        while let Some(at) = memchr(b'&', rest.as_bytes()) {
            out.push_slice(&rest[..at]);
            rest = &rest[at + 1..];
            match reference(rest, true) {
                Some((length, (first, second))) => {
                    out.push_char(first);
                    if let Some(second) = second {
                        out.push_char(second);
                    }
                    rest = &rest[length..];
                }
                None => out.push_char('&'),
            }
        }
        out.push_slice(rest);
        out
    }

    /// The name at that place, in lower case. Most names were met before, so they are kept at hand.
    fn name(&mut self, start: usize, end: usize) -> LocalName {
        let raw = &self.text[start..end];
        let bytes = raw.as_bytes();
        if self.has_nul || bytes.iter().any(u8::is_ascii_uppercase) {
            return LocalName::from(self.without_nul(raw).to_ascii_lowercase());
        }
        self.names.get(raw)
    }

    /// Text of an element in which there are no elements, up to its end tag.
    fn raw(&mut self, kind: RawKind) -> Mode {
        let bytes = self.bytes();
        let start = self.position;
        let (text_end, name_start) = match kind {
            RawKind::Rcdata | RawKind::Rawtext => self.find_end_tag(start),
            RawKind::ScriptData | RawKind::ScriptDataEscaped(_) => self.find_script_end(start),
        };
        if kind == RawKind::Rcdata {
            self.emit_with_references(start, text_end);
        } else {
            self.position = text_end;
            self.emit_raw_text(start, text_end);
        }
        match name_start {
            Some(name_start) => self.tag(TagKind::EndTag, name_start),
            None => {
                self.position = bytes.len();
                Mode::Data
            }
        }
    }

    /// Text in which references count but tags do not.
    fn emit_with_references(&mut self, start: usize, end: usize) {
        let mut at = start;
        while let Some(length) = memchr(b'&', &self.bytes()[at..end]) {
            self.position = at + length;
            self.emit_raw_text(at, at + length);
            at += length + 1;
            match reference(&self.text[at..end], false) {
                Some((length, referred)) => {
                    at += length;
                    self.position = at;
                    self.emit(Token::CharacterTokens(characters(referred)));
                }
                None => {
                    self.emit(Token::CharacterTokens(StrTendril::from_char('&')));
                }
            }
        }
        self.position = end;
        self.emit_raw_text(at, end);
    }

    /// Where the text ends, and where the name of the end tag is that ends it.
    fn find_end_tag(&self, start: usize) -> (usize, Option<usize>) {
        let bytes = self.bytes();
        for at in memchr_iter(b'<', &bytes[start..]).map(|offset| start + offset) {
            if self.is_end_tag(at) {
                return (at, Some(at + 2));
            }
        }
        (bytes.len(), None)
    }

    /// True for a `<` that begins the end tag of the element that was opened last.
    fn is_end_tag(&self, at: usize) -> bool {
        let name = self.last_start_tag.as_bytes();
        is_tag_of(&self.bytes()[at..], b"</", name)
    }

    /// As [`Self::find_end_tag`], for scripts: what stands in `<!--` … `-->` and in a `<script>` within does not end them.
    fn find_script_end(&self, start: usize) -> (usize, Option<usize>) {
        let bytes = self.bytes();
        let mut at = start;
        // Within `<!--`, and within a script within that.
        let (mut escaped, mut doubly) = (false, false);
        loop {
            let next = if escaped { memchr2(b'<', b'-', &bytes[at..]) } else { memchr(b'<', &bytes[at..]) };
            let Some(length) = next else { return (bytes.len(), None) };
            at += length;
            if bytes[at] == b'-' {
                if bytes[at..].starts_with(b"-->") {
                    (escaped, doubly) = (false, false);
                    at += 3;
                } else {
                    at += 1;
                }
            } else if !doubly && self.is_end_tag(at) {
                return (at, Some(at + 2));
            } else if !escaped && bytes[at..].starts_with(b"<!--") {
                escaped = true;
                // The two dashes may be those of the end as well.
                at += 2;
            } else if escaped && !doubly && is_tag_of(&bytes[at..], b"<", b"script") {
                doubly = true;
                at += 7;
            } else if doubly && is_tag_of(&bytes[at..], b"</", b"script") {
                doubly = false;
                at += 8;
            } else {
                at += 1;
            }
        }
    }
}

/// The text with CR and CR LF made LF, which is all that becomes of them.
pub(crate) fn normalize(text: &str) -> Cow<'_, str> {
    if memchr(b'\r', text.as_bytes()).is_none() {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr(b'\r', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        out.push('\n');
        rest = &rest[at + 1..];
        rest = rest.strip_prefix('\n').unwrap_or(rest);
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// True when `bytes` begin with `opener`, the name in any case, and something that ends a name.
fn is_tag_of(bytes: &[u8], opener: &[u8], name: &[u8]) -> bool {
    let end = opener.len() + name.len();
    bytes.starts_with(opener)
        && bytes.get(opener.len()..end).is_some_and(|found| found.eq_ignore_ascii_case(name))
        && bytes.get(end).is_some_and(|byte| is_blank(*byte) || matches!(byte, b'/' | b'>'))
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\x0c')
}

fn blanks(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| is_blank(**byte)).count()
}

fn name_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !is_blank(**byte) && !matches!(byte, b'/' | b'>')).count()
}

fn attribute_name_length(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| !is_blank(**byte) && !matches!(byte, b'/' | b'>' | b'=')).count()
}

/// Where a comment ends whose text begins at `start`.
fn comment_end(bytes: &[u8], start: usize) -> usize {
    let rest = &bytes[start..];
    if rest.starts_with(b">") {
        return start + 1;
    }
    if rest.starts_with(b"->") {
        return start + 2;
    }
    for at in memmem::find_iter(rest, b"--") {
        match &rest[at + 2..] {
            [b'>', ..] => return start + at + 3,
            [b'!', b'>', ..] => return start + at + 4,
            // The finder goes on behind both dashes, so the second of three is looked at here.
            [b'-', b'>', ..] => return start + at + 4,
            [b'-', b'!', b'>', ..] => return start + at + 5,
            _ => {}
        }
    }
    bytes.len()
}

fn characters((first, second): Referred) -> StrTendril {
    let mut text = StrTendril::from_char(first);
    if let Some(second) = second {
        text.push_char(second);
    }
    text
}

/// The reference at the front of `rest`, which stands behind a `&`: its length and what it refers to.
fn reference(rest: &str, in_attribute: bool) -> Option<(usize, Referred)> {
    let bytes = rest.as_bytes();
    if bytes.first() == Some(&b'#') {
        return numeric(bytes);
    }
    let run = bytes.iter().take(REFERENCE_BYTES_MAX).take_while(|byte| byte.is_ascii_alphanumeric()).count();
    if run < 2 {
        return None;
    }
    if bytes.get(run) == Some(&b';')
        && let Some(referred) = named(&rest[..=run])
    {
        return Some((run + 1, referred));
    }
    let length =
        (2..=run.min(BARE_REFERENCE_BYTES_MAX)).rev().find(|length| named(&rest[..*length]).is_some())?;
    // `&copy=1` in a URL is a parameter.
    let continues = bytes.get(length).is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'=');
    if in_attribute && continues {
        return None;
    }
    named(&rest[..length]).map(|referred| (length, referred))
}

fn named(name: &str) -> Option<Referred> {
    let &(first, second) = NAMED_ENTITIES.get(name)?;
    // The table has beginnings of names too, which refer to nothing.
    let first = char::from_u32(first).filter(|first| *first != '\0')?;
    Some((first, char::from_u32(second).filter(|second| *second != '\0')))
}

/// `#65;`, `#x41;`, the semicolon optional.
fn numeric(bytes: &[u8]) -> Option<(usize, Referred)> {
    let (radix, start) = match bytes.get(1) {
        Some(b'x' | b'X') => (16, 2),
        _ => (10, 1),
    };
    let mut code: u32 = 0;
    let mut at = start;
    while let Some(digit) = bytes.get(at).and_then(|byte| char::from(*byte).to_digit(radix)) {
        // Anything beyond the last character is as good as any other such number.
        code = code.saturating_mul(radix).saturating_add(digit).min(0x11_0000);
        at += 1;
    }
    if at == start {
        return None;
    }
    let character = match code {
        0 => '\u{fffd}',
        0x80..=0x9f => C1_REPLACEMENTS[(code - 0x80) as usize].or(char::from_u32(code)).unwrap_or('\u{fffd}'),
        code => char::from_u32(code).unwrap_or('\u{fffd}'),
    };
    Some((at + usize::from(bytes.get(at) == Some(&b';')), (character, None)))
}

/// Reads what stands between `<!DOCTYPE` and `>`.
struct DoctypeReader<'a> {
    bytes: &'a [u8],
    at: usize,
}

/// Where name, public and system identifier are.
type DoctypeRanges = [Option<(usize, usize)>; 3];

impl DoctypeReader<'_> {
    /// What was found, and whether it puts the document in quirks mode. Ends behind the `>`.
    fn read(&mut self) -> (DoctypeRanges, bool) {
        let mut ranges = [None; 3];
        let quirks = self.parts(&mut ranges).is_none();
        // Whatever else there is before the end is passed over.
        self.at =
            memchr(b'>', &self.bytes[self.at..]).map_or(self.bytes.len(), |length| self.at + length + 1);
        (ranges, quirks)
    }

    /// Nothing when something is missing or wrong that puts the document in quirks mode.
    fn parts(&mut self, ranges: &mut DoctypeRanges) -> Option<()> {
        self.skip_blanks();
        let length =
            self.bytes[self.at..].iter().take_while(|byte| !is_blank(**byte) && **byte != b'>').count();
        if length == 0 {
            return None;
        }
        ranges[0] = Some((self.at, self.at + length));
        self.at += length;
        self.skip_blanks();
        if self.peek()? == b'>' {
            return Some(());
        }
        let keyword = self.bytes.get(self.at..self.at + 6)?;
        let is_public = keyword.eq_ignore_ascii_case(b"public");
        if !is_public && !keyword.eq_ignore_ascii_case(b"system") {
            return None;
        }
        self.at += 6;
        self.skip_blanks();
        if is_public {
            self.quoted(&mut ranges[1])?;
            self.skip_blanks();
            if self.peek()? == b'>' {
                return Some(());
            }
        }
        self.quoted(&mut ranges[2])?;
        self.skip_blanks();
        self.peek().map(|_| ())
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn skip_blanks(&mut self) {
        self.at += blanks(&self.bytes[self.at..]);
    }

    /// A quoted identifier; nothing when there is none or it breaks off.
    fn quoted(&mut self, range: &mut Option<(usize, usize)>) -> Option<()> {
        let quote = self.peek().filter(|byte| matches!(byte, b'"' | b'\''))?;
        let start = self.at + 1;
        let length = memchr2(quote, b'>', &self.bytes[start..]);
        let end = length.map_or(self.bytes.len(), |length| start + length);
        *range = Some((start, end));
        self.at = end;
        if self.peek()? == b'>' {
            return None;
        }
        self.at += 1;
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use std::cell::{Cell, RefCell};

    use html5ever::TokenizerResult;
    use html5ever::tokenizer::BufferQueue;
    use proptest::prelude::*;

    use super::*;

    /// Writes tokens down, and answers what the tree builder would: names decide about raw text.
    #[derive(Default)]
    struct Tokens {
        seen: RefCell<Vec<String>>,
        text: RefCell<String>,
        foreign: Cell<bool>,
    }

    impl Tokens {
        fn finish(&self) -> Vec<String> {
            self.flush();
            self.seen.take()
        }

        fn flush(&self) {
            let text = self.text.take();
            if !text.is_empty() {
                self.seen.borrow_mut().push(format!("{text:?}"));
            }
        }
    }

    impl TokenSink for Tokens {
        type Handle = ();

        fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
            match token {
                // How text is cut into tokens is nobody's concern.
                Token::CharacterTokens(text) => self.text.borrow_mut().push_str(&text),
                Token::NullCharacterToken => self.text.borrow_mut().push_str("<NUL>"),
                Token::ParseError(_) => {}
                Token::CommentToken(_) => {
                    self.flush();
                    self.seen.borrow_mut().push("comment".to_owned());
                }
                Token::TagToken(tag) => {
                    self.flush();
                    let start = tag.kind == TagKind::StartTag;
                    let attributes: Vec<String> =
                        tag.attrs.iter().map(|a| format!("{}={:?}", a.name.local, &*a.value)).collect();
                    // Nobody reads the attributes of end tags.
                    let shown = if start { attributes.join(" ") } else { String::new() };
                    self.seen
                        .borrow_mut()
                        .push(format!("{:?} {} {} {}", tag.kind, tag.name, tag.self_closing, shown));
                    if start {
                        self.foreign.set(&*tag.name == "svg");
                        match &*tag.name {
                            "script" => return TokenSinkResult::RawData(RawKind::ScriptData),
                            "style" | "xmp" => return TokenSinkResult::RawData(RawKind::Rawtext),
                            "title" | "textarea" => return TokenSinkResult::RawData(RawKind::Rcdata),
                            "plaintext" => return TokenSinkResult::Plaintext,
                            _ => {}
                        }
                    }
                }
                other => {
                    self.flush();
                    self.seen.borrow_mut().push(format!("{other:?}"));
                }
            }
            TokenSinkResult::Continue
        }

        fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
            self.foreign.get()
        }
    }

    fn ours(text: &str) -> Vec<String> {
        Tokenizer::new(&normalize(text), Tokens::default(), 256).run(|_| false).finish()
    }

    /// What html5ever's own tokeniser makes of it, given in pieces of that many characters.
    fn theirs(text: &str, piece: usize) -> Vec<String> {
        let tokenizer = html5ever::tokenizer::Tokenizer::new(Tokens::default(), Default::default());
        let queue = BufferQueue::default();
        let characters: Vec<char> = text.chars().collect();
        for piece in characters.chunks(piece.max(1)) {
            queue.push_back(StrTendril::from(piece.iter().collect::<String>()));
            while !matches!(tokenizer.feed(&queue), TokenizerResult::Done) {}
        }
        tokenizer.end();
        tokenizer.sink.finish()
    }

    #[test]
    fn tokens_are_those_of_the_standard() {
        for text in [
            "",
            "<",
            "</",
            "<!",
            "<?",
            "</>",
            "< a>",
            "a<b",
            "<a",
            "<a ",
            "<a b",
            "<a b=",
            "<a b='",
            "<a b=c",
            "<a/",
            "<a/>",
            "<a / b>",
            "<A HREF=X>y</A >z",
            "<a b=1 b=2 B=3 c>",
            "<a =b =c==d>",
            "<a b = 'x' c = \"y\"d=e/>",
            "<a b=x/y/>",
            "<a\"b'c<d=e>",
            "<a b='&amp;&lt&copy=1&copy;&notit;&notin;'>",
            "&amp;&amp &ampx &#65;&#x41 &#0;&#128;&#xD800;&#x110000;&#99999999999; &#; &#x; &x; & &&amp;&nosuch;&NotEqualTilde;&not;it&notit;&CounterClockwiseContourIntegral;",
            "<!-->a",
            "<!--->a",
            "<!---->a",
            "<!----!>a",
            "<!--a--!>b",
            "<!--a--->b",
            "<!--a-->b-->",
            "<!--a",
            "<!--a--",
            "<!--<!--a-->b",
            "<!--a--!-->b",
            "<!-- - -- ->x-->y",
            "<!-----!>z",
            "<!x>a",
            "<?php a > b",
            "</ x>a",
            "<![CDATA[a]]>b",
            "<svg><![CDATA[a<b>\0]]>c",
            "<svg><![CDATA[a",
            "<!DOCTYPE html>",
            "<!doctype>",
            "<!doctype >",
            "<!DOCTYPE HTML PUBLIC \"-//W3C//DTD HTML 4.01//EN\" 'x'>",
            "<!DOCTYPE a SYSTEM 'b'c>",
            "<!DOCTYPE a PUBLIC>",
            "<!DOCTYPE a PUBLIC 'b",
            "<!DOCTYPE a PUBLIC 'b>c",
            "<!DOCTYPE a bogus>",
            "<!DOCTYPE a",
            "<!DOCTYPE",
            "<!DOCTYPEa PUBLIC'b'\"c\">d",
            "<!DOCTYPE a SYSTEM>",
            "<!DOCTYPE a PUBLIC 'b' c>",
            "<!DOCTYPE a\0>",
            "<title>a<b>&amp;</title >c",
            "<title>a</titlex></title/>c",
            "<title>&amp</title>",
            "<title>a",
            "<TITLE>a</tItLe>b",
            "<style>a<!--</style>b",
            "<textarea>\n&lt;</textarea>",
            "<script>a<b</script>c",
            "<script><!--<script></script>--></script>x",
            "<script><!--<script></script>a</script>b</script>c",
            "<script><!--></script>x",
            "<script><!-- <script>--></script>y",
            "<script><!--a</script>b-->",
            "<script><!--<scriptx></script>y",
            "<script><!---<script>-</script>-->",
            "<script>",
            "<script><!--",
            "<script></scrip",
            "<plaintext>a<b></plaintext>",
            "a\0b<a\0 b\0=c\0>\0<title>\0</title>",
            "a\r\nb\rc<a b='\r\n\r'>\r</a>",
            "é<é><aé é=é>é&eacute;&eacutex",
        ] {
            assert_eq!(ours(text), theirs(text, 1000), "{text:?}");
        }
    }

    /// The names that may stand without a semicolon, and the longest of all, are as short as the constants say.
    #[test]
    fn the_lengths_of_references_are_right() {
        let names = || NAMED_ENTITIES.entries().filter(|(_, (first, _))| *first != 0).map(|(name, _)| name);
        let bare = names().filter(|name| !name.ends_with(';')).map(|name| name.len()).max();
        assert_eq!(bare, Some(BARE_REFERENCE_BYTES_MAX));
        assert!(names().all(|name| name.len() <= REFERENCE_BYTES_MAX));
    }

    /// Pieces of markup that mean something to a tokeniser, in any order.
    fn markup() -> impl Strategy<Value = String> {
        let piece = prop_oneof![
            3 => "(<|</|<!--|-->|--!>|<!|<\\?|>|/>|=|\"|'|&|;|-|!| |\n|\r\n|\t|\\x00)",
            3 => "(a|b|title|script|style|svg|textarea|plaintext|xmp|SCRIPT|br|p)",
            2 => "<(a|title|script|style|svg|/title|/script|/style|/svg|p|br/)( [a-cé]{1,2}(=[a-z&;\"']{0,4})?){0,3}>",
            2 => "&(amp|lt|copy|not|notin|nbsp|#6|#x4|#|x){0,2}[;=a]?",
            1 => "(<!DOCTYPE|PUBLIC|SYSTEM|\\[CDATA\\[|\\]\\]>)",
            1 => "\\PC{0,3}",
        ];
        proptest::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn random_markup_gives_the_same_tokens(text in markup(), piece in 1_usize..9) {
            prop_assert_eq!(ours(&text), theirs(&text, piece));
        }
    }

    #[test]
    fn attribute_floods_are_cut() {
        let flood: String = (0..100_000).map(|n| format!(" a{n}=1")).collect();
        let sink = Tokenizer::new(&format!("<p{flood}>x"), Tokens::default(), 256).run(|_| false);
        let tokens = sink.finish();
        assert_eq!(tokens[0].split(' ').filter(|word| word.contains('=')).count(), 257);
        assert_eq!(tokens[1], "\"x\"");
    }
}
