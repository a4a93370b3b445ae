//! `webloom plan`: how many machines a crawl needs, what it costs, and what will limit it.
//!
//! In: a wanted rate, and what the phases cost: as `webloom bench phases --json` measured them, or as recorded with this version. Out: cores and
//! machines per phase, network, disk and money ([`Machines`]); and how a crawl of that many URLs goes on under politeness ([`simulate`]).
//! `--check` crawls a small generated web for real and says how far the simulation is off.

mod check;
mod costs;
mod machines;
mod plot;
mod simulate;

use std::io::Write;
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use self::costs::Costs;
use self::machines::{Machines, Prices};
use self::simulate::{Course, World};

/// Say how many machines a crawl needs, what it costs, and what limits it.
#[derive(Debug, Args)]
pub struct Plan {
    /// Pages to fetch, read and index every second.
    #[arg(long, value_name = "RATE", default_value_t = 1_000.0)]
    pages_per_second: f64,
    /// What the phases cost, as `webloom bench phases --json` printed it; what was measured for this version otherwise.
    #[arg(long, value_name = "FILE")]
    costs: Option<PathBuf>,
    /// Pages of the web that is crawled, such as 1e9.
    #[arg(long, value_name = "PAGES", default_value_t = 1e9)]
    pages: f64,
    /// Bytes of a page on the wire.
    #[arg(long, value_name = "BYTES", default_value_t = 24_000.0)]
    page_bytes: f64,
    /// Seconds between two requests to one host.
    #[arg(long, value_name = "SECONDS", default_value_t = 1.0)]
    delay: f64,
    /// Pages of a host, on average.
    #[arg(long, value_name = "PAGES", default_value_t = 65.0)]
    host_pages: f64,
    /// Fewer hosts have many pages by this power.
    #[arg(long, value_name = "POWER", default_value_t = 0.8)]
    host_power: f64,
    /// Pages that are fetched of one host, however many it has.
    #[arg(long, value_name = "PAGES", default_value_t = 10_000_000.0)]
    host_pages_max: f64,
    /// Hosts that are known at the beginning.
    #[arg(long, value_name = "HOSTS", default_value_t = 10_000.0)]
    seeds: f64,
    /// Cores of a machine.
    #[arg(long, default_value_t = 16)]
    cores: u32,
    /// How busy a core may be, in percent.
    #[arg(long, value_name = "PERCENT", default_value_t = 70.0)]
    load: f64,
    /// What a core costs an hour, in any money.
    #[arg(long, value_name = "MONEY", default_value_t = 0.03)]
    core_hour: f64,
    /// What a gigabyte of disk costs a month.
    #[arg(long, value_name = "MONEY", default_value_t = 0.03)]
    disk_month: f64,
    /// What a gigabyte received costs.
    #[arg(long, value_name = "MONEY", default_value_t = 0.0)]
    traffic: f64,
    /// Crawl a small generated web for real, and simulate the same.
    #[arg(long)]
    check: bool,
    /// Draw the course of the crawl into this file.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Print JSON.
    #[arg(long)]
    json: bool,
}

/// Links of a page to other hosts. The Common Crawl of 2012 has 37 links a page; most stay on their host.
const OUTWARD_LINKS: f64 = 5.0;

impl Plan {
    pub fn run(self) -> anyhow::Result<()> {
        if self.check {
            return check::run(self.json);
        }
        for (name, value) in [
            ("--pages-per-second", self.pages_per_second),
            ("--pages", self.pages),
            ("--host-pages", self.host_pages),
            ("--host-power", self.host_power),
            ("--host-pages-max", self.host_pages_max),
            ("--seeds", self.seeds),
            ("--load", self.load),
        ] {
            if !(value.is_finite() && value > 0.0) {
                return Err(crate::output::wrong_usage(format!("{name} must be above zero, not {value}")));
            }
        }
        let costs = match &self.costs {
            Some(file) => {
                let text = std::fs::read_to_string(file)
                    .with_context(|| format!("cannot read `{}`", file.display()))?;
                Costs::parse(&text).with_context(|| {
                    format!("`{}` is not what `webloom bench phases --json` prints", file.display())
                })?
            }
            None => Costs::recorded()?,
        };
        let prices = Prices {
            core_hour: self.core_hour,
            disk_month: self.disk_month,
            traffic: self.traffic,
            cores: self.cores.max(1),
            load: self.load / 100.0,
        };
        let machines = Machines::new(&costs, self.pages_per_second, self.page_bytes, &prices);
        let course = self.world().crawl(0.99);
        if let Some(file) = &self.svg {
            std::fs::write(file, plot::draw(&course, self.pages_per_second))
                .with_context(|| format!("cannot write `{}`", file.display()))?;
        }
        let mut out = std::io::stdout().lock();
        if self.json {
            let json = json!({"machines": machines.to_json(), "course": self.course_json(&course, &costs)});
            writeln!(out, "{}", serde_json::to_string_pretty(&json)?)?;
        } else {
            write!(out, "{}\n{}", machines.to_text(), self.course_text(&course, &costs))?;
        }
        Ok(())
    }

