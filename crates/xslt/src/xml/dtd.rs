//! The internal subset of a document type declaration: entities, attribute types and defaults.

use std::borrow::Cow;
use std::sync::Arc;

use super::characters::parse_character_reference;
use super::{Cursor, ENTITY_DEPTH_MAX, RawAttribute, instruction, malformed};
use crate::error::{Limit, Res, limit_error};
use crate::hash::Table;
use crate::limits::Limits;
use crate::loader::resolve;

/// What an entity stands for.
#[derive(Debug, Clone)]
pub(super) enum EntityValue {
    /// Text, its own references still in it.
    Text(Arc<str>),
    /// Something outside of the document, which is not read.
    Unread,
    /// Something that is not XML.
    Unparsed,
}

#[derive(Debug)]
struct AttributeRule {
    name: String,
    is_id: bool,
    tokenized: bool,
    default: Option<String>,
}

/// Declarations of attributes and entities that one document may have.
const DECLARATIONS_MAX: usize = 100_000;

/// What a document type declaration says.
#[derive(Debug, Default)]
pub(super) struct Dtd {
    pub(super) standalone: bool,
    entities: Table<String, EntityValue>,
    parameters: Table<String, EntityValue>,
    attributes: Table<String, Vec<AttributeRule>>,
    declarations: usize,
    /// Something was not read that may declare entities.
    incomplete: bool,
    expanded: usize,
}

impl Dtd {
    /// Reads the declaration, after `<!DOCTYPE`.
    pub(super) fn doctype(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: &str,
        limits: &Limits,
        unparsed: &mut Table<String, String>,
    ) -> Res<()> {
        cursor.require_space("after `<!DOCTYPE`")?;
        cursor.name("of the document type")?;
        cursor.skip_space();
        if external_id(cursor)?.is_some() {
            self.incomplete = true;
        }
        cursor.skip_space();
        if cursor.eat("[") {
            self.subset(cursor, base, limits, unparsed, 0)?;
            cursor.expect("]", "after the internal subset")?;
        }
        cursor.skip_space();
        cursor.expect(">", "after the document type declaration")
    }

    fn subset(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: &str,
        limits: &Limits,
        unparsed: &mut Table<String, String>,
        depth: u32,
    ) -> Res<()> {
        loop {
            cursor.skip_space();
            match cursor.peek() {
                None if depth > 0 => return Ok(()),
                Some(b']') if depth == 0 => return Ok(()),
                Some(b'%') => {
                    cursor.at += 1;
                    let name = cursor.name("after `%`")?;
                    cursor.expect(";", "after the name of a parameter entity")?;
                    match self.parameters.get(name) {
                        Some(EntityValue::Text(text)) => {
                            let text = Arc::clone(text);
                            self.expanded += text.len().max(8);
                            if depth >= ENTITY_DEPTH_MAX || self.expanded > limits.entity_bytes_max {
                                return Err(limit_error(
                                    Limit::EntityBytes,
                                    format!("the parameter entity `%{name};` expands too far"),
                                ));
                            }
                            let mut inner = Cursor::entity(&text, cursor.line());
                            self.subset(&mut inner, base, limits, unparsed, depth + 1)?;
                        }
                        _ => self.incomplete = true,
                    }
                    continue;
                }
                _ => {}
            }
            self.declarations += 1;
            if self.declarations > DECLARATIONS_MAX {
                return Err(limit_error(
                    Limit::EntityBytes,
                    format!("the document type has more than {DECLARATIONS_MAX} declarations"),
                ));
            }
            if cursor.eat("<!--") {
                cursor.until("--", "a comment")?;
                cursor.expect(">", "after `--` in a comment")?;
            } else if cursor.eat("<?") {
                instruction(cursor)?;
            } else if cursor.eat("<!ENTITY") {
                self.entity_declaration(cursor, base, unparsed)?;
            } else if cursor.eat("<!ATTLIST") {
                self.attribute_list(cursor)?;
            } else if cursor.eat("<!ELEMENT") {
                cursor.require_space("after `<!ELEMENT`")?;
                cursor.until(">", "an element declaration")?;
            } else if cursor.eat("<!NOTATION") {
                cursor.require_space("after `<!NOTATION`")?;
                cursor.name("of a notation")?;
                cursor.require_space("after the name of a notation")?;
                external_id(cursor)?;
                cursor.skip_space();
                cursor.expect(">", "after a notation")?;
            } else {
                return Err(malformed("the document type contains something unknown"));
            }
        }
    }

