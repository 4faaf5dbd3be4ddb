//! High and low TERMA. High TERMA, above a small fraction of the greatest, is transported along all directions; few lines pass it.
//! Low TERMA (leakage, head scatter), smooth and nearly everywhere, is transported along few directions.

use super::superpose::TransportInput;
use super::terma::Terma;
use crate::cccs::angles::TiltNorm;
use crate::cccs::beam::LOW_TERMA_FRACTION;
use crate::{Cancelled, JobControl};
use glam::DVec3;
use physics::kernel_beam::CHANNELS;
use rayon::prelude::*;

/// High and low TERMA; the low has factors by tilt, which give its few directions the energy of all of them.
pub fn split(
    input: &TransportInput<'_>,
    norm: &TiltNorm,
    control: &JobControl,
) -> Result<[Terma; 2], Cancelled> {
    let terma = input.terma;
    let total = |voxel: usize| terma.iter().map(|s| s[voxel]).sum::<f32>();
    let voxels = input.lattice.voxels();
    let greatest = (0..voxels)
        .into_par_iter()
        .map(total)
        .reduce(|| 0.0, f32::max);
    control.check()?;
    // The low share of a voxel's TERMA.
    let shares: Vec<f32> = (0..voxels)
        .into_par_iter()
        .map(|voxel| {
            let total = total(voxel);
            if total > 0.0 {
                (LOW_TERMA_FRACTION * greatest / total).min(1.0)
            } else {
                0.0
            }
        })
        .collect();
    control.check()?;
    let low: Vec<[f32; CHANNELS]> = (0..voxels)
        .into_par_iter()
        .map(|voxel| {
            if shares[voxel] > 0.0 {
                let factors = norm.next_to(ray_tangents(input, voxel));
                factors.map(|f| f * shares[voxel])
            } else {
                [0.0; CHANNELS]
            }
        })
        .collect();
    control.check()?;
    let high = scaled(terma, |voxel, _| 1.0 - shares[voxel], control)?;
    let low = scaled(terma, |voxel, channel| low[voxel][channel], control)?;
    Ok([high, low])
}

/// Tangents of the ray through a voxel against the beam axis; 0 where the ray goes backwards.
fn ray_tangents(input: &TransportInput<'_>, index: usize) -> [f32; 2] {
    let [nx, ny, _] = input.lattice.size;
    let voxel = DVec3::new(
        (index % nx) as f64,
        (index / nx % ny) as f64,
        (index / (nx * ny)) as f64,
    );
    let centre_mm = voxel * DVec3::from(input.lattice.spacing_mm);
    let ray = input.lattice_from_kernel.transpose() * (centre_mm - input.source_mm);
    let tangents = if ray.z > 0.0 {
        [ray.x / ray.z, ray.y / ray.z]
    } else {
        [0.0; 2]
    };
    tangents.map(|t| t as f32)
}

/// TERMA times a factor by voxel and channel.
fn scaled(
    terma: &Terma,
    factor: impl Fn(usize, usize) -> f32 + Sync,
    control: &JobControl,
) -> Result<Terma, Cancelled> {
    let mut part: Terma = std::array::from_fn(|_| Vec::new());
    for (channel, (part, terma)) in part.iter_mut().zip(terma).enumerate() {
        *part = terma
            .par_iter()
            .enumerate()
            .map(|(voxel, value)| value * factor(voxel, channel))
            .collect();
        control.check()?;
    }
    Ok(part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Cache;
    use crate::cccs::beam::Superposition;
    use crate::cccs::correction::Tilts;
    use crate::cccs::cpu::superpose::superpose;
    use crate::dose::Quality;
    use crate::dose::lattice::Lattice;
    use glam::DMat3;
    use physics::Machine;

    const REACH: f64 = 0.12;

    /// A field of 8 cm x 8 cm and its leakage, on water with a slab of lung in it, 20 cm deep along z from a source 90 cm away.
    #[test]
    fn leakage_along_few_directions_is_what_it_is_along_all() {
        for quality in [Quality::Standard, Quality::Full] {
            let [worst, mean] = off_by(quality);
            println!(
                "{quality:?}, of the maximum: worst {:.4} %, mean {:.4} %",
                100.0 * worst,
                100.0 * mean
            );
            assert!(worst > 0.0, "no TERMA is low");
            assert!(
                worst < 1e-3 && mean < 1e-4,
                "{quality:?}: worst {worst}, mean {mean}"
            );
        }
    }

    /// Difference of doses with and without the split, of the maximum: the worst and the mean.
    fn off_by(quality: Quality) -> [f64; 2] {
        let lattice = Lattice {
            size: [40; 3],
            spacing_mm: [5.0; 3],
        };
        let machine = Machine::resolve("generic-6mv").expect("a shipped machine");
        let beam = Superposition::cached(&machine, quality, &Cache::default());
        let tilt = TiltNorm::new(&beam.table, &beam.directions, REACH);
        let source_mm = DVec3::new(97.5, 97.5, -900.0);
        let mut terma: Terma = std::array::from_fn(|_| Vec::new());
        let mut density = Vec::new();
        for index in 0..lattice.voxels() {
            let voxel = [index % 40, index / 40 % 40, index / 1600].map(|i| 5.0 * i as f64);
            let ray = DVec3::from(voxel) - source_mm;
            let tangents = [ray.x / ray.z, ray.y / ray.z];
            let leaks = tangents.iter().any(|t| t.abs() > 0.04);
            let fluence = (1e6 / ray.length_squared()) * if leaks { 0.004 } else { 1.0 };
            let norm = tilt.at(tangents);
            let input = beam.kernel.terma(0.1 * voxel[2]);
            (0..CHANNELS).for_each(|c| terma[c].push((input[c] * fluence) as f32 * norm[c]));
            density.push(if (60.0..120.0).contains(&voxel[2]) {
                0.26
            } else {
                1.0
            });
        }
        let unsplit = TransportInput {
            lattice,
            density: &density,
            terma: &terma,
            source_mm,
            lattice_from_kernel: DMat3::IDENTITY,
            tilts: Tilts::within(REACH),
            low_terma_norm: None,
        };
        let cut = TransportInput {
            low_terma_norm: beam.low_terma_norm(&tilt),
            ..unsplit.clone()
        };
        let [unsplit_dose, cut] = [unsplit, cut]
            .map(|r| superpose(&r, &beam, &JobControl::new()).expect("not cancelled"));
        let greatest = unsplit_dose.iter().copied().fold(0.0, f32::max);
        let off = unsplit_dose
            .iter()
            .zip(&cut)
            .map(|(w, c)| f64::from((w - c).abs() / greatest));
        let worst = off.clone().fold(0.0, f64::max);
        let mean = off.sum::<f64>() / unsplit_dose.len() as f64;
        [worst, mean]
    }
}
