//! What thin lines misplace in the voxels next to the one that releases, and the stencil that puts it right.
//!
//! A lattice has one line to a voxel's face: it samples the face at a point, where the release fills the voxel. Over all
//! directions the samples even out but for some noise, most of it close to where energy is released. Close by, the mean over
//! all places of the lines can be had directly: walks of lines spread over the face, in matter of even density. The difference
//! between that mean and what the lattice's own walk leaves is a [`Stencil`], one for every slab, because the lines come into
//! each slab at another place. Scattered terms reach too far to leave anything to speak of in one voxel: the stencil is the
//! primary's.
//!
//! For voxels of other densities, `H = C / density^2` is tabulated for even densities and read off at the mean density on the
//! way; times the density of both ends, as the release of the one and the deposit of the other go with theirs.

use super::angles::{PRIMARY, place_of};
use super::beam::Superposition;
use super::directions::{Direction, start};
use super::lattice::{Lattice, dominant_axis};
use super::walk::{LatticeWalk, Piece};
use crate::physics::kernel_fit::decay_per_cm;
use glam::{DMat3, DVec3};
use rayon::prelude::*;

/// Voxels to each side, and the square of the farthest.
pub const REACH: i32 = 3;
const FARTHEST: i32 = 14;
/// Voxels on the way from one end of an offset to the other, both ends with it.
pub const WAY: usize = REACH as usize + 1;
/// Powers of the density, from 0 on, that `H` is made of.
pub const POWERS: usize = 3;

const WIDTH: usize = (2 * REACH + 1) as usize;
const TERMS: usize = PRIMARY.end - PRIMARY.start;
/// Densities (g/cm3) of the tabulated media: lung, water, bone. The second tells which offsets matter.
pub const DENSITIES: [f64; POWERS] = [0.26, 1.0, 1.8];
/// What is denser counts as this dense, g/cm3.
pub const DENSEST: f32 = 2.0;
/// Places to each side of a voxel's face over which the mean is taken.
pub const PLACES: usize = 6;
/// Offsets that never get more than this part of what is released are left out.
pub const LEAST: f64 = 1e-4;
/// Rays within this angle of each other share a stencil.
const TILT_STEP_DEG: f64 = 8.0;

/// What an offset gets at the tabulated densities, summed over directions.
type Shares = [f64; POWERS];

/// `H` of an offset in powers of the density.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Powers {
    pub of_density: [f32; POWERS],
}

/// A voxel seen from the one that releases, axes as the block's.
#[derive(Clone, Copy, Debug)]
pub struct Offset {
    pub to: [i32; 3],
    /// Voxels on the way, from the one that releases on, and their parts of it.
    pub way: [([i32; 3], f32); WAY],
}

impl Offset {
    pub fn new(to: [i32; 3]) -> Self {
        let steps = to.iter().map(|o| o.abs()).max().unwrap_or(0).max(1);
        let mut way = [([0; 3], 0.0); WAY];
        for (n, (at, part)) in way.iter_mut().enumerate().take(steps as usize + 1) {
            let along = n as f64 / f64::from(steps);
            *at = to.map(|o| (f64::from(o) * along).round() as i32);
            let end = n == 0 || n == steps as usize;
            *part = if end { 0.5 } else { 1.0 } / steps as f32;
        }
        Self { to, way }
    }
}

/// The offsets within reach.
pub struct Ball {
    pub offsets: Vec<[i32; 3]>,
    /// Of every offset of the cube round them, x fastest.
    pub number: [Option<u16>; WIDTH * WIDTH * WIDTH],
}

impl Ball {
    pub fn new() -> Self {
        let mut ball = Self { offsets: Vec::new(), number: [None; WIDTH * WIDTH * WIDTH] };
        for (cell, number) in ball.number.iter_mut().enumerate() {
            let offset =
                [cell % WIDTH, cell / WIDTH % WIDTH, cell / (WIDTH * WIDTH)].map(|n| n as i32 - REACH);
            if offset.iter().map(|o| o * o).sum::<i32>() <= FARTHEST {
                *number = u16::try_from(ball.offsets.len()).ok();
                ball.offsets.push(offset);
            }
        }
        ball
    }

    fn number(&self, offset: [i32; 3]) -> Option<usize> {
        if offset.iter().any(|o| o.abs() > REACH) {
            return None;
        }
        let [x, y, z] = offset.map(|o| (o + REACH) as usize);
        self.number[(z * WIDTH + y) * WIDTH + x].map(usize::from)
    }
}

/// The tilts of rays against the beam axis for which there are stencils: `count` each way, evenly spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tilts {
    /// Tangent of the farthest, each way.
    pub reach: f64,
    pub count: usize,
}

