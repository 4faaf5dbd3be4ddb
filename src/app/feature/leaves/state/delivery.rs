//! Doses on the way from goals to leaves (of the optimiser, of its maps, of the leaves), and the figures of the delivery.

use crate::feature::optimise::state::OPTIMISER_DECIDES_NOTHING;
use crate::state::State;
use crate::state::results::{DISPLAYED, MAPS, Shown};
use analysis::{Dvh, GoalRow, Metric, Unanswered, scorecard, target_of, unsettled};
use case::{DoseStatus, Goal, Plan, Structure};
use results::DvhOf;
use sequence::PlanDelivery;
use std::sync::Arc;

/// Name of the optimiser's dose among them.
const OPTIMISER: &str = "optimiser";

/// One of the doses on the way from goals to leaves.
#[derive(Clone, Debug)]
pub struct Stage {
    pub name: &'static str,
    /// Standing of its numbers; `None` where there are none.
    pub status: Option<DoseStatus>,
    /// Caveats of the dose, or why there is none.
    pub caveat: Option<String>,
    /// D95 of the targets that have no goal of it, Gy, in the order of [`Stages::targets`].
    pub targets_gy: Vec<Option<f64>>,
    /// The goals, in the order of the scorecard.
    pub goals: Vec<GoalRow>,
}

/// The doses on the way, side by side.
#[derive(Clone, Debug)]
pub struct Stages {
    pub targets: Vec<String>,
    /// Doses of the optimiser, of the fluence, of the leaves.
    pub stages: [Stage; 3],
    /// Leaves and their delivery are those that the plan had before the run that goes on.
    pub are_before_run: bool,
}

/// A dose on the way: its status, its caveat, and the DVH of a structure.
struct Source<'a> {
    name: &'static str,
    status: Option<DoseStatus>,
    caveat: Option<String>,
    dvh: &'a dyn Fn(&Structure) -> Option<&'a Dvh>,
    /// Whether the dose is the one on show, whose goals the scorecard judges.
    is_judged_by_scorecard: bool,
}

impl Source<'_> {
    /// Numbers of maps that a run is about to replace are of an earlier state.
    fn before_run(self, is_before: bool) -> Self {
        match self.status.filter(|_| is_before) {
            Some(status) => Self {
                status: Some(status.worst(DoseStatus::Stale)),
                caveat: Some("of the maps before this run".to_owned()),
                is_judged_by_scorecard: false,
                ..self
            },
            None => self,
        }
    }
}

impl State {
    /// The doses on the way of the displayed plan; `None` where it has no maps.
    pub fn stages(&self) -> Option<Stages> {
        let plan = self.plan().filter(|plan| plan.has_maps())?;
        let answer = self.answer_of_plan();
        let optimum = answer.map(|(optimum, _)| optimum);
        // While a run goes on, doses of the plan are of maps that it had before.
        let are_before_run = answer.is_some_and(|(_, standing)| !standing.has_plan_its_maps);
        let of_optimum = |structure: &Structure| -> Option<&Dvh> {
            let found = optimum?.dvhs.iter().find(|(number, _)| *number == structure.number);
            found.map(|(_, dvh)| &**dvh)
        };
        let of = |group: u8| {
            move |structure: &Structure| -> Option<&Dvh> {
                let node = self.results.nodes.node::<DvhOf>((group, structure.number))?;
                node.latest().map(|answer| &*answer.dvh)
            }
        };
        let (displayed, maps) = (of(DISPLAYED), of(MAPS));
        let nothing = |_: &Structure| -> Option<&Dvh> { None };
        let optimiser = Source {
            name: OPTIMISER,
            status: answer.map(|(_, standing)| standing.status()),
            caveat: Some(match answer {
                Some((_, standing)) if standing.is_dose_current => "dose of sampled voxels".to_owned(),
                Some(_) => "of another patient, beams, machine or settings: optimise again".to_owned(),
                None => "the optimiser's dose of these maps is not kept: optimise again".to_owned(),
            }),
            dvh: &of_optimum,
            is_judged_by_scorecard: false,
        };
        let is_whole = self.results.shown == Shown::Plan;
        let shown = |name| {
            let dose = self.results.shown_dose().filter(|dose| is_whole && !dose.caveats.is_empty());
            let why = self.results.shown_failure().map(str::to_owned).filter(|_| is_whole);
            Source {
                name,
                status: self.results.dvh_status().filter(|_| is_whole),
                caveat: match is_whole {
                    true => why.or_else(|| dose.map(|dose| dose.caveats.join(", "))),
                    false => Some("the dose of the plan is not on show".to_owned()),
                },
                dvh: if is_whole { &displayed } else { &nothing },
                is_judged_by_scorecard: is_whole,
            }
        };
        let [fluence, leaves] = if plan.is_cut() {
            let view = self.results.maps_view();
            let caveats = view.dose.as_ref().map(|dose| dose.caveats.join(", "));
            let caveat = view.failure.clone().or(caveats);
            let status = self.results.maps_status();
            let fluence =
                Source { name: "fluence", status, caveat, dvh: &maps, is_judged_by_scorecard: false };
            [fluence, shown("leaves")]
        } else {
            let caveat = Some("no leaves are cut yet".to_owned());
            let leaves =
                Source { name: "leaves", status: None, caveat, dvh: &nothing, is_judged_by_scorecard: false };
            [shown("fluence"), leaves]
        };
        let target = target_of(plan, &self.case().structures).map(|s| s.number);
        let structures = self.case().structures.structures.iter();
        let goals = self.goals();
        let has_goal = |s: &Structure| {
            let is_d95 = |goal: &Goal| {
                let metric = goal.metric();
                (metric.figure(), metric.number()) == (Metric::D95.figure(), Metric::D95.number())
            };
            goals.iter().any(|goal| goal.number == Some(s.number) && is_d95(goal))
        };
        let targets: Vec<&Structure> = structures
            .filter(|s| {
                (s.kind.is_target() || Some(s.number) == target) && !s.contours.is_empty() && !has_goal(s)
            })
            .collect();
        let [fluence, leaves] = [fluence, leaves].map(|source| source.before_run(are_before_run));
        let stages = [optimiser, fluence, leaves].map(|source| self.stage(&targets, source));
        let targets = targets.iter().map(|s| s.name.clone()).collect();
        Some(Stages { targets, stages, are_before_run })
    }

