//! All directions of a beam on a card (`kernels/cccs.cu`).

use super::near::add_near;
use crate::engine::cccs::angles::{AngleTable, PRIMARY, SCATTER};
use crate::engine::cccs::beam::Superposition;
use crate::engine::cccs::directions::{Direction, start};
use crate::engine::cccs::lattice::{Lattice, dominant_axis};
use crate::engine::cccs::near::Tilts;
use crate::engine::cuda::{Arg, Buffer, CudaError, Session, Shape};
use crate::physics::kernel_beam::CHANNELS;
use bytemuck::{Pod, Zeroable};
use glam::{DMat3, DVec3};

/// `MOST_VISITS` of `kernels/cccs.cuh`.
pub(super) const MOST_VISITS: usize = 3;
/// Lanes of a warp, and rows of lines in a block of threads.
pub(super) const LANES: usize = 32;
pub(super) const ROWS: usize = 8;

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
    pub row_of_across: i32,
    pub row_of_slab: i32,
    spacing_mm: [f32; 3],
    from_mm: [f32; 3],
}

/// `struct Heading` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Heading {
    per_slab: [f64; 2],
    start: [f64; 2],
    direction: [f32; 3],
    weight: f32,
    slab_path_cm: f32,
    turn: i32,
    backward: i32,
    none: i32,
}

/// `struct Coefficients` of `kernels/cccs.cuh`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Coefficients {
    sums: [f32; CHANNELS],
    scatter: [[f32; 2]; SCATTER.end - SCATTER.start],
    primary: [[f32; 2]; PRIMARY.end - PRIMARY.start],
    none: [f32; 2],
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

/// What is transported, on the card: voxels x fastest, and what they release.
pub struct Released<'a> {
    pub placement: Placement,
    /// Attenuation-equivalent density of water, g/cm3.
    pub density: &'a Buffer<f32>,
    pub release: &'a Buffer<Release>,
}

/// Rows of voxels as lines lie beside each other.
#[derive(Clone, Copy, Debug)]
struct Layout {
    /// Axes of the lattice: along a row, then those that number the rows, the faster first.
    order: [usize; 3],
}

const ALONG_X: Layout = Layout { order: [0, 1, 2] };
/// For directions mostly along x.
const ALONG_Y: Layout = Layout { order: [1, 0, 2] };

impl Layout {
    fn pitch(self, lattice: &Lattice) -> usize {
        (lattice.size[self.order[0]] + 1).next_multiple_of(LANES)
    }

    fn rows(self, lattice: &Lattice) -> usize {
        lattice.size[self.order[1]] * lattice.size[self.order[2]]
    }

    /// How lines pass that mostly go along an axis of the lattice.
    fn march(self, lattice: &Lattice, source_mm: DVec3, dominant: usize) -> (March, [usize; 3]) {
        let [contiguous, fast, slow] = self.order;
        let across = if dominant == fast { slow } else { fast };
        let row_of = |axis: usize| if axis == fast { 1 } else { lattice.size[fast] };
        let order = [contiguous, across, dominant];
        let march = March {
            columns: int(lattice.size[contiguous]),
            across: int(lattice.size[across]),
            slabs: int(lattice.size[dominant]),
            pitch: int(self.pitch(lattice)),
            row_of_across: int(row_of(across)),
            row_of_slab: int(row_of(dominant)),
            spacing_mm: order.map(|a| lattice.spacing_mm[a] as f32),
            from_mm: order.map(|a| source_mm[a] as f32),
        };
        (march, order)
    }
}

fn int(n: usize) -> i32 {
    i32::try_from(n).unwrap_or(i32::MAX)
}

/// The lines of direction `n`, its unit vector given in the lattice's frame.
fn heading(n: usize, axis: DVec3, solid_angle_sr: f64, lattice: &Lattice, order: [usize; 3]) -> Heading {
    let speed = order.map(|a| axis[a] / lattice.spacing_mm[a]);
    let slab_path_cm = 0.1 / speed[2].abs();
    Heading {
        per_slab: [speed[0], speed[1]].map(|s| s / speed[2].abs()),
        start: start(n),
        direction: order.map(|a| axis[a] as f32),
        weight: (solid_angle_sr / slab_path_cm) as f32,
        slab_path_cm: slab_path_cm as f32,
        turn: int(n),
        backward: i32::from(speed[2] < 0.0),
        none: 0,
    }
}

/// A table of angles as the card reads it.
pub fn coefficients(table: &AngleTable) -> Vec<Coefficients> {
    let row = |c: &crate::engine::cccs::angles::Coefficients| Coefficients {
        sums: c.sums,
        scatter: c.scatter,
        primary: c.primary,
        none: [0.0; 2],
    };
    table.rows().iter().map(row).collect()
}

/// Directions that share a dominant axis, and how their lines pass.
pub struct Group {
    layout: Layout,
    pub march: March,
    /// Axes of the lattice along a row, across, and along the slabs.
    pub order: [usize; 3],
    headings: Vec<Heading>,
}

