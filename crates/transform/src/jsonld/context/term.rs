//! The Create Term Definition algorithm: one entry of a local context.

use std::sync::Arc;

use super::process::{Contexts, Entries, Reading, State};
use super::{ActiveContext, Container, LocalContext, Mapping, TermDefinition, TypeMapping};
use crate::jsonld::error::{ErrorCode, Problem, Result, quoted};
use crate::jsonld::json::{Kind, Object, Value};
use crate::jsonld::names::{
    Direction, Expanded, Keyword, has_iri_form, has_keyword_form, is_blank, is_well_formed, split_compact,
};

/// Characters after which a namespace can end.
const DELIMITERS: [char; 7] = [':', '/', '?', '#', '[', ']', '@'];

/// A term's definition while it is made.
struct Making<'l, 'r> {
    term: &'l str,
    value: Value<'l>,
    place: usize,
    reading: Reading<'r>,
}

impl Contexts<'_> {
    /// Defines a term. A mistake costs the term, where mistakes are tolerated.
    pub(super) fn create_term(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        place: usize,
        reading: Reading<'_>,
    ) -> Result<()> {
        let (term, value, state) = entries.entry(place);
        match state {
            State::Defined => return Ok(()),
            State::Begun => {
                let detail = format!("the definition of {} depends on itself", quoted(term));
                return Err(Problem::at(ErrorCode::CyclicIriMapping, value, detail));
            }
            State::Undefined => entries.set_state(place, State::Begun),
        }
        self.spend(1)?;
        let previous = active.terms.get(term).cloned();
        let making = Making { term, value, place, reading };
        let result = self.deeper(|this| this.try_create_term(active, entries, &making, previous.as_ref()));
        entries.set_state(place, State::Defined);
        let Err(problem) = result else { return Ok(()) };
        let code = problem.code;
        self.tolerate(problem.near(value))?;
        let replacement = match code {
            ErrorCode::KeywordRedefinition => return Ok(()),
            // Who protected it wanted it to stay.
            ErrorCode::ProtectedTermRedefinition => previous,
            // What was meant is not known, and it was not what it meant before.
            _ => Some(Arc::new(TermDefinition::new(Mapping::Null))),
        };
        let copied = active.set(term, replacement);
        self.spend(copied)
    }

    fn try_create_term(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        making: &Making<'_, '_>,
        previous: Option<&Arc<TermDefinition>>,
    ) -> Result<()> {
        let Making { term, value, place, reading } = *making;
        let fail = |code, detail: String| Err(Problem::at(code, value, detail));
        if term.is_empty() {
            return fail(ErrorCode::InvalidTermDefinition, "a term is empty".to_owned());
        }
        if term == "@type" {
            if self.is_1_0 || !is_type_definition(value) {
                return fail(ErrorCode::KeywordRedefinition, "`@type` cannot be defined so".to_owned());
            }
        } else if Keyword::parse(term).is_some() {
            return fail(ErrorCode::KeywordRedefinition, format!("the keyword {term} cannot be defined"));
        } else if has_keyword_form(term) {
            // Reserved for keywords to come.
            return Ok(());
        }
        if previous.is_some() {
            let copied = active.set(term, None);
            self.spend(copied)?;
        }
        let (object, id) = match value.kind() {
            Kind::Null | Kind::String(_) => (None, Some(value)),
            Kind::Object(object) => (Some(object), object.get("@id")),
            _ => {
                let detail = format!("the definition of {} is neither a string nor an object", quoted(term));
                return fail(ErrorCode::InvalidTermDefinition, detail);
            }
        };
        let entry = |key: &str| object.and_then(|object| object.get(key));
        let mut definition = TermDefinition::new(Mapping::Null);
        definition.protected = reading.protected;
        if let Some(protected) = entry("@protected") {
            let Some(flag) = protected.as_bool() else {
                let detail = "`@protected` is neither true nor false".to_owned();
                return fail(ErrorCode::InvalidProtectedValue, detail);
            };
            self.only_1_1("@protected", value)?;
            definition.protected = flag;
        }
        if let Some(kind) = entry("@type") {
            definition.type_mapping = Some(self.type_mapping(active, entries, kind, reading)?);
        }
        if let (Some(reverse), Some(object)) = (entry("@reverse"), object) {
            if !self.reverse(active, entries, &mut definition, object, reverse, reading)? {
                return Ok(());
            }
            let copied = active.set(term, Some(Arc::new(definition)));
            return self.spend(copied);
        }
        match id.filter(|id| id.as_str() != Some(term)) {
            Some(id) => {
                let is_simple = object.is_none();
                if !self.map_to_id(active, entries, &mut definition, making, id, is_simple)? {
                    return Ok(());
                }
            }
            None => definition.mapping = self.map_to_itself(active, entries, making)?,
        }
        if let Some(object) = object {
            self.refine(active, entries, &mut definition, making, object)?;
        }
        let mut definition = Arc::new(definition);
        if let Some(previous) = previous.filter(|previous| previous.protected)
            && !reading.manner.override_protected
        {
            if !definition.same_as(previous) {
                let detail = format!("{} is protected and is defined anew", quoted(term));
                return fail(ErrorCode::ProtectedTermRedefinition, detail);
            }
            definition = Arc::clone(previous);
        }
        entries.set_state(place, State::Defined);
        let copied = active.set(term, Some(definition));
        self.spend(copied)
    }

    /// IRI expansion while terms are still being defined: those it needs are defined first.
    fn expand_defining<'t>(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        text: &'t str,
        reading: Reading<'_>,
    ) -> Result<Expanded<'t>> {
        if !text.starts_with('@') || !has_keyword_form(text) {
            self.define_first(active, entries, text, reading)?;
            if active.term(text).is_none()
                && let Some((prefix, suffix)) = split_compact(text)
                && prefix != "_"
                && !suffix.starts_with("//")
            {
                self.define_first(active, entries, prefix, reading)?;
            }
        }
        Ok(active.expand(text, false, true))
    }

    /// Defines a term of the same context, if it is one.
    fn define_first(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        term: &str,
        reading: Reading<'_>,
    ) -> Result<()> {
        match entries.find(term) {
            Some(place) => self.create_term(active, entries, place, reading),
            None => Ok(()),
        }
    }

    fn type_mapping(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        kind: Value<'_>,
        reading: Reading<'_>,
    ) -> Result<TypeMapping> {
        let Some(text) = kind.as_str() else {
            let detail = "the type of a term is not a string";
            return Err(Problem::at(ErrorCode::InvalidTypeMapping, kind, detail));
        };
        match self.expand_defining(active, entries, text, reading)? {
            Expanded::Keyword(Keyword::Id) => Ok(TypeMapping::Id),
            Expanded::Keyword(Keyword::Vocab) => Ok(TypeMapping::Vocab),
            Expanded::Keyword(Keyword::Json) if !self.is_1_0 => Ok(TypeMapping::Json),
            Expanded::Keyword(Keyword::None) if !self.is_1_0 => Ok(TypeMapping::None),
            Expanded::Name(name) if has_iri_form(&name.text) => {
                let valid = name.is_well_formed();
                Ok(TypeMapping::Datatype { text: name.text.into(), valid })
            }
            _ => {
                let detail = format!("{} is no type a term can have", quoted(text));
                Err(Problem::at(ErrorCode::InvalidTypeMapping, kind, detail))
            }
        }
    }

    /// Fills in the definition of a reverse property. False when the term is to be left alone.
    fn reverse(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        definition: &mut TermDefinition,
        object: Object<'_>,
        reverse: Value<'_>,
        reading: Reading<'_>,
    ) -> Result<bool> {
        let fail = |code, detail: &str| Err(Problem::at(code, reverse, detail));
        if object.get("@id").is_some() || object.get("@nest").is_some() {
            return fail(ErrorCode::InvalidReverseProperty, "a reverse property has an @id or @nest");
        }
        let Some(text) = reverse.as_str() else {
            return fail(ErrorCode::InvalidIriMapping, "`@reverse` is not a string");
        };
        if has_keyword_form(text) {
            return Ok(false);
        }
        let Expanded::Name(name) = self.expand_defining(active, entries, text, reading)? else {
            return fail(ErrorCode::InvalidIriMapping, "`@reverse` is no IRI");
        };
        if !has_iri_form(&name.text) && !is_blank(&name.text) {
            return fail(ErrorCode::InvalidIriMapping, "`@reverse` is no IRI");
        }
        definition.mapping = Mapping::Name { valid: name.is_well_formed(), text: name.text.into() };
        if let Some(container) = object.get("@container") {
            definition.container = match container.kind() {
                Kind::Null => Container::default(),
                Kind::String("@set") => Container::SET,
                Kind::String("@index") => Container::INDEX,
                _ => {
                    let detail = "the container of a reverse property is neither @set nor @index";
                    return fail(ErrorCode::InvalidReverseProperty, detail);
                }
            };
        }
        definition.reverse = true;
        Ok(true)
    }

    /// Maps a term to what its `@id` says. False when the term is to be left alone.
    fn map_to_id(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        definition: &mut TermDefinition,
        making: &Making<'_, '_>,
        id: Value<'_>,
        is_simple: bool,
    ) -> Result<bool> {
        let Making { term, place, reading, .. } = *making;
        let fail = |code, detail: String| Err(Problem::at(code, id, detail));
        let text = match id.kind() {
            Kind::Null => return Ok(true),
            Kind::String(text) => text,
            _ => {
                let detail = format!("the @id of {} is not a string", quoted(term));
                return fail(ErrorCode::InvalidIriMapping, detail);
            }
        };
        if Keyword::parse(text).is_none() && has_keyword_form(text) {
            return Ok(false);
        }
        definition.mapping = match self.expand_defining(active, entries, text, reading)? {
            Expanded::Keyword(Keyword::Context) => {
                let detail = format!("{} is an alias of @context", quoted(term));
                return fail(ErrorCode::InvalidKeywordAlias, detail);
            }
            Expanded::Keyword(keyword) => Mapping::Keyword(keyword),
            Expanded::Name(name) if has_iri_form(&name.text) || is_blank(&name.text) => {
                Mapping::Name { valid: name.is_well_formed(), text: name.text.into() }
            }
            _ => {
                let detail = format!("{} is mapped to {}, which is no IRI", quoted(term), quoted(text));
                return fail(ErrorCode::InvalidIriMapping, detail);
            }
        };
        let has_colon = term.find(':').is_some_and(|colon| colon > 0 && colon + 1 < term.len());
        // JSON-LD 1.0 let such terms mean anything, and every term be a prefix.
        if (has_colon || term.contains('/')) && !self.is_1_0 {
            entries.set_state(place, State::Defined);
            let expanded = self.expand_defining(active, entries, term, reading)?;
            let same = match (&definition.mapping, &expanded) {
                (Mapping::Keyword(one), Expanded::Keyword(two)) => one == two,
                (Mapping::Name { text, .. }, Expanded::Name(name)) => **text == *name.text,
                _ => false,
            };
            if !same {
                let detail = format!("{} looks like an IRI and is mapped to another", quoted(term));
                return fail(ErrorCode::InvalidIriMapping, detail);
            }
        }
        if let Mapping::Name { text, .. } = &definition.mapping {
            let is_namespace = text.ends_with(DELIMITERS) || is_blank(text);
            definition.prefix = (is_simple && !term.contains([':', '/']) && is_namespace) || self.is_1_0;
        }
        Ok(true)
    }

    /// What a term without `@id` is mapped to: itself as a compact or relative IRI, or a word of the vocabulary.
    fn map_to_itself(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        making: &Making<'_, '_>,
    ) -> Result<Mapping> {
        let Making { term, value, place, reading } = *making;
        let fail = || {
            let detail = format!("{} is mapped to no IRI", quoted(term));
            Err(Problem::at(ErrorCode::InvalidIriMapping, value, detail))
        };
        let name = |text: String| Mapping::Name { valid: is_well_formed(&text), text: text.into() };
        if let Some((prefix, suffix)) = split_compact(term) {
            if !suffix.starts_with("//") {
                self.define_first(active, entries, prefix, reading)?;
            }
            return Ok(match active.term(prefix).map(|prefix| &prefix.mapping) {
                Some(Mapping::Name { text, .. }) => name(format!("{text}{suffix}")),
                _ => name(term.to_owned()),
            });
        }
        if term.contains('/') {
            entries.set_state(place, State::Defined);
            return match active.expand(term, false, true) {
                Expanded::Name(expanded) if has_iri_form(&expanded.text) => {
                    Ok(name(expanded.text.into_owned()))
                }
                _ => fail(),
            };
        }
        if term == "@type" {
            return Ok(Mapping::Keyword(Keyword::Type));
        }
        match &active.vocabulary {
            Some(vocabulary) => Ok(name(format!("{vocabulary}{term}"))),
            None => fail(),
        }
    }

    /// The rest of a definition that is an object.
    fn refine(
        &mut self,
        active: &mut ActiveContext,
        entries: &mut Entries<'_>,
        definition: &mut TermDefinition,
        making: &Making<'_, '_>,
        object: Object<'_>,
    ) -> Result<()> {
        let Making { term, value, reading, .. } = *making;
        if let Some(container) = object.get("@container") {
            definition.container = self.container(container)?;
            if definition.container.has(Container::TYPE) {
                match definition.type_mapping.get_or_insert(TypeMapping::Id) {
                    TypeMapping::Id | TypeMapping::Vocab => {}
                    _ => {
                        let detail = "a term with a type container has a type other than @id and @vocab";
                        return Err(Problem::at(ErrorCode::InvalidTypeMapping, container, detail));
                    }
                }
            }
        }
        if let Some(index) = object.get("@index") {
            self.only_1_1("@index", index)?;
            let detail = "the @index of a term is no property";
            let invalid = || Problem::at(ErrorCode::InvalidTermDefinition, index, detail);
            let text = index.as_str().ok_or_else(invalid)?;
            if !definition.container.has(Container::INDEX) {
                return Err(invalid());
            }
            match self.expand_defining(active, entries, text, reading)? {
                Expanded::Name(name) if has_iri_form(&name.text) => {}
                _ => return Err(invalid()),
            }
            definition.rare_mut().index = Some(text.into());
        }
        if let Some(context) = object.get("@context") {
            self.only_1_1("@context", context)?;
            self.check_scoped(active, context, reading)?;
            definition.rare_mut().context = Some(LocalContext {
                document: Arc::clone(context.document()),
                index: context.index(),
                base: reading.base.cloned(),
            });
        }
        if let (Some(language), None) = (object.get("@language"), object.get("@type")) {
            definition.rare_mut().language = Some(match language.kind() {
                Kind::Null => None,
                Kind::String(text) => Some(text.into()),
                _ => {
                    let detail = "the @language of a term is neither a string nor null";
                    return Err(Problem::at(ErrorCode::InvalidLanguageMapping, language, detail));
                }
            });
        }
        if let (Some(direction), None) = (object.get("@direction"), object.get("@type")) {
            let parsed = direction.as_str().and_then(Direction::parse);
            if parsed.is_none() && !direction.is_null() {
                let detail = "the @direction of a term is neither `ltr` nor `rtl` nor null";
                return Err(Problem::at(ErrorCode::InvalidBaseDirection, direction, detail));
            }
            definition.rare_mut().direction = Some(parsed);
        }
        if let Some(nest) = object.get("@nest") {
            self.only_1_1("@nest", nest)?;
            match nest.as_str() {
                Some(text) if text == "@nest" || Keyword::parse(text).is_none() => {
                    definition.rare_mut().nest = Some(text.into());
                }
                _ => {
                    let detail = "the @nest of a term is no term";
                    return Err(Problem::at(ErrorCode::InvalidNestValue, nest, detail));
                }
            }
        }
        if let Some(prefix) = object.get("@prefix") {
            self.only_1_1("@prefix", prefix)?;
            let fail = |code, detail: &str| Err(Problem::at(code, prefix, detail));
            if term.contains([':', '/']) {
                let detail = "a term with a colon or slash cannot be a prefix";
                return fail(ErrorCode::InvalidTermDefinition, detail);
            }
            let Some(flag) = prefix.as_bool() else {
                return fail(ErrorCode::InvalidPrefixValue, "`@prefix` is neither true nor false");
            };
            if flag && matches!(definition.mapping, Mapping::Keyword(_)) {
                let detail = "an alias of a keyword cannot be a prefix";
                return fail(ErrorCode::InvalidTermDefinition, detail);
            }
            definition.prefix = flag;
        }
        let unknown = object.members().map(|(key, _)| key).find(|key| {
            !matches!(
                *key,
                "@id"
                    | "@reverse"
                    | "@container"
                    | "@context"
                    | "@direction"
                    | "@index"
                    | "@language"
                    | "@nest"
                    | "@prefix"
                    | "@protected"
                    | "@type"
            )
        });
        match unknown {
            Some(key) => {
                let detail = format!("the definition of {} has {} in it", quoted(term), quoted(key));
                Err(Problem::at(ErrorCode::InvalidTermDefinition, value, detail))
            }
            None => Ok(()),
        }
    }

    /// Applies the context of a term on trial.
    fn check_scoped(
        &mut self,
        active: &ActiveContext,
        context: Value<'_>,
        reading: Reading<'_>,
    ) -> Result<()> {
        let mut manner = reading.manner;
        manner.override_protected = true;
        manner.propagate = true;
        let trial = Reading { manner, validate: false, protected: false, ..reading };
        match self.process_as(&Arc::new(active.clone()), context, trial) {
            Ok(_) => Ok(()),
            Err(problem) if problem.is_final() => Err(problem),
            Err(problem) => {
                let detail = format!("the context of a term cannot be used: {}", problem.detail);
                Err(Problem::at(ErrorCode::InvalidScopedContext, context, detail))
            }
        }
    }

    fn container(&self, value: Value<'_>) -> Result<Container> {
        let parsed = value.one_or_many().try_fold(Container::default(), |all, item| {
            item.as_str().and_then(Container::parse).map(|one| all.with(one))
        });
        match parsed {
            Some(container) if container.is_allowed() && (!self.is_1_0 || is_1_0_container(value)) => {
                Ok(container)
            }
            _ => {
                let detail = "no such container, or none together with the others";
                Err(Problem::at(ErrorCode::InvalidContainerMapping, value, detail))
            }
        }
    }

    fn only_1_1(&self, what: &str, value: Value<'_>) -> Result<()> {
        if self.is_1_0 {
            let detail = format!("{what} is not part of JSON-LD 1.0");
            return Err(Problem::at(ErrorCode::InvalidTermDefinition, value, detail));
        }
        Ok(())
    }
}

/// True for the little that `@type` can be defined as.
fn is_type_definition(value: Value<'_>) -> bool {
    value.as_object().is_some_and(|object| {
        object.len() > 0
            && object.members().all(|(key, value)| match key {
                "@container" => matches!(value.as_str(), Some("@set")),
                "@protected" => true,
                _ => false,
            })
    })
}

fn is_1_0_container(value: Value<'_>) -> bool {
    matches!(value.as_str(), Some("@index" | "@language" | "@list" | "@set"))
}
