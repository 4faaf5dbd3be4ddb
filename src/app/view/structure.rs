//! Structures on a plane: their contours if they lie on it, else a cut through the mask.

use super::overlay::{display_rgb, on_image};
use super::{Scene, StructureLook, ViewPlane};
use crate::render::OutlineLook;
use crate::state::ViewKind;
use case::{Contour, Structure};
use egui::{Color32, Painter, Pos2, Shape, Stroke};
use geometry::{Grid, cut_across};
use glam::DVec3;

const WIDTH: f32 = 1.6;
const WIDTH_SELECTED: f32 = 2.6;
const FILL_SELECTED: f32 = 0.10;
/// Contours nearer than this share a plane, mm.
const SAME_PLANE_MM: f64 = 0.05;

/// Draws all visible structures; the selected one last.
pub(crate) fn draw(painter: &Painter, plane: &ViewPlane, kind: ViewKind, scene: &Scene) {
    let mut cuts: Vec<OutlineLook<'_>> = Vec::new();
    let mut shapes: Vec<Shape> = Vec::new();
    let pairs = scene
        .structures
        .structures
        .iter()
        .zip(&scene.looks)
        .filter(|(_, look)| look.visible);
    let (selected, others): (Vec<_>, Vec<_>) = pairs.partition(|(_, look)| look.selected);
    let slab = slab_mm(scene.grid().map(|g| g.as_ref()), plane, kind);
    for (structure, look) in others.into_iter().chain(selected) {
        let colour = on_image(look.colour);
        let width = if look.selected { WIDTH_SELECTED } else { WIDTH };
        let stroke = Stroke::new(width, colour);
        let on_plane = if kind == ViewKind::Axial {
            contours_on(structure, plane, slab)
        } else {
            Vec::new()
        };
        if !on_plane.is_empty() {
            shapes.extend(on_plane.iter().map(|c| closed_line(plane, c, stroke)));
        }
        let drawn = kind != ViewKind::Axial && !look.current && is_drawn(scene, structure);
        if drawn && let Some(lines) = cut_now(structure, plane, kind, scene) {
            shapes.extend(
                lines
                    .into_iter()
                    .map(|ends| Shape::line_segment(ends, stroke)),
            );
        } else if on_plane.is_empty() || look.selected {
            match &look.mask {
                Some(mask) => cuts.push(OutlineLook {
                    mask,
                    colour: display_rgb(colour),
                    // If the contours are drawn, the mask contributes only the fill.
                    width_px: if on_plane.is_empty() {
                        width * painter.pixels_per_point()
                    } else {
                        -1.0
                    },
                    fill: if look.selected { FILL_SELECTED } else { 0.0 },
                }),
                None if kind != ViewKind::Axial => {
                    shapes.extend(crossings(structure, plane, stroke))
                }
                None => {}
            }
        }
        shapes.extend(points(structure, look, plane, slab));
    }
    let frame = plane.frame(painter.pixels_per_point());
    if let Some(callback) = scene.gpu.outline_callback(plane.rect, &frame, &cuts) {
        painter.add(callback);
    }
    painter.extend(shapes);
}

/// Extent of the plane's slab before and behind it, mm: half-way to the neighbouring planes of the images.
fn slab_mm(grid: Option<&Grid>, plane: &ViewPlane, kind: ViewKind) -> [f64; 2] {
    let Some(grid) = grid else { return [-0.5, 0.5] };
    let axis = kind.normal_axis();
    let Some(along) = (0..3).find(|a| grid.axes()[*a][axis].abs() > 0.999_99) else {
        return [-0.5, 0.5];
    };
    let edges = grid.edges_mm(along);
    let position = grid.local_from_patient(plane.centre_mm)[along];
    let k = edges
        .partition_point(|e| *e <= position)
        .clamp(1, edges.len() - 1)
        - 1;
    let [low, high] = [edges[k] - position, edges[k + 1] - position];
    if grid.axes()[along][axis] > 0.0 {
        [low, high]
    } else {
        [-high, -low]
    }
}

