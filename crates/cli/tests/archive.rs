//! What a crawl received is kept, read by other people's tools, and gives the same graph again without the network.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::{Path, PathBuf};
use std::process::Command;

use support::{crawl, crawl_within, stable_dump, stderr, stdout_of, webloom};
use webloom_testkit::{Answer, ServerOptions, StaticWeb, WebServer, demo};

fn start(web: StaticWeb) -> WebServer {
    WebServer::start_blocking(web, ServerOptions::default()).unwrap()
}

/// The archive files of a data directory.
fn files(data: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(data.join("archive"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.to_string_lossy().contains(".warc"))
        .collect();
    files.sort_unstable();
    files
}

fn from_warc(data: &Path, files: &[PathBuf]) -> Command {
    let mut command = webloom();
    command.args(["crawl", "--quiet", "--data"]).arg(data).arg("--from-warc").args(files);
    command
}

#[track_caller]
fn assert_equal_dumps(one: &Path, other: &Path) {
    let (one, other) = (stable_dump(one), stable_dump(other));
    let missing: Vec<_> = one.iter().filter(|line| other.binary_search(line).is_err()).take(9).collect();
    let surplus: Vec<_> = other.iter().filter(|line| one.binary_search(line).is_err()).take(9).collect();
    assert!(missing.is_empty() && surplus.is_empty(), "missing: {missing:#?}\nsurplus: {surplus:#?}");
    assert_eq!(one.len(), other.len());
}

fn count(data: &Path, query: &str) -> usize {
    let csv = stdout_of(webloom().args(["query", query, "--results", "csv", "--data"]).arg(data));
    csv.lines().count() - 1
}

#[test]
fn the_demo_web_and_its_own_archive_give_equal_graphs() {
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (live, again) = (folder.path().join("live"), folder.path().join("again"));
    let mut command = crawl(&web, demo::demo_seeds()[0], &live, "1ms");
    for seed in &demo::demo_seeds()[1..] {
        command.arg(seed);
    }
    // Rotated often, so that captures refer to other files.
    command.args(["--set", "archive.rotate=20 KiB"]);
    stdout_of(&mut command);
    let archived = files(&live);
    assert!(archived.len() > 2, "{archived:?}");
    assert!(
        archived.iter().all(|file| file.extension().is_some_and(|ending| ending == "gz")),
        "{archived:?}"
    );
    for file in &archived {
        stdout_of(webloom().args(["warc", "check"]).arg(file));
    }
    stdout_of(&mut from_warc(&again, &archived));
    assert_equal_dumps(&live, &again);
    // The directory as a whole, into a directory that has it all already.
    let summary = stdout_of(from_warc(&again, &[live.join("archive")]).arg("--json"));
    assert!(summary.contains("\"records\": 0"), "{summary}");
    stdout_of(webloom().args(["reindex", "--quiet", "--data"]).arg(&live));
    assert_equal_dumps(&live, &again);
    let places =
        "SELECT ?page { GRAPH ?g { ?page <urn:webloom:ns#warcFile> ?file ; <urn:webloom:ns#warcOffset> ?o ;
                  <urn:webloom:ns#warcRecord> ?record } }";
    assert!(count(&live, places) > 20);
    assert_eq!(count(&live, places), count(&again, places));
}

#[test]
fn every_place_in_the_metadata_leads_to_its_record() {
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    for compression in ["gzip", "zstd"] {
        let data = tempfile::tempdir().unwrap();
        let mut command = crawl(&web, demo::demo_seeds()[0], data.path(), "1ms");
        command.args(["--set", &format!("archive.compression={compression}")]);
        stdout_of(&mut command);
        let query = "SELECT ?page ?file ?offset ?record { GRAPH ?g { ?page <urn:webloom:ns#warcFile> ?file ;
                     <urn:webloom:ns#warcOffset> ?offset ; <urn:webloom:ns#warcRecord> ?record } }";
        let csv = stdout_of(webloom().args(["query", query, "--results", "csv", "--data"]).arg(data.path()));
        let mut places = 0;
        for line in csv.lines().skip(1) {
            let [page, file, offset, record] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let path = data.path().join("archive").join(file);
            let mut reader = webloom_archive::Reader::open_at(&path, offset.parse().unwrap()).unwrap();
            let found = reader.next_record().unwrap().unwrap();
            assert_eq!(found.head().target_uri().as_deref(), Some(page));
            assert_eq!(found.head().id().as_deref(), Some(format!("<{record}>").as_str()));
            places += 1;
        }
        assert!(places > 5, "{csv}");
    }
}

#[test]
fn contexts_bodies_and_failures_come_back_as_they_were() {
    let page = |name: &str, links: &str| {
        format!(
            r#"<title>{name}</title>{links}<script type="application/ld+json">
               {{"@context": "http://c.example/", "@id": "http://a.example/#{name}", "label": "{name}"}}</script>{}"#,
            "<p>words</p>".repeat(100)
        )
    };
    let links = ["/gzip", "/twin", "/cut", "/gone", "/moved", "/loop", "/broken", "/forbidden", "/chunks"]
        .map(|path| format!("<a href=\"{path}\">{path}</a>"))
        .concat();
    let context = r#"{"@context": {"label": "http://vocabulary.example/label"}}"#;
    let web = StaticWeb::new()
        .page("http://a.example/robots.txt", "text/plain", "User-agent: *\nDisallow: /forbidden\n")
        .html("http://a.example/", page("one", &links))
        .answer("http://a.example/gzip", Answer::html(page("two", "")).gzip())
        .html("http://a.example/twin", page("one", &links))
        .answer("http://a.example/cut", Answer::html(page("three", "")).cut_after(700))
        .answer("http://a.example/moved", Answer::redirect(302, "/gzip"))
        .answer("http://a.example/loop", Answer::redirect(302, "/loop"))
        .answer("http://a.example/broken", Answer::html(page("four", "")).gzip_keeping(60))
        .answer("http://a.example/busy", Answer::busy(None))
        .answer(
            "http://c.example/",
            Answer::html("<title>About the context</title>")
                .with_header("link", "</c.jsonld>; rel=alternate; type=\"application/ld+json\""),
        )
        .page("http://c.example/c.jsonld", "application/ld+json", context);
    let server = start(web);
    let folder = tempfile::tempdir().unwrap();
    let (live, again) = (folder.path().join("live"), folder.path().join("again"));
    stdout_of(&mut crawl_within("hosts", &server, "http://a.example/", &live, "1ms"));
    drop(server);
    let labels = "SELECT ?x { ?x <http://vocabulary.example/label> ?label }";
    assert!(count(&live, labels) >= 2);
    stdout_of(&mut from_warc(&again, &files(&live)));
    assert_equal_dumps(&live, &again);
    // The page that was sent twice is in the archive once.
    let listed = stdout_of(webloom().args(["warc", "ls"]).args(files(&live)));
    assert!(listed.contains("revisit"), "{listed}");
    let twin = webloom()
        .args(["extract", "--from-archive", "http://a.example/twin", "--data"])
        .arg(&live)
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&twin.stdout).contains("one"), "{}", stderr(&twin));
    let none = webloom()
        .args(["extract", "--from-archive", "http://a.example/unknown", "--data"])
        .arg(&live)
        .output()
        .unwrap();
    assert!(!none.status.success() && stderr(&none).contains("no copy"), "{}", stderr(&none));
}

