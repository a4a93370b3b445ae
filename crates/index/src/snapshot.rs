//! One state of an index, for as long as somebody wants to look at it.
//!
//! In: patterns, queries, words. Out: quads, results, hits. A [`Snapshot`] does not change and does not stand in
//! the way of writers; it costs a reference count, and keeps the files it reads alive even after they are
//! deleted. SPARQL over a snapshot is in [`sparql`](crate::sparql).

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use oxrdf::{GraphName, GraphNameRef, NamedNodeRef, NamedOrBlankNodeRef, Quad, Term, TermRef};
use serde::Serialize;

use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, IdPattern, QuadIds, Scan};
use crate::segment::format::Section;
use crate::term::{self, TermId};
use crate::text::{self, Hit, LiteralHit};
use crate::view::View;

/// One state of an index. Cheap to clone.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(crate) view: Arc<View>,
}

/// Which graphs a pattern is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GraphPattern<'a> {
    /// All of them: pages, metadata and the default graph.
    All,
    /// All that have a name: pages and metadata.
    Named,
    /// The union SPARQL queries see as their default graph: everything but metadata, each triple once, with the
    /// first of its graphs.
    Union,
    /// This one.
    One(GraphNameRef<'a>),
}

/// How large an index is, and what takes the room.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct IndexStats {
    /// Which state this is about.
    pub generation: u64,
    /// Distinct quads.
    pub quads: u64,
    /// Distinct terms, those of replaced pages included until they are merged away.
    pub terms: u64,
    /// Graphs with quads, those of metadata and of inferred statements not counted.
    pub graphs: u64,
    /// Graphs of metadata and of inferred statements with quads.
    pub metadata_graphs: u64,
    /// Segment files.
    pub segments: u64,
    /// Quads of replaced and deleted graphs that merges have not dropped yet.
    pub dead_quads: u64,
    /// Documents of the text index: subjects with words, once per page.
    pub text_documents: u64,
    /// Bytes on disk, by part.
    pub bytes: BytesByPart,
}

/// Bytes on disk.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct BytesByPart {
    /// Term ids.
    pub term_ids: u64,
    /// Texts of terms, compressed.
    pub term_texts: u64,
    /// The six orders.
    pub orders: u64,
    /// Each of them, as [`Order::ALL`] has them.
    pub order: [u64; 6],
    /// Lists of graphs.
    pub graphs: u64,
    /// Lists of predicates and what is known of them.
    pub statistics: u64,
    /// Headers and padding.
    pub other: u64,
    /// The text index.
    pub text: u64,
    /// All of it.
    pub total: u64,
}

impl Snapshot {
    /// Grows with every change of the index.
    pub fn generation(&self) -> u64 {
        self.view.generation
    }

    /// Number of distinct quads.
    pub fn quad_count(&self) -> Result<u64, IndexError> {
        self.view.quad_count()
    }

    /// All quads, by graph, then subject, predicate and object (in order of id).
    pub fn quads(&self) -> Result<Quads, IndexError> {
        let scan = Scan::in_order(&self.view, Order::Cspo, [None; 4], GraphFilter::All)?;
        Ok(Quads { scan, resolver: Resolver::new(Arc::clone(&self.view)) })
    }

    /// The quads that match.
    pub fn quads_for_pattern(
        &self,
        subject: Option<NamedOrBlankNodeRef<'_>>,
        predicate: Option<NamedNodeRef<'_>>,
        object: Option<TermRef<'_>>,
        graph: GraphPattern<'_>,
    ) -> Result<Quads, IndexError> {
        let hasher = &self.view.hasher;
        let mut pattern: IdPattern = [None; 4];
        pattern[SUBJECT] = subject.map(|subject| hasher.subject(subject));
        pattern[PREDICATE] = predicate.map(|predicate| hasher.iri(predicate.as_str()));
        pattern[OBJECT] = object.map(|object| hasher.term(object));
        let filter = match graph {
            GraphPattern::All => GraphFilter::All,
            GraphPattern::Named => GraphFilter::Named,
            GraphPattern::Union => GraphFilter::UnionWithoutMetadata,
            GraphPattern::One(name) => {
                pattern[GRAPH] = Some(hasher.graph(name));
                GraphFilter::All
            }
        };
        let scan = Scan::new(&self.view, pattern, filter)?;
        Ok(Quads { scan, resolver: Resolver::new(Arc::clone(&self.view)) })
    }

    /// The quads that match, as ids, sorted by the order the pattern is a prefix of. No text is read.
    pub fn scan(
        &self,
        subject: Option<TermId>,
        predicate: Option<TermId>,
        object: Option<TermId>,
        graph: Option<TermId>,
    ) -> Result<impl Iterator<Item = Result<QuadIds, IndexError>> + use<>, IndexError> {
        Scan::new(&self.view, [subject, predicate, object, graph], GraphFilter::All)
    }

