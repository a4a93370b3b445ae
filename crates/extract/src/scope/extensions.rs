//! The rule about file extensions: what is surely no page is not fetched to find that out.

use std::collections::BTreeSet;

use webloom_model::PageUrl;

use super::Refusal;

/// Extensions of pictures, sound, film, archives, programs, fonts, style sheets and scripts.
pub const DEFAULT_EXTENSIONS: &[&str] = &[
    "7z", "aac", "apk", "avi", "avif", "bin", "bmp", "bz2", "css", "deb", "dll", "dmg", "eot", "epub", "exe",
    "flac", "flv", "gif", "gz", "heic", "ico", "iso", "jar", "jpeg", "jpg", "js", "m4a", "m4v", "mid", "mjs",
    "mkv", "mov", "mp3", "mp4", "mpeg", "mpg", "msi", "ogg", "ogv", "otf", "pkg", "png", "psd", "rar", "rpm",
    "svgz", "swf", "tar", "tgz", "tif", "tiff", "ttf", "wasm", "wav", "weba", "webm", "webp", "wma", "wmv",
    "woff", "woff2", "xz", "zip", "zst",
];

/// Extensions that are not followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExtensionSet(BTreeSet<String>);

impl Default for ExtensionSet {
    fn default() -> Self {
        DEFAULT_EXTENSIONS.iter().copied().collect()
    }
}

impl ExtensionSet {
    /// Follows everything.
    pub fn none() -> Self {
        Self(BTreeSet::new())
    }

    pub(super) fn check(&self, url: &PageUrl) -> Result<(), Refusal> {
        let name = url.as_url().path().rsplit('/').next().unwrap_or_default();
        let Some((stem, extension)) = name.rsplit_once('.') else { return Ok(()) };
        // `/.zip` is a hidden file or nothing, `/photo.jpg` is a photo.
        let refused =
            !stem.is_empty() && extension.len() <= 8 && self.0.contains(&extension.to_ascii_lowercase());
        if refused { Err(Refusal::Extension) } else { Ok(()) }
    }
}

impl<'a> FromIterator<&'a str> for ExtensionSet {
    fn from_iter<I: IntoIterator<Item = &'a str>>(extensions: I) -> Self {
        let normal = |extension: &str| extension.trim().trim_start_matches('.').to_ascii_lowercase();
        Self(extensions.into_iter().map(normal).collect())
    }
}
