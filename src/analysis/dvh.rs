//! Dose-volume histograms.

use super::sampler::{Cell, Sampler};
use crate::engine::{Cancelled, JobControl};
use crate::geometry::{Grid, Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};
use thiserror::Error;

/// Bins between the least and the greatest dose of a structure.
const BINS: usize = 4096;

/// A structure of few voxels is sampled at several places in each, until it has about so many samples.
const ENOUGH_SAMPLES: usize = 60_000;

/// Most samples along each axis of a voxel.
const MOST_PER_AXIS: usize = 4;

/// Samples are no further apart than this across the planes: between thick ones a dose falls to little, and its greatest value stands
/// in the plane itself. mm.
const MOST_APART_MM: f64 = 5.0;

/// Structures smaller than this have a DVH of little meaning, cm3.
const SMALL_CM3: f64 = 1.0;

/// How dose is distributed over the volume of a structure.
///
/// The structure's voxels count by the fraction covered; dose is read trilinearly in patient space, from a grid that
/// need not be the mask's. What lies outside the dose grid has no dose, which is not zero: it is left out, and its
/// share stated ([`Self::outside_percent`]). All percentages are of the volume that has a dose.
#[derive(Clone, Debug, PartialEq)]
pub struct Dvh {
    volume_cm3: f64,
    outside_cm3: f64,
    not_a_number_cm3: f64,
    min_gy: f64,
    max_gy: f64,
    mean_gy: f64,
    /// Volume with at least the dose of bin edge `n`, cm3: falls from all of it at `min_gy` to 0 at `max_gy`.
    at_least_cm3: Vec<f64>,
}

/// Why a structure has no DVH.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
pub enum DvhError {
    #[error("the structure has no volume inside the image")]
    Empty,
    #[error("the structure lies wholly outside the dose grid")]
    Outside,
    #[error("the dose is not a number anywhere in the structure; compute or export it again")]
    NotANumber,
    #[error(transparent)]
    Cancelled(#[from] Cancelled),
}

impl Dvh {
    /// The DVH of a structure in a dose (Gy). Equal for any number of threads.
    ///
    /// # Errors
    /// [`DvhError`].
    pub fn new(mask: &Mask, dose_gy: &Volume<f32>, control: &JobControl) -> Result<Self, DvhError> {
        let source = Source::new(mask, dose_gy);
        let mut sums = Sums::default();
        for plane in source.planes(control, 0.0, Source::sums)? {
            sums.add(&plane);
        }
        let volume_cm3 = sums.inside_cm3 + sums.outside_cm3 + sums.not_a_number_cm3;
        if volume_cm3 <= 0.0 {
            return Err(DvhError::Empty);
        }
        if sums.inside_cm3 <= 0.0 {
            return Err(if sums.not_a_number_cm3 > 0.0 { DvhError::NotANumber } else { DvhError::Outside });
        }
        let (min_gy, max_gy) = (f64::from(sums.min_gy), f64::from(sums.max_gy));
        let mut bins = vec![0.0; BINS];
        for plane in source.planes(control, 0.5, |s, k| s.bins(k, min_gy, max_gy))? {
            bins.iter_mut().zip(plane).for_each(|(bin, more)| *bin += more);
        }
        let mut at_least_cm3 = vec![0.0; BINS + 1];
        for n in (0..BINS).rev() {
            at_least_cm3[n] = at_least_cm3[n + 1] + bins[n];
        }
        Ok(Self {
            volume_cm3,
            outside_cm3: sums.outside_cm3,
            not_a_number_cm3: sums.not_a_number_cm3,
            min_gy,
            max_gy,
            // Rounding must not push the mean of a uniform dose past its own bounds.
            mean_gy: (sums.gy_cm3 / sums.inside_cm3).clamp(min_gy, max_gy),
            at_least_cm3,
        })
    }

    /// Volume of the structure inside its image, with or without dose, cm3.
    pub fn volume_cm3(&self) -> f64 {
        self.volume_cm3
    }

    /// Share of the structure's volume outside the dose grid, percent.
    pub fn outside_percent(&self) -> f64 {
        100.0 * self.outside_cm3 / self.volume_cm3
    }

    /// Share of the structure's volume where the dose is not a number, percent.
    pub fn not_a_number_percent(&self) -> f64 {
        100.0 * self.not_a_number_cm3 / self.volume_cm3
    }

    pub fn min_gy(&self) -> f64 {
        self.min_gy
    }

    pub fn max_gy(&self) -> f64 {
        self.max_gy
    }

    pub fn mean_gy(&self) -> f64 {
        self.mean_gy
    }

