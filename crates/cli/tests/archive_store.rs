//! A crawl whose archive goes to an S3-compatible store: complete files only, read back from there, and nothing lost while it is away.
//!
//! The store is a fake that speaks the few calls of S3 that are made: it checks no signature and keeps objects in memory. With
//! `WEBLOOM_S3_ENDPOINT` set, a server at that URL is used instead; it must have a bucket `webloom` that the keys below may write to.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::HashMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Arc, Mutex};

use support::{crawl, stable_dump, stderr, stdout_of, webloom};
use webloom_testkit::{ServerOptions, WebServer, demo};

type Bucket = Arc<Mutex<HashMap<String, Vec<u8>>>>;

/// Serves a bucket at a port of its own.
fn start() -> (String, Bucket) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let endpoint = format!("http://{}", listener.local_addr().unwrap());
    let bucket = Bucket::default();
    let shared = bucket.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let bucket = shared.clone();
            std::thread::spawn(move || serve(&stream.unwrap(), &bucket));
        }
    });
    (endpoint, bucket)
}

/// Answers requests until the client hangs up.
fn serve(stream: &TcpStream, bucket: &Bucket) -> Option<()> {
    let mut reader = BufReader::new(stream);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line).ok().filter(|count| *count > 0)?;
        let mut words = line.split(' ').map(str::to_owned);
        let (method, target) = (words.next()?, words.next()?);
        let (mut length, mut range) = (0, None);
        loop {
            let mut field = String::new();
            reader.read_line(&mut field).ok()?;
            let Some((name, value)) = field.trim_end().split_once(": ") else { break };
            match name.to_ascii_lowercase().as_str() {
                "content-length" => length = value.parse().ok()?,
                "range" => range = Some(value.strip_prefix("bytes=")?.to_owned()),
                _ => {}
            }
        }
        let mut body = vec![0; length];
        reader.read_exact(&mut body).ok()?;
        let mut stream = stream;
        stream.write_all(&answer(&method, &target, range.as_deref(), body, bucket)).ok()?;
    }
}

fn answer(method: &str, target: &str, range: Option<&str>, body: Vec<u8>, bucket: &Bucket) -> Vec<u8> {
    let mut objects = bucket.lock().unwrap();
    let is_head = method == "HEAD";
    let (status, more, body) = match (method, objects.get(target)) {
        ("PUT", _) => {
            objects.insert(target.to_owned(), body);
            ("200 OK", String::new(), Vec::new())
        }
        ("GET" | "HEAD", None) => ("404 Not Found", String::new(), Vec::new()),
        ("GET", Some(object)) => match range.and_then(|range| range.split_once('-')) {
            Some((from, to)) => {
                let from: usize = from.parse().unwrap();
                let to = to.parse::<usize>().unwrap().min(object.len() - 1);
                let told = format!("Content-Range: bytes {from}-{to}/{}\r\n", object.len());
                ("206 Partial Content", told, object[from..=to].to_vec())
            }
            None => ("200 OK", String::new(), object.clone()),
        },
        ("HEAD", Some(object)) => ("200 OK", String::new(), object.clone()),
        _ => ("501 Not Implemented", String::new(), Vec::new()),
    };
    let mut answer = format!(
        "HTTP/1.1 {status}\r\nETag: \"x\"\r\nLast-Modified: Mon, 16 Nov 2026 12:00:00 GMT\r\nContent-Length: {}\r\n{more}\r\n",
        body.len()
    )
    .into_bytes();
    if !is_head {
        answer.extend(body);
    }
    answer
}

fn with_keys<'c>(command: &'c mut Command, endpoint: &str) -> &'c mut Command {
    command.envs([
        ("AWS_ENDPOINT_URL", endpoint),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_ACCESS_KEY_ID", "webloom"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_REGION", "us-east-1"),
    ])
}

