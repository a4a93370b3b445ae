//! Stores captures: the latest of a URL is the page, the others are its history.
//!
//! In: [`Rewoven`] items from many threads, of several files at a time. Out: commits to the index, and after each how far every file
//! is in it. The captures of one file are taken in their order, those of different files as they come; what is stored in the end is the
//! same. Another thread commits while the next batch is gathered.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use jiff::Timestamp;
use oxrdf::{GraphName, Literal, NamedNode, NamedOrBlankNode, Quad, Term, Triple};
use webloom_index::{Batch, GraphPattern, GraphWrite, Snapshot};
use webloom_model::PageUrl;
use webloom_model::vocab::{http, prov, wl};

use super::budget::Budget;
use super::weave::{Capture, Rewoven};
use super::{Replay, ReplayError};
use crate::counters::Phase;
use crate::metadata::{date_time, integer};

/// Captures in one commit.
const CAPTURES_MAX: usize = 2000;
/// How long a capture waits for others to be committed with.
const AGE_MAX: Duration = Duration::from_secs(2);

/// When a capture was made. Of two with the same time, the one that comes later in the order of files is taken for the later, so that
/// it does not matter which is read first.
type Age = (Timestamp, String, u64);

/// What is stored of a URL already, or about to be.
#[derive(Debug, Clone)]
struct Known {
    /// Nothing when no capture is the page yet.
    age: Option<Age>,
    record: Option<NamedNode>,
    /// This capture and the older ones as history.
    history: Vec<Triple>,
}

/// A commit on its way.
struct Commit {
    writes: Vec<GraphWrite>,
    pages: u64,
    /// How far each file is with it: where, and whether it is done.
    positions: BTreeMap<usize, (u64, bool)>,
}

/// Gathers and commits.
pub(crate) struct Keeper<'a> {
    replay: &'a Replay,
    budget: &'a Budget,
    /// Came before their turn: by file, and by number in it.
    early: BTreeMap<(usize, u64), Rewoven>,
    /// The number whose turn it is, by file.
    turns: HashMap<usize, u64>,
    batch: Commit,
    captures: usize,
    quads: usize,
    opened: Instant,
    snapshot: Snapshot,
    /// In the batch that is being gathered, and in the one that is being committed.
    gathered: HashMap<PageUrl, Known>,
    flying: HashMap<PageUrl, Known>,
}

impl<'a> Keeper<'a> {
    pub(crate) fn new(replay: &'a Replay, budget: &'a Budget) -> Self {
        Self {
            replay,
            budget,
            early: BTreeMap::new(),
            turns: HashMap::new(),
            batch: Commit { writes: Vec::new(), pages: 0, positions: BTreeMap::new() },
            captures: 0,
            quads: 0,
            opened: Instant::now(),
            snapshot: replay.index.snapshot(),
            gathered: HashMap::new(),
            flying: HashMap::new(),
        }
    }

    /// Stores all that comes.
    pub(crate) fn run(&mut self, woven: &Receiver<Rewoven>) -> Result<(), ReplayError> {
        let replay = self.replay;
        // A commit is handed over when the one before is done, not earlier.
        let (commits, waiting) = bounded::<Commit>(0);
        std::thread::scope(|scope| {
            let committing = std::thread::Builder::new()
                .name("webloom-replay-commit".to_owned())
                .spawn_scoped(scope, move || waiting.iter().try_for_each(|commit| replay.store(commit)))
                .map_err(ReplayError::Thread)?;
            let gathered = self.gather(woven, &commits);
            drop(commits);
            let committed = committing.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            // What the committing thread says is the reason why nobody took the last batch.
            committed.and(gathered)
        })
    }

