//! The room as a value, and its picture: drawn here on the CPU as `kernels/room.wgsl` draws it in the window, for a report has
//! no graphics device.

use super::pdf::Image;
use geometry::Mesh;
use glam::{Mat4, Vec2, Vec3, Vec4, vec2};
use std::sync::Arc;

/// Samples along each side of a pixel: edges are smooth.
const FINENESS: usize = 2;
/// Half the width of lines, samples.
const HALF_LINE: f32 = 0.75;

/// Surfaces of at most this many triangles are compared one by one.
const SMALL: usize = 20_000;

/// The camera of the room.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RoomFrame {
    /// Columns of the matrix from patient LPS, mm, to clip space.
    pub clip_from_patient: [[f32; 4]; 4],
    /// Patient LPS, mm.
    pub eye_mm: [f32; 3],
    pub size_px: [u32; 2],
}

/// A surface in the room.
#[derive(Clone, Debug)]
pub struct RoomSurface {
    pub surface: Arc<Mesh>,
    /// Display colour and opacity, 0 to 1.
    pub colour: [f32; 4],
    /// More opaque at its rim, like glass.
    pub rim: bool,
}

impl PartialEq for RoomSurface {
    fn eq(&self, other: &Self) -> bool {
        let (a, b) = (&self.surface, &other.surface);
        let small = a.triangles.len() <= SMALL && a.triangles.len() == b.triangles.len();
        self.colour == other.colour
            && self.rim == other.rim
            && (Arc::ptr_eq(a, b) || small && a == b)
    }
}

/// Lines in the room, from end to end; patient LPS, mm.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomLines {
    pub ends_mm: Vec<[[f32; 3]; 2]>,
    /// Display colour and opacity, 0 to 1.
    pub colour: [f32; 4],
}

/// All that a picture of the room shows.
#[derive(Clone, Debug, PartialEq)]
pub struct RoomLook {
    pub frame: RoomFrame,
    pub surfaces: Vec<RoomSurface>,
    pub lines: Vec<RoomLines>,
    /// Display colour behind all, 0 to 1.
    pub background: [f32; 3],
}

/// The order of drawing: solid surfaces, then see-through ones, the largest first. One surface lies within another as
/// a rule, so far sides are drawn from the outermost in, and near sides from the innermost out.
pub struct RoomOrder {
    pub opaque: Vec<usize>,
    pub clear: Vec<usize>,
}

impl RoomOrder {
    pub fn new(surfaces: &[&RoomSurface], size_mm: impl Fn(&RoomSurface) -> f64) -> Self {
        let (opaque, mut clear): (Vec<usize>, Vec<usize>) =
            (0..surfaces.len()).partition(|n| surfaces[*n].colour[3] >= 1.0);
        clear.sort_by(|a, b| size_mm(surfaces[*b]).total_cmp(&size_mm(surfaces[*a])));
        Self { opaque, clear }
    }
}

/// Which sides of a surface's triangles are drawn.
#[derive(Clone, Copy, PartialEq)]
enum Sides {
    Both,
    Far,
    Near,
}

/// The picture of a look.
pub fn draw(look: &RoomLook) -> Image {
    let mut canvas = Canvas::new(look);
    let surfaces: Vec<&RoomSurface> = look
        .surfaces
        .iter()
        .filter(|s| !s.surface.triangles.is_empty())
        .collect();
    let order = RoomOrder::new(&surfaces, |s: &RoomSurface| {
        s.surface
            .bounds_mm()
            .map_or(0.0, |[low, high]| low.distance(high))
    });
    order
        .opaque
        .iter()
        .for_each(|n| canvas.surface(surfaces[*n], Sides::Both));
    order
        .clear
        .iter()
        .for_each(|n| canvas.surface(surfaces[*n], Sides::Far));
    for lines in &look.lines {
        lines
            .ends_mm
            .iter()
            .for_each(|ends| canvas.line(*ends, lines.colour));
    }
    order
        .clear
        .iter()
        .rev()
        .for_each(|n| canvas.surface(surfaces[*n], Sides::Near));
    canvas.image()
}

struct Canvas {
    size: [usize; 2],
    clip_from_patient: Mat4,
    eye_mm: Vec3,
    /// Display colours and depths of the samples, row by row.
    colours: Vec<Vec3>,
    depths: Vec<f32>,
}

/// A corner on the canvas.
#[derive(Clone, Copy)]
struct Corner {
    at: Vec2,
    depth: f32,
    /// 1 / w of clip space: what is divided by w runs evenly over the canvas.
    inverse_w: f32,
    at_mm: Vec3,
    normal: Vec3,
}

