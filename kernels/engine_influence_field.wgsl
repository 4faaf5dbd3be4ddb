// What the kernels of the influence of beamlets share (engine/influence): the padded lattice, its lit voxels and their beamlets.

// The walk that all lines of a direction share.
struct Walk {
    first_step: u32,
    end_step: u32,
    first_layer: u32, // of the list of steps, where layers follow: the steps of each layer across `axis`, first, one past the last
    axis: u32,
    direction: array<f32, 3>,
    weight: f32, // of the deposit
    least: f32, // energy of a line that is dropped
}

// As engine/influence/wgpu/lines.rs declares it.
struct Chunk {
    first_beamlet: u32,
    beamlets: u32,
    sampled: u32,
    units: f32, // of the deposit, to an energy per volume of 1
    padded: array<u32, 3>, // voxels each way
    walks: array<Walk>,
}

// A voxel of the padded lattice.
struct Cell {
    density: f32, // negative beyond the lattice
    row: i32, // the number of the sampled voxel, or less than 0
    lit: u32, // the number of the lit voxel, or all ones
}

struct LitVoxel {
    ray: vec3<f32>, // unit vector from the source to it
    at: u32, // padded index
    terma: vec4<f32>, // by channel, under the unobstructed source
    first: u32, // of its shares
    end: u32,
}

// A beamlet's share of the fluence in a lit voxel.
struct Share {
    beamlet: u32,
    share: f32,
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(4) var<storage, read> chunk: Chunk;
@group(0) @binding(5) var<storage, read> cells: array<Cell>;
@group(0) @binding(6) var<storage, read> lit: array<LitVoxel>;
@group(0) @binding(7) var<storage, read> shares: array<Share>;
// [beamlet of the chunk][sampled voxel]
@group(0) @binding(8) var<storage, read_write> deposit: array<atomic<i32>>;

// The place of a padded index in the lattice.
fn place_of(at: u32) -> vec3<i32> {
    let x = chunk.padded[0];
    let y = chunk.padded[1];
    return vec3<i32>(vec3<u32>(at % x, at / x % y, at / (x * y))) - 1;
}
