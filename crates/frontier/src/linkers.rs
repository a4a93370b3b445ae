//! How many different domains link to a domain, about.
//!
//! A HyperLogLog sketch of 64 registers: 64 bytes per domain, whatever the number of links. Small numbers are told nearly
//! exactly by the empty registers, large ones to about an eighth, which is enough for a budget.

use serde::{Deserialize, Serialize};

const REGISTERS: usize = 64;

/// See the module's own words.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Linkers {
    /// Empty, or 64 registers.
    registers: Vec<u8>,
}

impl Linkers {
    /// Takes in that the domain with that hash links here. True when that may change the number.
    pub fn add(&mut self, hash: u64) -> bool {
        if self.registers.len() != REGISTERS {
            self.registers = vec![0; REGISTERS];
        }
        let register = &mut self.registers[hash as usize % REGISTERS];
        // The rest of the hash; the bit at the end keeps the count of zeros in bounds.
        let zeros = ((hash >> 6) | 1 << 58).trailing_zeros() as u8 + 1;
        let grows = zeros > *register;
        *register = (*register).max(zeros);
        grows
    }

    /// About how many domains were taken in.
    pub fn count(&self) -> u64 {
        if self.registers.len() != REGISTERS {
            return 0;
        }
        let registers = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|&register| (-f64::from(register)).exp2()).sum();
        let estimate = 0.709 * registers * registers / sum;
        let empty = self.registers.iter().filter(|register| **register == 0).count();
        let number = if estimate <= 2.5 * registers && empty > 0 {
            registers * (registers / empty as f64).ln()
        } else {
            estimate
        };
        number.round() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(number: u64) -> u64 {
        crate::seen::Secret::new([5, 6]).name_key(&number.to_string()).high
    }

    #[test]
    fn counts_are_near() {
        assert_eq!(Linkers::default().count(), 0);
        for (domains, within) in [(1, 0), (2, 0), (5, 1), (20, 5), (100, 25), (1000, 300), (100_000, 30_000)]
        {
            let mut linkers = Linkers::default();
            for _ in 0..3 {
                for number in 0..domains {
                    linkers.add(hash(number));
                }
            }
            assert!(linkers.count().abs_diff(domains) <= within, "{domains} taken for {}", linkers.count());
        }
    }

    #[test]
    fn damaged_registers_do_no_harm() {
        let mut linkers = Linkers { registers: vec![255; 3] };
        assert_eq!(linkers.count(), 0);
        assert!(linkers.add(u64::MAX));
        assert!(Linkers { registers: vec![255; 64] }.count() > 0);
    }
}
