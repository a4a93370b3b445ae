//! What a page's author asks of robots: `X-Robots-Tag` headers and `<meta name=robots>`.

use webloom_model::{FetchedPage, RobotsDirectives};

/// What `X-Robots-Tag` headers ask, of everyone or of `agent`.
pub fn header_directives<'v>(values: impl IntoIterator<Item = &'v str>, agent: &str) -> RobotsDirectives {
    let mut directives = RobotsDirectives::default();
    for value in values {
        // An agent's name holds for the rest of its header line.
        let mut for_us = true;
        for part in value.split(',') {
            let mut directive = part.trim();
            if let Some((name, rest)) = part.split_once(':')
                && !takes_value(name.trim())
            {
                let name = name.trim();
                for_us =
                    name == "*" || name.eq_ignore_ascii_case("robots") || name.eq_ignore_ascii_case(agent);
                directive = rest.trim();
            }
            if for_us {
                apply(directive, &mut directives);
            }
        }
    }
    directives
}

/// Adds what the headers of a page ask.
pub(crate) fn from_headers(page: &FetchedPage, agent: &str, directives: &mut RobotsDirectives) {
    let asked = header_directives(page.header_all("x-robots-tag"), agent);
    directives.noindex |= asked.noindex;
    directives.nofollow |= asked.nofollow;
}

/// Adds what the content of a `<meta>` says.
pub(crate) fn from_meta(content: &str, directives: &mut RobotsDirectives) {
    for directive in content.split([',', ' ', ';']) {
        apply(directive.trim(), directives);
    }
}

/// Directives that have a colon of their own.
fn takes_value(name: &str) -> bool {
    ["unavailable_after", "max-snippet", "max-image-preview", "max-video-preview"]
        .iter()
        .any(|known| known.eq_ignore_ascii_case(name))
}

fn apply(directive: &str, directives: &mut RobotsDirectives) {
    if directive.eq_ignore_ascii_case("noindex") {
        directives.noindex = true;
    } else if directive.eq_ignore_ascii_case("nofollow") {
        directives.nofollow = true;
    } else if directive.eq_ignore_ascii_case("none") {
        *directives = RobotsDirectives { noindex: true, nofollow: true };
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use webloom_model::PageUrl;

    use super::*;

    #[test]
    fn headers_speak_to_everyone_or_to_us() {
        for (values, noindex, nofollow) in [
            (&["noindex"][..], true, false),
            (&["NoIndex, NOFOLLOW"], true, true),
            (&["none"], true, true),
            (&["otherbot: noindex"], false, false),
            (&["otherbot: noindex, nofollow"], false, false),
            (&["otherbot: noindex", "nofollow"], false, true),
            (&["webloom: nofollow"], false, true),
            (&["otherbot: noindex, Webloom: nofollow"], false, true),
            (&["unavailable_after: 25 Jun 2010 15:00:00 PST"], false, false),
            (&["max-snippet: 20, noindex"], true, false),
            (&["all"], false, false),
            (&[""], false, false),
        ] {
            let url = PageUrl::parse("http://example.org/").unwrap();
            let mut page = FetchedPage::local(url, None, Bytes::new());
            for value in values {
                page.headers.push(("x-robots-tag".to_owned(), (*value).to_owned()));
            }
            let mut directives = RobotsDirectives::default();
            from_headers(&page, "webloom", &mut directives);
            assert_eq!(directives, RobotsDirectives { noindex, nofollow }, "{values:?}");
        }
    }
}
