//! XPath 1.0: expressions are parsed once against a stylesheet's names and variables, and then evaluated often.
//!
//! [`parser`] makes an [`ast::Expr`] of a string, [`pattern`] does the same for match patterns, [`eval`] computes
//! values by walking trees along [`axes`]. [`functions`] are the functions of XPath itself; those of XSLT are with the
//! machine in `run`, those of EXSLT in `exslt`.

pub(crate) mod ast;
pub(crate) mod axes;
pub(crate) mod eval;
pub(crate) mod functions;
pub(crate) mod lexer;
pub(crate) mod library;
pub(crate) mod numbers;
pub(crate) mod parser;
pub(crate) mod pattern;
pub(crate) mod value;
