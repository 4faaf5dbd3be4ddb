// The vertex stage of all drawing into a view: one triangle over the view, or two over a part of it.

struct Corner {
    @builtin(position) position: vec4<f32>,
    // Counted from the view's top left corner.
    @location(0) pixel: vec2<f32>,
}

// The clip position of a pixel of a view.
fn corner_at(pixel: vec2<f32>, size: vec2<f32>) -> Corner {
    let at = pixel / size * 2.0 - 1.0;
    return Corner(vec4(at.x, -at.y, 0.0, 1.0), pixel);
}

// Corner 0, 1 or 2 of the one triangle that covers the view.
fn corner_of_all(index: u32, size: vec2<f32>) -> Corner {
    return corner_at(vec2(f32((index << 1u) & 2u), f32(index & 2u)) * size, size);
}

// Corner 0 to 5 of the two triangles that cover a part of the view: left, top, right, bottom.
fn corner_of_part(index: u32, part: vec4<f32>, size: vec2<f32>) -> Corner {
    var uv = array<vec2<f32>, 6>(
        vec2(0.0, 0.0), vec2(1.0, 0.0), vec2(0.0, 1.0), vec2(0.0, 1.0), vec2(1.0, 0.0), vec2(1.0, 1.0)
    );
    return corner_at(mix(part.xy, part.zw, uv[index]), size);
}
