//! `webloom bench warc`: what reading archived answers costs, and what making an index of them does.
//!
//! A WARC file of generated pages is written once. It is read record by record on one thread, by the processor's own clock; then
//! by `crawl --from-warc` into an empty index on all cores, by the clock on the wall, beside the same pages only detected and transformed.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, ensure};
use bytes::Bytes;
use clap::Args;
use jiff::Timestamp;
use webloom_archive::{ArchiveSettings, ArchiveWriter, Packing, Reader, RecordKind};
use webloom_detect::detect;
use webloom_model::{Exchange, FetchedPage, PageUrl, Purpose};
use webloom_pipeline::{CrawlSpec, DataDir, Replay};
use webloom_testkit::realistic_page;
use webloom_transform::{TransformConfig, transform};

use super::extract::thread_seconds;

/// Pages in one append.
const APPEND_PAGES: u64 = 200;

/// Read a WARC file of generated pages, and make an index of it.
#[derive(Debug, Args)]
pub(super) struct BenchWarc {
    /// Pages.
    #[arg(long, default_value_t = 3000)]
    pages: u64,
    /// Rounds of reading; the best counts.
    #[arg(long, default_value_t = 5)]
    rounds: u32,
    /// Seed of the generator.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Pack records with zstd instead of gzip.
    #[arg(long)]
    zstd: bool,
    /// Keep the file in this directory, for other programs to read.
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl BenchWarc {
    pub(super) fn run(self) -> anyhow::Result<()> {
        let temporary = tempfile::tempdir()?;
        let folder = self.write.clone().unwrap_or_else(|| temporary.path().join("archive"));
        let (file, written_seconds) = self.write_file(&folder)?;
        let bytes = std::fs::metadata(&file)?.len();
        let (mut iterate, mut payloads) = (f64::INFINITY, f64::INFINITY);
        let mut payload_bytes = 0;
        for _ in 0..self.rounds.max(1) {
            let start = thread_seconds()?;
            read_answers(&file, self.pages, false)?;
            iterate = iterate.min(thread_seconds()? - start);
            let start = thread_seconds()?;
            payload_bytes = read_answers(&file, self.pages, true)?;
            payloads = payloads.min(thread_seconds()? - start);
        }
        let spec = CrawlSpec::from_toml("[scope]\nwithin = \"anywhere\"\n")?;
        let workers = spec.work.workers;
        let transform_only = self.transform_only(workers)?;
        let data = DataDir::new(temporary.path().join("data"));
        let start = Instant::now();
        let replay = Replay::open(&data, spec, vec![file.clone()], data.replayed())?;
        replay.run(&AtomicBool::new(false))?;
        let end_to_end = start.elapsed().as_secs_f64();
        let indexed = replay.counters().indexed.load(Relaxed);
        ensure!(indexed == self.pages, "{indexed} of {} pages were indexed", self.pages);
        let rate = |seconds: f64| self.pages as f64 / seconds;
        let result = serde_json::json!({
            "file": file,
            "pages": self.pages,
            "packing": if self.zstd { "zstd" } else { "gzip" },
            "file_bytes": bytes,
            "payload_bytes": payload_bytes,
            "write_answers_per_second": rate(written_seconds),
            "read": {
                "iterate_answers_per_second": rate(iterate),
                "payloads_answers_per_second": rate(payloads),
                "payloads_megabytes_per_second": bytes as f64 / 1e6 / payloads,
                "payloads_unpacked_megabytes_per_second": payload_bytes as f64 / 1e6 / payloads,
            },
            "workers": workers,
            "transform_only_pages_per_second": rate(transform_only),
            "from_warc_pages_per_second": rate(end_to_end),
            "from_warc_of_transform_only": transform_only / end_to_end,
        });
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&result)?)?;
            return Ok(());
        }
        writeln!(
            out,
            "{} answers, {:.1} MB packed, {:.1} MB of payload\n\
             reading, one thread:   {:>8.0} answers/s passing over payloads, {:.0} with them ({:.0} MB/s packed, {:.0} unpacked)\n\
             writing, one thread:   {:>8.0} answers/s\n\
             --from-warc, {workers} workers: {:>7.0} pages/s end to end, {:.2} of {:.0} pages/s detected and transformed only",
            self.pages,
            bytes as f64 / 1e6,
            payload_bytes as f64 / 1e6,
            rate(iterate),
            rate(payloads),
            bytes as f64 / 1e6 / payloads,
            payload_bytes as f64 / 1e6 / payloads,
            rate(written_seconds),
            rate(end_to_end),
            transform_only / end_to_end,
            rate(transform_only),
        )?;
        Ok(())
    }

    /// Writes the pages into one file; gives its path and the processor time it took.
    fn write_file(&self, folder: &Path) -> anyhow::Result<(PathBuf, f64)> {
        let packing = if self.zstd { Packing::Zstd } else { Packing::Gzip };
        let settings = ArchiveSettings { packing, file_bytes_max: u64::MAX, ..ArchiveSettings::default() };
        let mut writer = ArchiveWriter::open(folder, settings)?;
        let maker = writer.maker();
        let (mut seconds, mut name) = (0.0, String::new());
        let mut captures = Vec::new();
        for number in 0..self.pages {
            let exchange = exchange(number, realistic_page(self.seed, number))?;
            let start = thread_seconds()?;
            captures.push(maker.capture(&exchange, &Vec::new())?);
            if captures.len() as u64 == APPEND_PAGES || number + 1 == self.pages {
                let places = writer.append(&std::mem::take(&mut captures))?;
                name = places.into_iter().flatten().next().map(|place| place.file).unwrap_or(name);
            }
            seconds += thread_seconds()? - start;
        }
        writer.complete()?;
        Ok((folder.join(name), seconds))
    }

    /// Seconds on the wall to detect and transform the pages on all workers, and nothing else.
    fn transform_only(&self, workers: usize) -> anyhow::Result<f64> {
        let pages = (0..self.pages)
            .map(|number| {
                let body = Bytes::from(realistic_page(self.seed, number));
                Ok(FetchedPage::local(url(number)?, Some("text/html; charset=utf-8"), body))
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let config = TransformConfig::default();
        let next = AtomicUsize::new(0);
        let start = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..workers {
                scope.spawn(|| {
                    while let Some(page) = pages.get(next.fetch_add(1, Relaxed)) {
                        std::hint::black_box(transform(&detect(page.clone()), &config).quads.len());
                    }
                });
            }
        });
        Ok(start.elapsed().as_secs_f64())
    }
}

