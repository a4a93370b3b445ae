//! The beginning of markup: XML declaration, DOCTYPE, and the first element with its namespace.
//!
//! In: the first 64 KiB as text. Out: a [`Prolog`], from which [`Prolog::kind`] tells HTML, XHTML,
//! RSS, Atom, OPML, sitemaps, SVG, WSDL, RDF/XML and other XML apart. Comments, processing instructions and DOCTYPE are skipped,
//! entities of the internal subset are known (ontologies write `xmlns:rdf="&rdf;"`). One pass, no
//! recursion, nothing expanded twice.

use webloom_model::DocumentKind;

use crate::hints::{self, MediaType};

pub(crate) const RDF: &str = "http://www.w3.org/1999/02/22-rdf-syntax-ns#";
pub(crate) const XHTML: &str = "http://www.w3.org/1999/xhtml";
pub(crate) const SVG: &str = "http://www.w3.org/2000/svg";
const ATOM: &str = "http://www.w3.org/2005/Atom";
const ATOM_03: &str = "http://purl.org/atom/ns#";
/// What Atom was called while it had no name.
const EARLY_ATOM: [&str; 4] = [
    "http://purl.org/pie/",
    "http://purl.org/echo/",
    "http://example.com/necho",
    "http://example.com/newformat#",
];
const WSDL_11: &str = "http://schemas.xmlsoap.org/wsdl/";
const WSDL_20: &str = "http://www.w3.org/ns/wsdl";

/// The tags by which the WHATWG tells HTML from other text, and a few that fragments begin with.
const HTML_TAGS: &[&str] = &[
    "html", "head", "script", "iframe", "h1", "h2", "h3", "div", "font", "table", "a", "style", "title", "b",
    "body", "br", "p", "meta", "link", "base", "span", "img", "ul", "ol", "article", "section", "main",
    "header", "nav", "form", "center", "frameset", "noscript", "template",
];

/// The first element.
#[derive(Debug)]
pub(crate) struct Root {
    pub prefix: String,
    pub local: String,
    pub namespace: String,
}

/// What stands before the content.
#[derive(Debug, Default)]
pub(crate) struct Prolog {
    /// There is `<?xml`.
    pub xml_declaration: bool,
    /// The name in the DOCTYPE, lower case.
    pub doctype: Option<String>,
    /// The first element.
    pub root: Option<Root>,
    /// The text begins with a comment, which in HTML is common and in other text is not.
    pub comment: bool,
}

