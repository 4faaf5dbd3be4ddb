//! Places of a reference dose's voxels in an evaluated one, exact in single precision.

use crate::gamma::{Layers, Locate};
use bytemuck::{Pod, Zeroable};
use geometry::Grid;
use glam::DVec3;

/// No place is farther, in units: sums of three stay in 32 bits. Nearer ones are outside every dose, too.
const FARTHEST: f64 = 1e8;

/// `struct SplitPosition` of the kernels, field for field: whole units and the rest.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Pod, Zeroable)]
pub struct SplitPosition {
    whole: [i32; 3],
    pad: i32,
    rest: [f32; 3],
    pad_end: i32,
}

impl SplitPosition {
    fn new(units: [f64; 3]) -> Self {
        let units = units.map(|n| n.clamp(-FARTHEST, FARTHEST));
        let (whole_units, fraction) = (
            units.map(|n| n.floor() as i32),
            units.map(|n| (n - n.floor()) as f32),
        );
        Self {
            whole: whole_units,
            pad: 0,
            rest: fraction,
            pad_end: 0,
        }
    }
}

/// Places of the reference's columns, rows and planes, of which a voxel's place is the sum, then of the evaluated
/// dose's planes.
pub fn places(reference: &Grid, layers: &Layers) -> Vec<SplitPosition> {
    let evaluated = layers.values.grid();
    let locate = Locate::new(reference, layers);
    let [dx, dy] = evaluated.spacing_xy_mm();
    let along_z = if layers.flat() { 0.0 } else { 1.0 };
    let place = |mm: DVec3| SplitPosition::new([mm.x / dx, mm.y / dy, along_z * mm.z]);
    let [nx, ny, _] = reference.size();
    let [step_i, step_j] = locate.steps_mm;
    let columns = (0..nx).map(|i| place(step_i * i as f64));
    let rows = (0..ny).map(|j| place(step_j * j as f64));
    let planes = reference.planes_mm().iter().enumerate().map(|(k, z)| {
        let mut place = place(locate.first_mm + locate.normal * *z);
        if let Some(layer_of) = &layers.layer_of {
            place.whole[2] = layer_of[k].map_or(-1, |layer| layer as i32);
        }
        place
    });
    let heights = evaluated.planes_mm().iter().map(|z| place(DVec3::Z * *z));
    columns.chain(rows).chain(planes).chain(heights).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_is_its_whole_units_and_the_rest() {
        let place = SplitPosition::new([1234.25, -0.5, -1e300]);
        assert_eq!(
            (place.whole, place.rest),
            ([1234, -1, -100_000_000], [0.25, 0.5, 0.0])
        );
        // What is a rounding error below a voxel is on it.
        let near = SplitPosition::new([-1e-17, 0.0, 0.0]);
        assert_eq!(near.whole[0] as f32 + near.rest[0], 0.0);
    }
}
