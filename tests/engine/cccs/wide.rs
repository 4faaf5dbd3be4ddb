//! Fields from 4 to 40 cm, on the axis and off it, against direct integration of the tabulated kernels.

use super::direct::Direct;
use super::phantom::{block, dose, machine};
use beamsight::case::{Beam, Jaws};
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::geometry::Volume;
use beamsight::physics::Machine;
use glam::DVec3;
use std::sync::Arc;

/// A box of water and the distance to its surface.
#[derive(Clone, Copy)]
struct Water {
    ssd_mm: f64,
    across_mm: f64,
    voxel_mm: f64,
}

/// 30 cm deep.
const DEEP_MM: f64 = 300.0;

/// Collapsed cone over direct integration at distances off the axis along x and depths.
fn ratios(machine: &Arc<Machine>, jaws: Jaws, water: Water, at: &[[f64; 2]]) -> Vec<f64> {
    let Water {
        ssd_mm,
        across_mm,
        voxel_mm,
    } = water;
    let [across, down] = [across_mm, DEEP_MM].map(|mm| (mm / voxel_mm).round() as usize);
    let surface_mm = ssd_mm - machine.sad_mm;
    let corner = DVec3::new(-0.5 * across_mm, surface_mm, -0.5 * across_mm);
    let patient = block(
        corner,
        DVec3::splat(voxel_mm),
        [across, down, across],
        |_| 1.0,
    );
    let request = DoseRequest {
        grid: Arc::clone(patient.mass_density_g_cm3.grid()),
        patient,
        machine: Arc::clone(machine),
        beam: Beam::fixed("beam", 1, 0.0, DVec3::ZERO, jaws, 1.0),
        quality: Quality::Full,
        dose_to: DoseTo::Water,
    };
    let engine: Arc<Volume<f32>> = dose(&request).gy;
    let direct = Direct::new(machine, jaws, ssd_mm, [across_mm, DEEP_MM]);
    let ratio = |[x, depth]: &[f64; 2]| {
        let got = engine
            .trilinear(DVec3::new(*x, surface_mm + depth, 0.0))
            .expect("inside");
        f64::from(got) / direct.gy_per_mu(*x, *depth)
    };
    at.iter().map(ratio).collect()
}

fn mean(ratios: &[f64]) -> f64 {
    ratios.iter().sum::<f64>() / ratios.len() as f64
}

/// Scatter has the right trend with field and depth: absolute, within 0.5 % in the mean and 1 % everywhere.
#[test]
fn wide_fields_of_a_point_source() {
    let machine = machine("point-6mv");
    let mut worst = Worst::default();
    for (side_mm, across_mm) in [
        (40.0, 200.0),
        (100.0, 300.0),
        (200.0, 300.0),
        (300.0, 400.0),
    ] {
        let depths = [20.0, 50.0, 100.0, 150.0, 200.0, 260.0];
        let off = places_off_axis(side_mm);
        let at: Vec<[f64; 2]> = off.iter().flat_map(|x| depths.map(|d| [*x, d])).collect();
        let water = Water {
            ssd_mm: 1000.0,
            across_mm,
            voxel_mm: 5.0,
        };
        let ratios = ratios(&machine, Jaws::symmetric(side_mm, side_mm), water, &at);
        println!("{side_mm} mm: mean {:.4}", mean(&ratios));
        ratios
            .chunks(depths.len())
            .zip(off)
            .for_each(|(r, x)| println!("    {x} mm off: {r:.4?}"));
        worst.see(&format!("{side_mm} mm, mean"), mean(&ratios), 0.005);
        ratios
            .iter()
            .zip(&at)
            .for_each(|(r, at)| worst.see(&format!("{side_mm} mm, at {at:?} mm"), *r, 0.01));
    }
    worst.none();
}

/// From the middle of a field to 0.65 of the distance to its edge, where a voxel's spread is negligible.
fn places_off_axis(side_mm: f64) -> Vec<f64> {
    let parts: &[f64] = if side_mm < 60.0 {
        &[0.0]
    } else {
        &[0.0, 0.4, 0.65]
    };
    parts.iter().map(|part| 0.5 * part * side_mm).collect()
}

/// Descriptions of ratios beyond their bounds.
#[derive(Default)]
struct Worst(Vec<String>);

impl Worst {
    fn see(&mut self, what: &str, ratio: f64, bound: f64) {
        if (ratio - 1.0).abs() >= bound {
            self.0.push(format!("{what}: {ratio:.4}"));
        }
    }

    fn none(self) {
        assert!(self.0.is_empty(), "{:#?}", self.0);
    }
}

/// With a complete head (extra-focal source, horn, softer spectrum off the axis), for a monitor unit.
fn head(name: &str) {
    let machine = machine(name);
    let off_axis = Jaws {
        x: [40.0, 140.0],
        y: [-50.0, 50.0],
    };
    let fields = [40.0, 100.0, 200.0, 300.0, 400.0].map(|mm| Jaws::symmetric(mm, mm));
    let mut worst = Worst::default();
    for jaws in fields.into_iter().chain([off_axis]) {
        let [low, high] = jaws.x;
        let depths = [50.0, 100.0, 200.0];
        let off = places_off_axis(high - low)
            .into_iter()
            .map(|x| 0.5 * (low + high) + x);
        let at: Vec<[f64; 2]> = off
            .flat_map(|x| depths.map(|d| [x * (900.0 + d) / 1000.0, d]))
            .collect();
        let (across_mm, voxel_mm) = if high < 60.0 {
            (260.0, 5.0)
        } else {
            (555.0, 7.5)
        };
        let ratios = ratios(
            &machine,
            jaws,
            Water {
                ssd_mm: 900.0,
                across_mm,
                voxel_mm,
            },
            &at,
        );
        println!("{name}, {low} to {high} mm:");
        worst.see(
            &format!("{name}, {low} to {high} mm, mean"),
            mean(&ratios),
            0.005,
        );
        for (ratios, at) in ratios.chunks(depths.len()).zip(at.chunks(depths.len())) {
            println!("    {:.1} mm off: {ratios:.4?}", at[0][0]);
            let here = format!("{name}, {low} to {high} mm, {:.1} mm off", at[0][0]);
            ratios.iter().for_each(|r| worst.see(&here, *r, 0.01));
        }
    }
    worst.none();
}

#[test]
fn wide_fields_at_6_mv() {
    head("generic-6mv");
}

#[test]
fn wide_fields_at_10_mv() {
    head("generic-10mv");
}
