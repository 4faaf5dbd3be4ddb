//! Window state of the plans and their beams.

use crate::state::State;
use crate::state::results::Shown;
use analysis::{GoalRow, Verdict};
use case::DoseStatus;

/// How isocentres are moved.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PlanTools {
    /// Each beam has its own isocentre; otherwise beams at one isocentre move together.
    pub own_isocentres: bool,
    /// The next click in a view places the isocentre of the selected beam.
    pub picks_isocentre: bool,
}

impl State {
    /// Whether the beams of the displayed plan have one isocentre and move together.
    pub fn shares_isocentre(&self) -> bool {
        !self.plan_tools.own_isocentres
            && self
                .plan()
                .is_some_and(|p| p.shared_isocentre_mm().is_some())
    }

    /// Reservations against an approval of the displayed plan, in sentences: its dose as it stands, and goals that it misses or leaves
    /// undecided. Empty for a final dose that meets them all.
    pub fn reservations_of_approval(&self) -> Vec<String> {
        let Some(plan) = self.plan() else {
            return Vec::new();
        };
        let mut said = Vec::new();
        if self.optimise.is_running() {
            said.push("An optimisation runs: its answer is not yet the plan's.".to_owned());
        }
        if let Some(why) = self.results.plan_failure() {
            said.push(format!("The plan has no dose: {why}"));
            return said;
        }
        match self.results.plan_status(plan) {
            None => said.push("The plan has no dose.".to_owned()),
            Some(DoseStatus::Final) => {}
            Some(status) => said.push(format!("Its dose is {}.", status.word().to_uppercase())),
        }
        if self.results.shown != Shown::Plan {
            said.push(
                "The dose on show is not that of the plan: its goals are not judged.".to_owned(),
            );
            return said;
        }
        let caveats = self
            .results
            .shown_dose()
            .map(|dose| dose.caveats.join(", "))
            .unwrap_or_default();
        if !caveats.is_empty() {
            said.push(format!("The dose: {caveats}."));
        }
        let rows = self.scorecard();
        let missed = rows.iter().filter(|row| {
            row.answer
                .as_ref()
                .is_ok_and(|outcome| outcome.verdict == Verdict::Fail)
        });
        said.extend(goals_in_words("missed", missed));
        said.extend(goals_in_words(
            "undecided",
            rows.iter().filter(|row| row.is_undecided()),
        ));
        said
    }

    /// The selected beam, by index, whose isocentre the next click in a view places.
    pub fn picks_isocentre_of(&self) -> Option<usize> {
        let (index, beam) = self
            .selected_beam()
            .filter(|_| self.plan_tools.picks_isocentre)?;
        beam.read_only.is_none().then_some(index)
    }
}

/// Goals of a kind, counted and named; `None` where there is none.
fn goals_in_words<'a>(kind: &str, rows: impl Iterator<Item = &'a GoalRow>) -> Option<String> {
    let names: Vec<String> = rows.map(|row| row.goal.short_text()).collect();
    let (goals, are) = if names.len() == 1 {
        ("goal", "is")
    } else {
        ("goals", "are")
    };
    (!names.is_empty()).then(|| {
        format!(
            "{} {goals} {are} {kind}: {}.",
            names.len(),
            names.join("; ")
        )
    })
}
