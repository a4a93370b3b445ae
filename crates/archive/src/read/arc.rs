//! The one-line heads of ARC records, versions 1 and 2, given the field names of WARC.

use crate::fields::Fields;

/// Fields of a version 1 line: URL, address, date, content type, length.
pub(super) const FIELDS_V1: usize = 5;
/// Fields of a version 2 line.
const FIELDS_MAX: usize = 10;
/// Longest line: URLs can be long, and some hold pages.
pub(super) const LINE_BYTES_MAX: usize = 64 << 10;

/// A line, understood.
pub(super) struct ArcLine {
    pub(super) fields: Fields,
    /// Length of the block, unless it is no number.
    pub(super) length: Option<u64>,
    /// It heads the whole file.
    pub(super) is_file_head: bool,
}

/// Parses a line with so many fields. URLs may hold spaces, so fields are counted from the end.
pub(super) fn parse_line(line: &str, fields: usize) -> Option<ArcLine> {
    let line = line.trim_end();
    let is_file_head = line.starts_with("filedesc:");
    // The head of the file is always written in the fields of version 1 or in its own; the fewest fit both.
    let count = if is_file_head && line.split(' ').count() < fields { FIELDS_V1 } else { fields };
    let mut parts: Vec<&str> = line.rsplitn(count, ' ').collect();
    parts.reverse();
    if parts.len() != count || !has_scheme(parts[0]) {
        return None;
    }
    let date = parts[2];
    if date.len() < 8 || !date.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let mut named = Fields::new();
    named.push("WARC-Target-URI", parts[0]);
    named.push("WARC-IP-Address", parts[1]);
    named.push("WARC-Date", date);
    named.push("Content-Type", parts[3]);
    let length = parts[count - 1];
    named.push("Content-Length", length);
    Some(ArcLine { fields: named, length: length.parse().ok(), is_file_head })
}

/// How many fields the line of names has.
pub(super) fn count_fields(names: &str) -> usize {
    let count = names.split_ascii_whitespace().count();
    if (FIELDS_V1..=FIELDS_MAX).contains(&count) { count } else { FIELDS_V1 }
}

/// True for bytes that may begin a line.
pub(super) fn looks_like_line(bytes: &[u8]) -> bool {
    [&b"http://"[..], b"https://", b"filedesc://", b"dns:", b"ftp://"]
        .iter()
        .any(|scheme| bytes.starts_with(scheme))
}

fn has_scheme(uri: &str) -> bool {
    uri.split_once(':').is_some_and(|(scheme, _)| {
        scheme.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
            && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+-.".contains(&byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        let line =
            parse_line("http://a.example/x y 1.2.3.4 20140216050221 text/html 1591\n", FIELDS_V1).unwrap();
        assert_eq!(line.fields.get("WARC-Target-URI").unwrap(), "http://a.example/x y");
        assert_eq!((line.length, line.is_file_head), (Some(1591), false));
        let line = parse_line("http://a/ 1.2.3.4 20140216050221 text/html 200 - - 0 f.arc 77", 10).unwrap();
        assert_eq!(
            (line.length, line.fields.get("WARC-Date").as_deref()),
            (Some(77), Some("20140216050221"))
        );
        assert_eq!(
            parse_line("http://a/ 1.2.3.4 20140216050221 text/html -1", FIELDS_V1).unwrap().length,
            None
        );
        for line in ["", "http://a/", "<p>a b c d e</p>", "a b 20140216050221 d 5", "http://a/ b c d 5"] {
            assert!(parse_line(line, FIELDS_V1).is_none(), "{line}");
        }
    }
}
