//! SPARQL 1.1: query and update evaluation, syntax, and the four result formats, each case over an index of its own.
//!
//! In: `rdf-tests/cases.jsonl`. The default graph is the graph without a name, as the suite has it. Results are compared
//! as multisets, in order only under ORDER BY, whatever their blank nodes are called. `SERVICE` cases ask other
//! indexes, made from the data their manifest names. Protocol and graph store cases need a server and are not
//! run here.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use oxrdf::vocab::{rdf, xsd};
use oxrdf::{
    BlankNode, Graph, GraphName, Literal, NamedNode, NamedNodeRef, Quad, Term, TermRef, Triple, Variable,
};
use oxrdfio::RdfFormat;
use serde_json::Value;
use sparesults::{
    QueryResultsFormat, QueryResultsParser, QueryResultsSerializer, SliceQueryResultsParserOutput,
};
use webloom_index::{
    AskService, Batch, DefaultGraph, Index, IndexConfig, QueryOptions, QueryResults, QuerySolutionIter,
    Snapshot, UpdateOptions, WriteMode, parse_query, parse_update,
};

use crate::Outcome;
use crate::graphs::{difference, isomorphic, read};

const BASE: &str = "https://w3c.github.io/rdf-tests/";
const RESULT_SET: &str = "http://www.w3.org/2001/sw/DataAccess/tests/result-set#";
const QUERY_TESTS: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-query#";

/// Cases that fail, and why.
pub const KNOWN_FAILURES: &[(&str, &str)] = &[(
    "functions/bnode01",
    "the evaluator makes one blank node for a label in the whole query; each solution should have its own",
)];

/// Runs the SPARQL cases.
pub fn run(suites: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = suites.join("rdf-tests");
    let text =
        std::fs::read_to_string(folder.join("cases.jsonl")).context("cannot read rdf-tests/cases.jsonl")?;
    let mut outcomes = Vec::new();
    for line in text.lines() {
        let case: Value = serde_json::from_str(line)?;
        let word = |key: &str| case[key].as_str().unwrap_or_default();
        let (directory, kind) = (word("dir"), word("type"));
        if !directory.starts_with("sparql/") {
            continue;
        }
        let group = match kind {
            "QueryEvaluationTest" | "CSVResultFormatTest" => "sparql query",
            "UpdateEvaluationTest" => "sparql update",
            "PositiveSyntaxTest11"
            | "NegativeSyntaxTest11"
            | "PositiveUpdateSyntaxTest11"
            | "NegativeUpdateSyntaxTest11" => "sparql syntax",
            _ => continue,
        };
        let result = match kind {
            "QueryEvaluationTest" | "CSVResultFormatTest" => query_case(&folder, &case),
            "UpdateEvaluationTest" => update_case(&folder, &case),
            kind => syntax_case(&folder, &case, kind),
        };
        outcomes.push(Outcome {
            group: group.to_owned(),
            id: format!("{}/{}", directory.rsplit('/').next().unwrap_or_default(), word("id")),
            result: result.map_err(|error| format!("{error:#}")),
        });
    }
    Ok(outcomes)
}

fn syntax_case(folder: &Path, case: &Value, kind: &str) -> anyhow::Result<()> {
    let file = case["action"].as_str().or(case["query"].as_str()).context("no query")?;
    let text = std::fs::read_to_string(folder.join(file))?;
    let base = format!("{BASE}{file}");
    let parsed = if kind.contains("Update") {
        parse_update(&text, Some(&base)).map(|_| ())
    } else {
        parse_query(&text, Some(&base)).map(|_| ())
    };
    match (kind.starts_with("Positive"), parsed) {
        (true, Err(error)) => bail!("refused: {error}"),
        (false, Ok(())) => bail!("accepted"),
        _ => Ok(()),
    }
}

