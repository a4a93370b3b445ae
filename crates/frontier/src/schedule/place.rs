//! Where an entry stands in its host's queue, and what a score has to do with it.

/// Where an entry stands in its host's queue: by score, then breadth first, then in the order it was first heard of.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Place {
    /// Score and depth in one number; see [`Place::new`].
    pub rank: u32,
    /// Position in the log.
    pub position: u64,
}

/// Steps between two whole scores.
const STEPS: f32 = 1000.0;
/// The band of entries without a score; bands 0 to 2000 stand for scores from 1 down to -1.
const BAND_ORDINARY: u32 = 1000;
const DEPTH_BITS: u32 = 16;

impl Place {
    /// Before every entry.
    pub const FIRST: Self = Self { rank: 0, position: 0 };
    /// Behind every entry.
    #[cfg(test)]
    pub const LAST: Self = Self { rank: u32::MAX, position: u64::MAX };
    /// Classes of urgency among hosts.
    pub const CLASSES: usize = 9;
    /// The class of hosts whose next entry has no score.
    pub const CLASS_ORDINARY: usize = Self::CLASSES / 2;

    /// The place of a URL. Scores go from -1 to 1 in steps of a thousandth; what is no number counts as none.
    pub fn new(score: Option<f32>, depth: u32, position: u64) -> Self {
        let score = score.filter(|score| !score.is_nan()).unwrap_or(0.0).clamp(-1.0, 1.0);
        let band = ((1.0 - score) * STEPS).round() as u32;
        Self { rank: band << DEPTH_BITS | depth.min((1 << DEPTH_BITS) - 1), position }
    }

    /// The place right behind this one.
    pub fn next(self) -> Self {
        Self { position: self.position + 1, ..self }
    }

    /// True for an entry with a score of its own.
    pub fn has_score(self) -> bool {
        self.rank >> DEPTH_BITS != BAND_ORDINARY
    }

    /// How urgent it is, from 0 to 8; hosts whose next entry is more urgent come first.
    pub fn class(self) -> usize {
        // 2001 bands in nine classes, the ordinary band in the middle one.
        let band = (self.rank >> DEPTH_BITS).min(2 * BAND_ORDINARY) as usize;
        (band + 125) / 250
    }
}

/// The score that gives a rank, as near as ranks know it.
#[cfg(test)]
pub(crate) fn score_of_rank(rank: u32) -> f32 {
    1.0 - (rank >> DEPTH_BITS) as f32 / STEPS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scores_then_depth_then_order() {
        let places = [
            Place::new(Some(7.0), 9, 9),
            Place::new(Some(0.3), 1, 9),
            Place::new(Some(0.3), 2, 1),
            Place::new(None, 0, 5),
            Place::new(Some(f32::NAN), 0, 6),
            Place::new(None, 1, 1),
            Place::new(None, u32::MAX, 1),
            Place::new(Some(-0.5), 0, 0),
            Place::new(Some(f32::NEG_INFINITY), 0, 0),
        ];
        assert!(places.is_sorted(), "{places:?}");
        assert!(Place::FIRST <= places[0] && places[8] <= Place::LAST);
        assert!((score_of_rank(places[1].rank) - 0.3).abs() < 0.001);
    }

    #[test]
    fn classes_are_in_range_and_the_ordinary_one_is_in_the_middle() {
        let class = |score| Place::new(score, 3, 1).class();
        assert_eq!(class(None), Place::CLASS_ORDINARY);
        assert_eq!((class(Some(1.0)), class(Some(-1.0))), (0, Place::CLASSES - 1));
        assert!(class(Some(0.2)) < class(None));
        assert_eq!(Place::LAST.class(), Place::CLASSES - 1);
    }
}
