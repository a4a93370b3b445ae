//! Dates as feeds write them, in whatever form, made into XML Schema's.
//!
//! In: a text such as `Thu, 01 Jan 04 19:48 EST`, `2004-01`, `Thu Jan  1 19:48:21 2004`, `2004년 05월 28일 01:31:15`.
//! Out: a [`Moment`], which is only as precise as the text is; or nothing, and then the caller keeps the text. Dates that
//! can be read in two ways (`01/05/2004`) are not guessed. Start at [`Moment::parse`].

use oxrdf::Literal;

use super::terms::{XSD_DATE, XSD_DATE_TIME, XSD_G_YEAR, XSD_G_YEAR_MONTH};

/// No date is written with more bytes than this.
const DATE_BYTES_MAX: usize = 100;

/// A point in time, as precise as it was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    year: i64,
    month: Option<u32>,
    day: Option<u32>,
    time: Option<Time>,
}

/// A time of day, in UTC where an offset was given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Time {
    hour: u32,
    minute: u32,
    second: u32,
    nanosecond: u32,
    utc: bool,
}

impl Moment {
    /// Reads a date of any form.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > DATE_BYTES_MAX {
            return None;
        }
        let (head, clock) = split_at_time(text);
        let mut words = Words::of(head);
        let Some((mut time, tail)) = clock else {
            return words.date(None).and_then(|(year, month, day)| Self::checked(year, month, day, None));
        };
        let mut zone = None;
        let mut year = None;
        read_tail(tail, &mut words.afternoon, &mut zone, &mut year);
        let (year, month, day) = words.date(year)?;
        if let Some(afternoon) = words.afternoon {
            match (afternoon, time.hour) {
                (true, 1..=11) => time.hour += 12,
                (false, 12) => time.hour = 0,
                _ => {}
            }
        }
        // A time belongs to a day.
        day?;
        Self::checked(year, month, day, Some((time, zone)))
    }

    fn checked(
        year: i64,
        month: Option<u32>,
        day: Option<u32>,
        time: Option<(Time, Option<i64>)>,
    ) -> Option<Self> {
        if !(1..=9999).contains(&year)
            || month.is_some_and(|month| !(1..=12).contains(&month))
            || day.is_some_and(|day| day == 0 || day > days_of_month(year, month.unwrap_or(1)))
        {
            return None;
        }
        let Some((mut time, zone)) = time else { return Some(Self { year, month, day, time: None }) };
        // Leap seconds exist, but not in XML Schema.
        if time.second == 60 {
            time.second = 59;
        }
        let midnight = time.hour == 24 && time.minute == 0 && time.second == 0;
        if time.minute > 59 || time.second > 59 || (time.hour > 23 && !midnight) {
            return None;
        }
        let minutes =
            days_from_civil(year, month?, day?) * 1440 + i64::from(time.hour) * 60 + i64::from(time.minute)
                - zone.unwrap_or(0);
        let (year, month, day) = civil_from_days(minutes.div_euclid(1440));
        if !(1..=9999).contains(&year) {
            return None;
        }
        let of_day = u32::try_from(minutes.rem_euclid(1440)).ok()?;
        let time = Time { hour: of_day / 60, minute: of_day % 60, utc: zone.is_some(), ..time };
        Some(Self { year, month: Some(month), day: Some(day), time: Some(time) })
    }

    /// The literal: `xsd:dateTime`, `xsd:date`, `xsd:gYearMonth` or `xsd:gYear`.
    pub(super) fn literal(&self) -> Literal {
        let year = self.year;
        let Some(month) = self.month else {
            return Literal::new_typed_literal(format!("{year:04}"), XSD_G_YEAR);
        };
        let Some(day) = self.day else {
            return Literal::new_typed_literal(format!("{year:04}-{month:02}"), XSD_G_YEAR_MONTH);
        };
        let Some(time) = self.time else {
            return Literal::new_typed_literal(format!("{year:04}-{month:02}-{day:02}"), XSD_DATE);
        };
        let Time { hour, minute, second, nanosecond, utc } = time;
        let mut text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}");
        if nanosecond > 0 {
            text.push_str(format!(".{nanosecond:09}").trim_end_matches('0'));
        }
        if utc {
            text.push('Z');
        }
        Literal::new_typed_literal(text, XSD_DATE_TIME)
    }
}