/// The quads of a data file, in a graph.
fn data(folder: &Path, file: &str, graph: &GraphName) -> anyhow::Result<Vec<Quad>> {
    let format = match file.rsplit('.').next() {
        Some("rdf") => RdfFormat::RdfXml,
        Some("nt") => RdfFormat::NTriples,
        _ => RdfFormat::Turtle,
    };
    let bytes = std::fs::read(folder.join(file)).with_context(|| format!("cannot read {file}"))?;
    let quads = read(format, &format!("{BASE}{file}"), &bytes)?;
    // Two files may use one label for two nodes.
    let mut nodes: HashMap<BlankNode, BlankNode> = HashMap::new();
    let mut fresh = |node: &BlankNode| nodes.entry(node.clone()).or_default().clone();
    Ok(quads
        .into_iter()
        .map(|mut quad| {
            if let oxrdf::NamedOrBlankNode::BlankNode(node) = &quad.subject {
                quad.subject = fresh(node).into();
            }
            if let Term::BlankNode(node) = &quad.object {
                quad.object = fresh(node).into();
            }
            Quad { graph_name: graph.clone(), ..quad }
        })
        .collect())
}

/// All quads that a case puts under two keys: files for the default graph, and files with the name of their graph.
fn dataset(folder: &Path, case: &Value, default_key: &str, named_key: &str) -> anyhow::Result<Vec<Quad>> {
    let mut quads = Vec::new();
    for file in case[default_key].as_array().into_iter().flatten().filter_map(Value::as_str) {
        quads.extend(data(folder, file, &GraphName::DefaultGraph)?);
    }
    for entry in case[named_key].as_array().into_iter().flatten() {
        let (file, name) = match entry {
            Value::String(file) => (file.as_str(), format!("{BASE}{file}")),
            pair => (pair[0].as_str().context("no file")?, pair[1].as_str().context("no graph")?.to_owned()),
        };
        quads.extend(data(folder, file, &NamedNode::new(name)?.into())?);
    }
    Ok(quads)
}

/// An index of these quads, in a folder that goes with it.
fn index_of(quads: Vec<Quad>) -> anyhow::Result<(tempfile::TempDir, Index)> {
    let folder = tempfile::tempdir()?;
    let config = IndexConfig { index_text: false, merge_in_background: false, ..IndexConfig::default() };
    let index = Index::open(folder.path(), config)?;
    index.commit(&Batch::from_quads(WriteMode::Add, quads))?;
    Ok((folder, index))
}

fn options(base: String) -> QueryOptions {
    QueryOptions {
        base_iri: Some(base),
        default_graph: DefaultGraph::Unnamed,
        memory_limit_bytes: Some(1 << 30),
        ..QueryOptions::default()
    }
}

fn update_case(folder: &Path, case: &Value) -> anyhow::Result<()> {
    let file = case["query"].as_str().context("no request")?;
    let text = std::fs::read_to_string(folder.join(file))?;
    let (_folder, index) = index_of(dataset(folder, case, "data", "graph_data")?)?;
    let options = UpdateOptions { query: options(format!("{BASE}{file}")), ..UpdateOptions::default() };
    index.update(&text, &options)?;
    let got: Vec<Quad> = index.snapshot().quads()?.collect::<Result<_, _>>()?;
    let expected = dataset(folder, case, "result_data", "result_graph_data")?;
    ensure!(isomorphic(&expected, &got), "{}", difference(&expected, &got));
    Ok(())
}

