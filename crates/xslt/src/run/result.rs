//! Where instructions write: gathers the attributes of an element, declares the namespaces it needs, and hands it on to
//! the serializer or to a tree.

use std::sync::Arc;

use crate::compile::program::{LiteralElement, Name, OutName, Program};
use crate::error::Res;
use crate::limits::Limits;
use crate::output::{OutAttribute, Serializer};
use crate::tree::{NONE, NameId, Names, Tree, TreeBuilder, XML_NAMESPACE};
use crate::xpath::value::{Fragment, Text};

/// Who takes what is written.
pub(crate) enum Target<'t> {
    Serializer(Box<Serializer<'t>>),
    /// A fragment: text alone until something else comes.
    Fragment {
        text: String,
        tree: Option<Box<TreeBuilder>>,
        nodes_max: usize,
    },
    /// Text; everything else is left out.
    Text(String),
}

/// What all writers of a transformation share.
pub(crate) struct ResultNames {
    /// The names of result trees, which stand on those of the stylesheet.
    pub(crate) table: Arc<Names>,
    /// For each literal result element the scope in which it had nothing to declare when it was last written.
    settled: Vec<u32>,
    /// How many scopes there were.
    scopes: u32,
    /// Names that were copied from trees, see [`ResultNames::copied`].
    copied: Vec<Option<CopiedName>>,
    keys: u64,
}

/// Names that were copied and are remembered.
const COPIED_MAX: usize = 64;
/// Numbers of trees that are not documents of the transformation start here.
const FIRST_KEY: u64 = 1 << 32;

/// A name that was copied from a tree.
#[derive(Debug, Clone)]
struct CopiedName {
    key: u64,
    name: NameId,
    prefix: u16,
    copied: Arc<OutName>,
}

impl ResultNames {
    pub(crate) fn new(program: &Program) -> Self {
        Self {
            table: Arc::new(Names::above(Arc::clone(&program.names))),
            settled: vec![NONE; program.literals as usize],
            scopes: 0,
            copied: Vec::new(),
            keys: FIRST_KEY,
        }
    }

    /// For trees that no stylesheet has to do with.
    pub(crate) fn of_tree(tree: &Tree) -> Self {
        Self {
            table: Arc::clone(&tree.names),
            settled: Vec::new(),
            scopes: 0,
            copied: Vec::new(),
            keys: FIRST_KEY,
        }
    }

    /// A number for a tree that is not a document of the transformation.
    pub(crate) fn new_key(&mut self) -> u64 {
        self.keys += 1;
        self.keys
    }

    /// The name of an element or attribute of a tree. `key` stands for the tree: the number of a document, or one of its
    /// own.
    pub(crate) fn copied(&mut self, key: u64, tree: &Tree, index: u32) -> Name<'static> {
        let (name, prefix) = (tree.node(index).name, tree.node(index).prefix);
        let slot = (name as usize + usize::from(prefix) * 7) % COPIED_MAX;
        if let Some(Some(known)) = self.copied.get(slot)
            && known.name == name
            && known.prefix == prefix
            && known.key == key
        {
            return Name::Made(Arc::clone(&known.copied));
        }
        if self.copied.is_empty() {
            self.copied.resize(COPIED_MAX, None);
        }
        let [prefix_text, local, namespace] =
            [tree.prefix(index), tree.local(index), tree.namespace(index)].map(Arc::clone);
        let copied = Arc::new(OutName::new(prefix_text, local, namespace, NONE));
        self.copied[slot] = Some(CopiedName { key, name, prefix, copied: Arc::clone(&copied) });
        Name::Made(copied)
    }

    /// A scope that nobody else has.
    fn new_scope(&mut self) -> u32 {
        self.scopes += 1;
        self.scopes
    }
}

/// An element that was opened and whose attributes may still come.
struct Pending<'t> {
    name: Name<'t>,
    literal: Option<&'t LiteralElement>,
}

/// What was in force before an element was opened.
#[derive(Clone, Copy)]
struct Mark {
    namespaces: usize,
    scope: u32,
}

type Namespaces = Vec<(Arc<str>, Arc<str>)>;

/// The number of the scope without any namespace.
const NO_SCOPE: u32 = 0;

