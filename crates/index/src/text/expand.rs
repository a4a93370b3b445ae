//! From the words that were typed to the words that the index has.
//!
//! In: [`Typed`] and the languages to think in. Out: [`Expanded`]: for each word the words that count for it, and a query for tantivy.
//! Words are stemmed here, when something is asked, and not when pages are written: a text index of many languages stays
//! as small as one of none, every literal is found by its exact words, and by the forms of the language that the asker or the
//! index speaks. The forms of a word are looked up in the dictionary of the index, where they are neighbours. Start at
//! [`Expander::expand`].

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};

use tantivy::query::{
    BooleanQuery, BoostQuery, EmptyQuery, FuzzyTermQuery, Occur, PhrasePrefixQuery, PhraseQuery, Query,
    TermQuery,
};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::tokenizer::{Language, RawTokenizer, Stemmer, TextAnalyzer};
use tantivy::{Searcher, Term};

use super::Fields;
use super::typed::{Clause, Typed, What};
use crate::error::IndexError;

/// How much more a word in a name counts than one in other text.
const LABEL_BOOST: f32 = 3.0;
/// How much another form of a word counts, one that only begins so, and one that is only similar.
const FORM_WEIGHT: f32 = 0.4;
const PREFIX_WEIGHT: f32 = 0.5;
const FUZZY_WEIGHT: f32 = 0.6;
/// Most words of the dictionary that are looked at for one word that was typed.
const LOOKED_AT_MAX: usize = 10_000;
/// Most forms of a word that count.
const FORMS_MAX: usize = 16;
/// Most words with a common beginning that are scored each for itself.
const PREFIXED_MAX: usize = 48;
/// Most similar words that count.
const SIMILAR_MAX: usize = 32;
/// How much longer than a word another form of it can be.
const ENDING_BYTES_MAX: usize = 8;
/// Shorter words have no forms.
const FORM_BYTES_MIN: usize = 3;

/// What to look for, in words of the index.
#[derive(Debug, Clone, Default)]
pub(crate) struct Expanded {
    /// All of these; of each, any alternative.
    pub(crate) wanted: Vec<Vec<ExpandedClause>>,
    /// None of these.
    pub(crate) unwanted: Vec<ExpandedClause>,
}

/// One thing to look for.
#[derive(Debug, Clone)]
pub(crate) enum ExpandedClause {
    Word { label_only: bool, word: ExpandedWord },
    Phrase { label_only: bool, words: Vec<ExpandedWord>, slop: u32, open: bool },
}

/// The words that count for one that was typed.
#[derive(Debug, Clone, Default)]
pub(crate) struct ExpandedWord {
    /// Words, and how much each counts. The first is the one that was typed.
    pub(crate) terms: Vec<(String, f32)>,
    /// All words that begin so.
    pub(crate) prefix: Option<String>,
    /// There are more words with that beginning than are listed.
    more: bool,
}

impl ExpandedWord {
    fn only(word: &str) -> Self {
        Self { terms: vec![(word.to_owned(), 1.0)], ..Self::default() }
    }
}

/// Looks words up in the dictionaries of one state of the text index.
pub(crate) struct Expander<'a> {
    searcher: &'a Searcher,
    fields: Fields,
    languages: Vec<Language>,
}

impl<'a> Expander<'a> {
    pub(super) fn new(searcher: &'a Searcher, fields: Fields, languages: Vec<Language>) -> Self {
        Self { searcher, fields, languages }
    }

    /// Finds the words of the index for what was typed.
    pub(crate) fn expand(&self, typed: &Typed) -> Result<Expanded, IndexError> {
        let clause = |clause: &Clause| self.clause(clause);
        let mut expanded = Expanded::default();
        for alternatives in &typed.wanted {
            expanded.wanted.push(alternatives.iter().map(clause).collect::<Result<_, _>>()?);
        }
        expanded.unwanted = typed.unwanted.iter().map(clause).collect::<Result<_, _>>()?;
        Ok(expanded)
    }

    fn clause(&self, clause: &Clause) -> Result<ExpandedClause, IndexError> {
        let label_only = clause.label_only;
        let word = match &clause.what {
            What::Word(word) => self.forms(word)?,
            What::Prefix(word) => self.prefixed(word)?,
            What::Fuzzy(word, distance) => self.similar(word, *distance)?,
            What::Phrase { words, slop, open } => {
                let mut words: Vec<ExpandedWord> =
                    words.iter().map(|word| ExpandedWord::only(word)).collect();
                if *open && let Some(last) = words.last_mut() {
                    last.prefix = last.terms.first().map(|(word, _)| word.clone());
                }
                return Ok(ExpandedClause::Phrase { label_only, words, slop: *slop, open: *open });
            }
        };
        Ok(ExpandedClause::Word { label_only, word })
    }