fn query_case(folder: &Path, case: &Value) -> anyhow::Result<()> {
    let file = case["query"].as_str().context("no query")?;
    let text = std::fs::read_to_string(folder.join(file))?;
    let (_folder, index) = index_of(dataset(folder, case, "data", "graph_data")?)?;
    let mut options = options(format!("{BASE}{file}"));
    if file.starts_with("sparql/sparql11/service/") {
        let id = case["id"].as_str().unwrap_or_default();
        options.services = Some(ask(Arc::new(endpoints(folder, id)?)));
    }
    let results = index.snapshot().query(&text, &options)?;
    let result_file = case["result"].as_str().context("no result")?;
    let bytes = std::fs::read(folder.join(result_file))?;
    if result_file.ends_with(".csv") {
        return compare_csv(&bytes, results);
    }
    let ordered = text.to_ascii_uppercase().contains("ORDER BY");
    match (expected(result_file, &bytes)?, results) {
        (Answer::Boolean(expected), QueryResults::Boolean(got)) => {
            ensure!(expected == got, "expected {expected}, got {got}");
            Ok(())
        }
        (Answer::Graph(expected), QueryResults::Graph(triples)) => {
            let got: Vec<Quad> = triples
                .map(|triple| Ok(triple?.in_graph(GraphName::DefaultGraph)))
                .collect::<anyhow::Result<_>>()?;
            ensure!(isomorphic(&expected, &got), "{}", difference(&expected, &got));
            Ok(())
        }
        (Answer::Rows(expected), QueryResults::Solutions(solutions)) => {
            let got = rows(solutions)?;
            ensure!(
                same_rows(&expected, &got, ordered),
                "expected\n{}\n  got\n{}",
                show(&expected),
                show(&got)
            );
            Ok(())
        }
        _ => bail!("another kind of answer was expected"),
    }
}

/// A solution: its bound variables, sorted by name.
type Row = Vec<(String, Term)>;

enum Answer {
    Boolean(bool),
    Rows(Vec<Row>),
    Graph(Vec<Quad>),
}

fn rows(solutions: QuerySolutionIter<'_>) -> anyhow::Result<Vec<Row>> {
    solutions.map(|solution| Ok(row(solution?.iter()))).collect()
}

fn row<'a>(bindings: impl Iterator<Item = (&'a Variable, &'a Term)>) -> Row {
    let mut row: Row = bindings.map(|(name, term)| (name.as_str().to_owned(), term.clone())).collect();
    row.sort_by(|one, other| one.0.cmp(&other.0));
    row
}

fn show(rows: &[Row]) -> String {
    let line = |row: &Row| {
        let cells: Vec<String> = row.iter().map(|(name, term)| format!("?{name} {term}")).collect();
        format!("    {}", cells.join("  "))
    };
    rows.iter().map(line).collect::<Vec<_>>().join("\n")
}

fn expected(file: &str, bytes: &[u8]) -> anyhow::Result<Answer> {
    let format = match file.rsplit('.').next() {
        Some("srx") => QueryResultsFormat::Xml,
        Some("srj") => QueryResultsFormat::Json,
        Some("tsv") => QueryResultsFormat::Tsv,
        extension => {
            let format = if extension == Some("rdf") { RdfFormat::RdfXml } else { RdfFormat::Turtle };
            return result_graph(read(format, &format!("{BASE}{file}"), bytes)?);
        }
    };
    Ok(match QueryResultsParser::from_format(format).for_slice(bytes)? {
        SliceQueryResultsParserOutput::Boolean(answer) => Answer::Boolean(answer),
        SliceQueryResultsParserOutput::Solutions(solutions) => {
            Answer::Rows(solutions.map(|solution| Ok(row(solution?.iter()))).collect::<anyhow::Result<_>>()?)
        }
    })
}

