//! One page: what was extracted from it, what is known about it, where it leads; and lists of pages.

use std::collections::{BTreeMap, HashMap};

use axum::Json;
use axum::extract::State;
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode, Quad, Term};
use serde_json::{Map, Value, json};
use webloom_archive::Archive;
use webloom_archive::record::parse_date;
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::PageUrl;
use webloom_model::vocab::{dcterms, http as http_vocab, is_derived_graph, prov, rdf, rdfs, wl};
use webloom_pipeline::DataDir;
use webloom_pipeline::replay::{by_syntax, find_copy};

use super::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::request::Parameters;
use crate::survey::{local_name, site_of};

/// Statements of a page that are shown.
const STATEMENTS_MAX: usize = 1_000;

/// Links of a page that are shown.
const OUTLINKS_MAX: usize = 500;

/// Bytes of an archived copy that is read again to tell its syntaxes apart.
const COPY_BYTES_MAX: u64 = 8 << 20;

/// Pages that are looked at for a list.
const PAGES_LOOKED_AT_MAX: usize = 500_000;

/// `GET /api/page`.
pub async fn page(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let url = parameters.required("url")?.to_owned();
    app.read(move || tell(&slot.snapshot()?, &slot.data, &url).map(Json)).await
}

fn tell(snapshot: &Snapshot, directory: &DataDir, url: &str) -> Result<Value, ApiError> {
    let bad = |_| ApiError::bad_request("the parameter `url` is not an absolute IRI");
    let page = NamedNode::new(url).map_err(bad)?;
    let graph = GraphName::from(page.clone());
    let meta = data::meta_of(url).ok_or_else(|| ApiError::bad_request("the parameter `url` is too odd"))?;
    let about: Vec<Quad> = snapshot
        .quads_for_pattern(None, None, None, GraphPattern::One(meta.as_ref()))?
        .take(STATEMENTS_MAX * 10)
        .collect::<Result<_, _>>()?;
    if about.is_empty() && !snapshot.contains_graph(graph.as_ref()) {
        return Err(ApiError::not_found(format!("nothing is known of the page {url}")));
    }
    let sources = Sources::read(snapshot, directory, url);
    let mut statements = Vec::new();
    let mut outlinks = Outlinks::default();
    let mut total = 0_usize;
    let quads = snapshot.quads_for_pattern(None, None, None, GraphPattern::One(graph.as_ref()))?;
    for quad in quads.take(data::STATEMENTS_COUNTED_MAX) {
        let quad = quad?;
        total += 1;
        outlinks.look_at(&quad, &page);
        if statements.len() < STATEMENTS_MAX {
            statements.push(json!({
                "syntax": sources.of(&quad),
                "subject": data::term(&Term::from(quad.subject), None),
                "predicate": quad.predicate.as_str(),
                "predicate_label": local_name(quad.predicate.as_str()),
                "object": data::term(&quad.object, None),
            }));
        }
    }
    let metadata = metadata(&about, &page);
    let history = history(&Archive::open(&directory.archive()), url, &about, &metadata);
    Ok(json!({
        "url": url,
        "title": data::title(snapshot, url)?,
        "diagnostics": diagnostics(&about),
        "syntaxes": sources.counts().unwrap_or_else(|| syntaxes(&about, &page)),
        "statements_total": total,
        "statements": statements,
        "outlinks": outlinks.told(snapshot)?,
        "history": history,
        "archived": metadata.contains_key("warc_file"),
        "metadata": metadata,
    }))
}

/// Which syntax said what, as far as the archived copy tells.
#[derive(Default)]
struct Sources {
    counts: Vec<(&'static str, usize)>,
    /// The first syntax that says it. Blank nodes have other names each time, so any stands for any.
    syntax: HashMap<(String, String, String), &'static str>,
}

impl Sources {
    /// Reads the copy once for each syntax. A page without one, or with one that is too large or damaged, is shown without.
    fn read(snapshot: &Snapshot, directory: &DataDir, url: &str) -> Self {
        let Ok(url) = PageUrl::parse(url) else { return Self::default() };
        let Ok(Some(copy)) = find_copy(directory, Some(snapshot), &url, None, COPY_BYTES_MAX) else {
            return Self::default();
        };
        let mut sources = Self::default();
        for (syntax, quads) in by_syntax(&copy, &url, COPY_BYTES_MAX) {
            sources.counts.push((syntax.as_str(), quads.len()));
            for quad in &quads {
                sources.syntax.entry(key(quad)).or_insert(syntax.as_str());
            }
        }
        sources
    }

    fn of(&self, quad: &Quad) -> Option<&'static str> {
        self.syntax.get(&key(quad)).copied()
    }

