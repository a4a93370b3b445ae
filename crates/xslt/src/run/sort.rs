//! `xsl:sort`.
//!
//! Without `lang` and `case-order`, text is compared character by character, as the code points have it. With one of
//! them, letters come first, then accents, then case, as dictionaries have it.

use std::cmp::Ordering;

use super::Machine;
use crate::compile::program::Sort;
use crate::error::{Res, run_error};
use crate::tree::NodeId;
use crate::xpath::eval::Context;
use crate::xpath::value::Text;

/// What nodes are compared by.
enum SortKey<'t> {
    Number(f64),
    Text(Text<'t>),
    Dictionary(Vec<(u32, u32, bool)>),
}

/// How one `xsl:sort` compares.
struct Order {
    descending: bool,
    upper_first: bool,
}

impl<'t> Machine<'t> {
    /// Brings nodes into the order that `xsl:sort` asks for.
    pub(super) fn sort(&mut self, nodes: &mut [NodeId], sorts: &'t [Sort], context: &Context) -> Res<()> {
        let size = nodes.len();
        let mut orders = Vec::new();
        let mut columns: Vec<Vec<SortKey<'t>>> = Vec::new();
        for sort in sorts {
            let mut value = |avt: &'t Option<crate::compile::program::Avt>| -> Res<Option<String>> {
                match avt {
                    Some(avt) => Ok(Some(self.avt(avt, context)?.trim().to_owned())),
                    None => Ok(None),
                }
            };
            let descending = match value(&sort.order)?.as_deref() {
                None | Some("ascending") => false,
                Some("descending") => true,
                Some(other) => return Err(run_error(format!("xsl:sort has no order `{other}`"))),
            };
            let numbers = match value(&sort.data_type)?.as_deref() {
                None | Some("text") => false,
                Some("number") => true,
                Some(other) if other.contains(':') => false,
                Some(other) => return Err(run_error(format!("xsl:sort has no data-type `{other}`"))),
            };
            let case_order = value(&sort.case_order)?;
            let upper_first = match case_order.as_deref() {
                None | Some("lower-first") => false,
                Some("upper-first") => true,
                Some(other) => return Err(run_error(format!("xsl:sort has no case-order `{other}`"))),
            };
            let dictionary = case_order.is_some() || value(&sort.lang)?.is_some_and(|lang| !lang.is_empty());
            let mut column = Vec::with_capacity(size);
            for (number, node) in nodes.iter().enumerate() {
                let inner = Context { node: *node, position: number + 1, size, current: *node };
                self.budget.spend(2)?;
                column.push(if numbers {
                    SortKey::Number(self.number(&sort.select, &inner)?)
                } else {
                    let text = self.string(&sort.select, &inner)?;
                    if dictionary {
                        self.budget.spend_bytes(text.len() * 16)?;
                        SortKey::Dictionary(dictionary_key(&text))
                    } else {
                        SortKey::Text(text)
                    }
                });
            }
            columns.push(column);
            orders.push(Order { descending, upper_first });
        }
        self.budget.spend(size as u64 * u64::from(size.max(1).ilog2() + 1))?;
        let rest = |left: usize, right: usize| {
            for (column, order) in columns.iter().zip(&orders) {
                let mut ordering = compare(&column[left], &column[right], order);
                if order.descending {
                    ordering = ordering.reverse();
                }
                if ordering != Ordering::Equal {
                    return ordering;
                }
            }
            Ordering::Equal
        };
        // The start of the first text decides most comparisons; it lies beside the place.
        let descending = orders.first().is_some_and(|order| order.descending);
        let start = |key: &SortKey<'t>| match key {
            SortKey::Text(text) if descending => !first_bytes(text),
            SortKey::Text(text) => first_bytes(text),
            _ => 0,
        };
        let first = columns.first().map_or(&[][..], Vec::as_slice);
        let mut places: Vec<(u64, usize)> = first.iter().map(start).zip(0..size).collect();
        places.sort_by(|(left_start, left), (right_start, right)| {
            left_start.cmp(right_start).then_with(|| rest(*left, *right))
        });
        let sorted: Vec<NodeId> = places.into_iter().map(|(_, place)| nodes[place]).collect();
        nodes.copy_from_slice(&sorted);
        Ok(())
    }
}

