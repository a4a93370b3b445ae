//! The one writer of an index: commits batches, merges segments behind them.
//!
//! In: [`Batch`]es. Out: durable segments, and [`Snapshot`]s that see them. A commit writes a segment and the text,
//! makes both durable, and swings the manifest; until then nothing of it exists, after that all of it does. A
//! background thread merges runs of segments that are adjacent in age ([`merging`](crate::merging)); it works outside the lock
//! and takes it only to swing the manifest. Imports that are larger than memory are in [`bulk`](crate::bulk). Start at
//! [`Index::commit`].

use std::collections::HashMap;
use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;

use foldhash::fast::RandomState;
use oxrdf::{GraphName, Quad, Triple, TripleRef};
use parking_lot::{Condvar, Mutex, RwLock};
use rayon::{ThreadPool, ThreadPoolBuilder};
use webloom_model::PageText;

use crate::error::IndexError;
use crate::manifest::{self, Manifest, SegmentRecord};
use crate::reader::{open_segments, text_directory};
use crate::segment::Segment;
use crate::segment::build::SegmentBuilder;
use crate::segment::read::segment_path;
use crate::snapshot::Snapshot;
use crate::term::{TermHasher, TermId};
use crate::text::{TextWriter, may_have_documents};
use crate::view::View;

/// What happens to what a graph held before.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// It is gone; the graph is what is written now. Writing nothing deletes the graph.
    Replace,
    /// It stays; what is written now comes to it.
    Add,
}

/// What is written to one graph.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GraphWrite {
    /// The graph.
    pub graph: GraphName,
    /// What happens to what it held before.
    pub mode: WriteMode,
    /// Its triples, in any order; copies count once.
    pub triples: Vec<Triple>,
    /// The words of the page itself, when the graph is a page.
    pub text: Option<PageText>,
}

impl GraphWrite {
    /// The graph becomes these triples.
    pub fn replace(graph: impl Into<GraphName>, triples: Vec<Triple>) -> Self {
        Self { graph: graph.into(), mode: WriteMode::Replace, triples, text: None }
    }

    /// These triples come to the graph.
    pub fn add(graph: impl Into<GraphName>, triples: Vec<Triple>) -> Self {
        Self { graph: graph.into(), mode: WriteMode::Add, triples, text: None }
    }

    /// The graph goes.
    pub fn delete(graph: impl Into<GraphName>) -> Self {
        Self::replace(graph, Vec::new())
    }

    /// With the words of the page.
    #[must_use]
    pub fn with_text(mut self, text: PageText) -> Self {
        self.text = Some(text);
        self
    }
}

/// Writes that become visible together. For one graph the order counts: a later `Replace` undoes what came before it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Batch {
    /// The writes.
    pub writes: Vec<GraphWrite>,
}

impl Batch {
    /// Nothing to write yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// One more write.
    pub fn push(&mut self, write: GraphWrite) {
        self.writes.push(write);
    }

    /// The quads, grouped by graph.
    pub fn from_quads(mode: WriteMode, quads: impl IntoIterator<Item = Quad>) -> Self {
        let mut batch = Self::new();
        let mut places: HashMap<GraphName, usize> = HashMap::new();
        for quad in quads {
            let place = match places.get(&quad.graph_name) {
                Some(place) => *place,
                None => {
                    let graph = quad.graph_name.clone();
                    batch.push(GraphWrite { graph: graph.clone(), mode, triples: Vec::new(), text: None });
                    places.insert(graph, batch.writes.len() - 1);
                    batch.writes.len() - 1
                }
            };
            batch.writes[place].triples.push(Triple::new(quad.subject, quad.predicate, quad.object));
        }
        batch
    }

    /// True when committing it would change nothing.
    pub fn is_empty(&self) -> bool {
        self.writes
            .iter()
            .all(|write| write.mode == WriteMode::Add && write.triples.is_empty() && write.text.is_none())
    }
}

impl From<Vec<GraphWrite>> for Batch {
    fn from(writes: Vec<GraphWrite>) -> Self {
        Self { writes }
    }
}

/// What a commit did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitReceipt {
    /// The first generation that sees the batch.
    pub generation: u64,
    /// Distinct quads in the batch, those that were superseded inside it not counted.
    pub quads: u64,
    /// Graphs written.
    pub graphs: u64,
}

