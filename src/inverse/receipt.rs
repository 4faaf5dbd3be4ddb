//! Work and time of an optimisation.

use engine::Compute;
use serde::Serialize;
use std::time::Instant;

/// Device, work and time of an optimisation. The numbers of solutions and of true doses depend on the kind of device: without CUDA a true
/// dose takes as long as hundreds of evaluations, and solutions follow each other on the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OptimiseReceipt {
    /// `cpu (2 threads)`, `cuda:0 NVIDIA H200`, ...
    pub device: String,
    /// Evaluations of the objectives and their gradient.
    pub evaluations: u64,
    pub solutions: usize,
    /// True doses of the maps.
    pub true_doses: usize,
    /// True doses of the leaves, in their refinement.
    pub leaf_doses: usize,
    pub columns_ms: f64,
    pub solutions_ms: f64,
    pub true_doses_ms: f64,
    pub leaves_ms: f64,
}

impl OptimiseReceipt {
    pub(super) fn new(device: &Compute) -> Self {
        Self {
            device: device.to_string(),
            ..Self::default()
        }
    }

    /// The work in words.
    pub fn words(&self) -> String {
        let Self {
            device,
            evaluations,
            true_doses,
            leaf_doses,
            ..
        } = self;
        let leaves = match leaf_doses {
            0 => String::new(),
            count => format!(" of maps and {count} of leaves"),
        };
        format!("{evaluations} evaluations, {true_doses} true doses{leaves} on {device}")
    }
}

/// Wall time since an instant, ms.
pub(super) fn since_ms(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::OptimiseReceipt;

    #[test]
    fn words_tell_doses_of_leaves_where_there_are_some() {
        let maps = OptimiseReceipt {
            device: "cpu (2 threads)".to_owned(),
            evaluations: 321,
            true_doses: 4,
            ..OptimiseReceipt::default()
        };
        assert_eq!(
            maps.words(),
            "321 evaluations, 4 true doses on cpu (2 threads)"
        );
        let leaves = OptimiseReceipt {
            leaf_doses: 7,
            ..maps
        };
        assert_eq!(
            leaves.words(),
            "321 evaluations, 4 true doses of maps and 7 of leaves on cpu (2 threads)"
        );
    }
}
