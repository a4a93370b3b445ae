//! A date, a time, or both, as far as it is known.

use std::fmt;

use super::calendar::{self, days_in_month};

/// A time of day.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Time {
    pub(super) hour: u32,
    pub(super) minute: u32,
    pub(super) second: f64,
}

impl Time {
    pub(super) fn seconds(self) -> f64 {
        f64::from(self.hour) * 3600.0 + f64::from(self.minute) * 60.0 + self.second
    }

    /// The time so many seconds after midnight.
    pub(super) fn of_seconds(seconds: f64) -> Self {
        let whole = seconds.floor() as u32;
        let fraction = ((seconds - seconds.floor()) * 1e6).round() / 1e6;
        Self { hour: whole / 3600, minute: whole / 60 % 60, second: f64::from(whole % 60) + fraction }
    }
}

/// A date, a time, or both.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Moment {
    pub(super) year: Option<i64>,
    pub(super) month: Option<u32>,
    pub(super) day: Option<u32>,
    pub(super) time: Option<Time>,
    /// Minutes east of Greenwich.
    pub(super) zone: Option<i32>,
}

impl Moment {
    /// Now, in Greenwich.
    pub(super) fn now() -> Self {
        let seconds = std::time::SystemTime::now()
            .duration_since(std::time::UNIX_EPOCH)
            .map_or(0, |since| since.as_secs());
        let (year, month, day) = calendar::date((seconds / 86400) as i64);
        Self {
            year: Some(year),
            month: Some(month),
            day: Some(day),
            time: Some(Time::of_seconds((seconds % 86400) as f64)),
            zone: Some(0),
        }
    }

    /// Reads any of the forms of XML Schema.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > 64 || !text.is_ascii() {
            return None;
        }
        let mut moment = Self { year: None, month: None, day: None, time: None, zone: None };
        if let Some((date, time)) = text.split_once('T') {
            if !moment.parse_date(date)? || moment.day.is_none() {
                return None;
            }
            let rest = moment.parse_time(time)?;
            moment.parse_zone(rest)?;
            return Some(moment);
        }
        if text.as_bytes().get(2) == Some(&b':') {
            let rest = moment.parse_time(text)?;
            moment.parse_zone(rest)?;
            return Some(moment);
        }
        // The zone of a date ends it: `Z`, or six characters with a colon.
        let zone_at = if text.ends_with('Z') {
            text.len() - 1
        } else if text.len() > 6 && text.as_bytes()[text.len() - 3] == b':' {
            text.len() - 6
        } else {
            text.len()
        };
        let (date, zone) = text.split_at(zone_at);
        moment.parse_date(date)?;
        moment.parse_zone(zone)?;
        Some(moment)
    }

    /// Reads a date in full or in part; says whether the year is known.
    fn parse_date(&mut self, text: &str) -> Option<bool> {
        if let Some(day) = text.strip_prefix("---") {
            self.day = Some(two_digits(day)?);
            return (1..=31).contains(&self.day?).then_some(false);
        }
        if let Some(rest) = text.strip_prefix("--") {
            let rest = rest.strip_suffix("--").unwrap_or(rest);
            let (month, day) = match rest.split_once('-') {
                Some((month, day)) => (month, Some(day)),
                None => (rest, None),
            };
            self.month = Some(two_digits(month)?);
            if let Some(day) = day {
                self.day = Some(two_digits(day)?);
            }
            return self.in_range().then_some(false);
        }
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let mut parts = rest.split('-');
        let year = parts.next()?;
        if year.len() < 4 || year.len() > 9 || !year.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        let year: i64 = year.parse().ok()?;
        self.year = Some(if negative { -year } else { year });
        if let Some(month) = parts.next() {
            self.month = Some(two_digits(month)?);
        }
        if let Some(day) = parts.next() {
            self.day = Some(two_digits(day)?);
        }
        (parts.next().is_none() && self.in_range()).then_some(true)
    }

    fn in_range(&self) -> bool {
        let month = self.month.unwrap_or(1);
        (1..=12).contains(&month)
            && self.day.is_none_or(|day| (1..=days_in_month(self.year.unwrap_or(2000), month)).contains(&day))
    }

    /// Reads a time; gives what comes after it.
    fn parse_time<'x>(&mut self, text: &'x str) -> Option<&'x str> {
        let bytes = text.as_bytes();
        if bytes.len() < 8 || bytes[2] != b':' || bytes[5] != b':' {
            return None;
        }
        let (hour, minute) = (two_digits(&text[..2])?, two_digits(&text[3..5])?);
        let mut end = 8;
        if bytes.get(8) == Some(&b'.') {
            end += 1 + bytes[9..].iter().take_while(|byte| byte.is_ascii_digit()).count();
        }
        two_digits(&text[6..8])?;
        let second: f64 = text[6..end].parse().ok()?;
        if hour > 24 || minute > 59 || second >= 60.0 || (hour == 24 && (minute > 0 || second > 0.0)) {
            return None;
        }
        self.time = Some(Time { hour, minute, second });
        Some(&text[end..])
    }

    fn parse_zone(&mut self, text: &str) -> Option<()> {
        if text.is_empty() {
            return Some(());
        }
        if text == "Z" {
            self.zone = Some(0);
            return Some(());
        }
        let sign = match text.as_bytes()[0] {
            b'+' => 1,
            b'-' => -1,
            _ => return None,
        };
        let (hours, minutes) = text[1..].split_once(':')?;
        let (hours, minutes) = (two_digits(hours)?, two_digits(minutes)?);
        if hours > 14 || minutes > 59 {
            return None;
        }
        self.zone = Some(sign * (hours * 60 + minutes) as i32);
        Some(())
    }
}

fn two_digits(text: &str) -> Option<u32> {
    (text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit())).then(|| text.parse().ok()).flatten()
}

/// Seconds with at least two digits before the point.
pub(super) fn seconds_text(seconds: f64) -> String {
    let text = crate::xpath::numbers::format((seconds * 1e6).round() / 1e6);
    if seconds < 10.0 { format!("0{text}") } else { text }
}

impl fmt::Display for Moment {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.year, self.month, self.day) {
            (Some(year), month, day) => {
                write!(out, "{}{:04}", if year < 0 { "-" } else { "" }, year.abs())?;
                if let Some(month) = month {
                    write!(out, "-{month:02}")?;
                    if let Some(day) = day {
                        write!(out, "-{day:02}")?;
                    }
                }
            }
            (None, Some(month), Some(day)) => write!(out, "--{month:02}-{day:02}")?,
            (None, Some(month), None) => write!(out, "--{month:02}")?,
            (None, None, Some(day)) => write!(out, "---{day:02}")?,
            (None, None, None) => {}
        }
        if let Some(time) = self.time {
            if self.year.is_some() {
                write!(out, "T")?;
            }
            write!(out, "{:02}:{:02}:{}", time.hour, time.minute, seconds_text(time.second))?;
        }
        match self.zone {
            None => Ok(()),
            Some(0) => write!(out, "Z"),
            Some(zone) => {
                let minutes = zone.abs();
                write!(out, "{}{:02}:{:02}", if zone < 0 { '-' } else { '+' }, minutes / 60, minutes % 60)
            }
        }
    }
}
