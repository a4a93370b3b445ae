//! The Context Processing algorithm: a local context applied to an active one.
//!
//! In: an active context and a local one, which may name others. Out: a new active context. Definitions of
//! terms are in `term`. What a page does wrong in a context costs the one entry it is in, unless errors are
//! to be strict; a context that cannot be had is an error always. Start at [`Contexts::process`].

use std::sync::Arc;
use std::time::Instant;

use super::load::Loader;
use super::{ActiveContext, Base, LocalContext, schema_org};
use crate::jsonld::error::{ErrorCode, Problem, Result, quoted};
use crate::jsonld::json::{Kind, Object, Value};
use crate::jsonld::names::{Direction, has_iri_form, is_blank, is_well_formed};
use crate::maps::HashMap;

/// How deep contexts may name each other.
const REMOTE_DEPTH_MAX: usize = 8;
/// How deep contexts may lie in each other, and terms depend on each other.
const DEPTH_MAX: usize = 80;
/// Definitions made, copied or compared for one block.
const WORK_MAX: usize = 1_000_000;
/// Steps between two looks at the clock.
const STEPS_BETWEEN_LOOKS: usize = 256;
/// Results that are remembered for a block.
const MEMO_MAX: usize = 4096;
/// Different mistakes of one block that are kept.
const MISTAKES_MAX: usize = 200;
/// Entries of a local context up to which one is found by looking through them.
const FEW_ENTRIES: usize = 8;

/// What happens at a mistake.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::jsonld) enum Tolerance {
    /// The first one ends it.
    Strict,
    /// It costs what it is in, and is written down.
    Lenient,
}

/// How a local context is applied.
#[derive(Debug, Clone, Copy)]
pub(in crate::jsonld) struct Manner {
    pub(in crate::jsonld) override_protected: bool,
    pub(in crate::jsonld) propagate: bool,
}

impl Manner {
    /// As a context in a document is.
    pub(in crate::jsonld) const PLAIN: Self = Self { override_protected: false, propagate: true };
    /// As the context of a property is.
    pub(in crate::jsonld) const OF_PROPERTY: Self = Self { override_protected: true, propagate: true };
    /// As the context of a type is.
    pub(in crate::jsonld) const OF_TYPE: Self = Self { override_protected: false, propagate: false };
}

/// The contexts that led here by naming each other, the nearest first.
#[derive(Debug, Clone, Copy)]
pub(super) struct Chain<'c> {
    iri: &'c str,
    before: Option<&'c Chain<'c>>,
}

impl Chain<'_> {
    fn names(chain: Option<&Self>, iri: &str) -> bool {
        let mut link = chain;
        while let Some(found) = link {
            if found.iri == iri {
                return true;
            }
            link = found.before;
        }
        false
    }

    fn length(chain: Option<&Self>) -> usize {
        std::iter::successors(chain, |link| link.before).count()
    }
}

/// What stays the same while one local context is read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'c> {
    pub(super) base: Option<&'c Base>,
    pub(super) manner: Manner,
    /// False while a scoped context is only checked.
    pub(super) validate: bool,
    pub(super) chain: Option<&'c Chain<'c>>,
    /// `@protected` of the whole context.
    pub(super) protected: bool,
}

/// The state of a term's definition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    Undefined,
    Begun,
    Defined,
}

/// The entries of a local context, and how far their definition is.
#[derive(Debug)]
pub(super) struct Entries<'l> {
    list: Vec<(&'l str, Value<'l>, State)>,
    index: HashMap<&'l str, usize>,
}

