//! The keyspaces of the durable frontier, and how they are opened.

use std::path::Path;

use fjall::config::{FilterPolicy, FilterPolicyEntry, PartitioningPolicy};
use fjall::{Database, Keyspace, KeyspaceCreateOptions};
use webloom_model::FrontierError;

use super::absent::{Absent, Making, Wanted};
use crate::record::{LifeRecord, damaged, decode};
use crate::seen::{Secret, UrlKey};

/// The layout of the directory. One with another number is refused.
const FORMAT: u32 = 3;
const FORMAT_KEY: &str = "format";
const SECRET_KEY: &str = "secret";
const SETTING_PREFIX: &str = "setting:";
pub(super) const COUNTERS_KEY: &str = "counters";
/// Blocks of the store kept in memory. Few of its records are read again soon, and hardly any that are not there: see [`Absent`].
const CACHE_BYTES: u64 = 16 * 1024 * 1024;
/// Writes of one keyspace that are held in memory before they become a file.
const WRITES_BYTES: u64 = 16 * 1024 * 1024;
/// Writes that opening may have to go through again.
const JOURNAL_BYTES: u64 = 64 * 1024 * 1024;
/// Threads that write files and merge them. With two, the first runs in circles on a core of its own while the second merges.
const WORKERS: usize = 1;
/// Longest key the store takes, less our prefix.
const KEY_BYTES_MAX: usize = 60_000;

/// A kind of thing that is kept beside the URLs, each under a key of the caller's choice.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Blob {
    /// robots.txt files, by origin.
    Robots,
    /// JSON-LD contexts, by IRI.
    Contexts,
}

pub(super) struct Store {
    pub database: Database,
    pub changes: Keyspace,
    pub later: Keyspace,
    pub lives: Keyspace,
    pub hosts: Keyspace,
    pub rota: Keyspace,
    pub exhausted: Keyspace,
    pub domains: Keyspace,
    pub meta: Keyspace,
    pub robots: Keyspace,
    pub contexts: Keyspace,
    pub secret: Secret,
    /// Which URLs have no life, which have none that says more than a score, and which hosts have no record.
    pub lives_absent: Absent,
    pub told_absent: Absent,
    pub hosts_absent: Absent,
    _making: Making,
}

