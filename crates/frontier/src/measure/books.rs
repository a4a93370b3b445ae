//! What the kernel's books say of time, memory and disk. Elsewhere than on Linux most of it is nothing.

use std::path::Path;
use std::time::{Duration, Instant};

/// One kind of work: how much of it, and how long it took.
#[derive(Debug, Default, Clone, Copy)]
pub struct Part {
    /// How many.
    pub count: u64,
    /// By the wall.
    pub wall: Duration,
    /// By the time the calling thread was on a core.
    pub cpu: Duration,
    /// The longest call.
    pub worst: Duration,
}

impl Part {
    /// How many in a second.
    pub fn per_second(&self) -> f64 {
        self.count as f64 / self.wall.as_secs_f64().max(1e-9)
    }

    /// How many in a second on a core: what a machine does that has other things to do, too.
    pub fn per_cpu_second(&self) -> f64 {
        self.count as f64 / self.cpu.as_secs_f64().max(1e-9)
    }

    /// Takes in a call that ends now.
    pub(super) fn add(&mut self, count: u64, watch: &Watch) {
        let wall = watch.wall.elapsed();
        self.count += count;
        self.wall += wall;
        self.cpu += thread_cpu().saturating_sub(watch.cpu);
        self.worst = self.worst.max(wall);
    }

    /// Takes in more work of the kind.
    pub(super) fn join(&mut self, other: &Self) {
        self.count += other.count;
        self.wall += other.wall;
        self.cpu += other.cpu;
        self.worst = self.worst.max(other.worst);
    }
}

/// When something began.
pub(super) struct Watch {
    wall: Instant,
    cpu: Duration,
}

impl Watch {
    pub fn start() -> Self {
        Self { wall: Instant::now(), cpu: thread_cpu() }
    }
}

/// Does the same each time: reads all over a table, each from the place the last one told. Its rate tells how fast the machine
/// itself is just now, with all that others do on it.
pub(super) struct Yardstick(Vec<u32>);

impl Yardstick {
    /// Memory that it takes, from beginning to end.
    pub const BYTES: u64 = 64 << 20;
    const WORDS: usize = Self::BYTES as usize / size_of::<u32>();
    const READS: u32 = 1 << 18;

    pub fn new() -> Self {
        Self((0..Self::WORDS as u32).map(|word| word.wrapping_mul(0x9e37_79b1).rotate_left(13)).collect())
    }

    pub fn read(&self) -> Part {
        let mut part = Part::default();
        let watch = Watch::start();
        let mut at = 1_u32;
        for read in 0..Self::READS {
            at = self.0[at as usize % Self::WORDS] ^ read;
        }
        std::hint::black_box(at);
        part.add(u64::from(Self::READS), &watch);
        part
    }
}

/// How long this thread was on a core, up to this moment. What `/proc` says of it is some milliseconds old, and so is charged
/// to whatever comes after a short call.
#[cfg(target_os = "linux")]
pub(super) fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::try_from(time).unwrap_or_default()
}

#[cfg(not(target_os = "linux"))]
pub(super) fn thread_cpu() -> Duration {
    Duration::ZERO
}

/// How long all threads were on a core, those that ended included.
pub(super) fn process_cpu() -> Duration {
    /// Of the kernel's books, on all machines of today.
    const TICKS_PER_SECOND: f64 = 100.0;
    let text = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    // The name in brackets may hold anything; behind it come fields without spaces in them.
    let fields = text.rsplit_once(')').map_or("", |(_, rest)| rest).split_whitespace();
    let ticks: u64 = fields.skip(11).take(2).filter_map(|field| field.parse::<u64>().ok()).sum();
    Duration::from_secs_f64(ticks as f64 / TICKS_PER_SECOND)
}

/// Bytes of this process in memory: all, and those that are no files.
pub(super) fn resident() -> [u64; 2] {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    ["VmRSS:", "RssAnon:"].map(|name| field(&status, name) << 10)
}

/// Bytes this process had written to disk.
pub(super) fn written_bytes() -> u64 {
    field(&std::fs::read_to_string("/proc/self/io").unwrap_or_default(), "write_bytes:")
}

fn field(text: &str, name: &str) -> u64 {
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|rest| rest.trim().trim_end_matches("kB").trim().parse().ok()).unwrap_or(0)
}

/// Bytes of all files under a directory.
pub(super) fn directory_bytes(path: &Path) -> u64 {
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
