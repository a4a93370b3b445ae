//! The crawl specification: what was written, then what is true.
//!
//! In: the text of a TOML file, or the flags of a command line put into the same words. Out: a
//! [`CrawlSpec`] whose values cannot be wrong, or every problem at once, each naming its key and what to
//! write instead. The fields, their defaults and their documentation are one table, [`fields::FIELDS`];
//! the commented `config/default.toml` is printed from it. Start at [`CrawlSpec::from_toml`].

pub mod fields;
pub(crate) mod values;

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use toml::{Table, Value};
use webloom_archive::Packing;
use webloom_archive::objects::Objects;
use webloom_extract::scope::{Patterns, TrapRules};
use webloom_extract::{LinkQuery, LinkRules, ParameterSet, Reach, Scope};
use webloom_fetch::{AuthRule, FetchConfig, HeaderRule, Preference, Proxy, ResolveRule, TypePattern};
use webloom_frontier::{DomainBudget, FrontierConfig, Recrawl};
use webloom_model::PageUrl;
use webloom_transform::{GrddlSites, Limits, TransformConfig};

use crate::archive::{ArchiveSpec, DictionarySetting, Keep};
use crate::contexts::ContextLimits;
use crate::rules::{self, Services};
use crate::sources::SourceSpec;
use fields::{FIELDS, Field};
use values::Reader;

/// Dates before this year pass for those of a calendar without end.
const YEAR_FIRST: u32 = 1980;

/// A checked crawl specification.
#[derive(Debug, Clone)]
pub struct CrawlSpec {
    /// Where to start.
    pub seeds: Vec<PageUrl>,
    /// Linked Data that does not come page by page.
    pub sources: Vec<SourceSpec>,
    /// Queues, delays and budgets.
    pub frontier: FrontierConfig,
    /// How to ask.
    pub fetch: FetchConfig,
    /// How to read.
    pub transform: TransformConfig,
    /// What the rules of `transform` ask outside of the process.
    pub services: Services,
    /// Whether contexts of JSON-LD are fetched, and how many.
    pub contexts: Option<ContextLimits>,
    /// Which links to follow.
    pub links: LinkRules,
    /// Whether the sites that seeds lead to by redirects are covered, too.
    pub follow_seed_redirects: bool,
    /// Which plain links to keep.
    pub stored_links: StoredLinks,
    /// Follow the links of pages that say nothing new, whatever their host's other pages say.
    pub stale_links: bool,
    /// Follow the sitemaps that robots.txt names.
    pub sitemaps: bool,
    /// How what was received is kept.
    pub archive: ArchiveSpec,
    /// How the machine is used.
    pub work: WorkConfig,
    written: Table,
}

/// How many of the plain links of a page are stored. Following them does not depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoredLinks {
    /// All of them.
    All,
    /// Those to other hosts.
    External,
    /// None.
    None,
}

/// How the machine is used.
#[derive(Debug, Clone)]
pub struct WorkConfig {
    /// Threads that detect, transform and extract.
    pub workers: usize,
    /// Requests under way at once.
    pub connections: usize,
    /// A fetch that failed this often is given up.
    pub attempts_max: u32,
    /// A commit takes at most this many pages,
    pub commit_pages_max: usize,
    /// at most this many quads,
    pub commit_quads_max: usize,
    /// and waits at most this long for them.
    pub commit_age_max: Duration,
}

/// One thing wrong with a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecProblem {
    /// The key, such as `politeness.delay`; empty when the text is not TOML at all.
    pub key: String,
    /// What is wrong, and what to do.
    pub message: String,
}

impl fmt::Display for SpecProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.key.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "`{}`: {}", self.key, self.message)
        }
    }
}

/// Everything wrong with a specification.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecProblems(pub Vec<SpecProblem>);

impl fmt::Display for SpecProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, problem) in self.0.iter().enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for SpecProblems {}

/// A specification as written: parsed, not yet checked, so that flags can be laid over it.
#[derive(Debug, Clone, Default)]
pub struct RawSpec {
    table: Table,
}

impl RawSpec {
    /// Parses TOML. Unknown keys are found later, by [`RawSpec::check`].
    pub fn parse(text: &str) -> Result<Self, SpecProblems> {
        text.parse::<Table>().map(|table| Self { table }).map_err(|error| {
            SpecProblems(vec![SpecProblem {
                key: String::new(),
                message: error.to_string().trim_end().to_owned(),
            }])
        })
    }

