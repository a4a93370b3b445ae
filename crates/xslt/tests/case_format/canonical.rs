//! XML in one form, so that two writings of the same content are equal as text.
//!
//! In: bytes of a result, in UTF-8 or UTF-16. Out: text in which attributes are sorted, empty elements have two tags,
//! references and sections are resolved, namespace declarations that change nothing are gone, and so are the XML
//! declaration and the document type. With `prefixes` off, names are written with their namespace and no declaration
//! is left. It reads what the engine wrote and what a case expects, nothing hostile; but it does not trust the engine to
//! judge itself, so it is its own small reader. [`without_layout`] is for results that are no XML.

use std::collections::BTreeMap;
use std::fmt::Write;

/// The canonical form, or why the bytes are not XML.
pub fn canonical(bytes: &[u8], prefixes: bool) -> Result<String, String> {
    let text = decode(bytes)?;
    let mut reader = Reader { rest: text.trim(), prefixes, output: String::new(), open: Vec::new() };
    reader.read().map_err(|problem| format!("{problem} in {text:?}"))?;
    Ok(reader.output)
}

/// The text without the white space before and after tags.
pub fn without_layout(bytes: &[u8]) -> Result<String, String> {
    let text = decode(bytes)?;
    let parts: Vec<&str> = text.split('<').map(str::trim_end).collect();
    let joined = parts.join("<");
    let parts: Vec<&str> = joined.split('>').map(str::trim_start).collect();
    Ok(parts.join(">"))
}

fn decode(bytes: &[u8]) -> Result<String, String> {
    let units = |order: fn([u8; 2]) -> u16| -> Vec<u16> {
        bytes[2..].chunks_exact(2).map(|pair| order([pair[0], pair[1]])).collect()
    };
    match bytes {
        [0xff, 0xfe, ..] => String::from_utf16(&units(u16::from_le_bytes)).map_err(|error| error.to_string()),
        [0xfe, 0xff, ..] => String::from_utf16(&units(u16::from_be_bytes)).map_err(|error| error.to_string()),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8(rest.to_vec()).map_err(|error| error.to_string()),
        _ => String::from_utf8(bytes.to_vec()).map_err(|error| error.to_string()),
    }
}

/// Prefixes and their namespaces; the default namespace has the empty prefix.
type Scope = BTreeMap<String, String>;

struct Reader<'a> {
    rest: &'a str,
    prefixes: bool,
    output: String,
    /// The elements around: the name as written, the name as printed, the namespaces.
    open: Vec<(&'a str, String, Scope)>,
}

impl<'a> Reader<'a> {
    fn read(&mut self) -> Result<(), String> {
        while !self.rest.is_empty() {
            if let Some(after) = self.rest.strip_prefix("<![CDATA[") {
                self.rest = after;
                let text = self.until("]]>")?;
                self.text(text);
            } else if let Some(after) = self.rest.strip_prefix("<!--") {
                self.rest = after;
                let text = self.until("-->")?;
                let _ = write!(self.output, "<!--{text}-->");
            } else if self.rest.starts_with("<!DOCTYPE") {
                self.until(">")?;
                self.rest = self.rest.trim_start();
            } else if let Some(after) = self.rest.strip_prefix("<?") {
                self.rest = after;
                let text = self.until("?>")?;
                if text.starts_with("xml ") {
                    self.rest = self.rest.trim_start();
                } else {
                    let _ = write!(self.output, "<?{text}?>");
                }
            } else if let Some(after) = self.rest.strip_prefix("</") {
                self.rest = after;
                let name = self.until(">")?.trim_end();
                let (written, printed, _) = self.open.pop().ok_or("an end tag too many")?;
                if written != name {
                    return Err(format!("</{name}> ends <{written}>"));
                }
                let _ = write!(self.output, "</{printed}>");
            } else if let Some(after) = self.rest.strip_prefix('<') {
                self.rest = after;
                self.start_tag()?;
            } else {
                let end = self.rest.find('<').unwrap_or(self.rest.len());
                let (text, after) = self.rest.split_at(end);
                self.rest = after;
                let text = resolved(text)?;
                self.text(&text);
            }
        }
        match self.open.last() {
            Some((name, ..)) => Err(format!("<{name}> does not end")),
            None => Ok(()),
        }
    }

    fn text(&mut self, text: &str) {
        self.output.push_str(&text.replace('&', "&amp;").replace('<', "&lt;").replace('\r', "&#13;"));
    }

