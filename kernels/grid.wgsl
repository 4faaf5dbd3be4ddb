// A voxel grid as the display sees it, shared by every shader that draws in patient space.
// Planes may be uneven: a table holds their positions, one texel a plane, and nothing is resampled.

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

// The eight values around a point, and the point's fraction of the way from the first to the last.
fn blend(c: array<f32, 8>, t: vec3<f32>) -> Sample {
    // Along x, then y, then z; the gradient follows from the same differences.
    let x00 = mix(c[0], c[1], t.x);
    let x10 = mix(c[2], c[3], t.x);
    let x01 = mix(c[4], c[5], t.x);
    let x11 = mix(c[6], c[7], t.x);
    let y0 = mix(x00, x10, t.y);
    let y1 = mix(x01, x11, t.y);
    let dx = mix(mix(c[1] - c[0], c[3] - c[2], t.y), mix(c[5] - c[4], c[7] - c[6], t.y), t.z);
    let dy = mix(x10 - x00, x11 - x01, t.z);
    return Sample(mix(y0, y1, t.z), vec3(dx, dy, y1 - y0));
}

// Trilinear value with its exact gradient, in f32 throughout (hardware filters weigh with 8 bits, which shows in
// isolines). Beyond the outermost centres the outermost value holds.
fn trilinear(volume: texture_3d<f32>, size: vec3<f32>, voxel: vec3<f32>) -> Sample {
    let last = size - 1.0;
    let v = clamp(voxel, vec3(0.0), last);
    let a = vec3<i32>(floor(v));
    let b = min(a + 1, vec3<i32>(last));
    let c = array<f32, 8>(
        textureLoad(volume, vec3(a.x, a.y, a.z), 0).x,
        textureLoad(volume, vec3(b.x, a.y, a.z), 0).x,
        textureLoad(volume, vec3(a.x, b.y, a.z), 0).x,
        textureLoad(volume, vec3(b.x, b.y, a.z), 0).x,
        textureLoad(volume, vec3(a.x, a.y, b.z), 0).x,
        textureLoad(volume, vec3(b.x, a.y, b.z), 0).x,
        textureLoad(volume, vec3(a.x, b.y, b.z), 0).x,
        textureLoad(volume, vec3(b.x, b.y, b.z), 0).x,
    );
    let s = blend(c, v - floor(v));
    let within = vec3<f32>(voxel >= vec3(0.0) & voxel <= last);
    return Sample(s.value, s.gradient * within);
}

fn load_or_zero(volume: texture_3d<f32>, size: vec3<i32>, at: vec3<i32>) -> f32 {
    let there = all(at >= vec3(0)) && all(at < size);
    return select(0.0, textureLoad(volume, clamp(at, vec3(0), size - 1), 0).x, there);
}

// The same, with zero all round the box.
fn trilinear_in_zero(volume: texture_3d<f32>, size: vec3<f32>, voxel: vec3<f32>) -> Sample {
    let n = vec3<i32>(size);
    let a = vec3<i32>(floor(voxel));
    let b = a + 1;
    let c = array<f32, 8>(
        load_or_zero(volume, n, vec3(a.x, a.y, a.z)),
        load_or_zero(volume, n, vec3(b.x, a.y, a.z)),
        load_or_zero(volume, n, vec3(a.x, b.y, a.z)),
        load_or_zero(volume, n, vec3(b.x, b.y, a.z)),
        load_or_zero(volume, n, vec3(a.x, a.y, b.z)),
        load_or_zero(volume, n, vec3(b.x, a.y, b.z)),
        load_or_zero(volume, n, vec3(a.x, b.y, b.z)),
        load_or_zero(volume, n, vec3(b.x, b.y, b.z)),
    );
    return blend(c, voxel - floor(voxel));
}