impl<'l> Entries<'l> {
    /// A context's entries, over those of one it imports.
    fn new(context: Object<'l>, import: Option<Object<'l>>) -> Self {
        let mut entries = Self { list: Vec::with_capacity(context.len()), index: HashMap::default() };
        for (key, value) in import.into_iter().chain([context]).flat_map(Object::members) {
            let place = if import.is_some() { entries.find(key) } else { None };
            match place {
                Some(place) => entries.list[place].1 = value,
                None => entries.list.push((key, value, State::Undefined)),
            }
            let count = entries.list.len();
            if count == FEW_ENTRIES + 1 {
                entries.index =
                    entries.list.iter().enumerate().map(|(place, entry)| (entry.0, place)).collect();
            } else if count > FEW_ENTRIES {
                entries.index.entry(key).or_insert(count - 1);
            }
        }
        entries
    }

    pub(super) fn find(&self, key: &str) -> Option<usize> {
        if self.list.len() > FEW_ENTRIES {
            return self.index.get(key).copied();
        }
        self.list.iter().position(|entry| entry.0 == key)
    }

    fn get(&self, key: &str) -> Option<Value<'l>> {
        self.find(key).map(|place| self.list[place].1)
    }

    pub(super) fn entry(&self, place: usize) -> (&'l str, Value<'l>, State) {
        self.list[place]
    }

    pub(super) fn set_state(&mut self, place: usize, state: State) {
        self.list[place].2 = state;
    }
}

/// What a remembered result was made of: addresses of a context and of a document, and a place in the latter.
type MemoKey = (usize, usize, u32, bool, bool);

/// A context before and after another was applied. The former is kept so that its address stays its own.
type Applied = (Arc<ActiveContext>, Arc<ActiveContext>);

/// Reads contexts for one block.
#[derive(Debug)]
pub(in crate::jsonld) struct Contexts<'p> {
    pub(in crate::jsonld) loader: Loader<'p>,
    tolerance: Tolerance,
    /// JSON-LD 1.0, whose rules a few documents still want.
    pub(in crate::jsonld) is_1_0: bool,
    original_base: Option<Base>,
    deadline: Instant,
    steps: usize,
    work: usize,
    pub(super) depth: usize,
    /// A context looked at the base IRI, so it cannot be shared with other documents.
    pub(super) base_was_used: bool,
    /// Results of applying scoped contexts. What a key is made of is kept with it, so that addresses stay theirs.
    memo: HashMap<MemoKey, (Arc<ActiveContext>, LocalContext, Arc<ActiveContext>)>,
    /// Results of applying contexts from elsewhere.
    remote_memo: HashMap<(usize, Box<str>), Applied>,
    pub(in crate::jsonld) problems: Vec<Problem>,
    pub(in crate::jsonld) problems_dropped: usize,
    /// Mistakes up to now, those that were known before among them.
    mistakes: usize,
}

impl<'p> Contexts<'p> {
    pub(in crate::jsonld) fn new(
        loader: Loader<'p>,
        original_base: Option<Base>,
        tolerance: Tolerance,
        is_1_0: bool,
        deadline: Instant,
    ) -> Self {
        Self {
            loader,
            tolerance,
            is_1_0,
            original_base,
            deadline,
            steps: 0,
            work: 0,
            depth: 0,
            base_was_used: false,
            memo: HashMap::default(),
            remote_memo: HashMap::default(),
            problems: Vec::new(),
            problems_dropped: 0,
            mistakes: 0,
        }
    }

    /// Writes a problem down and goes on, where that is allowed.
    pub(in crate::jsonld) fn tolerate(&mut self, problem: Box<Problem>) -> Result<()> {
        if self.tolerance == Tolerance::Strict || problem.is_final() {
            return Err(problem);
        }
        self.mistakes += 1;
        if self.problems.len() >= MISTAKES_MAX {
            self.problems_dropped += 1;
        } else if !self.problems.contains(&problem) {
            self.problems.push(*problem);
        }
        Ok(())
    }

    /// One step further; an error when the time is over.
    pub(in crate::jsonld) fn step(&mut self) -> Result<()> {
        self.steps += 1;
        if self.steps % STEPS_BETWEEN_LOOKS == 1 { self.look() } else { Ok(()) }
    }

    /// An error when the time is over.
    pub(in crate::jsonld) fn look(&self) -> Result<()> {
        if Instant::now() >= self.deadline {
            return Err(Problem::new(ErrorCode::Cut, "reading took too long"));
        }
        Ok(())
    }

