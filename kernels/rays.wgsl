// Rays from a source through a sheet of points, one a texel, clipped to a volume's box. Compiled after grid.wgsl.

struct Cast {
    // In the grid's coordinates (voxel, voxel, mm): the source, the sheet's point of texel (0, 0), and how that changes
    // per texel.
    source: vec4<f32>,
    corner: vec4<f32>,
    right: vec4<f32>,
    down: vec4<f32>,
    // The box of the volume, same coordinates.
    low: vec4<f32>,
    high: vec4<f32>,
    // As in Grid.
    size: vec4<f32>,
    // mm per unit of each coordinate; w: step in mm.
    scale: vec4<f32>,
}

@group(0) @binding(0) var<storage, read> rays: Cast;
@group(1) @binding(0) var volume: texture_3d<f32>;
@group(1) @binding(1) var planes: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;

// Even plane spacing in mm, or 0: that of the uniforms. Mesa's software renderer compiles a compute shader anew for every dispatch
// while a condition depends on uniforms alone; the table's first texel, which is 0, is added.
var<private> even_mm: f32;

struct Ray {
    direction: vec3<f32>,
    // Entry into the box and exit, as fractions of the path from the source to the sheet.
    enter: f32,
    leave: f32,
    // From the source to the sheet.
    length_mm: f32,
}

fn ray_of(texel: vec2<f32>) -> Ray {
    even_mm = rays.size.w + textureLoad(planes, vec2(0, 0), 0).x;
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
    return Ray(d, enter, leave, length(d * rays.scale.xyz));
}

fn voxel_at(p: vec3<f32>) -> vec3<f32> {
    return vec3(p.xy, plane_index(planes, vec4(rays.size.xyz, even_mm), p.z).x);
}

// The largest coverage of a mask on the way to a texel.
fn most_coverage(texel: vec2<f32>) -> f32 {
    let ray = ray_of(texel);
    let step = rays.scale.w / ray.length_mm;
    var most = 0.0;
    var t = ray.enter + 0.5 * step;
    while t < ray.leave && most < 0.99 {
        let v = voxel_at(rays.source.xyz + ray.direction * t);
        most = max(most, trilinear_in_zero(volume, rays.size.xyz, v).value);
        t += step;
    }
    return most;
}
