//! The processing sequence of RDFa Core 1.1, one element at a time, in one walk without recursion.
//!
//! In: a tree and what its host language decides. Out: triples and a report. A [`Frame`] is the specification's
//! "evaluation context"; elements that change nothing get none, so most cost no more than a look at their attributes.
//! Steps are numbered as in the specification. Literals that are an element's text are finished when the element ends,
//! so every character is read once however deep properties are nested. Values are made in [`super::properties`], names
//! resolved in [`super::resolve`]. Start at [`Evaluator::run`], then [`Evaluator::open`].

use std::rc::Rc;
use std::time::Instant;

use html5ever::{local_name, ns};
use oxrdf::vocab::rdf;
use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term};

use super::attributes::Attributes;
use super::iri::Base;
use super::lists::{ListId, Lists};
use super::output::{Output, term_bytes};
use super::prefixes::Prefixes;
use super::properties::Pending;
use super::report::{Kind, Report};
use super::vocabulary::USES_VOCABULARY;
use super::{Profile, initial, is_element};
use crate::dom::{Dom, Edge, Element, NodeData, NodeId};

/// Edges of the tree between two looks at the clock.
const EDGES_PER_LOOK: u64 = 4096;
const ROLE: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://www.w3.org/1999/xhtml/vocab#role");
/// A subject or an object, shared by the frames that know it.
pub(super) type Node = Rc<NamedOrBlankNode>;

/// How names and literals are read within an element.
#[derive(Debug, Clone)]
pub(super) struct Scope {
    pub(super) base: Rc<Base>,
    pub(super) vocabulary: Option<Rc<str>>,
    pub(super) language: Option<Rc<str>>,
}

/// A statement whose other end is still to come.
#[derive(Debug)]
enum IncompleteTriple {
    Forward(NamedNode),
    Reverse(NamedNode),
    List(ListId),
}

/// The evaluation context for the children of an element.
#[derive(Debug)]
struct Frame {
    node: NodeId,
    scope: Scope,
    parent_subject: Node,
    parent_object: Node,
    incomplete: Rc<[IncompleteTriple]>,
    /// The list mapping of the parent object.
    lists: usize,
    /// List mappings that end with the element, the first of them, and whose they are.
    own_lists: usize,
    owners: [Option<Node>; 2],
    /// Prefixes that end with the element.
    bound: Vec<Rc<str>>,
}

/// What an element is about, after step 5 or 6.
struct Established {
    new_subject: Node,
    current_object: Option<Node>,
    typed: Option<Node>,
    skip: bool,
}

/// Walks over one document.
pub(super) struct Evaluator<'a> {
    pub(super) dom: &'a Dom,
    pub(super) profile: Profile,
    pub(super) document: Rc<Base>,
    pub(super) prefixes: Prefixes,
    frames: Vec<Frame>,
    pub(super) lists: Lists,
    pub(super) pending: Vec<Pending>,
    pub(super) text: String,
    root_seen: bool,
    blank_count: u64,
    pub(super) output: Output,
    pub(super) report: Report,
}

impl<'a> Evaluator<'a> {
    pub(super) fn new(
        dom: &'a Dom,
        profile: Profile,
        document: Rc<Base>,
        base: Rc<Base>,
        output: Output,
        report: Report,
    ) -> Self {
        let mut lists = Lists::default();
        let subject: Node = Rc::new(base.node().into());
        let frame = Frame {
            node: Dom::ROOT,
            scope: Scope { base, vocabulary: None, language: None },
            parent_subject: Rc::clone(&subject),
            parent_object: Rc::clone(&subject),
            incomplete: Rc::new([]),
            lists: lists.begin(),
            own_lists: 0,
            owners: [Some(subject), None],
            bound: Vec::new(),
        };
        Self {
            dom,
            profile,
            document,
            prefixes: Prefixes::default(),
            frames: vec![frame],
            lists,
            pending: Vec::new(),
            text: String::new(),
            root_seen: false,
            blank_count: 0,
            output,
            report,
        }
    }

    /// Walks the whole document, or what of it there is room and time for.
    pub(super) fn run(mut self, deadline: Instant) -> (Output, Report) {
        let dom = self.dom;
        for (count, edge) in (1_u64..).zip(dom.traverse(Dom::ROOT)) {
            if count.is_multiple_of(EDGES_PER_LOOK) && Instant::now() >= deadline {
                self.report.out_of_time();
                break;
            }
            match edge {
                Edge::Open(id) => match &dom.node(id).data {
                    NodeData::Element(element) => self.open(id, element),
                    NodeData::Text(text) if !self.pending.is_empty() => self.text.push_str(text),
                    _ => {}
                },
                Edge::Close(id) => self.close(id),
            }
            if self.output.is_full() {
                break;
            }
        }
        (self.output, self.report)
    }

