//! What the rules of a crawl did, for its summary.

use std::sync::atomic::Ordering::Relaxed;

use serde_json::{Value, json};
use webloom_pipeline::Counters;

use crate::output::{bytes, with_commas};

/// For people; empty when there are no rules.
pub fn to_text(counters: &Counters) -> String {
    let mut text = String::new();
    let steps = counters.steps();
    if !steps.is_empty() {
        text.push_str("  rule and step                                  pages  failed  ms/page      bytes\n");
    }
    for ((rule, step), numbers) in steps {
        text.push_str(&format!(
            "  {:<44} {:>7} {:>7} {:>8.1} {:>10}\n",
            format!("{rule}: {step}"),
            with_commas(numbers.pages),
            with_commas(numbers.failed),
            numbers.busy.as_secs_f64() * 1e3 / numbers.pages.max(1) as f64,
            bytes(numbers.bytes),
        ));
    }
    for service in counters.services() {
        let number = |number: &std::sync::atomic::AtomicU64| with_commas(number.load(Relaxed));
        text.push_str(&format!(
            "  {}: {} pages asked, {} answered, {} failed, {} left out, {} retries, {} time-outs\n",
            service.label,
            number(&service.asked),
            number(&service.answered),
            number(&service.failed),
            number(&service.left_out),
            number(&service.retries),
            number(&service.timeouts),
        ));
        for address in &service.addresses {
            let requests = address.requests.load(Relaxed);
            text.push_str(&format!(
                "    {}: {} requests, {} failures, {:.1} ms each{}\n",
                address.address,
                with_commas(requests),
                number(&address.failures),
                address.busy_us.load(Relaxed) as f64 / 1e3 / requests.max(1) as f64,
                if address.open.load(Relaxed) { ", left alone" } else { "" },
            ));
        }
    }
    text
}

/// The steps of rules, for programs.
pub fn steps_to_json(counters: &Counters) -> Value {
    let steps = counters.steps().into_iter().map(|((rule, step), numbers)| {
        json!({
            "rule": rule,
            "step": step,
            "pages": numbers.pages,
            "failed": numbers.failed,
            "seconds": numbers.busy.as_secs_f64(),
            "bytes": numbers.bytes,
        })
    });
    steps.collect()
}

/// The services that were asked, for programs.
pub fn services_to_json(counters: &Counters) -> Value {
    let services = counters.services().into_iter().map(|service| {
        let addresses: Vec<Value> = service
            .addresses
            .iter()
            .map(|address| {
                json!({
                    "address": address.address,
                    "requests": address.requests.load(Relaxed),
                    "failures": address.failures.load(Relaxed),
                    "seconds": address.busy_us.load(Relaxed) as f64 / 1e6,
                    "open": address.open.load(Relaxed),
                })
            })
            .collect();
        json!({
            "service": service.label,
            "asked": service.asked.load(Relaxed),
            "answered": service.answered.load(Relaxed),
            "failed": service.failed.load(Relaxed),
            "left_out": service.left_out.load(Relaxed),
            "retries": service.retries.load(Relaxed),
            "timeouts": service.timeouts.load(Relaxed),
            "bytes": service.bytes.load(Relaxed),
            "addresses": addresses,
        })
    });
    services.collect()
}
