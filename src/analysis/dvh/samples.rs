//! The samples of a structure: positions in the voxels of its mask, at which a dose on another grid is read.

use super::super::sampler::{Cell, Sampler};
use super::histogram::Bins;
use engine::{Cancelled, JobControl};
use geometry::{Grid, Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A structure of few voxels gets several samples in each, about this many in all.
const ENOUGH_SAMPLES: usize = 60_000;

/// Most samples along each axis of a voxel.
const MOST_PER_AXIS: usize = 8;

/// Most samples across a thick plane.
const MOST_ACROSS: usize = 65;

/// Most samples that are held in memory; with more the dose is read twice.
const MOST_HELD: usize = 1_000_000;

/// From this volume on, cm3, a structure drawn on the voxels of the dose is read only at their centres.
const LARGE_CM3: f64 = 5.0;

/// Greatest distance of samples across the planes, mm: between thick ones a dose falls to little, and its
/// greatest value stands in the plane itself.
const MOST_APART_MM: f64 = 5.0;

/// Samples of a preview, about, at least and at most. Its dose lies on voxels of several mm: more samples cost more time than the
/// dose, and show nothing more.
const PREVIEW_SAMPLES: [usize; 2] = [2_000, 200_000];

/// How densely a structure is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Sampling {
    Full,
    /// For a dose that is itself a preview.
    Preview,
}

/// The voxels of a mask, and a dose on another grid that is read in them.
pub struct MaskedDose<'a> {
    mask: &'a Mask,
    sampler: Sampler<'a>,
    /// Centre of voxel (0,0,0) of the mask's grid, and its axes, in the dose grid's frame.
    origin: DVec3,
    axes: [DVec3; 3],
    /// Plane boundaries of the mask's grid.
    edges_z_mm: Vec<f64>,
    /// Samples along each axis of a voxel that is not thick.
    per_axis: usize,
    /// Whether the voxels of the mask are those of the dose.
    on_dose_grid: bool,
    /// Whether the dose is read only at the centres of its own voxels.
    centres: bool,
    /// Whether a sample stands for the range of doses across it. A list of whole voxels of the dose has one dose in each.
    wide: bool,
    /// Whether the samples are held; else the dose is read twice.
    held: bool,
    /// One row of so many is read.
    rows_apart: usize,
    /// The volume of the structure over that of the rows that are read.
    scale: f64,
    /// The dose's columns at each sample along a row of the mask's box, where both grids have the same axes.
    pub(super) columns: Option<Columns>,
}

/// The dose's columns round each sample along a row of the mask's box.
pub struct Columns {
    /// `None` outside the dose grid.
    cells: Vec<Option<Cell>>,
    /// The columns in use; the cells count from the first of them.
    used: Range<usize>,
}

/// The dose in a part of a voxel.
#[derive(Clone, Copy, Debug)]
pub struct SampledDose {
    /// In the middle.
    pub gy: f32,
    /// The square of the half-width of an even spread of doses that varies as the dose in the part does.
    pub half_gy2: f32,
}

/// A sample that is held: its dose and the volume that it represents, cm3.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// Outside the dose grid the half-width is negative: with an option a sample would take half as much memory again.
    dose: SampledDose,
    cm3: f64,
}

impl Sample {
    fn new(dose: Option<SampledDose>, cm3: f64) -> Self {
        Self { dose: dose.unwrap_or(SampledDose { gy: f32::NAN, half_gy2: -1.0 }), cm3 }
    }

    /// The dose, `None` outside the dose grid, and the volume.
    pub fn parts(&self) -> (Option<SampledDose>, f64) {
        (Some(self.dose).filter(|dose| dose.half_gy2 >= 0.0), self.cm3)
    }
}