    /// Volume that has a dose, cm3: what percentages refer to.
    fn dosed_cm3(&self) -> f64 {
        self.at_least_cm3[0]
    }

    /// D(v %): the dose that the hottest `percent` of the volume get at least, Gy.
    pub fn dose_at_percent(&self, percent: f64) -> f64 {
        self.dose_at_cm3(percent / 100.0 * self.dosed_cm3())
    }

    /// D(v cm3): the dose that the hottest `cm3` get at least, Gy; the least dose where the structure is smaller.
    pub fn dose_at_cm3(&self, cm3: f64) -> f64 {
        if cm3 >= self.dosed_cm3() {
            return self.min_gy;
        }
        // The first edge with less than the volume asked for; the one before it has more.
        let above = self.at_least_cm3.partition_point(|&v| v >= cm3.max(0.0)).min(BINS);
        if above == 0 {
            return self.min_gy;
        }
        let (more, less) = (self.at_least_cm3[above - 1], self.at_least_cm3[above]);
        let t = if more > less { ((more - cm3) / (more - less)).clamp(0.0, 1.0) } else { 0.0 };
        self.edge_gy((above - 1) as f64 + t)
    }

    /// V(Gy): share of the volume that gets at least `gy`, percent.
    pub fn percent_at(&self, gy: f64) -> f64 {
        100.0 * self.cm3_at(gy) / self.dosed_cm3()
    }

    /// V(Gy): volume that gets at least `gy`, cm3.
    pub fn cm3_at(&self, gy: f64) -> f64 {
        if gy <= self.min_gy {
            return self.dosed_cm3();
        }
        if gy > self.max_gy {
            return 0.0;
        }
        let at = (gy - self.min_gy) / (self.max_gy - self.min_gy) * BINS as f64;
        let n = (at as usize).min(BINS - 1);
        let (more, less) = (self.at_least_cm3[n], self.at_least_cm3[n + 1]);
        more + (less - more) * (at - n as f64)
    }

    /// The cumulative curve for drawing: (Gy, percent of volume that gets at least that), from 0 Gy on, ascending in
    /// dose, some hundred points.
    pub fn cumulative(&self) -> Vec<[f64; 2]> {
        const EVERY: usize = 16;
        let scale = 100.0 / self.dosed_cm3();
        let start = (self.min_gy > 0.0).then_some([0.0, 100.0]);
        let curve = (0..=BINS).step_by(EVERY).map(|n| [self.edge_gy(n as f64), self.at_least_cm3[n] * scale]);
        start.into_iter().chain(curve).collect()
    }

    /// The differential curve for drawing: (Gy at the middle of a bin, percent of volume per Gy). Empty for a uniform
    /// dose, where it has no height.
    pub fn differential(&self) -> Vec<[f64; 2]> {
        const EVERY: usize = 64;
        let width_gy = (self.max_gy - self.min_gy) * EVERY as f64 / BINS as f64;
        if width_gy <= 0.0 {
            return Vec::new();
        }
        let scale = 100.0 / self.dosed_cm3() / width_gy;
        let middle = EVERY as f64 / 2.0;
        let height = |n: usize| (self.at_least_cm3[n] - self.at_least_cm3[n + EVERY]) * scale;
        (0..BINS).step_by(EVERY).map(|n| [self.edge_gy(n as f64 + middle), height(n)]).collect()
    }

    /// What must be said beside the curve: share outside the dose grid, values that are no numbers, tiny volumes.
    pub fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        let outside = self.outside_percent();
        if outside >= 0.05 {
            remarks
                .push(format!("{outside:.1} % of the volume lie outside the dose grid and are not counted"));
        }
        let broken = self.not_a_number_percent();
        if broken > 0.0 {
            remarks
                .push(format!("the dose is not a number in {broken:.1} % of the volume; it is not counted"));
        }
        if self.volume_cm3 < SMALL_CM3 {
            remarks.push(format!("{:.2} cm3 only: too small for a reliable DVH", self.volume_cm3));
        }
        remarks
    }

    /// Dose at a (fractional) bin edge.
    fn edge_gy(&self, edge: f64) -> f64 {
        self.min_gy + (self.max_gy - self.min_gy) * edge / BINS as f64
    }
}

/// Where the samples come from: the voxels of a mask, read in a dose of another grid.
struct Source<'a> {
    mask: &'a Mask,
    sampler: Sampler<'a>,
    /// Centre of voxel (0,0,0) of the mask's grid, and its axes, in the dose grid's frame.
    origin: DVec3,
    axes: [DVec3; 3],
    /// Plane boundaries of the mask's grid.
    edges_z_mm: Vec<f64>,
    /// Samples along each axis of a voxel that is not thick.
    per_axis: usize,
    /// Whether thick voxels have more of them across.
    between_planes: bool,
    /// Where both grids have the same axes: for each sample along a row of the mask's box, the dose's columns.
    columns: Option<Columns>,
}

