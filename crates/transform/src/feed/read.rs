//! RSS and Atom of every version, from the tree of an XML document into [`Described`].
//!
//! The two are read as one language: feeds mix their elements, and what an element means is told by its name and its
//! attributes. Elements of modules are in [`super::modules`]. Unknown elements are passed over. Start at [`Reader::feed`].

use std::rc::Rc;

use html5ever::{LocalName, Namespace, ns};
use oxrdf::{Literal, NamedNode};
use webloom_model::{Diagnostic, PageUrl};

use super::date::Moment;
use super::model::{
    Category, Date, Described, Generator, Image, LIST_MAX, Link, Media, Person, Text, TextInput, trim,
};
use super::names::{Vocabulary, local_name, vocabulary};
use super::text::Untyped;
use super::{iri, markup};
use crate::Sink;
use crate::dom::{Dom, Element, NodeData, NodeId};

/// Characters of a language tag.
const LANGUAGE_CHARS_MAX: usize = 35;

/// What holds within an element: `xml:base` and `xml:lang`.
#[derive(Debug, Clone)]
pub(super) struct Context {
    pub(super) base: Rc<PageUrl>,
    pub(super) language: Option<Rc<str>>,
}

impl Context {
    pub(super) fn new(base: &PageUrl) -> Self {
        Self { base: Rc::new(base.clone()), language: None }
    }

    /// What holds within `element`, which stands in this context.
    pub(super) fn enter(&self, element: &Element) -> Self {
        let mut inner = self.clone();
        if element.attributes.is_empty() {
            return inner;
        }
        if let Some(base) = element.attribute_named("xml:base")
            && let Ok(base) = self.base.join(trim(base))
        {
            inner.base = Rc::new(base);
        }
        if let Some(language) = element.attribute_named("xml:lang") {
            inner.language = language_tag(language).map(Rc::from);
        }
        inner
    }
}

/// The text as a well-formed BCP 47 tag.
pub(super) fn language_tag(text: &str) -> Option<String> {
    let tag = text.trim().replace('_', "-");
    if tag.is_empty() || tag.len() > LANGUAGE_CHARS_MAX {
        return None;
    }
    Literal::new_language_tagged_literal("", &tag).ok().map(|_| tag)
}

/// What an element is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    Channel,
    Item,
    Source,
}

/// Reads one feed.
pub(super) struct Reader<'a, 's, 'c> {
    pub(super) dom: &'a Dom,
    pub(super) root: NodeId,
    pub(super) root_namespace: Namespace,
    pub(super) untyped: Untyped,
    pub(super) sink: &'s mut Sink<'c>,
}

/// The parts of a feed: the elements that describe its channel, and its items, each with its context.
pub(super) struct Parts {
    /// Root and channels; their children are what is said of the feed.
    pub(super) channels: Vec<(NodeId, Context)>,
    pub(super) items: Vec<(NodeId, Context)>,
}

impl<'a, 's, 'c> Reader<'a, 's, 'c> {
    pub(super) fn new(dom: &'a Dom, root: NodeId, element: &Element, sink: &'s mut Sink<'c>) -> Self {
        let is_atom = matches!(&*local_name(element), "feed" | "entry");
        Self {
            dom,
            root,
            root_namespace: element.name.ns.clone(),
            untyped: if is_atom { Untyped::Plain } else { Untyped::Guess },
            sink,
        }
    }

    /// Finds the parts of the feed. Items may stand in the channel, beside it, or alone.
    pub(super) fn feed(&self, page: &PageUrl) -> Parts {
        let mut parts = Parts { channels: Vec::new(), items: Vec::new() };
        let Some(root) = self.dom.element(self.root) else { return parts };
        let context = Context::new(page).enter(root);
        if self.is(root, "entry") || self.is(root, "item") {
            parts.items.push((self.root, context));
            return parts;
        }
        parts.channels.push((self.root, context));
        let mut next = 0;
        // One level of channels below the root is all there ever is.
        while let Some((container, context)) = parts.channels.get(next).cloned() {
            for child in self.dom.children(container) {
                let Some(element) = self.dom.element(child) else { continue };
                if self.is(element, "item") || self.is(element, "entry") {
                    parts.items.push((child, context.enter(element)));
                } else if container == self.root && self.is(element, "channel") {
                    parts.channels.push((child, context.enter(element)));
                }
            }
            next += 1;
        }
        parts
    }

