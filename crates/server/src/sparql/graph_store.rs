//! `/store`: the SPARQL 1.1 Graph Store HTTP Protocol, whole graphs by their names.
//!
//! In: GET, HEAD, PUT, POST or DELETE of a graph named by `?graph=IRI`, by `?default` (the graph without a name), or by the
//! request's own address under `/store/`. A POST to `/store` itself makes a new graph and says where. What changes something needs
//! the token. Start at [`graph_store`].

use std::sync::Arc;

use axum::body::Body;
use axum::extract::{FromRequest, Multipart, Request, State};
use axum::response::{IntoResponse, Response};
use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode, header};
use oxrdf::{GraphName, NamedNode, Triple};
use oxrdfio::{RdfFormat, RdfParser, RdfSerializer};
use webloom_index::{Batch, CancellationToken, GraphPattern, GraphWrite, Snapshot, WriteMode};

use super::negotiate;
use super::protocol::{absolute_iri, base_of, with_charset};
use super::stream::{self, ChunkWriter};
use crate::app::{Shared, blocking};
use crate::crawls::Slot;
use crate::error::ApiError;
use crate::guard;
use crate::request::{ContentType, Parameters, read_body};

const ALLOWED: &str = "GET, HEAD, PUT, POST, DELETE, OPTIONS";

/// Takes whatever is sent to `/store`.
pub async fn graph_store(State(app): State<Shared>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let parameters = Parameters::parse(parts.uri.query().unwrap_or_default().as_bytes())?;
    let slot = app.slot(&parameters)?;
    let target = target(&parts, &parameters)?;
    match (parts.method.clone(), target) {
        (Method::OPTIONS, _) => Ok((StatusCode::NO_CONTENT, [(header::ALLOW, ALLOWED)]).into_response()),
        (Method::GET | Method::HEAD, Some(graph)) => read(&app, &slot, &parts, &parameters, graph).await,
        (Method::PUT, Some(graph)) => {
            write(&app, slot, parts, body, graph, WriteMode::Replace).await.map(IntoResponse::into_response)
        }
        (Method::POST, Some(graph)) => {
            write(&app, slot, parts, body, graph, WriteMode::Add).await.map(IntoResponse::into_response)
        }
        (Method::POST, None) => {
            let name = format!("{}/{:032x}", base_of(&parts.headers, "/store"), rand::random::<u128>());
            let graph = absolute_iri(&name, "Host")?;
            write(&app, slot, parts, body, graph.into(), WriteMode::Replace).await?;
            Ok((StatusCode::CREATED, [(header::LOCATION, name)]).into_response())
        }
        (Method::DELETE, Some(graph)) => {
            guard::may_control(&app, &parts.headers)?;
            let existed = change(slot, GraphWrite::delete(graph.clone())).await?;
            match graph {
                GraphName::NamedNode(name) if !existed => Err(no_graph(&name)),
                _ => Ok(StatusCode::NO_CONTENT.into_response()),
            }
        }
        (Method::GET | Method::HEAD | Method::PUT | Method::DELETE, None) => {
            Err(ApiError::bad_request("name a graph: ?graph=IRI, or ?default for the graph without a name"))
        }
        _ => Ok((
            [(header::ALLOW, ALLOWED)],
            ApiError::new(
                StatusCode::METHOD_NOT_ALLOWED,
                "method-not-allowed",
                "use GET, PUT, POST or DELETE",
            ),
        )
            .into_response()),
    }
}

/// The graph a request is about; nothing when it is about the store as a whole.
fn target(parts: &Parts, parameters: &Parameters) -> Result<Option<GraphName>, ApiError> {
    let graph = parameters.one("graph")?;
    match (graph, parameters.has("default")) {
        (Some(_), true) => Err(ApiError::bad_request("name a graph with ?graph= or ?default, not both")),
        (Some(graph), false) => Ok(Some(absolute_iri(graph, "graph")?.into())),
        (None, true) => Ok(Some(GraphName::DefaultGraph)),
        (None, false) => {
            let path = parts.uri.path();
            if path.trim_end_matches('/') == "/store" {
                return Ok(None);
            }
            Ok(Some(absolute_iri(&base_of(&parts.headers, path), "path")?.into()))
        }
    }
}

fn no_graph(name: &NamedNode) -> ApiError {
    ApiError::not_found(format!("there is no graph <{}>", name.as_str()))
}

async fn read(
    app: &Shared,
    slot: &Slot,
    parts: &Parts,
    parameters: &Parameters,
    graph: GraphName,
) -> Result<Response, ApiError> {
    let (media_type, format) =
        negotiate::graphs(&parts.headers, &parameters.all("format").collect::<Vec<_>>())?;
    let snapshot = slot.snapshot()?;
    if let GraphName::NamedNode(name) = &graph
        && !snapshot.contains_graph(graph.as_ref())
    {
        return Err(no_graph(name));
    }
    let content_type = with_charset(media_type);
    if parts.method == Method::HEAD {
        return Ok([(header::CONTENT_TYPE, content_type)].into_response());
    }
    stream::respond(app, content_type, CancellationToken::new(), move |out| {
        write_graph(&snapshot, &graph, format, out)
    })
    .await
}

