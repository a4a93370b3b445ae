//! What the suites have in common: a page through detect and transform, graphs read and compared, ASK answered.

use anyhow::Context;
use bytes::Bytes;
use oxrdf::dataset::CanonicalizationAlgorithm;
use oxrdf::{Dataset, Quad};
use oxrdfio::{RdfFormat, RdfParser};
use spareval::{QueryEvaluator, QueryResults};
use spargebra::SparqlParser;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageGraph, PageUrl};
use webloom_transform::{TransformConfig, transform};

/// The way of a page through detection and transformation, as `webloom extract` goes it.
pub fn extract(
    url: &str,
    content_type: Option<&str>,
    body: Vec<u8>,
    config: &TransformConfig,
) -> anyhow::Result<PageGraph> {
    let url = PageUrl::parse(url).with_context(|| format!("`{url}` is no URL"))?;
    let page = detect(FetchedPage::local(url, content_type, Bytes::from(body)));
    let mut graph = transform(&page, config);
    graph.diagnostics.splice(0..0, page.page.diagnostics);
    Ok(graph)
}

/// The quads of a file in an RDF syntax.
pub fn read(format: RdfFormat, base: &str, text: &[u8]) -> anyhow::Result<Vec<Quad>> {
    let parser = RdfParser::from_format(format).with_base_iri(base)?;
    Ok(parser.for_slice(text).collect::<Result<_, _>>()?)
}

/// True when both say the same, whatever their blank nodes are called.
pub fn isomorphic(one: &[Quad], other: &[Quad]) -> bool {
    let canonical = |quads: &[Quad]| {
        let mut dataset: Dataset = quads.iter().collect();
        dataset.canonicalize(CanonicalizationAlgorithm::Unstable);
        dataset
    };
    canonical(one) == canonical(other)
}

/// The answer of an ASK query over quads.
pub fn ask(query: &str, base: &str, quads: &[Quad]) -> anyhow::Result<bool> {
    let dataset: Dataset = quads.iter().collect();
    let query = SparqlParser::new().with_base_iri(base)?.parse_query(query)?;
    match QueryEvaluator::new().prepare(&query).execute(&dataset)? {
        QueryResults::Boolean(answer) => Ok(answer),
        _ => anyhow::bail!("not an ASK query"),
    }
}

/// Both sides of a mismatch, for a person to compare.
pub fn difference(expected: &[Quad], got: &[Quad]) -> String {
    let lines = |quads: &[Quad]| {
        let mut lines: Vec<String> = quads.iter().map(|quad| format!("    {quad}")).collect();
        lines.sort();
        lines.join("\n")
    };
    format!("expected\n{}\n  got\n{}", lines(expected), lines(got))
}