    fn counts(&self) -> Option<Vec<Value>> {
        let told = |(name, quads): &(&'static str, usize)| json!({"name": name, "quads": quads});
        (!self.counts.is_empty()).then(|| self.counts.iter().map(told).collect())
    }
}

fn key(quad: &Quad) -> (String, String, String) {
    let name = |term: Term| match term {
        Term::BlankNode(_) => "_".to_owned(),
        other => other.to_string(),
    };
    (name(quad.subject.clone().into()), quad.predicate.as_str().to_owned(), name(quad.object.clone()))
}

/// The captures of a page, oldest first: by the archive's index; by the metadata of pages that came from other archives; or the
/// one that is known without any.
fn history(archive: &Archive, url: &str, about: &[Quad], metadata: &Map<String, Value>) -> Vec<Value> {
    let mut history: Vec<(String, Value, Value)> = Vec::new();
    for capture in archive.history(url).unwrap_or_default() {
        let at = parse_date(&capture.timestamp).map(|at| format!("{at:.0}")).unwrap_or_default();
        let status = capture.status.and_then(|status| status.parse::<u16>().ok());
        history.push((at, json!(status), json!(capture.digest)));
    }
    if history.is_empty()
        && let Some(at) = metadata.get("fetched_at").and_then(Value::as_str)
    {
        let of = |name: &str| metadata.get(name).cloned().unwrap_or_default();
        history.push((at.to_owned(), of("status"), of("digest")));
        for node in about.iter().filter(|quad| quad.predicate == wl::CAPTURE).map(|quad| &quad.object) {
            let said = |predicate: oxrdf::NamedNodeRef<'_>| {
                about.iter().find_map(|quad| match &quad.object {
                    Term::Literal(literal)
                        if quad.predicate == predicate && Term::from(quad.subject.clone()) == *node =>
                    {
                        Some(literal.value().to_owned())
                    }
                    _ => None,
                })
            };
            let status = said(wl::CAPTURE_STATUS).and_then(|status| status.parse::<u16>().ok());
            history.push((said(prov::GENERATED_AT_TIME).unwrap_or_default(), json!(status), Value::Null));
        }
        history.sort_by(|one, other| one.0.cmp(&other.0));
    }
    let mut before: Option<Value> = None;
    let told = history.into_iter().map(|(at, status, digest)| {
        let changed = before.as_ref().is_some_and(|before| !digest.is_null() && *before != digest);
        if !digest.is_null() {
            before = Some(digest.clone());
        }
        json!({"at": at, "status": status, "digest": digest, "changed": changed})
    });
    told.collect()
}

/// What is known about the page, under the names of the contract.
fn metadata(about: &[Quad], page: &NamedNode) -> Map<String, Value> {
    let mut metadata = Map::new();
    for quad in about {
        if !matches!(&quad.subject, NamedOrBlankNode::NamedNode(node) if node == page) {
            continue;
        }
        let predicate = quad.predicate.as_ref();
        let name = match predicate {
            _ if predicate == http_vocab::STATUS_CODE => "status",
            _ if predicate == dcterms::FORMAT => "media_type",
            _ if predicate == wl::DETECTED_TYPE => "detected",
            _ if predicate == prov::GENERATED_AT_TIME => "fetched_at",
            _ if predicate == dcterms::EXTENT => "bytes",
            _ if predicate == wl::DIGEST => "digest",
            _ if predicate == dcterms::LANGUAGE => "language",
            _ if predicate == wl::CHARSET => "charset",
            _ if predicate == wl::DEPTH => "depth",
            _ if predicate == wl::FOUND_ON => "found_on",
            _ if predicate == wl::REDIRECTED_FROM => "redirected_from",
            _ if predicate == wl::ANCHOR => "anchor",
            _ if [wl::DIAGNOSTIC, wl::SYNTAX, wl::CAPTURE, rdf::TYPE].contains(&predicate) => continue,
            _ => local_name(quad.predicate.as_str()),
        };
        // `warcFile` and the like read as `warc_file`.
        let mut key = String::with_capacity(name.len() + 2);
        for letter in name.chars() {
            if letter.is_ascii_uppercase() {
                key.push('_');
            }
            key.push(letter.to_ascii_lowercase());
        }
        let value = match &quad.object {
            Term::Literal(literal) => match literal.value().parse::<u64>() {
                Ok(number) if literal.datatype() == oxrdf::vocab::xsd::INTEGER => json!(number),
                _ => json!(literal.value()),
            },
            Term::NamedNode(node) => json!(node.as_str()),
            Term::BlankNode(_) => continue,
        };
        match metadata.get_mut(&key) {
            None => {
                metadata.insert(key, value);
            }
            Some(Value::Array(values)) => values.push(value),
            Some(one) => *one = json!([one.take(), value]),
        }
    }
    metadata
}

