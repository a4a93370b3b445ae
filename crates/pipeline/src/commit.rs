//! Makes pages durable, many at a time: first the index, then the frontier.
//!
//! Before the index comes the archive, when there is one: what a page's metadata name is on disk before they are.
//!
//! In: [`Woven`] pages from any number of tasks, through a bounded queue. Out: each task's call returns once its page
//! is on disk. A batch is closed when it is big enough, old enough, or when every page under way is in it, so that nobody
//! waits for pages that cannot come.
//!
//! **Invariant:** a lease is settled only after its page's quads, text and metadata are durable. A kill between the two
//! writes repeats the page, and a page written twice leaves the same graph.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use parking_lot::Mutex;
use tokio::sync::{mpsc, oneshot};
use webloom_archive::PackedCapture;
use webloom_index::{Batch, Index};
use webloom_model::Frontier;

use crate::archive::Ledger;
use crate::counters::{Counters, Gauge, Phase};
use crate::crawl::CrawlError;
use crate::metadata;
use crate::process::Woven;
use crate::spec::WorkConfig;

struct Request {
    /// For the archive.
    records: PackedCapture,
    /// Nothing when there is only something to archive.
    woven: Option<Woven>,
    reply: oneshot::Sender<()>,
}

/// The handle tasks commit through.
pub(crate) struct Committer {
    requests: Option<mpsc::Sender<Request>>,
    counters: Arc<Counters>,
    failure: Arc<Mutex<Option<CrawlError>>>,
    /// Set when nobody waits for a batch any more.
    closing: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts the committing thread.
    pub(crate) fn start(
        index: Arc<Index>,
        frontier: Arc<dyn Frontier>,
        counters: Arc<Counters>,
        work: &WorkConfig,
        ledger: Option<Ledger>,
    ) -> std::io::Result<Self> {
        let (sender, requests) = mpsc::channel(work.commit_pages_max * 2);
        let failure = Arc::new(Mutex::new(None));
        let closing = Arc::new(AtomicBool::new(false));
        let worker = Worker {
            index,
            frontier,
            counters: counters.clone(),
            work: work.clone(),
            requests,
            ledger,
            closing: closing.clone(),
        };
        let thread = std::thread::Builder::new().name("webloom-commit".into()).spawn({
            let failure = failure.clone();
            move || worker.run(&failure)
        })?;
        Ok(Self { requests: Some(sender), counters, failure, closing, thread: Some(thread) })
    }

    /// Returns when the page is durable.
    pub(crate) async fn commit(&self, mut woven: Woven) -> Result<(), CrawlError> {
        let records = std::mem::take(&mut woven.captures.records);
        self.request(records, Some(woven)).await
    }

    /// Returns when records that belong to no page are in the archive.
    pub(crate) async fn keep(&self, records: PackedCapture) -> Result<(), CrawlError> {
        self.request(records, None).await
    }

    async fn request(&self, records: PackedCapture, woven: Option<Woven>) -> Result<(), CrawlError> {
        let _committing = Gauge::new(&self.counters.committing);
        let (reply, done) = oneshot::channel();
        if let Some(requests) = &self.requests
            && requests.send(Request { records, woven, reply }).await.is_ok()
            && done.await.is_ok()
        {
            return Ok(());
        }
        // The reason is kept for whoever runs the crawl; a task only needs to know that it is over.
        Err(CrawlError::Stopped)
    }

    /// Why committing ended, if it failed.
    pub(crate) fn take_failure(&self) -> Option<CrawlError> {
        self.failure.lock().take()
    }
}

