//! The dose of a whole plan in one call: densities, grid, beams, sum, normalisation, DVHs. The window runs
//! the same functions one by one, so that it can keep what has not changed: a dose is the same to the bit from both.

use super::beam_job::{
    BeamJobError, Computation, Contradiction, Ready, UNIT_MU, contradiction, dose_of_beam, is_computed,
    mask_of, times, unit_beam, why_left_out,
};
use super::body::{Body, BodyChoice, BodyError};
use super::mccs_job::{Certainty, MonteCarlo, mccs_of_plan, scaled};
use super::remarks::most_mu_remark;
use super::{Dvh, Part, PlanFigures, PlanSumError, dvhs_of, sum_of_beams, target_of};
use crate::case::{
    Beam, BeamDose, Ct, Dose, Normalisation, Plan, Receipt, Severity, Structure, StructureSet,
};
use crate::engine::cccs::{DoseError, DoseTo, Quality};
use crate::engine::mccs::Next;
use crate::engine::{Cancelled, CudaError, DeviceChoice, JobControl};
use crate::physics::{BodyMismatch, HuTable};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// Asks for the dose of a plan.
#[derive(Clone, Debug)]
pub struct PlanJob {
    pub ct: Arc<Ct>,
    pub structures: Arc<StructureSet>,
    pub plan: Plan,
    /// What counts of the CT.
    pub body: BodyChoice,
    /// Name or path.
    pub hu_table: String,
    /// Spacing of the dose grid, mm.
    pub grid_mm: f64,
    pub quality: Quality,
    pub dose_to: DoseTo,
    /// Where it is computed.
    pub device: DeviceChoice,
    pub engine: Engine,
}

/// What computes a plan.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Engine {
    /// Collapsed cone, beam by beam.
    #[default]
    Cccs,
    /// Monte Carlo convolution/superposition, all beams together.
    Mccs(MonteCarlo),
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
    /// One a beam, in order; one for all where they were computed together.
    pub receipts: Vec<Arc<Receipt>>,
    /// Of a Monte Carlo dose.
    pub certainty: Option<Certainty>,
    /// Of each beam where its dose is known by itself and reaches its isocentre.
    pub beam_doses: Vec<BeamDose>,
    /// What to know about how it was computed.
    pub remarks: Vec<String>,
}

