// The room: surfaces of triangles, lit from the eye on both sides, and lines.

struct Room {
    // Clip space from patient LPS, mm.
    clip: mat4x4<f32>,
    // Of the camera, patient LPS, mm.
    eye: vec4<f32>,
    // Display colour and opacity, 0 to 1.
    colour: vec4<f32>,
    // x: 1 where a surface is more opaque at its rim, like glass.
    how: vec4<f32>,
}

@group(0) @binding(0) var<storage, read> room: Room;

struct Seen {
    @builtin(position) position: vec4<f32>,
    @location(0) at: vec3<f32>,
    @location(1) normal: vec3<f32>,
}

@vertex
fn place(@location(0) at: vec3<f32>, @location(1) normal: vec3<f32>) -> Seen {
    return Seen(room.clip * vec4(at, 1.0), at, normal);
}

@fragment
fn shade(seen: Seen) -> @location(0) vec4<f32> {
    let size = length(seen.normal);
    // Lines have no normal.
    let lit = size > 0.1;
    let normal = seen.normal / max(size, 0.1);
    let facing = abs(dot(normal, normalize(room.eye.xyz - seen.at)));
    let light = select(1.0, 0.3 + 0.7 * facing, lit);
    let shine = select(0.0, 0.12 * pow(facing, 24.0), lit);
    let rim = select(0.0, room.how.x * pow(1.0 - facing, 3.0), lit);
    let opacity = mix(room.colour.a, min(1.0, 3.0 * room.colour.a + 0.1), rim);
    return vec4((room.colour.rgb * light + shine) * opacity, opacity);
}
