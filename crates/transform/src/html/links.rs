//! Where an HTML page leads, from its tags alone: for whoever wants to go on and not to know what the page says.
//!
//! In: a detected page. Out: [`PageLinks`], the links that [`plain`] would find in the tree, with their words. One pass over
//! the tokens, no tree and no quads: a fraction of what a parse takes. What a tree would move or drop stays where it is: the words of a link
//! that is never closed may differ, and links are found where no tree would have them, as behind a `<frameset>`. Start at [`links`].

use std::cell::{Cell, RefCell};
use std::time::Instant;

use html5ever::tendril::StrTendril;
use html5ever::tokenizer::states::RawKind;
use html5ever::tokenizer::{Tag, TagKind, Token, TokenSink, TokenSinkResult};
use html5ever::{LocalName, local_name};
use webloom_model::{DetectedPage, DocumentKind, PageLink, PageLinks, PageUrl, RobotsDirectives};

use super::encoding::{self, QueryEncoding};
use super::plain::{self, Collapsed, is_hidden, is_inline};
use super::tokenize::{Tokenizer, normalize};
use crate::TransformConfig;
use crate::decode::text_of;
use crate::maps::HashMap;
use crate::robots;

/// Tokens between two looks at the clock.
const TOKENS_PER_LOOK: u64 = 4096;

/// The links of an HTML page. Nothing for other documents: where those lead is told by what they say.
pub fn links(page: &DetectedPage, config: &TransformConfig) -> Option<PageLinks> {
    if page.detection.kind != DocumentKind::Html {
        return None;
    }
    let scanner = Scanner {
        config,
        deadline: Instant::now() + config.limits.time_max,
        tokens: Cell::new(0),
        late: Cell::new(false),
        state: RefCell::default(),
    };
    let text = text_of(page);
    let text = normalize(&text);
    let scanner =
        Tokenizer::new(&text, scanner, config.limits.html_attributes_max).run(|scanner| scanner.late.get());
    let mut found = scanner.state.into_inner();
    found.close(config.limits.anchor_chars_max);
    let url = &page.page.url;
    let encoding = QueryEncoding::of(page);
    let base = found.base.as_deref().map_or_else(
        || url.clone(),
        |href| encoding::resolve(url, href, encoding).unwrap_or_else(|_| url.clone()),
    );
    robots::from_headers(&page.page, &config.robots_agent, &mut found.robots);
    Some(PageLinks {
        links: resolve(found.mentions, url, &base, encoding, config.limits.links_max),
        robots: found.robots,
    })
}

/// Each target once, with what all mentions of it say together.
fn resolve(
    mentions: Vec<Mention>,
    page: &PageUrl,
    base: &PageUrl,
    encoding: Option<QueryEncoding>,
    links_max: usize,
) -> Vec<PageLink> {
    let mut links: Vec<PageLink> = Vec::with_capacity(mentions.len().min(links_max));
    let mut numbers: HashMap<PageUrl, usize> = HashMap::default();
    for Mention { href, followed, words } in mentions {
        if plain::mailbox(&href).is_some() {
            continue;
        }
        let Ok(target) = encoding::resolve(base, &href, encoding) else { continue };
        if target == *page {
            continue;
        }
        if let Some(&number) = numbers.get(&target) {
            let link = &mut links[number];
            link.followed |= followed;
            link.anchor = link.anchor.take().or(words);
        } else if links.len() < links_max {
            numbers.insert(target.clone(), links.len());
            links.push(PageLink { target, anchor: words, followed });
        }
    }
    links
}

/// Takes the tokens of a page.
struct Scanner<'a> {
    config: &'a TransformConfig,
    deadline: Instant,
    tokens: Cell<u64>,
    late: Cell<bool>,
    state: RefCell<State>,
}

/// A link as it stands in the page.
struct Mention {
    href: StrTendril,
    followed: bool,
    words: Option<String>,
}

