//! The modules of feeds: Dublin Core, iTunes and podcasts, Media RSS, GeoRSS, Creative Commons, comments.
//!
//! Each vocabulary is a function from an element to fields of [`Described`]; what is not named there is passed over.

use super::iri;
use super::model::{Category, Described, LIST_MAX, Media, Person, Place, Text, trim};
use super::names::{Vocabulary, local_name, vocabulary};
use super::read::{Context, Reader, Role, attribute, first, non_empty, push, rdf_resource, split_keywords};
use super::text::Untyped;
use crate::dom::{Element, NodeId};

/// The scheme of Apple's categories.
const ITUNES_SCHEME: &str = "http://www.itunes.com/";

impl Reader<'_, '_, '_> {
    /// An element of a module.
    #[expect(clippy::too_many_arguments, reason = "an element, where it stands, and where it goes")]
    pub(super) fn module(
        &mut self,
        module: Vocabulary,
        id: NodeId,
        element: &Element,
        name: &str,
        context: &Context,
        role: Role,
        out: &mut Described,
    ) {
        match module {
            Vocabulary::Dc | Vocabulary::DcTerms => self.dublin_core(id, element, name, context, out),
            Vocabulary::Content if name == "encoded" => {
                let text = self.text_or(id, element, context, Untyped::Html);
                push(&mut out.contents, text);
            }
            Vocabulary::Xhtml if name == "body" || name == "div" => {
                let text = self.text_or(id, element, context, Untyped::Html);
                push(&mut out.contents, text);
            }
            Vocabulary::Itunes | Vocabulary::GooglePlay => self.itunes(id, element, name, context, out),
            Vocabulary::Podcast => self.podcast(id, element, name, context, out),
            Vocabulary::Media => self.media_rss(id, element, name, context, out),
            Vocabulary::Slash if name == "comments" => out.comment_count = non_empty(&self.dom.text(id)),
            Vocabulary::Thread if name == "total" => out.comment_count = non_empty(&self.dom.text(id)),
            Vocabulary::Thread if name == "in-reply-to" => {
                let target = attribute(element, "href")
                    .and_then(|reference| iri::resolve(&context.base, reference))
                    .or_else(|| attribute(element, "ref").and_then(iri::absolute));
                target.into_iter().for_each(|target| push(&mut out.reply_of, target));
            }
            Vocabulary::Wfw if name == "commentrss" => out.comment_feed = self.reference(id, context),
            Vocabulary::GeoRss | Vocabulary::Geo => self.place(module, id, name, out),
            Vocabulary::CreativeCommons if name == "license" => {
                let resource =
                    rdf_resource(element).map(str::to_owned).or_else(|| non_empty(&self.dom.text(id)));
                let license = resource.and_then(|reference| iri::resolve(&context.base, &reference));
                license.into_iter().for_each(|license| push(&mut out.licenses, license));
            }
            Vocabulary::Syndication => {
                let known = ["updatePeriod", "updateFrequency", "updateBase"];
                if let Some(known) = known.into_iter().find(|known| known.eq_ignore_ascii_case(name))
                    && let Some(value) = non_empty(&self.dom.text(id))
                    && out.syndication.len() < known.len()
                {
                    out.syndication.push((known, value));
                }
            }
            Vocabulary::Admin if name == "generatoragent" => {
                let page = rdf_resource(element).and_then(|reference| iri::resolve(&context.base, reference));
                if page.is_some() {
                    out.generator.get_or_insert_default().page = page;
                }
            }
            // FeedBurner puts its own redirect where the link was, and the link here.
            Vocabulary::FeedBurner if name == "origlink" && role == Role::Item => {
                if let Some(target) = self.reference(id, context) {
                    match out.links.iter_mut().find(|link| link.is_alternate()) {
                        Some(link) => link.target = target,
                        None => out.links.push(super::model::Link::new("alternate", target)),
                    }
                }
            }
            _ => {}
        }
    }

    /// Dublin Core, elements and terms alike.
    fn dublin_core(
        &mut self,
        id: NodeId,
        element: &Element,
        name: &str,
        context: &Context,
        out: &mut Described,
    ) {
        match name {
            "title" => first(&mut out.module_title, || self.text(id, element, context)),
            "description" | "abstract" => out.describe(self.text(id, element, context)),
            "creator" | "author" => self.person(id, context, &mut out.creators),
            "contributor" => self.person(id, context, &mut out.contributors),
            "publisher" => self.person(id, context, &mut out.publishers),
            "subject" => {
                let term = trim(&self.dom.text(id)).to_owned();
                out.categorise(Category { term, ..Category::default() });
            }
            "date" => self.date(id, &mut out.date),
            "created" => self.date(id, &mut out.created),
            "issued" => self.date(id, &mut out.published),
            "modified" => self.date(id, &mut out.updated),
            "valid" => self.validity(id, out),
            "rights" => first(&mut out.rights, || self.text(id, element, context)),
            "license" => {
                let written =
                    rdf_resource(element).map(str::to_owned).or_else(|| non_empty(&self.dom.text(id)));
                let license = written.and_then(|reference| iri::absolute(&reference));
                license.into_iter().for_each(|license| push(&mut out.licenses, license));
            }
            "language" => first(&mut out.language, || trim(&self.dom.text(id)).to_owned()),
            "identifier" => first(&mut out.id, || trim(&self.dom.text(id)).to_owned()),
            _ => {}
        }
    }

    /// A period by DCMI: `start=2002-10-13;end=2002-10-17;scheme=W3C-DTF`.
    fn validity(&mut self, id: NodeId, out: &mut Described) {
        let text = self.dom.text(id);
        for part in text.split(';') {
            match part.split_once('=').map(|(key, value)| (trim(key), trim(value))) {
                Some(("start", value)) => out.valid_from = self.date_of(value, id),
                Some(("end", value)) => out.valid_through = self.date_of(value, id),
                _ => {}
            }
        }
    }

    /// Apple's podcasts, and Google's, which has the same elements.
    fn itunes(&mut self, id: NodeId, element: &Element, name: &str, context: &Context, out: &mut Described) {
        let text = || non_empty(&self.dom.text(id));
        match name {
            "title" => first(&mut out.module_title, || Text::plain(&self.dom.text(id))),
            "author" => self.person(id, context, &mut out.creators),
            "owner" => self.person(id, context, &mut out.publishers),
            "subtitle" => out.subtitle = Some(self.text(id, element, context)),
            "summary" | "description" => out.describe(self.text(id, element, context)),
            "keywords" => split_keywords(&self.dom.text(id), out),
            "category" => self.itunes_categories(id, out),
            "image" => {
                let written =
                    attribute(element, "href").or_else(|| attribute(element, "url")).map(str::to_owned);
                let image =
                    written.or_else(text).and_then(|reference| iri::resolve(&context.base, &reference));
                image.into_iter().for_each(|image| push(&mut out.depictions, image));
            }
            "link" if attribute(element, "rel") == Some("image") => {
                let image =
                    attribute(element, "href").and_then(|reference| iri::resolve(&context.base, reference));
                image.into_iter().for_each(|image| push(&mut out.depictions, image));
            }
            // Apple: any other word has no effect. The words are taken as they are.
            "block" => out.itunes_block = Some(matches!(&*self.dom.text(id), "yes" | "Yes")),
            "explicit" => {
                out.explicit = match &*self.dom.text(id) {
                    "yes" | "Yes" | "explicit" | "Explicit" | "true" | "True" => Some(true),
                    "no" | "No" | "clean" | "Clean" | "false" | "False" => Some(false),
                    _ => None,
                };
            }
            "duration" => out.duration = text(),
            "season" => out.season = text(),
            "episode" => out.episode = text(),
            "episodetype" => out.episode_type = text(),
            "new-feed-url" => out.new_location = self.reference(id, context),
            _ => {}
        }
    }

    /// Apple's categories, one within the other.
    fn itunes_categories(&mut self, top: NodeId, out: &mut Described) {
        let nodes = std::iter::once(top).chain(self.dom.descendants(top));
        for element in nodes.filter_map(|id| self.dom.element(id)).take(LIST_MAX) {
            if let Some(term) = attribute(element, "text").and_then(non_empty) {
                out.categorise(Category { term, scheme: Some(ITUNES_SCHEME.to_owned()), label: None });
            }
        }
    }

    /// The Podcast Index's namespace.
    fn podcast(&mut self, id: NodeId, element: &Element, name: &str, context: &Context, out: &mut Described) {
        let text = || non_empty(&self.dom.text(id));
        let url = |name: &str| {
            attribute(element, name).and_then(|reference| iri::resolve(&context.base, reference))
        };
        match name {
            "guid" => first(&mut out.id, || trim(&self.dom.text(id)).to_owned()),
            "transcript" => url("url").into_iter().for_each(|url| push(&mut out.transcripts, url)),
            "funding" => url("url").into_iter().for_each(|url| push(&mut out.payments, url)),
            "season" => out.season = text(),
            "episode" => out.episode = text(),
            "person" => {
                let person = Person { name: text(), email: None, page: url("href"), image: url("img") };
                if !person.is_empty() {
                    push(&mut out.contributors, person);
                }
            }
            "license" => url("url").into_iter().for_each(|url| push(&mut out.licenses, url)),
            "location" => {
                let point = attribute(element, "geo").and_then(|geo| geo.strip_prefix("geo:"));
                let point =
                    point.and_then(|point| point.split(';').next()).and_then(|point| point.split_once(','));
                if let Some((latitude, rest)) = point {
                    let longitude = rest.split(',').next().unwrap_or_default();
                    push(&mut out.places, Place::Point(latitude.to_owned(), longitude.to_owned()));
                }
            }
            "alternateenclosure" => {
                for child in self.dom.children(id) {
                    let source = self.dom.element(child).filter(|source| &*local_name(source) == "source");
                    let target = source
                        .and_then(|source| attribute(source, "uri"))
                        .and_then(|reference| iri::resolve(&context.base, reference));
                    if let Some(target) = target {
                        let media = Media {
                            media_type: attribute(element, "type").and_then(non_empty),
                            length: attribute(element, "length").and_then(non_empty),
                            title: attribute(element, "title").map(Text::plain),
                            height: attribute(element, "height").and_then(non_empty),
                            ..Media::new(target)
                        };
                        push(&mut out.media, media);
                    }
                }
            }
            _ => {}
        }
    }

    /// Media RSS: objects, groups of them, and what is said of all objects of an item.
    fn media_rss(
        &mut self,
        id: NodeId,
        element: &Element,
        name: &str,
        context: &Context,
        out: &mut Described,
    ) {
        match name {
            "group" => {
                // A group has no group within, so that this goes one level deep and no further.
                for child in self.dom.children(id) {
                    let Some(element) = self.dom.element(child) else { continue };
                    let name = local_name(element);
                    if vocabulary(element, &self.root_namespace) == Vocabulary::Media && name != "group" {
                        self.media_rss(child, element, &name, &context.enter(element), out);
                    }
                }
            }
            "content" => self.media_content(id, element, context, out),
            "title" => first(&mut out.module_title, || self.text(id, element, context)),
            "description" => {
                let text = self.text(id, element, context);
                if out.description.as_ref().is_none_or(Text::is_empty) {
                    out.description = Some(text);
                }
            }
            "keywords" => split_keywords(&self.dom.text(id), out),
            "category" => out.categorise(Category {
                term: trim(&self.dom.text(id)).to_owned(),
                scheme: attribute(element, "scheme").and_then(non_empty),
                label: attribute(element, "label").and_then(non_empty),
            }),
            "thumbnail" => {
                let url =
                    attribute(element, "url").and_then(|reference| iri::resolve(&context.base, reference));
                url.into_iter().for_each(|url| push(&mut out.thumbnails, url));
            }
            "player" => {
                out.player = attribute(element, "url").and_then(|url| iri::resolve(&context.base, url));
            }
            "credit" => {
                let person = Person::parse(&self.dom.text(id));
                if !person.is_empty() {
                    push(&mut out.contributors, person);
                }
            }
            "copyright" => first(&mut out.rights, || self.text(id, element, context)),
            "license" => {
                let url =
                    attribute(element, "href").and_then(|reference| iri::resolve(&context.base, reference));
                url.into_iter().for_each(|url| push(&mut out.licenses, url));
            }
            "rating" => out.rating = non_empty(&self.dom.text(id)),
            _ => {}
        }
    }

    fn media_content(&mut self, id: NodeId, element: &Element, context: &Context, out: &mut Described) {
        let get = |name: &str| attribute(element, name).and_then(non_empty);
        let mut player = None;
        let mut thumbnails = Vec::new();
        let (mut title, mut description) = (None, None);
        for child in self.dom.children(id) {
            let Some(inner) = self.dom.element(child) else { continue };
            if vocabulary(inner, &self.root_namespace) != Vocabulary::Media {
                continue;
            }
            let url = || attribute(inner, "url").and_then(|reference| iri::resolve(&context.base, reference));
            match &*local_name(inner) {
                "player" => player = url(),
                "thumbnail" => url().into_iter().for_each(|url| push(&mut thumbnails, url)),
                "title" => title = Some(self.text(child, inner, context)),
                "description" => description = Some(self.text(child, inner, context)),
                // The rest is said of the item.
                "content" | "group" => {}
                name => self.media_rss(child, inner, name, context, out),
            }
        }
        let url = get("url").and_then(|reference| iri::resolve(&context.base, &reference));
        let Some(url) = url.or_else(|| player.clone()) else { return };
        let media = Media {
            medium: get("medium"),
            media_type: get("type"),
            length: get("filesize").or_else(|| get("fileSize")),
            duration: get("duration"),
            width: get("width"),
            height: get("height"),
            title,
            description,
            thumbnails,
            player,
            ..Media::new(url)
        };
        // An enclosure said again with more words.
        match out.media.iter_mut().find(|known| known.url == media.url) {
            Some(known) => {
                let length = known.length.take();
                let media_type = known.media_type.take();
                *known = media;
                known.length = known.length.take().or(length);
                known.media_type = known.media_type.take().or(media_type);
            }
            None => push(&mut out.media, media),
        }
    }

    /// GeoRSS (simple and GML), and W3C's latitude and longitude.
    fn place(&mut self, module: Vocabulary, id: NodeId, name: &str, out: &mut Described) {
        let text = self.dom.text(id);
        let mut numbers = text.split(|c: char| c.is_whitespace() || c == ',').filter(|part| !part.is_empty());
        match (module, name) {
            (Vocabulary::GeoRss, "point") => {
                if let (Some(latitude), Some(longitude)) = (numbers.next(), numbers.next()) {
                    push(&mut out.places, Place::Point(latitude.to_owned(), longitude.to_owned()));
                }
            }
            (Vocabulary::GeoRss, "where") | (Vocabulary::Geo, "point") => {
                // One level of shapes, and what is in them.
                let (mut latitude, mut longitude) = (None, None);
                for inner in self.dom.descendants(id) {
                    let Some(element) = self.dom.element(inner) else { continue };
                    match &*local_name(element) {
                        "pos" => {
                            let text = self.own_text(inner);
                            let mut numbers = text.split_whitespace();
                            latitude = numbers.next().map(str::to_owned);
                            longitude = numbers.next().map(str::to_owned);
                        }
                        "lat" => latitude = non_empty(&self.own_text(inner)),
                        "long" | "lon" => longitude = non_empty(&self.own_text(inner)),
                        "poslist" => {
                            let list = trim(&self.own_text(inner)).to_owned();
                            push(&mut out.places, Place::Shape("line", list));
                        }
                        _ => {}
                    }
                }
                if let (Some(latitude), Some(longitude)) = (latitude, longitude) {
                    push(&mut out.places, Place::Point(latitude, longitude));
                }
            }
            (Vocabulary::GeoRss, _) => {
                let known = ["line", "polygon", "box", "circle", "elev", "featureName", "radius"];
                if let Some(known) = known.into_iter().find(|known| known.eq_ignore_ascii_case(name))
                    && let Some(value) = non_empty(&text)
                {
                    push(&mut out.places, Place::Shape(known, value));
                }
            }
            // Latitude and longitude stand beside each other.
            (_, "lat") => match out.places.iter_mut().find_map(half_point) {
                Some((latitude, _)) if latitude.is_empty() => trim(&text).clone_into(latitude),
                _ => push(&mut out.places, Place::Point(trim(&text).to_owned(), String::new())),
            },
            (_, "long" | "lon") => match out.places.iter_mut().find_map(half_point) {
                Some((_, longitude)) if longitude.is_empty() => trim(&text).clone_into(longitude),
                _ => push(&mut out.places, Place::Point(String::new(), trim(&text).to_owned())),
            },
            _ => {}
        }
    }
}

/// A point of which one coordinate is still to come.
fn half_point(place: &mut Place) -> Option<(&mut String, &mut String)> {
    match place {
        Place::Point(latitude, longitude) if latitude.is_empty() || longitude.is_empty() => {
            Some((latitude, longitude))
        }
        _ => None,
    }
}
