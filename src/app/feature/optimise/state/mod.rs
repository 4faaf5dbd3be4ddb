//! Inverse planning of the plan on show: what the user has chosen, what is under way, and the results that it asks for.

pub mod curve;
pub(crate) mod maps;
pub mod phase;
pub mod view;

use crate::state::State;
use crate::state::results::ONLY;
use analysis::{Dvh, is_computed};
use case::{Beam, Case, Goal, Plan};
use phase::{Phase, Run};
use results::{BEAMLET_MM, LeavesOf, LeavesSource, OptimiseQuery, Optimum, OptimumOf};
use std::collections::BTreeMap;
use std::sync::Arc;
use view::OptimumView;

/// The optimisation of the plan on show.
#[derive(Debug)]
pub struct Optimise {
    /// Spacing of the voxels at which objectives are evaluated, mm.
    pub rows_mm: Option<f64>,
    /// Width of a beamlet along the leaves' travel, mm.
    pub beamlet_mm: f64,
    /// Whether the curve of monitor units is shown.
    pub(crate) shows_curve: bool,
    pub(crate) phase: Phase,
    /// Runs started so far.
    pub(crate) runs: u64,
    /// The plan that has the maps of the last answer.
    pub(crate) applied: Option<Arc<Plan>>,
    pub(crate) followed: FollowedGoals,
    /// The last answer beside the plan on show: derived.
    pub(crate) view: OptimumView,
    /// DVHs by structure number, as they were before the last drag.
    pub(crate) ghost: Vec<(u32, Arc<Dvh>)>,
    pub(crate) drag: Option<GoalDrag>,
}

impl Default for Optimise {
    fn default() -> Self {
        Self {
            rows_mm: None,
            beamlet_mm: BEAMLET_MM,
            shows_curve: false,
            phase: Phase::Idle,
            runs: 0,
            applied: None,
            followed: FollowedGoals::default(),
            view: OptimumView::default(),
            ghost: Vec::new(),
            drag: None,
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
    /// Whether maps are searched.
    pub fn is_running(&self) -> bool {
        self.phase.run().is_some()
    }

    /// Whether leaves are made.
    pub fn makes_leaves(&self) -> bool {
        self.phase.leaves().is_some()
    }

    /// Whether leaves are to follow newer maps or goals by themselves, or do.
    pub fn are_leaves_to_follow(&self) -> bool {
        self.phase.are_leaves_to_follow()
    }

    /// Whether the curve of monitor units is shown.
    pub fn shows_curve(&self) -> bool {
        self.shows_curve
    }

    /// The last answer beside the plan on show.
    pub fn view(&self) -> &OptimumView {
        &self.view
    }

    /// Another case is shown.
    pub fn reset(&mut self) {
        let Self {
            rows_mm,
            beamlet_mm,
            shows_curve,
            runs,
            ..
        } = *self;
        *self = Self {
            rows_mm,
            beamlet_mm,
            shows_curve,
            runs: runs + 1,
            ..Self::default()
        };
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

    /// The last answer of the optimiser.
    pub(crate) fn latest_optimum(&self) -> Option<&Arc<Optimum>> {
        let node = self.results.nodes.node::<OptimumOf>(ONLY)?;
        node.latest()?.optimum()
    }

    /// The last answer, where it is of a run.
    pub(crate) fn optimum_of_run(&self, run: &Run) -> Option<&Arc<Optimum>> {
        self.latest_optimum()
            .filter(|optimum| run.has_found(optimum))
    }

    /// Inputs that leaves of a plan, by index, would be made from.
    ///
    /// # Errors
    /// Inputs that are missing, in words for the user.
    pub(crate) fn leaves_query(
        &self,
        index: usize,
        technique: sequence::Technique,
    ) -> Result<LeavesOf, String> {
        let plan = self.case().plans.get(index).ok_or("the case has no plan")?;
        let source = if has_arcs(plan) {
            LeavesSource::Goals(Box::new(OptimumOf(self.optimise_query_of(index)?)))
        } else {
            LeavesSource::Maps(self.optimum_with_maps_of(plan).map(Box::new))
        };
        Ok(LeavesOf {
            case: self.case().clone(),
            plan: Arc::clone(plan),
            settings: self.results.settings.clone(),
            technique,
            source,
        })
    }

    /// The optimum at rest that has the maps of a plan.
    fn optimum_with_maps_of(&self, plan: &Plan) -> Option<OptimumOf> {
        let node = self.results.nodes.node::<OptimumOf>(ONLY)?;
        let (query, step) = node.latest_with_query()?;
        let optimum = step.at_rest()?;
        maps::has_maps_of(plan, optimum).then(|| query.clone())
    }
}

/// Whether a plan has arcs that are computed: their leaves come from the goals in one go, without maps to look at.
pub fn has_arcs(plan: &Plan) -> bool {
    plan.beams
        .iter()
        .any(|beam| is_computed(beam) && sequence::arc_of(beam).is_some())
}
