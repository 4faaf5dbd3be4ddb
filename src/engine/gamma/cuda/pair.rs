//! Grids of a request as the gamma kernels read them.

use crate::cuda::int;
use crate::gamma::{GammaRequest, HULL_MM, Layers, Locate, planes_per_mm};
use bytemuck::{Pod, Zeroable};

/// `struct Pair` of the kernels, field for field.
#[repr(C)]
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
pub struct Pair {
    first: [f64; 3],
    step_i: [f64; 3],
    step_j: [f64; 3],
    normal: [f64; 3],
    pub spacing: [f64; 2],
    per_spacing: [f64; 2],
    per_plane: f64,
    hull: f64,
    reference_size: [i32; 3],
    pub size: [i32; 3],
}

pub fn pair(request: &GammaRequest, layers: &Layers) -> Pair {
    let (reference, values) = (request.reference.grid(), layers.values.grid());
    let locate = Locate::new(reference, layers);
    let spacing = values.spacing_xy_mm();
    Pair {
        first: locate.first_mm.to_array(),
        step_i: locate.steps_mm[0].to_array(),
        step_j: locate.steps_mm[1].to_array(),
        normal: locate.normal.to_array(),
        spacing,
        per_spacing: spacing.map(f64::recip),
        per_plane: planes_per_mm(values),
        hull: HULL_MM,
        reference_size: reference.size().map(int),
        size: values.size().map(int),
    }
}