/// Settings of the writer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IndexConfig {
    /// So many segments of like size are merged into one. More make writing cheaper and reading dearer.
    pub merge_factor: usize,
    /// Segments up to this many quads count as of like size.
    pub small_segment_quads: u64,
    /// A commit waits for the merges when there are this many segments.
    pub segments_max: usize,
    /// Whether segments are merged in the background at all.
    pub merge_in_background: bool,
    /// How much of one core background merges take, in percent, unless somebody waits for them or there are half as many
    /// segments as there may be.
    pub merge_cpu_percent: u8,
    /// Merges of more rows than fit in this stream, which is slower.
    pub merge_memory_bytes: usize,
    /// No merge starts that would leave less room than this on the disk.
    pub disk_reserve_bytes: u64,
    /// An import writes a segment when it has gathered about this much.
    pub import_segment_bytes: usize,
    /// Whether words are indexed for search. What is committed without stays unfindable by words.
    pub index_text: bool,
    /// Words are written to a segment of the text index when they take about this much memory, twelve bytes each. Large imports want more.
    pub text_memory_bytes: usize,
}

impl Default for IndexConfig {
    fn default() -> Self {
        Self {
            merge_factor: 8,
            small_segment_quads: 50_000,
            segments_max: 200,
            merge_in_background: true,
            merge_cpu_percent: 50,
            merge_memory_bytes: 128 << 20,
            disk_reserve_bytes: 256 << 20,
            import_segment_bytes: 192 << 20,
            index_text: true,
            text_memory_bytes: 64 << 20,
        }
    }
}

/// The writer of an index; there is one per directory, over all processes.
///
/// All methods take `&self`, so that threads can share it; commits queue behind each other.
pub struct Index {
    pub(crate) shared: Arc<Shared>,
    merger: Mutex<Option<JoinHandle<()>>>,
    /// Held for as long as this is open; the system lets go of it when the process dies.
    _lock: File,
}

/// What the writer's threads share.
pub(crate) struct Shared {
    pub(crate) directory: PathBuf,
    pub(crate) config: IndexConfig,
    pub(crate) hasher: Arc<TermHasher>,
    pub(crate) current: RwLock<Arc<View>>,
    /// Held by whoever commits, from reading what the commit depends on to its end.
    pub(crate) commits: Mutex<()>,
    pub(crate) writer: Mutex<Writer>,
    /// Held by whoever merges.
    pub(crate) merging: Mutex<()>,
    pub(crate) merge_state: Mutex<MergeState>,
    pub(crate) merge_changed: Condvar,
    /// How many threads wait for merges to end.
    pub(crate) hurried: AtomicUsize,
    pub(crate) stop: AtomicBool,
    /// One thread, kept: what it freed after a commit serves the next.
    words: ThreadPool,
}

/// What only one thread at a time may change.
pub(crate) struct Writer {
    pub(crate) manifest: Manifest,
    /// Nothing once it is closed, or after a failure that leaves unclear what it holds.
    pub(crate) text: Option<TextWriter>,
}

#[derive(Default)]
pub(crate) struct MergeState {
    /// Something was committed since the merger last looked.
    pub(crate) pending: bool,
    pub(crate) running: bool,
}

impl std::fmt::Debug for Index {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Index").field("directory", &self.shared.directory).finish_non_exhaustive()
    }
}

impl Index {
    /// Opens the index in `directory`, or makes one. What a crash left behind is removed.
    pub fn open(directory: &Path, config: IndexConfig) -> Result<Self, IndexError> {
        let segments_directory = directory.join("segments");
        let text_directory = text_directory(directory);
        for path in [&segments_directory, &text_directory] {
            fs::create_dir_all(path).map_err(IndexError::io("create", path))?;
        }
        let lock = lock(directory)?;
        let (manifest, text) = match manifest::read(directory)? {
            Some(bytes) => {
                let manifest = Manifest::parse(directory, &bytes)?;
                let text =
                    TextWriter::open(&text_directory, Some(&manifest.text_meta), config.text_memory_bytes)?;
                (manifest, text)
            }
            None => {
                let text = TextWriter::open(&text_directory, None, config.text_memory_bytes)?;
                let manifest = Manifest {
                    generation: 0,
                    hash_key: format!("{:032x}", rand::random::<u128>()),
                    next_segment: 1,
                    segments: Vec::new(),
                    text_meta: text.take_state().0,
                };
                manifest.store(directory)?;
                (manifest, text)
            }
        };
        remove_orphans(&segments_directory, &manifest)?;
        let hasher = Arc::new(TermHasher::new(manifest.key(directory)?));
        let segments = open_segments(directory, &manifest, None)?;
        let searcher = text.searcher()?;
        let view = View::new(manifest.generation, Arc::clone(&hasher), &segments, searcher, None);
        let words = ThreadPoolBuilder::new()
            .num_threads(1)
            .thread_name(|_| "index-words".to_owned())
            .build()
            .map_err(|error| {
                IndexError::io("start the thread for the words of", directory)(io::Error::other(error))
            })?;
        let shared = Arc::new(Shared {
            directory: directory.to_owned(),
            config,
            hasher,
            current: RwLock::new(Arc::new(view)),
            commits: Mutex::new(()),
            writer: Mutex::new(Writer { manifest, text: Some(text) }),
            merging: Mutex::new(()),
            merge_state: Mutex::new(MergeState { pending: true, running: false }),
            merge_changed: Condvar::new(),
            hurried: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            words,
        });
        let merger = if config.merge_in_background {
            let shared = Arc::clone(&shared);
            let thread = std::thread::Builder::new()
                .name("index-merge".to_owned())
                .spawn(move || shared.merge_until_stopped())
                .map_err(IndexError::io("start the merge thread of", directory))?;
            Some(thread)
        } else {
            shared.merge_state.lock().pending = false;
            None
        };
        Ok(Self { shared, merger: Mutex::new(merger), _lock: lock })
    }

