//! The weight of the steps between neighbouring beamlets of a map.

use case::Plan;

/// Weight of the squared steps, in units of 100 MU a fraction of [`CHOSEN_AT_GY`], for a smoothness of weight 1. Chosen on the C-shape of
/// TG-119: against a weight of 1e-4, with which maps alone are hardly worse, leaves need a fifth fewer monitor units at the same goals.
const WEIGHT: f64 = 0.02;

/// Reference dose of a fraction at which the weight was chosen, Gy: 50 Gy in 25 fractions of TG-119.
const CHOSEN_AT_GY: f64 = 2.0;

/// Weight of the squared fluence steps of a fraction. Objectives are scaled by the reference dose of the course, steps by the reference
/// dose of a fraction, so that the optimal course does not depend on the number of fractions.
pub(super) fn weight(plan: &Plan, reference_gy: f64) -> f64 {
    // Maps are smoothed for leaves whether or not these are cut at once: all leaves leak while the most modulated row is delivered, and
    // maps that are cut later would else be other maps.
    let fraction_gy = reference_gy / f64::from(plan.fractions.max(1));
    WEIGHT * plan.objectives.smoothness * (CHOSEN_AT_GY / fraction_gy).powi(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weighted_step(fractions: u32, reference_gy: f64) -> f64 {
        let plan = Plan {
            fractions,
            ..Plan::new("P", "generic-6mv")
        };
        let step_of_course = reference_gy / 50.0;
        weight(&plan, reference_gy) * (step_of_course / f64::from(fractions)).powi(2)
    }

    /// The step of a course is the same in one fraction or in 25: 25 times the fluence a fraction, and as much weight altogether.
    #[test]
    fn a_step_of_a_course_weighs_the_same_in_any_number_of_fractions() {
        let chosen = weighted_step(25, 50.0);
        assert!((chosen - 0.02 / 625.0).abs() < 1e-15, "as it was chosen");
        for (fractions, reference_gy) in [(1, 50.0), (5, 50.0), (35, 70.0), (3, 54.0)] {
            assert!(
                (weighted_step(fractions, reference_gy) / chosen - 1.0).abs() < 1e-12,
                "{fractions}"
            );
        }
    }
}
