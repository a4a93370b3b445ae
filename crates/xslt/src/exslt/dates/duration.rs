//! Durations: months, and seconds, which cannot be told in months.

use std::fmt;

use crate::xpath::numbers;

/// A duration; both parts have the same sign.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub(super) struct Duration {
    pub(super) months: i64,
    pub(super) seconds: f64,
}

impl Duration {
    /// Reads `P1Y2M3DT4H5M6.7S`.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.len() > 64 || !text.is_ascii() {
            return None;
        }
        let (negative, rest) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
        let rest = rest.strip_prefix('P')?;
        let (date, time) = match rest.split_once('T') {
            Some((date, time)) if !time.is_empty() => (date, time),
            Some(_) => return None,
            None => (rest, ""),
        };
        let mut duration = Self::default();
        let mut seen = false;
        let mut part = |text: &str, units: &[(char, f64, bool)]| -> Option<()> {
            let mut rest = text;
            let mut next = 0;
            while !rest.is_empty() {
                let length = rest.find(|character: char| character.is_ascii_alphabetic())?;
                let value = numbers::parse(&rest[..length]);
                let unit = rest[length..].chars().next()?;
                let at = units.iter().position(|(known, ..)| *known == unit)?;
                if at < next || value.is_nan() || value < 0.0 || length == 0 {
                    return None;
                }
                next = at + 1;
                let (_, factor, is_months) = units[at];
                if is_months {
                    duration.months += (value * factor) as i64;
                } else {
                    duration.seconds += value * factor;
                }
                seen = true;
                rest = &rest[length + 1..];
            }
            Some(())
        };
        part(date, &[('Y', 12.0, true), ('M', 1.0, true), ('D', 86400.0, false)])?;
        part(time, &[('H', 3600.0, false), ('M', 60.0, false), ('S', 1.0, false)])?;
        if !seen || duration.months.abs() > 1_000_000_000 {
            return None;
        }
        if negative {
            duration = Self { months: -duration.months, seconds: -duration.seconds };
        }
        Some(duration)
    }

    /// The sum, unless its parts have different signs.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        let sum =
            Self { months: self.months.checked_add(other.months)?, seconds: self.seconds + other.seconds };
        let mixed = (sum.months > 0 && sum.seconds < 0.0) || (sum.months < 0 && sum.seconds > 0.0);
        (!mixed).then_some(sum)
    }

    /// The duration in seconds, if it has no months.
    pub(super) fn whole_seconds(&self) -> Option<f64> {
        (self.months == 0).then_some(self.seconds)
    }
}

impl fmt::Display for Duration {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.months < 0 || self.seconds < 0.0 {
            write!(out, "-")?;
        }
        write!(out, "P")?;
        let (years, months) = (self.months.abs() / 12, self.months.abs() % 12);
        let total = (self.seconds.abs() * 1e6).round() / 1e6;
        let days = (total / 86400.0).floor();
        let rest = total - days * 86400.0;
        let (hours, minutes) = ((rest / 3600.0).floor(), (rest % 3600.0 / 60.0).floor());
        let seconds = ((rest % 60.0) * 1e6).round() / 1e6;
        for (value, unit) in [(years as f64, 'Y'), (months as f64, 'M'), (days, 'D')] {
            if value > 0.0 {
                write!(out, "{}{unit}", numbers::format(value))?;
            }
        }
        if rest > 0.0 {
            write!(out, "T")?;
            for (value, unit) in [(hours, 'H'), (minutes, 'M'), (seconds, 'S')] {
                if value > 0.0 {
                    write!(out, "{}{unit}", numbers::format(value))?;
                }
            }
        }
        if self.months == 0 && total == 0.0 {
            write!(out, "T0S")?;
        }
        Ok(())
    }
}
