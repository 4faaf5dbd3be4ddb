//! Beams on a plane: field edges, axis, isocentre, and the handle that turns the gantry.

use super::field::{field_in_plane, leaf_openings};
use super::overlay::{Anchor, text};
use super::{BeamLayer, Scene, ViewPlane};
use crate::kit::theme;
use crate::state::ViewKind;
use egui::{Color32, Painter, Pos2, Rect, Shape, Stroke, Vec2, vec2};
use geometry::BeamFrame;
use glam::DVec3;

const SELECTED: Color32 = Color32::from_rgb(240, 244, 248);
const OTHERS: Color32 = Color32::from_rgb(148, 156, 168);
/// Strength of the field edges of unselected beams: they must not hide the image.
const OTHERS_STRENGTH: f32 = 0.45;
/// The inside of the leaves' opening.
const OPENING: Color32 = Color32::from_rgba_premultiplied(12, 12, 13, 0);
/// Sine below which a direction counts as lying in the plane.
const IN_PLANE: f64 = 0.02;
/// Distance within which the isocentre counts as lying on the plane, mm.
const ON_PLANE_MM: f64 = 1.5;
const HANDLE_RADIUS: f32 = 6.0;

/// The beams that planes display.
fn shown(scene: &Scene) -> &[BeamLayer] {
    if scene.show_beams { &scene.beams } else { &[] }
}

/// Draws all beams, the selected one last.
pub(crate) fn draw(painter: &Painter, plane: &ViewPlane, kind: ViewKind, scene: &Scene) {
    let (selected, others): (Vec<_>, Vec<_>) = shown(scene).iter().partition(|b| b.selected);
    for beam in others.iter().chain(&selected) {
        draw_one(painter, plane, beam);
    }
    // The selected beam's name is placed first: names that would cover it are omitted, their handles stay.
    let mut taken = Vec::new();
    for beam in selected.iter().chain(&others) {
        if let Some(handle) = handle(plane, kind, beam) {
            draw_handle(painter, plane, handle, beam, colour_of(beam), &mut taken);
        }
    }
}

fn colour_of(beam: &BeamLayer) -> Color32 {
    if beam.selected { SELECTED } else { OTHERS }
}

fn draw_one(painter: &Painter, plane: &ViewPlane, beam: &BeamLayer) {
    let frame = beam.frame();
    let colour = colour_of(beam);
    let lines = if beam.selected {
        colour
    } else {
        colour.gamma_multiply(OTHERS_STRENGTH)
    };
    let (edge, axis) = if beam.selected {
        (1.4, 1.0)
    } else {
        (0.8, 0.7)
    };
    if beam.jaws.is_open() {
        if let (true, Some(mlc)) = (beam.selected, &beam.mlc) {
            for opening in leaf_openings(&beam.jaws, mlc, &beam.leaves_mm) {
                let part = field_in_plane(&frame, &opening, plane);
                if part.points.len() > 2 {
                    painter.add(Shape::convex_polygon(part.points, OPENING, Stroke::NONE));
                }
            }
        }
        for side in field_in_plane(&frame, &beam.jaws, plane).edges() {
            painter.line_segment(side, Stroke::new(edge, lines));
        }
    }
    draw_axis(
        painter,
        plane,
        &frame,
        Stroke::new(axis, lines.gamma_multiply(0.8)),
    );
    draw_isocentre(painter, plane, &frame, colour);
}

/// The axis if it runs in the plane; if it pierces the plane, a dot.
fn draw_axis(painter: &Painter, plane: &ViewPlane, frame: &BeamFrame, stroke: Stroke) {
    let towards_source = frame.axes[2];
    let normal = plane.right.cross(plane.down);
    let sine = towards_source.dot(normal);
    let depth = plane.depth_mm(frame.isocentre_mm);
    if sine.abs() < IN_PLANE {
        if depth.abs() <= ON_PLANE_MM {
            let ends = [frame.sad_mm, -frame.sad_mm]
                .map(|mm| plane.screen_from_patient(frame.isocentre_mm + towards_source * mm));
            painter.extend(Shape::dashed_line(&ends, stroke, 9.0, 4.0));
        }
    } else {
        let along = -depth / sine;
        if along < frame.sad_mm {
            let piercing = plane.screen_from_patient(frame.isocentre_mm + towards_source * along);
            painter.circle_filled(piercing, 2.0, stroke.color);
        }
    }
}

/// A ring with a cross if the isocentre lies on the plane, else a faint ring.
fn draw_isocentre(painter: &Painter, plane: &ViewPlane, frame: &BeamFrame, colour: Color32) {
    let isocentre = plane.screen_from_patient(frame.isocentre_mm);
    if plane.depth_mm(frame.isocentre_mm).abs() > ON_PLANE_MM {
        painter.circle_stroke(
            isocentre,
            5.0,
            Stroke::new(1.0, colour.gamma_multiply(0.35)),
        );
        return;
    }
    painter.circle_stroke(
        isocentre,
        6.0,
        Stroke::new(2.6, Color32::from_black_alpha(160)),
    );
    painter.circle_stroke(isocentre, 6.0, Stroke::new(1.4, colour));
    for arm in [
        vec2(1.0, 0.0),
        vec2(-1.0, 0.0),
        vec2(0.0, 1.0),
        vec2(0.0, -1.0),
    ] {
        painter.line_segment(
            [isocentre + arm * 6.0, isocentre + arm * 10.0],
            Stroke::new(1.4, colour),
        );
    }
}