    /// Writes a batch. When this returns, the batch is durable, and every snapshot taken from now on, here or by an
    /// [`IndexReader`](crate::IndexReader) of another process, sees all of it. On an error none of it is there.
    pub fn commit(&self, batch: &Batch) -> Result<CommitReceipt, IndexError> {
        let _order = self.shared.commits.lock();
        self.commit_in_turn(batch)
    }

    /// Commits the batch that `prepare` makes of the newest state, with no other commit in between. Commits of other
    /// threads wait.
    pub(crate) fn commit_prepared<T>(
        &self,
        prepare: impl FnOnce(Snapshot) -> Result<(Batch, T), IndexError>,
    ) -> Result<(CommitReceipt, T), IndexError> {
        let _order = self.shared.commits.lock();
        let (batch, prepared) = prepare(self.snapshot())?;
        Ok((self.commit_in_turn(&batch)?, prepared))
    }

    fn commit_in_turn(&self, batch: &Batch) -> Result<CommitReceipt, IndexError> {
        self.shared.wait_while_crowded();
        let receipt = self.shared.commit(batch)?;
        self.shared.wake_merger();
        Ok(receipt)
    }

    /// The newest state.
    pub fn snapshot(&self) -> Snapshot {
        Snapshot { view: Arc::clone(&self.shared.current.read()) }
    }

    /// Waits until the background thread has nothing left to merge.
    pub fn wait_for_merges(&self) {
        let _hurry = Hurry::new(&self.shared);
        let mut state = self.shared.merge_state.lock();
        while state.pending || state.running {
            self.shared.merge_changed.wait(&mut state);
        }
    }

    /// Merges everything into one segment, dropping what was replaced and deleted.
    pub fn compact(&self) -> Result<(), IndexError> {
        let _hurry = Hurry::new(&self.shared);
        let _merging = self.shared.merging.lock();
        let view = Arc::clone(&self.shared.current.read());
        let dirty = view.segments.iter().any(|segment| segment.dead.is_some());
        if view.segments.len() > 1 || dirty {
            self.shared.merge_run(&view, 0..view.segments.len())?;
        }
        Ok(())
    }

    /// Stops merging, lets the text index finish, and closes. Dropping the index is as safe, and leaves more to the
    /// next opening.
    pub fn close(self) -> Result<(), IndexError> {
        self.stop_merging();
        let mut writer = self.shared.writer.lock();
        let Some(text) = writer.text.take() else {
            return Err(IndexError::Stopped);
        };
        let (meta, files, retired) = text.close()?;
        if meta != writer.manifest.text_meta {
            writer.manifest.text_meta = meta;
            writer.manifest.generation += 1;
            writer.manifest.store(&self.shared.directory)?;
        }
        files.remove(&retired);
        Ok(())
    }

    fn stop_merging(&self) {
        self.shared.stop.store(true, Ordering::Relaxed);
        // The lock makes sure that the merger is either waiting or has yet to look at `stop`.
        drop(self.shared.merge_state.lock());
        self.shared.merge_changed.notify_all();
        if let Some(thread) = self.merger.lock().take()
            && thread.join().is_err()
        {
            tracing::error!("the merge thread panicked");
        }
    }
}

/// While this lives, merges do not rest.
struct Hurry<'a>(&'a Shared);

impl<'a> Hurry<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.hurried.fetch_add(1, Ordering::Relaxed);
        Self(shared)
    }
}

