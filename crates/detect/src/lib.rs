#![doc = include_str!("../README.md")]

mod charset;
mod hints;
mod json;
mod magic;
mod markers;
mod prolog;
mod terse;

use hints::MediaType;
use prolog::Prolog;
use webloom_model::{DetectedPage, Detection, DocumentKind, FetchedPage, XmlName};

/// How much of a body is looked at. Charset validation alone looks at all of it.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Phase 2 for one page.
pub fn detect(page: FetchedPage) -> DetectedPage {
    let detection = detect_bytes(Some(page.url.as_str()), page.header("content-type"), &page.body);
    DetectedPage { page, detection, unpacked: None }
}

/// Decides what `body` is, given where it came from and what the server said of it.
///
/// The order of evidence: signatures of binary formats; the XML prolog and root element or the HTML
/// tags; the shape of JSON; the shape of the line- and Turtle-like RDF syntaxes; and where the body
/// says nothing clear, the `Content-Type`, then the extension in the URL.
pub fn detect_bytes(url: Option<&str>, content_type: Option<&str>, body: &[u8]) -> Detection {
    let declared = MediaType::parse(content_type);
    let extension = url.and_then(hints::extension);
    if body.is_empty() {
        return unknown(declared.essence_or("application/octet-stream"));
    }
    let unicode = charset::unicode_signature(body);
    if unicode == charset::Signature::Utf32 {
        // No browser and no RDF reader takes UTF-32, and its zero bytes would pass for UTF-16.
        return unknown(declared.essence_or("application/octet-stream"));
    }
    let head = charset::head_as_text(body, unicode, declared.charset, HEAD_BYTES_MAX);
    let head = head.as_ref();

    let prolog = prolog::scan(head);
    let found = decide(&declared, extension, head, &prolog);
    if found.is_none()
        && let Some(media_type) = binary(&declared, extension, body, unicode)
    {
        return unknown(&media_type);
    }
    // What the body leaves open, the server's word decides, then the name of the file.
    let kind = found
        .or_else(|| declared.kind())
        .or_else(|| if declared.is_vague() { extension.and_then(hints::kind_of_extension) } else { None })
        .unwrap_or(DocumentKind::Unknown);

    let charset = charset::choose(kind, body, unicode, declared.charset, url);
    let xml_root = match kind {
        DocumentKind::Xml
        | DocumentKind::Rss
        | DocumentKind::Atom
        | DocumentKind::RdfXml
        | DocumentKind::Xhtml => prolog
            .root
            .as_ref()
            .map(|root| XmlName { namespace: root.namespace.clone(), local: root.local.clone() }),
        _ => None,
    };
    let media_type = match kind {
        DocumentKind::Unknown => match json::shape(head) {
            json::Shape::Json | json::Shape::Linked if declared.is_vague() => "application/json".to_owned(),
            _ if !declared.essence.is_empty() && !declared.is_opaque() => declared.essence.clone(),
            _ => extension.and_then(hints::media_type_of_extension).unwrap_or("text/plain").to_owned(),
        },
        // A dialect of XML keeps the name its server gives it: `image/svg+xml` says more than `application/xml`.
        DocumentKind::Xml if declared.is_xml() && declared.essence != "text/xml" => declared.essence.clone(),
        DocumentKind::Xml if prolog.root.as_ref().is_some_and(|root| root.namespace == prolog::SVG) => {
            "image/svg+xml".to_owned()
        }
        _ => kind.media_type().unwrap_or_default().to_owned(),
    };
    Detection {
        kind,
        media_type,
        charset: Some(charset),
        xml_root,
        syntaxes: markers::syntaxes(kind, body, head, charset),
    }
}

/// What the body says it is, if it says so clearly enough to be believed against `declared`.
fn decide(
    declared: &MediaType,
    extension: Option<&str>,
    head: &str,
    prolog: &Prolog,
) -> Option<DocumentKind> {
    if let Some(kind) = prolog.kind(declared, extension) {
        return Some(kind);
    }
    match json::shape(head) {
        json::Shape::Linked => return Some(DocumentKind::JsonLd),
        json::Shape::Json if declared.kind() == Some(DocumentKind::JsonLd) => {
            return Some(DocumentKind::JsonLd);
        }
        json::Shape::Json if declared.is_vague() && extension == Some("jsonld") => {
            return Some(DocumentKind::JsonLd);
        }
        json::Shape::Json => return Some(DocumentKind::Unknown),
        json::Shape::Other => {}
    }
    // A style sheet or a script may well hold what looks like Turtle; its server knows better.
    if declared.is_opaque() || declared.is_specific_text() {
        return None;
    }
    terse::kind(head, declared.kind().or_else(|| extension.and_then(hints::kind_of_extension)))
}

/// The media type of a body that is no text.
fn binary(
    declared: &MediaType,
    extension: Option<&str>,
    body: &[u8],
    unicode: charset::Signature,
) -> Option<String> {
    let signature = magic::media_type(body);
    let is_text = unicode != charset::Signature::None || !magic::has_binary_bytes(body);
    if is_text && signature.is_none() {
        // Text that its server calls an image or an archive is believed to be one: nobody reads it.
        return declared.is_opaque().then(|| declared.essence.clone());
    }
    let specific = !declared.is_vague() && !declared.is_text();
    Some(match signature {
        // Office documents are zip files too, so a specific word of the server outranks a general signature.
        _ if specific => declared.essence.clone(),
        Some(media_type) => media_type.to_owned(),
        None => extension
            .and_then(hints::media_type_of_extension)
            .filter(|media_type| !media_type.starts_with("text/"))
            .unwrap_or("application/octet-stream")
            .to_owned(),
    })
}

fn unknown(media_type: &str) -> Detection {
    Detection {
        kind: DocumentKind::Unknown,
        media_type: media_type.to_owned(),
        charset: None,
        xml_root: None,
        syntaxes: Vec::new(),
    }
}

#[cfg(test)]
mod tests;
