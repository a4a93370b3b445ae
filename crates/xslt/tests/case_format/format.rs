//! Case files into [`Case`]s.
//!
//! In: the text of a file as its folder's README describes it. Out: cases with complete stylesheets, one for each line of
//! a table. A section nobody knows, a case without expectation or a name given twice is an error, not a skipped case.

use std::collections::BTreeSet;
use std::path::Path;

use super::{Case, Compare, Wanted};

/// The prefixes that stylesheets made by the wrapper have.
const PREFIXES: &[(&str, &str)] = &[
    ("exsl", "http://exslt.org/common"),
    ("str", "http://exslt.org/strings"),
    ("date", "http://exslt.org/dates-and-times"),
    ("math", "http://exslt.org/math"),
    ("set", "http://exslt.org/sets"),
    ("regexp", "http://exslt.org/regular-expressions"),
    ("dyn", "http://exslt.org/dynamic"),
    ("func", "http://exslt.org/functions"),
    ("a", "urn:a"),
    ("b", "urn:b"),
];

/// Prints the nodes of `EXPRESSION`, each in a form that tells its kind.
const NODES: &str = r#"<xsl:for-each select="CONTEXT"><xsl:for-each select="EXPRESSION">
<xsl:if test="position() &gt; 1"><xsl:text> </xsl:text></xsl:if>
<xsl:choose>
<xsl:when test="self::*/@id"><xsl:value-of select="@id"/></xsl:when>
<xsl:when test="self::*"><xsl:value-of select="name()"/></xsl:when>
<xsl:when test="not(..)">/</xsl:when>
<xsl:when test="count(. | ../@*) = count(../@*)">@<xsl:value-of select="name()"/></xsl:when>
<xsl:when test="self::text()">'<xsl:value-of select="."/>'</xsl:when>
<xsl:when test="self::comment()">!<xsl:value-of select="."/></xsl:when>
<xsl:when test="self::processing-instruction()">?<xsl:value-of select="name()"/></xsl:when>
<xsl:otherwise>xmlns:<xsl:value-of select="name()"/></xsl:otherwise>
</xsl:choose></xsl:for-each></xsl:for-each>"#;

/// Prints the value of `EXPRESSION` at each node of `CONTEXT`.
const VALUES: &str = r#"<xsl:for-each select="CONTEXT"><xsl:value-of select="EXPRESSION"/></xsl:for-each>"#;

/// A section of a block: its word, what else its line says, and the lines below.
struct Section<'a> {
    word: &'a str,
    argument: &'a str,
    lines: Vec<&'a str>,
}

impl Section<'_> {
    fn text(&self) -> String {
        self.lines.join("\n").trim_end_matches('\n').to_owned()
    }

    fn bytes(&self) -> Result<Vec<u8>, String> {
        if self.argument.split_whitespace().last() == Some("escaped") {
            unescape(&self.text())
        } else {
            Ok(self.text().into_bytes())
        }
    }
}

/// Reads one case file.
pub fn load_file(path: &Path) -> Result<Vec<Case>, String> {
    let text = std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    let chapter = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut cases = Vec::new();
    for (name, sections) in blocks(&text) {
        let block = read_block(&chapter, name, &sections)
            .map_err(|error| format!("{}: {name}: {error}", path.display()))?;
        cases.extend(block);
    }
    let mut names = BTreeSet::new();
    match cases.iter().find(|case| !names.insert(case.name.as_str())) {
        Some(twice) => Err(format!("{}: two cases are called {}", path.display(), twice.name)),
        None => Ok(cases),
    }
}

