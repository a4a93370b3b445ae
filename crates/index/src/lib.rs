#![doc = include_str!("../README.md")]

mod check;
mod error;
mod estimate;
mod manifest;
mod order;
mod overlay;
mod reader;
mod scan;
mod segment;
mod snapshot;
mod sparql;
mod term;
mod text;
mod view;
mod writer;

pub use check::{CheckReport, check};
pub use error::IndexError;
pub use order::Order;
pub use reader::IndexReader;
pub use scan::QuadIds;
pub use snapshot::{BytesByPart, GraphPattern, IndexStats, Quads, Snapshot};
pub use spareval::{
    CancellationToken, QueryEvaluationError, QueryResults, QuerySolutionIter, QueryTripleIter,
};
pub use spargebra::{Query, Update};
pub use sparql::{
    AskService, DefaultGraph, ExplainedStep, Explanation, JoinOrder, LoadDocument, PlanNode, QueryOptions,
    UpdateOptions, UpdateReceipt, parse_query, parse_update,
};
pub use term::{TermHasher, TermId, TermKind};
pub use text::{Hit, Snippet};
pub use writer::{Batch, CommitReceipt, GraphWrite, Index, IndexConfig, WriteMode};
