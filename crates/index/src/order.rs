//! The six orders quads are kept in, and which of them answers which pattern.
//!
//! A pattern fixes some of subject, predicate, object and graph: 16 ways. Three orders have the graph
//! last and serve patterns over all graphs; in those the copies of one triple in several graphs are
//! neighbours, so the union of graphs is made distinct while streaming. Three have it first and serve
//! patterns inside one graph. Every pattern is a prefix of one of them: see [`Order::for_bound`].

/// Positions of a quad's parts in `[subject, predicate, object, graph]`.
pub(crate) const SUBJECT: usize = 0;
pub(crate) const PREDICATE: usize = 1;
pub(crate) const OBJECT: usize = 2;
pub(crate) const GRAPH: usize = 3;

/// One of the six sort orders of a segment. `C` (context) is the graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Order {
    /// Subject, predicate, object, graph.
    Spoc = 0,
    /// Predicate, object, subject, graph.
    Posc = 1,
    /// Object, subject, predicate, graph.
    Ospc = 2,
    /// Graph, subject, predicate, object.
    Cspo = 3,
    /// Graph, predicate, object, subject.
    Cpos = 4,
    /// Graph, object, subject, predicate.
    Cosp = 5,
}

impl Order {
    /// All six, in the order their sections have in a segment.
    pub const ALL: [Self; 6] = [Self::Spoc, Self::Posc, Self::Ospc, Self::Cspo, Self::Cpos, Self::Cosp];

    /// Which part of the quad each key column holds.
    pub(crate) const fn columns(self) -> [usize; 4] {
        match self {
            Self::Spoc => [SUBJECT, PREDICATE, OBJECT, GRAPH],
            Self::Posc => [PREDICATE, OBJECT, SUBJECT, GRAPH],
            Self::Ospc => [OBJECT, SUBJECT, PREDICATE, GRAPH],
            Self::Cspo => [GRAPH, SUBJECT, PREDICATE, OBJECT],
            Self::Cpos => [GRAPH, PREDICATE, OBJECT, SUBJECT],
            Self::Cosp => [GRAPH, OBJECT, SUBJECT, PREDICATE],
        }
    }

    /// True when the graph is the first column.
    pub(crate) const fn is_graph_first(self) -> bool {
        matches!(self, Self::Cspo | Self::Cpos | Self::Cosp)
    }

    /// The key column that holds the graph.
    pub(crate) const fn graph_column(self) -> usize {
        if self.is_graph_first() { 0 } else { 3 }
    }

    /// The order in which the bound parts are a prefix.
    pub(crate) const fn for_bound(subject: bool, predicate: bool, object: bool, graph: bool) -> Self {
        match (subject, predicate, object, graph) {
            (true, true, _, false) | (true, false, false, false) | (false, false, false, false) => Self::Spoc,
            (false, true, _, false) => Self::Posc,
            (_, false, true, false) => Self::Ospc,
            (true, true, _, true) | (true, false, false, true) | (false, false, false, true) => Self::Cspo,
            (false, true, _, true) => Self::Cpos,
            (_, false, true, true) => Self::Cosp,
        }
    }

    /// The parts of a quad in this order.
    pub(crate) fn permute<T: Copy>(self, quad: [T; 4]) -> [T; 4] {
        self.columns().map(|part| quad[part])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_is_a_prefix_of_its_order() {
        for pattern in 0..16u8 {
            let bound = [pattern & 1 != 0, pattern & 2 != 0, pattern & 4 != 0, pattern & 8 != 0];
            let order = Order::for_bound(bound[0], bound[1], bound[2], bound[3]);
            let prefix = order.permute(bound);
            let length = prefix.iter().take_while(|bound| **bound).count();
            assert!(prefix[length..].iter().all(|bound| !bound), "{bound:?} in {order:?}");
            assert_eq!(order.is_graph_first(), bound[GRAPH], "{bound:?}");
        }
    }

    #[test]
    fn the_graph_is_where_it_is_said_to_be() {
        for order in Order::ALL {
            assert_eq!(order.columns()[order.graph_column()], GRAPH, "{order:?}");
        }
    }
}
