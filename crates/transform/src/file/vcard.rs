//! vCard 2.1, 3.0 and 4.0 as RDF, by the W3C's ontology for vCard.
//!
//! Each card is a node of its own: its `UID` where that is an IRI, else a blank node. Values that are references become IRIs
//! (`mailto:`, `tel:`); pictures within the card are passed over.

use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term};
use webloom_model::vocab::{rdf, xsd};
use webloom_model::{Diagnostic, PageUrl};

use super::content_lines::{ContentLine, content_lines};
use crate::Sink;

const NAMESPACE: &str = "http://www.w3.org/2006/vcard/ns#";

fn term(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NAMESPACE}{local}"))
}

/// Parts of `N`, in the order of the format.
const NAME_PARTS: [&str; 5] =
    ["family-name", "given-name", "additional-name", "honorific-prefix", "honorific-suffix"];
/// Parts of `ADR`; post box and extension have lost their meaning.
const ADDRESS_PARTS: [&str; 7] = [
    "post-office-box",
    "extended-address",
    "street-address",
    "locality",
    "region",
    "postal-code",
    "country-name",
];

/// Reads a file of cards.
pub(super) fn read(url: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    sink.begin_block();
    let mut card: Option<Vec<ContentLine<'_>>> = None;
    let mut broken = None;
    let mut number = 0;
    for line in content_lines(text) {
        let line = match line {
            Ok(line) => line,
            Err(at) => {
                broken.get_or_insert(at);
                continue;
            }
        };
        match line.name.as_str() {
            "BEGIN" if line.value.trim().eq_ignore_ascii_case("vcard") => card = Some(Vec::new()),
            "END" if line.value.trim().eq_ignore_ascii_case("vcard") => {
                if let Some(lines) = card.take() {
                    number += 1;
                    if !write_card(url, &lines, number, sink) {
                        return;
                    }
                }
            }
            _ => {
                if let Some(lines) = &mut card {
                    lines.push(line);
                }
            }
        }
    }
    if let Some(lines) = card {
        sink.diagnose(Diagnostic::warning("vcard-syntax", "the last card has no end"));
        write_card(url, &lines, number + 1, sink);
    }
    if let Some(at) = broken {
        let message = "a line that is none of vCard's was passed over";
        sink.diagnose(Diagnostic::warning("vcard-syntax", message).at_line(at));
    }
}

