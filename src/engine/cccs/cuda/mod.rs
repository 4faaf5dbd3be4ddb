//! Collapsed-cone convolution/superposition on a card: the algorithm of [`engine::cccs::cpu`](crate::cccs::cpu).

pub(crate) mod correction;
mod handed;
mod rays;
pub(crate) mod superpose;
mod terma;

use crate::JobControl;
use crate::cccs::angles::TiltNorm;
use crate::cccs::beam::{Field, Superposition, grid_from_kernel};
use crate::cccs::calibrate::{MonitorUnit, calibration};
use crate::cccs::correction::Tilts;
use crate::cccs::job::{answer, each_field};
use crate::cuda::{Buffer, CardLock, CudaError, Device, Failure};
use crate::dose::medium::mass_of;
use crate::dose::medium::{LOW_DENSITY_G_CM3, Medium};
use crate::dose::{BeamDose, DoseError, DoseRequest, Quality};
use crate::dose::{Clock, check, digest};
use crate::job_control::Phases;
use crate::path::cuda::{PathBuffers, PathMethod};
pub use handed::CardDose;
use physics::Machine;
pub use rays::{HighTerma, beam_dose_by};
use std::sync::Arc;
use superpose::{Placement, TransportInput, coefficients, superpose};
use terma::{Voxels, crop, terma};

/// The dose of one beam for its monitor units.
pub fn beam_dose(
    request: &DoseRequest,
    device: &Device,
    control: &JobControl,
) -> Result<BeamDose, Failure<DoseError>> {
    dose_by(request, device, control, |work, field, factor| {
        work.add(field, factor)
    })
}

/// The dose of one beam, of whose fields `add` queues factor times the energy.
fn dose_by(
    request: &DoseRequest,
    device: &Device,
    control: &JobControl,
    mut add: impl FnMut(&mut MediumOnCard<'_>, &Field<'_>, f32) -> Result<(), CudaError>,
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
    let mut work = MediumOnCard::new(device, &beam, &medium)?;
    clock.phase("upload");
    let fields = each_field(request, &per_mu, control, |field, factor| {
        Ok::<_, Failure<DoseError>>(add(&mut work, field, factor)?)
    })?;
    clock.phase("queue");
    let (gy, gy_on_card, on_card, digest) = work.dose(request)?;
    clock.phase("wait and download");
    clock.take(on_card);
    let dose = answer(
        request,
        digest,
        &medium,
        fields,
        gy,
        device.card().to_string(),
        clock,
    );
    if control.keeps_on_card() {
        device.lock().keep(&dose.gy, gy_on_card);
    }
    Ok(dose)
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
        "cuda",
        control.cache(),
        |beam, field, water| Ok::<_, Failure<DoseError>>(energy_of(beam, field, water, device)?),
    )
}

/// Energy per volume (Gy g/cm3) of a field on the medium's grid for one photon per cm2 on the axis at the isocentre.
pub(crate) fn energy_of(
    beam: &Superposition,
    field: &Field<'_>,
    medium: &Medium,
    device: &Device,
) -> Result<Vec<f32>, CudaError> {
    let energy = energy_on_card(beam, field, medium, device)?;
    device.lock().download(&energy)
}

/// As [`energy_of`], queued on the card.
pub(crate) fn energy_on_card(
    beam: &Superposition,
    field: &Field<'_>,
    medium: &Medium,
    device: &Device,
) -> Result<Buffer<f32>, CudaError> {
    let mut on_card = MediumOnCard::new(device, beam, medium)?;
    on_card.add(field, 1.0)?;
    Ok(on_card.energy)
}

/// A medium on a card, and the energy that fields add up to there.
struct MediumOnCard<'a> {
    card: CardLock<'a>,
    beam: &'a Superposition,
    medium: &'a Medium,
    density: Arc<Buffer<f32>>,
    /// Uploaded while the first rays are traced.
    table: Option<Buffer<superpose::Coefficients>>,
    energy: Buffer<f32>,
    clock: crate::cuda::Clock,
    /// Recorded before the last kernels: the download can be prepared.
    ready: Option<crate::cuda::ReadyEvent>,
}

