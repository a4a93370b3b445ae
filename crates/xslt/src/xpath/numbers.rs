//! Numbers as XPath reads, writes and rounds them.

/// A string as a number: white space, an optional minus, digits with at most one point; everything else is NaN.
pub(crate) fn parse(text: &str) -> f64 {
    let trimmed = text.trim_matches([' ', '\t', '\n', '\r']);
    let digits = trimmed.strip_prefix('-').unwrap_or(trimmed);
    let bytes = digits.as_bytes();
    if !bytes.is_empty() && bytes.len() <= 15 && bytes.iter().all(u8::is_ascii_digit) {
        let whole = bytes.iter().fold(0_u64, |number, byte| number * 10 + u64::from(byte - b'0'));
        let number = whole as f64;
        return if digits.len() < trimmed.len() { -number } else { number };
    }
    let mut seen_digit = false;
    let mut seen_point = false;
    for byte in bytes {
        match byte {
            b'0'..=b'9' => seen_digit = true,
            b'.' if !seen_point => seen_point = true,
            _ => return f64::NAN,
        }
    }
    if !seen_digit {
        return f64::NAN;
    }
    trimmed.parse().unwrap_or(f64::NAN)
}

/// A number as a string: never an exponent, no point in whole numbers, no sign on zero.
pub(crate) fn format(number: f64) -> String {
    if number.is_nan() {
        "NaN".to_owned()
    } else if number.is_infinite() {
        if number > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else if let Some(whole) = whole(number) {
        whole.to_string()
    } else {
        number.to_string()
    }
}

/// The number as an integer, if it is one of at most 15 digits.
#[inline]
pub(crate) fn whole(number: f64) -> Option<i64> {
    // Conversion saturates, and what is no number becomes 0.
    let whole = number as i64;
    (whole.unsigned_abs() < 1_000_000_000_000_000 && whole as f64 == number).then_some(whole)
}

/// Rounds half up, as `round()` does.
pub(crate) fn round(number: f64) -> f64 {
    if whole(number).is_some() || !number.is_finite() || number.fract() == 0.0 {
        return number;
    }
    if (-0.5..0.0).contains(&number) {
        return -0.0;
    }
    let floor = number.floor();
    if number - floor >= 0.5 { floor + 1.0 } else { floor }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_without_exponent() {
        for (number, text) in [
            (1e21, "1000000000000000000000"),
            (1e-7, "0.0000001"),
            (-0.0, "0"),
            (0.1 + 0.2, "0.30000000000000004"),
            (-1.5, "-1.5"),
            (f64::NAN, "NaN"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(format(number), text);
        }
    }

    #[test]
    fn only_plain_decimals_are_numbers() {
        for (text, number) in [
            (" 12 ", 12.0),
            ("-3.5", -3.5),
            (".5", 0.5),
            ("5.", 5.0),
            ("-.5", -0.5),
            ("00012345678901234567890", 12345678901234567890.0),
        ] {
            assert_eq!(parse(text), number, "{text}");
        }
        for text in ["", "+1", "1e3", "1,000", "- 1", ".", "-", "0x10", "1 2", "Infinity", "nan"] {
            assert!(parse(text).is_nan(), "{text}");
        }
    }
}
