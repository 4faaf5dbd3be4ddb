//! Kernels that benches bring along, for tables of papers: called as they are declared, and on a card right.

#[path = "common/skip.rs"]
mod skip;

#[path = "../benches/xiao/rays.rs"]
mod rays;

#[path = "../benches/gu/search.rs"]
mod search;

use beamsight::case::{Beam, Jaws};
use beamsight::engine::cuda::{self, CudaError, Device, signature};
use beamsight::engine::dose::{DoseRequest, DoseTo, Quality};
use beamsight::engine::gamma::{Criterion, GammaRequest};
use beamsight::engine::{JobControl, Random, cccs, gamma, phantom};
use beamsight::geometry::{Grid, Volume};
use beamsight::physics::{Machine, Material};
use glam::{DMat3, DVec3, EulerRot};
use rays::{RayVoxels, Walk};
use skip::{Missing, skip};
use std::sync::Arc;

/// Greatest difference of a card from the CPU, percent of the greatest dose.
const DOSE_PERCENT: f64 = 0.1;
/// Greatest difference of gamma.
const GAMMA: f32 = 1e-5;

/// A driver that is there and does not work is a failure.
fn card(what: &str) -> Option<Arc<Device>> {
    match cuda::cards() {
        Err(error @ (CudaError::NoDriver | CudaError::NoCard)) => {
            skip(Missing::Card, &format!("{what}: {error}"));
            None
        }
        found => {
            found.expect("the cards of this machine");
            Some(Device::open(0).expect("a card that opens"))
        }
    }
}

/// The host's declarations are as large as the kernels'.
#[test]
fn the_walks_of_xiao_are_called_as_declared() {
    let want = [&[size_of::<RayVoxels>()][..], &[8; 6]].concat();
    for walk in Walk::ALL {
        assert_eq!(
            signature(rays::PTX, walk.kernel()),
            Some(want.clone()),
            "{}",
            walk.word()
        );
    }
}

#[test]
fn lines_that_walk_by_themselves_give_the_cpus_dose() {
    let Some(card) = card("no walk of Xiao 2012 is tested") else {
        return;
    };
    let control = JobControl::new();
    for (name, request) in doses() {
        let want = cccs::cpu::beam_dose(&request, &control).expect("a dose");
        let most = want.gy.data().iter().copied().fold(0.0, f32::max);
        for walk in Walk::ALL {
            let [got, again] =
                [(); 2].map(|()| rays::beam_dose(walk, &request, &card, &control).expect("a dose"));
            assert_eq!(
                got.gy.data(),
                again.gy.data(),
                "{name}, {}: equal runs have equal bits",
                walk.word()
            );
            let apart = got
                .gy
                .data()
                .iter()
                .zip(want.gy.data())
                .map(|(got, want)| (got - want).abs());
            let worst = 100.0 * f64::from(apart.fold(0.0, f32::max) / most);
            assert!(worst <= DOSE_PERCENT, "{name}, {}: {worst} %", walk.word());
        }
    }
}

