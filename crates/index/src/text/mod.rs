//! Full text: one document per page and subject, found by words, shown with label, types and snippet.
//!
//! In, through [`TextWriter`]: the triples of a graph and the words of its page. Out, through
//! [`TextSearcher::search`]: [`Hit`]s, one per subject, with the pages that speak of it. Metadata graphs are left out:
//! nobody searches the web for "application/xhtml+xml" and wants the crawler's diary. When a state
//! becomes current is decided elsewhere: see [`directory`].

pub(crate) mod directory;

use std::collections::HashMap;
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

use oxrdf::{GraphNameRef, NamedNode, NamedOrBlankNode, NamedOrBlankNodeRef, TermRef, TripleRef};
use tantivy::collector::TopDocs;
use tantivy::indexer::IndexWriterOptions;
use tantivy::query::{BooleanQuery, BoostQuery, Occur, Query, QueryParser, TermQuery};
use tantivy::schema::{
    Field, IndexRecordOption, STORED, STRING, Schema, TantivyDocument, TextFieldIndexing, TextOptions, Value,
};
use tantivy::snippet::SnippetGenerator;
use tantivy::tokenizer::{AsciiFoldingFilter, LowerCaser, RemoveLongFilter, SimpleTokenizer, TextAnalyzer};
use tantivy::{IndexReader, IndexWriter, ReloadPolicy, Searcher, Term};
use webloom_model::PageText;
use webloom_model::vocab::{META_PREFIX, rdf};

use self::directory::CommitDirectory;
use crate::error::IndexError;

/// Most bytes of text kept for one subject of one page.
const BODY_BYTES_MAX: usize = 32 * 1024;
/// Most bytes of a label.
const LABEL_BYTES_MAX: usize = 512;
/// Most types kept for one subject of one page.
const TYPES_MAX: usize = 16;
const SNIPPET_CHARACTERS: usize = 200;
/// Longest query that is looked at, in bytes; nobody types more, and parsing is recursive.
const QUERY_BYTES_MAX: usize = 1024;
/// Queries with more opening brackets than this have them taken for spaces.
const QUERY_BRACKETS_MAX: usize = 32;
/// Longest word that is indexed, in bytes.
const WORD_BYTES_MAX: usize = 64;

const TOKENIZER: &str = "webloom";
/// Stands for the default graph; no IRI and no blank node is written like this.
const DEFAULT_GRAPH: &str = "*";

/// What names a thing, best first.
const LABEL_PREDICATES: [&str; 12] = [
    "http://www.w3.org/2000/01/rdf-schema#label",
    "http://www.w3.org/2004/02/skos/core#prefLabel",
    "http://schema.org/name",
    "https://schema.org/name",
    "http://xmlns.com/foaf/0.1/name",
    "http://purl.org/dc/terms/title",
    "http://purl.org/dc/elements/1.1/title",
    "http://ogp.me/ns#title",
    "http://schema.org/headline",
    "https://schema.org/headline",
    "http://www.w3.org/2006/vcard/ns#fn",
    "http://usefulinc.com/ns/doap#name",
];

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

#[derive(Debug, Clone, Copy)]
struct Fields {
    graph: Field,
    subject: Field,
    label: Field,
    body: Field,
    types: Field,
}

impl Fields {
    fn schema() -> (Schema, Self) {
        let indexing = TextFieldIndexing::default()
            .set_tokenizer(TOKENIZER)
            .set_index_option(IndexRecordOption::WithFreqsAndPositions);
        let text = TextOptions::default().set_indexing_options(indexing).set_stored();
        let mut schema = Schema::builder();
        let fields = Self {
            graph: schema.add_text_field("graph", STRING | STORED),
            subject: schema.add_text_field("subject", STRING | STORED),
            label: schema.add_text_field("label", text.clone()),
            body: schema.add_text_field("body", text),
            types: schema.add_text_field("type", STRING | STORED),
        };
        (schema.build(), fields)
    }

