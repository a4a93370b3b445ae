//! A document in expanded form, as far as RDF needs it: every name an IRI, every value with its type.

use super::json::Value;
use super::names::{Direction, Name};

/// Something a property can have.
#[derive(Debug)]
pub(super) enum Item<'d> {
    Node(Box<Node<'d>>),
    Value(ValueObject<'d>),
    List(Vec<Item<'d>>),
}

/// A node object, or a graph object: a node with a graph.
#[derive(Debug, Default)]
pub(super) struct Node<'d> {
    /// Absent for a node without a name; ill-formed for one whose name is none.
    pub(super) id: Option<Name<'d>>,
    pub(super) types: Vec<Name<'d>>,
    pub(super) index: Option<&'d str>,
    pub(super) properties: Vec<(Name<'d>, Vec<Item<'d>>)>,
    pub(super) reverse: Vec<(Name<'d>, Vec<Item<'d>>)>,
    pub(super) graph: Option<Vec<Item<'d>>>,
    pub(super) included: Vec<Item<'d>>,
}

impl<'d> Node<'d> {
    /// A node that is only named.
    pub(super) fn reference(id: Name<'d>) -> Self {
        Self { id: Some(id), ..Self::default() }
    }

    /// True for a graph object: nothing but a graph, its name and its index.
    pub(super) fn is_graph_object(&self) -> bool {
        self.graph.is_some() && !self.says_something()
    }

    /// True when it has more than a name, an index and a graph.
    pub(super) fn says_something(&self) -> bool {
        !self.types.is_empty()
            || !self.properties.is_empty()
            || !self.reverse.is_empty()
            || !self.included.is_empty()
    }
}

/// A value object.
#[derive(Debug)]
pub(super) struct ValueObject<'d> {
    pub(super) value: Scalar<'d>,
    pub(super) datatype: Option<Datatype<'d>>,
    pub(super) language: Option<Box<str>>,
    pub(super) direction: Option<Direction>,
}

/// The value in a value object.
#[derive(Debug, Clone, Copy)]
pub(super) enum Scalar<'d> {
    Bool(bool),
    /// As it was written.
    Number(&'d str),
    String(&'d str),
    /// Any JSON, for a JSON literal.
    Json(Value<'d>),
}

/// The type of a value object.
#[derive(Debug)]
pub(super) enum Datatype<'d> {
    Json,
    Name(Name<'d>),
}

/// What expansion made of an element.
#[derive(Debug)]
pub(super) enum Expansion<'d> {
    Null,
    One(Item<'d>),
    Many(Vec<Item<'d>>),
}

impl<'d> Expansion<'d> {
    pub(super) fn is_null(&self) -> bool {
        matches!(self, Self::Null)
    }

    /// As an array.
    pub(super) fn into_items(self) -> Vec<Item<'d>> {
        match self {
            Self::Null => Vec::new(),
            Self::One(item) => vec![item],
            Self::Many(items) => items,
        }
    }
}
