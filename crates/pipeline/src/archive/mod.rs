//! Keeps what was received: every exchange of a page's way becomes records of the crawl's own WARC files.
//!
//! In: the [`Tape`] of a fetch and what came of it. Out: packed records that wait with the page for its commit. [`Ledger`], in
//! the committing thread, writes them before the page's metadata say where they are. What the records look like is the archive
//! crate's; reading them back is `replay`. Start at [`Archivist::pack`].

mod ledger;

use std::path::PathBuf;
use std::sync::Arc;

use jiff::Timestamp;
use tracing::error;
use webloom_archive::objects::{Objects, Uploader};
use webloom_archive::{
    ArchiveSettings, ArchiveWriter, CaptureMaker, Dictionary, DictionarySource, Notes, PackedCapture, Packing,
};
use webloom_fetch::Tape;
use webloom_model::{Exchange, FetchOutcome, Lease, Purpose, Truncated};

pub(crate) use self::ledger::Ledger;
use crate::counters::Counters;
use crate::crawl::CrawlError;
use crate::process::Woven;
use crate::wiring::{Crawl, DataDir};

/// Names of what notes say, here and in `replay`.
pub(crate) mod note {
    pub(crate) const PURPOSE: &str = "purpose";
    pub(crate) const DEPTH: &str = "depth";
    /// The page that carried the link, as Heritrix calls it.
    pub(crate) const VIA: &str = "via";
    pub(crate) const ANCHOR: &str = "anchor";
    pub(crate) const REDIRECTED_FROM: &str = "redirectedFrom";
    pub(crate) const OUTCOME: &str = "outcome";
    pub(crate) const CODE: &str = "code";
    pub(crate) const REASON: &str = "reason";
    /// What the fetcher noticed: severity, code, words.
    pub(crate) const DIAGNOSTIC: &str = "diagnostic";
    /// As Heritrix calls it.
    pub(crate) const FETCH_TIME: &str = "fetchTimeMs";
}

/// What is kept of what was received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// Every exchange: pages, redirects, errors, robots.txt, contexts.
    All,
    /// Pages that carry data.
    Data,
    /// Nothing.
    Nothing,
}

/// Where the dictionary comes from that records are packed with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DictionarySetting {
    /// There is none.
    None,
    /// From the first records of the crawl.
    Train,
    /// From a file.
    File(PathBuf),
}

impl DictionarySetting {
    fn source(&self) -> Result<DictionarySource, CrawlError> {
        Ok(match self {
            Self::None => DictionarySource::None,
            Self::Train => DictionarySource::Train,
            Self::File(path) => {
                let dictionary = Dictionary::read(path)
                    .map_err(|source| CrawlError::Dictionary { path: path.clone(), source })?;
                DictionarySource::Given(Arc::new(dictionary))
            }
        })
    }
}

/// How a crawl keeps what it received.
#[derive(Debug, Clone)]
pub struct ArchiveSpec {
    /// What is kept.
    pub keep: Keep,
    /// How records are packed.
    pub packing: Packing,
    /// What they are packed with, if that is zstd.
    pub dictionary: DictionarySetting,
    /// A file that is longer than this is completed and another begun.
    pub file_bytes_max: u64,
    /// Bytes on disk that are left alone: the crawl waits instead.
    pub free_bytes_min: u64,
    /// What names of files begin with.
    pub prefix: String,
    /// The URL of the object store that complete files go to.
    pub store: Option<String>,
}

/// Turns exchanges into records.
#[derive(Debug)]
pub(crate) struct Archivist {
    maker: Arc<CaptureMaker>,
    keep: Keep,
}

/// Records of one lease, and whether the first of them is what its URL answered.
#[derive(Debug, Default)]
pub(crate) struct Captures {
    pub(crate) records: PackedCapture,
    pub(crate) begins_with_page: bool,
}

/// What is told of a lease beside its exchanges.
#[derive(Debug, Default)]
pub(crate) struct Account {
    url: String,
    notes: Notes,
    /// The URL is done with and gave no page.
    is_without_page: bool,
}

