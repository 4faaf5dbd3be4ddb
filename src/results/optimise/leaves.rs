//! Leaves that deliver a plan, as a result: of its maps, or of its goals where it has arcs.

use super::super::beam::DoseOfBeam;
use super::super::graph::{Access, Failure, Grade, Graph, Priority, Query};
use super::super::inputs::Settings;
use super::super::patient::Densities;
use super::super::plan_dose::DoseOfPlan;
use super::job::optimise_plan;
use super::live::LiveOptimiser;
use super::optimum::OptimumOf;
use super::query::OptimiseQuery;
use analysis::{is_computed, no_beams};
use case::{Beam, Case, Plan, Receipt};
use engine::JobControl;
use inverse::{OptimiseRemark, Progress, RefinedLeaves};
use sequence::{Technique, check_machines, sequence_plan_while};
use std::sync::{Arc, PoisonError};
use std::time::Instant;
use worker::Lane;

/// Key of the leaves that deliver a plan of a case by a technique.
#[derive(Clone, Debug)]
pub struct LeavesOf {
    pub case: Case,
    pub plan: Arc<Plan>,
    pub settings: Settings,
    pub technique: Technique,
    pub source: LeavesSource,
}

/// Maps or goals that leaves are made of.
#[derive(Clone, Debug, PartialEq)]
pub enum LeavesSource {
    /// The maps of the plan, and the optimum that has them: leaves are refined on its objectives and true dose.
    Maps(Option<Box<OptimumOf>>),
    /// The goals: fluence maps of arcs belong to sectors, which no plan holds.
    Goals(Box<OptimumOf>),
}

/// Leaves of a plan.
#[derive(Clone, Debug)]
pub struct Leaves {
    pub beams: Vec<Beam>,
    /// Whether they were refined on their true dose.
    pub are_refined: bool,
    pub remarks: Vec<OptimiseRemark>,
    pub receipt: Arc<Receipt>,
}

impl PartialEq for LeavesOf {
    fn eq(&self, other: &Self) -> bool {
        self.technique == other.technique
            && self.source == other.source
            && self.settings == other.settings
            && (Arc::ptr_eq(&self.plan, &other.plan)
                || self.plan.delivered() == other.plan.delivered()
                    && self.plan.normalisation == other.plan.normalisation
                    && self.plan.prescription_gy == other.plan.prescription_gy
                    && self.plan.objectives == other.plan.objectives)
            && (Arc::ptr_eq(&self.case.structures, &other.case.structures)
                || self.densities() == other.densities())
    }
}

impl Query for LeavesOf {
    type Answer = Arc<Leaves>;

    const PRIORITY: Option<Priority> = Some(Priority::Inverse(1));
    const LISTED: bool = true;
    /// Leaves of arcs take minutes.
    const RESTARTABLE: bool = false;

