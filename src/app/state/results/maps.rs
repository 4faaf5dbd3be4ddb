//! The dose of the fluence maps that the displayed plan's leaves were sequenced from, for comparison with the leaves' dose.

use super::CaseResults;
use super::needed::{MAPS, ONLY, beams_of};
use super::standing::DisplayedDose;
use crate::state::{State, Workspace};
use case::{DoseStatus, Plan};
use results::{Densities, DoseOfPlan, Shown};
use std::sync::Arc;

/// The maps of a plan in place of its leaves, and their dose.
#[derive(Debug, Default)]
pub(super) struct MapsState {
    /// The plan with its leaves, and with its maps.
    plans: Option<[Arc<Plan>; 2]>,
    view: DisplayedDose,
}

impl State {
    /// Lists the dose of the maps, where the displayed plan has leaves of them and both are shown side by side.
    pub(super) fn note_maps(&mut self) {
        let is_shown = self.workspace == Workspace::Plan && self.leaves.shows_stages;
        let plan = self
            .plan()
            .filter(|plan| is_shown && plan.is_cut())
            .cloned();
        let previous = std::mem::take(&mut self.results.maps).plans;
        self.results.maps.plans = plan.map(|plan| match previous {
            Some([leaves, maps]) if Arc::ptr_eq(&leaves, &plan) => [leaves, maps],
            _ => [Arc::clone(&plan), Arc::new(plan.uncut())],
        });
        let results = &self.results;
        let densities = results
            .nodes
            .node::<Densities>(ONLY)
            .and_then(|node| node.now());
        let dose = results
            .maps
            .plans
            .as_ref()
            .zip(densities)
            .and_then(|([_, maps], densities)| {
                let beams = beams_of(densities, maps, &results.settings_of(self.plan), |_| None);
                let previous = results
                    .nodes
                    .node::<DoseOfPlan>((MAPS, 0))
                    .and_then(|node| node.now());
                DoseOfPlan::of_plan(self.case(), maps, None, &beams, None, previous)
            });
        self.results.nodes.entry((MAPS, 0)).set(dose);
        self.results.maps.view = self.view_of(Shown::Plan, self.plan, (MAPS, 0));
    }
}

impl CaseResults {
    /// The dose of the maps that the leaves were cut from, or why there is none.
    pub fn maps_view(&self) -> &DisplayedDose {
        &self.maps.view
    }

    /// Status of the DVHs of that dose.
    pub fn maps_status(&self) -> Option<DoseStatus> {
        Some(self.status_with_dvhs(MAPS, self.maps.view.dose.as_ref()?.status))
    }
}
