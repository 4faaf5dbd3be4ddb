// Gamma's search for one point: voxels that need none, cells and bounds of their distance, boxes of cells. As
// engine/gamma/cpu/{vertex,bound,search}.rs.
//
// Cells are searched in boxes of 4 x 4 x 4 (in a plane 4 x 4), of which those that may be nearer are the bits of a mask.

// A point within this part of the squared distance to the nearest face that a voxel is not on has no other simplices near.
const VERTEX_FINAL: f32 = 0.999;
// Cells along the side of a box, and on either side of the voxel nearest to a point.
const WIDE: i32 = 4;
const REACH: i32 = 2;

// At a voxel: the squared distance to the tetrahedra that meet there, where nothing else can be nearer; else negative.
fn by_vertex(point: Point, at: vec3<i32>) -> f32 {
    if (any(at < vec3<i32>(1)) || any(at + 1 >= search.size)) {
        return -1.0;
    }
    let nx = search.size.x;
    let plane = nx * search.size.y;
    let here = index(at);
    let value = values[here];
    let off = (value - point.dose) * point.per_gy;
    let scale = select(point.per_gy, -point.per_gy, off < 0.0);
    let one = vec3<i32>(1, nx, plane);
    let two = one + one.yzx;
    let all_axes = 1 + nx + plane;
    let up = longest(
        squared_steps(point, at, 1),
        (value - vec3<f32>(values[here + one.x], values[here + one.y], values[here + one.z])) * scale,
        (value - vec3<f32>(values[here + two.x], values[here + two.y], values[here + two.z])) * scale,
        (value - values[here + all_axes]) * scale,
    );
    let down = longest(
        squared_steps(point, at, -1),
        (value - vec3<f32>(values[here - one.x], values[here - one.y], values[here - one.z])) * scale,
        (value - vec3<f32>(values[here - two.x], values[here - two.y], values[here - two.z])) * scale,
        (value - values[here - all_axes]) * scale,
    );
    // Upwards along some axes, downwards along the others.
    let mixed = max(up.one + down.two.yzx, down.one + up.two.yzx);
    let most = max(max(up.all, down.all), max(mixed.x, max(mixed.y, mixed.z)));
    let square = off * off / (1.0 + most);
    // The nearest face that the voxel is not on.
    let l = min(squared_steps(point, at, 1), squared_steps(point, at, -1));
    let per = 1.0 / l;
    let per_face = max(per.x + per.y, per.z + max(per.x, per.y));
    return select(-1.0, square, square * per_face <= VERTEX_FINAL);
}

fn squared_steps(point: Point, at: vec3<i32>, towards: i32) -> vec3<f32> {
    let step = vec3<f32>(search.sides, begins_z(point, at.z + towards) - begins_z(point, at.z));
    return step * step;
}

// The squared distance of the nearest voxel, and the cell in which a dose that is linear about it would be nearest.
struct Guess {
    square: f32,
    cell: vec3<i32>,
}

fn guess(point: Point, near: Nearest) -> Guess {
    let corner = off(point, near.voxel);
    let square = corner * corner + dot(near.way, near.way);
    if (search.is_flat != 0u) {
        return Guess(square, point.cell);
    }
    let sign = select(1.0, -1.0, corner < 0.0);
    let above = min(near.voxel + 1, search.size - 1);
    let below = max(near.voxel - 1, vec3<i32>(0));
    let here = begins(point, near.voxel);
    // Beyond the last voxel there is no fall, over a side that counts nothing.
    let side_up = select(begins(point, above) - here, vec3<f32>(1.0), above == near.voxel);
    let side_down = select(here - begins(point, below), vec3<f32>(1.0), below == near.voxel);
    let up = sign * (corner - neighbours(point, near.voxel, above)) / side_up;
    let down = sign * (corner - neighbours(point, near.voxel, below)) / side_down;
    let is_up = up >= down;
    let fall = max(max(up, down), vec3<f32>(0.0));
    let step = select(-side_down, side_up, is_up);
    let rest = abs(corner) + dot(select(-fall, fall, is_up), near.way);
    let v = max(rest, 0.0) / (1.0 + dot(fall, fall));
    let to = select(-v * fall, v * fall, is_up) - near.way;
    let cells = vec3<i32>(clamp(floor(to / step), vec3<f32>(0.0), vec3<f32>(1e6)));
    let at = select(near.voxel - 1 - cells, near.voxel + cells, is_up);
    return Guess(square, clamp(at, vec3<i32>(0), search.size - 2));
}

