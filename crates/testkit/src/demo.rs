//! The demo web: fifteen hosts around one harbour town that does not exist.
//!
//! In: nothing. Out: [`demo_web`], a [`StaticWeb`] of the pages under `demo/`, where to begin to crawl it
//! ([`demo_seeds`]), and three questions that only the pages of several hosts together can answer
//! ([`demo_queries`]). One table below says what is served where; one host, `broken-lantern.example`, gets
//! everything wrong, and what it gets wrong on the wire is in [`demo_web`] itself.
//!
//! People, places, works and books are invented for this project. Their names are the same thing on every
//! host: the museum's painter is an IRI, and the bookshop, the town calendar and the blog mean it.

use crate::{Answer, StaticWeb};

/// How the bytes of a demo page are served.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Serving {
    /// Under this content type.
    As(&'static str),
    /// Without content type.
    Untyped,
    /// Compressed, with the second half of the compressed bytes missing.
    TruncatedGzip,
    /// With a length that the connection does not live to see.
    CutOff,
}

/// The words of the table.
mod serving {
    use super::Serving;

    pub(super) const HTML: Serving = Serving::As("text/html; charset=utf-8");
    pub(super) const TURTLE: Serving = Serving::As("text/turtle; charset=utf-8");
    pub(super) const TRIG: Serving = Serving::As("application/trig");
    pub(super) const N_TRIPLES: Serving = Serving::As("application/n-triples");
    pub(super) const N_QUADS: Serving = Serving::As("application/n-quads");
    pub(super) const RDF_XML: Serving = Serving::As("application/rdf+xml");
    pub(super) const JSON_LD: Serving = Serving::As("application/ld+json");
    pub(super) const RSS: Serving = Serving::As("application/rss+xml");
    pub(super) const ATOM: Serving = Serving::As("application/atom+xml");
    pub(super) const XML: Serving = Serving::As("application/xml");
    pub(super) const SVG: Serving = Serving::As("image/svg+xml");
    pub(super) const ROBOTS: Serving = Serving::As("text/plain; charset=utf-8");
    /// No charset in the header: the page says it.
    pub(super) const WINDOWS_1252: Serving = Serving::As("text/html");
    /// The landlord's mistake.
    pub(super) const TURTLE_CALLED_HTML: Serving = Serving::As("text/html; charset=utf-8");
}

/// One page of the demo web that is a file.
#[derive(Debug, Clone, Copy)]
pub struct DemoPage {
    /// The host it is on.
    pub host: &'static str,
    /// Its path.
    pub path: &'static str,
    /// The file under `demo/` it is served from.
    pub file: &'static str,
    /// Its bytes.
    pub body: &'static [u8],
    serving: Serving,
}

impl DemoPage {
    /// Its URL.
    pub fn url(&self) -> String {
        format!("http://{}{}", self.host, self.path)
    }

    /// The content type it is served under, right or wrong.
    pub fn content_type(&self) -> Option<&'static str> {
        match self.serving {
            Serving::As(content_type) => Some(content_type),
            Serving::Untyped => None,
            Serving::TruncatedGzip | Serving::CutOff => Some("text/html; charset=utf-8"),
        }
    }

    fn answer(&self) -> Answer {
        let html = || Answer::html(self.body);
        match self.serving {
            Serving::As(content_type) => Answer::new(content_type, self.body),
            Serving::Untyped => html().without_content_type(),
            Serving::TruncatedGzip => {
                let packed = html().gzip().body().map_or(0, bytes::Bytes::len);
                html().gzip_keeping(packed / 2)
            }
            Serving::CutOff => html().cut_after(self.body.len() as u64 * 2 / 3),
        }
    }
}

/// A question to ask once the demo web is crawled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DemoQuery {
    /// The question in words.
    pub title: &'static str,
    /// The question in SPARQL, over the union of all pages.
    pub sparql: &'static str,
}

