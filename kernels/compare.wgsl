// Two doses on one plane through the patient: A, B, both mixed (swipe, checkerboard, spyglass), their difference, or
// gamma. Each dose is sampled on its own grid, in patient space. Compiled after cover.wgsl, grid.wgsl and dose.wgsl, which reads
// fields of `View` by the names of slice.wgsl.

struct View {
    ct: Grid,
    a: Grid,
    b: Grid,
    gamma: Grid,
    background: vec4<f32>,
    // Lower end of the window (HU), 1 / width, whether there is a CT.
    window: vec4<f32>,
    // Size of the view in pixels; number of isodose levels; mode (the constants below).
    shape: vec4<f32>,
    // Colourwash: opacity, threshold in Gy, 1 for bands; the smallest slope per pixel (Gy) that makes a line.
    wash: vec4<f32>,
    // Whether there is a dose A, a dose B, a gamma; which isodose lines are drawn: 0 none, 1 those of the dose on
    // show, 2 both.
    there: vec4<f32>,
    // Where the mix changes: swipe x; checkerboard side; spyglass x, y and radius; pixels. Whether gamma has a sign.
    mixing: vec4<f32>,
    // Difference: unit (0 Gy, 1 % of the reference, 2 % of A), dead band, end of the scale, opacity.
    difference: vec4<f32>,
    // Gy of 100 %; dose of A (Gy) from which local percent are shown; end of gamma's scale; opacity of gamma.
    scale: vec4<f32>,
    // Ascending. x: Gy, y: half width of the line in pixels.
    levels: array<vec4<f32>, 16>,
    colours: array<vec4<f32>, 16>,
    // Difference from the most negative to the most positive; gamma from 0 over 1 to the end.
    diverging: array<vec4<f32>, 6>,
    gammas: array<vec4<f32>, 3>,
    failing: vec4<f32>,
}

const SHOW_A: i32 = 0;
const SHOW_B: i32 = 1;
const SWIPE: i32 = 2;
const CHECKERBOARD: i32 = 3;
const SPYGLASS: i32 = 4;
const DIFFERENCE: i32 = 5;
const GAMMA: i32 = 6;

@group(0) @binding(0) var<storage, read> view: View;
@group(1) @binding(0) var ct: texture_3d<f32>;
@group(1) @binding(1) var ct_planes: texture_2d<f32>;
@group(1) @binding(2) var smooth_sampler: sampler;
@group(2) @binding(0) var dose_a: texture_3d<f32>;
@group(2) @binding(1) var planes_a: texture_2d<f32>;
@group(2) @binding(2) var dose_b: texture_3d<f32>;
@group(2) @binding(3) var planes_b: texture_2d<f32>;
@group(2) @binding(4) var gamma: texture_3d<f32>;
@group(2) @binding(5) var planes_gamma: texture_2d<f32>;

@vertex
fn cover(@builtin(vertex_index) index: u32) -> Corner {
    return corner_of_all(index, view.shape.xy);
}

// A dose at a pixel; `known` is false outside its grid and where it is no number.
struct Place {
    known: bool,
    sample: Sample,
    planes_per_mm: f32,
}

// NaN is tested by its bits: compilers may assume that floats are never NaN.
fn is_nan(x: f32) -> bool {
    return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u;
}

fn at(volume: texture_3d<f32>, planes: texture_2d<f32>, grid: Grid, there: f32, pixel: vec2<f32>) -> Place {
    let p = grid_point(grid, pixel);
    if there < 0.5 || !inside(grid, p) {
        return Place(false, Sample(0.0, vec3(0.0)), 0.0);
    }
    let k = plane_index(planes, grid.size, p.z);
    let sample = trilinear(volume, grid.size.xyz, vec3(p.xy, k.x));
    return Place(!is_nan(sample.value), sample, k.y);
}

const NO_GAMMA: f32 = -1e9;

// Gamma of the voxel a pixel lies in, never between voxels.
fn gamma_at(pixel: vec2<f32>) -> f32 {
    let p = grid_point(view.gamma, pixel);
    if view.there.z < 0.5 || !inside(view.gamma, p) {
        return NO_GAMMA;
    }
    let k = plane_index(planes_gamma, view.gamma.size, p.z).x;
    let voxel = clamp(vec3<i32>(floor(vec3(p.xy, k) + 0.5)), vec3(0), vec3<i32>(view.gamma.size.xyz) - 1);
    let value = textureLoad(gamma, voxel, 0).x;
    return select(value, NO_GAMMA, is_nan(value));
}

fn fails(gamma: f32) -> bool {
    return gamma > NO_GAMMA && abs(gamma) > 1.0;
}