/// The sums of the first pass over some samples.
#[derive(Clone, Copy, Debug)]
pub struct Sums {
    pub inside_cm3: f64,
    pub outside_cm3: f64,
    pub not_a_number_cm3: f64,
    pub gy_cm3: f64,
    pub min_gy: f32,
    pub max_gy: f32,
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
    pub fn count(&mut self, dose: Option<SampledDose>, cm3: f64) {
        match dose.map(|dose| dose.gy) {
            None => self.outside_cm3 += cm3,
            Some(gy) if !gy.is_finite() => self.not_a_number_cm3 += cm3,
            Some(gy) => {
                self.inside_cm3 += cm3;
                self.gy_cm3 += f64::from(gy) * cm3;
                self.min_gy = self.min_gy.min(gy);
                self.max_gy = self.max_gy.max(gy);
            }
        }
    }

    pub fn volume_cm3(&self) -> f64 {
        self.inside_cm3 + self.outside_cm3 + self.not_a_number_cm3
    }

    pub fn add(&mut self, more: &Self) {
        self.inside_cm3 += more.inside_cm3;
        self.outside_cm3 += more.outside_cm3;
        self.not_a_number_cm3 += more.not_a_number_cm3;
        self.gy_cm3 += more.gy_cm3;
        self.reach([more.min_gy, more.max_gy]);
    }

    /// Lets the least and the greatest dose reach others.
    pub fn reach(&mut self, [min_gy, max_gy]: [f32; 2]) {
        self.min_gy = self.min_gy.min(min_gy);
        self.max_gy = self.max_gy.max(max_gy);
    }
}

/// Whether the voxels of two grids coincide (to a thousandth of a mm, as files round them).
fn same_voxels(a: &Grid, b: &Grid) -> bool {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-3;
    let places = || a.corners_mm().into_iter().zip(b.corners_mm());
    let planes = || a.planes_mm().iter().zip(b.planes_mm());
    a.size() == b.size()
        && places().all(|(a, b)| near(a.distance(b), 0.0))
        && planes().all(|(&a, &b)| near(a, b))
}

impl<'a> MaskedDose<'a> {
    pub fn new(mask: &'a Mask, dose_gy: &'a Volume<f32>, sampling: Sampling) -> Self {
        let (from, to) = (mask.grid(), dose_gy.grid());
        let covered = mask.covered();
        let (least, rows_apart) = match sampling {
            Sampling::Full => (ENOUGH_SAMPLES, 1),
            Sampling::Preview => (PREVIEW_SAMPLES[0], covered.div_ceil(PREVIEW_SAMPLES[1]).max(1)),
        };
        let enough = |&s: &usize| covered * s * s * s >= least;
        let sampled = || (1..MOST_PER_AXIS).find(enough).unwrap_or(MOST_PER_AXIS);
        // On equal voxels the dose is known at their centres: interpolation only blurs it, unless they are
        // few.
        let on_dose_grid = same_voxels(from, to);
        let centres = on_dose_grid && mask.volume_cm3() >= LARGE_CM3;
        let mut source = Self {
            mask,
            sampler: Sampler::new(dose_gy),
            origin: to.local_from_patient(from.origin_mm()),
            axes: from.axes().map(|axis| to.local_direction(axis)),
            edges_z_mm: from.edges_mm(2),
            per_axis: if centres { 1 } else { sampled() },
            on_dose_grid,
            centres,
            wide: !(centres && mask.has_whole_voxels_only()),
            held: false,
            rows_apart,
            scale: 1.0,
            columns: None,
        };
        let planes = source.edges_z_mm.windows(2).map(|edges| source.across(edges[1] - edges[0]));
        let in_a_voxel = source.per_axis * source.per_axis * planes.max().unwrap_or(1);
        let is_preview = sampling == Sampling::Preview;
        source.held = (source.per_axis > 1 || is_preview)
            && covered.div_ceil(rows_apart).saturating_mul(in_a_voxel) <= MOST_HELD;
        if rows_apart > 1 {
            source.scale = source.whole_over_read();
        }
        source.columns = source.columns();
        source
    }

