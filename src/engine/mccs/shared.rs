//! Histories shared out over several runners, for a dose that is the same to the bit as that of one.

use super::job::Runner;
use super::simulation::Simulation;
use crate::engine::Watch;
use crate::engine::cccs::job::add_phase;

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
        Self { first, others: others.collect(), batches: 0 }
    }

    fn each(&self) -> impl Iterator<Item = &R> {
        std::iter::once(&self.first).chain(&self.others)
    }
}

impl<R: Sharing> Runner for Shared<R> {
    type Error = R::Error;

    fn run(&mut self, run: &Simulation, first: u64, batch: u64, watch: &Watch) -> Result<(), R::Error> {
        let turn = self.batches % (self.others.len() + 1);
        self.batches += 1;
        let runner = match turn.checked_sub(1) {
            None => &mut self.first,
            Some(n) => &mut self.others[n],
        };
        runner.run(run, first, batch, watch)
    }

    fn wait(&mut self) -> Result<(), R::Error> {
        self.first.wait()?;
        self.others.iter_mut().try_for_each(R::wait)
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

    fn phases_ms(&self) -> Vec<(String, f64)> {
        let mut phases = Vec::new();
        self.each().flat_map(R::phases_ms).for_each(|(name, ms)| add_phase(&mut phases, &name, ms));
        phases
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::{Beam, Jaws};
    use crate::engine::cccs::DoseTo;
    use crate::engine::cpu::mccs::Histories;
    use crate::engine::mccs::job::Job;
    use crate::engine::mccs::{DIRECTIONS, MccsDose, MccsRequest, Next, Until, Variant};
    use crate::engine::phantom::patient;
    use crate::physics::{Machine, Material};
    use glam::DVec3;
    use std::sync::Arc;
    use std::time::Duration;

    fn over(runners: usize, request: &MccsRequest) -> (MccsDose, Vec<MccsDose>) {
        let watch = Watch::new();
        let mut job = Job::new(request, &watch).unwrap();
        let mut shared = Shared::new(Histories::default(), (1..runners).map(|_| Histories::default()));
        let mut shown = Vec::new();
        let dose = job.refine(&mut shared, &watch, &mut |dose| {
            shown.push(dose.clone());
            Next::GoOn
        });
        (dose.unwrap(), shown)
    }

    fn bits(dose: &MccsDose) -> Vec<u32> {
        dose.gy.data().iter().chain(dose.sigma_gy.data()).map(|v| v.to_bits()).collect()
    }

    /// Dose and standard deviation, also where doses are shown on the way (and sums handed over) after every batch.
    #[test]
    fn any_number_of_runners_gives_the_same_bits() {
        let water = patient(DVec3::splat(10.0), [12; 3], |_| (1.0, Material::Water)).unwrap();
        let beam = Beam::fixed("AP", 1, 0.0, DVec3::ZERO, Jaws::symmetric(60.0, 60.0), 100.0);
        let request = MccsRequest {
            grid: Arc::clone(water.mass_density_g_cm3.grid()),
            patient: water,
            beams: vec![(beam, Machine::resolve("point-6mv").unwrap())],
            dose_to: DoseTo::Medium,
            until: Until::Histories(11_000),
            seed: 3,
            directions: DIRECTIONS,
            batch: 1000,
            variant: Variant::Own,
            show_every: Duration::from_secs(3600),
        };
        let (one, _) = over(1, &request);
        assert!(one.batches == 11 && one.uncertainty_percent.is_some_and(|u| u > 0.0));
        for runners in [2, 3, 16] {
            let (dose, _) = over(runners, &request);
            assert_eq!((dose.batches, dose.histories), (11, 11_000));
            assert!(bits(&dose) == bits(&one), "{runners} runners");
            let often = MccsRequest { show_every: Duration::ZERO, ..request.clone() };
            let (dose, shown) = over(runners, &often);
            assert_eq!(shown.iter().map(|d| d.batches).collect::<Vec<_>>(), (1..=10).collect::<Vec<_>>());
            assert!(bits(&dose) == bits(&one), "{runners} runners, shown");
            assert!(bits(&shown[4]) == bits(&over(1, &often).1[4]), "{runners} runners, on the way");
        }
    }
}