// Doses at the neighbours of a voxel along each axis.
fn neighbours(point: Point, at: vec3<i32>, to: vec3<i32>) -> vec3<f32> {
    return vec3<f32>(
        off(point, vec3<i32>(to.x, at.yz)), off(point, vec3<i32>(at.x, to.y, at.z)), off(point, vec3<i32>(at.xy, to.z)),
    );
}

// A cell, seen from the point.
struct Cell {
    x: AxisTerms,
    y: AxisTerms,
    z: AxisTerms,
    low: vec4<f32>,
    high: vec4<f32>,
    gap: vec3<f32>,
    per_side: vec3<f32>,
}

fn look(point: Point, at: vec3<i32>) -> Cell {
    let here = index(at);
    let nx = search.size.x;
    let plane = select(nx * search.size.y, 0, search.is_flat != 0u);
    let above = here + plane;
    let low = vec4<f32>(values[here], values[here + 1], values[here + nx], values[here + nx + 1]);
    let high = vec4<f32>(values[above], values[above + 1], values[above + nx], values[above + nx + 1]);
    let begin = begins(point, at);
    let end = begins(point, at + 1);
    let side = vec3<f32>(search.sides, select(end.z - begin.z, 1.0, search.is_flat != 0u));
    let per_side = vec3<f32>(search.limits.per_side_x, search.limits.per_side_y, 1.0 / side.z);
    let q = begin * per_side;
    let l = side * side;
    let per_l = per_side * per_side;
    return Cell(
        AxisTerms(q.x, l.x, per_l.x), AxisTerms(q.y, l.y, per_l.y), AxisTerms(q.z, l.z, per_l.z),
        (low - point.dose) * point.per_gy, (high - point.dose) * point.per_gy, max(max(begin, -end), vec3<f32>(0.0)),
        per_side,
    );
}

fn greatest(v: vec4<f32>) -> f32 {
    return max(max(v.x, v.y), max(v.z, v.w));
}

// By how much dose falls, at most, along an axis away from the side where the point is. `edges`: of the cell, upwards.
fn steepest(edges: vec4<f32>, is_downwards: bool, is_within: bool) -> f32 {
    let up = greatest(edges);
    let down = greatest(-edges);
    return max(select(select(up, down, is_downwards), max(up, down), is_within), 0.0);
}

// No point of the cell is nearer, squared: engine/gamma/cpu/bound.rs has why.
fn bound(cell: Cell) -> f32 {
    let q = vec3<f32>(cell.x.q, cell.y.q, cell.z.q);
    // The point is beyond the cell's upper end, between its ends, or else before its lower one.
    let is_beyond = q <= vec3<f32>(ON_FACE - 1.0);
    let is_within = (q < vec3<f32>(-ON_FACE)) & !is_beyond;
    let a = vec4<f32>(cell.low.xz, cell.high.xz);
    let b = vec4<f32>(cell.low.yw, cell.high.yw);
    let least_x = select(select(a, b, is_beyond.x), min(a, b), is_within.x);
    let most_x = select(select(a, b, is_beyond.x), max(a, b), is_within.x);
    let least_xy = select(select(least_x.xz, least_x.yw, is_beyond.y), min(least_x.xz, least_x.yw), is_within.y);
    let most_xy = select(select(most_x.xz, most_x.yw, is_beyond.y), max(most_x.xz, most_x.yw), is_within.y);
    let low = select(select(least_xy.x, least_xy.y, is_beyond.z), min(least_xy.x, least_xy.y), is_within.z);
    let high = select(select(most_xy.x, most_xy.y, is_beyond.z), max(most_xy.x, most_xy.y), is_within.z);
    let off = max(max(low, -high), 0.0);
    let is_high = low > 0.0;
    let fall = vec3<f32>(
        steepest(b - a, is_beyond.x != is_high, is_within.x),
        steepest(vec4<f32>(cell.low.zw, cell.high.zw) - vec4<f32>(cell.low.xy, cell.high.xy), is_beyond.y != is_high, is_within.y),
        steepest(cell.high - cell.low, is_beyond.z != is_high, is_within.z),
    ) * cell.per_side;
    var v = off;
    for (var round = 0; round < 2; round += 1) {
        let used = select(vec3<f32>(0.0), fall, v * fall > cell.gap);
        v = (off + dot(used, cell.gap)) / (1.0 + dot(used, used));
    }
    let over = max(v * fall - cell.gap, vec3<f32>(0.0));
    return v * (2.0 * off - v) + dot(cell.gap, cell.gap) - dot(over, over);
}

