//! Downloads: the whole store, one graph, or one site, streamed.

use axum::extract::State;
use axum::response::Response;
use http::{HeaderValue, header};
use oxrdf::{GraphName, Triple};
use oxrdfio::{RdfFormat, RdfSerializer};
use webloom_index::{CancellationToken, GraphPattern, Quads};

use super::data;
use crate::app::Shared;
use crate::error::ApiError;
use crate::request::Parameters;
use crate::sparql::protocol::absolute_iri;
use crate::sparql::stream;
use crate::survey::site_of;

/// `GET /api/dump`.
pub async fn dump(State(app): State<Shared>, parameters: Parameters) -> Result<Response, ApiError> {
    let slot = app.slot(&parameters)?;
    let (format, media_type, extension) = match parameters.choice("format", &["nquads", "trig", "turtle"])? {
        "trig" => (RdfFormat::TriG, "application/trig", "trig"),
        "turtle" => (RdfFormat::Turtle, "text/turtle; charset=utf-8", "ttl"),
        _ => (RdfFormat::NQuads, "application/n-quads", "nq"),
    };
    let graph = match parameters.one("graph")?.filter(|text| !text.is_empty()) {
        Some(text) => Some(GraphName::from(absolute_iri(text, "graph")?)),
        None => None,
    };
    let site = parameters.one("site")?.filter(|text| !text.is_empty()).map(str::to_owned);
    let snapshot = slot.snapshot()?;
    let mut response = stream::respond(&app, media_type.to_owned(), CancellationToken::new(), move |out| {
        let mut serializer = RdfSerializer::from_format(format).for_writer(out);
        let quads: Quads = match &graph {
            Some(graph) => snapshot.quads_for_pattern(None, None, None, GraphPattern::One(graph.as_ref()))?,
            None => snapshot.quads()?,
        };
        // Quads come graph by graph, so that the site of a graph is found once.
        let mut last: Option<(GraphName, bool)> = None;
        for quad in quads {
            let quad = quad?;
            if let Some(site) = &site {
                if last.as_ref().is_none_or(|(known, _)| *known != quad.graph_name) {
                    let name = data::graph_name(&quad.graph_name);
                    let page = name.strip_prefix(webloom_model::vocab::META_PREFIX).unwrap_or(&name);
                    last = Some((quad.graph_name.clone(), site_of(page) == *site));
                }
                if last.as_ref().is_some_and(|(_, wanted)| !wanted) {
                    continue;
                }
            }
            if format == RdfFormat::Turtle {
                serializer.serialize_triple(&Triple::from(quad))?;
            } else {
                serializer.serialize_quad(&quad)?;
            }
        }
        serializer.finish()?;
        Ok(())
    })
    .await?;
    let disposition = format!("attachment; filename=\"webloom-{}.{extension}\"", slot.id);
    if let Ok(disposition) = HeaderValue::from_str(&disposition) {
        response.headers_mut().insert(header::CONTENT_DISPOSITION, disposition);
    }
    Ok(response)
}