    fn of(schema: &Schema) -> tantivy::Result<Self> {
        Ok(Self {
            graph: schema.get_field("graph")?,
            subject: schema.get_field("subject")?,
            label: schema.get_field("label")?,
            body: schema.get_field("body")?,
            types: schema.get_field("type")?,
        })
    }
}

fn register_tokenizer(index: &tantivy::Index) {
    // No stemming: pages come in every language, and a stemmer for the wrong one loses words. Accents are
    // folded, because people type without them.
    let analyzer = TextAnalyzer::builder(SimpleTokenizer::default())
        .filter(RemoveLongFilter::limit(WORD_BYTES_MAX))
        .filter(LowerCaser)
        .filter(AsciiFoldingFilter)
        .build();
    index.tokenizers().register(TOKENIZER, analyzer);
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

/// The one writer of the text index.
pub(crate) struct TextWriter {
    directory: CommitDirectory,
    writer: IndexWriter,
    reader: IndexReader,
    fields: Fields,
    changed: bool,
}

impl TextWriter {
    /// Opens the text index in its directory, or makes one. `meta` is what the manifest holds.
    pub(crate) fn open(root: &Path, meta: Option<&str>, memory_bytes: usize) -> Result<Self, IndexError> {
        let directory = CommitDirectory::open(root, meta, false)?;
        let index = match meta {
            Some(_) => tantivy::Index::open(directory.clone())?,
            None => {
                let (schema, _) = Fields::schema();
                tantivy::Index::create(directory.clone(), schema, tantivy::IndexSettings::default())?
            }
        };
        register_tokenizer(&index);
        let fields = Fields::of(&index.schema())?;
        let options = IndexWriterOptions::builder()
            .memory_budget_per_thread(memory_bytes.max(15_000_000))
            .num_worker_threads(1)
            .num_merge_threads(1)
            .build();
        let writer = index.writer_with_options(options)?;
        let reader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        // What a crash left behind: no manifest names it, so it can go at once.
        writer.garbage_collect_files().wait()?;
        let (_, retired) = directory.take_state();
        directory.remove(&retired);
        Ok(Self { directory, writer, reader, fields, changed: false })
    }

    /// Replaces or adds to what is known of a graph; says how many documents it became. Becomes part of the next
    /// [`TextWriter::commit`].
    pub(crate) fn write<'a>(
        &mut self,
        graph: GraphNameRef<'a>,
        replace: bool,
        triples: impl Iterator<Item = TripleRef<'a>>,
        page: Option<&'a PageText>,
    ) -> Result<usize, IndexError> {
        if matches!(graph, GraphNameRef::NamedNode(node) if node.as_str().starts_with(META_PREFIX)) {
            return Ok(0);
        }
        let key = graph_key(graph);
        if replace {
            self.writer.delete_term(Term::from_field_text(self.fields.graph, &key));
            self.changed = true;
        }
        let documents = documents(graph, triples, page);
        let written = documents.len();
        for document in documents {
            self.changed = true;
            self.writer.add_document(document.into_tantivy(self.fields, &key))?;
        }
        Ok(written)
    }

    /// Makes what was written the state that [`TextWriter::take_state`] hands out.
    pub(crate) fn commit(&mut self) -> Result<(), IndexError> {
        if self.changed {
            self.writer.commit()?;
            self.changed = false;
        }
        Ok(())
    }

    /// Forgets what was written since the last commit.
    pub(crate) fn rollback(&mut self) -> Result<(), IndexError> {
        if self.changed {
            self.writer.rollback()?;
            self.changed = false;
        }
        Ok(())
    }

    /// The metadata for the manifest, and the files that may go once it is there.
    pub(crate) fn take_state(&self) -> (String, Vec<PathBuf>) {
        self.directory.take_state()
    }

    pub(crate) fn remove(&self, retired: &[PathBuf]) {
        self.directory.remove(retired);
    }

    /// A searcher over the last commit.
    pub(crate) fn searcher(&self) -> Result<TextSearcher, IndexError> {
        self.reader.reload()?;
        Ok(TextSearcher { searcher: self.reader.searcher(), fields: self.fields })
    }

    /// Lets running merges end. The directory's last state is returned.
    pub(crate) fn close(self) -> Result<(String, CommitDirectory, Vec<PathBuf>), IndexError> {
        self.writer.wait_merging_threads()?;
        let (meta, retired) = self.directory.take_state();
        Ok((meta, self.directory, retired))
    }
}

