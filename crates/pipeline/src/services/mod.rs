//! Services and commands outside of the process, which make RDF or XML of what nothing here reads.
//!
//! In: what a rule has to send. Out: what came back, or a [`ServiceError`] that becomes a diagnostic of the page. Each [`Service`]
//! has so many requests under way and so many pages waiting, no more; a time-out, retries, and a breaker for each of its
//! addresses. Nothing here holds a thread of the CPU pool, so a slow service holds its own pages and nobody else's. Requests carry the
//! page, its type, its address and the time it was fetched: none of the operator's headers, passwords or variables.
//! Start at [`Service::ask`].

mod board;
mod command;
mod http;
mod numbers;

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::{Duration, Instant};

use bytes::Bytes;
use parking_lot::Mutex;
use tokio::sync::{Notify, Semaphore, SemaphorePermit};
use tokio::time::timeout;
use webloom_model::{Diagnostic, PageUrl};

use self::board::{Board, Pick};
pub use self::command::CommandLine;
pub use self::http::HttpAddress;
pub use self::numbers::{AddressNumbers, ServiceNumbers};

/// Longest pause before a retry.
const RETRY_PAUSE_MAX: Duration = Duration::from_secs(2);

/// Bytes in a unit of the waiting room.
const ROOM_UNIT: usize = 64 << 10;

/// What one service may use, and what is done when it does not answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServiceSettings {
    /// Requests under way at one address, or commands running.
    pub in_flight: usize,
    /// Pages that wait for it or are with it.
    pub waiting_max: usize,
    /// Bytes of those pages.
    pub waiting_bytes_max: usize,
    /// Whether a page that finds no place to wait waits all the same, and holds up the crawl.
    pub wait_when_full: bool,
    /// Time for one answer.
    pub timeout: Duration,
    /// Time for a page in all, waiting included.
    pub patience: Duration,
    /// How often it is asked for one page.
    pub attempts: u32,
    /// Pause before the second attempt; it doubles with each.
    pub retry_pause: Duration,
    /// Bytes of an answer.
    pub answer_bytes_max: usize,
    /// Failures in a row after which an address is left alone,
    pub breaker_failures: u32,
    /// and for how long.
    pub breaker_pause: Duration,
}

impl Default for ServiceSettings {
    fn default() -> Self {
        Self {
            in_flight: 4,
            waiting_max: 1_000,
            waiting_bytes_max: 256 << 20,
            wait_when_full: false,
            timeout: Duration::from_secs(30),
            // A lease lasts ten minutes.
            patience: Duration::from_secs(5 * 60),
            attempts: 3,
            retry_pause: Duration::from_millis(200),
            answer_bytes_max: 8 << 20,
            breaker_failures: 5,
            breaker_pause: Duration::from_secs(30),
        }
    }
}

/// Who is asked.
#[derive(Debug)]
pub enum Backend {
    /// Any of these, whichever is least busy.
    Http(Vec<HttpAddress>),
    /// A command of this machine.
    Command(CommandLine),
}

/// A service, and how it is doing.
#[derive(Debug)]
pub struct Service {
    label: String,
    backend: Backend,
    settings: ServiceSettings,
    board: Mutex<Board>,
    /// Rung when a place at an address is free.
    freed: Notify,
    places: Semaphore,
    room: Semaphore,
    numbers: Arc<ServiceNumbers>,
}

/// What is sent.
#[derive(Debug, Clone)]
pub struct ServiceRequest {
    /// The address of the page.
    pub url: PageUrl,
    /// When it was fetched; nothing for a file.
    pub fetched_at: Option<jiff::Timestamp>,
    /// The media type of what is sent.
    pub media_type: String,
    /// The page, or what was made of it.
    pub body: Bytes,
}

/// What came back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reply {
    /// The answer.
    pub body: Bytes,
    /// Its media type, if one was said.
    pub media_type: Option<String>,
    /// How long it took, waiting not counted.
    pub elapsed: Duration,
}

