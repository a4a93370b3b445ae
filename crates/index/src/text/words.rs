//! From text to words, in one pass.
//!
//! In: text. Out: its runs of letters and digits, in lower case, those of reasonable length. Most text is ASCII, and for that a
//! word is its bytes, each looked up once. The letters of Europe and the Near East are looked up in a table too, and lose their accents
//! on the way, as tantivy's [`AsciiFoldingFilter`] would take them off; the rest goes by what Unicode says.

use std::sync::LazyLock;

use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longest word that is indexed, in bytes.
const WORD_BYTES_MAX: usize = 63;

/// Characters of two bytes in UTF-8 begin with no byte beyond this.
const TWO_BYTES_MAX: u8 = 0xdf;

/// In [`LOWER`]: no letter or digit.
const NO_LETTER: u8 = 0;
/// In [`LOWER`]: not ASCII.
const BEYOND: u8 = 1;

/// For each byte the same in lower case if it is an ASCII letter or digit.
const LOWER: [u8; 256] = {
    let mut table = [NO_LETTER; 256];
    let mut byte = 0;
    while byte < 256 {
        let ascii = byte as u8;
        table[byte] = match ascii {
            b'0'..=b'9' | b'a'..=b'z' => ascii,
            b'A'..=b'Z' => ascii.to_ascii_lowercase(),
            0..0x80 => NO_LETTER,
            0x80.. => BEYOND,
        };
        byte += 1;
    }
    table
};

/// What becomes of a character of two bytes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folded {
    /// It is neither letter nor digit.
    NoLetter,
    /// These, of which the second may be missing.
    Letters(char, Option<char>),
    /// Unicode has to be asked.
    Ask,
}

/// For each character of up to two bytes in UTF-8 what it is in lower case and without accents.
static FOLDED: LazyLock<[Folded; 0x800]> = LazyLock::new(|| {
    let mut folding = TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build();
    std::array::from_fn(|code| {
        let Some(character) = u32::try_from(code).ok().and_then(char::from_u32) else {
            return Folded::NoLetter;
        };
        if !character.is_alphanumeric() {
            return Folded::NoLetter;
        }
        let lower: String = character.to_lowercase().collect();
        let mut stream = folding.token_stream(&lower);
        stream.advance();
        let mut letters = stream.token().text.chars();
        match (letters.next(), letters.next(), letters.next()) {
            (Some(first), second, None) => Folded::Letters(first, second),
            _ => Folded::Ask,
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
    folded: &'static [Folded; 0x800],
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, token: &mut self.token, folded: &FOLDED }
    }
}

impl WordStream<'_> {
    /// Puts the word that begins at `start` into the token, as it is indexed. Answers where it ends.
    fn take_word(&mut self, start: usize) -> usize {
        let bytes = self.text.as_bytes();
        self.token.text.clear();
        let mut at = start;
        loop {
            // A run of ASCII. What does not fit is passed over: such a word is left out.
            let mut run = [0; WORD_BYTES_MAX + 1];
            let mut length = 0;
            let mut next = NO_LETTER;
            for &byte in &bytes[at..] {
                next = LOWER[usize::from(byte)];
                if next <= BEYOND {
                    break;
                }
                run[length.min(WORD_BYTES_MAX)] = next;
                length += 1;
            }
            at += length;
            let run = std::str::from_utf8(&run[..length.min(run.len())]).unwrap_or_default();
            self.token.text.push_str(run);
            if next != BEYOND || at == bytes.len() {
                return at;
            }
            match self.folded_at(at) {
                (Folded::NoLetter, _) => return at,
                (Folded::Letters(first, second), bytes) => {
                    self.token.text.push(first);
                    self.token.text.extend(second);
                    at += bytes;
                }
                (Folded::Ask, bytes) => {
                    let character = self.text[at..at + bytes].chars().flat_map(char::to_lowercase);
                    self.token.text.extend(character);
                    at += bytes;
                }
            }
        }
    }

    /// The next place where a word begins.
    fn start_of_word(&self) -> Option<usize> {
        let bytes = self.text.as_bytes();
        let mut at = self.at;
        loop {
            match LOWER[usize::from(*bytes.get(at)?)] {
                NO_LETTER => at += 1,
                BEYOND => match self.folded_at(at) {
                    (Folded::NoLetter, bytes) => at += bytes,
                    _ => return Some(at),
                },
                _ => return Some(at),
            }
        }
    }

    /// What becomes of the character that begins at a byte that is not ASCII, and how many bytes it has.
    fn folded_at(&self, at: usize) -> (Folded, usize) {
        if let Some(&[first, second]) = self.text.as_bytes().get(at..at + 2)
            && first <= TWO_BYTES_MAX
        {
            return (self.folded[usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f)], 2);
        }
        if self.text.as_bytes()[at..].starts_with(b"\xe2\x80") {
            // Dashes, quotation marks and the like, up to U+203F.
            return (Folded::NoLetter, 3);
        }
        match self.text[at..].chars().next() {
            Some(character) if character.is_alphanumeric() => (Folded::Ask, character.len_utf8()),
            Some(character) => (Folded::NoLetter, character.len_utf8()),
            None => (Folded::NoLetter, 1),
        }
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
    use tantivy::tokenizer::{LowerCaser, RemoveLongFilter, SimpleTokenizer};

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

    /// Ours and tantivy's own, which takes five passes.
    #[track_caller]
    fn check(text: &str) {
        let mut plain = TextAnalyzer::builder(SimpleTokenizer::default())
            .filter(RemoveLongFilter::limit(WORD_BYTES_MAX + 1))
            .filter(LowerCaser)
            .filter(AsciiFoldingFilter)
            .build();
        let mut ours = crate::text::analyzer();
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
            "straße Æther ﬁne Ḃ",
        ] {
            check(text);
        }
        check(&format!("before {} after", "long".repeat(40)));
        for character in (0_u32..0x3000).filter_map(char::from_u32) {
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
