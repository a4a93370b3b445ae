//! Words without quotes: keys, numbers that JSON would not take, literals of other languages, strings nobody quoted.

use super::look::{is_word, is_word_start};
use super::mends::Mend;
use super::reader::Reader;

/// What became of a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bare {
    /// It is a value now.
    Written,
    /// It says that there is no value, or is an expression of a program.
    Nothing,
    /// The text ended in it, so that it may be half of something.
    Cut,
}

impl Reader<'_, '_> {
    /// The end of a key without quotes, or without the first of them.
    pub(super) fn bare_key_end(&self) -> Option<usize> {
        let mut end = self.at;
        while let Some(byte) = self.look.byte(end) {
            // `schema:name: …` is a key with a prefix.
            let prefix = byte == b':'
                && end > self.at
                && self.look.byte(end + 1).is_some_and(is_word_start)
                && self.look.key_ahead(end + 1, true);
            if is_word(byte) || byte >= 0x80 || prefix {
                end += 1;
            } else {
                break;
            }
        }
        let quote = self.look.opening_quote(end).map_or(0, |(_, length)| length);
        let colon = self.look.skip_space(end + quote);
        (end > self.at && matches!(self.look.byte(colon), Some(b':' | b'='))).then_some(end)
    }

    /// Writes a key without quotes.
    pub(super) fn write_bare_key(&mut self, end: usize) {
        self.mends.add(Mend::UnquotedKeys);
        self.bare_keys = true;
        self.out.push('"');
        self.push_escaped(end);
        self.out.push('"');
        if let Some((_, length)) = self.look.opening_quote(self.at) {
            self.at += length;
        }
    }

    /// Reads a value without quotes.
    pub(super) fn read_bare_value(&mut self) -> Bare {
        let start = self.at;
        let mut quoted = false;
        let end = self.bare_end(&mut quoted);
        let word = self.look.text[start..end].trim();
        let cut = end == self.look.text.len();
        self.at = end + usize::from(quoted);
        if quoted {
            self.mends.add(Mend::UnclosedString);
            return self.write_text(start, word);
        }
        if word.is_empty() {
            // Whatever it is, it is passed.
            self.at = self.at.max(start + self.look.char(start).map_or(1, char::len_utf8));
            return Bare::Nothing;
        }
        match word {
            "true" | "false" | "null" => {
                self.out.push_str(word);
                return Bare::Written;
            }
            _ if word.eq_ignore_ascii_case("true") || word.eq_ignore_ascii_case("false") => {
                self.mends.add(Mend::Numbers);
                self.out.push_str(&word.to_ascii_lowercase());
                return Bare::Written;
            }
            _ if is_nothing(word) => return Bare::Nothing,
            _ if cut => return Bare::Cut,
            _ => {}
        }
        match number(word) {
            Some(Number::Valid) => self.out.push_str(word),
            Some(Number::Corrected(number)) => {
                self.mends.add(Mend::Numbers);
                self.out.push_str(&number);
            }
            None if is_expression(word) => return Bare::Nothing,
            None => return self.write_text(start, word),
        }
        Bare::Written
    }

    fn write_text(&mut self, start: usize, word: &str) -> Bare {
        let after = self.at;
        self.mends.add(Mend::UnquotedValues);
        let offset = word.as_ptr() as usize - self.look.text.as_ptr() as usize;
        self.at = offset.max(start);
        self.out.push('"');
        self.push_escaped(offset + word.len());
        self.out.push('"');
        self.at = after;
        Bare::Written
    }

    /// Where a value without quotes ends. A quote that ends it is told apart.
    fn bare_end(&self, quoted: &mut bool) -> usize {
        let mut end = self.at;
        let mut parentheses = 0_usize;
        while let Some(byte) = self.look.byte(end) {
            match byte {
                b'\n' | b'\r' => break,
                b'(' => parentheses += 1,
                b')' => parentheses = parentheses.saturating_sub(1),
                // The arguments of a function.
                _ if parentheses > 0 => {}
                b'}' | b']' => break,
                b';' if self.look.byte(end + 1).is_none_or(|next| next <= b' ') => break,
                b',' if !self.in_object() => break,
                b',' => {
                    let next = self.look.skip_space(end + 1);
                    let ends = match self.look.byte(next) {
                        None | Some(b'}' | b']' | b',' | b'/' | b'<') => true,
                        Some(_) => {
                            self.look.has_newline(end, next) || self.look.key_ahead(next, self.bare_keys)
                        }
                    };
                    if ends {
                        break;
                    }
                }
                b'"' if end > self.at => {
                    // The opening quote is missing, and here is the closing one.
                    *quoted = true;
                    break;
                }
                b'/' => {
                    let spaced = end > self.at && self.look.byte(end - 1).is_some_and(|byte| byte <= b' ');
                    if self.look.starts_with(end, "/*") || (spaced && self.look.starts_with(end, "//")) {
                        break;
                    }
                }
                b'<' if self.look.tag_end(end).is_some() || self.look.starts_with(end, "<!--") => break,
                _ => {}
            }
            end += 1;
        }
        // Only ASCII ends a word, so this is a boundary.
        end
    }
}

