//! A page as it is judged: its words, and what it is beside them.
//!
//! In: what transform made of a page. Out: numbers that are equal for pages that say the same, whatever their URLs are. Only pages of few words, and
//! those that seem to name their own URL, are looked at so closely. Nothing is remembered here.

use std::collections::HashSet;

use oxrdf::{NamedOrBlankNode, Term, Triple};
use webloom_model::PageUrl;
use webloom_model::vocab::{dcterms, rdfs, xhv};

use super::{FRESH_MAX, for_each_word, hash, mix, run_of};

/// Bytes of text beyond which the words of a URL are too few to matter.
const NAMING_TEXT_BYTES_MAX: usize = 4 << 10;
/// Word runs that naming one word makes: it may be the first, the second or the third of them.
const RUNS_OF_A_WORD: usize = 3;
/// Words of a URL that are looked for.
const OWN_WORDS_MAX: usize = 64;
/// Words that a page of few words must have beside its URL's for those not to count: "not found" are two.
const OTHER_WORDS_MIN: usize = 2;
/// Statements of a page among which those to look at are chosen, and how many these are, spread over all of them.
const STATEMENTS_MAX: usize = 4096;
const STATEMENTS_CHOSEN_MAX: usize = 64;
/// Bytes of a literal that are looked at.
const LITERAL_BYTES_MAX: usize = 256;

/// What is known of a page when it is judged.
#[derive(Debug, Clone, Copy)]
pub struct JudgedPage<'a> {
    /// Where it is.
    pub url: &'a PageUrl,
    /// What it is called.
    pub title: Option<&'a str>,
    /// Its visible text.
    pub text: &'a str,
    /// What it says as data, with or without its plain links.
    pub triples: &'a [Triple],
    /// Targets of links that are nothing but links.
    pub plain_links: &'a HashSet<String>,
    /// What a browser shows in its place.
    pub shown_instead: &'a [String],
    /// The page that led to it.
    pub found_on: Option<&'a PageUrl>,
}

