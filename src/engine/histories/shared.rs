//! Histories distributed over several runners: the dose has the bits of a single one.

use super::faults::Faults;
use super::run::Runner;
use super::tally::Tally;
use crate::JobControl;
use crate::dose::add_phase;

/// A runner whose sums another of its kind can take.
pub trait Sharing: Runner {
    /// Hands all that it has added up to `to`, and has nothing then.
    ///
    /// # Errors
    /// A card's fault.
    fn hand_over(&mut self, to: &mut Self) -> Result<(), Self::Error>;
}

/// Runners that take batches in turn. A history's random numbers are its own and sums are whole numbers, so that it does not
/// matter who runs it.
pub struct Shared<R> {
    first: R,
    others: Vec<R>,
    batches: usize,
}

impl<R> Shared<R> {
    pub fn new(first: R, others: impl Iterator<Item = R>) -> Self {
        Self {
            first,
            others: others.collect(),
            batches: 0,
        }
    }

    fn each(&self) -> impl Iterator<Item = &R> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl<R: Sharing> Runner for Shared<R> {
    type Simulation = R::Simulation;
    type Error = R::Error;

    fn run(
        &mut self,
        run: &R::Simulation,
        first: u64,
        batch: u64,
        control: &JobControl,
    ) -> Result<(), R::Error> {
        let turn = self.batches % (self.others.len() + 1);
        self.batches += 1;
        let runner = match turn.checked_sub(1) {
            None => &mut self.first,
            Some(n) => &mut self.others[n],
        };
        runner.run(run, first, batch, control)
    }

    fn wait(&mut self) -> Result<(), R::Error> {
        self.first.wait()?;
        self.others.iter_mut().try_for_each(R::wait)
    }

    fn take(&mut self) -> Result<Tally, R::Error> {
        for other in &mut self.others {
            other.hand_over(&mut self.first)?;
        }
        self.first.take()
    }

    fn add(&mut self, run: &R::Simulation, tally: &Tally) -> Result<(), R::Error> {
        self.first.add(run, tally)
    }

    fn means(&mut self) -> Result<(Vec<f32>, Vec<f32>), R::Error> {
        for other in &mut self.others {
            other.hand_over(&mut self.first)?;
        }
        self.first.means()
    }

    fn device(&self) -> String {
        self.each().map(R::device).collect::<Vec<_>>().join(", ")
    }

    fn faults(&self) -> Faults {
        self.each()
            .map(R::faults)
            .fold(Faults::default(), |sum, faults| sum + faults)
    }

    fn phases_ms(&self) -> Vec<(String, f64)> {
        let mut phases = Vec::new();
        self.each()
            .flat_map(R::phases_ms)
            .for_each(|(name, ms)| add_phase(&mut phases, &name, ms));
        phases
    }
}
