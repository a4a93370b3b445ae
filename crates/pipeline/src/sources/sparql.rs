//! A SPARQL endpoint, read page by page.
//!
//! In: the endpoint's URL and how far it is. Out: the next page of its triples, in a graph named by the request. What is asked
//! and what follows from an answer is [`Reading`]'s business; here it is asked, stored, and made sure whether blank nodes keep
//! their labels from one answer to the next. An endpoint that is slow is asked for half as much, one that is quick for more, and
//! one that refuses for less or in another way.

mod answer;
mod reading;

use std::collections::HashSet;
use std::time::{Duration, Instant};

use oxrdf::{GraphName, NamedOrBlankNode, Term, Triple};
use webloom_fetch::Wanted;
use webloom_model::{BlankScope, PageUrl};

use super::dump::by_label;
use super::kept::SourceState;
use super::{ACCEPT_RDF, SourceKind, Step, Trouble, ask, store};
use crate::wiring::Crawl;

use answer::Answer;
use reading::Part;
pub(super) use reading::Reading;

/// Rows of the first page.
const PAGE_SIZE: u64 = 1_000;
/// The most that is asked for at once. Virtuoso sorts no more.
const PAGE_SIZE_MAX: u64 = 10_000;
/// The least that an endpoint is asked for which refused more.
const PAGE_SIZE_REFUSED_MIN: u64 = 10;
/// An endpoint that answers within this can give more at once.
const QUICK: Duration = Duration::from_secs(2);
/// Bytes of one page.
const BYTES_MAX: u64 = 64 << 20;
/// Time for one page.
const TIMEOUT: Duration = Duration::from_secs(5 * 60);
/// Triples read of one endpoint.
const TRIPLES_MAX: u64 = 100_000_000;

/// Reads the next page.
pub(super) async fn step(crawl: &Crawl, state: &SourceState) -> Result<Step, Trouble> {
    let mut reading = reading_of(state);
    let page_size = page_size_of(state);
    let url = reading::request(&state.url, &reading.query(state.offset, page_size))
        .map_err(|problem| Trouble::Final(problem.to_string()))?;
    let started = Instant::now();
    let answered = ask_for(crawl, url.clone()).await;
    let took = started.elapsed();
    let answer = answered?;
    if reading.keeps_labels.is_none() && answer.triples.iter().any(|triple| !labels(triple).is_empty()) {
        reading.keeps_labels = Some(keeps_labels(crawl, &state.url).await?);
    }
    let keeps_labels = reading.keeps_labels == Some(true);
    let rows = answer.rows();
    let page_size_max = reading.page_size_max.unwrap_or(PAGE_SIZE_MAX);
    let taken = reading.take(&state.url, state.offset, state.triples == 0, answer);
    let triples = match taken.triples.is_empty() {
        true => 0,
        false if keeps_labels => store(crawl, &url, named_by_label(taken.triples, &state.url))?,
        false => store(crawl, &url, named_by_page(taken.triples, &url))?,
    };
    Ok(Step {
        done: taken.done || state.triples + triples >= TRIPLES_MAX,
        offset: taken.offset,
        reading: Some(taken.reading),
        page_size: match took < QUICK && rows >= page_size {
            true => (page_size * 2).min(page_size_max),
            false => page_size,
        },
        triples,
        ..Step::default()
    })
}

/// The same with a smaller page, for an endpoint that refused; nothing when that is not why.
pub(super) fn ask_for_less(state: &SourceState) -> Option<Step> {
    let (reading, page_size) = (reading_of(state), page_size_of(state));
    if state.kind != SourceKind::Sparql
        || page_size <= PAGE_SIZE_REFUSED_MIN
        // Rows that are sorted and passed over count like those that are given, and only grow.
        || reading.sorts_and_skips(state.offset)
    {
        return None;
    }
    // One that has not given anything yet may refuse everything; that should be clear soon.
    let share = if state.triples == 0 { 10 } else { 2 };
    let page_size = (page_size / share).max(PAGE_SIZE_REFUSED_MIN);
    let reading = Reading { page_size_max: Some(page_size), ..reading };
    Some(Step { offset: state.offset, reading: Some(reading), page_size, ..Step::default() })
}

