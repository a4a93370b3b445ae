//! What a property's element stands for, by its prefix: words, a URL, a date, markup.

use html5ever::{LocalName, local_name};

use super::classes::Prefix;
use super::dates;
use super::model::Value;
use super::text::{Budget, Images, absolute, markup, words};
use crate::dom::{Element, NodeId};
use crate::html::ParsedPage;
use crate::microdata::language::Languages;

/// Reads values on one page.
pub(super) struct Reader<'a> {
    pub(super) page: &'a ParsedPage<'a>,
    pub(super) budget: Budget,
    languages: Languages<'a>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(page: &'a ParsedPage<'a>, bytes_max: usize) -> Self {
        Self { page, budget: Budget::new(bytes_max), languages: Languages::new(page) }
    }

    /// The language an element is written in.
    pub(super) fn language(&mut self, node: NodeId) -> Option<std::sync::Arc<str>> {
        self.languages.of(node)
    }

    /// The value of an element as a property of that prefix. A date may need and change the item's last date.
    pub(super) fn value(
        &mut self,
        prefix: Prefix,
        node: NodeId,
        element: &Element,
        date: &mut Option<String>,
    ) -> Value {
        match prefix {
            Prefix::Plain => {
                let text = self.plain(node, element);
                Value::Text(text, self.languages.of(node))
            }
            Prefix::Url => self.url(node, element),
            Prefix::Date => Value::Date(self.date(node, element, date)),
            Prefix::Embedded => {
                let text = words(self.page, node, Images::AlternativeOrSource, &mut self.budget);
                let html = markup(self.page, node, &mut self.budget);
                Value::Html { text, html, language: self.languages.of(node) }
            }
        }
    }

    /// `p-*`.
    fn plain(&mut self, node: NodeId, element: &Element) -> String {
        if let Some(value) = self.value_class(node) {
            return value;
        }
        let attribute = match element.name.local {
            local_name!("abbr") | local_name!("link") => element.attribute(&local_name!("title")),
            local_name!("data") | local_name!("input") => element.attribute(&local_name!("value")),
            local_name!("img") | local_name!("area") => element.attribute(&local_name!("alt")),
            _ => None,
        };
        match attribute {
            Some(attribute) => attribute.trim().to_owned(),
            None => words(self.page, node, Images::AlternativeOrSource, &mut self.budget),
        }
    }

    /// `u-*`.
    fn url(&mut self, node: NodeId, element: &Element) -> Value {
        let get = |name: LocalName| element.attribute(&name);
        let reference = match element.name.local {
            local_name!("a") | local_name!("area") | local_name!("link") => get(local_name!("href")),
            local_name!("img") => {
                if let Some(image) = self.image(element) {
                    return image;
                }
                None
            }
            local_name!("audio") | local_name!("source") | local_name!("iframe") => get(local_name!("src")),
            local_name!("video") => get(local_name!("src")).or_else(|| get(local_name!("poster"))),
            local_name!("object") => get(local_name!("data")),
            _ => None,
        };
        if let Some(reference) = reference {
            return Value::Url(absolute(self.page, reference));
        }
        if let Some(value) = self.value_class(node) {
            return Value::Url(absolute(self.page, &value));
        }
        let attribute = match element.name.local {
            local_name!("abbr") => get(local_name!("title")),
            local_name!("data") | local_name!("input") => get(local_name!("value")),
            _ => None,
        };
        Value::Url(match attribute {
            Some(attribute) => absolute(self.page, attribute),
            None => absolute(self.page, &words(self.page, node, Images::Nothing, &mut self.budget)),
        })
    }

    /// An image that is somewhere, with its text alternative if it has one.
    pub(super) fn image(&self, element: &Element) -> Option<Value> {
        let url = absolute(self.page, element.attribute(&local_name!("src"))?);
        Some(match element.attribute(&local_name!("alt")) {
            Some(alternative) => Value::Image { url, alternative: alternative.to_owned() },
            None => Value::Url(url),
        })
    }

    /// `dt-*`.
    fn date(&mut self, node: NodeId, element: &Element, known: &mut Option<String>) -> String {
        let parts: Vec<String> = value_elements(self.page, node)
            .map(|(child, element, is_title)| {
                let attribute = match element.name.local {
                    _ if is_title => Some(element.attribute(&local_name!("title")).unwrap_or_default()),
                    local_name!("time") | local_name!("ins") | local_name!("del") => {
                        element.attribute(&local_name!("datetime"))
                    }
                    _ => value_attribute(element),
                };
                match attribute {
                    Some(attribute) => attribute.trim().to_owned(),
                    None => words(self.page, child, Images::Nothing, &mut self.budget),
                }
            })
            .collect();
        if let Some((value, date)) =
            (!parts.is_empty()).then(|| dates::combine(&parts, known.as_deref())).flatten()
        {
            if date.is_some() {
                *known = date;
            }
            return value;
        }
        if !parts.is_empty() {
            return parts.concat();
        }
        let attribute = match element.name.local {
            local_name!("time") | local_name!("ins") | local_name!("del") => {
                element.attribute(&local_name!("datetime"))
            }
            local_name!("abbr") => element.attribute(&local_name!("title")),
            local_name!("data") | local_name!("input") => element.attribute(&local_name!("value")),
            _ => None,
        };
        let value = match attribute {
            Some(attribute) => attribute.trim().to_owned(),
            None => words(self.page, node, Images::Nothing, &mut self.budget),
        };
        if let Some(complete) = dates::complete(&value, known.as_deref()) {
            return complete;
        }
        if let Some(date) = dates::date_of(&value) {
            *known = Some(date.to_owned());
        }
        value
    }

    /// The value class pattern: parts of the element that are its value, put together.
    fn value_class(&mut self, node: NodeId) -> Option<String> {
        let mut value: Option<String> = None;
        for (child, element, is_title) in value_elements(self.page, node) {
            let value = value.get_or_insert_default();
            let attribute = if is_title {
                Some(element.attribute(&local_name!("title")).unwrap_or_default())
            } else {
                value_attribute(element)
            };
            match attribute {
                Some(attribute) => value.push_str(attribute),
                None => value.push_str(&words(self.page, child, Images::Nothing, &mut self.budget)),
            }
        }
        value.map(|value| value.trim().to_owned())
    }
}

/// Where a part of a value is not in its words.
fn value_attribute(element: &Element) -> Option<&str> {
    match element.name.local {
        local_name!("img") | local_name!("area") => element.attribute(&local_name!("alt")),
        local_name!("data") => element.attribute(&local_name!("value")),
        local_name!("abbr") => element.attribute(&local_name!("title")),
        _ => None,
    }
}

/// The children that are parts of a value, and whether they say it by their title.
fn value_elements<'a>(
    page: &'a ParsedPage<'a>,
    node: NodeId,
) -> impl Iterator<Item = (NodeId, &'a Element, bool)> {
    page.dom.children(node).filter_map(|child| {
        let element = page.dom.element(child)?;
        let class = element.attribute(&local_name!("class"))?;
        if element.name.local == local_name!("template") {
            return None;
        }
        let has = |name| class.split_ascii_whitespace().any(|token| token == name);
        let is_title = has("value-title");
        (is_title || has("value")).then_some((child, element, is_title))
    })
}
