//! A web as large as you like in no memory at all: every page is computed from the seed when it is asked for.
//!
//! In: a [`WebShape`]. Out: a [`Site`] of many hosts with pages in HTML and RDF, links, redirects, missing pages,
//! robots.txt and temptations; and [`Expected`], what a crawl that obeys must fetch, keep, and leave alone.
//!
//! Pages are numbered within their host. Page *n* links to its children in a tree, the home page also to
//! the home pages of other hosts in a tree of hosts, so all is reachable from [`GeneratedWeb::seed_url`]; links
//! across the tree make it a web. Every `http` URL in a page that is not a vocabulary term is one of this web, so
//! a crawler may follow whatever it likes to follow. How a page is written is in `page.rs`.

mod hosts;
mod page;
mod random;
mod realistic;
mod words;

pub use hosts::HostSizes;
pub use realistic::realistic_page;

use std::time::Duration;

use self::hosts::Layout;
use self::page::PageWriter;
use self::random::Random;
use crate::{Answer, Request, Site};

/// Children of a page in the tree of its host.
const PAGE_ARITY: u64 = 10;
/// Children of a host in the tree of hosts.
const HOST_ARITY: u64 = 8;

/// What a generated web is like. The same shape gives the same web, to the byte.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WebShape {
    /// Another number, another web.
    pub seed: u64,
    /// Hosts; at least one.
    pub hosts: u32,
    /// Pages in all; at least one per host. Redirects, missing and forbidden URLs come on top.
    pub pages: u64,
    /// How they are spread over the hosts.
    pub host_sizes: HostSizes,
    /// How long a host takes for an answer, in the middle of all hosts; nothing for none.
    pub latency: Option<Duration>,
    /// Links of a page across the tree, on average.
    pub links_per_page: u32,
    /// Size of a page, roughly, in the middle of the distribution; one in a hundred is over ten times that.
    pub page_bytes: u32,
    /// `https` instead of `http`.
    pub https: bool,
    /// Of what there is how much.
    pub mix: Mix,
}

impl Default for WebShape {
    /// A thousand pages on twenty hosts.
    fn default() -> Self {
        Self {
            seed: 1,
            hosts: 20,
            pages: 1000,
            host_sizes: HostSizes::Even,
            latency: None,
            links_per_page: 8,
            page_bytes: 4000,
            https: false,
            mix: Mix::default(),
        }
    }
}

/// Shares, each in pages (or hosts) per thousand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mix {
    /// Pages that are Turtle documents.
    pub turtle: u16,
    /// Pages that are RDF/XML documents.
    pub rdf_xml: u16,
    /// Pages that are N-Triples documents.
    pub n_triples: u16,
    /// Pages that are JSON-LD documents.
    pub json_ld: u16,
    /// HTML pages with a block of JSON-LD in schema.org's context.
    pub schema_org_blocks: u16,
    /// HTML pages with a block of JSON-LD that brings its own context.
    pub own_context_blocks: u16,
    /// HTML pages that ask not to be indexed, half by `<meta>`, half by header.
    pub noindex: u16,
    /// HTML pages (without children) that ask for their links not to be followed.
    pub nofollow: u16,
    /// Pages with a link to a redirect to another page.
    pub redirects: u16,
    /// Pages with a link to a page that is not there.
    pub missing: u16,
    /// Pages with a link to a page that robots.txt forbids, on hosts that have one.
    pub private: u16,
    /// HTML pages with a `rel=nofollow` link to a page that nothing else links to.
    pub nofollow_links: u16,
    /// Hosts without robots.txt.
    pub hosts_without_robots: u16,
    /// Hosts whose robots.txt asks for a delay.
    pub hosts_with_crawl_delay: u16,
    /// The delay they ask for.
    pub crawl_delay: Duration,
    /// Pages sent compressed to those who accept it.
    pub gzip: u16,
}

