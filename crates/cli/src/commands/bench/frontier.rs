//! `webloom bench frontier`: does the frontier stay as quick and as small as it was, up to a hundred million URLs?
//!
//! A crawl without a network: pages are leased, each brings links, two thirds of them new, the rest seen before (half of
//! those lately, half at any time), and pages and links are settled together, durably, as in a crawl. Making up the
//! links is done by another thread and not counted. After each tenth, questions "seen before?" alone are timed, about URLs that
//! are known and URLs that are not, drawn from all there are.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Args;
use webloom_frontier::{FjallFrontier, FrontierConfig};
use webloom_model::{Frontier, LeaseAnswer, LinkCandidate, PageUrl, Settlement, SettlementKind, SystemClock};

use crate::output::{bytes, with_commas, wrong_usage};

/// Pages settled at once, and links on each.
const PAGES: usize = 500;
const LINKS: usize = 100;
/// New ones among the links.
const LINKS_NEW: usize = 67;
/// Batches that are made up ahead.
const AHEAD: usize = 2;
const TENTHS: u64 = 10;
/// Questions asked at once when only asking is timed.
const QUESTIONS: usize = 50_000;

/// Fill a frontier with URLs, and measure it at each tenth.
#[derive(Debug, Args)]
pub struct BenchFrontier {
    /// URLs.
    #[arg(long, default_value_t = 10_000_000)]
    urls: u64,
    /// Hosts they are spread over, unevenly.
    #[arg(long, default_value_t = 100_000)]
    hosts: u64,
    /// Questions "seen before?" after each tenth.
    #[arg(long, default_value_t = 1_000_000)]
    questions: u64,
    /// Where to keep the frontier; a temporary directory otherwise.
    #[arg(long, value_name = "DIR")]
    data: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// What was measured in one tenth.
#[derive(Debug, Default, Clone, Copy)]
struct Tenth {
    urls: u64,
    links: u64,
    pages: u64,
    settling: Duration,
    leasing: Duration,
    asked: u64,
    asking: Duration,
    settling_cpu: Duration,
    asking_cpu: Duration,
    resident: u64,
    anonymous: u64,
    runs: usize,
}

impl Tenth {
    fn links_per_second(&self) -> f64 {
        self.links as f64 / self.settling.as_secs_f64().max(1e-9)
    }
    fn leases_per_second(&self) -> f64 {
        self.pages as f64 / self.leasing.as_secs_f64().max(1e-9)
    }
    fn settled_per_second(&self) -> f64 {
        self.pages as f64 / self.settling.as_secs_f64().max(1e-9)
    }
    fn questions_per_second(&self) -> f64 {
        self.asked as f64 / self.asking.as_secs_f64().max(1e-9)
    }

    /// The same rates by the time this thread was on a core: what a machine does that has other things to do, too.
    fn per_cpu_second(&self) -> [f64; 2] {
        let rate = |number: u64, time: Duration| number as f64 / time.as_secs_f64().max(1e-9);
        [rate(self.asked, self.asking_cpu), rate(self.links, self.settling_cpu)]
    }

    fn to_json(self) -> serde_json::Value {
        serde_json::json!({
            "urls": self.urls,
            "checks_per_second": self.questions_per_second().round(),
            "links_settled_per_second": self.links_per_second().round(),
            "pages_settled_per_second": self.settled_per_second().round(),
            "leases_per_second": self.leases_per_second().round(),
            "checks_per_cpu_second": self.per_cpu_second()[0].round(),
            "links_settled_per_cpu_second": self.per_cpu_second()[1].round(),
            "resident_bytes": self.resident,
            "resident_anonymous_bytes": self.anonymous,
            "runs": self.runs,
        })
    }
}

impl BenchFrontier {
    pub fn run(self) -> anyhow::Result<()> {
        if self.urls < 100_000 || self.hosts == 0 {
            return Err(wrong_usage("at least 100000 URLs on one host are needed to measure anything"));
        }
        let data = match &self.data {
            Some(data) if data.join("store").exists() => {
                return Err(wrong_usage(format!("`{}` already holds a frontier", data.display())));
            }
            Some(data) => data.clone(),
            None => std::env::temp_dir().join(format!("webloom-bench-frontier-{}", std::process::id())),
        };
        let begun = Instant::now();
        let tenths = self.fill(&data)?;
        let seconds = begun.elapsed().as_secs_f64();
        let disk = directory_bytes(&data);
        let reopening = Instant::now();
        drop(open(&data)?);
        let reopened = reopening.elapsed();
        if self.data.is_none() {
            std::fs::remove_dir_all(&data).with_context(|| format!("cannot remove `{}`", data.display()))?;
        }
        self.print(&tenths, seconds, reopened, disk)
    }

