//! `webloom extract`: the quads of one page, from a file, standard input or the web.

use std::collections::{BTreeSet, HashSet};
use std::fs::File;
use std::io::{BufWriter, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use bytes::Bytes;
use clap::{Args, ValueEnum};
use oxjsonld::JsonLdProfileSet;
use oxrdf::{GraphName, Quad};
use oxrdfio::{RdfFormat, RdfSerializer};
use webloom_detect::{detect, detect_named};
use webloom_fetch::{
    FetchConfig, Fetcher, MemoryRobotsStore, ResolveRule, SystemResolver, Tape, decode_capped,
};
use webloom_index::IndexReader;
use webloom_model::{DetectedPage, Diagnostic, FetchOutcome, FetchedPage, PageGraph, PageUrl, SystemClock};
use webloom_pipeline::contexts::{ContextCache, ContextLimits, Kind, Turns};
use webloom_pipeline::replay::find_copy;
use webloom_pipeline::rules::{Services, ask_alone};
use webloom_pipeline::{DataDir, RawSpec};
use webloom_transform::{
    ContextSource, Syntax, TransformConfig, UnknownSyntax, microformats, transform_with,
};

use super::crawl::read_spec;
use crate::output::wrong_usage;

/// Longest input that is read; the rest is cut, with a diagnostic.
const INPUT_BYTES_MAX: u64 = 64 << 20;

/// Print the quads of one page.
///
/// Broken input is told by diagnostics on stderr; what could be read is printed all the same.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom extract page.html --base https://example.org/page
  webloom extract https://example.org/ --format turtle
  webloom extract --from-archive https://example.org/ --data webloom-data
  curl -s https://example.org/ | webloom extract - --base https://example.org/ --only jsonld
  webloom extract places.kml --xslt shipped:kml-to-rdf.xsl --only xslt
  webloom extract report.pdf --spec examples/services/crawl.toml        with the rules of a specification")]
pub struct Extract {
    /// A file, a URL, or - for standard input.
    #[arg(
        value_name = "FILE|URL|-",
        required_unless_present = "from_archive",
        default_value = "",
        hide_default_value = true
    )]
    input: String,
    /// The page of this URL as a crawl has archived it, in the directory of --data.
    #[arg(long, value_name = "URL", conflicts_with = "input")]
    from_archive: Option<String>,
    /// The data directory of that crawl.
    #[arg(long, value_name = "DIR", default_value = "webloom-data")]
    data: PathBuf,
    /// The URL of the page, for relative links and as its name.
    #[arg(long, value_name = "IRI")]
    base: Option<String>,
    /// The Content-Type it was served with.
    #[arg(long, value_name = "MIME")]
    content_type: Option<String>,
    /// Only these syntaxes: html, rdfa, microdata, jsonld, microformats, meta, feed, rdf, file, xslt, grddl.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    only: Vec<String>,
    /// How to print.
    #[arg(long, value_name = "FORMAT", value_enum, default_value_t = Format::Nquads)]
    format: Format,
    /// Answer fetches of IRIs that begin with PREFIX from files in DIR.
    #[arg(long, value_name = "PREFIX=DIR")]
    map: Vec<String>,
    /// Also what this XSLT 1.0 stylesheet makes of it: a file, or one that comes with us such as shipped:kml-to-rdf.xsl.
    #[arg(long, value_name = "STYLESHEET")]
    xslt: Option<String>,
    /// A parameter of the stylesheet, as a string. May be given often.
    #[arg(long, value_name = "NAME=VALUE", requires = "xslt")]
    param: Vec<String>,
    /// Read it as a crawl with this specification would: its rules, services and limits.
    #[arg(long, value_name = "FILE")]
    spec: Option<PathBuf>,
    /// Fetch the JSON-LD contexts that a file names. For a page from the web this is always done.
    #[arg(long)]
    fetch_contexts: bool,
    /// Put the page's URL as graph; without it triples print in the default graph.
    #[arg(long)]
    context_graph: bool,
    /// Print RDFa's processor graph too: what its processor noticed, as triples.
    #[arg(long)]
    processor_graph: bool,
    /// Add what the vocabularies that RDFa names say of their properties and classes (they are read through --map).
    #[arg(long)]
    vocab_expansion: bool,
    /// Fetch from private and loopback addresses too.
    #[arg(long)]
    allow_private: bool,
    /// Where hosts are, instead of asking DNS: HOST=ADDRESS[:PORT].
    #[arg(long, value_name = "RULE")]
    resolve: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Format {
    Nquads,
    Turtle,
    Trig,
    Jsonld,
    Json,
    /// Microformats alone, as the canonical JSON of microformats2.
    Mf2,
}

