//! Archive files in an object store: S3 and what speaks like it, through the `object_store` crate.
//!
//! In: any [`ObjectStore`] and a prefix. The file that is being written stays in a local folder, for object stores cannot
//! append; it is uploaded in parts when it is complete, and only then removed here. Records are read by range. Calls
//! block: they are for threads of their own, not for tasks.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;

use futures_util::TryStreamExt;
use object_store::path::Path as ObjectPath;
use object_store::{GetOptions, GetRange, ObjectStore, ObjectStoreExt, WriteMultipart};
use tokio::runtime::Runtime;

use crate::store::{BodyStore, LocalStore, OpenBody, StoredFile, is_archive_name};

/// Bytes of one part of an upload.
const PART_BYTES: usize = 8 << 20;
/// Parts under way at once.
const PARTS_MAX: usize = 4;

/// Complete files in an object store, the open one in a folder.
pub struct ObjectBodies {
    spool: LocalStore,
    objects: Arc<dyn ObjectStore>,
    prefix: ObjectPath,
    runtime: Runtime,
}

impl ObjectBodies {
    /// Files go to `prefix` in `objects`; `spool` is a local folder for the open one, and for whole files that are wanted here.
    pub fn new(spool: impl Into<PathBuf>, objects: Arc<dyn ObjectStore>, prefix: &str) -> io::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?;
        Ok(Self { spool: LocalStore::new(spool), objects, prefix: ObjectPath::from(prefix), runtime })
    }

    fn object(&self, name: &str) -> ObjectPath {
        self.prefix.clone().join(name)
    }

    async fn upload(&self, name: &str, mut file: File) -> object_store::Result<()> {
        let failed =
            |source: io::Error| object_store::Error::Generic { store: "spool", source: Box::new(source) };
        let upload = self.objects.put_multipart(&self.object(name)).await?;
        let mut parts = WriteMultipart::new_with_chunk_size(upload, PART_BYTES);
        let mut part = vec![0; PART_BYTES];
        loop {
            let count = file.read(&mut part).map_err(failed)?;
            if count == 0 {
                break;
            }
            parts.wait_for_capacity(PARTS_MAX).await?;
            parts.write(&part[..count]);
        }
        parts.finish().await?;
        Ok(())
    }

    async fn range(&self, name: &str, range: Option<GetRange>) -> object_store::Result<Vec<u8>> {
        let options = GetOptions { range, ..GetOptions::default() };
        let bytes = self.objects.get_opts(&self.object(name), options).await?.bytes().await?;
        Ok(bytes.into())
    }
}

impl BodyStore for ObjectBodies {
    fn create(&self, name: &str) -> io::Result<Box<dyn OpenBody>> {
        self.spool.create(name)
    }

    fn complete(&self, name: &str) -> io::Result<()> {
        let open = self.spool.open_path(name);
        self.runtime.block_on(self.upload(name, File::open(&open)?))?;
        std::fs::remove_file(open)
    }

    fn list(&self) -> io::Result<Vec<StoredFile>> {
        let objects: Vec<_> = self.runtime.block_on(self.objects.list(Some(&self.prefix)).try_collect())?;
        let complete = objects.into_iter().filter_map(|object| {
            let name = object.location.filename()?.to_owned();
            is_archive_name(&name).then_some(StoredFile { name, length: object.size, is_open: false })
        });
        let open = self.spool.list()?.into_iter().filter(|file| file.is_open);
        let mut files: Vec<StoredFile> = complete.chain(open).collect();
        files.sort_unstable();
        Ok(files)
    }

    fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
        if self.spool.open_path(name).is_file() {
            return self.spool.read(name, offset, length);
        }
        let end = offset.saturating_add(length);
        Ok(self.runtime.block_on(self.range(name, Some(GetRange::Bounded(offset..end))))?)
    }

    fn local(&self, name: &str) -> io::Result<PathBuf> {
        let open = self.spool.open_path(name);
        if open.is_file() {
            return Ok(open);
        }
        let folder = self.spool.folder().join("fetched");
        let path = folder.join(name);
        if !path.is_file() {
            std::fs::create_dir_all(&folder)?;
            let bytes = self.runtime.block_on(self.range(name, None))?;
            let beside = folder.join(format!("{name}.part"));
            std::fs::write(&beside, bytes)?;
            std::fs::rename(beside, &path)?;
        }
        Ok(path)
    }

    fn free_bytes(&self) -> io::Result<Option<u64>> {
        self.spool.free_bytes()
    }
}

#[cfg(test)]
mod tests {
    use object_store::local::LocalFileSystem;
    use object_store::memory::InMemory;

    use super::*;

    /// What every store promises, see [`BodyStore`].
    fn check(store: &dyn BodyStore) {
        let name = "a.warc.gz";
        let mut body = store.create(name).unwrap();
        body.append(b"one ").unwrap();
        body.append(b"two three").unwrap();
        body.truncate(8).unwrap();
        body.append(b"four").unwrap();
        body.sync().unwrap();
        let listed = |is_open| vec![StoredFile { name: name.to_owned(), length: 12, is_open }];
        assert_eq!(store.list().unwrap(), listed(true));
        assert_eq!(store.read(name, 4, 4).unwrap(), b"two ");
        drop(body);
        store.complete(name).unwrap();
        assert_eq!(store.list().unwrap(), listed(false));
        for (offset, length, expected) in [(0, 3, &b"one"[..]), (4, 100, b"two four"), (11, 1, b"r")] {
            assert_eq!(store.read(name, offset, length).unwrap(), expected);
        }
        assert_eq!(std::fs::read(store.local(name).unwrap()).unwrap(), b"one two four");
        assert!(store.read("none.warc.gz", 0, 1).is_err());
    }

    #[test]
    fn a_folder_keeps_the_promises() {
        let folder = tempfile::tempdir().unwrap();
        check(&LocalStore::new(folder.path()));
    }

    #[test]
    fn object_stores_keep_the_promises() {
        let (spool, objects) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        check(&ObjectBodies::new(spool.path(), Arc::new(InMemory::new()), "crawl/archive").unwrap());
        let spool = tempfile::tempdir().unwrap();
        let local = LocalFileSystem::new_with_prefix(objects.path()).unwrap();
        check(&ObjectBodies::new(spool.path(), Arc::new(local), "archive").unwrap());
    }

    #[test]
    fn an_archive_in_an_object_store_is_written_found_and_recovered() {
        use crate::{Archive, ArchiveSettings, ArchiveWriter};
        let folder = tempfile::tempdir().unwrap();
        let objects: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let store = || Arc::new(ObjectBodies::new(folder.path(), objects.clone(), "a").unwrap());
        let mut writer =
            ArchiveWriter::open_with(folder.path(), store(), ArchiveSettings::default()).unwrap();
        let body = bytes::Bytes::from_static(b"a generated file");
        let at = jiff::Timestamp::UNIX_EPOCH;
        let capture = writer.maker().resource("http://example.org/x", at, "text/plain", body).unwrap();
        writer.append(&[capture]).unwrap();
        // A kill: the file stays open in the spool.
        std::mem::forget(writer);
        drop(ArchiveWriter::open_with(folder.path(), store(), ArchiveSettings::default()).unwrap());
        assert_eq!(store().list().unwrap().iter().filter(|file| !file.is_open).count(), 1);
        let archive = Archive::open_with(folder.path(), store());
        assert_eq!(archive.history("http://example.org/x").unwrap().len(), 1);
    }
}
