//! Scans: from a pattern of term ids to the quads that match, sorted and distinct.
//!
//! In: up to four bound ids and a [`GraphFilter`]. Out: [`QuadIds`], read from one order per segment by
//! one prefix scan each and merged. Segments number terms by the rank of their ids, so the merge compares
//! ids and equal quads meet. Start at [`Scan::new`].

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::ops::Range;
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::overlay::Overlay;
use crate::segment::Segment;
use crate::segment::pack::Row;
use crate::segment::read::Position;
use crate::term::TermId;
use crate::view::{DeadGraphs, SegmentView, View};

/// A quad as ids.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QuadIds {
    /// Subject.
    pub subject: TermId,
    /// Predicate.
    pub predicate: TermId,
    /// Object.
    pub object: TermId,
    /// Graph; [`TermId::DEFAULT_GRAPH`] for the default graph.
    pub graph: TermId,
}

/// Which graphs a scan sees when its pattern names none, and whether copies of a triple in several count once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum GraphFilter {
    /// Every graph, the default graph and metadata included.
    All,
    /// Every graph that has a name.
    Named,
    /// The union of all graphs but metadata: each triple once, with the first graph it is in.
    UnionWithoutMetadata,
}

/// Subject, predicate, object and graph, each bound or not.
pub(crate) type IdPattern = [Option<TermId>; 4];

/// The matching quads of a view, in the key order of the scan.
pub(crate) struct Scan {
    sources: Vec<Source>,
    /// Heads of the sources, when there are several.
    heap: BinaryHeap<Reverse<(Key, usize)>>,
    started: bool,
    last: Option<Key>,
    /// How much of the key must differ from the last for a quad to be new.
    distinct_columns: usize,
    /// Place of each part of the quad in the key.
    places: [usize; 4],
    deadline: Option<Deadline>,
    failed: bool,
}

/// Rows read between two looks at the clock.
const STEPS_BETWEEN_CHECKS: u32 = 4096;

/// Ids in the order they are compared in.
type Key = [TermId; 4];

#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline {
    pub(crate) at: Instant,
    pub(crate) limit: Duration,
}

impl Deadline {
    pub(crate) fn check(&self) -> Result<(), IndexError> {
        if Instant::now() >= self.at { Err(IndexError::TimeLimit { limit: self.limit }) } else { Ok(()) }
    }
}

impl Scan {
    /// All quads that match, in the order whose prefix the pattern is.
    pub(crate) fn new(view: &View, pattern: IdPattern, filter: GraphFilter) -> Result<Self, IndexError> {
        let bound = pattern.map(|id| id.is_some());
        let order = Order::for_bound(bound[SUBJECT], bound[PREDICATE], bound[OBJECT], bound[GRAPH]);
        Self::in_order(view, order, pattern, filter)
    }

    /// All quads that match, in a given order. What is bound must be a prefix of it.
    pub(crate) fn in_order(
        view: &View,
        order: Order,
        pattern: IdPattern,
        filter: GraphFilter,
    ) -> Result<Self, IndexError> {
        let mut sources = Vec::with_capacity(view.segments.len());
        for segment in &view.segments {
            sources.extend(Source::new(segment, order, pattern, filter, view.overlay.as_ref())?);
        }
        sources
            .extend(view.overlay.as_ref().and_then(|overlay| Source::added(overlay, order, pattern, filter)));
        let distinct_columns = if filter == GraphFilter::UnionWithoutMetadata { 3 } else { 4 };
        Ok(Self::over(sources, order.columns(), distinct_columns))
    }

    /// The union of some graphs: each triple once. What is bound of the pattern must not be the graph.
    pub(crate) fn union_of(view: &View, pattern: IdPattern, graphs: &[TermId]) -> Result<Self, IndexError> {
        let bound = pattern.map(|id| id.is_some());
        let order = Order::for_bound(bound[SUBJECT], bound[PREDICATE], bound[OBJECT], true);
        let mut sources = Vec::new();
        for &graph in graphs {
            let mut pattern = pattern;
            pattern[GRAPH] = Some(graph);
            for segment in &view.segments {
                sources.extend(Source::new(
                    segment,
                    order,
                    pattern,
                    GraphFilter::All,
                    view.overlay.as_ref(),
                )?);
            }
            let added = view.overlay.as_ref();
            sources
                .extend(added.and_then(|overlay| Source::added(overlay, order, pattern, GraphFilter::All)));
        }
        // Inside each graph rows are sorted by the other columns, so with the graph moved to the end the
        // sources can be merged, and copies of a triple meet.
        for source in &mut sources {
            source.rotate();
        }
        let [graph, first, second, third] = order.columns();
        Ok(Self::over(sources, [first, second, third, graph], 3))
    }

