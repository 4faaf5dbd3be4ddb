//! Equal steps through the trilinear attenuation, eight samples at a time; samples of empty cells are skipped.

use super::block::{Block, Neighbours, Pairs, Voxels, WHOLE};
use crate::cache::Cache;
use crate::drr::content::{CELL, TOGETHER};
use crate::drr::rays::{Image, Ray, Rays};
use crate::drr::space::Space;
use glam::{DVec3, Vec4};
use multiversion::multiversion;
use multiversion::target::{target_cfg, target_cfg_f};
use std::ops::Range;

/// Samples whose places are found together.
// Rays side by side, 8 to 32 of them, are slower than samples of one ray.
const LANES: usize = TOGETHER;
/// Chunks whose cells are found together, and whose samples are summed in f32 before f64 takes the sum.
// Places and samples found in one loop take up to 1.4 times the time.
const CHUNKS: usize = 16;

/// Data common to all rays of an image.
pub(super) struct Trilinear<'a> {
    rays: &'a Rays,
    block: Block<'a>,
    space: Space,
    /// In `space`.
    image: Image,
    step_mm: f64,
}

/// A ray's way through the box of voxels: voxels from the centre of the block's first one; along z mm in `Space` where
/// planes are uneven.
struct SampledRay {
    /// Beginning of the first step: on the box's face, which floats of 32 bits hold as it is.
    entry: [f32; 3],
    step: [f32; 3],
    steps: usize,
    step_mm: f64,
    /// Steps of a voxel at most along each axis: a cell then answers for a chunk.
    skips: bool,
    /// Samples that lie between the block's outermost centres.
    inside: Range<usize>,
}

impl<'a> Trilinear<'a> {
    /// `None` where there is nothing but air.
    pub fn new(rays: &'a Rays, image: &'a Image, step_mm: f64, cache: &Cache) -> Option<Self> {
        let space = Space::new(rays.attenuation.grid());
        let across = (space.high * space.mm()).min_element();
        let block = Block::new(rays, rays.count() as f64 * across / step_mm, cache)?;
        Some(Self {
            rays,
            block,
            image: space.image(image),
            space,
            step_mm,
        })
    }

    pub fn fill(&self, pixels: &[u32], out: &mut [f32]) {
        fill(self, pixels, out);
    }

    fn way(&self, ray: Ray) -> Option<SampledRay> {
        let [enter, leave] = ray.clipped(DVec3::ZERO, self.space.high)?;
        let along = ray.to - ray.from;
        let length_mm = (leave - enter) * (along * self.space.mm()).length();
        // Rounding must not add a step.
        let steps = (length_mm / self.step_mm - 1e-6).ceil().max(1.0);
        let step = along * ((leave - enter) / steps);
        let entry = ray.from + along * enter - self.begin();
        let least_gap = self
            .space
            .uneven
            .as_ref()
            .map_or(1.0, |planes| f64::from(planes.least_gap_mm));
        let voxels = step.abs() / DVec3::new(1.0, 1.0, least_gap);
        Some(SampledRay {
            inside: self.inside(entry, step, steps),
            entry: entry.as_vec3().to_array(),
            step: step.as_vec3().to_array(),
            steps: steps as usize,
            step_mm: length_mm / steps,
            skips: voxels.max_element() <= 1.0,
        })
    }

    /// Origin of a [`SampledRay`], in `Space`.
    fn begin(&self) -> DVec3 {
        let centre = DVec3::from(self.block.low.map(|n| n as f64 + 0.5));
        if self.space.uneven.is_some() {
            centre.with_z(0.0)
        } else {
            centre
        }
    }

    /// The samples that lie between the block's outermost centres, with something to spare for rounding.
    fn inside(&self, entry: DVec3, step: DVec3, steps: f64) -> Range<usize> {
        const SPARE: f64 = 2e-3;
        let first = entry + 0.5 * step;
        let (mut from, mut to) = (0.0_f64, steps - 1.0);
        for axis in 0..3 {
            let last = self.block.size[axis] - 1;
            let [low, high] = match (&self.space.uneven, axis) {
                (Some(planes), 2) => {
                    let begin = self.block.low[2];
                    [begin, begin + last].map(|plane| f64::from(planes.centres_mm[plane]))
                }
                _ => [0.0, last as f64],
            };
            let inverse = step[axis].recip();
            if inverse.is_finite() {
                let (a, b) = (
                    (low + SPARE - first[axis]) * inverse,
                    (high - SPARE - first[axis]) * inverse,
                );
                from = from.max(a.min(b));
                to = to.min(a.max(b));
            } else if !(low + SPARE..high - SPARE).contains(&first[axis]) {
                return 0..0;
            }
        }
        if from <= to {
            from.ceil() as usize..to.floor() as usize + 1
        } else {
            0..0
        }
    }
}

