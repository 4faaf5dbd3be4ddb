//! All directions of a beam on a card (`kernels/layout.cu`, `kernels/cccs.cu`).

use super::correction::add_correction;
use crate::cccs::angles::{ANGLES, AngleTable, PRIMARY, SCATTER, TiltNorm};
use crate::cccs::beam::{LOW_TERMA_FRACTION, Superposition};
use crate::cccs::correction::Tilts;
use crate::cccs::directions::{Direction, start};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, ReadyEvent, Shape, int};
use crate::dose::lattice::{Lattice, ORDERS, dominant_axis};
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3};
use physics::kernel_beam::CHANNELS;
use physics::kernel_fit::SLOWEST_PER_CM;
use std::f64::consts::LOG2_E;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// Lines of a warp beside each other,
// Warps of 8 by 4 lines are 1 % slower.
pub(super) const WARP_COLUMNS: usize = 16;
/// and one above the other.
pub(super) const WARP_ROWS: usize = 2;
/// Warps one above the other in a block.
// Without warps one above the other the kernels take 3 to 5 % longer.
pub(super) const STACKED: usize = 4;
/// Cells to a thread of `layout_terma_mask`.
pub(super) const CELLS: usize = 4;
/// Threads of a block.
const THREADS: u32 = 128;

/// TERMA of a voxel by channel, Gy.
pub type Terma = [f32; CHANNELS];

/// `struct SlabLayout` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct SlabLayout {
    columns: i32,
    across: i32,
    slabs: i32,
    pub pitch: i32,
    pub plane: i32,
    pub first_cell: i32,
    rows_of_cells: u32,
    spacing_mm: [f32; 3],
    from_mm: [f32; 3],
}

impl SlabLayout {
    /// Cells of a slab, and slabs.
    pub fn extent(&self) -> [usize; 2] {
        [self.plane, self.slabs].map(|n| n.unsigned_abs() as usize)
    }
}

/// `struct LineDirection` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct LineDirection {
    pub per_slab: [f64; 2],
    start: [f64; 2],
    axis: [f32; 3],
    weight: f32,
    slab_path_cm: f32,
    backward: i32,
    pub layout: i32,
    none: i32,
}

/// `struct SlabTraversal` of `kernels/cccs.cuh`, which only the card writes and reads.
pub type SlabTraversal = [i32; 12];

/// `struct Coefficients` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Coefficients {
    primary_sum: [f32; 2],
    primary: [[f32; 2]; PRIMARY.end - PRIMARY.start],
    scatter_sum: [f32; 2],
    scatter: [[f32; 2]; SCATTER.end - SCATTER.start],
    none: [f32; 2],
}

/// `struct CellTerma` of `kernels/cccs.cuh`: primary, scatter, and the share of the deep channel in each.
pub type CellTerma = [f32; 4];

/// `struct Rays` of `kernels/layout.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Rays {
    kernel_from_block: [[f32; 3]; 3],
    tilt_reach: f32,
}

/// Beam and voxels in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    pub lattice: Lattice,
    /// The radiation source in the lattice's frame, mm.
    pub source_mm: DVec3,
    /// Directions' frame -> the lattice's frame.
    pub lattice_from_kernel: DMat3,
    /// Rays of the field against its axis.
    pub tilts: Tilts,
}

impl Placement {
    /// Rows of the rotation from a layout's axes to the directions' frame.
    pub fn kernel_from_block(&self, order: [usize; 3]) -> [[f32; 3]; 3] {
        let kernel_from_lattice = self.lattice_from_kernel.transpose();
        [0, 1, 2].map(|axis| order.map(|a| kernel_from_lattice.row(axis)[a] as f32))
    }
}

/// Density and TERMA of a field on the card, x fastest.
pub struct TransportInput<'a> {
    pub placement: Placement,
    /// Attenuation-equivalent density of water, g/cm3.
    pub density: &'a Buffer<f32>,
    pub terma: &'a Buffer<Terma>,
    /// Factors of low TERMA by tilt; `None` where all TERMA is transported along the same directions.
    pub low_terma_norm: Option<TiltNorm>,
    /// Voxels below this density need the exact loss; zero where there are none.
    pub low_density_g_cm3: f32,
}

/// Cells laid out for each dominant axis, one layout after the other.
pub struct Layouts {
    pub of_axis: [SlabLayout; 3],
    cells: usize,
}

