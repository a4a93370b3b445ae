//! One state of the text index, open for searching.
//!
//! In: a directory and what the manifest says of it. Out: documents for queries, and what is known of the index itself: sizes, files,
//! languages. A search is put together elsewhere: see [`things`](super::things).

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tantivy::query::{Query, TermQuery};
use tantivy::schema::{IndexRecordOption, TantivyDocument, Value};
use tantivy::tokenizer::Language;
use tantivy::{DocAddress, IndexReader, ReloadPolicy, Searcher, Term};

use super::collect::{Collected, Match, Numbers, collect};
use super::directory::CommitDirectory;
use super::expand::{Expander, stemmer_language};
use super::shape::Shape;
use super::{Fields, SHAPE, TOKENIZER, analyzer};
use crate::error::IndexError;
use crate::term::TermId;

/// Shapes that are looked at to learn which languages the index speaks.
const SHAPES_LOOKED_AT_MAX: usize = 2_000;
/// Most languages that words are stemmed in when nobody says which.
const LANGUAGES_MAX: usize = 4;

/// Searches one state of the text index.
#[derive(Clone)]
pub(crate) struct TextSearcher {
    searcher: Searcher,
    fields: Fields,
    languages: Arc<OnceLock<Vec<Language>>>,
}

impl fmt::Debug for TextSearcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TextSearcher({} documents)", self.searcher.num_docs())
    }
}

impl TextSearcher {
    pub(super) fn new(searcher: Searcher, fields: Fields) -> Self {
        Self { searcher, fields, languages: Arc::default() }
    }

    /// Opens the state that a manifest describes, changing nothing.
    pub(crate) fn open(root: &Path, meta: &str) -> Result<Self, IndexError> {
        let directory = CommitDirectory::open(root, Some(meta), true)?;
        let index = tantivy::Index::open(directory)?;
        index.tokenizers().register(TOKENIZER, analyzer());
        let fields = Fields::of(&index.schema(), root)?;
        let reader: IndexReader = index.reader_builder().reload_policy(ReloadPolicy::Manual).try_into()?;
        Ok(Self::new(reader.searcher(), fields))
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
        let term = Term::from_field_u64(self.fields.graph, graph.number());
        let query = TermQuery::new(term, IndexRecordOption::Basic);
        Ok(self.searcher.search(&query, &tantivy::collector::Count)?)
    }

    /// The languages that the index speaks most and that words can be stemmed in, looked up once.
    pub(super) fn languages(&self) -> Result<&[Language], IndexError> {
        if let Some(languages) = self.languages.get() {
            return Ok(languages);
        }
        let mut counts: Vec<(Language, usize)> = Vec::new();
        let mut readers: Vec<_> = self.searcher.segment_readers().iter().collect();
        readers.sort_by_key(|reader| std::cmp::Reverse(reader.num_docs()));
        let mut looked_at = 0;
        let mut key = String::new();
        for reader in readers {
            let Some(column) = reader.fast_fields().str(SHAPE)? else {
                continue;
            };
            for ordinal in 0..column.num_terms() {
                looked_at += 1;
                if looked_at > SHAPES_LOOKED_AT_MAX {
                    break;
                }
                key.clear();
                if !column.ord_to_str(ordinal as u64, &mut key).map_err(tantivy::TantivyError::from)? {
                    break;
                }
                for language in Shape::of_key(&key).languages().iter().filter_map(|tag| stemmer_language(tag))
                {
                    match counts.iter_mut().find(|(known, _)| *known == language) {
                        Some((_, count)) => *count += 1,
                        None => counts.push((language, 1)),
                    }
                }
            }
        }
        counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        counts.truncate(LANGUAGES_MAX);
        Ok(self.languages.get_or_init(|| counts.into_iter().map(|(language, _)| language).collect()))
    }

    /// Looks words up.
    pub(super) fn expander(&self, languages: Vec<Language>) -> Expander<'_> {
        Expander::new(&self.searcher, self.fields, languages)
    }

    /// Gathers the documents that match, by subject.
    pub(super) fn collect(
        &self,
        query: &dyn Query,
        among: Option<&Numbers>,
    ) -> Result<Collected, IndexError> {
        collect(&self.searcher, query, among)
    }

    /// The title and the text that a page shows, for the document of a page.
    pub(crate) fn page_text(&self, found: &Match) -> Result<(Option<String>, Option<String>), IndexError> {
        let document: TantivyDocument = self.searcher.doc(DocAddress::new(found.segment, found.document))?;
        let text = |field| document.get_first(field).and_then(|value| value.as_str()).map(str::to_owned);
        Ok((text(self.fields.page_title), text(self.fields.page_body)))
    }
}
