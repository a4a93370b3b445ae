//! How far an endpoint is read, what to ask next, and what follows from the answer.
//!
//! In: a [`Reading`], and the rows that came of its [`query`](Reading::query). Out, by [`take`](Reading::take): the rows to keep, and
//! the next reading. Nothing here asks anybody.
//!
//! Subjects that are IRIs come in the order of their names, each page after the last subject that is certainly whole, so that a
//! page costs the same wherever it is and nothing is passed over that has to be sorted first. The last subject of an answer may be
//! cut, by us or by the endpoint's own limit: its rows are left to the next page, and when they are all of an answer, the subject
//! is read alone. Blank nodes have no names to go by; they are counted, after all others.
//!
//! An answer is a set of triples, so which subject came last is known only by comparing their names as the endpoint does. That it
//! compares them like us, by code points, shows in the next answer: it has to begin with the subject that was left, and after the
//! one that was whole. If it does not, the endpoint is read row by row, as one that refuses to compare names is.

use std::collections::BTreeSet;

use oxrdf::{NamedOrBlankNode, Triple};
use serde::{Deserialize, Serialize};
use webloom_model::{PageUrl, URL_BYTES_MAX, UrlProblem};

use super::answer::Answer;
use super::{PAGE_SIZE_MAX, TRIPLES_MAX};

/// How far an endpoint is read. How many rows of this part were read before is kept beside it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::sources) struct Reading {
    /// What is being read.
    pub part: Part,
    /// All subjects up to this one were read, or up to those that begin with it as far as rows were counted since.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub after: String,
    /// The subject that was left to the next answer, which has to begin with it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub left: Option<String>,
    /// The subject at which it is cannot be read alone, so its rows are ordered, to be counted.
    #[serde(skip_serializing_if = "is_false")]
    pub counts_rows: bool,
    /// The endpoint would not sort the rows; it is hoped that their order is always the same.
    #[serde(skip_serializing_if = "is_false")]
    pub unsorted: bool,
    /// Whether a blank node has the same label in every answer, once it is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keeps_labels: Option<bool>,
    /// More than this was refused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub page_size_max: Option<u64>,
    /// The digest of the last answer of which rows were counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_answer: Option<String>,
}

/// What of an endpoint is being read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(in crate::sources) enum Part {
    /// Subjects that are IRIs, by name.
    #[default]
    Subjects,
    /// One of them, which has more rows than an answer had room for, or is the last.
    Subject(String),
    /// Subjects that are blank nodes, by count.
    BlankNodes,
    /// Everything, by count.
    Rows,
}

/// What follows from an answer.
#[derive(Debug)]
pub(super) struct Taken {
    /// What to keep of it.
    pub triples: Vec<Triple>,
    /// How to go on.
    pub reading: Reading,
    /// With how many rows of that part behind.
    pub offset: u64,
    /// There is nothing more to read.
    pub done: bool,
}

impl Reading {
    /// Everything by count, from the beginning.
    pub(super) fn row_by_row() -> Self {
        Self { part: Part::Rows, ..Self::default() }
    }

    /// The query for the next page.
    pub(super) fn query(&self, offset: u64, page_size: u64) -> String {
        let (subject, filter, order) = match &self.part {
            Part::Subjects => {
                // Compared and ordered by the same expression: IRIs themselves cannot be compared, and are not ordered as
                // their names are everywhere. Where no rows are counted nothing else is ordered by, because Virtuoso does not
                // sort by objects that are long.
                let order = if self.counts_rows { "STR(?s) ?p ?o" } else { "STR(?s)" };
                let filter = match self.after.as_str() {
                    "" => " FILTER(isIRI(?s))".to_owned(),
                    after => format!(" FILTER(isIRI(?s) && STR(?s) > {})", string(after)),
                };
                ("?s".to_owned(), filter, order)
            }
            // It came out of a parser that lets nothing through which could not stand here.
            Part::Subject(subject) => (format!("<{subject}>"), String::new(), "?p ?o"),
            Part::BlankNodes => ("?s".to_owned(), " FILTER(isBlank(?s))".to_owned(), "?s ?p ?o"),
            Part::Rows => ("?s".to_owned(), String::new(), "?s ?p ?o"),
        };
        let variables = if subject == "?s" { "?s ?p ?o" } else { "?p ?o" };
        let order = if self.unsorted { String::new() } else { format!("ORDER BY {order} ") };
        let skip = if self.part == Part::Subjects && offset == 0 {
            String::new()
        } else {
            format!(" OFFSET {offset}")
        };
        format!(
            "CONSTRUCT {{ {subject} ?p ?o }} WHERE {{ {{ SELECT {variables} WHERE {{ {subject} ?p ?o{filter} }} \
             {order}LIMIT {page_size}{skip} }} }}"
        )
    }