    /// Counts definitions made or copied.
    pub(super) fn spend(&mut self, definitions: usize) -> Result<()> {
        self.work += definitions;
        if self.work > WORK_MAX {
            let detail = format!("its contexts ask for more than {WORK_MAX} definitions");
            return Err(Problem::new(ErrorCode::TooCostly, detail));
        }
        self.step()
    }

    /// Applies a context that stands in a document.
    pub(in crate::jsonld) fn process(
        &mut self,
        active: &Arc<ActiveContext>,
        local: Value<'_>,
        base: Option<&Base>,
    ) -> Result<Arc<ActiveContext>> {
        let reading = Reading { base, manner: Manner::PLAIN, validate: true, chain: None, protected: false };
        self.process_as(active, local, reading).map_err(|problem| problem.near(local))
    }

    /// Applies the context of a term, which is often applied to the same context many times.
    pub(in crate::jsonld) fn process_scoped(
        &mut self,
        active: &Arc<ActiveContext>,
        local: &LocalContext,
        manner: Manner,
    ) -> Result<Arc<ActiveContext>> {
        let address = |context: &Arc<ActiveContext>| Arc::as_ptr(context) as usize;
        let document = Arc::as_ptr(&local.document) as usize;
        let key = (address(active), document, local.index, manner.propagate, manner.override_protected);
        if let Some((_, _, result)) = self.memo.get(&key) {
            return Ok(Arc::clone(result));
        }
        let base = local.base.as_ref();
        let reading = Reading { base, manner, validate: true, chain: None, protected: false };
        let result = self.process_as(active, local.value(), reading)?;
        if self.memo.len() >= MEMO_MAX {
            self.memo.clear();
        }
        self.memo.insert(key, (Arc::clone(active), local.clone(), Arc::clone(&result)));
        Ok(result)
    }

    /// Goes one context or term deeper.
    pub(super) fn deeper<T>(&mut self, work: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= DEPTH_MAX {
            let detail = format!("contexts or terms depend on each other more than {DEPTH_MAX} deep");
            return Err(Problem::new(ErrorCode::ContextOverflow, detail));
        }
        self.depth += 1;
        let result = work(self);
        self.depth -= 1;
        result
    }

    /// The algorithm itself.
    pub(super) fn process_as(
        &mut self,
        active: &Arc<ActiveContext>,
        local: Value<'_>,
        mut reading: Reading<'_>,
    ) -> Result<Arc<ActiveContext>> {
        self.deeper(|this| {
            let mut result = Arc::clone(active);
            let propagate = local.as_object().and_then(|object| object.get("@propagate"));
            if let Some(propagate) = propagate.and_then(Value::as_bool) {
                reading.manner.propagate = propagate;
            }
            if !reading.manner.propagate && result.previous.is_none() {
                let context = Arc::make_mut(&mut result);
                context.previous = Some(Arc::clone(active));
                context.shared = None;
            }
            for context in local.one_or_many() {
                this.step()?;
                match context.kind() {
                    Kind::Null => this.nullify(active, &mut result, context, reading.manner)?,
                    Kind::String(reference) => {
                        result = this.apply_reference(&result, reference, context, reading)?;
                    }
                    Kind::Object(object) => {
                        this.apply_definitions(Arc::make_mut(&mut result), object, context, reading)?;
                    }
                    _ => {
                        let detail = "a context is neither an object nor a string nor null";
                        return Err(Problem::at(ErrorCode::InvalidLocalContext, context, detail));
                    }
                }
            }
            Ok(result)
        })
    }

