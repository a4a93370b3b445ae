//! The texts of feeds: plain, HTML, XHTML or Base64, by what an element says of itself, or by a guess where it says nothing.
//!
//! In: an element. Out: a [`Text`] that knows whether it is HTML, its references absolute, its language that of `xml:lang`.
//! Start at [`Reader::text`].

use std::borrow::Cow;

use super::markup;
use super::model::{Text, trim};
use super::read::{Context, Reader, attribute};
use crate::dom::{Element, NodeData, NodeId};

/// How texts of which nothing is said are understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Untyped {
    /// Atom: they are plain.
    Plain,
    /// RSS: nobody knows.
    Guess,
    /// They are HTML: `content:encoded`.
    Html,
}

impl Reader<'_, '_, '_> {
    /// The text of an element as the feed's format understands it.
    pub(super) fn text(&mut self, id: NodeId, element: &Element, context: &Context) -> Text {
        self.text_or(id, element, context, self.untyped)
    }

    /// The text of an element that means `untyped` where it says nothing of its type.
    pub(super) fn text_or(
        &mut self,
        id: NodeId,
        element: &Element,
        context: &Context,
        untyped: Untyped,
    ) -> Text {
        let said =
            attribute(element, "type").map(|said| said.trim().to_ascii_lowercase()).unwrap_or_default();
        let mode =
            attribute(element, "mode").map(|mode| mode.trim().to_ascii_lowercase()).unwrap_or_default();
        let inline = self.dom.children(id).any(|child| self.dom.element(child).is_some());
        let mut text = if inline {
            self.inline_markup(id, &said, context)
        } else {
            let value = self.dom.text(id);
            match Type::of(&said, &mode, untyped) {
                Type::Plain => Text::plain(&value),
                Type::Html => Text::html(&value),
                Type::Guess => Text::guessed(&value),
                Type::Encoded => match markup::decode_base64(&value).map(String::from_utf8) {
                    Some(Ok(decoded)) => Text::guessed(&decoded),
                    // Not what it says, or no text.
                    _ => Text::guessed(&value),
                },
            }
        };
        if text.html {
            if !inline && let Cow::Owned(absolute) = markup::absolute(&text.value, &context.base) {
                text.value = absolute;
            }
        } else {
            text.language = context.language.as_deref().map(str::to_owned);
        }
        text
    }

    /// The text of an element that has elements inside.
    fn inline_markup(&self, id: NodeId, said: &str, context: &Context) -> Text {
        let wrapper = self.only_division(id);
        match (said, wrapper) {
            // Escaped HTML in a `div` that somebody's tool put around it.
            ("html" | "text/html", Some(division))
                if self.dom.children(division).all(|child| self.dom.element(child).is_none()) =>
            {
                let text = Text::html(&self.dom.text(division));
                Text { value: markup::absolute(&text.value, &context.base).into_owned(), ..text }
            }
            ("html" | "text/html", _) => Text::html(&markup::serialise(self.dom, id, &context.base, true)),
            // Atom 1.0: the `div` is not part of the content.
            ("xhtml", Some(division)) => {
                let inner =
                    self.dom.element(division).map_or_else(|| context.clone(), |div| context.enter(div));
                Text::html(&markup::serialise(self.dom, division, &inner.base, false))
            }
            _ => Text::html(&markup::serialise(self.dom, id, &context.base, false)),
        }
    }

    /// The `div` that is all an element contains.
    fn only_division(&self, id: NodeId) -> Option<NodeId> {
        let mut found = None;
        for child in self.dom.children(id) {
            match &self.dom.node(child).data {
                NodeData::Element(element) if found.is_none() && &*element.name.local == "div" => {
                    found = Some(child);
                }
                NodeData::Element(_) => return None,
                NodeData::Text(text) if !trim(text).is_empty() => return None,
                _ => {}
            }
        }
        found
    }
}

/// How the characters of an element are to be understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Type {
    Plain,
    Html,
    Guess,
    /// Base64.
    Encoded,
}

impl Type {
    /// By Atom's `type`, which is one of three words or a media type, and Atom 0.3's `mode`.
    fn of(said: &str, mode: &str, untyped: Untyped) -> Self {
        if mode == "base64" {
            return Self::Encoded;
        }
        match said {
            "" => match untyped {
                Untyped::Plain => Self::Plain,
                Untyped::Guess => Self::Guess,
                Untyped::Html => Self::Html,
            },
            "html" | "xhtml" | "text/html" | "application/xhtml+xml" => Self::Html,
            "text" | "text/plain" | "plain" => Self::Plain,
            said if said.starts_with("text/") || said.ends_with("/xml") || said.ends_with("+xml") => {
                Self::Guess
            }
            // RFC 4287: any other media type is Base64.
            said if said.contains('/') => Self::Encoded,
            _ => Self::Guess,
        }
    }
}
