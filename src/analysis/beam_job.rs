//! The dose of one beam: all requests to the engine are built here, for the beams that the window changes and
//! for whole plans.

use super::attenuators::couch_remark;
use super::body::Body;
use super::ct_edge::CtEdge;
use super::given::{DensityOverrides, WithoutDensity};
use super::not_counted::NotCounted;
use super::outside::{Outside, meets_matter};
use super::remarks::{hu_caveats, hu_remarks, status_with};
use case::{
    Beam, Contours, Ct, Dose, DoseEngine, DoseStatus, Plan, PlanFault, Radiation, Reservations,
    Structure,
};
use engine::dose::{DoseError, DoseRequest, DoseTo, Quality, dose_grid, matter_box};
use engine::{DeviceChoice, DeviceError, JobControl, beam_dose};
use geometry::{Grid, GridError, Mask, MaskError};
use glam::DVec3;
use physics::{BeyondTable, BodyMismatch, HuTable, Machine, MachineError, Patient};
use std::sync::Arc;
use thiserror::Error;

/// Monitor units of a computed beam dose. It is scaled to the plan's, so that changing them needs no
/// computation.
pub const UNIT_MU: f64 = 100.0;

/// The beam as it is computed: with the unit monitor units and its machine.
pub fn unit_beam(plan: &Plan, beam: &Beam) -> Beam {
    Beam {
        mu: UNIT_MU,
        off: false,
        ..plan.delivered_beam(beam)
    }
}

/// The weight of a beam's dose for [`UNIT_MU`] in the dose of all fractions.
pub fn times(plan: &Plan, beam: &Beam) -> f64 {
    f64::from(plan.fractions) * beam.mu / UNIT_MU
}

/// Doses on coarser grids than this are not final, mm.
pub const DEFAULT_GRID_MM: f64 = 2.5;

/// Thinner matter does not extend the dose grid, g/cm3: air is thinner, lung is not.
pub(super) const MATTER_G_CM3: f32 = 0.02;

/// A patient ready for dose computation.
#[derive(Clone, Debug)]
pub struct Ready {
    patient: Arc<Patient>,
    /// The box in which doses are computed, patient LPS, mm.
    corners_mm: [DVec3; 2],
    frame_of_reference_uid: String,
    /// `None` without a body.
    outside: Option<Outside>,
    remarks: Vec<String>,
    hu_remarks: Vec<String>,
    /// Caveats and remarks on images, body and densities: bolus and couch that are not counted, HU beyond the table, and what was remarked
    /// on reading them. They stand with every dose.
    reservations: Reservations,
    edge: CtEdge,
    without_density: Vec<WithoutDensity>,
}

impl Ready {
    /// Densities and materials of a CT, structures with densities of their own; outside the body, where there is one, nothing else
    /// counts.
    ///
    /// # Errors
    /// [`BodyMismatch`].
    pub fn new(
        ct: &Ct,
        table: &HuTable,
        body: Body,
        overrides: DensityOverrides,
    ) -> Result<Self, BodyMismatch> {
        let has_couch = body.mask.is_none() || overrides.has_couch;
        let patient = Patient {
            has_couch,
            ..Patient::with(ct, table, body.mask.as_ref(), &overrides.parts())?
        };
        let beyond = BeyondTable::count(ct, table, body.mask.as_ref(), &overrides.parts());
        let place = if body.mask.is_some() {
            "of the body"
        } else {
            "of the CT"
        };
        let DensityOverrides {
            caveats,
            beside: devices,
            without_density,
            reservations: of_given,
            ..
        } = overrides;
        let edge = CtEdge::new(ct, &patient.mass_density_g_cm3, &devices);
        let mut reservations = Reservations {
            caveats,
            remarks: Vec::new(),
        };
        reservations.caveats.extend(hu_caveats(&beyond, table));
        for part in [
            Reservations::of_remarks(&ct.remarks),
            body.reservations,
            of_given,
        ] {
            reservations.add(&part);
        }
        Ok(Self {
            outside: body.mask.map(|mask| Outside {
                hu: Arc::clone(&ct.hu),
                body: Arc::new(mask),
                beside: devices,
            }),
            remarks: body.remarks,
            hu_remarks: hu_remarks(&beyond, table, place),
            reservations,
            edge,
            without_density,
            corners_mm: matter_box(&patient.mass_density_g_cm3, MATTER_G_CM3),
            patient: Arc::new(patient),
            frame_of_reference_uid: ct.frame_of_reference_uid.clone(),
        })
    }

