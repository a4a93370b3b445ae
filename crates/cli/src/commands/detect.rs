//! `webloom detect`: what a file is.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use webloom_detect::mime::MimeType;
use webloom_detect::{Labels, examine};

use super::extract::read_input;

/// Say what a file is: type, media type, charset, syntaxes, as JSON.
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  webloom detect page.html
  webloom detect --content-type text/plain --url https://example.org/data.ttl data")]
pub struct Detect {
    /// The file, or - for standard input.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// The URL it came from; its extension is a hint.
    #[arg(long, value_name = "URL")]
    url: Option<String>,
    /// The Content-Type it was served with.
    #[arg(long, value_name = "MIME")]
    content_type: Option<String>,
}

impl Detect {
    pub fn run(self) -> anyhow::Result<()> {
        let input = read_input(&self.file)?;
        let name = self.file.to_string_lossy();
        let url = self.url.as_deref().unwrap_or(&name);
        let content_type = self.content_type.as_deref();
        let examined = examine(Labels { name: Some(url), content_type, no_sniff: false }, &input.body);
        for diagnostic in input.diagnostics.iter().chain(&examined.diagnostics) {
            eprintln!("{diagnostic}");
        }
        let mut report = serde_json::to_value(&examined.detection)?;
        // What the header says, as a browser reads it, beside what the bytes say.
        report["declared"] = content_type.and_then(MimeType::extract).map(|mime| mime.to_string()).into();
        writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&report)?)?;
        Ok(())
    }
}