    /// True when the endpoint has to sort rows only to pass them over.
    pub(super) fn sorts_and_skips(&self, offset: u64) -> bool {
        offset > 0 && !self.unsorted && self.part != Part::Subjects
    }

    /// The next way to ask an endpoint that refuses this one. What it reads begins anew: in another order, other rows are behind.
    pub(super) fn otherwise(self) -> Option<Self> {
        match self.part {
            Part::Subject(_) | Part::BlankNodes if !self.unsorted => {
                Some(Self { unsorted: true, last_answer: None, ..self })
            }
            Part::Rows if self.unsorted => None,
            Part::Rows => Some(Self { unsorted: true, ..self.anew() }),
            _ => Some(self.anew()),
        }
    }

    /// Everything by count, from the beginning, of an endpoint that was read in another way.
    fn anew(self) -> Self {
        Self { keeps_labels: self.keeps_labels, ..Self::row_by_row() }
    }

    /// What follows from the answer to [`query`](Self::query). `is_first` says that nothing was kept of the endpoint so far.
    pub(super) fn take(self, endpoint: &PageUrl, offset: u64, is_first: bool, answer: Answer) -> Taken {
        match self.part {
            Part::Subjects => self.take_subjects(endpoint, offset, answer),
            _ => self.take_rows(offset, is_first, answer),
        }
    }

    fn take_subjects(self, endpoint: &PageUrl, offset: u64, answer: Answer) -> Taken {
        let subjects = match names(&answer.triples) {
            Some(subjects) if self.is_in_order(&subjects) => subjects,
            _ => return self.anew().with(Vec::new(), 0),
        };
        let mut from_last = subjects.iter().rev().map(|subject| (*subject).to_owned());
        let Some(last) = from_last.next() else { return self.at(Part::BlankNodes).with(Vec::new(), 0) };
        let Some(whole) = from_last.next() else {
            return if fits(endpoint, &last) {
                self.at(Part::Subject(last)).with(Vec::new(), 0)
            } else if self.counts_rows {
                let rows = answer.rows();
                Self { left: None, ..self }.with(answer.triples, offset + rows)
            } else {
                Self { counts_rows: true, ..self }.with(Vec::new(), offset)
            };
        };
        let mut triples = answer.triples;
        triples.retain(|triple| name(triple) != Some(last.as_str()));
        let (after, offset) = self.behind(endpoint, &whole, offset, &triples);
        Self { after, left: Some(last), counts_rows: false, ..self }.with(triples, offset)
    }

    /// False when the endpoint does not order names as we do.
    fn is_in_order(&self, subjects: &BTreeSet<&str>) -> bool {
        let first = subjects.first().copied();
        first.is_none_or(|first| first > self.after.as_str())
            && self.left.as_deref().is_none_or(|left| first == Some(left))
    }

    /// The place behind a subject and the rows that came up to it. A name that is too long for a URL is
    /// replaced by its beginning, and the rows since are counted.
    fn behind(&self, endpoint: &PageUrl, subject: &str, offset: u64, triples: &[Triple]) -> (String, u64) {
        if fits(endpoint, subject) {
            return (subject.to_owned(), 0);
        }
        let ends: Vec<usize> = subject.char_indices().map(|(end, _)| end).take(URL_BYTES_MAX).collect();
        let fitting = ends.partition_point(|&end| fits(endpoint, &subject[..end]));
        let beginning = fitting.checked_sub(1).map_or("", |last| &subject[..ends[last]]);
        if offset > 0 || beginning <= self.after.as_str() {
            return (self.after.clone(), offset + triples.len() as u64);
        }
        let since = triples.iter().filter(|triple| name(triple) > Some(beginning)).count();
        (beginning.to_owned(), since as u64)
    }

