//! Files that are no pages, as a user sees them: text in, triples out.
#![allow(clippy::unwrap_used, reason = "a test may stop at once")]

use bytes::Bytes;
use expect_test::{Expect, expect};
use proptest::prelude::*;
use webloom_model::{DetectedPage, Detection, DocumentKind, FetchedPage, PageGraph, PageUrl};
use webloom_transform::{TransformConfig, transform};

fn read(kind: DocumentKind, body: &[u8]) -> PageGraph {
    let url = PageUrl::parse("http://example.org/f").unwrap();
    let detection = Detection {
        kind,
        media_type: kind.media_type().unwrap_or("image/png").to_owned(),
        charset: Some("UTF-8"),
        xml_root: None,
        syntaxes: Vec::new(),
    };
    let page = FetchedPage::local(url, None, Bytes::copy_from_slice(body));
    transform(&DetectedPage { page, detection, unpacked: None }, &TransformConfig::default())
}

fn check(kind: DocumentKind, body: &str, expected: Expect) {
    let graph = read(kind, body.as_bytes());
    let short = |text: String| {
        text.replace("http://www.w3.org/1999/02/22-rdf-syntax-ns#", "rdf:")
            .replace("http://www.w3.org/2000/01/rdf-schema#", "rdfs:")
            .replace("http://www.w3.org/2001/XMLSchema#", "xsd:")
            .replace("http://www.w3.org/2006/vcard/ns#", "vcard:")
            .replace("http://www.w3.org/2002/12/cal/ical#", "ical:")
            .replace("http://www.w3.org/ns/wsdl-rdf#", "wsdl:")
            .replace("http://www.w3.org/2003/12/exif/ns#", "exif:")
            .replace("http://purl.org/dc/terms/", "dcterms:")
    };
    // Blank nodes are numbered in order of appearance, so that the names do not matter.
    let mut names: Vec<String> = Vec::new();
    let mut lines: Vec<String> = Vec::new();
    for quad in &graph.quads {
        let words: Vec<String> = quad
            .to_string()
            .split(' ')
            .map(|word| match word.strip_prefix("_:") {
                Some(name) => {
                    if !names.iter().any(|known| known == name) {
                        names.push(name.to_owned());
                    }
                    format!("_:{}", names.iter().position(|known| known == name).unwrap())
                }
                None => word.to_owned(),
            })
            .collect();
        lines.push(short(words.join(" ")));
    }
    lines.extend(graph.diagnostics.iter().map(|diagnostic| format!("! {diagnostic}")));
    expected.assert_eq(&(lines.join("\n") + "\n"));
}