/// Position of a beam's gantry handle: on the source's side of the isocentre, inside the view.
pub(crate) fn handle(plane: &ViewPlane, kind: ViewKind, beam: &BeamLayer) -> Option<Pos2> {
    if kind != ViewKind::Axial || !beam.editable {
        return None;
    }
    let frame = beam.frame();
    let [zero, quarter] = turning_plane(beam);
    // With the couch turned far the source no longer circles in this plane.
    if zero.cross(quarter).dot(plane.right.cross(plane.down)).abs() < 0.5 {
        return None;
    }
    let isocentre = plane.screen_from_patient(frame.isocentre_mm);
    if !plane.rect.contains(isocentre) {
        return None;
    }
    let toward = frame.axes[2];
    let direction = vec2(
        toward.dot(plane.right) as f32,
        toward.dot(plane.down) as f32,
    )
    .normalized();
    if direction == Vec2::ZERO {
        return None;
    }
    let room = plane.rect.shrink(22.0);
    let to_rim = [0, 1]
        .map(|axis| distance_to_rim(room, isocentre, direction, axis))
        .into_iter()
        .fold(f32::INFINITY, f32::min);
    let wanted = 0.42 * plane.rect.width().min(plane.rect.height());
    Some(isocentre + direction * wanted.min(to_rim).max(24.0))
}

fn draw_handle(
    painter: &Painter,
    plane: &ViewPlane,
    centre: Pos2,
    beam: &BeamLayer,
    colour: Color32,
    taken: &mut Vec<Rect>,
) {
    painter.circle(
        centre,
        HANDLE_RADIUS,
        colour,
        Stroke::new(1.5, theme::IMAGE.ground),
    );
    if beam.selected {
        painter.circle_stroke(
            centre,
            HANDLE_RADIUS + 2.5,
            Stroke::new(1.5, theme::IMAGE.accent),
        );
    }
    let label = if beam.selected {
        format!("{}  {:.1}°", beam.name, beam.gantry_deg)
    } else {
        beam.name.clone()
    };
    // Jaws that a run shows are not the plan's.
    let label = match beam.map_status {
        Some(status) => format!("{label} ({})", status.word()),
        None => label,
    };
    let (anchor, dx) = if centre.x > plane.rect.center().x {
        (Anchor::Right, -12.0)
    } else {
        (Anchor::Left, 12.0)
    };
    // Letters are about 6 points wide: accurate enough to detect overlaps.
    let width = 6.0 * label.chars().count() as f32;
    let toward = if anchor == Anchor::Right { -1.0 } else { 1.0 };
    let middle = centre + vec2(dx + toward * 0.5 * width, 0.0);
    let covers = Rect::from_center_size(middle, vec2(width, 12.0));
    let handle = Rect::from_center_size(centre, vec2(14.0, 14.0));
    if !taken.iter().any(|t| t.intersects(covers)) {
        text(
            painter,
            centre + vec2(dx, 0.0),
            anchor,
            &label,
            11.0,
            colour,
        );
        taken.push(covers);
    }
    taken.push(handle);
}

/// Distance from a point along a direction to the rim of a rectangle that is across an axis, points.
fn distance_to_rim(rect: Rect, from: Pos2, direction: Vec2, axis: usize) -> f32 {
    let component = direction[axis];
    if component > 1e-4 {
        (rect.max[axis] - from[axis]) / component
    } else if component < -1e-4 {
        (rect.min[axis] - from[axis]) / component
    } else {
        f32::INFINITY
    }
}

/// The beam whose handle is at a point: the selected one first.
pub(crate) fn handle_at(
    scene: &Scene,
    plane: &ViewPlane,
    kind: ViewKind,
    pointer: Pos2,
) -> Option<usize> {
    let mut beams: Vec<&BeamLayer> = shown(scene).iter().collect();
    beams.sort_by_key(|b| !b.selected);
    let held = beams.into_iter().find(|beam| {
        handle(plane, kind, beam).is_some_and(|h| h.distance(pointer) <= HANDLE_RADIUS + 5.0)
    });
    held.map(|beam| beam.index)
}

/// The gantry angle (0 to 360, whole degrees) that turns the source towards a position.
pub(crate) fn gantry_towards(beam: &BeamLayer, at_mm: DVec3) -> f64 {
    let [zero, quarter] = turning_plane(beam);
    let d = at_mm - beam.isocentre_mm;
    let degrees = d.dot(quarter).atan2(d.dot(zero)).to_degrees().round();
    degrees.rem_euclid(360.0)
}

/// Directions from the isocentre to the source at gantry 0 and at gantry 90.
fn turning_plane(beam: &BeamLayer) -> [DVec3; 2] {
    [0.0, 90.0].map(|gantry| {
        BeamFrame::new(
            beam.position,
            gantry,
            0.0,
            beam.couch_deg,
            beam.isocentre_mm,
            beam.sad_mm,
        )
        .axes[2]
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{Beam, Jaws};
    use geometry::PatientPosition;

    /// Turning the gantry towards its own source changes nothing, in every position and couch angle.
    #[test]
    fn the_gantry_follows_its_own_source() {
        for position in PatientPosition::ALL {
            for couch in [0.0, 25.0] {
                for gantry in [0.0, 37.0, 90.0, 200.0, 359.0] {
                    let iso = DVec3::new(10.0, -20.0, 30.0);
                    let beam = Beam::fixed("B", 1, gantry, iso, Jaws::symmetric(100.0, 100.0), 1.0);
                    let mut layer = BeamLayer::new(0, &beam, position, 1000.0, true).unwrap();
                    layer.couch_deg = couch;
                    let got = gantry_towards(&layer, layer.frame().source_mm);
                    assert_eq!(got, gantry, "{position} couch {couch}");
                }
            }
        }
    }
}
