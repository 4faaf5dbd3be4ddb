// A plane through the patient: CT through window and level, colourwash and isodose lines, in one pass.
// Compiled after cover.wgsl, grid.wgsl and dose.wgsl. Colours are display values (gamma space), as egui's render target expects.

struct View {
    ct: Grid,
    dose: Grid,
    background: vec4<f32>,
    // Lower end of the window (HU), 1 / width, whether there is a CT, whether there is a dose.
    window: vec4<f32>,
    // Size of the view in pixels; number of isodose levels; 1 where lines are drawn.
    shape: vec4<f32>,
    // Colourwash: opacity, threshold in Gy, 1 for bands; the smallest slope per pixel (Gy) that makes a line.
    wash: vec4<f32>,
    // Ascending. x: Gy, y: half width of the line in pixels.
    levels: array<vec4<f32>, 16>,
    colours: array<vec4<f32>, 16>,
}

@group(0) @binding(0) var<storage, read> view: View;
@group(1) @binding(0) var ct: texture_3d<f32>;
@group(1) @binding(1) var ct_planes: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;
@group(2) @binding(0) var dose: texture_3d<f32>;
@group(2) @binding(1) var dose_planes: texture_2d<f32>;

@vertex
fn cover(@builtin(vertex_index) index: u32) -> Corner {
    return corner_of_all(index, view.shape.xy);
}

@fragment
fn shade(corner: Corner) -> @location(0) vec4<f32> {
    var colour = view.background.rgb;
    if view.window.z > 0.5 {
        let p = grid_point(view.ct, corner.pixel);
        if inside(view.ct, p) {
            let k = plane_index(ct_planes, view.ct.size, p.z).x;
            let at = (vec3(p.xy, k) + 0.5) / view.ct.size.xyz;
            let hu = textureSampleLevel(ct, smooth_sampler, at, 0.0).x;
            colour = vec3(clamp((hu - view.window.x) * view.window.y, 0.0, 1.0));
        }
    }
    if view.window.w < 0.5 {
        return vec4(colour, 1.0);
    }
    let q = grid_point(view.dose, corner.pixel);
    if !inside(view.dose, q) {
        return vec4(colour, 1.0);
    }
    let k = plane_index(dose_planes, view.dose.size, q.z);
    let sample = trilinear(dose, view.dose.size.xyz, vec3(q.xy, k.x));
    let gy = sample.value;
    if gy >= view.wash.y {
        colour = mix(colour, wash_colour(gy), view.wash.x);
    }
    if view.shape.w > 0.5 {
        colour = with_lines(colour, view.dose, sample, k.y, corner.pixel, false);
    }
    return vec4(colour, 1.0);
}
