//! The dose of a beam.

use super::angles::{AngleTable, TiltNorm};
use super::calibrate::calibration;
use super::kept::Kept;
use super::medium::Medium;
use super::superpose::{Released, superpose};
use super::terma::{Incident, terma};
use crate::case::{Beam, Radiation, Receipt};
use crate::engine::cccs::directions::{Direction, equal_energy_spiral};
use crate::engine::cccs::{BeamDose, DoseError, DoseRequest, DoseTo, Quality};
use crate::engine::cpu::path::radiological_depth;
use crate::engine::{Stopped, Watch};
use crate::geometry::{BeamFrame, Volume};
use crate::physics::kernel_beam::BeamKernel;
use crate::physics::{Fluence, Machine, Spectrum, exposures};
use glam::{DMat3, DVec3};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::sync::Arc;
use std::time::Instant;

/// Steps of an arc, degrees.
const ARC_STEP_DEG: f64 = 4.0;
/// Thinner than this (g/cm3) holds no dose worth the name.
const VACUUM_G_CM3: f32 = 1e-4;

/// The dose of one beam for its monitor units.
///
/// # Errors
/// [`DoseError`]: a beam that is no photon beam or delivers nothing, a grid that is uneven or lies outside the
/// patient, or the job was stopped.
pub fn beam_dose(request: &DoseRequest, watch: &Watch) -> Result<BeamDose, DoseError> {
    check(&request.beam)?;
    let mut clock = Clock::new();
    let medium = Medium::of(&request.patient, &request.machine.spectrum, &request.grid, watch)?;
    clock.phase("density");
    let per_mu = calibration(&request.machine, request.quality, watch)?;
    clock.phase("calibration");
    let beam = Superposition::of(&request.machine.spectrum, request.quality);
    let mut energy = vec![0.0_f32; medium.grid.len()];
    let shares = exposures(&request.beam, ARC_STEP_DEG);
    for (n, exposure) in shares.iter().enumerate() {
        let frame = BeamFrame::new(
            request.patient.position,
            exposure.gantry_deg,
            exposure.collimator_deg,
            exposure.couch_deg,
            request.beam.isocentre_mm,
            request.machine.sad_mm,
        );
        let fluence = Fluence::new(&request.machine, &request.beam, exposure)?;
        let field = Field {
            machine: &request.machine,
            frame: &frame,
            fluence: &fluence,
            electrons_gy: per_mu.electrons_gy,
        };
        let part = beam.energy(&field, &medium, &mut clock, watch)?;
        let factor = (exposure.share * request.beam.mu * per_mu.fluence) as f32;
        energy.iter_mut().zip(&part).for_each(|(e, p)| *e += factor * p);
        watch.report((n + 1) as f32 / shares.len() as f32);
    }
    let gy = cropped(request, &medium, &energy);
    clock.phase("crop");
    let work = medium.grid.len() * request.quality.directions() * shares.len();
    let receipt = Receipt {
        job: "cccs".to_owned(),
        digest: digest(request),
        device: format!("cpu ({} threads)", rayon::current_num_threads()),
        phases_ms: clock.phases_ms,
        warnings: Vec::new(),
        work: work as u64,
    };
    Ok(BeamDose { gy: Arc::new(gy), status: request.quality.status(), receipt: Arc::new(receipt) })
}

/// Equal requests have equal digests: the volumes by identity, the rest by value.
fn digest(request: &DoseRequest) -> String {
    let mut hasher = DefaultHasher::new();
    let DoseRequest { patient, machine, beam, grid, quality, dose_to } = request;
    let volumes = [patient.mass_density_g_cm3.id()];
    format!("{volumes:?} {:?} {machine:?} {beam:?} {grid:?} {quality:?} {dose_to:?}", patient.material.id())
        .hash(&mut hasher);
    format!("{:016x}", hasher.finish())
}

fn check(beam: &Beam) -> Result<(), DoseError> {
    let refuse = |why: &str| Err(DoseError::Beam { beam: beam.name.clone(), why: why.to_owned() });
    if let Some(why) = &beam.read_only {
        return refuse(why);
    }
    if beam.radiation != Radiation::Photon {
        return refuse("only photon beams are computed");
    }
    if !(beam.mu.is_finite() && beam.mu >= 0.0) {
        return refuse("its monitor units are not a number of zero or more");
    }
    if beam.control_points.is_empty() {
        return refuse("it has no control point, so no monitor units to deliver");
    }
    if !beam.isocentre_mm.is_finite() {
        return refuse("its isocentre is not a position");
    }
    Ok(())
}