/// The dose's columns round each sample along a row of the mask's box.
struct Columns {
    /// `None` outside the dose grid.
    cells: Vec<Option<Cell>>,
    /// The columns that occur; the cells count from the first of them.
    used: Range<usize>,
}

/// What a first look at some samples gives.
#[derive(Clone, Copy)]
struct Sums {
    inside_cm3: f64,
    outside_cm3: f64,
    not_a_number_cm3: f64,
    gy_cm3: f64,
    min_gy: f32,
    max_gy: f32,
}

impl Default for Sums {
    fn default() -> Self {
        Self {
            inside_cm3: 0.0,
            outside_cm3: 0.0,
            not_a_number_cm3: 0.0,
            gy_cm3: 0.0,
            min_gy: f32::INFINITY,
            max_gy: f32::NEG_INFINITY,
        }
    }
}

impl Sums {
    fn add(&mut self, more: &Self) {
        self.inside_cm3 += more.inside_cm3;
        self.outside_cm3 += more.outside_cm3;
        self.not_a_number_cm3 += more.not_a_number_cm3;
        self.gy_cm3 += more.gy_cm3;
        self.min_gy = self.min_gy.min(more.min_gy);
        self.max_gy = self.max_gy.max(more.max_gy);
    }
}

/// Whether two grids have their voxels in the same places (to a thousandth of a mm, as files round them).
fn same_voxels(a: &Grid, b: &Grid) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
    let places = || a.corners_mm().into_iter().zip(b.corners_mm());
    let planes = || a.planes_mm().iter().zip(b.planes_mm());
    a.size() == b.size()
        && places().all(|(a, b)| near(a.distance(b), 0.0))
        && planes().all(|(&a, &b)| near(a, b))
}

impl<'a> Source<'a> {
    fn new(mask: &'a Mask, dose_gy: &'a Volume<f32>) -> Self {
        let (from, to) = (mask.grid(), dose_gy.grid());
        let covered = mask.coverage().iter().filter(|&&c| c > 0).count();
        let enough = |&s: &usize| covered * s * s * s >= ENOUGH_SAMPLES;
        let sampled = || (1..MOST_PER_AXIS).find(enough).unwrap_or(MOST_PER_AXIS);
        let same = same_voxels(from, to);
        let mut source = Self {
            mask,
            sampler: Sampler::new(dose_gy),
            origin: to.local_from_patient(from.origin_mm()),
            axes: from.axes().map(|axis| to.local_direction(axis)),
            edges_z_mm: from.edges_mm(2),
            // Where both are the same voxels the dose is known at their centres: reading between them would only
            // blur it.
            per_axis: if same { 1 } else { sampled() },
            between_planes: !same,
            columns: None,
        };
        source.columns = source.columns();
        source
    }

    /// The columns of each sample along a row, where rows of the mask run along rows of the dose.
    fn columns(&self) -> Option<Columns> {
        let along = self.axes.iter().zip([DVec3::X, DVec3::Y, DVec3::Z]);
        // Over the largest grids the ends of the rows then differ by less than a thousandth of a mm.
        if along.into_iter().any(|(axis, own)| axis.distance(own) > 1e-6) {
            return None;
        }
        let x_mm = |n: usize| self.origin.x + self.x_mm(n / self.per_axis, n % self.per_axis);
        let count = self.mask.size()[0] * self.per_axis;
        let mut cells: Vec<Option<Cell>> = (0..count).map(|n| self.sampler.columns_at(x_mm(n))).collect();
        let first = cells.iter().flatten().map(|c| c.0).min().unwrap_or(0);
        let end = cells.iter().flatten().map(|c| c.1 + 1).max().unwrap_or(first);
        cells.iter_mut().flatten().for_each(|c| *c = (c.0 - first, c.1 - first, c.2));
        Some(Columns { cells, used: first..end })
    }

    /// Place of sample `s` of the box's column `x` along the rows of the mask's grid, mm.
    fn x_mm(&self, x: usize, s: usize) -> f64 {
        let dx = self.mask.grid().spacing_xy_mm()[0];
        ((self.mask.offset()[0] + x) as f64 - 0.5 + (s as f64 + 0.5) / self.per_axis as f64) * dx
    }

