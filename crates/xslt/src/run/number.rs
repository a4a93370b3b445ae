//! `xsl:number`: counting, and writing numbers as digits, letters and Roman numerals.

use super::Machine;
use crate::compile::program::{Level, NumberInstruction};
use crate::error::Res;
use crate::tree::{NodeId, NodeKind};
use crate::xpath::eval::Context;
use crate::xpath::numbers;
use crate::xpath::pattern::Pattern;

/// How far a count got, so that the next node need not start over.
#[derive(Debug, Clone, Copy)]
pub(super) struct Counter {
    document: u32,
    parent: u32,
    name: u32,
    kind: NodeKind,
    last: u32,
    count: u64,
}

impl<'t> Machine<'t> {
    pub(super) fn numbered(&mut self, number: &'t NumberInstruction, context: &Context) -> Res<String> {
        let format = self.avt(&number.format, context)?;
        let separator = match &number.grouping_separator {
            Some(avt) => Some(self.avt(avt, context)?.into_string()),
            None => None,
        };
        let size = match &number.grouping_size {
            Some(avt) => numbers::parse(&self.avt(avt, context)?),
            None => 0.0,
        };
        let traditional = match &number.letter_value {
            Some(avt) => &*self.avt(avt, context)? == "traditional",
            None => false,
        };
        let grouping = match separator {
            Some(separator) if size >= 1.0 && !separator.is_empty() => Some((separator, size as usize)),
            _ => None,
        };
        let list = match &number.value {
            Some(value) => {
                let value = self.number(value, context)?;
                let rounded = numbers::round(value);
                if rounded.is_nan() || rounded.is_infinite() || rounded < 0.5 {
                    return Ok(numbers::format(value));
                }
                vec![rounded]
            }
            None => self.count_nodes(number, context.node)?.into_iter().map(|count| count as f64).collect(),
        };
        // Nothing was counted: not even what stands around a number is written.
        if list.is_empty() {
            return Ok(String::new());
        }
        let text = format_list(
            &list,
            &format,
            grouping.as_ref().map(|(text, size)| (text.as_str(), *size)),
            traditional,
        );
        self.budget.spend_bytes(text.len())?;
        Ok(text)
    }

    fn count_nodes(&mut self, number: &'t NumberInstruction, node: NodeId) -> Res<Vec<u64>> {
        match number.level {
            Level::Any => Ok(self.count_any(number, node)?.into_iter().collect()),
            Level::Single | Level::Multiple => {
                let mut counted = Vec::new();
                let mut at = Some(node);
                let mut first = true;
                while let Some(here) = at {
                    if !first
                        && let Some(from) = &number.from
                        && self.matches_any(from, here)?
                    {
                        break;
                    }
                    first = false;
                    if self.counts(number.count.as_deref(), here, node)? {
                        counted.push(here);
                        if number.level == Level::Single {
                            break;
                        }
                    }
                    at = self.parent(here);
                }
                let mut list = Vec::with_capacity(counted.len());
                for here in counted.into_iter().rev() {
                    list.push(self.count_siblings(number, here, node)?);
                }
                Ok(list)
            }
        }
    }

    /// Whether a node is counted: by the pattern, or because it is like the one that is numbered.
    fn counts(&mut self, patterns: Option<&[Pattern]>, node: NodeId, like: NodeId) -> Res<bool> {
        if let Some(patterns) = patterns {
            return self.matches_any(patterns, node);
        }
        if self.kind(node) != self.kind(like) || node.sub() != 0 {
            return Ok(node == like);
        }
        let tree = |node: NodeId| &self.world.trees.get(node.document()).tree;
        Ok(tree(node).node(node.index()).name == tree(like).node(like.index()).name)
    }

    /// Whether what is counted depends on nothing but the nodes, so that a count can go on where it stopped.
    fn is_plain(patterns: Option<&[Pattern]>) -> bool {
        patterns.is_none_or(|patterns| {
            patterns.iter().all(|pattern| pattern.steps.iter().all(|step| step.predicates.is_empty()))
        })
    }

    fn counter_key(number: &NumberInstruction) -> usize {
        std::ptr::from_ref(number) as usize
    }

    fn like(&self, node: NodeId) -> (u32, NodeKind) {
        let data = self.world.trees.get(node.document()).tree.node(node.index());
        (data.name, data.kind)
    }

