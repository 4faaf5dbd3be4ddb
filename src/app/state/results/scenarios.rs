//! The displayed plan under set-up errors: requests of its scenarios, and what their answers have in common.

use super::needed::{DISPLAYED, ONLY};
use super::{CaseResults, Shown, Standing};
use crate::state::State;
use analysis::{DvhBand, RobustGoal};
use case::{DoseStatus, Goal, StructureSet};
use results::{DeliveredPlan, DoseOfPlan, FiguresOfScenario, MaskOf, Node, ScenarioResult, Shared};
use std::sync::Arc;

/// Figures of the displayed plan over the scenarios that are answered.
#[derive(Debug, Default)]
pub struct ScenarioView {
    answers: Vec<Arc<ScenarioResult>>,
    /// Number of scenarios, answered or not.
    pub count: usize,
    /// Status of the figures: partial until all scenarios are answered.
    pub status: Option<DoseStatus>,
    /// Why a scenario has no answer.
    pub failure: Option<String>,
    /// By number of the structure.
    pub bands: Vec<(u32, DvhBand)>,
    pub goals: Vec<RobustGoal>,
    /// Inputs of the figures beside the answers.
    read: Option<(Arc<StructureSet>, Vec<Goal>, Option<f64>)>,
}

impl ScenarioView {
    /// The answered scenarios; the one without an error first.
    pub fn answers(&self) -> &[Arc<ScenarioResult>] {
        &self.answers
    }

    /// A goal over the scenarios, by its place among the goals of the case.
    pub fn goal(&self, index: usize) -> Option<&RobustGoal> {
        let mut goals = self.goals.iter();
        goals.find(|goal| goal.planned.index == index)
    }
}

impl CaseResults {
    /// The displayed plan under set-up errors; `None` where they are not shown.
    pub fn scenarios(&self) -> Option<&ScenarioView> {
        self.scenarios.as_ref()
    }
}

impl State {
    /// Lists the scenarios of the displayed plan, once its dose is there in full.
    pub(super) fn note_scenarios(&mut self) {
        if !self.shows_set_up_errors() {
            self.results.nodes.forget::<FiguresOfScenario>();
            self.results.scenarios = None;
            return;
        }
        let errors = self.set_up_errors;
        let scenarios = errors.directions.scenarios(errors.shift_mm);
        let delivered = self.delivered_plan();
        let nodes = &mut self.results.nodes;
        nodes.keep_only::<FiguresOfScenario>(|(_, n)| (n as usize) < scenarios.len());
        for (n, scenario) in (0..).zip(&scenarios) {
            let query = delivered.clone().map(|delivered| FiguresOfScenario {
                scenario: *scenario,
                delivered,
            });
            nodes.entry((DISPLAYED, n)).set(query);
        }
        self.read_scenarios(delivered.as_ref());
    }

    /// Factor of the displayed plan's normalisation on its monitor units, once its dose is there in full and on show: another dose
    /// on show, as one of a file, has a factor that is not the plan's.
    pub(crate) fn delivered_factor(&self) -> Option<f64> {
        let results = &self.results;
        let node = results.nodes.node::<DoseOfPlan>(ONLY)?;
        let is_full = results.shown == Shown::Plan && node.standing() == Some(Standing::Current);
        Some(node.current().filter(|_| is_full)?.factor)
    }

    /// The displayed plan with the monitor units that it delivers, once its dose is there in full.
    pub(crate) fn delivered_plan(&self) -> Option<Shared<DeliveredPlan>> {
        let (case, results) = (self.history.case(), &self.results);
        let factor = self.delivered_factor()?;
        let plan = case.plans.get(self.plan)?;
        let masks = results.nodes.each::<MaskOf>();
        let masks: Vec<(u32, MaskOf)> = masks
            .filter_map(|((_, number), node)| Some((number, node.now()?.clone())))
            .collect();
        let mut nodes = results.nodes.each::<FiguresOfScenario>();
        let previous = nodes.find_map(|(_, node)| {
            let latest = node.latest_with_query().map(|(query, _)| query);
            Some(&node.now().or(latest)?.delivered)
        });
        let (settings, choice) = (&results.settings, results.engine_of(self.plan));
        let engine = choice.engine();
        if let Some(previous) = previous
            && previous.is_made_of(case, plan, factor, engine, settings, &masks)
        {
            return Some(previous.clone());
        }
        let delivered = DeliveredPlan::new(case, plan, factor, engine, settings, masks)?;
        Some(Shared::new(delivered, previous))
    }