    /// About how many quads match, without reading them: two searches per segment. Superseded graphs count until
    /// they are merged away.
    pub fn estimate(
        &self,
        subject: Option<TermId>,
        predicate: Option<TermId>,
        object: Option<TermId>,
        graph: Option<TermId>,
    ) -> Result<u64, IndexError> {
        self.view.count([subject, predicate, object, graph])
    }

    /// True when the quad is in the index.
    pub fn contains(&self, quad: &Quad) -> Result<bool, IndexError> {
        let hasher = &self.view.hasher;
        let pattern = [
            hasher.subject(quad.subject.as_ref()),
            hasher.iri(quad.predicate.as_str()),
            hasher.term(quad.object.as_ref()),
            hasher.graph(quad.graph_name.as_ref()),
        ];
        Scan::new(&self.view, pattern.map(Some), GraphFilter::All)?
            .next()
            .transpose()
            .map(|quad| quad.is_some())
    }

    /// True when the graph has quads.
    pub fn contains_graph(&self, graph: GraphNameRef<'_>) -> bool {
        self.view.contains_graph(self.view.hasher.graph(graph))
    }

    /// The names of all graphs that have quads, metadata included, the default graph not.
    pub fn graph_names(&self) -> impl Iterator<Item = Result<GraphName, IndexError>> + use<> {
        let resolver = Resolver::new(Arc::clone(&self.view));
        self.view
            .live_graphs()
            .filter(|(id, _, _)| *id != TermId::DEFAULT_GRAPH)
            .map(move |(id, _, _)| resolver.graph_name(id))
    }

    /// The id a term has in this index, whether or not the term occurs.
    pub fn term_id(&self, term: TermRef<'_>) -> TermId {
        self.view.hasher.term(term)
    }

    /// The id a graph's name has in this index, whether or not the graph exists.
    pub fn graph_id(&self, graph: GraphNameRef<'_>) -> TermId {
        self.view.hasher.graph(graph)
    }

    /// Turns ids that scans of this snapshot give into terms.
    pub fn resolver(&self) -> Resolver {
        Resolver::new(Arc::clone(&self.view))
    }

    /// The term of an id; nothing when no segment knows it.
    pub fn term(&self, id: TermId) -> Result<Option<Term>, IndexError> {
        self.view.term(id, &mut Vec::new())
    }

    /// The best subjects for what a person typed. Whatever was typed, this is no error; an empty query finds nothing.
    pub fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let words = words.trim();
        let search = text::things::Search { words, forgiving: true, ..Default::default() };
        let mut hits = text::hits(&self.view, &search, limit)?;
        // Somebody pasted the IRI of a thing.
        if limit > 0
            && words.contains(':')
            && !words.contains(|character: char| character.is_whitespace() || character == '"')
            && let Some(thing) = text::describe(&self.view, words)?
        {
            hits.retain(|hit| hit.subject != thing.subject);
            hits.insert(0, thing);
            hits.truncate(limit);
        }
        Ok(hits)
    }

    /// The literals that have the words somebody typed, those of the best subjects first.
    pub fn search_literals(&self, words: &str, limit: usize) -> Result<Vec<LiteralHit>, IndexError> {
        let search = text::things::Search { words: words.trim(), forgiving: true, ..Default::default() };
        text::literal_hits(&self.view, &search, limit)
    }

    /// Number of documents the text index has for a graph: its subjects with words, its plain links as one.
    pub fn text_documents(&self, graph: GraphNameRef<'_>) -> Result<usize, IndexError> {
        self.view.text.documents_of_graph(self.view.hasher.graph(graph))
    }

    /// Sizes. Counting terms reads all term ids.
    pub fn stats(&self) -> Result<IndexStats, IndexError> {
        let view = &self.view;
        let mut stats = IndexStats {
            generation: view.generation,
            quads: view.quad_count()?,
            terms: view.distinct_terms(),
            segments: view.segments.len() as u64,
            text_documents: view.text.document_count(),
            ..IndexStats::default()
        };
        for (id, _, _) in view.live_graphs() {
            if id.is_metadata() {
                stats.metadata_graphs += 1;
            } else {
                stats.graphs += 1;
            }
        }
        let bytes = &mut stats.bytes;
        for part in &view.segments {
            let segment = &part.segment;
            stats.dead_quads += segment.quad_count() - part.live_quads();
            bytes.term_ids += segment.section_bytes(Section::TermIds);
            bytes.term_texts +=
                segment.section_bytes(Section::TermTexts) + segment.section_bytes(Section::TermOffsets);
            for (order, sum) in Order::ALL.into_iter().zip(&mut bytes.order) {
                *sum += segment.section_bytes(Section::Rows(order))
                    + segment.section_bytes(Section::Blocks(order));
            }
            bytes.graphs += segment.section_bytes(Section::Graphs);
            bytes.statistics += segment.section_bytes(Section::Predicates);
            bytes.total += segment.file_bytes();
        }
        bytes.orders = bytes.order.iter().sum();
        bytes.other =
            bytes.total - bytes.term_ids - bytes.term_texts - bytes.orders - bytes.graphs - bytes.statistics;
        bytes.text = view.text.bytes()?;
        bytes.total += bytes.text;
        Ok(stats)
    }
}