fn url(number: u64) -> anyhow::Result<PageUrl> {
    Ok(PageUrl::parse(&format!("https://www{}.example.org/articles/{number}", number % 100))?)
}

/// Iterates over the answers of a file; gives the bytes of their payloads when they are wanted.
fn read_answers(file: &Path, expected: u64, with_payload: bool) -> anyhow::Result<u64> {
    let mut reader = Reader::open(file).with_context(|| format!("cannot read {}", file.display()))?;
    let (mut answers, mut bytes) = (0, 0);
    while let Some(mut record) = reader.next_record()? {
        if record.head().kind == RecordKind::Response {
            ensure!(record.http()?.is_some(), "an answer without a head");
            answers += 1;
            if with_payload {
                bytes += record.payload(u64::MAX)?.bytes.len() as u64;
            }
        }
    }
    ensure!(answers == expected, "{answers} of {expected} answers were read");
    Ok(bytes)
}

/// An answer as a server would send it.
fn exchange(number: u64, page: String) -> anyhow::Result<Exchange> {
    let field = |name: &str, value: &str| (name.to_owned(), value.as_bytes().to_vec());
    let length = page.len().to_string();
    Ok(Exchange {
        url: url(number)?,
        purpose: Purpose::Page,
        request: vec![field("host", "www.example.org"), field("accept", "*/*")],
        http_version: "HTTP/1.1",
        status: 200,
        reason: "OK".to_owned(),
        headers: vec![
            field("Date", "Mon, 16 Nov 2026 12:00:00 GMT"),
            field("Server", "nginx"),
            field("Content-Type", "text/html; charset=utf-8"),
            field("Content-Length", &length),
            field("Cache-Control", "max-age=600"),
            field("Vary", "Accept-Encoding"),
        ],
        body: Bytes::from(page),
        truncated: None,
        remote: Some([192, 0, 2, 1].into()),
        tls: Some("tls/1.3"),
        at: Timestamp::from_second(1_790_000_000 + number as i64)?,
        elapsed: Duration::from_millis(20),
    })
}
