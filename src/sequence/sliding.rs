//! Sliding window: leaves sweep the field once while the beam is on.

use crate::field::Field;
use crate::parts::MapPart;
use crate::sweep::Sweep;
use case::Beam;

/// Control points of the finest sequence, beside the first.
pub const MOST_STEPS: usize = 100;

/// Passes in which the leakage of the whole sweep is subtracted from the requested fluences.
const LEAKAGE_PASSES: usize = 3;

/// A sliding window for fluences, `[row][column]` in MU of an open field, in so many steps of equal monitor units for each part.
pub fn sliding_window(field: &Field<'_>, fluences: &[Vec<f64>], steps: usize) -> Beam {
    let mut points = Vec::new();
    let mut delivered_mu = 0.0;
    for sweep in sweeps(field, fluences) {
        // A file holds thousandths of a monitor unit.
        let mu = (1e3 * sweep.mu()).ceil() / 1e3;
        points.extend((0..=steps).map(|n| {
            let sweep_mu = mu * n as f64 / steps as f64;
            (
                delivered_mu + sweep_mu,
                field.separated(&sweep.at(sweep_mu)),
            )
        }));
        delivered_mu += mu;
    }
    field.beam_of(&points)
}

fn sweeps(field: &Field<'_>, fluences: &[Vec<f64>]) -> Vec<Sweep> {
    field
        .parts
        .iter()
        .map(|part| sweep_of_part(field, part, fluences))
        .collect()
}

fn sweep_of_part(field: &Field<'_>, part: &MapPart, fluences: &[Vec<f64>]) -> Sweep {
    field.sweep_with_beam(
        part,
        field.nodes_mm(part),
        field.speed_mm_mu(),
        &part.share_of(fluences),
    )
}

/// Fluences to request from the sweep so that they add up to `fluences` with the leakage of the leaves.
pub fn without_leakage(field: &Field<'_>, fluences: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let transmission = field.transmission;
    let mut requested = fluences.to_vec();
    for _ in 0..LEAKAGE_PASSES {
        let leaked = transmission * sweeps(field, &requested).iter().map(Sweep::mu).sum::<f64>();
        for (requested, mu) in requested
            .iter_mut()
            .flatten()
            .zip(fluences.iter().flatten())
        {
            *requested = ((mu - leaked) / (1.0 - transmission)).max(0.0);
        }
    }
    requested
}
