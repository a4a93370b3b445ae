//! Archive files in an object store: S3 and what speaks like it, through the `object_store` crate.
//!
//! In: the URL of a store. Out: an [`Objects`], which files are copied to whole and read from by range. A file is written in a local
//! folder first, for object stores cannot append; when it is complete the [`Uploader`] copies it, and only then a small file with
//! its name and `.stored` takes its place ([`Stored`](crate::Stored)). Readers go by that, so that nothing refers to what is not there. Calls block;
//! they may be made on any thread.

mod body;
mod client;
mod upload;

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, Read};
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{
    BackoffConfig, GetOptions, GetRange, ObjectStore, ObjectStoreExt, RetryConfig, WriteMultipart,
};
use parking_lot::Mutex;
use tokio::runtime::Runtime;
use url::Url;

pub use self::body::ObjectBody;
use self::client::Connector;
pub use self::upload::{Left, Uploader};

/// Bytes of one part of an upload. Files that are not longer are sent at once.
const PART_BYTES: usize = 8 << 20;
/// Parts under way at once.
const PARTS_MAX: usize = 4;
/// A request that fails is tried again so often; who asked goes on trying for longer, if there is reason to.
const RETRIES_MAX: usize = 3;
/// How long that may take.
const RETRY_TIME_MAX: Duration = Duration::from_secs(30);

/// A place in an object store.
#[derive(Debug)]
pub struct Objects {
    store: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    url: String,
}

/// Requests are made here, whatever thread asks for them.
static RUNTIME: LazyLock<io::Result<Runtime>> = LazyLock::new(|| {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .thread_name("webloom-objects")
        .enable_all()
        .build()
});

/// Those that were opened: their connections are used again, and what is in memory stays.
static OPENED: LazyLock<Mutex<HashMap<String, Arc<Objects>>>> = LazyLock::new(Mutex::default);

fn invalid(what: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, what)
}

impl Objects {
    /// Opens `s3://bucket/prefix`, `file:///folder`, or `memory:///name`, which lasts as long as the process. Keys, region and endpoint of
    /// S3 are taken from the environment: `AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_REGION`, `AWS_ENDPOINT_URL`. Nothing
    /// is asked yet.
    pub fn open(url: &str) -> io::Result<Arc<Self>> {
        let mut opened = OPENED.lock();
        if let Some(objects) = opened.get(url) {
            return Ok(objects.clone());
        }
        let parsed = Self::parse(url)?;
        let store: Arc<dyn ObjectStore> = match parsed.scheme() {
            "s3" => Arc::new(s3(url)?),
            "file" => {
                let folder =
                    parsed.to_file_path().map_err(|()| invalid(format!("`{url}` names no folder")))?;
                std::fs::create_dir_all(&folder)?;
                Arc::new(LocalFileSystem::new_with_prefix(folder)?)
            }
            _ => Arc::new(InMemory::new()),
        };
        let prefix = if parsed.scheme() == "s3" { parsed.path() } else { "" };
        let prefix = ObjectPath::from_url_path(prefix).map_err(|error| invalid(error.to_string()))?;
        let objects = Arc::new(Self { store, prefix, url: url.to_owned() });
        opened.insert(url.to_owned(), objects.clone());
        Ok(objects)
    }

    /// Checks the URL of a store without opening it.
    pub fn parse(url: &str) -> io::Result<Url> {
        let parsed = Url::parse(url).map_err(|error| invalid(format!("`{url}` is no URL: {error}")))?;
        let has_host = parsed.host_str().is_some_and(|host| !host.is_empty());
        match (parsed.scheme(), has_host) {
            ("s3", true) | ("file" | "memory", false) => Ok(parsed),
            _ => Err(invalid(format!("`{url}` is no s3://bucket/prefix, file:///folder or memory:///name"))),
        }
    }

    /// What it was opened by.
    pub fn url(&self) -> &str {
        &self.url
    }

    fn object(&self, name: &str) -> ObjectPath {
        self.prefix.clone().join(name)
    }

    /// Copies a file there, and looks whether all of it has arrived.
    pub fn put_file(self: &Arc<Self>, name: &str, path: &Path) -> io::Result<()> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        let (objects, object) = (self.clone(), self.object(name));
        wait(async move {
            if length <= PART_BYTES as u64 {
                let mut bytes = Vec::new();
                file.read_to_end(&mut bytes)?;
                objects.store.put(&object, bytes.into()).await?;
            } else {
                objects.put_parts(&object, &mut file).await?;
            }
            let arrived = objects.store.head(&object).await?.size;
            if arrived == length {
                Ok(())
            } else {
                Err(io::Error::other(format!("{arrived} of {length} bytes have arrived")))
            }
        })
    }

    async fn put_parts(&self, object: &ObjectPath, file: &mut File) -> io::Result<()> {
        let upload = self.store.put_multipart(object).await?;
        let mut parts = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut part = vec![0; PART_BYTES];
        loop {
            let count = match file.read(&mut part) {
                Ok(count) => count,
                Err(error) => {
                    parts.abort().await?;
                    return Err(error);
                }
            };
            if count == 0 {
                break;
            }
            parts.wait_for_capacity(PARTS_MAX).await?;
            parts.write(&part[..count]);
        }
        parts.finish().await?;
        Ok(())
    }

    /// Bytes of a file from a place on; fewer at its end.
    pub fn read(self: &Arc<Self>, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        let (objects, object) = (self.clone(), self.object(name));
        let range = Some(GetRange::Bounded(offset..offset.saturating_add(length)));
        wait(async move {
            let options = GetOptions { range, ..GetOptions::default() };
            Ok(objects.store.get_opts(&object, options).await?.bytes().await?.into())
        })
    }
}

/// The client for a bucket.
fn s3(url: &str) -> io::Result<object_store::aws::AmazonS3> {
    let retry = RetryConfig {
        backoff: BackoffConfig::default(),
        max_retries: RETRIES_MAX,
        retry_timeout: RETRY_TIME_MAX,
    };
    let builder = AmazonS3Builder::from_env().with_url(url).with_retry(retry);
    Ok(builder.with_http_connector(Connector).build()?)
}

/// Waits for an answer.
fn wait<T: Send + 'static>(work: impl Future<Output = io::Result<T>> + Send + 'static) -> io::Result<T> {
    let runtime = RUNTIME.as_ref().map_err(|error| io::Error::new(error.kind(), error.to_string()))?;
    let (answer, answered) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        // Nobody waits any more when this fails.
        let _ = answer.send(work.await);
    });
    answered.recv().map_err(|_| io::Error::other("the request panicked"))?
}
