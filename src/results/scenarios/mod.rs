//! Doses of a plan under set-up errors: queries for the window, all of them in one call for the command line.

mod figures;
mod fractions;
mod report;
mod robust;

pub use figures::DoseFigures;
pub use fractions::{Course, Day, DayResult, compute_fractions, dose_of_day};
pub use report::{
    CourseReport, DayEntry, DoseEntry, GoalEntry, RobustGoalEntry, RobustReport, ScenarioEntry,
};
pub use robust::RobustPlan;

use figures::dvhs_in;

use super::beam::DoseOfBeam;
use super::dvh::sampling_of;
use super::graph::{Access, Failure, Grade, Graph, Priority, Query};
use super::inputs::Settings;
use super::patient::{Densities, MaskOf};
use super::plan_dose::{DoseOfPlan, Summed};
use super::plan_job::PlanJob;
use super::run::RunOfPlan;
use super::shared::Shared;
use analysis::{Dvh, DvhBand, Engine, GoalRow, RobustGoal, Scenario, is_computed, no_beams};
use case::{Case, Ct, Dose, Goal, Plan, Structure, StructureSet};
use engine::JobControl;
use geometry::Mask;
use std::sync::Arc;
use worker::Lane;

/// A plan with the monitor units that it delivers, of which scenarios shift the isocentres.
#[derive(Debug)]
pub struct DeliveredPlan {
    case: Case,
    /// The plan of the case, of which this one is made, and the factor of its normalisation.
    source: (Arc<Plan>, f64),
    /// Without a normalisation: it would deliver other monitor units in each scenario.
    plan: Arc<Plan>,
    engine: Engine,
    settings: Settings,
    densities: Densities,
    masks: Vec<(u32, MaskOf)>,
    /// The dose without an error.
    planned: DoseOfPlan,
}

impl PartialEq for DeliveredPlan {
    fn eq(&self, other: &Self) -> bool {
        // The dose without an error has all inputs of the others.
        self.planned == other.planned && self.masks == other.masks
    }
}

impl DeliveredPlan {
    /// `None` without a CT, and of a plan without a beam to compute. `factor`: of the normalisation on the monitor units; `masks`: the
    /// structures whose DVHs are wanted.
    pub fn new(
        case: &Case,
        plan: &Arc<Plan>,
        factor: f64,
        engine: Engine,
        settings: &Settings,
        masks: Vec<(u32, MaskOf)>,
    ) -> Option<Self> {
        let settings = settings.by(engine.kind());
        let densities = Densities::new(case, &settings)?;
        let mut delivered = Plan {
            normalisation: None,
            ..Plan::clone(plan)
        };
        delivered
            .beams
            .iter_mut()
            .for_each(|beam| beam.mu *= factor);
        let delivered = Arc::new(delivered);
        let planned = dose_of(case, &delivered, engine, &settings, &densities)?;
        Some(Self {
            case: Case {
                doses: Vec::new(),
                ..case.clone()
            },
            source: (Arc::clone(plan), factor),
            plan: delivered,
            engine,
            settings,
            densities,
            masks,
            planned,
        })
    }

    /// The plan of a job, whose monitor units are those that are delivered, with the DVHs of all structures.
    ///
    /// # Errors
    /// [`Failure`]: a HU table that cannot be read, a plan without a beam to compute.
    pub fn of_job(job: &PlanJob) -> Result<Self, Failure> {
        let (case, settings) = (job.case(), job.settings()?);
        let structures = job.structures.structures.iter();
        let masks = structures.filter_map(|structure| {
            let mask = MaskOf::new(&case, structure)?;
            Some((structure.number, mask))
        });
        let plan = Arc::new(job.plan.clone());
        Self::new(&case, &plan, 1.0, job.engine, &settings, masks.collect())
            .ok_or_else(|| Failure::Here(no_beams(&job.plan)))
    }