fn squared_distance(cell: Cell, best: f32) -> f32 {
    if (search.is_flat != 0u) {
        return to_square(cell.x, cell.y, cell.low, best);
    }
    return to_cell(cell.x, cell.y, cell.z, cell.low, cell.high, best);
}

// Whether distance and range of dose let a cell or block be nearer.
fn may_be_nearer(point: Point, range: u32, square: f32, best: f32) -> bool {
    if (square >= best) {
        return false;
    }
    let dose = ranges[range];
    let gap = max(max(dose.x - point.dose, point.dose - dose.y) * point.per_gy, 0.0);
    return square + gap * gap < best;
}

// The lowest bit of a mask.
fn lowest(mask: vec2<u32>) -> u32 {
    return select(32u + firstTrailingBit(mask.y), firstTrailingBit(mask.x), mask.x != 0u);
}

fn bit(n: u32) -> vec2<u32> {
    let one = 1u << (n & 31u);
    return select(vec2<u32>(0u, one), vec2<u32>(one, 0u), n < 32u);
}

// The cells of a box from `low` on whose distance and range of dose let them be nearer.
fn candidates(point: Point, low: vec3<i32>, best: f32) -> vec2<u32> {
    let end = search.size - 1;
    let at_x = low.x + vec4<i32>(0, 1, 2, 3);
    let gap_x = max(max(begins_x(point, at_x), -begins_x(point, at_x + 1)), vec4<f32>(0.0));
    let is_cell = (at_x >= vec4<i32>(0)) & (at_x < vec4<i32>(end.x));
    let square_x = select(vec4<f32>(BEYOND), gap_x * gap_x, is_cell);
    let layers = select(WIDE, 1, search.is_flat != 0u);
    var mask = vec2<u32>(0u);
    for (var z = 0; z < layers; z += 1) {
        let k = low.z + z;
        if (search.is_flat == 0u && (k < 0 || k >= end.z)) {
            continue;
        }
        let gap_z = max(max(begins_z(point, k), -begins_z(point, k + 1)), 0.0);
        for (var y = 0; y < WIDE; y += 1) {
            let j = low.y + y;
            if (j < 0 || j >= end.y) {
                continue;
            }
            let gap_y = max(max(begins_xy(point, vec2<i32>(0, j)).y, -begins_xy(point, vec2<i32>(0, j + 1)).y), 0.0);
            let square = square_x + (gap_y * gap_y + gap_z * gap_z);
            let first = u32(index(vec3<i32>(low.x, j, k)));
            let row = u32(may_be_nearer(point, first, square.x, best)) | (u32(may_be_nearer(point, first + 1u, square.y, best)) << 1u)
                | (u32(may_be_nearer(point, first + 2u, square.z, best)) << 2u) | (u32(may_be_nearer(point, first + 3u, square.w, best)) << 3u);
            let of_plane = row << u32((z & 1) * 16 + y * 4);
            mask |= select(vec2<u32>(0u, of_plane), vec2<u32>(of_plane, 0u), z < 2);
        }
    }
    return mask;
}

fn cell_of(low: vec3<i32>, n: u32) -> vec3<i32> {
    return low + vec3<i32>(vec3<u32>(n & 3u, (n >> 2u) & 3u, n >> 4u));
}

// Whether cells beyond a box, of which `first` and `last` are the lowest and highest, may be nearer.
fn is_more(point: Point, first: vec3<i32>, last: vec3<i32>, best: f32) -> bool {
    let below = max(-begins(point, first), vec3<f32>(0.0));
    let above = max(begins(point, last + 1), vec3<f32>(0.0));
    let is_below = (first > vec3<i32>(0)) & (below * below < vec3<f32>(best));
    let is_above = (last + 2 < search.size) & (above * above < vec3<f32>(best));
    let sides = is_below | is_above;
    return sides.x || sides.y || (sides.z && search.is_flat == 0u);
}
