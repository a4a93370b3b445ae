//! Which hosts a rule is about: one, all below a name, or all.

use std::fmt;
use std::str::FromStr;

/// A host as it stands in URLs, `*.suffix` for every name below the suffix, or `*` for all.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum HostPattern {
    Any,
    /// With the leading dot.
    Below(String),
    Exactly(String),
}

impl HostPattern {
    /// Whether `host`, in the form it has in a normalised URL, is meant.
    pub fn matches(&self, host: &str) -> bool {
        let host = host.strip_suffix('.').unwrap_or(host);
        match self {
            Self::Any => true,
            Self::Below(suffix) => host.len() > suffix.len() && host.ends_with(suffix.as_str()),
            Self::Exactly(name) => host == name,
        }
    }
}

impl FromStr for HostPattern {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        // The same normal form as in URLs: lower case, punycode, shortest IPv6.
        let host = |name: &str| {
            url::Host::parse(name)
                .map(|host| host.to_string().trim_end_matches('.').to_owned())
                .map_err(|error| format!("`{name}` is not a host: {error}"))
        };
        Ok(match text.trim() {
            "*" => Self::Any,
            pattern => match pattern.strip_prefix("*.") {
                Some(suffix) => Self::Below(format!(".{}", host(suffix)?)),
                None => Self::Exactly(host(pattern)?),
            },
        })
    }
}

impl fmt::Display for HostPattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Any => f.write_str("*"),
            Self::Below(suffix) => write!(f, "*{suffix}"),
            Self::Exactly(name) => f.write_str(name),
        }
    }
}
