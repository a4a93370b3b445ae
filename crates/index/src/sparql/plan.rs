//! Orders joins by what the index knows: how many quads match a pattern, and how many values they have.
//!
//! In: the algebra of a query. Out: the same algebra with the triple patterns, paths and `VALUES` of each group in a
//! chain of lookups, each step with the values of those before it, or in hash joins where both sides are
//! large. The evaluator's own optimiser, which knows no statistics, keeps such chains as they are and still places
//! filters; everything that is no such pattern (`OPTIONAL`, `UNION`, subqueries) stays where it was. Sizes are
//! estimated as System R did it: rows × rows ÷ the larger number of different values. Start at [`Planner::plan`].

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use oxrdf::{NamedNode, Term, TermRef, Variable};
use spargebra::algebra::{GraphPattern, PropertyPathExpression};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use super::dataset::DefaultGraphIds;
use super::rewrite::{each_child, each_exists};
use super::text;
use crate::order::{GRAPH, OBJECT, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, IdPattern, Scan};
use crate::term::TermId;
use crate::view::View;

/// Cost of a lookup, in rows read. Measured on a generated crawl of 1.2 M quads: a row costs 0.36 µs, a lookup 2.5 µs.
const LOOKUP_ROWS: f64 = 7.0;
/// Cost of putting a row into a hash table and of asking it, in rows read; 1.5 µs each.
const BUILD_ROWS: f64 = 4.0;
const PROBE_ROWS: f64 = 3.5;
/// Largest pattern that a hash join is made for.
const HASH_ROWS_MAX: f64 = 2_000_000.0;
/// How many times the pattern itself its closure is taken to be.
const CLOSURE_FACTOR: f64 = 8.0;
/// Subqueries up to this limit are evaluated before what they are joined with.
const SMALL_TABLE_ROWS_MAX: usize = 10_000;
/// A search for words is told the subjects of a pattern with at most so many rows.
const TEXT_SUBJECTS_MAX: f64 = 1_000.0;
/// Groups with more patterns are ordered from one beginning only.
const BEGINNINGS_MAX: usize = 16;

/// One step of a plan, for people.
#[derive(Debug, Clone, PartialEq)]
pub struct PlannedStep {
    /// The pattern, as SPARQL.
    pub pattern: String,
    /// Rows that it matches on its own.
    pub pattern_rows: f64,
    /// Rows after it is joined with the steps before it.
    pub rows: f64,
    /// How it is joined.
    pub join: JoinKind,
}

/// How a pattern is joined with what came before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JoinKind {
    /// It is read first.
    First,
    /// It is looked up for every row.
    Lookup,
    /// It is read once, into a hash table.
    Hash,
}

/// Orders the joins of one query.
pub(super) struct Planner<'a> {
    view: &'a View,
    default_graph: &'a DefaultGraphIds,
    /// Graphs of inferred statements that patterns outside of `GRAPH` are not about.
    unseen: Vec<TermId>,
    steps: RefCell<Vec<Vec<PlannedStep>>>,
}

/// A pattern to be joined, with what is known about it.
struct Leaf {
    pattern: GraphPattern,
    shown: String,
    rows: f64,
    /// Different values of each variable.
    distinct: BTreeMap<Variable, f64>,
    /// How it can be joined with others.
    role: Role,
    /// What is to be scanned for it, if it is a triple pattern, and the places of its variables.
    scan: Option<PatternScan>,
}

/// What a triple pattern scans.
struct PatternScan {
    pattern: IdPattern,
    /// Places of its variables.
    places: Vec<(usize, Variable)>,
    /// It is inside of `GRAPH`.
    in_graph: bool,
}

/// How a pattern can be joined with others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Looked up, or read into a hash table.
    Pattern,
    /// Looked up.
    Lookup,
    /// Evaluated once, so it comes first.
    Lead,
}

/// What a chain of joins gives so far.
#[derive(Clone, Default)]
struct Joined {
    rows: f64,
    distinct: BTreeMap<Variable, f64>,
}

/// Variables with values from outside.
type Bound = BTreeSet<Variable>;

