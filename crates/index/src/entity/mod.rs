//! Search for people: things rather than literals, with their names, types and pages, and what to narrow the search by.
//!
//! In: an [`EntityQuery`]. Out: [`EntityResults`]: a page of things, best first, and for every kind of filter the values that
//! would find something, with counts. They serialise to what the HTTP interface promises. What is in the text index and how it is asked
//! is [`text`](crate::text); this module counts ([`facets`]), ranks ([`rank`]) and shows ([`show`]). Start at
//! [`Snapshot::search_entities`].

mod facets;
mod rank;
mod show;

use std::time::Instant;

use serde::{Serialize, Serializer};

use crate::error::IndexError;
use crate::snapshot::Snapshot;
use crate::text::Snippet;
use crate::text::things::{Search, find};

use self::facets::Survey;

/// Most results on one page, and how far one can page.
const LIMIT_MAX: usize = 1_000;
const OFFSET_MAX: usize = 10_000;

/// What somebody looks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntityQuery {
    /// What was typed: words, `"phrases"`, `begin*`, `almost~1`, `-without`, `one OR other`, `label:word`; or the IRI of a thing.
    /// Anything may be typed. Nothing finds everything that the filters let through, and nothing at all without filters.
    pub words: String,
    /// Only things of one of these types: IRIs, or their last part, whatever its case.
    pub types: Vec<String>,
    /// Only things described with one of these vocabularies: namespaces, or their usual prefixes.
    pub vocabularies: Vec<String>,
    /// Only things that one of these sites speaks of: pay-level domains.
    pub sites: Vec<String>,
    /// Only things described in one of these languages: tags without region.
    pub languages: Vec<String>,
    /// How many things to show, at most 1,000.
    pub limit: usize,
    /// How many to leave out at the beginning, at most 10,000.
    pub offset: usize,
    /// The last word is not finished yet.
    pub as_you_type: bool,
}

impl EntityQuery {
    /// A search for words, without filters, for the first 20 things.
    pub fn new(words: impl Into<String>) -> Self {
        Self {
            words: words.into(),
            types: Vec::new(),
            vocabularies: Vec::new(),
            sites: Vec::new(),
            languages: Vec::new(),
            limit: 20,
            offset: 0,
            as_you_type: false,
        }
    }

    /// Whether the search is narrowed by anything but words.
    pub fn has_filters(&self) -> bool {
        [&self.types, &self.vocabularies, &self.sites, &self.languages]
            .iter()
            .any(|filter| !filter.is_empty())
    }
}

/// A page of things.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EntityResults {
    /// What was typed.
    pub query: String,
    /// How many things match.
    pub total: u64,
    /// False when there are more than were counted.
    pub total_is_exact: bool,
    /// How long it took.
    pub milliseconds: f64,
    /// Words that the index knows, when it does not know those typed. The results are for these.
    pub suggestion: Option<String>,
    /// The things, best first.
    pub results: Vec<Entity>,
    /// What to narrow the search by. The values of a facet are counted as if it had no filter itself.
    pub facets: Facets,
}

/// A thing.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Entity {
    /// Its IRI; `_:` and a label for a blank node.
    pub iri: String,
    /// Its name, as the best matching page gives it.
    pub label: Option<String>,
    /// The language of the name.
    pub label_language: Option<String>,
    /// Its types, as the matching pages say.
    pub types: Vec<Named>,
    /// What is said of it around the words.
    pub snippet: EntitySnippet,
    /// How well it matches; only the order means something.
    pub score: f32,
    /// How many sites have pages that match and speak of it.
    pub sites: u64,
    /// Some of these pages, best first.
    pub pages: Vec<EntityPage>,
    /// How many such pages there are.
    pub pages_total: u64,
    /// A picture of it.
    pub image: Option<String>,
    /// Things that some page says are the same (`owl:sameAs`). They are results of their own.
    pub same: Vec<Named>,
}

/// Something with a name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Named {
    /// Its IRI.
    pub iri: String,
    /// What people call it: its label, or the last part of the IRI.
    pub label: String,
}

/// A page that speaks of a thing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EntityPage {
    /// Its address, which is also the name of the graph.
    pub url: String,
    /// Its title.
    pub title: Option<String>,
}

