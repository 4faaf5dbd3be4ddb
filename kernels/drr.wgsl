// Line integrals of attenuation from a source to the texels of an image, and silhouettes of structures. The trilinear
// integrator of the engine (Tornai 2012, section II): the way through the box of voxels, and no further than the image,
// in equal steps no longer than requested, each sampled in its middle. Compiled after grid.wgsl and rays.wgsl.

@group(2) @binding(0) var result: texture_storage_2d<r32float, write>;

struct Way {
    // Grid coordinates of the first sample, and from one sample to the next.
    first: vec3<f32>,
    between: vec3<f32>,
    steps: u32,
    step_mm: f32,
}

fn way_of(texel: vec2<f32>) -> Way {
    let ray = ray_of(texel);
    let part = min(ray.leave, 1.0) - ray.enter;
    if !(part > 0.0) {
        return Way(vec3(0.0), vec3(0.0), 0u, 0.0);
    }
    let length_mm = part * ray.length_mm;
    let steps = max(ceil(length_mm / rays.scale.w), 1.0);
    let between = ray.direction * (part / steps);
    let first = rays.source.xyz + ray.direction * ray.enter + 0.5 * between;
    return Way(first, between, u32(steps), length_mm / steps);
}

// Hardware filter on 16-bit attenuation: weights of 8 bits are enough for display.
@compute @workgroup_size(8, 8)
fn filtered(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    let way = way_of(vec2<f32>(id.xy));
    var sum = 0.0;
    for (var n = 0u; n < way.steps; n++) {
        let v = voxel_at(way.first + way.between * f32(n));
        sum += textureSampleLevel(volume, smooth_sampler, (v + 0.5) / rays.size.xyz, 0.0).x;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(sum * way.step_mm, 0.0, 0.0, 1.0));
}

// The same in 32 bits throughout.
@compute @workgroup_size(8, 8)
fn exact(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    let way = way_of(vec2<f32>(id.xy));
    var sum = 0.0;
    for (var n = 0u; n < way.steps; n++) {
        let v = voxel_at(way.first + way.between * f32(n));
        sum += trilinear(volume, rays.size.xyz, v).value;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(sum * way.step_mm, 0.0, 0.0, 1.0));
}

@compute @workgroup_size(8, 8)
fn silhouette(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(most_coverage(vec2<f32>(id.xy)), 0.0, 0.0, 1.0));
}
