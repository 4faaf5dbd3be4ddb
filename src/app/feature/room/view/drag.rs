//! Pointer in the room: the head turns the gantry, elsewhere a drag orbits or pans, the wheel zooms.

use super::shapes::HEAD_LENGTH_MM;
use super::{Camera, RoomScene};
use crate::view::{BeamLayer, ViewEvent, navigate};
use analysis::{HEAD_FACE_MM, HEAD_RADIUS_MM};
use egui::{CursorIcon, PointerButton, Pos2, Rect, Response, Ui, Vec2};
use geometry::BeamFrame;
use glam::DVec3;

/// Points that a degree of turn counts for: where two angles are seen at one place, the nearer one is meant.
const POINTS_PER_DEGREE: f32 = 0.35;

/// Object that a drag holds.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hold {
    /// The head of a beam, by index, and the offset of its middle from the pointer.
    Head(usize, Vec2),
    Room,
}

/// Answers the pointer: returns the camera after it.
pub(crate) fn respond(
    ui: &Ui,
    response: &Response,
    room: &RoomScene<'_>,
    camera: Camera,
    events: &mut Vec<ViewEvent>,
) -> Camera {
    let mut camera = camera;
    let rect = response.rect;
    if response.hover_pos().is_some() {
        let zoom = navigate::zoom_of_wheel(ui, true);
        if zoom != 1.0 {
            camera = camera.zoomed(zoom);
        }
    }
    let id = response.id.with("room");
    if response.drag_started_by(PointerButton::Primary) {
        let from = ui.input(|i| i.pointer.press_origin());
        let hold = from
            .and_then(|press| head_under(room, &camera, rect, press))
            .unwrap_or(Hold::Room);
        ui.data_mut(|d| d.insert_temp(id, hold));
    }
    let drag = response.drag_delta();
    if response.dragged_by(PointerButton::Secondary) || response.dragged_by(PointerButton::Middle) {
        return if drag == Vec2::ZERO {
            camera
        } else {
            camera.panned(drag, rect)
        };
    }
    if !response.dragged_by(PointerButton::Primary)
        && !response.drag_stopped_by(PointerButton::Primary)
    {
        let over = response
            .hover_pos()
            .is_some_and(|pointer| head_under(room, &camera, rect, pointer).is_some());
        if over {
            ui.set_cursor_icon(CursorIcon::Grab);
        }
        return camera;
    }
    let hold = ui.data(|d| d.get_temp(id)).unwrap_or(Hold::Room);
    match (hold, response.interact_pointer_pos()) {
        (Hold::Head(index, offset), Some(pointer)) => {
            ui.set_cursor_icon(CursorIcon::Grabbing);
            let beam = room.scene.beams.iter().find(|b| b.index == index);
            if let Some(beam) = beam {
                let gantry_deg = gantry_at(beam, &camera, rect, pointer + offset);
                if gantry_deg != beam.gantry_deg {
                    events.push(ViewEvent::GantryDragged {
                        beam: index,
                        gantry_deg,
                    });
                }
            }
        }
        (Hold::Room, _) if drag != Vec2::ZERO => camera = camera.orbited(drag),
        _ => {}
    }
    camera
}

/// The head under the pointer, if it can be turned.
fn head_under(room: &RoomScene<'_>, camera: &Camera, rect: Rect, pointer: Pos2) -> Option<Hold> {
    let beam = room
        .scene
        .bev_beam()
        .filter(|b| b.editable && room.settings.machine)?;
    let frame = beam.frame();
    meets_head(&frame, camera.eye(), camera.sight(pointer, rect)).then_some(())?;
    let middle = camera.screen(middle_of_head(beam, beam.gantry_deg), rect)?;
    Some(Hold::Head(beam.index, middle - pointer))
}

/// Whether a line of sight meets the head; not from inside it.
fn meets_head(frame: &BeamFrame, eye_mm: DVec3, sight: DVec3) -> bool {
    let eye = frame.device_from_patient(eye_mm);
    let d = DVec3::from_array(frame.axes.map(|axis| axis.dot(sight)));
    let [face, back] = [HEAD_FACE_MM, HEAD_FACE_MM + HEAD_LENGTH_MM];
    if is_within_head_radius(eye) && (face..=back).contains(&eye.z) {
        return false;
    }
    if meets_disc(eye, d, face) || meets_disc(eye, d, back) {
        return true;
    }
    // The mantle: |eye + t d| across the axis is the radius.
    let (a, b) = (d.x * d.x + d.y * d.y, eye.x * d.x + eye.y * d.y);
    let c = eye.x * eye.x + eye.y * eye.y - HEAD_RADIUS_MM * HEAD_RADIUS_MM;
    let root = b * b - a * c;
    if a < 1e-12 || root < 0.0 {
        return false;
    }
    // Both meetings count: the near one may lie beyond an end.
    [-1.0, 1.0].into_iter().any(|sign| {
        let t = (-b + sign * root.sqrt()) / a;
        t > 0.0 && (face..=back).contains(&(eye.z + d.z * t))
    })
}

/// Whether a position in device coordinates, mm, lies in the cylinder around the beam axis that the head fills.
fn is_within_head_radius(device_mm: DVec3) -> bool {
    device_mm.x.hypot(device_mm.y) <= HEAD_RADIUS_MM + 1e-6
}