/// The next way to read an endpoint that refuses this one; nothing when there is none.
pub(super) fn ask_otherwise(state: &SourceState) -> Option<Step> {
    if state.kind != SourceKind::Sparql {
        return None;
    }
    let reading = reading_of(state).otherwise()?;
    // That one way was refused says little about how much may be asked for in another.
    let page_size = if reading.part == Part::Rows { 0 } else { state.page_size };
    Some(Step { reading: Some(reading), page_size, ..Step::default() })
}

/// How far it is. One that was begun by an earlier version goes on as it was begun.
fn reading_of(state: &SourceState) -> Reading {
    match &state.reading {
        Some(reading) => reading.clone(),
        None if state.offset > 0 => Reading::row_by_row(),
        None => Reading::default(),
    }
}

fn page_size_of(state: &SourceState) -> u64 {
    if state.page_size == 0 { PAGE_SIZE } else { state.page_size }
}

async fn ask_for(crawl: &Crawl, url: PageUrl) -> Result<Answer, Trouble> {
    let wanted = Wanted { accept: ACCEPT_RDF, bytes_max: BYTES_MAX, timeout: Some(TIMEOUT) };
    let page = ask(crawl, url, &wanted).await?;
    let read = crawl.cpu.run(move || answer::read(&page));
    read.await.map_err(|panicked| Trouble::Final(format!("it broke a parser: {}", panicked.0)))?
}

/// Whether a label means the same node in every answer, asked for with the two blank nodes that are furthest from each other.
///
/// Many endpoints number the blank nodes of each answer from one; to them the first of any answer is `_:b0`. Where two answers
/// about different nodes have no label in common, equal labels can be trusted. Where that cannot be found out they are not:
/// a node that falls into two is a loss, two that become one would be a lie.
async fn keeps_labels(crawl: &Crawl, endpoint: &PageUrl) -> Result<bool, Trouble> {
    let mut seen: HashSet<String> = HashSet::new();
    for descending in [false, true] {
        let Ok(url) = reading::request(endpoint, &reading::one_blank_node(descending)) else {
            return Ok(false);
        };
        let answer = match ask_for(crawl, url).await {
            Ok(answer) => answer,
            Err(trouble @ (Trouble::Halted | Trouble::Crawl(_))) => return Err(trouble),
            Err(_) => return Ok(false),
        };
        let labels: HashSet<String> = answer.triples.iter().flat_map(labels).map(str::to_owned).collect();
        if labels.is_empty() || !seen.is_disjoint(&labels) {
            return Ok(false);
        }
        seen = labels;
    }
    Ok(true)
}

/// The labels of a triple's blank nodes.
fn labels(triple: &Triple) -> Vec<&str> {
    let subject = match &triple.subject {
        NamedOrBlankNode::BlankNode(node) => Some(node.as_str()),
        NamedOrBlankNode::NamedNode(_) => None,
    };
    let object = match &triple.object {
        Term::BlankNode(node) => Some(node.as_str()),
        _ => None,
    };
    subject.into_iter().chain(object).collect()
}

/// The triples with the names of their blank nodes in the index, which are the same in every answer of the endpoint.
fn named_by_label(triples: Vec<Triple>, endpoint: &PageUrl) -> Vec<Triple> {
    let scope = BlankScope::new(endpoint.as_str());
    each_once(triples.into_iter().map(|triple| by_label(triple, &scope)))
}

/// The same, but of this one request.
fn named_by_page(triples: Vec<Triple>, url: &PageUrl) -> Vec<Triple> {
    let mut scope = BlankScope::new(url.as_str());
    each_once(
        triples.into_iter().map(|triple| scope.rename_quad(triple.in_graph(GraphName::DefaultGraph)).into()),
    )
}

fn each_once(triples: impl Iterator<Item = Triple>) -> Vec<Triple> {
    let mut seen = HashSet::new();
    triples.filter(|triple| seen.insert(triple.clone())).collect()
}

