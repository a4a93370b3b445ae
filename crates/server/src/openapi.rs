//! `/api/openapi.json`: the API, described from the table of routes.

use axum::Json;
use serde_json::{Map, Value, json};

use crate::routes::{Access, Kind, Parameter, ROUTES, Route};

/// `GET /api/openapi.json`.
pub async fn document() -> Json<Value> {
    Json(describe())
}

/// The description.
pub fn describe() -> Value {
    let mut paths: Map<String, Value> = Map::new();
    for route in ROUTES {
        let path = paths.entry(route.path).or_insert_with(|| json!({}));
        path[route.method] = operation(route);
    }
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Webloom",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Control of crawls, search, SPARQL and metrics of a Webloom server.",
            "license": {"name": "MIT OR Apache-2.0", "identifier": "MIT OR Apache-2.0"},
        },
        "paths": paths,
        "components": {
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "schemas": schemas(),
        },
    })
}

fn operation(route: &Route) -> Value {
    let in_path = route.path.split('/').filter_map(|piece| piece.strip_prefix('{')?.strip_suffix('}'));
    let mut parameters: Vec<Value> = in_path
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    parameters.extend(route.parameters.iter().map(parameter));
    let mut answers = Map::new();
    let good = match (route.media_type, route.gives) {
        ("", _) => json!({"description": "Done."}),
        (media_type, "") => json!({"description": "As asked for.", "content": {media_type: {}}}),
        (media_type, name) => {
            json!({"description": "As asked for.", "content": {media_type: {"schema": reference(name)}}})
        }
    };
    answers.insert(route.status.to_string(), good);
    let error = json!({"description": "It cannot be done.", "content": {"application/json": {"schema": reference("Error")}}});
    answers.insert("4XX".to_owned(), error.clone());
    answers.insert("503".to_owned(), error);
    let mut operation = json!({
        "operationId": operation_id(route),
        "summary": route.summary,
        "parameters": parameters,
        "responses": answers,
    });
    if let Some(body) = route.body {
        operation["requestBody"] =
            json!({"required": true, "content": {"application/json": {"schema": reference(body)}}});
    }
    if route.access == Access::Control {
        operation["security"] = json!([{"token": []}]);
    }
    operation
}

/// `get /api/crawls/{id}/hosts` becomes `get-api-crawls-id-hosts`.
fn operation_id(route: &Route) -> String {
    let path: String =
        route.path.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let words: Vec<&str> = path.split('-').filter(|word| !word.is_empty()).collect();
    format!("{}-{}", route.method, words.join("-"))
}

fn parameter(parameter: &Parameter) -> Value {
    let schema = match parameter.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Iri => json!({"type": "string", "minLength": 1}),
        Kind::Texts => json!({"type": "array", "items": {"type": "string"}}),
        Kind::Number(max) => json!({"type": "integer", "minimum": 0, "maximum": max}),
        Kind::Choice(choices) => json!({"type": "string", "enum": choices}),
    };
    json!({
        "name": parameter.name,
        "in": "query",
        "required": parameter.required,
        "description": parameter.doc,
        "schema": schema,
    })
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

/// An object of which all these fields are there; further ones may come.
fn object(fields: &[(&str, Value)]) -> Value {
    let properties: Map<String, Value> =
        fields.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    let required: Vec<&str> = fields.iter().map(|(name, _)| *name).collect();
    json!({"type": "object", "properties": properties, "required": required})
}

/// The same where nothing need be there and nothing else may.
fn form(fields: &[(&str, Value)], required: &[&str]) -> Value {
    let mut schema = object(fields);
    schema["required"] = json!(required);
    schema["additionalProperties"] = json!(false);
    schema
}

fn list(items: Value) -> Value {
    json!({"type": "array", "items": items})
}

