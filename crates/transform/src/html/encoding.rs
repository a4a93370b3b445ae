//! The queries of links on pages that are not in UTF-8.
//!
//! In: a reference, and the page it is on. Out: the bytes of its query as a browser would send them, which are those that the page has them in: the server of
//! a page in windows-1251 expects no UTF-8. So the WHATWG's URL standard has it, for queries only and for `http` and its like; a path is in UTF-8
//! everywhere, and so are queries on pages in UTF-8, UTF-16, and encodings that nothing can be written in. A character that the encoding lacks is sent as `&#1234;`.
//!
//! HTML says where it counts: for the addresses in its own elements, `<base>` included, and for the values of Microdata, which are those addresses; and
//! microformats resolve references as their page does. RDFa (Core 1.1, section 7.4) and JSON-LD (1.1, section 3.2) speak of IRIs, which are made of characters and
//! resolved by RFC 3986: what bytes the page had makes no difference there.

use std::borrow::Cow;

use encoding_rs::{EncoderResult, Encoding, UTF_8};
use webloom_model::{DetectedPage, PageUrl, UrlProblem};

/// What the queries of a page's links are encoded in, where that is not UTF-8.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryEncoding(&'static Encoding);

impl QueryEncoding {
    /// That of a page. Nothing for UTF-8 and what counts as UTF-8.
    pub(crate) fn of(page: &DetectedPage) -> Option<Self> {
        let label = page.detection.charset.filter(|label| *label != UTF_8.name())?;
        let marked = Encoding::for_bom(page.content()).map(|(encoding, _)| encoding);
        let encoding = marked.or_else(|| Encoding::for_label(label.as_bytes()))?.output_encoding();
        (encoding != UTF_8).then_some(Self(encoding))
    }

    /// True when the encoding makes a difference to a reference.
    pub(crate) fn matters_to(self, reference: &str) -> bool {
        let before_fragment = reference.split('#').next().unwrap_or_default();
        before_fragment.split_once('?').is_some_and(|(_, query)| !query.is_ascii())
    }

    /// A part of a query in the page's encoding.
    pub(crate) fn encode<'t>(self, text: &'t str) -> Cow<'t, [u8]> {
        let mut encoder = self.0.new_encoder();
        let mut bytes = Vec::new();
        let mut rest = text;
        loop {
            // More than that is asked for again.
            bytes.reserve(
                encoder.max_buffer_length_from_utf8_without_replacement(rest.len()).unwrap_or(rest.len()),
            );
            let (result, read) = encoder.encode_from_utf8_to_vec_without_replacement(rest, &mut bytes, true);
            rest = &rest[read..];
            match result {
                EncoderResult::InputEmpty => return bytes.into(),
                EncoderResult::OutputFull => {}
                // `&#` and `;` must not be taken for what they are in a query.
                EncoderResult::Unmappable(lacking) => {
                    bytes.extend(format!("%26%23{}%3B", u32::from(lacking)).bytes());
                }
            }
        }
    }
}

/// Resolves a reference of a page in some encoding.
pub(crate) fn resolve(
    base: &PageUrl,
    reference: &str,
    encoding: Option<QueryEncoding>,
) -> Result<PageUrl, UrlProblem> {
    match encoding.filter(|encoding| encoding.matters_to(reference)) {
        Some(encoding) => base.join_encoded(reference, &|query| encoding.encode(query)),
        None => base.join(reference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_are_encoded_as_the_page_is() {
        let base = PageUrl::parse("http://a.example/dir/").unwrap();
        for (label, reference, expected) in [
            ("windows-1251", "?q=поиск", "http://a.example/dir/?q=%EF%EE%E8%F1%EA"),
            ("koi8-r", "?q=поиск", "http://a.example/dir/?q=%D0%CF%C9%D3%CB"),
            ("windows-1252", "/s?q=café&x=1#é", "http://a.example/s?q=caf%E9&x=1"),
            // What is named so is windows-1252.
            ("iso-8859-1", "?price=5€", "http://a.example/dir/?price=5%80"),
            ("shift_jis", "?q=検索", "http://a.example/dir/?q=%8C%9F%8D%F5"),
            // Its second byte is a backslash, which no IRI holds.
            ("shift_jis", "?q=表", "http://a.example/dir/?q=%95%5C"),
            ("euc-jp", "?q=検索", "http://a.example/dir/?q=%B8%A1%BA%F7"),
            ("iso-2022-jp", "?q=検索&r=1", "http://a.example/dir/?q=%1B$B8!:w%1B(B&r=1"),
            ("euc-kr", "?q=검색", "http://a.example/dir/?q=%B0%CB%BB%F6"),
            ("gbk", "?q=搜索", "http://a.example/dir/?q=%CB%D1%CB%F7"),
            ("big5", "?q=搜尋", "http://a.example/dir/?q=%B7j%B4M"),
            // What the encoding lacks.
            ("windows-1251", "?q=é1", "http://a.example/dir/?q=%26%23233%3B1"),
            (
                "windows-1252",
                "?q=поиск",
                "http://a.example/dir/?q=%26%231087%3B%26%231086%3B%26%231080%3B%26%231089%3B%26%231082%3B",
            ),
            ("iso-2022-jp", "?q=検😀索", "http://a.example/dir/?q=%1B$B8!%1B(B%26%23128512%3B%1B$B:w%1B(B"),
            // Paths are in UTF-8, and what is escaped already stays.
            ("windows-1251", "/путь?q=%D0%BF", "http://a.example/%D0%BF%D1%83%D1%82%D1%8C?q=%D0%BF"),
            ("windows-1251", "/путь?q=путь", "http://a.example/%D0%BF%D1%83%D1%82%D1%8C?q=%EF%F3%F2%FC"),
            ("windows-1251", "путь", "http://a.example/dir/%D0%BF%D1%83%D1%82%D1%8C"),
            ("windows-1251", "#a?я", "http://a.example/dir/"),
            ("windows-1251", "https://я.example/?я", "https://xn--41a.example/?%FF"),
            ("windows-1251", "?q=a b\t\nя'\"<>", "http://a.example/dir/?q=a%20b%FF%27%22%3C%3E"),
            // As UTF-8.
            ("utf-16le", "?q=é", "http://a.example/dir/?q=%C3%A9"),
            ("utf-8", "?q=é", "http://a.example/dir/?q=%C3%A9"),
            ("iso-2022-kr", "?q=é", "http://a.example/dir/?q=%C3%A9"),
        ] {
            let encoding = Encoding::for_label(label.as_bytes()).unwrap().output_encoding();
            let encoding = (encoding != UTF_8).then_some(QueryEncoding(encoding));
            let resolved = resolve(&base, reference, encoding).map(String::from);
            assert_eq!(resolved.as_deref(), Ok(expected), "{label}: {reference}");
        }
        // Other schemes are no pages, whatever their queries are in.
        let problem =
            resolve(&base, "mailto:a@b.example?subject=я", Some(QueryEncoding(encoding_rs::WINDOWS_1251)));
        assert!(matches!(problem, Err(UrlProblem::Scheme { .. })));
    }
}
