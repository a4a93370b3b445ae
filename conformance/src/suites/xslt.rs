//! XSLT 1.0, XPath 1.0 and EXSLT: the cases of `crates/xslt/cases`, which are our own and always there.
//!
//! Reading and judging them is shared with the engine's own test, `crates/xslt/tests/cases.rs`.

use std::path::Path;

use crate::Outcome;

#[path = "../../../crates/xslt/tests/case_format/mod.rs"]
mod case_format;

pub use case_format::KNOWN_FAILURES;

/// Runs the cases. They come with this repository, so the folder of the public suites is not looked at.
pub fn run(_folder: &Path) -> anyhow::Result<Vec<Outcome>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/xslt/cases");
    let cases = case_format::load(&folder).map_err(anyhow::Error::msg)?;
    Ok(cases
        .iter()
        .map(|case| Outcome { group: format!("xslt {}", case.chapter), id: case.id(), result: case.run() })
        .collect())
}
