//! How deep a crawl follows links, when that changes from one run to the next, or while it runs.
//!
//! In: the depth that is wished for. Out: when it is larger than before, the pages whose links were too deep until now are queued again, to be
//! read for their links; those links were not kept. What the depth was is a setting of the frontier.
//!
//! **Invariant:** the setting is never larger than the depth that some page was read with, unless that page is queued again. It is lowered before
//! pages are read with the smaller depth, and raised after pages are queued; a kill in between queues some page twice, and loses none.

use std::sync::Arc;

use parking_lot::Mutex;
use tracing::warn;
use webloom_frontier::FjallFrontier;
use webloom_model::{Frontier, FrontierError};

use crate::counters::Counters;
use crate::wiring::DataDir;

/// The setting that says how deep links were followed.
const SETTING: &str = "max_depth";

/// As deep as there are links.
const ANY: &str = "any";

/// How deep a crawl follows links, and did so far.
pub(crate) struct Depth {
    frontier: Arc<FjallFrontier>,
    counters: Arc<Counters>,
    /// What the specification said that the last run had, for directories that know no more.
    written: Option<u32>,
    /// One change at a time.
    changing: Mutex<()>,
}

impl Depth {
    /// Of a directory whose specification is still that of the last run.
    pub fn open(frontier: Arc<FjallFrontier>, data: &DataDir, counters: Arc<Counters>) -> Self {
        Self { written: written(data), frontier, counters, changing: Mutex::new(()) }
    }

    /// Takes notice of the depth that is in force from now on. Blocks for as long as it takes to go through all URLs when it is larger
    /// than before, and others may go on meanwhile.
    pub fn change_to(&self, depth: Option<u32>) -> Result<(), FrontierError> {
        self.change(depth, || Ok(()))
    }

    /// The same where `put_in_force` is what puts it in force.
    pub fn change(
        &self,
        depth: Option<u32>,
        put_in_force: impl FnOnce() -> Result<(), FrontierError>,
    ) -> Result<(), FrontierError> {
        let _one_at_a_time = self.changing.lock();
        let (kept, before) = self.before(depth)?;
        let (old, new) = (before.unwrap_or(u32::MAX), depth.unwrap_or(u32::MAX));
        if new < old {
            self.keep(depth)?;
            return put_in_force();
        }
        put_in_force()?;
        if new > old {
            let pages = self.frontier.visit_again(old..new)?;
            self.tell(old, depth, pages);
        }
        if new > old || !kept {
            self.keep(depth)?;
        }
        Ok(())
    }

    /// What the depth was before it is `depth`, and whether that is kept.
    fn before(&self, depth: Option<u32>) -> Result<(bool, Option<u32>), FrontierError> {
        let kept = self.frontier.get_setting(SETTING)?;
        Ok(match kept.as_deref() {
            Some(ANY) => (true, None),
            Some(text) => match text.parse() {
                Ok(depth) => (true, Some(depth)),
                Err(_) => {
                    warn!(text, "the depth that was kept is none");
                    (false, self.written)
                }
            },
            // Nothing was crawled yet, so nothing was lost.
            None if self.frontier.counts().known == 0 => (false, depth),
            None => (false, self.written),
        })
    }

    fn keep(&self, depth: Option<u32>) -> Result<(), FrontierError> {
        self.frontier.put_setting(SETTING, &depth.map_or(ANY.to_owned(), |depth| depth.to_string()))
    }

    fn tell(&self, old: u32, depth: Option<u32>, pages: u64) {
        let how_deep = depth.map_or("any depth".to_owned(), |depth| format!("depth {depth}"));
        let line = format!("links are followed to {how_deep} now, before to {old}");
        match pages {
            0 => {}
            1 => self.counters.notices.add(format!("{line}: 1 page is visited again for its links")),
            pages => {
                self.counters.notices.add(format!("{line}: {pages} pages are visited again for their links"));
            }
        }
    }
}

impl std::fmt::Debug for Depth {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Depth").field("written", &self.written).finish_non_exhaustive()
    }
}

/// The depth that the specification in a directory says; none when it says none.
fn written(data: &DataDir) -> Option<u32> {
    let table = data.written_spec()?;
    u32::try_from(table.get("scope")?.get("max_depth")?.as_integer()?).ok()
}
