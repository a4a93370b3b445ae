//! Datatypes by the form of a text: what HTML's `time` and `value` leave unsaid.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;

/// The type of a date, a time or a duration, in XML Schema's notation.
pub(super) fn temporal(text: &str) -> Option<NamedNodeRef<'static>> {
    let bytes = text.as_bytes();
    // Nothing that is longer is a date.
    if bytes.len() > 64 {
        return None;
    }
    if is_duration(bytes) {
        return Some(xsd::DURATION);
    }
    if let Some(rest) = time(bytes) {
        return is_zone(rest).then_some(xsd::TIME);
    }
    let rest = year(bytes)?;
    if is_zone(rest) {
        return Some(xsd::G_YEAR);
    }
    let rest = number(rest.strip_prefix(b"-")?, 1..=12)?;
    if is_zone(rest) {
        return Some(xsd::G_YEAR_MONTH);
    }
    let rest = number(rest.strip_prefix(b"-")?, 1..=31)?;
    if is_zone(rest) {
        return Some(xsd::DATE);
    }
    let rest = time(rest.strip_prefix(b"T")?)?;
    is_zone(rest).then_some(xsd::DATE_TIME)
}

/// The type of a number, in XML Schema's notation.
pub(super) fn numeric(text: &str) -> Option<NamedNodeRef<'static>> {
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let (whole, fraction) = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole, Some(fraction)),
        None => (mantissa, None),
    };
    let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    let has_digits = !whole.is_empty() || fraction.is_some_and(|fraction| !fraction.is_empty());
    if !has_digits || !digits(whole) || !fraction.is_none_or(digits) {
        return None;
    }
    match (exponent, fraction) {
        (Some(exponent), _) => {
            let exponent = exponent.strip_prefix(['+', '-']).unwrap_or(exponent);
            (!exponent.is_empty() && digits(exponent)).then_some(xsd::DOUBLE)
        }
        (None, Some(_)) => Some(xsd::DECIMAL),
        (None, None) => Some(xsd::INTEGER),
    }
}

/// Two digits within a range, and the rest.
fn number(bytes: &[u8], range: std::ops::RangeInclusive<u8>) -> Option<&[u8]> {
    match bytes {
        [tens @ b'0'..=b'9', ones @ b'0'..=b'9', rest @ ..] => {
            range.contains(&((tens - b'0') * 10 + (ones - b'0'))).then_some(rest)
        }
        _ => None,
    }
}

/// A year of four digits or more, and the rest.
fn year(bytes: &[u8]) -> Option<&[u8]> {
    let unsigned = bytes.strip_prefix(b"-").unwrap_or(bytes);
    let digits = unsigned.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits >= 4 && (digits == 4 || unsigned[0] != b'0')).then(|| &unsigned[digits..])
}

/// Hours, minutes, seconds and their parts, and the rest.
fn time(bytes: &[u8]) -> Option<&[u8]> {
    let minutes = number(bytes, 0..=24)?.strip_prefix(b":")?;
    let seconds = number(minutes, 0..=59)?.strip_prefix(b":")?;
    let rest = number(seconds, 0..=59)?;
    let Some(fraction) = rest.strip_prefix(b".") else {
        return Some(rest);
    };
    let digits = fraction.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (digits > 0).then(|| &fraction[digits..])
}

/// True for a time zone, or none.
fn is_zone(bytes: &[u8]) -> bool {
    match bytes {
        [] | [b'Z'] => true,
        [b'+' | b'-', rest @ ..] => number(rest, 0..=14)
            .and_then(|rest| number(rest.strip_prefix(b":")?, 0..=59))
            .is_some_and(<[u8]>::is_empty),
        _ => false,
    }
}

fn is_duration(bytes: &[u8]) -> bool {
    let Some(mut rest) = bytes.strip_prefix(b"-").unwrap_or(bytes).strip_prefix(b"P") else {
        return false;
    };
    let mut units: &[u8] = b"YMD";
    let mut in_time = false;
    let mut parts = 0;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix(b"T") {
            if in_time || after.is_empty() {
                return false;
            }
            (rest, units, in_time) = (after, b"HMS", true);
        }
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (mut end, mut fraction) = (digits, false);
        if rest.get(end) == Some(&b'.') {
            let parts = rest[end + 1..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            (end, fraction) = (end + 1 + parts, parts > 0);
            if !fraction {
                return false;
            }
        }
        // Units come in their order, each once; only seconds have parts.
        let Some(place) = rest.get(end).and_then(|unit| units.iter().position(|known| known == unit)) else {
            return false;
        };
        if digits == 0 || (fraction && rest[end] != b'S') {
            return false;
        }
        units = &units[place + 1..];
        rest = &rest[end + 1..];
        parts += 1;
    }
    parts > 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_by_their_form() {
        for (text, expected) in [
            ("2012", Some("gYear")),
            ("-0044", Some("gYear")),
            ("12012", Some("gYear")),
            ("02012", None),
            ("201", None),
            ("2012-03", Some("gYearMonth")),
            ("2012-13", None),
            ("2012-03-18", Some("date")),
            ("2012-03-18Z", Some("date")),
            ("2012-03-32", None),
            ("2012-03-18T00:00:00Z", Some("dateTime")),
            ("2012-03-18T00:00:00.123-08:00", Some("dateTime")),
            ("2012-03-18T00:00", None),
            ("2012-03-18 00:00:00", None),
            ("00:00:00", Some("time")),
            ("25:00:00", None),
            ("00:00", None),
            ("00:00:00.", None),
            ("P2011Y06M28DT00H00M00S", Some("duration")),
            ("PT1.5S", Some("duration")),
            ("-P1D", Some("duration")),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("P1M1Y", None),
            ("P1.5D", None),
            ("PTT1S", None),
            (" 2012-03-18", None),
            ("D-Day", None),
            ("", None),
        ] {
            let found = temporal(text).map(|datatype| datatype.as_str().rsplit('#').next().unwrap());
            assert_eq!(found, expected, "{text}");
        }
    }

    #[test]
    fn numbers_by_their_form() {
        for (text, expected) in [
            ("12", Some("integer")),
            ("-12", Some("integer")),
            ("1.5", Some("decimal")),
            (".5", Some("decimal")),
            ("1e3", Some("double")),
            ("1.5E-3", Some("double")),
            ("1e", None),
            (".", None),
            ("", None),
            ("+", None),
            ("12 km", None),
        ] {
            let found = numeric(text).map(|datatype| datatype.as_str().rsplit('#').next().unwrap());
            assert_eq!(found, expected, "{text}");
        }
    }
}
