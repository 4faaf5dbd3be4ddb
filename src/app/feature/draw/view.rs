//! Drawing of contours in a slice view: the brush at the pointer, outlines corner by corner.

use crate::feature::draw::command::DrawAction;
use crate::feature::draw::state::{Outline, Tool};
use crate::kit::theme;
use crate::state::ViewKind;
use crate::view::overlay::{Anchor, SMALL, on_image};
use crate::view::{Scene, ViewEvent, ViewPlane, overlay};
use case::Rgb;
use egui::{
    Color32, CursorIcon, Event, Painter, PointerButton, Pos2, Response, Shape, Stroke, Ui, pos2,
    vec2,
};
use geometry::Grid;
use glam::DVec3;

/// Change of the diameter by a notch of the wheel or a key.
pub const DIAMETER_STEP: f64 = 1.1;

/// Distance from the first corner within which a click closes a polygon, points.
const CLOSE_REACH: f32 = 8.0;

/// Least distance between two points of a freehand line, points.
const FREEHAND_STEP: f32 = 1.5;

/// The tool for the views.
#[derive(Clone, Debug)]
pub struct DrawingLayer {
    pub tool: Tool,
    pub erase: bool,
    pub diameter_mm: f64,
    /// The structure that is drawn.
    pub name: String,
    pub number: u32,
    pub colour: Rgb,
    pub outline: Option<Outline>,
    /// Position of the pointer in any view, patient LPS, mm.
    pub pointer_mm: Option<DVec3>,
}

/// Draws with the tool; returns `true` if it has the left button, so that the view and its handles do not move.
pub(crate) fn respond(
    ui: &Ui,
    response: &Response,
    kind: ViewKind,
    scene: &Scene,
    plane: &ViewPlane,
    events: &mut Vec<ViewEvent>,
) -> bool {
    let Some(layer) = &scene.drawing else {
        return false;
    };
    let mut actions = Vec::new();
    actions.extend(diameter_by_wheel(ui, response, layer).map(DrawAction::Diameter));
    let modifiers = ui.input(|i| i.modifiers);
    // A key held turns the tool round, so that a slip is mended without a way to the panel.
    let erase = layer.erase ^ (modifiers.shift || modifiers.command || modifiers.ctrl);
    let id = response.id.with("stroke");
    let last: Option<DVec3> = ui.data(|d| d.get_temp(id)).flatten();
    let holding = response.is_pointer_button_down_on() && ui.input(|i| i.pointer.primary_down());
    let pointer = response.interact_pointer_pos();
    let at_mm = pointer.map(|pointer| plane.patient_from_screen(pointer));
    match layer.tool {
        Tool::Brush | Tool::Sphere => {
            let clicked = response.clicked() && last.is_none();
            if let Some(to_mm) =
                at_mm.filter(|to| holding || clicked || last.is_some_and(|l| l != *to))
            {
                let begins = last.is_none();
                let from_mm = last.unwrap_or(to_mm);
                if begins || from_mm != to_mm {
                    actions.push(DrawAction::Brush {
                        view: kind,
                        from_mm,
                        to_mm,
                        begins,
                        erase,
                    });
                }
            }
        }
        Tool::Freehand => {
            if let Some(pointer) = pointer.filter(|_| holding || last.is_some()) {
                let points = freehand_points(ui, plane, last, pointer);
                for (n, point) in points.into_iter().enumerate() {
                    let at_mm = plane.patient_from_screen(point);
                    actions.push(DrawAction::Corner {
                        view: kind,
                        at_mm,
                        begins: last.is_none() && n == 0,
                    });
                }
                if !holding {
                    actions.push(DrawAction::Close { erase });
                }
            }
        }
        Tool::Polygon => {
            let outline = layer.outline.as_ref().filter(|o| o.view == kind);
            let first = outline
                .and_then(|o| o.points_mm.first())
                .map(|p| plane.screen_from_patient(*p));
            let is_polygon = outline.is_some_and(|o| o.points_mm.len() > 2);
            let is_at_first = pointer.zip(first).is_some_and(|(pointer, first)| {
                is_polygon && first.distance(pointer) <= CLOSE_REACH
            });
            if response.double_clicked() || (response.clicked() && is_at_first) {
                actions.push(DrawAction::Close { erase });
            } else if let Some(at_mm) = at_mm.filter(|_| response.clicked()) {
                actions.push(DrawAction::Corner {
                    view: kind,
                    at_mm,
                    begins: false,
                });
            }
        }
    }
    events.extend(actions.into_iter().map(ViewEvent::Draw));
    // The next frame draws on from here; without a held button the stroke ends.
    let stroke_end = at_mm.filter(|_| holding);
    if stroke_end != last {
        ui.data_mut(|d| d.insert_temp(id, stroke_end));
    }
    if response.contains_pointer() || holding {
        let inside = scene.ct.is_some() && pointer_inside(response, scene, plane);
        ui.set_cursor_icon(if inside {
            CursorIcon::Crosshair
        } else {
            CursorIcon::NotAllowed
        });
    }
    // The middle button still moves the image.
    !response.dragged_by(PointerButton::Middle)
}

