//! The fetcher through its front door, against servers on loopback whose every byte is scripted.

#![expect(clippy::unwrap_used, reason = "a test that cannot be set up should stop right there")]

mod bodies;
mod conditions;
mod connections;
mod heads;
mod proxies;
mod restraint;
mod robots;
mod site;
mod tape;
mod tls;
