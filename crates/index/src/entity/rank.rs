//! Which thing comes first.
//!
//! In: how well the words match, how many sites speak of a thing, and its name. Out: one number. The words decide; a thing that
//! is called exactly what was typed comes before things whose names merely have the words, and what many sites speak of
//! before what one repeats.

use crate::text::typed::words_of;

use super::facets::Passed;

/// How much the logarithm of the number of sites, and of pages, adds.
const SITES_WEIGHT: f32 = 0.25;
const PAGES_WEIGHT: f32 = 0.05;
/// How much more counts a thing that is called what was typed, one whose name begins so, and one whose name has it all.
const EXACT_NAME: f32 = 2.5;
const NAME_BEGINS: f32 = 1.5;
const NAME_HAS_ALL: f32 = 1.2;

/// What is known without reading anything of the thing.
pub(super) fn before_names(thing: &Passed) -> f32 {
    let sites = thing.sites.max(1) as f32;
    let pages = thing.group.documents.max(1) as f32;
    thing.group.score * (1.0 + SITES_WEIGHT * sites.ln() + PAGES_WEIGHT * pages.ln())
}

/// By how much its name moves a thing up.
pub(super) fn for_name(name: &str, typed: &[String]) -> f32 {
    if typed.is_empty() {
        return 1.0;
    }
    let name = words_of(name);
    let begins = name.len() >= typed.len()
        && typed.iter().zip(&name).enumerate().all(|(place, (word, named))| {
            word == named || (place + 1 == typed.len() && named.starts_with(word.as_str()))
        });
    if name == typed {
        EXACT_NAME
    } else if begins {
        NAME_BEGINS
    } else if typed.iter().all(|word| name.contains(word)) {
        NAME_HAS_ALL
    } else {
        1.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_move_things_up() {
        let typed = ["blue".to_owned(), "harbour".to_owned()];
        for (name, expected) in [
            ("Blue Harbour", EXACT_NAME),
            ("blue, harbour!", EXACT_NAME),
            ("Blue Harbour Cafe", NAME_BEGINS),
            ("Blue Harbours", NAME_BEGINS),
            ("The Harbour, Blue", NAME_HAS_ALL),
            ("Blue", 1.0),
            ("", 1.0),
        ] {
            assert_eq!(for_name(name, &typed), expected, "{name}");
        }
        assert_eq!(for_name("Blue", &[]), 1.0);
    }
}
