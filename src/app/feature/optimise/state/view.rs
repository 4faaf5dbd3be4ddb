//! The optimiser's last answer beside the plan on show: which parts of it are shown and kept, derived from its inputs and the case.

use super::maps::{has_maps_of, with_maps};
use crate::state::State;
use crate::state::results::{DISPLAYED, ONLY};
use analysis::{Dvh, GoalRow, Unanswered, scorecard};
use case::{Beam, Case, DoseStatus, Plan, Structure, StructureKind};
use results::{DvhOf, Optimum, OptimumOf, OptimumStage, OtherShares, Step};
use std::sync::Arc;

/// Name of a DVH of the optimiser wherever it is shown.
pub const OPTIMISERS_DOSE: &str = "optimiser's dose";

/// Name of its map with the jaws that fit it, wherever they stand in place of the plan's.
pub const OPTIMISERS_MAP: &str = "optimiser's map and jaws";

/// Why it decides no goal.
pub const OPTIMISER_DECIDES_NOTHING: &str = "the dose is the optimiser's";

/// The last answer beside the plan on show.
#[derive(Debug, Default)]
pub struct OptimumView {
    pub(crate) latest: Option<Arc<Optimum>>,
    /// `None` where the plan has neither its maps nor its run.
    pub(crate) standing: Option<AnswerStanding>,
    /// Whether the DVHs show its dose.
    pub(crate) is_shown: bool,
    /// The plan on show with its maps, by index, while they are in no step of the history: kept against a crash.
    pub(crate) published: Option<(usize, Arc<Plan>)>,
    /// Beams whose columns of the influence matrix are computed, and all beams, while a run computes them.
    columns: Option<[usize; 2]>,
}

/// Standing of the last answer of the optimiser beside the plan on show: each number made of it derives its own from this.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AnswerStanding {
    /// Patient, beams, machine and settings are those that its dose was made for.
    pub is_dose_current: bool,
    /// So are goals and other objectives, of which its shares are.
    pub are_shares_current: bool,
    /// The plan has its maps, delivered or not; else a run will give them to it, and doses of the plan are of maps before.
    pub has_plan_its_maps: bool,
}

impl AnswerStanding {
    /// Status of the optimiser's dose: never better than a preview, as only sampled voxels have it.
    pub fn status(self) -> DoseStatus {
        if self.is_dose_current {
            DoseStatus::Preview
        } else {
            DoseStatus::Preview.worst(DoseStatus::Stale)
        }
    }
}

impl OptimumView {
    /// The last answer.
    pub fn latest(&self) -> Option<&Optimum> {
        self.latest.as_deref()
    }

    /// Share of the influence matrix that is computed, while it is being computed.
    pub fn share_done(&self) -> Option<f32> {
        let [computed, total] = self.columns?;
        Some(computed as f32 / total.max(1) as f32)
    }
}

impl State {
    /// How far the run is, or where the last one that the plan has the maps of came to rest, in words.
    pub fn optimum_words(&self) -> Option<String> {
        let optimise = &self.optimise;
        let latest = optimise.view.latest.as_ref();
        let Some(run) = optimise.phase.run() else {
            let applied = optimise.applied.as_ref().zip(self.plan());
            let has_maps = applied.is_some_and(|(applied, plan)| Arc::ptr_eq(applied, plan));
            let optimum = latest.filter(|_| has_maps)?;
            let end = if optimum.is_at_rest() {
                "at rest"
            } else {
                "stopped before it came to rest"
            };
            return Some(format!("{end}: {}", progress_words(optimum)));
        };
        let latest_of_run = latest.filter(|optimum| run.has_found(optimum));
        Some(match (latest_of_run, optimise.view.columns) {
            (_, Some([computed, total])) => {
                format!("influence of beamlets: {computed} of {total} beams")
            }
            (Some(optimum), None) => progress_words(optimum),
            (None, None) => "begins".to_owned(),
        })
    }

    /// The optimiser's dose, where the DVHs and goals show it in place of the dose of the case.
    pub fn optimisers_dose(&self) -> Option<&Optimum> {
        let view = &self.optimise.view;
        view.latest.as_deref().filter(|_| view.is_shown)
    }

    /// The last answer of the optimiser, where it is of the plan on show, with what it is worth.
    pub fn answer_of_plan(&self) -> Option<(&Optimum, AnswerStanding)> {
        Some((self.optimise.view.latest()?, self.optimise.view.standing?))
    }

    /// The answer that has the shares of the plan's objectives; while a run follows other goals, the answer of its last step.
    fn answer_with_shares(&self) -> Option<&Optimum> {
        let (latest, standing) = self.answer_of_plan()?;
        let is_of_run = self.optimise.is_running() && standing.is_dose_current;
        (standing.are_shares_current || is_of_run).then_some(latest)
    }

    /// Share of a goal, by its place, in all that is minimised, or why it is judged only.
    pub fn goal_share(&self, index: usize) -> Option<&Result<f64, String>> {
        let latest = self.answer_with_shares()?;
        let goals = latest.query.goals();
        (goals.len() == self.goals().len())
            .then(|| latest.by_goal.get(index))
            .flatten()
    }

