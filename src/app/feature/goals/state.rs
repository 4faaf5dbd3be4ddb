//! The clinical goals of the case, their scorecards, and the goal being edited.

use crate::feature::compare::state::Source;
use crate::state::State;
use crate::state::display::DoseReference;
use crate::state::results::{CaseResults, DISPLAYED, Shown, of_side};
use analysis::{
    Dvh, GoalRow, Side, Unanswered, decided_either_way, lacks_only_matter_outside, scorecard, target_of,
    undecided_by,
};
use case::{Dose, DosePart, DoseStatus, Goal, Structure, StructureKind};
use results::{DvhOf, WithMatterOutside};
use std::sync::Arc;

/// Open parts of the list of goals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GoalEditor {
    /// The goal being edited, by its place in the list.
    pub open: Option<usize>,
    /// The goal being typed.
    pub draft: String,
    /// Why the typed text is no goal.
    pub fault: Option<String>,
    /// Whether goals stand in place of the table of metrics where there is no room for both.
    pub in_place_of_metrics: bool,
    /// Whether the table of metrics keeps the place that objectives of a plan that is optimised would have beside its goals.
    pub hides_objectives: bool,
}

impl State {
    /// Whether objectives may stand beside the goals: of a plan that is optimised, whose goals have weights.
    pub fn may_show_objectives(&self) -> bool {
        self.is_optimised() && !self.shows_stages()
    }

    /// The goals: those of the case; while it has none of its own, the usual ones of the target.
    pub fn goals(&self) -> Vec<Goal> {
        if let Some(goals) = &self.case().goals {
            return goals.to_vec();
        }
        let prescribed = self.plan().is_some_and(|p| p.prescription_gy.is_some());
        if prescribed { self.usual_goals() } else { Vec::new() }
    }

    /// The usual goals of the plan's target, else of the first PTV that has contours.
    pub fn usual_goals(&self) -> Vec<Goal> {
        let set = &self.case().structures;
        let target = self.plan().and_then(|plan| target_of(plan, set));
        let first = || {
            let drawn = set.structures.iter().filter(|s| !s.contours.is_empty());
            { drawn }.find(|s| s.kind == StructureKind::Ptv)
        };
        let target = target.or_else(first);
        let of = |target: &Structure| {
            let bound = |goal: Goal| goal.of_structure(&target.name, Some(target.number));
            Goal::of_target(&target.name).into_iter().map(bound).collect()
        };
        target.map(of).unwrap_or_default()
    }

    /// Whether the usual goals of the target stand for goals of the case.
    pub fn goals_are_usual(&self) -> bool {
        self.case().goals.is_none()
    }

    /// 100 % of the goals of the displayed dose, Gy, and its name: the prescription, whatever the isodoses are percent
    /// of; without one a typed dose. Never the maximum, of which every dose reaches 100 %.
    pub fn goal_hundred(&self) -> Option<(f64, &'static str)> {
        let typed = |r: &DoseReference| matches!(r, DoseReference::Typed(_));
        let prescription = self.plan().and_then(|p| p.prescription_gy);
        let typed = Some(self.dose_display.reference).filter(typed).and_then(|r| r.resolve(None, None));
        DoseReference::Prescription.resolve(prescription, None).or(typed)
    }

    /// As [`Self::goal_hundred`], of the comparison: A and B share it.
    pub fn compare_goal_hundred(&self) -> Option<(f64, &'static str)> {
        let prescription = |source: Option<Source>| match source {
            Some(Source::Plan(plan)) => self.case().plans.get(plan)?.prescription_gy,
            _ => None,
        };
        let [a, b] = self.compare.sides;
        let own = prescription(a).or_else(|| prescription(b));
        DoseReference::Prescription.resolve(own, None).or_else(|| self.goal_hundred())
    }

    /// The goals by priority with their values in the displayed dose.
    pub fn scorecard(&self) -> Vec<GoalRow> {
        let results = &self.results;
        let dose = (results.shown_dose(), results.shown_failure());
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        let unsettled = self.goals_unsettled();
        let (goals, set) = (self.goals(), &self.case().structures);
        let of_dose = |unsettled: Option<&str>| {
            scorecard(&goals, set, hundred_gy, unsettled, |structure| {
                results.dvh_for_goal(DISPLAYED, structure.number, dose)
            })
        };
        let Some(counted) = unsettled.as_ref().and_then(|_| results.dvhs_with_matter_outside()) else {
            return of_dose(unsettled.as_deref());
        };
        let with_matter = scorecard(&goals, set, hundred_gy, None, |structure| {
            let dvh = counted.iter().find(|(number, _)| *number == structure.number);
            dvh.map(|(_, dvh)| &**dvh).ok_or(Unanswered::Waiting)
        });
        decided_either_way(of_dose(None), &with_matter)
    }