impl Layouts {
    pub fn new(placement: &Placement) -> Self {
        let Lattice { size, spacing_mm } = placement.lattice;
        let mut cells = 0;
        let of_axis = ORDERS.map(|order| {
            let [columns, across, depth] = order.map(|a| size[a]);
            let pitch = (columns + 1).next_multiple_of(WARP_COLUMNS);
            let plane = pitch * (across + 1).next_multiple_of(WARP_ROWS * STACKED);
            let layout = SlabLayout {
                columns: int(columns),
                across: int(across),
                slabs: int(depth),
                pitch: int(pitch),
                plane: int(plane),
                first_cell: int(cells),
                rows_of_cells: (1_u64 << 32).div_ceil(pitch as u64) as u32,
                spacing_mm: order.map(|a| spacing_mm[a] as f32),
                from_mm: order.map(|a| placement.source_mm[a] as f32),
            };
            cells += plane * depth;
            layout
        });
        Self { of_axis, cells }
    }

    /// Greatest number of slabs, and of cells in a slab.
    fn most(&self) -> [usize; 2] {
        self.of_axis
            .iter()
            .map(SlabLayout::extent)
            .fold([0, 0], |[slabs, cells], [plane, depth]| {
                [slabs.max(depth), cells.max(plane)]
            })
    }
}

/// The lines of direction `n`, its unit vector given in the lattice's frame.
fn line_direction(n: usize, axis: DVec3, solid_angle_sr: f64, lattice: &Lattice) -> LineDirection {
    let layout = dominant_axis(lattice, axis);
    let order = ORDERS[layout];
    let speed = order.map(|a| axis[a] / lattice.spacing_mm[a]);
    let slab_path_cm = 0.1 / speed[2].abs();
    LineDirection {
        per_slab: [speed[0], speed[1]].map(|s| s / speed[2].abs()),
        start: start(n),
        axis: order.map(|a| axis[a] as f32),
        weight: (solid_angle_sr / slab_path_cm) as f32,
        slab_path_cm: slab_path_cm as f32,
        backward: i32::from(speed[2] < 0.0),
        layout: int(layout),
        none: 0,
    }
}

/// The lines of all directions, sorted by layout.
pub fn line_directions(placement: &Placement, directions: &[Direction]) -> Vec<LineDirection> {
    let Placement {
        lattice,
        lattice_from_kernel,
        ..
    } = placement;
    let numbered = directions.iter().enumerate();
    let mut directions: Vec<LineDirection> = numbered
        .map(|(n, d)| line_direction(n, *lattice_from_kernel * d.axis, d.solid_angle_sr, lattice))
        .collect();
    directions.sort_by_key(|d| d.layout);
    directions
}

/// Rows of the card's table to a step of the CPU's: low TERMA takes the nearest, half a row off at most.
// High TERMA is interpolated between rows: the nearest row is 0.19 % off in single voxels and saves 3 to 6 % of the time.
pub const ROWS_OF_STEP: usize = 8;

/// A table of angles as the card reads it.
pub fn coefficients(table: &AngleTable) -> Vec<Coefficients> {
    // Lengths are exponents of 2 of the slowest term.
    let per_exponent = (-1.0 / (SLOWEST_PER_CM * LOG2_E)) as f32;
    (0..=(ANGLES - 1) * ROWS_OF_STEP)
        .map(|n| {
            let c = table.at(n as f32 / ROWS_OF_STEP as f32);
            let [shallow, deep, shallow_scatter, deep_scatter] = c.sums.map(|s| s * per_exponent);
            Coefficients {
                primary_sum: [shallow, deep],
                primary: c.primary,
                scatter_sum: [shallow_scatter, deep_scatter],
                scatter: c.scatter,
                none: [0.0; 2],
            }
        })
        .collect()
}

/// High or low TERMA, laid out.
pub struct TermaPart {
    pub density: Buffer<f32>,
    pub terma: Buffer<CellTerma>,
    /// Cells with TERMA, a bit each.
    pub terma_mask: Buffer<u32>,
    /// Cells at which a warp begins whose lines meet TERMA, a bit each.
    windows: Buffer<u32>,
}

impl TermaPart {
    fn new(card: &mut CardLock<'_>, layouts: &Layouts) -> Result<Self, CudaError> {
        // One cell for each voxel of low TERMA, too: one for two voxels is 0.25 to 0.3 % off at jaw edges and surfaces, and as fast.
        Ok(Self {
            density: card.alloc(layouts.cells)?,
            terma: card.alloc(layouts.cells)?,
            terma_mask: card.alloc(layouts.cells / LANES)?,
            windows: card.alloc(layouts.cells / LANES)?,
        })
    }
}

