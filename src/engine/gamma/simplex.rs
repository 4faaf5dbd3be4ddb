//! The least squared distance from the origin to simplices in dose-distance space, in closed form (Ju 2008).
//!
//! A cell between eight voxels is divided into six tetrahedra that share the diagonal from its lowest to its highest corner
//! (Kuhn 1960), one for each order in which the axes can be gone along from one to the other; a rectangle into two
//! triangles. Neighbouring cells agree on their common face, so that the surface has no gaps. The same division makes the
//! arithmetic short: the steps from vertex to vertex of such a simplex, and of each of its faces and edges, are at right
//! angles in space. With `q` the way along a step from the origin to the first vertex in steps (so that `-q` is nearest in
//! space), `l` the step's squared length and `e` its dose, the point `t` of a simplex is
//!
//! `distance^2 = rest + sum l (t + q)^2 + (dose + sum e t)^2`, `1 >= t1 >= t2 >= t3 >= 0`,
//!
//! which without the bounds is least at `t = -(q + s e / l)`, `s = (dose - sum e q) / (1 + sum e^2 / l)`, and there
//! `rest + (dose - sum e q) s`. Where that breaks bounds, the least is on a face, which is a simplex of the same form with a
//! step less: its first vertex or its last dropped, or two neighbouring steps taken as one. A cell has six tetrahedra, 18
//! faces and 19 edges, whose feet are all computed (as Gu 2010, section 2.2), several at a time: it takes less time than
//! finding out which of them are needed. All numbers are in units of the criterion: distances of the DTA, doses of the dose difference, seen
//! from the point.

use crate::lanes::F32xN;

/// Cells not nearer by this factor of the squared distance are skipped: 2e-6 of gamma. Where the dose is linear many
/// tetrahedra lie on one hyperplane and differ by rounding alone.
pub const NEARER: f32 = 0.999_996;
/// A point this much of a cell's side inside it is on its face.
pub const ON_FACE: f32 = 1e-6;

/// A way along one axis of a cell, or along several at once, seen from the point: where it begins in its lengths, its squared
/// length in DTA and the inverse of that.
#[derive(Clone, Copy, Debug)]
pub struct AxisTerms {
    pub q: f32,
    pub l: f32,
    pub per_l: f32,
}

impl AxisTerms {
    /// Two ways taken as one, and the squared distance to it in space.
    #[inline(always)]
    fn along(self, other: Self) -> (Self, f32) {
        let l = self.l + other.l;
        let per_l = 1.0 / l;
        let apart = self.q - other.q;
        let q = (self.l * self.q + other.l * other.q) * per_l;
        (
            Self { q, l, per_l },
            self.l * other.l * per_l * (apart * apart),
        )
    }

    /// Squared distance to its beginning and to its end.
    #[inline(always)]
    fn ends(self) -> [f32; 2] {
        let end = 1.0 + self.q;
        [self.l * (self.q * self.q), self.l * (end * end)]
    }
}

/// The ways of several simplices.
#[derive(Clone, Copy)]
struct AxisTermsOfMany<const N: usize> {
    q: F32xN<N>,
    l: F32xN<N>,
    per_l: F32xN<N>,
}

impl<const N: usize> From<[AxisTerms; N]> for AxisTermsOfMany<N> {
    #[inline(always)]
    fn from(ways: [AxisTerms; N]) -> Self {
        Self {
            q: F32xN(ways.map(|w| w.q)),
            l: F32xN(ways.map(|w| w.l)),
            per_l: F32xN(ways.map(|w| w.per_l)),
        }
    }
}

/// Squared distances to edges, with their doses at the ends.
#[inline(always)]
fn edges<const N: usize>(square_across: [f32; N], a: [AxisTerms; N], d: [[f32; N]; 2]) -> F32xN<N> {
    let (a, d, zero, one) = (
        AxisTermsOfMany::from(a),
        d.map(F32xN),
        F32xN::ZERO,
        F32xN::splat(1.0),
    );
    let e = d[1] - d[0];
    let gain = e * a.per_l;
    let s = (d[0] - e * a.q) / (one + e * gain);
    let t = (-(a.q + s * gain)).max(zero).min(one);
    let (way, dose) = (t + a.q, d[0] + e * t);
    F32xN(square_across) + a.l * (way * way) + dose * dose
}