    /// Reads what the answers have in common, where any of it has changed.
    fn read_scenarios(&mut self, delivered: Option<&Shared<DeliveredPlan>>) {
        let nodes: Vec<&Node<FiguresOfScenario>> = self
            .results
            .nodes
            .each::<FiguresOfScenario>()
            .map(|(_, node)| node)
            .collect();
        let answers = answers_on_view(&nodes, delivered, self.set_up_errors.is_dragged);
        let status = status_of(&nodes, &answers);
        let failure = nodes.iter().find_map(|node| node.failure());
        let (count, failure) = (nodes.len(), failure.map(str::to_owned));
        let set = &self.history.case().structures;
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        let read = (Arc::clone(set), self.goals(), hundred_gy);
        let view = self.results.scenarios.take().unwrap_or_default();
        let is_read = view.read.as_ref().is_some_and(|(set, goals, hundred_gy)| {
            Arc::ptr_eq(set, &read.0) && *goals == read.1 && *hundred_gy == read.2
        });
        let is_answered = view.answers.len() == answers.len()
            && view
                .answers
                .iter()
                .zip(&answers)
                .all(|(a, b)| Arc::ptr_eq(a, b));
        let view = if is_read && is_answered {
            view
        } else {
            figures(answers, read)
        };
        self.results.scenarios = Some(ScenarioView {
            count,
            status,
            failure,
            ..view
        });
    }
}

/// The answers for the present errors. While the slider is held, those for one of its last places stand in for them.
fn answers_on_view(
    nodes: &[&Node<FiguresOfScenario>],
    delivered: Option<&Shared<DeliveredPlan>>,
    is_dragged: bool,
) -> Vec<Arc<ScenarioResult>> {
    let current: Vec<_> = nodes.iter().filter_map(|node| node.current()).collect();
    if !current.is_empty() || !is_dragged {
        // Goals and bands begin with the plan without an error.
        let has_planned = nodes.first().is_some_and(|node| node.current().is_some());
        return current
            .into_iter()
            .filter(|_| has_planned)
            .cloned()
            .collect();
    }
    let latest = nodes.iter().filter_map(|node| node.latest_with_query());
    let latest: Vec<_> = latest
        .filter(|(query, _)| Some(&query.delivered) == delivered)
        .map(|(_, answer)| answer)
        .collect();
    let lengths = latest.iter().skip(1).map(|r| r.scenario.shift_mm.length());
    let are_alike = lengths.clone().all(|mm| {
        let first_mm = lengths.clone().next().unwrap_or(mm);
        (mm - first_mm).abs() < 1e-9
    });
    let are_whole = latest.len() == nodes.len() && are_alike;
    latest.into_iter().filter(|_| are_whole).cloned().collect()
}

/// The worst status of the answers; partial where some are missing.
fn status_of(
    nodes: &[&Node<FiguresOfScenario>],
    answers: &[Arc<ScenarioResult>],
) -> Option<DoseStatus> {
    if answers.is_empty() {
        return None;
    }
    let standings = nodes.iter().filter_map(|node| {
        let computed = node.latest()?.figures.status;
        Some(node.standing()?.status(computed))
    });
    let is_whole = answers.len() == nodes.len();
    let begin = if is_whole {
        DoseStatus::Final
    } else {
        DoseStatus::Partial
    };
    // Nodes without a current answer still hold an outdated one, which does not count.
    let worst = if is_whole {
        standings.fold(begin, DoseStatus::worst)
    } else {
        answers
            .iter()
            .fold(begin, |worst, a| worst.worst(a.figures.status))
    };
    Some(worst)
}

fn figures(
    answers: Vec<Arc<ScenarioResult>>,
    read: (Arc<StructureSet>, Vec<Goal>, Option<f64>),
) -> ScenarioView {
    let results: Vec<&ScenarioResult> = answers.iter().map(|answer| &**answer).collect();
    let (set, goals, hundred_gy) = &read;
    let bands = set.structures.iter().filter_map(|structure| {
        let band = ScenarioResult::band(&results, structure)?;
        Some((structure.number, band))
    });
    ScenarioView {
        bands: bands.collect(),
        goals: ScenarioResult::goals(&results, goals, set, *hundred_gy),
        answers,
        read: Some(read),
        ..ScenarioView::default()
    }
}
