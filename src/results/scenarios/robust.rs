//! A plan under set-up errors: its figures in all scenarios, and the extremes of each voxel.

use super::ScenarioResult;
use crate::graph::Failure;
use analysis::{DvhBand, RobustGoal};
use case::{Dose, DoseStatus, Goal, Plan, StructureSet, add_each_once};
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

impl RobustPlan {
    pub(super) fn new(planned: ScenarioResult, gy: &Volume<f32>) -> Self {
        Self {
            scenarios: vec![planned],
            grid: Arc::clone(gy.grid()),
            least_gy: gy.data().to_vec(),
            greatest_gy: gy.data().to_vec(),
        }
    }

    pub(super) fn add(&mut self, result: ScenarioResult, gy: &Volume<f32>) -> Result<(), Failure> {
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

    /// Least dose of each voxel over all scenarios, Gy of all fractions: no plan delivers it.
    pub fn least(&self, plan: &Plan) -> Dose {
        self.extreme(&self.least_gy, format!("least dose, {}", plan.name))
    }

    /// Greatest dose of each voxel, likewise.
    pub fn greatest(&self, plan: &Plan) -> Dose {
        self.extreme(&self.greatest_gy, format!("greatest dose, {}", plan.name))
    }

    fn extreme(&self, gy: &[f32], label: String) -> Dose {
        let count = self.scenarios.len();
        let mut caveats = vec![format!("extreme of each voxel over {count} scenarios")];
        let of_scenarios = self.scenarios.iter().flat_map(|s| &s.figures.caveats);
        add_each_once(&mut caveats, of_scenarios.map(String::as_str));
        Dose {
            gy: Volume::new(Arc::clone(&self.grid), gy.to_vec()).into(),
            status: DoseStatus::Partial,
            label,
            frame_of_reference_uid: String::new(),
            receipt: None,
            caveats,
            remarks: Vec::new(),
            part: None,
        }
    }

    /// Bands of the structures that have a DVH in every scenario.
    pub fn bands(&self, set: &StructureSet) -> Vec<DvhBand> {
        let results: Vec<&ScenarioResult> = self.scenarios.iter().collect();
        let bands = set
            .structures
            .iter()
            .map(|structure| ScenarioResult::band(&results, structure));
        bands.flatten().collect()
    }

    /// Goals without an error and in the worst scenario; `hundred_gy` is the 100 % dose.
    pub fn goals(
        &self,
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Vec<RobustGoal> {
        let results: Vec<&ScenarioResult> = self.scenarios.iter().collect();
        ScenarioResult::goals(&results, goals, set, hundred_gy)
    }
}
