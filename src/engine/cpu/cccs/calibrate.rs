//! Gy per monitor unit: the engine itself at the machine's reference condition.

use super::dose::{Clock, Superposition};
use super::medium::Medium;
use crate::case::{Beam, Jaws};
use crate::engine::Watch;
use crate::engine::cccs::{DoseError, Quality};
use crate::geometry::{BeamFrame, Grid, PatientPosition};
use crate::physics::{Calibration, Fluence, Machine, exposures};
use glam::DVec3;
use std::sync::Mutex;

/// Voxels of the reference phantom, mm.
const SPACING_MM: f64 = 5.0;
/// Water beyond the field's edge and below the point of calibration, mm.
const MARGIN_MM: f64 = 100.0;

/// Dose per monitor unit of a fluence of one photon per cm2 on the axis at the isocentre: the reference dose divided by
/// what the engine gives in the reference condition, at the same quality, so that what few directions miss on the axis
/// cancels. 1 for machines without a calibration in MU. Kept for machines already seen.
///
/// # Errors
/// [`DoseError`] as for any dose.
pub fn gy_per_mu(machine: &Machine, quality: Quality, watch: &Watch) -> Result<f64, DoseError> {
    static SEEN: Mutex<Vec<(Machine, usize, f64)>> = Mutex::new(Vec::new());
    const KEPT: usize = 16;
    let Calibration::Reference { field_mm, ssd_mm, depth_mm, gy_per_mu } = machine.calibration else {
        return Ok(1.0);
    };
    let lock = || SEEN.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    let directions = quality.directions();
    if let Some((.., factor)) = lock().iter().find(|(m, n, _)| *n == directions && m == machine) {
        return Ok(*factor);
    }
    let factor = gy_per_mu / reference_dose(machine, quality, field_mm, ssd_mm, depth_mm, watch)?;
    let mut seen = lock();
    if seen.len() >= KEPT {
        seen.remove(0);
    }
    seen.push((machine.clone(), directions, factor));
    Ok(factor)
}

/// Gy on the axis of the reference field in water, for one photon per cm2 on the axis at the isocentre.
fn reference_dose(
    machine: &Machine,
    quality: Quality,
    field_mm: [f64; 2],
    ssd_mm: f64,
    depth_mm: f64,
    watch: &Watch,
) -> Result<f64, DoseError> {
    // The field on the surface of the phantom's far side is the widest.
    let widest = field_mm[0].max(field_mm[1]) * (ssd_mm + depth_mm + MARGIN_MM) / machine.sad_mm;
    // An odd number across puts a voxel's centre on the axis; a whole one down puts one's face on the surface.
    let across = 2 * ((0.5 * widest + MARGIN_MM) / SPACING_MM).ceil() as usize + 1;
    let down = ((depth_mm + MARGIN_MM) / SPACING_MM).ceil() as usize;
    let half = (across - 1) as f64 * 0.5 * SPACING_MM;
    // Gantry 0, head first supine: the beam goes along +y. The surface lies at y = ssd - sad.
    let surface = ssd_mm - machine.sad_mm;
    let origin = DVec3::new(-half, surface + 0.5 * SPACING_MM, -half);
    let grid = Grid::axis_aligned(origin, DVec3::splat(SPACING_MM), [across, down, across])?;
    let medium = Medium::water(grid);
    let beam = Beam::fixed("reference", 1, 0.0, DVec3::ZERO, Jaws::symmetric(field_mm[0], field_mm[1]), 1.0);
    let shares = exposures(&beam, 1.0);
    let fluence = Fluence::new(machine, &beam, &shares[0])?;
    let frame = BeamFrame::new(PatientPosition::Hfs, 0.0, 0.0, 0.0, DVec3::ZERO, machine.sad_mm);
    let energy = Superposition::new(&machine.spectrum, quality).energy(
        machine,
        &frame,
        &fluence,
        &medium,
        &mut Clock::new(),
        watch,
    )?;
    let at = |j: usize| f64::from(energy[medium.grid.index(across / 2, j, across / 2)]);
    // Linear between the two voxels round the depth.
    let place = (depth_mm / SPACING_MM - 0.5).clamp(0.0, (down - 1) as f64);
    let j = (place as usize).min(down - 2);
    let t = place - j as f64;
    let dose = at(j) * (1.0 - t) + at(j + 1) * t;
    if dose > 0.0 { Ok(dose) } else { Err(DoseError::Calibration { machine: machine.name.clone() }) }
}
