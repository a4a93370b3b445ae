//! Raster images: their type, size, and what they say of themselves in EXIF, XMP and text chunks.
//!
//! Only headers are read, never pixels: PNG, JPEG, GIF, WebP, TIFF and BMP. XMP is RDF/XML about the image and goes through that
//! reader as it is; EXIF and PNG's words become Dublin Core where it has the term.

use std::io::Read as _;

use oxrdf::{Literal, NamedNode, NamedNodeRef};
use webloom_model::vocab::{dcterms, xsd};
use webloom_model::{DetectedPage, Diagnostic, PageUrl};

use super::exif;
use super::exif_vocabulary as vocabulary;
use crate::rdf::read_rdf_xml;
use crate::{Sink, Syntax};

/// Bytes of one description that are read.
const DESCRIPTION_BYTES_MAX: usize = 1 << 20;
/// Parts of a file that are looked at.
const PARTS_MAX: usize = 10_000;

const CREATOR: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://purl.org/dc/terms/creator");
const RIGHTS: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://purl.org/dc/terms/rights");
const CREATED: NamedNodeRef<'_> = NamedNodeRef::new_unchecked("http://purl.org/dc/terms/created");

/// What was found in a file.
#[derive(Debug, Default, PartialEq)]
struct Found<'a> {
    media_type: Option<&'static str>,
    size: Option<(u32, u32)>,
    exif: Option<&'a [u8]>,
    xmp: Option<&'a [u8]>,
    /// Keyword and text.
    words: Vec<(String, String)>,
}

/// Reads an image.
pub(super) fn read(page: &DetectedPage, sink: &mut Sink<'_>) {
    let body = page.content();
    let found = look(body);
    let subject = page.page.url.graph_name();
    let media_type = found.media_type.unwrap_or(&page.detection.media_type);
    super::describe_image(&subject, media_type, found.size, sink);
    if found.size.is_none() {
        let message = format!("the size of this {media_type} could not be read");
        sink.diagnose(Diagnostic::note("image-header", message));
    }
    for (keyword, text) in &found.words {
        if let Some(property) = property_of(keyword) {
            say(&subject, property, text, sink);
        }
    }
    if let Some(tags) = found.exif.map(exif::read) {
        write_exif(&subject, &tags, sink);
    }
    if let Some(xmp) = found.xmp
        && sink.config().wants(Syntax::Rdf)
    {
        write_xmp(&page.page.url, xmp, sink);
    }
}

fn look(body: &[u8]) -> Found<'_> {
    match body {
        [0x89, b'P', b'N', b'G', ..] => png(body),
        [0xff, 0xd8, 0xff, ..] => jpeg(body),
        [b'G', b'I', b'F', b'8', ..] => gif(body),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => webp(body),
        [b'I', b'I', 42, 0, ..] | [b'M', b'M', 0, 42, ..] => Found {
            media_type: Some("image/tiff"),
            size: exif::read(body).size(),
            exif: Some(body),
            ..Found::default()
        },
        [b'B', b'M', ..] => Found {
            media_type: Some("image/bmp"),
            size: little(body, 18, 4)
                .zip(little(body, 22, 4).map(|height| height.cast_signed().unsigned_abs())),
            ..Found::default()
        },
        _ => Found::default(),
    }
}

fn png(body: &[u8]) -> Found<'_> {
    let mut found = Found {
        media_type: Some("image/png"),
        size: big(body, 16, 4).zip(big(body, 20, 4)),
        ..Found::default()
    };
    let mut at = 8;
    for _ in 0..PARTS_MAX {
        let Some(length) = big(body, at, 4).map(|length| length as usize) else { break };
        let Some(name) = body.get(at + 4..at + 8) else { break };
        let data = body.get(at + 8..(at + 8).saturating_add(length)).unwrap_or_default();
        match name {
            b"tEXt" => {
                if let Some((keyword, text)) = split_zero(data) {
                    found.words.push((latin_1(keyword), latin_1(text)));
                }
            }
            b"zTXt" => {
                if let Some((keyword, [0, packed @ ..])) = split_zero(data) {
                    found.words.push((latin_1(keyword), latin_1(&inflate(packed))));
                }
            }
            b"iTXt" => {
                if let Some((keyword, [packed, _method, rest @ ..])) = split_zero(data)
                    && let Some((_language, rest)) = split_zero(rest)
                    && let Some((_translated, text)) = split_zero(rest)
                {
                    let keyword = latin_1(keyword);
                    if keyword == "XML:com.adobe.xmp" && *packed == 0 {
                        found.xmp = Some(text);
                    } else {
                        let text = if *packed == 1 { inflate(text) } else { text.to_vec() };
                        found.words.push((keyword, String::from_utf8_lossy(&text).into_owned()));
                    }
                }
            }
            b"eXIf" => found.exif = Some(data),
            b"IEND" => break,
            _ => {}
        }
        at = at.saturating_add(12).saturating_add(length);
    }
    found
}

