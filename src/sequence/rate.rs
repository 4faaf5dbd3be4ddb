//! Dose rate of a sliding window: at a lower one its leaves cross the field in fewer monitor units, and take longer.
//!
//! With R the rises of the slowest row (MU), W the width of the sweep (mm), v the speed of the leaves (mm/s) and r the dose rate
//! (MU/min), a window takes M = R + W r / 60 v monitor units in T = 60 R / r + W / v seconds. M + kappa T is least at
//! r = 60 sqrt(kappa R v / W).

use physics::Delivery;

/// kappa: monitor units that a second of beam-on time is worth. Chosen: a fifth to a quarter fewer monitor units for half as much time
/// again on plans of nine fields.
const MU_A_SECOND: f64 = 2.5;

/// Dose rates are set in such steps, MU/min; the lowest is one.
const STEP_MU_MIN: f64 = 100.0;

/// Dose rate of a sliding window, MU/min: rises of its slowest row in MU, and the width of its sweep in mm.
pub fn sliding_rate_mu_min(rises_mu: f64, width_mm: f64, delivery: &Delivery) -> f64 {
    let by_time = MU_A_SECOND * rises_mu.max(0.0) * delivery.leaf_speed_mm_s / width_mm;
    let optimal_mu_min = 60.0 * by_time.sqrt();
    let stepped = (optimal_mu_min / STEP_MU_MIN).round() * STEP_MU_MIN;
    stepped.clamp(
        STEP_MU_MIN.min(delivery.dose_rate_mu_min),
        delivery.dose_rate_mu_min,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use physics::Machine;

    /// M + kappa T.
    fn cost(rate_mu_min: f64, rises_mu: f64, travel_s: f64) -> f64 {
        let mu = rises_mu + travel_s * rate_mu_min / 60.0;
        mu + MU_A_SECOND * (60.0 * rises_mu / rate_mu_min + travel_s)
    }

    /// The rate against all steps.
    #[test]
    fn the_rate_costs_least_of_all_steps() {
        let delivery = Machine::resolve("generic-6mv").unwrap().delivery.unwrap();
        for (rises_mu, width_mm) in [(75.0, 185.0), (150.0, 100.0), (20.0, 230.0), (1.0, 300.0)] {
            let travel_s = width_mm / delivery.leaf_speed_mm_s;
            let rate = sliding_rate_mu_min(rises_mu, width_mm, &delivery);
            let steps = (1..=6).map(|n| f64::from(n) * STEP_MU_MIN);
            let costs = steps.map(|step| cost(step, rises_mu, travel_s));
            let best = costs.fold(f64::INFINITY, f64::min);
            // The optimum lies between two steps, and the nearer one need not be the cheaper.
            assert!(
                cost(rate, rises_mu, travel_s) <= 1.01 * best,
                "{rises_mu}, {width_mm}: {rate}"
            );
        }
        // 60 sqrt(2.5 * 75 * 25 / 185) = 302.
        assert_eq!(sliding_rate_mu_min(75.0, 185.0, &delivery), 300.0);
        let slow = Delivery {
            dose_rate_mu_min: 60.0,
            ..delivery
        };
        assert_eq!(sliding_rate_mu_min(75.0, 185.0, &slow), 60.0);
    }
}
