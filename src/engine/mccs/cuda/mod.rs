//! Monte Carlo convolution/superposition on a card (`kernels/mccs.cu`): the histories of
//! [`engine::mccs::cpu`](crate::mccs::cpu), in stages as Zhou 2010, Sec. 3.1: heads and flights first, which write rays,
//! then the deposition along all of them. Neighbouring histories are of one energy and share a kernel.

mod work;

use crate::JobControl;
use crate::cuda::{Device, Failure, ReadyEvent};
use crate::dose::DoseError;
use crate::dose::add_phase;
use crate::histories::Runner;
use crate::histories::Sharing;
use crate::histories::Tally;
use crate::mccs::simulation::Simulation;
use std::collections::VecDeque;
use work::RunBuffers;

/// Histories whose rays are in memory at a time.
const CHUNK: u64 = 1 << 19;
/// Batches queued before the host waits for the first of them; a cancelled run still computes these.
const QUEUED: usize = 16;

/// Histories on a card.
pub struct Histories<'a> {
    device: &'a Device,
    work: Option<RunBuffers>,
    queued: VecDeque<ReadyEvent>,
    batches: u64,
    histories: u64,
    phases_ms: Vec<(String, f64)>,
}

impl<'a> Histories<'a> {
    pub fn new(device: &'a Device) -> Self {
        Self {
            device,
            work: None,
            queued: VecDeque::new(),
            batches: 0,
            histories: 0,
            phases_ms: Vec::new(),
        }
    }
}

impl Runner for Histories<'_> {
    type Simulation = Simulation;
    type Error = Failure<DoseError>;

    fn run(
        &mut self,
        run: &Simulation,
        first: u64,
        batch: u64,
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
            none => none.insert(RunBuffers::new(run, batch, &mut card)?),
        };
        work.batch(&mut card, first, batch, control)?;
        self.queued.push_back(card.ready_event()?);
        self.batches += 1;
        self.histories += batch;
        Ok(())
    }

    fn wait(&mut self) -> Result<(), Failure<DoseError>> {
        self.queued.drain(..).try_for_each(ReadyEvent::wait)?;
        Ok(())
    }

    fn take(&mut self) -> Result<Tally, Failure<DoseError>> {
        let Some(work) = &mut self.work else {
            return Ok(Tally::new(0));
        };
        let [sum, low, high] = work.take_sums(&mut self.device.lock())?;
        let square = |(low, high): (u64, u64)| u128::from(low) | u128::from(high) << 64;
        let squares = low.into_iter().zip(high).map(square).collect();
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

    fn add(&mut self, run: &Simulation, tally: &Tally) -> Result<(), Failure<DoseError>> {
        let mut card = self.device.lock();
        let work = match &mut self.work {
            Some(work) => work,
            none => none.insert(RunBuffers::new(run, 1, &mut card)?),
        };
        let [low, high] =
            [0, 64].map(|shift| tally.squares.iter().map(|q| (q >> shift) as u64).collect());
        work.add_sums(&mut card, &[tally.sum.clone(), low, high])?;
        self.batches += tally.batches;
        self.histories += tally.histories;
        Ok(())
    }

    fn means(&mut self) -> Result<(Vec<f32>, Vec<f32>), Failure<DoseError>> {
        let Some(work) = &mut self.work else {
            return Ok(Default::default());
        };
        let mut card = self.device.lock();
        let means = work.means(&mut card, self.batches, self.histories)?;
        for (phase, ms) in work.times(&card)? {
            add_phase(&mut self.phases_ms, &phase, ms);
        }
        Ok(means)
    }

    fn device(&self) -> String {
        self.device.card().to_string()
    }

    fn phases_ms(&self) -> Vec<(String, f64)> {
        self.phases_ms.clone()
    }
}

impl Sharing for Histories<'_> {
    fn hand_over(&mut self, to: &mut Self) -> Result<(), Failure<DoseError>> {
        // A runner that had no turn yet has no sums; the first, which takes them, has had one.
        let (Some(own), Some(other)) = (&mut self.work, &to.work) else {
            return Ok(());
        };
        let sums = {
            let mut card = self.device.lock();
            let sums = own.take_sums(&mut card)?;
            for (phase, ms) in own.times(&card)? {
                add_phase(&mut self.phases_ms, &phase, ms);
            }
            sums
        };
        other.add_sums(&mut to.device.lock(), &sums)?;
        to.batches += std::mem::take(&mut self.batches);
        to.histories += std::mem::take(&mut self.histories);
        Ok(())
    }
}
