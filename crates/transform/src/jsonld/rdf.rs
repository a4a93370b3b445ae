//! The Deserialize JSON-LD to RDF algorithm: expanded items as quads.
//!
//! The specification collects all nodes in a map first; as a set of quads the result is the same when nodes are
//! written as they are met, so they are, one after the other, each with all it says before the nodes in it.
//! What is not well-formed is left out and counted. Start at [`Writer::write`].

use std::borrow::Cow;
use std::collections::VecDeque;

use oxrdf::vocab::{rdf, xsd};
use oxrdf::{BlankNode, GraphName, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Quad, Term};

use super::RdfDirection;
use super::canonical::{self, Number};
use super::error::{ErrorCode, Problem, Result, quoted};
use super::expanded::{Datatype, Item, Node, Scalar, ValueObject};
use super::names::Name;
use crate::maps::{HashMap, HashSet};

const RDF_JSON: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/1999/02/22-rdf-syntax-ns#JSON");
const RDF_DIRECTION: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/1999/02/22-rdf-syntax-ns#direction");
const RDF_LANGUAGE: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/1999/02/22-rdf-syntax-ns#language");
const I18N: &str = "https://www.w3.org/ns/i18n#";

/// Values of a property that are compared one by one to find equal ones.
const FEW_VALUES: usize = 16;
/// Nodes described twice that are told from others one by one.
const FEW_REPEATED: usize = 8;
/// Nodes written between two looks at the clock.
const NODES_BETWEEN_LOOKS: usize = 256;

/// A node that is to be written.
struct Pending<'d> {
    node: Node<'d>,
    /// Nothing when its name is ill-formed: it says nothing, but what is in it may.
    subject: Option<NamedOrBlankNode>,
    /// Nothing when it is in a graph whose name is ill-formed.
    graph: Option<GraphName>,
}

/// Writes expanded items as quads.
pub(super) struct Writer<'d> {
    direction: Option<RdfDirection>,
    /// Quads after which it stops; the sink says what is missing.
    quads_max: usize,
    /// Bytes of terms after which it stops.
    bytes_left: usize,
    quads: Vec<Quad>,
    labels: HashMap<Cow<'d, str>, BlankNode>,
    blank_count: u64,
    pending: VecDeque<Pending<'d>>,
    /// Names of nodes that said something. When one comes again it may say the same again.
    described: HashSet<(NamedOrBlankNode, GraphName)>,
    /// Those that came again.
    repeated: Vec<NamedOrBlankNode>,
    /// Any quad may be there twice.
    may_repeat: bool,
    indexes: HashMap<(NamedOrBlankNode, GraphName), &'d str>,
    /// The first thing left out because it is not well-formed, and how many there were.
    pub(super) ill_formed: Option<(String, usize)>,
    /// Indexes that contradict each other.
    pub(super) conflict: Option<Box<Problem>>,
}

impl<'d> Writer<'d> {
    pub(super) fn new(direction: Option<RdfDirection>, quads_max: usize, bytes_max: usize) -> Self {
        Self {
            direction,
            quads_max,
            bytes_left: bytes_max,
            quads: Vec::new(),
            labels: HashMap::default(),
            blank_count: 0,
            pending: VecDeque::new(),
            described: HashSet::default(),
            repeated: Vec::new(),
            may_repeat: false,
            indexes: HashMap::default(),
            ill_formed: None,
            conflict: None,
        }
    }

    /// Writes the items of a document; `look` says when the time is over.
    pub(super) fn write(
        &mut self,
        items: Vec<Item<'d>>,
        mut look: impl FnMut() -> Result<()>,
    ) -> Result<Vec<Quad>> {
        self.enter_all(items, Some(&GraphName::DefaultGraph));
        let mut count = 0_usize;
        while let Some(pending) = self.pending.pop_front() {
            if self.is_full() {
                break;
            }
            self.write_node(pending);
            count += 1;
            if count.is_multiple_of(NODES_BETWEEN_LOOKS) {
                look()?;
            }
        }
        let mut quads = std::mem::take(&mut self.quads);
        if self.may_repeat || !self.repeated.is_empty() {
            let mut seen = HashSet::default();
            let repeated: Vec<bool> = quads
                .iter()
                .map(|quad| {
                    let may_repeat = self.may_repeat || self.repeated.contains(&quad.subject);
                    may_repeat && !seen.insert(quad)
                })
                .collect();
            drop(seen);
            let mut repeated = repeated.into_iter();
            quads.retain(|_| !repeated.next().unwrap_or(false));
        }
        Ok(quads)
    }

