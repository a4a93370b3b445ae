//! The active context: what terms mean at some place of a document.
//!
//! A context is cheap to copy and to extend: its terms lie in layers, and a local context adds one on top of
//! what is shared with everybody else, such as schema.org's three thousand terms. How local contexts are
//! read is in [`process`], where they come from in [`load`], the built-in one in [`schema_org`].

pub(super) mod load;
pub(super) mod process;
pub(super) mod schema_org;
mod term;

use std::borrow::Cow;
use std::sync::Arc;

use oxiri::Iri;

use super::json::{Document, Value};
use super::names::{Direction, Expanded, Keyword, Name, has_iri_form, has_keyword_form, split_compact};
use crate::maps::HashMap;

/// Layers with up to this many terms are copied into the next rather than looked through.
const SMALL_LAYER: usize = 16;
/// Layers on top of each other before they are made one.
const LAYERS_MAX: usize = 16;

/// An IRI that references are resolved against.
#[derive(Debug, Clone)]
pub(super) struct Base(Arc<BaseParts>);

#[derive(Debug)]
struct BaseParts {
    iri: Iri<String>,
    /// Up to the last slash of its path, without `.` and `..`, where it has these. A relative path continues it.
    directory: Option<Iri<String>>,
}

impl Base {
    pub(super) fn parse(iri: impl Into<String>) -> Option<Self> {
        let iri = Iri::parse(iri.into()).ok()?;
        let directory = iri.path().rfind('/').map(|slash| &iri.path()[..=slash]).and_then(|path| {
            let has_dots = path.split('/').any(|segment| matches!(segment, "." | ".."));
            has_dots.then(|| iri.resolve(path).ok()).flatten()
        });
        Some(Self(Arc::new(BaseParts { iri, directory })))
    }

    /// The IRI a reference means (RFC 3986, section 5.2).
    pub(super) fn resolve(&self, reference: &str) -> Option<String> {
        let continues_path = !reference.is_empty() && !reference.starts_with(['?', '#']);
        let base = match &self.0.directory {
            Some(directory) if continues_path => directory,
            _ => &self.0.iri,
        };
        let iri = base.resolve(reference).ok()?;
        // Behind an authority of their own the segments are still as they were written.
        if reference.starts_with("//") && iri.path().contains("/.") && !iri.path().starts_with("//") {
            let path = iri.path().as_ptr() as usize - iri.as_str().as_ptr() as usize;
            return iri.resolve(&iri.as_str()[path..]).ok().map(Iri::into_inner);
        }
        Some(iri.into_inner())
    }
}

/// What a term stands for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Mapping {
    /// Nothing: what uses the term is left out.
    Null,
    Keyword(Keyword),
    Name {
        text: Box<str>,
        /// Known to be a well-formed IRI.
        valid: bool,
    },
}

/// What a term says of the type of its values.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum TypeMapping {
    Id,
    Vocab,
    Json,
    None,
    Datatype {
        text: Box<str>,
        /// Known to be a well-formed IRI.
        valid: bool,
    },
}

/// How the values of a term are arranged: a set of `@list`, `@set` and so on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Container(u8);

impl Container {
    pub(super) const GRAPH: Self = Self(1);
    pub(super) const ID: Self = Self(2);
    pub(super) const INDEX: Self = Self(4);
    pub(super) const LANGUAGE: Self = Self(8);
    pub(super) const LIST: Self = Self(16);
    pub(super) const SET: Self = Self(32);
    pub(super) const TYPE: Self = Self(64);

    pub(super) fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "@graph" => Self::GRAPH,
            "@id" => Self::ID,
            "@index" => Self::INDEX,
            "@language" => Self::LANGUAGE,
            "@list" => Self::LIST,
            "@set" => Self::SET,
            "@type" => Self::TYPE,
            _ => return None,
        })
    }

    pub(super) fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// True when it has any of the others.
    pub(super) fn has(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// True for the combinations the specification allows.
    pub(super) fn is_allowed(self) -> bool {
        let rest = self.without(Self::SET);
        match rest.0.count_ones() {
            0 => self.has(Self::SET),
            1 => !(rest.has(Self::LIST) && self.has(Self::SET)),
            2 => rest == Self::GRAPH.with(Self::ID) || rest == Self::GRAPH.with(Self::INDEX),
            _ => false,
        }
    }
}

