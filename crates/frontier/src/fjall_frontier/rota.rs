//! More hosts than fit in memory: some take turns, the others wait on disk, and they change places.
//!
//! Every host with something queued has a number in `rota`. Those up to the cursor are in memory; when there is room, the next ones
//! are taken up. When there is none, hosts that had their share of turns, or cannot be asked for long, are laid down
//! at the end of the rota. So a large site cannot keep others out, and memory does not grow with the number of hosts.
//!
//! A host on disk whose queue gets something urgent is called: those that were called and the others take turns in being taken up, so that a
//! page that is wanted now does not wait until its host's number comes, nor keep all other hosts waiting. Who was called is not written
//! down; after reopening hosts come by their numbers.

use std::collections::{BTreeMap, VecDeque};
use std::time::Instant;

use fjall::PersistMode;
use webloom_model::FrontierError;

use super::change::HostChange;
use super::store::store_error;
use super::{Core, FjallFrontier, Writer};
use crate::record::{damaged, encode};
use crate::schedule::{LaidDown, Place};

/// Hosts that change places in one go.
const HOSTS_PER_ROTATION: usize = 256;
/// Hosts that are called at once, at most; beyond them the least urgent wait for their numbers.
const CALLED_MAX: usize = 16 * 1024;

/// How far the rota is, and who comes next.
#[derive(Debug, Default)]
pub(super) struct Rota {
    /// Hosts up to this number were taken up.
    pub cursor: u64,
    /// The first number that nobody has.
    pub next: u64,
    /// Those behind the cursor, with their numbers, as far as they were read.
    ahead: VecDeque<(u64, Box<str>)>,
    /// Those with something urgent, by how urgent it is, then by their numbers.
    called: BTreeMap<(usize, u64), Box<str>>,
    /// True when the last one to be taken up had been called.
    called_last: bool,
}

impl Rota {
    /// Before anybody is taken up.
    pub fn new(next: u64) -> Self {
        Self { next, ..Self::default() }
    }

    /// True when hosts may wait on disk for their turn.
    pub fn has_parked(&self) -> bool {
        self.cursor + 1 < self.next
    }

    /// Changes with everybody who is taken up or passed over.
    pub fn progress(&self) -> (u64, usize) {
        (self.cursor, self.called.len())
    }

    /// Calls a host that waits on disk, if something urgent came to its queue.
    pub fn call(&mut self, number: u64, host: &HostChange) {
        let urgency = host.fresh.iter().map(|(place, _)| place.class()).min();
        let Some(class) = urgency.filter(|class| *class < Place::CLASS_ORDINARY) else { return };
        self.called.entry((class, number)).or_insert_with(|| host.name.clone());
        if self.called.len() > CALLED_MAX {
            self.called.pop_last();
        }
    }

    /// Takes out who comes next, of those that are known here.
    fn pop(&mut self) -> Option<(u64, Box<str>)> {
        let called = if self.called_last && !self.ahead.is_empty() { None } else { self.called.pop_first() };
        self.called_last = called.is_some();
        if let Some(((_, number), name)) = called {
            return Some((number, name));
        }
        let (number, name) = self.ahead.pop_front()?;
        self.cursor = self.cursor.max(number);
        Some((number, name))
    }
}

impl FjallFrontier {
    /// Takes up hosts that wait on disk, and lays down others for them if need be.
    pub(super) fn rotate(&self, writer: &mut Writer, now: Instant) -> Result<(), FrontierError> {
        let core = &mut *self.core.lock();
        let max = core.scheduler.config().hosts_active_max.max(1);
        let mut laid_down = core.scheduler.take_dropped();
        if core.scheduler.active() >= max {
            laid_down.extend(core.scheduler.lay_down(HOSTS_PER_ROTATION, now));
        }
        self.store_laid_down(writer, core, laid_down, now)?;
        let room = max.saturating_sub(core.scheduler.active()).min(HOSTS_PER_ROTATION);
        for _ in 0..room {
            if core.rota.ahead.is_empty() {
                self.look_ahead(&mut core.rota)?;
            }
            let Some((number, name)) = core.rota.pop() else {
                // There are no more.
                core.rota.cursor = core.rota.next - 1;
                break;
            };
            // One that is in memory already got its number while it was, or was called; one that was read ahead may have lost it since.
            if !core.scheduler.is_active(&name)
                && let Some(record) = writer.host(&self.store, &name)?
                && record.rota == Some(number)
            {
                self.take_up(core, &name, &record, now);
            }
        }
        Ok(())
    }

