//! feedparser's feeds: what it finds in them, looked up in the graphs we make of them.
//!
//! A check is a path into feedparser's result (`entries.0.author_detail.name`) and a value. [`look_up`] says which triples
//! that is in our mapping (`docs/feeds.md`); what feedparser has and RDF of a feed has not is [`Found::NotMapped`] with
//! the reason, is counted, and is printed. Whether a feed is well-formed (`bozo`) is counted apart, so that it lifts no other figure.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use oxrdf::{Literal, NamedOrBlankNode, Quad, Term};
use serde_json::Value;
use webloom_model::{PageGraph, PageUrl};
use webloom_transform::TransformConfig;

use crate::Outcome;
use crate::graphs::extract;

const RSS: &str = "http://purl.org/rss/1.0/";
const DC: &str = "http://purl.org/dc/elements/1.1/";
const DCTERMS: &str = "http://purl.org/dc/terms/";
const SCHEMA: &str = "http://schema.org/";
const FOAF: &str = "http://xmlns.com/foaf/0.1/";
const SKOS: &str = "http://www.w3.org/2004/02/skos/core#";
const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
const XHV: &str = "http://www.w3.org/1999/xhtml/vocab#";
const IANA: &str = "http://www.iana.org/assignments/relation/";
const WL: &str = "urn:webloom:ns#";

/// Checks that are feedparser's own conventions: what it expects is in no specification.
const CONVENTIONS: &[(&str, &str)] = &[
    ("wellformed/rss/item_description_not_a_doctype", "what feedparser's sanitiser makes of `<!'`"),
    ("wellformed/atom10/missing_quote_in_attr", "what feedparser's sanitiser makes of a missing quote"),
    ("wellformed/atom10/tag_in_attr", "what feedparser's sanitiser makes of a tag in an attribute"),
    ("wellformed/atom10/feed_link_rel_self_default_type", "RFC 4287 has no default for the type of a link"),
    ("wellformed/atom10/qna", "feedparser escapes the `&`; without any markup, ours is the plain text"),
];

/// Cases that fail, and why.
pub const KNOWN_FAILURES: &[(&str, &str)] = &[
    ("entities/lang#*", "feedparser has HTML 4's character, HTML now means U+27E8"),
    ("entities/rang#*", "feedparser has HTML 4's character, HTML now means U+27E9"),
    (
        "wellformed/rss/item_enclosure_url#entries.0.links.0.rel",
        "which of an item's link and enclosure came first is not kept: RDF has no order",
    ),
];

/// Runs the suite: an outcome for every check.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("feeds");
    let cases = std::fs::read_to_string(folder.join("cases.jsonl")).context("cases.jsonl")?;
    let mut outcomes = Vec::new();
    let mut not_mapped: BTreeMap<&str, usize> = BTreeMap::new();
    for line in cases.lines() {
        let case: Value = serde_json::from_str(line)?;
        let id = case["id"].as_str().context("a case without id")?;
        let input = case["input"].as_str().context("a case without input")?;
        let checks = case["checks"].as_array().map(Vec::as_slice).unwrap_or_default();
        if checks.is_empty() {
            *not_mapped.entry("the expectation is Python that the suite does not take apart").or_default() +=
                1;
            continue;
        }
        let url = format!("http://example.org/{input}");
        let graph = extract(&url, None, std::fs::read(folder.join(input))?, &TransformConfig::default())?;
        let view = View { quads: &graph.quads };
        let feed = NamedOrBlankNode::from(PageUrl::parse(&url)?.graph_name());
        let directory = id.split('/').rev().nth(1).unwrap_or(id);
        for check in checks {
            let path: Vec<&Value> =
                check["path"].as_array().context("a check without path")?.iter().collect();
            let shown: Vec<String> = path.iter().map(|part| plain(part)).collect();
            let (operator, expected) = (check["op"].as_str().unwrap_or_default(), &check["value"]);
            let (group, result) = if shown == ["bozo"] {
                ("feeds bozo".to_owned(), well_formed(&graph))
            } else {
                let convention = CONVENTIONS.iter().find(|(case, _)| *case == id).map(|(_, reason)| *reason);
                let found = match convention {
                    Some(reason) => Found::NotMapped(reason),
                    None => look_up(&view, &feed, &shown),
                };
                if let Found::NotMapped(reason) = found {
                    *not_mapped.entry(reason).or_default() += 1;
                    continue;
                }
                (format!("feeds {directory}"), judge(&view, &feed, &shown, operator, expected, &found))
            };
            outcomes.push(Outcome { group, id: format!("{id}#{}", shown.join(".")), result });
        }
    }
    let total: usize = not_mapped.values().sum();
    eprintln!("feeds: {total} checks not mapped");
    for (reason, count) in not_mapped {
        eprintln!("  {count:>4}  {reason}");
    }
    Ok(outcomes)
}

