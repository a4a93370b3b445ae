//! `webloom xslt`: a stylesheet run over a document, both from files.

use std::fs;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use clap::Args;
use webloom_pipeline::rules::files::{file_path, file_uri};
use webloom_xslt::{
    Document, ErrorKind, Limits, Loaded, Loader, Message, Purpose, Stylesheet, Value, XsltError,
};

use crate::output::wrong_usage;

/// Transform a document with an XSLT 1.0 stylesheet.
///
/// What the stylesheet imports, includes and asks document() for is read from files; nothing is fetched from the web.
/// Messages of the stylesheet go to stderr.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom xslt feed-to-rdf.xsl feed.xml --param page-url=https://example.org/feed
  curl -s https://example.org/feed | webloom xslt feed-to-rdf.xsl - -o feed.rdf
  webloom xslt --associated page.xml                  with the stylesheet that the document itself names")]
pub struct Xslt {
    /// The stylesheet (not with --associated), then the document; - for standard input.
    #[arg(value_name = "STYLESHEET INPUT", num_args = 1..=2, required = true)]
    files: Vec<PathBuf>,
    /// A parameter of the stylesheet, as a string. May be given often.
    #[arg(long, value_name = "NAME=VALUE")]
    param: Vec<String>,
    /// Write the result to this file instead of stdout.
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Use the stylesheet that the document names in its xml-stylesheet instruction.
    #[arg(long)]
    associated: bool,
    /// Let it run for a minute with half a gigabyte. Otherwise two seconds must do, as for a stranger's stylesheet.
    #[arg(long)]
    trusted: bool,
}

/// What a stylesheet of unknown origin may use, over a document of any reasonable size.
fn cautious() -> Limits {
    let Limits { depth_max, nodes_max, input_bytes_max, documents_max, .. } = Limits::default();
    let output_bytes_max = 32 << 20;
    Limits { depth_max, nodes_max, input_bytes_max, documents_max, output_bytes_max, ..Limits::untrusted() }
}

impl Xslt {
    pub fn run(self) -> anyhow::Result<()> {
        let (stylesheet, input) = match (self.associated, self.files.as_slice()) {
            (false, [stylesheet, input]) => (Some(stylesheet), input),
            (true, [input]) => (None, input),
            (false, _) => {
                return Err(wrong_usage("name a stylesheet and a document, or a document with --associated"));
            }
            (true, _) => return Err(wrong_usage("--associated takes the document alone")),
        };
        if stylesheet.is_some_and(|stylesheet| is_stdin(stylesheet) && is_stdin(input)) {
            return Err(wrong_usage("stylesheet and document cannot both come from standard input"));
        }
        let parameters = self
            .param
            .iter()
            .map(|parameter| match parameter.split_once('=') {
                Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), Value::from(value))),
                _ => Err(wrong_usage(format!("--param {parameter} is not of the form NAME=VALUE"))),
            })
            .collect::<anyhow::Result<Vec<_>>>()?;
        let limits = if self.trusted { Limits::default() } else { cautious() };
        let failed = |error: XsltError| match error.kind {
            ErrorKind::Limit(_) if !self.trusted => anyhow!("{error}; --trusted allows more"),
            _ => anyhow!("{error}"),
        };
        let (bytes, uri) = read(input)?;
        let compiled = match stylesheet {
            Some(stylesheet) => {
                let (bytes, uri) = read(stylesheet)?;
                Stylesheet::compile(&bytes, &uri, &Files, &limits)
            }
            None => Stylesheet::compile_associated(&bytes, &uri, &Files, &limits),
        };
        let compiled = compiled.map_err(failed)?;
        let document = Document::parse(&bytes, &uri, &limits).map_err(failed)?;
        let output = match compiled.transform(&document, &parameters, &Files, &limits) {
            Ok(output) => output,
            Err(error) => {
                say(&error.messages);
                return Err(failed(error));
            }
        };
        say(&output.messages);
        match &self.output {
            Some(file) => {
                fs::write(file, &output.bytes).with_context(|| format!("cannot write `{}`", file.display()))
            }
            None => {
                let mut out = std::io::stdout().lock();
                out.write_all(&output.bytes)?;
                Ok(out.flush()?)
            }
        }
    }
}

fn say(messages: &[Message]) {
    for message in messages {
        eprintln!("{}", message.text);
    }
}

fn is_stdin(path: &Path) -> bool {
    path == Path::new("-")
}

/// The bytes of a file or of standard input, and the address that relative ones are resolved against.
fn read(path: &Path) -> anyhow::Result<(Vec<u8>, String)> {
    if is_stdin(path) {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).context("cannot read standard input")?;
        let folder = std::env::current_dir().context("cannot tell the current directory")?;
        return Ok((bytes, file_uri(&folder.join("stdin"))));
    }
    let bytes = fs::read(path).with_context(|| format!("cannot read `{}`", path.display()))?;
    let absolute = std::path::absolute(path).with_context(|| format!("cannot find `{}`", path.display()))?;
    Ok((bytes, file_uri(&absolute)))
}

/// Files of this machine, named by `file:` addresses; nothing else.
struct Files;

impl Loader for Files {
    fn load(&self, uri: &str, _purpose: Purpose) -> Result<Loaded, String> {
        let path = file_path(uri).ok_or("only files can be read here, nothing from the web")?;
        let bytes = fs::read(&path).map_err(|error| error.to_string())?;
        Ok(Loaded { bytes, uri: uri.to_owned() })
    }
}
