//! The secret that control and updates need.

use std::fmt;

use rand::TryRngCore;
use sha2::{Digest, Sha256};

/// Shorter tokens can be guessed.
const LENGTH_MIN: usize = 16;
const LENGTH_MAX: usize = 512;

/// A secret. Not shown by `Debug`.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(String);

/// Why something cannot be a token.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TokenProblem {
    /// It can be guessed.
    #[error("a token needs at least {LENGTH_MIN} characters (and at most {LENGTH_MAX})")]
    Length,
    /// It cannot be sent in a header field.
    #[error("a token is made of letters, digits and -._~+/= only")]
    Characters,
}

impl Token {
    /// Takes a token that somebody chose.
    pub fn new(text: impl Into<String>) -> Result<Self, TokenProblem> {
        let text = text.into();
        if !(LENGTH_MIN..=LENGTH_MAX).contains(&text.len()) {
            return Err(TokenProblem::Length);
        }
        if !text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~+/=".contains(&byte)) {
            return Err(TokenProblem::Characters);
        }
        Ok(Self(text))
    }

    /// Makes one up: 160 bits of the system's randomness.
    pub fn generate() -> Self {
        let mut bytes = [0_u8; 20];
        if rand::rngs::OsRng.try_fill_bytes(&mut bytes).is_err() {
            // Seeded from the system when the process began.
            rand::fill(&mut bytes);
        }
        Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The secret itself, to be printed for its owner.
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// True for the same secret. How long it takes tells nothing of where two differ: digests are compared, whole.
    pub fn matches(&self, candidate: &str) -> bool {
        let (ours, theirs) = (Sha256::digest(self.0.as_bytes()), Sha256::digest(candidate.as_bytes()));
        let difference = ours.iter().zip(theirs.iter()).fold(0_u8, |all, (a, b)| all | (a ^ b));
        std::hint::black_box(difference) == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_long_plain_and_only_equal_to_themselves() {
        assert_eq!(Token::new("short"), Err(TokenProblem::Length));
        assert_eq!(Token::new("sixteen\r\ncharacters"), Err(TokenProblem::Characters));
        let token = Token::generate();
        assert!(token.matches(token.secret()) && token != Token::generate());
        for wrong in ["", "x", &token.secret()[1..], &format!("{}0", token.secret())] {
            assert!(!token.matches(wrong));
        }
        assert_eq!(format!("{token:?}"), "Token(…)");
        assert_eq!(Token::new(token.secret()), Ok(token));
    }
}