    /// A node that nothing else is.
    pub(super) fn fresh(&mut self) -> Node {
        self.blank_count += 1;
        Rc::new(BlankNode::new_unchecked(format!("g{}", self.blank_count)).into())
    }

    fn frame(&self) -> &Frame {
        // The document's own frame is popped last, with the document.
        &self.frames[self.frames.len() - 1]
    }

    /// Takes an element through the steps.
    fn open(&mut self, id: NodeId, element: &'a Element) {
        let is_root = !std::mem::replace(&mut self.root_seen, true);
        let is_section = self.profile.html
            && element.name.ns == ns!(html)
            && matches!(element.name.local, local_name!("head") | local_name!("body"));
        let mut attributes = Attributes::of(element, self.profile);
        let speaks = attributes.speaks() || is_root || is_section;
        if !speaks && !attributes.sets_scope() {
            // A link is the subject of what is said within it, which for most links is nothing.
            let matters = attributes.refers()
                && (!self.frame().incomplete.is_empty()
                    || self.dom.children(id).any(|child| is_element(self.dom, child)));
            if !matters {
                return;
            }
        }
        if self.profile.html5 && attributes.property.is_some() {
            mute_plain_relations(&mut attributes);
        }
        let mut bound = Vec::new();
        let scope = self.step_2_to_4(element, &attributes, &mut bound);
        let own_lists = self.lists.mark();
        let established = self.step_5_and_6(&attributes, &scope, is_root, is_section);
        self.step_7(&attributes, &scope, &established);
        if established.skip {
            self.say_roles(&attributes, &scope);
            if attributes.sets_scope() {
                let frame = self.frame();
                let frame = Frame {
                    node: id,
                    scope,
                    parent_subject: Rc::clone(&frame.parent_subject),
                    parent_object: Rc::clone(&frame.parent_object),
                    incomplete: Rc::clone(&frame.incomplete),
                    lists: frame.lists,
                    own_lists,
                    owners: [None, None],
                    bound,
                };
                self.frames.push(frame);
            }
            return;
        }
        let Established { new_subject, current_object, typed, .. } = established;
        // Step 8: a new subject has lists of its own.
        let mut owners = [None, None];
        let lists = if new_subject == self.frame().parent_object {
            self.frame().lists
        } else {
            owners[0] = Some(Rc::clone(&new_subject));
            self.lists.begin()
        };
        let (incomplete, hanging) =
            self.step_9_and_10(&attributes, &scope, &new_subject, current_object.as_ref(), lists);
        self.step_11(id, element, &attributes, &scope, &new_subject, typed.as_ref(), lists);
        self.step_12(&new_subject);
        self.say_roles(&attributes, &scope);
        // Step 13.
        let parent_object = hanging.or(current_object).unwrap_or_else(|| Rc::clone(&new_subject));
        // What is said within is about the parent object, so lists there are its own.
        let lists = if parent_object == new_subject {
            lists
        } else {
            let place = usize::from(owners[0].is_some());
            owners[place] = Some(Rc::clone(&parent_object));
            self.lists.begin()
        };
        self.frames.push(Frame {
            node: id,
            scope,
            parent_subject: new_subject,
            parent_object,
            incomplete,
            lists,
            own_lists,
            owners,
            bound,
        });
    }

    /// Finishes what ends with a node.
    fn close(&mut self, id: NodeId) {
        while self.pending.last().is_some_and(|pending| pending.node == id) {
            if let Some(pending) = self.pending.pop() {
                self.finish_text(pending);
            }
            if self.pending.is_empty() {
                self.text.clear();
            }
        }
        if self.frames.last().is_some_and(|frame| frame.node == id)
            && let Some(frame) = self.frames.pop()
        {
            for prefix in &frame.bound {
                self.prefixes.unbind(prefix);
            }
            self.step_14(&frame);
        }
    }

