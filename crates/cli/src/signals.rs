//! Signals that ask a command to end: an interrupt (Ctrl-C), SIGTERM, and SIGHUP, which says that the terminal is gone.
//!
//! In: whatever the system sends. Out: the next of them, whichever it is. What they mean is the command's business: the first asks
//! gently, a second one means at once. Signals that come before anybody listens end the process, as they always do.

use std::io;

use tokio::sync::watch;
use webloom_pipeline::Stop;

use crate::output::say;

/// Whether a command minds when its terminal goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminal {
    /// SIGHUP is like SIGTERM, unless the process was started to outlive its terminal, as `nohup` does.
    Matters,
    /// SIGHUP does what it does to everybody.
    IsNothing,
}

/// Signals that ask the process to end.
#[derive(Debug)]
pub struct Signals(system::Signals);

impl Signals {
    /// Listens from now on. Needs a runtime.
    pub fn listen(terminal: Terminal) -> io::Result<Self> {
        system::Signals::listen(terminal).map(Self)
    }

    /// Completes at the next one, at once when it came since the last.
    pub async fn next(&mut self) {
        self.0.next().await;
    }
}

/// What a crawl is told: to finish the pages under way at the first signal, and to stop at once at the second. Says so.
pub fn stops() -> io::Result<(watch::Receiver<Stop>, tokio::task::JoinHandle<()>)> {
    let mut signals = Signals::listen(Terminal::Matters)?;
    let (sender, stop) = watch::channel(Stop::No);
    let task = tokio::spawn(async move {
        loop {
            signals.next().await;
            let asked = if *sender.borrow() == Stop::No { Stop::Gracefully } else { Stop::Now };
            // Told first: there may be nobody left to read the words.
            sender.send_replace(asked);
            say(match asked {
                Stop::Gracefully => "\nfinishing the pages under way; interrupt again to stop at once\n",
                _ => "\nstopping at once; the same command resumes\n",
            });
        }
    });
    Ok((stop, task))
}

#[cfg(unix)]
mod system {
    use std::io;

    use tokio::signal::unix::{Signal, SignalKind, signal};

    use super::Terminal;

    #[derive(Debug)]
    pub struct Signals {
        interrupt: Signal,
        terminate: Signal,
        hangup: Option<Signal>,
    }

    impl Signals {
        pub fn listen(terminal: Terminal) -> io::Result<Self> {
            let minds = terminal == Terminal::Matters && !ignores_hangup();
            Ok(Self {
                interrupt: signal(SignalKind::interrupt())?,
                terminate: signal(SignalKind::terminate())?,
                hangup: minds.then(|| signal(SignalKind::hangup())).transpose()?,
            })
        }

        pub async fn next(&mut self) {
            let hangup = async {
                match &mut self.hangup {
                    Some(hangup) => hangup.recv().await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                _ = self.interrupt.recv() => {}
                _ = self.terminate.recv() => {}
                _ = hangup => {}
            }
        }
    }

    /// True when SIGHUP is ignored, which whoever started the process wished. To listen for it would undo that.
    #[cfg(target_os = "linux")]
    fn ignores_hangup() -> bool {
        let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
        let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
        ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).is_some_and(|mask| mask & 1 == 1)
    }

    /// The same where the system does not tell: `nohup` sends what is written elsewhere.
    #[cfg(not(target_os = "linux"))]
    fn ignores_hangup() -> bool {
        use std::io::IsTerminal;
        !io::stderr().is_terminal()
    }
}

#[cfg(not(unix))]
mod system {
    use std::io;

    use super::Terminal;

    #[derive(Debug)]
    pub struct Signals;

    impl Signals {
        pub fn listen(_: Terminal) -> io::Result<Self> {
            Ok(Self)
        }

        pub async fn next(&mut self) {
            if tokio::signal::ctrl_c().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}
