//! The greatest dose of the body outside the targets.

use geometry::{Mask, Volume};
use glam::DVec3;
use rayon::prelude::*;
use serde::Serialize;
use std::sync::Arc;

/// Nearer to a target a dose is the target's: its penumbra. Chosen; where the fall-off of inverse planning begins.
pub const NEAR_TARGET_MM: f64 = 3.0;

/// A greatest dose, and where it is.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct HotSpot {
    /// Gy of all fractions.
    pub gy: f64,
    /// Patient LPS.
    pub at_mm: DVec3,
}

/// The body less the targets and what is near them.
#[derive(Clone, Debug, Default)]
pub struct OutsideTargets {
    targets: Vec<Arc<Mask>>,
    /// `None`: the whole image.
    body: Option<Arc<Mask>>,
}

impl OutsideTargets {
    pub fn new(targets: Vec<Arc<Mask>>, body: Option<Arc<Mask>>) -> Self {
        Self { targets, body }
    }

    /// Whether a place (patient LPS) lies in the body, and 3 mm and more from each target.
    fn holds(&self, mm: DVec3) -> bool {
        self.body.as_ref().is_none_or(|body| covers(body, mm))
            && !self
                .targets
                .iter()
                .any(|target| around(mm).any(|near| covers(target, near)))
    }

    /// The greatest dose of voxels outside, of a dose in Gy of all fractions; `None` where none has any.
    pub fn hottest(&self, gy: &Volume<f32>) -> Option<HotSpot> {
        let (grid, data) = (gy.grid(), gy.data());
        let mut hotter: Vec<usize> = (0..data.len())
            .into_par_iter()
            .filter(|voxel| data[*voxel] > 0.0)
            .collect();
        // From the hottest down the first that is outside is the greatest.
        hotter.par_sort_unstable_by(|a, b| data[*b].total_cmp(&data[*a]).then(a.cmp(b)));
        let voxel = hotter
            .into_par_iter()
            .find_first(|voxel| self.holds(grid.centre_of_mm(*voxel)))?;
        Some(HotSpot {
            gy: f64::from(data[voxel]),
            at_mm: grid.centre_of_mm(voxel),
        })
    }
}

/// Whether a mask covers any of the voxel at a place.
fn covers(mask: &Mask, mm: DVec3) -> bool {
    mask.grid()
        .voxel_at(mm)
        .is_some_and(|[i, j, k]| mask.coverage_at(i, j, k) > 0.0)
}

/// A place, and places half of 3 mm and 3 mm from it to all sides.
fn around(mm: DVec3) -> impl Iterator<Item = DVec3> {
    const STEPS: [f64; 3] = [-1.0, 0.0, 1.0];
    let sides = STEPS.into_iter().flat_map(|x| {
        STEPS
            .into_iter()
            .flat_map(move |y| STEPS.map(|z| DVec3::new(x, y, z)))
    });
    let sides = sides
        .filter(|side| *side != DVec3::ZERO)
        .map(DVec3::normalize);
    std::iter::once(mm)
        .chain(sides.flat_map(move |side| [0.5, 1.0].map(|part| mm + part * NEAR_TARGET_MM * side)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use geometry::Grid;

    fn of_box(grid: &Arc<Grid>, x_mm: [f64; 2]) -> Arc<Mask> {
        let [low, high] = x_mm;
        let square = [(low, -3.0), (high, -3.0), (high, 23.0), (low, 23.0)];
        let contours: Vec<[DVec3; 4]> = (0..5)
            .map(|k| square.map(|(x, y)| DVec3::new(x, y, 5.0 * f64::from(k))))
            .collect();
        let contours: Vec<&[DVec3]> = contours.iter().map(<[DVec3; 4]>::as_slice).collect();
        Arc::new(Mask::from_contours(grid, &contours, &|_| true).expect("a mask"))
    }

    /// Doses rise along x: the greatest lies at the side of the target that is farthest up, 3 mm from it, and within the body.
    #[test]
    fn the_greatest_dose_lies_in_the_body_and_beyond_the_targets_penumbra() {
        let grid = Arc::new(
            Grid::axis_aligned(DVec3::ZERO, DVec3::splat(5.0), [20, 5, 5]).expect("a grid"),
        );
        let gy = Volume::new(
            Arc::clone(&grid),
            (0..grid.len()).map(|n| (n % 20) as f32).collect(),
        );
        let (body, target) = (of_box(&grid, [7.5, 82.5]), of_box(&grid, [62.5, 82.5]));
        let outside = |targets: &[&Arc<Mask>], body: Option<&Arc<Mask>>| {
            let targets = targets.iter().map(|mask| Arc::clone(mask)).collect();
            OutsideTargets::new(targets, body.cloned())
                .hottest(&gy)
                .expect("a dose")
        };
        assert_eq!(outside(&[], None).gy, 19.0);
        // Voxels 2 to 16 are the body, 13 to 16 the target; the centre of 12 lies 2.5 mm from it.
        assert_eq!(outside(&[], Some(&body)).gy, 16.0);
        let result = outside(&[&target], Some(&body));
        assert_eq!((result.gy, result.at_mm.x), (11.0, 55.0));
    }
}