/// A context that is not applied yet, where it is written, and what its references are relative to.
#[derive(Debug, Clone)]
pub(super) struct LocalContext {
    pub(super) document: Arc<Document>,
    pub(super) index: u32,
    pub(super) base: Option<Base>,
}

impl LocalContext {
    pub(super) fn value(&self) -> Value<'_> {
        Value::at(&self.document, self.index)
    }
}

/// What a context says of a term.
#[derive(Debug, Clone)]
pub(super) struct TermDefinition {
    pub(super) mapping: Mapping,
    pub(super) type_mapping: Option<TypeMapping>,
    pub(super) container: Container,
    pub(super) prefix: bool,
    pub(super) protected: bool,
    pub(super) reverse: bool,
    /// What few terms have.
    pub(super) rare: Option<Box<RareDefinition>>,
}

/// The parts of a definition that few terms have.
#[derive(Debug, Clone, Default)]
pub(super) struct RareDefinition {
    /// `None` in it is an explicit null.
    pub(super) language: Option<Option<Box<str>>>,
    /// `None` in it is an explicit null.
    pub(super) direction: Option<Option<Direction>>,
    pub(super) index: Option<Box<str>>,
    pub(super) nest: Option<Box<str>>,
    pub(super) context: Option<LocalContext>,
}

impl TermDefinition {
    pub(super) fn new(mapping: Mapping) -> Self {
        Self {
            mapping,
            type_mapping: None,
            container: Container::default(),
            prefix: false,
            protected: false,
            reverse: false,
            rare: None,
        }
    }

    pub(super) fn rare_mut(&mut self) -> &mut RareDefinition {
        self.rare.get_or_insert_default()
    }

    /// The context of what the term is used for.
    pub(super) fn context(&self) -> Option<&LocalContext> {
        self.rare.as_ref()?.context.as_ref()
    }

    /// The same, except for being protected.
    fn same_as(&self, other: &Self) -> bool {
        let rare_same = |one: &RareDefinition, two: &RareDefinition| {
            let contexts = match (&one.context, &two.context) {
                (None, None) => true,
                (Some(one), Some(two)) => one.value().same_as(two.value()),
                _ => false,
            };
            contexts
                && one.language == two.language
                && one.direction == two.direction
                && one.index == two.index
                && one.nest == two.nest
        };
        let empty = RareDefinition::default();
        self.mapping == other.mapping
            && self.type_mapping == other.type_mapping
            && self.container == other.container
            && self.prefix == other.prefix
            && self.reverse == other.reverse
            && rare_same(self.rare.as_deref().unwrap_or(&empty), other.rare.as_deref().unwrap_or(&empty))
    }
}

/// Terms and what they mean; nothing, where a layer takes a term away.
pub(super) type Terms = HashMap<Box<str>, Option<Arc<TermDefinition>>>;

#[derive(Debug)]
enum Table {
    Own(Terms),
    Static(&'static Terms),
}

/// Terms on top of other terms.
#[derive(Debug)]
struct Layer {
    table: Table,
    below: Option<Arc<Layer>>,
    /// How many lie below.
    depth: usize,
}

impl Layer {
    fn terms(&self) -> &Terms {
        match &self.table {
            Table::Own(terms) => terms,
            Table::Static(terms) => terms,
        }
    }

    fn get(&self, term: &str) -> Option<&Arc<TermDefinition>> {
        let mut layer = self;
        loop {
            if let Some(found) = layer.terms().get(term) {
                return found.as_ref();
            }
            layer = layer.below.as_deref()?;
        }
    }

