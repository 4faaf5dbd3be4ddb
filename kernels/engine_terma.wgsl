// TERMA of every voxel by channel (engine/cccs/cpu/terma.rs), and the energy of contaminant electrons there. After engine_fluence.wgsl.

// The greatest TERMA of all channels and the greatest density, as bits of floats of zero or more, which order as integers do.
struct Greatest {
    terma: atomic<u32>,
    density: atomic<u32>,
}

@group(0) @binding(4) var<storage, read> density: array<f32>;
@group(0) @binding(5) var<storage, read> depth_mm: array<f32>;
@group(0) @binding(6) var<storage, read_write> greatest: Greatest;
@group(0) @binding(7) var<storage, read_write> terma: array<vec4<f32>>;
@group(0) @binding(8) var<storage, read_write> energy: array<f32>;

// Of engine/cccs/angles.rs.
const TILTS: i32 = 17;

var<workgroup> greatest_here: Greatest;

// Four numbers of a table.
fn four(at: i32) -> vec4<f32> {
    return vec4<f32>(numbers[at], numbers[at + 1], numbers[at + 2], numbers[at + 3]);
}

// The spectrum at a distance from the axis, as Layer of physics/softening.rs: less_cm and kept.
fn softening_at(radius_mm: f32) -> vec2<f32> {
    let place = min(radius_mm / incident.field.softening_step_mm, f32(incident.field.softenings - 1));
    let i = min(i32(place), incident.field.softenings - 2);
    let p = four(incident.field.softening_at + 2 * i);
    return mix(p.xy, p.zw, place - f32(i));
}

// TiltNorm::at of engine/cccs/angles.rs: bilinear.
fn tilt_at(tangents: array<f32, 2>) -> vec4<f32> {
    var cell: array<i32, 2>;
    var part: array<f32, 2>;
    for (var axis = 0; axis < 2; axis += 1) {
        let place = clamp((tangents[axis] / incident.field.tilt_reach + 1.0) * 0.5 * f32(TILTS - 1), 0.0, f32(TILTS - 1));
        cell[axis] = min(i32(place), TILTS - 2);
        part[axis] = place - f32(cell[axis]);
    }
    let low = incident.field.tilt_at + 4 * (cell[1] * TILTS + cell[0]);
    let high = low + 4 * TILTS;
    return mix(mix(four(low), four(low + 4), part[0]), mix(four(high), four(high + 4), part[0]), part[1]);
}

// Contaminant electrons of the field at a depth, Gy on the axis at the isocentre distance.
fn electrons_gy(depth: f32) -> f32 {
    let falloff = incident.field.surface_falloff_per_mm;
    let end = exp(-falloff * incident.field.surface_range_mm);
    return incident.field.surface_gy * (exp(-falloff * max(depth, 0.0)) - end) / (1.0 - end);
}

// TERMA of a voxel with matter; adds the energy of electrons.
fn fill(at: vec3<i32>, index: i32, here: f32) -> vec4<f32> {
    var p: array<f32, 3>;
    for (var axis = 0; axis < 3; axis += 1) {
        p[axis] = incident.field.voxel_mm[axis] + f32(at.x) * incident.field.step_mm[0][axis]
            + f32(at.y) * incident.field.step_mm[1][axis] + f32(at.z) * incident.field.step_mm[2][axis];
    }
    let sad = incident.field.sad_mm;
    let distance_mm = sad - p[2];
    if (distance_mm <= 1e-6) {
        return vec4<f32>(0.0);
    }
    let isocentric = array<f32, 2>(p[0] * sad / distance_mm, p[1] * sad / distance_mm);
    let inverse_square = sad * sad / (p[0] * p[0] + p[1] * p[1] + distance_mm * distance_mm);
    let depth = depth_mm[index];
    if (incident.field.surface_gy > 0.0 && depth < incident.field.surface_range_mm) {
        energy[index] += incident.factor * electrons_gy(depth) * electrons_at(isocentric) * inverse_square * here;
    }
    let fluence = fluence_at(isocentric, distance_mm);
    if (fluence <= 0.0) {
        return vec4<f32>(0.0);
    }
    let layer = softening_at(length(vec2<f32>(isocentric[0], isocentric[1])));
    let depth_cm = depth / 10.0 - layer.x;
    let last = f32(incident.field.terma_rows - 2);
    let place = clamp((depth_cm - incident.field.first_depth_cm) / incident.field.depth_step_cm, 0.0, last);
    let row = incident.field.terma_at + 4 * i32(place);
    let per_fluence = mix(four(row), four(row + 4), fract(place));
    let norm = tilt_at(array<f32, 2>(isocentric[0] / sad, isocentric[1] / sad));
    return per_fluence * norm * (layer.y * fluence * inverse_square);
}

// Gy for one photon per cm2 on the axis at the isocentre; adds `factor` times the electrons' energy per volume.
@compute @workgroup_size(64, 2, 1)
fn cccs_terma(
    @builtin(global_invocation_id) id: vec3<u32>,
    @builtin(local_invocation_index) thread: u32,
) {
    if (thread == 0u) {
        atomicStore(&greatest_here.terma, 0u);
        atomicStore(&greatest_here.density, 0u);
    }
    workgroupBarrier();
    let at = vec3<i32>(i32(id.x), i32(id.y), i32(id.z + slab.x));
    let size = incident.field.size;
    if (at.x < size[0] && at.y < size[1] && at.z < size[2]) {
        let index = (at.z * size[1] + at.y) * size[0] + at.x;
        let here = density[index];
        var out = vec4<f32>(0.0);
        if (here > 0.0) {
            out = fill(at, index, here);
            atomicMax(&greatest_here.terma, bitcast<u32>(max(out.x + out.y + out.z + out.w, 0.0)));
            atomicMax(&greatest_here.density, bitcast<u32>(here));
        }
        terma[index] = out;
    }
    workgroupBarrier();
    if (thread == 0u) {
        atomicMax(&greatest.terma, atomicLoad(&greatest_here.terma));
        atomicMax(&greatest.density, atomicLoad(&greatest_here.density));
    }
}
