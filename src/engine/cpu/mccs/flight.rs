//! Through the patient to the first interaction.

use super::head::Particle;
use crate::engine::mccs::simulation::Simulation;
use crate::engine::mccs::tables::CLASSES;
use crate::geometry::even_walk::{EvenWalk, within};

/// Directions and positions in voxels, as walks want them.
pub fn in_voxels(per_cm: [f32; 3], cm: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|a| cm[a] * per_cm[a])
}

/// Where the particle enters the lattice, in voxels; `None` where it misses it.
pub fn entry(run: &Simulation, particle: &Particle) -> Option<[f32; 3]> {
    let per_cm = run.voxels_per_cm();
    let from = in_voxels(per_cm, particle.from_cm);
    let direction = in_voxels(per_cm, particle.direction);
    let [begin, _] = within(run.lattice.size, from, direction)?;
    Some(std::array::from_fn(|a| (from[a] + begin * direction[a]).clamp(0.0, run.lattice.size[a] as f32)))
}

/// Where a photon may interact first, in voxels: `-ln(1 - xi)` free paths (Zhou 2010, eq. 3) of its own energy in the materials on
/// its way, each passed by its exact length. Of `count` numbers, one in each equal part of the range of `xi`, calls `found` with
/// the number of each and its place, nearest first; the rest leave the lattice.
pub fn interactions(
    run: &Simulation,
    photon: &Particle,
    mu: &[f32; CLASSES],
    [count, xi]: [f32; 2],
    mut found: impl FnMut(u32, [f32; 3]),
) {
    let Some(entry) = entry(run, photon) else { return };
    let direction = in_voxels(run.voxels_per_cm(), photon.direction);
    let paths_to = |k: f32| -(1.0 - (k + xi) / count).ln();
    let mut k = 0.0;
    let mut wanted = paths_to(k);
    let mut gone = 0.0_f32;
    let mut walk = EvenWalk::new(run.lattice.size, entry, direction);
    loop {
        let begin = walk.at_cm();
        let Some((voxel, cm)) = walk.step() else { return };
        let bits = run.voxels[voxel];
        let per_cm = f32::from_bits(bits) * mu[(bits & 0xf) as usize];
        let paths = per_cm * cm;
        while gone + paths >= wanted && per_cm > 0.0 {
            let at = begin + (wanted - gone) / per_cm;
            let place = std::array::from_fn(|a| {
                (entry[a] + at * direction[a]).clamp(0.0, run.lattice.size[a] as f32)
            });
            found(k as u32, place);
            k += 1.0;
            if k >= count {
                return;
            }
            wanted = paths_to(k);
        }
        gone += paths;
    }
}