    /// Shares of the objectives that no goal stands for, where the last answer is of the same.
    pub fn other_shares(&self) -> Option<&OtherShares> {
        let latest = self.answer_with_shares()?;
        let uniform = self.plan()?.objectives.uniform.len();
        (latest.others.uniform.len() == uniform).then_some(&latest.others)
    }

    /// Derives from the inputs of the last answer which parts of it are shown and kept.
    pub(crate) fn note_optimise(&mut self) {
        let answered = self.plan().and_then(|plan| plan.answered_goals.clone());
        self.optimise.followed.are_newer = answered.is_some() && {
            let digest = self.goals_digest();
            digest.is_some() && digest != answered
        };
        let previous = std::mem::take(&mut self.optimise.view);
        let columns = self.columns_under_way();
        self.optimise.view = match self.latest_optimum() {
            Some(latest) => self.view_of_optimum(Arc::clone(latest), previous),
            None => OptimumView::default(),
        };
        self.optimise.view.columns = columns;
    }

    /// Beams whose columns of the influence matrix are computed, and all beams, while a run computes them.
    fn columns_under_way(&self) -> Option<[usize; 2]> {
        let node = self.results.nodes.node::<OptimumOf>(ONLY);
        match node.filter(|_| self.optimise.is_running())?.latest()? {
            Step::Columns { done, of: count } => Some([*done, *count]),
            Step::Optimum(_) => None,
        }
    }

    fn view_of_optimum(&self, latest: Arc<Optimum>, previous: OptimumView) -> OptimumView {
        let query = self.optimise_query().ok();
        let phase = &self.optimise.phase;
        let is_of_run = phase.run().is_some_and(|run| run.has_found(&latest));
        let standing = AnswerStanding {
            is_dose_current: query
                .as_ref()
                .is_some_and(|query| query.has_rows_of(&latest.query)),
            are_shares_current: query.as_ref() == Some(&latest.query),
            has_plan_its_maps: self.plan().is_some_and(|plan| has_maps_of(plan, &latest)),
        };
        let is_kept = is_of_run && standing.are_shares_current;
        let published = self.plan().filter(|_| is_kept).map(|plan| {
            let mut with = with_maps(plan, &latest.beams);
            with.set_answered_goals(Some(latest.answered_goals.to_string()));
            let with = Arc::new(with);
            // An equal plan keeps its identity: it is written once.
            let same = previous
                .published
                .filter(|(index, old)| *index == self.plan && *old == with);
            same.unwrap_or((self.plan, with))
        });
        OptimumView {
            is_shown: standing.is_dose_current && (is_of_run || self.awaits_true_dose()),
            standing: (is_of_run || standing.has_plan_its_maps).then_some(standing),
            latest: Some(latest),
            published,
            columns: None,
        }
    }

    /// Whether the plan has the applied maps, whose true dose is still being computed.
    fn awaits_true_dose(&self) -> bool {
        let applied = self.optimise.applied.as_ref().zip(self.plan());
        applied.is_some_and(|(applied, plan)| Arc::ptr_eq(applied, plan)) && !self.has_true_dose()
    }

    /// Whether the DVHs of the displayed case are computed or have failed.
    fn has_true_dose(&self) -> bool {
        let nodes = &self.results.nodes;
        let mut dvhs = nodes
            .each::<DvhOf>()
            .filter(|((group, _), _)| *group == DISPLAYED)
            .peekable();
        dvhs.peek().is_some()
            && dvhs.all(|(_, node)| node.current().is_some() || node.failure().is_some())
    }

    /// The case with the maps of a run that has not ended: what a crash must not take.
    pub(crate) fn case_with_published(&self) -> Case {
        let mut case = self.case().clone();
        if let Some((index, plan)) = &self.optimise.view.published
            && let Some(place) = case.plans.get_mut(*index)
        {
            *place = Arc::clone(plan);
        }
        case
    }

    /// The beam whose map the views show: the optimiser's, where its dose is on view.
    pub fn beam_on_view<'a>(&'a self, beam: &'a Beam) -> &'a Beam {
        let optimum = self.optimisers_dose();
        let optimised = optimum.and_then(|optimum| {
            optimum
                .beams
                .iter()
                .find(|other| other.number == beam.number)
        });
        optimised.unwrap_or(beam)
    }

    /// Status of the map and jaws that [`Self::beam_on_view`] shows in place of the plan's; `None` for the plan's own.
    pub fn status_of_beam_on_view(&self, beam: &Beam) -> Option<DoseStatus> {
        let optimum = self.optimisers_dose()?;
        let is_replaced = optimum
            .beams
            .iter()
            .any(|other| other.number == beam.number);
        // The plan already has these maps.
        let standing = self
            .optimise
            .view
            .standing
            .filter(|standing| is_replaced && !standing.has_plan_its_maps)?;
        Some(standing.status())
    }

