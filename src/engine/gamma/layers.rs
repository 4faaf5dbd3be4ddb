//! The evaluated dose for the search: a volume, or for two dimensions a plane of it for each plane of the reference.

use super::points::{CellPoint, HULL_MM};
use super::simplex;
use super::{Dims, GammaError, GammaRequest};
use geometry::{Grid, Volume};
use rayon::prelude::*;
use std::sync::Arc;

/// Normals this far from parallel are still: what plans write as unit vectors has six decimals. cos of 0.05 degrees.
const PARALLEL: f64 = 1.0 - 3.8e-7;
/// Planar doses this near each other are on one plane, mm.
const SAME_PLANE_MM: f64 = 0.1;

/// The evaluated dose ready to be searched.
#[derive(Clone, Debug)]
pub struct Layers {
    /// Gy. Columns and rows equal the evaluated dose's; in two dimensions a plane is one layer.
    pub values: Arc<Volume<f32>>,
    /// In two dimensions, the layer of each plane of the reference, `None` where the evaluated dose does not reach.
    pub layer_of: Option<Vec<Option<u32>>>,
}

impl Layers {
    /// In two dimensions the evaluated dose on the reference's planes: its own planes where they coincide, else
    /// interpolated linearly between the two that lie on either side, at its own columns and rows.
    ///
    /// # Errors
    /// [`GammaError::NotPlanar`], [`GammaError::NotParallel`], [`GammaError::OtherPlane`].
    pub fn new(request: &GammaRequest) -> Result<Self, GammaError> {
        let (reference, evaluated) = (request.reference.grid(), request.evaluated.grid());
        let planes = reference.size()[2];
        if request.dims == Dims::Plane && planes > 1 {
            return Err(GammaError::NotPlanar { planes });
        }
        let planar = evaluated.size()[2] == 1;
        if request.dims == Dims::Volume && !planar {
            return Ok(Self {
                values: Arc::clone(&request.evaluated),
                layer_of: None,
            });
        }
        let cosine = reference.axes()[2].dot(evaluated.axes()[2]);
        if cosine.abs() < PARALLEL {
            return Err(GammaError::NotParallel {
                degrees: cosine.abs().min(1.0).acos().to_degrees(),
            });
        }
        let first = evaluated.local_from_patient(reference.origin_mm()).z;
        let heights: Vec<f64> = reference
            .planes_mm()
            .iter()
            .map(|z| first + z * cosine.signum())
            .collect();
        if planar {
            return Self::of_one_plane(request, &heights);
        }
        Ok(Self::of_planes(&request.evaluated, &heights))
    }

    fn of_one_plane(request: &GammaRequest, heights_mm: &[f64]) -> Result<Self, GammaError> {
        let layer_of: Vec<_> = heights_mm
            .iter()
            .map(|z| (z.abs() <= SAME_PLANE_MM).then_some(0))
            .collect();
        if layer_of.iter().all(Option::is_none) {
            let apart_mm = heights_mm
                .iter()
                .fold(f64::INFINITY, |nearest, z| nearest.min(z.abs()));
            return Err(GammaError::OtherPlane { apart_mm });
        }
        Ok(Self {
            values: Arc::clone(&request.evaluated),
            layer_of: Some(layer_of),
        })
    }

    /// The evaluated dose at heights in its own frame, mm, ascending or descending.
    fn of_planes(evaluated: &Arc<Volume<f32>>, heights_mm: &[f64]) -> Self {
        let grid = evaluated.grid();
        let planes = grid.planes_mm();
        let last = planes[planes.len() - 1];
        // The plane under a height and the share of the one above.
        let place = |z: f64| {
            (-HULL_MM..=last + HULL_MM).contains(&z).then(|| {
                let k = planes
                    .partition_point(|&p| p <= z)
                    .clamp(1, planes.len() - 1)
                    - 1;
                (
                    k,
                    ((z - planes[k]) / (planes[k + 1] - planes[k])).clamp(0.0, 1.0),
                )
            })
        };
        let near = |k: usize, share: f64| {
            let step = planes[k + 1] - planes[k];
            [(k, share * step), (k + 1, (1.0 - share) * step)]
                .into_iter()
                .find(|(_, off)| *off < HULL_MM)
        };
        let places: Vec<_> = heights_mm.iter().map(|&z| place(z)).collect();
        let plane_of_layer: Option<Vec<Option<u32>>> = places
            .iter()
            .map(|place| match place {
                None => Some(None),
                Some((k, share)) => near(*k, *share).map(|(k, _)| Some(k as u32)),
            })
            .collect();
        if plane_of_layer.is_some() {
            return Self {
                values: Arc::clone(evaluated),
                layer_of: plane_of_layer,
            };
        }
        let inside: Vec<(usize, f64)> = places.iter().flatten().copied().collect();
        let [nx, ny, _] = grid.size();
        let mut data = vec![0.0; nx * ny * inside.len()];
        data.par_chunks_mut(nx * ny)
            .zip(&inside)
            .for_each(|(out, (k, share))| {
                let (low, high, share) =
                    (evaluated.plane(*k), evaluated.plane(*k + 1), *share as f32);
                out.iter_mut()
                    .zip(low.iter().zip(high))
                    .for_each(|(out, (a, b))| *out = a + (b - a) * share);
            });
        let mut next = 0..;
        let layer_of = places
            .iter()
            .map(|place| place.and_then(|_| next.next()))
            .collect();
        // Only columns and rows of this grid are read.
        let steps: Vec<f64> = (0..inside.len()).map(|n| n as f64).collect();
        let [row, column, _] = grid.axes();
        let stack = Grid::new(
            grid.origin_mm(),
            row,
            column,
            grid.spacing_xy_mm(),
            [nx, ny],
            &steps,
        );
        match stack {
            Ok(stack) => Self {
                values: Arc::new(Volume::new(Arc::new(stack), data)),
                layer_of: Some(layer_of),
            },
            // No plane is inside: nothing of the dose will be read.
            Err(_) => Self {
                values: Arc::clone(evaluated),
                layer_of: Some(vec![None; heights_mm.len()]),
            },
        }
    }

    /// Whether points are searched for in their plane alone.
    pub fn flat(&self) -> bool {
        self.layer_of.is_some()
    }

    /// The dose of the simplex that holds a place, Gy.
    pub fn dose_at(&self, place: &CellPoint) -> f32 {
        let grid = self.values.grid();
        let [i, j, k] = place.cell;
        let [dx, dy] = grid.spacing_xy_mm();
        let [x, y, z] = place.offset_mm.map(f64::from);
        if self.flat() {
            return simplex::dose_in_square(
                std::array::from_fn(|c: usize| self.values.at(i + (c & 1), j + (c >> 1 & 1), k)),
                [x / dx, y / dy],
            );
        }
        let step = grid.planes_mm()[k + 1] - grid.planes_mm()[k];
        simplex::dose_in_cell(
            std::array::from_fn(|c: usize| {
                self.values.at(i + (c & 1), j + (c >> 1 & 1), k + (c >> 2))
            }),
            [x / dx, y / dy, z / step],
        )
    }
}
