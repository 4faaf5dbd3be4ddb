// A dose on a plane, for every shader that draws one: colourwash and isodose lines from the levels of `view`, which the
// including shader declares. Compiled after cover.wgsl and grid.wgsl.

fn grid_point(grid: Grid, pixel: vec2<f32>) -> vec3<f32> {
    return (grid.origin + grid.right * pixel.x + grid.down * pixel.y).xyz;
}

fn wash_colour(gy: f32) -> vec3<f32> {
    let n = i32(view.shape.z);
    var colour = view.colours[0].rgb;
    for (var i = 0; i < n; i++) {
        let low = view.levels[i].x;
        if gy < low {
            break;
        }
        colour = view.colours[i].rgb;
        if view.wash.z < 0.5 && i + 1 < n {
            let t = clamp((gy - low) / max(view.levels[i + 1].x - low, 1e-20), 0.0, 1.0);
            colour = mix(colour, view.colours[i + 1].rgb, t);
        }
    }
    return colour;
}

// The distance to a level in pixels is the value's difference from it over the gradient per pixel; a line is drawn where the
// distance is small. `dashed` breaks the line up along the axis of the screen that it follows more closely.
fn with_lines(under: vec3<f32>, grid: Grid, sample: Sample, planes_per_mm: f32, pixel: vec2<f32>, dashed: bool) -> vec3<f32> {
    var colour = under;
    let per_voxel = sample.gradient * vec3(1.0, 1.0, planes_per_mm);
    let change = vec2(dot(per_voxel, grid.right.xyz), dot(per_voxel, grid.down.xyz));
    let slope = length(change);
    if slope <= view.wash.w {
        return colour;
    }
    let along = select(pixel.x, pixel.y, abs(change.x) > abs(change.y));
    if dashed && fract(along / DASH) > 0.55 {
        return colour;
    }
    for (var i = 0; i < i32(view.shape.z); i++) {
        let away = abs(sample.value - view.levels[i].x) / slope;
        let cover = clamp(view.levels[i].y + 0.5 - away, 0.0, 1.0);
        colour = mix(colour, view.colours[i].rgb, cover * view.colours[i].a);
    }
    return colour;
}

// Length of a dash with the gap after it, pixels.
const DASH: f32 = 9.0;
