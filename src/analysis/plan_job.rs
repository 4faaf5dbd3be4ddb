//! The dose of a whole plan in one call: densities, grid, beams, sum, normalisation, DVHs. The window does the same in
//! steps, so that it can keep what has not changed.

use super::{Dvh, DvhError, Part, PlanFigures, SumError, normalisation_factor, plan_dose, target_of};
use crate::case::{
    Beam, Contour, Ct, Dose, DoseStatus, Normalisation, Plan, Radiation, Receipt, Structure, StructureKind,
    StructureSet,
};
use crate::engine::cccs::{DoseError, DoseRequest, DoseTo, Quality, dose_grid, matter_box};
use crate::engine::cpu::cccs::beam_dose;
use crate::engine::{Stopped, Watch};
use crate::geometry::{Grid, GridError, Mask, MaskError, body_contours};
use crate::physics::{BodyMismatch, HuTable, Machine, MachineError, Patient};
use glam::DVec3;
use std::sync::Arc;
use thiserror::Error;

/// A dose on a coarser grid than this is no final one, mm.
pub const DEFAULT_GRID_MM: f64 = 2.5;

/// What is thinner takes no room in the dose grid, g/cm3: air is, lung is not.
pub const MATTER_G_CM3: f32 = 0.02;

/// Asks for the dose of a plan.
#[derive(Clone, Debug)]
pub struct PlanJob {
    pub ct: Arc<Ct>,
    pub structures: Arc<StructureSet>,
    pub plan: Plan,
    /// Name or path.
    pub hu_table: String,
    /// Spacing of the dose grid, mm.
    pub grid_mm: f64,
    pub quality: Quality,
    pub dose_to: DoseTo,
}

/// The answer to a [`PlanJob`].
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// All fractions, Gy.
    pub dose: Dose,
    /// As asked for, its monitor units scaled to the normalisation.
    pub plan: Plan,
    /// What the monitor units were scaled by.
    pub factor: f64,
    pub figures: PlanFigures,
    /// Structures with their DVHs; structures without volume in the image or the dose are left out.
    pub dvhs: Vec<(Structure, Dvh)>,
    /// One a beam, in order.
    pub receipts: Vec<Arc<Receipt>>,
    /// What to know about how it was computed.
    pub remarks: Vec<String>,
}

