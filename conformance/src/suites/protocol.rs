//! The SPARQL 1.1 Protocol and the Graph Store Protocol, against a real server on loopback.
//!
//! In: the manifests of `rdf-tests/sparql/sparql11/{protocol,graph-store-protocol,http-rdf-update}`. In the first two each case
//! is a list of requests in RDF, with the status, the boolean or the graph that is expected; in the last, requests and
//! responses are written out as text, and later cases look at what earlier ones left. The server's default graph is the one
//! without a name, as the suites have it, and every request carries the token. Start at [`run`].

use std::collections::HashMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use oxrdf::{NamedOrBlankNode, Quad, Term};
use oxrdfio::RdfFormat;
use webloom_index::DefaultGraph;
use webloom_server::{Registry, Server, ServerConfig};

use crate::Outcome;
use crate::graphs::{difference, isomorphic, read};

const MANIFEST: &str = "http://www.w3.org/2001/sw/DataAccess/tests/test-manifest#";
const HTTP: &str = "http://www.w3.org/2011/http#";
const CONTENT: &str = "http://www.w3.org/2011/content#";
const UPDATE: &str = "http://www.w3.org/2009/sparql/tests/test-update#";
const LABEL: &str = "http://www.w3.org/2000/01/rdf-schema#label";
const COMMENT: &str = "http://www.w3.org/2000/01/rdf-schema#comment";
const FIRST: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#first";
const REST: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#rest";
const NIL: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#nil";

/// Cases that fail, and why. All are of the deprecated list; those that took their place pass.
pub const KNOWN_FAILURES: &[(&str, &str)] = &[
    (
        "graph store (2013)/put__default_graph",
        "the graph without a name is always there, so a PUT answers 204, not 201",
    ),
    ("graph store (2013)/delete__existing_graph", "no case before it makes the graph that it deletes"),
    ("graph store (2013)/post__existing_graph", "its Turtle lacks the last dot"),
    ("graph store (2013)/get_of_post__existing_graph", "expects what an earlier PUT replaced"),
    ("graph store (2013)/post__multipart_formdata", "its Turtle lacks the last dot"),
    (
        "graph store (2013)/get_of_post__multipart_formdata",
        "expects what the cases before it could not write",
    ),
];

/// Runs all cases.
pub fn run(suites: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = suites.join("rdf-tests/sparql/sparql11");
    let store = tempfile::tempdir()?;
    let endpoint = Endpoint::start(store.path())?;
    let mut outcomes = Vec::new();
    for (group, file) in [
        ("sparql protocol", "protocol/manifest.ttl"),
        ("graph store protocol", "graph-store-protocol/manifest-direct.ttl"),
        ("graph store protocol", "graph-store-protocol/manifest-indirect.ttl"),
    ] {
        let manifest = Manifest::read(&folder.join(file))?;
        for case in manifest.cases()? {
            let result = endpoint.reset().and_then(|()| run_case(&endpoint, &manifest, &case));
            outcomes.push(Outcome {
                group: group.to_owned(),
                id: format!("{group}/{}", name_of(&case)),
                result: result.map_err(|error| format!("{error:#}")),
            });
        }
    }
    outcomes.extend(run_written_out(&endpoint, &folder.join("http-rdf-update/manifest.ttl"))?);
    Ok(outcomes)
}

/// A server for the cases.
struct Endpoint {
    address: SocketAddr,
    token: String,
    _runtime: tokio::runtime::Runtime,
}

impl Endpoint {
    fn start(data: &Path) -> anyhow::Result<Self> {
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
        let registry = Registry::of_one(data).map_err(|error| anyhow::anyhow!(error.message))?;
        let config = ServerConfig {
            listen: SocketAddr::from(([127, 0, 0, 1], 0)),
            default_graph: DefaultGraph::Unnamed,
            ..ServerConfig::default()
        };
        let server = runtime.block_on(Server::bind(config, Arc::new(registry), Vec::new()))?;
        let (address, token) = (server.address(), server.token().to_owned());
        runtime.spawn(server.run(std::future::pending()));
        Ok(Self { address, token, _runtime: runtime })
    }

