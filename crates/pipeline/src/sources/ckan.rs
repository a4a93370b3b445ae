//! A CKAN portal: its catalogue, a page at a time, for the files of RDF it lists.
//!
//! In: the portal's URL and how many data sets were looked at. Out: dumps, endpoints and VoID descriptions as sources.
//! Nothing but RDF is taken; tables and maps are no business of ours.

use serde::Deserialize;
use serde_json::Value;
use webloom_fetch::Wanted;
use webloom_model::PageUrl;

use super::kept::SourceState;
use super::{SourceKind, SourceSpec, Step, Trouble, ask};
use crate::wiring::Crawl;

/// Data sets of one page of the catalogue.
const PAGE_SIZE: u64 = 100;
/// Bytes of one page.
const BYTES_MAX: u64 = 64 << 20;
/// Data sets looked at of one portal.
const DATA_SETS_MAX: u64 = 1_000_000;

#[derive(Debug, Deserialize)]
struct Answer {
    success: bool,
    result: Option<Catalogue>,
}

/// Its data sets are looked at one by one: among thousands, that were filled in by many hands, some are not as they should be.
#[derive(Debug, Deserialize)]
struct Catalogue {
    #[serde(default)]
    results: Vec<Value>,
}

/// Reads the next page of the catalogue.
pub(super) async fn step(crawl: &Crawl, state: &SourceState) -> Result<Step, Trouble> {
    let url = request(&state.url, state.offset)?;
    let wanted = Wanted { accept: "application/json", bytes_max: BYTES_MAX, timeout: None };
    let page = ask(crawl, url, &wanted).await?;
    let answer: Answer = serde_json::from_slice(&page.body)
        .map_err(|error| Trouble::Final(format!("its catalogue is not as CKAN's: {error}")))?;
    let Answer { success: true, result: Some(catalogue) } = answer else {
        return Err(Trouble::Final("its catalogue says that asking failed".to_owned()));
    };
    let count = catalogue.results.len() as u64;
    let offset = state.offset + count;
    let resources =
        catalogue.results.iter().filter_map(|data_set| data_set.get("resources")?.as_array()).flatten();
    Ok(Step {
        // A portal may give fewer than it was asked for, so only nothing is the end.
        done: count == 0 || offset >= DATA_SETS_MAX,
        offset,
        sources: resources.filter_map(source).collect(),
        ..Step::default()
    })
}

/// The source that a resource is, if it is one.
fn source(resource: &Value) -> Option<SourceSpec> {
    let url = PageUrl::parse(resource.get("url")?.as_str()?.trim()).ok()?;
    let names = ["format", "mimetype"].iter().filter_map(|field| resource.get(field)).flat_map(names);
    let kind = names.filter_map(Value::as_str).find_map(kind)?;
    Some(SourceSpec { kind, url })
}

/// One name, or a list of them.
fn names(value: &Value) -> &[Value] {
    value.as_array().map_or(std::slice::from_ref(value), Vec::as_slice)
}

/// What portals call RDF.
fn kind(format: &str) -> Option<SourceKind> {
    let format = format.trim().to_ascii_lowercase();
    // `gz:nt`, `ttl.gz` and the like say how it is packed too.
    let mut parts = format.split([':', ' ', ',', ';']).map(|part| part.trim_matches('.'));
    parts.find_map(|part| {
        Some(match part.strip_suffix(".gz").or(part.strip_suffix(".zst")).unwrap_or(part) {
            "rdf"
            | "rdf/xml"
            | "rdf-xml"
            | "rdf+xml"
            | "application/rdf+xml"
            | "owl"
            | "ttl"
            | "turtle"
            | "rdf/turtle"
            | "rdf-turtle"
            | "text/turtle"
            | "application/x-turtle"
            | "nt"
            | "n-triples"
            | "ntriples"
            | "rdf-n3"
            | "rdf/nt"
            | "application/n-triples"
            | "text/ntriples"
            | "nq"
            | "n-quads"
            | "nquads"
            | "application/n-quads"
            | "application/x-nquads"
            | "trig"
            | "application/trig"
            | "json-ld"
            | "jsonld"
            | "application/ld+json" => SourceKind::Dump,
            "sparql" | "api/sparql" | "sparql-endpoint" => SourceKind::Sparql,
            "void" | "meta/void" => SourceKind::Void,
            _ => return None,
        })
    })
}

/// The URL of one page. The portal may be named by its front page or by its API.
fn request(portal: &PageUrl, offset: u64) -> Result<PageUrl, Trouble> {
    let path = portal.as_url().path();
    let base = match path.find("/api/") {
        Some(api) => &path[..api],
        None => path.trim_end_matches('/'),
    };
    let reference = format!("{base}/api/3/action/package_search?rows={PAGE_SIZE}&start={offset}&sort=id+asc");
    portal.join(&reference).map_err(|problem| Trouble::Final(problem.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn portals_are_named_in_many_ways() {
        for (portal, base) in [
            ("http://p.example", "http://p.example/api/3/action/package_search?"),
            ("http://p.example/data/", "http://p.example/data/api/3/action/package_search?"),
            ("http://p.example/api/3/action/package_list", "http://p.example/api/3/action/package_search?"),
        ] {
            let url = request(&PageUrl::parse(portal).unwrap(), 200).unwrap();
            assert!(url.as_str().starts_with(base) && url.as_str().contains("start=200"), "{url}");
        }
    }

    #[test]
    fn odd_resources_cost_themselves() {
        for (resource, expected) in [
            (r#"{"url": " http://a.example/d.nt ", "format": "NT"}"#, Some("dump=http://a.example/d.nt")),
            (
                r#"{"url": "http://a.example/q", "format": ["CSV", "SPARQL"]}"#,
                Some("sparql=http://a.example/q"),
            ),
            (
                r#"{"url": "http://a.example/d", "format": null, "mimetype": "text/turtle"}"#,
                Some("dump=http://a.example/d"),
            ),
            (r#"{"url": 7, "format": "NT"}"#, None),
            (r#"{"url": "http://a.example/d", "format": {"name": "NT"}}"#, None),
            ("null", None),
            ("[]", None),
        ] {
            let source = source(&serde_json::from_str(resource).unwrap()).map(|source| source.to_string());
            assert_eq!(source.as_deref(), expected, "{resource}");
        }
    }

    #[test]
    fn formats_have_many_names() {
        for (format, expected) in [
            ("RDF", Some(SourceKind::Dump)),
            ("application/rdf+xml", Some(SourceKind::Dump)),
            ("gz:nt", Some(SourceKind::Dump)),
            ("ttl.gz", Some(SourceKind::Dump)),
            ("api/sparql", Some(SourceKind::Sparql)),
            ("meta/void", Some(SourceKind::Void)),
            ("CSV", None),
            ("", None),
            ("example/rdfa", None),
        ] {
            assert_eq!(kind(format), expected, "{format}");
        }
    }
}
