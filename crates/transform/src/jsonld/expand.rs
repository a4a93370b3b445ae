//! The Expansion algorithm: a document without its contexts.
//!
//! In: a value of a document and the context it stands in. Out: nodes, values and lists ([`Item`]) whose names
//! are IRIs where they can be. Mistakes cost the property or item they are in, unless errors are to be
//! strict. Making triples of it is left to `rdf`. Recurses as deep as the document is nested, which
//! parsing has capped. Start at [`Expander::expand`].

mod containers;
mod object;

use std::sync::Arc;

use super::context::process::{Contexts, Manner};
use super::context::{ActiveContext, Base, Container, TermDefinition, TypeMapping};
use super::error::{ErrorCode, Problem, Result};
use super::expanded::{Datatype, Expansion, Item, Node, Scalar, ValueObject};
use super::json::{Items, Kind, Value};
use super::names::{Expanded, Name};

/// What the elements of a document are expanded for.
#[derive(Debug, Clone, Copy)]
pub(super) enum Active<'d, 'c> {
    /// Nothing: the top of a document.
    Top,
    /// A graph, where values and references float free as they do at the top.
    Graph,
    /// A map of reverse properties.
    Reverse,
    /// A property, and what the context says of it.
    Property { key: &'d str, definition: Option<&'c TermDefinition> },
}

impl<'c> Active<'_, 'c> {
    fn definition(self) -> Option<&'c TermDefinition> {
        match self {
            Self::Property { definition, .. } => definition,
            _ => None,
        }
    }

    fn container(self) -> Container {
        self.definition().map_or_else(Container::default, |definition| definition.container)
    }

    /// Values stand for themselves here, and say nothing.
    fn floats_free(self) -> bool {
        matches!(self, Self::Top | Self::Graph)
    }
}

impl<'d> Active<'d, '_> {
    /// The same property, as another context sees it.
    fn in_context<'c>(self, context: &'c ActiveContext) -> Active<'d, 'c> {
        match self {
            Self::Top => Active::Top,
            Self::Graph => Active::Graph,
            Self::Reverse => Active::Reverse,
            Self::Property { key, .. } => Active::Property { key, definition: context.term(key) },
        }
    }
}

/// Expands one document.
#[derive(Debug)]
pub(super) struct Expander<'p> {
    pub(super) contexts: Contexts<'p>,
    /// What references to contexts are relative to.
    pub(super) document_base: Option<Base>,
    /// Bytes that names may still expand to.
    pub(super) bytes_left: usize,
}