    /// The goals by priority with their values in A or B.
    pub fn side_scorecard(&self, side: Side) -> Vec<GoalRow> {
        let results = &self.results;
        let dose = (results.side(side), results.side_failure(side));
        let hundred_gy = self.compare_goal_hundred().map(|(gy, _)| gy);
        let unsettled = self.side_goals_unsettled(side);
        scorecard(&self.goals(), &self.case().structures, hundred_gy, unsettled.as_deref(), |structure| {
            results.dvh_for_goal(of_side(side), structure.number, dose)
        })
    }

    /// Why the displayed dose decides no goal: its status, or that it is not of the whole plan.
    fn goals_unsettled(&self) -> Option<String> {
        let part = match self.results.shown {
            Shown::Beam(_) => Some(DosePart::Beam),
            Shown::Point(..) => Some(DosePart::ControlPoint),
            Shown::Plan | Shown::Imported(_) => None,
        };
        let own = { self.results.shown_dose().zip(self.results.dvh_status()) }
            .and_then(|(dose, status)| undecided_by(dose, status));
        own.or_else(|| part.map(|part| part.why_undecided()))
    }

    /// The same of A or B.
    fn side_goals_unsettled(&self, side: Side) -> Option<String> {
        let dose = self.results.side(side)?;
        let behind = !self.results.side_dvhs_current();
        let part = match self.compare.sides[side.index()] {
            Some(Source::Beam(_)) => Some(DosePart::Beam.why_undecided()),
            _ => None,
        };
        let status = if behind { dose.status.worst(DoseStatus::Stale) } else { dose.status };
        undecided_by(dose, status).or(part)
    }

    /// Reservation beside every verdict on the displayed dose: its status unless it is final, and that it is not of the
    /// whole plan. `None` for a final dose of a plan, or one of a file.
    pub fn goal_reservation(&self) -> Option<String> {
        let status = self.results.dvh_status()?;
        let whole = matches!(status, DoseStatus::Final | DoseStatus::Imported);
        let status = (!whole).then(|| status.word().to_uppercase());
        let of_file = self.results.shown_dose().filter(|dose| dose.status == DoseStatus::Imported);
        let part = match self.results.shown {
            Shown::Beam(_) => Some(DosePart::Beam),
            Shown::Point(..) => Some(DosePart::ControlPoint),
            Shown::Plan | Shown::Imported(_) => of_file.and_then(|dose| dose.part),
        };
        let part = part.map(|part| part.word().to_owned());
        let caveats = of_file.map(|dose| dose.caveats.join(", ")).filter(|caveats| !caveats.is_empty());
        let said: Vec<String> = [status, part, caveats].into_iter().flatten().collect();
        (!said.is_empty()).then(|| said.join(", "))
    }
}

impl CaseResults {
    /// DVHs in the dose of the displayed plan with the matter outside the body counted, where nothing else keeps it from being whole.
    fn dvhs_with_matter_outside(&self) -> Option<&[(u32, Arc<Dvh>)]> {
        let is_whole_plan = self.shown == Shown::Plan && self.dvh_status() == Some(DoseStatus::Partial);
        self.shown_dose().filter(|dose| is_whole_plan && lacks_only_matter_outside(dose))?;
        let counted = self.nodes.node::<WithMatterOutside>((DISPLAYED, 0))?.current()?;
        (!counted.is_empty()).then_some(counted.as_slice())
    }

    /// The DVH of a structure for goals: of the dose as it stands, never of one that failed.
    fn dvh_for_goal(
        &self,
        of: u8,
        structure: u32,
        (dose, trouble): (Option<&Arc<Dose>>, Option<&str>),
    ) -> Result<&Dvh, Unanswered> {
        let no_dose = |why: &str| Unanswered::NoDose(why.to_owned());
        match (trouble, dose) {
            (Some(why), _) => return Err(no_dose(why)),
            (None, None) => return Err(no_dose("there is no dose")),
            (None, Some(dose)) if dose.status == DoseStatus::Failed => {
                return Err(no_dose("the dose failed"));
            }
            _ => {}
        }
        if let Some(why) = self.mask_failure(structure) {
            return Err(no_dose(why));
        }
        let node = self.nodes.node::<DvhOf>((of, structure)).ok_or(Unanswered::Waiting)?;
        if let Some(why) = node.failure() {
            return Err(no_dose(why));
        }
        node.latest().map(|answer| &*answer.dvh).ok_or(Unanswered::Waiting)
    }
}
