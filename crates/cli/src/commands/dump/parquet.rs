//! Quads as a Parquet table, for engines that read columns: DuckDB, Polars, Spark.
//!
//! In: quads in any order. Out: one file, or a directory with one per site. Rows are sorted by predicate, then subject,
//! then object, so that repeated values pack well and the statistics of row groups and pages let an engine skip all
//! but the ones a query is about. The columns are in [`SCHEMA`]; `docs/guides/export.md` tells how to use them.
//! Sorting is [`sort`](super::sort); memory is bounded by its budget and by one row group.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context, bail};
use oxrdf::{GraphName, NamedOrBlankNode, Quad, Term};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::file::metadata::SortingColumn;
use parquet::file::properties::{EnabledStatistics, WriterProperties};
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::select::{Take, host};
use super::sort::{BUDGET_BYTES, Row, Sorter};
use super::target::partial_name;
use crate::output::wrong_usage;

/// The table. Blank nodes are written `_:label`; no graph is the default graph; every literal has a datatype. The last
/// two columns are there for literals that are numbers or moments (those without a time zone are taken as UTC).
const SCHEMA: &str = "
message quad {
  required binary subject (STRING);
  required binary predicate (STRING);
  required binary object (STRING);
  required binary object_kind (STRING);
  optional binary datatype (STRING);
  optional binary language (STRING);
  optional binary graph (STRING);
  optional double object_number;
  optional int64 object_time (TIMESTAMP(MICROS, true));
}";

/// Rows of a row group; fewer where texts are long.
const GROUP_ROWS_MAX: usize = 1 << 20;
const GROUP_BYTES_MAX: usize = 256 << 20;
/// What a row costs in memory besides its texts.
const ROW_BYTES: usize = 200;
/// Statistics keep so much of the smallest and largest text. Shorter ones would not tell IRIs of one site apart.
const STATISTICS_BYTES_MAX: usize = 256;
/// The partition of graphs that are of no site, by Hive's convention: engines read it as NULL.
const NO_SITE: &str = "__HIVE_DEFAULT_PARTITION__";
/// File systems end names at 255 bytes.
const SITE_BYTES_MAX: usize = 240;

/// Writes what `each` gives to a file, or by site to a directory. Returns the number of rows.
pub fn write(
    output: &Path,
    by_site: bool,
    each: impl FnOnce(Take<'_>) -> anyhow::Result<()>,
) -> anyhow::Result<u64> {
    if by_site && fs::read_dir(output).is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(wrong_usage(format!(
            "`{}` is not empty; files of an earlier export would mix with the new ones",
            output.display()
        )));
    }
    let partial = partial_name(output);
    let around = match output.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    let mut sorter = Sorter::new(around, BUDGET_BYTES);
    each(&mut |quad| {
        let site = if by_site { site(&quad.graph_name) } else { String::new() };
        sorter.push(row(site, quad)).context("cannot write a temporary file beside the output")
    })?;
    if by_site {
        if partial.exists() {
            fs::remove_dir_all(&partial).with_context(|| format!("cannot remove `{}`", partial.display()))?;
        }
        fs::create_dir_all(&partial).with_context(|| format!("cannot create `{}`", partial.display()))?;
    }
    let mut rows = 0;
    let mut table: Option<(String, Table)> = None;
    if !by_site {
        table = Some((String::new(), Table::create(&partial)?));
    }
    sorter.finish(|mut row| -> anyhow::Result<()> {
        rows += 1;
        let [site, ..] = &mut row;
        let site = std::mem::take(site);
        if table.as_ref().is_none_or(|(current, _)| *current != site) {
            if let Some((_, done)) = table.take() {
                done.finish()?;
            }
            let folder = partial.join(format!("host={site}"));
            fs::create_dir_all(&folder).with_context(|| format!("cannot create `{}`", folder.display()))?;
            table = Some((site, Table::create(&folder.join("part-0.parquet"))?));
        }
        match &mut table {
            Some((_, table)) => table.push(row),
            None => bail!("no table is open"),
        }
    })?;
    if let Some((_, done)) = table {
        done.finish()?;
    }
    fs::rename(&partial, output).with_context(|| format!("cannot name `{}`", output.display()))?;
    Ok(rows)
}

/// The name of a graph's partition.
fn site(graph: &GraphName) -> String {
    let host = match graph {
        GraphName::NamedNode(name) => host(name.as_str()),
        GraphName::BlankNode(_) | GraphName::DefaultGraph => None,
    };
    let Some(host) = host else {
        return NO_SITE.to_owned();
    };
    let mut name = String::with_capacity(host.len());
    for byte in host.bytes() {
        // Brackets and colons of IPv6 addresses, and whatever else a file system may not like.
        if byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_') {
            name.push(char::from(byte));
        } else {
            name.push_str(&format!("%{byte:02X}"));
        }
    }
    if name.len() > SITE_BYTES_MAX { NO_SITE.to_owned() } else { name }
}

