//! Leaves of the plan on show: by which technique, how far they are, whether they can be made.

pub mod delivery;

use crate::feature::leaves::state::delivery::CachedDelivery;
use crate::feature::optimise::state::has_arcs;
use crate::state::State;
use analysis::is_computed;
use results::LeavesOf;
use sequence::{Technique, check_machine};

/// Techniques to choose from, each with its name.
pub const TECHNIQUES: [(Technique, &str); 3] = [
    (Technique::SlidingWindow, "sliding window"),
    (Technique::StepAndShoot, "step and shoot"),
    (Technique::FewSegments, "few segments"),
];

/// Leaves that are cut from the maps of plans.
#[derive(Debug)]
pub struct Leaves {
    /// Technique of the next cut.
    pub technique: Technique,
    pub(crate) delivery: Option<CachedDelivery>,
    /// Whether doses on the way to leaves stand in the place of the goals' rows.
    pub shows_stages: bool,
}

impl Default for Leaves {
    fn default() -> Self {
        Self {
            technique: Technique::SlidingWindow,
            delivery: None,
            shows_stages: true,
        }
    }
}

impl Leaves {
    /// The chosen technique, as it is listed.
    pub fn technique_name(&self) -> &'static str {
        TECHNIQUES
            .iter()
            .find(|(technique, _)| *technique == self.technique)
            .map_or("", |(_, name)| name)
    }

    /// Chooses a technique by its name; an unknown one changes nothing.
    pub(crate) fn choose_technique(&mut self, name: Option<&str>) {
        if let Some((technique, _)) = TECHNIQUES.iter().find(|(_, listed)| Some(*listed) == name) {
            self.technique = *technique;
        }
    }
}

impl State {
    /// Whether the goals show the doses on the way to leaves: of a plan that has leaves, or whose leaves follow.
    pub fn shows_stages(&self) -> bool {
        self.leaves.shows_stages && self.has_leaves()
    }

    /// Whether the plan on show has leaves that were cut from maps, or is to have them again.
    pub fn has_leaves(&self) -> bool {
        self.optimise.phase.has_leaves() || self.plan().is_some_and(|plan| plan.is_cut())
    }

    /// How far a cut is, in words and as a share: where another job has the device, which one it waits for.
    pub fn cut_words(&self) -> Option<(String, Option<f32>)> {
        let (_, plan) = &self.optimise.phase.leaves()?.plan;
        let live = &self.jobs.live;
        if let Some(job) = live.iter().find(|job| job.slot.is_for::<LeavesOf>()) {
            return Some((format!("leaves of {}", plan.name), job.done));
        }
        let waits_for = live
            .first()
            .map_or_else(String::new, |job| format!(" for: {}", job.name));
        Some((format!("leaves of {} wait{waits_for}", plan.name), None))
    }

    /// Whether leaves of the displayed arcs are being optimised: the dose of the present arcs is then of no use.
    pub fn is_cutting_arcs(&self) -> bool {
        let leaves = self.optimise.phase.leaves();
        leaves.is_some_and(|leaves| leaves.plan.0 == self.plan && has_arcs(&leaves.plan.1))
    }

    /// Whether the plan on show can be made deliverable: its maps cut, or found first where it has none.
    ///
    /// # Errors
    /// Why not, in words for the user.
    pub fn can_make_deliverable(&self) -> Result<(), String> {
        if self.optimise.is_running() {
            return Err("the optimisation runs: stop it first".to_owned());
        }
        let plan = self.plan().ok_or("the case has no plan")?;
        if plan.is_approved() {
            self.can_optimise()?;
        }
        let from_goals = !plan.has_maps() || has_arcs(plan);
        if from_goals {
            self.optimise_query()?;
        }
        for beam in &plan.beams {
            let is_sequenced = is_computed(beam) && (from_goals || beam.map().is_some());
            // A machine that cannot be read fails the cut itself.
            if let Some(machine) = self
                .results
                .machine(plan.machine_of(beam))
                .filter(|_| is_sequenced)
            {
                check_machine(beam, machine).map_err(|why| why.to_string())?;
            }
        }
        Ok(())
    }
}
