//! Open Graph and Twitter cards.
//!
//! A name such as `og:image:width` is a namespace, a root (`image`) and a detail. A root whose value is a reference becomes
//! a node of the graph, and the details that follow are said of it. Predicates are the namespace and the rest of the
//! name as written, which is what RDFa makes of `og:` too.

use oxrdf::{Literal, NamedNode, Term};
use webloom_model::vocab::{dcterms, xsd};

use super::{MetaReader, dates};

/// Prefix, namespace.
const NAMESPACES: &[(&str, &str)] = &[
    ("og", "http://ogp.me/ns#"),
    ("article", "http://ogp.me/ns/article#"),
    ("book", "http://ogp.me/ns/book#"),
    ("books", "http://ogp.me/ns/books#"),
    ("business", "http://ogp.me/ns/business#"),
    ("fb", "http://ogp.me/ns/fb#"),
    ("music", "http://ogp.me/ns/music#"),
    ("place", "http://ogp.me/ns/place#"),
    ("product", "http://ogp.me/ns/product#"),
    ("profile", "http://ogp.me/ns/profile#"),
    ("video", "http://ogp.me/ns/video#"),
    ("al", "http://ogp.me/ns/al#"),
    ("twitter", "https://dev.twitter.com/cards#"),
];

/// Properties whose value is a reference.
const REFERENCES: &[(&str, &[&str])] = &[
    (
        "og",
        &[
            "image",
            "image:url",
            "image:secure_url",
            "video",
            "video:url",
            "video:secure_url",
            "audio",
            "audio:url",
            "audio:secure_url",
            "url",
            "see_also",
        ],
    ),
    (
        "twitter",
        &["image", "image:src", "image0", "image1", "image2", "image3", "url", "player", "player:stream"],
    ),
    ("music", &["song", "album", "musician", "creator"]),
    ("video", &["actor", "director", "writer", "series"]),
];

/// Properties whose value is a reference to somebody, or somebody's name.
const PEOPLE: &[(&str, &[&str])] = &[("article", &["author", "publisher"]), ("book", &["author"])];

/// Properties that say the same as one of Dublin Core.
const DUBLIN_CORE: &[(&str, &str, oxrdf::NamedNodeRef<'_>)] = &[
    ("article", "published_time", dcterms::ISSUED),
    ("article", "modified_time", dcterms::MODIFIED),
    ("og", "updated_time", dcterms::MODIFIED),
    ("article", "author", dcterms::CREATOR),
    ("article", "tag", dcterms::SUBJECT),
];

/// Reads a property of one of the vocabularies; false when the name is none of theirs.
pub(super) fn read(reader: &mut MetaReader<'_, '_, '_>, name: &str, content: &str) -> bool {
    let Some((prefix, local)) = name.split_once(':') else { return false };
    let Some(&(prefix, namespace)) = NAMESPACES.iter().find(|(known, _)| known.eq_ignore_ascii_case(prefix))
    else {
        return false;
    };
    let is_name =
        local.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.' | b':'));
    if local.is_empty() || local.len() > 100 || !is_name {
        return false;
    }
    // Letters, digits and a few marks are valid in an IRI.
    let predicate = NamedNode::new_unchecked(format!("{namespace}{local}"));
    let listed = |table: &[(&str, &[&str])]| {
        table.iter().any(|(known, locals)| *known == prefix && locals.contains(&local))
    };
    let is_absolute = content.starts_with("http://") || content.starts_with("https://");
    let is_reference = listed(REFERENCES) || (listed(PEOPLE) && is_absolute);
    let node = if is_reference { reader.resolve(content) } else { None };
    let (root, detail) = local.split_once(':').map_or((local, None), |(root, detail)| (root, Some(detail)));
    let page = reader.subject.clone();
    match node {
        // `og:image:url` is another way to say `og:image`.
        Some(node) if detail.is_none() || matches!(detail, Some("url" | "src")) => {
            let is_known = reader.structures.get(&(prefix, root.to_owned())) == Some(&node);
            if !is_known {
                let root_predicate = NamedNode::new_unchecked(format!("{namespace}{root}"));
                reader.push(page.clone(), root_predicate, node.clone());
                reader.structures.insert((prefix, root.to_owned()), node.clone());
            }
            also_dublin_core(reader, prefix, local, &node.into());
        }
        Some(node) => {
            let subject = reader.structures.get(&(prefix, root.to_owned())).cloned().unwrap_or(page);
            reader.push(subject, predicate, node);
        }
        None => {
            let value = match prefix {
                "fb" | "al" => Literal::new_simple_literal(content),
                _ => literal(reader, local, content),
            };
            let structure = detail.and_then(|_| reader.structures.get(&(prefix, root.to_owned())).cloned());
            reader.push(structure.unwrap_or(page), predicate, value.clone());
            also_dublin_core(reader, prefix, local, &value.into());
        }
    }
    true
}

fn also_dublin_core(reader: &mut MetaReader<'_, '_, '_>, prefix: &str, local: &str, value: &Term) {
    if let Some((_, _, predicate)) =
        DUBLIN_CORE.iter().find(|(known, name, _)| *known == prefix && *name == local)
    {
        // A name is the same in every language.
        let value = match value {
            Term::Literal(name) if *predicate == dcterms::CREATOR => {
                Literal::new_simple_literal(name.value()).into()
            }
            value => value.clone(),
        };
        reader.push(reader.subject.clone(), predicate.into_owned(), value);
    }
}

/// A number or a date where the name promises one; else text in the page's language.
fn literal(reader: &MetaReader<'_, '_, '_>, local: &str, content: &str) -> Literal {
    let last = local.rsplit(':').next().unwrap_or(local);
    let is_number = matches!(last, "width" | "height" | "duration" | "track" | "disc")
        && !content.is_empty()
        && content.len() <= 18
        && content.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        Literal::new_typed_literal(content, xsd::INTEGER)
    } else if last.ends_with("_time") || last.ends_with("_date") {
        dates::literal(content)
    } else {
        reader.text(content)
    }
}