    fn is_full(&self) -> bool {
        self.quads.len() > self.quads_max || self.bytes_left == 0
    }

    fn enter_all(&mut self, items: Vec<Item<'d>>, graph: Option<&GraphName>) {
        for item in items {
            if let Item::Node(node) = item {
                self.enter(*node, graph);
            }
        }
    }

    /// Names a node, and remembers to write it.
    fn enter(&mut self, mut node: Node<'d>, graph: Option<&GraphName>) -> Option<NamedOrBlankNode> {
        let subject = match node.id.take() {
            Some(name) => self.resource(name),
            None => Some(self.fresh().into()),
        };
        if node.says_something() || node.graph.is_some() || node.index.is_some() {
            self.pending.push_back(Pending { node, subject: subject.clone(), graph: graph.cloned() });
        }
        subject
    }

    fn write_node(&mut self, pending: Pending<'d>) {
        let Pending { node, subject, graph } = pending;
        if let (Some(subject), Some(graph)) = (&subject, &graph) {
            if let Some(index) = node.index {
                let known = *self.indexes.entry((subject.clone(), graph.clone())).or_insert(index);
                if known != index && self.conflict.is_none() {
                    let detail = format!("a node has two indexes, {} and {}", quoted(known), quoted(index));
                    self.conflict = Some(Problem::new(ErrorCode::ConflictingIndexes, detail));
                }
            }
            // Nodes without a name of their own cannot come again.
            let has_name = match subject {
                NamedOrBlankNode::NamedNode(_) => true,
                NamedOrBlankNode::BlankNode(_) => !self.labels.is_empty(),
            };
            if has_name && node.says_something() {
                let is_new = self.described.insert((subject.clone(), graph.clone()));
                if !is_new && !self.repeated.contains(subject) {
                    self.may_repeat |= self.repeated.len() >= FEW_REPEATED;
                    if !self.may_repeat {
                        self.repeated.push(subject.clone());
                    }
                }
            }
        }
        self.may_repeat |= node.types.len() > FEW_VALUES;
        let since = if node.types.len() > 1 { self.quads.len() } else { usize::MAX };
        for name in node.types {
            let object = self.resource(name);
            if let (Some(subject), Some(object), Some(graph)) = (&subject, object, &graph) {
                let object = Term::from(object);
                let mut recent = self.quads.iter().skip(since).take(FEW_VALUES);
                if !recent.any(|quad| quad.object == object) {
                    self.push(subject.clone(), rdf::TYPE.into_owned(), object, graph);
                }
            }
        }
        for (name, items) in node.properties {
            let predicate = self.predicate(name);
            self.may_repeat |= items.len() > FEW_VALUES;
            // One value of a property is rarely another again, and few are quickly compared.
            let since = if items.len() > 1 { self.quads.len() } else { usize::MAX };
            for item in items {
                self.say(subject.as_ref(), predicate.as_ref(), item, graph.as_ref(), since);
            }
        }
        for (name, items) in node.reverse {
            let predicate = self.predicate(name);
            self.may_repeat = true;
            for item in items {
                let Item::Node(item) = item else { continue };
                let reversed = self.enter(*item, graph.as_ref());
                if let (Some(reversed), Some(predicate), Some(subject), Some(graph)) =
                    (reversed, &predicate, &subject, &graph)
                {
                    self.push(reversed, predicate.clone(), subject.clone().into(), graph);
                }
            }
        }
        if let Some(items) = node.graph {
            self.enter_all(items, subject.map(GraphName::from).as_ref());
        }
        self.enter_all(node.included, graph.as_ref());
    }

