//! The frame of the samples: voxels.

use super::rays::Image;
use geometry::Grid;
use glam::DVec3;

/// Positions in voxels from the low edge of voxel 0 (its centre is at one half), along z in mm from there where planes
/// are uneven.
#[derive(Clone, Debug)]
pub struct Space {
    /// The grid's frame in mm -> here: times `scale`, plus `shift`.
    scale: DVec3,
    shift: DVec3,
    /// The box of all voxels ends here; it begins at 0.
    pub high: DVec3,
    pub size: [usize; 3],
    pub uneven: Option<Planes>,
}

/// Planes at distances of their own, mm from the low edge of the first.
#[derive(Clone, Debug)]
pub struct Planes {
    pub centres_mm: Vec<f32>,
    /// One over the gap after each but the last.
    pub per_gap: Vec<f32>,
    pub least_gap_mm: f32,
    /// The plane at or below the beginning of each bin.
    pub bins: Vec<i32>,
    pub bins_per_mm: f32,
}

impl Space {
    pub fn new(grid: &Grid) -> Self {
        let [dx, dy] = grid.spacing_xy_mm();
        let size = grid.size();
        let edges = grid.edges_mm(2);
        let (low, high) = (edges[0], edges[edges.len() - 1]);
        let even = grid.even_plane_spacing_mm();
        let (uneven, scale_z, shift_z, high_z) = match even {
            Some(dz) => (None, dz.recip(), 0.5, size[2] as f64),
            None => (
                Some(Planes::new(grid.planes_mm(), low, high)),
                1.0,
                -low,
                high - low,
            ),
        };
        Self {
            scale: DVec3::new(dx.recip(), dy.recip(), scale_z),
            shift: DVec3::new(0.5, 0.5, shift_z),
            high: DVec3::new(size[0] as f64, size[1] as f64, high_z),
            size,
            uneven,
        }
    }

    /// An image of the grid's frame, here.
    pub fn image(&self, image: &Image) -> Image {
        Image {
            source: image.source * self.scale + self.shift,
            origin: image.origin * self.scale + self.shift,
            column_step: image.column_step * self.scale,
            row_step: image.row_step * self.scale,
        }
    }

    /// mm to a unit along each axis.
    pub fn mm(&self) -> DVec3 {
        self.scale.recip()
    }
}

impl Planes {
    /// Bins to a plane, so that a search from the bin's plane is short.
    const BINS: usize = 4;

    fn new(planes_mm: &[f64], low: f64, high: f64) -> Self {
        let centres_mm: Vec<f32> = planes_mm.iter().map(|z| (z - low) as f32).collect();
        let gaps: Vec<f64> = planes_mm.windows(2).map(|w| w[1] - w[0]).collect();
        let count = planes_mm.len() * Self::BINS;
        let bins_per_mm = count as f64 / (high - low);
        let last = planes_mm.len().saturating_sub(2);
        let bins = (0..count).map(|bin| {
            // A little lower, for the bin is found in f32.
            let z = low + (bin as f64 - 0.01) / bins_per_mm;
            (planes_mm.partition_point(|&p| p <= z).max(1) - 1).min(last) as i32
        });
        Self {
            bins: bins.collect(),
            bins_per_mm: bins_per_mm as f32,
            least_gap_mm: gaps.iter().copied().fold(f64::INFINITY, f64::min) as f32,
            per_gap: gaps.iter().map(|g| g.recip() as f32).collect(),
            centres_mm,
        }
    }

    /// mm from the low edge of the first plane -> voxels from there.
    #[inline(always)]
    pub fn voxel(&self, z_mm: f32) -> f32 {
        let bin = ((z_mm * self.bins_per_mm) as usize).min(self.bins.len() - 1);
        let mut plane = self.bins[bin] as usize;
        while plane + 2 < self.centres_mm.len() && self.centres_mm[plane + 1] <= z_mm {
            plane += 1;
        }
        (z_mm - self.centres_mm[plane]) * self.per_gap[plane] + (plane as f32 + 0.5)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As `Grid::voxel_from_patient`, which counts from centres.
    #[test]
    fn uneven_planes_are_found() {
        let planes = [0.0, 1.0, 4.0, 4.5, 12.0, 13.0];
        let grid = Grid::new(
            DVec3::new(3.0, -4.0, 7.0),
            DVec3::X,
            DVec3::Y,
            [2.0, 0.5],
            [9, 9],
            &planes,
        )
        .expect("a grid");
        let space = Space::new(&grid);
        let uneven = space.uneven.as_ref().expect("uneven");
        for n in 0..=1450 {
            let z = -0.5 + f64::from(n) * 0.01;
            let want = grid
                .voxel_from_patient(grid.patient_from_local(DVec3::new(0.0, 0.0, z)))
                .z
                + 0.5;
            let got = f64::from(uneven.voxel((z + 0.5) as f32));
            assert!((got - want).abs() < 1e-5, "{z}: {got} for {want}");
        }
        assert!((space.high.z - 14.0).abs() < 1e-12);
    }
}
