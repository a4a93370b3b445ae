//! The `Link` header of HTTP (RFC 8288), which any answer may have: pages, pictures, PDF.
//!
//! In: the header fields of a page. Out: the triples a `<link>` in HTML would give, with the page or the link's `anchor`
//! as their subject. The reading is the lenient one of the RFC's appendix B: several fields, several links in one,
//! parameters without quotes, empty members; a broken link costs itself and not its neighbours. Start at [`read`].

use oxrdf::{Literal, NamedNode};
use webloom_model::{Diagnostic, FetchedPage, PageUrl, UrlProblem};

use crate::Sink;
use crate::html::parsed::language_tag;
use crate::relation::{self, TargetNotes};

/// Links of one answer that are read.
const LINKS_MAX: usize = 1000;
/// Parameters of one link that are kept.
const PARAMETERS_MAX: usize = 32;

/// Reads the `Link` headers of any answer.
pub(crate) fn read(page: &FetchedPage, sink: &mut Sink<'_>) {
    let mut count = 0_usize;
    let mut bad: Option<String> = None;
    for value in page.header_all("link") {
        let mut rest = value;
        while let Some(link) = next_link(&mut rest) {
            count += 1;
            if count > LINKS_MAX {
                let message = format!(
                    "the answer has more than {LINKS_MAX} links in its headers; the rest was left out"
                );
                return sink.diagnose(Diagnostic::warning("link-header-cut", message));
            }
            if let Err(reference) = emit(&page.url, &link, sink) {
                bad.get_or_insert(reference);
            }
        }
    }
    if let Some(reference) = bad {
        let reference: String = reference.chars().take(80).collect();
        let message = format!("`{reference}` in a Link header is not a usable reference");
        sink.diagnose(Diagnostic::note("link-header-bad-reference", message));
    }
}

/// Writes what a link says; a reference that cannot be used is the error.
fn emit(page: &PageUrl, link: &Link<'_>, sink: &mut Sink<'_>) -> Result<(), String> {
    let rel = link.first("rel").unwrap_or_default();
    let rev = link.first("rev").unwrap_or_default();
    let predicates = |relations: &str| -> Vec<NamedNode> {
        relation::names(relations).map(relation::predicate).chain(relation::extensions(relations)).collect()
    };
    let (forward, backward) = (predicates(rel), predicates(rev));
    if forward.is_empty() && backward.is_empty() {
        return Ok(());
    }
    let target = resolve(page, link.target)?;
    let context = match link.first("anchor") {
        Some(anchor) => resolve(page, anchor)?,
        None => page.graph_name(),
    };
    for predicate in forward {
        sink.push_triple(context.clone(), predicate, target.clone());
    }
    for predicate in backward {
        sink.push_triple(target.clone(), predicate, context.clone());
    }
    let notes = TargetNotes {
        media_type: link.first("type").and_then(relation::media_type),
        languages: link.all("hreflang").filter_map(language_tag).collect(),
        title: link.title(),
    };
    notes.emit(&target, sink);
    Ok(())
}

/// The name of what a reference leads to. Fragments are kept: relations like `describedby` point into documents.
fn resolve(page: &PageUrl, reference: &str) -> Result<NamedNode, String> {
    let bad = || reference.to_owned();
    let (without_fragment, fragment) =
        reference.split_once('#').map_or((reference, None), |(before, fragment)| (before, Some(fragment)));
    match page.join(without_fragment) {
        Ok(url) => {
            let fragment = fragment.filter(|fragment| !fragment.is_empty());
            fragment
                .and_then(|fragment| NamedNode::new(format!("{}#{fragment}", url.as_str())).ok())
                .map_or_else(|| Ok(url.graph_name()), Ok)
        }
        Err(UrlProblem::Scheme { scheme, .. }) if scheme != "javascript" && scheme != "data" => {
            NamedNode::new(reference.trim()).map_err(|_| bad())
        }
        Err(_) => Err(bad()),
    }
}

/// A link as written.
#[derive(Debug, PartialEq, Eq)]
struct Link<'a> {
    target: &'a str,
    /// Names in lower case, in order.
    parameters: Vec<(String, String)>,
}

impl Link<'_> {
    /// The first parameter of that name: of most, says the RFC, any other is to be ignored.
    fn first(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    fn all<'b>(&'b self, name: &'b str) -> impl Iterator<Item = &'b str> {
        self.parameters.iter().filter(move |(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// `title*` where it can be read, else `title`.
    fn title(&self) -> Option<Literal> {
        if let Some((text, language)) = self.first("title*").and_then(extended_value)
            && !text.trim().is_empty()
        {
            return Some(match language.and_then(language_tag) {
                Some(tag) => Literal::new_language_tagged_literal(text.trim(), tag)
                    .unwrap_or_else(|_| Literal::new_simple_literal(text.trim())),
                None => Literal::new_simple_literal(text.trim()),
            });
        }
        self.first("title").map(str::trim).filter(|title| !title.is_empty()).map(Literal::new_simple_literal)
    }
}

/// Takes the next link off the text of a field.
fn next_link<'a>(rest: &mut &'a str) -> Option<Link<'a>> {
    loop {
        let text = rest.trim_start_matches([' ', '\t', ',']);
        if text.is_empty() {
            *rest = text;
            return None;
        }
        let Some(after) = text.strip_prefix('<') else {
            // Not a link: on to the next member.
            *rest = skip_member(text);
            continue;
        };
        let Some((target, after)) = after.split_once('>') else {
            *rest = "";
            return None;
        };
        let mut parameters = Vec::new();
        let mut text = after.trim_start_matches([' ', '\t']);
        while let Some(parameter) = text.strip_prefix(';') {
            let (name, value, after) = parameter_of(parameter.trim_start_matches([' ', '\t', ';']));
            if !name.is_empty() && parameters.len() < PARAMETERS_MAX {
                parameters.push((name.to_ascii_lowercase(), value));
            }
            text = after.trim_start_matches([' ', '\t']);
        }
        *rest = skip_member(text);
        return Some(Link { target: target.trim(), parameters });
    }
}

/// What follows the next comma that is in no quotes and no reference.
fn skip_member(text: &str) -> &str {
    let bytes = text.as_bytes();
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            b',' => return &text[index + 1..],
            b'"' => index += quoted(&text[index..]).1,
            _ => index += 1,
        }
    }
    ""
}