    /// Reads who comes next in the rota: more than there is room for just now, because looking for the first of them costs most.
    fn look_ahead(&self, rota: &mut Rota) -> Result<(), FrontierError> {
        for record in self.store.rota.range((rota.cursor + 1).to_be_bytes()..).take(HOSTS_PER_ROTATION) {
            let (key, value) = record.into_inner().map_err(|error| store_error(&error))?;
            let number = <[u8; 8]>::try_from(&*key).map(u64::from_be_bytes);
            let number = number.map_err(|_| damaged(&key, "not a number of the rota".to_owned()))?;
            let name = std::str::from_utf8(&value).map_err(|error| damaged(&key, error.to_string()))?;
            rota.ahead.push_back((number, name.into()));
        }
        Ok(())
    }

    /// Stores what is to be known of hosts that are no longer in memory. A loss of this write costs a delay learnt, no more.
    fn store_laid_down(
        &self,
        writer: &mut Writer,
        core: &mut Core,
        laid_down: Vec<LaidDown>,
        now: Instant,
    ) -> Result<(), FrontierError> {
        if laid_down.is_empty() {
            return Ok(());
        }
        let mut batch = self.store.database.batch();
        for LaidDown { name, facts, not_before, exhausted } in laid_down {
            let Some(mut record) = writer.host(&self.store, &name)? else { continue };
            record.set_manners(&facts.manners, &self.anchor);
            record.not_before_ms =
                not_before.filter(|moment| *moment > now).map(|moment| self.anchor.to_wall(moment));
            if let Some(number) = record.rota.take() {
                batch.remove(&self.store.rota, number.to_be_bytes());
            }
            record.exhausted = exhausted;
            if exhausted {
                batch.insert(&self.store.exhausted, name.as_bytes(), []);
            } else if record.queued > 0 && !record.blocked {
                let number = writer.counters.rota_next;
                writer.counters.rota_next += 1;
                record.rota = Some(number);
                batch.insert(&self.store.rota, number.to_be_bytes(), name.as_bytes());
            }
            batch.insert(&self.store.hosts, name.as_bytes(), encode(&record)?);
            writer.remember_host(self.store.secret.name_key(&name), record);
        }
        batch.insert(&self.store.meta, super::COUNTERS_KEY, encode(&writer.counters)?);
        batch.durability(Some(PersistMode::Buffer)).commit().map_err(|error| store_error(&error))?;
        core.rota.next = writer.counters.rota_next;
        Ok(())
    }

    /// Lets hosts whose budget was spent take turns again: budgets may have changed.
    pub(super) fn pardon_exhausted(&self) -> Result<(), FrontierError> {
        let writer = &mut *self.writer.lock();
        loop {
            let names: Vec<Vec<u8>> = self
                .store
                .exhausted
                .iter()
                .take(HOSTS_PER_ROTATION)
                .map(|record| record.key().map(|key| key.to_vec()).map_err(|error| store_error(&error)))
                .collect::<Result<_, _>>()?;
            if names.is_empty() {
                return Ok(());
            }
            let mut batch = self.store.database.batch();
            for key in names {
                batch.remove(&self.store.exhausted, key.clone());
                let Ok(name) = String::from_utf8(key) else { continue };
                let Some(mut record) = writer.host(&self.store, &name)? else { continue };
                record.exhausted = false;
                if record.queued > 0 && record.rota.is_none() && !record.blocked {
                    record.rota = Some(writer.counters.rota_next);
                    batch.insert(&self.store.rota, writer.counters.rota_next.to_be_bytes(), name.as_bytes());
                    writer.counters.rota_next += 1;
                }
                batch.insert(&self.store.hosts, name.as_bytes(), encode(&record)?);
                writer.remember_host(self.store.secret.name_key(&name), record);
            }
            batch.insert(&self.store.meta, super::COUNTERS_KEY, encode(&writer.counters)?);
            batch.durability(Some(PersistMode::Buffer)).commit().map_err(|error| store_error(&error))?;
            self.core.lock().rota.next = writer.counters.rota_next;
        }
    }
}
