//! The class names of the first microformats, and what they are called in the second.
//!
//! A root of old counts where the element has no new one. Inside it only old property names count, and only those of its
//! kind: `title` is a job in a `vcard` and nothing in a `vevent`.

use super::classes::Prefix::{self, Date, Embedded, Plain, Url};

/// Kinds of old roots, as a set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Kinds(u16);

impl Kinds {
    /// No kind.
    pub(super) const NONE: Self = Self(0);
    const ADR: Self = Self(1);
    const GEO: Self = Self(1 << 1);
    const CARD: Self = Self(1 << 2);
    const EVENT: Self = Self(1 << 3);
    const ENTRY: Self = Self(1 << 4);
    const FEED: Self = Self(1 << 5);
    const NEWS: Self = Self(1 << 6);
    const PRODUCT: Self = Self(1 << 7);
    const RECIPE: Self = Self(1 << 8);
    const RESUME: Self = Self(1 << 9);
    const REVIEW: Self = Self(1 << 10);
    const AGGREGATE: Self = Self(1 << 11);
    /// What a review is about, where it has no root of its own.
    const REVIEWED: Self = Self(1 << 12);

    pub(super) fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) fn insert(&mut self, other: Self) {
        self.0 |= other.0;
    }

    fn meets(self, other: Self) -> bool {
        self.0 & other.0 != 0
    }

    /// The types in microformats2.
    pub(super) fn types(self) -> Vec<String> {
        let mut types: Vec<String> =
            KINDS.iter().filter(|kind| self.meets(kind.kind)).map(|kind| kind.root.to_owned()).collect();
        types.sort();
        types
    }
}

struct Kind {
    kind: Kinds,
    /// The class name; none for what only another kind implies.
    class: &'static str,
    root: &'static str,
    properties: &'static [Property],
}

/// An old property name with its new prefix and name, and the item its element is even without a root class.
type Property = (&'static str, Prefix, &'static str, Kinds);

const fn plain(class: &'static str) -> Property {
    (class, Plain, class, Kinds::NONE)
}

const fn url(class: &'static str) -> Property {
    (class, Url, class, Kinds::NONE)
}

const KINDS: &[Kind] = &[
    Kind { kind: Kinds::ADR, class: "adr", root: "h-adr", properties: ADDRESS },
    Kind { kind: Kinds::GEO, class: "geo", root: "h-geo", properties: PLACE },
    Kind { kind: Kinds::CARD, class: "vcard", root: "h-card", properties: CARD },
    Kind { kind: Kinds::EVENT, class: "vevent", root: "h-event", properties: EVENT },
    Kind { kind: Kinds::ENTRY, class: "hentry", root: "h-entry", properties: ENTRY },
    Kind { kind: Kinds::FEED, class: "hfeed", root: "h-feed", properties: FEED },
    Kind { kind: Kinds::NEWS, class: "hnews", root: "h-news", properties: NEWS },
    Kind { kind: Kinds::PRODUCT, class: "hproduct", root: "h-product", properties: PRODUCT },
    Kind { kind: Kinds::RECIPE, class: "hrecipe", root: "h-recipe", properties: RECIPE },
    Kind { kind: Kinds::RESUME, class: "hresume", root: "h-resume", properties: RESUME },
    Kind { kind: Kinds::REVIEW, class: "hreview", root: "h-review", properties: REVIEW },
    Kind {
        kind: Kinds::AGGREGATE,
        class: "hreview-aggregate",
        root: "h-review-aggregate",
        properties: AGGREGATE,
    },
    Kind { kind: Kinds::REVIEWED, class: "", root: "h-item", properties: REVIEWED },
];

const ADDRESS: &[Property] = &[
    plain("post-office-box"),
    plain("extended-address"),
    plain("street-address"),
    plain("locality"),
    plain("region"),
    plain("postal-code"),
    plain("country-name"),
];

const PLACE: &[Property] = &[plain("latitude"), plain("longitude"), plain("altitude")];

const CARD: &[Property] = &[
    ("fn", Plain, "name", Kinds::NONE),
    plain("honorific-prefix"),
    plain("given-name"),
    plain("additional-name"),
    plain("family-name"),
    plain("honorific-suffix"),
    plain("sort-string"),
    plain("nickname"),
    url("email"),
    url("logo"),
    url("photo"),
    url("url"),
    url("uid"),
    plain("category"),
    ("adr", Plain, "adr", Kinds::ADR),
    plain("post-office-box"),
    plain("extended-address"),
    plain("street-address"),
    plain("locality"),
    plain("region"),
    plain("postal-code"),
    plain("country-name"),
    plain("label"),
    ("geo", Plain, "geo", Kinds::GEO),
    plain("latitude"),
    plain("longitude"),
    plain("tel"),
    plain("note"),
    ("bday", Date, "bday", Kinds::NONE),
    url("key"),
    url("sound"),
    plain("org"),
    plain("organization-name"),
    plain("organization-unit"),
    ("title", Plain, "job-title", Kinds::NONE),
    plain("role"),
    plain("tz"),
    ("rev", Date, "rev", Kinds::NONE),
];

const EVENT: &[Property] = &[
    ("summary", Plain, "name", Kinds::NONE),
    ("dtstart", Date, "start", Kinds::NONE),
    ("dtend", Date, "end", Kinds::NONE),
    ("duration", Date, "duration", Kinds::NONE),
    plain("description"),
    url("url"),
    url("uid"),
    plain("category"),
    plain("location"),
    ("geo", Plain, "location", Kinds::GEO),
    plain("attendee"),
    plain("contact"),
    plain("organizer"),
];