impl JudgedPage<'_> {
    /// True when so many new word runs can come from the page's naming its own URL.
    pub(super) fn may_name_itself(&self, new: usize) -> bool {
        // A word of a URL takes some letters, so naming the URL a few times makes about as many runs as it has letters, and those around it.
        new <= self.url.path_and_query().len() + 2 * RUNS_OF_A_WORD
            && new < FRESH_MAX
            && self.text.len() <= NAMING_TEXT_BYTES_MAX
    }

    /// How many of the word runs hold no word of the page's own URL.
    pub(super) fn not_its_own(&self, runs: &[u64], dates_alike: bool) -> usize {
        let own = OwnWords::of(self.url);
        let mut others = runs.to_vec();
        let mut before = [0_u64; 2];
        let mut own_before = [false; 2];
        for_each_word(self.text.as_bytes(), dates_alike, |word| {
            let is_own = own.contains(word);
            if is_own || own_before[0] || own_before[1] {
                let run = mix(run_of(before, word));
                others.retain(|other| *other != run);
            }
            before = [before[1], word];
            own_before = [own_before[1], is_own];
        });
        others.len()
    }

    /// The words of the page and of its title, without those of its URL where there are others.
    pub(super) fn other_words(&self, dates_alike: bool) -> u64 {
        let own = OwnWords::of(self.url);
        let (mut all, mut others, mut others_count) = (0, 0, 0);
        for_each_word(self.text.as_bytes(), dates_alike, |word| {
            all = follow(all, word);
            if !own.contains(word) {
                others = follow(others, word);
                others_count += 1;
            }
        });
        // A page of a dictionary may have nothing but the word that its URL has.
        let words = if others_count < OTHER_WORDS_MIN { all } else { others };
        follow(words, self.title_words(dates_alike))
    }

    fn title_words(&self, dates_alike: bool) -> u64 {
        self.title.map_or(0, |title| self.literal(title, dates_alike))
    }

    /// What the page is beside its text: title, pictures, data, what is shown in its place, the hosts of others that it leads to. Where else its links lead makes
    /// no difference, for a trap never leads to the same place twice.
    pub(super) fn beside_words(&self, dates_alike: bool) -> u64 {
        let triples = &self.triples[..self.triples.len().min(STATEMENTS_MAX)];
        let related = self.related(triples);
        let data = || triples.iter().filter(|triple| !self.is_link(triple, &related));
        let step = data().count().div_ceil(STATEMENTS_CHOSEN_MAX).max(1);
        let mut marks: Vec<u64> =
            data().step_by(step).map(|triple| self.statement(triple, dates_alike)).collect();
        let domain = self.url.pay_level_domain();
        let hosts = self.plain_links.iter().filter_map(|target| host_of(target));
        marks.extend(
            hosts.filter(|host| !is_within(host, domain)).map(|host| hash(host.as_bytes(), host.len())),
        );
        marks.extend(self.shown_instead.iter().map(|target| self.iri(target)));
        marks.sort_unstable();
        marks.dedup();
        marks.into_iter().fold(self.title_words(dates_alike), follow)
    }

    /// The targets of links with a relation. The page that this one is the same as is none of them.
    fn related<'t>(&self, triples: &'t [Triple]) -> HashSet<&'t str> {
        let statements = triples.iter().filter(|triple| self.is_relation(triple));
        let targets = statements.filter_map(|triple| match &triple.object {
            Term::NamedNode(target) => Some(target.as_str()),
            _ => None,
        });
        targets.filter(|target| *target != self.url.as_str()).collect()
    }

    fn is_relation(&self, triple: &Triple) -> bool {
        triple.predicate.as_str().starts_with(xhv::NAMESPACE)
            && triple.predicate != xhv::CANONICAL
            && matches!(&triple.subject, NamedOrBlankNode::NamedNode(subject) if subject.as_str() == self.url.as_str())
    }

    /// True for what only says that there is a link, and what is at its end.
    fn is_link(&self, triple: &Triple, related: &HashSet<&str>) -> bool {
        let subject = match &triple.subject {
            NamedOrBlankNode::NamedNode(subject) => subject.as_str(),
            NamedOrBlankNode::BlankNode(_) => return false,
        };
        if triple.predicate == rdfs::SEE_ALSO {
            matches!(&triple.object, Term::NamedNode(target) if self.plain_links.contains(target.as_str()))
        } else if triple.predicate == rdfs::LABEL {
            self.plain_links.contains(subject) || related.contains(subject)
        } else if triple.predicate == dcterms::FORMAT || triple.predicate == dcterms::LANGUAGE {
            related.contains(subject)
        } else {
            self.is_relation(triple)
        }
    }

    fn statement(&self, triple: &Triple, dates_alike: bool) -> u64 {
        /// Blank nodes are named after the page, so their names tell nothing.
        const NAMELESS: u64 = 1;
        let subject = match &triple.subject {
            NamedOrBlankNode::NamedNode(node) => self.iri(node.as_str()),
            NamedOrBlankNode::BlankNode(_) => NAMELESS,
        };
        let predicate = triple.predicate.as_str();
        let object = match &triple.object {
            Term::NamedNode(node) => self.iri(node.as_str()),
            Term::Literal(literal) => self.literal(literal.value(), dates_alike),
            #[allow(
                unreachable_patterns,
                reason = "terms of RDF 1.2 appear when a crate in the build asks for them"
            )]
            _ => NAMELESS,
        };
        follow(follow(subject, hash(predicate.as_bytes(), predicate.len())), object)
    }

    /// An IRI as a reference from the page: a page that is found under ever new paths has its pictures there, too.
    fn iri(&self, iri: &str) -> u64 {
        let page = self.url.as_str();
        let of_page =
            iri.strip_prefix(page).filter(|rest| rest.is_empty() || rest.starts_with(['/', '?', '#']));
        let reference = of_page.unwrap_or_else(|| {
            let alike = iri.bytes().zip(page.bytes()).take_while(|(one, other)| one == other).count();
            let folder = iri.as_bytes()[..alike].iter().rposition(|byte| *byte == b'/');
            // Behind a slash a character begins.
            &iri[folder.map_or(0, |slash| slash + 1)..]
        });
        hash(reference.as_bytes(), reference.len())
    }

    /// The words of a literal. That the page has words of its URL for a name makes it a page of its own; that it spells the path, does not.
    fn literal(&self, text: &str, dates_alike: bool) -> u64 {
        let text = &text[..text.floor_char_boundary(LITERAL_BYTES_MAX)];
        let mut words = 0;
        let mut take = |text: &str| {
            for_each_word(text.as_bytes(), dates_alike, |word| words = follow(words, word));
        };
        match self.spelt_path(text) {
            Some(path) => text.split(&*path).for_each(take),
            None => take(text),
        }
        words
    }

    /// The page's path as it is spelt out in a text: with its slash, or with those between its parts.
    fn spelt_path(&self, text: &str) -> Option<String> {
        if !text.contains('/') {
            return None;
        }
        let (with_query, without) = (self.url.path_and_query(), self.url.as_url().path());
        [with_query, without].into_iter().flat_map(|path| [path.to_owned(), decoded(path)]).find_map(|path| {
            let path = path.trim_end_matches('/');
            let parts = path.trim_start_matches('/');
            let spelt = if parts.contains('/') { parts } else { path };
            (!parts.is_empty() && text.contains(spelt)).then(|| spelt.to_owned())
        })
    }
}

