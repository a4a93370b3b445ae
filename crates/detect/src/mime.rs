//! MIME types as the WHATWG's MIME Sniffing standard parses, writes and groups them.
//!
//! In: the text of a `Content-Type`. Out: a [`MimeType`], or nothing where the text is none. A header field that holds
//! several types is read as Fetch says ([`MimeType::extract`]). What a body really is, is not decided here.

use std::fmt;

use encoding_rs::Encoding;

use crate::hints;

/// Parameters of one type that are kept. More are nobody's meaning.
const PARAMETERS_MAX: usize = 64;

/// A type, a subtype and parameters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MimeType {
    essence: String,
    /// Where the subtype begins in the essence.
    subtype: usize,
    parameters: Vec<(String, String)>,
}

impl MimeType {
    /// Parses one MIME type.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim_matches(is_http_space);
        let (main, rest) = text.split_once('/')?;
        let (subtype, mut rest) = match rest.find(';') {
            Some(at) => (&rest[..at], &rest[at..]),
            None => (rest, ""),
        };
        let subtype = subtype.trim_end_matches(is_http_space);
        if !is_token(main) || !is_token(subtype) {
            return None;
        }
        let essence = format!("{main}/{subtype}").to_ascii_lowercase();
        let mut mime = Self { essence, subtype: main.len() + 1, parameters: Vec::new() };
        while let Some(after) = rest.strip_prefix(';') {
            let after = after.trim_start_matches(is_http_space);
            let name_end = after.find([';', '=']).unwrap_or(after.len());
            let name = &after[..name_end];
            rest = &after[name_end..];
            let Some(value) = rest.strip_prefix('=') else { continue };
            let value = if value.starts_with('"') {
                let (value, length) = quoted_string(value);
                // Whatever stands between the quotes and the semicolon is dropped.
                let behind = &rest[1 + length..];
                rest = &behind[behind.find(';').unwrap_or(behind.len())..];
                value
            } else {
                let end = value.find(';').unwrap_or(value.len());
                rest = &value[end..];
                let value = value[..end].trim_end_matches(is_http_space);
                if value.is_empty() {
                    continue;
                }
                value.to_owned()
            };
            mime.add(name, value);
        }
        Some(mime)
    }

    /// The type that a whole `Content-Type` header says, which may hold several: the last that is one, with the
    /// charset of an earlier one of the same type.
    pub fn extract(header: &str) -> Option<Self> {
        let mut result: Option<Self> = None;
        let mut charset: Option<String> = None;
        for member in members(header) {
            let Some(mut mime) = Self::parse(member).filter(|mime| mime.essence != "*/*") else { continue };
            let is_same = result.as_ref().is_some_and(|before| before.essence == mime.essence);
            if !is_same {
                charset = None;
            }
            match (mime.parameter("charset"), &charset) {
                (Some(own), _) => charset = Some(own.to_owned()),
                (None, Some(before)) => mime.add("charset", before.clone()),
                (None, None) => {}
            }
            result = Some(mime);
        }
        result
    }

    fn add(&mut self, name: &str, value: String) {
        let name = name.to_ascii_lowercase();
        let is_value = value.chars().all(|c| matches!(c, '\t' | ' '..='~' | '\u{80}'..='\u{ff}'));
        if is_token(&name)
            && is_value
            && self.parameters.len() < PARAMETERS_MAX
            && self.parameter(&name).is_none()
        {
            self.parameters.push((name, value));
        }
    }

    /// `type/subtype`, in lower case.
    pub fn essence(&self) -> &str {
        &self.essence
    }

    fn main(&self) -> &str {
        &self.essence[..self.subtype - 1]
    }

    fn subtype(&self) -> &str {
        &self.essence[self.subtype..]
    }

    /// The value of a parameter, by its name in lower case.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// The encoding that `charset` names, if there is one of that name.
    pub fn encoding(&self) -> Option<&'static Encoding> {
        Encoding::for_label(self.parameter("charset")?.as_bytes())
    }

    /// An image.
    pub fn is_image(&self) -> bool {
        self.main() == "image"
    }

    /// Sound or film.
    pub fn is_audio_or_video(&self) -> bool {
        matches!(self.main(), "audio" | "video") || self.essence == "application/ogg"
    }

    /// A font.
    pub fn is_font(&self) -> bool {
        self.main() == "font"
            || matches!(
                self.essence.as_str(),
                "application/font-cff"
                    | "application/font-off"
                    | "application/font-sfnt"
                    | "application/font-ttf"
                    | "application/font-woff"
                    | "application/vnd.ms-fontobject"
                    | "application/vnd.ms-opentype"
            )
    }

    /// Based on ZIP.
    pub fn is_zip(&self) -> bool {
        self.subtype().ends_with("+zip") || self.essence == "application/zip"
    }

    /// An archive.
    pub fn is_archive(&self) -> bool {
        matches!(
            self.essence.as_str(),
            "application/x-rar-compressed" | "application/zip" | "application/x-gzip"
        )
    }

    /// XML of any kind.
    pub fn is_xml(&self) -> bool {
        self.subtype().ends_with("+xml") || matches!(self.essence.as_str(), "text/xml" | "application/xml")
    }

    /// HTML.
    pub fn is_html(&self) -> bool {
        self.essence == "text/html"
    }

    /// What may run scripts in a browser.
    pub fn is_scriptable(&self) -> bool {
        self.is_xml() || self.is_html() || self.essence == "application/pdf"
    }

    /// JavaScript, under any of its names.
    pub fn is_javascript(&self) -> bool {
        matches!(
            self.essence.as_str(),
            "application/ecmascript"
                | "application/javascript"
                | "application/x-ecmascript"
                | "application/x-javascript"
                | "text/ecmascript"
                | "text/javascript"
                | "text/javascript1.0"
                | "text/javascript1.1"
                | "text/javascript1.2"
                | "text/javascript1.3"
                | "text/javascript1.4"
                | "text/javascript1.5"
                | "text/jscript"
                | "text/livescript"
                | "text/x-ecmascript"
                | "text/x-javascript"
        )
    }

    /// JSON of any kind.
    pub fn is_json(&self) -> bool {
        self.subtype().ends_with("+json") || matches!(self.essence.as_str(), "application/json" | "text/json")
    }

    /// The standard's "minimize a supported MIME type": one name for what has many, nothing for what is not known here.
    pub fn minimized(&self) -> Option<&str> {
        if self.is_javascript() {
            Some("text/javascript")
        } else if self.is_json() {
            Some("application/json")
        } else if self.essence == "image/svg+xml" {
            Some("image/svg+xml")
        } else if self.is_xml() {
            Some("application/xml")
        } else {
            hints::is_known(&self.essence).then_some(self.essence.as_str())
        }
    }
}

