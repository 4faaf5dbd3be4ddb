//! Draggable handles: the gantry round its isocentre, shapes, the crosshair.

use super::bev::BevPlane;
use super::shape::{self, Grip, Lens};
use super::{BeamLayer, Scene, ViewEvent, ViewPlane, aperture, beam, navigate};
use crate::state::ViewKind;
use crate::state::roi::Shape;
use analysis::AperturePart;
use egui::{CursorIcon, PointerButton, Pos2, Response, Ui};

/// Object grabbed by a drag.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Hold {
    /// The gantry of a beam, by its index in the plan.
    Gantry(usize),
    /// A part of the scene's shape.
    Shape(Grip),
    Crosshair,
    /// A jaw or leaf of the beam's-eye view.
    Part(AperturePart),
    /// The leaves of a bank, brushed.
    Brush(usize),
}

/// Distance from the crosshair's centre within which a drag grabs it, points.
const CROSSHAIR_REACH: f32 = 9.0;

/// Drags the grabbed object; returns `true` if there is one, so that the view does not pan as well.
pub(crate) fn respond(
    ui: &Ui,
    response: &Response,
    kind: ViewKind,
    scene: &Scene,
    lens: Lens,
    events: &mut Vec<ViewEvent>,
) -> bool {
    let id = response.id.with("hold");
    if response.drag_started_by(PointerButton::Primary) {
        let from = ui.input(|i| i.pointer.press_origin());
        let hold = from.and_then(|pointer| hold_at(ui, kind, scene, lens, pointer));
        ui.data_mut(|d| d.insert_temp(id, hold));
    }
    if !response.dragged() && !response.drag_stopped() {
        if let Some(pointer) = response.hover_pos()
            && hold_at(ui, kind, scene, lens, pointer).is_some()
        {
            ui.set_cursor_icon(CursorIcon::Grab);
        }
        return false;
    }
    let Some(hold) = ui.data(|d| d.get_temp::<Option<Hold>>(id)).flatten() else {
        return false;
    };
    let Some(pointer) = response.interact_pointer_pos() else {
        return true;
    };
    ui.set_cursor_icon(CursorIcon::Grabbing);
    match (hold, lens) {
        (Hold::Crosshair, Lens::Plane(plane)) => {
            let to = navigate::snapped(scene, plane.patient_from_screen(pointer));
            if to != scene.crosshair_mm {
                events.push(ViewEvent::CrosshairMoved(to));
            }
        }
        (Hold::Brush(bank), Lens::Beam(_, plane)) => {
            if let Some(beam) = scene.bev_beam() {
                let from = pointer - response.drag_delta();
                let [from_mm, to_mm] = [from, pointer].map(|p| plane.device_mm(p));
                events.push(ViewEvent::LeavesBrushed {
                    beam: beam.index,
                    bank,
                    from_mm,
                    to_mm,
                });
            }
        }
        _ => {
            let held = Held::new(hold, scene, lens);
            events.extend(held.as_ref().and_then(|held| held.event(pointer)));
            let layout = ui.ctx().cumulative_pass_nr();
            ui.data_mut(|d| {
                d.insert_temp(response.id.with("held"), held.map(|held| (layout, held)))
            });
        }
    }
    if response.drag_stopped() {
        ui.data_mut(|d| d.insert_temp::<Option<Hold>>(id, None));
    }
    true
}

/// An object that follows the pointer, with all that makes an event of a place of the pointer.
#[derive(Clone, Debug)]
pub(crate) enum Held {
    Gantry {
        beam: BeamLayer,
        plane: ViewPlane,
    },
    Shape {
        structure: u32,
        shape: Shape,
        grip: Grip,
        lens: Lens,
    },
    Part {
        beam: BeamLayer,
        plane: BevPlane,
        part: AperturePart,
    },
}