    /// Calls back for every word of the dictionaries from `start` on, with the number of documents it is in, until told to
    /// stop.
    fn each_from(&self, start: &str, mut each: impl FnMut(&str, u64) -> bool) -> Result<(), IndexError> {
        for reader in self.searcher.segment_readers() {
            for field in [self.fields.label, self.fields.body] {
                let inverted = reader.inverted_index(field)?;
                let mut stream = inverted
                    .terms()
                    .range()
                    .ge(start.as_bytes())
                    .into_stream()
                    .map_err(tantivy::TantivyError::from)?;
                while stream.advance() {
                    let documents = u64::from(stream.value().doc_freq);
                    if let Ok(word) = std::str::from_utf8(stream.key())
                        && !each(word, documents)
                    {
                        break;
                    }
                }
            }
        }
        Ok(())
    }

    /// The word and its other forms.
    fn forms(&self, word: &str) -> Result<ExpandedWord, IndexError> {
        let mut expanded = ExpandedWord::only(word);
        if word.len() < FORM_BYTES_MIN || word.bytes().any(|byte| byte.is_ascii_digit()) {
            return Ok(expanded);
        }
        // The stems in each language, and what a form of the word begins with in it.
        let mut stems: Vec<(WordStemmer, String, String)> = Vec::new();
        for language in &self.languages {
            let mut stemmer = WordStemmer::new(*language);
            let stem = stemmer.stem(word);
            // Endings change the end of a stem too (pony, ponies), so the search begins a little before it.
            let shared = common_prefix(&stem, word);
            let characters = shared.chars().count();
            if characters >= 2 {
                let start = shared.chars().take((characters - 1).max(2)).collect();
                stems.push((stemmer, stem, start));
            }
        }
        // All of them are beginnings of the word, so the shortest one covers the others.
        let Some(shortest) = stems.iter().map(|(_, _, start)| start.clone()).min_by_key(String::len) else {
            return Ok(expanded);
        };
        let mut found: BTreeMap<String, u64> = BTreeMap::new();
        let mut known: HashMap<String, bool> = HashMap::new();
        let mut looked_at = 0;
        self.each_from(&shortest, |other, documents| {
            looked_at += 1;
            if !other.starts_with(&shortest) || looked_at > LOOKED_AT_MAX {
                return false;
            }
            // No ending is longer than this.
            if other == word || other.len() > word.len() + ENDING_BYTES_MAX {
                return true;
            }
            let is_form = match known.get(other) {
                Some(is_form) => *is_form,
                None => {
                    let is_form = stems.iter_mut().any(|(stemmer, stem, start)| {
                        other.starts_with(start.as_str()) && stemmer.stem(other) == *stem
                    });
                    known.insert(other.to_owned(), is_form);
                    is_form
                }
            };
            if is_form {
                *found.entry(other.to_owned()).or_default() += documents;
            }
            true
        })?;
        let mut forms: Vec<(String, u64)> = found.into_iter().collect();
        forms.sort_by_key(|(_, documents)| Reverse(*documents));
        forms.truncate(FORMS_MAX);
        expanded.terms.extend(forms.into_iter().map(|(form, _)| (form, FORM_WEIGHT)));
        Ok(expanded)
    }

    /// The word and those that it begins.
    fn prefixed(&self, word: &str) -> Result<ExpandedWord, IndexError> {
        let mut expanded = ExpandedWord { prefix: Some(word.to_owned()), ..self.forms(word)? };
        let mut found: HashMap<String, u64> = HashMap::new();
        let mut looked_at = 0;
        self.each_from(word, |other, documents| {
            looked_at += 1;
            if !other.starts_with(word) {
                return false;
            }
            if looked_at > LOOKED_AT_MAX {
                expanded.more = true;
                return false;
            }
            if other != word {
                match found.get_mut(other) {
                    Some(sum) => *sum += documents,
                    None => {
                        found.insert(other.to_owned(), documents);
                    }
                }
            }
            true
        })?;
        let mut words: Vec<(String, u64)> = found.into_iter().collect();
        words.sort_by(|(one, one_documents), (other, other_documents)| {
            other_documents.cmp(one_documents).then_with(|| one.cmp(other))
        });
        expanded.more |= words.len() > PREFIXED_MAX;
        words.truncate(PREFIXED_MAX);
        for (word, _) in words {
            if !expanded.terms.iter().any(|(known, _)| *known == word) {
                expanded.terms.push((word, PREFIX_WEIGHT));
            }
        }
        Ok(expanded)
    }

