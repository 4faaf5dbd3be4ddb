// The vertex stage of everything that is drawn into a view: a triangle over all of it, or corners of a part.

struct Corner {
    @builtin(position) position: vec4<f32>,
    // Counted from the view's top left corner.
    @location(0) pixel: vec2<f32>,
}

// A corner at a pixel of a view of so many pixels.
fn corner_at(pixel: vec2<f32>, size: vec2<f32>) -> Corner {
    let at = pixel / size * 2.0 - 1.0;
    return Corner(vec4(at.x, -at.y, 0.0, 1.0), pixel);
}

// Corner 0, 1 or 2 of the one triangle that covers the view.
fn corner_of_all(index: u32, size: vec2<f32>) -> Corner {
    return corner_at(vec2(f32((index << 1u) & 2u), f32(index & 2u)) * size, size);
}
