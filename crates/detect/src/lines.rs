//! Text whose first line, or every line, says what it is: vCard, iCalendar, sitemaps that are lists of URLs.

use webloom_model::DocumentKind;

use crate::prolog::starts_with_ignore_case;

/// The kind of a text with such lines. `name` is the URL or the name of the file.
pub(crate) fn kind(head: &str, name: Option<&str>) -> Option<DocumentKind> {
    let text = head.trim_start_matches('\u{feff}').trim_ascii_start();
    if begins(text, "BEGIN:VCARD") {
        Some(DocumentKind::VCard)
    } else if begins(text, "BEGIN:VCALENDAR") {
        Some(DocumentKind::ICalendar)
    } else if name.is_some_and(names_a_text_sitemap) && is_list_of_urls(text) {
        Some(DocumentKind::Sitemap)
    } else {
        None
    }
}

/// The line, and nothing more on it.
fn begins(text: &str, line: &str) -> bool {
    starts_with_ignore_case(text, line)
        && text.as_bytes()[line.len()..].first().is_none_or(u8::is_ascii_whitespace)
}

fn names_a_text_sitemap(name: &str) -> bool {
    let path = name.split(['?', '#']).next().unwrap_or_default().to_ascii_lowercase();
    let file = path.rsplit('/').next().unwrap_or_default();
    file.ends_with(".txt") && path.contains("sitemap")
}

fn is_list_of_urls(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty()).peekable();
    let mut urls = 0_usize;
    while let Some(line) = lines.next() {
        let is_url = starts_with_ignore_case(line, "http://") || starts_with_ignore_case(line, "https://");
        // What is looked at may end within a line.
        if !is_url && (urls == 0 || lines.peek().is_some()) || line.contains(char::is_whitespace) {
            return false;
        }
        urls += 1;
    }
    urls > 0
}
