//! Full text: things found by words, shown with label, types and snippet.
//!
//! In, through [`TextWriter`]: the triples of a graph and the words of its page. Out, through
//! [`TextSearcher::search`]: [`Hit`]s, one per subject, with the pages that speak of it. Metadata graphs are left out:
//! nobody searches the web for "application/xhtml+xml" and wants the crawler's diary. What becomes a document is in
//! [`documents`]; when a state becomes current is decided elsewhere: see [`directory`].

mod describe;
pub(crate) mod directory;
mod documents;
mod search;
mod words;
mod write;

use std::ops::Range;

use oxrdf::{GraphNameRef, NamedNode, NamedOrBlankNode};
use tantivy::schema::{Field, INDEXED, IndexRecordOption, STORED, Schema, TextFieldIndexing, TextOptions};
use tantivy::tokenizer::{AsciiFoldingFilter, TextAnalyzer};

use self::words::Words;
use crate::term::TermId;

pub(crate) use self::describe::describe;
pub(crate) use self::search::TextSearcher;
pub(crate) use self::write::TextWriter;

const TOKENIZER: &str = "webloom";
/// Stands for the default graph; no IRI and no blank node is written like this.
const DEFAULT_GRAPH: &str = "*";

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
    /// The graphs that speak of it, best match first; empty for what is only in the default graph.
    pub pages: Vec<NamedOrBlankNode>,
    /// How well it matches; only the order means something.
    pub score: f32,
}

/// A piece of plain text with some of it to be emphasised. Whoever shows it escapes it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Snippet {
    /// The text.
    pub text: String,
    /// Byte ranges of the words that matched.
    pub matches: Vec<Range<usize>>,
}

/// What tantivy keeps of a document. Each indexed field costs every commit and every merge a dictionary, so there are few: subjects
/// and types are looked up among the quads.
#[derive(Debug, Clone, Copy)]
struct Fields {
    /// The lower half of the id of the graph's name, by which its documents are deleted. Half of a keyed hash is enough to tell
    /// pages apart, and the dictionary of a field is dear.
    graph_id: Field,
    graph: Field,
    subject: Field,
    label: Field,
    body: Field,
    types: Field,
    /// Where the links of a document of links lead; their words are its labels.
    links: Field,
}

impl Fields {
    fn schema() -> (Schema, Self) {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing);
        let mut schema = Schema::builder();
        let fields = Self {
            graph_id: schema.add_u64_field("graph_id", INDEXED),
            graph: schema.add_text_field("graph", STORED),
            subject: schema.add_text_field("subject", STORED),
            label: schema.add_text_field("label", text.clone().set_stored()),
            body: schema.add_text_field("body", text.set_stored()),
            types: schema.add_text_field("type", STORED),
            links: schema.add_text_field("links", STORED),
        };
        (schema.build(), fields)
    }

    fn of(schema: &Schema) -> tantivy::Result<Self> {
        Ok(Self {
            graph_id: schema.get_field("graph_id")?,
            graph: schema.get_field("graph")?,
            subject: schema.get_field("subject")?,
            label: schema.get_field("label")?,
            body: schema.get_field("body")?,
            types: schema.get_field("type")?,
            links: schema.get_field("links")?,
        })
    }
}

fn analyzer() -> TextAnalyzer {
    // No stemming: pages come in every language, and a stemmer for the wrong one loses words. Accents are
    // folded, because people type without them.
    TextAnalyzer::builder(Words::default()).filter(AsciiFoldingFilter).build()
}

/// What stands in [`Fields::graph_id`].
fn graph_number(id: TermId) -> u64 {
    id.to_bits() as u64
}

fn graph_key(graph: GraphNameRef<'_>) -> String {
    match graph {
        GraphNameRef::NamedNode(node) => node.as_str().to_owned(),
        GraphNameRef::BlankNode(node) => node.to_string(),
        GraphNameRef::DefaultGraph => DEFAULT_GRAPH.to_owned(),
    }
}

fn node_of_key(key: &str) -> NamedOrBlankNode {
    match key.strip_prefix("_:") {
        Some(label) => oxrdf::BlankNode::new_unchecked(label).into(),
        None => NamedNode::new_unchecked(key).into(),
    }
}

/// The largest place not after `limit` where the text may be cut.
fn floor_boundary(text: &str, limit: usize) -> usize {
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
