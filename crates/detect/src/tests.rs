//! One table for the decision, one for the charset, and properties.

use std::io::Write;

use proptest::prelude::*;
use webloom_model::DocumentKind::{
    self, Atom, Csv, Html, ICalendar, Image, JsonFeed, JsonLd, NQuads, NTriples, Opml, RdfXml, Rss, Sitemap,
    Svg, TriG, Turtle, Unknown, VCard, Wsdl, Xhtml, Xml,
};

use super::*;

const RDF_XML: &str =
    r#"<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#"><rdf:Description/></rdf:RDF>"#;
const SVG: &str = r#"<svg xmlns="http://www.w3.org/2000/svg"><path d=""/></svg>"#;
const TURTLE: &str = "@prefix foaf: <http://xmlns.com/foaf/0.1/> .\n<#me> a foaf:Person .\n";
const LINE: &str = "<http://a.example/s> <http://a.example/p> \"o\"@en .\n";
const QUAD: &str = "<http://a.example/s> <http://a.example/p> _:b <http://a.example/g> .\n";

fn utf16le(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_le_bytes).collect()
}

fn utf16be(text: &str) -> Vec<u8> {
    text.encode_utf16().flat_map(u16::to_be_bytes).collect()
}

fn utf32le(text: &str) -> Vec<u8> {
    text.chars().flat_map(|c| u32::from(c).to_le_bytes()).collect()
}

type Row<'a> = (&'a str, &'a str, Vec<u8>, DocumentKind, &'a str);

fn row<'a>(
    file: &'a str,
    content_type: &'a str,
    body: impl AsRef<[u8]>,
    kind: DocumentKind,
    media_type: &'a str,
) -> Row<'a> {
    (file, content_type, body.as_ref().to_vec(), kind, media_type)
}

