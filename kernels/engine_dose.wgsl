// Energy of the fields, summed from the deposits, and in the end the dose on the requested grid.

// As engine/cccs/wgpu/dose.rs declares it.
struct Sum {
    size: array<u32, 3>, // of the medium
    offset: array<u32, 3>, // of the requested grid in it
    requested: array<u32, 3>,
    factor: f32, // of the field
    vacuum_g_cm3: f32,
}

@group(0) @binding(0) var<uniform> slab: vec4<u32>;
@group(0) @binding(1) var<storage, read> sum: Sum;
@group(0) @binding(2) var<storage, read_write> energy: array<f32>;

@group(0) @binding(3) var<storage, read> greatest: Greatest;
@group(0) @binding(4) var<storage, read> deposit: array<i32>;
@group(0) @binding(5) var<storage, read> deposit_exchanged: array<i32>;

@group(0) @binding(3) var<storage, read> mass: array<f32>;
@group(0) @binding(4) var<storage, read_write> gy: array<f32>;

// Adds a field's energy per volume of water of unit density.
@compute @workgroup_size(16, 8, 1)
fn cccs_add(@builtin(global_invocation_id) id: vec3<u32>) {
    let z = id.z + slab.x;
    if (id.x >= sum.size[0] || id.y >= sum.size[1] || z >= sum.size[2]) {
        return;
    }
    let index = (z * sum.size[1] + id.y) * sum.size[0] + id.x;
    let exchanged = (z * sum.size[0] + id.x) * sum.size[1] + id.y;
    let unit = unit_of(greatest);
    energy[index] += sum.factor * (unit * f32(deposit[index] + deposit_exchanged[exchanged]));
}

// Dose on the requested grid: energy over mass, none in a vacuum.
@compute @workgroup_size(16, 8, 1)
fn cccs_crop(@builtin(global_invocation_id) id: vec3<u32>) {
    let z = id.z + slab.x;
    if (id.x >= sum.requested[0] || id.y >= sum.requested[1] || z >= sum.requested[2]) {
        return;
    }
    let at = ((z + sum.offset[2]) * sum.size[1] + id.y + sum.offset[1]) * sum.size[0] + id.x + sum.offset[0];
    let here = mass[at];
    gy[(z * sum.requested[1] + id.y) * sum.requested[0] + id.x] = select(0.0, energy[at] / here, here > sum.vacuum_g_cm3);
}