    /// Says something of a node, then what its object needs for itself (Object to RDF Conversion). Quads after
    /// `since` may say the same.
    fn say(
        &mut self,
        subject: Option<&NamedOrBlankNode>,
        predicate: Option<&NamedNode>,
        item: Item<'d>,
        graph: Option<&GraphName>,
        since: usize,
    ) {
        let (object, list) = match item {
            Item::Node(node) => (self.enter(*node, graph).map(Term::from), None),
            Item::Value(value) => (self.literal(value, graph), None),
            Item::List(items) if items.is_empty() => (Some(rdf::NIL.into_owned().into()), None),
            Item::List(items) => {
                let head = self.fresh();
                (Some(head.clone().into()), Some((head, items)))
            }
        };
        if let (Some(subject), Some(predicate), Some(object), Some(graph)) =
            (subject, predicate, object, graph)
        {
            let mut recent = self.quads.iter().skip(since).take(FEW_VALUES);
            let is_known = recent.any(|quad| {
                quad.object == object && quad.subject == *subject && quad.predicate == *predicate
            });
            if !is_known {
                self.push(subject.clone(), predicate.clone(), object, graph);
            }
        }
        if let Some((head, items)) = list {
            // A list that nothing leads to says nothing, but what is in it may.
            let graph = graph.filter(|_| subject.is_some() && predicate.is_some());
            self.list(head, items, graph);
        }
    }

    /// The List to RDF Conversion algorithm. Lists in lists are as deep as the document is nested, at most.
    fn list(&mut self, head: BlankNode, items: Vec<Item<'d>>, graph: Option<&GraphName>) {
        let mut cell = NamedOrBlankNode::from(head);
        let mut items = items.into_iter().peekable();
        while let Some(item) = items.next() {
            self.say(Some(&cell), Some(&rdf::FIRST.into_owned()), item, graph, usize::MAX);
            let next = items.peek().map(|_| self.fresh());
            let rest = next.clone().map_or_else(|| rdf::NIL.into_owned().into(), Term::from);
            if let Some(graph) = graph {
                self.push(cell.clone(), rdf::REST.into_owned(), rest, graph);
            }
            if let Some(next) = next {
                cell = next.into();
            }
        }
    }

