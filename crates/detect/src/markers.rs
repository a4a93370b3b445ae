//! A cheap scan for the RDF-bearing syntaxes a page seems to carry. A hint for people and for filters;
//! transform does not depend on it.

use memchr::memmem;
use webloom_model::DocumentKind;

/// Vocabularies that pages write in `property=` without meaning RDFa.
const META_PREFIXES: &[&[u8]] = &[
    b"og:",
    b"fb:",
    b"al:",
    b"article:",
    b"book:",
    b"profile:",
    b"video:",
    b"music:",
    b"product:",
    b"twitter:",
];

/// Root class names of microformats 2 and of the classic ones.
const MICROFORMATS: &[&[u8]] = &[
    b"h-entry",
    b"h-card",
    b"h-feed",
    b"h-event",
    b"h-adr",
    b"h-cite",
    b"h-geo",
    b"h-product",
    b"h-recipe",
    b"h-resume",
    b"h-review",
    b"h-item",
    b"hentry",
    b"vcard",
    b"vevent",
    b"hreview",
    b"hfeed",
];

/// Names of the syntaxes, in a fixed order.
pub(crate) fn syntaxes(kind: DocumentKind, body: &[u8], head: &str, charset: &str) -> Vec<&'static str> {
    match kind {
        DocumentKind::Html | DocumentKind::Xhtml => {}
        DocumentKind::Unknown => return Vec::new(),
        DocumentKind::Xml | DocumentKind::Svg | DocumentKind::Wsdl => {
            let own = (kind != DocumentKind::Xml).then_some(kind.as_str());
            let rdfa = [&b" typeof="[..], b" property=", b" vocab="]
                .iter()
                .any(|attribute| memmem::find(head.as_bytes(), attribute).is_some());
            return own.into_iter().chain(rdfa.then_some("rdfa")).collect();
        }
        kind => return vec![kind.as_str()],
    }
    // UTF-16 hides ASCII words from a byte scan; for it the decoded head must do.
    let bytes = if charset.starts_with("UTF-16") { head.as_bytes() } else { body };
    let mut found = Vec::new();
    if memmem::find(bytes, b"ld+json").is_some() {
        found.push("json-ld");
    }
    let mut open_graph = false;
    let mut twitter_card = false;
    let mut rdfa = memmem::find(bytes, b" typeof=").is_some() || memmem::find(bytes, b" vocab=").is_some();
    for position in memmem::find_iter(bytes, b"property=").take(1000) {
        let value = bytes.get(position + 9..).unwrap_or_default();
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        open_graph |= value.starts_with(b"og:");
        twitter_card |= value.starts_with(b"twitter:");
        // `itemproperty=` and the like are no attribute of RDFa.
        let whole = position == 0 || bytes[position - 1].is_ascii_whitespace();
        rdfa |= whole && !META_PREFIXES.iter().any(|prefix| value.starts_with(prefix));
    }
    if rdfa {
        found.push("rdfa");
    }
    if memmem::find(bytes, b"itemscope").is_some() {
        found.push("microdata");
    }
    if has_microformats(bytes) {
        found.push("microformats");
    }
    let mut dublin_core = false;
    let mut citation = false;
    for position in memmem::find_iter(bytes, b"name=").take(1000) {
        let value = bytes.get(position + 5..).unwrap_or_default();
        let value = value.strip_prefix(b"\"").or_else(|| value.strip_prefix(b"'")).unwrap_or(value);
        let starts =
            |prefix: &[u8]| value.get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix));
        open_graph |= starts(b"og:");
        twitter_card |= starts(b"twitter:");
        dublin_core |= starts(b"dc.") || starts(b"dcterms.");
        citation |= starts(b"citation_");
    }
    let named = [
        ("open-graph", open_graph),
        ("twitter-card", twitter_card),
        ("dublin-core", dublin_core),
        ("citation", citation),
    ];
    found.extend(named.iter().filter(|(_, is_there)| *is_there).map(|(name, _)| *name));
    found
}

fn has_microformats(bytes: &[u8]) -> bool {
    memmem::find_iter(bytes, b"class=").take(5000).any(|position| {
        let value = bytes.get(position + 6..).unwrap_or_default();
        let (value, ends): (&[u8], &[u8]) = match value.first() {
            Some(b'"') => (&value[1..], b"\""),
            Some(b'\'') => (&value[1..], b"'"),
            _ => (value, b" \t\r\n>"),
        };
        let end = value.iter().take(512).position(|byte| ends.contains(byte)).unwrap_or(value.len().min(512));
        value[..end].split(u8::is_ascii_whitespace).any(|class| MICROFORMATS.contains(&class))
    })
}