    /// Sets one field, as a flag does. `key` is dotted, such as `scope.max_depth`.
    pub fn set(&mut self, key: &str, value: impl Into<Value>) {
        match key.split_once('.') {
            None => {
                self.table.insert(key.to_owned(), value.into());
            }
            Some((section, name)) => {
                let section = self.table.entry(section).or_insert_with(|| Value::Table(Table::new()));
                if let Value::Table(section) = section {
                    section.insert(name.to_owned(), value.into());
                }
            }
        }
    }

    /// Takes a field away, so that its default holds.
    pub fn unset(&mut self, key: &str) {
        match key.split_once('.') {
            None => {
                self.table.remove(key);
            }
            Some((section, name)) => {
                if let Some(Value::Table(section)) = self.table.get_mut(section) {
                    section.remove(name);
                }
            }
        }
    }

    /// The texts of a list, as written; none when it is not there.
    pub fn texts(&self, key: &str) -> Vec<String> {
        let list = lookup(&self.table, key).and_then(Value::as_array);
        list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    }

    /// Takes the paths in the rules as relative to a folder, that of the file they were read from.
    pub fn resolve_paths(&mut self, folder: &Path) {
        let transform = self.table.get_mut("transform").and_then(Value::as_table_mut);
        if let Some(written) = transform.and_then(|transform| transform.get_mut("rules")) {
            rules::resolve_paths(written, folder);
        }
    }

    /// Adds a rule behind the others: every page through a stylesheet.
    pub fn push_stylesheet(&mut self, name: &str, stylesheet: &str, params: &[(String, String)]) {
        let params: Table =
            params.iter().map(|(name, value)| (name.clone(), Value::from(value.as_str()))).collect();
        let rule = Table::from_iter([
            ("name".to_owned(), Value::from(name)),
            ("always".to_owned(), Value::from(true)),
            ("stylesheet".to_owned(), Value::from(stylesheet)),
            ("params".to_owned(), Value::Table(params)),
        ]);
        let transform = self.table.entry("transform").or_insert_with(|| Value::Table(Table::new()));
        if let Value::Table(transform) = transform
            && let Value::Array(rules) = transform.entry("rules").or_insert_with(|| Value::Array(Vec::new()))
        {
            rules.push(Value::Table(rule));
        }
    }

    /// The names of the rules that start a process on this machine.
    pub fn commands(&self) -> Vec<String> {
        let rules = lookup(&self.table, "transform.rules").and_then(Value::as_array);
        let tables = rules.into_iter().flatten().filter_map(Value::as_table);
        tables
            .filter(|rule| rule.contains_key("command"))
            .map(|rule| rule.get("name").and_then(Value::as_str).unwrap_or("without a name").to_owned())
            .collect()
    }

    /// Adds texts to a list at the top level, those that are not in it yet.
    pub fn extend(&mut self, key: &str, texts: &[String]) {
        let list = self.table.entry(key).or_insert_with(|| Value::Array(Vec::new()));
        if let Value::Array(list) = list {
            for text in texts {
                if !list.iter().any(|known| known.as_str() == Some(text)) {
                    list.push(Value::from(text.as_str()));
                }
            }
        }
    }

    /// Sets one field from `key=value`, the value being TOML, or a bare text.
    pub fn set_from_text(&mut self, setting: &str) -> Result<(), String> {
        let (key, value) = setting.split_once('=').ok_or("write KEY=VALUE")?;
        let value = value.trim();
        let parsed =
            format!("value = {value}").parse::<Table>().ok().and_then(|mut table| table.remove("value"));
        self.set(key.trim(), parsed.unwrap_or_else(|| Value::from(value)));
        Ok(())
    }

