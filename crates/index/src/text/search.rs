//! Searching the text index.
//!
//! In: what a person typed, which may be anything. Out: [`Hit`]s, one per subject. All words count first; when no subject
//! has them all, any of them.

use std::collections::HashMap;
use std::fmt;
use std::path::{Path, PathBuf};

use oxrdf::NamedNode;
use tantivy::collector::TopDocs;
use tantivy::query::{Query, QueryParser, TermQuery};
use tantivy::schema::{Field, IndexRecordOption, TantivyDocument, Value};
use tantivy::snippet::SnippetGenerator;
use tantivy::{IndexReader, ReloadPolicy, Searcher, Term};

use super::directory::CommitDirectory;
use super::{
    DEFAULT_GRAPH, Fields, Hit, Snippet, TOKENIZER, analyzer, floor_boundary, graph_number, node_of_key,
};
use crate::error::IndexError;
use crate::term::TermId;

const SNIPPET_CHARACTERS: usize = 200;
/// Longest query that is looked at, in bytes; nobody types more, and parsing is recursive.
const QUERY_BYTES_MAX: usize = 1024;
/// Queries with more opening brackets than this have them taken for spaces.
const QUERY_BRACKETS_MAX: usize = 32;
/// Most documents that are looked at for one search.
const DOCUMENTS_MAX: usize = 10_000;

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
    pub(super) fn new(searcher: Searcher, fields: Fields) -> Self {
        Self { searcher, fields }
    }

    /// Opens the state that a manifest describes, changing nothing.
    pub(crate) fn open(root: &Path, meta: &str) -> Result<Self, IndexError> {
        let directory = CommitDirectory::open(root, Some(meta), true)?;
        let index = tantivy::Index::open(directory)?;
        index.tokenizers().register(TOKENIZER, analyzer());
        let fields = Fields::of(&index.schema())?;
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self { searcher: reader.searcher(), fields })
    }

    /// Number of documents: subjects with words, counted once per page, the plain links of a page as one.
    pub(crate) fn document_count(&self) -> u64 {
        self.searcher.num_docs()
    }

    /// Bytes on disk.
    pub(crate) fn bytes(&self) -> Result<u64, IndexError> {
        let usage = self.searcher.space_usage().map_err(tantivy::TantivyError::from)?;
        Ok(usage.total().get_bytes())
    }

    /// The names of this state's files in its directory.
    pub(crate) fn file_names(&self, root: &Path) -> Result<Vec<String>, IndexError> {
        let segments: Vec<String> =
            self.searcher.segment_readers().iter().map(|reader| reader.segment_id().uuid_string()).collect();
        let mut names = Vec::new();
        for entry in root.read_dir().map_err(IndexError::io("list", root))? {
            let name = entry.map_err(IndexError::io("list", root))?.file_name();
            if let Some(name) = name.to_str()
                && segments.iter().any(|segment| name.starts_with(segment.as_str()))
            {
                names.push(name.to_owned());
            }
        }
        Ok(names)
    }

    /// Files whose checksum is wrong.
    pub(crate) fn damaged_files(&self) -> Result<Vec<PathBuf>, IndexError> {
        let mut damaged: Vec<_> = self.searcher.index().validate_checksum()?.into_iter().collect();
        damaged.sort();
        Ok(damaged)
    }

    /// Number of documents of a graph.
    pub(crate) fn documents_of_graph(&self, graph: TermId) -> Result<usize, IndexError> {
        let term = Term::from_field_u64(self.fields.graph_id, graph_number(graph));
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        Ok(self.searcher.search(&query, &tantivy::collector::Count)?)
    }

    /// The best `limit` subjects for what a person typed. Anything may be typed; what makes no sense finds nothing.
    pub(crate) fn search(&self, words: &str, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let words = words[..floor_boundary(words, QUERY_BYTES_MAX)].trim();
        if words.is_empty() || limit == 0 {
            return Ok(Vec::new());
        }
        let Ok(hits) = self.search_words(words, true, limit) else {
            // Some queries parse and cannot be run (`graph:*`). Their words can; what else is wrong shows again.
            let plain = words.replace(|character: char| !character.is_alphanumeric(), " ");
            return self.search_words(&plain, false, limit);
        };
        if hits.is_empty() { self.search_words(words, false, limit) } else { Ok(hits) }
    }

    fn parse(&self, words: &str, all: bool) -> Box<dyn Query> {
        let fields = vec![self.fields.label, self.fields.body];
        let mut parser = QueryParser::for_index(self.searcher.index(), fields);
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
        parser.parse_query_lenient(words_to_parse).0
    }

    fn search_words(&self, words: &str, all: bool, limit: usize) -> Result<Vec<Hit>, IndexError> {
        let query = self.parse(words, all);
        // A subject that many pages speak of has many documents, so more of those are asked for than subjects; and
        // when words that stand together in a document turn out to be of different links, yet more.
        let mut documents = limit.saturating_mul(4).clamp(32, DOCUMENTS_MAX);
        loop {
            let found = self.searcher.search(&*query, &TopDocs::with_limit(documents).order_by_score())?;
            let is_everything = found.len() < documents;
            let hits = self.hits(&*query, all && !has_operators(words), limit, &found)?;
            if is_everything || !hits.is_empty() || documents >= DOCUMENTS_MAX {
                return Ok(hits);
            }
            documents = (documents * 8).min(DOCUMENTS_MAX);
        }
    }

    /// The subjects of documents that were found, best first.
    fn hits(
        &self,
        query: &dyn Query,
        all: bool,
        limit: usize,
        found: &[(f32, tantivy::DocAddress)],
    ) -> Result<Vec<Hit>, IndexError> {
        if found.is_empty() {
            return Ok(Vec::new());
        }
        let mut snippets = SnippetGenerator::create(&self.searcher, query, self.fields.body)?;
        snippets.set_max_num_chars(SNIPPET_CHARACTERS);
        let mut matcher = LinkMatcher::new(query, all);
        let mut hits = Hits { hits: Vec::new(), places: HashMap::new(), limit };
        for &(score, address) in found {
            let document: TantivyDocument = self.searcher.doc(address)?;
            let text = |field: Field| document.get_first(field).and_then(|value| value.as_str());
            let Some(graph) = text(self.fields.graph) else {
                continue;
            };
            if let Some(targets) = text(self.fields.links) {
                let words = document.get_all(self.fields.label).filter_map(|value| value.as_str());
                for (target, words) in matcher.matching(targets.lines().zip(words)) {
                    let snippet = || Snippet { text: words.to_owned(), matches: Vec::new() };
                    hits.push(target, graph, score, Some(words), snippet);
                }
                continue;
            }
            let Some(subject) = text(self.fields.subject) else {
                continue;
            };
            let label = text(self.fields.label);
            let body = text(self.fields.body).or(label).unwrap_or_default();
            let hit = hits.push(subject, graph, score, label, || snippet(&snippets, body));
            let Some(hit) = hit else {
                continue;
            };
            for class in document.get_all(self.fields.types).filter_map(|value| value.as_str()) {
                if !hit.types.iter().any(|known| known.as_str() == class) {
                    hit.types.push(NamedNode::new_unchecked(class));
                }
            }
        }
        Ok(hits.hits)
    }
}