impl Tilts {
    /// For rays whose tangents stay within `widest`.
    pub fn within(widest: f64) -> Self {
        let count = (2.0 * widest.atan().to_degrees() / TILT_STEP_DEG).ceil().clamp(1.0, 5.0) as usize;
        Self { reach: widest.max(1e-6), count }
    }

    fn rays(&self) -> impl Iterator<Item = DVec3> + '_ {
        let tangent = |n: usize| ((2 * n + 1) as f64 / self.count as f64 - 1.0) * self.reach;
        (0..self.count * self.count)
            .map(move |n| DVec3::new(tangent(n % self.count), tangent(n / self.count), 1.0).normalize())
    }

    /// The number of the stencils for a ray with these tangents.
    pub fn at(&self, tangents: [f32; 2]) -> usize {
        let cell = tangents.map(|t| {
            let place = (t / self.reach as f32 + 1.0) * 0.5 * self.count as f32;
            (place.max(0.0) as usize).min(self.count - 1)
        });
        cell[1] * self.count + cell[0]
    }
}

/// The stencils of the directions that go mostly along one axis.
pub struct Stencil {
    pub offsets: Vec<Offset>,
    pub tilts: Tilts,
    /// `[tilt][slab][offset]`.
    pub table: Vec<Powers>,
}

/// A direction on its way through the slabs.
struct Way {
    direction: DVec3,
    walk: LatticeWalk,
    /// `[tilt][term]`: what is released over its decay constant, times the solid angle.
    full: Vec<[f64; TERMS]>,
}

impl Stencil {
    /// For the directions whose greatest part is along `order[2]` of a lattice.
    pub fn new(
        lattice: &Lattice,
        order: [usize; 3],
        beam: &Superposition,
        lattice_from_kernel: DMat3,
        tilts: Tilts,
    ) -> Self {
        let size = order.map(|a| lattice.size[a]);
        let spacing_mm = order.map(|a| lattice.spacing_mm[a]);
        let axes = beam.directions.iter().enumerate().map(|(n, d)| (n, d, lattice_from_kernel * d.axis));
        let ways: Vec<Way> = axes
            .filter(|(_, _, axis)| dominant_axis(lattice, *axis) == order[2])
            .map(|(n, d, axis)| {
                let direction = DVec3::from(order.map(|a| axis[a]));
                let full = tilts.rays().map(|ray| full(beam, d, ray)).collect();
                Way { direction, walk: LatticeWalk::new(spacing_mm, size[2], direction, start(n)), full }
            })
            .collect();
        let ball = Ball::new();
        let count = tilts.count * tilts.count;
        let mean = mean(&ways, spacing_mm, count, &ball);
        let slabs: Vec<Vec<Shares>> =
            (0..size[2]).into_par_iter().map(|slab| missed(&ways, slab, count, &ball, &mean)).collect();
        let all = ball.offsets.len();
        let used: Vec<usize> = (0..all)
            .into_par_iter()
            .filter(|o| slabs.iter().any(|s| (0..count).any(|t| s[t * all + o][1].abs() > LEAST)))
            .collect();
        let to_powers = powers_of_density();
        let table = (0..count * size[2])
            .into_par_iter()
            .flat_map_iter(|row| {
                let shares = &slabs[row % size[2]][row / size[2] * all..];
                used.iter().map(|o| powers(&to_powers, &shares[*o]))
            })
            .collect();
        let offsets = used.iter().map(|o| Offset::new(ball.offsets[*o])).collect();
        Self { offsets, tilts, table }
    }
}

/// The primary's terms along a direction for a ray, by the spectrum in the middle of what is treated.
fn full(beam: &Superposition, direction: &Direction, ray: DVec3) -> [f64; TERMS] {
    let [near, deep] = beam.primary_mix;
    let row = beam.table.at(place_of(direction.axis.dot(ray) as f32));
    row.primary.map(|a| direction.solid_angle_sr * (near * f64::from(a[0]) + deep * f64::from(a[1])))
}

/// What lines spread over a voxel's face leave in each voxel round it, `[tilt][offset]`.
fn mean(ways: &[Way], spacing_mm: [f64; 3], tilts: usize, ball: &Ball) -> Vec<Shares> {
    // Cut the same way for any number of threads.
    let parts: Vec<Vec<Shares>> = ways
        .par_chunks(8)
        .map(|ways| {
            let mut shares = vec![Shares::default(); tilts * ball.offsets.len()];
            for way in ways {
                for n in 0..PLACES * PLACES {
                    let start = [n % PLACES, n / PLACES].map(|p| (p as f64 + 0.5) / PLACES as f64);
                    let walk = LatticeWalk::new(spacing_mm, WAY, way.direction, start);
                    let weight = 1.0 / (walk.slab_path_cm * (PLACES * PLACES) as f64);
                    add(&mut shares, ball, &walk.pieces, &way.full, weight);
                }
            }
            shares
        })
        .collect();
    let mut sum = vec![Shares::default(); tilts * ball.offsets.len()];
    parts.iter().for_each(|part| add_to(&mut sum, part));
    sum
}

