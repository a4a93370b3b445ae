//! Repairs broken JSON, as far as its author's intention can be told.
//!
//! In: the text of a block that a JSON parser refused. Out: valid JSON with what was done to it, or
//! nothing when the text is no JSON at all. A tolerant reader ([`reader`]) goes through the text once,
//! with a stack instead of recursion, and writes JSON as it goes; every look ahead is bounded, so time and
//! memory are linear in the text. What JSON-LD makes of the result is left to the processor.
//!
//! A member whose value cannot be told is left out rather than guessed: half an object is still true,
//! a wrong value is not. Start at [`repair`]; the delicate part is where a string ends, in [`strings`].

mod bare;
mod layers;
mod look;
mod mends;
mod noise;
mod reader;
mod strings;
#[cfg(test)]
mod tests;

use std::borrow::Cow;

use self::mends::Mends;
use self::reader::Reader;

/// Layers of encoding that are taken off one after the other.
const LAYERS_MAX: usize = 4;

/// A text that was broken and is JSON now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Repaired {
    /// Valid JSON: an object or an array.
    pub(crate) text: String,
    /// What was done, each kind of repair once.
    pub(crate) done: Vec<String>,
}

/// Repairs a text that is nearly JSON. Nothing when it is too far from it, or when there is nothing to do.
pub(crate) fn repair(text: &str) -> Option<Repaired> {
    let mut mends = Mends::default();
    let mut text = Cow::Borrowed(text);
    for _ in 0..LAYERS_MAX {
        match layers::take_off(&text, &mut mends) {
            Some(inner) => text = Cow::Owned(inner),
            None => break,
        }
    }
    let text = Reader::new(&text, &mut mends).read()?;
    let done = mends.words();
    (!done.is_empty()).then_some(Repaired { text, done })
}