/// Whether a ray meets the head's end disc at a height above the isocentre; all in device coordinates, mm.
fn meets_disc(eye: DVec3, direction: DVec3, z: f64) -> bool {
    if direction.z.abs() <= 1e-9 {
        return false;
    }
    let t = (z - eye.z) / direction.z;
    t > 0.0 && is_within_head_radius(eye + direction * t)
}

fn middle_of_head(beam: &BeamLayer, gantry_deg: f64) -> DVec3 {
    let frame = BeamFrame::new(
        beam.position,
        gantry_deg,
        0.0,
        beam.couch_deg,
        beam.isocentre_mm,
        beam.sad_mm,
    );
    beam.isocentre_mm + frame.axes[2] * (HEAD_FACE_MM + 0.5 * HEAD_LENGTH_MM)
}

/// The gantry angle (0 to 360, whole degrees) whose head is seen nearest to a point; from the side of its circle, where
/// two are, the one that takes less turning.
fn gantry_at(beam: &BeamLayer, camera: &Camera, rect: Rect, pointer: Pos2) -> f64 {
    let costs = (0..360_u16).filter_map(|deg| {
        let gantry_deg = f64::from(deg);
        let head = camera.screen(middle_of_head(beam, gantry_deg), rect)?;
        let turn = (gantry_deg - beam.gantry_deg + 180.0).rem_euclid(360.0) - 180.0;
        let cost = head.distance_sq(pointer) + (turn as f32 * POINTS_PER_DEGREE).powi(2);
        Some((cost, gantry_deg))
    });
    let best = costs.min_by(|a, b| a.0.total_cmp(&b.0));
    best.map_or(beam.gantry_deg, |(_, gantry_deg)| gantry_deg)
}

#[cfg(test)]
mod tests {
    use super::super::Preset;
    use super::*;
    use case::{Beam, Jaws};
    use egui::pos2;
    use geometry::PatientPosition;

    const RECT: Rect = Rect {
        min: pos2(0.0, 0.0),
        max: pos2(600.0, 500.0),
    };

    fn layer(gantry_deg: f64) -> BeamLayer {
        let iso = DVec3::new(20.0, -30.0, 40.0);
        let beam = Beam::fixed("B", 1, gantry_deg, iso, Jaws::symmetric(100.0, 100.0), 1.0);
        BeamLayer::new(0, &beam, PatientPosition::Hfs, 1000.0, true).expect("a beam")
    }

    fn camera(preset: Preset) -> Camera {
        let beam = layer(0.0);
        Camera::preset(
            preset,
            beam.position,
            Some(&beam),
            beam.isocentre_mm,
            1600.0,
        )
    }

    /// The head follows the pointer to where another angle puts it, seen along the gantry's axis and aslant.
    #[test]
    fn the_gantry_goes_where_its_head_is_dragged() {
        for preset in [Preset::CouchEnd, Preset::Room] {
            let camera = camera(preset);
            for (from, to) in [(0.0, 60.0), (350.0, 20.0), (180.0, 95.0), (0.0, 300.0)] {
                let head = camera
                    .screen(middle_of_head(&layer(from), to), RECT)
                    .expect("seen");
                let gantry_deg = gantry_at(&layer(from), &camera, RECT, head);
                let off = (gantry_deg - to + 180.0_f64).rem_euclid(360.0) - 180.0;
                assert!(
                    off.abs() <= 6.0,
                    "{preset:?}: {from} to {to} became {gantry_deg}"
                );
            }
        }
    }

    /// Seen along the circle's plane, 30 and 150 degrees lie over each other: the drag stays on its side.
    #[test]
    fn from_above_the_head_stays_on_its_side() {
        let camera = camera(Preset::Anterior);
        for (from, to) in [(20.0, 40.0), (160.0, 140.0)] {
            let head = camera
                .screen(middle_of_head(&layer(from), to), RECT)
                .expect("seen");
            let gantry_deg = gantry_at(&layer(from), &camera, RECT, head);
            assert!(
                (gantry_deg - to).abs() < 12.0,
                "{from} to {to} became {gantry_deg}"
            );
        }
    }

    #[test]
    fn the_pointer_meets_the_head_where_it_is_drawn() {
        let frame = layer(0.0).frame();
        let camera = camera(Preset::CouchEnd);
        for (device_mm, expected) in [
            (DVec3::new(0.0, 0.0, HEAD_FACE_MM + 100.0), true),
            (
                DVec3::new(HEAD_RADIUS_MM - 20.0, 0.0, HEAD_FACE_MM + 20.0),
                true,
            ),
            (
                DVec3::new(HEAD_RADIUS_MM + 60.0, 0.0, HEAD_FACE_MM + 100.0),
                false,
            ),
            (DVec3::new(0.0, 0.0, HEAD_FACE_MM - 100.0), false),
            (DVec3::ZERO, false),
        ] {
            let pointer = camera
                .screen(frame.patient_from_device(device_mm), RECT)
                .expect("seen");
            let sight = camera.sight(pointer, RECT);
            assert_eq!(
                meets_head(&frame, camera.eye(), sight),
                expected,
                "{device_mm}"
            );
        }
        let from_source = self::camera(Preset::BeamsEye);
        let sight = from_source.sight(RECT.center(), RECT);
        assert!(
            meets_head(&frame, frame.source_mm, sight),
            "the source is behind the head that is drawn"
        );
        let in_it = frame.patient_from_device(DVec3::new(0.0, 0.0, HEAD_FACE_MM + 10.0));
        assert!(!meets_head(&frame, in_it, sight));
    }
}
