//! Splits an expression into tokens, with XPath's rules for what `*` and names are.

use crate::error::{ErrorKind, Res, XsltError};
use crate::xml::characters::name_length;

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Token<'s> {
    Number(f64),
    Literal(&'s str),
    /// `$name`, without the dollar.
    Variable(&'s str),
    /// A name, `prefix:*` or `*`.
    Name(&'s str),
    /// A name before `(`.
    Function(&'s str),
    /// `text`, `comment`, `node` or `processing-instruction` before `(`.
    NodeType(&'s str),
    /// A name before `::`.
    Axis(&'s str),
    /// Everything else, operator names too.
    Symbol(&'static str),
}

const SYMBOLS: &[&str] = &[
    "::", "..", "//", "!=", "<=", ">=", "(", ")", "[", "]", ".", "@", ",", "/", "|", "+", "-", "=", "<", ">",
];

/// Longest expression that is read.
const EXPRESSION_BYTES_MAX: usize = 1 << 20;

pub(crate) fn wrong(message: impl Into<String>) -> Box<XsltError> {
    XsltError::new(ErrorKind::XPath, message)
}

/// All tokens of an expression.
pub(crate) fn tokens(source: &str) -> Res<Vec<Token<'_>>> {
    if source.len() > EXPRESSION_BYTES_MAX {
        return Err(wrong("the expression is longer than a megabyte"));
    }
    let mut tokens = Vec::new();
    let bytes = source.as_bytes();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let rest = &source[at..];
        match byte {
            b' ' | b'\t' | b'\n' | b'\r' => at += 1,
            b'"' | b'\'' => {
                let Some(length) = rest[1..].find(char::from(byte)) else {
                    return Err(wrong(format!("a string is not closed in `{source}`")));
                };
                tokens.push(Token::Literal(&rest[1..=length]));
                at += length + 2;
            }
            b'0'..=b'9' => at += number(rest, &mut tokens),
            b'.' if bytes.get(at + 1).is_some_and(u8::is_ascii_digit) => at += number(rest, &mut tokens),
            b'$' => {
                let space = rest[1..].len() - rest[1..].trim_start().len();
                let length = qname_length(&rest[1 + space..]);
                if length == 0 {
                    return Err(wrong(format!("`$` has no name after it in `{source}`")));
                }
                tokens.push(Token::Variable(&rest[1 + space..1 + space + length]));
                at += 1 + space + length;
            }
            b'*' => {
                tokens.push(if after_operand(&tokens) { Token::Symbol("*") } else { Token::Name("*") });
                at += 1;
            }
            _ if qname_length(rest) > 0 => {
                if after_operand(&tokens) {
                    let length = ncname_length(rest);
                    let operator = match &rest[..length] {
                        "and" => "and",
                        "or" => "or",
                        "mod" => "mod",
                        "div" => "div",
                        other => {
                            return Err(wrong(format!("`{other}` is not an operator in `{source}`")));
                        }
                    };
                    tokens.push(Token::Symbol(operator));
                    at += length;
                    continue;
                }
                let mut length = qname_length(rest);
                if rest[length..].starts_with(":*") && !rest[..length].contains(':') {
                    tokens.push(Token::Name(&rest[..length + 2]));
                    at += length + 2;
                    continue;
                }
                let mut following = rest[length..].trim_start();
                if following.starts_with("::") && rest[..length].contains(':') {
                    // The second half of `a:b::` cannot be an axis; let the parser complain about the first.
                    length = ncname_length(rest);
                    following = rest[length..].trim_start();
                }
                let name = &rest[..length];
                tokens.push(if following.starts_with("::") {
                    Token::Axis(name)
                } else if following.starts_with('(') {
                    if matches!(name, "text" | "comment" | "node" | "processing-instruction") {
                        Token::NodeType(name)
                    } else {
                        Token::Function(name)
                    }
                } else {
                    Token::Name(name)
                });
                at += length;
            }
            _ => {
                let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) else {
                    let character = rest.chars().next().unwrap_or(' ');
                    return Err(wrong(format!("`{character}` is not allowed in `{source}`")));
                };
                tokens.push(Token::Symbol(symbol));
                at += symbol.len();
            }
        }
    }
    Ok(tokens)
}

/// Whether the token before this one ends an operand, so that what follows must be an operator.
fn after_operand(tokens: &[Token<'_>]) -> bool {
    match tokens.last() {
        None | Some(Token::Axis(_)) => false,
        Some(Token::Symbol(symbol)) => matches!(*symbol, ")" | "]" | "." | ".."),
        Some(_) => true,
    }
}

fn number<'s>(rest: &'s str, tokens: &mut Vec<Token<'s>>) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(rest);
    if rest[length..].starts_with('.') {
        length += 1 + digits(&rest[length + 1..]);
    }
    tokens.push(Token::Number(super::numbers::parse(&rest[..length])));
    length
}

fn ncname_length(text: &str) -> usize {
    let length = name_length(text);
    text[..length].find(':').unwrap_or(length)
}

fn qname_length(text: &str) -> usize {
    let first = ncname_length(text);
    if first == 0 || !text[first..].starts_with(':') {
        return first;
    }
    match ncname_length(&text[first + 1..]) {
        0 => first,
        second => first + 1 + second,
    }
}
