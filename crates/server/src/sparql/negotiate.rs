//! Content negotiation: from an `Accept` field to one of the formats on offer.

use http::{HeaderMap, StatusCode, header};
use oxrdfio::{JsonLdProfileSet, RdfFormat};
use sparesults::QueryResultsFormat;

use crate::error::ApiError;

/// Fields longer than this are not looked at to their end.
const RANGES_MAX: usize = 64;

/// Media types of solutions and booleans, the preferred one first.
const RESULTS: [(&str, QueryResultsFormat); 8] = [
    ("application/sparql-results+json", QueryResultsFormat::Json),
    ("application/json", QueryResultsFormat::Json),
    ("application/sparql-results+xml", QueryResultsFormat::Xml),
    ("text/csv", QueryResultsFormat::Csv),
    ("text/tab-separated-values", QueryResultsFormat::Tsv),
    ("application/xml", QueryResultsFormat::Xml),
    ("text/xml", QueryResultsFormat::Xml),
    ("text/tsv", QueryResultsFormat::Tsv),
];

/// Media types of graphs, the preferred one first.
const GRAPHS: [(&str, RdfFormat); 13] = [
    ("text/turtle", RdfFormat::Turtle),
    ("application/n-triples", RdfFormat::NTriples),
    ("application/ld+json", RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() }),
    ("application/rdf+xml", RdfFormat::RdfXml),
    ("application/n-quads", RdfFormat::NQuads),
    ("application/trig", RdfFormat::TriG),
    ("application/x-turtle", RdfFormat::Turtle),
    ("text/plain", RdfFormat::NTriples),
    ("application/json", RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() }),
    ("application/xml", RdfFormat::RdfXml),
    ("text/xml", RdfFormat::RdfXml),
    ("text/n3", RdfFormat::Turtle),
    ("text/rdf+n3", RdfFormat::Turtle),
];

/// Picks a format for solutions and booleans. `named` are values of the parameter `format`, which go first; words that only
/// other servers know are left aside, because clients send those too.
pub fn results(headers: &HeaderMap, named: &[&str]) -> Result<(&'static str, QueryResultsFormat), ApiError> {
    let by_name = named.iter().find_map(|name| {
        let media_type = match *name {
            "json" => "application/sparql-results+json",
            "xml" => "application/sparql-results+xml",
            "csv" => "text/csv",
            "tsv" => "text/tab-separated-values",
            other => other,
        };
        by_media_type(&RESULTS, media_type)
    });
    by_name.map_or_else(|| best(headers, &RESULTS), Ok)
}

/// Picks a format for graphs, in the same way.
pub fn graphs(headers: &HeaderMap, named: &[&str]) -> Result<(&'static str, RdfFormat), ApiError> {
    let by_name = named.iter().find_map(|name| {
        let media_type = match *name {
            "turtle" | "ttl" => "text/turtle",
            "ntriples" | "nt" => "application/n-triples",
            "jsonld" | "json-ld" => "application/ld+json",
            "rdfxml" | "xml" | "rdf+xml" => "application/rdf+xml",
            "nquads" | "nq" => "application/n-quads",
            "trig" => "application/trig",
            other => other,
        };
        by_media_type(&GRAPHS, media_type)
    });
    by_name.map_or_else(|| best(headers, &GRAPHS), Ok)
}

/// The format of a body that says its media type.
pub fn graph_of(media_type: &str) -> Option<RdfFormat> {
    GRAPHS.iter().find(|(known, _)| *known == media_type).map(|(_, format)| *format)
}

