//! `webloom dump`: what the index holds, as RDF or as a table.
//!
//! In: a snapshot and a selection ([`select`]). Out: N-Quads, TriG, N-Triples or Turtle as a stream, or Parquet
//! ([`parquet`]), to stdout or to a file that appears only when it is whole ([`target`]). Memory does not grow with
//! the store.

mod parquet;
mod select;
mod sort;
mod target;

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use oxrdf::TripleRef;
use oxrdfio::{RdfFormat, RdfSerializer};

use self::select::{Selection, SelectionArguments};
use self::target::Target;
use crate::output::{DataArgument, with_commas, wrong_usage};

/// Export the graph, page by page, or a part of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom dump > crawl.nq
  webloom dump --no-metadata --output pages.trig.zst
  webloom dump --site example.org --type http://schema.org/Product --output products.nq.gz
  webloom dump --query 'CONSTRUCT WHERE { ?s <http://schema.org/name> ?o }' --format turtle
  webloom dump --output crawl.parquet
  webloom dump --format parquet --partition site --output crawl-by-site
  diff <(webloom dump --stable --data a | sort) <(webloom dump --stable --data b | sort)")]
pub struct Dump {
    #[command(flatten)]
    data: DataArgument,
    /// How to print. By default what the name of the output says, else N-Quads (N-Triples for --query).
    #[arg(long, value_name = "FORMAT", value_enum)]
    format: Option<Format>,
    /// File to write instead of stdout, compressed if it ends with .gz or .zst; with --partition a directory.
    #[arg(long, short, value_name = "FILE|DIR")]
    output: Option<PathBuf>,
    /// Parquet in a directory with one file per site: DIR/host=…/part-0.parquet.
    #[arg(long, value_name = "BY", value_enum)]
    partition: Option<Partition>,
    #[command(flatten)]
    selection: SelectionArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Nquads,
    Trig,
    Ntriples,
    Turtle,
    Parquet,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Partition {
    Site,
}

impl Dump {
    pub fn run(self) -> anyhow::Result<()> {
        let format = self.chosen_format()?;
        if self.partition.is_some() && format != Format::Parquet {
            return Err(wrong_usage("--partition needs --format parquet"));
        }
        let is_one_graph = self.selection.is_one_graph();
        let selection = Selection::new(&self.selection)?;
        let snapshot = self.data.snapshot()?;
        let rdf = match format {
            Format::Nquads => RdfFormat::NQuads,
            Format::Trig => RdfFormat::TriG,
            Format::Ntriples | Format::Turtle if !is_one_graph => {
                return Err(wrong_usage(
                    "N-Triples and Turtle have no graphs; choose one graph with --graph, or use --query",
                ));
            }
            Format::Ntriples => RdfFormat::NTriples,
            Format::Turtle => RdfFormat::Turtle,
            Format::Parquet => {
                let Some(output) = &self.output else {
                    return Err(wrong_usage("Parquet is no stream; name a file with --output"));
                };
                let rows =
                    parquet::write(output, self.partition.is_some(), |take| selection.each(&snapshot, take))?;
                eprintln!("{}: {} quads", output.display(), with_commas(rows));
                return Ok(());
            }
        };
        let mut count = 0;
        let mut target = Target::open(self.output.as_deref())?;
        let mut serializer = RdfSerializer::from_format(rdf).for_writer(&mut target);
        selection.each(&snapshot, &mut |quad| {
            count += 1;
            if is_one_graph && matches!(rdf, RdfFormat::NTriples | RdfFormat::Turtle) {
                let triple = TripleRef {
                    subject: quad.subject.as_ref(),
                    predicate: quad.predicate.as_ref(),
                    object: quad.object.as_ref(),
                };
                Ok(serializer.serialize_triple(triple)?)
            } else {
                Ok(serializer.serialize_quad(&quad)?)
            }
        })?;
        serializer.finish()?.flush()?;
        target.finish()?;
        if let Some(output) = &self.output {
            eprintln!("{}: {} quads", output.display(), with_commas(count));
        }
        Ok(())
    }

    fn chosen_format(&self) -> anyhow::Result<Format> {
        if let Some(format) = self.format {
            return Ok(format);
        }
        if self.partition.is_some() {
            return Ok(Format::Parquet);
        }
        match &self.output {
            Some(output) => format_of(output),
            None if self.selection.is_query() => Ok(Format::Ntriples),
            None => Ok(Format::Nquads),
        }
    }
}

/// What the name of a file says.
fn format_of(output: &Path) -> anyhow::Result<Format> {
    let name = output.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
    let bare = name.trim_end_matches(".gz").trim_end_matches(".zst");
    Ok(match bare.rsplit('.').next().unwrap_or_default() {
        "nq" | "nquads" => Format::Nquads,
        "trig" => Format::Trig,
        "nt" | "ntriples" => Format::Ntriples,
        "ttl" | "turtle" => Format::Turtle,
        "parquet" if bare == name => Format::Parquet,
        "parquet" => return Err(wrong_usage("Parquet is compressed inside; leave away the .gz or .zst")),
        _ => {
            return Err(wrong_usage(format!(
                "`{}`: the extension says no format; name one with --format",
                output.display()
            )));
        }
    })
}
