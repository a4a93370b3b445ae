//! Which elements are an item's properties: "the properties of an item" in HTML's chapter on Microdata.
//!
//! Properties are found below the item and below the elements its `itemref` names, down to the next item. A page without
//! `itemref` is walked once in all; with it, what is looked at again is counted against a limit.

use html5ever::local_name;

use super::{is_item, reverse_attribute};
use crate::dom::{Dom, Edge, Element, NodeId};
use crate::maps::{HashMap, HashSet};

/// The items of a page.
pub(super) struct Items<'a> {
    dom: &'a Dom,
    /// Items that are nobody's property, in document order.
    pub(super) top: Vec<NodeId>,
    /// How many more nodes may be looked at.
    pub(super) nodes_left: usize,
    references: Option<References<'a>>,
    refused: HashSet<NodeId>,
}

/// What `itemref` needs.
struct References<'a> {
    /// The first element of each id.
    by_id: HashMap<&'a str, NodeId>,
    /// Place of each node in the document.
    position: Vec<u32>,
    /// The round in which a node was last seen.
    seen: Vec<u32>,
    round: u32,
}

impl<'a> Items<'a> {
    /// Looks for items; a page without any costs a glance at its elements.
    pub(super) fn find(dom: &'a Dom, nodes_max: usize) -> Option<Self> {
        let mut top = Vec::new();
        let mut any = false;
        let mut any_reference = false;
        let reverse = reverse_attribute();
        for (id, element) in dom.elements(Dom::ROOT) {
            if !is_item(element) {
                continue;
            }
            any = true;
            any_reference |= element.attribute(&local_name!("itemref")).is_some();
            if element.attribute(&local_name!("itemprop")).is_none() && element.attribute(&reverse).is_none()
            {
                top.push(id);
            }
        }
        any.then(|| Self {
            dom,
            top,
            nodes_left: nodes_max,
            references: any_reference.then(|| References::new(dom)),
            refused: HashSet::default(),
        })
    }

    /// The elements that are properties of an item, in document order.
    pub(super) fn properties(&mut self, item: NodeId) -> Vec<NodeId> {
        let mut found = Vec::new();
        let references = self
            .dom
            .element(item)
            .and_then(|element| element.attribute(&local_name!("itemref")))
            .zip(self.references.as_mut());
        let Some((references, place)) = references else {
            walk(self.dom, item, &mut self.nodes_left, |_| true, |id| found.push(id));
            return found;
        };
        place.round += 1;
        let round = place.round;
        place.seen[item.index()] = round;
        let roots = references.split_ascii_whitespace().filter_map(|id| place.by_id.get(id).copied());
        let roots: Vec<NodeId> = roots.collect();
        for root in std::iter::once(item).chain(roots) {
            let first = |id: NodeId| {
                let seen = &mut place.seen[id.index()];
                std::mem::replace(seen, round) != round
            };
            if root == item {
                walk(self.dom, item, &mut self.nodes_left, first, |id| found.push(id));
            } else {
                walk_with_top(self.dom, root, &mut self.nodes_left, first, |id| found.push(id));
            }
        }
        found.sort_by_key(|id| place.position[id.index()]);
        found
    }

    /// True for an item that cannot be written.
    pub(super) fn is_refused(&self, item: NodeId) -> bool {
        self.refused.contains(&item)
    }

    /// Refuses items that contain themselves and those that contain one; answers them in document order.
    pub(super) fn refuse_recursive(&mut self) -> Vec<NodeId> {
        // Without references, items contain each other as their elements do.
        if self.references.is_none() {
            return Vec::new();
        }
        // Looking ahead is paid for apart: a web too large to be looked through is written as far as writing may go.
        let nodes_left = self.nodes_left;
        let mut contained_in: HashMap<NodeId, Vec<NodeId>> = HashMap::default();
        let mut open: HashMap<NodeId, usize> = HashMap::default();
        let mut free = Vec::new();
        let mut pending = self.top.clone();
        let mut known: HashSet<NodeId> = pending.iter().copied().collect();
        while let Some(item) = pending.pop() {
            let mut parts = self.properties(item);
            parts.retain(|part| self.dom.element(*part).is_some_and(is_item));
            if parts.is_empty() {
                free.push(item);
            }
            open.insert(item, parts.len());
            for part in parts {
                contained_in.entry(part).or_default().push(item);
                if known.insert(part) {
                    pending.push(part);
                }
            }
        }
        self.nodes_left = nodes_left;
        // Take away what contains nothing, then what contains nothing any more; a loop never gets there.
        while let Some(item) = free.pop() {
            open.remove(&item);
            for holder in contained_in.remove(&item).unwrap_or_default() {
                if let Some(parts) = open.get_mut(&holder) {
                    *parts -= 1;
                    if *parts == 0 {
                        free.push(holder);
                    }
                }
            }
        }
        self.refused = open.into_keys().collect();
        let mut refused: Vec<NodeId> = self.refused.iter().copied().collect();
        refused.sort_by_key(|id| self.references.as_ref().map_or(0, |place| place.position[id.index()]));
        refused
    }
}

impl<'a> References<'a> {
    fn new(dom: &'a Dom) -> Self {
        let mut by_id = HashMap::default();
        let mut position = vec![0; dom.len()];
        for (place, id) in dom.descendants(Dom::ROOT).enumerate() {
            position[id.index()] = u32::try_from(place).unwrap_or(u32::MAX);
            if let Some(name) = dom.element(id).and_then(|element| element.attribute(&local_name!("id"))) {
                by_id.entry(name).or_insert(id);
            }
        }
        Self { by_id, position, seen: vec![0; dom.len()], round: 0 }
    }
}

fn is_property(element: &Element) -> bool {
    let named = |value: Option<&str>| value.is_some_and(|names| !names.trim_ascii().is_empty());
    element.attributes.iter().any(|attribute| attribute.name.local.starts_with("itemprop"))
        && (named(element.attribute(&local_name!("itemprop")))
            || named(element.attribute(&reverse_attribute())))
}

/// Finds the properties below an element, down to the next item.
fn walk(
    dom: &Dom,
    top: NodeId,
    nodes_left: &mut usize,
    mut enter: impl FnMut(NodeId) -> bool,
    mut found: impl FnMut(NodeId),
) {
    for child in dom.children(top) {
        walk_with_top(dom, child, nodes_left, &mut enter, &mut found);
    }
}

/// The same, the element itself included.
fn walk_with_top(
    dom: &Dom,
    top: NodeId,
    nodes_left: &mut usize,
    mut enter: impl FnMut(NodeId) -> bool,
    mut found: impl FnMut(NodeId),
) {
    let mut edges = dom.traverse(top);
    while let Some(edge) = edges.next() {
        let Edge::Open(id) = edge else { continue };
        if *nodes_left == 0 {
            return;
        }
        *nodes_left -= 1;
        let Some(element) = dom.element(id) else { continue };
        if !enter(id) {
            // Reached a second time, with all that is below it.
            edges.skip_children(id);
            continue;
        }
        if is_property(element) {
            found(id);
        }
        if is_item(element) {
            edges.skip_children(id);
        }
    }
}
