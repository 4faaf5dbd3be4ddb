//! The samples of a structure: positions in the voxels of its mask, at which a dose on another grid is read.

use super::super::sampler::Sampler;
use super::held::HeldSamples;
use super::histogram::Bins;
use super::row::{Columns, DoseRow, Visitor};
use super::sums::Sums;
use engine::{Cancelled, JobControl};
use geometry::{Division, Grid, MOST_PARTS, Mask, PartShares, Volume, middle_of_part};
use glam::DVec3;
use rayon::prelude::*;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A structure of few voxels gets several samples in each, about this many in all.
const ENOUGH_SAMPLES: usize = 60_000;

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
    /// The share of the structure in each of several samples of a voxel that is covered in part.
    parts: Option<Arc<PartShares>>,
    /// Whether the voxels of mask and dose coincide.
    on_dose_grid: bool,
    /// Whether the dose is read only at the centres of its voxels.
    centres: bool,
    /// Whether a sample stands for the range of doses across it. A list of whole voxels of the dose has one dose in each.
    wide: bool,
    /// Whether the samples are held; else the dose is read twice.
    held: bool,
    /// Step in rows of the mask: one row of this number is read.
    rows_apart: usize,
    /// Ratio of the structure's volume to the volume in the rows that are read.
    scale: f64,
    /// The dose's columns at each sample along a row of the mask's box, where both grids have the same axes.
    pub(super) columns: Option<Columns>,
}

/// The dose in a part of a voxel.
#[derive(Clone, Copy, Debug)]
pub struct SampledDose {
    /// In the middle.
    pub gy: f32,
    /// The square of the half-width of an even spread of doses that varies as the dose in the part does.
    pub half_gy2: f32,
}

/// Whether the voxels of two grids coincide (to a thousandth of a mm, as files round them).
fn same_voxels(a: &Grid, b: &Grid) -> bool {
    a.size() == b.size()
        && a.corners_mm()
            .into_iter()
            .zip(b.corners_mm())
            .all(|(a, b)| a.distance(b) < 1e-3)
        && a.planes_mm()
            .iter()
            .zip(b.planes_mm())
            .all(|(a, b)| (a - b).abs() < 1e-3)
}

impl<'a> MaskedDose<'a> {
    pub fn new(mask: &'a Mask, dose_gy: &'a Volume<f32>, sampling: Sampling) -> Self {
        let (from, to) = (mask.grid(), dose_gy.grid());
        let covered = mask.covered();
        let (min_samples, rows_apart) = match sampling {
            Sampling::Full => (ENOUGH_SAMPLES, 1),
            Sampling::Preview => (
                PREVIEW_SAMPLES[0],
                covered.div_ceil(PREVIEW_SAMPLES[1]).max(1),
            ),
        };
        // On equal voxels the dose is known at their centres: interpolation only blurs it, unless they are
        // few.
        let on_dose_grid = same_voxels(from, to);
        let centres = on_dose_grid && mask.volume_cm3() >= LARGE_CM3;
        let per_axis = if centres {
            1
        } else {
            (1..MOST_PARTS)
                .find(|&s| covered * s * s * s >= min_samples)
                .unwrap_or(MOST_PARTS)
        };
        let mut source = Self {
            mask,
            sampler: Sampler::new(dose_gy),
            origin: to.local_from_patient(from.origin_mm()),
            axes: from.axes().map(|axis| to.local_direction(axis)),
            edges_z_mm: from.edges_mm(2),
            per_axis,
            parts: None,
            on_dose_grid,
            centres,
            wide: !(centres && mask.has_whole_voxels_only()),
            held: false,
            rows_apart,
            scale: 1.0,
            columns: None,
        };
        let across: Vec<usize> = source
            .edges_z_mm
            .windows(2)
            .map(|edges| source.across(edges[1] - edges[0]))
            .collect();
        let in_a_voxel = source.per_axis * source.per_axis * across.iter().max().unwrap_or(&1);
        let is_preview = sampling == Sampling::Preview;
        source.held = (source.per_axis > 1 || is_preview)
            && covered.div_ceil(rows_apart).saturating_mul(in_a_voxel) <= MOST_HELD;
        if rows_apart > 1 {
            source.scale = source.whole_over_read();
        }
        source.columns = source.columns();
        if source.per_axis > 1 {
            let across = across[mask.offset()[2]..][..mask.size()[2]].to_vec();
            source.parts = Some(mask.parts(Division {
                along: source.per_axis,
                across,
            }));
        }
        source
    }

    /// Whether a row of the mask's box is read. Rows of neighbouring planes are staggered by the golden section, so that those
    /// read lie evenly in the structure.
    fn reads(&self, y: usize, plane: usize) -> bool {
        let stagger = (0.382 * self.rows_apart as f64).round() as usize;
        (y + plane * stagger).is_multiple_of(self.rows_apart)
    }

