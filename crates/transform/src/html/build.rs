//! From text to [`Dom`], by html5ever, behind a guard.
//!
//! A conformant HTML parser is quadratic in places: every `<div>` looks through the whole stack of open
//! elements, every paragraph reopens all formatting elements left open before it, every attribute is
//! compared with its tag's others. The guard sits between tokeniser and tree builder and flattens
//! what is deeper than a browser would build, bounds the formatting elements that are reopened, and
//! counts the builder's steps; beyond the limit it stops, with the tree as it is. Start at [`build`].

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Instant;

use html5ever::interface::{ElementFlags, NodeOrText, QuirksMode, TreeSink};
use html5ever::tendril::StrTendril;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::tree_builder::{Tracer, TreeBuilder, TreeBuilderOpts};
use html5ever::{Attribute, ExpandedName, LocalName, QualName, local_name, ns};
use webloom_model::Diagnostic;

use super::tokenize::{Tokenizer, normalize};
use crate::Limits;
use crate::dom::{Dom, Element, NodeData, NodeId, is_void};
use crate::maps::HashMap;

/// Tokens between two looks at the clock.
const TOKENS_PER_LOOK: u64 = 512;
/// Names of elements kept at hand.
const NAMES: usize = 64;
/// Room for links at the greatest depth, where elements that tags imply may stand deeper than counted.
const LINK_DEPTH_EXTRA: usize = 512;
/// Formatting elements that are closed and would be reopened. Browsers have no such limit, and pay.
const REOPENED_MAX: usize = 128;

/// Parses a document. Always gives a tree; what was cut is in the diagnostics.
pub(crate) fn build(text: &str, limits: &Limits, deadline: Instant) -> Built {
    // No markup needs more than one node for every byte, however little it closes.
    let nodes_max = limits.html_nodes_max.min(text.len().saturating_add(1000));
    let options = TreeBuilderOpts { scripting_enabled: false, ..TreeBuilderOpts::default() };
    let guard = Guard {
        builder: TreeBuilder::new(DomSink::new(nodes_max, text.len()), options),
        depth_max: limits.html_depth_max,
        nodes_max,
        attributes_max: limits.html_attributes_max,
        steps_max: limits.html_steps_max,
        deadline,
        state: RefCell::default(),
        tokens: Cell::new(0),
        cut: Cell::new(None),
    };
    let text = normalize(text);
    let guard =
        Tokenizer::new(&text, guard, limits.html_attributes_max).run(|guard| guard.cut.get().is_some());
    let mut diagnostics = Vec::new();
    let state = guard.state.into_inner();
    if let Some(line) = state.flattened_line {
        let message =
            format!("elements are nested deeper than {}; the deeper ones were flattened", guard.depth_max);
        diagnostics.push(Diagnostic::warning("html-too-deep", message).at_line(line));
    }
    if let Some(line) = state.unformatted_line {
        let message = format!(
            "more than {REOPENED_MAX} formatting elements were left open; the later ones were ignored"
        );
        diagnostics.push(Diagnostic::note("html-formatting", message).at_line(line));
    }
    if let Some(line) = state.attributes_line {
        let message =
            format!("an element has more than {} attributes; the rest was ignored", guard.attributes_max);
        diagnostics.push(Diagnostic::warning("html-attributes", message).at_line(line));
    }
    let sink = guard.builder.sink;
    if let Some(cut) = guard.cut.get() {
        let message = match cut {
            Cut::Time => "parsing took too long; the rest of the page was left out".to_owned(),
            Cut::Steps => format!("parsing took more than {} steps; the rest was left out", guard.steps_max),
            Cut::Nodes => format!("the page has more than {nodes_max} nodes; the rest was left out"),
        };
        diagnostics.push(Diagnostic::warning("html-cut", message).at_line(u64::from(sink.line.get())));
    }
    Built { dom: sink.dom.into_inner(), public_id: sink.public_id.into_inner(), diagnostics }
}

/// What came of a parse.
pub(crate) struct Built {
    pub(crate) dom: Dom,
    /// The public identifier of the DOCTYPE.
    pub(crate) public_id: Option<String>,
    pub(crate) diagnostics: Vec<Diagnostic>,
}