    /// Whether a row of the mask's box is read. Rows of neighbouring planes are staggered by the golden section, so that those
    /// read lie evenly in the structure.
    fn reads(&self, y: usize, plane: usize) -> bool {
        let stagger = (0.382 * self.rows_apart as f64).round() as usize;
        (y + plane * stagger).is_multiple_of(self.rows_apart)
    }

    /// The volume of the structure over that of the rows that are read; reads all where those have none.
    fn whole_over_read(&mut self) -> f64 {
        let [_, height, count] = self.mask.size();
        let first = self.mask.offset()[2];
        let of_plane = |plane: usize| -> f64 {
            let rows = (0..height).filter(|y| self.reads(*y, plane));
            let covered: u64 = rows.flat_map(|y| self.mask.row(y, plane).1).map(|c| u64::from(*c)).sum();
            covered as f64 / 255.0 * self.mask.grid().voxel_cm3(first + plane)
        };
        let read_cm3: f64 = (0..count).map(of_plane).sum();
        if read_cm3 > 0.0 {
            return self.mask.volume_cm3() / read_cm3;
        }
        self.rows_apart = 1;
        1.0
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
        // The neighbours beyond the ends tell the gradient there.
        let (first, end) = (first.saturating_sub(1), (end + 1).min(self.sampler.grid().size()[0]));
        cells.iter_mut().flatten().for_each(|c| *c = (c.0 - first, c.1 - first, c.2));
        Some(Columns { cells, used: first..end })
    }

    /// Place of sample `s` of the box's column `x` along the rows of the mask's grid, mm.
    fn x_mm(&self, x: usize, s: usize) -> f64 {
        let dx = self.mask.grid().spacing_xy_mm()[0];
        ((self.mask.offset()[0] + x) as f64 - 0.5 + (s as f64 + 0.5) / self.per_axis as f64) * dx
    }

    /// Samples across a plane: an odd number for a thick one, so that its middle is read.
    fn across(&self, thickness_mm: f64) -> usize {
        let fine = (thickness_mm / MOST_APART_MM - 1e-6).ceil() as usize;
        if !self.centres && fine > 1 { self.per_axis.max((fine | 1).min(MOST_ACROSS)) } else { self.per_axis }
    }