    fn on(table: Table, below: Option<Arc<Layer>>) -> Self {
        let depth = below.as_ref().map_or(0, |below| below.depth + 1);
        Self { table, below, depth }
    }
}

/// What names mean, at one place of a document.
#[derive(Debug, Clone)]
pub(super) struct ActiveContext {
    terms: Arc<Layer>,
    pub(super) base: Option<Base>,
    pub(super) vocabulary: Option<Arc<str>>,
    pub(super) language: Option<Arc<str>>,
    pub(super) direction: Option<Direction>,
    /// The context to go back to when a node begins, where this one does not propagate.
    pub(super) previous: Option<Arc<ActiveContext>>,
    /// It has protected terms.
    pub(super) has_protected: bool,
    /// It has terms with contexts of their own.
    pub(super) has_scoped: bool,
    /// A bit for every length that an alias of `@type` has, so that few keys need be looked up to find it.
    type_alias_lengths: u64,
    /// The name of a context that means the same in every document, but for its base.
    shared: Option<u32>,
}

impl ActiveContext {
    /// The context before any is applied.
    pub(super) fn initial(base: Option<Base>) -> Self {
        Self {
            terms: Arc::new(Layer::on(Table::Own(Terms::default()), None)),
            base,
            vocabulary: None,
            language: None,
            direction: None,
            previous: None,
            has_protected: false,
            has_scoped: false,
            type_alias_lengths: 0,
            shared: Some(0),
        }
    }

    /// The definition of a term.
    pub(super) fn term(&self, term: &str) -> Option<&TermDefinition> {
        self.terms.get(term).map(Arc::as_ref)
    }

    /// True for a key that means `@type`.
    pub(super) fn is_type_key(&self, key: &str) -> bool {
        if key.starts_with('@') {
            return key == "@type";
        }
        self.type_alias_lengths & length_bit(key) != 0
            && self.term(key).is_some_and(|term| term.mapping == Mapping::Keyword(Keyword::Type))
    }

    /// Defines a term, or takes it away. Returns the definitions that had to be copied for it.
    fn set(&mut self, term: &str, definition: Option<Arc<TermDefinition>>) -> usize {
        let mut copied = 0;
        if let Some(definition) = &definition {
            if definition.mapping == Mapping::Keyword(Keyword::Type) {
                self.type_alias_lengths |= length_bit(term);
            }
            self.has_protected |= definition.protected;
            self.has_scoped |= definition.context().is_some();
        }
        self.shared = None;
        if Arc::get_mut(&mut self.terms).is_none_or(|layer| matches!(layer.table, Table::Static(_))) {
            let (terms, below) = self.next_layer();
            copied = terms.len();
            self.terms = Arc::new(Layer::on(Table::Own(terms), below));
        }
        if let Some(Layer { table: Table::Own(terms), .. }) = Arc::get_mut(&mut self.terms) {
            terms.insert(term.into(), definition);
        }
        copied
    }

    /// What a new layer begins with, and what it lies on.
    fn next_layer(&self) -> (Terms, Option<Arc<Layer>>) {
        let top = &self.terms;
        if top.depth >= LAYERS_MAX {
            let mut all = Vec::new();
            let mut layer = Some(top);
            while let Some(found) = layer {
                all.push(found.terms());
                layer = found.below.as_ref();
            }
            let mut terms = Terms::default();
            for layer in all.into_iter().rev() {
                terms.extend(layer.iter().map(|(term, definition)| (term.clone(), definition.clone())));
            }
            return (terms, None);
        }
        match &top.table {
            Table::Own(terms) if terms.len() <= SMALL_LAYER => (terms.clone(), top.below.clone()),
            _ => (Terms::default(), Some(Arc::clone(top))),
        }
    }

    /// Puts a table on top that is the same for everybody.
    fn put_static(&mut self, terms: &'static Terms, type_alias_lengths: u64) {
        let is_empty = self.terms.below.is_none() && self.terms.terms().is_empty();
        let below = (!is_empty).then(|| Arc::clone(&self.terms));
        self.terms = Arc::new(Layer::on(Table::Static(terms), below));
        self.type_alias_lengths |= type_alias_lengths;
    }