impl fmt::Display for MimeType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.essence)?;
        for (name, value) in &self.parameters {
            write!(f, ";{name}=")?;
            if is_token(value) {
                f.write_str(value)?;
            } else {
                write!(f, "\"{}\"", value.replace('\\', "\\\\").replace('"', "\\\""))?;
            }
        }
        Ok(())
    }
}

fn is_http_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\r' | ' ')
}

fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte))
}

/// The value of a quoted string, and its length as written.
fn quoted_string(text: &str) -> (String, usize) {
    let mut value = String::new();
    let mut characters = text.char_indices().skip(1);
    while let Some((index, c)) = characters.next() {
        match c {
            '"' => return (value, index + 1),
            '\\' => value.push(characters.next().map_or('\\', |(_, escaped)| escaped)),
            c => value.push(c),
        }
    }
    (value, text.len())
}

/// The members of a list with commas, those in quotes aside.
fn members(header: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(header);
    std::iter::from_fn(move || {
        let text = rest?;
        let bytes = text.as_bytes();
        let mut index = 0;
        while index < bytes.len() && bytes[index] != b',' {
            index += if bytes[index] == b'"' { quoted_string(&text[index..]).1 } else { 1 };
        }
        rest = text.get(index + 1..);
        Some(&text[..index.min(text.len())])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::MimeType;

    #[test]
    fn types_are_parsed_and_written() {
        for (text, expected) in [
            (" TEXT/HTML ; CHARSET=\"gbk\" x; y=1 ", Some("text/html;charset=gbk;y=1")),
            ("text/html;a=;b;c=\"\";c=2;d=\"\\\"\\\\", Some("text/html;c=\"\";d=\"\\\"\\\\\"")),
            ("text/html;\u{b}a=b", Some("text/html")),
            ("text/plain;title=\u{e9}", Some("text/plain;title=\"\u{e9}\"")),
            ("text/plain;title=\u{20ac}", Some("text/plain")),
            ("text", None),
            ("text/", None),
            ("/html", None),
            ("te xt/html", None),
            ("", None),
        ] {
            assert_eq!(MimeType::parse(text).map(|mime| mime.to_string()).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn headers_with_several_types_have_one() {
        for (header, expected) in [
            ("text/html, text/html", Some("text/html")),
            ("text/html;charset=gbk, text/html", Some("text/html;charset=gbk")),
            ("text/html;charset=gbk, text/plain", Some("text/plain")),
            ("text/html;x=\",text/plain\"", Some("text/html;x=\",text/plain\"")),
            ("text/html, */*", Some("text/html")),
            ("text/html, nonsense", Some("text/html")),
            (",", None),
        ] {
            assert_eq!(
                MimeType::extract(header).map(|mime| mime.to_string()).as_deref(),
                expected,
                "{header}"
            );
        }
    }

    proptest! {
        #[test]
        fn what_is_written_parses_to_itself(text in "[a-c/;=\"\\\\, \t'é€*]{0,40}") {
            if let Some(mime) = MimeType::parse(&text) {
                prop_assert_eq!(MimeType::parse(&mime.to_string()), Some(mime));
            }
            let _ = MimeType::extract(&text);
        }
    }
}
