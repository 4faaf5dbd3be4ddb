//! Behaviour of the engine: symmetry, inverse square, field size, lung, threads, cancellation, calibration.

use super::phantom::{block, cube, dose, machine, on_axis, request};
use crate::common::cancelling::cancelled_at;
use beamsight::engine::JobControl;
use beamsight::engine::cccs::cpu::beam_dose;
use beamsight::engine::dose::{DoseError, Quality, dose_grid, matter_box};
use glam::DVec3;
use std::sync::Arc;

/// A small cube of water about the isocentre, 10 cm, 5 mm voxels.
fn small() -> Arc<beamsight::physics::Patient> {
    block(DVec3::splat(-50.0), DVec3::splat(5.0), [20; 3], |_| 1.0)
}

/// A gantry angle of 90 degrees turns the dose in a cube.
#[test]
fn gantry_by_ninety_degrees_turns_the_dose() {
    let mut wanted = request(&small(), &machine("point-6mv"), 40.0, Quality::Full);
    let from_above = dose(&wanted);
    let most = f64::from(from_above.gy.data().iter().copied().fold(0.0, f32::max));
    for gantry in [90.0, 180.0, 270.0] {
        wanted.beam.control_points[0].gantry_deg = gantry;
        let turned = dose(&wanted);
        let (mut worst, mut sum) = (0.0_f64, 0.0);
        for k in 0..20 {
            for j in 0..20 {
                for i in 0..20 {
                    // The voxel that corresponds under the turned beam to (i, j) under the one from above.
                    let [a, b] = match gantry as i32 {
                        90 => [19 - j, i],
                        180 => [19 - i, 19 - j],
                        _ => [j, 19 - i],
                    };
                    let d = f64::from(turned.gy.at(a, b, k)) - f64::from(from_above.gy.at(i, j, k));
                    worst = worst.max(d.abs() / most);
                    sum += d / most;
                }
            }
        }
        println!(
            "gantry {gantry}: at most {:.2} %, mean {:.3} %",
            100.0 * worst,
            sum / 80.0
        );
        // Directions and lattice do not turn about the same axes: the difference is their sampling.
        assert!(worst < 0.006, "gantry {gantry}: {worst}");
        assert!(
            (sum / 8000.0).abs() < 3e-4,
            "gantry {gantry}: mean {}",
            sum / 8000.0
        );
    }
}

/// The same depth at another distance: dose follows the inverse square (a field of the same size at the
/// phantom).
#[test]
fn inverse_square() {
    let near = dose(&request(
        &cube(0.0),
        &machine("point-6mv"),
        100.0,
        Quality::Fast,
    ));
    let mut far = request(
        &cube(500.0),
        &machine("point-6mv"),
        100.0 * 1100.0 / 1600.0,
        Quality::Fast,
    );
    far.beam.control_points[0].jaws =
        beamsight::case::Jaws::symmetric(100.0 * 1100.0 / 1600.0, 100.0 * 1100.0 / 1600.0);
    let far = dose(&far);
    // At 10 cm the field is 11 cm in both.
    let ratio = on_axis(&near, 0.0, 100.0) / on_axis(&far, 500.0, 100.0);
    let want = (1600.0_f64 / 1100.0).powi(2);
    println!("ratio {ratio:.4} for {want:.4}");
    assert!((ratio / want - 1.0).abs() < 0.005, "{ratio} for {want}");
}

/// More field, more scatter. Phantom scatter of a 6 MV beam at 10 cm over the 10 x 10 field (BJR Supplement
/// 25, S_p of 4 x 4 about 0.93, 20 x 20 about 1.06): a point source has no head scatter.
#[test]
fn dose_grows_with_the_field() {
    let at = |side: f64| {
        on_axis(
            &dose(&request(
                &cube(-100.0),
                &machine("point-6mv"),
                side,
                Quality::Fast,
            )),
            -100.0,
            100.0,
        )
    };
    let ten = at(100.0);
    let [four, twenty] = [at(40.0) / ten, at(200.0) / ten];
    println!("4 x 4: {four:.3}, 20 x 20: {twenty:.3}");
    assert!((0.85..0.93).contains(&four), "{four}");
    assert!((1.06..1.14).contains(&twenty), "{twenty}");
}

