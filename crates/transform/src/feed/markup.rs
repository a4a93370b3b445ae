//! HTML inside feeds: is it any, its words, its references made absolute, and XHTML written out.
//!
//! A literal of HTML has no base of its own, so relative references would lose their meaning in the graph. Everything
//! here is one pass over the text; nothing is parsed into a tree and nothing is sanitised: literals are data.

use std::borrow::Cow;

use html5ever::ns;
use memchr::{memchr, memmem};
use webloom_model::PageUrl;

use crate::dom::{Dom, Edge, Element, NodeData, NodeId};
use crate::html::plain::Collapsed;
use crate::xml::{character, html_entity};

/// Elements that hold nothing and have no end tag.
const VOID: [&str; 13] =
    ["area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"];

/// Elements whose edges do not part words.
const INLINE: [&str; 25] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "em", "font", "i", "ins", "kbd",
    "mark", "q", "s", "small", "span", "strong", "sub", "sup", "tt", "u",
];

/// Elements that make a text HTML when it has their tags. `<blink>` and `<3` do not.
const ELEMENTS: [&str; 62] = [
    "a",
    "abbr",
    "acronym",
    "address",
    "article",
    "audio",
    "b",
    "big",
    "blockquote",
    "body",
    "br",
    "center",
    "cite",
    "code",
    "dd",
    "del",
    "div",
    "dl",
    "dt",
    "em",
    "embed",
    "figcaption",
    "figure",
    "font",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "header",
    "hr",
    "html",
    "i",
    "iframe",
    "img",
    "ins",
    "li",
    "object",
    "ol",
    "p",
    "pre",
    "q",
    "s",
    "section",
    "small",
    "source",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "svg",
    "table",
    "td",
    "tr",
    "tt",
    "u",
    "ul",
];

/// Attributes that hold a reference.
fn holds_reference(attribute: &str) -> bool {
    [
        "href",
        "src",
        "cite",
        "action",
        "longdesc",
        "poster",
        "data",
        "background",
        "usemap",
        "codebase",
        "formaction",
    ]
    .iter()
    .any(|known| known.eq_ignore_ascii_case(attribute))
}

/// True when the text has a tag of HTML.
pub(super) fn has_tags(text: &str) -> bool {
    let mut rest = text;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        rest = &rest[at + 1..];
        let name = tag_name(rest.strip_prefix('/').unwrap_or(rest));
        if !name.is_empty() && ELEMENTS.iter().any(|element| element.eq_ignore_ascii_case(name)) {
            return true;
        }
    }
    false
}

/// True when the text does not mean the same as HTML and as mere characters.
pub(super) fn is_markup(text: &str) -> bool {
    let opens = |at: usize| {
        text.as_bytes()
            .get(at + 1)
            .is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'/' | b'!' | b'?'))
    };
    memchr::memchr_iter(b'<', text.as_bytes()).any(opens) || matches!(decode(text), Cow::Owned(_))
}

/// The name at the front of a tag's text.
fn tag_name(text: &str) -> &str {
    if !text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        return "";
    }
    let end = text.find(|c: char| !c.is_ascii_alphanumeric() && c != '-' && c != ':').unwrap_or(text.len());
    match text.as_bytes().get(end) {
        // `<a@b.example>` is an address and `<foo_bar>` a placeholder.
        Some(b'>' | b'/' | b' ' | b'\t' | b'\n' | b'\r') => &text[..end],
        _ => "",
    }
}