    fn stage(&self, targets: &[&Structure], source: Source<'_>) -> Stage {
        let Source { name, status, caveat, dvh, is_judged_by_scorecard } = source;
        let d95 = |target: &&Structure| dvh(target)?.metric(Metric::D95, None).ok();
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        let unsettled = match status {
            Some(_) if name == OPTIMISER => Some(OPTIMISER_DECIDES_NOTHING),
            Some(status) => unsettled(status),
            None => Some("there is no dose"),
        };
        let goals = match is_judged_by_scorecard {
            true => self.scorecard(),
            false => scorecard(&self.goals(), &self.case().structures, hundred_gy, unsettled, |structure| {
                dvh(structure).ok_or(Unanswered::Waiting)
            }),
        };
        Stage { name, status, caveat, targets_gy: targets.iter().map(d95).collect(), goals }
    }

    /// Delivery of the displayed plan; `None` where a beam has none, or its machine no limits of delivery.
    pub fn delivery(&self) -> Option<&Delivery> {
        self.leaves.delivery.as_ref()?.now.as_ref()
    }

    /// Derives that from the plan, where it has changed.
    pub(crate) fn note_delivery(&mut self) {
        let Some(plan) = self.plan() else {
            self.leaves.delivery = None;
            return;
        };
        let stated = self.results.normalisation_factor().filter(|_| plan.normalisation.is_some());
        let status = if plan.normalisation.is_none() {
            Some(DoseStatus::Final)
        } else {
            stated.map(|factor| factor.status)
        };
        let (factor, changes) =
            (stated.map_or(1.0, |factor| factor.value), self.results.settings.machine_changes);
        let is_same = |of: &DeliveryOf| {
            Arc::ptr_eq(&of.plan, plan) && (of.factor, of.changes) == (factor, changes) && of.status == status
        };
        if !self.leaves.delivery.as_ref().is_some_and(is_same) {
            let plan = Arc::clone(plan);
            let now = PlanDelivery::new(&plan, factor).map(|of| Delivery { of, status });
            self.leaves.delivery = Some(DeliveryOf { plan, factor, changes, status, now });
        }
    }
}

/// Delivery of the displayed plan by its leaves.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub of: PlanDelivery,
    /// Standing of the monitor units: that of the normalisation; `None` before its factor is known.
    pub status: Option<DoseStatus>,
}

/// Inputs of a [`Delivery`], to compare.
#[derive(Debug)]
pub(crate) struct DeliveryOf {
    plan: Arc<Plan>,
    factor: f64,
    changes: u32,
    status: Option<DoseStatus>,
    now: Option<Delivery>,
}
