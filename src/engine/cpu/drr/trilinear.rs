//! Equal steps through the trilinear attenuation, eight samples at a time; where a cell of occupancy is empty none is
//! looked at.

use super::block::{Block, Neighbours};
use crate::engine::drr::content::{CELL, TOGETHER};
use crate::engine::drr::space::{Planes, Space};
use crate::engine::drr::{Image, Ray, Rays};
use glam::{DVec3, Vec4};
use multiversion::multiversion;
use multiversion::target::target_cfg_f;

/// Samples whose places are found together.
const LANES: usize = TOGETHER;
/// Chunks whose cells are found together, and whose samples are summed in f32 before f64 takes the sum.
const CHUNKS: usize = 16;

/// What all rays of an image share.
pub(super) struct March<'a> {
    rays: &'a Rays,
    block: Block<'a>,
    space: Space,
    /// In `space`.
    image: Image,
    step_mm: f64,
}

/// A ray's way through the box of voxels, in `Space`.
struct Way {
    entry: [f32; 3],
    step: [f32; 3],
    steps: usize,
    step_mm: f64,
    /// Steps of a voxel at most along each axis: a cell tells of a chunk.
    skips: bool,
}

impl<'a> March<'a> {
    /// `None` where there is nothing but air.
    pub fn new(rays: &'a Rays, image: &'a Image, step_mm: f64) -> Option<Self> {
        let space = Space::new(rays.attenuation.grid());
        let across = (space.high * space.mm()).min_element();
        let block = Block::new(rays, rays.count() as f64 * across / step_mm)?;
        Some(Self { rays, block, image: space.image(image), space, step_mm })
    }

    pub fn fill(&self, pixels: &[u32], out: &mut [f32]) {
        fill(self, pixels, out);
    }

    fn way(&self, ray: Ray) -> Option<Way> {
        let [enter, leave] = ray.clipped(DVec3::ZERO, self.space.high)?;
        let along = ray.to - ray.from;
        let length_mm = (leave - enter) * (along * self.space.mm()).length();
        // Rounding makes no step of its own.
        let steps = (length_mm / self.step_mm - 1e-6).ceil().max(1.0);
        let entry = ray.from + along * enter;
        let step = along * ((leave - enter) / steps);
        let least_gap = self.space.uneven.as_ref().map_or(1.0, |planes| f64::from(planes.least_gap_mm));
        let voxels = step.abs() / DVec3::new(1.0, 1.0, least_gap);
        Some(Way {
            entry: entry.as_vec3().to_array(),
            step: step.as_vec3().to_array(),
            steps: steps as usize,
            step_mm: length_mm / steps,
            skips: voxels.max_element() <= 1.0,
        })
    }
}

// Not for AVX-512: what the compiler makes of it gathers and takes twice as long.
#[multiversion(targets("x86_64+avx2+avx+fma", "aarch64+neon"))]
fn fill(march: &March<'_>, pixels: &[u32], out: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    for (&pixel, out) in pixels.iter().zip(out) {
        let ray = march.image.ray(pixel, march.rays.columns);
        *out = march.way(ray).map_or(0.0, |way| match (&march.space.uneven, march.block.pairs()) {
            (None, Some(pairs)) => integral::<FUSED>(march, &way, pairs, |z| z),
            (None, None) => integral::<FUSED>(march, &way, march.block.voxels(), |z| z),
            (Some(planes), Some(pairs)) => {
                integral::<FUSED>(march, &way, pairs, |z| Planes::voxel(planes, z))
            }
            (Some(planes), None) => {
                integral::<FUSED>(march, &way, march.block.voxels(), |z| Planes::voxel(planes, z))
            }
        });
    }
}

/// `a b + c`, fused where the machine does it in one step.
#[inline(always)]
fn multiply_add<const FUSED: bool>(a: f32, b: f32, c: f32) -> f32 {
    if FUSED { a.mul_add(b, c) } else { a * b + c }
}

/// As `f32::min`, which asks about NaN besides.
#[inline(always)]
fn smaller(a: f32, b: f32) -> f32 {
    if a < b { a } else { b }
}

/// As `f32::max`.
#[inline(always)]
fn larger(a: f32, b: f32) -> f32 {
    if a > b { a } else { b }
}

