//! Digests of blocks and payloads: SHA-1 in Base32, which every tool writes, or SHA-256.
//!
//! What is read may be spelt otherwise (Base16, Base64, with or without padding, in any case), so digests are
//! compared by their bytes. SHA-1 is no defence against anybody here: it finds accidents and equal payloads.

use data_encoding::{BASE32, BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD, HEXLOWER_PERMISSIVE};
use sha1::Sha1;
use sha2::{Digest as _, Sha256};

/// Which digest is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum DigestKind {
    /// `sha1:` and Base32.
    #[default]
    Sha1,
    /// `sha256:` and Base16.
    Sha256,
}

impl DigestKind {
    /// The kind of that label.
    pub fn from_label(label: &str) -> Option<Self> {
        match label.to_ascii_lowercase().as_str() {
            "sha1" | "sha-1" => Some(Self::Sha1),
            "sha256" | "sha-256" => Some(Self::Sha256),
            _ => None,
        }
    }

    fn length(self) -> usize {
        match self {
            Self::Sha1 => 20,
            Self::Sha256 => 32,
        }
    }

    /// The digest of bytes at hand.
    pub fn of(self, bytes: &[u8]) -> Digest {
        let mut hasher = Hasher::new(self);
        hasher.update(bytes);
        hasher.finish()
    }
}

/// A digest in the making.
#[derive(Debug, Clone)]
pub enum Hasher {
    /// SHA-1.
    Sha1(Sha1),
    /// SHA-256.
    Sha256(Sha256),
}

impl Hasher {
    /// Of nothing yet.
    pub fn new(kind: DigestKind) -> Self {
        match kind {
            DigestKind::Sha1 => Self::Sha1(Sha1::new()),
            DigestKind::Sha256 => Self::Sha256(Sha256::new()),
        }
    }

    /// Takes more bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha1(hasher) => hasher.update(bytes),
            Self::Sha256(hasher) => hasher.update(bytes),
        }
    }

    /// The digest of what was taken.
    pub fn finish(self) -> Digest {
        match self {
            Self::Sha1(hasher) => Digest { kind: DigestKind::Sha1, bytes: hasher.finalize().to_vec() },
            Self::Sha256(hasher) => Digest { kind: DigestKind::Sha256, bytes: hasher.finalize().to_vec() },
        }
    }
}

/// A digest.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Digest {
    kind: DigestKind,
    bytes: Vec<u8>,
}

impl std::hash::Hash for DigestKind {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (*self as u8).hash(state);
    }
}

impl Digest {
    /// Reads `sha1:…` or `sha256:…` in any of the spellings in use. Nothing for another algorithm or a broken value.
    pub fn parse(text: &str) -> Option<Self> {
        let (label, value) = text.trim().split_once(':')?;
        let kind = DigestKind::from_label(label)?;
        let upper = value.to_ascii_uppercase();
        let bytes = match (kind, value.len()) {
            (_, length) if length == kind.length() * 2 => HEXLOWER_PERMISSIVE.decode(value.as_bytes()).ok(),
            (DigestKind::Sha1, 32) => BASE32.decode(upper.as_bytes()).ok(),
            (DigestKind::Sha256, 56) => BASE32.decode(upper.as_bytes()).ok(),
            _ => [BASE64, BASE64_NOPAD, BASE64URL, BASE64URL_NOPAD]
                .iter()
                .find_map(|encoding| encoding.decode(value.as_bytes()).ok()),
        }?;
        (bytes.len() == kind.length()).then_some(Self { kind, bytes })
    }

    /// The algorithm.
    pub fn kind(&self) -> DigestKind {
        self.kind
    }

    /// The value.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// In Base16, as many programs print digests.
    pub fn hex(&self) -> String {
        HEXLOWER_PERMISSIVE.encode(&self.bytes)
    }
}

impl std::fmt::Display for Digest {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.kind {
            DigestKind::Sha1 => write!(f, "sha1:{}", BASE32.encode(&self.bytes)),
            DigestKind::Sha256 => write!(f, "sha256:{}", self.hex()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_empty_payload_in_every_spelling() {
        let empty = DigestKind::Sha1.of(b"");
        assert_eq!(empty.to_string(), "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ");
        for text in [
            "sha1:3I42H3S6NNFQ2MSVX7XZKYAYSCX5QBYJ",
            "SHA1:3i42h3s6nnfq2msvx7xzkyayscx5qbyj",
            "sha-1:da39a3ee5e6b4b0d3255bfef95601890afd80709",
            "sha1:2jmj7l5rSw0yVb/vlWAYkK/YBwk=",
            "sha1:2jmj7l5rSw0yVb_vlWAYkK_YBwk=",
            "sha1:2jmj7l5rSw0yVb_vlWAYkK_YBwk",
        ] {
            assert_eq!(Digest::parse(text).as_ref(), Some(&empty), "{text}");
        }
        let sha256 = DigestKind::Sha256.of(b"");
        assert_eq!(Digest::parse(&sha256.to_string()), Some(sha256));
    }

    #[test]
    fn what_is_no_digest() {
        for text in [
            "",
            "sha1",
            "sha1:",
            "sha1:abc",
            "md5:d41d8cd98f00b204e9800998ecf8427e",
            "sha1:!!!",
            "sha256:3I42",
        ] {
            assert_eq!(Digest::parse(text), None, "{text}");
        }
    }
}