    /// Steps 2 to 4: vocabulary, prefixes, language; and the base, which comes before them.
    fn step_2_to_4(
        &mut self,
        element: &Element,
        attributes: &Attributes<'_>,
        bound: &mut Vec<Rc<str>>,
    ) -> Scope {
        let mut scope = self.frame().scope.clone();
        if !attributes.sets_scope() {
            return scope;
        }
        if let Some(base) = attributes.xml_base.and_then(|reference| scope.base.join(reference)) {
            scope.base = Rc::new(base);
        }
        if let Some(vocab) = attributes.vocab {
            // No host language has a default vocabulary, so nothing is what an empty value goes back to.
            scope.vocabulary = None;
            if !vocab.trim_ascii().is_empty()
                && let Some(iri) = scope.base.resolve(vocab)
            {
                scope.vocabulary = Some(Rc::from(iri.as_str()));
                self.output.push(scope.base.node(), USES_VOCABULARY, iri);
            }
        }
        if attributes.xmlns {
            self.bind_namespaces(element, bound);
        }
        if let Some(prefix) = attributes.prefix {
            self.bind_prefixes(prefix, bound);
        }
        if let Some(language) = attributes.language {
            scope.language = language_tag(language);
        }
        scope
    }

    /// Steps 5 and 6: what the element is about, and what it refers to.
    fn step_5_and_6(
        &mut self,
        attributes: &Attributes<'_>,
        scope: &Scope,
        is_root: bool,
        is_section: bool,
    ) -> Established {
        let parent_object = Rc::clone(&self.frame().parent_object);
        let about = attributes.about.and_then(|about| self.resource(about, scope));
        // The root is about the document; the parts of an HTML document are about what the whole is about.
        let about = about.or_else(|| is_root.then(|| Rc::new(scope.base.node().into())));
        let is_typed = attributes.type_of.is_some();
        let mut typed = None;
        let mut current_object = None;
        let mut skip = false;
        let new_subject;
        if attributes.rel.is_some() || attributes.rev.is_some() {
            current_object = self.referent(attributes, scope);
            if is_typed {
                if about.is_some() {
                    typed.clone_from(&about);
                } else {
                    typed = Some(current_object.get_or_insert_with(|| self.fresh()).clone());
                }
            }
            new_subject = about.unwrap_or(parent_object);
        } else if attributes.property.is_some()
            && attributes.literal().is_none()
            && attributes.datatype.is_none()
        {
            let about = about.or_else(|| is_section.then(|| Rc::clone(&parent_object)));
            if is_typed {
                if about.is_some() {
                    typed.clone_from(&about);
                } else {
                    let object = self.referent(attributes, scope).unwrap_or_else(|| self.fresh());
                    typed = Some(Rc::clone(&object));
                    current_object = Some(object);
                }
            }
            new_subject = about.unwrap_or(parent_object);
        } else {
            let given = if attributes.about.is_some() { about.clone() } else { None };
            let subject = given.or_else(|| self.referent(attributes, scope)).or(about);
            new_subject = match subject {
                Some(subject) => subject,
                None if is_section => parent_object,
                None if is_typed => self.fresh(),
                None => {
                    skip = attributes.property.is_none();
                    parent_object
                }
            };
            if is_typed {
                typed = Some(Rc::clone(&new_subject));
            }
        }
        Established { new_subject, current_object, typed, skip }
    }

    /// Step 7: types.
    fn step_7(&mut self, attributes: &Attributes<'_>, scope: &Scope, established: &Established) {
        let (Some(types), Some(typed)) = (attributes.type_of, &established.typed) else {
            return;
        };
        for word in types.split_ascii_whitespace() {
            if let Some(class) = self.name(word, scope, true) {
                self.output.push((**typed).clone(), rdf::TYPE, Term::from(class));
            }
        }
    }

    /// Steps 9 and 10: `rel` and `rev`, complete or waiting for their other end, which then is a new node.
    fn step_9_and_10(
        &mut self,
        attributes: &Attributes<'_>,
        scope: &Scope,
        new_subject: &Node,
        current_object: Option<&Node>,
        lists: usize,
    ) -> (Rc<[IncompleteTriple]>, Option<Node>) {
        let mut incomplete = Vec::new();
        for word in attributes.relations() {
            let Some(predicate) = self.predicate(word, scope, false) else {
                continue;
            };
            match (current_object, attributes.inlist) {
                (Some(object), true) => {
                    let list = self.lists.list(lists, &predicate);
                    self.add_to_list(list, (**object).clone().into());
                }
                (Some(object), false) => {
                    self.output.push((**new_subject).clone(), predicate, Term::from((**object).clone()));
                }
                (None, true) => incomplete.push(IncompleteTriple::List(self.lists.list(lists, &predicate))),
                (None, false) => incomplete.push(IncompleteTriple::Forward(predicate)),
            }
        }
        for word in attributes.reverse_relations() {
            let Some(predicate) = self.predicate(word, scope, false) else {
                continue;
            };
            match current_object {
                Some(object) => {
                    self.output.push((**object).clone(), predicate, Term::from((**new_subject).clone()));
                }
                None => incomplete.push(IncompleteTriple::Reverse(predicate)),
            }
        }
        let hanging = (!incomplete.is_empty()).then(|| self.fresh());
        (incomplete.into(), hanging)
    }

