//! Which vocabulary an element of a feed is from. Namespaces are compared as loosely as feeds write them; where none is
//! declared, the usual prefix will do.

use std::borrow::Cow;

use html5ever::Namespace;

use crate::dom::Element;

/// A vocabulary of feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Vocabulary {
    /// RSS and Atom, all versions.
    Core,
    Dc,
    DcTerms,
    Content,
    Itunes,
    GooglePlay,
    Podcast,
    Media,
    Slash,
    Wfw,
    Thread,
    GeoRss,
    Geo,
    Gml,
    CreativeCommons,
    Syndication,
    Admin,
    FeedBurner,
    Xhtml,
    /// Any other: nothing is known of its elements.
    Other,
}

/// The vocabulary of an element in a document whose root is in `root`.
pub(super) fn vocabulary(element: &Element, root: &Namespace) -> Vocabulary {
    let namespace = &element.name.ns;
    match &element.name.prefix {
        None if namespace.is_empty() || namespace == root => Vocabulary::Core,
        Some(prefix) if namespace.is_empty() => by_prefix(prefix),
        _ => {
            let known = by_namespace(namespace);
            // A root of unknown namespace is what it is named: RSS or Atom.
            if known == Vocabulary::Other && namespace == root { Vocabulary::Core } else { known }
        }
    }
}

fn by_prefix(prefix: &str) -> Vocabulary {
    match prefix {
        "atom" | "rss" => Vocabulary::Core,
        "dc" => Vocabulary::Dc,
        "dcterms" => Vocabulary::DcTerms,
        "content" => Vocabulary::Content,
        "itunes" => Vocabulary::Itunes,
        "googleplay" => Vocabulary::GooglePlay,
        "podcast" => Vocabulary::Podcast,
        "media" => Vocabulary::Media,
        "slash" => Vocabulary::Slash,
        "wfw" => Vocabulary::Wfw,
        "thr" => Vocabulary::Thread,
        "georss" => Vocabulary::GeoRss,
        "geo" => Vocabulary::Geo,
        "gml" => Vocabulary::Gml,
        "cc" | "creativeCommons" => Vocabulary::CreativeCommons,
        "sy" => Vocabulary::Syndication,
        "admin" => Vocabulary::Admin,
        "feedburner" => Vocabulary::FeedBurner,
        "xhtml" => Vocabulary::Xhtml,
        _ => Vocabulary::Other,
    }
}

fn by_namespace(namespace: &str) -> Vocabulary {
    let lower: Cow<'_, str> = if namespace.bytes().any(|byte| byte.is_ascii_uppercase()) {
        namespace.to_ascii_lowercase().into()
    } else {
        namespace.into()
    };
    let name = lower.trim().trim_end_matches(['/', '#']);
    let name = name.strip_prefix("http://").or_else(|| name.strip_prefix("https://")).unwrap_or(name);
    match name.strip_prefix("www.").unwrap_or(name) {
        "w3.org/2005/atom"
        | "purl.org/atom/ns"
        | "purl.org/pie"
        | "purl.org/net/rss1.1"
        | "purl.org/rss/1.0"
        | "my.netscape.com/rdf/simple/0.9"
        | "my.netscape.com/publish/formats/rss-0.91.dtd"
        | "channel.netscape.com/rdf/simple/0.9"
        | "my.userland.com/rss2"
        | "blogs.law.harvard.edu/tech/rss"
        | "cyber.law.harvard.edu/rss"
        | "purl.org/echo" => Vocabulary::Core,
        "purl.org/dc/elements/1.1" | "purl.org/dc/elements/1.0" => Vocabulary::Dc,
        "purl.org/dc/terms" => Vocabulary::DcTerms,
        "purl.org/rss/1.0/modules/content" => Vocabulary::Content,
        "purl.org/rss/1.0/modules/slash" => Vocabulary::Slash,
        "purl.org/rss/1.0/modules/syndication" => Vocabulary::Syndication,
        "wellformedweb.org/commentapi" => Vocabulary::Wfw,
        "purl.org/syndication/thread/1.0" => Vocabulary::Thread,
        "search.yahoo.com/mrss" => Vocabulary::Media,
        "google.com/schemas/play-podcasts/1.0" => Vocabulary::GooglePlay,
        "georss.org/georss" => Vocabulary::GeoRss,
        "w3.org/2003/01/geo/wgs84_pos" => Vocabulary::Geo,
        "opengis.net/gml" | "opengis.net/gml/3.2" => Vocabulary::Gml,
        "web.resource.org/cc"
        | "creativecommons.org/ns"
        | "backend.userland.com/creativecommonsrssmodule"
        | "cyber.law.harvard.edu/rss/creativecommonsrssmodule.html" => Vocabulary::CreativeCommons,
        "webns.net/mvcb" => Vocabulary::Admin,
        "rssnamespace.org/feedburner/ext/1.0" => Vocabulary::FeedBurner,
        "w3.org/1999/xhtml" => Vocabulary::Xhtml,
        name if name.ends_with("/dtds/podcast-1.0.dtd") => Vocabulary::Itunes,
        name if name.starts_with("podcastindex.org/namespace")
            || name.contains("podcastindex-org/podcast-namespace") =>
        {
            Vocabulary::Podcast
        }
        name if name.starts_with("search.yahoo.com/mrss") => Vocabulary::Media,
        // UserLand named a namespace for each version, and others after them.
        name if name.starts_with("backend.userland.com/rss") => Vocabulary::Core,
        _ => Vocabulary::Other,
    }
}

/// The local name in lower case: `pubDate` and `pubdate` are one element.
pub(super) fn local_name(element: &Element) -> Cow<'_, str> {
    let local = &*element.name.local;
    if local.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(local.to_ascii_lowercase())
    } else {
        Cow::Borrowed(local)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn namespaces_as_feeds_write_them() {
        for (namespace, expected) in [
            ("http://www.itunes.com/dtds/podcast-1.0.dtd", Vocabulary::Itunes),
            ("http://www.itunes.com/DTDs/Podcast-1.0.dtd", Vocabulary::Itunes),
            ("http://purl.org/dc/elements/1.1/", Vocabulary::Dc),
            ("https://purl.org/DC/elements/1.1", Vocabulary::Dc),
            ("http://search.yahoo.com/mrss/", Vocabulary::Media),
            ("http://search.yahoo.com/mrss", Vocabulary::Media),
            ("http://backend.userland.com/RSS2", Vocabulary::Core),
            ("http://purl.org/atom/ns#", Vocabulary::Core),
            ("urn:x", Vocabulary::Other),
            ("", Vocabulary::Other),
        ] {
            assert_eq!(by_namespace(namespace), expected, "{namespace}");
        }
    }
}
