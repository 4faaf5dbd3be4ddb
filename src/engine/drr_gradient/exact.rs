//! DRRs and their derivatives by pose without steps: voxel by voxel of the trilinear attenuation, which along a ray is a cubic between
//! faces. Its gradient leaps at faces, which samples at even steps miss or count twice: derivatives of single pixels are off by 5 to 51 %
//! rms there. Here they are the derivatives of the image, whatever the ray.

use super::level::{AXES, DrrWithGradient, Level, Shot};
use crate::{Cancelled, JobControl};
use geometry::walk::clipped;
use glam::DVec3;
use rayon::prelude::*;

/// Pixels that a thread takes at a time.
const CHUNK: usize = 64;

/// Gauss-Legendre's two nodes are exact for cubics: the attenuation along a ray, and its gradient times the distance from the source
/// (Abramowitz & Stegun, 25.4.30, n = 2).
const NODES: [f64; 2] = [-0.577_350_269_189_625_8, 0.577_350_269_189_625_8];

/// Line integrals along the rays to `pixels` with their derivatives; `motion` is how the rays move ([`Level::motion`]).
pub fn with_gradient(
    level: &Level,
    shot: &Shot,
    motion: &[Shot; AXES],
    pixels: &[u32],
    control: &JobControl,
) -> Result<DrrWithGradient, Cancelled> {
    let rows: Result<Vec<Vec<[f32; 1 + AXES]>>, Cancelled> = pixels
        .par_chunks(CHUNK)
        .map(|pixels| {
            control.check()?;
            Ok(pixels
                .iter()
                .map(|&pixel| of_pixel(level, shot, motion, pixel))
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

/// The line integral of a pixel and its derivatives.
fn of_pixel(level: &Level, shot: &Shot, motion: &[Shot; AXES], pixel: u32) -> [f32; 1 + AXES] {
    let way = shot.way(pixel);
    let Some(moments) = moments(level, shot.source, way) else {
        return [0.0; 1 + AXES];
    };
    // No motion of the patient changes the length of a ray.
    let length_mm = (way * shot.spacing_mm).length();
    let mut row = [(length_mm * moments.value) as f32; 1 + AXES];
    for (out, moving) in row[1..].iter_mut().zip(motion) {
        let per_mm = moments.near.dot(moving.source) + moments.far.dot(moving.way(pixel));
        *out = (length_mm * per_mm) as f32;
    }
    row
}

/// Integrals along a ray, 0 at the source and 1 at the pixel: of the attenuation, of its gradient (per voxel), and of the gradient times
/// how far along.
#[derive(Clone, Copy, Debug, Default)]
struct Moments {
    value: f64,
    near: DVec3,
    far: DVec3,
}

/// `None` where the ray meets nothing.
fn moments(level: &Level, source: DVec3, way: DVec3) -> Option<Moments> {
    // Voxel 0 and the last are nothing: from their centres inward there is something.
    let high = DVec3::from(level.size().map(|n| (n - 1) as f64));
    let [enter, leave] = clipped(DVec3::ZERO, high, source, way)?;
    // A source at the very centre of a pixel makes no number.
    if !(leave - enter).is_finite() {
        return None;
    }
    let mut crossings = [0, 1, 2].map(|axis| Crossings::after(enter, source[axis], way[axis]));
    let (mut moments, mut alpha) = (Moments::default(), enter);
    while alpha < leave {
        let next = crossings.iter().map(|axis| axis.next).fold(leave, f64::min);
        moments.add(level, source, way, [alpha, next]);
        crossings
            .iter_mut()
            .filter(|axis| axis.next <= next)
            .for_each(Crossings::advance);
        alpha = next;
    }
    Some(moments)
}

/// The places along a ray at which a coordinate is whole.
#[derive(Clone, Copy, Debug)]
struct Crossings {
    from: f64,
    way: f64,
    plane: f64,
    next: f64,
}

impl Crossings {
    /// Crossings behind a place along the ray.
    fn after(alpha: f64, from: f64, way: f64) -> Self {
        let position = from + alpha * way;
        let plane = if way > 0.0 {
            position.floor()
        } else {
            position.ceil()
        };
        let mut crossings = Self {
            from,
            way,
            plane,
            next: alpha,
        };
        crossings.advance();
        if crossings.next <= alpha {
            crossings.advance();
        }
        crossings
    }

    fn advance(&mut self) {
        if self.way == 0.0 {
            self.next = f64::INFINITY;
            return;
        }
        self.plane += self.way.signum();
        self.next = (self.plane - self.from) / self.way;
    }
}

impl Moments {
    /// Adds the part of a ray between two places along it, within one voxel of the trilinear attenuation.
    fn add(&mut self, level: &Level, source: DVec3, way: DVec3, [from, to]: [f64; 2]) {
        let (middle, half) = (0.5 * (from + to), 0.5 * (to - from));
        let [nx, ny, nz] = level.size();
        let last_corner = DVec3::new((nx - 2) as f64, (ny - 2) as f64, (nz - 2) as f64);
        let low = (source + way * middle)
            .floor()
            .clamp(DVec3::ZERO, last_corner);
        let first = (low.z as usize * ny + low.y as usize) * nx + low.x as usize;
        let values = level.values();
        let c = [
            0,
            1,
            nx,
            nx + 1,
            nx * ny,
            nx * ny + 1,
            nx * ny + nx,
            nx * ny + nx + 1,
        ]
        .map(|offset: usize| f64::from(values.get(first + offset).copied().unwrap_or_default()));
        for node in NODES {
            let along = middle + half * node;
            let (value, gradient) = trilinear(&c, source + way * along - low);
            self.value += half * value;
            self.near += half * gradient;
            self.far += half * along * gradient;
        }
    }
}

/// The trilinear value between corners `[z][y][x]`, and its gradient.
fn trilinear(c: &[f64; 8], t: DVec3) -> (f64, DVec3) {
    let along_x = [c[1] - c[0], c[3] - c[2], c[5] - c[4], c[7] - c[6]];
    let rows: [f64; 4] = std::array::from_fn(|row| c[2 * row] + t.x * along_x[row]);
    let along_y = [rows[1] - rows[0], rows[3] - rows[2]];
    let planes = [rows[0] + t.y * along_y[0], rows[2] + t.y * along_y[1]];
    let x = [
        along_x[0] + t.y * (along_x[1] - along_x[0]),
        along_x[2] + t.y * (along_x[3] - along_x[2]),
    ];
    let gradient = DVec3::new(
        x[0] + t.z * (x[1] - x[0]),
        along_y[0] + t.z * (along_y[1] - along_y[0]),
        planes[1] - planes[0],
    );
    (planes[0] + t.z * gradient.z, gradient)
}