    fn nullify(
        &mut self,
        active: &ActiveContext,
        result: &mut Arc<ActiveContext>,
        context: Value<'_>,
        manner: Manner,
    ) -> Result<()> {
        if !manner.override_protected && active.has_protected {
            let detail = "a context with protected terms cannot be taken away";
            return Err(Problem::at(ErrorCode::InvalidContextNullification, context, detail));
        }
        let mut initial = ActiveContext::initial(self.original_base.clone());
        if !manner.propagate {
            initial.previous = Some(Arc::clone(result));
            initial.shared = None;
        }
        *result = Arc::new(initial);
        Ok(())
    }

    /// The absolute form of a reference to a context.
    fn resolve(&self, reference: &str, value: Value<'_>, base: Option<&Base>) -> Result<String> {
        let resolved = match base {
            Some(base) => base.resolve(reference),
            None => is_well_formed(reference).then(|| reference.to_owned()),
        };
        resolved.ok_or_else(|| {
            let detail = format!("{} is no reference to a context", quoted(reference));
            Problem::at(ErrorCode::LoadingRemoteContextFailed, value, detail)
        })
    }

    /// Applies a context from elsewhere.
    fn apply_reference(
        &mut self,
        active: &Arc<ActiveContext>,
        reference: &str,
        value: Value<'_>,
        reading: Reading<'_>,
    ) -> Result<Arc<ActiveContext>> {
        let iri = self.resolve(reference, value, reading.base)?;
        if schema_org::is_schema_org(&iri) {
            let mut result = ActiveContext::clone(active);
            self.apply_schema_org(&mut result, reading.manner)?;
            return Ok(Arc::new(result));
        }
        if Chain::names(reading.chain, &iri) {
            if !reading.validate {
                return Ok(Arc::clone(active));
            }
            if self.is_1_0 {
                let detail = format!("the context <{iri}> includes itself");
                return Err(Problem::new(ErrorCode::RecursiveContextInclusion, detail));
            }
        }
        if Chain::length(reading.chain) >= REMOTE_DEPTH_MAX {
            let detail = format!("contexts name each other more than {REMOTE_DEPTH_MAX} deep");
            return Err(Problem::new(ErrorCode::ContextOverflow, detail));
        }
        let outermost = reading.chain.is_none() && reading.validate && !reading.manner.override_protected;
        let key = (Arc::as_ptr(active) as usize, iri.as_str().into());
        if outermost && let Some((_, result)) = self.remote_memo.get(&key) {
            return Ok(Arc::clone(result));
        }
        let result = self.apply_remote(active, &iri, reading)?;
        if outermost {
            if self.remote_memo.len() >= MEMO_MAX {
                self.remote_memo.clear();
            }
            self.remote_memo.insert(key, (Arc::clone(active), Arc::clone(&result)));
        }
        Ok(result)
    }

    fn apply_remote(
        &mut self,
        active: &Arc<ActiveContext>,
        iri: &str,
        reading: Reading<'_>,
    ) -> Result<Arc<ActiveContext>> {
        // Only a context that is nobody's own can give one that is nobody's own.
        let parent = active.shared.filter(|_| {
            !self.is_1_0
                && reading.validate
                && active.previous.is_none()
                && reading.manner.propagate
                && !reading.manner.override_protected
        });
        if let Some(parent) = parent
            && let Some(shared) = self.loader.shared(parent, iri)?
        {
            return Ok(Arc::new(ActiveContext { base: active.base.clone(), ..shared }));
        }
        let mark = self.loader.mark();
        let mistakes = self.mistakes;
        let base_was_used = std::mem::take(&mut self.base_was_used);
        let remote = self.loader.load(iri)?;
        let chain = Chain { iri, before: reading.chain };
        let inner = Reading {
            base: Some(&remote.base),
            manner: Manner { propagate: true, ..reading.manner },
            validate: reading.validate,
            chain: Some(&chain),
            protected: false,
        };
        let mut result = self.process_as(active, remote.value(), inner)?;
        let is_pure = !self.base_was_used && self.mistakes == mistakes && result.previous.is_none();
        self.base_was_used |= base_was_used;
        if let (Some(parent), true) = (parent, is_pure) {
            self.loader.share(parent, iri, mark, Arc::make_mut(&mut result));
        }
        Ok(result)
    }

