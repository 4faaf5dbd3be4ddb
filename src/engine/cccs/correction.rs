//! Local correction of the lattice's discretisation, in the voxels around one with TERMA.
//!
//! A lattice has one line to a voxel's face and samples it at a point, although TERMA fills the voxel. Over all directions the errors
//! average out but for noise in the nearest voxels. There the exact mean is known: lines spread over the face, in matter of even
//! density. That mean less the deposit of the lattice's own line is a [`Stencil`], one for every slab, since lines enter each slab at
//! another place. Scatter deposits too little in one voxel to need it: the stencil is the primary's.
//!
//! For other densities, `H = C / density^2` is tabulated for even ones and interpolated at the mean density of the path, then
//! multiplied by the density of both ends: TERMA per volume goes with the one, the deposit with the other.
//!
//! Three lattices of lines a direction would be as right, at three times the lines (`benches/DECISIONS.md`).

use super::angles::{PRIMARY, place_of};
use super::beam::Superposition;
use super::directions::{Direction, start};
use crate::dose::lattice::{Lattice, dominant_axis};
use geometry::walk::lattice::{LatticeWalk, Segment};
use glam::{DMat3, DVec3};
use physics::kernel_fit::decay_per_cm;
use rayon::prelude::*;

/// Voxels to each side, and the square of the farthest.
pub const REACH: i32 = 3;
const FARTHEST: i32 = 14;
/// Voxels of an offset's path, both ends included.
pub const PATH: usize = REACH as usize + 1;
/// Powers of the density, from 0 on, that `H` is made of.
pub const POWERS: usize = 3;

const WIDTH: usize = (2 * REACH + 1) as usize;
const TERMS: usize = PRIMARY.end - PRIMARY.start;
/// Densities (g/cm3) of the tabulated media: lung, water, bone. Water decides which offsets matter.
pub const DENSITIES: [f64; POWERS] = [0.26, 1.0, 1.8];
/// Greater densities count as this, g/cm3.
pub const DENSEST: f32 = 2.0;
/// Starting points to each side of a voxel's face over which the mean is taken.
pub const PLACES: usize = 6;
/// Offsets that never receive more than this share of the TERMA are left out.
pub const LEAST: f64 = 1e-4;
/// Rays within this angle of each other share a stencil.
const TILT_STEP_DEG: f64 = 8.0;

/// Share of the TERMA that an offset receives at the tabulated densities, summed over directions.
type Shares = [f64; POWERS];

/// `H` of an offset in powers of the density.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Powers {
    pub of_density: [f32; POWERS],
}

/// A receiving voxel relative to the one with TERMA, axes as the block's.
#[derive(Clone, Copy, Debug)]
pub struct Offset {
    pub to: [i32; 3],
    /// Voxels of the path, beginning with the one with TERMA, and their fractions of it.
    pub path: [([i32; 3], f32); PATH],
}

impl Offset {
    pub fn new(to: [i32; 3]) -> Self {
        let steps = to.iter().map(|o| o.abs()).max().unwrap_or(0).max(1);
        let mut path = [([0; 3], 0.0); PATH];
        for (n, (voxel, part)) in path.iter_mut().enumerate().take(steps as usize + 1) {
            let along = n as f64 / f64::from(steps);
            *voxel = to.map(|o| (f64::from(o) * along).round() as i32);
            let end = n == 0 || n == steps as usize;
            *part = if end { 0.5 } else { 1.0 } / steps as f32;
        }
        Self { to, path }
    }
}

/// The offsets within reach.
pub struct Ball {
    pub offsets: Vec<[i32; 3]>,
    /// Numbers of the offsets in the cube round them, x fastest.
    pub number: [Option<u16>; WIDTH * WIDTH * WIDTH],
}

