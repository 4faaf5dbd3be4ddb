//! Rulers, dose points and the profile line on a plane: drawn, and drawn anew or moved by the pointer.

use crate::feature::measure::state::{Measured, ReadDose, Tool};
use crate::kit::theme;
use crate::view::overlay::{Anchor, text};
use crate::view::{Scene, ViewEvent, ViewPlane};
use case::DoseStatus;
use egui::{Color32, CursorIcon, Painter, PointerButton, Pos2, Response, Stroke, Ui, vec2};

const RULER: Color32 = Color32::from_rgb(255, 226, 110);
const POINT: Color32 = Color32::from_rgb(255, 150, 210);
const PROFILE: Color32 = Color32::from_rgb(120, 235, 215);
/// Distance within which an end is grabbed, points.
const REACH: f32 = 7.0;
/// Distance from the plane within which an object lies on it, mm.
const ON_PLANE_MM: f64 = 1.0;

/// Draws with the tool in hand, or moves the end of an object. Returns `true` if it has the pointer's drag.
pub(crate) fn respond(
    ui: &Ui,
    response: &Response,
    scene: &Scene,
    plane: &ViewPlane,
    events: &mut Vec<ViewEvent>,
) -> bool {
    let measures = &scene.measures;
    let id = response.id.with("measure");
    let over = response.hover_pos();
    if over.is_some() && measures.tool.is_some() {
        ui.set_cursor_icon(CursorIcon::Crosshair);
    } else if over.is_some_and(|pos| end_at(scene, plane, pos).is_some()) {
        ui.set_cursor_icon(CursorIcon::Grab);
    }
    if measures.tool == Some(Tool::DosePoint)
        && response.clicked_by(PointerButton::Primary)
        && let Some(pos) = response
            .interact_pointer_pos()
            .filter(|pos| end_at(scene, plane, *pos).is_none())
    {
        let point = Measured::Point(plane.patient_from_screen(pos));
        events.push(ViewEvent::Measured(measures.free_number(), point));
        return true;
    }
    if response.drag_started_by(PointerButton::Primary) {
        let from = ui.input(|i| i.pointer.press_origin());
        let hold = from.and_then(|from| {
            let begin = plane.patient_from_screen(from);
            let number = measures.free_number();
            end_at(scene, plane, from).or_else(|| match measures.tool? {
                Tool::Ruler => Some((number, Measured::Ruler([begin; 2]), 1)),
                Tool::Profile => Some((number, Measured::Profile([begin; 2]), 1)),
                Tool::DosePoint => None,
            })
        });
        ui.data_mut(|d| d.insert_temp::<Option<Hold>>(id, hold));
    }
    if !response.dragged() && !response.drag_stopped() {
        return false;
    }
    let Some((number, item, end)) = ui.data(|d| d.get_temp::<Option<Hold>>(id)).flatten() else {
        return false;
    };
    if let Some(pointer_pos) = response.interact_pointer_pos() {
        let pos = pointer_pos.clamp(plane.rect.min, plane.rect.max);
        events.push(ViewEvent::Measured(
            number,
            item.with_end(end, plane.patient_from_screen(pos)),
        ));
    }
    if response.drag_stopped() {
        ui.data_mut(|d| d.insert_temp::<Option<Hold>>(id, None));
        events.push(ViewEvent::MeasureReleased);
    }
    true
}

/// An object with its number, and the end that the drag moves.
type Hold = (u32, Measured, usize);

fn end_at(scene: &Scene, plane: &ViewPlane, pos: Pos2) -> Option<Hold> {
    let on_plane = scene
        .measures
        .items
        .iter()
        .filter(|(_, item)| lies_on(item, plane));
    on_plane.rev().find_map(|(number, item)| {
        let end = item
            .ends_mm()
            .iter()
            .position(|mm| plane.screen_from_patient(*mm).distance(pos) <= REACH)?;
        Some((*number, *item, end))
    })
}

fn lies_on(item: &Measured, plane: &ViewPlane) -> bool {
    item.ends_mm()
        .iter()
        .all(|mm| plane.depth_mm(*mm).abs() <= ON_PLANE_MM)
}

/// The words beside a dose point, and the worst status of the doses they are read from: `P3  A 1.90  B 2.02 Gy (stale)`.
fn reading(number: u32, at_mm: glam::DVec3, doses: &[ReadDose]) -> (String, Option<DoseStatus>) {
    let status = doses.iter().map(|read| read.dose.status).max();
    let values = doses.iter().map(|read| {
        let gy = read
            .gy_at(at_mm)
            .map_or("none".to_owned(), |gy| format!("{gy:.2}"));
        if read.side.is_empty() {
            format!("  {gy}")
        } else {
            format!("  {} {gy}", read.side)
        }
    });
    let values: String = values.collect();
    let mut label = if doses.is_empty() {
        format!("P{number}")
    } else {
        format!("P{number}{values} Gy")
    };
    if let Some(status) = status.filter(|status| theme::is_doubtful(*status)) {
        label.push_str(&format!(" ({status})"));
    }
    (label, status)
}

