//! Every address of the server, in one table from which both the router and the API's description are made.
//!
//! A [`Route`] says who may use it, what it takes and what it gives; [`router`] puts the checks of [`guard`] around
//! it accordingly. What is not in the table is a file of the interface, or nothing.

use axum::Router;
use axum::extract::{DefaultBodyLimit, Request, State};
use axum::middleware::{self, Next};
use axum::response::Response;
use axum::routing::{MethodRouter, any, delete, get, post, put};

use crate::api::{control, crawls, dump, events, explain, page, search, sites, status, thing, urls};
use crate::app::Shared;
use crate::error::ApiError;
use crate::sparql::{graph_store, protocol};
use crate::{archive, guard, html, metrics, openapi, ui};

/// Who may use a route.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Whoever may read.
    Read,
    /// Whoever has the token.
    Control,
    /// Reading for some, the token for others: the route looks itself.
    Mixed,
}

/// A parameter of a route.
#[derive(Debug, Clone, Copy)]
pub struct Parameter {
    /// Its name.
    pub name: &'static str,
    /// What it is for.
    pub doc: &'static str,
    /// What it looks like.
    pub kind: Kind,
    /// Whether it must be there.
    pub required: bool,
}

/// What a parameter looks like.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// An address or an IRI.
    Iri,
    /// Several texts, the parameter given once for each.
    Texts,
    /// A whole number up to this.
    Number(usize),
    /// One of these.
    Choice(&'static [&'static str]),
}

/// One address.
pub struct Route {
    /// `get`, `post`, `put` or `delete`.
    pub method: &'static str,
    /// Its path, with names for what varies in braces.
    pub path: &'static str,
    /// Who may use it.
    pub access: Access,
    /// What it is for.
    pub summary: &'static str,
    /// Its parameters, those of the path not counted.
    pub parameters: &'static [Parameter],
    /// The schema of its body, by name.
    pub body: Option<&'static str>,
    /// The status when all is well.
    pub status: u16,
    /// The media type of what it gives; empty when it gives nothing.
    pub media_type: &'static str,
    /// The schema of what it gives, by name; empty for what is no JSON.
    pub gives: &'static str,
    handler: fn() -> MethodRouter<Shared>,
}

const fn text(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, doc, kind: Kind::Text, required: false }
}

const fn texts(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, doc, kind: Kind::Texts, required: false }
}

const fn needed(name: &'static str, doc: &'static str) -> Parameter {
    Parameter { name, doc, kind: Kind::Iri, required: true }
}

const fn number(name: &'static str, doc: &'static str, max: usize) -> Parameter {
    Parameter { name, doc, kind: Kind::Number(max), required: false }
}

const fn choice(name: &'static str, doc: &'static str, choices: &'static [&'static str]) -> Parameter {
    Parameter { name, doc, kind: Kind::Choice(choices), required: false }
}

const CRAWL: Parameter = text("crawl", "The crawl that is meant, where there are several.");
const OFFSET: Parameter = number("offset", "Leave out so many first.", 100_000);

const JSON: &str = "application/json";

/// What most routes are: a reading GET that gives JSON.
const fn read(
    path: &'static str,
    summary: &'static str,
    parameters: &'static [Parameter],
    gives: &'static str,
    handler: fn() -> MethodRouter<Shared>,
) -> Route {
    Route {
        method: "get",
        path,
        access: Access::Read,
        summary,
        parameters,
        body: None,
        status: 200,
        media_type: JSON,
        gives,
        handler,
    }
}

/// What changes something.
const fn change(
    method: &'static str,
    path: &'static str,
    summary: &'static str,
    body: Option<&'static str>,
    status: u16,
    gives: &'static str,
    handler: fn() -> MethodRouter<Shared>,
) -> Route {
    Route {
        method,
        path,
        access: Access::Control,
        summary,
        parameters: &[],
        body,
        status,
        media_type: if status == 204 { "" } else { JSON },
        gives,
        handler,
    }
}

const SEARCH: &[Parameter] = &[
    text("q", "The words."),
    texts("type", "Only things of one of these classes."),
    texts("vocabulary", "Only things described with one of these namespaces."),
    texts("site", "Only things that one of these sites speaks of."),
    texts("language", "Only things with text in one of these languages."),
    number("limit", "So many results.", 100),
    OFFSET,
    choice("typing", "Whether the last word is not finished yet.", &["false", "true"]),
    CRAWL,
];

