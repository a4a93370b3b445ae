//! `date:*`: the XML Schema forms of dates, times and durations.

mod calendar;
mod duration;
mod moment;

use calendar::{day_in_week, day_in_year, days_in_month, is_leap, week_in_year};
use duration::Duration;
use moment::{Moment, Time};

use crate::error::Res;
use crate::run::Machine;
use crate::xpath::ast::{DateFunction, Expr};
use crate::xpath::eval::Context;
use crate::xpath::value::Object;

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];
const DAYS: [&str; 7] = ["Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday"];

impl<'t> Machine<'t> {
    pub(super) fn date_extension(
        &mut self,
        function: DateFunction,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        use DateFunction as D;
        if function == D::Sum {
            let nodes = self.nodes(&arguments[0], context)?;
            self.budget.spend(nodes.len() as u64)?;
            let sum = nodes.iter().try_fold(Duration::default(), |sum, node| {
                sum.plus(&Duration::parse(&self.string_of(*node))?)
            });
            return Ok(Object::text(sum.map_or(String::new(), |sum| sum.to_string())));
        }
        let mut texts = Vec::new();
        for argument in arguments {
            texts.push(self.string(argument, context)?.into_string());
        }
        let text = |at: usize| texts.get(at).map(|text| text.trim());
        let first = || match text(0) {
            Some(text) => Moment::parse(text),
            None => Some(Moment::now()),
        };
        let number = |value: Option<f64>| Object::Number(value.unwrap_or(f64::NAN));
        let string = |value: Option<String>| Object::text(value.unwrap_or_default());
        Ok(match function {
            D::DateTime => Object::text(Moment::now().to_string()),
            D::Date => string(first().and_then(|moment| moment.date_text())),
            D::Time => string(first().and_then(|moment| moment.time_text())),
            D::Year => number(first().and_then(|moment| moment.year).map(|year| year as f64)),
            D::LeapYear => match first().and_then(|moment| moment.year) {
                Some(year) => Object::Boolean(is_leap(year)),
                None => Object::Number(f64::NAN),
            },
            D::MonthInYear => number(first().and_then(|moment| moment.month).map(f64::from)),
            D::MonthName => string(first().and_then(|moment| moment.month_name()).map(str::to_owned)),
            D::MonthAbbreviation => {
                string(first().and_then(|moment| moment.month_name()).map(|name| name[..3].to_owned()))
            }
            D::WeekInYear => {
                number(first().and_then(|moment| moment.date()).map(|date| f64::from(week_in_year(date))))
            }
            D::WeekInMonth => number(first().and_then(|moment| moment.date()).map(|(year, month, day)| {
                // Weeks start on Monday; the first may be short.
                let first = (day_in_week((year, month, 1)) + 6) % 7;
                f64::from((day - 1 + first) / 7 + 1)
            })),
            D::DayInYear => {
                number(first().and_then(|moment| moment.date()).map(|date| f64::from(day_in_year(date))))
            }
            D::DayInMonth => number(first().and_then(|moment| moment.day).map(f64::from)),
            D::DayOfWeekInMonth => {
                number(first().and_then(|moment| moment.day).map(|day| f64::from((day - 1) / 7 + 1)))
            }
            D::DayInWeek => {
                number(first().and_then(|moment| moment.date()).map(|date| f64::from(day_in_week(date) + 1)))
            }
            D::DayName => string(first().and_then(|moment| moment.day_name()).map(str::to_owned)),
            D::DayAbbreviation => {
                string(first().and_then(|moment| moment.day_name()).map(|name| name[..3].to_owned()))
            }
            D::HourInDay => number(first().and_then(|moment| moment.time).map(|time| f64::from(time.hour))),
            D::MinuteInHour => {
                number(first().and_then(|moment| moment.time).map(|time| f64::from(time.minute)))
            }
            D::SecondInMinute => number(first().and_then(|moment| moment.time).map(|time| time.second)),
            D::Seconds => {
                let duration =
                    text(0).and_then(Duration::parse).and_then(|duration| duration.whole_seconds());
                number(duration.or_else(|| first().and_then(|moment| moment.seconds())))
            }
            D::Add => string(
                Moment::parse(text(0).unwrap_or(""))
                    .zip(text(1).and_then(Duration::parse))
                    .and_then(|(moment, duration)| moment.plus(&duration))
                    .map(|moment| moment.to_string()),
            ),
            D::AddDuration => string(
                text(0)
                    .and_then(Duration::parse)
                    .zip(text(1).and_then(Duration::parse))
                    .and_then(|(left, right)| left.plus(&right))
                    .map(|sum| sum.to_string()),
            ),
            D::Difference => string(
                Moment::parse(text(0).unwrap_or(""))
                    .zip(Moment::parse(text(1).unwrap_or("")))
                    .and_then(|(start, end)| start.until(&end))
                    .map(|difference| difference.to_string()),
            ),
            D::Duration => {
                let seconds = match text(0) {
                    Some(text) => crate::xpath::numbers::parse(text),
                    None => Moment::now().seconds().unwrap_or(f64::NAN),
                };
                string(seconds.is_finite().then(|| Duration { months: 0, seconds }.to_string()))
            }
            D::FormatDate => {
                let moment = Moment::parse(text(0).unwrap_or(""));
                let pattern = texts.get(1).map_or("", String::as_str);
                let formatted = moment.map(|moment| moment.format(pattern));
                if let Some(formatted) = &formatted {
                    self.budget.spend_bytes(formatted.len())?;
                }
                string(formatted)
            }
            D::Sum => Object::text(""),
        })
    }
}

