//! What thin lines misplace next to where energy is released, on a card (`cccs_near` of `kernels/cccs.cu`). The stencils are
//! made by the host while the card carries the lines.

use super::superpose::{Group, Laid, Placement};
use crate::engine::cccs::beam::Superposition;
use crate::engine::cccs::near::{Offset, Stencil, Tilts, WAY};
use crate::engine::cuda::{Arg, Buffer, CudaError, Session, Shape};
use bytemuck::{Pod, Zeroable};

/// `struct Near` of `kernels/cccs.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct Near {
    kernel_from_block: [[f32; 3]; 3],
    tilt_reach: f32,
    tilt_count: i32,
    offsets: i32,
}

/// `struct NearOffset` of `kernels/cccs.cu`, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct NearOffset {
    from: [i32; 3],
    none: i32,
    way: [i32; WAY],
    part: [f32; WAY],
}

impl NearOffset {
    /// `step` is what one voxel along each axis of the block adds to an index.
    fn new(offset: &Offset, step: [i32; 3]) -> Self {
        let index = |at: [i32; 3]| (0..3).map(|a| (at[a] - offset.to[a]) * step[a]).sum();
        Self {
            from: offset.to.map(|o| -o),
            none: 0,
            way: offset.way.map(|(at, _)| index(at)),
            part: offset.way.map(|(_, part)| part),
        }
    }
}

/// Queues the stencils of a group of directions.
pub fn add_near(
    session: &mut Session<'_>,
    placement: &Placement,
    group: &Group,
    laid: &Laid,
    beam: &Superposition,
    scale: &Buffer<i32>,
) -> Result<(), CudaError> {
    let Placement { lattice, lattice_from_kernel, tilts, .. } = *placement;
    let Group { march, order, .. } = group;
    let stencil = Stencil::new(&lattice, *order, beam, lattice_from_kernel, tilts);
    if stencil.offsets.is_empty() {
        return Ok(());
    }
    let step = [1, march.row_of_across * march.pitch, march.row_of_slab * march.pitch];
    let offsets: Vec<NearOffset> = stencil.offsets.iter().map(|o| NearOffset::new(o, step)).collect();
    let Tilts { reach, count } = stencil.tilts;
    let kernel_from_lattice = lattice_from_kernel.transpose();
    let near = Near {
        kernel_from_block: [0, 1, 2].map(|axis| order.map(|a| kernel_from_lattice.row(axis)[a] as f32)),
        tilt_reach: reach as f32,
        tilt_count: count as i32,
        offsets: offsets.len() as i32,
    };
    session.fits_int("the stencils of a dose", stencil.table.len())?;
    let offsets = session.upload(&offsets)?;
    let powers = session.upload(&stencil.table)?;
    let args = [
        Arg::value(march),
        Arg::value(&near),
        Arg::from(&offsets),
        Arg::from(&powers),
        Arg::from(&laid.density),
        Arg::from(&laid.release),
        Arg::from(scale),
        Arg::from(&laid.deposit),
    ];
    let [columns, across, slabs] = order.map(|a| lattice.size[a]);
    let shape = Shape { threads: [32, 4, 1], ..Shape::covering([columns, across, slabs], [32, 4, 1]) };
    session.launch("cccs", "cccs_near", shape, &args)
}
