//! The dose of a whole plan in one call, for the command line: it answers the window's queries in full, so
//! that both give bit-identical doses.

mod delivered;
mod goals;

use super::beam::{BeamResult, DoseOfBeam};
use super::dvh::DvhOf;
use super::graph::{Failure, Grade, Graph, Query};
use super::inputs::{Settings, Shown};
use super::patient::{Densities, MaskOf};
use super::plan_dose::DoseOfPlan;
use super::run::{PartOfRun, RunOfPlan};
use super::shared::Shared;
use analysis::{
    BodyChoice, Certainty, Dvh, Engine, PlanFigures, UNIT_MU, contradiction, given_words,
    is_computed, lacks_only_matter_outside, most_mu_remark, no_beams, scaled, target_of, unsettled,
    ways_out, why_left_out,
};
use case::{Beam, BeamDose, Case, Ct, Dose, Plan, Receipt, Remark, Structure, StructureSet};
use dicom::plan_as_written;
use engine::cccs::CardDose;
use engine::dose::{DoseTo, Quality};
use engine::histories::{PartTally, RunPart};
use engine::{Compute, DeviceChoice, JobControl};
use physics::HuTable;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Request for the dose of a plan.
#[derive(Clone, Debug)]
pub struct PlanJob {
    pub ct: Arc<Ct>,
    pub structures: Arc<StructureSet>,
    /// Remarks on the files as a whole.
    pub remarks: Vec<Remark>,
    pub plan: Plan,
    /// The body of the CT.
    pub body: BodyChoice,
    /// Name or path.
    pub hu_table: String,
    /// Spacing of the dose grid, mm.
    pub grid_mm: f64,
    pub quality: Quality,
    pub dose_to: DoseTo,
    pub device: DeviceChoice,
    pub engine: Engine,
    /// The histories of a Monte Carlo run, where they were run elsewhere.
    pub parts: Option<Arc<PartTally>>,
}

impl PlanJob {
    pub(super) fn settings(&self) -> Result<Settings, Failure> {
        Ok(Settings {
            engine: self.engine.kind().beam_engine(),
            quality: self.quality,
            dose_to: self.dose_to,
            grid_mm: self.grid_mm,
            device: self.device,
            hu_table: HuTable::resolve(&self.hu_table)
                .map(Arc::new)
                .map_err(Failure::here)?,
            body: self.body,
            machine_changes: 0,
        })
    }

    pub(super) fn case(&self) -> Case {
        Case {
            ct: Some(Arc::clone(&self.ct)),
            structures: Arc::clone(&self.structures),
            remarks: self.remarks.clone(),
            plans: vec![Arc::new(self.plan.clone())],
            ..Case::default()
        }
    }
}

/// The answer to a [`PlanJob`].
#[derive(Clone, Debug)]
pub struct PlanResult {
    /// All fractions, Gy.
    pub dose: Dose,
    /// The requested plan, its monitor units scaled to the normalisation.
    pub plan: Plan,
    /// Factor on the monitor units.
    pub factor: f64,
    /// One standard deviation of the Monte Carlo dose that the plan is normalised to, percent.
    pub factor_uncertainty_percent: Option<f64>,
    pub figures: PlanFigures,
    /// Structures with their DVHs; structures without volume in the image or the dose are left out.
    pub dvhs: Vec<(Structure, Arc<Dvh>)>,
    /// One a beam, in order; a single one where all were computed together.
    pub receipts: Vec<Arc<Receipt>>,
    /// The uncertainty of a Monte Carlo dose.
    pub certainty: Option<Certainty>,
    /// The dose of each beam at its isocentre, where it is known separately and its grid reaches there.
    pub beam_doses: Vec<BeamDose>,
    /// Remarks on the computation.
    pub remarks: Vec<String>,
}

