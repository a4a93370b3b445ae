//! `format-number()`, with the pictures of Java's `DecimalFormat`.

use std::sync::Arc;

use super::Machine;
use crate::error::{Res, run_error};
use crate::xpath::ast::{Expr, StaticScope};
use crate::xpath::eval::Context;
use crate::xpath::value::Object;

/// `xsl:decimal-format`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DecimalFormat {
    pub(crate) decimal_separator: char,
    pub(crate) grouping_separator: char,
    pub(crate) infinity: String,
    pub(crate) minus_sign: char,
    pub(crate) not_a_number: String,
    pub(crate) percent: char,
    pub(crate) per_mille: char,
    pub(crate) zero_digit: char,
    pub(crate) digit: char,
    pub(crate) pattern_separator: char,
}

impl Default for DecimalFormat {
    fn default() -> Self {
        Self {
            decimal_separator: '.',
            grouping_separator: ',',
            infinity: "Infinity".to_owned(),
            minus_sign: '-',
            not_a_number: "NaN".to_owned(),
            percent: '%',
            per_mille: '\u{2030}',
            zero_digit: '0',
            digit: '#',
            pattern_separator: ';',
        }
    }
}

/// Longest picture that is read, in characters.
const PICTURE_MAX: usize = 1000;
/// Pictures that are kept.
const PICTURES_MAX: usize = 16;

impl<'t> Machine<'t> {
    pub(crate) fn format_number(
        &mut self,
        arguments: &[Expr],
        scope: Option<&StaticScope>,
        context: &Context,
    ) -> Res<Object<'t>> {
        let number = self.number(&arguments[0], context)?;
        let picture = self.string_near(&arguments[1], context)?;
        let program = self.world.program;
        let (Some(name), Some(scope)) = (arguments.get(2), scope) else {
            let pictures = self.pictures(&picture)?;
            return Ok(Object::text(program.default_format.format(number, &pictures)));
        };
        let name = self.string(name, context)?;
        let Some((namespace, local)) = scope.expand(&name, "") else {
            let name = &*name;
            return Err(run_error(format!("the prefix of the decimal format `{name}` is not declared")));
        };
        let format = match program.decimal_formats.get(&(namespace, Arc::from(local))) {
            Some(format) => format,
            None if local.is_empty() => &program.default_format,
            None => return Err(run_error(format!("there is no decimal format `{local}`"))),
        };
        let pictures = format.pictures(&picture).map_err(run_error)?;
        Ok(Object::text(format.format(number, &pictures)))
    }

    /// A picture for the format without a name; a stylesheet mostly has few of them.
    fn pictures(&mut self, picture: &str) -> Res<Arc<Pictures>> {
        if let Some((_, known)) = self.pictures.iter().find(|(written, _)| **written == *picture) {
            return Ok(Arc::clone(known));
        }
        let pictures = Arc::new(self.world.program.default_format.pictures(picture).map_err(run_error)?);
        if self.pictures.len() < PICTURES_MAX {
            self.pictures.push((Box::from(picture), Arc::clone(&pictures)));
        }
        Ok(pictures)
    }
}

/// One half of a picture.
#[derive(Debug, Default, Clone)]
struct Picture {
    prefix: String,
    suffix: String,
    integer_min: usize,
    fraction_min: usize,
    fraction_max: usize,
    grouping: usize,
    scale: i32,
}

/// Both halves of a picture: for numbers that are not negative, and for those that are.
#[derive(Debug)]
pub(crate) struct Pictures {
    positive: Picture,
    negative: Option<Picture>,
}

impl DecimalFormat {
    fn pictures(&self, picture: &str) -> Result<Pictures, String> {
        if picture.chars().count() > PICTURE_MAX {
            return Err(format!("the picture of format-number() is longer than {PICTURE_MAX} characters"));
        }
        let (positive, negative) = self.halves(picture);
        let positive = self.picture(&positive, picture)?;
        let negative = match negative {
            Some(negative) => Some(self.picture(&negative, picture)?),
            None => None,
        };
        Ok(Pictures { positive, negative })
    }

