//! Links with a relation, wherever they are written: `<link>`, `<a rel>`, HTTP's `Link`.
//!
//! In: relation types and a resolved target. Out: a triple for each relation that says something about documents, and
//! what the link says of its target (media type, language, title). Relations of XHTML and IANA are
//! named in XHTML's vocabulary; relations that are IRIs are their own predicates.

use oxrdf::{Literal, NamedNode};
use webloom_model::vocab::{dcterms, rdfs, xhv};

use crate::Sink;

/// Link relations that say something about documents: those of XHTML's vocabulary and of IANA's
/// registry, without those that only tell a browser what to load or a crawler what to do.
const RELATIONS: &[&str] = &[
    "about",
    "acl",
    "alternate",
    "amphtml",
    "api-catalog",
    "appendix",
    "archives",
    "author",
    "bookmark",
    "canonical",
    "chapter",
    "cite",
    "cite-as",
    "collection",
    "contents",
    "convertedfrom",
    "copyright",
    "current",
    "describedby",
    "describes",
    "disclosure",
    "duplicate",
    "edit",
    "edit-form",
    "edit-media",
    "enclosure",
    "first",
    "glossary",
    "help",
    "hub",
    "index",
    "item",
    "last",
    "latest-version",
    "license",
    "linkset",
    "lrdd",
    "me",
    "memento",
    "meta",
    "monitor",
    "next",
    "next-archive",
    "original",
    "payment",
    "pingback",
    "predecessor-version",
    "prev",
    "prev-archive",
    "preview",
    "privacy-policy",
    "profile",
    "publisher",
    "related",
    "replies",
    "search",
    "section",
    "self",
    "service",
    "service-desc",
    "service-doc",
    "service-meta",
    "shortlink",
    "start",
    "status",
    "subsection",
    "successor-version",
    "tag",
    "terms-of-service",
    "timegate",
    "timemap",
    "top",
    "type",
    "up",
    "version-history",
    "via",
    "webmention",
    "working-copy",
    "working-copy-of",
];

/// Relations of one link that are looked at.
const RELATIONS_PER_LINK_MAX: usize = 16;

/// The names of the relations in `rel` that are written, as XHTML's vocabulary spells them.
pub(crate) fn names(rel: &str) -> impl Iterator<Item = &'static str> + '_ {
    // An alternate style sheet is another coat, not another version of the document.
    let is_style = rel.split_ascii_whitespace().any(|token| token.eq_ignore_ascii_case("stylesheet"));
    rel.split_ascii_whitespace().take(RELATIONS_PER_LINK_MAX).filter_map(move |token| {
        // The vocabulary knows both names for one relation, and prefers the shorter.
        let token = if token.eq_ignore_ascii_case("previous") { "prev" } else { token };
        let name = *RELATIONS.iter().find(|known| known.eq_ignore_ascii_case(token))?;
        (!(is_style && name == "alternate")).then_some(name)
    })
}

/// The relations in `rel` that are IRIs: RFC 8288's extension relation types.
pub(crate) fn extensions(rel: &str) -> impl Iterator<Item = NamedNode> + '_ {
    rel.split_ascii_whitespace()
        .take(RELATIONS_PER_LINK_MAX)
        .filter(|token| token.contains(':'))
        .filter_map(|token| NamedNode::new(token).ok())
}

/// The predicate of a relation from the table.
pub(crate) fn predicate(name: &'static str) -> NamedNode {
    // Names from the table above are valid in an IRI.
    NamedNode::new_unchecked(format!("{}{name}", xhv::NAMESPACE))
}

/// What a link says of its target.
#[derive(Debug, Default, Clone)]
pub(crate) struct TargetNotes {
    /// Media type.
    pub media_type: Option<String>,
    /// Languages it comes in.
    pub languages: Vec<String>,
    /// What it is called.
    pub title: Option<Literal>,
}

impl TargetNotes {
    /// Writes the notes, with the target as their subject.
    pub(crate) fn emit(&self, target: &NamedNode, sink: &mut Sink<'_>) {
        if let Some(media_type) = &self.media_type {
            sink.push_triple(target.clone(), dcterms::FORMAT, Literal::new_simple_literal(media_type));
        }
        for language in &self.languages {
            sink.push_triple(target.clone(), dcterms::LANGUAGE, Literal::new_simple_literal(language));
        }
        if let Some(title) = &self.title {
            sink.push_triple(target.clone(), rdfs::LABEL, title.clone());
        }
    }
}

/// A `type` as a media type without its parameters, if it is one.
pub(crate) fn media_type(text: &str) -> Option<String> {
    let essence = text.split(';').next().unwrap_or_default().trim();
    let (major, minor) = essence.split_once('/')?;
    let is_token = |text: &str| {
        !text.is_empty()
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
    };
    (is_token(major) && is_token(minor)).then(|| essence.to_ascii_lowercase())
}
