//! What every HTML page says, whatever else it carries: title, description, language, links with
//! their words, images, e-mail addresses, `rel` links. And its visible text, for search.
//!
//! One walk over the tree gathers it all in a [`PlainPage`]; [`read`] keeps its words and writes its quads,
//! with the page as their subject.

use html5ever::{LocalName, local_name, ns};
use oxrdf::{Literal, NamedNode};
use webloom_model::vocab::{dcterms, foaf, rdf, rdfs};
use webloom_model::{Diagnostic, PageUrl, RobotsDirectives, UrlProblem};

use super::parsed::language_tag;
use super::{ParsedPage, language};
use crate::dom::{Dom, Edge, Element, NodeData, NodeId};
use crate::maps::{HashMap, HashSet};
use crate::relation::{self, TargetNotes};
use crate::{Sink, Syntax, robots};

/// Different texts kept for one target.
const LABELS_PER_LINK_MAX: usize = 4;
/// Characters of a title or description.
const TITLE_CHARS_MAX: usize = 1000;
pub(crate) const DESCRIPTION_CHARS_MAX: usize = 5000;
/// Bytes that room is made for before there is any text.
const TEXT_ROOM_MAX: usize = 64 << 10;
/// Frames that are told apart from other links.
const SHOWN_INSTEAD_MAX: usize = 16;
/// Links with a relation that are kept.
const RELATIONS_MAX: usize = 1000;

/// Reads plain HTML: words and robots' directives always, quads where they are wanted.
pub(crate) fn read(page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
    let plain = PlainPage::gather(page, sink);
    let graph = &mut sink.graph;
    graph.robots.noindex |= plain.robots.noindex;
    graph.robots.nofollow |= plain.robots.nofollow;
    graph.nofollow = plain
        .links
        .iter()
        .filter(|link| !link.followed)
        .map(|link| link.target.as_str().to_owned())
        .collect();
    graph.refresh = plain.refresh.map(|number| plain.links[number].target.clone());
    if sink.config().wants(Syntax::Html) {
        let shown = plain.shown_instead.iter().map(|number| plain.links[*number].target.as_str().to_owned());
        sink.graph.shown_instead = shown.collect();
        sink.graph.plain_links = plain.links.iter().map(|link| link.target.as_str().to_owned()).collect();
        plain.emit(page, sink);
    }
    // They are said in `<link>`, beside the other things pages say of themselves.
    if sink.config().wants(Syntax::Html) || sink.config().wants(Syntax::Meta) {
        plain.emit_relations(page, sink);
    }
    let text = &mut sink.graph.text;
    text.title = plain.title;
    text.body = plain.body.text;
    text.language = page.language.clone().or_else(|| language::guess(&text.body).map(str::to_owned));
}

/// A distinct target of links.
struct Link {
    target: PageUrl,
    labels: Vec<String>,
    /// Some mention of it does not say `nofollow`.
    followed: bool,
}