    fn format(&self, number: f64, pictures: &Pictures) -> String {
        let Pictures { positive, negative } = pictures;
        if number.is_nan() {
            return self.not_a_number.clone();
        }
        let scaled = number.abs() * 10_f64.powi(positive.scale);
        let body = if scaled.is_infinite() { self.infinity.clone() } else { self.digits(scaled, positive) };
        // What rounds to nothing has no sign, unless it was negative: Java keeps it, and so do others.
        let is_negative =
            number < 0.0 && body.chars().any(|digit| self.is_significant(digit) || number.is_infinite());
        match (is_negative, negative) {
            (false, _) => format!("{}{body}{}", positive.prefix, positive.suffix),
            (true, Some(negative))
                if negative.prefix != positive.prefix || negative.suffix != positive.suffix =>
            {
                format!("{}{body}{}", negative.prefix, negative.suffix)
            }
            (true, _) => format!("{}{}{body}{}", self.minus_sign, positive.prefix, positive.suffix),
        }
    }

    fn is_significant(&self, digit: char) -> bool {
        let offset = (digit as u32).wrapping_sub(self.zero_digit as u32);
        (1..10).contains(&offset)
    }

    /// Splits at the pattern separator that is not quoted.
    fn halves(&self, picture: &str) -> (String, Option<String>) {
        let mut quoted = false;
        for (at, character) in picture.char_indices() {
            if character == '\'' {
                quoted = !quoted;
            } else if character == self.pattern_separator && !quoted {
                let rest = &picture[at + character.len_utf8()..];
                return (picture[..at].to_owned(), (!rest.is_empty()).then(|| rest.to_owned()));
            }
        }
        (picture.to_owned(), None)
    }

    fn picture(&self, source: &str, whole: &str) -> Result<Picture, String> {
        let mut picture = Picture::default();
        // 0 before the digits, 1 in the whole part, 2 in the fraction, 3 after.
        let mut phase = 0;
        let mut quoted = false;
        let mut since_grouping: Option<usize> = None;
        let mut optional_fraction = false;
        let mut seen_digit = false;
        let mut characters = source.chars().peekable();
        while let Some(character) = characters.next() {
            if character == '\'' {
                if characters.peek() == Some(&'\'') {
                    characters.next();
                    (if phase == 0 { &mut picture.prefix } else { &mut picture.suffix }).push('\'');
                    continue;
                }
                quoted = !quoted;
                continue;
            }
            let is_zero = character == self.zero_digit;
            let in_digits = !quoted
                && (is_zero
                    || character == self.digit
                    || character == self.grouping_separator
                    || character == self.decimal_separator);
            if in_digits {
                if phase == 3 {
                    return Err(format!("the picture `{whole}` of format-number() is wrong"));
                }
                if phase == 0 {
                    phase = 1;
                }
                if character == self.decimal_separator {
                    if phase == 2 {
                        return Err(format!(
                            "the picture `{whole}` of format-number() has two decimal separators"
                        ));
                    }
                    phase = 2;
                } else if character == self.grouping_separator {
                    if phase == 1 {
                        since_grouping = Some(0);
                    }
                } else if phase == 1 {
                    seen_digit = true;
                    if is_zero {
                        picture.integer_min += 1;
                    } else if picture.integer_min > 0 {
                        return Err(format!(
                            "the picture `{whole}` of format-number() has `{}` after `{}`",
                            self.digit, self.zero_digit
                        ));
                    }
                    since_grouping = since_grouping.map(|count| count + 1);
                } else {
                    seen_digit = true;
                    picture.fraction_max += 1;
                    if is_zero {
                        if optional_fraction {
                            return Err(format!(
                                "the picture `{whole}` of format-number() has `{}` after `{}`",
                                self.zero_digit, self.digit
                            ));
                        }
                        picture.fraction_min += 1;
                    } else {
                        optional_fraction = true;
                    }
                }
                continue;
            }
            if phase == 1 || phase == 2 {
                phase = 3;
            }
            if !quoted && character == self.percent {
                picture.scale = 2;
            } else if !quoted && character == self.per_mille {
                picture.scale = 3;
            }
            let affix = if phase == 0 { &mut picture.prefix } else { &mut picture.suffix };
            if !quoted && character == '\u{a4}' {
                continue;
            }
            affix.push(character);
        }
        if !seen_digit {
            return Err(format!("the picture `{whole}` of format-number() has no digits"));
        }
        picture.grouping = since_grouping.unwrap_or(0);
        Ok(picture)
    }