    pub fn patient(&self) -> &Arc<Patient> {
        &self.patient
    }

    /// The box in which doses are computed, patient LPS, mm.
    pub fn corners_mm(&self) -> [DVec3; 2] {
        self.corners_mm
    }

    pub fn frame_of_reference_uid(&self) -> &str {
        &self.frame_of_reference_uid
    }

    /// Remarks on the body.
    pub fn remarks(&self) -> &[String] {
        &self.remarks
    }

    /// Remarks on HU beyond the table.
    pub fn hu_remarks(&self) -> &[String] {
        &self.hu_remarks
    }

    /// Caveats and remarks that stand with every dose: bolus and couch that are not counted, HU beyond the table, and what was remarked on
    /// reading images, body and densities.
    pub fn reservations(&self) -> &Reservations {
        &self.reservations
    }

    /// The body, where there is one.
    pub fn body(&self) -> Option<&Arc<Mask>> {
        self.outside.as_ref().map(|outside| &outside.body)
    }

    pub(super) fn outside(&self) -> Option<&Outside> {
        self.outside.as_ref()
    }

    pub(super) fn edge(&self) -> &CtEdge {
        &self.edge
    }

    pub(super) fn without_density(&self) -> &[WithoutDensity] {
        &self.without_density
    }
}

/// Engine of a dose computation, its resolution, medium and device.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Computation {
    /// Engine of single beams ([`DoseEngine::beam_engine`]).
    pub engine: DoseEngine,
    pub quality: Quality,
    pub dose_to: DoseTo,
    /// Spacing of the dose grid, mm.
    pub grid_mm: f64,
    pub device: DeviceChoice,
}

impl Default for Computation {
    fn default() -> Self {
        Self {
            engine: DoseEngine::default(),
            quality: Quality::default(),
            dose_to: DoseTo::default(),
            grid_mm: DEFAULT_GRID_MM,
            device: DeviceChoice::Auto,
        }
    }
}

/// Why a plan that has no beam to compute has no dose.
pub fn no_beams(plan: &Plan) -> String {
    let why = why_left_out(plan);
    let because = if why.is_empty() {
        "; it has none at all".to_owned()
    } else {
        format!(": {}", why.join("; "))
    };
    format!(
        "the plan '{}' has no beam that can be computed{because}",
        plan.name
    )
}

