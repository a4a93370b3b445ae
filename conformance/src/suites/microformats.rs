//! Microformats: the JSON of each page, white space collapsed; `items`, `rels` and `rel-urls` must all agree.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bytes::Bytes;
use serde_json::Value;
use webloom_detect::detect;
use webloom_model::{FetchedPage, PageUrl};
use webloom_transform::{TransformConfig, microformats};

use crate::Outcome;

/// Runs the suite.
pub fn run(folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = folder.join("microformats/tests");
    let mut pages = Vec::new();
    find(&folder, &mut pages)?;
    pages.sort();
    pages
        .iter()
        .map(|page| {
            let id = page.strip_prefix(&folder)?.with_extension("").to_string_lossy().into_owned();
            let version = id.split('/').next().unwrap_or_default();
            let group = format!("microformats {}", version.trim_start_matches("microformats-"));
            let result = check(page).unwrap_or_else(|error| Err(format!("{error:#}")));
            Ok(Outcome { group, id, result })
        })
        .collect()
}

fn find(folder: &Path, pages: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    let entries = std::fs::read_dir(folder).with_context(|| format!("cannot read {}", folder.display()))?;
    for entry in entries {
        let path = entry?.path();
        if path.is_dir() {
            find(&path, pages)?;
        } else if path.extension().is_some_and(|extension| extension == "html") {
            pages.push(path);
        }
    }
    Ok(())
}

fn check(page: &Path) -> anyhow::Result<Result<(), String>> {
    let expected: Value = serde_json::from_slice(&std::fs::read(page.with_extension("json"))?)?;
    let url = PageUrl::parse("http://example.com/")?;
    let page = detect(FetchedPage::local(url, Some("text/html"), Bytes::from(std::fs::read(page)?)));
    let (found, _) = microformats(&page, &TransformConfig::default());
    let (expected, got) = (collapsed(expected), collapsed(serde_json::to_value(found)?));
    Ok(if expected == got { Ok(()) } else { Err(format!("expected\n{expected:#}\n  got\n{got:#}")) })
}

/// The same value with white space in strings collapsed.
fn collapsed(value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(text.split_whitespace().collect::<Vec<_>>().join(" ")),
        Value::Array(values) => values.into_iter().map(collapsed).collect(),
        Value::Object(entries) => entries.into_iter().map(|(key, value)| (key, collapsed(value))).collect(),
        other => other,
    }
}
