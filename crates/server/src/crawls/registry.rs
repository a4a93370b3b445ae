//! Which crawls there are.
//!
//! In: the directory of one crawl, or a directory of crawls. Out: [`Slot`]s by short names. A server of one directory calls that
//! crawl `main` and puts further ones into `crawls/` in it, so that a person can begin another from the interface.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::RwLock;
use webloom_pipeline::{DataDir, RawSpec};

use super::slot::Slot;
use crate::error::ApiError;

/// The name of the crawl whose directory the server was given.
pub const MAIN: &str = "main";

/// Crawls of one server.
const CRAWLS_MAX: usize = 200;

/// Letters of a crawl's name.
const ID_CHARS_MAX: usize = 40;

/// All crawls of a server.
#[derive(Debug)]
pub struct Registry {
    /// Where new crawls go.
    root: PathBuf,
    slots: RwLock<BTreeMap<String, Arc<Slot>>>,
}

impl Registry {
    /// One crawl's directory; further crawls are in its `crawls/`.
    pub fn of_one(data: &Path) -> Result<Self, ApiError> {
        let registry = Self { root: data.join("crawls"), slots: RwLock::default() };
        registry.add(MAIN, data)?;
        registry.find_more();
        Ok(registry)
    }

    /// A directory of crawls.
    pub fn of_many(root: &Path) -> Result<Self, ApiError> {
        std::fs::create_dir_all(root)?;
        let registry = Self { root: root.to_owned(), slots: RwLock::default() };
        registry.find_more();
        Ok(registry)
    }

    /// Looks for crawls under the root.
    fn find_more(&self) {
        for entry in std::fs::read_dir(&self.root).into_iter().flatten().flatten() {
            let path = entry.path();
            let Some(id) = path.file_name().and_then(|name| name.to_str()) else { continue };
            let data = DataDir::new(&path);
            if check_id(id).is_ok()
                && (data.spec().is_file() || data.has_index())
                && let Err(error) = self.add(id, &path)
            {
                tracing::warn!(crawl = id, error = error.message, "a crawl cannot be opened");
            }
        }
    }

    fn add(&self, id: &str, path: &Path) -> Result<Arc<Slot>, ApiError> {
        let slot = Arc::new(Slot::open(id, DataDir::new(path))?);
        self.slots.write().insert(id.to_owned(), slot.clone());
        Ok(slot)
    }

    /// All of them, by name.
    pub fn all(&self) -> Vec<Arc<Slot>> {
        self.slots.read().values().cloned().collect()
    }

    /// The one of that name.
    pub fn get(&self, id: &str) -> Result<Arc<Slot>, ApiError> {
        self.slots.read().get(id).cloned().ok_or_else(|| {
            let id: String = id.chars().take(ID_CHARS_MAX).collect();
            ApiError::not_found(format!("there is no crawl `{id}`")).hint("GET /api/crawls lists them")
        })
    }

    /// The one that is meant when none is named: `main`, or the first.
    pub fn default_slot(&self) -> Result<Arc<Slot>, ApiError> {
        let slots = self.slots.read();
        slots.get(MAIN).or_else(|| slots.values().next()).cloned().ok_or_else(|| {
            ApiError::not_found("there is no crawl here yet").hint("POST /api/crawls makes one")
        })
    }

    /// Where the disk of the data is.
    pub fn place(&self) -> PathBuf {
        self.default_slot().map_or_else(|_| self.root.clone(), |slot| slot.data.path().to_owned())
    }

    /// Makes a crawl from a specification, which must be right. `id` may be left to be chosen.
    pub fn create(&self, id: Option<&str>, specification: &str) -> Result<Arc<Slot>, ApiError> {
        let raw = RawSpec::parse(specification)?;
        refuse_commands(&raw)?;
        let spec = raw.check()?;
        if spec.seeds.is_empty() {
            let mut error = ApiError::unprocessable("the specification names no seeds");
            error.problems =
                vec![serde_json::json!({"key": "seeds", "message": "name at least one URL to start from"})];
            return Err(error);
        }
        let mut slots = self.slots.write();
        if slots.len() >= CRAWLS_MAX {
            return Err(ApiError::conflict(format!(
                "there are {CRAWLS_MAX} crawls, which is as many as may be"
            )));
        }
        let id = match id {
            Some(id) => {
                check_id(id)?;
                id.to_owned()
            }
            None => free_id(&slots, spec.seeds[0].host()),
        };
        // The directory the server was given may hold no crawl yet; then the first one belongs there.
        let slot = match slots.get(&id) {
            Some(slot) if !slot.data.spec().exists() => slot.clone(),
            Some(_) => return Err(ApiError::conflict(format!("there is a crawl `{id}` already"))),
            None => {
                let path = self.root.join(&id);
                if path.exists() {
                    return Err(ApiError::conflict(format!("there is a directory for `{id}` already")));
                }
                std::fs::create_dir_all(&path)?;
                let slot = Arc::new(Slot::open(&id, DataDir::new(path))?);
                slots.insert(id, slot.clone());
                slot
            }
        };
        std::fs::write(slot.data.spec(), spec.written())?;
        Ok(slot)
    }