    /// Checks everything, reporting all problems at once.
    pub fn check(self) -> Result<CrawlSpec, SpecProblems> {
        let mut problems = Vec::new();
        refuse_unknown_keys(&self.table, &mut problems);
        let mut reader = Reader::new(&self.table, &mut problems);

        let seeds: Vec<PageUrl> =
            reader.parsed_list("seeds", |text| PageUrl::parse(text).map_err(|e| e.to_string()));
        let sources = reader.list("sources", read_source);
        let delay = reader.pause("politeness.delay");
        let workers = match reader.count("work.workers") {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            given => given,
        };
        let attempts_max = u32::try_from(reader.count("fetch.attempts_max").max(1)).unwrap_or(u32::MAX);
        let frontier = FrontierConfig {
            host_delay: delay,
            domain_delay: reader.optional_pause("politeness.domain_delay").unwrap_or(delay),
            ip_delay: reader.pause("politeness.ip_delay"),
            slow_factor: u32::try_from(reader.count("politeness.slow_factor")).unwrap_or(u32::MAX),
            slow_delay_max: reader.duration("politeness.slow_delay_max"),
            crawl_delay_max: reader.duration("politeness.crawl_delay_max"),
            retry_after_max: reader.duration("politeness.retry_after_max"),
            retry_base: reader.duration("politeness.retry_pause"),
            depth_max: reader
                .optional_count("scope.max_depth")
                .map(|depth| u32::try_from(depth).unwrap_or(u32::MAX)),
            pages_max: reader.optional_count("scope.max_pages").map(|pages| pages as u64),
            pages_per_host_max: reader.optional_count("scope.max_pages_per_host").map(|pages| pages as u64),
            domain_budget: read_budget(&mut reader),
            hosts_active_max: reader.count("work.hosts_in_memory").max(1),
            seen_filter_bytes: reader.bytes("work.url_filter_bytes"),
            recrawl: read_recrawl(&mut reader),
            ..FrontierConfig::default()
        };
        let fetch = FetchConfig {
            contact: reader.optional_text("politeness.contact"),
            robots_agent: reader.text("politeness.robots_agent"),
            obey_robots: reader.boolean("politeness.obey_robots"),
            robots_hop_delay: delay,
            attempts_max,
            allow_private: reader.boolean("fetch.allow_private"),
            resolve: reader
                .parsed_list("fetch.resolve", |text| text.parse::<ResolveRule>().map_err(|e| e.to_string())),
            extra_roots_pem: reader.parsed_list("fetch.ca_files", |path| {
                std::fs::read(path).map_err(|error| format!("cannot read `{path}`: {error}"))
            }),
            prefer: match reader.choice("fetch.prefer", &["data", "pages"]) {
                "pages" => Preference::Pages,
                _ => Preference::Data,
            },
            headers: reader.parsed_list("fetch.headers", |text| {
                text.parse::<HeaderRule>().map_err(|error| error.to_string())
            }),
            auth: reader.parsed_list("fetch.auth", |text| {
                text.parse::<AuthRule>().map_err(|error| error.to_string())
            }),
            cookies: reader.boolean("fetch.cookies"),
            proxy: reader.optional_parsed("fetch.proxy", |text| {
                text.parse::<Proxy>().map_err(|error| error.to_string())
            }),
            unwanted_types: reader.parsed_list("fetch.unwanted_types", |text| {
                text.parse::<TypePattern>().map_err(|error| error.to_string())
            }),
            bandwidth: reader.optional_bytes("fetch.bandwidth").map(|bytes| bytes as u64),
            host_bandwidth: reader.optional_bytes("fetch.host_bandwidth").map(|bytes| bytes as u64),
            spill_body_bytes: reader.bytes("fetch.spill_bytes"),
            accept_language: reader.optional_text("fetch.accept_language"),
            redirects_max: reader.count("fetch.redirects_max"),
            header_bytes_max: u32::try_from(reader.bytes("fetch.header_bytes_max")).unwrap_or(u32::MAX),
            body_wire_bytes_max: reader.bytes("fetch.wire_bytes_max") as u64,
            body_bytes_max: reader.bytes("fetch.body_bytes_max") as u64,
            resolve_timeout: reader.duration("fetch.resolve_timeout"),
            connect_timeout: reader.duration("fetch.connect_timeout"),
            tls_timeout: reader.duration("fetch.tls_timeout"),
            headers_timeout: reader.duration("fetch.headers_timeout"),
            body_idle_timeout: reader.duration("fetch.body_idle_timeout"),
            body_timeout: reader.duration("fetch.body_timeout"),
            ..FetchConfig::default()
        };
        let (rules, services) = read_rules(&mut reader, &fetch);
        let transform = TransformConfig {
            grddl: reader.value("transform.grddl", "true, false, or a list of sites", as_grddl_sites),
            rules: Arc::new(rules),
            robots_agent: fetch.robots_agent.to_lowercase(),
            limits: Limits {
                time_max: reader.duration("transform.time_max"),
                html_depth_max: reader.count("transform.html_depth_max"),
                html_nodes_max: reader.count("transform.html_nodes_max"),
                json_depth_max: reader.count("transform.json_depth_max"),
                quads_max: reader.count("transform.quads_max"),
                text_bytes_max: reader.bytes("transform.text_bytes_max"),
                sitemap_links_max: reader.count("links.max_per_sitemap"),
                ..Limits::default()
            },
            ..TransformConfig::default()
        };
        let contexts = reader.boolean("transform.fetch_contexts").then(ContextLimits::default);
        let stored_links = match reader.choice("store.links", &["all", "external", "none"]) {
            "external" => StoredLinks::External,
            "none" => StoredLinks::None,
            _ => StoredLinks::All,
        };
        // A source's own site is part of what was asked for.
        let starts: Vec<PageUrl> =
            seeds.iter().chain(sources.iter().map(|source| &source.url)).cloned().collect();
        let links = read_links(&mut reader, &starts);
        let follow_seed_redirects = reader.boolean("scope.follow_seed_redirects");
        let stale_links = reader.boolean("links.from_stale_pages");
        let sitemaps = reader.boolean("links.sitemaps");
        let archive = read_archive(&mut reader);
        let work = WorkConfig {
            workers,
            connections: reader.count("work.connections").max(1),
            attempts_max,
            commit_pages_max: reader.count("work.commit_pages_max").max(1),
            commit_quads_max: reader.count("work.commit_quads_max").max(1),
            commit_age_max: reader.duration("work.commit_age_max"),
        };
        if !problems.is_empty() {
            return Err(SpecProblems(problems));
        }
        Ok(CrawlSpec {
            seeds,
            sources,
            frontier,
            fetch,
            transform,
            services,
            contexts,
            links,
            follow_seed_redirects,
            stored_links,
            stale_links,
            sitemaps,
            archive,
            work,
            written: self.table,
        })
    }
}