/// Computes a plan. `tell` receives a line before each beam, and during a run.
///
/// # Errors
/// [`Failure`]: why the plan has no dose.
pub fn compute_plan(
    job: &PlanJob,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<PlanResult, Failure> {
    let (settings, parts) = (job.settings()?, job.parts.as_ref());
    compute_with(
        &Graph::default(),
        &job.case(),
        job.engine,
        &settings,
        parts,
        control,
        tell,
    )
    .map(|computed| computed.result)
}

/// Computes a plan, whose dose stays in the memory of an NVIDIA card, too: beams that the card computed are added there. Monte Carlo
/// doses, and beams on grids of their own, are added on the host and copied to it.
///
/// # Errors
/// As [`compute_plan`]; a device that is no NVIDIA card, and what the card says.
pub fn compute_plan_on_card(
    job: &PlanJob,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(PlanResult, CardDose), Failure> {
    // One card has all beams.
    let device = match job.device {
        DeviceChoice::Auto | DeviceChoice::AllCuda => DeviceChoice::Cuda(0),
        other => other,
    };
    let compute = device.resolve().map_err(Failure::here)?;
    let Compute::Cuda(card) = &compute else {
        return Err(Failure::Here(format!(
            "only an NVIDIA card keeps a dose in its memory, and {compute} is none"
        )));
    };
    let job = &PlanJob {
        device,
        ..job.clone()
    };
    let (settings, parts, graph) = (job.settings()?, job.parts.as_ref(), Graph::default());
    let control = control.keeping_on_card();
    let ComputedPlan {
        result,
        whole: plan_dose,
        ..
    } = compute_with(
        &graph,
        &job.case(),
        job.engine,
        &settings,
        parts,
        &control,
        tell,
    )?;
    let beams = plan_dose.beams_on_one_grid(&graph, &control)?;
    let on_card = match &beams {
        Some(beams) => CardDose::sum(card, beams, result.factor as f32),
        None => CardDose::sum(card, &[(Arc::clone(&result.dose.gy), 1.0)], 1.0),
    };
    Ok((result, on_card.map_err(Failure::here)?))
}

/// The same monitor units in the same patient with the matter outside the body counted; `None` where the dose of `result` lacks anything
/// else, or the other one is not whole either.
///
/// # Errors
/// As [`compute_plan`].
pub fn with_matter_outside(
    job: &PlanJob,
    result: &PlanResult,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<Option<PlanResult>, Failure> {
    if !lacks_only_matter_outside(&result.dose) || job.parts.is_some() {
        return Ok(None);
    }
    tell("the same with the matter outside the body counted");
    let plan = Plan {
        normalisation: None,
        ..result.plan.clone()
    };
    let job = PlanJob {
        plan,
        body: BodyChoice::Everything,
        ..job.clone()
    };
    let counted = compute_plan(&job, control, tell)?;
    Ok(unsettled(counted.dose.status).is_none().then_some(counted))
}

/// The sums of a part of the histories of a plan's Monte Carlo run.
///
/// # Errors
/// As [`compute_plan`].
pub fn compute_part(
    job: &PlanJob,
    part: RunPart,
    control: &JobControl,
) -> Result<Arc<PartTally>, Failure> {
    let (settings, case) = (job.settings()?, job.case());
    let how = job
        .engine
        .monte_carlo()
        .ok_or_else(|| Failure::here("only Monte Carlo has histories"))?;
    let run = Densities::new(&case, &settings)
        .and_then(|densities| {
            RunOfPlan::new(
                &densities,
                &case.plans[0],
                &settings,
                Some(how),
                1,
                &Arc::default(),
                None,
            )
        })
        .ok_or_else(|| Failure::Here(no_beams(&job.plan)))?;
    Graph::default().full(&PartOfRun { run, part }, control)
}

/// The doses of single beams: each with the beam's number.
pub type DosesOfBeams = Vec<(u32, Dose)>;

/// Computes a plan of a case as a file holds it, and the doses of its single beams: normalised monitor units are rounded as
/// they are written, so that the plan that is read has this dose to the last bit. Monte Carlo has no doses of single beams.
///
/// # Errors
/// As [`compute_plan`].
pub fn compute_written_plan(
    case: &Case,
    plan: &Plan,
    engine: Engine,
    settings: &Settings,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<(PlanResult, DosesOfBeams), Failure> {
    let graph = Graph::default();

    let ComputedPlan {
        mut result,
        beams: mut doses,
        ..
    } = compute_in(
        &graph,
        &case_as_written(case, plan),
        engine,
        settings,
        control,
        tell,
    )?;
    if plan.normalisation.is_some() {
        // The beams by themselves are kept: only their sum is made anew.
        let scaled = Plan {
            normalisation: None,
            ..result.plan.clone()
        };
        let (factor, uncertainty) = (result.factor, result.factor_uncertainty_percent);
        let case = case_as_written(case, &scaled);
        ComputedPlan {
            result,
            beams: doses,
            ..
        } = compute_in(&graph, &case, engine, settings, control, &|_| {})?;
        (result.factor, result.factor_uncertainty_percent) = (factor, uncertainty);
    }
    let beams = doses.iter().map(|query| {
        let Shown::Beam(number) = query.what else {
            return Ok(None);
        };
        Ok(Some((
            number,
            Dose::clone(&graph.full(&**query, control)?.dose),
        )))
    });
    let beams = beams.collect::<Result<Vec<Option<(u32, Dose)>>, Failure>>()?;
    Ok((result, beams.into_iter().flatten().collect()))
}

/// A case with this plan alone, its monitor units rounded as its file holds them.
fn case_as_written(case: &Case, plan: &Plan) -> Case {
    Case {
        plans: vec![Arc::new(plan_as_written(plan))],
        ..case.clone()
    }
}

/// A computed plan with its queries in the graph.
pub(super) struct ComputedPlan {
    pub result: PlanResult,
    pub whole: Shared<DoseOfPlan>,
    /// The doses of its beams, which are not yet made; none of Monte Carlo, which has all in one.
    pub beams: Vec<Shared<DoseOfPlan>>,
}

/// The only plan of a case, computed.
pub(super) fn compute_in(
    graph: &Graph,
    case: &Case,
    engine: Engine,
    settings: &Settings,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<ComputedPlan, Failure> {
    compute_with(graph, case, engine, settings, None, control, tell)
}

/// As [`compute_in`], with the histories of `parts` in place of a run.
fn compute_with(
    graph: &Graph,
    case: &Case,
    engine: Engine,
    settings: &Settings,
    parts: Option<&Arc<PartTally>>,
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<ComputedPlan, Failure> {
    let settings = &settings.by(engine.kind());
    let plan = case
        .plans
        .first()
        .map(Arc::clone)
        .ok_or_else(|| Failure::Here(case.no_plan()))?;
    let ct = case
        .ct
        .as_ref()
        .ok_or_else(|| Failure::here("there is no CT"))?;
    let computed: Vec<_> = plan.beams.iter().filter(|b| is_computed(b)).collect();
    if computed.is_empty() {
        return Err(Failure::Here(no_beams(&plan)));
    }
    // Contradictions are refused before anything is computed.
    if let Some(why) = computed
        .iter()
        .find_map(|beam| contradiction(&plan, beam, ct))
    {
        return Err(Failure::here(why));
    }
    let access = GraphAccess { graph, control };
    let densities =
        Densities::new(case, settings).ok_or(Failure::Here("there is no CT".to_owned()))?;
    let ready = access.answer(&densities)?;
    let mut remarks = [ready.remarks(), ready.hu_remarks()].concat();
    remarks.extend(given_words(&case.structures, Some(&plan)));
    remarks.extend(
        why_left_out(&plan)
            .into_iter()
            .map(|why| format!("left out: {why}")),
    );
    let beams: Vec<DoseOfBeam> = computed
        .iter()
        .map(|beam| DoseOfBeam::new(&densities, &plan, beam, settings, None))
        .collect();
    let (run, mut facts) = match engine.monte_carlo() {
        None => (None, access.beams(&plan, &beams, settings.device, tell)?),
        Some(how) => {
            let keep = Arc::default();
            let run = RunOfPlan::new(&densities, &plan, settings, Some(how), 1, &keep, None);
            let run = run
                .ok_or_else(|| Failure::Here(no_beams(&plan)))?
                .of_parts(parts.cloned());
            let facts = access.run(&run, tell)?;
            (Some((run, None)), facts)
        }
    };
    let by_beam: Vec<Shared<DoseOfPlan>> = match run {
        Some(_) => Vec::new(),
        None => computed
            .iter()
            .filter_map(|beam| {
                DoseOfPlan::of_plan(case, &plan, Some(beam.number), &beams, None, None)
            })
            .map(|query| Shared::new(query, None))
            .collect(),
    };
    let dose_of = DoseOfPlan::of_plan(case, &plan, None, &beams, run, None);
    let dose_of = Shared::new(dose_of.ok_or_else(|| Failure::Here(no_beams(&plan)))?, None);
    let summed = access.answer(&*dose_of)?;
    let dose = Dose {
        label: plan.name.clone(),
        ..Dose::clone(&summed.dose)
    };
    facts
        .beam_doses
        .iter_mut()
        .for_each(|b| b.gy *= summed.factor);
    if let Some(certainty) = &mut facts.certainty {
        let times = f64::from(plan.fractions) * summed.factor;
        certainty.sigma_gy = scaled(&certainty.sigma_gy, times as f32);
    }
    remarks.extend(facts.warnings);
    remarks.extend(dose.remarks.iter().cloned());
    if !dose.caveats.is_empty() {
        remarks.push(format!(
            "the dose is {}: {}",
            dose.status_text(),
            ways_out(&dose.caveats)
        ));
    }
    let mut plan = Arc::unwrap_or_clone(plan);
    plan.beams.iter_mut().for_each(|b| b.mu *= summed.factor);
    let dvhs = access.dvhs(case, &dose_of)?;
    let target = target_of(&plan, &case.structures);
    let target_dvh = target.and_then(|t| dvhs.iter().find(|(s, _)| s.number == t.number));
    let figures = PlanFigures::new(
        &plan,
        &dose,
        target_dvh.map(|(s, d)| (s.name.as_str(), &**d)),
    );
    let result = PlanResult {
        dose,
        plan,
        factor: summed.factor,
        factor_uncertainty_percent: summed.factor_uncertainty_percent,
        figures,
        dvhs,
        receipts: facts.receipts,
        certainty: facts.certainty,
        beam_doses: facts.beam_doses,
        remarks,
    };
    Ok(ComputedPlan {
        result,
        whole: dose_of,
        beams: by_beam,
    })
}

/// Receipts, warnings and beam doses of the added doses.
#[derive(Default)]
struct DoseFacts {
    receipts: Vec<Arc<Receipt>>,
    /// Each with the name of its beam.
    warnings: Vec<String>,
    certainty: Option<Certainty>,
    beam_doses: Vec<BeamDose>,
}

fn warning_of_beam(beam: &Beam, warning: &str) -> String {
    format!("beam '{}': {warning}", beam.name)
}

struct GraphAccess<'a> {
    graph: &'a Graph,
    control: &'a JobControl,
}

impl GraphAccess<'_> {
    fn answer<Q: Query>(&self, query: &Q) -> Result<Q::Answer, Failure> {
        self.graph.full(query, self.control)
    }

    /// Computes the beams one by one. With several cards each takes the next free beam.
    fn beams(
        &self,
        plan: &Plan,
        beams: &[DoseOfBeam],
        choice: DeviceChoice,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<DoseFacts, Failure> {
        let next = AtomicUsize::new(0);

        // Each card has to upload the density and the kernels first, which takes longer than most plans on
        // one card.
        match choice.spread_if(false)[..] {
            [device] => self.compute_next_beams(beams, &next, device, tell),
            ref devices => std::thread::scope(|scope| {
                devices.iter().take(beams.len()).for_each(|device| {
                    scope.spawn(|| self.compute_next_beams(beams, &next, *device, tell));
                });
            }),
        }
        let mut facts = DoseFacts::default();
        for query in beams {
            let BeamResult { dose, .. } = self.answer(query)?;
            let Some(beam) = plan
                .beams
                .iter()
                .find(|b| b.number == query.inputs().beam.number)
            else {
                continue;
            };
            if let Some(receipt) = &dose.receipt {
                facts.warnings.extend(
                    receipt
                        .warnings
                        .iter()
                        .map(|warning| warning_of_beam(beam, warning)),
                );
                facts.receipts.push(Arc::clone(receipt));
            }
            facts
                .warnings
                .extend(most_mu_remark(beam).map(|warning| warning_of_beam(beam, &warning)));
            let point_mm = beam.isocentre_mm;
            let isocentre_gy = dose
                .gy
                .trilinear(point_mm)
                .map(f64::from)
                .filter(|gy| gy.is_finite());
            let beam_dose = isocentre_gy.map(|gy| BeamDose {
                beam: beam.number,
                point_mm,
                gy: gy * beam.mu / UNIT_MU,
            });
            facts.beam_doses.extend(beam_dose);
        }
        Ok(facts)
    }

    /// Computes beams on a device, the next free one each time, until none is left.
    fn compute_next_beams(
        &self,
        beams: &[DoseOfBeam],
        next: &AtomicUsize,
        device: DeviceChoice,
        tell: &(dyn Fn(&str) + Sync),
    ) {
        while let n = next.fetch_add(1, Ordering::Relaxed)
            && let Some(beam) = beams.get(n)
        {
            tell(&format!(
                "beam {} of {}: {}",
                n + 1,
                beams.len(),
                beam.beam_name()
            ));
            if self.answer(&beam.on(device)).is_err() {
                // After a failure the other beams are not needed.
                next.store(beams.len(), Ordering::Relaxed);
            }
        }
    }

    /// Computes all beams in one run.
    fn run(&self, run: &RunOfPlan, tell: &(dyn Fn(&str) + Sync)) -> Result<DoseFacts, Failure> {
        let (result, _) = self
            .graph
            .answer(run, Grade::Full, self.control, &mut |so_far| {
                let certainty = &so_far.certainty;
                let uncertainty = certainty
                    .uncertainty_percent
                    .map_or_else(String::new, |u| format!(", {u:.2} %"));
                let million = certainty.histories as f64 * 1e-6;
                tell(&format!(
                    "{million:.1} million histories{uncertainty} ({})",
                    so_far.dose.status
                ));
            })?;
        let receipts: Vec<Arc<Receipt>> = result.dose.receipt.clone().into_iter().collect();
        let warnings = receipts
            .iter()
            .flat_map(|r| r.warnings.iter().cloned())
            .collect();
        Ok(DoseFacts {
            receipts,
            warnings,
            certainty: result.ended.as_deref().cloned(),
            beam_doses: Vec::new(),
        })
    }

    fn dvhs(
        &self,
        case: &Case,
        dose: &Shared<DoseOfPlan>,
    ) -> Result<Vec<(Structure, Arc<Dvh>)>, Failure> {
        let mut dvhs = Vec::new();
        for structure in &case.structures.structures {
            let Some(mask) = MaskOf::new(case, structure) else {
                continue;
            };
            match self.answer(&DvhOf::new(mask, dose.clone(), None)) {
                Ok(answer) => dvhs.push((structure.clone(), answer.dvh)),
                Err(stopped @ Failure::Cancelled(_)) => return Err(stopped),
                // A structure without volume or dose has no DVH to show.
                Err(_) => {}
            }
        }
        Ok(dvhs)
    }
}

#[cfg(test)]
mod tests;
