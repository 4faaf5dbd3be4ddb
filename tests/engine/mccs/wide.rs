//! Both engines over the fields of every machine: from 4 to 40 cm, and one off the axis.

use super::{request, run_on};
use crate::cccs::phantom::{block, dose, machine};
use beamsight::case::{Beam, Jaws};
use beamsight::engine::dose::Quality;
use beamsight::engine::{Compute, DeviceChoice};
use beamsight::geometry::Volume;
use beamsight::physics::Machine;
use glam::DVec3;
use std::sync::Arc;

/// Mean over a box of water, x and z from its middle, at the 8 positions that a square field's symmetry makes
/// equal, or at one.
fn mean(
    dose: &Volume<f32>,
    [x, z]: [f64; 2],
    half_mm: f64,
    depth_mm: [f64; 2],
    symmetric: bool,
) -> f64 {
    let grid = dose.grid();
    let [nx, ny, nz] = grid.size();
    let (mut sum, mut count) = (0.0, 0);
    for j in 0..ny {
        let depth = grid.centre_mm(0, j, 0).y + 100.0;
        if !(depth_mm[0]..depth_mm[1]).contains(&depth) {
            continue;
        }
        for k in 0..nz {
            for i in 0..nx {
                let c = grid.centre_mm(i, j, k);
                let places = [[c.x, c.z], [c.x.abs(), c.z.abs()], [c.z.abs(), c.x.abs()]];
                let near = |p: &[f64; 2]| (p[0] - x).abs() < half_mm && (p[1] - z).abs() < half_mm;
                if places[if symmetric { 1..3 } else { 0..1 }].iter().any(near) {
                    sum += f64::from(dose.at(i, j, k));
                    count += 1;
                }
            }
        }
    }
    assert!(count > 0, "no voxels at {x}, {z}");
    sum / f64::from(count)
}

/// The affordable histories, and the allowance for their noise beside the bounds in the middle.
struct Effort {
    device: Compute,
    squares_mm: &'static [f64],
    /// Histories of the 4 x 4 field, and of the others.
    histories: [u64; 2],
    noise: [f64; 2],
}

/// A card is fast enough for histories whose noise is a tenth of the bounds; two cores are not.
fn effort() -> Effort {
    match DeviceChoice::Auto.resolve() {
        Ok(device @ Compute::Cuda(_)) => Effort {
            device,
            squares_mm: &[40.0, 100.0, 200.0, 300.0, 400.0],
            histories: [250_000_000, 1_000_000_000],
            noise: [0.0; 2],
        },
        _ => Effort {
            device: Compute::Cpu,
            squares_mm: &[40.0, 100.0, 200.0, 400.0],
            histories: [1_000_000, 4_000_000],
            noise: [0.0035, 0.001],
        },
    }
}

/// At 10 cm of water (SSD 90 cm), Monte Carlo over collapsed cone: within 0.5 % in the middle and 1 % across the field.
fn over_the_fields(name: &str) {
    let machine = machine(name);
    let effort = effort();
    let squares = effort.squares_mm.iter().map(|&mm| Jaws::symmetric(mm, mm));
    let off_axis = Jaws {
        x: [40.0, 140.0],
        y: [-50.0, 50.0],
    };
    let mut faults = Vec::new();
    let mut see = |what: String, ratio: f64, bound: f64| {
        println!("{what}: {ratio:.4}");
        if (ratio - 1.0).abs() >= bound {
            faults.push(format!("{what}: {ratio:.4}"));
        }
    };
    for jaws in squares.chain([off_axis]) {
        let [low, high] = jaws.x;
        let (middle, half) = (0.5 * (low + high), 0.5 * (high - low));
        let voxel_mm = if high < 60.0 {
            5.0
        } else {
            0.1 * high.min(100.0)
        };
        // 10 cm of water beside the field at its exit.
        let columns = 2 * ((1.2 * high + 100.0) / voxel_mm).ceil() as usize + 1;
        let corner = -0.5 * voxel_mm * columns as f64;
        let corner = DVec3::new(corner, -100.0, corner);
        let size = [columns, (250.0 / voxel_mm).round() as usize, columns];
        let water = block(corner, DVec3::splat(voxel_mm), size, |_| 1.0);
        let beam = Beam::fixed("beam", 1, 0.0, DVec3::ZERO, jaws, 1.0);
        let size_class = usize::from(half >= 30.0);
        let mut carlo = request(
            &water,
            vec![(beam.clone(), Arc::clone(&machine))],
            effort.histories[size_class],
        );
        // The photons' positions dominate the noise, not their interactions.
        carlo.directions = 6;
        let carlo = run_on(&carlo, &effort.device).gy;
        let mut cone = crate::cccs::phantom::request(&water, &machine, high, Quality::Full);
        cone.beam = beam;
        let cone = dose(&cone).gy;
        let ratio = |x: f64, z: f64, half_mm: f64| {
            let box_mean = |d| mean(d, [x, z], half_mm, [80.0, 120.0], middle == 0.0);
            box_mean(&carlo) / box_mean(&cone)
        };
        let here = format!("{name}, {low} to {high} mm");
        see(
            format!("{here}, in the middle"),
            ratio(middle, 0.0, (0.35 * half).max(10.0)),
            0.005 + effort.noise[size_class],
        );
        // Away from the edge, which the voxels of collapsed cone blur.
        let far = if middle == 0.0 { 0.65 } else { 0.5 };
        let places = [[0.4, 0.0], [far, 0.0], [0.4, 0.4], [far, far]];
        let places = if half < 30.0 { &[] } else { &places[..] };
        for [x, z] in places.iter().map(|p| p.map(|part| part * half)) {
            let ratio = ratio(middle + x, z, (0.12 * half).max(10.0));
            see(format!("{here}, {} mm, {z} mm", middle + x), ratio, 0.01);
        }
    }
    assert!(faults.is_empty(), "{faults:#?}");
}

#[test]
fn both_engines_point_6mv() {
    over_the_fields("point-6mv");
}

#[test]
fn both_engines_6mv() {
    over_the_fields("generic-6mv");
}

#[test]
fn both_engines_6mv_fff() {
    over_the_fields("generic-6mv-fff");
}

#[test]
fn both_engines_10mv() {
    over_the_fields("generic-10mv");
}

#[test]
fn both_engines_15mv() {
    over_the_fields("generic-15mv");
}

/// Leaves of another width are outside an open field, so the results above hold for these machines too.
#[test]
fn machines_of_other_leaves_have_the_same_source() {
    for name in Machine::shipped() {
        let plain = machine(name.trim_end_matches("-hd120"));
        let other = machine(&name);
        let same = Machine {
            leaves: plain.leaves.clone(),
            name: plain.name.clone(),
            ..(*other).clone()
        };
        assert_eq!(same, *plain, "{name}");
    }
}
