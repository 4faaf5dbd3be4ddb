//! The clinical goals of the case, their scorecards, and the goal being edited.

use crate::feature::compare::state::Source;
use crate::state::State;
use crate::state::display::DoseReference;
use crate::state::results::{CaseResults, DISPLAYED, Shown, of_side};
use analysis::{
    Dvh, GoalRow, Side, Unanswered, decided_either_way, lacks_only_matter_outside, scorecard,
    target_of, undecided_by,
};
use case::{Dose, DosePart, DoseStatus, Goal, StructureKind};
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
    /// Whether the table of metrics stands where the objectives of an optimised plan would be.
    pub hides_objectives: bool,
}

impl State {
    /// Whether objectives may stand beside the goals: of a plan that is optimised, whose goals have weights.
    pub fn may_show_objectives(&self) -> bool {
        self.is_optimised() && !self.shows_stages()
    }

    /// The goals of the case; while it has none, the usual goals of the target.
    pub fn goals(&self) -> Vec<Goal> {
        if let Some(goals) = &self.case().goals {
            return goals.to_vec();
        }
        let prescribed = self.plan().is_some_and(|p| p.prescription_gy.is_some());
        if prescribed {
            self.usual_goals()
        } else {
            Vec::new()
        }
    }

    /// The usual goals of the plan's target, else of the first PTV that has contours.
    pub fn usual_goals(&self) -> Vec<Goal> {
        let set = &self.case().structures;
        let target = self.plan().and_then(|plan| target_of(plan, set));
        let target = target.or_else(|| {
            set.structures
                .iter()
                .find(|s| s.kind == StructureKind::Ptv && !s.contours.is_empty())
        });
        let Some(target) = target else {
            return Vec::new();
        };
        let goals = Goal::of_target(&target.name).into_iter();
        goals
            .map(|goal| goal.of_structure(&target.name, Some(target.number)))
            .collect()
    }

    /// Whether the usual goals of the target stand for goals of the case.
    pub fn goals_are_usual(&self) -> bool {
        self.case().goals.is_none()
    }

    /// 100 % of the goals of the displayed dose, Gy, and its name: the prescription, whatever the isodoses are percent
    /// of; without one a typed dose. Never the maximum, of which every dose reaches 100 %.
    pub fn goal_hundred(&self) -> Option<(f64, &'static str)> {
        let prescription = self.plan().and_then(|p| p.prescription_gy);
        let typed = match self.dose_display.reference {
            reference @ DoseReference::Typed(_) => reference.resolve(None, None),
            _ => None,
        };
        DoseReference::Prescription
            .resolve(prescription, None)
            .or(typed)
    }

    /// As [`Self::goal_hundred`], of the comparison: A and B share it.
    pub fn compare_goal_hundred(&self) -> Option<(f64, &'static str)> {
        let prescription_gy = self
            .compare
            .sides
            .into_iter()
            .find_map(|source| match source {
                Some(Source::Plan(plan)) => self.case().plans.get(plan)?.prescription_gy,
                _ => None,
            });
        DoseReference::Prescription
            .resolve(prescription_gy, None)
            .or_else(|| self.goal_hundred())
    }

    /// The goals by priority with their values in the displayed dose.
    pub fn scorecard(&self) -> Vec<GoalRow> {
        let results = &self.results;
        let source = DoseSource {
            dose: results.shown_dose(),
            failure: results.shown_failure(),
        };
        let hundred_gy = self.goal_hundred().map(|(gy, _)| gy);
        let unsettled = self.goals_unsettled();
        let (goals, set) = (self.goals(), &self.case().structures);
        let counted = unsettled
            .as_ref()
            .and_then(|_| results.dvhs_with_matter_outside());
        // With the matter outside counted, goals are decided wherever both doses agree.
        let unsettled = unsettled.as_deref().filter(|_| counted.is_none());
        let without_matter = scorecard(&goals, set, hundred_gy, unsettled, |structure| {
            results.dvh_for_goal(DISPLAYED, structure.number, source)
        });
        let Some(counted) = counted else {
            return without_matter;
        };
        let with_matter = scorecard(&goals, set, hundred_gy, None, |structure| {
            let dvh = counted
                .iter()
                .find(|(number, _)| *number == structure.number);
            dvh.map(|(_, dvh)| &**dvh).ok_or(Unanswered::Waiting)
        });
        decided_either_way(without_matter, &with_matter)
    }

