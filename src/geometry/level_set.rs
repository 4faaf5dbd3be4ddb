//! A structure as a signed field, negative inside: distances in the planes, interpolated between them (Raya and Udupa,
//! IEEE Trans. Med. Imaging 9 (1990) 32), and rings from a field by marching squares.

use super::bits::BitPlane;
use super::mask::Progress;
use super::outline;
use super::polygons::{Ring, square_to_segment, thinned};
use super::stack::{End, Plane, Stack, StackError};
use rayon::prelude::*;

/// Corners of a ring that move its sides by less are left out, mm.
const THIN_MM: f64 = 0.02;

/// Distances are known this far from the nearest side when drawn slices are interpolated, mm.
const INTERPOLATION_MM: f64 = 40.0;

/// Pitch of the points that a shape is interpolated and smoothed on, mm.
const PITCH_MM: f64 = 0.75;

/// Most points of a lattice on one plane.
const MOST_POINTS: f64 = 1e6;

/// Evenly spaced points of a plane.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Lattice {
    /// The first point, mm.
    pub low: [f64; 2],
    pub pitch: f64,
    pub size: [usize; 2],
}

impl Lattice {
    /// A lattice over a box, with at least two points beyond it on every side.
    pub fn over(bounds: [[f64; 2]; 2], pitch: f64) -> Self {
        let low = bounds.map(|b| ((b[0] / pitch).floor() - 2.0) * pitch);
        let high = bounds.map(|b| ((b[1] / pitch).ceil() + 2.0) * pitch);
        let size = [0, 1].map(|a| ((high[a] - low[a]) / pitch).round() as usize + 1);
        Self { low, pitch, size }
    }

    pub fn len(&self) -> usize {
        self.size[0] * self.size[1]
    }

    /// A place along an axis as a fraction of nodes, from the first.
    fn index(&self, mm: f64, axis: usize) -> f64 {
        (mm - self.low[axis]) / self.pitch
    }

    /// Signed distance to the sides of the rings, mm, negative inside (even-odd), cut off at `band_mm`.
    pub fn signed(&self, rings: &[Ring], band_mm: f64) -> Vec<f32> {
        let [nx, ny] = self.size;
        let mut squares = vec![(band_mm * band_mm) as f32; nx * ny];
        let mut rows: Vec<Vec<f64>> = vec![Vec::new(); ny];

        for ring in rings {
            let Some(mut from) = ring.last().copied() else {
                continue;
            };
            for &to in ring {
                self.stamp(from, to, band_mm, &mut squares);
                let (low, high) = if from[1] < to[1] {
                    (from, to)
                } else {
                    (to, from)
                };
                let first = self.index(low[1], 1).ceil().max(0.0) as usize;
                let end = (self.index(high[1], 1).ceil().max(0.0) as usize).min(ny);
                for (j, row) in rows.iter_mut().enumerate().take(end).skip(first) {
                    let y = self.low[1] + j as f64 * self.pitch;
                    let x = low[0] + (high[0] - low[0]) * (y - low[1]) / (high[1] - low[1]);
                    row.push(self.index(x, 0));
                }
                from = to;
            }
        }
        for (row, values) in rows.iter_mut().zip(squares.chunks_exact_mut(nx)) {
            row.sort_by(f64::total_cmp);
            values.iter_mut().for_each(|v| *v = v.sqrt());
            for span in row.chunks_exact(2) {
                let first = span[0].ceil().max(0.0) as usize;
                let end = (span[1].floor() + 1.0).clamp(0.0, nx as f64) as usize;
                values
                    .iter_mut()
                    .take(end)
                    .skip(first)
                    .for_each(|v| *v = -*v);
            }
        }
        squares
    }

    /// Lowers the squared distances near a side.
    fn stamp(&self, a: [f64; 2], b: [f64; 2], band_mm: f64, squares: &mut [f32]) {
        let [xs, ys] = [0, 1].map(|axis| {
            let (low, high) = (
                a[axis].min(b[axis]) - band_mm,
                a[axis].max(b[axis]) + band_mm,
            );
            let first = ((low - self.low[axis]) / self.pitch).ceil().max(0.0) as usize;
            let end = ((high - self.low[axis]) / self.pitch).floor() + 1.0;
            first..(end.max(0.0) as usize).min(self.size[axis])
        });
        for j in ys {
            let y = self.low[1] + j as f64 * self.pitch;
            for i in xs.clone() {
                let x = self.low[0] + i as f64 * self.pitch;
                let square = square_to_segment([x, y], a, b) as f32;
                let held = &mut squares[j * self.size[0] + i];
                *held = held.min(square);
            }
        }
    }

    /// The rings between negative and positive values, by linear interpolation; all beyond the lattice is outside.
    pub fn rings(&self, field: &[f32]) -> Vec<Ring> {
        let rings = field_rings(field, self.size);
        rings
            .into_iter()
            .map(|ring| {
                thinned(
                    &ring
                        .into_iter()
                        .map(|p: [f64; 2]| [0, 1].map(|a| self.low[a] + p[a] * self.pitch))
                        .collect::<Ring>(),
                    THIN_MM,
                )
            })
            .collect()
    }
}

