#![doc = include_str!("../README.md")]

mod body;
pub mod clock;
pub mod demo;
pub mod faults;
pub mod generated;
pub mod log;
pub mod robots;
pub mod server;
pub mod site;
pub mod static_web;
mod tls;

pub use clock::ManualClock;
pub use demo::{
    DemoPage, DemoQuery, demo_broken_links, demo_forbidden, demo_pages, demo_queries, demo_seeds, demo_web,
};
pub use faults::{Fault, FaultRule, Faulty};
pub use generated::{Expected, GeneratedWeb, HostSizes, Mix, WebShape, realistic_page};
pub use log::{LogDetail, LogTotals, LoggedRequest, RequestLog, Requests, Violation};
pub use robots::RobotsRules;
pub use server::{ServerError, ServerOptions, WebServer};
pub use site::{Answer, Request, Site};
pub use static_web::StaticWeb;
