// Radiological depth of every target from a point source: engine/path/cpu/mod.rs, one thread a target, voxel by voxel (stepping Siddon:
// de Greef 2009, appendix; Xiao 2012, Algorithm 1).
//
// A ray is walked from its target towards the source, as position = target + t way, t from 0 to 1: a crossing is as exact in single
// precision as it is near, and each is computed from its own plane, so that no rounding adds up.

// As engine/path/wgpu.rs declares it. Positions in mm of the density's frame, from the low edges of its first voxel.
struct Rays {
    size: array<u32, 3>,
    targets: array<u32, 3>,
    spacing_mm: array<f32, 2>,
    source_mm: array<f32, 3>,
    first_mm: array<f32, 3>, // target (i, j, k) lies at first + i step_i + j step_j + plane[k] normal
    step_i: array<f32, 3>,
    step_j: array<f32, 3>,
    normal: array<f32, 3>,
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(1) var<storage, read> rays: Rays;
@group(0) @binding(2) var<storage, read> edges_z_mm: array<f32>;
@group(0) @binding(3) var<storage, read> target_planes_mm: array<f32>;
@group(0) @binding(4) var<storage, read> density: array<f32>;
@group(0) @binding(5) var<storage, read_write> depth_mm: array<f32>;

// Beyond all t of a ray.
const NEVER: f32 = 1e30;

// The low edge of a voxel.
fn edge_mm(axis: u32, voxel: i32) -> f32 {
    if (axis == 2u) {
        return edges_z_mm[voxel];
    }
    return f32(voxel) * rays.spacing_mm[axis];
}

// The voxel that holds a place; the nearest one for a place outside.
fn voxel_at(axis: u32, place_mm: f32) -> i32 {
    let last = i32(rays.size[axis]) - 1;
    if (axis < 2u) {
        return clamp(i32(floor(place_mm / rays.spacing_mm[axis])), 0, last);
    }
    var low = 0;
    var high = last;
    while (low < high) {
        let middle = (low + high + 1) / 2;
        if (edges_z_mm[middle] <= place_mm) {
            low = middle;
        } else {
            high = middle - 1;
        }
    }
    return low;
}

// Zero for what is no finite number, whatever the device's compiler thinks of those.
fn finite(value: f32) -> f32 {
    return select(value, 0.0, (bitcast<u32>(value) & 0x7f800000u) == 0x7f800000u);
}

@compute @workgroup_size(16, 8, 1)
fn path_trace(@builtin(global_invocation_id) id: vec3<u32>) {
    let k = id.z + slab.x;
    if (id.x >= rays.targets[0] || id.y >= rays.targets[1] || k >= rays.targets[2]) {
        return;
    }
    var at: array<f32, 3>;
    var way: array<f32, 3>;
    var enter = 0.0;
    var leave = 1.0;
    var length_mm = 0.0;
    for (var axis = 0u; axis < 3u; axis += 1u) {
        at[axis] = rays.first_mm[axis] + f32(id.x) * rays.step_i[axis] + f32(id.y) * rays.step_j[axis]
            + target_planes_mm[k] * rays.normal[axis];
        way[axis] = rays.source_mm[axis] - at[axis];
        length_mm += way[axis] * way[axis];
        let low = edge_mm(axis, 0);
        let high = edge_mm(axis, i32(rays.size[axis]));
        if (way[axis] != 0.0) {
            let a = (low - at[axis]) / way[axis];
            let b = (high - at[axis]) / way[axis];
            enter = max(enter, min(a, b));
            leave = min(leave, max(a, b));
        } else if (at[axis] < low || at[axis] >= high) {
            leave = 0.0;
        }
    }
    length_mm = sqrt(length_mm);
    var voxel: array<i32, 3>;
    var next: array<f32, 3>;
    for (var axis = 0u; axis < 3u; axis += 1u) {
        voxel[axis] = voxel_at(axis, at[axis] + enter * way[axis]);
        let ahead = voxel[axis] + select(0, 1, way[axis] > 0.0);
        next[axis] = NEVER;
        if (way[axis] != 0.0) {
            next[axis] = (edge_mm(axis, ahead) - at[axis]) / way[axis];
        }
    }
    let strides = array<i32, 3>(1, i32(rays.size[0]), i32(rays.size[0] * rays.size[1]));
    var t = enter;
    var sum = 0.0;
    while (t < leave) {
        var axis = 2u;
        if (next[0] <= next[1] && next[0] <= next[2]) {
            axis = 0u;
        } else if (next[1] <= next[2]) {
            axis = 1u;
        }
        let until = max(min(next[axis], leave), t);
        let index = voxel[0] + voxel[1] * strides[1] + voxel[2] * strides[2];
        sum += finite(density[index]) * (until - t);
        t = until;
        let forward = way[axis] > 0.0;
        voxel[axis] += select(-1, 1, forward);
        if (voxel[axis] < 0 || voxel[axis] >= i32(rays.size[axis])) {
            break;
        }
        next[axis] = (edge_mm(axis, voxel[axis] + select(0, 1, forward)) - at[axis]) / way[axis];
    }
    depth_mm[(k * rays.targets[1] + id.y) * rays.targets[0] + id.x] = sum * length_mm;
}
