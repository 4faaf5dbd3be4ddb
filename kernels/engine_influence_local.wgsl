// After engine_stencil.wgsl and engine_influence_field.wgsl.
//
// The local correction of the columns along one dominant axis: a lit voxel (x) gives to an offset (z) within its reach.
@compute @workgroup_size(128)
fn influence_local(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= arrayLength(&lit)) {
        return;
    }
    let voxel = lit[id.x];
    let n = i32(slab.x + id.z);
    let offset = offsets[n];
    let size = vec3<i32>(correction.size[0], correction.size[1], correction.size[2]);
    let place = place_of(voxel.at);
    let to = place + vec3<i32>(offset.to[0], offset.to[1], offset.to[2]);
    if (any(to < vec3<i32>(0)) || any(to >= size)) {
        return;
    }
    let stride = vec3<i32>(1, i32(chunk.padded[0]), i32(chunk.padded[0] * chunk.padded[1]));
    let target_cell = cells[dot(to + 1, stride)];
    if (target_cell.row < 0) {
        return;
    }
    var mean = 0.0;
    for (var step = 0; step < 4; step += 1) {
        // Steps beyond the path count nothing and stay in the voxel.
        mean += offset.part[step] * cells[i32(voxel.at) + offset.index[step]].density;
    }
    mean = min(mean, DENSEST);
    let h = 3 * ((tilt_at(voxel.ray) * correction.offsets + n) * size[correction.axis] + place[correction.axis]);
    let primary = cells[voxel.at].density * (voxel.terma.x + voxel.terma.y);
    let energy = target_cell.density * primary * (powers[h] + mean * (powers[h + 1] + mean * powers[h + 2]));
    for (var at = voxel.first; at < voxel.end; at += 1u) {
        let column = shares[at].beamlet - chunk.first_beamlet;
        let deposited = i32(round(shares[at].share * energy * chunk.units));
        if (column < chunk.beamlets && deposited != 0) {
            atomicAdd(&deposit[column * chunk.sampled + u32(target_cell.row)], deposited);
        }
    }
}
