//! `webloom detect`: what a file is.

use std::io::Write;
use std::path::PathBuf;

use clap::Args;
use webloom_detect::examine;

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
        let examined = examine(Some(url), self.content_type.as_deref(), &input.body);
        for diagnostic in input.diagnostics.iter().chain(&examined.diagnostics) {
            eprintln!("{diagnostic}");
        }
        writeln!(std::io::stdout(), "{}", serde_json::to_string_pretty(&examined.detection)?)?;
        Ok(())
    }
}
