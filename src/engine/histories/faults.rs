//! Particles that did not go as they should, counted.

use serde::{Deserialize, Serialize};
use std::ops::{Add, AddAssign};

/// A dose of which more than this share of histories has a fault is not final.
const TOLERATED_SHARE: f64 = 1e-6;

/// Particles of a run that were lost or stuck.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Faults {
    /// Took more steps than one ever needs; what they had left lies where they were.
    pub stuck: u64,
    /// Found no place in a queue, or had an energy that no table reaches; they are not in the dose.
    pub lost: u64,
}

impl Add for Faults {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            stuck: self.stuck + other.stuck,
            lost: self.lost + other.lost,
        }
    }
}

impl AddAssign for Faults {
    fn add_assign(&mut self, other: Self) {
        *self = *self + other;
    }
}

impl Faults {
    /// Whether too many of a run's histories have a fault for its dose to be final.
    pub fn spoil(self, histories: u64) -> bool {
        (self.stuck + self.lost) as f64 > TOLERATED_SHARE * histories as f64
    }

    /// A sentence about the faults of a run; none without any.
    pub fn words(self, histories: u64) -> Option<String> {
        (self != Self::default()).then(|| {
            format!(
                "of {histories} histories {} particles were lost and {} stuck",
                self.lost, self.stuck
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_in_a_million_is_tolerated_and_told() {
        let fault = Faults { stuck: 1, lost: 0 };
        assert!(!fault.spoil(1_000_000) && fault.spoil(999_999));
        assert!(
            fault
                .words(10)
                .is_some_and(|words| words.contains("1 stuck"))
        );
        assert_eq!(Faults::default().words(10), None);
    }
}