/// Why parsing stopped early.
#[derive(Debug, Clone, Copy)]
enum Cut {
    Time,
    Steps,
    Nodes,
}

/// Sits between tokeniser and tree builder.
struct Guard {
    builder: TreeBuilder<Handle, DomSink>,
    depth_max: usize,
    nodes_max: usize,
    attributes_max: usize,
    steps_max: u64,
    deadline: Instant,
    state: RefCell<GuardState>,
    tokens: Cell<u64>,
    cut: Cell<Option<Cut>>,
}

#[derive(Default)]
struct GuardState {
    /// Open elements, at most: counted, then guessed from the start tags since.
    open: usize,
    /// Formatting elements that are closed but wait to be reopened.
    waiting: usize,
    /// Something passed since the counts were taken.
    stale: bool,
    /// Start tags that were dropped and whose end tags are still to come.
    dropped: HashMap<LocalName, u32>,
    flattened_line: Option<u64>,
    unformatted_line: Option<u64>,
    attributes_line: Option<u64>,
}

impl Guard {
    /// True when a start tag may pass.
    fn admit(&self, tag: &mut Tag, line: u64) -> bool {
        let mut state = self.state.borrow_mut();
        if tag.attrs.len() > self.attributes_max {
            tag.attrs.truncate(self.attributes_max);
            state.attributes_line.get_or_insert(line);
        }
        // These do not stay open, and dropping the tag of raw text would turn the text into tags.
        if takes_no_depth(&tag.name) || is_raw_text(&tag.name) {
            return true;
        }
        let formatting = is_formatting(&tag.name);
        if state.stale && (state.open >= self.depth_max || (formatting && state.waiting >= REOPENED_MAX)) {
            (state.open, state.waiting) = self.count();
            state.stale = false;
            if state.open + 64 < self.depth_max {
                // Well out of the depths again: end tags still missing will not come.
                state.dropped.clear();
            }
        }
        // Links are what pages are read for, and one closes the other, so they may stand a little deeper.
        let depth_max = self.depth_max + if tag.name == local_name!("a") { LINK_DEPTH_EXTRA } else { 0 };
        if state.open >= depth_max {
            state.flattened_line.get_or_insert(line);
        } else if formatting && state.waiting >= REOPENED_MAX {
            state.unformatted_line.get_or_insert(line);
        } else {
            state.open += 1;
            state.waiting += usize::from(formatting);
            state.stale = true;
            return true;
        }
        *state.dropped.entry(tag.name.clone()).or_default() += 1;
        false
    }

    /// True when an end tag may pass.
    fn admit_end(&self, tag: &Tag) -> bool {
        let mut state = self.state.borrow_mut();
        if let Some(count) = state.dropped.get_mut(&tag.name) {
            if *count > 1 {
                *count -= 1;
            } else {
                state.dropped.remove(&tag.name);
            }
            return false;
        }
        state.stale = true;
        true
    }

    /// Elements open, and formatting elements waiting to be reopened.
    fn count(&self) -> (usize, usize) {
        let sink = &self.builder.sink;
        let count = Count { sink, epoch: sink.next_epoch(), open: Cell::new(0), waiting: Cell::new(0) };
        self.builder.trace_handles(&count);
        (count.open.get(), count.waiting.get())
    }
}

impl TokenSink for Guard {
    type Handle = Handle;

    fn process_token(&self, mut token: Token, line: u64) -> TokenSinkResult<Handle> {
        if self.cut.get().is_some() {
            return TokenSinkResult::Continue;
        }
        let sink = &self.builder.sink;
        self.tokens.set(self.tokens.get() + 1);
        if sink.dom.borrow().len() >= self.nodes_max {
            self.cut.set(Some(Cut::Nodes));
        } else if sink.steps.get() >= self.steps_max {
            self.cut.set(Some(Cut::Steps));
        } else if self.tokens.get().is_multiple_of(TOKENS_PER_LOOK) && Instant::now() >= self.deadline {
            self.cut.set(Some(Cut::Time));
        }
        let passes = match &mut token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => self.admit(tag, line),
            Token::TagToken(tag) => self.admit_end(tag),
            Token::ParseError(_) => false,
            _ => true,
        };
        if passes { self.builder.process_token(token, line) } else { TokenSinkResult::Continue }
    }

    fn end(&self) {
        self.builder.end();
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.builder.adjusted_current_node_present_but_not_in_html_namespace()
    }
}