    fn fill(&self, data: &std::path::Path) -> anyhow::Result<Vec<Tenth>> {
        let frontier = open(data)?;
        let web = Web { hosts: self.hosts };
        let seeds: Vec<LinkCandidate> = (0..self.hosts.min(self.urls / 10))
            .map(|number| Ok(LinkCandidate::seed(web.url(number)?)))
            .collect::<anyhow::Result<_>>()?;
        frontier.offer(&seeds)?;
        let first = seeds.len() as u64;
        drop(seeds);
        let (batches, receiver) = sync_channel(AHEAD);
        let urls = self.urls;
        let maker =
            std::thread::spawn(move || make_links(web, first, urls, |batch| batches.send(batch).is_ok()));
        let mut tenths = Vec::new();
        let mut tenth = Tenth::default();
        let mut known = first;
        let mut dice = Dice(7);
        for Batch { links, known: after } in receiver {
            let mut links = links.into_iter();
            while links.len() > 0 {
                let watch = Instant::now();
                let leases = match frontier.lease(PAGES.min(links.len()))? {
                    LeaseAnswer::Leased(leases) => leases,
                    other => anyhow::bail!("nothing to lease among {known} URLs: {other:?}"),
                };
                tenth.leasing += watch.elapsed();
                let settlements: Vec<Settlement> = leases
                    .iter()
                    .zip(links.by_ref())
                    .map(|(lease, mut links)| {
                        for link in &mut links {
                            link.found_on = Some(lease.url().clone());
                            link.depth = lease.candidate.depth + 1;
                        }
                        Settlement { lease: lease.id, kind: SettlementKind::Indexed, links, validators: None }
                    })
                    .collect();
                tenth.pages += settlements.len() as u64;
                tenth.links +=
                    settlements.iter().map(|settlement| settlement.links.len() as u64).sum::<u64>();
                let (watch, cpu) = (Instant::now(), thread_cpu());
                frontier.settle(settlements)?;
                tenth.settling += watch.elapsed();
                tenth.settling_cpu += thread_cpu().saturating_sub(cpu);
            }
            known = after;
            if known >= urls * (tenths.len() as u64 + 1) / TENTHS {
                self.ask(&frontier, known, &mut dice, &mut tenth)?;
                tenth.urls = known;
                (tenth.resident, tenth.anonymous) = resident();
                (tenth.runs, _) = frontier.url_store_size();
                eprintln!(
                    "{} URLs: {} checks/s, {} links settled/s, {} leases/s, {} resident",
                    with_commas(known),
                    with_commas(tenth.questions_per_second() as u64),
                    with_commas(tenth.links_per_second() as u64),
                    with_commas(tenth.leases_per_second() as u64),
                    bytes(tenth.resident),
                );
                tenths.push(std::mem::take(&mut tenth));
            }
        }
        match maker.join() {
            Ok(made) => made?,
            Err(_) => anyhow::bail!("the thread that makes up links panicked"),
        }
        Ok(tenths)
    }

    /// Times questions alone: half of them about URLs that are known, from all there are.
    fn ask(
        &self,
        frontier: &FjallFrontier,
        known: u64,
        dice: &mut Dice,
        tenth: &mut Tenth,
    ) -> anyhow::Result<()> {
        let web = Web { hosts: self.hosts };
        while tenth.asked < self.questions {
            let numbers: Vec<u64> = (0..QUESTIONS)
                .map(|one| if one % 2 == 0 { dice.below(known) } else { self.urls + dice.below(self.urls) })
                .collect();
            let urls =
                numbers.iter().map(|number| web.url(*number)).collect::<anyhow::Result<Vec<PageUrl>>>()?;
            let (watch, cpu) = (Instant::now(), thread_cpu());
            let answers = frontier.are_known(&urls)?;
            tenth.asking += watch.elapsed();
            tenth.asking_cpu += thread_cpu().saturating_sub(cpu);
            tenth.asked += answers.len() as u64;
            let right = numbers.iter().zip(&answers).all(|(number, answer)| (*number < known) == *answer);
            anyhow::ensure!(right, "a URL was taken for known that is not, or the other way round");
        }
        Ok(())
    }

