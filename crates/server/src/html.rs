//! `/search` for browsers without JavaScript, and what lets browsers search here from their address bar.
//!
//! In: the same question as `/api/search`. Out: a page of plain HTML, in which everything that came from elsewhere is text, or the same
//! JSON for whoever prefers that. Links to things and pages lead into the interface; they are only ever http addresses of ours.

use axum::Json;
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use http::{HeaderMap, header};

use webloom_index::{Entity, EntityQuery, EntityResults, FacetValue, Snippet};

use crate::api::search::question;
use crate::app::Shared;
use crate::error::ApiError;
use crate::request::Parameters;
use crate::sparql::negotiate;
use crate::sparql::protocol::base_of;
use crate::survey::local_name;

/// Facet values that are offered.
const FACETS_SHOWN: usize = 8;

/// `GET /search`.
pub async fn search(
    State(app): State<Shared>,
    headers: HeaderMap,
    parameters: Parameters,
) -> Result<Response, ApiError> {
    let slot = app.slot(&parameters)?;
    let question = question(&parameters)?;
    let json = match parameters.choice("format", &["", "html", "json"])? {
        "json" => true,
        "html" => false,
        _ => negotiate::prefers_json(&headers),
    };
    let asked = question.clone();
    let answer = app.read(move || Ok(slot.snapshot()?.search_entities(&asked)?)).await?;
    if json {
        return Ok(Json(answer).into_response());
    }
    Ok(([(header::CONTENT_TYPE, "text/html; charset=utf-8")], page(&question, &answer)).into_response())
}

/// `GET /search.css`.
pub async fn style() -> Response {
    ([(header::CONTENT_TYPE, "text/css; charset=utf-8"), (header::CACHE_CONTROL, "max-age=3600")], STYLE)
        .into_response()
}

/// `GET /opensearch.xml`.
pub async fn open_search(headers: HeaderMap) -> Response {
    let base = escape(&base_of(&headers, ""));
    let text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <OpenSearchDescription xmlns=\"http://a9.com/-/spec/opensearch/1.1/\">\n  \
         <ShortName>Webloom</ShortName>\n  <Description>Search what was crawled</Description>\n  \
         <InputEncoding>UTF-8</InputEncoding>\n  \
         <Url type=\"text/html\" template=\"{base}/search?q={{searchTerms}}&amp;offset={{startIndex?}}\" indexOffset=\"0\"/>\n  \
         <Url type=\"application/json\" template=\"{base}/api/search?q={{searchTerms}}\"/>\n\
         </OpenSearchDescription>\n"
    );
    ([(header::CONTENT_TYPE, "application/opensearchdescription+xml")], text).into_response()
}

/// Text as HTML: nothing in it means anything.
pub fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for letter in text.chars() {
        match letter {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            // What controls terminals and the direction of text has no business in a list of results.
            letter if letter.is_control() && letter != '\n' => escaped.push(' '),
            '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}' => {}
            letter => escaped.push(letter),
        }
    }
    escaped
}

/// Text as a part of an address.
fn encode(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}

