//! JSON as a flat table: one pass over the text, no recursion, no string copied unless it has escapes.
//!
//! In: a text. Out: a [`Document`] that owns the text and a table of its values in document order; a
//! [`Value`] is a place in that table. Order of members is kept, of equal keys the last one counts, numbers
//! stay as they were written, and every value knows where it stands. What is not JSON is refused with its place
//! ([`SyntaxError`]); mending it is left to `repair`. Start at [`Document::parse`].

use crate::maps::HashMap;
use std::sync::Arc;

/// Keys up to which equal ones are found by comparing all with all.
const FEW_KEYS: usize = 12;

/// A parsed JSON text.
#[derive(Debug)]
pub(crate) struct Document {
    text: Box<str>,
    /// Strings that had escapes, without them, one behind the other.
    unescaped: String,
    nodes: Vec<Node>,
}

/// One value, or one key, in the table. The content of a container follows it.
#[derive(Debug, Clone, Copy)]
struct Node {
    /// Where it begins in the text.
    position: u32,
    /// Bytes of a string or number; members or items of a container.
    length: u32,
    /// Behind a container's content; for an unescaped string, where it begins among those.
    link: u32,
    tag: Tag,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Tag {
    Null,
    False,
    True,
    Number,
    /// A string, as it is in the text.
    Text,
    /// A string that had escapes.
    Unescaped,
    /// A key that comes again in the same object, and does not count here.
    Shadowed,
    Array,
    Object,
}

/// Why a text is not JSON, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SyntaxError {
    pub(crate) position: usize,
    pub(crate) message: String,
    /// It may be JSON, but it is nested deeper than is read.
    pub(crate) too_deep: bool,
}

impl Document {
    /// Parses a text; containers may be nested `depth_max` deep.
    pub(crate) fn parse(text: &str, depth_max: usize) -> Result<Self, SyntaxError> {
        if u32::try_from(text.len()).is_err() {
            let message = "longer than four gigabytes".to_owned();
            return Err(SyntaxError { position: 0, message, too_deep: false });
        }
        let mut parser = Parser {
            text,
            bytes: text.as_bytes(),
            at: 0,
            depth_max,
            open: Vec::new(),
            nodes: Vec::with_capacity(text.len() / 12 + 4),
            unescaped: String::new(),
        };
        parser.run()?;
        Ok(Self { text: text.into(), unescaped: parser.unescaped, nodes: parser.nodes })
    }

    /// Bytes of the text.
    pub(crate) fn len(&self) -> usize {
        self.text.len()
    }

    /// Line breaks before a place in the text.
    pub(crate) fn lines_before(&self, position: u32) -> u64 {
        let end = (position as usize).min(self.text.len());
        memchr::memchr_iter(b'\n', &self.text.as_bytes()[..end]).count() as u64
    }

    fn string(&self, index: u32) -> &str {
        let node = &self.nodes[index as usize];
        let length = node.length as usize;
        if node.tag == Tag::Unescaped {
            let start = node.link as usize;
            &self.unescaped[start..start + length]
        } else {
            let start = node.position as usize + usize::from(node.tag == Tag::Text);
            &self.text[start..start + length]
        }
    }

    /// The place behind a value and all that is in it.
    fn behind(&self, index: u32) -> u32 {
        let node = &self.nodes[index as usize];
        match node.tag {
            Tag::Array | Tag::Object => node.link,
            _ => index + 1,
        }
    }
}

/// A value in a document.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Value<'d> {
    document: &'d Arc<Document>,
    index: u32,
}

