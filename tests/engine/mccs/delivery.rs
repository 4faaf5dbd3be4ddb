//! Leaves, lung and arcs.

use super::{request, run};
use crate::cccs::phantom::{block, dose, machine};
use beamsight::case::{Beam, ControlPoint, Jaws};
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::engine::mccs::MccsRequest;
use beamsight::geometry::Volume;
use glam::DVec3;
use std::sync::Arc;

fn beam(gantry_deg: f64, side_mm: f64) -> Beam {
    Beam::fixed(
        "beam",
        1,
        gantry_deg,
        DVec3::ZERO,
        Jaws::symmetric(side_mm, side_mm),
        100.0,
    )
}

pub fn both(asked: &MccsRequest) -> [Arc<Volume<f32>>; 2] {
    let cone = dose(&DoseRequest {
        patient: asked.patient.clone(),
        machine: asked.beams[0].1.clone(),
        beam: asked.beams[0].0.clone(),
        grid: asked.grid.clone(),
        quality: Quality::Standard,
        dose_to: DoseTo::Water,
    });
    [run(asked).gy, cone.gy]
}

/// Mean over a box.
pub fn mean(dose: &Volume<f32>, low: DVec3, high: DVec3) -> f64 {
    let grid = dose.grid();
    let [nx, ny, nz] = grid.size();
    let (mut sum, mut n) = (0.0, 0);
    for k in 0..nz {
        for j in 0..ny {
            for i in 0..nx {
                let at = grid.centre_mm(i, j, k);
                if at.cmpge(low).all() && at.cmple(high).all() {
                    sum += f64::from(dose.at(i, j, k));
                    n += 1;
                }
            }
        }
    }
    assert!(n > 0);
    sum / f64::from(n)
}

/// A field shaped by leaves: open, in the shadow of the leaves, and in that of the jaws.
#[test]
fn leaves_shade_as_in_collapsed_cone() {
    let water = block(
        DVec3::new(-100.0, -50.0, -100.0),
        DVec3::splat(5.0),
        [40, 30, 40],
        |_| 1.0,
    );
    let machine = machine("generic-6mv");
    let leaves = machine.leaves.clone().expect("leaves");
    let mut shaped = beam(0.0, 120.0);
    shaped.mlc = Some(leaves.to_case());
    shaped.control_points[0].leaves_mm = (0..leaves.boundaries_mm.len() - 1)
        .map(|row| {
            if leaves.boundaries_mm[row] < 0.0 {
                [-30.0, 30.0]
            } else {
                [-10.0, 40.0]
            }
        })
        .collect();
    let [got, cone] = both(&request(&water, vec![(shaped, machine)], 3_000_000));
    for (low, high, bound, what) in [
        (
            DVec3::new(-20.0, -20.0, -45.0),
            DVec3::new(20.0, 20.0, -10.0),
            0.01,
            "open",
        ),
        (
            DVec3::new(0.0, -20.0, 10.0),
            DVec3::new(30.0, 20.0, 45.0),
            0.01,
            "open, other half",
        ),
        (
            DVec3::new(-52.0, -20.0, 10.0),
            DVec3::new(-30.0, 40.0, 45.0),
            0.04,
            "under the leaves",
        ),
        (
            DVec3::new(75.0, -20.0, -40.0),
            DVec3::new(95.0, 80.0, 40.0),
            0.04,
            "under the jaws",
        ),
    ] {
        let (a, b) = (mean(&got, low, high), mean(&cone, low, high));
        println!("{what}: {a:.5} Gy, collapsed cone {b:.5}: {:.4}", a / b);
        assert!((a / b - 1.0).abs() < bound, "{what}: {}", a / b);
    }
}