    fn print(&self, tenths: &[Tenth], seconds: f64, reopened: Duration, disk: u64) -> anyhow::Result<()> {
        let (Some(first), Some(last)) = (tenths.first(), tenths.last()) else { return Ok(()) };
        let flat = [
            ("checks", last.questions_per_second() / first.questions_per_second()),
            ("links_settled", last.links_per_second() / first.links_per_second()),
            ("leases", last.leases_per_second() / first.leases_per_second()),
            ("checks_per_cpu_second", last.per_cpu_second()[0] / first.per_cpu_second()[0]),
            ("links_settled_per_cpu_second", last.per_cpu_second()[1] / first.per_cpu_second()[1]),
            ("resident", last.resident as f64 / first.resident.max(1) as f64),
        ];
        let mut out = std::io::stdout().lock();
        if self.json {
            let json = serde_json::json!({
                "urls": self.urls,
                "hosts": self.hosts,
                "seconds": seconds,
                "reopened_in_seconds": reopened.as_secs_f64(),
                "disk_bytes": disk,
                "last_tenth_to_first": flat.iter().map(|(name, ratio)| ((*name).to_owned(), (*ratio).into()))
                    .collect::<serde_json::Map<String, serde_json::Value>>(),
                "tenths": tenths.iter().map(|tenth| tenth.to_json()).collect::<Vec<_>>(),
            });
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
            return Ok(());
        }
        writeln!(out, "        URLs    checks/s   links settled/s   leases/s    resident   runs")?;
        for tenth in tenths {
            writeln!(
                out,
                "{:>12} {:>11} {:>17} {:>10} {:>11} {:>6}",
                with_commas(tenth.urls),
                with_commas(tenth.questions_per_second() as u64),
                with_commas(tenth.links_per_second() as u64),
                with_commas(tenth.leases_per_second() as u64),
                bytes(tenth.resident),
                tenth.runs,
            )?;
        }
        let ratios: Vec<String> = flat.iter().map(|(name, ratio)| format!("{name} {ratio:.2}")).collect();
        writeln!(out, "last tenth to first: {}", ratios.join(", "))?;
        writeln!(
            out,
            "{seconds:.1} s in all; reopened in {:.2} s; {} on disk",
            reopened.as_secs_f64(),
            bytes(disk)
        )?;
        Ok(())
    }
}

fn open(data: &std::path::Path) -> anyhow::Result<FjallFrontier> {
    // Nobody is asked anything here, so nobody is owed a pause.
    let config = FrontierConfig {
        host_delay: Duration::ZERO,
        domain_delay: Duration::ZERO,
        ..FrontierConfig::default()
    };
    Ok(FjallFrontier::open(data, config, Arc::new(SystemClock))?)
}

/// Numbers that look like chance.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound.max(1)
    }
}

/// URLs by number.
#[derive(Debug, Clone, Copy)]
struct Web {
    hosts: u64,
}

impl Web {
    fn url(&self, number: u64) -> anyhow::Result<PageUrl> {
        // The first of every host is its root; behind them a page's links stay together, as they do.
        let host = if number < self.hosts { number } else { number / 20 % self.hosts };
        Ok(PageUrl::parse(&format!("https://www.site-{host}.example/articles/{number}/index.html"))?)
    }
}

/// The links of some pages, and how many URLs are known with them.
struct Batch {
    links: Vec<Vec<LinkCandidate>>,
    known: u64,
}

/// Makes up links until there are enough URLs or nobody wants them.
fn make_links(web: Web, first: u64, urls: u64, mut send: impl FnMut(Batch) -> bool) -> anyhow::Result<()> {
    let mut known = first;
    let mut dice = Dice(1);
    while known < urls {
        let mut links = Vec::with_capacity(PAGES);
        for _ in 0..PAGES {
            let before = known;
            let mut page = Vec::with_capacity(LINKS);
            for one in 0..LINKS {
                let number = if one % 3 != 2 && one * 2 / 3 < LINKS_NEW && known < urls {
                    known += 1;
                    known - 1
                } else if one % 2 == 0 {
                    before - 1 - dice.below(before.min(100_000))
                } else {
                    dice.below(before)
                };
                page.push(LinkCandidate::seed(web.url(number)?));
            }
            links.push(page);
        }
        if !send(Batch { links, known }) {
            break;
        }
    }
    Ok(())
}

/// How long this thread was on a core, by the kernel's books; nothing where there are none.
fn thread_cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    Duration::from_nanos(text.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(0))
}

/// Bytes of this process in memory: all, and those that are no files.
fn resident() -> (u64, u64) {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let field = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse::<u64>().ok()).unwrap_or(0) << 10
    };
    (field("VmRSS:"), field("RssAnon:"))
}

fn directory_bytes(path: &std::path::Path) -> u64 {
    let Ok(entries) = std::fs::read_dir(path) else { return 0 };
    entries
        .filter_map(Result::ok)
        .map(|entry| match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => directory_bytes(&entry.path()),
            Ok(metadata) => metadata.len(),
            Err(_) => 0,
        })
        .sum()
}
