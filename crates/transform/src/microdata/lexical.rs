//! The lexical forms of XML Schema's datatypes that HTML can carry: numbers, dates, times, durations.

use oxrdf::NamedNodeRef;
use oxrdf::vocab::xsd;

/// The datatype of a date, time or duration as `<time>` writes them, where it is written as XML Schema wants.
pub(crate) fn temporal(text: &str) -> Option<NamedNodeRef<'static>> {
    if is_date(text) {
        Some(xsd::DATE)
    } else if is_time(text) {
        Some(xsd::TIME)
    } else if is_date_time(text) {
        Some(xsd::DATE_TIME)
    } else if is_year_month(text) {
        Some(xsd::G_YEAR_MONTH)
    } else if is_year(text) {
        Some(xsd::G_YEAR)
    } else if is_duration(text) {
        Some(xsd::DURATION)
    } else {
        None
    }
}

/// `xsd:integer`.
pub(crate) fn is_integer(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.sign();
    scan.digits().is_some() && scan.end()
}

/// `xsd:double`.
pub(crate) fn is_double(text: &str) -> bool {
    if matches!(text, "INF" | "+INF" | "-INF" | "NaN") {
        return true;
    }
    let mut scan = Scan(text);
    scan.sign();
    let whole = scan.digits().is_some();
    let fraction = scan.byte(b'.') && scan.digits().is_some();
    if !whole && !fraction {
        return false;
    }
    if scan.byte(b'e') || scan.byte(b'E') {
        scan.sign();
        if scan.digits().is_none() {
            return false;
        }
    }
    scan.end()
}

fn is_date(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.date() && scan.zone() && scan.end()
}

fn is_time(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.time() && scan.zone() && scan.end()
}

fn is_date_time(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.date() && scan.byte(b'T') && scan.time() && scan.zone() && scan.end()
}

fn is_year_month(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.year().is_some() && scan.byte(b'-') && scan.two(1..=12).is_some() && scan.zone() && scan.end()
}

fn is_year(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.year().is_some() && scan.zone() && scan.end()
}

fn is_duration(text: &str) -> bool {
    let mut scan = Scan(text);
    scan.byte(b'-');
    if !scan.byte(b'P') {
        return false;
    }
    let days = scan.parts(b"YMD", false);
    let times = scan.byte(b'T').then(|| scan.parts(b"HMS", true));
    (days > 0 || times.is_some()) && times != Some(0) && scan.end()
}

/// What is left of a text while it is looked at from the left.
struct Scan<'a>(&'a str);

