//! Strings and expanded names as numbers.
//!
//! A table may stand on another one that does not change any more: the names of result trees stand on those of the
//! stylesheet, so that a literal result element is never looked up while the stylesheet runs.

use std::sync::Arc;

use crate::hash::Table;

/// A string of a [`Names`] table. The empty string is always [`EMPTY`].
pub(crate) type Atom = u32;
/// An expanded name of a [`Names`] table: namespace and local part.
pub(crate) type NameId = u32;

/// The empty string.
pub(crate) const EMPTY: Atom = 0;
/// No name, no atom.
pub(crate) const NONE: u32 = u32::MAX;

/// A table of strings and expanded names.
#[derive(Debug, Clone, Default)]
pub(crate) struct Names {
    below: Option<Arc<Names>>,
    atoms_below: u32,
    names_below: u32,
    atoms: Vec<Arc<str>>,
    atom_ids: Table<Arc<str>, Atom>,
    names: Vec<(Atom, Atom)>,
    name_ids: Table<(Atom, Atom), NameId>,
}

impl Names {
    /// An empty table.
    pub(crate) fn new() -> Self {
        let mut names = Self::default();
        names.atom("");
        names
    }

    /// A table that continues another.
    pub(crate) fn above(below: Arc<Names>) -> Self {
        Self {
            atoms_below: below.atom_count(),
            names_below: below.len(),
            below: Some(below),
            ..Self::default()
        }
    }

    fn atom_count(&self) -> u32 {
        self.atoms_below + self.atoms.len() as u32
    }

    /// How many expanded names there are.
    pub(crate) fn len(&self) -> u32 {
        self.names_below + self.names.len() as u32
    }

    /// How many were added to the table below.
    pub(crate) fn own_len(&self) -> usize {
        self.names.len() + self.atoms.len()
    }

    /// The atom of a string, new or known.
    pub(crate) fn atom(&mut self, text: &str) -> Atom {
        if let Some(known) = self.find_atom(text) {
            return known;
        }
        self.add_atom(Arc::from(text))
    }

    fn add_atom(&mut self, text: Arc<str>) -> Atom {
        let atom = self.atom_count();
        self.atoms.push(Arc::clone(&text));
        self.atom_ids.insert(text, atom);
        atom
    }

    /// The atom of a string, if it is known.
    pub(crate) fn find_atom(&self, text: &str) -> Option<Atom> {
        if let Some(below) = &self.below
            && let Some(known) = below.find_atom(text)
        {
            return Some(known);
        }
        self.atom_ids.get(text).copied()
    }

    /// The strings of another table as atoms of this one, and [`NONE`] for those that are not known.
    pub(crate) fn find_atoms_of(&self, other: &Names) -> Vec<Atom> {
        (0..other.atom_count()).map(|atom| self.find_atom(other.text(atom)).unwrap_or(NONE)).collect()
    }

    /// The expanded name, new or known.
    pub(crate) fn name(&mut self, namespace: &str, local: &str) -> NameId {
        let (namespace, local) = (self.atom(namespace), self.atom(local));
        self.name_of_atoms(namespace, local)
    }

    /// The expanded name of two atoms, new or known.
    pub(crate) fn name_of_atoms(&mut self, namespace: Atom, local: Atom) -> NameId {
        if let Some(known) = self.find_name_of_atoms(namespace, local) {
            return known;
        }
        let name = self.len();
        self.names.push((namespace, local));
        self.name_ids.insert((namespace, local), name);
        name
    }

    pub(crate) fn find_name_of_atoms(&self, namespace: Atom, local: Atom) -> Option<NameId> {
        if let Some(below) = &self.below
            && let Some(known) = below.find_name_of_atoms(namespace, local)
        {
            return Some(known);
        }
        self.name_ids.get(&(namespace, local)).copied()
    }

    /// The expanded name, if it is known.
    pub(crate) fn find(&self, namespace: &str, local: &str) -> Option<NameId> {
        self.find_name_of_atoms(self.find_atom(namespace)?, self.find_atom(local)?)
    }

    /// The atoms of namespace and local part.
    #[inline]
    pub(crate) fn parts(&self, name: NameId) -> (Atom, Atom) {
        if name < self.names_below {
            return self.below.as_ref().map_or((EMPTY, EMPTY), |below| below.parts(name));
        }
        self.names.get((name - self.names_below) as usize).copied().unwrap_or((EMPTY, EMPTY))
    }

    /// The string of an atom.
    #[inline]
    pub(crate) fn text(&self, atom: Atom) -> &Arc<str> {
        if atom < self.atoms_below
            && let Some(below) = &self.below
        {
            return below.text(atom);
        }
        &self.atoms[(atom - self.atoms_below) as usize]
    }

    /// The local part of a name.
    pub(crate) fn local(&self, name: NameId) -> &Arc<str> {
        self.text(self.parts(name).1)
    }

    /// The namespace of a name.
    pub(crate) fn namespace(&self, name: NameId) -> &Arc<str> {
        self.text(self.parts(name).0)
    }
}

impl Names {
    /// Whether this is that table, or continues it.
    pub(crate) fn stands_on(&self, other: &Arc<Names>) -> bool {
        self.below.as_ref().is_some_and(|below| Arc::ptr_eq(below, other) || below.stands_on(other))
    }
}
