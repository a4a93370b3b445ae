//! Damaged and hostile files: reading ends, stays within its bounds, tells what is wrong, and goes on where it can.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Cursor, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;
use webloom_archive::{Packing, ReadError, Reader};

/// A record with a block, by its own word of a length.
fn record(number: usize, block: &str, length: &str) -> Vec<u8> {
    format!(
        "WARC/1.0\r\nWARC-Type: resource\r\nWARC-Record-ID: <urn:uuid:{number}>\r\nWARC-Date: 2020-01-01T00:00:00Z\r\n\
         WARC-Target-URI: http://example.org/{number}\r\nContent-Type: text/plain\r\nContent-Length: {length}\r\n\r\n{block}\r\n\r\n"
    )
    .into_bytes()
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

/// Numbers of the records that are read with their blocks, and what is said to be wrong.
type Reading = (Vec<(String, String)>, Vec<String>);

fn read(bytes: &[u8]) -> Result<Reading, ReadError> {
    let mut reader = Reader::new(Cursor::new(bytes.to_vec()))?;
    let mut records = Vec::new();
    while let Some(mut record) = reader.next_record()? {
        let uri = record.head().target_uri().unwrap_or_default().into_owned();
        let block = record.payload(1 << 20)?.bytes;
        records
            .push((uri.rsplit('/').next().unwrap().to_owned(), String::from_utf8_lossy(&block).into_owned()));
    }
    Ok((records, reader.take_problems().into_iter().map(|problem| problem.message).collect()))
}

fn numbers(records: &[(String, String)]) -> String {
    records.iter().map(|(number, _)| number.as_str()).collect::<Vec<_>>().join(" ")
}

#[test]
fn lengths_that_lie() {
    for (length, block, told) in [
        ("2", "2", "no record begins here"),
        ("0", "", "no record begins here"),
        ("abc", "", "Content-Length is no number"),
        ("-5", "", "Content-Length is no number"),
        ("99999", "", "before the record does"),
        ("18446744073709551615", "", "before the record does"),
    ] {
        let plain = [record(1, "first", "5"), record(2, "24680", length), record(3, "third", "5")].concat();
        let (records, problems) = read(&plain).unwrap();
        assert_eq!(numbers(&records), "1 2 3", "{length}");
        assert_eq!((records[0].1.as_str(), records[2].1.as_str()), ("first", "third"), "{length}");
        assert!(problems.iter().any(|problem| problem.contains(told)), "{length}: {problems:?}");
        if !block.is_empty() {
            assert!(records[1].1.starts_with(block));
        }
    }
    // In members of their own the records cannot swallow each other.
    for (length, told) in [("2", "no record begins here"), ("100", "before it says"), ("abc", "no number")] {
        let members: Vec<u8> = [record(1, "first", "5"), record(2, "24680", length), record(3, "third", "5")]
            .iter()
            .flat_map(|r| gzip(r))
            .collect();
        let (records, problems) = read(&members).unwrap();
        assert_eq!(numbers(&records), "1 2 3", "{length}");
        assert_eq!(records[2].1, "third");
        assert!(problems.iter().any(|problem| problem.contains(told)), "{length}: {problems:?}");
    }
}

#[test]
fn all_records_in_one_member_are_read_and_said_to_be() {
    let whole = [record(1, "first", "5"), record(2, "two", "3"), record(3, "third", "5")].concat();
    let (records, problems) = read(&gzip(&whole)).unwrap();
    assert_eq!(numbers(&records), "1 2 3");
    assert!(problems[0].contains("several records are in one compressed member"), "{problems:?}");
    assert_eq!(problems.len(), 1);
}

#[test]
fn a_record_over_several_members_is_read_and_said_to_be() {
    let bytes = record(1, "first half, second half", "23");
    let members =
        [gzip(&bytes[..bytes.len() - 15]), gzip(&bytes[bytes.len() - 15..]), gzip(&record(2, "two", "3"))]
            .concat();
    let (records, problems) = read(&members).unwrap();
    assert_eq!(records, [("1".into(), "first half, second half".into()), ("2".into(), "two".into())]);
    assert!(problems[0].contains("goes on in the next"), "{problems:?}");
}

#[test]
fn damage_in_a_member_costs_that_member() {
    let members: Vec<Vec<u8>> =
        (0..20).map(|number| gzip(&record(number, &format!("block {number} ").repeat(40), "320"))).collect();
    for broken in 0..20 {
        let mut bytes = Vec::new();
        for (number, member) in members.iter().enumerate() {
            let start = bytes.len();
            bytes.extend_from_slice(member);
            if number == broken {
                bytes[start + 30] ^= 0xff;
            }
        }
        let (records, problems) = read(&bytes).unwrap();
        assert!(records.len() >= 19, "{broken}: {}", numbers(&records));
        assert!(!problems.is_empty(), "{broken}");
    }
    // Garbage between members, and behind the last one.
    let bytes = [&members[0][..], b"garbage \x1f\x8b\x08 more", &members[1], b"the end"].concat();
    let (records, problems) = read(&bytes).unwrap();
    assert_eq!(numbers(&records), "0 1");
    assert!(!problems.is_empty());
}

#[test]
fn the_end_of_a_file_can_be_missing() {
    let bytes = [gzip(&record(1, "first", "5")), gzip(&record(2, "second", "6"))].concat();
    let (records, problems) = read(&bytes[..bytes.len() - 4]).unwrap();
    assert_eq!(numbers(&records), "1 2");
    assert!(problems.iter().any(|problem| problem.contains("the file ends within")), "{problems:?}");
}

#[test]
fn what_is_no_archive_is_refused() {
    for bytes in [
        &b"<html>no archive</html>\n"[..],
        b"\x1f\x8b",
        b"\x1f\x8b\x08\x00",
        &gzip(b"<html>"),
        b"\x28\xb5\x2f\xfd\0\0",
        &[0; 1000],
    ] {
        let error = read(bytes).unwrap_err();
        assert!(matches!(error, ReadError::NotAnArchive { .. }), "{error}");
    }
    assert_eq!(read(b"").unwrap(), (vec![], vec![]));
    assert_eq!(read(b"\r\n\r\n").unwrap(), (vec![], vec![]));
}

#[test]
fn a_head_without_end_is_given_up() {
    let mut bytes = b"WARC/1.0\r\nWARC-Type: resource\r\nX: ".to_vec();
    bytes.resize(5 << 20, b'a');
    bytes.extend(record(2, "two", "3"));
    // There is no line that begins a record before the end: the last one is in the middle of a line.
    assert!(matches!(read(&bytes), Err(ReadError::NotAnArchive { .. })));
    bytes.extend(record(3, "three", "5"));
    let (records, _) = read(&bytes).unwrap();
    assert_eq!(numbers(&records), "3");
}

#[test]
fn a_bomb_is_read_in_bounded_memory() {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&record(1, "", "300000000")[..]).unwrap();
    for _ in 0..300 {
        encoder.write_all(&vec![0; 1_000_000]).unwrap();
    }
    let bytes = [encoder.finish().unwrap(), gzip(&record(2, "two", "3"))].concat();
    let mut reader = Reader::new(Cursor::new(bytes)).unwrap();
    let payload = reader.next_record().unwrap().unwrap().payload(1000).unwrap();
    assert_eq!((payload.bytes.len(), payload.is_cut), (1000, true));
    let next = reader.next_record().unwrap().unwrap();
    assert_eq!(next.head().target_uri().unwrap(), "http://example.org/2");
}

