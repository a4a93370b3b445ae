//! A depth that grows: while the crawl runs, after a kill in the middle of it, and in directories that do not know what it was.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;

use tokio::sync::watch;
use webloom_frontier::{FjallFrontier, FrontierConfig};
use webloom_model::SystemClock;
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::{Crawl, CrawlSpec, DataDir, Stop};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

/// Pages of the first two depths, on one host: enough for it to be judged by what they say.
const BREADTH: usize = 40;

/// A tree: the start, below it so many pages that all say the same, below each of them one, and so on without end.
fn tree(request: &Request) -> Answer {
    let same = "The quick brown fox jumps over the lazy dog, and the lazy dog does not mind it at all today.";
    match request.path() {
        "/robots.txt" => Answer::not_found(),
        "/" => {
            Answer::html((0..BREADTH).map(|page| format!("<a href=/{page}>{page}</a> ")).collect::<String>())
        }
        path => Answer::html(format!("<p>{same}<a href={path}-below>below</a>")),
    }
}

struct World {
    server: WebServer,
    folder: tempfile::TempDir,
}

impl World {
    async fn new() -> Self {
        let server = WebServer::start(tree, ServerOptions::default()).await.unwrap();
        Self { server, folder: tempfile::tempdir().unwrap() }
    }

    fn data(&self) -> DataDir {
        DataDir::new(self.folder.path())
    }

    fn text(&self, depth: u32) -> String {
        format!(
            "seeds = [\"http://a.example/\"]\n[scope]\nmax_depth = {depth}\n[politeness]\ndelay = \"0ms\"\n\
             [fetch]\nallow_private = true\nresolve = [\"{}\"]\n[archive]\nkeep = \"none\"\n",
            self.server.resolve_rule(),
        )
    }

    fn open(&self, depth: u32) -> Arc<Crawl> {
        let spec = CrawlSpec::from_toml(&self.text(depth)).unwrap();
        Arc::new(Crawl::open(&self.data(), spec).unwrap())
    }

    /// Runs a crawl to its end, and gives how many pages there are and how many were asked for.
    async fn run(&self, crawl: &Arc<Crawl>) -> (u64, u64) {
        let before = self.server.log().totals().requests;
        let (_stop, stopped) = watch::channel(Stop::No);
        let summary = crawl.clone().run(stopped).await.unwrap();
        assert_eq!(summary.end, CrawlEnd::Complete);
        (summary.counts.indexed, self.server.log().totals().requests - before)
    }
}

const PAGES: u64 = BREADTH as u64;

#[tokio::test(flavor = "multi_thread")]
async fn a_depth_that_is_raised_while_the_crawl_is_open_finds_what_is_beyond() {
    let world = World::new().await;
    let crawl = world.open(1);
    assert_eq!(world.run(&crawl).await, (1 + PAGES, 1 + PAGES + 1), "with robots.txt");
    let mut limits = crawl.frontier().limits();
    limits.depth_max = Some(2);
    crawl.set_limits(&limits).unwrap();
    // They all say the same, and the crawl remembers it; their links are followed all the same.
    assert_eq!(world.run(&crawl).await, (1 + 2 * PAGES, 2 * PAGES));
    let notice = format!(
        "links are followed to depth 2 now, before to 1: {PAGES} pages are visited again for their links"
    );
    assert_eq!(crawl.counters().notices.take(), [notice]);
    // What it is now is known to the next run, which has nothing to do.
    limits.depth_max = Some(1);
    crawl.set_limits(&limits).unwrap();
    drop(crawl);
    let crawl = world.open(1);
    assert_eq!(world.run(&crawl).await, (1 + 2 * PAGES, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_kill_between_queueing_pages_and_noting_the_depth_loses_nothing() {
    let world = World::new().await;
    assert_eq!(world.run(&world.open(1)).await.0, 1 + PAGES);
    {
        // As far as it came: the pages are queued, the depth is the old one.
        let frontier = frontier(world.data().frontier().as_path());
        assert_eq!(frontier.get_setting("max_depth").unwrap().as_deref(), Some("1"));
        assert_eq!(frontier.visit_again(1..2).unwrap(), PAGES);
    }
    assert_eq!(world.run(&world.open(2)).await, (1 + 2 * PAGES, 2 * PAGES));
    assert_eq!(
        frontier(world.data().frontier().as_path()).get_setting("max_depth").unwrap().as_deref(),
        Some("2")
    );
    assert_eq!(world.run(&world.open(2)).await, (1 + 2 * PAGES, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_directory_that_does_not_know_its_depth_has_it_from_the_specification() {
    let world = World::new().await;
    assert_eq!(world.run(&world.open(1)).await.0, 1 + PAGES);
    frontier(world.data().frontier().as_path()).put_setting("max_depth", "?").unwrap();
    std::fs::write(world.data().spec(), world.text(1)).unwrap();
    assert_eq!(world.run(&world.open(2)).await, (1 + 2 * PAGES, 2 * PAGES));
}

fn frontier(path: &Path) -> FjallFrontier {
    FjallFrontier::open(path, FrontierConfig::default(), Arc::new(SystemClock)).unwrap()
}
