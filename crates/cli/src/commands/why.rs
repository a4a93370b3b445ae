//! `webloom why`: the whole life of a URL, from the link it was found by to the quads it gave.

use std::io::Write;

use clap::Args;
use oxrdf::{GraphNameRef, Term};
use serde_json::{Value, json};
use webloom_fetch::FetchConfig;
use webloom_index::{GraphPattern, Snapshot};
use webloom_model::{PageUrl, vocab};
use webloom_pipeline::{CrawlSpec, DataDir, Joining, Order};

use super::urls::Desk;
use crate::output::{DataArgument, one_line, with_commas, wrong_usage};

/// Say what became of a URL and why: how it was found, what stands in its way, its fetches, what was extracted.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom why https://example.org/page
  webloom why --data crawl --json https://example.org/page

Works while a crawl runs, too: the crawl is asked.")]
pub struct Why {
    /// The URL.
    #[arg(value_name = "URL")]
    url: String,
    #[command(flatten)]
    data: DataArgument,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

impl Why {
    pub fn run(self) -> anyhow::Result<()> {
        let url = PageUrl::parse(&self.url).map_err(|problem| wrong_usage(problem.to_string()))?;
        let data = DataDir::new(&self.data.data);
        if !data.frontier().is_dir() && !data.has_index() {
            return Err(wrong_usage(format!(
                "`{}` holds no crawl; name its directory with --data, or make one with `webloom crawl`",
                data.path().display()
            )));
        }
        let spec = spec_of(&data);
        let (life, robots) = if data.frontier().is_dir() {
            let agent =
                spec.as_ref().map_or_else(FetchConfig::default, |spec| spec.fetch.clone()).robots_agent;
            let orders = [Order::Why(url.clone()), Order::Robots { url: url.clone(), agent }];
            let desk = Desk::open(&data)?;
            let answer = |order| anyhow::Ok(desk.carry_out(order)?.unwrap_or_default());
            (answer(&orders[0])?, answer(&orders[1])?)
        } else {
            (Value::Null, Value::Null)
        };
        let joined = spec.as_ref().and_then(|spec| joined(&data, spec, &url));
        let extracted = if data.has_index() { extracted(&self.data.snapshot()?, &url)? } else { Value::Null };
        let told = json!({
            "url": url.as_str(),
            "asked_for": self.url,
            "known": !life.is_null(),
            "refusal": spec.as_ref().and_then(|spec| refusal(spec, &url)),
            "joined": joined,
            "robots": robots,
            "life": life,
            "extracted": extracted,
        });
        let mut out = std::io::stdout().lock();
        if self.json {
            writeln!(out, "{}", serde_json::to_string_pretty(&told)?)?;
        } else {
            out.write_all(for_people(&told).as_bytes())?;
        }
        Ok(())
    }
}

/// The specification the crawl was started with.
fn spec_of(data: &DataDir) -> Option<CrawlSpec> {
    let text = std::fs::read_to_string(data.spec()).ok()?;
    CrawlSpec::from_toml(&text).ok()
}

/// Which rule of the specification keeps links from leading here, by its name; nothing when none does.
fn refusal(spec: &CrawlSpec, url: &PageUrl) -> Option<String> {
    if spec.seeds.contains(url) {
        return None;
    }
    spec.links.scope.admits(url).err().map(|refusal| refusal.as_str().to_owned())
}

/// The seed that led the crawl to the site of a URL, when that is why links there are followed. What joined is known to the specification
/// from here on.
fn joined(data: &DataDir, spec: &CrawlSpec, url: &PageUrl) -> Option<Joining> {
    let scope = &spec.links.scope;
    let site = scope.joins_as(url)?;
    spec.rejoin(data).into_iter().find(|joining| scope.site_of(&joining.target) == Some(site))
}

/// What the index holds of a page: quads by graph, and what its metadata say.
fn extracted(snapshot: &Snapshot, url: &PageUrl) -> anyhow::Result<Value> {
    let page = url.graph_name();
    let meta = url.meta_graph_name();
    let mut graphs = serde_json::Map::new();
    for graph in [&page, &meta] {
        let graph = GraphNameRef::NamedNode(graph.as_ref());
        if snapshot.contains_graph(graph) {
            let mut count = 0_u64;
            for quad in snapshot.quads_for_pattern(None, None, None, GraphPattern::One(graph))? {
                quad?;
                count += 1;
            }
            graphs.insert(name_of(graph), count.into());
        }
    }
    let mut said = serde_json::Map::new();
    let mut diagnostics = 0_u64;
    for quad in snapshot.quads_for_pattern(
        None,
        None,
        None,
        GraphPattern::One(GraphNameRef::NamedNode(meta.as_ref())),
    )? {
        let quad = quad?;
        if quad.predicate == vocab::wl::DIAGNOSTIC {
            diagnostics += 1;
        }
        if quad.subject != page.clone().into() {
            continue;
        }
        let value = match &quad.object {
            Term::NamedNode(node) => node.as_str().to_owned(),
            Term::Literal(literal) => literal.value().to_owned(),
            _ => continue,
        };
        let predicate = quad.predicate.as_str();
        let name = predicate.rsplit(['#', '/', ':']).next().unwrap_or(predicate).to_owned();
        said.insert(name, value.into());
    }
    if graphs.is_empty() {
        return Ok(Value::Null);
    }
    Ok(json!({ "quads": graphs, "metadata": said, "diagnostics": diagnostics }))
}

fn name_of(graph: GraphNameRef<'_>) -> String {
    match graph {
        GraphNameRef::NamedNode(node) => node.as_str().to_owned(),
        other => other.to_string(),
    }
}

/// One line per thing that is known.
fn for_people(told: &Value) -> String {
    let mut text = String::new();
    let mut say = |what: &str, how: String| {
        text.push_str(&format!("{what:<14}{how}\n"));
    };
    let words = |value: &Value| one_line(value.as_str().unwrap_or_default());
    say("URL", words(&told["url"]));
    if told["asked_for"] != told["url"] {
        say("asked for", format!("{} (the line above is its normal form)", words(&told["asked_for"])));
    }
    let life = &told["life"];
    if life.is_null() {
        say("state", never_queued(told).to_owned());
    } else {
        say("state", state(&life["stage"], told["extracted"]["metadata"]["outcome"].as_str()));
        let found = match life["found_on"].as_str() {
            Some(page) => format!("on {}", one_line(page)),
            None => "as a seed, or added by somebody".to_owned(),
        };
        say("found", format!("{found}, {} from a seed, {}", links(&life["depth"]), words(&life["found_at"])));
        if let Some(anchor) = life["anchor"].as_str() {
            say("link text", one_line(anchor));
        }
        for from in life["redirects"].as_array().into_iter().flatten() {
            say("redirected", format!("from {}", words(from)));
        }
        if let Some(score) = life["score"].as_f64() {
            say("score", format!("{score:.3}"));
        }
        for fetch in life["fetches"].as_array().into_iter().flatten() {
            say("fetched", fetch_line(fetch));
        }
        if life["visits"].as_u64() > Some(1) {
            say("visits", format!("{}, {} of them found it changed", life["visits"], life["changes"]));
        }
        if let Some(next) = life["next_visit"].as_str() {
            say("next visit", next.to_owned());
        }
        let queue = &life["queue"];
        if !queue.is_null() {
            let next =
                queue["next_at"].as_str().map(|next| format!(", may be asked at {next}")).unwrap_or_default();
            let address = queue["ip"].as_str().map(|ip| format!(" at {ip}")).unwrap_or_default();
            say(
                "host",
                format!(
                    "{}{address}: {}, {} waiting, {} pages, {} failures, a pause of {} ms{next}",
                    words(&queue["host"]),
                    words(&queue["state"]),
                    queue["queued"],
                    queue["fetched"],
                    queue["errors"],
                    queue["delay_ms"],
                ),
            );
        }
    }
    match told["refusal"].as_str() {
        Some(rule) => say("scope", format!("links here are not followed: {rule}")),
        None => say("scope", format!("links here are followed{}", joined_words(&told["joined"]))),
    }
    say("robots.txt", robots_line(&told["robots"]));
    let extracted = &told["extracted"];
    if extracted.is_null() {
        say("index", "nothing is stored of it".to_owned());
    } else {
        for (name, value) in extracted["metadata"].as_object().into_iter().flatten() {
            if matches!(
                name.as_str(),
                "outcome" | "statusCodeNumber" | "reason" | "format" | "detectedType" | "redirectsTo"
            ) {
                say("answer", format!("{name}: {}", words(value)));
            }
        }
        for (graph, quads) in extracted["quads"].as_object().into_iter().flatten() {
            say("quads", format!("{} in {}", with_commas(quads.as_u64().unwrap_or(0)), one_line(graph)));
        }
        if extracted["diagnostics"].as_u64() > Some(0) {
            say("diagnostics", extracted["diagnostics"].to_string());
        }
    }
    text
}

/// By which seed the crawl came to the site of a URL, if it did.
fn joined_words(joined: &Value) -> String {
    let words = |name: &str| joined[name].as_str().map(one_line);
    match (words("seed"), words("target")) {
        (Some(seed), Some(target)) => format!(": seed {seed} leads to {target}"),
        _ => String::new(),
    }
}

/// Why a URL that was never queued was not, as far as that is known: links that are not followed are not kept.
fn never_queued(told: &Value) -> &'static str {
    if told["extracted"]["metadata"]["sourceKind"].is_string() {
        "read as a source, not as a page"
    } else if told["refusal"].is_string() {
        "never queued: if a page links here, the link was not followed, by the rule below"
    } else {
        "never queued: nobody added it, and no page that was read links here, unless the link was too deep, its host is banned, \
         or the page's links were not followed"
    }
}