    fn world(&self) -> World {
        World {
            classes: World::power_law(self.pages, self.host_pages, self.host_power, self.host_pages_max),
            rate: self.pages_per_second,
            delay: self.delay,
            outward_links: OUTWARD_LINKS,
            seeds: self.seeds,
        }
    }

    fn course_text(&self, course: &Course, costs: &Costs) -> String {
        let days = |seconds: f64| format!("{:.1} days", seconds / 86_400.0);
        let end = course.end();
        let mut text = format!(
            "A crawl of {:.3e} pages on {:.3e} hosts, {} s between two requests to one:\n",
            course.pages,
            self.world().classes.iter().map(|(hosts, _)| hosts).sum::<f64>(),
            self.delay
        );
        for share in [0.5, 0.9, 0.99] {
            let when = match course.until(share) {
                Some(seconds) => format!("after {}", days(seconds)),
                None => "never (not within 20 years)".to_owned(),
            };
            text.push_str(&format!("  {:.0} % {when}\n", share * 100.0));
        }
        let ideal = course.pages * 0.99 / self.pages_per_second;
        text.push_str(&format!("  by the machines alone, 99 % would take {}\n", days(ideal)));
        match course.slower_than(self.pages_per_second, 0.5) {
            Some(moment) => text.push_str(&format!(
                "  politeness limits it: after {} ({:.1} % of the pages) only {:.0} hosts have pages left, too few for half the rate\n",
                days(moment.seconds),
                moment.pages / course.pages * 100.0,
                moment.active_hosts
            )),
            None if end.seconds > ideal * 2.0 => {
                text.push_str("  politeness limits it from the beginning: too few hosts are known at a time\n");
            }
            None => text.push_str("  the machines limit it: there are always enough hosts to ask\n"),
        }
        let urls = end.pages * costs.urls_per_page;
        text.push_str(&format!(
            "  the frontier: {:.3e} URLs known, {:.1} GB on disk; at most {:.3e} hosts with pages left, {:.2} GB of memory for them\n",
            urls,
            urls * costs.frontier_bytes_per_url / 1e9,
            self.most_active(course),
            self.most_active(course) * costs.frontier_bytes_per_host / 1e9,
        ));
        text
    }

    fn most_active(&self, course: &Course) -> f64 {
        course.moments.iter().map(|moment| moment.active_hosts).fold(0.0, f64::max)
    }

    fn course_json(&self, course: &Course, costs: &Costs) -> Value {
        let end = course.end();
        let moments: Vec<Value> = course
            .moments
            .iter()
            .map(|moment| {
                json!({
                    "seconds": moment.seconds, "pages": moment.pages, "pages_per_second": moment.rate,
                    "active_hosts": moment.active_hosts, "known_hosts": moment.known_hosts,
                })
            })
            .collect();
        json!({
            "pages": course.pages,
            "seconds_until": {"50": course.until(0.5), "90": course.until(0.9), "99": course.until(0.99)},
            "half_rate_after_seconds": course.slower_than(self.pages_per_second, 0.5).map(|moment| moment.seconds),
            "urls_known": end.pages * costs.urls_per_page,
            "frontier_disk_bytes": end.pages * costs.urls_per_page * costs.frontier_bytes_per_url,
            "frontier_host_memory_bytes": self.most_active(course) * costs.frontier_bytes_per_host,
            "moments": moments,
        })
    }
}
