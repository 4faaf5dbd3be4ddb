//! The vertex-neighbourhood fast path: for a point at a voxel of the evaluated dose (all are, where both doses have one grid) the
//! nearest point, if it lies in the 24 tetrahedra that meet there. Most points need no search then: H1 of Gu 2010 takes 0.11 us a
//! point (`benches/RESULTS.md`).
//!
//! With the dose off by `e` at the voxel, a way from it along which the dose falls towards the point's by `s` (in dose
//! differences a DTA) comes within `e^2 / (1 + s^2)` of the point. In a tetrahedron the dose is linear, so `s` is longest along
//! its slope, or where that leads out of it, along the projection of the slope on the cone that the tetrahedron fills,
//! seen from the voxel. Its edges are a chain of steps along the axes, each of which is gone at least as far as
//! the next: of the steps' falls, each divided by its squared length, that projection is the antitonic regression (weights:
//! squared lengths), without what is negative; for up to three steps a handful of least and greatest means. Tetrahedra are named by
//! the axes gone along upwards from the voxel and in which order, the others being gone along downwards: both chains are by
//! themselves, and the best of each 24 is the best sum of an upward set and the downward set of the other axes.
//!
//! All other tetrahedra are at least as far as the nearest face opposite the voxel: a distance below that is final.

use crate::lanes::F32xN;

/// An answer within this part of the squared distance to the nearest face that the voxel is not on is final.
const FINAL: f32 = 0.999;

/// Squared steps along axes and their inverses, and the inverses of their sums.
#[derive(Clone, Copy, Debug)]
struct Steps {
    l: [f32; 3],
    per: [f32; 3],
    /// Inverse sum of the two axes other than this one.
    per_two: [f32; 3],
    per_all: f32,
}

impl Steps {
    fn new(l: [f32; 3]) -> Self {
        let [x, y, z] = l;
        let per_two = [y + z, x + z, x + y].map(f32::recip);
        Self {
            l,
            per: l.map(f32::recip),
            per_two,
            per_all: 1.0 / (x + y + z),
        }
    }

    /// Squared projection of the falls of a chain of one step.
    #[inline(always)]
    fn one<const N: usize>(&self, a: usize, fall: F32xN<N>) -> F32xN<N> {
        let fall = fall.max(F32xN::ZERO);
        fall * fall * self.per[a]
    }

    /// ... of two.
    #[inline(always)]
    fn two<const N: usize>(&self, [a, b]: [usize; 2], fall: [F32xN<N>; 2]) -> F32xN<N> {
        let zero = F32xN::ZERO;
        let mean = (fall[0] + fall[1]) * self.per_two[3 - a - b];
        let first = (fall[0] * self.per[a]).max(mean).max(zero);
        let second = (fall[1] * self.per[b]).min(mean).max(zero);
        first * first * self.l[a] + second * second * self.l[b]
    }

    /// ... of three.
    #[inline(always)]
    fn three<const N: usize>(&self, [a, b, c]: [usize; 3], fall: [F32xN<N>; 3]) -> F32xN<N> {
        let zero = F32xN::ZERO;
        let early = (fall[0] + fall[1]) * self.per_two[c];
        let late = (fall[1] + fall[2]) * self.per_two[a];
        let all_steps = (fall[0] + fall[1] + fall[2]) * self.per_all;
        let start = early.max(all_steps);
        let first = (fall[0] * self.per[a]).max(start).max(zero);
        let second = start.min((fall[1] * self.per[b]).max(late)).max(zero);
        let third = (fall[2] * self.per[c]).min(late.min(all_steps)).max(zero);
        first * first * self.l[a] + second * second * self.l[b] + third * third * self.l[c]
    }

    /// The longest, for each set of axes. `fall`: from the voxel to its neighbours (bit 0: x, 1: y, 2: z).
    #[inline(always)]
    fn longest<const N: usize>(&self, fall: &[F32xN<N>; 8]) -> [F32xN<N>; 8] {
        let mut longest = [F32xN::ZERO; 8];
        for a in 0..3 {
            longest[1 << a] = self.one(a, fall[1 << a]);
            for b in (0..3).filter(|b| *b != a) {
                let (one, two) = (1 << a, 1 << a | 1 << b);
                longest[two] =
                    longest[two].max(self.two([a, b], [fall[one], fall[two] - fall[one]]));
                let third_step = fall[7] - fall[two];
                let three = self.three(
                    [a, b, 3 - a - b],
                    [fall[one], fall[two] - fall[one], third_step],
                );
                longest[7] = longest[7].max(three);
            }
        }
        longest
    }
}

/// Geometry common to the voxels of a plane.
#[derive(Clone, Copy, Debug)]
pub struct VertexNeighbourhood {
    up: Steps,
    down: Steps,
    /// Answers up to here are final.
    most: f32,
}

impl VertexNeighbourhood {
    /// `side`: of the cells along x and y, and along z above and below the plane, in DTA.
    pub fn new([x, y]: [f32; 2], [above, below]: [f32; 2]) -> Self {
        let (x, y, z) = (x * x, y * y, above.min(below).powi(2));
        let pair = |a: f32, b: f32| 1.0 / (1.0 / a + 1.0 / b);
        Self {
            up: Steps::new([x, y, above * above]),
            down: Steps::new([x, y, below * below]),
            most: FINAL * pair(x, y).min(pair(x, z)).min(pair(y, z)),
        }
    }

    /// The squared distances of points at voxels next to each other, of which the first has the index `index` in `values` (Gy); infinite
    /// where it may not be the least. `dose`: of the points, Gy; `strides`: from voxel to voxel along each axis.
    #[inline(always)]
    pub fn squares<const N: usize>(
        &self,
        values: &[f32],
        index: usize,
        strides: [usize; 3],
        dose: F32xN<N>,
        per_gy: F32xN<N>,
    ) -> F32xN<N> {
        let zero = F32xN::ZERO;
        let dose_here = F32xN::load(values, index);
        let off = (dose_here - dose) * per_gy;
        let scale = zero.above(off, -per_gy, per_gy);
        let (mut up, mut down) = ([zero; 8], [zero; 8]);
        for c in 1..8_usize {
            let step: usize = (0..3)
                .filter(|axis| c >> axis & 1 == 1)
                .map(|axis| strides[axis])
                .sum();
            up[c] = (dose_here - F32xN::load(values, index + step)) * scale;
            down[c] = (dose_here - F32xN::before(values, index, step)) * scale;
        }
        let (up, down) = (self.up.longest(&up), self.down.longest(&down));
        let longest = (0..8).fold(zero, |longest, set| longest.max(up[set] + down[7 - set]));
        let square = off * off / (F32xN::splat(1.0) + longest);
        square.above(F32xN::splat(self.most), F32xN::splat(f32::INFINITY), square)
    }
}