impl Ball {
    pub fn new() -> Self {
        let mut ball = Self {
            offsets: Vec::new(),
            number: [None; WIDTH * WIDTH * WIDTH],
        };
        for (cell, number) in ball.number.iter_mut().enumerate() {
            let offset = [cell % WIDTH, cell / WIDTH % WIDTH, cell / (WIDTH * WIDTH)]
                .map(|n| n as i32 - REACH);
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

/// Tilts of rays against the beam axis that have stencils: `count` each way, evenly spread.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tilts {
    /// Tangent of the farthest, each way.
    pub reach: f64,
    pub count: usize,
}

impl Tilts {
    /// For rays whose tangents stay within `widest`.
    pub fn within(widest: f64) -> Self {
        let count = (2.0 * widest.atan().to_degrees() / TILT_STEP_DEG)
            .ceil()
            .clamp(1.0, 5.0) as usize;
        Self {
            reach: widest.max(1e-6),
            count,
        }
    }

    fn rays(&self) -> impl Iterator<Item = DVec3> + '_ {
        let tangent = |n: usize| ((2 * n + 1) as f64 / self.count as f64 - 1.0) * self.reach;
        (0..self.count * self.count).map(move |n| {
            DVec3::new(tangent(n % self.count), tangent(n / self.count), 1.0).normalize()
        })
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

/// Stencils of the directions dominated by one axis.
pub struct Stencil {
    pub offsets: Vec<Offset>,
    pub tilts: Tilts,
    /// `[tilt][slab][offset]`.
    pub table: Vec<Powers>,
}

/// A direction and its walk through the slabs.
struct DirectionWalk {
    direction: DVec3,
    walk: LatticeWalk,
    /// `[tilt][term]`: states at equilibrium, times the solid angle.
    equilibrium: Vec<[f64; TERMS]>,
}

impl Stencil {
    /// For the directions dominated by `order[2]` of a lattice.
    pub fn new(
        lattice: &Lattice,
        order: [usize; 3],
        beam: &Superposition,
        lattice_from_kernel: DMat3,
        tilts: Tilts,
    ) -> Self {
        let size = order.map(|a| lattice.size[a]);
        let spacing_mm = order.map(|a| lattice.spacing_mm[a]);
        let axes = beam
            .directions
            .iter()
            .enumerate()
            .map(|(n, d)| (n, d, lattice_from_kernel * d.axis));
        let walks: Vec<DirectionWalk> = axes
            .filter(|(_, _, axis)| dominant_axis(lattice, *axis) == order[2])
            .map(|(n, d, axis)| {
                let direction = DVec3::from(order.map(|a| axis[a]));
                let equilibrium = tilts.rays().map(|ray| equilibrium(beam, d, ray)).collect();
                DirectionWalk {
                    direction,
                    walk: LatticeWalk::new(spacing_mm, size[2], direction, start(n)),
                    equilibrium,
                }
            })
            .collect();
        let ball = Ball::new();
        let count = tilts.count * tilts.count;
        let mean = mean(&walks, spacing_mm, count, &ball);
        let slabs: Vec<Vec<Shares>> = (0..size[2])
            .into_par_iter()
            .map(|slab| discretisation_error(&walks, slab, count, &ball, &mean))
            .collect();
        let offset_count = ball.offsets.len();
        let used: Vec<usize> = (0..offset_count)
            .into_par_iter()
            .filter(|o| {
                slabs
                    .iter()
                    .any(|s| (0..count).any(|t| s[t * offset_count + o][1].abs() > LEAST))
            })
            .collect();
        let to_powers = powers_of_density();
        let table = (0..count * size[2])
            .into_par_iter()
            .flat_map_iter(|row| {
                let shares = &slabs[row % size[2]][row / size[2] * offset_count..];
                used.iter().map(|o| powers(&to_powers, &shares[*o]))
            })
            .collect();
        let offsets = used.iter().map(|o| Offset::new(ball.offsets[*o])).collect();
        Self {
            offsets,
            tilts,
            table,
        }
    }
}

/// States of the primary's terms at equilibrium along a direction, for a ray, by the spectrum at 10 cm of water.
fn equilibrium(beam: &Superposition, direction: &Direction, ray: DVec3) -> [f64; TERMS] {
    let [shallow, deep] = beam.primary_mix;
    let row = beam.table.at(place_of(direction.axis.dot(ray) as f32));
    row.primary
        .map(|a| direction.solid_angle_sr * (shallow * f64::from(a[0]) + deep * f64::from(a[1])))
}

/// Shares of lines spread over a voxel's face in the voxels around it, `[tilt][offset]`.
fn mean(walks: &[DirectionWalk], spacing_mm: [f64; 3], tilts: usize, ball: &Ball) -> Vec<Shares> {
    // Cut the same way for any number of threads.
    let parts: Vec<Vec<Shares>> = walks
        .par_chunks(8)
        .map(|walks| {
            let mut shares = vec![Shares::default(); tilts * ball.offsets.len()];
            for walk in walks {
                for n in 0..PLACES * PLACES {
                    let start = [n % PLACES, n / PLACES].map(|p| (p as f64 + 0.5) / PLACES as f64);
                    let spread = LatticeWalk::new(spacing_mm, PATH, walk.direction, start);
                    let weight = 1.0 / (spread.slab_path_cm * (PLACES * PLACES) as f64);
                    add(
                        &mut shares,
                        ball,
                        &spread.segments,
                        &walk.equilibrium,
                        weight,
                    );
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
    to.iter_mut()
        .flatten()
        .zip(part.iter().flatten())
        .for_each(|(t, p)| *t += p);
}

/// `mean` less the shares of the lattices' own lines from a slab.
fn discretisation_error(
    walks: &[DirectionWalk],
    slab: usize,
    tilts: usize,
    ball: &Ball,
    mean: &[Shares],
) -> Vec<Shares> {
    let mut shares = vec![Shares::default(); tilts * ball.offsets.len()];
    for DirectionWalk {
        direction,
        walk,
        equilibrium,
    } in walks
    {
        let segments = &walk.segments;
        let first = if direction.z < 0.0 {
            segments.partition_point(|s| s.slab > slab)
        } else {
            segments.partition_point(|s| s.slab < slab)
        };
        add(
            &mut shares,
            ball,
            &segments[first..],
            equilibrium,
            -1.0 / walk.slab_path_cm,
        );
    }
    add_to(&mut shares, mean);
    shares
}

/// Adds the shares of a line's TERMA in the slab of its first segment, times `weight`.
fn add(
    shares: &mut [Shares],
    ball: &Ball,
    segments: &[Segment],
    equilibrium: &[[f64; TERMS]],
    weight: f64,
) {
    let Some(first) = segments.first() else {
        return;
    };
    let offset_count = ball.offsets.len();
    for (n, from) in segments
        .iter()
        .enumerate()
        .take_while(|(_, s)| s.slab == first.slab)
    {
        let lost = loss(from.length_cm);
        let mut transmitted = lost;
        for to in &segments[n..] {
            let offset = [
                to.shift[0] - from.shift[0],
                to.shift[1] - from.shift[1],
                to.slab as i32 - from.slab as i32,
            ];
            let Some(number) = ball.number(offset) else {
                break;
            };
            let mut deposited = [[0.0; POWERS]; TERMS];
            if std::ptr::eq(from, to) {
                // In the voxel with TERMA, transmitted energy is missing from the deposit.
                deposited
                    .iter_mut()
                    .flatten()
                    .zip(lost.iter().flatten())
                    .for_each(|(s, r)| *s = -r);
            } else {
                let deposited_here = loss(to.length_cm);
                for k in 0..TERMS {
                    for d in 0..POWERS {
                        deposited[k][d] = transmitted[k][d] * deposited_here[k][d];
                        transmitted[k][d] -= deposited[k][d];
                    }
                }
            }
            for (tilt, equilibrium) in equilibrium.iter().enumerate() {
                let share = &mut shares[tilt * offset_count + number];
                for (equilibrium, deposited) in equilibrium.iter().zip(&deposited) {
                    (0..POWERS).for_each(|d| share[d] += weight * equilibrium * deposited[d]);
                }
            }
        }
    }
}

/// `1 - exp(-a density length)` by term and density. Decay constants double from term to term.
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
                let below = if power > 0 {
                    polynomial[power - 1]
                } else {
                    0.0
                };
                polynomial[power] = level * polynomial[power] + slope * below;
            }
        }
        (0..POWERS).for_each(|power| matrix[power][d] = polynomial[power]);
    }
    matrix
}

fn powers(matrix: &[[f64; POWERS]; POWERS], shares: &Shares) -> Powers {
    let of_density =
        matrix.map(|row| row.iter().zip(shares).map(|(m, s)| m * s).sum::<f64>() as f32);
    Powers { of_density }
}