impl<'a> MediumOnCard<'a> {
    /// Uploads the density where the card has no copy.
    fn new(
        device: &'a Device,
        beam: &'a Superposition,
        medium: &'a Medium,
    ) -> Result<Self, CudaError> {
        let mut card = device.lock();
        let density = card.uploaded(&medium.equivalent_g_cm3)?;
        let energy = card.alloc(medium.grid.len())?;
        card.fill(&energy, 0)?;
        let clock = card.clock()?;
        Ok(Self {
            card,
            beam,
            medium,
            density,
            table: None,
            energy,
            clock,
            ready: None,
        })
    }

    /// Queues a field: adds `factor` times its energy.
    fn add(&mut self, field: &Field<'_>, factor: f32) -> Result<(), CudaError> {
        let FieldTerma {
            placement,
            terma,
            table,
            low_terma_norm,
        } = self.terma(field, factor)?;
        let Self {
            card,
            beam,
            medium,
            density,
            energy,
            clock,
            ready,
            ..
        } = self;
        let low_density_g_cm3 = if medium.low_density {
            LOW_DENSITY_G_CM3
        } else {
            0.0
        };
        let input = TransportInput {
            placement,
            density,
            terma: &terma,
            low_terma_norm,
            low_density_g_cm3,
        };
        *ready = Some(superpose(card, &input, &table, beam, factor, energy)?);
        clock.mark(card, "transport")
    }

    /// Queues the TERMA of a field, and adds `factor` times the energy of its electrons.
    fn terma(&mut self, field: &Field<'_>, factor: f32) -> Result<FieldTerma, CudaError> {
        let Self {
            card,
            beam,
            medium,
            clock,
            ..
        } = self;
        let grid = &medium.grid;
        let source_mm = field.frame.source_mm;
        let path = PathBuffers::prepare(
            card,
            &medium.equivalent_g_cm3,
            source_mm,
            grid,
            PathMethod::default(),
        )?;
        clock.mark(card, "prepare")?;
        path.queue(card)?;
        clock.mark(card, "trace")?;
        let tilt = beam.tilt_norm(field.frame, grid);
        let table = match &self.table {
            Some(table) => table,
            None => self.table.insert(card.upload(&coefficients(&beam.table))?),
        };
        let voxels = Voxels {
            medium,
            density: &self.density,
            depth_mm: &path.depth_mm,
        };
        clock.mark(card, "prepare")?;
        let terma = terma(card, field, beam, &tilt, &voxels, factor, &self.energy)?;
        clock.mark(card, "terma")?;
        let placement = Placement {
            lattice: medium.lattice(),
            source_mm: grid.local_from_patient(source_mm),
            lattice_from_kernel: grid_from_kernel(field.frame, grid),
            tilts: Tilts::within(field.fluence.widest_mm() / field.frame.sad_mm),
        };
        Ok(FieldTerma {
            placement,
            terma,
            table: table.clone(),
            low_terma_norm: beam.low_terma_norm(&tilt),
        })
    }

    /// The requested dose in host memory and on the card, the phases, and the digest of the request.
    fn dose(
        mut self,
        request: &DoseRequest,
    ) -> Result<(Vec<f32>, Buffer<f32>, Phases, String), CudaError> {
        let card = &mut self.card;
        let mass = card.uploaded(mass_of(self.medium, request.dose_to))?;
        let gy_on_card = crop(card, self.medium, request.grid.size(), &self.energy, &mass)?;
        self.clock.mark(card, "crop")?;
        let (clock, ready) = (self.clock, self.ready);
        let (gy, (phases, digest)) = card.download_overlapping(&gy_on_card, ready, |card| {
            Ok((clock.finish(card)?, digest(request)))
        })?;
        Ok((gy, gy_on_card, phases, digest))
    }
}

/// TERMA of a field on a card, and how it is transported.
struct FieldTerma {
    placement: Placement,
    terma: Buffer<superpose::Terma>,
    table: Buffer<superpose::Coefficients>,
    low_terma_norm: Option<TiltNorm>,
}

#[cfg(test)]
mod tests {
    use super::{correction, superpose};
    use crate::cccs::angles::{ANGLES, PRIMARY, SCATTER, STEP_DEG, TILTS};
    use crate::cccs::correction::{DENSEST, LEAST, PLACES, POWERS, REACH};
    use crate::cccs::field_tables::Field;
    use crate::cuda::kernels::{constant, ptx};
    use crate::cuda::signature;
    use physics::kernel_fit::{SLOWEST_PER_CM, TERMS};

