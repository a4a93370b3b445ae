//! Writes the events of a result as text.

use std::sync::Arc;

use super::{Encoding, Method, OutputSpec, escape, html};
use crate::compile::program::{Name, OutName};
use crate::error::{Limit, Res, XsltError, limit_error};
use crate::tree::{XML_NAMESPACE, is_space};
use crate::xpath::value::Text;

/// An attribute of the result.
#[derive(Debug)]
pub(crate) struct OutAttribute<'t> {
    pub(crate) name: Name<'t>,
    pub(crate) value: Text<'t>,
    /// It belongs to a literal result element.
    pub(crate) literal: bool,
}

/// What came before the method was known.
#[derive(Debug)]
enum Early {
    Text(String, bool),
    Comment(String),
    Instruction(String, String),
}

#[derive(Debug)]
struct Open<'t> {
    name: Name<'t>,
    /// Text is written as CDATA sections.
    cdata: bool,
    /// HTML: text is written as it is.
    raw_text: bool,
    /// HTML, and not XML inside of it.
    html: bool,
    has_children: bool,
    /// White space may be added inside.
    indents: bool,
    /// White space added up to the start of this element.
    inserted_before: usize,
}

/// Writes a result.
#[derive(Debug)]
pub(crate) struct Serializer<'t> {
    spec: &'t OutputSpec,
    encoding: Encoding,
    encoding_name: String,
    method: Option<Method>,
    out: String,
    early: Vec<Early>,
    early_bytes: usize,
    open: Vec<Open<'t>>,
    /// `<name …` was written, its `>` not yet.
    tag_open: bool,
    cdata: String,
    started: bool,
    doctype_written: bool,
    /// Where white space was added, and how much.
    inserted: Vec<(usize, usize)>,
    /// Where a `meta` with the encoding belongs, while the head is open and has none.
    head: Option<usize>,
    bytes_max: usize,
    /// Whether anything was written at the top.
    wrote_top: bool,
    /// XML without CDATA sections, in an encoding that has all characters.
    plain: bool,
}

impl<'t> Serializer<'t> {
    pub(crate) fn new(spec: &'t OutputSpec, bytes_max: usize, bytes_expected: usize) -> Self {
        let (encoding, encoding_name) = Encoding::named(spec.encoding.value.as_deref());
        Self {
            spec,
            encoding,
            encoding_name,
            method: spec.method.value,
            out: String::with_capacity(bytes_expected.min(bytes_max)),
            early: Vec::new(),
            early_bytes: 0,
            open: Vec::new(),
            tag_open: false,
            cdata: String::new(),
            started: false,
            doctype_written: false,
            inserted: Vec::new(),
            head: None,
            bytes_max,
            wrote_top: false,
            plain: false,
        }
    }

    #[inline]
    fn check(&self) -> Res<()> {
        let bytes = self.out.len() + self.cdata.len() + self.early_bytes;
        if bytes > self.bytes_max { Err(self.too_large()) } else { Ok(()) }
    }

    #[cold]
    fn too_large(&self) -> Box<XsltError> {
        limit_error(
            Limit::OutputBytes,
            format!("the result is larger than {} bytes (limit output_bytes_max)", self.bytes_max),
        )
    }

