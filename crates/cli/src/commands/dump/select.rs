//! Which quads are exported.
//!
//! In: the arguments. Out: the quads, one after the other, read from a snapshot as a stream whatever the selection.

use std::path::Path;

use anyhow::Context;
use clap::Args;
use oxrdf::{GraphName, NamedNode, Quad};
use webloom_index::{GraphPattern, QueryOptions, QueryResults, Snapshot};
use webloom_model::PageUrl;
use webloom_model::vocab::{INFERRED_PREFIX, META_PREFIX, rdf};
use webloom_pipeline::metadata::VOLATILE;

use crate::output::wrong_usage;

/// The arguments that choose.
#[derive(Debug, Args)]
pub struct SelectionArguments {
    /// Only this graph; may be given several times.
    #[arg(long, value_name = "IRI")]
    graph: Vec<String>,
    /// Only pages of this host and of those below it, with what is known about them; may be given several times.
    #[arg(long, value_name = "HOST")]
    site: Vec<String>,
    /// Only subjects of this class, with everything said about them; may be given several times.
    #[arg(long = "type", value_name = "CLASS")]
    classes: Vec<String>,
    /// The answer of a CONSTRUCT or DESCRIBE query, or of the file with one.
    #[arg(long, value_name = "FILE|QUERY", conflicts_with_all = ["graph", "site", "classes", "stable", "no_metadata", "no_inferred"])]
    query: Option<String>,
    /// Leave out the graphs that tell about the crawl itself.
    #[arg(long)]
    no_metadata: bool,
    /// Leave out the graphs that `webloom materialize` made.
    #[arg(long)]
    no_inferred: bool,
    /// Leave out what depends on when and in which order pages were fetched (times, depth, where a link was found
    /// first), so that two crawls of the same pages can be compared.
    #[arg(long)]
    stable: bool,
}

impl SelectionArguments {
    /// True when triples come, not quads.
    pub fn is_query(&self) -> bool {
        self.query.is_some()
    }

    /// True when all quads are of one graph.
    pub fn is_one_graph(&self) -> bool {
        self.is_query() || self.graph.len() == 1
    }
}

/// A selection that makes sense.
pub struct Selection {
    /// Empty for all.
    graphs: Vec<NamedNode>,
    /// In lower case; empty for all.
    sites: Vec<String>,
    /// Empty for all.
    classes: Vec<NamedNode>,
    query: Option<String>,
    no_metadata: bool,
    no_inferred: bool,
    stable: bool,
}

/// Takes a quad; an error ends the export.
pub type Take<'a> = &'a mut dyn FnMut(Quad) -> anyhow::Result<()>;

impl Selection {
    pub fn new(arguments: &SelectionArguments) -> anyhow::Result<Self> {
        let mut graphs = iris(&arguments.graph)?;
        graphs.sort();
        graphs.dedup();
        let mut classes = iris(&arguments.classes)?;
        classes.sort();
        classes.dedup();
        let query = match &arguments.query {
            Some(query) if !query.contains('{') && Path::new(query).is_file() => {
                Some(std::fs::read_to_string(query).with_context(|| format!("cannot read `{query}`"))?)
            }
            query => query.clone(),
        };
        Ok(Self {
            graphs,
            sites: arguments.site.iter().map(|site| site.to_lowercase()).collect(),
            classes,
            query,
            no_metadata: arguments.no_metadata,
            no_inferred: arguments.no_inferred,
            stable: arguments.stable,
        })
    }

    /// Gives every quad of the selection to `take`.
    pub fn each(&self, snapshot: &Snapshot, take: Take<'_>) -> anyhow::Result<()> {
        if let Some(query) = &self.query {
            return construct(snapshot, query, take);
        }
        if !self.classes.is_empty() {
            return self.each_of_classes(snapshot, take);
        }
        if self.graphs.is_empty() && self.sites.is_empty() {
            for quad in snapshot.quads()? {
                self.offer(quad?, take)?;
            }
            return Ok(());
        }
        let all = if self.graphs.is_empty() { Some(snapshot.graph_names()) } else { None };
        let named = self.graphs.iter().cloned().map(|graph| Ok(GraphName::from(graph)));
        for graph in named.chain(all.into_iter().flatten()) {
            let graph = graph?;
            if !self.has_graph(&graph) {
                continue;
            }
            for quad in snapshot.quads_for_pattern(None, None, None, GraphPattern::One(graph.as_ref()))? {
                self.offer(quad?, take)?;
            }
        }
        Ok(())
    }

