//! Maps and sets for what is on one page: hashed quickly, with a seed of their own, so that no page can choose its collisions.

use foldhash::fast::RandomState;

/// A map from something on a page.
pub(crate) type HashMap<K, V> = std::collections::HashMap<K, V, RandomState>;
/// A set of things on a page.
pub(crate) type HashSet<T> = std::collections::HashSet<T, RandomState>;
