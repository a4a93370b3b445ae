//! Connections that wait for their next request.
//!
//! In: a connection whose last answer was read to its end. Out: the same connection, to whoever asks for the
//! same origin and may still talk to the address it leads to. HTTP/1 connections are handed over, one waiting per
//! origin; HTTP/2 connections are shared. Politeness makes requests to a host rare, so connections
//! wait a few seconds at most; a reaper runs while there is something to reap. Where there are very many hosts, the connection that was
//! used last is the one that is wanted next, for the page after its robots.txt: when the pool is full, the oldest one makes room.

use std::collections::{HashMap, VecDeque};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::time::{Instant, sleep};
use webloom_model::PageUrl;

use crate::connect::{Connection, Driver, Line, Sender};
use crate::within::within;

/// A connection in the pool is ready but for a moment; longer means that it is not.
const READY_TIMEOUT: Duration = Duration::from_secs(1);

/// What one connection may serve: scheme, host, port.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Origin {
    https: bool,
    host: String,
    port: u16,
}

impl Origin {
    pub fn of(url: &PageUrl) -> Self {
        Self { https: url.is_https(), host: url.host().to_owned(), port: url.port() }
    }
}

#[derive(Debug)]
pub(crate) struct Pool {
    state: Arc<Mutex<State>>,
    idle: Duration,
    connections_max: usize,
}

#[derive(Debug, Default)]
struct State {
    waiting: HashMap<Origin, Waiting>,
    /// Since when who waits, in this order; some of them wait no more.
    row: VecDeque<(Instant, Origin)>,
    reaper_runs: bool,
}

impl State {
    /// Answers what waited for the origin before.
    fn insert(&mut self, origin: Origin, waiting: Waiting) -> Option<Waiting> {
        self.row.push_back((waiting.since, origin.clone()));
        self.waiting.insert(origin, waiting)
    }

    /// Takes the oldest connection out, or only what is left in the row of one that waits no more.
    fn take_oldest(&mut self) -> Option<Waiting> {
        let (since, origin) = self.row.pop_front()?;
        let is_there = self.waiting.get(&origin).is_some_and(|waiting| waiting.since == since);
        is_there.then(|| self.waiting.remove(&origin)).flatten()
    }
}

#[derive(Debug)]
struct Waiting {
    sender: Sender,
    driver: Driver,
    remote: SocketAddr,
    since: Instant,
    line: Line,
}

impl Waiting {
    fn is_over(&self, idle: Duration) -> bool {
        let closed = match &self.sender {
            Sender::Http1(sender) => sender.is_closed(),
            Sender::Http2(sender) => sender.is_closed(),
        };
        closed || self.since.elapsed() >= idle
    }
}

impl Pool {
    pub fn new(idle: Duration, connections_max: usize) -> Self {
        Self { state: Arc::default(), idle, connections_max }
    }

    /// A connection to the origin that leads to one of `addresses`, if one waits.
    pub async fn take(&self, origin: &Origin, addresses: &[SocketAddr]) -> Option<Connection> {
        let (mut sender, mut driver, remote, line) = {
            let mut state = self.state.lock();
            let waiting = state.waiting.remove(origin)?;
            // The name may lead elsewhere by now, or the rule about addresses may have changed.
            if waiting.is_over(self.idle) || !addresses.contains(&waiting.remote) {
                return None;
            }
            if let Sender::Http2(sender) = &waiting.sender {
                let shared = Sender::Http2(sender.clone());
                let line = waiting.line.clone();
                let refreshed = Waiting {
                    sender: shared,
                    driver: Driver::NONE,
                    since: Instant::now(),
                    remote: waiting.remote,
                    line,
                };
                state.insert(origin.clone(), refreshed);
            }
            (waiting.sender, waiting.driver, waiting.remote, waiting.line)
        };
        // A server that closed it meanwhile is noticed here, before it is asked in vain.
        driver.rest().await;
        let ready = match &mut sender {
            Sender::Http1(sender) => within(READY_TIMEOUT, driver.until(sender.ready())).await,
            Sender::Http2(sender) => within(READY_TIMEOUT, sender.ready()).await,
        };
        ready.ok()?.ok()?;
        Some(Connection { sender, driver, remote, reused: true, line })
    }

    /// Keeps a connection whose answer was read to its end.
    pub fn put(&self, origin: Origin, connection: Connection) {
        let Connection { sender, driver, remote, line, .. } = connection;
        let waiting = Waiting { sender, driver, remote, since: Instant::now(), line };
        if self.idle.is_zero() || waiting.is_over(self.idle) {
            return;
        }
        if self.connections_max == 0 {
            return;
        }
        // Closing takes a while, and nobody is to wait for it: what goes is dropped after the lock.
        let mut gone = Vec::new();
        let mut state = self.state.lock();
        // Twice as many in the row at most, whatever becomes of those who waited.
        while state.waiting.len() >= self.connections_max && !state.waiting.contains_key(&origin)
            || state.row.len() >= 2 * self.connections_max
        {
            gone.extend(state.take_oldest());
        }
        gone.extend(state.insert(origin, waiting));
        if !state.reaper_runs {
            state.reaper_runs = true;
            tokio::spawn(reap(Arc::downgrade(&self.state), self.idle));
        }
    }

    /// Forgets what waits for the origin.
    pub fn forget(&self, origin: &Origin) {
        self.state.lock().waiting.remove(origin);
    }
}

/// Closes what has waited too long, until nothing waits.
async fn reap(state: std::sync::Weak<Mutex<State>>, idle: Duration) {
    loop {
        sleep((idle / 2).max(Duration::from_millis(10))).await;
        let Some(state) = state.upgrade() else { return };
        // Closed after the lock.
        let _gone: Vec<_>;
        let mut state = state.lock();
        let State { waiting, row, .. } = &mut *state;
        _gone = waiting.extract_if(|_, waiting| waiting.is_over(idle)).collect();
        row.retain(|(since, origin)| waiting.get(origin).is_some_and(|waiting| waiting.since == *since));
        if state.waiting.is_empty() {
            state.reaper_runs = false;
            return;
        }
    }
}
