//! From text to words, in one pass.
//!
//! In: text. Out: its runs of letters and digits, in lower case, those of reasonable length. Most text is ASCII, and for that a
//! word is its bytes. The letters of Europe and the Near East are looked up in a small table, and the rest goes by what
//! Unicode says.

use std::sync::LazyLock;

use tantivy::tokenizer::{Token, TokenStream, Tokenizer};

/// Longest word that is indexed, in bytes.
const WORD_BYTES_MAX: usize = 63;

/// Characters of two bytes in UTF-8 begin with no byte beyond this.
const TWO_BYTES_MAX: u8 = 0xdf;
/// In [`LOWER`]: Unicode has to be asked.
const ASK: u16 = u16::MAX;

/// For each character of up to two bytes in UTF-8 the same in lower case; nought for what is neither letter nor digit.
static LOWER: LazyLock<[u16; 0x800]> = LazyLock::new(|| {
    std::array::from_fn(|code| {
        let Some(character) = u32::try_from(code).ok().and_then(char::from_u32) else { return 0 };
        if !character.is_alphanumeric() {
            return 0;
        }
        let mut lower = character.to_lowercase();
        match (lower.next().and_then(|lower| u16::try_from(u32::from(lower)).ok()), lower.next()) {
            (Some(lower), None) => lower,
            _ => ASK,
        }
    })
});

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
    lower: &'static [u16; 0x800],
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, token: &mut self.token, lower: &LOWER }
    }
}

/// A character that is not ASCII.
enum Lower {
    /// Neither letter nor digit, of so many bytes.
    NoLetter(usize),
    /// One of two bytes, in lower case.
    One(char),
    /// Any other letter or digit, as it is.
    Ask(char),
}

impl WordStream<'_> {
    /// Puts the word that begins at `start` into the token, in lower case. Answers where it ends.
    fn take_word(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        let mut at = start;
        while bytes.get(at).is_some_and(u8::is_ascii_alphanumeric) {
            at += 1;
        }
        let word = &mut self.token.text;
        word.clear();
        word.push_str(&self.text[start..at]);
        word.make_ascii_lowercase();
        while let Some(&byte) = bytes.get(at) {
            if byte.is_ascii() {
                if !byte.is_ascii_alphanumeric() {
                    break;
                }
                word.push(char::from(byte.to_ascii_lowercase()));
                at += 1;
                continue;
            }
            match lower_at(self.text, self.lower, at) {
                Lower::NoLetter(_) => break,
                Lower::One(lower) => {
                    word.push(lower);
                    at += 2;
                }
                Lower::Ask(character) => {
                    word.extend(character.to_lowercase());
                    at += character.len_utf8();
                }
            }
        }
        at
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
            match lower_at(self.text, self.lower, at) {
                Lower::NoLetter(bytes) => at += bytes,
                Lower::One(_) | Lower::Ask(_) => return Some(at),
            }
        }
    }
}

/// What begins at a byte that is not ASCII.
fn lower_at(text: &str, table: &[u16; 0x800], at: usize) -> Lower {
    if let Some(&[first, second]) = text.as_bytes().get(at..at + 2)
        && first <= TWO_BYTES_MAX
    {
        let code = usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f);
        match table[code] {
            0 => return Lower::NoLetter(2),
            ASK => {}
            lower => return char::from_u32(u32::from(lower)).map_or(Lower::NoLetter(2), Lower::One),
        }
    }
    match text[at..].chars().next() {
        Some(character) if character.is_alphanumeric() => Lower::Ask(character),
        Some(character) => Lower::NoLetter(character.len_utf8()),
        None => Lower::NoLetter(1),
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        while let Some(start) = self.start_of_word() {
            let end = self.take_word(start);
            self.at = end;
            // Counted even when it is left out, so that a phrase does not reach across it.
            self.token.position = self.token.position.wrapping_add(1);
            if end - start > WORD_BYTES_MAX {
                continue;
            }
            self.token.offset_from = start;
            self.token.offset_to = end;
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
        for character in (0_u32..0x1000).filter_map(char::from_u32) {
            check(&format!("a{character}B {character}{character} x"));
        }
    }

    proptest! {
        #[test]
        fn words_of_any_text(text in "\\PC{0,60}|[a-zA-Zéß 0-9.]{0,80}") {
            check(&text);
        }
    }
}
