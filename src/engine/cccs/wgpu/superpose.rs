//! All directions of a beam (`kernels/engine_layout.wgsl`, `engine_cccs.wgsl`).

use super::terma::{Greatest, Terma};
use crate::cccs::angles::{ANGLES, AngleTable, Coefficients, PRIMARY, SCATTER, TiltNorm};
use crate::cccs::beam::{LOW_TERMA_FRACTION, Superposition};
use crate::cccs::directions::{Direction, start};
use crate::dose::lattice::{Lattice, ORDERS, dominant_axis};
use crate::kernel_size::int;
use crate::wgpu::{Buffer, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};
use geometry::walk::lattice::LatticeWalk;
use glam::{DMat3, DVec3};
use physics::kernel_beam::CHANNELS;

pub(super) const DEPOSIT_WGSL: &str = include_str!("../../../../kernels/engine_deposit.wgsl");
pub(crate) const TERMS_WGSL: &str = include_str!("../../../../kernels/engine_terms.wgsl");
pub(super) const LAYOUT: Kernel = Kernel {
    name: "cccs_layout",
    sources: &[
        DEPOSIT_WGSL,
        include_str!("../../../../kernels/engine_layout.wgsl"),
    ],
};
pub(super) const TRANSPORT: Kernel = Kernel {
    name: "cccs_transport",
    sources: &[
        DEPOSIT_WGSL,
        TERMS_WGSL,
        include_str!("../../../../kernels/engine_cccs.wgsl"),
    ],
};
/// Threads of a workgroup, of both.
pub(super) const THREADS: [u32; 3] = [16, 8, 1];
/// Rows of the table to a step of the CPU's, of which the kernel takes the nearest: 0.06 degrees off at most.
pub(super) const ROWS_OF_STEP: usize = 16;
/// Vectors of a row.
pub(super) const VECTORS: usize = 7;

/// Beam and voxels in one frame.
#[derive(Clone, Copy, Debug)]
pub struct Placement {
    pub lattice: Lattice,
    /// The radiation source in the lattice's frame, mm.
    pub source_mm: DVec3,
    /// Directions' frame -> the lattice's frame.
    pub lattice_from_kernel: DMat3,
}

impl Placement {
    /// Rows of the rotation from the lattice's axes in an order to the directions' frame.
    pub fn kernel_from(&self, order: [usize; 3]) -> [f32; 9] {
        let kernel_from_lattice = self.lattice_from_kernel.transpose();
        std::array::from_fn(|n| kernel_from_lattice.row(n / 3)[order[n % 3]] as f32)
    }
}

/// Density and TERMA of a field on the device, x fastest.
pub struct TransportInput<'a> {
    pub placement: Placement,
    /// Attenuation-equivalent density of water, g/cm3.
    pub density: &'a Buffer<f32>,
    pub terma: &'a Buffer<Terma>,
    pub greatest: &'a Buffer<Greatest>,
    /// Factors of low TERMA by tilt; `None` where all TERMA is transported along the same directions.
    pub low_terma_norm: Option<TiltNorm>,
}

/// Voxels as the lines meet them, and what they leave, in the units of `kernels/engine_deposit.wgsl`.
pub struct Transported {
    /// Density, negative where TERMA is high.
    pub marked: Buffer<f32>,
    /// Primary high TERMA per volume.
    pub primary: Buffer<f32>,
    /// Deposits of lines mostly along y and z, x fastest; of those along x, y fastest.
    pub deposit: Buffer<i32>,
    pub deposit_exchanged: Buffer<i32>,
}

/// `struct Layout` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Layout {
    size: [i32; 3],
    stride: [i32; 3],
    spacing_mm: [f32; 3],
    source_mm: [f32; 3],
    kernel_from_layout: [f32; 9],
    tilt_reach: f32,
    low_terma_fraction: f32,
    is_low: u32,
}

/// `struct Direction` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Lines {
    axis: [f32; 3],
    weight: f32,
    first_segment: u32,
    end_segment: u32,
}

/// A `vec4<i32>` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
struct Segment {
    step: [i32; 2],
    slab: i32,
    length_cm: f32,
}

/// `struct Voxels` of the layout's kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Voxels {
    size: [u32; 3],
    low_terma_fraction: f32,
}

/// The lines of some directions dominated by one axis.
#[derive(Default)]
struct Bundle {
    directions: Vec<Lines>,
    segments: Vec<Segment>,
}

impl Bundle {
    fn new(placement: &Placement, directions: &[Direction], axis: usize) -> Self {
        let Placement {
            lattice,
            lattice_from_kernel,
            ..
        } = placement;
        let order = ORDERS[axis];
        let mut bundle = Self::default();
        for (n, direction) in directions.iter().enumerate() {
            let along = *lattice_from_kernel * direction.axis;
            if dominant_axis(lattice, along) == axis {
                bundle.add(
                    lattice,
                    order,
                    DVec3::from(order.map(|a| along[a])),
                    start(n),
                    direction.solid_angle_sr,
                );
            }
        }
        bundle
    }

    /// Adds the lines of a direction, a unit vector in the layout's axis order.
    fn add(
        &mut self,
        lattice: &Lattice,
        order: [usize; 3],
        along: DVec3,
        start: [f64; 2],
        solid_angle_sr: f64,
    ) {
        let spacing_mm = order.map(|a| lattice.spacing_mm[a]);
        let walk = LatticeWalk::new(spacing_mm, lattice.size[order[2]], along, start);
        let first_segment = self.segments.len() as u32;
        let mut last_shift = walk
            .segments
            .first()
            .map_or([0; 2], |segment| segment.shift);
        for segment in &walk.segments {
            let step = [0, 1].map(|a| segment.shift[a] - last_shift[a]);
            last_shift = segment.shift;
            self.segments.push(Segment {
                step,
                slab: int(segment.slab),
                length_cm: segment.length_cm,
            });
        }
        self.directions.push(Lines {
            axis: along.as_vec3().to_array(),
            weight: (solid_angle_sr / walk.slab_path_cm) as f32,
            first_segment,
            end_segment: self.segments.len() as u32,
        });
    }
}

