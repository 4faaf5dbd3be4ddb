//! Histories distributed over several runners.

use super::*;
use crate::case::{Beam, Jaws};
use crate::engine::cpu::mccs::Histories;
use crate::engine::phantom::patient;
use crate::physics::{Machine, Material};
use glam::DVec3;
use std::time::Duration;

fn over(runners: usize, request: &MccsRequest) -> (MccsDose, Vec<MccsDose>) {
    let control = JobControl::new();
    let mut job = Job::new(request, &|machine| cpu::cccs::monitor_unit(machine, &control), &control).unwrap();
    let mut shared = Shared::new(Histories::default(), (1..runners).map(|_| Histories::default()));
    let mut shown = Vec::new();
    let dose = job.refine(&mut shared, &control, &mut |dose| {
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
    let beams = vec![(beam, Machine::resolve("point-6mv").unwrap())];
    let request = MccsRequest { seed: 3, ..MccsRequest::of_histories(&water, beams, 11_000, 1000) };
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
