// After engine_terms.wgsl and engine_influence_field.wgsl.
//
// Influence of beamlets: the energy per volume that each beamlet's focal fluence leaves at sampled voxels, by collapsed cone along the
// lines of engine/influence/cpu, one thread a line. Deposits add up in fixed point, so that runs repeat.

// Lines that enter a tube: padded index less that of the step, the step, the walk and the beamlet.
struct Entries {
    count: atomic<u32>,
    list: array<vec4<i32>>,
}

// Segments of all lines of a direction: index of the voxel less that of the line, and the bits of its length in cm.
@group(0) @binding(1) var<storage, read> steps: array<vec2<i32>>;
// Lit voxels and beamlets of the chunk.
@group(0) @binding(2) var<storage, read> tubes: array<vec2<u32>>;
// Rows of coefficients by angle.
@group(0) @binding(2) var<storage, read> table: array<vec4<f32>>;
@group(0) @binding(3) var<storage, read_write> entries: Entries;

const NONE: u32 = 0xffffffffu;
// Lines to a layer of workgroups.
const LINES: u32 = 8192;

// A beamlet's share in a lit voxel; 0 outside the tube.
fn share_of(beamlet: u32, number: u32) -> f32 {
    if (number == NONE) {
        return 0.0;
    }
    let end = lit[number].end;
    for (var n = lit[number].first; n < end; n += 1u) {
        if (shares[n].beamlet == beamlet) {
            return shares[n].share;
        }
    }
    return 0.0;
}

// Coefficients between the row that begins at a vector and the next.
fn row_between(at: i32, part: f32) -> array<vec4<f32>, VECTORS> {
    let next = at + VECTORS;
    return array<vec4<f32>, VECTORS>(
        mix(table[at], table[next], part),
        mix(table[at + 1], table[next + 1], part),
        mix(table[at + 2], table[next + 2], part),
        mix(table[at + 3], table[next + 3], part),
        mix(table[at + 4], table[next + 4], part),
        mix(table[at + 5], table[next + 5], part),
        mix(table[at + 6], table[next + 6], part),
    );
}

// Lists the lines of each direction (z) that enter a tube in one of its voxels (x).
@compute @workgroup_size(128)
fn influence_entries(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&tubes)) {
        return;
    }
    let number = slab.x + id.z;
    let walk = chunk.walks[number];
    let voxel = tubes[id.x].x;
    let beamlet = tubes[id.x].y;
    let at = i32(lit[voxel].at);
    let layer = steps[walk.first_layer + u32(place_of(u32(at))[walk.axis])];
    for (var step = u32(layer.x); step < u32(layer.y); step += 1u) {
        let base = at - steps[step].x;
        if (step > walk.first_step && share_of(beamlet, cells[base + steps[step - 1u].x].lit) > 0.0) {
            continue;
        }
        let n = atomicAdd(&entries.count, 1u);
        if (n < arrayLength(&entries.list)) {
            entries.list[n] = vec4<i32>(base, i32(step), i32(number), i32(beamlet));
        }
    }
}

// Transports the listed lines through their tubes and on to the end of matter.
@compute @workgroup_size(128)
fn influence_lines(@builtin(global_invocation_id) id: vec3<u32>) {
    let n = (slab.x + id.z) * LINES + id.x;
    if (n >= min(atomicLoad(&entries.count), arrayLength(&entries.list))) {
        return;
    }
    let entry = entries.list[n];
    let walk = chunk.walks[entry.z];
    let beamlet = u32(entry.w);
    let column = (beamlet - chunk.first_beamlet) * chunk.sampled;
    let units = walk.weight * chunk.units;
    let direction = vec3<f32>(walk.direction[0], walk.direction[1], walk.direction[2]);
    var state = Terms();
    var inside = true;
    for (var step = u32(entry.y); step < walk.end_step; step += 1u) {
        let segment = steps[step];
        let cell = cells[entry.x + segment.x];
        if (cell.density < 0.0) {
            break;
        }
        var share = 0.0;
        if (inside) {
            share = share_of(beamlet, cell.lit);
            inside = share > 0.0;
        }
        let tau = cell.density * bitcast<f32>(segment.y);
        var equilibrium = Terms();
        var deposited = 0.0;
        if (inside) {
            let voxel = lit[cell.lit];
            let place = steps_of(dot(direction, voxel.ray));
            let low = min(i32(place), ANGLES - 2);
            let row = row_between(VECTORS * low, place - f32(low));
            let t = share * voxel.terma;
            equilibrium = equilibrium_of(t, row);
            deposited = tau * dot(t, row[0]);
        }
        let gained = gains_of(losses_of(tau), equilibrium, state);
        state = added(state, gained);
        deposited -= sum_of(gained);
        if (!inside && sum_of(state) < walk.least) {
            break;
        }
        if (cell.row >= 0) {
            atomicAdd(&deposit[column + u32(cell.row)], i32(round(deposited * units)));
        }
    }
}