/// Draws the objects that lie on the plane, with readings of the displayed doses.
pub(crate) fn draw(painter: &Painter, plane: &ViewPlane, scene: &Scene, doses: &[ReadDose]) {
    for (number, item) in scene
        .measures
        .items
        .iter()
        .filter(|(_, item)| lies_on(item, plane))
    {
        let ends: Vec<Pos2> = item
            .ends_mm()
            .iter()
            .map(|mm| plane.screen_from_patient(*mm))
            .collect();
        match (item, ends.as_slice()) {
            (Measured::Ruler(_), [a, b]) => {
                line(painter, [*a, *b], RULER);
                let label = format!("{:.1} mm", item.length_mm());
                text(
                    painter,
                    a.lerp(*b, 0.5) - vec2(0.0, 11.0),
                    Anchor::Middle,
                    &label,
                    12.0,
                    RULER,
                );
            }
            (Measured::Profile(_), [a, b]) => {
                line(painter, [*a, *b], PROFILE);
                text(
                    painter,
                    *a - vec2(0.0, 12.0),
                    Anchor::Middle,
                    "0",
                    11.0,
                    PROFILE,
                );
                let label = format!("{:.0} mm", item.length_mm());
                text(
                    painter,
                    *b - vec2(0.0, 12.0),
                    Anchor::Middle,
                    &label,
                    11.0,
                    PROFILE,
                );
            }
            (Measured::Point(mm), [pos]) => {
                painter.circle_stroke(*pos, 4.5, Stroke::new(3.0, Color32::from_black_alpha(150)));
                painter.circle_stroke(*pos, 4.5, Stroke::new(1.5, POINT));
                painter.circle_filled(*pos, 1.2, POINT);
                let (label, status) = reading(*number, *mm, doses);
                let colour = status.map_or(POINT, |status| theme::IMAGE.doubtful(status, POINT));
                text(
                    painter,
                    *pos + vec2(10.0, 0.0),
                    Anchor::Left,
                    &label,
                    11.0,
                    colour,
                );
            }
            _ => {}
        }
    }
}

fn line(painter: &Painter, ends: [Pos2; 2], colour: Color32) {
    for stroke in [
        Stroke::new(3.5, Color32::from_black_alpha(140)),
        Stroke::new(1.5, colour),
    ] {
        painter.line_segment(ends, stroke);
        let along = (ends[1] - ends[0]).normalized();
        for end in ends {
            let tick = along.rot90() * 5.0;
            painter.line_segment([end - tick, end + tick], stroke);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::Dose;
    use geometry::{Grid, Volume};
    use glam::DVec3;
    use std::sync::Arc;

    /// Doses of 0 to 4 Gy along x, a voxel each.
    fn ramp(side: &'static str, status: DoseStatus) -> ReadDose {
        let grid = Grid::axis_aligned(DVec3::ZERO, DVec3::ONE, [5, 1, 1]).expect("a grid");
        let gy = Arc::new(Volume::new(Arc::new(grid), vec![0.0, 1.0, 2.0, 3.0, 4.0]));
        ReadDose {
            side,
            dose: Arc::new(Dose {
                gy,
                status,
                label: String::new(),
                frame_of_reference_uid: String::new(),
                receipt: None,
                caveats: Vec::new(),
                remarks: Vec::new(),
                part: None,
            }),
        }
    }

    #[test]
    fn a_reading_says_what_its_dose_is_worth() {
        let mm = DVec3::new(1.5, 0.0, 0.0);
        assert_eq!(
            reading(3, mm, &[ramp("", DoseStatus::Final)]).0,
            "P3  1.50 Gy"
        );
        assert_eq!(
            reading(3, mm, &[ramp("", DoseStatus::Stale)]).0,
            "P3  1.50 Gy (stale)"
        );
        assert_eq!(
            reading(3, mm, &[ramp("", DoseStatus::Failed)]).0,
            "P3  none Gy (failed)"
        );
        assert_eq!(
            reading(3, 9.0 * mm, &[ramp("", DoseStatus::Final)]).0,
            "P3  none Gy"
        );
        let both = [ramp("A", DoseStatus::Final), ramp("B", DoseStatus::Preview)];
        assert_eq!(reading(3, mm, &both).0, "P3  A 1.50  B 1.50 Gy (preview)");
        assert_eq!(reading(3, mm, &[]).0, "P3");
    }
}
