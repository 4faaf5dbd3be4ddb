//! The voxel walk of a whole lattice of parallel lines at once.
//!
//! A lattice has one line to a voxel of the face of entry. All lines enter a slab (one layer of voxels across the block's last axis)
//! at the same place within their voxel, so that they cross the same sides at the same lengths: one line's walk holds for all,
//! offset by whole voxels. Over all lines each voxel is passed exactly once.

use glam::DVec3;

/// A segment of every line within one voxel.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// Index along the block's last axis.
    pub slab: usize,
    /// Voxel less line number along the block's first and second axis.
    pub shift: [i32; 2],
    pub length_cm: f32,
}

/// The walk of a direction through a block.
#[derive(Clone, Debug)]
pub struct LatticeWalk {
    pub segments: Vec<Segment>,
    /// Path of a line within a slab, cm.
    pub slab_path_cm: f64,
}

impl LatticeWalk {
    /// The walk along `direction` (unit vector in the block's axis order), of which the last axis is the one along which it
    /// crosses most voxels. `start` is the entry within a voxel, as fractions of its sides.
    pub fn new(spacing_mm: [f64; 3], slabs: usize, direction: DVec3, start: [f64; 2]) -> Self {
        let speed: [f64; 3] = std::array::from_fn(|a| direction[a] / spacing_mm[a]);
        let slab_path_cm = 0.1 / speed[2].abs();
        let per_slab = [speed[0], speed[1]].map(|s| s / speed[2].abs());
        let mut segments = Vec::with_capacity(3 * slabs);
        for step in 0..slabs {
            let slab = if speed[2] > 0.0 {
                step
            } else {
                slabs - 1 - step
            };
            let entry = [0, 1].map(|i| start[i] + per_slab[i] * step as f64);
            walk_slab(slab, entry, per_slab, slab_path_cm, &mut segments);
        }
        Self {
            segments,
            slab_path_cm,
        }
    }

    /// Least and greatest shift along the block's first or second axis.
    pub fn shifts(&self, axis: usize) -> [i32; 2] {
        let shifts = self.segments.iter().map(|s| s.shift[axis]);
        [shifts.clone().min().unwrap_or(0), shifts.max().unwrap_or(0)]
    }
}

/// Up to three segments: cut where the line leaves its voxel sideways.
fn walk_slab(
    slab: usize,
    entry: [f64; 2],
    per_slab: [f64; 2],
    path_cm: f64,
    segments: &mut Vec<Segment>,
) {
    let mut voxel = entry.map(|e| e.floor() as i32);
    // Part of the slab after which the side is reached; none within the slab where it is 1 or more.
    let reach = [0, 1].map(|i| {
        let inside = entry[i] - f64::from(voxel[i]);
        if per_slab[i] > 0.0 {
            (1.0 - inside) / per_slab[i]
        } else if per_slab[i] < 0.0 {
            inside / -per_slab[i]
        } else {
            f64::INFINITY
        }
    });
    let order = if reach[0] <= reach[1] { [0, 1] } else { [1, 0] };
    let mut start = 0.0;
    for axis in order {
        if reach[axis] < 1.0 {
            let length = reach[axis] - start;
            segments.extend(segment(slab, voxel, length, path_cm));
            start = reach[axis];
            voxel[axis] += if per_slab[axis] > 0.0 { 1 } else { -1 };
        }
    }
    segments.extend(segment(slab, voxel, 1.0 - start, path_cm));
}

/// The segment over a part of a slab; `None` where the part is empty.
fn segment(slab: usize, shift: [i32; 2], part: f64, path_cm: f64) -> Option<Segment> {
    (part > 0.0).then_some(Segment {
        slab,
        shift,
        length_cm: (part * path_cm) as f32,
    })
}