/// Equal inputs give equal results, whatever the number of threads.
#[test]
fn threads_change_nothing() {
    let wanted = request(&small(), &machine("generic-6mv"), 40.0, Quality::Fast);
    let with = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .build()
            .expect("a pool");
        pool.install(|| dose(&wanted))
    };
    let [one, three] = [1, 3].map(with);
    assert!(one.gy.data() == three.gy.data());
    assert_eq!(one.receipt.digest, three.receipt.digest);
    assert!(one.gy.data().iter().all(|d| d.is_finite() && *d >= 0.0));
}

/// A cancelled dose transports no further directions.
#[test]
fn a_cancelled_dose_ends_with_the_directions_in_hand() {
    let water = block(
        DVec3::new(-60.0, 0.0, -60.0),
        DVec3::splat(5.0),
        [24; 3],
        |_| 1.0,
    );
    let wanted = request(&water, &machine("point-6mv"), 50.0, Quality::Full);
    for share in [0.0, 0.3, 0.9] {
        let (answer, reports_after) =
            cancelled_at(share, |control| beam_dose(&wanted, control).map(|_| ()));
        assert!(
            matches!(answer, Err(DoseError::Cancelled(_))),
            "at {share}: {answer:?}"
        );
        assert_eq!(reports_after, 0, "at {share}");
    }
}

/// A monitor unit gives the dose of the machine's file in the reference condition.
#[test]
fn machines_are_calibrated() {
    let machine = machine("generic-6mv");
    let beamsight::physics::Calibration::Reference {
        field_mm,
        ssd_mm,
        depth_mm,
        gy_per_mu,
    } = machine.calibration
    else {
        panic!("generic-6mv is calibrated in MU");
    };
    let surface = ssd_mm - machine.sad_mm;
    let mut wanted = request(&cube(surface), &machine, field_mm[0], Quality::Standard);
    wanted.beam.mu = 250.0;
    let got = on_axis(&dose(&wanted), surface, depth_mm) / 250.0;
    println!("{got:.6} Gy per MU for {gy_per_mu}");
    assert!((got / gy_per_mu - 1.0).abs() < 0.01, "{got}");
}

/// The dose grid may be a part of the patient: the rest still attenuates and scatters.
#[test]
fn a_part_of_the_grid_has_the_same_dose() {
    let patient = block(DVec3::splat(-150.0), DVec3::splat(10.0), [30; 3], |_| 1.0);
    let mut wanted = request(&patient, &machine("point-6mv"), 100.0, Quality::Fast);
    let whole = dose(&wanted);
    let image = Arc::clone(wanted.patient.mass_density_g_cm3.grid());
    let part = dose_grid(
        &image,
        [DVec3::splat(-40.0), DVec3::new(40.0, 60.0, 30.0)],
        10.0,
    )
    .expect("a grid");
    assert_eq!(part.size(), [8, 10, 7]);
    wanted.grid = Arc::new(part);
    let part = dose(&wanted);
    for k in 0..7 {
        for j in 0..10 {
            for i in 0..8 {
                let at = part.gy.grid().centre_mm(i, j, k);
                let want = whole.gy.nearest(at).expect("inside");
                assert_eq!(part.gy.at(i, j, k), want, "{at}");
            }
        }
    }
}

#[test]
fn the_box_of_matter_is_found() {
    let patient = block(DVec3::splat(-50.0), DVec3::splat(10.0), [10; 3], |p| {
        if p.abs().max_element() < 21.0 {
            1.0
        } else {
            0.001
        }
    });
    let [low, high] = matter_box(&patient.mass_density_g_cm3, 0.1);
    assert!(
        (low + DVec3::splat(20.0)).length() < 1e-9 && (high - DVec3::splat(20.0)).length() < 1e-9,
        "{low} {high}"
    );
}

#[test]
fn bad_requests_are_refused_in_words() {
    let good = request(&small(), &machine("point-6mv"), 40.0, Quality::Fast);
    let ask = |change: &dyn Fn(&mut beamsight::engine::dose::DoseRequest)| {
        let mut r = good.clone();
        change(&mut r);
        beam_dose(&r, &JobControl::new())
            .map(|_| ())
            .expect_err("refused")
            .to_string()
    };
    assert!(ask(&|r| r.beam.mu = f64::NAN).contains("monitor units"));
    assert!(ask(&|r| r.beam.isocentre_mm.x = f64::INFINITY).contains("isocentre"));
    assert!(ask(&|r| r.beam.radiation = beamsight::case::Radiation::Proton).contains("photon"));
    assert!(ask(&|r| r.beam.read_only = Some("setup field".to_owned())).contains("setup field"));
    assert!(ask(&|r| r.beam.control_points.clear()).contains("monitor units"));
}
