//! The optimisation of the plan on show: what runs, what it has come to, and what of that is shown.

pub mod run;

use crate::state::State;
use crate::state::results::DISPLAYED;
use analysis::{Dvh, GoalRow, Unanswered, is_computed, scorecard};
use case::{Beam, Case, DoseStatus, Goal, Plan, Structure, StructureKind};
use results::{
    BEAMLET_MM, DvhOf, LiveOptimiser, OptimiseQuery, Optimum, OptimumStage, OtherShares,
};
use run::Run;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::Mutex;

/// Name of a DVH of the optimiser wherever it is shown.
pub const OPTIMISERS_DOSE: &str = "optimiser's dose";

/// Name of its map with the jaws that fit it, wherever they stand in place of the plan's.
pub const OPTIMISERS_MAP: &str = "optimiser's map and jaws";

/// Why it decides no goal.
pub const OPTIMISER_DECIDES_NOTHING: &str = "the dose is the optimiser's";

/// The optimiser between two of its steps, and for the worker during one.
pub type OptimiserPlace = Arc<Mutex<Option<LiveOptimiser>>>;

/// The optimisation of the plan on show.
#[derive(Debug)]
pub struct Optimise {
    /// Spacing of the voxels at which objectives are evaluated, mm.
    pub rows_mm: Option<f64>,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
    pub(crate) place: OptimiserPlace,
    pub(crate) run: Option<Run>,
    /// Runs started so far.
    pub(crate) runs: u64,
    pub(crate) latest: Option<LatestAnswer>,
    /// Standing of the last answer beside the plan on show; `None` where the plan has neither its maps nor its run.
    pub(crate) standing: Option<AnswerStanding>,
    /// The plan that has the maps of the last answer.
    pub(crate) applied: Option<Arc<Plan>>,
    pub(crate) followed: FollowedGoals,
    /// The optimiser's dose, where the DVHs show it.
    pub(crate) on_view: Option<Arc<Optimum>>,
    /// The plan on show with the last published maps, while they are in no step of the history: kept against a crash.
    pub(crate) published: Option<(usize, Arc<Plan>)>,
    /// DVHs by structure number, as they were before the last drag.
    pub(crate) ghost: Vec<(u32, Arc<Dvh>)>,
    pub(crate) drag: Option<GoalDrag>,
}

impl Default for Optimise {
    fn default() -> Self {
        Self {
            rows_mm: None,
            beamlet_mm: BEAMLET_MM,
            place: OptimiserPlace::default(),
            run: None,
            runs: 0,
            latest: None,
            standing: None,
            applied: None,
            followed: FollowedGoals::default(),
            on_view: None,
            published: None,
            ghost: Vec::new(),
            drag: None,
        }
    }
}

/// The last answer of the optimiser.
#[derive(Clone, Debug)]
pub(crate) struct LatestAnswer {
    /// Number of its run.
    pub run: u64,
    pub optimum: Arc<Optimum>,
    /// Digest of its goals and beams.
    pub goals: String,
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

/// Goals of the displayed plan, which its maps may follow.
#[derive(Debug, Default)]
pub(crate) struct FollowedGoals {
    /// Digest of goals and beams for which no run starts by itself: the user undid, refused, stopped or only viewed them.
    pub dismissed: Option<String>,
    /// The plan that was on show last, by index.
    pub seen: Option<usize>,
    /// The digest of the displayed plan and its goals, cached between frames.
    digest: Option<CachedDigest>,
    /// Whether the goals are newer than the plan's maps.
    pub are_newer: bool,
}

/// The digest of goals and beams, with the plan and the goals from which it was computed.
#[derive(Debug)]
struct CachedDigest {
    plan: Arc<Plan>,
    goals: Vec<Goal>,
    digest: String,
}

impl CachedDigest {
    fn is_for(&self, query: &OptimiseQuery) -> bool {
        Arc::ptr_eq(&self.plan, query.plan()) && self.goals == query.goals()
    }
}

/// A goal whose handle is dragged.
#[derive(Clone, Debug)]
pub struct GoalDrag {
    /// Its place in the list.
    pub index: usize,
    /// The step of the history.
    pub step: u64,
    /// Goals, by place, that were met when the drag began.
    pub met: Vec<usize>,
    /// The drag was taken back: what is left of it does nothing.
    pub dropped: bool,
}

impl Optimise {
    pub fn is_running(&self) -> bool {
        self.run.is_some()
    }

