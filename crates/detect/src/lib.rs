#![doc = include_str!("../README.md")]

mod charset;
mod hints;
mod json;
mod lines;
mod magic;
mod markers;
pub mod mime;
mod prolog;
mod terse;
mod unpack;

use bytes::Bytes;
use hints::MediaType;
use prolog::Prolog;
use webloom_model::{DetectedPage, Detection, Diagnostic, DocumentKind, FetchedPage, XmlName};

/// How much of a body is looked at. Charset validation alone looks at all of it.
const HEAD_BYTES_MAX: usize = 64 * 1024;

/// Phase 2 for one page.
pub fn detect(page: FetchedPage) -> DetectedPage {
    let name = page.url.as_str().to_owned();
    detect_named(page, &name)
}

/// The same for a page whose file name, and not its URL, is the hint: a local file that stands for a page.
pub fn detect_named(mut page: FetchedPage, name: &str) -> DetectedPage {
    // Several fields of that name happen; they are read like one with commas.
    let mut content_types = page.header_all("content-type");
    let content_type =
        content_types.next().map(|first| content_types.fold(first.to_owned(), |all, next| all + "," + next));
    let no_sniff = page.header("x-content-type-options").is_some_and(|options| {
        options.split(',').next().unwrap_or_default().trim().eq_ignore_ascii_case("nosniff")
    });
    let labels = Labels { name: Some(name), content_type: content_type.as_deref(), no_sniff };
    let examined = examine(labels, &page.body);
    page.diagnostics.extend(examined.diagnostics);
    DetectedPage { page, detection: examined.detection, unpacked: examined.unpacked }
}

/// What [`examine`] found.
#[derive(Debug, Clone)]
pub struct Examined {
    /// What the body is; of a compressed file, what is in it.
    pub detection: Detection,
    /// What was in the compressed file.
    pub unpacked: Option<Bytes>,
    /// What was wrong with the compressed file, or with what others say of it.
    pub diagnostics: Vec<Diagnostic>,
}

/// What others say of a body.
#[derive(Debug, Clone, Copy, Default)]
pub struct Labels<'a> {
    /// Its URL, or the name of its file.
    pub name: Option<&'a str>,
    /// The `Content-Type` it was served with.
    pub content_type: Option<&'a str>,
    /// The server asks for its word to be taken: text it calls plain is not to be shown as HTML.
    pub no_sniff: bool,
}

/// Decides what `body` is, looking into it where it is a compressed file of something we read.
pub fn examine(labels: Labels<'_>, body: &[u8]) -> Examined {
    let Labels { name, content_type, .. } = labels;
    if unpack::is_packed(body) {
        // Servers name what is in a `.xml.gz` about as often as they name the wrapping.
        let declared = MediaType::parse(content_type);
        let inner_type = content_type.filter(|_| declared.kind().is_some());
        let inner_name = name.map(hints::inner_name);
        let head = unpack::head(body, HEAD_BYTES_MAX);
        let inner = Labels { name: inner_name, content_type: inner_type, ..labels };
        if detect_labelled(inner, &head).kind != DocumentKind::Unknown {
            let (content, diagnostic) = unpack::whole(body);
            let detection = detect_labelled(inner, &content);
            let mislabelled = mislabelled(inner_name, inner_type, &detection);
            let diagnostics = diagnostic.into_iter().chain(mislabelled).collect();
            return Examined { detection, unpacked: Some(Bytes::from(content)), diagnostics };
        }
    }
    let detection = detect_labelled(labels, body);
    let diagnostics = mislabelled(name, content_type, &detection).into_iter().collect();
    Examined { detection, unpacked: None, diagnostics }
}

/// A finding where a text is called by the name of a syntax that it goes beyond: Turtle that is called N-Triples.
/// It is read as what it is, but other readers will refuse it.
fn mislabelled(name: Option<&str>, content_type: Option<&str>, detection: &Detection) -> Option<Diagnostic> {
    // Most pages are something else, and labels need not be read again.
    if !matches!(detection.kind, DocumentKind::NQuads | DocumentKind::Turtle | DocumentKind::TriG) {
        return None;
    }
    let declared = MediaType::parse(content_type);
    let label = hinted_kind(&declared, name.and_then(hints::extension))?;
    let beyond = match label {
        DocumentKind::NTriples => {
            matches!(detection.kind, DocumentKind::NQuads | DocumentKind::Turtle | DocumentKind::TriG)
        }
        DocumentKind::NQuads => matches!(detection.kind, DocumentKind::Turtle | DocumentKind::TriG),
        DocumentKind::Turtle => matches!(detection.kind, DocumentKind::NQuads | DocumentKind::TriG),
        _ => false,
    };
    beyond.then(|| {
        let label = label.media_type().unwrap_or_default();
        let message = format!("called {label}, which it is not; read as {}", detection.media_type);
        Diagnostic::warning("mislabelled", message)
    })
}

/// What others say the body is.
fn hinted_kind(declared: &MediaType, extension: Option<&str>) -> Option<DocumentKind> {
    declared.kind().or_else(|| extension.and_then(hints::kind_of_extension).filter(|_| declared.is_vague()))
}

/// Decides what `body` is, given where it came from and what the server said of it.
///
/// Compressed files are not looked into, see [`examine`] for those.
///
/// The order of evidence: signatures of binary formats; the XML prolog and root element or the HTML
/// tags; the shape of JSON; the shape of the line- and Turtle-like RDF syntaxes; and where the body
/// says nothing clear, the `Content-Type`, then the extension in the URL.
pub fn detect_bytes(url: Option<&str>, content_type: Option<&str>, body: &[u8]) -> Detection {
    detect_labelled(Labels { name: url, content_type, no_sniff: false }, body)
}

