//! What requests to some hosts carry beside the usual: header fields, and a user's name and password.
//!
//! In: rules as written, `PATTERN=Name: value` and `PATTERN=user:password`. Out: fields to add to a request to a host. A
//! rule holds for the hosts its pattern matches and for no other, so that a redirect takes no secret along.
//! Start at [`HeaderRule`].

use std::fmt;
use std::str::FromStr;

use http::header::{self, HeaderMap, HeaderName, HeaderValue};

use crate::hosts::HostPattern;

/// `PATTERN=Name: value`: a header field for the hosts that match.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderRule {
    pattern: HostPattern,
    name: HeaderName,
    value: HeaderValue,
}

/// `PATTERN=user:password`, or `PATTERN=env:NAME` to have `user:password` read from the environment.
#[derive(Clone, PartialEq, Eq)]
pub struct AuthRule {
    pattern: HostPattern,
    value: HeaderValue,
}

/// Why a text is no [`HeaderRule`] or [`AuthRule`]. Does not repeat the text, which may hold a secret.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}; write {form}")]
pub struct CredentialError {
    reason: String,
    form: &'static str,
}

/// Fields that are the connection's own, or that the crawler is known by.
const RESERVED: [HeaderName; 9] = [
    header::HOST,
    header::CONNECTION,
    header::CONTENT_LENGTH,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
    header::TE,
    header::TRAILER,
    header::USER_AGENT,
    header::ACCEPT_ENCODING,
];

impl FromStr for HeaderRule {
    type Err = CredentialError;

    fn from_str(text: &str) -> Result<Self, CredentialError> {
        let problem =
            |reason: String| CredentialError { reason, form: "\"HOST=Name: value\" or \"*=Name: value\"" };
        let (pattern, field) = text.split_once('=').ok_or_else(|| problem("there is no `=`".to_owned()))?;
        let pattern = pattern.parse().map_err(problem)?;
        let (name, value) = field.split_once(':').ok_or_else(|| problem("there is no `:`".to_owned()))?;
        let name: HeaderName =
            name.trim().parse().map_err(|_| problem(format!("`{}` is no header name", name.trim())))?;
        if RESERVED.contains(&name) {
            return Err(problem(format!("`{name}` cannot be set")));
        }
        let mut value = HeaderValue::from_str(value.trim())
            .map_err(|_| problem(format!("the value of `{name}` cannot be sent")))?;
        value.set_sensitive(true);
        Ok(Self { pattern, name, value })
    }
}

impl FromStr for AuthRule {
    type Err = CredentialError;

    fn from_str(text: &str) -> Result<Self, CredentialError> {
        let problem = |reason: String| CredentialError {
            reason,
            form: "\"HOST=user:password\", or \"HOST=env:NAME\" with user:password in the environment",
        };
        let (pattern, secret) = text.split_once('=').ok_or_else(|| problem("there is no `=`".to_owned()))?;
        let pattern = pattern.parse().map_err(problem)?;
        let from_environment = secret.strip_prefix("env:").map(|name| {
            std::env::var(name).map_err(|_| problem(format!("there is no `{name}` in the environment")))
        });
        let secret = from_environment.unwrap_or_else(|| Ok(secret.to_owned()))?;
        if !secret.contains(':') {
            return Err(problem("there is no `:` between user and password".to_owned()));
        }
        Ok(Self { pattern, value: basic(&secret) })
    }
}

/// `Basic` credentials, kept out of logs.
pub(crate) fn basic(secret: &str) -> HeaderValue {
    // Base 64 is always a header value.
    let mut value = HeaderValue::from_str(&format!("Basic {}", base64(secret.as_bytes())))
        .unwrap_or(HeaderValue::from_static("Basic"));
    value.set_sensitive(true);
    value
}

// Secrets are not printed, nor is anything next to them.
impl fmt::Debug for HeaderRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "HeaderRule({}={}: …)", self.pattern, self.name)
    }
}

impl fmt::Debug for AuthRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthRule({}=…)", self.pattern)
    }
}

/// Adds what the rules say for a host. Later rules win.
pub(crate) fn add(headers: &mut HeaderMap, host: &str, fields: &[HeaderRule], users: &[AuthRule]) {
    for rule in users.iter().filter(|rule| rule.pattern.matches(host)) {
        headers.insert(header::AUTHORIZATION, rule.value.clone());
    }
    for rule in fields.iter().filter(|rule| rule.pattern.matches(host)) {
        headers.insert(rule.name.clone(), rule.value.clone());
    }
}

fn base64(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |index: usize| u32::from(chunk.get(index).copied().unwrap_or(0));
        let bits = byte(0) << 16 | byte(1) << 8 | byte(2);
        for place in 0..4 {
            let letter = LETTERS[(bits >> (18 - 6 * place) & 63) as usize];
            text.push(if place <= chunk.len() { char::from(letter) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_of_the_standard() {
        for (bytes, text) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foo", "Zm9v"),
            ("foobar", "Zm9vYmFy"),
            ("Aladdin:open sesame", "QWxhZGRpbjpvcGVuIHNlc2FtZQ=="),
        ] {
            assert_eq!(base64(bytes.as_bytes()), text);
        }
    }

    #[test]
    fn rules_hold_for_their_hosts() {
        let fields: Vec<HeaderRule> = ["*=X-All: 1", "*.a.example=X-Sub: yes", "b.example=x-all: 2"]
            .map(|text| text.parse().unwrap())
            .into();
        let users: Vec<AuthRule> = ["b.example=me:secret"].map(|text| text.parse().unwrap()).into();
        let sent = |host: &str| {
            let mut headers = HeaderMap::new();
            add(&mut headers, host, &fields, &users);
            let mut lines: Vec<String> =
                headers.iter().map(|(name, value)| format!("{name}: {}", value.to_str().unwrap())).collect();
            lines.sort();
            lines
        };
        assert_eq!(sent("x.a.example"), ["x-all: 1", "x-sub: yes"]);
        assert_eq!(sent("a.example"), ["x-all: 1"]);
        assert_eq!(sent("b.example"), ["authorization: Basic bWU6c2VjcmV0", "x-all: 2"]);
        assert!(!format!("{users:?}").contains("secret"));
    }

    #[test]
    fn what_is_no_rule_says_why_and_keeps_the_secret() {
        for text in ["X-A: b", "*=X-A", "*=Host: b", "*=x y: b", "a b=X: y", "*=X: a\nb", "*=User-Agent: me"]
        {
            assert!(text.parse::<HeaderRule>().is_err(), "{text}");
        }
        for text in ["me:secret", "*=mesecret", "a b=me:secret", "*=env:NO_SUCH_NAME_HERE"] {
            let problem = text.parse::<AuthRule>().unwrap_err().to_string();
            assert!(!problem.contains("secret"), "{problem}");
        }
    }
}
