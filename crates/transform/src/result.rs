//! Reads what a stylesheet, a service or a command gave: RDF in some syntax.
//!
//! In: bytes, and what is said of them: by the rule, by a media type. Out: quads in a [`Sink`]. Where nobody says what it is, its
//! first characters tell. What is no RDF is one diagnostic; nobody is trusted to keep to what they promised.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use encoding_rs::{Encoding, UTF_8};
use webloom_model::{Diagnostic, PageUrl};

use crate::{Sink, jsonld, rdf};

/// An RDF syntax that a rule can give.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ResultSyntax {
    /// RDF/XML.
    RdfXml,
    /// Turtle.
    Turtle,
    /// N-Triples.
    NTriples,
    /// N-Quads.
    NQuads,
    /// TriG.
    TriG,
    /// JSON-LD.
    JsonLd,
}

impl ResultSyntax {
    /// Every one of them.
    pub const ALL: [Self; 6] =
        [Self::RdfXml, Self::Turtle, Self::NTriples, Self::NQuads, Self::TriG, Self::JsonLd];

    /// The word in a specification, which is that of the detected type.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::RdfXml => "rdf-xml",
            Self::Turtle => "turtle",
            Self::NTriples => "n-triples",
            Self::NQuads => "n-quads",
            Self::TriG => "trig",
            Self::JsonLd => "json-ld",
        }
    }

    /// The syntax of a media type without parameters, in lower case.
    pub fn from_media_type(media_type: &str) -> Option<Self> {
        Some(match media_type {
            "application/rdf+xml" => Self::RdfXml,
            "text/turtle" | "text/n3" | "text/rdf+n3" | "application/x-turtle" => Self::Turtle,
            "application/n-triples" => Self::NTriples,
            "application/n-quads" => Self::NQuads,
            "application/trig" => Self::TriG,
            "application/ld+json" => Self::JsonLd,
            _ => return None,
        })
    }

    /// The syntax that a text seems to be in.
    fn sniff(text: &str) -> Self {
        let text = text.trim_ascii_start();
        // An IRI in angle brackets begins a line of Turtle too.
        let is_markup = text.starts_with("<?")
            || text.starts_with("<!")
            || (text.starts_with('<')
                && text.contains("rdf-syntax-ns#")
                && text.trim_ascii_end().ends_with('>'));
        match text.as_bytes().first() {
            _ if is_markup => Self::RdfXml,
            Some(b'{') => Self::JsonLd,
            // A list of JSON begins with something of JSON; a blank node of Turtle with a name or its end.
            Some(b'[') if text[1..].trim_ascii_start().starts_with(['{', '"', '[']) => Self::JsonLd,
            _ => Self::Turtle,
        }
    }
}

impl fmt::Display for ResultSyntax {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for ResultSyntax {
    type Err = String;

    fn from_str(word: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|syntax| syntax.as_str() == word).ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(", ");
            format!("`{word}` is no syntax of RDF; known are {known}")
        })
    }
}

/// Something to read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Given<'a> {
    /// As it came.
    pub bytes: &'a [u8],
    /// With parameters, if any.
    pub media_type: Option<&'a str>,
    /// What the rule says it is; outranks the media type.
    pub syntax: Option<ResultSyntax>,
    /// Who gave it, as diagnostics say.
    pub giver: &'a str,
}

/// Reads a result into the sink. Relative IRIs are resolved against `base`.
pub(crate) fn read(given: Given<'_>, base: &PageUrl, sink: &mut Sink<'_>) {
    let Given { bytes, syntax, giver, .. } = given;
    let (media_type, charset) = split_media_type(given.media_type.unwrap_or_default());
    let Some(text) = text_of(bytes, charset) else {
        let message = format!("{giver} gave {} bytes that are no text", bytes.len());
        return sink.diagnose(Diagnostic::warning("result-binary", message));
    };
    if text.trim_ascii().is_empty() {
        let message = format!("{giver} gave nothing");
        return sink.diagnose(Diagnostic::note("result-empty", message));
    }
    let syntax = match syntax.or_else(|| ResultSyntax::from_media_type(&media_type)) {
        Some(syntax) => syntax,
        None if may_be_anything(&media_type) => ResultSyntax::sniff(&text),
        None => {
            let message = format!("{giver} gave {media_type}, which is no syntax of RDF");
            return sink.diagnose(Diagnostic::warning("result-type", message));
        }
    };
    sink.begin_block();
    match syntax {
        ResultSyntax::RdfXml => rdf::read_rdf_xml(base, &text, sink),
        ResultSyntax::Turtle => rdf::read_turtle(base, &text, sink),
        ResultSyntax::NTriples => rdf::read_n_triples(&text, sink),
        ResultSyntax::NQuads => rdf::read_n_quads(&text, sink),
        ResultSyntax::TriG => rdf::read_trig(base, &text, sink),
        ResultSyntax::JsonLd => jsonld::read_document(base, &text, sink),
    }
}

/// Media types that say little of what is in it.
fn may_be_anything(media_type: &str) -> bool {
    matches!(
        media_type,
        "" | "text/plain" | "text/xml" | "application/xml" | "application/json" | "application/octet-stream"
    )
}

/// A media type in lower case, and its charset.
fn split_media_type(text: &str) -> (String, Option<&str>) {
    let mut parts = text.split(';');
    let media_type = parts.next().unwrap_or_default().trim().to_ascii_lowercase();
    let charset = parts
        .filter_map(|part| part.split_once('='))
        .find(|(name, _)| name.trim().eq_ignore_ascii_case("charset"))
        .map(|(_, value)| value.trim().trim_matches('"'));
    (media_type, charset)
}

/// The bytes as text, or nothing when they are none.
fn text_of<'b>(bytes: &'b [u8], charset: Option<&str>) -> Option<Cow<'b, str>> {
    let encoding = charset.and_then(|label| Encoding::for_label(label.as_bytes())).unwrap_or(UTF_8);
    let (text, _, malformed) = encoding.decode(bytes);
    (!malformed && !text.contains('\0')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_characters_tell_the_syntax() {
        for (text, syntax) in [
            ("<?xml version='1.0'?><x/>", ResultSyntax::RdfXml),
            ("<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'/>\n", ResultSyntax::RdfXml),
            (
                "<http://a.example/> a <http://www.w3.org/1999/02/22-rdf-syntax-ns#Bag> .",
                ResultSyntax::Turtle,
            ),
            ("  {\"@id\": \"x\"}", ResultSyntax::JsonLd),
            ("[ {\"@id\": \"x\"} ]", ResultSyntax::JsonLd),
            ("[ a <http://a.example/C> ] .", ResultSyntax::Turtle),
            ("@prefix a: <b> .", ResultSyntax::Turtle),
            ("", ResultSyntax::Turtle),
        ] {
            assert_eq!(ResultSyntax::sniff(text), syntax, "{text}");
        }
    }

    #[test]
    fn words_and_media_types_name_syntaxes() {
        for syntax in ResultSyntax::ALL {
            assert_eq!(syntax.as_str().parse(), Ok(syntax));
        }
        assert!("html".parse::<ResultSyntax>().is_err());
        assert_eq!(
            split_media_type("Text/Turtle; Charset=\"utf-8\""),
            ("text/turtle".to_owned(), Some("utf-8"))
        );
    }

    #[test]
    fn what_is_no_text_is_not_read() {
        assert!(text_of(b"\xff\xfe\xfa\x00garbage", Some("utf-8")).is_none());
        assert!(text_of(b"a\0b", None).is_none());
        assert_eq!(text_of(b"caf\xe9", Some("iso-8859-1")).as_deref(), Some("café"));
    }
}
