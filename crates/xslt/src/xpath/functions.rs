//! The functions of XPath 1.0.

use std::sync::Arc;

use super::ast::{Expr, Function, Variable};
use super::eval::{Context, to_boolean};
use super::numbers;
use super::value::{NodeSet, Object, Text};
use crate::error::{Res, run_error};
use crate::run::Machine;
use crate::tree::{NodeId, NodeKind, XML_NAMESPACE, is_space};

impl<'t> Machine<'t> {
    /// Calls a function.
    pub(crate) fn call(
        &mut self,
        function: Function,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        self.budget.spend(1)?;
        Ok(match function {
            Function::Last => Object::Number(context.size as f64),
            Function::Position => Object::Number(context.position as f64),
            Function::Current => Object::Nodes(NodeSet::One(context.current)),
            Function::Count => Object::Number(self.count(&arguments[0], context)? as f64),
            Function::Id => Object::Nodes(self.id(&arguments[0], context)?),
            Function::LocalName => {
                let node = self.node_argument(arguments, context)?;
                Object::Text(node.map_or(Text::Borrowed(""), |node| self.local_name(node)))
            }
            Function::NamespaceUri => {
                let node = self.node_argument(arguments, context)?;
                Object::Text(node.map_or(Text::Borrowed(""), |node| self.namespace_uri(node)))
            }
            Function::Name => {
                let node = self.node_argument(arguments, context)?;
                Object::Text(node.map_or(Text::Borrowed(""), |node| self.qualified_name(node)))
            }
            Function::GenerateId => {
                let node = self.node_argument(arguments, context)?;
                Object::text(node.map_or(String::new(), |node| {
                    format!("id{:x}", node.number() >> 12 << 12 | node.sub() as u64)
                }))
            }
            Function::String => Object::Text(self.text_argument(arguments, context)?),
            Function::Concat => {
                let mut joined = String::with_capacity(32);
                for argument in arguments {
                    self.append(argument, context, &mut joined)?;
                }
                self.budget.spend_bytes(joined.len())?;
                Object::text(joined)
            }
            Function::StartsWith => {
                let (text, start) = self.two_texts(arguments, context)?;
                Object::Boolean(text.starts_with(&*start))
            }
            Function::Contains => {
                if let (Some(text), Some(part)) =
                    (self.ready_text(&arguments[0]), self.ready_text(&arguments[1]))
                {
                    let (length, found) = (text.len(), find(text, part).is_some());
                    self.budget.spend_bytes(length)?;
                    return Ok(Object::Boolean(found));
                }
                let (text, part) = self.two_texts(arguments, context)?;
                self.budget.spend_bytes(text.len())?;
                Object::Boolean(find(&text, &part).is_some())
            }
            Function::SubstringBefore => {
                let (text, part) = self.two_texts(arguments, context)?;
                self.budget.spend_bytes(text.len())?;
                let end = find(&text, &part).unwrap_or(0);
                Object::Text(slice(text, 0, end))
            }
            Function::SubstringAfter => {
                let (text, part) = self.two_texts(arguments, context)?;
                self.budget.spend_bytes(text.len())?;
                let length = text.len();
                let start = find(&text, &part).map_or(length, |at| at + part.len());
                Object::Text(slice(text, start, length))
            }
            Function::Substring => self.substring(arguments, context)?,
            Function::StringLength => {
                let text = self.text_argument(arguments, context)?;
                self.budget.spend_bytes(text.len())?;
                Object::Number(text.chars().count() as f64)
            }
            Function::NormalizeSpace => {
                let text = self.text_argument(arguments, context)?;
                self.budget.spend_bytes(text.len())?;
                Object::Text(normalize_space(text))
            }
            Function::Translate => {
                let text = self.string(&arguments[0], context)?;
                let from = self.string_near(&arguments[1], context)?;
                let to = self.string_near(&arguments[2], context)?;
                self.budget.spend_bytes(text.len())?;
                self.budget.spend_bytes(from.len() + to.len())?;
                // What is computed is seldom the same again.
                let is_fixed =
                    |expr: &Expr| matches!(expr, Expr::Literal(_) | Expr::Variable(Variable::Global(_)));
                if arguments[1..].iter().all(is_fixed)
                    && let Some(table) = self.translation(&from, &to)
                {
                    return Ok(Object::Text(table.translate(text)));
                }
                Object::text(translate(&text, &from, &to))
            }
            Function::Boolean => Object::Boolean(self.boolean(&arguments[0], context)?),
            Function::Not => Object::Boolean(!self.boolean(&arguments[0], context)?),
            Function::True => Object::Boolean(true),
            Function::False => Object::Boolean(false),
            Function::Lang => {
                let wanted = self.string(&arguments[0], context)?;
                Object::Boolean(self.lang(&wanted, context.node))
            }
            Function::Number => Object::Number(match arguments {
                [argument] => self.number(argument, context)?,
                _ => numbers::parse(&self.string_of(context.node)),
            }),
            Function::Sum => {
                let nodes = self.nodes(&arguments[0], context)?;
                self.budget.spend(nodes.len() as u64)?;
                let mut sum = 0.0;
                for node in &*nodes {
                    sum += numbers::parse(&self.string_of(*node));
                }
                Object::Number(sum)
            }
            Function::Floor => Object::Number(self.number(&arguments[0], context)?.floor()),
            Function::Ceiling => Object::Number(self.number(&arguments[0], context)?.ceil()),
            Function::Round => Object::Number(numbers::round(self.number(&arguments[0], context)?)),
            Function::UnparsedEntityUri => {
                let name = self.string(&arguments[0], context)?;
                let tree = &self.world.trees.get(context.node.document()).tree;
                Object::text(tree.unparsed_entities.get(&*name).map_or("", String::as_str))
            }
            Function::FormatNumber => self.format_number(arguments, None, context)?,
            Function::User(number) => self.call_function(number, arguments, context)?,
            Function::Extension(extension) => self.extension(extension, arguments, context)?,
            Function::Document
            | Function::Key
            | Function::SystemProperty
            | Function::ElementAvailable
            | Function::FunctionAvailable => {
                return Err(run_error("this function cannot be called here"));
            }
        })
    }

