//! `webloom warc`: looks into WARC and ARC files: what is in them, one record of them, whether they are whole, their index.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{Args, Subcommand};
use serde_json::{Map, Value};
use webloom_archive::cdxj::{self, CdxEntry, Indexed};
use webloom_archive::check::check_file;
use webloom_archive::digest::DigestKind;
use webloom_archive::http::{HttpHead, dechunk};
use webloom_archive::objects::{Objects, Uploader};
use webloom_archive::{ReadError, Reader, Record, RecordHead, RecordKind};
use webloom_fetch::decode_capped;
use webloom_pipeline::{CrawlSpec, DataDir};

use crate::output::wrong_usage;

/// Longest payload that is decoded to be described or printed; what is beyond is cut, and said to be.
const PAYLOAD_BYTES_MAX: u64 = 256 << 20;

/// Look into WARC and ARC files, plain, in gzip or in zstd.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom warc ls crawl.warc.gz
  webloom warc get crawl.warc.gz --url https://example.org/
  webloom warc get crawl.warc.gz --offset 4711 --headers
  webloom warc check *.warc.gz
  webloom warc index crawl.warc.gz | sort > crawl.cdxj")]
pub struct Warc {
    #[command(subcommand)]
    command: WarcCommand,
}

#[derive(Debug, Subcommand)]
enum WarcCommand {
    Ls(List),
    Get(Get),
    Check(Check),
    Index(Index),
    Upload(Upload),
}

impl Warc {
    pub fn run(self) -> anyhow::Result<()> {
        match self.command {
            WarcCommand::Ls(list) => list.run(),
            WarcCommand::Get(get) => get.run(),
            WarcCommand::Check(check) => check.run(),
            WarcCommand::Index(index) => index.run(),
            WarcCommand::Upload(upload) => upload.run(),
        }
    }
}

/// A line for each record: offset, type, status, date, bytes of the block, URL.
#[derive(Debug, Args)]
struct List {
    /// WARC or ARC files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print a JSON object for each record, with length and digest of the decoded payload.
    #[arg(long)]
    json: bool,
    /// Only records of this type, such as response.
    #[arg(long = "type", value_name = "TYPE")]
    kind: Option<String>,
}

impl List {
    fn run(self) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut broken = 0;
        for file in &self.files {
            // What could be read is printed before what could not be is told.
            let problems = self.list(file, &mut out);
            out.flush()?;
            broken += usize::from(!tell(file, problems)?);
        }
        end(broken, self.files.len())
    }

    fn list(&self, file: &Path, out: &mut impl Write) -> anyhow::Result<Indexed> {
        let mut reader = Reader::open(file)?;
        let wanted = self.kind.as_deref().map(RecordKind::from_name);
        let many = self.files.len() > 1;
        while let Some(mut record) = reader.next_record()? {
            if wanted.as_ref().is_some_and(|kind| *kind != record.head().kind) {
                continue;
            }
            if self.json {
                let mut described = describe(&mut record)?;
                let offset = record.head().offset;
                described.insert("length".to_owned(), (record.finish()? - offset).into());
                if many {
                    described.insert("file".to_owned(), file.to_string_lossy().into());
                }
                writeln!(out, "{}", Value::Object(described))?;
            } else {
                let (head, http) = record.heads()?;
                writeln!(out, "{}", line(&head, http.as_ref()))?;
            }
        }
        Ok(Indexed { problems: reader.take_problems(), members_fit: reader.members_fit() })
    }
}

fn line(head: &RecordHead, http: Option<&HttpHead>) -> String {
    let status = http.and_then(HttpHead::status).map_or_else(|| "-".to_owned(), |status| status.to_string());
    format!(
        "{:>12}  {:<10}  {status:>3}  {:<24}  {:>9}  {}",
        head.offset,
        printable(head.kind.as_str()),
        printable(&head.date().unwrap_or_default()),
        head.content_length,
        printable(&head.target_uri().or_else(|| head.fields.get("WARC-Filename")).unwrap_or("-".into())),
    )
}