    /// 100 % of the curves on view in Gy, and its name: the maximum dose of the case does not apply to the optimiser's dose.
    pub fn reference_on_view(&self) -> Option<(f64, &'static str)> {
        match self.optimisers_dose() {
            Some(_) => self.goal_hundred(),
            None => self.reference(),
        }
    }

    /// The curves that the DVH panel shows: of the optimiser's dose where that is on view, else of the dose of the case.
    pub fn curves_on_view(&self) -> Vec<(&Structure, &Dvh)> {
        let Some(optimum) = self.optimisers_dose() else {
            return self.shown_dvhs();
        };
        self.visible_dvhs(&optimum.dvhs)
    }

    /// The DVHs of the visible structures before the last drag.
    pub fn ghost_curves(&self) -> Vec<(&Structure, &Dvh)> {
        self.visible_dvhs(&self.optimise.ghost)
    }

    fn visible_dvhs<'a>(&'a self, dvhs: &'a [(u32, Arc<Dvh>)]) -> Vec<(&'a Structure, &'a Dvh)> {
        let shown = self
            .case()
            .structures
            .structures
            .iter()
            .filter(|s| !self.hidden.contains(&s.number));
        let mut curves: Vec<(&Structure, &Dvh)> = shown
            .filter_map(|s| Some((s, dvh_of_structure(dvhs, s.number)?)))
            .collect();
        curves.sort_by_key(|(s, _)| s.kind.min(StructureKind::Organ));
        curves
    }

    /// Status of the curves on view.
    pub fn curves_status(&self) -> Option<DoseStatus> {
        match self.optimisers_dose() {
            Some(_) => Some(self.optimise.view.standing?.status()),
            None => self.results.dvh_status(),
        }
    }

    /// The goals with their values in what the DVH panel shows: the optimiser's dose decides none of them.
    pub fn scorecard_on_view(&self) -> Vec<GoalRow> {
        let Some(optimum) = self.optimisers_dose() else {
            return self.scorecard();
        };
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        scorecard(
            &self.goals(),
            &self.case().structures,
            hundred_gy,
            Some(OPTIMISER_DECIDES_NOTHING),
            |structure| {
                dvh_of_structure(&optimum.dvhs, structure.number).ok_or_else(|| {
                    Unanswered::NoDose(format!("{} has no volume in the dose grid", structure.name))
                })
            },
        )
    }

    /// Caveat beside every verdict of [`Self::scorecard_on_view`].
    pub fn reservation_on_view(&self) -> Option<String> {
        match self.optimisers_dose() {
            Some(_) => Some(format!(
                "{}, {OPTIMISERS_DOSE}",
                DoseStatus::Preview.word().to_uppercase()
            )),
            None => self.goal_reservation(),
        }
    }

    /// Whether a goal was met before the drag and no longer is.
    pub fn is_turned_by_drag(&self, row: &GoalRow) -> bool {
        let met = self
            .optimise
            .drag()
            .is_some_and(|drag| drag.met.contains(&row.index));
        met && row
            .answer
            .as_ref()
            .is_ok_and(|outcome| outcome.margin < -row.goal.tolerance())
    }

    /// The curves on view, to stay as a ghost.
    pub(crate) fn curves_to_keep(&self) -> Vec<(u32, Arc<Dvh>)> {
        if let Some(optimum) = self.optimisers_dose() {
            return optimum.dvhs.clone();
        }
        let structures = self.case().structures.structures.iter();
        structures
            .filter_map(|s| Some((s.number, Arc::clone(self.results.dvh(s.number)?))))
            .collect()
    }

    /// Goals, by place, whose value in the dose on view meets them, whatever that dose decides.
    pub(crate) fn goals_met_on_view(&self) -> Vec<usize> {
        let mut rows = self.scorecard_on_view();
        rows.retain(|row| {
            row.answer
                .as_ref()
                .is_ok_and(|outcome| outcome.margin >= 0.0)
        });
        rows.iter().map(|row| row.index).collect()
    }
}

/// Evaluations, objective and movement of the true dose of a step.
fn progress_words(optimum: &Optimum) -> String {
    let Optimum {
        receipt,
        objective,
        moved_percent,
        stage,
        ..
    } = optimum;
    let moved = match moved_percent {
        Some(percent) => format!("true dose moved {percent:.2} %"),
        None => "true dose not yet looked at".to_owned(),
    };
    let settling = match stage {
        OptimumStage::Settling => "settling, once more from the start: ",
        OptimumStage::Correcting => "correcting by Monte Carlo: ",
        OptimumStage::Searching | OptimumStage::AtRest => "",
    };
    let work = receipt.words();
    format!("{settling}objective {objective:.4}, {moved}; {work}")
}

fn dvh_of_structure(dvhs: &[(u32, Arc<Dvh>)], structure: u32) -> Option<&Dvh> {
    dvhs.iter()
        .find(|(number, _)| *number == structure)
        .map(|(_, dvh)| &**dvh)
}
