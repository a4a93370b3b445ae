//! Evaluation: what an expression gives at a node.
//!
//! There is one way to ask for each type ([`Machine::nodes`], [`Machine::string`], [`Machine::number`],
//! [`Machine::boolean`]), so that a path in a condition stops at the first node and a string is not copied.

use std::collections::HashSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use super::ast::{
    Axis, Comparison, Expr, Function, NameTest, NodeTest, Operator, Path, Predicate, Start, Step, Type,
    Variable,
};
use super::axes::{TreeTest, walk};
use super::numbers;
use super::value::{Fragment, NodeSet, Object, Text, number_text, sort};
use crate::error::{Res, run_error};
use crate::run::Machine;
use crate::tree::{NONE, NodeId, NodeKind};

/// Where an expression is evaluated.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Context {
    pub(crate) node: NodeId,
    pub(crate) position: usize,
    pub(crate) size: usize,
    /// What `current()` gives.
    pub(crate) current: NodeId,
}

impl Context {
    /// A node alone.
    pub(crate) fn at(node: NodeId) -> Self {
        Self { node, position: 1, size: 1, current: node }
    }
}

/// Lists of nodes with room for more than this are not kept.
const LIST_KEPT_MAX: usize = 4096;

impl<'t> Machine<'t> {
    /// Evaluates to whatever the expression gives.
    pub(crate) fn eval(&mut self, expr: &Expr, context: &Context) -> Res<Object<'t>> {
        Ok(match expr {
            Expr::Number(number) => Object::Number(*number),
            Expr::Literal(text) => Object::Text(Text::Shared(text.clone())),
            Expr::Or(_) | Expr::And(_) | Expr::Compare(..) => Object::Boolean(self.boolean(expr, context)?),
            Expr::Arithmetic(..) | Expr::Negate(_) => Object::Number(self.number(expr, context)?),
            Expr::Union(_) | Expr::Path(_) | Expr::Filter(..) => Object::Nodes(self.nodes(expr, context)?),
            Expr::Variable(variable) => self.variable(*variable)?,
            Expr::Call(function, arguments) => self.call(*function, arguments, context)?,
            Expr::ScopedCall(function, arguments, scope) => {
                self.scoped_call(*function, arguments, scope, context)?
            }
            Expr::Unknown(reason) => return Err(run_error(&**reason)),
        })
    }

    /// Evaluates to nodes; anything else is an error.
    pub(crate) fn nodes(&mut self, expr: &Expr, context: &Context) -> Res<NodeSet> {
        match expr {
            Expr::Path(path) => self.path(path, context),
            Expr::Union(parts) => {
                let mut all = self.nodes(&parts[0], context)?.into_vec();
                for part in &parts[1..] {
                    all.extend_from_slice(&self.nodes(part, context)?);
                }
                self.budget.spend(all.len() as u64)?;
                Ok(NodeSet::unsorted(all))
            }
            Expr::Filter(inner, predicates) => {
                let mut nodes = self.nodes(inner, context)?.into_vec();
                self.filter(&mut nodes, predicates, context)?;
                Ok(NodeSet::sorted(nodes))
            }
            _ => match self.eval(expr, context)? {
                Object::Nodes(nodes) => Ok(nodes),
                Object::Fragment(_) => Err(run_error(
                    "the content of a variable is not a set of nodes; exsl:node-set() makes one of it",
                )),
                _ => Err(run_error("a set of nodes is needed here, not a string, number or boolean")),
            },
        }
    }

    /// Evaluates to a string.
    pub(crate) fn string(&mut self, expr: &Expr, context: &Context) -> Res<Text<'t>> {
        match expr {
            Expr::Path(path) => {
                let first = self.first_of_path(path, context)?;
                Ok(first.map_or(Text::Borrowed(""), |node| self.string_of(node)))
            }
            Expr::Variable(variable) => {
                // Mostly a text or a node; neither needs a copy of its value.
                match self.known_variable(*variable) {
                    Some(Object::Text(text)) => Ok(text.clone()),
                    Some(Object::Fragment(Fragment::Text(text))) => Ok(Text::Kept(Arc::clone(text))),
                    Some(Object::Nodes(NodeSet::One(node))) => Ok(self.string_of(*node)),
                    _ => {
                        let object = self.variable(*variable)?;
                        Ok(self.to_text(object))
                    }
                }
            }
            Expr::Call(function, arguments) => {
                let object = self.call(*function, arguments, context)?;
                Ok(self.to_text(object))
            }
            _ => {
                let object = self.eval(expr, context)?;
                Ok(self.to_text(object))
            }
        }
    }

    /// Evaluates to a string and adds it to another.
    pub(crate) fn append(&mut self, expr: &Expr, context: &Context, joined: &mut String) -> Res<()> {
        match self.ready_text(expr) {
            Some(text) => joined.push_str(text),
            None => joined.push_str(&self.string(expr, context)?),
        }
        Ok(())
    }

    /// Evaluates to a string that is only looked at while the expression is there.
    #[inline]
    pub(crate) fn string_near<'e>(&mut self, expr: &'e Expr, context: &Context) -> Res<Text<'e>>
    where
        't: 'e,
    {
        match expr {
            Expr::Literal(text) => Ok(Text::Borrowed(text)),
            _ => self.string(expr, context),
        }
    }

    /// Evaluates to a number.
    pub(crate) fn number(&mut self, expr: &Expr, context: &Context) -> Res<f64> {
        match expr {
            Expr::Number(number) => Ok(*number),
            Expr::Negate(inner) => Ok(-self.number(inner, context)?),
            Expr::Arithmetic(first, rest) => {
                let mut left = self.number(first, context)?;
                for (operator, operand) in rest {
                    let right = self.number(operand, context)?;
                    left = match operator {
                        Operator::Add => left + right,
                        Operator::Subtract => left - right,
                        Operator::Multiply => left * right,
                        Operator::Divide => left / right,
                        Operator::Modulo => left % right,
                    };
                }
                Ok(left)
            }
            Expr::Path(_) => Ok(numbers::parse(&self.string(expr, context)?)),
            _ => {
                let object = self.eval(expr, context)?;
                Ok(self.to_number(&object))
            }
        }
    }

    /// Evaluates to true or false.
    pub(crate) fn boolean(&mut self, expr: &Expr, context: &Context) -> Res<bool> {
        match expr {
            Expr::Or(parts) => {
                for part in parts {
                    if self.boolean(part, context)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Expr::And(parts) => {
                for part in parts {
                    if !self.boolean(part, context)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Expr::Compare(comparison, left, right) => self.compare(*comparison, left, right, context),
            Expr::Call(Function::Not, arguments) => {
                self.budget.spend(1)?;
                Ok(!self.boolean(&arguments[0], context)?)
            }
            Expr::Path(path) => Ok(self.first_of_path(path, context)?.is_some()),
            Expr::Union(parts) => {
                for part in parts {
                    if self.boolean(part, context)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            _ => {
                let object = self.eval(expr, context)?;
                Ok(to_boolean(&object))
            }
        }
    }

    fn variable(&mut self, variable: Variable) -> Res<Object<'t>> {
        match variable {
            Variable::Local(slot) => self.local(slot),
            Variable::Global(number) => self.global(number),
        }
    }

    // ---- paths

    fn path(&mut self, path: &Path, context: &Context) -> Res<NodeSet> {
        if path.steps.is_empty() {
            return self.path_start(path, context);
        }
        let list = self.path_list(path, context)?;
        Ok(self.set_of(list))
    }

    fn path_start(&mut self, path: &Path, context: &Context) -> Res<NodeSet> {
        Ok(match &path.start {
            Start::Root => NodeSet::One(NodeId::new(context.node.document(), 0)),
            Start::Context => NodeSet::One(context.node),
            Start::Expr(expr) => self.nodes(expr, context)?,
        })
    }

    /// The nodes of a path in a list that is given back with [`Machine::recycle`].
    fn path_list(&mut self, path: &Path, context: &Context) -> Res<Vec<NodeId>> {
        let start = self.path_start(path, context)?;
        let mut found = self.spare_list();
        let Some((first, steps)) = path.steps.split_first() else {
            found.extend_from_slice(&start);
            return Ok(found);
        };
        if self.leads_nowhere(steps.last().unwrap_or(first), &start) {
            return Ok(found);
        }
        self.step(first, &start, context, &mut found)?;
        for step in steps {
            if found.is_empty() {
                break;
            }
            let mut next = self.spare_list();
            self.step(step, &found, context, &mut next)?;
            self.recycle(std::mem::replace(&mut found, next));
        }
        Ok(found)
    }

    /// Evaluates to nodes that are looked at once, in a list that is given back with [`Machine::recycle`].
    pub(crate) fn list(&mut self, expr: &Expr, context: &Context) -> Res<Vec<NodeId>> {
        match expr {
            Expr::Path(path) => self.path_list(path, context),
            _ => {
                let nodes = self.nodes(expr, context)?;
                let mut list = self.spare_list();
                list.extend_from_slice(&nodes);
                Ok(list)
            }
        }
    }

    /// How many nodes an expression gives.
    pub(crate) fn count(&mut self, expr: &Expr, context: &Context) -> Res<usize> {
        let Expr::Path(path) = expr else { return Ok(self.nodes(expr, context)?.len()) };
        let list = self.path_list(path, context)?;
        let count = list.len();
        self.recycle(list);
        Ok(count)
    }

    /// The first node of a path in document order, found without the others where that is easy.
    fn first_of_path(&mut self, path: &Path, context: &Context) -> Res<Option<NodeId>> {
        let Some((last, steps)) = path.steps.split_last() else {
            return Ok(self.path_start(path, context)?.first().copied());
        };
        if !last.predicates.is_empty() || last.axis.is_reverse() || last.axis == Axis::Namespace {
            let list = self.path_list(path, context)?;
            let first = list.first().copied();
            self.recycle(list);
            return Ok(first);
        }
        if steps.is_empty()
            && let Start::Context = path.start
        {
            if last.is_self() {
                return Ok(Some(context.node));
            }
            if let NodeTest::Name(name) = &last.test
                && context.node.sub() == 0
            {
                match last.axis {
                    Axis::Child => return self.first_named(false, name, context.node),
                    Axis::Attribute => return self.first_named(true, name, context.node),
                    Axis::SelfNode | Axis::Parent => {
                        return self.self_or_parent(last.axis, name, context.node);
                    }
                    _ => {}
                }
            }
        }
        let start = self.path_start(path, context)?;
        if self.leads_nowhere(last, &start) {
            return Ok(None);
        }
        let mut list = self.spare_list();
        let mut nodes: &[NodeId] = &start;
        for step in steps {
            if nodes.is_empty() {
                break;
            }
            let mut next = self.spare_list();
            self.step(step, nodes, context, &mut next)?;
            self.recycle(std::mem::replace(&mut list, next));
            nodes = &list;
        }
        let first = self.first_of_step(last, nodes)?;
        self.recycle(list);
        Ok(first)
    }

    /// The element itself, or its parent, if it has a name.
    fn self_or_parent(&mut self, axis: Axis, name: &NameTest, node: NodeId) -> Res<Option<NodeId>> {
        self.budget.spend(1)?;
        let entry = self.world.trees.get(node.document());
        let at = match axis {
            Axis::Parent if node.index() == 0 => return Ok(None),
            Axis::Parent => entry.tree.node(node.index()).parent,
            _ => node.index(),
        };
        let (data, name) = (entry.tree.node(at), name.in_tree(entry));
        let is_it = name != NONE && data.name == name && data.kind == NodeKind::Element;
        Ok(is_it.then(|| NodeId::new(node.document(), at)))
    }

    /// Whether the last step of a path asks for a name that the only document it can be in does not have.
    #[inline]
    fn leads_nowhere(&self, last: &Step, start: &[NodeId]) -> bool {
        match (start, &last.test) {
            ([node], NodeTest::Name(name)) if last.axis != Axis::Namespace => {
                name.in_tree(self.world.trees.get(node.document())) == NONE
            }
            _ => false,
        }
    }

    /// The first child or attribute of a name.
    fn first_named(&mut self, attribute: bool, name: &NameTest, node: NodeId) -> Res<Option<NodeId>> {
        let entry = self.world.trees.get(node.document());
        let name = name.in_tree(entry);
        if name == NONE {
            return Ok(None);
        }
        let tree = &*entry.tree;
        let (mut looked, mut found) = (1, None);
        if attribute {
            // An element is followed by its attributes, and nothing else by attributes of another.
            let start =
                if tree.is_element(node.index()) { node.index() + 1 } else { tree.nodes.len() as u32 };
            for (number, data) in tree.nodes[start as usize..].iter().enumerate() {
                looked += 1;
                if data.kind != NodeKind::Attribute {
                    break;
                }
                if data.name == name {
                    found = Some(NodeId::new(node.document(), start + number as u32));
                    break;
                }
            }
        } else {
            for at in tree.children(node.index()) {
                looked += 1;
                let child = tree.node(at);
                if child.name == name && child.kind == NodeKind::Element {
                    found = Some(NodeId::new(node.document(), at));
                    break;
                }
            }
        }
        self.budget.spend(looked)?;
        Ok(found)
    }

    /// The first node that a step without predicates gives on an axis in document order.
    fn first_of_step(&mut self, last: &Step, nodes: &[NodeId]) -> Res<Option<NodeId>> {
        let mut first: Option<NodeId> = None;
        for node in nodes {
            // What a later node gives on these axes is later than the node itself.
            let only_later = matches!(
                last.axis,
                Axis::Child | Axis::Attribute | Axis::Descendant | Axis::DescendantOrSelf | Axis::SelfNode
            );
            if first.is_some_and(|first| only_later && first < *node) {
                break;
            }
            let entry = self.world.trees.get(node.document());
            let test = TreeTest::new(&last.test, last.axis, entry);
            let mut found = None;
            let looked = walk(&entry.tree, node.index(), node.sub() != 0, last.axis, test, &mut |at| {
                found = Some(at);
                ControlFlow::Break(())
            });
            self.budget.spend(looked as u64)?;
            if last.axis == Axis::SelfNode && node.sub() != 0 && matches!(test, TreeTest::Any) {
                first = Some(first.map_or(*node, |first| first.min(*node)));
            }
            if let Some(at) = found {
                let found = NodeId::new(node.document(), at);
                first = Some(first.map_or(found, |first| first.min(found)));
            }
        }
        Ok(first)
    }

    /// One step from each of some nodes.
    fn step(&mut self, step: &Step, nodes: &[NodeId], context: &Context, found: &mut Vec<NodeId>) -> Res<()> {
        if let [node] = nodes {
            self.step_from(step, *node, context, found)?;
            if step.axis.is_reverse() {
                found.reverse();
            }
            return Ok(());
        }
        let free = step.predicates.iter().all(|predicate| matches!(predicate, Predicate::Condition(_)));
        let mut covered: Option<(u32, u32)> = None;
        for (number, node) in nodes.iter().enumerate() {
            if free {
                let end = |node: NodeId| self.world.trees.get(node.document()).tree.node(node.index()).end;
                match step.axis {
                    // What lies inside of a node already walked was found there.
                    Axis::Descendant | Axis::DescendantOrSelf if node.sub() == 0 => {
                        if covered.is_some_and(|(document, until)| {
                            document == node.document() && node.index() < until
                        }) && self.kind(*node) != NodeKind::Attribute
                        {
                            continue;
                        }
                        covered = Some((node.document(), end(*node)));
                    }
                    // Of one document, only the last node has all that precede, and the one that ends first all that
                    // follow.
                    Axis::Preceding
                        if nodes.get(number + 1).is_some_and(|next| {
                            next.document() == node.document() && node.sub() == 0 && next.sub() == 0
                        }) =>
                    {
                        continue;
                    }
                    Axis::Following => {
                        let until = if node.sub() != 0 || self.kind(*node) == NodeKind::Attribute {
                            node.index() + 1
                        } else {
                            end(*node)
                        };
                        if covered.is_some_and(|(document, smallest)| {
                            document == node.document() && until >= smallest
                        }) {
                            continue;
                        }
                        covered = Some((node.document(), until));
                    }
                    _ => {}
                }
            }
            self.step_from(step, *node, context, found)?;
        }
        self.budget.spend(found.len() as u64)?;
        sort(found);
        Ok(())
    }

    /// An empty list to gather nodes in.
    pub(crate) fn spare_list(&mut self) -> Vec<NodeId> {
        self.lists.pop().unwrap_or_default()
    }

    /// The nodes of a list, which is kept for later use.
    pub(crate) fn set_of(&mut self, list: Vec<NodeId>) -> NodeSet {
        let set = NodeSet::sorted(&list);
        self.recycle(list);
        set
    }

    /// Keeps a list for later use.
    pub(crate) fn recycle(&mut self, mut list: Vec<NodeId>) {
        if list.capacity() <= LIST_KEPT_MAX {
            list.clear();
            self.lists.push(list);
        }
    }

    /// One step from one node; what is found is added in the order of the axis.
    fn step_from(
        &mut self,
        step: &Step,
        node: NodeId,
        context: &Context,
        found: &mut Vec<NodeId>,
    ) -> Res<()> {
        let entry = self.world.trees.get(node.document());
        let test = TreeTest::new(&step.test, step.axis, entry);
        let start = found.len();
        if step.axis == Axis::Namespace {
            self.namespace_axis(step, node, found)?;
            return self.filter_from(found, start, &step.predicates, context);
        }
        if node.sub() != 0
            && matches!(test, TreeTest::Any)
            && matches!(step.axis, Axis::SelfNode | Axis::AncestorOrSelf | Axis::DescendantOrSelf)
        {
            found.push(node);
        }
        let (nth, rest) = match step.predicates.split_first() {
            Some((Predicate::Position(position), rest)) if found.len() == start => (*position, rest),
            _ => (usize::MAX, step.predicates.as_slice()),
        };
        let document = node.document();
        if step.axis == Axis::Child && node.sub() == 0 && nth == usize::MAX {
            let tree = &*entry.tree;
            let mut looked = 1;
            let children = tree.children(node.index()).inspect(|_| looked += 1);
            let id = |at: u32| NodeId::new(document, at);
            // The usual tests, each with a loop of its own.
            match test {
                TreeTest::Name(NodeKind::Element, name) => {
                    let named = |at: &u32| {
                        let child = tree.node(*at);
                        child.name == name && child.kind == NodeKind::Element
                    };
                    found.extend(children.filter(named).map(id));
                }
                TreeTest::Kind(kind) => {
                    found.extend(children.filter(|at| tree.node(*at).kind == kind).map(id));
                }
                _ => found.extend(children.filter(|at| test.passes(tree, *at)).map(id)),
            }
            self.budget.spend(looked)?;
            if rest.is_empty() {
                return Ok(());
            }
            return self.filter_from(found, start, rest, context);
        }
        let mut seen = 0;
        let looked = walk(&entry.tree, node.index(), node.sub() != 0, step.axis, test, &mut |at| {
            seen += 1;
            if nth == usize::MAX {
                found.push(NodeId::new(document, at));
            } else if seen == nth {
                found.push(NodeId::new(document, at));
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        });
        self.budget.spend(looked as u64)?;
        if rest.is_empty() {
            return Ok(());
        }
        self.filter_from(found, start, rest, context)
    }

    fn namespace_axis(&mut self, step: &Step, node: NodeId, found: &mut Vec<NodeId>) -> Res<()> {
        let tree = &self.world.trees.get(node.document()).tree;
        if node.sub() != 0 || tree.node(node.index()).kind != NodeKind::Element {
            return Ok(());
        }
        let scope = tree.namespace_nodes(node.index());
        // Each of them is counted off again when it is looked at.
        let count = scope.len() as u64;
        self.budget.spend(4 + count + count * count / 16)?;
        for (number, (prefix, _)) in scope.iter().enumerate() {
            let passes = match &step.test {
                NodeTest::Any | NodeTest::Principal => true,
                NodeTest::Name(name) => name.namespace.is_empty() && name.local == *prefix,
                _ => false,
            };
            if passes {
                found.push(node.with_sub(number + 1));
            }
        }
        Ok(())
    }

    /// Keeps the nodes that all predicates accept.
    pub(crate) fn filter(
        &mut self,
        nodes: &mut Vec<NodeId>,
        predicates: &[Predicate],
        context: &Context,
    ) -> Res<()> {
        self.filter_from(nodes, 0, predicates, context)
    }

    fn filter_from(
        &mut self,
        nodes: &mut Vec<NodeId>,
        start: usize,
        predicates: &[Predicate],
        context: &Context,
    ) -> Res<()> {
        for predicate in predicates {
            let size = nodes.len() - start;
            let mut kept = start;
            match predicate {
                Predicate::Position(position) => {
                    if *position <= size {
                        nodes[start] = nodes[start + position - 1];
                        kept = start + 1;
                    }
                }
                Predicate::Last => {
                    if size > 0 {
                        nodes[start] = nodes[start + size - 1];
                        kept = start + 1;
                    }
                }
                Predicate::Condition(expr) | Predicate::Other(expr) => {
                    for at in 0..size {
                        let node = nodes[start + at];
                        let inner = Context { node, position: at + 1, size, current: context.current };
                        self.budget.spend(1)?;
                        if self.accepts(predicate, expr, &inner)? {
                            nodes[kept] = node;
                            kept += 1;
                        }
                    }
                }
            }
            nodes.truncate(kept);
        }
        Ok(())
    }

    pub(crate) fn accepts(&mut self, predicate: &Predicate, expr: &Expr, context: &Context) -> Res<bool> {
        if matches!(predicate, Predicate::Condition(_)) {
            return self.boolean(expr, context);
        }
        Ok(match self.eval(expr, context)? {
            Object::Number(number) => number == context.position as f64,
            other => to_boolean(&other),
        })
    }

    // ---- comparisons

    fn compare(&mut self, comparison: Comparison, left: &Expr, right: &Expr, context: &Context) -> Res<bool> {
        // The common case: a node with a string.
        if let (Expr::Path(path), Expr::Literal(text), Comparison::Equal | Comparison::NotEqual) =
            (left, right, comparison)
        {
            if let Some(name) = path.only_attribute()
                && context.node.sub() == 0
            {
                let found = self.first_named(true, name, context.node)?;
                return Ok(found.is_some_and(|node| {
                    (*self.string_of(node) == **text) == (comparison == Comparison::Equal)
                }));
            }
            let nodes = self.path_list(path, context)?;
            self.budget.spend(nodes.len() as u64)?;
            let holds = nodes
                .iter()
                .any(|node| (*self.string_of(*node) == **text) == (comparison == Comparison::Equal));
            self.recycle(nodes);
            return Ok(holds);
        }
        if matches!(comparison, Comparison::Equal | Comparison::NotEqual) {
            // Strings that are there already, or that are only made to be compared.
            let ready = self.ready_text(left).zip(self.ready_text(right));
            let equal = match ready {
                Some((left, right)) => Some(left == right),
                None if left.type_of() == Type::Text && right.type_of() == Type::Text => {
                    let left = self.string_near(left, context)?;
                    Some(*left == *self.string_near(right, context)?)
                }
                None => None,
            };
            if let Some(equal) = equal {
                return Ok(equal == (comparison == Comparison::Equal));
            }
        }
        let left = self.eval(left, context)?;
        let right = self.eval(right, context)?;
        self.compare_objects(comparison, &left, &right)
    }

    /// The string that an expression stands for without being evaluated: a literal, or a variable that is text.
    #[inline]
    pub(crate) fn ready_text<'e>(&'e self, expr: &'e Expr) -> Option<&'e str> {
        match expr {
            Expr::Literal(text) => Some(text),
            Expr::Variable(variable) => match self.known_variable(*variable)? {
                Object::Text(text) => Some(text),
                Object::Fragment(fragment) => Some(fragment.text()),
                _ => None,
            },
            _ => None,
        }
    }

    pub(crate) fn compare_objects(
        &mut self,
        comparison: Comparison,
        left: &Object<'t>,
        right: &Object<'t>,
    ) -> Res<bool> {
        let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        match (left, right) {
            (Object::Nodes(left), Object::Nodes(right)) => self.compare_sets(comparison, left, right),
            (Object::Nodes(nodes), other) => self.compare_set(comparison, nodes, other),
            (other, Object::Nodes(nodes)) => self.compare_set(comparison.flipped(), nodes, other),
            (left, right) if equality => {
                let equal = if matches!(left, Object::Boolean(_)) || matches!(right, Object::Boolean(_)) {
                    to_boolean(left) == to_boolean(right)
                } else if matches!(left, Object::Number(_)) || matches!(right, Object::Number(_)) {
                    self.to_number(left) == self.to_number(right)
                } else {
                    left.plain_text() == right.plain_text()
                };
                Ok(equal == (comparison == Comparison::Equal))
            }
            (left, right) => Ok(holds(comparison, self.to_number(left), self.to_number(right))),
        }
    }

    fn compare_set(&mut self, comparison: Comparison, nodes: &NodeSet, other: &Object<'t>) -> Res<bool> {
        self.budget.spend(nodes.len() as u64)?;
        let equality = matches!(comparison, Comparison::Equal | Comparison::NotEqual);
        match other {
            Object::Boolean(other) if equality => {
                Ok((nodes.is_empty() != *other) == (comparison == Comparison::Equal))
            }
            Object::Boolean(other) => {
                Ok(holds(comparison, f64::from(u8::from(!nodes.is_empty())), f64::from(u8::from(*other))))
            }
            Object::Text(_) | Object::Fragment(_) if equality => {
                let text = self.to_text(other.clone());
                Ok(nodes
                    .iter()
                    .any(|node| (*self.string_of(*node) == *text) == (comparison == Comparison::Equal)))
            }
            other => {
                let other = self.to_number(other);
                Ok(nodes.iter().any(|node| holds(comparison, numbers::parse(&self.string_of(*node)), other)))
            }
        }
    }

    fn compare_sets(&mut self, comparison: Comparison, left: &NodeSet, right: &NodeSet) -> Res<bool> {
        self.budget.spend((left.len() + right.len()) as u64)?;
        if left.is_empty() || right.is_empty() {
            return Ok(false);
        }
        let texts =
            |nodes: &NodeSet| -> Vec<Text<'t>> { nodes.iter().map(|node| self.string_of(*node)).collect() };
        match comparison {
            Comparison::Equal => {
                let (few, many) = if left.len() < right.len() { (left, right) } else { (right, left) };
                if few.len() == 1 {
                    let wanted = self.string_of(few[0]);
                    return Ok(many.iter().any(|node| *self.string_of(*node) == *wanted));
                }
                let few = texts(few);
                let wanted: HashSet<&str> = few.iter().map(|text| &**text).collect();
                Ok(many.iter().any(|node| wanted.contains(&*self.string_of(*node))))
            }
            Comparison::NotEqual => {
                // Some pair differs unless all strings are the same.
                let first = self.string_of(left[0]);
                Ok(left.iter().chain(right.iter()).any(|node| *self.string_of(*node) != *first))
            }
            _ => {
                let numbers_of = |nodes: &NodeSet| -> Vec<f64> {
                    nodes
                        .iter()
                        .map(|node| numbers::parse(&self.string_of(*node)))
                        .filter(|number| !number.is_nan())
                        .collect()
                };
                let (left, right) = (numbers_of(left), numbers_of(right));
                let lowest = |numbers: &[f64]| numbers.iter().copied().fold(f64::INFINITY, f64::min);
                let highest = |numbers: &[f64]| numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                if left.is_empty() || right.is_empty() {
                    return Ok(false);
                }
                Ok(match comparison {
                    Comparison::Less | Comparison::LessOrEqual => {
                        holds(comparison, lowest(&left), highest(&right))
                    }
                    _ => holds(comparison, highest(&left), lowest(&right)),
                })
            }
        }
    }

    // ---- conversions

    pub(crate) fn kind(&self, node: NodeId) -> NodeKind {
        if node.sub() != 0 {
            return NodeKind::Namespace;
        }
        self.world.trees.get(node.document()).tree.node(node.index()).kind
    }

    /// The string value of a node.
    #[inline]
    pub(crate) fn string_of(&self, node: NodeId) -> Text<'t> {
        let world = self.world;
        let tree = &world.trees.get(node.document()).tree;
        if node.sub() != 0 {
            let namespaces = tree.namespace_nodes(node.index());
            return namespaces
                .into_iter()
                .nth(node.sub() - 1)
                .map_or(Text::Borrowed(""), |(_, uri)| Text::Shared(uri));
        }
        Text::Borrowed(tree.value(node.index()))
    }

    pub(crate) fn to_text(&self, object: Object<'t>) -> Text<'t> {
        match object {
            Object::Text(text) => text,
            Object::Number(number) => number_text(number),
            Object::Boolean(value) => Text::Borrowed(if value { "true" } else { "false" }),
            Object::Nodes(nodes) => nodes.first().map_or(Text::Borrowed(""), |node| self.string_of(*node)),
            Object::Fragment(Fragment::Text(text)) => Text::Kept(text),
            Object::Fragment(Fragment::Tree(tree)) => Text::Owned(tree.text.clone()),
        }
    }

    pub(crate) fn to_number(&self, object: &Object<'t>) -> f64 {
        match object {
            Object::Number(number) => *number,
            Object::Boolean(value) => f64::from(u8::from(*value)),
            Object::Text(text) => numbers::parse(text),
            Object::Nodes(nodes) => {
                nodes.first().map_or(f64::NAN, |node| numbers::parse(&self.string_of(*node)))
            }
            Object::Fragment(fragment) => numbers::parse(fragment.text()),
        }
    }
}

/// Whether a value counts as true.
pub(crate) fn to_boolean(object: &Object<'_>) -> bool {
    match object {
        Object::Boolean(value) => *value,
        Object::Number(number) => *number != 0.0 && !number.is_nan(),
        Object::Text(text) => !text.is_empty(),
        Object::Nodes(nodes) => !nodes.is_empty(),
        Object::Fragment(_) => true,
    }
}

fn holds(comparison: Comparison, left: f64, right: f64) -> bool {
    match comparison {
        Comparison::Equal => left == right,
        Comparison::NotEqual => left != right,
        Comparison::Less => left < right,
        Comparison::LessOrEqual => left <= right,
        Comparison::Greater => left > right,
        Comparison::GreaterOrEqual => left >= right,
    }
}
