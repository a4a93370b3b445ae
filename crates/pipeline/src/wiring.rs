//! Puts the parts of a crawl together. The only place that knows which implementation stands behind which part.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use tokio::sync::{Notify, Semaphore};
use tracing::warn;
use webloom_fetch::{Fetcher, RobotsStore, SystemResolver};
use webloom_frontier::{Blob, FjallFrontier};
use webloom_index::{Index, IndexConfig};
use webloom_model::{Clock, Frontier, LinkCandidate, SystemClock};

use crate::commit::Committer;
use crate::contexts::ContextCache;
use crate::counters::Counters;
use crate::cpu::CpuPool;
use crate::crawl::CrawlError;
use crate::spec::CrawlSpec;

/// Where a crawl keeps everything, and where in it what is.
#[derive(Debug, Clone)]
pub struct DataDir(PathBuf);

impl DataDir {
    /// Names a directory; nothing is touched yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }

    /// The directory.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Quads and text.
    pub fn index(&self) -> PathBuf {
        self.0.join("index")
    }

    /// URLs, queues, robots files.
    pub fn frontier(&self) -> PathBuf {
        self.0.join("frontier")
    }

    /// The specification the crawl was started with.
    pub fn spec(&self) -> PathBuf {
        self.0.join("crawl.toml")
    }

    /// True when there is an index to read.
    pub fn has_index(&self) -> bool {
        self.index().is_dir()
    }
}

/// A crawl, wired and ready to run.
pub struct Crawl {
    pub(crate) spec: Arc<CrawlSpec>,
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) fetcher: Fetcher,
    pub(crate) connections: Semaphore,
    pub(crate) cpu: CpuPool,
    pub(crate) committer: Committer,
    /// Nothing when contexts are not to be fetched.
    pub(crate) contexts: Option<Arc<ContextCache>>,
    pub(crate) index: Arc<Index>,
    pub(crate) counters: Arc<Counters>,
    /// Rung when a host may be asked again or a page was settled.
    pub(crate) host_freed: Notify,
}

impl Crawl {
    /// Opens or creates what `data` holds, and offers the seeds.
    pub fn open(data: &DataDir, spec: CrawlSpec) -> Result<Self, CrawlError> {
        Self::open_with_clock(data, spec, Arc::new(SystemClock))
    }

    /// The same with a clock of the caller's.
    pub fn open_with_clock(
        data: &DataDir,
        mut spec: CrawlSpec,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, CrawlError> {
        std::fs::create_dir_all(data.path())
            .map_err(|source| CrawlError::Directory { path: data.path().to_owned(), source })?;
        let counters = Arc::new(Counters::default());
        let frontier = Arc::new(FjallFrontier::open(&data.frontier(), spec.frontier.clone(), clock.clone())?);
        let index = Arc::new(Index::open(&data.index(), IndexConfig::default())?);
        let resolver = Arc::new(SystemResolver::new()?);
        let contexts = spec.contexts.clone().map(|limits| {
            let cache = ContextCache::new(limits, spec.transform.contexts.clone(), clock.clone());
            Arc::new(cache.kept_in(frontier.clone()))
        });
        if let Some(contexts) = &contexts {
            spec.transform.contexts = contexts.clone();
        }
        let fetcher =
            Fetcher::new(spec.fetch.clone(), resolver, Arc::new(DurableRobots(frontier.clone())), clock)?;
        let seeds: Vec<_> = spec.seeds.iter().cloned().map(LinkCandidate::seed).collect();
        frontier.offer(&seeds)?;
        let committer = Committer::start(index.clone(), frontier.clone(), counters.clone(), &spec.work)
            .map_err(CrawlError::Thread)?;
        Ok(Self {
            frontier,
            fetcher,
            connections: Semaphore::new(spec.work.connections),
            cpu: CpuPool::new(spec.work.workers).map_err(CrawlError::Thread)?,
            committer,
            contexts,
            index,
            counters,
            host_freed: Notify::new(),
            spec: Arc::new(spec),
        })
    }

    /// The crawl's numbers, live.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// The queues, live.
    pub fn frontier(&self) -> Arc<dyn Frontier> {
        self.frontier.clone()
    }

    /// The index, live.
    pub fn index(&self) -> Arc<Index> {
        self.index.clone()
    }
}

/// Keeps robots files beside the URLs, so that a resumed crawl need not ask for them again.
#[derive(Debug)]
struct DurableRobots(Arc<FjallFrontier>);

impl RobotsStore for DurableRobots {
    fn get(&self, origin: &str) -> Option<Vec<u8>> {
        self.0.get_blob(Blob::Robots, origin).unwrap_or_else(|error| {
            warn!(origin, %error, "a robots file cannot be read and will be fetched again");
            None
        })
    }

    fn put(&self, origin: &str, record: &[u8]) {
        if let Err(error) = self.0.put_blob(Blob::Robots, origin, record) {
            warn!(origin, %error, "a robots file cannot be kept");
        }
    }
}
