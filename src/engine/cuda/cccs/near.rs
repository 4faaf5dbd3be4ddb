//! What thin lines misplace next to where energy is released, on a card (`kernels/near.cu`).

use super::superpose::{Coefficients, Heading, LANES, Laid, March, ORDERS, Placement};
use crate::engine::cuda::{Arg, Buffer, CardLock, CudaError, Shape};
use crate::engine::jobs::cccs::beam::Superposition;
use crate::engine::jobs::cccs::near::{
    Ball, DENSITIES, Offset, PLACES, POWERS, Tilts, WAY, powers_of_density,
};
use bytemuck::{Pod, Zeroable};
use std::sync::LazyLock;

/// `NEAR_OFFSETS` of `kernels/near.cu`: offsets within reach.
pub(super) const OFFSETS: usize = 251;

/// `struct Near` of `kernels/near.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Near {
    kernel_from_block: [[f32; 3]; 3],
    tilt_reach: f32,
    tilt_count: i32,
    primary_mix: [f32; 2],
    densities: [f32; POWERS],
    powers_of_shares: [[f32; POWERS]; POWERS],
    first_heading: i32,
    headings: i32,
}

/// `struct NearOffset` of `kernels/near.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct NearOffset {
    from: [i32; 3],
    steps: i32,
    way: [i32; WAY],
}

/// `struct NearList` of `kernels/near.cu`, which only the card writes and reads: where the offsets of so many steps end, and eight
/// numbers to an offset.
type NearList = [[i32; 4]; 1 + 2 * OFFSETS];

impl NearOffset {
    /// `step` is what one voxel along each axis of the block adds to an index.
    fn new(offset: &Offset, step: [i32; 3]) -> Self {
        let index = |at: [i32; 3]| (0..3).map(|a| (at[a] - offset.to[a]) * step[a]).sum();
        Self {
            from: offset.to.map(|o| -o),
            steps: offset.way.iter().filter(|(_, part)| *part > 0.0).count() as i32 - 1,
            way: offset.way.map(|(at, _)| index(at)),
        }
    }
}

static BALL: LazyLock<Ball> = LazyLock::new(Ball::new);

/// Queues the stencils of every layout: first they are made, then added. `headings` are the lines, those of a layout
/// neighbours.
pub fn add_near(
    session: &mut CardLock<'_>,
    placement: &Placement,
    laid: &Laid,
    beam: &Superposition,
    headings: &[Heading],
    table: &Buffer<Coefficients>,
) -> Result<(), CudaError> {
    let numbers: Vec<i16> = BALL.number.iter().map(|n| n.map_or(-1, |n| n as i16)).collect();
    let on_card = Lines { headings: session.upload(headings)?, numbers: session.upload(&numbers)?, table };
    for (n, (march, order)) in laid.layouts.marches.iter().zip(ORDERS).enumerate() {
        let first = headings.partition_point(|h| (h.march as usize) < n);
        let count = headings.partition_point(|h| h.march as usize <= n) - first;
        let Tilts { reach, count: tilt_count } = placement.tilts;
        let near = Near {
            kernel_from_block: placement.kernel_from_block(order),
            tilt_reach: reach as f32,
            tilt_count: tilt_count as i32,
            primary_mix: beam.primary_mix.map(|m| m as f32),
            densities: DENSITIES.map(|d| d as f32),
            powers_of_shares: powers_of_density().map(|row| row.map(|m| m as f32)),
            first_heading: first as i32,
            headings: count as i32,
        };
        if count > 0 {
            let stencil = make(session, march, &near, &on_card)?;
            stencil.add(session, march, &near, laid)?;
        }
    }
    Ok(())
}

/// Blocks of `near_add`, which take what there is in turn: more than any card has room for.
const ADD_BLOCKS: u32 = 4096;

