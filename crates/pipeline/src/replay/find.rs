//! Finds the archived copy of a page of a data directory, for looking at it and for weaving it anew.
//!
//! In: a URL, and a moment if it matters. Out: an [`ArchivedCopy`], from the directory's own archive by its indexes, or, for pages that
//! were read from other archives, by the place that their metadata name.

use std::path::{Path, PathBuf};

use jiff::Timestamp;
use oxrdf::{GraphName, NamedNode, Quad, Term};
use webloom_archive::record::parse_date;
use webloom_archive::{Archive, FindError, ReadError, Reader, StoredAnswer, read_answer};
use webloom_fetch::decode_capped;
use webloom_index::{GraphPattern, IndexError, Snapshot};
use webloom_model::vocab::wl;
use webloom_model::{FetchedPage, PageUrl};

use super::files::Positions;
use super::{ReplayError, weave};
use crate::wiring::DataDir;

/// A page as it was archived.
#[derive(Debug, Clone)]
pub struct ArchivedCopy {
    /// The record and the answer in it; its body is still in its content coding.
    pub answer: StoredAnswer,
    /// The file it is in.
    pub file: String,
    /// Where in it.
    pub offset: u64,
}

/// Why a copy cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FindCopyError {
    /// The archive.
    #[error(transparent)]
    Find(#[from] FindError),
    /// The record.
    #[error("`{path}` at offset {offset}: {source}")]
    Read {
        /// The file.
        path: PathBuf,
        /// Where in it.
        offset: u64,
        /// Why.
        source: ReadError,
    },
    /// The index.
    #[error(transparent)]
    Index(#[from] IndexError),
    /// What is known of the files that were read.
    #[error(transparent)]
    Replay(#[from] ReplayError),
}

impl ArchivedCopy {
    /// The body, content coding undone, at most so many bytes.
    pub fn body(&self, bytes_max: u64) -> Vec<u8> {
        match self.answer.http.content_encoding() {
            Some(encoding) => decode_capped(&encoding, &self.answer.body, bytes_max).bytes,
            None => self.answer.body.clone(),
        }
    }

    /// The page as the fetcher would have given it.
    pub fn page(&self, url: &PageUrl, bytes_max: u64) -> FetchedPage {
        let at = self.answer.at().unwrap_or(Timestamp::UNIX_EPOCH);
        let is_cut = self.answer.is_cut || self.answer.head.fields.get("WARC-Truncated").is_some();
        let body = self.answer.body.clone();
        weave::page_of(bytes_max, url, at, &self.answer.http, body, is_cut, &Default::default())
    }
}

/// The copy of a page: the latest, or the one nearest to a moment. `snapshot` is the directory's index, if it has one.
pub fn find_copy(
    data: &DataDir,
    snapshot: Option<&Snapshot>,
    url: &PageUrl,
    near: Option<Timestamp>,
    body_bytes_max: u64,
) -> Result<Option<ArchivedCopy>, FindCopyError> {
    let archive = Archive::open(&data.archive());
    let capture = match near {
        None => archive.find(url.as_str())?,
        Some(near) => archive.history(url.as_str())?.into_iter().min_by_key(|capture| {
            let at = parse_date(&capture.timestamp).unwrap_or(Timestamp::UNIX_EPOCH);
            at.duration_since(near).unsigned_abs()
        }),
    };
    if let Some(capture) = capture {
        let answer = archive.read(&capture, body_bytes_max)?;
        return Ok(Some(ArchivedCopy { answer, file: capture.filename, offset: capture.offset }));
    }
    match snapshot {
        Some(snapshot) => find_elsewhere(data, snapshot, url, body_bytes_max),
        None => Ok(None),
    }
}

/// A page that was read from somebody's archive.
fn find_elsewhere(
    data: &DataDir,
    snapshot: &Snapshot,
    url: &PageUrl,
    body_bytes_max: u64,
) -> Result<Option<ArchivedCopy>, FindCopyError> {
    let Some((file, offset)) = named_place(snapshot, url)? else { return Ok(None) };
    let positions = Positions::open(data.replayed())?;
    let is_it = |path: &&Path| path.file_name().is_some_and(|name| name.to_string_lossy() == file);
    let Some(path) = positions.paths().find(is_it).map(Path::to_owned) else { return Ok(None) };
    let named = |source| FindCopyError::Read { path: path.clone(), offset, source };
    let mut reader = Reader::open_at(&path, offset).map_err(named)?;
    let Some(mut record) = reader.next_record().map_err(named)? else { return Ok(None) };
    let answer = read_answer(&mut record, body_bytes_max).map_err(named)?;
    Ok(answer.map(|answer| ArchivedCopy { answer, file, offset }))
}

/// The place that a page's metadata name.
fn named_place(snapshot: &Snapshot, url: &PageUrl) -> Result<Option<(String, u64)>, IndexError> {
    let meta = GraphName::from(url.meta_graph_name());
    let page: NamedNode = url.graph_name();
    let value = |predicate: oxrdf::NamedNodeRef<'_>| -> Result<Option<String>, IndexError> {
        let pattern = GraphPattern::One(meta.as_ref());
        let mut quads =
            snapshot.quads_for_pattern(Some(page.as_ref().into()), Some(predicate), None, pattern)?;
        Ok(match quads.next().transpose()? {
            Some(Quad { object: Term::Literal(literal), .. }) => Some(literal.value().to_owned()),
            _ => None,
        })
    };
    let (file, offset) = (value(wl::WARC_FILE)?, value(wl::WARC_OFFSET)?);
    Ok(file.zip(offset.and_then(|offset| offset.parse().ok())))
}
