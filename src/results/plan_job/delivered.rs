//! The monitor units that a normalised plan delivers.

use super::{PlanJob, compute_plan};
use crate::graph::Failure;
use case::Plan;
use engine::JobControl;

impl PlanJob {
    /// The job of the plan with the monitor units that deliver its normalisation: those stay, however the patient lies. `tell` receives
    /// a line before the dose that this takes.
    ///
    /// # Errors
    /// As [`compute_plan`].
    pub fn delivered(
        self,
        control: &JobControl,
        tell: &(dyn Fn(&str) + Sync),
    ) -> Result<Self, Failure> {
        if self.plan.normalisation.is_none() {
            return Ok(self);
        }
        tell("dose of the plan, for its monitor units");
        let plan = Plan {
            normalisation: None,
            ..compute_plan(&self, control, tell)?.plan
        };
        Ok(Self { plan, ..self })
    }
}