/// Without the characters that would do something to a terminal.
fn printable(text: &str) -> String {
    text.chars().map(|character| if character.is_control() { '\u{fffd}' } else { character }).collect()
}

/// All that can be told of a record, its payload decoded.
fn describe<R: std::io::Read + std::io::Seek>(
    record: &mut Record<'_, R>,
) -> Result<Map<String, Value>, ReadError> {
    let (head, http) = record.heads()?;
    let payload = record.payload(PAYLOAD_BYTES_MAX)?;
    let decoded = decode(http.as_ref(), payload.bytes);
    let mut described = Map::new();
    let mut say = |name: &str, value: Value| {
        if !value.is_null() {
            described.insert(name.to_owned(), value);
        }
    };
    let text =
        |value: Option<std::borrow::Cow<'_, str>>| Value::from(value.map(std::borrow::Cow::into_owned));
    say("type", head.kind.as_str().into());
    say("uri", text(head.target_uri()));
    say("id", text(head.id()));
    say("date", text(head.date()));
    say("format", head.format.as_str().into());
    say("version", head.version.as_str().into());
    say("offset", head.offset.into());
    say("content_length", head.content_length.into());
    say("content_type", text(head.content_type()));
    say("http_status", http.as_ref().and_then(HttpHead::status).map(|status| status.to_string()).into());
    say("http_content_type", text(http.as_ref().and_then(|http| http.get("content-type"))));
    say("payload_digest", text(head.payload_digest()));
    say("block_digest", text(head.fields.get("WARC-Block-Digest")));
    say("truncated", text(head.fields.get("WARC-Truncated")));
    say("decoded_payload_len", decoded.len().into());
    say("decoded_payload_sha1", DigestKind::Sha1.of(&decoded).hex().into());
    if payload.is_cut {
        say("decoded_payload_cut", true.into());
    }
    Ok(described)
}

/// Undoes transfer and content codings.
fn decode(http: Option<&HttpHead>, payload: Vec<u8>) -> Vec<u8> {
    let Some(http) = http else { return payload };
    let body = if http.is_chunked() { dechunk(&payload).into_owned() } else { payload };
    match http.content_encoding() {
        Some(encoding) => decode_capped(&encoding, &body, PAYLOAD_BYTES_MAX).bytes,
        None => body,
    }
}

/// Print one record: its payload decoded, its heads, or all of it as it is.
#[derive(Debug, Args)]
struct Get {
    /// WARC or ARC files, searched in this order.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// The record that begins at this offset.
    #[arg(long, conflicts_with_all = ["url", "id"])]
    offset: Option<u64>,
    /// The last answer (or resource) for this URL.
    #[arg(long, conflicts_with = "id")]
    url: Option<String>,
    /// The record of this name, with or without brackets.
    #[arg(long)]
    id: Option<String>,
    /// Print the heads of the record and of its HTTP message instead.
    #[arg(long, conflicts_with = "raw")]
    headers: bool,
    /// Print the record as it is, unpacked, nothing decoded.
    #[arg(long)]
    raw: bool,
}

impl Get {
    fn run(self) -> anyhow::Result<()> {
        let (file, offset) = self.place()?;
        let mut reader = Reader::open_at(&file, offset)?;
        // Records that share a member are told apart by the id.
        loop {
            let Some(mut record) = reader.next_record()? else {
                bail!("there is no record at offset {offset} of `{}`", file.display());
            };
            let is_other =
                self.offset.is_none() && record.head().offset == offset && !self.wants(record.head());
            if !is_other {
                let mut out = BufWriter::new(std::io::stdout().lock());
                self.print(&mut record, &mut out)?;
                out.flush()?;
                break;
            }
        }
        let problems = reader.take_problems();
        let is_whole = problems.is_empty();
        tell(&file, Ok(Indexed { problems, members_fit: true }))?;
        if is_whole { Ok(()) } else { bail!("the record is damaged") }
    }

