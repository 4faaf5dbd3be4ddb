//! An optimisation that the window keeps: it follows the case from where it was, and comes to rest where the verb does.

use super::super::graph::{Failure, Graph};
use super::query::{OptimiseQuery, maps_of};
use super::request::{OptimiseRequest, Prepared};
use analysis::{Dvh, HotSpot};
use case::{Beam, Plan};
use engine::JobControl;
use inverse::{
    OptimiseError, OptimiseReceipt, OptimiseRemark, Optimiser, RefinedLeaves, Snapshot, Watch,
};
use std::sync::Arc;

/// The optimiser's answer so far, of a query.
#[derive(Clone, Debug)]
pub struct Optimum {
    pub query: OptimiseQuery,
    /// The beams that have maps.
    pub beams: Vec<Beam>,
    /// DVHs of the sampled structures, by number, in the optimiser's dose.
    pub dvhs: Vec<(u32, Arc<Dvh>)>,
    /// Part of each goal in all that is minimised, or why it is judged only.
    pub by_goal: Vec<Result<f64, String>>,
    /// Parts of what no goal stands for.
    pub others: OtherShares,
    pub objective: f64,
    /// Work and time of the search that is on show.
    pub receipt: OptimiseReceipt,
    /// The last move of the true dose in the targets, percent of the reference dose, once it was looked at.
    pub moved_percent: Option<f64>,
    pub stage: OptimumStage,
    /// The greatest true dose outside the targets, when that was last looked at.
    pub hottest_outside: Option<HotSpot>,
    pub remarks: Arc<[OptimiseRemark]>,
    /// Digest of the goals and beams that its maps answer ([`OptimiseQuery::digest`]).
    pub answered_goals: Arc<str>,
}

/// How far an optimum is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OptimumStage {
    Searching,
    /// At rest by collapsed cone; runs of histories correct the maps.
    Correcting,
    /// At rest, but goals or beams changed on the way, on which the optimum depends: a search from the plan's start comes next.
    Settling,
    /// At rest, as any search for the same query.
    AtRest,
}

impl Optimum {
    pub fn is_at_rest(&self) -> bool {
        self.stage == OptimumStage::AtRest
    }
}

/// Parts of objectives that no goal stands for in all that is minimised.
#[derive(Clone, Debug)]
pub struct OtherShares {
    pub fall_off: f64,
    pub monitor_units: f64,
    /// In the order of the plan's, or why one is not minimised.
    pub uniform: Vec<Result<f64, String>>,
}

/// Progress of a step.
#[derive(Clone, Debug)]
pub enum Step {
    /// Beams whose columns of the influence matrix are computed, of all beams.
    Columns {
        done: usize,
        of: usize,
    },
    Optimum(Arc<Optimum>),
}

impl Step {
    /// The optimum, once there is one.
    pub fn optimum(&self) -> Option<&Arc<Optimum>> {
        match self {
            Self::Columns { .. } => None,
            Self::Optimum(optimum) => Some(optimum),
        }
    }

    /// The optimum at rest.
    pub fn at_rest(&self) -> Option<&Arc<Optimum>> {
        self.optimum().filter(|optimum| optimum.is_at_rest())
    }
}

/// Receives a source of the answer so far, and returns whether to go on.
pub type Publish<'a> = dyn FnMut(&dyn Fn() -> Option<Step>) -> bool + 'a;

/// An optimiser with the query that it answers.
#[derive(Debug)]
pub struct LiveOptimiser {
    query: OptimiseQuery,
    request: OptimiseRequest,
    optimiser: Optimiser,
    /// Whether the optimiser went on from fluences of another query: where it comes to rest depends on the way.
    has_followed: bool,
    /// Optimiser of the same query from the start of its plan, once `optimiser` rests but has followed.
    afresh: Option<Optimiser>,
    /// Remarks on the query.
    remarks: Arc<[OptimiseRemark]>,
    /// Digest of the query.
    digest: Arc<str>,
}

