//! Counts a JSON text before anyone parses it: nesting, strings, contexts, and the words in it.
//!
//! One pass over the bytes with a stack of frames, no recursion, no copy of the text. It does not
//! check the JSON; on broken JSON its counts are guesses, and the parser will refuse it anyway.

use std::collections::HashSet;

use webloom_model::PageUrl;

use super::contexts::is_term;

/// Work a block may ask of the processor: definitions copied, whenever a context begins.
const CONTEXT_WORK_MAX: usize = 2_000_000;
/// Work with nested objects: the processor goes through everything in an object once for each object around it.
const NESTING_WORK_MAX: usize = 4_000_000;
/// Bytes that compact IRIs and relative references may expand to.
const EXPANSION_BYTES_MAX: usize = 256 << 20;
/// Contexts a block may name.
const REFERENCES_MAX: usize = 32;

/// What a JSON text holds.
#[derive(Debug, Default)]
pub(super) struct Scan {
    /// Words of schema.org among the strings.
    pub terms: HashSet<String>,
    /// Strings given as `@context`: names of remote ones.
    pub references: Vec<String>,
    strings: usize,
    /// Strings and items, each as often as there is something around it.
    nesting_work: usize,
    objects: usize,
    contexts: usize,
    /// Keys within contexts.
    definitions: usize,
    /// A context within a context, which begins anew at every object it is for.
    scoped: bool,
    /// The longest string in a context, which may be what every compact IRI expands to.
    prefix_bytes_max: usize,
}

/// Nested too deep, here.
#[derive(Debug)]
pub(super) struct TooDeep {
    pub offset: usize,
}

#[derive(Debug, Clone, Copy, Default)]
struct Frame {
    object: bool,
    /// A key is expected, not a value.
    key_next: bool,
    /// The last key was `@context` (or `@import`), so a string here names a context.
    names_context: bool,
    /// Somewhere above is a context.
    in_context: bool,
}

impl Scan {
    pub(super) fn of(text: &str, depth_max: usize) -> Result<Self, TooDeep> {
        let mut scan = Self::default();
        scan.add(text, depth_max, false)?;
        Ok(scan)
    }

    /// Adds another text, such as a context's.
    pub(super) fn add(&mut self, text: &str, depth_max: usize, is_context: bool) -> Result<(), TooDeep> {
        let bytes = text.as_bytes();
        let outermost = Frame { in_context: is_context, ..Frame::default() };
        let mut frames = vec![outermost];
        let mut index = 0;
        while index < bytes.len() {
            let top = frames.len() - 1;
            let frame = frames[top];
            match bytes[index] {
                open @ (b'{' | b'[') => {
                    if frames.len() > depth_max {
                        return Err(TooDeep { offset: index });
                    }
                    let object = open == b'{';
                    self.objects += usize::from(object);
                    frames.push(Frame {
                        object,
                        key_next: object,
                        names_context: !object && frame.names_context,
                        in_context: frame.in_context || frame.names_context,
                    });
                }
                b'}' | b']' if top > 0 => {
                    frames.pop();
                }
                b',' => {
                    self.nesting_work += top;
                    frames[top].key_next = frame.object;
                }
                b':' => frames[top].key_next = false,
                b'"' => {
                    self.nesting_work += top;
                    let start = index + 1;
                    let mut escaped = false;
                    index = start;
                    while index < bytes.len() && bytes[index] != b'"' {
                        if bytes[index] == b'\\' {
                            escaped = true;
                            index += 1;
                        }
                        index += 1;
                    }
                    let raw = text.get(start..index.min(bytes.len())).unwrap_or_default();
                    if escaped {
                        // Only short strings can be words, keywords or names of contexts.
                        let unescaped: Option<String> = (raw.len() < 4096)
                            .then(|| serde_json::from_str(&format!("\"{raw}\"")).ok())
                            .flatten();
                        self.string(unescaped.as_deref().unwrap_or(raw), &mut frames[top]);
                    } else {
                        self.string(raw, &mut frames[top]);
                    }
                }
                _ => {}
            }
            index += 1;
        }
        Ok(())
    }

    fn string(&mut self, text: &str, frame: &mut Frame) {
        self.strings += 1;
        if frame.in_context {
            self.prefix_bytes_max = self.prefix_bytes_max.max(text.len());
        }
        let word = text.split(':').next().unwrap_or_default();
        if is_term(word) && !self.terms.contains(word) {
            self.terms.insert(word.to_owned());
        }
        if frame.object && frame.key_next {
            let begins_context = text == "@context";
            self.contexts += usize::from(begins_context);
            self.definitions += usize::from(frame.in_context);
            self.scoped |= begins_context && frame.in_context;
            frame.names_context = begins_context || text == "@import";
        } else if frame.names_context && self.references.len() < REFERENCES_MAX {
            if !self.references.iter().any(|known| known == text) {
                self.references.push(text.to_owned());
            }
            self.contexts += 1;
        }
    }

    /// Refuses what would take the processor too long or too much memory.
    pub(super) fn check_cost(&self, base: &PageUrl) -> Result<(), String> {
        if self.nesting_work > NESTING_WORK_MAX {
            return Err("it is too large for how deep it is nested".to_owned());
        }
        let begins = if self.scoped { self.contexts + self.objects } else { self.contexts };
        let definitions = self.definitions + self.terms.len();
        if begins.saturating_mul(definitions) > CONTEXT_WORK_MAX {
            return Err(format!("{begins} uses of contexts with {definitions} definitions are too costly"));
        }
        let expanded = self.strings.saturating_mul(self.prefix_bytes_max.max(base.as_str().len()));
        if expanded > EXPANSION_BYTES_MAX {
            return Err(format!("its names may expand to {expanded} bytes"));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_contexts_and_depth_are_seen() {
        let scan = Scan::of(
            r#"{"@context": ["https://schema.org", {"x": {"@id": "xsd:y", "@context": "urn:c"}}], "@type": "Person",
               "n\u0061me": "Ada", "knows": [{"jobTitle": "none"}], "no such thing": {"@context": "urn:d"}}"#,
            100,
        )
        .unwrap();
        let mut terms: Vec<_> = scan.terms.iter().map(String::as_str).collect();
        terms.sort_unstable();
        assert_eq!(terms, ["Person", "jobTitle", "knows", "name", "xsd"]);
        assert_eq!(scan.references, ["https://schema.org", "urn:c", "urn:d"]);
        assert!(scan.scoped);
        assert!(Scan::of(&"[".repeat(100), 100).is_ok());
        assert_eq!(Scan::of(&"[".repeat(101), 100).unwrap_err().offset, 100);
        assert!(Scan::of(&"[]".repeat(1000), 100).is_ok());
        assert!(Scan::of(&format!("\"{}\"", "[".repeat(1000)), 100).is_ok());
    }

    #[test]
    fn costly_blocks_are_refused() {
        let base = PageUrl::parse("http://example.org/").unwrap();
        let terms: String = (0..3000).map(|n| format!("\"t{n}\":\"urn:{n}\",")).collect();
        let many = format!(
            "{{\"@context\":{{{terms}\"z\":\"urn:z\"}},\"@graph\":[{}1]}}",
            r#"{"@context":{}},"#.repeat(3000)
        );
        assert!(Scan::of(&many, 100).unwrap().check_cost(&base).is_err());
        let long = format!(
            "{{\"@context\":{{\"p\":\"urn:{}\"}},{}}}",
            "x".repeat(100_000),
            "\"p:a\":1,".repeat(10_000)
        );
        assert!(Scan::of(&long, 100).unwrap().check_cost(&base).is_err());
    }
}
