//! Two beams on a cube of water, quickly computed.

use beamsight::files::mha;
use beamsight::geometry::{Grid, Volume};
use glam::DVec3;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Two beams on an isocentre at the origin.
pub const CROSS: &str = r#"
name = "Cross"
machine = "generic-6mv"
isocentre_mm = [0.0, 0.0, 0.0]
fractions = 5
[[beam]]
name = "AP"
gantry_deg = 0.0
mu = 100.0
jaws_mm = { x = [-20.0, 20.0], y = [-20.0, 20.0] }
[[beam]]
name = "Left"
gantry_deg = 90.0
mu = 80.0
jaws_mm = { x = [-20.0, 20.0], y = [-20.0, 20.0] }
"#;

/// Writes image and plan into a folder: `side` voxels of 2.5 mm a side, of which all within `half_mm` of the middle are water.
pub fn write_cross(folder: &Path, side: usize, half_mm: f64) -> [PathBuf; 2] {
    let first = DVec3::splat(-1.25 * (side as f64 - 1.0));
    let grid = Grid::axis_aligned(first, DVec3::splat(2.5), [side; 3]).expect("a grid");
    let water = |n: usize| {
        let p = grid.centre_mm(n % side, n / side % side, n / (side * side));
        if p.abs().max_element() < half_mm { 0.0 } else { -1000.0 }
    };
    let hu: Vec<f32> = (0..grid.len()).map(water).collect();
    let [image, plan] = ["cube.mha", "plan.toml"].map(|name| folder.join(name));
    mha::write(&image, &Volume::new(Arc::new(grid), hu)).expect("an image");
    fs::write(&plan, CROSS).expect("a plan");
    [image, plan]
}
