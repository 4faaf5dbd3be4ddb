//! Handles of a region of interest that is a shape: its middle moves it, its rim sizes it.

use super::ViewPlane;
use crate::app::roi::{SMALLEST_MM, Shape as Roi};
use crate::app::theme;
use egui::{Color32, Painter, Pos2, Rect, Stroke, StrokeKind, vec2};
use glam::DVec3;

/// Points round a handle within which it is caught.
const REACH: f32 = 8.0;

/// A part of a shape that can be dragged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Grip {
    Middle,
    /// The rim of a sphere, or a face of a box: towards screen right (0), left (1), down (2) or up (3).
    Rim(u8),
}

const RIMS: [Grip; 4] = [Grip::Rim(0), Grip::Rim(1), Grip::Rim(2), Grip::Rim(3)];

/// Screen direction of a rim in patient LPS.
fn outward(plane: &ViewPlane, rim: u8) -> DVec3 {
    match rim {
        0 => plane.right,
        1 => -plane.right,
        2 => plane.down,
        _ => -plane.down,
    }
}

/// Half the extent of a shape along a direction (a patient axis), mm.
fn half_extent_mm(shape: &Roi, along: DVec3) -> f64 {
    match shape {
        Roi::Sphere { radius_mm, .. } => *radius_mm,
        Roi::Box { size_mm, .. } => 0.5 * size_mm.dot(along.abs()),
    }
}

fn handle(plane: &ViewPlane, shape: &Roi, grip: Grip) -> Pos2 {
    let centre = shape.centre_mm();
    match grip {
        Grip::Middle => plane.screen_from_patient(centre),
        Grip::Rim(rim) => {
            let out = outward(plane, rim);
            plane.screen_from_patient(centre + out * half_extent_mm(shape, out))
        }
    }
}

/// Whether the plane meets the shape: only then can it be dragged there.
fn is_met(plane: &ViewPlane, shape: &Roi) -> bool {
    let normal = plane.right.cross(plane.down);
    plane.depth_mm(shape.centre_mm()).abs() <= half_extent_mm(shape, normal)
}

/// The grip under a point.
pub(super) fn grip_at(plane: &ViewPlane, shape: &Roi, at: Pos2) -> Option<Grip> {
    if !is_met(plane, shape) {
        return None;
    }
    // The rim first: of a small shape the middle would hide it.
    let rims = RIMS.into_iter().chain([Grip::Middle]);
    rims.map(|g| (g, handle(plane, shape, g).distance(at)))
        .filter(|(_, d)| *d <= REACH)
        .min_by(|a, b| a.1.total_cmp(&b.1))
        .map(|(g, _)| g)
}

/// The shape after a grip was dragged to a position.
pub(super) fn dragged(plane: &ViewPlane, shape: &Roi, grip: Grip, to_mm: DVec3) -> Roi {
    let centre = shape.centre_mm();
    let (right, down) = ((to_mm - centre).dot(plane.right), (to_mm - centre).dot(plane.down));
    match (grip, *shape) {
        // The depth stays: only what the view shows moves.
        (Grip::Middle, shape) => shape.moved_to(centre + plane.right * right + plane.down * down),
        (Grip::Rim(_), Roi::Sphere { centre_mm, .. }) => {
            Roi::Sphere { centre_mm, radius_mm: right.hypot(down).max(SMALLEST_MM) }
        }
        (Grip::Rim(rim), Roi::Box { centre_mm, size_mm }) => {
            // The face goes with the pointer, the one across stays.
            let out = outward(plane, rim);
            let half = half_extent_mm(shape, out);
            let size = ((to_mm - centre).dot(out) + half).max(2.0 * SMALLEST_MM);
            let axis = out.abs();
            Roi::Box {
                centre_mm: centre_mm + out * (0.5 * size - half),
                size_mm: size_mm + axis * (size - 2.0 * half),
            }
        }
    }
}

/// Draws the shape's section and its handles.
pub(super) fn draw(painter: &Painter, plane: &ViewPlane, shape: &Roi, colour: Color32) {
    if !is_met(plane, shape) {
        return;
    }
    let middle = handle(plane, shape, Grip::Middle);
    let thin = Stroke::new(1.0, colour);
    match shape {
        Roi::Sphere { radius_mm, .. } => {
            let depth = plane.depth_mm(shape.centre_mm());
            let section = (radius_mm * radius_mm - depth * depth).max(0.0).sqrt();
            painter.circle_stroke(middle, (section / plane.mm_per_point) as f32, thin);
        }
        Roi::Box { .. } => {
            let low = handle(plane, shape, Grip::Rim(1)).x;
            let top = handle(plane, shape, Grip::Rim(3)).y;
            let corner = Pos2::new(low, top);
            painter.rect_stroke(
                Rect::from_two_pos(corner, middle + (middle - corner)),
                0.0,
                thin,
                StrokeKind::Middle,
            );
        }
    }
    for grip in RIMS.into_iter().chain([Grip::Middle]) {
        let knob = Rect::from_center_size(handle(plane, shape, grip), vec2(7.0, 7.0));
        painter.rect(knob, 1.0, colour, Stroke::new(1.0, theme::GROUND), StrokeKind::Outside);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::view::ViewKind;

    fn plane(kind: ViewKind, centre_mm: DVec3) -> ViewPlane {
        let [right, down] = kind.axes();
        let rect = Rect::from_min_size(Pos2::ZERO, vec2(200.0, 200.0));
        ViewPlane { rect, centre_mm, right, down, mm_per_point: 1.0 }
    }

    #[test]
    fn a_dragged_face_leaves_the_one_across_where_it_was() {
        let shape = Roi::Box { centre_mm: DVec3::new(1.0, 2.0, 3.0), size_mm: DVec3::new(20.0, 30.0, 40.0) };
        // Coronal: up is +z; the upper face at z = 23 goes to 33.
        let view = plane(ViewKind::Coronal, DVec3::ZERO);
        let grip = grip_at(&view, &shape, view.screen_from_patient(DVec3::new(1.0, 0.0, 23.0)));
        assert_eq!(grip, Some(Grip::Rim(3)));
        let got = dragged(&view, &shape, Grip::Rim(3), DVec3::new(70.0, 0.0, 33.0));
        let want = Roi::Box { centre_mm: DVec3::new(1.0, 2.0, 8.0), size_mm: DVec3::new(20.0, 30.0, 50.0) };
        assert_eq!(got, want);
    }

    #[test]
    fn the_middle_moves_in_the_plane_only() {
        let shape = Roi::Sphere { centre_mm: DVec3::new(0.0, 0.0, 5.0), radius_mm: 20.0 };
        let view = plane(ViewKind::Axial, DVec3::new(0.0, 0.0, 10.0));
        let got = dragged(&view, &shape, Grip::Middle, DVec3::new(7.0, -8.0, 10.0));
        assert_eq!(got, Roi::Sphere { centre_mm: DVec3::new(7.0, -8.0, 5.0), radius_mm: 20.0 });
        let sized = dragged(&view, &shape, Grip::Rim(0), DVec3::new(3.0, 4.0, 10.0));
        assert_eq!(sized, Roi::Sphere { centre_mm: DVec3::new(0.0, 0.0, 5.0), radius_mm: 5.0 });
        let beside = plane(ViewKind::Axial, DVec3::new(0.0, 0.0, 26.0));
        assert_eq!(grip_at(&beside, &shape, Pos2::new(100.0, 100.0)), None);
    }
}