    /// A value of every plane of the mask's box: computed in parallel, returned in order.
    pub fn planes<T: Send>(
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

    /// Visits all samples of one plane of the mask's box: the dose, `None` outside its grid, and the volume
    /// that it represents, cm3. Without `WIDE` half-widths of doses are 0, which is all that sums need.
    ///
    /// The dose is linear across a sample's box, so its variance there is that of three even spreads, one an axis. A single
    /// even spread of the same variance stands for them: half-widths of the axes add in squares.
    fn visit<const WIDE: bool>(&self, plane: usize, mut each: impl FnMut(Option<SampledDose>, f64)) {
        let [_, j0, k0] = self.mask.offset();
        let [dx, dy] = self.mask.grid().spacing_xy_mm();
        let k = k0 + plane;
        let (bottom, top) = (self.edges_z_mm[k], self.edges_z_mm[k + 1]);
        let (n, across) = (self.per_axis, self.across(top - bottom));
        let sample_cm3 = self.scale * dx * dy * (top - bottom) / 1000.0 / (n * n * across) as f64;
        let half_mm = [0.5 * dx / n as f64, 0.5 * dy / n as f64, 0.5 * (top - bottom) / across as f64];
        let (mut values, mut changes_sq, mut firsts, mut shares) =
            (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for y in (0..self.mask.size()[1]).filter(|y| self.reads(*y, plane)) {
            let (first, row) = self.mask.row(y, plane);
            if row.iter().all(|c| *c == 0) {
                continue;
            }
            let covered = || (first..).zip(row).filter(|(_, c)| **c > 0);
            // A single sample represents all of its voxel that is covered; each of several has its own share.
            if n > 1 {
                firsts.clear();
                shares.clear();
                for (x, _) in covered().filter(|(_, c)| **c < 255) {
                    firsts.push(shares.len());
                    self.add_shares([x, y, plane], across, &mut shares);
                }
            }
            for sub in 0..n * across {
                let z_mm = bottom + (top - bottom) * part(sub / n, across);
                let y_mm = ((j0 + y) as f64 - 0.5 + part(sub % n, n)) * dy;
                let start = self.origin + self.axes[1] * y_mm + self.axes[2] * z_mm;
                // All samples along a row read the same four rows of the dose: these are combined once.
                let there = self.columns.as_ref().is_some_and(|columns| {
                    let (used, row) = (columns.used.clone(), (&mut values, &mut changes_sq));
                    if WIDE && self.centres {
                        self.sampler.voxels_with_changes_at([start.y, start.z], half_mm, used, row)
                    } else if WIDE {
                        self.sampler.row_with_changes_at([start.y, start.z], half_mm, used, row)
                    } else {
                        self.sampler.row_at(start.y, start.z, used, row.0)
                    }
                });
                let reading = |c: Cell| {
                    let at = if self.centres && c.2 >= 0.5 { c.1 } else { c.0 };
                    let half_gy2 = if WIDE { changes_sq[at] } else { 0.0 };
                    SampledDose { gy: between(&values, c), half_gy2 }
                };
                // One sample a voxel at a known position along the row: the loop of large structures.
                if let (1, Some(columns)) = (n, &self.columns) {
                    for (x, &coverage) in covered() {
                        let dose = columns.cells[x].filter(|_| there).map(reading);
                        each(dose, f64::from(coverage) * (sample_cm3 / 255.0));
                    }
                    continue;
                }
                let mut parted = firsts.iter().map(|first| first + sub * n);
                for (x, &coverage) in covered() {
                    let by_sample = if n > 1 && coverage < 255 { parted.next() } else { None };
                    for s in 0..n {
                        let share = by_sample
                            .map_or(f64::from(coverage) / 255.0, |first| f64::from(shares[first + s]));
                        if share <= 0.0 {
                            continue;
                        }
                        let dose = match &self.columns {
                            Some(columns) => columns.cells[x * n + s].filter(|_| there).map(reading),
                            None => self.read::<WIDE>(start + self.axes[0] * self.x_mm(x, s), half_mm),
                        };
                        each(dose, share * sample_cm3);
                    }
                }
            }
        }
    }

    /// The dose round a position in the dose grid's frame, in a part of a voxel of the mask.
    fn read<const WIDE: bool>(&self, local_mm: DVec3, half_mm: [f64; 3]) -> Option<SampledDose> {
        if !WIDE {
            return self.sampler.at_local(local_mm).map(|gy| SampledDose { gy, half_gy2: 0.0 });
        }
        let (gy, gradient) = self.sampler.with_gradient(local_mm)?;
        let half_gy2: f64 =
            self.axes.iter().zip(half_mm).map(|(axis, mm)| (gradient.dot(*axis) * mm).powi(2)).sum();
        let half_gy2 = if half_gy2.is_finite() { half_gy2 as f32 } else { 0.0 };
        Some(SampledDose { gy, half_gy2 })
    }

    /// The least and the greatest dose of a plane's samples, and of those voxels of the dose whose centres lie in voxels of the plane
    /// that are covered by half or more: a dose interpolated linearly has its peaks there, between the samples. Where
    /// samples are the voxels of the dose they have the peaks.
    fn with_peaks_gy(&self, plane: usize, mut range_gy: [f32; 2]) -> [f32; 2] {
        if self.centres {
            return range_gy;
        }
        let (own, dose) = (self.mask.grid(), self.sampler.grid());
        let ([i0, j0, k0], [width, height, _]) = (self.mask.offset(), self.mask.size());
        let [dx, dy] = own.spacing_xy_mm();
        let low = DVec3::new((i0 as f64 - 0.5) * dx, (j0 as f64 - 0.5) * dy, self.edges_z_mm[k0 + plane]);
        let high = DVec3::new(
            low.x + width as f64 * dx,
            low.y + height as f64 * dy,
            self.edges_z_mm[k0 + plane + 1],
        );
        // The rows of the dose that may pass through the plane's box.
        let corner = |n: usize| {
            let at = |axis: usize| if n >> axis & 1 == 0 { low[axis] } else { high[axis] };
            self.origin + self.axes[0] * at(0) + self.axes[1] * at(1) + self.axes[2] * at(2)
        };
        let (first, last) = (1..8).map(corner).fold((corner(0), corner(0)), |(a, b), c| (a.min(c), b.max(c)));
        let ([sx, sy, _], [step_x, step_y], z_mm) = (dose.size(), dose.spacing_xy_mm(), dose.planes_mm());
        let rows = (first.y / step_y).ceil().max(0.0) as usize..((last.y / step_y + 1.0) as usize).min(sy);
        let planes = z_mm.partition_point(|z| *z < first.z)..z_mm.partition_point(|z| *z <= last.z);
        let origin = own.local_from_patient(dose.origin_mm());
        let [along_x, along_y, along_z] = dose.axes().map(|axis| own.local_direction(axis));
        for (k, j) in planes.flat_map(|k| rows.clone().map(move |j| (k, j))) {
            let start = origin + along_y * (j as f64 * step_y) + along_z * z_mm[k];
            let step = along_x * step_x;
            let Some([from, to]) = part_within(start, step, low, high) else { continue };
            let columns = from.ceil().max(0.0) as usize..((to + 1.0).max(0.0) as usize).min(sx);
            let row = &self.sampler.data()[dose.index(0, j, k)..][..sx];
            for (i, &gy) in row.iter().enumerate().take(columns.end).skip(columns.start) {
                // Only a dose beyond the range so far is worth the place of its voxel.
                if (gy < range_gy[0] || gy > range_gy[1]) && gy.is_finite() {
                    let at = (start + step * i as f64 - low) / DVec3::new(dx, dy, 1.0);
                    let voxel = [(at.x as usize).min(width - 1), (at.y as usize).min(height - 1), plane];
                    if self.mask.value(voxel) >= 128 {
                        range_gy = [range_gy[0].min(gy), range_gy[1].max(gy)];
                    }
                }
            }
        }
        range_gy
    }

    /// Adds the share of the structure in each sample of a partly covered voxel: its surface in the voxel is
    /// approximated by the plane across the gradient of coverage that cuts off the covered part (Youngs 1982,
    /// "Time-dependent multi-material flow with large fluid distortion"; there for fluids).
    fn add_shares(&self, [x, y, z]: [usize; 3], across: usize, shares: &mut Vec<f32>) {
        let (size, n) = (self.mask.size(), self.per_axis);
        let at = |voxel: [usize; 3]| self.mask.value(voxel);
        // The gradient is per voxel, as the positions of samples are: the voxel's sides cancel.
        let mut gradient = [0.0_f32; 3];
        for around in 0..27 {
            let step = [around % 3, around / 3 % 3, around / 9];
            let place: [usize; 3] = std::array::from_fn(|a| ([x, y, z][a] + step[a]).wrapping_sub(1));
            if (0..3).any(|a| place[a] >= size[a]) {
                continue;
            }
            let weight = step.map(|s| if s == 1 { 2.0 } else { 1.0 }).iter().product::<f32>();
            let covered = weight * f32::from(at(place));
            (0..3).for_each(|a| gradient[a] += covered * (step[a] as f32 - 1.0));
        }
        let depth = |i: usize| {
            let [sx, sy, sz] = [part(i % n, n), part(i / n % n, n), part(i / (n * n), across)];
            gradient[0] * sx as f32 + gradient[1] * sy as f32 + gradient[2] * sz as f32
        };
        let count = n * n * across;
        let inside = f32::from(at([x, y, z])) / 255.0 * count as f32;
        let first = shares.len();
        shares.extend((0..count).map(depth));
        let mut sorted = shares[first..].to_vec();
        let last = (inside as usize).min(count - 1);
        let (_, &mut surface, _) = sorted.select_nth_unstable_by(last, |a, b| b.total_cmp(a));
        let deeper = sorted.iter().filter(|d| **d > surface).count() as f32;
        let level = sorted.iter().filter(|d| **d == surface).count() as f32;
        // Samples on the surface share the rest.
        let left = (inside - deeper) / level;
        for d in &mut shares[first..] {
            *d = if *d > surface {
                1.0
            } else if *d < surface {
                0.0
            } else {
                left
            };
        }
    }

    /// Volume of the structure's contours outside the mask's grid, which no sample represents, cm3.
    pub fn outside_mask_cm3(&self) -> f64 {
        self.mask.outside_cm3()
    }

    /// Whether the mask's voxels are those of the dose.
    pub fn on_dose_grid(&self) -> bool {
        self.on_dose_grid
    }

    /// Whether each voxel has one sample, and there are too many to be held: a plane's samples then depend on its own
    /// voxels alone.
    pub fn reads_voxels_once(&self) -> bool {
        self.per_axis == 1 && !self.held && !self.centres
    }

    /// Whether the samples are few enough to be held; else the dose is read twice.
    pub fn is_held(&self) -> bool {
        self.held
    }

    /// The samples of a plane, in the order of visits.
    pub fn samples(&self, plane: usize) -> Vec<Sample> {
        let mut samples = Vec::new();
        let each = |dose, cm3| samples.push(Sample::new(dose, cm3));
        if self.wide {
            self.visit::<true>(plane, each)
        } else {
            self.visit::<false>(plane, each)
        }
        samples
    }

    /// The samples of a plane, and their sums.
    pub fn samples_and_sums(&self, plane: usize) -> (Vec<Sample>, Sums) {
        let samples = self.samples(plane);
        let mut sums = Sums::default();
        samples.iter().map(Sample::parts).for_each(|(dose, cm3)| sums.count(dose, cm3));
        sums.reach(self.with_peaks_gy(plane, [sums.min_gy, sums.max_gy]));
        (samples, sums)
    }

    pub fn sums(&self, plane: usize) -> Sums {
        let mut sums = Sums::default();
        self.visit::<false>(plane, |dose, cm3| sums.count(dose, cm3));
        sums.reach(self.with_peaks_gy(plane, [sums.min_gy, sums.max_gy]));
        sums
    }

    pub fn bins(&self, plane: usize, min_gy: f64, max_gy: f64) -> Bins {
        let mut bins = Bins::new(min_gy, max_gy);
        let each = |dose, cm3| bins.count(dose, cm3);
        if self.wide {
            self.visit::<true>(plane, each)
        } else {
            self.visit::<false>(plane, each)
        }
        bins
    }
}

/// The part of the line `start + t step` within a box: the least and the greatest `t`.
fn part_within(start: DVec3, step: DVec3, low: DVec3, high: DVec3) -> Option<[f64; 2]> {
    let mut range = [f64::NEG_INFINITY, f64::INFINITY];
    for axis in 0..3 {
        let [a, b] = [low, high].map(|face| face[axis] - start[axis]);
        if step[axis].abs() < 1e-9 {
            if a > 0.0 || b < 0.0 {
                return None;
            }
            continue;
        }
        let [a, b] = [a / step[axis], b / step[axis]];
        range = [range[0].max(a.min(b)), range[1].min(a.max(b))];
    }
    (range[0] <= range[1]).then_some(range)
}

/// Position of sample `s` of `n` along a side of a voxel, as a share of it.
pub fn part(s: usize, n: usize) -> f64 {
    (s as f64 + 0.5) / n as f64
}

/// The value between two columns; a neighbour of zero weight does not count, even if it is NaN.
pub fn between(values: &[f32], (a, b, t): Cell) -> f32 {
    let low = values[a];
    if t == 0.0 { low } else { low + (values[b] - low) * t as f32 }
}