/// Stylesheets, services and commands. What is wrong with a rule names it.
fn read_rules(reader: &mut Reader<'_>, fetch: &FetchConfig) -> rules::Checked {
    let tables = reader.list("transform.rules", |value| Ok(value.clone()));
    rules::read_rules(&tables, fetch).unwrap_or_else(|problems| {
        problems.into_iter().for_each(|problem| reader.report("transform.rules", problem));
        rules::Checked::default()
    })
}

/// `true`, `false`, or a list of hosts.
fn as_grddl_sites(value: &Value) -> Option<GrddlSites> {
    match value {
        Value::Boolean(true) => Some(GrddlSites::All),
        Value::Boolean(false) => Some(GrddlSites::None),
        Value::Array(sites) => {
            let host = |site: &Value| Some(site.as_str()?.trim().trim_start_matches("*.").to_lowercase());
            sites.iter().map(host).collect::<Option<Vec<_>>>().map(GrddlSites::Sites)
        }
        _ => None,
    }
}

/// Pages of a domain by how many others link to it.
fn read_budget(reader: &mut Reader<'_>) -> Option<DomainBudget> {
    let per_linking_domain = reader.count("budget.per_linking_domain") as u64;
    reader.optional_count("budget.base").map(|base| DomainBudget { base: base as u64, per_linking_domain })
}

/// How what was received is kept.
fn read_archive(reader: &mut Reader<'_>) -> ArchiveSpec {
    let prefix = reader.text("archive.prefix");
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_');
    if prefix.is_empty() || prefix.len() > 64 || !prefix.chars().all(is_name) {
        reader.report("archive.prefix", format!("{prefix:?} is not valid; write letters, digits, - and _"));
    }
    let packing = match reader.choice("archive.compression", &["gzip", "zstd"]) {
        "zstd" => Packing::Zstd,
        _ => Packing::Gzip,
    };
    let dictionary = match reader.text("archive.dictionary").as_str() {
        "none" | "" => DictionarySetting::None,
        "train" => DictionarySetting::Train,
        path => DictionarySetting::File(path.into()),
    };
    if dictionary != DictionarySetting::None && packing != Packing::Zstd {
        let problem = "only zstd has dictionaries; set archive.compression to \"zstd\"";
        reader.report("archive.dictionary", problem.to_owned());
    }
    let store = Some(reader.text("archive.store")).filter(|url| !url.is_empty());
    if let Some(Err(problem)) = store.as_deref().map(Objects::parse) {
        reader.report("archive.store", problem.to_string());
    }
    ArchiveSpec {
        keep: match reader.choice("archive.keep", &["all", "data", "none"]) {
            "data" => Keep::Data,
            "none" => Keep::Nothing,
            _ => Keep::All,
        },
        packing,
        dictionary,
        file_bytes_max: reader.bytes("archive.rotate") as u64,
        free_bytes_min: reader.bytes("archive.min_free") as u64,
        prefix,
        store,
    }
}

