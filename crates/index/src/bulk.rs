//! Imports that are larger than memory, visible all at once.
//!
//! In: quads, one by one, through an [`Import`]. Out: one commit. Quads are written to segments as they come, but no manifest
//! names those before [`Import::finish`]; whoever reads sees nothing of the import until then, and all of it afterwards. An
//! import that is dropped, or whose process dies, leaves nothing.

use std::collections::HashMap;
use std::fs;
use std::sync::Arc;

use foldhash::fast::RandomState;
use oxrdf::{GraphNameRef, Quad, QuadRef, TripleRef};
use parking_lot::MutexGuard;

use crate::error::IndexError;
use crate::segment::Segment;
use crate::segment::build::SegmentBuilder;
use crate::segment::read::segment_path;
use crate::term::TermHasher;
use crate::text::may_have_documents;
use crate::writer::{CommitReceipt, Index, Shared, Writer};

/// Quads that are taken over together. Subjects are described for search by what one such lot says of them.
const LOT_QUADS: usize = 50_000;
/// About what a quad takes in a segment that is being built, its terms not counted.
const QUAD_BYTES: usize = 48;

/// Quads on their way into an index, added to the graphs they name. Other commits wait until it is finished or dropped.
pub struct Import<'a> {
    shared: &'a Shared,
    _turn: MutexGuard<'a, ()>,
    writer: MutexGuard<'a, Writer>,
    hasher: &'a TermHasher,
    lot: Vec<Quad>,
    builder: SegmentBuilder<'a>,
    segments: Vec<Arc<Segment>>,
    quads: u64,
    graphs: u64,
    finished: bool,
}

impl std::fmt::Debug for Import<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Import").field("quads", &self.quads).finish_non_exhaustive()
    }
}

impl Index {
    /// Begins an import. It holds the writer: commits and merges of other threads wait for its end.
    pub fn begin_import(&self) -> Result<Import<'_>, IndexError> {
        let shared = &*self.shared;
        let turn = shared.commits.lock();
        let writer = shared.writer.lock();
        if writer.text.is_none() {
            return Err(IndexError::Stopped);
        }
        let hasher = &*shared.hasher;
        Ok(Import {
            shared,
            _turn: turn,
            writer,
            hasher,
            lot: Vec::new(),
            builder: SegmentBuilder::new(hasher),
            segments: Vec::new(),
            quads: 0,
            graphs: 0,
            finished: false,
        })
    }
}