impl Extract {
    pub fn run(self) -> anyhow::Result<()> {
        let rules = self.rules()?;
        let mut config = self.transform_config(rules.transform)?;
        let clock = Arc::new(SystemClock);
        let limits = ContextLimits::default();
        let documents = Arc::new(ContextCache::of(
            Kind::Documents,
            limits.clone(),
            config.contexts.clone(),
            clock.clone(),
        ));
        let contexts = Arc::new(ContextCache::new(limits, documents.clone(), clock));
        config.contexts = contexts.clone();
        let online = (!self.is_local() || self.fetch_contexts).then(|| self.go_online()).transpose()?;
        let page = match &self.from_archive {
            Some(url) => self.archived(url)?,
            None => self.page(online.as_ref())?,
        };
        let detected = if self.is_local() && self.from_archive.is_none() {
            // The file's extension is a hint, whatever the page is called.
            detect_named(page, &self.input)
        } else {
            detect(page)
        };
        if self.format == Format::Mf2 {
            return print_microformats(&detected, &config);
        }
        let answers = runtime()?.block_on(ask_alone(&detected, &config, &rules.services));
        let mut graph = transform_with(&detected, &config, &answers);
        if let Some(online) = &online {
            let (mut contexts_tried, mut documents_tried) = (HashSet::new(), HashSet::new());
            // What is fetched can name more, which is missed only once it is there.
            loop {
                let new_contexts = contexts.untried(&graph.missing, &mut contexts_tried);
                let new_documents = documents.untried(&graph.missing_documents, &mut documents_tried);
                let gained =
                    online.obtain(&contexts, &new_contexts) | online.obtain(&documents, &new_documents);
                if !gained {
                    break;
                }
                graph = transform_with(&detected, &config, &answers);
            }
        }
        let mut diagnostics = detected.page.diagnostics.clone();
        diagnostics.append(&mut graph.diagnostics);
        for diagnostic in &diagnostics {
            eprintln!("{diagnostic}");
        }
        let mut out = BufWriter::new(std::io::stdout().lock());
        self.print(&detected, graph, &diagnostics, &mut out)?;
        out.flush()?;
        Ok(())
    }

    /// The rules of the specification, and one for the stylesheet.
    fn rules(&self) -> anyhow::Result<RuleSet> {
        if self.spec.is_none() && self.xslt.is_none() {
            return Ok(RuleSet::default());
        }
        let mut raw = match &self.spec {
            Some(file) => read_spec(file)?,
            None => RawSpec::default(),
        };
        if let Some(stylesheet) = &self.xslt {
            let params = self.param.iter().map(|parameter| match parameter.split_once('=') {
                Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
                _ => Err(wrong_usage(format!("--param {parameter} is not of the form NAME=VALUE"))),
            });
            raw.push_stylesheet("--xslt", stylesheet, &params.collect::<anyhow::Result<Vec<_>>>()?);
        }
        let spec = raw.check().map_err(|problems| wrong_usage(problems.to_string()))?;
        Ok(RuleSet { transform: spec.transform, services: spec.services })
    }

    fn transform_config(&self, base: TransformConfig) -> anyhow::Result<TransformConfig> {
        let mut config = TransformConfig {
            processor_graph: self.processor_graph,
            vocab_expansion: self.vocab_expansion,
            ..base
        };
        if !self.only.is_empty() {
            let syntaxes: BTreeSet<Syntax> = self
                .only
                .iter()
                .map(|name| {
                    name.parse().map_err(|unknown: UnknownSyntax| wrong_usage(format!("--only {unknown}")))
                })
                .collect::<anyhow::Result<_>>()?;
            config.only = Some(syntaxes);
        }
        if !self.map.is_empty() {
            let maps = self.maps()?;
            config.contexts = Arc::new(MappedContexts { maps, others: config.contexts.clone() });
        }
        Ok(config)
    }

