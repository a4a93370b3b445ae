//! The heartbeat of the machine: processor, memory, disk, descriptors, once a second, from `/proc`.
//!
//! Out: a [`Machine`]. Where a number cannot be had (another system, a closed `/proc`), it is 0.

use std::path::Path;
use std::time::Instant;

use serde::Serialize;

/// What this process uses of the machine, and what the machine has.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize)]
pub struct Machine {
    /// Processor time of this process, in percent of one core.
    pub cpu_percent: f64,
    /// Memory of this process that is resident.
    pub memory_bytes: u64,
    /// Memory of the machine.
    pub memory_total_bytes: u64,
    /// Room on the disk of the data.
    pub disk_free_bytes: u64,
    /// Size of the disk of the data.
    pub disk_total_bytes: u64,
    /// Open descriptors.
    pub open_files: u64,
    /// Descriptors that may be open.
    pub open_files_max: u64,
    /// Threads.
    pub threads: u64,
}

/// Takes the machine's pulse; remembers the last beat, for processor time is a difference.
#[derive(Debug)]
pub struct Pulse {
    last: Option<(Instant, f64)>,
}

impl Pulse {
    /// Nothing measured yet.
    pub fn new() -> Self {
        Self { last: None }
    }

    /// The numbers now; `data` says which disk.
    pub fn beat(&mut self, data: &Path) -> Machine {
        let status = read("/proc/self/status");
        let now = Instant::now();
        let seconds = cpu_seconds(&read("/proc/self/stat"));
        let cpu_percent = match (self.last, seconds) {
            (Some((then, before)), Some(seconds)) => {
                let elapsed = now.duration_since(then).as_secs_f64().max(1e-3);
                ((seconds - before) / elapsed * 100.0).max(0.0)
            }
            _ => 0.0,
        };
        self.last = seconds.map(|seconds| (now, seconds));
        // The directory may not be made yet; its parent is on the same disk, most likely.
        let place = data.ancestors().find(|path| path.exists()).unwrap_or(Path::new("/"));
        Machine {
            cpu_percent: (cpu_percent * 10.0).round() / 10.0,
            memory_bytes: kibibytes(&status, "VmRSS:"),
            memory_total_bytes: kibibytes(&read("/proc/meminfo"), "MemTotal:"),
            disk_free_bytes: fs4::available_space(place).unwrap_or(0),
            disk_total_bytes: fs4::total_space(place).unwrap_or(0),
            open_files: std::fs::read_dir("/proc/self/fd").map_or(0, |entries| entries.count() as u64),
            open_files_max: descriptors_max(&read("/proc/self/limits")),
            threads: field(&status, "Threads:").unwrap_or(0),
        }
    }
}

impl Default for Pulse {
    fn default() -> Self {
        Self::new()
    }
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default()
}

/// The first number behind a name.
fn field(text: &str, name: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(name))?;
    rest.split_whitespace().next()?.parse().ok()
}

fn kibibytes(text: &str, name: &str) -> u64 {
    field(text, name).unwrap_or(0) * 1024
}

/// User and system time of a line of `/proc/PID/stat`, in seconds. A tick is a hundredth on every Linux.
fn cpu_seconds(stat: &str) -> Option<f64> {
    // The name of the process is in brackets and may contain anything; fields are counted behind it.
    let rest = stat.rsplit_once(')')?.1;
    let mut fields = rest.split_whitespace().skip(11);
    let user: u64 = fields.next()?.parse().ok()?;
    let system: u64 = fields.next()?.parse().ok()?;
    Some((user + system) as f64 / 100.0)
}

/// The soft limit of `/proc/PID/limits`.
fn descriptors_max(limits: &str) -> u64 {
    field(limits, "Max open files").unwrap_or(0)
}

/// True when some process holds a lock on the file, without touching the lock. Elsewhere than on Linux nobody tells.
#[cfg(not(unix))]
pub fn is_locked(_: &Path) -> bool {
    false
}

/// True when some process holds a lock on the file, without touching the lock. Elsewhere than on Linux nobody tells.
#[cfg(unix)]
pub fn is_locked(file: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    let Ok(metadata) = std::fs::metadata(file) else { return false };
    let inode = format!(":{} ", metadata.ino());
    read("/proc/locks").lines().any(|line| line.contains("FLOCK") && line.contains(&inode))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pulse_of_this_process_makes_sense() {
        let mut pulse = Pulse::new();
        let first = pulse.beat(Path::new("/nowhere/at/all"));
        assert!(first.memory_bytes > 0 && first.memory_total_bytes > first.memory_bytes);
        assert!(first.threads >= 1 && first.open_files > 0 && first.open_files_max >= first.open_files);
        assert!(first.disk_total_bytes >= first.disk_free_bytes);
        assert!(pulse.beat(Path::new("/")).cpu_percent >= 0.0);
    }

    #[test]
    fn a_process_name_with_brackets_does_not_shift_the_fields() {
        let stat = "1 (a) b) S 1 2 3 4 5 6 7 8 9 10 250 50 0 0";
        assert_eq!(cpu_seconds(stat), Some(3.0));
        assert_eq!(cpu_seconds(""), None);
    }

    #[test]
    fn locks_of_files_are_seen_and_not_disturbed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("LOCK");
        let file = std::fs::File::create(&path).unwrap();
        assert!(!is_locked(&path));
        file.lock().unwrap();
        assert!(is_locked(&path));
        file.unlock().unwrap();
        assert!(!is_locked(&path));
    }
}