impl LiveOptimiser {
    /// Does the next step of an optimisation for a query, and keeps it in its place: rows and fields are made anew only where they
    /// changed, columns only of beams that changed. A search under way goes on from its fluences; one at rest is over, and the next starts
    /// at the plan's maps. An optimiser that has gone on from other fluences is followed by one from the start of the plan, so that the
    /// optimum at rest follows from the query alone. `publish` hears of the answers on the way and says whether to go on.
    ///
    /// # Errors
    /// [`Failure`]; what was there stays for the next query.
    pub fn step(
        place: &mut Option<Self>,
        query: &OptimiseQuery,
        graph: &Graph,
        control: &JobControl,
        publish: &mut Publish<'_>,
    ) -> Result<Step, Failure> {
        match place {
            Some(live) if live.query.has_rows_of(query) => {
                live.take_goals(query, graph, control)?
            }
            _ => {
                let previous = place.as_ref();
                *place = Some(Self::new(query, previous, graph, control)?);
            }
        }
        let Some(live) = place else {
            return Err(Failure::here("there is nothing to optimise"));
        };
        if !live.is_searched() {
            live.advance(control, publish)?;
        } else if live.has_followed {
            live.advance_afresh(graph, control, publish)?;
        }
        Ok(live.answer())
    }

    /// Whether it is at rest, as any search for the same query.
    fn is_at_rest(&self) -> bool {
        self.optimiser.is_at_rest() && !self.has_followed
    }

    /// Whether the optimiser needs no step more. One that has followed is not corrected: the one from the start will be.
    fn is_searched(&self) -> bool {
        self.optimiser.is_at_rest() || self.has_followed && self.optimiser.awaits_histories()
    }