impl<'a> Planner<'a> {
    pub(super) fn new(view: &'a View, default_graph: &'a DefaultGraphIds) -> Self {
        let unseen = match default_graph {
            DefaultGraphIds::Union => view.unseen_inferred(),
            DefaultGraphIds::Unnamed | DefaultGraphIds::Graphs(_) => Vec::new(),
        };
        Self { view, default_graph, unseen, steps: RefCell::default() }
    }

    /// The steps of every group that was ordered, in order of appearance.
    pub(super) fn into_steps(self) -> Vec<Vec<PlannedStep>> {
        self.steps.into_inner()
    }

    /// Orders the joins of a pattern and of everything in it.
    pub(super) fn plan(&self, pattern: &mut GraphPattern) {
        self.plan_with(pattern, None, &Bound::new());
    }

    fn plan_with(&self, pattern: &mut GraphPattern, graph: Option<&NamedNodePattern>, bound: &Bound) {
        match pattern {
            // One pattern alone has no order.
            GraphPattern::Bgp { patterns } if patterns.len() < 2 => {}
            GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Join { .. } => {
                let group = std::mem::take(pattern);
                *pattern = self.order(group, graph, bound);
            }
            GraphPattern::Graph { name, inner } => {
                let name = name.clone();
                self.plan_with(inner, Some(&name), bound);
            }
            GraphPattern::Lateral { left, right } => {
                self.plan_with(left, graph, bound);
                self.plan_with(right, graph, &with_variables(bound, left));
            }
            GraphPattern::LeftJoin { left, right, expression } => {
                self.plan_with(left, graph, bound);
                let inside = with_variables(bound, left);
                // The optimiser looks up simple right sides for each row of the left; others it reads as a whole.
                self.plan_with(right, graph, if is_looked_up(right) { &inside } else { bound });
                if let Some(expression) = expression {
                    each_exists(expression, &mut |exists| self.plan_with(exists, graph, &inside));
                }
            }
            GraphPattern::Filter { expr, inner } => {
                self.plan_with(inner, graph, bound);
                let inside = with_variables(bound, inner);
                each_exists(expr, &mut |exists| self.plan_with(exists, graph, &inside));
            }
            GraphPattern::Union { left, right } => {
                self.plan_with(left, graph, bound);
                self.plan_with(right, graph, bound);
            }
            GraphPattern::Extend { inner, expression, .. } => {
                self.plan_with(inner, graph, bound);
                let inside = with_variables(bound, inner);
                each_exists(expression, &mut |exists| self.plan_with(exists, graph, &inside));
            }
            GraphPattern::Service { .. } | GraphPattern::Values { .. } => {}
            GraphPattern::Project { inner, variables } => {
                let visible = bound.iter().filter(|variable| variables.contains(variable)).cloned().collect();
                self.plan_with(inner, graph, &visible);
            }
            GraphPattern::Minus { left, right } => {
                self.plan_with(left, graph, bound);
                self.plan_with(right, graph, &Bound::new());
            }
            GraphPattern::OrderBy { .. }
            | GraphPattern::Distinct { .. }
            | GraphPattern::Reduced { .. }
            | GraphPattern::Slice { .. }
            | GraphPattern::Group { .. } => {
                each_child(pattern, &mut |child| self.plan_with(child, graph, bound));
            }
        }
    }

    /// Puts the patterns of a group into a good order.
    fn order(&self, group: GraphPattern, graph: Option<&NamedNodePattern>, bound: &Bound) -> GraphPattern {
        let (mut leaves, mut others) = (Vec::new(), Vec::new());
        self.flatten(group, graph, false, &mut leaves, &mut others);
        self.count_values(&mut leaves, bound);
        self.restrict_text(&mut leaves);
        let variables: Bound = leaves
            .iter()
            .flat_map(|leaf: &Leaf| leaf.distinct.keys().cloned())
            .chain(bound.iter().cloned())
            .collect();
        for other in &mut others {
            self.plan_with(other, graph, if is_looked_up(other) { &variables } else { bound });
        }
        for leaf in leaves.iter_mut().filter(|leaf| leaf.role == Role::Lead) {
            self.plan_with(&mut leaf.pattern, graph, bound);
        }
        let chain = self.chain(leaves, bound);
        let mut parts = chain.into_iter().chain(others);
        let Some(first) = parts.next() else {
            return GraphPattern::default();
        };
        parts.fold(first, |left, right| GraphPattern::Join { left: Box::new(left), right: Box::new(right) })
    }