    /// Where the wanted record is.
    fn place(&self) -> anyhow::Result<(PathBuf, u64)> {
        if let Some(offset) = self.offset {
            let [file] = &self.files[..] else { return Err(wrong_usage("--offset wants one FILE")) };
            return Ok((file.clone(), offset));
        }
        if self.url.is_none() && self.id.is_none() {
            return Err(wrong_usage("say which record: --offset, --url or --id"));
        }
        let mut found = None;
        for file in &self.files {
            let mut reader =
                Reader::open(file).map_err(|error| anyhow::anyhow!("`{}`: {error}", file.display()))?;
            while let Some(record) = reader.next_record()? {
                if self.wants(record.head()) {
                    found = Some((file.clone(), record.head().offset));
                }
            }
        }
        found.ok_or_else(|| anyhow::anyhow!("there is no such record"))
    }

    fn wants(&self, head: &RecordHead) -> bool {
        match (&self.url, &self.id) {
            (Some(url), _) => {
                matches!(head.kind, RecordKind::Response | RecordKind::Resource | RecordKind::Revisit)
                    && head.target_uri().is_some_and(|uri| uri == url.as_str())
            }
            (_, Some(id)) => {
                let bare = |id: &str| id.trim_start_matches('<').trim_end_matches('>').to_owned();
                head.id().is_some_and(|known| bare(&known) == bare(id))
            }
            _ => false,
        }
    }

    fn print<R: std::io::Read + std::io::Seek>(
        &self,
        record: &mut Record<'_, R>,
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        if self.headers || self.raw {
            let head = record.head();
            let mut bytes = format!("{}\r\n", head.version).into_bytes();
            head.fields.write_to(&mut bytes);
            bytes.extend_from_slice(b"\r\n");
            out.write_all(&bytes)?;
        }
        if self.headers {
            out.write_all(record.http_bytes()?)?;
            return Ok(());
        }
        if self.raw {
            loop {
                let piece = record.piece()?;
                if piece.is_empty() {
                    return Ok(());
                }
                out.write_all(piece)?;
                let length = piece.len();
                record.consume(length);
            }
        }
        let http = record.http()?.cloned();
        let payload = record.payload(PAYLOAD_BYTES_MAX)?;
        if payload.is_cut {
            eprintln!(
                "the payload is longer than {PAYLOAD_BYTES_MAX} bytes and was cut; --raw prints all of it"
            );
        }
        out.write_all(&decode(http.as_ref(), payload.bytes))?;
        Ok(())
    }
}

/// Check structure, lengths and digests. Exit code 1 when something is wrong.
#[derive(Debug, Args)]
struct Check {
    /// WARC or ARC files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print a JSON object for each file.
    #[arg(long)]
    json: bool,
}

impl Check {
    fn run(self) -> anyhow::Result<()> {
        let mut out = std::io::stdout().lock();
        let mut broken = 0;
        for file in &self.files {
            let (report, error) = match check_file(file) {
                Ok(report) => (report, None),
                Err(error) => (webloom_archive::check::Report::default(), Some(error.to_string())),
            };
            let is_good = error.is_none() && report.problems.is_empty();
            broken += usize::from(!is_good);
            let name = file.display();
            if self.json {
                let problems: Vec<Value> = report
                    .problems
                    .iter()
                    .map(|problem| serde_json::json!({"offset": problem.offset, "message": problem.message}))
                    .collect();
                let json = serde_json::json!({
                    "file": file.to_string_lossy(), "ok": is_good, "records": report.records,
                    "digests": report.digests, "problems": problems, "error": error,
                });
                writeln!(out, "{json}")?;
                continue;
            }
            for problem in &report.problems {
                writeln!(out, "{name}: offset {}: {}", problem.offset, printable(&problem.message))?;
            }
            match error {
                Some(error) => writeln!(out, "{name}: {error}")?,
                None => writeln!(
                    out,
                    "{name}: {}, {} records, {} digests compared",
                    if is_good { "good" } else { "damaged" },
                    report.records,
                    report.digests
                )?,
            }
        }
        end(broken, self.files.len())
    }
}

