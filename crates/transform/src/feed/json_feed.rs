//! JSON Feed 1.0 and 1.1 into [`Described`].

use serde_json::{Map, Value};
use webloom_model::{Diagnostic, PageUrl};

use super::iri;
use super::markup;
use super::model::{Category, Described, Link, Media, Person, Text};
use super::read::{push, read_date};
use super::write::Writer;
use crate::Sink;

/// Reads a JSON Feed.
pub(super) fn read(page: &PageUrl, text: &str, sink: &mut Sink<'_>) {
    if text.len() > sink.limits().json_bytes_max {
        let message =
            format!("the feed is longer than {} bytes; it was not read", sink.limits().json_bytes_max);
        return sink.diagnose(Diagnostic::error("json-feed-too-long", message));
    }
    // The parser has a depth of 128 and goes no further.
    let feed: Map<String, Value> = match serde_json::from_str(text) {
        Ok(Value::Object(feed)) => feed,
        Ok(_) => return sink.diagnose(Diagnostic::error("json-feed-syntax", "the feed is no JSON object")),
        Err(error) => {
            let line = error.line() as u64;
            return sink.diagnose(Diagnostic::error("json-feed-syntax", error.to_string()).at_line(line));
        }
    };
    let mut channel = Described {
        title: string(&feed, "title").map(Text::plain),
        description: string(&feed, "description").map(Text::plain),
        language: string(&feed, "language").map(str::to_owned),
        icon: reference(&feed, "favicon", page),
        logo: reference(&feed, "icon", page),
        creators: authors(&feed, page),
        ..Described::default()
    };
    for (key, rel) in [("home_page_url", "alternate"), ("feed_url", "self"), ("next_url", "next")] {
        channel.links.extend(reference(&feed, key, page).map(|target| Link::new(rel, target)));
    }
    for hub in list(&feed, "hubs").filter_map(Value::as_object) {
        if let Some(target) = reference(hub, "url", page) {
            push(&mut channel.links, Link::new("hub", target));
        }
    }
    // What is written for people who open the feed by mistake.
    channel.info = string(&feed, "user_comment").map(Text::plain);
    let mut writer = Writer::new(page, sink);
    writer.channel(&channel, string(&feed, "version"));
    for item in list(&feed, "items").filter_map(Value::as_object) {
        let item = read_item(item, page, writer.sink());
        if !writer.item(&item) {
            break;
        }
    }
    writer.finish();
}

fn read_item(item: &Map<String, Value>, page: &PageUrl, sink: &mut Sink<'_>) -> Described {
    // An identifier may be a number, though it should not.
    let id = match item.get("id") {
        Some(Value::String(id)) => Some(id.clone()),
        Some(Value::Number(id)) => Some(id.to_string()),
        _ => None,
    };
    let mut out = Described {
        id,
        title: string(item, "title").map(Text::plain),
        description: string(item, "summary").map(Text::plain),
        published: string(item, "date_published").and_then(|date| read_date(date.trim(), None, sink)),
        updated: string(item, "date_modified").and_then(|date| read_date(date.trim(), None, sink)),
        language: string(item, "language").map(str::to_owned),
        creators: authors(item, page),
        ..Described::default()
    };
    for (key, rel) in [("url", "alternate"), ("external_url", "related")] {
        out.links.extend(reference(item, key, page).map(|target| Link::new(rel, target)));
    }
    if let Some(html) = string(item, "content_html") {
        let mut text = Text::html(html);
        text.value = markup::absolute(&text.value, page).into_owned();
        push(&mut out.contents, text);
    }
    if let Some(text) = string(item, "content_text") {
        push(&mut out.contents, Text::plain(text));
    }
    for key in ["image", "banner_image"] {
        if let Some(image) = reference(item, key, page) {
            push(&mut out.depictions, image);
        }
    }
    for term in list(item, "tags").filter_map(Value::as_str) {
        out.categorise(Category { term: term.trim().to_owned(), ..Category::default() });
    }
    for attachment in list(item, "attachments").filter_map(Value::as_object) {
        let Some(url) = reference(attachment, "url", page) else { continue };
        let number =
            |key: &str| attachment.get(key).filter(|value| value.is_number()).map(ToString::to_string);
        let media = Media {
            media_type: string(attachment, "mime_type").map(str::to_owned),
            title: string(attachment, "title").map(Text::plain),
            length: number("size_in_bytes"),
            duration: number("duration_in_seconds"),
            ..Media::new(url)
        };
        push(&mut out.media, media);
    }
    out
}

/// `authors` of version 1.1, or `author` of version 1.
fn authors(object: &Map<String, Value>, page: &PageUrl) -> Vec<Person> {
    let mut persons = Vec::new();
    for author in list(object, "authors").chain(object.get("author")).filter_map(Value::as_object) {
        let person = Person {
            name: string(author, "name").map(str::to_owned),
            page: reference(author, "url", page),
            image: reference(author, "avatar", page),
            email: None,
        };
        if !person.is_empty() {
            push(&mut persons, person);
        }
    }
    persons
}

fn string<'a>(object: &'a Map<String, Value>, key: &str) -> Option<&'a str> {
    object.get(key)?.as_str().filter(|text| !text.trim().is_empty())
}

fn reference(object: &Map<String, Value>, key: &str, page: &PageUrl) -> Option<oxrdf::NamedNode> {
    iri::resolve(page, string(object, key)?)
}

fn list<'a>(object: &'a Map<String, Value>, key: &str) -> impl Iterator<Item = &'a Value> {
    object.get(key).and_then(Value::as_array).into_iter().flatten()
}