    fn take_rows(self, offset: u64, is_first: bool, answer: Answer) -> Taken {
        // An endpoint that takes no notice of the offset gives the same for ever.
        if answer.rows() > 0 && self.last_answer.as_ref() != Some(&answer.digest) {
            let offset = offset + answer.rows();
            return Self { last_answer: Some(answer.digest), ..self }.with(answer.triples, offset);
        }
        let ended = Self { last_answer: None, ..self };
        match ended.part.clone() {
            Part::Subject(subject) => Self { after: subject, ..ended.at(Part::Subjects) }.with(Vec::new(), 0),
            // Nothing at all may mean that the endpoint is empty, or that it does not know what it was asked.
            Part::BlankNodes if is_first => ended.anew().with(Vec::new(), 0),
            _ => Taken { done: true, ..ended.with(Vec::new(), offset) },
        }
    }

    /// The beginning of another part.
    fn at(self, part: Part) -> Self {
        Self { part, left: None, counts_rows: false, unsorted: false, last_answer: None, ..self }
    }

    fn with(self, triples: Vec<Triple>, offset: u64) -> Taken {
        Taken { triples, reading: self, offset, done: false }
    }
}

fn is_false(value: &bool) -> bool {
    !value
}

/// The name of a triple's subject.
fn name(triple: &Triple) -> Option<&str> {
    match &triple.subject {
        NamedOrBlankNode::NamedNode(node) => Some(node.as_str()),
        NamedOrBlankNode::BlankNode(_) => None,
    }
}

/// The names of all subjects, in order; nothing when one has none.
fn names(triples: &[Triple]) -> Option<BTreeSet<&str>> {
    triples.iter().map(name).collect()
}

/// Whether a subject can be named in a request, alone and as what others come after.
fn fits(endpoint: &PageUrl, subject: &str) -> bool {
    let after = Reading { after: subject.to_owned(), counts_rows: true, ..Reading::default() };
    let alone = Reading { part: Part::Subject(subject.to_owned()), ..Reading::default() };
    [after, alone].iter().all(|reading| request(endpoint, &reading.query(TRIPLES_MAX, PAGE_SIZE_MAX)).is_ok())
}

/// The URL that asks an endpoint something.
pub(super) fn request(endpoint: &PageUrl, query: &str) -> Result<PageUrl, UrlProblem> {
    let mut url = endpoint.as_url().clone();
    url.query_pairs_mut().append_pair("query", query);
    PageUrl::parse(url.as_str())
}

/// The query for one row of the first blank node, or of the last, that mentions no other.
pub(super) fn one_blank_node(descending: bool) -> String {
    let order = if descending { "DESC(?s)" } else { "?s" };
    format!(
        "CONSTRUCT {{ ?s ?p ?o }} WHERE {{ {{ SELECT ?s ?p ?o WHERE {{ ?s ?p ?o FILTER(isBlank(?s) && !isBlank(?o)) }} \
         ORDER BY {order} LIMIT 1 }} }}"
    )
}

/// A text as a string of SPARQL.
fn string(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for character in text.chars() {
        match character {
            '"' | '\\' => quoted.extend(['\\', character]),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            _ => quoted.push(character),
        }
    }
    quoted.push('"');
    quoted
}

#[cfg(test)]
mod tests {
    use expect_test::{Expect, expect};
    use oxrdf::{Literal, NamedNode};

    use super::*;

    fn endpoint() -> PageUrl {
        PageUrl::parse("http://a.example/sparql").unwrap()
    }

    fn alone(subject: &str) -> Reading {
        Reading { part: Part::Subject(subject.to_owned()), ..Reading::default() }
    }

    fn after(subject: &str) -> Reading {
        Reading { after: subject.to_owned(), ..Reading::default() }
    }

    /// An answer of so many rows for each of these subjects.
    fn answer(subjects: &[(&str, usize)]) -> Answer {
        let rows = subjects.iter().flat_map(|(subject, rows)| (0..*rows).map(move |row| (subject, row)));
        let triples: Vec<Triple> = rows
            .map(|(subject, row)| {
                let predicate = NamedNode::new_unchecked("http://a.example/p");
                Triple::new(NamedNode::new_unchecked(*subject), predicate, Literal::from(row as i64))
            })
            .collect();
        let digest = format!("{triples:?}");
        Answer { triples, broken: 0, digest }
    }

    /// Takes an answer, and shows how many rows are kept and where that leads.
    fn take(reading: Reading, offset: u64, answer: Answer) -> (usize, Reading, u64) {
        let taken = reading.take(&endpoint(), offset, false, answer);
        assert!(!taken.done);
        (taken.triples.len(), taken.reading, taken.offset)
    }

