//! Crawls the web that `webloom bench web` serves with the crate `spider`, and prints pages and seconds as JSON.
//!
//!     webloom bench web --pages 5000 --hosts 500 > web.txt &      # its first line is *=ADDRESS:PORT
//!     webloom-peer-spider ADDRESS:PORT SEED_URL
//!
//! robots.txt obeyed, no pause, all hosts as one crawl. The server is used as a proxy, which leads every host to it.

use std::time::Instant;

use spider::website::Website;

#[tokio::main]
async fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(address), Some(seed)) = (arguments.next(), arguments.next()) else {
        eprintln!("usage: webloom-peer-spider ADDRESS:PORT SEED_URL");
        std::process::exit(2);
    };
    let mut website = Website::new(&seed);
    website
        .with_respect_robots_txt(true)
        .with_delay(0)
        .with_external_domains(Some(["*".to_owned()].into_iter()))
        .with_proxies(Some(vec![format!("http://{address}")]))
        .with_concurrency_limit(Some(64));
    let start = Instant::now();
    website.crawl().await;
    let pages = website.get_size().await;
    let seconds = start.elapsed().as_secs_f64();
    println!("{{\"name\": \"spider\", \"pages\": {pages}, \"seconds\": {seconds:.2}}}");
}
