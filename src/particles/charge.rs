//! Electrons, positrons and their kinematics.

use crate::constants::ELECTRON_MASS_MEV;

/// Sign of the charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charge {
    Electron,
    Positron,
}

impl Charge {
    pub const BOTH: [Self; 2] = [Self::Electron, Self::Positron];

    /// The greatest energy that a collision with a free electron at rest transfers, MeV: of two electrons the faster one
    /// counts as the primary.
    pub fn maximum_transfer_mev(self, energy_mev: f64) -> f64 {
        match self {
            Self::Electron => energy_mev / 2.0,
            Self::Positron => energy_mev,
        }
    }
}

/// Speed and energy of an electron or positron in units of its rest mass.
#[derive(Clone, Copy, Debug)]
pub struct Kinematics {
    /// Kinetic energy over rest energy.
    pub tau: f64,
    /// Total energy over rest energy.
    pub gamma: f64,
    /// Square of the speed over the speed of light.
    pub beta2: f64,
    /// Square of the momentum over m c.
    pub momentum2: f64,
}

impl Kinematics {
    pub fn of(energy_mev: f64) -> Self {
        let tau = energy_mev / ELECTRON_MASS_MEV;
        let gamma = tau + 1.0;
        let momentum2 = tau * (tau + 2.0);
        Self {
            tau,
            gamma,
            beta2: momentum2 / (gamma * gamma),
            momentum2,
        }
    }
}

/// Squared cosine of the primary's deflection in a collision with a free electron that takes `transfer_mev`
/// (conservation of energy and momentum).
pub fn primary_cos2(energy_mev: f64, transfer_mev: f64) -> f64 {
    let twice_mass_mev = 2.0 * ELECTRON_MASS_MEV;
    (energy_mev - transfer_mev) * (energy_mev + twice_mass_mev)
        / (energy_mev * (energy_mev - transfer_mev + twice_mass_mev))
}

/// Squared cosine of the angle at which the struck electron leaves with `transfer_mev`.
pub fn secondary_cos2(energy_mev: f64, transfer_mev: f64) -> f64 {
    let twice_mass_mev = 2.0 * ELECTRON_MASS_MEV;
    transfer_mev * (energy_mev + twice_mass_mev) / (energy_mev * (transfer_mev + twice_mass_mev))
}

/// 1 - cosine of the primary's deflection, without the cancellation of small transfers.
pub fn primary_one_minus_cos(energy_mev: f64, transfer_mev: f64) -> f64 {
    let twice_mass_mev = 2.0 * ELECTRON_MASS_MEV;
    let sin2 =
        transfer_mev * twice_mass_mev / (energy_mev * (energy_mev - transfer_mev + twice_mass_mev));
    sin2 / (1.0 + (1.0 - sin2).max(0.0).sqrt())
}