    /// Applies schema.org's context, which needs no reading.
    fn apply_schema_org(&mut self, context: &mut ActiveContext, manner: Manner) -> Result<()> {
        let mut kept = Vec::new();
        if context.has_protected && !manner.override_protected {
            self.spend(schema_org::terms().len())?;
            for (term, definition) in schema_org::terms() {
                if let (Some(known), Some(new)) = (context.terms.get(term), definition)
                    && known.protected
                {
                    kept.push((term, Arc::clone(known), known.same_as(new)));
                }
            }
            // A table has no order, and the same page must give the same findings.
            kept.sort_unstable_by_key(|(term, _, _)| *term);
        }
        for (term, _, is_same) in &kept {
            if !is_same {
                let detail = format!("{} is protected and means something else", quoted(term));
                self.tolerate(Problem::new(ErrorCode::ProtectedTermRedefinition, detail))?;
            }
        }
        schema_org::apply(context);
        for (term, definition, _) in kept {
            context.set(term, Some(definition));
        }
        Ok(())
    }

    /// Applies a context that is written out.
    fn apply_definitions(
        &mut self,
        result: &mut ActiveContext,
        context: Object<'_>,
        value: Value<'_>,
        mut reading: Reading<'_>,
    ) -> Result<()> {
        result.shared = None;
        if let Some(version) = context.get("@version") {
            let is_1_1 = matches!(version.kind(), Kind::Number(raw) if raw.parse() == Ok(1.1));
            if !is_1_1 {
                let detail = "the version of a context is not 1.1";
                self.tolerate(Problem::at(ErrorCode::InvalidVersionValue, version, detail))?;
            } else if self.is_1_0 {
                let detail = "a context of version 1.1 is read as one of 1.0";
                return Err(Problem::at(ErrorCode::ProcessingModeConflict, version, detail));
            }
        }
        let imported = match context.get("@import") {
            Some(import) => self.import(result, context, import, reading)?,
            None => None,
        };
        let import_object = imported.as_ref().and_then(|imported| imported.value().as_object());
        let mut entries = Entries::new(context, import_object);
        if reading.chain.is_none()
            && let Some(base) = entries.get("@base")
        {
            self.apply_base(result, base)?;
        }
        if let Some(vocabulary) = entries.get("@vocab") {
            self.apply_vocabulary(result, vocabulary)?;
        }
        if let Some(language) = entries.get("@language") {
            match language.kind() {
                Kind::Null => result.language = None,
                Kind::String(language) => result.language = Some(language.into()),
                _ => {
                    let detail = "the default language is neither a string nor null";
                    self.tolerate(Problem::at(ErrorCode::InvalidDefaultLanguage, language, detail))?;
                }
            }
        }
        if let Some(direction) = entries.get("@direction") {
            self.only_in_1_1("@direction", direction)?;
            match direction.kind() {
                Kind::Null => result.direction = None,
                _ => match direction.as_str().and_then(Direction::parse) {
                    Some(direction) => result.direction = Some(direction),
                    None => {
                        let detail = "a base direction is neither `ltr` nor `rtl` nor null";
                        self.tolerate(Problem::at(ErrorCode::InvalidBaseDirection, direction, detail))?;
                    }
                },
            }
        }
        if let Some(propagate) = entries.get("@propagate") {
            self.only_in_1_1("@propagate", propagate)?;
            if propagate.as_bool().is_none() {
                let detail = "`@propagate` is neither true nor false";
                self.tolerate(Problem::at(ErrorCode::InvalidPropagateValue, propagate, detail))?;
            }
        }
        if let Some(protected) = entries.get("@protected") {
            match protected.as_bool() {
                Some(protected) => reading.protected = protected,
                None => {
                    let detail = "`@protected` is neither true nor false";
                    self.tolerate(Problem::at(ErrorCode::InvalidProtectedValue, protected, detail))?;
                }
            }
        }
        for place in 0..entries.list.len() {
            let (key, _, _) = entries.entry(place);
            let is_setting = matches!(
                key,
                "@base"
                    | "@direction"
                    | "@import"
                    | "@language"
                    | "@propagate"
                    | "@protected"
                    | "@version"
                    | "@vocab"
            );
            if !is_setting {
                self.create_term(result, &mut entries, place, reading)
                    .map_err(|problem| problem.near(value))?;
            }
        }
        Ok(())
    }

