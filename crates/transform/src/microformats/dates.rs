//! Dates and times as microformats write them: in parts, with `am` and `pm`, with or without a zone.
//!
//! The value class pattern lets an author write a date, a time and a zone in places of their own; they are put together
//! here. Whatever follows no pattern stays as it was written.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;

use crate::microdata::lexical;

/// Puts the parts of a date together; a time without a date takes the one given. Answers also the date, if any is known.
pub(super) fn combine(parts: &[String], known_date: Option<&str>) -> Option<(String, Option<String>)> {
    let (mut date, mut time, mut zone) = (None, None, None);
    for part in parts {
        let part = part.trim();
        if let Some((found_date, separator, found_time)) = date_and_time(part) {
            // A part that is complete needs no other.
            let found_date = plain_date(found_date);
            return Some((format!("{found_date}{separator}{found_time}"), Some(found_date)));
        }
        if let Some(found) = Time::parse(part) {
            time.get_or_insert(found);
        } else if is_date(part) {
            date.get_or_insert(part);
        } else if let Some(found) = parse_zone(part) {
            zone.get_or_insert(found);
        }
    }
    let date = date.or(known_date.filter(|_| time.is_some()));
    let time = time.map(|mut time| {
        if time.zone.is_none() {
            time.zone = zone.clone();
        }
        time.to_string()
    });
    match (date, time) {
        (Some(date), Some(time)) => {
            let date = plain_date(date);
            Some((format!("{date} {time}"), Some(date)))
        }
        (Some(date), None) => Some((date.to_owned(), Some(date.to_owned()))),
        (None, Some(time)) => Some((time, None)),
        (None, None) => None,
    }
}

/// The date of a value that was not written in parts, which later times may need.
pub(super) fn date_of(value: &str) -> Option<&str> {
    let date = value.split(['T', 't', ' ']).next().unwrap_or_default();
    is_date(date).then_some(date)
}

/// A lone time completed by a date known from before.
pub(super) fn complete(value: &str, known_date: Option<&str>) -> Option<String> {
    let time = Time::parse(value)?;
    Some(format!("{} {time}", plain_date(known_date?)))
}

/// The value as XML Schema writes it, with its datatype.
pub(super) fn typed(value: &str) -> Option<(String, NamedNodeRef<'static>)> {
    let value = value.trim();
    if let Some(datatype) = lexical::temporal(value) {
        return Some((value.to_owned(), datatype));
    }
    if is_date(value) {
        let date = plain_date(value);
        return lexical::temporal(&date).map(|datatype| (date, datatype));
    }
    let separator = value.find(['T', 't', ' '])?;
    let (date, time) = (&value[..separator], Time::parse(&value[separator + 1..])?);
    if !is_date(date) {
        return None;
    }
    let zone = match time.zone.as_deref() {
        Some(zone) if zone.len() == 5 => format!("{}:{}", &zone[..3], &zone[3..]),
        Some(zone) if zone.len() == 3 => format!("{zone}:00"),
        Some(zone) => zone.to_owned(),
        None => String::new(),
    };
    let seconds = time.seconds.as_deref().unwrap_or("00");
    let text = format!("{}T{:02}:{}:{seconds}{zone}", plain_date(date), time.hour, time.minutes);
    (lexical::temporal(&text) == Some(xsd::DATE_TIME)).then_some((text, xsd::DATE_TIME))
}

/// `2013-02-03` or, by the day of the year, `2013-034`.
fn is_date(text: &str) -> bool {
    let bytes = text.as_bytes();
    let digits = |range: std::ops::Range<usize>| bytes[range].iter().all(u8::is_ascii_digit);
    match bytes.len() {
        10 => digits(0..4) && bytes[4] == b'-' && digits(5..7) && bytes[7] == b'-' && digits(8..10),
        8 => digits(0..4) && bytes[4] == b'-' && digits(5..8),
        _ => false,
    }
}

/// A date with month and day, where it is one.
fn plain_date(date: &str) -> String {
    let by_day = || -> Option<String> {
        let (year, day) = date.split_once('-').filter(|(_, day)| day.len() == 3)?;
        let (year_number, mut day): (u32, u32) = (year.parse().ok()?, day.parse().ok()?);
        let leap = year_number % 4 == 0 && (year_number % 100 != 0 || year_number % 400 == 0);
        let months = [31, if leap { 29 } else { 28 }, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];
        for (index, days) in months.into_iter().enumerate() {
            if (1..=days).contains(&day) {
                return Some(format!("{year}-{:02}-{day:02}", index + 1));
            }
            day = day.checked_sub(days)?;
        }
        None
    };
    by_day().unwrap_or_else(|| date.to_owned())
}

fn date_and_time(text: &str) -> Option<(&str, char, Time)> {
    let index = text.find(['T', 't', ' '])?;
    let (date, rest) = text.split_at(index);
    let separator = rest.chars().next()?;
    is_date(date).then_some(())?;
    Some((date, separator, Time::parse(&rest[1..])?))
}

/// A time of day in 24 hours.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Time {
    hour: u32,
    minutes: String,
    seconds: Option<String>,
    zone: Option<String>,
}