    fn is_local(&self) -> bool {
        !self.input.starts_with("http://") && !self.input.starts_with("https://")
    }

    /// The rules of --map.
    fn maps(&self) -> anyhow::Result<Vec<(String, PathBuf)>> {
        let rules = self.map.iter().map(|rule| {
            rule.rsplit_once('=')
                .map(|(prefix, dir)| (prefix.to_owned(), PathBuf::from(dir)))
                .ok_or_else(|| wrong_usage(format!("--map {rule}: write PREFIX=DIR")))
        });
        rules.collect()
    }

    /// Reads or fetches the page.
    fn page(&self, online: Option<&Online>) -> anyhow::Result<FetchedPage> {
        let maps = if self.is_local() { Vec::new() } else { self.maps()? };
        let mapped = mapped_files(&maps, &self.input).find(|file| file.is_file());
        if let Some(online) = online.filter(|_| mapped.is_none() && !self.is_local()) {
            let mut page = self.fetch(online)?;
            if let Some(content_type) = &self.content_type {
                page.headers.retain(|(name, _)| name != "content-type");
                page.headers.push(("content-type".to_owned(), content_type.clone()));
            }
            if let Some(base) = &self.base {
                page.url = named(base)?;
            }
            return Ok(page);
        }
        let input = read_input(mapped.as_deref().unwrap_or(Path::new(&self.input)))?;
        let url = match (&self.base, mapped) {
            (Some(base), _) => named(base)?,
            (None, Some(_)) => named(&self.input)?,
            (None, None) => named(&file_url(&self.input)?)?,
        };
        let mut page = FetchedPage::local(url, self.content_type.as_deref(), Bytes::from(input.body));
        page.diagnostics = input.diagnostics;
        Ok(page)
    }

    /// The page as it was archived.
    fn archived(&self, url: &str) -> anyhow::Result<FetchedPage> {
        let url = PageUrl::parse(url).map_err(|problem| wrong_usage(problem.to_string()))?;
        let data = DataDir::new(&self.data);
        let snapshot = match data.has_index() {
            true => Some(IndexReader::open(&data.index())?.snapshot()?),
            false => None,
        };
        let copy = find_copy(&data, snapshot.as_ref(), &url, None, INPUT_BYTES_MAX)?
            .with_context(|| format!("no copy of <{url}> is in `{}`", self.data.display()))?;
        let status = copy.answer.http.status().unwrap_or_default();
        if !(200..300).contains(&status) {
            bail!("the archived answer of <{url}> is no page: it has the status {status}");
        }
        Ok(copy.page(&url, INPUT_BYTES_MAX))
    }

    /// Sets up what fetches pages and contexts.
    fn go_online(&self) -> anyhow::Result<Online> {
        let resolve = self
            .resolve
            .iter()
            .map(|rule| {
                rule.parse::<ResolveRule>().map_err(|error| wrong_usage(format!("--resolve {rule}: {error}")))
            })
            .collect::<anyhow::Result<_>>()?;
        let config = FetchConfig { allow_private: self.allow_private, resolve, ..FetchConfig::default() };
        let runtime = runtime()?;
        let fetcher = runtime.block_on(async {
            let resolver = Arc::new(SystemResolver::new()?);
            let robots = Arc::new(MemoryRobotsStore::default());
            anyhow::Ok(Fetcher::new(config, resolver, robots, Arc::new(SystemClock))?)
        })?;
        Ok(Online { runtime, fetcher })
    }

    fn fetch(&self, online: &Online) -> anyhow::Result<FetchedPage> {
        let url = PageUrl::parse(&self.input).map_err(|problem| wrong_usage(problem.to_string()))?;
        let followed = online.runtime.block_on(online.fetcher.fetch_once(&url));
        match followed.outcome {
            FetchOutcome::Fetched(page) => Ok(*page),
            FetchOutcome::NotFetched(reason) => bail!("<{}>: {reason}", followed.url),
            FetchOutcome::Failed(error) => bail!("<{}>: {error}", followed.url),
            FetchOutcome::Redirected(_) | FetchOutcome::Unchanged(_) | FetchOutcome::RobotsFirst => {
                bail!("<{}>: no page", followed.url)
            }
        }
    }

