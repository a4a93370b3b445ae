//! From a query to the documents that match, gathered by subject.
//!
//! In: a query for tantivy. Out: [`Collected`]: subjects with their matching documents. Each document is looked at once, through columns of
//! numbers; no text is read. A search that matches more than [`DOCUMENTS_MAX`] documents gathers that many and the best of
//! the rest, and says so. Start at [`collect`].

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use tantivy::collector::TopDocs;
use tantivy::columnar::{Column, StrColumn};
use tantivy::query::{EnableScoring, Query};
use tantivy::{DocId, DocSet, Searcher, SegmentReader, TERMINATED};

use super::{GRAPH, SHAPE, SITE, SUBJECT};
use crate::error::IndexError;

/// Most documents that are gathered in the order they are found.
pub(crate) const DOCUMENTS_MAX: usize = 200_000;
/// How many of the best documents are gathered when there are more.
const BEST_MAX: usize = 2_000;
/// Most documents of links that are kept; the best.
const LINKS_MAX: usize = 200;

/// No document, no key.
pub(crate) const NONE: u32 = u32::MAX;

/// A document that matches.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Match {
    pub(crate) segment: u32,
    pub(crate) document: DocId,
    pub(crate) score: f32,
    /// Number of the site's name in its segment.
    pub(crate) site: u32,
    /// Number of the shape's key in its segment.
    pub(crate) shape: u32,
    /// The next document of the same subject.
    next: u32,
}

/// A subject with its documents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Group {
    /// See [`TermId::number`](crate::TermId).
    pub(crate) subject: u64,
    /// The best score of its documents.
    pub(crate) score: f32,
    /// How many there are.
    pub(crate) documents: u32,
    first: u32,
}

/// What was found.
pub(crate) struct Collected {
    pub(crate) groups: Vec<Group>,
    matches: Vec<Match>,
    places: HashMap<u64, u32, BuildHasherDefault<NumberHasher>>,
    /// Documents of links, best first.
    pub(crate) links: Vec<Match>,
    /// Everything that matches is here.
    pub(crate) is_complete: bool,
    columns: Vec<Columns>,
}

/// The columns of one of tantivy's segments.
struct Columns {
    subject: Option<Column<u64>>,
    graph: Option<Column<u64>>,
    site: Option<StrColumn>,
    shape: Option<StrColumn>,
}

impl Columns {
    fn open(reader: &SegmentReader) -> Result<Self, IndexError> {
        let columns = reader.fast_fields();
        Ok(Self {
            subject: columns.column_opt(SUBJECT)?,
            graph: columns.column_opt(GRAPH)?,
            site: columns.str(SITE)?,
            shape: columns.str(SHAPE)?,
        })
    }
}

fn ordinal(column: Option<&StrColumn>, document: DocId) -> u32 {
    column.and_then(|column| column.ords().first(document)).map_or(NONE, |ordinal| ordinal as u32)
}

/// Numbers of terms are hashes already.
#[derive(Default)]
pub(crate) struct NumberHasher(u64);

impl Hasher for NumberHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }
}

/// Numbers of subjects.
pub(crate) type Numbers = HashSet<u64, BuildHasherDefault<NumberHasher>>;

/// Gathers what a query finds; with `among`, only of these subjects.
pub(super) fn collect(
    searcher: &Searcher,
    query: &dyn Query,
    among: Option<&Numbers>,
) -> Result<Collected, IndexError> {
    let mut columns = Vec::with_capacity(searcher.segment_readers().len());
    for reader in searcher.segment_readers() {
        columns.push(Columns::open(reader)?);
    }
    let mut collected = Collected {
        groups: Vec::new(),
        matches: Vec::new(),
        places: HashMap::default(),
        links: Vec::new(),
        is_complete: true,
        columns,
    };
    let weight = query.weight(EnableScoring::enabled_from_searcher(searcher))?;
    // Where it was stopped.
    let mut stopped = None;
    'segments: for (segment, reader) in searcher.segment_readers().iter().enumerate() {
        let alive = reader.alive_bitset();
        let mut scorer = weight.scorer(reader, 1.0)?;
        let mut document = scorer.doc();
        while document != TERMINATED {
            if alive.is_none_or(|alive| alive.is_alive(document)) {
                if collected.matches.len() >= DOCUMENTS_MAX {
                    stopped = Some((segment, document));
                    break 'segments;
                }
                collected.gather(segment as u32, document, among, || scorer.score());
            }
            document = scorer.advance();
        }
    }
    if let Some(stopped) = stopped {
        collected.is_complete = false;
        let best = searcher.search(query, &TopDocs::with_limit(BEST_MAX).order_by_score())?;
        for (score, address) in best {
            if (address.segment_ord as usize, address.doc_id) >= stopped {
                collected.gather(address.segment_ord, address.doc_id, among, || score);
            }
        }
    }
    collected.links.sort_by(|one, other| other.score.total_cmp(&one.score));
    collected.is_complete &= collected.links.len() <= LINKS_MAX;
    collected.links.truncate(LINKS_MAX);
    Ok(collected)
}

