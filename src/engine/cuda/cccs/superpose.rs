//! All directions of a beam on a card (`kernels/layout.cu`, `kernels/cccs.cu`).

use super::near::add_near;
use super::rays;
use crate::engine::cuda::{Arg, Buffer, CardLock, CudaError, Milestone, Shape, int};
use crate::engine::jobs::cccs::Traversal;
use crate::engine::jobs::cccs::angles::{ANGLES, AngleTable, PRIMARY, SCATTER, TiltNorm};
use crate::engine::jobs::cccs::beam::{LOW_TERMA_FRACTION, Superposition};
use crate::engine::jobs::cccs::directions::{Direction, start};
use crate::engine::jobs::cccs::lattice::{Lattice, dominant_axis};
use crate::engine::jobs::cccs::near::Tilts;
use crate::physics::kernel_beam::CHANNELS;
use crate::physics::kernel_fit::SLOWEST_PER_CM;
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3};
use std::f64::consts::LOG2_E;

/// Lanes of a warp.
pub(super) const LANES: usize = 32;
/// The lines that a warp carries, side by side,
pub(super) const WARP_COLUMNS: usize = 16;
/// and one above the other.
pub(super) const WARP_ROWS: usize = 2;
/// Warps one above the other in a block.
pub(super) const STACKED: usize = 4;
/// Cells that a thread of `layout_releasing` takes.
pub(super) const CELLS: usize = 4;
/// Threads of a block.
const THREADS: u32 = 128;

/// What leaves a voxel, by channel, Gy.
pub type Release = [f32; CHANNELS];

/// `struct March` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct March {
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

impl March {
    /// Cells of a slab, and slabs.
    pub fn extent(&self) -> [usize; 2] {
        [self.plane, self.slabs].map(|n| n.unsigned_abs() as usize)
    }
}

/// `struct Heading` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Heading {
    pub per_slab: [f64; 2],
    start: [f64; 2],
    direction: [f32; 3],
    weight: f32,
    slab_path_cm: f32,
    backward: i32,
    pub march: i32,
    none: i32,
}

/// `struct Slab` of `kernels/cccs.cuh`, which only the card writes and reads.
pub type Slab = [i32; 16];

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

/// `struct Source` of `kernels/cccs.cuh`: primary and scatter, and how much of either is deep.
pub type Source = [f32; 4];

/// `struct Rays` of `kernels/layout.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Rays {
    kernel_from_block: [[f32; 3]; 3],
    tilt_reach: f32,
}

/// Where a beam stands to the voxels.
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
    /// Rows: the axes of a layout -> those of the directions' frame.
    pub fn kernel_from_block(&self, order: [usize; 3]) -> [[f32; 3]; 3] {
        let kernel_from_lattice = self.lattice_from_kernel.transpose();
        [0, 1, 2].map(|axis| order.map(|a| kernel_from_lattice.row(axis)[a] as f32))
    }
}

/// What is transported, on the card: voxels x fastest, and what they release.
pub struct Released<'a> {
    pub placement: Placement,
    /// Attenuation-equivalent density of water, g/cm3.
    pub density: &'a Buffer<f32>,
    pub release: &'a Buffer<Release>,
    /// What the faint part of the release is multiplied by; `None` where all of it goes along the same directions.
    pub faint_norm: Option<TiltNorm>,
    /// Voxels of a density below this are carried through with care; zero where there are none.
    pub thin_g_cm3: f32,
}

/// Axes of the lattice along a row, across, and along the slabs, for lines mostly along x, y, z.
pub const ORDERS: [[usize; 3]; 3] = [[1, 2, 0], [0, 2, 1], [0, 1, 2]];

/// How the voxels lie for each dominant axis, one after the other.
pub struct Layouts {
    pub marches: [March; 3],
    cells: usize,
}

