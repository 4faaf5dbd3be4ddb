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

/// Steps of a simplex along one axis, or along several at once. See the module.
#[derive(Clone, Copy, Debug, Default)]
struct Step {
    q: f32,
    l: f32,
    e: f32,
}

impl Step {
    /// Slope times dose of the step.
    #[inline(always)]
    fn gain(self) -> f32 {
        self.e * self.e / self.l
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
        Self { rest: self.rest + step.l * way * way, dose: self.dose + step.e }
    }

    /// Without a step.
    #[inline(always)]
    fn before(self, step: Step) -> Self {
        Self { rest: self.rest + step.l * step.q * step.q, dose: self.dose }
    }

    /// Two steps taken as one.
    #[inline(always)]
    fn along(self, a: Step, b: Step) -> (Self, Step) {
        let l = a.l + b.l;
        let apart = a.q - b.q;
        let per = 1.0 / l;
        let rest = self.rest + a.l * b.l * per * apart * apart;
        (Self { rest, dose: self.dose }, Step { q: (a.l * a.q + b.l * b.q) * per, l, e: a.e + b.e })
    }
}

#[inline(always)]
fn edge(start: Start, a: Step, best: &mut f32) {
    let s = (start.dose - a.e * a.q) / (1.0 + a.gain());
    let t = (-(a.q + s * a.e / a.l)).clamp(0.0, 1.0);
    let (way, dose) = (t + a.q, start.dose + a.e * t);
    *best = best.min(start.rest + a.l * way * way + dose * dose);
}

#[inline(always)]
fn triangle(start: Start, a: Step, b: Step, best: &mut f32) {
    let off = start.dose - a.e * a.q - b.e * b.q;
    let s = off / (1.0 + a.gain() + b.gain());
    let least = start.rest + off * s;
    if least >= *best {
        return;
    }
    let ta = -(a.q + s * a.e / a.l);
    let tb = -(b.q + s * b.e / b.l);
    let (low, order, high) = (tb >= 0.0, ta >= tb, ta <= 1.0);
    if low && order && high {
        *best = least;
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
    let s = off / (1.0 + a.gain() + b.gain() + c.gain());
    let least = off * s;
    if least >= *best {
        return;
    }
    let ta = -(a.q + s * a.e / a.l);
    let tb = -(b.q + s * b.e / b.l);
    let tc = -(c.q + s * c.e / c.l);
    let (low, second, first, high) = (tc >= 0.0, tb >= tc, ta >= tb, ta <= 1.0);
    if low && second && first && high {
        *best = least;
        return;
    }
    let start = Start { rest: 0.0, dose };
    if !high {
        triangle(start.after(a), b, c, best);
    }
    if !first {
        let (start, ab) = start.along(a, b);
        triangle(start, ab, c, best);
    }
    if !second {
        let (start, bc) = start.along(b, c);
        triangle(start, a, bc, best);
    }
    if !low {
        triangle(start.before(c), a, b, best);
    }
}

/// Lowers `best` to the least squared distance to a cell, where that is less.
///
/// `low` is the cell's lowest corner seen from the point and `side` its sides, in DTA; `dose` the doses at its corners
/// (bit 0: x, 1: y, 2: z) less that of the point, in dose differences.
#[inline(always)]
pub fn cell(low: [f32; 3], side: [f32; 3], dose: &[f32; 8], best: &mut f32) {
    let q = [low[0] / side[0], low[1] / side[1], low[2] / side[2]];
    let l = [side[0] * side[0], side[1] * side[1], side[2] * side[2]];
    let step =
        |axis: usize, from: usize, to: usize| Step { q: q[axis], l: l[axis], e: dose[to] - dose[from] };
    let (x, y, z) = (0, 1, 2);
    tetrahedron(dose[0], step(x, 0, 1), step(y, 1, 3), step(z, 3, 7), best);
    tetrahedron(dose[0], step(x, 0, 1), step(z, 1, 5), step(y, 5, 7), best);
    tetrahedron(dose[0], step(y, 0, 2), step(x, 2, 3), step(z, 3, 7), best);
    tetrahedron(dose[0], step(y, 0, 2), step(z, 2, 6), step(x, 6, 7), best);
    tetrahedron(dose[0], step(z, 0, 4), step(x, 4, 5), step(y, 5, 7), best);
    tetrahedron(dose[0], step(z, 0, 4), step(y, 4, 6), step(x, 6, 7), best);
}

/// As [`cell`], in a plane.
#[inline(always)]
pub fn square(low: [f32; 2], side: [f32; 2], dose: &[f32; 4], best: &mut f32) {
    let q = [low[0] / side[0], low[1] / side[1]];
    let l = [side[0] * side[0], side[1] * side[1]];
    let step =
        |axis: usize, from: usize, to: usize| Step { q: q[axis], l: l[axis], e: dose[to] - dose[from] };
    let start = Start { rest: 0.0, dose: dose[0] };
    triangle(start, step(0, 0, 1), step(1, 1, 3), best);
    triangle(start, step(1, 0, 2), step(0, 2, 3), best);
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
