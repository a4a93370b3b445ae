//! The encodings that results can be written in.

/// An encoding of the output.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Encoding {
    Utf8,
    Utf16,
    Latin1,
    Ascii,
    Other(&'static encoding_rs::Encoding),
}

impl Encoding {
    /// The encoding of a label; unknown ones become UTF-8. Also gives the name to write.
    pub(crate) fn named(label: Option<&str>) -> (Self, String) {
        let Some(label) = label else { return (Self::Utf8, "UTF-8".to_owned()) };
        let found = match label.to_ascii_lowercase().as_str() {
            "utf-8" | "utf8" => Self::Utf8,
            "utf-16" | "utf16" | "utf-16le" | "utf-16be" => Self::Utf16,
            "iso-8859-1" | "latin1" | "iso_8859-1" | "iso8859-1" | "l1" => Self::Latin1,
            "us-ascii" | "ascii" => Self::Ascii,
            other => match encoding_rs::Encoding::for_label(other.as_bytes()) {
                Some(known) if known != encoding_rs::UTF_16LE && known != encoding_rs::UTF_16BE => {
                    Self::Other(known)
                }
                _ => return (Self::Utf8, "UTF-8".to_owned()),
            },
        };
        (found, label.to_owned())
    }

    /// Whether a character can be written as itself.
    pub(crate) fn has(self, character: char) -> bool {
        match self {
            Self::Utf8 | Self::Utf16 => true,
            Self::Latin1 => (character as u32) < 0x100,
            Self::Ascii => character.is_ascii(),
            // The encoder writes a character reference by itself.
            Self::Other(_) => true,
        }
    }

    /// Whether all characters can be written.
    pub(crate) fn is_complete(self) -> bool {
        matches!(self, Self::Utf8 | Self::Utf16 | Self::Other(_))
    }

    /// Text as bytes.
    pub(crate) fn encode(self, text: String) -> Vec<u8> {
        match self {
            Self::Utf8 => text.into_bytes(),
            Self::Utf16 => {
                let mut bytes = Vec::with_capacity(text.len() * 2 + 2);
                bytes.extend([0xff, 0xfe]);
                for unit in text.encode_utf16() {
                    bytes.extend(unit.to_le_bytes());
                }
                bytes
            }
            Self::Latin1 | Self::Ascii => {
                let highest = if matches!(self, Self::Ascii) { 0x7f } else { 0xff };
                text.chars()
                    .map(|character| if character as u32 <= highest { character as u8 } else { b'?' })
                    .collect()
            }
            Self::Other(encoding) => encoding.encode(&text).0.into_owned(),
        }
    }
}