/// The rings between negative and other values of a plane of pixels, in pixels (centres are whole numbers), by linear
/// interpolation; at the rim they run half a pixel beyond the last centre.
pub fn field_rings(field: &[f32], size: [usize; 2]) -> Vec<Ring> {
    let lines = outline::trace(&BitPlane::from_values(field, size, |&v| v < 0.0));
    lines
        .iter()
        .map(|line| {
            line.iter()
                .map(|c: &outline::Crossing| {
                    let t = match (
                        value_within(c.inside, field, size),
                        value_within(c.outside, field, size),
                    ) {
                        // A crossing on a pixel's centre would touch the next ring there.
                        (Some(a), Some(b)) if b - a > 0.0 => (-a / (b - a)).clamp(1e-3, 1.0 - 1e-3),
                        _ => 0.5,
                    };
                    [0, 1].map(|a| c.inside[a] as f64 + t * (c.outside[a] - c.inside[a]) as f64)
                })
                .collect()
        })
        .collect()
}

fn value_within(p: [isize; 2], field: &[f32], size: [usize; 2]) -> Option<f64> {
    let within = (0..2).all(|a| p[a] >= 0 && (p[a] as usize) < size[a]);
    within.then(|| f64::from(field[p[1] as usize * size[0] + p[0] as usize]))
}

/// A stack's field at any height.
pub(super) struct Field<'a> {
    stack: &'a Stack,
    /// The field of each plane.
    planes: Vec<Vec<f32>>,
}

impl<'a> Field<'a> {
    /// # Errors
    /// [`StackError::Cancelled`].
    pub fn new(
        stack: &'a Stack,
        lattice: Lattice,
        band_mm: f64,
        progress: Progress<'_>,
    ) -> Result<Self, StackError> {
        let planes: Option<Vec<Vec<f32>>> = stack
            .planes
            .par_iter()
            .map(|plane: &Plane| progress(0.0).then(|| lattice.signed(&plane.rings, band_mm)))
            .collect();
        Ok(Self {
            stack,
            planes: planes.ok_or(StackError::Cancelled)?,
        })
    }

    /// The field at a height, mm. Between joined planes distances are interpolated, cut off at the planes' step so that
    /// a part that ends goes half-way, as in the volume; beyond the last plane likewise. `None` where the structure is
    /// not.
    pub fn at(&self, z_mm: f64) -> Option<Vec<f32>> {
        let planes = &self.stack.planes;
        let above = planes.partition_point(|p| p.z_mm <= z_mm);
        let beyond = |n: usize, side: usize| match self.stack.ends[n][side] {
            End::Joined => None,
            End::After(half) => {
                let off = (planes[n].z_mm - z_mm).abs();
                (off <= half + 1e-9)
                    .then(|| lerped(&self.planes[n], None, off / (2.0 * half), 2.0 * half))
            }
        };
        match (above.checked_sub(1), planes.get(above)) {
            (None, None) => None,
            (None, Some(_)) => beyond(above, 0),
            (Some(below), next) => match (self.stack.ends[below][1], next) {
                (End::Joined, Some(next)) => {
                    let step = next.z_mm - planes[below].z_mm;
                    let t = (z_mm - planes[below].z_mm) / step;
                    Some(lerped(
                        &self.planes[below],
                        Some(&self.planes[above]),
                        t,
                        step,
                    ))
                }
                (_, Some(_)) => beyond(below, 1).or_else(|| beyond(above, 0)),
                (_, None) => beyond(below, 1),
            },
        }
    }
}

/// Linear between two planes (all outside where there is no second), both cut off at `cut_mm`.
fn lerped(a: &[f32], b: Option<&[f32]>, t: f64, cut_mm: f64) -> Vec<f32> {
    let (t, cut) = (t as f32, cut_mm as f32);

    match b {
        _ if t == 0.0 => a.to_vec(),
        Some(b) => a
            .iter()
            .zip(b)
            .map(|(&a, &b)| a.clamp(-cut, cut) * (1.0 - t) + b.clamp(-cut, cut) * t)
            .collect(),
        None => a
            .iter()
            .map(|&a| a.clamp(-cut, cut) * (1.0 - t) + cut * t)
            .collect(),
    }
}

/// A pitch that keeps a plane's points within bounds.
fn pitch_over(bounds: [[f64; 2]; 2]) -> f64 {
    let area = (bounds[0][1] - bounds[0][0] + 10.0) * (bounds[1][1] - bounds[1][0] + 10.0);
    PITCH_MM.max((area / MOST_POINTS).sqrt())
}