/// Voxels laid out for transport, and their deposits.
pub struct DeviceLayout {
    pub layouts: Layouts,
    on_card: Buffer<SlabLayout>,
    pub high_terma: TermaPart,
    low_terma: Option<TermaPart>,
    pub deposit: Buffer<i32>,
    pub scale: Buffer<i32>,
    /// Whether any voxel has low density.
    low_density: bool,
}

impl DeviceLayout {
    pub fn new(card: &mut CardLock<'_>, input: &TransportInput<'_>) -> Result<Self, CudaError> {
        let layouts = Layouts::new(&input.placement);
        card.fits_int("the voxels of a dose", layouts.cells)?;
        let low_terma = input.low_terma_norm.as_ref();
        let cells = Self {
            on_card: card.upload(&layouts.of_axis)?,
            high_terma: TermaPart::new(card, &layouts)?,
            low_terma: low_terma
                .map(|_| TermaPart::new(card, &layouts))
                .transpose()?,
            deposit: card.alloc(layouts.cells)?,
            scale: card.alloc(2)?,
            low_density: input.low_density_g_cm3 > 0.0,
            layouts,
        };
        card.fill(&cells.deposit, 0)?;
        card.fill(&cells.scale, 0)?;
        let args = [
            Arg::int(input.placement.lattice.voxels()),
            Arg::from(input.density),
            Arg::from(input.terma),
            Arg::from(&cells.scale),
        ];
        const SCALE_BLOCKS: u32 = 1024;
        let shape = Shape {
            blocks: [SCALE_BLOCKS, 1, 1],
            threads: [256, 1, 1],
        };
        card.launch("layout", "layout_scale", shape, &args)?;
        cells.lay_out(card, input)?;
        Ok(cells)
    }

    fn lay_out(
        &self,
        card: &mut CardLock<'_>,
        input: &TransportInput<'_>,
    ) -> Result<(), CudaError> {
        let unscaled = (&[[1.0; CHANNELS]][..], 1.0);
        let (factors, reach) = input
            .low_terma_norm
            .as_ref()
            .map_or(unscaled, TiltNorm::factors);
        let factors = card.upload(factors)?;
        let split = usize::from(self.low_terma.is_some());
        // Without a split the kernel does not write low TERMA.
        let [high_terma, low_terma] = [
            &self.high_terma,
            self.low_terma.as_ref().unwrap_or(&self.high_terma),
        ];
        let [.., along_z] = ORDERS;
        let kernel_from_block = input.placement.kernel_from_block(along_z);
        let rays = Rays {
            kernel_from_block,
            tilt_reach: reach as f32,
        };
        let mut args: Vec<Arg> = self.layouts.of_axis.iter().map(Arg::value).collect();
        args.extend([
            Arg::value(&rays),
            Arg::int(split),
            Arg::value(&LOW_TERMA_FRACTION),
            Arg::value(&input.low_density_g_cm3),
            Arg::from(&factors),
            Arg::from(input.density),
            Arg::from(input.terma),
            Arg::from(&self.scale),
        ]);
        for part in [high_terma, low_terma] {
            args.extend([Arg::from(&part.density), Arg::from(&part.terma)]);
        }
        let size = input.placement.lattice.size;
        card.launch("layout", "layout_fill", tiles(size), &args)?;
        for part in [Some(&self.high_terma), self.low_terma.as_ref()]
            .into_iter()
            .flatten()
        {
            for layout in &self.layouts.of_axis {
                let args = [
                    Arg::value(layout),
                    Arg::value(&input.low_density_g_cm3),
                    Arg::from(&part.terma),
                    Arg::from(&part.density),
                    Arg::from(&part.terma_mask),
                ];
                let [plane, slabs] = layout.extent();
                let shape = |at_a_time: usize| {
                    Shape::covering([plane / at_a_time, slabs, 1], [THREADS, 1, 1])
                };
                card.launch("layout", "layout_terma_mask", shape(CELLS), &args)?;
                let args = [
                    Arg::value(layout),
                    Arg::from(&part.terma_mask),
                    Arg::from(&part.windows),
                ];
                card.launch("layout", "layout_windows", shape(LANES), &args)?;
            }
        }
        Ok(())
    }