    fn over(mut sources: Vec<Source>, key_columns: [usize; 4], distinct_columns: usize) -> Self {
        let mut places = [0; 4];
        for (place, part) in key_columns.into_iter().enumerate() {
            places[part] = place;
        }
        if let Some(rows) = alone(&mut sources) {
            // Rows of one graph, which a rotated source has, are distinct without it.
            if rows.gives == [0, 1, 2, 3] {
                rows.distinct_columns = distinct_columns;
            }
            // Its keys are compared with no others, so they can be in the order of a quad.
            rows.gives = places.map(|place| rows.gives[place]);
        }
        Self {
            sources,
            heap: BinaryHeap::new(),
            started: false,
            last: None,
            distinct_columns,
            places,
            deadline: None,
            failed: false,
        }
    }

    /// Makes the scan end with an error when the time is over.
    pub(crate) fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        self.deadline = deadline;
        self
    }

    fn advance(&mut self, source: usize) -> Result<Option<Key>, IndexError> {
        let deadline = self.deadline;
        self.sources[source].next_key(|| deadline.as_ref().map_or(Ok(()), Deadline::check))
    }

    fn next_key(&mut self) -> Result<Option<Key>, IndexError> {
        if self.sources.len() == 1 {
            return self.advance(0);
        }
        if !self.started {
            self.started = true;
            for source in 0..self.sources.len() {
                if let Some(key) = self.advance(source)? {
                    self.heap.push(Reverse((key, source)));
                }
            }
        }
        let Some(&Reverse((key, source))) = self.heap.peek() else {
            return Ok(None);
        };
        match self.advance(source)? {
            Some(next) => {
                // Cheaper than taking the head out and putting the next in.
                if let Some(mut head) = self.heap.peek_mut() {
                    *head = Reverse((next, source));
                }
            }
            None => {
                self.heap.pop();
            }
        }
        Ok(Some(key))
    }

    /// How many quads there are. In one segment they are counted by their numbers, and no id is read.
    pub(crate) fn count_rows(
        mut self,
        check: &dyn Fn() -> Result<(), IndexError>,
    ) -> Result<u64, IndexError> {
        let mut count = 0;
        if let Some(rows) = alone(&mut self.sources) {
            while rows.next_local(check)?.is_some() {
                count += 1;
            }
            return Ok(count);
        }
        let mut steps: u32 = 0;
        while self.next_distinct()?.is_some() {
            count += 1;
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS_BETWEEN_CHECKS) {
                check()?;
            }
        }
        Ok(count)
    }

    /// How many quads there are for each value at a place of the quad; the scan must be sorted by it behind what is bound.
    pub(crate) fn count_by(
        mut self,
        part: usize,
        check: &dyn Fn() -> Result<(), IndexError>,
    ) -> Result<Vec<(TermId, u64)>, IndexError> {
        let mut counts: Vec<(TermId, u64)> = Vec::new();
        if let Some(rows) = alone(&mut self.sources) {
            let column = rows.gives[part];
            let mut last = None;
            while let Some(row) = rows.next_local(check)? {
                if last == Some(row[column])
                    && let Some((_, count)) = counts.last_mut()
                {
                    *count += 1;
                    continue;
                }
                last = Some(row[column]);
                counts.push((rows.segment.existing_term_id(row[column])?, 1));
            }
            return Ok(counts);
        }
        let mut steps: u32 = 0;
        while let Some(quad) = self.next_distinct()? {
            let id = [quad.subject, quad.predicate, quad.object, quad.graph][part];
            match counts.last_mut() {
                Some((known, count)) if *known == id => *count += 1,
                _ => counts.push((id, 1)),
            }
            steps = steps.wrapping_add(1);
            if steps.is_multiple_of(STEPS_BETWEEN_CHECKS) {
                check()?;
            }
        }
        Ok(counts)
    }

    fn next_distinct(&mut self) -> Result<Option<QuadIds>, IndexError> {
        let deadline = self.deadline;
        if let Some(rows) = alone(&mut self.sources) {
            let key = rows.next_key(|| deadline.as_ref().map_or(Ok(()), Deadline::check))?;
            return Ok(key.map(quad));
        }
        while let Some(key) = self.next_key()? {
            let columns = self.distinct_columns;
            if self.last.is_some_and(|last| last[..columns] == key[..columns]) {
                continue;
            }
            self.last = Some(key);
            return Ok(Some(quad(self.places.map(|place| key[place]))));
        }
        Ok(None)
    }
}

/// The rows of the one segment there is to read, when nothing has to be merged into them.
#[inline]
fn alone(sources: &mut [Source]) -> Option<&mut SegmentRows> {
    match sources {
        [Source { rows: Rows::Segment(rows), .. }] if rows.overlay.is_none() => Some(rows),
        _ => None,
    }
}

