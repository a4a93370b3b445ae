//! URLs in the form the crawl compares them in, and what hangs on them: host, domain, graph names.
//!
//! The normal form is the WHATWG parser's (lower-case scheme and host, default port gone, dot segments
//! resolved, percent-encoding of what needs it), without fragment and without credentials. What that
//! parser lets through but no IRI may hold (`|`, `{`, `[`, a lone `%`, …) is percent-encoded too, so that
//! every URL can name a graph. Only `http` and `https` URLs with a host are pages. Nothing else is
//! rewritten: two URLs that differ in anything a server can see are two pages.

use std::borrow::Cow;
use std::fmt;

use oxrdf::NamedNode;
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use crate::vocab::META_PREFIX;

/// Longest URL that is kept, in bytes. Longer ones are nearly always traps or data in disguise.
pub const URL_BYTES_MAX: usize = 2048;

/// The URL of a page, in normal form.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct PageUrl(Url);

/// Why a text is not the URL of a page.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UrlProblem {
    /// The WHATWG parser refused it.
    #[error("`{text}` is not a URL: {reason}")]
    Unparsable {
        /// What was given.
        text: String,
        /// What the parser said.
        reason: String,
    },
    /// `mailto:`, `javascript:`, `ftp:` and the like.
    #[error("`{text}` cannot be crawled: the scheme is `{scheme}`, not http or https")]
    Scheme {
        /// What was given.
        text: String,
        /// Its scheme.
        scheme: String,
    },
    /// Longer than [`URL_BYTES_MAX`].
    #[error("a URL of {bytes} bytes is longer than {URL_BYTES_MAX}")]
    TooLong {
        /// Its length.
        bytes: usize,
    },
}

impl PageUrl {
    /// Parses an absolute URL and brings it into normal form.
    pub fn parse(text: &str) -> Result<Self, UrlProblem> {
        Self::from_parsed(Url::parse(text), text)
    }

    /// Parses what [`PageUrl::as_str`] gave, and was kept: it is in normal form, so that form is not made again.
    pub fn parse_again(text: &str) -> Result<Self, UrlProblem> {
        match Url::parse(text) {
            Ok(url) if matches!(url.scheme(), "http" | "https") && url.as_str() == text => Ok(Self(url)),
            parsed => Self::from_parsed(parsed, text),
        }
    }

    /// Names a document that does not come from the web: a file, standard input. Any absolute IRI will do; it is never
    /// fetched.
    pub fn for_local_document(text: &str) -> Result<Self, UrlProblem> {
        let unparsable = |error: url::ParseError| UrlProblem::Unparsable {
            text: text.to_owned(),
            reason: error.to_string(),
        };
        let mut url = Url::parse(text).map_err(unparsable)?;
        url.set_fragment(None);
        match escape_for_iri(&url) {
            Some(escaped) => Url::parse(&escaped).map(Self).map_err(unparsable),
            None => Ok(Self(url)),
        }
    }

    /// Resolves a reference found on this page. On a local document, neighbours of it count as pages too.
    pub fn join(&self, reference: &str) -> Result<Self, UrlProblem> {
        self.joined(self.0.join(reference), reference)
    }

    /// The same where the page is not in UTF-8: `encode` gives the bytes of a query, or of a part of it, in the page's encoding.
    pub fn join_encoded(
        &self,
        reference: &str,
        encode: &dyn Fn(&str) -> Cow<'_, [u8]>,
    ) -> Result<Self, UrlProblem> {
        let options = Url::options().base_url(Some(&self.0)).encoding_override(Some(encode));
        self.joined(options.parse(reference), reference)
    }

    fn joined(&self, joined: Result<Url, url::ParseError>, reference: &str) -> Result<Self, UrlProblem> {
        match &joined {
            Ok(url) if url.scheme() == self.0.scheme() && !matches!(url.scheme(), "http" | "https") => {
                Self::for_local_document(url.as_str())
            }
            _ => Self::from_parsed(joined, reference),
        }
    }

