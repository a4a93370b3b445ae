//! A feed as RDF: the mapping of `docs/feeds.md`, in its order.
//!
//! RSS 1.0 is the vocabulary, so that feeds of every format can be asked in one way. The channel's subject is the page; an
//! item's is its permalink, so that what a feed says of a page and what the page says of itself meet. Start at
//! [`Writer::channel`] and [`Writer::item`].

use std::collections::HashSet;

use oxrdf::{BlankNode, Literal, NamedNode, NamedNodeRef, NamedOrBlankNode, Term};
use webloom_model::vocab::{dcterms, foaf, rdf, rdfs, xhv, xsd};
use webloom_model::{Diagnostic, PageUrl};

use super::date;
use super::iri;
use super::model::{
    Date, Described, Generator, Image, LIST_MAX, Link, Media, Person, Place, Text, TextInput,
};
use super::terms::*;
use crate::Sink;
use crate::html::plain::Collapsed;
use crate::relation::{names, predicate};

/// Items of one feed.
const ITEMS_MAX: usize = 100_000;

/// Writes one feed.
pub(super) struct Writer<'s, 'c> {
    sink: &'s mut Sink<'c>,
    page: NamedNode,
    /// The list of items, once there is one.
    list: Option<BlankNode>,
    items: usize,
    blanks: usize,
    /// Subjects of items, and what must not be one.
    taken: HashSet<String>,
    words: Collapsed,
    lists_cut: bool,
}

impl<'s, 'c> Writer<'s, 'c> {
    pub(super) fn new(page: &PageUrl, sink: &'s mut Sink<'c>) -> Self {
        sink.begin_block();
        let words = Collapsed::new(sink.limits().text_bytes_max);
        let page = page.graph_name();
        let taken = HashSet::from([page.as_str().to_owned()]);
        Self { sink, page, list: None, items: 0, blanks: 0, taken, words, lists_cut: false }
    }