fn state(stage: &Value, outcome: Option<&str>) -> String {
    let at = |name: &str| stage[name].as_str().unwrap_or_default().to_owned();
    match stage["name"].as_str().unwrap_or_default() {
        "queued" => "waits for its turn".to_owned(),
        "leased" => "is being fetched".to_owned(),
        "waiting" => format!("failed, and waits to be tried again until {}", at("until")),
        "indexed" if outcome == Some("noindex") => {
            format!("its page was read at {}, and wishes not to be in the index", at("at"))
        }
        "indexed" => format!("its page is in the index since {}", at("at")),
        "no-page" => format!("there is no page here, as was found at {}", at("at")),
        "banned" => format!("banned since {}", at("at")),
        other => other.to_owned(),
    }
}

fn links(depth: &Value) -> String {
    match depth.as_u64() {
        Some(1) => "one link".to_owned(),
        depth => format!("{} links", depth.unwrap_or(0)),
    }
}

fn robots_line(robots: &Value) -> String {
    if robots.is_null() {
        return "not asked for yet".to_owned();
    }
    let verdict = if robots["allowed"] == true { "allows it" } else { "forbids it" };
    let line = robots["line"].as_u64().map(|line| format!(" by line {line}")).unwrap_or_default();
    let said = |name: &str| one_line(robots[name].as_str().unwrap_or_default());
    format!("{verdict}{line}: {}, as of {}", said("summary"), said("fetched_at"))
}

fn fetch_line(fetch: &Value) -> String {
    let at = fetch["at_ms"].as_i64().and_then(|at| jiff::Timestamp::from_millisecond(at).ok());
    let mut line = at.map(|at| at.to_string()).unwrap_or_default();
    line.push_str(&format!(": {}", one_line(fetch["kind"].as_str().unwrap_or_default())));
    if let Some(status) = fetch["status"].as_u64() {
        line.push_str(&format!(", status {status}"));
    }
    if let Some(elapsed) = fetch["elapsed_ms"].as_u64() {
        line.push_str(&format!(", {elapsed} ms"));
    }
    line
}
