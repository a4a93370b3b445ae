//! What a record is: its kind, its head, and what the head says.

use std::borrow::Cow;
use std::fmt;

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

use crate::digest::Digest;
use crate::fields::{Fields, text};

/// The kinds of records.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub enum RecordKind {
    /// About the records that follow.
    Warcinfo,
    /// An answer, with its HTTP head.
    Response,
    /// The request that was sent.
    Request,
    /// Something about another record.
    Metadata,
    /// An answer whose payload is in another record.
    Revisit,
    /// A resource without the protocol around it.
    Resource,
    /// Another form of another record.
    Conversion,
    /// A further part of another record.
    Continuation,
    /// The first record of an ARC file.
    ArcHeader,
    /// A kind that the standard does not know.
    Other(String),
    /// The head names none.
    #[default]
    Unnamed,
}

impl RecordKind {
    /// The kind of that name, in any case.
    pub fn from_name(name: &str) -> Self {
        const KNOWN: [RecordKind; 8] = [
            RecordKind::Response,
            RecordKind::Request,
            RecordKind::Metadata,
            RecordKind::Warcinfo,
            RecordKind::Revisit,
            RecordKind::Resource,
            RecordKind::Conversion,
            RecordKind::Continuation,
        ];
        KNOWN
            .into_iter()
            .find(|kind| kind.as_str().eq_ignore_ascii_case(name))
            .unwrap_or_else(|| Self::Other(name.to_ascii_lowercase()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Warcinfo => "warcinfo",
            Self::Response => "response",
            Self::Request => "request",
            Self::Metadata => "metadata",
            Self::Revisit => "revisit",
            Self::Resource => "resource",
            Self::Conversion => "conversion",
            Self::Continuation => "continuation",
            Self::ArcHeader => "arc_header",
            Self::Other(name) => name,
            Self::Unnamed => "",
        }
    }

    /// True for records whose block is an HTTP message when their URI is one of HTTP.
    pub fn holds_http(&self) -> bool {
        matches!(self, Self::Response | Self::Request | Self::Revisit)
    }
}

impl fmt::Display for RecordKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Whose record it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Format {
    /// WARC of any version.
    #[default]
    Warc,
    /// ARC, version 1 or 2. Its fields are given the names of WARC.
    Arc,
}

impl Format {
    /// `warc` or `arc`.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Warc => "warc",
            Self::Arc => "arc",
        }
    }
}

/// The head of a record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RecordHead {
    /// WARC or ARC.
    pub format: Format,
    /// `WARC/1.0` and so on.
    pub version: String,
    /// What it is.
    pub kind: RecordKind,
    /// The fields, as they were written.
    pub fields: Fields,
    /// Where in the file the record begins, or the member that holds it.
    pub offset: u64,
    /// False when a packed member holds several records, so that the offset does not lead to this one.
    pub addressable: bool,
    /// Length of the block by the record's own word.
    pub content_length: u64,
}

impl RecordHead {
    /// `WARC-Record-ID`, with its brackets.
    pub fn id(&self) -> Option<Cow<'_, str>> {
        self.fields.get("WARC-Record-ID")
    }

    /// What the record is about. The brackets that one version of Wget wrote are taken off, and spaces escaped.
    pub fn target_uri(&self) -> Option<Cow<'_, str>> {
        let bytes = self.fields.get_bytes("WARC-Target-URI")?;
        let bytes = bytes.strip_prefix(b"<").and_then(|inner| inner.strip_suffix(b">")).unwrap_or(bytes);
        let uri = text(bytes);
        if self.format == Format::Warc && uri.contains(' ') {
            Some(uri.replace(' ', "%20").into())
        } else {
            Some(uri)
        }
    }

    /// The date, as it was written.
    pub fn date(&self) -> Option<Cow<'_, str>> {
        self.fields.get("WARC-Date")
    }

    /// The date as a moment.
    pub fn timestamp(&self) -> Option<Timestamp> {
        parse_date(&self.date()?)
    }

    /// `Content-Type` of the block.
    pub fn content_type(&self) -> Option<Cow<'_, str>> {
        self.fields.get("Content-Type")
    }

    /// Digest of the payload, as it was written.
    pub fn payload_digest(&self) -> Option<Cow<'_, str>> {
        self.fields.get("WARC-Payload-Digest")
    }

    /// Digest of the payload, understood.
    pub fn payload_digest_parsed(&self) -> Option<Digest> {
        Digest::parse(&self.payload_digest()?)
    }

    /// True when the block is an HTTP message.
    pub fn holds_http(&self) -> bool {
        self.content_length > 0
            && self.kind.holds_http()
            && self.target_uri().is_some_and(|uri| is_http(&uri))
    }
}