    fn is(&self, element: &Element, name: &str) -> bool {
        (*element.name.local).eq_ignore_ascii_case(name)
            && vocabulary(element, &self.root_namespace) == Vocabulary::Core
    }

    /// Everything the children of `node` say of it.
    pub(super) fn describe(&mut self, node: NodeId, context: &Context, role: Role, out: &mut Described) {
        for child in self.dom.children(node) {
            if let Some(element) = self.dom.element(child) {
                self.element(child, element, &context.enter(element), role, out);
            }
        }
    }

    fn element(&mut self, id: NodeId, element: &Element, context: &Context, role: Role, out: &mut Described) {
        let name = local_name(element);
        match vocabulary(element, &self.root_namespace) {
            Vocabulary::Core => self.core(id, element, &name, context, role, out),
            other => self.module(other, id, element, &name, context, role, out),
        }
    }

    fn core(
        &mut self,
        id: NodeId,
        element: &Element,
        name: &str,
        context: &Context,
        role: Role,
        out: &mut Described,
    ) {
        match name {
            "title" => first(&mut out.title, || self.text(id, element, context)),
            "description" | "subtitle" | "tagline" | "summary" | "abstract" => {
                out.describe(self.text(id, element, context));
            }
            "info" => out.info = Some(self.text(id, element, context)),
            "content" => self.content(id, element, context, out),
            "fullitem" | "body" => {
                let text = self.text_or(id, element, context, Untyped::Html);
                push(&mut out.contents, text);
            }
            "copyright" | "rights" => out.rights = Some(self.text(id, element, context)),
            "id" => first(&mut out.id, || trim(&self.dom.text(id)).to_owned()),
            "guid" => {
                out.id = Some(trim(&self.dom.text(id)).to_owned());
                let says = element
                    .attributes
                    .iter()
                    .find(|one| (*one.name.local).eq_ignore_ascii_case("isPermaLink"));
                out.id_is_link = says.is_none_or(|says| !says.value.trim().eq_ignore_ascii_case("false"));
            }
            "link" => self.link(id, element, context, out),
            "author" | "managingeditor" | "managingeditors" => self.person(id, context, &mut out.creators),
            "contributor" => self.person(id, context, &mut out.contributors),
            "webmaster" | "publisher" => self.person(id, context, &mut out.publishers),
            "category" => self.category(id, element, out),
            "keywords" | "tags" => split_keywords(&self.dom.text(id), out),
            "pubdate" | "published" | "issued" => self.date(id, &mut out.published),
            "updated" | "modified" | "lastbuilddate" => self.date(id, &mut out.updated),
            "created" => self.date(id, &mut out.created),
            "expirationdate" => self.date(id, &mut out.expires),
            "language" => out.language = non_empty(&self.dom.text(id)),
            "generator" => out.generator = self.generator(id, element, context),
            "image" => self.image(id, context, role, out),
            "logo" => out.logo = self.reference(id, context),
            "icon" => out.icon = self.reference(id, context),
            "enclosure" => self.enclosure(id, element, context, out),
            "source" => self.source(id, element, context, role, out),
            "comments" => out.comments = self.reference(id, context),
            "textinput" | "textarea" => out.text_input = Some(self.text_input(id, context)),
            "docs" => out.docs = self.reference(id, context),
            "ttl" => out.ttl = non_empty(&self.dom.text(id)),
            "rating" => out.rating = non_empty(&self.dom.text(id)),
            "newlocation" => out.new_location = self.reference(id, context),
            "redirect" => {
                let (dom, root) = (self.dom, self.root_namespace.clone());
                for child in
                    dom.children(id).filter_map(|child| dom.element(child).map(|element| (child, element)))
                {
                    if &*local_name(child.1) == "newlocation"
                        && vocabulary(child.1, &root) == Vocabulary::Core
                    {
                        out.new_location = self.reference(child.0, context);
                    }
                }
            }
            // `cloud`, `skipHours` and `skipDays` tell an aggregator when to come; a crawl has its own clock.
            _ => {}
        }
    }