/// Name, value and what follows a parameter.
fn parameter_of(text: &str) -> (&str, String, &str) {
    let name_end = text.find(['=', ';', ',', ' ', '\t']).unwrap_or(text.len());
    let (name, after) = text.split_at(name_end);
    let after_space = after.trim_start_matches([' ', '\t']);
    let Some(value) = after_space.strip_prefix('=') else { return (name, String::new(), after_space) };
    let value = value.trim_start_matches([' ', '\t']);
    if value.starts_with('"') {
        let (text, length) = quoted(value);
        return (name, text, &value[length..]);
    }
    let end = value.find([';', ',']).unwrap_or(value.len());
    (name, value[..end].trim_end().to_owned(), &value[end..])
}

/// A quoted string with its escapes undone, and its length as written.
fn quoted(text: &str) -> (String, usize) {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((index, c)) = characters.next() {
        match c {
            '"' => return (value, index + 1),
            '\\' => value.extend(characters.next().map(|(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, text.len())
}

/// RFC 8187: `UTF-8'en'%e2%82%ac%20rates` as text and language.
fn extended_value(text: &str) -> Option<(String, Option<&str>)> {
    let (charset, rest) = text.split_once('\'')?;
    let (language, encoded) = rest.split_once('\'')?;
    let mut bytes = Vec::with_capacity(encoded.len());
    let mut rest = encoded.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        let escaped = (byte == b'%')
            .then(|| after.get(..2).and_then(|digits| std::str::from_utf8(digits).ok()))
            .flatten()
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(escaped) => {
                bytes.push(escaped);
                rest = &after[2..];
            }
            None => {
                bytes.push(byte);
                rest = after;
            }
        }
    }
    let encoding = encoding_rs::Encoding::for_label(charset.as_bytes())?;
    let (text, malformed) = encoding.decode_without_bom_handling(&bytes);
    (!malformed).then(|| (text.into_owned(), Some(language).filter(|language| !language.is_empty())))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Links one a line: target, then parameters.
    fn show(mut header: &str) -> String {
        let mut lines = Vec::new();
        while let Some(link) = next_link(&mut header) {
            let parameters: Vec<String> =
                link.parameters.iter().map(|(name, value)| format!(" {name}={value}")).collect();
            lines.push(format!("{}{}", link.target, parameters.concat()));
        }
        lines.join("\n")
    }

    #[test]
    fn headers_are_read_leniently() {
        for (header, expected) in [
            ("</a>; rel=next", "/a rel=next"),
            ("</a>;rel=\"next last\"", "/a rel=next last"),
            ("</a>; rel = \"next\" ; type=text/turtle", "/a rel=next type=text/turtle"),
            ("</a>; rel=next, </b>; rel=prev", "/a rel=next\n/b rel=prev"),
            ("</a,b;c>; rel=next", "/a,b;c rel=next"),
            (", ,</a>; rel=next,,", "/a rel=next"),
            ("</a>", "/a"),
            ("</a>;;rel=next;", "/a rel=next"),
            ("</a>; REL=next; crossorigin; x", "/a rel=next crossorigin= x="),
            ("</a>; title=\"a \\\"b\\\", c; d\"; rel=next", "/a title=a \"b\", c; d rel=next"),
            ("</a>; title=\"open, <b>; rel=x", "/a title=open, <b>; rel=x"),
            ("rubbish, </a>; rel=next", "/a rel=next"),
            ("\"q, </no>\" x, </a>; rel=next", "/a rel=next"),
            ("</a>; rel=next rubbish, </b>; rel=up", "/a rel=next rubbish\n/b rel=up"),
            ("</a>; rel=\"next\" rubbish, </b>; rel=up", "/a rel=next\n/b rel=up"),
            ("</unclosed; rel=next", ""),
            ("", ""),
            ("</é>; title=é", "/é title=é"),
        ] {
            assert_eq!(show(header), expected, "{header}");
        }
    }

    #[test]
    fn extended_values_are_decoded() {
        for (value, expected) in [
            ("UTF-8'en'%e2%82%ac%20rates", Some(("€ rates", Some("en")))),
            ("utf-8''caf%C3%A9", Some(("café", None))),
            ("iso-8859-1'de'%e4", Some(("ä", Some("de")))),
            ("UTF-8''%zz%4", Some(("%zz%4", None))),
            ("UTF-8''%ff", None),
            ("no-such''x", None),
            ("plain", None),
        ] {
            let decoded = extended_value(value);
            let decoded = decoded.as_ref().map(|(text, language)| (text.as_str(), *language));
            assert_eq!(decoded, expected, "{value}");
        }
    }

    proptest! {
        #[test]
        fn any_header_is_read(header in "[<>;,=\"\\\\ a-c*'%é]{0,80}") {
            let _ = show(&header);
            let _ = extended_value(&header);
        }
    }
}