impl Collected {
    fn gather(
        &mut self,
        segment: u32,
        document: DocId,
        among: Option<&Numbers>,
        score: impl FnOnce() -> f32,
    ) {
        let Some(columns) = self.columns.get(segment as usize) else {
            return;
        };
        let subject = columns.subject.as_ref().and_then(|column| column.first(document));
        if let (Some(among), Some(subject)) = (among, subject)
            && !among.contains(&subject)
        {
            return;
        }
        let found = Match {
            segment,
            document,
            score: score(),
            site: ordinal(columns.site.as_ref(), document),
            shape: ordinal(columns.shape.as_ref(), document),
            next: NONE,
        };
        match subject {
            Some(subject) => self.push(subject, found),
            None => {
                self.links.push(found);
                // Twice as many as are kept, so that they are sorted now and then and not each time.
                if self.links.len() >= 2 * LINKS_MAX {
                    self.links.sort_by(|one, other| other.score.total_cmp(&one.score));
                    self.links.truncate(LINKS_MAX);
                    self.is_complete = false;
                }
            }
        }
    }

    /// Adds a document to a subject.
    pub(crate) fn push(&mut self, subject: u64, mut found: Match) {
        let place = self.matches.len() as u32;
        match self.places.get(&subject).and_then(|place| self.groups.get_mut(*place as usize)) {
            Some(group) => {
                found.next = group.first;
                group.first = place;
                group.documents += 1;
                group.score = group.score.max(found.score);
            }
            None => {
                found.next = NONE;
                self.places.insert(subject, self.groups.len() as u32);
                self.groups.push(Group { subject, score: found.score, documents: 1, first: place });
            }
        }
        self.matches.push(found);
    }

    /// The documents of a subject.
    pub(crate) fn matches(&self, group: &Group) -> impl Iterator<Item = &Match> {
        let mut next = group.first;
        std::iter::from_fn(move || {
            let found = self.matches.get(next as usize)?;
            next = found.next;
            Some(found)
        })
    }

    /// The number of the graph that a document is of.
    pub(crate) fn graph(&self, found: &Match) -> Option<u64> {
        self.columns.get(found.segment as usize)?.graph.as_ref()?.first(found.document)
    }

    /// How many segments the keys come from.
    pub(crate) fn segments(&self) -> usize {
        self.columns.len()
    }

    /// The number that a segment has for a site.
    pub(crate) fn site_number(&self, segment: u32, site: &str) -> Option<u32> {
        let column = self.columns.get(segment as usize)?.site.as_ref()?;
        column.dictionary().term_ord(site.as_bytes()).ok().flatten().map(|ordinal| ordinal as u32)
    }

    /// The name of a site.
    pub(crate) fn site(&self, segment: u32, site: u32) -> Option<String> {
        text(self.columns.get(segment as usize)?.site.as_ref(), site)
    }

    /// The key of a shape.
    pub(crate) fn shape(&self, segment: u32, shape: u32) -> Option<String> {
        text(self.columns.get(segment as usize)?.shape.as_ref(), shape)
    }
}

fn text(column: Option<&StrColumn>, ordinal: u32) -> Option<String> {
    let mut text = String::new();
    (ordinal != NONE && column?.ord_to_str(u64::from(ordinal), &mut text).ok()?).then_some(text)
}
