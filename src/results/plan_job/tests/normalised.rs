//! Normalisations to a point and to the maximum, in the dose of a plan.

use super::*;
use case::{Normalisation, NormalisedAt, NormalisedDose};

fn job_to(place: NormalisedAt, dose: NormalisedDose, prescription_gy: Option<f64>) -> PlanJob {
    let ct = stack();
    let set = drawn(
        &ct,
        DVec3::new(-120.0, -100.0, -120.0),
        DVec3::new(120.0, 100.0, 120.0),
    );
    let mut job = job(&ct, &set, BodyChoice::Drawn);
    job.plan.fractions = 5;
    job.plan.prescription_gy = prescription_gy;
    job.plan.normalisation = Some(Normalisation { at: place, dose });
    job
}

#[test]
fn the_dose_at_the_point_or_the_maximum_is_the_one_asked_for_and_the_monitor_units_follow() {
    let mm = DVec3::new(3.0, -55.0, -7.0);
    for (place, dose, prescription) in [
        (NormalisedAt::Point(mm), NormalisedDose::Gy(50.0), None),
        (
            NormalisedAt::Point(mm),
            NormalisedDose::Percent(125.0),
            Some(40.0),
        ),
        (NormalisedAt::Maximum, NormalisedDose::Gy(50.0), None),
    ] {
        let at_point = place != NormalisedAt::Maximum;
        let job = job_to(place, dose, prescription);
        let got = computed(&job);
        let gy = if at_point {
            got.dose.gy.trilinear(mm).expect("inside")
        } else {
            got.dose.max_gy()
        };
        assert!((gy - 50.0).abs() < 1e-3, "{gy}");
        // Without the normalisation: the same dose but for the factor, which all monitor units have.
        let bare = computed(&PlanJob {
            plan: Plan {
                normalisation: None,
                ..job.plan.clone()
            },
            ..job
        });
        let times = got.factor as f32 * bare.dose.max_gy();
        assert!((times / got.dose.max_gy() - 1.0).abs() < 1e-5);
        assert!((got.plan.beams[0].mu / (100.0 * got.factor) - 1.0).abs() < 1e-12);
    }
}

fn point(x: f64, y: f64, z: f64) -> NormalisedAt {
    NormalisedAt::Point(DVec3::new(x, y, z))
}

fn volume(structure: &str) -> NormalisedAt {
    Normalisation::to_named(structure, 95.0, 1.0).at
}

#[test]
fn a_normalisation_that_cannot_be_met_gives_no_dose() {
    let percent = NormalisedDose::Percent(100.0);

    for (place, dose, prescription, words) in [
        (
            point(500.0, 0.0, 0.0),
            NormalisedDose::Gy(2.0),
            None,
            "outside the dose grid",
        ),
        (
            point(0.0, -115.0, 0.0),
            NormalisedDose::Gy(2.0),
            None,
            "outside the dose grid",
        ),
        (
            point(110.0, 0.0, 110.0),
            NormalisedDose::Gy(2.0),
            None,
            "less than 1 % of the greatest dose",
        ),
        (point(0.0, 0.0, 0.0), percent, None, "the plan has none"),
        (
            point(0.0, 0.0, 0.0),
            percent,
            Some(0.0),
            "prescription_gy = 0 must be above 0",
        ),
        (
            NormalisedAt::Maximum,
            NormalisedDose::Gy(0.0),
            None,
            "dose_gy = 0 must be above 0",
        ),
        (
            volume("PTV"),
            NormalisedDose::Gy(2.0),
            None,
            "no structure 'PTV'",
        ),
    ] {
        let job = job_to(place, dose, prescription);
        let why = compute_plan(&job, &JobControl::new(), &|_| {})
            .expect_err(words)
            .to_string();
        assert!(why.contains(words), "{why}");
    }
    let mut job = job_to(volume("Outline"), NormalisedDose::Gy(2.0), None);
    Arc::make_mut(&mut job.structures).structures[0].contours = Default::default();
    job.body = BodyChoice::Auto;
    let why = compute_plan(&job, &JobControl::new(), &|_| {})
        .expect_err("no contours")
        .to_string();
    assert!(
        why.contains("cannot be normalised: Outline has no contours"),
        "{why}"
    );
}

/// A beam of negative monitor units is no beam: the plan has no dose, and the reason.
#[test]
fn negative_monitor_units_give_no_dose() {
    let mut job = job_to(NormalisedAt::Maximum, NormalisedDose::Gy(2.0), None);
    job.plan.beams[0].mu = -5.0;
    let why = compute_plan(&job, &JobControl::new(), &|_| {})
        .expect_err("negative")
        .to_string();
    assert!(
        why.contains("beam 'Front': mu = -5 must be from 0"),
        "{why}"
    );
    job.plan.beams[0].mu = 0.0;
    let why = compute_plan(&job, &JobControl::new(), &|_| {})
        .expect_err("none")
        .to_string();
    assert!(why.contains("the greatest dose is 0 Gy"), "{why}");
}
