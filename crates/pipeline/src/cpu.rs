//! A fixed pool of threads for the phases that only compute.
//!
//! In: closures, through a bounded queue. Out: their results, or the news that one panicked: a page
//! that breaks a parser must not take the crawl with it.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread::JoinHandle;

use crossbeam_channel::{Sender, TrySendError, bounded};
use tokio::sync::{Semaphore, oneshot};

type Job = Box<dyn FnOnce() + Send>;

/// Parsers of deeply nested pages need more than the usual two megabytes.
pub(crate) const STACK_BYTES: usize = 16 << 20;

/// The pool. Dropping it lets the threads finish what is queued and ends them.
pub(crate) struct CpuPool {
    jobs: Option<Sender<Job>>,
    places: Semaphore,
    threads: Vec<JoinHandle<()>>,
}

/// A job panicked; this is what it said.
#[derive(Debug)]
pub(crate) struct Panicked(pub(crate) String);

impl CpuPool {
    pub(crate) fn new(threads: usize) -> std::io::Result<Self> {
        let capacity = threads * 2;
        let (sender, receiver) = bounded::<Job>(capacity);
        let threads = (0..threads)
            .map(|number| {
                let receiver = receiver.clone();
                std::thread::Builder::new()
                    .name(format!("webloom-cpu-{number}"))
                    .stack_size(STACK_BYTES)
                    .spawn(move || receiver.iter().for_each(|job| job()))
            })
            .collect::<std::io::Result<Vec<_>>>()?;
        Ok(Self { jobs: Some(sender), places: Semaphore::new(capacity), threads })
    }

    /// Runs `work` on the pool, waiting for a place in the queue first.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Panicked> {
        let (reply, answer) = oneshot::channel();
        let job: Job = Box::new(move || {
            let result = caught(work);
            // The asker may have been aborted; then nobody wants the result.
            let _ = reply.send(result);
        });
        // The semaphore has as many places as the queue, so that a full queue is waited for here, without
        // blocking a thread of the runtime.
        let place = self.places.acquire().await.map_err(|_| Panicked("the pool is closed".into()))?;
        let Some(jobs) = &self.jobs else { return Err(Panicked("the pool is closed".into())) };
        if let Err(TrySendError::Full(job) | TrySendError::Disconnected(job)) = jobs.try_send(job) {
            job();
        }
        let result = answer.await.unwrap_or_else(|_| Err(Panicked("the pool is closed".into())));
        drop(place);
        result
    }
}

impl Drop for CpuPool {
    fn drop(&mut self) {
        self.jobs = None;
        for thread in self.threads.drain(..) {
            // A job that panicked was caught; a thread cannot have.
            let _ = thread.join();
        }
    }
}

/// Does something that may panic.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Result<T, Panicked> {
    catch_unwind(AssertUnwindSafe(work)).map_err(|panic| Panicked(words_of(&*panic)))
}

pub(crate) fn words_of(panic: &(dyn Any + Send)) -> String {
    panic
        .downcast_ref::<&str>()
        .map(|text| (*text).to_owned())
        .or_else(|| panic.downcast_ref::<String>().cloned())
        .unwrap_or_else(|| "no reason given".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_panic_is_an_answer_and_the_pool_goes_on() {
        let pool = CpuPool::new(1).unwrap();
        let panicked = pool
            .run(|| {
                if true {
                    panic!("page {} is too much", 7)
                }
            })
            .await
            .unwrap_err();
        assert_eq!(panicked.0, "page 7 is too much");
        assert_eq!(pool.run(|| 2 + 2).await.unwrap(), 4);
    }

    #[tokio::test]
    async fn more_jobs_than_places_all_get_done() {
        let pool = std::sync::Arc::new(CpuPool::new(2).unwrap());
        let tasks: Vec<_> = (0..100u64)
            .map(|number| {
                let pool = pool.clone();
                tokio::spawn(async move { pool.run(move || number * 2).await.unwrap() })
            })
            .collect();
        let mut sum = 0;
        for task in tasks {
            sum += task.await.unwrap();
        }
        assert_eq!(sum, 9900);
    }
}
