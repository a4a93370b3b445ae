//! What a piece of work costs: time by the wall and by the processor, and the memory it needed beyond what was there before.

use std::time::Instant;

use serde_json::{Value, json};

use super::super::Usage;

/// The cost of a phase.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Cost {
    pub(super) pages: u64,
    pub(super) bytes: u64,
    pub(super) wall_seconds: f64,
    /// Of all threads.
    pub(super) cpu_seconds: f64,
    /// Resident memory at its highest, less what was resident at the beginning.
    pub(super) peak_bytes: u64,
}

/// Does the work, and answers what it cost and what came of it.
pub(super) fn measure<T>(
    pages: u64,
    bytes: u64,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<(Cost, T)> {
    // Where the kernel allows it, the peak counts from here; elsewhere it is that of the whole process.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
    let (before, start) = (Usage::now(), Instant::now());
    let result = work()?;
    let wall_seconds = start.elapsed().as_secs_f64();
    let after = Usage::now();
    let cost = Cost {
        pages,
        bytes,
        wall_seconds,
        cpu_seconds: after.cpu_seconds - before.cpu_seconds,
        peak_bytes: after.peak_rss_bytes.saturating_sub(before.rss_bytes),
    };
    Ok((cost, result))
}

impl Cost {
    /// The kernel counts in hundredths of a second; what took less is told as one.
    fn cpu(&self) -> f64 {
        self.cpu_seconds.max(0.01)
    }

    pub(super) fn pages_per_cpu_second(&self) -> f64 {
        self.pages as f64 / self.cpu()
    }

    pub(super) fn megabytes_per_cpu_second(&self) -> f64 {
        self.bytes as f64 / 1e6 / self.cpu()
    }

    pub(super) fn cpu_seconds_per_thousand(&self) -> f64 {
        self.cpu() * 1e3 / self.pages.max(1) as f64
    }

    pub(super) fn to_json(self) -> Value {
        json!({
            "pages": self.pages,
            "bytes": self.bytes,
            "wall_seconds": self.wall_seconds,
            "cpu_seconds": self.cpu_seconds,
            "pages_per_cpu_second": self.pages_per_cpu_second(),
            "megabytes_per_cpu_second": self.megabytes_per_cpu_second(),
            "cpu_seconds_per_1000_pages": self.cpu_seconds_per_thousand(),
            "peak_bytes": self.peak_bytes,
        })
    }
}