    fn from_parsed(parsed: Result<Url, url::ParseError>, text: &str) -> Result<Self, UrlProblem> {
        if text.len() > URL_BYTES_MAX {
            return Err(UrlProblem::TooLong { bytes: text.len() });
        }
        let mut url = parsed
            .map_err(|error| UrlProblem::Unparsable { text: text.to_owned(), reason: error.to_string() })?;
        if !matches!(url.scheme(), "http" | "https") {
            return Err(UrlProblem::Scheme { text: text.to_owned(), scheme: url.scheme().to_owned() });
        }
        // The parser lets `"` and the like through, which no name server and no IRI does.
        if let Some(Host::Domain(name)) = url.host()
            && !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_'))
        {
            return Err(UrlProblem::Unparsable {
                text: text.to_owned(),
                reason: format!("`{name}` is not a host name"),
            });
        }
        url.set_fragment(None);
        // Credentials in a link are a phishing trick or somebody's secret; neither belongs in a graph.
        // Neither call can fail on an http URL, which always has a host.
        let _ = url.set_username("");
        let _ = url.set_password(None);
        if let Some(escaped) = escape_for_iri(&url) {
            url = Url::parse(&escaped).map_err(|error| UrlProblem::Unparsable {
                text: text.to_owned(),
                reason: error.to_string(),
            })?;
        }
        if url.as_str().len() > URL_BYTES_MAX {
            return Err(UrlProblem::TooLong { bytes: url.as_str().len() });
        }
        Ok(Self(url))
    }

    /// The URL as text.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// The parsed URL.
    pub fn as_url(&self) -> &Url {
        &self.0
    }

    /// True for `https`.
    pub fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }

    /// Host name or address as in the URL (IPv6 in brackets), without port. Politeness and queues go by this.
    pub fn host(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// The port, given or by scheme.
    pub fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or(80)
    }

    /// `scheme://host[:port]`, what one robots.txt speaks for.
    pub fn origin(&self) -> String {
        self.0.origin().ascii_serialization()
    }

    /// The name that was bought: `example.co.uk` of `a.b.example.co.uk`, by the public suffix list.
    /// Addresses, single labels and public suffixes themselves stand for themselves.
    pub fn pay_level_domain(&self) -> &str {
        match self.0.host() {
            Some(Host::Domain(name)) => pay_level_domain(name),
            _ => self.host(),
        }
    }

    /// True when anybody may have a name below this host's: `github.io`, `co.uk`.
    pub fn is_public_suffix(&self) -> bool {
        matches!(self.0.host(), Some(Host::Domain(name)) if name.contains('.') && psl::domain_str(name).is_none())
    }

    /// Path and query, as sent in a request line.
    pub fn path_and_query(&self) -> &str {
        &self.0[url::Position::BeforePath..url::Position::AfterQuery]
    }

    /// The graph that holds what the page says.
    pub fn graph_name(&self) -> NamedNode {
        NamedNode::new_unchecked(self.as_str())
    }

    /// The graph that holds what we know about the page.
    pub fn meta_graph_name(&self) -> NamedNode {
        NamedNode::new_unchecked(format!("{META_PREFIX}{}", self.as_str()))
    }
}

/// The URL with path and query escaped where an IRI demands it, or nothing when it is one already.
fn escape_for_iri(url: &Url) -> Option<String> {
    let text = url.as_str();
    let tail_start = text.len() - url[url::Position::BeforePath..].len();
    let tail = &text.as_bytes()[tail_start..];
    let must_escape = |index: usize| match tail[index] {
        b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}' | b'[' | b']' => true,
        b'%' => !tail.get(index + 1..index + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit)),
        _ => false,
    };
    if !(0..tail.len()).any(must_escape) {
        return None;
    }
    let mut escaped = text[..tail_start].to_owned();
    for (index, &byte) in tail.iter().enumerate() {
        if must_escape(index) {
            escaped.push_str(&format!("%{byte:02X}"));
        } else {
            // The WHATWG serialisation is ASCII beyond the host.
            escaped.push(char::from(byte));
        }
    }
    Some(escaped)
}

/// The pay-level domain of a host name, by the public suffix list.
pub fn pay_level_domain(host: &str) -> &str {
    psl::domain_str(host).unwrap_or(host)
}

