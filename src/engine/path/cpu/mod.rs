//! Radiological depth on the CPU (de Greef 2009, section II and appendix).
//!
//! Every depth is the exact sum of density times length over the voxels its ray passes. Where the targets' grid is
//! parallel to the density's, which is the rule, whole rows of rays are traced together through [`Columns`]; else, and
//! for rays that run across the columns, each is walked voxel by voxel.

mod columns;

use crate::path::request::{DepthMap, PathRequest};
use crate::{Cancelled, JobControl};
use columns::Columns;
use geometry::walk::{self, Planes};
use geometry::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

/// A ray that moves less than this along the columns is walked: the sum along them would be over nothing. mm.
const ACROSS_MM: f64 = 1e-3;

/// Answers a request, with its receipt.
pub fn trace(request: &PathRequest, control: &JobControl) -> Result<DepthMap, Cancelled> {
    let start = Instant::now();
    let depth = radiological_depth_at(
        &request.density,
        request.source_mm,
        &request.targets,
        control,
    )?;
    let traced_ms = start.elapsed().as_secs_f64() * 1e3;
    let device = format!("cpu ({} threads)", rayon::current_num_threads());
    Ok(request.answer(
        depth,
        device,
        vec![("trace".to_owned(), traced_ms)],
        control.cache(),
    ))
}

/// Radiological depth from `source_mm` (patient LPS) to the centre of every voxel of `density` (relative to water):
/// mm of water, on the same grid. A density that is no finite number counts as air.
pub fn radiological_depth(
    density: &Volume<f32>,
    source_mm: DVec3,
    control: &JobControl,
) -> Result<Volume<f32>, Cancelled> {
    radiological_depth_at(density, source_mm, density.grid(), control)
}

/// As [`radiological_depth`], to the voxel centres of another grid in the same patient. Outside the density's grid
/// there is nothing to pass.
pub fn radiological_depth_at(
    density: &Volume<f32>,
    source_mm: DVec3,
    targets: &Arc<Grid>,
    control: &JobControl,
) -> Result<Volume<f32>, Cancelled> {
    let rays = Rays {
        density,
        targets,
        planes: Planes::seen_from(density.grid(), source_mm),
        source: density.grid().local_from_patient(source_mm),
    };
    // Columns along the way that rays mostly go: the fewest crossings.
    let way = density.grid().local_from_patient(targets.middle_mm()) - rays.source;
    let along = usize::from(way.y.abs() > way.x.abs());
    let depth = if !columns::parallel(density.grid(), targets) {
        rays.by_rows(along, control, |row, depths| {
            rays.walk_row(along, row, depths)
        })?
    } else if let Some(columns) = Columns::new(density, source_mm, along, control)? {
        rays.by_rows(along, control, |row, depths| {
            rays.row(&columns, along, row, depths)
        })?
    } else {
        // Nothing but air.
        vec![0.0; targets.len()]
    };
    control.report(1.0);
    Ok(Volume::new(targets.clone(), depth))
}

/// The rays of a request. A row of targets is `(a, k)`: index across the row in its plane, and the plane.
struct Rays<'a> {
    density: &'a Volume<f32>,
    targets: &'a Grid,
    planes: Planes,
    /// The source in the density's frame, mm.
    source: DVec3,
}

impl Rays<'_> {
    /// Fills the rows of targets in parallel (`along` 0: rows of x, 1: of y); `[z][y][x]`.
    fn by_rows(
        &self,
        along: usize,
        control: &JobControl,
        fill: impl Fn([usize; 2], &mut [f64]) + Sync,
    ) -> Result<Vec<f32>, Cancelled> {
        let size = self.targets.size();
        let (length, rows) = (size[along], size[1 - along]);
        let mut depths = vec![0.0_f32; self.targets.len()];
        let done = AtomicUsize::new(0);
        depths
            .par_chunks_mut(length)
            .enumerate()
            .try_for_each_init(
                || vec![0.0; length],
                |exact, (row, out)| {
                    control.check()?;
                    fill([row % rows, row / rows], exact);
                    out.iter_mut()
                        .zip(exact)
                        .for_each(|(out, exact)| *out = *exact as f32);
                    let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                    control.report(done as f32 / (rows * size[2]) as f32);
                    Ok(())
                },
            )?;
        if along == 0 {
            Ok(depths)
        } else {
            transposed(&depths, size, control)
        }
    }

    /// A row of targets through columns parallel to it.
    fn row(&self, columns: &Columns, along: usize, row: [usize; 2], depths: &mut [f64]) {
        let first = self.to_target(along, row, 0);
        let step = self.targets.spacing_xy_mm()[along];
        let ways: Vec<f64> = (0..depths.len())
            .map(|n| first[along] + n as f64 * step)
            .collect();
        columns.depths(first, &ways, depths);
        for (n, way) in ways
            .iter()
            .enumerate()
            .filter(|(_, way)| way.abs() < ACROSS_MM)
        {
            let mut to_mm = first;
            to_mm[along] = *way;
            depths[n] = self.walk(to_mm);
        }
    }

    fn walk_row(&self, along: usize, row: [usize; 2], depths: &mut [f64]) {
        for (n, depth) in depths.iter_mut().enumerate() {
            *depth = self.walk(self.to_target(along, row, n));
        }
    }

    /// Radiological depth of one target (the density's frame, mm from the source).
    fn walk(&self, to_mm: DVec3) -> f64 {
        let values = self.density.data();
        let mut sum = 0.0;
        walk::nested(&self.planes, to_mm, |voxel, length_mm| {
            let density = values[voxel];
            if density.is_finite() {
                sum += f64::from(density) * length_mm;
            }
        });
        sum
    }

    /// From the source to the `n`-th target of a row, the density's frame, mm.
    fn to_target(&self, along: usize, [a, k]: [usize; 2], n: usize) -> DVec3 {
        let [i, j] = if along == 0 { [n, a] } else { [a, n] };
        self.density
            .grid()
            .local_from_patient(self.targets.centre_mm(i, j, k))
            - self.source
    }
}

