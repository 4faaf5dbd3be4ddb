//! Analysed voxels of the reference, and their places in the evaluated dose.

use super::{Checked, GammaError, GammaRequest, Layers};
use crate::Random;
use geometry::Grid;
use glam::DVec3;
use rayon::prelude::*;

/// A point this far outside the outermost voxel centres is on them: positions in files are rounded. mm.
pub const HULL_MM: f64 = 1e-3;

/// A place in the evaluated dose.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellPoint {
    /// The cell's lowest voxel; in two dimensions the last is the layer.
    pub cell: [usize; 3],
    /// From that voxel's centre, along the evaluated grid's axes, mm.
    pub offset_mm: [f32; 3],
}

/// Reference voxel -> place in the evaluated dose.
#[derive(Clone, Debug)]
pub struct Locate<'a> {
    /// Reference voxel (0, 0, 0) and steps along its x, y, z in the evaluated grid's frame, mm.
    pub first_mm: DVec3,
    pub steps_mm: [DVec3; 2],
    pub normal: DVec3,
    reference_planes_mm: &'a [f64],
    spacing_mm: [f64; 2],
    size: [usize; 3],
    planes_mm: &'a [f64],
    layer_of: Option<&'a [Option<u32>]>,
}

impl<'a> Locate<'a> {
    pub fn new(reference: &'a Grid, layers: &'a Layers) -> Self {
        let evaluated = layers.values.grid();
        let [row, column, normal] = reference.axes().map(|axis| evaluated.local_direction(axis));
        let [dx, dy] = reference.spacing_xy_mm();
        Self {
            first_mm: evaluated.local_from_patient(reference.origin_mm()),
            steps_mm: [row * dx, column * dy],
            normal,
            reference_planes_mm: reference.planes_mm(),
            spacing_mm: evaluated.spacing_xy_mm(),
            size: evaluated.size(),
            planes_mm: evaluated.planes_mm(),
            layer_of: layers.layer_of.as_deref(),
        }
    }

    /// `None` outside the outermost voxel centres of the evaluated dose.
    #[inline]
    pub fn at(&self, [i, j, k]: [usize; 3]) -> Option<CellPoint> {
        let p = self.first_mm
            + self.normal * self.reference_planes_mm[k]
            + self.steps_mm[1] * j as f64
            + self.steps_mm[0] * i as f64;
        let (cell_x, x) = even(p.x, self.spacing_mm[0], self.size[0])?;
        let (cell_y, y) = even(p.y, self.spacing_mm[1], self.size[1])?;
        let (cell_z, z) = match self.layer_of {
            Some(layer_of) => (layer_of[k]? as usize, 0.0),
            None => uneven(p.z, self.planes_mm)?,
        };
        Some(CellPoint {
            cell: [cell_x, cell_y, cell_z],
            offset_mm: [x as f32, y as f32, z as f32],
        })
    }
}

/// The cell of a coordinate between `count` voxels, and how far into it.
#[inline]
fn even(at_mm: f64, step_mm: f64, count: usize) -> Option<(usize, f64)> {
    let last_mm = (count - 1) as f64 * step_mm;
    if !(at_mm >= -HULL_MM && at_mm <= last_mm + HULL_MM) {
        return None;
    }
    let cell = ((at_mm / step_mm).max(0.0) as usize).min(count - 2);
    Some((cell, at_mm - cell as f64 * step_mm))
}

fn uneven(at_mm: f64, planes_mm: &[f64]) -> Option<(usize, f64)> {
    let count = planes_mm.len();
    if !(at_mm >= -HULL_MM && at_mm <= planes_mm[count - 1] + HULL_MM) {
        return None;
    }
    let cell = planes_mm
        .partition_point(|&z| z <= at_mm)
        .clamp(1, count - 1)
        - 1;
    Some((cell, at_mm - planes_mm[cell]))
}

/// The voxels over the threshold, in the region, of the subset: indices into the reference's data, ascending.
///
/// # Errors
/// [`GammaError::EmptyRegion`], [`GammaError::NothingToAnalyse`].
pub fn select(request: &GammaRequest, checked: Checked) -> Result<Vec<u32>, GammaError> {
    let data = request.reference.data();
    let over = |&n: &u32| f64::from(data[n as usize]) >= checked.threshold_gy;
    let mut points: Vec<u32> = match &request.region {
        None => (0..data.len() as u32)
            .into_par_iter()
            .filter(over)
            .collect(),
        Some(region) => {
            let inside: Vec<u32> = region
                .iter()
                .filter(|(_, share)| *share >= 0.5)
                .map(|(n, _)| n as u32)
                .collect();
            if inside.is_empty() {
                return Err(GammaError::EmptyRegion);
            }
            inside.into_iter().filter(over).collect()
        }
    };
    if points.is_empty() {
        let threshold_gy = checked.threshold_gy;
        return Err(GammaError::NothingToAnalyse {
            threshold_gy,
            in_region: request.region.is_some(),
        });
    }
    if let Some(subset) = request.subset.filter(|subset| subset.count < points.len()) {
        // The first elements of a shuffle (Fisher and Yates).
        let mut random = Random::new(subset.seed);
        for n in 0..subset.count {
            let other = n + random.below(points.len() - n);
            points.swap(n, other);
        }
        points.truncate(subset.count);
        points.sort_unstable();
    }
    Ok(points)
}
