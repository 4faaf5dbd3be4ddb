// The beam's-eye view: a cast picture as grey values, or as the outline of a silhouette. Compiled after cover.wgsl.

struct Bev {
    // Texture coordinates of the view's top left corner, and their change per pixel.
    corner: vec4<f32>,
    step: vec4<f32>,
    // Display colour of a silhouette; a: 0 for a radiograph, 1 for a silhouette.
    colour: vec4<f32>,
    // Size of the view in pixels; half width of the line in pixels; size of a texel in pixels.
    shape: vec4<f32>,
    // Radiograph: water-equivalent mm at black, and 1 / (mm at white - mm at black).
    range: vec4<f32>,
    background: vec4<f32>,
}

@group(0) @binding(0) var<storage, read> bev: Bev;
@group(1) @binding(0) var picture: texture_2d<f32>;
@group(1) @binding(1) var smooth_sampler: sampler;

@vertex
fn cover(@builtin(vertex_index) index: u32) -> Corner {
    return corner_of_all(index, bev.shape.xy);
}

fn value(at: vec2<f32>) -> f32 {
    return textureSampleLevel(picture, smooth_sampler, at, 0.0).x;
}

@fragment
fn shade(corner: Corner) -> @location(0) vec4<f32> {
    let at = bev.corner.xy + bev.step.xy * corner.pixel;
    let there = all(at >= vec2(0.0)) && all(at <= vec2(1.0));
    if bev.colour.a < 0.5 {
        let grey = clamp((value(at) - bev.range.x) * bev.range.y, 0.0, 1.0);
        return vec4(select(bev.background.rgb, vec3(grey), there), 1.0);
    }
    // Differences over a texel, or over a pixel where that is larger: smooth at any zoom.
    let reach = 0.5 * max(bev.shape.w, 1.0);
    let right = vec2(bev.step.x * reach, 0.0);
    let down = vec2(0.0, bev.step.y * reach);
    let slope = length(vec2(value(at + right) - value(at - right), value(at + down) - value(at - down))) / (2.0 * reach);
    let away = abs(value(at) - 0.5) / max(slope, 1e-5);
    let line = select(0.0, clamp(bev.shape.z + 0.5 - away, 0.0, 1.0), there);
    return vec4(bev.colour.rgb * line, line);
}
