//! Doses on the way from goals to leaves (of the optimiser, of its maps, of the leaves), and the figures of the delivery.

use crate::feature::optimise::state::view::OPTIMISER_DECIDES_NOTHING;
use crate::state::State;
use crate::state::results::{DISPLAYED, MAPS, Shown};
use analysis::{Dvh, GoalRow, Metric, Unanswered, scorecard, target_of, unsettled};
use case::{DoseStatus, Goal, Plan, Structure};
use results::{DvhOf, Optimum};
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
    /// D95 of the targets without a D95 goal, Gy, in the order of [`Stages::targets`].
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
    /// Whether leaves and their delivery are older than the current run.
    pub are_before_run: bool,
}

/// Source of the DVHs of a stage.
#[derive(Clone, Copy)]
enum StageDose<'a> {
    Optimiser(&'a Optimum),
    /// Group of the DVHs among the results.
    Group(u8),
    Missing,
}

/// A dose on the way: its status, its caveat, and its DVHs.
struct Source<'a> {
    name: &'static str,
    status: Option<DoseStatus>,
    caveat: Option<String>,
    dose: StageDose<'a>,
    /// Whether the dose is the one on show, whose goals the scorecard judges.
    is_judged_by_scorecard: bool,
}

impl Source<'_> {
    /// Marks the numbers as stale while a run is about to replace their maps.
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
        // During a run, doses of the plan belong to its previous maps.
        let are_before_run = answer.is_some_and(|(_, standing)| !standing.has_plan_its_maps);
        let optimiser = Source {
            name: OPTIMISER,
            status: answer.map(|(_, standing)| standing.status()),
            caveat: Some(match answer {
                Some((_, standing)) if standing.is_dose_current => {
                    "dose of sampled voxels".to_owned()
                }
                Some(_) => {
                    "of another patient, beams, machine or settings: optimise again".to_owned()
                }
                None => "the optimiser's dose of these maps is not kept: optimise again".to_owned(),
            }),
            dose: optimum.map_or(StageDose::Missing, StageDose::Optimiser),
            is_judged_by_scorecard: false,
        };
        let [fluence, leaves] = if plan.is_cut() {
            let view = self.results.maps_view();
            let caveats = view.dose.as_ref().map(|dose| dose.caveats.join(", "));
            let caveat = view.failure.clone().or(caveats);
            let status = self.results.maps_status();
            let fluence = Source {
                name: "fluence",
                status,
                caveat,
                dose: StageDose::Group(MAPS),
                is_judged_by_scorecard: false,
            };
            [fluence, self.displayed_source("leaves")]
        } else {
            let caveat = Some("no leaves are cut yet".to_owned());
            let leaves = Source {
                name: "leaves",
                status: None,
                caveat,
                dose: StageDose::Missing,
                is_judged_by_scorecard: false,
            };
            [self.displayed_source("fluence"), leaves]
        };
        let target = target_of(plan, &self.case().structures).map(|s| s.number);
        let structures = self.case().structures.structures.iter();
        let goals = self.goals();
        let targets: Vec<&Structure> = structures
            .filter(|s| {
                (s.kind.is_target() || Some(s.number) == target)
                    && !s.contours.is_empty()
                    && !goals.iter().any(|goal| is_d95_of(goal, s))
            })
            .collect();
        let [fluence, leaves] = [fluence, leaves].map(|source| source.before_run(are_before_run));
        let stages = [optimiser, fluence, leaves].map(|source| self.stage(&targets, source));
        let targets = targets.iter().map(|s| s.name.clone()).collect();
        Some(Stages {
            targets,
            stages,
            are_before_run,
        })
    }

    /// The displayed dose as the source of a stage, where it is the dose of the plan.
    fn displayed_source(&self, name: &'static str) -> Source<'static> {
        if self.results.shown != Shown::Plan {
            let caveat = Some("the dose of the plan is not on show".to_owned());
            return Source {
                name,
                status: None,
                caveat,
                dose: StageDose::Missing,
                is_judged_by_scorecard: false,
            };
        }
        let dose = self
            .results
            .shown_dose()
            .filter(|dose| !dose.caveats.is_empty());
        let failure = self.results.shown_failure().map(str::to_owned);
        Source {
            name,
            status: self.results.dvh_status(),
            caveat: failure.or_else(|| dose.map(|dose| dose.caveats.join(", "))),
            dose: StageDose::Group(DISPLAYED),
            is_judged_by_scorecard: true,
        }
    }

    fn stage_dvh<'a>(&'a self, dose: StageDose<'a>, structure: &Structure) -> Option<&'a Dvh> {
        match dose {
            StageDose::Optimiser(optimum) => {
                let dvh = optimum
                    .dvhs
                    .iter()
                    .find(|(number, _)| *number == structure.number);
                dvh.map(|(_, dvh)| &**dvh)
            }
            StageDose::Group(group) => {
                let node = self
                    .results
                    .nodes
                    .node::<DvhOf>((group, structure.number))?;
                node.latest().map(|answer| &*answer.dvh)
            }
            StageDose::Missing => None,
        }
    }

    fn stage(&self, targets: &[&Structure], source: Source<'_>) -> Stage {
        let Source {
            name,
            status,
            caveat,
            dose,
            is_judged_by_scorecard,
        } = source;
        let d95_gy = targets
            .iter()
            .map(|target| self.stage_dvh(dose, target)?.metric(Metric::D95, None).ok());
        let targets_gy = d95_gy.collect();
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        let unsettled = match status {
            Some(_) if name == OPTIMISER => Some(OPTIMISER_DECIDES_NOTHING),
            Some(status) => unsettled(status),
            None => Some("there is no dose"),
        };
        let goals = match is_judged_by_scorecard {
            true => self.scorecard(),
            false => scorecard(
                &self.goals(),
                &self.case().structures,
                hundred_gy,
                unsettled,
                |structure| self.stage_dvh(dose, structure).ok_or(Unanswered::Waiting),
            ),
        };
        Stage {
            name,
            status,
            caveat,
            targets_gy,
            goals,
        }
    }

    /// Delivery of the displayed plan; `None` where a beam has none, or its machine no limits of delivery.
    pub fn delivery(&self) -> Option<&Delivery> {
        self.leaves.delivery.as_ref()?.delivery.as_ref()
    }

    /// Computes the delivery again if the plan has changed.
    pub(crate) fn note_delivery(&mut self) {
        let Some(plan) = self.plan() else {
            self.leaves.delivery = None;
            return;
        };
        let normalisation = self
            .results
            .normalisation_factor()
            .filter(|_| plan.normalisation.is_some());
        let status = if plan.normalisation.is_none() {
            Some(DoseStatus::Final)
        } else {
            normalisation.map(|factor| factor.status)
        };
        let (factor, changes) = (
            normalisation.map_or(1.0, |factor| factor.value),
            self.results.settings.machine_changes,
        );
        let is_current = self.leaves.delivery.as_ref().is_some_and(|cached| {
            Arc::ptr_eq(&cached.plan, plan)
                && (cached.factor, cached.changes) == (factor, changes)
                && cached.status == status
        });
        if !is_current {
            let plan = Arc::clone(plan);
            let delivery =
                PlanDelivery::new(&plan, factor).map(|of_plan| Delivery { of_plan, status });
            self.leaves.delivery = Some(CachedDelivery {
                plan,
                factor,
                changes,
                status,
                delivery,
            });
        }
    }
}

/// Delivery of the displayed plan by its leaves.
#[derive(Clone, Debug)]
pub struct Delivery {
    pub of_plan: PlanDelivery,
    /// Standing of the monitor units, from the normalisation; `None` before its factor is known.
    pub status: Option<DoseStatus>,
}

/// A [`Delivery`] with its inputs, to compare.
#[derive(Debug)]
pub(crate) struct CachedDelivery {
    plan: Arc<Plan>,
    factor: f64,
    changes: u32,
    status: Option<DoseStatus>,
    delivery: Option<Delivery>,
}

fn is_d95_of(goal: &Goal, structure: &Structure) -> bool {
    let metric = goal.metric();
    goal.number == Some(structure.number)
        && (metric.figure(), metric.number()) == (Metric::D95.figure(), Metric::D95.number())
}
