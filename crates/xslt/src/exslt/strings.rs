//! `str:*`

use crate::error::{Limit, Res, limit_error};
use crate::run::Machine;
use crate::xpath::ast::{Expr, Extension};
use crate::xpath::eval::Context;
use crate::xpath::value::{Object, Text};

impl<'t> Machine<'t> {
    pub(super) fn string_extension(
        &mut self,
        extension: Extension,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        match extension {
            Extension::Tokenize => {
                let text = self.string(&arguments[0], context)?;
                let delimiters = match arguments.get(1) {
                    Some(argument) => self.string(argument, context)?,
                    None => Text::Borrowed("\t\r\n "),
                };
                self.budget.spend_bytes(text.len() * 8)?;
                let tokens: Vec<String> = if delimiters.is_empty() {
                    text.chars().map(String::from).collect()
                } else {
                    text.split(|character| delimiters.contains(character))
                        .filter(|token| !token.is_empty())
                        .map(str::to_owned)
                        .collect()
                };
                self.new_elements("token", &tokens).map(Object::Nodes)
            }
            Extension::Split => {
                let text = self.string(&arguments[0], context)?;
                let pattern = match arguments.get(1) {
                    Some(argument) => self.string(argument, context)?,
                    None => Text::Borrowed(" "),
                };
                self.budget.spend_bytes(text.len() * 8)?;
                let tokens: Vec<String> = if pattern.is_empty() {
                    text.chars().map(String::from).collect()
                } else {
                    text.split(&*pattern).filter(|token| !token.is_empty()).map(str::to_owned).collect()
                };
                self.new_elements("token", &tokens).map(Object::Nodes)
            }
            Extension::Replace => self.replace(arguments, context),
            Extension::Padding => {
                let length = self.number(&arguments[0], context)?;
                let filler = match arguments.get(1) {
                    Some(argument) => self.string(argument, context)?,
                    None => Text::Borrowed(" "),
                };
                if length.is_nan() || length < 1.0 || filler.is_empty() {
                    return Ok(Object::text(""));
                }
                if length > self.budget.memory_left() as f64 / 4.0 {
                    return Err(limit_error(
                        Limit::MemoryBytes,
                        "str:padding() is asked for more than there may be (limit memory_bytes_max)",
                    ));
                }
                self.budget.spend_bytes(length as usize)?;
                Ok(Object::text(filler.chars().cycle().take(length as usize).collect::<String>()))
            }
            Extension::Align => {
                let text = self.string(&arguments[0], context)?;
                let padding = self.string(&arguments[1], context)?;
                let alignment = match arguments.get(2) {
                    Some(argument) => self.string(argument, context)?,
                    None => Text::Borrowed("left"),
                };
                self.budget.spend_bytes(text.len() + padding.len())?;
                Ok(Object::text(align(&text, &padding, &alignment)))
            }
            Extension::ConcatNodes => {
                let nodes = self.nodes(&arguments[0], context)?;
                let mut joined = String::new();
                for node in &*nodes {
                    let text = self.string_of(*node);
                    self.budget.spend_bytes(text.len() + 64)?;
                    joined.push_str(&text);
                    self.budget.spend_bytes(if joined.len() > 1 << 20 { joined.len() / 64 } else { 0 })?;
                }
                self.budget.spend_bytes(joined.len())?;
                Ok(Object::text(joined))
            }
            Extension::EncodeUri => {
                let text = self.string(&arguments[0], context)?;
                let reserved = self.truth(&arguments[1], context)?;
                self.budget.spend_bytes(text.len() * 3)?;
                Ok(Object::text(encode_uri(&text, reserved)))
            }
            _ => {
                let text = self.string(&arguments[0], context)?;
                self.budget.spend_bytes(text.len())?;
                Ok(Object::text(decode_uri(&text)))
            }
        }
    }

    /// `str:replace()`: what is searched for and put in may be lists of nodes.
    fn replace(&mut self, arguments: &[Expr], context: &Context) -> Res<Object<'t>> {
        let text = self.string(&arguments[0], context)?;
        let mut list = |argument: &Expr| -> Res<Vec<String>> {
            Ok(match self.eval(argument, context)? {
                Object::Nodes(nodes) => {
                    nodes.iter().map(|node| self.string_of(*node).into_string()).collect()
                }
                other => vec![self.to_text(other).into_string()],
            })
        };
        let searches = list(&arguments[1])?;
        let replacements = list(&arguments[2])?;
        let mut pairs: Vec<(&str, &str)> = searches
            .iter()
            .enumerate()
            .map(|(at, search)| (search.as_str(), replacements.get(at).map_or("", String::as_str)))
            .filter(|(search, _)| !search.is_empty())
            .collect();
        // The longest comes first.
        pairs.sort_by_key(|(search, _)| std::cmp::Reverse(search.len()));
        let mut replaced = String::new();
        let mut rest: &str = &text;
        self.budget.spend_bytes(text.len().saturating_mul(pairs.len().max(1)))?;
        while let Some(character) = rest.chars().next() {
            match pairs.iter().find(|(search, _)| rest.starts_with(search)) {
                Some((search, replacement)) => {
                    replaced.push_str(replacement);
                    rest = &rest[search.len()..];
                    self.budget.spend(1 + replacement.len() as u64 / 64)?;
                    if replaced.len() > self.budget.memory_left() {
                        self.budget.hold(replaced.len())?;
                    }
                }
                None => {
                    replaced.push(character);
                    rest = &rest[character.len_utf8()..];
                }
            }
        }
        self.budget.spend_bytes(replaced.len())?;
        // EXSLT asks for nodes, but everybody uses the string.
        Ok(Object::text(replaced))
    }
}

fn align(text: &str, padding: &str, alignment: &str) -> String {
    let (length, width) = (text.chars().count(), padding.chars().count());
    if length >= width {
        return text.chars().take(width).collect();
    }
    let before = match alignment {
        "right" => width - length,
        "center" => (width - length) / 2,
        _ => 0,
    };
    let start: String = padding.chars().take(before).collect();
    let end: String = padding.chars().skip(before + length).collect();
    format!("{start}{text}{end}")
}

fn encode_uri(text: &str, reserved: bool) -> String {
    use std::fmt::Write;
    let mut encoded = String::with_capacity(text.len());
    for (at, byte) in text.bytes().enumerate() {
        let keep = match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' => true,
            b'-' | b'_' | b'.' | b'!' | b'~' | b'*' | b'\'' | b'(' | b')' => true,
            b';' | b'/' | b'?' | b':' | b'@' | b'&' | b'=' | b'+' | b'$' | b',' | b'[' | b']' => !reserved,
            b'%' => {
                !reserved
                    && text
                        .as_bytes()
                        .get(at + 1..at + 3)
                        .is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
            }
            _ => false,
        };
        if keep {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    encoded
}

fn decode_uri(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut decoded = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).and_then(|hex| {
            let high = char::from(hex[0]).to_digit(16)?;
            let low = char::from(hex[1]).to_digit(16)?;
            Some((high * 16 + low) as u8)
        });
        match (bytes[at], hex) {
            (b'%', Some(byte)) => {
                decoded.push(byte);
                at += 3;
            }
            (byte, _) => {
                decoded.push(byte);
                at += 1;
            }
        }
    }
    String::from_utf8(decoded).unwrap_or_default()
}
