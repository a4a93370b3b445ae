//! What we know about a URL, as RDF: the contents of its `urn:webloom:meta:` graph.
//!
//! In: a lease and what came of it. Out: triples about the page. Every URL that was asked for has such a graph,
//! also the ones that gave no page: a redirect says where to, a denial says why.

use oxrdf::{GraphName, Literal, NamedNode, NamedNodeRef, Term, Triple};
use webloom_archive::Place;
use webloom_index::GraphWrite;
use webloom_model::vocab::{META_PREFIX, dcterms, http, prov, rdf, rdfs, wl, xsd};
use webloom_model::{
    BlankScope, DetectedPage, Diagnostic, FetchError, Lease, LeaseId, LinkCandidate, NotFetched, PageText,
    PageUrl, Redirect, StepRecord,
};

/// Predicates whose values depend on when and in which order pages were fetched, not on what the pages say. Two crawls
/// of the same web agree on everything else.
pub const VOLATILE: [NamedNodeRef<'_>; 11] = [
    prov::GENERATED_AT_TIME,
    wl::DEPTH,
    wl::FOUND_ON,
    wl::ANCHOR,
    wl::REDIRECTED_FROM,
    wl::MICROSECONDS,
    wl::WARC_FILE,
    wl::WARC_OFFSET,
    wl::WARC_RECORD,
    wl::CAPTURE,
    wl::CAPTURE_STATUS,
];

/// Diagnostics kept of one page. A page broken in a thousand places is told by the first few.
const DIAGNOSTICS_MAX: usize = 50;

/// Metadata of a page that was fetched, and whose body has this SHA-256.
pub fn of_page(
    lease: &Lease,
    detected: &DetectedPage,
    digest: &[u8; 32],
    text: &PageText,
    indexed: bool,
    diagnostics: &[Diagnostic],
) -> Vec<Triple> {
    let page = &detected.page;
    let mut about = About::new(lease);
    about.say(wl::OUTCOME, Literal::from(if indexed { "indexed" } else { "noindex" }));
    about.say(http::STATUS_CODE, integer(u64::from(page.status)));
    about.say(prov::GENERATED_AT_TIME, date_time(&page.fetched_at));
    about.say(dcterms::FORMAT, Literal::from(detected.detection.media_type.as_str()));
    about.say(wl::DETECTED_TYPE, Literal::from(detected.detection.kind.as_str()));
    for syntax in &detected.detection.syntaxes {
        about.say(wl::SYNTAX, Literal::from(*syntax));
    }
    if let Some(charset) = detected.detection.charset {
        about.say(wl::CHARSET, Literal::from(charset));
    }
    if let Some(language) = &text.language {
        about.say(dcterms::LANGUAGE, Literal::from(language.as_str()));
    }
    about.say(dcterms::EXTENT, integer(page.body.len() as u64));
    about.say(wl::DIGEST, Literal::from(data_encoding::HEXLOWER.encode(digest)));
    about.diagnostics(diagnostics);
    about.triples
}

/// What the steps of rules did for a page: how long each took, how much it gave.
pub fn of_steps(page: &PageUrl, steps: &[StepRecord]) -> Vec<Triple> {
    // The diagnostics of the page have nodes of their own in the same graph.
    let mut nodes = BlankScope::new(&format!("{} steps", page.meta_graph_name().as_str()));
    let mut triples = Vec::new();
    for step in steps {
        let node = nodes.fresh();
        triples.push(Triple::new(page.graph_name(), wl::STEP, node.clone()));
        let mut say = |predicate: NamedNodeRef<'_>, object: Term| {
            triples.push(Triple::new(node.clone(), predicate, object));
        };
        say(rdf::TYPE, wl::STEP_CLASS.into());
        say(wl::RULE, Literal::from(step.rule.as_str()).into());
        say(rdfs::LABEL, Literal::from(step.step.as_str()).into());
        let microseconds = u64::try_from(step.elapsed.as_micros()).unwrap_or(u64::MAX);
        say(wl::MICROSECONDS, integer(microseconds).into());
        say(dcterms::EXTENT, integer(step.bytes).into());
        if step.failed {
            say(wl::FAILED, Literal::from(true).into());
        }
    }
    triples
}