/// Where instructions write.
pub(crate) struct ResultWriter<'t> {
    target: Target<'t>,
    pending: Option<Pending<'t>>,
    /// Namespace nodes of the pending element, beside those that it has as a literal one.
    namespaces: Namespaces,
    attributes: Vec<OutAttribute<'t>>,
    /// Namespaces in scope in the result, the innermost last.
    in_scope: Namespaces,
    /// The number of these namespaces: as long as it is the same, so are they.
    scope: u32,
    /// What was in force before each open element.
    marks: Vec<Mark>,
    /// Elements that are left out, in text.
    ignored: usize,
    /// Bytes that were written to something that stays in memory.
    pub(crate) held: usize,
    /// How many of them the budget knows of.
    pub(crate) accounted: usize,
}

impl<'t> ResultWriter<'t> {
    pub(crate) fn new(target: Target<'t>) -> Self {
        Self {
            target,
            pending: None,
            namespaces: Vec::new(),
            attributes: Vec::new(),
            in_scope: Vec::new(),
            scope: NO_SCOPE,
            marks: Vec::new(),
            ignored: 0,
            held: 0,
            accounted: 0,
        }
    }

    pub(crate) fn fragment(limits: &Limits) -> Self {
        Self::new(Target::Fragment { text: String::new(), tree: None, nodes_max: limits.nodes_max })
    }

    pub(crate) fn text() -> Self {
        Self::new(Target::Text(String::new()))
    }

