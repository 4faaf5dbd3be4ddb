// A voxel grid as the display sees it, shared by every shader that draws in patient space.
// Planes may be uneven: their positions stand in a table of one texel a plane, and nothing is resampled.

struct Grid {
    // The grid's own coordinates of the view's top left corner: voxel index in x and y, mm along the normal in z;
    // and how they change per pixel to the right and down.
    origin: vec4<f32>,
    right: vec4<f32>,
    down: vec4<f32>,
    // Voxels in x, y, z; w: even plane spacing in mm, or 0 where planes are uneven.
    size: vec4<f32>,
    // z of the outermost faces, mm.
    faces: vec4<f32>,
}

// Continuous plane index of a position along the normal, and its change per mm.
fn plane_index(planes: texture_2d<f32>, size: vec4<f32>, z: f32) -> vec2<f32> {
    if size.w > 0.0 {
        return vec2(z / size.w, 1.0 / size.w);
    }
    var low = 0;
    var high = i32(size.z) - 1;
    while high - low > 1 {
        let middle = (low + high) / 2;
        if textureLoad(planes, vec2(middle, 0), 0).x <= z {
            low = middle;
        } else {
            high = middle;
        }
    }
    let below = textureLoad(planes, vec2(low, 0), 0).x;
    let above = textureLoad(planes, vec2(low + 1, 0), 0).x;
    let slope = 1.0 / (above - below);
    return vec2(f32(low) + (z - below) * slope, slope);
}

// Whether grid coordinates (voxel, voxel, mm) lie in the box of voxels.
fn inside(grid: Grid, p: vec3<f32>) -> bool {
    return all(p.xy >= vec2(-0.5)) && all(p.xy <= grid.size.xy - 0.5) && p.z >= grid.faces.x && p.z <= grid.faces.y;
}

struct Sample {
    value: f32,
    // Change of the value per voxel index in x, y, z.
    gradient: vec3<f32>,
}

// Trilinear value with its exact gradient, in f32 throughout (hardware filters weigh with 8 bits, which shows in
// isolines). Beyond the outermost centres the outermost value holds.
fn trilinear(volume: texture_3d<f32>, size: vec3<f32>, voxel: vec3<f32>) -> Sample {
    let last = size - 1.0;
    let v = clamp(voxel, vec3(0.0), last);
    let a = vec3<i32>(floor(v));
    let b = min(a + 1, vec3<i32>(last));
    let t = v - floor(v);
    let c000 = textureLoad(volume, vec3(a.x, a.y, a.z), 0).x;
    let c100 = textureLoad(volume, vec3(b.x, a.y, a.z), 0).x;
    let c010 = textureLoad(volume, vec3(a.x, b.y, a.z), 0).x;
    let c110 = textureLoad(volume, vec3(b.x, b.y, a.z), 0).x;
    let c001 = textureLoad(volume, vec3(a.x, a.y, b.z), 0).x;
    let c101 = textureLoad(volume, vec3(b.x, a.y, b.z), 0).x;
    let c011 = textureLoad(volume, vec3(a.x, b.y, b.z), 0).x;
    let c111 = textureLoad(volume, vec3(b.x, b.y, b.z), 0).x;
    // Along x, then y, then z; the gradient follows from the same differences.
    let x00 = mix(c000, c100, t.x);
    let x10 = mix(c010, c110, t.x);
    let x01 = mix(c001, c101, t.x);
    let x11 = mix(c011, c111, t.x);
    let y0 = mix(x00, x10, t.y);
    let y1 = mix(x01, x11, t.y);
    let dx = mix(mix(c100 - c000, c110 - c010, t.y), mix(c101 - c001, c111 - c011, t.y), t.z);
    let dy = mix(x10 - x00, x11 - x01, t.z);
    let within = vec3<f32>(voxel >= vec3(0.0) & voxel <= last);
    return Sample(mix(y0, y1, t.z), vec3(dx, dy, y1 - y0) * within);
}