/// Why a plan has no dose.
#[derive(Debug, Error)]
pub enum PlanJobError {
    #[error(transparent)]
    Stopped(#[from] Stopped),
    #[error(
        "the plan '{plan}' is for a patient lying {plan_position}, the CT shows one lying {ct_position}: they contradict each other; correct the position of the plan, or take the CT it was made on"
    )]
    Position { plan: String, plan_position: &'static str, ct_position: &'static str },
    #[error(
        "the isocentre {x:.1},{y:.1},{z:.1} of beam '{beam}' lies outside the CT, which reaches from {low} to {high} mm (patient LPS): plan and CT do not belong together, or the axes are mixed up"
    )]
    Isocentre { beam: String, x: f64, y: f64, z: f64, low: String, high: String },
    #[error("the plan '{0}' has no photon beam that can be computed")]
    NoBeams(String),
    #[error(transparent)]
    HuTable(#[from] crate::physics::HuTableError),
    #[error("beam '{beam}': {source}")]
    Machine { beam: String, source: MachineError },
    #[error("the body '{structure}': {source}")]
    Body { structure: String, source: MaskError },
    #[error(transparent)]
    BodyMismatch(#[from] BodyMismatch),
    #[error("the dose grid: {0}")]
    Grid(#[from] GridError),
    #[error("beam '{beam}': {source}")]
    Beam { beam: String, source: DoseError },
    #[error(transparent)]
    Sum(#[from] SumError),
    #[error("the plan is normalised to '{structure}': {why}")]
    Normalisation { structure: String, why: String },
}

/// Computes a plan. `tell` is given a line before each beam.
///
/// # Errors
/// [`PlanJobError`].
pub fn compute_plan(job: &PlanJob, watch: &Watch, tell: &dyn Fn(&str)) -> Result<PlanResult, PlanJobError> {
    check(job)?;
    let mut remarks = Vec::new();
    let table = HuTable::resolve(&job.hu_table)?;
    let drawn = body_of(&job.structures);
    let made = if drawn.is_none() { body_from_ct(&job.ct, &job.structures, watch)? } else { None };
    let body = drawn.or(made.as_ref());
    let mask = body.map(|b| mask_of(&job.ct, b)).transpose().map_err(|source| PlanJobError::Body {
        structure: body.map(|b| b.name.clone()).unwrap_or_default(),
        source,
    })?;
    match (&made, body) {
        (Some(_), _) => remarks.push(format!(
            "no body contour: one was made from the CT (skin at {SKIN_HU} HU); what lies outside it does not count"
        )),
        (None, None) => {
            remarks.push("no body contour and none to find: everything in the image counts".to_owned());
        }
        (None, Some(_)) => {}
    }
    let patient = Arc::new(Patient::new(&job.ct, &table, mask.as_ref())?);
    watch.check()?;
    let corners = matter_box(&patient.mass_density_g_cm3, MATTER_G_CM3);
    let grid = Arc::new(dose_grid(job.ct.hu.grid(), corners, job.grid_mm)?);

    let mut parts = Vec::new();
    let mut receipts = Vec::new();
    let beams: Vec<&Beam> = job.plan.beams.iter().filter(|b| is_computed(b)).collect();
    for left_out in job.plan.beams.iter().filter(|b| !is_computed(b)) {
        let why = left_out.read_only.as_deref().unwrap_or("it is no photon beam");
        remarks.push(format!("beam '{}' is left out: {why}", left_out.name));
    }
    for (n, beam) in beams.iter().enumerate() {
        tell(&format!("beam {} of {}: {}", n + 1, beams.len(), beam.name));
        let dose = one_beam(job, beam, &patient, &grid, watch)?;
        receipts.extend(dose.receipt.clone());
        parts.push(Part { dose: Arc::new(dose), scale: f64::from(job.plan.fractions) });
    }
    let (dose, factor) = normalised(job, parts, watch)?;
    let mut plan = job.plan.clone();
    plan.beams.iter_mut().for_each(|b| b.mu *= factor);
    let dvhs = dvhs(job, &dose, watch)?;
    let target = target_of(&plan, &job.structures);
    let target_dvh = target.and_then(|t| dvhs.iter().find(|(s, _)| s.number == t.number));
    let figures = PlanFigures::new(&plan, &dose, target_dvh.map(|(s, d)| (s.name.as_str(), d)));
    Ok(PlanResult { dose, plan, factor, figures, dvhs, receipts, remarks })
}

/// Whether the engine computes a beam.
fn is_computed(beam: &Beam) -> bool {
    beam.radiation == Radiation::Photon && beam.read_only.is_none()
}

/// The structure outside of which nothing counts.
fn body_of(set: &StructureSet) -> Option<&Structure> {
    set.structures.iter().find(|s| s.kind == StructureKind::External && !s.contours.is_empty())
}

/// Skin is found at this CT number.
const SKIN_HU: f32 = -350.0;

/// A body for a set without one, found in the CT; `None` where nothing in it is dense enough.
///
/// # Errors
/// [`Stopped`].
pub fn body_from_ct(ct: &Ct, set: &StructureSet, watch: &Watch) -> Result<Option<Structure>, Stopped> {
    let outlines = body_contours(&ct.hu, SKIN_HU, &|_| !watch.is_cancelled()).ok_or(Stopped)?;
    let contours: Vec<Contour> =
        outlines.into_iter().map(|points_mm| Contour { points_mm, image_uid: None }).collect();
    let kind = StructureKind::External;
    let mut name = "BODY".to_owned();
    if set.by_name(&name).is_some() {
        name.push_str(" from CT");
    }
    let number = set.structures.iter().map(|s| s.number).max().unwrap_or(0) + 1;
    Ok((!contours.is_empty()).then(|| Structure {
        name,
        number,
        kind,
        colour: kind.default_colour(),
        contours,
        points_mm: Vec::new(),
    }))
}

/// Whether a set has a body.
pub fn has_body(set: &StructureSet) -> bool {
    body_of(set).is_some()
}

fn mask_of(ct: &Ct, structure: &Structure) -> Result<Mask, MaskError> {
    let contours: Vec<&[DVec3]> = structure.contours.iter().map(|c| c.points_mm.as_slice()).collect();
    Mask::from_contours(ct.hu.grid(), &contours, &|_| true)
}

/// What contradicts itself is refused before anything is computed.
fn check(job: &PlanJob) -> Result<(), PlanJobError> {
    let (plan, ct) = (&job.plan, &job.ct);
    if plan.position != ct.position {
        return Err(PlanJobError::Position {
            plan: plan.name.clone(),
            plan_position: plan.position.code(),
            ct_position: ct.position.code(),
        });
    }
    if !plan.beams.iter().any(is_computed) {
        return Err(PlanJobError::NoBeams(plan.name.clone()));
    }
    for beam in plan.beams.iter().filter(|b| is_computed(b)) {
        let [x, y, z] = beam.isocentre_mm.to_array();
        if ct.hu.nearest(beam.isocentre_mm).is_none() {
            let corners = ct.hu.grid().corners_mm();
            let low = corners.into_iter().fold(DVec3::INFINITY, DVec3::min);
            let high = corners.into_iter().fold(DVec3::NEG_INFINITY, DVec3::max);
            let place = |p: DVec3| format!("{:.1},{:.1},{:.1}", p.x, p.y, p.z);
            let (beam, low, high) = (beam.name.clone(), place(low), place(high));
            return Err(PlanJobError::Isocentre { beam, x, y, z, low, high });
        }
    }
    Ok(())
}

fn one_beam(
    job: &PlanJob,
    beam: &Beam,
    patient: &Arc<Patient>,
    grid: &Arc<Grid>,
    watch: &Watch,
) -> Result<Dose, PlanJobError> {
    let machine = Machine::resolve(job.plan.machine_of(beam))
        .map_err(|source| PlanJobError::Machine { beam: beam.name.clone(), source })?;
    let request = DoseRequest {
        patient: Arc::clone(patient),
        machine,
        beam: beam.clone(),
        grid: Arc::clone(grid),
        quality: job.quality,
        dose_to: job.dose_to,
    };
    let answer = beam_dose(&request, watch).map_err(|source| match source {
        DoseError::Stopped(stopped) => PlanJobError::Stopped(stopped),
        source => PlanJobError::Beam { beam: beam.name.clone(), source },
    })?;
    let grid_status = if job.grid_mm > DEFAULT_GRID_MM { DoseStatus::Coarse } else { DoseStatus::Final };
    Ok(Dose {
        gy: answer.gy,
        status: answer.status.worst(grid_status),
        label: beam.name.clone(),
        frame_of_reference_uid: job.ct.frame_of_reference_uid.clone(),
        receipt: Some(answer.receipt),
    })
}

/// The sum of the beams, scaled to what the plan is normalised to, and by how much.
fn normalised(job: &PlanJob, mut parts: Vec<Part>, watch: &Watch) -> Result<(Dose, f64), PlanJobError> {
    let sum = plan_dose(&job.plan.name, &parts)?;
    let Some(wanted) = &job.plan.normalisation else { return Ok((sum, 1.0)) };
    let factor = factor(job, wanted, &sum, watch)?;
    parts.iter_mut().for_each(|p| p.scale *= factor);
    Ok((plan_dose(&job.plan.name, &parts)?, factor))
}

fn factor(job: &PlanJob, wanted: &Normalisation, sum: &Dose, watch: &Watch) -> Result<f64, PlanJobError> {
    let fault = |why: String| PlanJobError::Normalisation { structure: wanted.structure.clone(), why };
    let Some(structure) = job.structures.by_name(&wanted.structure) else {
        let names: Vec<&str> = job.structures.structures.iter().map(|s| s.name.as_str()).collect();
        return Err(fault(format!("the case has no such structure; it has {}", names.join(", "))));
    };
    let mask = mask_of(&job.ct, structure).map_err(|e| fault(e.to_string()))?;
    let dvh = Dvh::new(&mask, &sum.gy, watch).map_err(|e| match e {
        DvhError::Stopped(stopped) => PlanJobError::Stopped(stopped),
        other => fault(other.to_string()),
    })?;
    normalisation_factor(wanted, &dvh).map_err(|e| fault(e.to_string()))
}

fn dvhs(job: &PlanJob, dose: &Dose, watch: &Watch) -> Result<Vec<(Structure, Dvh)>, PlanJobError> {
    let mut all = Vec::new();
    for structure in job.structures.structures.iter().filter(|s| !s.contours.is_empty()) {
        watch.check()?;
        let Ok(mask) = mask_of(&job.ct, structure) else { continue };
        match Dvh::new(&mask, &dose.gy, watch) {
            Ok(dvh) => all.push((structure.clone(), dvh)),
            Err(DvhError::Stopped(stopped)) => return Err(stopped.into()),
            // Without volume or dose there is nothing to show of it.
            Err(_) => {}
        }
    }
    Ok(all)
}