impl Canvas {
    fn new(look: &RoomLook) -> Self {
        let size = look.frame.size_px.map(|px| px as usize * FINENESS);
        let count = size[0] * size[1];
        Self {
            size,
            clip_from_patient: Mat4::from_cols_array_2d(&look.frame.clip_from_patient),
            eye_mm: Vec3::from_array(look.frame.eye_mm),
            colours: vec![Vec3::from_array(look.background); count],
            depths: vec![1.0; count],
        }
    }

    /// Position of a point of the patient on the canvas; `None` behind the eye.
    fn corner(&self, at_mm: [f32; 3], normal: [f32; 3]) -> Option<Corner> {
        let at_mm = Vec3::from_array(at_mm);
        let clip: Vec4 = self.clip_from_patient * at_mm.extend(1.0);
        if clip.w <= 1e-3 {
            return None;
        }
        let inverse_w = clip.w.recip();
        let [width, height] = self.size.map(|n| n as f32);
        let screen = vec2(
            0.5 * (1.0 + clip.x * inverse_w) * width,
            0.5 * (1.0 - clip.y * inverse_w) * height,
        );
        let normal = Vec3::from_array(normal);
        Some(Corner {
            at: screen,
            depth: clip.z * inverse_w,
            inverse_w,
            at_mm,
            normal,
        })
    }

    fn surface(&mut self, surface: &RoomSurface, sides: Sides) {
        let mesh = &surface.surface;
        let corners: Vec<Option<Corner>> = mesh
            .vertices
            .iter()
            .map(|v| self.corner(v.at_mm, v.normal))
            .collect();
        for triangle in &mesh.triangles {
            if let [Some(a), Some(b), Some(c)] = triangle.map(|n| corners[n as usize]) {
                self.triangle([a, b, c], surface, sides);
            }
        }
    }

    fn triangle(&mut self, [a, b, c]: [Corner; 3], surface: &RoomSurface, sides: Sides) {
        // Counter-clockwise as seen is clockwise on a canvas whose rows run down.
        let twice_area = (b.at - a.at).perp_dot(c.at - a.at);
        let is_near = twice_area < 0.0;
        if twice_area == 0.0 || sides != Sides::Both && is_near != (sides == Sides::Near) {
            return;
        }
        let (low, high) = (a.at.min(b.at).min(c.at), a.at.max(b.at).max(c.at));
        for y in pixels_between(low.y, high.y, self.size[1]) {
            for x in pixels_between(low.x, high.x, self.size[0]) {
                let p = vec2(x as f32 + 0.5, y as f32 + 0.5);
                let shares = [
                    edge_share(b.at, c.at, p, twice_area),
                    edge_share(c.at, a.at, p, twice_area),
                    edge_share(a.at, b.at, p, twice_area),
                ];
                if shares.iter().any(|s| *s < 0.0) {
                    continue;
                }
                let [u, v, w] = shares;
                let depth = u * a.depth + v * b.depth + w * c.depth;
                let [u, v, w] = [u * a.inverse_w, v * b.inverse_w, w * c.inverse_w];
                let at_mm = weighted_mean(a.at_mm, b.at_mm, c.at_mm, [u, v, w]);
                let normal = weighted_mean(a.normal, b.normal, c.normal, [u, v, w]);
                let (colour, opacity) = shade(surface, at_mm, normal, self.eye_mm);
                self.put([x, y], depth, colour, opacity, sides == Sides::Both);
            }
        }
    }

    fn line(&mut self, ends_mm: [[f32; 3]; 2], [r, g, b, opacity]: [f32; 4]) {
        let [Some(from), Some(to)] = ends_mm.map(|end_mm| self.corner(end_mm, [0.0; 3])) else {
            return;
        };
        let steps = (to.at - from.at)
            .abs()
            .max_element()
            .ceil()
            .clamp(1.0, 20_000.0);
        let mut last = None;
        for n in 0..=steps as usize {
            let t = n as f32 / steps;
            let (screen, depth) = (
                from.at.lerp(to.at, t),
                from.depth + (to.depth - from.depth) * t,
            );
            for corner in 0..4 {
                let place = [
                    screen.x + line_offset(1, corner),
                    screen.y + line_offset(2, corner),
                ]
                .map(f32::floor);
                let inside = place
                    .iter()
                    .zip(self.size)
                    .all(|(p, size)| *p >= 0.0 && (*p as usize) < size);
                // Neighbouring steps share samples, which are drawn once.
                if inside && last != Some(place) {
                    self.put(
                        place.map(|p| p as usize),
                        depth,
                        Vec3::new(r, g, b),
                        0.5 * opacity,
                        false,
                    );
                    last = Some(place);
                }
            }
        }
    }

