//! `/sparql`: the SPARQL 1.1 Protocol.
//!
//! In: a query by GET, by POST of a form, or by POST of the query itself; an update by POST of either kind, with the token. Out:
//! solutions, a boolean or a graph, in the format the client likes best; for an update what it did. Without a query, GET gives
//! the service description. Start at [`sparql`].

use std::sync::Arc;
use std::time::Duration;

use axum::extract::{Request, State};
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, Method, StatusCode, header};
use oxrdf::{GraphName, NamedNode, NamedOrBlankNode};
use oxrdfio::{RdfFormat, RdfSerializer};
use serde_json::json;
use sparesults::{QueryResultsFormat, QueryResultsSerializer};
use spargebra::GraphUpdateOperation;
use webloom_index::{
    CancellationToken, DefaultGraph, Query, QueryOptions, QueryResults, Snapshot, UpdateOptions, parse_query,
    parse_update,
};

use super::stream::{self, ChunkWriter};
use super::{describe, negotiate};
use crate::app::{Shared, blocking};
use crate::crawls::Slot;
use crate::error::ApiError;
use crate::guard;
use crate::request::{ContentType, Parameters, read_body};

/// Graphs that one request may name.
const GRAPHS_MAX: usize = 10_000;

/// Takes whatever is sent to `/sparql`.
pub async fn sparql(State(app): State<Shared>, request: Request) -> Result<Response, ApiError> {
    let (parts, body) = request.into_parts();
    let mut parameters = Parameters::parse(parts.uri.query().unwrap_or_default().as_bytes())?;
    let base = base_of(&parts.headers, parts.uri.path());
    match parts.method {
        Method::GET | Method::HEAD => {
            if parameters.has("update") {
                return Err(ApiError::bad_request("an update is sent by POST"));
            }
            match parameters.one("query")? {
                Some(query) => {
                    let query = query.to_owned();
                    answer(&app, &parts.headers, &parameters, query, base).await
                }
                None => describe::service(&app, &parts.headers, &base),
            }
        }
        Method::POST => {
            let content_type = ContentType::of(&parts.headers).ok_or_else(unsupported)?;
            if !content_type.is_utf8() {
                return Err(ApiError::new(
                    StatusCode::UNSUPPORTED_MEDIA_TYPE,
                    "unsupported-charset",
                    "queries and updates are UTF-8",
                ));
            }
            let is_form = content_type.media_type == "application/x-www-form-urlencoded";
            let is_update = content_type.media_type == "application/sparql-update";
            if !is_form && !is_update && content_type.media_type != "application/sparql-query" {
                return Err(unsupported());
            }
            // Nobody uploads much without the token. A form may be an update, which only its body tells.
            let may_control = guard::may_control(&app, &parts.headers);
            if is_update {
                may_control?;
                let text = text_of(&app, body, app.limits().upload_bytes_max).await?;
                return update(&app, &parameters, text, base).await;
            }
            let bytes_max = match &may_control {
                Ok(()) => app.limits().upload_bytes_max,
                Err(_) => app.limits().body_bytes_max,
            };
            let text = text_of(&app, body, bytes_max).await?;
            if !is_form {
                return answer(&app, &parts.headers, &parameters, text, base).await;
            }
            parameters.extend(Parameters::parse(text.as_bytes())?);
            match (parameters.one("query")?, parameters.one("update")?) {
                (Some(query), None) => {
                    let query = query.to_owned();
                    answer(&app, &parts.headers, &parameters, query, base).await
                }
                (None, Some(text)) => {
                    guard::may_control(&app, &parts.headers)?;
                    let text = text.to_owned();
                    update(&app, &parameters, text, base).await
                }
                (Some(_), Some(_)) => {
                    Err(ApiError::bad_request("a request is a query or an update, not both"))
                }
                (None, None) => Err(ApiError::bad_request("the form has neither `query` nor `update`")),
            }
        }
        Method::OPTIONS => Ok((StatusCode::NO_CONTENT, [(header::ALLOW, ALLOWED)]).into_response()),
        _ => Ok((
            [(header::ALLOW, ALLOWED)],
            ApiError::new(StatusCode::METHOD_NOT_ALLOWED, "method-not-allowed", "use GET or POST"),
        )
            .into_response()),
    }
}

