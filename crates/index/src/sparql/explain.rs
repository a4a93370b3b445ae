//! What a query does: the joins as ordered, and the plan as run, with rows as estimated and as counted.
//!
//! In: a query, which is run to its end and its results thrown away. Out: an [`Explanation`], for people
//! (`Display`) and for programs (`Serialize`). Start at [`Snapshot::explain`](crate::Snapshot::explain).

use std::fmt;

use serde::Serialize;
use serde_json::Value;
use spareval::QueryExplanation;

use super::plan::{JoinKind, PlannedStep};

/// A query that was run, told from the inside.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Explanation {
    /// For each group of patterns the order in which they are joined.
    pub joins: Vec<Vec<ExplainedStep>>,
    /// The plan with what happened in it.
    pub plan: PlanNode,
    /// Results of the query.
    pub results: u64,
    /// Seconds for planning, evaluation included for everything.
    pub seconds: f64,
}

/// One pattern in a join order.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct ExplainedStep {
    /// The pattern, as SPARQL.
    pub pattern: String,
    /// Rows that match it on its own.
    pub pattern_rows: f64,
    /// Rows expected after it is joined with those before it.
    pub estimated_rows: f64,
    /// `first`, `lookup` (for each row) or `hash` (read once).
    pub join: &'static str,
}

/// One operator of a plan.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PlanNode {
    /// The operator and what it is about.
    pub name: String,
    /// Rows that were expected; nothing where nothing is estimated.
    pub estimated_rows: Option<f64>,
    /// Rows that came out, over all times it was run.
    pub rows: u64,
    /// Seconds spent in it and in what is below it.
    pub seconds: f64,
    /// Where its rows come from.
    pub children: Vec<PlanNode>,
}

impl Explanation {
    pub(super) fn new(
        explanation: &QueryExplanation,
        steps: Vec<Vec<PlannedStep>>,
        results: u64,
        seconds: f64,
    ) -> Self {
        let mut json = Vec::new();
        let plan = explanation
            .write_in_json(&mut json)
            .ok()
            .and_then(|()| serde_json::from_slice::<Value>(&json).ok())
            .map_or(Value::Null, |mut value| value["plan"].take());
        let all: Vec<&PlannedStep> = steps.iter().flatten().collect();
        let plan = PlanNode::read(&plan, &all);
        let step = |step: &PlannedStep| ExplainedStep {
            pattern: step.pattern.clone(),
            pattern_rows: step.pattern_rows,
            estimated_rows: step.rows,
            join: match step.join {
                JoinKind::First => "first",
                JoinKind::Lookup => "lookup",
                JoinKind::Hash => "hash",
            },
        };
        let joins = steps.iter().map(|steps| steps.iter().map(step).collect()).collect();
        Self { joins, plan, results, seconds }
    }
}

impl PlanNode {
    fn read(node: &Value, steps: &[&PlannedStep]) -> Self {
        let name = node["name"].as_str().unwrap_or_default().to_owned();
        let children: Vec<Self> =
            node["children"].as_array().into_iter().flatten().map(|child| Self::read(child, steps)).collect();
        let pattern = name.strip_prefix("QuadPattern(").and_then(|rest| rest.strip_suffix(')'));
        let estimated_rows = match pattern {
            Some(pattern) => steps.iter().find(|step| step.pattern == pattern).map(|step| {
                // A pattern that is read as a whole gives its own rows, one that is looked up those of the join.
                if step.join == JoinKind::Hash { step.pattern_rows } else { step.rows }
            }),
            None if name == "Lateral" => children.last().and_then(|child| child.estimated_rows),
            None => None,
        };
        Self {
            name,
            estimated_rows,
            rows: node["number of results"].as_u64().unwrap_or(0),
            seconds: node["duration in seconds"].as_f64().unwrap_or(0.0),
            children,
        }
    }

    fn write(&self, f: &mut fmt::Formatter<'_>, depth: usize) -> fmt::Result {
        let estimated = self.estimated_rows.map_or_else(|| "-".to_owned(), |rows| format!("{rows:.0}"));
        writeln!(
            f,
            "{:>12} {:>12} {:>10.1}  {}{}",
            estimated,
            self.rows,
            self.seconds * 1000.0,
            "  ".repeat(depth),
            self.name
        )?;
        // Bounded by how deep a query may be.
        self.children.iter().try_for_each(|child| child.write(f, depth + 1))
    }
}

impl fmt::Display for Explanation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, steps) in self.joins.iter().enumerate() {
            writeln!(f, "join order {} (rows after each step, rows of the pattern alone)", number + 1)?;
            for step in steps {
                writeln!(
                    f,
                    "{:>12.0} {:>12.0}  {:<6}  {}",
                    step.estimated_rows, step.pattern_rows, step.join, step.pattern
                )?;
            }
        }
        writeln!(f, "plan")?;
        writeln!(f, "{:>12} {:>12} {:>10}  operator", "estimated", "rows", "ms")?;
        self.plan.write(f, 0)?;
        write!(f, "{} results in {:.1} ms", self.results, self.seconds * 1000.0)
    }
}
