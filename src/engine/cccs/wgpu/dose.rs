//! Energy of the fields and the dose (`kernels/engine_dose.wgsl`).

use super::superpose::{DEPOSIT_WGSL, THREADS, Transported};
use super::terma::Greatest;
use crate::dose::medium::Medium;
use crate::dose::medium::VACUUM_G_CM3;
use crate::kernel_size::int;
use crate::wgpu::{Buffer, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};

const SOURCES: &[&str] = &[
    DEPOSIT_WGSL,
    include_str!("../../../../kernels/engine_dose.wgsl"),
];
pub(super) const ADD: Kernel = Kernel {
    name: "cccs_add",
    sources: SOURCES,
};
pub(super) const CROP: Kernel = Kernel {
    name: "cccs_crop",
    sources: SOURCES,
};

/// `struct Sum` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Sum {
    size: [u32; 3],
    offset: [u32; 3],
    requested: [u32; 3],
    factor: f32,
    vacuum_g_cm3: f32,
}

impl Sum {
    fn new(medium: &Medium, requested: [usize; 3], factor: f32) -> Self {
        let [size, offset, requested] = [medium.grid.size(), medium.offset, requested]
            .map(|n| n.map(|n| int(n).unsigned_abs()));
        Self {
            size,
            offset,
            requested,
            factor,
            vacuum_g_cm3: VACUUM_G_CM3,
        }
    }
}

/// Queues the addition of `factor` times a field's deposits to the energy per volume.
pub fn add(
    session: &mut Session<'_>,
    medium: &Medium,
    transported: &Transported,
    greatest: &Buffer<Greatest>,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<(), WgpuError> {
    let sum = session.upload("sum", &[Sum::new(medium, [0; 3], factor)])?;
    let Transported {
        deposit,
        deposit_exchanged,
        ..
    } = transported;
    let groups = Session::groups(medium.grid.size(), THREADS);
    session.run(
        &ADD,
        &[&sum, energy, greatest, deposit, deposit_exchanged],
        groups,
    )
}

/// Queues the dose on the requested grid: energy over mass.
pub fn crop(
    session: &mut Session<'_>,
    medium: &Medium,
    requested: [usize; 3],
    energy: &Buffer<f32>,
    mass: &Buffer<f32>,
) -> Result<Buffer<f32>, WgpuError> {
    let gy = session.alloc("dose", requested.iter().product())?;
    let sum = session.upload("sum", &[Sum::new(medium, requested, 0.0)])?;
    session.run(
        &CROP,
        &[&sum, energy, mass, &gy],
        Session::groups(requested, THREADS),
    )?;
    Ok(gy)
}