impl Store {
    /// Opens the store of a directory, or creates it. `filter_bytes` is for all filters together.
    pub fn open(directory: &Path, filter_bytes: usize) -> Result<Self, FrontierError> {
        let path = directory.join("store");
        // The first layout had the store where the directory is now.
        if !path.exists() && directory.join("keyspaces").exists() {
            let path = directory.display().to_string();
            return Err(FrontierError::Format { path, found: 1, known: FORMAT });
        }
        let database = Database::builder(path)
            .cache_size(CACHE_BYTES)
            .max_journaling_size(JOURNAL_BYTES)
            .worker_threads(WORKERS)
            .open()
            .map_err(|error| match error {
                fjall::Error::Locked => FrontierError::Locked { path: directory.display().to_string() },
                other => store_error(&other),
            })?;
        // In pieces: a file's whole filter or index would push hundreds of blocks out of the cache, and the more there is, the oftener.
        let options = || {
            KeyspaceCreateOptions::default()
                .max_memtable_size(WRITES_BYTES)
                .filter_block_partitioning_policy(PartitioningPolicy::new([false, true]))
                .index_block_partitioning_policy(PartitioningPolicy::new([false, true]))
        };
        let keyspace = |name: &str| database.keyspace(name, options).map_err(|error| store_error(&error));
        // What is only gone through in order needs no filters.
        let in_order = |name: &str| {
            let options = || options().filter_policy(FilterPolicy::all(FilterPolicyEntry::None));
            database.keyspace(name, options).map_err(|error| store_error(&error))
        };
        // Nothing else is looked at, nor created, before the format is known.
        let meta = keyspace("meta")?;
        match read(&meta, FORMAT_KEY.as_bytes())? {
            None => insert(&meta, FORMAT_KEY.as_bytes(), &FORMAT.to_be_bytes())?,
            Some(value) => {
                let bytes = <[u8; 4]>::try_from(&*value)
                    .map_err(|_| damaged(FORMAT_KEY.as_bytes(), "not a number".to_owned()))?;
                let found = u32::from_be_bytes(bytes);
                if found != FORMAT {
                    let path = directory.display().to_string();
                    return Err(FrontierError::Format { path, found, known: FORMAT });
                }
            }
        }
        let secret = match read(&meta, SECRET_KEY.as_bytes())? {
            Some(value) => Secret::from_bytes(&value)
                .ok_or_else(|| damaged(SECRET_KEY.as_bytes(), "not a secret of ours".to_owned()))?,
            None => {
                let secret = Secret::random();
                insert(&meta, SECRET_KEY.as_bytes(), &secret.to_bytes())?;
                secret
            }
        };
        let (lives, hosts) = (keyspace("lives")?, keyspace("hosts")?);
        let life_key = |key: &[u8]| {
            let bytes = key.try_into().map_err(|_| damaged(key, "not the key of a life".to_owned()))?;
            Ok(UrlKey::from_bytes(bytes))
        };
        let told_key = move |key: &[u8], value: &[u8]| -> Result<Option<UrlKey>, FrontierError> {
            let told = decode::<LifeRecord>(key, value)?.tells_more_than_a_score();
            told.then(|| life_key(key)).transpose()
        };
        let host_key = move |name: &[u8], _: &[u8]| {
            let name = std::str::from_utf8(name).map_err(|error| damaged(name, error.to_string()))?;
            Ok(Some(secret.name_key(name)))
        };
        let wanted = [
            Wanted {
                keyspace: lives.clone(),
                bytes: filter_bytes / 8 * 3,
                key: Box::new(move |key, _| life_key(key).map(Some)),
            },
            Wanted { keyspace: lives.clone(), bytes: filter_bytes / 8 * 3, key: Box::new(told_key) },
            Wanted { keyspace: hosts.clone(), bytes: filter_bytes / 8 * 2, key: Box::new(host_key) },
        ];
        let ([lives_absent, told_absent, hosts_absent], making) = Making::start(wanted)?;
        Ok(Self {
            changes: in_order("changes")?,
            later: in_order("later")?,
            lives,
            hosts,
            lives_absent,
            told_absent,
            hosts_absent,
            _making: making,
            rota: in_order("rota")?,
            exhausted: in_order("exhausted")?,
            domains: keyspace("domains")?,
            robots: keyspace("robots")?,
            contexts: keyspace("contexts")?,
            meta,
            secret,
            database,
        })
    }

    pub fn blobs(&self, space: Blob) -> &Keyspace {
        match space {
            Blob::Robots => &self.robots,
            Blob::Contexts => &self.contexts,
        }
    }
}

/// The value of a key.
pub(super) fn read(keyspace: &Keyspace, key: &[u8]) -> Result<Option<Vec<u8>>, FrontierError> {
    Ok(keyspace.get(key).map_err(|error| store_error(&error))?.map(|value| value.to_vec()))
}

/// Sets a value by itself, outside of any batch.
pub(super) fn insert(keyspace: &Keyspace, key: &[u8], value: &[u8]) -> Result<(), FrontierError> {
    keyspace.insert(key, value).map_err(|error| store_error(&error))
}

pub(super) fn setting_key(name: &str) -> Result<Vec<u8>, FrontierError> {
    prefixed_key(SETTING_PREFIX, name)
}

/// The store has no empty keys, so all of them get a prefix.
pub(super) fn blob_key(key: &str) -> Result<Vec<u8>, FrontierError> {
    prefixed_key("=", key)
}

fn prefixed_key(prefix: &str, key: &str) -> Result<Vec<u8>, FrontierError> {
    if key.len() > KEY_BYTES_MAX {
        return Err(FrontierError::Store(format!("a key of {} bytes is too long", key.len())));
    }
    Ok([prefix, key].concat().into_bytes())
}

pub(super) fn store_error(error: &fjall::Error) -> FrontierError {
    FrontierError::Store(error.to_string())
}
