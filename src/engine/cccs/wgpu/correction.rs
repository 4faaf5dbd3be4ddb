//! The local correction of the lattice's discretisation (`kernels/engine_correction.wgsl`); the host makes the stencils while lines are
//! transported.

use super::superpose::{DEPOSIT_WGSL, Placement, THREADS, Transported};
use super::terma::Greatest;
use crate::cccs::beam::Superposition;
use crate::cccs::correction::{PATH, POWERS, Stencil, Tilts};
use crate::dose::lattice::ORDERS;
use crate::kernel_size::int;
use crate::wgpu::{Buffer, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};

pub(crate) const STENCIL_WGSL: &str = include_str!("../../../../kernels/engine_stencil.wgsl");
pub(super) const CORRECTION: Kernel = Kernel {
    name: "cccs_correction",
    sources: &[
        DEPOSIT_WGSL,
        STENCIL_WGSL,
        include_str!("../../../../kernels/engine_correction.wgsl"),
    ],
};

/// `struct Correction` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Correction {
    size: [i32; 3],
    spacing_mm: [f32; 3],
    source_mm: [f32; 3],
    kernel_from_lattice: [f32; 9],
    tilt_reach: f32,
    tilts: i32,
    offsets: i32,
    axis: i32,
}

/// `struct Offset` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Offset {
    to: [i32; 3],
    index: [i32; PATH],
    part: [f32; PATH],
}

/// The stencil of the directions dominated by one axis, as kernels take it.
pub struct StencilOnDevice {
    pub correction: Buffer<Correction>,
    pub offsets: Buffer<Offset>,
    pub powers: Buffer<[f32; POWERS]>,
}

/// Makes the stencil of an axis; none where no offset receives anything. `stride` are the index steps along x, y and z.
pub fn stencil(
    session: &Session<'_>,
    placement: &Placement,
    axis: usize,
    stride: [usize; 3],
    beam: &Superposition,
    tilts: Tilts,
) -> Result<Option<StencilOnDevice>, WgpuError> {
    let (lattice, order) = (&placement.lattice, ORDERS[axis]);
    let stencil = Stencil::new(lattice, order, beam, placement.lattice_from_kernel, tilts);
    if stencil.offsets.is_empty() {
        return Ok(None);
    }
    let offsets: Vec<Offset> = stencil
        .offsets
        .iter()
        .map(|offset| Offset {
            to: in_lattice(order, offset.to),
            index: offset.path.map(|(voxel, _)| {
                in_lattice(order, voxel)
                    .iter()
                    .zip(stride)
                    .map(|(n, stride)| n * int(stride))
                    .sum::<i32>()
            }),
            part: offset.path.map(|(_, part)| part),
        })
        .collect();
    let correction = Correction {
        size: lattice.size.map(int),
        spacing_mm: lattice.spacing_mm.map(|mm| mm as f32),
        source_mm: placement.source_mm.as_vec3().to_array(),
        kernel_from_lattice: placement.kernel_from([0, 1, 2]),
        tilt_reach: tilts.reach as f32,
        tilts: int(tilts.count),
        offsets: int(offsets.len()),
        axis: int(axis),
    };
    Ok(Some(StencilOnDevice {
        correction: session.upload("correction", &[correction])?,
        offsets: session.upload("offsets", &offsets)?,
        powers: session.upload("stencils", &by_slab(&stencil, lattice.size[axis]))?,
    }))
}

/// An offset along the axes of a block (`order`) as one along the axes of the lattice.
fn in_lattice(order: [usize; 3], of_block: [i32; 3]) -> [i32; 3] {
    let mut of_lattice = [0; 3];
    (0..3).for_each(|n| of_lattice[order[n]] = of_block[n]);
    of_lattice
}

/// Queues the correction of a field's deposits.
pub fn add_correction(
    session: &mut Session<'_>,
    placement: &Placement,
    beam: &Superposition,
    tilts: Tilts,
    transported: &Transported,
    greatest: &Buffer<Greatest>,
) -> Result<(), WgpuError> {
    let size = placement.lattice.size;
    for axis in 0..3 {
        let stride = [1, size[0], size[0] * size[1]];
        let Some(stencil) = stencil(session, placement, axis, stride, beam, tilts)? else {
            continue;
        };
        session.run_weighted(
            &CORRECTION,
            &[
                &stencil.correction,
                &stencil.offsets,
                &stencil.powers,
                &transported.marked,
                &transported.primary,
                greatest,
                &transported.deposit,
            ],
            Session::groups(size, THREADS),
            stencil.offsets.count() as f64,
        )?;
    }
    Ok(())
}

/// `[tilt][slab][offset]` -> `[tilt][offset][slab]`: where slabs lie across x, neighbouring threads read neighbouring numbers.
fn by_slab(stencil: &Stencil, slabs: usize) -> Vec<[f32; POWERS]> {
    let offsets = stencil.offsets.len();
    let tilts = stencil.table.len() / (slabs * offsets);
    (0..tilts)
        .flat_map(|tilt| {
            (0..offsets).flat_map(move |o| (0..slabs).map(move |slab| (tilt, o, slab)))
        })
        .map(|(tilt, o, slab)| stencil.table[(tilt * slabs + slab) * offsets + o].of_density)
        .collect()
}
