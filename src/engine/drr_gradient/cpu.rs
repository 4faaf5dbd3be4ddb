//! DRRs and their derivatives by pose on the CPU.

use crate::drr_gradient::level::{AXES, DrrWithGradient, Level, Shot};
use crate::{Cancelled, JobControl};
use geometry::walk::clipped;
use glam::{DVec3, Vec3};
use multiversion::multiversion;
use rayon::prelude::*;

/// Pixels that a thread takes at a time.
const CHUNK: usize = 256;
/// Samples computed together.
const LANES: usize = 8;

/// Line integrals along the rays to `pixels`, in steps of `step_mm` at most.
pub fn integrals(
    level: &Level,
    shot: &Shot,
    pixels: &[u32],
    step_mm: f64,
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    let mut out = vec![0.0; pixels.len()];
    pixels
        .par_chunks(CHUNK)
        .zip(out.par_chunks_mut(CHUNK))
        .try_for_each(|(pixels, out)| {
            control.check()?;
            for (&pixel, out) in pixels.iter().zip(out) {
                *out = SampledRay::new(level, shot, pixel, step_mm)
                    .map_or(0.0, |march| integral(level, &march));
            }
            Ok(())
        })?;
    Ok(out)
}

/// As [`integrals`], with their derivatives; `motion` is how the rays move ([`Level::motion`]).
pub fn with_gradient(
    level: &Level,
    shot: &Shot,
    motion: &[Shot; AXES],
    pixels: &[u32],
    step_mm: f64,
    control: &JobControl,
) -> Result<DrrWithGradient, Cancelled> {
    let rows: Result<Vec<Vec<[f32; 1 + AXES]>>, Cancelled> = pixels
        .par_chunks(CHUNK)
        .map(|pixels| {
            control.check()?;
            Ok(pixels
                .iter()
                .map(|&pixel| {
                    let mut out = [0.0f32; 1 + AXES];
                    let Some(march) = SampledRay::new(level, shot, pixel, step_mm) else {
                        return out;
                    };
                    let moments = moments(level, &march);
                    out[0] = moments.value;
                    for (axis, moving) in motion.iter().enumerate() {
                        let along = moments.near.as_dvec3().dot(moving.source)
                            + moments.far.as_dvec3().dot(moving.way(pixel));
                        out[1 + axis] = along as f32;
                    }
                    out
                })
                .collect())
        })
        .collect();
    let rows = rows?;
    let column = |n: usize| rows.iter().flatten().map(|row| row[n]).collect();
    Ok(DrrWithGradient {
        integrals: column(0),
        gradient: std::array::from_fn(|axis| column(1 + axis)),
    })
}

/// The steps of a ray, in voxel indices.
struct SampledRay {
    first: Vec3,
    step: Vec3,
    /// How far along the ray they are, 0 at the source, 1 at the pixel.
    alpha: f32,
    alpha_step: f32,
    steps: usize,
    step_mm: f32,
}

impl SampledRay {
    /// Middles of equal steps along the part of a ray where there is anything; `None` where that is nothing.
    fn new(level: &Level, shot: &Shot, pixel: u32, step_mm: f64) -> Option<Self> {
        let way = shot.way(pixel);
        // Voxel 0 and the last are nothing: from their centres inward there is something.
        let high = DVec3::from(level.size().map(|n| (n - 1) as f64));
        let [enter, leave] = clipped(DVec3::ZERO, high, shot.source, way)?;
        // A source at the very centre of a pixel makes no number.
        if !(leave - enter).is_finite() {
            return None;
        }
        let length_mm = (way * shot.spacing_mm).length() * (leave - enter);
        let steps = (length_mm / step_mm).ceil().max(1.0);
        let alpha_step = (leave - enter) / steps;
        let alpha = enter + 0.5 * alpha_step;
        let first: DVec3 = shot.source + way * alpha;
        Some(Self {
            first: first.as_vec3(),
            step: (way * alpha_step).as_vec3(),
            alpha: alpha as f32,
            alpha_step: alpha_step as f32,
            steps: steps as usize,
            step_mm: (length_mm / steps) as f32,
        })
    }
}

/// Corner values and places within their voxels of some samples, `LANES` at a time.
struct Samples {
    /// `[z][y][x]`.
    corners: [[f32; LANES]; 8],
    t: [[f32; LANES]; 3],
}

