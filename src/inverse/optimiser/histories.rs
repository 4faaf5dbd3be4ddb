//! Correction at rest by an engine that samples histories: kernels scaled by density are wrong in lung and beside metal, and the
//! influence of beamlets with them.

use super::{Optimiser, Phase};
use crate::OptimiseError;
use crate::hot_spots::Greatest;
use crate::progress::{Progress, Watch};
use crate::receipt::{HistoriesReceipt, since_ms};
use crate::setup::{Setup, Truth};
use analysis::{MonteCarlo, RunBeams};
use engine::histories::{HistoriesDose, Next};
use engine::{JobControl, PlanRequest, Random};
use geometry::Volume;
use rayon::prelude::*;
use std::sync::Arc;
use std::time::Instant;

/// Runs at rest. Three are followed by a solution: the difference between the engines is linear in the fluences, so that each solution
/// changes what is left of it by a few percent of itself. The last is a judge of maps that no solution has fitted to its noise. The mean
/// of four has half the standard deviation of one.
pub const RUNS: usize = 4;

/// Mean over the runs so far of the dose by histories less the collapsed-cone dose of the same maps, on the rows' grid, Gy.
///
/// A solution takes the noise of its offset for dose, and moves fluences against it. Runs are averaged so that this noise falls with
/// their number. What is averaged is the difference between the engines and not the offset itself: a solution hardly changes that
/// difference, and the collapsed-cone dose beside it has the current maps.
#[derive(Clone, Debug)]
pub(super) struct EngineDifference {
    mean_gy: Vec<f32>,
    runs: usize,
}

impl EngineDifference {
    /// The mean with another run.
    fn with(previous: Option<&Self>, run_gy: &[f32], collapsed_cone_gy: &[f32]) -> Self {
        let runs = previous.map_or(0, |previous| previous.runs) + 1;
        let differences = run_gy
            .iter()
            .zip(collapsed_cone_gy)
            .map(|(run, other)| run - other);
        let mean_gy = match previous {
            None => differences.collect(),
            Some(previous) => previous
                .mean_gy
                .iter()
                .zip(differences)
                .map(|(mean, difference)| mean + (difference - mean) / runs as f32)
                .collect(),
        };
        Self { mean_gy, runs }
    }
}

/// Seed of a run at rest. Runs must not share their noise with each other, nor with the dose that judges the plan afterwards, whose
/// seed is the planner's: a dose with the noise of the corrections would confirm them.
fn seed_of_run(seed: u64, run: usize) -> u64 {
    let mut seeds = Random::new(!seed);
    (0..run).fold(seeds.bits(), |_, _| seeds.bits())
}

impl Optimiser {
    /// Whether runs of histories remain once collapsed cone is at rest.
    pub(super) fn has_runs_left(&self) -> bool {
        self.setup.histories.is_some() && self.runs() < RUNS
    }

    /// Runs of histories since collapsed cone came to rest.
    pub(super) fn runs(&self) -> usize {
        self.engine_difference
            .as_ref()
            .map_or(0, |difference| difference.runs)
    }

    /// Whether collapsed cone is at rest, and the first run of histories comes next.
    pub fn awaits_histories(&self) -> bool {
        self.phase == Phase::Histories && self.runs() == 0
    }

    /// Whether runs of histories correct the maps, or are about to.
    pub fn is_corrected_by_histories(&self) -> bool {
        self.phase == Phase::Histories || self.runs() > 0 && !self.is_at_rest()
    }

    /// Other objectives or maps come to rest by collapsed cone first.
    pub(super) fn drop_histories(&mut self) {
        (self.engine_difference, self.receipt.histories) = (None, None);
    }

