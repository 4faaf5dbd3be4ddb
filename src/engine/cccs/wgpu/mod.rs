//! Collapsed-cone convolution/superposition on a graphics device: the algorithm of [`engine::cccs::cpu`](crate::cccs::cpu).

pub(crate) mod correction;
mod dose;
pub(crate) mod superpose;
mod terma;

use crate::JobControl;
use crate::cccs::beam::{Field, Superposition, grid_from_kernel};
use crate::cccs::calibrate::{MonitorUnit, calibration};
use crate::cccs::correction::Tilts;
use crate::cccs::job::{answer, each_field};
use crate::dose::medium::Medium;
use crate::dose::medium::mass_of;
use crate::dose::{BeamDose, DoseError, DoseRequest, Quality};
use crate::dose::{Clock, check, digest};
use crate::job_control::Phases;
use crate::path::wgpu as path;
use crate::wgpu::{Buffer, Device, Failure, Session, WgpuError};
use correction::add_correction;
use physics::Machine;
use std::sync::Arc;
use superpose::{Placement, TransportInput, superpose};
use terma::{Voxels, terma};

#[cfg(test)]
pub(crate) const KERNELS: &[&crate::wgpu::Kernel] = &[
    &terma::TERMA,
    &superpose::LAYOUT,
    &superpose::TRANSPORT,
    &correction::CORRECTION,
    &dose::ADD,
    &dose::CROP,
];

/// The dose of one beam for its monitor units.
///
/// # Errors
/// The request or the device at fault, or a cancelled job.
pub fn beam_dose(
    request: &DoseRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamDose, Failure<DoseError>> {
    check(&request.beam)?;
    let mut clock = Clock::start();
    let medium = Medium::cached(
        &request.patient,
        &request.machine.spectrum,
        &request.grid,
        control,
    )?;
    clock.phase("density");
    let per_mu = monitor_unit_at(&request.machine, request.quality, device, control)?;
    clock.phase("calibration");
    let beam = Superposition::cached(&request.machine, request.quality, control.cache());
    let mut work = MediumOnDevice::new(device, &beam, &medium, control)?;
    let fields = each_field(request, &per_mu, control, |field, factor| {
        Ok::<_, Failure<DoseError>>(work.add(field, factor)?)
    })?;
    clock.phase("queue");
    let (gy, on_device) = work.dose(request)?;
    clock.phase("wait and download");
    clock.take(on_device);
    let device = device.adapter().to_string();
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

/// The monitor unit of a machine at a quality.
pub(crate) fn monitor_unit_at(
    machine: &Machine,
    quality: Quality,
    device: &Device,
    control: &JobControl,
) -> Result<MonitorUnit, Failure<DoseError>> {
    calibration(
        machine,
        quality,
        "wgpu",
        control.cache(),
        |beam, field, water| {
            Ok::<_, Failure<DoseError>>(energy_of(beam, field, water, device, control)?)
        },
    )
}

/// Energy per volume (Gy g/cm3) of a field on the medium's grid for one photon per cm2 on the axis at the isocentre.
pub(crate) fn energy_of(
    beam: &Superposition,
    field: &Field<'_>,
    medium: &Medium,
    device: &Device,
    control: &JobControl,
) -> Result<Vec<f32>, WgpuError> {
    let mut work = MediumOnDevice::new(device, beam, medium, control)?;
    work.add(field, 1.0)?;
    work.energy()
}

/// A medium on a device, and the energy that fields add up to there.
struct MediumOnDevice<'a> {
    session: Session<'a>,
    beam: &'a Superposition,
    medium: &'a Medium,
    density: Arc<Buffer<f32>>,
    energy: Buffer<f32>,
}

impl<'a> MediumOnDevice<'a> {
    fn new(
        device: &'a Device,
        beam: &'a Superposition,
        medium: &'a Medium,
        control: &'a JobControl,
    ) -> Result<Self, WgpuError> {
        let mut session = device.session(control);
        let density = session.uploaded("density", &medium.equivalent_g_cm3)?;
        let energy = session.zeroed("energy", medium.grid.len())?;
        Ok(Self {
            session,
            beam,
            medium,
            density,
            energy,
        })
    }

    /// Queues a field: adds `factor` times its energy.
    fn add(&mut self, field: &Field<'_>, factor: f32) -> Result<(), WgpuError> {
        let Self {
            session,
            beam,
            medium,
            density,
            energy,
        } = self;
        let grid = &medium.grid;
        let source_mm = field.frame.source_mm;
        let depth_mm = path::queue(session, &medium.equivalent_g_cm3, source_mm, grid)?;
        session.phase("trace")?;
        let tilt = beam.tilt_norm(field.frame, grid);
        let voxels = Voxels {
            medium,
            density,
            depth_mm: &depth_mm,
        };
        let (terma, greatest) = terma(session, field, beam, &tilt, &voxels, factor, energy)?;
        session.phase("terma")?;
        let placement = Placement {
            lattice: medium.lattice(),
            source_mm: grid.local_from_patient(source_mm),
            lattice_from_kernel: grid_from_kernel(field.frame, grid),
        };
        let input = TransportInput {
            placement,
            density,
            terma: &terma,
            greatest: &greatest,
            low_terma_norm: beam.low_terma_norm(&tilt),
        };
        let transported = superpose(session, &input, beam)?;
        if beam.corrected {
            let tilts = Tilts::within(field.fluence.widest_mm() / field.frame.sad_mm);
            add_correction(session, &placement, beam, tilts, &transported, &greatest)?;
        }
        dose::add(session, medium, &transported, &greatest, factor, energy)?;
        session.phase("transport")
    }

    /// Energy per volume (Gy g/cm3) on the medium's grid.
    fn energy(self) -> Result<Vec<f32>, WgpuError> {
        self.session.download("energy", &self.energy)
    }

    /// The requested dose, and the phases.
    fn dose(mut self, request: &DoseRequest) -> Result<(Vec<f32>, Phases), WgpuError> {
        let mass = self
            .session
            .uploaded("mass", mass_of(self.medium, request.dose_to))?;
        let gy = dose::crop(
            &mut self.session,
            self.medium,
            request.grid.size(),
            &self.energy,
            &mass,
        )?;
        self.session.phase("crop")?;
        let gy = self.session.download("dose", &gy)?;
        Ok((gy, self.session.finish()?))
    }
}

#[cfg(test)]
mod tests {
    use super::{correction, superpose, terma};
    use crate::cccs::angles::{ANGLES, STEP_DEG, TILTS};
    use crate::cccs::correction::DENSEST;
    use crate::wgpu::kernel::constant;
    use physics::kernel_fit::SLOWEST_PER_CM;

    /// The kernels repeat constants of the kernel fit and the angle table: a change on one side alone would be a wrong dose.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let (transport, terma, correction) = (
            &superpose::TRANSPORT,
            &terma::TERMA,
            &correction::CORRECTION,
        );
        for (kernel, name, value) in [
            (transport, "SLOWEST_PER_CM", SLOWEST_PER_CM),
            (transport, "ANGLES", ANGLES as f64),
            (transport, "STEP_DEG", STEP_DEG),
            (transport, "TILTS", TILTS as f64),
            (transport, "ROWS_OF_STEP", superpose::ROWS_OF_STEP as f64),
            (transport, "VECTORS", superpose::VECTORS as f64),
            (terma, "TILTS", TILTS as f64),
            (correction, "DENSEST", f64::from(DENSEST)),
        ] {
            assert_eq!(constant(kernel, name) as f32, value as f32, "{name}");
        }
    }
}