/// One subject of one graph, in words.
struct SubjectText<'a> {
    subject: NamedOrBlankNodeRef<'a>,
    label: Option<(usize, &'a str)>,
    types: Vec<&'a str>,
    body: String,
}

impl SubjectText<'_> {
    fn push(&mut self, text: &str) {
        if self.body.len() >= BODY_BYTES_MAX || text.is_empty() {
            return;
        }
        if !self.body.is_empty() {
            self.body.push('\n');
        }
        self.body.push_str(text);
        let end = floor_boundary(&self.body, BODY_BYTES_MAX);
        self.body.truncate(end);
    }

    fn into_tantivy(self, fields: Fields, graph: &str) -> TantivyDocument {
        let mut document = TantivyDocument::new();
        document.add_text(fields.graph, graph);
        match self.subject {
            NamedOrBlankNodeRef::NamedNode(node) => document.add_text(fields.subject, node.as_str()),
            NamedOrBlankNodeRef::BlankNode(node) => document.add_text(fields.subject, node.to_string()),
        }
        if let Some((_, label)) = self.label {
            document.add_text(fields.label, &label[..floor_boundary(label, LABEL_BYTES_MAX)]);
        }
        for class in self.types {
            document.add_text(fields.types, class);
        }
        document.add_text(fields.body, &self.body);
        document
    }
}

/// The largest place not after `limit` where the text may be cut.
fn floor_boundary(text: &str, limit: usize) -> usize {
    if text.len() <= limit {
        return text.len();
    }
    (0..=limit).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0)
}

/// The subjects of a graph that have literals, in order of appearance, and the page itself if it has words.
fn documents<'a>(
    graph: GraphNameRef<'a>,
    triples: impl Iterator<Item = TripleRef<'a>>,
    page: Option<&'a PageText>,
) -> Vec<SubjectText<'a>> {
    let mut subjects: Vec<SubjectText<'a>> = Vec::new();
    let mut places: HashMap<NamedOrBlankNodeRef<'a>, usize> = HashMap::new();
    let mut at = |subjects: &mut Vec<SubjectText<'a>>, subject| {
        *places.entry(subject).or_insert_with(|| {
            subjects.push(SubjectText { subject, label: None, types: Vec::new(), body: String::new() });
            subjects.len() - 1
        })
    };
    for triple in triples {
        match triple.object {
            TermRef::Literal(literal) => {
                let place = at(&mut subjects, triple.subject);
                let text = &mut subjects[place];
                let rank = LABEL_PREDICATES.iter().position(|label| *label == triple.predicate.as_str());
                if let Some(rank) = rank
                    && text.label.is_none_or(|(best, _)| rank < best)
                {
                    text.label = Some((rank, literal.value()));
                }
                text.push(literal.value());
            }
            TermRef::NamedNode(class) if triple.predicate == rdf::TYPE => {
                let place = at(&mut subjects, triple.subject);
                let types = &mut subjects[place].types;
                if types.len() < TYPES_MAX && !types.contains(&class.as_str()) {
                    types.push(class.as_str());
                }
            }
            _ => {}
        }
    }
    let page_subject = match graph {
        GraphNameRef::NamedNode(node) => Some(NamedOrBlankNodeRef::from(node)),
        GraphNameRef::BlankNode(node) => Some(node.into()),
        GraphNameRef::DefaultGraph => None,
    };
    if let (Some(page), Some(subject)) = (page, page_subject)
        && (page.title.is_some() || !page.body.is_empty())
    {
        let place = at(&mut subjects, subject);
        let text = &mut subjects[place];
        if let Some(title) = &page.title {
            if text.label.is_none() {
                text.label = Some((LABEL_PREDICATES.len(), title));
            }
            if !text.body.contains(title.as_str()) {
                text.push(title);
            }
        }
        text.push(&page.body);
    }
    subjects.retain(|text| !text.body.is_empty());
    subjects
}

