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
//! `rest + (dose - sum e q) s`. Where that breaks bounds, the least is on one of the faces whose bounds it breaks, which
//! is one of
//!
//! * `t1 = 1`: the first vertex dropped,
//! * two neighbouring `t` equal: their steps taken as one,
//! * the last `t = 0`: the last vertex dropped,
//!
//! each a simplex of the same form with a step less (the vertices dropped are those of negative weight in Ju 2008). All
//! numbers are in units of the criterion: distances of the DTA, doses of the dose difference, seen from the point.

/// What is not nearer by this factor of the squared distance is not looked at: 2e-6 of gamma. Where the dose is linear many
/// tetrahedra lie on one hyperplane and differ by rounding alone.
const NEARER: f32 = 0.999_996;
/// A point this much of a cell's side inside it is on its face.
pub const ON_FACE: f32 = 1e-6;

/// An axis of a cell seen from the point, in DTA: where it begins in sides, its squared side and the inverse of that, and
/// the inverse of its side.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    pub q: f32,
    pub l: f32,
    pub per_l: f32,
    pub per: f32,
}

/// A step of a simplex, along one axis or along several at once. See the module.
#[derive(Clone, Copy, Debug)]
struct Step {
    q: f32,
    l: f32,
    per_l: f32,
    e: f32,
}

impl Axis {
    #[inline(always)]
    fn step(self, from: f32, to: f32) -> Step {
        Step { q: self.q, l: self.l, per_l: self.per_l, e: to - from }
    }
}

impl Step {
    /// Slope times dose of the step.
    #[inline(always)]
    fn gain(self) -> f32 {
        self.e * self.e * self.per_l
    }

    /// Where the least is along it without bounds.
    #[inline(always)]
    fn least_at(self, s: f32) -> f32 {
        -(self.q + s * (self.e * self.per_l))
    }
}

/// Where a simplex begins: squared distance in space that no step changes, and the dose at its first vertex.
#[derive(Clone, Copy, Debug)]
struct Start {
    rest: f32,
    dose: f32,
}

impl Start {
    /// At the end of a step.
    #[inline(always)]
    fn after(self, step: Step) -> Self {
        let way = 1.0 + step.q;
        Self { rest: self.rest + step.l * (way * way), dose: self.dose + step.e }
    }

    /// Without a step.
    #[inline(always)]
    fn before(self, step: Step) -> Self {
        Self { rest: self.rest + step.l * (step.q * step.q), dose: self.dose }
    }

    /// Two steps taken as one.
    #[inline(always)]
    fn along(self, a: Step, b: Step) -> (Self, Step) {
        let l = a.l + b.l;
        let apart = a.q - b.q;
        let per_l = 1.0 / l;
        let rest = self.rest + a.l * b.l * per_l * (apart * apart);
        let both = Step { q: (a.l * a.q + b.l * b.q) * per_l, l, per_l, e: a.e + b.e };
        (Self { rest, dose: self.dose }, both)
    }
}

#[inline(always)]
fn edge(start: Start, a: Step, best: &mut f32) {
    let s = (start.dose - a.e * a.q) / (1.0 + a.gain());
    let t = a.least_at(s).clamp(0.0, 1.0);
    let (way, dose) = (t + a.q, start.dose + a.e * t);
    *best = best.min(start.rest + a.l * (way * way) + dose * dose);
}

#[inline(always)]
fn triangle(start: Start, a: Step, b: Step, best: &mut f32) {
    let off = start.dose - a.e * a.q - b.e * b.q;
    let n = 1.0 + a.gain() + b.gain();
    // Its plane is not nearer.
    if off * off >= (*best - start.rest) * n {
        return;
    }
    let s = off / n;
    let (ta, tb) = (a.least_at(s), b.least_at(s));
    let (low, order, high) = (tb >= 0.0, ta >= tb, ta <= 1.0);
    if low && order && high {
        *best = start.rest + off * s;
        return;
    }
    if !high {
        edge(start.after(a), b, best);
    }
    if !order {
        let (start, ab) = start.along(a, b);
        edge(start, ab, best);
    }
    if !low {
        edge(start.before(b), a, best);
    }
}

#[inline(always)]
fn tetrahedron(dose: f32, a: Step, b: Step, c: Step, best: &mut f32) {
    let off = dose - a.e * a.q - b.e * b.q - c.e * c.q;
    let n = 1.0 + a.gain() + b.gain() + c.gain();
    // Its hyperplane is not nearer.
    if off * off >= *best * NEARER * n {
        return;
    }
    let s = off / n;
    let (ta, tb, tc) = (a.least_at(s), b.least_at(s), c.least_at(s));
    let (low, second, first, high) = (tc >= 0.0, tb >= tc, ta >= tb, ta <= 1.0);
    if low && second && first && high {
        *best = off * s;
        return;
    }
    faces(dose, [a, b, c], [high, first, second, low], best);
}