fn detect_labelled(labels: Labels<'_>, body: &[u8]) -> Detection {
    let Labels { name: url, content_type, no_sniff } = labels;
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
    // A server that asks for no guessing is heard where HTML would be the guess. Data does no harm, so data is still found.
    let bound = no_sniff && !declared.essence.is_empty() && !declared.is_html_or_xml();
    let found = decide(&declared, url, extension, head, &prolog)
        .filter(|kind| !(bound && matches!(kind, DocumentKind::Html | DocumentKind::Xhtml)));
    if found.is_none()
        && let Some(detection) = binary(&declared, extension, body, unicode)
    {
        return detection;
    }
    // What the body leaves open, the server's word decides, then the name of the file.
    let kind = found
        .or_else(|| declared.kind())
        .or_else(|| extension.and_then(hints::kind_of_extension).filter(|_| declared.is_vague() && !bound))
        .unwrap_or(DocumentKind::Unknown);

    let charset = charset::choose(kind, body, unicode, declared.charset, url);
    let has_root = charset::is_xml(kind) || kind == DocumentKind::Xhtml;
    let xml_root = prolog
        .root
        .as_ref()
        .filter(|_| has_root)
        .map(|root| XmlName { namespace: root.namespace.clone(), local: root.local.clone() });
    let media_type = media_type(kind, &declared, extension, head, xml_root.is_some());
    Detection {
        kind,
        media_type,
        charset: Some(charset),
        xml_root,
        syntaxes: markers::syntaxes(kind, body, head, charset),
    }
}

/// The media type of a text of some kind.
fn media_type(
    kind: DocumentKind,
    declared: &MediaType,
    extension: Option<&str>,
    head: &str,
    has_root: bool,
) -> String {
    match kind {
        DocumentKind::Unknown => match json::shape(head) {
            json::Shape::Json | json::Shape::Linked if declared.is_vague() => "application/json".to_owned(),
            _ if !declared.essence.is_empty() && !declared.is_opaque() => declared.essence.clone(),
            _ => extension.and_then(hints::media_type_of_extension).unwrap_or("text/plain").to_owned(),
        },
        // A dialect of XML keeps the name its server gives it: it says more than `application/xml`.
        DocumentKind::Xml if declared.is_xml() && declared.essence != "text/xml" => declared.essence.clone(),
        DocumentKind::Sitemap if !has_root => "text/plain".to_owned(),
        // Comma or tab.
        DocumentKind::Csv => match declared.kind() {
            Some(DocumentKind::Csv) if declared.essence == "text/tab-separated-values" => &declared.essence,
            Some(DocumentKind::Csv) => "text/csv",
            _ => extension.and_then(hints::media_type_of_extension).unwrap_or("text/csv"),
        }
        .to_owned(),
        _ => kind.media_type().unwrap_or_default().to_owned(),
    }
}

/// What the body says it is, if it says so clearly enough to be believed against `declared`.
fn decide(
    declared: &MediaType,
    name: Option<&str>,
    extension: Option<&str>,
    head: &str,
    prolog: &Prolog,
) -> Option<DocumentKind> {
    if let Some(kind) = prolog.kind(declared, extension) {
        return Some(kind);
    }
    match json::shape(head) {
        json::Shape::Linked => return Some(DocumentKind::JsonLd),
        json::Shape::Feed => return Some(DocumentKind::JsonFeed),
        json::Shape::Json
            if matches!(declared.kind(), Some(DocumentKind::JsonLd | DocumentKind::JsonFeed)) =>
        {
            return declared.kind();
        }
        json::Shape::Json if declared.is_vague() && extension == Some("jsonld") => {
            return Some(DocumentKind::JsonLd);
        }
        json::Shape::Json => return Some(DocumentKind::Unknown),
        json::Shape::Other => {}
    }
    if let Some(kind) = lines::kind(head, name) {
        return Some(kind);
    }
    // A style sheet or a script may well hold what looks like Turtle; its server knows better.
    if declared.is_opaque() || declared.is_specific_text() {
        return None;
    }
    terse::kind(head, declared.kind().or_else(|| extension.and_then(hints::kind_of_extension)))
}

/// What a body is that is no text.
fn binary(
    declared: &MediaType,
    extension: Option<&str>,
    body: &[u8],
    unicode: charset::Signature,
) -> Option<Detection> {
    let signature = magic::media_type(body);
    let is_text = unicode != charset::Signature::None || !magic::has_binary_bytes(body);
    if is_text && signature.is_none() {
        // Text that its server calls an image or an archive is believed to be one: nobody reads it.
        return declared.is_opaque().then(|| unknown(&declared.essence));
    }
    if let Some(media_type) = signature.filter(|media_type| magic::is_readable_image(media_type)) {
        return Some(Detection { kind: DocumentKind::Image, ..unknown(media_type) });
    }
    let specific = !declared.is_vague() && !declared.is_text();
    Some(unknown(match signature {
        // Office documents are zip files too, so a specific word of the server outranks a general signature.
        _ if specific => &declared.essence,
        Some(media_type) => media_type,
        None => extension
            .and_then(hints::media_type_of_extension)
            .filter(|media_type| !media_type.starts_with("text/"))
            .unwrap_or("application/octet-stream"),
    }))
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