    fn gather(&mut self, woven: &Receiver<Rewoven>, commits: &Sender<Commit>) -> Result<(), ReplayError> {
        loop {
            match woven.recv_timeout(AGE_MAX) {
                Ok(rewoven) => {
                    let file = rewoven.file;
                    self.early.insert((file, rewoven.number), rewoven);
                    self.take_turns(file)?;
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            let is_large = self.captures >= CAPTURES_MAX
                || self.quads >= self.replay.spec.work.commit_quads_max
                || self.opened.elapsed() >= AGE_MAX;
            if is_large && !self.hand_over(commits) {
                return Ok(());
            }
        }
        self.hand_over(commits);
        Ok(())
    }

    /// Takes what there is of a file, in its order.
    fn take_turns(&mut self, file: usize) -> Result<(), ReplayError> {
        let mut turn = self.turns.get(&file).copied().unwrap_or_default();
        while let Some(rewoven) = self.early.remove(&(file, turn)) {
            turn += 1;
            self.budget.give_back(rewoven.bytes);
            self.take(rewoven)?;
        }
        self.turns.insert(file, turn);
        Ok(())
    }

    /// Hands the batch to the committing thread. False when that has ended.
    fn hand_over(&mut self, commits: &Sender<Commit>) -> bool {
        self.opened = Instant::now();
        if self.batch.positions.is_empty() {
            return true;
        }
        let empty = Commit { writes: Vec::new(), pages: 0, positions: BTreeMap::new() };
        let batch = std::mem::replace(&mut self.batch, empty);
        (self.captures, self.quads) = (0, 0);
        let was_taken = commits.send(batch).is_ok();
        // The commit before is done, so a new snapshot has it.
        self.flying = std::mem::take(&mut self.gathered);
        self.snapshot = self.replay.index.snapshot();
        was_taken
    }

    fn take(&mut self, rewoven: Rewoven) -> Result<(), ReplayError> {
        self.batch.positions.insert(rewoven.file, (rewoven.next, rewoven.is_end));
        let Some(capture) = rewoven.capture else { return Ok(()) };
        self.captures += 1;
        self.quads += capture.writes.iter().map(|write| write.triples.len()).sum::<usize>();
        let known = match self.gathered.get(&capture.url).or_else(|| self.flying.get(&capture.url)) {
            Some(known) => Some(known.clone()),
            None => self.stored(&capture.url)?,
        };
        let own = history_of(&capture);
        match known {
            Some(mut known) if capture.writes.is_empty() || known.age > Some(age(&capture)) => {
                self.replay.progress.older.fetch_add(1, Relaxed);
                if known.record.as_ref() != Some(&capture.record) {
                    let meta = capture.url.meta_graph_name();
                    self.batch.writes.push(GraphWrite::add(meta, own.clone()));
                    known.history.extend(own);
                    self.gathered.insert(capture.url, known);
                }
            }
            // The page that is said to be unchanged may come from another file yet. Until then there is only this to say of it.
            None if capture.writes.is_empty() => {
                self.replay.progress.skip("unchanged, of unknown pages");
                let meta = capture.url.meta_graph_name();
                self.batch.writes.push(GraphWrite::add(meta, own.clone()));
                let known = Known { age: None, record: None, history: own };
                self.gathered.insert(capture.url, known);
            }
            known => self.place(capture, known, own),
        }
        Ok(())
    }

    /// Stores a capture as the page it is of.
    fn place(&mut self, mut capture: Capture, known: Option<Known>, own: Vec<Triple>) {
        let page = capture.url.graph_name();
        let mut older = known.map(|known| known.history).unwrap_or_default();
        // Read a second time, a capture is not its own history.
        let is_own = |triple: &Triple| {
            triple.subject == NamedOrBlankNode::from(capture.record.clone())
                || triple.object == Term::from(capture.record.clone())
        };
        older.retain(|triple| !is_own(triple));
        if let Some(metadata) = capture.writes.last_mut() {
            let place = [
                Triple::new(page.clone(), wl::WARC_FILE, Literal::from(capture.file.as_str())),
                Triple::new(page.clone(), wl::WARC_OFFSET, integer(capture.offset)),
                Triple::new(page, wl::WARC_RECORD, capture.record.clone()),
            ];
            metadata.triples.extend(place);
            metadata.triples.extend(older.iter().cloned());
        }
        self.batch.pages += u64::from(capture.writes.len() > 1);
        self.batch.writes.append(&mut capture.writes);
        older.extend(own);
        let age = Some(age(&capture));
        let known = Known { age, record: Some(capture.record), history: older };
        self.gathered.insert(capture.url, known);
    }

    /// What the index has of a URL.
    fn stored(&self, url: &PageUrl) -> Result<Option<Known>, ReplayError> {
        let meta = GraphName::from(url.meta_graph_name());
        if !self.snapshot.contains_graph(meta.as_ref()) {
            return Ok(None);
        }
        let pattern = GraphPattern::One(meta.as_ref());
        let quads: Vec<Quad> =
            self.snapshot.quads_for_pattern(None, None, None, pattern)?.collect::<Result<_, _>>()?;
        Ok(Some(known_from(url, quads)))
    }
}

/// What the metadata of a URL say about its captures.
fn known_from(url: &PageUrl, quads: Vec<Quad>) -> Known {
    let page = NamedOrBlankNode::from(url.graph_name());
    let object = |predicate: oxrdf::NamedNodeRef<'_>| {
        quads.iter().find(|quad| quad.subject == page && quad.predicate == predicate).map(|quad| &quad.object)
    };
    let text = |predicate| match object(predicate) {
        Some(Term::Literal(literal)) => Some(literal.value().to_owned()),
        _ => None,
    };
    let at: Option<Timestamp> = text(prov::GENERATED_AT_TIME).and_then(|text| text.parse().ok());
    let record = match object(wl::WARC_RECORD) {
        Some(Term::NamedNode(record)) => Some(record.clone()),
        _ => None,
    };
    let mut history = Vec::new();
    let file = text(wl::WARC_FILE).unwrap_or_default();
    let offset = text(wl::WARC_OFFSET).and_then(|offset| offset.parse().ok()).unwrap_or_default();
    if let (Some(at), Some(record)) = (at, &record) {
        let status = text(http::STATUS_CODE).and_then(|status| status.parse().ok());
        history = triples(url, record, at, status, &file, offset);
    }
    let is_capture = |subject: &NamedOrBlankNode| {
        quads.iter().any(|quad| {
            quad.predicate == wl::CAPTURE
                && quad.object == Term::from(subject.clone())
                && quad.subject == page
        })
    };
    let older = quads.iter().filter(|quad| quad.predicate == wl::CAPTURE || is_capture(&quad.subject));
    history.extend(older.cloned().map(Triple::from));
    Known { age: at.map(|at| (at, file, offset)), record, history }
}

fn age(capture: &Capture) -> Age {
    (capture.at, capture.file.clone(), capture.offset)
}

fn history_of(capture: &Capture) -> Vec<Triple> {
    let Capture { url, record, at, status, file, offset, .. } = capture;
    triples(url, record, *at, *status, file, *offset)
}

/// A capture as a line of its page's history.
fn triples(
    url: &PageUrl,
    record: &NamedNode,
    at: Timestamp,
    status: Option<u16>,
    file: &str,
    offset: u64,
) -> Vec<Triple> {
    let mut triples = vec![
        Triple::new(url.graph_name(), wl::CAPTURE, record.clone()),
        Triple::new(record.clone(), prov::GENERATED_AT_TIME, date_time(&at)),
        Triple::new(record.clone(), wl::WARC_FILE, Literal::from(file)),
        Triple::new(record.clone(), wl::WARC_OFFSET, integer(offset)),
    ];
    if let Some(status) = status {
        triples.push(Triple::new(record.clone(), wl::CAPTURE_STATUS, integer(u64::from(status))));
    }
    triples
}

impl Replay {
    /// Makes a batch durable, then notes how far the files are.
    fn store(&self, commit: Commit) -> Result<(), ReplayError> {
        let start = Instant::now();
        let quads: usize = commit.writes.iter().map(|write| write.triples.len()).sum();
        if !commit.writes.is_empty() {
            self.index.commit(&Batch { writes: commit.writes })?;
        }
        let mut positions = self.positions.lock();
        for (file, (position, is_done)) in commit.positions {
            positions.set(&self.files[file], position, is_done);
        }
        positions.store()?;
        self.counters.add(Phase::Index, commit.pages, start.elapsed());
        self.counters.indexed.fetch_add(commit.pages, Relaxed);
        self.counters.quads.fetch_add(quads as u64, Relaxed);
        self.counters.commits.fetch_add(1, Relaxed);
        Ok(())
    }
}