/// Why there is no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ServiceError {
    /// The breaker of every address is open.
    #[error("it failed so often that it is left alone for a while")]
    Open,
    /// As many pages wait for it as may.
    #[error("too many pages wait for it")]
    Full,
    /// The page has waited too long.
    #[error("its turn did not come within {0:?}")]
    Impatient(Duration),
    /// It took too long.
    #[error("it did not answer within {0:?}")]
    Timeout(Duration),
    /// It refused the page; asking again is of no use.
    #[error("it refused the page: {0}")]
    Refused(String),
    /// The answer is longer than it may be.
    #[error("its answer is longer than {0} bytes")]
    TooLong(usize),
    /// It could not be reached, or broke off.
    #[error("it failed: {0}")]
    Failed(String),
}

impl ServiceError {
    /// The finding on the page, in the words of the one who asked.
    pub fn diagnostic(&self, asker: &str) -> Diagnostic {
        let code = match self {
            Self::Open => "service-open",
            Self::Full => "service-full",
            Self::Impatient(_) => "service-impatient",
            Self::Timeout(_) => "service-timeout",
            Self::Refused(_) => "service-refused",
            Self::TooLong(_) => "service-answer-too-long",
            Self::Failed(_) => "service-failed",
        };
        Diagnostic::warning(code, format!("{asker} gave nothing: {self}"))
    }

    /// Whether the service is at fault, and not the page.
    fn is_its_fault(&self) -> bool {
        matches!(self, Self::Timeout(_) | Self::Failed(_))
    }
}

impl Service {
    /// A service that nobody has asked yet.
    pub fn new(label: String, backend: Backend, settings: ServiceSettings) -> Self {
        let addresses = match &backend {
            Backend::Http(addresses) => addresses.iter().map(HttpAddress::shown).collect(),
            Backend::Command(command) => vec![command.shown()],
        };
        let numbers = Arc::new(ServiceNumbers::new(label.clone(), addresses));
        let board = Board::new(numbers.addresses.len(), &settings);
        let units = settings.waiting_bytes_max.div_ceil(ROOM_UNIT).max(1);
        Self {
            label,
            backend,
            board: Mutex::new(board),
            freed: Notify::new(),
            places: Semaphore::new(settings.waiting_max.max(1)),
            room: Semaphore::new(units.min(Semaphore::MAX_PERMITS)),
            settings,
            numbers,
        }
    }

    /// What diagnostics and counters call it: `service images`.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Its numbers, live.
    pub fn numbers(&self) -> Arc<ServiceNumbers> {
        self.numbers.clone()
    }