#[test]
fn only_pages_with_data_or_nothing_is_kept_when_told_so() {
    let data_page = r#"<title>data</title><script type="application/ld+json">
        {"@context": "https://schema.org/", "@type": "Person", "name": "Ada"}</script>"#;
    let web = StaticWeb::new()
        .html("http://a.example/", "<title>plain</title><a href='/data'>data</a><a href='/none'>none</a>")
        .html("http://a.example/data", data_page);
    let server = start(web);
    for (keep, pages) in [("data", vec!["http://a.example/data"]), ("none", vec![])] {
        let data = tempfile::tempdir().unwrap();
        let mut command = crawl(&server, "http://a.example/", data.path(), "1ms");
        stdout_of(command.args(["--set", &format!("archive.keep={keep}")]));
        let kept = if data.path().join("archive").is_dir() { files(data.path()) } else { Vec::new() };
        let mut found = Vec::new();
        for file in &kept {
            let mut reader = webloom_archive::Reader::open(file).unwrap();
            while let Some(record) = reader.next_record().unwrap() {
                if record.head().kind == webloom_archive::RecordKind::Response {
                    found.push(record.head().target_uri().unwrap().into_owned());
                }
            }
        }
        assert_eq!(found, pages, "{keep}");
    }
}

#[test]
fn the_latest_capture_is_the_page_and_the_others_its_history() {
    let folder = tempfile::tempdir().unwrap();
    let record = |date: &str, id: u32, status: u16, title: &str| {
        let http = format!("HTTP/1.1 {status} OK\r\nContent-Type: text/html\r\n\r\n<title>{title}</title>");
        format!(
            "WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/\r\nWARC-Date: {date}\r\n\
             WARC-Record-ID: <urn:uuid:00000000-0000-4000-8000-00000000000{id}>\r\n\
             Content-Type: application/http; msgtype=response\r\nContent-Length: {}\r\n\r\n{http}\r\n\r\n",
            http.len()
        )
    };
    let second = record("2021-01-01T00:00:00Z", 2, 200, "second");
    let (first, third) =
        (record("2020-01-01T00:00:00Z", 1, 404, "first"), record("2022-01-01T00:00:00Z", 3, 200, "third"));
    // Orders of time, of files and within them.
    for (number, contents) in [
        vec![format!("{first}{second}{third}")],
        vec![third.clone(), first.clone(), second.clone()],
        vec![format!("{third}{first}"), second.clone()],
    ]
    .into_iter()
    .enumerate()
    {
        let data = folder.path().join(format!("data{number}"));
        let files: Vec<PathBuf> = contents
            .iter()
            .enumerate()
            .map(|(file, text)| {
                let path = folder.path().join(format!("{number}-{file}.warc"));
                std::fs::write(&path, text).unwrap();
                path
            })
            .collect();
        // One at a time as well as together.
        if number == 1 {
            files.iter().for_each(|file| drop(stdout_of(&mut from_warc(&data, std::slice::from_ref(file)))));
        } else {
            stdout_of(&mut from_warc(&data, &files));
        }
        let titles = stdout_of(
            webloom()
                .args([
                    "query",
                    "SELECT ?t { ?s <http://purl.org/dc/terms/title> ?t }",
                    "--results",
                    "csv",
                    "--data",
                ])
                .arg(&data),
        );
        assert_eq!(titles.lines().skip(1).collect::<Vec<_>>(), ["third"], "{number}");
        let older = "SELECT ?at { GRAPH ?g { ?page <urn:webloom:ns#capture> ?record .
                     ?record <http://www.w3.org/ns/prov#generatedAtTime> ?at } } ORDER BY ?at";
        let csv = stdout_of(webloom().args(["query", older, "--results", "csv", "--data"]).arg(&data));
        let older: Vec<_> = csv.lines().skip(1).map(|line| &line[..4]).collect();
        assert_eq!(older, ["2020", "2021"], "{number}");
    }
}

