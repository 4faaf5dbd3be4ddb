// Voxels laid out for the lines: the density marked where TERMA is high, and all of it once more with x and y exchanged, so that
// neighbouring lines along x read neighbouring numbers too; in the end the deposits of both, and the dose.

// As engine/cccs/wgpu/superpose.rs declares it.
struct Voxels {
    size: array<u32, 3>,
    low_terma_fraction: f32, // of the greatest; zero where all TERMA is high
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(1) var<storage, read> voxels: Voxels;
@group(0) @binding(2) var<storage, read> density: array<f32>;
@group(0) @binding(3) var<storage, read> terma: array<vec4<f32>>;
@group(0) @binding(4) var<storage, read> greatest: Greatest;
@group(0) @binding(5) var<storage, read_write> marked: array<f32>;
@group(0) @binding(6) var<storage, read_write> marked_exchanged: array<f32>;
@group(0) @binding(7) var<storage, read_write> terma_exchanged: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> primary: array<f32>;

// Marks the density, and writes the high primary TERMA per volume for the local correction.
@compute @workgroup_size(16, 8, 1)
fn cccs_layout(@builtin(global_invocation_id) id: vec3<u32>) {
    let z = id.z + slab.x;
    if (id.x >= voxels.size[0] || id.y >= voxels.size[1] || z >= voxels.size[2]) {
        return;
    }
    let index = (z * voxels.size[1] + id.y) * voxels.size[0] + id.x;
    let exchanged = (z * voxels.size[0] + id.x) * voxels.size[1] + id.y;
    let here = terma[index];
    let total = here.x + here.y + here.z + here.w;
    let low = voxels.low_terma_fraction * bitcast<f32>(greatest.terma);
    let is_high = total > low;
    let value = select(density[index], -density[index], is_high);
    marked[index] = value;
    marked_exchanged[exchanged] = value;
    terma_exchanged[exchanged] = here;
    primary[index] = select(0.0, density[index] * (here.x + here.y) * (1.0 - low / total), is_high);
}