/// The text with HTML's character references replaced, once.
pub(super) fn decode(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr(b'&', &text.as_bytes()[at..]) {
        let start = at + found;
        at = start + 1;
        // No name of a reference is longer than this.
        let window = &text.as_bytes()[at..text.len().min(at + 40)];
        let Some(length) = memchr(b';', window) else { continue };
        let name = &text[at..at + length];
        let (first, second) = match name.strip_prefix('#') {
            Some(number) => match character(number) {
                Some(character) => (character, None),
                None => continue,
            },
            None if name.bytes().all(|byte| byte.is_ascii_alphanumeric()) && !name.is_empty() => {
                match html_entity(name) {
                    Some(characters) => characters,
                    None => continue,
                }
            }
            None => continue,
        };
        out.push_str(&text[copied..start]);
        out.push(first);
        out.extend(second);
        at += length + 1;
        copied = at;
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(&text[copied..]);
    Cow::Owned(out)
}

/// Adds the words of HTML to `words`: no tags, no scripts, references replaced.
pub(super) fn words(html: &str, words: &mut Collapsed) {
    let mut rest = html;
    while let Some(at) = memchr(b'<', rest.as_bytes()) {
        words.push(&decode(&rest[..at]));
        rest = &rest[at..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = memmem::find(comment.as_bytes(), b"-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let name = tag_name(rest[1..].strip_prefix('/').unwrap_or(&rest[1..]));
        if name.is_empty() {
            words.push("<");
            rest = &rest[1..];
            continue;
        }
        let (closing, hides) = (rest[1..].starts_with('/'), hides(name));
        if !INLINE.iter().any(|inline| inline.eq_ignore_ascii_case(name)) {
            words.space();
        }
        rest = &rest[tag_length(rest)..];
        if hides && !closing {
            // Up to its end tag, whatever that has inside.
            rest = match end_tag(rest, name) {
                Some(end) => &rest[end..],
                None => "",
            };
        }
    }
    words.push(&decode(rest));
}

fn hides(name: &str) -> bool {
    ["script", "style", "template"].iter().any(|hidden| hidden.eq_ignore_ascii_case(name))
}

/// Where the end tag of an element begins.
fn end_tag(text: &str, name: &str) -> Option<usize> {
    memmem::find_iter(text.as_bytes(), b"</").find(|at| {
        text.as_bytes()
            .get(at + 2..at + 2 + name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name.as_bytes()))
    })
}

/// The length of a tag that begins the text, quotes respected; all of it when it does not end.
fn tag_length(text: &str) -> usize {
    let mut quote = None;
    let mut after_equals = false;
    for (at, byte) in text.bytes().enumerate() {
        match (quote, byte) {
            (Some(open), byte) if open == byte => quote = None,
            (Some(_), _) => {}
            // A quote opens a value only where one can begin; elsewhere it is a typing error.
            (None, b'"' | b'\'') if after_equals => quote = Some(byte),
            (None, b'>') => return at + 1,
            (None, byte) => {
                if !byte.is_ascii_whitespace() {
                    after_equals = byte == b'=';
                }
                continue;
            }
        }
        after_equals = false;
    }
    text.len()
}

/// The HTML with relative references resolved; everything else stays as it was written.
pub(super) fn absolute<'a>(html: &'a str, base: &PageUrl) -> Cow<'a, str> {
    let mut out = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = memchr(b'<', &html.as_bytes()[at..]) {
        let start = at + found;
        if html[start..].starts_with("<!--") {
            match memmem::find(&html.as_bytes()[start..], b"-->") {
                Some(end) => at = start + end + 3,
                None => break,
            }
            continue;
        }
        let name = tag_name(&html[start + 1..]);
        if name.is_empty() {
            at = start + 1;
            continue;
        }
        let end = start + tag_length(&html[start..]);
        let mut attribute_at = start + 1 + name.len();
        while let Some((attribute, value)) = next_attribute(html, attribute_at, end) {
            attribute_at = value.end.max(attribute_at + 1);
            if !holds_reference(&html[attribute]) {
                continue;
            }
            let written = decode(html[value.clone()].trim());
            if let Some(resolved) = resolve_reference(&written, base) {
                out.push_str(&html[copied..value.start]);
                escape_attribute(&resolved, &mut out);
                copied = value.end;
            }
        }
        at = end;
    }
    if copied == 0 {
        return Cow::Borrowed(html);
    }
    out.push_str(&html[copied..]);
    Cow::Owned(out)
}