/// A part of a path as text.
fn plain(part: &Value) -> String {
    part.as_str().map_or_else(|| part.to_string(), str::to_owned)
}

fn well_formed(graph: &PageGraph) -> Result<(), String> {
    match graph.diagnostics.iter().find(|diagnostic| diagnostic.code == "xml-syntax") {
        Some(diagnostic) => Err(diagnostic.to_string()),
        None => Ok(()),
    }
}

/// What our graph has where feedparser looks.
#[derive(Debug, PartialEq)]
enum Found {
    Nothing,
    Text(String),
    Html(String),
    Iri(String),
    /// Of `xsd:dateTime` and its kin.
    Date(String),
    Flag(bool),
    Count(usize),
    /// One of feedparser's dictionaries: looked up part by part.
    Parts,
    NotMapped(&'static str),
}

struct View<'a> {
    quads: &'a [Quad],
}

impl<'a> View<'a> {
    /// Objects of a property in the order they were written.
    fn objects(&self, subject: &NamedOrBlankNode, property: &str) -> Vec<&'a Term> {
        self.quads
            .iter()
            .filter(|quad| quad.subject == *subject && quad.predicate.as_str() == property)
            .map(|quad| &quad.object)
            .collect()
    }

    fn nodes(&self, subject: &NamedOrBlankNode, property: &str) -> Vec<NamedOrBlankNode> {
        self.objects(subject, property).into_iter().filter_map(as_node).collect()
    }

    fn value(&self, subject: &NamedOrBlankNode, property: &str) -> Found {
        self.objects(subject, property).first().map_or(Found::Nothing, |term| found(term))
    }

    /// The n-th item of the feed's list.
    fn entry(&self, feed: &NamedOrBlankNode, index: usize) -> Option<NamedOrBlankNode> {
        let list = self.nodes(feed, &format!("{RSS}items")).into_iter().next()?;
        self.nodes(&list, &format!("{RDF}_{}", index + 1)).into_iter().next()
    }

    /// Links in order: relation and target.
    fn links(&self, subject: &NamedOrBlankNode) -> Vec<(String, NamedOrBlankNode)> {
        let relation = |predicate: &str| -> Option<String> {
            if predicate == format!("{RSS}link") {
                Some("alternate".to_owned())
            } else if predicate == format!("{SCHEMA}associatedMedia") {
                Some("enclosure".to_owned())
            } else if predicate == format!("{XHV}icon") {
                None
            } else if predicate.starts_with("http://feedparser.org/rel/") {
                Some(predicate.to_owned())
            } else {
                predicate.strip_prefix(XHV).or_else(|| predicate.strip_prefix(IANA)).map(str::to_owned)
            }
        };
        self.quads
            .iter()
            .filter(|quad| quad.subject == *subject)
            .filter_map(|quad| Some((relation(quad.predicate.as_str())?, as_node(&quad.object)?)))
            .collect()
    }
}

fn as_node(term: &Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(node.clone().into()),
        Term::BlankNode(node) => Some(node.clone().into()),
        _ => None,
    }
}

fn found(term: &Term) -> Found {
    match term {
        Term::NamedNode(node) => Found::Iri(node.as_str().to_owned()),
        Term::Literal(literal) => found_literal(literal),
        _ => Found::Nothing,
    }
}