/// True for the URIs that HTTP answers.
pub(crate) fn is_http(uri: &str) -> bool {
    ["http:", "https:"]
        .iter()
        .any(|scheme| uri.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme)))
}

/// Reads a date of WARC (any precision from the year on) or the digits of ARC and CDX.
pub fn parse_date(date: &str) -> Option<Timestamp> {
    if let Ok(timestamp) = date.parse::<Timestamp>() {
        return Some(timestamp);
    }
    let digits: String = if date.len() >= 4 && date.bytes().all(|byte| byte.is_ascii_digit()) {
        date.chars().take(14).collect()
    } else {
        // Less precise than a second: "2016", "2016-11", "2016-11-16", "2016-11-16T05:12Z".
        let whole = date.bytes().all(|byte| byte.is_ascii_digit() || b"-:TZ".contains(&byte));
        if !whole {
            return None;
        }
        date.chars().filter(char::is_ascii_digit).take(14).collect()
    };
    let part = |from: usize, to: usize, least: i8| -> Option<i8> {
        match digits.get(from..to.min(digits.len())) {
            None | Some("") => Some(least),
            Some(text) => text.parse().ok(),
        }
    };
    let year: i16 = digits.get(..4)?.parse().ok()?;
    DateTime::new(
        year,
        part(4, 6, 1)?,
        part(6, 8, 1)?,
        part(8, 10, 0)?,
        part(10, 12, 0)?,
        part(12, 14, 0)?,
        0,
    )
    .ok()?
    .to_zoned(TimeZone::UTC)
    .ok()
    .map(|zoned| zoned.timestamp())
}

/// The fourteen digits of CDX.
pub fn cdx_date(timestamp: Timestamp) -> String {
    let date = timestamp.to_zoned(TimeZone::UTC);
    format!(
        "{:04}{:02}{:02}{:02}{:02}{:02}",
        date.year(),
        date.month(),
        date.day(),
        date.hour(),
        date.minute(),
        date.second()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_every_precision() {
        for (text, expected) in [
            ("2017-03-06T04:03:53Z", Some("20170306040353")),
            ("2017-03-06T04:03:53.123456789Z", Some("20170306040353")),
            ("2017-03-06T04:03Z", Some("20170306040300")),
            ("2017-03-06", Some("20170306000000")),
            ("2017-03", Some("20170301000000")),
            ("2017", Some("20170101000000")),
            ("20140216050221", Some("20140216050221")),
            ("201404010000000000", Some("20140401000000")),
            ("20141399000000", None),
            ("yesterday", None),
            ("", None),
        ] {
            assert_eq!(parse_date(text).map(cdx_date).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn uris_are_mended() {
        let head = |format, uri: &str| RecordHead {
            format,
            fields: Fields::parse(format!("WARC-Target-URI: {uri}").as_bytes()),
            ..RecordHead::default()
        };
        assert_eq!(head(Format::Warc, "<http://a/>").target_uri().unwrap(), "http://a/");
        assert_eq!(head(Format::Warc, "http://a/b c").target_uri().unwrap(), "http://a/b%20c");
        assert_eq!(head(Format::Arc, "http://a/b c").target_uri().unwrap(), "http://a/b c");
    }
}
