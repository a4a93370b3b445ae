//! Expansion of maps: objects whose keys are languages, indexes, names or types of what is in them.

use std::sync::Arc;

use super::{Active, Expander};
use crate::jsonld::context::process::Manner;
use crate::jsonld::context::{ActiveContext, Container, TermDefinition};
use crate::jsonld::error::{ErrorCode, Problem, Result};
use crate::jsonld::expanded::{Item, Node, Scalar, ValueObject};
use crate::jsonld::json::{Kind, Object, Value};
use crate::jsonld::names::{Expanded, Keyword, Name};

/// An item in a graph of its own.
pub(super) fn in_graph(item: Item<'_>) -> Item<'_> {
    Item::Node(Box::new(Node { graph: Some(vec![item]), ..Node::default() }))
}

impl Expander<'_> {
    /// Strings by language.
    pub(super) fn expand_language_map<'d>(
        &mut self,
        context: &ActiveContext,
        definition: Option<&TermDefinition>,
        map: Object<'d>,
    ) -> Result<Vec<Item<'d>>> {
        let rare = definition.and_then(|definition| definition.rare.as_deref());
        let direction = rare.and_then(|rare| rare.direction).unwrap_or(context.direction);
        let mut result = Vec::new();
        for (key, value) in map.members() {
            let expanded = self.iri(context, key, false, true)?;
            let language = (expanded != Expanded::Keyword(Keyword::None)).then_some(key);
            for item in value.one_or_many() {
                self.contexts.step()?;
                match item.kind() {
                    Kind::Null => {}
                    Kind::String(text) => {
                        self.spend_bytes(key.len())?;
                        result.push(Item::Value(ValueObject {
                            value: Scalar::String(text),
                            datatype: None,
                            language: language.map(Into::into),
                            direction,
                        }));
                    }
                    _ => {
                        let detail = "a value in a language map is not a string";
                        let problem = Problem::at(ErrorCode::InvalidLanguageMapValue, item, detail);
                        self.contexts.tolerate(problem)?;
                    }
                }
            }
        }
        Ok(result)
    }

    /// Items by index, name or type.
    pub(super) fn expand_index_map<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        key: &'d str,
        definition: Option<&TermDefinition>,
        map: Object<'d>,
    ) -> Result<Vec<Item<'d>>> {
        let container = definition.map_or_else(Container::default, |definition| definition.container);
        let mut result = Vec::new();
        for (index, value) in map.members() {
            let items = self.expand_index(context, key, container, index, value);
            let items = match items {
                Ok(items) => items,
                Err(problem) => {
                    self.contexts.tolerate(problem.near(value))?;
                    continue;
                }
            };
            let is_none = self.iri(context, index, false, true)? == Expanded::Keyword(Keyword::None);
            for mut item in items {
                if container.has(Container::GRAPH)
                    && !matches!(&item, Item::Node(node) if node.is_graph_object())
                {
                    item = in_graph(item);
                }
                if !is_none {
                    match self.add_index(context, definition, index, &mut item, value) {
                        Ok(()) => {}
                        Err(problem) => {
                            self.contexts.tolerate(problem)?;
                            continue;
                        }
                    }
                }
                result.push(item);
            }
        }
        Ok(result)
    }

    /// What is in one entry of a map.
    fn expand_index<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        key: &'d str,
        container: Container,
        index: &str,
        value: Value<'d>,
    ) -> Result<Vec<Item<'d>>> {
        let mut map_context = Arc::clone(context);
        if container.has(Container::ID.with(Container::TYPE))
            && let Some(previous) = &context.previous
        {
            map_context = Arc::clone(previous);
        }
        if container.has(Container::TYPE)
            && let Some(scoped) = map_context.term(index).and_then(TermDefinition::context).cloned()
        {
            map_context = self.contexts.process_scoped(&map_context, &scoped, Manner::PLAIN)?;
        }
        let active = Active::Property { key, definition: map_context.term(key) };
        self.expand_array(&map_context, active, value.one_or_many(), true)
    }

    /// Says in an item what its place in the map says.
    fn add_index<'d>(
        &mut self,
        context: &ActiveContext,
        definition: Option<&TermDefinition>,
        index: &'d str,
        item: &mut Item<'d>,
        value: Value<'d>,
    ) -> Result<()> {
        let container = definition.map_or_else(Container::default, |definition| definition.container);
        let property = definition.and_then(|definition| definition.rare.as_deref()?.index.as_deref());
        if container.has(Container::INDEX) {
            match (property, item) {
                (Some(property), Item::Node(node)) if property != "@index" => {
                    let values = vec![self.expand_string(context, context.term(property), index)?];
                    let name = self.iri(context, property, false, true)?.into_name();
                    let name = Name::owned(name.text.into_owned());
                    node.properties.push((name, values));
                }
                (Some(property), _) if property != "@index" => {
                    let detail = "a value in a map by property cannot have that property";
                    return Err(Problem::at(ErrorCode::InvalidValueObject, value, detail));
                }
                (_, Item::Node(node)) => {
                    node.index.get_or_insert(index);
                }
                // The index of a value says nothing in RDF.
                _ => {}
            }
        } else if let Item::Node(node) = item {
            if container.has(Container::ID) {
                if node.id.is_none() {
                    node.id = Some(self.iri(context, index, true, false)?.into_name());
                }
            } else if container.has(Container::TYPE) {
                let name = self.iri(context, index, false, true)?.into_name();
                node.types.insert(0, name);
            }
        }
        Ok(())
    }
}
