//! The voxel walk of a lattice of even spacing, from any point: planes need no table.
//!
//! Positions are in voxels from the lattice's low corner (voxel `i` lies between `i` and `i + 1`) and directions in voxels per
//! cm, so that lengths are in cm. Each crossing is computed from its own plane, as in [`super::nested`].

use glam::Vec3A;

/// A walk under way, all axes side by side and without branches: the next plane is unpredictable.
#[derive(Clone, Copy, Debug)]
pub struct EvenWalk {
    from: Vec3A,
    /// cm per voxel along each axis.
    inverse: Vec3A,
    /// Crossings of the next plane across each axis, and of the one after it, cm.
    next: Vec3A,
    after: Vec3A,
    /// The plane of `after`, and the step from plane to plane.
    beyond: Vec3A,
    step: Vec3A,
    voxel: usize,
    /// By which axes are crossed (bit 0: x, 1: y, 2: z), from voxel to voxel.
    strides: [usize; 8],
    at: f32,
    end: f32,
}

/// Slower than this, in voxels per cm, is along the planes.
const SLOWEST: f32 = 1e-9;

/// How fast planes are crossed, voxels per cm: never so slowly that its inverse is not a number.
#[inline(always)]
fn crossing(direction: f32) -> f32 {
    if direction.abs() < SLOWEST {
        SLOWEST
    } else {
        direction
    }
}

impl EvenWalk {
    /// A walk from a point within the lattice, or on its rim.
    #[inline(always)]
    pub fn new(size: [usize; 3], from: [f32; 3], direction: [f32; 3]) -> Self {
        let speed = direction.map(crossing);
        let mut stride = [1, size[0], size[0] * size[1]];
        let (mut plane, mut step, mut rim) = ([0.0; 3], [1.0; 3], [0.0; 3]);
        let mut first = 0;
        for a in 0..3 {
            let last = size[a] as f32;
            let voxel = from[a].floor().clamp(0.0, last - 1.0);
            first += voxel as usize * stride[a];
            if speed[a] > 0.0 {
                plane[a] = voxel + 1.0;
                rim[a] = last;
            } else {
                plane[a] = voxel;
                step[a] = -1.0;
                stride[a] = stride[a].wrapping_neg();
            }
        }
        let inverse = Vec3A::ONE / Vec3A::from(speed);
        let [from, plane, step] = [from, plane, step].map(Vec3A::from);
        let crossed_at = |plane: Vec3A| (plane - from) * inverse;
        Self {
            from,
            inverse,
            next: crossed_at(plane),
            after: crossed_at(plane + step),
            beyond: plane + step,
            step,
            voxel: first,
            strides: std::array::from_fn(|axes: usize| {
                let along = (0..3).filter(|a| axes & (1 << a) != 0).map(|a| stride[a]);
                along.fold(0, usize::wrapping_add)
            }),
            at: 0.0,
            end: crossed_at(Vec3A::from(rim)).min_element(),
        }
    }

    /// Position of the walk, cm from its beginning.
    #[inline(always)]
    pub fn at_cm(&self) -> f32 {
        self.at
    }

    /// The voxel it is in and the way through it, cm; `None` once it has left the lattice. Planes crossed at one place are crossed
    /// together.
    #[inline(always)]
    pub fn step(&mut self) -> Option<(usize, f32)> {
        if self.at >= self.end {
            return None;
        }
        let crossing = self.next.min_element();
        let passed = (self.voxel, crossing - self.at);
        self.at = crossing;
        let crossed = self.next.cmple(Vec3A::splat(crossing));
        self.voxel = self
            .voxel
            .wrapping_add(self.strides[(crossed.bitmask() & 7) as usize]);
        self.next = Vec3A::select(crossed, self.after, self.next);
        self.beyond += Vec3A::select(crossed, self.step, Vec3A::ZERO);
        self.after = (self.beyond - self.from) * self.inverse;
        Some(passed)
    }
}

/// Interval of a line (same units) within the lattice: from and until, cm; `None` where it misses it or lies behind.
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
    use super::super::{Planes, nested};
    use super::*;
    use crate::Grid;
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
            let from = (DVec3::from(part) * size).as_vec3();
            let direction = (10.0 * way / SPACING_MM).as_vec3();
            // Both walk the same ray: almost along planes, the rounding of its start alone moves a crossing by more than is allowed.
            let from_mm = from.as_dvec3() * SPACING_MM;
            let way = 0.1 * direction.as_dvec3() * SPACING_MM;
            let mut want = vec![0.0; grid.len()];
            nested(&Planes::seen_from(&grid, from_mm), 100.0 * way, |voxel, mm| want[voxel] += 0.1 * mm);
            let (from, direction) = (from.to_array(), direction.to_array());
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
        assert_eq!(
            within([4, 4, 4], [-1.0, 3.0, 0.5], [1.0, 0.0, 0.0]),
            Some([1.0, 5.0])
        );
        assert_eq!(within([4, 4, 4], [-1.0, 3.0, 0.5], [-1.0, 0.0, 0.0]), None);
    }
}