/// The demo web, to be served by a [`WebServer`](crate::WebServer).
pub fn demo_web() -> StaticWeb {
    let web = PAGES.iter().fold(StaticWeb::new(), |web, page| web.answer(&page.url(), page.answer()));
    let lantern = |path: &str| format!("http://broken-lantern.example{path}");
    web
        // A chain of redirects that arrives, in three ways of writing the target.
        .answer(&lantern("/old-site"), Answer::redirect(301, "/older-site"))
        .answer(&lantern("/older-site"), Answer::redirect(302, "http://broken-lantern.example/oldest-site"))
        .answer(&lantern("/oldest-site"), Answer::redirect(307, "cellar-door"))
        // And one that does not.
        .answer(&lantern("/round-and-round"), Answer::redirect(302, "/snug"))
        .answer(&lantern("/snug"), Answer::redirect(302, "/round-and-round"))
        .html(&lantern("/stairs"), stairs())
}

/// A page nested deeper than anyone should go.
fn stairs() -> String {
    const STEPS: usize = 5000;
    format!(
        "<!DOCTYPE html><html lang=\"en\"><title>The stairs</title>{}<p>The bottom step. <a href=\"/\">Up</a></p>{}\n",
        "<div>".repeat(STEPS),
        "</div>".repeat(STEPS),
    )
}

/// Where to begin: everything that may be reached is reached from here.
pub fn demo_seeds() -> &'static [&'static str] {
    &["http://quillhaven.example/"]
}

/// The pages that are files. Redirects and one very deep page come on top, see [`demo_web`].
pub fn demo_pages() -> &'static [DemoPage] {
    PAGES
}

/// Links of the demo web that lead to no page on purpose.
pub fn demo_broken_links() -> &'static [&'static str] {
    &["http://broken-lantern.example/lost-and-found"]
}

/// Pages of the demo web that are linked to although robots.txt forbids them.
pub fn demo_forbidden() -> &'static [&'static str] {
    &[
        "http://skerrow-society.example/stacks/",
        "http://skerrow-society.example/stacks/ledger",
        "http://skerrow-society.example/stacks/letters-1903",
    ]
}

/// Three questions, each of which joins what several hosts say.
pub fn demo_queries() -> &'static [DemoQuery] {
    &[
        DemoQuery {
            title: "Which artists of the museum can I read about, at what price, and hear about, on which evening?",
            sparql: include_str!("../demo/queries/read-and-hear.rq"),
        },
        DemoQuery {
            title: "Which paintings can I eat, how long does it take, and what does the wiki call the artist in German?",
            sparql: include_str!("../demo/queries/eat-a-painting.rq"),
        },
        DemoQuery {
            title: "Who knows somebody who wrote about an artist, and where?",
            sparql: include_str!("../demo/queries/a-friend-wrote.rq"),
        },
    ]
}

macro_rules! pages {
    ($($host:literal { $($path:literal $serving:ident $file:literal,)* })*) => {
        &[$($(DemoPage {
            host: $host,
            path: $path,
            file: concat!($host, "/", $file),
            body: include_bytes!(concat!("../demo/", $host, "/", $file)),
            serving: pages!(@ $serving),
        },)*)*]
    };
    (@ html) => { serving::HTML };
    (@ turtle) => { serving::TURTLE };
    (@ trig) => { serving::TRIG };
    (@ n_triples) => { serving::N_TRIPLES };
    (@ n_quads) => { serving::N_QUADS };
    (@ rdf_xml) => { serving::RDF_XML };
    (@ json_ld) => { serving::JSON_LD };
    (@ rss) => { serving::RSS };
    (@ atom) => { serving::ATOM };
    (@ xml) => { serving::XML };
    (@ svg) => { serving::SVG };
    (@ robots) => { serving::ROBOTS };
    (@ windows_1252) => { serving::WINDOWS_1252 };
    (@ turtle_called_html) => { serving::TURTLE_CALLED_HTML };
    (@ no_type) => { Serving::Untyped };
    (@ truncated_gzip) => { Serving::TruncatedGzip };
    (@ cut_off) => { Serving::CutOff };
}

