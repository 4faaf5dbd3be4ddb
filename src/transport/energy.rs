//! Energies as multiples of a quantum, so that sums and differences of them are exact.

use particles::constants::ELECTRON_MASS_MEV;

/// Quantum of energy, MeV: 0.95 eV. Multiples to 16 MeV are exact in f32 as well, so that a card keeps the same ledger.
pub const QUANTUM_MEV: f64 = 1.0 / QUANTA_PER_MEV;
const QUANTA_PER_MEV: f64 = 1_048_576.0;

/// No charged particle is followed below this kinetic energy, MeV: bounds of cross sections hold above it.
pub const LEAST_CUT_OFF_MEV: f64 = 0.02;

/// Energies to which tables reach, MeV: beyond the last node they would be constant, and the dose wrong.
pub const GREATEST_ENERGY_MEV: f64 = 32.0;

/// The nearest multiple of the quantum, MeV; what is no number stays none.
pub fn quantised_mev(energy_mev: f64) -> f64 {
    // Beside this number there is no place for a fraction. `round` is a call of a function, and this the commonest operation of all.
    const WHOLE: f64 = 1.5 * (1_u64 << 52) as f64;
    (energy_mev * QUANTA_PER_MEV + WHOLE - WHOLE) * QUANTUM_MEV
}

/// Quanta nearest to an energy.
pub fn quanta(energy_mev: f64) -> u64 {
    (energy_mev * QUANTA_PER_MEV + 0.5) as u64
}

pub fn mev_of_quanta(quanta: u64) -> f64 {
    quanta as f64 * QUANTUM_MEV
}

/// Rest energy of the electron as the ledger has it, MeV: the nearest multiple of the quantum, 0.3 eV from CODATA's.
pub fn rest_energy_mev() -> f64 {
    quantised_mev(ELECTRON_MASS_MEV)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn single_precision_holds_every_multiple_to_16_mev() {
        for energy_mev in [0.2, 1.0219979, 5.999_999, 15.9] {
            let multiple = quantised_mev(energy_mev);
            assert_eq!(f64::from(multiple as f32), multiple);
            assert!((multiple - energy_mev).abs() <= QUANTUM_MEV / 2.0);
            assert_eq!(mev_of_quanta(quanta(multiple)), multiple);
        }
    }

    #[test]
    fn multiples_are_the_nearest_on_either_side_of_zero() {
        for (quanta, nearest) in [
            (0.4, 0.0),
            (0.6, 1.0),
            (-0.4, 0.0),
            (-0.6, -1.0),
            (1e9 + 0.3, 1e9),
        ] {
            assert_eq!(quantised_mev(quanta * QUANTUM_MEV), nearest * QUANTUM_MEV);
        }
        assert!(quantised_mev(f64::NAN).is_nan());
        assert_eq!(quantised_mev(f64::INFINITY), f64::INFINITY);
    }

    #[test]
    fn the_rest_energy_is_within_half_a_quantum() {
        assert!((rest_energy_mev() - ELECTRON_MASS_MEV).abs() < 0.5e-6);
    }
}
