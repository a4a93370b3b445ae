//! What stands at the top of a stylesheet.

use std::collections::HashMap;
use std::sync::Arc;

use super::modules::Declaration;
use super::program::{
    AttributeSetPart, Binding, Global, Key, KeyDefinition, Mode, Operation, Rule, SpaceRule, Template,
    UserFunction,
};
use super::scope::Here;
use super::{Compiler, FUNCTIONS, XSLT};
use crate::error::Res;
use crate::tree::{NameId, Names, NodeKind, XML_NAMESPACE};
use crate::xpath::ast::{Axis, Function, NodeTest};
use crate::xpath::pattern::{Head, Pattern};

/// What a top-level element is.
fn kind(here: &Here) -> (&str, &str) {
    (here.tree.namespace(here.element), here.tree.local(here.element))
}

impl Compiler<'_> {
    /// First pass: what others may refer to, before they are compiled.
    pub(super) fn declare(&mut self, declarations: &[Declaration]) -> Res<()> {
        // Numbers by name, and the precedence of whoever has it now.
        let mut globals: HashMap<NameId, u32> = HashMap::new();
        let mut aliases = Vec::new();
        for declaration in declarations {
            let here = self.here(declaration);
            self.forwards = self.is_forwards(&here);
            if declaration.simplified {
                self.templates.push(None);
                continue;
            }
            match kind(&here) {
                (XSLT, "template") => {
                    let number = self.templates.len() as u32;
                    self.templates.push(None);
                    if here.attribute("name").is_some() {
                        let name = self.name_attribute(&here, "name")?;
                        match self.template_names.get(&name) {
                            Some((_, precedence)) if *precedence == declaration.precedence => {
                                return self.fail(
                                    &here,
                                    format!(
                                        "the template `{}` is there twice",
                                        here.attribute("name").unwrap_or("")
                                    ),
                                );
                            }
                            _ => {
                                self.template_names.insert(name, (number, declaration.precedence));
                            }
                        }
                    }
                }
                (XSLT, "variable" | "param") => {
                    let name = self.name_attribute(&here, "name")?;
                    if globals.insert(name, declaration.precedence) == Some(declaration.precedence) {
                        return self.fail(
                            &here,
                            format!("the variable `{}` is there twice", here.attribute("name").unwrap_or("")),
                        );
                    }
                    let number = match self.global_names.get(&name) {
                        Some(number) => *number,
                        None => {
                            self.globals.push(None);
                            self.globals.len() as u32 - 1
                        }
                    };
                    self.global_names.insert(name, number);
                }
                (XSLT, "attribute-set") => {
                    let name = self.name_attribute(&here, "name")?;
                    if !self.set_names.contains_key(&name) {
                        self.set_names.insert(name, self.attribute_sets.len() as u32);
                        self.attribute_sets.push(super::AttributeSet {
                            label: here.attribute("name").unwrap_or("").to_owned(),
                            parts: Vec::new(),
                        });
                    }
                }
                (XSLT, "namespace-alias") => {
                    let find = |attribute: &str| -> Res<(Arc<str>, Arc<str>)> {
                        let prefix = self.required(&here, attribute)?;
                        if prefix == "#default" {
                            let namespace = here.tree.namespace_of_prefix(here.element, "");
                            return Ok((Arc::from(""), namespace.unwrap_or_else(|| Arc::from(""))));
                        }
                        match here.tree.namespace_of_prefix(here.element, &prefix) {
                            Some(namespace) => Ok((Arc::from(prefix), namespace)),
                            None => self.fail(&here, format!("the prefix `{prefix}` is not declared")),
                        }
                    };
                    let (_, from) = find("stylesheet-prefix")?;
                    let (prefix, to) = find("result-prefix")?;
                    aliases.push((from, prefix, to, declaration.precedence));
                }
                (FUNCTIONS, "function") => {
                    let name = self.required(&here, "name")?;
                    let name = self.expand(&here, &name)?;
                    if name.0.is_empty() {
                        return self.fail(&here, "the name of a function needs a prefix");
                    }
                    let number = self.functions.len() as u32;
                    self.functions.push(None);
                    self.function_names.insert(name, number);
                }
                _ => {}
            }
        }
        aliases.sort_by_key(|(.., precedence)| *precedence);
        self.aliases = aliases.into_iter().map(|(from, prefix, to, _)| (from, prefix, to)).collect();
        Ok(())
    }

    /// Second pass: compiles everything.
    pub(super) fn define(&mut self, declarations: &[Declaration]) -> Res<()> {
        let mut template = 0;
        let mut function = 0;
        for (order, declaration) in declarations.iter().enumerate() {
            let here = self.here(declaration);
            self.forwards = self.is_forwards(&here);
            let order = order as u32;
            if declaration.simplified {
                self.simplified(&here, declaration, template, order)?;
                template += 1;
                continue;
            }
            match kind(&here) {
                (XSLT, "template") => {
                    self.template(&here, declaration, template, order)?;
                    template += 1;
                }
                (XSLT, "variable" | "param") => self.global(&here, declaration)?,
                (XSLT, "attribute-set") => self.attribute_set(&here)?,
                (XSLT, "key") => self.key(&here)?,
                (XSLT, "output") => self.output_declaration(&here, declaration.precedence)?,
                (XSLT, "decimal-format") => self.decimal_format(&here, declaration.precedence)?,
                (XSLT, "strip-space" | "preserve-space") => {
                    self.space(&here, declaration.precedence, order)?;
                }
                (XSLT, "namespace-alias") => {
                    self.check_attributes(&here, &["stylesheet-prefix", "result-prefix"])?;
                }
                (FUNCTIONS, "function") => {
                    self.function(&here, function)?;
                    function += 1;
                }
                (XSLT, other) if self.forwards => {
                    let _ = other;
                }
                (XSLT, other) => {
                    return self.fail(&here, format!("xsl:{other} must not be at the top of a stylesheet"));
                }
                ("", other) => {
                    return self.fail(&here, format!("`{other}` must not be at the top of a stylesheet"));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Whether the version in force at an element is not 1.0.
    pub(super) fn is_forwards(&self, here: &Here) -> bool {
        let mut at = here.element;
        loop {
            let tree = &here.tree;
            let version = if **tree.namespace(at) == *XSLT {
                matches!(&**tree.local(at), "stylesheet" | "transform")
                    .then(|| tree.attribute(at, "", "version"))
                    .flatten()
            } else {
                tree.attribute(at, XSLT, "version")
            };
            if let Some(version) = version {
                return version.trim().parse::<f64>() != Ok(1.0);
            }
            at = tree.node(at).parent;
            if tree.node(at).kind != NodeKind::Element {
                return false;
            }
        }
    }

    /// Starts something that has its own variables; gives what to put back.
    fn fresh(&mut self) {
        self.locals.clear();
        self.slots = 0;
        self.inherited = None;
        self.depth = 0;
    }

    fn simplified(&mut self, here: &Here, declaration: &Declaration, number: u32, order: u32) -> Res<()> {
        self.fresh();
        let mut body = Vec::new();
        self.literal_element(here, &mut body, false)?;
        let pattern = Pattern { head: Head::Root, steps: Vec::new() };
        self.rules.push((
            0,
            Rule {
                only_names: pattern.only_names(),
                pattern,
                template: number,
                precedence: declaration.precedence,
                priority: 0.5,
                order,
            },
        ));
        self.templates[number as usize] = Some(Template {
            label: "the stylesheet's only template".to_owned(),
            body: body.into(),
            slots: self.slots,
            precedence: declaration.precedence,
            precedence_first: declaration.precedence_first,
        });
        Ok(())
    }

    fn template(&mut self, here: &Here, declaration: &Declaration, number: u32, order: u32) -> Res<()> {
        self.check_attributes(here, &["match", "name", "priority", "mode"])?;
        self.fresh();
        let (pattern, name) = (here.attribute("match"), here.attribute("name"));
        if pattern.is_none() && name.is_none() {
            return self.fail(here, "xsl:template has neither match nor name");
        }
        if pattern.is_none()
            && (here.attribute("mode").is_some() || here.attribute("priority").is_some())
            && !self.forwards
        {
            return self.fail(here, "xsl:template has a mode or priority but no match");
        }
        let priority = match here.attribute("priority") {
            Some(text) => {
                let priority = crate::xpath::numbers::parse(text);
                if priority.is_nan() {
                    return self.fail(here, format!("the priority `{text}` is not a number"));
                }
                Some(priority)
            }
            None => None,
        };
        if let Some(source) = pattern {
            let mode = self.mode(here)?;
            for pattern in self.pattern(here, source, false, &[Function::Current])? {
                let priority = priority.unwrap_or_else(|| pattern.default_priority());
                self.rules.push((
                    mode,
                    Rule {
                        only_names: pattern.only_names(),
                        pattern,
                        template: number,
                        precedence: declaration.precedence,
                        priority,
                        order,
                    },
                ));
            }
        }
        let body = self.template_body(here, true)?;
        let label = match (name, pattern) {
            (Some(name), _) => format!("template name=\"{name}\""),
            (None, pattern) => format!("template match=\"{}\"", pattern.unwrap_or("")),
        };
        self.templates[number as usize] = Some(Template {
            label,
            body: body.into(),
            slots: self.slots,
            precedence: declaration.precedence,
            precedence_first: declaration.precedence_first,
        });
        Ok(())
    }

    /// The number of the mode that an element names.
    pub(super) fn mode(&mut self, here: &Here) -> Res<u32> {
        if here.attribute("mode").is_none() {
            return Ok(0);
        }
        let name = self.name_attribute(here, "mode")?;
        let next = self.mode_names.len() as u32;
        Ok(*self.mode_names.entry(Some(name)).or_insert(next))
    }

    fn global(&mut self, here: &Here, declaration: &Declaration) -> Res<()> {
        self.check_attributes(here, &["name", "select"])?;
        self.fresh();
        let name = self.name_attribute(here, "name")?;
        let Some(number) = self.global_names.get(&name).copied() else { return Ok(()) };
        let value = self.binding(here)?;
        // Declarations come in the order of their precedence, so the last one stays.
        let _ = declaration;
        self.globals[number as usize] = Some(Global {
            name,
            is_parameter: &**here.tree.local(here.element) == "param",
            value,
            slots: self.slots,
            line: here.line(),
            module: here.module,
            label: format!("the variable ${}", here.attribute("name").unwrap_or("")),
        });
        Ok(())
    }

    fn attribute_set(&mut self, here: &Here) -> Res<()> {
        self.check_attributes(here, &["name", "use-attribute-sets"])?;
        self.fresh();
        let name = self.name_attribute(here, "name")?;
        let sets = self.attribute_set_list(here, here.attribute("use-attribute-sets").unwrap_or(""))?;
        let mut body = Vec::new();
        for child in here.children() {
            let child = here.at(child);
            if child.tree.node(child.element).kind != NodeKind::Element {
                continue;
            }
            if kind(&child) != (XSLT, "attribute") {
                return self.fail(&child, "xsl:attribute-set contains only xsl:attribute");
            }
            self.instruction(&child, &mut body, false)?;
        }
        if let Some(number) = self.set_names.get(&name).copied() {
            let slots = self.slots;
            self.attribute_sets[number as usize].parts.push(AttributeSetPart {
                sets,
                body: body.into(),
                slots,
            });
        }
        Ok(())
    }

    /// The attribute sets that a list of names names.
    pub(super) fn attribute_set_list(&mut self, here: &Here, list: &str) -> Res<Vec<u32>> {
        let mut sets = Vec::new();
        for name in list.split_whitespace() {
            let (namespace, local) = self.expand(here, name)?;
            let id = self.names.name(&namespace, &local);
            match self.set_names.get(&id) {
                Some(number) => sets.push(*number),
                None => return self.fail(here, format!("there is no attribute set `{name}`")),
            }
        }
        Ok(sets)
    }

    fn key(&mut self, here: &Here) -> Res<()> {
        self.check_attributes(here, &["name", "match", "use"])?;
        self.fresh();
        let name = self.required(here, "name")?;
        let (namespace, local) = self.expand(here, &name)?;
        let source = self.required(here, "match")?;
        let patterns = self.pattern(here, &source, false, &[Function::Current, Function::Key])?;
        let source = self.required(here, "use")?;
        let value = self.key_expr(here, &source)?;
        let definition = KeyDefinition { patterns, value, line: here.line(), module: here.module };
        match self.keys.iter_mut().find(|key| key.namespace == namespace && key.local == local) {
            Some(key) => key.definitions.push(definition),
            None => self.keys.push(Key { namespace, local, definitions: vec![definition] }),
        }
        Ok(())
    }

    fn output_declaration(&mut self, here: &Here, precedence: u32) -> Res<()> {
        self.check_attributes(
            here,
            &[
                "method",
                "version",
                "encoding",
                "omit-xml-declaration",
                "standalone",
                "doctype-public",
                "doctype-system",
                "cdata-section-elements",
                "indent",
                "media-type",
            ],
        )?;
        let text = |name: &str| here.attribute(name).map(|value| value.trim().to_owned());
        if let Some(method) = text("method") {
            use crate::output::Method;
            let method = match method.as_str() {
                "xml" => Method::Xml,
                "html" => Method::Html,
                "text" => Method::Text,
                // Methods of other processors: XHTML is close enough to XML.
                other if other.contains(':') || self.forwards => Method::Xml,
                other => return self.fail(here, format!("there is no output method `{other}`")),
            };
            self.output.method.set(method, precedence);
        }
        if let Some(version) = text("version") {
            self.output.version.set(version, precedence);
        }
        if let Some(encoding) = text("encoding") {
            self.output.encoding.set(encoding, precedence);
        }
        if let Some(public) = here.attribute("doctype-public") {
            self.output.doctype_public.set(public.to_owned(), precedence);
        }
        if let Some(system) = here.attribute("doctype-system") {
            self.output.doctype_system.set(system.to_owned(), precedence);
        }
        if let Some(media_type) = text("media-type") {
            self.output.media_type.set(media_type, precedence);
        }
        if let Some(value) = self.yes_or_no(here, "omit-xml-declaration")? {
            self.output.omit_declaration.set(value, precedence);
        }
        if let Some(value) = self.yes_or_no(here, "standalone")? {
            self.output.standalone.set(value, precedence);
        }
        if let Some(value) = self.yes_or_no(here, "indent")? {
            self.output.indent.set(value, precedence);
        }
        for name in here.attribute("cdata-section-elements").unwrap_or("").split_whitespace() {
            let (mut namespace, local) = self.expand(here, name)?;
            if !name.contains(':')
                && let Some(default) = here.tree.namespace_of_prefix(here.element, "")
            {
                namespace = default;
            }
            self.output.cdata_elements.push((namespace, local));
        }
        Ok(())
    }

    fn decimal_format(&mut self, here: &Here, precedence: u32) -> Res<()> {
        self.check_attributes(
            here,
            &[
                "name",
                "decimal-separator",
                "grouping-separator",
                "infinity",
                "minus-sign",
                "NaN",
                "percent",
                "per-mille",
                "zero-digit",
                "digit",
                "pattern-separator",
            ],
        )?;
        let name = match here.attribute("name") {
            Some(name) => self.expand(here, name)?,
            None => (Arc::from(""), Arc::from("")),
        };
        let mut format = crate::run::format_number::DecimalFormat::default();
        let character = |attribute: &str, field: &mut char| -> Res<()> {
            let Some(value) = here.attribute(attribute) else { return Ok(()) };
            let mut characters = value.chars();
            match (characters.next(), characters.next()) {
                (Some(only), None) => {
                    *field = only;
                    Ok(())
                }
                _ => self.fail(here, format!("{attribute}=\"{value}\" is not one character")),
            }
        };
        character("decimal-separator", &mut format.decimal_separator)?;
        character("grouping-separator", &mut format.grouping_separator)?;
        character("minus-sign", &mut format.minus_sign)?;
        character("percent", &mut format.percent)?;
        character("per-mille", &mut format.per_mille)?;
        character("zero-digit", &mut format.zero_digit)?;
        character("digit", &mut format.digit)?;
        character("pattern-separator", &mut format.pattern_separator)?;
        if let Some(text) = here.attribute("infinity") {
            format.infinity = text.to_owned();
        }
        if let Some(text) = here.attribute("NaN") {
            format.not_a_number = text.to_owned();
        }
        if let Some((known, known_precedence)) = self.decimal_formats.get(&name)
            && *known_precedence == precedence
            && *known != format
        {
            return self.fail(here, format!("the decimal format `{}` is there twice", name.1));
        }
        self.decimal_formats.insert(name, (format, precedence));
        Ok(())
    }

    fn space(&mut self, here: &Here, precedence: u32, order: u32) -> Res<()> {
        self.check_attributes(here, &["elements"])?;
        let strip = &**here.tree.local(here.element) == "strip-space";
        let elements = self.required(here, "elements")?;
        for token in elements.split_whitespace() {
            let (namespace, local, priority) = if token == "*" {
                (None, None, 0)
            } else if let Some(prefix) = token.strip_suffix(":*") {
                let Some(namespace) = here.tree.namespace_of_prefix(here.element, prefix) else {
                    return self.fail(here, format!("the prefix `{prefix}` is not declared"));
                };
                (Some(namespace), None, 1)
            } else {
                let (namespace, local) = self.expand(here, token)?;
                (Some(namespace), Some(local), 2)
            };
            self.space_rules.push(SpaceRule { strip, namespace, local, precedence, priority, order });
        }
        Ok(())
    }

    fn function(&mut self, here: &Here, number: usize) -> Res<()> {
        self.fresh();
        self.in_function = true;
        let body = self.template_body(here, true);
        self.in_function = false;
        let body = body?;
        let parameters = body
            .iter()
            .filter_map(|instruction| match &instruction.operation {
                Operation::Param { name, .. } => Some(*name),
                _ => None,
            })
            .collect();
        self.functions[number] = Some(UserFunction {
            label: format!("function {}()", here.attribute("name").unwrap_or("")),
            body: body.into(),
            slots: self.slots,
            parameters,
        });
        Ok(())
    }

    /// The value of a variable or parameter: `select`, content, or nothing.
    pub(super) fn binding(&mut self, here: &Here) -> Res<Binding> {
        let has_content = !here
            .children()
            .iter()
            .all(|child| matches!(here.tree.node(*child).kind, NodeKind::Comment | NodeKind::Instruction));
        match here.attribute("select") {
            Some(_) if has_content => {
                self.fail(here, format!("`{}` has both select and content", here.name()))
            }
            Some(source) => Ok(Binding::Expr(self.expr(here, source)?)),
            None if has_content => {
                let inherited = self.inherited.take();
                let body = self.template_body(here, false);
                self.inherited = inherited;
                Ok(Binding::of_body(body?.into()))
            }
            None => Ok(Binding::Empty),
        }
    }

    /// Complains about attributes that an element of XSLT does not have.
    pub(super) fn check_attributes(&self, here: &Here, allowed: &[&str]) -> Res<()> {
        if self.forwards {
            return Ok(());
        }
        for attribute in here.tree.attributes(here.element) {
            let (namespace, local) = (here.tree.namespace(attribute), here.tree.local(attribute));
            let known = match &**namespace {
                "" => allowed.contains(&&**local),
                XSLT => false,
                other => !other.is_empty() || other == XML_NAMESPACE,
            };
            if !known {
                return self.fail(
                    here,
                    format!("`{}` has no attribute `{}`", here.name(), here.tree.qualified_name(attribute)),
                );
            }
        }
        Ok(())
    }
}

/// Sorts template rules by what they can match.
pub(super) fn modes(count: usize, rules: Vec<(u32, Rule)>, names: &Names) -> Vec<Mode> {
    let mut modes: Vec<Mode> = (0..count).map(|_| Mode::default()).collect();
    for (mode, rule) in rules {
        modes[mode as usize].rules.push(rule);
    }
    for mode in &mut modes {
        mode.rules.sort_by(|left, right| {
            right
                .precedence
                .cmp(&left.precedence)
                .then(right.priority.total_cmp(&left.priority))
                .then(right.order.cmp(&left.order))
        });
        // Names first, so that the others can be added to each of them in order.
        for rule in &mode.rules {
            match rule.pattern.last() {
                Some((Axis::Child, NodeTest::Name(name))) => {
                    mode.by_element.entry(name.name);
                }
                Some((Axis::Attribute, NodeTest::Name(name))) => {
                    mode.by_attribute.entry(name.name);
                }
                _ => {}
            }
        }
        for (number, rule) in mode.rules.iter().enumerate() {
            let number = number as u32;
            let Some((axis, test)) = rule.pattern.last() else {
                if let Head::Root = rule.pattern.head {
                    mode.roots.push(number);
                } else {
                    // `id()` and `key()` may give any node.
                    for (_, list) in mode.by_element.iter_mut().chain(mode.by_attribute.iter_mut()) {
                        list.push(number);
                    }
                    for list in [
                        &mut mode.other_elements,
                        &mut mode.other_attributes,
                        &mut mode.roots,
                        &mut mode.texts,
                        &mut mode.comments,
                        &mut mode.instructions,
                    ] {
                        list.push(number);
                    }
                }
                continue;
            };
            let (by_name, others) = if axis == Axis::Attribute {
                (&mut mode.by_attribute, &mut mode.other_attributes)
            } else {
                (&mut mode.by_element, &mut mode.other_elements)
            };
            match test {
                NodeTest::Name(name) => {
                    by_name.entry(name.name).push(number);
                    continue;
                }
                NodeTest::Principal | NodeTest::Any | NodeTest::Namespace(_) => {
                    for (name, list) in by_name.iter_mut() {
                        if rule.pattern.wants_namespace().is_none_or(|wanted| wanted == names.namespace(name))
                        {
                            list.push(number);
                        }
                    }
                    others.push(number);
                }
                _ => {}
            }
            if axis == Axis::Attribute {
                continue;
            }
            let any = matches!(test, NodeTest::Any);
            if any || matches!(test, NodeTest::Text) {
                mode.texts.push(number);
            }
            if any || matches!(test, NodeTest::Comment) {
                mode.comments.push(number);
            }
            if any || matches!(test, NodeTest::Instruction(_)) {
                mode.instructions.push(number);
            }
        }
    }
    modes
}