/// Whether and when pages are visited again.
fn read_recrawl(reader: &mut Reader<'_>) -> Recrawl {
    let least = reader.duration("recrawl.interval");
    let most = reader.duration("recrawl.interval_max");
    match reader.choice("recrawl.policy", &["off", "fixed", "adaptive"]) {
        "fixed" => Recrawl::Every(least),
        "adaptive" => Recrawl::Adaptive { least, most },
        _ => Recrawl::Off,
    }
}

/// A source: `{ kind = "sparql", url = "…" }`, or `"sparql=…"`.
fn read_source(value: &Value) -> Result<SourceSpec, String> {
    let table = match value {
        Value::String(text) => return text.parse(),
        Value::Table(table) => table,
        other => {
            return Err(format!("{other} is no source; write {{ kind = \"sparql\", url = \"https://…\" }}"));
        }
    };
    if let Some(unknown) = table.keys().find(|key| !matches!(key.as_str(), "kind" | "url")) {
        return Err(format!("a source has no field `{unknown}`, only `kind` and `url`"));
    }
    let text = |key: &str| {
        table.get(key).and_then(Value::as_str).ok_or_else(|| format!("a source needs a `{key}` in quotes"))
    };
    SourceSpec::new(text("kind")?, text("url")?)
}

/// Scope, filters and link queries.
fn read_links(reader: &mut Reader<'_>, seeds: &[PageUrl]) -> LinkRules {
    let listed: Vec<String> = reader.parsed_list("scope.domains", |text| Ok(text.to_lowercase()));
    let mut scope = match reader.choice("scope.within", &["anywhere", "hosts", "domains"]) {
        "anywhere" => Scope::anywhere(),
        "hosts" => Scope::hosts_of(seeds),
        _ => Scope::domains_of(seeds),
    };
    match &mut scope.reach {
        Reach::Anywhere => {}
        Reach::Hosts(hosts) => listed.iter().for_each(|host| hosts.insert(host)),
        Reach::Domains(domains) => listed.iter().for_each(|domain| domains.insert(domain)),
    }
    let extensions: Vec<String> = reader.parsed_list("scope.skip_extensions", |text| Ok(text.to_owned()));
    scope.filters.extensions = extensions.iter().map(String::as_str).collect();
    scope.filters.traps = if reader.boolean("scope.traps") {
        let this_year =
            u32::try_from(jiff::Timestamp::now().to_zoned(jiff::tz::TimeZone::UTC).year()).unwrap_or(2100);
        TrapRules { years: Some(YEAR_FIRST..=this_year + 1), ..TrapRules::default() }
    } else {
        TrapRules::none()
    };
    let include: Vec<String> = reader.parsed_list("scope.include", |text| Ok(text.to_owned()));
    let exclude: Vec<String> = reader.parsed_list("scope.exclude", |text| Ok(text.to_owned()));
    match Patterns::new(&include, &exclude) {
        Ok(patterns) => scope.filters.patterns = patterns,
        Err(problem) => {
            let message = format!("`{}` is no regular expression: {}", problem.expression, problem.reason);
            reader.report(&format!("scope.{}", problem.list), message);
        }
    }
    let mut number = 0;
    let queries = reader.parsed_list("links.queries", |text| {
        number += 1;
        LinkQuery::parse(&number.to_string(), text)
            .map_err(|problem| short_reason(&problem.to_string()).to_owned())
    });
    let drop: Vec<String> = reader.parsed_list("links.drop_parameters", |text| Ok(text.to_owned()));
    LinkRules {
        queries,
        descriptions: reader.boolean("links.descriptions"),
        scope,
        drop_parameters: ParameterSet::new(drop.iter().map(String::as_str)),
        obey_nofollow: reader.boolean("politeness.obey_nofollow"),
        links_max: reader.count("links.max_per_page"),
        listed_links_max: reader.count("links.max_per_sitemap"),
        ..LinkRules::default()
    }
}