    /// One more than the counted siblings before a node.
    fn count_siblings(&mut self, number: &'t NumberInstruction, node: NodeId, like: NodeId) -> Res<u64> {
        let tree = &self.world.trees.get(node.document()).tree;
        if node.sub() != 0 {
            return Ok(1);
        }
        let document = node.document();
        let parent = tree.node(node.index()).parent;
        let (name, kind) = self.like(like);
        let key = Self::counter_key(number);
        let plain = Self::is_plain(number.count.as_deref());
        let mut stop = None;
        if plain
            && let Some(counter) = self.numbered.get(&key)
            && counter.document == document
            && counter.parent == parent
            && (counter.name, counter.kind) == (name, kind)
            && counter.last <= node.index()
        {
            stop = Some((counter.last, counter.count));
        }
        let mut count = 1;
        let mut at = node.index();
        loop {
            if let Some((last, known)) = stop
                && at == last
            {
                count = known + count - 1;
                break;
            }
            let Some(previous) = tree.previous_sibling(at) else { break };
            at = previous;
            self.budget.spend(1)?;
            if stop.is_some_and(|(last, _)| last == at)
                || self.counts(number.count.as_deref(), NodeId::new(document, at), like)?
            {
                count += 1;
            }
        }
        if plain {
            self.numbered.insert(key, Counter { document, parent, name, kind, last: node.index(), count });
        }
        Ok(count)
    }

    /// The counted nodes up to a node anywhere in the document, after the last that matches `from`.
    fn count_any(&mut self, number: &'t NumberInstruction, node: NodeId) -> Res<Option<u64>> {
        if node.sub() != 0 {
            return Ok(Some(1));
        }
        let tree = &self.world.trees.get(node.document()).tree;
        let document = node.document();
        let (name, kind) = self.like(node);
        let key = Self::counter_key(number);
        let plain = Self::is_plain(number.count.as_deref()) && Self::is_plain(number.from.as_deref());
        let mut count = 0;
        let mut start = 0;
        if plain
            && let Some(counter) = self.numbered.get(&key)
            && counter.document == document
            && (counter.name, counter.kind) == (name, kind)
            && counter.last <= node.index()
        {
            count = counter.count;
            start = counter.last + 1;
        }
        for at in start..=node.index() {
            // Other attributes do not come before a node; only the node itself may be one.
            if tree.node(at).kind == NodeKind::Attribute && at != node.index() {
                continue;
            }
            self.budget.spend(1)?;
            let here = NodeId::new(document, at);
            if let Some(from) = &number.from
                && at != node.index()
                && self.matches_any(from, here)?
            {
                count = 0;
                continue;
            }
            if self.counts(number.count.as_deref(), here, node)? {
                count += 1;
            }
        }
        if plain && kind != NodeKind::Attribute {
            // Whether the node itself matches `from` matters to those after it.
            let reset = match &number.from {
                Some(from) => self.matches_any(from, node)?,
                None => false,
            };
            let remembered = if reset { 0 } else { count };
            self.numbered.insert(
                key,
                Counter { document, parent: 0, name, kind, last: node.index(), count: remembered },
            );
            if reset {
                return Ok(Some(count));
            }
        }
        Ok(if count == 0 && number.count.is_none() { None } else { Some(count) })
    }
}

/// A token of a format string, and what stands before it.
struct FormatToken<'f> {
    separator: &'f str,
    token: &'f str,
}

fn format_list(list: &[f64], format: &str, grouping: Option<(&str, usize)>, traditional: bool) -> String {
    let mut tokens: Vec<FormatToken<'_>> = Vec::new();
    let mut rest = format;
    let alphanumeric = |character: char| character.is_alphanumeric();
    let suffix;
    loop {
        let Some(start) = rest.find(alphanumeric) else {
            suffix = rest;
            break;
        };
        let length = rest[start..].find(|character| !alphanumeric(character)).unwrap_or(rest.len() - start);
        tokens.push(FormatToken { separator: &rest[..start], token: &rest[start..start + length] });
        rest = &rest[start + length..];
    }
    // A format without any token is both prefix and suffix of the number.
    let (prefix, suffix) = match tokens.first() {
        Some(first) => (first.separator, suffix),
        None => (suffix, if tokens.is_empty() && !list.is_empty() { suffix } else { "" }),
    };
    let mut text = String::from(prefix);
    for (at, number) in list.iter().enumerate() {
        let token = tokens.get(at).or(tokens.last());
        if at > 0 {
            text.push_str(match token {
                Some(token) if tokens.len() > 1 => token.separator,
                _ => ".",
            });
        }
        write_number(&mut text, *number, token.map_or("1", |token| token.token), grouping, traditional);
    }
    text.push_str(suffix);
    text
}

