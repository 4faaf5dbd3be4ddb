//! Wall times of a job, and the receipt that has them.

use case::Receipt;
use std::sync::Arc;
use std::time::Instant;

/// Wall times of the phases of a job; a repeated phase adds up.
pub struct Clock {
    last: Instant,
    phases_ms: Vec<(String, f64)>,
}

impl Clock {
    pub fn start() -> Self {
        Self {
            last: Instant::now(),
            phases_ms: Vec::new(),
        }
    }

    pub fn phase(&mut self, name: &str) {
        let ms = self.last.elapsed().as_secs_f64() * 1000.0;
        self.add(name, ms);
        self.last = Instant::now();
    }

    pub fn phases_ms(&self) -> &[(String, f64)] {
        &self.phases_ms
    }

    /// Adds phases that a card has timed by its events.
    pub fn take(&mut self, phases: Vec<(String, f64)>) {
        phases.iter().for_each(|(name, ms)| self.add(name, *ms));
        self.last = Instant::now();
    }

    fn add(&mut self, name: &str, ms: f64) {
        add_phase(&mut self.phases_ms, name, ms);
    }
}

/// Adds to the time of a phase, new or not.
pub fn add_phase(phases_ms: &mut Vec<(String, f64)>, name: &str, ms: f64) {
    match phases_ms.iter_mut().find(|(n, _)| n == name) {
        Some((_, sum)) => *sum += ms,
        None => phases_ms.push((name.to_owned(), ms)),
    }
}

/// The receipt of a job over the voxels of a beam.
pub fn receipt(job: &str, digest: String, device: String, clock: Clock, work: u64) -> Arc<Receipt> {
    Arc::new(Receipt {
        job: job.to_owned(),
        digest,
        device,
        phases_ms: clock.phases_ms,
        warnings: Vec::new(),
        work,
    })
}