    /// The string value of the only argument, or of the context node.
    fn text_argument(&mut self, arguments: &[Expr], context: &Context) -> Res<Text<'t>> {
        match arguments {
            [argument] => self.string(argument, context),
            _ => Ok(self.string_of(context.node)),
        }
    }

    /// The first node of the only argument, or the context node.
    fn node_argument(&mut self, arguments: &[Expr], context: &Context) -> Res<Option<NodeId>> {
        match arguments {
            [argument] => Ok(self.nodes(argument, context)?.first().copied()),
            _ => Ok(Some(context.node)),
        }
    }

    /// A text, and another that is only looked at.
    fn two_texts<'e>(&mut self, arguments: &'e [Expr], context: &Context) -> Res<(Text<'t>, Text<'e>)>
    where
        't: 'e,
    {
        Ok((self.string(&arguments[0], context)?, self.string_near(&arguments[1], context)?))
    }

    pub(crate) fn local_name(&self, node: NodeId) -> Text<'t> {
        let world = self.world;
        let tree = &world.trees.get(node.document()).tree;
        match self.kind(node) {
            NodeKind::Element | NodeKind::Attribute | NodeKind::Instruction => {
                Text::Borrowed(tree.local(node.index()))
            }
            NodeKind::Namespace => tree
                .namespace_nodes(node.index())
                .into_iter()
                .nth(node.sub() - 1)
                .map_or(Text::Borrowed(""), |(prefix, _)| Text::Shared(prefix)),
            _ => Text::Borrowed(""),
        }
    }

    fn namespace_uri(&self, node: NodeId) -> Text<'t> {
        let world = self.world;
        match self.kind(node) {
            NodeKind::Element | NodeKind::Attribute => {
                Text::Borrowed(world.trees.get(node.document()).tree.namespace(node.index()))
            }
            _ => Text::Borrowed(""),
        }
    }

    pub(crate) fn qualified_name(&self, node: NodeId) -> Text<'t> {
        let world = self.world;
        match self.kind(node) {
            NodeKind::Element | NodeKind::Attribute => {
                let tree = &world.trees.get(node.document()).tree;
                if tree.prefix(node.index()).is_empty() {
                    return Text::Borrowed(tree.local(node.index()));
                }
                Text::Owned(tree.qualified_name(node.index()))
            }
            _ => self.local_name(node),
        }
    }

    fn id(&mut self, argument: &Expr, context: &Context) -> Res<NodeSet> {
        let document = context.node.document();
        let tree = &self.world.trees.get(document).tree;
        let mut found = Vec::new();
        let mut look_up = |text: &str| {
            for id in text.split([' ', '\t', '\n', '\r']).filter(|id| !id.is_empty()) {
                if let Some(element) = tree.ids.get(id) {
                    found.push(NodeId::new(document, *element));
                }
            }
        };
        match self.eval(argument, context)? {
            Object::Nodes(nodes) => {
                for node in &*nodes {
                    look_up(&self.string_of(*node));
                }
            }
            other => look_up(&self.to_text(other)),
        }
        self.budget.spend(found.len() as u64)?;
        Ok(NodeSet::unsorted(found))
    }

    fn substring(&mut self, arguments: &[Expr], context: &Context) -> Res<Object<'t>> {
        let text = self.string(&arguments[0], context)?;
        self.budget.spend_bytes(text.len())?;
        if let [_, Expr::Number(first), Expr::Number(length)] = arguments
            && let (Some(first), Some(length)) = (numbers::whole(*first), numbers::whole(*length))
            && first >= 1
            && length >= 0
        {
            // Mostly a place in a code or a date.
            let skipped = first as usize - 1;
            let stop = (skipped + length as usize).min(text.len());
            if skipped < stop && text.as_bytes()[..stop].is_ascii() {
                return Ok(Object::Text(slice(text, skipped, stop)));
            }
        }
        let first = numbers::round(self.number(&arguments[1], context)?);
        let end = match arguments.get(2) {
            Some(length) => first + numbers::round(self.number(length, context)?),
            None => f64::INFINITY,
        };
        // Characters are counted from one; those at least `first` and below `end` are wanted. NaN wants none, and there
        // are no more characters than bytes.
        let length = text.len();
        if !(first < end && end > 1.0 && first <= length as f64) {
            return Ok(Object::Text(Text::Borrowed("")));
        }
        // What is negative becomes 0, and what is too large the largest number.
        let skipped = (first as usize).saturating_sub(1);
        let stop = (end as usize).saturating_sub(1).min(length);
        let (start, stop) = if text.as_bytes()[..stop].is_ascii() {
            (skipped, stop)
        } else {
            let place = |text: &str, number| text.char_indices().nth(number).map_or(text.len(), |(at, _)| at);
            let start = place(&text, skipped);
            (start, start + place(&text[start..], stop - skipped))
        };
        Ok(Object::Text(slice(text, start, stop)))
    }

    fn lang(&self, wanted: &str, node: NodeId) -> bool {
        let tree = &self.world.trees.get(node.document()).tree;
        let mut at = node.index();
        loop {
            if let Some(language) = tree.attribute(at, XML_NAMESPACE, "lang") {
                let language = language.to_ascii_lowercase();
                let wanted = wanted.to_ascii_lowercase();
                return language == wanted
                    || language.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with('-'));
            }
            if at == 0 {
                return false;
            }
            at = tree.node(at).parent;
        }
    }

    /// Evaluates all arguments to booleans; used where a function only asks whether something is there.
    pub(crate) fn truth(&mut self, argument: &Expr, context: &Context) -> Res<bool> {
        let object = self.eval(argument, context)?;
        Ok(to_boolean(&object))
    }
}

