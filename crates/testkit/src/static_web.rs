//! A web written down page by page: a table from URL to answer.
//!
//! In: URLs and what is there. Out: a [`Site`] that says 404 to everything else. For small webs in tests,
//! and for the demo. For large ones there is [`GeneratedWeb`](crate::GeneratedWeb).

use std::collections::BTreeMap;

use bytes::Bytes;
use webloom_model::PageUrl;

use crate::{Answer, Request, Site};

/// A web that is a table.
///
/// ```
/// # use webloom_testkit::{Answer, StaticWeb};
/// let web = StaticWeb::new()
///     .html("http://a.example/", r#"<a href="http://b.example/old">b</a>"#)
///     .redirect("http://b.example/old", "/new")
///     .page("http://b.example/new", "text/turtle", "<> <http://purl.org/dc/terms/title> 'B' .")
///     .answer("http://b.example/broken", Answer::hang_up());
/// assert_eq!(web.urls().count(), 4);
/// ```
#[derive(Debug, Clone, Default)]
pub struct StaticWeb {
    answers: BTreeMap<String, Answer>,
}

impl StaticWeb {
    /// A web without pages.
    pub fn new() -> Self {
        Self::default()
    }

    /// With any answer at this URL; a later one replaces an earlier.
    ///
    /// # Panics
    /// When `url` is not the URL of a page.
    #[must_use]
    pub fn answer(mut self, url: &str, answer: Answer) -> Self {
        let url = PageUrl::parse(url).unwrap_or_else(|problem| panic!("{problem}"));
        self.answers.insert(url.into(), answer);
        self
    }

    /// With a page of any type.
    ///
    /// # Panics
    /// When `url` is not the URL of a page, or the content type cannot stand in a header field.
    #[must_use]
    pub fn page(self, url: &str, content_type: &str, body: impl Into<Bytes>) -> Self {
        self.answer(url, Answer::new(content_type, body))
    }

    /// With an HTML page.
    ///
    /// # Panics
    /// When `url` is not the URL of a page.
    #[must_use]
    pub fn html(self, url: &str, body: impl Into<Bytes>) -> Self {
        self.answer(url, Answer::html(body))
    }

    /// With a permanent redirect.
    ///
    /// # Panics
    /// When `url` is not the URL of a page, or the target cannot stand in a header field.
    #[must_use]
    pub fn redirect(self, url: &str, target: &str) -> Self {
        self.answer(url, Answer::redirect(301, target))
    }

    /// With a robots.txt at the root of this origin (`http://a.example`).
    ///
    /// # Panics
    /// When `origin` is not the beginning of a URL.
    #[must_use]
    pub fn robots(self, origin: &str, text: &str) -> Self {
        self.answer(&format!("{origin}/robots.txt"), Answer::text(text.to_owned()))
    }

    /// The URLs that are there, in order, robots.txt included.
    pub fn urls(&self) -> impl Iterator<Item = &str> {
        self.answers.keys().map(String::as_str)
    }

    /// What is at a URL.
    pub fn get(&self, url: &str) -> Option<&Answer> {
        self.answers.get(url)
    }
}

impl Site for StaticWeb {
    fn answer(&self, request: &Request) -> Answer {
        self.answers.get(&request.url()).cloned().unwrap_or_else(Answer::not_found)
    }
}