fn jpeg(body: &[u8]) -> Found<'_> {
    let mut found = Found { media_type: Some("image/jpeg"), ..Found::default() };
    let mut at = 2;
    for _ in 0..PARTS_MAX {
        // Fill bytes may stand before a marker.
        while body.get(at) == Some(&0xff) && body.get(at + 1) == Some(&0xff) {
            at += 1;
        }
        let (Some(0xff), Some(marker)) = (body.get(at), body.get(at + 1)) else { break };
        // The scan and what follows are pixels.
        if matches!(marker, 0xd9 | 0xda) {
            break;
        }
        if matches!(marker, 0x01 | 0xd0..=0xd8) {
            at += 2;
            continue;
        }
        let Some(length) = big(body, at + 2, 2).map(|length| length as usize) else { break };
        let data = body.get(at + 4..at + 2 + length.max(2)).unwrap_or_default();
        match marker {
            0xc0..=0xcf if !matches!(marker, 0xc4 | 0xc8 | 0xcc) => {
                found.size = big(data, 3, 2).zip(big(data, 1, 2));
            }
            0xe1 if data.starts_with(b"Exif\0\0") => found.exif = Some(&data[6..]),
            0xe1 => {
                if let Some(xmp) = data.strip_prefix(b"http://ns.adobe.com/xap/1.0/\0") {
                    found.xmp = Some(xmp);
                }
            }
            0xfe => found.words.push(("Comment".to_owned(), String::from_utf8_lossy(data).into_owned())),
            _ => {}
        }
        at += 2 + length.max(2);
    }
    found
}

fn gif(body: &[u8]) -> Found<'_> {
    Found {
        media_type: Some("image/gif"),
        size: little(body, 6, 2).zip(little(body, 8, 2)),
        ..Found::default()
    }
}

fn webp(body: &[u8]) -> Found<'_> {
    let mut found = Found { media_type: Some("image/webp"), ..Found::default() };
    let mut at = 12;
    for _ in 0..PARTS_MAX {
        let (Some(name), Some(length)) = (body.get(at..at + 4), little(body, at + 4, 4)) else { break };
        let length = length as usize;
        let data = body.get(at + 8..(at + 8).saturating_add(length)).unwrap_or_default();
        match name {
            b"VP8X" => {
                found.size =
                    little(data, 4, 3).zip(little(data, 7, 3)).map(|(width, height)| (width + 1, height + 1));
            }
            b"VP8 " if found.size.is_none() => {
                found.size = little(data, 6, 2)
                    .zip(little(data, 8, 2))
                    .map(|(width, height)| (width & 0x3fff, height & 0x3fff));
            }
            b"VP8L" if found.size.is_none() => {
                found.size =
                    little(data, 1, 4).map(|bits| ((bits & 0x3fff) + 1, ((bits >> 14) & 0x3fff) + 1));
            }
            b"EXIF" => found.exif = Some(data.strip_prefix(b"Exif\0\0").unwrap_or(data)),
            b"XMP " => found.xmp = Some(data),
            _ => {}
        }
        at = at.saturating_add(8).saturating_add(length).saturating_add(length % 2);
    }
    found
}

fn write_exif(subject: &NamedNode, tags: &exif::Tags, sink: &mut Sink<'_>) {
    for (property, text) in [
        (dcterms::DESCRIPTION, &tags.description),
        (CREATOR, &tags.artist),
        (RIGHTS, &tags.copyright),
        (vocabulary::MAKE, &tags.make),
        (vocabulary::MODEL, &tags.model),
    ] {
        if let Some(text) = text {
            say(subject, property, text, sink);
        }
    }
    if let Some(moment) = &tags.taken {
        sink.push_triple(
            subject.clone(),
            vocabulary::TAKEN,
            Literal::new_typed_literal(moment.clone(), xsd::DATE_TIME),
        );
    }
    if let Some(orientation) = tags.orientation {
        sink.push_triple(
            subject.clone(),
            vocabulary::ORIENTATION,
            Literal::new_typed_literal(orientation.to_string(), xsd::INTEGER),
        );
    }
    if let Some((latitude, longitude)) = tags.place {
        for (name, degrees) in [("lat", latitude), ("long", longitude)] {
            let property =
                NamedNode::new_unchecked(format!("http://www.w3.org/2003/01/geo/wgs84_pos#{name}"));
            sink.push_triple(subject.clone(), property, Literal::new_simple_literal(format!("{degrees:.6}")));
        }
    }
}

