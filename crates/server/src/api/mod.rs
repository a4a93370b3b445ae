//! The JSON API under `/api`: one file per part of the interface. The list of all routes is [`routes`](crate::routes).

pub mod control;
pub mod crawls;
pub mod data;
pub mod dump;
pub mod events;
pub mod explain;
pub mod page;
pub mod search;
pub mod sites;
pub mod status;
pub mod thing;
pub mod urls;