impl Held {
    fn new(hold: Hold, scene: &Scene, lens: Lens) -> Option<Self> {
        match (hold, lens) {
            (Hold::Gantry(index), Lens::Plane(plane)) => {
                let beam = scene.beams.iter().find(|b| b.index == index)?.clone();
                Some(Self::Gantry { beam, plane })
            }
            (Hold::Shape(grip), _) => {
                let (structure, shape) = scene.shape?;
                Some(Self::Shape {
                    structure,
                    shape,
                    grip,
                    lens,
                })
            }
            (Hold::Part(part), Lens::Beam(_, plane)) => Some(Self::Part {
                beam: scene.bev_beam()?.clone(),
                plane,
                part,
            }),
            _ => None,
        }
    }

    /// The event of a place of the pointer; `None` where it moves nothing.
    pub fn event(&self, pointer: Pos2) -> Option<ViewEvent> {
        match self {
            Self::Gantry { beam, plane } => {
                let gantry_deg = beam::gantry_towards(beam, plane.patient_from_screen(pointer));
                (gantry_deg != beam.gantry_deg).then_some(ViewEvent::GantryDragged {
                    beam: beam.index,
                    gantry_deg,
                })
            }
            Self::Shape {
                structure,
                shape,
                grip,
                lens,
            } => {
                let dragged = shape::dragged(*lens, shape, *grip, pointer)
                    .filter(|dragged| dragged != shape)?;
                Some(ViewEvent::ShapeDragged {
                    structure: *structure,
                    shape: dragged,
                })
            }
            Self::Part { beam, plane, part } => {
                let to_mm = aperture::position_mm(beam, plane, *part, pointer);
                Some(ViewEvent::PartDragged {
                    beam: beam.index,
                    part: *part,
                    to_mm,
                })
            }
        }
    }
}

/// Whether an event moves an object that follows the pointer.
pub(crate) fn is_of_held(event: &ViewEvent) -> bool {
    matches!(
        event,
        ViewEvent::GantryDragged { .. }
            | ViewEvent::ShapeDragged { .. }
            | ViewEvent::PartDragged { .. }
    )
}

/// The object that the pointer drags in a view, told by this layout of it: a brush or a pan later drags nothing of an earlier drag.
pub(crate) fn held(ui: &Ui, response: &Response) -> Option<Held> {
    let held = ui.data(|d| d.get_temp::<Option<(u64, Held)>>(response.id.with("held")))?;
    let (layout, held) = held.filter(|_| response.dragged())?;
    (layout == ui.ctx().cumulative_pass_nr()).then_some(held)
}

/// The jaw or leaf that the pointer holds.
pub(crate) fn held_part(ui: &Ui, response: &Response) -> Option<AperturePart> {
    match ui
        .data(|d| d.get_temp::<Option<Hold>>(response.id.with("hold")))
        .flatten()
    {
        Some(Hold::Part(part)) if response.dragged() => Some(part),
        _ => None,
    }
}

/// Whether a drag in the beam's-eye view brushes leaves.
pub(crate) fn brushes(ui: &Ui, scene: &Scene) -> bool {
    scene.brush || ui.input(|i| i.modifiers.shift)
}

fn hold_at(ui: &Ui, kind: ViewKind, scene: &Scene, lens: Lens, pointer: Pos2) -> Option<Hold> {
    let shape = scene
        .shape
        .and_then(|(_, s)| shape::grip_at(lens, &s, pointer))
        .map(Hold::Shape);
    let plane = &match lens {
        Lens::Plane(plane) => plane,
        Lens::Beam(_, plane) => {
            let beam = scene.bev_beam()?;
            return match brushes(ui, scene) {
                true => aperture::bank_at(beam, &plane, pointer)
                    .map(Hold::Brush)
                    .or(shape),
                false => shape.or_else(|| aperture::part_at(beam, &plane, pointer).map(Hold::Part)),
            };
        }
    };
    if let Some(index) = beam::handle_at(scene, plane, kind, pointer) {
        return Some(Hold::Gantry(index));
    }
    if shape.is_some() {
        return shape;
    }
    let crosshair = plane.screen_from_patient(scene.crosshair_mm);
    (crosshair.distance(pointer) <= CROSSHAIR_REACH).then_some(Hold::Crosshair)
}
