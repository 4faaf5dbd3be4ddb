//! Numbers on screen with the status of what they are made of.

use super::{CaseResults, Shown};
use analysis::UNIT_MU;
use case::{Beam, DoseStatus, Plan};

/// A number and the worst status of all that it is made of: the dose, the normalisation, the structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    pub value: f64,
    pub status: DoseStatus,
}

impl Stated {
    /// The number times another one.
    fn times(self, other: Self) -> Self {
        Self { value: self.value * other.value, status: self.status.worst(other.status) }
    }

    /// Whether the number may still change though nothing is edited, or is not of the case as it stands.
    pub fn is_provisional(self) -> bool {
        self.status >= DoseStatus::Preview
    }

    /// A number in words, in parentheses with its status where that is worse than final.
    pub fn worded(self, words: &str) -> String {
        match self.status {
            DoseStatus::Final | DoseStatus::Imported => words.to_owned(),
            status => format!("{words} ({status})"),
        }
    }
}

impl CaseResults {
    /// The normalisation factor of all monitor units; `None` without a displayed computed dose and if the case cannot be
    /// normalised. Its status is the displayed dose's: the factor answers what that dose answers.
    pub fn normalisation_factor(&self) -> Option<Stated> {
        let (query, summed) = self.displayed()?.latest_with_query()?;
        let of_plan = !matches!(query.what, Shown::Imported(_) | Shown::Point(..));
        let status = self.shown_status().filter(|status| of_plan && *status != DoseStatus::Failed)?;
        Some(Stated { value: summed.factor, status })
    }

    /// Monitor units of a beam in a fraction: the plan's own, or those after its normalisation, `None` before that is
    /// known.
    pub fn delivered_mu(&self, plan: &Plan, beam: &Beam) -> Option<Stated> {
        let typed = Stated { value: beam.mu, status: DoseStatus::Final };
        match plan.normalisation {
            Some(_) => self.normalisation_factor().map(|factor| typed.times(factor)),
            None => Some(typed),
        }
    }

    /// Largest dose of a beam in one fraction of the current plan, Gy; `None` if the normalisation is unknown.
    pub fn beam_max_gy(&self, plan: &Plan, beam: &Beam) -> Option<Stated> {
        let result = self.beam_node(beam.number).filter(|_| !self.is_monte_carlo())?.latest()?;
        let of_unit = Stated { value: result.max_gy / UNIT_MU, status: self.beam_status(beam.number)? };
        self.delivered_mu(plan, beam).map(|mu| of_unit.times(mu))
    }
}