#[test]
fn damaged_and_foreign_files_are_told_and_passed_over() {
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let live = folder.path().join("live");
    stdout_of(&mut crawl(&web, demo::demo_seeds()[0], &live, "1ms"));
    let whole = std::fs::read(&files(&live)[0]).unwrap();
    let mut torn = whole.clone();
    let middle = torn.len() / 2;
    torn[middle..middle + 200].fill(0x55);
    let name = |name: &str| folder.path().join(name);
    std::fs::write(name("torn.warc.gz"), &torn).unwrap();
    std::fs::write(name("half.warc.gz"), &whole[..middle]).unwrap();
    std::fs::write(name("no.warc.gz"), "<html>not an archive").unwrap();
    std::fs::write(name("x.warc.wet.gz"), &whole).unwrap();
    let again = folder.path().join("again");
    let files = ["torn.warc.gz", "half.warc.gz", "no.warc.gz", "x.warc.wet.gz"].map(name);
    let output = from_warc(&again, &files).output().unwrap();
    let told = stderr(&output);
    assert!(output.status.success(), "{told}");
    for words in ["torn.warc.gz: offset", "no.warc.gz: is no WARC", "x.warc.wet.gz is left out"] {
        assert!(told.contains(words), "{words}: {told}");
    }
    let (all, some) = (stable_dump(&live), stable_dump(&again));
    assert!(some.len() > all.len() / 4, "{} of {}", some.len(), all.len());
    let output = from_warc(&folder.path().join("none"), &files[2..3]).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let output = from_warc(&folder.path().join("none"), &[name("missing.warc")]).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
}

