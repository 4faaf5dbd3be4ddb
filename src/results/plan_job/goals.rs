//! Goals in the dose of a plan.

use super::PlanResult;
use analysis::{Dvh, GoalRow, Unanswered, decided_either_way, scorecard, undecided_by};
use case::{Goal, StructureSet};

impl PlanResult {
    /// The goals in this dose, and in the one with the matter outside the body counted where there is one. `hundred_gy` is the 100 %
    /// dose.
    pub fn goals(
        &self,
        with_matter: Option<&Self>,
        goals: &[Goal],
        set: &StructureSet,
        hundred_gy: Option<f64>,
    ) -> Vec<GoalRow> {
        let undecided =
            undecided_by(&self.dose, self.dose.status).filter(|_| with_matter.is_none());
        let undecided = undecided.as_deref();
        let rows = scorecard(goals, set, hundred_gy, undecided, |s| self.dvh(s.number));
        match with_matter {
            Some(with_matter) => {
                let rows_with_matter = scorecard(goals, set, hundred_gy, undecided, |s| {
                    with_matter.dvh(s.number)
                });
                decided_either_way(rows, &rows_with_matter)
            }
            None => rows,
        }
    }

    fn dvh(&self, number: u32) -> Result<&Dvh, Unanswered> {
        let mut dvhs = self.dvhs.iter();
        dvhs.find(|(structure, _)| structure.number == number)
            .map(|(_, dvh)| &**dvh)
            .ok_or_else(|| Unanswered::NoDose("it has no DVH".to_owned()))
    }
}