impl Prolog {
    /// The kind of markup this is, if it is clear enough to be believed against `declared`.
    pub(crate) fn kind(&self, declared: &MediaType, extension: Option<&str>) -> Option<DocumentKind> {
        let extension_kind = extension.and_then(hints::kind_of_extension);
        let Some(root) = &self.root else {
            return match self.doctype.as_deref() {
                Some("html") => Some(self.html(declared, extension_kind)),
                Some("rdf:rdf") => Some(DocumentKind::RdfXml),
                _ if self.xml_declaration
                    && declared.kind().is_none_or(|kind| kind == DocumentKind::Html) =>
                {
                    Some(extension_kind.unwrap_or(DocumentKind::Xml))
                }
                _ if self.comment && declared.essence.is_empty() && extension_kind.is_none() => {
                    Some(DocumentKind::Html)
                }
                _ => None,
            };
        };
        if self.doctype.as_deref() == Some("html") || root.local.eq_ignore_ascii_case("html") {
            return Some(self.html(declared, extension_kind));
        }
        match (root.namespace.as_str(), root.local.as_str()) {
            (RDF, _) => return Some(DocumentKind::RdfXml),
            // An undeclared prefix is broken XML, yet there is no doubt what was meant.
            ("", "RDF") if root.prefix == "rdf" => return Some(DocumentKind::RdfXml),
            ("", "rss") => return Some(DocumentKind::Rss),
            // Every version had a namespace proposed for it, though none has one.
            (_, "rss") => return Some(DocumentKind::Rss),
            (ATOM | ATOM_03, "feed" | "entry") => return Some(DocumentKind::Atom),
            (namespace, "feed") if EARLY_ATOM.contains(&namespace) => return Some(DocumentKind::Atom),
            // Without namespace it is a feed where XML is expected; in Turtle it may be a relative IRI.
            ("", "feed")
                if self.xml_declaration
                    || declared.is_xml()
                    || matches!(extension_kind, Some(DocumentKind::Xml | DocumentKind::Atom)) =>
            {
                return Some(DocumentKind::Atom);
            }
            ("", "opml") => return Some(DocumentKind::Opml),
            (WSDL_11, "definitions") | (WSDL_20, "description") => return Some(DocumentKind::Wsdl),
            (SVG, _) => return Some(DocumentKind::Svg),
            // Forgotten by its author, missed by nobody who looks at the picture.
            ("", "svg") if !matches!(declared.kind(), Some(DocumentKind::Html)) => {
                return Some(DocumentKind::Svg);
            }
            (namespace, "urlset" | "sitemapindex")
                if namespace.is_empty() || namespace.contains("/schemas/sitemap") =>
            {
                return Some(DocumentKind::Sitemap);
            }
            _ => {}
        }
        // RDF/XML may consist of one node element, without rdf:RDF around it.
        if declared.kind() == Some(DocumentKind::RdfXml)
            || (declared.is_vague() && extension_kind == Some(DocumentKind::RdfXml))
        {
            return (!root.namespace.is_empty()).then_some(DocumentKind::RdfXml);
        }
        let html_tag = root.prefix.is_empty()
            && (root.namespace.is_empty() || root.namespace == XHTML)
            && HTML_TAGS.iter().any(|tag| tag.eq_ignore_ascii_case(&root.local));
        if html_tag && !declared.is_xml() && !self.xml_declaration {
            // A fragment. Text that says it is plain, or a script that begins with a comment, stays what it is.
            let open = declared.essence.is_empty()
                || declared.kind() == Some(DocumentKind::Html)
                || (declared.is_vague() && declared.essence != "text/plain");
            // In Turtle and its relatives `<a>` and `<s>` are relative IRIs.
            let terse = matches!(
                extension_kind,
                Some(
                    DocumentKind::Turtle | DocumentKind::TriG | DocumentKind::NTriples | DocumentKind::NQuads
                )
            ) && declared.is_vague();
            return (open && !terse && !matches!(extension, Some("js" | "css" | "txt" | "md")))
                .then_some(DocumentKind::Html);
        }
        if self.xml_declaration {
            return Some(DocumentKind::Xml);
        }
        match declared.kind() {
            // The server calls it XML of some sort and it is, though not of a sort with a reader.
            Some(
                DocumentKind::Xml
                | DocumentKind::Rss
                | DocumentKind::Atom
                | DocumentKind::Xhtml
                | DocumentKind::Opml
                | DocumentKind::Svg
                | DocumentKind::Wsdl,
            ) => Some(DocumentKind::Xml),
            Some(DocumentKind::Html) => Some(DocumentKind::Html),
            Some(_) => None,
            None if declared.is_vague() && !root.namespace.is_empty() => Some(DocumentKind::Xml),
            None if declared.is_vague() && extension_kind == Some(DocumentKind::Xml) => {
                Some(DocumentKind::Xml)
            }
            None => None,
        }
    }

    /// HTML or XHTML: by the server's word, else by how it is written.
    fn html(&self, declared: &MediaType, extension_kind: Option<DocumentKind>) -> DocumentKind {
        let namespace = self.root.as_ref().map_or("", |root| &root.namespace);
        if declared.kind() == Some(DocumentKind::Html) {
            return DocumentKind::Html;
        }
        let as_xml = declared.is_xml() || self.xml_declaration || extension_kind == Some(DocumentKind::Xhtml);
        if declared.kind() == Some(DocumentKind::Xhtml) || (namespace == XHTML && as_xml) {
            DocumentKind::Xhtml
        } else {
            DocumentKind::Html
        }
    }
}

/// Reads up to the end of the first start tag.
pub(crate) fn scan(text: &str) -> Prolog {
    let mut prolog = Prolog::default();
    let mut entities: Vec<(&str, &str)> = Vec::new();
    let mut rest = text.trim_start_matches('\u{feff}');
    loop {
        rest = rest.trim_ascii_start();
        if let Some(after) = rest.strip_prefix("<?") {
            prolog.xml_declaration |=
                after.starts_with("xml") && after[3..].starts_with(|c: char| c.is_ascii_whitespace());
            // PHP left in a page ends in `?>` too, if at all.
            let Some(end) = after.find("?>") else { return prolog };
            rest = &after[end + 2..];
        } else if let Some(after) = rest.strip_prefix("<!--") {
            prolog.comment = true;
            // `<!-->` and `<!--->` are whole comments to an HTML parser.
            let after = after.strip_prefix('>').or_else(|| after.strip_prefix("->")).map_or(after, |_| "-->");
            let Some(end) = after.find("-->") else { return prolog };
            rest = match rest.get(4..) {
                Some(body) if body.starts_with('>') => &body[1..],
                Some(body) if body.starts_with("->") => &body[2..],
                Some(body) => &body[end + 3..],
                None => return prolog,
            };
        } else if starts_with_ignore_case(rest, "<!doctype") {
            let after = &rest["<!doctype".len()..];
            let name: &str = after.trim_ascii_start();
            let name = name
                .split(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '['))
                .next()
                .unwrap_or_default();
            prolog.doctype = Some(name.to_ascii_lowercase());
            let Some(end) = doctype_end(after, &mut entities) else { return prolog };
            rest = &after[end..];
        } else {
            prolog.root = rest.strip_prefix('<').and_then(|tag| root_element(tag, &entities));
            return prolog;
        }
    }
}