impl Scan<'_> {
    fn end(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self, byte: u8) -> bool {
        let found = self.0.as_bytes().first() == Some(&byte);
        if found {
            self.0 = &self.0[1..];
        }
        found
    }

    fn sign(&mut self) {
        let _ = self.byte(b'+') || self.byte(b'-');
    }

    /// One digit or more; answers how many.
    fn digits(&mut self) -> Option<usize> {
        let count = self.0.bytes().take_while(u8::is_ascii_digit).count();
        self.0 = &self.0[count..];
        (count > 0).then_some(count)
    }

    /// Two digits, in a range.
    fn two(&mut self, range: std::ops::RangeInclusive<u32>) -> Option<u32> {
        let digits = self.0.get(..2).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))?;
        let number = digits.parse().ok().filter(|number| range.contains(number))?;
        self.0 = &self.0[2..];
        Some(number)
    }

    /// Four digits, or more without leading zero. Answers the year's last four digits: enough for a calendar.
    fn year(&mut self) -> Option<u32> {
        self.byte(b'-');
        let text = self.0;
        let count = self.digits()?;
        if count < 4 || (count > 4 && text.starts_with('0')) {
            return None;
        }
        text[count - 4..count].parse().ok()
    }

    fn date(&mut self) -> bool {
        let Some(year) = self.year() else { return false };
        if !self.byte(b'-') {
            return false;
        }
        let Some(month) = self.two(1..=12) else { return false };
        if !self.byte(b'-') {
            return false;
        }
        let days = match month {
            2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
            2 => 28,
            4 | 6 | 9 | 11 => 30,
            _ => 31,
        };
        self.two(1..=days).is_some()
    }

    fn time(&mut self) -> bool {
        let start = self.0;
        let Some(hour) = self.two(0..=24) else { return false };
        let rest =
            self.byte(b':') && self.two(0..=59).is_some() && self.byte(b':') && self.two(0..=59).is_some();
        if !rest || (self.byte(b'.') && self.digits().is_none()) {
            return false;
        }
        // The end of a day may be written as its 24th hour, and nothing more.
        let written = &start[..start.len() - self.0.len()];
        hour < 24 || written.bytes().skip(2).all(|byte| matches!(byte, b'0' | b':' | b'.'))
    }

    /// A time zone, or none.
    fn zone(&mut self) -> bool {
        if self.byte(b'Z') {
            return true;
        }
        if !self.byte(b'+') && !self.byte(b'-') {
            return true;
        }
        let Some(hour) = self.two(0..=14) else { return false };
        self.byte(b':') && self.two(if hour == 14 { 0..=0 } else { 0..=59 }).is_some()
    }

    /// Numbers followed by these letters, each at most once and in this order; answers how many.
    fn parts(&mut self, letters: &[u8], fraction_at_last: bool) -> usize {
        let mut count = 0;
        for (index, &letter) in letters.iter().enumerate() {
            let before = self.0;
            let number = self.digits().is_some()
                && (!(fraction_at_last && index + 1 == letters.len() && self.byte(b'.'))
                    || self.digits().is_some());
            if number && self.byte(letter) {
                count += 1;
            } else {
                self.0 = before;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporal_forms_are_told_apart() {
        for (text, expected) in [
            ("2011-06-28", Some(xsd::DATE)),
            ("2011-06-28Z", Some(xsd::DATE)),
            ("-0044-03-15", Some(xsd::DATE)),
            ("12011-06-28", Some(xsd::DATE)),
            ("2012-02-29", Some(xsd::DATE)),
            ("2011-02-29", None),
            ("2011-13-01", None),
            ("2011-6-28", None),
            ("02011-06-28", None),
            ("00:00:00Z", Some(xsd::TIME)),
            ("23:59:59.999-14:00", Some(xsd::TIME)),
            ("24:00:00", Some(xsd::TIME)),
            ("24:00:01", None),
            ("23:59:59+14:01", None),
            ("23:59", None),
            ("2011-06-28T00:00:00Z", Some(xsd::DATE_TIME)),
            ("2011-06-28T00:00:00.5+01:00", Some(xsd::DATE_TIME)),
            ("2011-06-28 00:00:00Z", None),
            ("2011-06-28T00:00Z", None),
            ("2011-06", Some(xsd::G_YEAR_MONTH)),
            ("2011", Some(xsd::G_YEAR)),
            ("201", None),
            ("--06-28", None),
            ("P2011Y06M28DT00H00M00S", Some(xsd::DURATION)),
            ("PT1H", Some(xsd::DURATION)),
            ("-P1D", Some(xsd::DURATION)),
            ("PT0.5S", Some(xsd::DURATION)),
            ("P1M2Y", None),
            ("P", None),
            ("PT", None),
            ("P1DT", None),
            ("PT0.5H", None),
            ("P1W", None),
            ("", None),
            ("foo", None),
            ("２０１１", None),
        ] {
            assert_eq!(temporal(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_are_told_from_words() {
        for (text, integer, double) in [
            ("1", true, true),
            ("-001", true, true),
            ("+5", true, true),
            ("1.1", false, true),
            (".5", false, true),
            ("5.", false, true),
            ("1e10", false, true),
            ("1E-3", false, true),
            ("INF", false, true),
            ("NaN", false, true),
            (".", false, false),
            ("1e", false, false),
            ("", false, false),
            (" 1", false, false),
            ("1,5", false, false),
            ("foo", false, false),
        ] {
            assert_eq!((is_integer(text), is_double(text)), (integer, double), "{text}");
        }
    }
}
