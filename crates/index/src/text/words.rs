//! From text to words, in one pass.
//!
//! In: text. Out: its runs of letters and digits, in lower case and without accents, those of reasonable length. Most text is ASCII, and most
//! words are short: such a word is found, and made lower case, eight bytes at a time, and never leaves the processor's registers. The letters of
//! Europe and the Near East are looked up in a table; for the rest Unicode and tantivy's [`AsciiFoldingFilter`] are asked. Start at
//! [`Cutter::next`]; [`Words`] is the same for tantivy.

use std::sync::LazyLock;

use tantivy::tokenizer::{AsciiFoldingFilter, RawTokenizer, TextAnalyzer, Token, TokenStream, Tokenizer};

/// Longest word that is indexed, in bytes.
const WORD_BYTES_MAX: usize = 63;
/// Room for such a word, whatever becomes of its letters: none grows to more than twice its bytes.
const FOLDED_BYTES_MAX: usize = 256;
/// The bytes of a word, and room for more.
pub(super) type WordBytes = [u8; FOLDED_BYTES_MAX];
/// The first bytes of a word, which are looked at together.
pub(super) const HEAD_BYTES: usize = size_of::<u128>();

/// Characters of two bytes in UTF-8 begin with no byte beyond this.
const TWO_BYTES_MAX: u8 = 0xdf;
/// Characters with entries in [`FOLDED`]: all of up to two bytes, then Latin and Greek with all their accents.
const TWO_BYTE_CHARACTERS: usize = 0x800;
const ACCENTED: std::ops::Range<usize> = 0x1e00..0x2000;
const TABLE: usize = TWO_BYTE_CHARACTERS + ACCENTED.end - ACCENTED.start;

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

/// What becomes of a character.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Folded {
    /// It is neither letter nor digit.
    NoLetter,
    /// These bytes, so many of them.
    Letters([u8; 4], u8),
    /// It is a letter, and tantivy has to be asked.
    Ask,
}

/// For each character of the table what it is in lower case and without accents.
static FOLDED: LazyLock<[Folded; TABLE]> = LazyLock::new(|| {
    let mut folding = folding();
    std::array::from_fn(|place| {
        let code =
            if place < TWO_BYTE_CHARACTERS { place } else { place - TWO_BYTE_CHARACTERS + ACCENTED.start };
        let Some(character) = u32::try_from(code).ok().and_then(char::from_u32) else {
            return Folded::NoLetter;
        };
        if !character.is_alphanumeric() {
            return Folded::NoLetter;
        }
        let lower: String = character.to_lowercase().collect();
        let mut stream = folding.token_stream(&lower);
        stream.advance();
        let letters = stream.token().text.as_bytes();
        let mut bytes = [0; 4];
        match bytes.get_mut(..letters.len()) {
            Some(start) => {
                start.copy_from_slice(letters);
                Folded::Letters(bytes, letters.len() as u8)
            }
            None => Folded::Ask,
        }
    })
});

/// Takes accents off a word as a whole.
fn folding() -> TextAnalyzer {
    TextAnalyzer::builder(RawTokenizer::default()).filter(AsciiFoldingFilter).build()
}

/// A word of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Word {
    /// Where it is in the text.
    pub(super) start: usize,
    pub(super) end: usize,
    /// Its first bytes as they are indexed, as a number that sorts like them. Shorter words end in zeros, which no word contains.
    pub(super) head: u128,
}

impl Word {
    /// Such words are counted and not indexed.
    pub(super) fn is_too_long(self) -> bool {
        self.end - self.start > WORD_BYTES_MAX
    }
}

/// Cuts text into words.
#[derive(Clone)]
pub(super) struct Cutter {
    /// The last word, when it did not fit a [`Word`].
    word: WordBytes,
    length: usize,
    folded: &'static [Folded; TABLE],
    folding: TextAnalyzer,
}

impl Default for Cutter {
    fn default() -> Self {
        Self { word: [0; FOLDED_BYTES_MAX], length: 0, folded: &FOLDED, folding: folding() }
    }
}

const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

const fn in_every_byte(byte: u8) -> u64 {
    byte as u64 * 0x0101_0101_0101_0101
}

