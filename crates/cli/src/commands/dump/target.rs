//! Where an export goes: stdout, or a file that has its name only when it is whole.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;

/// An open output.
pub struct Target {
    writer: Writer,
    /// Where the file is written, and what it is called in the end.
    names: Option<(PathBuf, PathBuf)>,
}

enum Writer {
    Stdout(BufWriter<io::StdoutLock<'static>>),
    Plain(BufWriter<File>),
    Gzip(Box<flate2::write::GzEncoder<BufWriter<File>>>),
    Zstd(Box<zstd::Encoder<'static, BufWriter<File>>>),
}

impl Target {
    /// Opens stdout, or the file, compressed as its extension says.
    pub fn open(output: Option<&Path>) -> anyhow::Result<Self> {
        let Some(output) = output else {
            return Ok(Self { writer: Writer::Stdout(BufWriter::new(io::stdout().lock())), names: None });
        };
        let partial = partial_name(output);
        let cannot = || format!("cannot write `{}`", partial.display());
        let file = BufWriter::with_capacity(1 << 18, File::create(&partial).with_context(cannot)?);
        let writer = match output.extension().and_then(|extension| extension.to_str()) {
            Some("gz") => {
                Writer::Gzip(Box::new(flate2::write::GzEncoder::new(file, flate2::Compression::default())))
            }
            Some("zst") => Writer::Zstd(Box::new(zstd::Encoder::new(file, 0).with_context(cannot)?)),
            _ => Writer::Plain(file),
        };
        Ok(Self { writer, names: Some((partial, output.to_owned())) })
    }

    /// Ends the output, and gives the file its name.
    pub fn finish(self) -> anyhow::Result<()> {
        let file = match self.writer {
            Writer::Stdout(mut stdout) => return Ok(stdout.flush()?),
            Writer::Plain(file) => file,
            Writer::Gzip(encoder) => encoder.finish()?,
            Writer::Zstd(encoder) => encoder.finish()?,
        };
        file.into_inner().map_err(io::IntoInnerError::into_error)?.sync_all()?;
        if let Some((partial, output)) = &self.names {
            std::fs::rename(partial, output)
                .with_context(|| format!("cannot name `{}`", output.display()))?;
        }
        Ok(())
    }
}

impl Write for Target {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.writer {
            Writer::Stdout(writer) => writer.write(bytes),
            Writer::Plain(writer) => writer.write(bytes),
            Writer::Gzip(writer) => writer.write(bytes),
            Writer::Zstd(writer) => writer.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match &mut self.writer {
            Writer::Stdout(writer) => writer.flush(),
            Writer::Plain(writer) => writer.flush(),
            Writer::Gzip(writer) => writer.flush(),
            Writer::Zstd(writer) => writer.flush(),
        }
    }
}

/// The name of an output that is not whole yet.
pub fn partial_name(output: &Path) -> PathBuf {
    let mut name = output.as_os_str().to_owned();
    name.push(".partial");
    name.into()
}