/// True when more was typed than words.
fn has_operators(words: &str) -> bool {
    words.contains(['"', '-', '+', '~', '^', '*', '(', ':', '[', '/'])
        || words.split_whitespace().any(|word| matches!(word, "OR" | "NOT" | "AND" | "IN"))
}

/// Hits as they are gathered.
struct Hits {
    hits: Vec<Hit>,
    places: HashMap<String, usize>,
    limit: usize,
}

impl Hits {
    /// Notes that a page speaks of a subject. Nothing when there are enough subjects and this is a new one.
    fn push(
        &mut self,
        subject: &str,
        graph: &str,
        score: f32,
        label: Option<&str>,
        snippet: impl FnOnce() -> Snippet,
    ) -> Option<&mut Hit> {
        let place = match self.places.get(subject) {
            Some(place) => *place,
            None if self.hits.len() == self.limit => return None,
            None => {
                self.hits.push(Hit {
                    subject: node_of_key(subject),
                    label: None,
                    types: Vec::new(),
                    snippet: snippet(),
                    pages: Vec::new(),
                    score,
                });
                self.places.insert(subject.to_owned(), self.hits.len() - 1);
                self.hits.len() - 1
            }
        };
        let hit = &mut self.hits[place];
        if hit.label.is_none() {
            hit.label = label.map(str::to_owned);
        }
        if graph != DEFAULT_GRAPH {
            let page = node_of_key(graph);
            if !hit.pages.contains(&page) {
                hit.pages.push(page);
            }
        }
        Some(hit)
    }
}

/// Tells which links of a document a query meant.
struct LinkMatcher {
    analyzer: tantivy::tokenizer::TextAnalyzer,
    words: Vec<String>,
    /// Only links with all the words count.
    all: bool,
}

impl LinkMatcher {
    fn new(query: &dyn Query, all: bool) -> Self {
        let mut words: Vec<String> = Vec::new();
        query.query_terms(&mut |term, _| {
            if let Some(word) = term.value().as_str()
                && !words.iter().any(|known| known == word)
            {
                words.push(word.to_owned());
            }
        });
        Self { analyzer: analyzer(), words, all }
    }

    /// The links with the most of the words, which are all of them where that is asked for.
    fn matching<'t>(&mut self, links: impl Iterator<Item = (&'t str, &'t str)>) -> Vec<(&'t str, &'t str)> {
        let mut best = if self.all { self.words.len() } else { 1 }.max(1);
        let mut matching = Vec::new();
        let mut seen = vec![false; self.words.len()];
        for (target, text) in links {
            seen.fill(false);
            let mut stream = self.analyzer.token_stream(text);
            while stream.advance() {
                let place = self.words.iter().position(|word| *word == stream.token().text);
                if let Some(place) = place {
                    seen[place] = true;
                }
            }
            let count = seen.iter().filter(|seen| **seen).count();
            if count > best {
                best = count;
                matching.clear();
            }
            if count == best {
                matching.push((target, text));
            }
        }
        matching
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
