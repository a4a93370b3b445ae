//! The vocabularies microformats are written in as RDF: which class a root is, which property a property.
//!
//! People and places are vCard's and WGS84's, everything else schema.org's, where they have a word for it. What has none
//! keeps its own name, under [`MICROFORMATS`]. The tables are explained in `docs/microformats.md`.

/// Names that no vocabulary has, with or without `h-`.
pub(super) const MICROFORMATS: &str = "http://microformats.org/profile/microformats2#";

/// How a property is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Target {
    /// By this property.
    Property(&'static str),
    /// By the first property where the value is a resource, by the second where it is words.
    Either(&'static str, &'static str),
    /// By the property at the end, of a node of that class that the first property leads to. One such node for an item.
    Inside(&'static str, &'static str, &'static str),
}

/// A root class in RDF.
pub(super) struct Root {
    pub(super) name: &'static str,
    pub(super) class: &'static str,
    pub(super) properties: &'static [(&'static str, Target)],
}

macro_rules! vcard {
    ($name:literal) => {
        concat!("http://www.w3.org/2006/vcard/ns#", $name)
    };
}
macro_rules! schema {
    ($name:literal) => {
        concat!("http://schema.org/", $name)
    };
}
macro_rules! geo {
    ($name:literal) => {
        concat!("http://www.w3.org/2003/01/geo/wgs84_pos#", $name)
    };
}

use Target::{Either, Inside, Property};

/// A card whose name is the name of its organisation is the organisation's.
pub(super) const ORGANIZATION: &str = vcard!("Organization");
/// From a feed to its entries.
pub(super) const BLOG_POST: &str = schema!("blogPost");

/// The root of a name, if it is in a table.
pub(super) fn root(name: &str) -> Option<&'static Root> {
    ROOTS.iter().find(|root| root.name == name)
}

const ROOTS: &[Root] = &[
    Root { name: "h-card", class: vcard!("Individual"), properties: CARD },
    Root { name: "h-adr", class: vcard!("Address"), properties: ADDRESS },
    Root { name: "h-geo", class: geo!("Point"), properties: PLACE },
    Root { name: "h-event", class: schema!("Event"), properties: EVENT },
    Root { name: "h-entry", class: schema!("BlogPosting"), properties: ENTRY },
    Root { name: "h-feed", class: schema!("Blog"), properties: ENTRY },
    Root { name: "h-news", class: schema!("NewsArticle"), properties: ENTRY },
    Root { name: "h-cite", class: schema!("CreativeWork"), properties: ENTRY },
    Root { name: "h-item", class: schema!("Thing"), properties: THING },
    Root { name: "h-product", class: schema!("Product"), properties: PRODUCT },
    Root { name: "h-recipe", class: schema!("Recipe"), properties: RECIPE },
    Root { name: "h-review", class: schema!("Review"), properties: REVIEW },
    Root { name: "h-review-aggregate", class: schema!("AggregateRating"), properties: AGGREGATE },
    Root { name: "h-rating", class: schema!("Rating"), properties: AGGREGATE },
];

const CARD: &[(&str, Target)] = &[
    ("name", Property(vcard!("fn"))),
    ("honorific-prefix", Property(vcard!("honorific-prefix"))),
    ("given-name", Property(vcard!("given-name"))),
    ("additional-name", Property(vcard!("additional-name"))),
    ("family-name", Property(vcard!("family-name"))),
    ("honorific-suffix", Property(vcard!("honorific-suffix"))),
    ("sort-string", Property(vcard!("sort-string"))),
    ("nickname", Property(vcard!("nickname"))),
    ("email", Either(vcard!("hasEmail"), vcard!("email"))),
    ("logo", Property(vcard!("hasLogo"))),
    ("photo", Property(vcard!("hasPhoto"))),
    ("url", Property(vcard!("hasURL"))),
    ("uid", Property(vcard!("hasUID"))),
    ("category", Property(vcard!("category"))),
    ("adr", Either(vcard!("hasAddress"), vcard!("label"))),
    ("post-office-box", Property(vcard!("post-office-box"))),
    ("extended-address", Property(vcard!("extended-address"))),
    ("street-address", Property(vcard!("street-address"))),
    ("locality", Property(vcard!("locality"))),
    ("region", Property(vcard!("region"))),
    ("postal-code", Property(vcard!("postal-code"))),
    ("country-name", Property(vcard!("country-name"))),
    ("label", Property(vcard!("label"))),
    ("geo", Property(vcard!("hasGeo"))),
    ("latitude", Property(geo!("lat"))),
    ("longitude", Property(geo!("long"))),
    ("altitude", Property(geo!("alt"))),
    ("tel", Either(vcard!("hasTelephone"), vcard!("tel"))),
    ("note", Property(vcard!("note"))),
    ("bday", Property(vcard!("bday"))),
    ("anniversary", Property(vcard!("anniversary"))),
    ("key", Property(vcard!("hasKey"))),
    ("sound", Property(vcard!("hasSound"))),
    ("org", Either(vcard!("org"), vcard!("organization-name"))),
    ("organization-name", Property(vcard!("organization-name"))),
    ("organization-unit", Property(vcard!("organization-unit"))),
    ("job-title", Property(vcard!("title"))),
    ("role", Property(vcard!("role"))),
    ("impp", Property(vcard!("hasInstantMessage"))),
    ("tz", Property(vcard!("tz"))),
    ("rev", Property(vcard!("rev"))),
];