/// What the walk gathers, everything in document order and each thing once.
#[derive(Default)]
struct PlainPage {
    title: Option<String>,
    description: Option<String>,
    links: Vec<Link>,
    /// The link that the first `<meta http-equiv=refresh>` is.
    refresh: Option<usize>,
    link_numbers: HashMap<PageUrl, usize>,
    links_cut: bool,
    /// Numbers of links that are frames, or where the page sends on to.
    shown_instead: Vec<usize>,
    images: Vec<PageUrl>,
    mailboxes: Vec<NamedNode>,
    relations: Vec<(&'static str, NamedNode, TargetNotes)>,
    seen: HashSet<(&'static str, String)>,
    robots: RobotsDirectives,
    body: Collapsed,
    /// References that are no IRI, and the first of them.
    bad_references: usize,
    bad_reference: Option<(String, u32)>,
}

/// A link whose end is still to come.
struct OpenLink {
    node: NodeId,
    number: Option<usize>,
    words: Collapsed,
}

impl PlainPage {
    fn gather(page: &ParsedPage<'_>, sink: &Sink<'_>) -> Self {
        let limits = sink.limits();
        let mut plain = Self { body: Collapsed::new(limits.text_bytes_max), ..Self::default() };
        // Markup takes more of most pages than words do.
        plain.body.text.reserve((page.page.body.len() / 4).min(TEXT_ROOM_MAX));
        let mut open_links: Vec<OpenLink> = Vec::new();
        // Depth below `<body>`, and below what is not shown.
        let mut in_body = 0_usize;
        let mut hidden = 0_usize;
        for edge in page.dom.traverse(Dom::ROOT) {
            let (Edge::Open(id) | Edge::Close(id)) = edge;
            let opening = matches!(edge, Edge::Open(_));
            match &page.dom.node(id).data {
                NodeData::Text(text) if opening && hidden == 0 && in_body > 0 => {
                    plain.body.push(text);
                    if let Some(link) = open_links.last_mut() {
                        link.words.push(text);
                    }
                }
                NodeData::Element(element) => {
                    let is_html = element.name.ns == ns!(html);
                    if is_html && is_hidden(&element.name.local) {
                        if opening { hidden += 1 } else { hidden -= 1 }
                    }
                    if element.is_html(&local_name!("body")) {
                        if opening { in_body += 1 } else { in_body -= 1 }
                    }
                    if in_body > 0 && !(is_html && is_inline(&element.name.local)) {
                        plain.body.space();
                        if let Some(link) = open_links.last_mut() {
                            link.words.space();
                        }
                    }
                    if opening {
                        // A drawing has links of its own.
                        let is_drawn_link =
                            element.name.ns == ns!(svg) && element.name.local == local_name!("a");
                        if is_html || is_drawn_link {
                            plain.open(page, id, element, &mut open_links, limits.links_max, sink);
                        }
                    } else if open_links.last().is_some_and(|link| link.node == id)
                        && let Some(link) = open_links.pop()
                    {
                        plain.label(link.number, cut(link.words.text, limits.anchor_chars_max));
                    }
                }
                _ => {}
            }
        }
        plain
    }

    fn open(
        &mut self,
        page: &ParsedPage<'_>,
        id: NodeId,
        element: &Element,
        open_links: &mut Vec<OpenLink>,
        links_max: usize,
        sink: &Sink<'_>,
    ) {
        let line = page.dom.node(id).line;
        let get = |name: LocalName| element.attribute(&name);
        match element.name.local {
            local_name!("title") if self.title.is_none() => {
                self.title = non_empty(&page.dom.text(id), TITLE_CHARS_MAX);
            }
            local_name!("meta") => {
                let Some(content) = get(local_name!("content")) else { return };
                let name = get(local_name!("name")).unwrap_or_default().trim();
                if name.eq_ignore_ascii_case("description") && self.description.is_none() {
                    self.description = non_empty(content, DESCRIPTION_CHARS_MAX);
                } else if name.eq_ignore_ascii_case("robots")
                    || name.eq_ignore_ascii_case(&sink.config().robots_agent)
                {
                    robots::from_meta(content, &mut self.robots);
                } else if get(local_name!("http-equiv"))
                    .is_some_and(|name| name.eq_ignore_ascii_case("refresh"))
                    && let Some(target) = refresh_target(content)
                    && let Some(number) = self.link(page, target, "", line, links_max)
                    && is_prompt(content)
                    && !is_within(page, id, &local_name!("noscript"))
                {
                    self.refresh.get_or_insert(number);
                    self.show_instead(number);
                }
            }
            local_name!("a") | local_name!("area") => {
                let href = get(local_name!("href")).or_else(|| element.attribute_named("xlink:href"));
                let Some(href) = href else { return };
                let rel = get(local_name!("rel")).unwrap_or_default();
                let number = self.link(page, href, rel, line, links_max);
                self.relate(page, element, href, rel, line);
                if element.name.local == local_name!("area") {
                    let alternative = get(local_name!("alt")).unwrap_or_default();
                    self.label(number, non_empty(alternative, sink.limits().anchor_chars_max));
                } else {
                    // Four bytes is the most a character takes.
                    let words = Collapsed::new(sink.limits().anchor_chars_max * 4);
                    open_links.push(OpenLink { node: id, number, words });
                }
            }
            local_name!("frame") | local_name!("iframe") => {
                if let Some(source) = get(local_name!("src")) {
                    let number = self.link(page, source, "", line, links_max);
                    let title = get(local_name!("title")).unwrap_or_default();
                    self.label(number, non_empty(title, sink.limits().anchor_chars_max));
                    // What is in an inner frame is beside the page, and often an advertisement.
                    if let Some(number) = number
                        && element.name.local == local_name!("frame")
                    {
                        self.show_instead(number);
                    }
                }
            }
            local_name!("link") => {
                if let (Some(href), Some(rel)) = (get(local_name!("href")), get(local_name!("rel"))) {
                    self.relate(page, element, href, rel, line);
                }
            }
            local_name!("img") => {
                if let Some(alternative) = get(local_name!("alt"))
                    && let Some(link) = open_links.last_mut()
                {
                    link.words.push(alternative);
                    link.words.space();
                }
                if let Some(source) = get(local_name!("src"))
                    && !source.trim().is_empty()
                    && let Some(image) = self.resolve(page, source, line)
                    && self.images.len() < links_max
                    && self.seen.insert(("image", image.as_str().to_owned()))
                {
                    self.images.push(image);
                }
            }
            _ => {}
        }
    }

    /// Notes a mention of a link target; answers its number where it is one to keep.
    fn link(
        &mut self,
        page: &ParsedPage<'_>,
        href: &str,
        rel: &str,
        line: u32,
        links_max: usize,
    ) -> Option<usize> {
        if let Some(mailbox) = mailbox(href) {
            match NamedNode::new(mailbox) {
                Ok(mailbox) if self.mailboxes.len() < links_max => {
                    if self.seen.insert(("mailbox", mailbox.as_str().to_owned())) {
                        self.mailboxes.push(mailbox);
                    }
                }
                Ok(_) => {}
                Err(_) => self.bad(href, line),
            }
            return None;
        }
        let target = self.resolve(page, href, line)?;
        if target == page.page.url {
            return None;
        }
        let followed = is_followed(rel);
        if let Some(&number) = self.link_numbers.get(&target) {
            self.links[number].followed |= followed;
            return Some(number);
        }
        if self.links.len() >= links_max {
            self.links_cut = true;
            return None;
        }
        let number = self.links.len();
        self.link_numbers.insert(target.clone(), number);
        self.links.push(Link { target, labels: Vec::new(), followed });
        Some(number)
    }

    fn show_instead(&mut self, number: usize) {
        if !self.shown_instead.contains(&number) && self.shown_instead.len() < SHOWN_INSTEAD_MAX {
            self.shown_instead.push(number);
        }
    }

    fn label(&mut self, number: Option<usize>, label: Option<String>) {
        let (Some(number), Some(label)) = (number, label) else { return };
        let labels = &mut self.links[number].labels;
        if labels.len() < LABELS_PER_LINK_MAX && !labels.contains(&label) {
            labels.push(label);
        }
    }

    /// Notes what `rel` says of a target.
    fn relate(&mut self, page: &ParsedPage<'_>, element: &Element, href: &str, rel: &str, line: u32) {
        for relation in relation::names(rel) {
            let target = match page.resolve(href) {
                Ok(target) => target.graph_name(),
                Err(UrlProblem::Scheme { text, .. }) => match NamedNode::new(text.trim()) {
                    Ok(target) if !target.as_str().to_ascii_lowercase().starts_with("javascript:") => target,
                    _ => return self.bad(href, line),
                },
                Err(_) => return self.bad(href, line),
            };
            if self.relations.len() < RELATIONS_MAX
                && self.seen.insert((relation, target.as_str().to_owned()))
            {
                self.relations.push((relation, target, notes(page, element)));
            }
        }
    }

    fn resolve(&mut self, page: &ParsedPage<'_>, reference: &str, line: u32) -> Option<PageUrl> {
        match page.resolve(reference) {
            Ok(url) => Some(url),
            // `javascript:`, `tel:`, `data:` are no mistake, only nothing for us.
            Err(UrlProblem::Scheme { .. }) => None,
            Err(UrlProblem::Unparsable { .. } | UrlProblem::TooLong { .. }) => {
                self.bad(reference, line);
                None
            }
        }
    }

    fn bad(&mut self, reference: &str, line: u32) {
        self.bad_references += 1;
        if self.bad_reference.is_none() {
            self.bad_reference = Some((reference.chars().take(80).collect(), line));
        }
    }

    fn emit_relations(&self, page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
        let subject = page.page.url.graph_name();
        for (relation, target, notes) in &self.relations {
            sink.push_triple(subject.clone(), relation::predicate(relation), target.clone());
            notes.emit(target, sink);
        }
    }

    fn emit(&self, page: &ParsedPage<'_>, sink: &mut Sink<'_>) {
        let subject = page.page.url.graph_name();
        sink.push_triple(subject.clone(), rdf::TYPE, foaf::DOCUMENT);
        if let Some(title) = &self.title {
            sink.push_triple(subject.clone(), dcterms::TITLE, page.literal(title));
        }
        if let Some(description) = &self.description {
            sink.push_triple(subject.clone(), dcterms::DESCRIPTION, page.literal(description));
        }
        if let Some(language) = &page.language {
            sink.push_triple(subject.clone(), dcterms::LANGUAGE, Literal::new_simple_literal(language));
        }
        for link in &self.links {
            let target = link.target.graph_name();
            sink.push_triple(subject.clone(), rdfs::SEE_ALSO, target.clone());
            for label in &link.labels {
                sink.push_triple(target.clone(), rdfs::LABEL, page.literal(label));
            }
        }
        for image in &self.images {
            sink.push_triple(subject.clone(), foaf::DEPICTION, image.graph_name());
        }
        for mailbox in &self.mailboxes {
            sink.push_triple(subject.clone(), foaf::MBOX, mailbox.clone());
        }
        if self.links_cut {
            let message =
                format!("the page has more than {} distinct links; the rest was left out", self.links.len());
            sink.diagnose(Diagnostic::warning("html-links-cut", message));
        }
        if let Some((reference, line)) = &self.bad_reference {
            let others = match self.bad_references - 1 {
                0 => String::new(),
                others => format!(", nor are {others} others"),
            };
            let message = format!("`{reference}` is not a usable reference{others}");
            sink.diagnose(Diagnostic::note("html-bad-reference", message).at_line(u64::from(*line)));
        }
    }
}

/// What a link with a relation says of its target.
fn notes(page: &ParsedPage<'_>, element: &Element) -> TargetNotes {
    // The words of an `<a>` are its label already.
    let is_link = element.name.local == local_name!("link");
    let title = element.attribute(&local_name!("title")).filter(|_| is_link);
    TargetNotes {
        media_type: element.attribute(&local_name!("type")).and_then(relation::media_type),
        languages: element.attribute(&local_name!("hreflang")).and_then(language_tag).into_iter().collect(),
        title: title.and_then(|title| non_empty(title, TITLE_CHARS_MAX)).map(|title| page.literal(&title)),
    }
}

/// Whether a link with that relation may be followed.
pub(super) fn is_followed(rel: &str) -> bool {
    !rel.split_ascii_whitespace()
        .any(|token| ["nofollow", "sponsored", "ugc"].iter().any(|word| word.eq_ignore_ascii_case(token)))
}

/// The address of a `mailto:` reference, as an IRI without its query.
pub(super) fn mailbox(href: &str) -> Option<String> {
    let href = href.trim();
    if !href.get(..7)?.eq_ignore_ascii_case("mailto:") {
        return None;
    }
    let address = href[7..].split(['?', '#']).next().unwrap_or_default().trim();
    Some(format!("mailto:{address}")).filter(|_| address.contains('@'))
}

/// The target of `<meta http-equiv=refresh content="5; url=…">`.
pub(super) fn refresh_target(content: &str) -> Option<&str> {
    let (_, rest) = content.split_once([';', ','])?;
    let rest = rest.trim();
    let target = if rest.get(..3).is_some_and(|start| start.eq_ignore_ascii_case("url")) {
        rest[3..].trim_start().strip_prefix('=')?.trim()
    } else {
        rest
    };
    let target = target.trim_matches(['"', '\'']);
    (!target.is_empty()).then_some(target)
}

/// Seconds after which a page that refreshes was meant to be read itself.
const REFRESH_SECONDS_MAX: f64 = 10.0;

/// Whether a refresh comes so soon that it stands for a redirect.
fn is_prompt(content: &str) -> bool {
    let seconds = content.split([';', ',']).next().unwrap_or_default().trim();
    seconds.parse().is_ok_and(|seconds: f64| seconds <= REFRESH_SECONDS_MAX)
}

/// Whether an element of that name has another one in it.
fn is_within(page: &ParsedPage<'_>, id: NodeId, name: &LocalName) -> bool {
    let mut ancestors = std::iter::successors(page.dom.parent(id), |id| page.dom.parent(*id));
    ancestors.any(|id| page.dom.element(id).is_some_and(|element| element.name.local == *name))
}

/// Text with white space collapsed and cut to a number of characters, if anything is left.
pub(crate) fn non_empty(text: &str, chars_max: usize) -> Option<String> {
    let mut collapsed = Collapsed::new(chars_max.saturating_mul(4));
    collapsed.push(text);
    cut(collapsed.text, chars_max)
}

/// The same for text whose white space is collapsed already.
pub(super) fn cut(mut text: String, chars_max: usize) -> Option<String> {
    // No text has more characters than bytes.
    if text.len() > chars_max
        && let Some((cut, _)) = text.char_indices().nth(chars_max)
    {
        text.truncate(cut);
        text.truncate(text.trim_end().len());
    }
    (!text.is_empty()).then_some(text)
}

/// Text that grows with its white space collapsed, up to a number of bytes.
#[derive(Default)]
pub(crate) struct Collapsed {
    pub(crate) text: String,
    gap: bool,
    bytes_max: usize,
}

/// What white space a text has.
struct Looks {
    /// Perhaps some beyond ASCII.
    beyond_ascii: bool,
    /// Some that is no blank, or blanks side by side.
    ragged: bool,
}

impl Looks {
    /// Short texts go through a table; of longer ones, many bytes are looked at together, without a branch.
    fn of(bytes: &[u8]) -> Self {
        if bytes.len() <= 16 {
            let mut found = 0;
            let mut before = 0;
            for &byte in bytes {
                let kind = KINDS[usize::from(byte)];
                found |= kind | (before & kind & BLANK) << 1;
                before = kind;
            }
            return Self { beyond_ascii: found & BEYOND != 0, ragged: found & RAGGED != 0 };
        }
        let beyond_ascii =
            !bytes.is_ascii() && (any_within(bytes, 0xC2, 0xC2) || any_within(bytes, 0xE1, 0xE3));
        Self { beyond_ascii, ragged: any_within(bytes, b'\t', b'\r') || any_blanks(bytes) }
    }
}

/// Whether some byte is in a range. Not inlined, where it would be compiled to one byte after the other.
#[inline(never)]
fn any_within(bytes: &[u8], first: u8, last: u8) -> bool {
    bytes.iter().fold(0, |found, byte| found | u8::from(byte.wrapping_sub(first) <= last - first)) != 0
}

/// Whether blanks stand side by side.
#[inline(never)]
fn any_blanks(bytes: &[u8]) -> bool {
    let sides = bytes.iter().zip(bytes.get(1..).unwrap_or_default());
    sides.fold(0, |found, (byte, next)| found | u8::from((byte ^ b' ') | (next ^ b' ') == 0)) != 0
}

const BLANK: u8 = 1;
/// Twice a blank, so that two of them side by side make one of these.
const RAGGED: u8 = 2;
const BEYOND: u8 = 4;

/// What a byte of a text can be to [`Looks`].
const KINDS: [u8; 256] = {
    let mut kinds = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        kinds[byte] = match byte as u8 {
            b' ' => BLANK,
            b'\t'..=b'\r' => RAGGED,
            0xC2 | 0xE1..=0xE3 => BEYOND,
            _ => 0,
        };
        byte += 1;
    }
    kinds
};

impl Collapsed {
    pub(crate) fn new(bytes_max: usize) -> Self {
        Self { text: String::new(), gap: false, bytes_max }
    }

