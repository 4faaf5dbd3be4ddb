// Gamma's geometry: squared distances from a point to the simplices of a cell of doses (Ju 2008), as engine/gamma/simplex.rs has
// and explains them; and to the tetrahedra that meet at a voxel, as engine/gamma/cpu/vertex.rs.

// Cells not nearer by this factor of the squared distance are skipped: 2e-6 of gamma.
const NEARER: f32 = 0.999996;
// A squared distance beyond all others.
const BEYOND: f32 = 3e38;

// Along one axis of a cell or along several at once, seen from the point: where it begins in its lengths, its squared length in DTA and the
// inverse of that.
struct AxisTerms {
    q: f32,
    l: f32,
    per_l: f32,
}

// Two axes taken as one, and the squared distance to it in space.
struct Joined {
    terms: AxisTerms,
    apart: f32,
}

fn along(a: AxisTerms, b: AxisTerms) -> Joined {
    let l = a.l + b.l;
    let per_l = 1.0 / l;
    let apart = a.q - b.q;
    return Joined(AxisTerms((a.l * a.q + b.l * b.q) * per_l, l, per_l), a.l * b.l * per_l * (apart * apart));
}

// Squared distance to the beginning of an axis and to its end.
fn ends(a: AxisTerms) -> vec2<f32> {
    let end = 1.0 + a.q;
    return vec2<f32>(a.l * (a.q * a.q), a.l * (end * end));
}

// The axes of four simplices.
struct Four {
    q: vec4<f32>,
    l: vec4<f32>,
    per_l: vec4<f32>,
}

fn four(a: AxisTerms, b: AxisTerms, c: AxisTerms, d: AxisTerms) -> Four {
    return Four(vec4<f32>(a.q, b.q, c.q, d.q), vec4<f32>(a.l, b.l, c.l, d.l), vec4<f32>(a.per_l, b.per_l, c.per_l, d.per_l));
}

fn least(v: vec4<f32>) -> f32 {
    return min(min(v.x, v.y), min(v.z, v.w));
}

// To edges, with their doses at the ends.
fn edges(rest: vec4<f32>, a: Four, d0: vec4<f32>, d1: vec4<f32>) -> f32 {
    let e = d1 - d0;
    let gain = e * a.per_l;
    let s = (d0 - e * a.q) / (1.0 + e * gain);
    let t = clamp(-(a.q + s * gain), vec4<f32>(0.0), vec4<f32>(1.0));
    let way = t + a.q;
    let dose = d0 + e * t;
    return least(rest + a.l * (way * way) + dose * dose);
}

// To the planes of triangles where their feet lie inside, else beyond.
fn triangles(rest: vec4<f32>, a: Four, b: Four, d0: vec4<f32>, d1: vec4<f32>, d2: vec4<f32>) -> f32 {
    let ea = d1 - d0;
    let eb = d2 - d1;
    let ga = ea * a.per_l;
    let gb = eb * b.per_l;
    let off = d0 - ea * a.q - eb * b.q;
    let s = off / (1.0 + ea * ga + eb * gb);
    let ta = -(a.q + s * ga);
    let tb = -(b.q + s * gb);
    let inside = min(min(1.0 - ta, ta - tb), tb) >= vec4<f32>(0.0);
    return least(select(vec4<f32>(BEYOND), rest + off * s, inside));
}

// To the hyperplanes of tetrahedra, and to those whose feet lie inside, else beyond.
fn tetrahedra(a: Four, b: Four, c: Four, d0: vec4<f32>, d1: vec4<f32>, d2: vec4<f32>, d3: vec4<f32>) -> vec2<f32> {
    let ea = d1 - d0;
    let eb = d2 - d1;
    let ec = d3 - d2;
    let ga = ea * a.per_l;
    let gb = eb * b.per_l;
    let gc = ec * c.per_l;
    let off = d0 - ea * a.q - eb * b.q - ec * c.q;
    let s = off / (1.0 + ea * ga + eb * gb + ec * gc);
    let ta = -(a.q + s * ga);
    let tb = -(b.q + s * gb);
    let tc = -(c.q + s * gc);
    let inside = min(min(1.0 - ta, ta - tb), min(tb - tc, tc)) >= vec4<f32>(0.0);
    return vec2<f32>(least(off * s), least(select(vec4<f32>(BEYOND), off * s, inside)));
}

