//! From a file to quads, in lots, on threads of its own.
//!
//! In: a [`Source`]. Out: [`Lot`]s in the order of the file. N-Triples and N-Quads are cut at line ends and parsed by several threads;
//! the other formats depend on what came before and have one. Whatever the format, the caller works on one lot while
//! the next are being made, and a bounded number wait for it.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use anyhow::Context;
use oxrdf::{BlankNode, GraphName, NamedOrBlankNode, Quad, Term};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParseError, RdfParser, RdfSyntaxError};
use webloom_index::{Import, IndexError};
use webloom_model::BlankScope;

use super::lines::LineLot;

/// Bytes of lines that are parsed together.
const CHUNK_BYTES: usize = 4 << 20;
/// Longest line that is read.
const LINE_BYTES_MAX: usize = 256 << 20;
/// Quads of a lot, in formats that are not cut at lines.
const LOT_QUADS: usize = 16_384;
/// Lots that wait for the caller, per thread.
const LOTS_WAITING: usize = 2;
/// A parser that finds nothing but errors for so long is not going to recover.
const ERRORS_IN_A_ROW_MAX: u32 = 1000;

/// A file to read.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) path: PathBuf,
    pub(super) format: RdfFormat,
    /// Its size, compressed as it is.
    pub(super) bytes: u64,
    /// Where triples that are in no graph go.
    pub(super) graph: GraphName,
}

/// Some of what a file holds.
#[derive(Debug, Default)]
pub(super) struct Lot {
    pub(super) quads: Quads,
    /// What could not be read, each with its place.
    pub(super) problems: Vec<String>,
}

/// Quads as they were read.
#[derive(Debug)]
pub(super) enum Quads {
    Parsed(Vec<Quad>),
    Lines(LineLot),
}

impl Default for Quads {
    fn default() -> Self {
        Self::Parsed(Vec::new())
    }
}

impl Quads {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Parsed(quads) => quads.len(),
            Self::Lines(lot) => lot.len(),
        }
    }

    /// Adds them to an import; those that name no graph go to `graph`.
    pub(super) fn add_to(&self, import: &mut Import<'_>, graph: &GraphName) -> Result<(), IndexError> {
        match self {
            Self::Parsed(quads) => import.add_all(quads.iter().map(Quad::as_ref)),
            Self::Lines(lot) => import.add_all(lot.quads(graph.as_ref())),
        }
    }
}

/// The format that a file's name says.
pub(super) fn format_of(file: &Path) -> Option<RdfFormat> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let bare = name.trim_end_matches(".gz").trim_end_matches(".zst");
    Some(match bare.rsplit_once('.')?.1 {
        "nq" | "nquads" => RdfFormat::NQuads,
        "nt" | "ntriples" => RdfFormat::NTriples,
        "ttl" | "turtle" => RdfFormat::Turtle,
        "trig" => RdfFormat::TriG,
        "rdf" | "owl" | "xml" => RdfFormat::RdfXml,
        "jsonld" | "json" => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        _ => return None,
    })
}

/// Reads the file and hands its lots to `take`, in order, until one is refused. `progress` counts bytes of the file.
pub(super) fn read(
    source: &Source,
    progress: &AtomicU64,
    take: impl FnMut(Lot) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let open = || format!("cannot open `{}`", source.path.display());
    let file = File::open(&source.path).with_context(open)?;
    let counted = BufReader::with_capacity(1 << 18, Counted { file, progress });
    let plain: Box<dyn Read + Send> = match source.path.extension().and_then(|extension| extension.to_str()) {
        // A file the user chose, read as a stream: nothing inflates in memory.
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(counted)),
        Some("zst") => Box::new(zstd::Decoder::new(counted).with_context(open)?),
        _ => Box::new(counted),
    };
    // Named after their file, so that two files' nodes never meet and loading a file twice changes nothing.
    let path = source.path.canonicalize().with_context(open)?;
    let scope = BlankScope::new(&path.to_string_lossy());
    match source.format {
        RdfFormat::NTriples | RdfFormat::NQuads => read_lines(source, plain, &scope, take),
        _ => read_stream(source, plain, scope, take),
    }
}

struct Counted<'a> {
    file: File,
    progress: &'a AtomicU64,
}

impl Read for Counted<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.progress.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Whole lines of a file.
struct Chunk {
    bytes: Vec<u8>,
    lines_before: u64,
}

