//! A page's quads as a dataset that queries can be asked of.
//!
//! Terms are numbered in the order the page mentions them; three sorted lists of triples answer every pattern by binary
//! search, each made when it is first needed. All of the page's graphs are one, the default graph. Rows handed out are
//! counted, so that a query that multiplies the page with itself ends.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use foldhash::fast::RandomState;
use oxrdf::{NamedNodeRef, Quad, Term, TermRef};
use spareval::{InternalQuad, QueryableDataset};
use webloom_model::PageUrl;

/// Stands for the page's URL in parsed queries.
pub(crate) const PAGE_STAND_IN: &str = "urn:webloom:this-page";

/// The page, ready to be asked.
#[derive(Debug, Clone)]
pub(crate) struct PageView<'a>(Rc<Inner<'a>>);

#[derive(Debug)]
struct Inner<'a> {
    terms: RefCell<Terms<'a>>,
    /// Triples sorted by subject, predicate, object; by predicate, object, subject; by object, subject, predicate.
    by_subject: Vec<Row>,
    by_predicate: OnceCell<Vec<Row>>,
    by_object: OnceCell<Vec<Row>>,
    page: u32,
    rows: Cell<u64>,
    rows_max: u64,
}

/// A triple by the numbers of its terms.
type Row = [u32; 3];

/// Terms by number and number by term.
#[derive(Debug, Default)]
struct Terms<'a> {
    /// Those of the page, which keeps them.
    terms: Vec<TermRef<'a>>,
    numbers: HashMap<TermRef<'a>, u32, RandomState>,
    /// Those that queries bring along. Their numbers follow on the page's.
    brought: Vec<Term>,
    brought_numbers: HashMap<Term, u32, RandomState>,
}

impl<'a> Terms<'a> {
    fn add(&mut self, term: TermRef<'a>) -> u32 {
        let next = u32::try_from(self.terms.len()).unwrap_or(u32::MAX);
        let number = *self.numbers.entry(term).or_insert(next);
        if number == next {
            self.terms.push(term);
        }
        number
    }

    fn find(&self, term: TermRef<'_>) -> Option<u32> {
        self.numbers.get(&term).copied()
    }

    fn find_or_bring(&mut self, term: Term) -> u32 {
        if let Some(number) = self.find(term.as_ref()) {
            return number;
        }
        let next = u32::try_from(self.terms.len() + self.brought.len()).unwrap_or(u32::MAX);
        let number = *self.brought_numbers.entry(term.clone()).or_insert(next);
        if number == next {
            self.brought.push(term);
        }
        number
    }

    fn get(&self, number: u32) -> Option<TermRef<'_>> {
        let number = number as usize;
        match self.terms.get(number) {
            Some(&term) => Some(term),
            None => self.brought.get(number - self.terms.len()).map(Term::as_ref),
        }
    }
}

/// A query that looked at too much.
#[derive(Debug, thiserror::Error)]
#[error("looked at more than {0} rows, which is the limit")]
pub(crate) struct TooManyRows(u64);

impl<'a> PageView<'a> {
    pub(crate) fn new(page: &'a PageUrl, quads: &'a [Quad], rows_max: u64) -> Self {
        let mut terms = Terms::default();
        let page = terms.add(NamedNodeRef::new_unchecked(page.as_str()).into());
        let mut by_subject: Vec<Row> = quads
            .iter()
            .map(|quad| {
                [
                    terms.add(quad.subject.as_ref().into()),
                    terms.add(quad.predicate.as_ref().into()),
                    terms.add(quad.object.as_ref()),
                ]
            })
            .collect();
        by_subject.sort_unstable();
        by_subject.dedup();
        Self(Rc::new(Inner {
            terms: RefCell::new(terms),
            by_subject,
            by_predicate: OnceCell::new(),
            by_object: OnceCell::new(),
            page,
            rows: Cell::new(0),
            rows_max,
        }))
    }

    /// The term of a number, by value: the view may be growing.
    pub(crate) fn term(&self, number: u32) -> Option<Term> {
        self.0.terms.borrow().get(number).map(TermRef::into_owned)
    }