    fn entity_declaration(
        &mut self,
        cursor: &mut Cursor<'_>,
        base: &str,
        unparsed: &mut Table<String, String>,
    ) -> Res<()> {
        cursor.require_space("after `<!ENTITY`")?;
        let parameter = cursor.eat("%");
        if parameter {
            cursor.require_space("after `%`")?;
        }
        let name = cursor.name("of an entity")?.to_owned();
        cursor.require_space("after the name of an entity")?;
        let value = if let Some(system) = external_id(cursor)? {
            let spaced = cursor.skip_space();
            if spaced && !parameter && cursor.eat("NDATA") {
                cursor.require_space("after `NDATA`")?;
                cursor.name("of a notation")?;
                unparsed.entry(name.clone()).or_insert_with(|| resolve(base, &system));
                EntityValue::Unparsed
            } else {
                EntityValue::Unread
            }
        } else {
            let literal = cursor.quoted("the value of an entity")?;
            EntityValue::Text(Arc::from(entity_text(literal)?))
        };
        cursor.skip_space();
        cursor.expect(">", "after an entity")?;
        let table = if parameter { &mut self.parameters } else { &mut self.entities };
        table.entry(name).or_insert(value);
        Ok(())
    }

    fn attribute_list(&mut self, cursor: &mut Cursor<'_>) -> Res<()> {
        cursor.require_space("after `<!ATTLIST`")?;
        let element = cursor.name("of an element")?.to_owned();
        loop {
            let spaced = cursor.skip_space();
            if cursor.eat(">") {
                return Ok(());
            }
            if !spaced {
                return Err(malformed("white space is missing in `<!ATTLIST`"));
            }
            let name = cursor.name("of an attribute")?.to_owned();
            cursor.require_space("after the name of an attribute")?;
            let kind = if cursor.eat("(") {
                cursor.until(")", "a list of values")?;
                "enumeration"
            } else {
                let kind = cursor.name("of an attribute type")?;
                if kind == "NOTATION" {
                    cursor.require_space("after `NOTATION`")?;
                    cursor.expect("(", "after `NOTATION`")?;
                    cursor.until(")", "a list of notations")?;
                }
                kind
            };
            let known = [
                "CDATA",
                "ID",
                "IDREF",
                "IDREFS",
                "ENTITY",
                "ENTITIES",
                "NMTOKEN",
                "NMTOKENS",
                "NOTATION",
                "enumeration",
            ];
            if !known.contains(&kind) {
                return Err(malformed(format!("`{kind}` is no type of attributes")));
            }
            cursor.require_space("after the type of an attribute")?;
            let default = if cursor.eat("#REQUIRED") || cursor.eat("#IMPLIED") {
                None
            } else {
                if cursor.eat("#FIXED") {
                    cursor.require_space("after `#FIXED`")?;
                }
                Some(cursor.quoted("the default of an attribute")?.to_owned())
            };
            self.declarations += 1;
            let rules = self.attributes.entry(element.clone()).or_default();
            if rules.len() < 1000 && !rules.iter().any(|rule| rule.name == name) {
                let default = default.map(|literal| self.default_value(&literal, 0)).transpose()?;
                let (is_id, tokenized) = (kind == "ID", kind != "CDATA");
                let default = default.map(|value| if tokenized { collapse(&value) } else { value });
                if let Some(rules) = self.attributes.get_mut(&element) {
                    rules.push(AttributeRule { name, is_id, tokenized, default });
                }
            }
        }
    }

    /// Normalises the default value of an attribute; entities in it were declared before.
    fn default_value(&mut self, literal: &str, depth: u32) -> Res<String> {
        let mut value = String::new();
        let mut rest = literal;
        while let Some(at) = rest.find(['&', '<', '\n', '\t']) {
            value.push_str(&rest[..at]);
            match rest.as_bytes()[at] {
                b'<' => return Err(malformed("`<` must not be in an attribute")),
                b'&' => {
                    let mut cursor = Cursor::entity(rest, 0);
                    cursor.at = at + 1;
                    let name = super::reference_name(&mut cursor)?;
                    if let Some(character) = name.strip_prefix('#').and_then(parse_character_reference) {
                        value.push(character);
                    } else if let Some(text) = super::characters::predefined(name) {
                        value.push_str(text);
                    } else if let Some(EntityValue::Text(text)) = self.entity(name)? {
                        self.expanded += text.len();
                        if depth >= 8 || self.expanded > 1 << 20 {
                            return Err(malformed(format!("the entity `{name}` expands too far")));
                        }
                        let text = self.default_value(&text, depth + 1)?;
                        value.push_str(&text);
                    }
                    rest = &rest[cursor.at..];
                    continue;
                }
                _ => value.push(' '),
            }
            rest = &rest[at + 1..];
        }
        value.push_str(rest);
        Ok(value)
    }

