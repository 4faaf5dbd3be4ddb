//! A dose whose high TERMA is transported by kernels of the caller, which the program does not embed: lines of a paper, for its
//! tables (`benches/xiao`).

use super::superpose::{
    BeamLines, CellTerma, Coefficients, DeviceLayout, LineDirection, line_directions,
};
use super::superpose::{TransportInput, finish};
use super::{FieldTerma, MediumOnCard, dose_by};
use crate::JobControl;
use crate::cccs::beam::Field;
use crate::cuda::{Buffer, CardLock, CudaError, Device, Failure};
use crate::dose::lattice::ORDERS;
use crate::dose::{BeamDose, DoseError, DoseRequest};
use glam::DVec3;

/// All TERMA of a field, laid out on a card, and the lines that transport it. Voxel `[z][y][x]` is cell
/// `first_cell + plane * z + pitch * y + x`.
pub struct HighTerma<'a> {
    pub size: [usize; 3],
    pub spacing_mm: [f64; 3],
    /// The radiation source from the centre of voxel (0, 0, 0).
    pub source_mm: DVec3,
    pub first_cell: i32,
    pub pitch: i32,
    pub plane: i32,
    pub density: &'a Buffer<f32>,
    pub terma: &'a Buffer<CellTerma>,
    /// `struct Scale` of `kernels/cccs.cuh`.
    pub scale: &'a Buffer<i32>,
    /// Kernel coefficients by the angle between a line and the beam's ray.
    pub table: &'a Buffer<Coefficients>,
    pub directions: &'a [LineDirection],
    /// Axes of the layouts that [`LineDirection::layout`] numbers: along a row, across, dominant.
    pub orders: [[usize; 3]; 3],
    /// Energy deposited in each cell, in units of `scale`: what a transport adds to.
    pub deposit: &'a Buffer<i32>,
}

/// As [`beam_dose`](super::beam_dose), but `transport` queues the kernels of the lines. All TERMA goes along all directions, and
/// voxels of low density lose no more than others.
pub fn beam_dose_by(
    transport: &dyn Fn(&mut CardLock<'_>, &HighTerma<'_>) -> Result<(), CudaError>,
    request: &DoseRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamDose, Failure<DoseError>> {
    let add = |work: &mut MediumOnCard<'_>, field: &Field<'_>, factor: f32| {
        let FieldTerma {
            placement,
            terma,
            table,
            ..
        } = work.terma(field, factor)?;
        let MediumOnCard {
            card,
            beam,
            density,
            energy,
            clock,
            ready,
            ..
        } = work;
        let input = TransportInput {
            placement,
            density,
            terma: &terma,
            low_terma_norm: None,
            low_density_g_cm3: 0.0,
        };
        let cells = DeviceLayout::new(card, &input)?;
        let directions = line_directions(&placement, &beam.directions);
        let [.., along_z] = &cells.layouts.of_axis;
        let high_terma = HighTerma {
            size: placement.lattice.size,
            spacing_mm: placement.lattice.spacing_mm,
            source_mm: placement.source_mm,
            first_cell: along_z.first_cell,
            pitch: along_z.pitch,
            plane: along_z.plane,
            density: &cells.high_terma.density,
            terma: &cells.high_terma.terma,
            scale: &cells.scale,
            table: &table,
            directions: &directions,
            orders: ORDERS,
            deposit: &cells.deposit,
        };
        transport(card, &high_terma)?;
        let lines = BeamLines {
            beam,
            directions: &directions,
            table: &table,
        };
        *ready = Some(finish(card, &cells, &placement, &lines, factor, energy)?);
        clock.mark(card, "transport")
    };
    dose_by(request, device, control, add)
}
