//! The functions of EXSLT that stylesheets use, by module: common, strings, math, sets, regular expressions, dates.
//!
//! Functions that give new nodes build a small tree for them. Nothing here reads anything but the clock.

mod dates;
mod math;
mod regular;
mod sets;
mod strings;

use std::sync::Arc;

use crate::error::Res;
use crate::run::Machine;
use crate::tree::{Names, NodeId, TreeBuilder};
use crate::xpath::ast::{Expr, Extension};
use crate::xpath::eval::Context;
use crate::xpath::value::{Fragment, NodeSet, Object};

impl<'t> Machine<'t> {
    /// Calls an extension function.
    pub(crate) fn extension(
        &mut self,
        extension: Extension,
        arguments: &[Expr],
        context: &Context,
    ) -> Res<Object<'t>> {
        use Extension as E;
        match extension {
            E::NodeSet => match self.eval(&arguments[0], context)? {
                Object::Nodes(nodes) => Ok(Object::Nodes(nodes)),
                Object::Fragment(fragment) => Ok(Object::Nodes(self.fragment_nodes(&fragment)?)),
                other => {
                    let text = self.to_text(other);
                    let fragment = Fragment::Text(Arc::new(String::from(&*text)));
                    Ok(Object::Nodes(self.fragment_nodes(&fragment)?))
                }
            },
            E::ObjectType => Ok(Object::text(match self.eval(&arguments[0], context)? {
                Object::Nodes(_) => "node-set",
                Object::Text(_) => "string",
                Object::Number(_) => "number",
                Object::Boolean(_) => "boolean",
                Object::Fragment(_) => "RTF",
            })),
            E::Tokenize
            | E::Split
            | E::Replace
            | E::Padding
            | E::Align
            | E::ConcatNodes
            | E::EncodeUri
            | E::DecodeUri => self.string_extension(extension, arguments, context),
            E::Difference | E::Intersection | E::Distinct | E::HasSameNode | E::Leading | E::Trailing => {
                self.set_extension(extension, arguments, context)
            }
            E::RegexTest | E::RegexMatch | E::RegexReplace => {
                self.regex_extension(extension, arguments, context)
            }
            E::Date(function) => self.date_extension(function, arguments, context),
            E::Evaluate => Err(crate::error::run_error("this function cannot be called here")),
            _ => self.math_extension(extension, arguments, context),
        }
    }

    /// Elements of one name with these texts, as a set of nodes.
    fn new_elements<S: AsRef<str>>(&mut self, name: &str, texts: &[S]) -> Res<NodeSet> {
        let names = Arc::new(Names::above(Arc::clone(&self.world.program.names)));
        let mut builder = TreeBuilder::with_names("", self.world.limits.nodes_max, names);
        let mut indexes = Vec::with_capacity(texts.len());
        let name = builder.name("", name);
        for text in texts {
            indexes.push(builder.start(0, name)?);
            builder.add_text(text.as_ref())?;
            builder.end_element();
        }
        let tree = builder.into_tree();
        self.budget.spend(tree.nodes.len() as u64)?;
        self.budget.hold(tree.memory_bytes())?;
        let number = self.world.trees.push(Arc::new(tree), &self.world.program.names)?;
        let nodes: Vec<_> = indexes.into_iter().map(|index| NodeId::new(number, index)).collect();
        Ok(NodeSet::sorted(nodes))
    }
}