fn page(question: &EntityQuery, answer: &EntityResults) -> String {
    let words = escape(&question.words);
    let title = if words.is_empty() { "Search".to_owned() } else { format!("{words} - search") };
    let mut html = format!(
        "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>{title}</title>\
         <link rel=\"stylesheet\" href=\"/search.css\">\
         <link rel=\"search\" type=\"application/opensearchdescription+xml\" title=\"Webloom\" href=\"/opensearch.xml\">\
         </head><body>\n<header><a href=\"/\">Webloom</a>\
         <form action=\"/search\" method=\"get\" role=\"search\"><label for=\"q\">Search</label>\
         <input id=\"q\" name=\"q\" type=\"search\" value=\"{words}\" autofocus><button>Find</button></form></header>\n<main>\n"
    );
    if question.words.is_empty() {
        html.push_str("<p>Type some words: things are found by what pages say of them.</p>\n");
    } else {
        let more = if answer.total_is_exact { "" } else { "at least " };
        html.push_str(&format!(
            "<p class=\"count\" role=\"status\">{more}{} {} in {:.0} ms</p>\n",
            answer.total,
            if answer.total == 1 { "thing" } else { "things" },
            answer.milliseconds
        ));
        filters(&mut html, question);
        if let Some(suggestion) = &answer.suggestion {
            let link = address(&EntityQuery::new(suggestion.as_str()));
            html.push_str(&format!("<p>Did you mean <a href=\"{link}\">{}</a>?</p>\n", escape(suggestion)));
        }
        facets(&mut html, question, answer);
        html.push_str("<ol class=\"results\">\n");
        answer.results.iter().for_each(|found| result(&mut html, found));
        html.push_str("</ol>\n");
        pager(&mut html, question, answer);
    }
    html.push_str("</main></body></html>\n");
    html
}

/// The address of a search.
fn address(question: &EntityQuery) -> String {
    let mut address = format!("/search?q={}", encode(&question.words));
    for (name, values) in [
        ("type", &question.types),
        ("vocabulary", &question.vocabularies),
        ("site", &question.sites),
        ("language", &question.languages),
    ] {
        for value in values {
            address.push_str(&format!("&{name}={}", encode(value)));
        }
    }
    if question.offset > 0 {
        address.push_str(&format!("&offset={}", question.offset));
    }
    escape(&address)
}

/// What the results are narrowed by, and the way back.
fn filters(html: &mut String, question: &EntityQuery) {
    let narrowed = [&question.types, &question.vocabularies, &question.sites, &question.languages];
    let values: Vec<String> =
        narrowed.iter().flat_map(|values| values.iter()).map(|value| escape(value)).collect();
    if !values.is_empty() {
        let all = address(&EntityQuery::new(question.words.as_str()));
        html.push_str(&format!("<p>Only {}. <a href=\"{all}\">Show all</a></p>\n", values.join(", ")));
    }
}

fn facets(html: &mut String, question: &EntityQuery, answer: &EntityResults) {
    html.push_str("<nav aria-label=\"Narrow the results\">\n");
    let facets = &answer.facets;
    for (name, values) in [
        ("type", &facets.types),
        ("vocabulary", &facets.vocabularies),
        ("site", &facets.sites),
        ("language", &facets.languages),
    ] {
        if values.is_empty() {
            continue;
        }
        html.push_str(&format!("<details><summary>{name}</summary><ul>\n"));
        for FacetValue { value, label, count } in values.iter().take(FACETS_SHOWN) {
            let mut narrowed = EntityQuery { offset: 0, ..question.clone() };
            match name {
                "type" => narrowed.types = vec![value.clone()],
                "vocabulary" => narrowed.vocabularies = vec![value.clone()],
                "site" => narrowed.sites = vec![value.clone()],
                _ => narrowed.languages = vec![value.clone()],
            }
            html.push_str(&format!(
                "<li><a href=\"{}\" title=\"{}\">{}</a> {count}</li>\n",
                address(&narrowed),
                escape(value),
                escape(label)
            ));
        }
        html.push_str("</ul></details>\n");
    }
    html.push_str("</nav>\n");
}

fn result(html: &mut String, found: &Entity) {
    let label = escape(found.label.as_deref().unwrap_or_else(|| local_name(&found.iri)));
    html.push_str(&format!("<li><h2><a href=\"/#/thing?iri={}\">{label}</a></h2>", encode(&found.iri)));
    let types: Vec<String> = found.types.iter().map(|class| escape(&class.label)).collect();
    html.push_str(&format!("<p class=\"iri\">{}", escape(&found.iri)));
    if !types.is_empty() {
        html.push_str(&format!(" · {}", types.join(", ")));
    }
    html.push_str(&format!("</p><p>{}</p><ul class=\"pages\">", marked(&found.snippet.text)));
    for page in &found.pages {
        let title = page.title.as_deref().unwrap_or(&page.url);
        html.push_str(&format!(
            "<li><a href=\"/#/page?url={}\">{}</a></li>",
            encode(&page.url),
            escape(title)
        ));
    }
    html.push_str("</ul></li>\n");
}

