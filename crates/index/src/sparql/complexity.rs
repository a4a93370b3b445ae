//! Refuses queries that could overflow the stack, before anything recursive looks at them.
//!
//! In: the text of a query or an update. Out: nothing, or an error that says what there is too much of. The parser
//! recurses over brackets and signs, and chains (`a || b || c`, `. `, `UNION`) become trees as deep as they are
//! long; an overflow of the stack cannot be caught. So this counts, in one pass over the bytes, and understands
//! no more of SPARQL than where strings, IRIs and comments begin and end. Start at [`refuse_too_complex`].

use crate::error::IndexError;

/// Deepest nesting of brackets and signs in a query.
const NESTING_MAX: usize = 64;
/// Most operators in a query, or in one operation of an update.
const OPERATORS_MAX: usize = 1000;
/// Most patterns in a query, or in one operation of an update. The optimiser's time grows with the fourth power of
/// their number, and it cannot be interrupted: 240 of them keep it busy for ten seconds.
const PATTERNS_MAX: usize = 128;
/// Words that join the pattern that came before with the one that follows.
const LINKING_WORDS: [&str; 9] =
    ["UNION", "OPTIONAL", "MINUS", "FILTER", "BIND", "GRAPH", "LATERAL", "SERVICE", "VALUES"];

/// What is counted.
#[derive(Default)]
struct Counts {
    depth: usize,
    deepest: usize,
    /// Signs that follow each other directly.
    signs: usize,
    operators: usize,
    patterns: usize,
    /// Depth of the brackets around `DATA { … }`, whose triples are data and not patterns.
    data: Option<usize>,
}

impl Counts {
    fn refuse(&self) -> Result<(), IndexError> {
        let what = if self.deepest > NESTING_MAX {
            format!("it is nested more than {NESTING_MAX} deep")
        } else if self.operators > OPERATORS_MAX {
            format!("it has more than {OPERATORS_MAX} operators")
        } else if self.patterns > PATTERNS_MAX {
            format!("it has more than {PATTERNS_MAX} patterns")
        } else {
            return Ok(());
        };
        Err(IndexError::TooComplex { what })
    }

    fn operator(&mut self) {
        self.operators += usize::from(self.data.is_none());
    }

    fn pattern(&mut self) {
        self.patterns += usize::from(self.data.is_none());
    }
}

/// Counts, and refuses what is too much.
pub(super) fn refuse_too_complex(text: &str) -> Result<(), IndexError> {
    let bytes = text.as_bytes();
    let mut counts = Counts::default();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        let is_sign = matches!(byte, b'!' | b'-' | b'+' | b'^');
        match byte {
            b'"' | b'\'' => at = skip_string(bytes, at - 1),
            b'#' => at += count_while(&bytes[at..], |byte| !matches!(byte, b'\n' | b'\r')),
            b'<' => match iri_length(&bytes[at..]) {
                Some(length) => at += length,
                None => counts.operator(),
            },
            b'(' | b'[' | b'{' => counts.depth += 1,
            b')' | b']' | b'}' => {
                counts.depth = counts.depth.saturating_sub(1);
                if counts.data.is_some_and(|depth| counts.depth <= depth) {
                    counts.data = None;
                }
            }
            b'|' | b'&' | b'*' | b'=' | b'>' | b'!' | b'-' | b'+' | b'^' => counts.operator(),
            // A dot inside a number or a name separates nothing.
            b'.' if bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) => counts.operator(),
            // Between the operations of an update; each is evaluated on its own.
            b';' if counts.depth == 0 => {
                counts.refuse()?;
                counts = Counts::default();
            }
            b'/' | b';' | b'.' => counts.pattern(),
            // Lists of arguments are flat; lists of objects are not, and are not in brackets of their own.
            b',' if counts.depth < 2 => counts.pattern(),
            b'a'..=b'z' | b'A'..=b'Z' => {
                let length = count_while(&bytes[at..], |byte| byte.is_ascii_alphanumeric() || byte == b'_');
                let word = &text[at - 1..at + length];
                at += length;
                if LINKING_WORDS.iter().any(|linking| word.eq_ignore_ascii_case(linking)) {
                    counts.pattern();
                } else if counts.depth == 0 && word.eq_ignore_ascii_case("DATA") {
                    counts.data = Some(0);
                }
            }
            _ => {}
        }
        if is_sign {
            counts.signs += 1;
        } else if !byte.is_ascii_whitespace() {
            counts.signs = 0;
        }
        counts.deepest = counts.deepest.max(counts.depth + counts.signs);
    }
    counts.refuse()
}