impl fmt::Display for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Debug for PageUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<{}>", self.as_str())
    }
}

impl TryFrom<String> for PageUrl {
    type Error = UrlProblem;

    fn try_from(text: String) -> Result<Self, UrlProblem> {
        Self::parse(&text)
    }
}

impl From<PageUrl> for String {
    fn from(url: PageUrl) -> Self {
        url.0.into()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn normal_forms() {
        for (given, expected) in [
            ("HTTP://EXAMPLE.org", "http://example.org/"),
            ("http://example.org:80/a/./b/../c", "http://example.org/a/c"),
            ("https://example.org:443/?", "https://example.org/?"),
            ("http://example.org/a b#top", "http://example.org/a%20b"),
            ("http://user:secret@example.org/", "http://example.org/"),
            ("http://bücher.example/", "http://xn--bcher-kva.example/"),
            ("http:\\\\example.org\\x", "http://example.org/x"),
            ("http://0x7f.1/", "http://127.0.0.1/"),
            (
                "http://example.org/a|b?c[]={x}&d=50%&e=%41",
                "http://example.org/a%7Cb?c%5B%5D=%7Bx%7D&d=50%25&e=%41",
            ),
            ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ] {
            assert_eq!(PageUrl::parse(given).map(String::from).as_deref(), Ok(expected), "{given}");
        }
    }

    #[test]
    fn what_is_not_a_page_says_why() {
        for (given, expected) in [
            ("mailto:a@b.example", "the scheme is `mailto`"),
            ("javascript:void(0)", "the scheme is `javascript`"),
            ("/relative", "is not a URL"),
            ("http://", "is not a URL"),
            ("http://a b/", "is not a URL"),
            ("http://%22/", "is not a host name"),
        ] {
            let problem = PageUrl::parse(given).unwrap_err().to_string();
            assert!(problem.contains(expected), "{given}: {problem}");
        }
        let long = format!("http://example.org/{}", "a".repeat(URL_BYTES_MAX));
        assert!(matches!(PageUrl::parse(&long), Err(UrlProblem::TooLong { .. })));
    }

    #[test]
    fn local_documents_have_neighbours() {
        let file = PageUrl::for_local_document("file:///home/ida/works.html#top").unwrap();
        for (reference, expected) in [
            ("7.html", Ok("file:///home/ida/7.html")),
            ("http://a.example/", Ok("http://a.example/")),
            ("mailto:a@b.example", Err(())),
        ] {
            assert_eq!(
                file.join(reference).map(String::from).map_err(|_| ()),
                expected.map(str::to_owned),
                "{reference}"
            );
        }
        // A page of the web cannot point into the file system.
        assert!(PageUrl::parse("http://a.example/").unwrap().join("file:///etc/passwd").is_err());
    }

    #[test]
    fn pay_level_domains() {
        for (url, expected) in [
            ("http://www.shop.example.co.uk/", "example.co.uk"),
            ("http://me.blogspot.com/", "me.blogspot.com"),
            ("http://a.b.c.example/", "c.example"),
            ("http://localhost:8000/", "localhost"),
            ("http://127.0.0.1/", "127.0.0.1"),
            ("http://[::1]/", "[::1]"),
            ("http://co.uk/", "co.uk"),
        ] {
            let url = PageUrl::parse(url).unwrap();
            assert_eq!(url.pay_level_domain(), expected, "{url}");
            assert_eq!(url.is_public_suffix(), expected == "co.uk", "{url}");
        }
    }

    proptest! {
        #[test]
        fn normal_form_is_a_fixed_point(text in "https?://[a-z0-9.%-]{1,20}(:[0-9]{1,4})?/[ -~]{0,60}") {
            if let Ok(url) = PageUrl::parse(&text) {
                prop_assert_eq!(PageUrl::parse(url.as_str()), Ok(url.clone()));
                prop_assert_eq!(PageUrl::parse_again(url.as_str()), Ok(url.clone()));
                prop_assert!(NamedNode::new(url.as_str()).is_ok());
                prop_assert!(NamedNode::new(url.meta_graph_name().as_str()).is_ok());
            }
        }
    }
}
