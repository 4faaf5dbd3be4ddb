//! Line integrals: chords of a box in closed form, samples in f64 one by one, and on a card everything against the CPU;
//! a part of the pixels must have the bits of the whole image.

use crate::drr::rays::{Image, Rays};
use crate::drr::{DrrError, DrrRequest, Integrator, Pixels, Region, Spread};
use crate::drr::{cpu, cuda};
use crate::selftest::{Row, differences};
use crate::{Compute, DeviceError, JobControl, Random};
use case::Pose;
use geometry::{Grid, Projection, Volume};
use glam::{DMat3, DVec3, EulerRot};
use rayon::prelude::*;
use std::sync::Arc;

/// Millionths of the greatest integral: the CPU against closed forms, all else.
const EXACT: f64 = 1.0;
const TOLERANCE: f64 = 100.0;
/// A card's texture filter: weights of 8 bits, texels of 16.
const TEXTURE: f64 = 5000.0;

struct DrrCase {
    name: &'static str,
    request: DrrRequest,
    /// Attenuation of a box that fills the grid.
    uniform: Option<f64>,
}

pub(crate) fn rows(device: &Compute, control: &JobControl) -> Result<Vec<Row>, DeviceError> {
    let mut rows = Vec::new();
    for case in cases().map_err(|why| call(&*why))? {
        for integrator in [
            Integrator::Exact,
            Integrator::Trilinear { step_mm: None },
            Integrator::Trilinear { step_mm: Some(3.3) },
            Integrator::Texture { step_mm: None },
        ] {
            control.check()?;
            let request = DrrRequest {
                integrator,
                ..case.request.clone()
            };
            let on_card = matches!(device, Compute::Cuda(_));
            if on_card || !matches!(integrator, Integrator::Texture { .. }) {
                rows.extend(compare(&case, &request, device, control)?);
            }
        }
    }
    Ok(rows)
}

fn call(why: &dyn std::error::Error) -> DeviceError {
    DeviceError::case("drr", why)
}