/// A link whose end is still to come.
struct OpenLink {
    /// Its place among the mentions.
    number: usize,
    words: Collapsed,
}

#[derive(Default)]
struct State {
    mentions: Vec<Mention>,
    robots: RobotsDirectives,
    /// The reference of the first `<base>` that has one.
    base: Option<StrTendril>,
    open: Option<OpenLink>,
    /// Elements that are open: those whose text is not shown, templates, drawings and formulas, and HTML in these.
    hidden: usize,
    templates: usize,
    foreign: usize,
    integrated: usize,
}

impl State {
    /// Ends the link that is open, if one is.
    fn close(&mut self, chars_max: usize) {
        if let Some(OpenLink { number, words }) = self.open.take() {
            self.mentions[number].words = plain::cut(words.text, chars_max);
        }
    }

    /// Lets the words of an open link be parted, or not, by the edge of an element.
    fn edge(&mut self, name: &LocalName) {
        if let Some(link) = &mut self.open
            && !is_inline(name)
        {
            link.words.space();
        }
    }

    /// True in drawings and formulas, where names mean something else.
    fn is_foreign(&self) -> bool {
        self.foreign > self.integrated
    }

    fn mention(&mut self, href: &StrTendril, rel: &str, words: Option<String>) {
        if self.templates == 0 {
            self.mentions.push(Mention { href: href.clone(), followed: plain::is_followed(rel), words });
        }
    }

    fn start(&mut self, tag: &Tag, config: &TransformConfig) -> TokenSinkResult<()> {
        let get = |name: LocalName| value(tag, &name);
        let chars_max = config.limits.anchor_chars_max;
        self.edge(&tag.name);
        match tag.name {
            local_name!("svg") | local_name!("math") if !tag.self_closing => self.foreign += 1,
            local_name!("foreignobject") | local_name!("annotation-xml")
                if self.is_foreign() && !tag.self_closing =>
            {
                self.integrated += 1;
            }
            local_name!("a") => {
                // The start of a link is the end of the one before it.
                self.close(chars_max);
                let href = get(local_name!("href")).or_else(|| named(tag, "xlink:href"));
                if let Some(href) = href
                    && self.templates == 0
                {
                    let number = self.mentions.len();
                    self.mention(href, get(local_name!("rel")).map_or("", |rel| rel), None);
                    // Four bytes is the most a character takes.
                    self.open = Some(OpenLink { number, words: Collapsed::new(chars_max * 4) });
                }
            }
            _ if self.is_foreign() => {}
            local_name!("area") => {
                if let Some(href) = get(local_name!("href")).or_else(|| named(tag, "xlink:href")) {
                    let words = get(local_name!("alt")).and_then(|text| plain::non_empty(text, chars_max));
                    self.mention(href, get(local_name!("rel")).map_or("", |rel| rel), words);
                }
            }
            local_name!("frame") | local_name!("iframe") => {
                if let Some(source) = get(local_name!("src")) {
                    let words = get(local_name!("title")).and_then(|text| plain::non_empty(text, chars_max));
                    self.mention(source, "", words);
                }
            }
            local_name!("base") if self.base.is_none() && self.templates == 0 => {
                self.base = get(local_name!("href")).cloned();
            }
            local_name!("meta") if self.templates == 0 => self.meta(tag, config),
            local_name!("img") => {
                if let (Some(link), Some(text)) = (&mut self.open, get(local_name!("alt"))) {
                    link.words.push(text);
                    link.words.space();
                }
            }
            local_name!("template") => self.templates += 1,
            _ => {}
        }
        if self.is_foreign() {
            return TokenSinkResult::Continue;
        }
        if is_hidden(&tag.name) {
            self.hidden += 1;
        }
        match tag.name {
            local_name!("title") | local_name!("textarea") => TokenSinkResult::RawData(RawKind::Rcdata),
            local_name!("script") => TokenSinkResult::RawData(RawKind::ScriptData),
            local_name!("style")
            | local_name!("xmp")
            | local_name!("iframe")
            | local_name!("noembed")
            | local_name!("noframes") => TokenSinkResult::RawData(RawKind::Rawtext),
            local_name!("plaintext") => TokenSinkResult::Plaintext,
            _ => TokenSinkResult::Continue,
        }
    }