impl View {
    /// The term of an id; nothing when no segment knows it. `buffer` is scratch space.
    pub(crate) fn term(&self, id: TermId, buffer: &mut Vec<u8>) -> Result<Option<Term>, IndexError> {
        if let Some(literal) = term::inline_literal(id) {
            return Ok(Some(literal.into()));
        }
        for view in &self.segments {
            if let Some(local) = view.segment.find(id) {
                return view.segment.term(local, buffer).map(Some);
            }
        }
        Ok(self.overlay.as_ref().and_then(|overlay| overlay.term(id)).cloned())
    }

    fn distinct_terms(&self) -> u64 {
        let mut heads = vec![0u32; self.segments.len()];
        let mut terms = 0;
        loop {
            let head = |index: usize| self.segments[index].segment.term_id(heads[index]);
            let Some(id) = (0..heads.len()).filter_map(head).min() else {
                return terms;
            };
            for (view, head) in self.segments.iter().zip(&mut heads) {
                if view.segment.term_id(*head) == Some(id) {
                    *head += 1;
                }
            }
            // The default graph has a number like a term, and is none.
            terms += u64::from(id != TermId::DEFAULT_GRAPH);
        }
    }
}

/// Terms remembered by a [`Resolver`]. Predicates, types and graphs come again and again.
const REMEMBERED_TERMS_MAX: usize = 8192;

/// Turns ids into terms and remembers some.
pub struct Resolver {
    view: Arc<View>,
    memory: RefCell<(HashMap<TermId, Term>, Vec<u8>)>,
    /// The last literal. In a scan by value the same one often comes again at once.
    last: RefCell<Option<(TermId, Term)>>,
}

impl Resolver {
    pub(crate) fn new(view: Arc<View>) -> Self {
        Self { view, memory: RefCell::default(), last: RefCell::default() }
    }

    /// The term of an id that a scan gave.
    pub fn term(&self, id: TermId) -> Result<Term, IndexError> {
        if let Some((last, term)) = &*self.last.borrow()
            && *last == id
        {
            return Ok(term.clone());
        }
        let mut memory = self.memory.borrow_mut();
        let (terms, buffer) = &mut *memory;
        if let Some(term) = terms.get(&id) {
            return Ok(term.clone());
        }
        let term = self.view.term(id, buffer)?.ok_or_else(|| self.damaged())?;
        // Literals are mostly met once.
        if !matches!(term, Term::Literal(_)) {
            if terms.len() >= REMEMBERED_TERMS_MAX {
                terms.clear();
            }
            terms.insert(id, term.clone());
        } else if !id.is_inline() {
            *self.last.borrow_mut() = Some((id, term.clone()));
        }
        Ok(term)
    }

    pub(crate) fn damaged(&self) -> IndexError {
        match self.view.segments.last() {
            Some(view) => {
                view.segment.damaged("a term has no text, or a text that cannot stand where it does")
            }
            None => IndexError::Stopped,
        }
    }

    /// The name of a graph whose id a scan gave.
    pub fn graph_name(&self, id: TermId) -> Result<GraphName, IndexError> {
        if id == TermId::DEFAULT_GRAPH {
            return Ok(GraphName::DefaultGraph);
        }
        term::into_graph_name(self.term(id)?).ok_or_else(|| self.damaged())
    }

    /// The quad that a scan gave, as terms.
    pub fn quad(&self, ids: QuadIds) -> Result<Quad, IndexError> {
        let subject = term::into_subject(self.term(ids.subject)?).ok_or_else(|| self.damaged())?;
        let Term::NamedNode(predicate) = self.term(ids.predicate)? else {
            return Err(self.damaged());
        };
        Ok(Quad::new(subject, predicate, self.term(ids.object)?, self.graph_name(ids.graph)?))
    }
}

impl std::fmt::Debug for Resolver {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Resolver").field("generation", &self.view.generation).finish_non_exhaustive()
    }
}

/// Quads that match a pattern, as terms.
pub struct Quads {
    scan: Scan,
    resolver: Resolver,
}

impl Iterator for Quads {
    type Item = Result<Quad, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
        Some(self.scan.next()?.and_then(|ids| self.resolver.quad(ids)))
    }
}
