//! From documents to a segment of the text index.
//!
//! In: documents, through [`SegmentText::add`]. Out: the files of a segment, by tantivy's own serializers, for its writer to take over. Tantivy's
//! way there looks up each word of each page among all and appends to a list of the word's own; that suits any documents, and takes half the
//! time of indexing. Here words are only numbered ([`WordTable`]), and the numbers put one after the other; a commit is small enough to sort them
//! by counting when all are there. What is stored is compressed as it comes.

use tantivy::columnar::{ColumnType, ColumnarWriter};
use tantivy::directory::TerminatingWrite;
use tantivy::fieldnorm::{FieldNormReader, FieldNormReaders, FieldNormsSerializer, FieldNormsWriter};
use tantivy::index::{SegmentComponent, SegmentMeta};
use tantivy::postings::InvertedIndexSerializer;
use tantivy::schema::{Document as TantivyDocument, Field, Schema};
use tantivy::store::StoreWriter;
use tantivy::{DocId, Index, Segment};
use webloom_model::PageText;

use super::documents::{BODY_BYTES_MAX, Document, LABEL_BYTES_MAX, Texts};
use super::table::WordTable;
use super::words::Cutter;
use super::{Fields, GRAPH, SHAPE, SITE, SUBJECT, floor_boundary};
use crate::term::TermHasher;

/// Stands where a position has no word: one that is too long, or the end of a text that a phrase must not reach across.
const NO_WORD: u32 = u32::MAX;
/// Bytes for each word while a segment is written: its number, its document and its position.
const WORD_BYTES: usize = 12;
/// Memory beyond this is given back when a segment is written.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// The graph that documents are of.
#[derive(Debug, Clone, Copy)]
pub(super) struct GraphOfDocuments<'a> {
    pub(super) number: u64,
    pub(super) site: Option<&'a str>,
    pub(super) page: Option<&'a PageText>,
}

/// Gathers the documents of one segment after the other.
pub(super) struct SegmentText {
    fields: Fields,
    cutter: Cutter,
    table: WordTable,
    label: FieldWords,
    body: FieldWords,
    /// Which document is of which graph.
    graphs: Vec<(u64, DocId)>,
    stored: Stored,
    begun: Option<Begun>,
}

/// A segment some files of which are being written.
struct Begun {
    segment: Segment,
    schema: Schema,
    store: StoreWriter,
    columns: ColumnarWriter,
    lengths: FieldNormsWriter,
    documents: DocId,
}

impl Begun {
    fn new(index: &Index) -> tantivy::Result<Self> {
        let segment = index.new_segment();
        let settings = index.settings();
        let store = StoreWriter::new(
            segment.open_write(SegmentComponent::Store)?,
            settings.docstore_compression,
            settings.docstore_blocksize,
            settings.docstore_compress_dedicated_thread,
        )?;
        let mut columns = ColumnarWriter::default();
        for (name, kind) in [
            (GRAPH, ColumnType::U64),
            (SUBJECT, ColumnType::U64),
            (SITE, ColumnType::Str),
            (SHAPE, ColumnType::Str),
        ] {
            columns.record_column_type(name, kind, false);
        }
        let schema = index.schema();
        let lengths = FieldNormsWriter::for_schema(&schema);
        Ok(Self { segment, schema, store, columns, lengths, documents: 0 })
    }
}

impl SegmentText {
    pub(super) fn new(fields: Fields) -> Self {
        Self {
            fields,
            cutter: Cutter::default(),
            table: WordTable::new(),
            label: FieldWords::default(),
            body: FieldWords::default(),
            graphs: Vec::new(),
            stored: Stored::default(),
            begun: None,
        }
    }

    /// About how much memory this takes.
    pub(super) fn memory_bytes(&self) -> usize {
        (self.label.words.len() + self.body.words.len()) * WORD_BYTES + self.table.memory_bytes()
    }