/// The text before the time of day, the time, and the text after it.
fn split_at_time(text: &str) -> (&str, Option<(Time, &str)>) {
    let bytes = text.as_bytes();
    for (at, _) in text.match_indices(':') {
        let start = at - bytes[..at].iter().rev().take(2).take_while(|byte| byte.is_ascii_digit()).count();
        if start == at {
            continue;
        }
        let Some((time, end)) = read_clock(text, start, at) else { continue };
        return (&text[..start], Some((time, &text[end..])));
    }
    // ISO's basic form: 20040101T194821Z.
    if let Some(at) = text.find(['T', 't'])
        && at >= 4
        && bytes[at - 1].is_ascii_digit()
    {
        let digits = text[at + 1..].bytes().take_while(u8::is_ascii_digit).count();
        if matches!(digits, 2 | 4 | 6) {
            let pair = |from: usize| text.get(at + from..at + from + 2).and_then(|pair| pair.parse().ok());
            let time = Time {
                hour: pair(1).unwrap_or(0),
                minute: if digits >= 4 { pair(3).unwrap_or(0) } else { 0 },
                second: if digits == 6 { pair(5).unwrap_or(0) } else { 0 },
                nanosecond: 0,
                utc: false,
            };
            return (&text[..at], Some((time, &text[at + 1 + digits..])));
        }
    }
    (text, None)
}

/// Reads `hh:mm`, `hh:mm:ss`, `hh:mm:ss.fff`, its first colon at `colon`; answers where it ends.
fn read_clock(text: &str, start: usize, colon: usize) -> Option<(Time, usize)> {
    let bytes = text.as_bytes();
    let digits = |from: usize, most: usize| {
        bytes[from.min(bytes.len())..].iter().take(most).take_while(|byte| byte.is_ascii_digit()).count()
    };
    let hour = text[start..colon].parse().ok()?;
    let mut end = colon + 1;
    let length = digits(end, 2);
    let minute = text[end..end + length].parse().ok()?;
    end += length;
    let (mut second, mut nanosecond) = (0, 0);
    if bytes.get(end) == Some(&b':') && digits(end + 1, 2) > 0 {
        let length = digits(end + 1, 2);
        second = text[end + 1..end + 1 + length].parse().ok()?;
        end += 1 + length;
        if matches!(bytes.get(end), Some(b'.' | b',')) && digits(end + 1, 40) > 0 {
            let length = digits(end + 1, 40);
            let fraction = &text[end + 1..end + 1 + length.min(9)];
            nanosecond = format!("{fraction:0<9}").parse().ok()?;
            end += 1 + length;
        }
    }
    Some((Time { hour, minute, second, nanosecond, utc: false }, end))
}

/// Reads what follows a time: am or pm, the zone, and in some forms the year.
fn read_tail(tail: &str, afternoon: &mut Option<bool>, zone: &mut Option<i64>, year: &mut Option<i64>) {
    let mut rest = tail;
    while let Some(first) = rest.chars().next() {
        if first.is_alphabetic() {
            let end = rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len());
            let word = rest[..end].to_lowercase();
            rest = &rest[end..];
            match word.as_str() {
                "am" | "오전" | "πμ" => *afternoon = Some(false),
                "pm" | "오후" | "μμ" => *afternoon = Some(true),
                "a" | "p" if rest.starts_with(".m") => {
                    *afternoon = Some(word == "p");
                    rest = &rest[2..];
                }
                _ if zone.is_none() => *zone = named_zone(&word),
                _ => {}
            }
        } else if matches!(first, '+' | '-' | '\u{2212}') {
            rest = &rest[first.len_utf8()..];
            let length = rest.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b':').count();
            if let Some(minutes) = offset(&rest[..length]) {
                // `GMT+0100` means the offset.
                *zone = Some(if first == '+' { minutes } else { -minutes });
            }
            rest = &rest[length..];
        } else if first.is_ascii_digit() {
            let length = rest.bytes().take_while(u8::is_ascii_digit).count();
            if length == 4 {
                *year = rest[..length].parse().ok();
            }
            rest = &rest[length..];
        } else {
            rest = &rest[first.len_utf8()..];
        }
    }
}