const ALLOWED: &str = "GET, HEAD, POST, OPTIONS";

fn unsupported() -> ApiError {
    ApiError::new(
        StatusCode::UNSUPPORTED_MEDIA_TYPE,
        "unsupported-media-type",
        "a POST is application/x-www-form-urlencoded, application/sparql-query or application/sparql-update",
    )
}

async fn text_of(app: &Shared, body: axum::body::Body, bytes_max: usize) -> Result<String, ApiError> {
    let bytes = read_body(app, body, bytes_max).await?;
    String::from_utf8(bytes.into()).map_err(|_| ApiError::bad_request("the body is not UTF-8"))
}

/// What relative IRIs are relative to: where the request was sent.
pub fn base_of(headers: &HeaderMap, path: &str) -> String {
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or("localhost");
    format!("http://{host}{path}")
}

/// Evaluates a query and streams its answer.
async fn answer(
    app: &Shared,
    headers: &HeaderMap,
    parameters: &Parameters,
    query: String,
    base: String,
) -> Result<Response, ApiError> {
    let slot = app.slot(parameters)?;
    let parsed = parse_query(&query, Some(&base))?;
    let format: Vec<&str> = parameters.all("format").collect();
    let (content_type, shape) = match &parsed {
        Query::Select { .. } | Query::Ask { .. } => {
            let (media_type, format) = negotiate::results(headers, &format)?;
            (media_type, Shape::Results(format))
        }
        Query::Construct { .. } | Query::Describe { .. } => {
            let (media_type, format) = negotiate::graphs(headers, &format)?;
            (media_type, Shape::Graph(format))
        }
    };
    let cancellation = CancellationToken::new();
    let options = QueryOptions {
        time_limit: Some(time_limit(app, headers, parameters)?),
        cancellation: Some(cancellation.clone()),
        default_graphs: graphs_of(parameters, "default-graph-uri")?
            .map(|graphs| graphs.into_iter().map(GraphName::from).collect()),
        named_graphs: graphs_of(parameters, "named-graph-uri")?
            .map(|graphs| graphs.into_iter().map(NamedOrBlankNode::from).collect()),
        ..app.query_options()
    };
    let snapshot = slot.snapshot()?;
    stream::respond(app, with_charset(content_type), cancellation, move |out| {
        write_answer(&snapshot, &parsed, &options, shape, out)
    })
    .await
}

/// Text formats say their charset; the others are UTF-8 by definition.
pub fn with_charset(media_type: &str) -> String {
    if media_type.starts_with("text/") {
        format!("{media_type}; charset=utf-8")
    } else {
        media_type.to_owned()
    }
}

#[derive(Debug, Clone, Copy)]
enum Shape {
    Results(QueryResultsFormat),
    Graph(RdfFormat),
}

fn write_answer(
    snapshot: &Snapshot,
    query: &Query,
    options: &QueryOptions,
    shape: Shape,
    out: &mut ChunkWriter,
) -> Result<(), ApiError> {
    match (snapshot.evaluate(query, options)?, shape) {
        (QueryResults::Boolean(answer), Shape::Results(format)) => {
            QueryResultsSerializer::from_format(format).serialize_boolean_to_writer(out, answer)?;
        }
        (QueryResults::Solutions(solutions), Shape::Results(format)) => {
            let variables = solutions.variables().to_vec();
            let mut serializer =
                QueryResultsSerializer::from_format(format).serialize_solutions_to_writer(out, variables)?;
            for solution in solutions {
                serializer.serialize(&solution?)?;
            }
            serializer.finish()?;
        }
        (QueryResults::Graph(triples), Shape::Graph(format)) => {
            let mut serializer = RdfSerializer::from_format(format).for_writer(out);
            for triple in triples {
                serializer.serialize_triple(&triple?)?;
            }
            serializer.finish()?;
        }
        _ => return Err(ApiError::internal("a query was answered in another shape than its own")),
    }
    Ok(())
}