impl Moment {
    fn date(&self) -> Option<(i64, u32, u32)> {
        Some((self.year?, self.month?, self.day?))
    }

    fn month_name(&self) -> Option<&'static str> {
        MONTHS.get(self.month? as usize - 1).copied()
    }

    fn day_name(&self) -> Option<&'static str> {
        Some(DAYS[day_in_week(self.date()?) as usize])
    }

    fn date_text(&self) -> Option<String> {
        self.date()?;
        Some(Self { time: None, ..self.clone() }.to_string())
    }

    fn time_text(&self) -> Option<String> {
        self.time?;
        Some(Self { year: None, month: None, day: None, ..self.clone() }.to_string())
    }

    /// Seconds since the start of 1970.
    fn seconds(&self) -> Option<f64> {
        let date = (self.year?, self.month.unwrap_or(1), self.day.unwrap_or(1));
        let time = self.time.map_or(0.0, Time::seconds);
        Some(calendar::days(date) as f64 * 86400.0 + time - f64::from(self.zone.unwrap_or(0)) * 60.0)
    }

    fn plus(&self, duration: &Duration) -> Option<Self> {
        let mut moment = self.clone();
        let months = self.year? * 12 + i64::from(self.month.unwrap_or(1)) - 1 + duration.months;
        let (year, month) = (months.div_euclid(12), months.rem_euclid(12) as u32 + 1);
        let day = self.day.unwrap_or(1).min(days_in_month(year, month));
        let seconds = self.time.map_or(0.0, Time::seconds) + duration.seconds;
        let days = (seconds / 86400.0).floor();
        if !days.is_finite() || days.abs() > 1e10 {
            return None;
        }
        let (year, month, day) = calendar::date(calendar::days((year, month, day)) + days as i64);
        moment.year = Some(year);
        moment.month = self.month.map(|_| month);
        moment.day = self.day.map(|_| day);
        moment.time = self.time.map(|_| Time::of_seconds(seconds - days * 86400.0));
        Some(moment)
    }

    /// What has to be added to get to a later moment; in months where only months are known.
    fn until(&self, end: &Self) -> Option<Duration> {
        if self.day.is_none() || end.day.is_none() {
            let months = |moment: &Self| Some(moment.year? * 12 + i64::from(moment.month.unwrap_or(1)));
            return Some(Duration { months: months(end)? - months(self)?, seconds: 0.0 });
        }
        let whole = self.time.is_some() && end.time.is_some();
        let seconds = |moment: &Self| {
            if whole { moment.seconds() } else { Self { time: None, ..moment.clone() }.seconds() }
        };
        Some(Duration { months: 0, seconds: seconds(end)? - seconds(self)? })
    }

    /// Formats with the letters of Java's `SimpleDateFormat`.
    fn format(&self, pattern: &str) -> String {
        let mut out = String::new();
        let mut characters = pattern.chars().take(1000).peekable();
        while let Some(letter) = characters.next() {
            if letter == '\'' {
                if characters.peek() == Some(&'\'') {
                    characters.next();
                    out.push('\'');
                    continue;
                }
                while let Some(quoted) = characters.next() {
                    if quoted != '\'' {
                        out.push(quoted);
                    } else if characters.peek() == Some(&'\'') {
                        characters.next();
                        out.push('\'');
                    } else {
                        break;
                    }
                }
                continue;
            }
            if !letter.is_ascii_alphabetic() {
                out.push(letter);
                continue;
            }
            let mut width = 1;
            while characters.peek() == Some(&letter) {
                characters.next();
                width += 1;
            }
            self.format_field(&mut out, letter, width);
        }
        out
    }

    fn format_field(&self, out: &mut String, letter: char, width: usize) {
        use std::fmt::Write;
        let mut padded = |number: Option<i64>| {
            if let Some(number) = number {
                // Writing to a string does not fail.
                let _ = write!(out, "{number:0width$}");
            }
        };
        let time = self.time;
        let hour = time.map(|time| i64::from(time.hour));
        match letter {
            'y' if width == 2 => padded(self.year.map(|year| year.rem_euclid(100))),
            'y' => padded(self.year),
            'M' if width >= 4 => out.push_str(self.month_name().unwrap_or("")),
            'M' if width == 3 => out.push_str(self.month_name().map_or("", |name| &name[..3])),
            'M' => padded(self.month.map(i64::from)),
            'd' => padded(self.day.map(i64::from)),
            'D' => padded(self.date().map(|date| i64::from(day_in_year(date)))),
            'w' => padded(self.date().map(|date| i64::from(week_in_year(date)))),
            'F' => padded(self.day.map(|day| i64::from((day - 1) / 7 + 1))),
            'E' if width >= 4 => out.push_str(self.day_name().unwrap_or("")),
            'E' => out.push_str(self.day_name().map_or("", |name| &name[..3])),
            'H' => padded(hour),
            'k' => padded(hour.map(|hour| if hour == 0 { 24 } else { hour })),
            'K' => padded(hour.map(|hour| hour % 12)),
            'h' => padded(hour.map(|hour| if hour % 12 == 0 { 12 } else { hour % 12 })),
            'm' => padded(time.map(|time| i64::from(time.minute))),
            's' => padded(time.map(|time| time.second as i64)),
            'S' => padded(time.map(|time| (time.second.fract() * 1000.0) as i64)),
            'a' => out.push_str(hour.map_or("", |hour| if hour < 12 { "AM" } else { "PM" })),
            'G' => out.push_str(self.year.map_or("", |year| if year < 0 { "BC" } else { "AD" })),
            'z' | 'Z' => out.push_str(&self.zone.map_or(String::new(), |zone| {
                let sign = if zone < 0 { '-' } else { '+' };
                let minutes = zone.abs();
                let colon = if letter == 'z' { ":" } else { "" };
                let name = if letter == 'z' { "GMT" } else { "" };
                format!("{name}{sign}{:02}{colon}{:02}", minutes / 60, minutes % 60)
            })),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_and_written_back() {
        for text in [
            "2001-10-26T21:32:52",
            "2001-10-26",
            "2001-10",
            "2001",
            "21:32:52Z",
            "2001-10-26T21:32:52+02:00",
            "--05-12",
            "---26",
        ] {
            assert_eq!(Moment::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "x", "2001-13-01", "2001-02-30", "25:00:00", "2001-1-1", "99999999999999999999"] {
            assert!(Moment::parse(text).is_none(), "{text}");
        }
    }

    #[test]
    fn durations_are_added() {
        let add = |date: &str, duration: &str| {
            Moment::parse(date).unwrap().plus(&Duration::parse(duration).unwrap()).unwrap().to_string()
        };
        assert_eq!(add("2000-01-31", "P1M"), "2000-02-29");
        assert_eq!(add("2000-01-12T12:13:14Z", "P1Y3M5DT7H10M3.3S"), "2001-04-17T19:23:17.3Z");
        assert_eq!(add("2000-03-01", "-P1D"), "2000-02-29");
        assert_eq!(Duration { months: 0, seconds: 90061.5 }.to_string(), "P1DT1H1M1.5S");
        assert_eq!(Duration { months: -14, seconds: 0.0 }.to_string(), "-P1Y2M");
    }

    #[test]
    fn weeks_are_iso_weeks() {
        assert_eq!(week_in_year((2005, 1, 1)), 53);
        assert_eq!(week_in_year((2008, 12, 30)), 1);
        assert_eq!(day_in_week((2026, 11, 16)), 1);
    }
}
