//! `webloom query`: SPARQL over the index, also while a crawl writes it.

use std::fs::File;
use std::io::{BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use oxrdf::{NamedNode, Quad, Term, Variable};
use oxrdfio::{JsonLdProfileSet, RdfFormat, RdfParser, RdfSerializer};
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use webloom_index::{
    DefaultGraph, Index, IndexConfig, IndexError, QueryOptions, QueryResults, Rules, Snapshot, UpdateOptions,
};
use webloom_pipeline::DataDir;

use crate::commands::materialize::{EntailArguments, tell_set_aside};
use crate::output::{DataArgument, one_line, with_commas, wrong_usage};

/// Ask the graph in SPARQL, or change it.
///
/// The default graph is the union of all pages; `GRAPH <url>` asks one page, and what is known about a page is in
/// `GRAPH <urn:webloom:meta:url>`. With --update the text is a SPARQL Update request; all of it is done, or nothing.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom query 'SELECT ?title WHERE { ?page <http://purl.org/dc/terms/title> ?title } LIMIT 5'
  webloom query --results json painters.rq
  webloom query 'SELECT ?page ?status { GRAPH ?meta { ?page <http://www.w3.org/2011/http#statusCodeNumber> ?status } }'
  webloom query --format turtle 'CONSTRUCT WHERE { ?s a <http://schema.org/Book> ; ?p ?o }' > books.ttl
  webloom query --explain 'SELECT * { ?book a <http://schema.org/Book> ; <http://schema.org/author> ?author }'
  webloom query --update 'DROP GRAPH <https://example.org/spam>'")]
pub struct Query {
    /// A SPARQL query, the name of a file with one, or - for standard input.
    #[arg(value_name = "QUERY|FILE")]
    query: String,
    #[command(flatten)]
    data: DataArgument,
    /// Run a SPARQL Update request. LOAD reads local files (`LOAD <file:///…>`).
    #[arg(long)]
    update: bool,
    /// Run the query and tell how: the order of joins, and the plan with rows as estimated and as counted. With
    /// `--results json` as JSON.
    #[arg(long, conflicts_with = "update")]
    explain: bool,
    /// How answers of SELECT and ASK are printed.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Results::Table)]
    results: Results,
    /// How answers of CONSTRUCT and DESCRIBE are printed.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Graph::Ntriples)]
    format: Graph,
    /// What patterns outside of GRAPH are about, unless the query says FROM. A query asks the union of all graphs, an
    /// update the graph without a name, unless told otherwise.
    #[arg(long, value_name = "WHICH", value_enum)]
    default_graph: Option<Default>,
    /// What relative IRIs are relative to; by default the file the query is read from.
    #[arg(long, value_name = "IRI")]
    base: Option<String>,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
    /// Give up when intermediate results take so many megabytes.
    #[arg(long, value_name = "MB", default_value_t = 2048)]
    memory: u64,
    /// Give up when there are more results than this.
    #[arg(long, value_name = "N")]
    max_rows: Option<u64>,
    /// Also ask what follows by these rules: rdfs, sameas, owl (which includes both), separated by commas.
    #[arg(long, value_name = "RULES", conflicts_with = "update")]
    entail: Option<Rules>,
    /// Take what `webloom materialize` kept for the rules, instead of inferring again.
    #[arg(long, requires = "entail")]
    materialized: bool,
    #[command(flatten)]
    inference: EntailArguments,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Results {
    Json,
    Xml,
    Csv,
    Tsv,
    Table,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Graph {
    #[value(alias = "nt", alias = "nquads")]
    Ntriples,
    #[value(alias = "ttl")]
    Turtle,
    #[value(alias = "xml")]
    Rdfxml,
    Jsonld,
}

impl Graph {
    fn format(self) -> RdfFormat {
        match self {
            Self::Ntriples => RdfFormat::NTriples,
            Self::Turtle => RdfFormat::Turtle,
            Self::Rdfxml => RdfFormat::RdfXml,
            Self::Jsonld => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Default {
    /// All pages and loaded graphs, each triple once, without what is known about the pages.
    Union,
    /// Only the graph without a name.
    #[value(alias = "empty")]
    Unnamed,
}

impl Query {
    pub fn run(self) -> anyhow::Result<()> {
        let (text, file_base) = self.text()?;
        let options = QueryOptions {
            base_iri: self.base.clone().or(file_base),
            time_limit: Some(Duration::from_secs(self.timeout)),
            memory_limit_bytes: Some(self.memory.saturating_mul(1_000_000)),
            row_limit: self.max_rows,
            default_graph: match self.default_graph {
                Some(Default::Union) => DefaultGraph::Union,
                Some(Default::Unnamed) => DefaultGraph::Unnamed,
                None if self.update => DefaultGraph::Unnamed,
                None => DefaultGraph::Union,
            },
            ..QueryOptions::default()
        };
        if self.update {
            return self.update(&text, options);
        }
        let mut out = BufWriter::new(std::io::stdout().lock());
        let snapshot = self.view()?;
        if self.explain {
            let explanation = snapshot.explain(&text, &options)?;
            if self.results == Results::Json {
                writeln!(out, "{}", serde_json::to_string_pretty(&explanation)?)?;
            } else {
                writeln!(out, "{explanation}")?;
            }
            out.flush()?;
            return Ok(());
        }
        let results = snapshot.query(&text, &options).map_err(|error| self.suggest_update(&text, error))?;
        print_results(results, self.results, self.format, &mut out)
    }

    /// The index as it is now, with what follows from it if that was asked for.
    fn view(&self) -> anyhow::Result<Snapshot> {
        let snapshot = self.data.snapshot()?;
        let Some(rules) = self.entail else {
            return Ok(snapshot);
        };
        if self.materialized {
            return snapshot.with_materialized(rules).ok_or_else(|| {
                wrong_usage(format!("nothing is kept for {rules}; run `webloom materialize --rules {rules}`"))
            });
        }
        let mut entailment = self.inference.entailment(rules);
        entailment.time_limit = Some(Duration::from_secs(self.timeout));
        let inferred = snapshot.inferred(&entailment)?;
        tell_set_aside(&inferred);
        Ok(snapshot.with_inferred(&inferred)?)
    }

    fn update(&self, text: &str, query: QueryOptions) -> anyhow::Result<()> {
        let data = DataDir::new(&self.data.data);
        std::fs::create_dir_all(data.path())
            .with_context(|| format!("cannot create `{}`", data.path().display()))?;
        let index = Index::open(&data.index(), IndexConfig::default())?;
        let options =
            UpdateOptions { query, load: Some(Box::new(load_document)), ..UpdateOptions::default() };
        let done = index.update(text, &options)?;
        index.close()?;
        eprintln!(
            "{} quads added, {} removed, {} graphs cleared",
            with_commas(done.added),
            with_commas(done.removed),
            with_commas(done.cleared)
        );
        Ok(())
    }

    /// Whoever writes `INSERT` without --update is told.
    fn suggest_update(&self, text: &str, error: IndexError) -> anyhow::Error {
        let is_update = matches!(error, IndexError::Syntax(_))
            && webloom_index::parse_update(text, Some("http://base.invalid/")).is_ok();
        if is_update { wrong_usage("this is an update; run it with --update") } else { error.into() }
    }

    /// The query, and the address of the file it is from.
    fn text(&self) -> anyhow::Result<(String, Option<String>)> {
        if self.query == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("cannot read the query from standard input")?;
            return Ok((text, None));
        }
        // A query always has white space or braces in it, a file name that exists is taken for one.
        let file = Path::new(&self.query);
        if !self.query.contains('{') && file.is_file() {
            let text =
                std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", self.query))?;
            return Ok((text, file_iri(file)));
        }
        Ok((self.query.clone(), None))
    }
}

/// The address of a local file, when it can be written as an IRI as it is.
fn file_iri(file: &Path) -> Option<String> {
    let iri = format!("file://{}", std::path::absolute(file).ok()?.to_str()?);
    NamedNode::new(iri).ok().map(NamedNode::into_string)
}

/// Reads what a `LOAD` names: a local file, whose extension says the format.
fn load_document(source: &NamedNode) -> Result<Vec<Quad>, Box<dyn std::error::Error + Send + Sync>> {
    let path = source.as_str().strip_prefix("file://").ok_or("only local files (file:///…) are loaded")?;
    let path = path.split(['#', '?']).next().unwrap_or_default();
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let format = RdfFormat::from_extension(extension)
        .ok_or_else(|| format!("the extension `{extension}` says no RDF format"))?;
    let parser = RdfParser::from_format(format).with_base_iri(source.as_str())?.without_named_graphs();
    let quads = parser.for_reader(BufReader::new(File::open(path)?)).collect::<Result<Vec<_>, _>>()?;
    Ok(quads)
}

/// Prints an answer as a table, for the demo.
pub fn print_table(results: QueryResults, out: &mut impl Write) -> anyhow::Result<()> {
    print_results(results, Results::Table, Graph::Ntriples, out)
}

fn print_results(
    results: QueryResults,
    format: Results,
    graph: Graph,
    out: &mut impl Write,
) -> anyhow::Result<()> {
    let standard = match format {
        Results::Json => Some(QueryResultsFormat::Json),
        Results::Xml => Some(QueryResultsFormat::Xml),
        Results::Csv => Some(QueryResultsFormat::Csv),
        Results::Tsv => Some(QueryResultsFormat::Tsv),
        Results::Table => None,
    };
    match results {
        QueryResults::Boolean(answer) => match standard {
            Some(format) => {
                QueryResultsSerializer::from_format(format).serialize_boolean_to_writer(&mut *out, answer)?;
            }
            None => writeln!(out, "{answer}")?,
        },
        QueryResults::Solutions(solutions) => match standard {
            Some(format) => {
                let variables = solutions.variables().to_vec();
                let mut serializer = QueryResultsSerializer::from_format(format)
                    .serialize_solutions_to_writer(&mut *out, variables)?;
                for solution in solutions {
                    serializer.serialize(&solution?)?;
                }
                serializer.finish()?;
            }
            None => {
                let variables = solutions.variables().to_vec();
                let mut rows = Vec::new();
                for solution in solutions {
                    let solution = solution?;
                    rows.push(variables.iter().map(|variable| cell(solution.get(variable))).collect());
                }
                write_table(&variables, &rows, out)?;
            }
        },
        QueryResults::Graph(triples) => {
            let mut serializer = RdfSerializer::from_format(graph.format()).for_writer(&mut *out);
            for triple in triples {
                serializer.serialize_triple(&triple?)?;
            }
            serializer.finish()?;
        }
    }
    out.flush()?;
    Ok(())
}

/// A term as a person reads it in a table.
fn cell(term: Option<&Term>) -> String {
    match term {
        None => String::new(),
        Some(Term::NamedNode(node)) => node.as_str().to_owned(),
        Some(Term::Literal(literal)) => match literal.language() {
            Some(language) => format!("{} @{language}", one_line(literal.value())),
            None => one_line(literal.value()),
        },
        Some(other) => other.to_string(),
    }
}

const CELL_CHARS_MAX: usize = 80;

fn write_table(variables: &[Variable], rows: &[Vec<String>], out: &mut impl Write) -> anyhow::Result<()> {
    let clip = std::io::stdout().is_terminal();
    let shown = |text: &str| -> String {
        if clip && text.chars().count() > CELL_CHARS_MAX {
            text.chars().take(CELL_CHARS_MAX - 1).chain(['…']).collect()
        } else {
            text.to_owned()
        }
    };
    let header: Vec<String> = variables.iter().map(|variable| variable.as_str().to_owned()).collect();
    let table: Vec<Vec<String>> = std::iter::once(header)
        .chain(rows.iter().map(|row| row.iter().map(|text| shown(text)).collect()))
        .collect();
    let widths: Vec<usize> = (0..variables.len())
        .map(|column| table.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    for (number, row) in table.iter().enumerate() {
        let line: Vec<String> = row
            .iter()
            .zip(&widths)
            .map(|(text, width)| format!("{text}{}", " ".repeat(width - text.chars().count())))
            .collect();
        writeln!(out, "{}", line.join("  ").trim_end())?;
        if number == 0 {
            writeln!(
                out,
                "{}",
                widths.iter().map(|width| "─".repeat(*width)).collect::<Vec<_>>().join("  ")
            )?;
        }
    }
    Ok(())
}
