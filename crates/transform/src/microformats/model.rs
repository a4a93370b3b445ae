//! What parsing gives, in the shape of the specification's canonical JSON.

use std::sync::Arc;

use serde::ser::{Serialize, SerializeMap, Serializer};

/// The microformats of a page. Serialises as `{"items": […], "rels": {…}, "rel-urls": {…}}`.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Microformats {
    /// Items that are part of no other, in document order.
    pub items: Vec<Arc<Item>>,
    /// For each `rel` value the URLs that have it.
    pub rels: Vec<(String, Vec<String>)>,
    /// For each URL with a `rel` what is said of it.
    pub rel_urls: Vec<(String, RelUrl)>,
}

/// An item: an `h-*`, or what an older root class stands for.
#[derive(Debug, Default, Clone, PartialEq)]
pub struct Item {
    /// Its `h-*` classes, in alphabetical order.
    pub types: Vec<String>,
    /// Its properties without their prefixes, in the order they were first met.
    pub properties: Vec<(String, Vec<Value>)>,
    /// Its element's id.
    pub id: Option<String>,
    /// Items inside it that are no property of it.
    pub children: Vec<Arc<Self>>,
    /// Bytes of everything in it, what is shared counted each time.
    pub(super) bytes: usize,
    /// Some property was said, not implied.
    pub(super) explicit: bool,
}

/// A value of a property.
#[derive(Debug, Clone, PartialEq)]
pub enum Value {
    /// Of a `p-*` property, with the language it is written in.
    Text(String, Option<Arc<str>>),
    /// Of a `u-*` property.
    Url(String),
    /// Of a `u-*` property on an image that has a text alternative.
    Image {
        /// Where the image is.
        url: String,
        /// What stands for it.
        alternative: String,
    },
    /// Of a `dt-*` property.
    Date(String),
    /// Of an `e-*` property.
    Html {
        /// The words.
        text: String,
        /// The markup, with absolute URLs.
        html: String,
        /// The language.
        language: Option<Arc<str>>,
    },
    /// An item that is a property, and what its element would be as a plain value.
    Item(Arc<Item>, Box<Self>),
}

/// What links to a URL say of it.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
pub struct RelUrl {
    /// All `rel` values.
    pub rels: Vec<String>,
    /// The words of the first link.
    pub text: String,
    /// `hreflang`, `media`, `title` and `type`, each of the first link that has it.
    pub attributes: Vec<(&'static str, String)>,
}

impl Value {
    /// The value as the specification's plain string.
    pub fn as_str(&self) -> &str {
        let mut value = self;
        loop {
            match value {
                Self::Item(_, plain) => value = plain,
                Self::Text(text, _) | Self::Url(text) | Self::Date(text) => return text,
                Self::Image { url, .. } => return url,
                Self::Html { text, .. } => return text,
            }
        }
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Self::Text(text, _) | Self::Url(text) | Self::Date(text) => text.len(),
            Self::Image { url, alternative } => url.len() + alternative.len(),
            Self::Html { text, html, .. } => text.len() + html.len(),
            Self::Item(item, plain) => item.bytes + plain.bytes(),
        }
    }
}

impl Item {
    /// The values of a property.
    pub fn property(&self, name: &str) -> Option<&[Value]> {
        self.properties.iter().find(|(known, _)| known == name).map(|(_, values)| values.as_slice())
    }

    /// Writes what an item has, alone or as a value.
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        map.serialize_entry("type", &self.types)?;
        map.serialize_entry("properties", &Pairs(&self.properties))?;
        if let Some(id) = &self.id {
            map.serialize_entry("id", id)?;
        }
        if !self.children.is_empty() {
            map.serialize_entry("children", &List(&self.children))?;
        }
        Ok(())
    }
}

impl Serialize for Microformats {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(3))?;
        map.serialize_entry("items", &List(&self.items))?;
        map.serialize_entry("rels", &Pairs(&self.rels))?;
        map.serialize_entry("rel-urls", &Pairs(&self.rel_urls))?;
        map.end()
    }
}

impl Serialize for Item {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let (item, plain) = match self {
            Self::Text(text, _) | Self::Url(text) | Self::Date(text) => {
                return serializer.serialize_str(text);
            }
            Self::Item(item, plain) => (Some(item), &**plain),
            Self::Image { .. } | Self::Html { .. } => (None, self),
        };
        let mut map = serializer.serialize_map(None)?;
        if let Some(item) = item {
            item.entries(&mut map)?;
        }
        map.serialize_entry("value", plain.as_str())?;
        match plain {
            Self::Image { alternative, .. } => map.serialize_entry("alt", alternative)?,
            Self::Html { html, .. } => map.serialize_entry("html", html)?,
            _ => {}
        }
        map.end()
    }
}

impl Serialize for RelUrl {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("rels", &self.rels)?;
        map.serialize_entry("text", &self.text)?;
        for (name, value) in &self.attributes {
            map.serialize_entry(name, value)?;
        }
        map.end()
    }
}

/// Pairs as an object, in their order.
struct Pairs<'a, V>(&'a [(String, V)]);

impl<V: Serialize> Serialize for Pairs<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
    }
}

/// Shared items as an array.
struct List<'a>(&'a [Arc<Item>]);

impl Serialize for List<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|item| &**item))
    }
}