/// What is served where: host, then path, how, and from which file in the host's folder.
#[rustfmt::skip]
const PAGES: &[DemoPage] = pages! {
    "quillhaven.example" {
        "/" html "index.html",
        "/calendar" html "calendar.html",
        "/calendar/lantern-walk" html "calendar/lantern-walk.html",
        "/calendar/marsh-evening" html "calendar/marsh-evening.html",
        "/calendar/weaving-sunday" html "calendar/weaving-sunday.html",
        "/calendar/book-night" html "calendar/book-night.html",
        "/calendar/herring-week" html "calendar/herring-week.html",
        "/calendar/bread-market" html "calendar/bread-market.html",
        "/council" html "council.html",
        "/harbour" html "harbour.html",
        "/robots.txt" robots "robots.txt",
    }
    "visit-quillhaven.example" {
        "/" html "index.html",
        "/en/" html "en/index.html",
        "/en/walks" html "en/walks.html",
        "/en/eat" html "en/eat.html",
        "/de/" html "de/index.html",
        "/de/spaziergaenge" html "de/spaziergaenge.html",
        "/fr/" html "fr/index.html",
        "/it/" html "it/index.html",
        "/robots.txt" robots "robots.txt",
    }
    "threadandlight.example" {
        "/" html "index.html",
        "/visit" html "visit.html",
        "/exhibitions" html "exhibitions.html",
        "/collection" html "collection.html",
        "/collection.ttl" turtle "collection.ttl",
        "/artists/ottilie-marsh" turtle "artists/ottilie-marsh.ttl",
        "/artists/ansgar-feld" turtle "artists/ansgar-feld.ttl",
        "/artists/benedikta-roe" turtle "artists/benedikta-roe.ttl",
        "/artists/joss-amberley" turtle "artists/joss-amberley.ttl",
        "/works/the-blue-loom" turtle "works/the-blue-loom.ttl",
        "/works/low-tide-at-skerrow" turtle "works/low-tide-at-skerrow.ttl",
        "/works/loaf-and-lemon" turtle "works/loaf-and-lemon.ttl",
        "/works/nets-drying" turtle "works/nets-drying.ttl",
        "/works/herring-night" turtle "works/herring-night.ttl",
        "/works/map-of-the-merrow" turtle "works/map-of-the-merrow.ttl",
        "/works/salt-calendar" turtle "works/salt-calendar.ttl",
        "/works/plum-window" turtle "works/plum-window.ttl",
        "/dump.trig" trig "dump.trig",
        "/dump.nq" n_quads "dump.nq",
        "/images/the-blue-loom.svg" svg "images/the-blue-loom.svg",
        "/images/herring-night.svg" svg "images/herring-night.svg",
        "/images/plum-window.svg" svg "images/plum-window.svg",
        "/robots.txt" robots "robots.txt",
    }
    "merrowwiki.example" {
        "/" html "index.html",
        "/en/Quillhaven" html "en/Quillhaven.html",
        "/en/River_Merrow" html "en/River_Merrow.html",
        "/en/Ottilie_Marsh" html "en/Ottilie_Marsh.html",
        "/en/Ansgar_Feld" html "en/Ansgar_Feld.html",
        "/en/Benedikta_Roe" html "en/Benedikta_Roe.html",
        "/en/Joss_Amberley" html "en/Joss_Amberley.html",
        "/en/The_Blue_Loom" html "en/The_Blue_Loom.html",
        "/en/Merrowcloth" html "en/Merrowcloth.html",
        "/en/Museum_of_Thread_and_Light" html "en/Museum_of_Thread_and_Light.html",
        "/en/Little_Skerrow" html "en/Little_Skerrow.html",
        "/de/Quillhaven" html "de/Quillhaven.html",
        "/de/Ottilie_Marsh" html "de/Ottilie_Marsh.html",
        "/de/Ansgar_Feld" html "de/Ansgar_Feld.html",
        "/de/Benedikta_Roe" html "de/Benedikta_Roe.html",
        "/de/Joss_Amberley" html "de/Joss_Amberley.html",
        "/de/Merrow-Tuch" html "de/Merrow-Tuch.html",
        "/robots.txt" robots "robots.txt",
    }
    "inkandspindle.example" {
        "/" html "index.html",
        "/about" html "about.html",
        "/books" html "books.html",
        "/books/blue-thread" html "books/blue-thread.html",
        "/books/cut-in-the-dark" html "books/cut-in-the-dark.html",
        "/books/the-river-as-warp" html "books/the-river-as-warp.html",
        "/books/bread-before-the-tide" html "books/bread-before-the-tide.html",
        "/books/patterns-that-remember" html "books/patterns-that-remember.html",
        "/books/the-lighthouse-keepers-arithmetic" html "books/the-lighthouse-keepers-arithmetic.html",
        "/books/der-webstuhl-im-leuchtturm" html "books/der-webstuhl-im-leuchtturm.html",
        "/sitemap.xml" xml "sitemap.xml",
        "/robots.txt" robots "robots.txt",
    }
    "saltandcrumb.example" {
        "/" html "index.html",
        "/about" html "about.html",
        "/recipes/lemon-barley-loaf" html "recipes/lemon-barley-loaf.html",
        "/recipes/soused-herring" html "recipes/soused-herring.html",
        "/recipes/plum-dumplings" html "recipes/plum-dumplings.html",
        "/recipes/samphire-butter" html "recipes/samphire-butter.html",
        "/recipes/weavers-broth" html "recipes/weavers-broth.html",
        "/recipes/fog-pancakes" html "recipes/fog-pancakes.html",
        "/robots.txt" robots "robots.txt",
    }
    "tidenotes.example" {
        "/" html "index.html",
        "/page/2" html "page-2.html",
        "/about" html "about.html",
        "/posts/the-blue-loom-comes-home" html "posts/the-blue-loom-comes-home.html",
        "/posts/baking-a-painting" html "posts/baking-a-painting.html",
        "/posts/what-a-loom-knows" html "posts/what-a-loom-knows.html",
        "/posts/a-shelf-for-ansgar" html "posts/a-shelf-for-ansgar.html",
        "/posts/herring-week" html "posts/herring-week.html",
        "/posts/glass-in-october" html "posts/glass-in-october.html",
        "/posts/seven-bookshops" html "posts/seven-bookshops.html",
        "/posts/naming-things" html "posts/naming-things.html",
        "/feed.rss" rss "feed.rss",
        "/feed.atom" atom "feed.atom",
        "/robots.txt" robots "robots.txt",
    }
    "ines-calder.example" {
        "/" html "index.html",
        "/foaf.ttl" turtle "foaf.ttl",
    }
    "tomasbrandt.example" {
        "/" html "index.html",
        "/foaf.rdf" rdf_xml "foaf.rdf",
    }
    "yunaseo.example" {
        "/" html "index.html",
        "/card.ttl" turtle "card.ttl",
        "/publications.jsonld" json_ld "publications.jsonld",
    }
    "mirela-dragan.example" {
        "/" html "index.html",
        "/foaf.rdf" rdf_xml "foaf.rdf",
    }
    "pattern-studies.example" {
        "/" html "index.html",
        "/people" html "people.html",
        "/people/arvid-holm" html "people/arvid-holm.html",
        "/people/arvid-holm.nt" n_triples "people/arvid-holm.nt",
        "/people/yuna-seo" html "people/yuna-seo.html",
        "/courses" html "courses.html",
        "/courses/weaving-data" html "courses/weaving-data.html",
        "/robots.txt" robots "robots.txt",
    }
    "looms-and-links.example" {
        "/" html "index.html",
        "/programme" html "programme.html",
        "/venue" html "venue.html",
    }
    "skerrow-society.example" {
        "/" html "index.html",
        "/catalogue" html "catalogue.html",
        "/stacks/" html "stacks/index.html",
        "/stacks/letters-1903" html "stacks/letters-1903.html",
        "/stacks/ledger" html "stacks/ledger.html",
        "/stacks/open-shelf" html "stacks/open-shelf.html",
        "/reading-room" html "reading-room.html",
        "/robots.txt" robots "robots.txt",
    }
    "broken-lantern.example" {
        "/" html "index.html",
        "/menu" html "menu.html",
        "/darts" html "darts.html",
        "/opening-hours" turtle_called_html "opening-hours.ttl",
        "/beers.ttl" turtle "beers.ttl",
        "/cellar.rdf" rdf_xml "cellar.rdf",
        "/quiz" html "quiz.html",
        "/photographs" truncated_gzip "photographs.html",
        "/guest-book" cut_off "guest-book.html",
        "/cat" no_type "cat.html",
        "/sign" windows_1252 "sign.html",
        "/nothing" html "nothing.html",
        "/cellar-door" html "cellar-door.html",
        "/robots.txt" robots "robots.txt",
    }
};