impl Drop for Hurry<'_> {
    fn drop(&mut self) {
        self.0.hurried.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Drop for Index {
    fn drop(&mut self) {
        self.stop_merging();
    }
}

fn lock(directory: &Path) -> Result<File, IndexError> {
    let path = directory.join("LOCK");
    let file = File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(IndexError::io("open", &path))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(IndexError::Locked { path: directory.to_owned() }),
        Err(TryLockError::Error(error)) => Err(IndexError::io("lock", &path)(error)),
    }
}

/// Removes segment files that the manifest does not name: half-written ones, and merged ones not yet deleted.
fn remove_orphans(segments_directory: &Path, manifest: &Manifest) -> Result<(), IndexError> {
    let entries = fs::read_dir(segments_directory).map_err(IndexError::io("list", segments_directory))?;
    for entry in entries {
        let path = entry.map_err(IndexError::io("list", segments_directory))?.path();
        let number =
            path.file_stem().and_then(|stem| stem.to_str()).and_then(|stem| stem.parse::<u64>().ok());
        let Some(number) = number.filter(|_| path.extension().is_some_and(|extension| extension == "seg"))
        else {
            continue;
        };
        if !manifest.segments.iter().any(|record| record.number == number) {
            tracing::info!(path = %path.display(), "segment file that no manifest names is removed");
            fs::remove_file(&path).map_err(IndexError::io("remove", &path))?;
        }
    }
    Ok(())
}

/// All writes of a batch to one graph, as one.
struct Collapsed<'a> {
    graph: &'a GraphName,
    replaces: bool,
    triples: Vec<&'a [Triple]>,
    text: Option<&'a PageText>,
}

impl<'a> Collapsed<'a> {
    fn triples(&self) -> impl Iterator<Item = TripleRef<'a>> {
        self.triples.iter().flat_map(|triples| triples.iter()).map(Triple::as_ref)
    }
}

fn collapse(batch: &Batch) -> Vec<Collapsed<'_>> {
    let mut graphs: Vec<Collapsed<'_>> = Vec::with_capacity(batch.writes.len());
    let mut places: HashMap<&GraphName, usize, RandomState> = HashMap::default();
    places.reserve(batch.writes.len());
    for write in &batch.writes {
        let place = *places.entry(&write.graph).or_insert_with(|| {
            graphs.push(Collapsed { graph: &write.graph, replaces: false, triples: Vec::new(), text: None });
            graphs.len() - 1
        });
        let graph = &mut graphs[place];
        if write.mode == WriteMode::Replace {
            graph.replaces = true;
            graph.triples.clear();
            graph.text = None;
        }
        if !write.triples.is_empty() {
            graph.triples.push(&write.triples);
        }
        graph.text = write.text.as_ref().or(graph.text);
    }
    graphs.retain(|graph| graph.replaces || !graph.triples.is_empty() || graph.text.is_some());
    graphs
}

impl Shared {
    pub(crate) fn wake_merger(&self) {
        if self.config.merge_in_background {
            self.merge_state.lock().pending = true;
            self.merge_changed.notify_all();
        }
    }

    /// True when the text index may have documents of the graph.
    fn has_text(view: &View, graph: TermId) -> bool {
        view.segments.iter().any(|part| part.segment.find_graph(graph).is_some_and(|entry| entry.has_text))
    }

    fn wait_while_crowded(&self) {
        if !self.config.merge_in_background {
            return;
        }
        let mut state = self.merge_state.lock();
        while (state.pending || state.running)
            && self.current.read().segments.len() >= self.config.segments_max
        {
            self.merge_changed.wait(&mut state);
        }
    }

    fn commit(&self, batch: &Batch) -> Result<CommitReceipt, IndexError> {
        let graphs = collapse(batch);
        let mut writer = self.writer.lock();
        let writer = &mut *writer;
        let Some(text) = &mut writer.text else {
            return Err(IndexError::Stopped);
        };
        if graphs.is_empty() {
            return Ok(CommitReceipt { generation: writer.manifest.generation, quads: 0, graphs: 0 });
        }
        // Numbers of failed attempts are not used again, so a file that could not be removed is in nobody's way.
        let number = writer.manifest.next_segment;
        writer.manifest.next_segment += 1;
        let path = segment_path(&self.directory, number);
        let before = Arc::clone(&self.current.read());
        let written = self.write(&graphs, text, &before, number);
        let (quads, segment) = match written {
            Ok(written) => written,
            Err(error) => {
                if let Err(failure) = text.rollback() {
                    tracing::error!(%failure, "the text index could not be rolled back");
                    writer.text = None;
                }
                let _ = fs::remove_file(&path);
                return Err(error);
            }
        };
        let mut segments: Vec<Arc<Segment>> =
            before.segments.iter().map(|view| Arc::clone(&view.segment)).collect();
        segments.extend(segment);
        let swung = text.commit().and_then(|()| self.swing(writer, &segments));
        match swung {
            Ok(generation) => Ok(CommitReceipt { generation, quads, graphs: graphs.len() as u64 }),
            Err(error) => {
                // Whether the new manifest is in place, or the text is ahead of it, cannot be told from here.
                writer.text = None;
                Err(error)
            }
        }
    }