// The squared distance to a cell, or `best` where that is less. `low`, `high`: dose at its lower and upper corners (x and y fastest) less
// that of the point, in dose differences.
fn to_cell(x: AxisTerms, y: AxisTerms, z: AxisTerms, low: vec4<f32>, high: vec4<f32>, best: f32) -> f32 {
    let first = vec4<f32>(low.x);
    let last = vec4<f32>(high.w);
    let most = tetrahedra(
        four(x, x, y, y), four(y, z, x, z), four(z, y, z, x),
        first, low.yyzz, vec4<f32>(low.w, high.y, low.w, high.z), last,
    );
    let others = tetrahedra(
        four(z, z, z, z), four(x, y, x, y), four(y, x, y, x),
        first, high.xxxx, high.yzyz, last,
    );
    var nearest = min(best, min(most.y, others.y));
    if (min(most.x, others.x) >= nearest * NEARER) {
        return nearest;
    }
    let ex = ends(x);
    let ey = ends(y);
    let ez = ends(z);
    let xy = along(x, y);
    let xz = along(x, z);
    let yz = along(y, z);
    let xyz = along(xy.terms, z);
    // Faces of the cell, then those within it.
    nearest = min(nearest, triangles(
        vec4<f32>(ez.x, ez.x, ez.y, ez.y), four(x, y, x, y), four(y, x, y, x),
        vec4<f32>(low.xx, high.xx), vec4<f32>(low.yz, high.yz), vec4<f32>(low.ww, high.ww),
    ));
    nearest = min(nearest, triangles(
        vec4<f32>(ey.x, ey.x, ey.y, ey.y), four(x, z, x, z), four(z, x, z, x),
        low.xxzz, vec4<f32>(low.y, high.x, low.w, high.z), high.yyww,
    ));
    nearest = min(nearest, triangles(
        vec4<f32>(ex.x, ex.x, ex.y, ex.y), four(y, z, y, z), four(z, y, z, y),
        low.xxyy, vec4<f32>(low.z, high.x, low.w, high.y), high.zzww,
    ));
    nearest = min(nearest, triangles(
        vec4<f32>(xy.apart, xz.apart, yz.apart, yz.apart),
        four(xy.terms, xz.terms, yz.terms, x), four(z, y, x, yz.terms),
        first, vec4<f32>(low.w, high.y, high.z, low.y), last,
    ));
    nearest = min(nearest, triangles(
        vec4<f32>(xz.apart, xy.apart, xz.apart, xy.apart),
        four(y, z, y, z), four(xz.terms, xy.terms, xz.terms, xy.terms),
        first, vec4<f32>(low.z, high.x, low.z, high.x), last,
    ));
    // Edges of the cell, diagonals of its faces, and its own.
    nearest = min(nearest, edges(
        vec4<f32>(ey.x + ez.x, ey.y + ez.x, ey.x + ez.y, ey.y + ez.y), four(x, x, x, x),
        vec4<f32>(low.xz, high.xz), vec4<f32>(low.yw, high.yw),
    ));
    nearest = min(nearest, edges(
        vec4<f32>(ex.x + ez.x, ex.y + ez.x, ex.x + ez.y, ex.y + ez.y), four(y, y, y, y),
        vec4<f32>(low.xy, high.xy), vec4<f32>(low.zw, high.zw),
    ));
    nearest = min(nearest, edges(
        vec4<f32>(ex.x + ey.x, ex.y + ey.x, ex.x + ey.y, ex.y + ey.y), four(z, z, z, z), low, high,
    ));
    nearest = min(nearest, edges(
        vec4<f32>(xy.apart + ez.x, xy.apart + ez.y, xz.apart + ey.x, xz.apart + ey.y),
        four(xy.terms, xy.terms, xz.terms, xz.terms),
        vec4<f32>(low.x, high.x, low.x, low.z), vec4<f32>(low.w, high.w, high.y, high.w),
    ));
    return min(nearest, edges(
        vec4<f32>(yz.apart + ex.x, yz.apart + ex.y, xy.apart + xyz.apart, xy.apart + xyz.apart),
        four(yz.terms, yz.terms, xyz.terms, xyz.terms),
        vec4<f32>(low.xy, low.xx), vec4<f32>(high.z, high.www),
    ));
}