/// The faces of a tetrahedron whose bounds (`t1 <= 1`, `t1 >= t2`, `t2 >= t3`, `t3 >= 0`) do not hold. Not worth a copy in
/// each of a cell's six.
#[inline(never)]
fn faces(dose: f32, [a, b, c]: [Step; 3], holds: [bool; 4], best: &mut f32) {
    let start = Start { rest: 0.0, dose };
    if !holds[0] {
        triangle(start.after(a), b, c, best);
    }
    if !holds[1] {
        let (start, ab) = start.along(a, b);
        triangle(start, ab, c, best);
    }
    if !holds[2] {
        let (start, bc) = start.along(b, c);
        triangle(start, a, bc, best);
    }
    if !holds[3] {
        triangle(start.before(c), a, b, best);
    }
}

/// Whether a cell may hold a point nearer than `best`, from how steep its dose is. Seen from a point outside it, or on its
/// faces, along every axis, the whole cell lies beyond one of its corners, `gap` away along each, and from there its dose
/// falls towards the point's no faster than along its steepest edges: no nearer than the hyperplane of those slopes.
/// `dose` as for [`cell`].
#[inline(always)]
pub fn may_hold(axes: &[Axis; 3], gap: [f32; 3], d: &[f32; 8], best: f32) -> bool {
    let below = axes.map(|axis| axis.q <= ON_FACE - 1.0);
    if !(0..3).all(|axis| below[axis] || axes[axis].q >= -ON_FACE) {
        return true;
    }
    let corner = d[usize::from(below[0]) + 2 * usize::from(below[1]) + 4 * usize::from(below[2])];
    let sign = if corner < 0.0 { -1.0 } else { 1.0 };
    let edges = [
        [d[1] - d[0], d[3] - d[2], d[5] - d[4], d[7] - d[6]],
        [d[2] - d[0], d[3] - d[1], d[6] - d[4], d[7] - d[5]],
        [d[4] - d[0], d[5] - d[1], d[6] - d[2], d[7] - d[3]],
    ];
    let (mut off, mut n) = (corner.abs(), 1.0);
    for axis in 0..3 {
        let towards = if below[axis] { sign } else { -sign };
        let [a, b, c, e] = edges[axis].map(|edge| towards * edge);
        let fall = axes[axis].per * a.max(b).max(c.max(e)).max(0.0);
        off += fall * gap[axis];
        n += fall * fall;
    }
    off * off < best * NEARER * n
}

/// Lowers `best` to the least squared distance to a cell, where that is less. `dose`: at its corners (bit 0: x, 1: y, 2: z)
/// less that of the point, in dose differences.
#[inline(always)]
pub fn cell([x, y, z]: [Axis; 3], d: &[f32; 8], best: &mut f32) {
    tetrahedron(d[0], x.step(d[0], d[1]), y.step(d[1], d[3]), z.step(d[3], d[7]), best);
    tetrahedron(d[0], x.step(d[0], d[1]), z.step(d[1], d[5]), y.step(d[5], d[7]), best);
    tetrahedron(d[0], y.step(d[0], d[2]), x.step(d[2], d[3]), z.step(d[3], d[7]), best);
    tetrahedron(d[0], y.step(d[0], d[2]), z.step(d[2], d[6]), x.step(d[6], d[7]), best);
    tetrahedron(d[0], z.step(d[0], d[4]), x.step(d[4], d[5]), y.step(d[5], d[7]), best);
    tetrahedron(d[0], z.step(d[0], d[4]), y.step(d[4], d[6]), x.step(d[6], d[7]), best);
}

/// As [`cell`], in a plane.
#[inline(always)]
pub fn square([x, y]: [Axis; 2], d: &[f32; 4], best: &mut f32) {
    let start = Start { rest: 0.0, dose: d[0] };
    triangle(start, x.step(d[0], d[1]), y.step(d[1], d[3]), best);
    triangle(start, y.step(d[0], d[2]), x.step(d[2], d[3]), best);
}

/// The dose at a place in a cell, 0 to 1 along each axis, of the tetrahedron that holds it.
pub fn dose_in_cell(dose: [f32; 8], at: [f64; 3]) -> f32 {
    let mut order = [0, 1, 2];
    order.sort_by(|&a, &b| at[b].total_cmp(&at[a]));
    let mut corner = 0;
    let mut sum = f64::from(dose[0]);
    for axis in order {
        let next = corner | 1 << axis;
        sum += at[axis] * (f64::from(dose[next]) - f64::from(dose[corner]));
        corner = next;
    }
    sum as f32
}

/// As [`dose_in_cell`], in a plane.
pub fn dose_in_square(dose: [f32; 4], [x, y]: [f64; 2]) -> f32 {
    let [d0, dx, dy, d1] = dose.map(f64::from);
    let middle = if x >= y { x * (dx - d0) + y * (d1 - dx) } else { y * (dy - d0) + x * (d1 - dy) };
    (d0 + middle) as f32
}