    /// Asks how many different values variables have that occur in several patterns.
    fn count_values(&self, leaves: &mut [Leaf], bound: &Bound) {
        let mut uses: BTreeMap<Variable, usize> = BTreeMap::new();
        for variable in leaves.iter().flat_map(|leaf| leaf.distinct.keys()).chain(bound) {
            *uses.entry(variable.clone()).or_default() += 1;
        }
        for leaf in leaves {
            let Some(scan) = &leaf.scan else {
                continue;
            };
            let unseen: &[TermId] = if scan.in_graph { &[] } else { &self.unseen };
            for (place, variable) in &scan.places {
                if uses.get(variable).is_some_and(|uses| *uses > 1) {
                    let values = self.view.count_distinct(scan.pattern, *place, unseen).unwrap_or(leaf.rows);
                    leaf.distinct.insert(variable.clone(), values.max(1.0));
                }
            }
        }
    }

    /// Tells a search for words which subjects other patterns allow, when they are few: it then looks at no others, and what it
    /// finds needs no more than to be joined.
    fn restrict_text(&self, leaves: &mut [Leaf]) {
        let open = leaves.iter().enumerate().find_map(|(place, leaf)| match &leaf.pattern {
            GraphPattern::Service { name, inner, .. } => Some((place, text::open_subject(name, inner)?)),
            _ => None,
        });
        let Some((place, variable)) = open else {
            return;
        };
        let values = leaves.iter().find_map(|leaf| match &leaf.pattern {
            GraphPattern::Values { variables, bindings } => {
                let column = variables.iter().position(|other| *other == variable)?;
                bindings
                    .iter()
                    .map(|row| match row.get(column) {
                        Some(Some(GroundTerm::NamedNode(node))) => Some(node.clone()),
                        _ => None,
                    })
                    .collect()
            }
            _ => None,
        });
        let subjects = values.or_else(|| {
            let smallest = leaves
                .iter()
                .filter(|leaf| leaf.rows <= TEXT_SUBJECTS_MAX && leaf.distinct.contains_key(&variable))
                .filter_map(|leaf| Some((leaf.rows, leaf.scan.as_ref()?)))
                .min_by(|one, other| one.0.total_cmp(&other.0));
            let (_, scan) = smallest?;
            let (column, _) = scan.places.iter().find(|(_, other)| *other == variable)?;
            self.nodes_at(scan.pattern, *column)
        });
        let Some(subjects) = subjects else {
            return;
        };
        if let Some(leaf) = leaves.get_mut(place)
            && let GraphPattern::Service { inner, .. } = &mut leaf.pattern
        {
            leaf.rows = leaf.rows.min(subjects.len() as f64);
            leaf.shown = format!("{} among {} subjects", leaf.shown, subjects.len());
            text::restrict(inner, &variable, subjects);
        }
    }

    /// The IRIs at a place of the quads that match; nothing when there are too many, or other terms among them.
    fn nodes_at(&self, pattern: IdPattern, place: usize) -> Option<Vec<NamedNode>> {
        let mut ids: Vec<TermId> = Vec::new();
        for quad in Scan::new(self.view, pattern, GraphFilter::All).ok()? {
            let quad = quad.ok()?;
            ids.push([quad.subject, quad.predicate, quad.object, quad.graph][place]);
            if ids.len() as f64 > 2.0 * TEXT_SUBJECTS_MAX {
                return None;
            }
        }
        ids.sort_unstable();
        ids.dedup();
        let mut buffer = Vec::new();
        ids.into_iter()
            .map(|id| match self.view.term(id, &mut buffer) {
                Ok(Some(Term::NamedNode(node))) => Some(node),
                _ => None,
            })
            .collect()
    }

