//! Radiological depth on the CPU (de Greef 2009, section II and appendix).

use crate::engine::{Stopped, Watch};
use crate::geometry::walk::{self, Planes};
use crate::geometry::{Grid, Volume};
use glam::DVec3;
use rayon::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Radiological depth from `source_mm` (patient LPS) to the centre of every voxel of `density` (relative to water):
/// mm of water, on the same grid.
///
/// # Errors
/// [`Stopped`] when the watch was cancelled.
pub fn radiological_depth(
    density: &Volume<f32>,
    source_mm: DVec3,
    watch: &Watch,
) -> Result<Volume<f32>, Stopped> {
    radiological_depth_at(density, source_mm, density.grid(), watch)
}

/// As [`radiological_depth`], to the voxel centres of another grid in the same patient. Outside the density's grid
/// there is nothing to pass.
///
/// # Errors
/// [`Stopped`] when the watch was cancelled.
pub fn radiological_depth_at(
    density: &Volume<f32>,
    source_mm: DVec3,
    targets: &Arc<Grid>,
    watch: &Watch,
) -> Result<Volume<f32>, Stopped> {
    let planes = Planes::<f64>::seen_from(density.grid(), source_mm);
    let values = density.data();
    let [nx, ny, nz] = targets.size();
    let rows_done = AtomicUsize::new(0);
    let mut depth = vec![0.0_f32; targets.len()];
    depth.par_chunks_mut(nx).enumerate().try_for_each(|(row, depths)| {
        watch.check()?;
        let (j, k) = (row % ny, row / ny);
        for (i, depth) in depths.iter_mut().enumerate() {
            let to_mm = density.grid().local_direction(targets.centre_mm(i, j, k) - source_mm);
            let mut sum = 0.0;
            walk::nested(&planes, to_mm, |voxel, length_mm| sum += f64::from(values[voxel]) * length_mm);
            *depth = sum as f32;
        }
        let done = rows_done.fetch_add(1, Ordering::Relaxed) + 1;
        watch.report(done as f32 / (ny * nz) as f32);
        Ok(())
    })?;
    Ok(Volume::new(targets.clone(), depth))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cube(size: usize) -> Volume<f32> {
        let grid = Grid::axis_aligned(DVec3::splat(-0.5 * (size as f64 - 1.0)), DVec3::ONE, [size; 3]);
        let grid = Arc::new(grid.expect("a valid grid"));
        let data = vec![1.0; grid.len()];
        Volume::new(grid, data)
    }

    /// In water the depth is the way from the surface, by similar triangles.
    #[test]
    fn depth_in_a_water_cube_is_the_way_from_its_surface() {
        let water = cube(20);
        let source = DVec3::new(0.3, -100.0, 0.2);
        let depth = radiological_depth(&water, source, &Watch::new()).expect("not cancelled");
        for (i, j, k) in [(3, 4, 5), (10, 19, 12), (16, 10, 2)] {
            let ray = water.grid().centre_mm(i, j, k) - source;
            let want = ray.length() * (ray.y - 90.0) / ray.y;
            assert!((f64::from(depth.at(i, j, k)) - want).abs() < 1e-4, "{} for {want}", depth.at(i, j, k));
        }
    }

    #[test]
    fn a_cancelled_watch_stops_it() {
        let watch = Watch::new();
        watch.cancel();
        assert_eq!(radiological_depth(&cube(4), DVec3::NEG_Y * 50.0, &watch).err(), Some(Stopped));
    }
}
