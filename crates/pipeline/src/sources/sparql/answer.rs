//! What an endpoint answered: its rows as triples, with the labels it gave to blank nodes.
//!
//! In: the page that came. Out: an [`Answer`], or why that is none. It is read like a dump and not like a page, because a page says
//! more than its rows (its header fields do) and less (it is cut where it is too long).

use oxrdf::Triple;
use oxrdfio::{RdfFormat, RdfParseError};
use sha2::{Digest, Sha256};
use webloom_model::FetchedPage;

use crate::sources::Trouble;
use crate::sources::dump::{format_of_content, parsed};

/// Rows that came.
#[derive(Debug)]
pub(super) struct Answer {
    pub triples: Vec<Triple>,
    /// Rows that are no RDF, such as those with a blank in an IRI.
    pub broken: u64,
    /// By which the same answer is known again.
    pub digest: String,
}

impl Answer {
    /// How many rows came, good or bad.
    pub fn rows(&self) -> u64 {
        self.triples.len() as u64 + self.broken
    }
}

/// The rows of an answer.
pub(super) fn read(page: &FetchedPage) -> Result<Answer, Trouble> {
    let later = |reason: String| Trouble::Later { reason, pause: None, overloaded: true, refused: false };
    if let Some(diagnostic) = page.diagnostics.first() {
        // Half a page would be counted as a whole one.
        return Err(later(diagnostic.message.clone()));
    }
    // Virtuoso's way to say that time was up and these are the rows that it had found: they are sorted, but not the first.
    if page.header("x-sql-state").is_some_and(|state| state.trim() == "S1TAT") {
        return Err(later("it answers with what it had found when its time was up".to_owned()));
    }
    let media_type = page.header("content-type").unwrap_or_default().to_ascii_lowercase();
    if media_type.starts_with("text/html") || media_type.starts_with("application/xhtml+xml") {
        return Err(Trouble::Refused("it answers in HTML".to_owned()));
    }
    let format = format_of_content(page, &page.body);
    let goes_on = !matches!(format, RdfFormat::RdfXml | RdfFormat::JsonLd { .. });
    let digest = data_encoding::HEXLOWER.encode(&Sha256::digest(&page.body));
    let mut answer = Answer { triples: Vec::new(), broken: 0, digest };
    let mut problem = String::new();
    for quad in parsed(&page.body[..], format, &page.url) {
        match quad {
            Ok(quad) => answer.triples.push(quad.into()),
            Err(RdfParseError::Syntax(error)) if goes_on => {
                answer.broken += 1;
                problem = error.to_string();
            }
            Err(error) => return Err(later(format!("the answer cannot be read: {error}"))),
        }
    }
    match answer.triples.is_empty() && answer.broken > 0 {
        true => Err(Trouble::Refused(format!("what it answers is no RDF: {problem}"))),
        false => Ok(answer),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use webloom_model::PageUrl;

    fn page(content_type: &str, body: &str) -> FetchedPage {
        let url = PageUrl::parse("http://a.example/sparql?query=x").unwrap();
        FetchedPage::local(url, Some(content_type), body.to_owned().into())
    }

    #[test]
    fn rows_are_read_in_any_syntax_and_broken_ones_counted() {
        let line = "<http://a.example/s> <http://a.example/p> _:x .\n";
        let broken = format!("{line}<http://a.example/a b> <http://a.example/p> 1 .\n{line}");
        for (content_type, body, expected) in [
            ("application/n-triples", "", (0, 0)),
            ("application/n-triples", line, (1, 0)),
            ("text/plain; charset=utf-8", broken.as_str(), (2, 1)),
            ("text/turtle", "@prefix a: <http://a.example/> . a:s a:p a:o , a:q .", (2, 0)),
            ("application/octet-stream", line, (1, 0)),
        ] {
            let answer = read(&page(content_type, body)).unwrap();
            assert_eq!((answer.triples.len(), answer.broken), expected, "{content_type} {body}");
            assert_eq!(answer.digest, read(&page(content_type, body)).unwrap().digest);
        }
    }

    #[test]
    fn what_is_not_an_answer_is_not_taken_for_an_empty_one() {
        for (content_type, body) in [
            ("text/html; charset=utf-8", "<h1>Query editor</h1>"),
            (
                "text/plain",
                "Virtuoso 22023 Error SR353: Sorted TOP clause specifies more then 10100 rows to sort.",
            ),
        ] {
            assert!(matches!(read(&page(content_type, body)), Err(Trouble::Refused(_))), "{body}");
        }
        let cut = page(
            "application/rdf+xml",
            "<rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:D",
        );
        assert!(matches!(read(&cut), Err(Trouble::Later { overloaded: true, .. })));
        let mut partial = page("application/n-triples", "");
        partial.headers.push(("x-sql-state".to_owned(), "S1TAT".to_owned()));
        assert!(matches!(read(&partial), Err(Trouble::Later { overloaded: true, .. })));
    }
}