fn by_media_type<F: Copy>(offers: &[(&'static str, F)], media_type: &str) -> Option<(&'static str, F)> {
    offers.iter().find(|(known, _)| *known == media_type).copied()
}

/// The offer that the client likes best; of equals the first.
fn best<F: Copy>(headers: &HeaderMap, offers: &[(&'static str, F)]) -> Result<(&'static str, F), ApiError> {
    let accept: Vec<&str> =
        headers.get_all(header::ACCEPT).iter().filter_map(|field| field.to_str().ok()).collect();
    let accept = accept.join(",");
    let ranges: Vec<(&str, f32)> = accept.split(',').take(RANGES_MAX).filter_map(range).collect();
    if accept.trim().is_empty() {
        return offers.first().copied().ok_or_else(|| not_acceptable(offers));
    }
    let mut found: Option<((&'static str, F), f32)> = None;
    for offer in offers {
        let liked = liking(&ranges, offer.0);
        if liked > 0.0 && found.is_none_or(|(_, most)| liked > most) {
            found = Some((*offer, liked));
        }
    }
    found.map(|(offer, _)| offer).ok_or_else(|| not_acceptable(offers))
}

fn not_acceptable<F>(offers: &[(&'static str, F)]) -> ApiError {
    let names: Vec<&str> = offers.iter().map(|(name, _)| *name).collect();
    ApiError::new(
        StatusCode::NOT_ACCEPTABLE,
        "not-acceptable",
        format!("what is accepted is none of {}", names.join(", ")),
    )
}

/// True when the client would rather have JSON than a page of HTML.
pub fn prefers_json(headers: &HeaderMap) -> bool {
    let offers = [("text/html", false), ("application/xhtml+xml", false), ("application/json", true)];
    best(headers, &offers).is_ok_and(|(_, json)| json)
}

/// A media range and its quality.
fn range(text: &str) -> Option<(&str, f32)> {
    let mut pieces = text.split(';').map(str::trim);
    let range = pieces.next().filter(|range| range.contains('/'))?;
    let quality = pieces
        .filter_map(|piece| piece.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("q"))
        .map_or(1.0, |(_, value)| value.trim().parse().unwrap_or(0.0));
    Some((range, if (0.0..=1.0).contains(&quality) { quality } else { 0.0 }))
}

/// How much a media type is liked: by the range that names it most exactly.
fn liking(ranges: &[(&str, f32)], media_type: &str) -> f32 {
    let kind = media_type.split('/').next().unwrap_or_default();
    let exactness = |range: &str| {
        if range.eq_ignore_ascii_case(media_type) {
            3
        } else if range.strip_suffix("/*").is_some_and(|range| range.eq_ignore_ascii_case(kind)) {
            2
        } else {
            u8::from(range == "*/*")
        }
    };
    ranges
        .iter()
        .map(|(range, quality)| (exactness(range), *quality))
        .filter(|(exactness, _)| *exactness > 0)
        .max_by(|(a, _), (b, _)| a.cmp(b))
        .map_or(0.0, |(_, quality)| quality)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn accept(text: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(text))])
    }

    #[test]
    fn the_client_gets_what_it_likes_best() {
        for (field, expected) in [
            ("", "application/sparql-results+json"),
            ("*/*", "application/sparql-results+json"),
            ("application/sparql-results+xml", "application/sparql-results+xml"),
            ("text/csv;q=0.5, application/sparql-results+xml;q=0.9", "application/sparql-results+xml"),
            ("text/*", "text/csv"),
            ("application/json", "application/json"),
            ("text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8", "application/xml"),
            ("application/sparql-results+json;q=0, */*;q=0.1", "application/json"),
            ("TEXT/CSV", "text/csv"),
        ] {
            assert_eq!(results(&accept(field), &[]).unwrap().0, expected, "{field}");
        }
        for field in ["image/png", "text/csv;q=0", "nonsense", "text/csv;q=nonsense"] {
            let refused = results(&accept(field), &[]).unwrap_err();
            assert_eq!(refused.status, StatusCode::NOT_ACCEPTABLE, "{field}");
        }
        assert_eq!(
            graphs(&accept("application/rdf+xml, text/turtle;q=0.9"), &[]).unwrap().0,
            "application/rdf+xml"
        );
        assert_eq!(graphs(&accept("image/png"), &["n3", "nt"]).unwrap().0, "application/n-triples");
        assert_eq!(results(&accept("text/csv"), &["pdf"]).unwrap().0, "text/csv");
    }

    #[test]
    fn browsers_get_pages_and_programs_json() {
        assert!(!prefers_json(&accept("text/html,application/xhtml+xml,*/*;q=0.8")));
        assert!(!prefers_json(&accept("*/*")) && !prefers_json(&HeaderMap::new()));
        assert!(prefers_json(&accept("application/json")));
    }
}