/// The next attribute of a tag from `at` on: where its name and its value stand.
fn next_attribute(
    html: &str,
    at: usize,
    end: usize,
) -> Option<(std::ops::Range<usize>, std::ops::Range<usize>)> {
    let bytes = &html.as_bytes()[..end];
    let skip = |mut at: usize, wanted: fn(u8) -> bool| {
        while at < end && wanted(bytes[at]) {
            at += 1;
        }
        at
    };
    let name_start = skip(at, |byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'"' | b'\''));
    if name_start >= end || bytes[name_start] == b'>' {
        return None;
    }
    let name_end = skip(name_start, |byte| !byte.is_ascii_whitespace() && !matches!(byte, b'=' | b'>'));
    let equals = skip(name_end, |byte| byte.is_ascii_whitespace());
    if bytes.get(equals) != Some(&b'=') {
        return Some((name_start..name_end, name_end.max(name_start + 1)..name_end.max(name_start + 1)));
    }
    let value = skip(equals + 1, |byte| byte.is_ascii_whitespace());
    let range = match bytes.get(value) {
        Some(quote @ (b'"' | b'\'')) => {
            let length = memchr(*quote, &bytes[value + 1..]).unwrap_or(end - value - 1);
            value + 1..value + 1 + length
        }
        _ => value..skip(value, |byte| !byte.is_ascii_whitespace() && byte != b'>'),
    };
    Some((name_start..name_end, range))
}

/// The absolute form of a relative reference; nothing for what is absolute, a fragment, or no reference.
fn resolve_reference(reference: &str, base: &PageUrl) -> Option<String> {
    if reference.is_empty() || reference.starts_with('#') || has_scheme(reference) {
        return None;
    }
    let resolved = base.join(reference).ok()?;
    let mut resolved = resolved.as_str().to_owned();
    if let Some((_, fragment)) = reference.split_once('#') {
        resolved.push('#');
        resolved.push_str(fragment);
    }
    Some(resolved)
}

fn has_scheme(reference: &str) -> bool {
    reference.split_once(':').is_some_and(|(scheme, _)| {
        scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
    })
}

fn escape_text(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            _ => out.push(character),
        }
    }
}

fn escape_attribute(text: &str, out: &mut String) {
    for character in text.chars() {
        match character {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            _ => out.push(character),
        }
    }
}

/// Writes what is below a node as HTML in XHTML's manner, references resolved by `xml:base`. With `raw`, characters are
/// markup already and are not escaped again.
pub(super) fn serialise(dom: &Dom, top: NodeId, base: &PageUrl, raw: bool) -> String {
    let mut out = String::new();
    // The bases of the open elements that have their own.
    let mut bases: Vec<(NodeId, PageUrl)> = Vec::new();
    for edge in dom.traverse(top) {
        let (Edge::Open(id) | Edge::Close(id)) = edge;
        if id == top {
            continue;
        }
        match (&dom.node(id).data, edge) {
            (NodeData::Text(text), Edge::Open(_)) if raw => out.push_str(text),
            (NodeData::Text(text), Edge::Open(_)) => escape_text(text, &mut out),
            (NodeData::Element(element), Edge::Open(_)) => {
                if let Some(own) = element.attribute_named("xml:base") {
                    let current = bases.last().map_or(base, |(_, base)| base);
                    if let Ok(own) = current.join(own) {
                        bases.push((id, own));
                    }
                }
                open_tag(element, bases.last().map_or(base, |(_, base)| base), &mut out);
            }
            (NodeData::Element(element), Edge::Close(_)) => {
                if bases.last().is_some_and(|(owner, _)| *owner == id) {
                    bases.pop();
                }
                if !is_void(element) {
                    out.push_str("</");
                    out.push_str(&element.name.local);
                    out.push('>');
                }
            }
            _ => {}
        }
    }
    out
}

fn is_void(element: &Element) -> bool {
    VOID.contains(&&*element.name.local)
}