    /// IRI expansion, once all terms are defined.
    pub(super) fn expand<'t>(
        &self,
        text: &'t str,
        document_relative: bool,
        vocabulary: bool,
    ) -> Expanded<'t> {
        if text.starts_with('@') {
            if let Some(keyword) = Keyword::parse(text) {
                return Expanded::Keyword(keyword);
            }
            if has_keyword_form(text) {
                return Expanded::Null;
            }
        }
        if let Some(term) = self.term(text) {
            match &term.mapping {
                Mapping::Keyword(keyword) => return Expanded::Keyword(*keyword),
                Mapping::Null if vocabulary => return Expanded::Null,
                Mapping::Name { text, valid } if vocabulary => {
                    return Expanded::Name(Name { text: Cow::Owned(String::from(&**text)), valid: *valid });
                }
                _ => {}
            }
        }
        if let Some((prefix, suffix)) = split_compact(text) {
            if prefix == "_" || suffix.starts_with("//") {
                return Expanded::Name(Name::borrowed(text));
            }
            if let Some(TermDefinition {
                prefix: true, mapping: Mapping::Name { text: namespace, .. }, ..
            }) = self.term(prefix)
            {
                return Expanded::Name(Name::owned(format!("{namespace}{suffix}")));
            }
            if has_iri_form(text) {
                return Expanded::Name(Name::borrowed(text));
            }
        }
        if let (true, Some(namespace)) = (vocabulary, &self.vocabulary) {
            return Expanded::Name(Name::owned(format!("{namespace}{text}")));
        }
        if let (true, Some(base)) = (document_relative, &self.base)
            && let Some(iri) = base.resolve(text)
        {
            return Expanded::Name(Name { text: Cow::Owned(iri), valid: true });
        }
        Expanded::Name(Name::borrowed(text))
    }
}

fn length_bit(text: &str) -> u64 {
    1 << text.len().min(63)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(text: &str) -> Arc<TermDefinition> {
        Arc::new(TermDefinition::new(Mapping::Name { text: text.into(), valid: true }))
    }

    fn expanded(context: &ActiveContext, term: &str) -> String {
        context.expand(term, false, true).into_name().text.into_owned()
    }

    #[test]
    fn references_are_resolved_as_the_rfc_says() {
        for (base, reference, expected) in [
            ("http://a/b/./d;p?q", "g", "http://a/b/g"),
            ("http://a/b/./d;p?q", "?y", "http://a/b/./d;p?y"),
            ("http://a/b/./d;p?q", "#s", "http://a/b/./d;p?q#s"),
            ("http://a/b/c/..", "g", "http://a/b/c/g"),
            ("http://a/b/../c/", "../../../g", "http://a/g"),
            ("http://a/b/../c/d", "/x/../g", "http://a/g"),
            ("http://a/b/../c/d", "//h/./i", "http://h/i"),
            ("http://a/b", "//h/../i?j#k", "http://h/i?j#k"),
            ("urn:a:b", "#c", "urn:a:b#c"),
        ] {
            let got = Base::parse(base).unwrap().resolve(reference);
            assert_eq!(got.as_deref(), Some(expected), "{base} {reference}");
        }
        assert!(Base::parse("http://a/").unwrap().resolve("a b").is_none());
    }

    #[test]
    fn layers_cover_and_uncover() {
        let mut one = ActiveContext::initial(None);
        for number in 0..40 {
            one.set(&format!("t{number}"), Some(name("urn:one")));
        }
        let mut two = one.clone();
        two.set("t0", Some(name("urn:two")));
        two.set("t1", None);
        assert_eq!(expanded(&one, "t0"), "urn:one");
        assert_eq!(expanded(&two, "t0"), "urn:two");
        assert!(two.term("t1").is_none() && two.term("t2").is_some());
        let mut many = two.clone();
        for layer in 0..100 {
            let below = many.clone();
            for number in 0..20 {
                many.set(&format!("u{number}"), Some(name(&format!("urn:{layer}"))));
            }
            assert!(many.terms.depth <= LAYERS_MAX);
            drop(below);
        }
        assert_eq!(expanded(&many, "u7"), "urn:99");
        assert_eq!(expanded(&many, "t0"), "urn:two");
        assert!(many.term("t1").is_none());
    }

    #[test]
    fn containers_combine_as_the_specification_allows() {
        let set = |texts: &[&str]| {
            texts.iter().fold(Container::default(), |all, text| all.with(Container::parse(text).unwrap()))
        };
        for good in [
            &["@list"][..],
            &["@set"],
            &["@set", "@index"],
            &["@graph", "@id"],
            &["@graph", "@index", "@set"],
            &["@type", "@set"],
            &["@language", "@set"],
        ] {
            assert!(set(good).is_allowed(), "{good:?}");
        }
        for bad in [
            &[][..],
            &["@list", "@set"],
            &["@index", "@id"],
            &["@graph", "@language"],
            &["@graph", "@list"],
            &["@graph", "@id", "@index"],
        ] {
            assert!(!set(bad).is_allowed(), "{bad:?}");
        }
    }
}