fn gamma_colour(value: f32) -> vec3<f32> {
    if view.mixing.w > 0.5 {
        let size = abs(value);
        let over = 0.5 + 0.5 * clamp((size - 1.0) / max(view.scale.z - 1.0, 1e-6), 0.0, 1.0);
        return diverging(select(over, 0.3 * size, size <= 1.0) * select(1.0, -1.0, value < 0.0));
    }
    if value <= 1.0 {
        return mix(view.gammas[0].rgb, view.gammas[1].rgb, value);
    }
    let t = clamp((value - 1.0) / max(view.scale.z - 1.0, 1e-6), 0.0, 1.0);
    // Gamma above 1 starts at an orange that is distinct from white.
    return mix(view.gammas[1].rgb, view.gammas[2].rgb, 0.35 + 0.65 * t);
}

// Colour of a difference at a share -1 to 1 of the scale: three steps on either side, the palest beside zero.
fn diverging(share: f32) -> vec3<f32> {
    let t = min(abs(share), 1.0) * 2.0;
    let n = min(i32(floor(t)), 1);
    let positive = share > 0.0;
    let from_ = select(2 - n, 3 + n, positive);
    let to = select(1 - n, 4 + n, positive);
    return mix(view.diverging[from_].rgb, view.diverging[to].rgb, t - f32(n));
}

fn shows_b(pixel: vec2<f32>, show: i32) -> bool {
    if show == SWIPE {
        return pixel.x >= view.mixing.x;
    }
    if show == CHECKERBOARD {
        let tile = vec2<i32>(floor(pixel / view.mixing.x));
        return ((tile.x + tile.y) & 1) == 1;
    }
    if show == SPYGLASS {
        return distance(pixel, view.mixing.xy) < view.mixing.z;
    }
    return show == SHOW_B;
}

@fragment
fn shade(corner: Corner) -> @location(0) vec4<f32> {
    let pixel = corner.pixel;
    var colour = view.background.rgb;
    if view.window.z > 0.5 {
        let p = grid_point(view.ct, pixel);
        if inside(view.ct, p) {
            let k = plane_index(ct_planes, view.ct.size, p.z).x;
            let at = (vec3(p.xy, k) + 0.5) / view.ct.size.xyz;
            let hu = textureSampleLevel(ct, smooth_sampler, at, 0.0).x;
            colour = vec3(clamp((hu - view.window.x) * view.window.y, 0.0, 1.0));
        }
    }
    let show = i32(view.shape.w);
    let a = at(dose_a, planes_a, view.a, view.there.x, pixel);
    let b = at(dose_b, planes_b, view.b, view.there.y, pixel);
    let is_b = shows_b(pixel, show);
    if show == DIFFERENCE {
        if a.known && b.known {
            var value = b.sample.value - a.sample.value;
            var told = true;
            if view.difference.x > 1.5 {
                told = a.sample.value >= view.scale.y && a.sample.value > 0.0;
                value = 100.0 * value / max(a.sample.value, 1e-20);
            } else if view.difference.x > 0.5 {
                value = 100.0 * value / view.scale.x;
            }
            if told && abs(value) > view.difference.y {
                colour = mix(colour, diverging(value / view.difference.z), view.difference.w);
            }
        } else if a.known != b.known && fract((pixel.x + pixel.y) / 8.0) < 0.125 {
            // One dose is missing here: the difference is undefined, not zero.
            colour = mix(colour, vec3(0.62), 0.5);
        }
    } else if show == GAMMA {
        let value = gamma_at(pixel);
        if value > NO_GAMMA {
            // With signs, small gammas are transparent.
            let strength = select(1.0, min(abs(value), 1.0), view.mixing.w > 0.5);
            colour = mix(colour, gamma_colour(value), view.scale.w * strength);
            if fails(value) {
                let step = array<vec2<f32>, 4>(vec2(1.2, 0.0), vec2(-1.2, 0.0), vec2(0.0, 1.2), vec2(0.0, -1.2));
                for (var i = 0; i < 4; i++) {
                    if !fails(gamma_at(pixel + step[i])) {
                        colour = view.failing.rgb;
                    }
                }
            }
        }
    } else {
        let known = select(a.known, b.known, is_b);
        let gy = select(a.sample.value, b.sample.value, is_b);
        if known && gy >= view.wash.y {
            colour = mix(colour, wash_colour(gy), view.wash.x);
        }
    }
    let own = view.there.w > 0.5 && show < DIFFERENCE;
    let both = view.there.w > 1.5;
    if a.known && (both || (own && !is_b)) {
        colour = with_lines(colour, view.a, a.sample, a.planes_per_mm, pixel, false);
    }
    if b.known && (both || (own && is_b)) {
        colour = with_lines(colour, view.b, b.sample, b.planes_per_mm, pixel, true);
    }
    return vec4(colour, 1.0);
}
