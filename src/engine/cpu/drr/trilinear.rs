//! Equal steps through the trilinear attenuation.

use crate::engine::drr::{Image, Rays};
use glam::DVec3;

pub(super) struct March<'a> {
    rays: &'a Rays,
    image: &'a Image,
    step_mm: f64,
    extent: [DVec3; 2],
}

impl<'a> March<'a> {
    pub fn new(rays: &'a Rays, image: &'a Image, step_mm: f64) -> Self {
        Self { rays, image, step_mm, extent: Rays::extent(rays.attenuation.grid()) }
    }

    pub fn fill(&self, pixels: &[u32], out: &mut [f32]) {
        let grid = self.rays.attenuation.grid();
        for (&pixel, out) in pixels.iter().zip(out) {
            let ray = self.image.ray(pixel, self.rays.columns);
            *out = 0.0;
            let Some([enter, leave]) = ray.clipped(self.extent[0], self.extent[1]) else { continue };
            let way = ray.to - ray.from;
            let length_mm = (leave - enter) * way.length();
            let steps = (length_mm / self.step_mm).ceil().max(1.0);
            let mut sum = 0.0;
            for n in 0..steps as usize {
                let alpha = enter + (leave - enter) * (n as f64 + 0.5) / steps;
                let at = grid.patient_from_local(ray.from + way * alpha);
                sum += self.rays.attenuation.trilinear(at).map_or(0.0, f64::from);
            }
            *out = (sum * length_mm / steps) as f32;
        }
    }
}