/// Why a plan has no dose.
#[derive(Debug, Error)]
pub enum PlanJobError {
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
    #[error("the plan '{plan}' has no beam that can be computed{}", because(.why))]
    NoBeams { plan: String, why: Vec<String> },
    #[error(transparent)]
    HuTable(#[from] crate::physics::HuTableError),
    #[error(transparent)]
    Body(#[from] BodyError),
    #[error(transparent)]
    BodyMismatch(#[from] BodyMismatch),
    #[error("beam '{beam}': {source}")]
    Beam { beam: String, source: BeamJobError },
    #[error(transparent)]
    Device(#[from] CudaError),
    /// Of all beams, or of one that it names itself.
    #[error(transparent)]
    Dose(DoseError),
    #[error(transparent)]
    Sum(PlanSumError),
}

impl From<PlanSumError> for PlanJobError {
    fn from(error: PlanSumError) -> Self {
        match error {
            PlanSumError::Cancelled(stopped) => Self::Cancelled(stopped),
            other => Self::Sum(other),
        }
    }
}

impl PlanJobError {
    pub(super) fn no_beams(plan: &Plan) -> Self {
        Self::NoBeams { plan: plan.name.clone(), why: why_left_out(plan) }
    }
}

fn because(why: &[String]) -> String {
    if why.is_empty() { "; it has none at all".to_owned() } else { format!(": {}", why.join("; ")) }
}

/// Computes a plan. `tell` is given a line before each beam.
///
/// # Errors
/// [`PlanJobError`].
pub fn compute_plan(
    job: &PlanJob,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanResult, PlanJobError> {
    check(job)?;
    let mut remarks = Vec::new();
    let table = HuTable::resolve(&job.hu_table)?;
    let body = Body::new(&job.ct, &job.structures, job.body, control)?;
    let ready = Ready::new(&job.ct, &table, body)?;
    remarks.extend_from_slice(ready.remarks());
    control.check()?;
    let warnings = job.plan.remarks.iter().filter(|r| r.severity == Severity::Warning);
    remarks.extend(warnings.map(|r| r.message.clone()));

    remarks.extend(why_left_out(&job.plan).into_iter().map(|why| format!("left out: {why}")));
    let PlanDose { dose, factor, receipts, warnings, certainty, beam_doses } =
        dose_of_plan(job, &ready, control, tell)?;
    remarks.extend(warnings);
    if !dose.caveats.is_empty() {
        remarks.push(format!("the dose is {}", dose.worth()));
    }
    let mut plan = job.plan.clone();
    plan.beams.iter_mut().for_each(|b| b.mu *= factor);
    let dvhs = dvhs(job, &dose, control)?;
    let target = target_of(&plan, &job.structures);
    let target_dvh = target.and_then(|t| dvhs.iter().find(|(s, _)| s.number == t.number));
    let figures = PlanFigures::new(&plan, &dose, target_dvh.map(|(s, d)| (s.name.as_str(), d)));
    Ok(PlanResult { dose, plan, factor, figures, dvhs, receipts, certainty, beam_doses, remarks })
}

/// The dose of a plan in a patient that is made ready.
#[derive(Debug)]
pub struct PlanDose {
    /// All fractions, Gy, normalised.
    pub dose: Dose,
    /// What the monitor units were scaled by.
    pub factor: f64,
    /// One a beam, in order.
    pub receipts: Vec<Arc<Receipt>>,
    /// Of the beams, each with its name.
    pub warnings: Vec<String>,
    /// Of a Monte Carlo dose.
    pub certainty: Option<Certainty>,
    /// Of each beam at its isocentre, normalised; none of beams that were computed together.
    pub beam_doses: Vec<BeamDose>,
}

/// The part of [`compute_plan`] that follows the densities: beams, sum, normalisation.
///
/// # Errors
/// [`PlanJobError`].
pub fn dose_of_plan(
    job: &PlanJob,
    ready: &Ready,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanDose, PlanJobError> {
    check(job)?;
    match job.engine {
        Engine::Cccs => collapsed_cone(job, ready, control, tell),
        Engine::Mccs(how) => monte_carlo(job, ready, how, control, tell),
    }
}

/// Beam by beam.
fn collapsed_cone(
    job: &PlanJob,
    ready: &Ready,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanDose, PlanJobError> {
    let mut parts = Vec::new();
    let mut receipts = Vec::new();
    let mut warnings = Vec::new();
    let mut beam_doses = Vec::new();
    let beams: Vec<&Beam> = job.plan.beams.iter().filter(|b| is_computed(b)).collect();
    for (dose, beam) in each_beam(job, &beams, ready, control, tell)?.into_iter().zip(&beams) {
        for receipt in dose.receipt.iter() {
            warnings.extend(receipt.warnings.iter().map(|w| format!("beam '{}': {w}", beam.name)));
            receipts.push(receipt.clone());
        }
        warnings.extend(most_mu_remark(beam).map(|w| format!("beam '{}': {w}", beam.name)));
        let scale = times(&job.plan, beam);
        let point_mm = beam.isocentre_mm;
        let there = dose.gy.trilinear(point_mm).map(f64::from).filter(|gy| gy.is_finite());
        let gy_a_mu = |gy: f64| gy * beam.mu / UNIT_MU;
        beam_doses.extend(there.map(|gy| BeamDose { beam: beam.number, point_mm, gy: gy_a_mu(gy) }));
        parts.push(Part { dose: Arc::new(dose), scale });
    }
    let (dose, factor) = normalised(job, &parts, control)?;
    beam_doses.iter_mut().for_each(|b| b.gy *= factor);
    Ok(PlanDose { dose, factor, receipts, warnings, certainty: None, beam_doses })
}

/// All beams in one run.
fn monte_carlo(
    job: &PlanJob,
    ready: &Ready,
    how: MonteCarlo,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanDose, PlanJobError> {
    let mut made = mccs_of_plan(job, ready, how, control, &mut |dose| {
        let uncertainty = dose.uncertainty_percent.map_or_else(String::new, |u| format!(", {u:.2} %"));
        tell(&format!(
            "{:.1} million histories{uncertainty} ({})",
            dose.histories as f64 * 1e-6,
            dose.status
        ));
        Next::GoOn
    })?;
    let scale = f64::from(job.plan.fractions);
    let parts = [Part { dose: Arc::new(made.dose), scale }];
    (made.dose, made.factor) = normalised(job, &parts, control)?;
    if let Some(certainty) = &mut made.certainty {
        certainty.sigma_gy = scaled(&certainty.sigma_gy, (scale * made.factor) as f32);
    }
    Ok(made)
}

/// What contradicts itself is refused before anything is computed.
fn check(job: &PlanJob) -> Result<(), PlanJobError> {
    let beams: Vec<&Beam> = job.plan.beams.iter().filter(|b| is_computed(b)).collect();
    if beams.is_empty() {
        return Err(PlanJobError::no_beams(&job.plan));
    }
    beams.into_iter().try_for_each(|b| contradiction(&job.plan, b, &job.ct).map_or(Ok(()), |c| Err(c.into())))
}

/// The doses of the beams, in their order. Where several cards are asked for each takes the next beam that nobody has.
fn each_beam(
    job: &PlanJob,
    beams: &[&Beam],
    ready: &Ready,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Vec<Dose>, PlanJobError> {
    let next = AtomicUsize::new(0);
    let take = |device: DeviceChoice| {
        let mut mine = Vec::new();
        while let n = next.fetch_add(1, Ordering::Relaxed)
            && let Some(beam) = beams.get(n)
        {
            tell(&format!("beam {} of {}: {}", n + 1, beams.len(), beam.name));
            let dose = one_beam(job, beam, device, ready, control);
            let failed = dose.is_err();
            mine.push((n, dose));
            if failed {
                // Nobody needs the others.
                next.store(beams.len(), Ordering::Relaxed);
            }
        }
        mine
    };
    // Each card needs the density and the kernels first: more than most plans take on one.
    let devices = job.device.spread_if(false);
    let mut doses = match devices[..] {
        [device] => take(device),
        _ => std::thread::scope(|scope| {
            let lanes: Vec<_> =
                devices.iter().take(beams.len()).map(|device| scope.spawn(|| take(*device))).collect();
            let join = |lane: std::thread::ScopedJoinHandle<'_, _>| {
                lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            };
            lanes.into_iter().flat_map(join).collect()
        }),
    };
    doses.sort_by_key(|(n, _)| *n);
    doses.into_iter().map(|(_, dose)| dose).collect()
}

fn one_beam(
    job: &PlanJob,
    beam: &Beam,
    device: DeviceChoice,
    ready: &Ready,
    control: &JobControl,
) -> Result<Dose, PlanJobError> {
    let PlanJob { quality, dose_to, grid_mm, .. } = *job;
    let how = Computation { quality, dose_to, grid_mm, device };
    let unit = unit_beam(&job.plan, beam);
    dose_of_beam(ready, &unit, job.plan.machine_of(beam), how, control).map_err(|source| match source {
        BeamJobError::Dose(DoseError::Cancelled(stopped)) => PlanJobError::Cancelled(stopped),
        BeamJobError::Dose(named @ (DoseError::Beam { .. } | DoseError::Fluence(_))) => {
            PlanJobError::Dose(named)
        }
        source => PlanJobError::Beam { beam: beam.name.clone(), source },
    })
}

/// The sum of the beams, scaled to what the plan is normalised to, and by how much.
fn normalised(job: &PlanJob, parts: &[Part], control: &JobControl) -> Result<(Dose, f64), PlanJobError> {
    let PlanJob { plan, structures, ct, .. } = job;
    let mask = |wanted: &Normalisation| {
        let fault = |why: String| PlanSumError::Normalisation { structure: wanted.structure.clone(), why };
        let structure = structures.normalised_to(wanted).map_err(|e| fault(e.to_string()))?;
        mask_of(ct.hu.grid(), structure, control).map_err(|e| fault(e.to_string()))
    };
    let mask = plan.normalisation.as_ref().map(mask).transpose()?;
    let to = plan.normalisation.as_ref().zip(mask.as_ref());
    Ok(sum_of_beams(&plan.name, Some(plan), parts, None, to, control)?)
}

fn dvhs(job: &PlanJob, dose: &Dose, control: &JobControl) -> Result<Vec<(Structure, Dvh)>, PlanJobError> {
    let drawn = job.structures.structures.iter().filter(|s| !s.contours.is_empty());
    let all = dvhs_of(drawn, job.ct.hu.grid(), dose, control)?;
    // Without volume or dose there is nothing to show of a structure.
    Ok(all.into_iter().filter_map(|(structure, dvh)| Some((structure.clone(), dvh.ok()?))).collect())
}