    fn print(
        &self,
        detected: &DetectedPage,
        graph: PageGraph,
        diagnostics: &[Diagnostic],
        out: &mut impl Write,
    ) -> anyhow::Result<()> {
        let url = &detected.page.url;
        let text = graph.text;
        let mut quads =
            if self.context_graph { PageGraph::into_page_graph(graph.quads, url) } else { graph.quads };
        let format = match self.format {
            Format::Json => {
                let json = serde_json::json!({
                    "url": url.as_str(),
                    "detection": detected.detection,
                    "title": text.title,
                    "language": text.language,
                    "diagnostics": diagnostics,
                    "quads": quads.iter().map(ToString::to_string).collect::<Vec<_>>(),
                });
                writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
                return Ok(());
            }
            // They are no quads; `run` has printed them.
            Format::Mf2 => return Ok(()),
            Format::Nquads => RdfFormat::NQuads,
            Format::Trig => RdfFormat::TriG,
            Format::Jsonld => RdfFormat::JsonLd { profile: JsonLdProfileSet::empty() },
            Format::Turtle => {
                // Turtle has no named graphs; their triples are printed with the others.
                quads.iter_mut().for_each(|quad| quad.graph_name = GraphName::DefaultGraph);
                RdfFormat::Turtle
            }
        };
        write_quads(quads, format, out)
    }
}

/// How pages are read, and who is asked about them.
#[derive(Default)]
struct RuleSet {
    transform: TransformConfig,
    services: Services,
}

fn runtime() -> anyhow::Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_current_thread().enable_all().build()?)
}

/// Prints the microformats of a page, which are no quads.
fn print_microformats(detected: &DetectedPage, config: &TransformConfig) -> anyhow::Result<()> {
    let (found, diagnostics) = microformats(detected, config);
    for diagnostic in detected.page.diagnostics.iter().chain(&diagnostics) {
        eprintln!("{diagnostic}");
    }
    let mut out = BufWriter::new(std::io::stdout().lock());
    serde_json::to_writer_pretty(&mut out, &found)?;
    writeln!(out)?;
    out.flush()?;
    Ok(())
}

/// What fetches, and what it runs on.
struct Online {
    runtime: tokio::runtime::Runtime,
    fetcher: Fetcher,
}

impl Online {
    /// Asks for contexts; true when at least one of them is known now.
    fn obtain(&self, contexts: &ContextCache, missing: &[String]) -> bool {
        let turns = Turns::Pause(self.fetcher.config().follow_delay);
        self.runtime.block_on(contexts.obtain(missing, &self.fetcher, turns, &mut Tape::off()))
    }
}

/// Serialises with the prefixes people expect.
fn write_quads(quads: Vec<Quad>, format: RdfFormat, out: &mut impl Write) -> anyhow::Result<()> {
    let mut serializer = RdfSerializer::from_format(format);
    for (prefix, namespace) in PREFIXES {
        if quads.iter().any(|quad| uses(quad, namespace)) {
            serializer = serializer.with_prefix(prefix, namespace)?;
        }
    }
    let mut writer = serializer.for_writer(&mut *out);
    for quad in &quads {
        writer.serialize_quad(quad)?;
    }
    writer.finish()?;
    Ok(())
}

const PREFIXES: [(&str, &str); 7] = [
    ("dcterms", "http://purl.org/dc/terms/"),
    ("foaf", "http://xmlns.com/foaf/0.1/"),
    ("rdfs", "http://www.w3.org/2000/01/rdf-schema#"),
    ("schema", "http://schema.org/"),
    ("xsd", "http://www.w3.org/2001/XMLSchema#"),
    ("xhv", "http://www.w3.org/1999/xhtml/vocab#"),
    ("owl", "http://www.w3.org/2002/07/owl#"),
];

fn uses(quad: &Quad, namespace: &str) -> bool {
    quad.predicate.as_str().starts_with(namespace)
        || matches!(&quad.object, oxrdf::Term::NamedNode(node) if node.as_str().starts_with(namespace))
        || matches!(&quad.object, oxrdf::Term::Literal(literal) if literal.datatype().as_str().starts_with(namespace))
}

fn named(iri: &str) -> anyhow::Result<PageUrl> {
    PageUrl::for_local_document(iri).map_err(|problem| wrong_usage(format!("--base {iri}: {problem}")))
}

