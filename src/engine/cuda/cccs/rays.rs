//! Lines that each find their own way, as in Xiao 2012, on a card (`kernels/rays.cu`): for comparison, the dose is the same.

use super::superpose::{Coefficients, Heading, Laid, ORDERS, Placement};
use crate::engine::cuda::grid::{Exact, WalkGrid};
use crate::engine::cuda::{Arg, Buffer, CardLock, CudaError, Shape, int};
use crate::engine::jobs::cccs::Traversal;
use crate::engine::jobs::cccs::lattice::Lattice;
use bytemuck::{Pod, Zeroable};

/// `struct RayVoxels` of `kernels/rays.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct RayVoxels {
    grid: WalkGrid,
    first_cell: i32,
    size: [i32; 3],
    spacing_mm: [f32; 3],
    from_mm: [f32; 3],
    order: [[i32; 3]; 3],
}

/// Threads of a block.
const THREADS: u32 = 128;

/// Queues all lines. They pass the voxels as they are laid out for lines along z.
pub fn send(
    session: &mut CardLock<'_>,
    walk: Traversal,
    placement: &Placement,
    laid: &Laid,
    headings: &[Heading],
    table: &Buffer<Coefficients>,
) -> Result<(), CudaError> {
    let Lattice { size, spacing_mm } = placement.lattice;
    let layout = &laid.layouts.marches[2];
    let voxels = RayVoxels {
        grid: WalkGrid::whole(size.map(int), [layout.pitch, layout.plane]),
        first_cell: layout.first_cell,
        size: size.map(int),
        spacing_mm: spacing_mm.map(|s| s as f32),
        from_mm: placement.source_mm.to_array().map(|f| f as f32),
        order: ORDERS.map(|order| order.map(int)),
    };
    let planes = (0..=size[2]).map(|k| Exact::from((k as f64 - 0.5 * size[2] as f64) * spacing_mm[2]));
    session.set_constant("rays", "plane_edges_mm", &planes.collect::<Vec<_>>())?;
    let most = headings.iter().map(|heading| lines(heading, size)).max().unwrap_or(0);
    session.fits_int("the lines of a direction", most)?;
    let on_card = session.upload(headings)?;
    let args = [
        Arg::value(&voxels),
        Arg::from(&on_card),
        Arg::from(table),
        Arg::from(&laid.bright.density),
        Arg::from(&laid.bright.source),
        Arg::from(&laid.scale),
        Arg::from(&laid.deposit),
    ];
    let kernel = if walk == Traversal::Original { "rays_original" } else { "rays_nc" };
    session.launch("rays", kernel, Shape::covering([most, headings.len(), 1], [THREADS, 1, 1]), &args)
}

/// All that touch the voxels, as `beside` of `kernels/rays.cu` counts them.
fn lines(heading: &Heading, size: [usize; 3]) -> usize {
    let [columns, across, slabs] = ORDERS[heading.march as usize].map(|axis| size[axis]);
    let beside = |size: usize, per_slab: f64| size + (per_slab * slabs as f64).abs().ceil() as usize + 2;
    beside(columns, heading.per_slab[0]) * beside(across, heading.per_slab[1])
}
