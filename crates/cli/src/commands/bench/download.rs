//! The least that downloading costs: hyper, one connection per host, every answer read and dropped.
//!
//! The measure for what crawling adds. Each host's robots.txt first, because a crawl downloads it too; it is not obeyed. No redirects,
//! no links, nothing kept.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use anyhow::Context;
use http::Request;
use http::header::{ACCEPT, HOST};
use http_body_util::{BodyExt, Empty};
use hyper::body::Bytes;
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio::sync::Mutex;
use tokio::task::JoinSet;
use tokio_rustls::TlsConnector;
use webloom_model::PageUrl;

/// Downloads all URLs from one address, so many hosts at a time. Answers how many pages there were, and the bytes of all answers; as in a crawl,
/// redirects, missing pages and robots.txt are asked for and are no pages.
pub(super) async fn all(
    urls: &[String],
    address: SocketAddr,
    ca_pem: &str,
    connections: usize,
) -> anyhow::Result<(u64, u64)> {
    let mut hosts: BTreeMap<String, Vec<PageUrl>> = BTreeMap::new();
    for url in urls {
        let url = PageUrl::parse(url)?;
        let robots = || PageUrl::parse(&format!("{}/robots.txt", url.origin()));
        match hosts.entry(url.origin()) {
            Entry::Occupied(known) => known.into_mut().push(url),
            Entry::Vacant(new) => {
                new.insert(vec![robots()?, url]);
            }
        }
    }
    let hosts = Arc::new(Mutex::new(hosts.into_values()));
    let tls = TlsConnector::from(Arc::new(tls_config(ca_pem)?));
    let (pages, bytes) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let mut tasks = JoinSet::new();
    for _ in 0..connections {
        let (hosts, tls, pages, bytes) = (hosts.clone(), tls.clone(), pages.clone(), bytes.clone());
        tasks.spawn(async move {
            loop {
                let Some(urls) = hosts.lock().await.next() else { return anyhow::Ok(()) };
                host(&urls, address, &tls, &pages, &bytes).await?;
            }
        });
    }
    while let Some(task) = tasks.join_next().await {
        task??;
    }
    Ok((pages.load(Relaxed), bytes.load(Relaxed)))
}

/// Downloads what one host has, over one connection for as long as it lasts.
async fn host(
    urls: &[PageUrl],
    address: SocketAddr,
    tls: &TlsConnector,
    pages: &AtomicU64,
    bytes: &AtomicU64,
) -> anyhow::Result<()> {
    let mut connection = None;
    for url in urls {
        let mut sender = match connection.take() {
            Some(sender) => sender,
            None => connect(url, address, tls).await?,
        };
        let request = Request::get(url.path_and_query())
            .header(HOST, url.host())
            .header(ACCEPT, "text/html")
            .body(Empty::new())?;
        let (head, mut body) =
            sender.send_request(request).await.with_context(|| format!("<{url}>"))?.into_parts();
        while let Some(frame) = body.frame().await {
            bytes.fetch_add(frame?.data_ref().map_or(0, Bytes::len) as u64, Relaxed);
        }
        let is_page = head.status.is_success() && url.path_and_query() != "/robots.txt";
        pages.fetch_add(u64::from(is_page), Relaxed);
        connection = sender.ready().await.is_ok().then_some(sender);
    }
    Ok(())
}

async fn connect(
    url: &PageUrl,
    address: SocketAddr,
    tls: &TlsConnector,
) -> anyhow::Result<SendRequest<Empty<Bytes>>> {
    let stream = TcpStream::connect(address).await?;
    stream.set_nodelay(true)?;
    if url.is_https() {
        let name = ServerName::try_from(url.host().to_owned())?;
        speak(tls.connect(name, stream).await?).await
    } else {
        speak(stream).await
    }
}

async fn speak<T>(stream: T) -> anyhow::Result<SendRequest<Empty<Bytes>>>
where
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
    tokio::spawn(connection);
    Ok(sender)
}

fn tls_config(ca_pem: &str) -> anyhow::Result<rustls::ClientConfig> {
    let mut roots = rustls::RootCertStore::empty();
    for certificate in CertificateDer::pem_slice_iter(ca_pem.as_bytes()) {
        roots.add(certificate?)?;
    }
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    Ok(rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(roots)
        .with_no_client_auth())
}