/// Searches one state of the text index.
#[derive(Clone)]
pub(crate) struct TextSearcher {
    searcher: Searcher,
    fields: Fields,
}

impl fmt::Debug for TextSearcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextSearcher({} documents)", self.searcher.num_docs())
    }
}

impl TextSearcher {
    /// Opens the state that a manifest describes, changing nothing.
    pub(crate) fn open(root: &Path, meta: &str) -> Result<Self, IndexError> {
        let directory = CommitDirectory::open(root, Some(meta), true)?;
        let index = tantivy::Index::open(directory)?;
        register_tokenizer(&index);
        let fields = Fields::of(&index.schema())?;
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { searcher: reader.searcher(), fields })
    }

    /// Number of documents: subjects with words, counted once per page.
    pub(crate) fn document_count(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> Result<u64, IndexError> {
        let usage = self.searcher.space_usage().map_err(tantivy::TantivyError::from)?;
        Ok(usage.total().get_bytes())
    }

    /// Files whose checksum is wrong.
    pub(crate) fn damaged_files(&self) -> Result<Vec<PathBuf>, IndexError> {
        let mut damaged: Vec<_> = self.searcher.index().validate_checksum()?.into_iter().collect();
        damaged.sort();
        Ok(damaged)
    }

    /// The graph and subject of every document, for checks.
    pub(crate) fn documents_of_graph(&self, graph: GraphNameRef<'_>) -> Result<usize, IndexError> {
        let term = Term::from_field_text(self.fields.graph, &graph_key(graph));
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        Ok(self.searcher.search(&query, &tantivy::collector::Count)?)
    }

    /// The best `limit` subjects for what a person typed. Anything may be typed; what makes no sense finds nothing.
    pub(crate) fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let words = words[..floor_boundary(words, QUERY_BYTES_MAX)].trim();
        if words.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        // All words first; when no subject has them all, any of them.
        let Ok(hits) = self.search_query(&*self.parse(words, true), limit) else {
            // Some queries parse and cannot be run (`graph:*`). Their words can; what else is wrong shows again.
            let plain = words.replace(|character: char| !character.is_alphanumeric(), " ");
            return self.search_query(&*self.parse(&plain, false), limit);
        };
        if hits.is_empty() { self.search_query(&*self.parse(words, false), limit) } else { Ok(hits) }
    }

    fn parse(&self, words: &str, all: bool) -> Box<dyn Query> {
        let mut parser =
            QueryParser::for_index(self.searcher.index(), vec![self.fields.label, self.fields.body]);
        parser.set_field_boost(self.fields.label, 3.0);
        if all {
            parser.set_conjunction_by_default();
        }
        let brackets = words.matches(['(', '[', '{']).count();
        let plain;
        let words_to_parse = if brackets > QUERY_BRACKETS_MAX {
            plain = words.replace(['(', ')', '[', ']', '{', '}'], " ");
            plain.as_str()
        } else {
            words
        };
        let (query, _problems) = parser.parse_query_lenient(words_to_parse);
        if words.contains(char::is_whitespace) || !words.contains(':') {
            return query;
        }
        // Somebody pasted the IRI of a thing.
        let term = Term::from_field_text(self.fields.subject, words);
        let exact = TermQuery::new(term, IndexRecordOption::Basic);
        Box::new(BooleanQuery::new(vec![
            (Occur::Should, Box::new(BoostQuery::new(Box::new(exact), 10.0)) as Box<dyn Query>),
            (Occur::Should, query),
        ]))
    }

    fn search_query(&self, query: &dyn Query, limit: usize) -> Result<Vec<Hit>, IndexError> {
        // A subject that many pages speak of has many documents, so more of those are asked for than subjects.
        let documents = limit.saturating_mul(4).clamp(32, 10_000);
        let found = self.searcher.search(query, &TopDocs::with_limit(documents).order_by_score())?;
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut snippets = SnippetGenerator::create(&self.searcher, query, self.fields.body)?;
        snippets.set_max_num_chars(SNIPPET_CHARACTERS);
        let mut hits: Vec<Hit> = Vec::new();
        let mut places: HashMap<String, usize> = HashMap::new();
        for (score, address) in found {
            let document: TantivyDocument = self.searcher.doc(address)?;
            let text = |field: Field| document.get_first(field).and_then(|value| value.as_str());
            let (Some(subject), Some(graph)) = (text(self.fields.subject), text(self.fields.graph)) else {
                continue;
            };
            let place = match places.get(subject) {
                Some(place) => *place,
                None if hits.len() == limit => continue,
                None => {
                    hits.push(Hit {
                        subject: node_of_key(subject),
                        label: None,
                        types: Vec::new(),
                        snippet: snippet(&snippets, text(self.fields.body).unwrap_or_default()),
                        pages: Vec::new(),
                        score,
                    });
                    places.insert(subject.to_owned(), hits.len() - 1);
                    hits.len() - 1
                }
            };
            let hit = &mut hits[place];
            if hit.label.is_none() {
                hit.label = text(self.fields.label).map(str::to_owned);
            }
            for class in document.get_all(self.fields.types).filter_map(|value| value.as_str()) {
                if !hit.types.iter().any(|known| known.as_str() == class) {
                    hit.types.push(NamedNode::new_unchecked(class));
                }
            }
            if graph != DEFAULT_GRAPH {
                let page = node_of_key(graph);
                if !hit.pages.contains(&page) {
                    hit.pages.push(page);
                }
            }
        }
        Ok(hits)
    }
}