/// Water, and slabs on an oblique grid.
fn doses() -> [(&'static str, DoseRequest); 2] {
    let water = phantom::patient(DVec3::splat(5.0), [40, 36, 38], |_| (1.0, Material::Water))
        .expect("a grid");
    let layers = phantom::patient(DVec3::splat(4.0), [41, 45, 37], |p| match p.y {
        y if (-40.0..10.0).contains(&y) => (0.25, Material::Lung),
        y if (20.0..32.0).contains(&y) => (1.8, Material::CorticalBone),
        _ => (1.0, Material::Water),
    })
    .expect("a grid");
    let turn = DMat3::from_euler(EulerRot::ZYX, 0.4, -0.3, 0.2);
    let planes: Vec<f64> = (0..28).map(|k| f64::from(k) * 4.0).collect();
    let first = turn * DVec3::new(-48.0, -40.0, -54.0);
    let oblique = Grid::new(
        first,
        turn.x_axis,
        turn.y_axis,
        [3.0, 3.5],
        [33, 24],
        &planes,
    )
    .expect("a grid");
    let machine = Machine::resolve("generic-6mv").expect("a shipped machine");
    let square = |side, gantry_deg| {
        Beam::fixed(
            "papers",
            1,
            gantry_deg,
            DVec3::ZERO,
            Jaws::symmetric(side, side),
            100.0,
        )
    };
    let mut turned = square(70.0, 45.0);
    turned
        .control_points
        .iter_mut()
        .for_each(|point| point.couch_deg = 340.0);
    let in_water = DoseRequest {
        grid: Arc::clone(water.mass_density_g_cm3.grid()),
        patient: water,
        machine: Arc::clone(&machine),
        beam: square(100.0, 0.0),
        quality: Quality::Preview,
        dose_to: DoseTo::Medium,
    };
    let in_slabs = DoseRequest {
        grid: Arc::new(oblique),
        patient: layers,
        machine,
        beam: turned,
        quality: Quality::Standard,
        dose_to: DoseTo::Water,
    };
    [
        ("water 10x10", in_water),
        ("oblique grid in slabs", in_slabs),
    ]
}

/// The host's declarations are as large as the kernels'.
#[test]
fn the_search_of_gu_is_called_as_declared() {
    // Both structs are the program's, which checks their sizes.
    let own = signature(include_str!("../kernels/ptx/gamma.ptx"), "gamma_far").expect("a kernel");
    let of = |rest: &[usize]| [&own[..2], rest].concat();
    assert_eq!(
        signature(search::PTX, "gu_search"),
        Some(of(&[8, 8, 8, 8, 8, 8, 8, 8, 8, 8, 4, 8]))
    );
    assert_eq!(signature(search::PTX, "gu_bins"), Some(of(&[8; 8])));
    assert_eq!(signature(search::PTX, "gu_begin"), Some(vec![8]));
    assert_eq!(signature(search::PTX, "gu_sort"), Some(of(&[8; 9])));
}

#[test]
fn cells_by_distance_give_the_cpus_gamma() {
    let Some(card) = card("no search of Gu 2010 is tested") else {
        return;
    };
    let control = JobControl::new();
    let [reference, evaluated] =
        [(2, 0.0), (3, 3.0)].map(|(seed, noise_gy)| noisy_ball(seed, noise_gy));
    for (sorted, threshold_percent, local) in
        [(true, 10.0, false), (false, 20.0, false), (true, 5.0, true)]
    {
        let criterion = Criterion {
            local,
            ..Criterion::global(3.0, 3.0)
        };
        let request = GammaRequest {
            threshold_percent,
            ..GammaRequest::new(
                Arc::clone(&reference),
                Arc::clone(&evaluated),
                vec![criterion],
            )
        };
        let want = gamma::cpu::gamma(&request, &control).expect("a gamma");
        let [got, again] =
            [(); 2].map(|()| search::gamma(sorted, &request, &card, &control).expect("a gamma"));
        assert!(
            want.maps[0].counts.analysed > 1000,
            "{:?}",
            want.maps[0].counts
        );
        assert_eq!(got.maps[0].counts.analysed, want.maps[0].counts.analysed);
        let maps = [&got, &again, &want].map(|result| result.maps[0].gamma.data());
        for ((got, again), want) in maps[0].iter().zip(maps[1]).zip(maps[2]) {
            assert_eq!(got.to_bits(), again.to_bits(), "equal runs have equal bits");
            let is_right = if want.is_nan() {
                got.is_nan()
            } else {
                (got - want).abs() <= GAMMA
            };
            assert!(
                is_right,
                "sorted: {sorted}, from {threshold_percent} %: {got} for {want}"
            );
        }
    }
}

/// A ball of 60 Gy that falls off, with noise.
fn noisy_ball(seed: u64, noise_gy: f64) -> Arc<Volume<f32>> {
    let (size, spacing_mm) = ([36, 33, 30], DVec3::new(2.0, 2.2, 2.5));
    let first = -0.5 * spacing_mm * DVec3::from(size.map(|n| n as f64 - 1.0));
    let grid = Arc::new(Grid::axis_aligned(first, spacing_mm, size).expect("a grid"));
    let mut random = Random::new(seed);
    let gy = |n: usize| {
        let at = grid.centre_mm(n % size[0], n / size[0] % size[1], n / (size[0] * size[1]));
        let clean = 60.0 / (1.0 + ((at.length() - 28.0) / 3.0).exp());
        (clean + noise_gy * (random.unit() - 0.5)).max(0.0) as f32
    };
    Arc::new(Volume::new(
        Arc::clone(&grid),
        (0..grid.len()).map(gy).collect(),
    ))
}