/// One operation of an update request as its text names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OperationWord {
    /// The word it begins with, in capitals.
    pub(super) word: String,
    /// Whether the word `SILENT` follows.
    pub(super) silent: bool,
}

/// The operations of an update request in order. The parser rewrites `COPY`, `MOVE` and `ADD` into other operations
/// and forgets that they were one, and that they were silent.
pub(super) fn operation_words(text: &str) -> Vec<OperationWord> {
    let bytes = text.as_bytes();
    let mut operations: Vec<OperationWord> = Vec::new();
    let (mut at, mut depth, mut begun) = (0, 0usize, false);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' | b'\'' => at = skip_string(bytes, at - 1),
            b'#' => at += count_while(&bytes[at..], |byte| !matches!(byte, b'\n' | b'\r')),
            b'<' => at += iri_length(&bytes[at..]).unwrap_or(0),
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            b';' if depth == 0 => begun = false,
            _ if depth == 0
                && (byte.is_ascii_alphanumeric() || byte >= 0x80 || matches!(byte, b'_' | b':')) =>
            {
                // A whole name, so that neither half of `drop:copy` is taken for a word.
                let length = count_while(&bytes[at..], |byte| {
                    byte.is_ascii_alphanumeric()
                        || byte >= 0x80
                        || matches!(byte, b'_' | b':' | b'-' | b'.' | b'%')
                });
                let word = text.get(at - 1..at + length).unwrap_or_default().to_ascii_uppercase();
                at += length;
                if word.contains(':') || matches!(word.as_str(), "PREFIX" | "BASE") {
                    continue;
                }
                match operations.last_mut() {
                    Some(operation) if begun => operation.silent |= word == "SILENT",
                    _ => {
                        operations.push(OperationWord { word, silent: false });
                        begun = true;
                    }
                }
            }
            _ => {}
        }
    }
    operations
}

/// True when the query says `SELECT *`, outside of all brackets.
pub(super) fn selects_all(text: &str) -> bool {
    let bytes = text.as_bytes();
    let (mut at, mut depth, mut selects) = (0, 0usize, false);
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' | b'\'' => at = skip_string(bytes, at - 1),
            b'#' => at += count_while(&bytes[at..], |byte| !matches!(byte, b'\n' | b'\r')),
            b'<' => at += iri_length(&bytes[at..]).unwrap_or(0),
            b'{' | b'(' => depth += 1,
            b'}' | b')' => depth = depth.saturating_sub(1),
            b'*' if depth == 0 && selects => return true,
            _ if depth == 0 && byte.is_ascii_alphabetic() => {
                let length = count_while(&bytes[at..], |byte| {
                    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b':')
                });
                let word = text.get(at - 1..at + length).unwrap_or_default();
                at += length;
                let is = |known: &str| word.eq_ignore_ascii_case(known);
                selects = is("SELECT") || selects && (is("DISTINCT") || is("REDUCED"));
            }
            _ => {}
        }
    }
    false
}