/// ... to the planes of triangles where their feet lie inside, else infinite.
#[inline(always)]
fn triangles<const N: usize>(
    square_across: [f32; N],
    ways: [[AxisTerms; N]; 2],
    d: [[f32; N]; 3],
) -> F32xN<N> {
    let ([a, b], d, one) = (
        ways.map(AxisTermsOfMany::from),
        d.map(F32xN),
        F32xN::splat(1.0),
    );
    let (ea, eb) = (d[1] - d[0], d[2] - d[1]);
    let (ga, gb) = (ea * a.per_l, eb * b.per_l);
    let off = d[0] - ea * a.q - eb * b.q;
    let s = off / (one + ea * ga + eb * gb);
    let (ta, tb) = (-(a.q + s * ga), -(b.q + s * gb));
    (one - ta)
        .min(ta - tb)
        .min(tb)
        .if_not_negative(F32xN(square_across) + off * s, f32::INFINITY)
}

/// ... to the hyperplanes of tetrahedra, and those again whose feet lie inside, else infinite.
#[inline(always)]
fn tetrahedra<const N: usize>(ways: [[AxisTerms; N]; 3], d: [[f32; N]; 4]) -> [F32xN<N>; 2] {
    let ([a, b, c], d, one) = (
        ways.map(AxisTermsOfMany::from),
        d.map(F32xN),
        F32xN::splat(1.0),
    );
    let (ea, eb, ec) = (d[1] - d[0], d[2] - d[1], d[3] - d[2]);
    let (ga, gb, gc) = (ea * a.per_l, eb * b.per_l, ec * c.per_l);
    let off = d[0] - ea * a.q - eb * b.q - ec * c.q;
    let s = off / (one + ea * ga + eb * gb + ec * gc);
    let (ta, tb, tc) = (-(a.q + s * ga), -(b.q + s * gb), -(c.q + s * gc));
    let inside = (one - ta).min(ta - tb).min((tb - tc).min(tc));
    [off * s, inside.if_not_negative(off * s, f32::INFINITY)]
}

