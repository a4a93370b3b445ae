//! Which names are names of one thing.
//!
//! In: `owl:sameAs` statements, and statements of functional and inverse functional properties. Out: for every name
//! that has to give way, the name that stands for its thing: the smallest IRI, or the smallest blank node where no
//! IRI is among them. Sets of names are kept by union-find, so a chain of a hundred thousand `owl:sameAs` costs as many
//! steps. When two things become one, so do the values of their functional properties, and so on: each key is
//! filed under its thing, and the shorter file is moved (congruence closure, n log n).

use std::collections::HashMap;

use oxrdf::{LiteralRef, NamedNodeRef, TermRef};

use super::authority::Authority;
use super::hierarchy::Hierarchy;
use super::schema::Implied;
use super::{SetAside, Terms, Work, is_resource};
use crate::error::IndexError;
use crate::scan::{GraphFilter, QuadIds, Scan};
use crate::term::{TermId, TermKind};

/// Values that forms are filled with when there is nothing to say. They identify nobody.
const EMPTY_ADDRESSES: [&str; 3] = ["mailto:", "http://", "https://"];

/// The outcome.
#[derive(Default)]
pub(super) struct Identities {
    /// The name that stands for each thing, under its other names.
    canonical: HashMap<TermId, TermId>,
}

impl Identities {
    /// The name to use for this one.
    pub(super) fn canonical(&self, id: TermId) -> TermId {
        if self.canonical.is_empty() { id } else { self.canonical.get(&id).copied().unwrap_or(id) }
    }

    /// How many names gave way.
    pub(super) fn merged(&self) -> u64 {
        self.canonical.len() as u64
    }

    /// Each name that gave way, and to which.
    pub(super) fn pairs(&self) -> impl Iterator<Item = (TermId, TermId)> + '_ {
        self.canonical.iter().map(|(name, canonical)| (*name, *canonical))
    }

    /// Finds them, if the rules ask for it.
    pub(super) fn find(
        work: &Work<'_>,
        hierarchy: &mut Hierarchy<'_>,
        authority: &mut Authority<'_>,
        set_aside: &mut SetAside,
    ) -> Result<Self, IndexError> {
        if !work.rules.same_as {
            return Ok(Self::default());
        }
        let mut held = 0;
        let mut partition = Partition::default();
        stated(work, authority, &mut partition, &mut held)?;
        if work.rules.owl {
            let keys = read_keys(work, hierarchy, &mut held)?;
            take_keys(work, keys, &mut partition, set_aside);
        }
        Ok(Self { canonical: partition.canonical(&Terms::new(work.snapshot))? })
    }
}

/// Takes the `owl:sameAs` statements of those who may speak for one of the two.
fn stated(
    work: &Work<'_>,
    authority: &mut Authority<'_>,
    partition: &mut Partition,
    held: &mut usize,
) -> Result<(), IndexError> {
    let pattern = [None, Some(work.known.same_as), None, None];
    let scan = Scan::new(&work.snapshot.view, pattern, GraphFilter::All)?.with_deadline(work.deadline);
    let mut last = None;
    for quad in scan {
        let QuadIds { subject, object, graph, .. } = quad?;
        let is_usable = !graph.is_metadata() && subject != object && is_resource(object);
        if !is_usable || last == Some((subject, object)) {
            continue;
        }
        if authority.speaks_for(graph, subject)? || authority.speaks_for(graph, object)? {
            last = Some((subject, object));
            hold(work, held)?;
            partition.merge(subject, object);
        }
    }
    Ok(())
}

/// A value that can have one owner: who has it, or what is had, by whom or of whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct KeyStatement {
    key: Key,
    determines: TermId,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key {
    property: Implied,
    /// The subject of a functional property; the object of an inverse functional one, which is marked as inverse.
    of: TermId,
}