    /// Whether the plan is made of these, compared by their addresses: to be asked in each frame.
    pub fn is_made_of(
        &self,
        case: &Case,
        plan: &Arc<Plan>,
        factor: f64,
        engine: Engine,
        settings: &Settings,
        masks: &[(u32, MaskOf)],
    ) -> bool {
        let has_same_ct = match (&self.case.ct, &case.ct) {
            (Some(ct), Some(other)) => Arc::ptr_eq(ct, other),
            _ => false,
        };
        has_same_ct
            && Arc::ptr_eq(&self.case.structures, &case.structures)
            && Arc::ptr_eq(&self.source.0, plan)
            && self.source.1 == factor
            && self.engine == engine
            && self.settings == settings.by(engine.kind())
            && self.masks == masks
    }

    /// The dose in a scenario.
    fn dose(&self, scenario: &Scenario) -> Option<DoseOfPlan> {
        if *scenario == Scenario::NOMINAL {
            return Some(self.planned.clone());
        }
        self.dose_of(&Arc::new(scenario.plan(&self.plan)))
    }

    /// The dose of a plan in the same patient, by the same engine and settings.
    fn dose_of(&self, plan: &Arc<Plan>) -> Option<DoseOfPlan> {
        dose_of(
            &self.case,
            plan,
            self.engine,
            &self.settings,
            &self.densities,
        )
    }

    /// DVHs in the dose of a scenario.
    fn dvhs(&self, dose: &Dose, inputs: &Access<'_>) -> Result<Vec<(u32, Arc<Dvh>)>, Failure> {
        let masks = self.masks(|query| inputs.get(query))?;
        let sampling = sampling_of(dose.status, inputs);
        dvhs_in(dose, &masks, sampling, inputs.control())
    }

    /// Structures with their masks.
    fn masks(
        &self,
        answer: impl Fn(&MaskOf) -> Result<Arc<Mask>, Failure>,
    ) -> Result<Vec<(&Structure, Arc<Mask>)>, Failure> {
        let mut masks = Vec::new();
        for (_, query) in &self.masks {
            match answer(query) {
                Ok(mask) => masks.push((query.structure(), mask)),
                Err(stopped @ Failure::Cancelled(_)) => return Err(stopped),
                // A structure without volume has no DVH to show.
                Err(_) => {}
            }
        }
        Ok(masks)
    }

    /// A scenario is computed only where the CT is.
    fn check_isocentres(&self, ct: &Ct, scenario: &Scenario) -> Result<(), Failure> {
        let mut beams = self.plan.beams.iter().filter(|beam| is_computed(beam));
        let grid = ct.hu.grid();
        match beams.find(|beam| !grid.contains(beam.isocentre_mm + scenario.shift_mm)) {
            Some(beam) => Err(Failure::Here(format!(
                "{scenario}: the isocentre of beam '{}' leaves the CT",
                beam.name
            ))),
            None => Ok(()),
        }
    }
}

fn dose_of(
    case: &Case,
    plan: &Arc<Plan>,
    engine: Engine,
    settings: &Settings,
    densities: &Densities,
) -> Option<DoseOfPlan> {
    let computed = plan.beams.iter().filter(|beam| is_computed(beam));
    let beams: Vec<DoseOfBeam> = computed
        .map(|beam| DoseOfBeam::new(densities, plan, beam, settings, None))
        .collect();
    let histories = engine.monte_carlo();
    let run = histories.and_then(|how| {
        RunOfPlan::new(
            densities,
            plan,
            settings,
            Some(how),
            1,
            &Arc::default(),
            None,
        )
    });
    DoseOfPlan::of_plan(case, plan, None, &beams, run.map(|run| (run, None)), None)
}

/// Figures of a plan in a scenario.
#[derive(Clone, Debug, PartialEq)]
pub struct FiguresOfScenario {
    pub scenario: Scenario,
    pub delivered: Shared<DeliveredPlan>,
}

/// A scenario with its figures.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    pub scenario: Scenario,
    pub figures: DoseFigures,
}