/// The high bits of the bytes that are ASCII letters, and of those that are neither that nor digits.
#[inline]
fn kinds(bytes: u64) -> (u64, u64) {
    // The high bit of each byte of a sum says whether the byte is at least so large: no sum carries into the next byte.
    let low = bytes & !HIGH_BITS;
    let lower = low | in_every_byte(0x20);
    let letters = (lower + in_every_byte(0x80 - b'a')) & !(lower + in_every_byte(0x7f - b'z'));
    let digits = (low + in_every_byte(0x80 - b'0')) & !(low + in_every_byte(0x7f - b'9'));
    (letters & !bytes & HIGH_BITS, (!(letters | digits) | bytes) & HIGH_BITS)
}

/// The ASCII word that eight bytes begin with, in lower case, and its length; nothing when it goes on after them, or with a byte that is not ASCII.
#[inline]
fn short_word(bytes: u64) -> Option<(u64, u32)> {
    let (letters, others) = kinds(bytes);
    let first = others & others.wrapping_neg();
    if first == 0 || bytes & first != 0 {
        return None;
    }
    // All bits below the first other byte.
    let kept = (first >> 7) - 1;
    Some(((bytes | letters >> 2) & kept, first.trailing_zeros() / 8))
}

/// Eight ASCII letters or digits in lower case; nothing when there are others among them.
#[inline]
fn eight_letters(bytes: u64) -> Option<u64> {
    let (letters, others) = kinds(bytes);
    (others == 0).then_some(bytes | letters >> 2)
}

/// Eight bytes of a text; zeros beyond its end.
#[inline]
fn eight_bytes(bytes: &[u8], at: usize) -> u64 {
    if let Some(eight) = bytes.get(at..at + 8) {
        return u64::from_le_bytes(eight.try_into().unwrap_or_default());
    }
    let mut eight = [0; 8];
    let rest = bytes.get(at..).unwrap_or_default();
    eight[..rest.len()].copy_from_slice(rest);
    u64::from_le_bytes(eight)
}

impl Cutter {
    /// The first word that begins at `at` or later.
    #[inline]
    pub(super) fn next(&mut self, text: &str, at: usize) -> Option<Word> {
        let start = self.start_of_word(text, at)?;
        let bytes = text.as_bytes();
        self.length = 0;
        let first = eight_bytes(bytes, start);
        if let Some((letters, length)) = short_word(first) {
            let head = u128::from(letters.swap_bytes()) << 64;
            return Some(Word { start, end: start + length as usize, head });
        }
        if let Some(letters) = eight_letters(first)
            && let Some((rest, length)) = short_word(eight_bytes(bytes, start + 8))
        {
            let head = u128::from(letters.swap_bytes()) << 64 | u128::from(rest.swap_bytes());
            return Some(Word { start, end: start + 8 + length as usize, head });
        }
        Some(self.take_long(text, start))
    }

    /// What the last word has beyond its head.
    #[inline]
    pub(super) fn tail(&self) -> &[u8] {
        self.word.get(HEAD_BYTES..self.length).unwrap_or_default()
    }