fn found_literal(literal: &Literal) -> Found {
    let value = literal.value().to_owned();
    match literal.datatype().as_str().rsplit(['#', '/']).next() {
        Some("HTML") => Found::Html(value),
        Some("dateTime" | "date" | "gYearMonth" | "gYear") => Found::Date(value),
        Some("boolean") => Found::Flag(value == "true"),
        _ => Found::Text(value),
    }
}

fn node_iri(node: &NamedOrBlankNode) -> Found {
    match node {
        NamedOrBlankNode::NamedNode(node) => Found::Iri(node.as_str().to_owned()),
        NamedOrBlankNode::BlankNode(_) => Found::Nothing,
    }
}

/// Where feedparser's path leads in our graph.
fn look_up(view: &View<'_>, feed: &NamedOrBlankNode, path: &[String]) -> Found {
    let path: Vec<&str> = path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["version"] => version(view, feed),
        ["feed", rest @ ..] => property(view, feed, rest),
        ["entries", index, rest @ ..] => match index.parse().ok().and_then(|index| view.entry(feed, index)) {
            Some(entry) => property(view, &entry, rest),
            None => Found::Nothing,
        },
        ["len()", "feed", "tags"] => Found::Count(view.objects(feed, &format!("{DC}subject")).len()),
        ["len()", "feed", "links"] => Found::Count(view.links(feed).len()),
        ["len()", "entries", index, "links"] => {
            match index.parse().ok().and_then(|index| view.entry(feed, index)) {
                Some(entry) => Found::Count(view.links(&entry).len()),
                None => Found::Nothing,
            }
        }
        _ => Found::NotMapped("a path of feedparser's own"),
    }
}

