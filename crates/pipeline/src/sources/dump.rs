//! A dump: a file of RDF that is too long for a page.
//!
//! In: its URL. Out: its triples in the graph of that name, a batch at a time, as they are parsed. The file waits on disk as it
//! came; unpacked it exists only as a stream. Broken statements are passed over where the syntax lets one go on, and counted. A dump that was
//! interrupted begins anew, and its first batch replaces what was there.

mod lines;

use std::io::{BufRead, BufReader, Cursor, Read};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use lines::Lines;
use oxrdf::{NamedOrBlankNode, Quad, Term, Triple};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParseError, RdfParser};
use webloom_fetch::Wanted;
use webloom_index::{Batch, GraphWrite, WriteMode};
use webloom_model::{BlankScope, FetchedPage, PageUrl};

use super::kept::SourceState;
use super::{ACCEPT_RDF, Step, Trouble, ask};
use crate::crawl::CrawlError;
use crate::wiring::Crawl;

/// Bytes of a dump as it comes.
const BYTES_MAX: u64 = 64 << 30;
/// Bytes of a dump unpacked.
const UNPACKED_BYTES_MAX: u64 = 1 << 40;
/// The same for syntaxes whose parsers hold much of the document at once.
const WHOLE_BYTES_MAX: u64 = 256 << 20;
/// Time for the transfer.
const TIMEOUT: Duration = Duration::from_secs(24 * 60 * 60);
/// Triples of one commit.
const BATCH_TRIPLES: usize = 50_000;
/// Broken statements in a row after which the rest is not read.
const ERRORS_IN_A_ROW_MAX: u32 = 1_000;
/// Brackets open at once within a statement.
const NESTING_MAX: u64 = 100_000;

/// Reads the dump, which is all there is to do.
pub(super) async fn step(crawl: &Crawl, state: &SourceState) -> Result<Step, Trouble> {
    let wanted = Wanted { accept: ACCEPT_RDF, bytes_max: BYTES_MAX, timeout: Some(TIMEOUT) };
    let page = ask(crawl, state.url.clone(), &wanted).await?;
    let url = state.url.clone();
    let (index, counters, sources) = (crawl.index.clone(), crawl.counters.clone(), crawl.sources.clone());
    let commit = move |write: GraphWrite| {
        let triples = write.triples.len() as u64;
        index.commit(&Batch { writes: vec![write] }).map_err(CrawlError::from)?;
        counters.quads.fetch_add(triples, Relaxed);
        counters.commits.fetch_add(1, Relaxed);
        if sources.is_halted() { Err(Trouble::Halted) } else { Ok(()) }
    };
    let loaded = tokio::task::spawn_blocking(move || load(&page, &url, commit));
    let (triples, remark) =
        loaded.await.map_err(|panic| Trouble::Final(format!("it broke a parser: {panic}")))??;
    Ok(Step { done: true, triples, remark, ..Step::default() })
}

/// Parses a dump and hands on its triples, a batch at a time. Gives how many there were, and what could not be read.
fn load(
    page: &FetchedPage,
    url: &PageUrl,
    mut commit: impl FnMut(GraphWrite) -> Result<(), Trouble>,
) -> Result<(u64, Option<String>), Trouble> {
    let unreadable = |error: std::io::Error| Trouble::Final(format!("it cannot be unpacked: {error}"));
    let mut plain = BufReader::with_capacity(1 << 18, unpacked(page).map_err(unreadable)?);
    let format = format_of(page, plain.fill_buf().map_err(unreadable)?);
    let scope = BlankScope::new(url.as_str());
    let (mut triples, mut count, mut broken, mut errors_in_a_row) = (Vec::new(), 0, 0_u64, 0);
    let mut mode = WriteMode::Replace;
    let mut flush = |triples: Vec<Triple>| {
        let write = GraphWrite { graph: url.graph_name().into(), mode, triples, text: None };
        mode = WriteMode::Add;
        commit(write)
    };
    // The first that is wrong with a statement, and what ended the reading.
    let (mut problem, mut end) = (None, None);
    for quad in parsed(plain, format, &page.url) {
        match quad {
            Ok(quad) => {
                errors_in_a_row = 0;
                triples.push(scoped(quad, &scope));
                count += 1;
                if triples.len() >= BATCH_TRIPLES {
                    flush(std::mem::take(&mut triples))?;
                }
            }
            Err(RdfParseError::Syntax(error)) => {
                errors_in_a_row += 1;
                broken += 1;
                problem.get_or_insert_with(|| error.to_string());
                if errors_in_a_row >= ERRORS_IN_A_ROW_MAX {
                    end = Some(format!("{ERRORS_IN_A_ROW_MAX} broken statements in a row"));
                    break;
                }
            }
            Err(RdfParseError::Io(error)) => {
                end = Some(error.to_string());
                break;
            }
        }
    }
    flush(triples)?;
    let problem =
        problem.map(|problem| format!("{broken} statements could not be read, the first: {problem}"));
    let end = end.map(|end| format!("it was not read to its end: {end}"));
    let remarks: Vec<String> = problem.into_iter().chain(end).collect();
    let remark = (!remarks.is_empty()).then(|| remarks.join("; "));
    match remark {
        Some(remark) if count == 0 => Err(Trouble::Final(format!("there is no RDF in it: {remark}"))),
        remark => {
            if let Some(remark) = &remark {
                tracing::warn!(dump = %url, remark, "a part of a dump could not be read");
            }
            Ok((count, remark))
        }
    }
}