#[cfg(test)]
mod tests {
    use oxrdf::{BlankNode, NamedNode};

    use super::*;
    use crate::sources::kept::Status;

    fn state(offset: u64, page_size: u64, reading: Option<Reading>) -> SourceState {
        SourceState {
            kind: SourceKind::Sparql,
            url: PageUrl::parse("http://a.example/sparql").unwrap(),
            found_in: None,
            status: Status::Waiting,
            offset,
            reading,
            page_size,
            triples: offset,
            attempts: 0,
            reason: None,
        }
    }

    #[test]
    fn an_endpoint_begun_by_an_earlier_version_goes_on_row_by_row() {
        let old =
            r#"{"kind": "sparql", "url": "http://a.example/sparql", "status": "waiting", "offset": 2000}"#;
        let state: SourceState = serde_json::from_str(old).unwrap();
        assert_eq!(reading_of(&state).part, Part::Rows);
        assert!(
            reading_of(&state)
                .query(state.offset, 10)
                .ends_with("ORDER BY ?s ?p ?o LIMIT 10 OFFSET 2000 } }")
        );
        let fresh = SourceState { offset: 0, ..state };
        assert_eq!(reading_of(&fresh).part, Part::Subjects);
    }

    #[test]
    fn how_far_it_is_can_be_read_again() {
        let reading = Reading {
            part: Part::Subject("http://a.example/\"x".to_owned()),
            after: "http://a.example/".to_owned(),
            left: Some("http://a.example/y".to_owned()),
            keeps_labels: Some(false),
            ..Reading::default()
        };
        for reading in [reading, Reading::default(), Reading::row_by_row()] {
            let kept = state(7, 10, Some(reading));
            let text = serde_json::to_string(&kept).unwrap();
            assert_eq!(serde_json::from_str::<SourceState>(&text).unwrap(), kept, "{text}");
        }
    }

    #[test]
    fn who_refuses_is_asked_for_less_and_then_otherwise() {
        let less = ask_for_less(&state(0, 0, None)).unwrap();
        assert_eq!((less.page_size, less.reading.as_ref().unwrap().page_size_max), (100, Some(100)));
        let half = ask_for_less(&state(5, 2_000, Some(Reading::default()))).unwrap();
        assert_eq!((half.page_size, half.offset), (1_000, 5));
        assert!(ask_for_less(&state(0, 10, less.reading)).is_none());

        // What has to be passed over is not less in a smaller page.
        let sorted = state(10, 1_000, Some(Reading { part: Part::BlankNodes, ..Reading::default() }));
        assert!(ask_for_less(&sorted).is_none());
        let mut parts = Vec::new();
        let mut state = sorted;
        while let Some(step) = ask_otherwise(&state) {
            let reading = step.reading.unwrap();
            let page_size = if reading.part == Part::Rows { 0 } else { 1_000 };
            assert_eq!((step.offset, step.page_size), (0, page_size));
            parts.push((reading.part.clone(), reading.unsorted));
            state.reading = Some(reading);
        }
        assert_eq!(parts, [(Part::BlankNodes, true), (Part::Rows, false), (Part::Rows, true)]);
        state.kind = SourceKind::Ckan;
        state.reading = None;
        assert!(ask_for_less(&state).is_none() && ask_otherwise(&state).is_none());
    }

    #[test]
    fn nodes_of_two_answers_are_one_only_by_label() {
        let pages = ["http://a.example/sparql?1", "http://a.example/sparql?2"]
            .map(|url| PageUrl::parse(url).unwrap());
        let node = BlankNode::new("x").unwrap();
        let triple = Triple::new(node.clone(), NamedNode::new("http://a.example/p").unwrap(), node);
        let triples = || vec![triple.clone(), triple.clone()];
        let [one, other] = pages.map(|url| named_by_page(triples(), &url));
        assert_eq!((one.len(), other.len()), (1, 1));
        assert_ne!(one, other);
        let endpoint = state(0, 0, None).url;
        assert_eq!(named_by_label(triples(), &endpoint), named_by_label(triples(), &endpoint));
    }
}