    pub(crate) fn space(&mut self) {
        self.gap = true;
    }

    pub(crate) fn push(&mut self, text: &str) {
        if self.text.len() >= self.bytes_max {
            return;
        }
        let looks = Looks::of(text.as_bytes());
        if looks.beyond_ascii {
            self.push_words(text);
        } else if looks.ragged {
            self.push_runs(text);
        } else {
            self.push_tidy(text);
        }
    }

    /// For text whose words are one blank apart already.
    fn push_tidy(&mut self, text: &str) {
        let words = text.strip_prefix(' ');
        self.gap |= words.is_some();
        let words = words.unwrap_or(text);
        let (words, gap_after) = words.strip_suffix(' ').map_or((words, false), |words| (words, true));
        if !words.is_empty() && self.append(words) {
            self.gap = gap_after;
        }
    }

    /// For text that may have white space beyond ASCII.
    fn push_words(&mut self, text: &str) {
        self.gap |= text.starts_with(char::is_whitespace);
        for word in text.split_whitespace() {
            if !self.append(word) {
                return;
            }
            self.gap = true;
        }
        self.gap = text.ends_with(char::is_whitespace) || (self.gap && text.trim().is_empty());
    }

    /// For text whose white space is ASCII: words that are one blank apart already are copied together.
    fn push_runs(&mut self, text: &str) {
        let is_space = |byte: u8| matches!(byte, b' ' | b'\t'..=b'\r');
        let bytes = text.as_bytes();
        let mut at = 0;
        loop {
            let start = at + bytes[at..].iter().take_while(|byte| is_space(**byte)).count();
            self.gap |= start > at;
            if start == bytes.len() {
                return;
            }
            at = start;
            while at < bytes.len() {
                if !is_space(bytes[at])
                    || (bytes[at] == b' ' && bytes.get(at + 1).is_some_and(|next| !is_space(*next)))
                {
                    at += 1;
                } else {
                    break;
                }
            }
            if !self.append(&text[start..at]) {
                return;
            }
            self.gap = false;
        }
    }