/// The time a query has: what the client asks for, up to the server's limit.
fn time_limit(app: &Shared, headers: &HeaderMap, parameters: &Parameters) -> Result<Duration, ApiError> {
    let most = app.limits().query_time;
    let wish = match headers.get("webloom-timeout") {
        Some(field) => Some(field.to_str().unwrap_or_default()),
        None => parameters.one("timeout")?,
    };
    let Some(wish) = wish else { return Ok(most) };
    let seconds = wish.trim().parse::<f64>().ok().filter(|seconds| *seconds >= 0.0 && seconds.is_finite());
    let seconds = seconds.ok_or_else(|| ApiError::bad_request("Webloom-Timeout is a number of seconds"))?;
    Ok(Duration::from_secs_f64(seconds.min(most.as_secs_f64())))
}

/// The graphs that a parameter names; nothing when it is not there.
fn graphs_of(parameters: &Parameters, name: &str) -> Result<Option<Vec<NamedNode>>, ApiError> {
    let graphs: Vec<&str> = parameters.all(name).collect();
    if graphs.is_empty() {
        return Ok(None);
    }
    if graphs.len() > GRAPHS_MAX {
        return Err(ApiError::bad_request(format!("more than {GRAPHS_MAX} graphs are named")));
    }
    let graphs = graphs.into_iter().map(|graph| absolute_iri(graph, name));
    graphs.collect::<Result<_, _>>().map(Some)
}

/// An IRI that stands on its own.
pub fn absolute_iri(text: &str, parameter: &str) -> Result<NamedNode, ApiError> {
    NamedNode::new(text).map_err(|error| {
        let text: String = text.chars().take(200).collect();
        ApiError::bad_request(format!("`{parameter}`: `{text}` is not an absolute IRI: {error}"))
    })
}

/// Runs an update. The caller has seen the token.
async fn update(
    app: &Shared,
    parameters: &Parameters,
    text: String,
    base: String,
) -> Result<Response, ApiError> {
    let slot = app.slot(parameters)?;
    let using = graphs_of(parameters, "using-graph-uri")?;
    let using_named = graphs_of(parameters, "using-named-graph-uri")?;
    let parsed = parse_update(&text, Some(&base)).map_err(update_syntax)?;
    let says_using = |operation: &GraphUpdateOperation| {
        matches!(operation, GraphUpdateOperation::DeleteInsert { using: Some(_), .. })
    };
    if (using.is_some() || using_named.is_some()) && parsed.operations.iter().any(says_using) {
        return Err(ApiError::bad_request(
            "the update has WITH or USING, and the request names graphs too: only one of them may",
        ));
    }
    let query = QueryOptions {
        base_iri: Some(base),
        // What is changed outside of GRAPH is the graph without a name; so that is what is asked, too.
        default_graph: DefaultGraph::Unnamed,
        default_graphs: using.map(|graphs| graphs.into_iter().map(GraphName::from).collect()),
        named_graphs: using_named.map(|graphs| graphs.into_iter().map(NamedOrBlankNode::from).collect()),
        ..app.query_options()
    };
    let receipt = run_update(slot, text, query).await?;
    Ok(axum::Json(json!({
        "generation": receipt.generation,
        "added": receipt.added,
        "removed": receipt.removed,
        "cleared": receipt.cleared,
    }))
    .into_response())
}

/// The index words a mistake as one of a query.
fn update_syntax(error: webloom_index::IndexError) -> ApiError {
    let mut error = ApiError::from(error);
    error.message = error.message.replace("not a SPARQL query", "not a SPARQL update");
    error
}

async fn run_update(
    slot: Arc<Slot>,
    text: String,
    query: QueryOptions,
) -> Result<webloom_index::UpdateReceipt, ApiError> {
    blocking(move || {
        let options = UpdateOptions { query, ..UpdateOptions::default() };
        let receipt = slot.write(|index| index.update(&text, &options))?;
        slot.look_at_store();
        Ok(receipt)
    })
    .await
}