    /// What an entity stands for; `None` when it may be declared where we do not read.
    pub(super) fn entity(&self, name: &str) -> Res<Option<EntityValue>> {
        match self.entities.get(name) {
            Some(value) => Ok(Some(value.clone())),
            None if self.incomplete && !self.standalone => {
                Ok(super::html_entities::text(name).map(|text| EntityValue::Text(Arc::from(text))))
            }
            None => Err(malformed(format!("the entity `{name}` is not declared"))),
        }
    }

    /// Normalises the values of attributes of tokenized types.
    pub(super) fn normalise(&self, element: &str, attributes: &mut [RawAttribute<'_>]) {
        let Some(rules) = self.attributes.get(element) else { return };
        for rule in rules.iter().filter(|rule| rule.tokenized) {
            if let Some(attribute) = attributes.iter_mut().find(|attribute| attribute.raw == rule.name) {
                attribute.value = Cow::Owned(collapse(&attribute.value));
            }
        }
    }

    /// The default attributes that a start tag lacks.
    pub(super) fn defaults(&self, element: &str, has: &[RawAttribute<'_>]) -> Vec<(String, String)> {
        let rules = self.attributes.get(element).into_iter().flatten();
        rules
            .filter_map(|rule| Some((rule.name.clone(), rule.default.clone()?)))
            .filter(|(name, _)| !has.iter().any(|attribute| attribute.raw == name))
            .collect()
    }

    /// Whether an attribute has the type ID.
    pub(super) fn is_id(&self, element: &str, attribute: &str) -> bool {
        !self.attributes.is_empty()
            && self
                .attributes
                .get(element)
                .is_some_and(|rules| rules.iter().any(|rule| rule.is_id && rule.name == attribute))
    }

    /// Whether any attribute is declared.
    pub(super) fn has_attributes(&self) -> bool {
        !self.attributes.is_empty()
    }
}

/// Runs of spaces become one, those at the ends go.
fn collapse(value: &str) -> String {
    value.split(' ').filter(|token| !token.is_empty()).collect::<Vec<_>>().join(" ")
}

/// Reads `SYSTEM "…"` or `PUBLIC "…" "…"`; gives the system identifier.
fn external_id(cursor: &mut Cursor<'_>) -> Res<Option<String>> {
    if cursor.eat("SYSTEM") {
        cursor.require_space("after `SYSTEM`")?;
        return Ok(Some(cursor.quoted("a system identifier")?.to_owned()));
    }
    if cursor.eat("PUBLIC") {
        cursor.require_space("after `PUBLIC`")?;
        cursor.quoted("a public identifier")?;
        let spaced = cursor.skip_space();
        if spaced && matches!(cursor.peek(), Some(b'"' | b'\'')) {
            return Ok(Some(cursor.quoted("a system identifier")?.to_owned()));
        }
        return Ok(Some(String::new()));
    }
    Ok(None)
}

/// The replacement text of an entity: character references are expanded, others stay.
fn entity_text(literal: &str) -> Res<String> {
    let mut text = String::with_capacity(literal.len());
    let mut rest = literal;
    while let Some(at) = rest.find(['&', '%']) {
        text.push_str(&rest[..at]);
        if rest.as_bytes()[at] == b'%' {
            return Err(malformed("`%` must not be in the value of an entity here"));
        }
        let mut cursor = Cursor::entity(rest, 0);
        cursor.at = at + 1;
        let name = super::reference_name(&mut cursor)?;
        match name.strip_prefix('#') {
            Some(digits) => text.push(
                parse_character_reference(digits)
                    .ok_or_else(|| malformed(format!("`&{name};` stands for no character")))?,
            ),
            None => text.push_str(&rest[at..cursor.at]),
        }
        rest = &rest[cursor.at..];
    }
    text.push_str(rest);
    Ok(text)
}
