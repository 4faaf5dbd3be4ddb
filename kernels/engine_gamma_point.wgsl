// A point of gamma under a criterion: its place in the evaluated dose, and the voxels and cells about it seen from there, as
// engine/gamma/points.rs and engine/gamma/cpu/search.rs.

// As engine/gamma/limits.rs declares it.
struct Limits {
    per_mm: f32, // 1 / DTA
    per_gy: f32, // 1 / dose difference; for a local criterion, times the reference dose
    most: f32, // squared gamma to stop at
    rounding: f32, // a gamma this little above 1 is 1
    most_per_gy: f32, // no local dose difference is less
    per_side_x: f32, // DTA in sides of a cell along x and y
    per_side_y: f32,
    is_local: i32,
}

// As engine/gamma/wgpu/mod.rs declares it.
struct Search {
    limits: Limits,
    reference_size: vec3<u32>,
    is_flat: u32,
    size: vec3<i32>, // of the evaluated dose; in a plane the last counts layers
    threshold_gy: f32,
    spacing_mm: vec2<f32>, // of the evaluated dose along x and y
    sides: vec2<f32>, // the same in DTA
    planes_per_mm: f32, // about so many along z
    hull_mm: f32, // a point this far outside is inside
    shell: i32, // of gamma_far, counted from 1
    far_points: u32, // of a workgroup of gamma_far
}

