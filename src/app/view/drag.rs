//! Handles that are dragged: the gantry round its isocentre, shapes, the crosshair.

use super::shape::{self, Grip};
use super::{Scene, ViewEvent, ViewKind, ViewPlane, beam, navigate};
use egui::{CursorIcon, PointerButton, Pos2, Response, Ui};

/// What a drag has hold of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hold {
    /// The gantry of a beam, by its index in the plan.
    Gantry(usize),
    /// A part of the scene's shape.
    Shape(Grip),
    Crosshair,
}

/// How near the crosshair's middle a drag must start, points.
const CROSSHAIR_REACH: f32 = 9.0;

/// Drags what the pointer has hold of; `true` when it has something, so that the view does not pan as well.
pub(super) fn respond(
    ui: &Ui,
    response: &Response,
    kind: ViewKind,
    scene: &Scene,
    plane: &ViewPlane,
    events: &mut Vec<ViewEvent>,
) -> bool {
    let id = response.id.with("hold");
    if response.drag_started_by(PointerButton::Primary) {
        let from = ui.input(|i| i.pointer.press_origin());
        let hold = from.and_then(|at| hold_at(kind, scene, plane, at));
        ui.data_mut(|d| d.insert_temp(id, hold));
    }
    if !response.dragged() && !response.drag_stopped() {
        if let Some(at) = response.hover_pos()
            && hold_at(kind, scene, plane, at).is_some()
        {
            ui.set_cursor_icon(CursorIcon::Grab);
        }
        return false;
    }
    let Some(hold) = ui.data(|d| d.get_temp::<Option<Hold>>(id)).flatten() else { return false };
    let Some(at) = response.interact_pointer_pos() else { return true };
    let at_mm = plane.patient_from_screen(at);
    ui.set_cursor_icon(CursorIcon::Grabbing);
    match hold {
        Hold::Gantry(index) => {
            if let Some(layer) = scene.beams.iter().find(|b| b.index == index) {
                let gantry_deg = beam::gantry_towards(layer, at_mm);
                if gantry_deg != layer.gantry_deg || response.drag_stopped() {
                    events.push(ViewEvent::GantryDragged { beam: index, gantry_deg });
                }
            }
        }
        Hold::Shape(grip) => {
            if let Some((structure, before)) = scene.shape {
                let shape = shape::dragged(plane, &before, grip, at_mm);
                if shape != before {
                    events.push(ViewEvent::ShapeDragged { structure, shape });
                }
            }
        }
        Hold::Crosshair => {
            let to = navigate::snapped(scene, at_mm);
            if to != scene.crosshair_mm {
                events.push(ViewEvent::CrosshairMoved(to));
            }
        }
    }
    if response.drag_stopped() {
        ui.data_mut(|d| d.insert_temp::<Option<Hold>>(id, None));
    }
    true
}

fn hold_at(kind: ViewKind, scene: &Scene, plane: &ViewPlane, at: Pos2) -> Option<Hold> {
    if let Some(index) = beam::handle_at(scene, plane, kind, at) {
        return Some(Hold::Gantry(index));
    }
    if let Some(grip) = scene.shape.and_then(|(_, s)| shape::grip_at(plane, &s, at)) {
        return Some(Hold::Shape(grip));
    }
    let crosshair = plane.screen_from_patient(scene.crosshair_mm);
    (crosshair.distance(at) <= CROSSHAIR_REACH).then_some(Hold::Crosshair)
}
