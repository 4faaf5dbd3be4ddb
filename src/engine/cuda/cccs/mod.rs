//! Collapsed-cone convolution/superposition on a card: the algorithm of [`engine::cpu::cccs`](crate::engine::cpu::cccs).

mod superpose;

use super::{Buffer, CudaError, Device, Session};
use crate::case::Receipt;
use crate::engine::cccs::beam::{
    ARC_STEP_DEG, Clock, Field, Superposition, check, cropped, digest, frame_of, grid_from_kernel,
};
use crate::engine::cccs::calibrate::calibration;
use crate::engine::cccs::medium::Medium;
use crate::engine::cccs::{BeamDose, DoseError, DoseRequest};
use crate::engine::cpu::cccs::incoming;
use crate::engine::{Stopped, Watch};
use crate::physics::{Fluence, exposures};
use std::sync::Arc;
use superpose::{Placement, Release, Released, coefficients, superpose};
use thiserror::Error;

/// Why a card gave no dose.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Failure {
    /// No device would.
    #[error(transparent)]
    Dose(#[from] DoseError),
    #[error(transparent)]
    Card(#[from] CudaError),
}

impl From<Stopped> for Failure {
    fn from(stopped: Stopped) -> Self {
        Self::Dose(stopped.into())
    }
}

/// The dose of one beam for its monitor units.
///
/// # Errors
/// [`Failure`].
pub fn beam_dose(request: &DoseRequest, device: &Device, watch: &Watch) -> Result<BeamDose, Failure> {
    check(&request.beam)?;
    let mut clock = Clock::new();
    let medium = Medium::of(&request.patient, &request.machine.spectrum, &request.grid, watch)?;
    clock.phase("density");
    let per_mu = calibration(&request.machine, request.quality, "cuda", |beam, field, water| {
        let mut work = Work::new(device, beam, water)?;
        work.add(field, 1.0, &mut Clock::new(), watch)?;
        Ok::<_, Failure>(work.energy()?)
    })?;
    clock.phase("calibration");
    let beam = Superposition::of(&request.machine.spectrum, request.quality);
    let mut work = Work::new(device, &beam, &medium)?;
    clock.phase("upload");
    let shares = exposures(&request.beam, ARC_STEP_DEG);
    for (n, exposure) in shares.iter().enumerate() {
        let frame = frame_of(request, exposure);
        let fluence = Fluence::new(&request.machine, &request.beam, exposure).map_err(DoseError::from)?;
        let field = Field {
            machine: &request.machine,
            frame: &frame,
            fluence: &fluence,
            electrons_gy: per_mu.electrons_gy,
        };
        let factor = (exposure.share * request.beam.mu * per_mu.fluence) as f32;
        work.add(&field, factor, &mut clock, watch)?;
        watch.report((n + 1) as f32 / shares.len() as f32);
    }
    let energy = work.energy()?;
    clock.phase("download");
    let gy = cropped(request, &medium, &energy);
    clock.phase("crop");
    let voxels = medium.grid.len() * request.quality.directions() * shares.len();
    let receipt = Receipt {
        job: "cccs".to_owned(),
        digest: digest(request),
        device: device.card().to_string(),
        phases_ms: clock.phases_ms,
        warnings: Vec::new(),
        work: voxels as u64,
    };
    Ok(BeamDose { gy: Arc::new(gy), status: request.quality.status(), receipt: Arc::new(receipt) })
}

/// A medium on a card, and the energy that fields add up to there.
struct Work<'a> {
    session: Session<'a>,
    beam: &'a Superposition,
    medium: &'a Medium,
    density: Arc<Buffer<f32>>,
    table: Buffer<superpose::Coefficients>,
    energy: Buffer<f32>,
    electrons: Vec<f32>,
}

impl<'a> Work<'a> {
    fn new(device: &'a Device, beam: &'a Superposition, medium: &'a Medium) -> Result<Self, CudaError> {
        let mut session = device.session();
        let density = session.uploaded(&medium.equivalent_g_cm3)?;
        let table = session.upload(&coefficients(&beam.table))?;
        let energy = session.alloc(medium.grid.len())?;
        session.fill(&energy, 0)?;
        Ok(Self { session, beam, medium, density, table, energy, electrons: Vec::new() })
    }

    /// Adds `factor` times the energy of a field.
    fn add(
        &mut self,
        field: &Field<'_>,
        factor: f32,
        clock: &mut Clock,
        watch: &Watch,
    ) -> Result<(), Failure> {
        let grid = &self.medium.grid;
        let incoming = incoming(self.beam, field, self.medium, clock, watch)?;
        let channels = &incoming.release;
        let release: Vec<Release> =
            (0..grid.len()).map(|i| std::array::from_fn(|c| channels[c][i])).collect();
        let release = self.session.upload(&release)?;
        clock.phase("release upload");
        let released = Released {
            placement: Placement {
                lattice: self.medium.lattice(),
                source_mm: grid.local_from_patient(field.frame.source_mm),
                lattice_from_kernel: grid_from_kernel(field.frame, grid),
            },
            density: &self.density,
            release: &release,
        };
        let Superposition { directions, lattices, .. } = self.beam;
        let table = &self.table;
        let mut card = self.session.clock()?;
        superpose(&mut self.session, &released, table, directions, *lattices, factor, &self.energy)?;
        card.mark(&self.session, "transport")?;
        clock.take(card.finish(&self.session)?);
        if let Some(electrons) = incoming.electrons {
            self.electrons.resize(grid.len(), 0.0);
            self.electrons.iter_mut().zip(electrons).for_each(|(sum, e)| *sum += factor * e);
        }
        Ok(())
    }

    /// Energy per volume (Gy g/cm3) on the medium's grid.
    fn energy(&mut self) -> Result<Vec<f32>, CudaError> {
        let mut energy = self.session.download(&self.energy)?;
        energy.iter_mut().zip(&self.electrons).for_each(|(energy, e)| *energy += e);
        Ok(energy)
    }
}
