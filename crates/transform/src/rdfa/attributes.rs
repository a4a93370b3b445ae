//! The attributes RDFa reads, taken off an element in one pass, and the check whether a page has any that matter.

use html5ever::{local_name, ns};

use super::Profile;
use super::initial::term;
use crate::dom::{Dom, Element, NodeData};

/// What one element says, as written.
#[derive(Debug, Default)]
pub(super) struct Attributes<'a> {
    pub(super) about: Option<&'a str>,
    pub(super) content: Option<&'a str>,
    pub(super) datatype: Option<&'a str>,
    pub(super) datetime: Option<&'a str>,
    pub(super) href: Option<&'a str>,
    pub(super) id: Option<&'a str>,
    pub(super) inlist: bool,
    pub(super) language: Option<&'a str>,
    pub(super) prefix: Option<&'a str>,
    pub(super) property: Option<&'a str>,
    pub(super) rel: Option<&'a str>,
    pub(super) resource: Option<&'a str>,
    pub(super) rev: Option<&'a str>,
    pub(super) role: Option<&'a str>,
    pub(super) src: Option<&'a str>,
    pub(super) type_of: Option<&'a str>,
    pub(super) value: Option<&'a str>,
    pub(super) vocab: Option<&'a str>,
    pub(super) xml_base: Option<&'a str>,
    /// Words of `rel` and `rev` without a colon are not meant for RDFa.
    pub(super) only_curies: bool,
    /// Namespaces are declared.
    pub(super) xmlns: bool,
}

impl<'a> Attributes<'a> {
    pub(super) fn of(element: &'a Element, profile: Profile) -> Self {
        let mut found = Self::default();
        let mut xml_lang = None;
        let mut html_xml_lang = None;
        for attribute in &element.attributes {
            let value = &*attribute.value;
            if attribute.name.ns == ns!() && attribute.name.prefix.is_none() {
                match &*attribute.name.local {
                    "about" => found.about = Some(value),
                    "content" => found.content = Some(value),
                    "datatype" => found.datatype = Some(value),
                    "datetime" => found.datetime = Some(value),
                    "href" => found.href = Some(value),
                    "id" => found.id = Some(value),
                    "inlist" => found.inlist = true,
                    "lang" if profile.html => found.language = Some(value),
                    "prefix" => found.prefix = Some(value),
                    "property" => found.property = Some(value),
                    "rel" => found.rel = Some(value),
                    "resource" => found.resource = Some(value),
                    "rev" => found.rev = Some(value),
                    "role" => found.role = Some(value),
                    "src" => found.src = Some(value),
                    "typeof" => found.type_of = Some(value),
                    "value" => found.value = Some(value),
                    "vocab" => found.vocab = Some(value),
                    // In HTML a colon is a letter of the name. Browsers do not look at `xml:lang`, but who writes
                    // it alone means it.
                    "xml:lang" if !profile.xml => html_xml_lang = Some(value),
                    name if !profile.xml && name.starts_with("xmlns:") => found.xmlns = true,
                    _ => {}
                }
            } else if attribute.name.ns == ns!(xmlns) {
                found.xmlns = true;
            } else if attribute.name.ns == ns!(xml) {
                match &*attribute.name.local {
                    "lang" => xml_lang = Some(value),
                    "base" if profile.xml_base => found.xml_base = Some(value),
                    _ => {}
                }
            }
        }
        // Where both are given, XML's counts.
        found.language = xml_lang.or(found.language).or(html_xml_lang);
        found.keep_html_values(element, profile);
        found
    }

    /// `datetime` and `value` count in HTML 5, `value` only where it is the element's content.
    fn keep_html_values(&mut self, element: &Element, profile: Profile) {
        if self.datetime.is_none() && self.value.is_none() {
            return;
        }
        let name = &element.name.local;
        let in_html = profile.html5 && element.name.ns == ns!(html);
        if !in_html {
            self.datetime = None;
        }
        if !in_html || !matches!(*name, local_name!("data") | local_name!("li") | local_name!("input")) {
            self.value = None;
        }
    }

    /// The element is about something, or says something.
    pub(super) fn speaks(&self) -> bool {
        self.property.is_some()
            || self.type_of.is_some()
            || self.about.is_some()
            || self.resource.is_some()
            || self.rel.is_some()
            || self.rev.is_some()
            || self.role.is_some()
    }

    /// The element changes how the elements in it are read.
    pub(super) fn sets_scope(&self) -> bool {
        self.vocab.is_some()
            || self.prefix.is_some()
            || self.xmlns
            || self.language.is_some()
            || self.xml_base.is_some()
    }

    /// The element refers to something, which makes it the subject of what is said within.
    pub(super) fn refers(&self) -> bool {
        self.href.is_some() || self.src.is_some()
    }

    /// The words of `rel`.
    pub(super) fn relations(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        words(self.rel, self.only_curies)
    }

    /// The words of `rev`.
    pub(super) fn reverse_relations(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        words(self.rev, self.only_curies)
    }

    /// The literal that an attribute holds.
    pub(super) fn literal(&self) -> Option<&'a str> {
        self.content.or(self.datetime).or(self.value)
    }
}

fn words(value: Option<&str>, only_curies: bool) -> impl Iterator<Item = &str> {
    let words = value.unwrap_or_default().split_ascii_whitespace();
    words.filter(move |word| !only_curies || word.contains(':'))
}

/// True when something on the page can give a triple. Looks at every attribute once and at few values.
pub(super) fn says_something(dom: &Dom, profile: Profile) -> bool {
    dom.nodes.iter().any(|node| {
        let NodeData::Element(element) = &node.data else {
            return false;
        };
        element.attributes.iter().any(|attribute| {
            let name = &attribute.name.local;
            match *name {
                local_name!("property") | local_name!("role") => true,
                local_name!("rel") | local_name!("rev") => relates(&attribute.value, profile),
                local_name!("class") | local_name!("href") | local_name!("id") => false,
                _ => matches!(&**name, "typeof" | "vocab"),
            }
        })
    })
}

/// True when some word of a `rel` could be a predicate: nearly all are `nofollow`, `stylesheet` and the like.
fn relates(value: &str, profile: Profile) -> bool {
    value.split_ascii_whitespace().any(|word| word.contains(':') || term(word, profile.xhtml_terms).is_some())
}