    /// Leaves nothing of earlier cases.
    fn reset(&self) -> anyhow::Result<()> {
        let fields = [("content-type".to_owned(), "application/sparql-update".to_owned())];
        let answer = self.ask("POST", "/sparql", &fields, b"DROP ALL")?;
        ensure!(answer.status == 200, "the store cannot be emptied: {}", answer.status);
        Ok(())
    }

    fn ask(
        &self,
        method: &str,
        path: &str,
        fields: &[(String, String)],
        body: &[u8],
    ) -> anyhow::Result<Answer> {
        let mut head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {}\r\nConnection: close\r\nAuthorization: Bearer {}\r\nContent-Length: {}\r\n",
            self.address,
            self.token,
            body.len()
        );
        for (name, value) in fields {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut stream = TcpStream::connect(self.address)?;
        stream.set_read_timeout(Some(Duration::from_secs(30)))?;
        stream.write_all(head.as_bytes())?;
        stream.write_all(body)?;
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes)?;
        Answer::parse(&bytes)
    }
}

/// What the server answered.
struct Answer {
    status: u16,
    headers: HashMap<String, String>,
    body: Vec<u8>,
}

impl Answer {
    fn parse(bytes: &[u8]) -> anyhow::Result<Self> {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n").context("no answer")?;
        let head = String::from_utf8_lossy(&bytes[..end]).into_owned();
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).context("no status")?.parse()?;
        let headers: HashMap<String, String> = lines
            .filter_map(|line| line.split_once(':'))
            .map(|(name, value)| (name.to_ascii_lowercase(), value.trim().to_owned()))
            .collect();
        let mut body = bytes[end + 4..].to_vec();
        if headers.get("transfer-encoding").is_some_and(|coding| coding == "chunked") {
            body = unchunk(&body);
        }
        Ok(Self { status, headers, body })
    }

    fn media_type(&self) -> &str {
        let field = self.headers.get("content-type").map_or("", String::as_str);
        field.split(';').next().unwrap_or_default().trim()
    }

    /// The graph in the body.
    fn graph(&self, base: &str) -> anyhow::Result<Vec<Quad>> {
        let format = RdfFormat::from_media_type(self.media_type())
            .with_context(|| format!("the answer is `{}`, no graph", self.media_type()))?;
        read(format, base, &self.body)
    }

    /// The answer of an ASK, in JSON or XML.
    fn boolean(&self) -> anyhow::Result<bool> {
        let text = String::from_utf8_lossy(&self.body);
        let plain: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
        match () {
            () if plain.contains("\"boolean\":true") || plain.contains("<boolean>true") => Ok(true),
            () if plain.contains("\"boolean\":false") || plain.contains("<boolean>false") => Ok(false),
            () => bail!("no boolean: {text}"),
        }
    }
}

fn unchunk(mut bytes: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = bytes.windows(2).position(|window| window == b"\r\n") {
        let size = usize::from_str_radix(String::from_utf8_lossy(&bytes[..end]).trim(), 16).unwrap_or(0);
        if size == 0 || bytes.len() < end + 4 + size {
            break;
        }
        body.extend_from_slice(&bytes[end + 2..end + 2 + size]);
        bytes = &bytes[end + 4 + size..];
    }
    body
}

/// A manifest as a graph.
struct Manifest {
    statements: HashMap<(NamedOrBlankNode, String), Vec<Term>>,
    root: NamedOrBlankNode,
}

