// An X-ray and a DRR laid over each other, or the outline of a silhouette over both. Compiled after cover.wgsl.

struct Look {
    // Image pixel at the view's top left corner (pixel centres at whole numbers), and image pixels a screen pixel.
    corner: vec4<f32>,
    // Size of the view in screen pixels, then of the image in its own.
    shape: vec4<f32>,
    // Value at black, 1 / (value at white - value at black), image pixels a texel.
    xray: vec4<f32>,
    drr: vec4<f32>,
    // Display colours: of X-ray and DRR in the two-colour mode, and of the outline.
    xray_colour: vec4<f32>,
    drr_colour: vec4<f32>,
    background: vec4<f32>,
    // Mode; share of the DRR; side of a field of the board in screen pixels; 1 to show bone dark.
    how: vec4<f32>,
    // Middle of the spyglass (x also: the swipe), its radius in screen pixels; half width of lines.
    glass: vec4<f32>,
    // The drawn part: left, top, right, bottom in screen pixels.
    covered: vec4<f32>,
}

const BLEND = 0;
const COLOURS = 1;
const BOARD = 2;
const SWIPE = 3;
const SPYGLASS = 4;
const DIFFERENCE = 5;
const EDGES = 6;
const OUTLINE = 7;

@group(0) @binding(0) var<storage, read> look: Look;
@group(1) @binding(0) var xray: texture_2d<f32>;
@group(1) @binding(1) var drr: texture_2d<f32>;

@vertex
fn cover(@builtin(vertex_index) index: u32) -> Corner {
    return corner_of_part(index, look.covered, look.shape.xy);
}

// Bilinear between texel centres; the outermost beyond.
fn bilinear(picture: texture_2d<f32>, texel: vec2<f32>) -> f32 {
    let last = vec2<i32>(textureDimensions(picture)) - 1;
    let at = clamp(texel, vec2(0.0), vec2<f32>(last));
    let a = vec2<i32>(floor(at));
    let b = min(a + 1, last);
    let t = at - floor(at);
    let top = mix(textureLoad(picture, a, 0).x, textureLoad(picture, vec2(b.x, a.y), 0).x, t.x);
    let low = mix(textureLoad(picture, vec2(a.x, b.y), 0).x, textureLoad(picture, b, 0).x, t.x);
    return mix(top, low, t.y);
}

// A texel holds whole image pixels, its centre in their middle.
fn texel_of(pixel: vec2<f32>, pixels: f32) -> vec2<f32> {
    return (pixel + 0.5) / pixels - 0.5;
}

fn grey(picture: texture_2d<f32>, range: vec4<f32>, pixel: vec2<f32>) -> f32 {
    let value = bilinear(picture, texel_of(pixel, range.z));
    return clamp((value - range.x) * range.y, 0.0, 1.0);
}

// Change of the DRR's grey per image pixel, over a texel or a screen pixel, and at least half a hundredth of the width:
// noise and voxel steps are not edges.
fn drr_slope(pixel: vec2<f32>) -> vec2<f32> {
    let reach = max(max(look.drr.z, look.corner.z), 0.006 * look.shape.z);
    let right = vec2(reach, 0.0);
    let down = vec2(0.0, reach);
    let across = grey(drr, look.drr, pixel + right) - grey(drr, look.drr, pixel - right);
    let along = grey(drr, look.drr, pixel + down) - grey(drr, look.drr, pixel - down);
    return vec2(across, along) / (2.0 * reach);
}

// Strength of the DRR's edge here: a line where the slope is steepest along itself (Canny 1986), found between pixels by a
// parabola through three slopes.
fn drr_edge(pixel: vec2<f32>) -> f32 {
    let slope = drr_slope(pixel);
    let here = length(slope);
    // Grey change over a hundredth of the image's width, whatever its pixels.
    let strength = smoothstep(0.03, 0.07, here * 0.01 * look.shape.z);
    if strength <= 0.0 {
        return 0.0;
    }
    let reach = max(max(look.drr.z, look.corner.z), 0.008 * look.shape.z);
    let ahead = length(drr_slope(pixel + slope / here * reach));
    let behind = length(drr_slope(pixel - slope / here * reach));
    let bend = ahead - 2.0 * here + behind;
    if bend >= 0.0 {
        return 0.0;
    }
    let away = abs(0.5 * (behind - ahead) / bend) * reach / look.corner.z;
    return strength * clamp(look.glass.w + 0.5 - away, 0.0, 1.0);
}

fn outline(pixel: vec2<f32>) -> f32 {
    let texel = texel_of(pixel, look.drr.z);
    // Screen pixels a texel; differences over a texel, or over a pixel where that is larger.
    let texels = look.corner.z / look.drr.z;
    let reach = 0.5 * max(1.0, texels);
    let right = vec2(reach, 0.0);
    let down = vec2(0.0, reach);
    let across = bilinear(drr, texel + right) - bilinear(drr, texel - right);
    let along = bilinear(drr, texel + down) - bilinear(drr, texel - down);
    let slope = length(vec2(across, along)) / (2.0 * reach) * texels;
    let away = abs(bilinear(drr, texel) - 0.5) / max(slope, 1e-5);
    return clamp(look.glass.w + 0.5 - away, 0.0, 1.0);
}

@fragment
fn shade(corner: Corner) -> @location(0) vec4<f32> {
    let pixel = look.corner.xy + look.corner.zw * corner.pixel;
    let there = all(pixel >= vec2(-0.5)) && all(pixel <= look.shape.zw - 0.5);
    let mode = i32(look.how.x);
    if mode == OUTLINE {
        let line = select(0.0, outline(pixel), there);
        return vec4(look.drr_colour.rgb * line, line);
    }
    if !there {
        return vec4(look.background.rgb, 1.0);
    }
    var x = grey(xray, look.xray, pixel);
    var d = grey(drr, look.drr, pixel);
    if mode == DIFFERENCE {
        return vec4(vec3(clamp(0.5 + (x - d), 0.0, 1.0)), 1.0);
    }
    if look.how.w > 0.5 {
        x = 1.0 - x;
        d = 1.0 - d;
    }
    if mode == COLOURS {
        return vec4(min(look.xray_colour.rgb * x + look.drr_colour.rgb * d, vec3(1.0)), 1.0);
    }
    if mode == EDGES {
        return vec4(mix(vec3(x), look.drr_colour.rgb, drr_edge(pixel)), 1.0);
    }
    var share = look.how.y;
    if mode == BOARD {
        let field = vec2<i32>(floor(corner.pixel / look.how.z));
        share = f32((field.x + field.y) & 1);
    } else if mode == SWIPE {
        share = f32(corner.pixel.x > look.glass.x);
    } else if mode == SPYGLASS {
        share = f32(distance(corner.pixel, look.glass.xy) < look.glass.z);
    }
    return vec4(vec3(mix(x, d, share)), 1.0);
}
