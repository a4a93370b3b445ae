//! Rewrites queries where the evaluator and the SPARQL 1.1 specification disagree.
//!
//! In: the algebra of a query. Out: algebra for which the evaluator gives the specified answer. Each rewrite says
//! what it is for. None of them is about speed; that is [`plan`](super::plan).

use oxrdf::Variable;
use spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression,
};
use spargebra::term::NamedNodePattern;

use crate::error::IndexError;

/// How many times the length of its inputs an expression may make a text.
const GROWTH_MAX: f64 = 100.0;

/// Refuses expressions like `CONCAT(CONCAT(?x, ?x), CONCAT(?x, ?x))` that make long texts of short ones: inside one
/// expression nothing can stop the evaluator.
pub(super) fn refuse_growth(pattern: &mut GraphPattern) -> Result<(), IndexError> {
    let mut most = 0.0_f64;
    most_growth(pattern, &mut most);
    if most > GROWTH_MAX {
        let what = format!("an expression makes texts more than {GROWTH_MAX} times as long as they were");
        return Err(IndexError::TooComplex { what });
    }
    Ok(())
}

fn most_growth(pattern: &mut GraphPattern, most: &mut f64) {
    each_expression(pattern, &mut |expression| *most = most.max(growth(expression)));
    each_child(pattern, &mut |child| most_growth(child, most));
}

/// How many times as long as the longest of its inputs the text of an expression can be.
fn growth(expression: &Expression) -> f64 {
    let largest = |inner: &[Expression]| inner.iter().map(growth).fold(1.0, f64::max);
    match expression {
        Expression::Literal(_) => 0.01,
        Expression::FunctionCall(Function::Concat, inner) => inner.iter().map(growth).sum(),
        Expression::FunctionCall(Function::Replace, inner) => {
            let replacement = match inner.get(2) {
                Some(Expression::Literal(literal)) => literal.value().len() as f64,
                _ => GROWTH_MAX / 2.0,
            };
            largest(inner) * replacement.max(1.0)
        }
        Expression::FunctionCall(Function::EncodeForUri, inner) => 3.0 * largest(inner),
        Expression::FunctionCall(_, inner) | Expression::Coalesce(inner) => largest(inner),
        Expression::If(condition, one, other) => growth(condition).max(growth(one)).max(growth(other)),
        Expression::Or(one, other)
        | Expression::And(one, other)
        | Expression::Equal(one, other)
        | Expression::SameTerm(one, other)
        | Expression::Greater(one, other)
        | Expression::GreaterOrEqual(one, other)
        | Expression::Less(one, other)
        | Expression::LessOrEqual(one, other) => growth(one).max(growth(other)),
        Expression::Not(inner) => growth(inner),
        Expression::In(one, others) => growth(one).max(largest(others)),
        // Numbers and names do not grow. Patterns in `EXISTS` are looked at on their own.
        _ => 1.0,
    }
}

/// Rewrites a pattern and everything in it.
pub(super) fn rewrite(pattern: &mut GraphPattern) {
    each_child(pattern, &mut rewrite);
    match pattern {
        GraphPattern::Group { aggregates, .. } => {
            for (_, aggregate) in aggregates {
                concatenate_strings(aggregate);
            }
        }
        GraphPattern::Graph { name: NamedNodePattern::Variable(_), .. } => {
            let graph = std::mem::take(pattern);
            *pattern = graph_by_variable(graph);
        }
        // A service whose name a variable holds can only be asked once the variable has a value.
        GraphPattern::Join { left, right } => {
            let by_variable = |side: &GraphPattern| {
                matches!(side, GraphPattern::Service { name: NamedNodePattern::Variable(_), .. })
            };
            let (service, rest) = match (by_variable(left), by_variable(right)) {
                (true, false) => (left, right),
                (false, true) => (right, left),
                _ => return,
            };
            let (left, right) = (std::mem::take(rest), std::mem::take(service));
            *pattern = GraphPattern::Lateral { left, right };
        }
        _ => {}
    }
}