    /// Writes the segment of a batch, and on a thread of their own its words. Says how many quads there are.
    fn write(
        &self,
        graphs: &[Collapsed<'_>],
        text: &mut TextWriter,
        before: &View,
        number: u64,
    ) -> Result<(u64, Option<Arc<Segment>>), IndexError> {
        let indexes_text = self.config.index_text;
        let words = || {
            for graph in graphs {
                let name = graph.graph.as_ref();
                let id = self.hasher.graph(name);
                let replaces = graph.replaces && !id.is_metadata() && Self::has_text(before, id);
                text.write(&self.hasher, (name, id), replaces, graph.triples(), graph.text)?;
            }
            text.hand_over()
        };
        let quads = || {
            let mut builder = SegmentBuilder::new(&self.hasher);
            for graph in graphs {
                let name = graph.graph.as_ref();
                let has_text = indexes_text && may_have_documents(name, graph.triples(), graph.text);
                builder.begin_graph(name, graph.replaces, has_text);
                for triple in graph.triples() {
                    builder.triple(triple, name);
                }
            }
            if builder.is_empty() {
                return Ok((0, None));
            }
            let compress = builder.rows() as u64 > self.config.small_segment_quads;
            let quads = builder.write(&segment_path(&self.directory, number), compress)?;
            Ok((quads, Some(Arc::new(Segment::open(&self.directory, number)?))))
        };
        if indexes_text { self.beside(words, quads) } else { quads() }
    }

    /// Writes words on their own thread while this one writes quads.
    pub(crate) fn beside<T>(
        &self,
        words: impl FnOnce() -> Result<(), IndexError> + Send,
        quads: impl FnOnce() -> Result<T, IndexError>,
    ) -> Result<T, IndexError> {
        let mut written = Ok(());
        let done = self.words.in_place_scope(|scope| {
            scope.spawn(|_| written = words());
            quads()
        });
        written.and(done)
    }

    /// Makes these segments, and the text as committed last, what the index consists of.
    pub(crate) fn swing(&self, writer: &mut Writer, segments: &[Arc<Segment>]) -> Result<u64, IndexError> {
        let Some(text) = &mut writer.text else {
            return Err(IndexError::Stopped);
        };
        // State before searcher: a text merge that ends in between gives a searcher over the same documents.
        let (text_meta, retired) = text.take_state();
        let searcher = text.searcher()?;
        manifest::sync_directory(&self.directory.join("segments"))?;
        let manifest = Manifest {
            generation: writer.manifest.generation + 1,
            segments: segments
                .iter()
                .map(|segment| SegmentRecord { number: segment.number(), quads: segment.quad_count() })
                .collect(),
            text_meta,
            ..writer.manifest.clone()
        };
        manifest.store(&self.directory)?;
        writer.manifest = manifest;
        let generation = writer.manifest.generation;
        let before = Arc::clone(&self.current.read());
        let view = View::new(generation, Arc::clone(&self.hasher), segments, searcher, Some(&before));
        *self.current.write() = Arc::new(view);
        text.remove(&retired);
        Ok(generation)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_later_replace_undoes_what_came_before_it() {
        let graph = GraphName::DefaultGraph;
        let triple = |number: u32| {
            Triple::new(
                oxrdf::NamedNode::new_unchecked("http://example.org/s"),
                oxrdf::NamedNode::new_unchecked("http://example.org/p"),
                oxrdf::Literal::from(number),
            )
        };
        let batch = Batch::from(vec![
            GraphWrite::add(graph.clone(), vec![triple(1)]),
            GraphWrite::replace(graph.clone(), vec![triple(2)]),
            GraphWrite::add(graph.clone(), vec![triple(3)]),
        ]);
        let collapsed = collapse(&batch);
        assert_eq!(collapsed.len(), 1);
        assert!(collapsed[0].replaces);
        assert_eq!(collapsed[0].triples.concat(), [triple(2), triple(3)]);
    }

    #[test]
    fn a_batch_of_nothing_is_empty() {
        assert!(Batch::new().is_empty());
        assert!(Batch::from(vec![GraphWrite::add(GraphName::DefaultGraph, Vec::new())]).is_empty());
        assert!(!Batch::from(vec![GraphWrite::delete(GraphName::DefaultGraph)]).is_empty());
    }
}