impl CrawlSpec {
    /// Parses and checks a specification.
    pub fn from_toml(text: &str) -> Result<Self, SpecProblems> {
        RawSpec::parse(text)?.check()
    }

    /// Whether transformations that pages name may be run, on whatever pages.
    pub fn wants_grddl(&self) -> bool {
        self.transform.grddl != GrddlSites::None || self.transform.rules.uses_grddl()
    }

    /// What was written, as TOML, to be kept beside the data so that a crawl can be resumed by its directory alone.
    pub fn written(&self) -> String {
        toml::to_string(&self.written).unwrap_or_default()
    }
}

/// The text of `config/default.toml`: every field with its documentation and default.
pub fn default_toml() -> String {
    let mut text = String::from(
        "# Every field of a crawl specification, with its default. Printed by `cargo xtask codegen`.\n\
         # Durations are written \"500ms\", \"1s\", \"2m\", \"1h\"; sizes \"64 KiB\", \"16 MiB\" or a number of bytes.\n",
    );
    let mut section = "";
    for field in FIELDS {
        let (field_section, name) = field.key.split_once('.').unwrap_or(("", field.key));
        if field_section != section {
            section = field_section;
            text.push_str(&format!("\n[{section}]\n"));
        }
        text.push('\n');
        for line in field.doc.lines() {
            text.push_str(format!("# {line}").trim_end());
            text.push('\n');
        }
        match field.default {
            Some(default) => text.push_str(&format!("{name} = {default}\n")),
            None => text.push_str(&format!("# {name} = {}\n", field.example)),
        }
    }
    text
}

fn lookup<'t>(table: &'t Table, key: &str) -> Option<&'t Value> {
    match key.split_once('.') {
        None => table.get(key),
        Some((section, name)) => table.get(section)?.as_table()?.get(name),
    }
}

fn refuse_unknown_keys(table: &Table, problems: &mut Vec<SpecProblem>) {
    let sections: BTreeMap<&str, Vec<&str>> = FIELDS.iter().fold(BTreeMap::new(), |mut sections, field| {
        let (section, name) = field.key.split_once('.').unwrap_or(("", field.key));
        sections.entry(section).or_insert_with(Vec::new).push(name);
        sections
    });
    let mut unknown = |key: String, near: Option<String>| {
        let message = match near {
            Some(near) => format!("there is no such field; did you mean `{near}`?"),
            None => "there is no such field; `webloom crawl --print-spec` lists them all".to_owned(),
        };
        problems.push(SpecProblem { key, message });
    };
    for (name, value) in table {
        match (sections.get(name.as_str()), value) {
            (Some(known), Value::Table(section)) => {
                for inner in section.keys().filter(|inner| !known.contains(&inner.as_str())) {
                    unknown(format!("{name}.{inner}"), nearest(&format!("{name}.{inner}")));
                }
            }
            _ if sections[""].contains(&name.as_str()) => {}
            _ => unknown(name.clone(), nearest(name)),
        }
    }
}

/// The known key nearest to a mistyped one, or nothing when none is near.
fn nearest(written: &str) -> Option<String> {
    let last = |key: &str| key.rsplit('.').next().unwrap_or_default().to_owned();
    let sections = FIELDS.iter().filter_map(|field| field.key.split_once('.').map(|(section, _)| section));
    FIELDS
        .iter()
        .map(|field| field.key)
        .chain(sections)
        .map(|known| {
            // A key under the wrong section is as near as one letter off.
            let by_name = if last(known) == last(written) {
                1
            } else {
                edit_distance(&last(known), &last(written)) + 1
            };
            (edit_distance(known, written).min(by_name), known)
        })
        .min()
        .filter(|(distance, known)| *distance <= 1 + known.len() / 4)
        .map(|(_, known)| known.to_owned())
}

/// The message of a SPARQL parser without the list of everything it would rather have seen, when that is long.
pub fn short_reason(message: &str) -> &str {
    const READABLE: usize = 120;
    match message.split_once(": expected one of") {
        Some((head, _)) if message.len() > READABLE => head,
        _ => message,
    }
}

/// Levenshtein distance.
fn edit_distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, ca) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, cb) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(ca != *cb);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

