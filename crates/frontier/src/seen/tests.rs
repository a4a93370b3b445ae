//! The store against a plain map, through flushes, merges, closings and damage.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const LIMITS: SeenLimits = SeenLimits { table_keys: 50, filter_bytes_max: 4096 };

fn key(number: u64) -> UrlKey {
    Secret::new([3, 4]).key(&format!("http://a.example/{number}"))
}

/// A log of which only the positions exist: one unit per key.
struct Model {
    keys: BTreeMap<u64, u64>,
    end: u64,
}

impl Model {
    fn add(&mut self, store: &mut SeenStore, numbers: &[u64]) {
        let fresh: Vec<(UrlKey, u64)> = numbers
            .iter()
            .filter_map(|&number| {
                let position = self.end;
                (!self.keys.contains_key(&number)).then(|| {
                    self.keys.insert(number, position);
                    self.end += 1;
                    (key(number), position)
                })
            })
            .collect();
        store.insert(&fresh, self.end).unwrap();
    }

    fn reopen(&self, directory: &Path) -> SeenStore {
        let (mut store, covered) = SeenStore::open(directory, LIMITS, self.end).unwrap();
        let missing: Vec<(UrlKey, u64)> = self
            .keys
            .iter()
            .filter(|(_, at)| **at >= covered)
            .map(|(number, at)| (key(*number), *at))
            .collect();
        store.insert(&missing, self.end).unwrap();
        store
    }

    fn check(&self, store: &mut SeenStore, numbers: impl Iterator<Item = u64>) {
        let numbers: Vec<u64> = numbers.collect();
        let keys: Vec<UrlKey> = numbers.iter().map(|&number| key(number)).collect();
        let expected: Vec<Option<u64>> =
            numbers.iter().map(|number| self.keys.get(number).copied()).collect();
        let known: Vec<bool> = expected.iter().map(Option::is_some).collect();
        assert_eq!(store.contains(&keys).unwrap(), known);
        assert_eq!(store.find(&keys).unwrap(), expected);
        assert_eq!(store.len(), self.keys.len() as u64);
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn it_knows_what_a_map_knows(
        steps in prop::collection::vec((prop::collection::vec(0_u64..3000, 0..150), any::<bool>(), any::<bool>()), 1..30)
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut model = Model { keys: BTreeMap::new(), end: 0 };
        let mut store = model.reopen(directory.path());
        for (numbers, look, reopen) in steps {
            model.add(&mut store, &numbers);
            if look {
                model.check(&mut store, (0..3000).step_by(7));
            }
            if reopen {
                drop(store);
                store = model.reopen(directory.path());
            }
        }
        model.check(&mut store, 0..3000);
    }
}

#[test]
fn many_tables_are_found_while_they_are_merged() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = Model { keys: BTreeMap::new(), end: 0 };
    let mut store = model.reopen(directory.path());
    for batch in 0..60 {
        let numbers: Vec<u64> = (batch * 50..batch * 50 + 50).collect();
        model.add(&mut store, &numbers);
        model.check(&mut store, (0..3500).step_by(11));
    }
    model.check(&mut store, 0..3500);
}

#[test]
fn a_missing_or_broken_run_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = Model { keys: BTreeMap::new(), end: 0 };
    let mut store = model.reopen(directory.path());
    for batch in 0..30 {
        let numbers: Vec<u64> = (batch * 50..batch * 50 + 50).collect();
        model.add(&mut store, &numbers);
    }
    drop(store);
    let files = || {
        let mut files: Vec<_> =
            std::fs::read_dir(directory.path()).unwrap().map(|file| file.unwrap().path()).collect();
        files.sort();
        files
    };
    assert!(!files().is_empty());
    std::fs::write(&files()[0], b"nonsense").unwrap();
    std::fs::write(directory.path().join("left.tmp"), b"over").unwrap();
    let mut store = model.reopen(directory.path());
    model.check(&mut store, 0..1600);
    drop(store);
    // A log that was cut takes the runs behind its end with it.
    model.keys.retain(|_, position| *position < 700);
    model.end = 700;
    let mut store = model.reopen(directory.path());
    model.check(&mut store, 0..1600);
}