/// `GRAPH ?g { … }` in a form that the evaluator gets right.
fn graph_by_variable(pattern: GraphPattern) -> GraphPattern {
    let GraphPattern::Graph { name: NamedNodePattern::Variable(graph), mut inner } = pattern else {
        return pattern;
    };
    if hides(&inner, &graph) {
        // A subquery has a `?g` of its own, so the graph goes by another name inside.
        let other = Variable::new_unchecked(format!("graph_{}", graph.as_str()));
        let mut visible = false;
        inner.on_in_scope_variable(|variable| visible |= *variable == graph);
        let inside = GraphPattern::Graph { name: NamedNodePattern::Variable(other.clone()), inner };
        let inside = Box::new(graph_by_variable(inside));
        let expression = Expression::Variable(other);
        return if visible {
            let same = Expression::SameTerm(Box::new(Expression::Variable(graph)), Box::new(expression));
            GraphPattern::Filter { expr: same, inner: inside }
        } else {
            GraphPattern::Extend { inner: inside, variable: graph, expression }
        };
    }
    let scope = scope_to_graph(&mut inner, &graph);
    let name = NamedNodePattern::Variable(graph);
    let scoped = GraphPattern::Graph { name: name.clone(), inner };
    if scope == Scope::Binds {
        return scoped;
    }
    let graphs = GraphPattern::Graph { name, inner: Box::new(GraphPattern::default()) };
    GraphPattern::Lateral { left: Box::new(graphs), right: Box::new(scoped) }
}

/// True when a subquery uses the variable and does not project it.
fn hides(pattern: &GraphPattern, variable: &Variable) -> bool {
    match pattern {
        GraphPattern::Bgp { .. }
        | GraphPattern::Path { .. }
        | GraphPattern::Values { .. }
        | GraphPattern::Graph { .. }
        | GraphPattern::Service { .. } => false,
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right }
        | GraphPattern::LeftJoin { left, right, .. } => hides(left, variable) || hides(right, variable),
        GraphPattern::Project { inner, variables } if !variables.contains(variable) => {
            let mut used = false;
            inner.on_in_scope_variable(|other| used |= other == variable);
            used || hides(inner, variable)
        }
        GraphPattern::Project { inner, .. }
        | GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. }
        | GraphPattern::Group { inner, .. } => hides(inner, variable),
    }
}

/// `GROUP_CONCAT` gives a plain string, also when all its inputs have one language.
fn concatenate_strings(aggregate: &mut AggregateExpression) {
    if let AggregateExpression::FunctionCall { name: AggregateFunction::GroupConcat { .. }, expr, .. } =
        aggregate
    {
        let inner = std::mem::replace(expr, Expression::Coalesce(Vec::new()));
        *expr = Expression::FunctionCall(Function::Str, vec![inner]);
    }
}

/// How a pattern inside `GRAPH ?g` depends on the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scope {
    /// Each of its solutions has a value for `?g`.
    Binds,
    /// It has the same solutions in every graph; something beside it must bind `?g`.
    Free,
    /// It must be evaluated once for each graph.
    PerGraph,
}

/// The evaluator puts `?g` into the patterns inside and forgets about `GRAPH`. That loses it where no pattern is
/// (`VALUES`), where it is not projected (subqueries), and lets it be seen where it is not (`MINUS`).
fn scope_to_graph(pattern: &mut GraphPattern, graph: &Variable) -> Scope {
    match pattern {
        // An empty one becomes the list of graphs.
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } => Scope::Binds,
        GraphPattern::Values { .. } | GraphPattern::Service { .. } | GraphPattern::Graph { .. } => {
            Scope::Free
        }
        GraphPattern::Join { left, right } | GraphPattern::Lateral { left, right } => {
            match (scope_to_graph(left, graph), scope_to_graph(right, graph)) {
                (Scope::PerGraph, _) | (_, Scope::PerGraph) => Scope::PerGraph,
                (Scope::Free, Scope::Free) => Scope::PerGraph,
                _ => Scope::Binds,
            }
        }
        GraphPattern::LeftJoin { left, right, .. } => {
            match (scope_to_graph(left, graph), scope_to_graph(right, graph)) {
                (Scope::Binds, Scope::Binds | Scope::Free) => Scope::Binds,
                _ => Scope::PerGraph,
            }
        }
        GraphPattern::Union { left, right } => {
            match (scope_to_graph(left, graph), scope_to_graph(right, graph)) {
                (Scope::Binds, Scope::Binds) => Scope::Binds,
                (Scope::Free, Scope::Free) => Scope::Free,
                _ => Scope::PerGraph,
            }
        }
        GraphPattern::Minus { left, right } => {
            let scope = scope_to_graph(left, graph);
            let mut shares = false;
            right.on_in_scope_variable(|variable| {
                left.on_in_scope_variable(|other| shares |= variable == other);
            });
            if !shares {
                let kept = std::mem::take(left);
                *pattern = *kept;
                return scope;
            }
            match (scope, scope_to_graph(right, graph)) {
                (Scope::Binds, Scope::Binds | Scope::Free) => Scope::Binds,
                _ => Scope::PerGraph,
            }
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner } => scope_to_graph(inner, graph),
        GraphPattern::Slice { inner, .. } => {
            scope_to_graph(inner, graph);
            Scope::PerGraph
        }
        GraphPattern::Project { inner, variables } => {
            let scope = scope_to_graph(inner, graph);
            if !variables.contains(graph) {
                variables.push(graph.clone());
            }
            scope
        }
        GraphPattern::Group { inner, variables, .. } => {
            let scope = scope_to_graph(inner, graph);
            if variables.is_empty() || scope != Scope::Binds {
                // A group without keys exists even where nothing matches.
                return Scope::PerGraph;
            }
            if !variables.contains(graph) {
                variables.push(graph.clone());
            }
            Scope::Binds
        }
    }
}

