// Rays from the source through the isocentre plane: how much they meet (a radiograph), or whether they meet a
// structure (its silhouette). One ray a texel. Follows grid.wgsl.

struct Cast {
    // In the grid's coordinates (voxel, voxel, mm): the source, the isocentre plane's point of texel (0, 0), and
    // how that changes per texel.
    source: vec4<f32>,
    corner: vec4<f32>,
    right: vec4<f32>,
    down: vec4<f32>,
    // The box that is cast through, same coordinates.
    low: vec4<f32>,
    high: vec4<f32>,
    // As in Grid.
    size: vec4<f32>,
    // mm per unit of each coordinate; w: step in mm.
    scale: vec4<f32>,
}

@group(0) @binding(0) var<uniform> rays: Cast;
@group(1) @binding(0) var volume: texture_3d<f32>;
@group(1) @binding(1) var planes: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;
@group(2) @binding(0) var result: texture_storage_2d<rgba16float, write>;

struct Ray {
    direction: vec3<f32>,
    // Where it enters and leaves the box, as shares of the way from the source to the isocentre plane; and the
    // share that is one step.
    enter: f32,
    leave: f32,
    step: f32,
    step_mm: f32,
}

fn ray_of(texel: vec2<f32>) -> Ray {
    let target_point = (rays.corner + rays.right * texel.x + rays.down * texel.y).xyz;
    let d = target_point - rays.source.xyz;
    // No division by zero: a ray along an axis misses its faces by a hair.
    let safe = select(d, vec3(1e-9), abs(d) < vec3(1e-9));
    let a = (rays.low.xyz - rays.source.xyz) / safe;
    let b = (rays.high.xyz - rays.source.xyz) / safe;
    let near = min(a, b);
    let far = max(a, b);
    let enter = max(max(near.x, near.y), max(near.z, 0.0));
    let leave = min(far.x, min(far.y, far.z));
    let length_mm = length(d * rays.scale.xyz);
    return Ray(d, enter, leave, rays.scale.w / length_mm, rays.scale.w);
}

fn voxel_at(p: vec3<f32>) -> vec3<f32> {
    return vec3(p.xy, plane_index(planes, rays.size, p.z).x);
}

// Water-equivalent length in mm, with bone counted double so that it stands out as at kilovoltage.
@compute @workgroup_size(8, 8)
fn radiograph(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    let ray = ray_of(vec2<f32>(id.xy));
    var sum = 0.0;
    var t = ray.enter + 0.5 * ray.step;
    while t < ray.leave {
        let v = voxel_at(rays.source.xyz + ray.direction * t);
        let hu = textureSampleLevel(volume, smooth_sampler, (v + 0.5) / rays.size.xyz, 0.0).x;
        let bone = clamp((hu - 120.0) / 400.0, 0.0, 1.5);
        sum += max(hu * 0.001 + 1.0, 0.0) * (1.0 + bone);
        t += ray.step;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(sum * ray.step_mm, 0.0, 0.0, 1.0));
}

// The largest coverage on the way.
@compute @workgroup_size(8, 8)
fn silhouette(@builtin(global_invocation_id) id: vec3<u32>) {
    if any(id.xy >= textureDimensions(result)) {
        return;
    }
    let ray = ray_of(vec2<f32>(id.xy));
    var most = 0.0;
    var t = ray.enter + 0.5 * ray.step;
    while t < ray.leave && most < 0.99 {
        let v = voxel_at(rays.source.xyz + ray.direction * t);
        most = max(most, trilinear_in_zero(volume, rays.size.xyz, v).value);
        t += ray.step;
    }
    textureStore(result, vec2<i32>(id.xy), vec4(most, 0.0, 0.0, 1.0));
}