    fn advance(&mut self, control: &JobControl, publish: &mut Publish<'_>) -> Result<(), Failure> {
        let source = OptimumSource {
            query: &self.query,
            request: &self.request,
            remarks: &self.remarks,
            digest: &self.digest,
            moved_percent: self.optimiser.moved_percent(),
        };
        let mut goes_on = true;
        let watch: &mut Watch<'_> = &mut |_, snapshot| {
            goes_on &= publish(&|| Some(Step::Optimum(Arc::new(source.optimum(snapshot()?)))))
                && !control.is_cancelled();
            goes_on
        };
        let step = self.optimiser.advance(control, watch);
        // A solution that was cut short is another way, even where the goals come back to what they were.
        self.has_followed |= !goes_on;
        step.map_err(failure)
    }

    /// The next step from the start of the plan; at rest it takes the place of the optimiser that has followed. Its answers on the way are
    /// not published: they would jump back from an optimum to the start.
    fn advance_afresh(
        &mut self,
        graph: &Graph,
        control: &JobControl,
        publish: &mut Publish<'_>,
    ) -> Result<(), Failure> {
        let mut afresh = match self.afresh.take() {
            Some(afresh) => afresh,
            None => {
                let prepared = Prepared::new(&self.query, graph, control)?;
                let start = self.query.start();
                let inputs = prepared.inputs(&self.query, &start, None);
                let Prepared { request, .. } = prepared;
                let objectives = request.objectives();
                Optimiser::afresh(&inputs, objectives, request.reference_gy, &self.optimiser)
                    .map_err(failure)?
            }
        };
        let mut goes_on = true;
        afresh
            .advance(control, &mut |_, _| {
                goes_on &= publish(&|| None) && !control.is_cancelled();
                goes_on
            })
            .map_err(failure)?;
        match (goes_on, afresh.is_at_rest()) {
            (true, true) => (self.optimiser, self.has_followed) = (afresh, false),
            (true, false) => self.afresh = Some(afresh),
            // One that was cut short begins again.
            (false, _) => {}
        }
        Ok(())
    }

    /// The objective now over the least of the same problem.
    ///
    /// # Errors
    /// [`Failure`] of the solver.
    pub fn over_least(&self) -> Result<f64, Failure> {
        self.optimiser.over_least().map_err(failure)
    }

    /// The optimum for another weight of monitor units, near the one at rest.
    ///
    /// # Errors
    /// [`Failure`]; cancelled.
    pub(super) fn at_monitor_units_weight(
        &self,
        weight: f64,
        control: &JobControl,
    ) -> Result<Optimum, Failure> {
        let goes_on: &mut Watch<'_> = &mut |_, _| !control.is_cancelled();
        let optimiser = self.optimiser.at_monitor_units_weight(weight, goes_on);
        control.check()?;
        let optimiser = optimiser.map_err(failure)?;
        let snapshot = optimiser.snapshot();
        let source = OptimumSource {
            query: &self.query,
            request: &self.request,
            remarks: &self.remarks,
            digest: &self.digest,
            moved_percent: None,
        };
        let snapshot = snapshot.ok_or_else(|| Failure::here("there is no optimum yet"))?;
        Ok(source.optimum(snapshot))
    }

    /// Device that it computes on.
    pub fn device(&self) -> String {
        self.optimiser.receipt().device.clone()
    }

    /// Leaves that were cut from the maps of a plan, refined; `None` where these are not the maps that this has come to rest with.
    ///
    /// # Errors
    /// [`Failure`].
    pub fn refined(
        &self,
        maps: &Plan,
        leaves: &Plan,
        control: &JobControl,
    ) -> Option<Result<RefinedLeaves, Failure>> {
        let optimum = self
            .optimiser
            .is_at_rest()
            .then(|| self.optimiser.snapshot())
            .flatten()?
            .plan;
        let mut with_map = maps.beams.iter().filter(|beam| beam.fluence.is_some());
        let are_same = with_map.all(|beam| has_map_of(&optimum, beam));
        are_same.then(|| {
            self.optimiser
                .refined(leaves, control, &mut |_| {})
                .map_err(failure)
        })
    }

    fn answer(&self) -> Step {
        let [done, count] = self.optimiser.beams();
        let Some(snapshot) = self.optimiser.snapshot() else {
            return Step::Columns { done, of: count };
        };
        let source = OptimumSource {
            query: &self.query,
            request: &self.request,
            remarks: &self.remarks,
            digest: &self.digest,
            moved_percent: self.optimiser.moved_percent(),
        };
        let mut optimum = source.optimum(snapshot);
        optimum.stage = match (self.is_searched(), self.has_followed) {
            (false, _) if self.optimiser.is_corrected_by_histories() => OptimumStage::Correcting,
            (false, _) => OptimumStage::Searching,
            (true, true) => OptimumStage::Settling,
            (true, false) => OptimumStage::AtRest,
        };
        if optimum.is_at_rest() {
            let maps = Plan {
                beams: optimum.beams.clone(),
                ..Plan::clone(&self.query.plan)
            };
            optimum.remarks = self
                .remarks
                .iter()
                .cloned()
                .chain(OptimiseRemark::of_plan(&maps))
                .chain(OptimiseRemark::of_receipt(&optimum.receipt))
                .collect();
        }
        Step::Optimum(Arc::new(optimum))
    }

    fn new(
        query: &OptimiseQuery,
        previous: Option<&Self>,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<Self, Failure> {
        let prepared = Prepared::new(query, graph, control)?;
        let mut start = query.start();
        let under_way = previous.filter(|previous| !previous.is_at_rest());
        let snapshot = under_way.and_then(|previous| previous.optimiser.snapshot());
        let has_followed = snapshot.is_some();
        if let Some(snapshot) = snapshot {
            carry(&snapshot.plan, &mut start);
        }
        let inputs = prepared.inputs(query, &start, None);
        let Prepared { request, .. } = prepared;
        let (objectives, reference_gy) = (request.objectives(), request.reference_gy);
        let optimiser = match previous {
            Some(Self { optimiser, .. }) if has_followed => {
                Optimiser::new(&inputs, objectives, reference_gy, Some(optimiser))
            }
            Some(Self { optimiser, .. }) => {
                Optimiser::afresh(&inputs, objectives, reference_gy, optimiser)
            }
            None => Optimiser::new(&inputs, objectives, reference_gy, None),
        };
        let optimiser = optimiser.map_err(failure)?;
        Ok(Self {
            query: query.clone(),
            remarks: optimiser.remarks().into(),
            optimiser,
            has_followed,
            afresh: None,
            request,
            digest: query.digest().into(),
        })
    }

    /// Other goals, or another start of the plan where the search for the last ones is over.
    fn take_goals(
        &mut self,
        query: &OptimiseQuery,
        graph: &Graph,
        control: &JobControl,
    ) -> Result<(), Failure> {
        if self.query == *query && self.query.has_start_of(query) {
            return Ok(());
        }
        let was_at_rest = self.is_at_rest();
        if self.query != *query {
            let grid = Arc::clone(&self.optimiser.rows().grid);
            let request = OptimiseRequest::new(query, &grid, graph, control)?;
            self.optimiser.set_plan(&query.start());
            self.optimiser
                .set_objectives(request.objectives(), request.reference_gy)
                .map_err(failure)?;
            self.request = request;
            self.remarks = self.optimiser.remarks().into();
            self.digest = query.digest().into();
        }
        if was_at_rest {
            let start = query.start();
            let current_beams = self
                .optimiser
                .snapshot()
                .map(|snapshot| snapshot.plan.beams);
            if current_beams
                .is_some_and(|current_beams| maps_of(&current_beams) != maps_of(&start.beams))
            {
                self.optimiser.restart(&start);
            }
        }
        self.query = query.clone();
        (self.has_followed, self.afresh) = (true, None);
        Ok(())
    }
}

