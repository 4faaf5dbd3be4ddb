//! All directions of a beam: shared out in fixed chunks, summed in a fixed order.

use super::block::Block;
use super::near::add_near;
use super::transport::{Lines, transport};
use crate::engine::cccs::beam::Superposition;
use crate::engine::cccs::directions::start;
use crate::engine::cccs::lattice::{Lattice, dominant_axis};
use crate::engine::cccs::near::{Stencil, Tilts};
use crate::engine::{Stopped, Watch};
use crate::physics::kernel_beam::CHANNELS;
use glam::{DMat3, DVec3};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Chunks of directions (at most, for each layout): the sum over directions does not depend on the number of threads
/// because it is cut the same way for any.
const CHUNKS: usize = 16;

/// What is transported: voxels, what they release, and from where the radiation comes.
pub struct Released<'a> {
    pub lattice: Lattice,
    /// Attenuation-equivalent density of water, g/cm3, x fastest.
    pub density: &'a [f32],
    /// Gy per channel (energy per mass of water), tilt normalisation included.
    pub source: &'a [Vec<f32>; CHANNELS],
    /// The radiation source in the lattice's frame, mm.
    pub source_mm: DVec3,
    /// Directions' frame -> the lattice's frame.
    pub lattice_from_kernel: DMat3,
    /// Rays of the field against its axis.
    pub tilts: Tilts,
}

/// Energy deposited per volume of water of unit density (Gy g/cm3), x fastest.
///
/// # Errors
/// [`Stopped`] when cancelled.
pub fn superpose(released: &Released<'_>, beam: &Superposition, watch: &Watch) -> Result<Vec<f32>, Stopped> {
    let mut sum = vec![0.0; released.lattice.voxels()];
    // Transport works on releases of order 1, whatever their unit.
    let most = released.source.iter().flatten().fold(0.0_f32, |m, s| m.max(s.abs()));
    if most == 0.0 {
        return Ok(sum);
    }
    let done = AtomicUsize::new(0);
    // One layout for each dominant axis: a slab across it is a plane of contiguous memory, which lines pass one by one.
    for order in [[0, 1, 2], [0, 2, 1], [1, 2, 0]] {
        let Superposition { table, directions, .. } = beam;
        let mine: Vec<(usize, DVec3, f64)> = directions
            .iter()
            .enumerate()
            .map(|(n, d)| (n, released.lattice_from_kernel * d.axis, d.solid_angle_sr))
            .filter(|(_, axis, _)| dominant_axis(&released.lattice, *axis) == order[2])
            .collect();
        if mine.is_empty() {
            continue;
        }
        let block = Block::new(
            &released.lattice,
            order,
            released.density,
            released.source,
            1.0 / most,
            released.source_mm,
        );
        watch.check()?;
        let mut parts: Vec<Vec<f32>> = mine
            .par_chunks(mine.len().div_ceil(CHUNKS))
            .map(|chunk| {
                let mut deposit = vec![0.0; block.padded_len()];
                for (n, axis, solid_angle) in chunk {
                    let direction = DVec3::from(order.map(|a| axis[a]));
                    let lines = Lines { direction, start: start(*n), turn: *n as i32, weight: *solid_angle };
                    transport(&block, table, &lines, &mut deposit, watch)?;
                    let finished = done.fetch_add(1, Ordering::Relaxed) + 1;
                    watch.report(finished as f32 / directions.len() as f32);
                }
                Ok(deposit)
            })
            .collect::<Result<_, Stopped>>()?;
        if let (true, Some(part)) = (beam.near, parts.first_mut()) {
            let Released { lattice, lattice_from_kernel, tilts, .. } = *released;
            let stencil = Stencil::new(&lattice, order, beam, lattice_from_kernel, tilts);
            add_near(&block, &stencil, lattice_from_kernel, part, watch)?;
        }
        for part in &parts {
            watch.check()?;
            block.add_onto(&released.lattice, part, &mut sum);
        }
    }
    sum.iter_mut().for_each(|s| *s *= most);
    Ok(sum)
}