/// The `file:` URL of a path, which is the page's name when no other is given.
fn file_url(path: &str) -> anyhow::Result<String> {
    if path == "-" {
        return Ok("file:///dev/stdin".to_owned());
    }
    let absolute = std::path::absolute(path).with_context(|| format!("cannot name `{path}`"))?;
    let mut url = String::from("file://");
    for byte in absolute.to_string_lossy().bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'-' | b'.' | b'_' | b'~' => {
                url.push(char::from(byte));
            }
            other => url.push_str(&format!("%{other:02X}")),
        }
    }
    Ok(url)
}

/// Bytes of a local document, cut as they would be from the web.
pub struct Input {
    /// The bytes.
    pub body: Vec<u8>,
    /// What was wrong with them.
    pub diagnostics: Vec<Diagnostic>,
}

/// Reads a file or standard input, within the cap; files in zstd are decompressed.
pub fn read_input(path: &Path) -> anyhow::Result<Input> {
    let mut body = Vec::new();
    let read = if path == Path::new("-") {
        std::io::stdin().lock().take(INPUT_BYTES_MAX + 1).read_to_end(&mut body)
    } else {
        File::open(path).and_then(|file| file.take(INPUT_BYTES_MAX + 1).read_to_end(&mut body))
    };
    read.with_context(|| format!("cannot read `{}`", path.display()))?;
    let mut diagnostics = Vec::new();
    if body.len() as u64 > INPUT_BYTES_MAX {
        body.truncate(INPUT_BYTES_MAX as usize);
        diagnostics.push(Diagnostic::warning(
            "body-cut",
            format!("only the first {INPUT_BYTES_MAX} bytes were read"),
        ));
    }
    // Files in gzip are unpacked where they are detected, as those from the web are.
    if !body.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
        return Ok(Input { body, diagnostics });
    }
    let mut decoded = decode_capped("zstd", &body, INPUT_BYTES_MAX);
    diagnostics.append(&mut decoded.diagnostics);
    Ok(Input { body: decoded.bytes, diagnostics })
}

/// Contexts from directories named on the command line, then from wherever else.
#[derive(Debug)]
struct MappedContexts {
    maps: Vec<(String, PathBuf)>,
    others: Arc<dyn ContextSource>,
}

impl MappedContexts {
    /// The file that answers for an IRI, with one of the endings a server would leave off.
    fn file(&self, iri: &str, endings: &[&str]) -> Option<Arc<str>> {
        mapped_files(&self.maps, iri).find_map(|file| {
            endings.iter().find_map(|ending| {
                let mut name = file.clone().into_os_string();
                name.push(ending);
                std::fs::read_to_string(name).ok().map(Arc::from)
            })
        })
    }
}

/// The files that may answer for an IRI by the rules of --map.
fn mapped_files(maps: &[(String, PathBuf)], iri: &str) -> impl Iterator<Item = PathBuf> {
    let matching =
        maps.iter().filter_map(move |(prefix, dir)| Some((iri.strip_prefix(prefix.as_str())?, dir)));
    matching.filter_map(|(rest, dir)| {
        let rest = rest.split(['?', '#']).next().unwrap_or_default();
        // Nothing outside the directory, whatever the IRI says.
        let inside = Path::new(rest)
            .components()
            .all(|part| matches!(part, std::path::Component::Normal(_) | std::path::Component::CurDir));
        inside.then(|| if rest.is_empty() { dir.clone() } else { dir.join(rest) })
    })
}

impl ContextSource for MappedContexts {
    fn context(&self, iri: &str) -> Option<Arc<str>> {
        self.file(iri, &[""]).or_else(|| self.others.context(iri))
    }

    fn vocabulary(&self, iri: &str) -> Option<Arc<str>> {
        self.file(iri, &["", ".ttl", ".rdf", ".owl", ".nt", ".html", ".xhtml"])
            .or_else(|| self.others.vocabulary(iri))
    }

    fn document(&self, iri: &str) -> Option<Arc<str>> {
        self.file(iri, &["", ".xsl", ".xslt", ".rdf", ".xhtml", ".html", ".xml", ".ttl"])
            .or_else(|| self.others.document(iri))
    }
}