impl Manifest {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let base = format!("file://{}", file.canonicalize()?.display());
        let bytes = std::fs::read(file).with_context(|| format!("cannot read {}", file.display()))?;
        let mut statements: HashMap<_, Vec<Term>> = HashMap::new();
        for quad in read(RdfFormat::Turtle, &base, &bytes)? {
            statements.entry((quad.subject, quad.predicate.into_string())).or_default().push(quad.object);
        }
        Ok(Self { statements, root: oxrdf::NamedNode::new(base)?.into() })
    }

    fn all(&self, node: &NamedOrBlankNode, predicate: &str) -> &[Term] {
        self.statements.get(&(node.clone(), predicate.to_owned())).map_or(&[], Vec::as_slice)
    }

    fn node(&self, node: &NamedOrBlankNode, predicate: &str) -> Option<NamedOrBlankNode> {
        self.all(node, predicate).iter().find_map(node_of)
    }

    fn text(&self, node: &NamedOrBlankNode, predicate: &str) -> Option<&str> {
        self.all(node, predicate).iter().find_map(|term| match term {
            Term::Literal(literal) => Some(literal.value()),
            _ => None,
        })
    }

    fn list(&self, node: &NamedOrBlankNode, predicate: &str) -> Vec<NamedOrBlankNode> {
        let mut items = Vec::new();
        let mut rest = self.node(node, predicate);
        while let Some(cell) = rest {
            if matches!(&cell, NamedOrBlankNode::NamedNode(name) if name.as_str() == NIL) {
                break;
            }
            items.extend(self.node(&cell, FIRST));
            rest = self.node(&cell, REST);
        }
        items
    }

    fn cases(&self) -> anyhow::Result<Vec<NamedOrBlankNode>> {
        let cases = self.list(&self.root, &format!("{MANIFEST}entries"));
        ensure!(!cases.is_empty(), "the manifest {} names no cases", self.root);
        Ok(cases)
    }
}

fn node_of(term: &Term) -> Option<NamedOrBlankNode> {
    match term {
        Term::NamedNode(node) => Some(node.clone().into()),
        Term::BlankNode(node) => Some(node.clone().into()),
        Term::Literal(_) => None,
    }
}

fn name_of(node: &NamedOrBlankNode) -> String {
    let text = node.to_string();
    text.trim_end_matches('>').rsplit(['#', '/']).next().unwrap_or_default().to_owned()
}

fn run_case(endpoint: &Endpoint, manifest: &Manifest, case: &NamedOrBlankNode) -> anyhow::Result<()> {
    for data in manifest.all(case, &format!("{UPDATE}graphData")).iter().filter_map(node_of) {
        let Some(NamedOrBlankNode::NamedNode(file)) = manifest.node(&data, &format!("{UPDATE}graph")) else {
            bail!("graph data without a file");
        };
        let name = manifest.text(&data, LABEL).context("graph data without a name")?;
        let bytes = std::fs::read(file.as_str().trim_start_matches("file://"))?;
        let path = format!(
            "/store?graph={}",
            url::form_urlencoded::byte_serialize(name.as_bytes()).collect::<String>()
        );
        let fields = [("content-type".to_owned(), "application/n-triples".to_owned())];
        let put = endpoint.ask("PUT", &path, &fields, &bytes)?;
        ensure!(put.status < 300, "the data cannot be loaded: {}", put.status);
    }
    let action = manifest.node(case, &format!("{MANIFEST}action")).context("no action")?;
    // What a response calls its location stands for it in later requests.
    let mut places: Vec<(String, String)> = Vec::new();
    for (number, request) in manifest.list(&action, &format!("{HTTP}requests")).iter().enumerate() {
        run_request(endpoint, manifest, request, &mut places)
            .with_context(|| format!("request {}", number + 1))?;
    }
    Ok(())
}

fn fields_of(manifest: &Manifest, node: &NamedOrBlankNode) -> Vec<(String, String)> {
    manifest
        .list(node, &format!("{HTTP}headers"))
        .iter()
        .filter_map(|field| {
            let name = manifest.text(field, &format!("{HTTP}fieldName"))?.to_ascii_lowercase();
            Some((name, manifest.text(field, &format!("{HTTP}fieldValue"))?.to_owned()))
        })
        .collect()
}

/// The body of a request or a response, in the encoding it names.
fn body_of(manifest: &Manifest, node: &NamedOrBlankNode) -> Option<Vec<u8>> {
    let body = manifest.node(node, &format!("{HTTP}body"))?;
    let text = manifest.text(&body, &format!("{CONTENT}chars"))?;
    let encoding = manifest.text(&body, &format!("{CONTENT}characterEncoding")).unwrap_or("UTF-8");
    Some(match encoding {
        "UTF-16" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
        _ => text.as_bytes().to_vec(),
    })
}

