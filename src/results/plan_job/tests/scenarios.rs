//! Set-up errors: each scenario is the plan with a moved isocentre, to the bit.

use super::*;
use crate::{Day, DeliveredPlan, compute_fractions, compute_scenarios, dose_of_day};
use analysis::{RIGID, Scenario};
use case::{Normalisation, NormalisedAt, NormalisedDose, Pose};

#[test]
fn scenarios_are_doses_of_the_moved_isocentre() {
    let job = job_in_water();
    let set = Arc::clone(&job.structures);
    let scenarios = Scenario::along_axes(6.0);
    let control = JobControl::new();
    let robust = compute_scenarios(&job, &scenarios, &control, &|_| {}).expect("doses");
    let mut doses = Vec::new();
    for (scenario, result) in scenarios.iter().zip(&robust.scenarios) {
        let mut moved = job.clone();
        moved.plan.beams[0].isocentre_mm += scenario.shift_mm;
        let alone = computed(&moved);
        assert_eq!(result.scenario, *scenario);
        assert_eq!(
            result.figures.dvhs[0].1.mean_gy(),
            alone.dvhs[0].1.mean_gy()
        );
        doses.push(alone.dose.gy);
    }
    // The field is 80 mm wide: at its edge scenarios differ.
    let [lowest, highest] = [robust.least(&job.plan), robust.greatest(&job.plan)].map(|d| d.gy);
    assert!(lowest.data() != highest.data());
    for n in 0..doses[0].data().len() {
        let values = doses.iter().map(|gy| gy.data()[n]);
        let least_gy = values.clone().fold(f32::INFINITY, f32::min);
        assert_eq!(lowest.data()[n], least_gy);
        assert_eq!(highest.data()[n], values.fold(0.0, f32::max));
    }
    assert_eq!(robust.bands(&set).len(), 1);
}

#[test]
fn a_scenario_that_leaves_the_ct_is_refused() {
    let ct = ct(|_| 0.0);
    let mut job = job(&ct, &Arc::default(), BodyChoice::Everything);
    job.plan.beams[0].isocentre_mm.x = 116.0;
    let scenarios = Scenario::along_axes(5.0);
    let refused = compute_scenarios(&job, &scenarios, &JobControl::new(), &|_| {});
    assert_eq!(
        refused.err().map(|why| why.to_string()).as_deref(),
        Some("isocentre 5.0 mm left: the isocentre of beam 'Front' leaves the CT")
    );
}

/// A cube of water with one field.
fn job_in_water() -> PlanJob {
    let ct = ct(|mm| {
        if mm.abs().max_element() < 80.0 {
            0.0
        } else {
            -1000.0
        }
    });
    let set = drawn(&ct, DVec3::splat(-80.0), DVec3::splat(80.0));
    job(&ct, &set, BodyChoice::Drawn)
}

/// The same in five fractions.
fn job_of_fractions() -> PlanJob {
    let mut job = job_in_water();
    job.plan.fractions = 5;
    job
}

fn day(name: &str, pose: Pose) -> Day {
    Day {
        name: name.to_owned(),
        pose,
        centre_mm: None,
    }
}

#[test]
fn fractions_as_planned_sum_to_the_plan() {
    let job = job_of_fractions();
    let days = ["1", "2", "3"].map(|name| day(name, Pose::default()));
    let course = compute_fractions(&job, &days, &JobControl::new(), &|_| {}).expect("doses");
    let planned = computed(&job).dose;
    assert_eq!((course.days.len(), course.to_come), (3, 2));
    let greatest_gy = planned.gy.data().iter().copied().fold(0.0, f32::max);
    for (sum_gy, gy) in course.sum.gy.data().iter().zip(planned.gy.data()) {
        assert!((sum_gy - gy).abs() <= 1e-6 * greatest_gy);
    }
    assert_eq!(course.sum.status, DoseStatus::Partial);
    assert_eq!(course.sum.caveats[0], RIGID);
    assert!(course.sum.caveats[1].contains("2 of 5 fractions are to come"));
}

#[test]
fn a_sum_has_each_fraction_by_its_share_and_those_to_come_at_the_mean() {
    let job = job_of_fractions();
    let poses = [[6.0, 0.0, 0.0], [-6.0, 0.0, 0.0], [0.0, 0.0, 9.0]];
    let poses = poses.map(|shift_mm| Pose::new(shift_mm, [0.0; 3]));
    let days = poses.map(|pose| day("day", pose));
    let course = compute_fractions(&job, &days, &JobControl::new(), &|_| {}).expect("doses");
    assert_eq!(course.mean_pose, Pose::new([0.0, 0.0, 3.0], [0.0; 3]));
    let mut expected_gy = vec![0.0; course.sum.gy.data().len()];
    for (pose, share) in poses
        .into_iter()
        .map(|pose| (pose, 0.2))
        .chain([(course.mean_pose, 0.4)])
    {
        let mut moved = job.clone();
        moved.plan.beams[0].isocentre_mm -= pose.translation_mm;
        let alone = computed(&moved).dose.gy;
        for (sum_gy, gy) in expected_gy.iter_mut().zip(alone.data()) {
            *sum_gy += share * f64::from(*gy);
        }
    }
    for (sum_gy, expected_gy) in course.sum.gy.data().iter().zip(&expected_gy) {
        assert_eq!(*sum_gy, *expected_gy as f32);
    }
    let too_many = [days.clone(), days].concat();
    let refused = compute_fractions(&job, &too_many, &JobControl::new(), &|_| {});
    assert_eq!(
        refused.err().map(|why| why.to_string()).as_deref(),
        Some("there are more poses (6) than fractions in the plan (5)")
    );
}

/// A normalised plan delivers the same monitor units wherever the patient lies.
#[test]
fn scenarios_deliver_the_units_of_the_normalised_plan() {
    let mut job = job_of_fractions();
    let point_mm = job.plan.beams[0].isocentre_mm;
    let point_gy = computed(&job).dose.gy.trilinear(point_mm).expect("a dose");
    job.plan.normalisation = Some(Normalisation {
        at: NormalisedAt::Point(point_mm),
        dose: NormalisedDose::Gy(1.3 * f64::from(point_gy)),
    });
    let normalised = computed(&job);
    let settings = job.settings().expect("settings");
    let case = job.case();
    let delivered = DeliveredPlan::new(
        &case,
        &case.plans[0],
        normalised.factor,
        job.engine,
        &settings,
        Vec::new(),
    );
    let delivered = delivered.expect("a plan");
    let at_pose = day("day", Pose::new([5.0, 0.0, 0.0], [0.0; 3]));
    let dose = dose_of_day(&delivered, &at_pose, &JobControl::new()).expect("a dose");
    let mut moved = job.clone();
    moved.plan = normalised.plan;
    moved.plan.normalisation = None;
    moved.plan.beams[0].isocentre_mm.x -= 5.0;
    assert_eq!(dose.gy.data(), computed(&moved).dose.gy.data());
}