    /// Adds what there is room for, after a blank where one is due. False when there is no more room.
    fn append(&mut self, words: &str) -> bool {
        if self.gap && !self.text.is_empty() {
            self.text.push(' ');
        }
        let room = self.bytes_max.saturating_sub(self.text.len());
        let taken = words.floor_char_boundary(room);
        self.text.push_str(&words[..taken]);
        if taken < words.len() {
            // A shorter word that would still fit must not follow the one that was cut.
            self.bytes_max = self.text.len();
        }
        self.text.len() < self.bytes_max
    }
}

pub(super) fn is_hidden(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("script")
            | local_name!("style")
            | local_name!("template")
            | local_name!("noscript")
            | local_name!("noframes")
            | local_name!("noembed")
            | local_name!("iframe")
            | local_name!("title")
    )
}

/// Elements whose edges do not part words.
pub(super) fn is_inline(name: &LocalName) -> bool {
    matches!(
        *name,
        local_name!("a")
            | local_name!("abbr")
            | local_name!("acronym")
            | local_name!("b")
            | local_name!("bdi")
            | local_name!("bdo")
            | local_name!("big")
            | local_name!("cite")
            | local_name!("code")
            | local_name!("data")
            | local_name!("del")
            | local_name!("dfn")
            | local_name!("em")
            | local_name!("font")
            | local_name!("i")
            | local_name!("ins")
            | local_name!("kbd")
            | local_name!("label")
            | local_name!("mark")
            | local_name!("q")
            | local_name!("s")
            | local_name!("samp")
            | local_name!("small")
            | local_name!("span")
            | local_name!("strike")
            | local_name!("strong")
            | local_name!("sub")
            | local_name!("sup")
            | local_name!("time")
            | local_name!("tt")
            | local_name!("u")
            | local_name!("var")
            | local_name!("wbr")
    )
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Collapsed;

    proptest! {
        /// However text comes in pieces, its words come out one blank apart.
        #[test]
        fn words_are_one_blank_apart(pieces in prop::collection::vec("[a-zé \t\u{b}\n\u{a0}\u{3000}中]{0,24}", 0..6), max in 0_usize..60) {
            let mut collapsed = Collapsed::new(usize::MAX);
            let mut cut = Collapsed::new(max);
            for piece in &pieces {
                collapsed.push(piece);
                cut.push(piece);
            }
            let expected = pieces.concat().split_whitespace().collect::<Vec<_>>().join(" ");
            prop_assert_eq!(&collapsed.text, &expected);
            prop_assert!(cut.text.len() <= max.max(1));
            prop_assert!(expected.starts_with(cut.text.trim_end()));
        }
    }
}