    /// The last answer.
    pub fn latest(&self) -> Option<&Optimum> {
        self.latest.as_ref().map(|latest| &*latest.optimum)
    }

    /// The last answer, if it is of the run with a number.
    pub(crate) fn latest_of(&self, run: u64) -> Option<&Arc<Optimum>> {
        let latest = self.latest.as_ref().filter(|latest| latest.run == run);
        latest.map(|latest| &latest.optimum)
    }

    /// Share of the influence matrix that is computed, while it is being computed.
    pub fn share_done(&self) -> Option<f32> {
        let [computed, total] = self.run.as_ref()?.columns?;
        Some(computed as f32 / total.max(1) as f32)
    }

    /// Another case is shown. Returns whether a step may be under way.
    pub fn reset(&mut self) -> bool {
        let was_running = self.run.is_some();
        let Self {
            rows_mm,
            beamlet_mm,
            runs,
            ..
        } = *self;
        *self = Self {
            rows_mm,
            beamlet_mm,
            runs: runs + 1,
            ..Self::default()
        };
        was_running
    }

    /// Whether the goals of the displayed plan are newer than its maps.
    pub fn goals_are_newer(&self) -> bool {
        self.followed.are_newer
    }

    /// DVHs before the last drag.
    pub fn ghost(&self) -> &[(u32, Arc<Dvh>)] {
        &self.ghost
    }

    pub fn drag(&self) -> Option<&GoalDrag> {
        self.drag.as_ref().filter(|drag| !drag.dropped)
    }
}

impl State {
    /// Inputs that the plan on show would be optimised from.
    ///
    /// # Errors
    /// Inputs that are missing, in words for the user.
    pub fn optimise_query(&self) -> Result<OptimiseQuery, String> {
        self.optimise_query_of(self.plan)
    }

    pub(crate) fn optimise_query_of(&self, plan: usize) -> Result<OptimiseQuery, String> {
        let (rows_mm, beamlet_mm) = (self.optimise.rows_mm, self.optimise.beamlet_mm);
        OptimiseQuery::new(
            self.case(),
            self.case().plans.get(plan).ok_or("the case has no plan")?,
            self.goals(),
            &self.results.settings,
            rows_mm,
            beamlet_mm,
        )
        .map(|query| query.corrected_by(self.results.engine_of(plan).engine()))
    }

    /// As [`Self::optimise_query`], of a plan that may be changed.
    ///
    /// # Errors
    /// As that; an approved plan.
    pub fn can_optimise(&self) -> Result<OptimiseQuery, String> {
        match self.plan().filter(|plan| plan.is_approved()) {
            Some(plan) => Err(format!(
                "the plan '{}' is {}. It is read-only: copy it, or take the approval back",
                plan.name,
                plan.approval_words()
            )),
            None => self.optimise_query(),
        }
    }

    /// Digest of the goals and beams that maps of the displayed plan are to answer; `None` where it cannot be optimised.
    pub(crate) fn goals_digest(&mut self) -> Option<String> {
        let query = self.optimise_query().ok()?;
        if let Some(cached) = self
            .optimise
            .followed
            .digest
            .as_ref()
            .filter(|cached| cached.is_for(&query))
        {
            return Some(cached.digest.clone());
        }
        let digest = query.digest();
        let (plan, goals) = (Arc::clone(query.plan()), query.goals().to_vec());
        self.optimise.followed.digest = Some(CachedDigest {
            plan,
            goals,
            digest: digest.clone(),
        });
        Some(digest)
    }

