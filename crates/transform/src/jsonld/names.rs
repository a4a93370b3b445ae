//! The words of JSON-LD: its keywords, and names that are or are not IRIs.

use std::borrow::Cow;

macro_rules! keywords {
    ($($variant:ident = $text:literal,)*) => {
        /// A keyword of JSON-LD 1.1.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub(super) enum Keyword { $($variant,)* }

        impl Keyword {
            /// The keyword a text is.
            pub(super) fn parse(text: &str) -> Option<Self> {
                // Most texts are none, and this settles it.
                if !text.starts_with('@') {
                    return None;
                }
                match text {
                    $($text => Some(Self::$variant),)*
                    _ => None,
                }
            }

            pub(super) fn as_str(self) -> &'static str {
                match self {
                    $(Self::$variant => $text,)*
                }
            }
        }
    };
}

keywords! {
    Base = "@base",
    Container = "@container",
    Context = "@context",
    Direction = "@direction",
    Graph = "@graph",
    Id = "@id",
    Import = "@import",
    Included = "@included",
    Index = "@index",
    Json = "@json",
    Language = "@language",
    List = "@list",
    Nest = "@nest",
    None = "@none",
    Prefix = "@prefix",
    Propagate = "@propagate",
    Protected = "@protected",
    Reverse = "@reverse",
    Set = "@set",
    Type = "@type",
    Value = "@value",
    Version = "@version",
    Vocab = "@vocab",
}

/// True for `@` and letters: a keyword, or reserved for one.
pub(super) fn has_keyword_form(text: &str) -> bool {
    text.strip_prefix('@')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_alphabetic()))
}

/// True for a text that begins with a scheme and a colon. Whether the rest is well-formed is asked later.
pub(super) fn has_iri_form(text: &str) -> bool {
    let Some(colon) = text.find(':') else { return false };
    let scheme = &text.as_bytes()[..colon];
    scheme.first().is_some_and(u8::is_ascii_alphabetic)
        && scheme.iter().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(byte))
}

pub(super) fn is_blank(text: &str) -> bool {
    text.starts_with("_:")
}

/// True for an absolute, well-formed IRI.
pub(super) fn is_well_formed(text: &str) -> bool {
    oxiri::Iri::parse(text).is_ok()
}

/// Prefix and rest of a text that may be a compact IRI: at the first colon that is not its first character.
pub(super) fn split_compact(text: &str) -> Option<(&str, &str)> {
    let colon = text.find(':')?;
    (colon > 0).then(|| (&text[..colon], &text[colon + 1..]))
}

/// What IRI expansion made of a text: an IRI, a blank node's label, or something that is neither.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name<'d> {
    pub(super) text: Cow<'d, str>,
    /// It was found to be a well-formed IRI before. When this is false it has yet to be asked.
    pub(super) valid: bool,
}

impl<'d> Name<'d> {
    pub(super) fn borrowed(text: &'d str) -> Self {
        Self { text: Cow::Borrowed(text), valid: false }
    }

    pub(super) fn owned(text: String) -> Self {
        Self { text: Cow::Owned(text), valid: false }
    }

    pub(super) fn is_blank(&self) -> bool {
        !self.valid && is_blank(&self.text)
    }

    pub(super) fn is_well_formed(&self) -> bool {
        self.valid || is_well_formed(&self.text)
    }
}

/// The outcome of IRI expansion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Expanded<'d> {
    /// Mapped to nothing, or reserved.
    Null,
    Keyword(Keyword),
    Name(Name<'d>),
}

impl<'d> Expanded<'d> {
    /// The name, with an ill-formed one for what is none: nothing comes of it in RDF.
    pub(super) fn into_name(self) -> Name<'d> {
        match self {
            Self::Null => Name::borrowed(""),
            Self::Keyword(keyword) => Name::borrowed(keyword.as_str()),
            Self::Name(name) => name,
        }
    }
}

/// A base direction of text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Direction {
    LeftToRight,
    RightToLeft,
}

impl Direction {
    pub(super) fn parse(text: &str) -> Option<Self> {
        match text {
            "ltr" => Some(Self::LeftToRight),
            "rtl" => Some(Self::RightToLeft),
            _ => None,
        }
    }

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::LeftToRight => "ltr",
            Self::RightToLeft => "rtl",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_are_told_apart() {
        for (text, keyword, iri) in [
            ("@id", true, false),
            ("@unknown", true, false),
            ("@", false, false),
            ("@a1", false, false),
            ("a:b", false, true),
            (":b", false, false),
            ("1a:b", false, false),
            ("a b:c", false, false),
            ("http://x/", false, true),
            ("_:b", false, false),
            ("plain", false, false),
        ] {
            assert_eq!(has_keyword_form(text), keyword, "{text}");
            assert_eq!(has_iri_form(text), iri, "{text}");
        }
        assert_eq!(Keyword::parse("@type"), Some(Keyword::Type));
        assert_eq!(Keyword::parse("@unknown"), None);
        assert_eq!(split_compact("a:b:c"), Some(("a", "b:c")));
        assert_eq!(split_compact(":b"), None);
    }
}