    /// The digits of a number that is not negative.
    fn digits(&self, number: f64, picture: &Picture) -> String {
        if self.zero_digit == '0'
            && picture.grouping == 0
            && picture.fraction_min == 0
            && let Some(whole) = crate::xpath::numbers::whole(number)
            && whole != 0
        {
            return format!("{whole:0>width$}", width = picture.integer_min);
        }
        let exact = round_half_even(number, picture.fraction_max);
        let (integer, fraction) = exact.split_once('.').unwrap_or((&exact, ""));
        let integer = integer.trim_start_matches('0');
        let mut fraction = fraction.to_owned();
        while fraction.len() > picture.fraction_min && fraction.ends_with('0') {
            fraction.pop();
        }
        let mut padded = format!("{integer:0>width$}", width = picture.integer_min);
        if padded.is_empty() && fraction.is_empty() {
            padded.push('0');
        }
        let mut text = String::new();
        let count = padded.len();
        let localized = |digit: char| {
            digit
                .to_digit(10)
                .and_then(|digit| char::from_u32(self.zero_digit as u32 + digit))
                .unwrap_or(digit)
        };
        for (at, digit) in padded.chars().enumerate() {
            if picture.grouping > 0 && at > 0 && (count - at).is_multiple_of(picture.grouping) {
                text.push(self.grouping_separator);
            }
            text.push(localized(digit));
        }
        if !fraction.is_empty() {
            text.push(self.decimal_separator);
            text.extend(fraction.chars().map(localized));
        }
        text
    }
}

/// The number with so many digits after the point; what lies in the middle goes to the even neighbour.
///
/// The digits that are rounded are those people see, not those of the binary number behind: 0.125 and 1.005 are both
/// in the middle.
fn round_half_even(number: f64, fraction: usize) -> String {
    let plain = crate::xpath::numbers::format(number);
    let (integer, digits) = plain.split_once('.').unwrap_or((&plain, ""));
    if digits.len() <= fraction {
        return format!("{integer}.{digits:0<fraction$}");
    }
    let (kept, cut) = digits.split_at(fraction);
    let mut all: Vec<u8> = integer.bytes().chain(kept.bytes()).collect();
    let rest = &cut[1..];
    let up = match cut.as_bytes()[0] {
        b'0'..=b'4' => false,
        b'5' if rest.bytes().all(|digit| digit == b'0') => all.last().is_some_and(|digit| digit % 2 == 1),
        _ => true,
    };
    if up {
        let mut at = all.len();
        loop {
            if at == 0 {
                all.insert(0, b'1');
                break;
            }
            at -= 1;
            if all[at] == b'9' {
                all[at] = b'0';
            } else {
                all[at] += 1;
                break;
            }
        }
    }
    let text: String = all.into_iter().map(char::from).collect();
    let point = text.len() - fraction;
    format!("{}.{}", &text[..point], &text[point..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_shape_numbers() {
        let format = DecimalFormat::default();
        for (number, picture, expected) in [
            (5351.0, "#,###", "5,351"),
            (1234567.0, "#,##0.00", "1,234,567.00"),
            (0.5, "#.##", ".5"),
            (0.5, "0%", "50%"),
            (-3.25, "0.0", "-3.2"),
            (-5.0, "0;(0)", "(5)"),
            (0.0, "#", "0"),
            (12.0, "000", "012"),
            (1.005, "0.00", "1"),
            (f64::NAN, "0", "NaN"),
            (f64::INFINITY, "0", "Infinity"),
            (f64::NEG_INFINITY, "0", "-Infinity"),
            (9.995, "0.00", "10.00"),
            (1e21, "#,##0", "1,000,000,000,000,000,000,000"),
            (5.0, "'#'0", "#5"),
        ] {
            let expected = if expected == "1" { "1.00" } else { expected };
            let pictures = format.pictures(picture).unwrap();
            assert_eq!(format.format(number, &pictures), expected, "{picture}");
        }
        assert!(format.pictures("0.0.0").is_err());
        assert!(format.pictures(&"0".repeat(5000)).is_err());
    }
}
