//! Run of a simulation: batches on a device until it has its histories or its uncertainty, with intermediate doses.

use super::faults::Faults;
use super::part::{PartError, PartTally, RanPart, RunPart};
use super::request::{HistoriesDose, Next, RunLength, Until};
use super::tally::{Tally, uncertainty_percent};
use crate::JobControl;
use crate::dose::medium::{Medium, cropped, mass_of};
use crate::dose::{Clock, DoseError, DoseTo};
use case::{DoseEngine, DoseStatus, Receipt};
use geometry::{Grid, Volume};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Fewer batches than this do not estimate the spread.
const FEWEST_BATCHES: u64 = 10;
/// A place within a batch is an `f32`.
const MOST_BATCH: u64 = 1 << 24;
/// A dose less certain than this is no final one, percent, also where it was asked to be no better.
pub const FINAL_PERCENT: f64 = 2.0;

/// All that the histories of a request read, ready to be run on any device.
pub trait Simulation {
    /// Engine whose histories these are.
    const ENGINE: DoseEngine;

    /// Patient on the lattice of the histories.
    fn medium(&self) -> &Medium;

    /// Gy g/cm3 for a quantum a history.
    fn gy_g_cm3_per_quantum(&self) -> f64;

    /// Mass, g/cm3, by which the energy of a voxel is divided.
    fn mass(&self, dose_to: DoseTo) -> &Volume<f32> {
        mass_of(self.medium(), dose_to)
    }

    /// Remarks on the input, for the receipt.
    fn warnings(&self) -> Vec<String> {
        Vec::new()
    }

    /// Digest of all that a history reads: runs of equal digests on one kind of device have the same histories, to the bit.
    fn digest(&self) -> String;
}

/// A device that runs batches of histories and has their tally.
pub trait Runner {
    /// Input of its histories.
    type Simulation: Simulation;
    /// Why it fails.
    type Error: From<DoseError>;

    /// Runs `batch` histories from the `first` on.
    ///
    /// # Errors
    /// A cancelled job, or a card's fault.
    fn run(
        &mut self,
        run: &Self::Simulation,
        first: u64,
        batch: u64,
        control: &JobControl,
    ) -> Result<(), Self::Error>;

    /// Waits for the batches that are under way.
    ///
    /// # Errors
    /// A card's fault.
    fn wait(&mut self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Sum of the batches so far; the runner has nothing then.
    ///
    /// # Errors
    /// A card's fault.
    fn take(&mut self) -> Result<Tally, Self::Error>;

    /// Adds what batches of this run have added up to elsewhere.
    ///
    /// # Errors
    /// A card's fault.
    fn add(&mut self, run: &Self::Simulation, tally: &Tally) -> Result<(), Self::Error>;

    /// Mean quanta of a history, by voxel, and the standard deviation of that mean.
    ///
    /// # Errors
    /// A card's fault.
    fn means(&mut self) -> Result<(Vec<f32>, Vec<f32>), Self::Error>;

    fn device(&self) -> String;

    /// Particles that did not go as they should.
    fn faults(&self) -> Faults;

    /// Phases that cards have timed by themselves, summed over several cards.
    fn phases_ms(&self) -> Vec<(String, f64)> {
        Vec::new()
    }
}

/// Grid of a run's dose, and the mass that it is per.
#[derive(Clone, Debug)]
pub struct DoseGrid {
    pub grid: Arc<Grid>,
    pub dose_to: DoseTo,
}

/// A simulation ready to be run.
pub struct Run<S> {
    simulation: S,
    length: RunLength,
    dose_grid: DoseGrid,
    /// Digest of the request, for the receipt.
    digest: String,
    clock: Clock,
    batches: u64,
}

impl<S: Simulation> Run<S> {
    /// `clock` has the time of the simulation's tables.
    pub fn new(
        simulation: S,
        length: RunLength,
        dose_grid: DoseGrid,
        digest: String,
        clock: Clock,
    ) -> Self {
        Self {
            simulation,
            length,
            dose_grid,
            digest,
            clock,
            batches: 0,
        }
    }

    /// Histories of a batch.
    fn batch(&self) -> u64 {
        let max_batch = self.length.batch.clamp(1, MOST_BATCH);
        match self.length.until {
            Until::Histories(n) => n.max(1).div_ceil(n.div_ceil(max_batch).max(FEWEST_BATCHES)),
            Until::Uncertainty { .. } => max_batch,
        }
    }