    /// Forgets a crawl that is not open, and deletes its data when that is wanted.
    pub fn remove(&self, slot: &Slot, with_data: bool) -> Result<(), ApiError> {
        if slot.id == MAIN {
            return Err(ApiError::conflict("this is the crawl the server was started for")
                .hint("stop it, or end the server and remove its directory"));
        }
        self.slots.write().remove(&slot.id);
        if with_data {
            std::fs::remove_dir_all(slot.data.path())?;
        }
        Ok(())
    }
}

/// A name becomes the name of a directory and a part of addresses.
fn check_id(id: &str) -> Result<(), ApiError> {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    if id.is_empty() || id.len() > ID_CHARS_MAX || id.starts_with('-') || !id.bytes().all(plain) {
        let mut error = ApiError::unprocessable("this cannot be the name of a crawl");
        error.problems = vec![serde_json::json!({
            "key": "id",
            "message": format!("use up to {ID_CHARS_MAX} small letters, digits and dashes"),
        })];
        return Err(error);
    }
    Ok(())
}

/// A name after the host of the first seed.
fn free_id(slots: &BTreeMap<String, Arc<Slot>>, host: &str) -> String {
    let plain = host.trim_start_matches("www.").to_ascii_lowercase();
    let plain: String =
        plain.chars().map(|letter| if letter.is_ascii_alphanumeric() { letter } else { '-' }).collect();
    let base: String = plain.trim_matches('-').chars().take(ID_CHARS_MAX - 5).collect();
    let base = if base.is_empty() { "crawl".to_owned() } else { base };
    (1..)
        .map(|number| if number == 1 { base.clone() } else { format!("{base}-{number}") })
        .find(|id| !slots.contains_key(id))
        .unwrap_or(base)
}

/// Whoever has the token may crawl, and no more: a program of this machine is started only by a specification in a file on it.
pub(crate) fn refuse_commands(raw: &RawSpec) -> Result<(), ApiError> {
    let commands = raw.commands();
    if commands.is_empty() {
        return Ok(());
    }
    let mut error = ApiError::unprocessable("a specification from the network cannot start programs");
    let problem = |name: &String| {
        let message = format!(
            "rule `{name}`: `command` is for specifications in a file, given to `webloom crawl --spec`"
        );
        serde_json::json!({"key": "transform.rules", "message": message})
    };
    error.problems = commands.iter().map(problem).collect();
    Err(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_cannot_leave_their_directory() {
        for bad in ["", "..", "a/b", "A", "-x", "a.b", "ä", &"x".repeat(41)] {
            assert!(check_id(bad).is_err(), "{bad}");
        }
        assert!(check_id("museums-2").is_ok());
    }

    #[test]
    fn crawls_are_made_found_again_and_removed() {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::of_one(folder.path()).unwrap();
        assert_eq!(registry.default_slot().unwrap().id, MAIN);
        let spec = "seeds = [\"http://www.a.example/\"]";
        assert_eq!(registry.create(None, spec).unwrap().id, "a-example");
        assert_eq!(registry.create(None, spec).unwrap().id, "a-example-2");
        assert_eq!(registry.create(Some("main"), spec).unwrap().id, MAIN);
        assert!(registry.create(Some("main"), spec).is_err());
        assert!(registry.create(Some("other"), "").is_err());
        let wrong = registry.create(Some("other"), "sedes = []").unwrap_err();
        assert_eq!(wrong.problems[0]["key"], "sedes");
        drop(registry);
        let registry = Registry::of_one(folder.path()).unwrap();
        let ids: Vec<String> = registry.all().iter().map(|slot| slot.id.clone()).collect();
        assert_eq!(ids, ["a-example", "a-example-2", "main"]);
        let slot = registry.get("a-example").unwrap();
        registry.remove(&slot, true).unwrap();
        assert!(registry.get("a-example").is_err() && !slot.data.path().exists());
        assert!(registry.remove(&registry.get("main").unwrap(), true).is_err());
    }
}
