//! Where instructions write: gathers the attributes of an element, declares the namespaces it needs, and hands it on to
//! the serializer or to a tree.

use std::sync::Arc;

use crate::compile::program::OutName;
use crate::error::Res;
use crate::limits::Limits;
use crate::output::{OutAttribute, Serializer};
use crate::tree::{NONE, Names, TreeBuilder, XML_NAMESPACE};
use crate::xpath::value::Fragment;

/// Who takes what is written.
pub(crate) enum Target {
    Serializer(Box<Serializer>),
    /// A fragment: text alone until something else comes.
    Fragment {
        text: String,
        tree: Option<Box<TreeBuilder>>,
        nodes_max: usize,
    },
    /// Text; everything else is left out.
    Text(String),
}

/// Where instructions write.
pub(crate) struct ResultWriter {
    target: Target,
    /// An element was opened whose attributes may still come.
    pending: Option<OutName>,
    namespaces: Vec<(Arc<str>, Arc<str>)>,
    attributes: Vec<OutAttribute>,
    /// Namespaces in scope in the result, the innermost last.
    scope: Vec<(Arc<str>, Arc<str>)>,
    /// How many were in scope before each open element.
    marks: Vec<usize>,
    /// Elements that are left out, in text.
    ignored: usize,
    /// Bytes that were written to something that stays in memory.
    pub(crate) held: usize,
    /// How many of them the budget knows of.
    pub(crate) accounted: usize,
}