    /// Sorts what is joined into patterns that can be ordered and the rest.
    fn flatten(
        &self,
        pattern: GraphPattern,
        graph: Option<&NamedNodePattern>,
        wrapped: bool,
        leaves: &mut Vec<Leaf>,
        others: &mut Vec<GraphPattern>,
    ) {
        // What comes from inside a `GRAPH` gets one of its own.
        let wrap = |pattern: GraphPattern| match graph {
            Some(name) if wrapped => GraphPattern::Graph { name: name.clone(), inner: Box::new(pattern) },
            _ => pattern,
        };
        match pattern {
            GraphPattern::Join { left, right } => {
                self.flatten(*left, graph, wrapped, leaves, others);
                self.flatten(*right, graph, wrapped, leaves, others);
            }
            GraphPattern::Bgp { patterns } if !patterns.is_empty() => {
                for mut triple in patterns {
                    name_blank_nodes(&mut triple.subject);
                    name_blank_nodes(&mut triple.object);
                    leaves.push(self.triple_leaf(&triple, graph, wrap));
                }
            }
            GraphPattern::Bgp { patterns } => {
                if graph.is_some() {
                    others.push(wrap(GraphPattern::Bgp { patterns }));
                }
            }
            GraphPattern::Path { mut subject, path, mut object } => {
                name_blank_nodes(&mut subject);
                name_blank_nodes(&mut object);
                leaves.push(self.path_leaf(subject, path, object, graph, wrap));
            }
            GraphPattern::Values { variables, bindings }
                if bindings.iter().all(|row| row.iter().all(Option::is_some)) =>
            {
                let rows = bindings.len() as f64;
                let distinct = variables.iter().map(|variable| (variable.clone(), rows)).collect();
                let shown = format!("VALUES of {} rows", bindings.len());
                let pattern = GraphPattern::Values { variables, bindings };
                leaves.push(Leaf { pattern, shown, rows, distinct, role: Role::Lookup, scan: None });
            }
            GraphPattern::Graph { name, inner } => {
                if matches!(*inner, GraphPattern::Join { .. } | GraphPattern::Path { .. })
                    || matches!(&*inner, GraphPattern::Bgp { patterns } if !patterns.is_empty())
                {
                    self.flatten(*inner, Some(&name), true, leaves, others);
                } else {
                    others.push(GraphPattern::Graph { name, inner });
                }
            }
            other => {
                let has_lead = leaves.iter().any(|leaf| leaf.role == Role::Lead);
                match small_table(&other).filter(|_| !has_lead) {
                    Some((shown, rows)) => {
                        let mut distinct = BTreeMap::new();
                        other.on_in_scope_variable(|variable| {
                            distinct.insert(variable.clone(), rows);
                        });
                        leaves.push(Leaf {
                            pattern: wrap(other),
                            shown,
                            rows,
                            distinct,
                            role: Role::Lead,
                            scan: None,
                        });
                    }
                    None => others.push(wrap(other)),
                }
            }
        }
    }

    fn term(&self, pattern: &TermPattern) -> Option<TermId> {
        match pattern {
            TermPattern::NamedNode(node) => Some(self.view.hasher.iri(node.as_str())),
            TermPattern::Literal(literal) => Some(self.view.hasher.term(literal.as_ref().into())),
            TermPattern::BlankNode(_) | TermPattern::Variable(_) => None,
        }
    }

    /// The ids of the graph a pattern is in; nothing when that is open.
    fn graph_id(&self, graph: Option<&NamedNodePattern>) -> Option<TermId> {
        match (graph, self.default_graph) {
            (Some(NamedNodePattern::NamedNode(node)), _) => Some(self.view.hasher.iri(node.as_str())),
            (None, DefaultGraphIds::Unnamed) => Some(TermId::DEFAULT_GRAPH),
            (None, DefaultGraphIds::Graphs(graphs)) if graphs.len() == 1 => graphs.first().copied(),
            _ => None,
        }
    }

    /// The graphs that a pattern with an open graph is not about; inside of `GRAPH` it is about all.
    fn unseen(&self, graph: Option<&NamedNodePattern>) -> &[TermId] {
        if graph.is_none() { &self.unseen } else { &[] }
    }