#[inline]
fn quad([subject, predicate, object, graph]: [TermId; 4]) -> QuadIds {
    QuadIds { subject, predicate, object, graph }
}

impl Iterator for Scan {
    type Item = Result<QuadIds, IndexError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if let Some(key) = alone(&mut self.sources).and_then(SegmentRows::ready_key) {
            return Some(Ok(quad(key)));
        }
        if self.failed {
            return None;
        }
        let next = self.next_distinct();
        self.failed = next.is_err();
        next.transpose()
    }
}

/// The matching rows of one segment, or of the changes on top of all.
struct Source {
    rows: Rows,
}

enum Rows {
    Segment(Box<SegmentRows>),
    Added(AddedRows),
}

struct SegmentRows {
    segment: Arc<Segment>,
    dead: Option<Arc<DeadGraphs>>,
    overlay: Option<Arc<Overlay>>,
    position: Position,
    prefix: Row,
    prefix_length: usize,
    order: Order,
    /// Local numbers of graphs that the scan does not see.
    hidden: Range<u32>,
    /// The one among the hidden graphs that is seen nevertheless.
    shown: Option<u32>,
    /// How many of the first columns must differ from those of the last row for a row to be new.
    distinct_columns: usize,
    last: Option<Row>,
    /// Rows of the unpacked block before this one are known to begin with the prefix.
    matching_until: usize,
    /// The columns of a key, in the order they are given in.
    gives: [usize; 4],
    /// Keys that were read ahead, and how many of them were given.
    ready: Vec<Key>,
    given: usize,
    /// Rows since somebody looked at the clock.
    rows_since_check: u32,
}

struct AddedRows {
    overlay: Arc<Overlay>,
    order: Order,
    range: Range<usize>,
    filter: GraphFilter,
    /// Put the first column of the key last.
    rotated: bool,
}

impl Source {
    /// Nothing when the segment cannot hold a match.
    fn new(
        view: &SegmentView,
        order: Order,
        pattern: IdPattern,
        filter: GraphFilter,
        overlay: Option<&Arc<Overlay>>,
    ) -> Result<Option<Self>, IndexError> {
        let SegmentView { segment, dead, shown } = view;
        let mut prefix = [0; 4];
        let mut prefix_length = 0;
        let columns = order.permute(pattern);
        for id in columns.iter().map_while(|id| *id) {
            let Some(local) = segment.find(id) else {
                return Ok(None);
            };
            prefix[prefix_length] = local;
            prefix_length += 1;
        }
        debug_assert!(columns[prefix_length..].iter().all(Option::is_none), "what is bound is a prefix");
        if pattern[GRAPH].is_some()
            && let Some(dead) = dead
            && dead.contains(prefix[order.graph_column()])
        {
            return Ok(None);
        }
        let hidden = match filter {
            GraphFilter::All => 0..0,
            // The default graph has the smallest id there is.
            GraphFilter::Named if segment.find(TermId::DEFAULT_GRAPH).is_some() => 0..1,
            GraphFilter::Named => 0..0,
            GraphFilter::UnionWithoutMetadata => segment.metadata_range(),
        };
        let position = segment.seek(order, &prefix[..prefix_length])?;
        let rows = SegmentRows {
            segment: Arc::clone(segment),
            dead: dead.clone(),
            overlay: overlay.cloned(),
            position,
            prefix,
            prefix_length,
            order,
            hidden,
            shown: *shown,
            distinct_columns: 4,
            last: None,
            matching_until: 0,
            gives: [0, 1, 2, 3],
            ready: Vec::new(),
            given: 0,
            rows_since_check: 0,
        };
        Ok(Some(Self { rows: Rows::Segment(Box::new(rows)) }))
    }

    /// Nothing when no added quad matches.
    fn added(overlay: &Arc<Overlay>, order: Order, pattern: IdPattern, filter: GraphFilter) -> Option<Self> {
        let prefix: Vec<TermId> = order.permute(pattern).into_iter().map_while(|id| id).collect();
        let keys = overlay.added(order);
        let start = keys.partition_point(|key| key[..prefix.len()] < *prefix);
        let end = start + keys[start..].partition_point(|key| key[..prefix.len()] == *prefix);
        let rows =
            AddedRows { overlay: Arc::clone(overlay), order, range: start..end, filter, rotated: false };
        (start < end).then_some(Self { rows: Rows::Added(rows) })
    }

    /// Puts the first column of the key last.
    fn rotate(&mut self) {
        match &mut self.rows {
            Rows::Segment(rows) => rows.gives.rotate_left(1),
            Rows::Added(rows) => rows.rotated = true,
        }
    }

