//! CSV and TSV as RDF: the minimal mode of the W3C's "CSV on the Web", without metadata.
//!
//! The first row names the columns; every other row is a blank node with one property per filled cell, named by the file's URL and the
//! column's name. Values are strings: nothing but metadata could say more. Metadata files are not looked for.

use oxrdf::{BlankNode, Literal, NamedNode};
use webloom_model::vocab::rdf;
use webloom_model::{Diagnostic, PageUrl};

use crate::Sink;
use crate::maps::HashSet;

const CSVW: &str = "http://www.w3.org/ns/csvw#";
/// Columns that are read.
const COLUMNS_MAX: usize = 1000;

/// Reads a table.
pub(super) fn read(url: &PageUrl, text: &str, media_type: &str, sink: &mut Sink<'_>) {
    sink.begin_block();
    let separator = separator(text, media_type);
    let mut rows = Rows { text, separator, line: 1 };
    let Some(header) = rows.next() else { return };
    let table = url.graph_name();
    let csvw = |local: &str| NamedNode::new_unchecked(format!("{CSVW}{local}"));
    let columns = columns(&table, &header.cells);
    sink.push_triple(table.clone(), rdf::TYPE, csvw("Table"));
    let mut uneven = None;
    for (number, row) in rows.enumerate() {
        if row.cells.len() == 1 && row.cells[0].trim().is_empty() {
            continue;
        }
        if row.cells.len() != header.cells.len() {
            uneven.get_or_insert(row.line);
        }
        let node = BlankNode::new_unchecked(format!("row{}", number + 1));
        if !sink.push_triple(table.clone(), csvw("row"), node.clone()) {
            return;
        }
        for (column, cell) in columns.iter().zip(&row.cells) {
            let cell = cell.trim();
            if !cell.is_empty()
                && !sink.push_triple(node.clone(), column.clone(), Literal::new_simple_literal(cell))
            {
                return;
            }
        }
    }
    if let Some(line) = uneven {
        let message = "a row has more or fewer cells than there are columns";
        sink.diagnose(Diagnostic::warning("csv-uneven", message).at_line(line));
    }
}

/// The properties of the columns: the file's URL, `#` and the name, or `_col.N` where there is none.
fn columns(table: &NamedNode, names: &[String]) -> Vec<NamedNode> {
    let mut taken = HashSet::default();
    names
        .iter()
        .take(COLUMNS_MAX)
        .enumerate()
        .map(|(index, name)| {
            let name = name.trim();
            let unnamed = || format!("_col.{}", index + 1);
            let mut name = if name.is_empty() { unnamed() } else { encode(name) };
            if !taken.insert(name.clone()) {
                name = unnamed();
                taken.insert(name.clone());
            }
            NamedNode::new_unchecked(format!("{}#{name}", table.as_str()))
        })
        .collect()
}

/// Percent-encodes what may not stand in a fragment as it is.
fn encode(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for character in name.chars().take(200) {
        if character.is_ascii_alphanumeric() || matches!(character, '-' | '_' | '.' | '~') {
            out.push(character);
        } else {
            for byte in character.encode_utf8(&mut [0; 4]).bytes() {
                out.push_str(&format!("%{byte:02X}"));
            }
        }
    }
    out
}

/// What separates cells: what the first line has most of, outside of quotes.
fn separator(text: &str, media_type: &str) -> u8 {
    if media_type == "text/tab-separated-values" {
        return b'\t';
    }
    let mut quoted = false;
    let mut counts = [(b',', 0), (b';', 0), (b'\t', 0), (b'|', 0)];
    for byte in text.bytes().take(64 * 1024) {
        match byte {
            b'"' => quoted = !quoted,
            b'\n' if !quoted => break,
            byte if !quoted => {
                if let Some((_, count)) = counts.iter_mut().find(|(separator, _)| *separator == byte) {
                    *count += 1;
                }
            }
            _ => {}
        }
    }
    // The comma is the default, so only strictly more of another outranks it.
    counts
        .into_iter()
        .reduce(|best, other| if other.1 > best.1 { other } else { best })
        .map_or(b',', |(byte, _)| byte)
}

struct Row {
    cells: Vec<String>,
    line: u64,
}

struct Rows<'a> {
    text: &'a str,
    separator: u8,
    line: u64,
}

impl Iterator for Rows<'_> {
    type Item = Row;

    fn next(&mut self) -> Option<Row> {
        if self.text.is_empty() {
            return None;
        }
        let line = self.line;
        let bytes = self.text.as_bytes();
        let mut cells = Vec::new();
        let mut cell = String::new();
        let mut at = 0;
        loop {
            if bytes.get(at) == Some(&b'"') && cell.is_empty() {
                // A quoted cell: to the quote that is not doubled.
                at += 1;
                loop {
                    let end = memchr::memchr(b'"', &bytes[at..]).map_or(bytes.len(), |end| at + end);
                    self.line += memchr::memchr_iter(b'\n', &bytes[at..end]).count() as u64;
                    cell.push_str(&self.text[at..end]);
                    at = (end + 1).min(bytes.len());
                    if bytes.get(at) != Some(&b'"') {
                        break;
                    }
                    cell.push('"');
                    at += 1;
                }
            }
            let end =
                memchr::memchr2(self.separator, b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
            cell.push_str(self.text[at..end].trim_end_matches('\r'));
            if cells.len() < COLUMNS_MAX {
                cells.push(std::mem::take(&mut cell));
            } else {
                cell.clear();
            }
            match bytes.get(end) {
                Some(byte) if *byte == self.separator => at = end + 1,
                Some(_) => {
                    self.line += 1;
                    self.text = &self.text[end + 1..];
                    break;
                }
                None => {
                    self.text = "";
                    break;
                }
            }
        }
        Some(Row { cells, line })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_cells() {
        for (given, expected) in [
            ("a,b\n1,2\n", vec![vec!["a", "b"], vec!["1", "2"]]),
            ("a;b\r\n1;2", vec![vec!["a", "b"], vec!["1", "2"]]),
            ("a\tb\n", vec![vec!["a", "b"]]),
            ("\"a,x\",b\n\"1\"\"\n2\",3", vec![vec!["a,x", "b"], vec!["1\"\n2", "3"]]),
            ("a,\"b", vec![vec!["a", "b"]]),
            ("a,,\n", vec![vec!["a", "", ""]]),
            ("", vec![]),
        ] {
            let separator = separator(given, "text/csv");
            let rows: Vec<Vec<String>> =
                Rows { text: given, separator, line: 1 }.map(|row| row.cells).collect();
            assert_eq!(rows, expected, "{given}");
        }
    }
}