impl Samples {
    /// The samples from `begin` on; those beyond the last step have no value.
    #[inline(always)]
    fn new(level: &Level, march: &SampledRay, begin: usize) -> Self {
        let [nx, ny, nz] = level.size();
        let last_corner = [nx - 2, ny - 2, nz - 2].map(|n| n as f32);
        let mut out = Self {
            corners: [[0.0; LANES]; 8],
            t: [[0.0; LANES]; 3],
        };
        let mut low = [[0u32; LANES]; 3];
        for axis in 0..3 {
            for lane in 0..LANES {
                let x = march.first[axis] + (begin + lane) as f32 * march.step[axis];
                // Rounding may put the ends of a ray a hair outside.
                let floor = x.floor().clamp(0.0, last_corner[axis]);
                low[axis][lane] = floor as u32;
                out.t[axis][lane] = x - floor;
            }
        }
        let values = level.values();
        for lane in 0..LANES.min(march.steps - begin) {
            let corner =
                (low[2][lane] as usize * ny + low[1][lane] as usize) * nx + low[0][lane] as usize;
            for (row, offset) in [0, nx, nx * ny, nx * ny + nx].into_iter().enumerate() {
                let Some(&[a, b]) = values
                    .get(corner + offset..corner + offset + 2)
                    .and_then(|s| s.first_chunk())
                else {
                    continue;
                };
                out.corners[2 * row][lane] = a;
                out.corners[2 * row + 1][lane] = b;
            }
        }
        out
    }
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn integral(level: &Level, march: &SampledRay) -> f32 {
    let mut sums = [0.0f32; LANES];
    let mut begin = 0;
    while begin < march.steps {
        let Samples { corners: c, t } = Samples::new(level, march, begin);
        for n in 0..LANES {
            let row = |a: usize| c[a][n] + t[0][n] * (c[a + 1][n] - c[a][n]);
            let near = row(0) + t[1][n] * (row(2) - row(0));
            let far = row(4) + t[1][n] * (row(6) - row(4));
            sums[n] += near + t[2][n] * (far - near);
        }
        begin += LANES;
    }
    sums.iter().sum::<f32>() * march.step_mm
}

/// Integrals along a ray: of the attenuation, of its gradient (per voxel), and of the gradient times how far along.
struct Moments {
    value: f32,
    near: Vec3,
    far: Vec3,
}

#[multiversion(targets("x86_64+avx2+fma"))]
fn moments(level: &Level, march: &SampledRay) -> Moments {
    let mut value = [0.0f32; LANES];
    let mut near = [[0.0f32; LANES]; 3];
    let mut far = [[0.0f32; LANES]; 3];
    let mut begin = 0;
    while begin < march.steps {
        let Samples { corners: c, t } = Samples::new(level, march, begin);
        for n in 0..LANES {
            let (tx, ty, tz) = (t[0][n], t[1][n], t[2][n]);
            // Differences along x of the four rows, and the rows.
            let d = [0, 2, 4, 6].map(|a| c[a + 1][n] - c[a][n]);
            let r = [
                c[0][n] + tx * d[0],
                c[2][n] + tx * d[1],
                c[4][n] + tx * d[2],
                c[6][n] + tx * d[3],
            ];
            let (y0, y1) = (r[1] - r[0], r[3] - r[2]);
            let (low, high) = (r[0] + ty * y0, r[2] + ty * y1);
            let (x0, x1) = (d[0] + ty * (d[1] - d[0]), d[2] + ty * (d[3] - d[2]));
            let gradient = [x0 + tz * (x1 - x0), y0 + tz * (y1 - y0), high - low];
            let alpha = march.alpha + (begin + n) as f32 * march.alpha_step;
            value[n] += low + tz * (high - low);
            for axis in 0..3 {
                near[axis][n] += gradient[axis];
                far[axis][n] += alpha * gradient[axis];
            }
        }
        begin += LANES;
    }
    let sum = |lanes: [f32; LANES]| lanes.iter().sum::<f32>() * march.step_mm;
    Moments {
        value: sum(value),
        near: Vec3::from(near.map(sum)),
        far: Vec3::from(far.map(sum)),
    }
}
