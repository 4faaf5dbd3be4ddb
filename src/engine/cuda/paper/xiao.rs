//! Both walks of Xiao 2012, each line by itself (`kernels/paper_xiao.cu`): the dose is that of the lattice.

use crate::cuda::cccs::superpose::{Coefficients, DeviceLayout, LineDirection, ORDERS, Placement};
use crate::cuda::grid::{Exact, WalkGrid};
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Shape, int};
use crate::jobs::cccs::Traversal;
use crate::jobs::cccs::lattice::Lattice;
use bytemuck::{Pod, Zeroable};

/// `struct RayVoxels` of `kernels/paper_xiao.cu`, field for field.
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

/// Queues all lines; they walk through the layout along z.
pub fn transport(
    session: &mut CardLock<'_>,
    walk: Traversal,
    placement: &Placement,
    cells: &DeviceLayout,
    directions: &[LineDirection],
    table: &Buffer<Coefficients>,
) -> Result<(), CudaError> {
    let Lattice { size, spacing_mm } = placement.lattice;
    let layout = &cells.layouts.of_axis[2];
    let voxels = RayVoxels {
        grid: WalkGrid::whole(size.map(int), [layout.pitch, layout.plane]),
        first_cell: layout.first_cell,
        size: size.map(int),
        spacing_mm: spacing_mm.map(|s| s as f32),
        from_mm: placement.source_mm.to_array().map(|f| f as f32),
        order: ORDERS.map(|order| order.map(int)),
    };
    let planes = (0..=size[2]).map(|k| Exact::from((k as f64 - 0.5 * size[2] as f64) * spacing_mm[2]));
    session.set_constant("paper_xiao", "plane_edges_mm", &planes.collect::<Vec<_>>())?;
    let most = directions.iter().map(|direction| lines(direction, size)).max().unwrap_or(0);
    session.fits_int("the lines of a direction", most)?;
    let on_card = session.upload(directions)?;
    let args = [
        Arg::value(&voxels),
        Arg::from(&on_card),
        Arg::from(table),
        Arg::from(&cells.high_terma.density),
        Arg::from(&cells.high_terma.terma),
        Arg::from(&cells.scale),
        Arg::from(&cells.deposit),
    ];
    let kernel = if walk == Traversal::Original { "xiao_original" } else { "xiao_branch_free" };
    session.launch("paper_xiao", kernel, Shape::covering([most, directions.len(), 1], [THREADS, 1, 1]), &args)
}

/// Lines that touch the voxels, as `line_range` of `kernels/paper_xiao.cu` counts them.
fn lines(direction: &LineDirection, size: [usize; 3]) -> usize {
    let [columns, across, slabs] = ORDERS[direction.layout as usize].map(|axis| size[axis]);
    let range = |size: usize, per_slab: f64| size + (per_slab * slabs as f64).abs().ceil() as usize + 2;
    range(columns, direction.per_slab[0]) * range(across, direction.per_slab[1])
}