    /// The kernels repeat constants of the kernel fit and the angle table: a change on one side alone would
    /// be a wrong dose on the card.
    #[test]
    fn the_kernels_count_on_the_same_numbers() {
        let sources = [
            include_str!("../../../../kernels/cccs.cuh"),
            include_str!("../../../../kernels/cccs.cu"),
            include_str!("../../../../kernels/layout.cu"),
            include_str!("../../../../kernels/correction.cuh"),
            include_str!("../../../../kernels/correction.cu"),
            include_str!("../../../../kernels/fluence.cuh"),
        ];
        assert_eq!(SCATTER.start, 0);
        assert_eq!(PRIMARY.end, TERMS);
        for (name, value) in [
            ("TERMS", TERMS as f64),
            ("SLOWEST_PER_CM", SLOWEST_PER_CM),
            ("SCATTER_END", SCATTER.end as f64),
            ("PRIMARY_FIRST", PRIMARY.start as f64),
            ("ANGLES", ANGLES as f64),
            ("STEP_DEG", STEP_DEG),
            ("ROWS_OF_STEP", superpose::ROWS_OF_STEP as f64),
            ("TILTS", TILTS as f64),
            ("LANES", superpose::LANES as f64),
            ("WARP_COLUMNS", superpose::WARP_COLUMNS as f64),
            ("WARP_ROWS", superpose::WARP_ROWS as f64),
            ("STACKED", superpose::STACKED as f64),
            ("CELLS", superpose::CELLS as f64),
            ("CORRECTION_REACH", f64::from(REACH)),
            ("CORRECTION_OFFSETS", correction::OFFSETS as f64),
            ("CORRECTION_POWERS", POWERS as f64),
            ("CORRECTION_PLACES", PLACES as f64),
            ("CORRECTION_LEAST", LEAST),
            ("CORRECTION_DENSEST", f64::from(DENSEST)),
        ] {
            assert_eq!(constant(&sources, name) as f32, value as f32, "{name}");
        }
    }

    /// The host's declarations are as large as the kernels'.
    #[test]
    fn the_kernels_are_called_as_declared() {
        let [layout, rays] = [
            size_of::<superpose::SlabLayout>(),
            size_of::<superpose::Rays>(),
        ];
        let (stencil, field) = (size_of::<correction::Correction>(), size_of::<Field>());
        let transport = vec![8, 4, 8, 8, 8, 8, 8, 8, 8, 8];
        for (source, kernel, want) in [
            ("layout", "layout_scale", vec![4, 8, 8, 8]),
            (
                "layout",
                "layout_fill",
                [&[layout, layout, layout, rays, 4, 4, 4][..], &[8; 8]].concat(),
            ),
            ("layout", "layout_traversals", vec![4, 4, 4, 8, 8, 8]),
            ("layout", "layout_terma_mask", vec![layout, 4, 8, 8, 8]),
            ("layout", "layout_windows", vec![layout, 8, 8]),
            (
                "layout",
                "layout_gather",
                vec![layout, layout, layout, 4, 8, 8, 8],
            ),
            ("cccs", "cccs_high_terma", transport.clone()),
            ("cccs", "cccs_low_terma", transport.clone()),
            ("cccs", "cccs_high_terma_low_density", transport.clone()),
            ("cccs", "cccs_low_terma_low_density", transport),
            (
                "correction",
                "correction_shares",
                vec![layout, stencil, 8, 8, 8, 8, 8],
            ),
            (
                "correction",
                "correction_powers",
                vec![4, stencil, 8, 8, 8, 8],
            ),
            ("correction", "correction_list", vec![8, 8, 8]),
            (
                "correction",
                "correction_add",
                vec![layout, stencil, 8, 8, 8, 8, 8, 8, 8, 8],
            ),
            ("correction", "correction_reach", vec![layout, 8, 8, 8]),
            ("terma", "terma_fill", vec![field, 8, 8, 8, 8, 4, 8, 8]),
            ("terma", "dose_crop", vec![4, 4, 4, 4, 4, 4, 4, 4, 8, 8, 8]),
            ("terma", "dose_add", vec![4, 4, 8, 8]),
        ] {
            assert_eq!(
                signature(ptx(source).unwrap(), kernel),
                Some(want),
                "{kernel}"
            );
        }
    }
}
