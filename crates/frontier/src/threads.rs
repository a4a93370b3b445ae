//! The threads that work for a store in the background, and how they end.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;

/// The name of a thread, and what it does with what it shares with its store.
pub(crate) type Work<S> = (&'static str, fn(&S));

/// Threads of one store. Whoever ends it tells them to stop, by what they share, and then waits for them here.
pub(crate) struct Threads {
    /// What they work for, for messages.
    store: &'static str,
    threads: Vec<JoinHandle<()>>,
}

impl Threads {
    /// Starts one thread for each name and work.
    pub(crate) fn start<S: Send + Sync + 'static>(
        store: &'static str,
        shared: &Arc<S>,
        works: &[Work<S>],
    ) -> io::Result<Self> {
        let start = |&(name, work): &Work<S>| {
            let shared = shared.clone();
            std::thread::Builder::new().name(name.into()).spawn(move || {
                step_back();
                work(&shared);
            })
        };
        Ok(Self { store, threads: works.iter().map(start).collect::<io::Result<_>>()? })
    }

    /// Waits until all have ended.
    pub(crate) fn join(&mut self) {
        for thread in self.threads.drain(..) {
            if thread.join().is_err() {
                tracing::error!("a thread of the {} panicked", self.store);
            }
        }
    }
}

/// How far threads in the background stand behind those that somebody waits for: a third of their share where both want a core.
#[cfg(target_os = "linux")]
const NICE: i32 = 5;

/// Lets others go first on a core. What is done in the background can wait a little; whoever asks or adds cannot.
fn step_back() {
    // Linux has a priority for each thread. Elsewhere it would be that of the whole process.
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICE) {
        tracing::debug!(%error, "a thread in the background keeps its priority");
    }
}
