//! Results of the Compare workspace: the doses A and B, whether they can be compared, their DVHs.

use super::CaseResults;
use super::needed::of_side;
use super::standing::DisplayedDose;
use crate::feature::compare::state::Source;
use crate::state::{State, Workspace};
use analysis::{Dvh, DvhPair, Side, changed_most_first, is_computed};
use case::{Case, Dose, DoseStatus};
use results::{Certainty, DoseOfPlan, DvhOf};
use std::sync::Arc;

/// A or B.
#[derive(Debug, Default)]
pub(super) struct SideState {
    /// The source, with the index of the displayed plan at the time.
    pub source: Option<(Source, usize)>,
    /// The dose with its standing relative to the case.
    pub view: DisplayedDose,
}

impl CaseResults {
    /// Dose A or B, with its current status.
    pub fn side(&self, side: Side) -> Option<&Arc<Dose>> {
        self.sides[side.index()].view.dose.as_ref()
    }

    /// Largest dose of A or B, Gy.
    pub fn side_max_gy(&self, side: Side) -> Option<f64> {
        self.side(side)?;
        Some(
            self.nodes
                .node::<DoseOfPlan>((of_side(side), 0))?
                .latest()?
                .max_gy,
        )
    }

    /// Uncertainty of A or B, if it is a Monte Carlo dose.
    pub fn side_certainty(&self, side: Side) -> Option<&Arc<Certainty>> {
        self.side(side)?;
        self.nodes
            .node::<DoseOfPlan>((of_side(side), 0))?
            .latest()?
            .certainty
            .as_ref()
    }

    /// Why dose A or B is missing or not up to date.
    pub fn side_failure(&self, side: Side) -> Option<&str> {
        self.sides[side.index()].view.failure.as_deref()
    }

    /// The DVH of a structure in A or B, possibly of an earlier state.
    pub fn side_dvh(&self, side: Side, structure: u32) -> Option<&Arc<Dvh>> {
        self.dvh_of(of_side(side), structure)
    }

    /// Whether the DVHs of both sides belong to the displayed doses.
    pub fn side_dvhs_current(&self) -> bool {
        let sides = Side::BOTH.map(of_side);
        let nodes = self
            .nodes
            .each::<DvhOf>()
            .filter(|((group, _), _)| sides.contains(group));
        { nodes }.all(|(_, node)| {
            node.now().is_none() || node.current().is_some() || node.failure().is_some()
        })
    }

    /// Why A and B cannot be compared; `None` also if one of them is missing.
    pub fn pair_refusal(&self) -> Option<&str> {
        self.pair.as_ref()?.as_ref().err().map(String::as_str)
    }

    /// Remark on a pair that can be compared.
    pub fn pair_note(&self) -> Option<&str> {
        self.pair.as_ref()?.as_ref().ok()?.as_deref()
    }

    /// A and B, if both exist and can be compared.
    pub fn pair(&self) -> Option<[&Arc<Dose>; 2]> {
        let pair = [self.side(Side::A)?, self.side(Side::B)?];
        self.pair
            .as_ref()
            .is_some_and(|check| check.is_ok())
            .then_some(pair)
    }

    /// Status of the comparison: the worse of the two.
    pub fn pair_status(&self) -> Option<DoseStatus> {
        self.pair().map(|[a, b]| a.status.worst(b.status))
    }

    /// Whether a dose of the pair does not belong to the current case: results derived from it are stale, too.
    pub(super) fn pair_is_behind(&self) -> bool {
        self.pair_status()
            .is_some_and(|s| matches!(s, DoseStatus::Stale | DoseStatus::Failed))
    }

    /// The doses that can be A or B, with labels and statuses.
    pub fn sources(
        &self,
        case: &Case,
        displayed: usize,
    ) -> Vec<(Source, String, Option<DoseStatus>)> {
        let mut sources = Vec::new();
        for (index, plan) in case
            .plans
            .iter()
            .enumerate()
            .filter(|(_, p)| p.beams.iter().any(is_computed))
        {
            let status = if index == displayed {
                self.plan_status(plan)
            } else {
                let source = Some((Source::Plan(index), displayed));
                let side = self.sides.iter().find(|side| side.source == source);
                side.and_then(|side| side.view.dose.as_ref())
                    .map(|dose| dose.status)
            };
            sources.push((Source::Plan(index), format!("Plan {}", plan.name), status));
            if index == displayed && plan.beams.len() > 1 && !self.is_monte_carlo() {
                sources.extend(plan.beams.iter().filter(|b| is_computed(b)).map(|beam| {
                    let label = format!("Beam {} of {}", beam.name, plan.name);
                    (
                        Source::Beam(beam.number),
                        label,
                        self.alone_status(plan, beam.number),
                    )
                }));
            }
        }
        let doses = case.doses.iter().enumerate();
        sources.extend(doses.map(|(n, d)| (Source::Dose(n), label_of(case, n), Some(d.status))));
        sources
    }
}

impl State {
    /// Visible structures that have DVHs in both doses; those with the largest change first.
    pub fn dvh_pairs(&self) -> Vec<DvhPair<'_>> {
        let shown = self
            .case()
            .structures
            .structures
            .iter()
            .filter(|s| !self.hidden.contains(&s.number));
        changed_most_first(shown.filter_map(|structure| {
            let [a, b] = Side::BOTH.map(|side| self.results.side_dvh(side, structure.number));
            Some(DvhPair {
                structure,
                dvhs: [a?, b?],
            })
        }))
    }

    /// 100 % of the comparison in Gy, and its name: shared by A and B, from the prescription of A's plan or the maximum
    /// of A.
    pub fn compare_reference(&self) -> Option<(f64, &'static str)> {
        let mut compared = self.compare.sides.iter().filter_map(|side| match side {
            Some(Source::Plan(plan)) => self.case().plans.get(*plan)?.prescription_gy,
            _ => None,
        });
        let prescription = compared
            .next()
            .or_else(|| self.plan().and_then(|p| p.prescription_gy));
        let resolved = self
            .dose_display
            .reference
            .resolve(prescription, self.results.side_max_gy(Side::A));
        resolved.map(|(gy, name)| {
            (
                gy,
                if name == "maximum" {
                    "maximum of A"
                } else {
                    name
                },
            )
        })
    }
}

impl State {
    /// Whether the user looks at the dose of the displayed plan: not while two other doses are compared, which need not
    /// wait for it.
    pub fn plan_matters(&self) -> bool {
        let mut compared = self.compare.sides.iter().flatten();
        self.workspace != Workspace::Compare
            || compared.any(|source| match source {
                Source::Plan(plan) => *plan == self.plan,
                Source::Beam(_) => true,
                Source::Dose(_) => false,
            })
    }
}

/// The label of a dose of the case, with its number if other doses share the label.
pub(super) fn label_of(case: &Case, index: usize) -> String {
    let Some(dose) = case.doses.get(index) else {
        return String::new();
    };
    let same = case.doses.iter().filter(|d| d.label == dose.label).count();
    if same > 1 {
        format!("{} [{}]", dose.label, index + 1)
    } else {
        dose.label.clone()
    }
}
