//! `webloom load`: RDF files into the index.
//!
//! Files are read and parsed by threads of their own ([`read`]) and imported here. Each file is there as a whole or not at all:
//! one that fits in memory is imported once it is known to have no errors, a larger one goes into an import that nobody sees
//! before its end.

mod lines;
mod read;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};
use oxrdf::{GraphName, NamedNode};
use webloom_index::{Import, Index, IndexConfig};
use webloom_pipeline::DataDir;

use self::read::{Lot, Quads, Source, format_of, read};
use crate::output::{DataArgument, with_commas, wrong_usage};

/// Files of up to this many quads are gathered in memory first, so that many small ones can share a commit.
const SMALL_FILE_QUADS: usize = 200_000;
/// Small files are committed when there are this many quads of them,
const COMMIT_QUADS: usize = 2_000_000;
/// or when the first of them has waited this long.
const COMMIT_AGE: Duration = Duration::from_secs(2);
/// Errors that are shown of one file that is read leniently.
const PROBLEMS_SHOWN: u64 = 5;
/// Memory of the text index's writer. An import is one long commit.
const TEXT_MEMORY_BYTES: usize = 200 << 20;

/// Import RDF files: N-Quads, N-Triples, Turtle, TriG, RDF/XML, JSON-LD, also compressed (.gz, .zst).
///
/// Quads are added to the graphs they name, triples to the default graph or the one named with --graph. A file with an error in it
/// changes nothing; the files before it stay loaded.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom load dump.nq.gz
  webloom load --data museum artists.ttl works.rdf
  webloom load --graph http://example.org/import --lenient downloads/")]
pub struct Load {
    /// Files, whose extension says the format, and directories of such files.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    data: DataArgument,
    /// Put triples that are in no graph into this one.
    #[arg(long, value_name = "IRI")]
    graph: Option<String>,
    /// Skip what cannot be read, and say how much it was.
    #[arg(long)]
    lenient: bool,
    /// Do not index words for search.
    #[arg(long)]
    no_text: bool,
}

impl Load {
    pub fn run(self) -> anyhow::Result<()> {
        let graph = match &self.graph {
            Some(iri) => NamedNode::new(iri)
                .map_err(|error| wrong_usage(format!("--graph {iri} is no IRI: {error}")))?
                .into(),
            None => GraphName::DefaultGraph,
        };
        let sources = sources(&self.files, &graph)?;
        let data = DataDir::new(&self.data.data);
        fs::create_dir_all(data.path())
            .with_context(|| format!("cannot create `{}`", data.path().display()))?;
        let config = IndexConfig {
            index_text: !self.no_text,
            text_memory_bytes: TEXT_MEMORY_BYTES,
            ..IndexConfig::default()
        };
        let index = Index::open(&data.index(), config)?;
        let progress = Progress::new(sources.iter().map(|source| source.bytes).sum());
        let mut loader = Loader { index: &index, lenient: self.lenient, progress: &progress, shared: None };
        let loaded = sources.iter().try_for_each(|source| loader.load(source));
        // Files that were read without errors are kept, whatever came after them.
        let committed = loader.commit_shared();
        drop(loader);
        progress.finish();
        loaded.and(committed)?;
        let (quads, seconds) =
            (progress.quads.load(Ordering::Relaxed), progress.start.elapsed().as_secs_f64());
        if sources.len() > 1 {
            eprintln!("{} files: {} quads", with_commas(sources.len() as u64), with_commas(quads));
        }
        index.wait_for_merges();
        index.close()?;
        eprintln!(
            "{:.1} s, {} quads a second; {:.1} s with merging",
            seconds,
            with_commas((quads as f64 / seconds.max(1e-3)) as u64),
            progress.start.elapsed().as_secs_f64()
        );
        Ok(())
    }
}

/// The files to read; directories are gone through, and what has no RDF extension in them is left out.
fn sources(paths: &[PathBuf], graph: &GraphName) -> anyhow::Result<Vec<Source>> {
    let mut sources = Vec::new();
    let mut add = |path: PathBuf, format| -> anyhow::Result<()> {
        let bytes = fs::metadata(&path).with_context(|| format!("cannot open `{}`", path.display()))?.len();
        sources.push(Source { path, format, bytes, graph: graph.clone() });
        Ok(())
    };
    for path in paths {
        if path.is_dir() {
            let mut directories = vec![path.clone()];
            let mut found = 0;
            while let Some(directory) = directories.pop() {
                let list = || format!("cannot list `{}`", directory.display());
                let mut entries = fs::read_dir(&directory)
                    .with_context(list)?
                    .map(|entry| entry.map(|entry| entry.path()))
                    .collect::<Result<Vec<PathBuf>, _>>()
                    .with_context(list)?;
                entries.sort();
                for entry in entries {
                    if entry.is_dir() && !entry.is_symlink() {
                        directories.push(entry);
                    } else if let Some(format) = format_of(&entry) {
                        add(entry, format)?;
                        found += 1;
                    }
                }
            }
            if found == 0 {
                return Err(wrong_usage(format!("`{}` has no RDF files in it", path.display())));
            }
        } else {
            let format = format_of(path).ok_or_else(|| unknown_format(path))?;
            add(path.clone(), format)?;
        }
    }
    Ok(sources)
}

