//! Doses of a plan under set-up errors.

use super::graph::{Failure, Graph};
use super::plan_job::{PlanJob, PlanResult, compute_in};
use analysis::{
    Dvh, DvhBand, GoalRow, RobustGoal, Scenario, Unanswered, is_computed, scorecard, undecided_by,
};
use case::{Ct, DoseStatus, Goal, Plan, Structure, StructureSet};
use engine::JobControl;
use geometry::{Grid, Volume};
use std::sync::Arc;

/// A plan under set-up errors.
#[derive(Clone, Debug)]
pub struct RobustPlan {
    /// Each with its figures; the one without an error first.
    pub scenarios: Vec<ScenarioResult>,
    grid: Arc<Grid>,
    /// Least and greatest dose of each voxel over all scenarios, Gy of all fractions.
    least_gy: Vec<f32>,
    greatest_gy: Vec<f32>,
}

/// Figures of a scenario, without its dose.
#[derive(Clone, Debug)]
pub struct ScenarioResult {
    pub scenario: Scenario,
    pub status: DoseStatus,
    pub caveats: Vec<String>,
    /// Why the dose decides no goal.
    undecided: Option<String>,
    pub dvhs: Vec<(Structure, Arc<Dvh>)>,
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
    for scenario in scenarios {
        check_isocentres(&job.ct, &job.plan, scenario)?;
    }
    let (graph, settings) = (Graph::default(), job.settings()?);
    let mut robust: Option<RobustPlan> = None;
    for (n, scenario) in scenarios.iter().enumerate() {
        tell(&format!(
            "scenario {} of {}: {scenario}",
            n + 1,
            scenarios.len()
        ));
        let case = PlanJob {
            plan: scenario.plan(&job.plan),
            ..job.clone()
        }
        .case();
        let computed = compute_in(&graph, &case, job.engine, &settings, control, &|_| {})?;
        let PlanResult { dose, dvhs, .. } = computed.result;
        let result = ScenarioResult {
            scenario: *scenario,
            status: dose.status,
            undecided: undecided_by(&dose, dose.status),
            caveats: dose.caveats,
            dvhs,
        };
        match &mut robust {
            None => {
                robust = Some(RobustPlan {
                    scenarios: vec![result],
                    grid: Arc::clone(dose.gy.grid()),
                    least_gy: dose.gy.data().to_vec(),
                    greatest_gy: dose.gy.data().to_vec(),
                });
            }
            Some(robust) => robust.add(result, &dose.gy)?,
        }
    }
    robust.ok_or_else(|| Failure::here("there is no scenario"))
}

/// A scenario is computed only where the CT is.
fn check_isocentres(ct: &Ct, plan: &Plan, scenario: &Scenario) -> Result<(), Failure> {
    let mut beams = plan.beams.iter().filter(|beam| is_computed(beam));
    let grid = ct.hu.grid();
    match beams.find(|beam| !grid.contains(beam.isocentre_mm + scenario.shift_mm)) {
        Some(beam) => Err(Failure::Here(format!(
            "{scenario}: the isocentre of beam '{}' leaves the CT",
            beam.name
        ))),
        None => Ok(()),
    }
}

impl RobustPlan {
    fn add(&mut self, result: ScenarioResult, gy: &Volume<f32>) -> Result<(), Failure> {
        if *gy.grid() != self.grid {
            return Err(Failure::here("the dose grid depends on the isocentre"));
        }
        let bounds = self.least_gy.iter_mut().zip(&mut self.greatest_gy);
        for ((least_gy, greatest_gy), gy) in bounds.zip(gy.data()) {
            *least_gy = least_gy.min(*gy);
            *greatest_gy = greatest_gy.max(*gy);
        }
        self.scenarios.push(result);
        Ok(())
    }

    /// Least dose of each voxel over all scenarios, Gy of all fractions.
    pub fn least_gy(&self) -> Volume<f32> {
        Volume::new(Arc::clone(&self.grid), self.least_gy.clone())
    }

    /// Greatest dose of each voxel over all scenarios, Gy of all fractions.
    pub fn greatest_gy(&self) -> Volume<f32> {
        Volume::new(Arc::clone(&self.grid), self.greatest_gy.clone())
    }

    /// Bands of the structures that have a DVH in every scenario.
    pub fn bands(&self) -> Vec<DvhBand> {
        let Some(planned) = self.scenarios.first() else {
            return Vec::new();
        };
        let bands = planned.dvhs.iter().filter_map(|(structure, _)| {
            let dvhs: Option<Vec<&Dvh>> = self
                .scenarios
                .iter()
                .map(|result| result.dvh(structure.number))
                .collect();
            DvhBand::new(structure, &dvhs?)
        });
        bands.collect()
    }

    /// Goals without an error and in the worst scenario; `hundred_gy` is the 100 % dose.
    pub fn goals(
        &self,
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Vec<RobustGoal> {
        let rows: Vec<Vec<GoalRow>> = self
            .scenarios
            .iter()
            .map(|result| {
                let undecided = result.undecided.as_deref();
                scorecard(goals, set, hundred_gy, undecided, |structure| {
                    let dvh = result.dvh(structure.number);
                    dvh.ok_or_else(|| Unanswered::NoDose("it has no DVH".to_owned()))
                })
            })
            .collect();
        RobustGoal::of_rows(&rows)
    }
}

impl ScenarioResult {
    fn dvh(&self, number: u32) -> Option<&Dvh> {
        let mut dvhs = self.dvhs.iter();
        dvhs.find(|(structure, _)| structure.number == number)
            .map(|(_, dvh)| &**dvh)
    }
}