/// A piece of what is said of a thing.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct EntitySnippet {
    /// The text, and the places of the words in it. Whoever shows it escapes it.
    #[serde(flatten, serialize_with = "with_utf16_places")]
    pub text: Snippet,
    /// What it says of the thing; nothing for the text of a page.
    pub predicate: Option<String>,
    /// Its language.
    pub language: Option<String>,
}

/// The values that a search can be narrowed to.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Facets {
    /// Types.
    #[serde(rename = "type")]
    pub types: Vec<FacetValue>,
    /// Namespaces of predicates.
    #[serde(rename = "vocabulary")]
    pub vocabularies: Vec<FacetValue>,
    /// Pay-level domains.
    #[serde(rename = "site")]
    pub sites: Vec<FacetValue>,
    /// Language tags.
    #[serde(rename = "language")]
    pub languages: Vec<FacetValue>,
}

/// One value of a facet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct FacetValue {
    /// What to filter by.
    pub value: String,
    /// What people call it.
    pub label: String,
    /// How many things have it.
    pub count: u64,
}

/// Something to complete what is being typed to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Suggestion {
    /// The text.
    pub text: String,
    /// The thing of that name.
    pub iri: Option<String>,
}

/// Browsers count in UTF-16.
fn with_utf16_places<S: Serializer>(snippet: &Snippet, serializer: S) -> Result<S::Ok, S::Error> {
    use serde::ser::SerializeMap;
    let units = |end: usize| snippet.text.get(..end).map_or(0, |text| text.encode_utf16().count());
    let places: Vec<[usize; 2]> =
        snippet.matches.iter().map(|place| [units(place.start), units(place.end)]).collect();
    let mut map = serializer.serialize_map(Some(2))?;
    map.serialize_entry("text", &snippet.text)?;
    map.serialize_entry("highlights", &places)?;
    map.end()
}

impl Snapshot {
    /// Things for people: best first, each once, with what to narrow the search by. Whatever was typed, this is no error.
    pub fn search_entities(&self, query: &EntityQuery) -> Result<EntityResults, IndexError> {
        let started = Instant::now();
        let words = query.words.trim();
        let search = Search {
            words,
            as_you_type: query.as_you_type,
            languages: &query.languages,
            among: None,
            forgiving: true,
            correcting: true,
            browsing: query.has_filters(),
        };
        let things = find(&self.view, &search)?;
        let mut survey = Survey::new(query, &things.collected);
        survey.count(&things.collected);
        let mut show = show::Show::new(&self.view, query);
        let (limit, offset) = (query.limit.min(LIMIT_MAX), query.offset.min(OFFSET_MAX));
        let suggestion = things.corrected.clone();
        let (mut total, total_is_exact) = (survey.total(), things.is_complete());
        let facets = show.facets(&survey, &things.collected)?;
        let mut results = show.results(things, survey, limit, offset)?;
        // Somebody pasted the IRI of a thing.
        if limit > 0
            && offset == 0
            && words.contains(':')
            && !words.contains(|character: char| character.is_whitespace() || character == '"')
            && let Some(thing) = show.pasted(words)?
        {
            let before = results.len();
            results.retain(|entity| entity.iri != thing.iri);
            total += u64::from(results.len() == before);
            results.insert(0, thing);
            results.truncate(limit);
        }
        Ok(EntityResults {
            query: query.words.clone(),
            total,
            total_is_exact,
            milliseconds: (started.elapsed().as_secs_f64() * 1e5).round() / 1e2,
            suggestion,
            results,
            facets,
        })
    }

    /// What somebody who types this probably wants to type: names of things, best first.
    pub fn suggest(&self, words: &str, limit: usize) -> Result<Vec<Suggestion>, IndexError> {
        let query =
            EntityQuery { as_you_type: true, limit: limit.saturating_mul(2), ..EntityQuery::new(words) };
        let found = self.search_entities(&query)?;
        let mut suggestions: Vec<Suggestion> = Vec::new();
        for entity in found.results {
            if let Some(text) = entity.label
                && !suggestions.iter().any(|known| known.text == text)
                && suggestions.len() < limit
            {
                suggestions.push(Suggestion { text, iri: Some(entity.iri) });
            }
        }
        if suggestions.is_empty()
            && limit > 0
            && let Some(text) = found.suggestion
        {
            suggestions.push(Suggestion { text, iri: None });
        }
        Ok(suggestions)
    }
}
