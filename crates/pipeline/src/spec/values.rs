//! Reads typed values out of the table of a specification, collecting what is wrong instead of stopping.

use std::time::Duration;

use toml::{Table, Value};

use super::{SpecProblem, field, lookup};

/// Reads fields; a wrong value is a problem and reads as the default.
pub(super) struct Reader<'a> {
    table: &'a Table,
    problems: &'a mut Vec<SpecProblem>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(table: &'a Table, problems: &'a mut Vec<SpecProblem>) -> Self {
        Self { table, problems }
    }

    pub(super) fn boolean(&mut self, key: &str) -> bool {
        self.required(key, "true or false", Value::as_bool)
    }

    pub(super) fn count(&mut self, key: &str) -> usize {
        self.required(key, "a whole number, 0 or more", as_count)
    }

    pub(super) fn optional_count(&mut self, key: &str) -> Option<usize> {
        self.optional(key, "a whole number, 0 or more", as_count)
    }

    pub(super) fn text(&mut self, key: &str) -> String {
        self.required(key, "a text in quotes", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn optional_text(&mut self, key: &str) -> Option<String> {
        self.optional(key, "a text in quotes", |value| value.as_str().map(str::to_owned))
    }

    pub(super) fn duration(&mut self, key: &str) -> Duration {
        self.required(key, DURATION, as_duration)
    }

    /// A pause between requests. Who writes one of weeks means something else.
    pub(super) fn pause(&mut self, key: &str) -> Duration {
        self.required(key, PAUSE, as_pause)
    }

    pub(super) fn optional_pause(&mut self, key: &str) -> Option<Duration> {
        self.optional(key, PAUSE, as_pause)
    }

    pub(super) fn bytes(&mut self, key: &str) -> usize {
        self.required(key, "a size such as \"64 KiB\" or \"16 MiB\", or a number of bytes", as_bytes)
    }

    pub(super) fn choice(&mut self, key: &str, choices: &'static [&'static str]) -> &'static str {
        let expected =
            format!("one of {}", choices.iter().map(|c| format!("{c:?}")).collect::<Vec<_>>().join(", "));
        self.required(key, &expected, |value| {
            choices.iter().copied().find(|choice| value.as_str() == Some(choice))
        })
    }

    pub(super) fn optional_bytes(&mut self, key: &str) -> Option<usize> {
        self.optional(key, "a size such as \"64 KiB\" or \"16 MiB\", or a number of bytes", as_bytes)
    }

    /// A text that is understood by `parse`, or nothing.
    pub(super) fn optional_parsed<T>(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Result<T, String>,
    ) -> Option<T> {
        let text = self.optional_text(key)?;
        parse(&text).map_err(|message| self.report(key, message)).ok()
    }

    /// Anything that `read` understands.
    pub(super) fn value<T>(&mut self, key: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> T {
        self.required(key, expected, read)
    }

    /// A list of anything, each understood by `read`.
    pub(super) fn list<T>(&mut self, key: &str, read: impl Fn(&Value) -> Result<T, String>) -> Vec<T> {
        let values = self.required(key, "a list: [ … ]", |value| value.as_array().cloned());
        let items = values.iter().map(read);
        items.filter_map(|item| item.map_err(|message| self.report(key, message)).ok()).collect()
    }

    /// A list of texts, each understood by `parse`; the wrong ones are problems, the others are kept.
    pub(super) fn parsed_list<T>(
        &mut self,
        key: &str,
        mut parse: impl FnMut(&str) -> Result<T, String>,
    ) -> Vec<T> {
        let values =
            self.required(key, "a list of texts: [\"…\", \"…\"]", |value| value.as_array().cloned());
        let mut parsed = Vec::new();
        for value in values {
            match value
                .as_str()
                .ok_or_else(|| format!("`{value}` is not a text in quotes"))
                .and_then(&mut parse)
            {
                Ok(item) => parsed.push(item),
                Err(message) => self.problems.push(SpecProblem { key: key.to_owned(), message }),
            }
        }
        parsed
    }

    fn optional<T>(&mut self, key: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> Option<T> {
        debug_assert!(field(key).default.is_none(), "`{key}` has a default");
        let value = lookup(self.table, key)?;
        let read = read(value);
        if read.is_none() {
            self.refuse(key, value, expected);
        }
        read
    }

    fn required<T>(&mut self, key: &str, expected: &str, read: impl Fn(&Value) -> Option<T>) -> T {
        if let Some(value) = lookup(self.table, key) {
            match read(value) {
                Some(read) => return read,
                None => self.refuse(key, value, expected),
            }
        }
        let default = field(key).default.unwrap_or_default();
        format!("default = {default}")
            .parse::<Table>()
            .ok()
            .and_then(|table| table.get("default").and_then(&read))
            .expect("every default in the table is valid; a test reads them all")
    }

    /// Adds a problem that is found elsewhere.
    pub(super) fn report(&mut self, key: &str, message: String) {
        self.problems.push(SpecProblem { key: key.to_owned(), message });
    }

    fn refuse(&mut self, key: &str, value: &Value, expected: &str) {
        self.problems.push(SpecProblem {
            key: key.to_owned(),
            message: format!("{value} is not valid; write {expected}"),
        });
    }
}

const DURATION: &str = "a duration such as \"500ms\", \"1s\", \"2m\" or \"1h\"";

pub(crate) fn as_count(value: &Value) -> Option<usize> {
    value.as_integer().and_then(|number| usize::try_from(number).ok())
}

const PAUSE: &str = "a duration of a day at most, such as \"500ms\", \"1s\" or \"2m\"";
const PAUSE_MAX: Duration = Duration::from_secs(24 * 60 * 60);

fn as_pause(value: &Value) -> Option<Duration> {
    as_duration(value).filter(|pause| *pause <= PAUSE_MAX)
}

pub(crate) fn as_duration(value: &Value) -> Option<Duration> {
    parse_duration(value.as_str()?)
}

/// Reads `500ms`, `1.5s`, `2m`, `1h`. A bare number has no unit and is refused, except `0`.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let text = text.trim();
    if text == "0" {
        return Some(Duration::ZERO);
    }
    let split = text.find(|c: char| c.is_ascii_alphabetic())?;
    let number: f64 = text[..split].trim().parse().ok()?;
    let unit = match &text[split..] {
        "ms" => 0.001,
        "s" => 1.0,
        "m" | "min" => 60.0,
        "h" => 3600.0,
        "d" => 86400.0,
        _ => return None,
    };
    Duration::try_from_secs_f64(number * unit).ok()
}

