//! Kernel coefficients of a direction, by its angle to the voxel's own ray.

use crate::cccs::directions::Direction;
use bytemuck::{Pod, Zeroable};
use glam::DVec3;
use physics::kernel::KernelClass;
use physics::kernel_beam::{BeamKernel, CHANNELS};
use physics::kernel_fit::{TERMS, decay_per_cm, terms_of};
use rayon::prelude::*;

/// From row to row of the table: half a cone. The kernel's amplitudes run straight from cone's middle to cone's middle
/// ([`BeamKernel::amplitudes_per_sr`]), so that straight lines between the rows are the kernel itself.
pub const STEP_DEG: f64 = 1.875;
pub const ANGLES: usize = (180.0 / STEP_DEG) as usize + 1;
/// Tilts at which the normalisation is tabulated, each way.
pub const TILTS: usize = 17;

/// The terms of each class.
pub const PRIMARY: std::ops::Range<usize> = terms_of(KernelClass::Primary);
pub const SCATTER: std::ops::Range<usize> = terms_of(KernelClass::Scatter);

/// Kernel coefficients at one angle, per sr.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Coefficients {
    /// `sum A_k` of every channel.
    pub sums: [f32; CHANNELS],
    /// `A_k / a_k` of the primary's terms: shallow and deep channel.
    pub primary: [[f32; 2]; PRIMARY.end - PRIMARY.start],
    /// `A_k / a_k` of the scatter's terms: shallow and deep channel.
    pub scatter: [[f32; 2]; SCATTER.end - SCATTER.start],
}

impl Coefficients {
    /// Interpolated between two rows.
    #[inline(always)]
    fn between(rows: &[Self; 2], part: f32) -> Self {
        // No closures, which are not always built into what calls them.
        type Numbers = [f32; size_of::<Coefficients>() / size_of::<f32>()];
        let mut between: Numbers = bytemuck::cast(rows[0]);
        let high: &Numbers = bytemuck::cast_ref(&rows[1]);
        for (low, high) in between.iter_mut().zip(high) {
            *low += part * (high - *low);
        }
        bytemuck::cast(between)
    }
}

/// Coefficients by angle.
pub struct AngleTable {
    rows: Vec<Coefficients>,
}

impl AngleTable {
    pub fn new(kernel: &BeamKernel) -> Self {
        Self {
            rows: (0..ANGLES)
                .map(|i| {
                    let a: [[f64; TERMS]; CHANNELS] =
                        std::array::from_fn(|c| kernel.amplitudes_per_sr(c, i as f64 * STEP_DEG));
                    let pair = |first: usize, k: usize| {
                        [first, first + 1].map(|c| (a[c][k] / decay_per_cm(k)) as f32)
                    };
                    Coefficients {
                        sums: a.map(|a| a.iter().sum::<f64>() as f32),
                        primary: std::array::from_fn(|i| pair(0, PRIMARY.start + i)),
                        scatter: std::array::from_fn(|i| pair(2, SCATTER.start + i)),
                    }
                })
                .collect(),
        }
    }

    /// Coefficients at a place ([`place_of`]).
    #[inline(always)]
    pub fn at(&self, place: f32) -> Coefficients {
        let (row, part) = row_of(place);
        self.between(row, part)
    }

    /// Coefficients interpolated between a row and the next.
    #[inline(always)]
    pub fn between(&self, row: i32, part: f32) -> Coefficients {
        let row = row as usize;
        match self.rows[row..].first_chunk() {
            Some(rows) => Coefficients::between(rows, part),
            None => self.rows[row],
        }
    }

    /// Their sums alone.
    fn sums_at(&self, place: f32) -> [f32; CHANNELS] {
        let (row, part) = row_of(place);
        let [low, high] = [row, row + 1].map(|r| &self.rows[r as usize].sums);
        std::array::from_fn(|c| low[c] + part * (high[c] - low[c]))
    }
}

