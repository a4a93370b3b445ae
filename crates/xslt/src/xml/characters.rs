//! Which characters XML has, and which make names.

/// The first character that XML does not allow, and where it is.
pub(crate) fn first_forbidden(text: &str) -> Option<(usize, char)> {
    let bytes = text.as_bytes();
    let is_control = |byte: u8| (byte < 0x20) & (byte != b'\t') & (byte != b'\n') & (byte != b'\r');
    // Block by block, which takes few instructions.
    let plain = |block: &&[u8; 64]| block.iter().fold(0, |any, byte| any | u8::from(is_control(*byte))) == 0;
    let looked = bytes.as_chunks().0.iter().take_while(plain).count() * 64;
    if let Some(at) = bytes[looked..].iter().position(|byte| is_control(*byte)) {
        return Some((looked + at, char::from(bytes[looked + at])));
    }
    memchr::memmem::find_iter(bytes, b"\xef\xbf").find_map(|at| {
        let character = text[at..].chars().next()?;
        matches!(character, '\u{fffe}' | '\u{ffff}').then_some((at, character))
    })
}

/// Whether XML allows the character.
pub(crate) fn is_character(character: char) -> bool {
    matches!(character, '\t' | '\n' | '\r' | '\u{20}'..='\u{fffd}' | '\u{10000}'..)
}

/// Whether the character may start a name.
pub(crate) fn is_name_start(character: char) -> bool {
    matches!(character,
        'a'..='z' | 'A'..='Z' | '_' | ':' | '\u{c0}'..='\u{d6}' | '\u{d8}'..='\u{f6}' | '\u{f8}'..='\u{2ff}'
        | '\u{370}'..='\u{37d}' | '\u{37f}'..='\u{1fff}' | '\u{200c}'..='\u{200d}' | '\u{2070}'..='\u{218f}'
        | '\u{2c00}'..='\u{2fef}' | '\u{3001}'..='\u{d7ff}' | '\u{f900}'..='\u{fdcf}' | '\u{fdf0}'..='\u{fffd}'
        | '\u{10000}'..='\u{effff}')
}

/// Whether the character may be in a name.
pub(crate) fn is_name_part(character: char) -> bool {
    is_name_start(character)
        || matches!(character,
            '-' | '.' | '0'..='9' | '\u{b7}' | '\u{300}'..='\u{36f}' | '\u{203f}'..='\u{2040}')
}

/// Whether an ASCII character may be in a name.
const NAME_BYTES: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        let character = byte as u8;
        table[byte] = character.is_ascii_alphanumeric() || matches!(character, b'_' | b':' | b'-' | b'.');
        byte += 1;
    }
    table
};

/// How many bytes of the start of `text` are a name.
pub(crate) fn name_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    if !bytes.first().is_some_and(u8::is_ascii_alphabetic) {
        return name_length_from(text, 0);
    }
    let ascii = bytes.iter().take_while(|byte| NAME_BYTES[usize::from(**byte)]).count();
    if bytes.get(ascii).is_some_and(|next| *next >= 0x80) { name_length_from(text, ascii) } else { ascii }
}

/// The same, when so many bytes are known to be of the name.
fn name_length_from(text: &str, known: usize) -> usize {
    let bytes = text.as_bytes();
    let mut at = known;
    while let Some(byte) = bytes.get(at) {
        let fits = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'_' | b':' => true,
            b'-' | b'.' | b'0'..=b'9' => at > 0,
            0x80.. => {
                let Some(character) = text[at..].chars().next() else { break };
                let fits = if at == 0 { is_name_start(character) } else { is_name_part(character) };
                if fits {
                    at += character.len_utf8() - 1;
                }
                fits
            }
            _ => false,
        };
        if !fits {
            break;
        }
        at += 1;
    }
    at
}

/// Whether the whole is a name.
pub(crate) fn is_name(text: &str) -> bool {
    !text.is_empty() && name_length(text) == text.len()
}

/// Whether the whole is a name without colon.
pub(crate) fn is_ncname(text: &str) -> bool {
    is_name(text) && !text.contains(':')
}

/// Whether the whole is a name with at most one colon, in its middle.
pub(crate) fn is_qname(text: &str) -> bool {
    match text.split_once(':') {
        Some((prefix, local)) => is_ncname(prefix) && is_ncname(local),
        None => is_ncname(text),
    }
}

/// The character of `#…` in a reference, after the `#`.
pub(crate) fn parse_character_reference(digits: &str) -> Option<char> {
    let number = match digits.strip_prefix('x') {
        Some(hexadecimal) if hexadecimal.bytes().all(|byte| byte.is_ascii_hexdigit()) => {
            u32::from_str_radix(hexadecimal, 16).ok()?
        }
        Some(_) => return None,
        None if digits.bytes().all(|byte| byte.is_ascii_digit()) => digits.parse().ok()?,
        None => return None,
    };
    char::from_u32(number).filter(|character| is_character(*character))
}

/// The five entities that every document has.
pub(crate) fn predefined(name: &str) -> Option<&'static str> {
    Some(match name {
        "lt" => "<",
        "gt" => ">",
        "amp" => "&",
        "quot" => "\"",
        "apos" => "'",
        _ => return None,
    })
}