/// `[z][x][y]` -> `[z][y][x]`, square by square.
fn transposed(
    data: &[f32],
    [nx, ny, _]: [usize; 3],
    control: &JobControl,
) -> Result<Vec<f32>, Cancelled> {
    const SIDE: usize = 32;
    let mut out = vec![0.0; data.len()];
    out.par_chunks_mut(nx * ny)
        .zip(data.par_chunks(nx * ny))
        .try_for_each(|(out, plane)| {
            control.check()?;
            for (j0, i0) in (0..ny)
                .step_by(SIDE)
                .flat_map(|j| (0..nx).step_by(SIDE).map(move |i| (j, i)))
            {
                for j in j0..(j0 + SIDE).min(ny) {
                    for i in i0..(i0 + SIDE).min(nx) {
                        out[j * nx + i] = plane[i * ny + j];
                    }
                }
            }
            Ok(())
        })?;
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(size: usize) -> Volume<f32> {
        let grid = Grid::axis_aligned(
            DVec3::splat(-0.5 * (size as f64 - 1.0)),
            DVec3::ONE,
            [size; 3],
        );
        let grid = Arc::new(grid.expect("a valid grid"));
        let data = vec![1.0; grid.len()];
        Volume::new(grid, data)
    }

    /// In water the depth is the way from the surface, by similar triangles.
    #[test]
    fn depth_in_a_water_cube_is_the_way_from_its_surface() {
        let water = cube(20);
        let source = DVec3::new(0.3, -100.0, 0.2);
        let depth = radiological_depth(&water, source, &JobControl::new()).expect("not cancelled");
        for (i, j, k) in [(3, 4, 5), (10, 19, 12), (16, 10, 2)] {
            let ray = water.grid().centre_mm(i, j, k) - source;
            let want = ray.length() * (ray.y - 90.0) / ray.y;
            assert!(
                (f64::from(depth.at(i, j, k)) - want).abs() < 1e-4,
                "{} for {want}",
                depth.at(i, j, k)
            );
        }
    }

    #[test]
    fn the_receipt_names_the_request() {
        let request = |source_mm: DVec3, size: usize| {
            let density = Arc::new(cube(size));
            PathRequest {
                targets: density.grid().clone(),
                density,
                source_mm,
            }
        };
        let control = JobControl::new();
        let digest = |source_mm, size| request(source_mm, size).digest(control.cache());
        let source = DVec3::NEG_Y * 50.0;
        let map = trace(&request(source, 4), &control).expect("not cancelled");
        assert_eq!((map.receipt.job.as_str(), map.receipt.work), ("path", 64));
        assert_eq!(
            map.receipt.digest,
            digest(source, 4),
            "equal requests, equal digests"
        );
        assert_ne!(map.receipt.digest, digest(source, 5));
        assert_ne!(map.receipt.digest, digest(source + DVec3::X, 4));
        assert_eq!(map.depth_mm.data().len(), 64);
    }

    /// No finite number is air, whichever way the ray is traced.
    #[test]
    fn what_is_no_number_counts_as_air() {
        let grid = cube(6).grid().clone();
        let with = |hole: f32| {
            let mut data = vec![1.0; grid.len()];
            data[grid.index(3, 2, 3)] = hole;
            Volume::new(grid.clone(), data)
        };
        for source in [DVec3::new(0.1, -90.0, 0.2), DVec3::new(0.5, 0.5, -90.0)] {
            let depth = |hole| {
                radiological_depth(&with(hole), source, &JobControl::new()).expect("not cancelled")
            };
            assert_eq!(depth(f32::NAN).data(), depth(0.0).data());
            assert_eq!(depth(f32::INFINITY).data(), depth(0.0).data());
        }
    }

    #[test]
    fn a_cancelled_watch_stops_it() {
        let control = JobControl::new();
        control.cancel();
        assert_eq!(
            radiological_depth(&cube(4), DVec3::NEG_Y * 50.0, &control).err(),
            Some(Cancelled)
        );
    }
}