impl ResultWriter {
    pub(crate) fn new(target: Target) -> Self {
        Self {
            target,
            pending: None,
            namespaces: Vec::new(),
            attributes: Vec::new(),
            scope: Vec::new(),
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

    pub(crate) fn into_target(self) -> Target {
        self.target
    }

    pub(crate) fn into_fragment(self) -> Fragment {
        match self.target {
            Target::Fragment { tree: Some(tree), .. } => Fragment::Tree(Arc::new(tree.into_tree())),
            Target::Fragment { text, .. } | Target::Text(text) => Fragment::Text(Arc::from(text)),
            Target::Serializer(_) => Fragment::Text(Arc::from("")),
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

    pub(crate) fn start_element(&mut self, name: OutName, names: &mut Arc<Names>) -> Res<()> {
        if self.is_text() {
            self.ignored += 1;
            return Ok(());
        }
        self.flush(names)?;
        self.pending = Some(name);
        Ok(())
    }

    /// Gives the element just opened a namespace node.
    pub(crate) fn namespace(&mut self, prefix: &Arc<str>, uri: &Arc<str>) {
        if self.pending.is_some()
            && &**prefix != "xml"
            && !self.namespaces.iter().any(|(known, _)| known == prefix)
        {
            self.namespaces.push((Arc::clone(prefix), Arc::clone(uri)));
        }
    }

    /// Adds an attribute, or replaces the one of that name. Says whether there was an element for it.
    pub(crate) fn attribute(&mut self, name: OutName, value: String) -> bool {
        if self.pending.is_none() {
            return false;
        }
        match self.attributes.iter_mut().find(|known| known.name.same(&name)) {
            Some(known) => known.value = value,
            None => self.attributes.push(OutAttribute { name, value }),
        }
        true
    }

    /// Adds an attribute of which it is known that the element does not have it yet.
    pub(crate) fn new_attribute(&mut self, name: OutName, value: String) {
        if self.pending.is_some() {
            self.attributes.push(OutAttribute { name, value });
        }
    }

    /// How many attributes the open element has.
    pub(crate) fn attribute_count(&self) -> usize {
        self.attributes.len()
    }

    pub(crate) fn write_text(&mut self, text: &str, raw: bool, names: &mut Arc<Names>) -> Res<()> {
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

    pub(crate) fn comment(&mut self, text: &str, names: &mut Arc<Names>) -> Res<()> {
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

    pub(crate) fn instruction(&mut self, target: &str, content: &str, names: &mut Arc<Names>) -> Res<()> {
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

    pub(crate) fn end_element(&mut self, names: &mut Arc<Names>) -> Res<()> {
        if self.is_text() {
            self.ignored = self.ignored.saturating_sub(1);
            return Ok(());
        }
        self.flush(names)?;
        self.scope.truncate(self.marks.pop().unwrap_or(0));
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
    fn grow_tree(&mut self, names: &Arc<Names>) -> Res<()> {
        if let Target::Fragment { text, tree: tree @ None, nodes_max } = &mut self.target {
            let mut builder = TreeBuilder::with_names("", *nodes_max, Arc::clone(names));
            builder.add_text(text)?;
            *text = String::new();
            *tree = Some(Box::new(builder));
        }
        Ok(())
    }

    fn in_scope(&self, prefix: &str) -> &str {
        self.scope.iter().rev().find(|(known, _)| **known == *prefix).map_or("", |(_, uri)| uri)
    }

    /// Hands the element that was opened on, with the namespace declarations it needs.
    pub(crate) fn flush(&mut self, names: &mut Arc<Names>) -> Res<()> {
        let Some(mut element) = self.pending.take() else { return Ok(()) };
        self.marks.push(self.scope.len());
        let mut declared: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        if element.namespace.is_empty() {
            element.prefix = Arc::from("");
        }
        if *element.namespace == *XML_NAMESPACE {
            element.prefix = Arc::from("xml");
        } else if self.in_scope(&element.prefix) != &*element.namespace {
            declared.push((Arc::clone(&element.prefix), Arc::clone(&element.namespace)));
        }
        for (prefix, uri) in std::mem::take(&mut self.namespaces) {
            let taken = prefix == element.prefix || declared.iter().any(|(known, _)| *known == prefix);
            // An element without namespace cannot have a default one.
            let impossible = prefix.is_empty() && element.namespace.is_empty();
            if !taken && !impossible && self.in_scope(&prefix) != &*uri {
                declared.push((prefix, uri));
            }
        }
        let mut attributes = std::mem::take(&mut self.attributes);
        let mut used = vec![(Arc::clone(&element.prefix), Arc::clone(&element.namespace))];
        for OutAttribute { name, .. } in &mut attributes {
            if name.namespace.is_empty() {
                name.prefix = Arc::from("");
                continue;
            }
            if *name.namespace == *XML_NAMESPACE {
                name.prefix = Arc::from("xml");
                continue;
            }
            name.prefix = self.attribute_prefix(name, &used, &mut declared);
            if !used.iter().any(|(known, _)| *known == name.prefix) {
                used.push((Arc::clone(&name.prefix), Arc::clone(&name.namespace)));
            }
        }
        self.scope.extend(declared.iter().cloned());
        self.grow_tree(names)?;
        match &mut self.target {
            Target::Serializer(serializer) => serializer.start_element(&element, &declared, &attributes)?,
            Target::Fragment { tree: Some(tree), .. } => {
                self.held += (1 + declared.len() + attributes.len()) * 64;
                let known = element.name;
                let name = if known == NONE { tree.name(&element.namespace, &element.local) } else { known };
                let prefix = tree.prefix(&element.prefix)?;
                tree.start(prefix, name)?;
                for (prefix, uri) in &declared {
                    let (prefix, uri) = (tree.prefix(prefix)?, tree.atom(uri));
                    tree.declare(prefix, uri)?;
                }
                for attribute in &attributes {
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
        attributes.clear();
        self.attributes = attributes;
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
                    if self.in_scope(prefix) != &**namespace {
                        declared.push((Arc::clone(prefix), Arc::clone(namespace)));
                    }
                    return Arc::clone(prefix);
                }
            }
        }
        if let Some((known, _)) = declared.iter().find(|(known, uri)| !known.is_empty() && uri == namespace) {
            return Arc::clone(known);
        }
        let usable = self.scope.iter().rev().find(|(known, uri)| {
            !known.is_empty()
                && uri == namespace
                && self.in_scope(known) == &**namespace
                && meaning(declared, known).is_none_or(|meaning| meaning == *namespace)
        });
        if let Some((known, _)) = usable {
            return Arc::clone(known);
        }
        let mut number = 0;
        loop {
            let candidate = format!("ns{number}");
            if meaning(declared, &candidate).is_none() && self.in_scope(&candidate).is_empty() {
                let candidate: Arc<str> = Arc::from(candidate);
                declared.push((Arc::clone(&candidate), Arc::clone(namespace)));
                return candidate;
            }
            number += 1;
        }
    }
}