/// Site, predicate, subject, object, kind, datatype, language, graph: the order rows are sorted by.
fn row(site: String, quad: Quad) -> Row {
    let subject = match quad.subject {
        NamedOrBlankNode::NamedNode(node) => node.into_string(),
        NamedOrBlankNode::BlankNode(node) => node.to_string(),
    };
    let (object, kind, datatype, language) = match quad.object {
        Term::NamedNode(node) => (node.into_string(), "iri", String::new(), String::new()),
        Term::BlankNode(node) => (node.to_string(), "blank", String::new(), String::new()),
        Term::Literal(literal) => {
            let datatype = literal.datatype().as_str().to_owned();
            let language = literal.language().unwrap_or_default().to_owned();
            (literal.destruct().0, "literal", datatype, language)
        }
    };
    let graph = match quad.graph_name {
        GraphName::NamedNode(node) => node.into_string(),
        GraphName::BlankNode(node) => node.to_string(),
        GraphName::DefaultGraph => String::new(),
    };
    [site, quad.predicate.into_string(), subject, object, kind.to_owned(), datatype, language, graph]
}

/// A file that is being written.
struct Table {
    writer: SerializedFileWriter<File>,
    subject: Texts,
    predicate: Texts,
    object: Texts,
    object_kind: Texts,
    datatype: Texts,
    language: Texts,
    graph: Texts,
    number: Column<f64>,
    time: Column<i64>,
    rows: usize,
    bytes: usize,
}

impl Table {
    fn create(path: &Path) -> anyhow::Result<Self> {
        let file = File::create(path).with_context(|| format!("cannot write `{}`", path.display()))?;
        let sorted = |column_idx| SortingColumn { column_idx, descending: false, nulls_first: false };
        let properties = WriterProperties::builder()
            .set_created_by(concat!("webloom ", env!("CARGO_PKG_VERSION")).to_owned())
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_statistics_enabled(EnabledStatistics::Page)
            .set_statistics_truncate_length(Some(STATISTICS_BYTES_MAX))
            .set_column_index_truncate_length(Some(STATISTICS_BYTES_MAX))
            // Predicate, subject, object.
            .set_sorting_columns(Some(vec![sorted(1), sorted(0), sorted(2)]))
            .build();
        let schema = Arc::new(parse_message_type(SCHEMA)?);
        Ok(Self {
            writer: SerializedFileWriter::new(file, schema, Arc::new(properties))?,
            subject: Texts::default(),
            predicate: Texts::default(),
            object: Texts::default(),
            object_kind: Texts::default(),
            datatype: Texts::default(),
            language: Texts::default(),
            graph: Texts::default(),
            number: Column::default(),
            time: Column::default(),
            rows: 0,
            bytes: 0,
        })
    }

    fn push(&mut self, row: Row) -> anyhow::Result<()> {
        self.rows += 1;
        self.bytes += ROW_BYTES + row.iter().map(String::len).sum::<usize>();
        let [_, predicate, subject, object, kind, datatype, language, graph] = row;
        self.number.push(number(&datatype, &object));
        self.time.push(time(&datatype, &object));
        self.predicate.push(Some(predicate));
        self.subject.push(Some(subject));
        self.object.push(Some(object));
        self.object_kind.push(Some(kind));
        // None of these three can be an empty text.
        self.datatype.push(Some(datatype).filter(|text| !text.is_empty()));
        self.language.push(Some(language).filter(|text| !text.is_empty()));
        self.graph.push(Some(graph).filter(|text| !text.is_empty()));
        if self.rows >= GROUP_ROWS_MAX || self.bytes >= GROUP_BYTES_MAX { self.end_group() } else { Ok(()) }
    }

    fn end_group(&mut self) -> anyhow::Result<()> {
        let mut group = self.writer.next_row_group()?;
        for texts in [&mut self.subject, &mut self.predicate, &mut self.object, &mut self.object_kind] {
            texts.0.write::<ByteArrayType>(&mut group, false)?;
        }
        for texts in [&mut self.datatype, &mut self.language, &mut self.graph] {
            texts.0.write::<ByteArrayType>(&mut group, true)?;
        }
        self.number.write::<DoubleType>(&mut group, true)?;
        self.time.write::<Int64Type>(&mut group, true)?;
        group.close()?;
        (self.rows, self.bytes) = (0, 0);
        Ok(())
    }