/// Print the CDXJ index: a line for each capture, in the order of the file.
#[derive(Debug, Args)]
struct Index {
    /// WARC or ARC files.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print the lines of all files sorted.
    #[arg(long)]
    sort: bool,
}

impl Index {
    fn run(self) -> anyhow::Result<()> {
        let mut out = BufWriter::new(std::io::stdout().lock());
        let mut broken = 0;
        let mut sorted = Vec::new();
        for file in &self.files {
            let name = file.file_name().unwrap_or_default().to_string_lossy();
            let mut written = Ok(());
            let problems = cdxj::index_each(file, &name, |entry: CdxEntry| {
                if self.sort {
                    sorted.push(entry.line());
                } else if written.is_ok() {
                    written = writeln!(out, "{}", entry.line());
                }
            });
            written?;
            broken += usize::from(!tell(file, problems.map_err(Into::into))?);
        }
        sorted.sort_unstable();
        sorted.dedup();
        for line in sorted {
            writeln!(out, "{line}")?;
        }
        out.flush()?;
        end(broken, self.files.len())
    }
}

/// Tells on stderr what is wrong with a file. True when what was printed can be used: damage that was passed over is
/// told, but offsets that do not lead to records make a listing useless.
fn tell(file: &Path, read: anyhow::Result<Indexed>) -> anyhow::Result<bool> {
    match read {
        Ok(read) => {
            for problem in &read.problems {
                eprintln!("{}: offset {}: {}", file.display(), problem.offset, printable(&problem.message));
            }
            Ok(read.members_fit)
        }
        Err(error) if crate::output::is_broken_pipe(&error) => Err(error),
        Err(error) => {
            eprintln!("{}: {error:#}", file.display());
            Ok(false)
        }
    }
}

fn end(broken: usize, files: usize) -> anyhow::Result<()> {
    match (broken, files) {
        (0, _) => Ok(()),
        (_, 1) => bail!("the file is damaged"),
        (broken, files) => bail!("{broken} of {files} files are damaged"),
    }
}

/// Copy complete files of a crawl's archive to its object store: those that were left because it could not be reached.
#[derive(Debug, Args)]
struct Upload {
    /// The data directory.
    #[arg(long, value_name = "DIR", default_value = "webloom-data")]
    data: PathBuf,
    /// The store, such as s3://bucket/prefix; without it, archive.store of the crawl's specification.
    #[arg(long, value_name = "URL")]
    store: Option<String>,
}

impl Upload {
    fn run(self) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data);
        let url = match self.store {
            Some(url) => url,
            None => stored_in(&data)?,
        };
        let objects = Objects::open(&url).map_err(|error| wrong_usage(error.to_string()))?;
        let left = Uploader::run_once(&data.archive(), objects)?;
        if let Some(reason) = left.reason {
            bail!("{} files stay in `{}`: {reason}", left.files, data.archive().display());
        }
        eprintln!("all complete files are in {url}");
        Ok(())
    }
}

/// The store that a crawl was told to use.
fn stored_in(data: &DataDir) -> anyhow::Result<String> {
    let spec = data.spec();
    let text = std::fs::read_to_string(&spec)
        .map_err(|error| wrong_usage(format!("cannot read `{}`: {error}", spec.display())))?;
    let spec = CrawlSpec::from_toml(&text).map_err(|problems| wrong_usage(problems.to_string()))?;
    spec.archive.store.ok_or_else(|| wrong_usage("the crawl has no archive.store; name one with --store"))
}