/// An answer written as RDF: a result set in the suite's own vocabulary, or the graph itself.
fn result_graph(quads: Vec<Quad>) -> anyhow::Result<Answer> {
    let name = |local: &str| NamedNode::new_unchecked(format!("{RESULT_SET}{local}"));
    let graph: Graph = quads
        .iter()
        .map(|quad| Triple::new(quad.subject.clone(), quad.predicate.clone(), quad.object.clone()))
        .collect();
    let class = name("ResultSet");
    let Some(set) = graph.subject_for_predicate_object(rdf::TYPE, &class) else {
        return Ok(Answer::Graph(quads));
    };
    if let Some(TermRef::Literal(answer)) = graph.object_for_subject_predicate(set, &name("boolean")) {
        return Ok(Answer::Boolean(answer.value() == "true"));
    }
    let object = |subject: TermRef<'_>, predicate: &NamedNode| -> Option<Term> {
        let found = match subject {
            TermRef::NamedNode(node) => graph.object_for_subject_predicate(node, predicate),
            TermRef::BlankNode(node) => graph.object_for_subject_predicate(node, predicate),
            TermRef::Literal(_) => None,
        };
        found.map(TermRef::into_owned)
    };
    let mut solutions: Vec<(i64, Row)> = Vec::new();
    for solution in graph.objects_for_subject_predicate(set, &name("solution")) {
        let TermRef::BlankNode(node) = solution else { bail!("a solution with a name") };
        let mut cells: Row = Vec::new();
        for binding in graph.objects_for_subject_predicate(node, &name("binding")) {
            let (Some(Term::Literal(variable)), Some(value)) =
                (object(binding, &name("variable")), object(binding, &name("value")))
            else {
                bail!("a binding without variable or value");
            };
            cells.push((variable.value().to_owned(), value));
        }
        cells.sort_by(|one, other| one.0.cmp(&other.0));
        let index = match object(solution, &name("index")) {
            Some(Term::Literal(number)) => number.value().parse()?,
            _ => 0,
        };
        solutions.push((index, cells));
    }
    solutions.sort_by_key(|(index, _)| *index);
    Ok(Answer::Rows(solutions.into_iter().map(|(_, row)| row).collect()))
}

/// True when the rows are the same but for the names of blank nodes.
fn same_rows(expected: &[Row], got: &[Row], ordered: bool) -> bool {
    if expected.len() != got.len() {
        return false;
    }
    match_rows(expected, &mut got.iter().collect(), ordered, &HashMap::new())
}

fn match_rows(
    expected: &[Row],
    got: &mut Vec<&Row>,
    ordered: bool,
    names: &HashMap<BlankNode, BlankNode>,
) -> bool {
    let Some((first, rest)) = expected.split_first() else {
        return true;
    };
    let candidates = if ordered { 1 } else { got.len() };
    for candidate in 0..candidates {
        let Some(names) = match_row(first, got[candidate], names) else {
            continue;
        };
        let taken = got.remove(candidate);
        if match_rows(rest, got, ordered, &names) {
            return true;
        }
        got.insert(candidate, taken);
        // Without blank nodes one equal row is as good as another.
        if !first.iter().any(|(_, term)| matches!(term, Term::BlankNode(_))) {
            return false;
        }
    }
    false
}

fn match_row(
    expected: &Row,
    got: &Row,
    names: &HashMap<BlankNode, BlankNode>,
) -> Option<HashMap<BlankNode, BlankNode>> {
    if expected.len() != got.len() {
        return None;
    }
    let mut names = names.clone();
    for ((expected_name, expected_term), (got_name, got_term)) in expected.iter().zip(got) {
        if expected_name != got_name {
            return None;
        }
        match (expected_term, got_term) {
            (Term::BlankNode(expected), Term::BlankNode(got)) => match names.get(expected) {
                Some(known) if known == got => {}
                Some(_) => return None,
                None if names.values().any(|known| known == got) => return None,
                None => {
                    names.insert(expected.clone(), got.clone());
                }
            },
            (expected, got) if same_value(expected, got) => {}
            _ => return None,
        }
    }
    Some(names)
}

/// True for equal terms, and for numbers of one type with one value: what an expression computes may be written
/// `3` or `3.0`.
fn same_value(expected: &Term, got: &Term) -> bool {
    if expected == got {
        return true;
    }
    let (Term::Literal(expected), Term::Literal(got)) = (expected, got) else {
        return false;
    };
    let numeric = [xsd::DECIMAL, xsd::DOUBLE, xsd::FLOAT, xsd::INTEGER].contains(&expected.datatype());
    let value = |literal: &Literal| literal.value().parse::<f64>().ok();
    numeric
        && expected.datatype() == got.datatype()
        && value(expected).is_some()
        && value(expected) == value(got)
}

