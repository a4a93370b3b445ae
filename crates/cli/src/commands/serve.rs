//! `webloom serve`: the web interface, SPARQL, search, control and metrics of one crawl, or of several.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::{Args, ValueEnum};
use tokio::sync::oneshot;
use webloom_index::DefaultGraph;
use webloom_pipeline::Stop;
use webloom_server::{
    CrossOrigin, Example, Limits, LiveCrawl, Registry, Server, ServerConfig, ServerError, Token,
};

use crate::output::{say, wrong_usage};
use crate::signals::{Signals, Terminal};

/// Serve the web interface, /sparql, /search, /api and /metrics.
///
/// On this machine everybody may read; what changes something (updates, control of crawls) needs the token, which is made up and
/// printed unless one is given. To listen on another address than loopback a token must be given, and reading needs it too
/// unless --open-reading is said.
///
/// An interrupt (Ctrl-C) or SIGTERM lets crawls finish the pages under way and ends; a second one ends at once.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom serve --data museums
  webloom serve --data museums --listen 127.0.0.1:0 --default-graph unnamed
  WEBLOOM_TOKEN=$(cat token) webloom serve --data museums --listen 0.0.0.0:7890 --host-name crawl.example.org
  curl 'http://127.0.0.1:7890/sparql' --data-urlencode 'query=SELECT * { ?s ?p ?o } LIMIT 5'")]
pub struct Serve {
    /// Directory of the crawl. One is made when there is none.
    #[arg(long, value_name = "DIR", default_value = "webloom-data", conflicts_with = "root")]
    data: PathBuf,
    /// Directory of several crawls, each in a directory of its own.
    #[arg(long, value_name = "DIR")]
    root: Option<PathBuf>,
    #[command(flatten)]
    listen: ListenArguments,
    /// Start the crawl of the data directory, or resume it.
    #[arg(long, conflicts_with = "root")]
    start: bool,
}

/// Where to listen and who may do what: what every command that serves understands.
#[derive(Debug, Clone, Args)]
pub struct ListenArguments {
    /// Where to listen; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7890")]
    listen: SocketAddr,
    /// The token that control and updates need. Better in WEBLOOM_TOKEN, or in a file: others can see a command line.
    #[arg(long, value_name = "TOKEN")]
    token: Option<String>,
    /// A file with the token.
    #[arg(long, value_name = "FILE", conflicts_with = "token")]
    token_file: Option<PathBuf>,
    /// Reading needs no token, even from other machines.
    #[arg(long)]
    open_reading: bool,
    /// A name this server is known by, beside its address. Requests for other names are refused.
    #[arg(long, value_name = "NAME")]
    host_name: Vec<String>,
    /// Whose pages may ask /sparql from a browser: an origin such as https://a.example, `any` or `none`.
    #[arg(long, value_name = "ORIGIN", default_value = "any")]
    allow_origin: Vec<String>,
    /// What patterns outside of GRAPH are about, unless the query says FROM.
    #[arg(long, value_name = "WHICH", value_enum, default_value_t = Graph::Union)]
    default_graph: Graph,
    /// Seconds a query may take.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    query_seconds: u64,
    /// Megabytes of intermediate results of a query.
    #[arg(long, value_name = "MB", default_value_t = 1024)]
    query_memory: u64,
    /// Results a query may have.
    #[arg(long, value_name = "N", default_value_t = 10_000_000)]
    query_rows: u64,
    /// Requests a second from one address, on average.
    #[arg(long, value_name = "N", default_value_t = 1_000)]
    requests_per_second: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Graph {
    /// All pages and loaded graphs, each triple once, without what is known about the pages.
    Union,
    /// Only the graph without a name.
    Unnamed,
}

impl ListenArguments {
    /// What the server is told.
    pub fn config(&self) -> anyhow::Result<ServerConfig> {
        let limits = Limits {
            query_time: Duration::from_secs(self.query_seconds),
            query_memory_bytes: self.query_memory.saturating_mul(1_000_000),
            query_rows: self.query_rows,
            requests_per_second: f64::from(self.requests_per_second),
            requests_burst: f64::from(self.requests_per_second) * 4.0,
            ..Limits::default()
        };
        let origins: Vec<&str> = self.allow_origin.iter().map(String::as_str).collect();
        let cross_origin = match origins.as_slice() {
            ["any" | "*"] => CrossOrigin::Any,
            ["none"] => CrossOrigin::Nobody,
            origins => CrossOrigin::These(origins.iter().map(|origin| (*origin).to_owned()).collect()),
        };
        Ok(ServerConfig {
            listen: self.listen,
            token: self.token()?,
            open_reading: self.open_reading,
            host_names: self.host_name.clone(),
            cross_origin,
            default_graph: match self.default_graph {
                Graph::Union => DefaultGraph::Union,
                Graph::Unnamed => DefaultGraph::Unnamed,
            },
            limits,
        })
    }