fn diagnostics(about: &[Quad]) -> Vec<Value> {
    let mut by_node: BTreeMap<String, Map<String, Value>> = BTreeMap::new();
    for quad in about {
        let NamedOrBlankNode::BlankNode(node) = &quad.subject else { continue };
        let Term::Literal(literal) = &quad.object else { continue };
        let predicate = quad.predicate.as_ref();
        let (name, value) = match predicate {
            _ if predicate == wl::SEVERITY => ("severity", json!(literal.value())),
            _ if predicate == wl::CODE => ("code", json!(literal.value())),
            _ if predicate == rdfs::COMMENT => ("message", json!(literal.value())),
            _ if predicate == wl::LINE => ("line", json!(literal.value().parse::<u64>().ok())),
            _ => continue,
        };
        by_node.entry(node.as_str().to_owned()).or_default().insert(name.to_owned(), value);
    }
    let known = by_node.into_values().filter(|diagnostic| diagnostic.contains_key("message"));
    known
        .map(|mut diagnostic| {
            // Codes begin with the syntax they are about: `jsonld-context`.
            let code = diagnostic.get("code").and_then(Value::as_str).unwrap_or_default();
            let syntax = code.split('-').next().unwrap_or_default().to_owned();
            diagnostic.insert("syntax".to_owned(), syntax.into());
            diagnostic.entry("line").or_insert(Value::Null);
            Value::Object(diagnostic)
        })
        .collect()
}

/// The syntaxes that the metadata name.
fn syntaxes(about: &[Quad], page: &NamedNode) -> Vec<Value> {
    about
        .iter()
        .filter(|quad| matches!(&quad.subject, NamedOrBlankNode::NamedNode(node) if node == page))
        .filter(|quad| quad.predicate == wl::SYNTAX)
        .filter_map(|quad| match &quad.object {
            Term::Literal(literal) => Some(json!({"name": literal.value(), "quads": null})),
            _ => None,
        })
        .collect()
}

/// Links of a page, with their words.
#[derive(Default)]
struct Outlinks {
    targets: Vec<NamedNode>,
    words: BTreeMap<String, String>,
}

impl Outlinks {
    fn look_at(&mut self, quad: &Quad, page: &NamedNode) {
        let by_page = matches!(&quad.subject, NamedOrBlankNode::NamedNode(node) if node == page);
        match (&quad.subject, &quad.object) {
            (_, Term::NamedNode(target))
                if by_page
                    && quad.predicate == rdfs::SEE_ALSO
                    && self.targets.len() < OUTLINKS_MAX
                    && !self.targets.contains(target) =>
            {
                self.targets.push(target.clone());
            }
            (NamedOrBlankNode::NamedNode(target), Term::Literal(words))
                if quad.predicate == rdfs::LABEL && self.words.len() < OUTLINKS_MAX * 4 =>
            {
                self.words.entry(target.as_str().to_owned()).or_insert_with(|| words.value().to_owned());
            }
            _ => {}
        }
    }

    fn told(self, snapshot: &Snapshot) -> Result<Vec<Value>, ApiError> {
        let mut told = Vec::new();
        for target in &self.targets {
            let outcome = match data::meta_of(target.as_str()) {
                Some(meta) => data::literal(snapshot, target, wl::OUTCOME, meta.as_ref())?,
                None => None,
            };
            told.push(json!({
                "url": target.as_str(),
                "anchor": self.words.get(target.as_str()),
                "state": outcome.unwrap_or_else(|| "not fetched".to_owned()),
            }));
        }
        Ok(told)
    }
}

/// `GET /api/pages`.
pub async fn pages(State(app): State<Shared>, parameters: Parameters) -> Result<Json<Value>, ApiError> {
    let slot = app.slot(&parameters)?;
    let (limit, offset) = data::paging(&parameters, 50, 500)?;
    let site = parameters.one("site")?.filter(|text| !text.is_empty()).map(str::to_owned);
    let words = parameters.one("q")?.unwrap_or_default().trim().to_lowercase();
    app.read(move || {
        let snapshot = slot.snapshot()?;
        let mut found = Vec::new();
        for graph in snapshot.graph_names().take(PAGES_LOOKED_AT_MAX) {
            let GraphName::NamedNode(name) = graph? else { continue };
            let fits = !is_derived_graph(name.as_str())
                && site.as_ref().is_none_or(|site| site_of(name.as_str()) == *site)
                && (words.is_empty() || name.as_str().to_lowercase().contains(&words));
            if fits {
                found.push(name.into_string());
            }
        }
        found.sort_unstable();
        let mut pages = Vec::new();
        for url in found.iter().skip(offset).take(limit) {
            let line = data::page_line(&snapshot, url)?;
            pages.push(json!({
                "title": data::title(&snapshot, url)?,
                "url": url,
                "fetched_at": line["at"],
                "type": line["type"],
                "quads": line["quads"],
            }));
        }
        Ok(Json(json!({"total": found.len(), "pages": pages})))
    })
    .await
}
