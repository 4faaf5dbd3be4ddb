//! TERMA of every voxel of a field (`kernels/engine_fluence.wgsl`, `engine_terma.wgsl`).

use crate::cccs::angles::TiltNorm;
use crate::cccs::beam::{self, Superposition};
use crate::cccs::field_tables::{Field, FieldTables, Picture};
use crate::dose::medium::Medium;
use crate::wgpu::{Buffer, Kernel, Session, WgpuError};
use bytemuck::{Pod, Zeroable};
use physics::kernel_beam::CHANNELS;

pub(super) const TERMA: Kernel = Kernel {
    name: "cccs_terma",
    sources: &[
        Picture::WGSL,
        Field::WGSL,
        include_str!("../../../../kernels/engine_fluence.wgsl"),
        include_str!("../../../../kernels/engine_terma.wgsl"),
    ],
};

/// TERMA of a voxel by channel, Gy.
pub type Terma = [f32; CHANNELS];

/// The greatest TERMA of all channels and the greatest density, as bits of floats.
pub type Greatest = [u32; 2];

/// `struct Incident` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
struct Incident {
    field: Field,
    factor: f32,
    quantum: [f32; 2],
}

/// Density and radiological depth of a medium's voxels.
pub struct Voxels<'a> {
    pub medium: &'a Medium,
    pub density: &'a Buffer<f32>,
    pub depth_mm: &'a Buffer<f32>,
}

/// Queues the TERMA of every voxel, Gy by channel for one photon per cm2 on the axis, and adds `factor` times the energy per volume of
/// contaminant electrons to `energy`.
pub fn terma(
    session: &mut Session<'_>,
    field: &beam::Field<'_>,
    beam: &Superposition,
    tilt: &TiltNorm,
    voxels: &Voxels<'_>,
    factor: f32,
    energy: &Buffer<f32>,
) -> Result<(Buffer<Terma>, Buffer<Greatest>), WgpuError> {
    let FieldTables {
        field,
        numbers,
        sums,
    } = FieldTables::new(field, beam, tilt, voxels.medium);
    let mut quanta = Vec::with_capacity(sums.len());
    let focal = in_quanta(&field.focal, &sums, &mut quanta);
    let surface = in_quanta(&field.surface, &sums, &mut quanta);
    let incident = session.upload(
        "a field",
        &[Incident {
            field,
            factor,
            quantum: [focal, surface],
        }],
    )?;
    let numbers = session.upload("a field's tables", &numbers)?;
    let sums = session.upload("a field's sums", &quanta)?;
    let greatest = session.zeroed::<Greatest>("the greatest TERMA", 1)?;
    let terma = session.alloc("TERMA", voxels.medium.grid.len())?;
    session.run(
        &TERMA,
        &[
            &incident,
            &numbers,
            &sums,
            voxels.density,
            voxels.depth_mm,
            &greatest,
            &terma,
            energy,
        ],
        Session::groups(voxels.medium.grid.size(), [64, 2, 1]),
    )?;
    Ok((terma, greatest))
}

/// Appends a picture's table of sums in whole quanta, which keep their digits where differences are taken; the quantum. Pictures follow
/// each other as in `sums`.
fn in_quanta(picture: &Picture, sums: &[f64], quanta: &mut Vec<i32>) -> f32 {
    let first = picture.first.unsigned_abs() as usize;
    let [columns, rows] = picture.size.map(|n| n.unsigned_abs() as usize + 1);
    let table = sums
        .get(first..first + columns * rows)
        .filter(|_| picture.here != 0)
        .unwrap_or_default();
    let greatest = table
        .iter()
        .fold(0.0_f64, |greatest, sum| greatest.max(sum.abs()));
    // No difference of four may overflow. A power of two, so that simple pictures are exact.
    let quantum = (greatest.max(f64::MIN_POSITIVE) / f64::from(i32::MAX / 4))
        .log2()
        .ceil()
        .exp2()
        .max(1e-30);
    quanta.extend(table.iter().map(|sum| (sum / quantum).round() as i32));
    quantum as f32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_in_quanta_keep_their_differences() {
        let sums: Vec<f64> = (0..12).map(|n| 1e5 + f64::from(n) * 0.37).collect();
        let mut quanta = Vec::new();
        let picture = Picture {
            size: [3, 2],
            here: 1,
            ..Picture::default()
        };
        let quantum = f64::from(in_quanta(&picture, &sums, &mut quanta));
        assert_eq!(quanta.len(), 12);
        for (a, b) in [(0, 11), (3, 4)] {
            let difference = f64::from(quanta[b] - quanta[a]) * quantum;
            assert!(
                (difference - (sums[b] - sums[a])).abs() <= quantum,
                "{difference}"
            );
        }
        assert!(
            f64::from(in_quanta(&Picture::default(), &sums, &mut quanta)) > 0.0
                && quanta.len() == 12
        );
    }
}