fn run_request(
    endpoint: &Endpoint,
    manifest: &Manifest,
    request: &NamedOrBlankNode,
    places: &mut Vec<(String, String)>,
) -> anyhow::Result<()> {
    let here = format!("http://{}/store", endpoint.address);
    let encoded: String = url::form_urlencoded::byte_serialize(here.as_bytes()).collect();
    let localise = |text: &str, places: &[(String, String)]| {
        let mut text =
            text.replace("http://www.example/gsp", &here).replace("http%3A%2F%2Fwww.example%2Fgsp", &encoded);
        for (name, place) in places {
            text = text.replace(name.as_str(), place);
        }
        text
    };
    let method = manifest.text(request, &format!("{HTTP}methodName")).context("no method")?;
    let path = manifest.text(request, &format!("{HTTP}absolutePath")).context("no path")?;
    let path = localise(path, places);
    let path = match path.strip_prefix("/gsp") {
        Some(rest) => format!("/store{rest}"),
        None => path.strip_prefix(&format!("http://{}", endpoint.address)).unwrap_or(&path).to_owned(),
    };
    let body = body_of(manifest, request).unwrap_or_default();
    let body = match String::from_utf8(body) {
        Ok(text) => localise(&text, places).into_bytes(),
        Err(other) => other.into_bytes(),
    };
    let answer = endpoint.ask(method, &path, &fields_of(manifest, request), &body)?;
    let Some(response) = manifest.node(request, &format!("{HTTP}resp")) else { return Ok(()) };
    check_status(manifest, &response, &answer)?;
    if let Some(name) = manifest.text(&response, &format!("{MANIFEST}expectedLocation")) {
        let place = answer.headers.get("location").context("the answer has no Location")?;
        places.push((name.to_owned(), place.clone()));
    }
    match manifest.text(&response, &format!("{MANIFEST}expectedFormat")) {
        Some("boolean") => drop(answer.boolean()?),
        Some("tabular") => ensure!(
            ["json", "xml", "csv", "values"].iter().any(|piece| answer.media_type().contains(piece)),
            "no table: {}",
            answer.media_type()
        ),
        Some("RDF") => drop(answer.graph(&here)?),
        _ => {}
    }
    if let Some(expected) = manifest.text(&response, &format!("{MANIFEST}expectedBoolean")) {
        ensure!(answer.boolean()? == (expected == "true"), "the answer should be {expected}");
    }
    if let Some(expected) = body_of(manifest, &response) {
        let field = fields_of(manifest, &response).into_iter().find(|(name, _)| name == "content-type");
        let media_type = field.map_or_else(|| "text/turtle".to_owned(), |(_, value)| value);
        let format = RdfFormat::from_media_type(&media_type).context("an unknown format is expected")?;
        let expected = localise(&String::from_utf8_lossy(&expected), places);
        let expected = read(format, &here, expected.as_bytes())?;
        let got = answer.graph(&here)?;
        ensure!(isomorphic(&expected, &got), "{}", difference(&expected, &got));
    }
    Ok(())
}

/// Any of the statuses that are named will do.
fn check_status(manifest: &Manifest, response: &NamedOrBlankNode, answer: &Answer) -> anyhow::Result<()> {
    let expected: Vec<String> = manifest
        .all(response, &format!("{MANIFEST}expectedStatus"))
        .iter()
        .filter_map(node_of)
        .map(|node| name_of(&node))
        .collect();
    let fits = |name: &String| match name.as_str() {
        "StatusCode2xx" => answer.status / 100 == 2,
        "StatusCode3xx" => answer.status / 100 == 3,
        "StatusCode4xx" => answer.status / 100 == 4,
        "OK" => answer.status == 200,
        "Created" => answer.status == 201,
        "NoContent" => answer.status == 204,
        "NotFound" => answer.status == 404,
        _ => false,
    };
    ensure!(
        expected.is_empty() || expected.iter().any(fits),
        "status {}, expected {}: {}",
        answer.status,
        expected.join(" or "),
        String::from_utf8_lossy(&answer.body)
    );
    Ok(())
}

