//! The gantry as a dial, seen from the foot of the couch: 0 up, 90 to the right (IEC 61217 as one faces the gantry).

use crate::kit::{Pointer, theme};
use egui::{
    Align2, EventFilter, FontId, Key, Modifiers, Rect, Response, Sense, Stroke, Ui, Vec2,
    WidgetInfo, vec2,
};
use geometry::wrapped_deg;

/// Step of an arrow key, degrees; below, with shift.
const STEP_DEG: f64 = 1.0;
const BIG_STEP_DEG: f64 = 10.0;

/// A dial that is dragged (whole degrees; with shift, tens) or turned with the arrow keys. `changed()` of the response
/// is true if `deg` is new.
pub fn dial(ui: &mut Ui, name: &str, deg: &mut f64, diameter: f32, enabled: bool) -> Response {
    // A drag begins with the press: where that may also be a click, the dial stands still for its first degrees.
    let sense = if enabled {
        Sense::drag()
    } else {
        Sense::hover()
    };
    let (rect, mut response) = ui.allocate_exact_size(vec2(diameter, diameter), sense);
    let previous_deg = *deg;
    if enabled {
        if response.drag_started() {
            response.request_focus();
        }
        let pointed_deg =
            Pointer::dragging(&response).and_then(|pointer| towards_deg(rect, pointer));
        *deg = pointed_deg.unwrap_or(*deg);
        if response.has_focus() {
            let filter = EventFilter {
                horizontal_arrows: true,
                vertical_arrows: true,
                ..EventFilter::default()
            };
            ui.memory_mut(|m| m.set_focus_lock_filter(response.id, filter));
            *deg = wrapped_deg(*deg + arrow_steps(ui));
        }
    }
    if *deg != previous_deg {
        response.mark_changed();
    }
    let value = *deg;
    response.widget_info(|| WidgetInfo::slider(enabled, value, name));
    paint(ui, &response, rect, *deg, enabled);
    response
}

/// The angle of a dial towards the pointer, degrees; `None` close to the middle.
pub fn towards_deg(dial: Rect, pointer: Pointer) -> Option<f64> {
    let from = pointer.at - dial.center();
    let angle_deg = f64::from(from.x).atan2(f64::from(-from.y)).to_degrees();
    let step_deg = if pointer.shift {
        BIG_STEP_DEG
    } else {
        STEP_DEG
    };
    (from.length() > 4.0).then(|| wrapped_deg((angle_deg / step_deg).round() * step_deg))
}

/// Turn by the arrow keys of this frame, degrees; the keys are consumed.
pub fn arrow_steps(ui: &mut Ui) -> f64 {
    ui.input_mut(|i| {
        let mut turn = 0.0;
        for (modifiers, step) in [
            (Modifiers::SHIFT, BIG_STEP_DEG),
            (Modifiers::NONE, STEP_DEG),
        ] {
            for (key, sign) in [
                (Key::ArrowRight, 1.0),
                (Key::ArrowUp, 1.0),
                (Key::ArrowLeft, -1.0),
                (Key::ArrowDown, -1.0),
            ] {
                turn += sign * step * i.count_and_consume_key(modifiers, key) as f64;
            }
        }
        turn
    })
}

/// Unit vector on the screen towards an angle of the dial.
fn toward(deg: f64) -> Vec2 {
    let (s, c) = deg.to_radians().sin_cos();
    vec2(s as f32, -c as f32)
}

fn paint(ui: &Ui, response: &Response, rect: Rect, deg: f64, enabled: bool) {
    let painter = ui.painter();
    let centre = rect.center();
    let radius = 0.5 * rect.width() - 12.0;
    let edge = if response.has_focus() {
        theme::palette(ui).accent
    } else {
        theme::palette(ui).line
    };
    painter.circle(
        centre,
        radius,
        theme::palette(ui).field,
        Stroke::new(if response.has_focus() { 1.5 } else { 1.0 }, edge),
    );
    for tick in 0..36 {
        let angle = f64::from(tick) * 10.0;
        let long = tick % 9 == 0;
        let inner = radius
            - if long {
                7.0
            } else if tick % 3 == 0 {
                5.0
            } else {
                3.0
            };
        let stroke = Stroke::new(
            1.0,
            if long {
                theme::palette(ui).weak
            } else {
                theme::palette(ui).line
            },
        );
        painter.line_segment(
            [
                centre + toward(angle) * inner,
                centre + toward(angle) * (radius - 1.0),
            ],
            stroke,
        );
        if long {
            let font = FontId::proportional(9.0);
            let label_pos = centre + toward(angle) * (radius + 7.0);
            painter.text(
                label_pos,
                Align2::CENTER_CENTER,
                format!("{angle:.0}"),
                font,
                theme::palette(ui).weak,
            );
        }
    }
    let colour = if enabled {
        theme::palette(ui).accent
    } else {
        theme::palette(ui).weak
    };
    // The beam: from the head on the rim through the isocentre.
    let head = centre + toward(deg) * (radius - 2.0);
    let across = toward(deg + 90.0);
    painter.line_segment(
        [head, centre - toward(deg) * (0.45 * radius)],
        Stroke::new(1.5, colour),
    );
    let (a, b) = (head + across * 6.0, head - across * 6.0);
    let (c, d) = (
        head - toward(deg) * 8.0 - across * 4.0,
        head - toward(deg) * 8.0 + across * 4.0,
    );
    painter.add(egui::Shape::convex_polygon(
        vec![a, b, c, d],
        colour,
        Stroke::NONE,
    ));
    painter.circle_filled(centre, 2.5, colour);
    if response.hovered() && enabled {
        ui.ctx().set_cursor_icon(egui::CursorIcon::Grab);
    }
}
