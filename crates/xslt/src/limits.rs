//! How much a stylesheet may use up, and the account that is kept while it runs.
//!
//! [`Limits`] are the caller's; a [`Budget`] belongs to one parse or one transformation. Steps are counted in the units
//! the work is done in: instructions, nodes visited, and bytes of strings built (64 to a step).

use std::time::{Duration, Instant};

use crate::error::{Limit, Res, limit_error};

/// How much one transformation, and each document it reads, may use. Each limit that is reached is an error that names
/// it ([`ErrorKind::Limit`](crate::ErrorKind::Limit)).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Limits {
    /// Instructions run plus nodes visited plus 1/64 of the bytes of strings built.
    pub steps_max: u64,
    /// Templates and functions inside of each other. A call in tail position does not count.
    pub depth_max: u32,
    /// Nodes of one document, and of all result trees that a transformation holds in variables.
    pub nodes_max: usize,
    /// Bytes of the result, and of all messages together.
    pub output_bytes_max: usize,
    /// Bytes that variables, indexes and loaded documents hold at a time.
    pub memory_bytes_max: usize,
    /// Wall-clock time of one transformation.
    pub time_max: Duration,
    /// Bytes of one document or stylesheet.
    pub input_bytes_max: usize,
    /// Bytes that entities of one document may expand to.
    pub entity_bytes_max: usize,
    /// Documents that `document()` may load, and modules that a stylesheet may have.
    pub documents_max: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            steps_max: 1_000_000_000,
            depth_max: 3_000,
            nodes_max: 20_000_000,
            output_bytes_max: 256 << 20,
            memory_bytes_max: 512 << 20,
            time_max: Duration::from_secs(60),
            input_bytes_max: 256 << 20,
            entity_bytes_max: 4 << 20,
            documents_max: 1_000,
        }
    }
}

impl Limits {
    /// What a page that nobody has vetted may use: less than two seconds, and memory in the tens of megabytes.
    pub fn untrusted() -> Self {
        Self {
            steps_max: 50_000_000,
            depth_max: 1_000,
            nodes_max: 1_000_000,
            output_bytes_max: 16 << 20,
            memory_bytes_max: 64 << 20,
            time_max: Duration::from_millis(1_800),
            input_bytes_max: 16 << 20,
            entity_bytes_max: 1 << 20,
            documents_max: 16,
        }
    }
}

/// Steps between two looks at the clock.
const STEPS_PER_CLOCK: u64 = 20_000;

/// What one transformation has used so far.
#[derive(Debug)]
pub(crate) struct Budget {
    steps: u64,
    steps_next: u64,
    steps_max: u64,
    deadline: Option<Instant>,
    time_max: Duration,
    memory: usize,
    memory_max: usize,
}

impl Budget {
    pub(crate) fn new(limits: &Limits) -> Self {
        Self {
            steps: 0,
            steps_next: STEPS_PER_CLOCK.min(limits.steps_max),
            steps_max: limits.steps_max,
            deadline: Instant::now().checked_add(limits.time_max),
            time_max: limits.time_max,
            memory: 0,
            memory_max: limits.memory_bytes_max,
        }
    }

    /// Counts work done.
    #[inline]
    pub(crate) fn spend(&mut self, steps: u64) -> Res<()> {
        self.steps += steps;
        if self.steps > self.steps_next { self.look() } else { Ok(()) }
    }

    /// Counts the making of a string.
    #[inline]
    pub(crate) fn spend_bytes(&mut self, bytes: usize) -> Res<()> {
        if bytes > self.memory_max {
            return Err(self.too_much_memory());
        }
        self.spend(bytes as u64 / 64)
    }

    #[cold]
    fn look(&mut self) -> Res<()> {
        if self.steps > self.steps_max {
            return Err(limit_error(
                Limit::Steps,
                format!("the transformation took more than {} steps (limit steps_max)", self.steps_max),
            ));
        }
        if self.deadline.is_some_and(|deadline| Instant::now() > deadline) {
            return Err(limit_error(
                Limit::Time,
                format!(
                    "the transformation took longer than {} ms (limit time_max)",
                    self.time_max.as_millis()
                ),
            ));
        }
        self.steps_next = (self.steps + STEPS_PER_CLOCK).min(self.steps_max);
        Ok(())
    }

    /// Counts memory that is held from now on.
    #[inline]
    pub(crate) fn hold(&mut self, bytes: usize) -> Res<()> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.memory_max { Err(self.too_much_memory()) } else { Ok(()) }
    }

    /// Counts memory that is let go.
    #[inline]
    pub(crate) fn release(&mut self, bytes: usize) {
        self.memory = self.memory.saturating_sub(bytes);
    }

    /// Bytes that may still be held.
    pub(crate) fn memory_left(&self) -> usize {
        self.memory_max.saturating_sub(self.memory)
    }

    #[cold]
    fn too_much_memory(&self) -> Box<crate::XsltError> {
        limit_error(
            Limit::MemoryBytes,
            format!("the transformation holds more than {} bytes (limit memory_bytes_max)", self.memory_max),
        )
    }
}