/// What a value is.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Kind<'d> {
    Null,
    Bool(bool),
    /// As it was written.
    Number(&'d str),
    String(&'d str),
    Array(Items<'d>),
    Object(Object<'d>),
}

impl<'d> Value<'d> {
    /// The outermost value.
    pub(crate) fn root(document: &'d Arc<Document>) -> Self {
        Self { document, index: 0 }
    }

    /// The value at an index that [`Value::index`] gave.
    pub(crate) fn at(document: &'d Arc<Document>, index: u32) -> Self {
        debug_assert!((index as usize) < document.nodes.len(), "an index of another document");
        Self { document, index }
    }

    pub(crate) fn document(self) -> &'d Arc<Document> {
        self.document
    }

    pub(crate) fn index(self) -> u32 {
        self.index
    }

    /// Where it begins in the text.
    pub(crate) fn position(self) -> u32 {
        self.document.nodes[self.index as usize].position
    }

    pub(crate) fn kind(self) -> Kind<'d> {
        let node = &self.document.nodes[self.index as usize];
        match node.tag {
            Tag::Null => Kind::Null,
            Tag::False => Kind::Bool(false),
            Tag::True => Kind::Bool(true),
            Tag::Number => Kind::Number(self.document.string(self.index)),
            Tag::Text | Tag::Unescaped | Tag::Shadowed => Kind::String(self.document.string(self.index)),
            Tag::Array => {
                Kind::Array(Items { document: self.document, next: self.index + 1, end: node.link })
            }
            Tag::Object => Kind::Object(Object { document: self.document, index: self.index }),
        }
    }

    pub(crate) fn is_null(self) -> bool {
        matches!(self.kind(), Kind::Null)
    }

    pub(crate) fn as_str(self) -> Option<&'d str> {
        match self.kind() {
            Kind::String(text) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn as_bool(self) -> Option<bool> {
        match self.kind() {
            Kind::Bool(value) => Some(value),
            _ => None,
        }
    }

    pub(crate) fn as_object(self) -> Option<Object<'d>> {
        match self.kind() {
            Kind::Object(object) => Some(object),
            _ => None,
        }
    }

    /// The items of an array, or the value itself as the only one.
    pub(crate) fn one_or_many(self) -> Items<'d> {
        match self.kind() {
            Kind::Array(items) => items,
            _ => Items { document: self.document, next: self.index, end: self.document.behind(self.index) },
        }
    }

    /// True for two values that JSON takes for the same: members in any order.
    ///
    /// Recurses as deep as the documents are nested, which parsing has capped.
    pub(crate) fn same_as(self, other: Value<'_>) -> bool {
        match (self.kind(), other.kind()) {
            (Kind::Null, Kind::Null) => true,
            (Kind::Bool(one), Kind::Bool(two)) => one == two,
            (Kind::String(one), Kind::String(two)) => one == two,
            (Kind::Number(one), Kind::Number(two)) => {
                one == two || one.parse::<f64>().ok() == two.parse::<f64>().ok()
            }
            (Kind::Array(mut one), Kind::Array(mut two)) => loop {
                match (one.next(), two.next()) {
                    (None, None) => return true,
                    (Some(one), Some(two)) if one.same_as(two) => {}
                    _ => return false,
                }
            },
            (Kind::Object(one), Kind::Object(two)) => {
                if one.len() != two.len() {
                    return false;
                }
                let members: HashMap<&str, Value<'_>> = two.members().collect();
                one.members().all(|(key, value)| members.get(key).is_some_and(|other| value.same_as(*other)))
            }
            _ => false,
        }
    }
}

/// The items of an array, in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Items<'d> {
    document: &'d Arc<Document>,
    next: u32,
    end: u32,
}

impl<'d> Iterator for Items<'d> {
    type Item = Value<'d>;

    fn next(&mut self) -> Option<Value<'d>> {
        if self.next >= self.end {
            return None;
        }
        let value = Value { document: self.document, index: self.next };
        self.next = self.document.behind(self.next);
        Some(value)
    }
}

/// An object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Object<'d> {
    document: &'d Arc<Document>,
    index: u32,
}

impl<'d> Object<'d> {
    /// Its members, each key once.
    pub(crate) fn len(self) -> usize {
        self.document.nodes[self.index as usize].length as usize
    }

    /// Its members in the order of the text; of equal keys the last.
    pub(crate) fn members(self) -> Members<'d> {
        let end = self.document.nodes[self.index as usize].link;
        Members { document: self.document, next: self.index + 1, end }
    }

    /// The value of a key. Looks through all of them.
    pub(crate) fn get(self, key: &str) -> Option<Value<'d>> {
        self.members().find(|(name, _)| *name == key).map(|(_, value)| value)
    }
}

