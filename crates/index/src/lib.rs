#![doc = include_str!("../README.md")]

mod backup;
mod bulk;
mod check;
mod entail;
mod entity;
mod error;
mod estimate;
mod manifest;
mod merging;
mod order;
mod overlay;
mod reader;
mod scan;
mod segment;
mod snapshot;
mod sparql;
mod statistics;
mod term;
mod text;
mod view;
mod writer;

pub use backup::{BackupReceipt, backup};
pub use bulk::Import;
pub use check::{CheckReport, check};
pub use entail::{Entailment, EntailmentLimits, Inferred, Rules, Trust, UnknownRules};
pub use entity::{
    Entity, EntityPage, EntityQuery, EntityResults, EntitySnippet, FacetValue, Facets, Named, Suggestion,
};
pub use error::IndexError;
pub use order::Order;
pub use reader::IndexReader;
pub use scan::QuadIds;
pub use snapshot::{BytesByPart, GraphPattern, IndexStats, Quads, Resolver, Snapshot};
pub use spareval::{
    CancellationToken, QueryEvaluationError, QueryResults, QuerySolutionIter, QueryTripleIter,
};
pub use spargebra::{Query, Update};
pub use sparql::{
    AskService, DefaultGraph, ExplainedStep, Explanation, JoinOrder, LoadDocument, PlanNode, QueryOptions,
    UpdateOptions, UpdateReceipt, parse_query, parse_update,
};
pub use statistics::{ClassStatistics, PredicateStatistics};
pub use term::{TermHasher, TermId, TermKind};
pub use text::{Hit, LiteralHit, Snippet};
pub use writer::{Batch, CommitReceipt, GraphWrite, Index, IndexConfig, WriteMode};
