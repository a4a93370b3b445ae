//! A feed as all its formats mean it: what RSS, Atom and JSON Feed are read into, and what is written as RDF.
//!
//! One type describes a channel, an item and the source of an item alike, because their elements are the same and because
//! feeds use them wherever they like. References are resolved already; texts know whether they are HTML.

use oxrdf::NamedNode;

use super::date::Moment;
use super::markup;
use crate::html::plain::Collapsed;

/// Bytes of a title for search.
const WORDS_BYTES_MAX: usize = 1000;

/// A text of a feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Text {
    pub(super) value: String,
    /// It is HTML, and not only words.
    pub(super) html: bool,
    /// BCP 47 tag, by `xml:lang`.
    pub(super) language: Option<String>,
}

impl Text {
    /// A text that is said to be plain.
    pub(super) fn plain(value: &str) -> Self {
        Self { value: trim(value).to_owned(), html: false, language: None }
    }

    /// A text that is said to be HTML. It counts as plain when it has neither tags nor references: then it reads the same.
    pub(super) fn html(value: &str) -> Self {
        let value = trim(value);
        Self { value: value.to_owned(), html: markup::is_markup(value), language: None }
    }

    /// A text of which nothing is said, as everywhere in RSS: HTML when it has tags, and without references even where
    /// they were written twice.
    pub(super) fn guessed(value: &str) -> Self {
        let value = trim(value);
        if markup::has_tags(value) {
            return Self { value: value.to_owned(), html: true, language: None };
        }
        let decoded = markup::decode(value);
        // Escaped twice: the tags appear only now.
        let html = decoded.len() != value.len() && markup::has_tags(&decoded);
        Self { value: decoded.into_owned(), html, language: None }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.value.is_empty()
    }

    /// Adds the words, parted from what follows.
    pub(super) fn add_words(&self, words: &mut Collapsed) {
        if self.html {
            markup::words(&self.value, words);
        } else {
            words.push(&self.value);
        }
        words.space();
    }

    /// The words alone, white space collapsed.
    pub(super) fn words(&self) -> String {
        let mut words = Collapsed::new(WORDS_BYTES_MAX);
        self.add_words(&mut words);
        words.text
    }
}

/// Without XML's white space around it. A no-break space is somebody's intention.
pub(super) fn trim(text: &str) -> &str {
    text.trim_matches([' ', '\t', '\n', '\r'])
}

/// Somebody.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Person {
    pub(super) name: Option<String>,
    pub(super) email: Option<String>,
    pub(super) page: Option<NamedNode>,
    pub(super) image: Option<NamedNode>,
}

impl Person {
    /// Reads `Name`, `address`, `Name (address)`, `address (Name)`, `Name <address>`.
    pub(super) fn parse(text: &str) -> Self {
        let text = trim(text);
        let parts =
            |c: char| c.is_whitespace() || matches!(c, '(' | ')' | '<' | '>' | '[' | ']' | ',' | ';' | '"');
        let address = text.split(parts).find(|word| is_address(strip_mailto(word)));
        let Some(written) = address else {
            return Self { name: (!text.is_empty()).then(|| text.to_owned()), ..Self::default() };
        };
        let name = text.replacen(written, " ", 1);
        let name = name.trim_matches(|c: char| parts(c) || c == ':');
        let name = name.split_whitespace().collect::<Vec<_>>().join(" ");
        Self {
            name: (!name.is_empty()).then_some(name),
            email: Some(strip_mailto(written).to_owned()),
            ..Self::default()
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

fn strip_mailto(word: &str) -> &str {
    match word.get(..7) {
        Some(scheme) if scheme.eq_ignore_ascii_case("mailto:") => &word[7..],
        _ => word,
    }
}

fn is_address(word: &str) -> bool {
    word.split_once('@').is_some_and(|(local, domain)| {
        !local.is_empty() && !domain.is_empty() && !domain.contains('@') && !word.contains("://")
    })
}

/// What something is about.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Category {
    pub(super) term: String,
    pub(super) scheme: Option<String>,
    pub(super) label: Option<String>,
}

/// A typed link.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Link {
    /// The relation as written, `alternate` where nothing is.
    pub(super) rel: String,
    pub(super) target: NamedNode,
    pub(super) media_type: Option<String>,
    pub(super) title: Option<String>,
    pub(super) language: Option<String>,
    pub(super) length: Option<String>,
}

impl Link {
    pub(super) fn new(rel: &str, target: NamedNode) -> Self {
        Self { rel: rel.to_owned(), target, media_type: None, title: None, language: None, length: None }
    }

