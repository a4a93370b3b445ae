//! Writes packed records from the committing thread, and waits when the disk is full.
//!
//! In: the records of a batch. Out: their places, once they are on disk to stay. A full disk is no failure: the batch waits, and
//! with it, through the bounded queue, the whole crawl, until there is room or somebody ends the crawl.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use tracing::error;
use webloom_archive::objects::Uploader;
use webloom_archive::{ArchiveWriter, PackedCapture, Place};

use crate::counters::Counters;
use crate::crawl::CrawlError;

/// How often a full disk is looked at again.
const LOOK_AGAIN: Duration = Duration::from_millis(250);

/// The one writer of a crawl's archive.
pub(crate) struct Ledger {
    writer: ArchiveWriter,
    folder: PathBuf,
    free_bytes_min: u64,
    /// Copies complete files to an object store, if that is where they go. Dropped after the writer, so that the last file goes too.
    uploader: Option<Uploader>,
    /// The file that was written to last.
    file: String,
    counters: Arc<Counters>,
}

impl Ledger {
    pub(crate) fn new(
        writer: ArchiveWriter,
        folder: PathBuf,
        free_bytes_min: u64,
        uploader: Option<Uploader>,
        counters: Arc<Counters>,
    ) -> Self {
        Self { writer, folder, free_bytes_min, uploader, file: String::new(), counters }
    }

    /// When another file was begun, the one before is complete and may be copied.
    fn ring(&mut self, places: &[Option<Place>]) {
        let Some(uploader) = &self.uploader else { return };
        if let Some(place) = places.iter().flatten().next().filter(|place| place.file != self.file) {
            self.file.clone_from(&place.file);
            uploader.ring();
        }
    }

    /// Writes a batch, however long it takes. Fails when the archive does, or when `closing` is set while there is no room.
    pub(crate) fn append(
        &mut self,
        captures: &[PackedCapture],
        closing: &AtomicBool,
    ) -> Result<Vec<Option<Place>>, CrawlError> {
        let bytes: u64 = captures.iter().map(PackedCapture::length).sum();
        if bytes == 0 {
            return Ok(captures.iter().map(|_| None).collect());
        }
        let mut was_told = false;
        loop {
            let free = self.writer.free_bytes();
            if free.is_none_or(|free| free >= self.free_bytes_min.saturating_add(bytes)) {
                match self.writer.append(captures) {
                    Ok(places) => {
                        self.ring(&places);
                        self.count(captures, bytes, was_told);
                        return Ok(places);
                    }
                    Err(failed) if failed.is_full() => {}
                    Err(failed) => return Err(failed.into()),
                }
            }
            if !was_told {
                was_told = true;
                self.counters.archive_waits.store(true, Relaxed);
                error!(
                    "the disk of `{}` is full: {bytes} bytes are to be written, {} are free, of which {} are to stay so; the crawl waits and goes on by itself when there is room",
                    self.folder.display(),
                    free.unwrap_or_default(),
                    self.free_bytes_min,
                );
            }
            if closing.load(Relaxed) {
                return Err(CrawlError::Stopped);
            }
            std::thread::sleep(LOOK_AGAIN);
        }
    }

    fn count(&self, captures: &[PackedCapture], bytes: u64, was_told: bool) {
        let records: usize = captures.iter().map(PackedCapture::len).sum();
        self.counters.archive_records.fetch_add(records as u64, Relaxed);
        self.counters.archive_bytes.fetch_add(bytes, Relaxed);
        if was_told {
            self.counters.archive_waits.store(false, Relaxed);
            error!("there is room again in `{}`: the crawl goes on", self.folder.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::path::Path;
    use std::sync::atomic::AtomicU64;

    use bytes::Bytes;
    use webloom_archive::store::{OpenBody, StoredFile};
    use webloom_archive::{ArchiveSettings, BodyStore, LocalStore};

    use super::*;

    /// A directory on a disk with so much room.
    struct SmallDisk(LocalStore, Arc<AtomicU64>);

    impl BodyStore for SmallDisk {
        fn create(&self, name: &str) -> io::Result<Box<dyn OpenBody>> {
            self.0.create(name)
        }

        fn complete(&self, name: &str) -> io::Result<()> {
            self.0.complete(name)
        }

        fn list(&self) -> io::Result<Vec<StoredFile>> {
            self.0.list()
        }

        fn read(&self, name: &str, offset: u64, length: u64) -> io::Result<Vec<u8>> {
            self.0.read(name, offset, length)
        }

        fn local(&self, name: &str) -> io::Result<PathBuf> {
            self.0.local(name)
        }

        fn free_bytes(&self) -> io::Result<Option<u64>> {
            Ok(Some(self.1.load(Relaxed)))
        }
    }

    fn ledger(folder: &Path, room: &Arc<AtomicU64>) -> (Ledger, Arc<Counters>, Vec<PackedCapture>) {
        let store = Arc::new(SmallDisk(LocalStore::new(folder), room.clone()));
        let writer = ArchiveWriter::open_with(folder, store, ArchiveSettings::default()).unwrap();
        let at = "2026-11-16T12:00:00Z".parse().unwrap();
        let body = Bytes::from_static(b"words");
        let capture = writer.maker().resource("http://a.example/", at, "text/plain", body).unwrap();
        let counters = Arc::new(Counters::default());
        (Ledger::new(writer, folder.to_owned(), 1000, None, counters.clone()), counters, vec![capture])
    }

    #[test]
    fn a_full_disk_is_waited_for() {
        let folder = tempfile::tempdir().unwrap();
        let room = Arc::new(AtomicU64::new(1000));
        let (mut ledger, counters, captures) = ledger(folder.path(), &room);
        let closing = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let writing = scope.spawn(|| ledger.append(&captures, &closing).unwrap());
            while !counters.archive_waits.load(Relaxed) {
                std::thread::sleep(Duration::from_millis(5));
            }
            assert_eq!(counters.archive_records.load(Relaxed), 0);
            assert!(!writing.is_finished());
            room.store(1 << 20, Relaxed);
            let places = writing.join().unwrap();
            assert!(places[0].is_some());
        });
        assert!(!counters.archive_waits.load(Relaxed));
        assert_eq!(counters.archive_records.load(Relaxed), 1);
    }

    #[test]
    fn nobody_waits_for_room_at_the_end() {
        let folder = tempfile::tempdir().unwrap();
        let (mut ledger, _, captures) = ledger(folder.path(), &Arc::new(AtomicU64::new(0)));
        let refused = ledger.append(&captures, &AtomicBool::new(true));
        assert!(matches!(refused, Err(CrawlError::Stopped)), "{refused:?}");
    }
}