    fn content(&mut self, id: NodeId, element: &Element, context: &Context, out: &mut Described) {
        let Some(source) = attribute(element, "src") else {
            let text = self.text(id, element, context);
            return push(&mut out.contents, text);
        };
        // The content is elsewhere.
        if let Some(url) = iri::resolve(&context.base, source) {
            let media_type = attribute(element, "type").and_then(non_empty);
            push(&mut out.media, Media { media_type, ..Media::new(url) });
        }
    }

    /// `<link>address</link>` of RSS, `<link rel href>` of Atom, and what lies between.
    fn link(&mut self, id: NodeId, element: &Element, context: &Context, out: &mut Described) {
        let text = self.dom.text(id);
        let written = attribute(element, "href").filter(|href| !href.trim().is_empty()).unwrap_or(&text);
        if trim(written).is_empty() && attribute(element, "href").is_none() {
            return;
        }
        let target = match iri::resolve(&context.base, written) {
            Some(target) => target,
            // An empty `href` means the document itself.
            None if trim(written).is_empty() => context.base.graph_name(),
            None => return self.bad_reference(id, written),
        };
        let rel = attribute(element, "rel").map(trim).filter(|rel| !rel.is_empty()).unwrap_or("alternate");
        // RFC 4287: the registry's address before a relation adds nothing.
        let rel = rel.strip_prefix(super::terms::IANA_RELATIONS).unwrap_or(rel);
        if rel.eq_ignore_ascii_case("enclosure") {
            let media = Media {
                media_type: attribute(element, "type").and_then(non_empty),
                length: attribute(element, "length").and_then(non_empty),
                title: attribute(element, "title").and_then(non_empty).map(|title| Text::plain(&title)),
                ..Media::new(target)
            };
            return push(&mut out.media, media);
        }
        let link = Link {
            media_type: attribute(element, "type").and_then(non_empty),
            title: attribute(element, "title").and_then(non_empty),
            language: attribute(element, "hreflang").and_then(non_empty),
            length: attribute(element, "length").and_then(non_empty),
            ..Link::new(rel, target)
        };
        push(&mut out.links, link);
    }

    /// A person: Atom's elements, or RSS's text.
    pub(super) fn person(&mut self, id: NodeId, context: &Context, out: &mut Vec<Person>) {
        let mut person = Person::default();
        let mut structured = false;
        for child in self.dom.children(id) {
            let Some(element) = self.dom.element(child) else { continue };
            structured = true;
            let value = non_empty(&self.dom.text(child));
            match &*local_name(element) {
                "name" => person.name = value,
                "email" => person.email = value.map(|email| email.trim_start_matches("mailto:").to_owned()),
                "uri" | "url" | "homepage" => {
                    let context = context.enter(element);
                    person.page = value.and_then(|reference| iri::resolve(&context.base, &reference));
                }
                _ => {}
            }
        }
        if !structured {
            person = Person::parse(&self.dom.text(id));
        }
        if !person.is_empty() {
            push(out, person);
        }
    }

    fn category(&mut self, id: NodeId, element: &Element, out: &mut Described) {
        let term = attribute(element, "term").map(str::to_owned).or_else(|| non_empty(&self.own_text(id)));
        let Some(term) = term else { return };
        let scheme = attribute(element, "scheme").or_else(|| attribute(element, "domain"));
        out.categorise(Category {
            term: trim(&markup::decode(&term)).to_owned(),
            scheme: scheme.and_then(non_empty),
            label: attribute(element, "label").and_then(non_empty),
        });
    }