    /// Ratio of the structure's volume to the volume in the rows that are read; all rows are read if these have none.
    fn whole_over_read(&mut self) -> f64 {
        let [_, height, count] = self.mask.size();
        let first = self.mask.offset()[2];
        let planes_cm3 = (0..count).map(|plane| {
            let rows = (0..height).filter(|y| self.reads(*y, plane));
            let covered: u64 = rows
                .flat_map(|y| self.mask.row(y, plane).1)
                .map(|c| u64::from(*c))
                .sum();
            covered as f64 / 255.0 * self.mask.grid().voxel_cm3(first + plane)
        });
        let read_cm3: f64 = planes_cm3.sum();
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
        if along
            .into_iter()
            .any(|(axis, patient_axis)| axis.distance(patient_axis) > 1e-6)
        {
            return None;
        }
        let count = self.mask.size()[0] * self.per_axis;
        let cell = |n: usize| self.sampler.columns_at(self.origin.x + self.x_mm(n));
        let first = (0..count).find(|n| cell(*n).is_some()).unwrap_or(0);
        let cells: Vec<(u32, f32)> = (first..count)
            .map_while(cell)
            .map(|(low, _, share)| (low as u32, share as f32))
            .collect();
        Some(Columns {
            within: first..first + cells.len(),
            cells,
        })
    }

    /// Place of a sample along a row of the mask's box, mm along the rows of its grid.
    fn x_mm(&self, sample: usize) -> f64 {
        let dx = self.mask.grid().spacing_xy_mm()[0];
        let per_voxel = self.per_axis as f64;
        (self.mask.offset()[0] as f64 - 0.5) * dx + (sample as f64 + 0.5) * (dx / per_voxel)
    }

    /// Samples across a plane: an odd number for a thick one, so that its middle is read.
    fn across(&self, thickness_mm: f64) -> usize {
        let fine = (thickness_mm / MOST_APART_MM - 1e-6).ceil() as usize;
        if !self.centres && fine > 1 {
            self.per_axis.max((fine | 1).min(MOST_ACROSS))
        } else {
            self.per_axis
        }
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
        (0..count)
            .into_par_iter()
            .map(|plane| {
                control.check()?;
                let answer = each(self, plane);
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                control.report(done_before + 0.5 * done as f32 / count as f32);
                Ok(answer)
            })
            .collect()
    }

    /// Visits all samples of one plane of the mask's box. Without `WIDE` half-widths of doses are 0, which is all that sums need.
    ///
    /// The dose is linear across a sample's box, so its variance there is the sum of three even spreads, one an axis. A single
    /// even spread of the same variance stands for them: half-widths of the axes add in squares.
    fn visit<const WIDE: bool>(&self, plane: usize, to: &mut impl Visitor) {
        let [_, j0, k0] = self.mask.offset();
        let [dx, dy] = self.mask.grid().spacing_xy_mm();
        let k = k0 + plane;
        let (bottom, top) = (self.edges_z_mm[k], self.edges_z_mm[k + 1]);
        let (n, across) = (self.per_axis, self.across(top - bottom));
        let weight_cm3 = self.weight_cm3(plane);
        let half_mm = [
            0.5 * dx / n as f64,
            0.5 * dy / n as f64,
            0.5 * (top - bottom) / across as f64,
        ];
        let (mut row, mut weights) = (DoseRow::default(), Vec::new());
        for y in (0..self.mask.size()[1]).filter(|y| self.reads(*y, plane)) {
            let (first, coverage) = self.mask.covered_row(y, plane);
            if coverage.is_empty() {
                continue;
            }
            // A single sample represents all of its voxel that is covered; each of several has its own share.
            let shares = self
                .parts
                .as_ref()
                .map_or(&[][..], |parts| parts.row(y, plane));
            for sub in 0..n * across {
                let z_mm = bottom + (top - bottom) * middle_of_part(sub / n, across);
                let y_mm = ((j0 + y) as f64 - 0.5 + middle_of_part(sub % n, n)) * dy;
                let start = self.origin + self.axes[1] * y_mm + self.axes[2] * z_mm;
                let samples = first * n..(first + coverage.len()) * n;
                self.read_row::<WIDE>(start, half_mm, samples, &mut row);
                if n == 1 {
                    to.row(first, coverage, &row, weight_cm3);
                    continue;
                }
                weights.clear();
                let mut parted = shares
                    .chunks_exact(n * n * across)
                    .map(|voxel| &voxel[sub * n..][..n]);
                for coverage in coverage {
                    match coverage {
                        0 | 255 => {
                            weights.extend(std::iter::repeat_n(f32::from(coverage / 255), n))
                        }
                        _ => weights.extend_from_slice(parted.next().unwrap_or(&[])),
                    }
                }
                to.row(first * n, &weights, &row, weight_cm3);
            }
        }
    }