/// Lowers `best` to the least squared distance to a cell, where that is less. `d`: dose at its corners (bit 0: x, 1: y, 2: z)
/// minus the point's, in dose differences. Several simplices at a time; places left over repeat one.
pub fn cell([x, y, z]: [AxisTerms; 3], d: &[f32; 8], best: &mut f32) {
    let doses = |v: [usize; 4]| v.map(|v| d[v]);
    let low = [d[0]; 4];
    let first = tetrahedra(
        [[x, x, y, y], [y, z, x, z], [z, y, z, x]],
        [low, doses([1, 1, 2, 2]), doses([3, 5, 3, 6]), [d[7]; 4]],
    );
    let last = tetrahedra(
        [[z, z, z, z], [x, y, x, y], [y, x, y, x]],
        [low, [d[4]; 4], doses([5, 6, 5, 6]), [d[7]; 4]],
    );
    let [nearest, inside] = [0, 1].map(|n| first[n].min(last[n]).least());
    let mut nearest_square = best.min(inside);
    if nearest < nearest_square * NEARER {
        let ([x0, x1], [y0, y1], [z0, z1]) = (x.ends(), y.ends(), z.ends());
        let ((xy, off_xy), (xz, off_xz), (yz, off_yz)) = (x.along(y), x.along(z), y.along(z));
        let (xyz, off_xyz) = xy.along(z);
        let outer = |a: AxisTerms, b: AxisTerms, square_across: [f32; 2], v: [[usize; 4]; 3]| {
            triangles(
                [
                    square_across[0],
                    square_across[0],
                    square_across[1],
                    square_across[1],
                ],
                [[a, b, a, b], [b, a, b, a]],
                v.map(doses),
            )
        };
        let faces = [
            outer(x, y, [z0, z1], [[0, 0, 4, 4], [1, 2, 5, 6], [3, 3, 7, 7]]),
            outer(x, z, [y0, y1], [[0, 0, 2, 2], [1, 4, 3, 6], [5, 5, 7, 7]]),
            outer(y, z, [x0, x1], [[0, 0, 1, 1], [2, 4, 3, 5], [6, 6, 7, 7]]),
            triangles(
                [off_xy, off_xz, off_yz, off_yz],
                [[xy, xz, yz, x], [z, y, x, yz]],
                [low, doses([3, 5, 6, 1]), [d[7]; 4]],
            ),
            triangles(
                [off_xz, off_xy, off_xz, off_xy],
                [[y, z, y, z], [xz, xy, xz, xy]],
                [low, doses([2, 4, 2, 4]), [d[7]; 4]],
            ),
        ];
        let sides = [
            edges(
                [y0 + z0, y1 + z0, y0 + z1, y1 + z1],
                [x; 4],
                [doses([0, 2, 4, 6]), doses([1, 3, 5, 7])],
            ),
            edges(
                [x0 + z0, x1 + z0, x0 + z1, x1 + z1],
                [y; 4],
                [doses([0, 1, 4, 5]), doses([2, 3, 6, 7])],
            ),
            edges(
                [x0 + y0, x1 + y0, x0 + y1, x1 + y1],
                [z; 4],
                [doses([0, 1, 2, 3]), doses([4, 5, 6, 7])],
            ),
            edges(
                [off_xy + z0, off_xy + z1, off_xz + y0, off_xz + y1],
                [xy, xy, xz, xz],
                [doses([0, 4, 0, 2]), doses([3, 7, 5, 7])],
            ),
            edges(
                [off_yz + x0, off_yz + x1, off_xy + off_xyz, off_xy + off_xyz],
                [yz, yz, xyz, xyz],
                [doses([0, 1, 0, 0]), doses([6, 7, 7, 7])],
            ),
        ];
        let squares = faces
            .into_iter()
            .chain(sides)
            .fold(F32xN::splat(nearest_square), F32xN::min);
        nearest_square = squares.least();
    }
    *best = nearest_square;
}

/// As [`cell`], in a plane.
pub fn square([x, y]: [AxisTerms; 2], d: &[f32; 4], best: &mut f32) {
    let ([x0, x1], [y0, y1]) = (x.ends(), y.ends());
    let (xy, off_xy) = x.along(y);
    let faces = triangles(
        [0.0; 2],
        [[x, y], [y, x]],
        [[d[0]; 2], [d[1], d[2]], [d[3]; 2]],
    );
    let sides = edges(
        [y0, y1, x0, x1, off_xy],
        [x, x, y, y, xy],
        [
            [d[0], d[2], d[0], d[1], d[0]],
            [d[1], d[3], d[2], d[3], d[3]],
        ],
    );
    *best = best.min(faces.least()).min(sides.least());
}

/// The dose at a place in a cell, 0 to 1 along each axis, of the tetrahedron that holds it.
pub fn dose_in_cell(dose: [f32; 8], place: [f64; 3]) -> f32 {
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| place[b].total_cmp(&place[a]));
    let mut corner = 0;
    let mut sum = f64::from(dose[0]);
    for axis in order {
        let next = corner | 1 << axis;
        sum += place[axis] * (f64::from(dose[next]) - f64::from(dose[corner]));
        corner = next;
    }
    sum as f32
}

/// As [`dose_in_cell`], in a plane.
pub fn dose_in_square(dose: [f32; 4], [x, y]: [f64; 2]) -> f32 {
    let [d0, dx, dy, d1] = dose.map(f64::from);
    let middle = if x >= y {
        x * (dx - d0) + y * (d1 - dx)
    } else {
        y * (dy - d0) + x * (d1 - dy)
    };
    (d0 + middle) as f32
}