    fn literal(&mut self, object: ValueObject<'d>, graph: Option<&GraphName>) -> Option<Term> {
        let ValueObject { value, datatype, language, direction } = object;
        let datatype = match datatype {
            None => None,
            Some(Datatype::Json) => return Some(json(value).into()),
            Some(Datatype::Name(name)) if !name.is_well_formed() => return self.leave_out(&name.text),
            Some(Datatype::Name(name)) => Some(NamedNode::new_unchecked(name.text)),
        };
        let (lexical, native) = match value {
            Scalar::String(text) => (Cow::Borrowed(text), None),
            Scalar::Bool(flag) => (Cow::Borrowed(if flag { "true" } else { "false" }), Some(xsd::BOOLEAN)),
            Scalar::Number(raw) => {
                let as_double = datatype.as_ref().is_some_and(|datatype| *datatype == xsd::DOUBLE);
                match canonical::number(raw, as_double) {
                    Number::Integer(text) => (Cow::Owned(text), Some(xsd::INTEGER)),
                    Number::Double(text) => (Cow::Owned(text), Some(xsd::DOUBLE)),
                }
            }
            // JSON has been dealt with.
            Scalar::Json(_) => return None,
        };
        if let (Some(direction), Some(form)) = (direction, self.direction) {
            let language = language.map(|language| language.to_ascii_lowercase());
            return match form {
                RdfDirection::I18nDatatype => {
                    let tag = language.as_deref().unwrap_or_default();
                    let datatype = format!("{I18N}{tag}_{}", direction.as_str());
                    match NamedNode::new(datatype) {
                        Ok(datatype) => Some(Literal::new_typed_literal(lexical, datatype).into()),
                        Err(_) => self.leave_out(tag),
                    }
                }
                RdfDirection::CompoundLiteral => {
                    let node = self.fresh();
                    let mut say = |predicate: NamedNodeRef<'_>, value: &str| {
                        if let Some(graph) = graph {
                            let literal = Literal::new_simple_literal(value);
                            self.push(node.clone().into(), predicate.into_owned(), literal.into(), graph);
                        }
                    };
                    say(rdf::VALUE, &lexical);
                    if let Some(language) = &language {
                        say(RDF_LANGUAGE, language);
                    }
                    say(RDF_DIRECTION, direction.as_str());
                    Some(node.into())
                }
            };
        }
        match (language, datatype) {
            (Some(language), _) => match Literal::new_language_tagged_literal(lexical, &*language) {
                Ok(literal) => Some(literal.into()),
                Err(_) => self.leave_out(&language),
            },
            (None, Some(datatype)) => Some(Literal::new_typed_literal(lexical, datatype).into()),
            (None, None) => Some(match native {
                Some(datatype) => Literal::new_typed_literal(lexical, datatype).into(),
                None => Literal::new_simple_literal(lexical).into(),
            }),
        }
    }

    /// A name as a resource, if it is an IRI or a blank node.
    fn resource(&mut self, name: Name<'d>) -> Option<NamedOrBlankNode> {
        if name.is_blank() {
            return Some(self.labelled(name.text).into());
        }
        if name.is_well_formed() {
            return Some(NamedNode::new_unchecked(name.text).into());
        }
        self.leave_out(&name.text)
    }

    /// A name as a predicate. Blank nodes can be none in RDF, so nothing is missed.
    fn predicate(&mut self, name: Name<'d>) -> Option<NamedNode> {
        if name.is_blank() {
            return None;
        }
        if name.is_well_formed() {
            return Some(NamedNode::new_unchecked(name.text));
        }
        self.leave_out(&name.text)
    }

    fn leave_out<T>(&mut self, what: &str) -> Option<T> {
        match &mut self.ill_formed {
            Some((_, count)) => *count += 1,
            None => self.ill_formed = Some((quoted(what), 1)),
        }
        None
    }

    /// The node of a label.
    fn labelled(&mut self, label: Cow<'d, str>) -> BlankNode {
        if let Some(node) = self.labels.get(&label) {
            return node.clone();
        }
        let node = self.fresh();
        self.labels.insert(label, node.clone());
        node
    }

    fn fresh(&mut self) -> BlankNode {
        let node = BlankNode::new_unchecked(format!("b{}", self.blank_count));
        self.blank_count += 1;
        node
    }

    fn push(&mut self, subject: NamedOrBlankNode, predicate: NamedNode, object: Term, graph: &GraphName) {
        if self.is_full() {
            return;
        }
        let node_bytes = |node: &NamedOrBlankNode| match node {
            NamedOrBlankNode::NamedNode(node) => node.as_str().len(),
            NamedOrBlankNode::BlankNode(_) => 0,
        };
        let object_bytes = match &object {
            Term::NamedNode(node) => node.as_str().len(),
            Term::Literal(literal) => {
                let language = literal.language().map_or(0, str::len);
                literal.value().len() + literal.datatype().as_str().len() + language
            }
            #[allow(
                unreachable_patterns,
                reason = "terms of RDF 1.2 appear when a crate in the build asks for them"
            )]
            _ => 0,
        };
        let graph_bytes = match graph {
            GraphName::NamedNode(node) => node.as_str().len(),
            _ => 0,
        };
        let bytes = node_bytes(&subject) + predicate.as_str().len() + object_bytes + graph_bytes;
        // The last quad goes over the limit, so that the sink sees it and says so.
        self.bytes_left = self.bytes_left.saturating_sub(bytes);
        self.quads.push(Quad::new(subject, predicate, object, graph.clone()));
    }
}

/// A JSON literal.
fn json(value: Scalar<'_>) -> Literal {
    let mut text = String::new();
    match value {
        Scalar::Json(value) => canonical::write_json(value, &mut text),
        Scalar::String(value) => canonical::write_string(value, &mut text),
        Scalar::Bool(flag) => text.push_str(if flag { "true" } else { "false" }),
        Scalar::Number(raw) => canonical::write_number(raw, &mut text),
    }
    Literal::new_typed_literal(text, RDF_JSON)
}
