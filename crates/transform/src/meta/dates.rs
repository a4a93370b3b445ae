//! Dates as pages write them, as typed literals where they are W3C dates.

use oxrdf::Literal;
use oxrdf::vocab::xsd;

/// The date as `xsd:dateTime`, `xsd:date`, `xsd:gYearMonth` or `xsd:gYear`; a plain literal where it is none of them.
pub(super) fn literal(text: &str) -> Literal {
    let text = text.trim();
    typed(text).unwrap_or_else(|| Literal::new_simple_literal(text))
}

fn typed(text: &str) -> Option<Literal> {
    if text.len() > 40 || !text.is_ascii() {
        return None;
    }
    let (date, time) = match text.find(['T', 't', ' ']) {
        Some(at) => (&text[..at], Some(text[at + 1..].trim())),
        None => (text, None),
    };
    // `2024/05/06` is a date in all but spelling.
    let date = date.replace('/', "-");
    let mut parts = date.split('-');
    let year = digits(parts.next()?, 4)?;
    let month = parts.next().map(|month| digits(month, 2).filter(|month| (1..=12).contains(month)));
    let day = parts.next().map(|day| digits(day, 2));
    if parts.next().is_some() {
        return None;
    }
    Some(match (month, day, time) {
        (None, None, None) => Literal::new_typed_literal(date, xsd::G_YEAR),
        (Some(Some(_)), None, None) => Literal::new_typed_literal(date, xsd::G_YEAR_MONTH),
        (Some(Some(month)), Some(Some(day)), time) if (1..=days(year, month)).contains(&day) => match time {
            None => Literal::new_typed_literal(date, xsd::DATE),
            Some(time) => {
                Literal::new_typed_literal(format!("{date}T{}", normal_time(time)?), xsd::DATE_TIME)
            }
        },
        _ => return None,
    })
}

/// `hh:mm[:ss[.fff]][zone]` with its seconds, and its zone spelled as XML Schema does.
fn normal_time(time: &str) -> Option<String> {
    let zone_at = time.find(['Z', 'z', '+', '-']).unwrap_or(time.len());
    let (clock, zone) = (time[..zone_at].trim(), &time[zone_at..]);
    let mut parts = clock.split(':');
    let hour = digits(parts.next()?, 2).filter(|hour| *hour < 24)?;
    let minute = digits(parts.next()?, 2).filter(|minute| *minute < 60)?;
    let second = parts.next().unwrap_or("00");
    let (whole, fraction) = second.split_once('.').unwrap_or((second, "0"));
    digits(whole, 2).filter(|second| *second < 60)?;
    if parts.next().is_some() || fraction.is_empty() || !fraction.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let zone = match zone {
        "" => String::new(),
        "Z" | "z" => "Z".to_owned(),
        zone => {
            let (sign, offset) = zone.split_at(1);
            let (hours, minutes) = match offset.len() {
                2 => (offset, "00"),
                4 => offset.split_at(2),
                _ => offset.split_once(':')?,
            };
            digits(hours, 2).filter(|hours| *hours < 14)?;
            digits(minutes, 2).filter(|minutes| *minutes < 60)?;
            format!("{sign}{hours}:{minutes}")
        }
    };
    Some(format!("{hour:02}:{minute:02}:{second}{zone}"))
}

/// A number of exactly that many digits.
fn digits(text: &str, count: usize) -> Option<u32> {
    (text.len() == count && text.bytes().all(|byte| byte.is_ascii_digit()))
        .then(|| text.parse().ok())
        .flatten()
}

fn days(year: u32, month: u32) -> u32 {
    match month {
        2 if year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400)) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

#[cfg(test)]
mod tests {
    use super::literal;

    #[test]
    fn dates_are_typed_where_they_are_dates() {
        for (text, expected) in [
            ("2024", "\"2024\"^^gYear"),
            ("2024-05", "\"2024-05\"^^gYearMonth"),
            (" 2024-02-29 ", "\"2024-02-29\"^^date"),
            ("2024/02/29", "\"2024-02-29\"^^date"),
            ("2023-02-29", "\"2023-02-29\""),
            ("2024-05-06T07:08:09Z", "\"2024-05-06T07:08:09Z\"^^dateTime"),
            ("2024-05-06T07:08+0200", "\"2024-05-06T07:08:00+02:00\"^^dateTime"),
            ("2024-05-06 07:08:09.25 -05:00", "\"2024-05-06T07:08:09.25-05:00\"^^dateTime"),
            ("2024-05-06T25:00", "\"2024-05-06T25:00\""),
            ("2024-05-06T07:08:09+99:00", "\"2024-05-06T07:08:09+99:00\""),
            ("Mon, 6 May 2024", "\"Mon, 6 May 2024\""),
            ("2024-é", "\"2024-é\""),
            ("", "\"\""),
        ] {
            let shown =
                literal(text).to_string().replace("<http://www.w3.org/2001/XMLSchema#", "").replace('>', "");
            assert_eq!(shown, expected);
        }
    }
}
