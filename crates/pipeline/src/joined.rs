//! Sites that a crawl covers because its seeds turned out to lead there, kept in `joined.jsonl`.
//!
//! In: pages that came of a seed by redirects. Out: their hosts or domains are part of the scope from then on, in this run and in later
//! ones. Only the site of a page joins, not those that redirects merely passed through. A line is on disk before its page is settled: a
//! kill leaves a line too many, never one too few, and the page is fetched again. Start at [`JoinedSites::join`].

use std::collections::HashSet;
use std::fs::{File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tracing::warn;
use webloom_extract::Scope;
use webloom_model::PageUrl;

use crate::crawl::CrawlError;
use crate::spec::CrawlSpec;
use crate::wiring::DataDir;

/// A seed, and the page that it led to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Joining {
    /// The seed.
    pub seed: PageUrl,
    /// The page, on the site that joined.
    pub target: PageUrl,
}

/// The sites that joined a crawl, for the one who runs it.
#[derive(Debug)]
pub(crate) struct JoinedSites {
    path: PathBuf,
    file: Mutex<Option<File>>,
}

impl JoinedSites {
    pub fn new(data: &DataDir) -> Self {
        Self { path: data.joined(), file: Mutex::new(None) }
    }

    /// Makes the site of a page part of the scope, for good. False when it is. Blocks.
    pub fn join(&self, scope: &Scope, joining: &Joining) -> Result<bool, CrawlError> {
        let mut file = self.file.lock();
        // Somebody else may have done it while we waited.
        if scope.joins_as(&joining.target).is_none() {
            return Ok(false);
        }
        self.append(&mut file, joining)
            .map_err(|source| CrawlError::Joined { path: self.path.clone(), source })?;
        Ok(scope.join(&joining.target))
    }

    fn append(&self, open: &mut Option<File>, joining: &Joining) -> io::Result<()> {
        let file = match open {
            Some(file) => file,
            None => {
                let file = OpenOptions::new().append(true).create(true).open(&self.path)?;
                sync_folder_of(&self.path)?;
                open.insert(file)
            }
        };
        // On a line of its own, whatever a power cut has left of the one before.
        file.write_all(format!("\n{}\n", serde_json::to_string(joining)?).as_bytes())?;
        file.sync_data()
    }
}

/// Makes the name of a new file durable.
fn sync_folder_of(path: &Path) -> io::Result<()> {
    match path.parent() {
        // Elsewhere a folder cannot be opened like a file, and names need no such help.
        Some(folder) if cfg!(unix) => File::open(folder)?.sync_all(),
        _ => Ok(()),
    }
}

/// What is in the file. A line that is none is left out: its page was not settled, and is fetched again.
fn read(path: &Path) -> Vec<Joining> {
    let text = match std::fs::read(path) {
        Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Vec::new(),
        Err(error) => {
            warn!(path = %path.display(), %error, "what joined the crawl cannot be read");
            return Vec::new();
        }
    };
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines
        .filter_map(|line| match serde_json::from_str(line) {
            Ok(joining) => Some(joining),
            Err(error) => {
                warn!(path = %path.display(), line, %error, "a line is not understood");
                None
            }
        })
        .collect()
}

impl CrawlSpec {
    /// Makes the sites part of the scope that joined in earlier runs, unless it is not wished any more or their seeds are none any more. Gives
    /// those that count.
    pub fn rejoin(&self, data: &DataDir) -> Vec<Joining> {
        let mut joined = if self.follow_seed_redirects { read(&data.joined()) } else { Vec::new() };
        if !joined.is_empty() {
            let seeds: HashSet<&PageUrl> = self.seeds.iter().collect();
            joined.retain(|joining| seeds.contains(&joining.seed));
        }
        for joining in &joined {
            self.links.scope.join(&joining.target);
        }
        joined
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn joining(seed: &str, target: &str) -> Joining {
        Joining { seed: PageUrl::parse(seed).unwrap(), target: PageUrl::parse(target).unwrap() }
    }

    #[test]
    fn what_joined_is_known_to_later_runs() {
        let folder = tempfile::tempdir().unwrap();
        let data = DataDir::new(folder.path());
        let text = "seeds = [\"http://a.example/\", \"http://b.example/\"]\n[scope]\n";
        let spec = |more: &str| CrawlSpec::from_toml(&format!("{text}{more}")).unwrap();
        let first = spec("");
        assert!(first.rejoin(&data).is_empty(), "there is not even a file");
        let sites = JoinedSites::new(&data);
        let to_new = joining("http://a.example/", "http://www.new.example/x");
        assert!(sites.join(&first.links.scope, &to_new).unwrap());
        assert!(!sites.join(&first.links.scope, &to_new).unwrap(), "once is enough");
        let elsewhere = joining("http://other.example/", "http://elsewhere.example/");
        assert!(sites.join(&first.links.scope, &elsewhere).unwrap());
        // A power cut in the middle of a line, and a run that goes on after it.
        let mut file = OpenOptions::new().append(true).open(data.joined()).unwrap();
        file.write_all(b"\n{\"seed\": \"http://b.exam").unwrap();
        let sites = JoinedSites::new(&data);
        let to_third = joining("http://b.example/", "http://third.example/");
        assert!(sites.join(&first.links.scope, &to_third).unwrap());

        let admits =
            |spec: &CrawlSpec, url: &str| spec.links.scope.admits(&PageUrl::parse(url).unwrap()).is_ok();
        let later = spec("");
        assert_eq!(later.rejoin(&data), [to_new, to_third], "the others' seed is none of ours");
        assert!(admits(&later, "http://docs.new.example/") && admits(&later, "http://third.example/"));
        assert!(!admits(&later, "http://elsewhere.example/"));
        let hosts = spec("within = \"hosts\"");
        hosts.rejoin(&data);
        assert!(admits(&hosts, "http://www.new.example/") && !admits(&hosts, "http://docs.new.example/"));
        let off = spec("follow_seed_redirects = false");
        assert!(off.rejoin(&data).is_empty() && !admits(&off, "http://www.new.example/"));
    }
}