/// The body as a stream, unpacked when it is packed.
fn unpacked(page: &FetchedPage) -> std::io::Result<Box<dyn Read + Send>> {
    let body = Cursor::new(page.body.clone());
    Ok(match page.body.get(..4) {
        // Read as a stream: nothing inflates in memory, and the guard around it counts.
        Some([0x1f, 0x8b, ..]) => Box::new(flate2::read::MultiGzDecoder::new(body)),
        Some([0x28, 0xb5, 0x2f, 0xfd]) => Box::new(zstd::Decoder::new(body)?),
        Some([b'B', b'Z', b'h', _]) => return Err(std::io::Error::other("bzip2 is not read")),
        Some([b'P', b'K', 3, 4]) => return Err(std::io::Error::other("ZIP archives are not read")),
        _ => Box::new(body),
    })
}

/// The statements of a stream, as they are read.
pub(super) fn parsed<'r, R: Read + 'r>(
    plain: R,
    format: RdfFormat,
    base: &PageUrl,
) -> Box<dyn Iterator<Item = Result<Quad, RdfParseError>> + 'r> {
    let bytes_max = match format {
        RdfFormat::NTriples | RdfFormat::NQuads | RdfFormat::Turtle | RdfFormat::TriG => UNPACKED_BYTES_MAX,
        _ => WHOLE_BYTES_MAX,
    };
    let nests = matches!(format, RdfFormat::Turtle | RdfFormat::TriG);
    let guarded = Guarded { inner: plain, left: bytes_max, nests, depth: 0, last: 0 };
    if matches!(format, RdfFormat::NTriples | RdfFormat::NQuads) {
        return Box::new(Lines::new(guarded, format));
    }
    let mut parser = RdfParser::from_format(format);
    if let Ok(with_base) = parser.clone().with_base_iri(base.as_str()) {
        parser = with_base;
    }
    Box::new(parser.for_reader(guarded))
}

/// By the name, by the header, by how it begins.
fn format_of(page: &FetchedPage, start: &[u8]) -> RdfFormat {
    let path = page.url.as_url().path().to_ascii_lowercase();
    let name = path.trim_end_matches(".gz").trim_end_matches(".zst");
    name.rsplit_once('.')
        .and_then(|(_, extension)| RdfFormat::from_extension(extension))
        .unwrap_or_else(|| format_of_content(page, start))
}

/// By the header, by how it begins.
pub(super) fn format_of_content(page: &FetchedPage, start: &[u8]) -> RdfFormat {
    let declared = page.header("content-type").unwrap_or_default();
    if let Some(format) = RdfFormat::from_media_type(declared) {
        return format;
    }
    let start = start.trim_ascii_start();
    match start.first() {
        Some(b'<')
            if start.starts_with(b"<?xml") || start.starts_with(b"<rdf:RDF") || start.starts_with(b"<!") =>
        {
            RdfFormat::RdfXml
        }
        Some(b'{' | b'[') => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        // Lines that begin with a term are N-Quads, which N-Triples are too.
        Some(b'<' | b'_') => RdfFormat::NQuads,
        _ => RdfFormat::Turtle,
    }
}

/// The triple, its blank nodes those of this dump. Inner named graphs become part of the dump's own.
fn scoped(quad: Quad, scope: &BlankScope) -> Triple {
    by_label(quad.into(), scope)
}

/// The triple, a blank node of it wherever the scope has a node of that label.
pub(super) fn by_label(mut triple: Triple, scope: &BlankScope) -> Triple {
    if let NamedOrBlankNode::BlankNode(node) = &triple.subject {
        triple.subject = scope.named(node.as_str()).into();
    }
    if let Term::BlankNode(node) = &triple.object {
        triple.object = scope.named(node.as_str()).into();
    }
    triple
}

/// A stream that ends in an error where it gets too long, or its statements too deep for a parser that remembers every bracket.
struct Guarded<R> {
    inner: R,
    left: u64,
    nests: bool,
    depth: u64,
    last: u8,
}