// A coordinate along the axes of the evaluated dose: whole units and the rest, 0 to 1, so that sums are exact in single precision. Units are
// voxels along x and y, mm along z; in a plane the last is the layer.
struct SplitPosition {
    whole: vec3<i32>,
    rest: vec3<f32>,
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(1) var<uniform> search: Search;
// The reference voxel (i, j, k) lies at the sum of three: i, of so many j, of so many k; then the planes of the evaluated dose.
@group(0) @binding(2) var<storage, read> places: array<SplitPosition>;
@group(0) @binding(3) var<storage, read> reference: array<f32>;
@group(0) @binding(4) var<storage, read> values: array<f32>;
// Bits of gamma; between the kernels those of the squared distance so far.
@group(0) @binding(5) var<storage, read_write> gamma: array<u32>;
// Points that this kernel leaves to the next one: how many, then their voxels. Their order changes nothing.
@group(0) @binding(6) var<storage, read_write> left: array<atomic<u32>>;
// Least and greatest dose of every cell, then of every block of cells.
@group(0) @binding(7) var<storage, read> ranges: array<vec2<f32>>;
// `left` of the kernel before.
@group(0) @binding(8) var<storage, read> points: array<u32>;

// NaNs that say why: as in engine/gamma/result.rs.
const LEFT_OUT: u32 = 0x7fc00000u;
const OUTSIDE: u32 = 0x7fc00001u;
const UNDEFINED: u32 = 0x7fc00002u;
// A point this much of a cell's side inside it is on its face.
const ON_FACE: f32 = 1e-6;

// A point under a criterion.
struct Point {
    cell: vec3<i32>, // of the evaluated dose that holds it
    plane: i32, // the cell's height: whole mm and the rest
    offset_mm: vec3<f32>, // from the cell's lowest voxel
    plane_rest: f32,
    dose: f32,
    per_gy: f32,
}

fn plane_place(k: i32) -> u32 {
    return search.reference_size.x + search.reference_size.y + search.reference_size.z + u32(k);
}

// Whether a coordinate is between voxel 0 and the last one, whole units and the rest in units of so many mm.
fn holds(whole: i32, rest: f32, last: i32, last_rest: f32, unit_mm: f32) -> bool {
    return (whole >= 0 || (whole == -1 && (1.0 - rest) * unit_mm <= search.hull_mm))
        && (f32(whole - last) + (rest - last_rest)) * unit_mm <= search.hull_mm;
}

fn is_below(k: i32, whole: i32, rest: f32) -> bool {
    let plane = places[plane_place(k)];
    return whole < plane.whole.z || (whole == plane.whole.z && rest < plane.rest.z);
}

// The lower plane of the cell that holds a height.
fn cell_at(whole: i32, rest: f32) -> i32 {
    let last = search.size.z - 2;
    var k = clamp(i32((f32(whole) + rest) * search.planes_per_mm), 0, last);
    while (k > 0 && is_below(k, whole, rest)) {
        k -= 1;
    }
    while (k < last && !is_below(k + 1, whole, rest)) {
        k += 1;
    }
    return k;
}

// The place of a reference voxel; false outside the evaluated dose.
fn locate(voxel: u32, point: ptr<function, Point>) -> bool {
    let nx = search.reference_size.x;
    let ny = search.reference_size.y;
    let row = voxel / nx;
    let of_i = places[voxel % nx];
    let of_j = places[nx + row % ny];
    let of_k = places[nx + ny + row / ny];
    let rest = of_i.rest + of_j.rest + of_k.rest;
    let carried = floor(rest);
    let in_unit = rest - carried;
    let whole = of_i.whole + of_j.whole + of_k.whole + vec3<i32>(carried);
    let last = search.size - 1;
    if (!holds(whole.x, in_unit.x, last.x, 0.0, search.spacing_mm.x) || !holds(whole.y, in_unit.y, last.y, 0.0, search.spacing_mm.y)) {
        return false;
    }
    let cell = clamp(whole.xy, vec2<i32>(0), last.xy - 1);
    let offset_mm = (vec2<f32>(whole.xy - cell) + in_unit.xy) * search.spacing_mm;
    if (search.is_flat != 0u) {
        (*point).cell = vec3<i32>(cell, whole.z);
        (*point).offset_mm = vec3<f32>(offset_mm, 0.0);
        return whole.z >= 0;
    }
    let top = places[plane_place(last.z)];
    if (!holds(whole.z, in_unit.z, top.whole.z, top.rest.z, 1.0)) {
        return false;
    }
    let k = cell_at(whole.z, in_unit.z);
    let plane = places[plane_place(k)];
    (*point).cell = vec3<i32>(cell, k);
    (*point).plane = plane.whole.z;
    (*point).plane_rest = plane.rest.z;
    (*point).offset_mm = vec3<f32>(offset_mm, f32(whole.z - plane.whole.z) + (in_unit.z - plane.rest.z));
    return true;
}

// Sets up a point; else the NaN that says why it has no gamma.
fn begin(voxel: u32, point: ptr<function, Point>) -> u32 {
    let dose = reference[voxel];
    if (!locate(voxel, point)) {
        return OUTSIDE;
    }
    let is_local = search.limits.is_local != 0;
    if (is_local && !(dose > 0.0)) {
        return UNDEFINED;
    }
    (*point).dose = dose;
    (*point).per_gy = search.limits.per_gy;
    if (is_local) {
        (*point).per_gy = min(search.limits.per_gy / dose, search.limits.most_per_gy);
    }
    return 0u;
}

fn settled(square: f32) -> u32 {
    let value = sqrt(min(square, search.limits.most));
    let is_one = value > 1.0 && value <= 1.0 + search.limits.rounding;
    return bitcast<u32>(select(value, 1.0, is_one));
}

// Where cells begin along x and y, along x and along z, seen from the point, in DTA.
fn begins_xy(point: Point, at: vec2<i32>) -> vec2<f32> {
    return vec2<f32>(at - point.cell.xy) * search.sides - point.offset_mm.xy * search.limits.per_mm;
}

fn begins_x(point: Point, at: vec4<i32>) -> vec4<f32> {
    return vec4<f32>(at - point.cell.x) * search.sides.x - point.offset_mm.x * search.limits.per_mm;
}

fn begins_z(point: Point, at: i32) -> f32 {
    if (search.is_flat != 0u) {
        return 0.0;
    }
    let plane = places[plane_place(at)];
    let way_mm = f32(plane.whole.z - point.plane) + (plane.rest.z - point.plane_rest);
    return (way_mm - point.offset_mm.z) * search.limits.per_mm;
}

fn begins(point: Point, at: vec3<i32>) -> vec3<f32> {
    return vec3<f32>(begins_xy(point, at.xy), begins_z(point, at.z));
}

fn index(at: vec3<i32>) -> i32 {
    return (at.z * search.size.y + at.y) * search.size.x + at.x;
}

fn off(point: Point, at: vec3<i32>) -> f32 {
    return (values[index(at)] - point.dose) * point.per_gy;
}

// The voxel nearest to the point, and where it is seen from there; whether the point is on it.
struct Nearest {
    voxel: vec3<i32>,
    way: vec3<f32>,
    is_on: bool,
}

fn nearest_voxel(point: Point) -> Nearest {
    let step = vec3<i32>(1, 1, select(1, 0, search.is_flat != 0u));
    let low = begins(point, point.cell);
    let high = begins(point, point.cell + step);
    let is_up = high < -low;
    let way = select(low, high, is_up);
    let is_on = all(abs(way) <= ON_FACE * (high - low));
    return Nearest(point.cell + select(vec3<i32>(0), step, is_up), way, is_on);
}