    /// A place to wait in. Held as long as a page is with the service.
    ///
    /// # Errors
    ///
    /// When there is none, and the page is not to wait for one.
    pub async fn enter(&self, bytes: usize) -> Result<Place<'_>, ServiceError> {
        let units = self.settings.waiting_bytes_max.div_ceil(ROOM_UNIT).max(1);
        // A body larger than the room may still come in when it is empty.
        let units = u32::try_from(bytes.div_ceil(ROOM_UNIT).clamp(1, units)).unwrap_or(u32::MAX);
        let place = if self.settings.wait_when_full {
            match (self.places.acquire().await, self.room.acquire_many(units).await) {
                (Ok(place), Ok(room)) => Some((place, room)),
                _ => None,
            }
        } else {
            self.places.try_acquire().ok().zip(self.room.try_acquire_many(units).ok())
        };
        match place {
            Some((place, room)) => {
                self.numbers.waiting.fetch_add(1, Relaxed);
                Ok(Place { numbers: &self.numbers, _place: place, _room: room })
            }
            None => {
                self.numbers.asked.fetch_add(1, Relaxed);
                self.numbers.left_out.fetch_add(1, Relaxed);
                Err(ServiceError::Full)
            }
        }
    }

    /// Asks, for a page that has a [`Place`].
    ///
    /// # Errors
    ///
    /// When there is no answer that can be used.
    pub async fn ask(&self, _place: &Place<'_>, request: &ServiceRequest) -> Result<Reply, ServiceError> {
        self.numbers.asked.fetch_add(1, Relaxed);
        let patience = self.settings.patience;
        let answer = timeout(patience, self.ask_often_enough(request))
            .await
            .unwrap_or(Err(ServiceError::Impatient(patience)));
        match &answer {
            Ok(reply) => {
                self.numbers.answered.fetch_add(1, Relaxed);
                self.numbers.bytes.fetch_add(reply.body.len() as u64, Relaxed);
            }
            Err(error) => {
                let was_asked = *error != ServiceError::Open;
                let number = if was_asked { &self.numbers.failed } else { &self.numbers.left_out };
                number.fetch_add(1, Relaxed);
            }
        }
        answer
    }

    async fn ask_often_enough(&self, request: &ServiceRequest) -> Result<Reply, ServiceError> {
        let mut pause = self.settings.retry_pause;
        let mut before = None;
        for attempt in 1.. {
            let turn = self.turn(before).await?;
            before = Some(turn.address);
            let error = match self.send(turn, request).await {
                Ok(reply) => return Ok(reply),
                Err(error) => error,
            };
            if attempt >= self.settings.attempts || !error.is_its_fault() {
                return Err(error);
            }
            self.numbers.retries.fetch_add(1, Relaxed);
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_PAUSE_MAX);
        }
        Err(ServiceError::Open)
    }

    /// One request at one address.
    async fn send(&self, turn: Turn<'_>, request: &ServiceRequest) -> Result<Reply, ServiceError> {
        let limit = self.settings.timeout;
        let answer_bytes_max = self.settings.answer_bytes_max;
        let sent = async {
            match &self.backend {
                Backend::Http(addresses) => addresses[turn.address].post(request, answer_bytes_max).await,
                Backend::Command(command) => command.run(request, limit, answer_bytes_max).await,
            }
        };
        let answer = timeout(limit, sent).await.unwrap_or(Err(ServiceError::Timeout(limit)));
        if matches!(answer, Err(ServiceError::Timeout(_))) {
            self.numbers.timeouts.fetch_add(1, Relaxed);
        }
        let elapsed = turn.start.elapsed();
        let fine = !answer.as_ref().is_err_and(ServiceError::is_its_fault);
        turn.end(fine);
        answer.map(|(body, media_type)| Reply { body, media_type, elapsed })
    }

    /// Waits for a place at the least busy address, another one than `before` if it can be.
    async fn turn(&self, before: Option<usize>) -> Result<Turn<'_>, ServiceError> {
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            // Listening before looking, so that no ring is missed in between.
            freed.as_mut().enable();
            let pick = self.board.lock().pick(Instant::now(), before);
            match pick {
                Pick::Address(address) => {
                    let numbers = &self.numbers.addresses[address];
                    numbers.requests.fetch_add(1, Relaxed);
                    numbers.in_flight.fetch_add(1, Relaxed);
                    return Ok(Turn { service: self, address, start: Instant::now(), ended: false });
                }
                Pick::Open => return Err(ServiceError::Open),
                Pick::Full => freed.await,
            }
        }
    }
}

/// A page's place with a service.
#[derive(Debug)]
pub struct Place<'s> {
    numbers: &'s ServiceNumbers,
    _place: SemaphorePermit<'s>,
    _room: SemaphorePermit<'s>,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        self.numbers.waiting.fetch_sub(1, Relaxed);
    }
}

/// A request under way at an address.
struct Turn<'s> {
    service: &'s Service,
    address: usize,
    start: Instant,
    ended: bool,
}

impl Turn<'_> {
    /// It ended, well or by the fault of the service.
    fn end(mut self, fine: bool) {
        self.settle(Some(fine));
    }

    fn settle(&mut self, fine: Option<bool>) {
        self.ended = true;
        let Service { board, freed, numbers, .. } = self.service;
        let (open, opened) = {
            let mut board = board.lock();
            let was_open = board.is_open(self.address);
            board.ended(self.address, self.start, Instant::now(), fine);
            let open = board.is_open(self.address);
            (open, open && !was_open)
        };
        let numbers = &numbers.addresses[self.address];
        numbers.in_flight.fetch_sub(1, Relaxed);
        numbers
            .busy_us
            .fetch_add(u64::try_from(self.start.elapsed().as_micros()).unwrap_or(u64::MAX), Relaxed);
        numbers.open.store(open, Relaxed);
        if fine == Some(false) {
            numbers.failures.fetch_add(1, Relaxed);
        }
        if opened {
            tracing::warn!(
                service = self.service.label,
                address = numbers.address,
                "a service keeps failing and is left alone for a while"
            );
            // Who waits for it need wait no longer.
            freed.notify_waiters();
        }
        freed.notify_one();
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        // The page was given up meanwhile, which says nothing of the service.
        if !self.ended {
            self.settle(None);
        }
    }
}

#[cfg(test)]
mod tests;