    pub(crate) fn into_target(self) -> Target<'t> {
        self.target
    }

    pub(crate) fn into_fragment(self) -> Fragment {
        match self.target {
            Target::Fragment { tree: Some(tree), .. } => Fragment::Tree(Arc::new(tree.into_tree())),
            Target::Fragment { text, .. } | Target::Text(text) => Fragment::Text(Arc::new(text)),
            Target::Serializer(_) => Fragment::Text(Arc::default()),
        }
    }

    pub(crate) fn into_text(self) -> String {
        match self.target {
            Target::Text(text) => text,
            _ => String::new(),
        }
    }

    /// Whether only text is kept.
    pub(crate) fn is_text(&self) -> bool {
        matches!(self.target, Target::Text(_))
    }

    pub(crate) fn start_element(&mut self, name: Name<'t>, names: &mut ResultNames) -> Res<()> {
        self.start(Pending { name, literal: None }, names)
    }

    /// Starts an element as the stylesheet has it; its attributes follow.
    pub(crate) fn start_literal(&mut self, element: &'t LiteralElement, names: &mut ResultNames) -> Res<()> {
        self.start(Pending { name: Name::Written(&element.name), literal: Some(element) }, names)
    }

    /// Writes the start of an element whose attributes follow one by one and cannot change, where that is possible: not
    /// before it is known that the element has nothing to declare.
    pub(crate) fn start_at_once(
        &mut self,
        element: &'t LiteralElement,
        names: &mut ResultNames,
    ) -> Res<bool> {
        if !matches!(&self.target, Target::Serializer(serializer) if serializer.is_plain()) {
            return Ok(false);
        }
        if self.pending.is_some() {
            self.flush(names)?;
        }
        let Target::Serializer(serializer) = &mut self.target else { return Ok(false) };
        if names.settled.get(element.number as usize) != Some(&self.scope) || !serializer.is_inside() {
            return Ok(false);
        }
        self.marks.push(Mark { namespaces: self.in_scope.len(), scope: self.scope });
        serializer.start_plain(&element.name);
        Ok(true)
    }

    /// Writes an attribute after [`start_at_once`](Self::start_at_once): what is known of it, and its value.
    pub(crate) fn attribute_at_once(&mut self, written: &str, value: Option<&str>) {
        if let Target::Serializer(serializer) = &mut self.target {
            serializer.attribute_plain(written, value);
        }
    }

    fn start(&mut self, pending: Pending<'t>, names: &mut ResultNames) -> Res<()> {
        if self.is_text() {
            self.ignored += 1;
            return Ok(());
        }
        self.flush(names)?;
        self.pending = Some(pending);
        Ok(())
    }

    /// Gives the element just opened a namespace node.
    pub(crate) fn namespace(&mut self, prefix: &Arc<str>, uri: &Arc<str>) {
        let Some(pending) = &self.pending else { return };
        let has = |namespaces: &Namespaces| namespaces.iter().any(|(known, _)| known == prefix);
        let taken = has(&self.namespaces) || pending.literal.is_some_and(|literal| has(&literal.namespaces));
        // What is in force already need not be declared again.
        if &**prefix != "xml" && !taken && !self.means(prefix, uri) {
            self.namespaces.push((Arc::clone(prefix), Arc::clone(uri)));
        }
    }

    /// Adds an attribute, or replaces the one of that name. Says whether there was an element for it.
    pub(crate) fn attribute(&mut self, name: Name<'t>, value: Text<'t>) -> bool {
        self.put_attribute(OutAttribute { name, value, literal: false })
    }

    /// Adds an attribute of a literal result element.
    pub(crate) fn literal_attribute(&mut self, name: &'t OutName, value: Text<'t>) -> bool {
        self.put_attribute(OutAttribute { name: Name::Written(name), value, literal: true })
    }

    fn put_attribute(&mut self, attribute: OutAttribute<'t>) -> bool {
        if self.pending.is_none() {
            return false;
        }
        match self.attributes.iter_mut().find(|known| known.name.same(&attribute.name)) {
            Some(known) => known.value = attribute.value,
            None => self.attributes.push(attribute),
        }
        true
    }

    /// Adds an attribute of which it is known that the element does not have it yet.
    pub(crate) fn new_attribute(&mut self, name: Name<'t>, value: Text<'t>) {
        if self.pending.is_some() {
            self.attributes.push(OutAttribute { name, value, literal: false });
        }
    }

    /// How many attributes the open element has.
    pub(crate) fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    pub(crate) fn write_text(&mut self, text: &str, raw: bool, names: &mut ResultNames) -> Res<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.pending.is_some() {
            self.flush(names)?;
        }
        match &mut self.target {
            Target::Serializer(serializer) => serializer.text(text, raw),
            Target::Fragment { tree: Some(tree), .. } => {
                self.held += text.len();
                tree.add_text(text)
            }
            Target::Fragment { text: known, .. } => {
                self.held += text.len();
                known.push_str(text);
                Ok(())
            }
            Target::Text(known) => {
                if self.ignored == 0 {
                    self.held += text.len();
                    known.push_str(text);
                }
                Ok(())
            }
        }
    }

    pub(crate) fn comment(&mut self, text: &str, names: &mut ResultNames) -> Res<()> {
        self.flush(names)?;
        self.grow_tree(names)?;
        match &mut self.target {
            Target::Serializer(serializer) => serializer.comment(text),
            Target::Fragment { tree: Some(tree), .. } => {
                self.held += text.len() + 32;
                Ok(tree.comment(text)?)
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn instruction(&mut self, target: &str, content: &str, names: &mut ResultNames) -> Res<()> {
        self.flush(names)?;
        self.grow_tree(names)?;
        match &mut self.target {
            Target::Serializer(serializer) => serializer.instruction(target, content),
            Target::Fragment { tree: Some(tree), .. } => {
                self.held += content.len() + 32;
                tree.processing_instruction(target, content)?;
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(crate) fn end_element(&mut self, names: &mut ResultNames) -> Res<()> {
        if self.is_text() {
            self.ignored = self.ignored.saturating_sub(1);
            return Ok(());
        }
        self.flush(names)?;
        if let Some(mark) = self.marks.pop() {
            self.in_scope.truncate(mark.namespaces);
            self.scope = mark.scope;
        }
        match &mut self.target {
            Target::Serializer(serializer) => serializer.end_element(),
            Target::Fragment { tree: Some(tree), .. } => {
                tree.end_element();
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Makes a tree of a fragment that was text alone.
    fn grow_tree(&mut self, names: &ResultNames) -> Res<()> {
        if let Target::Fragment { text, tree: tree @ None, nodes_max } = &mut self.target {
            let mut builder = TreeBuilder::with_names("", *nodes_max, Arc::clone(&names.table));
            builder.add_text(text)?;
            *text = String::new();
            *tree = Some(Box::new(builder));
        }
        Ok(())
    }

    /// What a prefix means where the next element will stand.
    fn meaning(&self, prefix: &Arc<str>) -> &str {
        self.in_scope.iter().rev().find(|(known, _)| known == prefix).map_or("", |(_, uri)| uri)
    }

    /// Whether a prefix means a namespace where the next element will stand.
    fn means(&self, prefix: &Arc<str>, namespace: &Arc<str>) -> bool {
        self.in_scope
            .iter()
            .rev()
            .find(|(known, _)| known == prefix)
            .map_or(namespace.is_empty(), |(_, uri)| uri == namespace)
    }

    /// Hands the element that was opened on, if there is one, with the namespace declarations it needs.
    #[inline]
    pub(crate) fn flush(&mut self, names: &mut ResultNames) -> Res<()> {
        match self.pending.take() {
            Some(pending) => self.flush_element(pending, names),
            None => Ok(()),
        }
    }

    fn flush_element(&mut self, pending: Pending<'t>, names: &mut ResultNames) -> Res<()> {
        self.marks.push(Mark { namespaces: self.in_scope.len(), scope: self.scope });
        let mut attributes = std::mem::take(&mut self.attributes);
        // Most elements are written again and again with the same namespaces around them.
        let settled = self.namespaces.is_empty()
            && match pending.literal {
                Some(literal) => names.settled.get(literal.number as usize) == Some(&self.scope),
                None => self.keeps_element_prefix(&pending.name),
            }
            && attributes.iter().all(|attribute| attribute.literal || self.keeps_prefix(&attribute.name));
        if settled {
            self.hand_on(pending.name, &[], &attributes, names)?;
        } else {
            let (name, declared) = self.declarations(pending, &mut attributes, names);
            if !declared.is_empty() {
                self.in_scope.extend(declared.iter().cloned());
                self.scope = names.new_scope();
            }
            self.hand_on(name, &declared, &attributes, names)?;
        }
        attributes.clear();
        self.attributes = attributes;
        Ok(())
    }

    /// Whether an element can have its prefix without a declaration.
    fn keeps_element_prefix(&self, name: &OutName) -> bool {
        if name.prefix.is_empty() {
            return *name.namespace != *XML_NAMESPACE && self.means(&name.prefix, &name.namespace);
        }
        self.keeps_prefix(name)
    }

    /// Whether an attribute can have its prefix without a declaration.
    fn keeps_prefix(&self, name: &OutName) -> bool {
        if name.namespace.is_empty() {
            return name.prefix.is_empty();
        }
        if *name.namespace == *XML_NAMESPACE {
            return &*name.prefix == "xml";
        }
        !name.prefix.is_empty() && &*name.prefix != "xmlns" && self.means(&name.prefix, &name.namespace)
    }

    /// What an element has to declare; it and its attributes are given the prefixes they need for it.
    fn declarations(
        &mut self,
        pending: Pending<'t>,
        attributes: &mut [OutAttribute<'t>],
        names: &mut ResultNames,
    ) -> (Name<'t>, Namespaces) {
        let Pending { name: mut element, literal } = pending;
        let mut declared = Namespaces::new();
        let mut changed = !self.namespaces.is_empty();
        if element.namespace.is_empty() && !element.prefix.is_empty() {
            element = element.with_prefix(Arc::from(""));
            changed = true;
        }
        if *element.namespace == *XML_NAMESPACE {
            element = element.with_prefix(Arc::from("xml"));
            changed = true;
        } else if !self.means(&element.prefix, &element.namespace) {
            declared.push((Arc::clone(&element.prefix), Arc::clone(&element.namespace)));
        }
        let own = std::mem::take(&mut self.namespaces);
        let literal_ones = literal.map_or(&[][..], |literal| &literal.namespaces);
        for (prefix, uri) in literal_ones.iter().chain(&own) {
            let taken = *prefix == element.prefix || declared.iter().any(|(known, _)| known == prefix);
            // An element without namespace cannot have a default one.
            let impossible = prefix.is_empty() && element.namespace.is_empty();
            if !taken && !impossible && !self.means(prefix, uri) {
                declared.push((Arc::clone(prefix), Arc::clone(uri)));
            }
        }
        let mut used = vec![(Arc::clone(&element.prefix), Arc::clone(&element.namespace))];
        for OutAttribute { name, .. } in attributes {
            let prefix = if name.namespace.is_empty() {
                Arc::from("")
            } else if *name.namespace == *XML_NAMESPACE {
                Arc::from("xml")
            } else {
                let prefix = self.attribute_prefix(name, &used, &mut declared);
                if !used.iter().any(|(known, _)| *known == prefix) {
                    used.push((Arc::clone(&prefix), Arc::clone(&name.namespace)));
                }
                prefix
            };
            if prefix != name.prefix {
                *name = name.with_prefix(prefix);
                changed = true;
            }
        }
        if let Some(literal) = literal
            && declared.is_empty()
            && !changed
            && let Some(settled) = names.settled.get_mut(literal.number as usize)
        {
            *settled = self.scope;
        }
        (element, declared)
    }

    /// Gives an element with all that belongs to it to whoever takes it.
    fn hand_on(
        &mut self,
        element: Name<'t>,
        declared: &[(Arc<str>, Arc<str>)],
        attributes: &[OutAttribute<'t>],
        names: &ResultNames,
    ) -> Res<()> {
        self.grow_tree(names)?;
        match &mut self.target {
            Target::Serializer(serializer) => serializer.start_element(element, declared, attributes)?,
            Target::Fragment { tree: Some(tree), .. } => {
                self.held += (1 + declared.len() + attributes.len()) * 64;
                let known = element.name;
                let name = if known == NONE { tree.name(&element.namespace, &element.local) } else { known };
                let prefix = tree.prefix(&element.prefix)?;
                tree.start(prefix, name)?;
                for (prefix, uri) in declared {
                    let (prefix, uri) = (tree.prefix(prefix)?, tree.atom(uri));
                    tree.declare(prefix, uri)?;
                }
                for attribute in attributes {
                    let known = attribute.name.name;
                    let name = if known == NONE {
                        tree.name(&attribute.name.namespace, &attribute.name.local)
                    } else {
                        known
                    };
                    let prefix = tree.prefix(&attribute.name.prefix)?;
                    tree.add_attribute(prefix, name, &attribute.value)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The prefix that an attribute with a namespace can have, declared if need be. `used` are the prefixes that mean
    /// something at this element already.
    fn attribute_prefix(
        &self,
        name: &OutName,
        used: &[(Arc<str>, Arc<str>)],
        declared: &mut Vec<(Arc<str>, Arc<str>)>,
    ) -> Arc<str> {
        let OutName { prefix, namespace, .. } = name;
        let meaning = |declared: &[(Arc<str>, Arc<str>)], prefix: &str| -> Option<Arc<str>> {
            declared.iter().chain(used).find(|(known, _)| **known == *prefix).map(|(_, uri)| Arc::clone(uri))
        };
        if !prefix.is_empty() && &**prefix != "xmlns" {
            match meaning(declared, prefix) {
                Some(uri) if uri == *namespace => return Arc::clone(prefix),
                Some(_) => {}
                None => {
                    if !self.means(prefix, namespace) {
                        declared.push((Arc::clone(prefix), Arc::clone(namespace)));
                    }
                    return Arc::clone(prefix);
                }
            }
        }
        if let Some((known, _)) = declared.iter().find(|(known, uri)| !known.is_empty() && uri == namespace) {
            return Arc::clone(known);
        }
        let usable = self.in_scope.iter().rev().find(|(known, uri)| {
            !known.is_empty()
                && uri == namespace
                && self.means(known, namespace)
                && meaning(declared, known).is_none_or(|meaning| meaning == *namespace)
        });
        if let Some((known, _)) = usable {
            return Arc::clone(known);
        }
        let mut number = 0;
        loop {
            let candidate: Arc<str> = Arc::from(format!("ns{number}"));
            if meaning(declared, &candidate).is_none() && self.meaning(&candidate).is_empty() {
                declared.push((Arc::clone(&candidate), Arc::clone(namespace)));
                return candidate;
            }
            number += 1;
        }
    }
}