/// The words of a URL's path and query, as they are written there and as people read them.
struct OwnWords {
    words: Vec<u64>,
    /// A bit for each, by which most words of a text are told from them.
    bits: u64,
}

impl OwnWords {
    fn of(url: &PageUrl) -> Self {
        let mut own = Self { words: Vec::with_capacity(8), bits: 0 };
        let mut take = |text: &str| {
            for_each_word(text.as_bytes(), false, |word| {
                if own.words.len() < OWN_WORDS_MAX {
                    own.words.push(word);
                    own.bits |= 1 << (word & 63);
                }
            });
        };
        let written = url.path_and_query();
        take(written);
        if written.contains('%') {
            take(&decoded(written));
        }
        own
    }

    fn contains(&self, word: u64) -> bool {
        self.bits >> (word & 63) & 1 == 1 && self.words.contains(&word)
    }
}

/// What was there before, and then this.
fn follow(before: u64, next: u64) -> u64 {
    mix(before.rotate_left(23) ^ next)
}

/// Without percent-encoding. What is not UTF-8 then is replaced.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&first, behind)) = rest.split_first() {
        let digit = |at: usize| behind.get(at).and_then(|byte| char::from(*byte).to_digit(16));
        if let (b'%', Some(high), Some(low)) = (first, digit(0), digit(1)) {
            // Two digits are less than 256.
            bytes.push((high * 16 + low) as u8);
            rest = &behind[2..];
        } else {
            bytes.push(first);
            rest = behind;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The host of a URL in normal form.
fn host_of(url: &str) -> Option<&str> {
    url.split_once("://")?.1.split(['/', '?', ':']).next()
}

/// True for a domain and the names under it.
fn is_within(host: &str, domain: &str) -> bool {
    host.strip_suffix(domain).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use oxrdf::{Literal, NamedNode, NamedNodeRef};
    use webloom_model::vocab::{dcterms, foaf};

    use super::super::{Novelty, NoveltyRules, Verdict, WordRuns};
    use super::*;

    /// A page in a few strokes.
    struct Sketch {
        url: PageUrl,
        title: Option<String>,
        text: String,
        triples: Vec<Triple>,
        links: HashSet<String>,
        shown_instead: Vec<String>,
        found_on: Option<PageUrl>,
    }

    impl Sketch {
        fn at(url: &str) -> Self {
            let url = PageUrl::parse(url).unwrap();
            Self {
                url,
                title: None,
                text: String::new(),
                triples: Vec::new(),
                links: HashSet::new(),
                shown_instead: Vec::new(),
                found_on: None,
            }
        }

        fn text(mut self, text: impl Into<String>) -> Self {
            self.text = text.into();
            self
        }

        fn say(mut self, predicate: NamedNodeRef<'_>, object: impl Into<Term>) -> Self {
            self.triples.push(Triple::new(self.url.graph_name(), predicate, object));
            self
        }

        fn title(mut self, title: impl Into<String>) -> Self {
            self.title = Some(title.into());
            self
        }

        /// Resolved as a browser would.
        fn image(self, reference: &str) -> Self {
            let image = self.url.join(reference).unwrap().graph_name();
            self.say(foaf::DEPICTION, image)
        }

        fn link(mut self, reference: &str, words: &str) -> Self {
            let target = self.url.join(reference).unwrap();
            self.links.insert(target.as_str().to_owned());
            self.triples.push(Triple::new(
                target.graph_name(),
                rdfs::LABEL,
                Literal::new_simple_literal(words),
            ));
            self.say(rdfs::SEE_ALSO, target.graph_name())
        }

        fn instead(mut self, reference: &str) -> Self {
            self.shown_instead.push(self.url.join(reference).unwrap().into());
            self.link(reference, "")
        }

        fn found_on(mut self, page: Option<PageUrl>) -> Self {
            self.found_on = page;
            self
        }

        fn judge(&self, novelty: &mut Novelty) -> Verdict {
            let page = JudgedPage {
                url: &self.url,
                title: self.title.as_deref(),
                text: &self.text,
                triples: &self.triples,
                plain_links: &self.links,
                shown_instead: &self.shown_instead,
                found_on: self.found_on.as_ref(),
            };
            novelty.judge(&page, &WordRuns::of(&page))
        }
    }

    /// The verdicts on a site, page by page.
    fn verdicts(page: impl Fn(u32) -> Sketch) -> Vec<Verdict> {
        let mut novelty = Novelty::new(NoveltyRules::default());
        let found_on = |number: u32| number.checked_sub(1).map(|before| page(before).url);
        (0..300).map(|number| page(number).found_on(found_on(number)).judge(&mut novelty)).collect()
    }

    type Site = Box<dyn Fn(u32) -> Sketch>;

    const MENU: &str = "Home About us Contact News Products Imprint all rights reserved since 1999";

    #[test]
    fn pages_that_are_all_alike_are_seen_through() {
        let page = |number: u32| Sketch::at(&format!("http://trap.example/dir{number}/{}", number * 7));
        let deep =
            |number: u32| Sketch::at(&format!("http://trap.example/{}", "a/b/".repeat(number as usize)));
        let sites: [(&str, Site); 13] = [
            ("says OK", Box::new(move |number| page(number).text("OK"))),
            (
                "says nothing and leads on",
                Box::new(move |number| page(number).link(&format!("/{}", number * 2), "").link("x", "")),
            ),
            ("a word many times", Box::new(move |number| page(number).text("error ".repeat(1000)))),
            (
                "names its path",
                Box::new(move |number| {
                    let page = page(number);
                    let text = format!("The page {} was not found", page.url.path_and_query());
                    page.title("Not found").text(text)
                }),
            ),
            (
                "names its URL in the title, too",
                Box::new(move |number| {
                    let page = page(number);
                    let text = format!("{} was not found on this server", page.url);
                    let title = format!("{}: not found", page.url.path_and_query());
                    page.title(title).text(text)
                }),
            ),
            (
                "names a part of it among many words",
                Box::new(move |number| {
                    page(number).text(format!("{MENU} {MENU} Error: there is no dir{number} here, nor has there been one. Go to the start page or write to us if you think there should be."))
                }),
            ),
            (
                "names it twice among a few",
                Box::new(move |number| {
                    page(number).text(format!(
                        "{MENU} > dir{number} > {} Not found: dir{number}/{}",
                        number * 7,
                        number * 7
                    ))
                }),
            ),
            (
                "names what was asked for",
                Box::new(|number| {
                    let url =
                        format!("http://trap.example/search?q=blue+thing{number}&sort=caf%C3%A9{number}");
                    Sketch::at(&url).title("Search").text(format!(
                        "{MENU} Your search for blue thing{number} by caf\u{e9}{number} found nothing at all"
                    ))
                }),
            ),
            (
                "has its pictures wherever it is",
                Box::new(move |number| {
                    deep(number)
                        .text("Not here")
                        .image("img/logo.png")
                        .image("../logo.png")
                        .image("/logo.png")
                }),
            ),
            (
                "tells where it is",
                Box::new(move |number| {
                    let page = page(number).text("Not here");
                    let [own, part, feed, german] = [
                        page.url.to_string(),
                        format!("{}#part", page.url),
                        format!("{}/feed", page.url),
                        format!("http://trap.example/de{}", page.url.path_and_query()),
                    ]
                    .map(|iri| NamedNode::new(iri).unwrap());
                    let mut page = page
                        .say(xhv::CANONICAL, own.clone())
                        .say(foaf::MAKER, own)
                        .say(foaf::MAKER, part)
                        .say(xhv::ALTERNATE, feed)
                        .say(xhv::ALTERNATE, german.clone());
                    let language = Literal::new_simple_literal("de");
                    page.triples.push(Triple::new(german, dcterms::LANGUAGE, language));
                    page
                }),
            ),
            (
                "is parked, with advertisements",
                Box::new(move |number| {
                    page(number)
                        .text("This domain is for sale")
                        .link(&format!("http://ads.example.org/click?{number}"), "Buy")
                        .link(&format!("http://h{number}.trap.example/"), "More")
                }),
            ),
            (
                "is a calendar",
                Box::new(|number| {
                    let (year, month) = (1900 + number, number % 12 + 1);
                    let url = format!("http://trap.example/{year}/{month}");
                    Sketch::at(&url).title(format!("Month {month} of {year}")).text("No events")
                }),
            ),
            (
                "has three banners",
                Box::new(move |number| page(number).text("OK").image(&format!("/banner{}.png", number % 3))),
            ),
        ];
        for (name, site) in sites {
            let verdicts = verdicts(site);
            assert_eq!(verdicts[0], Verdict::New, "{name}");
            assert!(
                verdicts[60..].iter().all(|verdict| *verdict == Verdict::Exhausted),
                "{name}: {verdicts:?}"
            );
        }
        // From the second page on.
        assert_eq!(
            verdicts(|number| page(number).text("OK"))[..3],
            [Verdict::New, Verdict::Stale, Verdict::Stale]
        );
    }

    #[test]
    fn honest_pages_may_have_few_words() {
        let word = |number: u32| format!("w{:x}", mix(u64::from(number)) % (1 << 40));
        let sites: [(&str, Site); 16] = [
            (
                "a gallery without words",
                Box::new(|number| {
                    Sketch::at(&format!("http://a.example/view/{number}"))
                        .image(&format!("/large/{number}.jpg"))
                }),
            ),
            (
                "a gallery with folders of its own",
                Box::new(|number| {
                    Sketch::at(&format!("http://a.example/view/{number}"))
                        .text("Previous Next")
                        .image(&format!("/pictures/{number}/large.jpg"))
                }),
            ),
            (
                "a gallery with a menu, and titles",
                Box::new(move |number| {
                    let name = format!("Sunset {} at sea", word(number));
                    Sketch::at(&format!("http://a.example/{}", name.replace(' ', "-")))
                        .text(format!("{MENU} {name}"))
                        .title(name)
                }),
            ),
            (
                "a gallery with a menu, and titles nowhere else",
                Box::new(move |number| {
                    Sketch::at(&format!("http://a.example/view/{number}")).text(MENU).title(word(number))
                }),
            ),
            (
                "a dictionary by number",
                Box::new(move |number| {
                    Sketch::at(&format!("http://a.example/entry/{number}"))
                        .title("Dictionary")
                        .text(word(number))
                }),
            ),
            (
                "a dictionary by word",
                Box::new(move |number| {
                    let word = word(number);
                    Sketch::at(&format!("http://a.example/{word}"))
                        .title(format!("{word} - Dictionary"))
                        .text(format!("{word} Previous word Next word"))
                }),
            ),
            (
                "a dictionary by word, without titles",
                Box::new(move |number| {
                    let word = word(number);
                    Sketch::at(&format!("http://a.example/{word}")).text(format!("{word} Next"))
                }),
            ),
            (
                "shells that a browser fills",
                Box::new(|number| {
                    Sketch::at(&format!("http://a.example/chapter/{number}"))
                        .title(format!("Chapter {number}"))
                        .text("Please enable JavaScript")
                }),
            ),
            (
                "data",
                Box::new(|number| {
                    let value = Literal::from(number);
                    Sketch::at(&format!("http://a.example/{number}.ttl")).say(dcterms::EXTENT, value)
                }),
            ),
            (
                "indexes of data",
                Box::new(|number| {
                    (0..200).fold(Sketch::at(&format!("http://a.example/{number}.ttl")), |page, entry| {
                        let target = format!("http://a.example/data/{number}-{entry}.ttl");
                        page.say(rdfs::SEE_ALSO, NamedNode::new(target).unwrap())
                    })
                }),
            ),
            (
                "data of other things",
                Box::new(|number| {
                    let mut page = Sketch::at(&format!("http://a.example/{number}.ttl"));
                    let thing = NamedNode::new(format!("http://a.example/thing/{number}")).unwrap();
                    page.triples.push(Triple::new(
                        thing,
                        rdfs::LABEL,
                        Literal::new_simple_literal("A thing"),
                    ));
                    page
                }),
            ),
            (
                "ways to elsewhere",
                Box::new(|number| {
                    Sketch::at(&format!("http://a.example/out/{number}"))
                        .text("Go on")
                        .link(&format!("http://site{number}.example.org/"), "Go on")
                }),
            ),
            (
                "pages that moved",
                Box::new(|number| {
                    let target = NamedNode::new(format!("http://a.example/new/{number}")).unwrap();
                    Sketch::at(&format!("http://a.example/old/{number}"))
                        .title("Redirecting")
                        .text("Click here if you are not redirected")
                        .say(xhv::CANONICAL, target)
                }),
            ),
            (
                "pages that send on",
                Box::new(|number| {
                    Sketch::at(&format!("http://a.example/old/{number}")).instead(&format!("/new/{number}"))
                }),
            ),
            (
                "frames",
                Box::new(|number| {
                    Sketch::at(&format!("http://a.example/{number}.html"))
                        .title("Our village")
                        .instead("menu.html")
                        .instead(&format!("text{number}.html"))
                }),
            ),
            (
                "lines of a poem",
                Box::new(move |number| {
                    Sketch::at(&format!("http://a.example/{number}")).text(format!(
                        "{} {} Next line",
                        word(number),
                        word(number + 1000)
                    ))
                }),
            ),
        ];
        for (name, site) in sites {
            let verdicts = verdicts(site);
            assert!(verdicts.iter().all(|verdict| *verdict == Verdict::New), "{name}: {verdicts:?}");
        }
    }

    #[test]
    fn folders_may_have_the_same_in_them() {
        for about in ["", MENU] {
            let mut novelty = Novelty::new(NoveltyRules::default());
            let mut judge = |path: String, names: String, found_on: Option<&str>| {
                let url = format!("http://a.example{path}");
                let found_on =
                    found_on.map(|path| PageUrl::parse(&format!("http://a.example{path}")).unwrap());
                let title = format!("Index of {path}");
                let page =
                    Sketch::at(&url).text(format!("{about} {title} {names}")).title(title).found_on(found_on);
                // Now and then one is taken for stale, for the memory is small. Most must be.
                assert_ne!(page.judge(&mut novelty), Verdict::Exhausted, "{path}");
            };
            let years = || (1990..2030).map(|year| format!("{year}/"));
            judge("/".to_owned(), years().collect(), None);
            for year in years() {
                judge(format!("/{year}"), "spring/ summer/ autumn/ winter/".to_owned(), Some("/"));
            }
            for year in years() {
                for season in ["spring", "summer", "autumn", "winter"] {
                    judge(
                        format!("/{year}{season}/"),
                        "rain.csv wind.csv".to_owned(),
                        Some(&format!("/{year}")),
                    );
                }
            }
        }
    }
}