    /// One more document.
    pub(super) fn add(
        &mut self,
        index: &Index,
        hasher: &TermHasher,
        graph: GraphOfDocuments<'_>,
        document: &Document<'_>,
    ) -> tantivy::Result<()> {
        let fields = self.fields;
        let begun = match &mut self.begun {
            Some(begun) => begun,
            None => self.begun.insert(Begun::new(index)?),
        };
        let number = begun.documents;
        begun.documents += 1;
        self.graphs.push((graph.number, number));
        begun.lengths.record(number, fields.graph, 1);
        begun.columns.record_numerical(number, GRAPH, graph.number);
        if let Some(site) = graph.site {
            begun.columns.record_str(number, SITE, site);
        }
        let mut cut = Cut { cutter: &mut self.cutter, table: &mut self.table };
        self.stored.fields = 0;
        match document {
            Document::Links(links) => {
                // Not as labels: the lengths of names would be measured by them.
                for (place, (_, words)) in links.iter().enumerate() {
                    if place > 0 {
                        self.body.words.push(NO_WORD);
                    }
                    cut.all(words, &mut self.body);
                }
            }
            Document::Subject(subject) => {
                begun.columns.record_numerical(number, SUBJECT, hasher.subject(subject.subject).number());
                if let Some((_, label)) = subject.label {
                    cut.text(&label[..floor_boundary(label, LABEL_BYTES_MAX)], &mut self.label);
                }
                cut.all(&subject.body, &mut self.body);
                if let Some(shape) = subject.shape.to_key() {
                    begun.columns.record_str(number, SHAPE, &shape);
                }
                if let Some(page) = graph.page.filter(|_| subject.is_page) {
                    let end = floor_boundary(&page.body, BODY_BYTES_MAX);
                    self.stored.add(fields.page_body, &page.body[..end]);
                    if let Some(title) = &page.title {
                        let end = floor_boundary(title, LABEL_BYTES_MAX);
                        self.stored.add(fields.page_title, &title[..end]);
                    }
                }
            }
        }
        begun.store.store(&self.stored, &begun.schema)?;
        for (field, words) in [(fields.label, &mut self.label), (fields.body, &mut self.body)] {
            begun.lengths.record(number, field, words.end_document(number));
        }
        Ok(())
    }

    /// Writes the segment; nothing if there are no documents. On an error they are gone.
    pub(super) fn finish(&mut self) -> tantivy::Result<Option<SegmentMeta>> {
        let written = self.begun.take().map(|begun| self.write(begun)).transpose();
        self.clear();
        written
    }

    /// Forgets all documents.
    pub(super) fn clear(&mut self) {
        self.begun = None;
        if self.memory_bytes() > KEPT_BYTES_MAX {
            *self = Self::new(self.fields);
        }
        self.table.clear();
        self.label.clear();
        self.body.clear();
        self.graphs.clear();
    }

    fn write(&mut self, begun: Begun) -> tantivy::Result<SegmentMeta> {
        let Begun { segment, mut columns, mut lengths, store, documents, .. } = begun;
        lengths.fill_up_to_max_doc(documents);
        let lengths_file = segment.open_write(SegmentComponent::FieldNorms)?;
        lengths.serialize(FieldNormsSerializer::from_write(lengths_file)?, None)?;
        let lengths = FieldNormReaders::open(segment.open_read(SegmentComponent::FieldNorms)?)?;

        let mut postings = InvertedIndexSerializer::open(&segment)?;
        self.write_graphs(&mut postings, lengths.get_field(self.fields.graph)?)?;
        let order = self.table.sorted();
        for (field, words) in [(self.fields.label, &mut self.label), (self.fields.body, &mut self.body)] {
            words.write(&self.table, &order, &mut postings, (field, lengths.get_field(field)?))?;
        }
        postings.close()?;

        let mut columns_file = segment.open_write(SegmentComponent::FastFields)?;
        columns.serialize(documents, None, &mut columns_file)?;
        columns_file.terminate()?;
        store.close()?;
        let segment = segment.with_max_doc(documents);
        // Tantivy expects one where documents are sorted by a field.
        segment.meta().untrack_temp_docstore();
        Ok(segment.meta().clone())
    }