fn pointer_inside(response: &Response, scene: &Scene, plane: &ViewPlane) -> bool {
    let pointer = response
        .hover_pos()
        .or_else(|| response.interact_pointer_pos());
    let grid = scene.ct.as_ref().map(|ct| ct.grid());
    pointer
        .zip(grid)
        .is_none_or(|(pointer, grid)| grid.contains(plane.patient_from_screen(pointer)))
}

/// Points of the pointer's path in this frame, those too near each other left out.
fn freehand_points(ui: &Ui, plane: &ViewPlane, last_mm: Option<DVec3>, pointer: Pos2) -> Vec<Pos2> {
    let mut last = last_mm.map(|p| plane.screen_from_patient(p));
    let moved = ui.input(|i| {
        let moved = i.events.iter().filter_map(|e| match e {
            Event::PointerMoved(to) => Some(*to),
            _ => None,
        });
        moved
            .filter(|_| last.is_some())
            .chain([pointer])
            .collect::<Vec<Pos2>>()
    });
    let mut points = Vec::new();
    for point in moved {
        if last.is_none_or(|last| last.distance(point) >= FREEHAND_STEP) {
            points.push(point);
            last = Some(point);
        }
    }
    points
}

/// The diameter after shift and the wheel, which then do not page.
fn diameter_by_wheel(ui: &Ui, response: &Response, layer: &DrawingLayer) -> Option<f64> {
    if !layer.tool.is_round() || !response.hovered() {
        return None;
    }
    let mut notches = 0.0;
    ui.input_mut(|i| {
        i.events.retain(|event| match event {
            Event::MouseWheel {
                delta, modifiers, ..
            } if modifiers.shift && !modifiers.ctrl => {
                // Some desktops turn the wheel sideways while shift is held.
                notches += (delta.x + delta.y).signum();
                false
            }
            _ => true,
        });
    });
    (notches != 0.0).then(|| stepped(layer.diameter_mm, notches.into()))
}

/// The diameter after some steps, in halves of a millimetre.
pub fn stepped(diameter_mm: f64, steps: f64) -> f64 {
    let next = diameter_mm * DIAMETER_STEP.powf(steps);
    let rounded = (2.0 * next).round() / 2.0;
    // A tenth of a small diameter rounds to nothing: a step changes it by half a millimetre at least.
    if (rounded - diameter_mm).abs() < 0.25 {
        diameter_mm + 0.5 * steps.signum()
    } else {
        rounded
    }
}

