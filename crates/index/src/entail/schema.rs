//! The part of the data that is about classes and properties.
//!
//! In: a snapshot and an [`Authority`]. Out: a [`Schema`] of ids, only with what somebody was entitled to say. A rule
//! fires on the term on its left side (`C` of `C rdfs:subClassOf D`), so the one who may speak for that term
//! decides: a site may say what its own classes are below, and nobody else's. Of `owl:equivalentClass` and
//! `owl:inverseOf` each direction is judged alone. What rules make of the schema is in [`hierarchy`](super::hierarchy).

use std::collections::{HashMap, HashSet};

use oxrdf::NamedNodeRef;
use webloom_model::vocab::{owl, rdf, rdfs};

use super::authority::Authority;
use super::{Work, is_resource};
use crate::error::IndexError;
use crate::scan::{GraphFilter, QuadIds, Scan};
use crate::term::TermId;

/// What is above a property: another one, with subject and object exchanged or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Implied {
    pub(super) property: TermId,
    pub(super) is_inverse: bool,
}

#[derive(Default)]
pub(super) struct Schema {
    pub(super) super_classes: HashMap<TermId, Vec<TermId>>,
    pub(super) implied: HashMap<TermId, Vec<Implied>>,
    pub(super) domains: HashMap<TermId, Vec<TermId>>,
    pub(super) ranges: HashMap<TermId, Vec<TermId>>,
    pub(super) transitive: HashSet<TermId>,
    pub(super) functional: HashSet<TermId>,
    pub(super) inverse_functional: HashSet<TermId>,
    statements: usize,
}

impl Schema {
    /// Reads what the rules need.
    pub(super) fn read<'w>(work: &Work<'w>, authority: &mut Authority<'w>) -> Result<Self, IndexError> {
        let mut schema = Self::default();
        let mut reading = Reading { work, authority, schema: &mut schema };
        for statement in &STATEMENTS {
            if if statement.is_owl { work.rules.owl } else { work.rules.rdfs } {
                reading.each(statement)?;
            }
        }
        // The same statement may stand on many pages, in either direction.
        for map in [&mut schema.super_classes, &mut schema.domains, &mut schema.ranges] {
            for terms in map.values_mut() {
                terms.sort_unstable();
                terms.dedup();
            }
        }
        for implied in schema.implied.values_mut() {
            implied.sort_unstable();
            implied.dedup();
            // That something is the same follows from nothing but `owl:sameAs` and keys: whoever owns a property could
            // otherwise merge other people's things.
            implied.retain(|implied| implied.property != work.known.same_as);
        }
        Ok(schema)
    }

    /// How many statements were believed.
    pub(super) fn statements(&self) -> u64 {
        self.statements as u64
    }

    fn below_class(&mut self, class: TermId, above: TermId) {
        if class != above {
            push(&mut self.super_classes, class, above);
        }
    }

    fn below_property(&mut self, property: TermId, above: TermId) {
        if property != above {
            push(&mut self.implied, property, Implied { property: above, is_inverse: false });
        }
    }

    fn inverse(&mut self, property: TermId, other: TermId) {
        push(&mut self.implied, property, Implied { property: other, is_inverse: true });
    }

    fn symmetric(&mut self, property: TermId, _: TermId) {
        self.inverse(property, property);
    }

    fn domain(&mut self, property: TermId, class: TermId) {
        push(&mut self.domains, property, class);
    }

    fn range(&mut self, property: TermId, class: TermId) {
        push(&mut self.ranges, property, class);
    }

    fn transitive(&mut self, property: TermId, _: TermId) {
        self.transitive.insert(property);
    }

    fn functional(&mut self, property: TermId, _: TermId) {
        self.functional.insert(property);
    }

    fn inverse_functional(&mut self, property: TermId, _: TermId) {
        self.inverse_functional.insert(property);
    }
}

/// Takes a statement about its first term into the schema.
type Take = fn(&mut Schema, TermId, TermId);