#[test]
fn records_that_all_reach_to_the_end_do_not_take_for_ever() {
    let bytes: Vec<u8> = (0..5000).flat_map(|number| record(number, "x", "99999999")).collect();
    // Reading it again for each of them would be five thousand times its length; that is refused.
    assert!(matches!(read(&bytes), Err(ReadError::TooDamaged { .. })));
}

#[test]
fn versions_and_arc() {
    for version in ["WARC/0.17", "WARC/0.18", "WARC/1.0", "WARC/1.1"] {
        let bytes = String::from_utf8(record(1, "first", "5")).unwrap().replace("WARC/1.0", version);
        assert_eq!(read(bytes.as_bytes()).unwrap().0[0].1, "first", "{version}");
    }
    let arc = "filedesc://a.arc 0.0.0.0 20200101000000 text/plain 120\n2 0 x\n\
        URL IP-address Archive-date Content-type Result-code Checksum Location Offset Filename Archive-length\n";
    let arc = format!(
        "{arc}{}\n\nhttp://a.example/1 1.2.3.4 20200101000000 text/html 200 - - 0 a.arc 45\nHTTP/1.0 200 OK\r\nContent-Type: text/html\r\n\r\nx\n\n",
        " ".repeat(13)
    );
    let (records, problems) = read(arc.as_bytes()).unwrap();
    assert_eq!(numbers(&records), "a.arc 1", "{problems:?}");
    assert_eq!(records[1].1, "x");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Whatever is done to a file, reading ends, and tells that something was done unless the data is unharmed.
    #[test]
    fn any_damage_is_survived(
        packing in prop::sample::select(vec![Packing::Gzip, Packing::Zstd, Packing::Plain]),
        flips in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..6),
        cut in any::<prop::sample::Index>(),
        insert in prop::collection::vec(any::<u8>(), 0..20),
    ) {
        let mut bytes = Vec::new();
        for number in 0..6 {
            let plain = record(number, &"words ".repeat(number * 10), &(number * 60).to_string());
            bytes.extend(match packing {
                Packing::Plain => plain,
                Packing::Gzip => gzip(&plain),
                Packing::Zstd => zstd::encode_all(&plain[..], 3).unwrap(),
            });
        }
        for (place, value) in &flips {
            let place = place.index(bytes.len());
            bytes[place] ^= value;
        }
        let place = cut.index(bytes.len());
        let rest = bytes.split_off(place);
        bytes.extend(insert);
        bytes.extend(rest);
        if let Ok((records, _)) = read(&bytes) {
            prop_assert!(records.len() <= 20);
        }
    }

    #[test]
    fn garbage_is_survived(bytes in prop::collection::vec(any::<u8>(), 0..2000), magic in 0..4usize) {
        let start: &[u8] = [&b""[..], b"\x1f\x8b\x08\0\0\0\0\0\0\x03", b"\x28\xb5\x2f\xfd", b"WARC/1.0\r\n"][magic];
        let _ = read(&[start, &bytes].concat());
    }
}
