//! Numbers that look random and are the same in every run, on every machine, in every version.
//!
//! SplitMix64, written out here because a web generated from a seed is part of recorded measurements: it
//! must not change when a dependency does.

/// A stream of numbers.
#[derive(Debug, Clone)]
pub(crate) struct Random(u64);

impl Random {
    /// The stream that belongs to these numbers, unlike that of any others.
    pub(crate) fn of(numbers: &[u64]) -> Self {
        Self(
            numbers
                .iter()
                .fold(0x6a09_e667_f3bc_c908, |state, number| mix(state.rotate_left(23) ^ mix(*number))),
        )
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// The next number below `bound`, zero for a bound of zero. The high half of a product: no division.
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        u64::try_from((u128::from(self.next()) * u128::from(bound)) >> 64).unwrap_or_default()
    }

    /// True for about `permille` in a thousand.
    pub(crate) fn chance(&mut self, permille: u16) -> bool {
        self.below(1000) < u64::from(permille)
    }
}

fn mix(mut number: u64) -> u64 {
    number = (number ^ (number >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    number = (number ^ (number >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    number ^ (number >> 31)
}
