// The stencils of the local correction along one dominant axis (engine/cccs/correction.rs).

// As engine/cccs/wgpu/correction.rs declares it.
struct Correction {
    size: array<i32, 3>,
    spacing_mm: array<f32, 3>,
    source_mm: array<f32, 3>, // from the centre of voxel (0, 0, 0)
    kernel_from_lattice: array<f32, 9>,
    tilt_reach: f32,
    tilts: i32, // each way
    offsets: i32,
    axis: i32, // across which the slabs lie
}

// A path from a voxel with TERMA to the one that receives: its voxels as steps of the index, and their fractions of it.
struct Offset {
    to: array<i32, 3>,
    index: array<i32, 4>,
    part: array<f32, 4>,
}

@group(0) @binding(1) var<storage, read> correction: Correction;
@group(0) @binding(2) var<storage, read> offsets: array<Offset>;
// H by powers of the density, [tilt][offset][slab], three numbers each.
@group(0) @binding(3) var<storage, read> powers: array<f32>;

// Of engine/cccs/correction.rs.
const DENSEST: f32 = 2.0;

// The number of the stencils for the ray to a voxel.
fn tilt_at(ray: vec3<f32>) -> i32 {
    let m = correction.kernel_from_lattice;
    let along = m[6] * ray.x + m[7] * ray.y + m[8] * ray.z;
    if (along <= 0.0) {
        return 0;
    }
    let tangents = vec2<f32>(m[0] * ray.x + m[1] * ray.y + m[2] * ray.z, m[3] * ray.x + m[4] * ray.y + m[5] * ray.z) / along;
    let place = (tangents / correction.tilt_reach + 1.0) * 0.5 * f32(correction.tilts);
    let cell = clamp(vec2<i32>(place), vec2<i32>(0), vec2<i32>(correction.tilts - 1));
    return cell.y * correction.tilts + cell.x;
}