/// Minutes of `01:00`, `0100`, `1:00`, `01`.
fn offset(text: &str) -> Option<i64> {
    let (hours, minutes) = match text.split_once(':') {
        Some((hours, minutes)) => (hours, minutes.get(..2)?),
        None if text.len() > 2 && text.len() <= 4 => text.split_at(text.len() - 2),
        None => (text, "0"),
    };
    let (hours, minutes): (i64, i64) = (hours.parse().ok()?, minutes.parse().ok()?);
    (hours <= 24 && minutes < 60).then_some(hours * 60 + minutes)
}

/// Minutes east of Greenwich. Names that mean two zones (`IST`) mean none.
fn named_zone(word: &str) -> Option<i64> {
    let (hours, minutes) = match word {
        "z" | "ut" | "utc" | "gmt" | "wet" => (0, 0),
        "ast" | "edt" | "at" => (-4, 0),
        "adt" | "brt" => (-3, 0),
        "nst" => (-3, -30),
        "ndt" => (-2, -30),
        "est" | "cdt" | "et" => (-5, 0),
        "cst" | "mdt" | "ct" => (-6, 0),
        "mst" | "pdt" | "mt" => (-7, 0),
        "pst" | "akdt" | "pt" => (-8, 0),
        "akst" => (-9, 0),
        "hst" => (-10, 0),
        "bst" | "west" | "cet" | "met" | "mez" => (1, 0),
        "cest" | "mest" | "mesz" | "eet" | "sast" => (2, 0),
        "eest" | "msk" => (3, 0),
        "msd" => (4, 0),
        "sgt" | "hkt" | "awst" => (8, 0),
        "jst" | "kst" => (9, 0),
        "acst" => (9, 30),
        "acdt" => (10, 30),
        "aest" => (10, 0),
        "aedt" => (11, 0),
        "nzst" => (12, 0),
        "nzdt" => (13, 0),
        _ => return None,
    };
    Some(hours * 60 + minutes)
}

/// What stands before a time: numbers, a month's name, what parts them.
struct Words<'a> {
    /// At most four; no date has more.
    numbers: Vec<&'a str>,
    /// The month's name and how many numbers stand before it.
    month: Option<(u32, usize)>,
    /// The character behind the first number.
    separator: Option<char>,
    afternoon: Option<bool>,
    /// There are words that mean nothing to us.
    noise: bool,
}

impl<'a> Words<'a> {
    fn of(head: &'a str) -> Self {
        let mut words =
            Self { numbers: Vec::new(), month: None, separator: None, afternoon: None, noise: false };
        let mut rest = head;
        while let Some(first) = rest.chars().next() {
            let length = if first.is_ascii_digit() {
                rest.bytes().take_while(u8::is_ascii_digit).count()
            } else if first.is_alphabetic() {
                rest.find(|c: char| !c.is_alphabetic()).unwrap_or(rest.len())
            } else {
                first.len_utf8()
            };
            let (word, behind) = rest.split_at(length);
            rest = behind;
            if first.is_ascii_digit() {
                if words.numbers.len() < 4 {
                    words.numbers.push(word);
                }
                if words.numbers.len() == 1 {
                    words.separator = behind.chars().next();
                }
            } else if first.is_alphabetic() {
                let word = word.to_lowercase();
                match word.as_str() {
                    "오전" => words.afternoon = Some(false),
                    "오후" => words.afternoon = Some(true),
                    // The last name counts: `mar` before a number may be mardi or martes.
                    _ => match month_named(&word) {
                        Some(month) => words.month = Some((month, words.numbers.len())),
                        None => words.noise = true,
                    },
                }
            }
        }
        words
    }

