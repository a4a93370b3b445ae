//! The stylesheets that come with us, named `shipped:kml-to-rdf.xsl` in a rule.

use std::path::Path;

use webloom_xslt::{Loaded, Loader, Purpose};

/// What a shipped stylesheet's address begins with.
const PREFIX: &str = "shipped:";

macro_rules! stylesheets {
    ($($name:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../../stylesheets/", $name)))),*]
    };
}

/// Name and text of each. The last two are parts of the others.
const STYLESHEETS: &[(&str, &str)] = stylesheets![
    "atom-to-rdf.xsl",
    "gpx-to-rdf.xsl",
    "kml-to-rdf.xsl",
    "marcxml-to-rdf.xsl",
    "mods-to-rdf.xsl",
    "oai-dc-to-rdf.xsl",
    "rss2-to-rdf.xsl",
    "xhtml-to-rdf.xsl",
    "common.xsl",
    "feed.xsl",
];

/// The name of the shipped stylesheet that a path means, if it means one.
pub(super) fn name_of(path: &Path) -> Option<&str> {
    path.to_str()?.strip_prefix(PREFIX)
}

/// The text of a shipped stylesheet.
pub(super) fn text(name: &str) -> Option<&'static str> {
    STYLESHEETS.iter().find(|(known, _)| *known == name).map(|(_, text)| *text)
}

/// Those that can be used by themselves.
pub(super) fn names() -> Vec<&'static str> {
    STYLESHEETS.iter().map(|(name, _)| *name).filter(|name| name.ends_with("-to-rdf.xsl")).collect()
}

/// The address of a shipped stylesheet, which its parts are named relative to.
pub(super) fn address(name: &str) -> String {
    format!("{PREFIX}/{name}")
}

/// Gives shipped stylesheets their parts.
pub(super) struct Shipped;

impl Loader for Shipped {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        let name = uri.strip_prefix(PREFIX).map(|name| name.trim_start_matches('/'));
        let text = name.and_then(text).ok_or("it does not come with us")?;
        Ok(Loaded { bytes: text.as_bytes().to_vec(), uri: uri.to_owned() })
    }
}
