//! What expressions give.

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;

use super::numbers;
use crate::tree::{NodeId, Tree};

/// A string: a slice of a tree, or made.
#[derive(Debug, Clone)]
pub(crate) enum Text<'t> {
    Borrowed(&'t str),
    Shared(Arc<str>),
    Owned(String),
    /// A text that was made and is kept in a variable.
    Kept(Arc<String>),
}

impl Deref for Text<'_> {
    type Target = str;

    #[inline]
    fn deref(&self) -> &str {
        match self {
            Self::Borrowed(text) => text,
            Self::Shared(text) => text,
            Self::Owned(text) => text,
            Self::Kept(text) => text,
        }
    }
}

impl From<String> for Text<'_> {
    fn from(text: String) -> Self {
        Self::Owned(text)
    }
}

impl Text<'_> {
    /// A text that is cheap to clone.
    pub(crate) fn shared(self) -> Self {
        match self {
            Self::Owned(mut text) => {
                if text.capacity() > 2 * text.len() + 64 {
                    text.shrink_to_fit();
                }
                Self::Kept(Arc::new(text))
            }
            other => other,
        }
    }

    pub(crate) fn into_string(self) -> String {
        match self {
            Self::Borrowed(text) => text.to_owned(),
            Self::Shared(text) => String::from(&*text),
            Self::Owned(text) => text,
            Self::Kept(text) => Arc::unwrap_or_clone(text),
        }
    }
}

/// Nodes in document order, each once.
#[derive(Debug, Clone)]
pub(crate) enum NodeSet {
    Empty,
    One(NodeId),
    Many(Arc<[NodeId]>),
}

impl NodeSet {
    pub(crate) fn empty() -> Self {
        Self::Empty
    }

    /// Nodes that are in order already.
    pub(crate) fn sorted(nodes: impl AsRef<[NodeId]>) -> Self {
        match nodes.as_ref() {
            [] => Self::Empty,
            [one] => Self::One(*one),
            many => Self::Many(Arc::from(many)),
        }
    }

    /// Nodes in any order.
    pub(crate) fn unsorted(mut nodes: Vec<NodeId>) -> Self {
        sort(&mut nodes);
        Self::sorted(nodes)
    }

    /// The nodes, to be changed.
    pub(crate) fn into_vec(self) -> Vec<NodeId> {
        self.to_vec()
    }
}

impl Deref for NodeSet {
    type Target = [NodeId];

    #[inline]
    fn deref(&self) -> &[NodeId] {
        match self {
            Self::Empty => &[],
            Self::One(node) => std::slice::from_ref(node),
            Self::Many(nodes) => nodes,
        }
    }
}

/// Brings nodes into document order, each once; quick when they are.
pub(crate) fn sort(nodes: &mut Vec<NodeId>) {
    if !nodes.is_sorted_by(|left, right| left < right) {
        nodes.sort_unstable();
        nodes.dedup();
    }
}

/// The content of a variable: text alone, as it mostly is, or a tree.
#[derive(Debug, Clone)]
pub(crate) enum Fragment {
    Text(Arc<String>),
    Tree(Arc<Tree>),
}

impl Fragment {
    /// A number that no other fragment has as long as this one or a copy of it is there.
    pub(crate) fn address(&self) -> usize {
        match self {
            Self::Text(text) => Arc::as_ptr(text) as usize,
            Self::Tree(tree) => Arc::as_ptr(tree) as usize,
        }
    }

    pub(crate) fn text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Tree(tree) => &tree.text,
        }
    }

    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Text(text) => text.len(),
            Self::Tree(tree) => tree.memory_bytes(),
        }
    }
}

/// A value while a stylesheet runs.
#[derive(Debug, Clone)]
pub(crate) enum Object<'t> {
    Nodes(NodeSet),
    Text(Text<'t>),
    Number(f64),
    Boolean(bool),
    Fragment(Fragment),
}

impl<'t> Object<'t> {
    pub(crate) fn text(text: impl Into<Cow<'t, str>>) -> Self {
        Self::Text(match text.into() {
            Cow::Borrowed(text) => Text::Borrowed(text),
            Cow::Owned(text) => Text::Owned(text),
        })
    }

    /// The string of a text or fragment, which are texts already.
    pub(crate) fn plain_text(&self) -> &str {
        match self {
            Self::Text(text) => text,
            Self::Fragment(fragment) => fragment.text(),
            _ => "",
        }
    }

    /// Roughly how many bytes the value keeps in memory by itself.
    pub(crate) fn memory_bytes(&self) -> usize {
        match self {
            Self::Nodes(NodeSet::Many(nodes)) => nodes.len() * size_of::<NodeId>(),
            Self::Text(Text::Owned(text)) => text.len(),
            Self::Text(Text::Shared(text)) => text.len(),
            Self::Text(Text::Kept(text)) => text.len(),
            Self::Fragment(fragment) => fragment.memory_bytes(),
            _ => 0,
        }
    }
}

/// A parameter that the caller of a transformation gives.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// A string.
    String(String),
    /// A number.
    Number(f64),
    /// True or false.
    Boolean(bool),
}

impl From<&str> for Value {
    fn from(text: &str) -> Self {
        Self::String(text.to_owned())
    }
}

impl From<String> for Value {
    fn from(text: String) -> Self {
        Self::String(text)
    }
}

/// A number as a string value.
pub(crate) fn number_text(number: f64) -> Text<'static> {
    Text::Owned(numbers::format(number))
}
