//! Rewrites queries where the evaluator and the SPARQL 1.1 specification disagree.
//!
//! In: the algebra of a query. Out: algebra for which the evaluator gives the specified answer. Each rewrite says
//! what it is for. None of them is about speed; that is [`plan`](super::plan).

use oxrdf::Variable;
use spargebra::algebra::{
    AggregateExpression, AggregateFunction, Expression, Function, GraphPattern, OrderExpression,
};
use spargebra::term::NamedNodePattern;

/// Rewrites a pattern and everything in it.
pub(super) fn rewrite(pattern: &mut GraphPattern) {
    each_child(pattern, &mut rewrite);
    match pattern {
        GraphPattern::Group { aggregates, .. } => {
            for (_, aggregate) in aggregates {
                concatenate_strings(aggregate);
            }
        }
        GraphPattern::Graph { name: NamedNodePattern::Variable(graph), inner } => {
            let graph = graph.clone();
            if scope_to_graph(inner, &graph) != Scope::Binds {
                let graphs = GraphPattern::Graph {
                    name: NamedNodePattern::Variable(graph),
                    inner: Box::new(GraphPattern::default()),
                };
                let inner = std::mem::take(pattern);
                *pattern = GraphPattern::Lateral { left: Box::new(graphs), right: Box::new(inner) };
            }
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
    match pattern {
        GraphPattern::Bgp { .. } | GraphPattern::Path { .. } | GraphPattern::Values { .. } => {}
        GraphPattern::Join { left, right }
        | GraphPattern::Lateral { left, right }
        | GraphPattern::Union { left, right }
        | GraphPattern::Minus { left, right } => {
            callback(left);
            callback(right);
        }
        GraphPattern::LeftJoin { left, right, expression } => {
            callback(left);
            callback(right);
            if let Some(expression) = expression {
                each_exists(expression, callback);
            }
        }
        GraphPattern::Filter { expr, inner } => {
            callback(inner);
            each_exists(expr, callback);
        }
        GraphPattern::Extend { inner, expression, .. } => {
            callback(inner);
            each_exists(expression, callback);
        }
        GraphPattern::OrderBy { inner, expression } => {
            callback(inner);
            for OrderExpression::Asc(expression) | OrderExpression::Desc(expression) in expression {
                each_exists(expression, callback);
            }
        }
        GraphPattern::Group { inner, aggregates, .. } => {
            callback(inner);
            for (_, aggregate) in aggregates {
                if let AggregateExpression::FunctionCall { expr, .. } = aggregate {
                    each_exists(expr, callback);
                }
            }
        }
        GraphPattern::Graph { inner, .. }
        | GraphPattern::Project { inner, .. }
        | GraphPattern::Distinct { inner }
        | GraphPattern::Reduced { inner }
        | GraphPattern::Slice { inner, .. } => callback(inner),
        // What another endpoint does is its business.
        GraphPattern::Service { .. } => {}
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
