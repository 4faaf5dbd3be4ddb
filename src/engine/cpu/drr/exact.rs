//! The exact sum over the voxels that a ray passes.

use crate::engine::drr::{Image, Rays};
use crate::geometry::walk::{self, Planes};

pub(super) struct Walk<'a> {
    rays: &'a Rays,
    image: &'a Image,
    planes: Planes<f64>,
}

impl<'a> Walk<'a> {
    pub fn new(rays: &'a Rays, image: &'a Image) -> Self {
        let grid = rays.attenuation.grid();
        let planes = Planes::seen_from(grid, grid.patient_from_local(image.source));
        Self { rays, image, planes }
    }

    pub fn fill(&self, pixels: &[u32], out: &mut [f32]) {
        let values = self.rays.attenuation.data();
        for (&pixel, out) in pixels.iter().zip(out) {
            let ray = self.image.ray(pixel, self.rays.columns);
            let mut sum = 0.0;
            walk::nested(&self.planes, ray.to - ray.from, |voxel, length_mm| {
                let value = values[voxel];
                if value.is_finite() {
                    sum += f64::from(value) * length_mm;
                }
            });
            *out = sum as f32;
        }
    }
}