#[test]
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn kinds() {
    let huge_comment = format!("<?xml version='1.0'?><!--{}-->{RDF_XML}", "x".repeat(30_000));
    let endless_comment = format!("<?xml version='1.0'?><!--{}-->{RDF_XML}", "x".repeat(100_000));
    let owl = r#"<?xml version="1.0"?>
<!DOCTYPE rdf:RDF [ <!ENTITY rdf "http://www.w3.org/1999/02/22-rdf-syntax-ns#" > <!ENTITY owl 'http://www.w3.org/2002/07/owl#'> ]>
<rdf:RDF xmlns:rdf="&rdf;" xmlns:owl="&owl;"></rdf:RDF>"#;
    let rows = [
        // HTML, in the forms it comes in.
        row("", "text/html", "<!DOCTYPE html><p>x", Html, "text/html"),
        row("", "", "<!doctype HTML public '-//W3C//DTD HTML 4.01//EN'><p>x", Html, "text/html"),
        row("", "", "  \n\t<HTML lang=en><body>", Html, "text/html"),
        row("", "", "<!-- built at noon --><html>", Html, "text/html"),
        row("", "", "<!-- only a comment -->", Html, "text/html"),
        row("", "", "<!--><html>", Html, "text/html"),
        row("", "", "<div>fragment</div>", Html, "text/html"),
        row("", "application/octet-stream", "<html><body>x", Html, "text/html"),
        row("", "text/plain", "<!DOCTYPE html><title>x</title>", Html, "text/html"),
        row("", "text/plain", "<p> is the paragraph tag", Unknown, "text/plain"),
        row("", "text/html", "just words", Html, "text/html"),
        row("", "text/html; charset=utf-8", "<p>x", Html, "text/html"),
        row("", "TEXT/HTML", "x", Html, "text/html"),
        row("", "text/html, text/html", "x", Html, "text/html"),
        row("", "html", "<html>", Html, "text/html"),
        row("", "image/png", "<!DOCTYPE html><title>Not found</title>", Html, "text/html"),
        row("", "application/rss+xml", "<!DOCTYPE html><title>Gone</title>", Html, "text/html"),
        row("", "application/json", "<!DOCTYPE html><title>Log in</title>", Html, "text/html"),
        row("", "text/html", b"<!doctype html>\0\0<p>x".as_slice(), Html, "text/html"),
        row("page.html", "", "words without tags", Html, "text/html"),
        row("page.html", "text/plain", "words without tags", Html, "text/html"),
        row("", "text/html", utf16le("\u{feff}<html><p>x"), Html, "text/html"),
        row("", "", utf16be("\u{feff}<!doctype html>"), Html, "text/html"),
        row("", "text/html", utf16le("<!doctype html>"), Html, "text/html"),
        // XHTML, by its server or by how it is written.
        row(
            "",
            "application/xhtml+xml",
            "<html xmlns='http://www.w3.org/1999/xhtml'>",
            Xhtml,
            "application/xhtml+xml",
        ),
        row("", "application/xhtml+xml", "<html>", Xhtml, "application/xhtml+xml"),
        row(
            "",
            "text/html",
            "<?xml version='1.0'?><!DOCTYPE html><html xmlns='http://www.w3.org/1999/xhtml'>",
            Html,
            "text/html",
        ),
        row(
            "",
            "application/xml",
            "<?xml version='1.0'?><html xmlns='http://www.w3.org/1999/xhtml'>",
            Xhtml,
            "application/xhtml+xml",
        ),
        row("a.xhtml", "", "<html xmlns='http://www.w3.org/1999/xhtml'>", Xhtml, "application/xhtml+xml"),
        row("", "", "<html xmlns='http://www.w3.org/1999/xhtml'>", Html, "text/html"),
        // RDF/XML.
        row("", "application/rdf+xml", RDF_XML, RdfXml, "application/rdf+xml"),
        row("", "text/html", RDF_XML, RdfXml, "application/rdf+xml"),
        row("", "text/xml", RDF_XML, RdfXml, "application/rdf+xml"),
        row("", "text/plain", RDF_XML, RdfXml, "application/rdf+xml"),
        row(
            "",
            "",
            format!("<?xml-stylesheet href='x'?><!-- c --><!DOCTYPE rdf:RDF>{RDF_XML}"),
            RdfXml,
            "application/rdf+xml",
        ),
        row("", "application/xml", owl, RdfXml, "application/rdf+xml"),
        row(
            "",
            "application/rss+xml",
            format!("<?xml version='1.0'?>{RDF_XML}"),
            RdfXml,
            "application/rdf+xml",
        ),
        row(
            "",
            "application/rdf+xml",
            "<foaf:Person xmlns:foaf='http://xmlns.com/foaf/0.1/'/>",
            RdfXml,
            "application/rdf+xml",
        ),
        row(
            "me.rdf",
            "",
            "<foaf:Person xmlns:foaf='http://xmlns.com/foaf/0.1/'/>",
            RdfXml,
            "application/rdf+xml",
        ),
        row("", "", "<rdf:RDF>", RdfXml, "application/rdf+xml"),
        row("", "", huge_comment, RdfXml, "application/rdf+xml"),
        row("", "", endless_comment.clone(), Xml, "application/xml"),
        row("x.rdf", "", endless_comment.clone(), RdfXml, "application/rdf+xml"),
        row("", "application/rdf+xml", endless_comment, RdfXml, "application/rdf+xml"),
        row(
            "",
            "",
            utf16le(&format!("\u{feff}<?xml version='1.0' encoding='utf-16'?>{RDF_XML}")),
            RdfXml,
            "application/rdf+xml",
        ),
        row(
            "",
            "",
            utf16be(&format!("<?xml version='1.0' encoding='utf-16'?>{RDF_XML}")),
            RdfXml,
            "application/rdf+xml",
        ),
        // Feeds.
        row(
            "",
            "application/rss+xml",
            "<?xml version='1.0'?><rss version='2.0'>",
            Rss,
            "application/rss+xml",
        ),
        row("", "text/html", "<rss version='0.91'><channel>", Rss, "application/rss+xml"),
        row("feed", "text/xml", "<rss/>", Rss, "application/rss+xml"),
        row("", "", "<rss xmlns='http://backend.userland.com/rss2'>", Rss, "application/rss+xml"),
        row("", "", "<feed xmlns='http://purl.org/pie/'>", Atom, "application/atom+xml"),
        row("", "text/xml", "<feed><entry/></feed>", Atom, "application/atom+xml"),
        row("", "text/xml", "<feed xmlns='http://www.w3.org/2005/Atom'>", Atom, "application/atom+xml"),
        row("", "", "<a:feed xmlns:a='http://www.w3.org/2005/Atom'>", Atom, "application/atom+xml"),
        row(
            "",
            "application/atom+xml",
            "<entry xmlns='http://www.w3.org/2005/Atom'>",
            Atom,
            "application/atom+xml",
        ),
        // Other XML.
        row("", "image/svg+xml", SVG, Svg, "image/svg+xml"),
        row("x.svg", "", SVG, Svg, "image/svg+xml"),
        row("", "text/html", SVG, Svg, "image/svg+xml"),
        row(
            "",
            "application/xml",
            "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>",
            Sitemap,
            "application/xml",
        ),
        row("", "application/vnd.example+xml", "<x/>", Xml, "application/vnd.example+xml"),
        row("", "", "<?xml version='1.0'?><x/>", Xml, "application/xml"),
        row("", "text/html", "<?xml version='1.0'?><catalog xmlns='urn:x'/>", Xml, "application/xml"),
        row("", "text/html", "<custom-element>hello</custom-element>", Html, "text/html"),
        row("", "text/xml", "<?xml version='1.0'?", Xml, "application/xml"),
        row("", "", "<opml version='2.0'><head/>", Opml, "text/x-opml"),
        row("", "text/xml", "<?xml version='1.0'?><opml version='1.0'>", Opml, "text/x-opml"),
        row(
            "",
            "text/xml",
            "<sitemapindex xmlns='http://www.google.com/schemas/sitemap/0.84'>",
            Sitemap,
            "application/xml",
        ),
        row("", "text/html", "<?xml version='1.0'?><urlset>", Sitemap, "application/xml"),
        row(
            "",
            "text/xml",
            "<w:definitions xmlns:w='http://schemas.xmlsoap.org/wsdl/'>",
            Wsdl,
            "application/wsdl+xml",
        ),
        row("", "", "<description xmlns='http://www.w3.org/ns/wsdl'>", Wsdl, "application/wsdl+xml"),
        row("x.svg", "text/plain", "<svg width='1'/>", Svg, "image/svg+xml"),
        row("", "text/html", "<svg width='1'></svg>", Html, "text/html"),
        // JSON Feed.
        row(
            "",
            "application/json",
            r#"{"version": "https://jsonfeed.org/version/1.1", "items": []}"#,
            JsonFeed,
            "application/feed+json",
        ),
        row("", "application/feed+json", r#"{"title": "x"}"#, JsonFeed, "application/feed+json"),
        row(
            "",
            "",
            r#"{"version": "https:\/\/jsonfeed.org\/version\/1"}"#,
            JsonFeed,
            "application/feed+json",
        ),
        row("", "application/json", r#"{"version": "1.1"}"#, Unknown, "application/json"),
        // JSON-LD.
        row("", "application/ld+json", r#"{"@context":{},"@id":"x"}"#, JsonLd, "application/ld+json"),
        row("", "application/ld+json; profile=\"x\"", r#"{"name":"x"}"#, JsonLd, "application/ld+json"),
        row(
            "",
            "text/html",
            r#"{"@context":"https://schema.org","@type":"Person"}"#,
            JsonLd,
            "application/ld+json",
        ),
        row("", "application/json", r#" [ { "@id": "x" } ]"#, JsonLd, "application/ld+json"),
        row("", "application/activity+json", r#"{"id":"x","@context":"y"}"#, JsonLd, "application/ld+json"),
        row("", "text/plain", r#"{"@graph":[]}"#, JsonLd, "application/ld+json"),
        row("x.jsonld", "text/plain", r#"{"name":"x"}"#, JsonLd, "application/ld+json"),
        row("", "application/json", r#"{"name":"x"}"#, Unknown, "application/json"),
        row("", "", r#"{"name":"@context"}"#, Unknown, "application/json"),
        row("", "application/json", "[1, 2]", Unknown, "application/json"),
        row("", "text/plain", "[]", Unknown, "application/json"),
        row("", "application/json", r#"{"a":{"b":{"c":{"d":{"@id":1}}}}}"#, Unknown, "application/json"),
        row("", "application/ld+json", "", Unknown, "application/ld+json"),
        row("", "", "\u{feff}{\"@id\":\"x\"}", JsonLd, "application/ld+json"),
        row("", "application/ld+json", "<html><title>oops", Html, "text/html"),
        // Turtle and its family.
        row("", "text/turtle", TURTLE, Turtle, "text/turtle"),
        row("", "text/plain", TURTLE, Turtle, "text/turtle"),
        row("", "text/html", TURTLE, Turtle, "text/turtle"),
        row("", "application/octet-stream", format!("# comment\n\n{TURTLE}"), Turtle, "text/turtle"),
        row("", "", "PREFIX x: <http://x.example/>\nx:a x:b x:c .", Turtle, "text/turtle"),
        row("", "", "BASE <http://x.example/>\n<a> <b> <c> .", Turtle, "text/turtle"),
        row("", "", "PREFIX x: <http://x.example/> SELECT * WHERE { ?s ?p ?o }", Unknown, "text/plain"),
        row(
            "",
            "application/sparql-query",
            "PREFIX x: <http://x.example/> SELECT * {}",
            Unknown,
            "application/sparql-query",
        ),
        row("x.ttl", "text/plain", "<a> <b> <c> .", Turtle, "text/turtle"),
        row("x.ttl", "", "<a> <b> <c> .", Turtle, "text/turtle"),
        row("x.ttl", "", "<a> <b> \"unfinished", Turtle, "text/turtle"),
        row("x.nt", "application/octet-stream", "<p> <b> <i> .", NTriples, "application/n-triples"),
        row("x.ttl", "", "<html><title>Not found</title>", Html, "text/html"),
        row("x.ttl", "", "[] a <http://x.example/T> .", Turtle, "text/turtle"),
        row("", "text/turtle", "[ a <http://x.example/T> ] .", Turtle, "text/turtle"),
        row("", "text/turtle", LINE, Turtle, "text/turtle"),
        row("", "text/turtle", "<!DOCTYPE html><title>Error</title>", Html, "text/html"),
        row("", "text/turtle", RDF_XML, RdfXml, "application/rdf+xml"),
        row("", "text/turtle", "", Unknown, "text/turtle"),
        row(
            "",
            "text/plain",
            format!("{TURTLE} <http://g.example/> {{ <#a> <#b> <#c> }}"),
            TriG,
            "application/trig",
        ),
        row("", "application/trig", "{ <a> <b> <c> }", TriG, "application/trig"),
        row("", "text/turtle", "GRAPH <g> { <a> <b> <c> }", TriG, "application/trig"),
        row("", "text/plain", LINE, NTriples, "application/n-triples"),
        row("", "", LINE.repeat(2000), NTriples, "application/n-triples"),
        row("", "text/plain", QUAD, NQuads, "application/n-quads"),
        row("", "application/n-triples", QUAD, NQuads, "application/n-quads"),
        row("", "application/n-triples", TURTLE, Turtle, "text/turtle"),
        row("x.nq", "", LINE, NQuads, "application/n-quads"),
        row("", "text/html", LINE, NTriples, "application/n-triples"),
        // Text that is none of ours.
        row("", "text/plain", "Dear Ada, the prefix is <not> here. Yours, B.", Unknown, "text/plain"),
        row("", "text/css", "body { color: red }", Unknown, "text/css"),
        row("a.css", "", "body { color: red }", Unknown, "text/css"),
        row("", "text/css", "@base <x>", Unknown, "text/css"),
        row("", "application/javascript", "<!-- hide\nvar a = 1 < 2;", Unknown, "application/javascript"),
        row("a.js", "", "var x = {};", Unknown, "text/javascript"),
        row("", "text/javascript", "if (a<b) { c = \"<html>\" }", Unknown, "text/javascript"),
        row("", "", "plain words", Unknown, "text/plain"),
        row("", "text/csv", "a,b\n1,2\n", Csv, "text/csv"),
        row("a.csv", "application/octet-stream", "a,b\n1,2\n", Csv, "text/csv"),
        row("a.tsv", "text/plain", "a\tb\n1\t2\n", Csv, "text/tab-separated-values"),
        row("a", "text/tab-separated-values; charset=utf-8", "a\tb\n", Csv, "text/tab-separated-values"),
        row("a.csv", "text/html", "<!doctype html><title>x", Html, "text/html"),
        row("", "text/plain", "a,b\n1,2\n", Unknown, "text/plain"),
        row("", "text/calendar", "BEGIN:VCALENDAR\r\nEND:VCALENDAR", ICalendar, "text/calendar"),
        row("", "text/plain", "\u{feff}\nbegin:vcalendar\nend:vcalendar", ICalendar, "text/calendar"),
        row("me.vcf", "", "words", VCard, "text/vcard"),
        row("", "text/html", "BEGIN:VCARD\nVERSION:3.0\n", VCard, "text/vcard"),
        row("", "text/plain", "BEGIN:VCARDS are", Unknown, "text/plain"),
        row(
            "sitemap.txt",
            "text/plain",
            "https://a.example/\n\nhttps://a.example/b\n",
            Sitemap,
            "text/plain",
        ),
        row(
            "sitemap.txt",
            "text/plain",
            "These are our pages:\nhttps://a.example/b\n",
            Unknown,
            "text/plain",
        ),
        row("list.txt", "text/plain", "https://a.example/\n", Unknown, "text/plain"),
        // Bytes that are no text.
        row("", "", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".as_slice(), Image, "image/png"),
        row("", "text/html", b"\xff\xd8\xff\xe0\0\x10JFIF".as_slice(), Image, "image/jpeg"),
        row("", "", b"GIF89a\x01\0\x01\0".as_slice(), Image, "image/gif"),
        row("", "", b"RIFF\x10\0\0\0WEBPVP8 ".as_slice(), Image, "image/webp"),
        row("", "text/plain", b"%PDF-1.7\n%\xe2\xe3".as_slice(), Unknown, "application/pdf"),
        row(
            "",
            "application/vnd.oasis.opendocument.text",
            b"PK\x03\x04\x14\0".as_slice(),
            Unknown,
            "application/vnd.oasis.opendocument.text",
        ),
        row("", "application/octet-stream", b"PK\x03\x04\x14\0".as_slice(), Unknown, "application/zip"),
        row("", "text/html", b"\x1f\x8b\x08\0\0\0".as_slice(), Unknown, "application/gzip"),
        row("", "", b"\0\0\0\x18ftypmp42\0\0".as_slice(), Unknown, "video/mp4"),
        row("", "", b"\x01\x02\x03\x04".as_slice(), Unknown, "application/octet-stream"),
        row("x.png", "", b"\x01\x02\x03\x04".as_slice(), Unknown, "image/png"),
        row("", "text/html", b"\0\0\0\0".as_slice(), Unknown, "application/octet-stream"),
        row("", "", "BM is a fine pair of letters", Unknown, "text/plain"),
        row("", "text/html", utf32le("\u{feff}<html>"), Unknown, "text/html"),
        row("", "", "", Unknown, "application/octet-stream"),
        row("", "text/html", "", Unknown, "text/html"),
        row("", "image/png", "words", Unknown, "image/png"),
        row("", "", "<", Unknown, "text/plain"),
        row("", "", "<?", Unknown, "text/plain"),
        row("", "", "<!DOCTYPE", Unknown, "text/plain"),
        row("", "", "<!DOCTYPE html", Html, "text/html"),
        row("", "", "<a", Unknown, "text/plain"),
        row("", "", "@prefix", Unknown, "text/plain"),
        row("", "", "{", Unknown, "text/plain"),
        row("", "", "\u{feff}", Unknown, "text/plain"),
    ];
    let mut wrong = Vec::new();
    for (index, (file, content_type, body, kind, media_type)) in rows.iter().enumerate() {
        let url = format!("https://example.org/{file}");
        let content_type = (!content_type.is_empty()).then_some(*content_type);
        let detection = detect_bytes(Some(&url), content_type, body);
        if (detection.kind, detection.media_type.as_str()) != (*kind, *media_type) {
            let shown = String::from_utf8_lossy(&body[..body.len().min(60)]).into_owned();
            wrong.push(format!(
                "row {index}: {file:?} {content_type:?} {shown:?}: {:?} {} instead of {kind:?} {media_type}",
                detection.kind, detection.media_type
            ));
        }
    }
    assert!(wrong.is_empty(), "{} of {} rows:\n{}", wrong.len(), rows.len(), wrong.join("\n"));
}

#[test]
fn charsets() {
    let padding = "<!-- padding -->".repeat(150);
    for (content_type, body, expected) in [
        ("text/html", b"<p>plain".to_vec(), "UTF-8"),
        ("text/html; charset=iso-8859-1", b"<p>caf\xe9".to_vec(), "windows-1252"),
        ("text/html; charset=\"UTF-8\"", b"<p>caf\xe9".to_vec(), "UTF-8"),
        ("text/html; charset='shift_jis'", b"<meta charset=big5><p>x".to_vec(), "Big5"),
        ("text/html; charset=gbk, text/html", b"<p>x".to_vec(), "GBK"),
        ("text/html; charset=nonsense", b"<meta charset=koi8-r><p>x".to_vec(), "KOI8-R"),
        ("text/html", b"<meta charset=\"windows-1251\"><p>x".to_vec(), "windows-1251"),
        ("text/html", b"<META CHARSET = 'GBK'>".to_vec(), "GBK"),
        (
            "text/html",
            b"<meta http-equiv=Content-Type content=\"text/html; charset=iso-8859-2\">".to_vec(),
            "ISO-8859-2",
        ),
        ("text/html", b"<meta content=\"text/html; charset=iso-8859-2\">x".to_vec(), "UTF-8"),
        ("text/html", b"<!-- <meta charset=koi8-r> --><meta charset=big5>".to_vec(), "Big5"),
        ("text/html", b"<a title='<meta charset=koi8-r>'><meta charset=big5>".to_vec(), "Big5"),
        ("text/html", b"<meta charset=utf-16>".to_vec(), "UTF-8"),
        ("text/html", b"<meta charset=x-user-defined>".to_vec(), "windows-1252"),
        ("text/html", format!("{padding}<meta charset=euc-jp>").into_bytes(), "EUC-JP"),
        ("text/html", "\u{feff}<meta charset=euc-jp>".as_bytes().to_vec(), "UTF-8"),
        ("text/html; charset=euc-jp", utf16le("\u{feff}<p>x"), "UTF-16LE"),
        ("text/html", utf16be("\u{feff}<p>x"), "UTF-16BE"),
        ("text/xml", b"<?xml version='1.0' encoding='ISO-8859-15'?><x/>".to_vec(), "ISO-8859-15"),
        ("text/html", b"<?xml version='1.0' encoding='ISO-8859-15'?><html>".to_vec(), "ISO-8859-15"),
        ("text/xml; charset=utf-8", b"<?xml version='1.0' encoding='ISO-8859-15'?><x/>".to_vec(), "UTF-8"),
        ("text/xml", utf16le("<?xml version='1.0'?><x/>"), "UTF-16LE"),
        ("text/turtle", "<a> <b> \"é\" .".as_bytes().to_vec(), "UTF-8"),
        ("text/html", b"<p>na\xefve caf\xe9, d\xe9j\xe0 vu, \xe0 la carte".to_vec(), "windows-1252"),
        ("text/html", b"<p>cut within a character \xe2\x82".to_vec(), "UTF-8"),
    ] {
        let detection = detect_bytes(Some("https://example.org/"), Some(content_type), &body);
        assert_eq!(detection.charset, Some(expected), "{content_type} {:?}", String::from_utf8_lossy(&body));
    }
    let cyrillic = encoding_rs::WINDOWS_1251.encode("<p>Съешь же ещё этих мягких французских булок").0;
    assert_eq!(detect_bytes(Some("https://example.ru/"), None, &cyrillic).charset, Some("windows-1251"));
    assert_eq!(detect_bytes(None, Some("image/png"), b"\x89PNG\r\n\x1a\n").charset, None);
}

#[test]
fn syntaxes_are_hinted_at() {
    for (body, expected) in [
        ("<html><p>nothing", &[][..]),
        ("<html><script type='application/ld+json'>{}</script>", &["json-ld"]),
        ("<html><p vocab='http://schema.org/' typeof=Person>", &["rdfa"]),
        ("<html><p property='dc:title'>", &["rdfa"]),
        ("<html><meta property=\"og:title\" content=x>", &["open-graph"]),
        ("<html><meta property=\"og:title\" content=x><p property=name>", &["rdfa", "open-graph"]),
        ("<html><div itemscope itemtype='http://schema.org/Book'>", &["microdata"]),
        ("<html><div class=\"post h-entry\">", &["microformats"]),
        ("<html><div class=h-card>", &["microformats"]),
        ("<html><div class=\"fresh-entry\">", &[]),
        (
            "<html><meta name='DC.title' content=x><meta name=twitter:card content=x>",
            &["twitter-card", "dublin-core"],
        ),
        ("<html><meta name=\"citation_title\" content=x>", &["citation"]),
    ] {
        assert_eq!(detect_bytes(None, Some("text/html"), body.as_bytes()).syntaxes, expected, "{body}");
    }
    assert_eq!(detect_bytes(None, None, TURTLE.as_bytes()).syntaxes, ["turtle"]);
    assert_eq!(detect_bytes(None, None, b"<rss version='2.0'>").syntaxes, ["rss"]);
    let svg = b"<svg xmlns='http://www.w3.org/2000/svg' typeof='x'/>";
    assert_eq!(detect_bytes(None, None, svg).syntaxes, ["svg", "rdfa"]);
}

fn labels<'a>(name: &'a str, content_type: Option<&'a str>) -> Labels<'a> {
    Labels { name: Some(name), content_type, no_sniff: false }
}

#[test]
fn servers_may_ask_for_their_word_to_be_taken() {
    for (content_type, body, kind) in [
        ("text/plain", "<!doctype html><title>x</title>", Unknown),
        ("text/plain", TURTLE, Turtle),
        ("text/html", "<p>x", Html),
        ("application/xml", "<html xmlns='http://www.w3.org/1999/xhtml'>", Xhtml),
        ("", "<!doctype html><title>x</title>", Html),
    ] {
        let content_type = Some(content_type).filter(|content_type| !content_type.is_empty());
        let labels = Labels { name: Some("https://example.org/x.html"), content_type, no_sniff: true };
        assert_eq!(examine(labels, body.as_bytes()).detection.kind, kind, "{content_type:?} {body}");
    }
}

#[test]
fn sound_film_and_fonts_are_named() {
    // Two frames of 128 kbit/s at 44.1 kHz.
    let mut mp3 = b"\xff\xfb\x90\x00".to_vec();
    mp3.resize(417, 0);
    mp3.extend_from_slice(b"\xff\xfb\x90\x00");
    let mut font = vec![0_u8; 34];
    font.extend_from_slice(b"LP");
    for (body, media_type) in [
        (mp3.as_slice(), "audio/mpeg"),
        (&mp3[..400], "application/octet-stream"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x86\x81\x01\x42\x82\x84webm\0", "video/webm"),
        (b"\x1a\x45\xdf\xa3\x9f\x42\x82\x88matroska\0", "video/x-matroska"),
        (b"OggS\0\x02", "application/ogg"),
        (b"RIFF\0\0\0\0WAVEfmt ", "audio/wav"),
        (b"XXXX\0\0\0\0WAVEfmt ", "application/octet-stream"),
        (b"MThd\0\0\0\x06\0", "audio/midi"),
        (b"FORM\0\0\0\0AIFF", "audio/aiff"),
        (b"OTTO\0\x01", "font/otf"),
        (&font, "application/vnd.ms-fontobject"),
        (b"\0\0\x02\0\x01", "image/x-icon"),
    ] {
        assert_eq!(detect_bytes(None, None, body).media_type, media_type, "{:?}", &body[..8]);
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_files_are_looked_into() {
    let sitemap = "<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'></urlset>";
    for (name, content_type, content, kind, media_type, unpacked) in [
        ("sitemap.xml.gz", "application/x-gzip", sitemap, Sitemap, "application/xml", true),
        ("sitemap.xml.gz", "text/xml", sitemap, Sitemap, "application/xml", true),
        ("data.nt.gz", "application/gzip", LINE, NTriples, "application/n-triples", true),
        ("data.ttl.gz?v=1", "text/plain", "<a> <b> <c> .", Turtle, "text/turtle", true),
        ("map.SVGZ", "image/svg+xml", SVG, Svg, "image/svg+xml", true),
        ("notes.txt.gz", "application/gzip", "just words", Unknown, "application/gzip", false),
        ("a.tar.gz", "application/x-gtar", "\0\0\u{1}", Unknown, "application/x-gtar", false),
    ] {
        let name = format!("https://example.org/{name}");
        let examined = examine(labels(&name, Some(content_type)), &gzip(content.as_bytes()));
        assert_eq!(examined.detection.kind, kind, "{name}");
        assert_eq!(examined.detection.media_type, media_type, "{name}");
        assert_eq!(examined.unpacked.as_deref(), unpacked.then_some(content.as_bytes()), "{name}");
        assert_eq!(examined.diagnostics, [], "{name}");
    }
}

#[test]
fn a_label_of_a_narrower_syntax_is_told() {
    for (name, content_type, body, told) in [
        ("x.nt", None, TURTLE, true),
        ("x", Some("application/n-triples"), QUAD, true),
        ("x.nt", None, LINE, false),
        ("x.nq", None, LINE, false),
        ("x.nq", Some("application/octet-stream"), TURTLE, true),
        ("x.ttl", None, "{ <a> <b> <c> }", true),
        ("x.nt", Some("text/turtle"), TURTLE, false),
        ("x", Some("text/html"), TURTLE, false),
        ("x.ttl", None, "<!doctype html><title>x", false),
    ] {
        let examined = examine(labels(name, content_type), body.as_bytes());
        assert_eq!(examined.diagnostics.len(), usize::from(told), "{name} {content_type:?} {body}");
    }
}

#[test]
fn broken_and_swollen_files_are_cut_and_told() {
    let lines = LINE.repeat(1000);
    let packed = gzip(lines.as_bytes());
    let examined = examine(labels("x.nt.gz", None), &packed[..packed.len() / 2]);
    assert_eq!(examined.detection.kind, NTriples);
    assert_eq!(examined.diagnostics[0].code, "broken-compression");
    assert!(lines.as_bytes().starts_with(&examined.unpacked.unwrap()));

    let mut bomb = LINE.as_bytes().to_vec();
    bomb.resize(30 << 20, b' ');
    let examined = examine(labels("x.nt.gz", None), &gzip(&bomb));
    assert_eq!(examined.diagnostics[0].code, "body-cut");
    assert!(examined.unpacked.unwrap().len() < bomb.len());
}

#[test]
fn the_root_element_is_named() {
    let detection = detect_bytes(None, Some("application/xml"), b"<a:x b='c' xmlns:a='urn:a' xmlns='urn:b'>");
    assert_eq!(detection.xml_root, Some(XmlName { namespace: "urn:a".to_owned(), local: "x".to_owned() }));
    let detection = detect_bytes(None, Some("text/html"), b"<html xmlns='http://www.w3.org/1999/xhtml'>");
    assert_eq!(detection.xml_root, None);
}

proptest! {
    #[test]
    fn any_bytes_are_something(body in proptest::collection::vec(any::<u8>(), 0..400), content_type in "[ -~]{0,40}") {
        let detection = detect_bytes(Some("https://example.org/x.y"), Some(&content_type), &body);
        let again = detect_bytes(Some("https://example.org/x.y"), Some(&content_type), &body);
        prop_assert_eq!(&detection, &again);
    }

    #[test]
    fn any_markup_is_something(
        body in "[ \n]{0,2}(<[?!]?(--|DOCTYPE|doctype|xml|ENTITY)?|[a-z:]{0,5}|[\\[\\]<>\"'=&;{}@._#é-]|/|-->|\\?>|xmlns){0,60}",
        content_type in prop::sample::select(vec!["", "text/html", "text/plain", "application/xml", "text/turtle", "application/ld+json"]),
    ) {
        let detection = detect_bytes(None, Some(content_type), body.as_bytes());
        prop_assert!(!detection.media_type.is_empty());
    }

    #[test]
    fn a_cut_never_panics(cut in 0_usize..600) {
        for body in [
            format!("<?xml version='1.0'?><!DOCTYPE r [<!ENTITY a \"é\"><!-- é -->]><!-- é --><r xmlns='é' é='x'>{RDF_XML}"),
            format!("{TURTLE}<a> <b> \"\"\"é\"\"\"@en, 'é\\'' ; [] ( _:é ) . {QUAD}"),
            r#"[{"é\"": {"@id": "é"}}]"#.to_owned(),
            "<!-- é --><meta charset = \"utf-8\" é=é content='é'><p class='h-é'>é".to_owned(),
        ] {
            let bytes = body.as_bytes();
            let _ = detect_bytes(None, None, &bytes[..cut.min(bytes.len())]);
        }
    }
}
