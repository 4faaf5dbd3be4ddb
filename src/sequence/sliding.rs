//! Sliding window: leaves sweep the field once while the beam is on.

use crate::field::Field;
use crate::sweep::Sweep;
use case::Beam;

/// Control points of the finest sequence, beside the first.
pub const MOST_STEPS: usize = 100;

/// Passes in which the leakage of the whole sweep is taken off what is asked of it.
const LEAKAGE_PASSES: usize = 3;

/// A sliding window for fluences, `[row][column]` in MU of an open field, in so many steps of equal monitor units.
pub fn sliding_window(field: &Field<'_>, fluences: &[Vec<f64>], steps: usize) -> Beam {
    let sweep = sweep(field, fluences);
    // Monitor units as a file states them.
    let mu = (1e3 * sweep.mu()).ceil() / 1e3;
    let point = |n: usize| {
        let at = mu * n as f64 / steps as f64;
        (at, field.held_apart(&sweep.at(at)))
    };
    field.beam_of(&(0..=steps).map(point).collect::<Vec<_>>())
}

fn sweep(field: &Field<'_>, fluences: &[Vec<f64>]) -> Sweep {
    field.sweep_with_beam(field.nodes_mm(), field.speed_mm_mu(), fluences)
}

/// Fluences to ask of the sweep so that a field gets those given, with what leaves leak all the while.
pub fn without_leakage(field: &Field<'_>, fluences: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let t = field.transmission;
    let mut asked = fluences.to_vec();
    for _ in 0..LEAKAGE_PASSES {
        let leaked = t * sweep(field, &asked).mu();
        let open = |mu: &f64| ((mu - leaked) / (1.0 - t)).max(0.0);
        asked = fluences.iter().map(|row| row.iter().map(open).collect()).collect();
    }
    asked
}
