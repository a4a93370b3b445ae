//! The conformance cases of `crates/xslt/cases`: read, run, judged.
//!
//! In: the folder with the case files (their format is in its README). Out: [`Case`]s, each of which can [`Case::run`]
//! itself on the engine. The test `cases` and the suite `xslt` of `conformance/` both go through here, so that they
//! count the same cases and share one list of known failures. Reading is in [`format`], comparing in [`canonical`].

mod canonical;
mod format;

use std::collections::BTreeMap;
use std::path::Path;

use webloom_xslt::{Document, Limits, Loaded, Loader, Purpose, Stylesheet, Value};

pub use format::load_file;

/// Cases that fail, as `chapter: name`, and why. A listed case that passes is a failure of the list.
pub const KNOWN_FAILURES: &[(&str, &str)] = &[];

/// The folder the files of a case seem to be in.
const FOLDER: &str = "http://cases.example/folder/";

/// One case: a transformation and what must come of it.
#[derive(Debug, Clone, Default)]
pub struct Case {
    /// The file it stands in, without extension.
    pub chapter: String,
    /// Its name, unique in the file.
    pub name: String,
    /// The stylesheet; none when the document names its own.
    stylesheet: Option<Vec<u8>>,
    input: Vec<u8>,
    files: BTreeMap<String, Vec<u8>>,
    parameters: Vec<(String, String)>,
    messages: Vec<String>,
    compare: Compare,
    wanted: Wanted,
}

/// What a case wants.
#[derive(Debug, Clone)]
enum Wanted {
    Result(Vec<u8>),
    Error(String),
}

impl Default for Wanted {
    fn default() -> Self {
        Self::Result(Vec::new())
    }
}

/// How a result is compared with the one that is wanted.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Compare {
    /// Byte for byte, but for line feeds at the end.
    #[default]
    Exact,
    /// As XML: the order of attributes and the like do not count.
    Xml,
    /// As XML, and prefixes do not count either.
    Names,
    /// As text in which white space beside tags does not count.
    Layout,
}

/// Reads all case files of a folder, in the order of their names.
pub fn load(folder: &Path) -> Result<Vec<Case>, String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    let mut cases = Vec::new();
    for file in files {
        cases.extend(load_file(&file)?);
    }
    Ok(cases)
}

impl Case {
    /// The name by which a case is listed and reported.
    pub fn id(&self) -> String {
        format!("{}: {}", self.chapter, self.name)
    }

    /// Runs the case; an error says what came instead.
    pub fn run(&self) -> Result<(), String> {
        match (self.transform(), &self.wanted) {
            (Ok((bytes, messages)), Wanted::Result(wanted)) => {
                self.judge(&bytes, wanted)?;
                self.judge_messages(&messages)
            }
            (Ok((bytes, _)), Wanted::Error(part)) => {
                Err(format!("wanted an error with {part:?}, got {}", shown(&bytes)))
            }
            (Err(error), Wanted::Result(wanted)) => {
                Err(format!("wanted {}, got the error: {error}", shown(wanted)))
            }
            (Err(error), Wanted::Error(part)) if error.contains(part.as_str()) => Ok(()),
            (Err(error), Wanted::Error(part)) => Err(format!("wanted an error with {part:?}, got: {error}")),
        }
    }

    /// The result and the messages, or the error in words.
    fn transform(&self) -> Result<(Vec<u8>, Vec<String>), String> {
        let limits = Limits::default();
        let loader = CaseLoader { case: self };
        let input_uri = format!("{FOLDER}input.xml");
        let stylesheet = match &self.stylesheet {
            Some(source) => Stylesheet::compile(source, &format!("{FOLDER}style.xsl"), &loader, &limits),
            None => Stylesheet::compile_associated(&self.input, &input_uri, &loader, &limits),
        }
        .map_err(|error| error.to_string())?;
        let document =
            Document::parse(&self.input, &input_uri, &limits).map_err(|error| error.to_string())?;
        let parameters: Vec<(String, Value)> = self
            .parameters
            .iter()
            .map(|(name, value)| (name.clone(), Value::String(value.clone())))
            .collect();
        let output = stylesheet
            .transform(&document, &parameters, &loader, &limits)
            .map_err(|error| error.to_string())?;
        let messages = output.messages.iter().map(|message| message.text.clone()).collect();
        Ok((output.bytes, messages))
    }

    /// The wanted messages must come, in order; warnings of the engine may come among them.
    fn judge_messages(&self, messages: &[String]) -> Result<(), String> {
        let mut rest = messages.iter();
        match self.messages.iter().find(|wanted| !rest.any(|message| message.trim() == wanted.as_str())) {
            Some(missing) => Err(format!("wanted the message {missing:?}, got {messages:?}")),
            None => Ok(()),
        }
    }

    fn judge(&self, bytes: &[u8], wanted: &[u8]) -> Result<(), String> {
        let equal = match self.compare {
            Compare::Exact => without_last_line_feeds(bytes) == without_last_line_feeds(wanted),
            Compare::Xml | Compare::Names => {
                let prefixes = self.compare == Compare::Xml;
                canonical::canonical(bytes, prefixes)? == canonical::canonical(wanted, prefixes)?
            }
            Compare::Layout => canonical::without_layout(bytes)? == canonical::without_layout(wanted)?,
        };
        if equal { Ok(()) } else { Err(format!("wanted {}\n       got    {}", shown(wanted), shown(bytes))) }
    }
}

/// Answers with the files of a case, its stylesheet and its document.
struct CaseLoader<'a> {
    case: &'a Case,
}

impl Loader for CaseLoader<'_> {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        let name = uri.strip_prefix(FOLDER).ok_or_else(|| format!("{uri} is not in the folder"))?;
        let bytes = match name {
            "style.xsl" => self.case.stylesheet.as_ref(),
            "input.xml" => Some(&self.case.input),
            _ => self.case.files.get(name),
        };
        let bytes = bytes.ok_or_else(|| format!("there is no {name}"))?.clone();
        Ok(Loaded { bytes, uri: uri.to_owned() })
    }
}

fn without_last_line_feeds(mut bytes: &[u8]) -> &[u8] {
    while let Some(rest) = bytes.strip_suffix(b"\n") {
        bytes = rest;
    }
    bytes
}

/// Bytes for a person's eyes, not too many.
fn shown(bytes: &[u8]) -> String {
    const SHOWN_MAX: usize = 2_000;
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(SHOWN_MAX)]);
    format!("{text:?}")
}
