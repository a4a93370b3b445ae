//! How many files and connections may be open at once.
//!
//! In: what a crawl would like. Out: what the system grants. Connections are files to the system, and many systems give a process a
//! thousand unless it asks for more: so it asks, and what waits for reuse is cut to what there is. A crawl that ran out of
//! files could not write its index.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use tracing::warn;

use crate::spec::CrawlSpec;

/// Of all files that may be open, waiting connections are at most the half, and requests under way at most a quarter; the rest is for
/// stores and archives.
const POOL_PART: u64 = 2;
const CONNECTIONS_PART: u64 = 4;

/// Asks for as many open files as may be had, and fits a crawl's connections into them.
pub(crate) fn fit(spec: &mut CrawlSpec) {
    if let Some(files) = ask_for_all_files() {
        fit_into(spec, files);
    }
}

/// Raises the process's limit of open files to what the administrator allows, and gives it. Nothing when there is none.
pub fn ask_for_all_files() -> Option<u64> {
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let before = current?;
    match setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum }) {
        Ok(()) => maximum,
        Err(error) => {
            warn!(%error, files = before, "the limit of open files cannot be raised");
            Some(before)
        }
    }
}

fn fit_into(spec: &mut CrawlSpec, files: u64) {
    let part = |part: u64| usize::try_from(files / part).unwrap_or(usize::MAX).max(1);
    let pool = &mut spec.fetch.pool_connections_max;
    *pool = part(POOL_PART).min(*pool);
    let connections = &mut spec.work.connections;
    if *connections > part(CONNECTIONS_PART) {
        let wanted = std::mem::replace(connections, part(CONNECTIONS_PART));
        warn!(
            wanted,
            connections = *connections,
            files,
            "fewer requests at once than `work.connections` says: too few files may be open (see `ulimit -n`)"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_open_fits_what_may_be() {
        for (files, wanted, connections, pool) in
            [(1024, 256, 256, 512), (1024, 400, 256, 512), (1 << 20, 400, 400, usize::MAX), (1, 256, 1, 1)]
        {
            let mut spec = CrawlSpec::from_toml("").unwrap();
            spec.work.connections = wanted;
            let default = spec.fetch.pool_connections_max;
            fit_into(&mut spec, files);
            assert_eq!(
                (spec.work.connections, spec.fetch.pool_connections_max),
                (connections, pool.min(default))
            );
        }
    }

    #[test]
    fn all_files_are_asked_for() {
        let Some(files) = ask_for_all_files() else { return };
        assert_eq!(getrlimit(Resource::Nofile).current, Some(files));
    }
}