/// Why the links of a page were not followed.
pub fn of_stale(page: &PageUrl) -> Triple {
    let reason =
        "stale: it says nothing new, like most of its host's latest pages; its links were not followed";
    Triple::new(page.graph_name(), wl::REASON, Literal::from(reason))
}

/// Metadata of a page that has not changed, but is not to be kept any more.
pub fn of_kept_out(lease: &Lease, at: &jiff::Timestamp) -> Vec<Triple> {
    let mut about = About::new(lease);
    about.say(wl::OUTCOME, Literal::from("noindex"));
    about.say(http::STATUS_CODE, integer(304));
    about.say(prov::GENERATED_AT_TIME, date_time(at));
    about.say(wl::REASON, Literal::from("it has not changed, but its `X-Robots-Tag` says noindex now"));
    about.triples
}

/// Metadata of a URL that answered with a redirect.
pub fn of_redirect(lease: &Lease, redirect: &Redirect) -> Vec<Triple> {
    let mut about = About::new(lease);
    about.say(wl::OUTCOME, Literal::from("redirect"));
    about.say(http::STATUS_CODE, integer(u64::from(redirect.status)));
    about.say(prov::GENERATED_AT_TIME, date_time(&redirect.fetched_at));
    about.say(wl::REDIRECTS_TO, redirect.target.graph_name());
    about.triples
}

/// Metadata of a URL that gave no page.
pub fn of_not_fetched(lease: &Lease, reason: &NotFetched) -> Vec<Triple> {
    let mut about = About::new(lease);
    about.say(wl::OUTCOME, Literal::from("no-page"));
    if let NotFetched::Status { status } = reason {
        about.say(http::STATUS_CODE, integer(u64::from(*status)));
    }
    about.say(wl::CODE, Literal::from(reason.code()));
    about.say(wl::REASON, Literal::from(reason.to_string()));
    about.triples
}

/// Metadata of a URL that gave no page, by the words of an archive.
pub fn of_told(
    lease: &Lease,
    outcome: &str,
    status: Option<u16>,
    code: Option<&str>,
    reason: Option<&str>,
) -> Vec<Triple> {
    let mut about = About::new(lease);
    about.say(wl::OUTCOME, Literal::from(outcome));
    if let Some(status) = status {
        about.say(http::STATUS_CODE, integer(u64::from(status)));
    }
    if let Some(code) = code {
        about.say(wl::CODE, Literal::from(code));
    }
    if let Some(reason) = reason {
        about.say(wl::REASON, Literal::from(reason));
    }
    about.triples
}

/// When something was had.
pub(crate) fn of_time(page: &PageUrl, at: &jiff::Timestamp) -> Triple {
    Triple::new(page.graph_name(), prov::GENERATED_AT_TIME, date_time(at))
}

/// Metadata of a URL that was given up.
pub fn of_failure(lease: &Lease, error: &FetchError) -> Vec<Triple> {
    let mut about = About::new(lease);
    about.say(wl::OUTCOME, Literal::from("failed"));
    if let FetchError::Busy { status, .. } = error {
        about.say(http::STATUS_CODE, integer(u64::from(*status)));
    }
    about.say(wl::CODE, Literal::from(error.code()));
    about.say(wl::REASON, Literal::from(error.to_string()));
    about.triples
}

