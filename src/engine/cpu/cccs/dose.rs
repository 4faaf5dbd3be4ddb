//! The dose of a beam.

use super::superpose::{Released, superpose};
use super::terma::{Incident, terma};
use crate::engine::cccs::beam::{Field, Superposition, VACUUM_G_CM3, grid_from_kernel, mass_of};
use crate::engine::cccs::calibrate::{MonitorUnit, calibration};
use crate::engine::cccs::job::{Clock, answer, check, digest, each_field};
use crate::engine::cccs::medium::Medium;
use crate::engine::cccs::near::Tilts;
use crate::engine::cccs::{BeamDose, DoseError, DoseRequest, DoseTo, Quality};
use crate::engine::cpu::path::radiological_depth;
use crate::engine::{Stopped, Watch};
use crate::geometry::Grid;
use crate::physics::Machine;
use rayon::prelude::*;

/// The dose of one beam for its monitor units.
///
/// # Errors
/// [`DoseError`]: a beam that is no photon beam or delivers nothing, a grid that is uneven or lies outside the
/// patient, or the job was stopped.
pub fn beam_dose(request: &DoseRequest, watch: &Watch) -> Result<BeamDose, DoseError> {
    check(&request.beam)?;
    let mut clock = Clock::start();
    let medium = Medium::of(&request.patient, &request.machine.spectrum, &request.grid, watch)?;
    clock.phase("density");
    let aside = watch.aside();
    let per_mu = calibration(&request.machine, request.quality, "cpu", |beam, field, water| {
        energy(beam, field, water, &mut Clock::start(), &aside).map_err(DoseError::from)
    })?;
    clock.phase("calibration");
    let beam = Superposition::of(&request.machine, request.quality);
    let mut sum = vec![0.0_f32; medium.grid.len()];
    // Of several fields none is the whole.
    let within = if request.beam.control_points.len() > 1 { aside } else { watch.clone() };
    let fields = each_field(request, &per_mu, watch, |field, factor| {
        let part = energy(&beam, field, &medium, &mut clock, &within)?;
        sum.par_iter_mut().zip(&part).for_each(|(e, p)| *e += factor * p);
        Ok::<_, DoseError>(())
    })?;
    let gy = cropped(&request.grid, request.dose_to, &medium, &sum);
    clock.phase("crop");
    let device = format!("cpu ({} threads)", rayon::current_num_threads());
    Ok(answer(request, digest(request), &medium, fields, gy, device, clock))
}

/// What a monitor unit of a machine is, by the CPU at full quality.
///
/// # Errors
/// As for any dose at the machine's reference condition.
pub fn monitor_unit(machine: &Machine, watch: &Watch) -> Result<MonitorUnit, DoseError> {
    let aside = watch.aside();
    calibration(machine, Quality::Full, "cpu", |beam, field, water| {
        energy(beam, field, water, &mut Clock::start(), &aside).map_err(DoseError::from)
    })
}

/// The energy in the requested voxels over their mass.
pub fn cropped(request: &Grid, dose_to: DoseTo, medium: &Medium, energy: &[f32]) -> Vec<f32> {
    let [nx, ny, nz] = request.size();
    let mass = mass_of(medium, dose_to).data();
    let [x, y, z] = medium.offset;
    let mut gy = vec![0.0; nx * ny * nz];
    gy.par_chunks_mut(nx).enumerate().for_each(|(row, gy)| {
        let start = medium.grid.index(x, y + row % ny, z + row / ny);
        for (gy, i) in gy.iter_mut().zip(start..) {
            *gy = if mass[i] > VACUUM_G_CM3 { energy[i] / mass[i] } else { 0.0 };
        }
    });
    gy
}

/// Energy per volume (Gy g/cm3) on the medium's grid for one photon per cm2 on the axis at the isocentre.
fn energy(
    beam: &Superposition,
    field: &Field<'_>,
    medium: &Medium,
    clock: &mut Clock,
    watch: &Watch,
) -> Result<Vec<f32>, Stopped> {
    let Field { machine, frame, fluence, electrons_gy } = *field;
    let grid = &medium.grid;
    let tilt = beam.tilt_norm(frame, grid);
    let depth_mm = radiological_depth(&medium.equivalent_g_cm3, frame.source_mm, watch)?;
    clock.phase("path");
    let incident = Incident { machine, beam, frame, fluence, tilt: &tilt };
    let source = terma(&incident, &medium.equivalent_g_cm3, &depth_mm, watch)?;
    clock.phase("terma");
    let released = Released {
        lattice: medium.lattice(),
        density: medium.equivalent_g_cm3.data(),
        source: &source,
        source_mm: grid.local_from_patient(frame.source_mm),
        lattice_from_kernel: grid_from_kernel(frame, grid),
        tilts: Tilts::within(fluence.widest_mm() / frame.sad_mm),
        faint_norm: beam.faint_norm(&tilt),
    };
    let mut energy = superpose(&released, beam, watch)?;
    clock.phase("transport");
    if electrons_gy > 0.0 {
        incident.add_electrons(electrons_gy, &medium.equivalent_g_cm3, &depth_mm, &mut energy);
        clock.phase("electrons");
    }
    Ok(energy)
}
