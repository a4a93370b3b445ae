//! Lists in JSON whose entries are judged one by one.
//!
//! In: a list. Out: each entry, understood or with what is wrong with it, as it is read, so that a list of any length takes the room
//! of one entry. Only what is no list in JSON at all is an error, and that names line and column. Start at [`each_entry`].

use std::fmt;
use std::marker::PhantomData;

use serde::de::{DeserializeOwned, Deserializer, IgnoredAny, SeqAccess, Visitor};
use serde_json::value::RawValue;

/// Characters of an entry that are repeated to whoever sent it.
const TOLD_CHARS_MAX: usize = 200;

/// An entry that is not what it should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongEntry {
    /// What is written there, the first of it.
    pub text: String,
    /// What is wrong with it.
    pub reason: String,
}

/// Fails unless the text is a list in JSON from its first byte to its last, whatever its entries are.
pub fn check_list(text: &[u8]) -> serde_json::Result<()> {
    let mut list = serde_json::Deserializer::from_slice(text);
    each_entry(&mut list, |_, _: Result<IgnoredAny, WrongEntry>| {})?;
    list.end()
}

/// Reads a list, and tells each entry with its number, from 1.
pub fn each_entry<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    list: D,
    tell: impl FnMut(u64, Result<T, WrongEntry>),
) -> Result<(), D::Error> {
    list.deserialize_seq(Entries { tell, entry: PhantomData })
}

struct Entries<F, T> {
    tell: F,
    entry: PhantomData<T>,
}

impl<'de, F: FnMut(u64, Result<T, WrongEntry>), T: DeserializeOwned> Visitor<'de> for Entries<F, T> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list: [ … ]")
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut list: A) -> Result<(), A::Error> {
        let mut number = 0;
        // What is in an entry is not looked at here, so nothing in it can spoil the others.
        while let Some(entry) = list.next_element::<&'de RawValue>()? {
            number += 1;
            let read = serde_json::from_str(entry.get());
            (self.tell)(
                number,
                read.map_err(|error| WrongEntry { text: told(entry.get()), reason: reason(&error) }),
            );
        }
        Ok(())
    }
}

/// What is wrong, without the line and column, which are those of the entry alone.
fn reason(error: &serde_json::Error) -> String {
    let text = error.to_string();
    text.rsplit_once(" at line ").map_or(text.as_str(), |(reason, _)| reason).to_owned()
}

/// The first of an entry.
pub fn told(entry: &str) -> String {
    match entry.char_indices().nth(TOLD_CHARS_MAX) {
        Some((cut, _)) => format!("{}…", &entry[..cut]),
        None => entry.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use webloom_model::Injection;

    use super::*;

    fn read(text: &str) -> Result<Vec<String>, String> {
        let mut lines = Vec::new();
        let mut list = serde_json::Deserializer::from_str(text);
        each_entry(&mut list, |number, entry: Result<Injection, WrongEntry>| {
            lines.push(match entry {
                Ok(injection) => format!("{number} {}", injection.url),
                Err(wrong) => format!("{number} {}: {}", wrong.text, wrong.reason),
            });
        })
        .and_then(|()| list.end())
        .map_err(|error| error.to_string())?;
        Ok(lines)
    }

    #[test]
    fn a_bad_entry_costs_itself() {
        let deep = format!("{}{}", "[".repeat(500), "]".repeat(500));
        for (entry, expected) in [
            (r#"{"url": "http://b.example"}"#, "http://b.example/"),
            ("7", r#"7: invalid type: integer `7`, expected {"url": …"#),
            ("null", r#"null: invalid type: null, expected {"url": …"#),
            (r#"{"score": 1}"#, r#"{"score": 1}: missing field `url`"#),
            (r#"{"url": "ftp://x/"}"#, "cannot be crawled"),
            (r#"{"url": "http://b.example/", "scroe": 1}"#, "unknown field `scroe`"),
            (r#"{"url": "http://b.example/", "score": 1e999}"#, "number out of range"),
            (r#"{"url": "\ud800"}"#, "end of hex escape"),
            (deep.as_str(), "[[["),
        ] {
            let lines = read(&format!(
                r#"[{{"url": "http://a.example/"}}, {entry}, {{"url": "http://c.example/"}}]"#
            ));
            let lines = lines.unwrap_or_else(|error| panic!("{entry}: {error}"));
            assert_eq!(
                (lines[0].as_str(), lines[2].as_str()),
                ("1 http://a.example/", "3 http://c.example/")
            );
            assert!(lines[1].contains(expected), "{entry}: {}", lines[1]);
        }
        assert_eq!(read("[]").unwrap().len(), 0);
        check_list(b" [7, {\"url\": null}]\n").unwrap();
    }

    #[test]
    fn what_is_no_list_names_line_and_column() {
        for (text, expected) in [
            ("[{\"url\": \"http://a.example/\"},\n {\"url\" \"http://b.example/\"}]", "at line 2 column 9"),
            ("[1, 2", "at line 1 column 5"),
            ("[1] 2", "trailing characters at line 1 column 5"),
            ("{\"url\": 1}", "expected a list"),
        ] {
            let error = read(text).unwrap_err();
            assert!(error.contains(expected), "{text}: {error}");
            assert_eq!(check_list(text.as_bytes()).unwrap_err().to_string(), error);
        }
    }
}