    /// What comes before `mark`; reading goes on behind it.
    fn until(&mut self, mark: &str) -> Result<&'a str, String> {
        let (before, after) = self.rest.split_once(mark).ok_or_else(|| format!("no `{mark}`"))?;
        self.rest = after;
        Ok(before)
    }

    fn start_tag(&mut self) -> Result<(), String> {
        let end = self.rest.find(|mark: char| mark.is_whitespace() || mark == '/' || mark == '>');
        let (name, after) = self.rest.split_at(end.ok_or("a tag does not end")?);
        self.rest = after;
        let outer = self.open.last().map(|(.., scope)| scope.clone()).unwrap_or_default();
        let mut scope = outer.clone();
        let mut attributes = Vec::new();
        let empty = loop {
            self.rest = self.rest.trim_start();
            if let Some(after) = self.rest.strip_prefix("/>") {
                self.rest = after;
                break true;
            }
            if let Some(after) = self.rest.strip_prefix('>') {
                self.rest = after;
                break false;
            }
            let attribute = self.until("=")?.trim_end();
            self.rest = self.rest.trim_start();
            let quote = self.rest.get(..1).filter(|quote| matches!(*quote, "\"" | "'"));
            let quote = quote.ok_or("an attribute without quotes")?;
            self.rest = &self.rest[1..];
            let value = resolved(self.until(quote)?)?;
            if attribute == "xmlns" {
                scope.insert(String::new(), value);
            } else if let Some(prefix) = attribute.strip_prefix("xmlns:") {
                scope.insert(prefix.to_owned(), value);
            } else {
                attributes.push((attribute, value));
            }
        };
        let printed = self.name(name, &scope, true)?;
        let mut parts = Vec::new();
        for (attribute, value) in attributes {
            let attribute = self.name(attribute, &scope, false)?;
            parts.push(format!(" {attribute}={value:?}"));
        }
        parts.sort();
        if parts.windows(2).any(|pair| pair[0].split('=').next() == pair[1].split('=').next()) {
            return Err(format!("<{name}> has an attribute twice"));
        }
        let _ = write!(self.output, "<{printed}");
        if self.prefixes {
            for (prefix, namespace) in &scope {
                let before = outer.get(prefix).map_or("", String::as_str);
                if before != namespace {
                    let _ = write!(self.output, " xmlns:{prefix}={namespace:?}");
                }
            }
        }
        let _ = write!(self.output, "{}>", parts.concat());
        if empty {
            let _ = write!(self.output, "</{printed}>");
        } else {
            self.open.push((name, printed, scope));
        }
        Ok(())
    }

    /// A name as it is printed. An undeclared prefix is an error in any case.
    fn name(&self, name: &str, scope: &Scope, element: bool) -> Result<String, String> {
        let (prefix, local) = name.split_once(':').unwrap_or(("", name));
        let namespace = match (prefix, scope.get(prefix)) {
            ("xml", _) => "http://www.w3.org/XML/1998/namespace",
            ("", _) if !element => "",
            ("", found) => found.map_or("", String::as_str),
            (_, Some(namespace)) if !namespace.is_empty() => namespace,
            _ => return Err(format!("the prefix of {name} is not declared")),
        };
        Ok(match (self.prefixes, namespace) {
            (true, _) => name.to_owned(),
            (false, "") => local.to_owned(),
            (false, namespace) => format!("{{{namespace}}}{local}"),
        })
    }
}

/// Text with its references replaced.
fn resolved(text: &str) -> Result<String, String> {
    let mut output = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('&') {
        output.push_str(before);
        let (reference, after) = after.split_once(';').ok_or("a reference does not end")?;
        rest = after;
        let number = match reference.strip_prefix('#') {
            Some(digits) => match digits.strip_prefix('x') {
                Some(digits) => u32::from_str_radix(digits, 16).ok(),
                None => digits.parse().ok(),
            },
            None => None,
        };
        output.push(match (reference, number.and_then(char::from_u32)) {
            (_, Some(character)) => character,
            ("lt", _) => '<',
            ("gt", _) => '>',
            ("amp", _) => '&',
            ("quot", _) => '"',
            ("apos", _) => '\'',
            _ => return Err(format!("&{reference}; is unknown")),
        });
    }
    output.push_str(rest);
    Ok(output)
}

#[cfg(test)]
mod tests {
    use super::{canonical, without_layout};

    #[test]
    fn two_writings_of_one_content_are_equal() {
        for (one, other) in [
            ("<a/>", "<a></a>"),
            ("<a b='1' c=\"2\"/>", "<a c='2' b='1'></a>"),
            ("<?xml version=\"1.0\"?>\n<a>x</a>\n", "<!DOCTYPE a>\n<a>&#120;</a>"),
            ("<a>1<![CDATA[<]]>2</a>", "<a>1&lt;2</a>"),
            ("<a xmlns='urn:a'><b xmlns='urn:a'/></a>", "<a xmlns='urn:a'><b/></a>"),
        ] {
            assert_eq!(canonical(one.as_bytes(), true), canonical(other.as_bytes(), true));
        }
    }

    #[test]
    fn prefixes_count_only_when_asked_for() {
        let (one, other) = ("<p:a xmlns:p='urn:a' p:k='1'/>", "<a xmlns='urn:a' xmlns:q='urn:a' q:k='1'/>");
        assert_ne!(canonical(one.as_bytes(), true), canonical(other.as_bytes(), true));
        assert_eq!(canonical(one.as_bytes(), false), canonical(other.as_bytes(), false));
    }

    #[test]
    fn layout_is_white_space_beside_tags() {
        let text = |text: &str| without_layout(text.as_bytes());
        assert_eq!(text("<p>\n a b <br>\n</p>\n"), text("<p>a b<br></p>"));
        assert_ne!(text("<p>a b</p>"), text("<p>ab</p>"));
    }

    #[test]
    fn what_is_no_xml_is_refused() {
        for text in ["<a>", "</a>", "<a></b>", "<p:a/>", "<a b='1' b='2'/>", "<a>&x;</a>", "<a b=1/>"] {
            assert!(canonical(text.as_bytes(), false).is_err(), "{text}");
        }
    }
}
