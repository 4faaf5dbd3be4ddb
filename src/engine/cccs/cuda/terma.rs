//! TERMA of every voxel of a field, on a card (`kernels/terma.cu`).

use super::superpose::Terma;
use crate::cccs::angles::TiltNorm;
use crate::cccs::beam;
use crate::cccs::field_tables::FieldTables;
use crate::cuda::{Arg, Buffer, CardLock, CudaError, Shape};
use crate::dose::medium::Medium;

const THREADS: u32 = 128;

/// Density and radiological depth of a medium's voxels.
pub struct Voxels<'a> {
    pub medium: &'a Medium,
    pub density: &'a Buffer<f32>,
    pub depth_mm: &'a Buffer<f32>,
}

/// Queues the TERMA of every voxel, Gy by channel for one photon per cm2 on the axis, and adds `factor` times the energy per
/// volume of contaminant electrons to `energy`.
pub fn terma(
    card: &mut CardLock<'_>,
    field: &beam::Field<'_>,
    beam: &beam::Superposition,
    tilt: &TiltNorm,
    voxels: &Voxels<'_>,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<Buffer<Terma>, CudaError> {
    let FieldTables {
        field,
        numbers,
        sums,
    } = FieldTables::new(field, beam, tilt, voxels.medium);
    let (numbers, sums) = (card.upload(&numbers)?, card.upload(&sums)?);
    let terma = card.alloc(voxels.medium.grid.len())?;
    let args = [
        Arg::value(&field),
        Arg::from(&numbers),
        Arg::from(&sums),
        Arg::from(voxels.density),
        Arg::from(voxels.depth_mm),
        Arg::value(&factor),
        Arg::from(&terma),
        Arg::from(energy),
    ];
    let shape = Shape::covering(voxels.medium.grid.size(), [THREADS, 1, 1]);
    card.launch("terma", "terma_fill", shape, &args)?;
    Ok(terma)
}

/// Queues the dose on the requested grid: energy over mass.
pub fn crop(
    card: &mut CardLock<'_>,
    medium: &Medium,
    size: [usize; 3],
    energy: &Buffer<f32>,
    mass: &Buffer<f32>,
) -> Result<Buffer<f32>, CudaError> {
    let gy = card.alloc(size.iter().product())?;
    let [gx, gy_size, _] = medium.grid.size();
    let [x, y, z] = medium.offset;
    let mut args: Vec<Arg> = [x, y, z, gx, gy_size, size[0], size[1]]
        .map(Arg::int)
        .into();
    args.push(Arg::value(&crate::dose::medium::VACUUM_G_CM3));
    args.extend([Arg::from(energy), Arg::from(mass), Arg::from(&gy)]);
    card.launch(
        "terma",
        "dose_crop",
        Shape::covering(size, [THREADS, 1, 1]),
        &args,
    )?;
    Ok(gy)
}