    /// Subjects come sorted, so those of several pages meet; those of several classes are told by their first.
    fn each_of_classes(&self, snapshot: &Snapshot, take: Take<'_>) -> anyhow::Result<()> {
        let a = snapshot.term_id(rdf::TYPE.into());
        let classes: Vec<_> =
            self.classes.iter().map(|class| snapshot.term_id(class.as_ref().into())).collect();
        let resolver = snapshot.resolver();
        let mut graph = None;
        for (place, &class) in classes.iter().enumerate() {
            let mut last = None;
            for typed in snapshot.scan(None, Some(a), Some(class), None)? {
                let subject = typed?.subject;
                if last == Some(subject) {
                    continue;
                }
                last = Some(subject);
                let mut is_told = false;
                for &earlier in &classes[..place] {
                    is_told |= snapshot.scan(Some(subject), Some(a), Some(earlier), None)?.next().is_some();
                }
                if is_told {
                    continue;
                }
                for quad in snapshot.scan(Some(subject), None, None, None)? {
                    let quad = quad?;
                    let is_wanted = match graph {
                        Some((id, is_wanted)) if id == quad.graph => is_wanted,
                        _ => self.has_graph(&resolver.graph_name(quad.graph)?),
                    };
                    graph = Some((quad.graph, is_wanted));
                    if is_wanted {
                        self.offer(resolver.quad(quad)?, take)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// True when the graph is among the chosen.
    fn has_graph(&self, graph: &GraphName) -> bool {
        let name = match graph {
            GraphName::NamedNode(name) => name,
            GraphName::BlankNode(_) | GraphName::DefaultGraph => {
                return self.graphs.is_empty() && self.sites.is_empty();
            }
        };
        let in_site = || {
            let host = host(name.as_str());
            self.sites.iter().any(|site| {
                host.as_deref()
                    .and_then(|host| host.strip_suffix(site.as_str()))
                    .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            })
        };
        (self.graphs.is_empty() || self.graphs.contains(name)) && (self.sites.is_empty() || in_site())
    }

    fn offer(&self, quad: Quad, take: Take<'_>) -> anyhow::Result<()> {
        if let GraphName::NamedNode(name) = &quad.graph_name {
            let is_metadata = name.as_str().starts_with(META_PREFIX);
            let is_inferred = name.as_str().starts_with(INFERRED_PREFIX);
            if is_metadata && (self.no_metadata || self.stable && VOLATILE.contains(&quad.predicate.as_ref()))
                || is_inferred && self.no_inferred
            {
                return Ok(());
            }
        }
        take(quad)
    }
}

/// The host of the page that a graph is of or about.
pub fn host(graph: &str) -> Option<String> {
    let page = graph.strip_prefix(META_PREFIX).unwrap_or(graph);
    Some(PageUrl::parse(page).ok()?.host().to_owned()).filter(|host| !host.is_empty())
}

fn iris(texts: &[String]) -> anyhow::Result<Vec<NamedNode>> {
    let parse = |text: &String| {
        NamedNode::new(text.as_str()).map_err(|error| wrong_usage(format!("`{text}` is no IRI: {error}")))
    };
    texts.iter().map(parse).collect()
}

fn construct(snapshot: &Snapshot, query: &str, take: Take<'_>) -> anyhow::Result<()> {
    match snapshot.query(query, &QueryOptions::default())? {
        QueryResults::Graph(triples) => {
            for triple in triples {
                take(triple?.in_graph(GraphName::DefaultGraph))?;
            }
            Ok(())
        }
        QueryResults::Solutions(_) | QueryResults::Boolean(_) => {
            Err(wrong_usage("--query takes a CONSTRUCT or DESCRIBE query; for others use `webloom query`"))
        }
    }
}
