//! A page's quads as a dataset that SPARQL can be asked of.
//!
//! Terms are numbered in the order the page mentions them; three sorted lists of triples answer every
//! pattern by binary search. All of the page's graphs are one, the default graph. Rows handed out are
//! counted, so that a query that multiplies the page with itself ends.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use oxrdf::{NamedNode, NamedOrBlankNode, Quad, Term};
use spareval::{InternalQuad, QueryableDataset};
use webloom_model::PageUrl;

/// Stands for the page's URL in parsed queries.
pub(crate) const PAGE_STAND_IN: &str = "urn:webloom:this-page";

/// The page, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct PageView(Rc<Inner>);

#[derive(Debug)]
struct Inner {
    terms: RefCell<Terms>,
    /// Triples sorted by subject, predicate, object; by predicate, object, subject; by object, subject, predicate.
    by_subject: Vec<[u32; 3]>,
    by_predicate: Vec<[u32; 3]>,
    by_object: Vec<[u32; 3]>,
    page: u32,
    rows: Cell<u64>,
    rows_max: u64,
}

/// Terms by number and number by term. Queries bring terms of their own, so it grows while they run.
#[derive(Debug, Default)]
struct Terms {
    terms: Vec<Term>,
    numbers: HashMap<Term, u32>,
}

impl Terms {
    fn number(&mut self, term: Term) -> u32 {
        if let Some(&number) = self.numbers.get(&term) {
            return number;
        }
        let number = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        self.terms.push(term.clone());
        self.numbers.insert(term, number);
        number
    }
}

/// A query that looked at too much.
#[derive(Debug, thiserror::Error)]
#[error("looked at more than {0} rows, which is the limit")]
pub(crate) struct TooManyRows(u64);

impl PageView {
    pub(crate) fn new(page: &PageUrl, quads: &[Quad], rows_max: u64) -> Self {
        let mut terms = Terms::default();
        let page = terms.number(page.graph_name().into());
        let mut by_subject: Vec<[u32; 3]> = quads
            .iter()
            .map(|quad| {
                let subject = match &quad.subject {
                    NamedOrBlankNode::NamedNode(node) => Term::from(node.clone()),
                    NamedOrBlankNode::BlankNode(node) => Term::from(node.clone()),
                };
                [
                    terms.number(subject),
                    terms.number(quad.predicate.clone().into()),
                    terms.number(quad.object.clone()),
                ]
            })
            .collect();
        by_subject.sort_unstable();
        by_subject.dedup();
        let rotated = |order: [usize; 3]| {
            let mut rows: Vec<[u32; 3]> =
                by_subject.iter().map(|row| order.map(|position| row[position])).collect();
            rows.sort_unstable();
            rows
        };
        let (by_predicate, by_object) = (rotated([1, 2, 0]), rotated([2, 0, 1]));
        Self(Rc::new(Inner {
            terms: RefCell::new(terms),
            by_subject,
            by_predicate,
            by_object,
            page,
            rows: Cell::new(0),
            rows_max,
        }))
    }

    /// The term of a number, by value: the view may be growing.
    pub(crate) fn term(&self, number: u32) -> Option<Term> {
        self.0.terms.borrow().terms.get(number as usize).cloned()
    }

    /// How many rows a query may see, and give.
    pub(crate) fn rows_max(&self) -> u64 {
        self.0.rows_max
    }

    /// The number of a term.
    pub(crate) fn number(&self, term: &Term) -> u32 {
        self.0.terms.borrow_mut().number(term.clone())
    }
}

/// Rows of one sorted list that begin with the given numbers, turned back into subject, predicate, object.
struct Rows {
    view: Rc<Inner>,
    list: List,
    next: usize,
    end: usize,
}

/// Which of the three, by what comes first in it.
#[derive(Clone, Copy)]
enum List {
    Subject,
    Predicate,
    Object,
}

impl Inner {
    fn list(&self, list: List) -> &[[u32; 3]] {
        match list {
            List::Subject => &self.by_subject,
            List::Predicate => &self.by_predicate,
            List::Object => &self.by_object,
        }
    }
}

impl Iterator for Rows {
    type Item = Result<InternalQuad<u32>, TooManyRows>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.next >= self.end {
            return None;
        }
        let rows = self.view.rows.get() + 1;
        self.view.rows.set(rows);
        if rows > self.view.rows_max {
            self.next = self.end;
            return Some(Err(TooManyRows(self.view.rows_max)));
        }
        let row = self.view.list(self.list)[self.next];
        self.next += 1;
        let [subject, predicate, object] = match self.list {
            List::Subject => row,
            List::Predicate => [row[2], row[0], row[1]],
            List::Object => [row[1], row[2], row[0]],
        };
        Some(Ok(InternalQuad { subject, predicate, object, graph_name: None }))
    }
}

impl QueryableDataset<'static> for PageView {
    type InternalTerm = u32;
    type Error = TooManyRows;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&u32>,
        predicate: Option<&u32>,
        object: Option<&u32>,
        graph_name: Option<Option<&u32>>,
    ) -> impl Iterator<Item = Result<InternalQuad<u32>, TooManyRows>> + use<> {
        // Each of the eight patterns is a prefix of one of the three orders.
        let (list, prefix) = match (subject, predicate, object) {
            (None, None, None) => (List::Subject, [None, None, None]),
            (Some(s), None, None) => (List::Subject, [Some(*s), None, None]),
            (Some(s), Some(p), None) => (List::Subject, [Some(*s), Some(*p), None]),
            (Some(s), Some(p), Some(o)) => (List::Subject, [Some(*s), Some(*p), Some(*o)]),
            (None, Some(p), None) => (List::Predicate, [Some(*p), None, None]),
            (None, Some(p), Some(o)) => (List::Predicate, [Some(*p), Some(*o), None]),
            (None, None, Some(o)) => (List::Object, [Some(*o), None, None]),
            (Some(s), None, Some(o)) => (List::Object, [Some(*o), Some(*s), None]),
        };
        let rows = self.0.list(list);
        let low = prefix.map(|number| number.unwrap_or(u32::MIN));
        let high = prefix.map(|number| number.unwrap_or(u32::MAX));
        // There are no named graphs here.
        let (next, end) = if graph_name == Some(None) {
            (rows.partition_point(|row| *row < low), rows.partition_point(|row| *row <= high))
        } else {
            (0, 0)
        };
        Rows { view: Rc::clone(&self.0), list, next, end }
    }

    fn internalize_term(&self, term: Term) -> Result<u32, TooManyRows> {
        if matches!(&term, Term::NamedNode(node) if node.as_str() == PAGE_STAND_IN) {
            return Ok(self.0.page);
        }
        Ok(self.0.terms.borrow_mut().number(term))
    }

    fn externalize_term(&self, number: u32) -> Result<Term, TooManyRows> {
        // Every number was handed out by this view.
        Ok(self.term(number).unwrap_or_else(|| NamedNode::new_unchecked(PAGE_STAND_IN).into()))
    }
}
