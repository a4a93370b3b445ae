//! Scholarly articles: `citation_*`, as Highwire wrote it and search engines read it.
//!
//! What is said of an author (institution, e-mail, ORCID) follows the author it is said of, who becomes a node then.

use oxrdf::{BlankNode, Literal, NamedNode};
use webloom_model::vocab::foaf;

use super::{MetaReader, dates, subjects};

/// How a value is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Value {
    Text,
    Code,
    Date,
    Reference,
    Subjects,
}

/// Name after `citation_`, predicate, value.
const PROPERTIES: &[(&str, &str, Value)] = &[
    ("title", "http://purl.org/dc/terms/title", Value::Text),
    ("abstract", "http://purl.org/dc/terms/abstract", Value::Text),
    ("publisher", "http://purl.org/dc/terms/publisher", Value::Text),
    ("dissertation_institution", "http://purl.org/dc/terms/publisher", Value::Text),
    ("technical_report_institution", "http://purl.org/dc/terms/publisher", Value::Text),
    ("editor", "http://purl.org/ontology/bibo/editor", Value::Text),
    ("language", "http://purl.org/dc/terms/language", Value::Code),
    ("keywords", "http://purl.org/dc/terms/subject", Value::Subjects),
    ("keyword", "http://purl.org/dc/terms/subject", Value::Subjects),
    ("publication_date", "http://purl.org/dc/terms/issued", Value::Date),
    ("date", "http://purl.org/dc/terms/date", Value::Date),
    ("cover_date", "http://purl.org/dc/terms/date", Value::Date),
    ("year", "http://purl.org/dc/terms/date", Value::Date),
    ("online_date", "http://purl.org/dc/terms/available", Value::Date),
    ("doi", "http://purl.org/ontology/bibo/doi", Value::Code),
    ("pmid", "http://purl.org/ontology/bibo/pmid", Value::Code),
    ("isbn", "http://purl.org/ontology/bibo/isbn", Value::Code),
    ("issn", "http://purl.org/ontology/bibo/issn", Value::Code),
    ("volume", "http://purl.org/ontology/bibo/volume", Value::Code),
    ("issue", "http://purl.org/ontology/bibo/issue", Value::Code),
    ("firstpage", "http://purl.org/ontology/bibo/pageStart", Value::Code),
    ("lastpage", "http://purl.org/ontology/bibo/pageEnd", Value::Code),
    ("technical_report_number", "http://purl.org/ontology/bibo/number", Value::Code),
    ("arxiv_id", "http://purl.org/dc/terms/identifier", Value::Code),
    ("id", "http://purl.org/dc/terms/identifier", Value::Code),
    ("journal_title", "http://prismstandard.org/namespaces/basic/2.0/publicationName", Value::Text),
    ("journal_abbrev", "http://purl.org/ontology/bibo/shortTitle", Value::Text),
    ("conference_title", "http://prismstandard.org/namespaces/basic/2.0/publicationName", Value::Text),
    ("inbook_title", "http://prismstandard.org/namespaces/basic/2.0/publicationName", Value::Text),
    ("pdf_url", "http://purl.org/dc/terms/hasFormat", Value::Reference),
    ("fulltext_html_url", "http://purl.org/dc/terms/hasFormat", Value::Reference),
    ("abstract_html_url", "http://purl.org/dc/terms/relation", Value::Reference),
    ("public_url", "http://purl.org/dc/terms/relation", Value::Reference),
    ("reference", "http://purl.org/dc/terms/references", Value::Text),
];

/// The author that details are said of.
#[derive(Debug)]
pub(super) struct Author {
    name: String,
    /// Named once there is a detail.
    node: Option<BlankNode>,
}

/// Reads a `citation_*`; false when the name is none.
pub(super) fn read(reader: &mut MetaReader<'_, '_, '_>, name: &str, content: &str) -> bool {
    let Some(local) =
        name.get(..9).filter(|start| start.eq_ignore_ascii_case("citation_")).map(|_| &name[9..])
    else {
        return false;
    };
    let page = reader.subject.clone();
    if local.eq_ignore_ascii_case("author") || local.eq_ignore_ascii_case("authors") {
        // The old form names them all at once.
        let separator = if local.len() == 7 { ';' } else { '\0' };
        for author in content.split(separator).map(str::trim).filter(|author| !author.is_empty()) {
            let value = Literal::new_simple_literal(author);
            reader.push(page.clone(), super::dcterms::CREATOR.into_owned(), value);
            reader.author = Some(Author { name: author.to_owned(), node: None });
        }
        return true;
    }
    let detail = local.get(..7).filter(|start| start.eq_ignore_ascii_case("author_")).map(|_| &local[7..]);
    if let Some(detail) = detail {
        author_detail(reader, &detail.to_ascii_lowercase(), content);
        return true;
    }
    if let Some((_, predicate, value)) =
        PROPERTIES.iter().find(|(known, _, _)| known.eq_ignore_ascii_case(local))
    {
        let predicate = NamedNode::new_unchecked(*predicate);
        match value {
            Value::Text => {
                let text = reader.text(content);
                reader.push(page, predicate, text);
            }
            Value::Code => reader.push(page, predicate, Literal::new_simple_literal(content)),
            Value::Date => reader.push(page, predicate, dates::literal(content)),
            Value::Reference => {
                if let Some(node) = reader.resolve(content) {
                    reader.push(page, predicate, node);
                }
            }
            Value::Subjects => {
                for subject in subjects(content) {
                    let text = reader.text(subject);
                    reader.push(page.clone(), predicate.clone(), text);
                }
            }
        }
    }
    true
}

fn author_detail(reader: &mut MetaReader<'_, '_, '_>, detail: &str, content: &str) {
    let (predicate, value) = match detail {
        "institution" => ("http://schema.org/affiliation", Literal::new_simple_literal(content).into()),
        "email" => {
            let Ok(mailbox) = NamedNode::new(format!("mailto:{content}")) else { return };
            (foaf::MBOX.as_str(), mailbox.into())
        }
        "orcid" => {
            let number = content.rsplit('/').next().unwrap_or(content);
            let Ok(orcid) = NamedNode::new(format!("https://orcid.org/{number}")) else { return };
            ("http://www.w3.org/2002/07/owl#sameAs", oxrdf::Term::from(orcid))
        }
        _ => return,
    };
    let Some(author) = &mut reader.author else { return };
    let node = match &author.node {
        Some(node) => node.clone(),
        None => {
            let node = BlankNode::new_unchecked(format!("author{}", reader.authors));
            reader.authors += 1;
            author.node = Some(node.clone());
            let name = Literal::new_simple_literal(&author.name);
            let page = reader.subject.clone();
            reader.push(page, foaf::MAKER.into_owned(), node.clone());
            reader.push(node.clone(), foaf::NAME.into_owned(), name);
            node
        }
    };
    reader.push(node, NamedNode::new_unchecked(predicate), value);
}
