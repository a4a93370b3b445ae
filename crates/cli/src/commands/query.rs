//! `webloom query`: SPARQL over the index, also while a crawl writes it.

use std::io::{BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use oxrdf::{Term, Variable};
use oxrdfio::{RdfFormat, RdfSerializer};
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use webloom_index::{QueryOptions, QueryResults};

use crate::output::{DataArgument, one_line};

/// Ask the graph in SPARQL.
///
/// The default graph is the union of all pages; `GRAPH <url>` asks one page, and what is known about a page is in
/// `GRAPH <urn:webloom:meta:url>`.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom query 'SELECT ?title WHERE { ?page <http://purl.org/dc/terms/title> ?title } LIMIT 5'
  webloom query --results json painters.rq
  webloom query 'SELECT ?page ?status { GRAPH ?meta { ?page <http://www.w3.org/2011/http#statusCodeNumber> ?status } }'
  webloom query 'CONSTRUCT WHERE { ?s a <http://schema.org/Book> ; ?p ?o }' > books.nt")]
pub struct Query {
    /// A SPARQL query, the name of a file with one, or - for standard input.
    #[arg(value_name = "QUERY|FILE")]
    query: String,
    #[command(flatten)]
    data: DataArgument,
    /// How answers of SELECT and ASK are printed.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Results::Table)]
    results: Results,
    /// Give up after so many seconds.
    #[arg(long, value_name = "SECONDS", default_value_t = 300)]
    timeout: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Results {
    Json,
    Xml,
    Csv,
    Tsv,
    Table,
}

impl Query {
    pub fn run(self) -> anyhow::Result<()> {
        let text = self.text()?;
        let snapshot = self.data.snapshot()?;
        let options =
            QueryOptions { time_limit: Some(Duration::from_secs(self.timeout)), ..QueryOptions::default() };
        print_results(
            snapshot.query(&text, &options)?,
            self.results,
            &mut BufWriter::new(std::io::stdout().lock()),
        )
    }

    fn text(&self) -> anyhow::Result<String> {
        if self.query == "-" {
            let mut text = String::new();
            std::io::stdin()
                .read_to_string(&mut text)
                .context("cannot read the query from standard input")?;
            return Ok(text);
        }
        // A query always has white space or braces in it, a file name that exists is taken for one.
        let file = Path::new(&self.query);
        if !self.query.contains('{') && file.is_file() {
            return std::fs::read_to_string(file).with_context(|| format!("cannot read `{}`", self.query));
        }
        Ok(self.query.clone())
    }
}

/// Prints an answer as a table, for the demo.
pub fn print_table(results: QueryResults, out: &mut impl Write) -> anyhow::Result<()> {
    print_results(results, Results::Table, out)
}

fn print_results(results: QueryResults, format: Results, out: &mut impl Write) -> anyhow::Result<()> {
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
            let mut serializer = RdfSerializer::from_format(RdfFormat::NTriples).for_writer(&mut *out);
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
