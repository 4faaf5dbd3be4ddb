// Photon fluence through jaws and leaves: physics/fluence.rs, focal.rs, scatter.rs and normal.rs in the same steps and from the same
// tables, in single precision. kernels/fluence.cuh has the same functions.
// Picture and Field come before this text: engine/cccs/field_tables.rs declares them.

// As engine/cccs/wgpu/terma.rs declares it.
struct Incident {
    field: Field,
    factor: f32, // of the electrons' energy
    quantum: array<f32, 2>, // of the tables of sums, focal and surface
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(1) var<storage, read> incident: Incident;
@group(0) @binding(2) var<storage, read> numbers: array<f32>;
@group(0) @binding(3) var<storage, read> sums: array<i32>;

// Of normal.rs: both tables reach over six standard deviations in steps of 1/128; scatter.rs: planes and their distance.
const REACH_SIGMAS: f32 = 6.0;
const STEPS_PER_SIGMA: f32 = 128.0;
const NORMAL_STEPS: f32 = 1536.0;
const FIRST_PLANE_MM: f32 = -200.0;
const PLANE_STEP_MM: f32 = 200.0;
const PLANES: i32 = 3;
// Of fluence.rs.
const COARSE_MM: f32 = 4.0;

fn between(table: i32, place: f32) -> f32 {
    let at = table + i32(place);
    let low = numbers[at];
    return low + (numbers[at + 1] - low) * fract(place);
}

fn cumulative(x: f32) -> f32 {
    let place = (x + REACH_SIGMAS) * STEPS_PER_SIGMA;
    if (place >= 0.0 && place < NORMAL_STEPS) {
        return between(incident.field.normal_at, place);
    }
    return select(1.0, 0.0, x < 0.0);
}

fn cumulative_integral(x: f32) -> f32 {
    let place = (x + REACH_SIGMAS) * STEPS_PER_SIGMA;
    if (place >= 0.0 && place < NORMAL_STEPS) {
        return between(incident.field.integral_at, place);
    }
    return max(x, 0.0);
}

fn above_edge(x: f32, edge: f32, sigma: f32, width: f32) -> f32 {
    let s = x - edge;
    let reach = REACH_SIGMAS * sigma + 0.5 * width;
    if (s > reach) {
        return 1.0;
    }
    if (s < -reach) {
        return 0.0;
    }
    if (sigma <= 0.0) {
        if (width > 0.0) {
            return clamp(s / width + 0.5, 0.0, 1.0);
        }
        return 0.5;
    }
    if (width < 0.125 * sigma) {
        return cumulative(s / sigma);
    }
    let high = (s + 0.5 * width) / sigma;
    let low = (s - 0.5 * width) / sigma;
    return (cumulative_integral(high) - cumulative_integral(low)) * sigma / width;
}

// Second integral of a blurred edge.
fn edge_integral(s: f32, sigma: f32) -> f32 {
    if (sigma <= 0.0) {
        let above = max(s, 0.0);
        return 0.5 * above * above;
    }
    let x = s / sigma;
    return 0.5 * sigma * sigma * (cumulative(x) + x * cumulative_integral(x));
}

// As above_edge, averaged over an even travel of the edge, whose middle is `edge`.
fn above_moving_edge(x: f32, edge: f32, travel: f32, sigma: f32, width: f32) -> f32 {
    let narrow = min(width, travel);
    let wide = max(width, travel);
    if (travel <= 0.0 || narrow <= 0.5 * sigma) {
        let blur = select(sigma, sqrt(sigma * sigma + narrow * narrow / 12.0), travel > 0.0);
        return above_edge(x, edge, blur, wide);
    }
    let s = x - edge;
    let far = 0.5 * (wide + narrow);
    let near = 0.5 * (wide - narrow);
    if (abs(s) > REACH_SIGMAS * sigma + far) {
        return select(1.0, 0.0, s < 0.0);
    }
    let high = edge_integral(s + far, sigma) - edge_integral(s + near, sigma);
    let low = edge_integral(s - near, sigma) - edge_integral(s - far, sigma);
    return (high - low) / (wide * narrow);
}

fn mean_cumulative(x: f32, width: f32) -> f32 {
    if (width > 0.125) {
        return (cumulative_integral(x + 0.5 * width) - cumulative_integral(x - 0.5 * width)) / width;
    }
    return cumulative(x);
}

fn edge_sigma(axis: i32, edge_mm: f32, distance_mm: f32) -> f32 {
    return incident.field.focal_sigma_mm[axis] * max(incident.field.sad_mm * (1.0 / edge_mm - 1.0 / distance_mm), 0.0);
}

// An opening has nine numbers: the middle places of its edges, low and high along x and along y, its weight, and how far each
// edge travels.
const OPENING: i32 = 9;
const TRAVEL: i32 = 5;

// Part of the focal spot seen through a pair of jaws, whose edges begin at an entry of the numbers.
fn focal_through(edges: i32, axis: i32, at: f32, distance_mm: f32) -> f32 {
    let width = incident.field.footprint_mm * incident.field.sad_mm / distance_mm;
    let sigma = edge_sigma(axis, incident.field.jaw_distance_mm[axis], distance_mm);
    let open = above_moving_edge(at, numbers[edges], numbers[edges + TRAVEL], sigma, width)
        - above_moving_edge(at, numbers[edges + 1], numbers[edges + 1 + TRAVEL], sigma, width);
    let transmission = incident.field.jaw_transmission;
    return transmission + (1.0 - transmission) * max(open, 0.0);
}

// Part of the extra-focal source below an edge of the jaws.
fn extra_below(edge: i32, jaw_mm: f32, point: f32, distance_mm: f32) -> f32 {
    let through = numbers[edge] * jaw_mm / incident.field.sad_mm;
    let limit = point + (through - point) * (distance_mm - incident.field.extra_distance_mm) / (distance_mm - jaw_mm);
    let travel = numbers[edge + TRAVEL] * jaw_mm / incident.field.sad_mm
        * abs((distance_mm - incident.field.extra_distance_mm) / (distance_mm - jaw_mm));
    return mean_cumulative(limit / incident.field.extra_sigma_mm, travel / incident.field.extra_sigma_mm);
}

// Part of the extra-focal source seen through a pair of jaws.
fn extra_through(edges: i32, axis: i32, at: f32, distance_mm: f32) -> f32 {
    let jaw_mm = incident.field.jaw_distance_mm[axis];
    let point = at * distance_mm / incident.field.sad_mm;
    let open = extra_below(edges + 1, jaw_mm, point, distance_mm) - extra_below(edges, jaw_mm, point, distance_mm);
    let transmission = incident.field.jaw_transmission;
    return transmission + (1.0 - transmission) * max(open, 0.0);
}

// A corner of a rectangle in a table of sums: the sum to the entry below it, and what lies between them, in quanta.
struct Corner {
    sum: i32,
    beyond: f32,
}

fn corner_of(picture: Picture, u: f32, v: f32) -> Corner {
    let i = min(i32(u), picture.size[0] - 1);
    let j = min(i32(v), picture.size[1] - 1);
    let row = picture.size[0] + 1;
    let at = picture.first + j * row + i;
    let sum = sums[at];
    let right = u - f32(i);
    let up = v - f32(j);
    // Differences of neighbours are small: whole numbers keep all their digits.
    let along = f32(sums[at + 1] - sum);
    let along_above = f32(sums[at + row + 1] - sums[at + row]);
    let across = f32(sums[at + row] - sum);
    return Corner(sum, right * along + up * (across + right * (along_above - along)));
}

// Mean of a picture over a rectangle, from its table of sums.
fn mean_of(picture: Picture, quantum: f32, at: array<f32, 2>, width: array<f32, 2>) -> f32 {
    var low: array<f32, 2>;
    var high: array<f32, 2>;
    for (var axis = 0; axis < 2; axis += 1) {
        let n = f32(picture.size[axis]);
        let half = clamp(0.5 * width[axis] / picture.step_mm, 0.5, 0.5 * n);
        let centre = clamp((at[axis] - picture.first_mm[axis]) / picture.step_mm + 0.5, half, n - half);
        low[axis] = centre - half;
        high[axis] = centre + half;
    }
    let a = corner_of(picture, high[0], high[1]);
    let b = corner_of(picture, low[0], high[1]);
    let c = corner_of(picture, high[0], low[1]);
    let d = corner_of(picture, low[0], low[1]);
    let total = f32((a.sum - b.sum) - (c.sum - d.sum)) + ((a.beyond - b.beyond) - (c.beyond - d.beyond));
    return quantum * total / ((high[0] - low[0]) * (high[1] - low[1]));
}

// Part of the extra-focal source seen behind the leaves: between planes, each between its points.
fn scattered_at(at: array<f32, 2>, offset_mm: f32) -> f32 {
    let picture = incident.field.scattered;
    let k = clamp((offset_mm - FIRST_PLANE_MM) / PLANE_STEP_MM, 0.0, f32(PLANES - 1));
    let below = min(i32(k), PLANES - 2);
    var low: array<i32, 2>;
    var part: array<f32, 2>;
    for (var axis = 0; axis < 2; axis += 1) {
        let last = picture.size[axis] - 1;
        let x = clamp((at[axis] - picture.first_mm[axis]) / picture.step_mm, 0.0, f32(last));
        low[axis] = min(i32(x), max(last - 1, 0));
        part[axis] = x - f32(low[axis]);
    }
    let right = select(0, 1, part[0] > 0.0);
    let above = select(0, picture.size[0], part[1] > 0.0);
    var value: array<f32, 2>;
    for (var plane = 0; plane < 2; plane += 1) {
        let p = picture.first + (below + plane) * picture.size[0] * picture.size[1] + low[1] * picture.size[0] + low[0];
        let one = numbers[p] + part[0] * (numbers[p + right] - numbers[p]);
        let other = numbers[p + above] + part[0] * (numbers[p + above + right] - numbers[p + above]);
        value[plane] = one + part[1] * (other - one);
    }
    return value[0] + (k - f32(below)) * (value[1] - value[0]);
}

fn horn_at(radius_mm: f32) -> f32 {
    let i = min(i32(radius_mm), incident.field.horns - 2);
    let low = numbers[incident.field.horn_at + i];
    return low + (numbers[incident.field.horn_at + i + 1] - low) * min(radius_mm - f32(i), 1.0);
}

// Both sources together.
fn mixed(horn: f32, distance_mm: f32, focal: f32, scattered: f32) -> f32 {
    let primary = horn * focal;
    let share = incident.field.extra_share;
    if (share <= 0.0) {
        return primary;
    }
    let sad_mm = incident.field.sad_mm;
    let extra_mm = incident.field.extra_distance_mm;
    let nearer = (sad_mm - extra_mm) / (distance_mm - extra_mm) * distance_mm / sad_mm;
    return (1.0 - share) * primary + share * scattered * (nearer * nearer);
}

// A place along and across the leaves.
fn by_leaves(at: array<f32, 2>) -> array<f32, 2> {
    if (incident.field.along_y != 0) {
        return array<f32, 2>(at[1], at[0]);
    }
    return at;
}

fn fluence_at(at: array<f32, 2>, distance_mm: f32) -> f32 {
    let horn = horn_at(length(vec2<f32>(at[0], at[1])));
    if (incident.field.leaves != 0) {
        let uv = by_leaves(at);
        let width = incident.field.footprint_mm * incident.field.sad_mm / distance_mm;
        var widths: array<f32, 2>;
        for (var a = 0; a < 2; a += 1) {
            let axis = select(a, 1 - a, incident.field.along_y != 0);
            let here = edge_sigma(axis, incident.field.leaf_distance_mm, distance_mm);
            let drawn = edge_sigma(axis, incident.field.leaf_distance_mm, incident.field.sad_mm);
            widths[a] = sqrt(max(width * width + 12.0 * (here * here - drawn * drawn), 0.0));
        }
        let focal = mean_of(incident.field.focal, incident.quantum[0], uv, widths);
        var scattered = 0.0;
        if (incident.field.scattered.here != 0) {
            scattered = scattered_at(uv, distance_mm - incident.field.sad_mm);
        }
        return incident.field.scale * mixed(horn, distance_mm, focal, scattered);
    }
    var sum = 0.0;
    for (var n = 0; n < incident.field.openings; n += 1) {
        let opening = incident.field.openings_at + OPENING * n;
        let focal = focal_through(opening, 0, at[0], distance_mm) * focal_through(opening + 2, 1, at[1], distance_mm);
        var scattered = 0.0;
        if (incident.field.extra_share > 0.0) {
            scattered = extra_through(opening, 0, at[0], distance_mm) * extra_through(opening + 2, 1, at[1], distance_mm);
        }
        sum += numbers[opening + 4] * mixed(horn, distance_mm, focal, scattered);
    }
    return incident.field.scale * sum;
}

// Electrons that come with the photons, 1 on the axis of the reference field.
fn electrons_at(at: array<f32, 2>) -> f32 {
    var sum = 0.0;
    if (incident.field.leaves != 0) {
        if (incident.field.surface.here != 0) {
            sum = mean_of(incident.field.surface, incident.quantum[1], by_leaves(at), array<f32, 2>(COARSE_MM, COARSE_MM));
        }
    } else {
        for (var n = 0; n < incident.field.openings; n += 1) {
            let opening = incident.field.openings_at + OPENING * n;
            var through = numbers[opening + 4];
            for (var axis = 0; axis < 2; axis += 1) {
                let sigma = incident.field.surface_sigma_mm;
                let edge = opening + 2 * axis;
                let low = mean_cumulative((numbers[edge] - at[axis]) / sigma, numbers[edge + TRAVEL] / sigma);
                let high = mean_cumulative((numbers[edge + 1] - at[axis]) / sigma, numbers[edge + 1 + TRAVEL] / sigma);
                through *= max(high - low, 0.0);
            }
            sum += through;
        }
    }
    return incident.field.surface_scale * sum;
}