impl Import<'_> {
    /// One more quad.
    pub fn add(&mut self, quad: Quad) -> Result<(), IndexError> {
        self.lot.push(quad);
        // A lot is never larger than a segment.
        if self.lot.len() > LOT_QUADS.min(self.shared.config.import_segment_bytes / QUAD_BYTES) {
            self.take_lot()?;
        }
        Ok(())
    }

    /// Quads that are there already, taken over without a copy. Subjects are described for search by what these say of them.
    pub fn add_all<'q>(
        &mut self,
        quads: impl Iterator<Item = QuadRef<'q>> + Clone + Send,
    ) -> Result<(), IndexError> {
        self.take_lot()?;
        self.take(quads)
    }

    /// Makes the import durable and visible. On an error nothing of it is there.
    pub fn finish(mut self) -> Result<CommitReceipt, IndexError> {
        self.take_lot()?;
        self.write_segment()?;
        if self.segments.is_empty() {
            let generation = self.writer.manifest.generation;
            return Ok(CommitReceipt { generation, quads: 0, graphs: 0 });
        }
        let mut segments: Vec<Arc<Segment>> =
            self.shared.current.read().segments.iter().map(|view| Arc::clone(&view.segment)).collect();
        segments.extend(self.segments.iter().cloned());
        let writer = &mut *self.writer;
        let text = writer.text.as_mut().ok_or(IndexError::Stopped)?;
        let swung = text.commit().and_then(|()| self.shared.swing(writer, &segments));
        self.finished = true;
        match swung {
            Ok(generation) => {
                let receipt = CommitReceipt { generation, quads: self.quads, graphs: self.graphs };
                let shared = self.shared;
                drop(self);
                shared.wake_merger();
                Ok(receipt)
            }
            Err(error) => {
                // Whether the new manifest is in place cannot be told from here; opening the index again finds out.
                writer.text = None;
                Err(error)
            }
        }
    }

    fn take_lot(&mut self) -> Result<(), IndexError> {
        if !self.lot.is_empty() {
            let mut lot = std::mem::take(&mut self.lot);
            self.take(lot.iter().map(Quad::as_ref))?;
            lot.clear();
            self.lot = lot;
        }
        Ok(())
    }

    fn take<'q>(
        &mut self,
        quads: impl Iterator<Item = QuadRef<'q>> + Clone + Send,
    ) -> Result<(), IndexError> {
        if !self.shared.config.index_text {
            return self.take_quads(quads, &HashMap::default());
        }
        let mut by_graph: HashMap<GraphNameRef<'_>, Vec<TripleRef<'_>>, RandomState> = HashMap::default();
        for quad in quads.clone() {
            by_graph.entry(quad.graph_name).or_default().push(triple_of(quad));
        }
        let with_text = by_graph
            .iter()
            .map(|(graph, triples)| (*graph, may_have_documents(*graph, triples.iter().copied(), None)))
            .collect();
        let mut text = self.writer.text.take().ok_or(IndexError::Stopped)?;
        let hasher = self.hasher;
        let words = || {
            for (graph, triples) in by_graph {
                text.write(hasher, (graph, hasher.graph(graph)), false, triples.into_iter(), None)?;
            }
            Ok(())
        };
        let shared = self.shared;
        let taken = shared.beside(words, || self.take_quads(quads, &with_text));
        self.writer.text = Some(text);
        taken
    }

    /// Takes quads over whose words are taken care of; it is known which graphs may have some.
    fn take_quads<'q>(
        &mut self,
        quads: impl Iterator<Item = QuadRef<'q>>,
        with_text: &HashMap<GraphNameRef<'q>, bool, RandomState>,
    ) -> Result<(), IndexError> {
        let mut last = None;
        for quad in quads {
            let graph = quad.graph_name;
            if last != Some(graph) {
                // A lot may be larger than a segment; a graph is cut where it is.
                if self.builder.memory_bytes() >= self.shared.config.import_segment_bytes {
                    self.write_segment()?;
                }
                let has_text = with_text.get(&graph).copied().unwrap_or_default();
                self.builder.begin_graph(graph, false, has_text);
                last = Some(graph);
            }
            self.builder.triple(triple_of(quad), graph);
        }
        if self.builder.memory_bytes() >= self.shared.config.import_segment_bytes {
            self.write_segment()?;
        }
        Ok(())
    }

    fn write_segment(&mut self) -> Result<(), IndexError> {
        if self.builder.is_empty() {
            return Ok(());
        }
        let builder = std::mem::replace(&mut self.builder, SegmentBuilder::new(self.hasher));
        let number = self.writer.manifest.next_segment;
        self.writer.manifest.next_segment += 1;
        let path = segment_path(&self.shared.directory, number);
        self.graphs += builder.graphs() as u64;
        let compress = builder.rows() as u64 > self.shared.config.small_segment_quads;
        let written = builder
            .write(&path, compress)
            .and_then(|quads| Ok((quads, Segment::open(&self.shared.directory, number)?)));
        match written {
            Ok((quads, segment)) => {
                self.quads += quads;
                self.segments.push(Arc::new(segment));
                Ok(())
            }
            Err(error) => {
                let _ = fs::remove_file(&path);
                Err(error)
            }
        }
    }
}

fn triple_of(quad: QuadRef<'_>) -> TripleRef<'_> {
    TripleRef::new(quad.subject, quad.predicate, quad.object)
}

impl Drop for Import<'_> {
    fn drop(&mut self) {
        if self.finished {
            return;
        }
        if let Some(text) = &mut self.writer.text
            && let Err(failure) = text.rollback()
        {
            tracing::error!(%failure, "the text index could not be rolled back");
            self.writer.text = None;
        }
        for segment in &self.segments {
            // What cannot be removed now goes when the index is next opened.
            let _ = fs::remove_file(segment.path());
        }
    }
}
