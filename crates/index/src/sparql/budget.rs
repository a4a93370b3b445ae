//! What a query may use: time, memory, rows; and how it is stopped when it wants more.
//!
//! In: a [`Budget`] and something of the evaluator to run. Out: its result, or an error that names the limit. The
//! evaluator keeps its tables to itself, but every cell of every table is one of our terms, so terms report when
//! they are made, copied and dropped ([`Weight`]). That is also the only place that is reached however the evaluator spends
//! its time, so it is where the clock is looked at. From there no error can be returned; the evaluation is unwound
//! instead, as an editor's analysis is when somebody types, and caught at the rim. Start at [`Budget::run`].

use std::cell::{Cell, RefCell};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::rc::Rc;
use std::time::{Duration, Instant};

use spareval::{CancellationToken, QueryEvaluationError};

use crate::error::IndexError;
use crate::scan::Deadline;

/// Between two looks at the clock this many terms are made or copied.
const TERMS_BETWEEN_CHECKS: u32 = 2048;

/// What one query may use, and what it uses now.
#[derive(Clone)]
pub(super) struct Budget {
    state: Rc<State>,
}

struct State {
    deadline: Option<Deadline>,
    cancellation: Option<CancellationToken>,
    memory_bytes_max: i64,
    rows_max: u64,
    bytes: Cell<i64>,
    rows: Cell<u64>,
}

/// Travels up the stack of a query that is stopped.
struct Stopped(IndexError);

thread_local! {
    /// Bytes of the terms of the query that runs on this thread, and how many it may have.
    static BYTES: Cell<i64> = const { Cell::new(0) };
    static BYTES_MAX: Cell<i64> = const { Cell::new(i64::MAX) };
    static TICKS: Cell<u32> = const { Cell::new(0) };
    static RUNNING: RefCell<Option<Rc<State>>> = const { RefCell::new(None) };
}

impl Budget {
    pub(super) fn new(
        time: Option<Duration>,
        cancellation: Option<CancellationToken>,
        memory_bytes_max: Option<u64>,
        rows_max: Option<u64>,
    ) -> Self {
        let deadline = time.map(|limit| Deadline { at: Instant::now() + limit, limit });
        let memory = memory_bytes_max.and_then(|bytes| i64::try_from(bytes).ok()).unwrap_or(i64::MAX);
        let state = State {
            deadline,
            cancellation,
            memory_bytes_max: memory,
            rows_max: rows_max.unwrap_or(u64::MAX),
            bytes: Cell::new(0),
            rows: Cell::new(0),
        };
        Self { state: Rc::new(state) }
    }

    pub(super) fn deadline(&self) -> Option<Deadline> {
        self.state.deadline
    }

    /// Says whether there is time left.
    pub(super) fn check(&self) -> Result<(), IndexError> {
        self.state.check()
    }

    /// Runs a piece of the evaluation.
    pub(super) fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, IndexError> {
        self.state.check()?;
        let entered = Entered::new(&self.state);
        let done = catch_unwind(AssertUnwindSafe(work));
        drop(entered);
        done.or_else(|payload| match payload.downcast::<Stopped>() {
            Ok(stopped) => Err(stopped.0),
            Err(panic) => resume_unwind(panic),
        })
    }

    /// Counts one row of the result.
    pub(super) fn row(&self) -> Result<(), IndexError> {
        let rows = self.state.rows.get() + 1;
        self.state.rows.set(rows);
        if rows > self.state.rows_max {
            return Err(IndexError::RowLimit { limit: self.state.rows_max });
        }
        Ok(())
    }

    /// The same results, each step of them within the budget. After an error there are no more.
    pub(super) fn limit<T>(
        self,
        mut results: impl Iterator<Item = Result<T, QueryEvaluationError>>,
    ) -> impl Iterator<Item = Result<T, QueryEvaluationError>> {
        let mut ended = false;
        std::iter::from_fn(move || {
            if ended {
                return None;
            }
            let boxed = |error: IndexError| QueryEvaluationError::Dataset(Box::new(error));
            let next = match self.run(|| results.next()) {
                Ok(Some(Ok(result))) => self.row().map(|()| result).map_err(boxed),
                Ok(Some(Err(error))) => Err(error),
                Ok(None) => {
                    ended = true;
                    return None;
                }
                Err(error) => Err(boxed(error)),
            };
            ended = next.is_err();
            Some(next)
        })
    }
}

impl State {
    fn check(&self) -> Result<(), IndexError> {
        if self.cancellation.as_ref().is_some_and(CancellationToken::is_cancelled) {
            return Err(IndexError::Evaluation(QueryEvaluationError::Cancelled));
        }
        self.deadline.as_ref().map_or(Ok(()), Deadline::check)
    }
}

/// Makes a budget the one of this thread, until it is dropped. Queries can nest: a search inside a query asks another.
struct Entered {
    before: Option<Rc<State>>,
    bytes_before: i64,
    bytes_max_before: i64,
}

impl Entered {
    fn new(state: &Rc<State>) -> Self {
        Self {
            before: RUNNING.replace(Some(Rc::clone(state))),
            bytes_before: BYTES.replace(state.bytes.get()),
            bytes_max_before: BYTES_MAX.replace(state.memory_bytes_max),
        }
    }
}

impl Drop for Entered {
    fn drop(&mut self) {
        let bytes = BYTES.replace(self.bytes_before);
        BYTES_MAX.set(self.bytes_max_before);
        if let Some(state) = RUNNING.replace(self.before.take()) {
            state.bytes.set(bytes);
        }
    }
}

/// A number of bytes that count as used for as long as this exists.
pub(super) struct Weight(u32);

impl Weight {
    #[inline]
    pub(super) fn new(bytes: u32) -> Self {
        let weight = Self(bytes);
        let used = BYTES.get() + i64::from(bytes);
        BYTES.set(used);
        let ticks = TICKS.get().wrapping_add(1);
        TICKS.set(ticks);
        if used > BYTES_MAX.get() || ticks.is_multiple_of(TERMS_BETWEEN_CHECKS) {
            stop_if_over();
        }
        weight
    }
}

impl Clone for Weight {
    #[inline]
    fn clone(&self) -> Self {
        Self::new(self.0)
    }
}

impl Drop for Weight {
    #[inline]
    fn drop(&mut self) {
        BYTES.set(BYTES.get() - i64::from(self.0));
    }
}

#[cold]
fn stop_if_over() {
    if std::thread::panicking() {
        return;
    }
    let Some(state) = RUNNING.with_borrow(Clone::clone) else {
        return;
    };
    let verdict = if BYTES.get() > state.memory_bytes_max {
        Err(IndexError::MemoryLimit { limit_bytes: state.memory_bytes_max.unsigned_abs() })
    } else {
        state.check()
    };
    if let Err(error) = verdict {
        // Not `panic!`: nothing is wrong, and nothing is to be printed.
        resume_unwind(Box::new(Stopped(error)));
    }
}
