//! The SPARQL 1.1 Protocol at `/sparql`, and the Graph Store Protocol at `/store`.
//!
//! [`protocol`] takes queries and updates apart, [`negotiate`] picks a format, [`stream`] sends results while they are found,
//! [`graph_store`] handles whole graphs, [`describe`] says what the endpoint can do. Evaluation is the index's.

pub mod describe;
pub mod graph_store;
pub mod negotiate;
pub mod protocol;
pub mod stream;
