//! What may stand between the tokens and means nothing: white space of all kinds, comments, markup that an
//! editor put in, the wrappings of old browsers, statements of template languages.

use super::layers::reference_at;
use super::look::is_space;
use super::mends::Mend;
use super::reader::Reader;

impl Reader<'_, '_> {
    /// Goes on to the next thing that means something. Placeholders mean something where a value belongs.
    pub(super) fn skip_noise(&mut self, placeholders: bool) {
        while let Some(byte) = self.look.byte(self.at) {
            let skipped = match byte {
                b' ' | b'\t' | b'\n' | b'\r' => {
                    self.at += 1;
                    continue;
                }
                b'/' => self.comment(),
                b'#' => self.hash_comment(),
                b'<' => self.markup(placeholders),
                b'*' if self.look.starts_with(self.at, "*/") => Some((self.at + 2, Mend::Comments)),
                b'-' if self.look.starts_with(self.at, "-->") => Some((self.at + 3, Mend::Around)),
                b']' if !self.in_array() => self.end_of_cdata(),
                b'`' if self.look.starts_with(self.at, "```") => {
                    let mut end = self.at + 3;
                    while self.look.byte(end).is_some_and(|byte| byte.is_ascii_alphanumeric()) {
                        end += 1;
                    }
                    Some((end, Mend::Around))
                }
                b'&' => self.reference_space(),
                b'{' if placeholders => {
                    self.look.placeholder_end(self.at).map(|end| (end, Mend::Placeholders))
                }
                // White space that was escaped along with the strings.
                b'\\' => match self.look.byte(self.at + 1) {
                    Some(b'n' | b'r' | b't') => Some((self.at + 2, Mend::OddSpaces)),
                    _ => None,
                },
                0..0x20 | 0x7f.. => self
                    .look
                    .char(self.at)
                    .filter(|c| is_space(*c) || *c == '\u{fffd}')
                    .map(|c| (self.at + c.len_utf8(), Mend::OddSpaces)),
                _ => None,
            };
            let Some((end, mend)) = skipped else { return };
            self.at = end;
            self.mends.add(mend);
        }
    }

    /// `// …` and `/* … */`.
    fn comment(&mut self) -> Option<(usize, Mend)> {
        let start = self.at + 2;
        let bytes = self.look.text.as_bytes();
        match bytes.get(self.at + 1)? {
            b'/' => {
                // Markers that hide the JSON come in heaps, so the end of their line is looked for once.
                if start > self.line_end {
                    let rest = &bytes[start..];
                    self.line_end = start + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
                }
                let end = self.line_end;
                // Before the JSON, and with nothing but this line: the JSON itself is commented out, or hidden.
                let hides = self.hides_json(end);
                Some(if hides { (start, Mend::Around) } else { (end, Mend::Comments) })
            }
            b'*' => {
                if self.block_comments_end
                    && let Some(length) = memchr::memmem::find(&bytes[start..], b"*/")
                {
                    return Some((start + length + 2, Mend::Comments));
                }
                // The search went to the end of the text; no later one will find more.
                self.block_comments_end = false;
                Some((start, Mend::Comments))
            }
            _ => None,
        }
    }

    /// True when a comment before the JSON, if it ended here, would leave nothing to read.
    fn hides_json(&self, end: usize) -> bool {
        self.is_before_json() && end >= self.last_bracket
    }

    /// `# …` at the start of a line.
    fn hash_comment(&self) -> Option<(usize, Mend)> {
        let bytes = self.look.text.as_bytes();
        let before = bytes[..self.at].iter().rev().find(|byte| !matches!(byte, b' ' | b'\t'));
        if !matches!(before, None | Some(b'\n' | b'\r')) {
            return None;
        }
        let rest = &bytes[self.at..];
        let end = self.at + memchr::memchr2(b'\n', b'\r', rest).unwrap_or(rest.len());
        Some((end, Mend::Comments))
    }

    fn markup(&mut self, placeholders: bool) -> Option<(usize, Mend)> {
        let bytes = self.look.text.as_bytes();
        if self.look.starts_with(self.at, "<!--") {
            let start = self.at + 4;
            // Looked for once, as above; nothing once there is no further end.
            if let Some(known) = self.html_comment_end {
                let found = if start <= known {
                    Some(known)
                } else {
                    memchr::memmem::find(&bytes[start..], b"-->").map(|length| start + length)
                };
                self.html_comment_end = found;
                if let Some(found) = found {
                    let end = found + 3;
                    let hides = self.hides_json(end);
                    return Some(if hides { (start, Mend::Around) } else { (end, Mend::Comments) });
                }
            }
            return Some((start, Mend::Around));
        }
        if self.look.starts_with_ignoring_case(self.at, "<![cdata[") {
            return Some((self.at + 9, Mend::Around));
        }
        if placeholders && let Some(end) = self.look.placeholder_end(self.at) {
            return Some((end, Mend::Placeholders));
        }
        self.look.tag_end(self.at).map(|end| (end, Mend::Tags))
    }

    fn end_of_cdata(&self) -> Option<(usize, Mend)> {
        let ends = ["]]>", "]]&gt;"];
        let end = ends.iter().find(|end| self.look.starts_with(self.at, end))?;
        Some((self.at + end.len(), Mend::Around))
    }

    /// `&nbsp;` and its like.
    fn reference_space(&self) -> Option<(usize, Mend)> {
        let (decoded, length) = reference_at(self.look.text.get(self.at..)?)?;
        decoded.chars().all(is_space).then_some((self.at + length, Mend::OddSpaces))
    }
}