/// A row of the table as the kernel reads it: sums by channel; scatter's terms 0 to 3, shallow and deep; the primary's terms 4 to 7,
/// shallow and deep; the primary's term 3 and the scatter's 4; the primary's 8.
pub fn row(coefficients: &Coefficients) -> [[f32; 4]; VECTORS] {
    let scatter = |channel: usize| {
        std::array::from_fn(|term| coefficients.scatter[term - SCATTER.start][channel])
    };
    let primary = |channel: usize| {
        std::array::from_fn(|n| coefficients.primary[n + 4 - PRIMARY.start][channel])
    };
    let [p3, p8] = [3, 8].map(|term| coefficients.primary[term - PRIMARY.start]);
    let s4 = coefficients.scatter[4 - SCATTER.start];
    [
        coefficients.sums,
        scatter(0),
        scatter(1),
        primary(0),
        primary(1),
        [p3[0], p3[1], s4[0], s4[1]],
        [p8[0], p8[1], 0.0, 0.0],
    ]
}

/// The table of the kernel: rows by angle, then the factors of low TERMA by tilt.
pub fn table(table: &AngleTable, low_terma_norm: Option<&TiltNorm>) -> Vec<[f32; CHANNELS]> {
    let last = (ANGLES - 1) * ROWS_OF_STEP;
    let rows = (0..=last).flat_map(|n| row(&table.at(n as f32 / ROWS_OF_STEP as f32)));
    let factors = low_terma_norm
        .into_iter()
        .flat_map(|norm| norm.factors().0.iter().copied());
    rows.chain(factors).collect()
}

/// Queues the transport of a field's TERMA along all directions.
pub fn superpose(
    session: &mut Session<'_>,
    input: &TransportInput<'_>,
    beam: &Superposition,
) -> Result<Transported, WgpuError> {
    let Placement { lattice, .. } = input.placement;
    let voxels = lattice.voxels();
    let norm = input.low_terma_norm.as_ref();
    let low_terma_fraction = if norm.is_some() {
        LOW_TERMA_FRACTION
    } else {
        0.0
    };
    let done = Transported {
        marked: session.alloc("densities", voxels)?,
        primary: session.alloc("primary TERMA", voxels)?,
        deposit: session.zeroed("deposits", voxels)?,
        deposit_exchanged: session.zeroed("deposits", voxels)?,
    };
    let marked_exchanged = session.alloc::<f32>("densities", voxels)?;
    let terma_exchanged = session.alloc::<Terma>("TERMA", voxels)?;
    let size = lattice.size.map(|n| int(n).unsigned_abs());
    let of_layout = session.upload(
        "voxels",
        &[Voxels {
            size,
            low_terma_fraction,
        }],
    )?;
    session.run(
        &LAYOUT,
        &[
            &of_layout,
            input.density,
            input.terma,
            input.greatest,
            &done.marked,
            &marked_exchanged,
            &terma_exchanged,
            &done.primary,
        ],
        Session::groups(lattice.size, THREADS),
    )?;
    let table = session.upload("kernel coefficients", &table(&beam.table, norm))?;
    let parts = [
        (&beam.low_terma_directions, norm.is_some()),
        (&beam.directions, false),
    ];
    for (axis, order) in ORDERS.iter().enumerate() {
        let (marked, terma, deposit) = if axis == 0 {
            (&marked_exchanged, &terma_exchanged, &done.deposit_exchanged)
        } else {
            (&done.marked, input.terma, &done.deposit)
        };
        for (directions, is_low) in parts {
            let bundle = Bundle::new(&input.placement, directions, axis);
            if bundle.directions.is_empty() {
                continue;
            }
            let mut layout = layout(&input.placement, *order, norm);
            (layout.is_low, layout.low_terma_fraction) = (u32::from(is_low), low_terma_fraction);
            let lines = [layout.size[0], layout.size[1]].map(|n| n.unsigned_abs() as usize + 1);
            let layout = session.upload("layout", &[layout])?;
            let directions = session.upload("directions", &bundle.directions)?;
            let segments = session.upload("segments of lines", &bundle.segments)?;
            let steps = bundle.segments.len() as f64 / bundle.directions.len() as f64;
            session.run_weighted(
                &TRANSPORT,
                &[
                    &layout,
                    &directions,
                    &segments,
                    &table,
                    marked,
                    terma,
                    input.greatest,
                    deposit,
                ],
                Session::groups([lines[0], lines[1], bundle.directions.len()], THREADS),
                steps,
            )?;
        }
    }
    Ok(done)
}

/// The cells of one dominant axis.
fn layout(placement: &Placement, order: [usize; 3], norm: Option<&TiltNorm>) -> Layout {
    let Lattice { size, spacing_mm } = placement.lattice;
    let [nx, ny, _] = size;
    // Lines along x meet a copy with x and y exchanged.
    let stride = if order[0] == 0 {
        [1, nx, nx * ny]
    } else {
        [ny, 1, nx * ny]
    };
    Layout {
        size: order.map(|a| int(size[a])),
        stride: order.map(|a| int(stride[a])),
        spacing_mm: order.map(|a| spacing_mm[a] as f32),
        source_mm: order.map(|a| placement.source_mm[a] as f32),
        kernel_from_layout: placement.kernel_from(order),
        tilt_reach: norm.map_or(1.0, |norm| norm.factors().1 as f32),
        ..Layout::zeroed()
    }
}