fn schemas() -> Value {
    let text = || json!({"type": "string"});
    let maybe_text = || json!({"type": ["string", "null"]});
    let count = || json!({"type": "integer", "minimum": 0});
    let maybe_count = || json!({"type": ["integer", "null"], "minimum": 0});
    let number = || json!({"type": "number"});
    let boolean = || json!({"type": "boolean"});
    let anything = || json!({});
    let term = || reference("Term");
    let mut schemas = Map::new();
    let mut add = |name: &str, schema: Value| {
        schemas.insert(name.to_owned(), schema);
    };
    add("Anything", json!({"type": "object"}));
    add("Error", object(&[("error", object(&[("code", text()), ("message", text())]))]));
    add(
        "Term",
        object(&[
            ("kind", json!({"type": "string", "enum": ["iri", "blank", "literal"]})),
            ("value", text()),
        ]),
    );
    let brief = [
        ("id", text()),
        (
            "state",
            json!({"type": "string", "enum": ["running", "paused", "stopping", "stopped", "finished", "failed"]}),
        ),
        ("started_at", maybe_text()),
        ("message", maybe_text()),
        ("pages", count()),
        ("quads", count()),
        ("errors", count()),
        ("queued", count()),
    ];
    add("CrawlBrief", object(&brief));
    add("Crawls", object(&[("crawls", list(reference("CrawlBrief")))]));
    add(
        "Machine",
        object(&[
            ("cpu_percent", number()),
            ("memory_bytes", count()),
            ("memory_total_bytes", count()),
            ("disk_free_bytes", count()),
            ("disk_total_bytes", count()),
            ("open_files", count()),
            ("open_files_max", count()),
            ("threads", count()),
        ]),
    );
    add(
        "Status",
        object(&[
            ("version", text()),
            ("data", text()),
            ("uptime_seconds", number()),
            ("read_only", boolean()),
            ("token_required", boolean()),
            ("crawls", list(reference("CrawlBrief"))),
            (
                "store",
                object(&[
                    ("pages", count()),
                    ("graphs", count()),
                    ("quads", count()),
                    ("terms", count()),
                    ("bytes", count()),
                    ("segments", count()),
                    ("generation", count()),
                ]),
            ),
            ("machine", reference("Machine")),
        ]),
    );
    add(
        "Settings",
        object(&[
            ("version", text()),
            ("commit", maybe_text()),
            ("listen", text()),
            ("default_graph", json!({"type": "string", "enum": ["union", "unnamed"]})),
            ("limits", json!({"type": "object"})),
        ]),
    );
    add("Examples", object(&[("examples", list(object(&[("title", text()), ("query", text())])))]));
    let mut crawl: Vec<(&str, Value)> = brief.to_vec();
    let maybe_number = || json!({"type": ["number", "null"]});
    crawl.extend([
        ("specification", text()),
        ("elapsed_seconds", number()),
        ("phases", list(reference("Phase"))),
        ("bottleneck", maybe_text()),
        (
            "rates",
            object(&[("pages", number()), ("bytes", number()), ("quads", number()), ("errors", number())]),
        ),
        (
            "totals",
            object(&[
                ("pages", count()),
                ("bytes", count()),
                ("quads", count()),
                ("errors", count()),
                ("not_modified", count()),
                ("robots_denied", count()),
            ]),
        ),
        (
            "queues",
            object(&[
                ("queued", count()),
                ("leased", count()),
                ("ready_hosts", count()),
                ("waiting_hosts", count()),
                ("hosts", count()),
                ("retired_hosts", count()),
            ]),
        ),
        (
            "status_classes",
            object(&[
                ("2xx", count()),
                ("3xx", count()),
                ("4xx", count()),
                ("5xx", count()),
                ("none", count()),
            ]),
        ),
        ("latency_ms", object(&[("p50", maybe_number()), ("p90", maybe_number()), ("p99", maybe_number())])),
    ]);
    add("Crawl", object(&crawl));
    add(
        "Phase",
        object(&[
            ("name", text()),
            ("pages", count()),
            ("rate", number()),
            ("busy_share", number()),
            ("queue", count()),
            ("queue_max", count()),
            ("microseconds_per_page", number()),
        ]),
    );
    add(
        "NewCrawl",
        form(
            &[
                ("id", json!({"type": ["string", "null"]})),
                (
                    "specification",
                    json!({"type": "string", "description": "TOML; `webloom crawl --print-spec` shows every field"}),
                ),
                ("start", boolean()),
            ],
            &["specification"],
        ),
    );
    add(
        "Injections",
        list(json!({
            "type": "object",
            "properties": {"url": text(), "score": {"type": ["number", "null"]}, "blacklisted": boolean()},
            "required": ["url"],
        })),
    );
    add(
        "InjectionReport",
        object(&[
            ("added", count()),
            ("rescored", count()),
            ("banned", count()),
            ("tried_again", count()),
            ("known", count()),
            ("refused", list(object(&[("number", count()), ("url", text()), ("reason", text())]))),
            ("refused_total", count()),
        ]),
    );
    add("Recrawl", form(&[("urls", list(text()))], &["urls"]));
    add("RecrawlReport", object(&[("queued", count())]));
    add("Filters", form(&[("include", list(text())), ("exclude", list(text()))], &[]));
    add(
        "Limits",
        form(
            &[
                ("delay_ms", maybe_count()),
                ("domain_delay_ms", maybe_count()),
                ("max_pages", maybe_count()),
                ("max_depth", maybe_count()),
                ("max_pages_per_host", maybe_count()),
                ("bandwidth_bytes_per_second", maybe_count()),
            ],
            &[],
        ),
    );
    add(
        "Hosts",
        object(&[
            ("total", count()),
            (
                "hosts",
                list(object(&[
                    ("host", text()),
                    ("state", text()),
                    ("queued", count()),
                    ("fetched", count()),
                ])),
            ),
        ]),
    );
    add("Recent", object(&[("pages", list(object(&[("url", text())])))]));
    add(
        "Errors",
        object(&[(
            "kinds",
            list(object(&[
                ("kind", text()),
                ("count", count()),
                ("hosts", list(object(&[("host", text()), ("count", count())]))),
                ("examples", list(object(&[("url", text()), ("message", text())]))),
            ])),
        )]),
    );
    add(
        "Series",
        object(&[
            ("span", text()),
            ("step_seconds", count()),
            ("from", text()),
            (
                "points",
                json!({"type": "object", "additionalProperties": list(json!({"type": ["number", "null"]}))}),
            ),
        ]),
    );
    add(
        "UrlLife",
        object(&[
            ("url", text()),
            ("state", text()),
            ("found", anything()),
            ("priority", json!({"type": ["number", "null"]})),
            ("filters", list(anything())),
            ("queue", anything()),
            ("robots", anything()),
            ("fetches", list(anything())),
            ("extracted", object(&[("quads", count()), ("graph", maybe_text())])),
            ("refused", maybe_text()),
        ]),
    );
    let facet = || list(object(&[("value", text()), ("label", text()), ("count", count())]));
    add(
        "SearchAnswer",
        object(&[
            ("query", text()),
            ("total", count()),
            ("total_is_exact", boolean()),
            ("milliseconds", number()),
            ("suggestion", maybe_text()),
            (
                "results",
                list(object(&[
                    ("iri", text()),
                    ("label", maybe_text()),
                    ("types", list(object(&[("iri", text()), ("label", text())]))),
                    ("snippet", object(&[("text", text()), ("highlights", list(list(count())))])),
                    ("score", number()),
                    ("sites", count()),
                    ("pages", list(object(&[("url", text()), ("title", maybe_text())]))),
                    ("pages_total", count()),
                    ("image", maybe_text()),
                ])),
            ),
            (
                "facets",
                object(&[
                    ("type", facet()),
                    ("vocabulary", facet()),
                    ("site", facet()),
                    ("language", facet()),
                ]),
            ),
        ]),
    );
    add("Suggestions", object(&[("suggestions", list(object(&[("text", text()), ("iri", maybe_text())])))]));
    add(
        "Thing",
        object(&[
            ("iri", text()),
            ("label", text()),
            ("types", list(object(&[("iri", text()), ("label", text())]))),
            (
                "statements",
                list(object(&[
                    ("page", text()),
                    ("page_title", maybe_text()),
                    ("fetched_at", maybe_text()),
                    ("syntaxes", list(text())),
                    (
                        "properties",
                        list(object(&[
                            ("predicate", text()),
                            ("predicate_label", text()),
                            ("values", list(term())),
                        ])),
                    ),
                ])),
            ),
            ("incoming", list(object(&[("subject", term()), ("predicate", text()), ("page", text())]))),
            ("incoming_total", count()),
            ("same", list(object(&[("iri", text()), ("label", text()), ("reason", text())]))),
            ("pages_total", count()),
        ]),
    );
    add(
        "Neighbourhood",
        object(&[
            ("nodes", list(object(&[("iri", text()), ("label", text()), ("kind", text())]))),
            (
                "links",
                list(object(&[("from", text()), ("to", text()), ("predicate", text()), ("label", text())])),
            ),
            ("cut", boolean()),
        ]),
    );
    add(
        "Page",
        object(&[
            ("url", text()),
            ("title", maybe_text()),
            ("metadata", json!({"type": "object"})),
            ("syntaxes", list(object(&[("name", text()), ("quads", maybe_count())]))),
            (
                "diagnostics",
                list(object(&[
                    ("severity", text()),
                    ("code", text()),
                    ("message", text()),
                    ("line", maybe_count()),
                ])),
            ),
            ("statements_total", count()),
            ("statements", list(object(&[("subject", term()), ("predicate", text()), ("object", term())]))),
            ("outlinks", list(object(&[("url", text()), ("anchor", maybe_text()), ("state", text())]))),
            ("history", list(anything())),
            ("archived", boolean()),
        ]),
    );
    add(
        "Pages",
        object(&[("total", count()), ("pages", list(object(&[("url", text()), ("title", maybe_text())])))]),
    );
    add(
        "Sites",
        object(&[
            ("total", count()),
            (
                "sites",
                list(object(&[
                    ("site", text()),
                    ("pages", count()),
                    ("quads", count()),
                    ("languages", list(text())),
                    ("vocabularies", list(text())),
                    ("errors", count()),
                ])),
            ),
        ]),
    );
    let used = || list(object(&[("iri", text()), ("count", count())]));
    add(
        "Vocabulary",
        object(&[
            ("prefixes", list(object(&[("prefix", text()), ("namespace", text()), ("count", count())]))),
            ("predicates", used()),
            ("classes", used()),
        ]),
    );
    add("Explain", form(&[("query", text())], &["query"]));
    add("Explanation", object(&[("plan", json!({"type": "object"})), ("text", text())]));
    Value::Object(schemas)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_schema_that_is_named_is_there_and_every_operation_has_its_own_name() {
        let document = describe();
        let text = document.to_string();
        for piece in text.split("#/components/schemas/").skip(1) {
            let name = piece.split('"').next().unwrap();
            assert!(document["components"]["schemas"].get(name).is_some(), "{name}");
        }
        let mut names: Vec<String> = ROUTES.iter().map(operation_id).collect();
        names.sort();
        let all = names.len();
        names.dedup();
        assert_eq!(names.len(), all);
    }

    #[test]
    fn what_changes_something_says_that_it_needs_the_token() {
        for route in ROUTES {
            let changes = route.method != "get" && route.path != "/api/explain";
            assert_eq!(route.access == Access::Control, changes, "{} {}", route.method, route.path);
        }
    }
}
