//! Numbers on screen with the status of what they are made of.

use super::{CaseResults, Shown};
use analysis::{UNIT_MU, percent_words};
use case::{Beam, DoseStatus, Plan};

/// A number and the worst status of all that it is made of: the dose, the normalisation, the structure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Stated {
    pub value: f64,
    pub status: DoseStatus,
    /// One standard deviation, percent, of what is normalised to a Monte Carlo dose.
    pub uncertainty_percent: Option<f64>,
}

impl Stated {
    fn certain(value: f64, status: DoseStatus) -> Self {
        Self {
            value,
            status,
            uncertainty_percent: None,
        }
    }

    /// The number times an exact one.
    pub fn times(self, exact: f64) -> Self {
        Self {
            value: self.value * exact,
            ..self
        }
    }

    /// Whether the number may still change though nothing is edited, or is not of the case as it stands.
    pub fn is_provisional(self) -> bool {
        self.status >= DoseStatus::Preview
    }

    /// `60.7 MU ± 1.2 % a fraction (preview)`: the number with its uncertainty, and its status where that is worse than final.
    pub fn worded(self, digits: usize, unit: &str, after: &str) -> String {
        let (number, status) = self.words(digits, unit, after);
        number + &status
    }

    /// The parts of [`Self::worded`]: the number, and its status or nothing.
    pub fn words(self, digits: usize, unit: &str, after: &str) -> (String, String) {
        let uncertainty = self
            .uncertainty_percent
            .map_or(String::new(), |p| format!(" {}", percent_words(p)));
        let status = match self.status {
            DoseStatus::Final | DoseStatus::Imported => String::new(),
            status => format!(" ({status})"),
        };
        (
            format!("{:.digits$}{unit}{uncertainty}{after}", self.value),
            status,
        )
    }
}

impl CaseResults {
    /// The normalisation factor of all monitor units; `None` without a displayed computed dose and if the case cannot be
    /// normalised. Its status is the displayed dose's: the factor answers what that dose answers.
    pub fn normalisation_factor(&self) -> Option<Stated> {
        let (query, summed) = self.displayed()?.latest_with_query()?;
        let of_plan = !matches!(query.what, Shown::Imported(_) | Shown::Point(..));
        let status = self
            .shown_status()
            .filter(|status| of_plan && *status != DoseStatus::Failed)?;
        let uncertainty_percent = summed.factor_uncertainty_percent;
        Some(Stated {
            value: summed.factor,
            status,
            uncertainty_percent,
        })
    }

    /// Monitor units of a beam in a fraction: the plan's own, or those after its normalisation, `None` before that is
    /// known.
    pub fn delivered_mu(&self, plan: &Plan, beam: &Beam) -> Option<Stated> {
        match plan.normalisation {
            Some(_) => self
                .normalisation_factor()
                .map(|factor| factor.times(beam.mu)),
            None => Some(Stated::certain(beam.mu, DoseStatus::Final)),
        }
    }

    /// Largest dose of a beam in one fraction of the current plan, Gy; `None` if the normalisation is unknown.
    pub fn beam_max_gy(&self, plan: &Plan, beam: &Beam) -> Option<Stated> {
        let result = self
            .beam_node(beam.number)
            .filter(|_| !self.is_monte_carlo())?
            .latest()?;
        let beam_status = self.beam_status(beam.number)?;
        let mu = self.delivered_mu(plan, beam)?;
        Some(Stated {
            status: mu.status.worst(beam_status),
            ..mu.times(result.max_gy / UNIT_MU)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_says_its_uncertainty_and_what_it_is_worth() {
        let factor = Stated {
            value: 1.2,
            status: DoseStatus::Preview,
            uncertainty_percent: Some(1.21),
        };
        assert_eq!(
            factor.times(50.0).worded(1, " MU", " a fraction"),
            "60.0 MU ± 1.2 % a fraction (preview)"
        );
        assert_eq!(
            Stated::certain(1.2, DoseStatus::Final).worded(4, "", ""),
            "1.2000"
        );
    }
}