impl Default for Mix {
    /// Some of everything, nothing compressed, and one host in twenty with a delay of 200 ms.
    fn default() -> Self {
        Self {
            turtle: 30,
            rdf_xml: 20,
            n_triples: 10,
            json_ld: 20,
            schema_org_blocks: 250,
            own_context_blocks: 60,
            noindex: 20,
            nofollow: 10,
            redirects: 40,
            missing: 30,
            private: 60,
            nofollow_links: 40,
            hosts_without_robots: 100,
            hosts_with_crawl_delay: 50,
            crawl_delay: Duration::from_millis(200),
            gzip: 0,
        }
    }
}

impl Mix {
    /// Nothing but HTML pages and followable links between them.
    pub fn plain() -> Self {
        Self {
            turtle: 0,
            rdf_xml: 0,
            n_triples: 0,
            json_ld: 0,
            schema_org_blocks: 0,
            own_context_blocks: 0,
            noindex: 0,
            nofollow: 0,
            redirects: 0,
            missing: 0,
            private: 0,
            nofollow_links: 0,
            hosts_without_robots: 0,
            hosts_with_crawl_delay: 0,
            crawl_delay: Duration::ZERO,
            gzip: 0,
        }
    }
}

/// What a crawl of all of a generated web comes to, if it obeys. robots.txt is not counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Expected {
    /// Pages that are there and may be fetched.
    pub pages: u64,
    /// Of these, the ones that ask not to be indexed.
    pub noindex: u64,
    /// URLs that redirect.
    pub redirects: u64,
    /// URLs linked to that are not there.
    pub missing: u64,
    /// URLs linked to that robots.txt forbids.
    pub forbidden: u64,
    /// Pages that only `rel=nofollow` links lead to.
    pub shunned: u64,
}

impl Expected {
    /// How many URLs are to be fetched, each exactly once.
    pub fn fetches(&self) -> u64 {
        self.pages + self.redirects + self.missing
    }

    /// How many pages are to be found in the index afterwards.
    pub fn indexed(&self) -> u64 {
        self.pages - self.noindex
    }
}

/// A web computed from a seed.
#[derive(Debug, Clone)]
pub struct GeneratedWeb {
    shape: WebShape,
    layout: Layout,
}

/// One page of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PageId {
    host: u64,
    number: u64,
}

/// What a page is written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Html,
    Turtle,
    RdfXml,
    NTriples,
    JsonLd,
}

/// What is known of a page before it is written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Facts {
    kind: Kind,
    schema_org_block: bool,
    own_context_block: bool,
    noindex: bool,
    /// The wish above is in the header, not in the page.
    robots_by_header: bool,
    nofollow: bool,
    redirect: bool,
    /// The redirect goes by way of another.
    redirect_chain: bool,
    missing: bool,
    private: bool,
    nofollow_link: bool,
    gzip: bool,
}

// What a stream of random numbers is for; it keeps them apart.
const FACTS: u64 = 1;
const HOST_FACTS: u64 = 2;
const REDIRECT: u64 = 3;
const CONTENT: u64 = 4;
const LINKS: u64 = 5;
const LATENCY: u64 = 6;

impl GeneratedWeb {
    /// The web of that shape. Takes no time and no memory, but for eight bytes a host where hosts differ in size.
    pub fn new(shape: WebShape) -> Self {
        let hosts = u64::from(shape.hosts.max(1));
        let layout = Layout::new(shape.host_sizes, hosts, shape.pages.max(hosts));
        Self { shape, layout }
    }

    /// How many pages each host has.
    pub fn host_sizes(&self) -> Vec<u64> {
        (0..self.layout.hosts()).map(|host| self.layout.pages_on(host)).collect()
    }

    /// The shape it was made from.
    pub fn shape(&self) -> &WebShape {
        &self.shape
    }

    /// Where to begin: everything is reachable from here.
    pub fn seed_url(&self) -> String {
        self.page_url(PageId { host: 0, number: 0 })
    }

    /// The name of a host, for numbers below the shape's.
    ///
    /// Registrable names are spread over `.example` and `.test`; one host in eight is a second one in the domain of
    /// the host before it.
    pub fn host_name(&self, host: u32) -> String {
        host_name(u64::from(host))
    }