/// Writes one card. False when the page has had enough.
fn write_card(url: &PageUrl, lines: &[ContentLine<'_>], number: usize, sink: &mut Sink<'_>) -> bool {
    let find = |name: &str| lines.iter().find(|line| line.name == name);
    let subject: NamedOrBlankNode = find("UID")
        .and_then(|line| NamedNode::new(line.text().trim()).ok())
        .map_or_else(|| BlankNode::new_unchecked(format!("card{number}")).into(), Into::into);
    let kind = match find("KIND").map(|line| line.value.trim().to_ascii_lowercase()).as_deref() {
        Some("org") => "Organization",
        Some("group") => "Group",
        Some("location") => "Location",
        Some("application") => "VCard",
        _ => "Individual",
    };
    if !sink.push_triple(subject.clone(), rdf::TYPE, term(kind)) {
        return false;
    }
    let mut parts = 0;
    for line in lines {
        parts += 1;
        let blank = BlankNode::new_unchecked(format!("card{number}part{parts}"));
        let fits = write_line(url, &subject, line, blank, sink);
        if !fits {
            return false;
        }
    }
    true
}

fn write_line(
    url: &PageUrl,
    subject: &NamedOrBlankNode,
    line: &ContentLine<'_>,
    blank: BlankNode,
    sink: &mut Sink<'_>,
) -> bool {
    let text = line.text();
    let text = text.trim();
    if text.is_empty() {
        return true;
    }
    let mut say = |property: &str, object: Term| sink.push_triple(subject.clone(), term(property), object);
    let literal = |text: &str| -> Term { literal(text, line.parameter("LANGUAGE")).into() };
    match line.name.as_str() {
        "FN" => say("fn", literal(text)),
        "NICKNAME" => {
            line.parts(',').iter().filter(|name| !name.is_empty()).all(|name| say("nickname", literal(name)))
        }
        "TITLE" => say("title", literal(text)),
        "ROLE" => say("role", literal(text)),
        "NOTE" => say("note", literal(text)),
        "TZ" => say("tz", literal(text)),
        "SORT-STRING" => say("sort-string", literal(text)),
        "CATEGORIES" => {
            line.parts(',').iter().filter(|name| !name.is_empty()).all(|name| say("category", literal(name)))
        }
        "BDAY" => say("bday", date(text)),
        "ANNIVERSARY" => say("anniversary", date(text)),
        "REV" => say("rev", date(text)),
        "ORG" => {
            let parts = line.parts(';');
            let mut parts = parts.iter().filter(|part| !part.is_empty());
            parts.next().is_none_or(|name| say("organization-name", literal(name)))
                && parts.all(|unit| say("organization-unit", literal(unit)))
        }
        "EMAIL" => reference(url, &format!("mailto:{}", text.trim_start_matches("mailto:")))
            .is_none_or(|mailbox| say("hasEmail", mailbox)),
        "TEL" => {
            let digits: String =
                text.trim_start_matches("tel:").chars().filter(|c| !c.is_whitespace()).collect();
            match reference(url, &format!("tel:{digits}")) {
                Some(number) => say("hasTelephone", number),
                None => say("telephone", literal(text)),
            }
        }
        "URL" => reference(url, text).is_none_or(|target| say("hasURL", target)),
        "SOURCE" => reference(url, text).is_none_or(|target| say("hasSource", target)),
        "IMPP" => reference(url, text).is_none_or(|target| say("hasInstantMessage", target)),
        "MEMBER" => reference(url, text).is_none_or(|target| say("hasMember", target)),
        "RELATED" => match reference(url, text) {
            Some(target) => say("hasRelated", target),
            None => say("hasRelated", literal(text)),
        },
        "PHOTO" | "LOGO" | "SOUND" | "KEY" if is_reference(line, text) => {
            let property = match line.name.as_str() {
                "PHOTO" => "hasPhoto",
                "LOGO" => "hasLogo",
                "SOUND" => "hasSound",
                _ => "hasKey",
            };
            reference(url, text).is_none_or(|target| say(property, target))
        }
        "LANG" => say("language", literal(text)),
        "GENDER" => say("gender", literal(text)),
        "UID" => say("uid", literal(text)),
        "GEO" => {
            let place = text.trim_start_matches("geo:").replace(';', ",");
            reference(url, &format!("geo:{place}")).is_none_or(|place| say("hasGeo", place))
        }
        "N" => say("hasName", blank.clone().into()) && write_parts(&blank, "Name", &NAME_PARTS, line, sink),
        "ADR" => {
            say("hasAddress", blank.clone().into())
                && write_parts(&blank, "Address", &ADDRESS_PARTS, line, sink)
                && line.kinds("TYPE").iter().all(|kind| match kind.as_str() {
                    "home" => sink.push_triple(blank.clone(), rdf::TYPE, term("Home")),
                    "work" => sink.push_triple(blank.clone(), rdf::TYPE, term("Work")),
                    _ => true,
                })
        }
        _ => true,
    }
}

fn write_parts(
    node: &BlankNode,
    class: &str,
    names: &[&str],
    line: &ContentLine<'_>,
    sink: &mut Sink<'_>,
) -> bool {
    sink.push_triple(node.clone(), rdf::TYPE, term(class))
        && names.iter().zip(line.parts(';')).filter(|(_, part)| !part.is_empty()).all(|(name, part)| {
            sink.push_triple(node.clone(), term(name), literal(&part, line.parameter("LANGUAGE")))
        })
}

fn literal(text: &str, language: Option<&str>) -> Literal {
    language
        .and_then(|language| Literal::new_language_tagged_literal(text, language).ok())
        .unwrap_or_else(|| Literal::new_simple_literal(text))
}

/// Whether the value names a resource rather than being one.
fn is_reference(line: &ContentLine<'_>, text: &str) -> bool {
    let encoded = line.parameter("ENCODING").is_some() || text.starts_with("data:");
    !encoded && (text.starts_with("http:") || text.starts_with("https:"))
}

fn reference(url: &PageUrl, text: &str) -> Option<Term> {
    match url.join(text) {
        Ok(target) => Some(target.graph_name().into()),
        // `mailto:`, `tel:` and the like are no pages, but names they are.
        Err(_) => NamedNode::new(text).ok().map(Into::into),
    }
}

/// A date or a moment in either of ISO 8601's forms, typed where it is whole.
pub(super) fn date(text: &str) -> Term {
    match iso_date(text) {
        Some((value, datatype)) => Literal::new_typed_literal(value, datatype).into(),
        None => Literal::new_simple_literal(text).into(),
    }
}

/// The extended form of `19960415`, `1996-04-15`, `19961022T140000Z`, and its datatype.
pub(super) fn iso_date(text: &str) -> Option<(String, NamedNodeRef<'static>)> {
    const DATE: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://www.w3.org/2001/XMLSchema#date");
    let (day, time) = match text.split_once(['T', ' ']) {
        Some((day, time)) => (day, Some(time)),
        None => (text, None),
    };
    let digits: String = day.chars().filter(|c| *c != '-').collect();
    if digits.len() != 8 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let day = format!("{}-{}-{}", &digits[..4], &digits[4..6], &digits[6..]);
    let Some(time) = time else {
        return day.parse::<jiff::civil::Date>().is_ok().then_some((day, DATE));
    };
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let clock: String = time[..zone_at].chars().filter(|c| *c != ':').collect();
    let clock = clock.split('.').next().unwrap_or_default();
    if !clock.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let clock = match clock.len() {
        6 => format!("{}:{}:{}", &clock[..2], &clock[2..4], &clock[4..]),
        4 => format!("{}:{}:00", &clock[..2], &clock[2..]),
        _ => return None,
    };
    let zone: String = time[zone_at..].chars().filter(|c| *c != ':').collect();
    let zone = match zone.len() {
        0 => String::new(),
        1 => "Z".to_owned(),
        3 => format!("{zone}:00"),
        5 => format!("{}:{}", &zone[..3], &zone[3..]),
        _ => return None,
    };
    let value = format!("{day}T{clock}{zone}");
    format!("{day}T{clock}").parse::<jiff::civil::DateTime>().is_ok().then_some((value, xsd::DATE_TIME))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_take_the_form_of_xml_schema() {
        for (given, expected) in [
            ("19960415", Some("1996-04-15")),
            ("1996-04-15", Some("1996-04-15")),
            ("19961022T140000Z", Some("1996-10-22T14:00:00Z")),
            ("1996-10-22T14:00:00+0200", Some("1996-10-22T14:00:00+02:00")),
            ("1996-10-22T14:00-05", Some("1996-10-22T14:00:00-05:00")),
            ("19961022T140000", Some("1996-10-22T14:00:00")),
            ("--0415", None),
            ("1996", None),
            ("19961399", None),
            ("19960415T990000", None),
            ("when it é rains", None),
        ] {
            assert_eq!(iso_date(given).map(|(value, _)| value).as_deref(), expected, "{given}");
        }
    }
}
