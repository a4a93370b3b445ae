//! `/metrics`: every number of the server and its crawls, in Prometheus' text format.
//!
//! The numbers are those of `/api/status` and `/api/crawls/{id}`, from the same reports, so the two always agree.

use std::fmt::Write;
use std::sync::atomic::Ordering::Relaxed;

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::header;
use webloom_pipeline::{Counters, Latency};

use crate::app::{App, Shared};

/// Answers a scrape.
pub async fn metrics(State(app): State<Shared>) -> Response {
    ([(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], render(&app)).into_response()
}

/// Collects samples under their metric, so that each has its head once.
#[derive(Default)]
struct Metrics {
    families: Vec<Family>,
}

struct Family {
    name: &'static str,
    kind: &'static str,
    help: &'static str,
    samples: String,
}

impl Metrics {
    fn family(&mut self, name: &'static str, kind: &'static str, help: &'static str) -> &mut String {
        let place = match self.families.iter().position(|family| family.name == name) {
            Some(place) => place,
            None => {
                self.families.push(Family { name, kind, help, samples: String::new() });
                self.families.len() - 1
            }
        };
        &mut self.families[place].samples
    }

    fn add(
        &mut self,
        name: &'static str,
        kind: &'static str,
        help: &'static str,
        labels: &[(&str, &str)],
        value: f64,
    ) {
        let samples = self.family(name, kind, help);
        sample(samples, name, labels, value);
    }

    fn gauge(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        self.add(name, "gauge", help, labels, value);
    }

    fn counter(&mut self, name: &'static str, help: &'static str, labels: &[(&str, &str)], value: f64) {
        self.add(name, "counter", help, labels, value);
    }

    fn text(self) -> String {
        let mut text = String::new();
        for Family { name, kind, help, samples } in self.families {
            let _ = write!(text, "# HELP {name} {help}\n# TYPE {name} {kind}\n{samples}");
        }
        text
    }
}

fn sample(text: &mut String, name: &str, labels: &[(&str, &str)], value: f64) {
    text.push_str(name);
    if !labels.is_empty() {
        text.push('{');
        for (number, (label, value)) in labels.iter().enumerate() {
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(text, "{}{label}=\"{value}\"", if number > 0 { "," } else { "" });
        }
        text.push('}');
    }
    // Whole numbers are written as such; Prometheus reads both.
    let _ = writeln!(text, " {value}");
}

/// All metrics as text.
pub fn render(app: &App) -> String {
    let mut metrics = Metrics::default();
    metrics.gauge("webloom_info", "The version that runs.", &[("version", env!("CARGO_PKG_VERSION"))], 1.0);
    metrics.gauge("webloom_uptime_seconds", "Since the server began.", &[], app.uptime().as_secs_f64());
    for (class, count) in app.answers.iter().enumerate().skip(1) {
        metrics.counter(
            "webloom_http_answers_total",
            "Answers of this server by class of status.",
            &[("class", &format!("{class}xx"))],
            count.load(Relaxed) as f64,
        );
    }
    machine(&mut metrics, app);
    for slot in app.registry.all() {
        crawl(&mut metrics, &slot);
    }
    metrics.text()
}

fn machine(metrics: &mut Metrics, app: &App) {
    let machine = app.machine();
    for (name, help, value) in [
        (
            "webloom_cpu_percent",
            "Processor time of this process, in percent of one core.",
            machine.cpu_percent,
        ),
        ("webloom_memory_bytes", "Resident memory of this process.", machine.memory_bytes as f64),
        ("webloom_memory_total_bytes", "Memory of the machine.", machine.memory_total_bytes as f64),
        ("webloom_disk_free_bytes", "Room on the disk of the data.", machine.disk_free_bytes as f64),
        ("webloom_disk_total_bytes", "Size of the disk of the data.", machine.disk_total_bytes as f64),
        ("webloom_open_files", "Open descriptors.", machine.open_files as f64),
        ("webloom_open_files_max", "Descriptors that may be open.", machine.open_files_max as f64),
        ("webloom_threads", "Threads of this process.", machine.threads as f64),
    ] {
        metrics.gauge(name, help, &[], value);
    }
}

/// What the rules of a crawl did, and how the services are doing.
fn rules(metrics: &mut Metrics, crawl: &str, counters: &Counters) {
    for ((rule, step), numbers) in counters.steps() {
        let labels = [("crawl", crawl), ("rule", rule.as_str()), ("step", step.as_str())];
        for (name, help, value) in [
            ("webloom_rule_pages_total", "Pages that a step of a rule was run on.", numbers.pages as f64),
            ("webloom_rule_failed_total", "Pages that it gave nothing for.", numbers.failed as f64),
            ("webloom_rule_seconds_total", "Time that it took.", numbers.busy.as_secs_f64()),
            ("webloom_rule_bytes_total", "Bytes that it gave.", numbers.bytes as f64),
        ] {
            metrics.counter(name, help, &labels, value);
        }
    }
    for service in counters.services() {
        let labels = [("crawl", crawl), ("service", service.label.as_str())];
        for (name, help, number) in [
            ("webloom_service_asked_total", "Pages that a service was to be asked for.", &service.asked),
            ("webloom_service_answered_total", "Pages that it answered for.", &service.answered),
            ("webloom_service_failed_total", "Pages that it gave nothing for.", &service.failed),
            ("webloom_service_left_out_total", "Pages that it was not asked for.", &service.left_out),
            ("webloom_service_retries_total", "Requests that were made again.", &service.retries),
            ("webloom_service_timeouts_total", "Requests that took too long.", &service.timeouts),
            ("webloom_service_bytes_total", "Bytes of its answers.", &service.bytes),
        ] {
            metrics.counter(name, help, &labels, number.load(Relaxed) as f64);
        }
        let waiting = service.waiting.load(Relaxed) as f64;
        metrics.gauge("webloom_service_waiting", "Pages that wait for it or are with it.", &labels, waiting);
        for address in &service.addresses {
            let labels = [labels[0], labels[1], ("address", address.address.as_str())];
            for (name, help, number) in [
                ("webloom_service_requests_total", "Requests to an address of a service.", &address.requests),
                ("webloom_service_failures_total", "Requests that failed by its fault.", &address.failures),
            ] {
                metrics.counter(name, help, &labels, number.load(Relaxed) as f64);
            }
            let seconds = address.busy_us.load(Relaxed) as f64 / 1e6;
            metrics.counter("webloom_service_seconds_total", "Time that requests took.", &labels, seconds);
            let in_flight = address.in_flight.load(Relaxed) as f64;
            metrics.gauge("webloom_service_in_flight", "Requests under way.", &labels, in_flight);
            let open = f64::from(u8::from(address.open.load(Relaxed)));
            metrics.gauge("webloom_service_open", "1 while an address is left alone.", &labels, open);
        }
    }
}

fn crawl(metrics: &mut Metrics, slot: &crate::crawls::Slot) {
    let report = slot.report();
    let crawl = ("crawl", slot.id.as_str());
    let store = slot.store();
    for (name, help, value) in [
        ("webloom_store_pages", "Pages in the index.", store.pages),
        ("webloom_store_graphs", "Graphs in the index.", store.graphs),
        ("webloom_store_quads", "Distinct quads in the index.", store.quads),
        ("webloom_store_terms", "Distinct terms in the index.", store.terms),
        ("webloom_store_bytes", "Bytes of the index on disk.", store.bytes),
        ("webloom_store_segments", "Segment files of the index.", store.segments),
        ("webloom_store_generation", "Grows with every change of the index.", store.generation),
        ("webloom_crawl_pages", "Pages the crawl has.", report.brief.pages),
        ("webloom_crawl_queued", "URLs that wait.", report.queues.queued),
        ("webloom_crawl_leased", "URLs under way.", report.queues.leased),
        ("webloom_crawl_hosts", "Hosts with something queued.", report.queues.hosts),
        ("webloom_crawl_hosts_ready", "Hosts that may be asked now.", report.queues.ready_hosts),
        ("webloom_crawl_hosts_waiting", "Hosts whose turn is later.", report.queues.waiting_hosts),
        ("webloom_crawl_hosts_retired", "Hosts that are asked no more.", report.queues.retired_hosts),
    ] {
        metrics.gauge(name, help, &[crawl], value as f64);
    }
    for state in ["running", "paused", "stopping", "stopped", "finished", "failed"] {
        metrics.gauge(
            "webloom_crawl_state",
            "1 for the state the crawl is in.",
            &[crawl, ("state", state)],
            f64::from(u8::from(report.brief.state == state)),
        );
    }
    metrics.gauge(
        "webloom_crawl_elapsed_seconds",
        "How long the crawl has been running.",
        &[crawl],
        report.elapsed_seconds,
    );
    for (name, help, value) in [
        ("webloom_crawl_pages_total", "Pages indexed in this run.", report.totals.pages),
        ("webloom_crawl_received_bytes_total", "Bytes received in this run.", report.totals.bytes),
        ("webloom_crawl_quads_total", "Quads stored in this run.", report.totals.quads),
        ("webloom_crawl_errors_total", "Errors met in this run.", report.totals.errors),
        ("webloom_crawl_not_modified_total", "Pages that had not changed.", report.totals.not_modified),
        ("webloom_crawl_robots_denied_total", "URLs that robots.txt forbids.", report.totals.robots_denied),
    ] {
        metrics.counter(name, help, &[crawl], value as f64);
    }
    for (what, value) in [
        ("pages", report.rates.pages),
        ("bytes", report.rates.bytes),
        ("quads", report.rates.quads),
        ("errors", report.rates.errors),
    ] {
        metrics.gauge(
            "webloom_crawl_rate",
            "Per second, over the last five seconds.",
            &[crawl, ("of", what)],
            value,
        );
    }
    for (class, count) in &report.status_classes {
        metrics.counter(
            "webloom_crawl_answers_total",
            "Answers of crawled servers by class of status.",
            &[crawl, ("class", class)],
            *count as f64,
        );
    }
    for phase in &report.phases {
        let labels = [crawl, ("phase", phase.name)];
        metrics.counter(
            "webloom_phase_pages_total",
            "Pages that went through a phase.",
            &labels,
            phase.pages as f64,
        );
        metrics.gauge("webloom_phase_rate", "Pages per second of a phase.", &labels, phase.rate);
        metrics.gauge(
            "webloom_phase_busy_share",
            "Share of its workers' time that a phase takes.",
            &labels,
            phase.busy_share,
        );
        metrics.gauge("webloom_phase_queue", "Pages in a phase or before it.", &labels, phase.queue as f64);
        metrics.gauge("webloom_phase_queue_max", "How many there can be.", &labels, phase.queue_max as f64);
    }
    if let Some(live) = slot.live() {
        latency(metrics, slot.id.as_str(), &live.counters.latency);
        let counters = &live.counters;
        for (name, help, value) in [
            ("webloom_archive_records_total", "Records archived in this run.", &counters.archive_records),
            ("webloom_archive_bytes_total", "Bytes archived in this run.", &counters.archive_bytes),
        ] {
            metrics.counter(name, help, &[crawl], value.load(Relaxed) as f64);
        }
        metrics.gauge(
            "webloom_archive_waits",
            "1 while the crawl waits for room on the disk.",
            &[crawl],
            f64::from(u8::from(counters.archive_waits.load(Relaxed))),
        );
        rules(metrics, slot.id.as_str(), &live.counters);
    }
}

/// A histogram, cumulative as Prometheus wants it.
fn latency(metrics: &mut Metrics, crawl: &str, latency: &Latency) {
    const NAME: &str = "webloom_answer_seconds";
    let samples = metrics.family(NAME, "histogram", "How long crawled servers took to answer.");
    let classes = latency.classes();
    let total: u64 = classes.iter().sum();
    let mut below = 0;
    for (class, count) in classes.iter().enumerate().take(Latency::CLASSES - 1) {
        below += count;
        let bound = format!("{}", (1_u64 << class) as f64 / 1e3);
        sample(samples, &format!("{NAME}_bucket"), &[("crawl", crawl), ("le", &bound)], below as f64);
    }
    sample(samples, &format!("{NAME}_bucket"), &[("crawl", crawl), ("le", "+Inf")], total as f64);
    sample(samples, &format!("{NAME}_sum"), &[("crawl", crawl)], latency.total_seconds());
    sample(samples, &format!("{NAME}_count"), &[("crawl", crawl)], total as f64);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_escaped_and_heads_come_once() {
        let mut metrics = Metrics::default();
        metrics.gauge("a", "An a.", &[("x", "q\"\\\n")], 1.5);
        metrics.gauge("b", "A b.", &[], 2.0);
        metrics.gauge("a", "An a.", &[("x", "y")], 3.0);
        assert_eq!(
            metrics.text(),
            "# HELP a An a.\n# TYPE a gauge\na{x=\"q\\\"\\\\\\n\"} 1.5\na{x=\"y\"} 3\n\
             # HELP b A b.\n# TYPE b gauge\nb 2\n"
        );
    }
}