/// Whether a plan's beam of the same number has the same map and monitor units.
fn has_map_of(plan: &Plan, beam: &Beam) -> bool {
    let same_number = plan.beams.iter().find(|other| other.number == beam.number);
    same_number.is_some_and(|other| (&other.fluence, other.mu) == (&beam.fluence, beam.mu))
}

/// Maps of a plan's beams, by number, for another plan to start at.
fn carry(from: &Plan, to: &mut Plan) {
    for beam in &mut to.beams {
        if let Some(other) = from.beams.iter().find(|other| other.number == beam.number)
            && other.fluence.is_some()
        {
            beam.fluence_limits = other
                .fluence
                .as_ref()
                .map(|map| beam.limits_on(map))
                .unwrap_or_default();
            (beam.fluence, beam.mu) = (other.fluence.clone(), other.mu);
        }
    }
}

fn failure(error: OptimiseError) -> Failure {
    Failure::here(error)
}

/// Parts of an optimum beside the optimiser's fluences.
struct OptimumSource<'a> {
    query: &'a OptimiseQuery,
    request: &'a OptimiseRequest,
    remarks: &'a Arc<[OptimiseRemark]>,
    digest: &'a Arc<str>,
    moved_percent: Option<f64>,
}

impl OptimumSource<'_> {
    fn optimum(&self, snapshot: Snapshot) -> Optimum {
        let Self {
            query,
            request,
            remarks,
            digest,
            moved_percent,
        } = *self;
        let dvhs = request.structures.iter().filter_map(|(structure, ..)| {
            // The greatest dose of a structure may lie between its rows.
            let greatest_gy = snapshot.greatest.by_structure.get(&structure.name).copied();
            let dvh = Optimiser::dvh(
                snapshot.rows.set(&structure.name)?,
                &snapshot.doses_gy,
                greatest_gy,
            )?;
            Some((structure.number, Arc::new(dvh)))
        });
        let mut shares = snapshot.shares.iter();

        let by_goal: Vec<Result<f64, String>> = { request.by_goal.iter() }
            .map(|objectives| match objectives {
                Ok(objectives) => Ok(shares.by_ref().take(objectives.len()).sum()),
                Err(why) => Err(why.clone()),
            })
            .collect();
        let uniform = request.uniform.iter().map(|objective| match objective {
            Ok(_) => Ok(shares.by_ref().take(1).sum()),
            Err(why) => Err(why.clone()),
        });
        let others = OtherShares {
            fall_off: snapshot.fall_off_share,
            monitor_units: snapshot.monitor_units_share,
            uniform: uniform.collect(),
        };
        Optimum {
            query: query.clone(),
            answered_goals: Arc::clone(digest),
            dvhs: dvhs.collect(),
            by_goal,
            others,
            beams: snapshot
                .plan
                .beams
                .into_iter()
                .filter(|beam| beam.fluence.is_some())
                .collect(),
            objective: snapshot.objective,
            receipt: snapshot.receipt,
            moved_percent,
            stage: OptimumStage::Searching,
            hottest_outside: snapshot.greatest.outside,
            remarks: Arc::clone(remarks),
        }
    }
}