    /// What `read` makes of the term of a number.
    pub(crate) fn with_term<T>(&self, number: u32, read: impl FnOnce(TermRef<'_>) -> Option<T>) -> Option<T> {
        self.0.terms.borrow().get(number).and_then(read)
    }

    /// The number of the page.
    pub(crate) fn page(&self) -> u32 {
        self.0.page
    }

    /// How many rows a query may see, and give.
    pub(crate) fn rows_max(&self) -> u64 {
        self.0.rows_max
    }

    /// The number of a term, which becomes one of the view's.
    pub(crate) fn number(&self, term: &Term) -> u32 {
        self.0.terms.borrow_mut().find_or_bring(term.clone())
    }

    /// The number of a term, if the page has it.
    pub(crate) fn find(&self, term: TermRef<'_>) -> Option<u32> {
        self.0.terms.borrow().find(term)
    }

    /// The triples that have these numbers, where there are some.
    pub(crate) fn rows(&self, [subject, predicate, object]: [Option<u32>; 3]) -> Rows<'a> {
        // Each of the eight patterns is a prefix of one of the three orders.
        let (list, prefix) = match (subject, predicate, object) {
            (None, None, None) => (List::Subject, [None; 3]),
            (Some(_), _, None) | (Some(_), Some(_), Some(_)) => (List::Subject, [subject, predicate, object]),
            (None, Some(_), _) => (List::Predicate, [predicate, object, None]),
            (_, None, Some(_)) => (List::Object, [object, subject, None]),
        };
        let rows = self.0.list(list);
        let low = prefix.map(|number| number.unwrap_or(u32::MIN));
        let high = prefix.map(|number| number.unwrap_or(u32::MAX));
        let next = rows.partition_point(|row| *row < low);
        let end = next + rows[next..].partition_point(|row| *row <= high);
        Rows { view: Rc::clone(&self.0), list, next, end }
    }
}

fn is_stand_in(term: &Term) -> bool {
    matches!(term, Term::NamedNode(node) if node.as_str() == PAGE_STAND_IN)
}

/// Rows of one sorted list that begin with the given numbers, turned back into subject, predicate, object.
pub(crate) struct Rows<'a> {
    view: Rc<Inner<'a>>,
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

impl Inner<'_> {
    fn list(&self, list: List) -> &[Row] {
        match list {
            List::Subject => &self.by_subject,
            List::Predicate => self.by_predicate.get_or_init(|| self.rotated([1, 2, 0])),
            List::Object => self.by_object.get_or_init(|| self.rotated([2, 0, 1])),
        }
    }

    fn rotated(&self, order: [usize; 3]) -> Vec<Row> {
        let mut rows: Vec<Row> =
            self.by_subject.iter().map(|row| order.map(|position| row[position])).collect();
        rows.sort_unstable();
        rows
    }
}

impl Iterator for Rows<'_> {
    type Item = Result<Row, TooManyRows>;

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
        Some(Ok(match self.list {
            List::Subject => row,
            List::Predicate => [row[2], row[0], row[1]],
            List::Object => [row[1], row[2], row[0]],
        }))
    }
}

impl<'a> QueryableDataset<'a> for PageView<'a> {
    type InternalTerm = u32;
    type Error = TooManyRows;

    fn internal_quads_for_pattern(
        &self,
        subject: Option<&u32>,
        predicate: Option<&u32>,
        object: Option<&u32>,
        graph_name: Option<Option<&u32>>,
    ) -> impl Iterator<Item = Result<InternalQuad<u32>, TooManyRows>> + use<'a> {
        // There are no named graphs here.
        let rows = (graph_name == Some(None))
            .then(|| self.rows([subject.copied(), predicate.copied(), object.copied()]));
        rows.into_iter().flatten().map(|row| {
            row.map(|[subject, predicate, object]| InternalQuad {
                subject,
                predicate,
                object,
                graph_name: None,
            })
        })
    }

    fn internalize_term(&self, term: Term) -> Result<u32, TooManyRows> {
        Ok(if is_stand_in(&term) { self.0.page } else { self.0.terms.borrow_mut().find_or_bring(term) })
    }

    fn externalize_term(&self, number: u32) -> Result<Term, TooManyRows> {
        // Every number was handed out by this view.
        Ok(self
            .term(number)
            .unwrap_or_else(|| NamedNodeRef::new_unchecked(PAGE_STAND_IN).into_owned().into()))
    }
}
