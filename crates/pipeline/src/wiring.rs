//! Puts the parts of a crawl together. The only place that knows which implementation stands behind which part.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore};
use tracing::warn;
use webloom_extract::{Novelty, NoveltyRules};
use webloom_fetch::robots::RobotsClass;
use webloom_fetch::{Fetcher, RobotsRecord, RobotsStore, SystemResolver};
use webloom_frontier::{Blob, FjallFrontier};
use webloom_index::{Index, IndexConfig};
use webloom_model::{
    Clock, Frontier, FrontierLimits, Injection, InjectionReport, Lease, LinkCandidate, PageUrl, SystemClock,
};

use crate::archive::Archivist;
use crate::commit::Committer;
use crate::contexts::{ContextCache, ContextLimits, Kind};
use crate::control::CrawlControl;
use crate::counters::Counters;
use crate::cpu::CpuPool;
use crate::crawl::CrawlError;
use crate::depth::Depth;
use crate::joined::JoinedSites;
use crate::past::Past;
use crate::seeds;
use crate::sources::Sources;
use crate::spec::CrawlSpec;
use crate::spool::Spool;

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

    /// Orders for a crawl that runs.
    pub fn spool(&self) -> PathBuf {
        self.0.join("inject")
    }

    /// The specification the crawl was started with.
    pub fn spec(&self) -> PathBuf {
        self.0.join("crawl.toml")
    }

    /// What that specification says, as written; nothing when there is none.
    pub(crate) fn written_spec(&self) -> Option<toml::Table> {
        std::fs::read_to_string(self.spec()).ok()?.parse().ok()
    }

    /// What was received: WARC files.
    pub fn archive(&self) -> PathBuf {
        self.0.join("archive")
    }

    /// How far archive files were read into this directory.
    pub fn replayed(&self) -> PathBuf {
        self.0.join("archives-read.json")
    }

    /// Sites that seeds turned out to lead to.
    pub fn joined(&self) -> PathBuf {
        self.0.join("joined.jsonl")
    }

    /// How far the sources have come.
    pub fn sources(&self) -> PathBuf {
        self.0.join("sources.json")
    }

    /// True when there is an index to read.
    pub fn has_index(&self) -> bool {
        self.index().is_dir()
    }
}