    /// Blends a colour over a sample unless something nearer is there.
    fn put(&mut self, [x, y]: [usize; 2], depth: f32, colour: Vec3, opacity: f32, hides: bool) {
        let n = y * self.size[0] + x;
        if !(0.0..=1.0).contains(&depth) || depth > self.depths[n] {
            return;
        }
        self.colours[n] = self.colours[n].lerp(colour, opacity);
        if hides {
            self.depths[n] = depth;
        }
    }

    fn image(&self) -> Image {
        let [width, height] = self.size.map(|n| n / FINENESS);
        let mut rgb = Vec::with_capacity(3 * width * height);
        for y in 0..height {
            for x in 0..width {
                let mean = (0..FINENESS * FINENESS)
                    .map(|n: usize| {
                        let [dx, dy] = [n % FINENESS, n / FINENESS];
                        self.colours[(y * FINENESS + dy) * self.size[0] + x * FINENESS + dx]
                    })
                    .sum::<Vec3>()
                    / (FINENESS * FINENESS) as f32;
                rgb.extend(
                    mean.to_array()
                        .map(|c| (c.clamp(0.0, 1.0) * 255.0).round() as u8),
                );
            }
        }
        Image {
            width: width as u32,
            height: height as u32,
            rgb,
        }
    }
}

fn pixels_between(low: f32, high: f32, size: usize) -> std::ops::Range<usize> {
    (low - 0.5).ceil().max(0.0) as usize..((high + 0.5).floor().max(0.0) as usize).min(size)
}

fn edge_share(from: Vec2, to: Vec2, p: Vec2, twice_area: f32) -> f32 {
    (to - from).perp_dot(p - from) / twice_area
}

fn weighted_mean(a: Vec3, b: Vec3, c: Vec3, [u, v, w]: [f32; 3]) -> Vec3 {
    (a * u + b * v + c * w) / (u + v + w)
}

fn line_offset(bit: u32, corner: u32) -> f32 {
    if corner & bit == 0 {
        -HALF_LINE
    } else {
        HALF_LINE
    }
}

/// `shade` of `kernels/room.wgsl`: the colour of a surface lit from the eye, and its opacity.
fn shade(surface: &RoomSurface, at_mm: Vec3, normal: Vec3, eye_mm: Vec3) -> (Vec3, f32) {
    let [r, g, b, opacity] = surface.colour;
    let facing = normal
        .normalize_or_zero()
        .dot((eye_mm - at_mm).normalize_or_zero())
        .abs();
    let rim = if surface.rim {
        (1.0 - facing).powi(3)
    } else {
        0.0
    };
    let opacity = opacity + ((3.0 * opacity + 0.1).min(1.0) - opacity) * rim;
    let colour = Vec3::new(r, g, b) * (0.3 + 0.7 * facing) + Vec3::splat(0.12 * facing.powi(24));
    (colour, opacity)
}

#[cfg(test)]
mod tests {
    use super::*;
    use glam::DVec3;
    use std::f64::consts::{PI, TAU};

    const EYE_MM: f32 = 1000.0;

    /// Seen from +z at a distance of a metre; 200 mm across at z = 0, y up.
    fn look(surfaces: Vec<RoomSurface>, lines: Vec<RoomLines>) -> RoomLook {
        let (focal, near, far) = (EYE_MM / 100.0, 20.0, EYE_MM + 3000.0);
        let depth = far / (near - far);
        let lens = Mat4::from_cols(
            Vec4::new(focal, 0.0, 0.0, 0.0),
            Vec4::new(0.0, focal, 0.0, 0.0),
            Vec4::new(0.0, 0.0, depth, -1.0),
            Vec4::new(0.0, 0.0, near * depth, 0.0),
        );
        let frame = RoomFrame {
            clip_from_patient: (lens * Mat4::from_translation(Vec3::new(0.0, 0.0, -EYE_MM)))
                .to_cols_array_2d(),
            eye_mm: [0.0, 0.0, EYE_MM],
            size_px: [100, 100],
        };
        RoomLook {
            frame,
            surfaces,
            lines,
            background: [0.0; 3],
        }
    }

    fn square(z_mm: f64, half_mm: f64, colour: [f32; 4]) -> RoomSurface {
        let corners = [
            corner_of(-1.0, -1.0, half_mm, z_mm),
            corner_of(1.0, -1.0, half_mm, z_mm),
            corner_of(1.0, 1.0, half_mm, z_mm),
            corner_of(-1.0, 1.0, half_mm, z_mm),
        ];
        let surface = Arc::new(Mesh::new(&corners, vec![[0, 1, 2], [0, 2, 3]]));
        RoomSurface {
            surface,
            colour,
            rim: false,
        }
    }