/// The members of an object.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Members<'d> {
    document: &'d Arc<Document>,
    next: u32,
    end: u32,
}

impl<'d> Iterator for Members<'d> {
    type Item = (&'d str, Value<'d>);

    fn next(&mut self) -> Option<(&'d str, Value<'d>)> {
        while self.next < self.end {
            let key = self.next;
            let value = key + 1;
            self.next = self.document.behind(value);
            if self.document.nodes[key as usize].tag != Tag::Shadowed {
                return Some((self.document.string(key), Value { document: self.document, index: value }));
            }
        }
        None
    }
}

/// What may come next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Expected {
    Value,
    /// A value, or the end of an array that has nothing yet.
    FirstItem,
    Key,
    /// A key, or the end of an object that has nothing yet.
    FirstKey,
    /// A comma or the end of what is open.
    More,
}

struct Parser<'t> {
    text: &'t str,
    bytes: &'t [u8],
    at: usize,
    depth_max: usize,
    /// Containers that are not closed yet.
    open: Vec<u32>,
    nodes: Vec<Node>,
    unescaped: String,
}

impl Parser<'_> {
    fn run(&mut self) -> Result<(), SyntaxError> {
        let mut expected = Expected::Value;
        loop {
            self.skip_space();
            let byte = self.bytes.get(self.at).copied();
            expected = match (expected, byte) {
                (_, None) => return Err(self.error("the text ends too early")),
                (Expected::FirstItem, Some(b']')) | (Expected::FirstKey, Some(b'}')) => {
                    self.at += 1;
                    self.close();
                    Expected::More
                }
                (Expected::Value | Expected::FirstItem, Some(byte)) => self.value(byte)?,
                (Expected::Key | Expected::FirstKey, Some(b'"')) => {
                    self.string()?;
                    self.skip_space();
                    if self.bytes.get(self.at) != Some(&b':') {
                        return Err(self.error("a colon is missing"));
                    }
                    self.at += 1;
                    Expected::Value
                }
                (Expected::Key | Expected::FirstKey, Some(_)) => {
                    return Err(self.unexpected("a key in double quotes"));
                }
                (Expected::More, Some(byte)) => {
                    let in_object =
                        self.open.last().map(|open| self.nodes[*open as usize].tag == Tag::Object);
                    match (in_object, byte) {
                        (Some(true), b',') => {
                            self.at += 1;
                            Expected::Key
                        }
                        (Some(false), b',') => {
                            self.at += 1;
                            Expected::Value
                        }
                        (Some(true), b'}') | (Some(false), b']') => {
                            self.at += 1;
                            self.close();
                            Expected::More
                        }
                        (Some(true), _) => return Err(self.unexpected("a comma or `}`")),
                        (Some(false), _) => return Err(self.unexpected("a comma or `]`")),
                        (None, _) => return Err(self.unexpected("the end")),
                    }
                }
            };
            if expected == Expected::More && self.open.is_empty() {
                self.skip_space();
                return if self.at == self.bytes.len() { Ok(()) } else { Err(self.unexpected("the end")) };
            }
        }
    }

    /// Takes a value, or opens a container.
    fn value(&mut self, byte: u8) -> Result<Expected, SyntaxError> {
        if let Some(open) = self.open.last() {
            self.nodes[*open as usize].length += 1;
        }
        match byte {
            b'{' => {
                self.begin(Tag::Object)?;
                Ok(Expected::FirstKey)
            }
            b'[' => {
                self.begin(Tag::Array)?;
                Ok(Expected::FirstItem)
            }
            b'"' => self.string().map(|()| Expected::More),
            b'-' | b'0'..=b'9' => self.number().map(|()| Expected::More),
            b't' => self.word("true", Tag::True),
            b'f' => self.word("false", Tag::False),
            b'n' => self.word("null", Tag::Null),
            _ => Err(self.unexpected("a value")),
        }
    }

    fn begin(&mut self, tag: Tag) -> Result<(), SyntaxError> {
        if self.open.len() >= self.depth_max {
            let message = format!("nested deeper than {}", self.depth_max);
            return Err(SyntaxError { position: self.at, message, too_deep: true });
        }
        self.open.push(self.nodes.len() as u32);
        self.push(self.at, 0, 0, tag);
        self.at += 1;
        Ok(())
    }

    fn close(&mut self) {
        let Some(index) = self.open.pop() else { return };
        self.nodes[index as usize].link = self.nodes.len() as u32;
        if self.nodes[index as usize].tag == Tag::Object && self.nodes[index as usize].length > 1 {
            self.shadow_equal_keys(index);
        }
    }

    /// Of keys that are equal only the last counts.
    fn shadow_equal_keys(&mut self, object: u32) {
        let count = self.nodes[object as usize].length as usize;
        let mut few = [0_u32; FEW_KEYS];
        let mut many =
            HashMap::with_capacity_and_hasher(if count > FEW_KEYS { count } else { 0 }, Default::default());
        let mut shadowed: Vec<u32> = Vec::new();
        let mut key = object + 1;
        for number in 0..count {
            let text = self.key(key);
            if count > FEW_KEYS {
                shadowed.extend(many.insert(text, key));
            } else {
                shadowed.extend(few[..number].iter().filter(|earlier| self.key(**earlier) == text));
                few[number] = key;
            }
            let value = &self.nodes[key as usize + 1];
            key = if matches!(value.tag, Tag::Array | Tag::Object) { value.link } else { key + 2 };
        }
        for key in shadowed {
            // With few keys, one of three equal ones is found twice.
            if self.nodes[key as usize].tag != Tag::Shadowed {
                self.nodes[key as usize].tag = Tag::Shadowed;
                self.nodes[object as usize].length -= 1;
            }
        }
    }

    fn key(&self, index: u32) -> &str {
        let node = &self.nodes[index as usize];
        let length = node.length as usize;
        if node.tag == Tag::Unescaped {
            &self.unescaped[node.link as usize..][..length]
        } else {
            &self.text[node.position as usize + 1..][..length]
        }
    }

    fn word(&mut self, word: &str, tag: Tag) -> Result<Expected, SyntaxError> {
        if !self.text[self.at..].starts_with(word) {
            return Err(self.unexpected("a value"));
        }
        self.push(self.at, word.len(), 0, tag);
        self.at += word.len();
        Ok(Expected::More)
    }

    fn number(&mut self) -> Result<(), SyntaxError> {
        let start = self.at;
        self.at += usize::from(self.bytes[self.at] == b'-');
        let whole = self.digits();
        if whole == 0 || (whole > 1 && self.bytes[self.at - whole] == b'0') {
            return Err(self.error("a number is not written as JSON wants it"));
        }
        if self.bytes.get(self.at) == Some(&b'.') {
            self.at += 1;
            if self.digits() == 0 {
                return Err(self.error("digits are missing behind a decimal point"));
            }
        }
        if matches!(self.bytes.get(self.at), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.bytes.get(self.at), Some(b'+' | b'-')));
            if self.digits() == 0 {
                return Err(self.error("an exponent has no digits"));
            }
        }
        self.push(start, self.at - start, 0, Tag::Number);
        Ok(())
    }

    fn digits(&mut self) -> usize {
        let count = self.bytes[self.at..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        self.at += count;
        count
    }

    /// Takes a string, whose quote is here.
    fn string(&mut self) -> Result<(), SyntaxError> {
        let quote = self.at;
        let start = quote + 1;
        let mut at = start;
        let mut link = None;
        loop {
            let Some(found) = memchr::memchr2(b'"', b'\\', &self.bytes[at..]) else {
                self.at = quote;
                return Err(self.error("a string has no end"));
            };
            let piece = &self.text[at..at + found];
            if let Some(control) = piece.bytes().position(|byte| byte < 0x20) {
                self.at = at + control;
                return Err(self.error("a control character stands in a string"));
            }
            if link.is_some() {
                self.unescaped.push_str(piece);
            }
            at += found;
            if self.bytes[at] == b'"' {
                break;
            }
            if link.is_none() {
                link = Some(self.unescaped.len());
                self.unescaped.push_str(piece);
            }
            self.at = at;
            self.escape()?;
            at = self.at;
        }
        match link {
            None => self.push(quote, at - start, 0, Tag::Text),
            Some(link) => self.push(quote, self.unescaped.len() - link, link, Tag::Unescaped),
        }
        self.at = at + 1;
        Ok(())
    }

    /// Takes an escape, whose backslash is here.
    fn escape(&mut self) -> Result<(), SyntaxError> {
        let character = match self.bytes.get(self.at + 1) {
            Some(quoted @ (b'"' | b'\\' | b'/')) => char::from(*quoted),
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode_escape(),
            _ => return Err(self.error("an escape that JSON does not have")),
        };
        self.unescaped.push(character);
        self.at += 2;
        Ok(())
    }

    fn unicode_escape(&mut self) -> Result<(), SyntaxError> {
        let Some(unit) = self.code_unit(self.at) else {
            return Err(self.error("four hexadecimal digits are missing behind \\u"));
        };
        self.at += 6;
        let second = if (0xd800..0xdc00).contains(&unit) { self.code_unit(self.at) } else { None };
        let code = match second {
            Some(low @ 0xdc00..=0xdfff) => {
                self.at += 6;
                0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
            }
            _ => unit,
        };
        // Half of a surrogate pair is allowed by the grammar and means nothing.
        self.unescaped.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(())
    }

    /// The four digits behind a `\u` at a place.
    fn code_unit(&self, at: usize) -> Option<u32> {
        let escape = self.bytes.get(at..at + 6)?;
        if !escape.starts_with(b"\\u") || !escape[2..].iter().all(u8::is_ascii_hexdigit) {
            return None;
        }
        u32::from_str_radix(std::str::from_utf8(&escape[2..]).ok()?, 16).ok()
    }

    fn skip_space(&mut self) {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.bytes.get(self.at) {
            self.at += 1;
        }
    }

    fn push(&mut self, position: usize, length: usize, link: usize, tag: Tag) {
        // The text is shorter than four gigabytes, and everything here is a place in it.
        self.nodes.push(Node { position: position as u32, length: length as u32, link: link as u32, tag });
    }

    fn error(&self, message: &str) -> SyntaxError {
        SyntaxError { position: self.at, message: message.to_owned(), too_deep: false }
    }

    fn unexpected(&self, wanted: &str) -> SyntaxError {
        match self.text.get(self.at..).and_then(|rest| rest.chars().next()) {
            Some(found) => self.error(&format!("found {found:?} where {wanted} was expected")),
            None => self.error(&format!("{wanted} is missing")),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn parse(text: &str) -> Result<Arc<Document>, SyntaxError> {
        Document::parse(text, 100).map(Arc::new)
    }

    /// The value written again, plainly.
    fn show(value: Value<'_>) -> String {
        match value.kind() {
            Kind::Null => "null".to_owned(),
            Kind::Bool(value) => value.to_string(),
            Kind::Number(text) => text.to_owned(),
            Kind::String(text) => serde_json::to_string(text).unwrap(),
            Kind::Array(items) => format!("[{}]", items.map(show).collect::<Vec<_>>().join(",")),
            Kind::Object(object) => {
                let members: Vec<String> = object
                    .members()
                    .map(|(key, value)| format!("{}:{}", serde_json::to_string(key).unwrap(), show(value)))
                    .collect();
                assert_eq!(members.len(), object.len());
                format!("{{{}}}", members.join(","))
            }
        }
    }

    #[test]
    fn values_come_back_as_they_were_written() {
        for (given, expected) in [
            ("null", "null"),
            (" [ 1 , -2.50 , 1e+3 , true,false ] ", "[1,-2.50,1e+3,true,false]"),
            (r#"{"b":1,"a":{"c":[]},"d":[{}]}"#, r#"{"b":1,"a":{"c":[]},"d":[{}]}"#),
            (r#"{"a":1,"a":2,"b":3,"a":[4]}"#, r#"{"b":3,"a":[4]}"#),
            (r#""\u0041\n\ud83d\ude00\ud83dx\/""#, "\"A\\n😀\u{fffd}x/\""),
            (r#"{"\u0061":1,"a":2}"#, r#"{"a":2}"#),
            ("123456789012345678901234567890", "123456789012345678901234567890"),
        ] {
            let document = parse(given).unwrap();
            assert_eq!(show(Value::root(&document)), expected, "{given}");
        }
        let many: String = (0..40).map(|n| format!("\"k{}\":{n},", n % 30)).collect();
        let document = parse(&format!("{{{many}\"z\":0}}")).unwrap();
        let object = Value::root(&document).as_object().unwrap();
        assert_eq!(object.len(), 31);
        assert_eq!(object.get("k5").map(show).as_deref(), Some("35"));
        assert_eq!(object.get("k15").map(show).as_deref(), Some("15"));
    }

    #[test]
    fn what_is_not_json_is_refused_where_it_stands() {
        for (given, position) in [
            ("", 0),
            ("{", 1),
            ("{\"a\" 1}", 5),
            ("[1,]", 3),
            ("[1 2]", 3),
            ("{\"a\":1,}", 7),
            ("01", 2),
            ("1.", 2),
            ("-", 1),
            ("1e", 2),
            ("tru", 0),
            ("\"a", 0),
            ("\"a\u{1}\"", 2),
            (r#""\x""#, 1),
            (r#""\u12""#, 1),
            ("{} {}", 3),
            ("[}", 1),
            ("{]", 1),
            ("]", 0),
            ("é", 0),
            ("{'a':1}", 1),
        ] {
            let error = parse(given).unwrap_err();
            assert_eq!((error.position, error.too_deep), (position, false), "{given}: {}", error.message);
        }
        assert!(Document::parse(&"[".repeat(101), 100).unwrap_err().too_deep);
        assert!(!Document::parse(&"[".repeat(100), 100).unwrap_err().too_deep);
    }

    #[test]
    fn places_are_known() {
        let document = parse("{\n \"a\": [\n  1,\n  \"x\\n\"]}").unwrap();
        let array = Value::root(&document).as_object().unwrap().get("a").unwrap();
        let lines: Vec<u64> =
            array.one_or_many().map(|item| document.lines_before(item.position())).collect();
        assert_eq!(lines, [2, 3]);
    }

    #[test]
    fn equality_ignores_order_of_members() {
        let same = |one: &str, two: &str| {
            let (one, two) = (parse(one).unwrap(), parse(two).unwrap());
            Value::root(&one).same_as(Value::root(&two))
        };
        assert!(same(r#"{"a":1,"b":[true,null]}"#, r#"{"b":[true,null],"a":1.0}"#));
        assert!(!same(r#"{"a":1}"#, r#"{"a":1,"b":2}"#));
        assert!(!same("[1,2]", "[2,1]"));
        assert!(!same("[1]", "[1,1]"));
        assert!(!same("\"1\"", "1"));
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 256, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn it_accepts_what_another_parser_accepts(
            text in r#"([\[\]{},:]|"(a|b|\\n|\\u00e9|\\ud83d\\ude00|é)?"|-?[0-9]{1,3}(\.[0-9])?(e[+-]?[0-9])?|true|null| ){0,12}"#,
        ) {
            let other: Result<serde_json::Value, _> = serde_json::from_str(&text);
            let ours = parse(&text);
            prop_assert_eq!(ours.is_ok(), other.is_ok(), "{}", text);
            if let (Ok(ours), Ok(other)) = (ours, other) {
                let again: serde_json::Value = serde_json::from_str(&show(Value::root(&ours))).unwrap();
                prop_assert_eq!(again, other);
            }
        }
    }
}