fn add_to(to: &mut [Shares], part: &[Shares]) {
    to.iter_mut().flatten().zip(part.iter().flatten()).for_each(|(t, p)| *t += p);
}

/// `mean` less what the lattices' own walks leave that start in a slab.
fn missed(ways: &[Way], slab: usize, tilts: usize, ball: &Ball, mean: &[Shares]) -> Vec<Shares> {
    let mut shares = vec![Shares::default(); tilts * ball.offsets.len()];
    for way in ways {
        let pieces = &way.walk.pieces;
        let first = if way.direction.z < 0.0 {
            pieces.partition_point(|p| p.slab > slab)
        } else {
            pieces.partition_point(|p| p.slab < slab)
        };
        add(&mut shares, ball, &pieces[first..], &way.full, -1.0 / way.walk.slab_path_cm);
    }
    add_to(&mut shares, mean);
    shares
}

/// What a line leaves that is released in the slab of its first piece, times `weight`.
fn add(shares: &mut [Shares], ball: &Ball, pieces: &[Piece], full: &[[f64; TERMS]], weight: f64) {
    let Some(first) = pieces.first() else { return };
    let all = ball.offsets.len();
    for (n, from) in pieces.iter().enumerate().take_while(|(_, p)| p.slab == first.slab) {
        let released = loss(from.length_cm);
        let mut passed = released;
        for to in &pieces[n..] {
            let offset =
                [to.shift[0] - from.shift[0], to.shift[1] - from.shift[1], to.slab as i32 - from.slab as i32];
            let Some(number) = ball.number(offset) else { break };
            let mut stays = [[0.0; POWERS]; TERMS];
            if std::ptr::eq(from, to) {
                // Where it is released, what is carried out does not stay.
                stays.iter_mut().flatten().zip(released.iter().flatten()).for_each(|(s, r)| *s = -r);
            } else {
                let here = loss(to.length_cm);
                for k in 0..TERMS {
                    for d in 0..POWERS {
                        stays[k][d] = passed[k][d] * here[k][d];
                        passed[k][d] -= stays[k][d];
                    }
                }
            }
            for (tilt, full) in full.iter().enumerate() {
                let share = &mut shares[tilt * all + number];
                for (full, stays) in full.iter().zip(&stays) {
                    (0..POWERS).for_each(|d| share[d] += weight * full * stays[d]);
                }
            }
        }
    }
}

/// `1 - exp(-a density length)` by term and density. Each term decays twice as fast as the one before.
fn loss(length_cm: f32) -> [[f64; POWERS]; TERMS] {
    let slowest = decay_per_cm(PRIMARY.start) * f64::from(length_cm);
    let mut loss = [[0.0; POWERS]; TERMS];
    loss[0] = DENSITIES.map(|density| -(-slowest * density).exp_m1());
    for k in 1..TERMS {
        loss[k] = loss[k - 1].map(|g| g * (2.0 - g));
    }
    loss
}

/// `[power][density]`: shares at the tabulated densities, over their squares -> powers of the density.
pub fn powers_of_density() -> [[f64; POWERS]; POWERS] {
    let mut matrix = [[0.0; POWERS]; POWERS];
    for (d, density) in DENSITIES.iter().enumerate() {
        // Lagrange's polynomial that is 1 at this density and 0 at the others.
        let mut polynomial = [0.0; POWERS];
        polynomial[0] = 1.0 / (density * density);
        for other in (0..POWERS).filter(|o| *o != d) {
            let [slope, level] = [1.0, -DENSITIES[other]].map(|v| v / (density - DENSITIES[other]));
            for power in (0..POWERS).rev() {
                let below = if power > 0 { polynomial[power - 1] } else { 0.0 };
                polynomial[power] = level * polynomial[power] + slope * below;
            }
        }
        (0..POWERS).for_each(|power| matrix[power][d] = polynomial[power]);
    }
    matrix
}

fn powers(matrix: &[[f64; POWERS]; POWERS], shares: &Shares) -> Powers {
    let of_density = matrix.map(|row| row.iter().zip(shares).map(|(m, s)| m * s).sum::<f64>() as f32);
    Powers { of_density }
}
