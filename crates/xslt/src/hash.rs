//! Tables by names and strings of documents: quick to look up, and with seeds that no document can know.

use std::collections::HashMap;

/// A table of this crate.
pub(crate) type Table<K, V> = HashMap<K, V, foldhash::fast::RandomState>;
