//! Tells N-Triples, N-Quads, Turtle and TriG from other text, and from each other.
//!
//! A tokeniser so small that it cannot be wrong about much: IRIs in angle brackets, strings, comments,
//! words. What it cannot tokenise is not RDF. It sees the first 64 KiB, so a text may break off
//! anywhere.

use webloom_model::DocumentKind;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Token<'a> {
    Iri(&'a str),
    Blank,
    String,
    Word(&'a str),
    Punctuation(u8),
}

/// The RDF syntax of `head`, if it is one beyond doubt. `hinted` is what server or URL say it is.
pub(crate) fn kind(head: &str, hinted: Option<DocumentKind>) -> Option<DocumentKind> {
    let hinted = hinted.filter(|kind| {
        matches!(
            kind,
            DocumentKind::Turtle | DocumentKind::TriG | DocumentKind::NTriples | DocumentKind::NQuads
        )
    });
    let mut tokens = Tokens { rest: head.trim_start_matches('\u{feff}') };
    let mut directives = 0;
    // A statement of the line formats is three or four terms and a full stop.
    let mut terms = 0;
    let mut triples = 0;
    let mut quads = 0;
    let mut only_lines = true;
    let mut braces = false;
    let mut first = true;
    while let Some(token) = tokens.next() {
        let Some(token) = token else {
            only_lines = only_lines && triples + quads > 0 && tokens.rest.len() < 2048;
            break;
        };
        match token {
            Token::Word("@prefix" | "@base") => {
                directives += u32::from(tokens.directive_follows());
                only_lines = false;
            }
            Token::Word(word) if word.eq_ignore_ascii_case("prefix") || word.eq_ignore_ascii_case("base") => {
                if tokens.directive_follows() {
                    directives += 1;
                    only_lines = false;
                } else if first {
                    return hinted;
                }
            }
            // What follows a prologue in a SPARQL query or update, and never in Turtle.
            Token::Word(word)
                if terms == 0
                    && ["select", "construct", "ask", "describe", "insert", "delete"]
                        .iter()
                        .any(|keyword| word.eq_ignore_ascii_case(keyword)) =>
            {
                return None;
            }
            Token::Iri(iri) => {
                only_lines &= terms < 4 && (iri.contains(':'));
                terms += 1;
            }
            Token::Blank => {
                only_lines &= matches!(terms, 0 | 2 | 3);
                terms += 1;
            }
            Token::String => {
                only_lines &= terms == 2;
                terms += 1;
            }
            Token::Punctuation(b'.') => {
                match terms {
                    3 => triples += 1,
                    4 => quads += 1,
                    0 => {}
                    _ => only_lines = false,
                }
                terms = 0;
            }
            Token::Punctuation(brace) => {
                braces |= brace == b'{' && (directives > 0 || hinted.is_some() || triples > 0 || first);
                only_lines = false;
            }
            Token::Word(_) => only_lines = false,
        }
        first = false;
        if triples + quads >= 200 && only_lines {
            break;
        }
    }
    if only_lines && triples + quads > 0 {
        return Some(match hinted {
            _ if quads > 0 => {
                if hinted == Some(DocumentKind::TriG) {
                    DocumentKind::TriG
                } else {
                    DocumentKind::NQuads
                }
            }
            // Every N-Triples document is each of the others too, so the hint may stand.
            Some(kind) => kind,
            None => DocumentKind::NTriples,
        });
    }
    if directives > 0 {
        let wide = braces || hinted == Some(DocumentKind::TriG);
        return Some(if wide { DocumentKind::TriG } else { DocumentKind::Turtle });
    }
    match hinted {
        Some(DocumentKind::Turtle) if braces => Some(DocumentKind::TriG),
        hinted => hinted,
    }
}

struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    /// The next token; nothing at the end; a hole where the text is not RDF or breaks off.
    fn next(&mut self) -> Option<Option<Token<'a>>> {
        loop {
            self.rest = self.rest.trim_ascii_start();
            match self.rest.strip_prefix('#') {
                Some(comment) => {
                    self.rest = comment.split_once(['\n', '\r']).map_or("", |(_, rest)| rest);
                }
                None => break,
            }
        }
        let first = *self.rest.as_bytes().first()?;
        Some(match first {
            b'<' => self.iri(),
            b'"' | b'\'' => self.string(),
            b'_' if self.rest.starts_with("_:") => {
                self.word();
                Some(Token::Blank)
            }
            b'.' | b';' | b',' | b'[' | b']' | b'(' | b')' | b'{' | b'}' => {
                self.rest = &self.rest[1..];
                Some(Token::Punctuation(first))
            }
            _ => Some(Token::Word(self.word())),
        })
    }

    fn iri(&mut self) -> Option<Token<'a>> {
        let body = &self.rest[1..];
        let end = body.find(['>', '<', '"', ' ', '\n', '{', '}'])?;
        if body.as_bytes()[end] != b'>' {
            return None;
        }
        self.rest = &body[end + 1..];
        Some(Token::Iri(&body[..end]))
    }

    fn string(&mut self) -> Option<Token<'a>> {
        let quote = &self.rest[..1];
        let triple = quote.repeat(3);
        let delimiter = if self.rest.starts_with(&triple) { triple.as_str() } else { quote };
        let body = &self.rest[delimiter.len()..];
        let bytes = body.as_bytes();
        let mut index = 0;
        while index < bytes.len() {
            match bytes[index] {
                b'\\' => index += 1,
                b'\n' if delimiter.len() == 1 => return None,
                _ if bytes[index..].starts_with(delimiter.as_bytes()) => {
                    self.rest = &body[index + delimiter.len()..];
                    // Language tag or datatype belong to the literal.
                    if self.rest.starts_with('@') {
                        self.word();
                    } else if let Some(datatype) = self.rest.strip_prefix("^^") {
                        self.rest = datatype;
                        if datatype.starts_with('<') {
                            self.iri()?;
                        } else {
                            self.word();
                        }
                    }
                    return Some(Token::String);
                }
                _ => {}
            }
            index += 1;
        }
        None
    }

    fn word(&mut self) -> &'a str {
        let end = self
            .rest
            .char_indices()
            .find(|&(index, c)| {
                index > 0
                    && (c.is_ascii_whitespace()
                        || matches!(c, '<' | '"' | ';' | ',' | '[' | ']' | '(' | ')' | '{' | '}' | '#'))
            })
            .map_or(self.rest.len(), |(index, _)| index);
        // A full stop ends the statement unless something of the name follows it.
        let word = self.rest[..end].trim_end_matches('.');
        let word = if word.is_empty() { &self.rest[..end] } else { word };
        self.rest = &self.rest[word.len()..];
        word
    }

    /// After `@prefix` or `@base`: an optional `name:` and an IRI. Consumes them.
    fn directive_follows(&mut self) -> bool {
        let saved = self.rest;
        let name = self.rest.trim_ascii_start();
        if !name.starts_with('<') {
            self.rest = name;
            if name.is_empty() || !self.word().ends_with(':') {
                self.rest = saved;
                return false;
            }
        }
        if matches!(self.next(), Some(Some(Token::Iri(_)))) {
            return true;
        }
        self.rest = saved;
        false
    }
}