impl Layouts {
    fn new(placement: &Placement) -> Self {
        let Lattice { size, spacing_mm } = placement.lattice;
        let mut cells = 0;
        let marches = ORDERS.map(|order| {
            let [columns, across, depth] = order.map(|a| size[a]);
            let pitch = (columns + 1).next_multiple_of(WARP_COLUMNS);
            let plane = pitch * (across + 1).next_multiple_of(WARP_ROWS * STACKED);
            let march = March {
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
            march
        });
        Self { marches, cells }
    }

    /// Slabs of the layout that has most, and cells of a slab likewise.
    fn most(&self) -> [usize; 2] {
        self.marches
            .iter()
            .map(March::extent)
            .fold([0, 0], |[slabs, cells], [plane, depth]| [slabs.max(depth), cells.max(plane)])
    }
}

/// The lines of direction `n`, its unit vector given in the lattice's frame.
fn heading(n: usize, axis: DVec3, solid_angle_sr: f64, lattice: &Lattice) -> Heading {
    let march = dominant_axis(lattice, axis);
    let order = ORDERS[march];
    let speed = order.map(|a| axis[a] / lattice.spacing_mm[a]);
    let slab_path_cm = 0.1 / speed[2].abs();
    Heading {
        per_slab: [speed[0], speed[1]].map(|s| s / speed[2].abs()),
        start: start(n),
        direction: order.map(|a| axis[a] as f32),
        weight: (solid_angle_sr / slab_path_cm) as f32,
        slab_path_cm: slab_path_cm as f32,
        backward: i32::from(speed[2] < 0.0),
        march: int(march),
        none: 0,
    }
}

/// The lines of all directions; those of one layout are neighbours.
fn headings(placement: &Placement, directions: &[Direction]) -> Vec<Heading> {
    let Placement { lattice, lattice_from_kernel, .. } = placement;
    let numbered = directions.iter().enumerate();
    let mut headings: Vec<Heading> =
        numbered.map(|(n, d)| heading(n, *lattice_from_kernel * d.axis, d.solid_angle_sr, lattice)).collect();
    headings.sort_by_key(|h| h.march);
    headings
}

/// Rows of the card's table for each step of the CPU's: what goes by the nearest is off by half of one at most.
pub const ROWS_OF_STEP: usize = 8;

/// A table of angles as the card reads it.
pub fn coefficients(table: &AngleTable) -> Vec<Coefficients> {
    // Lengths come as the exponent of 2 of the slowest term.
    let per_exponent = (-1.0 / (SLOWEST_PER_CM * LOG2_E)) as f32;
    let row = |n: usize| {
        let c = table.at(n as f32 / ROWS_OF_STEP as f32);
        let [near, deep, near_scatter, deep_scatter] = c.sums.map(|s| s * per_exponent);
        Coefficients {
            primary_sum: [near, deep],
            primary: c.primary,
            scatter_sum: [near_scatter, deep_scatter],
            scatter: c.scatter,
            none: [0.0; 2],
        }
    };
    (0..=(ANGLES - 1) * ROWS_OF_STEP).map(row).collect()
}

/// One part of the release laid out: what lies above a small part of the greatest, or the rest.
pub struct Part {
    pub density: Buffer<f32>,
    pub source: Buffer<Source>,
    /// Which cells release, a bit for each.
    pub releasing: Buffer<u32>,
    /// Where lines of a warp begin that meet one that does, a bit for each cell.
    windows: Buffer<u32>,
}

impl Part {
    fn new(session: &mut CardLock<'_>, layouts: &Layouts) -> Result<Self, CudaError> {
        Ok(Self {
            density: session.alloc(layouts.cells)?,
            source: session.alloc(layouts.cells)?,
            releasing: session.alloc(layouts.cells / LANES)?,
            windows: session.alloc(layouts.cells / LANES)?,
        })
    }
}

/// Voxels laid out, and what the lines leave in them.
pub struct Laid {
    pub layouts: Layouts,
    marches: Buffer<March>,
    pub bright: Part,
    faint: Option<Part>,
    pub deposit: Buffer<i32>,
    pub scale: Buffer<i32>,
    /// Whether any voxel is thin.
    thin: bool,
}

impl Laid {
    fn new(session: &mut CardLock<'_>, released: &Released<'_>) -> Result<Self, CudaError> {
        let layouts = Layouts::new(&released.placement);
        session.fits_int("the voxels of a dose", layouts.cells)?;
        let faint = released.faint_norm.as_ref();
        let laid = Self {
            marches: session.upload(&layouts.marches)?,
            bright: Part::new(session, &layouts)?,
            faint: faint.map(|_| Part::new(session, &layouts)).transpose()?,
            deposit: session.alloc(layouts.cells)?,
            scale: session.alloc(2)?,
            thin: released.thin_g_cm3 > 0.0,
            layouts,
        };
        session.fill(&laid.deposit, 0)?;
        session.fill(&laid.scale, 0)?;
        let args = [
            Arg::int(released.placement.lattice.voxels()),
            Arg::from(released.density),
            Arg::from(released.release),
            Arg::from(&laid.scale),
        ];
        const SCALE_BLOCKS: u32 = 1024;
        let shape = Shape { blocks: [SCALE_BLOCKS, 1, 1], threads: [256, 1, 1] };
        session.launch("layout", "layout_scale", shape, &args)?;
        laid.lay_out(session, released)?;
        Ok(laid)
    }