fn groups(placement: &Placement, directions: &[Direction]) -> Vec<Group> {
    let lattice = &placement.lattice;
    let mut groups: Vec<Group> = Vec::with_capacity(3);
    for (dominant, layout) in [(1, ALONG_X), (2, ALONG_X), (0, ALONG_Y)] {
        let (march, order) = layout.march(lattice, placement.source_mm, dominant);
        let axes = directions.iter().enumerate().map(|(n, d)| (n, placement.lattice_from_kernel * d.axis, d));
        let headings: Vec<Heading> = axes
            .filter(|(_, axis, _)| dominant_axis(lattice, *axis) == dominant)
            .map(|(n, axis, d)| heading(n, axis, d.solid_angle_sr, lattice, order))
            .collect();
        if !headings.is_empty() {
            groups.push(Group { layout, march, order, headings });
        }
    }
    groups
}

/// Voxels laid out, and what the lines leave in them.
pub struct Laid {
    pub density: Buffer<f32>,
    pub release: Buffer<Release>,
    pub deposit: Buffer<i32>,
}

fn lay_out(
    session: &mut Session<'_>,
    released: &Released<'_>,
    layout: Layout,
    scale: &Buffer<i32>,
) -> Result<Laid, CudaError> {
    let lattice = &released.placement.lattice;
    let (rows, pitch) = (layout.rows(lattice), layout.pitch(lattice));
    session.fits_int("the voxels of a dose", rows * pitch)?;
    let laid = Laid {
        density: session.alloc(rows * pitch)?,
        release: session.alloc(rows * pitch)?,
        deposit: session.alloc(rows * pitch)?,
    };
    session.fill(&laid.deposit, 0)?;
    let steps = [1, lattice.size[0], lattice.size[0] * lattice.size[1]];
    let [columns, fast, slow] = layout.order.map(|a| lattice.size[a]);
    let mut args: Vec<Arg> = [columns, fast, slow, pitch].map(Arg::int).into();
    args.extend(layout.order.map(|a| Arg::int(steps[a])));
    args.extend([Arg::from(released.density), Arg::from(released.release), Arg::from(&laid.density)]);
    args.extend([Arg::from(&laid.release), Arg::from(scale)]);
    let shape = Shape::covering([fast * LANES, slow, 1], [LANES as u32, 1, 1]);
    session.launch("cccs", "cccs_lay_out", shape, &args)?;
    Ok(laid)
}

/// Queues all directions: adds `factor` times the energy deposited per volume of water of unit density (Gy g/cm3) onto
/// `energy`, x fastest. The same bits at every run.
///
/// # Errors
/// [`CudaError`].
pub fn superpose(
    session: &mut Session<'_>,
    released: &Released<'_>,
    table: &Buffer<Coefficients>,
    beam: &Superposition,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<(), CudaError> {
    let scale = session.alloc::<i32>(2)?;
    session.fill(&scale, 0)?;
    let along_x = lay_out(session, released, ALONG_X, &scale)?;
    let along_y = lay_out(session, released, ALONG_Y, &scale)?;
    let groups = groups(&released.placement, &beam.directions);
    let laid = |group: &Group| if group.layout.order == ALONG_X.order { &along_x } else { &along_y };
    for group in &groups {
        transport(session, group, laid(group), table, &scale)?;
    }
    for group in groups.iter().filter(|_| beam.near) {
        add_near(session, &released.placement, group, laid(group), beam, &scale)?;
    }
    let [nx, ny, nz] = released.placement.lattice.size;
    let pitches = [ALONG_X, ALONG_Y].map(|layout| layout.pitch(&released.placement.lattice));
    let mut args: Vec<Arg> = [nx, ny, nz, pitches[0], pitches[1]].map(Arg::int).into();
    args.extend([Arg::value(&factor), Arg::from(&along_x.deposit), Arg::from(&along_y.deposit)]);
    args.extend([Arg::from(&scale), Arg::from(energy)]);
    let shape = Shape { threads: [32, 8, 1], ..Shape::covering([nx, ny, nz], [32, 32, 1]) };
    session.launch("cccs", "cccs_gather", shape, &args)
}

fn transport(
    session: &mut Session<'_>,
    group: &Group,
    laid: &Laid,
    table: &Buffer<Coefficients>,
    scale: &Buffer<i32>,
) -> Result<(), CudaError> {
    let March { across, slabs, pitch, .. } = group.march;
    let [across, slabs, pitch] = [across, slabs, pitch].map(|n| n.unsigned_abs() as usize);
    let count = group.headings.len();
    session.fits_int("the visits of a dose", count * slabs * MOST_VISITS)?;
    let headings = session.upload(&group.headings)?;
    let visits = session.alloc::<[f32; 2]>(count * slabs * MOST_VISITS)?;
    let slab_list = session.alloc::<[i32; 4]>(count * slabs)?;
    let args = [
        Arg::value(&group.march),
        Arg::int(count),
        Arg::from(&headings),
        Arg::from(&visits),
        Arg::from(&slab_list),
    ];
    session.launch("cccs", "cccs_walk", Shape::covering([count * slabs, 1, 1], [128, 1, 1]), &args)?;
    let args = [
        Arg::value(&group.march),
        Arg::from(&headings),
        Arg::from(&visits),
        Arg::from(&slab_list),
        Arg::from(table),
        Arg::from(&laid.density),
        Arg::from(&laid.release),
        Arg::from(scale),
        Arg::from(&laid.deposit),
    ];
    let shape = Shape::covering([pitch, across + 1, count], [LANES as u32, ROWS as u32, 1]);
    session.launch("cccs", "cccs_transport", shape, &args)
}