/// Counts the handles in the tree builder's state.
struct Count<'a> {
    sink: &'a DomSink,
    epoch: u32,
    open: Cell<usize>,
    waiting: Cell<usize>,
}

impl Tracer for Count<'_> {
    type Handle = Handle;

    fn trace_handle(&self, handle: &Handle) {
        let mut dom = self.sink.dom.borrow_mut();
        let node = &mut dom.nodes[handle.id.index()];
        if node.counted == self.epoch {
            return;
        }
        node.counted = self.epoch;
        let counter = if node.closed { &self.waiting } else { &self.open };
        counter.set(counter.get() + 1);
    }
}

/// True for elements that never stay open, or of which there is only one.
fn takes_no_depth(name: &LocalName) -> bool {
    is_void(name)
        || matches!(
            *name,
            local_name!("frame") | local_name!("html") | local_name!("head") | local_name!("body")
        )
}

fn is_raw_text(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("script")
            | local_name!("style")
            | local_name!("title")
            | local_name!("textarea")
            | local_name!("xmp")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes")
            | local_name!("plaintext")
    )
}

/// The elements that are reopened after they were closed by another's end. `a` is not among those
/// counted: a second one closes the first.
fn is_formatting(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("b")
            | local_name!("big")
            | local_name!("code")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("nobr")
            | local_name!("s")
            | local_name!("small")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("tt")
            | local_name!("u")
    )
}

/// A node and its name: the tree builder asks for names all the time, so they are at hand.
#[derive(Clone)]
struct Handle {
    id: NodeId,
    name: Rc<QualName>,
}

/// Builds the tree as the tree builder says.
struct DomSink {
    dom: RefCell<Dom>,
    public_id: RefCell<Option<String>>,
    no_name: Rc<QualName>,
    /// Names of elements met before, each in the only place it can be in.
    names: RefCell<[Option<Rc<QualName>>; NAMES]>,
    integration_points: RefCell<Vec<NodeId>>,
    line: Cell<u32>,
    steps: Cell<u64>,
    epoch: Cell<u32>,
}

impl DomSink {
    fn new(nodes_max: usize, text_bytes: usize) -> Self {
        Self {
            dom: RefCell::new(Dom::new(nodes_max, text_bytes)),
            public_id: RefCell::default(),
            no_name: Rc::new(QualName::new(None, ns!(), local_name!(""))),
            names: RefCell::new([const { None }; NAMES]),
            integration_points: RefCell::default(),
            line: Cell::new(1),
            steps: Cell::new(0),
            epoch: Cell::new(0),
        }
    }

    fn step(&self, count: u64) {
        self.steps.set(self.steps.get().saturating_add(count));
    }

    fn next_epoch(&self) -> u32 {
        self.epoch.set(self.epoch.get().wrapping_add(1).max(1));
        self.epoch.get()
    }

    /// The name, shared with the elements before that have it.
    fn shared(&self, name: QualName) -> Rc<QualName> {
        let place = &mut self.names.borrow_mut()[name.local.get_hash() as usize % NAMES];
        match place {
            Some(known) if **known == name => Rc::clone(known),
            _ => Rc::clone(place.insert(Rc::new(name))),
        }
    }

    fn nameless(&self, data: NodeData) -> Handle {
        let id = self.dom.borrow_mut().create(data, self.line.get());
        Handle { id, name: Rc::clone(&self.no_name) }
    }
}

impl TreeSink for DomSink {
    type Handle = Handle;
    type Output = Self;
    type ElemName<'a> = ExpandedName<'a>;

    fn finish(self) -> Self {
        self
    }

