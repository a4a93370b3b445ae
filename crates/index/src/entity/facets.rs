//! Counts what a search could be narrowed to, and which things the filters let through.
//!
//! In: what was found, as numbers. Out: [`Survey`]: for each kind of facet its values with counts, and the things that pass. A
//! thing passes when for each kind of filter one of its pages says a value that is asked for. A facet counts things that
//! pass all filters but its own, so that one can see what else there would be.

use std::collections::HashMap;

use crate::text::collect::{Collected, Group, NONE};
use crate::text::shape::Shape;

use super::EntityQuery;

/// The kinds of facets that shapes have. Sites are counted beside them.
pub(super) const TYPE: usize = 0;
pub(super) const VOCABULARY: usize = 1;
pub(super) const LANGUAGE: usize = 2;
const SHAPE_KINDS: usize = 3;

/// Most different shapes, and most names of sites, that are read for one search.
const SHAPES_MAX: usize = 20_000;
const SITES_MAX: usize = 20_000;
/// Sites per segment whose names are read to be shown.
const SITES_SHOWN: usize = 100;

/// A thing that passes.
#[derive(Debug, Clone, Copy)]
pub(super) struct Passed {
    pub(super) group: Group,
    pub(super) sites: u32,
}

/// What was found, counted.
pub(super) struct Survey {
    filters: [Vec<String>; SHAPE_KINDS],
    site_filters: Vec<String>,
    /// Sites that are asked for, as `(segment, number)`.
    allowed_sites: Vec<(u32, u32)>,
    values: [Values; SHAPE_KINDS],
    shapes: Vec<Option<ShapeValues>>,
    shape_places: HashMap<(u32, u32), usize>,
    shapes_by_key: HashMap<String, usize>,
    site_counts: HashMap<(u32, u32), u64>,
    site_names: HashMap<(u32, u32), Option<String>>,
    pub(super) passed: Vec<Passed>,
}

/// The values of one kind.
#[derive(Default)]
struct Values {
    places: HashMap<String, usize>,
    list: Vec<Value>,
}

struct Value {
    text: String,
    allowed: bool,
    count: u64,
}

type ShapeValues = [Vec<usize>; SHAPE_KINDS];

impl Survey {
    pub(super) fn new(query: &EntityQuery, collected: &Collected) -> Self {
        let site_filters: Vec<String> = query.sites.iter().map(|site| site.trim().to_lowercase()).collect();
        let mut allowed_sites = Vec::new();
        for segment in 0..collected.segments() as u32 {
            for site in &site_filters {
                allowed_sites.extend(collected.site_number(segment, site).map(|number| (segment, number)));
            }
        }
        Self {
            filters: [
                query.types.clone(),
                query.vocabularies.iter().map(|name| super::show::namespace_of(name)).collect(),
                query.languages.iter().map(|tag| tag.to_lowercase()).collect(),
            ],
            site_filters,
            allowed_sites,
            values: Default::default(),
            shapes: Vec::new(),
            shape_places: HashMap::new(),
            shapes_by_key: HashMap::new(),
            site_counts: HashMap::new(),
            site_names: HashMap::new(),
            passed: Vec::new(),
        }
    }

    /// How many things pass.
    pub(super) fn total(&self) -> u64 {
        self.passed.len() as u64
    }

    /// True when the filters ask for this site, or for none.
    pub(super) fn is_asked_for(&self, segment: u32, site: u32) -> bool {
        self.site_filters.is_empty() || self.allowed_sites.contains(&(segment, site))
    }

    pub(super) fn count(&mut self, collected: &Collected) {
        let mut shapes: Vec<usize> = Vec::new();
        let mut sites: Vec<(u32, u32)> = Vec::new();
        let mut seen: Vec<usize> = Vec::new();
        for group in &collected.groups {
            shapes.clear();
            sites.clear();
            for found in collected.matches(group) {
                if let Some(shape) = self.shape(collected, found.segment, found.shape)
                    && !shapes.contains(&shape)
                {
                    shapes.push(shape);
                }
                if found.site != NONE && !sites.contains(&(found.segment, found.site)) {
                    sites.push((found.segment, found.site));
                }
            }
            if sites.len() > 1 {
                self.merge_sites(collected, &mut sites);
            }
            // At most one kind of filter may fail, and then the thing counts for that kind alone.
            let mut failed: Option<usize> = None;
            let mut failures = 0;
            for kind in 0..SHAPE_KINDS {
                let passes = self.filters[kind].is_empty()
                    || shapes.iter().any(|shape| {
                        self.shapes[*shape]
                            .iter()
                            .flat_map(|values| &values[kind])
                            .any(|value| self.values[kind].list[*value].allowed)
                    });
                if !passes {
                    failures += 1;
                    failed = Some(kind);
                }
            }
            let site_passes =
                self.site_filters.is_empty() || sites.iter().any(|site| self.allowed_sites.contains(site));
            failures += usize::from(!site_passes);
            if failures > 1 {
                continue;
            }
            for kind in 0..SHAPE_KINDS {
                if failures == 1 && failed != Some(kind) {
                    continue;
                }
                seen.clear();
                for shape in &shapes {
                    for value in self.shapes[*shape].iter().flat_map(|values| &values[kind]) {
                        if shapes.len() > 1 {
                            if seen.contains(value) {
                                continue;
                            }
                            seen.push(*value);
                        }
                        self.values[kind].list[*value].count += 1;
                    }
                }
            }
            if failures == 0 || !site_passes {
                for site in &sites {
                    *self.site_counts.entry(*site).or_default() += 1;
                }
            }
            if failures == 0 {
                self.passed.push(Passed { group: *group, sites: sites.len() as u32 });
            }
        }
    }