    fn triple_leaf(
        &self,
        triple: &TriplePattern,
        graph: Option<&NamedNodePattern>,
        wrap: impl Fn(GraphPattern) -> GraphPattern,
    ) -> Leaf {
        let mut pattern: IdPattern = [None; 4];
        let mut places: Vec<(usize, Variable)> = Vec::new();
        for (place, term) in [(SUBJECT, &triple.subject), (OBJECT, &triple.object)] {
            pattern[place] = self.term(term);
            if let TermPattern::Variable(variable) = term {
                places.push((place, variable.clone()));
            }
        }
        match &triple.predicate {
            NamedNodePattern::NamedNode(node) => {
                pattern[PREDICATE] = Some(self.view.hasher.iri(node.as_str()));
            }
            NamedNodePattern::Variable(variable) => places.push((PREDICATE, variable.clone())),
        }
        pattern[GRAPH] = self.graph_id(graph);
        if let Some(NamedNodePattern::Variable(variable)) = graph {
            places.push((GRAPH, variable.clone()));
        }
        // What cannot be read now shows when the query reads it; the order matters to nobody then.
        let unseen = self.unseen(graph);
        let rows = self.view.count_without(pattern, unseen).unwrap_or(0) as f64;
        // How many different values there are is asked later, of variables that are joined by.
        let distinct = places.iter().map(|(_, variable)| (variable.clone(), rows.max(1.0))).collect();
        let scan = PatternScan { pattern, places, in_graph: graph.is_some() };
        let shown = match graph {
            Some(name) => format!("{triple} {name}"),
            None => triple.to_string(),
        };
        let pattern = wrap(GraphPattern::Bgp { patterns: vec![triple.clone()] });
        Leaf { pattern, shown, rows, distinct, role: Role::Pattern, scan: Some(scan) }
    }

    fn path_leaf(
        &self,
        subject: TermPattern,
        path: PropertyPathExpression,
        object: TermPattern,
        graph: Option<&NamedNodePattern>,
        wrap: impl Fn(GraphPattern) -> GraphPattern,
    ) -> Leaf {
        let mut rows = self.path_rows(&path, graph).max(1.0);
        // Neither end is known to have few or many values.
        let ends = (rows / 3.0).max(1.0);
        let mut distinct = BTreeMap::new();
        for end in [&subject, &object] {
            match end {
                TermPattern::Variable(variable) => {
                    distinct.insert(variable.clone(), ends);
                }
                _ => rows /= ends,
            }
        }
        for values in distinct.values_mut() {
            *values = values.min(rows.max(1.0));
        }
        if let Some(NamedNodePattern::Variable(variable)) = graph {
            distinct.insert(variable.clone(), rows.max(1.0).sqrt());
        }
        let shown = format!("{subject} {path} {object}");
        let pattern = self
            .stays_put(&subject, &path, &object, graph)
            .unwrap_or_else(|| wrap(GraphPattern::Path { subject, path, object }));
        Leaf { pattern, shown, rows, distinct, role: Role::Lookup, scan: None }
    }

    /// A path of length zero leads from a term of the query to itself even when no graph has it. The evaluator looks
    /// for the term in the graph, so this case is answered here.
    fn stays_put(
        &self,
        subject: &TermPattern,
        path: &PropertyPathExpression,
        object: &TermPattern,
        graph: Option<&NamedNodePattern>,
    ) -> Option<GraphPattern> {
        if !matches!(path, PropertyPathExpression::ZeroOrMore(_) | PropertyPathExpression::ZeroOrOne(_))
            || matches!(graph, Some(NamedNodePattern::Variable(_)))
        {
            return None;
        }
        let (term, variable) = match (subject, object) {
            (TermPattern::Variable(variable), term) | (term, TermPattern::Variable(variable)) => {
                (term, Some(variable))
            }
            (one, other) if one == other => (one, None),
            _ => return None,
        };
        let id = self.term(term)?;
        for place in [SUBJECT, OBJECT] {
            let mut pattern: IdPattern = [None; 4];
            pattern[place] = Some(id);
            pattern[GRAPH] = self.graph_id(graph);
            if self.view.count_without(pattern, self.unseen(graph)).unwrap_or(1) > 0 {
                return None;
            }
        }
        let value = match term {
            TermPattern::NamedNode(node) => GroundTerm::NamedNode(node.clone()),
            TermPattern::Literal(literal) => GroundTerm::Literal(literal.clone()),
            TermPattern::BlankNode(_) | TermPattern::Variable(_) => return None,
        };
        Some(match variable {
            Some(variable) => {
                GraphPattern::Values { variables: vec![variable.clone()], bindings: vec![vec![Some(value)]] }
            }
            None => GraphPattern::Values { variables: Vec::new(), bindings: vec![Vec::new()] },
        })
    }

