//! The lines of one direction through the tubes of a tile.

use super::hits::{Hits, losses, transmitted};
use super::tiles::{F32x16, LANES, Tile};
use crate::influence::walks::{LitVoxel, SourceTerm, Step, Walk};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;
use physics::kernel_fit::TERMS;

/// A state decays to this, not to zero: denormal numbers are slow. Of a beam's TERMA for one photon per cm2 it is nothing.
const FLOOR: f32 = 1e-30;

/// No place among the voxels of a tile.
const NONE: u32 = u32::MAX;

/// Work space of a thread: padded, the place of each voxel among the tile's.
pub struct WorkSpace {
    place_of: Vec<u32>,
}

impl WorkSpace {
    pub fn new(voxels: usize) -> Self {
        Self {
            place_of: vec![NONE; voxels],
        }
    }

    /// Marks the voxels of a tile.
    pub fn enter(&mut self, tile: &Tile, lit: &[LitVoxel]) {
        for (place, number) in tile.voxels.iter().enumerate() {
            self.place_of[lit[*number as usize].at as usize] = place as u32;
        }
    }

    pub fn leave(&mut self, tile: &Tile, lit: &[LitVoxel]) {
        tile.voxels
            .iter()
            .for_each(|number| self.place_of[lit[*number as usize].at as usize] = NONE);
    }
}

/// Voxels that lines of a direction pass.
pub struct Lines<'a> {
    pub walk: &'a Walk,
    pub hits: &'a Hits,
    /// Source terms of the lit voxels.
    pub terms: &'a [SourceTerm],
    /// Padded.
    pub density: &'a [f32],
}

/// Adds the energy per volume that the tubes of a tile leave at the sampled voxels. A line that enters them twice is two lines, since
/// energies add up.
#[multiversion(targets(
    "x86_64+avx512f+avx512bw+avx512dq+avx512vl+avx2+avx+fma",
    "x86_64+avx2+avx+fma",
    "aarch64+neon"
))]
pub fn add(
    lines: &Lines<'_>,
    tile: &Tile,
    lit: &[LitVoxel],
    work_space: &WorkSpace,
    energies: &mut [F32x16],
) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let Lines {
        walk,
        hits,
        terms,
        density,
    } = *lines;
    let weight = F32x16::splat(walk.weight);
    for number in &tile.voxels {
        let LitVoxel {
            at: index, place, ..
        } = lit[*number as usize];
        let [first, end] = walk.of_layer[place[walk.axis] as usize];
        for entry in first..end {
            let base = index as i32 - walk.steps[entry as usize].offset;
            let last_voxel = entry
                .checked_sub(1)
                .map(|n| base + walk.steps[n as usize].offset);
            if last_voxel.is_some_and(|voxel| work_space.place_of[voxel as usize] != NONE) {
                continue;
            }
            let (ahead, decays) = hits.ahead(place, walk.segments[entry as usize].shift, entry);
            let Some(last) = ahead.last() else { continue };
            let mut next = 0;
            let mut state = [F32x16::ZERO; TERMS];
            let mut step = entry as usize;
            // Voxels on the way: places among the tile's, paths, and energies that all of their TERMA leaves along those paths.
            let mut places = [0; LANES];
            let [mut path, mut along] = [F32x16::ZERO; 2];
            loop {
                let mut count = 0;
                while count < LANES && step + count <= last.step as usize {
                    let Step { offset, length_cm } = walk.steps[step + count];
                    let voxel = (base + offset) as usize;
                    let place = work_space.place_of[voxel];
                    if place == NONE {
                        break;
                    }
                    places[count] = place as usize;
                    path.0[count] = density[voxel] * length_cm;
                    along.0[count] =
                        path.0[count] * terms[tile.voxels[place as usize] as usize].sum;
                    count += 1;
                }
                let losses = losses(path);
                for (n, place) in places[..count].iter().enumerate() {
                    let (source, share) =
                        (&terms[tile.voxels[*place] as usize], tile.shares[*place]);
                    let mut deposited = share * along.0[n];
                    for term in 0..TERMS {
                        let equilibrium = F32x16::splat(source.equilibrium[term]);
                        let missing = share.mul_add::<FUSED>(equilibrium, -state[term]);
                        let loss = F32x16::splat(losses[term].0[n]);
                        state[term] = loss.mul_add::<FUSED>(missing, state[term]);
                        deposited = (-loss).mul_add::<FUSED>(missing, deposited);
                    }
                    if ahead[next].step as usize == step + n {
                        let energy = &mut energies[ahead[next].row as usize];
                        *energy = weight.mul_add::<FUSED>(deposited, *energy);
                        next += 1;
                    }
                }
                step += count;
                if count < LANES {
                    break;
                }
            }
            let carried = state.iter().fold(F32x16::ZERO, |sum, state| sum + *state);
            if next == ahead.len() || -(-carried).least() <= walk.least {
                continue;
            }
            let between = step..ahead[next].step as usize;
            if !between.is_empty() {
                let left = transmitted(
                    walk.steps[between]
                        .iter()
                        .map(|step| density[(base + step.offset) as usize] * step.length_cm)
                        .sum(),
                );
                for (state, left) in state.iter_mut().zip(left) {
                    *state = state.mul_add::<FUSED>(F32x16::splat(left), F32x16::splat(FLOOR));
                }
            }
            for (hit, decay) in ahead[next..].iter().zip(&decays[next..]) {
                let mut lost = F32x16::ZERO;
                for (term, state) in state.iter_mut().enumerate() {
                    lost = F32x16::splat(decay.lost[term]).mul_add::<FUSED>(*state, lost);
                    *state = state
                        .mul_add::<FUSED>(F32x16::splat(decay.kept[term]), F32x16::splat(FLOOR));
                }
                let energy = &mut energies[hit.row as usize];
                *energy = weight.mul_add::<FUSED>(lost, *energy);
            }
        }
    }
}