    /// The word that begins at `start`, however long it is and whatever it is written in.
    #[inline(never)]
    fn take_long(&mut self, text: &str, start: usize) -> Word {
        let bytes = text.as_bytes();
        let mut at = start;
        let mut ask = false;
        'word: loop {
            // A run of ASCII, up to eight bytes at a time.
            let eight = eight_bytes(bytes, at);
            let (letters, others) = kinds(eight);
            let run = others.trailing_zeros() as usize / 8;
            self.push((eight | letters >> 2).to_le_bytes(), run);
            at += run;
            if run == 8 {
                continue;
            }
            // Then characters of more than a byte; where there are none, the word ends.
            let rest = at;
            while bytes.get(at).is_some_and(|byte| *byte >= 0x80) {
                let (folded, length) = self.folded_at(text, at);
                match folded {
                    Folded::NoLetter => break 'word,
                    Folded::Letters(letters, count) => self.push(letters, usize::from(count)),
                    Folded::Ask => {
                        ask = true;
                        for lower in text[at..at + length].chars().flat_map(char::to_lowercase) {
                            let mut encoded = [0; 4];
                            let count = lower.encode_utf8(&mut encoded).len();
                            self.push(encoded, count);
                        }
                    }
                }
                at += length;
            }
            if at == rest {
                break;
            }
        }
        if ask {
            self.fold();
        }
        let mut head = [0; HEAD_BYTES];
        let length = self.length.min(HEAD_BYTES);
        head[..length].copy_from_slice(&self.word[..length]);
        Word { start, end: at, head: u128::from_be_bytes(head) }
    }

    /// Appends the first `count` of some bytes. Those that find no room are of a word that is left out.
    #[inline]
    fn push<const N: usize>(&mut self, letters: [u8; N], count: usize) {
        if let Some(room) = self.word.get_mut(self.length..self.length + N) {
            // All of them, which is cheaper; what is too much is written over.
            room.copy_from_slice(&letters);
            self.length += count;
        }
    }

    fn fold(&mut self) {
        let bytes = self.word;
        let word = std::str::from_utf8(&bytes[..self.length]).unwrap_or_default();
        let mut stream = self.folding.token_stream(word);
        stream.advance();
        let folded = stream.token().text.as_bytes();
        self.length = folded.len().min(FOLDED_BYTES_MAX);
        self.word[..self.length].copy_from_slice(&folded[..self.length]);
    }

    /// The next place where a word begins.
    #[inline]
    fn start_of_word(&self, text: &str, mut at: usize) -> Option<usize> {
        let bytes = text.as_bytes();
        loop {
            match LOWER[usize::from(*bytes.get(at)?)] {
                NO_LETTER => at += 1,
                BEYOND => match self.folded_at(text, at) {
                    (Folded::NoLetter, bytes) => at += bytes,
                    _ => return Some(at),
                },
                _ => return Some(at),
            }
        }
    }

    /// What becomes of the character that begins at a byte that is not ASCII, and how many bytes it has.
    fn folded_at(&self, text: &str, at: usize) -> (Folded, usize) {
        let bytes = text.as_bytes();
        if let Some(&[first, second]) = bytes.get(at..at + 2)
            && first <= TWO_BYTES_MAX
        {
            return (self.folded[usize::from(first & 0x1f) << 6 | usize::from(second & 0x3f)], 2);
        }
        if bytes[at..].starts_with(b"\xe2\x80") {
            // Dashes, quotation marks and the like, up to U+203F.
            return (Folded::NoLetter, 3);
        }
        let Some(character) = text[at..].chars().next() else { return (Folded::NoLetter, 1) };
        let code = character as usize;
        let folded = if ACCENTED.contains(&code) {
            self.folded[code - ACCENTED.start + TWO_BYTE_CHARACTERS]
        } else if !character.is_alphanumeric() {
            Folded::NoLetter
        } else if matches!(character, '\u{3041}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{ac00}'..='\u{d7a3}')
        {
            // Kana, Han and Hangul know neither case nor accents.
            let mut letters = [0; 4];
            let length = character.encode_utf8(&mut letters).len();
            Folded::Letters(letters, length as u8)
        } else {
            Folded::Ask
        };
        (folded, character.len_utf8())
    }
}

/// [`Cutter`] as tantivy wants it.
#[derive(Clone, Default)]
pub(super) struct Words {
    cutter: Cutter,
    token: Token,
}

/// The words of one text.
pub(super) struct WordStream<'a> {
    text: &'a str,
    at: usize,
    words: &'a mut Words,
}

impl Tokenizer for Words {
    type TokenStream<'a> = WordStream<'a>;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> WordStream<'a> {
        self.token.reset();
        WordStream { text, at: 0, words: self }
    }
}

impl TokenStream for WordStream<'_> {
    fn advance(&mut self) -> bool {
        let Words { cutter, token } = &mut *self.words;
        while let Some(word) = cutter.next(self.text, self.at) {
            self.at = word.end;
            // Counted even when it is left out, so that a phrase does not reach across it.
            token.position = token.position.wrapping_add(1);
            if word.is_too_long() {
                continue;
            }
            let mut bytes = [0; FOLDED_BYTES_MAX];
            let length = spell(word.head, cutter.tail(), &mut bytes);
            token.text.clear();
            token.text.push_str(std::str::from_utf8(&bytes[..length]).unwrap_or_default());
            token.offset_from = word.start;
            token.offset_to = word.end;
            return true;
        }
        false
    }

    fn token(&self) -> &Token {
        &self.words.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.words.token
    }
}

/// Writes the bytes of a word and says how many they are.
pub(super) fn spell(head: u128, tail: &[u8], bytes: &mut WordBytes) -> usize {
    bytes[..HEAD_BYTES].copy_from_slice(&head.to_be_bytes());
    if tail.is_empty() {
        return HEAD_BYTES - head.trailing_zeros() as usize / 8;
    }
    bytes[HEAD_BYTES..HEAD_BYTES + tail.len()].copy_from_slice(tail);
    HEAD_BYTES + tail.len()
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
        for character in (0_u32..0x1_1000).filter_map(char::from_u32) {
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
