// Ray casting from a beam's source: a radiograph (water-equivalent length along each ray) or a structure's silhouette (whether
// the ray meets it). Compiled after grid.wgsl and rays.wgsl.

@group(2) @binding(0) var result: texture_storage_2d<rgba16float, write>;

// Water-equivalent length in mm, with bone counted double so that it stands out as at kilovoltage.
@compute @workgroup_size(8, 8)
fn radiograph(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    let ray = ray_of(vec2<f32>(id.xy));
    let step = rays.scale.w / ray.length_mm;
    var sum = 0.0;
    var t = ray.enter + 0.5 * step;
    while t < ray.leave {
        let v = voxel_at(rays.source.xyz + ray.direction * t);
        let hu = textureSampleLevel(volume, smooth_sampler, (v + 0.5) / rays.size.xyz, 0.0).x;
        let bone = clamp((hu - 120.0) / 400.0, 0.0, 1.5);
        sum += max(hu * 0.001 + 1.0, 0.0) * (1.0 + bone);
        t += step;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(sum * rays.scale.w, 0.0, 0.0, 1.0));
}

@compute @workgroup_size(8, 8)
fn silhouette(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(most_coverage(vec2<f32>(id.xy)), 0.0, 0.0, 1.0));
}
