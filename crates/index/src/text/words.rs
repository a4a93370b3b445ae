//! From text to words, in one pass.
//!
//! In: text. Out: its runs of letters and digits, in lower case, those of reasonable length. Most text is ASCII, and for that a
//! word is its bytes; the rest goes by what Unicode says.

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Longest word that is indexed, in bytes.
const WORD_BYTES_MAX: usize = 63;

/// Splits text into words.
#[derive(Clone, Default)]
pub(super) struct Words {
    token: Token,
}

/// The words of one text.
pub(super) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    token: &'a mut Token,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, token: &mut self.token }
    }
}

impl WordStream<'_> {
    /// The end of the word that begins at `start`, and whether it is plain ASCII.
    fn end_of_word(&self, start: usize) -> (usize, bool) {
        let bytes = self.text.as_bytes();
        let mut at = start;
        while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            at += 1;
        }
        if bytes.get(at).is_none_or(u8::is_ascii) {
            return (at, true);
        }
        let rest = &self.text[at..];
        let length = rest.find(|character: char| !character.is_alphanumeric()).unwrap_or(rest.len());
        (at + length, length == 0)
    }

    /// The next place where a word begins.
    fn start_of_word(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            let byte = *bytes.get(at)?;
            if byte.is_ascii_alphanumeric() {
                return Some(at);
            }
            if byte.is_ascii() {
                at += 1;
                continue;
            }
            let character = self.text[at..].chars().next()?;
            if character.is_alphanumeric() {
                return Some(at);
            }
            at += character.len_utf8();
        }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while let Some(start) = self.start_of_word() {
            let (end, is_ascii) = self.end_of_word(start);
            self.at = end;
            // Counted even when it is left out, so that a phrase does not reach across it.
            self.token.position = self.token.position.wrapping_add(1);
            let word = &self.text[start..end];
            if word.len() > WORD_BYTES_MAX {
                continue;
            }
            self.token.offset_from = start;
            self.token.offset_to = end;
            self.token.text.clear();
            if is_ascii {
                self.token.text.push_str(word);
                self.token.text.make_ascii_lowercase();
            } else {
                self.token.text.extend(word.chars().flat_map(char::to_lowercase));
            }
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        self.token
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};

    use super::*;

    fn words(analyzer: &mut TextAnalyzer, text: &str) -> Vec<(String, usize, usize, usize)> {
        let mut found = Vec::new();
        let mut stream = analyzer.token_stream(text);
        while stream.advance() {
            let token = stream.token();
            found.push((token.text.clone(), token.offset_from, token.offset_to, token.position));
        }
        found
    }

    /// Ours and tantivy's own, which takes four passes.
    #[track_caller]
    fn check(text: &str) {
        let mut plain = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(RemoveLongFilter::limit(WORD_BYTES_MAX + 1))
            .filter(LowerCaser)
            .build();
        let mut ours = TextAnalyzer::builder(Words::default()).build();
        assert_eq!(words(&mut ours, text), words(&mut plain, text), "{text:?}");
    }

    #[test]
    fn words_are_what_they_always_were() {
        for text in [
            "",
            " ",
            "a",
            "Blue Harbour, 1899!",
            "Café ÉCLAIR naïve",
            "дом ДОМ",
            "a\u{301}b",
            "東京タワー",
            "x-y_z",
        ] {
            check(text);
        }
        check(&format!("before {} after", "long".repeat(40)));
    }

    proptest! {
        #[test]
        fn words_of_any_text(text in "\\PC{0,60}|[a-zA-Zéß 0-9.]{0,80}") {
            check(&text);
        }
    }
}