/// The lines, the numbers of the offsets of a cube, and what is sent by angle.
struct Lines<'a> {
    headings: Buffer<Heading>,
    numbers: Buffer<i16>,
    table: &'a Buffer<Coefficients>,
}

/// The stencils of a layout: powers of the density, `[tilt][slab][offset]`, and the offsets that get anything.
struct Stencil {
    table: Buffer<[f32; 4]>,
    list: Buffer<NearList>,
}

fn make(
    session: &mut CardLock<'_>,
    march: &March,
    near: &Near,
    lines: &Lines<'_>,
) -> Result<Stencil, CudaError> {
    let tilts = (near.tilt_count * near.tilt_count) as usize;
    let [_, slabs] = march.extent();
    let rows = tilts * slabs;
    session.fits_int("the stencils of a dose", rows * OFFSETS * POWERS)?;
    let mean = session.alloc::<i32>(tilts * OFFSETS * POWERS)?;
    session.fill(&mean, 0)?;
    let missed = session.alloc::<i32>(rows * OFFSETS * POWERS)?;
    let args = [
        Arg::value(march),
        Arg::value(near),
        Arg::from(&lines.headings),
        Arg::from(lines.table),
        Arg::from(&lines.numbers),
        Arg::from(&mean),
        Arg::from(&missed),
    ];
    let blocks = |x: usize| [x as u32, tilts as u32, 1];
    let shape = Shape { blocks: blocks(PLACES * PLACES + slabs), threads: [128, 1, 1] };
    session.launch("near", "near_shares", shape, &args)?;
    let stencil = Stencil { table: session.alloc(rows * OFFSETS)?, list: session.alloc(1)? };
    let used = session.alloc::<i32>(OFFSETS)?;
    session.fill(&used, 0)?;
    let args = [
        Arg::int(slabs),
        Arg::value(near),
        Arg::from(&mean),
        Arg::from(&missed),
        Arg::from(&stencil.table),
        Arg::from(&used),
    ];
    session.launch("near", "near_powers", Shape { blocks: blocks(slabs), threads: [256, 1, 1] }, &args)?;
    let step = [1, march.pitch, march.plane];
    let offset = |to: &[i32; 3]| NearOffset::new(&Offset::new(*to), step);
    let offsets: Vec<NearOffset> = BALL.offsets.iter().map(offset).collect();
    let offsets = session.upload(&offsets)?;
    let args = [Arg::from(&offsets), Arg::from(&used), Arg::from(&stencil.list)];
    session.launch("near", "near_list", Shape { blocks: [1, 1, 1], threads: [256, 1, 1] }, &args)?;
    Ok(stencil)
}

impl Stencil {
    fn add(
        &self,
        session: &mut CardLock<'_>,
        march: &March,
        near: &Near,
        laid: &Laid,
    ) -> Result<(), CudaError> {
        let [plane, slabs] = march.extent();
        let warps = plane / LANES;
        let (count, reached) = (session.alloc::<i32>(1)?, session.alloc::<i32>(warps * slabs)?);
        session.fill(&count, 0)?;
        let args =
            [Arg::value(march), Arg::from(&laid.bright.releasing), Arg::from(&count), Arg::from(&reached)];
        session.launch("near", "near_reach", Shape::covering([warps, slabs, 1], [128, 1, 1]), &args)?;
        let args = [
            Arg::value(march),
            Arg::value(near),
            Arg::from(&self.list),
            Arg::from(&self.table),
            Arg::from(&count),
            Arg::from(&reached),
            Arg::from(&laid.bright.density),
            Arg::from(&laid.bright.source),
            Arg::from(&laid.scale),
            Arg::from(&laid.deposit),
        ];
        session.launch("near", "near_add", Shape { blocks: [ADD_BLOCKS, 1, 1], threads: [128, 1, 1] }, &args)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_as_many_offsets_as_the_kernels_have_room_for() {
        assert_eq!(BALL.offsets.len(), OFFSETS);
    }
}