    fn parse_error(&self, _message: Cow<'static, str>) {}

    fn get_document(&self) -> Handle {
        Handle { id: Dom::ROOT, name: Rc::clone(&self.no_name) }
    }

    fn elem_name<'a>(&'a self, target: &'a Handle) -> ExpandedName<'a> {
        self.step(1);
        target.name.expanded()
    }

    fn create_element(&self, name: QualName, attributes: Vec<Attribute>, flags: ElementFlags) -> Handle {
        self.step(8);
        let mut dom = self.dom.borrow_mut();
        let template = flags.template.then(|| dom.create(NodeData::Root, self.line.get()));
        let element = Element { name: name.clone(), attributes, template };
        let id = dom.create(NodeData::Element(element), self.line.get());
        if flags.mathml_annotation_xml_integration_point {
            self.integration_points.borrow_mut().push(id);
        }
        Handle { id, name: self.shared(name) }
    }

    fn create_comment(&self, _text: StrTendril) -> Handle {
        self.nameless(NodeData::Other)
    }

    fn create_pi(&self, _target: StrTendril, _data: StrTendril) -> Handle {
        self.nameless(NodeData::Other)
    }

    fn append(&self, parent: &Handle, child: NodeOrText<Handle>) {
        self.step(1);
        let mut dom = self.dom.borrow_mut();
        match child {
            NodeOrText::AppendNode(node) => dom.append(parent.id, node.id),
            NodeOrText::AppendText(text) => dom.append_text(parent.id, &text, self.line.get()),
        }
    }

    fn append_based_on_parent_node(&self, element: &Handle, previous: &Handle, child: NodeOrText<Handle>) {
        let has_parent = self.dom.borrow().parent(element.id).is_some();
        if has_parent {
            self.append_before_sibling(element, child);
        } else {
            self.append(previous, child);
        }
    }

    fn append_doctype_to_document(&self, _name: StrTendril, public: StrTendril, _system: StrTendril) {
        *self.public_id.borrow_mut() = Some(public.to_string()).filter(|public| !public.is_empty());
    }

    fn pop(&self, node: &Handle) {
        self.dom.borrow_mut().nodes[node.id.index()].closed = true;
    }

    fn get_template_contents(&self, target: &Handle) -> Handle {
        let id = self.dom.borrow().element(target.id).and_then(|element| element.template);
        Handle { id: id.unwrap_or(target.id), name: Rc::clone(&self.no_name) }
    }

    fn same_node(&self, one: &Handle, other: &Handle) -> bool {
        self.step(1);
        one.id == other.id
    }

    fn set_quirks_mode(&self, _mode: QuirksMode) {}

    fn append_before_sibling(&self, sibling: &Handle, child: NodeOrText<Handle>) {
        self.step(1);
        let mut dom = self.dom.borrow_mut();
        match child {
            NodeOrText::AppendNode(node) => dom.insert_before(sibling.id, node.id),
            NodeOrText::AppendText(text) => dom.insert_text_before(sibling.id, &text, self.line.get()),
        }
    }

    fn add_attrs_if_missing(&self, target: &Handle, attributes: Vec<Attribute>) {
        let mut dom = self.dom.borrow_mut();
        if let NodeData::Element(element) = &mut dom.nodes[target.id.index()].data {
            self.step((attributes.len() * element.attributes.len()) as u64);
            for attribute in attributes {
                // A second `<html>` or `<body>` adds what the first lacks, within the same bounds.
                if element.attributes.len() < 1024
                    && !element.attributes.iter().any(|known| known.name == attribute.name)
                {
                    element.attributes.push(attribute);
                }
            }
        }
    }

    fn remove_from_parent(&self, target: &Handle) {
        self.step(1);
        self.dom.borrow_mut().detach(target.id);
    }

    fn reparent_children(&self, node: &Handle, new_parent: &Handle) {
        let count = self.dom.borrow_mut().move_children(node.id, new_parent.id);
        self.step(count);
    }

    fn is_mathml_annotation_xml_integration_point(&self, handle: &Handle) -> bool {
        let points = self.integration_points.borrow();
        self.step(points.len() as u64);
        points.contains(&handle.id)
    }

    fn set_current_line(&self, line: u64) {
        self.line.set(u32::try_from(line).unwrap_or(u32::MAX));
    }
}