    fn meta(&mut self, tag: &Tag, config: &TransformConfig) {
        let Some(content) = value(tag, &local_name!("content")) else { return };
        let name = value(tag, &local_name!("name")).map_or("", |name| name.trim());
        if name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(&config.robots_agent) {
            robots::from_meta(content, &mut self.robots);
        } else if value(tag, &local_name!("http-equiv"))
            .is_some_and(|name| name.eq_ignore_ascii_case("refresh"))
            && let Some(target) = plain::refresh_target(content)
        {
            self.mention(&StrTendril::from_slice(target), "", None);
        }
    }

    fn end(&mut self, name: &LocalName, chars_max: usize) {
        match *name {
            local_name!("a") => return self.close(chars_max),
            local_name!("svg") | local_name!("math") => {
                self.foreign = self.foreign.saturating_sub(1);
                self.integrated = self.integrated.min(self.foreign);
            }
            local_name!("foreignobject") | local_name!("annotation-xml") => {
                self.integrated = self.integrated.saturating_sub(1);
            }
            local_name!("template") if !self.is_foreign() => {
                self.templates = self.templates.saturating_sub(1);
            }
            _ => {}
        }
        if !self.is_foreign() && is_hidden(name) {
            self.hidden = self.hidden.saturating_sub(1);
        }
        self.edge(name);
    }
}

impl TokenSink for Scanner<'_> {
    type Handle = ();

    fn process_token(&self, token: Token, _line: u64) -> TokenSinkResult<()> {
        self.tokens.set(self.tokens.get() + 1);
        if self.tokens.get().is_multiple_of(TOKENS_PER_LOOK) && Instant::now() >= self.deadline {
            self.late.set(true);
        }
        let mut state = self.state.borrow_mut();
        match token {
            Token::TagToken(tag) if tag.kind == TagKind::StartTag => return state.start(&tag, self.config),
            Token::TagToken(tag) => state.end(&tag.name, self.config.limits.anchor_chars_max),
            Token::CharacterTokens(text) if state.hidden == 0 => {
                if let Some(link) = &mut state.open {
                    link.words.push(&text);
                }
            }
            _ => {}
        }
        TokenSinkResult::Continue
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&self) -> bool {
        self.state.borrow().is_foreign()
    }
}

/// The value of an attribute.
fn value<'t>(tag: &'t Tag, name: &LocalName) -> Option<&'t StrTendril> {
    tag.attrs.iter().find(|attribute| attribute.name.local == *name).map(|attribute| &attribute.value)
}

