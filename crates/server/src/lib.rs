#![doc = include_str!("../README.md")]

pub mod api;
pub mod app;
mod archive;
pub mod config;
pub mod crawls;
mod error;
mod guard;
mod html;
pub mod listen;
pub mod machine;
mod metrics;
pub mod openapi;
mod request;
pub mod routes;
mod server;
pub mod sparql;
mod survey;
mod token;
mod ui;

pub use app::Example;
pub use config::{ConfigProblem, CrossOrigin, Limits, ServerConfig};
pub use crawls::{LiveCrawl, Registry, Slot};
pub use error::ApiError;
pub use server::{Server, ServerError};
pub use token::{Token, TokenProblem};
