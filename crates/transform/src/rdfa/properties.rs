//! Step 11 of the processing sequence: the properties of an element and the value it gives them.
//!
//! A value is a resource, a literal that an attribute holds, markup, or the element's text. Text is still to come when the
//! element begins, so it is [`Pending`] until the element ends; in a list its place is kept free. Start at
//! [`Evaluator::step_11`].

use std::rc::Rc;

use html5ever::{local_name, ns};
use oxrdf::vocab::rdf;
use oxrdf::{Literal, NamedNode, NamedNodeRef, Term};

use super::attributes::Attributes;
use super::evaluate::{Evaluator, Node, Scope};
use super::lexical::{numeric, temporal};
use super::lists::Place;
use super::literal;
use super::output::term_bytes;
use crate::dom::{Element, NodeId};

const HTML_LITERAL: NamedNodeRef<'_> =
    NamedNodeRef::new_unchecked("http://www.w3.org/1999/02/22-rdf-syntax-ns#HTML");

/// Where a property's value goes.
pub(super) enum Target {
    Triple(NamedNode),
    Item(Place),
}

/// A literal that is an element's text, until the element ends.
pub(super) struct Pending {
    pub(super) node: NodeId,
    start: usize,
    subject: Node,
    targets: Vec<Target>,
    form: Form,
}

/// How a text becomes a literal.
#[derive(Clone)]
pub(super) enum Form {
    Plain(Option<Rc<str>>),
    Typed(NamedNode),
    /// By its form a date or a time, else plain.
    Temporal(Option<Rc<str>>),
    /// By its form a number, else plain.
    Numeric(Option<Rc<str>>),
}

/// The value of a property.
enum Value {
    Known(Term),
    /// The element's text.
    Text(Form),
}

impl Evaluator<'_> {
    /// Step 11: properties.
    #[expect(clippy::too_many_arguments, reason = "they are the specification's local values")]
    pub(super) fn step_11(
        &mut self,
        id: NodeId,
        element: &Element,
        attributes: &Attributes<'_>,
        scope: &Scope,
        subject: &Node,
        typed: Option<&Node>,
        lists: usize,
    ) {
        let Some(properties) = attributes.property else {
            return;
        };
        let mut targets = Vec::new();
        for word in properties.split_ascii_whitespace() {
            if let Some(predicate) = self.predicate(word, scope, true) {
                targets.push(if attributes.inlist {
                    let list = self.lists.list(lists, &predicate);
                    Target::Item(self.lists.place(list))
                } else {
                    Target::Triple(predicate)
                });
            }
        }
        if targets.is_empty() {
            return;
        }
        match self.property_value(id, element, attributes, scope, subject, typed) {
            Some(Value::Known(term)) => self.give(subject, targets, term),
            Some(Value::Text(form)) => {
                let pending =
                    Pending { node: id, start: self.text.len(), subject: Rc::clone(subject), targets, form };
                self.pending.push(pending);
            }
            None => {}
        }
    }

    /// The value an element gives to its properties.
    fn property_value(
        &mut self,
        id: NodeId,
        element: &Element,
        attributes: &Attributes<'_>,
        scope: &Scope,
        subject: &Node,
        typed: Option<&Node>,
    ) -> Option<Value> {
        let language = || scope.language.clone();
        if let Some(datatype) = attributes.datatype {
            let datatype = datatype.trim_ascii();
            let datatype = if datatype.is_empty() { None } else { self.predicate(datatype, scope, true) };
            let form = match datatype {
                Some(datatype) if datatype.as_ref() == rdf::XML_LITERAL => {
                    let default = if self.profile.xml { "" } else { &*ns!(html) };
                    let declared = self.prefixes.declared();
                    let text = literal::xml(self.dom, id, &declared, default, self.output.left());
                    return self.markup(text, rdf::XML_LITERAL);
                }
                Some(datatype) if datatype.as_ref() == HTML_LITERAL => {
                    let text = literal::html(self.dom, id, self.output.left());
                    return self.markup(text, HTML_LITERAL);
                }
                Some(datatype) => Form::Typed(datatype),
                None => Form::Plain(language()),
            };
            return Some(match attributes.literal() {
                Some(text) => Value::Known(form.literal(text)),
                None => Value::Text(form),
            });
        }
        if let Some(content) = attributes.content {
            return Some(Value::Known(Form::Plain(language()).literal(content)));
        }
        if let Some(datetime) = attributes.datetime {
            return Some(Value::Known(Form::Temporal(language()).literal(datetime)));
        }
        if let Some(value) = attributes.value {
            return Some(Value::Known(Form::Numeric(language()).literal(value)));
        }
        if attributes.rel.is_none()
            && attributes.rev.is_none()
            && let Some(referent) = self.referent(attributes, scope)
        {
            return Some(Value::Known((*referent).clone().into()));
        }
        // Not so where the element types its own subject, as the root does: that stands for an `about`.
        if attributes.about.is_none()
            && let Some(typed) = typed.filter(|typed| *typed != subject)
        {
            return Some(Value::Known((**typed).clone().into()));
        }
        let is_time = self.profile.html5 && element.is_html(&local_name!("time"));
        Some(Value::Text(if is_time { Form::Temporal(language()) } else { Form::Plain(language()) }))
    }

    /// A literal of markup; nothing when there is no room for it.
    fn markup(&mut self, text: Option<String>, datatype: NamedNodeRef<'_>) -> Option<Value> {
        match text {
            Some(text) => Some(Value::Known(Literal::new_typed_literal(text, datatype).into())),
            None => {
                self.output.take(usize::MAX);
                None
            }
        }
    }

    /// Gives a value to all properties of an element.
    fn give(&mut self, subject: &Node, targets: Vec<Target>, value: Term) {
        let last = targets.len() - 1;
        let mut value = Some(value);
        for (index, target) in targets.into_iter().enumerate() {
            let value = if index == last { value.take() } else { value.clone() };
            let Some(value) = value else {
                return;
            };
            match target {
                Target::Triple(predicate) => self.output.push((**subject).clone(), predicate, value),
                Target::Item(place) => {
                    if self.output.take(term_bytes(&value)) {
                        self.lists.fill(place, value);
                    }
                }
            }
            if self.output.is_full() {
                return;
            }
        }
    }

    /// The text of an element is complete.
    pub(super) fn finish_text(&mut self, pending: Pending) {
        let Pending { start, subject, targets, form, .. } = pending;
        let value = form.literal(&self.text[start..]);
        self.give(&subject, targets, value);
    }
}

impl Form {
    fn literal(&self, text: &str) -> Term {
        let datatype = match self {
            Self::Typed(datatype) => Some(datatype.as_ref()),
            Self::Temporal(_) => temporal(text),
            Self::Numeric(_) => numeric(text),
            Self::Plain(_) => None,
        };
        let literal = match (datatype, self) {
            (Some(datatype), _) => Literal::new_typed_literal(text, datatype),
            (
                None,
                Self::Plain(Some(language)) | Self::Temporal(Some(language)) | Self::Numeric(Some(language)),
            ) => Literal::new_language_tagged_literal_unchecked(text, &**language),
            (None, _) => Literal::new_simple_literal(text),
        };
        literal.into()
    }
}