/// A crawl, wired and ready to run.
pub struct Crawl {
    /// Holds the specification, which may change while the crawl runs.
    pub(crate) control: CrawlControl,
    pub(crate) frontier: Arc<dyn Frontier>,
    pub(crate) fetcher: Fetcher,
    robots: Arc<DurableRobots>,
    /// How deep it was crawled so far.
    depth: Depth,
    pub(crate) connections: Semaphore,
    pub(crate) cpu: CpuPool,
    pub(crate) committer: Committer,
    /// Nothing when what was received is not kept.
    pub(crate) archivist: Option<Arc<Archivist>>,
    /// Nothing when contexts are not to be fetched.
    pub(crate) contexts: Option<Arc<ContextCache>>,
    /// What GRDDL names. Nothing when nobody's pages may name transformations.
    pub(crate) documents: Option<Arc<ContextCache>>,
    pub(crate) sources: Arc<Sources>,
    pub(crate) index: Arc<Index>,
    pub(crate) counters: Arc<Counters>,
    /// What hosts said already.
    novelty: Arc<Mutex<Novelty>>,
    /// Sites that seeds turned out to lead to.
    pub(crate) joined: JoinedSites,
    /// The seeds, for telling them from other URLs; made when somebody asks.
    seeds: OnceLock<HashSet<PageUrl>>,
    /// Orders from other processes.
    pub(crate) spool: Spool,
    /// Held by whoever carries them out.
    pub(crate) serving: Mutex<()>,
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
        crate::files::fit(&mut spec);
        spec.rejoin(data);
        std::fs::create_dir_all(data.path())
            .map_err(|source| CrawlError::Directory { path: data.path().to_owned(), source })?;
        let counters = Arc::new(Counters::default());
        let frontier = Arc::new(FjallFrontier::open(&data.frontier(), spec.frontier.clone(), clock.clone())?);
        let index = Arc::new(Index::open(&data.index(), IndexConfig::default())?);
        let resolver = Arc::new(SystemResolver::new()?);
        let documents = spec.wants_grddl().then(|| {
            let others = spec.transform.contexts.clone();
            let cache = ContextCache::of(Kind::Documents, ContextLimits::default(), others, clock.clone());
            Arc::new(cache.kept_in(frontier.clone()))
        });
        if let Some(documents) = &documents {
            spec.transform.contexts = documents.clone();
        }
        counters.show_services(spec.services.numbers());
        let contexts = spec.contexts.clone().map(|limits| {
            let cache = ContextCache::new(limits, spec.transform.contexts.clone(), clock.clone());
            Arc::new(cache.kept_in(frontier.clone()))
        });
        if let Some(contexts) = &contexts {
            spec.transform.contexts = contexts.clone();
        }
        let (archivist, ledger) =
            Archivist::open(data, &spec.archive, archive_info(&spec), counters.clone())?.unzip();
        let archivist = archivist.map(Arc::new);
        spec.fetch.record = archivist.is_some();
        let robots = Arc::new(DurableRobots(frontier.clone()));
        let fetcher = Fetcher::new(spec.fetch.clone(), resolver, robots.clone(), clock)?;
        let sources = Arc::new(Sources::open(&data.sources(), &spec.sources)?);
        let depth = Depth::open(frontier.clone(), data, counters.clone());
        depth.change_to(spec.frontier.depth_max)?;
        seeds::visit_new_seeds(&frontier, data, &spec.seeds)?;
        let seeds: Vec<_> = spec.seeds.iter().cloned().map(LinkCandidate::seed).collect();
        frontier.offer(&seeds)?;
        let committer =
            Committer::start(index.clone(), frontier.clone(), counters.clone(), &spec.work, ledger)
                .map_err(CrawlError::Thread)?;
        Ok(Self {
            frontier,
            fetcher,
            robots,
            depth,
            connections: Semaphore::new(spec.work.connections),
            cpu: CpuPool::new(spec.work.workers).map_err(CrawlError::Thread)?,
            committer,
            archivist,
            contexts,
            documents,
            sources,
            index,
            counters,
            novelty: Arc::new(Mutex::new(Novelty::new(NoveltyRules::default()))),
            joined: JoinedSites::new(data),
            seeds: OnceLock::new(),
            spool: Spool::new(data.spool()),
            serving: Mutex::new(()),
            host_freed: Notify::new(),
            control: CrawlControl::new(spec, data.spec()),
        })
    }

    /// What is known of a host's robots.txt: `fine`, `none`, `unreachable`, or nothing.
    pub fn robots_of(&self, host: &str) -> Option<&'static str> {
        let kept = |scheme| self.robots.get(&format!("{scheme}://{host}"));
        let record = RobotsRecord::from_bytes(&kept("https").or_else(|| kept("http"))?)?;
        Some(match record.class {
            RobotsClass::Found => "fine",
            RobotsClass::Missing => "none",
            RobotsClass::Unreachable => "unreachable",
        })
    }

    /// What steers it.
    pub fn control(&self) -> CrawlControl {
        self.control.clone()
    }

    /// What decides whether the links of a page that says nothing new are followed. One that is read again for its links says nothing new.
    pub(crate) fn following(&self, lease: &Lease) -> Following {
        let stale_links = self.spec().stale_links || lease.is_for_links();
        Following { novelty: self.novelty.clone(), stale_links }
    }

    /// The specification as it is now.
    pub(crate) fn spec(&self) -> Arc<CrawlSpec> {
        self.control.spec()
    }

    /// The crawl's numbers, live.
    pub fn counters(&self) -> Arc<Counters> {
        self.counters.clone()
    }

    /// The queues, live.
    pub fn frontier(&self) -> Arc<dyn Frontier> {
        self.frontier.clone()
    }

    /// Puts other delays and budgets in force, at once. Where links are followed deeper than before, pages are visited again whose links were
    /// too deep. Blocks.
    pub fn set_limits(&self, limits: &FrontierLimits) -> Result<(), CrawlError> {
        self.depth.change(limits.depth_max, || self.frontier.set_limits(limits))?;
        Ok(())
    }

    /// Takes URLs from outside while the crawl runs. See [`Past::inject`].
    pub fn inject(&self, injections: &[Injection]) -> Result<InjectionReport, CrawlError> {
        self.past().inject(injections)
    }

    /// Whether a lease is that of a seed, or of what a seed led to by redirects, and such redirects lead the crawl on.
    pub(crate) fn is_led_by_seed(&self, lease: &Lease) -> bool {
        let candidate = &lease.candidate;
        let spec = self.spec();
        if !spec.follow_seed_redirects || candidate.depth > 0 {
            return false;
        }
        let seeds = self.seeds.get_or_init(|| spec.seeds.iter().cloned().collect());
        seeds.contains(candidate.redirects.first().unwrap_or(&candidate.url))
    }

    /// What it knows of URLs that it asked for before.
    pub(crate) fn past(&self) -> Past<'_> {
        Past {
            frontier: &*self.frontier,
            snapshot: Some(self.index.snapshot()),
            fetcher: Some(&self.fetcher),
            spec: Some(self.spec()),
        }
    }

    /// The index, live.
    pub fn index(&self) -> Arc<Index> {
        self.index.clone()
    }
}

/// See [`Crawl::following`].
pub(crate) struct Following {
    /// What hosts said already.
    pub(crate) novelty: Arc<Mutex<Novelty>>,
    /// True when they are followed in any case.
    pub(crate) stale_links: bool,
}

/// What each file of the archive says of the crawl it is from.
fn archive_info(spec: &CrawlSpec) -> Vec<(String, String)> {
    let robots = if spec.fetch.obey_robots { "obey" } else { "ignore" };
    let mut info = vec![
        ("robots".to_owned(), robots.to_owned()),
        ("http-header-user-agent".to_owned(), spec.fetch.user_agent()),
    ];
    info.extend(spec.fetch.contact.clone().map(|contact| ("operator".to_owned(), contact)));
    info
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
