// After engine_deposit.wgsl and engine_terms.wgsl.
//
// Collapsed cone: transport along lattices of parallel lines by exponential recursion (engine/cccs/cpu), one thread a line.
//
// Lines of a direction traverse the same cells but for an offset: the host walks one of them (geometry/walk/lattice.rs), and the
// threads follow. A slab's cells and a wall on two sides of them form a ring each way: a line that leaves sideways meets the wall,
// loses its energy, and enters again at the other side, so that there are as many lines as cells.
//
// Deposits are summed in integers: the sum does not depend on the order, so that equal runs have equal bits.

// Cells as lines of one dominant axis meet them, as engine/cccs/wgpu/superpose.rs declares it: along a row (neighbouring threads),
// across, and along the slabs.
struct Layout {
    size: array<i32, 3>,
    stride: array<i32, 3>,
    spacing_mm: array<f32, 3>,
    source_mm: array<f32, 3>, // from the centre of cell (0, 0, 0)
    kernel_from_layout: array<f32, 9>, // rows: tangents against the beam axis, and along it
    tilt_reach: f32, // of the factors of low TERMA
    low_terma_fraction: f32, // of the greatest; zero where all TERMA has the same directions
    is_low: u32, // which part of the TERMA is transported
}

// The lines of a direction.
struct Direction {
    axis: array<f32, 3>,
    weight: f32, // of the deposit: sr over cm
    first_segment: u32,
    end_segment: u32,
}

@group(0) @binding(0) var<uniform> first: vec4<u32>;
@group(0) @binding(1) var<storage, read> cells: Layout;
@group(0) @binding(2) var<storage, read> directions: array<Direction>;
// Of every line within one cell: the step to it from the cell before, its slab, and the bits of its length in cm.
@group(0) @binding(3) var<storage, read> segments: array<vec4<i32>>;
// Rows of coefficients by angle, then the factors of low TERMA by tilt.
@group(0) @binding(4) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(5) var<storage, read> marked: array<f32>;
@group(0) @binding(6) var<storage, read> terma: array<vec4<f32>>;
@group(0) @binding(7) var<storage, read> greatest: Greatest;
@group(0) @binding(8) var<storage, read_write> deposit: array<atomic<i32>>;

// As in engine/cccs/angles.rs.
const TILTS: i32 = 17;
// Rows of the table to a step of STEP_DEG.
const ROWS_OF_STEP: i32 = 16;

// A state below this, in units of the deposit, is negligible: 384 such lines, each with a tenth deposited in one voxel, are 4e-5 of
// the greatest TERMA.
const LEAST_TRANSPORTED: f32 = 256.0;

// Factors of low TERMA at the tabulated tilt next to a ray's.
fn low_terma_factors(ray: vec3<f32>) -> vec4<f32> {
    let m = cells.kernel_from_layout;
    let along = m[6] * ray.x + m[7] * ray.y + m[8] * ray.z;
    var cell = vec2<i32>(TILTS / 2);
    if (along > 0.0) {
        let tangents = vec2<f32>(m[0] * ray.x + m[1] * ray.y + m[2] * ray.z, m[3] * ray.x + m[4] * ray.y + m[5] * ray.z) / along;
        let place = (tangents / cells.tilt_reach + 1.0) * 0.5 * f32(TILTS - 1);
        cell = vec2<i32>(clamp(place, vec2<f32>(0.0), vec2<f32>(f32(TILTS - 1))) + 0.5);
    }
    return table[((ANGLES - 1) * ROWS_OF_STEP + 1) * VECTORS + cell.y * TILTS + cell.x];
}

@compute @workgroup_size(16, 8, 1)
fn cccs_transport(@builtin(global_invocation_id) id: vec3<u32>) {
    let walls = vec2<i32>(cells.size[0], cells.size[1]);
    var cell = vec2<i32>(id.xy);
    if (any(cell > walls)) {
        return;
    }
    let direction = directions[first.x + id.z];
    let axis = vec3<f32>(direction.axis[0], direction.axis[1], direction.axis[2]);
    let spacing_mm = vec3<f32>(cells.spacing_mm[0], cells.spacing_mm[1], cells.spacing_mm[2]);
    let source_mm = vec3<f32>(cells.source_mm[0], cells.source_mm[1], cells.source_mm[2]);
    let unit = unit_of(greatest);
    if (unit == 0.0) {
        return;
    }
    let weight = direction.weight / unit;
    let stride = vec3<i32>(cells.stride[0], cells.stride[1], cells.stride[2]);
    let low_terma = cells.low_terma_fraction * bitcast<f32>(greatest.terma);
    let is_low = cells.is_low != 0u;
    // Radiant energy by term, over the term's decay constant.
    var state = Terms();
    for (var n = direction.first_segment; n < direction.end_segment; n += 1u) {
        let segment = segments[n];
        cell += segment.xy;
        let below = cell < vec2<i32>(0);
        let beyond = cell > walls;
        cell = select(select(cell, vec2<i32>(0), beyond), walls, below);
        if (any(cell == walls) || any(below) || any(beyond)) {
            state = Terms();
        }
        if (any(cell == walls)) {
            continue;
        }
        let index = cell.x * stride.x + cell.y * stride.y + segment.z * stride.z;
        // The sign marks cells with high TERMA.
        let here = marked[index];
        let transported = sum_of(Terms(abs(state.first), abs(state.second), abs(state.last)));
        let tau = abs(here) * bitcast<f32>(segment.w);
        var equilibrium = Terms();
        var deposited = 0.0;
        var sources = false;
        if (here < 0.0 || is_low) {
            let all = terma[index];
            let total = all.x + all.y + all.z + all.w;
            sources = total > 0.0;
            if (sources) {
                let ray = vec3<f32>(vec3<i32>(cell, segment.z)) * spacing_mm - source_mm;
                let low = min(low_terma / total, 1.0);
                var t = all * (1.0 - low);
                if (is_low) {
                    t = all * low * low_terma_factors(ray);
                }
                let steps = steps_of(dot(ray, axis) * inverseSqrt(max(dot(ray, ray), 1e-12)));
                let at = VECTORS * min(i32(steps * f32(ROWS_OF_STEP) + 0.5), (ANGLES - 1) * ROWS_OF_STEP);
                let row = array<vec4<f32>, VECTORS>(
                    table[at], table[at + 1], table[at + 2], table[at + 3], table[at + 4], table[at + 5], table[at + 6],
                );
                equilibrium = equilibrium_of(t, row);
                deposited = tau * dot(t, row[0]);
            }
        }
        if (!sources && transported * weight <= LEAST_TRANSPORTED) {
            continue;
        }
        // Energy that a state gains is not deposited.
        let gained = gains_of(losses_of(tau), equilibrium, state);
        state = added(state, gained);
        deposited -= sum_of(gained);
        atomicAdd(&deposit[index], i32(round(deposited * weight)));
    }
}