    /// Whether elements can be written by [`start_plain`](Self::start_plain), inside of another.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.plain
    }

    /// Whether an element is open.
    #[inline]
    pub(crate) fn is_inside(&self) -> bool {
        !self.open.is_empty()
    }

    /// Starts an element inside of another, in plain XML; its attributes follow.
    pub(crate) fn start_plain(&mut self, name: &'t OutName) {
        self.before_child(false);
        self.out.push_str(name.start_tag());
        self.open.push(Open {
            name: Name::Written(name),
            cdata: false,
            raw_text: false,
            html: false,
            has_children: false,
            indents: self.open.last().is_some_and(|open| open.indents),
            inserted_before: self.inserted.len(),
        });
        self.tag_open = true;
    }

    /// Starts an element inside of another, in plain XML, with all it has.
    fn start_other_plain(
        &mut self,
        name: Name<'t>,
        declarations: &[(Arc<str>, Arc<str>)],
        attributes: &[OutAttribute<'t>],
    ) -> Res<()> {
        self.before_child(false);
        self.out.push_str(name.start_tag());
        self.declare(declarations);
        for attribute in attributes {
            self.out.push(' ');
            self.out.push_str(attribute.name.qualified());
            self.out.push_str("=\"");
            escape::attribute(&mut self.out, &attribute.value, self.encoding);
            self.out.push('"');
        }
        let indents =
            self.open.last().is_some_and(|open| open.indents) && !attributes.iter().any(keeps_space);
        self.open.push(Open {
            name,
            cdata: false,
            raw_text: false,
            html: false,
            has_children: false,
            indents,
            inserted_before: self.inserted.len(),
        });
        self.tag_open = true;
        self.check()
    }

    fn declare(&mut self, declarations: &[(Arc<str>, Arc<str>)]) {
        for (prefix, uri) in declarations {
            self.out.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
            self.out.push_str(prefix);
            self.out.push_str("=\"");
            escape::attribute(&mut self.out, uri, self.encoding);
            self.out.push('"');
        }
    }

    /// Adds an attribute to an element that was started by [`start_plain`](Self::start_plain).
    #[inline]
    pub(crate) fn attribute_plain(&mut self, written: &str, value: Option<&str>) {
        self.out.push_str(written);
        if let Some(value) = value {
            escape::attribute(&mut self.out, value, self.encoding);
            self.out.push('"');
        }
    }

    fn is_html(&self) -> bool {
        self.method == Some(Method::Html)
    }

    /// Keeps what comes before the method is known. Many small ones take more room than what they say.
    fn keep_early(&mut self, early: Early) {
        self.early_bytes += size_of::<Early>();
        self.early.push(early);
    }

    /// Decides the method by the first element, or by there being none.
    fn decide(&mut self, first: Option<&OutName>) -> Res<()> {
        if self.method.is_none() {
            let only_space = self.early.iter().all(|early| match early {
                Early::Text(text, _) => text.bytes().all(is_space),
                _ => true,
            });
            let html = first.is_some_and(|name| {
                name.namespace.is_empty() && name.local.eq_ignore_ascii_case("html") && only_space
            });
            self.method = Some(if html { Method::Html } else { Method::Xml });
        }
        self.start();
        for early in std::mem::take(&mut self.early) {
            match early {
                Early::Text(text, raw) => self.text(&text, raw)?,
                Early::Comment(text) => self.comment(&text)?,
                Early::Instruction(target, content) => self.instruction(&target, &content)?,
            }
        }
        self.early_bytes = 0;
        Ok(())
    }

    /// Writes the XML declaration.
    fn start(&mut self) {
        if self.started {
            return;
        }
        self.started = true;
        self.plain = self.method == Some(Method::Xml)
            && self.spec.cdata_elements.is_empty()
            && self.encoding.is_complete();
        if self.method == Some(Method::Xml) && self.spec.omit_declaration.value != Some(true) {
            let version = self.spec.version.value.as_deref().unwrap_or("1.0");
            self.out.push_str("<?xml version=\"");
            escape::attribute(&mut self.out, version, self.encoding);
            self.out.push_str("\" encoding=\"");
            escape::attribute(&mut self.out, &self.encoding_name, self.encoding);
            self.out.push('"');
            if let Some(standalone) = self.spec.standalone.value {
                self.out.push_str(if standalone { " standalone=\"yes\"" } else { " standalone=\"no\"" });
            }
            self.out.push_str("?>\n");
        }
    }

    fn doctype(&mut self, element: &OutName) {
        if std::mem::replace(&mut self.doctype_written, true) {
            return;
        }
        let (public, system) = (&self.spec.doctype_public.value, &self.spec.doctype_system.value);
        let html = self.method == Some(Method::Html);
        if system.is_none() && !(html && public.is_some()) {
            return;
        }
        self.out.push_str("<!DOCTYPE ");
        self.out.push_str(element.qualified());
        if let Some(public) = public {
            self.out.push_str(" PUBLIC ");
            push_identifier(&mut self.out, public);
        }
        if let Some(system) = system {
            self.out.push_str(if public.is_some() { " " } else { " SYSTEM " });
            push_identifier(&mut self.out, system);
        }
        self.out.push_str(">\n");
    }

    #[inline]
    fn close_tag(&mut self) {
        if self.tag_open {
            self.out.push('>');
            self.tag_open = false;
        }
        if !self.cdata.is_empty() {
            self.write_cdata();
        }
    }

    fn write_cdata(&mut self) {
        let text = std::mem::take(&mut self.cdata);
        escape::cdata(&mut self.out, &text, self.encoding);
    }

    /// Adds a line break and indentation before a child or an end tag.
    fn break_line(&mut self, depth: usize) {
        let at = self.out.len();
        self.out.push('\n');
        for _ in 0..depth.min(100) {
            self.out.push_str("  ");
        }
        self.inserted.push((at, self.out.len() - at));
    }

    /// Prepares for an element, comment or instruction: closes the tag around it and breaks the line.
    fn before_child(&mut self, html_inline: bool) {
        self.close_tag();
        if let Some(open) = self.open.last_mut() {
            open.has_children = true;
            if open.indents && !html_inline {
                let depth = if self.is_html() { 0 } else { self.open.len() };
                self.break_line(depth);
            }
        } else if self.wrote_top && self.indents() && !html_inline {
            self.out.push('\n');
        }
        self.wrote_top = true;
    }

    fn indents(&self) -> bool {
        self.spec.indent.value.unwrap_or(self.is_html())
    }

    pub(crate) fn start_element(
        &mut self,
        name: Name<'t>,
        declarations: &[(Arc<str>, Arc<str>)],
        attributes: &[OutAttribute<'t>],
    ) -> Res<()> {
        if !self.started {
            self.decide(Some(&name))?;
        }
        if self.method == Some(Method::Text) {
            return Ok(());
        }
        if self.plain && !self.open.is_empty() {
            return self.start_other_plain(name, declarations, attributes);
        }
        let html = self.is_html() && name.namespace.is_empty();
        if html && self.says_encoding(&name, attributes) {
            self.head = None;
        }
        if self.open.is_empty() {
            self.close_tag();
            self.doctype(&name);
        }
        self.before_child(html && html::is_inline(&name.local));
        let inserted_before = self.inserted.len();
        self.out.push_str(name.start_tag());
        self.declare(declarations);
        for attribute in attributes {
            self.out.push(' ');
            self.out.push_str(attribute.name.qualified());
            let plain = attribute.name.namespace.is_empty();
            if html
                && plain
                && html::is_boolean(&name.local, &attribute.name.local)
                && attribute.value.eq_ignore_ascii_case(&attribute.name.local)
            {
                continue;
            }
            self.out.push_str("=\"");
            if html && plain && html::is_uri(&name.local, &attribute.name.local) {
                escape::html_attribute(&mut self.out, &escape::uri(attribute.value.trim()), self.encoding);
            } else if html {
                escape::html_attribute(&mut self.out, &attribute.value, self.encoding);
            } else {
                escape::attribute(&mut self.out, &attribute.value, self.encoding);
            }
            self.out.push('"');
        }
        let cdata = !html
            && self
                .spec
                .cdata_elements
                .iter()
                .any(|(namespace, local)| *local == name.local && *namespace == name.namespace);
        let indents = self.open.last().map_or_else(|| self.indents(), |open| open.indents)
            && !attributes.iter().any(keeps_space)
            && !(html && html::keeps_space(&name.local));
        let head = html && self.open.len() == 1 && name.local.eq_ignore_ascii_case("head");
        self.open.push(Open {
            cdata,
            raw_text: html && html::is_raw_text(&name.local),
            name,
            html,
            has_children: false,
            indents,
            inserted_before,
        });
        self.tag_open = true;
        if head {
            self.close_tag();
            self.head = Some(self.out.len());
        }
        self.check()
    }

    /// Puts a `meta` with the encoding at the start of the head, unless it has one.
    fn add_meta(&mut self) {
        let Some(at) = self.head.take() else { return };
        let mut meta = String::from(if self.indents() { "\n" } else { "" });
        meta.push_str("<meta http-equiv=\"Content-Type\" content=\"");
        let media_type = self.spec.media_type.value.as_deref().unwrap_or("text/html");
        escape::html_attribute(&mut meta, media_type, self.encoding);
        meta.push_str("; charset=");
        escape::html_attribute(&mut meta, &self.encoding_name, self.encoding);
        meta.push_str("\">");
        self.out.insert_str(at, &meta);
        for (place, _) in self.inserted.iter_mut().rev().take_while(|(place, _)| *place >= at) {
            *place += meta.len();
        }
    }

    /// Whether this is a `meta` that says the encoding.
    fn says_encoding(&self, name: &OutName, attributes: &[OutAttribute<'t>]) -> bool {
        name.local.eq_ignore_ascii_case("meta")
            && self.open.last().is_some_and(|open| open.html && open.name.local.eq_ignore_ascii_case("head"))
            && attributes.iter().any(|attribute| {
                attribute.name.local.eq_ignore_ascii_case("http-equiv")
                    && attribute.value.trim().eq_ignore_ascii_case("content-type")
            })
    }

    pub(crate) fn end_element(&mut self) -> Res<()> {
        if self.plain {
            return self.end_plain();
        }
        if self.head.is_some()
            && self.open.len() == 2
            && self.open.last().is_some_and(|open| open.name.local.eq_ignore_ascii_case("head"))
        {
            self.add_meta();
        }
        let Some(open) = self.open.last() else { return Ok(()) };
        let (has_children, indents, html) = (open.has_children, open.indents, open.html);
        let empty = self.tag_open && self.cdata.is_empty();
        if html {
            let void = html::is_void(&open.name.local);
            self.close_tag();
            if void && empty {
                self.open.pop();
                return Ok(());
            }
        } else if empty {
            self.out.push_str("/>");
            self.tag_open = false;
            self.open.pop();
            return Ok(());
        }
        self.close_tag();
        if has_children
            && indents
            && !(html && self.open.last().is_some_and(|open| html::is_inline(&open.name.local)))
        {
            let depth = if self.is_html() { 0 } else { self.open.len() - 1 };
            self.break_line(depth);
        }
        if let Some(open) = self.open.pop() {
            self.out.push_str(open.name.end_tag());
        }
        self.check()
    }

    /// Ends an element in plain XML.
    fn end_plain(&mut self) -> Res<()> {
        let Some(open) = self.open.pop() else { return Ok(()) };
        if self.tag_open {
            self.out.push_str("/>");
            self.tag_open = false;
            return self.check();
        }
        if open.has_children && open.indents {
            self.break_line(self.open.len());
        }
        self.out.push_str(open.name.end_tag());
        self.check()
    }

    pub(crate) fn text(&mut self, text: &str, raw: bool) -> Res<()> {
        if text.is_empty() {
            return Ok(());
        }
        if self.plain
            && !raw
            && let Some(open) = self.open.last_mut()
            && !open.indents
        {
            self.close_tag();
            escape::text(&mut self.out, text, self.encoding);
            return self.check();
        }
        if !self.started {
            match self.method {
                Some(_) => self.start(),
                None if text.bytes().all(is_space) => {
                    self.early_bytes += text.len();
                    match self.early.last_mut() {
                        Some(Early::Text(before, as_raw)) if *as_raw == raw => before.push_str(text),
                        _ => self.keep_early(Early::Text(text.to_owned(), raw)),
                    }
                    return self.check();
                }
                // HTML has nothing but white space before its root.
                None => self.decide(None)?,
            }
        }
        if self.method == Some(Method::Text) {
            self.out.push_str(text);
            return self.check();
        }
        let Some(open) = self.open.last_mut() else {
            self.wrote_top = true;
            if raw {
                escape::raw(&mut self.out, text, self.encoding);
            } else if self.method == Some(Method::Html) {
                escape::html_text(&mut self.out, text, self.encoding);
            } else {
                escape::text(&mut self.out, text, self.encoding);
            }
            return self.check();
        };
        let (cdata, raw_text, html) = (open.cdata, open.raw_text, open.html);
        if open.indents {
            // Text shows white space around it: none is added here, and what was added goes.
            open.indents = false;
            let from = open.inserted_before;
            self.take_back(from);
        }
        if cdata && !raw {
            if self.tag_open {
                self.out.push('>');
                self.tag_open = false;
            }
            self.cdata.push_str(text);
            return self.check();
        }
        self.close_tag();
        if raw || raw_text {
            escape::raw(&mut self.out, text, self.encoding);
        } else if html {
            escape::html_text(&mut self.out, text, self.encoding);
        } else {
            escape::text(&mut self.out, text, self.encoding);
        }
        self.check()
    }

    /// Takes white space out again that was added since.
    fn take_back(&mut self, from: usize) {
        let Some((first, _)) = self.inserted.get(from).copied() else { return };
        let tail = self.out.split_off(first);
        let mut at = 0;
        for (start, length) in self.inserted.drain(from..) {
            let start = start - first;
            self.out.push_str(&tail[at..start]);
            at = start + length;
        }
        self.out.push_str(&tail[at..]);
    }

    pub(crate) fn comment(&mut self, text: &str) -> Res<()> {
        if !self.started {
            match self.method {
                Some(_) => self.start(),
                None => {
                    self.early_bytes += text.len() + 7;
                    self.keep_early(Early::Comment(text.to_owned()));
                    return self.check();
                }
            }
        }
        if self.method == Some(Method::Text) {
            return Ok(());
        }
        self.before_child(false);
        self.out.push_str("<!--");
        self.out.push_str(text);
        self.out.push_str("-->");
        self.check()
    }

    pub(crate) fn instruction(&mut self, target: &str, content: &str) -> Res<()> {
        if !self.started {
            match self.method {
                Some(_) => self.start(),
                None => {
                    self.early_bytes += target.len() + content.len() + 4;
                    self.keep_early(Early::Instruction(target.to_owned(), content.to_owned()));
                    return self.check();
                }
            }
        }
        if self.method == Some(Method::Text) {
            return Ok(());
        }
        self.before_child(false);
        self.out.push_str("<?");
        self.out.push_str(target);
        if !content.is_empty() {
            self.out.push(' ');
            self.out.push_str(content);
        }
        self.out.push_str(if self.is_html() { ">" } else { "?>" });
        self.check()
    }

    /// The bytes, the method that was used and the name of the encoding.
    pub(crate) fn finish(mut self) -> Res<(Vec<u8>, Method, String)> {
        if !self.started {
            self.decide(None)?;
        }
        self.close_tag();
        while !self.open.is_empty() {
            self.end_element()?;
        }
        if self.indents()
            && self.method != Some(Method::Text)
            && !self.out.is_empty()
            && !self.out.ends_with('\n')
        {
            self.out.push('\n');
        }
        self.check()?;
        let method = self.method.unwrap_or(Method::Xml);
        Ok((self.encoding.encode(self.out), method, self.encoding_name))
    }
}

/// Whether this is `xml:space="preserve"`.
fn keeps_space(attribute: &OutAttribute<'_>) -> bool {
    &*attribute.name.local == "space"
        && *attribute.name.namespace == *XML_NAMESPACE
        && &*attribute.value == "preserve"
}

/// A public or system identifier in the quotes that fit it.
fn push_identifier(out: &mut String, text: &str) {
    let quote = if text.contains('"') { '\'' } else { '"' };
    out.push(quote);
    out.push_str(text);
    out.push(quote);
}
