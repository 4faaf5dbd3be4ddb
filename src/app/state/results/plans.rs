//! Results by plan index after plans were added or removed.

use super::{CaseResults, DISPLAYED, MAPS, Shown};
use crate::feature::compare::state::Source;
use crate::state::{Selection, State};
use case::Plan;
use results::{DoseOfBeam, DoseOfPlan, DvhOf, IsodoseOf, RunOfPlan};
use std::sync::Arc;

impl CaseResults {
    /// Drops the doses of a plan that is no longer displayed: beams of two plans share numbers.
    pub(crate) fn leave_other_plan(&mut self, displayed: usize) {
        if std::mem::replace(&mut self.plan, displayed) != displayed {
            self.drop_displayed();
        }
    }

    fn drop_displayed(&mut self) {
        let results = &mut self.nodes;
        results.keep_only::<DoseOfBeam>(|(group, _)| group != DISPLAYED);
        results.keep_only::<RunOfPlan>(|(group, _)| group != DISPLAYED);
        results.keep_only::<DoseOfPlan>(|(group, _)| group != DISPLAYED && group != MAPS);
        results.keep_only::<DvhOf>(|(group, _)| group != DISPLAYED && group != MAPS);
        results.keep_only::<IsodoseOf>(|(group, _)| group != DISPLAYED);
    }
}

impl State {
    /// Lets the displayed plan, the engines and the compared doses follow their plans, which an edit or its undo moved
    /// from their places in `previous`. Nothing of a removed plan is left on show.
    pub(crate) fn follow_plans(&mut self, previous: &[Arc<Plan>]) {
        let plans = &self.history.case().plans;
        if plans.len() == previous.len() {
            return;
        }
        // Index now of the plan that had an index before.
        let moved: Vec<Option<usize>> = previous
            .iter()
            .map(|plan| plans.iter().position(|other| Arc::ptr_eq(other, plan)))
            .collect();
        let last = plans.len().saturating_sub(1);
        let displayed = moved.get(self.plan).copied().flatten();
        self.export
            .follow_plans(|old| moved.get(old).copied().flatten());
        let engines = std::mem::take(&mut self.results.engines);
        self.results.engines = engines
            .into_iter()
            .filter_map(|(old, how)| Some(((*moved.get(old)?)?, how)))
            .collect();
        self.compare.sides = self.compare.sides.map(|side| match side? {
            Source::Plan(old) => moved.get(old).copied().flatten().map(Source::Plan),
            Source::Beam(_) if displayed.is_none() => None,
            other => Some(other),
        });
        match displayed {
            Some(index) => {
                self.plan = index;
                self.results.plan = index;
            }
            None => {
                self.plan = self.plan.min(last);
                self.results.plan = self.plan;
                self.results.drop_displayed();
                if matches!(self.results.shown, Shown::Beam(_)) {
                    self.results.shown = Shown::Plan;
                }
                if matches!(self.selection, Selection::Beam(_)) {
                    self.selection = Selection::Plan;
                }
            }
        }
    }
}