/// Planes for those heights between two drawn ones that have none: the shape is interpolated by its distances, however
/// far the drawn planes are apart. The drawn planes are not among them.
///
/// # Errors
/// [`StackError::Cancelled`].
pub fn interpolated(
    stack: &Stack,
    heights_mm: &[f64],
    progress: Progress<'_>,
) -> Result<Vec<Plane>, StackError> {
    if stack.planes.len() < 2 {
        return Ok(Vec::new());
    }
    let bounds = stack.bounds();
    let lattice = Lattice::over(bounds, pitch_over(bounds));
    let mut smoothed = Vec::new();
    for (n, pair) in stack.planes.windows(2).enumerate() {
        if !progress(n as f32 / stack.planes.len() as f32) {
            return Err(StackError::Cancelled);
        }
        let missing: Vec<f64> = heights_mm
            .iter()
            .filter(|z: &&f64| **z > pair[0].z_mm + 0.1 && **z < pair[1].z_mm - 0.1)
            .copied()
            .collect();
        if missing.is_empty() {
            continue;
        }
        let [a, b] = [&pair[0], &pair[1]].map(|p| lattice.signed(&p.rings, INTERPOLATION_MM));
        smoothed.extend(
            missing
                .par_iter()
                .map(|&z_mm: &f64| {
                    let t = (z_mm - pair[0].z_mm) / (pair[1].z_mm - pair[0].z_mm);
                    Plane {
                        z_mm,
                        rings: lattice.rings(&lerped(&a, Some(&b), t, INTERPOLATION_MM)),
                    }
                })
                .collect::<Vec<_>>(),
        );
    }
    Ok(smoothed
        .into_iter()
        .filter(|p| !p.rings.is_empty())
        .collect())
}

/// The planes with a surface smoothed in 3D: its distances weighted by a Gaussian of `sigma_mm`, over the planes beside
/// each as well. A ball of radius r loses about sigma²/r.
///
/// # Errors
/// [`StackError::Cancelled`].
pub fn smoothed(
    stack: &Stack,
    sigma_mm: f64,
    progress: Progress<'_>,
) -> Result<Vec<Plane>, StackError> {
    let bounds = stack.bounds();
    let lattice = Lattice::over(
        bounds.map(|b| [b[0] - sigma_mm, b[1] + sigma_mm]),
        pitch_over(bounds),
    );
    let field = Field::new(
        stack,
        lattice,
        3.0 * sigma_mm + 2.0 * lattice.pitch,
        progress,
    )?;
    let reach = (3.0 * sigma_mm / lattice.pitch).ceil() as isize;
    let taps: Vec<f32> = (-reach..=reach)
        .map(|n| gaussian(n as f64 * lattice.pitch, sigma_mm) as f32)
        .collect();
    let flat: Vec<Vec<f32>> = field
        .planes
        .par_iter()
        .map(|p| blurred(p, lattice.size, &taps))
        .collect();
    let planes: Option<Vec<Plane>> = (0..stack.planes.len())
        .into_par_iter()
        .map(|n: usize| {
            let height_mm = stack.planes[n].z_mm;
            let mut sum = vec![0.0_f32; lattice.len()];
            let mut weights = 0.0;
            // As many planes above as below, and joined ones only: else the surface would lean to the side that has more.
            for step in 0..=n.min(stack.planes.len() - 1 - n) {
                let (below, above) = (n - step, n + step);
                if step > 0
                    && (stack.ends[below][1] != End::Joined || stack.ends[above][0] != End::Joined)
                {
                    break;
                }
                let weight = [below, above]
                    .map(|m| gaussian(stack.planes[m].z_mm - height_mm, sigma_mm) as f32);
                if weight[0].max(weight[1]) < 0.01 {
                    break;
                }
                let both =
                    [below, above]
                        .into_iter()
                        .zip(weight)
                        .take(if step == 0 { 1 } else { 2 });
                for (m, weight) in both {
                    sum.iter_mut()
                        .zip(&flat[m])
                        .for_each(|(sum, v)| *sum += weight * v);
                    weights += weight;
                }
            }
            sum.iter_mut().for_each(|v| *v /= weights);
            progress(0.5).then(|| Plane {
                z_mm: height_mm,
                rings: lattice.rings(&sum),
            })
        })
        .collect();
    Ok(planes
        .ok_or(StackError::Cancelled)?
        .into_iter()
        .filter(|p| !p.rings.is_empty())
        .collect())
}

fn gaussian(mm: f64, sigma_mm: f64) -> f64 {
    (-0.5 * (mm / sigma_mm).powi(2)).exp()
}

/// Weighted means along x, then along y; at the rim over what is there.
fn blurred(field: &[f32], size: [usize; 2], taps: &[f32]) -> Vec<f32> {
    let reach = taps.len() / 2;
    smoothed_along(
        &smoothed_along(field, 0, size, taps, reach),
        1,
        size,
        taps,
        reach,
    )
}

/// One pass of a separable filter; at the rim the weights within are normalised.
fn smoothed_along(
    from: &[f32],
    axis: usize,
    size: [usize; 2],
    taps: &[f32],
    reach: usize,
) -> Vec<f32> {
    let step = if axis == 0 { 1 } else { size[0] };
    (0..from.len())
        .map(|n: usize| {
            let index = if axis == 0 { n % size[0] } else { n / size[0] };
            let (low, high) = (
                index.saturating_sub(reach),
                (index + reach).min(size[axis] - 1),
            );
            let (mut sum, mut weights) = (0.0, 0.0);
            for other in low..=high {
                let weight = taps[other + reach - index];
                sum += weight * from[n + other * step - index * step];
                weights += weight;
            }
            sum / weights
        })
        .collect()
}