/// Why a beam has no dose.
#[derive(Debug, Error)]
pub enum BeamJobError {
    #[error(transparent)]
    Machine(#[from] MachineError),
    #[error("the dose grid: {0}")]
    Grid(#[from] GridError),
    #[error(transparent)]
    Device(#[from] DeviceError),
    #[error(transparent)]
    Dose(#[from] DoseError),
}

/// The dose of one beam for one fraction, Gy, on a grid round the patient.
///
/// # Errors
/// [`BeamJobError`].
pub fn dose_of_beam(
    ready: &Ready,
    beam: &Beam,
    machine: &str,
    how: Computation,
    control: &JobControl,
) -> Result<Dose, BeamJobError> {
    let machine = Machine::resolve(machine)?;
    let image = ready.patient.mass_density_g_cm3.grid();
    let grid = Arc::new(dose_grid(image, ready.corners_mm, how.grid_mm)?);
    let caveats = super::beam_caveats(beam, &machine);
    let mut remarks = remarks_in_patient(beam, &machine, &ready.patient);
    // A preview skips these rays: its status already warns against it.
    let full = how.quality != Quality::Preview;
    let not_counted = if full {
        NotCounted::of_beam(ready, beam, machine.sad_mm)
    } else {
        NotCounted::default()
    };
    remarks.extend(not_counted.remarks);
    let request = DoseRequest {
        patient: Arc::clone(&ready.patient),
        machine,
        beam: beam.clone(),
        grid,
        quality: how.quality,
        dose_to: how.dose_to,
    };
    let answer = beam_dose(how.engine, &request, &how.device.resolve()?, control)?;
    let on_this_grid = if how.grid_mm > DEFAULT_GRID_MM {
        DoseStatus::Coarse
    } else {
        DoseStatus::Final
    };
    let mut receipt = Arc::unwrap_or_clone(answer.receipt);
    receipt.warnings.extend(remarks);
    let of_patient = ready.reservations.caveats.iter().cloned();
    let caveats: Vec<String> = caveats
        .into_iter()
        .chain(of_patient)
        .chain(not_counted.caveats)
        .collect();
    let mut dose = Dose {
        gy: answer.gy,
        status: answer
            .status
            .worst(on_this_grid)
            .worst(status_with(&caveats)),
        label: beam.name.clone(),
        frame_of_reference_uid: ready.frame_of_reference_uid.clone(),
        receipt: Some(Arc::new(receipt)),
        caveats,
        remarks: ready.reservations.remarks.clone(),
        part: None,
    };
    dose.remark(not_counted.beside);
    Ok(dose)
}

/// The source-axis distance of nearly all machines, mm: accurate enough for a test of whether a beam meets
/// matter.
const USUAL_SAD_MM: f64 = 1000.0;

/// A plan that cannot be, or a plan and a CT that cannot belong together.
#[derive(Clone, Debug, Error, PartialEq)]
pub enum Contradiction {
    /// Readers and edits refuse it; should one get past them, it has no dose.
    #[error(transparent)]
    Plan(#[from] PlanFault),
    #[error(
        "the plan '{plan}' is for a patient lying {plan_position}, the CT shows one lying {ct_position}: they contradict each other; correct the position of the plan, or take the CT it was made on"
    )]
    Position {
        plan: String,
        plan_position: &'static str,
        ct_position: &'static str,
    },
    #[error(
        "the isocentre {x:.1},{y:.1},{z:.1} of beam '{beam}' lies outside the CT, which reaches from {low} to {high} mm (patient LPS), and the beam meets nothing in it: plan and CT do not belong together, or the axes are mixed up"
    )]
    Isocentre {
        beam: String,
        x: f64,
        y: f64,
        z: f64,
        low: String,
        high: String,
    },
}

/// The contradiction that keeps a beam from being computed on a CT, if any.
pub fn contradiction(plan: &Plan, beam: &Beam, ct: &Ct) -> Option<Contradiction> {
    if let Some(fault) = plan.fault() {
        return Some(fault.into());
    }
    if plan.position != ct.position {
        return Some(Contradiction::Position {
            plan: plan.name.clone(),
            plan_position: plan.position.code(),
            ct_position: ct.position.code(),
        });
    }
    let inside = ct.hu.grid().contains(beam.isocentre_mm);
    if inside || meets_matter(&ct.hu, ct.position, beam, USUAL_SAD_MM) {
        return None;
    }
    let [x, y, z] = beam.isocentre_mm.to_array();
    let [low, high] = reach(ct.hu.grid());
    Some(Contradiction::Isocentre {
        beam: beam.name.clone(),
        x,
        y,
        z,
        low,
        high,
    })
}

/// Remarks on a beam with its machine in a patient, a sentence each.
pub(super) fn remarks_in_patient(beam: &Beam, machine: &Machine, patient: &Patient) -> Vec<String> {
    let mut remarks = super::beam_remarks(beam, machine);
    remarks.extend(couch_remark(beam, machine, patient));
    remarks.extend(isocentre_remark(patient.mass_density_g_cm3.grid(), beam));
    remarks
}

/// The remark on a beam whose isocentre lies outside the image.
pub fn isocentre_remark(image: &Grid, beam: &Beam) -> Option<String> {
    (!image.contains(beam.isocentre_mm)).then(|| {
        let [low, high] = reach(image);
        format!(
            "the isocentre {} lies outside the CT, which reaches from {low} to {high} mm (patient LPS), though the beam meets the patient: make sure that plan and CT belong together",
            place(beam.isocentre_mm)
        )
    })
}

fn place(p: DVec3) -> String {
    format!("{:.1},{:.1},{:.1}", p.x, p.y, p.z)
}

/// Lowest and highest coordinates of an image.
fn reach(image: &Grid) -> [String; 2] {
    let corners = image.corners_mm();
    let low = corners.into_iter().fold(DVec3::INFINITY, DVec3::min);
    let high = corners.into_iter().fold(DVec3::NEG_INFINITY, DVec3::max);
    [place(low), place(high)]
}

/// Whether the engine models a beam: a photon beam for treatment that is not read-only.
pub fn is_modelled(beam: &Beam) -> bool {
    beam.radiation == Radiation::Photon && !beam.setup && beam.read_only.is_none()
}

/// Whether a beam counts in the computed dose of its plan: modelled and not switched off.
pub fn is_computed(beam: &Beam) -> bool {
    is_modelled(beam) && !beam.off
}

/// The treatment beams that a plan's dose lacks: `2 of 3 beams`.
pub fn beams_left_out(plan: &Plan) -> Option<String> {
    let treatment = plan.beams.iter().filter(|b| !b.setup);
    let absent = plan.absent_beams.len();
    let (total, computed) = (
        treatment.clone().count() + absent,
        treatment.filter(|b| is_computed(b)).count(),
    );
    let off = plan.beams.iter().filter(|b| !b.setup && b.off).count();
    let why = [
        (off, "switched off"),
        (absent, "not in the file of the plan"),
    ];
    let why: Vec<String> = why
        .iter()
        .filter(|(beams, _)| *beams > 0)
        .map(|(beams, why)| format!("{beams} {why}"))
        .collect();
    let why = if why.is_empty() {
        String::new()
    } else {
        format!(" ({})", why.join(", "))
    };
    (computed < total).then(|| format!("{computed} of {total} beams{why}"))
}

/// Monitor units a fraction of the computed beams.
pub fn computed_mu(plan: &Plan) -> f64 {
    // Not `sum`, whose empty sum is -0.
    plan.beams
        .iter()
        .filter(|b| is_computed(b))
        .fold(0.0, |sum, b| sum + b.mu)
}

/// Why some beams of a plan are not computed, a few words each: `beam 'A', 'B': it has no GantryAngle`.
pub fn why_left_out(plan: &Plan) -> Vec<String> {
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for beam in plan.beams.iter().filter(|b| !is_computed(b)) {
        let why = match beam.read_only.as_deref() {
            Some(why) => why,
            None if beam.setup => "it is a setup field",
            None if is_modelled(beam) => "switched off",
            None => "it is no photon beam",
        };
        match reasons.iter_mut().find(|(reason, _)| *reason == why) {
            Some((_, beams)) => beams.push(&beam.name),
            None => reasons.push((why, vec![&beam.name])),
        }
    }
    let in_plan = reasons
        .into_iter()
        .map(|(why, beams)| format!("beam '{}': {why}", beams.join("', '")));
    let absent = plan.absent_beams.iter().map(|beam| {
        format!(
            "beam {} ({} MU a fraction): its fraction group delivers it, and the file of the plan lacks it",
            beam.number, beam.mu
        )
    });
    in_plan.chain(absent).collect()
}

/// The mask of a structure on the grid of the images.
///
/// # Errors
/// [`MaskError`].
pub fn mask_of(
    grid: &Arc<Grid>,
    structure: &Structure,
    control: &JobControl,
) -> Result<Mask, MaskError> {
    mask_after(grid, structure, None, control)
}

/// The same mask; `former` are contours whose mask is known: it is copied where they are the same.
///
/// # Errors
/// [`MaskError`].
pub fn mask_after(
    grid: &Arc<Grid>,
    structure: &Structure,
    former: Option<(&Contours, &Mask)>,
    control: &JobControl,
) -> Result<Mask, MaskError> {
    let progress = |done: f32| {
        control.report(done);
        !control.is_cancelled()
    };
    let contours = polygons(&structure.contours);
    match former {
        Some((former_contours, mask)) => Mask::redrawn(
            grid,
            &contours,
            (&polygons(former_contours), mask),
            &progress,
        ),
        None => Mask::from_contours(grid, &contours, &progress),
    }
}

fn polygons(contours: &Contours) -> Vec<&[DVec3]> {
    contours.iter().map(|c| c.points_mm.as_slice()).collect()
}