/// The same for a name that is none of HTML's.
fn named<'t>(tag: &'t Tag, name: &str) -> Option<&'t StrTendril> {
    tag.attrs.iter().find(|attribute| *attribute.name.local == *name).map(|attribute| &attribute.value)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use bytes::Bytes;
    use webloom_model::FetchedPage;

    use super::*;
    use crate::transform;

    fn page(html: &str) -> DetectedPage {
        let url = PageUrl::parse("https://example.org/dir/page").unwrap();
        let page = FetchedPage::local(url, Some("text/html"), Bytes::copy_from_slice(html.as_bytes()));
        let mut page = webloom_detect::detect(page);
        page.detection.kind = DocumentKind::Html;
        page
    }

    /// Targets and robots must be those of the tree.
    #[track_caller]
    fn check(html: &str) -> Vec<PageLink> {
        let (page, config) = (page(html), TransformConfig::default());
        let scanned = links(&page, &config).unwrap();
        let graph = transform(&page, &config);
        let targets: BTreeSet<&str> = scanned.links.iter().map(|link| link.target.as_str()).collect();
        assert_eq!(targets, graph.plain_links.iter().map(String::as_str).collect(), "{html}");
        let refused: BTreeSet<&str> =
            scanned.links.iter().filter(|link| !link.followed).map(|link| link.target.as_str()).collect();
        assert_eq!(refused, graph.nofollow.iter().map(String::as_str).collect(), "{html}");
        assert_eq!(scanned.robots, graph.robots, "{html}");
        scanned.links
    }

    #[test]
    fn targets_are_those_of_the_tree() {
        for html in [
            "",
            "<a href=a>A</a><a href=/b>B<a href=c>C",
            "<a href=x rel=nofollow>1</a><a href=y rel='UGC x'>2</a><a href=x>3</a>",
            "<base href=/other/><a href=a>",
            "<a href=a><base href='https://b.example/'><base href=/ignored/>",
            "<meta name=robots content='noindex, nofollow'><a href=a>",
            "<meta name=Webloom content=none><meta name=otherbot content=nofollow>",
            "<meta http-equiv=Refresh content='5; url=next'><a href=#top><a href=''>",
            "<map><area href=one alt=One><area alt=none></map><iframe src=frame title=T></iframe>",
            "<frameset><frame src=f1><frame src=f2></frameset>",
            "<script>'<a href=no>'</script><style><a href=no></style><a href=yes>",
            "<title><a href=no></title><textarea><a href=no></textarea><a href=yes>",
            "<xmp><a href=no></xmp><noscript><a href=yes></noscript><!-- <a href=no> --><a href=also>",
            "<template><a href=no><base href=/x/></template><a href=yes>",
            "<svg><a xlink:href=drawn>x</a><style/><title/><script/></svg><a href=after>",
            "<svg><foreignObject><p><a href=in>x</a><script>'<a href=no>'</script></foreignObject></svg><a href=after>",
            "<math><mi><a href=m></mi></math><a href=after>",
            "<svg><![CDATA[<a href=no>]]></svg><![CDATA[<a href=yes>]]>",
            "<a href=mailto:x@example.org>m</a><a href=javascript:x()>j</a><a href='http://['>bad</a>",
            "<a href='a&amp;b=&eacute;'>x</a><A HREF=Upper>y</A><a name=anchor>z</a>",
            "<table><a href=fostered><tr><td><a href=cell></table><select><option>o</select><a href=end>",
            "<plaintext><a href=no>",
            "<a href=one href=two>x</a><a\nhref\n=\nlines\n>y</a><a href=open",
        ] {
            check(html);
        }
    }

    #[test]
    fn words_are_those_of_the_link() {
        for (html, words) in [
            ("<a href=a>Plain words</a>", Some("Plain words")),
            (
                "<a href=a>\n Many   <b>bold</b>ly<br>parted <img alt='seen' src=i></a>",
                Some("Many boldly parted seen"),
            ),
            ("<a href=a></a><a href=a>second</a><a href=a>third</a>", Some("second")),
            ("<a href=a>not<script>this</script><style>that</style></a>", Some("not")),
            ("<a href=a>outer<iframe src=f title=inner></iframe> still</a>", Some("outer still")),
            ("<a href=a>never closed <p>and on", Some("never closed and on")),
            ("<area href=a alt=' an  area '>", Some("an area")),
            ("<a href=a><img src=i></a>", None),
        ] {
            let links = check(html);
            assert_eq!(links[0].anchor.as_deref(), words, "{html}");
        }
        let long = format!("<a href=a>{}</a>", "word ".repeat(1000));
        assert!(check(&long)[0].anchor.as_ref().unwrap().chars().count() <= 200);
    }

    #[test]
    fn other_documents_are_left_to_who_reads_them() {
        let mut page = page("<a href=x>");
        page.detection.kind = DocumentKind::Atom;
        assert_eq!(links(&page, &TransformConfig::default()), None);
    }
}