/// `voxel_z` takes a position along z to voxels.
#[inline(always)]
fn integral<const FUSED: bool>(
    march: &March<'_>,
    way: &Way,
    neighbours: &impl Neighbours,
    voxel_z: impl Fn(f32) -> f32,
) -> f32 {
    let occupied = &march.rays.content.occupied;
    let mut sum = 0.0_f64;
    for first in (0..way.steps).step_by(LANES * CHUNKS) {
        let mut lanes = Vec4::ZERO;
        let cells = if way.skips { cells::<FUSED>(march, way, first, &voxel_z) } else { [0; CHUNKS] };
        for (chunk, cell) in (first..way.steps).step_by(LANES).zip(cells) {
            if way.skips && occupied[cell as usize] == 0 {
                continue;
            }
            let samples = Samples::new::<FUSED>(march, way, chunk, neighbours, &voxel_z);
            // A chunk is whole as a rule, and the compiler then counts to eight.
            let left = way.steps - chunk;
            if left >= LANES {
                for lane in 0..LANES {
                    lanes += samples.value(neighbours, lane);
                }
            } else {
                for lane in 0..left {
                    lanes += samples.value(neighbours, lane);
                }
            }
        }
        sum += f64::from(lanes.x) + f64::from(lanes.y) + f64::from(lanes.z) + f64::from(lanes.w);
    }
    (sum * way.step_mm) as f32
}

/// The cells of occupancy in which the middles of some chunks lie, the first of which begins with sample `first`; those
/// beyond the ray's end lie in some cell.
#[inline(always)]
fn cells<const FUSED: bool>(
    march: &March<'_>,
    way: &Way,
    first: usize,
    voxel_z: &impl Fn(f32) -> f32,
) -> [u32; CHUNKS] {
    let size = march.rays.content.cells;
    let mut at = [[0_u32; CHUNKS]; 3];
    for axis in 0..3 {
        let last = (size[axis] - 1) as f32;
        for chunk in 0..CHUNKS {
            let middle = (first as i32).wrapping_add((chunk * LANES + LANES / 2) as i32) as f32;
            let place = multiply_add::<FUSED>(middle, way.step[axis], way.entry[axis]);
            let place = if axis == 2 { voxel_z(place) } else { place };
            let cell = larger(smaller(place * (1.0 / CELL as f32) - 0.5, last), 0.0);
            at[axis][chunk] = whole(cell);
        }
    }
    let mut cells = [0; CHUNKS];
    for chunk in 0..CHUNKS {
        let row = at[2][chunk].wrapping_mul(size[1] as u32).wrapping_add(at[1][chunk]);
        cells[chunk] = row.wrapping_mul(size[0] as u32).wrapping_add(at[0][chunk]);
    }
    cells
}

/// The whole number nearest to one from 0 on: adding 2^23 leaves it in the low bits.
#[inline(always)]
fn whole(value: f32) -> u32 {
    (value + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits())
}

const WHOLE: f32 = 8_388_608.0;

/// Eight samples: where their neighbours begin, and how far each lies between them along x, y, z.
struct Samples {
    places: [u32; LANES],
    parts: [[f32; LANES]; 3],
}

impl Samples {
    #[inline(always)]
    fn new<const FUSED: bool>(
        march: &March<'_>,
        way: &Way,
        first: usize,
        neighbours: &impl Neighbours,
        voxel_z: &impl Fn(f32) -> f32,
    ) -> Self {
        let mut parts = [[0.0_f32; LANES]; 3];
        let mut lows = [[0_u32; LANES]; 3];
        for axis in 0..3 {
            let begin = march.block.low[axis] as f32;
            let last = (march.block.size[axis] - 1) as f32;
            for lane in 0..LANES {
                let n = (first as i32).wrapping_add(lane as i32) as f32 + 0.5;
                let at = multiply_add::<FUSED>(n, way.step[axis], way.entry[axis]);
                let at = if axis == 2 { voxel_z(at) } else { at } - begin;
                // The lower of the two centres that it lies between; either of them where it lies on one.
                let low = larger(smaller(at - 1.0, last - 1.0), 0.0);
                lows[axis][lane] = whole(low);
                parts[axis][lane] = larger(smaller(at - 0.5, last), 0.0) - ((low + WHOLE) - WHOLE);
            }
        }
        let mut places = [0; LANES];
        for lane in 0..LANES {
            places[lane] = neighbours.place([lows[0][lane], lows[1][lane], lows[2][lane]]);
        }
        Self { places, parts }
    }

    /// The parts that a sample's neighbours have in it, to be summed.
    #[inline(always)]
    fn value(&self, neighbours: &impl Neighbours, lane: usize) -> Vec4 {
        // Not by `map`, which is a call here.
        let part = |axis: usize| Vec4::splat(self.parts[axis][lane]);
        let (x, y, z) = (part(0), part(1), part(2));
        let [low, high] = neighbours.at(self.places[lane]);
        let of_x = Vec4::new(1.0, 1.0, 0.0, 0.0) + x * Vec4::new(-1.0, -1.0, 1.0, 1.0);
        let of_z = Vec4::new(1.0, 0.0, 1.0, 0.0) + z * Vec4::new(-1.0, 1.0, -1.0, 1.0);
        (low + y * (high - low)) * (of_x * of_z)
    }
}