impl ScenarioResult {
    /// Band of a structure that has a DVH in every scenario, the one without an error first.
    pub fn band(results: &[&Self], structure: &Structure) -> Option<DvhBand> {
        let dvhs = results
            .iter()
            .map(|result| result.figures.dvh(structure.number));
        DvhBand::new(structure, &dvhs.collect::<Option<Vec<&Dvh>>>()?)
    }

    /// Goals without an error, whose result is the first, and in the worst scenario; `hundred_gy` is the 100 % dose.
    pub fn goals(
        results: &[&Self],
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Vec<RobustGoal> {
        let rows: Vec<Vec<GoalRow>> = results
            .iter()
            .map(|result| result.figures.goals(goals, set, hundred_gy))
            .collect();
        RobustGoal::of_rows(&rows)
    }
}

impl Query for FiguresOfScenario {
    type Answer = Arc<ScenarioResult>;

    // After all that answers the plan itself.
    const PRIORITY: Option<Priority> = Some(Priority::Scenarios);
    const GRADES: &'static [Grade] = &[Grade::Preview, Grade::Full];
    const NOTICED: bool = false;

    fn name(&self) -> String {
        format!("Set-up error: {}", self.scenario)
    }

    fn lane(&self, _: Grade) -> Lane {
        Lane::Device
    }

    fn answer(&self, inputs: &Access<'_>) -> Result<Self::Answer, Failure> {
        let delivered = &*self.delivered;
        if let Some(ct) = &delivered.case.ct {
            delivered.check_isocentres(ct, &self.scenario)?;
        }
        let dose = delivered.dose(&self.scenario);
        let dose = dose.ok_or_else(|| Failure::Here(no_beams(&delivered.plan)))?;
        // Counted here, not by queries of their own: nothing holds the dose of a scenario, which each would compute anew.
        let Summed { dose: summed, .. } = inputs.get(&dose)?;
        let dvhs = delivered.dvhs(&summed, inputs)?;
        Ok(Arc::new(ScenarioResult {
            scenario: self.scenario,
            figures: DoseFigures::new(&summed, dvhs),
        }))
    }
}

/// Computes a plan, whose monitor units are those that are delivered, in each scenario. `tell` receives a line before each.
///
/// # Errors
/// [`Failure`]: a scenario that takes an isocentre out of the CT; why a dose cannot be computed.
pub fn compute_scenarios(
    job: &PlanJob,
    scenarios: &[Scenario],
    control: &JobControl,
    tell: &(dyn Fn(&str) + Sync),
) -> Result<RobustPlan, Failure> {
    let delivered = Shared::new(DeliveredPlan::of_job(job)?, None);
    // Refused before anything is computed.
    for scenario in scenarios {
        delivered.check_isocentres(&job.ct, scenario)?;
    }
    let graph = Graph::default();
    let mut robust: Option<RobustPlan> = None;
    for (n, scenario) in scenarios.iter().enumerate() {
        tell(&format!(
            "scenario {} of {}: {scenario}",
            n + 1,
            scenarios.len()
        ));
        let query = FiguresOfScenario {
            scenario: *scenario,
            delivered: delivered.clone(),
        };
        let result = ScenarioResult::clone(&*graph.full(&query, control)?);
        let dose = delivered.dose(scenario);
        let dose = dose.ok_or_else(|| Failure::Here(no_beams(&job.plan)))?;
        let gy = graph.full(&dose, control)?.dose.gy.clone();
        match &mut robust {
            None => robust = Some(RobustPlan::new(result, &gy)),
            Some(robust) => robust.add(result, &gy)?,
        }
        drop_doses(&graph);
    }
    robust.ok_or_else(|| Failure::here("there is no scenario"))
}

/// Doses of one scenario at a time are held; densities and masks stay.
fn drop_doses(graph: &Graph) {
    graph.retain(|_: &DoseOfBeam| false);
    graph.retain(|_: &RunOfPlan| false);
    graph.retain(|_: &DoseOfPlan| false);
}
