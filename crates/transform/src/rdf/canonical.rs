//! Exclusive XML Canonicalization, for the value of `rdf:parseType="Literal"`.
//!
//! In: the content of a literal as the RDF/XML parser writes it, with every namespace in scope declared on its
//! outermost elements. Out: the same content with the namespaces it visibly uses, attributes in order, and characters escaped
//! as the recommendation says; or nothing where it is no well-formed content. One pass, no recursion.

use std::collections::HashMap;

/// The canonical form of `content`, or nothing where it is not well-formed.
pub(super) fn canonical(content: &str) -> Option<String> {
    let mut canonical = Canonical { output: String::with_capacity(content.len()), ..Canonical::default() };
    let mut rest = content;
    while let Some(start) = memchr::memchr(b'<', rest.as_bytes()) {
        canonical.text(&rest[..start])?;
        rest = &rest[start + 1..];
        if let Some(tag) = rest.strip_prefix('/') {
            let end = memchr::memchr(b'>', tag.as_bytes())?;
            canonical.end(tag[..end].trim_ascii_end())?;
            rest = &tag[end + 1..];
        } else {
            rest = canonical.start(rest)?;
        }
    }
    canonical.text(rest)?;
    canonical.open.is_empty().then_some(canonical.output)
}

/// Declarations by prefix: those in force last.
type Scope<'a> = HashMap<&'a str, Vec<String>>;

/// An element whose end is still to come, and what ends with it.
struct Open<'a> {
    name: &'a str,
    declared: Vec<&'a str>,
    written: Vec<&'a str>,
}

#[derive(Default)]
struct Canonical<'a> {
    output: String,
    open: Vec<Open<'a>>,
    /// What the source declares.
    declared: Scope<'a>,
    /// What the output has declared.
    written: Scope<'a>,
}

impl<'a> Canonical<'a> {
    fn text(&mut self, text: &str) -> Option<()> {
        let text = unescape(text, false)?;
        for c in text.chars() {
            match c {
                '&' => self.output.push_str("&amp;"),
                '<' => self.output.push_str("&lt;"),
                '>' => self.output.push_str("&gt;"),
                '\r' => self.output.push_str("&#xD;"),
                c => self.output.push(c),
            }
        }
        Some(())
    }

    /// Takes a start tag after its `<`; answers what follows it.
    fn start(&mut self, tag: &'a str) -> Option<&'a str> {
        let name_end = tag.find(|c: char| c.is_ascii_whitespace() || matches!(c, '>' | '/'))?;
        let name = &tag[..name_end];
        if name.is_empty() {
            return None;
        }
        let mut rest = &tag[name_end..];
        let mut attributes: Vec<(&str, String)> = Vec::new();
        let mut open = Open { name, declared: Vec::new(), written: Vec::new() };
        let empty = loop {
            rest = rest.trim_ascii_start();
            if let Some(after) = rest.strip_prefix("/>") {
                rest = after;
                break true;
            }
            if let Some(after) = rest.strip_prefix('>') {
                rest = after;
                break false;
            }
            let (attribute, after) = rest.split_once('=')?;
            let attribute = attribute.trim_ascii();
            let after = after.trim_ascii_start();
            let quote = after.chars().next().filter(|quote| matches!(quote, '"' | '\''))?;
            let end = after[1..].find(quote)?;
            let value = unescape(&after[1..=end], true)?;
            rest = &after[end + 2..];
            match attribute.strip_prefix("xmlns") {
                // The parser may repeat what the element itself declares.
                Some("") if !open.declared.contains(&"") => {
                    declare(&mut self.declared, &mut open.declared, "", value);
                }
                Some("") => {}
                Some(prefix) if prefix.starts_with(':') => {
                    let prefix = &prefix[1..];
                    if !open.declared.contains(&prefix) {
                        declare(&mut self.declared, &mut open.declared, prefix, value);
                    }
                }
                _ => attributes.push((attribute, value)),
            }
        };
        self.write_start(name, attributes, &mut open);
        self.open.push(open);
        if empty {
            self.end(name)?;
        }
        Some(rest)
    }

    fn write_start(&mut self, name: &'a str, attributes: Vec<(&'a str, String)>, open: &mut Open<'a>) {
        let mut used = vec![prefix_of(name)];
        used.extend(attributes.iter().map(|(name, _)| prefix_of(name)).filter(|prefix| !prefix.is_empty()));
        used.sort_unstable();
        used.dedup();
        self.output.push('<');
        self.output.push_str(name);
        for prefix in used {
            if prefix == "xml" {
                continue;
            }
            let namespace = in_force(&self.declared, prefix);
            // An undeclared prefix has nothing to declare, and no namespace is what a literal begins with.
            if namespace == in_force(&self.written, prefix) {
                continue;
            }
            self.output.push_str(if prefix.is_empty() { " xmlns" } else { " xmlns:" });
            self.output.push_str(prefix);
            let namespace = namespace.to_owned();
            write_value(&mut self.output, &namespace);
            declare(&mut self.written, &mut open.written, prefix, namespace);
        }
        let mut attributes: Vec<((&str, &str), &str, &str)> = attributes
            .iter()
            .map(|(name, value)| {
                let (prefix, local) = name.split_once(':').unwrap_or(("", name));
                let namespace = match prefix {
                    "" => "",
                    "xml" => "http://www.w3.org/XML/1998/namespace",
                    prefix => in_force(&self.declared, prefix),
                };
                ((namespace, local), *name, value.as_str())
            })
            .collect();
        attributes.sort_by_key(|(key, _, _)| *key);
        for (_, name, value) in attributes {
            self.output.push(' ');
            self.output.push_str(name);
            write_value(&mut self.output, value);
        }
        self.output.push('>');
    }