/// A kind of schema statement.
struct Statement {
    is_owl: bool,
    predicate: NamedNodeRef<'static>,
    object: Option<NamedNodeRef<'static>>,
    /// What it says of its subject, to be said by who may speak for that.
    take: Take,
    /// What it says of its object, to be said by who may speak for that. The two are exchanged.
    take_back: Option<Take>,
}

impl Statement {
    const fn rdfs(predicate: NamedNodeRef<'static>, take: Take) -> Self {
        Self { is_owl: false, predicate, object: None, take, take_back: None }
    }

    const fn both_ways(predicate: NamedNodeRef<'static>, take: Take) -> Self {
        Self { is_owl: true, predicate, object: None, take, take_back: Some(take) }
    }

    const fn typed(class: NamedNodeRef<'static>, take: Take) -> Self {
        Self { is_owl: true, predicate: rdf::TYPE, object: Some(class), take, take_back: None }
    }
}

const STATEMENTS: [Statement; 11] = [
    Statement::rdfs(rdfs::SUB_CLASS_OF, Schema::below_class),
    Statement::rdfs(rdfs::SUB_PROPERTY_OF, Schema::below_property),
    Statement::rdfs(rdfs::DOMAIN, Schema::domain),
    Statement::rdfs(rdfs::RANGE, Schema::range),
    Statement::both_ways(owl::EQUIVALENT_CLASS, Schema::below_class),
    Statement::both_ways(owl::EQUIVALENT_PROPERTY, Schema::below_property),
    Statement::both_ways(owl::INVERSE_OF, Schema::inverse),
    Statement::typed(owl::SYMMETRIC_PROPERTY, Schema::symmetric),
    Statement::typed(owl::TRANSITIVE_PROPERTY, Schema::transitive),
    Statement::typed(owl::FUNCTIONAL_PROPERTY, Schema::functional),
    Statement::typed(owl::INVERSE_FUNCTIONAL_PROPERTY, Schema::inverse_functional),
];

struct Reading<'a, 'w> {
    work: &'a Work<'w>,
    authority: &'a mut Authority<'w>,
    schema: &'a mut Schema,
}

impl Reading<'_, '_> {
    /// Takes every statement of the kind that somebody was entitled to make.
    fn each(&mut self, statement: &Statement) -> Result<(), IndexError> {
        let Statement { predicate, object, take, take_back, .. } = statement;
        let view = &self.work.snapshot.view;
        let hasher = &view.hasher;
        let pattern = [
            None,
            Some(hasher.iri(predicate.as_str())),
            object.map(|object| hasher.iri(object.as_str())),
            None,
        ];
        let scan = Scan::new(view, pattern, GraphFilter::All)?.with_deadline(self.work.deadline);
        // Copies of a statement on several pages follow each other; one entitled page is enough.
        let mut taken = None;
        let mut taken_back = None;
        for quad in scan {
            let QuadIds { subject, object, graph, .. } = quad?;
            if graph.is_metadata() || !is_resource(subject) || !is_resource(object) {
                continue;
            }
            if taken != Some((subject, object)) && self.authority.may_define(graph, subject)? {
                taken = Some((subject, object));
                self.count()?;
                take(self.schema, subject, object);
            }
            if let Some(take_back) = take_back
                && taken_back != Some((subject, object))
                && self.authority.may_define(graph, object)?
            {
                taken_back = Some((subject, object));
                self.count()?;
                take_back(self.schema, object, subject);
            }
        }
        Ok(())
    }

    fn count(&mut self) -> Result<(), IndexError> {
        self.schema.statements += 1;
        let limit = self.work.limits.schema_statements_max;
        if self.schema.statements > limit {
            return Err(IndexError::EntailmentLimit {
                what: "schema statements",
                setting: "schema_statements_max",
                limit: limit as u64,
            });
        }
        Ok(())
    }
}

fn push<T>(map: &mut HashMap<TermId, Vec<T>>, key: TermId, value: T) {
    map.entry(key).or_default().push(value);
}