/// Calls back for every pattern directly inside this one, those in `EXISTS` included.
pub(super) fn each_child(pattern: &mut GraphPattern, callback: &mut impl FnMut(&mut GraphPattern)) {
    each_expression(pattern, &mut |expression| each_exists(expression, callback));
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right }
        | GraphPattern::LeftJoin { left, right, .. } => {
            callback(left);
            callback(right);
        }
        GraphPattern::Filter { inner, .. }
        | GraphPattern::Extend { inner, .. }
        | GraphPattern::OrderBy { inner, .. }
        | GraphPattern::Group { inner, .. }
        | GraphPattern::Graph { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => callback(inner),
        // What another endpoint does is its business.
        GraphPattern::Service { .. } => {}
    }
}

/// Calls back for every expression that a pattern itself has.
pub(super) fn each_expression(pattern: &mut GraphPattern, callback: &mut impl FnMut(&mut Expression)) {
    match pattern {
        GraphPattern::LeftJoin { expression: Some(expression), .. }
        | GraphPattern::Filter { expr: expression, .. }
        | GraphPattern::Extend { expression, .. } => callback(expression),
        GraphPattern::OrderBy { expression, .. } => {
            for OrderExpression::Asc(expression) | OrderExpression::Desc(expression) in expression {
                callback(expression);
            }
        }
        GraphPattern::Group { aggregates, .. } => {
            for (_, aggregate) in aggregates {
                if let AggregateExpression::FunctionCall { expr, .. } = aggregate {
                    callback(expr);
                }
            }
        }
        _ => {}
    }
}

/// Calls back for every `EXISTS` in an expression.
pub(super) fn each_exists(expression: &mut Expression, callback: &mut impl FnMut(&mut GraphPattern)) {
    match expression {
        Expression::Exists(pattern) => callback(pattern),
        Expression::NamedNode(_)
        | Expression::Literal(_)
        | Expression::Variable(_)
        | Expression::Bound(_) => {}
        Expression::Or(one, other)
        | Expression::And(one, other)
        | Expression::Equal(one, other)
        | Expression::SameTerm(one, other)
        | Expression::Greater(one, other)
        | Expression::GreaterOrEqual(one, other)
        | Expression::Less(one, other)
        | Expression::LessOrEqual(one, other)
        | Expression::Add(one, other)
        | Expression::Subtract(one, other)
        | Expression::Multiply(one, other)
        | Expression::Divide(one, other) => {
            each_exists(one, callback);
            each_exists(other, callback);
        }
        Expression::UnaryPlus(inner) | Expression::UnaryMinus(inner) | Expression::Not(inner) => {
            each_exists(inner, callback);
        }
        Expression::If(condition, one, other) => {
            each_exists(condition, callback);
            each_exists(one, callback);
            each_exists(other, callback);
        }
        Expression::In(one, others) => {
            each_exists(one, callback);
            for other in others {
                each_exists(other, callback);
            }
        }
        Expression::Coalesce(inner) | Expression::FunctionCall(_, inner) => {
            for inner in inner {
                each_exists(inner, callback);
            }
        }
    }
}