    fn path_rows(&self, path: &PropertyPathExpression, graph: Option<&NamedNodePattern>) -> f64 {
        let with_predicate = |node: Option<&NamedNode>| {
            let mut pattern: IdPattern = [None; 4];
            pattern[PREDICATE] = node.map(|node| self.view.hasher.term(TermRef::from(node)));
            pattern[GRAPH] = self.graph_id(graph);
            self.view.count_without(pattern, self.unseen(graph)).unwrap_or(0) as f64
        };
        match path {
            PropertyPathExpression::NamedNode(node) => with_predicate(Some(node)),
            PropertyPathExpression::Reverse(inner) => self.path_rows(inner, graph),
            PropertyPathExpression::Sequence(one, other) => {
                self.path_rows(one, graph).max(self.path_rows(other, graph))
            }
            PropertyPathExpression::Alternative(one, other) => {
                self.path_rows(one, graph) + self.path_rows(other, graph)
            }
            PropertyPathExpression::OneOrMore(inner) => CLOSURE_FACTOR * self.path_rows(inner, graph),
            PropertyPathExpression::ZeroOrMore(inner) => {
                CLOSURE_FACTOR * self.path_rows(inner, graph) + with_predicate(None)
            }
            PropertyPathExpression::ZeroOrOne(inner) => self.path_rows(inner, graph) + with_predicate(None),
            PropertyPathExpression::NegatedPropertySet(_) => with_predicate(None),
        }
    }

    /// The leaves as one pattern, in the best order found.
    fn chain(&self, mut leaves: Vec<Leaf>, bound: &Bound) -> Option<GraphPattern> {
        if leaves.is_empty() {
            return None;
        }
        let mut outside = Joined { rows: 1.0, distinct: BTreeMap::new() };
        for variable in bound {
            outside.distinct.insert(variable.clone(), 1.0);
        }
        let lead = leaves.iter().position(|leaf| leaf.role == Role::Lead);
        let best_order = if lead.is_some() {
            Some(greedy(&leaves, lead, &outside))
        } else if bound.is_empty() && leaves.len() <= BEGINNINGS_MAX {
            (0..leaves.len())
                .map(|first| greedy(&leaves, Some(first), &outside))
                .min_by(|one, other| one.1.total_cmp(&other.1))
        } else {
            None
        };
        let (order, _) = best_order.unwrap_or_else(|| greedy(&leaves, None, &outside));
        let mut slots: Vec<Option<Leaf>> = leaves.drain(..).map(Some).collect();
        let mut joined = outside;
        let mut chain: Option<GraphPattern> = None;
        let mut steps = Vec::new();
        for place in order {
            let Some(leaf) = slots.get_mut(place).and_then(Option::take) else {
                continue;
            };
            let after = joined.with(&leaf);
            // Inside something that is looked up row by row, a hash table would be made again for every row.
            let hash = chain.is_some()
                && bound.is_empty()
                && leaf.role == Role::Pattern
                && joined.shares(&leaf)
                && joined.hash_cost(&leaf) < joined.lookup_cost();
            let join = match (&chain, hash) {
                (None, _) => JoinKind::First,
                (_, true) => JoinKind::Hash,
                (_, false) => JoinKind::Lookup,
            };
            steps.push(PlannedStep { pattern: leaf.shown, pattern_rows: leaf.rows, rows: after.rows, join });
            chain = Some(match chain {
                None => leaf.pattern,
                Some(chain) if hash => GraphPattern::Join {
                    left: Box::new(as_table(leaf.pattern)),
                    right: Box::new(as_table(chain)),
                },
                Some(chain) => GraphPattern::Lateral { left: Box::new(chain), right: Box::new(leaf.pattern) },
            });
            joined = after;
        }
        if steps.len() > 1 {
            self.steps.borrow_mut().push(steps);
        }
        chain
    }
}

impl Joined {
    fn shares(&self, leaf: &Leaf) -> bool {
        leaf.distinct.keys().any(|variable| self.distinct.contains_key(variable))
    }

