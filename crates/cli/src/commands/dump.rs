//! `webloom dump`: everything the index holds, as RDF.

use std::io::{BufWriter, Write};

use clap::{Args, ValueEnum};
use oxrdf::GraphName;
use oxrdfio::{RdfFormat, RdfSerializer};
use webloom_model::vocab::META_PREFIX;
use webloom_pipeline::metadata::VOLATILE;

use crate::output::DataArgument;

/// Print the whole graph, page by page.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom dump > crawl.nq
  webloom dump --no-metadata --format trig | zstd > pages.trig.zst
  diff <(webloom dump --stable --data a | sort) <(webloom dump --stable --data b | sort)")]
pub struct Dump {
    #[command(flatten)]
    data: DataArgument,
    /// How to print.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Nquads)]
    format: Format,
    /// Leave out the graphs that tell about the crawl itself.
    #[arg(long)]
    no_metadata: bool,
    /// Leave out what depends on when and in which order pages were fetched (times, depth, where a link was found
    /// first), so that two crawls of the same pages can be compared.
    #[arg(long)]
    stable: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Nquads,
    Trig,
}

impl Dump {
    pub fn run(self) -> anyhow::Result<()> {
        let snapshot = self.data.snapshot()?;
        let format = match self.format {
            Format::Nquads => RdfFormat::NQuads,
            Format::Trig => RdfFormat::TriG,
        };
        let mut writer =
            RdfSerializer::from_format(format).for_writer(BufWriter::new(std::io::stdout().lock()));
        for quad in snapshot.quads()? {
            let quad = quad?;
            let is_metadata = matches!(&quad.graph_name, GraphName::NamedNode(name) if name.as_str().starts_with(META_PREFIX));
            if is_metadata && (self.no_metadata || self.stable && VOLATILE.contains(&quad.predicate.as_ref()))
            {
                continue;
            }
            writer.serialize_quad(&quad)?;
        }
        writer.finish()?.flush()?;
        Ok(())
    }
}