/// Reads the RDF of an XMP packet, which speaks of the resource with no name: this image.
fn write_xmp(url: &PageUrl, xmp: &[u8], sink: &mut Sink<'_>) {
    let text = String::from_utf8_lossy(&xmp[..xmp.len().min(DESCRIPTION_BYTES_MAX)]);
    let Some(start) = text.find("<rdf:RDF") else { return };
    let Some(length) = text[start..].find("</rdf:RDF>") else {
        return sink.diagnose(Diagnostic::warning("xmp-syntax", "the XMP packet breaks off"));
    };
    read_rdf_xml(url, &text[start..start + length + "</rdf:RDF>".len()], sink);
}

fn say(subject: &NamedNode, property: NamedNodeRef<'_>, text: &str, sink: &mut Sink<'_>) {
    let text = text.trim_matches(|c: char| c.is_whitespace() || c == '\0');
    if !text.is_empty() && text.len() <= DESCRIPTION_BYTES_MAX {
        sink.push_triple(subject.clone(), property, Literal::new_simple_literal(text));
    }
}

/// What PNG's keywords mean.
fn property_of(keyword: &str) -> Option<NamedNodeRef<'static>> {
    Some(match keyword {
        "Title" => dcterms::TITLE,
        "Description" | "Comment" => dcterms::DESCRIPTION,
        "Author" => CREATOR,
        "Copyright" => RIGHTS,
        "Creation Time" => CREATED,
        _ => return None,
    })
}

fn split_zero(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr(0, data)?;
    Some((&data[..end], &data[end + 1..]))
}

fn latin_1(bytes: &[u8]) -> String {
    bytes.iter().take(DESCRIPTION_BYTES_MAX).map(|byte| char::from(*byte)).collect()
}

/// Undoes zlib's compression, as far as a description may go.
fn inflate(packed: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    // A broken stream gives what came before the break.
    let _ = flate2::read::ZlibDecoder::new(packed).take(DESCRIPTION_BYTES_MAX as u64).read_to_end(&mut out);
    out
}

fn big(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
}

fn little(bytes: &[u8], at: usize, length: usize) -> Option<u32> {
    let bytes = bytes.get(at..at.checked_add(length)?)?;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 8) | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png_with(chunks: &[(&[u8], &[u8])]) -> Vec<u8> {
        let mut file = b"\x89PNG\r\n\x1a\n".to_vec();
        for (name, data) in
            [(&b"IHDR"[..], &b"\0\0\x02\x80\0\0\x01\xe0\x08\x06\0\0\0"[..])].iter().chain(chunks)
        {
            file.extend((data.len() as u32).to_be_bytes());
            file.extend(*name);
            file.extend(*data);
            file.extend([0; 4]);
        }
        file
    }

    #[test]
    fn headers_tell_type_and_size() {
        let jpeg = b"\xff\xd8\xff\xe0\0\x04ab\xff\xff\xc0\0\x0b\x08\0\x10\0\x20\x01\x01\x11\0\xff\xd9";
        for (body, media_type, size) in [
            (png_with(&[]), "image/png", Some((640, 480))),
            (jpeg.to_vec(), "image/jpeg", Some((32, 16))),
            (b"GIF89a\x05\0\x07\0".to_vec(), "image/gif", Some((5, 7))),
            (b"GIF89a".to_vec(), "image/gif", None),
            (
                b"RIFF\0\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x09\0\0\x13\0\0".to_vec(),
                "image/webp",
                Some((10, 20)),
            ),
            (b"RIFF\0\0\0\0WEBPVP8L\x05\0\0\0\x2f\x09\xc0\x04\0".to_vec(), "image/webp", Some((10, 20))),
        ] {
            let found = look(&body);
            assert_eq!((found.media_type, found.size), (Some(media_type), size), "{body:?}");
        }
    }

    #[test]
    fn words_of_png() {
        let body = png_with(&[
            (b"tEXt", b"Title\0Gr\xfc\xdfe"),
            (b"iTXt", b"Copyright\0\0\0de\0\0\xc2\xa9 wir"),
            (b"tEXt", b"no separator"),
            (b"iTXt", b"XML:com.adobe.xmp\0\0\0\0\0<x/>"),
        ]);
        let found = look(&body);
        let words: Vec<(&str, &str)> = found.words.iter().map(|(k, t)| (k.as_str(), t.as_str())).collect();
        assert_eq!(words, [("Title", "Grüße"), ("Copyright", "© wir")]);
        assert_eq!(found.xmp, Some(&b"<x/>"[..]));
    }
}