/// CSV says less than the results did, so what we print is compared with what is expected, line by line.
fn compare_csv(expected: &[u8], results: QueryResults<'_>) -> anyhow::Result<()> {
    let QueryResults::Solutions(solutions) = results else { bail!("not a SELECT") };
    let mut serializer = QueryResultsSerializer::from_format(QueryResultsFormat::Csv)
        .serialize_solutions_to_writer(Vec::new(), solutions.variables().to_vec())?;
    for solution in solutions {
        serializer.serialize(&solution?)?;
    }
    let lines = |bytes: &[u8]| -> anyhow::Result<Vec<String>> {
        let text = std::str::from_utf8(bytes)?;
        let mut names: HashMap<String, usize> = HashMap::new();
        let mut lines: Vec<String> = Vec::new();
        for line in text.lines() {
            let cells = line.split(',').map(|cell| match cell.strip_prefix("_:") {
                Some(label) => {
                    let count = names.len();
                    format!("_:{}", names.entry(label.to_owned()).or_insert(count))
                }
                None => cell.to_owned(),
            });
            lines.push(cells.collect::<Vec<_>>().join(","));
        }
        lines.sort();
        Ok(lines)
    };
    let (expected, got) = (lines(expected)?, lines(&serializer.finish()?)?);
    ensure!(expected == got, "expected {expected:#?}, got {got:#?}");
    Ok(())
}

/// Other people's endpoints, by address.
type Endpoints = HashMap<String, (tempfile::TempDir, Snapshot)>;

/// The endpoints that the manifest gives a `SERVICE` case.
fn endpoints(folder: &Path, id: &str) -> anyhow::Result<Endpoints> {
    let manifest_file = "sparql/sparql11/service/manifest.ttl";
    let bytes = std::fs::read(folder.join(manifest_file))?;
    let base = format!("{BASE}{manifest_file}");
    let graph: Graph = read(RdfFormat::Turtle, &base, &bytes)?
        .into_iter()
        .map(|quad| Triple::new(quad.subject, quad.predicate, quad.object))
        .collect();
    let action =
        NamedNodeRef::new_unchecked("http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#action");
    let name = |local: &str| NamedNode::new_unchecked(format!("{QUERY_TESTS}{local}"));
    let case = graph
        .iter()
        .find(|triple| {
            triple.predicate == action
                && matches!(triple.subject, oxrdf::NamedOrBlankNodeRef::NamedNode(node)
                    if node.as_str().ends_with(&format!("#{id}")))
        })
        .map(|triple| triple.object);
    let mut endpoints = Endpoints::new();
    let Some(TermRef::BlankNode(case)) = case else {
        return Ok(endpoints);
    };
    for service in graph.objects_for_subject_predicate(case, &name("serviceData")) {
        let TermRef::BlankNode(service) = service else { continue };
        let (Some(TermRef::NamedNode(endpoint)), Some(TermRef::NamedNode(file))) = (
            graph.object_for_subject_predicate(service, &name("endpoint")),
            graph.object_for_subject_predicate(service, &name("data")),
        ) else {
            continue;
        };
        let file = file.as_str().strip_prefix(BASE).context("data of another place")?;
        let (directory, index) = index_of(data(folder, file, &GraphName::DefaultGraph)?)?;
        endpoints.insert(endpoint.as_str().to_owned(), (directory, index.snapshot()));
    }
    Ok(endpoints)
}

/// Asks the endpoints; they ask each other too.
fn ask(endpoints: Arc<Endpoints>) -> Arc<AskService> {
    Arc::new(move |name, pattern| {
        let (_, snapshot) = endpoints.get(name.as_str()).ok_or("nobody answers there")?;
        let query = spargebra::Query::Select { dataset: None, pattern: pattern.clone(), base_iri: None };
        let options = QueryOptions { services: Some(ask(Arc::clone(&endpoints))), ..QueryOptions::default() };
        match snapshot.evaluate(&query, &options)? {
            QueryResults::Solutions(solutions) => Ok(solutions),
            _ => Err("not a SELECT".into()),
        }
    })
}