/// The energy in the requested voxels over their mass.
fn cropped(request: &DoseRequest, medium: &Medium, energy: &[f32]) -> Volume<f32> {
    let [nx, ny, nz] = request.grid.size();
    let mass = match request.dose_to {
        DoseTo::Medium => &medium.mass_g_cm3[..],
        DoseTo::Water => medium.equivalent_g_cm3.data(),
    };
    let mut gy = Vec::with_capacity(nx * ny * nz);
    let [x, y, z] = medium.offset;
    for k in 0..nz {
        for j in 0..ny {
            let start = medium.grid.index(x, y + j, z + k);
            gy.extend(
                (start..start + nx).map(|i| if mass[i] > VACUUM_G_CM3 { energy[i] / mass[i] } else { 0.0 }),
            );
        }
    }
    Volume::new(Arc::clone(&request.grid), gy)
}

/// A field as it comes in.
pub(super) struct Field<'a> {
    pub(super) machine: &'a Machine,
    pub(super) frame: &'a BeamFrame,
    pub(super) fluence: &'a Fluence,
    /// Dose of contaminant electrons at the surface of the reference field, Gy for one photon per cm2 on the axis.
    pub(super) electrons_gy: f64,
}

/// Kernels and directions of a spectrum.
pub(super) struct Superposition {
    kernel: BeamKernel,
    table: AngleTable,
    directions: Vec<Direction>,
    lattices: usize,
}

impl Superposition {
    /// Kept for spectra lately used.
    pub(super) fn of(spectrum: &Spectrum, quality: Quality) -> Arc<Self> {
        static KEPT: Kept<(Spectrum, Quality), Superposition> = Kept::new(8);
        let made = KEPT.get((spectrum.clone(), quality), || {
            Ok::<_, std::convert::Infallible>(Self::new(spectrum, quality))
        });
        match made {
            Ok(made) => made,
        }
    }

    fn new(spectrum: &Spectrum, quality: Quality) -> Self {
        // Where the equal shares of energy are taken: the middle of what is treated.
        const DEPTH_CM: f64 = 10.0;
        let kernel = BeamKernel::new(&spectrum.energies_mev, &spectrum.photon_weights);
        let table = AngleTable::new(&kernel);
        let directions = equal_energy_spiral(&kernel.energy_by_cone(DEPTH_CM), quality.directions());
        Self { kernel, table, directions, lattices: quality.lattices() }
    }

    /// Energy per volume (Gy g/cm3) on the medium's grid for one photon per cm2 on the axis at the isocentre.
    pub(super) fn energy(
        &self,
        field: &Field<'_>,
        medium: &Medium,
        clock: &mut Clock,
        watch: &Watch,
    ) -> Result<Vec<f32>, Stopped> {
        let Field { machine, frame, fluence, electrons_gy } = *field;
        let grid = &medium.grid;
        let tilt = TiltNorm::new(&self.table, &self.directions, widest_tangent(frame, &grid.corners_mm()));
        let depth_mm = radiological_depth(&medium.equivalent_g_cm3, frame.source_mm, watch)?;
        clock.phase("path");
        let incident = Incident { machine, kernel: &self.kernel, frame, fluence, tilt: &tilt };
        let source = terma(&incident, &medium.equivalent_g_cm3, &depth_mm, watch)?;
        clock.phase("terma");
        let [x, y, z] = frame.axes.map(|a| grid.local_direction(a));
        let released = Released {
            lattice: medium.lattice(),
            density: medium.equivalent_g_cm3.data(),
            source: &source,
            source_mm: grid.local_from_patient(frame.source_mm),
            // Photons go against Zb.
            lattice_from_kernel: DMat3::from_cols(x, -y, -z),
        };
        let mut energy = superpose(&released, &self.table, &self.directions, self.lattices, watch)?;
        clock.phase("transport");
        if electrons_gy > 0.0 {
            incident.add_electrons(electrons_gy, &medium.equivalent_g_cm3, &depth_mm, &mut energy);
            clock.phase("electrons");
        }
        Ok(energy)
    }
}

/// Largest tangent of a ray's tilt against the beam axis, over the corners of a box; 1 where a corner is at or behind the source.
fn widest_tangent(frame: &BeamFrame, corners_mm: &[DVec3]) -> f64 {
    let tangent = |corner: &DVec3| {
        frame.project(*corner).map_or(1.0, |([x, y], _)| (x.abs().max(y.abs()) / frame.sad_mm).min(1.0))
    };
    corners_mm.iter().map(tangent).fold(0.0, f64::max)
}

/// Wall times of the phases of a job; a phase met again adds to what it has.
pub(super) struct Clock {
    last: Instant,
    phases_ms: Vec<(String, f64)>,
}

impl Clock {
    pub(super) fn new() -> Self {
        Self { last: Instant::now(), phases_ms: Vec::new() }
    }

    fn phase(&mut self, name: &str) {
        let ms = self.last.elapsed().as_secs_f64() * 1000.0;
        match self.phases_ms.iter_mut().find(|(n, _)| n == name) {
            Some((_, sum)) => *sum += ms,
            None => self.phases_ms.push((name.to_owned(), ms)),
        }
        self.last = Instant::now();
    }
}