#[test]
fn cards() {
    check(
        DocumentKind::VCard,
        "BEGIN:VCARD\r\nVERSION:4.0\r\nUID:urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1\r\nFN;LANGUAGE=de:Jörg Müller\r\n\
         N:Müller;Jörg;;Dr.;\r\nEMAIL;TYPE=work:jm@example.org\r\nTEL;VALUE=uri:tel:+49-30-1234\r\nADR;TYPE=home:;;Straße 1;Berlin;;10115;Germany\r\n\
         ORG:Beispiel\\, AG;Forschung\r\nBDAY:19701231\r\nURL:http://jm.example/\r\nPHOTO:data:image/png;base64,AAAA\r\nEND:VCARD\r\n",
        expect![[r#"
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <rdf:type> <vcard:Individual>
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:uid> "urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1"
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:fn> "Jörg Müller"@de
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:hasName> _:0
            _:0 <rdf:type> <vcard:Name>
            _:0 <vcard:family-name> "Müller"
            _:0 <vcard:given-name> "Jörg"
            _:0 <vcard:honorific-prefix> "Dr."
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:hasEmail> <mailto:jm@example.org>
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:hasTelephone> <tel:+49-30-1234>
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:hasAddress> _:1
            _:1 <rdf:type> <vcard:Address>
            _:1 <vcard:street-address> "Straße 1"
            _:1 <vcard:locality> "Berlin"
            _:1 <vcard:postal-code> "10115"
            _:1 <vcard:country-name> "Germany"
            _:1 <rdf:type> <vcard:Home>
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:organization-name> "Beispiel, AG"
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:organization-unit> "Forschung"
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:bday> "1970-12-31"^^<xsd:date>
            <urn:uuid:4fbe8971-0bc3-424c-9c26-36c3e1eff6b1> <vcard:hasURL> <http://jm.example/>
        "#]],
    );
    check(
        DocumentKind::VCard,
        "BEGIN:VCARD\nFN:Half a card\nnonsense\n",
        expect![[r#"
        _:0 <rdf:type> <vcard:Individual>
        _:0 <vcard:fn> "Half a card"
        ! warning: the last card has no end [vcard-syntax]
        ! warning: line 3: a line that is none of vCard's was passed over [vcard-syntax]
    "#]],
    );
}

#[test]
fn calendars() {
    check(
        DocumentKind::ICalendar,
        "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//x//y\r\nBEGIN:VTIMEZONE\r\nTZID:Europe/Berlin\r\nEND:VTIMEZONE\r\nBEGIN:VEVENT\r\nUID:1@example.org\r\n\
         SUMMARY:Talk\\, with\r\n  questions\r\nDTSTART;TZID=Europe/Berlin:20260301T180000\r\nDTEND:20260301T190000Z\r\nORGANIZER;CN=Ann:mailto:ann@example.org\r\nCATEGORIES:A,B\r\n\
         GEO:52.5;13.4\r\nBEGIN:VALARM\r\nDESCRIPTION:not this\r\nEND:VALARM\r\nEND:VEVENT\r\nEND:VCALENDAR\r\n",
        expect![[r#"
            <http://example.org/f> <rdf:type> <ical:Vcalendar>
            <http://example.org/f> <ical:version> "2.0"
            <http://example.org/f> <ical:prodid> "-//x//y"
            <http://example.org/f> <ical:component> _:0
            _:0 <rdf:type> <ical:Vevent>
            _:0 <ical:uid> "1@example.org"
            _:0 <ical:summary> "Talk, with questions"
            _:0 <ical:dtstart> "2026-03-01T18:00:00"^^<xsd:dateTime>
            _:0 <ical:tzid> "Europe/Berlin"
            _:0 <ical:dtend> "2026-03-01T19:00:00Z"^^<xsd:dateTime>
            _:0 <ical:organizer> <mailto:ann@example.org>
            <mailto:ann@example.org> <rdfs:label> "Ann"
            _:0 <ical:categories> "A"
            _:0 <ical:categories> "B"
            _:0 <ical:geo> <geo:52.5,13.4>
        "#]],
    );
}

#[test]
fn tables() {
    check(
        DocumentKind::Csv,
        "name,\"born in\",\nAnn,Berlin\nBob,,x\n",
        expect![[r#"
        <http://example.org/f> <rdf:type> <http://www.w3.org/ns/csvw#Table>
        <http://example.org/f> <http://www.w3.org/ns/csvw#row> _:0
        _:0 <http://example.org/f#name> "Ann"
        _:0 <http://example.org/f#born%20in> "Berlin"
        <http://example.org/f> <http://www.w3.org/ns/csvw#row> _:1
        _:1 <http://example.org/f#name> "Bob"
        _:1 <http://example.org/f#_col.3> "x"
        ! warning: line 2: a row has more or fewer cells than there are columns [csv-uneven]
    "#]],
    );
}

#[test]
fn drawings() {
    check(
        DocumentKind::Svg,
        "<svg xmlns='http://www.w3.org/2000/svg' xmlns:dc='http://purl.org/dc/elements/1.1/' viewBox='0 0 20 10'><title>A\n line</title><desc>Just one</desc>\
         <metadata><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'><rdf:Description rdf:about=''><dc:rights>CC0</dc:rights></rdf:Description></rdf:RDF></metadata></svg>",
        expect![[r#"
            <http://example.org/f> <rdf:type> <http://xmlns.com/foaf/0.1/Image>
            <http://example.org/f> <dcterms:format> "image/svg+xml"
            <http://example.org/f> <exif:width> "20"^^<xsd:integer>
            <http://example.org/f> <exif:height> "10"^^<xsd:integer>
            <http://example.org/f> <dcterms:title> "A line"
            <http://example.org/f> <dcterms:description> "Just one"
            <http://example.org/f> <http://purl.org/dc/elements/1.1/rights> "CC0"
        "#]],
    );
}

#[test]
fn services() {
    check(
        DocumentKind::Wsdl,
        "<definitions xmlns='http://schemas.xmlsoap.org/wsdl/' xmlns:soap='http://schemas.xmlsoap.org/wsdl/soap/'><documentation>Stock quotes</documentation>\
         <portType name='Quotes'><operation name='Last'/></portType><service name='Stock'><port name='P' binding='tns:B'><soap:address location='http://example.org/s'/></port></service></definitions>",
        expect![[r#"
            <http://example.org/f> <rdf:type> <wsdl:Description>
            <http://example.org/f> <rdfs:comment> "Stock quotes"
            <http://example.org/f> <wsdl:interface> <http://example.org/f#wsdl.interface(Quotes)>
            <http://example.org/f#wsdl.interface(Quotes)> <rdf:type> <wsdl:Interface>
            <http://example.org/f#wsdl.interface(Quotes)> <rdfs:label> "Quotes"
            <http://example.org/f#wsdl.interface(Quotes)> <wsdl:interfaceOperation> <http://example.org/f#wsdl.interfaceOperation(Quotes/Last)>
            <http://example.org/f#wsdl.interfaceOperation(Quotes/Last)> <rdf:type> <wsdl:InterfaceOperation>
            <http://example.org/f#wsdl.interfaceOperation(Quotes/Last)> <rdfs:label> "Last"
            <http://example.org/f> <wsdl:service> <http://example.org/f#wsdl.service(Stock)>
            <http://example.org/f#wsdl.service(Stock)> <rdf:type> <wsdl:Service>
            <http://example.org/f#wsdl.service(Stock)> <rdfs:label> "Stock"
            <http://example.org/f#wsdl.service(Stock)> <wsdl:endpoint> <http://example.org/f#wsdl.endpoint(Stock/P)>
            <http://example.org/f#wsdl.endpoint(Stock/P)> <rdf:type> <wsdl:Endpoint>
            <http://example.org/f#wsdl.endpoint(Stock/P)> <rdfs:label> "P"
            <http://example.org/f#wsdl.endpoint(Stock/P)> <wsdl:address> <http://example.org/s>
            <http://example.org/f#wsdl.endpoint(Stock/P)> <wsdl:usesBinding> <http://example.org/f#wsdl.binding(B)>
        "#]],
    );
}

#[test]
fn images() {
    let mut png = b"\x89PNG\r\n\x1a\n\0\0\0\x0dIHDR\0\0\0\x02\0\0\0\x03\x08\x06\0\0\0\0\0\0\0".to_vec();
    let xmp = b"XML:com.adobe.xmp\0\0\0\0\0<x:xmpmeta xmlns:x='adobe:ns:meta/'><rdf:RDF xmlns:rdf='http://www.w3.org/1999/02/22-rdf-syntax-ns#'>\
        <rdf:Description rdf:about='' xmlns:photoshop='http://ns.adobe.com/photoshop/1.0/' photoshop:Credit='us'/></rdf:RDF></x:xmpmeta>";
    for (name, data) in [(b"tEXt", &b"Copyright\0\xa9 us"[..]), (b"iTXt", &xmp[..])] {
        png.extend((data.len() as u32).to_be_bytes());
        png.extend(name);
        png.extend(data);
        png.extend([0; 4]);
    }
    let graph = read(DocumentKind::Image, &png);
    let lines: Vec<String> = graph.quads.iter().map(ToString::to_string).collect();
    expect![[r#"
        <http://example.org/f> <http://www.w3.org/1999/02/22-rdf-syntax-ns#type> <http://xmlns.com/foaf/0.1/Image>
        <http://example.org/f> <http://purl.org/dc/terms/format> "image/png"
        <http://example.org/f> <http://www.w3.org/2003/12/exif/ns#width> "2"^^<http://www.w3.org/2001/XMLSchema#integer>
        <http://example.org/f> <http://www.w3.org/2003/12/exif/ns#height> "3"^^<http://www.w3.org/2001/XMLSchema#integer>
        <http://example.org/f> <http://purl.org/dc/terms/rights> "© us"
        <http://example.org/f> <http://ns.adobe.com/photoshop/1.0/Credit> "us"
    "#]].assert_eq(&(lines.join("\n") + "\n"));
}

proptest! {
    #[test]
    fn no_file_breaks_a_reader(body in proptest::collection::vec(any::<u8>(), 0..600)) {
        for kind in [DocumentKind::VCard, DocumentKind::ICalendar, DocumentKind::Csv, DocumentKind::Svg, DocumentKind::Wsdl] {
            read(kind, &body);
        }
        for start in [&b"\x89PNG\r\n\x1a\n"[..], b"\xff\xd8\xff", b"GIF89a", b"RIFFxxxxWEBP", b"II\x2a\0", b"MM\0\x2a", b"BM"] {
            read(DocumentKind::Image, &[start, &body].concat());
        }
    }

    #[test]
    fn no_lines_break_a_reader(lines in "((BEGIN|END):V(CARD|EVENT|CALENDAR)|(N|FN|GEO|ADR|DTSTART|TEL|URL)(;[A-Z=\"é]{0,6}){0,2}:[a-z0-9:;,\\\\é]{0,12}|[ \t]x|\\PC{0,8}){0,20}(\r?\n((BEGIN|END):V(CARD|EVENT|CALENDAR)|(N|FN|GEO|ADR|DTSTART|TEL|URL):[a-z0-9:;,\\\\é]{0,12}| \\PC{0,8})){0,20}") {
        read(DocumentKind::VCard, lines.as_bytes());
        read(DocumentKind::ICalendar, lines.as_bytes());
        read(DocumentKind::Csv, lines.as_bytes());
    }
}
