//! What stands in templates.

use std::sync::Arc;

use super::program::{
    Avt, ComputedName, Instruction, Level, LiteralAttribute, LiteralElement, NumberInstruction, Operation,
    OutName, Parameter, Sort,
};
use super::scope::Here;
use super::{Compiler, FUNCTIONS, XSLT};
use crate::error::{Limit, Res, limit_error};
use crate::tree::NodeKind;
use crate::xpath::ast::{Axis, Expr, NodeTest, Path, Start, Step};

/// Elements of a stylesheet inside of each other.
const DEPTH_MAX: u32 = 300;

impl Compiler<'_> {
    /// Compiles the content of an element. With `template`, parameters may come first and calls may be in tail position.
    pub(super) fn template_body(&mut self, here: &Here, template: bool) -> Res<Vec<Instruction>> {
        let mark = self.locals.len();
        let children = here.children();
        let mut body = Vec::new();
        let mut parameters_allowed = template;
        for child in children {
            let child = here.at(child);
            let is_parameter = **child.tree.local(child.element) == *"param"
                && child.tree.is_element(child.element)
                && **child.tree.namespace(child.element) == *XSLT;
            if is_parameter {
                if !parameters_allowed {
                    return self.fail(&child, "xsl:param must come first in a template");
                }
                self.parameter(&child, &mut body)?;
                continue;
            }
            if matches!(child.tree.node(child.element).kind, NodeKind::Element | NodeKind::Text) {
                parameters_allowed = false;
            }
            self.instruction(&child, &mut body, false)?;
        }
        self.locals.truncate(mark);
        if template {
            mark_tail(&mut body);
        }
        Ok(body)
    }

    fn body(&mut self, here: &Here) -> Res<Box<[Instruction]>> {
        Ok(self.template_body(here, false)?.into())
    }

    fn push(&self, here: &Here, body: &mut Vec<Instruction>, operation: Operation) {
        body.push(Instruction { operation, line: here.line(), module: here.module });
    }

    fn parameter(&mut self, here: &Here, body: &mut Vec<Instruction>) -> Res<()> {
        self.check_attributes(here, &["name", "select"])?;
        let value = self.binding(here)?;
        let name = self.name_attribute(here, "name")?;
        let slot = self.new_local(here, name)?;
        self.push(here, body, Operation::Param { slot, name, value });
        Ok(())
    }

    fn new_local(&mut self, here: &Here, name: u32) -> Res<u32> {
        if self.locals.iter().any(|(known, _)| *known == name) {
            return self.fail(
                here,
                format!("the variable `{}` is already there", here.attribute("name").unwrap_or("")),
            );
        }
        let slot = self.slots;
        self.slots += 1;
        self.locals.push((name, slot));
        Ok(slot)
    }

    /// Compiles one node of a template. `in_choose` is no matter here; sorts are taken by their parents.
    pub(super) fn instruction(
        &mut self,
        here: &Here,
        body: &mut Vec<Instruction>,
        skip_sorts: bool,
    ) -> Res<()> {
        match here.tree.node(here.element).kind {
            NodeKind::Text => {
                let text: Arc<str> = Arc::from(here.tree.value(here.element));
                self.push(here, body, Operation::Text { text, raw: false });
                return Ok(());
            }
            NodeKind::Element => {}
            _ => return Ok(()),
        }
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.place(
                here,
                limit_error(
                    Limit::Depth,
                    format!("the stylesheet nests more than {DEPTH_MAX} elements deep"),
                ),
            ));
        }
        let result = self.element(here, body, skip_sorts);
        self.depth -= 1;
        result
    }

    fn element(&mut self, here: &Here, body: &mut Vec<Instruction>, skip_sorts: bool) -> Res<()> {
        let namespace = Arc::clone(here.tree.namespace(here.element));
        let local = Arc::clone(here.tree.local(here.element));
        if *namespace == *XSLT {
            return self.xslt_instruction(here, &local, body, skip_sorts);
        }
        if self.in_function && *namespace == *FUNCTIONS && &*local == "result" {
            let value = self.binding(here)?;
            self.push(here, body, Operation::FunctionResult(value));
            return Ok(());
        }
        if self.is_extension(here, &namespace) {
            return self.unknown(here, body);
        }
        self.literal_element(here, body, true)
    }

    /// Whether a namespace was named as one of extension elements.
    fn is_extension(&self, here: &Here, namespace: &str) -> bool {
        if namespace.is_empty() {
            return false;
        }
        self.listed_prefixes(here, "extension-element-prefixes").iter().any(|known| **known == *namespace)
    }

    /// The namespaces that an attribute of this element or of those around it lists by prefix.
    fn listed_prefixes(&self, here: &Here, attribute: &str) -> Vec<Arc<str>> {
        let tree = &here.tree;
        let mut namespaces = Vec::new();
        let mut at = here.element;
        while tree.node(at).kind == NodeKind::Element {
            let is_xslt = **tree.namespace(at) == *XSLT;
            let list = if is_xslt {
                matches!(&**tree.local(at), "stylesheet" | "transform")
                    .then(|| tree.attribute(at, "", attribute))
                    .flatten()
            } else {
                tree.attribute(at, XSLT, attribute)
            };
            for prefix in list.unwrap_or("").split_whitespace() {
                let prefix = if prefix == "#default" { "" } else { prefix };
                if let Some(namespace) = tree.namespace_of_prefix(at, prefix) {
                    namespaces.push(namespace);
                }
            }
            at = tree.node(at).parent;
        }
        namespaces
    }

    /// Complains about prefixes in a list that are not declared.
    pub(super) fn check_prefixes(&self, here: &Here, list: &str) -> Res<()> {
        for prefix in list.split_whitespace().filter(|prefix| *prefix != "#default") {
            if here.tree.namespace_of_prefix(here.element, prefix).is_none() {
                return self.fail(here, format!("the prefix `{prefix}` is not declared"));
            }
        }
        Ok(())
    }

    /// An instruction that is not known: its `xsl:fallback`, or an error when it is reached.
    fn unknown(&mut self, here: &Here, body: &mut Vec<Instruction>) -> Res<()> {
        let mut fallback: Option<Vec<Instruction>> = None;
        for child in here.children() {
            let child = here.at(child);
            if child.tree.is_element(child.element)
                && **child.tree.namespace(child.element) == *XSLT
                && **child.tree.local(child.element) == *"fallback"
            {
                fallback.get_or_insert_default().extend(self.template_body(&child, false)?);
            }
        }
        let operation =
            Operation::Unknown { name: Arc::from(here.name()), fallback: fallback.map(Into::into) };
        self.push(here, body, operation);
        Ok(())
    }

    fn alias(&self, namespace: &Arc<str>) -> Option<(Arc<str>, Arc<str>)> {
        self.aliases
            .iter()
            .rev()
            .find(|(from, ..)| from == namespace)
            .map(|(_, prefix, to)| (Arc::clone(prefix), Arc::clone(to)))
    }

    fn out_name(&mut self, here: &Here, node: u32) -> OutName {
        let tree = &here.tree;
        let (mut prefix, mut namespace) = (Arc::clone(tree.prefix(node)), Arc::clone(tree.namespace(node)));
        let is_attribute = tree.node(node).kind == NodeKind::Attribute;
        if (!is_attribute || !namespace.is_empty())
            && let Some((new_prefix, to)) = self.alias(&namespace)
        {
            namespace = to;
            prefix = new_prefix;
            if namespace.is_empty() {
                prefix = Arc::from("");
            }
        }
        let name = self.names.name(&namespace, tree.local(node));
        OutName::new(prefix, Arc::clone(tree.local(node)), namespace, name)
    }

    pub(super) fn literal_element(
        &mut self,
        here: &Here,
        body: &mut Vec<Instruction>,
        nested: bool,
    ) -> Res<()> {
        let here_forwards = self.is_forwards(here);
        let forwards = std::mem::replace(&mut self.forwards, here_forwards);
        let tree = Arc::clone(&here.tree);
        let name = self.out_name(here, here.element);
        let mut excluded = self.listed_prefixes(here, "exclude-result-prefixes");
        excluded.extend(self.listed_prefixes(here, "extension-element-prefixes"));
        let mut namespaces: Vec<(Arc<str>, Arc<str>)> = Vec::new();
        for (prefix, namespace) in tree.in_scope(here.element) {
            if *namespace == *XSLT && self.alias(&namespace).is_none() {
                continue;
            }
            if excluded.contains(&namespace) && !(namespace == name.namespace && prefix == name.prefix) {
                continue;
            }
            match self.alias(&namespace) {
                Some((prefix, namespace)) if !namespace.is_empty() => {
                    if !namespaces.iter().any(|(known, _)| *known == prefix) {
                        namespaces.push((prefix, namespace));
                    }
                }
                Some(_) => {}
                None => {
                    if !namespaces.iter().any(|(known, _)| *known == prefix) {
                        namespaces.push((prefix, namespace));
                    }
                }
            }
        }
        let mut attributes = Vec::new();
        let mut sets = Vec::new();
        for attribute in tree.attributes(here.element) {
            if **tree.namespace(attribute) == *XSLT {
                match &**tree.local(attribute) {
                    "use-attribute-sets" => {
                        sets = self.attribute_set_list(here, tree.value(attribute))?;
                    }
                    "exclude-result-prefixes" | "extension-element-prefixes" => {
                        self.check_prefixes(here, tree.value(attribute))?;
                    }
                    "version" => {}
                    other if !self.forwards => {
                        return self.fail(
                            here,
                            format!("there is no attribute xsl:{other} of literal result elements"),
                        );
                    }
                    _ => {}
                }
                continue;
            }
            let name = self.out_name(here, attribute);
            attributes.push(LiteralAttribute::new(name, self.avt(here, tree.value(attribute))?));
        }
        // What the element around has written need not be written again.
        let mut written = self.inherited.clone().unwrap_or_default();
        let fresh: Vec<_> = namespaces.into_iter().filter(|pair| !written.contains(pair)).collect();
        written.retain(|(prefix, _)| !fresh.iter().any(|(known, _)| known == prefix));
        written.extend(fresh.iter().cloned());
        let plain_default = name.prefix.is_empty() || written.iter().all(|(prefix, _)| !prefix.is_empty());
        let outer = std::mem::replace(&mut self.inherited, plain_default.then_some(written));
        let _ = nested;
        let content = self.body(here);
        self.inherited = outer;
        self.forwards = forwards;
        let number = self.literals;
        self.literals += 1;
        let element = LiteralElement::new(number, name, fresh, attributes, sets, content?);
        self.push(here, body, Operation::LiteralElement(Box::new(element)));
        Ok(())
    }

    /// Runs with no namespaces taken as written, where another element or tree is built around the content.
    fn outside<T>(&mut self, compile: impl FnOnce(&mut Self) -> Res<T>) -> Res<T> {
        let inherited = self.inherited.take();
        let result = compile(self);
        self.inherited = inherited;
        result
    }

    fn xslt_instruction(
        &mut self,
        here: &Here,
        local: &str,
        body: &mut Vec<Instruction>,
        skip_sorts: bool,
    ) -> Res<()> {
        let operation = match local {
            "text" => {
                self.check_attributes(here, &["disable-output-escaping"])?;
                let raw = self.yes_or_no(here, "disable-output-escaping")? == Some(true);
                if here.children().iter().any(|child| here.tree.is_element(*child)) {
                    return self.fail(here, "xsl:text contains only text");
                }
                let text = here.tree.value(here.element);
                if text.is_empty() {
                    return Ok(());
                }
                Operation::Text { text: Arc::from(text), raw }
            }
            "value-of" => {
                self.check_attributes(here, &["select", "disable-output-escaping"])?;
                self.must_be_empty(here)?;
                let raw = self.yes_or_no(here, "disable-output-escaping")? == Some(true);
                Operation::ValueOf { select: self.required_expr(here, "select")?, raw }
            }
            "apply-templates" => {
                self.check_attributes(here, &["select", "mode"])?;
                let select = match here.attribute("select") {
                    Some(source) => Some(self.expr(here, source)?),
                    None => None,
                };
                let mode = self.mode(here)?;
                let sorts = self.sorts(here)?;
                let parameters = self.with_params(here, true)?;
                Operation::ApplyTemplates { select, mode, sorts, parameters }
            }
            "apply-imports" => {
                self.check_attributes(here, &[])?;
                let parameters = self.with_params(here, false)?;
                Operation::ApplyImports(parameters)
            }
            "call-template" => {
                self.check_attributes(here, &["name"])?;
                let name = self.name_attribute(here, "name")?;
                let Some((template, _)) = self.template_names.get(&name).copied() else {
                    let name = here.attribute("name").unwrap_or("").to_owned();
                    return self.fail(here, format!("there is no template `{name}`"));
                };
                let parameters = self.with_params(here, false)?;
                Operation::CallTemplate { template, parameters, tail: false }
            }
            "for-each" => {
                self.check_attributes(here, &["select"])?;
                let select = self.required_expr(here, "select")?;
                let sorts = self.sorts(here)?;
                let mark = self.locals.len();
                let mut inner = Vec::new();
                let mut sorts_allowed = true;
                for child in here.children() {
                    let child = here.at(child);
                    let is_sort = child.tree.is_element(child.element)
                        && **child.tree.namespace(child.element) == *XSLT
                        && **child.tree.local(child.element) == *"sort";
                    if is_sort {
                        if !sorts_allowed {
                            return self.fail(&child, "xsl:sort must come first");
                        }
                        continue;
                    }
                    if matches!(child.tree.node(child.element).kind, NodeKind::Element | NodeKind::Text) {
                        sorts_allowed = false;
                    }
                    self.instruction(&child, &mut inner, false)?;
                }
                self.locals.truncate(mark);
                Operation::ForEach { select, sorts, body: inner.into() }
            }
            "if" => {
                self.check_attributes(here, &["test"])?;
                Operation::If { test: self.required_expr(here, "test")?, body: self.body(here)? }
            }
            "choose" => {
                self.check_attributes(here, &[])?;
                self.choose(here)?
            }
            "variable" => {
                self.check_attributes(here, &["name", "select"])?;
                let value = self.binding(here)?;
                let name = self.name_attribute(here, "name")?;
                let slot = self.new_local(here, name)?;
                Operation::Variable { slot, value }
            }
            "element" => {
                self.check_attributes(here, &["name", "namespace", "use-attribute-sets"])?;
                let name = self.required_avt(here, "name")?;
                if let Avt::Constant(name) = &name
                    && !crate::xml::characters::is_qname(name.trim())
                    && !self.forwards
                {
                    return self.fail(here, format!("`{name}` is not a name of an element"));
                }
                let namespace = self.optional_avt(here, "namespace")?;
                let scope = self.static_scope(here);
                let name = ComputedName::new(name, namespace, scope, true, &mut self.names);
                let sets =
                    self.attribute_set_list(here, here.attribute("use-attribute-sets").unwrap_or(""))?;
                let content = self.outside(|compiler| compiler.body(here))?;
                Operation::Element { name, sets, body: content }
            }
            "attribute" => {
                self.check_attributes(here, &["name", "namespace"])?;
                let name = self.required_avt(here, "name")?;
                let namespace = self.optional_avt(here, "namespace")?;
                let scope = self.static_scope(here);
                let name = ComputedName::new(name, namespace, scope, false, &mut self.names);
                let content = self.outside(|compiler| compiler.body(here))?;
                Operation::Attribute { name, body: content }
            }
            "comment" => {
                self.check_attributes(here, &[])?;
                Operation::Comment(self.outside(|compiler| compiler.body(here))?)
            }
            "processing-instruction" => {
                self.check_attributes(here, &["name"])?;
                let name = self.required_avt(here, "name")?;
                let content = self.outside(|compiler| compiler.body(here))?;
                Operation::ProcessingInstruction { name, body: content }
            }
            "copy" => {
                self.check_attributes(here, &["use-attribute-sets"])?;
                let sets =
                    self.attribute_set_list(here, here.attribute("use-attribute-sets").unwrap_or(""))?;
                let content = self.outside(|compiler| compiler.body(here))?;
                Operation::Copy { sets, body: content }
            }
            "copy-of" => {
                self.check_attributes(here, &["select"])?;
                self.must_be_empty(here)?;
                Operation::CopyOf(self.required_expr(here, "select")?)
            }
            "number" => self.number(here)?,
            "message" => {
                self.check_attributes(here, &["terminate"])?;
                let terminate = self.yes_or_no(here, "terminate")? == Some(true);
                let content = self.outside(|compiler| compiler.body(here))?;
                Operation::Message { body: content, terminate }
            }
            "fallback" => return Ok(()),
            "sort" if skip_sorts => return Ok(()),
            "param" | "sort" | "with-param" | "when" | "otherwise" => {
                return self.fail(here, format!("xsl:{local} must not be here"));
            }
            _ if self.forwards => return self.unknown(here, body),
            other => return self.fail(here, format!("there is no instruction xsl:{other}")),
        };
        self.push(here, body, operation);
        Ok(())
    }

    fn must_be_empty(&self, here: &Here) -> Res<()> {
        let filled = here
            .children()
            .iter()
            .any(|child| matches!(here.tree.node(*child).kind, NodeKind::Element | NodeKind::Text));
        if filled && !self.forwards {
            self.fail(here, format!("`{}` must be empty", here.name()))
        } else {
            Ok(())
        }
    }

    fn choose(&mut self, here: &Here) -> Res<Operation> {
        let mut whens = Vec::new();
        let mut otherwise = None;
        for child in here.children() {
            let child = here.at(child);
            match child.tree.node(child.element).kind {
                NodeKind::Element => {}
                NodeKind::Text => {
                    return self.fail(&child, "xsl:choose contains only xsl:when and xsl:otherwise");
                }
                _ => continue,
            }
            let is_xslt = **child.tree.namespace(child.element) == *XSLT;
            match &**child.tree.local(child.element) {
                "when" if is_xslt && otherwise.is_none() => {
                    self.check_attributes(&child, &["test"])?;
                    let test = self.required_expr(&child, "test")?;
                    whens.push((test, self.body(&child)?));
                }
                "otherwise" if is_xslt && otherwise.is_none() => {
                    self.check_attributes(&child, &[])?;
                    otherwise = Some(self.body(&child)?);
                }
                _ => return self.fail(&child, format!("`{}` must not be here in xsl:choose", child.name())),
            }
        }
        if whens.is_empty() {
            return self.fail(here, "xsl:choose has no xsl:when");
        }
        Ok(Operation::Choose { whens, otherwise: otherwise.unwrap_or_default() })
    }

    fn sorts(&mut self, here: &Here) -> Res<Vec<Sort>> {
        let mut sorts = Vec::new();
        for child in here.children() {
            let child = here.at(child);
            if !child.tree.is_element(child.element)
                || **child.tree.namespace(child.element) != *XSLT
                || **child.tree.local(child.element) != *"sort"
            {
                continue;
            }
            self.check_attributes(&child, &["select", "lang", "data-type", "order", "case-order"])?;
            let select = match child.attribute("select") {
                Some(source) => self.expr(&child, source)?,
                None => Expr::Path(Box::new(Path {
                    start: Start::Context,
                    steps: vec![Step { axis: Axis::SelfNode, test: NodeTest::Any, predicates: Vec::new() }],
                })),
            };
            sorts.push(Sort {
                select,
                lang: self.optional_avt(&child, "lang")?,
                data_type: self.optional_avt(&child, "data-type")?,
                order: self.optional_avt(&child, "order")?,
                case_order: self.optional_avt(&child, "case-order")?,
            });
        }
        Ok(sorts)
    }

    fn with_params(&mut self, here: &Here, sorts_too: bool) -> Res<Vec<Parameter>> {
        let mut parameters: Vec<Parameter> = Vec::new();
        for child in here.children() {
            let child = here.at(child);
            match child.tree.node(child.element).kind {
                NodeKind::Element => {}
                NodeKind::Text => {
                    if self.forwards {
                        continue;
                    }
                    return self.fail(&child, format!("`{}` contains text", here.name()));
                }
                _ => continue,
            }
            let is_xslt = **child.tree.namespace(child.element) == *XSLT;
            match &**child.tree.local(child.element) {
                "with-param" if is_xslt => {
                    self.check_attributes(&child, &["name", "select"])?;
                    let value = self.binding(&child)?;
                    let name = self.name_attribute(&child, "name")?;
                    if parameters.iter().any(|known| known.name == name) {
                        return self.fail(
                            &child,
                            format!(
                                "the parameter `{}` is passed twice",
                                child.attribute("name").unwrap_or("")
                            ),
                        );
                    }
                    parameters.push(Parameter { name, value });
                }
                "sort" if is_xslt && sorts_too => {}
                _ if self.forwards => {}
                _ => {
                    return self.fail(&child, format!("`{}` must not be in `{}`", child.name(), here.name()));
                }
            }
        }
        Ok(parameters)
    }

    fn number(&mut self, here: &Here) -> Res<Operation> {
        self.check_attributes(
            here,
            &[
                "level",
                "count",
                "from",
                "value",
                "format",
                "lang",
                "letter-value",
                "grouping-separator",
                "grouping-size",
            ],
        )?;
        let value = match here.attribute("value") {
            Some(source) => Some(self.expr(here, source)?),
            None => None,
        };
        let level = match here.attribute("level").unwrap_or("single").trim() {
            "single" => Level::Single,
            "multiple" => Level::Multiple,
            "any" => Level::Any,
            _ if self.forwards => Level::Single,
            other => return self.fail(here, format!("xsl:number has no level `{other}`")),
        };
        let mut pattern = |attribute: &str| match here.attribute(attribute) {
            Some(source) => self.pattern(here, source, true, &[]).map(Some),
            None => Ok(None),
        };
        let (count, from) = (pattern("count")?, pattern("from")?);
        Ok(Operation::Number(Box::new(NumberInstruction {
            value,
            level,
            count,
            from,
            format: self.optional_avt(here, "format")?.unwrap_or_else(|| Avt::Constant(Arc::from("1"))),
            letter_value: self.optional_avt(here, "letter-value")?,
            grouping_separator: self.optional_avt(here, "grouping-separator")?,
            grouping_size: self.optional_avt(here, "grouping-size")?,
        })))
    }
}

/// Marks the calls after which a template has nothing left to do.
fn mark_tail(body: &mut [Instruction]) {
    let Some(last) = body.last_mut() else { return };
    match &mut last.operation {
        Operation::CallTemplate { tail, .. } => *tail = true,
        Operation::If { body, .. } => mark_tail(body),
        Operation::Choose { whens, otherwise } => {
            for (_, body) in whens {
                mark_tail(body);
            }
            mark_tail(otherwise);
        }
        _ => {}
    }
}
