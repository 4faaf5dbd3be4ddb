//! The dose along a row of samples, and what receives it.

use super::samples::SampledDose;
use std::ops::Range;

/// The part of a sample that is the structure's: a coverage of 0 to 255, or a share of 0 to 1.
pub trait Weight: Copy {
    fn weight(self) -> f64;
}

impl Weight for u8 {
    #[inline]
    fn weight(self) -> f64 {
        f64::from(self)
    }
}

impl Weight for f32 {
    #[inline]
    fn weight(self) -> f64 {
        f64::from(self)
    }
}

/// Receives the samples of a structure.
pub trait Visitor {
    /// A dose, `None` outside the dose grid, and the volume that it stands for, cm3.
    fn sample(&mut self, dose: Option<SampledDose>, cm3: f64);

    /// Samples of a row inside the dose grid: weights, doses, the squares of their half-widths (empty: 0), and the volume of a
    /// weight of 1. `false` where a dose is not finite: then none is counted.
    fn inside<W: Weight>(&mut self, weights: &[W], gy: &[f32], half_gy2: &[f32], cm3: f64) -> bool;

    /// The samples of a row from `first` on.
    fn row<W: Weight>(&mut self, first: usize, weights: &[W], doses: &DoseRow, cm3: f64) {
        let (below, following) = weights.split_at((doses.first - first).min(weights.len()));
        let (inside, above) = following.split_at(doses.gy.len());
        let outside: f64 = below
            .iter()
            .chain(above)
            .map(|weight| weight.weight())
            .sum();
        if outside > 0.0 {
            self.sample(None, outside * cm3);
        }
        if !self.inside(inside, &doses.gy, &doses.half_gy2, cm3) {
            let weights = inside.iter().map(|weight| weight.weight()).enumerate();
            for (n, weight) in weights.filter(|(_, weight)| *weight > 0.0) {
                self.sample(doses.at(doses.first + n), weight * cm3);
            }
        }
    }
}

/// The dose's columns round each sample along a row of the mask's box.
pub struct Columns {
    /// The samples inside the dose grid.
    pub within: Range<usize>,
    /// Columns before each of those, and the weight of the next.
    pub cells: Vec<(u32, f32)>,
}

impl Columns {
    /// The samples of a range that lie inside the dose grid.
    pub fn within(&self, samples: Range<usize>) -> Range<usize> {
        let [start, end] =
            [samples.start, samples.end].map(|n| n.clamp(self.within.start, self.within.end));
        start..end
    }

    /// The columns of samples inside the dose grid.
    pub fn inside(&self, within: Range<usize>) -> &[(u32, f32)] {
        &self.cells[within.start - self.within.start..within.end - self.within.start]
    }
}

/// The dose at samples along a row.
#[derive(Default)]
pub struct DoseRow {
    /// The first sample inside the dose grid.
    pub first: usize,
    pub gy: Vec<f32>,
    /// The squares of half-widths; empty: 0.
    pub half_gy2: Vec<f32>,
    /// Doses of the columns.
    pub values: Vec<f32>,
    pub changes_sq: Vec<f32>,
}

impl DoseRow {
    pub fn clear(&mut self, first: usize) {
        self.first = first;
        self.gy.clear();
        self.half_gy2.clear();
    }

    /// Adds doses with the squares of their half-widths.
    pub fn extend(&mut self, doses: impl Iterator<Item = (f32, f32)>) {
        for (gy, half_gy2) in doses {
            self.gy.push(gy);
            self.half_gy2.push(half_gy2);
        }
    }

    /// The dose at a sample.
    pub fn at(&self, sample: usize) -> Option<SampledDose> {
        let n = sample.checked_sub(self.first)?;
        let gy = *self.gy.get(n)?;
        Some(SampledDose {
            gy,
            half_gy2: self.half_gy2.get(n).copied().unwrap_or(0.0),
        })
    }

    /// Interpolates between the dose's columns, the first of which is `start`. With `centres` a sample has the half-width of the
    /// nearer column, else of the interval between two.
    pub fn read<const WIDE: bool>(&mut self, cells: &[(u32, f32)], start: u32, centres: bool) {
        // The last column has no next.
        self.values.extend_from_within(self.values.len() - 1..);
        let (values, changes_sq) = (&self.values, &self.changes_sq);
        // In single precision: in double it is as fast, and closed forms tell no difference.
        self.gy.extend(cells.iter().map(|&(column, share)| {
            let pair = &values[(column - start) as usize..][..2];
            pair[0] + (pair[1] - pair[0]) * share
        }));
        // A fold without an end in between is vectorised.
        if !self
            .gy
            .iter()
            .fold(true, |finite, gy| finite & gy.is_finite())
        {
            self.gy.clear();
            self.gy.extend(
                cells
                    .iter()
                    .map(|&(column, share)| between(values, (column - start) as usize, share)),
            );
        }
        if WIDE {
            self.half_gy2.extend(cells.iter().map(|&(column, share)| {
                changes_sq[(column - start) as usize + usize::from(centres && share >= 0.5)]
            }));
        }
    }
}

/// The value between a column and the next; a value of zero weight does not count, even if it is NaN.
#[inline]
pub fn between(values: &[f32], column: usize, share: f32) -> f32 {
    let low = values[column];
    if share == 0.0 {
        low
    } else {
        low + (values[column + 1] - low) * share
    }
}
