//! Gy per monitor unit, by the engine at the machine's reference condition.

use super::beam::{Field, Superposition};
use crate::cache::{ByteSize, Cache};
use crate::dose::medium::Medium;
use crate::dose::{DoseError, Quality};
use crate::histories::head::MachineOutput;
use case::{Beam, Jaws};
use geometry::{BeamFrame, Grid, PatientPosition};
use glam::DVec3;
use physics::{Calibration, Fluence, Machine, exposures};
use std::sync::LazyLock;

/// Voxels of the reference phantom across the beam, and along it at most, mm.
const SPACING_MM: f64 = 5.0;
const THICKEST_MM: f64 = 3.0;
/// Water beyond the field's edge and below the point of calibration, mm.
const MARGIN_MM: f64 = 100.0;

/// The monitor unit of a machine.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MonitorUnit {
    /// Photons per cm2 on the axis at the isocentre.
    pub fluence: f64,
    /// Dose of contaminant electrons at the surface on the axis of the reference field, at the isocentre distance, Gy for
    /// one photon per cm2.
    pub electrons_gy: f64,
}

impl ByteSize for MonitorUnit {}

/// The monitor unit of a machine, for an engine that samples histories.
pub type MonitorUnitOf<'a> = &'a dyn Fn(&Machine) -> Result<MonitorUnit, DoseError>;

impl MonitorUnit {
    /// Output of the machine for it, from which histories start.
    pub fn output(self) -> MachineOutput {
        MachineOutput {
            photons_per_cm2: self.fluence,
            has_electrons: self.electrons_gy > 0.0,
        }
    }
}

/// Monitor units on the CPU, for as long as the process runs: each call from Python, and each window of a test, has a cache of its
/// own, and would compute them again. Cards differ from one another; theirs stay in the cache of whoever opened one.
static ON_THE_CPU: LazyLock<Cache> = LazyLock::new(Cache::default);

/// The monitor unit of a machine: its reference dose over what the engine gives in the reference condition, at the same
/// quality, so that what few directions miss on the axis cancels. One photon per cm2 for machines that are not
/// calibrated in MU. Cached by machine, quality and device: `energy` (Gy g/cm3 per photon and cm2) is
/// computed by `device`, and equal runs have equal bits whatever ran before.
///
/// # Errors
/// [`DoseError`] as for any dose.
pub fn calibration<E: From<DoseError>>(
    machine: &Machine,
    quality: Quality,
    device: &'static str,
    cache: &Cache,
    energy: impl FnOnce(&Superposition, &Field<'_>, &Medium) -> Result<Vec<f32>, E>,
) -> Result<MonitorUnit, E> {
    let Calibration::Reference {
        field_mm,
        ssd_mm,
        depth_mm,
        gy_per_mu,
    } = machine.calibration
    else {
        return Ok(MonitorUnit {
            fluence: 1.0,
            electrons_gy: 0.0,
        });
    };
    let kept = if device == "cpu" { &*ON_THE_CPU } else { cache };
    let unit = kept.get((machine.clone(), quality, device), || {
        let reference = Reference {
            field_mm,
            ssd_mm,
            depth_mm,
        };
        let photons_gy = reference.dose(
            &Superposition::cached(machine, quality, cache),
            machine,
            energy,
        )?;
        // The reference dose holds the electrons' share at the depth of calibration.
        let electrons = machine
            .electrons
            .map_or(0.0, |e| e.surface_share * e.at_depth(depth_mm));
        let total_gy = photons_gy / (1.0 - electrons);
        let surface = machine.electrons.map_or(0.0, |e| e.surface_share) * total_gy;
        Ok::<_, E>(MonitorUnit {
            fluence: gy_per_mu / total_gy,
            electrons_gy: surface * (ssd_mm / machine.sad_mm).powi(2),
        })
    })?;
    Ok(*unit)
}

/// The reference condition, mm.
struct Reference {
    field_mm: [f64; 2],
    ssd_mm: f64,
    depth_mm: f64,
}

impl Reference {
    /// Gy on its axis in water, for one photon per cm2 on the axis at the isocentre.
    fn dose<E: From<DoseError>>(
        &self,
        superposition: &Superposition,
        machine: &Machine,
        energy: impl FnOnce(&Superposition, &Field<'_>, &Medium) -> Result<Vec<f32>, E>,
    ) -> Result<f64, E> {
        let Self {
            field_mm,
            ssd_mm,
            depth_mm,
        } = *self;
        // The field on the surface of the phantom's far side is the widest.
        let widest =
            field_mm[0].max(field_mm[1]) * (ssd_mm + depth_mm + MARGIN_MM) / machine.sad_mm;
        // An odd number across puts a voxel's centre on the axis, their thickness one at the depth of calibration. Dose curves most
        // there: voxels of 5 mm that meet at its maximum are 0.7 % short of it at 6 MV, and every dose would be as much too high.
        let across = 2 * ((0.5 * widest + MARGIN_MM) / SPACING_MM).ceil() as usize + 1;
        let above = (depth_mm / THICKEST_MM - 0.5).ceil().max(0.0);
        let thickness_mm = depth_mm / (above + 0.5);
        let down = ((depth_mm + MARGIN_MM) / thickness_mm).ceil() as usize;
        let half = (across - 1) as f64 * 0.5 * SPACING_MM;
        // Gantry 0, head first supine: the beam goes along +y. The surface lies at y = ssd - sad.
        let surface = ssd_mm - machine.sad_mm;
        let origin = DVec3::new(-half, surface + 0.5 * thickness_mm, -half);
        let spacing = DVec3::new(SPACING_MM, thickness_mm, SPACING_MM);
        let grid =
            Grid::axis_aligned(origin, spacing, [across, down, across]).map_err(DoseError::from)?;
        let medium = Medium::water(grid);
        let beam = Beam::fixed(
            "reference",
            1,
            0.0,
            DVec3::ZERO,
            Jaws::symmetric(field_mm[0], field_mm[1]),
            1.0,
        );
        let shares = exposures(&beam, 1.0);
        let fluence = Fluence::new(machine, &beam, &shares[0]).map_err(DoseError::from)?;
        let frame = BeamFrame::new(
            PatientPosition::Hfs,
            0.0,
            0.0,
            0.0,
            DVec3::ZERO,
            machine.sad_mm,
        );
        let field = Field {
            machine,
            frame: &frame,
            fluence: &fluence,
            electrons_gy: 0.0,
        };
        let energy = energy(superposition, &field, &medium)?;
        let dose = f64::from(energy[medium.grid.index(across / 2, above as usize, across / 2)]);
        if dose > 0.0 {
            Ok(dose)
        } else {
            Err(DoseError::Calibration {
                machine: machine.name.clone(),
            }
            .into())
        }
    }
}
