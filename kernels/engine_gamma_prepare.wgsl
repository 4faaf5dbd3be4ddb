// Least and greatest dose at the corners of each cell of the evaluated dose, and of each block of 4 x 4 x 4 cells (in a plane 4 x 4).

// As engine/gamma/wgpu/mod.rs declares it.
struct Cells {
    size: array<u32, 3>, // voxels; in a plane the last counts layers
    is_flat: u32,
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(1) var<storage, read> cells: Cells;
@group(0) @binding(2) var<storage, read> values: array<f32>;
// Of the cells, with the index of their lowest voxel, then of the blocks.
@group(0) @binding(3) var<storage, read_write> ranges: array<vec2<f32>>;

const WIDE: u32 = 4;

// Cells along the axes.
fn count() -> vec3<u32> {
    return vec3<u32>(cells.size[0] - 1u, cells.size[1] - 1u, cells.size[2] - select(1u, 0u, cells.is_flat != 0u));
}

@compute @workgroup_size(32, 4, 1)
fn gamma_cells(@builtin(global_invocation_id) id: vec3<u32>) {
    let at = vec3<u32>(id.xy, id.z + slab.x);
    if (any(at >= count())) {
        return;
    }
    let nx = cells.size[0];
    let index = (at.z * cells.size[1] + at.y) * nx + at.x;
    let above = index + select(nx * cells.size[1], 0u, cells.is_flat != 0u);
    let low = vec4<f32>(values[index], values[index + 1u], values[index + nx], values[index + nx + 1u]);
    let high = vec4<f32>(values[above], values[above + 1u], values[above + nx], values[above + nx + 1u]);
    let least = min(low, high);
    let most = max(low, high);
    ranges[index] = vec2<f32>(min(min(least.x, least.y), min(least.z, least.w)), max(max(most.x, most.y), max(most.z, most.w)));
}

@compute @workgroup_size(32, 4, 1)
fn gamma_blocks(@builtin(global_invocation_id) id: vec3<u32>) {
    let wide = vec3<u32>(WIDE, WIDE, select(WIDE, 1u, cells.is_flat != 0u));
    let blocks = (count() + wide - 1u) / wide;
    let block = vec3<u32>(id.xy, id.z + slab.x);
    if (any(block >= blocks)) {
        return;
    }
    let first = block * wide;
    let end = min(first + wide, count());
    var range = ranges[(first.z * cells.size[1] + first.y) * cells.size[0] + first.x];
    for (var k = first.z; k < end.z; k += 1u) {
        for (var j = first.y; j < end.y; j += 1u) {
            for (var i = first.x; i < end.x; i += 1u) {
                let cell = ranges[(k * cells.size[1] + j) * cells.size[0] + i];
                range = vec2<f32>(min(range.x, cell.x), max(range.y, cell.y));
            }
        }
    }
    ranges[arrayLength(&values) + (block.z * blocks.y + block.y) * blocks.x + block.x] = range;
}
