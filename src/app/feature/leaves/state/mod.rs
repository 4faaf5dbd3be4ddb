//! Leaves of the plan on show: those that are being cut from its maps, and those that are to follow newer maps.

pub mod delivery;

use crate::feature::leaves::state::delivery::CachedDelivery;
use crate::state::State;
use crate::state::slot::Slot;
use analysis::is_computed;
use case::Plan;
use sequence::{Technique, arc_of, check_machine};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Techniques to choose from, each with its name.
pub const TECHNIQUES: [(Technique, &str); 2] = [
    (Technique::SlidingWindow, "sliding window"),
    (Technique::StepAndShoot, "step and shoot"),
];

/// Leaves that are cut from the maps of plans.
#[derive(Debug)]
pub struct Leaves {
    /// Technique of the next cut.
    pub technique: Technique,
    pub(crate) cut: Option<Cut>,
    pub(crate) follow: Option<Follow>,
    /// Cuts started so far.
    pub(crate) cuts: u64,
    /// Arcs whose leaves were made last, or are being made.
    pub(crate) arcs: Option<Arcs>,
    pub(crate) delivery: Option<CachedDelivery>,
    /// Whether doses on the way to leaves stand in the place of the goals' rows.
    pub shows_stages: bool,
}

/// A cut under way.
#[derive(Debug)]
pub struct Cut {
    pub number: u64,
    /// The plan, by index, as it was.
    pub plan: (usize, Arc<Plan>),
    /// The step of the history that the leaves join, with newer maps.
    pub step: Option<u64>,
    /// Digest of the goals and beams that they are made for.
    pub goals: Option<String>,
}

/// Newer maps of a plan that had leaves.
#[derive(Debug)]
pub struct Follow {
    pub plan: (usize, Arc<Plan>),
    /// The step of the history that the maps are in.
    pub step: Option<u64>,
    /// Time of the last change; leaves follow a while after it.
    pub since: Instant,
}

/// The last leaves of arcs.
#[derive(Debug)]
pub struct Arcs {
    pub started: Instant,
    /// Duration of the last optimisation; `None` before the first.
    pub took: Option<Duration>,
}

impl Default for Leaves {
    fn default() -> Self {
        Self {
            technique: Technique::SlidingWindow,
            cut: None,
            follow: None,
            cuts: 0,
            arcs: None,
            delivery: None,
            shows_stages: true,
        }
    }
}

/// Whether a plan has arcs that are computed: their leaves come from the goals in one go, without maps to look at.
pub fn has_arcs(plan: &Plan) -> bool {
    plan.beams
        .iter()
        .any(|beam| is_computed(beam) && arc_of(beam).is_some())
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

    pub fn is_cutting(&self) -> bool {
        self.cut.is_some()
    }

    /// Whether leaves are to follow newer maps.
    pub fn are_to_follow(&self) -> bool {
        self.follow.is_some() || self.cut.as_ref().is_some_and(|cut| cut.step.is_some())
    }
}

impl State {
    /// Whether the goals show the doses on the way to leaves: of a plan that has leaves, or whose leaves follow.
    pub fn shows_stages(&self) -> bool {
        self.leaves.shows_stages && self.has_leaves()
    }

    /// Whether the plan on show has leaves that were cut from maps, or is to have them again.
    pub fn has_leaves(&self) -> bool {
        let follow = self
            .optimise
            .run
            .as_ref()
            .is_some_and(|run| run.leaves_follow);
        follow || self.leaves.are_to_follow() || self.plan().is_some_and(|plan| plan.is_cut())
    }

    /// How far a cut is, in words and as a share: where another job has the device, which one it waits for.
    pub fn cut_words(&self) -> Option<(String, Option<f32>)> {
        let Cut {
            plan: (_, plan), ..
        } = self.leaves.cut.as_ref()?;
        let live = &self.jobs.live;
        if let Some(job) = live.iter().find(|job| job.slot == Slot::Leaves) {
            return Some((format!("leaves of {}", plan.name), job.done));
        }
        let waits_for = live
            .first()
            .map_or_else(String::new, |job| format!(" for: {}", job.name));
        Some((format!("leaves of {} wait{waits_for}", plan.name), None))
    }

    /// Whether leaves of the displayed arcs are being optimised: the dose of the present arcs is then of no use.
    pub fn is_cutting_arcs(&self) -> bool {
        let cut = self
            .leaves
            .cut
            .as_ref()
            .filter(|cut| cut.plan.0 == self.plan);
        cut.is_some_and(|cut| has_arcs(&cut.plan.1))
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