    /// Counts what an obedient crawl comes to. Walks over all pages, so it takes time in their number.
    pub fn expected(&self) -> Expected {
        let mut expected = Expected::default();
        for page in self.page_ids() {
            let facts = self.facts(page);
            expected.pages += 1;
            expected.noindex += u64::from(facts.noindex);
            expected.redirects += u64::from(facts.redirect) + u64::from(facts.redirect_chain);
            expected.missing += u64::from(facts.missing);
            expected.forbidden += u64::from(facts.private);
            expected.shunned += u64::from(facts.nofollow_link);
        }
        expected
    }

    /// The URLs that an obedient crawl fetches, each exactly once: pages, redirects, missing pages.
    pub fn expected_urls(&self) -> impl Iterator<Item = String> {
        self.page_ids().flat_map(move |page| {
            let facts = self.facts(page);
            let extra = |wanted: bool, area: Area| wanted.then(|| self.extra_url(page, area));
            [
                Some(self.page_url(page)),
                extra(facts.redirect, Area::Redirect),
                extra(facts.redirect_chain, Area::RedirectOnward),
                extra(facts.missing, Area::Missing),
            ]
            .into_iter()
            .flatten()
        })
    }

    /// The URLs that are to be found in the index afterwards.
    pub fn indexed_urls(&self) -> impl Iterator<Item = String> {
        self.page_ids().filter(|page| !self.facts(*page).noindex).map(|page| self.page_url(page))
    }

    /// The URLs that are linked to although robots.txt forbids them.
    pub fn forbidden_urls(&self) -> impl Iterator<Item = String> {
        self.page_ids()
            .filter(|page| self.facts(*page).private)
            .map(|page| self.extra_url(page, Area::Private))
    }

    /// The URLs that only `rel=nofollow` links lead to.
    pub fn shunned_urls(&self) -> impl Iterator<Item = String> {
        self.page_ids()
            .filter(|page| self.facts(*page).nofollow_link)
            .map(|page| self.extra_url(page, Area::Shunned))
    }

    fn page_ids(&self) -> impl Iterator<Item = PageId> + use<> {
        let layout = self.layout.clone();
        (0..layout.pages()).map(move |place| layout.page(place))
    }

    fn pages_on(&self, host: u64) -> u64 {
        self.layout.pages_on(host)
    }

    fn random(&self, purpose: u64, page: PageId) -> Random {
        Random::of(&[self.shape.seed, purpose, page.host, page.number])
    }

    fn any_page(&self, random: &mut Random) -> PageId {
        self.layout.page(random.below(self.layout.pages()))
    }

    /// The pages below a page in its host's tree.
    fn children(&self, page: PageId) -> impl Iterator<Item = PageId> + use<> {
        let first = page.number * PAGE_ARITY + 1;
        let end = (first + PAGE_ARITY).min(self.pages_on(page.host));
        (first..end).map(move |number| PageId { number, ..page })
    }

    /// The home pages below a home page in the tree of hosts.
    fn child_hosts(&self, page: PageId) -> impl Iterator<Item = PageId> + use<> {
        let first = page.host * HOST_ARITY + 1;
        let end = if page.number == 0 { (first + HOST_ARITY).min(self.layout.hosts()) } else { first };
        (first..end).map(|host| PageId { host, number: 0 })
    }

    fn facts(&self, page: PageId) -> Facts {
        let mix = &self.shape.mix;
        let mut random = self.random(FACTS, page);
        let kind = kind(page, &self.shape.mix, &mut random);
        let html = kind == Kind::Html;
        let mut chance = |permille: u16| random.chance(permille);
        // What hangs on a page whose links are not followed could not be found, so nothing does.
        let nofollow =
            chance(mix.nofollow) && html && page.number > 0 && self.children(page).next().is_none();
        let redirect = chance(mix.redirects) && !nofollow;
        Facts {
            kind,
            schema_org_block: chance(mix.schema_org_blocks) && html,
            own_context_block: chance(mix.own_context_blocks) && html,
            noindex: chance(mix.noindex) && html && page.number > 0,
            robots_by_header: chance(500),
            nofollow,
            redirect,
            redirect_chain: chance(250) && redirect,
            missing: chance(mix.missing) && !nofollow,
            private: chance(mix.private) && !nofollow && self.has_robots(page.host),
            nofollow_link: chance(mix.nofollow_links) && !nofollow && html,
            gzip: chance(mix.gzip),
        }
    }

