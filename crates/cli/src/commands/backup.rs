//! `webloom backup` and `webloom restore`: a copy of the index, and back.

use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use webloom_index::IndexError;
use webloom_pipeline::DataDir;

use crate::output::{bytes, with_commas, wrong_usage};

/// Copy the index of a data directory, also while a crawl writes it.
///
/// The copy is a data directory of its own, which can be queried as it is. On the same file system it shares the files of the
/// original and takes no room until they differ. What a crawl still has to do (its frontier) is not part of it.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom backup webloom-data /mnt/backup/monday
  webloom query --data /mnt/backup/monday 'SELECT (COUNT(*) AS ?n) { ?s ?p ?o }'")]
pub struct Backup {
    /// The data directory.
    #[arg(value_name = "DIR")]
    from: PathBuf,
    /// Where the copy goes; there must be no index yet.
    #[arg(value_name = "DEST")]
    to: PathBuf,
}

/// Make a data directory of a backup.
///
/// The backup is checked first, and stays as it is.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom restore /mnt/backup/monday webloom-data")]
pub struct Restore {
    /// The backup.
    #[arg(value_name = "BACKUP")]
    from: PathBuf,
    /// The data directory; there must be no index in it yet.
    #[arg(value_name = "DIR")]
    to: PathBuf,
}

impl Backup {
    pub fn run(self) -> anyhow::Result<()> {
        copy(&self.from, &self.to)
    }
}

impl Restore {
    pub fn run(self) -> anyhow::Result<()> {
        let index = index_of(&self.from)?;
        super::check::must_be_clean(&index)?;
        copy(&self.from, &self.to)
    }
}

fn index_of(directory: &Path) -> anyhow::Result<PathBuf> {
    let data = DataDir::new(directory);
    if !data.has_index() {
        return Err(wrong_usage(format!("`{}` holds no index", directory.display())));
    }
    Ok(data.index())
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    let index = index_of(from)?;
    let target = DataDir::new(to);
    std::fs::create_dir_all(target.path()).with_context(|| format!("cannot create `{}`", to.display()))?;
    let receipt = match webloom_index::backup(&index, &target.index()) {
        Err(IndexError::Exists { .. }) => {
            return Err(wrong_usage(format!("there is an index in `{}` already", to.display())));
        }
        done => done?,
    };
    // The specification says what was crawled, and with which settings.
    let spec = DataDir::new(from).spec();
    if spec.is_file() {
        std::fs::copy(&spec, target.spec()).with_context(|| format!("cannot copy `{}`", spec.display()))?;
    }
    eprintln!(
        "generation {}: {} files, {} ({} shared with the original)",
        receipt.generation,
        with_commas(receipt.files),
        bytes(receipt.bytes),
        with_commas(receipt.linked)
    );
    Ok(())
}