/// The names of variables, in the order of their first appearance.
pub(super) fn variables(text: &str) -> Vec<&str> {
    let bytes = text.as_bytes();
    let mut names: Vec<&str> = Vec::new();
    let mut seen = std::collections::HashSet::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        at += 1;
        match byte {
            b'"' | b'\'' => at = skip_string(bytes, at - 1),
            b'#' => at += count_while(&bytes[at..], |byte| !matches!(byte, b'\n' | b'\r')),
            b'<' => at += iri_length(&bytes[at..]).unwrap_or(0),
            b'?' | b'$' => {
                let length = count_while(&bytes[at..], |byte| {
                    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
                });
                if let Some(name) = text.get(at..at + length)
                    && !name.is_empty()
                    && seen.insert(name)
                {
                    names.push(name);
                }
                at += length;
            }
            _ => {}
        }
    }
    names
}

fn count_while(bytes: &[u8], wanted: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| wanted(**byte)).count()
}

/// What follows a `<`: the length of an IRI with its closing bracket; nothing for the operator. IRIs have no spaces.
fn iri_length(bytes: &[u8]) -> Option<usize> {
    let length = count_while(bytes, |byte| !matches!(byte, b'>' | b'<' | b'"' | b'{' | b'}' | 0..=b' '));
    (bytes.get(length) == Some(&b'>')).then_some(length + 1)
}

/// The place after the string literal that begins at `start`.
fn skip_string(bytes: &[u8], start: usize) -> usize {
    let quote = bytes[start];
    let long = bytes[start..].starts_with(&[quote; 3]);
    let mut at = start + if long { 3 } else { 1 };
    while let Some(&byte) = bytes.get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote && !long => return at + 1,
            _ if byte == quote && bytes[at..].starts_with(&[quote; 3]) => return at + 3,
            // A short string ends with its line; what follows is the parser's to complain about.
            b'\n' if !long => return at,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_operations() {
        let words = |text: &str| -> Vec<String> {
            let word = |operation: &OperationWord| {
                format!("{}{}", operation.word, if operation.silent { " SILENT" } else { "" })
            };
            operation_words(text).iter().map(word).collect()
        };
        for (text, expected) in [
            ("", &[][..]),
            ("CLEAR ALL ;", &["CLEAR"]),
            ("PREFIX copy: <http://a/;> COPY SILENT copy:a TO copy:silent", &["COPY SILENT"]),
            (
                "INSERT DATA { <a> <b> ';', 'MOVE' ; <c> <d> } ; # ; ADD\n BASE <x> add <a> TO DEFAULT; WITH <g> DELETE {} WHERE {}",
                &["INSERT", "ADD", "WITH"],
            ),
        ] {
            assert_eq!(words(text), expected, "{text}");
        }
    }

    #[test]
    fn variables_as_written() {
        assert!(selects_all("PREFIX select: <a*> SELECT DISTINCT * { ?b ?a '?x' } # ?y"));
        assert!(!selects_all("SELECT (COUNT(*) AS ?n) { ?s <p>* ?o { SELECT * {} } }"));
        assert!(!selects_all("ASK { ?s <p>* ?o }"));
        assert_eq!(variables("SELECT * { ?b $a '?x' <?y> ; <p>? ?b , ?ü } # ?z"), ["b", "a", "ü"]);
    }

    #[test]
    fn much_data_is_not_complex() {
        let triples = "<a> <b> 1 ; <c> -1 , 2 .\n".repeat(1000);
        refuse_too_complex(&format!("INSERT DATA {{ {triples} GRAPH <g> {{ {triples} }} }}")).unwrap();
        assert!(refuse_too_complex(&format!("INSERT {{}} WHERE {{ {triples} }}")).is_err());
        assert!(
            refuse_too_complex(&format!("INSERT DATA {{ }} ; INSERT {{}} WHERE {{ {triples} }}")).is_err()
        );
        refuse_too_complex(&"CLEAR ALL ; DELETE WHERE { ?s ?p ?o . ?o ?p ?s } ;".repeat(1000)).unwrap();
    }
}