/// Row of an angle in the table, by its cosine: Abramowitz and Stegun 4.4.45, within 0.004 degrees.
#[inline(always)]
pub fn place_of(cos: f32) -> f32 {
    let x = cos.abs().min(1.0);
    let angle =
        (1.0 - x).sqrt() * (1.570_728_8 + x * (-0.212_114_4 + x * (0.074_261 + x * -0.018_729_3)));
    let angle = if cos < 0.0 {
        std::f32::consts::PI - angle
    } else {
        angle
    };
    angle * (180.0 / std::f32::consts::PI / STEP_DEG as f32)
}

/// The row below a place, not the last, and which part of the way to the next it lies.
#[inline(always)]
pub fn row_of(place: f32) -> (i32, f32) {
    // Rounded by adding a number whose last bit is 1: the compiler does not vectorise conversions.
    const ONES: f32 = 12_582_912.0;
    let row = (place - 0.5 + ONES).to_bits() as i32 - ONES.to_bits() as i32;
    let row = row.clamp(0, ANGLES as i32 - 2);
    (row, place - row as f32)
}

/// Factors that make every channel's energy exact for every tilt of the local ray against the beam axis.
#[derive(Clone)]
pub struct TiltNorm {
    /// Largest tangent of the tilt, each way.
    reach: f64,
    factors: Vec<[f32; CHANNELS]>,
}

impl TiltNorm {
    /// For rays whose tangents against the axis stay within `reach` in x and y of the directions' frame.
    pub fn new(table: &AngleTable, directions: &[Direction], reach: f64) -> Self {
        let reach = reach.max(1e-3);
        Self {
            reach,
            factors: (0..TILTS * TILTS)
                .into_par_iter()
                .map(|n| {
                    let tangent = |n: usize| (2.0 * n as f64 / (TILTS - 1) as f64 - 1.0) * reach;
                    let ray = DVec3::new(tangent(n % TILTS), tangent(n / TILTS), 1.0).normalize();
                    let mut sums = [0.0; CHANNELS];
                    for d in directions {
                        let coefficients = table.sums_at(place_of(d.axis.dot(ray) as f32));
                        for (sum, coefficients) in sums.iter_mut().zip(coefficients) {
                            *sum += d.solid_angle_sr * f64::from(coefficients);
                        }
                    }
                    sums.map(|s| (1.0 / s) as f32)
                })
                .collect(),
        }
    }

    /// Factor-by-factor ratio to another table with the same reach.
    pub fn over(&self, other: &Self) -> Self {
        Self {
            factors: self
                .factors
                .iter()
                .zip(&other.factors)
                .map(|(mine, theirs)| std::array::from_fn(|c| mine[c] / theirs[c]))
                .collect(),
            ..*self
        }
    }

    /// The table of factors, 17 x 17 tangents from minus to plus the reach, and the reach.
    pub fn factors(&self) -> (&[[f32; CHANNELS]], f64) {
        (&self.factors, self.reach)
    }

    /// Factors for a ray with these tangents, bilinear.
    pub fn at(&self, tangents: [f64; 2]) -> [f32; CHANNELS] {
        let last = (TILTS - 1) as f64;
        let place = tangents.map(|t| ((t / self.reach + 1.0) * 0.5 * last).clamp(0.0, last));
        let cell = place.map(|p| (p as usize).min(TILTS - 2));
        let [tx, ty] = [0, 1].map(|a| (place[a] - cell[a] as f64) as f32);
        let f = |i: usize, j: usize| &self.factors[(cell[1] + j) * TILTS + cell[0] + i];
        std::array::from_fn(|c| {
            let low = f(0, 0)[c] * (1.0 - tx) + f(1, 0)[c] * tx;
            let high = f(0, 1)[c] * (1.0 - tx) + f(1, 1)[c] * tx;
            low * (1.0 - ty) + high * ty
        })
    }

    /// Factors of the tabulated tilt next to a ray's.
    pub fn next_to(&self, tangents: [f32; 2]) -> [f32; CHANNELS] {
        let last = (TILTS - 1) as f32;
        let cell = tangents.map(|t| {
            let place = ((t / self.reach as f32 + 1.0) * 0.5 * last).clamp(0.0, last);
            (place + 0.5) as usize
        });
        self.factors[cell[1] * TILTS + cell[0]]
    }
}
