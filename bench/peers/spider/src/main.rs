//! Crawls the web that `webloom bench web` serves with the crate `spider`, and prints pages and seconds as JSON.
//!
//!     webloom bench web --pages 5000 --hosts 500 > web.txt &      # its first line is *=ADDRESS:PORT
//!     webloom-peer-spider ADDRESS:PORT SEED_URL [DELAY_SECONDS HOSTS]
//!
//! robots.txt obeyed. Without a delay, all hosts as one crawl. The delay of a crawl lies between any two of its requests, whatever
//! their hosts are, so with one each host is a crawl of its own, all at once and known from the beginning. The server is used as a
//! proxy, which leads every host to it.

use std::time::Instant;

use spider::website::Website;

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let start = Instant::now();
    let pages = match arguments.as_slice() {
        [address, seed] => {
            let mut website = polite(seed, address, 0);
            website.with_external_domains(Some(["*".to_owned()].into_iter()));
            crawl(website).await
        }
        [address, _, delay, hosts] => {
            let (Ok(delay), Ok(hosts)) = (delay.parse::<f64>(), hosts.parse::<u32>()) else { usage() };
            let crawls: Vec<_> = (0..hosts)
                .map(|host| polite(&format!("http://{}/", host_name(host)), address, (delay * 1e3) as u64))
                .map(|website| tokio::spawn(crawl(website)))
                .collect();
            let mut pages = 0;
            for crawl in crawls {
                pages += crawl.await.unwrap_or(0);
            }
            pages
        }
        _ => usage(),
    };
    let seconds = start.elapsed().as_secs_f64();
    println!("{{\"name\": \"spider\", \"pages\": {pages}, \"seconds\": {seconds:.2}}}");
}

fn usage() -> ! {
    eprintln!("usage: webloom-peer-spider ADDRESS:PORT SEED_URL [DELAY_SECONDS HOSTS]");
    std::process::exit(2);
}

/// The name of a host of the generated web.
fn host_name(host: u32) -> String {
    match host % 8 {
        3 => format!("news.site{}.example", host - 1),
        5 => format!("shop{host}.test"),
        6 => format!("www.blog{host}.example"),
        _ => format!("site{host}.example"),
    }
}

fn polite(seed: &str, address: &str, delay_ms: u64) -> Website {
    let mut website = Website::new(seed);
    website
        .with_respect_robots_txt(true)
        .with_delay(delay_ms)
        .with_proxies(Some(vec![format!("http://{address}")]))
        .with_concurrency_limit(Some(64));
    website
}

async fn crawl(mut website: Website) -> usize {
    website.crawl().await;
    website.get_size().await
}