    fn host_random(&self, host: u64) -> Random {
        Random::of(&[self.shape.seed, HOST_FACTS, host])
    }

    fn has_robots(&self, host: u64) -> bool {
        !self.host_random(host).chance(self.shape.mix.hosts_without_robots)
    }

    fn origin(&self, host: u64) -> String {
        let scheme = if self.shape.https { "https" } else { "http" };
        format!("{scheme}://{}", host_name(host))
    }

    fn path(&self, page: PageId) -> String {
        let number = page.number;
        if number == 0 {
            return "/".to_owned();
        }
        match kind(page, &self.shape.mix, &mut self.random(FACTS, page)) {
            Kind::Turtle => format!("/data/{number}.ttl"),
            Kind::RdfXml => format!("/data/{number}.rdf"),
            Kind::NTriples => format!("/data/{number}.nt"),
            Kind::JsonLd => format!("/data/{number}.jsonld"),
            Kind::Html => match number % 4 {
                0 => format!("/page/{number}.html"),
                1 => format!("/item?id={number}"),
                _ => format!("/page/{number}"),
            },
        }
    }

    fn page_url(&self, page: PageId) -> String {
        self.origin(page.host) + &self.path(page)
    }

    fn extra_url(&self, page: PageId, area: Area) -> String {
        format!("{}{}{}", self.origin(page.host), area.prefix(), page.number)
    }

    fn redirect_target(&self, page: PageId) -> String {
        let target = self.any_page(&mut self.random(REDIRECT, page));
        // Both ways of writing it are in use.
        if target.host == page.host { self.path(target) } else { self.page_url(target) }
    }

    fn robots_txt(&self, host: u64) -> Answer {
        let mix = &self.shape.mix;
        let mut random = self.host_random(host);
        if random.chance(mix.hosts_without_robots) {
            return Answer::not_found();
        }
        let mut text =
            String::from("# Crawlers are welcome, but for one corner.\nUser-agent: *\nDisallow: /private/\n");
        if random.chance(mix.hosts_with_crawl_delay) {
            text.push_str(&format!("Crawl-delay: {}\n", mix.crawl_delay.as_secs_f64()));
        }
        text.push_str("\nUser-agent: greedybot\nDisallow: /\n");
        Answer::text(text)
    }

    fn answer_page(&self, page: PageId, request: &Request) -> Answer {
        let etag = format!("\"{:x}-{:x}-{:x}\"", self.shape.seed, page.host, page.number);
        if request.header("if-none-match").is_some_and(|known| known.contains(&etag)) {
            return Answer::status(304).with_header("etag", &etag);
        }
        let facts = self.facts(page);
        let content_type = match facts.kind {
            Kind::Html => "text/html; charset=utf-8",
            Kind::Turtle => "text/turtle",
            Kind::RdfXml => "application/rdf+xml",
            Kind::NTriples => "application/n-triples",
            Kind::JsonLd => "application/ld+json",
        };
        let body = PageWriter::new(self, page, facts).write();
        let mut answer = Answer::new_static(content_type, body).with_header("etag", &etag);
        if facts.robots_by_header && facts.noindex {
            answer = answer.with_header("x-robots-tag", "noindex");
        }
        if facts.gzip && request.header("accept-encoding").is_some_and(|accepted| accepted.contains("gzip")) {
            answer = answer.gzip();
        }
        answer
    }

    /// The page a path means, if it is one of the host's.
    fn page_at(&self, host: u64, path: &str) -> Option<PageId> {
        let number = if path == "/" { 0 } else { number_in(path)? };
        let page = PageId { host, number };
        (number < self.pages_on(host) && self.path(page) == path).then_some(page)
    }