    /// Runs until the request is met or `show` ends the run with the dose so far.
    ///
    /// # Errors
    /// Errors of the runner.
    pub fn refine<R: Runner<Simulation = S>>(
        &mut self,
        runner: &mut R,
        control: &JobControl,
        show: &mut dyn FnMut(&HistoriesDose) -> Next,
    ) -> Result<HistoriesDose, R::Error> {
        let batch = self.batch();
        let mut shown = Instant::now();
        // When to look whether the uncertainty is reached: at numbers of batches that only depend on what was computed, so
        // that equal runs end alike.
        let mut look_at = FEWEST_BATCHES;
        loop {
            runner.run(&self.simulation, self.batches * batch, batch, control)?;
            self.batches += 1;
            let looks =
                matches!(self.length.until, Until::Uncertainty { .. }) && self.batches >= look_at;
            let last = self.has_most(batch);
            let shows = shown.elapsed() >= self.length.show_every || self.shows_first();
            if !(looks || last || shows) {
                self.report(None, batch, control);
                continue;
            }
            runner.wait()?;
            self.clock.phase("histories");
            let faults = runner.faults();
            let mut dose = self.dose(runner, faults, batch)?;
            self.clock.phase("means");
            self.report(dose.uncertainty_percent, batch, control);
            let reached = looks && self.reached(&dose);
            if reached || last {
                dose.status = self.final_status(&dose, reached);
                return Ok(dose);
            }
            if looks {
                look_at = next_look(self.batches, self.length.until, dose.uncertainty_percent);
            }
            if shows {
                shown = Instant::now();
                if show(&dose) == Next::Keep {
                    return Ok(dose);
                }
            }
        }
    }

    /// Whether this is the first dose on the way, which is shown as soon as its spread is known.
    fn shows_first(&self) -> bool {
        self.batches == FEWEST_BATCHES && self.length.show_every < Duration::MAX
    }

    /// Batches of a run that ends at a number of histories.
    fn all_batches(&self) -> u64 {
        let (Until::Histories(max_histories)
        | Until::Uncertainty {
            most: max_histories,
            ..
        }) = self.length.until;
        max_histories.div_ceil(self.batch()).max(1)
    }

    /// Digest of the run of which this is a part.
    fn run_digest(&self) -> String {
        format!(
            "{}-{}-{}",
            self.simulation.digest(),
            self.batch(),
            env!("CARGO_PKG_VERSION")
        )
    }

    /// # Errors
    /// [`PartError::TooMany`]: a run in more parts than it has batches.
    pub fn check_part(&self, part: RunPart) -> Result<(), PartError> {
        let batches = self.all_batches();
        if part.of > batches {
            Err(PartError::TooMany {
                batches,
                of: part.of,
            })
        } else {
            Ok(())
        }
    }

    /// # Errors
    /// [`PartError`] of parts that are not all of this run.
    pub fn check_parts(&self, parts: &PartTally) -> Result<(), PartError> {
        let batches = self.all_batches();
        parts.check(&self.run_digest(), [batches, batches * self.batch()])
    }

    /// Runs the batches of a part, which [`Self::check_part`] has passed.
    ///
    /// # Errors
    /// Errors of the runner.
    pub fn part<R: Runner<Simulation = S>>(
        &mut self,
        part: RunPart,
        runner: &mut R,
        control: &JobControl,
    ) -> Result<PartTally, R::Error> {
        let (batch, batches) = (self.batch(), self.all_batches());
        let part_batches = part.batches(batches);
        let begin = Instant::now();
        for n in part_batches.clone() {
            runner.run(&self.simulation, n * batch, batch, control)?;
            control.report(
                (n + 1 - part_batches.start) as f32
                    / (part_batches.end - part_batches.start) as f32,
            );
        }
        runner.wait()?;
        let ran = RanPart {
            part,
            device: runner.device(),
            ms: begin.elapsed().as_secs_f64() * 1e3,
            faults: runner.faults(),
        };
        Ok(PartTally::new(self.run_digest(), ran, runner.take()?))
    }