    /// The place of a shape; nothing when there is none, or there are too many.
    fn shape(&mut self, collected: &Collected, segment: u32, shape: u32) -> Option<usize> {
        if shape == NONE {
            return None;
        }
        if let Some(place) = self.shape_places.get(&(segment, shape)) {
            return Some(*place);
        }
        if self.shape_places.len() >= SHAPES_MAX {
            return None;
        }
        let key = collected.shape(segment, shape).unwrap_or_default();
        let place = match self.shapes_by_key.get(&key) {
            Some(place) => *place,
            None => {
                let values = self.values_of(&Shape::of_key(&key));
                self.shapes.push(Some(values));
                self.shapes_by_key.insert(key, self.shapes.len() - 1);
                self.shapes.len() - 1
            }
        };
        self.shape_places.insert((segment, shape), place);
        Some(place)
    }

    fn values_of(&mut self, shape: &Shape<'_>) -> ShapeValues {
        let mut values = ShapeValues::default();
        for (kind, parts) in [shape.types(), shape.vocabularies(), shape.languages()].into_iter().enumerate()
        {
            for part in parts {
                let known = &mut self.values[kind];
                let place = match known.places.get(*part) {
                    Some(place) => *place,
                    None => {
                        let allowed = self.filters[kind].iter().any(|filter| is_asked(kind, filter, part));
                        known.list.push(Value { text: (*part).to_owned(), allowed, count: 0 });
                        known.places.insert((*part).to_owned(), known.list.len() - 1);
                        known.list.len() - 1
                    }
                };
                values[kind].push(place);
            }
        }
        values
    }

    /// Segments number sites each for itself; the same site is to count once.
    fn merge_sites(&mut self, collected: &Collected, sites: &mut Vec<(u32, u32)>) {
        let first = sites.first().map(|(segment, _)| *segment);
        if sites.iter().all(|(segment, _)| Some(*segment) == first) {
            return;
        }
        let mut names: Vec<String> = Vec::with_capacity(sites.len());
        let known = &mut self.site_names;
        sites.retain(|&(segment, site)| {
            if known.len() >= SITES_MAX && !known.contains_key(&(segment, site)) {
                return true;
            }
            let name = known.entry((segment, site)).or_insert_with(|| collected.site(segment, site));
            match name {
                Some(name) if names.contains(name) => false,
                Some(name) => {
                    names.push(name.clone());
                    true
                }
                None => true,
            }
        });
    }

    /// The values of a kind with their counts, most first.
    pub(super) fn counts(&self, kind: usize) -> Vec<(&str, u64)> {
        let mut counts: Vec<(&str, u64)> = self.values[kind]
            .list
            .iter()
            .filter(|value| value.count > 0)
            .map(|value| (value.text.as_str(), value.count))
            .collect();
        counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(other.0)));
        counts
    }

    /// The sites with their counts, most first.
    pub(super) fn site_counts(&self, collected: &Collected) -> Vec<(String, u64)> {
        let mut by_segment: HashMap<u32, Vec<(u32, u64)>> = HashMap::new();
        for (&(segment, site), &count) in &self.site_counts {
            by_segment.entry(segment).or_default().push((site, count));
        }
        let mut sums: HashMap<String, u64> = HashMap::new();
        for (segment, mut sites) in by_segment {
            sites.sort_by_key(|(site, count)| (std::cmp::Reverse(*count), *site));
            for (site, count) in sites.into_iter().take(SITES_SHOWN) {
                if let Some(name) = collected.site(segment, site) {
                    *sums.entry(name).or_default() += count;
                }
            }
        }
        let mut counts: Vec<(String, u64)> = sums.into_iter().collect();
        counts.sort_by(|one, other| other.1.cmp(&one.1).then_with(|| one.0.cmp(&other.0)));
        counts
    }
}

/// True when a filter asks for a value.
fn is_asked(kind: usize, filter: &str, value: &str) -> bool {
    if filter == value {
        return true;
    }
    match kind {
        TYPE => {
            let prefixed = super::show::expand_prefix(filter);
            prefixed.as_deref() == Some(value)
                || (!filter.contains([':', '/'])
                    && super::show::last_part(value).eq_ignore_ascii_case(filter))
        }
        LANGUAGE => value == filter.split('-').next().unwrap_or_default(),
        _ => false,
    }
}