impl Drop for Committer {
    fn drop(&mut self) {
        self.closing.store(true, Relaxed);
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Worker {
    index: Arc<Index>,
    frontier: Arc<dyn Frontier>,
    counters: Arc<Counters>,
    work: WorkConfig,
    requests: mpsc::Receiver<Request>,
    /// Nothing when what was received is not kept.
    ledger: Option<Ledger>,
    closing: Arc<AtomicBool>,
}

impl Worker {
    fn run(mut self, failure: &Mutex<Option<CrawlError>>) {
        while let Some(first) = self.requests.blocking_recv() {
            let batch = self.collect(first);
            let mut replies = Vec::with_capacity(batch.len());
            if let Err(error) = self.commit(batch, &mut replies) {
                // Set before the waiting tasks are woken by the loss of their replies, so that they find it.
                *failure.lock() = Some(error);
                return;
            }
            for reply in replies {
                // The task may have been aborted by an immediate stop; its page is durable all the same.
                let _ = reply.send(());
            }
        }
    }

    /// Fills a batch from the queue.
    fn collect(&mut self, first: Request) -> Vec<Request> {
        let opened = Instant::now();
        let mut quads = count_quads(&first);
        let mut batch = vec![first];
        while batch.len() < self.work.commit_pages_max && quads < self.work.commit_quads_max {
            match self.requests.try_recv() {
                Ok(request) => {
                    quads += count_quads(&request);
                    batch.push(request);
                }
                Err(mpsc::error::TryRecvError::Disconnected) => break,
                Err(mpsc::error::TryRecvError::Empty) => {
                    let everything_is_here = batch.len() as u64 >= self.counters.in_flight.load(Relaxed);
                    if everything_is_here || opened.elapsed() >= self.work.commit_age_max {
                        break;
                    }
                    std::thread::sleep(Duration::from_millis(2));
                }
            }
        }
        batch
    }

    /// Writes what was received, and notes in each page's metadata where it is.
    fn archive(&mut self, batch: &mut [Request]) -> Result<(), CrawlError> {
        let Some(ledger) = &mut self.ledger else { return Ok(()) };
        let records: Vec<_> = batch.iter_mut().map(|request| std::mem::take(&mut request.records)).collect();
        let places = ledger.append(&records, &self.closing)?;
        for (request, place) in batch.iter_mut().zip(places) {
            if let (Some(woven), Some(place)) = (&mut request.woven, place)
                && woven.captures.begins_with_page
            {
                metadata::add_place(&mut woven.writes, &place);
            }
        }
        Ok(())
    }

    fn commit(
        &mut self,
        mut batch: Vec<Request>,
        replies: &mut Vec<oneshot::Sender<()>>,
    ) -> Result<(), CrawlError> {
        let start = Instant::now();
        self.archive(&mut batch)?;
        let mut writes = Vec::new();
        let mut settlements = Vec::with_capacity(batch.len());
        let mut reservations = Vec::new();
        let mut entries = Vec::new();
        let mut indexed = 0;
        for Request { woven, reply, .. } in batch {
            replies.push(reply);
            let Some(mut woven) = woven else { continue };
            // The page itself comes first, its metadata last; what is no page has metadata alone.
            indexed += u64::from(woven.writes.len() > 1);
            writes.append(&mut woven.writes);
            settlements.push(woven.settlement);
            reservations.extend(woven.reservation);
            entries.extend(woven.entry);
        }
        let quads: usize = writes.iter().map(|write| write.triples.len()).sum();
        if !writes.is_empty() {
            self.index.commit(&Batch { writes })?;
            // The quads of large pages are gone from memory; others may take their place.
            drop(reservations);
        }
        self.frontier.settle(settlements)?;
        self.counters.add(Phase::Index, indexed, start.elapsed());
        self.counters.indexed.fetch_add(indexed, Relaxed);
        self.counters.quads.fetch_add(quads as u64, Relaxed);
        self.counters.commits.fetch_add(1, Relaxed);
        entries.into_iter().for_each(|entry| self.counters.journal.add(entry));
        Ok(())
    }
}

fn count_quads(request: &Request) -> usize {
    request.woven.iter().flat_map(|woven| &woven.writes).map(|write| write.triples.len()).sum()
}
