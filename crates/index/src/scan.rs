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
use crate::segment::format::NO_LOCAL;
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
    steps: u32,
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
            source.rotated = true;
        }
        let [graph, first, second, third] = order.columns();
        Ok(Self::over(sources, [first, second, third, graph], 3))
    }

    fn over(sources: Vec<Source>, key_columns: [usize; 4], distinct_columns: usize) -> Self {
        let mut places = [0; 4];
        for (place, part) in key_columns.into_iter().enumerate() {
            places[part] = place;
        }
        Self {
            sources,
            heap: BinaryHeap::new(),
            started: false,
            last: None,
            distinct_columns,
            places,
            deadline: None,
            steps: 0,
            failed: false,
        }
    }

    /// Makes the scan end with an error when the time is over.
    pub(crate) fn with_deadline(mut self, deadline: Option<Deadline>) -> Self {
        self.deadline = deadline;
        self
    }

    fn advance(&mut self, source: usize) -> Result<Option<Key>, IndexError> {
        loop {
            // What is done with rows looks at the clock by itself; this is for rows that are skipped.
            self.steps = self.steps.wrapping_add(1);
            if self.steps.is_multiple_of(STEPS_BETWEEN_CHECKS)
                && let Some(deadline) = &self.deadline
            {
                deadline.check()?;
            }
            match self.sources[source].step()? {
                Step::Row(key) => return Ok(Some(key)),
                Step::Skipped => {}
                Step::End => return Ok(None),
            }
        }
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

    /// The rows of the one segment there is to read, when nothing has to be merged into them.
    #[inline]
    fn alone(&mut self) -> Option<&mut SegmentRows> {
        match self.sources.as_mut_slice() {
            [Source { rows: Rows::Segment(rows), rotated: false, .. }] if rows.overlay.is_none() => {
                Some(rows)
            }
            _ => None,
        }
    }

    /// How many quads there are. In one segment they are counted by their numbers, and no id is read.
    pub(crate) fn count_rows(
        mut self,
        check: &dyn Fn() -> Result<(), IndexError>,
    ) -> Result<u64, IndexError> {
        let mut count = 0;
        let columns = self.distinct_columns;
        if let Some(rows) = self.alone() {
            while rows.next_local(columns, check)?.is_some() {
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
        let (columns, column) = (self.distinct_columns, self.places[part]);
        if let Some(rows) = self.alone() {
            let mut last = None;
            while let Some(row) = rows.next_local(columns, check)? {
                if last == Some(row[column])
                    && let Some((_, count)) = counts.last_mut()
                {
                    *count += 1;
                    continue;
                }
                last = Some(row[column]);
                let id = rows.segment.term_id(row[column]);
                let id = id.ok_or_else(|| rows.segment.damaged("a row names a term that does not exist"))?;
                counts.push((id, 1));
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
        let (columns, places, deadline) = (self.distinct_columns, self.places, self.deadline);
        if let Some(rows) = self.alone() {
            let check = || deadline.as_ref().map_or(Ok(()), Deadline::check);
            return rows.next_quad(columns, &places, check);
        }
        while let Some(key) = self.next_key()? {
            let columns = self.distinct_columns;
            if self.last.is_some_and(|last| last[..columns] == key[..columns]) {
                continue;
            }
            self.last = Some(key);
            return Ok(Some(QuadIds {
                subject: key[self.places[SUBJECT]],
                predicate: key[self.places[PREDICATE]],
                object: key[self.places[OBJECT]],
                graph: key[self.places[GRAPH]],
            }));
        }
        Ok(None)
    }
}

impl Iterator for Scan {
    type Item = Result<QuadIds, IndexError>;

    fn next(&mut self) -> Option<Self::Item> {
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
    order: Order,
    /// Put the first column of the key last.
    rotated: bool,
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
    last: Option<(Row, Key)>,
    /// The last row that [`SegmentRows::next_local`] gave.
    last_local: Option<Row>,
    /// Rows since somebody looked at the clock.
    rows_since_check: u32,
}

struct AddedRows {
    overlay: Arc<Overlay>,
    range: Range<usize>,
    filter: GraphFilter,
}

enum Step {
    Row(Key),
    Skipped,
    End,
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
            last: None,
            last_local: None,
            rows_since_check: 0,
        };
        Ok(Some(Self { rows: Rows::Segment(Box::new(rows)), order, rotated: false }))
    }

    /// Nothing when no added quad matches.
    fn added(overlay: &Arc<Overlay>, order: Order, pattern: IdPattern, filter: GraphFilter) -> Option<Self> {
        let prefix: Vec<TermId> = order.permute(pattern).into_iter().map_while(|id| id).collect();
        let keys = overlay.added(order);
        let start = keys.partition_point(|key| key[..prefix.len()] < *prefix);
        let end = start + keys[start..].partition_point(|key| key[..prefix.len()] == *prefix);
        let rows = AddedRows { overlay: Arc::clone(overlay), range: start..end, filter };
        (start < end).then_some(Self { rows: Rows::Added(rows), order, rotated: false })
    }

    #[inline]
    fn step(&mut self) -> Result<Step, IndexError> {
        let step = match &mut self.rows {
            Rows::Segment(rows) => rows.step(self.order)?,
            Rows::Added(rows) => rows.step(self.order),
        };
        Ok(match step {
            Step::Row(mut key) if self.rotated => {
                key.rotate_left(1);
                Step::Row(key)
            }
            step => step,
        })
    }
}

impl AddedRows {
    fn step(&mut self, order: Order) -> Step {
        let Some(key) = self.range.next().and_then(|at| self.overlay.added(order).get(at)) else {
            return Step::End;
        };
        let graph = key[order.graph_column()];
        let hidden = match self.filter {
            GraphFilter::All => false,
            GraphFilter::Named => graph == TermId::DEFAULT_GRAPH,
            GraphFilter::UnionWithoutMetadata => graph.is_metadata(),
        };
        if hidden { Step::Skipped } else { Step::Row(*key) }
    }
}

impl SegmentRows {
    /// The next row that is seen and whose first columns differ from those of the one before.
    #[inline]
    fn next_local(
        &mut self,
        distinct_columns: usize,
        check: impl Fn() -> Result<(), IndexError>,
    ) -> Result<Option<Row>, IndexError> {
        let graph_column = self.order.graph_column();
        loop {
            self.rows_since_check += 1;
            if self.rows_since_check >= STEPS_BETWEEN_CHECKS {
                self.rows_since_check = 0;
                check()?;
            }
            let Some(row) = self.segment.next_row(self.order, &mut self.position)? else {
                return Ok(None);
            };
            if row[..self.prefix_length] != self.prefix[..self.prefix_length] {
                return Ok(None);
            }
            let graph = row[graph_column];
            let is_hidden = self.hidden.contains(&graph) && self.shown != Some(graph);
            if is_hidden || self.dead.as_ref().is_some_and(|dead| dead.contains(graph)) {
                continue;
            }
            if self.last_local.is_some_and(|last| last[..distinct_columns] == row[..distinct_columns]) {
                continue;
            }
            self.last_local = Some(row);
            return Ok(Some(row));
        }
    }

    /// The same as ids.
    #[inline]
    fn next_quad(
        &mut self,
        distinct_columns: usize,
        places: &[usize; 4],
        check: impl Fn() -> Result<(), IndexError>,
    ) -> Result<Option<QuadIds>, IndexError> {
        let Some(row) = self.next_local(distinct_columns, check)? else {
            return Ok(None);
        };
        let (last_row, key) = self.last.get_or_insert(([NO_LOCAL; 4], [TermId::DEFAULT_GRAPH; 4]));
        for column in 0..4 {
            // Neighbouring rows share most of their numbers, so most ids need not be read again.
            if last_row[column] != row[column] {
                key[column] = self
                    .segment
                    .term_id(row[column])
                    .ok_or_else(|| self.segment.damaged("a row names a term that does not exist"))?;
            }
        }
        *last_row = row;
        Ok(Some(QuadIds {
            subject: key[places[SUBJECT]],
            predicate: key[places[PREDICATE]],
            object: key[places[OBJECT]],
            graph: key[places[GRAPH]],
        }))
    }

    #[inline]
    fn step(&mut self, order: Order) -> Result<Step, IndexError> {
        let Some(row) = self.segment.next_row(order, &mut self.position)? else {
            return Ok(Step::End);
        };
        if row[..self.prefix_length] != self.prefix[..self.prefix_length] {
            return Ok(Step::End);
        }
        let graph = row[order.graph_column()];
        let is_hidden = self.hidden.contains(&graph) && self.shown != Some(graph);
        if is_hidden || self.dead.as_ref().is_some_and(|dead| dead.contains(graph)) {
            return Ok(Step::Skipped);
        }
        let mut key = [TermId::DEFAULT_GRAPH; 4];
        for column in 0..4 {
            // Neighbouring rows share most of their numbers, so most ids need not be read again.
            key[column] = match &self.last {
                Some((last_row, last_key)) if last_row[column] == row[column] => last_key[column],
                _ => self
                    .segment
                    .term_id(row[column])
                    .ok_or_else(|| self.segment.damaged("a row names a term that does not exist"))?,
            };
        }
        self.last = Some((row, key));
        if let Some(overlay) = &self.overlay {
            let mut quad = key;
            for (column, part) in order.columns().into_iter().enumerate() {
                quad[part] = key[column];
            }
            if overlay.hides(&quad) {
                return Ok(Step::Skipped);
            }
        }
        Ok(Step::Row(key))
    }
}
