//! The trees of one transformation: added while it runs, never taken away, so that slices of their text can be held
//! for as long as the transformation lasts.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use super::{DOCUMENTS_MAX, NONE, NodeKind, Tree};
use crate::error::{Limit, Res, limit_error};
use crate::tree::Names;

/// A tree, and how its names and those of the stylesheet belong together.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) tree: Arc<Tree>,
    /// For each name of the stylesheet that of the tree, or [`NONE`].
    to_tree: Vec<u32>,
    /// For each name of the tree that of the stylesheet, or [`NONE`].
    to_sheet: Vec<u32>,
    /// Names mean the same on both sides, as in result trees.
    same: bool,
}

impl Entry {
    /// The name in the tree of a name of the stylesheet.
    #[inline]
    pub(crate) fn tree_name(&self, name: u32) -> u32 {
        if self.same { name } else { self.to_tree.get(name as usize).copied().unwrap_or(NONE) }
    }

    /// The name in the stylesheet of a name of the tree.
    #[inline]
    pub(crate) fn sheet_name(&self, name: u32) -> u32 {
        if self.same { name } else { self.to_sheet.get(name as usize).copied().unwrap_or(NONE) }
    }
}

const FIRST: usize = 16;
const CHUNKS: usize = 17;

type Chunk = Box<[OnceLock<Entry>]>;

/// Grows by chunks of doubling size; what is in them does not move.
#[derive(Debug)]
pub(crate) struct TreeArena {
    chunks: [OnceLock<Chunk>; CHUNKS],
    count: AtomicUsize,
}

impl TreeArena {
    pub(crate) fn new() -> Self {
        Self { chunks: [const { OnceLock::new() }; CHUNKS], count: AtomicUsize::new(0) }
    }

    fn place(number: usize) -> (usize, usize) {
        let group = (number + FIRST).ilog2() as usize - FIRST.ilog2() as usize;
        (group, number + FIRST - (FIRST << group))
    }

    /// Adds a tree; its number is the document part of its nodes.
    pub(crate) fn push(&self, tree: Arc<Tree>, sheet: &Arc<Names>) -> Res<u32> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (group, offset) = Self::place(number);
        if number >= DOCUMENTS_MAX || group >= CHUNKS {
            return Err(limit_error(Limit::Documents, "too many trees in one transformation"));
        }
        let chunk = self.chunks[group].get_or_init(|| (0..FIRST << group).map(|_| OnceLock::new()).collect());
        let same = tree.names_stand_on(sheet);
        let (mut to_tree, mut to_sheet) = (Vec::new(), Vec::new());
        if !same {
            to_sheet = vec![NONE; tree.names.len() as usize];
            to_tree = (0..sheet.len())
                .map(|name| {
                    let found = tree.names.find(sheet.namespace(name), sheet.local(name));
                    if let Some(found) = found {
                        to_sheet[found as usize] = name;
                    }
                    found.unwrap_or(NONE)
                })
                .collect();
        }
        // The place was empty: nobody else was given this number.
        let _ = chunk[offset].set(Entry { tree, to_tree, to_sheet, same });
        Ok(number as u32)
    }

    /// A tree that was added.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &Entry {
        let (group, offset) = Self::place(number as usize);
        self.chunks[group]
            .get()
            .and_then(|chunk| chunk[offset].get())
            .expect("nodes are only made of trees in the arena")
    }
}

impl Tree {
    fn names_stand_on(&self, sheet: &Arc<Names>) -> bool {
        self.names.stands_on(sheet)
    }

    /// Whether the tree has a document element and nothing else that a document may not have at the top.
    pub(crate) fn is_element(&self, index: u32) -> bool {
        self.node(index).kind == NodeKind::Element
    }
}
