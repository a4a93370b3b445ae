//! One file per suite: how its cases are read and judged.

pub mod mime;
pub mod rdf;
