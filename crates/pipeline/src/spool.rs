//! Orders for a crawl that runs in another process: lists of URLs to add, to score or to ban, and questions about URLs.
//!
//! A crawl has its frontier to itself, so nobody else can write there. Whoever wants something puts a file into `DATA/inject/`, under
//! a temporary name first, then by renaming: it is there whole or not at all. The crawl looks every half second, paused or not, does what
//! the file says, and removes it. A crawl that is killed in between does it again at its next start, which changes nothing:
//! every order leaves the same frontier done twice as done once, unless a URL was fetched and failed in between. Answers come
//! back as files, too.
//! Start at [`Spool::submit`] and [`Spool::serve`].

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use tracing::{info, warn};
use webloom_fetch::robots::RobotsClass;
use webloom_fetch::{RobotsRecord, RobotsRules};
use webloom_model::{Ban, FrontierError, Injection, InjectionReport, PageUrl};

use crate::crawl::CrawlError;
use crate::past::Past;

/// Longest list that is taken at once; a longer one is to be cut up by whoever writes it.
const LIST_BYTES_MAX: u64 = 256 << 20;
/// How long an answer is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
const ORDER: &str = "order";
const ANSWER: &str = "answer";
/// Answers that nobody fetched are thrown away after this time.
const ANSWER_AGE_MAX: Duration = Duration::from_secs(600);

/// What a crawl can be told from outside.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// Queue these, with their scores, those that failed before too; ban the blacklisted.
    Add(Vec<Injection>),
    /// Give those that wait these scores; leave unknown ones alone.
    Score(Vec<Injection>),
    /// Never fetch these URLs, nor anything on these hosts.
    Ban {
        /// URLs.
        urls: Vec<PageUrl>,
        /// Hosts.
        hosts: Vec<String>,
    },
    /// Tell the life of this URL.
    Why(PageUrl),
    /// Tell what the robots.txt that was read says of this URL.
    Robots {
        /// The URL.
        url: PageUrl,
        /// The name the crawler answers to there.
        agent: String,
    },
}

impl Order {
    /// Does what it says.
    pub fn carry_out(&self, past: &Past<'_>) -> Result<serde_json::Value, CrawlError> {
        let frontier = past.frontier;
        let report = match self {
            Self::Add(injections) => past.inject(injections)?,
            Self::Score(injections) => {
                let scores: Vec<(PageUrl, f32)> =
                    injections.iter().map(|one| (one.url.clone(), one.score.unwrap_or(0.0))).collect();
                frontier.rescore(&scores)?
            }
            Self::Ban { urls, hosts } => {
                let urls = urls.iter().cloned().map(Ban::Url);
                let bans: Vec<Ban> = urls.chain(hosts.iter().cloned().map(Ban::Host)).collect();
                frontier.ban(&bans)?
            }
            Self::Why(url) => {
                let life = frontier.inspect(url)?;
                let told = serde_json::to_value(life);
                return told.map_err(|error| FrontierError::Store(error.to_string()).into());
            }
            Self::Robots { url, agent } => {
                let kept = frontier.kept_robots(&url.origin())?;
                let record = kept.and_then(|bytes| RobotsRecord::from_bytes(&bytes));
                return Ok(record.map_or_else(Default::default, |record| verdict(&record, url, agent)));
            }
        };
        Ok(as_json(&report))
    }
}

/// What a robots.txt says of a URL, and by which line.
fn verdict(record: &RobotsRecord, url: &PageUrl, agent: &str) -> serde_json::Value {
    let (allowed, line) = match record.class {
        RobotsClass::Found => {
            let decision = RobotsRules::parse(&record.body, agent).decide(url.as_str());
            (decision.allowed, decision.line)
        }
        RobotsClass::Missing => (true, None),
        RobotsClass::Unreachable => (false, None),
    };
    serde_json::json!({
        "allowed": allowed,
        "line": line,
        "fetched_at": record.fetched_at.to_string(),
        "summary": record.summary(),
    })
}

fn as_json(report: &InjectionReport) -> serde_json::Value {
    // Plain numbers under plain names: this cannot fail.
    serde_json::to_value(report).unwrap_or_default()
}

/// The directory of orders.
#[derive(Debug, Clone)]
pub struct Spool {
    directory: PathBuf,
}