    fn name(&self) -> String {
        format!("Leaves of plan {}", self.plan.name)
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn receipt(leaves: &Arc<Leaves>) -> Option<Arc<Receipt>> {
        Some(Arc::clone(&leaves.receipt))
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Arc<Leaves>, Failure> {
        match &self.source {
            LeavesSource::Maps(optimum) => self.of_maps(optimum.as_deref(), inputs),
            LeavesSource::Goals(optimum) => self.of_goals(&optimum.0, inputs),
        }
        .map(Arc::new)
    }
}

impl LeavesOf {
    fn densities(&self) -> Option<Densities> {
        Densities::new(&self.case, &self.settings)
    }

    /// Sequences the maps of the plan, with the monitor units of its normalisation, and refines the leaves where the optimum is known that
    /// has these maps. Leaves that were sequenced before are sequenced anew.
    fn of_maps(&self, optimum: Option<&OptimumOf>, inputs: &Access<'_>) -> Result<Leaves, Failure> {
        let control = inputs.control();
        let plan = Arc::new(self.plan.uncut());
        if let Some(fault) = plan.fault() {
            return Err(Failure::Here(fault.to_string()));
        }
        // Machines are refused before any dose.
        let with_map = plan.beams.iter().filter(|beam| beam.fluence.is_some());
        check_machines(&plan, with_map).map_err(Failure::here)?;
        let factor = self.normalisation_factor(&plan, inputs.graph(), control)?;
        let mut plan = Arc::unwrap_or_clone(plan);
        plan.beams.iter_mut().for_each(|beam| beam.mu *= factor);
        let start = Instant::now();
        let sequenced = sequence_plan_while(&plan, self.technique, &|| !control.is_cancelled());
        control.check()?;
        let sequenced = sequenced.map_err(Failure::here)?.plan;
        let mut receipt = Receipt {
            job: "leaves".to_owned(),
            digest: optimum
                .map(|OptimumOf(goals)| goals.digest())
                .unwrap_or_default(),
            device: "cpu".to_owned(),
            phases_ms: vec![("sequence".to_owned(), since_ms(start))],
            ..Receipt::default()
        };
        let start = Instant::now();
        let refined = match optimum {
            Some(optimum) => refined(optimum, &plan, &sequenced, inputs)?,
            None => None,
        };
        control.check()?;
        let are_refined = refined.is_some();
        let mut remarks = Vec::new();
        let delivered = match refined {
            Some((leaves, device)) => {
                remarks = leaves.refinement.remarks();
                receipt
                    .phases_ms
                    .push(("refinement".to_owned(), since_ms(start)));
                (receipt.device, receipt.work) = (device, leaves.true_doses as u64);
                leaves.plan
            }
            None => sequenced,
        };
        remarks.splice(..0, OptimiseRemark::of_plan(&delivered));
        let of_map = delivered
            .beams
            .into_iter()
            .zip(&plan.beams)
            .filter(|(_, map)| map.fluence.is_some());
        Ok(Leaves {
            beams: of_map.map(|(leaves, _)| leaves).collect(),
            are_refined,
            remarks,
            receipt: Arc::new(receipt),
        })
    }

    /// Optimises the leaves of arcs from the goals to their refinement, as the verb does.
    fn of_goals(&self, goals: &OptimiseQuery, inputs: &Access<'_>) -> Result<Leaves, Failure> {
        let control = inputs.control();
        let mut done = PartDone(control.done());
        let technique = Some(self.technique);
        let optimised =
            optimise_plan(goals, technique, inputs.graph(), control, &mut |progress| {
                control.report(done.after(progress));
            })?;
        control.check()?;
        let leaves = optimised
            .answer
            .leaves
            .ok_or_else(|| Failure::here("the arcs have no leaves"))?;
        let receipt = optimised.answer.receipt.of_job("leaves", goals.digest());
        let beams = leaves.plan.beams.into_iter().filter(is_computed);
        Ok(Leaves {
            beams: beams.collect(),
            are_refined: true,
            remarks: optimised.answer.remarks,
            receipt: Arc::new(receipt),
        })
    }

    /// Factor of the plan's normalisation on all monitor units.
    fn normalisation_factor(
        &self,
        plan: &Arc<Plan>,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<f64, Failure> {
        if plan.normalisation.is_none() {
            return Ok(1.0);
        }
        let Self { case, settings, .. } = self;
        let densities = self
            .densities()
            .ok_or_else(|| Failure::here("the case has no CT"))?;
        let computed = plan.beams.iter().filter(|beam| is_computed(beam));
        let beams: Vec<DoseOfBeam> = computed
            .map(|beam| DoseOfBeam::new(&densities, plan, beam, settings, None))
            .collect();
        let dose = DoseOfPlan::of_plan(case, plan, None, &beams, None, None);
        Ok(graph
            .full(&dose.ok_or_else(|| Failure::Here(no_beams(plan)))?, control)?
            .factor)
    }
}

/// Leaves that were sequenced from the maps of a plan, refined by the optimiser at rest with these maps, and its device.
fn refined(
    optimum: &OptimumOf,
    maps: &Plan,
    sequenced: &Plan,
    inputs: &Access<'_>,
) -> Result<Option<(RefinedLeaves, String)>, Failure> {
    let place = inputs.graph().warm::<Option<LiveOptimiser>>();
    // The optimiser comes to rest with it again, where it has gone on to another meanwhile.
    let optimum = inputs.get(optimum);
    optimum.map_err(|failure| match failure {
        Failure::Below(why) => Failure::Here(why),
        failure => failure,
    })?;
    let live = place.lock().unwrap_or_else(PoisonError::into_inner);
    let Some(live) = &*live else { return Ok(None) };
    let refined = live
        .refined(maps, sequenced, inputs.control())
        .transpose()?;
    Ok(refined.map(|leaves| (leaves, live.device())))
}

/// Part of the leaves of arcs that is done.
struct PartDone(f32);

impl PartDone {
    /// Parts of the time that columns take, and one look at true dose of the refinement.
    const COLUMNS: f32 = 0.3;
    const LOOK: f32 = 0.05;

    fn after(&mut self, progress: Progress) -> f32 {
        self.0 = match progress {
            Progress::Columns { done, of: count } => {
                (Self::COLUMNS * done as f32 / count.max(1) as f32).max(self.0)
            }
            Progress::Leaves { .. } => (self.0.max(Self::COLUMNS) + Self::LOOK).min(0.99),
            Progress::Iteration { .. } | Progress::TrueDose { .. } | Progress::Histories { .. } => {
                self.0
            }
        };
        self.0
    }
}

/// Wall time since an instant, ms.
fn since_ms(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}