pub(crate) fn as_bytes(value: &Value) -> Option<usize> {
    if value.is_integer() {
        return as_count(value);
    }
    let text = value.as_str()?.trim();
    let split = text.find(|c: char| c.is_ascii_alphabetic()).unwrap_or(text.len());
    let number: usize = text[..split].trim().parse().ok()?;
    let unit = match &text[split..] {
        "" | "B" => 1,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        "kB" | "KB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    number.checked_mul(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations() {
        for (text, expected) in [
            ("500ms", Some(500)),
            ("1s", Some(1000)),
            ("1.5s", Some(1500)),
            (" 2m ", Some(120_000)),
            ("1h", Some(3_600_000)),
            ("0", Some(0)),
            ("0s", Some(0)),
            ("5", None),
            ("-1s", None),
            ("s", None),
            ("1 fortnight", None),
            ("1e300h", None),
            ("nans", None),
        ] {
            assert_eq!(parse_duration(text).map(|duration| duration.as_millis()), expected, "{text}");
        }
    }

    #[test]
    fn pauses_are_of_a_day_at_most() {
        for (text, is_one) in [("0", true), ("24h", true), ("25h", false), ("18446744073709551615ms", false)]
        {
            assert_eq!(as_pause(&Value::from(text)).is_some(), is_one, "{text}");
        }
    }

    #[test]
    fn sizes() {
        for (value, expected) in [
            (Value::from("64 KiB"), Some(65536)),
            (Value::from("16MiB"), Some(16 << 20)),
            (Value::from("10"), Some(10)),
            (Value::from(4096), Some(4096)),
            (Value::from(-1), None),
            (Value::from("99999999999 GiB"), None),
            (Value::from("1 parsec"), None),
        ] {
            assert_eq!(as_bytes(&value), expected, "{value}");
        }
    }
}