/// The older cases, whose requests and responses are text in a comment, in the order in which they build on each other.
fn run_written_out(endpoint: &Endpoint, file: &Path) -> anyhow::Result<Vec<Outcome>> {
    let manifest = Manifest::read(file)?;
    endpoint.reset()?;
    let mut place = String::new();
    let mut outcomes = Vec::new();
    for case in manifest.cases()? {
        let comments = manifest.all(&case, COMMENT).iter();
        let text = comments
            .filter_map(|term| match term {
                Term::Literal(literal) if literal.value().contains("#### Request") => Some(literal.value()),
                _ => None,
            })
            .next();
        let result = text
            .context("no request is written out")
            .and_then(|text| written_out(endpoint, text, &mut place));
        outcomes.push(Outcome {
            group: "graph store (2013)".to_owned(),
            id: format!("graph store (2013)/{}", name_of(&case)),
            result: result.map_err(|error| format!("{error:#}")),
        });
    }
    Ok(outcomes)
}

/// A message as written: a first line, fields, and a body.
struct Message {
    first: String,
    fields: Vec<(String, String)>,
    body: String,
}

impl Message {
    fn read(text: &str) -> Self {
        let lines = text.lines().map(|line| line.strip_prefix("    ").unwrap_or(line));
        let mut lines = lines.skip_while(|line| line.trim().is_empty());
        let first = lines.next().unwrap_or_default().trim().to_owned();
        let mut fields = Vec::new();
        for line in lines.by_ref() {
            match line.split_once(':') {
                Some((name, value)) if !line.trim().is_empty() => {
                    fields.push((name.trim().to_ascii_lowercase(), value.trim().to_owned()));
                }
                _ => break,
            }
        }
        // A message ends with a line end; parts of a form end with a whole one.
        let body: Vec<&str> = lines.collect();
        Self { first, fields, body: body.join("\r\n") }
    }
}

fn written_out(endpoint: &Endpoint, text: &str, place: &mut String) -> anyhow::Result<()> {
    let (request, response) = text.split_once("#### Response").context("no response is written out")?;
    let request = request.split_once("#### Request").map_or(request, |(_, rest)| rest);
    let host = endpoint.address.to_string();
    let localise = |text: &str, place: &str| {
        text.replace("$HOST$/$GRAPHSTORE$", &format!("{host}/store"))
            .replace("$HOST$$GRAPHSTORE$", &format!("{host}/store"))
            .replace("$GRAPHSTORE$", "/store")
            .replace("$HOST$", &host)
            .replace("$NEWPATH$", place)
    };
    let request = Message::read(&localise(request, place));
    let response = Message::read(&localise(response, place));
    let mut words = request.first.split_whitespace();
    let (method, path) = (words.next().unwrap_or_default(), words.next().context("no path")?);
    let path = path.strip_prefix(&format!("http://{host}")).unwrap_or(path);
    let ours = ["host", "content-length"];
    let fields: Vec<(String, String)> =
        request.fields.into_iter().filter(|(name, _)| !ours.contains(&name.as_str())).collect();
    let answer = endpoint.ask(method, path, &fields, request.body.as_bytes())?;
    let expected: u16 = response.first.split_whitespace().next().context("no status")?.parse()?;
    // Whether an answer without a body says 200 or 204 is the server's choice.
    let fits = answer.status == expected || matches!((expected, answer.status), (200, 204) | (204, 200));
    ensure!(fits, "status {}, expected {expected}: {}", answer.status, String::from_utf8_lossy(&answer.body));
    if let Some(location) = answer.headers.get("location") {
        *place = location.strip_prefix(&format!("http://{host}")).unwrap_or(location).to_owned();
    }
    let turtle = response
        .fields
        .iter()
        .any(|(name, value)| name == "content-type" && value.starts_with("text/turtle"));
    if turtle && method == "GET" && !response.body.trim().is_empty() {
        let base = format!("http://{host}{path}");
        let expected = read(RdfFormat::Turtle, &base, response.body.as_bytes())?;
        let got = answer.graph(&base)?;
        ensure!(isomorphic(&expected, &got), "{}", difference(&expected, &got));
    }
    Ok(())
}