/// The snippet with its words marked.
fn marked(snippet: &Snippet) -> String {
    let text = |from: usize, to: usize| escape(snippet.text.get(from..to).unwrap_or_default());
    let mut html = String::new();
    let mut at = 0;
    for range in &snippet.matches {
        // Ranges come in order; one that does not is left out.
        if range.start >= at && range.end >= range.start && snippet.text.get(range.clone()).is_some() {
            html.push_str(&format!("{}<mark>{}</mark>", text(at, range.start), text(range.start, range.end)));
            at = range.end;
        }
    }
    html.push_str(&text(at, snippet.text.len()));
    html
}

fn pager(html: &mut String, question: &EntityQuery, answer: &EntityResults) {
    let limit = question.limit.max(1);
    html.push_str("<p class=\"pager\">");
    if question.offset > 0 {
        let before = EntityQuery { offset: question.offset.saturating_sub(limit), ..question.clone() };
        html.push_str(&format!("<a rel=\"prev\" href=\"{}\">Before</a> ", address(&before)));
    }
    if ((question.offset + limit) as u64) < answer.total {
        let after = EntityQuery { offset: question.offset + limit, ..question.clone() };
        html.push_str(&format!("<a rel=\"next\" href=\"{}\">More</a>", address(&after)));
    }
    html.push_str("</p>\n");
}

const STYLE: &str = "\
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif; }
body { margin: 0 auto; max-width: 50rem; padding: 0 1rem 3rem; }
header { display: flex; gap: 1rem; align-items: center; padding: 1rem 0; flex-wrap: wrap; }
header > a { font-weight: 600; text-decoration: none; }
form { display: flex; gap: .5rem; flex: 1; }
form label { position: absolute; clip-path: inset(50%); }
input { flex: 1; min-width: 8rem; font: inherit; padding: .4rem .6rem; }
button { font: inherit; padding: .4rem .9rem; }
nav { display: flex; gap: 1rem; flex-wrap: wrap; }
nav ul, ul.pages { list-style: none; padding: 0; margin: 0; }
ol.results { list-style: none; padding: 0; }
ol.results > li { margin: 1.5rem 0; }
h2 { font-size: 1.1rem; margin: 0; }
p { margin: .2rem 0; overflow-wrap: anywhere; }
.iri, .count, .pages { color: GrayText; font-size: .85rem; overflow-wrap: anywhere; }
mark { background: none; color: inherit; font-weight: 700; }
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_pages_say_is_only_text() {
        assert_eq!(
            escape("<script>alert('x')</script>&\"\u{7}\u{202E}"),
            "&lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt;&amp;&quot; "
        );
        let snippet = Snippet { text: "a <b>bold</b> wörd".to_owned(), matches: vec![14..19, 3..5, 18..99] };
        assert_eq!(marked(&snippet), "a &lt;b&gt;bold&lt;/b&gt; <mark>wörd</mark>");
    }

    #[test]
    fn addresses_of_searches_are_escaped_twice() {
        let question =
            EntityQuery { sites: vec!["x'.example".to_owned()], offset: 20, ..EntityQuery::new("a&b \"c\"") };
        assert_eq!(address(&question), "/search?q=a%26b+%22c%22&amp;site=x%27.example&amp;offset=20");
    }

    proptest::proptest! {
        #[test]
        fn no_text_leaves_its_place(text: String) {
            let escaped = escape(&text);
            proptest::prop_assert!(!escaped.contains(['<', '>', '"', '\'']));
        }
    }
}
