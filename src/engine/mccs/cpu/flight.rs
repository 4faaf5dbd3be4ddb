//! Flight of a photon through the patient to its first interaction.

use crate::histories::head::Particle;
use crate::mccs::simulation::Simulation;
use crate::mccs::tables::{CLASSES, MOST_DIRECTIONS};
use geometry::walk::even::{EvenWalk, within};
use multiversion::multiversion;

/// A direction or position in voxels, as walks have it.
pub fn in_voxels(per_cm: [f32; 3], cm: [f32; 3]) -> [f32; 3] {
    std::array::from_fn(|a| cm[a] * per_cm[a])
}

/// Entry of the particle into the lattice, in voxels; `None` where it misses it.
pub fn entry(run: &Simulation, particle: &Particle) -> Option<[f32; 3]> {
    let per_cm = run.voxels_per_cm();
    let from = in_voxels(per_cm, particle.position_cm);
    let direction = in_voxels(per_cm, particle.direction);
    let [begin, _] = within(run.lattice.size, from, direction)?;
    Some(std::array::from_fn(|a| {
        (from[a] + begin * direction[a]).clamp(0.0, run.lattice.size[a] as f32)
    }))
}

/// First possible interactions of a photon, in voxels: `-ln(1 - xi)` free paths (Zhou 2010, eq. 3) at the photon's energy in
/// the materials on its way, each passed by its exact length. Of `count` numbers, one in each equal part of the range
/// of `xi`, calls `visit` with the number of each and its place, nearest first; the rest leave the lattice.
pub fn interactions(
    run: &Simulation,
    photon: &Particle,
    mu: &[f32; CLASSES],
    [count, xi]: [f32; 2],
    mut visit: impl FnMut(u32, [f32; 3]),
) {
    let Some(entry) = entry(run, photon) else {
        return;
    };
    let direction = in_voxels(run.voxels_per_cm(), photon.direction);
    // Distances first: `visit` inside the walk would take its registers.
    let mut ways = [0.0; MOST_DIRECTIONS as usize];
    let met = ways_to(run, [entry, direction], mu, [count, xi], &mut ways);
    for (k, way) in ways[..met].iter().enumerate() {
        let place = std::array::from_fn(|a| {
            (entry[a] + way * direction[a]).clamp(0.0, run.lattice.size[a] as f32)
        });
        visit(k as u32, place);
    }
}

/// Distances of the interactions, cm from the entry into the lattice, and their number.
#[multiversion(targets("x86_64+avx2+fma"))]
fn ways_to(
    run: &Simulation,
    [entry, direction]: [[f32; 3]; 2],
    mu: &[f32; CLASSES],
    [count, xi]: [f32; 2],
    ways: &mut [f32; MOST_DIRECTIONS as usize],
) -> usize {
    let paths_to = |k: usize| -(1.0 - (k as f32 + xi) / count).ln();
    let limit = (count as usize).min(ways.len());
    let mut met = 0;
    let mut wanted = paths_to(met);
    let mut paths_so_far = 0.0_f32;
    let mut walk = EvenWalk::new(run.lattice.size, entry, direction);
    loop {
        let begin = walk.at_cm();
        let Some((voxel, cm)) = walk.step() else {
            return met;
        };
        let voxel = run.voxels[voxel];
        let per_cm = voxel.density_g_cm3() * mu[voxel.class()];
        let paths = per_cm * cm;
        while paths_so_far + paths >= wanted && per_cm > 0.0 {
            ways[met] = begin + (wanted - paths_so_far) / per_cm;
            met += 1;
            if met == limit {
                return met;
            }
            wanted = paths_to(met);
        }
        paths_so_far += paths;
    }
}