    #[inline]
    fn next_key(&mut self, check: impl Fn() -> Result<(), IndexError>) -> Result<Option<Key>, IndexError> {
        match &mut self.rows {
            Rows::Segment(rows) => rows.next_key(check),
            Rows::Added(rows) => Ok(rows.next_key()),
        }
    }
}

impl AddedRows {
    fn next_key(&mut self) -> Option<Key> {
        let (filter, keys, graph_column) =
            (self.filter, self.overlay.added(self.order), self.order.graph_column());
        let mut key = *self.range.by_ref().filter_map(|at| keys.get(at)).find(|key| match filter {
            GraphFilter::All => true,
            GraphFilter::Named => key[graph_column] != TermId::DEFAULT_GRAPH,
            GraphFilter::UnionWithoutMetadata => !key[graph_column].is_metadata(),
        })?;
        if self.rotated {
            key.rotate_left(1);
        }
        Some(key)
    }
}

impl SegmentRows {
    /// The next row that is seen and new.
    #[inline]
    fn next_local(&mut self, check: impl Fn() -> Result<(), IndexError>) -> Result<Option<Row>, IndexError> {
        loop {
            self.rows_since_check += 1;
            if self.rows_since_check >= STEPS_BETWEEN_CHECKS {
                self.rows_since_check = 0;
                check()?;
            }
            let row = match self.position.next_unpacked(self.matching_until) {
                Some(row) => row,
                None => match self.next_of_another_block()? {
                    Some(row) => row,
                    None => return Ok(None),
                },
            };
            if self.is_wanted(row) {
                return Ok(Some(row));
            }
        }
    }

    /// The next row when it is not one of those known to match.
    fn next_of_another_block(&mut self) -> Result<Option<Row>, IndexError> {
        self.matching_until = 0;
        let prefix = &self.prefix[..self.prefix_length];
        let Some(row) = self.segment.next_row(self.order, &mut self.position)? else {
            return Ok(None);
        };
        if row[..self.prefix_length] != *prefix {
            return Ok(None);
        }
        self.matching_until = self.position.rows_with_prefix_until(prefix);
        Ok(Some(row))
    }

    /// True for a row of a graph that is seen, if it is new.
    #[inline]
    fn is_wanted(&mut self, row: Row) -> bool {
        if self.dead.is_some() || !self.hidden.is_empty() {
            let graph = row[self.order.graph_column()];
            let is_hidden = self.hidden.contains(&graph) && self.shown != Some(graph);
            if is_hidden || self.dead.as_ref().is_some_and(|dead| dead.contains(graph)) {
                return false;
            }
        }
        // No row is in a segment twice, so only copies of a part of it have to be left out.
        if self.distinct_columns == 4 {
            return true;
        }
        let columns = self.distinct_columns;
        let is_new = self.last.is_none_or(|last| last[..columns] != row[..columns]);
        if is_new {
            self.last = Some(row);
        }
        is_new
    }

    /// A key that was read ahead, if there is one.
    #[inline]
    fn ready_key(&mut self) -> Option<Key> {
        let key = *self.ready.get(self.given)?;
        self.given += 1;
        Some(key)
    }

    /// The next row that is seen and new, and that the changes on top do not take away, as ids.
    fn next_key(&mut self, check: impl Fn() -> Result<(), IndexError>) -> Result<Option<Key>, IndexError> {
        loop {
            let key = match self.ready_key() {
                Some(key) => key,
                None => {
                    self.read_ahead(&check)?;
                    match self.ready_key() {
                        Some(key) => key,
                        None => return Ok(None),
                    }
                }
            };
            let Some(overlay) = &self.overlay else {
                return Ok(Some(key));
            };
            let mut quad = key;
            for (place, column) in self.gives.into_iter().enumerate() {
                quad[self.order.columns()[column]] = key[place];
            }
            if !overlay.hides(&quad) {
                return Ok(Some(key));
            }
        }
    }

    /// Reads the next keys: of one row, or of the rest of a block that is unpacked. Their ids are read all together, so that the
    /// memory does not have to answer for one before it is asked for the next. At the end there are none.
    fn read_ahead(&mut self, check: impl Fn() -> Result<(), IndexError>) -> Result<(), IndexError> {
        self.ready.clear();
        self.given = 0;
        let Some(first) = self.next_local(check)? else {
            return Ok(());
        };
        let segment = Arc::clone(&self.segment);
        let mut ids = segment.ids();
        self.ready.push(ids.key(first, self.gives));
        while let Some(row) = self.position.next_unpacked(self.matching_until) {
            if self.is_wanted(row) {
                self.ready.push(ids.key(row, self.gives));
            }
        }
        self.rows_since_check += self.ready.len() as u32;
        // Nobody must get the keys of a damaged block after the error.
        ids.check().inspect_err(|_| self.ready.clear())
    }
}