const ADDRESS: &[(&str, Target)] = &[
    ("name", Property(vcard!("label"))),
    ("label", Property(vcard!("label"))),
    ("post-office-box", Property(vcard!("post-office-box"))),
    ("extended-address", Property(vcard!("extended-address"))),
    ("street-address", Property(vcard!("street-address"))),
    ("locality", Property(vcard!("locality"))),
    ("region", Property(vcard!("region"))),
    ("postal-code", Property(vcard!("postal-code"))),
    ("country-name", Property(vcard!("country-name"))),
    ("geo", Property(vcard!("hasGeo"))),
    ("latitude", Property(geo!("lat"))),
    ("longitude", Property(geo!("long"))),
    ("altitude", Property(geo!("alt"))),
    ("url", Property(vcard!("hasURL"))),
];

const PLACE: &[(&str, Target)] = &[
    ("name", Property("http://www.w3.org/2000/01/rdf-schema#label")),
    ("latitude", Property(geo!("lat"))),
    ("longitude", Property(geo!("long"))),
    ("altitude", Property(geo!("alt"))),
];

const THING: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("url", Property(schema!("url"))),
    ("photo", Property(schema!("image"))),
    ("description", Property(schema!("description"))),
];

const EVENT: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("summary", Property(schema!("description"))),
    ("description", Property(schema!("description"))),
    ("content", Property(schema!("description"))),
    ("start", Property(schema!("startDate"))),
    ("end", Property(schema!("endDate"))),
    ("duration", Property(schema!("duration"))),
    ("url", Property(schema!("url"))),
    ("uid", Property(schema!("identifier"))),
    ("photo", Property(schema!("image"))),
    ("category", Property(schema!("keywords"))),
    ("location", Property(schema!("location"))),
    ("attendee", Property(schema!("attendee"))),
    ("organizer", Property(schema!("organizer"))),
    ("performer", Property(schema!("performer"))),
    ("contact", Property(schema!("contactPoint"))),
    ("author", Property(schema!("author"))),
];

const ENTRY: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("summary", Property(schema!("description"))),
    ("content", Property(schema!("articleBody"))),
    ("published", Property(schema!("datePublished"))),
    ("updated", Property(schema!("dateModified"))),
    ("accessed", Property(schema!("dateAccessed"))),
    ("author", Property(schema!("author"))),
    ("publication", Property(schema!("publisher"))),
    ("source-org", Property(schema!("publisher"))),
    ("dateline", Property(schema!("dateline"))),
    ("category", Property(schema!("keywords"))),
    ("url", Property(schema!("url"))),
    ("uid", Property(schema!("identifier"))),
    ("photo", Property(schema!("image"))),
    ("featured", Property(schema!("image"))),
    ("logo", Property(schema!("logo"))),
    ("video", Property(schema!("video"))),
    ("audio", Property(schema!("audio"))),
    ("location", Property(schema!("contentLocation"))),
    ("geo", Property(schema!("contentLocation"))),
    ("comment", Property(schema!("comment"))),
    ("syndication", Property(schema!("sameAs"))),
    ("in-reply-to", Property("http://rdfs.org/sioc/ns#reply_of")),
];

const PRODUCT: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("photo", Property(schema!("image"))),
    ("brand", Property(schema!("brand"))),
    ("category", Property(schema!("category"))),
    ("description", Property(schema!("description"))),
    ("url", Property(schema!("url"))),
    ("identifier", Property(schema!("identifier"))),
    ("review", Property(schema!("review"))),
    ("price", Inside(schema!("offers"), schema!("Offer"), schema!("price"))),
];

const RECIPE: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("ingredient", Property(schema!("recipeIngredient"))),
    ("yield", Property(schema!("recipeYield"))),
    ("instructions", Property(schema!("recipeInstructions"))),
    ("duration", Property(schema!("totalTime"))),
    ("photo", Property(schema!("image"))),
    ("summary", Property(schema!("description"))),
    ("author", Property(schema!("author"))),
    ("published", Property(schema!("datePublished"))),
    ("nutrition", Property(schema!("nutrition"))),
    ("category", Property(schema!("recipeCategory"))),
    ("url", Property(schema!("url"))),
    ("review", Property(schema!("review"))),
];

const REVIEW: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("item", Property(schema!("itemReviewed"))),
    ("author", Property(schema!("author"))),
    ("reviewer", Property(schema!("author"))),
    ("reviewed", Property(schema!("datePublished"))),
    ("published", Property(schema!("datePublished"))),
    ("updated", Property(schema!("dateModified"))),
    ("rating", Inside(schema!("reviewRating"), schema!("Rating"), schema!("ratingValue"))),
    ("best", Inside(schema!("reviewRating"), schema!("Rating"), schema!("bestRating"))),
    ("worst", Inside(schema!("reviewRating"), schema!("Rating"), schema!("worstRating"))),
    ("category", Property(schema!("keywords"))),
    ("url", Property(schema!("url"))),
    ("photo", Property(schema!("image"))),
    ("content", Property(schema!("reviewBody"))),
    ("description", Property(schema!("reviewBody"))),
    ("summary", Property(schema!("description"))),
];

const AGGREGATE: &[(&str, Target)] = &[
    ("name", Property(schema!("name"))),
    ("item", Property(schema!("itemReviewed"))),
    ("rating", Property(schema!("ratingValue"))),
    ("average", Property(schema!("ratingValue"))),
    ("value", Property(schema!("ratingValue"))),
    ("best", Property(schema!("bestRating"))),
    ("worst", Property(schema!("worstRating"))),
    // A count is of reviews, votes are of ratings without words.
    ("count", Property(schema!("reviewCount"))),
    ("votes", Property(schema!("ratingCount"))),
    ("author", Property(schema!("author"))),
    ("reviewer", Property(schema!("author"))),
    ("url", Property(schema!("url"))),
    ("photo", Property(schema!("image"))),
    ("summary", Property(schema!("description"))),
    ("description", Property(schema!("description"))),
];
