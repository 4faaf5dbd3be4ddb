//! Runner of histories on a card, for every engine that has kernels for them.

use super::{CardLock, CardTally, Clock, CudaError, Device, Failure, ReadyEvent};
use crate::JobControl;
use crate::dose::{DoseError, add_phase};
use crate::histories::{Batch, Faults, Runner, Sharing, Simulation, Tally};
use std::collections::VecDeque;

/// Batches queued before the host waits for the first of them; a cancelled run still computes these.
const QUEUED: usize = 16;

/// A simulation whose histories a card can run.
pub trait CardSimulation: Simulation {
    type Work: CardWork;

    /// Buffers for batches of `batch` histories.
    ///
    /// # Errors
    /// A card's fault.
    fn work(&self, batch: u64, card: &mut CardLock<'_>) -> Result<Self::Work, CudaError>;
}

/// Buffers of a run on a card, and its kernels in order.
pub trait CardWork {
    fn tally(&self) -> &CardTally;

    /// Queues the kernels of a batch, which deposit in the tally's lattice; each phase is marked on the clock.
    ///
    /// # Errors
    /// A card's fault, or a cancelled job.
    fn queue(
        &mut self,
        card: &mut CardLock<'_>,
        batch: Batch,
        clock: &mut Clock,
        control: &JobControl,
    ) -> Result<(), CudaError>;

    /// Particles lost or stuck so far.
    ///
    /// # Errors
    /// A card's fault.
    fn faults(&self, _: &mut CardLock<'_>) -> Result<Faults, CudaError> {
        Ok(Faults::default())
    }
}

/// Histories on a card.
pub struct OnCard<'a, S: CardSimulation> {
    device: &'a Device,
    work: Option<S::Work>,
    clock: Option<Clock>,
    queued: VecDeque<ReadyEvent>,
    batches: u64,
    histories: u64,
    faults: Faults,
    phases_ms: Vec<(String, f64)>,
}

impl<'a, S: CardSimulation> OnCard<'a, S> {
    pub fn new(device: &'a Device) -> Self {
        Self {
            device,
            work: None,
            clock: None,
            queued: VecDeque::new(),
            batches: 0,
            histories: 0,
            faults: Faults::default(),
            phases_ms: Vec::new(),
        }
    }

    /// Takes the times on the card since they were last taken.
    fn note_times(&mut self, card: &CardLock<'_>) -> Result<(), CudaError> {
        if let Some(clock) = self.clock.take() {
            for (phase, ms) in clock.finish(card)? {
                add_phase(&mut self.phases_ms, &phase, ms);
            }
        }
        Ok(())
    }
}

impl<S: CardSimulation> Runner for OnCard<'_, S> {
    type Simulation = S;
    type Error = Failure<DoseError>;

    fn run(
        &mut self,
        run: &S,
        first: u64,
        histories: u64,
        control: &JobControl,
    ) -> Result<(), Failure<DoseError>> {
        if self.queued.len() >= QUEUED
            && let Some(oldest) = self.queued.pop_front()
        {
            oldest.wait()?;
        }
        // A lock for each batch: other jobs of this card come between.
        let mut card = self.device.lock();
        let work = match &mut self.work {
            Some(work) => work,
            none => none.insert(run.work(histories, &mut card)?),
        };
        let clock = match &mut self.clock {
            Some(clock) => clock,
            none => none.insert(card.clock()?),
        };
        work.queue(&mut card, Batch { first, histories }, clock, control)?;
        work.tally().add_batch(&mut card)?;
        clock.mark(&card, "card: tally")?;
        self.queued.push_back(card.ready_event()?);
        self.batches += 1;
        self.histories += histories;
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Failure<DoseError>> {
        self.queued.drain(..).try_for_each(ReadyEvent::wait)?;
        Ok(())
    }

    fn take(&mut self) -> Result<Tally, Failure<DoseError>> {
        let Some(work) = &self.work else {
            return Ok(Tally::new(0));
        };
        let [sum, low, high] = work.tally().take_sums(&mut self.device.lock())?;
        let squares = { low.into_iter().zip(high) }
            .map(|(low, high)| u128::from(low) | u128::from(high) << 64)
            .collect();
        let (batches, histories) = (
            std::mem::take(&mut self.batches),
            std::mem::take(&mut self.histories),
        );
        Ok(Tally {
            sum,
            squares,
            batches,
            histories,
        })
    }

    fn add(&mut self, run: &S, tally: &Tally) -> Result<(), Failure<DoseError>> {
        let mut card = self.device.lock();
        let work = match &mut self.work {
            Some(work) => work,
            none => none.insert(run.work(1, &mut card)?),
        };
        let [low, high] =
            [0, 64].map(|shift| tally.squares.iter().map(|q| (q >> shift) as u64).collect());
        work.tally()
            .add_sums(&mut card, &[tally.sum.clone(), low, high])?;
        self.batches += tally.batches;
        self.histories += tally.histories;
        Ok(())
    }

    fn means(&mut self) -> Result<(Vec<f32>, Vec<f32>), Failure<DoseError>> {
        let Some(work) = &self.work else {
            return Ok(Default::default());
        };
        let mut card = self.device.lock();
        let means = work
            .tally()
            .means(&mut card, self.batches, self.histories)?;
        self.faults = work.faults(&mut card)?;
        self.note_times(&card)?;
        Ok(means)
    }

    fn device(&self) -> String {
        self.device.card().to_string()
    }

    fn faults(&self) -> Faults {
        self.faults
    }

    fn phases_ms(&self) -> Vec<(String, f64)> {
        self.phases_ms.clone()
    }
}

impl<S: CardSimulation> Sharing for OnCard<'_, S> {
    fn hand_over(&mut self, to: &mut Self) -> Result<(), Failure<DoseError>> {
        // A runner that had no turn yet has no sums; the first, which takes them, has had one.
        let (Some(from), Some(other)) = (&self.work, &to.work) else {
            return Ok(());
        };
        let sums = {
            let mut card = self.device.lock();
            let sums = from.tally().take_sums(&mut card)?;
            self.faults = from.faults(&mut card)?;
            self.note_times(&card)?;
            sums
        };
        other.tally().add_sums(&mut to.device.lock(), &sums)?;
        to.batches += std::mem::take(&mut self.batches);
        to.histories += std::mem::take(&mut self.histories);
        Ok(())
    }
}
