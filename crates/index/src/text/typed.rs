//! What a person typed, taken apart.
//!
//! In: any text. Out: [`Typed`], a list of things that must be found, each with alternatives, and things that must not. Nothing is an
//! error: what makes no sense is taken for words, brackets for spaces. Words come out as the index has them: lower
//! case, accents folded. Start at [`Typed::parse`].
//!
//! `word`, `begin*`, `almost~1`, `"a phrase"`, `"a phrase"~2` (with up to two words between), `"a begin"*`, `-without`,
//! `one OR other`, `label:word`.

use super::{analyzer, floor_boundary};

/// Longest text that is looked at, in bytes; nobody types more.
const TYPED_BYTES_MAX: usize = 1024;
/// Most clauses that are looked at.
const CLAUSES_MAX: usize = 32;
/// Most words of a phrase.
const PHRASE_WORDS_MAX: usize = 32;
/// Largest number of letters that may differ.
const DISTANCE_MAX: u8 = 2;
/// Largest number of words between those of a phrase.
const SLOP_MAX: u32 = 50;

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Typed {
    /// All of these are wanted; of each, any alternative.
    pub(crate) wanted: Vec<Vec<Clause>>,
    /// None of these.
    pub(crate) unwanted: Vec<Clause>,
}

/// One thing to look for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Clause {
    /// Only in names.
    pub(crate) label_only: bool,
    pub(crate) what: What,
}

/// What a clause is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum What {
    Word(String),
    /// Words that begin so.
    Prefix(String),
    /// Words that differ in so many letters at most.
    Fuzzy(String, u8),
    /// Words one after the other.
    Phrase {
        words: Vec<String>,
        /// How many other words may be between them, together.
        slop: u32,
        /// The last is only the beginning of a word.
        open: bool,
    },
}

impl Typed {
    /// Takes a text apart.
    pub(crate) fn parse(text: &str) -> Self {
        let text = &text[..floor_boundary(text, TYPED_BYTES_MAX)];
        let mut typed = Self::default();
        let (mut excluded, mut alternative) = (false, false);
        let mut clauses = 0;
        let mut rest = text;
        loop {
            rest = rest.trim_start_matches(is_space);
            let Some(first) = rest.chars().next() else {
                break;
            };
            if clauses == CLAUSES_MAX {
                break;
            }
            if (first == '-' || first == '+') && rest[1..].starts_with(|next: char| !is_space(next)) {
                excluded = first == '-';
                rest = &rest[1..];
                continue;
            }
            let (piece, after) = piece(rest);
            rest = after;
            match piece.raw {
                "OR" if !piece.quoted => {
                    alternative = !typed.wanted.is_empty() && !excluded;
                    continue;
                }
                "AND" if !piece.quoted => continue,
                "NOT" if !piece.quoted => {
                    excluded = true;
                    continue;
                }
                _ => {}
            }
            let clause = piece.clause();
            let (was_excluded, was_alternative) = (excluded, alternative);
            (excluded, alternative) = (false, false);
            let Some(clause) = clause else {
                continue;
            };
            clauses += 1;
            if was_excluded {
                typed.unwanted.push(clause);
            } else if was_alternative && let Some(last) = typed.wanted.last_mut() {
                last.push(clause);
            } else {
                typed.wanted.push(vec![clause]);
            }
        }
        typed
    }

    /// Everything that is looked for as alternatives of one thing.
    pub(crate) fn any(&self) -> Self {
        Self {
            wanted: vec![self.wanted.iter().flatten().cloned().collect()],
            unwanted: self.unwanted.clone(),
        }
    }

    /// What was typed is not finished: the last word may go on.
    pub(crate) fn open_last(&mut self) {
        let last = self.wanted.last_mut().and_then(|alternatives| alternatives.last_mut());
        if let Some(Clause { what, .. }) = last {
            match what {
                What::Word(word) => *what = What::Prefix(std::mem::take(word)),
                What::Phrase { open, .. } => *open = true,
                What::Prefix(_) | What::Fuzzy(..) => {}
            }
        }
    }

    /// The plain words, when nothing else was typed.
    pub(crate) fn plain_words(&self) -> Option<Vec<&str>> {
        if !self.unwanted.is_empty() {
            return None;
        }
        let word = |alternatives: &Vec<Clause>| {
            matches!(
                alternatives.as_slice(),
                [Clause { label_only: false, what: What::Word(_) | What::Prefix(_) }]
            )
        };
        if !self.wanted.iter().all(word) {
            return None;
        }
        let words = self.wanted.iter().flatten().filter_map(|clause| match &clause.what {
            What::Word(word) | What::Prefix(word) => Some(word.as_str()),
            What::Fuzzy(..) | What::Phrase { .. } => None,
        });
        Some(words.collect())
    }
}

/// Brackets group in other search engines; here they are as good as spaces.
fn is_space(character: char) -> bool {
    character.is_whitespace() || matches!(character, '(' | ')' | '[' | ']' | '{' | '}' | '\\')
}

/// A piece of the text: something in quotes, or up to the next space.
struct Piece<'a> {
    raw: &'a str,
    label_only: bool,
    quoted: bool,
    /// The number after `~`.
    tilde: Option<&'a str>,
    star: bool,
}