/// The contours in the plane's slab; if it holds several planes of contours, only the nearest plane's.
fn contours_on<'a>(
    structure: &'a Structure,
    plane: &ViewPlane,
    slab: [f64; 2],
) -> Vec<&'a Contour> {
    let centre = plane.centre_mm.z;
    let [low, high] = [
        centre + slab[0] - SAME_PLANE_MM,
        centre + slab[1] + SAME_PLANE_MM,
    ];
    let in_slab = structure
        .contours
        .axial_between(low, high)
        .filter(|(z, _)| *z < high);
    // Twice read: for the nearest plane, then for its contours.
    let in_slab: Vec<_> = in_slab.collect();
    let nearest = in_slab
        .iter()
        .map(|(z, _)| (z - centre).abs())
        .fold(f64::MAX, f64::min);
    in_slab
        .into_iter()
        .filter(|(z, _)| (z - centre).abs() <= nearest + SAME_PLANE_MM)
        .map(|(_, contour)| contour)
        .collect()
}

fn closed_line(plane: &ViewPlane, contour: &Contour, stroke: Stroke) -> Shape {
    let mut points: Vec<Pos2> = Vec::with_capacity(contour.points_mm.len());
    for p in &contour.points_mm {
        let corner = plane.screen_from_patient(*p);
        // Points closer than a fraction of a pixel only cost time.
        if points
            .last()
            .is_none_or(|last| last.distance_sq(corner) > 0.1)
        {
            points.push(corner);
        }
    }
    Shape::closed_line(points, stroke)
}

fn is_drawn(scene: &Scene, structure: &Structure) -> bool {
    scene
        .drawing
        .as_ref()
        .is_some_and(|d| d.number == structure.number)
}

/// The cut of a structure that is being drawn, in the frame of the stroke: its mask follows later. `None` where the
/// view lies oblique to the images.
fn cut_now(
    structure: &Structure,
    plane: &ViewPlane,
    kind: ViewKind,
    scene: &Scene,
) -> Option<Vec<[Pos2; 2]>> {
    let grid = scene.grid()?;
    let axis = (0..2).find(|a| grid.axes()[*a][kind.normal_axis()].abs() > 0.999_99)?;
    let contours: Vec<&[DVec3]> = structure
        .contours
        .iter()
        .map(|c| c.points_mm.as_slice())
        .collect();
    let lines = cut_across(grid, &contours, axis, plane.centre_mm);
    Some(
        lines
            .into_iter()
            .map(|ends| ends.map(|p| plane.screen_from_patient(p)))
            .collect(),
    )
}

/// Crossings of contours with a plane that they do not lie in: a short stroke at each crossing, as long as their
/// spacing. A placeholder until the mask is available.
fn crossings(structure: &Structure, plane: &ViewPlane, stroke: Stroke) -> Vec<Shape> {
    let half = spacing_mm(structure) * 0.5;
    let mut strokes = Vec::new();
    for contour in &structure.contours {
        let points = &contour.points_mm;
        for (i, a) in points.iter().enumerate() {
            let b = points[(i + 1) % points.len()];
            let (da, db) = (plane.depth_mm(*a), plane.depth_mm(b));
            if (da < 0.0) != (db < 0.0) {
                let crossing = a.lerp(b, da / (da - db));
                let along = DVec3::new(0.0, 0.0, half);
                let ends = [
                    plane.screen_from_patient(crossing - along),
                    plane.screen_from_patient(crossing + along),
                ];
                strokes.push(Shape::line_segment(ends, stroke));
            }
        }
    }
    strokes
}

