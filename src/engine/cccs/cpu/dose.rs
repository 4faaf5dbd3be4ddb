//! The dose of a beam.

use super::superpose::{TransportInput, superpose};
use super::terma::{Incident, terma};
use crate::cccs::beam::{Field, Superposition, grid_from_kernel};
use crate::cccs::calibrate::{MonitorUnit, calibration};
use crate::cccs::correction::Tilts;
use crate::cccs::job::{answer, each_field};
use crate::dose::medium::{Medium, cropped, mass_of};
use crate::dose::{BeamDose, DoseError, DoseRequest, Quality};
use crate::dose::{Clock, check, digest};
use crate::path::cpu::radiological_depth;
use crate::{Cancelled, JobControl};
use physics::Machine;
use rayon::prelude::*;

/// The dose of one beam for its monitor units.
pub fn beam_dose(request: &DoseRequest, control: &JobControl) -> Result<BeamDose, DoseError> {
    check(&request.beam)?;
    let mut clock = Clock::start();
    let medium = Medium::cached(
        &request.patient,
        &request.machine.spectrum,
        &request.grid,
        control,
    )?;
    clock.phase("density");
    let child = control.child();
    let per_mu = monitor_unit_at(&request.machine, request.quality, control)?;
    clock.phase("calibration");
    let beam = Superposition::cached(&request.machine, request.quality, control.cache());
    let mut sum = vec![0.0_f32; medium.grid.len()];
    // Of several fields none is the whole.
    let within = if request.beam.control_points.len() > 1 {
        child
    } else {
        control.clone()
    };
    let fields = each_field(request, &per_mu, control, |field, factor| {
        let part = energy(&beam, field, &medium, &mut clock, &within)?;
        sum.par_iter_mut()
            .zip(&part)
            .for_each(|(e, p)| *e += factor * p);
        Ok::<_, DoseError>(())
    })?;
    let gy = cropped(
        &request.grid,
        &medium,
        mass_of(&medium, request.dose_to),
        |voxel| sum[voxel],
    );
    clock.phase("crop");
    let device = format!("cpu ({} threads)", rayon::current_num_threads());
    Ok(answer(
        request,
        digest(request),
        &medium,
        fields,
        gy,
        device,
        clock,
    ))
}

/// The monitor unit of a machine, by the CPU at full quality.
pub fn monitor_unit(machine: &Machine, control: &JobControl) -> Result<MonitorUnit, DoseError> {
    monitor_unit_at(machine, Quality::Full, control)
}

/// The monitor unit of a machine at a quality.
pub fn monitor_unit_at(
    machine: &Machine,
    quality: Quality,
    control: &JobControl,
) -> Result<MonitorUnit, DoseError> {
    let child = control.child();
    calibration(
        machine,
        quality,
        "cpu",
        control.cache(),
        |beam, field, water| energy_of(beam, field, water, &child).map_err(DoseError::from),
    )
}

/// Energy per volume of a field, as [`energy`], without the times of its phases.
pub fn energy_of(
    beam: &Superposition,
    field: &Field<'_>,
    medium: &Medium,
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    energy(beam, field, medium, &mut Clock::start(), control)
}

/// Energy per volume (Gy g/cm3) on the medium's grid for one photon per cm2 on the axis at the isocentre.
fn energy(
    beam: &Superposition,
    field: &Field<'_>,
    medium: &Medium,
    clock: &mut Clock,
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    let Field {
        machine,
        frame,
        fluence,
        electrons_gy,
    } = *field;
    let grid = &medium.grid;
    let tilt = beam.tilt_norm(frame, grid);
    let depth_mm = radiological_depth(&medium.equivalent_g_cm3, frame.source_mm, control)?;
    clock.phase("path");
    let incident = Incident {
        machine,
        beam,
        frame,
        fluence,
        tilt: &tilt,
    };
    let terma = terma(&incident, &medium.equivalent_g_cm3, &depth_mm, control)?;
    clock.phase("terma");
    let input = TransportInput {
        lattice: medium.lattice(),
        density: medium.equivalent_g_cm3.data(),
        terma: &terma,
        source_mm: grid.local_from_patient(frame.source_mm),
        lattice_from_kernel: grid_from_kernel(frame, grid),
        tilts: Tilts::within(fluence.widest_mm() / frame.sad_mm),
        low_terma_norm: beam.low_terma_norm(&tilt),
    };
    let mut energy = superpose(&input, beam, control)?;
    clock.phase("transport");
    if electrons_gy > 0.0 {
        incident.add_electrons(
            electrons_gy,
            &medium.equivalent_g_cm3,
            &depth_mm,
            &mut energy,
        );
        clock.phase("electrons");
    }
    Ok(energy)
}