    /// The characters directly in an element.
    pub(super) fn own_text(&self, id: NodeId) -> String {
        let mut text = String::new();
        for child in self.dom.children(id) {
            if let NodeData::Text(piece) = &self.dom.node(child).data {
                text.push_str(piece);
            }
        }
        text
    }

    /// Reads a date; the last of several counts.
    pub(super) fn date(&mut self, id: NodeId, out: &mut Option<Date>) {
        let text = self.dom.text(id);
        if let Some(date) = self.date_of(trim(&text), id) {
            *out = Some(date);
        }
    }

    pub(super) fn date_of(&mut self, text: &str, id: NodeId) -> Option<Date> {
        let line = u64::from(self.dom.node(id).line);
        read_date(text, Some(line), self.sink)
    }

    fn generator(&mut self, id: NodeId, element: &Element, context: &Context) -> Option<Generator> {
        let page = attribute(element, "uri").or_else(|| attribute(element, "url"));
        let generator = Generator {
            name: non_empty(&self.dom.text(id)),
            page: page.and_then(|reference| iri::resolve(&context.base, reference)),
            version: attribute(element, "version").and_then(non_empty),
        };
        (generator != Generator::default()).then_some(generator)
    }

    /// RSS's picture of a channel. An item has only the address of one.
    fn image(&mut self, id: NodeId, context: &Context, role: Role, out: &mut Described) {
        let mut image = Image::default();
        for child in self.dom.children(id) {
            let Some(element) = self.dom.element(child) else { continue };
            let context = context.enter(element);
            match &*local_name(element) {
                "url" => image.url = self.reference(child, &context),
                "title" => image.title = Some(self.text(child, element, &context)),
                "description" => image.description = Some(self.text(child, element, &context)),
                "link" => image.link = self.reference(child, &context),
                "width" => image.width = non_empty(&self.dom.text(child)),
                "height" => image.height = non_empty(&self.dom.text(child)),
                _ => {}
            }
        }
        let element = self.dom.element(id);
        if image.url.is_none() {
            let written = element.and_then(|element| {
                attribute(element, "href")
                    .or_else(|| attribute(element, "url"))
                    .or_else(|| attribute(element, "src"))
            });
            image.url = match written {
                Some(reference) => iri::resolve(&context.base, reference),
                None => non_empty(&self.own_text(id)).and_then(|text| iri::resolve(&context.base, &text)),
            };
        }
        match (role, image.url.clone()) {
            (Role::Item, Some(url)) => push(&mut out.depictions, url),
            (Role::Item, None) => {}
            _ if image == Image::default() => {}
            _ => out.image = Some(image),
        }
    }

    fn enclosure(&mut self, id: NodeId, element: &Element, context: &Context, out: &mut Described) {
        let Some(reference) = attribute(element, "url").or_else(|| attribute(element, "href")) else {
            return;
        };
        let Some(url) = iri::resolve(&context.base, reference) else {
            return self.bad_reference(id, reference);
        };
        let media = Media {
            media_type: attribute(element, "type").and_then(non_empty),
            length: attribute(element, "length").and_then(non_empty),
            ..Media::new(url)
        };
        push(&mut out.media, media);
    }

    /// Where an item comes from: Atom describes that feed, RSS names it.
    fn source(&mut self, id: NodeId, element: &Element, context: &Context, role: Role, out: &mut Described) {
        // A source within a source would be a page's way to make this recurse.
        if role == Role::Source {
            return;
        }
        let mut source = Described::default();
        if self.dom.children(id).any(|child| self.dom.element(child).is_some()) {
            self.describe(id, context, Role::Source, &mut source);
        } else {
            source.title = non_empty(&self.dom.text(id)).map(|title| Text::plain(&title));
            let url = attribute(element, "url").and_then(|reference| iri::resolve(&context.base, reference));
            source.links.extend(url.map(|url| Link::new("self", url)));
        }
        out.source = Some(Box::new(source));
    }

