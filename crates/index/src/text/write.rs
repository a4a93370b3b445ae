//! Writing the text index.
//!
//! In: graphs, as they are committed. Out: documents in tantivy, and a state to put into the manifest.

use std::path::{Path, PathBuf};

use oxrdf::{GraphNameRef, TripleRef};
use tantivy::indexer::{IndexWriterOptions, LogMergePolicy};
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, Term};
use webloom_model::PageText;

use super::directory::CommitDirectory;
use super::documents::{documents, is_left_out};
use super::segment::{GraphOfDocuments, SegmentText};
use super::shape::site_of;
use super::{Fields, TOKENIZER, TextSearcher, analyzer};
use crate::error::IndexError;
use crate::term::{TermHasher, TermId};

/// So many segments of like size are merged into one. More make writing cheaper and searching dearer.
const MERGE_FACTOR: usize = 8;
/// Segments of up to this many documents count as of like size. A commit of a crawl makes about a thousand, and they should not
/// be merged again and again with what was merged before.
const SMALL_SEGMENT_DOCUMENTS: u32 = 500;

/// What tantivy requires for the memory of its own threads, which have nothing to do: documents come to it as finished segments.
const IDLE_MEMORY_BYTES: usize = 15_000_000;

/// The one writer of the text index. Tantivy keeps account of segments, merges them and deletes from them.
pub(crate) struct TextWriter {
    directory: CommitDirectory,
    writer: IndexWriter,
    reader: IndexReader,
    fields: Fields,
    /// Documents that are in no segment yet.
    gathered: SegmentText,
    memory_bytes: usize,
    /// What is to be deleted before they are added.
    deletions: Vec<Term>,
    changed: bool,
    /// The last state that was committed, when tantivy's is ahead of it.
    committed: Option<Vec<u8>>,
}

impl TextWriter {
    /// Opens the text index in its directory, or makes one. `meta` is what the manifest holds.
    pub(crate) fn open(root: &Path, meta: Option<&str>, memory_bytes: usize) -> Result<Self, IndexError> {
        let directory = CommitDirectory::open(root, meta, false)?;
        let index = match meta {
            Some(_) => tantivy::Index::open(directory.clone())?,
            None => {
                // A commit has little to compress; handing it to another thread costs more than doing it.
                let settings = tantivy::IndexSettings {
                    docstore_compress_dedicated_thread: false,
                    ..tantivy::IndexSettings::default()
                };
                tantivy::Index::create(directory.clone(), Fields::schema(), settings)?
            }
        };
        index.tokenizers().register(TOKENIZER, analyzer());
        let fields = Fields::of(&index.schema(), root)?;
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(IDLE_MEMORY_BYTES)
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer: IndexWriter = index.writer_with_options(options)?;
        writer.set_merge_policy(merge_policy());
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        // What a crash left behind: no manifest names it, so it can go at once.
        writer.garbage_collect_files().wait()?;
        let (_, retired) = directory.take_state();
        directory.remove(&retired);
        Ok(Self {
            directory,
            writer,
            reader,
            fields,
            gathered: SegmentText::new(fields),
            memory_bytes,
            deletions: Vec::new(),
            changed: false,
            committed: None,
        })
    }

    /// Replaces or adds to what is known of a graph. Becomes part of the next [`TextWriter::commit`].
    pub(crate) fn write<'a>(
        &mut self,
        hasher: &TermHasher,
        (graph, id): (GraphNameRef<'a>, TermId),
        replace: bool,
        triples: impl Iterator<Item = TripleRef<'a>>,
        page: Option<&'a PageText>,
    ) -> Result<(), IndexError> {
        if is_left_out(graph) {
            return Ok(());
        }
        let number = id.number();
        if replace {
            self.deletions.push(Term::from_field_u64(self.fields.graph, number));
            self.changed = true;
        }
        let site = match graph {
            GraphNameRef::NamedNode(node) => site_of(node.as_str()),
            GraphNameRef::BlankNode(_) | GraphNameRef::DefaultGraph => None,
        };
        for document in &documents(graph, triples, page) {
            self.changed = true;
            let graph = GraphOfDocuments { number, site, page };
            self.gathered.add(self.writer.index(), hasher, graph, document)?;
        }
        if self.gathered.memory_bytes() > self.memory_bytes {
            self.hand_over()?;
        }
        Ok(())
    }

    /// Writes what was gathered, so that little is left to do for a commit.
    pub(crate) fn hand_over(&mut self) -> Result<(), IndexError> {
        self.delete()?;
        if let Some(segment) = self.gathered.finish()? {
            self.writer.add_segment(segment)?;
        }
        Ok(())
    }

