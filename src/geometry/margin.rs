//! Margins: a structure grown or shrunk by distances in mm, in 3D.
//!
//! The surface is known to a fraction of a lattice point: rows and columns of each level are cut where the interpolated
//! field of the structure is zero, and distances are taken to those cuts. A margin that differs by direction is an
//! ellipsoid of eight octants, with the margins of the three directions as half axes.

use super::level_set::{Field, Lattice};
use super::mask::Progress;
use super::stack::{End, Plane, Stack, StackError};
use rayon::prelude::*;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Distance between points and between levels, mm: finer changes no contour by a tenth of a mm.
const PITCH_MM: f64 = 0.6;

/// Most points of all levels together; beyond, they lie further apart.
const MOST_POINTS: f64 = 2.4e7;

/// Squared distance, in margins, of what is out of reach.
const FAR: f32 = 16.0;

/// Smallest half axis: no margin in a direction, mm.
const NONE_MM: f64 = 1e-3;

/// Distances along a grid's axes, each towards its low and its high end, mm, none negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Margins {
    pub mm: [[f64; 2]; 3],
    /// Grown, or shrunk.
    pub grow: bool,
}

/// The structure grown or shrunk, on planes at `heights_mm` (ascending, the frame of the stack's grid). A plane where
/// nothing is left is not among them.
///
/// # Errors
/// [`StackError::Cancelled`].
pub fn shrunk_or_grown(
    stack: &Stack,
    margins: &Margins,
    heights_mm: &[f64],
    progress: Progress<'_>,
) -> Result<Vec<Plane>, StackError> {
    let Some([bottom, top]) = stack.reach_mm() else {
        return Ok(Vec::new());
    };
    let zero = [0.0; 2];
    let grown = if margins.grow { margins.mm } else { [zero; 3] };
    let bounds = stack.bounds();
    let bounds = [0, 1].map(|a| [bounds[a][0] - grown[a][0], bounds[a][1] + grown[a][1]]);
    let volume = (bounds[0][1] - bounds[0][0]) * (bounds[1][1] - bounds[1][0]) * (top - bottom);
    let pitch = PITCH_MM.max((volume / MOST_POINTS).cbrt());
    let lattice = Lattice::over(bounds, pitch);
    let band = stack
        .planes
        .windows(2)
        .map(|w| w[1].z_mm - w[0].z_mm)
        .fold(3.0 * pitch, f64::max);
    let field = Field::new(stack, lattice, band.min(25.0), progress)?;
    // A point is reached from what lies against the margin's direction: grown to the left by what is right of it. Shrunk
    // from the left, the outside grows to the right.
    let axes: [HalfAxes; 3] = std::array::from_fn(|a| {
        let [low, high] = margins.mm[a].map(|mm| mm.max(NONE_MM));
        if margins.grow {
            HalfAxes {
                down: low,
                up: high,
            }
        } else {
            HalfAxes {
                down: high,
                up: low,
            }
        }
    });
    let levels = levels(stack, pitch, !margins.grow);
    let total = levels.len() + heights_mm.len();
    let done = AtomicUsize::new(0);
    let tell = || progress((done.fetch_add(1, Ordering::Relaxed) + 1) as f32 / total as f32);
    let squares: Option<Vec<Vec<f32>>> = levels
        .par_iter()
        .map(|level: &Level| -> Option<Vec<f32>> {
            if !tell() {
                return None;
            }
            let section = if level.is_void {
                None
            } else {
                field.at(level.z_mm)
            };
            Some(match section {
                // Outside of the structure's ends all is outside.
                None => vec![if margins.grow { FAR } else { 0.0 }; lattice.len()],
                Some(mut section) => {
                    if !margins.grow {
                        section.iter_mut().for_each(|v| *v = -*v);
                    }
                    in_plane(&section, &lattice, [axes[0], axes[1]])
                }
            })
        })
        .collect();
    let squares = squares.ok_or(StackError::Cancelled)?;
    let largest = margins.mm.iter().flatten().fold(NONE_MM, |a, b| a.max(*b));
    let least_slope = (0.25 / largest) as f32;
    let planes: Option<Vec<Plane>> = heights_mm
        .par_iter()
        .map(|&z_mm: &f64| -> Option<Plane> {
            if !tell() {
                return None;
            }
            let mut nearest = vec![FAR; lattice.len()];
            for (level, squares) in levels.iter().zip(&squares) {
                let off = axes[2].square(z_mm - level.z_mm) as f32;
                if off < FAR {
                    nearest
                        .iter_mut()
                        .zip(squares)
                        .for_each(|(held, s)| *held = held.min(s + off));
                }
            }
            let signed_mm = field.at(z_mm);
            let outside = (3.0 * pitch) as f32;
            nearest
                .iter_mut()
                .for_each(|square| *square = square.sqrt());
            let values = nearest.iter().enumerate().map(|(n, gauge)| {
                let signed_mm = signed_mm.as_ref().map_or(outside, |signed_mm| signed_mm[n]);
                // Margins become mm by their slope: it is steep where a side without a margin is near.
                let beyond = (gauge - 1.0) / slope(&nearest, &lattice, n).max(least_slope);
                // On a side without a margin the surface stays where the structure's own distances have it.
                match (margins.grow, signed_mm <= 0.0) {
                    (true, false) => signed_mm.min(beyond),
                    (false, true) => signed_mm.max(-beyond),
                    (true, true) | (false, false) => signed_mm,
                }
            });
            Some(Plane {
                z_mm,
                rings: lattice.rings(&values.collect::<Vec<f32>>()),
            })
        })
        .collect();
    Ok(planes
        .ok_or(StackError::Cancelled)?
        .into_iter()
        .filter(|p| !p.rings.is_empty())
        .collect())
}

