//! An X-ray as the window shows it.

use crate::render::Texels;
use case::{Placement, Radiograph};
pub use engine::drr::Region;
use registration::{RegistrationError, View, range_of};
use std::path::PathBuf;
use std::sync::Arc;

/// Texels along a side at most: every graphics device has room for as many, and no screen shows more.
const MOST_TEXELS: usize = 2048;
/// An X-ray on show.
#[derive(Clone, Debug)]
pub struct Image {
    pub radiograph: Arc<Radiograph>,
    pub texels: Arc<Texels>,
    /// Values of the texels at black and at white.
    pub range: [f32; 2],
    /// Region that the metric reads; `None`: all.
    pub region: Option<Region>,
    /// Region that the collimator left open, where that is known and not all of it.
    pub opening: Option<Region>,
    /// The file it came from, and what was said of its geometry.
    pub file: Option<(PathBuf, Placement)>,
}

impl Image {
    /// # Errors
    /// [`RegistrationError`]: a picture in which nothing counts, or of one value.
    pub fn new(radiograph: Radiograph) -> Result<Self, RegistrationError> {
        let radiograph = Arc::new(radiograph);
        let picture = View::new(Arc::clone(&radiograph)).picture()?;
        let size = [
            radiograph.projection.columns(),
            radiograph.projection.rows(),
        ];
        let counted = picture
            .values
            .iter()
            .zip(&picture.mask)
            .filter(|(_, m)| **m)
            .map(|(v, _)| *v);
        let range = range_of(counted.collect());
        let texels = Arc::new(binned(&picture.values, size));
        let opening = radiograph
            .open
            .as_ref()
            .and_then(|open| Region::around(open, size[0]));
        let opening = opening.filter(|r| [r.columns, r.rows] != size);
        Ok(Self {
            radiograph,
            texels,
            range,
            region: None,
            opening,
            file: None,
        })
    }

    /// The X-ray within the region that the metric reads.
    pub fn view(&self) -> View {
        let view = View::new(Arc::clone(&self.radiograph));
        match self.region {
            Some(Region {
                column,
                row,
                columns,
                rows,
            }) => view.within(column..column + columns, row..row + rows),
            None => view,
        }
    }
}

/// Means over blocks of pixels, so that no side is too long for a texture.
fn binned(values: &[f32], [columns, rows]: [usize; 2]) -> Texels {
    let k = columns.max(rows).div_ceil(MOST_TEXELS);
    let (across, down) = (columns.div_ceil(k), rows.div_ceil(k));
    let means = (0..across * down).map(|texel| {
        let (c, r) = (texel % across * k, texel / across * k);
        let (mut sum, mut count) = (0.0_f32, 0.0_f32);
        for row in r..(r + k).min(rows) {
            for value in &values[row * columns + c..row * columns + (c + k).min(columns)] {
                if value.is_finite() {
                    sum += value;
                    count += 1.0;
                }
            }
        }
        sum / count.max(1.0)
    });
    Texels {
        values: means.collect(),
        columns: across,
        rows: down,
        pixels_per_texel: k,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_large_picture_is_shown_by_means_of_blocks() {
        let (columns, rows) = (5000, 3);
        let values: Vec<f32> = (0..columns * rows).map(|n| (n % columns) as f32).collect();
        let texels = binned(&values, [columns, rows]);
        assert_eq!(
            (texels.columns, texels.rows, texels.pixels_per_texel),
            (1667, 1, 3)
        );
        assert_eq!(texels.values[10], 31.0);
        assert_eq!(texels.values[1666], 4998.5);
    }

    #[test]
    fn a_region_is_cut_to_the_image_and_never_empty() {
        let size = [100, 80];
        let full = Region {
            column: 0,
            row: 0,
            columns: 100,
            rows: 80,
        };
        assert_eq!(
            Region::between([-50.0, 300.0], [400.0, -2.0], size),
            Some(full)
        );
        assert_eq!(Region::between([20.0, 20.0], [20.4, 60.0], size), None);
        assert_eq!(Region::between([120.0, 20.0], [180.0, 60.0], size), None);
        assert!(full.fits(size) && !Region { column: 1, ..full }.fits(size));
        assert!(
            !Region {
                columns: usize::MAX,
                ..full
            }
            .fits(size)
        );
    }

    #[test]
    fn what_is_open_has_a_rim() {
        let open: Vec<bool> = (0..60)
            .map(|n| (2..7).contains(&(n % 10)) && (1..4).contains(&(n / 10)))
            .collect();
        assert_eq!(
            Region::around(&open, 10),
            Some(Region {
                column: 2,
                row: 1,
                columns: 5,
                rows: 3
            })
        );
        assert_eq!(Region::around(&[false; 60], 10), None);
    }
}
