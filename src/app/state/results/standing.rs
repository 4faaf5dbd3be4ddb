//! Statuses of the displayed doses: derived here, and only here, from the results and the current case, after every
//! change and every report.

use super::CaseResults;
use super::needed::{DISPLAYED, MAPS, ONLY, of_side};
use crate::feature::compare::state::Source;
use crate::state::State;
use analysis::{Side, beam_of_point, check_pair, is_computed};
use case::Dose;
use results::{DoseOfPlan, Node, ResultKey, Shown, Standing};
use std::sync::Arc;

/// A dose with its standing relative to the case.
#[derive(Clone, Debug, Default)]
pub struct DisplayedDose {
    /// The dose with its current status.
    pub dose: Option<Arc<Dose>>,
    pub standing: Option<Standing>,
    /// Why the current case has no such dose.
    pub failure: Option<String>,
}

impl State {
    /// Derives the status of all displayed results. Must be called after every change of the case, the settings or the
    /// results.
    pub(crate) fn derive_standing(&mut self) {
        self.set_needed_queries();
        self.note_sides();
        self.note_maps();
        let view = self.view_of(self.results.shown, self.plan, ONLY);
        // Failures of the sum itself, as a normalisation point without dose, are known only where the sum is on show.
        let sum_failure = view
            .failure
            .clone()
            .filter(|_| matches!(self.results.shown, Shown::Plan | Shown::Beam(_)));
        let plan_failure = self.failure_of(Shown::Plan, self.plan).or(sum_failure);
        let sides = Side::BOTH.map(|side| self.view_of_side(side));
        self.results.view = view;
        self.results.plan_failure = plan_failure;
        for (side, view) in self.results.sides.iter_mut().zip(sides) {
            side.view = view;
        }
        self.results.pair = self.results.checked_pair();
        for group in [DISPLAYED, of_side(Side::A), of_side(Side::B), MAPS] {
            self.note_dvhs(group);
        }
        self.note_matter_outside();
        self.note_gamma();
        self.note_optimise();
        self.note_delivery();
        self.note_scenarios();
        self.note_room();
        self.note_register();
    }

    /// The dose at a place, with its standing relative to the case.
    pub(super) fn view_of(&self, what: Shown, plan: usize, key: ResultKey) -> DisplayedDose {
        let Some(node) = self.results.nodes.node::<DoseOfPlan>(key) else {
            return DisplayedDose::default();
        };
        let failure = self
            .failure_of(what, plan)
            .or_else(|| node.failure().map(str::to_owned));
        // Without beams or images an old sum is meaningless.
        let have = node
            .latest_with_query()
            .filter(|(query, _)| query.what == what && node.now().is_some());
        let Some((_, summed)) = have else {
            return DisplayedDose {
                failure,
                ..DisplayedDose::default()
            };
        };
        let standing = match node.standing() {
            Some(standing @ (Standing::Current | Standing::Preview)) => standing,
            _ if failure.is_some() => Standing::Failed,
            _ => Standing::Stale,
        };
        let dose = with_standing(&summed.dose, standing, self.label_of(what, plan));
        DisplayedDose {
            dose: Some(dose),
            standing: Some(standing),
            failure,
        }
    }

    /// The dose of a side, with its standing relative to the case.
    fn view_of_side(&self, side: Side) -> DisplayedDose {
        let source = self.compare.sides[side.index()];
        if self.results.sides[side.index()].source != source.map(|s| (s, self.plan)) {
            return DisplayedDose::default();
        }
        let (what, plan) = match source {
            Some(Source::Plan(plan)) => (Shown::Plan, plan),
            Some(Source::Beam(beam)) => (Shown::Beam(beam), self.plan),
            Some(Source::Dose(dose)) => (Shown::Imported(dose), self.plan),
            None => return DisplayedDose::default(),
        };
        let mut view = self.view_of(what, plan, (of_side(side), 0));
        if let (Shown::Imported(n), Some(dose)) = (what, &mut view.dose) {
            *dose = with_standing(
                dose,
                Standing::Current,
                Some(super::compare::label_of(self.case(), n)),
            );
        }
        view
    }

