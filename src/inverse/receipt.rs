//! Work and time of an optimisation.

use super::optimiser::RUNS;
use analysis::{Engine, MonteCarlo};
use case::{DoseEngine, Receipt};
use engine::Compute;
use engine::histories::{HistoriesDose, Until};
use serde::Serialize;
use std::time::Instant;

/// Device, work and time of an optimisation. The numbers of solutions and of true doses depend on the kind of device: without CUDA a true
/// dose takes as long as hundreds of evaluations, and solutions follow each other on the last one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct OptimiseReceipt {
    /// `cpu (2 threads)`, `cuda:0 NVIDIA H200`, ...
    pub device: String,
    /// Evaluations of the objectives and their gradient.
    pub evaluations: u64,
    pub solutions: usize,
    /// True doses of the maps.
    pub true_doses: usize,
    /// True doses of the leaves, in their refinement.
    pub leaf_doses: usize,
    pub columns_ms: f64,
    pub solutions_ms: f64,
    pub true_doses_ms: f64,
    pub leaves_ms: f64,
    /// Runs of histories that corrected the maps at rest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub histories: Option<HistoriesReceipt>,
}

/// Runs of an engine that samples histories, by which an optimum was corrected and judged.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct HistoriesReceipt {
    pub engine: DoseEngine,
    /// The engine with what tells its doses apart, in words.
    pub method: String,
    /// Runs so far. The maps have the mean of all.
    pub runs: usize,
    /// Greatest mean relative standard deviation of a run where its dose is above half its maximum, percent; none where one is not
    /// known. The mean of independent runs has this over the square root of their number.
    pub uncertainty_percent: Option<f64>,
    /// Histories of all runs.
    pub histories: u64,
    /// Device of the last run: the CPU where a card failed.
    pub device: String,
    /// Remarks of the runs' receipts, each once.
    pub warnings: Vec<String>,
    /// Whether a run lost too many particles for a final dose, or ended before its uncertainty.
    pub is_short: bool,
    /// Wall time, with the collapsed-cone dose beside each run.
    pub ms: f64,
}

impl HistoriesReceipt {
    pub(super) fn new(how: MonteCarlo) -> Self {
        Self {
            engine: how.engine,
            method: Engine::MonteCarlo(how).method(),
            runs: 0,
            uncertainty_percent: Some(0.0),
            histories: 0,
            device: String::new(),
            warnings: Vec::new(),
            is_short: false,
            ms: 0.0,
        }
    }

    /// Adds a run that was to end as `until` says.
    pub(super) fn add(&mut self, dose: &HistoriesDose, until: Until, ms: f64) {
        self.runs += 1;
        self.histories += dose.histories;
        self.ms += ms;
        self.uncertainty_percent = self
            .uncertainty_percent
            .zip(dose.uncertainty_percent)
            .map(|(greatest, percent)| greatest.max(percent));
        self.device.clone_from(&dose.receipt.device);
        for warning in &dose.receipt.warnings {
            if !self.warnings.contains(warning) {
                self.warnings.push(warning.clone());
            }
        }
        let is_reached = match until {
            Until::Histories(_) => true,
            Until::Uncertainty { percent, .. } => {
                dose.uncertainty_percent.is_some_and(|u| u <= percent)
            }
        };
        self.is_short |= dose.is_spoilt || !is_reached;
    }

    /// Number of runs, engine and uncertainty in words.
    fn words(&self) -> String {
        let Self { method, runs, .. } = self;
        let begun = if *runs < RUNS {
            format!("{runs} of {RUNS} runs")
        } else {
            format!("{runs} runs")
        };
        let uncertainty = match self.uncertainty_percent {
            Some(percent) => format!("each to {percent:.2} %"),
            None => "their uncertainty unknown".to_owned(),
        };
        format!("corrected by {begun} of {method}, {uncertainty}")
    }
}

impl OptimiseReceipt {
    pub(super) fn new(device: &Compute) -> Self {
        Self {
            device: device.to_string(),
            ..Self::default()
        }
    }

    /// The receipt of the job that found the optimum, by its word and the digest of its inputs.
    pub fn of_job(&self, job: &str, digest: String) -> Receipt {
        let phases_ms = [
            ("columns", self.columns_ms),
            ("solutions", self.solutions_ms),
            ("true doses", self.true_doses_ms),
            (
                "histories",
                self.histories.as_ref().map_or(0.0, |runs| runs.ms),
            ),
            ("leaves", self.leaves_ms),
        ];
        Receipt {
            job: job.to_owned(),
            digest,
            device: self.device.clone(),
            phases_ms: phases_ms
                .into_iter()
                .filter(|(_, ms)| *ms > 0.0)
                .map(|(phase, ms)| (phase.to_owned(), ms))
                .collect(),
            warnings: self
                .histories
                .as_ref()
                .map(|runs| runs.warnings.clone())
                .unwrap_or_default(),
            work: self.evaluations,
        }
    }

    /// The work in words.
    pub fn words(&self) -> String {
        let Self {
            device,
            evaluations,
            true_doses,
            leaf_doses,
            histories,
            ..
        } = self;
        let leaves = match leaf_doses {
            0 => String::new(),
            count => format!(" of maps and {count} of leaves"),
        };
        let corrected = match histories {
            None => String::new(),
            Some(histories) => format!("; {}", histories.words()),
        };
        format!("{evaluations} evaluations, {true_doses} true doses{leaves} on {device}{corrected}")
    }
}

/// Wall time since an instant, ms.
pub(super) fn since_ms(start: Instant) -> f64 {
    1e3 * start.elapsed().as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_doses_of_leaves_where_there_are_some() {
        let maps = OptimiseReceipt {
            device: "cpu (2 threads)".to_owned(),
            evaluations: 321,
            true_doses: 4,
            ..OptimiseReceipt::default()
        };
        assert_eq!(
            maps.words(),
            "321 evaluations, 4 true doses on cpu (2 threads)"
        );
        let leaves = OptimiseReceipt {
            leaf_doses: 7,
            ..maps
        };
        assert_eq!(
            leaves.words(),
            "321 evaluations, 4 true doses of maps and 7 of leaves on cpu (2 threads)"
        );
    }

    #[test]
    fn words_tell_the_engine_that_corrected_and_its_uncertainty() {
        let how = MonteCarlo {
            engine: DoseEngine::MonteCarlo,
            ..MonteCarlo::default()
        };
        let mut histories = HistoriesReceipt {
            runs: 2,
            uncertainty_percent: Some(0.974),
            ..HistoriesReceipt::new(how)
        };
        assert_eq!(
            histories.words(),
            "corrected by 2 of 4 runs of Monte Carlo with electrons, electrons to 200 keV, each to 0.97 %"
        );
        (histories.runs, histories.uncertainty_percent) = (RUNS, None);
        let receipt = OptimiseReceipt {
            histories: Some(histories),
            ..OptimiseReceipt::default()
        };
        assert!(
            receipt.words().ends_with(
                "; corrected by 4 runs of Monte Carlo with electrons, electrons to 200 keV, their uncertainty unknown"
            ),
            "{}",
            receipt.words()
        );
    }
}
