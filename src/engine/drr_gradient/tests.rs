use crate::drr_gradient::cpu;
use crate::drr_gradient::level::moved;
use crate::drr_gradient::*;
use crate::{JobControl, phantom};
use case::Pose;
use geometry::{Projection, Volume};
use glam::DVec3;
use std::sync::Arc;

fn balls() -> Volume<f32> {
    phantom::balls().expect("a grid")
}

fn view(gantry_deg: f64) -> Projection {
    phantom::view(gantry_deg, [4.0, 4.0], [60, 60]).expect("a geometry")
}

fn all() -> Vec<u32> {
    (0..3600).collect()
}

fn drr(level: &Level, gantry_deg: f64, pose: &Pose, step_mm: f64) -> Vec<f32> {
    let shot = level.shot(&view(gantry_deg), pose, DVec3::ZERO);
    cpu::integrals(level, &shot, &all(), step_mm, &JobControl::new()).expect("not cancelled")
}

/// Averaging keeps the mass: the sum of attenuation times volume.
#[test]
fn a_coarse_level_holds_as_much() {
    let volume = balls();
    let grid = volume.grid();
    let mass: f64 = (0..grid.size()[2])
        .map(|k| volume.plane(k).iter().map(|v| f64::from(*v)).sum::<f64>() * grid.voxel_cm3(k))
        .sum();
    for side in [2.0, 4.0, 8.0, 17.0] {
        let level = Level::new(&volume, side);
        let voxel = level.spacing_mm().element_product() / 1000.0;
        let got = level.values().iter().map(|v| f64::from(*v)).sum::<f64>() * voxel;
        assert!(
            (got / mass - 1.0).abs() < 1e-4,
            "{side} mm: {got} for {mass}"
        );
        assert!(level.side_mm() <= side + 1e-9 || level.side_mm() >= 2.0);
    }
}

/// The reference of another room: the exact walk through the CT's own voxels.
#[test]
fn the_integrals_are_those_of_the_exact_walk() {
    use crate::drr::rays::Rays;
    use crate::drr::{DrrRequest, Integrator, Pixels};
    let volume = Arc::new(balls());
    let control = JobControl::new();
    let pose = Pose::new([5.0, -8.0, 3.0], [4.0, -6.0, 9.0]);
    for gantry in [0.0, 90.0, 215.0] {
        let request = DrrRequest {
            attenuation: volume.clone(),
            projection: view(gantry),
            poses: vec![pose],
            pose_centre_mm: DVec3::ZERO,
            integrator: Integrator::Exact,
            pixels: Pixels::All,
        };
        let rays = Rays::new(&request, control.cache()).expect("a request");
        let (want, _) = crate::drr::cpu::integrals(&rays, &control).expect("an image");
        let greatest = want.iter().copied().fold(0.0, f32::max);
        for (side, within) in [(2.0, 0.01), (4.0, 0.03)] {
            let got = drr(&Level::new(&volume, side), gantry, &pose, side);
            let square: f32 = got.iter().zip(&want).map(|(a, b)| (a - b).powi(2)).sum();
            let off = (square / got.len() as f32).sqrt() / greatest;
            assert!(off < within, "gantry {gantry}, {side} mm: {off}");
        }
    }
}

/// The derivatives beside central differences of the integrals themselves, fine steps, in both views.
#[test]
fn slopes_are_those_of_finite_differences() {
    let level = Level::new(&balls(), 2.0);
    let pose = Pose::new([5.0, -8.0, 3.0], [4.0, -6.0, 9.0]);
    for gantry in [0.0, 90.0] {
        let projection = view(gantry);
        let shot = level.shot(&projection, &pose, DVec3::ZERO);
        let motion = level.motion(&projection, &pose, DVec3::ZERO);
        let got = cpu::with_gradient(&level, &shot, &motion, &all(), 0.25, &JobControl::new());
        let got = got.expect("not cancelled");
        assert_eq!(got.integrals, drr(&level, gantry, &pose, 0.25));
        let across = got.gradient[2]
            .iter()
            .map(|g| f64::from(*g).powi(2))
            .sum::<f64>()
            .sqrt();
        for axis in 0..AXES {
            const STEP: f64 = 0.05;
            let up = drr(&level, gantry, &moved(&pose, axis, STEP), 0.25);
            let down = drr(&level, gantry, &moved(&pose, axis, -STEP), 0.25);
            let want: Vec<f64> = up
                .iter()
                .zip(&down)
                .map(|(u, d)| f64::from(u - d) / (2.0 * STEP))
                .collect();
            let square = |v: &mut dyn Iterator<Item = f64>| v.map(|x| x * x).sum::<f64>();
            let off = square(
                &mut want
                    .iter()
                    .zip(&got.gradient[axis])
                    .map(|(w, g)| w - f64::from(*g)),
            );
            let size = square(&mut want.iter().copied());
            // Along the beam a shift only changes the magnification: small, so that the steps show.
            assert!(
                off.sqrt() < 0.03 * size.sqrt() + 0.01 * across,
                "gantry {gantry}, axis {axis}: {off} {size}"
            );
        }
    }
}

/// The exact derivatives beside central differences of the exact image, pixel by pixel; and the image beside one of fine steps.
#[test]
fn exact_derivatives_are_those_of_the_image() {
    let level = Arc::new(Level::new(&balls(), 2.0));
    let pose = Pose::new([5.0, -8.0, 3.0], [4.0, -6.0, 9.0]);
    for gantry in [0.0, 35.0, 90.0] {
        let projection = view(gantry);
        let exact = |pose: &Pose| {
            let answer = drr_with_gradient(
                &level,
                &projection,
                RaySampling::Exact,
                pose,
                DVec3::ZERO,
                &crate::Compute::Cpu,
                &JobControl::new(),
            );
            answer.expect("not cancelled").drr
        };
        let got = exact(&pose);
        let fine = drr(&level, gantry, &pose, 0.02);
        let greatest = fine.iter().copied().fold(0.0, f32::max);
        for (a, b) in got.integrals.iter().zip(&fine) {
            assert!(
                (a - b).abs() < 2e-3 * greatest,
                "gantry {gantry}: {a} and {b} of {greatest}"
            );
        }
        for axis in 0..AXES {
            const STEP: f64 = 0.02;
            let [up, down] = [STEP, -STEP].map(|by| exact(&moved(&pose, axis, by)).integrals);
            let want = up
                .iter()
                .zip(&down)
                .map(|(u, d)| f64::from(u - d) / (2.0 * STEP));
            let (mut off, mut size) = (0.0, 0.0);
            for (want, got) in want.zip(&got.gradient[axis]) {
                off += (want - f64::from(*got)).powi(2);
                size += want.powi(2);
            }
            assert!(
                off.sqrt() < 0.01 * size.sqrt(),
                "gantry {gantry}, axis {axis}: {}",
                (off / size).sqrt()
            );
        }
    }
}

#[test]
fn nothing_is_seen_beside_the_patient_and_of_air() {
    let level = Level::new(&balls(), 4.0);
    let far = Pose::new([900.0, 0.0, 0.0], [0.0; 3]);
    assert!(drr(&level, 0.0, &far, 4.0).iter().all(|v| *v == 0.0));
    let volume = balls();
    let air = Volume::new(volume.grid().clone(), vec![f32::NAN; volume.data().len()]);
    assert!(
        drr(&Level::new(&air, 4.0), 0.0, &Pose::default(), 4.0)
            .iter()
            .all(|v| *v == 0.0)
    );
}