const ENTRY: &[Property] = &[
    ("entry-title", Plain, "name", Kinds::NONE),
    ("entry-summary", Plain, "summary", Kinds::NONE),
    ("entry-content", Embedded, "content", Kinds::NONE),
    ("published", Date, "published", Kinds::NONE),
    ("updated", Date, "updated", Kinds::NONE),
    ("author", Plain, "author", Kinds::CARD),
    plain("category"),
    ("geo", Plain, "geo", Kinds::GEO),
    plain("latitude"),
    plain("longitude"),
];

const FEED: &[Property] = &[
    ("site-title", Plain, "name", Kinds::NONE),
    ("title", Plain, "name", Kinds::NONE),
    ("site-description", Plain, "summary", Kinds::NONE),
    ("description", Plain, "summary", Kinds::NONE),
    ("author", Plain, "author", Kinds::CARD),
    url("photo"),
    plain("category"),
];

const NEWS: &[Property] = &[
    ("entry", Plain, "entry", Kinds::NONE),
    ("dateline", Plain, "dateline", Kinds::CARD),
    ("source-org", Plain, "source-org", Kinds::CARD),
    ("geo", Plain, "geo", Kinds::GEO),
    plain("latitude"),
    plain("longitude"),
];

const PRODUCT: &[Property] = &[
    ("fn", Plain, "name", Kinds::NONE),
    url("photo"),
    plain("brand"),
    plain("category"),
    plain("description"),
    url("identifier"),
    url("url"),
    ("review", Plain, "review", Kinds::REVIEW),
    plain("price"),
];

const RECIPE: &[Property] = &[
    ("fn", Plain, "name", Kinds::NONE),
    plain("ingredient"),
    plain("yield"),
    ("instructions", Embedded, "instructions", Kinds::NONE),
    ("duration", Date, "duration", Kinds::NONE),
    url("photo"),
    plain("summary"),
    ("author", Plain, "author", Kinds::CARD),
    ("published", Date, "published", Kinds::NONE),
    plain("nutrition"),
    plain("category"),
];

const RESUME: &[Property] = &[
    plain("summary"),
    ("contact", Plain, "contact", Kinds::CARD),
    ("education", Plain, "education", Kinds::EVENT),
    ("experience", Plain, "experience", Kinds::EVENT),
    plain("skill"),
    ("affiliation", Plain, "affiliation", Kinds::CARD),
];

const REVIEW: &[Property] = &[
    ("summary", Plain, "name", Kinds::NONE),
    ("item", Plain, "item", Kinds::REVIEWED),
    ("fn", Plain, "item", Kinds::REVIEWED),
    ("photo", Plain, "item", Kinds::REVIEWED),
    ("url", Plain, "item", Kinds::REVIEWED),
    ("reviewer", Plain, "author", Kinds::CARD),
    ("dtreviewed", Date, "reviewed", Kinds::NONE),
    plain("rating"),
    plain("best"),
    plain("worst"),
    plain("description"),
];

const AGGREGATE: &[Property] = &[
    ("summary", Plain, "name", Kinds::NONE),
    ("item", Plain, "item", Kinds::REVIEWED),
    ("fn", Plain, "item", Kinds::REVIEWED),
    url("photo"),
    url("url"),
    ("reviewer", Plain, "reviewer", Kinds::CARD),
    ("dtreviewed", Date, "reviewed", Kinds::NONE),
    plain("rating"),
    plain("average"),
    plain("best"),
    plain("worst"),
    plain("count"),
    plain("votes"),
    plain("description"),
];

const REVIEWED: &[Property] = &[("fn", Plain, "name", Kinds::NONE), url("photo"), url("url")];

/// The kind a class name is the root of.
pub(super) fn root(class: &str) -> Option<Kinds> {
    // All begin with one of these, few classes do.
    if !matches!(class.as_bytes().first(), Some(b'a' | b'g' | b'h' | b'v')) {
        return None;
    }
    KINDS.iter().find(|kind| kind.class == class).map(|kind| kind.kind)
}

/// The properties a class name stands for inside items of these kinds.
pub(super) fn properties(
    kinds: Kinds,
    class: &str,
) -> impl Iterator<Item = (Prefix, &'static str, Kinds)> + use<'_> {
    KINDS.iter().filter(move |kind| kinds.meets(kind.kind)).flat_map(move |kind| {
        kind.properties
            .iter()
            .filter(move |(known, ..)| *known == class)
            .map(|&(_, prefix, name, implied)| (prefix, name, implied))
    })
}

/// What a `rel` of a link says inside an item of these kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Relation {
    /// Its target is the item's `url`.
    Url,
    /// The last part of its target's path is a `category`.
    Category,
}

/// What the `rel` values of a link mean inside items of these kinds.
pub(super) fn relations(kinds: Kinds, rel: &str) -> impl Iterator<Item = Relation> {
    let has = |wanted: &str| rel.split_ascii_whitespace().any(|value| value.eq_ignore_ascii_case(wanted));
    let bookmark =
        has("bookmark") && (kinds.meets(Kinds::ENTRY) || (kinds.meets(Kinds::REVIEW) && has("self")));
    let mut tagged = Kinds::ENTRY;
    for kind in [Kinds::FEED, Kinds::PRODUCT, Kinds::RECIPE, Kinds::REVIEW, Kinds::AGGREGATE] {
        tagged.insert(kind);
    }
    let tag = kinds.meets(tagged) && has("tag");
    bookmark.then_some(Relation::Url).into_iter().chain(tag.then_some(Relation::Category))
}
