//! Tells where in a text the words of a search are.
//!
//! In: texts, one by one. Out: whether a text alone has everything that is looked for, and the places of the words. The index
//! finds documents; this finds which literal, which link and which words in it were meant. Start at [`Matcher::look`].

use std::collections::HashSet;
use std::ops::Range;

use tantivy::tokenizer::TextAnalyzer;

use super::analyzer;
use super::expand::{Expanded, ExpandedClause, ExpandedWord};

/// Most words of one text that are looked at.
const WORDS_MAX: usize = 20_000;

/// What a text has of what is looked for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Look {
    /// How many of the wanted things it has.
    pub(crate) found: usize,
    /// It has something unwanted.
    pub(crate) unwanted: bool,
    /// Places of the words that matched, in bytes, sorted.
    pub(crate) places: Vec<Range<usize>>,
}

/// Looks at texts for one search.
pub(crate) struct Matcher {
    analyzer: TextAnalyzer,
    wanted: Vec<Vec<ClauseMatcher>>,
    unwanted: Vec<ClauseMatcher>,
    tokens: Vec<(String, Range<usize>)>,
}

enum ClauseMatcher {
    Word(WordMatcher),
    Phrase { words: Vec<WordMatcher>, slop: usize },
}

struct WordMatcher {
    terms: HashSet<String>,
    prefix: Option<String>,
}

impl WordMatcher {
    fn new(word: &ExpandedWord) -> Self {
        Self { terms: word.terms.iter().map(|(term, _)| term.clone()).collect(), prefix: word.prefix.clone() }
    }

    fn matches(&self, word: &str) -> bool {
        self.terms.contains(word) || self.prefix.as_deref().is_some_and(|prefix| word.starts_with(prefix))
    }
}

impl ClauseMatcher {
    fn new(clause: &ExpandedClause) -> Self {
        match clause {
            ExpandedClause::Word { word, .. } => Self::Word(WordMatcher::new(word)),
            ExpandedClause::Phrase { words, slop, .. } => {
                Self::Phrase { words: words.iter().map(WordMatcher::new).collect(), slop: *slop as usize }
            }
        }
    }

    /// Adds the places where it matches; says whether there are any.
    fn places(&self, tokens: &[(String, Range<usize>)], places: &mut Vec<Range<usize>>) -> bool {
        let before = places.len();
        match self {
            Self::Word(word) => {
                places.extend(
                    tokens.iter().filter(|(text, _)| word.matches(text)).map(|(_, place)| place.clone()),
                );
            }
            Self::Phrase { words, slop } => {
                for start in 0..tokens.len() {
                    let mut at = start;
                    let mut slack = *slop;
                    let mut matched = Vec::with_capacity(words.len());
                    for word in words {
                        // The first word is where it is; others may have some between them.
                        let reach = if matched.is_empty() { 0 } else { slack };
                        let next = (at..tokens.len().min(at + reach + 1))
                            .find(|place| word.matches(&tokens[*place].0));
                        let Some(next) = next else {
                            break;
                        };
                        slack -= next - at;
                        matched.push(next);
                        at = next + 1;
                    }
                    if matched.len() == words.len() {
                        places.extend(matched.into_iter().map(|place| tokens[place].1.clone()));
                    }
                }
            }
        }
        places.len() > before
    }
}

impl Matcher {
    pub(crate) fn new(expanded: &Expanded) -> Self {
        Self {
            analyzer: analyzer(),
            wanted: expanded
                .wanted
                .iter()
                .map(|alternatives| alternatives.iter().map(ClauseMatcher::new).collect())
                .collect(),
            unwanted: expanded.unwanted.iter().map(ClauseMatcher::new).collect(),
            tokens: Vec::new(),
        }
    }

    /// How many things are wanted.
    pub(crate) fn wanted(&self) -> usize {
        self.wanted.len()
    }

    /// Looks at a text.
    pub(crate) fn look(&mut self, text: &str) -> Look {
        self.tokens.clear();
        let mut stream = self.analyzer.token_stream(text);
        while self.tokens.len() < WORDS_MAX && stream.advance() {
            let token = stream.token();
            self.tokens.push((token.text.clone(), token.offset_from..token.offset_to));
        }
        let mut look = Look::default();
        for alternatives in &self.wanted {
            let mut found = false;
            for clause in alternatives {
                found |= clause.places(&self.tokens, &mut look.places);
            }
            look.found += usize::from(found);
        }
        let mut ignored = Vec::new();
        look.unwanted = self.unwanted.iter().any(|clause| clause.places(&self.tokens, &mut ignored));
        look.places.sort_by_key(|place| place.start);
        look.places.dedup();
        look
    }
}