    fn write_graphs(
        &mut self,
        postings: &mut InvertedIndexSerializer,
        lengths: Option<FieldNormReader>,
    ) -> tantivy::Result<()> {
        self.graphs.sort_unstable();
        let mut field = postings.new_field(self.fields.graph, self.graphs.len() as u64, lengths)?;
        for graph in self.graphs.chunk_by(|(one, _), (other, _)| one == other) {
            field.new_term_without_freq(&graph[0].0.to_be_bytes())?;
            for (_, document) in graph {
                field.write_doc(*document, 0, &[]);
            }
            field.close_term()?;
        }
        Ok(field.close()?)
    }
}

/// What is stored of a document, in memory that is used for the next one too.
#[derive(Default)]
struct Stored {
    texts: Vec<(Field, String)>,
    /// How many of these are of this document.
    fields: usize,
}

impl Stored {
    fn add(&mut self, field: Field, text: &str) {
        if self.texts.len() == self.fields {
            self.texts.push((field, String::new()));
        }
        let (of, stored) = &mut self.texts[self.fields];
        *of = field;
        stored.clear();
        stored.push_str(text);
        self.fields += 1;
    }
}

impl TantivyDocument for Stored {
    type Value<'a> = &'a str;
    type FieldsValuesIter<'a> = StoredTexts<'a>;

    fn iter_fields_and_values(&self) -> StoredTexts<'_> {
        StoredTexts(self.texts[..self.fields].iter())
    }
}

struct StoredTexts<'a>(std::slice::Iter<'a, (Field, String)>);

impl<'a> Iterator for StoredTexts<'a> {
    type Item = (Field, &'a str);

    fn next(&mut self) -> Option<Self::Item> {
        self.0.next().map(|(field, text)| (*field, text.as_str()))
    }
}

/// What it takes to make numbers of words.
struct Cut<'a> {
    cutter: &'a mut Cutter,
    table: &'a mut WordTable,
}

impl Cut<'_> {
    fn text(&mut self, text: &str, into: &mut FieldWords) {
        let mut at = 0;
        while let Some(word) = self.cutter.next(text, at) {
            at = word.end;
            // Counted even when it is left out, so that a phrase does not reach across it.
            let number =
                if word.is_too_long() { NO_WORD } else { self.table.number(word.head, self.cutter.tail()) };
            into.words.push(number);
        }
    }

    fn all(&mut self, texts: &Texts<'_>, into: &mut FieldWords) {
        for text in texts.iter() {
            self.text(text, into);
        }
    }
}

/// The words of all documents in one field.
#[derive(Default)]
struct FieldWords {
    /// Word by word, by number, of one document after the other: a word's place in its document is its position.
    words: Vec<u32>,
    /// The documents that have any, and where their words end.
    documents: Vec<(DocId, usize)>,
    /// For each word where its places begin, and then where its next one goes.
    starts: Vec<usize>,
    /// Document and position of each word, by word; beyond those, what is left of another segment.
    places: Vec<(DocId, u32)>,
}

impl FieldWords {
    fn clear(&mut self) {
        self.words.clear();
        self.documents.clear();
    }

    /// What follows is of another document. Says how many words this one has.
    fn end_document(&mut self, document: DocId) -> u32 {
        let start = self.documents.last().map_or(0, |(_, end)| *end);
        if start == self.words.len() {
            return 0;
        }
        self.documents.push((document, self.words.len()));
        self.words[start..].iter().filter(|word| **word != NO_WORD).count() as u32
    }

