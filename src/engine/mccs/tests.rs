//! Histories distributed over several runners.

use crate::histories::bits;
use crate::histories::{
    HistoriesDose, Next, OfPartsError, PartError, PartTally, RunLength, RunPart, Shared,
};
use crate::mccs::cpu::Histories;
use crate::mccs::*;
use crate::phantom::patient;
use crate::run_histories::{dose_of_parts, part};
use case::{Beam, Jaws};
use glam::DVec3;
use physics::{Machine, Material};
use std::time::Duration;

fn over(runners: usize, request: &MccsRequest) -> (HistoriesDose, Vec<HistoriesDose>) {
    let control = JobControl::new();
    let mut run = Mccs::run_of(request, RunsOn::Cpu, &control).unwrap();
    let mut shared = Shared::new(
        Histories::default(),
        (1..runners).map(|_| Histories::default()),
    );
    let mut shown = Vec::new();
    let dose = run.refine(&mut shared, &control, &mut |dose| {
        shown.push(dose.clone());
        Next::GoOn
    });
    (dose.unwrap(), shown)
}

/// Dose and standard deviation, also where doses are shown on the way (and sums handed over) after every batch.
#[test]
fn any_number_of_runners_gives_the_same_bits() {
    let water = patient(DVec3::splat(10.0), [12; 3], |_| (1.0, Material::Water)).unwrap();
    let beam = Beam::fixed(
        "AP",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(60.0, 60.0),
        100.0,
    );
    let beams = vec![(beam, Machine::resolve("point-6mv").unwrap())];
    let request = MccsRequest {
        seed: 3,
        ..MccsRequest::of_histories(&water, beams, 11_000, 1000)
    };
    let (one, _) = over(1, &request);
    assert!(one.batches == 11 && one.uncertainty_percent.is_some_and(|u| u > 0.0));
    for runners in [2, 3, 16] {
        let (dose, _) = over(runners, &request);
        assert_eq!((dose.batches, dose.histories), (11, 11_000));
        assert!(bits(&dose) == bits(&one), "{runners} runners");
        let often = MccsRequest {
            length: RunLength {
                show_every: Duration::ZERO,
                ..request.length
            },
            ..request.clone()
        };
        let (dose, shown) = over(runners, &often);
        assert_eq!(
            shown.iter().map(|d| d.batches).collect::<Vec<_>>(),
            (1..=10).collect::<Vec<_>>()
        );
        assert!(bits(&dose) == bits(&one), "{runners} runners, shown");
        assert!(
            bits(&shown[4]) == bits(&over(1, &often).1[4]),
            "{runners} runners, on the way"
        );
    }
}

/// Dose and standard deviation of parts, each through a file, put together in another order.
#[test]
fn parts_by_themselves_give_the_bits_of_one_run() {
    let water = patient(DVec3::splat(10.0), [12; 3], |_| (1.0, Material::Water)).unwrap();
    let beam = Beam::fixed(
        "AP",
        1,
        0.0,
        DVec3::ZERO,
        Jaws::symmetric(60.0, 60.0),
        100.0,
    );
    let beams = vec![(beam, Machine::resolve("point-6mv").unwrap())];
    let request = MccsRequest {
        seed: 3,
        ..MccsRequest::of_histories(&water, beams, 11_000, 1000)
    };
    let (control, cpu) = (JobControl::new(), Compute::Cpu);
    let one = refine(&request, &cpu, &control, &mut |_| Next::GoOn).unwrap();
    let part_of = |request: &MccsRequest, number, count| {
        let part = part::<Mccs>(
            request,
            RunPart { number, of: count },
            std::slice::from_ref(&cpu),
            &control,
        )
        .unwrap();
        let mut file = Vec::new();
        part.write(&mut file).unwrap();
        PartTally::read(&file[..], file.len() as u64).unwrap()
    };
    for count in [1, 2, 4, 11] {
        let mut sum = part_of(&request, count, count);
        (1..count).for_each(|number| sum.add(&part_of(&request, number, count)).unwrap());
        let dose = dose_of_parts::<Mccs>(&request, &sum, &cpu, &control).unwrap();
        assert_eq!(
            (dose.batches, dose.histories, dose.status),
            (11, 11_000, one.status)
        );
        assert!(bits(&dose) == bits(&one), "{count} parts");
    }
    // What another run has is refused: other numbers, and another dose.
    let other = MccsRequest {
        seed: 4,
        ..request.clone()
    };
    let mut first = part_of(&request, 1, 2);
    assert_eq!(first.add(&part_of(&other, 2, 2)), Err(PartError::OtherRun));
    first.add(&part_of(&request, 2, 2)).unwrap();
    let refused =
        |request: &MccsRequest| dose_of_parts::<Mccs>(request, &first, &cpu, &control).unwrap_err();
    assert_eq!(refused(&other), OfPartsError::Parts(PartError::OtherRun));
    let mut turned = request.clone();
    turned.beams[0].0.control_points[0].gantry_deg = 1.0;
    assert_eq!(refused(&turned), OfPartsError::Parts(PartError::OtherRun));
    let too_many = part::<Mccs>(
        &request,
        RunPart { number: 1, of: 12 },
        &[Compute::Cpu],
        &control,
    )
    .unwrap_err();
    assert_eq!(
        too_many,
        OfPartsError::Parts(PartError::TooMany {
            batches: 11,
            of: 12
        })
    );
}