// Not for AVX-512: what the compiler makes of it gathers and takes twice as long.
#[multiversion(targets("x86_64+avx2+avx+fma", "aarch64+neon"))]
fn fill(march: &Trilinear<'_>, pixels: &[u32], out: &mut [f32]) {
    const FUSED: bool = target_cfg_f!(target_feature = "fma");
    let begin_z = march.block.low[2] as f32 + 0.5;
    let voxels = march.block.voxels();
    #[target_cfg(target_feature = "fma")]
    use super::eight::add;
    #[target_cfg(not(target_feature = "fma"))]
    use super::trilinear::add;
    // Closures, for only they may call what is for this function's processor.
    let of_pairs = |samples: &[Samples], pairs: &Pairs, sums: &mut _| add(samples, pairs, sums);
    let of_voxels =
        |samples: &[Samples], voxels: &Voxels<'_>, sums: &mut _| add(samples, voxels, sums);
    let mut many = Default::default();
    for (&pixel, out) in pixels.iter().zip(out) {
        let ray = march.image.ray(pixel, march.rays.columns);
        *out = march.way(ray).map_or(0.0, |way| {
            match (&march.space.uneven, march.block.pairs()) {
                (None, Some(pairs)) => {
                    integral::<FUSED, _>(march, &way, pairs, |z| z, of_pairs, &mut many)
                }
                (None, None) => {
                    integral::<FUSED, _>(march, &way, voxels, |z| z, of_voxels, &mut many)
                }
                (Some(planes), Some(pairs)) => integral::<FUSED, _>(
                    march,
                    &way,
                    pairs,
                    |z| planes.voxel(z) - begin_z,
                    of_pairs,
                    &mut many,
                ),
                (Some(planes), None) => integral::<FUSED, _>(
                    march,
                    &way,
                    voxels,
                    |z| planes.voxel(z) - begin_z,
                    of_voxels,
                    &mut many,
                ),
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

/// `voxel_z` takes a way's position along z to voxels from the block's first; `add` adds samples to eight sums; `many` is room
/// for them.
#[inline(always)]
fn integral<const FUSED: bool, N: Neighbours>(
    march: &Trilinear<'_>,
    way: &SampledRay,
    neighbours: &N,
    voxel_z: impl Fn(f32) -> f32,
    add: impl Fn(&[Samples], &N, &mut [Vec4; 2]),
    many: &mut [Samples; CHUNKS],
) -> f32 {
    let occupied = &march.rays.content.occupied;
    let mut sum = 0.0_f64;
    for first in (0..way.steps).step_by(LANES * CHUNKS) {
        let mut sums = [Vec4::ZERO; 2];
        let mut count = 0;
        let cells = if way.skips {
            cells::<FUSED>(march, way, first, &voxel_z)
        } else {
            [0; CHUNKS]
        };
        for (chunk, cell) in (first..way.steps).step_by(LANES).zip(cells) {
            if way.skips && occupied[cell as usize] == 0 {
                continue;
            }
            if way.inside.start <= chunk && chunk + LANES <= way.inside.end {
                many[count] = Samples::inside::<FUSED>(way, chunk, neighbours, &voxel_z);
                count += 1;
            } else {
                let samples = Samples::anywhere::<FUSED>(march, way, chunk, neighbours, &voxel_z);
                samples.add_some(neighbours, LANES.min(way.steps - chunk), &mut sums[0]);
            }
        }
        // Places first, then their values: neither waits for the other, and places move from vectors to addresses by memory.
        add(&many[..count], neighbours, &mut sums);
        // Some chunks add up in 32 bits, all of a ray in 64: a long sum would lose the last samples' digits.
        let [a, b, c, d] = (sums[0] + sums[1]).to_array().map(f64::from);
        sum += a + b + c + d;
    }
    (sum * way.step_mm) as f32
}

/// The cells of occupancy in which the middles of some chunks lie, the first of which begins with sample `first`; those
/// beyond the ray's end lie in some cell.
#[inline(always)]
fn cells<const FUSED: bool>(
    march: &Trilinear<'_>,
    way: &SampledRay,
    first: usize,
    voxel_z: &impl Fn(f32) -> f32,
) -> [u32; CHUNKS] {
    let size = march.rays.content.cells;
    let mut cell_index = [[0_u32; CHUNKS]; 3];
    for axis in 0..3 {
        let last = (size[axis] - 1) as f32;
        // From the low edge of the volume, in cells, rounded down by rounding half a cell before.
        let begin = (march.block.low[axis] as f32 + 0.5) * (1.0 / CELL as f32) - 0.5;
        for chunk in 0..CHUNKS {
            let middle = (first as i32).wrapping_add((chunk * LANES + LANES / 2) as i32) as f32;
            let place = multiply_add::<FUSED>(middle, way.step[axis], way.entry[axis]);
            let place = if axis == 2 { voxel_z(place) } else { place };
            let cell = larger(smaller(place * (1.0 / CELL as f32) + begin, last), 0.0);
            cell_index[axis][chunk] = (cell + WHOLE).to_bits().wrapping_sub(WHOLE.to_bits());
        }
    }
    let mut cells = [0; CHUNKS];
    for chunk in 0..CHUNKS {
        let row = cell_index[2][chunk]
            .wrapping_mul(size[1] as u32)
            .wrapping_add(cell_index[1][chunk]);
        cells[chunk] = row
            .wrapping_mul(size[0] as u32)
            .wrapping_add(cell_index[0][chunk]);
    }
    cells
}

/// Eight samples: where their neighbours begin, and how far each lies between them along x, y, z.
#[derive(Default)]
pub(super) struct Samples {
    pub places: [u32; LANES],
    pub parts: [[f32; LANES]; 3],
}

/// As `eight::add`, for any processor.
fn add<N: Neighbours>(samples: &[Samples], neighbours: &N, sums: &mut [Vec4; 2]) {
    samples
        .iter()
        .for_each(|samples| samples.add_some(neighbours, LANES, &mut sums[0]));
}

impl Samples {
    /// All between the block's outermost centres: nothing needs to be led back to its edge.
    #[inline(always)]
    fn inside<const FUSED: bool>(
        way: &SampledRay,
        first: usize,
        neighbours: &impl Neighbours,
        voxel_z: &impl Fn(f32) -> f32,
    ) -> Self {
        Self::new::<FUSED>(way, first, neighbours, voxel_z, |_, place| {
            let low = place.floor();
            (low + WHOLE, place - low)
        })
    }

    #[inline(always)]
    fn anywhere<const FUSED: bool>(
        march: &Trilinear<'_>,
        way: &SampledRay,
        first: usize,
        neighbours: &impl Neighbours,
        voxel_z: &impl Fn(f32) -> f32,
    ) -> Self {
        Self::new::<FUSED>(way, first, neighbours, voxel_z, |axis, place| {
            let last = (march.block.size[axis] - 1) as f32;
            // The lower of the two centres that it lies between; either of them where it lies on one.
            let low = larger(smaller(place - 0.5, last - 1.0), 0.0) + WHOLE;
            (low, larger(smaller(place, last), 0.0) - (low - WHOLE))
        })
    }

    /// `between` returns, for a place along an axis, the lower centre (plus [`WHOLE`]) and the fraction towards the next.
    #[inline(always)]
    fn new<const FUSED: bool>(
        way: &SampledRay,
        first: usize,
        neighbours: &impl Neighbours,
        voxel_z: &impl Fn(f32) -> f32,
        between: impl Fn(usize, f32) -> (f32, f32),
    ) -> Self {
        let mut parts = [[0.0_f32; LANES]; 3];
        let mut lows = [[0_u32; LANES]; 3];
        for axis in 0..3 {
            for lane in 0..LANES {
                let n = (first as i32).wrapping_add(lane as i32) as f32 + 0.5;
                let place = multiply_add::<FUSED>(n, way.step[axis], way.entry[axis]);
                let (low, part) = between(axis, if axis == 2 { voxel_z(place) } else { place });
                lows[axis][lane] = low.to_bits();
                parts[axis][lane] = part;
            }
        }
        let mut places = [0; LANES];
        for lane in 0..LANES {
            places[lane] = neighbours.place([lows[0][lane], lows[1][lane], lows[2][lane]]);
        }
        Self { places, parts }
    }

    /// Adds the first few.
    #[inline(always)]
    fn add_some(&self, neighbours: &impl Neighbours, count: usize, sum: &mut Vec4) {
        for lane in 0..count {
            let [low, high] = neighbours.at(self.places[lane]);
            let (x, y, z) = (
                self.parts[0][lane],
                self.parts[1][lane],
                self.parts[2][lane],
            );
            let corner_weights = Vec4::new(1.0 - x - z + x * z, z - x * z, x - x * z, x * z);
            *sum += corner_weights * (low + y * (high - low));
        }
    }
}