/// The first eight bytes of a text as a number that compares as they do. What is shorter ends in zeros, which is less
/// than any character.
fn first_bytes(text: &str) -> u64 {
    let bytes = text.as_bytes();
    match bytes.first_chunk::<8>() {
        Some(first) => u64::from_be_bytes(*first),
        None => bytes
            .iter()
            .zip((0..64).step_by(8))
            .fold(0, |start, (byte, shift)| start | (u64::from(*byte) << (56 - shift))),
    }
}

fn compare(left: &SortKey<'_>, right: &SortKey<'_>, order: &Order) -> Ordering {
    match (left, right) {
        (SortKey::Number(left), SortKey::Number(right)) => {
            // NaN is less than any number.
            match (left.is_nan(), right.is_nan()) {
                (true, true) => Ordering::Equal,
                (true, false) => Ordering::Less,
                (false, true) => Ordering::Greater,
                _ => left.partial_cmp(right).unwrap_or(Ordering::Equal),
            }
        }
        (SortKey::Text(left), SortKey::Text(right)) => (**left).cmp(&**right),
        (SortKey::Dictionary(left), SortKey::Dictionary(right)) => {
            let bases = left.iter().map(|(base, ..)| base).cmp(right.iter().map(|(base, ..)| base));
            let accents =
                || left.iter().map(|(_, accent, _)| accent).cmp(right.iter().map(|(_, accent, _)| accent));
            let cases = || {
                let case = |(_, _, upper): &(u32, u32, bool)| *upper != order.upper_first;
                left.iter().map(case).cmp(right.iter().map(case))
            };
            bases.then_with(accents).then_with(cases)
        }
        _ => Ordering::Equal,
    }
}

/// For each character its letter, its accent and whether it is upper case. Letters come after everything else.
fn dictionary_key(text: &str) -> Vec<(u32, u32, bool)> {
    let mut key = Vec::new();
    for character in text.chars() {
        let upper = character.is_uppercase();
        for lower in character.to_lowercase() {
            let (base, accent) = without_accent(lower);
            if let Some(accents) = combining(lower)
                && let Some((_, last, _)) = key.last_mut()
            {
                *last = accents;
                continue;
            }
            let weight = if base.is_alphabetic() {
                0x20_0000 + base as u32
            } else if base.is_numeric() {
                0x10_0000 + base as u32
            } else {
                base as u32
            };
            key.push((weight, accent, upper));
        }
    }
    key
}

/// An accent that stands for itself.
fn combining(character: char) -> Option<u32> {
    ('\u{300}'..='\u{36f}').contains(&character).then_some(character as u32)
}

/// The letters of western alphabets without their accents; the accent is what tells the letters apart.
fn without_accent(character: char) -> (char, u32) {
    const GROUPS: &[(char, &str)] = &[
        ('a', "àáâãäåāăąǎ"),
        ('c', "çćĉċč"),
        ('d', "ďđ"),
        ('e', "èéêëēĕėęě"),
        ('g', "ĝğġģ"),
        ('h', "ĥħ"),
        ('i', "ìíîïĩīĭįı"),
        ('j', "ĵ"),
        ('k', "ķ"),
        ('l', "ĺļľŀł"),
        ('n', "ñńņňŉ"),
        ('o', "òóôõöøōŏő"),
        ('r', "ŕŗř"),
        ('s', "śŝşšș"),
        ('t', "ţťŧț"),
        ('u', "ùúûüũūŭůűų"),
        ('w', "ŵ"),
        ('y', "ýÿŷ"),
        ('z', "źżž"),
    ];
    if character.is_ascii() {
        return (character, 0);
    }
    for (base, accented) in GROUPS {
        if let Some(at) = accented.chars().position(|known| known == character) {
            return (*base, at as u32 + 1);
        }
    }
    (character, 0)
}