    /// Digest of the goals and beams of a plan, by index, once it has these beams.
    pub(crate) fn goals_digest_with(&self, plan: usize, beams: &[Beam]) -> Option<String> {
        let mut plan = Plan::clone(self.case().plans.get(plan)?);
        for beam in &mut plan.beams {
            if let Some(newer) = beams.iter().find(|newer| newer.number == beam.number) {
                beam.clone_from(newer);
            }
        }
        let (rows_mm, beamlet_mm) = (self.optimise.rows_mm, self.optimise.beamlet_mm);
        let query = OptimiseQuery::new(
            self.case(),
            &Arc::new(plan),
            self.goals(),
            &self.results.settings,
            rows_mm,
            beamlet_mm,
        );
        query.ok().map(|query| query.digest())
    }

    /// Whether newer goals begin a run of the displayed plan, or a cut of its arcs, by themselves. One with a record of review stays as it
    /// was looked at.
    pub(crate) fn follows_goals(&self) -> bool {
        self.plan()
            .is_some_and(|plan| plan.follows_goals && plan.approval.is_none())
    }

    /// Whether the displayed plan follows goals that its maps do not answer, and that were not dismissed.
    pub(crate) fn asks_for_newer_maps(&mut self) -> bool {
        let digest = self.goals_digest();
        if self.optimise.followed.seen.replace(self.plan) != Some(self.plan) {
            // The user has only opened the plan so far.
            self.optimise.followed.dismissed.clone_from(&digest);
        }
        if self.optimise.followed.dismissed != digest {
            self.optimise.followed.dismissed = None;
        }
        let answered = self.plan().and_then(|plan| plan.answered_goals.clone());
        digest.is_some() && self.optimise.followed.dismissed.is_none() && answered != digest
    }

    /// How far the run is, or where the last one that the plan has the maps of came to rest, in words.
    pub fn optimum_words(&self) -> Option<String> {
        let optimise = &self.optimise;
        let Some(run) = &optimise.run else {
            let applied = optimise.applied.as_ref().zip(self.plan());
            let has_maps = applied.is_some_and(|(applied, plan)| Arc::ptr_eq(applied, plan));
            let optimum = optimise.latest().filter(|_| has_maps)?;
            let end = if optimum.is_at_rest() {
                "at rest"
            } else {
                "stopped before it came to rest"
            };
            return Some(format!("{end}: {}", progress_words(optimum)));
        };
        Some(match (optimise.latest_of(run.number), run.columns) {
            (Some(optimum), None) => progress_words(optimum),
            (_, Some([computed, total])) => {
                format!("influence of beamlets: {computed} of {total} beams")
            }
            (None, None) => "begins".to_owned(),
        })
    }

    /// Whether the displayed plan has fluence maps or is being optimised: goals then show weights and shares.
    pub fn is_optimised(&self) -> bool {
        self.optimise.is_running()
            || self.plan().is_some_and(|plan| {
                plan.beams
                    .iter()
                    .any(|beam| is_computed(beam) && beam.map().is_some())
            })
    }

    /// The plan on show as it was before it got the maps that it has, while none are being found.
    pub fn plan_before_maps(&self) -> Option<&Plan> {
        let unoptimised = self.history.plan_before_maps(self.plan);
        unoptimised
            .filter(|_| !self.optimise.is_running())
            .map(|plan| &**plan)
    }

    /// The plans of a case that is kept, by index, as they were before their maps; it may have maps that the history does not have yet.
    pub(crate) fn plans_before_maps(&self, kept: &Case) -> BTreeMap<usize, Plan> {
        let mut unoptimised = BTreeMap::new();
        for (index, kept_plan) in kept.plans.iter().enumerate() {
            let replaced = self
                .case()
                .plans
                .get(index)
                .filter(|plan| !Arc::ptr_eq(plan, kept_plan));
            if let Some(plan) = replaced.or_else(|| self.history.plan_before_maps(index)) {
                unoptimised.insert(index, Plan::clone(plan));
            }
        }
        unoptimised
    }

