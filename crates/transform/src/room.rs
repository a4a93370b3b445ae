//! Room in vectors that become large.
//!
//! A vector that doubles is copied each time, and for a moment both copies are there: a page with a million nodes would
//! touch twice the memory it needs. Memory that is reserved and never touched costs nothing, so a vector that has become
//! large gets all the room its limit allows at once.

/// From this length on a vector is large.
const LARGE: usize = 1 << 16;

/// Adds an item to a vector that will have at most about `max`.
pub(crate) fn push<T>(items: &mut Vec<T>, item: T, max: usize) {
    if items.len() == items.capacity() && (LARGE..max).contains(&items.len()) {
        // Limits are looked at between items, so a few more may come.
        items.reserve_exact(max + max / 16 - items.len());
    }
    items.push(item);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_vector_grows_once_and_may_exceed_its_limit() {
        let max = LARGE * 10;
        let mut items = Vec::new();
        let mut grown = 0;
        for number in 0..max + LARGE {
            let before = items.capacity();
            push(&mut items, number, max);
            grown += usize::from(before >= LARGE && items.capacity() != before);
        }
        assert_eq!(items.len(), max + LARGE);
        assert_eq!(grown, 2, "once to the limit and a little more, once far beyond it");
    }
}