/// Divides a file into its blocks and these into their sections. What comes before the first block is a title.
fn blocks(text: &str) -> Vec<(&str, Vec<Section<'_>>)> {
    let mut blocks: Vec<(&str, Vec<Section<'_>>)> = Vec::new();
    for line in text.split('\n') {
        if let Some(name) = line.strip_prefix("=== ") {
            blocks.push((name.trim(), Vec::new()));
        } else if let Some((_, sections)) = blocks.last_mut() {
            if let Some(head) = line.strip_prefix("--- ") {
                let (word, argument) = head.split_once(' ').unwrap_or((head, ""));
                sections.push(Section { word, argument: argument.trim(), lines: Vec::new() });
            } else if let Some(section) = sections.last_mut() {
                section.lines.push(line);
            }
        }
    }
    blocks
}

/// A block into its case, or into the cases of its tables.
fn read_block(chapter: &str, name: &str, sections: &[Section<'_>]) -> Result<Vec<Case>, String> {
    let mut case = Case {
        chapter: chapter.to_owned(),
        name: name.to_owned(),
        input: b"<doc/>".to_vec(),
        ..Case::default()
    };
    let mut top = String::new();
    let mut body = None;
    let mut context = "/";
    let mut associated = false;
    let mut wanted = None;
    let mut tables = Vec::new();
    for section in sections {
        match section.word {
            "stylesheet" => case.stylesheet = Some(section.bytes()?),
            "body" => body = Some(section.text()),
            "top" => top = section.text(),
            "xpath" | "values" | "nodes" => tables.push(section),
            "context" => context = section.argument,
            "input" => case.input = section.bytes()?,
            "associated" => {
                case.input = section.bytes()?;
                associated = true;
            }
            "file" => {
                let file = section.argument.split_whitespace().next().ok_or("a file without a name")?;
                case.files.insert(file.to_owned(), section.bytes()?);
            }
            "param" => {
                let (name, value) = section.argument.split_once('=').ok_or("a parameter without a value")?;
                case.parameters.push((name.to_owned(), value.to_owned()));
            }
            "expect" => wanted = Some(Wanted::Result(section.bytes()?)),
            "error" => wanted = Some(Wanted::Error(section.argument.to_owned())),
            "message" => case.messages.push(section.argument.to_owned()),
            "compare" => {
                case.compare = match section.argument {
                    "exact" => Compare::Exact,
                    "xml" => Compare::Xml,
                    "names" => Compare::Names,
                    "layout" => Compare::Layout,
                    other => return Err(format!("no way to compare is called `{other}`")),
                }
            }
            other => return Err(format!("no section is called `{other}`")),
        }
    }
    if let Some(body) = body {
        case.stylesheet = Some(wrapped("xml", &top, &body));
    }
    if !tables.is_empty() {
        return read_tables(&case, &tables, &top, context, wanted);
    }
    if case.stylesheet.is_some() == associated {
        return Err("a case has one stylesheet, in one form".to_owned());
    }
    case.wanted = wanted.ok_or("nothing is expected")?;
    Ok(vec![case])
}

/// The cases of a block's tables; `case` is what they have in common.
fn read_tables(
    case: &Case,
    tables: &[&Section<'_>],
    top: &str,
    context: &str,
    wanted: Option<Wanted>,
) -> Result<Vec<Case>, String> {
    let mut cases = Vec::new();
    for table in tables {
        let pattern = if table.word == "nodes" { NODES } else { VALUES };
        let mut push = |name: String, expression: &str, wanted: Wanted| {
            let body = pattern
                .replace("CONTEXT", &attribute(context))
                .replace("EXPRESSION", &attribute(expression.trim()));
            let stylesheet = Some(wrapped("text", top, &body));
            cases.push(Case { name, stylesheet, wanted, ..case.clone() });
        };
        if table.word == "xpath" {
            push(case.name.clone(), &table.text(), wanted.clone().ok_or("nothing is expected")?);
            continue;
        }
        for row in table.lines.iter().filter(|line| !line.trim().is_empty()) {
            let (expression, wanted) = read_row(row)?;
            push(format!("{}: {}", case.name, expression.trim()), expression, wanted);
        }
    }
    Ok(cases)
}

/// `EXPRESSION => VALUE` or `EXPRESSION =!> PART`; what is wanted may be empty.
fn read_row(row: &str) -> Result<(&str, Wanted), String> {
    if let Some((expression, part)) = row.rsplit_once(" =!> ") {
        Ok((expression, Wanted::Error(part.to_owned())))
    } else if let Some(expression) = row.strip_suffix(" =!>") {
        Ok((expression, Wanted::Error(String::new())))
    } else if let Some((expression, value)) = row.rsplit_once(" => ") {
        Ok((expression, Wanted::Result(value.as_bytes().to_vec())))
    } else if let Some(expression) = row.strip_suffix(" =>") {
        Ok((expression, Wanted::Result(Vec::new())))
    } else {
        Err(format!("`{row}` has no `=>`"))
    }
}

/// The standard stylesheet around the content of its template.
fn wrapped(method: &str, top: &str, body: &str) -> Vec<u8> {
    let declarations: String =
        PREFIXES.iter().map(|(prefix, namespace)| format!(" xmlns:{prefix}=\"{namespace}\"")).collect();
    let prefixes: Vec<&str> = PREFIXES.iter().map(|(prefix, _)| *prefix).collect();
    format!(
        "<xsl:stylesheet version=\"1.0\" xmlns:xsl=\"http://www.w3.org/1999/XSL/Transform\"{declarations} \
         exclude-result-prefixes=\"{}\" extension-element-prefixes=\"func\">\
         <xsl:output method=\"{method}\" omit-xml-declaration=\"yes\" encoding=\"UTF-8\"/>\n{top}\n\
         <xsl:template match=\"/\">{body}</xsl:template></xsl:stylesheet>",
        prefixes.join(" ")
    )
    .into_bytes()
}

/// Text as it must be written inside of an attribute.
fn attribute(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
        .replace('\n', "&#10;")
        .replace('\t', "&#9;")
}

/// Gives meaning to `\n`, `\r`, `\t`, `\s`, `\\` and `\xNN`.
fn unescape(text: &str) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        let (&mark, after) = rest.split_first().ok_or("a backslash at the end")?;
        rest = after;
        bytes.push(match mark {
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b's' => b' ',
            b'\\' => b'\\',
            b'x' => {
                let digits = rest.get(..2).and_then(|digits| std::str::from_utf8(digits).ok());
                rest = rest.get(2..).unwrap_or_default();
                digits
                    .and_then(|digits| u8::from_str_radix(digits, 16).ok())
                    .ok_or("\\x without two hexadecimal digits")?
            }
            other => return Err(format!("`\\{}` has no meaning", char::from(other))),
        });
    }
    Ok(bytes)
}
