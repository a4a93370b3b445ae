//! A site with troubles: any other site, and a list of what goes wrong where and how often.
//!
//! In: a [`Site`] and [`FaultRule`]s. Out: the same site, except where a rule applies. All is scripted, nothing
//! random: a failing test fails again. The first rule that matches is the one that counts.

use std::time::Duration;

use bytes::Bytes;

use crate::{Answer, Request, Site};

/// A site that misbehaves by rule.
///
/// ```
/// # use std::time::Duration;
/// # use webloom_testkit::{Fault, FaultRule, Faulty, StaticWeb};
/// let web = StaticWeb::new().html("http://a.example/", "a").html("http://b.example/", "b");
/// let web = Faulty::new(web)
///     .rule(FaultRule::host("a.example", Fault::Slow(Duration::from_millis(20))))
///     .rule(FaultRule::url("http://b.example/", Fault::Busy(None)).first(2));
/// ```
pub struct Faulty<S> {
    inner: S,
    rules: Vec<FaultRule>,
}

/// What goes wrong, where, and how often.
#[derive(Debug, Clone)]
pub struct FaultRule {
    place: Place,
    times: u64,
    fault: Fault,
}

#[derive(Debug, Clone)]
enum Place {
    Host(String),
    Url(String),
    UrlPrefix(String),
    EveryNth(u64),
}

/// What goes wrong.
#[derive(Debug, Clone)]
pub enum Fault {
    /// The right answer, late.
    Slow(Duration),
    /// The right answer, so many bytes at a time with this pause between them.
    Trickle(usize, Duration),
    /// 503, with a `Retry-After` if there is one.
    Busy(Option<Duration>),
    /// Only a status.
    Status(u16),
    /// A redirect (302) to this; to itself, if you like.
    Redirect(String),
    /// The right header, the body broken off after so many bytes.
    Cut(u64),
    /// The right answer, compressed, with only so many compressed bytes of it.
    TruncatedGzip(usize),
    /// The right body with a `Content-Length` that is none.
    WrongLength(u64),
    /// The right body under this content type.
    ContentType(String),
    /// A body of so many bytes, most of them the letter x.
    Huge(u64),
    /// These bytes instead of HTTP.
    Raw(Bytes),
    /// The connection ends without answer.
    HangUp,
    /// The connection is reset.
    Reset,
    /// Whatever else.
    Answer(Box<Answer>),
}

impl FaultRule {
    /// For all of a host.
    pub fn host(host: &str, fault: Fault) -> Self {
        Self { place: Place::Host(host.to_owned()), times: u64::MAX, fault }
    }

    /// For one URL.
    pub fn url(url: &str, fault: Fault) -> Self {
        Self { place: Place::Url(url.to_owned()), times: u64::MAX, fault }
    }

    /// For all URLs that begin so.
    pub fn url_prefix(prefix: &str, fault: Fault) -> Self {
        Self { place: Place::UrlPrefix(prefix.to_owned()), times: u64::MAX, fault }
    }

    /// For one URL in about `n`, always the same ones; never for robots.txt.
    pub fn every_nth(n: u64, fault: Fault) -> Self {
        Self { place: Place::EveryNth(n.max(1)), times: u64::MAX, fault }
    }

    /// Only the first so many times that a URL is asked for; after that all is well.
    #[must_use]
    pub fn first(mut self, times: u64) -> Self {
        self.times = times;
        self
    }

    /// True when the rule is for this request.
    pub fn applies(&self, request: &Request) -> bool {
        request.number < self.times
            && match &self.place {
                Place::Host(host) => request.host == *host,
                Place::Url(url) => request.url() == *url,
                Place::UrlPrefix(prefix) => request.url().starts_with(prefix),
                Place::EveryNth(n) => {
                    request.path_and_query != "/robots.txt" && spread(&request.url()).is_multiple_of(*n)
                }
            }
    }
}

/// A number for a text, the same in every run (FNV-1a, its high bits folded in).
fn spread(text: &str) -> u64 {
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    hash ^ (hash >> 32)
}

impl<S: Site> Faulty<S> {
    /// The site as it is.
    pub fn new(inner: S) -> Self {
        Self { inner, rules: Vec::new() }
    }

    /// With one more rule, after the others.
    #[must_use]
    pub fn rule(mut self, rule: FaultRule) -> Self {
        self.rules.push(rule);
        self
    }

    /// The site beneath.
    pub fn inner(&self) -> &S {
        &self.inner
    }
}

impl<S: Site> Site for Faulty<S> {
    fn answer(&self, request: &Request) -> Answer {
        let Some(rule) = self.rules.iter().find(|rule| rule.applies(request)) else {
            return self.inner.answer(request);
        };
        let right = || self.inner.answer(request);
        match &rule.fault {
            Fault::Slow(delay) => right().after(*delay),
            Fault::Trickle(bytes, every) => right().trickle(*bytes, *every),
            Fault::Busy(retry_after) => Answer::busy(*retry_after),
            Fault::Status(status) => Answer::status(*status),
            Fault::Redirect(target) => Answer::redirect(302, target),
            Fault::Cut(bytes) => right().cut_after(*bytes),
            Fault::TruncatedGzip(bytes) => right().gzip_keeping(*bytes),
            Fault::WrongLength(length) => right().claiming_length(*length),
            Fault::ContentType(content_type) => right().with_content_type(content_type),
            Fault::Huge(bytes) => Answer::endless("text/html", "<p>xxxxxxxxxxxxxxxxxxxxxxxxxxx\n", *bytes),
            Fault::Raw(bytes) => Answer::raw(bytes.clone()),
            Fault::HangUp => Answer::hang_up(),
            Fault::Reset => Answer::reset(),
            Fault::Answer(answer) => (**answer).clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::StaticWeb;

    #[test]
    fn the_first_matching_rule_counts_and_only_as_often_as_it_says() {
        let web = StaticWeb::new()
            .html("http://a.example/", "a")
            .html("http://a.example/x/1", "x")
            .html("http://b.example/", "b");
        let web = Faulty::new(web)
            .rule(FaultRule::url("http://a.example/", Fault::Busy(None)).first(2))
            .rule(FaultRule::url_prefix("http://a.example/x/", Fault::Redirect("/x/1".to_owned())))
            .rule(FaultRule::host("a.example", Fault::ContentType("image/png".to_owned())));
        let ask = |url: &str, number| {
            let answer = web.answer(&Request { number, ..Request::get(url) });
            (answer.status_code(), answer.header("content-type").map(str::to_owned))
        };
        let text = Some("text/plain; charset=utf-8".to_owned());
        assert_eq!(ask("http://a.example/", 0), (Some(503), text.clone()));
        assert_eq!(ask("http://a.example/", 1), (Some(503), text.clone()));
        assert_eq!(ask("http://a.example/", 2), (Some(200), Some("image/png".to_owned())));
        assert_eq!(ask("http://a.example/x/1", 0), (Some(302), text));
        assert_eq!(ask("http://b.example/", 0).0, Some(200));
    }

    #[test]
    fn every_nth_is_about_one_in_n_and_always_the_same() {
        let rule = FaultRule::every_nth(5, Fault::HangUp);
        let struck = |round: u64| -> Vec<u32> {
            (0..1000)
                .filter(|page| {
                    let request = Request::get(&format!("http://site{}.example/page/{page}", page % 7));
                    rule.applies(&Request { number: round, ..request })
                })
                .collect()
        };
        assert!((150..250).contains(&struck(0).len()), "{}", struck(0).len());
        assert_eq!(struck(0), struck(9));
    }
}