/// The statements of (inverse) functional properties, also those that follow from properties below them.
fn read_keys(
    work: &Work<'_>,
    hierarchy: &mut Hierarchy<'_>,
    held: &mut usize,
) -> Result<Vec<KeyStatement>, IndexError> {
    let schema = hierarchy.schema;
    if schema.functional.is_empty() && schema.inverse_functional.is_empty() {
        return Ok(Vec::new());
    }
    let hasher = &work.snapshot.view.hasher;
    let mut empty = vec![hasher.term(TermRef::Literal(LiteralRef::new_simple_literal("")))];
    empty.extend(EMPTY_ADDRESSES.map(|address| hasher.iri(NamedNodeRef::new_unchecked(address).as_str())));
    let mut properties: Vec<TermId> = schema
        .functional
        .iter()
        .chain(&schema.inverse_functional)
        .chain(schema.implied.keys())
        .copied()
        .collect();
    properties.sort_unstable();
    properties.dedup();
    let mut keys = Vec::new();
    for property in properties {
        let mut implied = vec![Implied { property, is_inverse: false }];
        if let Some(effects) = hierarchy.effects(property) {
            implied.extend(&effects.implied);
        }
        implied.retain(|implied| {
            schema.functional.contains(&implied.property)
                || schema.inverse_functional.contains(&implied.property)
        });
        if implied.is_empty() {
            continue;
        }
        let pattern = [None, Some(property), None, None];
        let scan = Scan::new(&work.snapshot.view, pattern, GraphFilter::UnionWithoutMetadata)?;
        for quad in scan.with_deadline(work.deadline) {
            let QuadIds { subject, object, .. } = quad?;
            for Implied { property, is_inverse } in &implied {
                let (subject, object) = if *is_inverse { (object, subject) } else { (subject, object) };
                if schema.functional.contains(property) && is_resource(object) {
                    hold(work, held)?;
                    let key =
                        Key { property: Implied { property: *property, is_inverse: false }, of: subject };
                    keys.push(KeyStatement { key, determines: object });
                }
                let identifies = is_resource(subject) && !empty.contains(&object);
                if schema.inverse_functional.contains(property) && identifies {
                    hold(work, held)?;
                    let key = Key { property: Implied { property: *property, is_inverse: true }, of: object };
                    keys.push(KeyStatement { key, determines: subject });
                }
            }
        }
    }
    keys.sort_unstable();
    keys.dedup();
    Ok(keys)
}

/// Merges what shares a key. A key that very many share is a placeholder, not a key.
fn take_keys(work: &Work<'_>, keys: Vec<KeyStatement>, partition: &mut Partition, set_aside: &mut SetAside) {
    let limit = work.limits.sharers_max;
    for sharers in keys.chunk_by(|one, other| one.key == other.key) {
        if sharers.len() > limit {
            let why =
                || format!("is shared by {} things and identifies none of them (sharers_max)", sharers.len());
            set_aside.add(sharers[0].key.of, why);
            continue;
        }
        for KeyStatement { key, determines } in sharers {
            partition.file(*key, *determines);
        }
    }
}

fn hold(work: &Work<'_>, held: &mut usize) -> Result<(), IndexError> {
    *held += 1;
    let limit = work.limits.held_statements_max;
    if *held > limit {
        return Err(IndexError::EntailmentLimit {
            what: "statements that say what is the same",
            setting: "held_statements_max",
            limit: limit as u64,
        });
    }
    Ok(())
}

/// Names in sets of the same thing, and the keys of each thing.
#[derive(Default)]
struct Partition {
    numbers: HashMap<TermId, u32>,
    names: Vec<TermId>,
    parents: Vec<u32>,
    /// Properties a root has keys under. Empty for all that are not roots.
    filed: Vec<Vec<Implied>>,
    keys: HashMap<(Implied, u32), u32>,
}

impl Partition {
    fn number(&mut self, name: TermId) -> u32 {
        let next = self.names.len() as u32;
        let number = *self.numbers.entry(name).or_insert(next);
        if number == next {
            self.names.push(name);
            self.parents.push(next);
            self.filed.push(Vec::new());
        }
        number
    }

    fn root(&mut self, mut number: u32) -> u32 {
        while self.parents[number as usize] != number {
            let grandparent = self.parents[self.parents[number as usize] as usize];
            self.parents[number as usize] = grandparent;
            number = grandparent;
        }
        number
    }

    fn merge(&mut self, one: TermId, other: TermId) {
        let pair = (self.number(one), self.number(other));
        self.settle(vec![pair]);
    }

