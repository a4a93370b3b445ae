//! From a result tree to bytes: the output methods xml, html and text.
//!
//! [`Serializer`] takes the events of the result in order and writes text straight away; [`Serializer::finish`] brings
//! it into the wanted encoding. [`OutputSpec`] is what the `xsl:output` elements of a stylesheet say together.

mod encode;
mod escape;
mod html;
mod serializer;

use std::sync::Arc;

pub(crate) use encode::Encoding;
pub(crate) use escape::attribute_start;
pub(crate) use serializer::{OutAttribute, Serializer};

/// How a result is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Method {
    /// As XML.
    Xml,
    /// As HTML 4.
    Html,
    /// The text of the result alone.
    Text,
}

/// A setting that more important modules override.
#[derive(Debug, Clone)]
pub(crate) struct Setting<T> {
    pub(crate) value: Option<T>,
    precedence: u32,
}

impl<T> Default for Setting<T> {
    fn default() -> Self {
        Self { value: None, precedence: 0 }
    }
}

impl<T> Setting<T> {
    /// Sets the value, unless a more important one is there.
    pub(crate) fn set(&mut self, value: T, precedence: u32) {
        if self.value.is_none() || precedence >= self.precedence {
            self.value = Some(value);
            self.precedence = precedence;
        }
    }
}

/// What `xsl:output` says.
#[derive(Debug, Clone, Default)]
pub(crate) struct OutputSpec {
    pub(crate) method: Setting<Method>,
    pub(crate) version: Setting<String>,
    pub(crate) encoding: Setting<String>,
    pub(crate) omit_declaration: Setting<bool>,
    pub(crate) standalone: Setting<bool>,
    pub(crate) doctype_public: Setting<String>,
    pub(crate) doctype_system: Setting<String>,
    pub(crate) cdata_elements: Vec<(Arc<str>, Arc<str>)>,
    pub(crate) indent: Setting<bool>,
    pub(crate) media_type: Setting<String>,
}