fn open_tag(element: &Element, base: &PageUrl, out: &mut String) {
    out.push('<');
    out.push_str(&element.name.local);
    for attribute in &element.attributes {
        if attribute.name.ns == ns!(xmlns) || attribute.name.ns == ns!(xml) {
            continue;
        }
        out.push(' ');
        out.push_str(&attribute.name.local);
        out.push_str("=\"");
        let resolved = (attribute.name.ns == ns!() && holds_reference(&attribute.name.local))
            .then(|| resolve_reference(attribute.value.trim(), base))
            .flatten();
        escape_attribute(resolved.as_deref().unwrap_or(&attribute.value), out);
        out.push('"');
    }
    out.push_str(if is_void(element) { " />" } else { ">" });
}

/// The bytes of Base64, white space ignored.
pub(super) fn decode_base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.bytes().filter(|byte| !byte.is_ascii_whitespace()) {
        let value = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            b'=' => continue,
            _ => return None,
        };
        bits = (bits << 6 | u32::from(value)) & 0xff_ffff;
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count & 0xff) as u8);
        }
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn base() -> PageUrl {
        PageUrl::parse("http://example.org/blog/feed.xml").unwrap()
    }

    #[test]
    fn tags_are_told_from_comparisons() {
        for (text, expected) in [
            ("1 < 2 and 3 > 2", false),
            ("<b>x</b>", true),
            ("x</p>", true),
            ("<blink> is gone", false),
            ("<a@b.example>", false),
            ("<BR>", true),
            ("i <3 u", false),
            ("<p", false),
        ] {
            assert_eq!(has_tags(text), expected, "{text}");
        }
    }

    #[test]
    fn references_are_replaced_once() {
        for (text, expected) in [
            ("AT&amp;T", "AT&T"),
            ("&amp;lt;", "&lt;"),
            ("R&D; a&b", "R&D; a&b"),
            ("&eacute;&#233;&#xE9;", "ééé"),
            ("&#0;&;&", "&#0;&;&"),
            ("é&é;", "é&é;"),
        ] {
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn references_become_absolute() {
        for (html, expected) in [
            (r#"<a href="p.html">x</a>"#, r#"<a href="http://example.org/blog/p.html">x</a>"#),
            ("<img src=/i.png alt=x>", "<img src=http://example.org/i.png alt=x>"),
            (r#"<a href='?a=1&amp;b#c'>"#, "<a href='http://example.org/blog/feed.xml?a=1&amp;b#c'>"),
            (r##"<a href="#top">"##, r##"<a href="#top">"##),
            (r#"<a href="mailto:a@b.example">"#, r#"<a href="mailto:a@b.example">"#),
            (
                r#"<!-- <a href="x"> --><i title="<a href=x>">"#,
                r#"<!-- <a href="x"> --><i title="<a href=x>">"#,
            ),
            (r#"<a href="x"#, r#"<a href="http://example.org/blog/x"#),
            ("a < b <3", "a < b <3"),
        ] {
            assert_eq!(absolute(html, &base()), expected, "{html}");
        }
    }

    #[test]
    fn words_of_markup() {
        for (html, expected) in [
            ("<p>One</p><p>two<b>three</b> &amp; four", "One twothree & four"),
            ("a<script>var x = '<p>';</script>b", "a b"),
            ("1 < 2<br>3", "1 < 2 3"),
            ("x<!-- y -->z", "xz"),
            ("<style>p{}", ""),
        ] {
            let mut collapsed = Collapsed::new(1000);
            words(html, &mut collapsed);
            assert_eq!(collapsed.text, expected, "{html}");
        }
    }

    #[test]
    fn base64() {
        assert_eq!(decode_base64(" RXhh\nbXBsZQ== ").as_deref(), Some(&b"Example"[..]));
        assert_eq!(decode_base64("what is this?"), None);
    }

    proptest! {
        #[test]
        fn no_markup_panics(html in "[<>/a-c \"'=&;#!é-]{0,80}") {
            let _ = absolute(&html, &base());
            let mut collapsed = Collapsed::new(50);
            words(&html, &mut collapsed);
            let _ = decode(&html);
        }
    }
}
