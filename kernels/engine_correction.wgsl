// After engine_deposit.wgsl and engine_stencil.wgsl.
//
// The local correction of the lattice's discretisation (engine/cccs/correction.rs) along one dominant axis, one thread a voxel that
// receives it: a gather over the offsets within reach.

@group(0) @binding(0) var<uniform> first: vec4<u32>;
@group(0) @binding(4) var<storage, read> marked: array<f32>;
@group(0) @binding(5) var<storage, read> primary: array<f32>;
@group(0) @binding(6) var<storage, read> greatest: Greatest;
@group(0) @binding(7) var<storage, read_write> deposit: array<i32>;

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