    fn add_to_list(&mut self, list: ListId, item: Term) {
        if self.output.take(term_bytes(&item)) {
            self.lists.push(list, item);
        }
    }

    /// Step 12: the statements that waited for this subject.
    fn step_12(&mut self, new_subject: &Node) {
        let frame = self.frame();
        if frame.incomplete.is_empty() {
            return;
        }
        let (incomplete, parent) = (Rc::clone(&frame.incomplete), Rc::clone(&frame.parent_subject));
        for triple in incomplete.iter() {
            match triple {
                IncompleteTriple::Forward(predicate) => {
                    self.output.push(
                        (*parent).clone(),
                        predicate.clone(),
                        Term::from((**new_subject).clone()),
                    );
                }
                IncompleteTriple::Reverse(predicate) => {
                    self.output.push(
                        (**new_subject).clone(),
                        predicate.clone(),
                        Term::from((*parent).clone()),
                    );
                }
                IncompleteTriple::List(list) => self.add_to_list(*list, (**new_subject).clone().into()),
            }
            if self.output.is_full() {
                return;
            }
        }
    }

    /// Step 14: the lists that end with an element.
    fn step_14(&mut self, frame: &Frame) {
        for owner in frame.owners.iter().rev().flatten() {
            if self.lists.mark() <= frame.own_lists {
                return;
            }
            for (predicate, items) in self.lists.end() {
                let mut next: Term = rdf::NIL.into_owned().into();
                let mut nodes: Vec<Node> = items.iter().map(|_| self.fresh()).collect();
                for item in items.into_iter().rev() {
                    let Some(node) = nodes.pop() else {
                        break;
                    };
                    self.output.push((*node).clone(), rdf::FIRST, item);
                    self.output.push((*node).clone(), rdf::REST, next);
                    next = (*node).clone().into();
                    if self.output.is_full() {
                        return;
                    }
                }
                self.output.push((**owner).clone(), predicate, next);
            }
        }
    }

    /// The Role Attribute: what part an element plays, said of the element itself.
    fn say_roles(&mut self, attributes: &Attributes<'_>, scope: &Scope) {
        let Some(roles) = attributes.role else {
            return;
        };
        let scope = Scope { vocabulary: Some(Rc::from(initial::XHTML_VOCABULARY)), ..scope.clone() };
        let mut subject = None;
        for word in roles.split_ascii_whitespace() {
            let Some(role) = self.name(word, &scope, true) else {
                continue;
            };
            let subject = subject.get_or_insert_with(|| {
                let id = attributes.id.filter(|id| !id.is_empty());
                match id.and_then(|id| scope.base.resolve(&format!("#{id}"))) {
                    Some(node) => Rc::new(node.into()),
                    None => self.fresh(),
                }
            });
            self.output.push((**subject).clone(), ROLE, Term::from(role));
        }
    }

    /// What an element refers to: `resource`, `href`, `src`, in this order.
    pub(super) fn referent(&mut self, attributes: &Attributes<'_>, scope: &Scope) -> Option<Node> {
        attributes
            .resource
            .and_then(|resource| self.resource(resource, scope))
            .or_else(|| attributes.href.and_then(|href| self.reference(href, scope)))
            .or_else(|| attributes.src.and_then(|src| self.reference(src, scope)))
    }

    fn reference(&mut self, reference: &str, scope: &Scope) -> Option<Node> {
        let node = scope.base.resolve(reference);
        if node.is_none() {
            self.report.ignore(Kind::Warning, reference);
        }
        node.map(|node| Rc::new(node.into()))
    }
}

/// HTML's own link relations say nothing in RDFa where a property is given.
fn mute_plain_relations(attributes: &mut Attributes<'_>) {
    let speaks = |value: &str| value.split_ascii_whitespace().any(|word| word.contains(':'));
    attributes.only_curies = true;
    attributes.rel = attributes.rel.filter(|value| speaks(value));
    attributes.rev = attributes.rev.filter(|value| speaks(value));
}

/// The text as a language tag in lower case; nothing when it is empty or none.
fn language_tag(text: &str) -> Option<Rc<str>> {
    let tag = text.trim_ascii().replace('_', "-");
    if tag.is_empty() || tag.len() > 64 {
        return None;
    }
    let literal = Literal::new_language_tagged_literal("", &tag).ok()?;
    literal.language().map(Rc::from)
}