    /// For readers that need to report something while items are still being written.
    pub(super) fn sink(&mut self) -> &mut Sink<'c> {
        self.sink
    }

    /// Writes what is said of the feed; `standard` is the specification it follows.
    pub(super) fn channel(&mut self, channel: &Described, standard: Option<&str>) {
        let subject = NamedOrBlankNode::from(self.page.clone());
        self.put(&subject, rdf::TYPE, RSS_CHANNEL);
        if let Some(standard) = standard.and_then(|standard| NamedNode::new(standard).ok()) {
            self.put(&subject, DCTERMS_CONFORMS_TO, standard);
        }
        if let Some(home) = channel.main_link() {
            self.taken.insert(home.target.as_str().to_owned());
        }
        let title = channel.title.as_ref().or(channel.module_title.as_ref());
        self.sink.graph.text.title = title.map(Text::words).filter(|title| !title.is_empty());
        self.sink.graph.text.language = channel.language.as_deref().and_then(super::read::language_tag);
        if let Some(description) = &channel.description {
            description.add_words(&mut self.words);
        }
        self.described(&subject, channel);
    }

    /// Writes an item. False when the page has had enough.
    pub(super) fn item(&mut self, item: &Described) -> bool {
        if self.items >= ITEMS_MAX {
            let message = format!("the feed has more than {ITEMS_MAX} items; the rest was left out");
            self.sink.diagnose(Diagnostic::warning("feed-items-cut", message));
            return false;
        }
        self.items += 1;
        let list = match &self.list {
            Some(list) => NamedOrBlankNode::from(list.clone()),
            None => {
                let list = self.blank();
                self.list = Some(list.clone());
                let (page, list) = (NamedOrBlankNode::from(self.page.clone()), NamedOrBlankNode::from(list));
                self.put(&page, RSS_ITEMS, Term::from(list.clone()));
                self.put(&list, rdf::TYPE, RDF_SEQ);
                list
            }
        };
        let subject = self.item_subject(item);
        let member = NamedNode::new_unchecked(format!("{}_{}", rdf::NAMESPACE, self.items));
        if !self.sink.push_triple(list, member, Term::from(subject.clone())) {
            return false;
        }
        self.put(&subject, rdf::TYPE, RSS_ITEM);
        if let Some(title) = item.title.as_ref().or(item.module_title.as_ref()) {
            title.add_words(&mut self.words);
        }
        if let Some(description) = item.description.as_ref().or(item.contents.first()) {
            description.add_words(&mut self.words);
        }
        self.described(&subject, item)
    }

    /// Hands over the words.
    pub(super) fn finish(self) {
        if self.lists_cut {
            let message = format!("an item has more than {LIST_MAX} of a kind; the rest was left out");
            self.sink.diagnose(Diagnostic::warning("feed-list-cut", message));
        }
        self.sink.graph.text.body = self.words.text;
    }

    /// The permalink, or the identifier if it is an IRI; a blank node where another item, or the feed itself, is that.
    fn item_subject(&mut self, item: &Described) -> NamedOrBlankNode {
        let link = item.main_link().map(|link| link.target.clone()).filter(iri::is_page);
        let identifier = item.id.as_deref().and_then(iri::absolute);
        for candidate in [link, identifier].into_iter().flatten() {
            if self.taken.insert(candidate.as_str().to_owned()) {
                return candidate.into();
            }
        }
        self.blank().into()
    }

    fn blank(&mut self) -> BlankNode {
        self.blanks += 1;
        BlankNode::new_unchecked(format!("f{}", self.blanks))
    }

    fn put<'p>(
        &mut self,
        subject: &NamedOrBlankNode,
        predicate: impl Into<NamedNodeRef<'p>>,
        object: impl Into<Term>,
    ) -> bool {
        self.sink.push_triple(subject.clone(), predicate.into(), object)
    }

    fn put_text<'p>(
        &mut self,
        subject: &NamedOrBlankNode,
        predicate: impl Into<NamedNodeRef<'p>>,
        text: Option<&Text>,
    ) {
        if let Some(text) = text {
            self.put(subject, predicate, literal(text));
        }
    }

    fn put_string(
        &mut self,
        subject: &NamedOrBlankNode,
        predicate: NamedNodeRef<'_>,
        value: Option<&String>,
    ) {
        if let Some(value) = value {
            self.put(subject, predicate, Literal::new_simple_literal(value));
        }
    }

    /// A number, or the text where it is none.
    fn put_number(
        &mut self,
        subject: &NamedOrBlankNode,
        predicate: NamedNodeRef<'_>,
        value: Option<&String>,
    ) {
        if let Some(value) = value {
            self.put(subject, predicate, integer(value));
        }
    }

    fn put_node(
        &mut self,
        subject: &NamedOrBlankNode,
        predicate: NamedNodeRef<'_>,
        node: Option<&NamedNode>,
    ) {
        if let Some(node) = node {
            self.put(subject, predicate, node.clone());
        }
    }

    fn put_nodes(&mut self, subject: &NamedOrBlankNode, predicate: NamedNodeRef<'_>, nodes: &[NamedNode]) {
        for node in nodes {
            self.put(subject, predicate, node.clone());
        }
    }

    fn put_date(&mut self, subject: &NamedOrBlankNode, predicate: NamedNodeRef<'_>, date: Option<&Date>) {
        if let Some(date) = date {
            self.put(subject, predicate, date_literal(date));
        }
    }

    /// Everything said of a channel, an item or a source. False when the page has had enough.
    fn described(&mut self, subject: &NamedOrBlankNode, it: &Described) -> bool {
        self.put_text(subject, RSS_TITLE, it.title.as_ref().or(it.module_title.as_ref()));
        self.links(subject, it);
        self.put_text(subject, RSS_DESCRIPTION, it.description.as_ref());
        self.put_text(subject, SCHEMA_ALTERNATIVE_HEADLINE, it.subtitle.as_ref());
        self.put_text(subject, rdfs::COMMENT, it.info.as_ref());
        for content in &it.contents {
            self.put_text(subject, CONTENT_ENCODED, Some(content));
        }
        self.put_string(subject, DCTERMS_IDENTIFIER, it.id.as_ref());
        self.put_string(subject, DC_LANGUAGE, it.language.as_ref());
        self.put_text(subject, DC_RIGHTS, it.rights.as_ref());
        self.put_nodes(subject, DCTERMS_LICENSE, &it.licenses);

        self.dates(subject, it);
        self.persons(subject, (DC_CREATOR, DCTERMS_CREATOR), &it.creators);
        self.persons(subject, (DC_CONTRIBUTOR, DCTERMS_CONTRIBUTOR), &it.contributors);
        self.persons(subject, (DC_PUBLISHER, DCTERMS_PUBLISHER), &it.publishers);
        self.categories(subject, it);

        for media in &it.media {
            self.media(subject, media);
        }
        self.put_node(subject, SCHEMA_EMBED_URL, it.player.as_ref());
        self.put_nodes(subject, SCHEMA_THUMBNAIL_URL, &it.thumbnails);
        self.put_nodes(subject, foaf::DEPICTION, &it.depictions);
        self.put_node(subject, FOAF_LOGO, it.logo.as_ref());
        self.put_node(subject, XHV_ICON, it.icon.as_ref());
        if let Some(image) = &it.image {
            self.image(subject, image);
        }
        if let Some(input) = &it.text_input {
            self.text_input(subject, input);
        }
        if let Some(generator) = &it.generator {
            self.generator(subject, generator);
        }

        self.put_node(subject, SCHEMA_DISCUSSION_URL, it.comments.as_ref());
        self.put_node(subject, WFW_COMMENT_RSS, it.comment_feed.as_ref());
        self.put_number(subject, SLASH_COMMENTS, it.comment_count.as_ref());
        self.put_nodes(subject, SIOC_REPLY_OF, &it.reply_of);
        self.podcast(subject, it);
        self.places(subject, &it.places);

        self.put_node(subject, DCTERMS_CONFORMS_TO, it.docs.as_ref());
        self.put_node(subject, DCTERMS_IS_REPLACED_BY, it.new_location.as_ref());
        self.put_number(subject, WL_TTL, it.ttl.as_ref());
        for (name, value) in &it.syndication {
            let predicate = NamedNode::new_unchecked(format!("{SYNDICATION}{name}"));
            self.put(subject, &predicate, Literal::new_simple_literal(value));
        }
        self.put_string(subject, SCHEMA_CONTENT_RATING, it.rating.as_ref());
        if let Some(source) = &it.source {
            self.source(subject, source);
        }
        let longest =
            [it.contents.len(), it.links.len(), it.creators.len(), it.categories.len(), it.media.len()];
        self.lists_cut |= longest.into_iter().any(|length| length >= LIST_MAX);
        // Asks, without writing anything, whether there is room.
        self.sink.has_room()
    }

    fn links(&mut self, subject: &NamedOrBlankNode, it: &Described) {
        let main = it.main_link();
        for link in &it.links {
            if main.is_some_and(|main| std::ptr::eq(main, link)) {
                self.put(subject, RSS_LINK, link.target.clone());
            } else {
                let predicate = relation(&link.rel);
                self.put(subject, &predicate, link.target.clone());
            }
            self.link_details(link);
        }
        // An identifier that is a link is one only where no other is given.
        if main.is_none()
            && it.id_is_link
            && let Some(target) = it.id.as_deref().and_then(iri::absolute).filter(iri::is_page)
        {
            self.put(subject, RSS_LINK, target);
        }
    }

    /// What a link says of its target.
    fn link_details(&mut self, link: &Link) {
        let target = NamedOrBlankNode::from(link.target.clone());
        self.put_string(&target, dcterms::FORMAT, link.media_type.as_ref());
        self.put_string(&target, rdfs::LABEL, link.title.as_ref());
        self.put_string(&target, dcterms::LANGUAGE, link.language.as_ref());
        self.put_number(&target, dcterms::EXTENT, link.length.as_ref());
    }

    fn dates(&mut self, subject: &NamedOrBlankNode, it: &Described) {
        self.put_date(subject, DCTERMS_ISSUED, it.published.as_ref());
        self.put_date(subject, DCTERMS_MODIFIED, it.updated.as_ref());
        self.put_date(subject, DCTERMS_CREATED, it.created.as_ref());
        self.put_date(subject, SCHEMA_EXPIRES, it.expires.as_ref());
        self.put_date(subject, SCHEMA_VALID_FROM, it.valid_from.as_ref());
        self.put_date(subject, SCHEMA_VALID_THROUGH, it.valid_through.as_ref());
        let one = [&it.date, &it.published, &it.updated, &it.created].into_iter().find_map(Option::as_ref);
        self.put_date(subject, DC_DATE, one);
    }

    fn persons(
        &mut self,
        subject: &NamedOrBlankNode,
        (plain, structured): (NamedNodeRef<'_>, NamedNodeRef<'_>),
        persons: &[Person],
    ) {
        for person in persons {
            self.put_string(subject, plain, person.name.as_ref().or(person.email.as_ref()));
            let node = NamedOrBlankNode::from(self.blank());
            self.put(subject, structured, Term::from(node.clone()));
            self.put(&node, rdf::TYPE, FOAF_AGENT);
            self.put_string(&node, foaf::NAME, person.name.as_ref());
            if let Some(email) = &person.email {
                match NamedNode::new(format!("mailto:{email}")) {
                    Ok(mailbox) => self.put(&node, foaf::MBOX, mailbox),
                    Err(_) => self.put(&node, foaf::MBOX, Literal::new_simple_literal(email)),
                };
            }
            self.put_node(&node, FOAF_HOMEPAGE, person.page.as_ref());
            self.put_node(&node, FOAF_IMG, person.image.as_ref());
        }
    }

    fn categories(&mut self, subject: &NamedOrBlankNode, it: &Described) {
        for (index, category) in it.categories.iter().enumerate() {
            let term = Literal::new_simple_literal(&category.term);
            if !it.categories[..index].iter().any(|earlier| earlier.term == category.term) {
                self.put(subject, DC_SUBJECT, term.clone());
            }
            if category.scheme.is_none() && category.label.is_none() {
                continue;
            }
            let node = NamedOrBlankNode::from(self.blank());
            self.put(subject, DCTERMS_SUBJECT, Term::from(node.clone()));
            self.put(&node, rdf::TYPE, SKOS_CONCEPT);
            self.put(&node, SKOS_NOTATION, term);
            self.put_string(&node, SKOS_PREF_LABEL, category.label.as_ref());
            if let Some(scheme) = &category.scheme {
                match iri::absolute(scheme) {
                    Some(scheme) => self.put(&node, SKOS_IN_SCHEME, scheme),
                    None => self.put(&node, SKOS_IN_SCHEME, Literal::new_simple_literal(scheme)),
                };
            }
        }
    }

    fn media(&mut self, subject: &NamedOrBlankNode, media: &Media) {
        self.put(subject, SCHEMA_ASSOCIATED_MEDIA, media.url.clone());
        self.media_object(media);
    }

    /// Writes what is said of a file.
    pub(super) fn media_object(&mut self, media: &Media) {
        let node = NamedOrBlankNode::from(media.url.clone());
        let kind = media.medium.as_deref().or(media.media_type.as_deref()).unwrap_or_default();
        let class = match kind.split('/').next().unwrap_or_default() {
            "audio" => SCHEMA_AUDIO_OBJECT,
            "video" => SCHEMA_VIDEO_OBJECT,
            "image" => SCHEMA_IMAGE_OBJECT,
            _ => SCHEMA_MEDIA_OBJECT,
        };
        self.put(&node, rdf::TYPE, class);
        self.put_string(&node, SCHEMA_ENCODING_FORMAT, media.media_type.as_ref());
        self.put_string(&node, SCHEMA_CONTENT_SIZE, media.length.as_ref());
        self.duration(&node, media.duration.as_ref());
        self.put_number(&node, SCHEMA_WIDTH, media.width.as_ref());
        self.put_number(&node, SCHEMA_HEIGHT, media.height.as_ref());
        self.put_text(&node, SCHEMA_NAME, media.title.as_ref());
        self.put_text(&node, SCHEMA_DESCRIPTION, media.description.as_ref());
        self.put_nodes(&node, SCHEMA_THUMBNAIL_URL, &media.thumbnails);
        self.put_node(&node, SCHEMA_EMBED_URL, media.player.as_ref());
        self.put_date(&node, SCHEMA_UPLOAD_DATE, media.uploaded.as_ref());
    }

    fn duration(&mut self, subject: &NamedOrBlankNode, written: Option<&String>) {
        let Some(written) = written else { return };
        let literal = match date::duration(written) {
            Some(duration) => Literal::new_typed_literal(duration, XSD_DURATION),
            None => Literal::new_simple_literal(written),
        };
        self.put(subject, SCHEMA_DURATION, literal);
    }

    fn image(&mut self, subject: &NamedOrBlankNode, image: &Image) {
        let node =
            image.url.clone().map_or_else(|| NamedOrBlankNode::from(self.blank()), NamedOrBlankNode::from);
        self.put(subject, RSS_IMAGE, Term::from(node.clone()));
        self.put(&node, rdf::TYPE, RSS_IMAGE);
        self.put_node(&node, RSS_URL, image.url.as_ref());
        self.put_text(&node, RSS_TITLE, image.title.as_ref());
        self.put_text(&node, RSS_DESCRIPTION, image.description.as_ref());
        self.put_node(&node, RSS_LINK, image.link.as_ref());
        self.put_number(&node, SCHEMA_WIDTH, image.width.as_ref());
        self.put_number(&node, SCHEMA_HEIGHT, image.height.as_ref());
    }

    fn text_input(&mut self, subject: &NamedOrBlankNode, input: &TextInput) {
        let node = NamedOrBlankNode::from(self.blank());
        self.put(subject, RSS_TEXTINPUT, Term::from(node.clone()));
        self.put(&node, rdf::TYPE, RSS_TEXTINPUT);
        self.put_text(&node, RSS_TITLE, input.title.as_ref());
        self.put_text(&node, RSS_DESCRIPTION, input.description.as_ref());
        self.put_string(&node, RSS_NAME, input.name.as_ref());
        self.put_node(&node, RSS_LINK, input.link.as_ref());
    }

    fn generator(&mut self, subject: &NamedOrBlankNode, generator: &Generator) {
        let node = NamedOrBlankNode::from(self.blank());
        self.put(subject, ADMIN_GENERATOR_AGENT, Term::from(node.clone()));
        self.put_string(&node, foaf::NAME, generator.name.as_ref());
        self.put_string(&node, SCHEMA_SOFTWARE_VERSION, generator.version.as_ref());
        self.put_node(&node, FOAF_HOMEPAGE, generator.page.as_ref());
    }

    fn podcast(&mut self, subject: &NamedOrBlankNode, it: &Described) {
        self.duration(subject, it.duration.as_ref());
        self.put_nodes(subject, SCHEMA_TRANSCRIPT, &it.transcripts);
        self.put_nodes(subject, XHV_PAYMENT, &it.payments);
        if let Some(explicit) = it.explicit {
            let friendly = if explicit { "false" } else { "true" };
            self.put(subject, SCHEMA_IS_FAMILY_FRIENDLY, Literal::new_typed_literal(friendly, XSD_BOOLEAN));
        }
        if let Some(block) = it.itunes_block {
            self.put(subject, WL_ITUNES_BLOCK, Literal::new_typed_literal(block.to_string(), XSD_BOOLEAN));
        }
        self.put_number(subject, SCHEMA_EPISODE_NUMBER, it.episode.as_ref());
        self.put_string(subject, WL_EPISODE_TYPE, it.episode_type.as_ref());
        if it.season.is_some() {
            let node = NamedOrBlankNode::from(self.blank());
            self.put(subject, SCHEMA_PART_OF_SEASON, Term::from(node.clone()));
            self.put(&node, rdf::TYPE, SCHEMA_SEASON);
            self.put_number(&node, SCHEMA_SEASON_NUMBER, it.season.as_ref());
        }
    }

    fn places(&mut self, subject: &NamedOrBlankNode, places: &[Place]) {
        for place in places {
            match place {
                Place::Point(latitude, longitude) => {
                    let (Some(latitude), Some(longitude)) = (decimal(latitude), decimal(longitude)) else {
                        continue;
                    };
                    let node = NamedOrBlankNode::from(self.blank());
                    self.put(subject, GEO_LOCATION, Term::from(node.clone()));
                    self.put(&node, rdf::TYPE, GEO_POINT);
                    self.put(&node, GEO_LAT, latitude);
                    self.put(&node, GEO_LONG, longitude);
                }
                Place::Shape(name, value) => {
                    let predicate = NamedNode::new_unchecked(format!("{GEORSS}{name}"));
                    self.put(subject, &predicate, Literal::new_simple_literal(value));
                }
            }
        }
    }

    fn source(&mut self, subject: &NamedOrBlankNode, source: &Described) {
        // A feed is named by its own address, not by that of the site.
        let own = source.links.iter().find(|link| link.rel == "self").map(|link| link.target.clone());
        let node = own
            .or_else(|| source.id.as_deref().and_then(iri::absolute))
            .map_or_else(|| NamedOrBlankNode::from(self.blank()), NamedOrBlankNode::from);
        self.put(subject, DCTERMS_SOURCE, Term::from(node.clone()));
        self.put(&node, rdf::TYPE, RSS_CHANNEL);
        self.described(&node, source);
    }
}