    /// Sorts the places of words by word, keeping those of a word in order. Says how many there are.
    fn sort(&mut self, words: usize) -> usize {
        self.starts.clear();
        self.starts.resize(words, 0);
        for &word in &self.words {
            if word != NO_WORD {
                self.starts[word as usize] += 1;
            }
        }
        let mut all = 0;
        for start in &mut self.starts {
            all += std::mem::replace(start, all);
        }
        if self.places.len() < all {
            self.places.resize(all, (0, 0));
        }
        let mut begin = 0;
        for &(document, end) in &self.documents {
            for (position, &word) in self.words[begin..end].iter().enumerate() {
                if word != NO_WORD {
                    let next = &mut self.starts[word as usize];
                    self.places[*next] = (document, position as u32);
                    *next += 1;
                }
            }
            begin = end;
        }
        all
    }

    /// Writes the words in the order of their spelling, each with its places.
    fn write(
        &mut self,
        table: &WordTable,
        order: &[u32],
        postings: &mut InvertedIndexSerializer,
        (field, lengths): (Field, Option<FieldNormReader>),
    ) -> tantivy::Result<()> {
        let all = self.sort(table.len());
        if all == 0 {
            return Ok(());
        }
        let mut field = postings.new_field(field, all as u64, lengths)?;
        let mut spelling = table.spelling();
        let mut steps: Vec<u32> = Vec::new();
        for &word in order {
            // Sorting moved each start to the end, which is where the next word's places start.
            let start = if word == 0 { 0 } else { self.starts[word as usize - 1] };
            let places = &self.places[start..self.starts[word as usize]];
            let documents = || places.chunk_by(|(one, _), (other, _)| one == other);
            if places.is_empty() {
                continue;
            }
            field.new_term(spelling.of(word), documents().count() as u32, true)?;
            for places in documents() {
                let mut last = 0;
                steps.clear();
                steps.extend(
                    places.iter().map(|(_, position)| position - std::mem::replace(&mut last, *position)),
                );
                field.write_doc(places[0].0, steps.len() as u32, &steps);
            }
            field.close_term()?;
        }
        Ok(field.close()?)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use oxrdf::{Literal, NamedNode, Triple};
    use tantivy::postings::Postings;
    use tantivy::schema::IndexRecordOption;
    use tantivy::{DocSet, IndexWriter, TERMINATED};

    use super::*;
    use crate::text::documents::documents;
    use crate::text::{TOKENIZER, analyzer};

    /// What is indexed in a field.
    #[derive(Debug, PartialEq)]
    struct Contents {
        /// For each word its documents, each with its positions.
        words: BTreeMap<Vec<u8>, Vec<(DocId, Vec<u32>)>>,
        /// Of each document.
        lengths: Vec<u32>,
        all_words: u64,
    }

    fn contents(index: &Index, name: &str) -> tantivy::Result<Contents> {
        let searcher = index.reader()?.searcher();
        assert_eq!(searcher.segment_readers().len(), 1);
        let reader = searcher.segment_reader(0);
        let field = index.schema().get_field(name)?;
        let inverted = reader.inverted_index(field)?;
        let option =
            if name == GRAPH { IndexRecordOption::Basic } else { IndexRecordOption::WithFreqsAndPositions };
        let mut words = BTreeMap::new();
        let mut terms = inverted.terms().stream()?;
        while terms.advance() {
            let mut postings = inverted.read_postings_from_terminfo(terms.value(), option)?;
            let mut documents = Vec::new();
            while postings.doc() != TERMINATED {
                let mut positions = Vec::new();
                postings.positions(&mut positions);
                documents.push((postings.doc(), positions));
                postings.advance();
            }
            assert_eq!(documents.len() as u32, terms.value().doc_freq);
            words.insert(terms.key().to_vec(), documents);
        }
        let lengths = reader.get_fieldnorms_reader(field)?;
        let lengths = (0..reader.max_doc()).map(|document| lengths.fieldnorm(document)).collect();
        Ok(Contents { words, lengths, all_words: inverted.total_num_tokens() })
    }

    fn empty() -> tantivy::Result<(Index, IndexWriter)> {
        let index = Index::create_in_ram(Fields::schema());
        index.tokenizers().register(TOKENIZER, analyzer());
        let writer = index.writer_with_num_threads(1, 15_000_000)?;
        Ok((index, writer))
    }

    #[test]
    fn a_segment_is_what_tantivy_would_have_made() -> Result<(), Box<dyn std::error::Error>> {
        let node = |text: String| NamedNode::new_unchecked(text);
        let (ours, mut our_writer) = empty()?;
        let (theirs, mut their_writer) = empty()?;
        let fields = Fields::of(&ours.schema(), std::path::Path::new(""))?;
        let hasher = TermHasher::new([7; 16]);
        let mut segment = SegmentText::new(fields);
        // More documents than a block of postings holds, so that there are skips; twice, so that tables are used again.
        for round in 0..2 {
            for number in 0..300_u64 {
                let page = node(format!("http://example.org/{round}/{number}"));
                let long = "x".repeat(70);
                let words = [
                    (page.clone(), "label", format!("Page {number} of the Book")),
                    (
                        page.clone(),
                        "comment",
                        format!("the words, {long} and the internationalization of {number}"),
                    ),
                    (
                        node(format!("{}#it", page.as_str())),
                        "comment",
                        "Füße дом ДОМ the end".repeat(number as usize % 3),
                    ),
                    (node("http://example.org/a".to_owned()), "label", "one link".to_owned()),
                    (node("http://example.org/b".to_owned()), "label", "another link".to_owned()),
                ];
                let mut triples: Vec<Triple> = words
                    .into_iter()
                    .map(|(subject, local, text)| {
                        let predicate = node(format!("http://www.w3.org/2000/01/rdf-schema#{local}"));
                        Triple::new(subject, predicate, Literal::from(text))
                    })
                    .collect();
                for target in ["a", "b"] {
                    let target = node(format!("http://example.org/{target}"));
                    triples.push(Triple::new(page.clone(), node("http://example.org/to".to_owned()), target));
                }
                let text = PageText {
                    title: Some("Title".to_owned()),
                    body: "What the page shows.".to_owned(),
                    language: None,
                };
                let triples = triples.iter().map(Triple::as_ref);
                for document in documents(page.as_ref().into(), triples, Some(&text)) {
                    let graph = GraphOfDocuments { number, site: None, page: Some(&text) };
                    segment.add(&ours, &hasher, graph, &document)?;
                    let mut theirs = tantivy::TantivyDocument::new();
                    theirs.add_u64(fields.graph, number);
                    let joined = |texts: &Texts<'_>| texts.iter().collect::<Vec<_>>().join("\n");
                    match &document {
                        Document::Links(links) => {
                            links.iter().for_each(|(_, words)| theirs.add_text(fields.body, joined(words)));
                        }
                        Document::Subject(subject) => {
                            if let Some((_, label)) = subject.label {
                                theirs.add_text(fields.label, label);
                            }
                            theirs.add_text(fields.body, joined(&subject.body));
                        }
                    }
                    their_writer.add_document(theirs)?;
                }
            }
            let meta = segment.finish()?.ok_or("there are documents")?;
            our_writer.add_segment(meta)?;
            our_writer.commit()?;
            their_writer.commit()?;
            for name in [GRAPH, "label", "body"] {
                assert_eq!(contents(&ours, name)?, contents(&theirs, name)?, "{name}");
            }
            for (index, writer) in [(&ours, &mut our_writer), (&theirs, &mut their_writer)] {
                assert_eq!(index.validate_checksum()?.len(), 0);
                writer.delete_all_documents()?;
                writer.commit()?;
            }
        }
        assert!(segment.finish()?.is_none());
        Ok(())
    }
}
