//! A search for things: from what was typed to subjects, best first.
//!
//! In: a [`Search`]. Out: [`Things`]: groups of documents by subject, and what to show them with. All words count first; when
//! nothing has them all and the index does not know one of them, the words that were probably meant; when
//! that finds nothing either, any of them. Start at [`find`].

use std::sync::Arc;

use tantivy::query::AllQuery;
use tantivy::tokenizer::Language;

use super::TextSearcher;
use super::collect::{Collected, Numbers};
use super::expand::{Expanded, stemmer_language};
use super::literals::Quotes;
use super::matching::Matcher;
use super::typed::Typed;
use crate::error::IndexError;
use crate::view::View;

/// Documents of links whose links are looked at: so many when other things were found, and when not.
const LINK_DOCUMENTS: usize = 8;
const LINK_DOCUMENTS_ALONE: usize = 200;
/// How much less a link with the words counts than a thing with them.
const LINK_WEIGHT: f32 = 0.8;

/// What to look for.
#[derive(Debug, Clone, Default)]
pub(crate) struct Search<'a> {
    /// What was typed.
    pub(crate) words: &'a str,
    /// It is not finished.
    pub(crate) as_you_type: bool,
    /// Tags of the languages whose forms of words count; those of the index when there are none.
    pub(crate) languages: &'a [String],
    /// Only these subjects.
    pub(crate) among: Option<&'a Numbers>,
    /// Things with some of the words will do when none has them all.
    pub(crate) forgiving: bool,
    /// Similar words will do in place of words that the index does not know.
    pub(crate) correcting: bool,
    /// Without words, everything: somebody browses by type or site.
    pub(crate) browsing: bool,
}

/// What was found.
pub(crate) struct Things {
    pub(crate) collected: Collected,
    pub(crate) matcher: Matcher,
    /// The words that were looked for in place of those typed.
    pub(crate) corrected: Option<String>,
    /// All the words that were looked for, when only words were.
    pub(crate) plain_words: Option<Vec<String>>,
}

/// Finds things.
pub(crate) fn find(view: &Arc<View>, search: &Search<'_>) -> Result<Things, IndexError> {
    let mut typed = Typed::parse(search.words);
    if search.as_you_type {
        typed.open_last();
    }
    let mut languages: Vec<Language> =
        search.languages.iter().filter_map(|tag| stemmer_language(tag)).collect();
    if search.languages.is_empty() {
        languages = view.text.languages()?.to_vec();
    }
    let things = attempt(view, search, &typed, &languages, None)?;
    if !things.collected.groups.is_empty() {
        return Ok(things);
    }
    let expander = view.text.expander(languages.clone());
    if let Some(words) = typed.plain_words().filter(|_| search.correcting) {
        let mut corrected = Vec::with_capacity(words.len());
        let mut changed = false;
        for word in words {
            let better = if expander.knows(word)? { None } else { expander.correct(word)? };
            changed |= better.is_some();
            corrected.push(better.unwrap_or_else(|| word.to_owned()));
        }
        if changed {
            let words = corrected.join(" ");
            let things = attempt(view, search, &Typed::parse(&words), &languages, Some(words))?;
            if !things.collected.groups.is_empty() {
                return Ok(things);
            }
        }
    }
    if typed.wanted.len() < 2 || !search.forgiving {
        return Ok(things);
    }
    attempt(view, search, &typed.any(), &languages, None)
}

fn attempt(
    view: &Arc<View>,
    search: &Search<'_>,
    typed: &Typed,
    languages: &[Language],
    corrected: Option<String>,
) -> Result<Things, IndexError> {
    let text: &TextSearcher = &view.text;
    let expander = text.expander(languages.to_vec());
    let expanded: Expanded = expander.expand(typed)?;
    let everything = search.browsing && typed.wanted.is_empty() && typed.unwanted.is_empty();
    let query = if everything { Box::new(AllQuery) } else { expander.query(&expanded) };
    let mut collected = text.collect(&*query, search.among)?;
    if everything {
        // Links are looked through for words, and there are none.
        collected.links.clear();
    }
    let matcher = Matcher::new(&expanded);
    let plain_words =
        typed.plain_words().map(|words| words.into_iter().map(str::to_owned).collect::<Vec<String>>());
    let mut things = Things { collected, matcher, corrected, plain_words };
    things.add_links(view, search.among)?;
    Ok(things)
}

impl Things {
    /// False when there are more things than were found.
    pub(crate) fn is_complete(&self) -> bool {
        self.collected.is_complete
    }

    /// Looks into documents of links for the links that were meant.
    fn add_links(&mut self, view: &Arc<View>, among: Option<&Numbers>) -> Result<(), IndexError> {
        if self.collected.links.is_empty() {
            return Ok(());
        }
        let quotes = Quotes::new(view);
        let links = std::mem::take(&mut self.collected.links);
        let few = if self.collected.groups.is_empty() { LINK_DOCUMENTS_ALONE } else { LINK_DOCUMENTS };
        self.collected.is_complete &= links.len() <= few;
        let mut pages: Vec<u64> = Vec::new();
        for mut link in links.into_iter().take(few) {
            // A page with many links has several documents, and is looked through once.
            let Some(number) = self.collected.graph(&link).filter(|number| !pages.contains(number)) else {
                continue;
            };
            pages.push(number);
            let Some(page) = quotes.id(number) else {
                continue;
            };
            link.score *= LINK_WEIGHT;
            for target in quotes.matching_links(page, &mut self.matcher)? {
                if among.is_none_or(|among| among.contains(&target.number())) {
                    self.collected.push(target.number(), link);
                }
            }
        }
        Ok(())
    }
}