    fn only_in_1_1(&self, what: &str, value: Value<'_>) -> Result<()> {
        if self.is_1_0 {
            let detail = format!("{what} is not part of JSON-LD 1.0");
            return Err(Problem::at(ErrorCode::InvalidContextEntry, value, detail));
        }
        Ok(())
    }

    /// The context that another one imports; schema.org's is applied at once where that comes to the same.
    fn import(
        &mut self,
        result: &mut ActiveContext,
        context: Object<'_>,
        import: Value<'_>,
        reading: Reading<'_>,
    ) -> Result<Option<LocalContext>> {
        self.only_in_1_1("@import", import)?;
        let Some(reference) = import.as_str() else {
            let detail = "`@import` is not a string";
            return Err(Problem::at(ErrorCode::InvalidImportValue, import, detail));
        };
        let iri = self.resolve(reference, import, reading.base)?;
        if schema_org::is_schema_org(&iri) {
            // These two change what the imported definitions mean.
            if context.get("@protected").is_none() && context.get("schema").is_none() {
                self.apply_schema_org(result, reading.manner)?;
                return Ok(None);
            }
            return Ok(schema_org::document().and_then(|document| {
                let index = Value::root(&document).as_object()?.get("@context")?.index();
                Some(LocalContext { document, index, base: None })
            }));
        }
        let remote = self.loader.load(&iri)?;
        let Some(object) = remote.value().as_object() else {
            let detail = format!("the imported context <{iri}> is not an object");
            return Err(Problem::at(ErrorCode::InvalidRemoteContext, import, detail));
        };
        if object.get("@import").is_some() {
            let detail = format!("the imported context <{iri}> imports another");
            return Err(Problem::at(ErrorCode::InvalidContextEntry, import, detail));
        }
        Ok(Some(LocalContext { index: remote.index, document: remote.document, base: Some(remote.base) }))
    }

    fn apply_base(&mut self, result: &mut ActiveContext, value: Value<'_>) -> Result<()> {
        let base = match value.kind() {
            Kind::Null => None,
            // An ill-formed base leaves everything relative to it ill-formed too, as none does.
            Kind::String(text) if has_iri_form(text) => Base::parse(text),
            Kind::String(text) => {
                let resolved = result.base.as_ref().and_then(|base| base.resolve(text));
                let Some(base) = resolved.and_then(Base::parse) else {
                    let detail = format!("{} is no `@base`", quoted(text));
                    return self.tolerate(Problem::at(ErrorCode::InvalidBaseIri, value, detail));
                };
                Some(base)
            }
            _ => {
                let detail = "`@base` is neither an IRI nor null";
                return self.tolerate(Problem::at(ErrorCode::InvalidBaseIri, value, detail));
            }
        };
        result.base = base;
        Ok(())
    }

    fn apply_vocabulary(&mut self, result: &mut ActiveContext, value: Value<'_>) -> Result<()> {
        match value.kind() {
            Kind::Null => result.vocabulary = None,
            Kind::String(text) if !self.is_1_0 || has_iri_form(text) || is_blank(text) => {
                // Whether the base was looked at is not worth knowing exactly.
                self.base_was_used |= !has_iri_form(text);
                let name = result.expand(text, true, true).into_name();
                result.vocabulary = Some(name.text.into());
            }
            _ => {
                let detail = "`@vocab` is neither an IRI nor null";
                self.tolerate(Problem::at(ErrorCode::InvalidVocabMapping, value, detail))?;
            }
        }
        Ok(())
    }
}