fn piece(text: &str) -> (Piece<'_>, &str) {
    let (mut label_only, mut text) = (false, text);
    for (field, is_label) in [("label:", true), ("body:", false)] {
        if let Some(rest) = text.strip_prefix(field)
            && rest.starts_with(|next: char| !is_space(next))
        {
            (label_only, text) = (is_label, rest);
            break;
        }
    }
    let mut piece = Piece { raw: "", label_only, quoted: false, tilde: None, star: false };
    if let Some(inside) = text.strip_prefix('"') {
        let (raw, mut rest) = inside.split_once('"').unwrap_or((inside, ""));
        piece.raw = raw;
        piece.quoted = true;
        if let Some(after) = rest.strip_prefix('*') {
            piece.star = true;
            rest = after;
        } else if let Some(after) = rest.strip_prefix('~') {
            let end = after.find(|next: char| !next.is_ascii_digit()).unwrap_or(after.len());
            piece.tilde = Some(&after[..end]);
            rest = &after[end..];
        }
        return (piece, rest);
    }
    let end = text.find(|next: char| is_space(next) || next == '"').unwrap_or(text.len());
    let (mut raw, rest) = text.split_at(end);
    // A weight, as other engines have them.
    if let Some((word, boost)) = raw.rsplit_once('^')
        && boost.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
    {
        raw = word;
    }
    if let Some(word) = raw.strip_suffix('*') {
        raw = word;
        piece.star = true;
    } else if let Some((word, distance)) = raw.rsplit_once('~')
        && distance.bytes().all(|byte| byte.is_ascii_digit())
    {
        raw = word;
        piece.tilde = Some(distance);
    }
    piece.raw = raw;
    (piece, rest)
}

impl Piece<'_> {
    /// Nothing when there is no word in it.
    fn clause(&self) -> Option<Clause> {
        let mut words = words_of(self.raw);
        words.truncate(PHRASE_WORDS_MAX);
        let distance = self.tilde.map(|number| number.parse::<u32>().unwrap_or(1));
        let what = if words.len() > 1 {
            What::Phrase { words, slop: distance.unwrap_or(0).min(SLOP_MAX), open: self.star }
        } else {
            let word = words.pop()?;
            match distance {
                _ if self.star => What::Prefix(word),
                Some(distance @ 1..) if !self.quoted => {
                    What::Fuzzy(word, u8::try_from(distance).unwrap_or(DISTANCE_MAX).min(DISTANCE_MAX))
                }
                _ => What::Word(word),
            }
        };
        Some(Clause { label_only: self.label_only, what })
    }
}

/// The words of a text, as the index has them.
pub(crate) fn words_of(text: &str) -> Vec<String> {
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    let mut words = Vec::new();
    while stream.advance() {
        words.push(stream.token().text.clone());
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Clauses in short: `=word`, `^begin`, `~1almost`, `"a b"`, with `l` before those for labels and `|` between alternatives.
    fn show(typed: &Typed) -> String {
        let clause = |clause: &Clause| {
            let label = if clause.label_only { "l" } else { "" };
            match &clause.what {
                What::Word(word) => format!("{label}={word}"),
                What::Prefix(word) => format!("{label}^{word}"),
                What::Fuzzy(word, distance) => format!("{label}~{distance}{word}"),
                What::Phrase { words, slop, open } => {
                    let star = if *open { "*" } else { "" };
                    format!("{label}\"{}\"{slop}{star}", words.join(" "))
                }
            }
        };
        let mut parts: Vec<String> = typed
            .wanted
            .iter()
            .map(|alternatives| alternatives.iter().map(clause).collect::<Vec<_>>().join("|"))
            .collect();
        parts.extend(typed.unwanted.iter().map(|unwanted| format!("-{}", clause(unwanted))));
        parts.join(" ")
    }

    #[test]
    fn what_people_type() {
        for (text, expected) in [
            ("Blue Harbour", "=blue =harbour"),
            ("CAFÉ", "=cafe"),
            ("pain* paint~ paint~2 paint~9", "^pain ~1paint ~2paint ~2paint"),
            ("\"blue harbour\" \"blue harb\"* \"a b\"~3", "\"blue harbour\"0 \"blue harb\"0* \"a b\"3"),
            ("\"one\" \"pre\"*", "=one ^pre"),
            ("a -b NOT c +d", "=a =d -=b -=c"),
            ("a OR b c", "=a|=b =c"),
            ("OR a OR", "=a"),
            ("a AND b", "=a =b"),
            ("label:ada body:x other:y", "l=ada =x \"other y\"0"),
            ("label:\"ada lovelace\"", "l\"ada lovelace\"0"),
            ("o'neill x-ray", "\"o neill\"0 \"x ray\"0"),
            ("http://example.org/a", "\"http example org a\"0"),
            ("word^3 word^x", "=word \"word x\"0"),
            ("(a [b} c)", "=a =b =c"),
            ("\"unclosed words", "\"unclosed words\"0"),
            ("- + * ~ \" \"\" : :: ^ \\", ""),
            ("a~x", "\"a x\"0"),
            ("word\"phrase here\"", "=word \"phrase here\"0"),
            ("", ""),
        ] {
            assert_eq!(show(&Typed::parse(text)), expected, "{text}");
        }
    }

    #[test]
    fn what_is_not_finished() {
        for (text, expected) in
            [("blue har", "=blue ^har"), ("\"blue har\"", "\"blue har\"0*"), ("a~1", "~1a"), ("", "")]
        {
            let mut typed = Typed::parse(text);
            typed.open_last();
            assert_eq!(show(&typed), expected, "{text}");
        }
    }

    #[test]
    fn plain_words_are_told_from_operators() {
        assert_eq!(Typed::parse("a b").plain_words(), Some(vec!["a", "b"]));
        for text in ["a -b", "\"a b\"", "a OR b", "a~1", "label:a"] {
            assert_eq!(Typed::parse(text).plain_words(), None, "{text}");
        }
    }

    proptest! {
        #[test]
        fn anything_can_be_typed(text in "\\PC{0,80}|[-+~*^\"():a b OR]{0,60}") {
            let mut typed = Typed::parse(&text);
            prop_assert!(typed.wanted.iter().all(|alternatives| !alternatives.is_empty()));
            typed.open_last();
            typed.any();
        }
    }
}