    #[track_caller]
    fn check(reading: Reading, offset: u64, expected: Expect) {
        let query = reading.query(offset, 10);
        spargebra::SparqlParser::new().parse_query(&query).unwrap();
        expected.assert_eq(&query);
    }

    #[test]
    fn names_are_compared_and_ordered_alike() {
        check(
            Reading::default(),
            0,
            expect![
                "CONSTRUCT { ?s ?p ?o } WHERE { { SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(isIRI(?s)) } ORDER BY STR(?s) LIMIT 10 } }"
            ],
        );
        check(
            after("http://a.example/x"),
            0,
            expect![[
                r#"CONSTRUCT { ?s ?p ?o } WHERE { { SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(isIRI(?s) && STR(?s) > "http://a.example/x") } ORDER BY STR(?s) LIMIT 10 } }"#
            ]],
        );
        check(
            Reading { counts_rows: true, ..after("http://a.example/x") },
            20,
            expect![[
                r#"CONSTRUCT { ?s ?p ?o } WHERE { { SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(isIRI(?s) && STR(?s) > "http://a.example/x") } ORDER BY STR(?s) ?p ?o LIMIT 10 OFFSET 20 } }"#
            ]],
        );
    }

    #[test]
    fn what_has_no_name_is_counted() {
        check(
            alone("http://a.example/x"),
            20,
            expect![
                "CONSTRUCT { <http://a.example/x> ?p ?o } WHERE { { SELECT ?p ?o WHERE { <http://a.example/x> ?p ?o } ORDER BY ?p ?o LIMIT 10 OFFSET 20 } }"
            ],
        );
        check(
            Reading { unsorted: true, ..alone("http://a.example/x") },
            0,
            expect![
                "CONSTRUCT { <http://a.example/x> ?p ?o } WHERE { { SELECT ?p ?o WHERE { <http://a.example/x> ?p ?o } LIMIT 10 OFFSET 0 } }"
            ],
        );
        check(
            Reading { part: Part::BlankNodes, ..Reading::default() },
            20,
            expect![
                "CONSTRUCT { ?s ?p ?o } WHERE { { SELECT ?s ?p ?o WHERE { ?s ?p ?o FILTER(isBlank(?s)) } ORDER BY ?s ?p ?o LIMIT 10 OFFSET 20 } }"
            ],
        );
        check(
            Reading::row_by_row(),
            20,
            expect![
                "CONSTRUCT { ?s ?p ?o } WHERE { { SELECT ?s ?p ?o WHERE { ?s ?p ?o } ORDER BY ?s ?p ?o LIMIT 10 OFFSET 20 } }"
            ],
        );
        for descending in [false, true] {
            spargebra::SparqlParser::new().parse_query(&one_blank_node(descending)).unwrap();
        }
    }

    #[test]
    fn texts_are_what_they_were_once_they_are_parsed() {
        for text in [
            "",
            "a\"b",
            "a\\",
            "\\u0041",
            "'",
            "\n\r\t\u{8}\u{c}\0",
            "http://ä.example/🦀?a=b&c#d{}<>%22",
            "\" || \"",
        ] {
            let query = format!("SELECT * WHERE {{ VALUES ?x {{ {} }} }}", string(text));
            let parsed = spargebra::SparqlParser::new().parse_query(&query).unwrap().to_string();
            assert!(parsed.contains(&Literal::from(text).to_string()), "{text:?}: {parsed}");
        }
    }

    #[test]
    fn pages_are_asked_for_by_url() {
        for (endpoint, start) in [
            ("http://a.example/sparql", "http://a.example/sparql?query=CONSTRUCT+"),
            ("http://a.example/sparql?graph=x", "http://a.example/sparql?graph=x&query=CONSTRUCT+"),
        ] {
            let query = after("http://a.example/a&b#c+d").query(0, 10);
            let url = request(&PageUrl::parse(endpoint).unwrap(), &query).unwrap();
            assert!(url.as_str().starts_with(start), "{url}");
            assert!(url.as_str().contains("a%26b%23c%2Bd"), "{url}");
            let (_, asked) = url.as_url().query_pairs().find(|(name, _)| name == "query").unwrap();
            assert_eq!(asked, query);
        }
    }