    fn with(&self, leaf: &Leaf) -> Self {
        let mut rows = self.rows * leaf.rows;
        let mut distinct = self.distinct.clone();
        for (variable, values) in &leaf.distinct {
            match distinct.get_mut(variable) {
                Some(known) => {
                    rows /= known.max(*values).max(1.0);
                    *known = known.min(*values);
                }
                None => {
                    distinct.insert(variable.clone(), *values);
                }
            }
        }
        for values in distinct.values_mut() {
            *values = values.min(rows.max(1.0));
        }
        Self { rows, distinct }
    }

    fn lookup_cost(&self) -> f64 {
        self.rows * LOOKUP_ROWS
    }

    fn hash_cost(&self, leaf: &Leaf) -> f64 {
        if leaf.rows > HASH_ROWS_MAX {
            return f64::INFINITY;
        }
        leaf.rows * BUILD_ROWS + self.rows * PROBE_ROWS
    }

    fn cost_of(&self, leaf: &Leaf) -> f64 {
        let work = if leaf.role == Role::Pattern && self.shares(leaf) {
            self.lookup_cost().min(self.hash_cost(leaf))
        } else {
            self.lookup_cost()
        };
        work + self.with(leaf).rows
    }
}

/// An order, always the cheapest step next among those that share a variable with what is there; and its cost.
fn greedy(leaves: &[Leaf], first: Option<usize>, outside: &Joined) -> (Vec<usize>, f64) {
    let mut joined = outside.clone();
    let mut rest: Vec<usize> = (0..leaves.len()).collect();
    let mut order = Vec::with_capacity(leaves.len());
    let mut cost = 0.0;
    let mut forced = first;
    while !rest.is_empty() {
        let connected = rest.iter().any(|place| joined.shares(&leaves[*place]));
        let next = match forced.take() {
            Some(first) => Some(first),
            None => rest.iter().copied().filter(|place| !connected || joined.shares(&leaves[*place])).min_by(
                |one, other| joined.cost_of(&leaves[*one]).total_cmp(&joined.cost_of(&leaves[*other])),
            ),
        };
        let Some(next) = next else {
            break;
        };
        cost += joined.cost_of(&leaves[next]);
        joined = joined.with(&leaves[next]);
        rest.retain(|place| *place != next);
        order.push(next);
    }
    (order, cost)
}

/// A pattern that the optimiser reads once, rather than for each row of another.
fn as_table(pattern: GraphPattern) -> GraphPattern {
    if matches!(pattern, GraphPattern::Join { .. }) {
        return pattern;
    }
    let mut variables: Vec<Variable> = Vec::new();
    pattern.on_in_scope_variable(|variable| {
        if !variables.contains(variable) {
            variables.push(variable.clone());
        }
    });
    GraphPattern::Project { inner: Box::new(pattern), variables }
}

/// In patterns a blank node is a variable that nobody asks for.
fn name_blank_nodes(term: &mut TermPattern) {
    if let TermPattern::BlankNode(node) = term {
        *term = TermPattern::Variable(Variable::new_unchecked(format!("blank_{}", node.as_str())));
    }
}

fn with_variables(bound: &Bound, pattern: &GraphPattern) -> Bound {
    let mut all = bound.clone();
    pattern.on_in_scope_variable(|variable| {
        all.insert(variable.clone());
    });
    all
}

/// What it is and how many rows it has, for something that is evaluated as a whole and is small: a search for words,
/// a subquery with a limit.
fn small_table(pattern: &GraphPattern) -> Option<(String, f64)> {
    match pattern {
        GraphPattern::Service { name, inner, .. } => {
            text::limit_of(name, inner).map(|limit| ("text search".to_owned(), limit))
        }
        GraphPattern::Slice { length: Some(length), .. } if *length <= SMALL_TABLE_ROWS_MAX => {
            Some((format!("subquery with LIMIT {length}"), *length as f64))
        }
        _ => None,
    }
}

/// Whether the optimiser looks a pattern up for each row of what it is joined with.
fn is_looked_up(pattern: &GraphPattern) -> bool {
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => true,
        GraphPattern::Join { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Lateral { left, right } => is_looked_up(left) && is_looked_up(right),
        GraphPattern::Filter { inner, .. } | GraphPattern::Graph { inner, .. } => is_looked_up(inner),
        _ => false,
    }
}