    /// Year, month and day; `later_year` is one that stood behind the time.
    fn date(&self, later_year: Option<i64>) -> Option<(i64, Option<u32>, Option<u32>)> {
        let number = |index: usize| self.numbers.get(index).and_then(|digits| digits.parse::<u32>().ok());
        let is_year = |index: usize| self.numbers.get(index).is_some_and(|digits| digits.len() == 4);
        if let Some((month, before)) = self.month {
            let month = Some(month);
            return match (self.numbers.len(), later_year) {
                (1, Some(year)) => Some((year, month, number(0))),
                (1, None) if is_year(0) => Some((i64::from(number(0)?), month, None)),
                (2.., _) if is_year(0) => Some((i64::from(number(0)?), month, number(1))),
                // `Jan 04, 2004` and `04 Jan 2004` alike: the day comes first. `04-Jan-04` too.
                (2.., _) if before <= 1 => Some((full_year(self.numbers[1])?, month, number(0))),
                _ => None,
            };
        }
        match self.numbers.len() {
            // A lone number among words is no year.
            1 if self.noise => None,
            1 => {
                let digits = self.numbers[0];
                match digits.len() {
                    4 => Some((digits.parse().ok()?, None, None)),
                    7 => {
                        let (month, day) =
                            from_ordinal(digits[..4].parse().ok()?, digits[4..].parse().ok()?)?;
                        Some((digits[..4].parse().ok()?, Some(month), Some(day)))
                    }
                    8 => Some((
                        digits[..4].parse().ok()?,
                        Some(digits[4..6].parse().ok()?),
                        Some(digits[6..].parse().ok()?),
                    )),
                    _ => None,
                }
            }
            2 if is_year(0) && self.numbers[1].len() == 3 => {
                let year = i64::from(number(0)?);
                let (month, day) = from_ordinal(year, number(1)?)?;
                Some((year, Some(month), Some(day)))
            }
            2 if is_year(0) => Some((i64::from(number(0)?), number(1), None)),
            3 if is_year(0) => Some((i64::from(number(0)?), number(1), number(2))),
            3 if is_year(2) => {
                let (first, second, year) = (number(0)?, number(1)?, i64::from(number(2)?));
                match self.separator {
                    // Where dates are written with dots, the day comes first.
                    Some('.') => Some((year, Some(second), Some(first))),
                    _ if first > 12 => Some((year, Some(second), Some(first))),
                    _ if second > 12 || first == second => Some((year, Some(first), Some(second))),
                    _ => None,
                }
            }
            _ => None,
        }
    }
}

/// A year of two digits in its century, by RFC 2822.
fn full_year(digits: &str) -> Option<i64> {
    let year: i64 = digits.parse().ok()?;
    match digits.len() {
        1 | 2 if year < 50 => Some(year + 2000),
        1..=3 => Some(year + 1900),
        4 => Some(year),
        _ => None,
    }
}

/// The beginnings of month names, in the languages feeds are known to use.
const MONTHS: [&[&str]; 12] = [
    &["jan", "ene", "gen", "ιαν", "янв", "sty", "oca"],
    &["feb", "fév", "fev", "φεβ", "фев", "lut", "şub"],
    &["mar", "mär", "maa", "mrt", "már", "μαρ", "μάρ", "мар"],
    &["apr", "avr", "abr", "ápr", "απρ", "апр", "kwi", "nis"],
    &["may", "mai", "mag", "mei", "maj", "máj", "μαϊ", "μαι", "μάι", "май", "мая"],
    &["jun", "juin", "giu", "jún", "ιουν", "ιούν", "июн", "cze", "haz"],
    &["jul", "juil", "lug", "júl", "ιουλ", "ιούλ", "июл", "lip", "tem"],
    &["aug", "aoû", "aou", "ago", "αυγ", "αύγ", "авг", "sie", "ağu"],
    &["sep", "set", "szep", "σεπ", "сен", "wrz", "eyl"],
    &["oct", "okt", "out", "ott", "οκτ", "окт", "paź", "eki"],
    &["nov", "νοε", "νοέ", "ноя", "lis", "kas"],
    &["dec", "dez", "dic", "déc", "des", "δεκ", "дек", "gru", "ara"],
];