    fn end(&mut self, name: &str) -> Option<()> {
        let open = self.open.pop().filter(|open| open.name == name)?;
        for (scope, prefixes) in [(&mut self.declared, open.declared), (&mut self.written, open.written)] {
            for prefix in prefixes {
                scope.get_mut(prefix).map(Vec::pop);
            }
        }
        self.output.push_str("</");
        self.output.push_str(name);
        self.output.push('>');
        Some(())
    }
}

fn declare<'a>(scope: &mut Scope<'a>, by_element: &mut Vec<&'a str>, prefix: &'a str, namespace: String) {
    scope.entry(prefix).or_default().push(namespace);
    by_element.push(prefix);
}

fn in_force<'s>(scope: &'s Scope<'_>, prefix: &str) -> &'s str {
    scope.get(prefix).and_then(|namespaces| namespaces.last()).map_or("", String::as_str)
}

fn prefix_of(name: &str) -> &str {
    name.split_once(':').map_or("", |(prefix, _)| prefix)
}

fn write_value(output: &mut String, value: &str) {
    output.push_str("=\"");
    for c in value.chars() {
        match c {
            '&' => output.push_str("&amp;"),
            '<' => output.push_str("&lt;"),
            '"' => output.push_str("&quot;"),
            '\t' => output.push_str("&#x9;"),
            '\n' => output.push_str("&#xA;"),
            '\r' => output.push_str("&#xD;"),
            c => output.push(c),
        }
    }
    output.push('"');
}

/// Characters for references; in an attribute, white space as XML normalises it.
fn unescape(text: &str, attribute: bool) -> Option<String> {
    let mut plain = String::with_capacity(text.len());
    let push = |plain: &mut String, piece: &str| {
        if attribute && piece.contains(['\t', '\n', '\r']) {
            plain.push_str(&piece.replace("\r\n", " ").replace(['\t', '\n', '\r'], " "));
        } else {
            plain.push_str(piece);
        }
    };
    let mut rest = text;
    while let Some(start) = memchr::memchr(b'&', rest.as_bytes()) {
        push(&mut plain, &rest[..start]);
        let after = &rest[start + 1..];
        let end = memchr::memchr(b';', after.as_bytes())?;
        plain.push(match &after[..end] {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            "quot" => '"',
            "apos" => '\'',
            reference => {
                let number = reference.strip_prefix('#')?;
                let number = match number.strip_prefix('x') {
                    Some(digits) => u32::from_str_radix(digits, 16).ok()?,
                    None => number.parse().ok()?,
                };
                char::from_u32(number)?
            }
        });
        rest = &after[end + 1..];
    }
    push(&mut plain, rest);
    Some(plain)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::canonical;

    #[test]
    fn content_is_made_canonical() {
        for (content, expected) in [
            ("words", Some("words")),
            ("it&apos;s &quot;so&quot; &amp; &lt;b&gt; &#13;", Some("it's \"so\" &amp; &lt;b&gt; &#xD;")),
            ("<br/>", Some("<br></br>")),
            ("<br xmlns:rdf='urn:rdf' xmlns:eg='urn:eg'></br>", Some("<br></br>")),
            ("<b z='1' a='2'/>", Some("<b a=\"2\" z=\"1\"></b>")),
            (
                "<e:b xmlns:e='urn:e' xmlns='urn:d' xmlns:z='urn:a' e:q='1' p='2' z:r='3'><c/></e:b>",
                Some(
                    "<e:b xmlns:e=\"urn:e\" xmlns:z=\"urn:a\" p=\"2\" z:r=\"3\" e:q=\"1\"><c xmlns=\"urn:d\"></c></e:b>",
                ),
            ),
            // Declared again where a sibling needs it, not again where an ancestor has it.
            (
                "<a xmlns:p='urn:p'><p:b><p:c/></p:b><p:d/></a>",
                Some("<a><p:b xmlns:p=\"urn:p\"><p:c></p:c></p:b><p:d xmlns:p=\"urn:p\"></p:d></a>"),
            ),
            (
                "<a xmlns='urn:a'><b xmlns=''><c/></b></a>",
                Some("<a xmlns=\"urn:a\"><b xmlns=\"\"><c></c></b></a>"),
            ),
            ("<a xmlns='urn:a' xmlns='urn:b'/>", Some("<a xmlns=\"urn:a\"></a>")),
            ("<a xml:lang='en' t='x&#9;y\nz&quot;'/>", Some("<a t=\"x&#x9;y z&quot;\" xml:lang=\"en\"></a>")),
            ("<a><b></a></b>", None),
            ("<a>", None),
            ("</a>", None),
            ("a & b", None),
            ("a &unknown; b", None),
            ("<a b>", None),
            ("<", None),
        ] {
            assert_eq!(canonical(content).as_deref(), expected, "{content}");
        }
    }

    proptest! {
        #[test]
        fn canonical_content_is_its_own_canonical_form(
            content in "(<[ab:]{1,3}|</[ab:]{1,3}>|>|/>| xmlns(:[ab])?='u'| [ab:]{1,3}=\"é\"|&amp;|&#x0;|[<>&;'\"é]){0,12}"
        ) {
            if let Some(once) = canonical(&content) {
                prop_assert_eq!(canonical(&once), Some(once));
            }
        }
    }
}