    /// It leads to what the feed or the item is about.
    pub(super) fn is_alternate(&self) -> bool {
        self.rel == "alternate"
    }

    /// A page for people, as far as the link says.
    pub(super) fn is_for_people(&self) -> bool {
        self.media_type.as_deref().is_none_or(|media_type| media_type.contains("html"))
    }
}

/// Sound, film, picture or another file that goes with an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Media {
    pub(super) url: NamedNode,
    /// `audio`, `video`, `image`, where it is said other than by the type.
    pub(super) medium: Option<String>,
    pub(super) media_type: Option<String>,
    pub(super) length: Option<String>,
    pub(super) duration: Option<String>,
    pub(super) width: Option<String>,
    pub(super) height: Option<String>,
    pub(super) title: Option<Text>,
    pub(super) description: Option<Text>,
    pub(super) thumbnails: Vec<NamedNode>,
    pub(super) player: Option<NamedNode>,
    pub(super) uploaded: Option<Date>,
}

impl Media {
    pub(super) fn new(url: NamedNode) -> Self {
        Self {
            url,
            medium: None,
            media_type: None,
            length: None,
            duration: None,
            width: None,
            height: None,
            title: None,
            description: None,
            thumbnails: Vec::new(),
            player: None,
            uploaded: None,
        }
    }
}

/// A picture of a channel, with RSS's words about it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Image {
    pub(super) url: Option<NamedNode>,
    pub(super) title: Option<Text>,
    pub(super) description: Option<Text>,
    pub(super) link: Option<NamedNode>,
    pub(super) width: Option<String>,
    pub(super) height: Option<String>,
}

/// RSS's field for text that a reader may type in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct TextInput {
    pub(super) title: Option<Text>,
    pub(super) description: Option<Text>,
    pub(super) name: Option<String>,
    pub(super) link: Option<NamedNode>,
}

/// The program that wrote a feed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Generator {
    pub(super) name: Option<String>,
    pub(super) page: Option<NamedNode>,
    pub(super) version: Option<String>,
}

/// A date: understood, or as it was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Date {
    Known(Moment),
    Unknown(String),
}

/// A place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    /// Latitude and longitude in degrees, as written.
    Point(String, String),
    /// Another property of GeoRSS, by its local name.
    Shape(&'static str, String),
}