    fn transport(
        &self,
        card: &mut CardLock<'_>,
        part: &TermaPart,
        low_terma: bool,
        directions: &[LineDirection],
        table: &Buffer<Coefficients>,
    ) -> Result<(), CudaError> {
        let [most_slabs, most_cells] = self.layouts.most();
        let traversals = directions.len() * most_slabs;
        card.fits_int("the traversals of a dose", traversals)?;
        let directions = card.upload(directions)?;
        let slabs = card.alloc::<SlabTraversal>(traversals)?;
        let count = directions.count();
        let args = [
            Arg::int(count),
            Arg::int(most_slabs),
            Arg::int(usize::from(low_terma)),
            Arg::from(&self.on_card),
            Arg::from(&directions),
            Arg::from(&slabs),
        ];
        card.launch(
            "layout",
            "layout_traversals",
            Shape::covering([traversals, 1, 1], [THREADS, 1, 1]),
            &args,
        )?;
        let args = [
            Arg::from(&self.on_card),
            Arg::int(most_slabs),
            Arg::from(&directions),
            Arg::from(&slabs),
            Arg::from(&part.windows),
            Arg::from(table),
            Arg::from(&part.density),
            Arg::from(&part.terma),
            Arg::from(&self.scale),
            Arg::from(&self.deposit),
        ];
        let shape = Shape::covering([most_cells, count, 1], [THREADS, 1, 1]);
        let kernel = match (low_terma, self.low_density) {
            (false, false) => "cccs_high_terma",
            (true, false) => "cccs_low_terma",
            (false, true) => "cccs_high_terma_low_density",
            (true, true) => "cccs_low_terma_low_density",
        };
        card.launch("cccs", kernel, shape, &args)
    }

    fn gather(
        &self,
        card: &mut CardLock<'_>,
        size: [usize; 3],
        factor: f32,
        energy: &Buffer<f32>,
    ) -> Result<(), CudaError> {
        let mut args: Vec<Arg> = self.layouts.of_axis.iter().map(Arg::value).collect();
        args.extend([
            Arg::value(&factor),
            Arg::from(&self.deposit),
            Arg::from(&self.scale),
            Arg::from(energy),
        ]);
        card.launch("layout", "layout_gather", tiles(size), &args)
    }
}

/// Blocks of 32 x 8 threads that each take 32 x 32 voxels of a plane across z.
fn tiles(size: [usize; 3]) -> Shape {
    let tile = LANES as u32;
    Shape {
        threads: [tile, 8, 1],
        ..Shape::covering(size, [tile, tile, 1])
    }
}

/// Queues all directions: adds `factor` times the energy deposited per volume of water of unit density (Gy g/cm3) onto
/// `energy`, x fastest. Equal runs have equal bits. The event stands before the last kernel, a tenth of a ms before the end.
pub fn superpose(
    card: &mut CardLock<'_>,
    input: &TransportInput<'_>,
    table: &Buffer<Coefficients>,
    beam: &Superposition,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<ReadyEvent, CudaError> {
    let placement = &input.placement;
    let cells = DeviceLayout::new(card, input)?;
    if let Some(low_terma) = &cells.low_terma {
        cells.transport(
            card,
            low_terma,
            true,
            &line_directions(placement, &beam.low_terma_directions),
            table,
        )?;
    }
    let directions = line_directions(placement, &beam.directions);
    cells.transport(card, &cells.high_terma, false, &directions, table)?;
    let lines = BeamLines {
        beam,
        directions: &directions,
        table,
    };
    finish(card, &cells, placement, &lines, factor, energy)
}

/// Lines of a superposition along its directions, with the table of angles.
pub struct BeamLines<'a> {
    pub beam: &'a Superposition,
    pub directions: &'a [LineDirection],
    pub table: &'a Buffer<Coefficients>,
}

/// Queues what follows the transport: the local correction, and the sum of the deposits of all layouts.
pub fn finish(
    card: &mut CardLock<'_>,
    cells: &DeviceLayout,
    placement: &Placement,
    lines: &BeamLines<'_>,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<ReadyEvent, CudaError> {
    if lines.beam.corrected {
        add_correction(card, placement, cells, lines)?;
    }
    let ready = card.ready_event()?;
    cells.gather(card, placement.lattice.size, factor, energy)?;
    Ok(ready)
}