/// A Python that has warcio, cdxj-indexer and pywb.
fn python() -> Option<PathBuf> {
    let python = std::env::var_os("WEBLOOM_WARC_PYTHON").map(PathBuf::from);
    if python.is_none() {
        eprintln!("WEBLOOM_WARC_PYTHON is not set; `cargo xtask test` sets it");
    }
    python
}

#[test]
fn other_peoples_tools_read_what_we_write() {
    let Some(python) = python() else { return };
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    let mut command = crawl(&web, demo::demo_seeds()[0], data.path(), "1ms");
    for seed in &demo::demo_seeds()[1..] {
        command.arg(seed);
    }
    stdout_of(command.args(["--set", "archive.rotate=40 KiB"]));
    let archived = files(data.path());
    for file in &archived {
        let checked =
            Command::new(python.with_file_name("warcio")).args(["check", "-v"]).arg(file).output().unwrap();
        assert!(checked.status.success(), "{}{}", String::from_utf8_lossy(&checked.stdout), stderr(&checked));
        let indexed = stdout_of(Command::new(python.with_file_name("cdxj-indexer")).arg("--sort").arg(file));
        let stem = file.to_string_lossy().replace(".warc.gz", ".cdxj");
        let ours = std::fs::read_to_string(stem).unwrap();
        let (mut theirs, mut ours): (Vec<_>, Vec<_>) = (indexed.lines().collect(), ours.lines().collect());
        theirs.sort_unstable();
        ours.sort_unstable();
        assert_eq!(ours, theirs, "{}", file.display());
    }
    let script = r#"
import os, sys
data, url, words = sys.argv[1:]
os.chdir(data)
from pywb.apps.frontendapp import FrontEndApp
from werkzeug.test import Client
config = {"collections": {"demo": {"index_paths": "archive/", "archive_paths": "archive/"}}, "debug": True}
app = FrontEndApp(config_file=None, custom_config=config)
client = Client(app)
for address in (f"/demo/mp_/{url}", f"/demo/20500101000000mp_/{url}"):
    answer = client.get(address, follow_redirects=True)
    text = answer.get_data(as_text=True)
    assert answer.status_code == 200, (answer.status, text[:2000])
    assert words in text, text[:2000]
"#;
    let seed = demo::demo_seeds()[0];
    let page = stdout_of(webloom().args(["warc", "get", "--url", seed]).arg(holding(&archived, seed)));
    let title = page.split("<title>").nth(1).unwrap().split("</title>").next().unwrap();
    let replayed =
        Command::new(&python).arg("-c").arg(script).arg(data.path()).args([seed, title]).output().unwrap();
    assert!(replayed.status.success(), "{}{}", String::from_utf8_lossy(&replayed.stdout), stderr(&replayed));
}

/// The file that holds the answer of a URL.
fn holding<'f>(files: &'f [PathBuf], url: &str) -> &'f Path {
    let holds = |file: &&PathBuf| {
        webloom().args(["warc", "get", "--url", url]).arg(file).output().unwrap().status.success()
    };
    files.iter().find(holds).unwrap()
}