/// Steepest slope of a plane's values at a point towards its neighbours, per mm.
fn slope(values: &[f32], lattice: &Lattice, n: usize) -> f32 {
    let [nx, ny] = lattice.size;
    steepest_step(n % nx, nx, 1, values, n).hypot(steepest_step(n / nx, ny, nx, values, n))
        / lattice.pitch as f32
}

/// The larger difference to a neighbour along one axis.
fn steepest_step(index: usize, count: usize, stride: usize, values: &[f32], n: usize) -> f32 {
    let low = if index > 0 {
        (values[n] - values[n - stride]).abs()
    } else {
        0.0
    };
    let high = if index + 1 < count {
        (values[n] - values[n + stride]).abs()
    } else {
        0.0
    };
    low.max(high)
}

/// Reach of a margin along an axis, down and up, mm.
#[derive(Clone, Copy, Debug)]
struct HalfAxes {
    down: f64,
    up: f64,
}

impl HalfAxes {
    /// Squared distance in margins, of a point `offset` mm above its source.
    fn square(self, offset: f64) -> f64 {
        let margin = if offset > 0.0 { self.up } else { self.down };
        (offset / margin).powi(2)
    }
}

/// A height at which the structure is cut.
struct Level {
    z_mm: f64,
    /// Just beyond an end: there is no structure.
    is_void: bool,
}

/// Heights of the planes, with enough heights between and beyond them, to the very ends, that none is further than `pitch` from
/// the next.
fn levels(stack: &Stack, pitch: f64, with_voids: bool) -> Vec<Level> {
    let mut levels = Vec::new();
    for (n, plane) in stack.planes.iter().enumerate() {
        for (side, sign) in [(0, -1.0), (1, 1.0)] {
            match stack.ends[n][side] {
                End::After(half) => {
                    let count = (half / pitch).ceil().max(1.0) as usize;
                    levels.extend(
                        (1..=count).map(|m| {
                            solid_level(plane.z_mm + sign * half * m as f64 / count as f64)
                        }),
                    );
                    if with_voids {
                        levels.push(Level {
                            z_mm: plane.z_mm + sign * half,
                            is_void: true,
                        });
                    }
                }
                End::Joined if side == 1 => {
                    let step = stack.planes[n + 1].z_mm - plane.z_mm;
                    let count = (step / pitch).ceil().max(1.0) as usize;
                    levels.extend(
                        (1..count)
                            .map(|m| solid_level(plane.z_mm + step * m as f64 / count as f64)),
                    );
                }
                End::Joined => {}
            }
        }
        levels.push(solid_level(plane.z_mm));
    }
    levels
}

fn solid_level(z_mm: f64) -> Level {
    Level {
        z_mm,
        is_void: false,
    }
}