/// Where a part is in a text for the first time.
fn find(text: &str, part: &str) -> Option<usize> {
    let (text, part) = (text.as_bytes(), part.as_bytes());
    let Some((first, rest)) = part.split_first() else { return Some(0) };
    if rest.is_empty() {
        return memchr::memchr(*first, text);
    }
    // In short texts the search is over before a better one is prepared.
    if text.len() <= 64 {
        let starts = text.len().checked_sub(rest.len())?;
        return memchr::memchr_iter(*first, &text[..starts]).find(|at| text[at + 1..].starts_with(rest));
    }
    memchr::memmem::find(text, part)
}

/// A part of a text, without a copy where it lies in a tree.
pub(crate) fn slice(text: Text<'_>, start: usize, end: usize) -> Text<'_> {
    match text {
        Text::Borrowed(text) => Text::Borrowed(&text[start..end]),
        other => Text::Owned(other[start..end].to_owned()),
    }
}

/// White space at the ends goes, runs inside become one space.
pub(crate) fn normalize_space(text: Text<'_>) -> Text<'_> {
    let bytes = text.as_bytes();
    let Some(start) = bytes.iter().position(|byte| !is_space(*byte)) else { return Text::Borrowed("") };
    let end = bytes.iter().rposition(|byte| !is_space(*byte)).map_or(start, |last| last + 1);
    let inner = &bytes[start..end];
    // Without a branch, so that many bytes are looked at together.
    let unclean = inner.iter().zip(&inner[1..]).fold(0, |unclean, (byte, next)| {
        unclean | u8::from(*byte < b' ') | (u8::from(*byte == b' ') & u8::from(*next == b' '))
    });
    let clean = unclean == 0;
    if clean {
        return slice(text, start, end);
    }
    let mut normal = String::with_capacity(end - start);
    for word in text[start..end].split([' ', '\t', '\n', '\r']).filter(|word| !word.is_empty()) {
        if !normal.is_empty() {
            normal.push(' ');
        }
        normal.push_str(word);
    }
    Text::Owned(normal)
}

/// What becomes of each ASCII character, or 255 when it goes.
#[derive(Debug, Clone)]
pub(crate) struct Translation([u8; 128]);

impl Translation {
    /// A table, where all marks are ASCII.
    fn new(from: &str, to: &str) -> Option<Self> {
        if !from.is_ascii() || !to.is_ascii() {
            return None;
        }
        let mut table: [u8; 128] = std::array::from_fn(|byte| byte as u8);
        let mut seen = [false; 128];
        for (at, byte) in from.bytes().enumerate() {
            if !std::mem::replace(&mut seen[usize::from(byte)], true) {
                table[usize::from(byte)] = to.as_bytes().get(at).copied().unwrap_or(255);
            }
        }
        Some(Self(table))
    }

    /// The text after it; the same text when there is nothing to do.
    fn translate<'t>(&self, text: Text<'t>) -> Text<'t> {
        let bytes = text.as_bytes();
        let changes = |byte: &u8| self.0.get(usize::from(*byte)).is_some_and(|to| to != byte);
        let Some(first) = bytes.iter().position(changes) else { return text };
        let mut translated = Vec::with_capacity(bytes.len());
        translated.extend_from_slice(&bytes[..first]);
        for byte in &bytes[first..] {
            match self.0.get(usize::from(*byte)) {
                Some(255) => {}
                Some(to) => translated.push(*to),
                // Bytes beyond ASCII stay, and so the text stays UTF-8.
                None => translated.push(*byte),
            }
        }
        Text::Owned(String::from_utf8(translated).unwrap_or_default())
    }
}

