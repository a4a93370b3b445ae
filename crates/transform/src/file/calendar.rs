//! iCalendar as RDF, by the W3C's RDF Calendar vocabulary.
//!
//! The file is the calendar; events, tasks and notes are its components, blank nodes. Moments with a
//! time zone keep their local time, with the zone's name beside them: which offset it had then is for the reader's tables.

use oxrdf::{BlankNode, Literal, NamedNode, NamedOrBlankNode, Term};
use webloom_model::vocab::rdf;
use webloom_model::{Diagnostic, PageUrl};

use super::content_lines::{ContentLine, content_lines};
use super::vcard::iso_date;
use crate::Sink;

const NAMESPACE: &str = "http://www.w3.org/2002/12/cal/ical#";
/// Components within components.
const DEPTH_MAX: usize = 8;

fn term(local: &str) -> NamedNode {
    NamedNode::new_unchecked(format!("{NAMESPACE}{local}"))
}

/// Components that are described; what they contain (alarms) and time zones are passed over.
const COMPONENTS: &[(&str, &str)] =
    &[("VEVENT", "Vevent"), ("VTODO", "Vtodo"), ("VJOURNAL", "Vjournal"), ("VFREEBUSY", "Vfreebusy")];

/// Properties whose value is text.
const TEXTS: &[(&str, &str)] = &[
    ("SUMMARY", "summary"),
    ("DESCRIPTION", "description"),
    ("LOCATION", "location"),
    ("UID", "uid"),
    ("STATUS", "status"),
    ("CLASS", "class"),
    ("COMMENT", "comment"),
    ("CONTACT", "contact"),
    ("DURATION", "duration"),
    ("PRIORITY", "priority"),
    ("SEQUENCE", "sequence"),
    ("TRANSP", "transp"),
    ("RRULE", "rrule"),
    ("METHOD", "method"),
    ("PRODID", "prodid"),
    ("VERSION", "version"),
    ("CALSCALE", "calscale"),
    ("X-WR-CALNAME", "calname"),
    ("NAME", "calname"),
];

/// Properties whose value is a day or a moment.
const MOMENTS: &[(&str, &str)] = &[
    ("DTSTART", "dtstart"),
    ("DTEND", "dtend"),
    ("DTSTAMP", "dtstamp"),
    ("DUE", "due"),
    ("COMPLETED", "completed"),
    ("CREATED", "created"),
    ("LAST-MODIFIED", "lastModified"),
    ("EXDATE", "exdate"),
    ("RDATE", "rdate"),
    ("RECURRENCE-ID", "recurrenceId"),
];

/// Properties whose value is a reference.
const REFERENCES: &[(&str, &str)] = &[
    ("URL", "url"),
    ("ATTACH", "attach"),
    ("ORGANIZER", "organizer"),
    ("ATTENDEE", "attendee"),
    ("SOURCE", "source"),
];

/// Reads a calendar.
pub(super) fn read(url: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    sink.begin_block();
    let calendar: NamedOrBlankNode = url.graph_name().into();
    // The open components: what their properties are said of, or nothing for those passed over.
    let mut open: Vec<Option<NamedOrBlankNode>> = Vec::new();
    let mut number = 0;
    let mut broken = None;
    for line in content_lines(text) {
        let Ok(line) = line.inspect_err(|at| {
            broken.get_or_insert(*at);
        }) else {
            continue;
        };
        let fits = match line.name.as_str() {
            "BEGIN" => {
                let name = line.value.trim().to_ascii_uppercase();
                let class = COMPONENTS.iter().find(|(known, _)| *known == name);
                if open.len() >= DEPTH_MAX {
                    sink.diagnose(
                        Diagnostic::warning("icalendar-syntax", "components are nested too deep")
                            .at_line(line.line),
                    );
                    return;
                }
                if name == "VCALENDAR" {
                    open.push(Some(calendar.clone()));
                    sink.push_triple(calendar.clone(), rdf::TYPE, term("Vcalendar"))
                } else if let (Some((_, class)), Some(Some(parent))) = (class, open.last().cloned()) {
                    number += 1;
                    let node: NamedOrBlankNode =
                        BlankNode::new_unchecked(format!("component{number}")).into();
                    open.push(Some(node.clone()));
                    sink.push_triple(parent, term("component"), Term::from(node.clone()))
                        && sink.push_triple(node, rdf::TYPE, term(class))
                } else {
                    open.push(None);
                    true
                }
            }
            "END" => {
                open.pop();
                true
            }
            _ => match open.last() {
                Some(Some(subject)) => write_line(url, subject, &line, sink),
                _ => true,
            },
        };
        if !fits {
            return;
        }
    }
    if !open.is_empty() {
        sink.diagnose(Diagnostic::warning("icalendar-syntax", "the calendar has no end"));
    }
    if let Some(at) = broken {
        let message = "a line that is none of iCalendar's was passed over";
        sink.diagnose(Diagnostic::warning("icalendar-syntax", message).at_line(at));
    }
}

/// Writes a property. False when the page has had enough.
fn write_line(
    url: &PageUrl,
    subject: &NamedOrBlankNode,
    line: &ContentLine<'_>,
    sink: &mut Sink<'_>,
) -> bool {
    let find = |table: &[(&str, &'static str)]| {
        table.iter().find(|(name, _)| *name == line.name).map(|(_, local)| *local)
    };
    let language = line.parameter("LANGUAGE");
    let literal = |text: &str| {
        language
            .and_then(|language| Literal::new_language_tagged_literal(text, language).ok())
            .unwrap_or_else(|| Literal::new_simple_literal(text))
    };
    if let Some(local) = find(TEXTS) {
        let text = line.text();
        return text.trim().is_empty()
            || sink.push_triple(subject.clone(), term(local), literal(text.trim()));
    }
    if let Some(local) = find(MOMENTS) {
        let zone = line.parameter("TZID");
        return line.value.split(',').all(|moment| {
            let moment = moment.trim();
            let object = match iso_date(moment) {
                Some((value, datatype)) => Literal::new_typed_literal(value, datatype),
                None => Literal::new_simple_literal(moment),
            };
            sink.push_triple(subject.clone(), term(local), object)
        }) && zone.is_none_or(|zone| {
            sink.push_triple(subject.clone(), term("tzid"), Literal::new_simple_literal(zone))
        });
    }
    if let Some(local) = find(REFERENCES) {
        let text = line.value.trim();
        let target = match url.join(text) {
            Ok(target) if line.parameter("ENCODING").is_none() => Some(target.graph_name()),
            _ => NamedNode::new(text).ok().filter(|_| !text.starts_with("data:")),
        };
        return target.is_none_or(|target| {
            let name = line.parameter("CN").map(literal);
            sink.push_triple(subject.clone(), term(local), target.clone())
                && name.is_none_or(|name| sink.push_triple(target, webloom_model::vocab::rdfs::LABEL, name))
        });
    }
    match line.name.as_str() {
        "CATEGORIES" => line
            .parts(',')
            .iter()
            .filter(|name| !name.is_empty())
            .all(|name| sink.push_triple(subject.clone(), term("categories"), literal(name))),
        "GEO" => {
            let place = line.value.trim().replace(';', ",");
            match NamedNode::new(format!("geo:{place}")) {
                Ok(place) => sink.push_triple(subject.clone(), term("geo"), place),
                Err(_) => true,
            }
        }
        _ => true,
    }
}