    /// Whatever has the key has this; what had it before is the same.
    fn file(&mut self, key: Key, determines: TermId) {
        let (of, determines) = (self.number(key.of), self.number(determines));
        let of = self.root(of);
        match self.keys.get(&(key.property, of)) {
            Some(before) => self.settle(vec![(*before, determines)]),
            None => {
                self.keys.insert((key.property, of), determines);
                self.filed[of as usize].push(key.property);
            }
        }
    }

    /// Makes pairs one, and whatever becomes one by that.
    fn settle(&mut self, mut pairs: Vec<(u32, u32)>) {
        while let Some((one, other)) = pairs.pop() {
            let (one, other) = (self.root(one), self.root(other));
            if one == other {
                continue;
            }
            let is_longer = self.filed[one as usize].len() >= self.filed[other as usize].len();
            let (stays, goes) = if is_longer { (one, other) } else { (other, one) };
            self.parents[goes as usize] = stays;
            for property in std::mem::take(&mut self.filed[goes as usize]) {
                let Some(moved) = self.keys.remove(&(property, goes)) else {
                    continue;
                };
                match self.keys.get(&(property, stays)) {
                    Some(there) => pairs.push((*there, moved)),
                    None => {
                        self.keys.insert((property, stays), moved);
                        self.filed[stays as usize].push(property);
                    }
                }
            }
        }
    }

    /// The names that give way. Blank nodes give way to IRIs, larger IRIs to smaller ones.
    fn canonical(mut self, terms: &Terms) -> Result<HashMap<TermId, TermId>, IndexError> {
        let mut sets: HashMap<u32, Vec<TermId>> = HashMap::new();
        for number in 0..self.names.len() as u32 {
            let root = self.root(number);
            // Most names are alone: a key's owner, a value. The root of a set joins it when another name does.
            if root != number {
                sets.entry(root).or_default().push(self.names[number as usize]);
            }
        }
        let mut canonical = HashMap::new();
        for (root, mut names) in sets {
            names.push(self.names[root as usize]);
            let mut smallest: Option<(bool, String, TermId)> = None;
            for &name in &names {
                let is_blank = name.kind() == Some(TermKind::BlankNode);
                let candidate = (is_blank, terms.term(name)?.to_string(), name);
                if smallest.as_ref().is_none_or(|smallest| candidate < *smallest) {
                    smallest = Some(candidate);
                }
            }
            if let Some((_, _, smallest)) = smallest {
                canonical
                    .extend(names.into_iter().filter(|name| *name != smallest).map(|name| (name, smallest)));
            }
        }
        Ok(canonical)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: u32) -> TermId {
        TermId::from_bits((1 << 124) | u128::from(number))
    }

    fn functional(of: u32) -> Key {
        Key { property: Implied { property: id(1_000_000), is_inverse: false }, of: id(of) }
    }

    #[test]
    fn one_merge_runs_through_a_chain_of_functional_values() {
        // 0 -> 1 -> 2 … and 100000 -> 100001 -> …: when the first two are one, so are all the others.
        let length = 20_000;
        let mut partition = Partition::default();
        for number in 0..length {
            partition.file(functional(number), id(number + 1));
            partition.file(functional(100_000 + number), id(100_001 + number));
        }
        partition.merge(id(0), id(100_000));
        let (one, other) = (partition.number(id(length)), partition.number(id(100_000 + length)));
        assert_eq!(partition.root(one), partition.root(other));
        let (one, other) = (partition.number(id(1)), partition.number(id(2)));
        assert_ne!(partition.root(one), partition.root(other));
    }

    #[test]
    fn the_order_of_merges_and_keys_does_not_matter() {
        let mut before = Partition::default();
        before.merge(id(1), id(2));
        before.file(functional(1), id(10));
        before.file(functional(2), id(20));
        let mut after = Partition::default();
        after.file(functional(1), id(10));
        after.file(functional(2), id(20));
        after.merge(id(1), id(2));
        for mut partition in [before, after] {
            let (one, other) = (partition.number(id(10)), partition.number(id(20)));
            assert_eq!(partition.root(one), partition.root(other));
        }
    }
}