/// Tables that are kept.
const TRANSLATIONS_MAX: usize = 16;

impl Machine<'_> {
    /// The table of two literals, of which a stylesheet mostly has few.
    fn translation(&mut self, from: &str, to: &str) -> Option<Arc<Translation>> {
        let known = self.translations.iter().find(|(known, other, _)| **known == *from && **other == *to);
        if let Some((_, _, table)) = known {
            return Some(Arc::clone(table));
        }
        let table = Arc::new(Translation::new(from, to)?);
        if self.translations.len() < TRANSLATIONS_MAX {
            self.translations.push((Box::from(from), Box::from(to), Arc::clone(&table)));
        }
        Some(table)
    }
}

fn translate(text: &str, from: &str, to: &str) -> String {
    use std::collections::HashMap;
    // Few marks in a short text are looked for one by one.
    if from.is_ascii() && to.is_ascii() && text.len() * from.len() <= 256 {
        let replaced = text.bytes().filter_map(|byte| match memchr::memchr(byte, from.as_bytes()) {
            Some(at) => to.as_bytes().get(at).copied(),
            None => Some(byte),
        });
        return String::from_utf8(replaced.collect()).unwrap_or_default();
    }
    if let Some(table) = Translation::new(from, to) {
        return table.translate(Text::Borrowed(text)).into_string();
    }
    let mut map: HashMap<char, Option<char>> = HashMap::new();
    let mut to = to.chars();
    for character in from.chars() {
        let replacement = to.next();
        map.entry(character).or_insert(replacement);
    }
    text.chars().filter_map(|character| map.get(&character).copied().unwrap_or(Some(character))).collect()
}