    fn lay_out(&self, session: &mut CardLock<'_>, released: &Released<'_>) -> Result<(), CudaError> {
        let whole = (&[[1.0; CHANNELS]][..], 1.0);
        let (factors, reach) = released.faint_norm.as_ref().map_or(whole, TiltNorm::factors);
        let factors = session.upload(factors)?;
        let split = usize::from(self.faint.is_some());
        // What is not written to does not matter.
        let [bright, faint] = [&self.bright, self.faint.as_ref().unwrap_or(&self.bright)];
        let [.., along_z] = ORDERS;
        let kernel_from_block = released.placement.kernel_from_block(along_z);
        let rays = Rays { kernel_from_block, tilt_reach: reach as f32 };
        let mut args: Vec<Arg> = self.layouts.marches.iter().map(Arg::value).collect();
        args.extend([
            Arg::value(&rays),
            Arg::int(split),
            Arg::value(&LOW_TERMA_FRACTION),
            Arg::value(&released.thin_g_cm3),
            Arg::from(&factors),
            Arg::from(released.density),
            Arg::from(released.release),
            Arg::from(&self.scale),
        ]);
        for part in [bright, faint] {
            args.extend([Arg::from(&part.density), Arg::from(&part.source)]);
        }
        let size = released.placement.lattice.size;
        session.launch("layout", "layout_fill", tiles(size), &args)?;
        for part in [Some(&self.bright), self.faint.as_ref()].into_iter().flatten() {
            for march in &self.layouts.marches {
                let args = [
                    Arg::value(march),
                    Arg::value(&released.thin_g_cm3),
                    Arg::from(&part.source),
                    Arg::from(&part.density),
                    Arg::from(&part.releasing),
                ];
                let [plane, slabs] = march.extent();
                let shape =
                    |at_a_time: usize| Shape::covering([plane / at_a_time, slabs, 1], [THREADS, 1, 1]);
                session.launch("layout", "layout_releasing", shape(CELLS), &args)?;
                let args = [Arg::value(march), Arg::from(&part.releasing), Arg::from(&part.windows)];
                session.launch("layout", "layout_windows", shape(LANES), &args)?;
            }
        }
        Ok(())
    }

    fn transport(
        &self,
        session: &mut CardLock<'_>,
        part: &Part,
        faint: bool,
        headings: &[Heading],
        table: &Buffer<Coefficients>,
    ) -> Result<(), CudaError> {
        let [most_slabs, most_cells] = self.layouts.most();
        let ways = headings.len() * most_slabs;
        session.fits_int("the ways of a dose", ways)?;
        let headings = session.upload(headings)?;
        let slabs = session.alloc::<Slab>(ways)?;
        let count = headings.count();
        let args = [
            Arg::int(count),
            Arg::int(most_slabs),
            Arg::int(usize::from(faint)),
            Arg::from(&self.marches),
            Arg::from(&headings),
            Arg::from(&slabs),
        ];
        session.launch("layout", "layout_ways", Shape::covering([ways, 1, 1], [THREADS, 1, 1]), &args)?;
        let args = [
            Arg::from(&self.marches),
            Arg::int(most_slabs),
            Arg::from(&headings),
            Arg::from(&slabs),
            Arg::from(&part.windows),
            Arg::from(table),
            Arg::from(&part.density),
            Arg::from(&part.source),
            Arg::from(&self.scale),
            Arg::from(&self.deposit),
        ];
        let shape = Shape::covering([most_cells, count, 1], [THREADS, 1, 1]);
        let kernel = match (faint, self.thin) {
            (false, false) => "cccs_bright",
            (true, false) => "cccs_faint",
            (false, true) => "cccs_bright_thin",
            (true, true) => "cccs_faint_thin",
        };
        session.launch("cccs", kernel, shape, &args)
    }

    fn gather(
        &self,
        session: &mut CardLock<'_>,
        size: [usize; 3],
        factor: f32,
        energy: &Buffer<f32>,
    ) -> Result<(), CudaError> {
        let mut args: Vec<Arg> = self.layouts.marches.iter().map(Arg::value).collect();
        args.extend([
            Arg::value(&factor),
            Arg::from(&self.deposit),
            Arg::from(&self.scale),
            Arg::from(energy),
        ]);
        session.launch("layout", "layout_gather", tiles(size), &args)
    }
}

/// Blocks of 32 x 8 threads that each take 32 x 32 voxels of a plane across z.
fn tiles(size: [usize; 3]) -> Shape {
    let tile = LANES as u32;
    Shape { threads: [tile, 8, 1], ..Shape::covering(size, [tile, tile, 1]) }
}

/// Queues all directions, their lines finding their way as `walk` says: adds `factor` times the energy deposited per volume of water of unit density (Gy g/cm3) onto
/// `energy`, x fastest. The same bits at every run. The milestone stands before the last kernel, a tenth of a ms before the end.
///
/// # Errors
/// [`CudaError`].
pub fn superpose(
    session: &mut CardLock<'_>,
    released: &Released<'_>,
    table: &Buffer<Coefficients>,
    beam: &Superposition,
    walk: Traversal,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<Milestone, CudaError> {
    let placement = &released.placement;
    let laid = Laid::new(session, released)?;
    if let Some(faint) = &laid.faint {
        laid.transport(session, faint, true, &headings(placement, &beam.faint), table)?;
    }
    let headings = headings(placement, &beam.directions);
    match walk {
        Traversal::Lattice => laid.transport(session, &laid.bright, false, &headings, table)?,
        Traversal::Original | Traversal::BranchFree => {
            rays::send(session, walk, placement, &laid, &headings, table)?
        }
    }
    if beam.near {
        add_near(session, placement, &laid, beam, &headings, table)?;
    }
    let soon = session.milestone()?;
    laid.gather(session, placement.lattice.size, factor, energy)?;
    Ok(soon)
}