/// Names in the archive's directory with that ending.
fn names(data: &Path, ending: &str) -> Vec<String> {
    let entries = std::fs::read_dir(data.join("archive")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.filter(|name| name.ends_with(ending)).collect();
    names.sort_unstable();
    names
}

fn demo_crawl(web: &WebServer, data: &Path, store: &str) -> Command {
    let mut command = crawl(web, demo::demo_seeds()[0], data, "1ms");
    command.args(["--set", "archive.rotate=20 KiB", "--set", &format!("archive.store={store}")]);
    command
}

/// What can be done with an archive that is elsewhere.
fn check_reading(data: &Path, endpoint: &str) {
    let before = stable_dump(data);
    let mut command = webloom();
    let extract = command.args(["extract", "--from-archive", demo::demo_seeds()[0], "--data"]).arg(data);
    assert!(!stdout_of(with_keys(extract, endpoint)).is_empty());
    let mut command = webloom();
    stdout_of(with_keys(command.args(["reindex", "--quiet", "--data"]).arg(data), endpoint));
    assert_eq!(stable_dump(data), before);
    let again = tempfile::tempdir().unwrap();
    let mut command = webloom();
    command
        .args(["crawl", "--quiet", "--data"])
        .arg(again.path())
        .arg("--from-warc")
        .arg(data.join("archive"));
    stdout_of(with_keys(&mut command, endpoint));
    assert_eq!(stable_dump(again.path()), before);
    let gone = names(data, ".stored");
    let file = data.join("archive").join(gone[0].trim_end_matches(".stored"));
    let mut command = webloom();
    let listed = stdout_of(with_keys(command.args(["warc", "ls"]).arg(&file), endpoint));
    assert!(listed.contains("warcinfo") && listed.contains("response"), "{listed}");
    let mut command = webloom();
    stdout_of(with_keys(command.args(["warc", "check"]).arg(&file), endpoint));
}

#[test]
fn a_crawl_archives_to_s3_and_everything_is_read_back_from_there() {
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    let (fake, bucket) = start();
    let real = std::env::var("WEBLOOM_S3_ENDPOINT").ok();
    let endpoint = real.clone().unwrap_or(fake);
    let data = tempfile::tempdir().unwrap();
    stdout_of(with_keys(&mut demo_crawl(&web, data.path(), "s3://webloom/crawls/one"), &endpoint));
    assert_eq!(names(data.path(), ".warc.gz"), Vec::<String>::new());
    assert_eq!(names(data.path(), ".open"), Vec::<String>::new());
    let stored = names(data.path(), ".stored");
    assert!(stored.len() > 2, "{stored:?}");
    if real.is_none() {
        let objects = bucket.lock().unwrap();
        for name in &stored {
            let name = name.trim_end_matches(".stored");
            let object = &objects[&format!("/webloom/crawls/one/{name}")];
            assert!(object.starts_with(&[0x1f, 0x8b]));
            let index = name.replace(".warc.gz", ".cdxj");
            let kept = std::fs::read(data.path().join("archive").join(&index)).unwrap();
            assert_eq!(objects[&format!("/webloom/crawls/one/{index}")], kept);
        }
    }
    check_reading(data.path(), &endpoint);
}

#[test]
fn a_folder_is_a_store_too() {
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (data, bucket): (PathBuf, PathBuf) = (folder.path().join("data"), folder.path().join("bucket"));
    stdout_of(&mut demo_crawl(&web, &data, &format!("file://{}", bucket.display())));
    assert_eq!(names(&data, ".warc.gz"), Vec::<String>::new());
    check_reading(&data, "http://127.0.0.1:1");
}

#[test]
fn a_store_that_is_away_loses_nothing() {
    let web = WebServer::start_blocking(demo::demo_web(), ServerOptions::default()).unwrap();
    let data = tempfile::tempdir().unwrap();
    // Nobody listens there.
    let mut command = demo_crawl(&web, data.path(), "s3://webloom/later");
    let output = with_keys(&mut command, "http://127.0.0.1:1").output().unwrap();
    let told = stderr(&output);
    assert!(output.status.success(), "{told}");
    assert!(told.contains("could not be copied to s3://webloom/later"), "{told}");
    let here = names(data.path(), ".warc.gz");
    assert!(here.len() > 2 && names(data.path(), ".stored").is_empty(), "{here:?}");
    let upload = |endpoint: &str| {
        let mut command = webloom();
        with_keys(command.args(["warc", "upload", "--data"]).arg(data.path()), endpoint).output().unwrap()
    };
    let failed = upload("http://127.0.0.1:1");
    assert!(!failed.status.success() && stderr(&failed).contains("files stay in"), "{}", stderr(&failed));
    let (endpoint, bucket) = start();
    let done = upload(&endpoint);
    assert!(done.status.success(), "{}", stderr(&done));
    assert_eq!(names(data.path(), ".stored").len(), here.len());
    assert_eq!(bucket.lock().unwrap().len(), 2 * here.len());
    check_reading(data.path(), &endpoint);
}

#[test]
fn stores_that_are_none_are_refused() {
    let data = tempfile::tempdir().unwrap();
    for (setting, words) in [
        ("archive.store=http://example.org/", "s3://bucket/prefix"),
        ("archive.dictionary=train", "only zstd has dictionaries"),
    ] {
        let mut command = webloom();
        command.args(["crawl", "http://a.example/", "--quiet", "--set", setting, "--data"]).arg(data.path());
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(words), "{}", stderr(&output));
    }
}
