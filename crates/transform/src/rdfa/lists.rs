//! Lists under construction: what elements with `inlist` add to, until the element that began them ends.
//!
//! A mapping belongs to a subject and lives as long as the element that introduced the subject, so mappings form a
//! stack. Items that are text still to come are places kept free, filled when the text is known.

use crate::maps::HashMap;
use oxrdf::{NamedNode, Term};

/// A place in a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    mapping: usize,
    list: usize,
    item: usize,
}

/// A list that hanging `rel`s add to.
#[derive(Debug, Clone, Copy)]
pub(super) struct ListId {
    mapping: usize,
    list: usize,
}

#[derive(Debug, Default)]
struct Mapping {
    known: HashMap<NamedNode, usize>,
    lists: Vec<(NamedNode, Vec<Option<Term>>)>,
}

/// All mappings alive.
#[derive(Debug, Default)]
pub(super) struct Lists {
    mappings: Vec<Mapping>,
}

impl Lists {
    /// How many mappings there are: what comes later has this number or a higher one.
    pub(super) fn mark(&self) -> usize {
        self.mappings.len()
    }

    /// A new, empty mapping.
    pub(super) fn begin(&mut self) -> usize {
        self.mappings.push(Mapping::default());
        self.mappings.len() - 1
    }

    /// The list for a predicate, begun if it is not there.
    pub(super) fn list(&mut self, mapping: usize, predicate: &NamedNode) -> ListId {
        let lists = &mut self.mappings[mapping];
        if let Some(&list) = lists.known.get(predicate) {
            return ListId { mapping, list };
        }
        let list = lists.lists.len();
        lists.known.insert(predicate.clone(), list);
        lists.lists.push((predicate.clone(), Vec::new()));
        ListId { mapping, list }
    }

    /// Keeps a place free at the end of a list.
    pub(super) fn place(&mut self, list: ListId) -> Place {
        let items = &mut self.mappings[list.mapping].lists[list.list].1;
        items.push(None);
        Place { mapping: list.mapping, list: list.list, item: items.len() - 1 }
    }

    /// Fills a place.
    pub(super) fn fill(&mut self, place: Place, item: Term) {
        self.mappings[place.mapping].lists[place.list].1[place.item] = Some(item);
    }

    /// Adds to the end of a list.
    pub(super) fn push(&mut self, list: ListId, item: Term) {
        self.mappings[list.mapping].lists[list.list].1.push(Some(item));
    }

    /// Ends the latest mapping and hands out its lists.
    pub(super) fn end(&mut self) -> Vec<(NamedNode, Vec<Term>)> {
        let mapping = self.mappings.pop().unwrap_or_default();
        mapping
            .lists
            .into_iter()
            .map(|(predicate, items)| (predicate, items.into_iter().flatten().collect()))
            .collect()
    }
}