    /// The volume of a weight of 1 in a plane of the mask's box: of a coverage where a voxel has one sample, else of a share.
    fn weight_cm3(&self, plane: usize) -> f64 {
        let [dx, dy] = self.mask.grid().spacing_xy_mm();
        let k = self.mask.offset()[2] + plane;
        let thickness_mm = self.edges_z_mm[k + 1] - self.edges_z_mm[k];
        let n = self.per_axis;
        let samples = (n * n * self.across(thickness_mm)) as f64;
        let sample_cm3 = self.scale * dx * dy * thickness_mm / 1000.0 / samples;
        if n == 1 {
            sample_cm3 / 255.0
        } else {
            sample_cm3
        }
    }

    /// Reads the dose at samples along a row of the mask's box, which begins at `start` in the dose grid's frame.
    fn read_row<const WIDE: bool>(
        &self,
        start: DVec3,
        half_mm: [f64; 3],
        samples: Range<usize>,
        row: &mut DoseRow,
    ) {
        row.clear(samples.start);
        let Some(columns) = &self.columns else {
            // A line is inside a box from one place to another.
            let place = |n: usize| start + self.axes[0] * self.x_mm(n);
            row.first = samples
                .clone()
                .find(|n| self.sampler.at_local(place(*n)).is_some())
                .unwrap_or(samples.end);
            let inside = row.first..samples.end;
            if WIDE {
                let doses = inside.map_while(|n| self.sampler.with_gradient(place(n)));
                row.extend(doses.map(|(gy, gradient)| (gy, self.half_gy2(gradient, half_mm))));
            } else {
                row.gy
                    .extend(inside.map_while(|n| self.sampler.at_local(place(n))));
            }
            return;
        };
        let within = columns.within(samples);
        let cells = columns.inside(within.clone());
        let ([(first, _), ..], [.., (last, _)]) = (cells, cells) else {
            return;
        };
        // The neighbours beyond the ends tell the gradient there.
        let used = (*first as usize).saturating_sub(1)
            ..(*last as usize + 3).min(self.sampler.grid().size()[0]);
        let first_column = used.start as u32;
        let at_mm = [start.y, start.z];
        let DoseRow {
            values, changes_sq, ..
        } = row;
        let is_inside_dose = if self.centres {
            self.sampler
                .voxels_at::<WIDE>(at_mm, half_mm, used, values, changes_sq)
        } else if WIDE {
            self.sampler
                .row_with_changes_at(at_mm, half_mm, used, values, changes_sq)
        } else {
            self.sampler.row_at(at_mm[0], at_mm[1], used, values)
        };
        if is_inside_dose {
            row.first = within.start;
            row.read::<WIDE>(cells, first_column, self.centres);
        }
    }

    /// The square of the half-width of doses in a part of a voxel of the mask, of a gradient in the dose grid's frame.
    fn half_gy2(&self, gradient: DVec3, half_mm: [f64; 3]) -> f32 {
        let half_gy2: f64 = self
            .axes
            .iter()
            .zip(half_mm)
            .map(|(axis, mm)| (gradient.dot(*axis) * mm).powi(2))
            .sum();
        if half_gy2.is_finite() {
            half_gy2 as f32
        } else {
            0.0
        }
    }

