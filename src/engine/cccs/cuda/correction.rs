//! Local correction of the lattice's discretisation, on a card (`kernels/correction.cu`).

use super::superpose::{
    BeamLines, Coefficients, DeviceLayout, LANES, LineDirection, Placement, SlabLayout,
};
use crate::cccs::correction::{
    Ball, DENSITIES, Offset, PATH, PLACES, POWERS, Tilts, powers_of_density,
};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Shape};
use crate::dose::lattice::ORDERS;
use bytemuck::{Pod, Zeroable};
use std::sync::LazyLock;

/// `CORRECTION_OFFSETS` of `kernels/correction.cu`: offsets within reach.
pub(super) const OFFSETS: usize = 251;

/// `struct Correction` of `kernels/correction.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Correction {
    kernel_from_block: [[f32; 3]; 3],
    tilt_reach: f32,
    tilt_count: i32,
    primary_mix: [f32; 2],
    densities: [f32; POWERS],
    powers_of_shares: [[f32; POWERS]; POWERS],
    first_direction: i32,
    directions: i32,
}

/// `struct CorrectionOffset` of `kernels/correction.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct CorrectionOffset {
    from: [i32; 3],
    steps: i32,
    path: [i32; PATH],
}

/// `struct CorrectionList` of `kernels/correction.cu`, which only the card writes and reads: where each number of steps ends, and eight
/// numbers to an offset.
pub type CorrectionList = [[i32; 4]; 1 + 2 * OFFSETS];

impl CorrectionOffset {
    /// `step` is the index increment of one voxel along each axis of the block.
    fn new(offset: &Offset, step: [i32; 3]) -> Self {
        Self {
            from: offset.to.map(|o| -o),
            steps: offset.path.iter().filter(|(_, part)| *part > 0.0).count() as i32 - 1,
            path: offset
                .path
                .map(|(voxel, _)| (0..3).map(|a| (voxel[a] - offset.to[a]) * step[a]).sum()),
        }
    }
}

static BALL: LazyLock<Ball> = LazyLock::new(Ball::new);

/// Queues the stencils of every layout and adds them to the deposits. `directions` are sorted by layout.
pub fn add_correction(
    card: &mut CardLock<'_>,
    placement: &Placement,
    cells: &DeviceLayout,
    lines: &BeamLines<'_>,
) -> Result<(), CudaError> {
    let layouts = &cells.layouts.of_axis;
    let steps = [0, 1, 2].map(|layout| [1, layouts[layout].pitch, layouts[layout].plane]);
    for stencil in stencils(card, placement, layouts, lines, steps)? {
        stencil.add(card, cells)?;
    }
    Ok(())
}

/// Queues the stencils of every layout that has directions, which are sorted by layout. `steps` are the index increments of one voxel
/// along each axis of a layout, layout by layout.
pub fn stencils(
    card: &mut CardLock<'_>,
    placement: &Placement,
    layouts: &[SlabLayout; 3],
    lines: &BeamLines<'_>,
    steps: [[i32; 3]; 3],
) -> Result<Vec<Stencil>, CudaError> {
    let BeamLines {
        beam,
        directions,
        table,
    } = *lines;
    let numbers: Vec<i16> = BALL
        .number
        .iter()
        .map(|n| n.map_or(-1, |n| n as i16))
        .collect();
    let lines = Lines {
        directions: card.upload(directions)?,
        numbers: card.upload(&numbers)?,
        table,
    };
    let mut stencils = Vec::new();
    for (n, (layout, order)) in layouts.iter().zip(ORDERS).enumerate() {
        let first = directions.partition_point(|d| (d.layout as usize) < n);
        let count = directions.partition_point(|d| d.layout as usize <= n) - first;
        let Tilts {
            reach,
            count: tilt_count,
        } = placement.tilts;
        let correction = Correction {
            kernel_from_block: placement.kernel_from_block(order),
            tilt_reach: reach as f32,
            tilt_count: tilt_count as i32,
            primary_mix: beam.primary_mix.map(|m| m as f32),
            densities: DENSITIES.map(|d| d as f32),
            powers_of_shares: powers_of_density().map(|row| row.map(|m| m as f32)),
            first_direction: first as i32,
            directions: count as i32,
        };
        if count > 0 {
            stencils.push(make(card, n, layout, correction, &lines, steps[n])?);
        }
    }
    Ok(stencils)
}

