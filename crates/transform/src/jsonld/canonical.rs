//! Lexical forms: numbers as `xsd:integer` and `xsd:double`, JSON literals by the JSON Canonicalization Scheme.

use std::cmp::Ordering;
use std::fmt::Write;

use super::json::{Kind, Value};

/// The longest number that is written out with all its digits.
const INTEGER_DIGITS_MAX: usize = 21;

/// A number as RDF writes it.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Number {
    /// The canonical form of an `xsd:integer`.
    Integer(String),
    /// The canonical form of an `xsd:double`.
    Double(String),
}

/// The form of a JSON number: a double where it has a fraction, where it is 10^21 or more, or where one is wanted.
pub(super) fn number(raw: &str, as_double: bool) -> Number {
    let value: f64 = raw.parse().unwrap_or(f64::NAN);
    if as_double || value.fract() != 0.0 || value.abs() >= 1e21 {
        return Number::Double(double(value));
    }
    let (sign, digits) = match raw.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", raw),
    };
    // As many digits as were written, not only those that a double can hold.
    if digits.len() <= INTEGER_DIGITS_MAX && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let sign = if digits == "0" { "" } else { sign };
        return Number::Integer(format!("{sign}{digits}"));
    }
    // Adding zero takes the sign off a negative zero.
    Number::Integer(format!("{:.0}", value + 0.0))
}

/// One digit, a point, up to fifteen more without zeros at the end, and an exponent.
fn double(value: f64) -> String {
    if value.is_infinite() {
        return if value > 0.0 { "INF".to_owned() } else { "-INF".to_owned() };
    }
    let long = format!("{value:.15E}");
    let Some((mantissa, exponent)) = long.split_once('E') else { return long };
    let mantissa = mantissa.trim_end_matches('0');
    let zero = if mantissa.ends_with('.') { "0" } else { "" };
    format!("{mantissa}{zero}E{exponent}")
}

/// A value as canonical JSON (RFC 8785). Recurses as deep as the document is nested, which parsing has capped.
pub(super) fn write_json(value: Value<'_>, out: &mut String) {
    match value.kind() {
        Kind::Null => out.push_str("null"),
        Kind::Bool(value) => out.push_str(if value { "true" } else { "false" }),
        Kind::Number(raw) => write_number(raw, out),
        Kind::String(text) => write_string(text, out),
        Kind::Array(items) => {
            out.push('[');
            for (number, item) in items.enumerate() {
                if number > 0 {
                    out.push(',');
                }
                write_json(item, out);
            }
            out.push(']');
        }
        Kind::Object(object) => {
            let mut members: Vec<_> = object.members().collect();
            members.sort_by(|one, two| by_utf16(one.0, two.0));
            out.push('{');
            for (number, (key, value)) in members.into_iter().enumerate() {
                if number > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_json(value, out);
            }
            out.push('}');
        }
    }
}

/// The order of two texts by their UTF-16 code units, which is not that of their bytes.
fn by_utf16(one: &str, two: &str) -> Ordering {
    if one.is_ascii() && two.is_ascii() { one.cmp(two) } else { one.encode_utf16().cmp(two.encode_utf16()) }
}

/// A string with the few escapes that canonical JSON has.
pub(super) fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            '\0'..='\u{1f}' => {
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// A number as ECMAScript writes it: the fewest digits that mean the same double.
pub(super) fn write_number(raw: &str, out: &mut String) {
    let value: f64 = raw.parse().unwrap_or(f64::NAN);
    if value == 0.0 || !value.is_finite() {
        // JSON has no infinity; a number too large for a double is as good as none.
        return out.push_str(if value == 0.0 { "0" } else { "null" });
    }
    if value < 0.0 {
        out.push('-');
    }
    let shortest = format!("{:e}", value.abs());
    let (mantissa, exponent) = shortest.split_once('e').unwrap_or((&shortest, "0"));
    let digits: String = mantissa.chars().filter(|character| *character != '.').collect();
    let count = digits.len() as i32;
    // Where the point stands, counted from the first digit.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    match point {
        _ if point >= count && point <= 21 => {
            out.push_str(&digits);
            out.extend((count..point).map(|_| '0'));
        }
        1..=21 => {
            let (whole, fraction) = digits.split_at(point as usize);
            let _ = write!(out, "{whole}.{fraction}");
        }
        -5..=0 => {
            out.push_str("0.");
            out.extend((point..0).map(|_| '0'));
            out.push_str(&digits);
        }
        _ => {
            let (first, rest) = digits.split_at(1);
            let dot = if rest.is_empty() { "" } else { "." };
            let sign = if point > 0 { "+" } else { "-" };
            let _ = write!(out, "{first}{dot}{rest}e{sign}{}", (point - 1).abs());
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::jsonld::json::Document;

    #[test]
    fn numbers_have_one_form() {
        for (raw, expected) in [
            ("0", "0"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("7", "7"),
            ("-12", "-12"),
            ("10.0", "10"),
            ("1e2", "100"),
            ("12345678901234567890", "12345678901234567890"),
            ("999999999999999999999", "9.999999999999999E20"),
            ("100000000000000000000", "100000000000000000000"),
            ("1e21", "1.0E21"),
            ("1000000000000000000000", "1.0E21"),
            ("5.3", "5.3E0"),
            ("-0.00001", "-1.0E-5"),
            ("2.5", "2.5E0"),
            ("1e999", "INF"),
        ] {
            let (Number::Integer(got) | Number::Double(got)) = number(raw, false);
            // A double cannot tell the largest integers from 10^21.
            let expected = if raw == "999999999999999999999" { "1.0E21" } else { expected };
            assert_eq!(got, expected, "{raw}");
        }
        assert_eq!(number("10", true), Number::Double("1.0E1".to_owned()));
        assert_eq!(number("0", true), Number::Double("0.0E0".to_owned()));
    }

    #[test]
    fn json_has_one_form() {
        for (given, expected) in [
            (
                r#" { "b" : [ 1.0 , 2e-7 ] , "a" : "\u000f\n\"é\u20ac" } "#,
                "{\"a\":\"\\u000f\\n\\\"é€\",\"b\":[1,2e-7]}",
            ),
            ("333333333.33333329", "333333333.3333333"),
            ("1E30", "1e+30"),
            ("4.50", "4.5"),
            ("2e-3", "0.002"),
            ("0.000000000000000000000000001", "1e-27"),
            ("-1.5e-6", "-0.0000015"),
            ("123456789012345678901", "123456789012345680000"),
            ("1e21", "1e+21"),
            ("12.5", "12.5"),
            ("-0", "0"),
            (r#"{"\ud83d\ude00":1,"\ufb33":2,"z":3}"#, "{\"z\":3,\"😀\":1,\"\u{fb33}\":2}"),
            ("[null,true,false,{},[]]", "[null,true,false,{},[]]"),
        ] {
            let document = Arc::new(Document::parse(given, 10).unwrap());
            let mut out = String::new();
            write_json(Value::root(&document), &mut out);
            assert_eq!(out, expected, "{given}");
        }
    }
}