impl<R: Read> Read for Guarded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        if self.left == 0 {
            return Err(std::io::Error::other("it is longer than dumps may be; the rest was left out"));
        }
        let room = usize::try_from(self.left).unwrap_or(usize::MAX).min(buffer.len());
        let read = self.inner.read(&mut buffer[..room])?;
        self.left -= read as u64;
        if self.nests {
            for &byte in &buffer[..read] {
                match byte {
                    b'(' | b'[' => self.depth += 1,
                    b')' | b']' => self.depth = self.depth.saturating_sub(1),
                    // The end of a statement; brackets in texts do not add up beyond it.
                    b'\n' if self.last == b'.' => self.depth = 0,
                    _ => {}
                }
                if !matches!(byte, b' ' | b'\t' | b'\r') {
                    self.last = byte;
                }
            }
            if self.depth > NESTING_MAX {
                return Err(std::io::Error::other("its brackets are nested too deep; the rest was left out"));
            }
        }
        Ok(read)
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use bytes::Bytes;

    use super::*;

    fn page(name: &str, content_type: Option<&str>, body: impl Into<Bytes>) -> FetchedPage {
        let url = PageUrl::parse(&format!("http://a.example/{name}")).unwrap();
        FetchedPage::local(url, content_type, body.into())
    }

    fn loaded(page: &FetchedPage) -> Result<Vec<GraphWrite>, String> {
        let mut writes = Vec::new();
        let count = load(page, &page.url, |write| {
            writes.push(write);
            Ok(())
        });
        match count {
            Ok((count, _)) => {
                assert_eq!(count as usize, writes.iter().map(|write| write.triples.len()).sum::<usize>());
                Ok(writes)
            }
            Err(trouble) => Err(format!("{trouble:?}")),
        }
    }

    fn lines(count: usize) -> String {
        (0..count)
            .map(|number| format!("<http://a.example/{number}> <http://a.example/p> _:b{number} .\n"))
            .collect()
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn batches_are_bounded_and_the_first_replaces() {
        let writes = loaded(&page("d.nt.gz", None, gzip(&lines(BATCH_TRIPLES + 10)))).unwrap();
        let shape: Vec<_> = writes.iter().map(|write| (write.mode, write.triples.len())).collect();
        assert_eq!(shape, [(WriteMode::Replace, BATCH_TRIPLES), (WriteMode::Add, 10)]);
        assert!(writes.iter().all(|write| write.graph.to_string() == "<http://a.example/d.nt.gz>"));
    }

    #[test]
    fn formats_are_known_by_name_header_and_beginning() {
        let zstd = zstd::encode_all(lines(3).as_bytes(), 1).unwrap();
        let turtle = "@prefix a: <http://a.example/> .\na:s a:p a:o, ( a:x ) .";
        let xml = r#"<?xml version="1.0"?><rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description rdf:about="http://a.example/s"><rdf:type rdf:resource="http://a.example/t"/></rdf:Description></rdf:RDF>"#;
        for (page, expected) in [
            (page("d.nt", None, lines(3)), 3),
            (page("d.nt.zst", None, zstd.clone()), 3),
            (page("download?id=1", Some("application/n-triples"), lines(3)), 3),
            (page("download", Some("application/octet-stream"), zstd), 3),
            (page("download", Some("application/gzip"), gzip(turtle)), 4),
            (page("download", None, xml), 1),
            (page("download", None, r#"{"@id": "http://a.example/s", "http://a.example/p": "o"}"#), 1),
            (
                page(
                    "d.nq",
                    None,
                    "<http://a.example/s> <http://a.example/p> \"o\" <http://other.example/g> .",
                ),
                1,
            ),
            (page("empty.nt", None, ""), 0),
        ] {
            let writes = loaded(&page).unwrap();
            let triples: usize = writes.iter().map(|write| write.triples.len()).sum();
            assert_eq!(triples, expected, "{} {:?}", page.url, page.header("content-type"));
        }
    }

    #[test]
    fn what_is_broken_costs_itself() {
        let text = format!("{}this is no triple\n{}", lines(2), lines(3));
        let writes = loaded(&page("d.nt", None, text)).unwrap();
        assert_eq!(writes.iter().map(|write| write.triples.len()).sum::<usize>(), 5);
        let mut cut = gzip(&lines(1000));
        cut.truncate(cut.len() / 2);
        assert!(!loaded(&page("d.nt.gz", None, cut)).unwrap()[0].triples.is_empty());
        for (body, expected) in [
            (&b"BZh91AY&SY"[..], "bzip2"),
            (b"PK\x03\x04....", "ZIP"),
            (b"<html>nothing", "no RDF"),
            (b"\x1f\x8bnot gzip", "unpacked"),
        ] {
            let problem = loaded(&page("d.nt", None, body.to_vec())).unwrap_err();
            assert!(problem.contains(expected), "{problem}");
        }
    }

    #[test]
    fn nesting_without_end_is_refused() {
        let bomb = gzip(&"(".repeat(1 << 20));
        let read: usize =
            loaded(&page("d.ttl.gz", None, bomb)).unwrap().iter().map(|write| write.triples.len()).sum();
        assert!(read < 1 << 19, "{read} brackets were read");
        // Smileys are no nesting.
        let text = "<http://a.example/s> <http://a.example/p> \":-(\" .\n".repeat(1000);
        assert_eq!(loaded(&page("d.ttl", None, text)).unwrap()[0].triples.len(), 1000);
    }

    #[test]
    fn a_crawl_that_stops_is_heard_between_batches() {
        let page = page("d.nt", None, lines(BATCH_TRIPLES * 2));
        let stopped = load(&page, &page.url, |_| Err(Trouble::Halted));
        assert!(matches!(stopped, Err(Trouble::Halted)));
    }
}