    /// Takes a run of histories into the mean difference between the engines, and this as the offset. A run that `watch` stops
    /// changes nothing.
    pub(super) fn correct_by_histories(
        &mut self,
        control: &JobControl,
        watch: &mut Watch<'_>,
    ) -> Result<(), OptimiseError> {
        let start = Instant::now();
        let (setup, run) = (&self.setup, self.runs());
        let Some(how) = setup.histories else {
            return Ok(());
        };
        let seeded = MonteCarlo {
            seed: seed_of_run(how.seed, run),
            ..how
        };
        let mut goes_on = true;
        let dose = setup.dose_of_histories(&self.fluences, seeded, control, &mut |dose| {
            let progress = Progress::Histories {
                run: run + 1,
                uncertainty_percent: dose.uncertainty_percent,
            };
            goes_on &= watch(progress, &|| None);
            if goes_on { Next::GoOn } else { Next::Keep }
        })?;
        if !goes_on {
            return Ok(());
        }
        let collapsed_cone = setup.true_dose(&self.fluences, setup.correction(), control)?;
        let fractions = setup.plan.fractions as f32;
        let run_gy: Vec<f32> = setup
            .at_voxels(&dose.gy, (0..setup.grid.len()).into_par_iter())
            .iter()
            .map(|gy| fractions * gy)
            .collect();
        let cone_gy = collapsed_cone.gy.data();
        let difference = EngineDifference::with(self.engine_difference.as_ref(), &run_gy, cone_gy);
        let corrected_gy = { cone_gy.iter().zip(&difference.mean_gy) }
            .map(|(gy, difference)| gy + difference)
            .collect();
        let gy = Volume::new(Arc::clone(&setup.grid), corrected_gy);
        let truth = Truth {
            rows: setup.on_rows(&gy),
            gy,
        };
        self.greatest = Arc::new(Greatest::new(setup, &truth));
        // Leaves are refined on their collapsed-cone dose and this.
        self.finer_gy = { truth.rows.iter() }
            .zip(&collapsed_cone.rows)
            .map(|(gy, cone_gy)| gy - cone_gy)
            .collect();
        self.engine_difference = Some(difference);
        self.receipt
            .histories
            .get_or_insert_with(|| HistoriesReceipt::new(how))
            .add(&dose, how.until, since_ms(start));
        let moved_percent = 100.0 * self.take_truth(&truth.rows);
        // Weights and dose levels stay: figures of rows that a solution has fitted to the noise of a run are too good, and would
        // loosen them.
        self.phase = if self.has_runs_left() {
            Phase::Solve
        } else {
            self.objective = self.value();
            Phase::Rest
        };
        watch(Progress::TrueDose { moved_percent }, &|| self.snapshot());
        Ok(())
    }
}

impl Setup {
    /// Request for the dose of fluences by histories on the grid that the plan is judged on.
    fn request_of_histories(
        &self,
        fluences: &[f64],
        how: MonteCarlo,
    ) -> Result<PlanRequest, OptimiseError> {
        let grid = self.judged.as_ref().map_or(&self.grid, |(grid, _)| grid);
        let beams = self.beams_of(fluences);
        let run_beams = RunBeams {
            patient: Arc::clone(&self.patient),
            beams: beams.map(|(machine, beam)| (beam, machine)).collect(),
            grid: Arc::clone(grid),
            dose_to: self.dose_to,
        };
        Ok(run_beams.request(how)?)
    }

    /// Refuses beams whose histories would be refused at rest: a search before that would be lost.
    pub(super) fn check_histories(&self) -> Result<(), OptimiseError> {
        let Some(how) = self.histories else {
            return Ok(());
        };
        let request = self.request_of_histories(&vec![1.0; self.beamlets()], how)?;
        Ok(request.check()?)
    }

    /// Dose of fluences by a run of histories, one fraction.
    fn dose_of_histories(
        &self,
        fluences: &[f64],
        how: MonteCarlo,
        control: &JobControl,
        show: &mut dyn FnMut(&HistoriesDose) -> Next,
    ) -> Result<HistoriesDose, OptimiseError> {
        let request = self.request_of_histories(fluences, how)?;
        let devices = std::slice::from_ref(&self.device);
        // The child's progress is of this run alone, and would be taken for the progress of the optimisation.
        Ok(request.refine_over(devices, &control.child(), show)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_averaged_over_runs() {
        let first = EngineDifference::with(None, &[2.0, 4.0], &[1.0, 4.0]);
        let second = EngineDifference::with(Some(&first), &[2.0, 5.0], &[2.0, 4.0]);
        let third = EngineDifference::with(Some(&second), &[3.0, 5.0], &[1.0, 3.0]);
        assert_eq!(third.runs, 3);
        for (mean, want) in third.mean_gy.iter().zip([1.0, 1.0]) {
            assert!((mean - want).abs() < 1e-6, "{mean}");
        }
    }

    #[test]
    fn no_run_has_the_seed_of_another_or_of_the_plan() {
        for seed in [0, 1, 2, u64::MAX] {
            let mut seeds: Vec<u64> = (0..RUNS).map(|run| seed_of_run(seed, run)).collect();
            seeds.push(seed);
            seeds.sort_unstable();
            seeds.dedup();
            assert_eq!(seeds.len(), RUNS + 1);
        }
    }
}
