//! One file per suite: how its cases are read and judged.

pub mod feeds;
pub mod jsonld;
pub mod microdata;
pub mod microformats;
pub mod mime;
pub mod protocol;
pub mod rdf;
pub mod rdfa;
pub mod robots;
pub mod sparql;
pub mod warc;
pub mod xslt;