    fn token(&self) -> anyhow::Result<Option<Token>> {
        let text = match (&self.token, &self.token_file) {
            (Some(token), _) => token.clone(),
            (None, Some(file)) => std::fs::read_to_string(file)
                .map_err(|error| wrong_usage(format!("cannot read `{}`: {error}", file.display())))?,
            (None, None) => match std::env::var("WEBLOOM_TOKEN") {
                Ok(token) => token,
                Err(_) => return Ok(None),
            },
        };
        Token::new(text.trim()).map(Some).map_err(|problem| wrong_usage(problem.to_string()))
    }
}

/// Takes the address, and says how to reach it.
pub async fn bind(
    config: ServerConfig,
    registry: Arc<Registry>,
    examples: Vec<Example>,
) -> anyhow::Result<Server> {
    let server = Server::bind(config, registry, examples).await.map_err(|error| match error {
        ServerError::Config(problem) => wrong_usage(problem.to_string()),
        other => other.into(),
    })?;
    eprintln!("serving on http://{}/", server.address());
    eprintln!("to control crawls, open {}", server.link());
    Ok(server)
}

/// The crawl of a directory, and whatever more is in it.
pub fn registry_of(data: &Path) -> anyhow::Result<Arc<Registry>> {
    let registry = Registry::of_one(data)
        .map_err(|error| anyhow::anyhow!("cannot open `{}`: {}", data.display(), error.message))?;
    Ok(Arc::new(registry))
}

/// The runtime of a server.
pub fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_multi_thread().enable_all().build().context("cannot start the runtime")
}

impl Serve {
    pub fn run(self) -> anyhow::Result<()> {
        let config = self.listen.config()?;
        let registry =
            match &self.root {
                Some(root) => Arc::new(Registry::of_many(root).map_err(|error| {
                    anyhow::anyhow!("cannot open `{}`: {}", root.display(), error.message)
                })?),
                None => registry_of(&self.data)?,
            };
        let runtime = runtime()?;
        runtime.block_on(async {
            let mut signals = Signals::listen(Terminal::IsNothing).context("cannot listen for signals")?;
            let server = bind(config, registry.clone(), Vec::new()).await?;
            if self.start {
                let slot = registry.default_slot().map_err(|error| anyhow::anyhow!(error.message))?;
                let handle = tokio::runtime::Handle::current();
                tokio::task::spawn_blocking(move || slot.start(&handle))
                    .await?
                    .map_err(|error| wrong_usage(format!("cannot start the crawl: {}", error.message)))?;
            }
            let (end, ending) = oneshot::channel::<()>();
            let served = tokio::spawn(server.run(async {
                let _ = ending.await;
            }));
            signals.next().await;
            let crawls = stop_crawls(&registry);
            let _ = end.send(());
            let all_end = async {
                ended(&crawls).await;
                let _ = served.await;
            };
            tokio::select! {
                () = all_end => {}
                // As safe as waiting, and wished for.
                () = signals.next() => crawls.iter().for_each(|live| live.control.stop(Stop::Now)),
            }
            anyhow::Ok(())
        })?;
        runtime.shutdown_timeout(Duration::from_millis(200));
        Ok(())
    }
}

/// Tells the crawls that run to finish the pages under way, and gives them.
fn stop_crawls(registry: &Registry) -> Vec<Arc<LiveCrawl>> {
    let running: Vec<_> =
        registry.all().iter().filter_map(|slot| slot.live()).filter(|live| live.is_under_way()).collect();
    running.iter().for_each(|live| live.control.stop(Stop::Gracefully));
    if !running.is_empty() {
        say("finishing the pages under way; interrupt again to stop at once\n");
    }
    running
}

/// Completes when none of the crawls runs any more.
async fn ended(crawls: &[Arc<LiveCrawl>]) {
    for live in crawls {
        let mut states = live.control.states();
        while live.is_under_way() && states.changed().await.is_ok() {}
    }
}
