//! Gy per monitor unit: the engine itself at the machine's reference condition.

use super::dose::{Clock, Field, Superposition};
use super::kept::Kept;
use super::medium::Medium;
use crate::case::{Beam, Jaws};
use crate::engine::Watch;
use crate::engine::cccs::{DoseError, Quality};
use crate::geometry::{BeamFrame, Grid, PatientPosition};
use crate::physics::{Calibration, Fluence, Machine, exposures};
use glam::DVec3;

/// Voxels of the reference phantom, mm.
const SPACING_MM: f64 = 5.0;
/// Water beyond the field's edge and below the point of calibration, mm.
const MARGIN_MM: f64 = 100.0;

/// What a monitor unit is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonitorUnit {
    /// Photons per cm2 on the axis at the isocentre.
    pub fluence: f64,
    /// Dose of contaminant electrons at the surface on the axis of the reference field, at the isocentre distance, Gy for
    /// one photon per cm2.
    pub electrons_gy: f64,
}

/// The monitor unit of a machine: its reference dose over what the engine gives in the reference condition, at the same
/// quality, so that what few directions miss on the axis cancels. One photon per cm2 for machines that are not
/// calibrated in MU. Kept for machines already seen.
///
/// # Errors
/// [`DoseError`] as for any dose.
pub fn calibration(machine: &Machine, quality: Quality, watch: &Watch) -> Result<MonitorUnit, DoseError> {
    static SEEN: Kept<(Machine, Quality), MonitorUnit> = Kept::new(16);
    let Calibration::Reference { field_mm, ssd_mm, depth_mm, gy_per_mu } = machine.calibration else {
        return Ok(MonitorUnit { fluence: 1.0, electrons_gy: 0.0 });
    };
    let unit = SEEN.get((machine.clone(), quality), || {
        let photons_gy = reference_dose(machine, quality, field_mm, ssd_mm, depth_mm, watch)?;
        // The reference dose holds the electrons' share at the depth of calibration.
        let electrons = machine.electrons.map_or(0.0, |e| e.surface_share * e.at_depth(depth_mm));
        let total_gy = photons_gy / (1.0 - electrons);
        let surface = machine.electrons.map_or(0.0, |e| e.surface_share) * total_gy;
        Ok::<_, DoseError>(MonitorUnit {
            fluence: gy_per_mu / total_gy,
            electrons_gy: surface * (ssd_mm / machine.sad_mm).powi(2),
        })
    })?;
    Ok(*unit)
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
    let field = Field { machine, frame: &frame, fluence: &fluence, electrons_gy: 0.0 };
    let superposition = Superposition::of(&machine.spectrum, quality);
    let energy = superposition.energy(&field, &medium, &mut Clock::new(), watch)?;
    let at = |j: usize| f64::from(energy[medium.grid.index(across / 2, j, across / 2)]);
    // Linear between the two voxels round the depth.
    let place = (depth_mm / SPACING_MM - 0.5).clamp(0.0, (down - 1) as f64);
    let j = (place as usize).min(down - 2);
    let t = place - j as f64;
    let dose = at(j) * (1.0 - t) + at(j + 1) * t;
    if dose > 0.0 { Ok(dose) } else { Err(DoseError::Calibration { machine: machine.name.clone() }) }
}