/// Squared distance of each point, in margins, from what is negative (or zero) on a plane.
fn in_plane(section: &[f32], lattice: &Lattice, axes: [HalfAxes; 2]) -> Vec<f32> {
    let [nx, ny] = lattice.size;
    if section.iter().all(|&v| v > INSIDE) {
        return vec![FAR; lattice.len()];
    }
    let mut turned = vec![0.0; section.len()];
    transpose(section, [nx, ny], &mut turned);
    // Cut along rows, then spread along columns; and the other way round. The nearest cut is in one of them.
    let mut by_rows = along(section, nx, lattice.pitch, axes[0]);
    transpose(&by_rows, [nx, ny], &mut turned);
    let spread_rows = spread(&turned, ny, lattice.pitch, axes[1]);
    transpose(&spread_rows, [ny, nx], &mut by_rows);
    transpose(section, [nx, ny], &mut turned);
    let by_columns = along(&turned, ny, lattice.pitch, axes[1]);
    let mut back = vec![0.0; section.len()];
    transpose(&by_columns, [ny, nx], &mut back);
    let spread_columns = spread(&back, nx, lattice.pitch, axes[0]);
    by_rows
        .iter()
        .zip(&spread_columns)
        .map(|(a, b)| a.min(*b))
        .collect()
}

/// Values up to this are inside: at the very end of a part its field is zero but for rounding.
const INSIDE: f32 = 1e-4;

/// Squared distance, in margins, from the inside of the same line; lines of `length` points.
fn along(field: &[f32], length: usize, pitch: f64, axis: HalfAxes) -> Vec<f32> {
    let mut squares = vec![FAR; field.len()];
    for (line, out) in field
        .chunks_exact(length)
        .zip(squares.chunks_exact_mut(length))
    {
        for direction in [true, false] {
            // From the last cut behind, going up the line and down it.
            let margin = if direction { axis.up } else { axis.down };
            let mut cut: Option<f64> = None;
            for n in 0..length {
                let value = line[index_along(n, direction, length)];
                if value <= INSIDE {
                    cut = Some(n as f64);
                    out[index_along(n, direction, length)] = 0.0;
                    continue;
                }
                if n > 0 && line[index_along(n - 1, direction, length)] <= INSIDE {
                    let squared = f64::from(line[index_along(n - 1, direction, length)].min(0.0));
                    cut = Some((n - 1) as f64 + squared / (squared - f64::from(value)));
                }
                if let Some(cut) = cut {
                    let square = (((n as f64 - cut) * pitch / margin).powi(2) as f32).min(FAR);
                    out[index_along(n, direction, length)] =
                        out[index_along(n, direction, length)].min(square);
                }
            }
        }
    }
    squares
}

fn index_along(n: usize, direction: bool, length: usize) -> usize {
    if direction { n } else { length - 1 - n }
}

/// The least of each point's value and its neighbours' in the line with their squared distance, in margins.
fn spread(squares: &[f32], length: usize, pitch: f64, axis: HalfAxes) -> Vec<f32> {
    // A little further than the margin: the ring runs between a point within and one beyond.
    let (ups, downs) = (weights_of(axis.up, pitch), weights_of(axis.down, pitch));
    let mut out = squares.to_vec();
    for (line, out) in squares
        .chunks_exact(length)
        .zip(out.chunks_exact_mut(length))
    {
        if line.iter().all(|&v| v >= FAR) {
            continue;
        }
        for (n, weight) in ups.iter().enumerate().take(length.saturating_sub(1)) {
            let step = n + 1;
            out[step..]
                .iter_mut()
                .zip(&line[..length - step])
                .for_each(|(o, v)| *o = o.min(v + weight));
        }
        for (n, weight) in downs.iter().enumerate().take(length.saturating_sub(1)) {
            let step = n + 1;
            out[..length - step]
                .iter_mut()
                .zip(&line[step..])
                .for_each(|(o, v)| *o = o.min(v + weight));
        }
    }
    out
}

fn weights_of(margin: f64, pitch: f64) -> Vec<f32> {
    (1..=reach_of(margin, pitch))
        .map(|n| ((n as f64 * pitch / margin).powi(2) as f32).min(FAR))
        .collect()
}

/// Pixels that a margin along the axis may reach.
fn reach_of(margin: f64, pitch: f64) -> usize {
    if margin <= NONE_MM {
        0
    } else {
        (margin * 1.5 / pitch).ceil() as usize + 2
    }
}

/// Rows become columns; `size` is the size of `from`.
fn transpose(from: &[f32], [nx, ny]: [usize; 2], to: &mut [f32]) {
    for (j, row) in from.chunks_exact(nx).enumerate() {
        for (i, v) in row.iter().enumerate() {
            to[i * ny + j] = *v;
        }
    }
}

#[cfg(test)]
mod tests;