fn unknown_format(file: &Path) -> anyhow::Error {
    wrong_usage(format!(
        "`{}`: the extension says no RDF format; name it .nq, .nt, .ttl, .trig, .rdf or .jsonld, with .gz or .zst behind if compressed",
        file.display()
    ))
}

struct Loader<'a> {
    index: &'a Index,
    lenient: bool,
    progress: &'a Progress,
    shared: Option<SharedImport<'a>>,
}

/// An import of several small files.
struct SharedImport<'a> {
    import: Import<'a>,
    begun: Instant,
    quads: usize,
    /// What to say of them once they are there.
    lines: Vec<String>,
}

impl<'a> Loader<'a> {
    fn load(&mut self, source: &Source) -> anyhow::Result<()> {
        let mut gathered: Vec<Quads> = Vec::new();
        let mut gathered_quads = 0;
        let mut own: Option<Import<'a>> = None;
        let (mut quads, mut skipped) = (0, 0);
        let done = read(source, &self.progress.bytes, |lot: Lot| {
            for problem in &lot.problems {
                if !self.lenient {
                    bail!("{}: {problem}; nothing of this file was loaded", source.path.display());
                }
                skipped += 1;
                if skipped <= PROBLEMS_SHOWN {
                    self.progress.say(&format!("{}: {problem}; skipped", source.path.display()));
                }
            }
            quads += lot.quads.len() as u64;
            self.progress.add(lot.quads.len() as u64);
            gathered_quads += lot.quads.len();
            gathered.push(lot.quads);
            if own.is_none() && gathered_quads > SMALL_FILE_QUADS {
                self.commit_shared()?;
                own = Some(self.index.begin_import()?);
            }
            if let Some(import) = &mut own {
                for quads in gathered.drain(..) {
                    quads.add_to(import, &source.graph)?;
                }
            }
            Ok(())
        });
        if let Err(error) = done {
            self.progress.take_back(quads);
            return Err(error);
        }
        let mut line = format!("{}: {} quads", source.path.display(), with_commas(quads));
        if skipped > 0 {
            line.push_str(&format!(", {} errors skipped", with_commas(skipped)));
        }
        if let Some(import) = own {
            import.finish()?;
            self.progress.say(&line);
            return Ok(());
        }
        let shared = match &mut self.shared {
            Some(shared) => shared,
            None => self.shared.insert(SharedImport {
                import: self.index.begin_import()?,
                begun: Instant::now(),
                quads: 0,
                lines: Vec::new(),
            }),
        };
        shared.quads += gathered_quads;
        shared.lines.push(line);
        for quads in gathered {
            quads.add_to(&mut shared.import, &source.graph)?;
        }
        if shared.quads >= COMMIT_QUADS || shared.begun.elapsed() >= COMMIT_AGE {
            self.commit_shared()?;
        }
        Ok(())
    }

    fn commit_shared(&mut self) -> anyhow::Result<()> {
        if let Some(shared) = self.shared.take() {
            shared.import.finish()?;
            for line in shared.lines {
                self.progress.say(&line);
            }
        }
        Ok(())
    }
}

/// How far it is, for whoever watches.
struct Progress {
    bar: ProgressBar,
    start: Instant,
    bytes: AtomicU64,
    quads: AtomicU64,
}

impl Progress {
    fn new(bytes: u64) -> Self {
        let bar = ProgressBar::new(bytes);
        // The template is a constant and known to parse; without it the bar would only look plainer.
        if let Ok(style) =
            ProgressStyle::with_template("{wide_bar} {bytes} of {total_bytes}, {msg}, {eta} left")
        {
            bar.set_style(style);
        }
        Self { bar, start: Instant::now(), bytes: AtomicU64::new(0), quads: AtomicU64::new(0) }
    }

    fn add(&self, quads: u64) {
        let quads = self.quads.fetch_add(quads, Ordering::Relaxed) + quads;
        let rate = quads as f64 / self.start.elapsed().as_secs_f64().max(1e-3);
        self.bar.set_position(self.bytes.load(Ordering::Relaxed));
        self.bar.set_message(format!("{} quads, {}/s", with_commas(quads), with_commas(rate as u64)));
    }

    fn take_back(&self, quads: u64) {
        self.quads.fetch_sub(quads, Ordering::Relaxed);
    }

    fn say(&self, line: &str) {
        self.bar.suspend(|| eprintln!("{line}"));
    }

    fn finish(&self) {
        self.bar.finish_and_clear();
    }
}
