#![doc = include_str!("../README.md")]
#![forbid(unsafe_code)]

mod compile;
mod error;
mod exslt;
mod hash;
mod limits;
mod loader;
mod output;
mod run;
mod stylesheet;
mod tree;
mod xml;
mod xpath;

pub use error::{ErrorKind, Limit, XsltError};
pub use limits::Limits;
pub use loader::{Loaded, Loader, NoLoader, Purpose};
pub use output::Method;
pub use run::{Message, Output};
pub use stylesheet::Stylesheet;
pub use tree::{Document, TreeBuilder};
pub use xpath::value::Value;
