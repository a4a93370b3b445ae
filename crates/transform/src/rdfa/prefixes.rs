//! Prefixes in scope: declared ones, then those of the initial context.
//!
//! One table with a stack for each prefix, so that a lookup costs the same however deep declarations are nested. Whoever
//! binds remembers to unbind at the end of the element.

use std::rc::Rc;

use super::initial;
use crate::maps::HashMap;

/// The prefixes that are bound where the walk is.
#[derive(Debug, Default)]
pub(super) struct Prefixes {
    bound: HashMap<Rc<str>, Vec<Rc<str>>>,
}

impl Prefixes {
    /// The namespace of a prefix, whatever its case.
    pub(super) fn namespace(&self, prefix: &str) -> Option<&str> {
        if prefix.bytes().any(|byte| byte.is_ascii_uppercase()) {
            return self.namespace_of_lower(&prefix.to_ascii_lowercase());
        }
        self.namespace_of_lower(prefix)
    }

    fn namespace_of_lower(&self, prefix: &str) -> Option<&str> {
        // Many pages declare nothing, and none declares everything it uses.
        self.bound
            .get(prefix)
            .and_then(|stack| stack.last())
            .map(|namespace| &**namespace)
            .or_else(|| initial::prefix(prefix))
    }

    /// Binds a prefix, given in lower case, until [`Prefixes::unbind`].
    pub(super) fn bind(&mut self, prefix: Rc<str>, namespace: Rc<str>) {
        self.bound.entry(prefix).or_default().push(namespace);
    }

    /// Takes the latest binding of a prefix back.
    pub(super) fn unbind(&mut self, prefix: &str) {
        if let Some(stack) = self.bound.get_mut(prefix) {
            stack.pop();
            if stack.is_empty() {
                self.bound.remove(prefix);
            }
        }
    }

    /// The declared prefixes, in order.
    pub(super) fn declared(&self) -> Vec<(&str, &str)> {
        let mut declared: Vec<_> =
            self.bound.iter().filter_map(|(prefix, stack)| Some((&**prefix, &**stack.last()?))).collect();
        declared.sort_unstable();
        declared
    }
}