pub(crate) fn starts_with_ignore_case(text: &str, prefix: &str) -> bool {
    text.as_bytes().get(..prefix.len()).is_some_and(|start| start.eq_ignore_ascii_case(prefix.as_bytes()))
}

/// The offset after the DOCTYPE's `>`; collects general entities on the way.
fn doctype_end<'a>(text: &'a str, entities: &mut Vec<(&'a str, &'a str)>) -> Option<usize> {
    let bytes = text.as_bytes();
    let mut in_subset = false;
    let mut index = 0;
    while index < bytes.len() {
        match bytes[index] {
            quote @ (b'"' | b'\'') => index += 1 + memchr::memchr(quote, &bytes[index + 1..])?,
            b'[' => in_subset = true,
            b']' => in_subset = false,
            b'>' if !in_subset => return Some(index + 1),
            b'<' if text[index..].starts_with("<!--") => index += 6 + text[index + 4..].find("-->")?,
            b'<' if text[index..].starts_with("<!ENTITY") && entities.len() < 256 => {
                let declaration = text[index + 8..].trim_ascii_start();
                if let Some((name, value)) = declaration.split_once(|c: char| c.is_ascii_whitespace()) {
                    let value = value.trim_ascii_start();
                    if let Some(quote @ ('"' | '\'')) = value.chars().next()
                        && let Some(end) = value[1..].find(quote)
                    {
                        entities.push((name, &value[1..=end]));
                    }
                }
            }
            _ => {}
        }
        index += 1;
    }
    None
}

/// Parses a start tag after its `<`.
fn root_element(tag: &str, entities: &[(&str, &str)]) -> Option<Root> {
    let name_end =
        tag.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/' | '<' | '"' | '\''))?;
    let name = &tag[..name_end];
    // `<http://…>` and `<#me>` begin RDF statements, not elements.
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_')
        || name.ends_with(':')
        || name.matches(':').count() > 1
    {
        return None;
    }
    let (prefix, local) = name.split_once(':').unwrap_or(("", name));
    if local.is_empty() || !local.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return None;
    }
    let wanted = if prefix.is_empty() { "xmlns".to_owned() } else { format!("xmlns:{prefix}") };
    let mut namespace = String::new();
    let mut rest = &tag[name_end..];
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        if rest.is_empty() || rest.starts_with('>') {
            break;
        }
        let end =
            rest.find(|c: char| c.is_ascii_whitespace() || matches!(c, '=' | '>')).unwrap_or(rest.len());
        let attribute = &rest[..end];
        rest = rest[end..].trim_ascii_start();
        let Some(after) = rest.strip_prefix('=') else {
            if attribute.is_empty() {
                break;
            }
            continue;
        };
        let after = after.trim_ascii_start();
        let value = match after.chars().next() {
            Some(quote @ ('"' | '\'')) => {
                let Some(end) = after[1..].find(quote) else { break };
                rest = &after[end + 2..];
                &after[1..=end]
            }
            _ => {
                let end = after.find(|c: char| c.is_ascii_whitespace() || c == '>').unwrap_or(after.len());
                rest = &after[end..];
                &after[..end]
            }
        };
        if attribute == wanted {
            namespace = resolve(value, entities);
        }
    }
    Some(Root { prefix: prefix.to_owned(), local: local.to_owned(), namespace })
}

/// An attribute value that is one entity, or begins with one, with that entity replaced once.
fn resolve(value: &str, entities: &[(&str, &str)]) -> String {
    if let Some((name, tail)) = value.strip_prefix('&').and_then(|rest| rest.split_once(';'))
        && let Some((_, replacement)) = entities.iter().find(|(known, _)| *known == name)
    {
        return format!("{replacement}{tail}");
    }
    value.to_owned()
}