impl Account {
    /// How the URL was found, and what came of asking.
    pub(crate) fn of(lease: &Lease, outcome: &FetchOutcome, attempts_max: u32) -> Self {
        let candidate = &lease.candidate;
        let mut notes: Notes = vec![(note::DEPTH, candidate.depth.to_string())];
        notes.extend(candidate.found_on.as_ref().map(|page| (note::VIA, page.as_str().to_owned())));
        notes.extend(candidate.anchor.as_ref().map(|words| (note::ANCHOR, words.clone())));
        let from = candidate.redirects.iter();
        notes.extend(from.map(|url| (note::REDIRECTED_FROM, url.as_str().to_owned())));
        if let FetchOutcome::Fetched(page) = outcome {
            notes.extend(page.diagnostics.iter().map(|diagnostic| {
                let line =
                    format!("{} {} {}", diagnostic.severity.as_str(), diagnostic.code, diagnostic.message);
                (note::DIAGNOSTIC, line)
            }));
        }
        let told = match outcome {
            FetchOutcome::NotFetched(reason) => Some(("no-page", reason.code(), reason.to_string())),
            // What is tried again has come to nothing yet.
            FetchOutcome::Failed(error) if lease.attempt + 1 >= attempts_max => {
                Some(("failed", error.code(), error.to_string()))
            }
            _ => None,
        };
        let is_without_page = told.is_some();
        if let Some((outcome, code, reason)) = told {
            notes.push((note::OUTCOME, outcome.to_owned()));
            notes.push((note::CODE, code.to_owned()));
            notes.push((note::REASON, reason));
        }
        Self { url: candidate.url.as_str().to_owned(), notes, is_without_page }
    }
}

impl Archivist {
    /// Opens the archive of a crawl, unless nothing is to be kept.
    pub(crate) fn open(
        data: &DataDir,
        spec: &ArchiveSpec,
        info: Vec<(String, String)>,
        counters: Arc<Counters>,
    ) -> Result<Option<(Self, Ledger)>, CrawlError> {
        if spec.keep == Keep::Nothing {
            return Ok(None);
        }
        let settings = ArchiveSettings {
            packing: spec.packing,
            dictionary: spec.dictionary.source()?,
            file_bytes_max: spec.file_bytes_max,
            prefix: spec.prefix.clone(),
            info,
            ..ArchiveSettings::default()
        };
        let folder = data.archive();
        let writer = ArchiveWriter::open(&folder, settings)?;
        let archivist = Self { maker: writer.maker(), keep: spec.keep };
        let uploader = spec.store.as_ref().map(|url| {
            let objects = Objects::open(url);
            objects
                .and_then(|objects| Uploader::start(&folder, objects))
                .map_err(|source| CrawlError::Store { url: url.clone(), source })
        });
        let ledger = Ledger::new(writer, folder, spec.free_bytes_min, uploader.transpose()?, counters);
        Ok(Some((archivist, ledger)))
    }

    /// The records of a lease. The exchange with the URL itself comes first, so that its place is theirs.
    fn pack(&self, exchanges: Vec<Exchange>, account: &Account, has_data: bool) -> std::io::Result<Captures> {
        let mut captures = Captures::default();
        if self.keep == Keep::Data && !has_data {
            return Ok(captures);
        }
        let (page, others): (Vec<_>, Vec<_>) =
            exchanges.into_iter().partition(|exchange| exchange.purpose == Purpose::Page);
        for exchange in &page {
            captures.begins_with_page = true;
            let mut notes = account.notes.clone();
            notes.push((note::FETCH_TIME, exchange.elapsed.as_millis().to_string()));
            captures.records.append(self.maker.capture(exchange, &notes)?);
        }
        if page.is_empty() && account.is_without_page && self.keep == Keep::All {
            let told = self.maker.without_answer(&account.url, Timestamp::now(), &account.notes)?;
            captures.records.append(told);
        }
        for exchange in &others {
            let notes = vec![(note::PURPOSE, exchange.purpose.as_str().to_owned())];
            captures.records.append(self.maker.capture(exchange, &notes)?);
        }
        Ok(captures)
    }
}

/// Bytes of a dump that are archived; a record is packed in memory.
const SOURCE_BYTES_MAX: usize = 256 << 20;