/// Metadata of a source that is no page: a dump, an endpoint. `reason` says why it was given up, if it was.
pub fn of_source(
    url: &PageUrl,
    kind: &str,
    triples: u64,
    found_in: Option<&PageUrl>,
    is_done: bool,
    reason: Option<&str>,
) -> Vec<Triple> {
    let candidate = LinkCandidate { found_on: found_in.cloned(), ..LinkCandidate::seed(url.clone()) };
    let mut about = About::new(&Lease { id: LeaseId(0), candidate, attempt: 0, validators: None });
    about.say(wl::OUTCOME, Literal::from(if is_done { "indexed" } else { "failed" }));
    about.say(wl::SOURCE_KIND, Literal::from(kind));
    about.say(wl::STATEMENTS, integer(triples));
    about.say(prov::GENERATED_AT_TIME, date_time(&jiff::Timestamp::now()));
    if let Some(reason) = reason {
        about.say(wl::REASON, Literal::from(reason));
    }
    about.triples
}

/// Adds to the metadata among a page's writes where the archive has what was received.
pub(crate) fn add_place(writes: &mut [GraphWrite], place: &Place) {
    let Some(metadata) = writes.last_mut() else { return };
    let GraphName::NamedNode(name) = &metadata.graph else { return };
    let Some(url) = name.as_str().strip_prefix(META_PREFIX) else { return };
    let page = NamedNode::new_unchecked(url);
    metadata.triples.extend(of_place(&page, place));
}

/// Where the archive has what was received of a page.
pub fn of_place(page: &NamedNode, place: &Place) -> Vec<Triple> {
    let mut triples = vec![
        Triple::new(page.clone(), wl::WARC_FILE, Literal::from(place.file.as_str())),
        Triple::new(page.clone(), wl::WARC_OFFSET, integer(place.offset)),
    ];
    if let Ok(record) = NamedNode::new(place.id.trim_matches(['<', '>'])) {
        triples.push(Triple::new(page.clone(), wl::WARC_RECORD, record));
    }
    triples
}

/// Collects triples about one page.
struct About {
    subject: NamedNode,
    nodes: BlankScope,
    triples: Vec<Triple>,
}

impl About {
    /// Begins with how the URL was found.
    fn new(lease: &Lease) -> Self {
        let candidate = &lease.candidate;
        // The scope of the metadata graph: the page's own nodes have another.
        let nodes = BlankScope::new(candidate.url.meta_graph_name().as_str());
        let mut about = Self { subject: candidate.url.graph_name(), nodes, triples: Vec::with_capacity(16) };
        about.say(wl::DEPTH, integer(u64::from(candidate.depth)));
        if let Some(found_on) = &candidate.found_on {
            about.say(wl::FOUND_ON, found_on.graph_name());
        }
        if let Some(anchor) = &candidate.anchor {
            about.say(wl::ANCHOR, Literal::from(anchor.as_str()));
        }
        for from in &candidate.redirects {
            about.say(wl::REDIRECTED_FROM, from.graph_name());
        }
        about
    }

    fn say(&mut self, predicate: NamedNodeRef<'_>, object: impl Into<Term>) {
        self.triples.push(Triple::new(self.subject.clone(), predicate, object));
    }

    fn diagnostics(&mut self, diagnostics: &[Diagnostic]) {
        for diagnostic in diagnostics.iter().take(DIAGNOSTICS_MAX) {
            let node = self.nodes.fresh();
            self.say(wl::DIAGNOSTIC, node.clone());
            let mut say = |predicate: NamedNodeRef<'_>, object: Term| {
                self.triples.push(Triple::new(node.clone(), predicate, object));
            };
            say(rdf::TYPE, wl::DIAGNOSTIC_CLASS.into());
            say(wl::SEVERITY, Literal::from(diagnostic.severity.as_str()).into());
            say(wl::CODE, Literal::from(&*diagnostic.code).into());
            say(rdfs::COMMENT, Literal::from(diagnostic.message.as_str()).into());
            if let Some(line) = diagnostic.line {
                say(wl::LINE, integer(line).into());
            }
        }
    }
}

pub(crate) fn integer(value: u64) -> Literal {
    Literal::new_typed_literal(value.to_string(), xsd::INTEGER)
}

pub(crate) fn date_time(time: &jiff::Timestamp) -> Literal {
    Literal::new_typed_literal(format!("{time:.3}"), xsd::DATE_TIME)
}
