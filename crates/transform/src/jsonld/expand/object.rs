//! Expansion of objects: which context they stand in, and what their members say.

use std::sync::Arc;

use super::{Active, Expander, json_literal};
use crate::jsonld::context::process::Manner;
use crate::jsonld::context::{ActiveContext, Container, Mapping, TermDefinition, TypeMapping};
use crate::jsonld::error::{ErrorCode, Problem, Result, quoted};
use crate::jsonld::expanded::{Datatype, Expansion, Item, Node, Scalar, ValueObject};
use crate::jsonld::json::{Kind, Object, Value};
use crate::jsonld::names::{Direction, Expanded, Keyword, Name};

/// An object while its members are read.
#[derive(Debug, Default)]
struct Building<'d> {
    node: Node<'d>,
    /// A bit for every keyword that was seen.
    seen: u32,
    /// `@value`: `None` in it is null.
    value: Option<Option<Value<'d>>>,
    language: Option<&'d str>,
    direction: Option<Direction>,
    list: Option<Vec<Item<'d>>>,
    set: Option<Expansion<'d>>,
    /// `@type` was an array.
    types_are_many: bool,
    /// The last type is `@json`.
    is_json: bool,
    /// Members that were only there for their own members.
    nests: Vec<(&'d str, Value<'d>)>,
}

impl Building<'_> {
    fn has(&self, keyword: Keyword) -> bool {
        self.seen & (1 << keyword as u32) != 0
    }

    fn mark(&mut self, keyword: Keyword) {
        self.seen |= 1 << keyword as u32;
    }

    /// True when it has no keywords but these.
    fn has_only(&self, keywords: &[Keyword]) -> bool {
        let allowed = keywords.iter().fold(0, |bits, keyword| bits | (1 << *keyword as u32));
        self.seen & !allowed == 0 && self.node.properties.is_empty() && self.node.reverse.is_empty()
    }
}

/// The contexts of an object.
struct Scope {
    active: Arc<ActiveContext>,
    /// As it was before the types had their say.
    before_types: Arc<ActiveContext>,
}

