//! Walking a tree along an axis.

use std::ops::ControlFlow;

use super::ast::{Axis, NameTest, NamespaceTest, NodeTest};
use crate::tree::{Atom, Entry, NONE, NameId, NodeKind, Tree};

/// A node test in terms of one tree.
#[derive(Debug, Clone, Copy)]
pub(crate) enum TreeTest {
    /// No node of this tree can match.
    Nothing,
    Any,
    Kind(NodeKind),
    Name(NodeKind, NameId),
    Namespace(NodeKind, Atom),
}

impl TreeTest {
    /// Puts a node test into terms of a tree.
    #[inline]
    pub(crate) fn new(test: &NodeTest, axis: Axis, entry: &Entry) -> Self {
        let principal = match axis {
            Axis::Attribute => NodeKind::Attribute,
            Axis::Namespace => NodeKind::Namespace,
            _ => NodeKind::Element,
        };
        let named = |kind, name| if name == NONE { Self::Nothing } else { Self::Name(kind, name) };
        match test {
            NodeTest::Any => Self::Any,
            NodeTest::Principal => Self::Kind(principal),
            NodeTest::Text => Self::Kind(NodeKind::Text),
            NodeTest::Comment => Self::Kind(NodeKind::Comment),
            NodeTest::Instruction(None) => Self::Kind(NodeKind::Instruction),
            NodeTest::Instruction(Some(target)) => named(NodeKind::Instruction, target.in_tree(entry)),
            NodeTest::Name(name) => named(principal, name.in_tree(entry)),
            NodeTest::Namespace(namespace) => match namespace.in_tree(entry) {
                NONE => Self::Nothing,
                atom => Self::Namespace(principal, atom),
            },
        }
    }

    /// Whether a stored node passes.
    #[inline]
    pub(crate) fn passes(self, tree: &Tree, index: u32) -> bool {
        let node = tree.node(index);
        match self {
            Self::Nothing => false,
            Self::Any => true,
            Self::Kind(kind) => node.kind == kind,
            Self::Name(kind, name) => node.name == name && node.kind == kind,
            Self::Namespace(kind, atom) => node.kind == kind && tree.names.parts(node.name).0 == atom,
        }
    }
}

impl NameTest {
    /// The number that the name has in a tree, or [`NONE`].
    #[inline]
    pub(crate) fn in_tree(&self, entry: &Entry) -> NameId {
        if self.name == NONE {
            return entry.tree.names.find(&self.namespace, &self.local).unwrap_or(NONE);
        }
        entry.tree_name(self.name)
    }
}

impl NamespaceTest {
    /// The number that the namespace has in a tree, or [`NONE`].
    fn in_tree(&self, entry: &Entry) -> Atom {
        if self.atom == NONE {
            return entry.tree.names.find_atom(&self.namespace).unwrap_or(NONE);
        }
        entry.tree_atom(self.atom)
    }
}

/// Visits the stored nodes on an axis that pass a test, in the order of the axis. Says how many nodes were looked at.
///
/// `from_namespace`: the walk starts at a namespace node of the element `index`. The namespace axis is not walked here.
pub(crate) fn walk(
    tree: &Tree,
    index: u32,
    from_namespace: bool,
    axis: Axis,
    test: TreeTest,
    visit: &mut impl FnMut(u32) -> ControlFlow<()>,
) -> usize {
    let mut looked = 1;
    let mut look = |at: u32| -> ControlFlow<()> {
        looked += 1;
        if test.passes(tree, at) { visit(at) } else { ControlFlow::Continue(()) }
    };
    let mut run = || -> ControlFlow<()> {
        let leaf = from_namespace || tree.node(index).kind == NodeKind::Attribute;
        match axis {
            Axis::SelfNode => {
                if !from_namespace {
                    look(index)?;
                }
            }
            Axis::Child => {
                if !from_namespace {
                    for at in tree.children(index) {
                        look(at)?;
                    }
                }
            }
            Axis::Attribute => {
                if !from_namespace {
                    for at in tree.attributes(index) {
                        look(at)?;
                    }
                }
            }
            Axis::Parent => {
                if from_namespace {
                    look(index)?;
                } else if index != 0 {
                    look(tree.node(index).parent)?;
                }
            }
            Axis::Ancestor | Axis::AncestorOrSelf => {
                if from_namespace || axis == Axis::AncestorOrSelf {
                    look(index)?;
                }
                let mut at = index;
                while at != 0 {
                    at = tree.node(at).parent;
                    look(at)?;
                }
            }
            Axis::Descendant | Axis::DescendantOrSelf => {
                if from_namespace {
                    return ControlFlow::Continue(());
                }
                if axis == Axis::DescendantOrSelf {
                    look(index)?;
                }
                if leaf {
                    return ControlFlow::Continue(());
                }
                let end = tree.node(index).end;
                if let TreeTest::Name(NodeKind::Element, name) = test {
                    // Short ranges are quicker to look through than to find in the index.
                    if end - index > 32 {
                        let named = tree.by_name(name);
                        let start = named.partition_point(|at| *at <= index);
                        for at in named[start..].iter().take_while(|at| **at < end) {
                            look(*at)?;
                        }
                        return ControlFlow::Continue(());
                    }
                }
                for at in index + 1..end {
                    if tree.node(at).kind != NodeKind::Attribute {
                        look(at)?;
                    }
                }
            }
            Axis::FollowingSibling => {
                if !leaf {
                    let mut next = tree.next_sibling(index);
                    while let Some(at) = next {
                        look(at)?;
                        next = tree.next_sibling(at);
                    }
                }
            }
            Axis::PrecedingSibling => {
                if !leaf {
                    let mut previous = tree.previous_sibling(index);
                    while let Some(at) = previous {
                        look(at)?;
                        previous = tree.previous_sibling(at);
                    }
                }
            }
            Axis::Following => {
                // Everything after an attribute but its element's other attributes follows it.
                let start = if leaf { index + 1 } else { tree.node(index).end };
                for at in start..tree.nodes.len() as u32 {
                    if tree.node(at).kind != NodeKind::Attribute {
                        look(at)?;
                    }
                }
            }
            Axis::Preceding => {
                let mut ancestor = if from_namespace { index } else { tree.node(index).parent };
                let mut at = if from_namespace { index + 1 } else { index };
                while at > 1 {
                    at -= 1;
                    if at == ancestor {
                        ancestor = tree.node(at).parent;
                    } else if tree.node(at).kind != NodeKind::Attribute {
                        look(at)?;
                    }
                }
            }
            Axis::Namespace => {}
        }
        ControlFlow::Continue(())
    };
    let _ = run();
    looked
}