    /// Words of the index that differ from one in few letters, with the number of documents they are in.
    fn similar_words(&self, word: &str, distance: u8) -> Result<HashMap<String, u64>, IndexError> {
        let term = Term::from_field_text(self.fields.label, word);
        let automaton = FuzzyTermQuery::new(term, distance, true).automaton()?;
        let mut found: HashMap<String, u64> = HashMap::new();
        for reader in self.searcher.segment_readers() {
            for field in [self.fields.label, self.fields.body] {
                let inverted = reader.inverted_index(field)?;
                let terms = inverted.terms();
                let mut stream =
                    terms.search(&automaton).into_stream().map_err(tantivy::TantivyError::from)?;
                let mut looked_at = 0;
                while looked_at < LOOKED_AT_MAX && stream.advance() {
                    looked_at += 1;
                    if let Ok(other) = std::str::from_utf8(stream.key()) {
                        *found.entry(other.to_owned()).or_default() += u64::from(stream.value().doc_freq);
                    }
                }
            }
        }
        Ok(found)
    }

    fn similar(&self, word: &str, distance: u8) -> Result<ExpandedWord, IndexError> {
        let mut words: Vec<(usize, Reverse<u64>, String)> = self
            .similar_words(word, distance)?
            .into_iter()
            .map(|(other, documents)| (letters_between(word, &other), Reverse(documents), other))
            .filter(|(distance, _, _)| *distance > 0)
            .collect();
        words.sort();
        words.truncate(SIMILAR_MAX);
        let mut expanded = ExpandedWord::only(word);
        let weight = |distance: usize| FUZZY_WEIGHT.powi(i32::try_from(distance).unwrap_or(i32::MAX));
        expanded.terms.extend(words.into_iter().map(|(distance, _, other)| (other, weight(distance))));
        Ok(expanded)
    }