fn property(view: &View<'_>, node: &NamedOrBlankNode, path: &[&str]) -> Found {
    let value = |property: String| view.value(node, &property);
    match path {
        ["title"] => value(format!("{RSS}title")),
        ["description" | "summary" | "tagline"] => value(format!("{RSS}description")),
        ["subtitle"] => {
            or(value(format!("{SCHEMA}alternativeHeadline")), || value(format!("{RSS}description")))
        }
        ["info"] => value("http://www.w3.org/2000/01/rdf-schema#comment".to_owned()),
        ["copyright" | "rights"] => value(format!("{DC}rights")),
        [detail, "value"] if detail.ends_with("_detail") => {
            property(view, node, &[detail.trim_end_matches("_detail")])
        }
        [
            detail @ ("title_detail" | "summary_detail" | "subtitle_detail" | "tagline_detail"
            | "info_detail" | "copyright_detail" | "rights_detail"),
            "type",
        ] => media_type(&property(view, node, &[detail.trim_end_matches("_detail")])),
        ["link"] => value(format!("{RSS}link")),
        ["id" | "guid"] => value(format!("{DCTERMS}identifier")),
        ["guidislink"] => {
            let (link, id) = (value(format!("{RSS}link")), value(format!("{DCTERMS}identifier")));
            Found::Flag(matches!((link, id), (Found::Iri(link), Found::Text(id)) if same_url(&link, &id)))
        }
        ["links", index, rest @ ..] => nth(index, view.links(node), |(relation, target)| match rest {
            [] => Found::Parts,
            ["rel"] => Found::Text(relation),
            ["href"] => node_iri(&target),
            [part] => target_part(view, &target, part),
            _ => Found::Nothing,
        }),
        ["enclosures", index, rest @ ..] => {
            nth(index, view.nodes(node, &format!("{SCHEMA}associatedMedia")), |target| match rest {
                [] => Found::Parts,
                ["href" | "url"] => node_iri(&target),
                [part] => target_part(view, &target, part),
                _ => Found::Nothing,
            })
        }
        ["author" | "publisher"] => {
            let role = if path[0] == "author" { "creator" } else { "publisher" };
            view.nodes(node, &format!("{DCTERMS}{role}"))
                .first()
                .map_or(Found::Nothing, |agent| display(view, agent))
        }
        ["author_detail", part] => person(view, node, "creator", "0", &[part]),
        ["publisher_detail", part] => person(view, node, "publisher", "0", &[part]),
        ["authors", index, rest @ ..] => person(view, node, "creator", index, rest),
        ["contributors", index, rest @ ..] => person(view, node, "contributor", index, rest),
        ["category"] => value(format!("{DC}subject")),
        ["tags", index, "term"] => nth(index, view.objects(node, &format!("{DC}subject")), found),
        ["tags", index, part @ ("scheme" | "label")] => {
            nth(index, view.nodes(node, &format!("{DCTERMS}subject")), |concept| {
                let property = if *part == "scheme" { "inScheme" } else { "prefLabel" };
                view.value(&concept, &format!("{SKOS}{property}"))
            })
        }
        ["updated" | "updated_parsed"] => {
            or(value(format!("{DCTERMS}modified")), || value(format!("{DC}date")))
        }
        ["published" | "published_parsed"] => value(format!("{DCTERMS}issued")),
        ["created" | "created_parsed"] => value(format!("{DCTERMS}created")),
        ["expired" | "expired_parsed"] => value(format!("{SCHEMA}expires")),
        ["validity_start" | "validity_start_parsed"] => value(format!("{SCHEMA}validFrom")),
        ["validity_end" | "validity_end_parsed"] => value(format!("{SCHEMA}validThrough")),
        ["generator"] => property(view, node, &["generator_detail", "name"]),
        ["generator_detail", part] => {
            let agents = view.nodes(node, "http://webns.net/mvcb/generatorAgent");
            let property = match *part {
                "name" => format!("{FOAF}name"),
                "version" => format!("{SCHEMA}softwareVersion"),
                _ => format!("{FOAF}homepage"),
            };
            agents.first().map_or(Found::Nothing, |agent| view.value(agent, &property))
        }
        ["image", part] => image(view, node, part),
        ["textinput", part] => {
            let inputs = view.nodes(node, &format!("{RSS}textinput"));
            inputs.first().map_or(Found::Nothing, |input| view.value(input, &format!("{RSS}{part}")))
        }
        ["icon"] => value(format!("{XHV}icon")),
        ["logo"] => value(format!("{FOAF}logo")),
        ["comments"] => value(format!("{SCHEMA}discussionUrl")),
        ["license"] => value(format!("{DCTERMS}license")),
        ["docs"] => match view.objects(node, &format!("{DCTERMS}conformsTo")).last() {
            Some(term) => found(term),
            None => Found::Nothing,
        },
        ["newlocation"] => value(format!("{DCTERMS}isReplacedBy")),
        ["ttl"] => value(format!("{WL}ttl")),
        ["content", index, "src"] => {
            nth(index, view.nodes(node, &format!("{SCHEMA}associatedMedia")), |it| node_iri(&it))
        }
        ["content", index, part @ ("value" | "type")] => {
            nth(index, view.objects(node, "http://purl.org/rss/1.0/modules/content/encoded"), |term| {
                if *part == "type" { media_type(&found(term)) } else { found(term) }
            })
        }
        ["source", "href"] => {
            view.nodes(node, &format!("{DCTERMS}source")).first().map_or(Found::Nothing, node_iri)
        }
        ["source", rest @ ..] => {
            let sources = view.nodes(node, &format!("{DCTERMS}source"));
            sources.first().map_or(Found::Nothing, |source| property(view, source, rest))
        }
        ["itunes_block"] => value(format!("{WL}itunesBlock")),
        ["itunes_explicit"] => match value(format!("{SCHEMA}isFamilyFriendly")) {
            Found::Flag(friendly) => Found::Flag(!friendly),
            other => other,
        },
        ["itunes_duration"] => value(format!("{SCHEMA}duration")),
        ["cloud", _] => Found::NotMapped("`cloud` is for aggregators and is left out"),
        _ => Found::NotMapped("a path of feedparser's own"),
    }
}

fn or(found: Found, other: impl FnOnce() -> Found) -> Found {
    if found == Found::Nothing { other() } else { found }
}

fn nth<T>(index: &str, list: Vec<T>, map: impl FnOnce(T) -> Found) -> Found {
    let index: Option<usize> = index.parse().ok();
    index.and_then(|index| list.into_iter().nth(index)).map_or(Found::Nothing, map)
}