    /// The goals by priority with their values in A or B.
    pub fn side_scorecard(&self, side: Side) -> Vec<GoalRow> {
        let results = &self.results;
        let source = DoseSource {
            dose: results.side(side),
            failure: results.side_failure(side),
        };
        let hundred_gy = self.compare_goal_hundred().map(|(gy, _)| gy);
        let unsettled = self.side_goals_unsettled(side);
        scorecard(
            &self.goals(),
            &self.case().structures,
            hundred_gy,
            unsettled.as_deref(),
            |structure| results.dvh_for_goal(of_side(side), structure.number, source),
        )
    }

    /// Why the displayed dose decides no goal: its status, or that it is not of the whole plan.
    fn goals_unsettled(&self) -> Option<String> {
        let part = match self.results.shown {
            Shown::Beam(_) => Some(DosePart::Beam),
            Shown::Point(..) => Some(DosePart::ControlPoint),
            Shown::Plan | Shown::Imported(_) => None,
        };
        let shown = self.results.shown_dose().zip(self.results.dvh_status());
        let undecided = shown.and_then(|(dose, status)| undecided_by(dose, status));
        undecided.or_else(|| part.map(|part| part.why_undecided()))
    }

    /// The same of A or B.
    fn side_goals_unsettled(&self, side: Side) -> Option<String> {
        let dose = self.results.side(side)?;
        let behind = !self.results.side_dvhs_current();
        let part = match self.compare.sides[side.index()] {
            Some(Source::Beam(_)) => Some(DosePart::Beam.why_undecided()),
            _ => None,
        };
        let status = if behind {
            dose.status.worst(DoseStatus::Stale)
        } else {
            dose.status
        };
        undecided_by(dose, status).or(part)
    }

    /// Reservation beside every verdict on the displayed dose: its status unless it is final, and that it is not of the
    /// whole plan. `None` for a final dose of a plan, or one of a file.
    pub fn goal_reservation(&self) -> Option<String> {
        let status = self.results.dvh_status()?;
        let is_settled = matches!(status, DoseStatus::Final | DoseStatus::Imported);
        let status = (!is_settled).then(|| status.word().to_uppercase());
        let of_file = self
            .results
            .shown_dose()
            .filter(|dose| dose.status == DoseStatus::Imported);
        let part = match self.results.shown {
            Shown::Beam(_) => Some(DosePart::Beam),
            Shown::Point(..) => Some(DosePart::ControlPoint),
            Shown::Plan | Shown::Imported(_) => of_file.and_then(|dose| dose.part),
        };
        let part = part.map(|part| part.word().to_owned());
        let caveats = of_file
            .map(|dose| dose.caveats.join(", "))
            .filter(|caveats| !caveats.is_empty());
        let reservations: Vec<String> = [status, part, caveats].into_iter().flatten().collect();
        (!reservations.is_empty()).then(|| reservations.join(", "))
    }
}

/// A dose, and why it could not be computed.
#[derive(Clone, Copy)]
struct DoseSource<'a> {
    dose: Option<&'a Arc<Dose>>,
    failure: Option<&'a str>,
}

fn no_dose(why: &str) -> Unanswered {
    Unanswered::NoDose(why.to_owned())
}

impl CaseResults {
    /// DVHs in the dose of the displayed plan with the matter outside the body counted, where nothing else keeps it from being whole.
    fn dvhs_with_matter_outside(&self) -> Option<&[(u32, Arc<Dvh>)]> {
        let is_whole_plan =
            self.shown == Shown::Plan && self.dvh_status() == Some(DoseStatus::Partial);
        self.shown_dose()
            .filter(|dose| is_whole_plan && lacks_only_matter_outside(dose))?;
        let counted = self
            .nodes
            .node::<WithMatterOutside>((DISPLAYED, 0))?
            .current()?;
        (!counted.is_empty()).then_some(counted.as_slice())
    }

    /// The DVH of a structure for goals: of the dose as it stands, never of one that failed.
    fn dvh_for_goal(
        &self,
        group: u8,
        structure: u32,
        source: DoseSource<'_>,
    ) -> Result<&Dvh, Unanswered> {
        match (source.failure, source.dose) {
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
        let node = self
            .nodes
            .node::<DvhOf>((group, structure))
            .ok_or(Unanswered::Waiting)?;
        if let Some(why) = node.failure() {
            return Err(no_dose(why));
        }
        node.latest()
            .map(|answer| &*answer.dvh)
            .ok_or(Unanswered::Waiting)
    }
}