    /// True when some document has the word.
    pub(crate) fn knows(&self, word: &str) -> Result<bool, IndexError> {
        for field in [self.fields.label, self.fields.body] {
            if self.searcher.doc_freq(&Term::from_field_text(field, word))? > 0 {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The word that was probably meant, for one that the index does not know.
    pub(crate) fn correct(&self, word: &str) -> Result<Option<String>, IndexError> {
        let characters = word.chars().count();
        if characters < 3 {
            return Ok(None);
        }
        for distance in 1..=if characters < 6 { 1 } else { 2 } {
            let similar = self.similar_words(word, distance)?;
            let best = similar.into_iter().max_by(|(one, one_documents), (other, other_documents)| {
                one_documents.cmp(other_documents).then_with(|| other.cmp(one))
            });
            if let Some((word, _)) = best {
                return Ok(Some(word));
            }
        }
        Ok(None)
    }

    /// The query for tantivy.
    pub(crate) fn query(&self, expanded: &Expanded) -> Box<dyn Query> {
        let mut clauses: Vec<(Occur, Box<dyn Query>)> = Vec::new();
        for alternatives in &expanded.wanted {
            let mut parts: Vec<(Occur, Box<dyn Query>)> = Vec::new();
            for clause in alternatives {
                self.clause_queries(clause, &mut parts);
            }
            clauses.push((Occur::Must, union(parts)));
        }
        if clauses.is_empty() {
            return Box::new(EmptyQuery);
        }
        for clause in &expanded.unwanted {
            let mut parts = Vec::new();
            self.clause_queries(clause, &mut parts);
            clauses.push((Occur::MustNot, union(parts)));
        }
        Box::new(BooleanQuery::new(clauses))
    }

    fn clause_queries(&self, clause: &ExpandedClause, parts: &mut Vec<(Occur, Box<dyn Query>)>) {
        let (ExpandedClause::Word { label_only, .. } | ExpandedClause::Phrase { label_only, .. }) = clause;
        let fields: &[(Field, f32)] = &[(self.fields.label, LABEL_BOOST), (self.fields.body, 1.0)];
        for &(field, boost) in &fields[..if *label_only { 1 } else { 2 }] {
            match clause {
                ExpandedClause::Word { word, .. } => {
                    for (term, weight) in &word.terms {
                        let term = Term::from_field_text(field, term);
                        let query = TermQuery::new(term, IndexRecordOption::WithFreqs);
                        parts.push((Occur::Should, boosted(query, boost * weight)));
                    }
                    if let Some(prefix) = word.prefix.as_deref().filter(|_| word.more) {
                        let term = Term::from_field_text(field, prefix);
                        let query = FuzzyTermQuery::new_prefix(term, 0, false);
                        parts.push((Occur::Should, boosted(query, boost * PREFIX_WEIGHT)));
                    }
                }
                ExpandedClause::Phrase { words, slop, open, .. } => {
                    let terms: Vec<Term> = words
                        .iter()
                        .filter_map(|word| word.terms.first())
                        .map(|(word, _)| Term::from_field_text(field, word))
                        .collect();
                    if terms.len() < 2 {
                        continue;
                    }
                    let query: Box<dyn Query> = if *open {
                        Box::new(PhrasePrefixQuery::new(terms))
                    } else {
                        let mut query = PhraseQuery::new(terms);
                        query.set_slop(*slop);
                        Box::new(query)
                    };
                    parts.push((Occur::Should, Box::new(BoostQuery::new(query, boost))));
                }
            }
        }
    }
}

fn boosted(query: impl Query, boost: f32) -> Box<dyn Query> {
    Box::new(BoostQuery::new(Box::new(query), boost))
}

fn union(mut parts: Vec<(Occur, Box<dyn Query>)>) -> Box<dyn Query> {
    if parts.len() == 1
        && let Some((_, only)) = parts.pop()
    {
        return only;
    }
    Box::new(BooleanQuery::new(parts))
}

fn common_prefix<'a>(one: &'a str, other: &str) -> &'a str {
    let end = one
        .char_indices()
        .zip(other.chars())
        .find(|((_, left), right)| left != right)
        .map_or(one.len().min(other.len()), |((at, _), _)| at);
    one.get(..end).unwrap_or(one)
}

/// Letters to change, leave out, put in or swap to make one word of the other.
fn letters_between(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (row, letter) in one.iter().enumerate() {
        let mut current = vec![row + 1];
        for (column, other_letter) in other.iter().enumerate() {
            let mut best = (last[column] + usize::from(letter != other_letter))
                .min(last[column + 1] + 1)
                .min(current[column] + 1);
            if row > 0 && column > 0 && *letter == other[column - 1] && one[row - 1] == *other_letter {
                best = best.min(before_last[column - 1] + 1);
            }
            current.push(best);
        }
        before_last = std::mem::replace(&mut last, current);
    }
    last.last().copied().unwrap_or_default()
}

/// Takes the endings off words.
struct WordStemmer(TextAnalyzer);

impl WordStemmer {
    fn new(language: Language) -> Self {
        Self(TextAnalyzer::builder(RawTokenizer::default()).filter(Stemmer::new(language)).build())
    }

    fn stem(&mut self, word: &str) -> String {
        let mut stream = self.0.token_stream(word);
        if stream.advance() { stream.token().text.clone() } else { String::new() }
    }
}

/// The stemmer for a language tag; nothing when there is none.
pub(super) fn stemmer_language(tag: &str) -> Option<Language> {
    Some(match super::shape::primary_language(tag)?.to_ascii_lowercase().as_str() {
        "ar" => Language::Arabic,
        "da" => Language::Danish,
        "nl" => Language::Dutch,
        "en" => Language::English,
        "fi" => Language::Finnish,
        "fr" => Language::French,
        "de" => Language::German,
        "el" => Language::Greek,
        "hu" => Language::Hungarian,
        "it" => Language::Italian,
        "nb" | "nn" | "no" => Language::Norwegian,
        "pt" => Language::Portuguese,
        "ro" => Language::Romanian,
        "ru" => Language::Russian,
        "es" => Language::Spanish,
        "sv" => Language::Swedish,
        "ta" => Language::Tamil,
        "tr" => Language::Turkish,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_that_differ() {
        for (one, other, expected) in [
            ("harbour", "harbour", 0),
            ("harbour", "harbor", 1),
            ("abc", "acb", 1),
            ("abc", "", 3),
            ("", "ab", 2),
            ("turing", "touring", 1),
            ("turing", "trains", 3),
            ("é", "e", 1),
        ] {
            assert_eq!(letters_between(one, other), expected, "{one} {other}");
            assert_eq!(letters_between(other, one), expected, "{other} {one}");
        }
    }

    #[test]
    fn beginnings_in_common() {
        for (one, other, expected) in [
            ("run", "running", "run"),
            ("poni", "pony", "pon"),
            ("x", "y", ""),
            ("éa", "éb", "é"),
            ("", "a", ""),
        ] {
            assert_eq!(common_prefix(one, other), expected, "{one} {other}");
        }
    }
}