fn write_graph(
    snapshot: &Snapshot,
    graph: &GraphName,
    format: RdfFormat,
    out: &mut ChunkWriter,
) -> Result<(), ApiError> {
    let mut serializer = RdfSerializer::from_format(format).for_writer(out);
    for quad in snapshot.quads_for_pattern(None, None, None, GraphPattern::One(graph.as_ref()))? {
        serializer.serialize_triple(&Triple::from(quad?))?;
    }
    serializer.finish()?;
    Ok(())
}

/// Writes what was sent into a graph; says whether the graph is new.
async fn write(
    app: &Shared,
    slot: Arc<Slot>,
    parts: Parts,
    body: Body,
    graph: GraphName,
    mode: WriteMode,
) -> Result<StatusCode, ApiError> {
    guard::may_control(app, &parts.headers)?;
    let base = match &graph {
        GraphName::NamedNode(name) => name.as_str().to_owned(),
        _ => base_of(&parts.headers, parts.uri.path()),
    };
    let content_type = ContentType::of(&parts.headers);
    let documents = if content_type.as_ref().is_some_and(|known| known.media_type == "multipart/form-data") {
        parts_of_form(app, Request::from_parts(parts, body)).await?
    } else {
        // The protocol's own default when nothing is said.
        let format = format_of(content_type.as_ref())?;
        vec![(format, read_body(app, body, app.limits().upload_bytes_max).await?)]
    };
    let triples = blocking(move || {
        let mut triples = Vec::new();
        for (format, bytes) in documents {
            parse(format, &base, &bytes, &mut triples)?;
        }
        Ok(triples)
    })
    .await?;
    let existed = change(slot, GraphWrite { graph, mode, triples, text: None }).await?;
    Ok(if existed { StatusCode::NO_CONTENT } else { StatusCode::CREATED })
}

fn format_of(content_type: Option<&ContentType>) -> Result<RdfFormat, ApiError> {
    let Some(content_type) = content_type else { return Ok(RdfFormat::RdfXml) };
    let format = negotiate::graph_of(&content_type.media_type).filter(|_| content_type.is_utf8());
    format.ok_or_else(|| {
        ApiError::new(
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "unsupported-media-type",
            "graphs are text/turtle, application/n-triples, application/rdf+xml, application/ld+json, \
             application/n-quads or application/trig, in UTF-8",
        )
    })
}

/// The documents of a form, as browsers upload files.
async fn parts_of_form(app: &Shared, request: Request) -> Result<Vec<(RdfFormat, Bytes)>, ApiError> {
    let bad =
        |error: &dyn std::fmt::Display| ApiError::bad_request(format!("the form cannot be read: {error}"));
    let bytes_max = app.limits().upload_bytes_max;
    let limited = request.map(|body| Body::new(http_body_util::Limited::new(body, bytes_max)));
    let mut form = Multipart::from_request(limited, app).await.map_err(|error| bad(&error))?;
    let mut documents = Vec::new();
    let read = async {
        while let Some(field) = form.next_field().await.map_err(|error| bad(&error))? {
            let content_type = field.content_type().and_then(ContentType::parse);
            let format = format_of(content_type.as_ref())?;
            documents.push((format, field.bytes().await.map_err(|error| bad(&error))?));
        }
        Ok(())
    };
    match tokio::time::timeout(app.limits().body_time, read).await {
        Ok(done) => done.map(|()| documents),
        Err(_) => Err(bad(&"it came too slowly")),
    }
}

/// Reads a document. Its blank nodes are its own: they never meet those of the store.
fn parse(format: RdfFormat, base: &str, bytes: &[u8], triples: &mut Vec<Triple>) -> Result<(), ApiError> {
    let bad = |error: &dyn std::fmt::Display| {
        ApiError::new(StatusCode::BAD_REQUEST, "syntax", format!("the graph cannot be read: {error}"))
    };
    let parser = RdfParser::from_format(format)
        .with_base_iri(base)
        .map_err(|error| bad(&error))?
        .without_named_graphs()
        .rename_blank_nodes();
    for quad in parser.for_slice(bytes) {
        triples.push(quad.map_err(|error| bad(&error))?.into());
    }
    Ok(())
}

/// Commits one write; says whether the graph was there before.
async fn change(slot: Arc<Slot>, write: GraphWrite) -> Result<bool, ApiError> {
    blocking(move || {
        let existed = slot.write(|index| {
            let existed = write.graph == GraphName::DefaultGraph
                || index.snapshot().contains_graph(write.graph.as_ref());
            let batch = Batch::from(vec![write]);
            if !batch.is_empty() {
                index.commit(&batch)?;
            }
            Ok(existed)
        })?;
        slot.look_at_store();
        Ok(existed)
    })
    .await
}
