//! The voxel walk of a lattice of even spacing, from any point: the walk of [`super::walk`] where planes need no table.
//!
//! Positions are in voxels from the lattice's low corner (voxel `i` lies between `i` and `i + 1`) and directions in voxels per
//! cm, so that a walk is told in cm. Each crossing is computed from its own plane, as there.

/// A walk under way.
#[derive(Clone, Copy, Debug)]
pub struct EvenWalk {
    from: [f32; 3],
    /// cm per voxel along each axis.
    inverse: [f32; 3],
    /// Next plane across each axis, and its step.
    plane: [f32; 3],
    step: [f32; 3],
    /// Where those planes are crossed, cm.
    next: [f32; 3],
    voxel: usize,
    stride: [usize; 3],
    at: f32,
    end: f32,
}

/// Slower than this, in voxels per cm, is along the planes.
const SLOWEST: f32 = 1e-9;

/// How fast planes are crossed, voxels per cm: never so slowly that its inverse is not a number.
#[inline(always)]
fn crossing(direction: f32) -> f32 {
    if direction.abs() < SLOWEST { SLOWEST } else { direction }
}

impl EvenWalk {
    /// A walk from a point within the lattice, or on its rim.
    #[inline(always)]
    pub fn new(size: [usize; 3], from: [f32; 3], direction: [f32; 3]) -> Self {
        let mut walk = Self {
            from,
            inverse: [0.0; 3],
            plane: [0.0; 3],
            step: [1.0; 3],
            next: [0.0; 3],
            voxel: 0,
            stride: [1, size[0], size[0] * size[1]],
            at: 0.0,
            end: f32::INFINITY,
        };
        for a in 0..3 {
            let speed = crossing(direction[a]);
            walk.inverse[a] = 1.0 / speed;
            let last = size[a] as f32;
            let voxel = from[a].floor().clamp(0.0, last - 1.0);
            walk.voxel += voxel as usize * walk.stride[a];
            let rim = if speed > 0.0 {
                walk.plane[a] = voxel + 1.0;
                last
            } else {
                walk.plane[a] = voxel;
                walk.step[a] = -1.0;
                walk.stride[a] = walk.stride[a].wrapping_neg();
                0.0
            };
            walk.next[a] = (walk.plane[a] - from[a]) * walk.inverse[a];
            walk.end = walk.end.min((rim - from[a]) * walk.inverse[a]);
        }
        walk
    }

    /// Where on its way the walk is, cm from its beginning.
    #[inline(always)]
    pub fn at_cm(&self) -> f32 {
        self.at
    }

    /// The voxel it is in and the way through it, cm; `None` once it has left the lattice.
    #[inline(always)]
    pub fn step(&mut self) -> Option<(usize, f32)> {
        if self.at >= self.end {
            return None;
        }
        let [x, y, z] = self.next;
        let axis = if x < y {
            if x < z { 0 } else { 2 }
        } else if y < z {
            1
        } else {
            2
        };
        let crossing = self.next[axis];
        let passed = (self.voxel, crossing - self.at);
        self.at = crossing;
        self.voxel = self.voxel.wrapping_add(self.stride[axis]);
        self.plane[axis] += self.step[axis];
        self.next[axis] = (self.plane[axis] - self.from[axis]) * self.inverse[axis];
        Some(passed)
    }
}

/// Where a line (same units) is within the lattice: from and until, cm; `None` where it misses it or lies behind.
#[inline(always)]
pub fn within(size: [usize; 3], from: [f32; 3], direction: [f32; 3]) -> Option<[f32; 2]> {
    let (mut begin, mut end) = (0.0_f32, f32::INFINITY);
    for a in 0..3 {
        let speed = crossing(direction[a]);
        let low = (0.0 - from[a]) / speed;
        let high = (size[a] as f32 - from[a]) / speed;
        begin = begin.max(low.min(high));
        end = end.min(low.max(high));
    }
    (begin < end).then_some([begin, end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::geometry::Grid;
    use crate::geometry::walk::{Planes, nested};
    use glam::DVec3;
    use proptest::prelude::*;

    const SIZE: [usize; 3] = [7, 5, 9];
    const SPACING_MM: DVec3 = DVec3::new(2.0, 3.0, 2.5);

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        /// Any ray from within: the voxels and lengths of the walk with planes.
        #[test]
        fn as_with_planes(part in prop::array::uniform3(0.001_f64..0.999), way in prop::array::uniform3(-1.0_f64..1.0)) {
            let way = DVec3::from(way);
            prop_assume!(way.length() > 0.1);
            let way = way.normalize();
            let grid = Grid::axis_aligned(0.5 * SPACING_MM, SPACING_MM, SIZE).unwrap();
            let size = DVec3::from(SIZE.map(|n| n as f64));
            let from_mm = DVec3::from(part) * size * SPACING_MM;
            let mut want = vec![0.0; grid.len()];
            nested(&Planes::<f64>::seen_from(&grid, from_mm), 100.0 * way, |voxel, mm| want[voxel] += 0.1 * mm);
            let from = (from_mm / SPACING_MM).as_vec3().to_array();
            let direction = (10.0 * way / SPACING_MM).as_vec3().to_array();
            let mut got = vec![0.0; grid.len()];
            let mut walk = EvenWalk::new(SIZE, from, direction);
            let mut sum = 0.0;
            while let Some((voxel, cm)) = walk.step() {
                prop_assert!(cm >= 0.0);
                got[voxel] += f64::from(cm);
                sum += cm;
            }
            prop_assert!((sum - walk.at_cm()).abs() < 1e-5);
            for (got, want) in got.iter().zip(&want) {
                prop_assert!((got - want).abs() < 2e-5, "{got} for {want}");
            }
            // The line from before the lattice enters and leaves it where the walk does.
            let before = std::array::from_fn(|a| from[a] - 30.0 * direction[a]);
            let [_, end] = within(SIZE, before, direction).expect("it passes");
            prop_assert!((end - 30.0 - walk.at_cm()).abs() < 1e-4);
        }
    }

    #[test]
    fn along_an_axis_and_beside_the_lattice() {
        let mut walk = EvenWalk::new([4, 4, 4], [0.0, 2.0, 1.5], [1.0, 0.0, 0.0]);
        let passed: Vec<_> = std::iter::from_fn(|| walk.step()).collect();
        assert_eq!(passed, [(24, 1.0), (25, 1.0), (26, 1.0), (27, 1.0)]);
        let mut back = EvenWalk::new([4, 4, 4], [4.0, 2.0, 1.5], [-2.0, 0.0, 0.0]);
        let passed: Vec<_> = std::iter::from_fn(|| back.step()).collect();
        assert_eq!(passed, [(27, 0.5), (26, 0.5), (25, 0.5), (24, 0.5)]);
        assert_eq!(within([4, 4, 4], [-1.0, 5.0, 0.0], [1.0, 0.0, 0.0]), None);
        assert_eq!(within([4, 4, 4], [-1.0, 3.0, 0.5], [1.0, 0.0, 0.0]), Some([1.0, 5.0]));
        assert_eq!(within([4, 4, 4], [-1.0, 3.0, 0.5], [-1.0, 0.0, 0.0]), None);
    }
}