fn integrals(
    request: &DrrRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<Vec<f32>, DeviceError> {
    let rays = Rays::new(request, control.cache()).map_err(|why| call(&why))?;
    match device {
        Compute::Cpu | Compute::Wgpu(_) => on_cpu(&rays, control),
        Compute::Cuda(card) => Ok(cuda::integrals(&rays, card, control)?.0),
    }
}

fn on_cpu(rays: &Rays, control: &JobControl) -> Result<Vec<f32>, DeviceError> {
    match cpu::integrals(rays, control) {
        Ok((integrals, _)) => Ok(integrals),
        Err(DrrError::Cancelled(cancelled)) => Err(cancelled.into()),
        Err(why) => Err(call(&why)),
    }
}

fn compare(
    case: &DrrCase,
    request: &DrrRequest,
    device: &Compute,
    control: &JobControl,
) -> Result<Vec<Row>, DeviceError> {
    let rays = Rays::new(request, control.cache()).map_err(|why| call(&why))?;
    let got = integrals(request, device, control)?;
    let repeats = bits(&got) == bits(&integrals(request, device, control)?)
        && parts_are_the_whole(request, &got, device, control)?;
    let exact = rays.step_mm.is_none();
    let tolerance = if rays.texture { TEXTURE } else { TOLERANCE };
    let mut wanted: Vec<(&'static str, f64, Vec<f64>)> = Vec::new();
    match device {
        Compute::Cuda(_) => {
            let cpu = on_cpu(&rays, control)?
                .iter()
                .map(|&v| f64::from(v))
                .collect();
            wanted.push(("cpu", tolerance, cpu));
        }
        Compute::Cpu if !exact => wanted.push(("samples in f64", TOLERANCE, sampled(&rays))),
        Compute::Cpu | Compute::Wgpu(_) => {}
    }
    if let Some(mu) = case.uniform {
        // With equal steps a box that fills the grid is exact, too.
        let tolerance = if matches!(device, Compute::Cpu) {
            EXACT
        } else {
            tolerance
        };
        wanted.push(("closed form", tolerance, chords(&rays, mu)));
    }
    Ok(wanted
        .into_iter()
        .map(|(against, tolerance, want)| {
            let greatest = want.iter().fold(f64::MIN_POSITIVE, |a, &b| a.max(b.abs()));
            let (worst, mean) = differences(&got, &want);
            Row {
                job: "drr",
                case: match request.integrator {
                    Integrator::Trilinear { step_mm: Some(mm) } => {
                        format!("{}, steps of {mm} mm", case.name)
                    }
                    _ => case.name.to_owned(),
                },
                device: device.to_string(),
                way: request.integrator.word(),
                against,
                worst: 1e6 * worst / greatest,
                mean: 1e6 * mean / greatest,
                tolerance,
                unit: "ppm",
                repeats,
            }
        })
        .collect())
}

fn bits(values: &[f32]) -> Vec<u32> {
    values.iter().map(|v| v.to_bits()).collect()
}

/// A region, subsets and a single pose have the bits of the whole.
fn parts_are_the_whole(
    request: &DrrRequest,
    full_images: &[f32],
    device: &Compute,
    control: &JobControl,
) -> Result<bool, DeviceError> {
    let [columns, rows] = [request.projection.columns(), request.projection.rows()];
    let region = Region {
        column: columns / 3,
        row: rows / 4,
        columns: columns / 2,
        rows: rows / 3,
    };
    let last = request.poses.len() - 1;
    let subset = |count, spread| Pixels::Subset {
        region: None,
        count,
        spread,
        seed: 5,
    };
    let parts = [
        (Pixels::Region(region), 0..last + 1),
        (subset(columns * rows / 11 + 1, Spread::Random), 0..last + 1),
        (
            subset(columns * rows / 90 + 1, Spread::LowDiscrepancy),
            0..last + 1,
        ),
        (Pixels::All, last..last + 1),
    ];
    for (pixels, poses) in parts {
        let indices = pixels
            .indices(&request.projection)
            .map_err(|why| call(&why))?;
        let part = DrrRequest {
            pixels,
            poses: request.poses[poses.clone()].to_vec(),
            ..request.clone()
        };
        let got = integrals(&part, device, control)?;
        let want = poses.flat_map(|pose| {
            indices
                .iter()
                .map(move |&n| full_images[pose * columns * rows..][n as usize].to_bits())
        });
        if !bits(&got).into_iter().eq(want) {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Each ray of each image by a slow way.
fn each_ray(rays: &Rays, integral: impl Fn(&Image, u32) -> f64 + Sync) -> Vec<f64> {
    let pixels = rays
        .images
        .iter()
        .flat_map(|image| rays.indices.iter().map(move |&pixel| (image, pixel)));
    pixels
        .collect::<Vec<_>>()
        .into_par_iter()
        .map(|(image, pixel)| integral(image, pixel))
        .collect()
}

/// Attenuation times the chord of the box of all voxels.
fn chords(rays: &Rays, mu: f64) -> Vec<f64> {
    let [low, high] = Rays::extent(rays.attenuation.grid());
    each_ray(rays, |image, pixel| {
        let ray = image.ray(pixel, rays.columns);
        let part = ray
            .clipped(low, high)
            .map_or(0.0, |[enter, leave]| leave - enter);
        mu * part * (ray.to - ray.from).length()
    })
}

/// The rule of [`Integrator::Trilinear`] in f64, sample by sample, through the volume's own interpolation.
fn sampled(rays: &Rays) -> Vec<f64> {
    let grid = rays.attenuation.grid();
    let [low, high] = Rays::extent(grid);
    let step_mm = rays.step_mm.unwrap_or(1.0);
    each_ray(rays, |image, pixel| {
        let ray = image.ray(pixel, rays.columns);
        let Some([enter, leave]) = ray.clipped(low, high) else {
            return 0.0;
        };
        let length_mm = (leave - enter) * (ray.to - ray.from).length();
        let steps = (length_mm / step_mm - 1e-6).ceil().max(1.0);
        (0..steps as usize)
            .map(|n| {
                let part = enter + (leave - enter) * (n as f64 + 0.5) / steps;
                let sample_mm = grid.patient_from_local(ray.from.lerp(ray.to, part));
                rays.attenuation.trilinear(sample_mm).map_or(0.0, f64::from)
            })
            .sum::<f64>()
            * length_mm
            / steps
    })
}

/// A source, and an image opposite at right angles to its axis, both turned about the origin.
fn opposite(
    turn: DMat3,
    distances_mm: [f64; 2],
    pixel_mm: f64,
    size: [usize; 2],
) -> Result<Projection, Box<dyn std::error::Error>> {
    let [right, down, ahead] = [turn.x_axis * pixel_mm, turn.y_axis * pixel_mm, turn.z_axis];
    let half = size.map(|n| 0.5 * (n as f64 - 1.0));
    let first = ahead * distances_mm[1] - right * half[0] - down * half[1];
    Ok(Projection::new(
        ahead * -distances_mm[0],
        first,
        right,
        down,
        size,
    )?)
}

/// A grid about the origin with a value by position in its own frame (from its middle).
fn volume(
    turn: DMat3,
    spacing_mm: [f64; 2],
    size: [usize; 2],
    planes_mm: &[f64],
    mut value: impl FnMut(DVec3) -> f32,
) -> Result<Arc<Volume<f32>>, Box<dyn std::error::Error>> {
    let grid = Grid::new(
        DVec3::ZERO,
        turn.x_axis,
        turn.y_axis,
        spacing_mm,
        size,
        planes_mm,
    )?;
    let grid = Grid::new(
        -grid.middle_mm(),
        turn.x_axis,
        turn.y_axis,
        spacing_mm,
        size,
        planes_mm,
    )?;
    let [nx, ny, nz] = grid.size();
    let middle = grid.local_from_patient(DVec3::ZERO);
    let mut data = Vec::with_capacity(grid.len());
    for k in 0..nz {
        for j in 0..ny {
            data.extend((0..nx).map(|i| value(grid.local_centre_mm(i, j, k) - middle)));
        }
    }
    Ok(Arc::new(Volume::new(Arc::new(grid), data)))
}

fn cases() -> Result<Vec<DrrCase>, Box<dyn std::error::Error>> {
    let straight = DMat3::IDENTITY;
    let oblique = DMat3::from_euler(EulerRot::ZYX, 0.4, -0.3, 0.2);
    let side = DMat3::from_euler(EulerRot::XYZ, 1.2, 0.4, -0.3);
    let even: Vec<f64> = (0..30).map(|k| f64::from(k) * 2.5).collect();
    let uneven: Vec<f64> = (0..26)
        .map(|k| f64::from(k) * 2.0 + f64::from(k * k % 7) * 0.25)
        .collect();
    let moved = [
        Pose::default(),
        Pose::new([7.0, -4.0, 11.0], [8.0, -13.0, 5.0]),
        Pose::new([-20.0, 15.0, -9.0], [-15.0, 3.0, 14.0]),
    ];
    let far = opposite(side, [700.0, 400.0], 1.1, [61, 47])?;
    let mut random = Random::new(11);
    let mut speckled = |turn, planes: &[f64], low: f64| {
        volume(turn, [1.4, 1.9], [60, 41], planes, |p| {
            let noise = 0.02 * (random.unit() + low);
            if (p / DVec3::new(38.0, 33.0, 30.0)).length() < 1.0 {
                noise as f32
            } else {
                0.0
            }
        })
    };
    let mu = 0.021_f32;
    let full = volume(oblique, [1.4, 1.9], [60, 41], &uneven, |_| mu)?;
    let even_full = volume(straight, [1.4, 1.9], [60, 41], &even, |_| mu)?;
    let one_plane = volume(straight, [1.0, 1.0], [50, 40], &[0.0], |p| {
        (0.01 + 1e-4 * p.x) as f32
    })?;
    let body = speckled(straight, &even, 0.1)?;
    let turned = speckled(oblique, &uneven, 0.1)?;
    let signed = speckled(straight, &even, -0.5)?;
    let inside = opposite(side, [12.0, 400.0], 3.0, [61, 47])?;
    let through = opposite(side, [700.0, 9.0], 1.1, [61, 47])?;
    let along = opposite(straight, [700.0, 400.0], 1.4, [60, 41])?;
    let list = [
        (
            "box in an oblique grid, uneven planes",
            full,
            far,
            Some(f64::from(mu)),
        ),
        (
            "box, rays along its planes",
            Arc::clone(&even_full),
            along,
            Some(f64::from(mu)),
        ),
        ("box, source within", even_full, inside, Some(f64::from(mu))),
        ("speckled ball", Arc::clone(&body), far, None),
        ("speckled ball, image within", body, through, None),
        (
            "speckled ball, oblique grid, uneven planes",
            turned,
            far,
            None,
        ),
        ("speckled ball, values below 0", signed, far, None),
        ("one plane", one_plane, far, None),
    ];
    Ok(list
        .into_iter()
        .map(|(name, attenuation, projection, uniform)| DrrCase {
            name,
            request: DrrRequest {
                attenuation,
                projection,
                poses: moved.to_vec(),
                pose_centre_mm: DVec3::new(3.0, -2.0, 5.0),
                integrator: Integrator::Exact,
                pixels: Pixels::All,
            },
            uniform,
        })
        .collect())
}
