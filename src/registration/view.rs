//! An X-ray for registration: as line integrals, and coarser for the first levels.

use super::error::RegistrationError;
use case::{PixelMeaning, Radiograph};
use geometry::Projection;
use glam::DVec3;
use std::ops::Range;
use std::sync::Arc;

/// An X-ray to be registered, and the part of it that counts: within that, the collimator's opening.
#[derive(Clone, Debug)]
pub struct View {
    pub radiograph: Arc<Radiograph>,
    /// Columns and rows; `None`: all.
    pub(super) region: Option<[Range<usize>; 2]>,
}

/// Views are equal if they are of the same picture; one with the same values is another.
impl PartialEq for View {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.radiograph, &other.radiograph) && self.region == other.region
    }
}

/// Least transmission, as a share of the maximum: lower values are clamped, because the logarithm diverges.
const DARKEST: f32 = 1e-4;

/// Shares of the pixels that are darker than black and brighter than white.
const TAILS: [f64; 2] = [0.01, 0.995];

/// A view's image as line integrals, full or coarse.
#[derive(Clone, Debug)]
pub struct Picture {
    pub projection: Projection,
    /// Line integrals, `[row][column]`.
    pub values: Vec<f32>,
    pub mask: Vec<bool>,
}

impl View {
    /// A view of all pixels inside the collimator's opening, where that is known.
    pub fn new(radiograph: Arc<Radiograph>) -> Self {
        Self {
            radiograph,
            region: None,
        }
    }

    /// Restricts the view to these columns and rows.
    pub fn within(self, columns: Range<usize>, rows: Range<usize>) -> Self {
        Self {
            region: Some([columns, rows]),
            ..self
        }
    }

    fn holds(&self, pixel: usize) -> bool {
        let width = self.radiograph.projection.columns();
        self.region
            .as_ref()
            .is_none_or(|[columns, rows]: &[Range<usize>; 2]| {
                columns.contains(&(pixel % width)) && rows.contains(&(pixel / width))
            })
    }

    /// # Errors
    /// [`RegistrationError`]: values or opening of another size than the picture, no pixel that counts, a uniform picture.
    pub fn picture(&self) -> Result<Picture, RegistrationError> {
        let Radiograph {
            values,
            projection,
            meaning,
            label,
            open,
            ..
        } = &*self.radiograph;
        let pixels = projection.pixels();
        let sizes = [Some(values.len()), open.as_ref().map(|m| m.len())];
        if let Some(&other_pixels) = sizes.iter().flatten().find(|n| **n != pixels) {
            return Err(RegistrationError::Size {
                image: label.clone(),
                there: other_pixels,
                pixels,
            });
        }
        let mask: Vec<bool> = (0..pixels)
            .map(|n: usize| {
                open.as_ref().is_none_or(|open| open[n]) && self.holds(n) && values[n].is_finite()
            })
            .collect();
        let (low, high) = ({
            values
                .iter()
                .zip(&mask)
                .filter(|(_, m)| **m)
                .map(|(v, _)| *v)
        })
        .fold((f32::INFINITY, f32::NEG_INFINITY), |(a, b), v| {
            (a.min(v), b.max(v))
        });
        if low > high {
            return Err(RegistrationError::NothingCounts {
                image: label.clone(),
            });
        }
        if low == high {
            return Err(RegistrationError::Flat {
                image: label.clone(),
            });
        }
        let values = match meaning {
            PixelMeaning::Attenuation => values.to_vec(),
            PixelMeaning::Transmission => values
                .iter()
                .map(|v| {
                    if v.is_finite() {
                        -(v / high).max(DARKEST).ln()
                    } else {
                        0.0
                    }
                })
                .collect(),
        };
        Ok(Picture {
            projection: *projection,
            values,
            mask,
        })
    }
}

impl Picture {
    /// Pixels of about `side_mm` at the depth of `at_mm`: means of whole blocks of pixels. A block counts where half of its
    /// pixels do.
    pub fn coarse(&self, side_mm: f64, at_mm: DVec3) -> Self {
        let p = &self.projection;
        let normal = p.column_step_mm().cross(p.row_step_mm()).normalize();
        let depth = normal.dot(at_mm - p.source_mm()).abs();
        let magnification = p.distance_mm() / depth.max(1.0);
        let [bx, by] = [
            binning(p.column_step_mm(), p.columns(), side_mm, magnification),
            binning(p.row_step_mm(), p.rows(), side_mm, magnification),
        ];
        if bx == 1 && by == 1 {
            return self.clone();
        }
        let [columns, rows] = [p.columns() / bx, p.rows() / by];
        let first = p.pixel_mm(0.5 * (bx as f64 - 1.0), 0.5 * (by as f64 - 1.0));
        let steps = [p.column_step_mm() * bx as f64, p.row_step_mm() * by as f64];
        // A part of a valid geometry is valid.
        let projection = Projection::new(p.source_mm(), first, steps[0], steps[1], [columns, rows])
            .unwrap_or(*p);
        let mut values = Vec::with_capacity(columns * rows);
        let mut mask = Vec::with_capacity(columns * rows);
        for row in 0..rows {
            for column in 0..columns {
                let (mut sum, mut count) = (0.0, 0);
                for y in row * by..(row + 1) * by {
                    for n in y * p.columns() + column * bx..y * p.columns() + (column + 1) * bx {
                        if self.mask[n] {
                            sum += self.values[n];
                            count += 1;
                        }
                    }
                }
                mask.push(2 * count >= bx * by);
                values.push(if count > 0 { sum / count as f32 } else { 0.0 });
            }
        }
        Self {
            projection,
            values,
            mask,
        }
    }

    /// Columns, rows.
    pub fn size(&self) -> [usize; 2] {
        [self.projection.columns(), self.projection.rows()]
    }
}

fn binning(step: DVec3, longest: usize, side_mm: f64, magnification: f64) -> usize {
    ((side_mm * magnification / step.length()).round().max(1.0) as usize).min(longest)
}

/// Black and white for these values.
pub fn range_of(mut values: Vec<f32>) -> [f32; 2] {
    values.retain(|v| v.is_finite());
    let last = values.len().saturating_sub(1);
    let [low, high] = TAILS.map(|share: f64| {
        let n = (share * last as f64).round() as usize;
        if values.is_empty() {
            0.0
        } else {
            *values.select_nth_unstable_by(n, f32::total_cmp).1
        }
    });
    if high > low {
        [low, high]
    } else {
        [low, low + 1.0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn black_and_white_leave_out_the_tails() {
        let [low, high] = range_of(
            (0..=1000)
                .map(|n| n as f32)
                .chain([f32::NAN, 1e9])
                .collect(),
        );
        assert!(
            (9.0..=11.0).contains(&low) && (990.0..=1000.0).contains(&high),
            "{low} {high}"
        );
        assert_eq!(range_of(vec![]), [0.0, 1.0]);
    }
}