    /// Dose of all parts of the run, which [`Self::check_parts`] has passed: the one that [`Self::refine`] gives, to the bit.
    ///
    /// # Errors
    /// Errors of the runner.
    pub fn of_parts<R: Runner<Simulation = S>>(
        &mut self,
        parts: &PartTally,
        runner: &mut R,
    ) -> Result<HistoriesDose, R::Error> {
        let batch = self.batch();
        self.batches = self.all_batches();
        runner.add(&self.simulation, &parts.tally)?;
        let mut dose = self.dose(runner, parts.faults(), batch)?;
        dose.status = self.final_status(&dose, false);
        let receipt = Arc::make_mut(&mut dose.receipt);
        receipt.device = format!("{} ({} parts)", parts.devices().join(", "), parts.parts());
        receipt.phases_ms.push(("histories".to_owned(), parts.ms()));
        Ok(dose)
    }

    fn has_most(&self, batch: u64) -> bool {
        let (Until::Histories(max_histories)
        | Until::Uncertainty {
            most: max_histories,
            ..
        }) = self.length.until;
        let fewest = if matches!(self.length.until, Until::Uncertainty { .. }) {
            FEWEST_BATCHES
        } else {
            1
        };
        self.batches * batch >= max_histories && self.batches >= fewest
    }

    fn reached(&self, dose: &HistoriesDose) -> bool {
        let Until::Uncertainty { percent, .. } = self.length.until else {
            return false;
        };
        dose.uncertainty_percent.is_some_and(|u| u <= percent)
    }

    fn final_status(&self, dose: &HistoriesDose, reached: bool) -> DoseStatus {
        if matches!(self.length.until, Until::Uncertainty { .. }) && !reached {
            return DoseStatus::Preview;
        }
        match dose.uncertainty_percent {
            Some(percent) if percent <= FINAL_PERCENT && !dose.is_spoilt => DoseStatus::Final,
            _ => DoseStatus::Coarse,
        }
    }

    fn report(&self, uncertainty_percent: Option<f64>, batch: u64, control: &JobControl) {
        let done = self.batches * batch;
        match (self.length.until, uncertainty_percent) {
            (Until::Histories(most), _) => {
                control.report((done as f64 / most as f64).min(1.0) as f32)
            }
            // Histories grow with the inverse square of the uncertainty. Of few batches it says little, and a fraction once
            // reported does not fall again.
            (Until::Uncertainty { percent, .. }, Some(u)) if self.batches >= FEWEST_BATCHES => {
                control.report((percent / u).powi(2).min(1.0) as f32);
            }
            _ => {}
        }
    }

    fn dose<R: Runner<Simulation = S>>(
        &self,
        runner: &mut R,
        faults: Faults,
        batch: u64,
    ) -> Result<HistoriesDose, R::Error> {
        let (mean, sigma) = runner.means()?;
        let histories = self.batches * batch;
        let DoseGrid { grid, dose_to } = &self.dose_grid;
        let medium = self.simulation.medium();
        let gy_g_cm3_per_quantum = self.simulation.gy_g_cm3_per_quantum();
        let gy = |quanta: Vec<f32>| {
            let mass = self.simulation.mass(*dose_to);
            cropped(grid, medium, mass, |voxel| {
                (f64::from(quanta[voxel]) * gy_g_cm3_per_quantum) as f32
            })
        };
        let (gy, sigma) = (gy(mean), gy(sigma));
        let uncertainty_percent = uncertainty_percent(&gy, &sigma);
        let receipt = Receipt {
            job: S::ENGINE.word().to_owned(),
            digest: self.digest.clone(),
            device: runner.device(),
            phases_ms: self
                .clock
                .phases_ms()
                .iter()
                .cloned()
                .chain(runner.phases_ms())
                .collect(),
            warnings: { self.simulation.warnings().into_iter() }
                .chain(faults.words(histories))
                .collect(),
            work: histories,
        };
        Ok(HistoriesDose {
            gy: Arc::new(Volume::new(Arc::clone(grid), gy)),
            sigma_gy: Arc::new(Volume::new(Arc::clone(grid), sigma)),
            uncertainty_percent,
            histories,
            batches: self.batches,
            is_spoilt: faults.spoil(histories),
            status: DoseStatus::Preview,
            receipt: Arc::new(receipt),
        })
    }
}

/// The number of batches at which the uncertainty may be reached: a little less than the square root law predicts, and not more
/// than four times as many as there are.
fn next_look(batches: u64, until: Until, uncertainty_percent: Option<f64>) -> u64 {
    let Until::Uncertainty { percent, .. } = until else {
        return u64::MAX;
    };
    let ratio = uncertainty_percent.map_or(2.0, |u| 0.98 * (u / percent).powi(2));
    ((batches as f64 * ratio.min(4.0)) as u64).max(batches + 1 + batches / 50)
}