    /// The least and the greatest dose of a plane's samples, and of those voxels of the dose whose centres lie in voxels of the plane
    /// that are covered by half or more: a dose interpolated linearly has its peaks there, between the samples. Where
    /// samples are the voxels of the dose they have the peaks.
    fn with_peaks_gy(&self, plane: usize, mut range_gy: [f32; 2]) -> [f32; 2] {
        if self.centres {
            return range_gy;
        }
        let (mask_grid, dose) = (self.mask.grid(), self.sampler.grid());
        let ([i0, j0, k0], [width, height, _]) = (self.mask.offset(), self.mask.size());
        let [dx, dy] = mask_grid.spacing_xy_mm();
        let low = DVec3::new(
            (i0 as f64 - 0.5) * dx,
            (j0 as f64 - 0.5) * dy,
            self.edges_z_mm[k0 + plane],
        );
        let corner_mm = low;
        let high = DVec3::new(
            low.x + width as f64 * dx,
            low.y + height as f64 * dy,
            self.edges_z_mm[k0 + plane + 1],
        );
        // The rows of the dose that may pass through the plane's box.
        let corner = |n: usize| {
            let face = |axis: usize| {
                if n >> axis & 1 == 0 {
                    low[axis]
                } else {
                    high[axis]
                }
            };
            self.origin + self.axes[0] * face(0) + self.axes[1] * face(1) + self.axes[2] * face(2)
        };
        let (first, last) = (1..8)
            .map(corner)
            .fold((corner(0), corner(0)), |(a, b), c| (a.min(c), b.max(c)));
        let ([sx, sy, _], [step_x, step_y], z_mm) =
            (dose.size(), dose.spacing_xy_mm(), dose.planes_mm());
        let rows =
            (first.y / step_y).ceil().max(0.0) as usize..((last.y / step_y + 1.0) as usize).min(sy);
        let planes = z_mm.partition_point(|z| *z < first.z)..z_mm.partition_point(|z| *z <= last.z);
        let origin = mask_grid.local_from_patient(dose.origin_mm());
        let [along_x, along_y, along_z] = dose.axes().map(|axis| mask_grid.local_direction(axis));
        for (k, j) in planes.flat_map(|k| rows.clone().map(move |j| (k, j))) {
            let start = origin + along_y * (j as f64 * step_y) + along_z * z_mm[k];
            let step = along_x * step_x;
            let (mut low, mut high) = (low, high);
            if self.columns.is_some() {
                // Rows of the dose run along rows of the mask.
                let y = (((start.y - low.y) / dy) as usize).min(height - 1);
                let (first, coverage) = self.mask.covered_row(y, plane);
                low.x += first as f64 * dx;
                high.x = low.x + coverage.len() as f64 * dx;
            }
            let Some([from, to]) = part_within(start, step, low, high) else {
                continue;
            };
            let columns = from.ceil().max(0.0) as usize..((to + 1.0).max(0.0) as usize).min(sx);
            let row = &self.sampler.data()[dose.index(0, j, k)..][..sx];
            let Some(inside) = row.get(columns.clone()) else {
                continue;
            };
            // Most rows have no peak.
            let [min_gy, max_gy] = range_gy;
            if !inside
                .iter()
                .fold(false, |any, gy| any | (*gy < min_gy) | (*gy > max_gy))
            {
                continue;
            }
            for (i, &gy) in columns.zip(inside) {
                if (gy < range_gy[0] || gy > range_gy[1]) && gy.is_finite() {
                    let face = (start + step * i as f64 - corner_mm) / DVec3::new(dx, dy, 1.0);
                    let voxel = [
                        (face.x as usize).min(width - 1),
                        (face.y as usize).min(height - 1),
                        plane,
                    ];
                    if self.mask.value(voxel) >= 128 {
                        range_gy = [range_gy[0].min(gy), range_gy[1].max(gy)];
                    }
                }
            }
        }
        range_gy
    }

    /// Volume of the structure's contours outside the mask's grid, which no sample represents, cm3.
    pub fn outside_mask_cm3(&self) -> f64 {
        self.mask.outside_cm3()
    }

    /// Whether the voxels of mask and dose coincide.
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

    /// As many samples as a plane has, or a few more: a list that grows is copied again and again.
    fn most_samples(&self, plane: usize) -> usize {
        let k = self.mask.offset()[2] + plane;
        let across = self.across(self.edges_z_mm[k + 1] - self.edges_z_mm[k]);
        let rows = (0..self.mask.size()[1]).filter(|y| self.reads(*y, plane));
        let voxels: usize = rows.map(|y| self.mask.covered_row(y, plane).1.len()).sum();
        voxels * self.per_axis * self.per_axis * across
    }

    /// The samples of a plane.
    pub fn samples(&self, plane: usize) -> HeldSamples {
        let mut samples =
            HeldSamples::with_capacity(self.most_samples(plane), self.weight_cm3(plane));
        self.visit_wide(plane, &mut samples);
        samples
    }

    /// The samples of a plane, and their sums.
    pub fn samples_and_sums(&self, plane: usize) -> (HeldSamples, Sums) {
        let samples = self.samples(plane);
        let mut sums = Sums::default();
        samples.visit(&mut sums);
        sums.reach(self.with_peaks_gy(plane, [sums.min_gy, sums.max_gy]));
        (samples, sums)
    }

    pub fn sums(&self, plane: usize) -> Sums {
        let mut sums = Sums::default();
        self.visit::<false>(plane, &mut sums);
        sums.reach(self.with_peaks_gy(plane, [sums.min_gy, sums.max_gy]));
        sums
    }

    pub fn bins(&self, plane: usize, min_gy: f64, max_gy: f64) -> Bins {
        let mut bins = Bins::new(min_gy, max_gy);
        self.visit_wide(plane, &mut bins);
        bins
    }

    fn visit_wide(&self, plane: usize, to: &mut impl Visitor) {
        if self.wide {
            self.visit::<true>(plane, to)
        } else {
            self.visit::<false>(plane, to)
        }
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