/// Every address.
pub const ROUTES: &[Route] = &[
    read("/api/status", "The server, its crawls, its store and the machine.", &[], "Status", || {
        get(status::status)
    }),
    read("/api/settings", "How the server was started, and its limits.", &[], "Settings", || {
        get(status::settings)
    }),
    read("/api/examples", "Queries to begin with.", &[], "Examples", || get(status::examples)),
    change(
        "post",
        "/api/session",
        "Sets a cookie with the token, for event streams and frames.",
        None,
        204,
        "",
        || post(status::session),
    ),
    read("/api/crawls", "All crawls.", &[], "Crawls", || get(crawls::list)),
    change(
        "post",
        "/api/crawls",
        "Makes a crawl from a specification.",
        Some("NewCrawl"),
        201,
        "CrawlBrief",
        || post(control::create),
    ),
    read("/api/crawls/{id}", "All that is told of a crawl.", &[], "Crawl", || get(crawls::one)),
    Route {
        parameters: &[choice("data", "Also delete what it found.", &["false", "true"])],
        ..change("delete", "/api/crawls/{id}", "Stops and forgets a crawl.", None, 204, "", || {
            delete(control::delete)
        })
    },
    change("post", "/api/crawls/{id}/start", "Starts a crawl.", None, 202, "CrawlBrief", || {
        post(control::start)
    }),
    change("post", "/api/crawls/{id}/pause", "Begins no new pages.", None, 202, "CrawlBrief", || {
        post(control::pause)
    }),
    change("post", "/api/crawls/{id}/resume", "Ends a pause.", None, 202, "CrawlBrief", || {
        post(control::resume)
    }),
    change(
        "post",
        "/api/crawls/{id}/stop",
        "Finishes the pages under way and stops.",
        None,
        202,
        "CrawlBrief",
        || post(control::stop),
    ),
    change(
        "post",
        "/api/crawls/{id}/urls",
        "Adds, scores or bans URLs; entries that are wrong are told, the others taken.",
        Some("Injections"),
        200,
        "InjectionReport",
        || post(urls::inject).layer(DefaultBodyLimit::disable()),
    ),
    change(
        "post",
        "/api/crawls/{id}/recrawl",
        "Visits pages again, now.",
        Some("Recrawl"),
        200,
        "RecrawlReport",
        || post(urls::recrawl),
    ),
    read("/api/crawls/{id}/filters", "Which URLs are followed.", &[], "Filters", || get(control::filters)),
    change(
        "put",
        "/api/crawls/{id}/filters",
        "Changes which URLs are followed, while the crawl runs.",
        Some("Filters"),
        200,
        "Filters",
        || put(control::put_filters),
    ),
    read("/api/crawls/{id}/limits", "Delays and budgets.", &[], "Limits", || get(control::limits)),
    change(
        "put",
        "/api/crawls/{id}/limits",
        "Changes delays and budgets, while the crawl runs.",
        Some("Limits"),
        200,
        "Limits",
        || put(control::put_limits),
    ),
    read(
        "/api/crawls/{id}/hosts",
        "The queues of hosts.",
        &[
            choice("sort", "The most of which come first.", &["queued", "fetched", "errors", "host"]),
            choice(
                "state",
                "Only hosts in this state.",
                &["all", "ready", "waiting", "snoozed", "retired", "exhausted", "blocked"],
            ),
            text("q", "Only hosts whose names contain this."),
            number("limit", "So many.", 1_000),
            OFFSET,
        ],
        "Hosts",
        || get(crawls::hosts),
    ),
    read(
        "/api/crawls/{id}/recent",
        "The last pages, newest first.",
        &[number("limit", "So many.", 1_000)],
        "Recent",
        || get(crawls::recent),
    ),
    read("/api/crawls/{id}/errors", "What went wrong, by kind and host.", &[], "Errors", || {
        get(crawls::errors)
    }),
    read(
        "/api/crawls/{id}/series",
        "Rates over time.",
        &[choice("span", "How far back.", &["hour", "day", "week"])],
        "Series",
        || get(crawls::series),
    ),
    Route {
        media_type: "text/event-stream",
        gives: "",
        ..read("/api/events", "What happens, as it happens.", &[CRAWL], "", || get(events::events))
    },
    read("/api/url", "The life of a URL.", &[needed("url", "The URL."), CRAWL], "UrlLife", || {
        get(urls::life)
    }),
    read("/api/search", "Things, by words.", SEARCH, "SearchAnswer", || get(search::search)),
    read(
        "/api/suggest",
        "Things whose names fit what was typed.",
        &[text("q", "What was typed."), CRAWL],
        "Suggestions",
        || get(search::suggest),
    ),
    read(
        "/api/thing",
        "All that is said of a thing, by page.",
        &[
            needed("iri", "Its IRI, or `_:` and its blank node."),
            number("limit", "So many statements.", 2_000),
            CRAWL,
        ],
        "Thing",
        || get(thing::thing),
    ),
    read(
        "/api/thing/graph",
        "The neighbourhood of a thing.",
        &[needed("iri", "Its IRI."), number("depth", "How many links away.", 2), CRAWL],
        "Neighbourhood",
        || get(thing::graph),
    ),
    Route {
        media_type: "text/turtle",
        gives: "",
        ..read(
            "/api/thing/raw",
            "What is said of a thing, as RDF.",
            &[
                needed("iri", "Its IRI."),
                choice("format", "In which syntax.", &["turtle", "jsonld", "nquads"]),
                CRAWL,
            ],
            "",
            || get(thing::raw),
        )
    },
    read("/api/page", "All that is known of a page.", &[needed("url", "Its URL."), CRAWL], "Page", || {
        get(page::page)
    }),
    read(
        "/api/pages",
        "Pages by address.",
        &[
            text("site", "Only pages of this site."),
            text("q", "Only pages whose address contains this."),
            number("limit", "So many.", 500),
            OFFSET,
            CRAWL,
        ],
        "Pages",
        || get(page::pages),
    ),
    read(
        "/api/sites",
        "Sites.",
        &[
            choice("sort", "The most of which come first.", &["pages", "quads"]),
            number("limit", "So many.", 1_000),
            OFFSET,
            CRAWL,
        ],
        "Sites",
        || get(sites::sites),
    ),
    read("/api/vocabulary", "Prefixes, predicates and classes in use.", &[CRAWL], "Vocabulary", || {
        get(sites::vocabulary)
    }),
    Route {
        method: "post",
        body: Some("Explain"),
        ..read("/api/explain", "How a query is answered.", &[CRAWL], "Explanation", || post(explain::explain))
    },
    Route {
        media_type: "application/n-quads",
        gives: "",
        ..read(
            "/api/dump",
            "Everything, or a part of it, to download.",
            &[
                choice("format", "In which syntax.", &["nquads", "trig", "turtle"]),
                text("graph", "Only this graph."),
                text("site", "Only this site."),
                CRAWL,
            ],
            "",
            || get(dump::dump),
        )
    },
    Route {
        media_type: "text/html",
        gives: "",
        ..read(
            "/archive",
            "The archived copy of a page, to be shown in a sandboxed frame.",
            &[
                needed("url", "Its URL."),
                text("time", "The copy nearest to this time; without it the latest."),
                choice("view", "The copy, or the heads of its record and answer.", &["copy", "head"]),
                CRAWL,
            ],
            "",
            || get(archive::archive),
        )
    },
    Route {
        media_type: "text/html",
        gives: "",
        ..read("/search", "Search without JavaScript; JSON for those who accept it.", SEARCH, "", || {
            get(html::search)
        })
    },
    Route {
        media_type: "text/plain",
        gives: "",
        ..read("/metrics", "Every number, for Prometheus.", &[], "", || get(metrics::metrics))
    },
    Route {
        media_type: "application/opensearchdescription+xml",
        gives: "",
        ..read("/opensearch.xml", "Lets browsers search here.", &[], "", || get(html::open_search))
    },
    read("/api/openapi.json", "This description.", &[], "Anything", || get(openapi::document)),
    Route {
        access: Access::Mixed,
        media_type: "application/sparql-results+json",
        gives: "",
        ..read(
            "/sparql",
            "SPARQL 1.1 Protocol: a query, or without one the service description.",
            &[
                text("query", "The query."),
                texts("default-graph-uri", "Graphs that make up the default graph."),
                texts("named-graph-uri", "Graphs that can be named."),
                text("timeout", "Seconds it may take."),
                CRAWL,
            ],
            "",
            || any(protocol::sparql).layer(DefaultBodyLimit::disable()),
        )
    },
    Route {
        access: Access::Mixed,
        media_type: "text/turtle",
        gives: "",
        ..read(
            "/store",
            "SPARQL 1.1 Graph Store Protocol: whole graphs.",
            &[text("graph", "The graph."), text("default", "The graph without a name."), CRAWL],
            "",
            || any(graph_store::graph_store).layer(DefaultBodyLimit::disable()),
        )
    },
];

/// The router of all routes, with the checks around them.
pub fn router(app: Shared) -> Router {
    let mut router = Router::new();
    for route in ROUTES {
        let mut handler = (route.handler)();
        if route.access == Access::Control {
            handler = handler.layer(middleware::from_fn_with_state(app.clone(), guard::require_token));
        }
        router = router.route(route.path, handler);
    }
    router
        .route("/sparql/", any(protocol::sparql))
        .route("/store/", any(graph_store::graph_store))
        .route("/store/{*path}", any(graph_store::graph_store))
        .route("/search.css", get(html::style))
        .method_not_allowed_fallback(method_not_allowed)
        .fallback(ui::fallback)
        .layer(middleware::from_fn_with_state(app.clone(), guard::guard))
        .layer(middleware::from_fn_with_state(app.clone(), count))
        .with_state(app)
}

async fn method_not_allowed() -> ApiError {
    ApiError::new(
        http::StatusCode::METHOD_NOT_ALLOWED,
        "method-not-allowed",
        "this address does not take that method",
    )
    .hint("GET /api/openapi.json describes what there is")
}

async fn count(State(app): State<Shared>, request: Request, next: Next) -> Response {
    let response = next.run(request).await;
    app.answered(response.status());
    response
}