/// What a link says of its target. An enclosure is described by schema.org, anything else by Dublin Core.
fn target_part(view: &View<'_>, target: &NamedOrBlankNode, part: &str) -> Found {
    let (first, second) = match part {
        "type" => (format!("{DCTERMS}format"), format!("{SCHEMA}encodingFormat")),
        "length" => (format!("{DCTERMS}extent"), format!("{SCHEMA}contentSize")),
        "title" => ("http://www.w3.org/2000/01/rdf-schema#label".to_owned(), format!("{SCHEMA}name")),
        _ => (format!("{DCTERMS}language"), String::new()),
    };
    or(view.value(target, &first), || view.value(target, &second))
}

fn person(view: &View<'_>, node: &NamedOrBlankNode, role: &str, index: &str, rest: &[&str]) -> Found {
    nth(index, view.nodes(node, &format!("{DCTERMS}{role}")), |agent| match rest {
        [] => Found::Parts,
        ["name"] => view.value(&agent, &format!("{FOAF}name")),
        ["email"] => mailbox(view, &agent),
        _ => view.value(&agent, &format!("{FOAF}homepage")),
    })
}

fn mailbox(view: &View<'_>, agent: &NamedOrBlankNode) -> Found {
    match view.value(agent, &format!("{FOAF}mbox")) {
        Found::Iri(iri) => Found::Text(iri.trim_start_matches("mailto:").to_owned()),
        other => other,
    }
}

/// `Name (address)`, as feedparser writes it.
fn display(view: &View<'_>, agent: &NamedOrBlankNode) -> Found {
    match (view.value(agent, &format!("{FOAF}name")), mailbox(view, agent)) {
        (Found::Text(name), Found::Text(email)) => Found::Text(format!("{name} ({email})")),
        (Found::Nothing, email) => email,
        (name, _) => name,
    }
}

fn image(view: &View<'_>, node: &NamedOrBlankNode, part: &str) -> Found {
    let images = view.nodes(node, &format!("{RSS}image"));
    let described =
        |property: String| images.first().map_or(Found::Nothing, |image| view.value(image, &property));
    match part {
        "href" | "url" => {
            or(view.value(node, &format!("{FOAF}depiction")), || described(format!("{RSS}url")))
        }
        "width" | "height" => described(format!("{SCHEMA}{part}")),
        _ => described(format!("{RSS}{part}")),
    }
}

fn media_type(found: &Found) -> Found {
    match found {
        Found::Html(_) => Found::Text("text/html".to_owned()),
        Found::Text(_) => Found::Text("text/plain".to_owned()),
        _ => Found::Nothing,
    }
}

fn version(view: &View<'_>, feed: &NamedOrBlankNode) -> Found {
    let standard = match view.value(feed, &format!("{DCTERMS}conformsTo")) {
        Found::Iri(standard) => standard,
        _ => String::new(),
    };
    let known = [
        ("http://my.netscape.com/rdf/simple/0.9/", "rss090"),
        ("http://my.netscape.com/publish/formats/rss-0.91.dtd", "rss091n"),
        ("http://backend.userland.com/rss091", "rss091u"),
        ("http://backend.userland.com/rss092", "rss092"),
        ("http://backend.userland.com/rss093", "rss093"),
        ("http://backend.userland.com/rss094", "rss094"),
        ("https://www.rssboard.org/rss-specification", "rss20"),
        ("http://purl.org/atom/ns#", "atom03"),
        ("http://www.w3.org/2005/Atom", "atom10"),
    ];
    let named = known.iter().find(|(iri, _)| *iri == standard).map(|(_, name)| *name);
    // A version that is not given is a channel that follows no specification.
    let is_feed = view.value(feed, &format!("{RDF}type")) != Found::Nothing;
    named.or(is_feed.then_some("rss")).map_or(Found::Nothing, |name| Found::Text(name.to_owned()))
}