    /// The page on which a URL outside the tree hangs.
    fn extra_at(&self, host: u64, path: &str) -> Option<(PageId, Area)> {
        Area::ALL.into_iter().find_map(|area| {
            let number = path.strip_prefix(area.prefix())?.parse().ok()?;
            (number < self.pages_on(host)).then_some((PageId { host, number }, area))
        })
    }
}

impl Site for GeneratedWeb {
    fn answer(&self, request: &Request) -> Answer {
        let Some(host) = host_number(&request.host).filter(|host| *host < self.layout.hosts()) else {
            return Answer::not_found();
        };
        let answer = self.answer_of(host, request);
        match self.shape.latency {
            Some(middle) => {
                let mut random = Random::of(&[self.shape.seed, LATENCY, host]);
                answer.after(hosts::latency(middle, &mut random))
            }
            None => answer,
        }
    }
}

impl GeneratedWeb {
    fn answer_of(&self, host: u64, request: &Request) -> Answer {
        let path = request.path_and_query.as_str();
        if path == "/robots.txt" {
            return self.robots_txt(host);
        }
        if let Some(page) = self.page_at(host, path) {
            return self.answer_page(page, request);
        }
        let Some((page, area)) = self.extra_at(host, path) else { return Answer::not_found() };
        let facts = self.facts(page);
        match area {
            Area::Redirect if facts.redirect_chain => {
                Answer::redirect(302, &self.extra_url(page, Area::RedirectOnward))
            }
            Area::Redirect if facts.redirect => Answer::redirect(301, &self.redirect_target(page)),
            Area::RedirectOnward if facts.redirect_chain => {
                Answer::redirect(307, &self.redirect_target(page))
            }
            Area::Missing if facts.missing && page.number % 3 == 0 => Answer::status(410),
            Area::Private if facts.private => {
                Answer::html("<title>Private</title><p>You should not be here.</p>")
            }
            Area::Shunned if facts.nofollow_link => {
                Answer::html("<title>Advertisement</title><p>Nobody was to follow that link.</p>")
            }
            Area::Redirect | Area::RedirectOnward | Area::Missing | Area::Private | Area::Shunned => {
                Answer::not_found()
            }
        }
    }
}

/// Parts of a host that lie outside the tree; what is there belongs to the page of the same number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Area {
    Redirect,
    RedirectOnward,
    Missing,
    Private,
    Shunned,
}

impl Area {
    const ALL: [Self; 5] =
        [Self::Redirect, Self::RedirectOnward, Self::Missing, Self::Private, Self::Shunned];

    fn prefix(self) -> &'static str {
        match self {
            Self::Redirect => "/go/",
            Self::RedirectOnward => "/via/",
            Self::Missing => "/gone/",
            Self::Private => "/private/",
            Self::Shunned => "/advertisement/",
        }
    }
}

/// The first of a page's facts. It alone is needed for every link, so it can be had without the others.
fn kind(page: PageId, mix: &Mix, random: &mut Random) -> Kind {
    let mut draw = random.below(1000);
    if page.number == 0 {
        return Kind::Html;
    }
    for (kind, share) in [
        (Kind::Turtle, mix.turtle),
        (Kind::RdfXml, mix.rdf_xml),
        (Kind::NTriples, mix.n_triples),
        (Kind::JsonLd, mix.json_ld),
    ] {
        let share = u64::from(share);
        if draw < share {
            return kind;
        }
        draw -= share;
    }
    Kind::Html
}

/// The number in a path; whether the path is the right one for it is for the caller to check.
fn number_in(path: &str) -> Option<u64> {
    let start = path.find(|letter: char| letter.is_ascii_digit())?;
    let digits = &path[start..];
    let end = digits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(digits.len());
    digits[..end].parse().ok()
}

fn host_name(host: u64) -> String {
    match host % 8 {
        3 => format!("news.site{}.example", host - 1),
        5 => format!("shop{host}.test"),
        6 => format!("www.blog{host}.example"),
        _ => format!("site{host}.example"),
    }
}

fn host_number(name: &str) -> Option<u64> {
    let number = number_in(name)?;
    // A second host of a domain carries the number of the first.
    [number, number.checked_add(1)?].into_iter().find(|number| host_name(*number) == name)
}
