//! Knows of most keys that a keyspace has nothing to say about that it has not, without asking the store.
//!
//! Most URLs that are scored have no life yet, most that are leased or settled have none that says more than a score, and most hosts that
//! are first heard of have no record: the store takes microseconds to say so, more the more it holds. A [`Filter`] of a fixed size says it at once.
//! Answers stay exact: it never calls absent what is there. For a directory that holds something already it is made in the background after opening; until it is there,
//! everything may be present. Start at [`Absent::may_have`].

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::JoinHandle;

use fjall::Keyspace;
use parking_lot::RwLock;
use webloom_model::FrontierError;

use super::store::store_error;
use crate::seen::{Filter, UrlKey};

/// Keys that are gone through between two looks at whether to stop.
const KEYS_BETWEEN_LOOKS: usize = 1 << 12;

/// See the module's own words.
#[derive(Debug, Clone)]
pub(super) struct Absent {
    state: Arc<RwLock<State>>,
}

#[derive(Debug)]
enum State {
    /// Being made; the keys that were added meanwhile.
    Unready(Vec<UrlKey>),
    Ready(Filter),
}

impl Absent {
    /// For a keyspace that may hold something; see [`Making::start`].
    fn unknown() -> Self {
        Self { state: Arc::new(RwLock::new(State::Unready(Vec::new()))) }
    }

    /// Whether the keyspace may have a value under that key.
    pub fn may_have(&self, key: UrlKey) -> bool {
        match &*self.state.read() {
            State::Unready(_) => true,
            State::Ready(filter) => filter.may_contain(key),
        }
    }

    /// To be told before the keys are in the keyspace.
    pub fn add(&self, keys: impl Iterator<Item = UrlKey>) {
        match &mut *self.state.write() {
            State::Unready(news) => news.extend(keys),
            State::Ready(filter) => keys.for_each(|key| filter.insert(key)),
        }
    }

    /// Takes a filter of all that was in the keyspace when making it began.
    fn ready(&self, mut filter: Filter) {
        let state = &mut *self.state.write();
        if let State::Unready(news) = state {
            news.drain(..).for_each(|key| filter.insert(key));
        }
        *state = State::Ready(filter);
    }
}

/// Tells what stands for a key of the keyspace and its value in the filter; nothing when the value does not count.
type KeyOf = Box<dyn Fn(&[u8], &[u8]) -> Result<Option<UrlKey>, FrontierError> + Send>;

/// A keyspace that gets an [`Absent`].
pub(super) struct Wanted {
    pub keyspace: Keyspace,
    pub bytes: usize,
    pub key: KeyOf,
}

/// The thread that makes filters after opening. Dropping it ends it.
pub(super) struct Making {
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Making {
    /// Begins to make a filter for each; those of empty keyspaces are there at once.
    pub fn start<const N: usize>(wanted: [Wanted; N]) -> Result<([Absent; N], Self), FrontierError> {
        let absents: [Absent; N] = std::array::from_fn(|_| Absent::unknown());
        let mut work = Vec::new();
        for (absent, wanted) in absents.iter().zip(wanted) {
            if wanted.keyspace.is_empty().map_err(|error| store_error(&error))? {
                absent.ready(Filter::with_bytes(wanted.bytes));
            } else {
                work.push((absent.clone(), wanted));
            }
        }
        let stop = Arc::new(AtomicBool::new(false));
        let mut making = Self { stop: stop.clone(), thread: None };
        if !work.is_empty() {
            let run = move || work.into_iter().for_each(|(absent, wanted)| make(&absent, &wanted, &stop));
            let thread = std::thread::Builder::new().name("webloom-absent".into()).spawn(run);
            making.thread = Some(thread.map_err(|error| FrontierError::Store(error.to_string()))?);
        }
        Ok((absents, making))
    }
}

impl Drop for Making {
    fn drop(&mut self) {
        self.stop.store(true, Relaxed);
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the thread that makes filters panicked");
        }
    }
}

fn make(absent: &Absent, wanted: &Wanted, stop: &AtomicBool) {
    let mut filter = Filter::with_bytes(wanted.bytes);
    for (number, record) in wanted.keyspace.iter().enumerate() {
        if number.is_multiple_of(KEYS_BETWEEN_LOOKS) && stop.load(Relaxed) {
            return;
        }
        // Without a filter everything is looked for, which is slower and right.
        let record = record.into_inner().map_err(|error| store_error(&error));
        match record.and_then(|(key, value)| (wanted.key)(&key, &value)) {
            Ok(key) => key.into_iter().for_each(|key| filter.insert(key)),
            Err(error) => return tracing::warn!(%error, "a filter cannot be made"),
        }
    }
    absent.ready(filter);
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use fjall::{Database, KeyspaceCreateOptions};

    use super::*;
    use crate::seen::Secret;

    fn key(number: u32) -> UrlKey {
        Secret::new([3, 4]).key(&number.to_string())
    }

    fn wanted(keyspace: &Keyspace) -> Wanted {
        // Values that say no count as absent.
        let key = |key: &[u8], value: &[u8]| {
            Ok(key.try_into().ok().filter(|_| value == b"yes").map(UrlKey::from_bytes))
        };
        Wanted { keyspace: keyspace.clone(), bytes: 4096, key: Box::new(key) }
    }

    #[test]
    fn what_is_there_is_never_absent() {
        let directory = tempfile::tempdir().unwrap();
        let database = Database::builder(directory.path()).open().unwrap();
        let keyspace = database.keyspace("some", KeyspaceCreateOptions::default).unwrap();
        let ([fresh], _making) = Making::start([wanted(&keyspace)]).unwrap();
        assert!(!fresh.may_have(key(1)), "nothing is in an empty keyspace");
        for number in 0..200 {
            let value = if number < 100 { "yes" } else { "no" };
            keyspace.insert(key(number).to_bytes(), value).unwrap();
        }
        let ([absent], making) = Making::start([wanted(&keyspace)]).unwrap();
        absent.add((200..300).map(key));
        let there = || (0..100).chain(200..300).all(|number| absent.may_have(key(number)));
        for _ in 0..1000 {
            assert!(there());
            if !absent.may_have(key(1000)) {
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        drop(making);
        assert!(there());
        let wrong = (100..200).chain(1000..1100).filter(|&number| absent.may_have(key(number))).count();
        assert!(wrong < 10, "{wrong} of 200 pass for present");
    }
}