fn read_lines(
    source: &Source,
    plain: Box<dyn Read + Send + '_>,
    scope: &BlankScope,
    mut take: impl FnMut(Lot) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    // One more thread imports what these read.
    let parsers = thread::available_parallelism().map_or(1, |threads| threads.get().saturating_sub(1).max(1));
    thread::scope(|scope_of_threads| {
        let (mut chunks, mut lots) = (Vec::new(), Vec::new());
        for _ in 0..parsers {
            let (chunk_sender, chunk_receiver) = sync_channel::<io::Result<Chunk>>(LOTS_WAITING);
            let (lot_sender, lot_receiver) = sync_channel(LOTS_WAITING);
            scope_of_threads.spawn(move || parse_chunks(source, scope, &chunk_receiver, &lot_sender));
            chunks.push(chunk_sender);
            lots.push(lot_receiver);
        }
        scope_of_threads.spawn(move || cut_lines(plain, &chunks));
        // Chunks go around the parsers, so lots come around in the same order; the first that is missing is behind the last.
        for parser in (0..parsers).cycle() {
            let Ok(lot) = lots[parser].recv() else {
                return Ok(());
            };
            take(lot.with_context(|| format!("cannot read `{}`", source.path.display()))?)?;
        }
        Ok(())
    })
}

/// Cuts what it reads at line ends and hands the pieces around. Ends early when nobody listens any more.
fn cut_lines(mut plain: Box<dyn Read + Send + '_>, parsers: &[SyncSender<io::Result<Chunk>>]) {
    let mut lines_before = 0;
    let mut rest: Vec<u8> = Vec::new();
    for parser in (0..parsers.len()).cycle() {
        let mut bytes = std::mem::take(&mut rest);
        let (chunk, is_last) = loop {
            let before = bytes.len();
            let read = (&mut plain).take(CHUNK_BYTES as u64).read_to_end(&mut bytes);
            match read {
                Err(error) => break (Err(error), true),
                Ok(0) => break (Ok(bytes), true),
                Ok(_) => {}
            }
            if let Some(end) = memchr::memrchr(b'\n', &bytes[before..]) {
                rest = bytes.split_off(before + end + 1);
                break (Ok(bytes), false);
            }
            if bytes.len() > LINE_BYTES_MAX {
                let message = format!("line {} is longer than {LINE_BYTES_MAX} bytes", lines_before + 1);
                break (Err(io::Error::new(io::ErrorKind::InvalidData, message)), true);
            }
        };
        let chunk = chunk.map(|bytes| Chunk { bytes, lines_before });
        if let Ok(chunk) = &chunk {
            lines_before += memchr::memchr_iter(b'\n', &chunk.bytes).count() as u64;
        }
        if parsers[parser].send(chunk).is_err() || is_last {
            return;
        }
    }
}

fn parse_chunks(
    source: &Source,
    scope: &BlankScope,
    chunks: &Receiver<io::Result<Chunk>>,
    lots: &SyncSender<io::Result<Lot>>,
) {
    for chunk in chunks {
        let lot = chunk.map(|chunk| {
            let mut problems = Vec::new();
            let lines = LineLot::read(chunk.bytes, chunk.lines_before, source, scope, &mut problems);
            Lot { quads: Quads::Lines(lines), problems }
        });
        if lots.send(lot).is_err() {
            return;
        }
    }
}

fn read_stream(
    source: &Source,
    plain: Box<dyn Read + Send + '_>,
    mut scope: BlankScope,
    mut take: impl FnMut(Lot) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let path = std::path::absolute(&source.path)?;
    let mut parser = RdfParser::from_format(source.format);
    if let Ok(with_base) = parser.clone().with_base_iri(format!("file://{}", path.display())) {
        parser = with_base;
    }
    thread::scope(|threads| {
        let (sender, receiver) = sync_channel::<io::Result<Lot>>(LOTS_WAITING * 2);
        threads.spawn(move || {
            let (mut quads, mut problems) = (Vec::new(), Vec::new());
            let mut errors_in_a_row = 0;
            for quad in parser.for_reader(plain) {
                match quad {
                    Ok(quad) => {
                        errors_in_a_row = 0;
                        quads.push(placed(quad, &source.graph, &mut |node| scope.rename(node)));
                    }
                    Err(RdfParseError::Io(error)) => {
                        let lot = Lot { quads: Quads::Parsed(quads), problems };
                        let _ = sender.send(Ok(lot)).and_then(|()| sender.send(Err(error)));
                        return;
                    }
                    Err(RdfParseError::Syntax(error)) => {
                        problems.push(problem(&error, 0));
                        errors_in_a_row += 1;
                    }
                }
                let is_lost = errors_in_a_row >= ERRORS_IN_A_ROW_MAX;
                if quads.len() >= LOT_QUADS || !problems.is_empty() {
                    let quads = Quads::Parsed(std::mem::take(&mut quads));
                    let problems = std::mem::take(&mut problems);
                    if sender.send(Ok(Lot { quads, problems })).is_err() || is_lost {
                        return;
                    }
                }
            }
            let _ = sender.send(Ok(Lot { quads: Quads::Parsed(quads), problems }));
        });
        for lot in receiver {
            take(lot.with_context(|| format!("cannot read `{}`", source.path.display()))?)?;
        }
        Ok(())
    })
}

