// A picture that was drawn for a view, pixel by pixel. Compiled after cover.wgsl.

struct Shown {
    // Size of the view in pixels.
    size: vec4<f32>,
}

@group(0) @binding(0) var<storage, read> shown: Shown;
@group(1) @binding(0) var picture: texture_2d<f32>;

@vertex
fn cover(@builtin(vertex_index) index: u32) -> Corner {
    return corner_of_all(index, shown.size.xy);
}

@fragment
fn shade(corner: Corner) -> @location(0) vec4<f32> {
    let last = vec2<i32>(textureDimensions(picture)) - 1;
    let at = clamp(vec2<i32>(corner.pixel), vec2(0), last);
    return vec4(textureLoad(picture, at, 0).rgb, 1.0);
}