fn snippet(generator: &SnippetGenerator, body: &str) -> Snippet {
    let found = generator.snippet(body);
    if found.is_empty() {
        // The words were in the label; the beginning of the text is as good as any piece.
        let text = body[..floor_boundary(body, SNIPPET_CHARACTERS)].to_owned();
        return Snippet { text, matches: Vec::new() };
    }
    Snippet { text: found.fragment().to_owned(), matches: found.highlighted().to_vec() }
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

    #[test]
    fn the_best_name_wins() {
        let subject = NamedNode::new_unchecked("http://example.org/#it");
        let graph = NamedNode::new_unchecked("http://example.org/");
        let literal = |text: &str| oxrdf::Literal::new_simple_literal(text);
        let triples = [
            oxrdf::Triple::new(
                subject.clone(),
                NamedNode::new_unchecked("http://xmlns.com/foaf/0.1/name"),
                literal("second"),
            ),
            oxrdf::Triple::new(subject.clone(), oxrdf::vocab::rdfs::LABEL.into_owned(), literal("first")),
            oxrdf::Triple::new(
                subject.clone(),
                NamedNode::new_unchecked("http://purl.org/dc/terms/title"),
                literal("third"),
            ),
        ];
        let page = PageText { title: Some("The page".to_owned()), body: "Words".to_owned(), language: None };
        let found = documents(graph.as_ref().into(), triples.iter().map(oxrdf::Triple::as_ref), Some(&page));
        assert_eq!(found.len(), 2);
        assert_eq!(found[0].label, Some((0, "first")));
        assert_eq!(found[0].body, "second\nfirst\nthird");
        assert_eq!(found[1].label.map(|(_, label)| label), Some("The page"));
        assert_eq!(found[1].body, "The page\nWords");
    }
}
