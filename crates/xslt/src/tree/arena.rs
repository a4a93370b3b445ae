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
    /// For each string of the stylesheet's names that of the tree, or [`NONE`].
    atoms: Vec<u32>,
    /// Names mean the same on both sides, as in result trees.
    same: bool,
}

impl Entry {
    fn new(tree: Arc<Tree>, sheet: &Arc<Names>) -> Self {
        let same = tree.names.stands_on(sheet);
        let (mut to_tree, mut to_sheet, mut atoms) = (Vec::new(), Vec::new(), Vec::new());
        if !same {
            atoms = tree.names.find_atoms_of(sheet);
            to_sheet = vec![NONE; tree.names.len() as usize];
            to_tree = (0..sheet.len())
                .map(|name| {
                    let (namespace, local) = sheet.parts(name);
                    let (namespace, local) = (atoms[namespace as usize], atoms[local as usize]);
                    if namespace == NONE || local == NONE {
                        return NONE;
                    }
                    let found = tree.names.find_name_of_atoms(namespace, local);
                    if let Some(found) = found {
                        to_sheet[found as usize] = name;
                    }
                    found.unwrap_or(NONE)
                })
                .collect();
        }
        Self { tree, to_tree, to_sheet, atoms, same }
    }

    /// The string in the tree of a string of the stylesheet's names.
    #[inline]
    pub(crate) fn tree_atom(&self, atom: u32) -> u32 {
        if self.same { atom } else { self.atoms.get(atom as usize).copied().unwrap_or(NONE) }
    }

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
    /// The document that is transformed: number 0, and asked for more than all others.
    main: Entry,
    /// The others, from number 1 on.
    chunks: [OnceLock<Chunk>; CHUNKS],
    count: AtomicUsize,
}

impl TreeArena {
    /// An arena with the document that is transformed, which has the number 0.
    pub(crate) fn new(main: Arc<Tree>, sheet: &Arc<Names>) -> Self {
        Self {
            main: Entry::new(main, sheet),
            chunks: [const { OnceLock::new() }; CHUNKS],
            count: AtomicUsize::new(0),
        }
    }

    fn place(number: usize) -> (usize, usize) {
        let group = (number + FIRST).ilog2() as usize - FIRST.ilog2() as usize;
        (group, number + FIRST - (FIRST << group))
    }

    /// Adds a tree; its number is the document part of its nodes.
    pub(crate) fn push(&self, tree: Arc<Tree>, sheet: &Arc<Names>) -> Res<u32> {
        let number = self.count.fetch_add(1, Ordering::Relaxed);
        let (group, offset) = Self::place(number);
        if number + 1 >= DOCUMENTS_MAX || group >= CHUNKS {
            return Err(limit_error(Limit::Documents, "too many trees in one transformation"));
        }
        let chunk = self.chunks[group].get_or_init(|| (0..FIRST << group).map(|_| OnceLock::new()).collect());
        // The place was empty: nobody else was given this number.
        let _ = chunk[offset].set(Entry::new(tree, sheet));
        Ok(number as u32 + 1)
    }

    /// A tree that was added.
    #[inline]
    pub(crate) fn get(&self, number: u32) -> &Entry {
        if number == 0 { &self.main } else { self.get_other(number) }
    }

    fn get_other(&self, number: u32) -> &Entry {
        let (group, offset) = Self::place(number as usize - 1);
        self.chunks[group]
            .get()
            .and_then(|chunk| chunk[offset].get())
            .expect("nodes are only made of trees in the arena")
    }
}

impl Tree {
    /// Whether the tree has a document element and nothing else that a document may not have at the top.
    pub(crate) fn is_element(&self, index: u32) -> bool {
        self.node(index).kind == NodeKind::Element
    }
}