/// The typical distance between a structure's contour planes, mm.
fn spacing_mm(structure: &Structure) -> f64 {
    let mut z: Vec<f64> = structure
        .contours
        .iter()
        .filter_map(|c| c.points_mm.first())
        .map(|p| p.z)
        .collect();
    z.sort_by(f64::total_cmp);
    let mut gaps: Vec<f64> = z
        .windows(2)
        .map(|w| w[1] - w[0])
        .filter(|g| *g > SAME_PLANE_MM)
        .collect();
    gaps.sort_by(f64::total_cmp);
    gaps.get(gaps.len() / 2).copied().unwrap_or(1.0)
}

/// Points of interest within the plane's slab, as crosses with their name.
fn points(
    structure: &Structure,
    look: &StructureLook,
    plane: &ViewPlane,
    slab: [f64; 2],
) -> Vec<Shape> {
    let stroke = Stroke::new(1.5, on_image(look.colour));
    let reach = slab[0].abs().max(slab[1].abs()) + SAME_PLANE_MM;
    let near = structure
        .points_mm
        .iter()
        .filter(|p| plane.depth_mm(**p).abs() <= reach);
    near.flat_map(|p| {
        let middle = plane.screen_from_patient(*p);
        let [falling, rising] = [egui::vec2(5.0, 5.0), egui::vec2(5.0, -5.0)]
            .map(|arm| Shape::line_segment([middle - arm, middle + arm], stroke));
        [
            falling,
            rising,
            Shape::circle_filled(middle, 1.5, Color32::BLACK),
        ]
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::StructureKind;

    fn square(x_mm: f64, z: f64) -> Contour {
        let points_mm = [[0.0, 0.0], [10.0, 0.0], [10.0, 10.0], [0.0, 10.0]]
            .map(|[x, y]| DVec3::new(x_mm + x, y, z))
            .to_vec();
        Contour {
            points_mm,
            image_uid: None,
        }
    }

    /// A square on each plane; where a plane stands again, another beside it.
    fn structure(planes: &[f64]) -> Structure {
        let squares = planes.iter().enumerate().map(|(n, z)| {
            let previous_count = planes[..n].iter().filter(|other| *other == z).count();
            square(20.0 * previous_count as f64, *z)
        });
        Structure {
            contours: squares.collect(),
            ..Structure::new("S", 1, StructureKind::Other)
        }
    }

    fn axial(z: f64) -> ViewPlane {
        let [right, down] = ViewKind::Axial.axes();
        ViewPlane {
            rect: egui::Rect::from_min_size(Pos2::ZERO, egui::vec2(100.0, 100.0)),
            centre_mm: DVec3::new(0.0, 0.0, z),
            right,
            down,
            mm_per_point: 1.0,
        }
    }

    #[test]
    fn contours_are_those_of_the_nearest_plane_in_the_slab() {
        let s = structure(&[0.0, 2.0, 2.0, 5.0]);
        for (z, slab, count) in [
            (2.0, [-1.0, 1.5], 2),
            (2.4, [-1.0, 1.0], 2),
            (3.5, [-1.0, 1.0], 0),
            (4.0, [-2.5, 2.5], 1),
        ] {
            assert_eq!(
                contours_on(&s, &axial(z), slab).len(),
                count,
                "{z} {slab:?}"
            );
        }
    }

    #[test]
    fn a_plane_across_the_contours_meets_each_square_twice() {
        let s = structure(&[0.0, 3.0, 6.0]);
        assert_eq!(spacing_mm(&s), 3.0);
        let [right, down] = ViewKind::Sagittal.axes();
        let plane = ViewPlane {
            right,
            down,
            centre_mm: DVec3::new(4.0, 0.0, 0.0),
            ..axial(0.0)
        };
        assert_eq!(crossings(&s, &plane, Stroke::NONE).len(), 6);
        let plane_beyond = ViewPlane {
            centre_mm: DVec3::new(14.0, 0.0, 0.0),
            ..plane
        };
        assert!(crossings(&s, &plane_beyond, Stroke::NONE).is_empty());
    }
}
