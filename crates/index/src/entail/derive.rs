//! The pass over all statements that gives what follows from them.
//!
//! In: a [`Hierarchy`] and [`Identities`], both complete. Out: sorted triples that are not in the snapshot. Each stored
//! statement is read once, said of the names that stand for its things, and its consequences are collected; the
//! hierarchy already holds the closure, so nothing that is collected has to be looked at again. Only transitive
//! properties need their statements held, and are closed at the end.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::rc::Rc;

use super::hierarchy::{Effects, Hierarchy};
use super::identity::Identities;
use super::schema::Implied;
use super::{SetAside, TripleIds, Work, is_resource};
use crate::error::IndexError;
use crate::order::Order;
use crate::scan::{GraphFilter, QuadIds, Scan};
use crate::term::TermId;

/// Collected triples are sorted and copies dropped at least whenever so many more have come.
const COMPACT_AFTER: usize = 1 << 20;

pub(super) struct Derivation<'a, 'w> {
    work: &'a Work<'w>,
    hierarchy: &'a mut Hierarchy<'w>,
    identities: &'a Identities,
    set_aside: &'a mut SetAside,
    found: Found,
    /// Statements of transitive properties, by property.
    chains: HashMap<TermId, HashSet<(TermId, TermId)>>,
    held: usize,
    /// Transitive properties with statements that their closure does not know.
    grown: BTreeSet<(std::cmp::Reverse<usize>, TermId)>,
}

impl<'a, 'w> Derivation<'a, 'w> {
    pub(super) fn new(
        work: &'a Work<'w>,
        hierarchy: &'a mut Hierarchy<'w>,
        identities: &'a Identities,
        set_aside: &'a mut SetAside,
    ) -> Self {
        let found = Found { triples: Vec::new(), sorted: 0, limit: work.limits.triples_max };
        Self {
            work,
            hierarchy,
            identities,
            set_aside,
            found,
            chains: HashMap::new(),
            held: 0,
            grown: BTreeSet::new(),
        }
    }

    /// Everything that follows, without what is stated.
    pub(super) fn run(mut self) -> Result<Vec<TripleIds>, IndexError> {
        let known = &self.work.known;
        let (a, same_as) = (known.a, known.same_as);
        self.hierarchies()?;
        for quad in self.statements()? {
            let QuadIds { subject: stated_subject, predicate, object: stated_object, .. } = quad?;
            if predicate == same_as && self.work.rules.same_as {
                continue;
            }
            let subject = self.identities.canonical(stated_subject);
            // Classes are made one by `owl:equivalentClass`.
            let object =
                if predicate == a { stated_object } else { self.identities.canonical(stated_object) };
            if (subject, object) != (stated_subject, stated_object) {
                self.found.push([subject, predicate, object])?;
            }
            self.consequences(subject, predicate, object)?;
        }
        self.close_chains()?;
        for (name, canonical) in self.identities.pairs() {
            for triple in [
                [name, same_as, canonical],
                [canonical, same_as, name],
                // So that asking for whatever a name is the same as finds the name that stands for all.
                [canonical, same_as, canonical],
            ] {
                self.found.push(triple)?;
            }
        }
        self.found.compact()?;
        self.without_the_stated()
    }

    /// All statements of pages and people, each once, by subject.
    fn statements(&self) -> Result<impl Iterator<Item = Result<QuadIds, IndexError>> + use<>, IndexError> {
        let view = &self.work.snapshot.view;
        let scan = Scan::in_order(view, Order::Spoc, [None; 4], GraphFilter::UnionWithoutMetadata)?;
        // Where the snapshot shows something inferred before, that is no premise.
        Ok(scan
            .with_deadline(self.work.deadline)
            .filter(|quad| quad.as_ref().map_or(true, |quad| !quad.graph.is_metadata())))
    }

    /// Sub-classes and sub-properties are transitive themselves.
    fn hierarchies(&mut self) -> Result<(), IndexError> {
        let schema = self.hierarchy.schema;
        let (sub_class_of, sub_property_of) = (self.work.known.sub_class_of, self.work.known.sub_property_of);
        for &class in schema.super_classes.keys() {
            for &above in self.hierarchy.classes_above(class).iter() {
                self.found.push([class, sub_class_of, above])?;
            }
        }
        for &property in schema.implied.keys() {
            let effects = self.hierarchy.effects(property);
            for above in effects.iter().flat_map(|effects| &effects.implied).filter(|above| !above.is_inverse)
            {
                self.found.push([property, sub_property_of, above.property])?;
            }
        }
        Ok(())
    }

    /// Collects what follows from one statement.
    fn consequences(&mut self, subject: TermId, predicate: TermId, object: TermId) -> Result<(), IndexError> {
        let a = self.work.known.a;
        if predicate == a {
            return self.classes(subject, object);
        }
        let effects = self.hierarchy.effects(predicate);
        if !self.hierarchy.schema.transitive.is_empty() {
            self.chain(subject, predicate, object)?;
        }
        let Some(effects) = effects else {
            return Ok(());
        };
        for &Implied { property, is_inverse } in &effects.implied {
            let (subject, object) = if is_inverse { (object, subject) } else { (subject, object) };
            if !is_resource(subject) {
                continue;
            }
            self.found.push([subject, property, object])?;
            if property == a {
                self.classes(subject, object)?;
            }
            self.chain(subject, property, object)?;
        }
        self.memberships(&effects, subject, object)
    }