/// Words for having no value.
fn is_nothing(word: &str) -> bool {
    const WORDS: &[&str] =
        &["undefined", "null", "none", "nil", "nan", "infinity", "-infinity", "n/a", "void 0"];
    WORDS.iter().any(|nothing| word.eq_ignore_ascii_case(nothing))
}

/// True for what a program would compute: a call, a path of names.
fn is_expression(word: &str) -> bool {
    let path = |word: &str| {
        word.split('.').count() > 1
            && word.split('.').all(|name| {
                name.as_bytes().first().is_some_and(|byte| is_word_start(*byte) && *byte != b'@')
                    && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$')
            })
    };
    let call = word.split_once('(').is_some_and(|(name, rest)| {
        rest.ends_with(')') && !name.is_empty() && name.bytes().all(|byte| is_word(byte) || byte == b' ')
    });
    let variable = word.starts_with(['$', '%', '#', '*'])
        && !word[1..].starts_with(|c: char| c.is_ascii_digit() || c == ' ');
    call || variable || (path(word) && !word.contains('/')) || word.starts_with("...")
}

enum Number {
    Valid,
    Corrected(String),
}

/// The word as a JSON number, if it is any kind of number.
fn number(word: &str) -> Option<Number> {
    if is_json_number(word) {
        return Some(Number::Valid);
    }
    if let Some(hex) = word.strip_prefix("0x").or_else(|| word.strip_prefix("0X")) {
        return u64::from_str_radix(hex, 16).ok().map(|value| Number::Corrected(value.to_string()));
    }
    let (sign, digits) = match word.as_bytes().first()? {
        b'-' => ("-", &word[1..]),
        b'+' => ("", &word[1..]),
        _ => ("", word),
    };
    let digits = without_separators(digits);
    let (whole, rest) = digits.split_at(digits.find(|c: char| !c.is_ascii_digit()).unwrap_or(digits.len()));
    // Zeros in front mean something in postal codes, telephone numbers and the numbers of articles.
    if rest.is_empty() && whole.len() > 3 && whole.starts_with('0') {
        return Some(Number::Corrected(format!("\"{word}\"")));
    }
    let whole = whole.trim_start_matches('0');
    let whole = if whole.is_empty() { "0" } else { whole };
    let rest = if rest == "." { "" } else { rest };
    let corrected = format!("{sign}{whole}{rest}");
    (digits.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && is_json_number(&corrected)
        && digits != ".")
        .then_some(Number::Corrected(corrected))
}

/// `1,299.00` without its comma; `12,50` with a point.
fn without_separators(digits: &str) -> String {
    let Some((whole, rest)) = digits.split_once(',') else { return digits.to_owned() };
    let all_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (group, fraction) = rest.split_once('.').unwrap_or((rest, ""));
    if !all_digits(whole) {
        return digits.to_owned();
    }
    if group.split(',').all(|group| group.len() == 3 && all_digits(group))
        && (fraction.is_empty() || all_digits(fraction))
    {
        return digits.replace(',', "");
    }
    if all_digits(rest) {
        return format!("{whole}.{rest}");
    }
    digits.to_owned()
}

fn is_json_number(word: &str) -> bool {
    let bytes = word.strip_prefix('-').unwrap_or(word).as_bytes();
    let digits = |bytes: &[u8]| bytes.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let whole = digits(bytes);
    if whole == 0 || (whole > 1 && bytes[0] == b'0') {
        return false;
    }
    let mut rest = &bytes[whole..];
    if let [b'.', fraction @ ..] = rest {
        let length = digits(fraction);
        if length == 0 {
            return false;
        }
        rest = &fraction[length..];
    }
    match rest {
        [] => true,
        [b'e' | b'E', b'+' | b'-', exponent @ ..] | [b'e' | b'E', exponent @ ..] => {
            !exponent.is_empty() && digits(exponent) == exponent.len()
        }
        _ => false,
    }
}