impl Time {
    fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
        let hour_digits = digits(text);
        if !(1..=2).contains(&hour_digits) {
            return None;
        }
        let mut hour: u32 = text[..hour_digits].parse().ok()?;
        let mut rest = &text[hour_digits..];
        let two = |rest: &mut &str| -> Option<String> {
            let after = rest.strip_prefix(':').filter(|after| digits(after) == 2)?;
            *rest = &after[2..];
            Some(after[..2].to_owned())
        };
        let minutes = two(&mut rest);
        let mut seconds = minutes.as_ref().and_then(|_| two(&mut rest));
        if let Some(seconds) = &mut seconds
            && let Some(fraction) = rest.strip_prefix('.')
            && digits(fraction) > 0
        {
            let length = digits(fraction);
            seconds.push('.');
            seconds.push_str(&fraction[..length]);
            rest = &fraction[length..];
        }
        rest = rest.trim_start();
        let half = half_of_day(&mut rest);
        let rest = rest.trim_start();
        let zone = if rest.is_empty() { None } else { Some(parse_zone(rest)?) };
        // A number alone is no time.
        if minutes.is_none() && half.is_none() {
            return None;
        }
        match half {
            Some(Half::Morning) if hour == 12 => hour = 0,
            Some(Half::Afternoon) if hour < 12 => hour += 12,
            _ => {}
        }
        Some(Self { hour, minutes: minutes.unwrap_or_else(|| "00".to_owned()), seconds, zone })
    }
}

impl std::fmt::Display for Time {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:02}:{}", self.hour, self.minutes)?;
        if let Some(seconds) = &self.seconds {
            write!(f, ":{seconds}")?;
        }
        f.write_str(self.zone.as_deref().unwrap_or_default())
    }
}

enum Half {
    Morning,
    Afternoon,
}

fn half_of_day(rest: &mut &str) -> Option<Half> {
    for (word, is_morning) in [("a.m.", true), ("p.m.", false), ("am", true), ("pm", false)] {
        if rest.get(..word.len()).is_some_and(|start| start.eq_ignore_ascii_case(word)) {
            *rest = &rest[word.len()..];
            return Some(if is_morning { Half::Morning } else { Half::Afternoon });
        }
    }
    None
}

/// A zone without its colon: `Z`, `-08`, `+0530`.
fn parse_zone(text: &str) -> Option<String> {
    if text.eq_ignore_ascii_case("z") {
        return Some("Z".to_owned());
    }
    let sign = text.chars().next().filter(|sign| matches!(sign, '+' | '-'))?;
    let digits: String = text[1..].chars().filter(|&digit| digit != ':').collect();
    let colons = text.len() - 1 - digits.len();
    if colons > 1 || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    // Hours may lack their zero.
    match digits.len() {
        1 | 3 => Some(format!("{sign}0{digits}")),
        2 | 4 => Some(format!("{sign}{digits}")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_put_together() {
        let check = |parts: &[&str], known: Option<&str>, expected: Option<&str>| {
            let parts: Vec<String> = parts.iter().map(|&part| part.to_owned()).collect();
            assert_eq!(combine(&parts, known).map(|(value, _)| value).as_deref(), expected, "{parts:?}");
        };
        check(&["2009-06-26", "19:00-08:00"], None, Some("2009-06-26 19:00-0800"));
        check(&["19:00", "2009-06-26"], None, Some("2009-06-26 19:00"));
        check(&["2009-06-26", "7pm"], None, Some("2009-06-26 19:00"));
        check(&["2009-06-26", "7:30 P.M."], None, Some("2009-06-26 19:30"));
        check(&["2009-06-26", "12am"], None, Some("2009-06-26 00:00"));
        check(&["2009-06-26", "12:15pm"], None, Some("2009-06-26 12:15"));
        check(&["2009-06-26", "19:00:30.5", "Z"], None, Some("2009-06-26 19:00:30.5Z"));
        check(&["2009-06-26", "19:00", "-8"], None, Some("2009-06-26 19:00-08"));
        check(&["2009-06-26", "19:00", "+5:30"], None, Some("2009-06-26 19:00+0530"));
        check(&["2009-177", "19:00"], None, Some("2009-06-26 19:00"));
        check(&["2009-177"], None, Some("2009-177"));
        check(&["2009-06-26T19:00-08:00"], None, Some("2009-06-26T19:00-0800"));
        check(&["2009-06-26", "2010-01-01", "19:00", "20:00"], None, Some("2009-06-26 19:00"));
        check(&["22:00"], Some("2009-06-26"), Some("2009-06-26 22:00"));
        check(&["22:00"], None, Some("22:00"));
        check(&["7"], Some("2009-06-26"), None);
        check(&["soon"], None, None);
        check(&[], None, None);
    }

    #[test]
    fn values_get_datatypes() {
        for (value, expected) in [
            ("2009-06-26", Some(("2009-06-26", xsd::DATE))),
            ("2009-06-26T19:00:00Z", Some(("2009-06-26T19:00:00Z", xsd::DATE_TIME))),
            ("2009-06-26 19:00-0800", Some(("2009-06-26T19:00:00-08:00", xsd::DATE_TIME))),
            ("2009-06-26t19:00-08", Some(("2009-06-26T19:00:00-08:00", xsd::DATE_TIME))),
            ("2013-034", Some(("2013-02-03", xsd::DATE))),
            ("2013-034 7:05", Some(("2013-02-03T07:05:00", xsd::DATE_TIME))),
            ("P2Y11M", Some(("P2Y11M", xsd::DURATION))),
            ("2009-06", Some(("2009-06", xsd::G_YEAR_MONTH))),
            ("2009-06-26 25:00", None),
            ("tomorrow", None),
            ("é 7:00", None),
        ] {
            assert_eq!(typed(value), expected.map(|(text, datatype)| (text.to_owned(), datatype)), "{value}");
        }
    }
}
