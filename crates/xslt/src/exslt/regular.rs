//! `regexp:*`, on expressions that take time linear in the text: what they cannot do is an error.

use std::sync::Arc;

use regex::{Regex, RegexBuilder};

use crate::error::{Res, run_error};
use crate::run::Machine;
use crate::xpath::ast::{Expr, Extension};
use crate::xpath::eval::Context;
use crate::xpath::value::{NodeSet, Object};

/// Compiled expressions that are kept.
const KEPT_MAX: usize = 64;
/// Memory that one compiled expression may take.
const REGEX_BYTES_MAX: usize = 1 << 20;

impl<'t> Machine<'t> {
    pub(super) fn regex_extension(
        &mut self,
        extension: Extension,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        let text = self.string(&arguments[0], context)?;
        let pattern = self.string(&arguments[1], context)?;
        let flags = match arguments.get(2) {
            Some(argument) => self.string(argument, context)?.into_string(),
            None => String::new(),
        };
        let regex = self.regex(&pattern, flags.contains('i'))?;
        self.budget.spend_bytes(text.len() * 4)?;
        let global = flags.contains('g');
        match extension {
            Extension::RegexTest => Ok(Object::Boolean(regex.is_match(&text))),
            Extension::RegexMatch => {
                let mut found: Vec<String> = Vec::new();
                if global {
                    for one in regex.find_iter(&text) {
                        self.budget.spend(1 + one.len() as u64 / 64)?;
                        found.push(one.as_str().to_owned());
                    }
                } else if let Some(captures) = regex.captures(&text) {
                    found.extend(
                        captures
                            .iter()
                            .map(|group| group.map_or(String::new(), |group| group.as_str().to_owned())),
                    );
                }
                if found.is_empty() {
                    return Ok(Object::Nodes(NodeSet::empty()));
                }
                self.new_elements("match", &found).map(Object::Nodes)
            }
            _ => {
                let replacement = self.string(&arguments[3], context)?;
                let mut replaced = String::new();
                let mut last = 0;
                for captures in regex.captures_iter(&text) {
                    let Some(whole) = captures.get(0) else { continue };
                    replaced.push_str(&text[last..whole.start()]);
                    expand(&mut replaced, &replacement, &captures);
                    last = whole.end();
                    self.budget.spend(1 + replacement.len() as u64 / 16)?;
                    if replaced.len() > self.budget.memory_left() {
                        self.budget.hold(replaced.len())?;
                    }
                    if !global {
                        break;
                    }
                }
                replaced.push_str(&text[last..]);
                self.budget.spend_bytes(replaced.len())?;
                Ok(Object::text(replaced))
            }
        }
    }

    fn regex(&mut self, pattern: &str, ignore_case: bool) -> Res<Arc<Regex>> {
        let key = (pattern.to_owned(), ignore_case);
        if let Some(known) = self.regexes.get(&key) {
            return Ok(Arc::clone(known));
        }
        self.budget.spend(1000 + pattern.len() as u64 * 100)?;
        let regex = RegexBuilder::new(pattern)
            .case_insensitive(ignore_case)
            .size_limit(REGEX_BYTES_MAX)
            .dfa_size_limit(REGEX_BYTES_MAX)
            .build()
            .map_err(|error| {
                run_error(format!("the regular expression `{pattern}` cannot be used: {error}"))
            })?;
        let regex = Arc::new(regex);
        if self.regexes.len() >= KEPT_MAX {
            self.regexes.clear();
        }
        self.regexes.insert(key, Arc::clone(&regex));
        Ok(regex)
    }
}

/// Puts groups in the place of `$1`, and `$` in that of `$$`.
fn expand(out: &mut String, replacement: &str, captures: &regex::Captures<'_>) {
    let mut rest = replacement;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        let digits = rest.bytes().take(2).take_while(u8::is_ascii_digit).count();
        if digits > 0 {
            let number: usize = rest[..digits].parse().unwrap_or(0);
            out.push_str(captures.get(number).map_or("", |group| group.as_str()));
            rest = &rest[digits..];
        } else if rest.starts_with('$') {
            out.push('$');
            rest = &rest[1..];
        } else if rest.starts_with('&') {
            out.push_str(captures.get(0).map_or("", |group| group.as_str()));
            rest = &rest[1..];
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
}