// As to_cell, in a plane.
fn to_square(x: AxisTerms, y: AxisTerms, d: vec4<f32>, best: f32) -> f32 {
    let ex = ends(x);
    let ey = ends(y);
    let xy = along(x, y);
    let faces = triangles(vec4<f32>(0.0), four(x, y, x, y), four(y, x, y, x), d.xxxx, d.yzyz, d.wwww);
    let sides = edges(vec4<f32>(ey.x, ey.y, ex.x, ex.y), four(x, x, y, y), d.xzxy, d.ywzw);
    let diagonal = edges(vec4<f32>(xy.apart), four(xy.terms, xy.terms, xy.terms, xy.terms), d.xxxx, d.wwww);
    return min(min(best, faces), min(sides, diagonal));
}

// Greatest squared projections of a dose's falls from a voxel: along x, y, z; along two axes (x and y, y and z, z and x); along all.
struct Longest {
    one: vec3<f32>,
    two: vec3<f32>,
    all: f32,
}

// Chains of two steps, of which the first are along x, y, z.
fn two_steps(
    l: vec3<f32>, per: vec3<f32>, l_next: vec3<f32>, per_next: vec3<f32>, per_two: vec3<f32>, fall: vec3<f32>, next: vec3<f32>,
) -> vec3<f32> {
    let mean = (fall + next) * per_two;
    let first = max(max(fall * per, mean), vec3<f32>(0.0));
    let second = max(min(next * per_next, mean), vec3<f32>(0.0));
    return first * first * l + second * second * l_next;
}

// ... of three, `per_last_two` of the second and the third.
fn three_steps(
    l: vec3<f32>, per: vec3<f32>, l_next: vec3<f32>, per_next: vec3<f32>, l_last: vec3<f32>, per_last: vec3<f32>,
    per_two: vec3<f32>, per_last_two: vec3<f32>, per_all: f32, fall: vec3<f32>, next: vec3<f32>, last: vec3<f32>,
) -> f32 {
    let early = (fall + next) * per_two;
    let late = (next + last) * per_last_two;
    let all = (fall + next + last) * per_all;
    let start = max(early, all);
    let first = max(max(fall * per, start), vec3<f32>(0.0));
    let second = max(min(start, max(next * per_next, late)), vec3<f32>(0.0));
    let third = max(min(last * per_last, min(late, all)), vec3<f32>(0.0));
    let sum = first * first * l + second * second * l_next + third * third * l_last;
    return max(sum.x, max(sum.y, sum.z));
}

// `l`: squared steps along the axes; falls from the voxel to its neighbours along x, y, z, along two axes and along all.
fn longest(l: vec3<f32>, one: vec3<f32>, two: vec3<f32>, all: f32) -> Longest {
    let per = 1.0 / l;
    let per_two = 1.0 / (l + l.yzx);
    let per_all = 1.0 / (l.x + l.y + l.z);
    let fall = max(one, vec3<f32>(0.0));
    // Chains x y z, y z x, z x y, and x z y, y x z, z y x.
    let onward = two - one;
    let back = two.zxy - one;
    let pairs = two_steps(l, per, l.yzx, per.yzx, per_two, one, onward);
    let pairs_back = two_steps(l, per, l.zxy, per.zxy, per_two.zxy, one, back);
    let all_onward = three_steps(
        l, per, l.yzx, per.yzx, l.zxy, per.zxy, per_two, per_two.yzx, per_all, one, onward, all - two,
    );
    let all_back = three_steps(
        l, per, l.zxy, per.zxy, l.yzx, per.yzx, per_two.zxy, per_two.yzx, per_all, one, back, all - two.zxy,
    );
    return Longest(fall * fall * per, max(pairs, pairs_back.yzx), max(all_onward, all_back));
}
