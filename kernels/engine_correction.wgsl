// The local correction of the lattice's discretisation (engine/cccs/correction.rs) along one dominant axis, one thread a voxel that
// receives it: a gather over the offsets within reach.

// As engine/cccs/wgpu/correction.rs declares it.
struct Correction {
    size: array<i32, 3>,
    spacing_mm: array<f32, 3>,
    source_mm: array<f32, 3>, // from the centre of voxel (0, 0, 0)
    kernel_from_lattice: array<f32, 9>,
    tilt_reach: f32,
    tilts: i32, // each way
    offsets: i32,
    axis: i32, // across which the slabs lie
}

// A path from a voxel with TERMA to the one that receives: its voxels as steps of the index, and their fractions of it.
struct Offset {
    to: array<i32, 3>,
    index: array<i32, 4>,
    part: array<f32, 4>,
}

@group(0) @binding(0) var<uniform> first: vec4<u32>;
@group(0) @binding(1) var<storage, read> correction: Correction;
@group(0) @binding(2) var<storage, read> offsets: array<Offset>;
// H by powers of the density, [tilt][offset][slab], three numbers each.
@group(0) @binding(3) var<storage, read> powers: array<f32>;
@group(0) @binding(4) var<storage, read> marked: array<f32>;
@group(0) @binding(5) var<storage, read> primary: array<f32>;
@group(0) @binding(6) var<storage, read> greatest: Greatest;
@group(0) @binding(7) var<storage, read_write> deposit: array<i32>;

// Of engine/cccs/correction.rs.
const DENSEST: f32 = 2.0;

// The number of the stencils for the ray to a voxel.
fn tilt_at(ray: vec3<f32>) -> i32 {
    let m = correction.kernel_from_lattice;
    let along = m[6] * ray.x + m[7] * ray.y + m[8] * ray.z;
    if (along <= 0.0) {
        return 0;
    }
    let tangents = vec2<f32>(m[0] * ray.x + m[1] * ray.y + m[2] * ray.z, m[3] * ray.x + m[4] * ray.y + m[5] * ray.z) / along;
    let place = (tangents / correction.tilt_reach + 1.0) * 0.5 * f32(correction.tilts);
    let cell = clamp(vec2<i32>(place), vec2<i32>(0), vec2<i32>(correction.tilts - 1));
    return cell.y * correction.tilts + cell.x;
}

@compute @workgroup_size(16, 8, 1)
fn cccs_correction(@builtin(global_invocation_id) id: vec3<u32>) {
    let size = vec3<i32>(correction.size[0], correction.size[1], correction.size[2]);
    let at = vec3<i32>(vec3<u32>(id.xy, id.z + first.x));
    if (any(at >= size)) {
        return;
    }
    let index = (at.z * size.y + at.y) * size.x + at.x;
    let density = abs(marked[index]);
    if (density == 0.0) {
        return;
    }
    let spacing_mm = vec3<f32>(correction.spacing_mm[0], correction.spacing_mm[1], correction.spacing_mm[2]);
    let source_mm = vec3<f32>(correction.source_mm[0], correction.source_mm[1], correction.source_mm[2]);
    let tilt = tilt_at(vec3<f32>(at) * spacing_mm - source_mm);
    let slabs = size[correction.axis];
    var sum = 0.0;
    for (var n = 0; n < correction.offsets; n += 1) {
        let origin = at - vec3<i32>(offsets[n].to[0], offsets[n].to[1], offsets[n].to[2]);
        if (any(origin < vec3<i32>(0)) || any(origin >= size)) {
            continue;
        }
        let source = (origin.z * size.y + origin.y) * size.x + origin.x;
        let terma = primary[source];
        if (terma == 0.0) {
            continue;
        }
        var mean = 0.0;
        for (var step = 0; step < 4; step += 1) {
            mean += offsets[n].part[step] * abs(marked[source + offsets[n].index[step]]);
        }
        mean = min(mean, DENSEST);
        let h = 3 * ((tilt * correction.offsets + n) * slabs + origin[correction.axis]);
        sum += terma * (powers[h] + mean * (powers[h + 1] + mean * powers[h + 2]));
    }
    let unit = unit_of(greatest);
    deposit[index] += i32(round(density * sum / unit));
}