/// The number of a month by its name in lower case.
fn month_named(word: &str) -> Option<u32> {
    let index = MONTHS.iter().position(|names| names.iter().any(|name| word.starts_with(name)))?;
    u32::try_from(index + 1).ok()
}

fn is_leap(year: i64) -> bool {
    (year % 4 == 0 && year % 100 != 0) || year % 400 == 0
}

fn days_of_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Month and day of the day of a year.
fn from_ordinal(year: i64, ordinal: u32) -> Option<(u32, u32)> {
    let mut rest = ordinal;
    for month in 1..=12 {
        let days = days_of_month(year, month);
        if rest <= days {
            return (rest > 0).then_some((month, rest));
        }
        rest -= days;
    }
    None
}

/// Days since 1970-01-01 in the Gregorian calendar; years begin in March here, so that the leap day is the last.
fn days_from_civil(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let of_year = (153 * (i64::from(month) + if month > 2 { -3 } else { 9 }) + 2) / 5 + i64::from(day) - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The reverse.
fn civil_from_days(days: i64) -> (i64, u32, u32) {
    let days = days + 719_468;
    let (era, of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    let year = era * 400 + year + i64::from(month <= 2);
    (year, u32::try_from(month).unwrap_or(1), u32::try_from(day).unwrap_or(1))
}

/// A duration as podcasts write it (`3:00`, `1:02:03`, `180`), in the form of `xsd:duration`.
pub(super) fn duration(text: &str) -> Option<String> {
    let text = text.trim();
    if text.starts_with('P') && text.len() > 1 && text.len() < 40 {
        let valid = text[1..].bytes().all(|byte| byte.is_ascii_digit() || b"YMDTHWS.".contains(&byte))
            && text.ends_with(|c: char| c.is_ascii_uppercase());
        return valid.then(|| text.to_owned());
    }
    let mut seconds: u64 = 0;
    let mut parts = 0;
    for part in text.split(':') {
        let whole = part.trim().split('.').next().unwrap_or_default();
        parts += 1;
        if parts > 3 || whole.len() > 9 {
            return None;
        }
        seconds = seconds * 60 + whole.parse::<u64>().ok()?;
    }
    let (hours, minutes, seconds) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let mut duration = "PT".to_owned();
    for (count, unit) in [(hours, 'H'), (minutes, 'M'), (seconds, 'S')] {
        if count > 0 {
            duration.push_str(&format!("{count}{unit}"));
        }
    }
    if duration.len() == 2 {
        duration.push_str("0S");
    }
    Some(duration)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn dates_of_every_form() {
        for (text, expected) in [
            // RFC 822 and what is made of it.
            ("Thu, 01 Jan 2004 19:48:21 GMT", "2004-01-01T19:48:21Z"),
            ("01 Jan 04 19:48 EST", "2004-01-02T00:48:00Z"),
            ("Thu, 1 January 2004 19:48:21 +0100", "2004-01-01T18:48:21Z"),
            ("Thu, 01 Jan 2004", "2004-01-01"),
            ("Thu, 31 Dec 2003 23:59:60 GMT", "2003-12-31T23:59:59Z"),
            ("Thu, 31 Dec 2003 24:00:00 GMT", "2004-01-01T00:00:00Z"),
            ("Sun Jan 28 12:00:00 2007", "2007-01-28T12:00:00"),
            ("Sun Jan  4 16:29:06 PST 2004", "2004-01-05T00:29:06Z"),
            ("Thursday, 01-Jan-04 19:48:21 GMT", "2004-01-01T19:48:21Z"),
            ("Jan 4, 2004 3:15 PM EST", "2004-01-04T20:15:00Z"),
            ("Thu, 01 Jan 2004 19:48:21 GMT+0200 (CEST)", "2004-01-01T17:48:21Z"),
            ("Fri, 2006/09/15 08:19:53 EDT", "2006-09-15T12:19:53Z"),
            ("Thu, 01 Jan 2004 12:30 a.m.", "2004-01-01T00:30:00"),
            ("Thu, 01 Jan 99 00:00 ZZZ", "1999-01-01T00:00:00"),
            // W3C's profile of ISO 8601, and around it.
            ("2003", "2003"),
            ("2003-12", "2003-12"),
            ("2003-12-31", "2003-12-31"),
            ("20031231", "2003-12-31"),
            ("2003-335", "2003-12-01"),
            ("2003335", "2003-12-01"),
            ("2003-12-31T10:14:55Z", "2003-12-31T10:14:55Z"),
            ("2003-12-31T10:14:55.120+02:00", "2003-12-31T08:14:55.12Z"),
            ("2003-12-31T10:14-08:00", "2003-12-31T18:14:00Z"),
            ("2003-12-31T10:14:55", "2003-12-31T10:14:55"),
            ("20031231T101455Z", "2003-12-31T10:14:55Z"),
            ("2004-07-08 23:56:58.0", "2004-07-08T23:56:58"),
            ("2000-02-29T00:30:00+01:00", "2000-02-28T23:30:00Z"),
            // The rest of the world.
            ("Κυρ, 11 Ιούλ 2004 12:00:00 EST", "2004-07-11T17:00:00Z"),
            ("2004-július-13T9:15-05:00", "2004-07-13T14:15:00Z"),
            ("2004-05-25 오후 11:23:17", "2004-05-25T23:23:17"),
            ("2004년 05월 28일 01:31:15", "2004-05-28T01:31:15"),
            ("mar. 25 févr. 2020 10:00:00 +0100", "2020-02-25T09:00:00Z"),
            ("Di, 3. März 2020", "2020-03-03"),
            ("13.05.2004", "2004-05-13"),
            ("25/12/2004", "2004-12-25"),
            ("12/25/2004 10:00", "2004-12-25T10:00:00"),
        ] {
            let read = Moment::parse(text).map(|moment| moment.literal().value().to_owned());
            assert_eq!(read.as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn what_is_no_date_is_none() {
        for text in [
            "",
            "yesterday",
            "01/05/2004",
            "2003-13-01",
            "2003-02-30",
            "2003-366",
            "Thu, 32 Jan 2004 10:00:00 GMT",
            "2003-12-31T25:14:55Z",
            "2003-12-31T10:61:00Z",
            "10:00:00",
            "0000-01-01",
            "99999",
            ":::::",
            "T1234",
        ] {
            assert_eq!(Moment::parse(text), None, "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, expected) in [
            ("3:00", Some("PT3M")),
            ("1:02:03", Some("PT1H2M3S")),
            ("180", Some("PT3M")),
            ("0", Some("PT0S")),
            ("95.5", Some("PT1M35S")),
            ("PT1H", Some("PT1H")),
            ("1:2:3:4", None),
            ("long", None),
            ("Pé", None),
            ("99999999999", None),
            ("", None),
        ] {
            assert_eq!(duration(text).as_deref(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "\\PC{0,60}") {
            let _ = Moment::parse(&text);
            let _ = duration(&text);
        }

        #[test]
        fn nearly_dates_do_not_panic(text in "[0-9]{0,9}[-/ .:TZ+,a-zé]{0,3}[0-9]{0,9}[-/ .:TZ+]{0,3}[0-9]{0,5}[:+TZ ]{0,2}[0-9:]{0,6}") {
            let _ = Moment::parse(&text);
        }

        #[test]
        fn days_and_back(days in -719_162i64..2_932_896) {
            let (year, month, day) = civil_from_days(days);
            prop_assert_eq!(days_from_civil(year, month, day), days);
        }
    }
}
