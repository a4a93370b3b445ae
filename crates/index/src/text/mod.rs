//! Full text: things found by words, shown with label, types and snippet.
//!
//! In, through [`TextWriter`]: the triples of a graph and the words of its page. Out, through [`things`]: subjects with the
//! pages that speak of them, which [`entity`](crate::entity) shows to people and `SERVICE <urn:webloom:text>` to queries.
//! Metadata graphs are left out: nobody searches the web for "application/xhtml+xml" and wants the crawler's diary.
//!
//! What becomes a document is in [`documents`], how documents become files in [`segment`]; when a state becomes current is decided elsewhere: see
//! [`directory`]. A search goes
//! from what was typed ([`typed`]) to the words of the index ([`expand`]), to documents and subjects ([`collect`]), and back
//! to the quads for what is shown of them ([`literals`]).

pub(crate) mod collect;
mod describe;
pub(crate) mod directory;
pub(crate) mod documents;
mod expand;
mod hits;
pub(crate) mod literals;
pub(crate) mod matching;
mod search;
mod segment;
pub(crate) mod shape;
mod table;
pub(crate) mod things;
pub(crate) mod typed;
mod words;
mod write;

use std::ops::Range;
use std::path::Path;

use oxrdf::{NamedNode, NamedOrBlankNode};
use tantivy::schema::{
    FAST, Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions,
};
use tantivy::tokenizer::TextAnalyzer;

use self::words::Words;
use crate::error::IndexError;

pub(crate) use self::describe::describe;
pub(crate) use self::documents::may_have_documents;
pub use self::hits::LiteralHit;
pub(crate) use self::hits::{Detail, hits, hits_of, literal_hits, node};
pub(crate) use self::search::TextSearcher;
pub(crate) use self::write::TextWriter;

const TOKENIZER: &str = "webloom";
/// Changes with [`Fields`].
const TEXT_FORMAT_VERSION: u32 = 2;

/// A thing that was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The thing.
    pub subject: NamedOrBlankNode,
    /// Its name, as the best matching page gives it.
    pub label: Option<String>,
    /// Its `rdf:type`s, over all pages found.
    pub types: Vec<NamedNode>,
    /// A piece of its text around the words, and where the words are in it.
    pub snippet: Snippet,
    /// The literal that has most of the words; nothing when they are in the text of a page.
    pub literal: Option<oxrdf::Literal>,
    /// The graphs that speak of it, best match first; empty for what is only in the default graph.
    pub pages: Vec<NamedOrBlankNode>,
    /// How well it matches; only the order means something.
    pub score: f32,
}

impl Hit {
    /// A hit of which nothing is known but that it is one.
    fn of(subject: NamedOrBlankNode, score: f32) -> Self {
        Self {
            subject,
            label: None,
            types: Vec::new(),
            snippet: Snippet::default(),
            literal: None,
            pages: Vec::new(),
            score,
        }
    }
}

/// A piece of plain text with some of it to be emphasised. Whoever shows it escapes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// Byte ranges of the words that matched.
    pub matches: Vec<Range<usize>>,
}

/// What tantivy keeps of a document. Each indexed field costs every commit and every merge a dictionary, so there are few; and
/// nothing is kept that the quads have. Columns are known by name: [`GRAPH`], [`SUBJECT`], [`SITE`] and [`SHAPE`].
#[derive(Debug, Clone, Copy)]
struct Fields {
    /// The [`number`](crate::TermId) of the graph's name, by which its documents are deleted. Half of a keyed hash is enough to
    /// tell pages apart.
    graph: Field,
    label: Field,
    body: Field,
    /// The text that a page shows, for snippets: no quad has it.
    page_body: Field,
    page_title: Field,
}

const GRAPH: &str = "graph";
/// The number of the subject; a document of links has none.
const SUBJECT: &str = "subject";
/// See [`shape::site_of`].
const SITE: &str = "site";
/// See [`shape::Shape`].
const SHAPE: &str = "shape";

impl Fields {
    fn schema() -> Schema {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let column = TextOptions::default().set_fast("raw");
        let mut schema = Schema::builder();
        schema.add_u64_field(GRAPH, INDEXED | FAST);
        schema.add_u64_field(SUBJECT, FAST);
        schema.add_text_field("label", text.clone());
        schema.add_text_field("body", text);
        schema.add_text_field(SITE, column.clone());
        schema.add_text_field(SHAPE, column);
        schema.add_text_field("page_body", STORED);
        schema.add_text_field("page_title", STORED);
        schema.build()
    }

    fn of(schema: &Schema, root: &Path) -> Result<Self, IndexError> {
        let field = |name: &str| {
            schema.get_field(name).map_err(|_| IndexError::UnknownVersion {
                path: root.to_owned(),
                found: TEXT_FORMAT_VERSION - 1,
                known: TEXT_FORMAT_VERSION,
            })
        };
        for column in [SUBJECT, SITE, SHAPE] {
            field(column)?;
        }
        Ok(Self {
            graph: field(GRAPH)?,
            label: field("label")?,
            body: field("body")?,
            page_body: field("page_body")?,
            page_title: field("page_title")?,
        })
    }
}

pub(crate) fn analyzer() -> TextAnalyzer {
    // No stemming here: pages come in every language, and a stemmer for the wrong one loses words. It is done to what is
    // typed (see `expand`). Accents are folded, because people type without them.
    TextAnalyzer::from(Words::default())
}

/// The largest place not after `limit` where the text may be cut.
pub(crate) fn floor_boundary(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_cut_between_characters() {
        for (text, limit, expected) in [("abc", 5, 3), ("abc", 2, 2), ("aé", 2, 1), ("é", 1, 0), ("", 0, 0)]
        {
            assert_eq!(floor_boundary(text, limit), expected, "{text} at {limit}");
        }
    }
}
