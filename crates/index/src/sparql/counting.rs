//! Counts without evaluating: `COUNT` over joined triple patterns, answered from the orders.
//!
//! In: the algebra of a query. Out: the same with `COUNT`s, grouped or not, replaced by their answers, where that can be done on ids: the
//! evaluator would make every row of the join to throw it away. Solutions of a join are counted as the old theory of acyclic queries has
//! it: patterns form a tree in which each shares variables with its parent; the solutions below a row are the product, over
//! its children, of the solutions with the row's values, and a child counts each value once, by lookups or in one scan, whichever
//! reads less. Whatever is no such tree is left to the evaluator. Start at [`Counter::answer`].

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasherDefault, Hasher};

use oxrdf::vocab::xsd;
use oxrdf::{Literal, NamedNode, Term, Variable};
use spargebra::algebra::{AggregateExpression, AggregateFunction, Expression, GraphPattern};
use spargebra::term::{GroundTerm, NamedNodePattern, TermPattern, TriplePattern};

use super::dataset::DefaultGraphIds;
use crate::error::IndexError;
use crate::order::{GRAPH, OBJECT, Order, PREDICATE, SUBJECT};
use crate::scan::{GraphFilter, IdPattern, QuadIds, Scan};
use crate::term::{TermId, TermKind};
use crate::view::View;

/// What a lookup costs, in rows read by a scan.
const LOOKUP_ROWS: f64 = 20.0;
/// Most values that are held to count by; a query that needs more is left to the evaluator, which has a budget.
const VALUES_MAX: usize = 8_000_000;
/// Most groups.
const GROUPS_MAX: usize = 100_000;
/// Most patterns of one count.
const PATTERNS_MAX: usize = 16;
/// Rows read between two looks at the clock.
const ROWS_BETWEEN_CHECKS: u32 = 4096;

/// Two values at most are shared by a pattern and its parent.
type Key = [TermId; 2];
const NO_VALUE: TermId = TermId::DEFAULT_GRAPH;

/// Something for each key.
type KeyMap<T> = HashMap<Key, T, BuildHasherDefault<KeyHasher>>;

/// Ids are keyed hashes already, or numbers; they need no more than to be mixed.
#[derive(Default)]
struct KeyHasher(u64);

impl KeyHasher {
    fn mix(&mut self, number: u64) {
        let product = u128::from(self.0.rotate_left(23) ^ number)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15_F39C_C060_5CED_C835);
        self.0 = (product >> 64) as u64 ^ product as u64;
    }
}

impl Hasher for KeyHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.mix(u64::from(*byte));
        }
    }

    fn write_usize(&mut self, number: usize) {
        self.mix(number as u64);
    }

    fn write_u128(&mut self, number: u128) {
        self.mix((number >> 64) as u64 ^ (number as u64).rotate_left(32));
    }
}

/// Counts for one query.
pub(super) struct Counter<'a> {
    pub(super) view: &'a View,
    pub(super) default_graph: &'a DefaultGraphIds,
    /// Says when to stop.
    pub(super) check: &'a dyn Fn() -> Result<(), IndexError>,
}

/// Why there is no answer.
enum Left {
    /// The evaluator is to do it.
    ToEvaluator,
    Failed(IndexError),
}

impl From<IndexError> for Left {
    fn from(error: IndexError) -> Self {
        Self::Failed(error)
    }
}

/// A triple pattern with its place in the tree.
struct Node {
    pattern: IdPattern,
    /// The variables, by number, at subject, predicate and object.
    variables: [Option<usize>; 3],
    filters: Vec<(usize, Comparison)>,
    rows: f64,
    children: Vec<usize>,
    /// Variables shared with the parent.
    shared: Vec<usize>,
}

/// What a number must be.
#[derive(Debug, Clone, Copy)]
enum Comparison {
    Less(i64),
    AtMost(i64),
    More(i64),
    AtLeast(i64),
    Equal(i64),
}

impl Comparison {
    fn holds(self, number: i64) -> bool {
        match self {
            Self::Less(limit) => number < limit,
            Self::AtMost(limit) => number <= limit,
            Self::More(limit) => number > limit,
            Self::AtLeast(limit) => number >= limit,
            Self::Equal(limit) => number == limit,
        }
    }