    /// Samples across a plane: of a thick one an odd number, so that its middle is read.
    fn across(&self, thickness_mm: f64) -> usize {
        let fine = (thickness_mm / MOST_APART_MM - 1e-6).ceil() as usize;
        if self.between_planes && fine > 1 { self.per_axis.max(fine | 1) } else { self.per_axis }
    }

    /// Something of every plane of the mask's box: computed in parallel, returned in order.
    fn planes<T: Send>(
        &self,
        control: &JobControl,
        done_before: f32,
        each: impl Fn(&Self, usize) -> T + Sync,
    ) -> Result<Vec<T>, Cancelled> {
        let count = self.mask.size()[2];
        let done = AtomicUsize::new(0);
        let one = |plane| {
            control.check()?;
            let answer = each(self, plane);
            let done = done.fetch_add(1, Ordering::Relaxed) + 1;
            control.report(done_before + 0.5 * done as f32 / count as f32);
            Ok(answer)
        };
        (0..count).into_par_iter().map(one).collect()
    }

    /// Visits all samples of one plane of the mask's box: the dose, `None` outside its grid, and the volume it stands
    /// for, cm3.
    fn visit(&self, plane: usize, mut each: impl FnMut(Option<f32>, f64)) {
        let [sx, sy, _] = self.mask.size();
        let [_, j0, k0] = self.mask.offset();
        let [dx, dy] = self.mask.grid().spacing_xy_mm();
        let k = k0 + plane;
        let (bottom, top) = (self.edges_z_mm[k], self.edges_z_mm[k + 1]);
        let (n, across) = (self.per_axis, self.across(top - bottom));
        let cm3 = dx * dy * (top - bottom) / 1000.0 / (n * n * across) as f64 / 255.0;
        let at = |s: usize, n: usize| (s as f64 + 0.5) / n as f64;
        let box_plane = &self.mask.coverage()[plane * sx * sy..(plane + 1) * sx * sy];
        let mut values = Vec::new();
        for (y, row) in box_plane.chunks_exact(sx).enumerate() {
            if row.iter().all(|c| *c == 0) {
                continue;
            }
            for sub in 0..n * across {
                let z_mm = bottom + (top - bottom) * at(sub / n, across);
                let y_mm = ((j0 + y) as f64 - 0.5 + at(sub % n, n)) * dy;
                let start = self.origin + self.axes[1] * y_mm + self.axes[2] * z_mm;
                let covered = row.iter().enumerate().filter(|(_, c)| **c > 0);
                if let Some(columns) = &self.columns {
                    let there = self.sampler.row_at(start.y, start.z, columns.used.clone(), &mut values);
                    for (x, &coverage) in covered {
                        for cell in &columns.cells[x * n..(x + 1) * n] {
                            let gy = cell.filter(|_| there).map(|c| between(&values, c));
                            each(gy, f64::from(coverage) * cm3);
                        }
                    }
                } else {
                    for (x, &coverage) in covered {
                        for s in 0..n {
                            let gy = self.sampler.at_local(start + self.axes[0] * self.x_mm(x, s));
                            each(gy, f64::from(coverage) * cm3);
                        }
                    }
                }
            }
        }
    }

    fn sums(&self, plane: usize) -> Sums {
        let mut sums = Sums::default();
        self.visit(plane, |gy, cm3| match gy {
            None => sums.outside_cm3 += cm3,
            Some(gy) if !gy.is_finite() => sums.not_a_number_cm3 += cm3,
            Some(gy) => {
                sums.inside_cm3 += cm3;
                sums.gy_cm3 += f64::from(gy) * cm3;
                sums.min_gy = sums.min_gy.min(gy);
                sums.max_gy = sums.max_gy.max(gy);
            }
        });
        sums
    }

    fn bins(&self, plane: usize, min_gy: f64, max_gy: f64) -> Vec<f64> {
        let mut bins = vec![0.0; BINS];
        let per_gy = if max_gy > min_gy { BINS as f64 / (max_gy - min_gy) } else { 0.0 };
        self.visit(plane, |gy, cm3| {
            if let Some(gy) = gy.filter(|gy| gy.is_finite()) {
                let n = ((f64::from(gy) - min_gy) * per_gy) as usize;
                bins[n.min(BINS - 1)] += cm3;
            }
        });
        bins
    }
}

/// The value between two columns; a neighbour of weight nothing does not count, even if it is no number.
fn between(values: &[f32], (a, b, t): Cell) -> f32 {
    let low = values[a];
    if t == 0.0 { low } else { low + (values[b] - low) * t as f32 }
}

#[cfg(test)]
mod tests;
