//! The queues against a plain map, through flushes, merges and closings.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const TABLE_ENTRIES: usize = 40;

fn open(directory: &Path) -> QueueStore {
    QueueStore::open(directory, TABLE_ENTRIES, Box::new(|| Ok(()))).unwrap()
}

/// What a crawl does to its queues, with the memory that the frontier has of changes no run covers.
#[derive(Default)]
struct Model {
    entries: BTreeMap<(u32, Place), u32>,
    changes: Vec<Vec<Entry>>,
}

impl Model {
    fn change(&mut self, store: &QueueStore, words: &[(u32, u32, u64, Option<u32>)]) {
        let mut row = Vec::new();
        for &(host, rank, position, attempt) in words {
            let place = Place { rank, position };
            match attempt {
                Some(attempt) => {
                    self.entries.insert((host, place), attempt);
                    row.push(Entry::queued(host, place, attempt));
                }
                None => {
                    self.entries.remove(&(host, place));
                    row.push(Entry::removed(host, place));
                }
            }
        }
        let row = in_order(row);
        store.apply(row.clone(), self.changes.len() as u64).unwrap();
        self.changes.push(row);
    }

    fn reopen(&self, directory: &Path) -> QueueStore {
        let store = open(directory);
        for (number, row) in self.changes.iter().enumerate().skip(store.covered() as usize) {
            store.apply(row.clone(), number as u64).unwrap();
        }
        store
    }

    fn check(&self, store: &QueueStore, host: u32, from: Place, count: usize) {
        let wanted = |place: Place| !place.position.is_multiple_of(5);
        let expected: Vec<(Place, u32)> = self
            .entries
            .range((host, from)..=(host, Place::LAST))
            .filter(|((_, place), _)| wanted(*place))
            .map(|((_, place), attempt)| (*place, *attempt))
            .take(count)
            .collect();
        assert_eq!(store.read(host, from, count, &wanted).unwrap(), expected);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn queues_are_as_they_were_told(
        changes in prop::collection::vec(
            prop::collection::vec((0_u32..4, 0_u32..3, 0_u64..60, prop::option::weighted(0.7, 0_u32..3)), 1..50), 1..120),
        reopen_each in 5_usize..60,
    ) {
        let directory = tempfile::tempdir().unwrap();
        let mut model = Model::default();
        let mut store = open(directory.path());
        for (number, words) in changes.iter().enumerate() {
            model.change(&store, words);
            if number % reopen_each == reopen_each - 1 {
                drop(store);
                store = model.reopen(directory.path());
            }
            model.check(&store, words[0].0, Place { rank: words[0].1, position: words[0].2 }, 7);
        }
        for host in 0..5 {
            model.check(&store, host, Place::FIRST, usize::MAX);
        }
        drop(store);
        let store = model.reopen(directory.path());
        for host in 0..5 {
            model.check(&store, host, Place::FIRST, usize::MAX);
        }
    }
}

#[test]
fn a_missing_run_is_an_error() {
    let directory = tempfile::tempdir().unwrap();
    let mut model = Model::default();
    let store = open(directory.path());
    for number in 0..400 {
        model.change(&store, &[(1, 1, number, Some(0))]);
    }
    while store.covered() < 400 {
        std::thread::yield_now();
    }
    drop(store);
    let mut runs: Vec<_> =
        std::fs::read_dir(directory.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    runs.sort();
    assert!(runs.len() > 1, "{runs:?}");
    std::fs::remove_file(&runs[0]).unwrap();
    let opened = QueueStore::open(directory.path(), TABLE_ENTRIES, Box::new(|| Ok(())));
    assert!(opened.is_err_and(|error| error.to_string().contains("is missing")));
}
