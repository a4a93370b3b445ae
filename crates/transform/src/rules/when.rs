//! Which pages a rule is for: by detected type, media type, root element, URL. All that is said must hold.

use regex::Regex;
use webloom_model::{DetectedPage, DocumentKind};

/// A condition on pages. Empty lists say nothing; a condition that says nothing at all fits no page.
#[derive(Debug, Clone, Default)]
pub struct When {
    /// It is detected as one of these.
    pub kinds: Vec<DocumentKind>,
    /// Its media type, as detected or as served, is one of these.
    pub media_types: Vec<MediaPattern>,
    /// Its root element is one of these.
    pub roots: Vec<RootPattern>,
    /// Its URL matches one of these.
    pub urls: Vec<Regex>,
    /// It is any page at all.
    pub always: bool,
}

/// A media type, or all that begin the same: `image/*`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaPattern(String);

/// A root element: its local name, its namespace, or both.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootPattern {
    /// The namespace; a star at its end stands for any end. Nothing means any.
    pub namespace: Option<String>,
    /// The local name. Nothing means any.
    pub local: Option<String>,
}

impl When {
    /// True when nothing is said.
    pub fn is_empty(&self) -> bool {
        !self.always
            && self.kinds.is_empty()
            && self.media_types.is_empty()
            && self.roots.is_empty()
            && self.urls.is_empty()
    }

    /// True when the page is one of those meant.
    pub fn matches(&self, page: &DetectedPage) -> bool {
        let detection = &page.detection;
        !self.is_empty()
            && (self.kinds.is_empty() || self.kinds.contains(&detection.kind))
            && (self.media_types.is_empty()
                || self.media_types.iter().any(|pattern| {
                    pattern.matches(&detection.media_type)
                        || page.page.header("content-type").is_some_and(|served| pattern.matches(served))
                }))
            && (self.roots.is_empty()
                || detection.xml_root.as_ref().is_some_and(|root| {
                    self.roots.iter().any(|pattern| pattern.matches(&root.namespace, &root.local))
                }))
            && (self.urls.is_empty() || self.urls.iter().any(|url| url.is_match(page.page.url.as_str())))
    }
}

impl MediaPattern {
    /// Reads `image/png`, `image/*` or `*/*`.
    ///
    /// # Errors
    ///
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim().to_ascii_lowercase();
        let parts = text.split_once('/');
        let is_token = |part: &str| !part.is_empty() && !part.contains([' ', ';', '/', '*']);
        match parts {
            Some((kind, sub)) if is_token(kind) && (sub == "*" || is_token(sub)) => Ok(Self(text)),
            Some(("*", "*")) => Ok(Self(text)),
            _ => Err(format!(
                "`{text}` is no media type; write one such as \"application/pdf\" or \"image/*\""
            )),
        }
    }

    fn matches(&self, media_type: &str) -> bool {
        let media_type = media_type.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
        match self.0.strip_suffix('*') {
            Some("*/") => true,
            Some(start) => media_type.starts_with(start),
            None => media_type == self.0,
        }
    }
}

impl RootPattern {
    /// Reads `kml`, `{http://www.opengis.net/kml/2.2}kml` or `{http://www.opengis.net/kml/*}*`.
    ///
    /// # Errors
    ///
    /// When it is none of these.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong =
            || format!("`{text}` is no name of an element; write \"kml\" or \"{{http://namespace}}kml\"");
        let (namespace, local) = match text.strip_prefix('{') {
            Some(rest) => {
                let (namespace, local) = rest.split_once('}').ok_or_else(wrong)?;
                (Some(namespace.to_owned()), local)
            }
            None => (None, text),
        };
        if local.is_empty() || local.contains([' ', ':', '<', '{', '}', '/']) {
            return Err(wrong());
        }
        Ok(Self { namespace, local: (local != "*").then(|| local.to_owned()) })
    }

    /// Any element of a namespace; a star at its end stands for any end.
    pub fn in_namespace(namespace: &str) -> Self {
        Self { namespace: Some(namespace.to_owned()), local: None }
    }

    fn matches(&self, namespace: &str, local: &str) -> bool {
        self.local.as_deref().is_none_or(|wanted| wanted == local)
            && self.namespace.as_deref().is_none_or(|wanted| match wanted.strip_suffix('*') {
                Some(start) => namespace.starts_with(start),
                None => wanted == namespace,
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn media_types_match_with_and_without_stars() {
        for (pattern, media_type, matches) in [
            ("image/*", "image/png", true),
            ("image/*", "Image/PNG; q=1", true),
            ("image/png", "image/pngx", false),
            ("*/*", "", true),
            ("application/pdf", "application/pdf", true),
        ] {
            assert_eq!(MediaPattern::parse(pattern).unwrap().matches(media_type), matches, "{pattern}");
        }
        for wrong in ["image", "*/png", "image/p*g", "a b/c", ""] {
            assert!(MediaPattern::parse(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn roots_match_by_name_namespace_or_both() {
        for (pattern, namespace, local, matches) in [
            ("kml", "http://a.example/", "kml", true),
            ("kml", "", "KML", false),
            ("{http://a.example/}kml", "http://a.example/", "kml", true),
            ("{http://a.example/}kml", "http://b.example/", "kml", false),
            ("{http://a.example/*}*", "http://a.example/2.2", "anything", true),
            ("{}kml", "", "kml", true),
            ("{}kml", "http://a.example/", "kml", false),
        ] {
            assert_eq!(RootPattern::parse(pattern).unwrap().matches(namespace, local), matches, "{pattern}");
        }
        for wrong in ["", "{x", "{x}", "a:b", "<kml>"] {
            assert!(RootPattern::parse(wrong).is_err(), "{wrong}");
        }
    }
}