    fn corner_of(x: f64, y: f64, half_mm: f64, z_mm: f64) -> DVec3 {
        DVec3::new(x * half_mm, y * half_mm, z_mm)
    }

    fn ball(radius_mm: f64, colour: [f32; 4]) -> RoomSurface {
        let (rings, sides) = (60_u32, 90_u32);
        let corners: Vec<DVec3> = (0..=rings)
            .flat_map(|i| {
                (0..sides).map(move |j| {
                    let (a, b) = (
                        PI * f64::from(i) / f64::from(rings),
                        TAU * f64::from(j) / f64::from(sides),
                    );
                    radius_mm * DVec3::new(a.sin() * b.cos(), a.sin() * b.sin(), a.cos())
                })
            })
            .collect();
        let triangles = (0..rings)
            .flat_map(|i| {
                (0..sides).flat_map(move |j| {
                    let (a, b) = (i * sides + j, i * sides + (j + 1) % sides);
                    [[a, a + sides, b], [b, a + sides, b + sides]]
                })
            })
            .collect();
        RoomSurface {
            surface: Arc::new(Mesh::new(&corners, triangles)),
            colour,
            rim: false,
        }
    }

    fn pixel(image: &Image, [x, y]: [u32; 2]) -> [u8; 3] {
        let n = 3 * (y * image.width + x) as usize;
        [image.rgb[n], image.rgb[n + 1], image.rgb[n + 2]]
    }

    #[test]
    fn a_ball_covers_the_disc_that_its_tangents_bound() {
        let image = draw(&look(vec![ball(50.0, [1.0, 1.0, 1.0, 1.0])], Vec::new()));
        let covered = image.rgb.chunks_exact(3).filter(|p| p[0] > 0).count() as f64;
        // Tangents from the eye meet the plane z = 0 at r d / sqrt(d^2 - r^2); a pixel is 2 mm.
        let d = f64::from(EYE_MM);
        let radius_px = 50.0 * d / (d * d - 2500.0).sqrt() / 2.0;
        assert!(
            (covered / (PI * radius_px * radius_px) - 1.0).abs() < 0.06,
            "{covered}"
        );
        // Lit from the eye: white in the middle, 0.3 at the rim.
        assert_eq!(pixel(&image, [50, 50]), [255; 3]);
        assert!(pixel(&image, [26, 50])[0] < 140);
    }

    #[test]
    fn the_nearer_hides_what_is_behind_it_and_glass_does_not() {
        let (red, blue) = ([1.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 1.0]);
        // In either order of drawing.
        for surfaces in [
            vec![square(-50.0, 80.0, red), square(50.0, 40.0, blue)],
            vec![square(50.0, 40.0, blue), square(-50.0, 80.0, red)],
        ] {
            let image = draw(&look(surfaces, Vec::new()));
            let [middle, aside, out] =
                [[50, 50], [20, 50], [2, 2]].map(|place| pixel(&image, place));
            assert!(middle[2] > 250 && middle[0] < 35, "{middle:?}");
            assert!(aside[0] > 250 && aside[2] < 35, "{aside:?}");
            assert_eq!(out, [0; 3]);
        }
        let glass = square(50.0, 40.0, [0.0, 0.0, 1.0, 0.5]);
        let image = draw(&look(vec![glass, square(-50.0, 80.0, red)], Vec::new()));
        let middle = pixel(&image, [50, 50]);
        assert!(
            (120..=160).contains(&middle[0]) && (120..=160).contains(&middle[2]),
            "{middle:?}"
        );
    }

    #[test]
    fn lines_end_behind_surfaces_and_points_behind_the_eye_are_left_out() {
        let line = RoomLines {
            ends_mm: vec![
                [[-90.0, 0.0, 0.0], [90.0, 0.0, 0.0]],
                [[0.0, 0.0, 0.0], [0.0, 0.0, 3000.0]],
            ],
            colour: [1.0; 4],
        };
        let image = draw(&look(
            vec![square(50.0, 40.0, [0.0, 0.0, 1.0, 1.0])],
            vec![line],
        ));
        let row = |x: u32| (48..53).map(|y| pixel(&image, [x, y])[0]).max();
        assert!(
            row(15) > Some(70),
            "before the square's edge: {:?}",
            row(15)
        );
        assert!(row(50) < Some(60), "behind it: {:?}", row(50));
        assert_eq!(row(1), Some(0), "beyond its end");
    }
}