fn write_number(
    out: &mut String,
    number: f64,
    token: &str,
    grouping: Option<(&str, usize)>,
    _traditional: bool,
) {
    let whole = number as u64;
    let small = number < 1e15 && whole > 0;
    match token {
        "a" if small => letters(out, whole, 'a', 26),
        "A" if small => letters(out, whole, 'A', 26),
        "i" if small && whole < 5000 => out.push_str(&roman(whole).to_lowercase()),
        "I" if small && whole < 5000 => out.push_str(&roman(whole)),
        // Greek has a second sigma, which is not a letter of its own.
        "\u{3b1}" if small => greek(out, whole, '\u{3b1}'),
        "\u{391}" if small => greek(out, whole, '\u{391}'),
        _ => {
            let last = token.chars().last().unwrap_or('1');
            let zero = zero_of(last).unwrap_or('0');
            let is_digits = zero_of(last).is_some() && token.chars().rev().skip(1).all(|digit| digit == zero);
            let width = if is_digits && char::from_u32(zero as u32 + 1) == Some(last) {
                token.chars().count()
            } else {
                1
            };
            digits(out, number, width.min(1000), zero, grouping);
        }
    }
}

/// The zero of the decimal digits that a digit one belongs to.
fn zero_of(one: char) -> Option<char> {
    const ZEROS: &[u32] = &[
        0x30, 0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xe50,
        0xed0, 0xf20, 0x1040, 0x17e0, 0x1810, 0xff10,
    ];
    ZEROS
        .iter()
        .find(|zero| (**zero..**zero + 10).contains(&(one as u32)))
        .and_then(|zero| char::from_u32(*zero))
}

fn digits(out: &mut String, number: f64, width: usize, zero: char, grouping: Option<(&str, usize)>) {
    let plain = numbers::format(number);
    let padded = format!("{plain:0>width$}");
    let count = padded.len();
    for (at, digit) in padded.chars().enumerate() {
        if let Some((separator, size)) = grouping
            && at > 0
            && (count - at).is_multiple_of(size)
        {
            out.push_str(separator);
        }
        let shifted = digit.to_digit(10).and_then(|digit| char::from_u32(zero as u32 + digit));
        out.push(shifted.unwrap_or(digit));
    }
}

fn letters(out: &mut String, mut number: u64, first: char, count: u64) {
    let mut reversed = Vec::new();
    while number > 0 {
        number -= 1;
        reversed.push(char::from_u32(first as u32 + (number % count) as u32).unwrap_or(first));
        number /= count;
    }
    out.extend(reversed.iter().rev());
}

fn greek(out: &mut String, number: u64, first: char) {
    let mut text = String::new();
    letters(&mut text, number, '\u{0}', 24);
    out.extend(text.chars().map(|letter| {
        let offset = letter as u32;
        let offset = if offset >= 17 { offset + 1 } else { offset };
        char::from_u32(first as u32 + offset).unwrap_or(first)
    }));
}

fn roman(mut number: u64) -> String {
    const PARTS: &[(u64, &str)] = &[
        (1000, "M"),
        (900, "CM"),
        (500, "D"),
        (400, "CD"),
        (100, "C"),
        (90, "XC"),
        (50, "L"),
        (40, "XL"),
        (10, "X"),
        (9, "IX"),
        (5, "V"),
        (4, "IV"),
        (1, "I"),
    ];
    let mut text = String::new();
    for (value, letters) in PARTS {
        while number >= *value {
            text.push_str(letters);
            number -= value;
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_the_format_says() {
        for (list, format, expected) in [
            (vec![1.0, 2.0, 3.0], "1.1", "1.2.3"),
            (vec![4.0], "(a)", "(d)"),
            (vec![28.0], "A", "AB"),
            (vec![1994.0], "i", "mcmxciv"),
            (vec![7.0], "001", "007"),
            (vec![2.0, 3.0], "1) a: ", "2) c: "),
            (vec![5.0], "", "5"),
            (vec![1.0, 2.0], "1", "1.2"),
        ] {
            assert_eq!(format_list(&list, format, None, false), expected, "{format}");
        }
        assert_eq!(format_list(&[1_234_567.0], "1", Some((",", 3)), false), "1,234,567");
    }
}
