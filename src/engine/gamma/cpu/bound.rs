//! Lower bound of a cell's distance, from its distance in space and its dose gradient.
//!
//! Seen from the point the whole cell lies beyond its nearest corner (edge, face), `gap` away along each axis, where its dose is
//! `off`. In a tetrahedron the slope along an axis is the slope of one of the cell's edges, so that a way `x` along the axes
//! from the point loses `sum fall (x - gap)` of `off` at most, `fall` being the slope of the steepest edges along each:
//!
//! `distance^2 >= least of sum x^2 + (off - sum fall (x - gap))^2, x >= gap`.
//!
//! By duality that is no less than, for any `v`, `v (2 off - v) + sum gap^2 - sum max(0, v fall - gap)^2`, and equal for the `v`
//! that is left of `off`, to which two steps of Newton's method come near.

use crate::gamma::simplex::ON_FACE;
use crate::lanes::F32xN;

/// Side of a point along an axis of a cell that begins `q` sides from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Where {
    Below,
    Within,
    Above,
}

impl Where {
    #[inline(always)]
    pub fn new(q: f32) -> Self {
        if q <= ON_FACE - 1.0 {
            Self::Above
        } else if q < -ON_FACE {
            Self::Within
        } else {
            Self::Below
        }
    }
}

/// Cells side by side along x, seen from the point.
pub struct Row<'a, const N: usize> {
    /// Beginnings of the cells along x, in sides; sides of the point along y and z.
    pub q_x: F32xN<N>,
    pub y: Where,
    pub z: Where,
    pub gap: [F32xN<N>; 3],
    /// Inverse of the cells' sides in DTA.
    pub per: [f32; 3],
    /// Dose at the corners of the cells (bit 0: x, 1: y, 2: z) minus the point's, in dose differences.
    pub dose: &'a [F32xN<N>; 8],
}

impl<const N: usize> Row<'_, N> {
    /// No point of the cells is nearer, squared.
    #[inline(always)]
    pub fn bound(&self) -> F32xN<N> {
        let (zero, one) = (F32xN::ZERO, F32xN::splat(1.0));
        let d = self.dose;
        // The dose where the cell is nearest, from ... to ...
        let (mut lowest, mut highest) = ([zero; 4], [zero; 4]);
        for n in 0..4 {
            let (a, b) = (d[2 * n], d[2 * n + 1]);
            lowest[n] = self.along_x(a, b, a.min(b));
            highest[n] = self.along_x(a, b, a.max(b));
        }
        for (place, n) in [(self.y, 2), (self.z, 1)] {
            for m in 0..n {
                let (a, b) = (
                    [lowest[2 * m], highest[2 * m]],
                    [lowest[2 * m + 1], highest[2 * m + 1]],
                );
                [lowest[m], highest[m]] = match place {
                    Where::Below => a,
                    Where::Above => b,
                    Where::Within => [a[0].min(b[0]), a[1].max(b[1])],
                };
            }
        }
        let off = lowest[0].max(-highest[0]).max(zero);
        let sign = lowest[0].above(zero, one, -one);
        let [x, y, z] = [1, 2, 4].map(|step| {
            let from = (0..8).filter(move |c| c & step == 0);
            let (mut up, mut down) = (zero, zero);
            for c in from {
                let edge = d[c | step] - d[c];
                (up, down) = (up.max(edge), down.max(-edge));
            }
            (up, down)
        });
        let towards = |place: Where, (up, down): (F32xN<N>, F32xN<N>)| match place {
            Where::Below => sign.above(zero, down, up),
            Where::Above => sign.above(zero, up, down),
            Where::Within => up.max(down),
        };
        let x = self.along_x(
            towards(Where::Below, x),
            towards(Where::Above, x),
            x.0.max(x.1),
        );
        let fall = [
            x * self.per[0],
            towards(self.y, y) * self.per[1],
            towards(self.z, z) * self.per[2],
        ];
        let mut v = off;
        for _ in 0..2 {
            let (mut sum, mut n) = (off, one);
            for (fall, gap) in fall.into_iter().zip(self.gap) {
                let used = (v * fall).above(gap, fall, zero);
                sum = sum + used * gap;
                n = n + used * used;
            }
            v = sum / n;
        }
        let mut bound = v * (off + off - v);
        for (fall, gap) in fall.into_iter().zip(self.gap) {
            let over = (v * fall - gap).max(zero);
            bound = bound + gap * gap - over * over;
        }
        bound
    }

    /// By where the point is along x.
    #[inline(always)]
    fn along_x(&self, below: F32xN<N>, above: F32xN<N>, within: F32xN<N>) -> F32xN<N> {
        let not_above = self.q_x.above(F32xN::splat(-ON_FACE), below, within);
        self.q_x
            .above(F32xN::splat(ON_FACE - 1.0), not_above, above)
    }
}