fn judge(
    view: &View<'_>,
    feed: &NamedOrBlankNode,
    path: &[String],
    operator: &str,
    expected: &Value,
    found: &Found,
) -> Result<(), String> {
    let good = match operator {
        "eq" | "is" => match expected.as_object() {
            Some(parts) => {
                for (part, expected) in parts {
                    let mut path = path.to_vec();
                    path.push(part.clone());
                    judge(view, feed, &path, "eq", expected, &look_up(view, feed, &path))?;
                }
                true
            }
            None => equal(expected, found),
        },
        "falsy" => matches!(found, Found::Nothing | Found::Flag(false)),
        "truthy" => !matches!(found, Found::Nothing | Found::Flag(false)),
        "ne" => !equal(expected, found),
        other => return Err(format!("an operator that is not known: {other}")),
    };
    if good { Ok(()) } else { Err(format!("{operator} {expected}, but found {found:?}")) }
}

fn equal(expected: &Value, found: &Found) -> bool {
    match (expected, found) {
        (Value::Null, Found::Nothing) => true,
        (Value::String(text), Found::Nothing) => text.is_empty(),
        (Value::String(expected), Found::Text(text) | Found::Html(text)) => {
            let both_html =
                |one: &str, other: &str| matches!((one, other), ("application/xhtml+xml", "text/html"));
            same_markup(expected, text)
                || both_html(expected, text)
                || clock(expected).as_deref() == Some(text)
        }
        (Value::String(expected), Found::Iri(iri)) => same_url(expected, iri),
        (Value::String(expected), Found::Date(date)) => {
            moment(expected).is_some_and(|expected| Some(expected) == moment(date))
        }
        (Value::Array(expected), Found::Date(date)) => {
            let expected: Vec<i64> = expected.iter().filter_map(Value::as_i64).take(6).collect();
            moment(date).is_some_and(|date| date[..] == expected[..])
        }
        (Value::Bool(expected), Found::Flag(flag)) => expected == flag,
        (Value::Number(expected), Found::Flag(flag)) => expected.as_i64() == Some(i64::from(*flag)),
        (Value::Number(expected), Found::Count(count)) => expected.as_u64() == Some(*count as u64),
        (Value::Number(expected), Found::Text(text)) => expected.to_string() == *text,
        _ => false,
    }
}

/// True when two pieces of HTML differ in nothing but the blank before `/>`, which feedparser puts there.
fn same_markup(one: &str, other: &str) -> bool {
    one == other || one.replace(" />", "/>") == other.replace(" />", "/>")
}

fn same_url(one: &str, other: &str) -> bool {
    one == other
        || matches!((PageUrl::parse(one), PageUrl::parse(other)), (Ok(one), Ok(other)) if one == other)
}

/// `3:00` as a duration.
fn clock(text: &str) -> Option<String> {
    let (minutes, seconds) = text.split_once(':')?;
    let (minutes, seconds): (u32, u32) = (minutes.parse().ok()?, seconds.parse().ok()?);
    Some(if seconds == 0 { format!("PT{minutes}M") } else { format!("PT{minutes}M{seconds}S") })
}

/// Year to second of the two forms of date the suite has, in UTC; written apart from the reader that is judged.
fn moment(text: &str) -> Option<[i64; 6]> {
    if let Some((_, rest)) = text.split_once(", ") {
        let parts: Vec<&str> = rest.split(' ').collect();
        let [day, month, year, time, "GMT"] = parts[..] else { return None };
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
        let month = months.iter().position(|known| *known == month)? as i64 + 1;
        let mut clock = time.split(':').map(str::parse);
        let mut next = || clock.next()?.ok();
        return Some([year.parse().ok()?, month, day.parse().ok()?, next()?, next()?, next()?]);
    }
    let mut numbers = [0; 6];
    let (date, zone) = match text.get(16..)?.find(['Z', '+', '-']) {
        Some(at) => text.split_at(16 + at),
        None => (text, "Z"),
    };
    for (slot, part) in numbers.iter_mut().zip(date.split(['-', 'T', ':'])) {
        *slot = part.parse().ok()?;
    }
    // The suite's one offset is an hour or two within a day.
    let hours: i64 = zone.get(..3).map_or(Ok(0), str::parse).ok()?;
    numbers[3] -= hours;
    Some(numbers)
}