    /// The same, said of the other side.
    fn turned(self) -> Self {
        match self {
            Self::Less(limit) => Self::More(limit),
            Self::AtMost(limit) => Self::AtLeast(limit),
            Self::More(limit) => Self::Less(limit),
            Self::AtLeast(limit) => Self::AtMost(limit),
            Self::Equal(limit) => Self::Equal(limit),
        }
    }
}

/// What is to be counted.
enum Wanted {
    Solutions,
    /// Different values of a variable.
    Distinct(usize),
}

/// How the solutions below a child are found for a value.
enum Table {
    /// All of them, counted in one scan.
    Whole(KeyMap<u64>),
    /// Those that were asked for.
    Asked(KeyMap<u64>),
}

impl Counter<'_> {
    /// Replaces the counts of a query that can be answered here.
    pub(super) fn answer(&self, pattern: &mut GraphPattern) -> Result<(), IndexError> {
        match pattern {
            GraphPattern::Project { inner, .. }
            | GraphPattern::Extend { inner, .. }
            | GraphPattern::OrderBy { inner, .. }
            | GraphPattern::Slice { inner, .. }
            | GraphPattern::Distinct { inner }
            | GraphPattern::Reduced { inner }
            | GraphPattern::Filter { inner, .. } => self.answer(inner),
            GraphPattern::Group { inner, variables, aggregates } => {
                match self.group(inner, variables, aggregates) {
                    Ok(answer) => *pattern = answer,
                    Err(Left::ToEvaluator) => {}
                    Err(Left::Failed(error)) => return Err(error),
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn group(
        &self,
        inner: &GraphPattern,
        keys: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
    ) -> Result<GraphPattern, Left> {
        let mut names: Vec<Variable> = Vec::new();
        let mut nodes = self.nodes(inner, &mut names)?;
        let number =
            |variable: &Variable| names.iter().position(|name| name == variable).ok_or(Left::ToEvaluator);
        let keys_wanted: Vec<usize> = keys.iter().map(number).collect::<Result<_, _>>()?;
        let mut wanted = Vec::new();
        for (_, aggregate) in aggregates {
            wanted.push(match aggregate {
                AggregateExpression::CountSolutions { distinct: false } => Wanted::Solutions,
                AggregateExpression::FunctionCall {
                    name: AggregateFunction::Count,
                    expr: Expression::Variable(variable),
                    distinct,
                } => {
                    let variable = number(variable)?;
                    if *distinct { Wanted::Distinct(variable) } else { Wanted::Solutions }
                }
                _ => return Err(Left::ToEvaluator),
            });
        }
        if keys_wanted.len() > 2 {
            return Err(Left::ToEvaluator);
        }
        let mut needed = keys_wanted.clone();
        needed.extend(wanted.iter().filter_map(|wanted| match wanted {
            Wanted::Distinct(variable) => Some(*variable),
            Wanted::Solutions => None,
        }));
        let root = plant(&mut nodes, &needed)?;
        let groups = self.count(&nodes, root, &keys_wanted, &wanted)?;
        self.table(groups, keys, aggregates)
    }

    /// The patterns of a join, and comparisons of their variables with numbers.
    fn nodes(&self, inner: &GraphPattern, names: &mut Vec<Variable>) -> Result<Vec<Node>, Left> {
        let (triples, comparisons) = match inner {
            GraphPattern::Bgp { patterns } => (patterns, Vec::new()),
            GraphPattern::Filter { expr, inner } => match &**inner {
                GraphPattern::Bgp { patterns } => (patterns, comparisons(expr)?),
                _ => return Err(Left::ToEvaluator),
            },
            _ => return Err(Left::ToEvaluator),
        };
        if triples.is_empty() || triples.len() > PATTERNS_MAX {
            return Err(Left::ToEvaluator);
        }
        let mut nodes = Vec::with_capacity(triples.len());
        for triple in triples {
            nodes.push(self.node(triple, names)?);
        }
        for (variable, comparison) in comparisons {
            let variable = names.iter().position(|name| *name == variable).ok_or(Left::ToEvaluator)?;
            for node in &mut nodes {
                if node.has(variable) {
                    node.filters.push((variable, comparison));
                }
            }
        }
        Ok(nodes)
    }

    fn node(&self, triple: &TriplePattern, names: &mut Vec<Variable>) -> Result<Node, Left> {
        let mut pattern: IdPattern = [None; 4];
        pattern[GRAPH] = match self.default_graph {
            DefaultGraphIds::Union => None,
            DefaultGraphIds::Unnamed => Some(TermId::DEFAULT_GRAPH),
            DefaultGraphIds::Graphs(graphs) => match graphs.as_slice() {
                [graph] => Some(*graph),
                _ => return Err(Left::ToEvaluator),
            },
        };
        let mut variables = [None; 3];
        let mut name = |variable: Variable| {
            names.iter().position(|name| *name == variable).unwrap_or_else(|| {
                names.push(variable);
                names.len() - 1
            })
        };
        for (place, term) in [(SUBJECT, &triple.subject), (OBJECT, &triple.object)] {
            match term {
                TermPattern::NamedNode(node) => pattern[place] = Some(self.view.hasher.iri(node.as_str())),
                TermPattern::Literal(literal) => {
                    pattern[place] = Some(self.view.hasher.term(literal.as_ref().into()));
                }
                TermPattern::BlankNode(node) => {
                    variables[place] =
                        Some(name(Variable::new_unchecked(format!("blank_{}", node.as_str()))));
                }
                TermPattern::Variable(variable) => variables[place] = Some(name(variable.clone())),
            }
        }
        match &triple.predicate {
            NamedNodePattern::NamedNode(node) => {
                pattern[PREDICATE] = Some(self.view.hasher.iri(node.as_str()));
            }
            NamedNodePattern::Variable(variable) => variables[PREDICATE] = Some(name(variable.clone())),
        }
        let mut known: Vec<usize> = variables.iter().flatten().copied().collect();
        let count = known.len();
        known.sort_unstable();
        known.dedup();
        // One variable twice in a pattern is rare, and no scan is for it.
        if known.len() < count {
            return Err(Left::ToEvaluator);
        }
        let rows = self.view.count(pattern)? as f64;
        Ok(Node { pattern, variables, filters: Vec::new(), rows, children: Vec::new(), shared: Vec::new() })
    }

    fn filter(&self) -> GraphFilter {
        match self.default_graph {
            DefaultGraphIds::Union => GraphFilter::UnionWithoutMetadata,
            DefaultGraphIds::Unnamed | DefaultGraphIds::Graphs(_) => GraphFilter::All,
        }
    }

    fn scan(&self, pattern: IdPattern) -> Result<Scan, Left> {
        Ok(Scan::new(self.view, pattern, self.filter())?)
    }

    /// Reads the rows of the root and counts what is below each.
    fn count(
        &self,
        nodes: &[Node],
        root: usize,
        keys: &[usize],
        wanted: &[Wanted],
    ) -> Result<KeyMap<Vec<u64>>, Left> {
        let mut groups: KeyMap<Vec<u64>> = KeyMap::default();
        if keys.is_empty() {
            groups.insert([NO_VALUE; 2], vec![0; wanted.len()]);
        }
        let node = &nodes[root];
        let only_solutions = wanted.iter().all(|wanted| matches!(wanted, Wanted::Solutions));
        if keys.is_empty() && only_solutions && node.children.is_empty() && node.filters.is_empty() {
            let count = self.scan(node.pattern)?.count_rows(self.check)?;
            groups.insert([NO_VALUE; 2], vec![count; wanted.len()]);
            return Ok(groups);
        }
        if let ([key], true) = (keys, only_solutions)
            && node.children.is_empty()
            && node.filters.is_empty()
            && let Some(order) = node.order_by(*key)
        {
            let place = node.place(*key).ok_or(Left::ToEvaluator)?;
            let scan = Scan::in_order(self.view, order, node.pattern, self.filter())?;
            for (value, count) in scan.count_by(place, self.check)? {
                groups.insert([value, NO_VALUE], vec![count; wanted.len()]);
                if groups.len() > GROUPS_MAX {
                    return Err(Left::ToEvaluator);
                }
            }
            return Ok(groups);
        }
        let mut work = Work { counter: self, nodes, tables: Vec::new(), values: 0, rows: 0 };
        work.prepare(root, node.rows)?;
        let mut seen: HashSet<(Key, usize, TermId), BuildHasherDefault<KeyHasher>> = HashSet::default();
        // Rows of one group often follow each other.
        let mut current: Option<(Key, Vec<u64>)> = None;
        for quad in self.scan(node.pattern)? {
            let quad = quad?;
            let below = work.below(root, &quad)?;
            if below == 0 {
                continue;
            }
            let mut key = [NO_VALUE; 2];
            for (value, variable) in key.iter_mut().zip(keys) {
                *value = node.value(&quad, *variable).ok_or(Left::ToEvaluator)?;
            }
            if current.as_ref().is_none_or(|(known, _)| *known != key) {
                if let Some((known, counts)) = current.take() {
                    groups.insert(known, counts);
                }
                let counts = groups.remove(&key).unwrap_or_else(|| vec![0; wanted.len()]);
                current = Some((key, counts));
                if groups.len() > GROUPS_MAX {
                    return Err(Left::ToEvaluator);
                }
            }
            let Some((_, counts)) = &mut current else {
                continue;
            };
            for (place, (count, wanted)) in counts.iter_mut().zip(wanted).enumerate() {
                let more = match wanted {
                    Wanted::Solutions => below,
                    Wanted::Distinct(variable) => {
                        let value = node.value(&quad, *variable).ok_or(Left::ToEvaluator)?;
                        u64::from(seen.insert((key, place, value)))
                    }
                };
                *count = count.checked_add(more).ok_or(Left::ToEvaluator)?;
            }
            if seen.len() > VALUES_MAX {
                return Err(Left::ToEvaluator);
            }
        }
        if let Some((known, counts)) = current {
            groups.insert(known, counts);
        }
        Ok(groups)
    }

    /// The groups as a table of terms.
    fn table(
        &self,
        groups: KeyMap<Vec<u64>>,
        keys: &[Variable],
        aggregates: &[(Variable, AggregateExpression)],
    ) -> Result<GraphPattern, Left> {
        let mut buffer = Vec::new();
        let mut bindings = Vec::with_capacity(groups.len());
        for (key, counts) in groups {
            let mut row = Vec::with_capacity(keys.len() + counts.len());
            for value in key.iter().take(keys.len()) {
                row.push(Some(match self.view.term(*value, &mut buffer)? {
                    Some(Term::NamedNode(node)) => GroundTerm::NamedNode(node),
                    Some(Term::Literal(literal)) => GroundTerm::Literal(literal),
                    // Tables in queries cannot hold them.
                    Some(Term::BlankNode(_)) | None => return Err(Left::ToEvaluator),
                }));
            }
            for count in counts {
                let text = count.to_string();
                row.push(Some(GroundTerm::Literal(Literal::new_typed_literal(
                    text,
                    NamedNode::from(xsd::INTEGER),
                ))));
            }
            bindings.push(row);
        }
        let variables = keys.iter().chain(aggregates.iter().map(|(variable, _)| variable)).cloned().collect();
        Ok(GraphPattern::Values { variables, bindings })
    }
}

impl Node {
    fn has(&self, variable: usize) -> bool {
        self.variables.contains(&Some(variable))
    }

    fn place(&self, variable: usize) -> Option<usize> {
        self.variables.iter().position(|other| *other == Some(variable))
    }

    /// The order in which what is bound comes first and then a variable, so that equal values follow each other.
    fn order_by(&self, variable: usize) -> Option<Order> {
        let place = self.place(variable)?;
        let bound = self.pattern.iter().filter(|id| id.is_some()).count();
        Order::ALL.into_iter().find(|order| {
            let columns = order.columns();
            columns[..bound].iter().all(|column| self.pattern[*column].is_some()) && columns[bound] == place
        })
    }

    /// The value of a variable in a quad.
    fn value(&self, quad: &QuadIds, variable: usize) -> Option<TermId> {
        self.place(variable).map(|place| [quad.subject, quad.predicate, quad.object][place])
    }
}

/// Makes the patterns a tree and says which is the root: one that has the variables needed, the smallest of these. Each pattern is put
/// below one that has all variables it shares with any before it.
fn plant(nodes: &mut [Node], needed: &[usize]) -> Result<usize, Left> {
    let can_be_root = |node: &Node| needed.iter().all(|variable| node.has(*variable));
    let root = (0..nodes.len())
        .filter(|place| can_be_root(&nodes[*place]))
        .min_by(|one, other| nodes[*one].rows.total_cmp(&nodes[*other].rows))
        .ok_or(Left::ToEvaluator)?;
    let mut planted = vec![root];
    while planted.len() < nodes.len() {
        let mut next = None;
        for place in (0..nodes.len()).filter(|place| !planted.contains(place)) {
            let shared: Vec<usize> = nodes[place]
                .variables
                .iter()
                .flatten()
                .copied()
                .filter(|variable| planted.iter().any(|other| nodes[*other].has(*variable)))
                .collect();
            let parent = planted
                .iter()
                .copied()
                .find(|parent| shared.iter().all(|variable| nodes[*parent].has(*variable)));
            // What shares nothing yet may share something with a pattern that is still to come.
            if let Some(parent) = parent
                && !shared.is_empty()
                && shared.len() <= 2
            {
                next = Some((place, parent, shared));
                break;
            }
        }
        let Some((place, parent, shared)) = next else {
            return Err(Left::ToEvaluator);
        };
        nodes[place].shared = shared;
        nodes[parent].children.push(place);
        planted.push(place);
    }
    Ok(root)
}

/// The tables of a count while it runs.
struct Work<'a> {
    counter: &'a Counter<'a>,
    nodes: &'a [Node],
    tables: Vec<Option<Table>>,
    values: usize,
    rows: u32,
}

impl Work<'_> {
    /// Makes the tables of everything below a pattern of which about so many rows will be read.
    fn prepare(&mut self, place: usize, rows: f64) -> Result<(), Left> {
        self.tables.resize_with(self.nodes.len(), || None);
        let nodes = self.nodes;
        for &child in &nodes[place].children {
            let node = &nodes[child];
            let view = self.counter.view;
            let mut values = node.rows.max(1.0);
            if let [variable] = node.shared.as_slice()
                && let Some(column) = node.place(*variable)
            {
                values = view.count_distinct(node.pattern, column, &[])?.max(1.0);
            }
            let asked = rows.min(values);
            if asked * LOOKUP_ROWS < node.rows {
                self.prepare(child, asked * node.rows / values)?;
                self.tables[child] = Some(Table::Asked(KeyMap::default()));
                continue;
            }
            self.prepare(child, node.rows)?;
            let mut counts: KeyMap<u64> = KeyMap::default();
            for quad in self.counter.scan(node.pattern)? {
                let quad = quad?;
                let below = self.below(child, &quad)?;
                if below > 0 {
                    let count = counts.entry(node.key(&quad)).or_default();
                    *count = count.checked_add(below).ok_or(Left::ToEvaluator)?;
                }
                if self.values + counts.len() > VALUES_MAX {
                    return Err(Left::ToEvaluator);
                }
            }
            self.values += counts.len();
            self.tables[child] = Some(Table::Whole(counts));
        }
        Ok(())
    }

    /// The number of solutions below one row of a pattern.
    fn below(&mut self, place: usize, quad: &QuadIds) -> Result<u64, Left> {
        self.rows = self.rows.wrapping_add(1);
        if self.rows.is_multiple_of(ROWS_BETWEEN_CHECKS) {
            (self.counter.check)()?;
        }
        let nodes = self.nodes;
        for (variable, comparison) in &nodes[place].filters {
            let value = nodes[place].value(quad, *variable).ok_or(Left::ToEvaluator)?;
            match value.kind() {
                Some(TermKind::Integer) => {
                    if !value.as_integer().is_some_and(|number| comparison.holds(number)) {
                        return Ok(0);
                    }
                }
                // Nodes compare with no number.
                Some(TermKind::Iri | TermKind::MetaIri | TermKind::BlankNode) => return Ok(0),
                _ => return Err(Left::ToEvaluator),
            }
        }
        let mut product: u64 = 1;
        for &child in &nodes[place].children {
            let key = nodes[child].key_in(quad, &nodes[place]);
            let count = match &self.tables[child] {
                Some(Table::Whole(counts)) => counts.get(&key).copied().unwrap_or(0),
                Some(Table::Asked(counts)) => match counts.get(&key) {
                    Some(count) => *count,
                    None => self.ask(child, key)?,
                },
                None => return Err(Left::ToEvaluator),
            };
            if count == 0 {
                return Ok(0);
            }
            product = product.checked_mul(count).ok_or(Left::ToEvaluator)?;
        }
        Ok(product)
    }

    /// Counts the solutions of a pattern for one value, and remembers them.
    fn ask(&mut self, place: usize, key: Key) -> Result<u64, Left> {
        let node = &self.nodes[place];
        let mut pattern = node.pattern;
        for (value, variable) in key.into_iter().zip(&node.shared) {
            let column = node.place(*variable).ok_or(Left::ToEvaluator)?;
            pattern[column] = Some(value);
        }
        let scan = self.counter.scan(pattern)?;
        let count = if node.children.is_empty() && node.filters.is_empty() {
            scan.count_rows(self.counter.check)?
        } else {
            let mut sum: u64 = 0;
            for quad in scan {
                let below = self.below(place, &quad?)?;
                sum = sum.checked_add(below).ok_or(Left::ToEvaluator)?;
            }
            sum
        };
        self.values += 1;
        if self.values > VALUES_MAX {
            return Err(Left::ToEvaluator);
        }
        if let Some(Table::Asked(counts)) = &mut self.tables[place] {
            counts.insert(key, count);
        }
        Ok(count)
    }
}

impl Node {
    /// The values of a row that the parent shares.
    fn key(&self, quad: &QuadIds) -> Key {
        self.key_in(quad, self)
    }

    /// The same, in a row of another pattern.
    fn key_in(&self, quad: &QuadIds, other: &Self) -> Key {
        let mut key = [NO_VALUE; 2];
        for (value, variable) in key.iter_mut().zip(&self.shared) {
            *value = other.value(quad, *variable).unwrap_or(NO_VALUE);
        }
        key
    }
}

/// The comparisons of an expression that is nothing but comparisons of variables with whole numbers.
fn comparisons(expression: &Expression) -> Result<Vec<(Variable, Comparison)>, Left> {
    let compare = |one: &Expression, other: &Expression, make: fn(i64) -> Comparison| {
        let number = |expression: &Expression| match expression {
            Expression::Literal(literal) if literal.datatype() == xsd::INTEGER => {
                literal.value().parse().ok()
            }
            _ => None,
        };
        let (variable, comparison) = match (one, other) {
            (Expression::Variable(variable), number_side) => (variable, number(number_side).map(make)),
            (number_side, Expression::Variable(variable)) => {
                (variable, number(number_side).map(|number| make(number).turned()))
            }
            _ => return Err(Left::ToEvaluator),
        };
        Ok(vec![(variable.clone(), comparison.ok_or(Left::ToEvaluator)?)])
    };
    match expression {
        Expression::Less(one, other) => compare(one, other, Comparison::Less),
        Expression::LessOrEqual(one, other) => compare(one, other, Comparison::AtMost),
        Expression::Greater(one, other) => compare(one, other, Comparison::More),
        Expression::GreaterOrEqual(one, other) => compare(one, other, Comparison::AtLeast),
        Expression::Equal(one, other) => compare(one, other, Comparison::Equal),
        Expression::And(one, other) => {
            let mut all = comparisons(one)?;
            all.extend(comparisons(other)?);
            Ok(all)
        }
        _ => Err(Left::ToEvaluator),
    }
}