    fn text_input(&mut self, id: NodeId, context: &Context) -> TextInput {
        let mut input = TextInput::default();
        for child in self.dom.children(id) {
            let Some(element) = self.dom.element(child) else { continue };
            match &*local_name(element) {
                "title" => input.title = Some(self.text(child, element, context)),
                "description" => input.description = Some(self.text(child, element, context)),
                "name" => input.name = non_empty(&self.dom.text(child)),
                "link" => input.link = self.reference(child, context),
                _ => {}
            }
        }
        input
    }

    /// The text of an element as a reference.
    pub(super) fn reference(&mut self, id: NodeId, context: &Context) -> Option<NamedNode> {
        let text = self.dom.text(id);
        let reference = trim(&text);
        if reference.is_empty() {
            return None;
        }
        let resolved = iri::resolve(&context.base, reference);
        if resolved.is_none() {
            self.bad_reference(id, reference);
        }
        resolved
    }

    pub(super) fn bad_reference(&mut self, id: NodeId, reference: &str) {
        let shown: String = trim(reference).chars().take(80).collect();
        let line = u64::from(self.dom.node(id).line);
        let message = format!("`{shown}` is not a usable reference");
        self.sink.diagnose(Diagnostic::note("feed-bad-reference", message).at_line(line));
    }
}

/// Understands a date, or keeps it as it is and says so.
pub(super) fn read_date(text: &str, line: Option<u64>, sink: &mut Sink<'_>) -> Option<Date> {
    if text.is_empty() {
        return None;
    }
    if let Some(moment) = Moment::parse(text) {
        return Some(Date::Known(moment));
    }
    let shown: String = text.chars().take(80).collect();
    let note = Diagnostic::note(
        "feed-date",
        format!("`{shown}` is not a date that can be read; it is kept as text"),
    );
    sink.diagnose(match line {
        Some(line) => note.at_line(line),
        None => note,
    });
    Some(Date::Unknown(shown))
}

/// The value of an attribute without prefix.
pub(super) fn attribute<'e>(element: &'e Element, name: &str) -> Option<&'e str> {
    element
        .attributes
        .iter()
        .find(|attribute| {
            attribute.name.ns == ns!() && *attribute.name.local == *name && attribute.name.prefix.is_none()
        })
        .map(|attribute| &*attribute.value)
}

/// The value of `rdf:resource`.
pub(super) fn rdf_resource(element: &Element) -> Option<&str> {
    let name = LocalName::from("resource");
    element
        .attributes
        .iter()
        .find(|attribute| attribute.name.local == name)
        .map(|attribute| &*attribute.value)
}

/// Keeps the first value that has something in it.
pub(super) fn first<T: Empty>(out: &mut Option<T>, read: impl FnOnce() -> T) {
    if out.as_ref().is_none_or(Empty::is_nothing) {
        *out = Some(read());
    }
}

/// What may be empty.
pub(super) trait Empty {
    fn is_nothing(&self) -> bool;
}

impl Empty for Text {
    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

impl Empty for String {
    fn is_nothing(&self) -> bool {
        self.is_empty()
    }
}

/// Adds to a list that must not grow without bound, unless it is there.
pub(super) fn push<T: PartialEq>(list: &mut Vec<T>, value: T) {
    if list.len() < LIST_MAX && !list.contains(&value) {
        list.push(value);
    }
}

pub(super) fn non_empty(text: &str) -> Option<String> {
    let text = trim(text);
    (!text.is_empty()).then(|| text.to_owned())
}

/// Keywords in one text, parted by commas.
pub(super) fn split_keywords(text: &str, out: &mut Described) {
    for word in text.split(',').map(trim).filter(|word| !word.is_empty()) {
        out.categorise(Category { term: word.to_owned(), ..Category::default() });
    }
}
