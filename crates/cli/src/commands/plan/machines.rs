//! From costs to machines: cores per phase, the network, the disks, the bill.

use serde_json::{Value, json};

use super::costs::{Costs, PHASES};

/// What there is to buy, and how full it may be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Prices {
    pub(super) core_hour: f64,
    pub(super) disk_month: f64,
    pub(super) traffic: f64,
    pub(super) cores: u32,
    pub(super) load: f64,
}

/// What a rate needs.
#[derive(Debug, Clone)]
pub(super) struct Machines {
    rate: f64,
    /// By phase, then what lies between the phases.
    cores: Vec<(&'static str, f64)>,
    cores_per_machine: u32,
    network_bits: f64,
    index_bytes_per_day: f64,
    archive_bytes_per_day: f64,
    frontier_bytes_per_day: f64,
    cost_per_million: f64,
}

const DAY: f64 = 86_400.0;

impl Machines {
    pub(super) fn new(costs: &Costs, rate: f64, page_bytes: f64, prices: &Prices) -> Self {
        let costs = costs.of_page(page_bytes);
        let phases: f64 = costs.cpu_seconds.iter().sum();
        let mut cores: Vec<(&'static str, f64)> = PHASES
            .into_iter()
            .zip(costs.cpu_seconds)
            .map(|(phase, seconds)| (phase, rate * seconds / prices.load))
            .collect();
        cores.push(("between", rate * (costs.whole - phases).max(0.0) / prices.load));
        let all: f64 = cores.iter().map(|(_, cores)| cores).sum();
        let (index, archive, frontier) = (
            costs.index_bytes,
            page_bytes * costs.archive_share,
            costs.urls_per_page * costs.frontier_bytes_per_url,
        );
        let per_page = all / rate / 3_600.0 * prices.core_hour
            + page_bytes / 1e9 * prices.traffic
            + (index + archive + frontier) / 1e9 * prices.disk_month;
        Self {
            rate,
            cores,
            cores_per_machine: prices.cores,
            network_bits: rate * page_bytes * 8.0,
            index_bytes_per_day: rate * DAY * index,
            archive_bytes_per_day: rate * DAY * archive,
            frontier_bytes_per_day: rate * DAY * frontier,
            cost_per_million: per_page * 1e6,
        }
    }

    fn all_cores(&self) -> f64 {
        self.cores.iter().map(|(_, cores)| cores).sum()
    }

    fn machines(&self) -> f64 {
        (self.all_cores() / f64::from(self.cores_per_machine)).ceil().max(1.0)
    }

    fn bottleneck(&self) -> &'static str {
        self.cores.iter().max_by(|one, other| one.1.total_cmp(&other.1)).map_or("", |(phase, _)| phase)
    }

    pub(super) fn to_text(&self) -> String {
        let mut text = format!("For {:.0} pages per second:\n", self.rate);
        for (phase, cores) in &self.cores {
            text.push_str(&format!("  {phase:<10} {cores:>8.2} cores\n"));
        }
        let gigabytes = |bytes: f64| format!("{:.1} GB", bytes / 1e9);
        text.push_str(&format!(
            "  together   {:>8.2} cores: {:.0} machine{} of {}; {} needs most\n",
            self.all_cores(),
            self.machines(),
            if self.machines() > 1.0 { "s" } else { "" },
            self.cores_per_machine,
            self.bottleneck()
        ));
        text.push_str(&format!(
            "  network    {:>8.1} Mbit/s in\n  disk       {} a day: index {}, archive {}, frontier {}\n  bill       {:.2} per million pages, its disk for a month included\n",
            self.network_bits / 1e6,
            gigabytes(self.index_bytes_per_day + self.archive_bytes_per_day + self.frontier_bytes_per_day),
            gigabytes(self.index_bytes_per_day),
            gigabytes(self.archive_bytes_per_day),
            gigabytes(self.frontier_bytes_per_day),
            self.cost_per_million
        ));
        text
    }

    pub(super) fn to_json(&self) -> Value {
        json!({
            "pages_per_second": self.rate,
            "cores": self.cores.iter().copied().collect::<std::collections::BTreeMap<_, _>>(),
            "cores_together": self.all_cores(),
            "machines": self.machines(),
            "bottleneck": self.bottleneck(),
            "network_bits_per_second": self.network_bits,
            "disk_bytes_per_day": {
                "index": self.index_bytes_per_day,
                "archive": self.archive_bytes_per_day,
                "frontier": self.frontier_bytes_per_day,
            },
            "cost_per_million_pages": self.cost_per_million,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn twice_the_rate_needs_twice_the_cores_and_costs_the_same_a_page() {
        let costs = Costs::recorded().unwrap();
        let prices = Prices { core_hour: 0.03, disk_month: 0.03, traffic: 0.01, cores: 4, load: 0.7 };
        let (one, two) =
            (Machines::new(&costs, 500.0, 24e3, &prices), Machines::new(&costs, 1_000.0, 24e3, &prices));
        assert!((two.all_cores() / one.all_cores() - 2.0).abs() < 1e-9);
        assert!((two.cost_per_million - one.cost_per_million).abs() < 1e-9);
        assert!(two.machines() >= one.machines());
    }
}
