//! Everything above a class or a property, in one answer.
//!
//! In: a [`Schema`]. Out: for a class all classes above it, for a property [`Effects`]: all properties it implies and all
//! classes its subjects and objects belong to. Answers are found by a walk that visits each term once, so cycles cost
//! nothing, and are remembered. A term with more above it than the limit is treated as if nothing were: a schema where
//! everything is below everything is somebody's joke.

use std::collections::{HashMap, HashSet};
use std::hash::Hash;
use std::rc::Rc;

use super::schema::{Implied, Schema};
use super::{SetAside, Work};
use crate::term::TermId;

/// Ids remembered in answers, all together; beyond this everything is forgotten and found again.
const REMEMBERED_MAX: usize = 4_000_000;

/// What a statement with some property says besides.
#[derive(Debug, Default)]
pub(super) struct Effects {
    /// Properties that hold too, the property itself not among them unless it is symmetric.
    pub(super) implied: Vec<Implied>,
    pub(super) subject_classes: Vec<TermId>,
    pub(super) object_classes: Vec<TermId>,
}

pub(super) struct Hierarchy<'a> {
    pub(super) schema: &'a Schema,
    super_terms_max: usize,
    classes: HashMap<TermId, Rc<[TermId]>>,
    properties: HashMap<TermId, Rc<Effects>>,
    remembered: usize,
    too_high: HashSet<TermId>,
}

impl<'a> Hierarchy<'a> {
    pub(super) fn new(schema: &'a Schema, work: &Work<'_>) -> Self {
        Self {
            schema,
            super_terms_max: work.limits.super_terms_max,
            classes: HashMap::new(),
            properties: HashMap::new(),
            remembered: 0,
            too_high: HashSet::new(),
        }
    }

    /// All classes above a class, itself not among them.
    pub(super) fn classes_above(&mut self, class: TermId) -> Rc<[TermId]> {
        let schema = self.schema;
        if !schema.super_classes.contains_key(&class) {
            return Rc::new([]);
        }
        if let Some(above) = self.classes.get(&class) {
            return Rc::clone(above);
        }
        let next = |class: &TermId| schema.super_classes.get(class).into_iter().flatten().copied();
        let known = |class: &TermId| self.known(class, self.classes.get(class).map(|above| above.to_vec()));
        let above = walk(class, self.super_terms_max, next, known);
        let above: Rc<[TermId]> = self.or_nothing(class, above).into();
        self.remember(above.len());
        self.classes.insert(class, Rc::clone(&above));
        above
    }

    /// What a statement with this property says besides; nothing when the schema does not know the property.
    pub(super) fn effects(&mut self, property: TermId) -> Option<Rc<Effects>> {
        let schema = self.schema;
        if let Some(effects) = self.properties.get(&property) {
            return Some(Rc::clone(effects));
        }
        if !schema.implied.contains_key(&property)
            && !schema.domains.contains_key(&property)
            && !schema.ranges.contains_key(&property)
        {
            return None;
        }
        let next = |from: &Implied| {
            let exchanged = from.is_inverse;
            let above = schema.implied.get(&from.property).into_iter().flatten();
            above.map(move |to| Implied { property: to.property, is_inverse: to.is_inverse != exchanged })
        };
        let known = |from: &Implied| {
            let turned = |to: &Implied| Implied { is_inverse: to.is_inverse != from.is_inverse, ..*to };
            let effects = self.properties.get(&from.property);
            self.known(&from.property, effects.map(|effects| effects.implied.iter().map(turned).collect()))
        };
        let own = Implied { property, is_inverse: false };
        let implied = walk(own, self.super_terms_max, next, known);
        let implied = self.or_nothing(property, implied);
        let (mut subject_classes, mut object_classes) = (Vec::new(), Vec::new());
        for Implied { property, is_inverse } in implied.iter().chain([&own]) {
            let (subjects, objects) = if *is_inverse {
                (&schema.ranges, &schema.domains)
            } else {
                (&schema.domains, &schema.ranges)
            };
            subject_classes.extend(subjects.get(property).into_iter().flatten());
            object_classes.extend(objects.get(property).into_iter().flatten());
        }
        let subject_classes = self.with_classes_above(property, subject_classes);
        let object_classes = self.with_classes_above(property, object_classes);
        self.remember(implied.len() + subject_classes.len() + object_classes.len());
        let effects = Rc::new(Effects { implied, subject_classes, object_classes });
        self.properties.insert(property, Rc::clone(&effects));
        Some(effects)
    }

    /// Tells what had too much above it.
    pub(super) fn tell(&self, set_aside: &mut SetAside) {
        let mut terms: Vec<&TermId> = self.too_high.iter().collect();
        terms.sort_unstable();
        for term in terms {
            set_aside.add(*term, || {
                format!(
                    "has more than {} terms above it, none was used (super_terms_max)",
                    self.super_terms_max
                )
            });
        }
    }

    fn with_classes_above(&mut self, property: TermId, mut classes: Vec<TermId>) -> Vec<TermId> {
        classes.sort_unstable();
        classes.dedup();
        let mut all: HashSet<TermId> = HashSet::new();
        for class in classes {
            all.insert(class);
            all.extend(self.classes_above(class).iter());
            if all.len() > self.super_terms_max {
                self.too_high.insert(property);
                return Vec::new();
            }
        }
        let mut all: Vec<TermId> = all.into_iter().collect();
        all.sort_unstable();
        all
    }

    fn known<T>(&self, term: &TermId, above: Option<Vec<T>>) -> Known<T> {
        match above {
            Some(_) if self.too_high.contains(term) => Known::TooHigh,
            Some(above) => Known::Above(above),
            None => Known::Not,
        }
    }

    fn or_nothing<T>(&mut self, term: TermId, above: Option<Vec<T>>) -> Vec<T> {
        above.unwrap_or_else(|| {
            self.too_high.insert(term);
            Vec::new()
        })
    }

    fn remember(&mut self, ids: usize) {
        self.remembered += ids + 1;
        if self.remembered > REMEMBERED_MAX {
            self.classes.clear();
            self.properties.clear();
            self.remembered = 0;
        }
    }
}

/// What an earlier walk found above a term.
enum Known<T> {
    Not,
    /// More than the limit; so whatever is below has more, too.
    TooHigh,
    Above(Vec<T>),
}

/// What can be reached, the start not included; nothing when that is more than the limit.
///
/// What earlier walks found is taken over instead of being walked again: a thousand classes that are all below each
/// other cost a million steps, not a thousand million.
fn walk<T: Copy + Ord + Hash, I: Iterator<Item = T>>(
    start: T,
    limit: usize,
    next: impl Fn(&T) -> I,
    known: impl Fn(&T) -> Known<T>,
) -> Option<Vec<T>> {
    let mut seen: HashSet<T> = HashSet::from([start]);
    let mut waiting = vec![start];
    while let Some(at) = waiting.pop() {
        for other in next(&at) {
            if !seen.insert(other) {
                continue;
            }
            match known(&other) {
                Known::TooHigh => return None,
                Known::Above(above) => seen.extend(above),
                Known::Not => waiting.push(other),
            }
            if seen.len() > limit {
                return None;
            }
        }
    }
    seen.remove(&start);
    let mut reached: Vec<T> = seen.into_iter().collect();
    reached.sort_unstable();
    Some(reached)
}