/// What is wrong, and in which line.
pub(super) fn problem(error: &RdfSyntaxError, lines_before: u64) -> String {
    let text = error.to_string();
    match error.location() {
        Some(location) => {
            // The parser counts from the beginning of what it was given.
            let message = text.split_once(": ").map_or(text.as_str(), |(_, message)| message);
            format!("line {}: {message}", lines_before + location.start.line + 1)
        }
        None => text,
    }
}

/// The quad with its blank nodes renamed, and in the graph it goes to.
pub(super) fn placed(
    mut quad: Quad,
    graph: &GraphName,
    rename: &mut dyn FnMut(&BlankNode) -> BlankNode,
) -> Quad {
    if let NamedOrBlankNode::BlankNode(node) = &quad.subject {
        quad.subject = rename(node).into();
    }
    if let Term::BlankNode(node) = &quad.object {
        quad.object = rename(node).into();
    }
    match &quad.graph_name {
        GraphName::BlankNode(node) => quad.graph_name = rename(node).into(),
        GraphName::DefaultGraph => quad.graph_name = graph.clone(),
        GraphName::NamedNode(_) => {}
    }
    quad
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn lots(name: &str, text: &[u8]) -> (Vec<Quad>, Vec<String>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let source = Source {
            format: format_of(&path).unwrap(),
            path,
            bytes: text.len() as u64,
            graph: GraphName::DefaultGraph,
        };
        let progress = AtomicU64::new(0);
        let (mut quads, mut problems) = (Vec::new(), Vec::new());
        read(&source, &progress, |lot| {
            match lot.quads {
                Quads::Parsed(parsed) => quads.extend(parsed),
                Quads::Lines(lines) => {
                    quads.extend(lines.quads(source.graph.as_ref()).map(oxrdf::QuadRef::into_owned));
                }
            }
            problems.extend(lot.problems);
            Ok(())
        })
        .unwrap();
        assert_eq!(progress.into_inner(), text.len() as u64);
        (quads, problems)
    }

    #[test]
    fn lines_of_many_chunks_come_in_order() {
        let mut text = String::new();
        for number in 0..200_000 {
            text.push_str(&format!("<http://a.example/s> <http://a.example/p> \"{number}\" .\n"));
            if number % 50_000 == 49_999 {
                text.push_str("this is wrong .\n");
            }
        }
        assert!(text.len() > 2 * CHUNK_BYTES);
        let (quads, problems) = lots("many.nt", text.as_bytes());
        assert_eq!(quads.len(), 200_000);
        for (number, quad) in quads.iter().enumerate() {
            assert_eq!(quad.object.to_string(), format!("\"{number}\""));
        }
        assert_eq!(problems.len(), 4);
        assert!(problems[1].starts_with("line 100002: "), "{}", problems[1]);
    }

    #[test]
    fn ends_of_files() {
        for (text, expected) in
            [("", 0), ("\n", 0), ("_:a <p:p> _:b .", 1), ("_:a <p:p> _:b .\n\n", 1), ("# nothing", 0)]
        {
            let (quads, problems) = lots("small.nt", text.as_bytes());
            assert_eq!((quads.len(), problems.len()), (expected, 0), "{text:?} {problems:?}");
        }
    }

    #[test]
    fn a_stream_goes_on_behind_an_error() {
        let (quads, problems) = lots("bad.ttl", b"<s:s> <p:p> 1 .\n<s:s> <p:p> oops .\n<s:s> <p:p> 2 .\n");
        assert_eq!(quads.len(), 2);
        assert!(problems[0].contains("line 2"), "{problems:?}");
        let (_, problems) = lots("bad.jsonld", b"{\"@id\": [");
        assert!(!problems.is_empty());
        let (_, problems) = lots("bad.rdf", b"<rdf:RDF><");
        assert!(!problems.is_empty());
    }
}