/// Blocks of `correction_add`: more than any card runs at once.
const ADD_BLOCKS: u32 = 4096;

/// Directions, the numbers of a cube's offsets, and kernel coefficients by angle.
struct Lines<'a> {
    directions: Buffer<LineDirection>,
    numbers: Buffer<i16>,
    table: &'a Buffer<Coefficients>,
}

/// The stencils of a layout.
pub struct Stencil {
    /// Number of the layout.
    pub number: usize,
    pub layout: SlabLayout,
    pub correction: Correction,
    /// Powers of the density, `[tilt][slab][offset]`.
    pub table: Buffer<[f32; 4]>,
    /// The offsets that receive a share.
    pub list: Buffer<CorrectionList>,
}

fn make(
    card: &mut CardLock<'_>,
    number: usize,
    layout: &SlabLayout,
    correction: Correction,
    lines: &Lines<'_>,
    step: [i32; 3],
) -> Result<Stencil, CudaError> {
    let tilts = (correction.tilt_count * correction.tilt_count) as usize;
    let [_, slabs] = layout.extent();
    let rows = tilts * slabs;
    card.fits_int("the stencils of a dose", rows * OFFSETS * POWERS)?;
    let mean = card.alloc::<i32>(tilts * OFFSETS * POWERS)?;
    card.fill(&mean, 0)?;
    let missed = card.alloc::<i32>(rows * OFFSETS * POWERS)?;
    let args = [
        Arg::value(layout),
        Arg::value(&correction),
        Arg::from(&lines.directions),
        Arg::from(lines.table),
        Arg::from(&lines.numbers),
        Arg::from(&mean),
        Arg::from(&missed),
    ];
    let blocks = |x: usize| [x as u32, tilts as u32, 1];
    let shape = Shape {
        blocks: blocks(PLACES * PLACES + slabs),
        threads: [128, 1, 1],
    };
    card.launch("correction", "correction_shares", shape, &args)?;
    let (table, list) = (card.alloc(rows * OFFSETS)?, card.alloc(1)?);
    let used = card.alloc::<i32>(OFFSETS)?;
    card.fill(&used, 0)?;
    let args = [
        Arg::int(slabs),
        Arg::value(&correction),
        Arg::from(&mean),
        Arg::from(&missed),
        Arg::from(&table),
        Arg::from(&used),
    ];
    card.launch(
        "correction",
        "correction_powers",
        Shape {
            blocks: blocks(slabs),
            threads: [256, 1, 1],
        },
        &args,
    )?;
    let offsets: Vec<CorrectionOffset> = BALL
        .offsets
        .iter()
        .map(|to| CorrectionOffset::new(&Offset::new(*to), step))
        .collect();
    let offsets = card.upload(&offsets)?;
    let args = [Arg::from(&offsets), Arg::from(&used), Arg::from(&list)];
    card.launch(
        "correction",
        "correction_list",
        Shape {
            blocks: [1, 1, 1],
            threads: [256, 1, 1],
        },
        &args,
    )?;
    Ok(Stencil {
        number,
        layout: *layout,
        correction,
        table,
        list,
    })
}

impl Stencil {
    fn add(&self, card: &mut CardLock<'_>, cells: &DeviceLayout) -> Result<(), CudaError> {
        let Self {
            layout, correction, ..
        } = self;
        let [plane, slabs] = layout.extent();
        let warps = plane / LANES;
        let (count, reached) = (card.alloc::<i32>(1)?, card.alloc::<i32>(warps * slabs)?);
        card.fill(&count, 0)?;
        let args = [
            Arg::value(layout),
            Arg::from(&cells.high_terma.terma_mask),
            Arg::from(&count),
            Arg::from(&reached),
        ];
        card.launch(
            "correction",
            "correction_reach",
            Shape::covering([warps, slabs, 1], [128, 1, 1]),
            &args,
        )?;
        let args = [
            Arg::value(layout),
            Arg::value(correction),
            Arg::from(&self.list),
            Arg::from(&self.table),
            Arg::from(&count),
            Arg::from(&reached),
            Arg::from(&cells.high_terma.density),
            Arg::from(&cells.high_terma.terma),
            Arg::from(&cells.scale),
            Arg::from(&cells.deposit),
        ];
        card.launch(
            "correction",
            "correction_add",
            Shape {
                blocks: [ADD_BLOCKS, 1, 1],
                threads: [128, 1, 1],
            },
            &args,
        )
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