    fn label_of(&self, what: Shown, plan: usize) -> Option<String> {
        let plan = self.case().plans.get(plan);
        match what {
            Shown::Plan => Some(format!("Plan {}", plan?.name)),
            Shown::Beam(number) => {
                let beam = plan?.beams.iter().find(|b| b.number == number)?;
                Some(format!("Beam {}", beam.name))
            }
            Shown::Point(number, point) => {
                let beam = plan?.beams.iter().find(|b| b.number == number)?;
                Some(format!("Beam {}", beam_of_point(beam, point)?.name))
            }
            Shown::Imported(_) => None,
        }
    }

    /// Why the current case has no such dose, as far as known before the sum is computed.
    fn failure_of(&self, what: Shown, plan: usize) -> Option<String> {
        let (results, case) = (&self.results, self.case());
        let only = match what {
            Shown::Plan => None,
            Shown::Beam(number) => Some(number),
            // Its own dose reports what is wrong with it.
            Shown::Point(..) => return None,
            Shown::Imported(index) => {
                return case
                    .doses
                    .get(index)
                    .is_none()
                    .then(|| "The case has no such dose any more.".to_owned());
            }
        };
        let is_on_show = plan == self.plan;
        let plan = case.plans.get(plan).filter(|_| case.ct.is_some())?;
        if let Some(why) = results.densities().and_then(Node::failure) {
            return Some(why.to_owned());
        }
        // A normalisation depends on all beams, also for the dose of one.
        let only = only.filter(|_| plan.normalisation.is_none());
        for beam in plan.beams.iter().filter(|beam| {
            is_on_show && is_computed(beam) && only.is_none_or(|number| number == beam.number)
        }) {
            if let Some(why) = results
                .beam_failure(beam.number)
                .filter(|_| !results.is_monte_carlo())
            {
                return Some(why.to_owned());
            }
        }
        if let Some(why) = results.run_failure().filter(|_| is_on_show) {
            return Some(why.to_owned());
        }
        let to = plan.normalisation.as_ref()?;
        if let Err(why) = to.wanted_gy(plan.prescription_gy) {
            return Some(format!("The plan cannot be normalised: {why}."));
        }
        match case.structures.normalised_to(to)? {
            Err(why) => Some(format!("The plan cannot be normalised: {why}.")),
            Ok(s) if s.contours.is_empty() => Some(format!(
                "The plan cannot be normalised: {} has no contours.",
                s.name
            )),
            Ok(s) => results
                .mask_failure(s.number)
                .map(|why| format!("The plan cannot be normalised: {why}.")),
        }
    }
}

/// A dose with the status of its standing and, if it is current, the current name of its source.
pub(super) fn with_standing(
    dose: &Arc<Dose>,
    standing: Standing,
    label: Option<String>,
) -> Arc<Dose> {
    let status = standing.status(dose.status);
    let label = label
        .filter(|_| standing == Standing::Current)
        .unwrap_or_else(|| dose.label.clone());
    if status == dose.status && label == dose.label {
        return Arc::clone(dose);
    }
    Arc::new(Dose {
        status,
        label,
        ..(**dose).clone()
    })
}

impl CaseResults {
    /// The displayed dose, with its current status.
    pub fn shown_dose(&self) -> Option<&Arc<Dose>> {
        self.view.dose.as_ref()
    }

    /// Why the current case has no such dose; the displayed dose is then of an earlier state.
    pub fn shown_failure(&self) -> Option<&str> {
        self.view.failure.as_deref()
    }

    /// Whether A and B can be compared; `None` if one of them is missing.
    fn checked_pair(&self) -> Option<Result<Option<String>, String>> {
        let (a, b) = (self.side(Side::A)?, self.side(Side::B)?);
        if a.gy.id() == b.gy.id() {
            return Some(Ok(Some("A and B are the same dose.".to_owned())));
        }
        Some(check_pair(a, b).map_err(|e| format!("A and B cannot be compared: {e}.")))
    }
}
