//! What a crawl has to say to whoever runs it, beyond numbers and single pages: lines, each said once.
//!
//! In: a line whenever something happens that a person should know of. Out: the lines that nobody has heard yet. They are in the log, too.
//! Bounded: what nobody takes is dropped when there is too much of it.

use parking_lot::Mutex;
use tokio::sync::Notify;
use tracing::info;

/// Lines that wait to be taken.
const LINES_MAX: usize = 1_000;

/// Lines for people.
#[derive(Debug, Default)]
pub struct Notices {
    lines: Mutex<Vec<String>>,
    added: Notify,
}

impl Notices {
    /// Says something.
    pub fn add(&self, line: String) {
        info!("{line}");
        let mut lines = self.lines.lock();
        if lines.len() < LINES_MAX {
            lines.push(line);
        }
        drop(lines);
        self.added.notify_one();
    }

    /// What was said and not taken yet, oldest first.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.lines.lock())
    }

    /// The same, once there is something.
    pub async fn next(&self) -> Vec<String> {
        loop {
            let lines = self.take();
            if !lines.is_empty() {
                return lines;
            }
            self.added.notified().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_line_is_taken_once_and_there_are_never_too_many() {
        let notices = Notices::default();
        notices.add("one".to_owned());
        notices.add("two".to_owned());
        assert_eq!(notices.take(), ["one", "two"]);
        assert!(notices.take().is_empty());
        for number in 0..2 * LINES_MAX {
            notices.add(number.to_string());
        }
        assert_eq!(notices.take().len(), LINES_MAX);
    }
}
