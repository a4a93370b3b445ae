//! `Link` header fields that lead from an answer to the context it stands for (RFC 8288, as far as that goes).

use webloom_model::{FetchedPage, PageUrl};

/// Links looked at in one answer.
const LINKS_MAX: usize = 32;

/// Where the context is that an answer without one refers to: a link to the context of its JSON, or to another form of
/// itself that is JSON-LD, as schema.org's page has one.
pub(crate) fn linked_context(page: &FetchedPage) -> Option<PageUrl> {
    let mut links = page.header_all("link").flat_map(|value| Links { rest: value }).take(LINKS_MAX);
    let target = links.find_map(|link| {
        let mut relations = link.relation.split_ascii_whitespace();
        let leads = relations.any(|relation| {
            relation.eq_ignore_ascii_case("http://www.w3.org/ns/json-ld#context")
                || (relation.eq_ignore_ascii_case("alternate") && is_json_ld(link.media_type))
        });
        leads.then_some(link.target)
    })?;
    page.url.join(target).ok()
}

fn is_json_ld(media_type: &str) -> bool {
    let essence = media_type.split(';').next().unwrap_or_default().trim();
    essence.eq_ignore_ascii_case("application/ld+json")
}

/// One link.
#[derive(Debug, PartialEq, Eq)]
struct Link<'t> {
    target: &'t str,
    relation: &'t str,
    media_type: &'t str,
}

/// The links of one header field. What is not understood is passed over.
struct Links<'t> {
    rest: &'t str,
}

impl<'t> Iterator for Links<'t> {
    type Item = Link<'t>;

    fn next(&mut self) -> Option<Link<'t>> {
        let start = self.rest.find('<')?;
        let (target, mut rest) = self.rest[start + 1..].split_once('>')?;
        let mut link = Link { target: target.trim(), relation: "", media_type: "" };
        while let Some(parameter) = rest.trim_start().strip_prefix(';') {
            let name_end = parameter.find(['=', ';', ',']).unwrap_or(parameter.len());
            let (name, after) = parameter.split_at(name_end);
            let Some(value) = after.strip_prefix('=') else {
                rest = after;
                continue;
            };
            let value = value.trim_start();
            let (value, after) = match value.strip_prefix('"') {
                Some(quoted) => quoted.split_once('"').unwrap_or((quoted, "")),
                None => value.split_at(value.find([';', ',']).unwrap_or(value.len())),
            };
            match name.trim() {
                // The first of several counts.
                name if name.eq_ignore_ascii_case("rel") && link.relation.is_empty() => {
                    link.relation = value.trim();
                }
                name if name.eq_ignore_ascii_case("type") && link.media_type.is_empty() => {
                    link.media_type = value.trim();
                }
                _ => {}
            }
            rest = after;
        }
        self.rest = rest;
        Some(link)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(values: &[&str]) -> Option<String> {
        let mut page =
            FetchedPage::local(PageUrl::parse("https://a.example/x/y").unwrap(), None, bytes::Bytes::new());
        page.headers = values.iter().map(|value| ("link".to_owned(), (*value).to_owned())).collect();
        linked_context(&page).map(|url| url.as_str().to_owned())
    }

    #[test]
    fn links_to_contexts_are_found() {
        for (values, expected) in [
            (
                &["</docs/context.jsonld>; rel=\"alternate\"; type=\"application/ld+json\""][..],
                Some("https://a.example/docs/context.jsonld"),
            ),
            (&["<c.json>;rel=http://www.w3.org/ns/json-ld#context"], Some("https://a.example/x/c.json")),
            (
                &[
                    "<a>; rel=next, <b,c>; title=\"x, <y>; rel=z\"; rel=\"up\", <d>; type=application/ld+json;rel=\"x ALTERNATE\"",
                ],
                Some("https://a.example/x/d"),
            ),
            (
                &[
                    "<a>; rel=alternate; type=text/html",
                    "<b>; rel=alternate; type=\"application/ld+json; x\"",
                ],
                Some("https://a.example/x/b"),
            ),
            (&["<a>; rel=alternate"], None),
            (&["<a>; rel; type", "a; rel=alternate", "<", "<a", ";;;,,,"], None),
            (&["<mailto:x>; rel=alternate; type=application/ld+json"], None),
            (&[], None),
        ] {
            assert_eq!(target(values).as_deref(), expected, "{values:?}");
        }
    }
}