    /// Carries deletions out, before a segment is added that may hold the same graphs anew: tantivy does not know which came first.
    fn delete(&mut self) -> Result<(), IndexError> {
        if self.deletions.is_empty() {
            return Ok(());
        }
        if self.committed.is_none() {
            self.committed = self.directory.meta();
        }
        for term in self.deletions.drain(..) {
            self.writer.delete_term(term);
        }
        self.writer.commit()?;
        if self.writer.index().searchable_segment_metas()?.is_empty() {
            // Deletions wait for segments to be carried out in. They must not find those that are still to come.
            self.begin_anew()?;
        }
        Ok(())
    }

    /// Makes what was written the state that [`TextWriter::take_state`] hands out.
    pub(crate) fn commit(&mut self) -> Result<(), IndexError> {
        if self.changed {
            self.hand_over()?;
            self.writer.commit()?;
            self.changed = false;
            self.committed = None;
        }
        Ok(())
    }

    /// Forgets what was written since the last commit.
    pub(crate) fn rollback(&mut self) -> Result<(), IndexError> {
        if self.changed {
            self.gathered.clear();
            self.deletions.clear();
            if let Some(committed) = self.committed.take() {
                self.directory.restore(committed);
            }
            self.begin_anew()?;
            self.changed = false;
        }
        Ok(())
    }

    /// Makes tantivy forget everything that is not in the directory.
    fn begin_anew(&mut self) -> Result<(), IndexError> {
        self.writer.rollback()?;
        self.writer.set_merge_policy(merge_policy());
        Ok(())
    }

    /// The metadata for the manifest, and the files that may go once it is there.
    pub(crate) fn take_state(&self) -> (String, Vec<PathBuf>) {
        self.directory.take_state()
    }

    pub(crate) fn remove(&self, retired: &[PathBuf]) {
        self.directory.remove(retired);
    }

    /// A searcher over the last commit.
    pub(crate) fn searcher(&self) -> Result<TextSearcher, IndexError> {
        self.reader.reload()?;
        Ok(TextSearcher::new(self.reader.searcher(), self.fields))
    }

    /// Lets running merges end. The directory's last state is returned.
    pub(crate) fn close(self) -> Result<(String, CommitDirectory, Vec<PathBuf>), IndexError> {
        self.writer.wait_merging_threads()?;
        let (meta, retired) = self.directory.take_state();
        Ok((meta, self.directory, retired))
    }
}

fn merge_policy() -> Box<LogMergePolicy> {
    let mut policy = LogMergePolicy::default();
    policy.set_min_num_segments(MERGE_FACTOR);
    policy.set_min_layer_size(SMALL_SEGMENT_DOCUMENTS);
    // Segments within a factor of four are of like size.
    policy.set_level_log_size(2.0);
    policy.set_del_docs_ratio_before_merge(0.5);
    Box::new(policy)
}

#[cfg(test)]
mod tests {
    use oxrdf::{Literal, NamedNode, Triple};

    use super::*;

    fn write(text: &mut TextWriter, replace: bool, words: &str) -> Result<(), IndexError> {
        let hasher = TermHasher::new([7; 16]);
        let graph = NamedNode::new_unchecked("http://example.org/");
        let label = NamedNode::new_unchecked("http://www.w3.org/2000/01/rdf-schema#label");
        let triples = [Triple::new(graph.clone(), label, Literal::from(words))];
        let name = GraphNameRef::from(graph.as_ref());
        text.write(&hasher, (name, hasher.graph(name)), replace, triples.iter().map(Triple::as_ref), None)
    }

    #[track_caller]
    fn check(text: &TextWriter, documents: u64) -> Result<(), IndexError> {
        assert_eq!(text.searcher()?.document_count(), documents);
        Ok(())
    }

    #[test]
    fn what_is_deleted_comes_back_with_a_rollback() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut text = TextWriter::open(folder.path(), None, 1 << 20)?;
        write(&mut text, false, "first")?;
        text.commit()?;
        check(&text, 1)?;
        // Tantivy knows of the deletion, and of the segment.
        write(&mut text, true, "second")?;
        text.hand_over()?;
        text.rollback()?;
        check(&text, 1)?;
        // Of what comes after a deletion nothing is deleted; of what comes before, everything.
        for _ in 0..3 {
            write(&mut text, true, "third")?;
            text.commit()?;
            check(&text, 1)?;
        }
        let (meta, retired) = text.take_state();
        text.remove(&retired);
        drop(text);
        let mut text = TextWriter::open(folder.path(), Some(&meta), 1 << 20)?;
        check(&text, 1)?;
        write(&mut text, false, "fourth")?;
        text.commit()?;
        check(&text, 2)?;
        Ok(())
    }

    #[test]
    fn deletions_that_find_nothing_wait_for_nothing() -> Result<(), Box<dyn std::error::Error>> {
        let folder = tempfile::tempdir()?;
        let mut text = TextWriter::open(folder.path(), None, 1 << 20)?;
        write(&mut text, true, "first")?;
        text.commit()?;
        check(&text, 1)?;
        Ok(())
    }
}
