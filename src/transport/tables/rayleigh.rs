//! Cumulative squared form factor, by which Rayleigh scattering is drawn.

use particles::constants::PLANCK_LIGHT_KEV_ANGSTROM;
use particles::photon::ScatteringFunctions;
use particles::photon::rayleigh::CumulativeFormFactor;

/// Points an octave of x, from 2^-10 per Angstrom; the first entry is at x = 0.
const PER_OCTAVE: usize = 8;
const LEAST_EXPONENT: f64 = -10.0;
/// Entries of 23 octaves and of x = 0.
pub const ENTRIES: usize = 23 * PER_OCTAVE + 2;

/// Integral of F(x)^2 over x^2, as a share of its last value.
pub fn table(functions: &ScatteringFunctions) -> Vec<f32> {
    let cumulative = CumulativeFormFactor::new(functions, PER_OCTAVE);
    let values = cumulative.values();
    let greatest = values[values.len() - 1];
    values
        .iter()
        .map(|value| (value / greatest) as f32)
        .collect()
}

/// x^2 of an entry, 1/Angstrom^2.
fn x2(entry: usize) -> f64 {
    match entry {
        0 => 0.0,
        _ => (2.0 * ((entry - 1) as f64 / PER_OCTAVE as f64 + LEAST_EXPONENT)).exp2(),
    }
}

/// 1 - cos of a candidate, to be accepted by (1 + cos^2)/2.
pub fn one_minus_cos(table: &[f32], photon_mev: f64, uniform: f64) -> f64 {
    let backward_x2 = (photon_mev * 1e3 / PLANCK_LIGHT_KEV_ANGSTROM).powi(2);
    let target = uniform * share_below(table, backward_x2);
    let upper = table
        .partition_point(|&share| f64::from(share) <= target)
        .clamp(1, table.len() - 1);
    let [low, high] = [upper - 1, upper].map(|entry| f64::from(table[entry]));
    let fraction = if high > low {
        (target - low) / (high - low)
    } else {
        0.0
    };
    let candidate = x2(upper - 1) + fraction * (x2(upper) - x2(upper - 1));
    2.0 * (candidate / backward_x2).min(1.0)
}

fn share_below(table: &[f32], x2_per_angstrom2: f64) -> f64 {
    let entry = (x2_per_angstrom2.log2() / 2.0 - LEAST_EXPONENT) * PER_OCTAVE as f64;
    let upper = (entry.max(-1.0) as isize + 2).clamp(1, table.len() as isize - 1) as usize;
    let fraction = (x2_per_angstrom2 - x2(upper - 1)) / (x2(upper) - x2(upper - 1));
    let [low, high] = [upper - 1, upper].map(|entry| f64::from(table[entry]));
    low + fraction.clamp(0.0, 1.0) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use particles::Medium;
    use physics::Material;

    /// The f64 form of the table, which has its own tests, at the same draws.
    #[test]
    fn candidates_are_those_of_double_precision() {
        let functions = ScatteringFunctions::of(&Medium::of(Material::CorticalBone));
        let exact = CumulativeFormFactor::new(&functions, PER_OCTAVE);
        let table = table(&functions);
        for photon_mev in [0.011, 0.06, 0.5, 6.0] {
            for uniform in [0.001, 0.1, 0.5, 0.9, 0.999] {
                let expected = exact.one_minus_cos(photon_mev, uniform);
                let drawn = one_minus_cos(&table, photon_mev, uniform);
                assert!(
                    (drawn / expected - 1.0).abs() < 2e-3,
                    "{photon_mev} MeV, {uniform}: {drawn:e} and {expected:e}"
                );
            }
        }
    }
}