/// A slab of lung: before, in and behind it.
#[test]
fn lung_as_in_collapsed_cone() {
    let of = |p: DVec3| {
        if (-30.0..30.0).contains(&p.y) {
            0.26
        } else {
            1.0
        }
    };
    let chest = block(DVec3::splat(-100.0), DVec3::splat(5.0), [40; 3], of);
    let [got, cone] = both(&request(
        &chest,
        vec![(beam(0.0, 80.0), machine("generic-6mv"))],
        2_000_000,
    ));
    for (from, until) in [(-80.0, -35.0), (-25.0, 25.0), (35.0, 90.0)] {
        let (low, high) = (
            DVec3::new(-20.0, from, -20.0),
            DVec3::new(20.0, until, 20.0),
        );
        let ratio = mean(&got, low, high) / mean(&cone, low, high);
        println!("{from} to {until} mm: {ratio:.4}");
        assert!((ratio - 1.0).abs() < 0.01, "{from} to {until}: {ratio}");
    }
}

/// An arc of many control points takes the time of one beam, and is the mean of its fixed beams.
#[test]
fn an_arc_is_all_its_directions() {
    let water = block(DVec3::splat(-100.0), DVec3::splat(10.0), [20; 3], |_| 1.0);
    let mut arc = beam(0.0, 40.0);
    let point = arc.control_points[0].clone();
    arc.control_points = (0..=90)
        .map(|n| ControlPoint {
            meterset_weight: f64::from(n),
            gantry_deg: 4.0 * f64::from(n) % 360.0,
            ..point.clone()
        })
        .collect();
    let got = run(&request(&water, vec![(arc, machine("point-6mv"))], 600_000)).gy;
    // Equal on every side, within the noise of few histories.
    let side = |x: f64, y: f64| {
        let at = DVec3::new(x, y, 0.0);
        mean(&got, at - DVec3::splat(15.0), at + DVec3::splat(15.0))
    };
    let sides = [
        side(60.0, 0.0),
        side(-60.0, 0.0),
        side(0.0, 60.0),
        side(0.0, -60.0),
    ];
    let about = sides.iter().sum::<f64>() / 4.0;
    println!("{sides:?}");
    assert!(
        sides.iter().all(|s| (s / about - 1.0).abs() < 0.03),
        "{sides:?}"
    );
    assert!(side(0.0, 0.0) > 2.0 * about);
}

/// Jaws that sweep, and leaves that sweep under them: Monte Carlo takes each photon at a time of its own.
#[test]
fn what_moves_is_swept_as_in_collapsed_cone() {
    let water = block(
        DVec3::new(-100.0, -50.0, -100.0),
        DVec3::splat(5.0),
        [40, 30, 40],
        |_| 1.0,
    );
    let machine = machine("generic-6mv");
    let leaves = machine.leaves.clone().expect("leaves");
    let mut jaw = beam(0.0, 80.0);
    let mut last = jaw.control_points[0].clone();
    jaw.control_points[0].jaws = Jaws {
        x: [-40.0, 60.0],
        y: [-30.0, 50.0],
    };
    jaw.control_points[0].meterset_weight = 0.0;
    (last.meterset_weight, last.jaws) = (
        1.0,
        Jaws {
            x: [-40.0, -30.0],
            y: [-30.0, 50.0],
        },
    );
    jaw.control_points.push(last);
    let mut shaped = jaw.clone();
    shaped.mlc = Some(leaves.to_case());
    for (point, tips) in shaped
        .control_points
        .iter_mut()
        .zip([[-30.0, 50.0], [-50.0, -32.0]])
    {
        point.leaves_mm = vec![tips; leaves.boundaries_mm.len() - 1];
    }
    for (name, beam) in [("a jaw", jaw), ("a jaw and leaves", shaped)] {
        let [got, cone] = both(&request(&water, vec![(beam, machine.clone())], 2_000_000));
        for (from, until) in [(-30.0, -15.0), (-10.0, 5.0), (10.0, 25.0), (30.0, 45.0)] {
            // The jaws' y runs along z of the patient.
            let (low, high) = (
                DVec3::new(from, -20.0, -20.0),
                DVec3::new(until, 20.0, 40.0),
            );
            let (a, b) = (mean(&got, low, high), mean(&cone, low, high));
            println!(
                "{name}, {from} to {until} mm: {a:.5} Gy, collapsed cone {b:.5}: {:.4}",
                a / b
            );
            assert!(
                (a / b - 1.0).abs() < 0.015,
                "{name}, {from} to {until} mm: {}",
                a / b
            );
        }
    }
}
