//! The local correction of the lattice's discretisation (`kernels/engine_correction.wgsl`); the host makes the stencils while lines are
//! transported.

use super::superpose::{DEPOSIT_WGSL, Placement, THREADS, Transported};
use super::terma::Greatest;
use crate::cccs::beam::Superposition;
use crate::cccs::correction::{PATH, POWERS, Stencil, Tilts};
use crate::cccs::lattice::ORDERS;
use crate::kernel_size::int;
use crate::wgpu::{Buffer, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};

pub(super) const CORRECTION: Kernel = Kernel {
    name: "cccs_correction",
    sources: &[DEPOSIT_WGSL, include_str!("../../../../kernels/engine_correction.wgsl")],
};

/// `struct Correction` of the kernel, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Correction {
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
struct Offset {
    to: [i32; 3],
    index: [i32; PATH],
    part: [f32; PATH],
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
    let lattice = &placement.lattice;
    let [nx, ny, _] = lattice.size;
    let stride = [1, int(nx), int(nx * ny)];
    for (axis, order) in ORDERS.into_iter().enumerate() {
        let stencil = Stencil::new(lattice, order, beam, placement.lattice_from_kernel, tilts);
        if stencil.offsets.is_empty() {
            continue;
        }
        let in_lattice = |of_block: [i32; 3]| {
            let mut of_lattice = [0; 3];
            (0..3).for_each(|n| of_lattice[order[n]] = of_block[n]);
            of_lattice
        };
        let index =
            |at: [i32; 3]| in_lattice(at).iter().zip(stride).map(|(n, stride)| n * stride).sum::<i32>();
        let offset = |offset: &crate::cccs::correction::Offset| Offset {
            to: in_lattice(offset.to),
            index: offset.path.map(|(at, _)| index(at)),
            part: offset.path.map(|(_, part)| part),
        };
        let offsets: Vec<Offset> = stencil.offsets.iter().map(offset).collect();
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
        let correction = session.upload("correction", &[correction])?;
        let offsets = session.upload("offsets", &offsets)?;
        let powers = session.upload("stencils", &by_slab(&stencil, lattice.size[axis]))?;
        let steps = stencil.offsets.len() as f64;
        session.run_weighted(
            &CORRECTION,
            &[
                &correction,
                &offsets,
                &powers,
                &transported.marked,
                &transported.primary,
                greatest,
                &transported.deposit,
            ],
            Session::groups(lattice.size, THREADS),
            steps,
        )?;
    }
    Ok(())
}

/// `[tilt][slab][offset]` -> `[tilt][offset][slab]`: where slabs lie across x, neighbouring threads read neighbouring numbers.
fn by_slab(stencil: &Stencil, slabs: usize) -> Vec<[f32; POWERS]> {
    let offsets = stencil.offsets.len();
    let tilts = stencil.table.len() / (slabs * offsets);
    let at = |tilt: usize, offset: usize, slab: usize| {
        stencil.table[(tilt * slabs + slab) * offsets + offset].of_density
    };
    (0..tilts)
        .flat_map(|tilt| (0..offsets).flat_map(move |o| (0..slabs).map(move |slab| (tilt, o, slab))))
        .map(|(tilt, o, slab)| at(tilt, o, slab))
        .collect()
}
