//! A command as a service: the page on standard input, the answer on standard output.
//!
//! No shell is involved, and nothing of the page becomes an argument. The command's environment has the page's address and type
//! and next to nothing of ours, so that no password in it is passed on. It runs in a process group of its own, which is ended as a
//! whole when it takes too long, says too much, or is no longer wanted.

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::{ServiceError, ServiceRequest};

/// Variables that are passed on; what else there is may be secret.
const PASSED_ON: [&str; 6] = ["PATH", "LANG", "LC_ALL", "LC_CTYPE", "TMPDIR", "SYSTEMROOT"];

/// How often a running command is looked at.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Bytes of what a command says on standard error that are kept.
const WORDS_BYTES_MAX: u64 = 4 << 10;

/// A program and its arguments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandLine {
    program: PathBuf,
    arguments: Vec<String>,
}

impl CommandLine {
    /// Finds the program: as a path, or by name where programs are.
    ///
    /// # Errors
    ///
    /// In words, when there is none.
    pub fn find(words: &[String]) -> Result<Self, String> {
        let (program, arguments) = words.split_first().ok_or("a command needs the name of a program")?;
        let path = Path::new(program);
        let found = if path.components().count() > 1 {
            path.is_file().then(|| path.to_owned())
        } else {
            let folders = std::env::var_os("PATH").unwrap_or_default();
            std::env::split_paths(&folders).map(|folder| folder.join(program)).find(|path| path.is_file())
        };
        let program = found.ok_or_else(|| format!("there is no program `{program}`"))?;
        Ok(Self { program, arguments: arguments.to_vec() })
    }

    /// The program's name.
    pub fn shown(&self) -> String {
        self.program.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Runs it for one page. Its output; what type that is, it cannot say.
    pub(super) async fn run(
        &self,
        request: &ServiceRequest,
        limit: Duration,
        answer_bytes_max: usize,
    ) -> Result<(Bytes, Option<String>), ServiceError> {
        let unwanted = Unwanted::default();
        let watched = unwanted.0.clone();
        let (command, request) = (self.clone(), request.clone());
        // Waiting for a process takes a thread, of those that are for waiting; how many there are, the service bounds.
        let ran = tokio::task::spawn_blocking(move || {
            command.start(&request)?.finish(request.body, limit, answer_bytes_max, &watched)
        });
        let output = ran.await.map_err(|error| ServiceError::Failed(error.to_string()))??;
        Ok((Bytes::from(output), None))
    }

    fn start(&self, request: &ServiceRequest) -> Result<Running, ServiceError> {
        let mut command = Command::new(&self.program);
        command
            .args(&self.arguments)
            .env_clear()
            .envs(PASSED_ON.iter().filter_map(|name| Some((name, std::env::var_os(name)?))))
            .env("WEBLOOM_PAGE_URL", request.url.as_str())
            .env("WEBLOOM_MEDIA_TYPE", request.media_type.replace(|c: char| c.is_control(), " "))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if let Some(fetched_at) = request.fetched_at {
            command.env("WEBLOOM_FETCH_TIME", fetched_at.to_string());
        }
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let child = command.spawn().map_err(|error| {
            ServiceError::Failed(format!("cannot start `{}`: {error}", self.program.display()))
        })?;
        Ok(Running { child, ended: false })
    }
}

/// Set when nobody waits for the answer any more.
#[derive(Default)]
struct Unwanted(Arc<AtomicBool>);

impl Drop for Unwanted {
    fn drop(&mut self) {
        self.0.store(true, Relaxed);
    }
}

/// A process that is ended when this is dropped.
struct Running {
    child: Child,
    /// It came to its own end, and closed its output.
    ended: bool,
}

impl Running {
    fn finish(
        mut self,
        input: Bytes,
        limit: Duration,
        answer_bytes_max: usize,
        unwanted: &AtomicBool,
    ) -> Result<Vec<u8>, ServiceError> {
        let deadline = Instant::now() + limit;
        if let Some(mut stdin) = self.child.stdin.take() {
            // A command may answer without reading all of it; then writing fails, and that is fine.
            std::thread::spawn(move || drop(stdin.write_all(&input)));
        }
        let output = gather(self.child.stdout.take(), answer_bytes_max as u64 + 1);
        let words = gather(self.child.stderr.take(), WORDS_BYTES_MAX);
        let late = || -> Result<(), ServiceError> {
            if unwanted.load(Relaxed) || Instant::now() >= deadline {
                return Err(ServiceError::Timeout(limit));
            }
            Ok(())
        };
        let output = loop {
            match output.recv_timeout(LOOK_AGAIN) {
                Ok(output) => break output,
                Err(RecvTimeoutError::Timeout) => late()?,
                Err(RecvTimeoutError::Disconnected) => break Vec::new(),
            }
        };
        if output.len() > answer_bytes_max {
            return Err(ServiceError::TooLong(answer_bytes_max));
        }
        let status = loop {
            match self.child.try_wait() {
                Ok(Some(status)) => break status,
                Ok(None) => {
                    late()?;
                    std::thread::sleep(LOOK_AGAIN / 10);
                }
                Err(error) => return Err(ServiceError::Failed(error.to_string())),
            }
        };
        self.ended = true;
        if status.success() {
            return Ok(output);
        }
        let words = words.recv_timeout(LOOK_AGAIN * 5).unwrap_or_default();
        let words = String::from_utf8_lossy(&words);
        let last = words.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it says nothing");
        let last: String = last.chars().filter(|c| !c.is_control()).take(200).collect();
        Err(ServiceError::Refused(format!("{status}: {last}")))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        #[cfg(unix)]
        end_group(&self.child);
        // It may have ended by itself meanwhile.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Ends a process with all that it started.
#[cfg(unix)]
fn end_group(child: &Child) {
    let group = i32::try_from(child.id()).ok().and_then(rustix::process::Pid::from_raw);
    if let Some(group) = group {
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
}

/// Reads from a pipe to its end or to so many bytes, on a thread of its own. What comes after that is not waited for.
fn gather(pipe: Option<impl Read + Send + 'static>, bytes_max: u64) -> mpsc::Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    if let Some(pipe) = pipe {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let mut pipe = pipe.take(bytes_max);
            // What was read before an error is what there is.
            let _ = pipe.read_to_end(&mut bytes);
            let _ = sender.send(bytes);
            // A command that has more to say on standard error must not be stopped by a full pipe.
            let _ = std::io::copy(&mut pipe.into_inner(), &mut std::io::sink());
        });
    }
    receiver
}