    /// The optimiser's dose, where the DVHs and goals show it in place of the dose of the case.
    pub fn optimisers_dose(&self) -> Option<&Optimum> {
        self.optimise.on_view.as_deref()
    }

    /// The last answer of the optimiser, where it is of the plan on show, with what it is worth.
    pub fn answer_of_plan(&self) -> Option<(&Optimum, AnswerStanding)> {
        Some((self.optimise.latest()?, self.optimise.standing?))
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

    /// Decides from the inputs of the last answer which parts of it are shown and kept.
    pub(crate) fn note_optimise(&mut self) {
        let answered = self.plan().and_then(|plan| plan.answered_goals.clone());
        self.optimise.followed.are_newer = answered.is_some() && {
            let digest = self.goals_digest();
            digest.is_some() && digest != answered
        };
        let Some(LatestAnswer {
            run: run_number,
            optimum: latest,
            goals: answered_goals,
        }) = self.optimise.latest.clone()
        else {
            (
                self.optimise.on_view,
                self.optimise.published,
                self.optimise.standing,
            ) = (None, None, None);
            return;
        };
        let query = self.optimise_query().ok();
        let running = self
            .optimise
            .run
            .as_ref()
            .is_some_and(|run| run.number == run_number);
        let standing = AnswerStanding {
            is_dose_current: query
                .as_ref()
                .is_some_and(|query| query.has_rows_of(&latest.query)),
            are_shares_current: query.as_ref() == Some(&latest.query),
            has_plan_its_maps: self.plan().is_some_and(|plan| has_maps_of(plan, &latest)),
        };
        let shown = standing.is_dose_current && (running || self.awaits_true_dose());
        let is_kept = running && standing.are_shares_current;
        self.optimise.standing = (running || standing.has_plan_its_maps).then_some(standing);
        self.optimise.on_view = shown.then(|| Arc::clone(&latest));
        let published = self.optimise.published.take().filter(|_| is_kept);
        self.optimise.published = match (is_kept, self.plan()) {
            (true, Some(plan)) => {
                let mut with = with_maps(plan, &latest.beams);
                with.set_answered_goals(Some(answered_goals));
                let with = Arc::new(with);
                // An equal plan keeps its identity: it is written once.
                let same = published.filter(|(index, old)| *index == self.plan && *old == with);
                Some(same.unwrap_or((self.plan, with)))
            }
            _ => None,
        };
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
        if let Some((index, plan)) = &self.optimise.published
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
            Some(_) => Some(self.optimise.standing?.status()),
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

/// A plan with the optimised beams, which keep the names that they have in the plan.
pub(crate) fn with_maps(plan: &Plan, beams: &[Beam]) -> Plan {
    let mut plan = Plan {
        normalisation: None,
        ..plan.clone()
    };
    for beam in &mut plan.beams {
        if let Some(optimised) = beams
            .iter()
            .find(|optimised| optimised.number == beam.number)
        {
            *beam = Beam {
                name: std::mem::take(&mut beam.name),
                ..optimised.clone()
            };
        }
    }
    plan
}

fn dvh_of_structure(dvhs: &[(u32, Arc<Dvh>)], structure: u32) -> Option<&Dvh> {
    dvhs.iter()
        .find(|(number, _)| *number == structure)
        .map(|(_, dvh)| &**dvh)
}

/// Whether a plan has the maps of an answer, delivered or not.
fn has_maps_of(plan: &Plan, optimum: &Optimum) -> bool {
    let optimised = optimum
        .beams
        .iter()
        .map(|beam| (beam.number, beam.mu, beam.map()));
    let with_map = plan.beams.iter().filter(|beam| beam.map().is_some());
    let planned = with_map.map(|beam| {
        let map_mu = beam.cut_from.as_ref().map_or(beam.mu, |source| source.mu);
        (beam.number, map_mu, beam.map())
    });
    planned.eq(optimised)
}