impl Archivist {
    /// The records of what was asked of a source. The answer alone when only what carries data is kept, and then only if it was one.
    fn pack_source(&self, exchanges: Vec<Exchange>, is_answered: bool) -> std::io::Result<PackedCapture> {
        let mut records = PackedCapture::default();
        for mut exchange in exchanges {
            let is_answer =
                is_answered && exchange.purpose == Purpose::Context && (200..300).contains(&exchange.status);
            if self.keep != Keep::All && !is_answer {
                continue;
            }
            // To the fetcher all that is no page is a context.
            if exchange.purpose == Purpose::Context {
                exchange.purpose = Purpose::Source;
            }
            if exchange.body.len() > SOURCE_BYTES_MAX {
                exchange.body.truncate(SOURCE_BYTES_MAX);
                exchange.truncated = Some(Truncated::Length);
            }
            let notes = vec![
                (note::PURPOSE, exchange.purpose.as_str().to_owned()),
                (note::FETCH_TIME, exchange.elapsed.as_millis().to_string()),
            ];
            records.append(self.maker.capture(&exchange, &notes)?);
        }
        Ok(records)
    }
}

impl Crawl {
    /// Packs what was asked of a source, and returns when it is on disk.
    pub(crate) async fn archive_source(&self, tape: Tape, is_answered: bool) -> Result<(), CrawlError> {
        let Some(archivist) = self.archivist.clone() else { return Ok(()) };
        let exchanges = tape.into_exchanges();
        match self.cpu.run(move || archivist.pack_source(exchanges, is_answered)).await {
            Ok(Ok(records)) if records.is_empty() => Ok(()),
            Ok(Ok(records)) => self.committer.keep(records).await,
            Ok(Err(failed)) => {
                error!(%failed, "a source's answer cannot be packed for the archive");
                Ok(())
            }
            Err(panicked) => {
                error!(reason = panicked.0, "a source's answer cannot be packed for the archive");
                Ok(())
            }
        }
    }

    /// What to write an exchange down on.
    pub(crate) fn tape(&self) -> Tape {
        if self.archivist.is_some() { Tape::on() } else { Tape::off() }
    }

    /// Returns when what was received and what was made of it are durable. What is left to pack are the answers of those that
    /// gave no page, and of what a page named.
    pub(crate) async fn commit_archived(
        &self,
        mut woven: Woven,
        mut keeper: Keeper,
        mut tape: Tape,
    ) -> Result<(), CrawlError> {
        keeper.take(&mut tape);
        let has_data = woven.has_data();
        if keeper.is_light() {
            keeper.pack(has_data);
        } else {
            let packed = self.cpu.run(move || {
                keeper.pack(has_data);
                keeper
            });
            match packed.await {
                Ok(packed) => keeper = packed,
                Err(panicked) => {
                    error!(reason = panicked.0, "an answer cannot be packed for the archive");
                    keeper = Keeper::default();
                }
            }
        }
        woven.captures = keeper.captures;
        self.committer.commit(woven).await
    }
}

/// Bytes of bodies up to which packing takes less time than handing it over to somebody else.
const LIGHT_BYTES_MAX: usize = 4 << 10;

/// What was received on the way to a page: exchanges as they come, then records.
#[derive(Debug, Default)]
pub(crate) struct Keeper {
    /// Nothing when what was received is not kept.
    archivist: Option<Arc<Archivist>>,
    account: Account,
    exchanges: Vec<Exchange>,
    captures: Captures,
}

impl Keeper {
    pub(crate) fn new(archivist: Option<Arc<Archivist>>, account: Account) -> Self {
        Self { archivist, account, exchanges: Vec::new(), captures: Captures::default() }
    }

    /// Takes what is on a tape.
    pub(crate) fn take(&mut self, tape: &mut Tape) {
        self.exchanges.append(&mut tape.take_exchanges());
    }

    /// True when there is little to pack.
    fn is_light(&self) -> bool {
        self.exchanges.iter().map(|exchange| exchange.body.len()).sum::<usize>() <= LIGHT_BYTES_MAX
    }

    /// Makes records of the exchanges.
    pub(crate) fn pack(&mut self, has_data: bool) {
        let Some(archivist) = &self.archivist else { return };
        let exchanges = std::mem::take(&mut self.exchanges);
        match archivist.pack(exchanges, &self.account, has_data) {
            Ok(Captures { records, begins_with_page }) => {
                self.captures.records.append(records);
                self.captures.begins_with_page |= begins_with_page;
            }
            Err(failed) => error!(%failed, "an answer cannot be packed for the archive"),
        }
    }
}