impl Expander<'_> {
    /// Expands an element.
    pub(super) fn expand<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        active: Active<'d, '_>,
        element: Value<'d>,
        from_map: bool,
    ) -> Result<Expansion<'d>> {
        match element.kind() {
            Kind::Null => Ok(Expansion::Null),
            Kind::Array(items) => self.expand_array(context, active, items, from_map).map(Expansion::Many),
            Kind::Object(object) => self.expand_object(context, active, object, element, from_map),
            Kind::Bool(_) | Kind::Number(_) | Kind::String(_) => {
                self.contexts.step()?;
                if active.floats_free() {
                    return Ok(Expansion::Null);
                }
                let scoped = active.definition().and_then(TermDefinition::context);
                let item = match scoped {
                    Some(scoped) => {
                        let context = self.contexts.process_scoped(context, scoped, Manner::OF_PROPERTY)?;
                        let active = active.in_context(&context);
                        self.expand_value(&context, active.definition(), element)?
                    }
                    None => self.expand_value(context, active.definition(), element)?,
                };
                Ok(Expansion::One(item))
            }
        }
    }

    fn expand_array<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        active: Active<'d, '_>,
        items: Items<'d>,
        from_map: bool,
    ) -> Result<Vec<Item<'d>>> {
        let in_list = active.container().has(Container::LIST);
        let mut result = Vec::new();
        for item in items {
            match self.expand(context, active, item, from_map) {
                Ok(Expansion::Null) => {}
                Ok(Expansion::One(item)) => result.push(item),
                Ok(Expansion::Many(items)) if in_list => {
                    self.refuse_list_of_lists(item)?;
                    result.push(Item::List(items));
                }
                Ok(Expansion::Many(items)) => result.extend(items),
                Err(problem) => self.contexts.tolerate(problem.near(item))?,
            }
        }
        Ok(result)
    }

    /// Lists of lists came with JSON-LD 1.1.
    fn refuse_list_of_lists(&self, value: Value<'_>) -> Result<()> {
        if self.contexts.is_1_0 {
            let detail = "a list is in a list, which JSON-LD 1.0 does not have";
            return Err(Problem::at(ErrorCode::ListOfLists, value, detail));
        }
        Ok(())
    }

    /// The Value Expansion algorithm.
    fn expand_value<'d>(
        &mut self,
        context: &ActiveContext,
        definition: Option<&TermDefinition>,
        value: Value<'d>,
    ) -> Result<Item<'d>> {
        match value.kind() {
            Kind::String(text) => self.expand_string(context, definition, text),
            Kind::Bool(flag) => Ok(typed(Scalar::Bool(flag), definition)),
            Kind::Number(raw) => Ok(typed(Scalar::Number(raw), definition)),
            // Not called with anything else; whatever it is, it is JSON.
            _ => Ok(json_literal(value)),
        }
    }

    /// The Value Expansion algorithm, for a string.
    fn expand_string<'d>(
        &mut self,
        context: &ActiveContext,
        definition: Option<&TermDefinition>,
        text: &'d str,
    ) -> Result<Item<'d>> {
        match definition.and_then(|definition| definition.type_mapping.as_ref()) {
            Some(TypeMapping::Id) => {
                let id = self.iri(context, text, true, false)?.into_name();
                return Ok(Item::Node(Box::new(Node::reference(id))));
            }
            Some(TypeMapping::Vocab) => {
                let id = self.iri(context, text, true, true)?.into_name();
                return Ok(Item::Node(Box::new(Node::reference(id))));
            }
            Some(TypeMapping::Json | TypeMapping::Datatype { .. }) => {
                return Ok(typed(Scalar::String(text), definition));
            }
            Some(TypeMapping::None) | None => {}
        }
        let rare = definition.and_then(|definition| definition.rare.as_deref());
        let language = match rare.and_then(|rare| rare.language.as_ref()) {
            Some(language) => language.clone(),
            None => context.language.as_deref().map(Into::into),
        };
        let direction = rare.and_then(|rare| rare.direction).unwrap_or(context.direction);
        self.spend_bytes(language.as_ref().map_or(0, |language| language.len()))?;
        Ok(Item::Value(ValueObject { value: Scalar::String(text), datatype: None, language, direction }))
    }

    /// IRI expansion, with its cost.
    fn iri<'t>(
        &mut self,
        context: &ActiveContext,
        text: &'t str,
        document_relative: bool,
        vocabulary: bool,
    ) -> Result<Expanded<'t>> {
        let expanded = context.expand(text, document_relative, vocabulary);
        if let Expanded::Name(Name { text: std::borrow::Cow::Owned(text), .. }) = &expanded {
            self.spend_bytes(text.len())?;
        }
        Ok(expanded)
    }

    /// Counts bytes that were not in the document.
    fn spend_bytes(&mut self, bytes: usize) -> Result<()> {
        match self.bytes_left.checked_sub(bytes) {
            Some(left) => {
                self.bytes_left = left;
                Ok(())
            }
            None => Err(Problem::new(ErrorCode::TooCostly, "its names expand to too many bytes")),
        }
    }
}

/// A value object with the type its property gives it, if any.
fn typed<'d>(value: Scalar<'d>, definition: Option<&TermDefinition>) -> Item<'d> {
    let datatype = match definition.and_then(|definition| definition.type_mapping.as_ref()) {
        Some(TypeMapping::Datatype { text, valid }) => {
            Some(Datatype::Name(Name { text: String::from(&**text).into(), valid: *valid }))
        }
        Some(TypeMapping::Json) => Some(Datatype::Json),
        _ => None,
    };
    Item::Value(ValueObject { value, datatype, language: None, direction: None })
}

/// A JSON literal.
fn json_literal(value: Value<'_>) -> Item<'_> {
    Item::Value(ValueObject {
        value: Scalar::Json(value),
        datatype: Some(Datatype::Json),
        language: None,
        direction: None,
    })
}
