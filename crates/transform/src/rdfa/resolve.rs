//! What the names in attributes stand for: terms, CURIEs, safe CURIEs, IRIs; and how prefixes are declared.

use std::rc::Rc;

use html5ever::ns;
use oxrdf::{BlankNode, NamedNode, NamedOrBlankNode};

use super::evaluate::{Evaluator, Node, Scope};
use super::initial;
use super::iri::{absolute, in_namespace, is_name, is_term, split_curie};
use super::report::Kind;
use crate::dom::Element;

/// What a text with a colon turned out to be.
enum Curie {
    /// A name for something.
    Node(NamedOrBlankNode),
    /// Its prefix is bound, but what comes out is no IRI.
    Broken,
    /// Its prefix is not bound, or it has none.
    Unknown,
}

impl Evaluator<'_> {
    /// A term, a CURIE or an absolute IRI: what `typeof` and `role` name things by. `expected` when a term that is
    /// unknown is worth mentioning.
    pub(super) fn name(&mut self, word: &str, scope: &Scope, expected: bool) -> Option<NamedOrBlankNode> {
        if is_term(word) {
            if let Some(vocabulary) = &scope.vocabulary {
                return in_namespace(vocabulary, word).map(Into::into);
            }
            if let Some((namespace, term)) = initial::term(word, self.profile.xhtml_terms) {
                return in_namespace(namespace, term).map(Into::into);
            }
            self.report.unknown_term(word, expected);
            return None;
        }
        match self.curie(word) {
            Curie::Node(node) => Some(node),
            Curie::Broken => None,
            Curie::Unknown => {
                let iri = absolute(word);
                match (&iri, split_curie(word)) {
                    (Some(_), Some((prefix, _))) => self.report.undeclared(prefix, word),
                    (Some(_), None) => {}
                    (None, _) => self.report.ignore(Kind::UnresolvedCurie, word),
                }
                iri.map(Into::into)
            }
        }
    }

    /// The same where only an IRI will do: predicates and datatypes.
    pub(super) fn predicate(&mut self, word: &str, scope: &Scope, expected: bool) -> Option<NamedNode> {
        match self.name(word, scope, expected) {
            Some(NamedOrBlankNode::NamedNode(node)) => Some(node),
            Some(NamedOrBlankNode::BlankNode(_)) => {
                self.report.ignore(Kind::Warning, word);
                None
            }
            None => None,
        }
    }

    /// A safe CURIE, a CURIE or an IRI: what `about` and `resource` name things by.
    pub(super) fn resource(&mut self, text: &str, scope: &Scope) -> Option<Node> {
        let text = text.trim_ascii();
        if let Some(curie) = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')) {
            // `[]` is the way to say nothing.
            if curie.is_empty() {
                return None;
            }
            return match self.curie(curie) {
                Curie::Node(node) => Some(Rc::new(node)),
                Curie::Broken | Curie::Unknown => {
                    self.report.ignore(Kind::UnresolvedCurie, text);
                    None
                }
            };
        }
        let node = match self.curie(text) {
            Curie::Node(node) => Some(node),
            Curie::Broken => None,
            Curie::Unknown => scope.base.resolve(text).map(Into::into),
        };
        if node.is_none() {
            self.report.ignore(Kind::Warning, text);
        }
        node.map(Rc::new)
    }

    fn curie(&mut self, text: &str) -> Curie {
        let Some((prefix, reference)) = split_curie(text) else {
            return Curie::Unknown;
        };
        let namespace = match prefix {
            "_" => return Curie::Node(BlankNode::new_unchecked(format!("l{reference}")).into()),
            "" => initial::XHTML_VOCABULARY,
            _ => match self.prefixes.namespace(prefix) {
                Some(namespace) => namespace,
                None => return Curie::Unknown,
            },
        };
        in_namespace(namespace, reference).map_or(Curie::Broken, |node| Curie::Node(node.into()))
    }

    /// Binds what `xmlns:…` declares.
    pub(super) fn bind_namespaces(&mut self, element: &Element, bound: &mut Vec<Rc<str>>) {
        for attribute in &element.attributes {
            let local = &*attribute.name.local;
            let prefix = if attribute.name.ns == ns!(xmlns) {
                if local == "xmlns" { None } else { Some(local) }
            } else if attribute.name.ns == ns!() && !self.profile.xml {
                local.strip_prefix("xmlns:")
            } else {
                None
            };
            if let Some(prefix) = prefix {
                self.bind(prefix, &attribute.value, bound);
            }
        }
    }

    /// Binds what `prefix="name: IRI …"` declares.
    pub(super) fn bind_prefixes(&mut self, declarations: &str, bound: &mut Vec<Rc<str>>) {
        let mut words = declarations.split_ascii_whitespace();
        while let Some(word) = words.next() {
            let Some(prefix) = word.strip_suffix(':') else {
                self.report.ignore(Kind::Warning, word);
                continue;
            };
            let Some(iri) = words.next() else {
                self.report.ignore(Kind::Warning, word);
                return;
            };
            // The empty prefix is XHTML's and cannot be bound; `prefix=": …"` is an author's guess.
            if is_name(prefix) {
                self.bind(prefix, iri, bound);
            } else {
                self.report.ignore(Kind::Warning, word);
            }
        }
    }

    fn bind(&mut self, prefix: &str, iri: &str, bound: &mut Vec<Rc<str>>) {
        // `_` is for blank nodes, whoever declares it.
        if prefix.is_empty() || prefix == "_" {
            return;
        }
        let prefix: Rc<str> = prefix.to_ascii_lowercase().into();
        let iri = iri.trim_ascii();
        // A relative IRI is not resolved when declared; what it gives is, where the document is read.
        let namespace: Rc<str> = match absolute(iri) {
            Some(_) => Rc::from(iri),
            None => self.document.resolve(iri).map_or_else(|| Rc::from(""), |node| Rc::from(node.as_str())),
        };
        if self.report.wants_events()
            && let Some(before) = self.prefixes.namespace(&prefix)
            && *before != *namespace
        {
            let message =
                format!("the prefix `{prefix}` stood for <{before}> and now stands for <{namespace}>");
            self.report.event(Kind::PrefixRedefinition, &message);
        }
        self.prefixes.bind(Rc::clone(&prefix), namespace);
        bound.push(prefix);
    }
}
