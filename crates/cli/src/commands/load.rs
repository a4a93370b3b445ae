//! `webloom load`: RDF files into the index.

use std::fs::File;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use oxrdf::Quad;
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParser};
use webloom_index::{Batch, Index, IndexConfig, WriteMode};
use webloom_model::BlankScope;
use webloom_pipeline::DataDir;

use crate::output::{DataArgument, with_commas, wrong_usage};

/// Quads in one commit.
const BATCH_QUADS: usize = 500_000;

/// Import RDF files: N-Quads, N-Triples, Turtle, TriG, RDF/XML, JSON-LD, also compressed (.gz, .zst).
///
/// Quads are added to the graphs they name, triples to the default graph. A file with an error in it changes nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom load dump.nq.gz
  webloom load --data museum artists.ttl works.rdf")]
pub struct Load {
    /// Files; the extension says the format.
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    #[command(flatten)]
    data: DataArgument,
}

impl Load {
    pub fn run(self) -> anyhow::Result<()> {
        let formats = self.files.iter().map(|file| format_of(file)).collect::<anyhow::Result<Vec<_>>>()?;
        let data = DataDir::new(&self.data.data);
        std::fs::create_dir_all(data.path())
            .with_context(|| format!("cannot create `{}`", data.path().display()))?;
        let index = Index::open(&data.index(), IndexConfig::default())?;
        for (file, format) in self.files.iter().zip(formats) {
            // The first pass only reads: a file with an error in it must leave the store as it was.
            for quad in parse(file, format)? {
                quad?;
            }
            let mut count = 0;
            let mut batch = Vec::new();
            // Named after their file, so that two files' nodes never meet and loading a file twice changes nothing.
            let path = file.canonicalize().with_context(|| format!("cannot open `{}`", file.display()))?;
            let mut blank_nodes = BlankScope::new(&path.to_string_lossy());
            for quad in parse(file, format)? {
                batch.push(blank_nodes.rename_quad(quad?));
                count += 1;
                if batch.len() >= BATCH_QUADS {
                    index.commit(&Batch::from_quads(WriteMode::Add, batch.drain(..)))?;
                }
            }
            index.commit(&Batch::from_quads(WriteMode::Add, batch))?;
            eprintln!("{}: {} quads", file.display(), with_commas(count));
        }
        index.close()?;
        Ok(())
    }
}

fn format_of(file: &Path) -> anyhow::Result<RdfFormat> {
    let name = file.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let bare = name.trim_end_matches(".gz").trim_end_matches(".zst");
    Ok(match bare.rsplit('.').next().unwrap_or_default() {
        "nq" | "nquads" => RdfFormat::NQuads,
        "nt" | "ntriples" => RdfFormat::NTriples,
        "ttl" | "turtle" => RdfFormat::Turtle,
        "trig" => RdfFormat::TriG,
        "rdf" | "owl" | "xml" => RdfFormat::RdfXml,
        "jsonld" | "json" => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        _ => {
            return Err(wrong_usage(format!(
                "`{}`: the extension says no RDF format; name it .nq, .nt, .ttl, .trig, .rdf or .jsonld, with .gz or .zst behind if compressed",
                file.display()
            )));
        }
    })
}

/// Parses a file as a stream; an error names file and line.
fn parse(file: &Path, format: RdfFormat) -> anyhow::Result<impl Iterator<Item = anyhow::Result<Quad>>> {
    let name = file.display().to_string();
    let opened =
        BufReader::with_capacity(1 << 20, File::open(file).with_context(|| format!("cannot open `{name}`"))?);
    let plain: Box<dyn Read> = match file.extension().and_then(|extension| extension.to_str()) {
        // A file the user chose, read as a stream: nothing inflates in memory.
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(opened)),
        Some("zst") => Box::new(zstd::Decoder::new(opened).with_context(|| format!("cannot read `{name}`"))?),
        _ => Box::new(opened),
    };
    let path = std::path::absolute(file)?;
    let mut parser = RdfParser::from_format(format);
    if let Ok(with_base) = parser.clone().with_base_iri(format!("file://{}", path.display())) {
        parser = with_base;
    }
    Ok(parser.for_reader(plain).map(move |quad| match quad {
        Ok(quad) => Ok(quad),
        Err(error) => bail!("{name}: {error}; nothing of this file was loaded"),
    }))
}