impl Spool {
    /// Names a directory; nothing is touched yet.
    pub fn new(directory: impl Into<PathBuf>) -> Self {
        Self { directory: directory.into() }
    }

    /// Leaves an order for the crawl. Gives its name, for [`Spool::answer`].
    pub fn submit(&self, order: &Order) -> io::Result<String> {
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.directory)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        // Orders are carried out in the order of their names.
        let now = jiff::Timestamp::now().as_microsecond();
        let name = format!("{now:020}-{}-{number}", std::process::id());
        let bytes = serde_json::to_vec(order)?;
        if bytes.len() as u64 > LIST_BYTES_MAX {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                format!("a list of {} bytes is too long; cut it into lists of {LIST_BYTES_MAX}", bytes.len()),
            ));
        }
        self.put(&name, ORDER, &bytes)?;
        Ok(name)
    }

    /// Waits for the answer to an order; nothing when no crawl took it in time. It stays there for the next one.
    pub fn answer(&self, name: &str) -> io::Result<Option<serde_json::Value>> {
        let path = self.path(name, ANSWER);
        let deadline = Instant::now() + PATIENCE;
        while Instant::now() < deadline {
            match fs::read(&path) {
                Ok(bytes) => {
                    fs::remove_file(&path)?;
                    return Ok(Some(serde_json::from_slice(&bytes)?));
                }
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    std::thread::sleep(Duration::from_millis(20));
                }
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Takes an order back that nobody carried out.
    pub fn withdraw(&self, name: &str) {
        let _ = fs::remove_file(self.path(name, ORDER));
    }

    /// Carries out all orders that are there. What is no order is named in a warning and set aside.
    pub fn serve(&self, past: &Past<'_>) -> Result<usize, CrawlError> {
        let mut orders = match self.files(ORDER) {
            Ok(orders) => orders,
            Err(error) => {
                warn!(path = %self.directory.display(), %error, "orders cannot be read");
                return Ok(0);
            }
        };
        orders.sort();
        let mut served = 0;
        for path in orders {
            let answer = match read_order(&path) {
                Ok(order) => {
                    served += 1;
                    order.carry_out(past)?
                }
                Err(error) => {
                    warn!(path = %path.display(), %error, "this is no order; it is set aside");
                    let _ = fs::rename(&path, path.with_extension("refused"));
                    continue;
                }
            };
            info!(path = %path.display(), %answer, "order carried out");
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            let told =
                self.put(&name, ANSWER, answer.to_string().as_bytes()).and_then(|()| fs::remove_file(&path));
            if let Err(error) = told {
                warn!(path = %path.display(), %error, "an order was carried out, but cannot be answered");
            }
        }
        if served > 0 {
            self.sweep();
        }
        Ok(served)
    }

    /// Removes answers that nobody fetched.
    fn sweep(&self) {
        for path in self.files(ANSWER).unwrap_or_default() {
            let age = fs::metadata(&path).and_then(|metadata| metadata.modified()).map(|time| time.elapsed());
            if matches!(age, Ok(Ok(age)) if age > ANSWER_AGE_MAX) {
                let _ = fs::remove_file(path);
            }
        }
    }

    fn files(&self, extension: &str) -> io::Result<Vec<PathBuf>> {
        let entries = match fs::read_dir(&self.directory) {
            Ok(entries) => entries,
            // Nobody ever ordered anything.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(error),
        };
        let mut files = Vec::new();
        for entry in entries {
            let path = entry?.path();
            if path.extension().is_some_and(|found| found == extension) {
                files.push(path);
            }
        }
        Ok(files)
    }

    fn path(&self, name: &str, extension: &str) -> PathBuf {
        self.directory.join(name).with_extension(extension)
    }

    /// Writes a file that is there whole or not at all.
    fn put(&self, name: &str, extension: &str, bytes: &[u8]) -> io::Result<()> {
        let path = self.path(name, extension);
        let temporary = path.with_extension(format!("{extension}-being-written"));
        let mut file = fs::File::create(&temporary)?;
        file.write_all(bytes)?;
        file.sync_data()?;
        fs::rename(temporary, path)
    }
}

fn read_order(path: &Path) -> io::Result<Order> {
    let bytes = fs::metadata(path)?.len();
    if bytes > LIST_BYTES_MAX {
        return Err(io::Error::new(io::ErrorKind::InvalidData, format!("{bytes} bytes are too many")));
    }
    Ok(serde_json::from_slice(&fs::read(path)?)?)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use webloom_frontier::{FrontierConfig, MemoryFrontier};
    use webloom_model::{Frontier, SystemClock};

    use super::*;

    fn url(text: &str) -> PageUrl {
        PageUrl::parse(text).unwrap()
    }

    fn past(frontier: &MemoryFrontier) -> Past<'_> {
        Past { frontier, snapshot: None, fetcher: None, spec: None }
    }

    #[test]
    fn orders_are_carried_out_in_turn_and_answered() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::new(directory.path().join("inject"));
        let frontier = MemoryFrontier::new(FrontierConfig::default(), Arc::new(SystemClock));
        assert_eq!(spool.serve(&past(&frontier)).unwrap(), 0, "there is not even a directory");
        let add = spool.submit(&Order::Add(vec![Injection::new(url("http://a.example/"))])).unwrap();
        let score = Injection { score: Some(0.5), ..Injection::new(url("http://a.example/")) };
        let score = spool.submit(&Order::Score(vec![score])).unwrap();
        let ban = Order::Ban { urls: vec![url("http://b.example/")], hosts: vec!["c.example".to_owned()] };
        let ban = spool.submit(&ban).unwrap();
        let why = spool.submit(&Order::Why(url("http://a.example/"))).unwrap();
        let unknown = spool.submit(&Order::Why(url("http://nobody.example/"))).unwrap();
        assert_eq!(spool.serve(&past(&frontier)).unwrap(), 5);
        let answer = |name: &str| spool.answer(name).unwrap().unwrap();
        assert_eq!(answer(&add)["queued"], 1);
        assert_eq!(answer(&score)["rescored"], 1);
        assert_eq!(answer(&ban)["banned"], 1);
        assert_eq!(answer(&why)["stage"]["name"], "queued");
        assert!(answer(&unknown).is_null());
        assert_eq!(spool.serve(&past(&frontier)).unwrap(), 0, "all were removed");
    }

    #[test]
    fn a_robots_file_has_its_verdict() {
        let record = |class, body: &'static str| RobotsRecord {
            class,
            status: 200,
            fetched_at: jiff::Timestamp::UNIX_EPOCH,
            reason: "no connection".to_owned(),
            body: body.into(),
        };
        let text = "User-agent: *\nDisallow: /private\n";
        for (class, path, allowed, line) in [
            (RobotsClass::Found, "private/a", false, Some(2)),
            (RobotsClass::Found, "public", true, None),
            (RobotsClass::Missing, "private/a", true, None),
            (RobotsClass::Unreachable, "public", false, None),
        ] {
            let told = verdict(&record(class, text), &url(&format!("http://a.example/{path}")), "webloom");
            assert_eq!(told["allowed"], allowed, "{told}");
            assert_eq!(told["line"].as_u64(), line, "{told}");
        }
        let frontier = MemoryFrontier::new(FrontierConfig::default(), Arc::new(SystemClock));
        let order = Order::Robots { url: url("http://a.example/"), agent: "webloom".to_owned() };
        assert!(order.carry_out(&past(&frontier)).unwrap().is_null(), "nobody asked for it yet");
    }

    #[test]
    fn what_is_no_order_is_set_aside() {
        let directory = tempfile::tempdir().unwrap();
        let spool = Spool::new(directory.path());
        let frontier = MemoryFrontier::new(FrontierConfig::default(), Arc::new(SystemClock));
        let hostile: [&[u8]; 5] =
            [b"", b"{", b"{\"add\": [{\"url\": \"ftp://x/\"}]}", b"{\"rm\": \"-rf\"}", &[0xff; 90]];
        for (number, bytes) in hostile.iter().enumerate() {
            fs::write(directory.path().join(format!("{number}.order")), bytes).unwrap();
        }
        assert_eq!(spool.serve(&past(&frontier)).unwrap(), 0);
        assert_eq!(fs::read_dir(directory.path()).unwrap().count(), hostile.len());
        assert_eq!(spool.files("refused").unwrap().len(), hostile.len());
        assert_eq!(frontier.counts().known, 0);
    }
}