/// A channel, an item, or the source of an item.
#[derive(Debug, Default)]
pub(super) struct Described {
    pub(super) id: Option<String>,
    /// The identifier is the item's address: an RSS `guid` that does not say otherwise.
    pub(super) id_is_link: bool,
    pub(super) title: Option<Text>,
    /// A title that a module gives, for want of one.
    pub(super) module_title: Option<Text>,
    pub(super) description: Option<Text>,
    pub(super) subtitle: Option<Text>,
    /// Atom 0.3's words on what a feed is, for people who open it by mistake.
    pub(super) info: Option<Text>,
    pub(super) contents: Vec<Text>,
    pub(super) rights: Option<Text>,
    pub(super) licenses: Vec<NamedNode>,
    pub(super) links: Vec<Link>,
    pub(super) creators: Vec<Person>,
    pub(super) contributors: Vec<Person>,
    pub(super) publishers: Vec<Person>,
    pub(super) categories: Vec<Category>,
    pub(super) published: Option<Date>,
    pub(super) updated: Option<Date>,
    pub(super) created: Option<Date>,
    /// Dublin Core's date, which does not say of what.
    pub(super) date: Option<Date>,
    pub(super) expires: Option<Date>,
    pub(super) valid_from: Option<Date>,
    pub(super) valid_through: Option<Date>,
    pub(super) language: Option<String>,
    pub(super) generator: Option<Generator>,
    pub(super) image: Option<Image>,
    pub(super) depictions: Vec<NamedNode>,
    pub(super) thumbnails: Vec<NamedNode>,
    pub(super) logo: Option<NamedNode>,
    pub(super) icon: Option<NamedNode>,
    pub(super) text_input: Option<TextInput>,
    pub(super) media: Vec<Media>,
    pub(super) player: Option<NamedNode>,
    pub(super) comments: Option<NamedNode>,
    pub(super) comment_feed: Option<NamedNode>,
    pub(super) comment_count: Option<String>,
    pub(super) reply_of: Vec<NamedNode>,
    pub(super) transcripts: Vec<NamedNode>,
    pub(super) payments: Vec<NamedNode>,
    pub(super) places: Vec<Place>,
    pub(super) source: Option<Box<Described>>,
    pub(super) docs: Option<NamedNode>,
    pub(super) new_location: Option<NamedNode>,
    pub(super) ttl: Option<String>,
    /// RSS 1.0's properties on how often a feed changes, by local name.
    pub(super) syndication: Vec<(&'static str, String)>,
    pub(super) rating: Option<String>,
    pub(super) explicit: Option<bool>,
    pub(super) itunes_block: Option<bool>,
    pub(super) duration: Option<String>,
    pub(super) season: Option<String>,
    pub(super) episode: Option<String>,
    pub(super) episode_type: Option<String>,
}

impl Described {
    /// Takes a description: the first is the description, others that say something else are content.
    pub(super) fn describe(&mut self, text: Text) {
        match &self.description {
            None => self.description = Some(text),
            Some(known) if known.is_empty() => self.description = Some(text),
            Some(known) if text.is_empty() || known.value == text.value => {}
            Some(_) => self.contents.push(text),
        }
    }

    /// Takes a category that has words and is not known yet.
    pub(super) fn categorise(&mut self, category: Category) {
        // A keyword adds nothing to a category of the same name.
        let known = |known: &Category| {
            known.term == category.term
                && (known.scheme == category.scheme
                    || (category.scheme.is_none() && category.label.is_none()))
        };
        if !category.term.is_empty() && self.categories.len() < LIST_MAX && !self.categories.iter().any(known)
        {
            self.categories.push(category);
        }
    }

    /// The link to what this is about: of the alternates the first one for people, else the identifier, if it is a link.
    pub(super) fn main_link(&self) -> Option<&Link> {
        let alternates = || self.links.iter().filter(|link| link.is_alternate());
        alternates().find(|link| link.is_for_people()).or_else(|| alternates().next())
    }
}

/// Members of a list that is searched for every new one.
pub(super) const LIST_MAX: usize = 200;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn persons_in_every_order() {
        for (text, name, email) in [
            ("Ada", Some("Ada"), None),
            ("ada@example.org", None, Some("ada@example.org")),
            ("Ada L (ada@example.org)", Some("Ada L"), Some("ada@example.org")),
            ("ada@example.org (Ada L)", Some("Ada L"), Some("ada@example.org")),
            ("Ada L <ada@example.org>", Some("Ada L"), Some("ada@example.org")),
            ("\"L, Ada\" <mailto:ada+x@example.org>", Some("L, Ada"), Some("ada+x@example.org")),
            ("@ada", Some("@ada"), None),
            ("http://u@example.org/", Some("http://u@example.org/"), None),
            ("", None, None),
        ] {
            let person = Person::parse(text);
            assert_eq!((person.name.as_deref(), person.email.as_deref()), (name, email), "{text}");
        }
    }

    #[test]
    fn guesses() {
        for (text, value, html) in [
            ("1 < 2", "1 < 2", false),
            ("AT&amp;T", "AT&T", false),
            ("<p>x &amp; y</p>", "<p>x &amp; y</p>", true),
            ("&lt;p&gt;x&lt;/p&gt;", "<p>x</p>", true),
            (" \n x ", "x", false),
        ] {
            let text = Text::guessed(text);
            assert_eq!((text.value.as_str(), text.html), (value, html));
        }
    }
}