/// The property for a link relation.
fn relation(rel: &str) -> NamedNode {
    if let Some(known) = names(rel).next() {
        return predicate(known);
    }
    iri::absolute(rel)
        .or_else(|| NamedNode::new(format!("{IANA_RELATIONS}{}", rel.to_ascii_lowercase())).ok())
        .unwrap_or_else(|| NamedNode::from(xhv::ALTERNATE))
}

/// A text as a literal: HTML is marked as such, anything else has the language it is said to be in.
pub(super) fn literal(text: &Text) -> Literal {
    if text.html {
        return Literal::new_typed_literal(&text.value, RDF_HTML);
    }
    let tagged = text
        .language
        .as_ref()
        .and_then(|language| Literal::new_language_tagged_literal(&text.value, language).ok());
    tagged.unwrap_or_else(|| Literal::new_simple_literal(&text.value))
}

/// A date, or the text where it is none.
pub(super) fn date_literal(date: &Date) -> Literal {
    match date {
        Date::Known(moment) => moment.literal(),
        Date::Unknown(text) => Literal::new_simple_literal(text),
    }
}

/// A whole number, or the text where it is none.
pub(super) fn integer(text: &str) -> Literal {
    match text.parse::<i64>() {
        Ok(number) => Literal::new_typed_literal(number.to_string(), xsd::INTEGER),
        Err(_) => Literal::new_simple_literal(text),
    }
}

/// A number with a fraction; nothing where it is none.
pub(super) fn decimal(text: &str) -> Option<Literal> {
    let text = text.trim();
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let valid = digits.len() < 40
        && digits.bytes().any(|byte| byte.is_ascii_digit())
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
        && digits.bytes().filter(|byte| *byte == b'.').count() <= 1;
    valid.then(|| Literal::new_typed_literal(text, XSD_DECIMAL))
}