    #[test]
    fn the_last_subject_of_an_answer_is_left_to_the_next() {
        let (kept, reading, offset) =
            take(after("urn:a"), 0, answer(&[("urn:d", 3), ("urn:b", 2), ("urn:c", 4)]));
        assert_eq!((kept, offset), (6, 0));
        assert_eq!(reading, Reading { left: Some("urn:d".to_owned()), ..after("urn:c") });

        // It is all there is, so it is read alone, until nothing more comes.
        let (kept, reading, offset) = take(reading, 0, answer(&[("urn:d", 5)]));
        assert_eq!((kept, offset, &reading.part), (0, 0, &Part::Subject("urn:d".to_owned())));
        let (kept, reading, offset) = take(reading, 0, answer(&[("urn:d", 5)]));
        assert_eq!((kept, offset), (5, 5));
        let (kept, reading, offset) = take(reading, 5, answer(&[("urn:d", 1)]));
        assert_eq!((kept, offset), (1, 6));
        let (kept, reading, offset) = take(reading, 6, answer(&[]));
        assert_eq!((kept, offset, &reading), (0, 0, &after("urn:d")));

        // Blank nodes come last.
        let (_, reading, _) = take(reading, 0, answer(&[]));
        assert_eq!(reading.part, Part::BlankNodes);
        assert!(reading.clone().take(&endpoint(), 7, false, answer(&[])).done);
        // An endpoint that has nothing either way is asked for anything it has.
        assert_eq!(reading.take(&endpoint(), 0, true, answer(&[])).reading, Reading::row_by_row());
    }

    #[test]
    fn another_order_than_ours_is_noticed() {
        // It compares without regard to case: after A, b and C it stopped within D. To us b is the last.
        let (kept, reading, _) =
            take(Reading::default(), 0, answer(&[("urn:A", 1), ("urn:b", 1), ("urn:C", 1), ("urn:D", 1)]));
        assert_eq!((kept, reading.after.as_str(), reading.left.as_deref()), (3, "urn:D", Some("urn:b")));
        let (kept, reading, offset) = take(reading, 0, answer(&[("urn:D", 2), ("urn:e", 2)]));
        assert_eq!((kept, reading, offset), (0, Reading::row_by_row(), 0));

        for (reading, rows) in [
            // What is left has to come.
            (Reading { left: Some("urn:c".to_owned()), ..after("urn:b") }, answer(&[("urn:d", 1)])),
            (Reading { left: Some("urn:c".to_owned()), ..after("urn:b") }, answer(&[])),
            // What is behind must not.
            (after("urn:b"), answer(&[("urn:b", 1), ("urn:c", 1)])),
        ] {
            assert_eq!(take(reading, 0, rows).1, Reading::row_by_row());
        }
    }

    #[test]
    fn names_too_long_for_a_url_are_counted_behind_their_beginning() {
        let long = |end: &str| format!("urn:{}{end}", "ä".repeat(URL_BYTES_MAX / 4));
        let [one, two, three] = ["1", "2", "3"].map(long);
        let rows = answer(&[("urn:b", 2), (&one, 3), (&two, 4), (&three, 5)]);
        let (kept, reading, offset) = take(after("urn:a"), 0, rows);
        assert_eq!((kept, offset), (9, 7));
        assert!(one.starts_with(&reading.after) && reading.after.len() > 100, "{}", reading.after);
        assert!(request(&endpoint(), &reading.query(offset, PAGE_SIZE_MAX)).is_ok());

        // One that cannot be named cannot be read alone either: its rows are counted where it is, in an order that stays.
        let begun = reading.after.clone();
        let (kept, reading, offset) = take(reading, offset, answer(&[(&three, 5)]));
        assert_eq!((kept, reading.counts_rows, offset), (0, true, 7));
        let (kept, reading, offset) = take(reading, offset, answer(&[(&three, 5)]));
        assert_eq!((kept, offset, reading.after == begun), (5, 12, true));
        let (kept, reading, offset) =
            take(reading, offset, answer(&[(&three, 1), ("urn:ö", 1), ("urn:ü", 1)]));
        assert_eq!((kept, reading.after.as_str(), reading.counts_rows, offset), (2, "urn:ö", false, 0));
    }

    #[test]
    fn an_endpoint_that_always_says_the_same_has_said_all() {
        let (_, reading, offset) = take(Reading::row_by_row(), 0, answer(&[("urn:a", 3)]));
        assert!(reading.take(&endpoint(), offset, false, answer(&[("urn:a", 3)])).done);
    }
}