impl Expander<'_> {
    pub(super) fn expand_object<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        active: Active<'d, '_>,
        object: Object<'d>,
        element: Value<'d>,
        from_map: bool,
    ) -> Result<Expansion<'d>> {
        self.contexts.step()?;
        let scope = self.enter(context, active, object, from_map)?;
        let active = active.in_context(&scope.active);
        let mut building = Building { is_json: self.is_json(&scope, object), ..Building::default() };
        self.expand_members(&scope, active, object, &mut building)?;
        self.expand_nests(&scope, active, &mut building)?;
        self.finish(active, building, element)
    }

    /// Finds the context of an object.
    fn enter(
        &mut self,
        context: &Arc<ActiveContext>,
        active: Active<'_, '_>,
        object: Object<'_>,
        from_map: bool,
    ) -> Result<Scope> {
        let mut current = Arc::clone(context);
        if let Some(previous) = &context.previous
            && !from_map
            && !stays(context, object)
        {
            current = Arc::clone(previous);
        }
        if let Some(scoped) = active.definition().and_then(TermDefinition::context) {
            current = self.contexts.process_scoped(&current, scoped, Manner::OF_PROPERTY)?;
        }
        if let Some(local) = object.get("@context") {
            let base = self.document_base.clone();
            current = self.contexts.process(&current, local, base.as_ref())?;
        }
        let before_types = Arc::clone(&current);
        if !before_types.has_scoped {
            return Ok(Scope { active: current, before_types });
        }
        let mut keys: Vec<(&str, Value<'_>)> =
            object.members().filter(|(key, _)| before_types.is_type_key(key)).collect();
        keys.sort_unstable_by_key(|(key, _)| *key);
        for (_, value) in keys {
            let mut types: Vec<&str> = value
                .one_or_many()
                .filter_map(Value::as_str)
                .filter(|name| before_types.term(name).is_some_and(|term| term.context().is_some()))
                .collect();
            types.sort_unstable();
            for name in types {
                if let Some(scoped) = before_types.term(name).and_then(TermDefinition::context) {
                    current = self.contexts.process_scoped(&current, scoped, Manner::OF_TYPE)?;
                }
            }
        }
        Ok(Scope { active: current, before_types })
    }

    /// True when the last of the types, in the first member that has them, is `@json`.
    fn is_json(&self, scope: &Scope, object: Object<'_>) -> bool {
        let member = object
            .members()
            .filter(|(key, _)| scope.active.is_type_key(key))
            .min_by_key(|(key, _)| *key)
            .and_then(|(_, value)| value.one_or_many().last())
            .and_then(Value::as_str);
        match member {
            Some("@json") => true,
            Some(text) => {
                scope.active.term(text).is_some_and(|term| term.mapping == Mapping::Keyword(Keyword::Json))
            }
            None => false,
        }
    }

    fn expand_members<'d>(
        &mut self,
        scope: &Scope,
        active: Active<'d, '_>,
        object: Object<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        for (key, value) in object.members() {
            if key == "@context" {
                continue;
            }
            if let Err(problem) = self.expand_member(scope, active, key, value, building) {
                let problem = problem.near(value);
                // Without these an object is something else altogether.
                if let Expanded::Keyword(Keyword::Value | Keyword::List | Keyword::Set) =
                    scope.active.expand(key, false, true)
                {
                    return Err(problem);
                }
                self.contexts.tolerate(problem)?;
            }
        }
        Ok(())
    }

    fn expand_member<'d>(
        &mut self,
        scope: &Scope,
        active: Active<'d, '_>,
        key: &'d str,
        value: Value<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        self.contexts.step()?;
        let definition = scope.active.term(key);
        // Most keys are terms, which need be looked up only once.
        let expanded = match definition.map(|definition| &definition.mapping) {
            Some(Mapping::Name { text, valid }) => {
                self.spend_bytes(text.len())?;
                Expanded::Name(Name { text: String::from(&**text).into(), valid: *valid })
            }
            Some(Mapping::Null) => Expanded::Null,
            Some(Mapping::Keyword(_)) | None => self.iri(&scope.active, key, false, true)?,
        };
        match expanded {
            Expanded::Null => Ok(()),
            Expanded::Keyword(keyword) => self.expand_keyword(scope, active, keyword, key, value, building),
            Expanded::Name(name) if name.valid || name.text.contains(':') => {
                self.expand_property(&scope.active, (key, definition), name, value, building)
            }
            // A word without a meaning.
            Expanded::Name(_) => Ok(()),
        }
    }

    fn expand_keyword<'d>(
        &mut self,
        scope: &Scope,
        active: Active<'d, '_>,
        keyword: Keyword,
        key: &'d str,
        value: Value<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        let fail = |code, detail: &str| Err(Problem::at(code, value, detail));
        if matches!(active, Active::Reverse) {
            let detail = format!("{} is in a map of reverse properties", keyword.as_str());
            return fail(ErrorCode::InvalidReversePropertyMap, &detail);
        }
        let may_repeat = matches!(keyword, Keyword::Included | Keyword::Type) && !self.contexts.is_1_0;
        if building.has(keyword) && !may_repeat && keyword != Keyword::Nest {
            let detail = format!("{} comes twice, once by another name", keyword.as_str());
            return fail(ErrorCode::CollidingKeywords, &detail);
        }
        let context = &scope.active;
        match keyword {
            Keyword::Id => {
                let Some(text) = value.as_str() else {
                    return fail(ErrorCode::InvalidIdValue, "an @id is not a string");
                };
                building.node.id = Some(self.iri(context, text, true, false)?.into_name());
            }
            Keyword::Type => {
                building.types_are_many |= matches!(value.kind(), Kind::Array(_));
                for item in value.one_or_many() {
                    let Some(text) = item.as_str() else {
                        let detail = "a type is not a string";
                        self.contexts.tolerate(Problem::at(ErrorCode::InvalidTypeValue, item, detail))?;
                        continue;
                    };
                    let name = self.iri(&scope.before_types, text, true, true)?.into_name();
                    building.node.types.push(name);
                }
            }
            Keyword::Graph => {
                let items = self.expand(context, Active::Graph, value, false)?.into_items();
                building.node.graph = Some(items);
            }
            Keyword::Included => {
                if self.contexts.is_1_0 {
                    return Ok(());
                }
                let items = self.expand_included(context, value)?;
                building.node.included.extend(items);
            }
            Keyword::Value => {
                let is_scalar = !matches!(value.kind(), Kind::Array(_) | Kind::Object(_));
                if !is_scalar && (!building.is_json || self.contexts.is_1_0) {
                    return fail(ErrorCode::InvalidValueObjectValue, "an @value is an array or object");
                }
                building.value = Some((building.is_json || !value.is_null()).then_some(value));
            }
            Keyword::Language => match value.as_str() {
                Some(text) => building.language = Some(text),
                None => {
                    return fail(ErrorCode::InvalidLanguageTaggedString, "an @language is not a string");
                }
            },
            Keyword::Direction => {
                if self.contexts.is_1_0 {
                    return Ok(());
                }
                let Some(direction) = value.as_str().and_then(Direction::parse) else {
                    let detail = "an @direction is neither `ltr` nor `rtl`";
                    return fail(ErrorCode::InvalidBaseDirection, detail);
                };
                building.direction = Some(direction);
            }
            Keyword::Index => match value.as_str() {
                Some(text) => building.node.index = Some(text),
                None => return fail(ErrorCode::InvalidIndexValue, "an @index is not a string"),
            },
            Keyword::List => {
                if active.floats_free() {
                    return Ok(());
                }
                let expansion = self.expand(context, active, value, false)?;
                let items = expansion.into_items();
                if items.iter().any(|item| matches!(item, Item::List(_))) {
                    self.refuse_list_of_lists(value)?;
                }
                building.list = Some(items);
            }
            Keyword::Set => building.set = Some(self.expand(context, active, value, false)?),
            Keyword::Reverse => self.expand_reverse(context, value, building)?,
            Keyword::Nest => building.nests.push((key, value)),
            // These have a meaning in contexts only.
            Keyword::Base
            | Keyword::Container
            | Keyword::Context
            | Keyword::Import
            | Keyword::Json
            | Keyword::None
            | Keyword::Prefix
            | Keyword::Propagate
            | Keyword::Protected
            | Keyword::Version
            | Keyword::Vocab => return Ok(()),
        }
        if !matches!(keyword, Keyword::Reverse | Keyword::Nest) {
            building.mark(keyword);
        }
        Ok(())
    }

    fn expand_included<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        value: Value<'d>,
    ) -> Result<Vec<Item<'d>>> {
        // Values and lists that float free would be dropped in silence, and they are mistakes here.
        let mut result = Vec::new();
        for element in value.one_or_many() {
            let invalid = || {
                let detail = "what is @included is not a node";
                Problem::at(ErrorCode::InvalidIncludedValue, element, detail)
            };
            let is_value = |key: &str| {
                let expanded = context.expand(key, false, true);
                matches!(expanded, Expanded::Keyword(Keyword::Value | Keyword::List))
            };
            let may_be_node = match element.kind() {
                Kind::Null | Kind::Array(_) => true,
                Kind::Object(object) => !object.members().any(|(key, _)| is_value(key)),
                _ => false,
            };
            if !may_be_node {
                self.contexts.tolerate(invalid())?;
                continue;
            }
            let items = self.expand(context, Active::Top, element, false)?.into_items();
            if items.iter().any(|item| !matches!(item, Item::Node(_))) {
                return Err(invalid());
            }
            result.extend(items);
        }
        Ok(result)
    }

    fn expand_reverse<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        value: Value<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        if value.as_object().is_none() {
            let detail = "an @reverse is not an object";
            return Err(Problem::at(ErrorCode::InvalidReverseValue, value, detail));
        }
        let Expansion::One(Item::Node(node)) = self.expand(context, Active::Reverse, value, false)? else {
            return Ok(());
        };
        // Reversed twice is not reversed.
        building.node.properties.extend(node.reverse);
        for (property, items) in node.properties {
            self.add_reverse(property, items, value, building)?;
        }
        Ok(())
    }

    /// Adds nodes that have this one as a value.
    fn add_reverse<'d>(
        &mut self,
        property: Name<'d>,
        mut items: Vec<Item<'d>>,
        value: Value<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        let count = items.len();
        items.retain(|item| matches!(item, Item::Node(_)));
        if items.len() < count {
            let detail =
                format!("the reverse property {} has a value that is no node", quoted(&property.text));
            self.contexts.tolerate(Problem::at(ErrorCode::InvalidReversePropertyValue, value, detail))?;
        }
        building.node.reverse.push((property, items));
        Ok(())
    }

    fn expand_property<'d>(
        &mut self,
        context: &Arc<ActiveContext>,
        (key, definition): (&'d str, Option<&TermDefinition>),
        name: Name<'d>,
        value: Value<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        let active = Active::Property { key, definition };
        let container = active.container();
        let type_mapping = definition.and_then(|definition| definition.type_mapping.as_ref());
        let expansion = match value.kind() {
            _ if type_mapping == Some(&TypeMapping::Json) => Expansion::One(json_literal(value)),
            Kind::Object(map) if container.has(Container::LANGUAGE) => {
                Expansion::Many(self.expand_language_map(context, definition, map)?)
            }
            Kind::Object(map)
                if container.has(Container::INDEX.with(Container::TYPE).with(Container::ID)) =>
            {
                Expansion::Many(self.expand_index_map(context, key, definition, map)?)
            }
            _ => self.expand(context, active, value, false)?,
        };
        if expansion.is_null() {
            return Ok(());
        }
        let mut items = match expansion {
            Expansion::One(Item::List(items)) if container.has(Container::LIST) => vec![Item::List(items)],
            expansion if container.has(Container::LIST) => {
                let items = expansion.into_items();
                if items.iter().any(|item| matches!(item, Item::List(_))) {
                    self.refuse_list_of_lists(value)?;
                }
                vec![Item::List(items)]
            }
            expansion => expansion.into_items(),
        };
        if container.has(Container::GRAPH) && !container.has(Container::ID.with(Container::INDEX)) {
            items = items.into_iter().map(super::containers::in_graph).collect();
        }
        if definition.is_some_and(|definition| definition.reverse) {
            return self.add_reverse(name, items, value, building);
        }
        building.node.properties.push((name, items));
        Ok(())
    }

    /// Members of members that are there for grouping only.
    fn expand_nests<'d>(
        &mut self,
        scope: &Scope,
        active: Active<'d, '_>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        for (key, value) in std::mem::take(&mut building.nests) {
            for nested in value.one_or_many() {
                let result = self.expand_nested(scope, active, key, nested, building);
                if let Err(problem) = result {
                    self.contexts.tolerate(problem.near(nested))?;
                }
            }
        }
        Ok(())
    }

    fn expand_nested<'d>(
        &mut self,
        scope: &Scope,
        active: Active<'d, '_>,
        key: &'d str,
        nested: Value<'d>,
        building: &mut Building<'d>,
    ) -> Result<()> {
        let context = &scope.active;
        let is_value = |key: &str| context.expand(key, false, true) == Expanded::Keyword(Keyword::Value);
        let object = nested.as_object().filter(|object| !object.members().any(|(key, _)| is_value(key)));
        let Some(object) = object else {
            let detail = "what is nested is not an object, or is a value";
            return Err(Problem::at(ErrorCode::InvalidNestValue, nested, detail));
        };
        let inner = match context.term(key).and_then(TermDefinition::context) {
            Some(scoped) => Scope {
                active: self.contexts.process_scoped(context, scoped, Manner::OF_PROPERTY)?,
                before_types: Arc::clone(&scope.before_types),
            },
            None => Scope { active: Arc::clone(context), before_types: Arc::clone(&scope.before_types) },
        };
        let outer_nests = std::mem::take(&mut building.nests);
        self.expand_members(&inner, active, object, building)?;
        self.expand_nests(&inner, active, building)?;
        building.nests = outer_nests;
        Ok(())
    }

    /// Makes a value, list, set or node of what was read.
    fn finish<'d>(
        &mut self,
        active: Active<'d, '_>,
        building: Building<'d>,
        element: Value<'d>,
    ) -> Result<Expansion<'d>> {
        if building.has(Keyword::Value) {
            let item = self.finish_value(building, element)?;
            return Ok(match item {
                Some(item) if !active.floats_free() => Expansion::One(item),
                _ => Expansion::Null,
            });
        }
        if building.has(Keyword::Set) || building.has(Keyword::List) {
            let is_alone = building.has_only(&[Keyword::Set, Keyword::Index])
                || building.has_only(&[Keyword::List, Keyword::Index]);
            if !is_alone {
                let detail = "an object with @set or @list has other members";
                return Err(Problem::at(ErrorCode::InvalidSetOrListObject, element, detail));
            }
            return Ok(match (building.set, building.list) {
                (Some(set), _) => set,
                (None, Some(items)) => Expansion::One(Item::List(items)),
                (None, None) => Expansion::Null,
            });
        }
        if building.has(Keyword::Language) && building.has_only(&[Keyword::Language]) {
            return Ok(Expansion::Null);
        }
        if active.floats_free() && building.has_only(&[Keyword::Id]) {
            return Ok(Expansion::Null);
        }
        Ok(Expansion::One(Item::Node(Box::new(building.node))))
    }

    fn finish_value<'d>(
        &mut self,
        mut building: Building<'d>,
        element: Value<'d>,
    ) -> Result<Option<Item<'d>>> {
        let fail = |code, detail: &str| Err(Problem::at(code, element, detail));
        let allowed = [Keyword::Direction, Keyword::Index, Keyword::Language, Keyword::Type, Keyword::Value];
        let has_type = building.has(Keyword::Type);
        if !building.has_only(&allowed) {
            return fail(ErrorCode::InvalidValueObject, "an object with @value has other members");
        }
        if has_type && (building.language.is_some() || building.direction.is_some()) {
            return fail(ErrorCode::InvalidValueObject, "a value has a type and a language or direction");
        }
        let Some(value) = building.value.flatten() else { return Ok(None) };
        if has_type && building.is_json {
            return Ok(Some(json_literal(value)));
        }
        let scalar = match value.kind() {
            Kind::String(text) => Scalar::String(text),
            _ if building.language.is_some() => {
                return fail(
                    ErrorCode::InvalidLanguageTaggedValue,
                    "a value with a language is not a string",
                );
            }
            Kind::Bool(flag) => Scalar::Bool(flag),
            Kind::Number(raw) => Scalar::Number(raw),
            _ => return Ok(None),
        };
        let datatype = if has_type {
            let count = building.node.types.len();
            match building.node.types.pop() {
                Some(name) if count == 1 && !building.types_are_many && name.is_well_formed() => {
                    Some(Datatype::Name(name))
                }
                _ => return fail(ErrorCode::InvalidTypedValue, "the type of a value is not an IRI"),
            }
        } else {
            None
        };
        let language = building.language.map(Into::into);
        Ok(Some(Item::Value(ValueObject {
            value: scalar,
            datatype,
            language,
            direction: building.direction,
        })))
    }
}

/// True for objects that are no new nodes, so that the context of the type around them still applies.
fn stays(context: &ActiveContext, object: Object<'_>) -> bool {
    let mut only_id = object.len() == 1;
    for (key, _) in object.members() {
        match context.expand(key, false, true) {
            Expanded::Keyword(Keyword::Value) => return true,
            Expanded::Keyword(Keyword::Id) => {}
            _ => only_id = false,
        }
    }
    only_id
}