    fn memberships(
        &mut self,
        effects: &Rc<Effects>,
        subject: TermId,
        object: TermId,
    ) -> Result<(), IndexError> {
        let a = self.work.known.a;
        for &class in &effects.subject_classes {
            self.found.push([subject, a, class])?;
        }
        for &class in effects.object_classes.iter().filter(|_| is_resource(object)) {
            self.found.push([object, a, class])?;
        }
        Ok(())
    }

    fn classes(&mut self, subject: TermId, class: TermId) -> Result<(), IndexError> {
        for &above in self.hierarchy.classes_above(class).iter() {
            self.found.push([subject, self.work.known.a, above])?;
        }
        Ok(())
    }

    /// Holds a statement if its property is transitive.
    fn chain(&mut self, subject: TermId, property: TermId, object: TermId) -> Result<(), IndexError> {
        if !self.hierarchy.schema.transitive.contains(&property) || !is_resource(object) {
            return Ok(());
        }
        if self.chains.entry(property).or_default().insert((subject, object)) {
            let limit = self.work.limits.held_statements_max;
            self.held += 1;
            if self.held > limit {
                return Err(IndexError::EntailmentLimit {
                    what: "statements of transitive properties",
                    setting: "held_statements_max",
                    limit: limit as u64,
                });
            }
            // Those that imply most come first: what they give to others is then there when its turn comes.
            let implied = self.hierarchy.effects(property).map_or(0, |effects| effects.implied.len());
            self.grown.insert((std::cmp::Reverse(implied), property));
        }
        Ok(())
    }

    /// Closes the transitive properties, until none gives another something new.
    fn close_chains(&mut self) -> Result<(), IndexError> {
        let mut too_long = HashSet::new();
        while let Some((rank, property)) = self.grown.pop_first() {
            if too_long.contains(&property) {
                continue;
            }
            let limit = self.work.limits.transitive_statements_max;
            let Some(pairs) = self.closure(property, limit)? else {
                too_long.insert(property);
                self.set_aside.add(property, || {
                    format!(
                        "is transitive and would give more than {limit} statements, none was used (transitive_statements_max)"
                    )
                });
                continue;
            };
            for (subject, object) in pairs {
                self.found.push([subject, property, object])?;
                self.consequences(subject, property, object)?;
            }
            // The closure itself was held on the way; it is closed already.
            self.grown.remove(&(rank, property));
        }
        Ok(())
    }

    /// What a chain of the property's statements joins and no statement does; nothing when it is too much.
    fn closure(&self, property: TermId, limit: usize) -> Result<Option<Vec<(TermId, TermId)>>, IndexError> {
        let Some(links) = self.chains.get(&property) else {
            return Ok(Some(Vec::new()));
        };
        let mut sorted: Vec<(TermId, TermId)> = links.iter().copied().collect();
        sorted.sort_unstable();
        let next = |from: TermId| {
            let start = sorted.partition_point(|link| link.0 < from);
            sorted[start..].iter().take_while(move |link| link.0 == from).map(|link| link.1)
        };
        let mut pairs = Vec::new();
        let mut steps = 0usize;
        for group in sorted.chunk_by(|one, other| one.0 == other.0) {
            if let Some(deadline) = &self.work.deadline {
                deadline.check()?;
            }
            let start = group[0].0;
            let mut seen = HashSet::new();
            let mut waiting = vec![start];
            while let Some(at) = waiting.pop() {
                for to in next(at) {
                    // Counts links too: a thousand things all joined to each other are a thousand million steps.
                    steps += 1;
                    if steps > limit.saturating_mul(STEPS_PER_STATEMENT) {
                        return Ok(None);
                    }
                    if seen.insert(to) {
                        waiting.push(to);
                        if !links.contains(&(start, to)) {
                            pairs.push((start, to));
                        }
                    }
                }
            }
            if pairs.len() > limit {
                return Ok(None);
            }
        }
        Ok(Some(pairs))
    }

    /// Drops what is stated already. Both sides are sorted, so one more scan does it.
    fn without_the_stated(self) -> Result<Vec<TripleIds>, IndexError> {
        let mut stated = self.statements()?;
        let mut next = stated.next().transpose()?;
        let mut triples = self.found.triples;
        let mut kept = 0;
        for place in 0..triples.len() {
            let triple = triples[place];
            while let Some(quad) = next
                && [quad.subject, quad.predicate, quad.object] < triple
            {
                next = stated.next().transpose()?;
            }
            if next.is_none_or(|quad| [quad.subject, quad.predicate, quad.object] != triple) {
                triples[kept] = triple;
                kept += 1;
            }
        }
        triples.truncate(kept);
        Ok(triples)
    }
}

/// Links looked at for each statement a transitive property may give.
const STEPS_PER_STATEMENT: usize = 20;

/// Triples as they are found.
struct Found {
    triples: Vec<TripleIds>,
    /// So many are distinct, after they were last sorted.
    sorted: usize,
    limit: usize,
}

impl Found {
    fn push(&mut self, triple: TripleIds) -> Result<(), IndexError> {
        self.triples.push(triple);
        let room =
            self.sorted.max(COMPACT_AFTER).min(self.limit.saturating_sub(self.sorted).max(COMPACT_AFTER));
        if self.triples.len() - self.sorted >= room { self.compact() } else { Ok(()) }
    }

    fn compact(&mut self) -> Result<(), IndexError> {
        self.triples.sort_unstable();
        self.triples.dedup();
        self.sorted = self.triples.len();
        if self.sorted > self.limit {
            return Err(IndexError::EntailmentLimit {
                what: "inferred statements",
                setting: "triples_max",
                limit: self.limit as u64,
            });
        }
        Ok(())
    }
}
