//! Sliding window: leaves sweep the field once while the beam is on.

use crate::field::Field;
use crate::parts::MapPart;
use crate::sweep::Sweep;
use case::Beam;

/// Control points of the finest sequence, beside the first.
pub const MOST_STEPS: usize = 100;

/// Passes in which the leakage of the whole sweep is taken off what is asked of it.
const LEAKAGE_PASSES: usize = 3;

/// A sliding window for fluences, `[row][column]` in MU of an open field, in so many steps of equal monitor units for each part.
pub fn sliding_window(field: &Field<'_>, fluences: &[Vec<f64>], steps: usize) -> Beam {
    let mut points = Vec::new();
    let mut given = 0.0;
    for sweep in sweeps(field, fluences) {
        // Monitor units as a file states them.
        let mu = (1e3 * sweep.mu()).ceil() / 1e3;
        let point = |n: usize| {
            let at = mu * n as f64 / steps as f64;
            (given + at, field.held_apart(&sweep.at(at)))
        };
        points.extend((0..=steps).map(point));
        given += mu;
    }
    field.beam_of(&points)
}

fn sweeps(field: &Field<'_>, fluences: &[Vec<f64>]) -> Vec<Sweep> {
    let sweep = |part: &MapPart| {
        field.sweep_with_beam(part, field.nodes_mm(part), field.speed_mm_mu(), &part.share_of(fluences))
    };
    field.parts.iter().map(sweep).collect()
}

/// Fluences to ask of the sweep so that a field gets those given, with what leaves leak all the while.
pub fn without_leakage(field: &Field<'_>, fluences: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let t = field.transmission;
    let mut asked = fluences.to_vec();
    for _ in 0..LEAKAGE_PASSES {
        let leaked = t * sweeps(field, &asked).iter().map(Sweep::mu).sum::<f64>();
        let open = |mu: &f64| ((mu - leaked) / (1.0 - t)).max(0.0);
        asked = fluences.iter().map(|row| row.iter().map(open).collect()).collect();
    }
    asked
}
