//! Condensed history of charged particles: the energy between one angle of multiple scattering and the next.
//!
//! Random hinge of PENELOPE (Sempau, Wilderman, Bielajew, Phys. Med. Biol. 45, 2263 (2000)), with energy lost in place of path:
//! a step loses a fixed share of the energy, and turns at a place uniform in that loss by the angle of the whole step. Energy
//! needs no conversion where a step runs on into another medium.

use crate::energy::quantised_mev;

/// Energies to the next hinge and from it to the end of its step, MeV; multiples of the quantum.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Hinge {
    pub loss_to_hinge_mev: f64,
    /// Loss of the whole step.
    step_loss_mev: f64,
    loss_after_mev: f64,
}

/// Step of multiple scattering, as its angle depends on it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ScatteringStep {
    pub loss_mev: f64,
    /// Energy in the middle of the step, MeV.
    pub middle_mev: f64,
}

impl Hinge {
    /// First hinge of a particle that loses `step_loss` of its energy a step; `uniform` in (0, 1).
    pub fn new(energy_mev: f64, step_loss: f64, uniform: f64) -> Self {
        let step_loss_mev = quantised_mev(energy_mev * step_loss);
        let loss_to_hinge_mev = quantised_mev(step_loss_mev * uniform);
        Self {
            loss_to_hinge_mev,
            step_loss_mev,
            loss_after_mev: step_loss_mev - loss_to_hinge_mev,
        }
    }

    /// Step whose hinge has been reached at `energy_mev`.
    pub fn step(&self, energy_mev: f64) -> ScatteringStep {
        let loss_before_mev = self.step_loss_mev - self.loss_after_mev;
        ScatteringStep {
            loss_mev: self.step_loss_mev,
            middle_mev: energy_mev + (loss_before_mev - self.loss_after_mev) / 2.0,
        }
    }

    /// Hinge behind one that has been reached at `energy_mev`: the rest of its step, then a part of the next.
    pub fn next(&self, energy_mev: f64, step_loss: f64, uniform: f64) -> Self {
        let following = Self::new(energy_mev - self.loss_after_mev, step_loss, uniform);
        Self {
            loss_to_hinge_mev: self.loss_after_mev + following.loss_to_hinge_mev,
            ..following
        }
    }

    /// Scaled to the energy that a hard collision leaves.
    pub fn scale(&mut self, ratio: f64) {
        self.loss_to_hinge_mev = quantised_mev(self.loss_to_hinge_mev * ratio);
        self.step_loss_mev = quantised_mev(self.step_loss_mev * ratio);
        self.loss_after_mev = quantised_mev(self.loss_after_mev * ratio).min(self.step_loss_mev);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::QUANTUM_MEV;

    /// Losses between hinges, added up, are the steps: each a fifth of the energy at its beginning.
    #[test]
    fn hinges_lie_in_their_steps() {
        let mut energy_mev = 4.0;
        let mut hinge = Hinge::new(energy_mev, 0.2, 0.25);
        let mut step_start_mev = 4.0;
        for uniform in [0.9, 0.1, 0.5, 0.75] {
            energy_mev -= hinge.loss_to_hinge_mev;
            let step = hinge.step(energy_mev);
            assert!((step.loss_mev - 0.2 * step_start_mev).abs() < 2e-6);
            let middle_mev = step_start_mev - step.loss_mev / 2.0;
            assert!((step.middle_mev - middle_mev).abs() < 2e-6);
            assert!(energy_mev <= step_start_mev && energy_mev >= step_start_mev - step.loss_mev);
            step_start_mev -= step.loss_mev;
            hinge = hinge.next(energy_mev, 0.2, uniform);
        }
    }

    #[test]
    fn a_scaled_hinge_is_that_of_the_lower_energy() {
        let mut hinge = Hinge::new(4.0, 0.2, 0.25);
        hinge.scale(0.5);
        let lower = Hinge::new(2.0, 0.2, 0.25);
        for (scaled, expected) in [
            (hinge.loss_to_hinge_mev, lower.loss_to_hinge_mev),
            (hinge.step_loss_mev, lower.step_loss_mev),
            (hinge.loss_after_mev, lower.loss_after_mev),
        ] {
            assert!((scaled - expected).abs() <= QUANTUM_MEV);
        }
    }
}