/// The field of that key.
fn field(key: &str) -> &'static Field {
    FIELDS
        .iter()
        .find(|field| field.key == key)
        .expect("every key that is read is in the table; a test reads them all")
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};

    use super::*;

    #[test]
    fn the_defaults_are_a_valid_specification() {
        let spec = CrawlSpec::from_toml(&default_toml()).unwrap();
        assert_eq!(spec.frontier.host_delay, Duration::from_secs(1));
        assert_eq!(spec.frontier.domain_delay, Duration::from_secs(1));
        assert!(!spec.fetch.allow_private);
        assert_eq!(CrawlSpec::from_toml("").unwrap().frontier.host_delay, spec.frontier.host_delay);
    }

    #[test]
    fn the_domain_delay_follows_the_host_delay_unless_it_is_given() {
        let delays = |text: &str| {
            let spec = CrawlSpec::from_toml(text).unwrap();
            (spec.frontier.host_delay.as_millis(), spec.frontier.domain_delay.as_millis())
        };
        assert_eq!(delays("[politeness]\ndelay = \"50ms\""), (50, 50));
        assert_eq!(delays("[politeness]\ndelay = \"2s\"\ndomain_delay = \"0s\""), (2000, 0));
    }

    #[test]
    fn what_was_written_can_be_read_again() {
        let spec = CrawlSpec::from_toml("seeds = [\"http://a.example/\"]\n[scope]\nmax_depth = 3\n").unwrap();
        let again = CrawlSpec::from_toml(&spec.written()).unwrap();
        assert_eq!(again.seeds, spec.seeds);
        assert_eq!(again.frontier.depth_max, Some(3));
    }

    #[test]
    fn further_seeds_join_the_first() {
        let mut raw = RawSpec::parse("seeds = [\"http://a.example/\"]").unwrap();
        raw.extend("seeds", &["http://b.example/".to_owned(), "http://a.example/".to_owned()]);
        let seeds: Vec<String> = raw.check().unwrap().seeds.into_iter().map(String::from).collect();
        assert_eq!(seeds, ["http://a.example/", "http://b.example/"]);
    }

    #[test]
    fn all_problems_are_reported_at_once() {
        check(
            r#"
            seeds = ["http://a.example/", "ftp://b.example/", 7]
            sedes = []
            [scope]
            within = "world"
            maxdepth = 3
            include = ["("]
            [politenes]
            delay = 1
            [politeness]
            delay = "soon"
            max_pages = 4
            [fetch]
            body_bytes_max = "lots"
            allow_private = "yes"
            resolve = ["nonsense"]
            [links]
            queries = ["SELECT ?x WHERE { ?x ?y"]
            "#,
            expect![[r#"
                `politenes`: there is no such field; did you mean `politeness`?
                `politeness.max_pages`: there is no such field; did you mean `scope.max_pages`?
                `scope.maxdepth`: there is no such field; did you mean `scope.max_depth`?
                `sedes`: there is no such field; did you mean `seeds`?
                `seeds`: `ftp://b.example/` cannot be crawled: the scheme is `ftp`, not http or https
                `seeds`: `7` is not a text in quotes
                `politeness.delay`: "soon" is not valid; write a duration of a day at most, such as "500ms", "1s" or "2m"
                `fetch.allow_private`: "yes" is not valid; write true or false
                `fetch.resolve`: `nonsense` is not a resolve rule: there is no `=`; write PATTERN=ADDRESS or PATTERN=ADDRESS:PORT
                `fetch.body_bytes_max`: "lots" is not valid; write a size such as "64 KiB" or "16 MiB", or a number of bytes
                `scope.within`: "world" is not valid; write one of "anywhere", "hosts", "domains"
                `scope.include`: `(` is no regular expression: unclosed group
                `links.queries`: link query `1`: error at 1:24"#]],
        );
    }

    #[test]
    fn broken_toml_names_the_line() {
        check(
            "seeds = [\n  \"http://a.example/\"\n[scope]\n",
            expect![[r#"
            TOML parse error at line 3, column 1
              |
            3 | [scope]
              | ^
            missing comma between array elements, expected `,`"#]],
        );
    }

    #[track_caller]
    fn check(text: &str, expected: Expect) {
        expected.assert_eq(&CrawlSpec::from_toml(text).unwrap_err().to_string());
    }
}
