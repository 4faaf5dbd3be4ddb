// The outline of one structure on a plane: the isoline of coverage one half. Compiled after cover.wgsl and grid.wgsl.

struct Outline {
    grid: Grid,
    // Display colour; a: opacity of the fill.
    colour: vec4<f32>,
    // Size of the view in pixels; half width of the line in pixels.
    shape: vec4<f32>,
    // The structure's box: left, top, right, bottom in pixels.
    covered: vec4<f32>,
}

@group(0) @binding(0) var<storage, read> outline: Outline;
@group(1) @binding(0) var mask: texture_3d<f32>;
@group(1) @binding(1) var mask_planes: texture_2d<f32>;

// Two triangles over the covered part of the view.
@vertex
fn cover(@builtin(vertex_index) index: u32) -> Corner {
    return corner_of_part(index, outline.covered, outline.shape.xy);
}

@fragment
fn shade(corner: Corner) -> @location(0) vec4<f32> {
    let grid = outline.grid;
    let p = (grid.origin + grid.right * corner.pixel.x + grid.down * corner.pixel.y).xyz;
    let k = plane_index(mask_planes, grid.size, p.z);
    let voxel = vec3(p.xy, k.x);
    if any(voxel <= vec3(-1.0)) || any(voxel >= grid.size.xyz) {
        discard;
    }
    let sample = trilinear_in_zero(mask, grid.size.xyz, voxel);
    let per_voxel = sample.gradient * vec3(1.0, 1.0, k.y);
    let slope = length(vec2(dot(per_voxel, grid.right.xyz), dot(per_voxel, grid.down.xyz)));
    let away = abs(sample.value - 0.5) / max(slope, 1e-6);
    let line = clamp(outline.shape.z + 0.5 - away, 0.0, 1.0);
    let fill = outline.colour.a * clamp((sample.value - 0.5) / max(slope, 1e-6) + 0.5, 0.0, 1.0);
    let cover = max(line, fill);
    return vec4(outline.colour.rgb * cover, cover);
}