    fn finish(mut self) -> anyhow::Result<()> {
        if self.rows > 0 {
            self.end_group()?;
        }
        self.writer.finish()?;
        self.writer.inner().sync_all()?;
        Ok(())
    }
}

/// A column of one row group: its values, and for each row whether it has one.
#[derive(Default)]
struct Column<T> {
    values: Vec<T>,
    levels: Vec<i16>,
}

impl<T> Column<T> {
    fn push(&mut self, value: Option<T>) {
        self.levels.push(i16::from(value.is_some()));
        self.values.extend(value);
    }

    fn write<D: DataType<T = T>>(
        &mut self,
        group: &mut SerializedRowGroupWriter<'_, File>,
        is_optional: bool,
    ) -> anyhow::Result<()> {
        let Some(mut column) = group.next_column()? else {
            bail!("the table has fewer columns than it should");
        };
        column.typed::<D>().write_batch(&self.values, is_optional.then_some(self.levels.as_slice()), None)?;
        column.close()?;
        self.values.clear();
        self.levels.clear();
        Ok(())
    }
}

/// A column of texts. Neighbours that are equal share one.
#[derive(Default)]
struct Texts(Column<ByteArray>);

impl Texts {
    fn push(&mut self, text: Option<String>) {
        let value = text.map(|text| match self.0.values.last() {
            Some(last) if last.data() == text.as_bytes() => last.clone(),
            _ => ByteArray::from(text.into_bytes()),
        });
        self.0.push(value);
    }
}

const XSD: &str = "http://www.w3.org/2001/XMLSchema#";
const NUMBERS: [&str; 16] = [
    "integer",
    "decimal",
    "double",
    "float",
    "int",
    "long",
    "short",
    "byte",
    "nonNegativeInteger",
    "positiveInteger",
    "nonPositiveInteger",
    "negativeInteger",
    "unsignedInt",
    "unsignedLong",
    "unsignedShort",
    "unsignedByte",
];

/// The number a literal is.
fn number(datatype: &str, value: &str) -> Option<f64> {
    let is_number = datatype.strip_prefix(XSD).is_some_and(|local| NUMBERS.contains(&local));
    let number: f64 = is_number.then(|| value.trim().parse().ok())??;
    (!number.is_nan()).then_some(number)
}

/// The moment a literal is, in microseconds since 1970.
fn time(datatype: &str, value: &str) -> Option<i64> {
    let value = value.trim();
    let timestamp = match datatype.strip_prefix(XSD)? {
        "dateTime" | "dateTimeStamp" => match value.parse::<jiff::Timestamp>() {
            Ok(timestamp) => timestamp,
            Err(_) => in_utc(value.parse().ok()?)?,
        },
        "date" => in_utc(value.parse::<jiff::civil::Date>().ok()?.at(0, 0, 0, 0))?,
        _ => return None,
    };
    Some(timestamp.as_microsecond())
}

fn in_utc(time: jiff::civil::DateTime) -> Option<jiff::Timestamp> {
    jiff::tz::Offset::UTC.to_timestamp(time).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_moments() {
        let xsd = |local: &str| format!("{XSD}{local}");
        for (local, value, expected) in [
            ("integer", "42", Some(42.0)),
            ("decimal", " -1.50 ", Some(-1.5)),
            ("double", "1e3", Some(1000.0)),
            ("double", "NaN", None),
            ("integer", "forty", None),
            ("string", "42", None),
        ] {
            assert_eq!(number(&xsd(local), value), expected, "{local} {value}");
        }
        for (local, value, expected) in [
            ("dateTime", "1970-01-01T00:00:01Z", Some(1_000_000)),
            ("dateTime", "1970-01-01T01:00:00+01:00", Some(0)),
            ("dateTime", "1970-01-01T00:00:01.5", Some(1_500_000)),
            ("date", "1970-01-02", Some(86_400_000_000)),
            ("date", "soon", None),
            ("gYear", "1970", None),
        ] {
            assert_eq!(time(&xsd(local), value), expected, "{local} {value}");
        }
    }

    #[test]
    fn partitions_have_names_that_file_systems_like() {
        let site_of = |name: &str| site(&oxrdf::NamedNode::new_unchecked(name).into());
        assert_eq!(site_of("https://Example.ORG/a?b"), "example.org");
        assert_eq!(site_of("urn:webloom:meta:https://example.org/a"), "example.org");
        assert_eq!(site_of("http://[::1]/"), "%5B%3A%3A1%5D");
        for none in ["urn:x:y", "urn:webloom:inferred:rdfs", "mailto:a@b.example"] {
            assert_eq!(site_of(none), NO_SITE, "{none}");
        }
        assert_eq!(site(&GraphName::DefaultGraph), NO_SITE);
    }
}
