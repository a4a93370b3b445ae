//! Rules in a crawl: stylesheets, services, commands, chains and GRDDL, over a web on loopback; and a service that is slow.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use webloom_pipeline::crawl::CrawlEnd;
use webloom_pipeline::{Crawl, CrawlSpec, DataDir, Stop};
use webloom_testkit::{Answer, Request, ServerOptions, WebServer};

const RDF: &str = r#"xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#""#;
const TERMS: &str = "http://sea.example/terms#";

fn stylesheet(inside: &str) -> String {
    format!(
        r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" {RDF} xmlns:t="{TERMS}"
           xmlns:h="http://www.w3.org/1999/xhtml" exclude-result-prefixes="h">
           <xsl:param name="page-url"/><xsl:param name="fetch-time"/><xsl:param name="station"/>{inside}</xsl:stylesheet>"#
    )
}

/// A web of one host, and services on others.
fn web(request: &Request) -> Answer {
    let host = request.host.as_str();
    match (host, request.path()) {
        (_, "/robots.txt") => Answer::not_found(),
        ("sea.example", "/") => Answer::html(
            "<p class=depth>7 <b>fathoms<p><a href=/tides.xml>tides</a> <a href=/buoy.png>buoy</a> <a href=/log.bin>log</a>\
             <a href=/strange.bin>strange</a> <a href=/chart.xml>chart</a> <a href=/named.xml>named</a>",
        ),
        ("sea.example", "/tides.xml") => Answer::new(
            "application/xml",
            r#"<tides xmlns="http://sea.example/tides"><high at="7"/></tides>"#,
        ),
        ("sea.example", "/buoy.png") => Answer::new("image/png", &b"\x89PNG\r\n\x1a\nbuoy"[..]),
        ("sea.example", "/log.bin" | "/strange.bin") => Answer::new("application/x-log", &b"\x01\x02log"[..]),
        ("sea.example", "/chart.xml") => Answer::new("application/xml", "<chart><place>Kiel</place></chart>"),
        ("sea.example", "/named.xml") => Answer::new(
            "application/xml",
            r#"<n xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="http://far.example/n.xsl"/>"#,
        ),
        ("far.example", "/n.xsl") => Answer::new(
            "application/xslt+xml",
            stylesheet(
                r#"<xsl:include href="part.xsl"/><xsl:template match="/"><xsl:call-template name="part"/></xsl:template>"#,
            ),
        ),
        ("far.example", "/part.xsl") => Answer::new(
            "application/xslt+xml",
            format!(
                r#"<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform" {RDF} xmlns:t="{TERMS}"><xsl:template name="part"><rdf:RDF><rdf:Description rdf:about=""><t:named>by GRDDL</t:named></rdf:Description></rdf:RDF></xsl:template></xsl:stylesheet>"#
            ),
        ),
        // The services. What they are sent, they must be told.
        (_, "/images") => {
            assert_eq!(request.header("webloom-page-url"), Some("http://sea.example/buoy.png"));
            assert_eq!(request.header("content-type"), Some("image/png"));
            assert!(request.header("authorization").is_none() && request.header("x-key").is_none());
            Answer::new("application/ld+json", format!(r#"{{"@id": "", "{TERMS}buoy": "red"}}"#))
        }
        (_, "/garbage") => Answer::new("text/turtle", &b"\xff\xfe\x00\x01garbage"[..]),
        _ => Answer::not_found(),
    }
}

/// Crawls from the seeds with these rules; what the pages say in our terms, and the crawl.
async fn crawl(folder: &Path, server: &WebServer, more: &str) -> (Vec<String>, Arc<Crawl>) {
    let text = format!(
        "seeds = [\"http://sea.example/\"]\n[scope]\nskip_extensions = []\n[politeness]\ndelay = \"0s\"\n\
         [fetch]\nallow_private = true\nresolve = [\"{}\"]\nauth = [\"*=user:secret\"]\nheaders = [\"*=X-Key: secret\"]\n{more}",
        server.resolve_rule(),
    );
    let spec = CrawlSpec::from_toml(&text).unwrap_or_else(|problems| panic!("{problems}"));
    let crawl = Arc::new(Crawl::open(&DataDir::new(folder.join("data")), spec).unwrap());
    let (_stop, stopped) = watch::channel(Stop::No);
    assert_eq!(crawl.clone().run(stopped).await.unwrap().end, CrawlEnd::Complete);
    let quads = crawl.index().snapshot().quads().unwrap().map(Result::unwrap);
    let mut said: Vec<String> = quads
        .filter(|quad| quad.predicate.as_str().starts_with(TERMS))
        .map(|quad| format!("{} {} {}", quad.subject, &quad.predicate.as_str()[TERMS.len()..], quad.object))
        .collect();
    said.sort();
    (said, crawl)
}

#[tokio::test(flavor = "multi_thread")]
async fn everything_becomes_rdf() {
    let server = WebServer::start(web, ServerOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: String| std::fs::write(folder.path().join(name), text).unwrap();
    write(
        "tides.xsl",
        stylesheet(
            r#"<xsl:template match="/"><rdf:RDF><rdf:Description rdf:about="{$page-url}"><t:high xmlns:s="http://sea.example/tides"><xsl:value-of select="concat(//s:high/@at, ' ', $station, ' ', string-length($fetch-time) &gt; 10)"/></t:high></rdf:Description></rdf:RDF></xsl:template>"#,
        ),
    );
    // HTML is XHTML by then, however it was written.
    write(
        "depth.xsl",
        stylesheet(
            r#"<xsl:output method="text"/><xsl:template match="/">&lt;<xsl:value-of select="$page-url"/>&gt; &lt;http://sea.example/terms#depth&gt; "<xsl:value-of select="//h:p[@class='depth']"/>" .</xsl:template>"#,
        ),
    );
    write(
        "log.xsl",
        stylesheet(
            r#"<xsl:template match="/log"><rdf:RDF><rdf:Description rdf:about=""><t:log><xsl:value-of select="."/></t:log></rdf:Description></rdf:RDF></xsl:template>"#,
        ),
    );
    write(
        "chart.xsl",
        stylesheet(
            r#"<xsl:template match="/"><n xmlns:g="http://www.w3.org/2003/g/data-view#" g:transformation="http://far.example/n.xsl"/></xsl:template>"#,
        ),
    );
    let (path, port) = (folder.path().display(), server.port());
    let rules = format!(
        r#"
        [transform]
        grddl = ["sea.example"]
        [[transform.rules]]
        name = "tides"
        namespace = "http://sea.example/*"
        stylesheet = "{path}/tides.xsl"
        params = {{ station = "Kiel" }}
        [[transform.rules]]
        name = "depth"
        type = "html"
        stylesheet = "{path}/depth.xsl"
        output = "n-triples"
        [[transform.rules]]
        name = "images"
        media_type = "image/*"
        service = "http://127.0.0.1:{port}/images"
        [[transform.rules]]
        name = "log"
        url = "/log"
        command = ["sh", "-c", "echo \"<log>$(wc -c) bytes</log>\""]
        then = "log to RDF"
        [[transform.rules]]
        name = "log to RDF"
        stylesheet = "{path}/log.xsl"
        [[transform.rules]]
        name = "strange"
        url = "/strange"
        service = "http://127.0.0.1:{port}/garbage"
        [[transform.rules]]
        name = "chart"
        root = "chart"
        stylesheet = "{path}/chart.xsl"
        then = ["as named"]
        [[transform.rules]]
        name = "as named"
        grddl = true
        "#
    );
    let (said, crawl) = crawl(folder.path(), &server, &rules).await;
    assert_eq!(
        said,
        [
            r#"<http://sea.example/> depth "7 fathoms""#,
            r#"<http://sea.example/buoy.png> buoy "red""#,
            r#"<http://sea.example/chart.xml> named "by GRDDL""#,
            r#"<http://sea.example/log.bin> log "5 bytes""#,
            r#"<http://sea.example/named.xml> named "by GRDDL""#,
            r#"<http://sea.example/tides.xml> high "7 Kiel true""#,
        ]
    );
    // What was done is known, step by step, and what was garbage is told.
    let meta: Vec<String> =
        crawl.index().snapshot().quads().unwrap().map(|quad| quad.unwrap().to_string()).collect();
    let tells = |word: &str| meta.iter().any(|quad| quad.contains(word));
    assert!(tells("\"service images\"") && tells("\"stylesheet log.xsl\"") && tells("\"result-binary\""));
    let steps = crawl.counters().steps();
    let log = steps[&("log".to_owned(), "command log".to_owned())];
    assert_eq!((log.pages, log.failed, log.bytes), (1, 0, 19));
    let services = crawl.counters().services();
    assert_eq!(services.len(), 3);
    // Transformations come politely: each once, after the robots.txt of their host.
    let requests = server.log().requests();
    for address in
        ["http://far.example/robots.txt", "http://far.example/n.xsl", "http://far.example/part.xsl"]
    {
        assert_eq!(requests.count(address), 1, "{address}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_is_gone_costs_its_pages_a_diagnostic() {
    let server = WebServer::start(web, ServerOptions::default()).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let rules = "[[transform.rules]]\nname = \"gone\"\nalways = true\nservice = \"http://127.0.0.1:1/\"\nattempts = 1\nbreaker_failures = 2\n";
    let (said, crawl) = crawl(folder.path(), &server, rules).await;
    assert!(said.is_empty());
    let quads: Vec<String> =
        crawl.index().snapshot().quads().unwrap().map(|quad| quad.unwrap().to_string()).collect();
    let told = |code: &str| quads.iter().filter(|quad| quad.contains(&format!("\"{code}\""))).count();
    // Every page is kept; after two failures the others do not wait for a third.
    assert_eq!(told("service-failed") + told("service-open"), 7);
    assert!(told("service-open") >= 1);
    assert_eq!(quads.iter().filter(|quad| quad.contains("outcome> \"indexed\"")).count(), 7);
}

/// Hosts, and pages of each, of which one in five is for the service.
const HOSTS: usize = 20;
const PAGES: usize = 45;

/// A web of many pages, and a service of which one address may be slow.
fn busy_web(slow: Option<Duration>) -> impl Fn(&Request) -> Answer + Send + Sync {
    move |request| {
        if request.host.starts_with("127.") {
            let turtle = Answer::new("text/turtle", "<> <http://sea.example/terms#seen> true .");
            return match slow {
                Some(slow) if request.host == "127.0.0.3" => turtle.after(slow),
                _ => turtle.after(Duration::from_millis(20)),
            };
        }
        match request.path() {
            "/robots.txt" => Answer::not_found(),
            "/" => {
                let link = |page: usize| {
                    let ending = if page.is_multiple_of(5) { "dat" } else { "html" };
                    format!("<a href=/{page}.{ending}>{page}</a>")
                };
                let hosts = (0..HOSTS).map(|host| format!("<a href=http://h{host}.example/>{host}</a>"));
                Answer::html((1..PAGES).map(link).chain(hosts).collect::<String>())
            }
            path if path.ends_with(".dat") => Answer::new("application/x-data", "data"),
            _ => Answer::html("<p>a page"),
        }
    }
}

/// Pages per second that were settled, those that the slow address kept left out.
async fn throughput(slow: Option<Duration>, delay: Duration) -> f64 {
    let options = ServerOptions { tls: false, ..ServerOptions::default() };
    let server = WebServer::start(busy_web(slow), options).await.unwrap();
    let folder = tempfile::tempdir().unwrap();
    let addresses: Vec<String> =
        (1..=3).map(|number| format!("\"http://127.0.0.{number}:{}/\"", server.port())).collect();
    let text = format!(
        "seeds = [\"http://h0.example/\"]\n[scope]\nwithin = \"anywhere\"\n[politeness]\ndelay = \"{}ms\"\nip_delay = \"0s\"\ndomain_delay = \"0s\"\n\
         [fetch]\nallow_private = true\nresolve = [\"{}\"]\n[links]\nfrom_stale_pages = true\n[work]\ncommit_age_max = \"20ms\"\n\
         [[transform.rules]]\nname = \"data\"\nurl = '\\.dat$'\nservice = [{}]\n",
        delay.as_millis(),
        server.resolve_rule(),
        addresses.join(", "),
    );
    let crawl =
        Arc::new(Crawl::open(&DataDir::new(folder.path()), CrawlSpec::from_toml(&text).unwrap()).unwrap());
    let (_stop, stopped) = watch::channel(Stop::No);
    let counters = crawl.counters();
    crawl.run(stopped).await.unwrap();
    let (entries, _) = counters.journal.since(0, usize::MAX);
    let mut moments: Vec<f64> = entries
        .iter()
        .filter(|entry| entry.outcome == "indexed")
        .map(|entry| entry.at.as_microsecond() as f64 / 1e6)
        .collect();
    assert_eq!(moments.len(), HOSTS * PAGES);
    moments.sort_by(f64::total_cmp);
    let kept = counters.services()[0].addresses[2].requests.load(std::sync::atomic::Ordering::Relaxed);
    let slow_pages = if slow.is_some() { usize::try_from(kept).unwrap() } else { 0 };
    let others = &moments[..moments.len() - slow_pages];
    let rate = others.len() as f64 / (others[others.len() - 1] - others[0]);
    eprintln!("slow: {slow:?}; {rate:.1} pages/s; the third address was asked {kept} times");
    rate
}

/// Measures with and without a slow address, alternately, and compares the best of each. Hosts are asked at a fixed pace and pages
/// committed at once, so that the rate is the crawl's and not the machine's of the moment.
async fn compare(slow: Duration, delay: Duration, rounds: usize) -> f64 {
    let (mut fast, mut held) = (0.0_f64, 0.0_f64);
    for _ in 0..rounds {
        fast = fast.max(throughput(None, delay).await);
        held = held.max(throughput(Some(slow), delay).await);
    }
    eprintln!(
        "{fast:.1} pages/s without, {held:.1} with a slow address: {:.1} % less",
        100.0 * (1.0 - held / fast)
    );
    held / fast
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_address_holds_only_its_own_pages() {
    // Machines that test have other work too; the figure is taken by the next test.
    let share = compare(Duration::from_secs(2), Duration::from_millis(50), 1).await;
    assert!(share > 0.7, "{share}");
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes a minute: cargo test -p webloom-pipeline --test rules -- --ignored --nocapture"]
async fn an_address_that_answers_in_20_seconds_costs_the_others_less_than_5_percent() {
    let share = compare(Duration::from_secs(20), Duration::from_millis(200), 2).await;
    assert!(share > 0.95, "{share}");
}