/// Draws the brush at its true size, the outline, and the tool's name.
pub(crate) fn paint(
    painter: &Painter,
    response: &Response,
    plane: &ViewPlane,
    kind: ViewKind,
    scene: &Scene,
) {
    let Some(layer) = &scene.drawing else { return };
    let colour = on_image(layer.colour);
    tool_name(painter, plane, layer, colour);
    let hover = response
        .hover_pos()
        .or_else(|| response.interact_pointer_pos());
    let hover_mm = hover.map(|pointer| plane.patient_from_screen(pointer));
    let pointer_mm = hover_mm.or(layer.pointer_mm.filter(|_| layer.tool == Tool::Sphere));
    if let (true, Some(mm)) = (layer.tool.is_round(), pointer_mm) {
        let radius_mm = 0.5 * layer.diameter_mm;
        let depth_mm = if hover_mm.is_some() {
            0.0
        } else {
            plane.depth_mm(mm)
        };
        let section_mm = (radius_mm * radius_mm - depth_mm * depth_mm)
            .max(0.0)
            .sqrt();
        let radius = (section_mm / plane.mm_per_point) as f32;
        let centre = plane.screen_from_patient(mm);
        painter.circle_stroke(
            centre,
            radius,
            Stroke::new(3.0, Color32::from_black_alpha(120)),
        );
        painter.circle(
            centre,
            radius,
            colour.gamma_multiply(0.08),
            Stroke::new(1.2, colour),
        );
    }
    if let Some(outline) = layer.outline.as_ref().filter(|o| o.view == kind) {
        let next = hover.filter(|_| layer.tool == Tool::Polygon);
        outline_line(painter, plane, outline, next, colour);
    }
    if let (Some(pointer), Some(grid)) = (hover, scene.ct.as_ref().map(|ct| ct.grid()))
        && let Some(why) = refusal(grid, plane, kind, layer.tool, pointer)
    {
        overlay::text(
            painter,
            pointer + vec2(14.0, -14.0),
            Anchor::Left,
            why,
            SMALL,
            theme::IMAGE.warning,
        );
    }
}

/// Why a stroke at a point of the screen would draw nothing.
fn refusal(
    grid: &Grid,
    plane: &ViewPlane,
    kind: ViewKind,
    tool: Tool,
    pointer: Pos2,
) -> Option<&'static str> {
    if !grid.contains(plane.patient_from_screen(pointer)) {
        return Some("outside the CT");
    }
    let normal = DVec3::AXES[kind.normal_axis()];
    let parallel = grid
        .axes()
        .iter()
        .any(|axis| axis.dot(normal).abs() > 0.999_99);
    (tool != Tool::Sphere && !parallel).then_some("oblique to the CT: use the sphere brush")
}

fn outline_line(
    painter: &Painter,
    plane: &ViewPlane,
    outline: &Outline,
    next: Option<Pos2>,
    colour: Color32,
) {
    let corners: Vec<Pos2> = outline
        .points_mm
        .iter()
        .map(|p| plane.screen_from_patient(*p))
        .collect();
    let line: Vec<Pos2> = corners.iter().copied().chain(next).collect();
    painter.add(Shape::line(line, Stroke::new(1.6, colour)));
    if let Some((from, first)) = next.zip(corners.first()) {
        painter.extend(Shape::dashed_line(
            &[from, *first],
            Stroke::new(1.0, colour),
            4.0,
            4.0,
        ));
        corners.iter().for_each(|c| {
            painter.circle_filled(*c, 2.5, colour);
        });
        painter.circle_stroke(*first, 5.0, Stroke::new(1.2, colour));
    }
}

/// The tool and the structure, under the title's line on a dark plate.
fn tool_name(painter: &Painter, plane: &ViewPlane, layer: &DrawingLayer, colour: Color32) {
    let what = if layer.erase { "Erase: " } else { "" };
    let size = if layer.tool.is_round() {
        format!(" {:.1} mm", layer.diameter_mm)
    } else {
        String::new()
    };
    let words = format!("{what}{}{size}, {}", layer.tool.name(), layer.name);
    let font = egui::FontId::proportional(SMALL);
    let galley = painter.layout_no_wrap(words, font, colour);
    let middle = pos2(plane.rect.center().x, plane.rect.top() + 34.0);
    let rect = egui::Align2::CENTER_CENTER.anchor_size(middle, galley.size());
    painter.rect_filled(
        rect.expand2(vec2(5.0, 2.0)),
        3.0,
        Color32::from_black_alpha(165),
    );
    painter.galley(rect.min, galley, colour);
}

#[cfg(test)]
mod tests {
    use super::stepped;

    #[test]
    fn a_diameter_steps_by_halves_of_a_millimetre_and_back() {
        assert_eq!(stepped(20.0, 1.0), 22.0);
        assert_eq!(stepped(22.0, -1.0), 20.0);
        assert_eq!(stepped(2.0, 1.0), 2.5);
        assert_eq!(stepped(2.0, -1.0), 1.5);
    }
}
