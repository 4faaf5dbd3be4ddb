//! A colour that is chosen by dragging over a field of hues and shades.

use crate::kit::theme;
use crate::state::roi::NEW_COLOURS;
use egui::ecolor::Hsva;
use egui::{
    Color32, Mesh, Pos2, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, lerp,
    vec2,
};

const BUTTON: egui::Vec2 = vec2(30.0, 18.0);
const FIELD: egui::Vec2 = vec2(208.0, 112.0);
/// Quads across and down: between their corners the colours are mixed.
const QUADS: [usize; 2] = [36, 12];

/// A swatch that opens the field. `changed()` of the response is true if `rgb` is new.
pub fn colour_button(ui: &mut Ui, name: &str, rgb: &mut [u8; 3]) -> Response {
    let (rect, mut response) = ui.allocate_exact_size(BUTTON, Sense::click());
    response.widget_info(|| WidgetInfo::labeled(Role::ColorWell, true, name));
    let [r, g, b] = *rgb;
    let edge = if response.hovered() || response.has_focus() {
        theme::palette(ui).text
    } else {
        theme::palette(ui).line
    };
    ui.painter().rect(
        rect,
        3.0,
        Color32::from_rgb(r, g, b),
        Stroke::new(1.0, edge),
        StrokeKind::Inside,
    );
    let previous = *rgb;
    egui::Popup::menu(&response)
        .close_behavior(egui::PopupCloseBehavior::CloseOnClickOutside)
        .show(|ui| {
            swatches(ui, name, rgb);
            field(ui, name, rgb);
        });
    if *rgb != previous {
        response.mark_changed();
    }
    response
}

/// Colours that contrast with images, a click each.
fn swatches(ui: &mut Ui, name: &str, rgb: &mut [u8; 3]) {
    ui.horizontal(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (n, colour) in NEW_COLOURS.into_iter().enumerate() {
            let (rect, response) = ui.allocate_exact_size(vec2(22.0, 18.0), Sense::click());
            response.widget_info(|| {
                WidgetInfo::labeled(Role::Button, true, format!("{name} {}", n + 1))
            });
            ui.painter().rect_filled(rect, 3.0, theme::colour(colour));
            if response.clicked() {
                *rgb = colour.0;
            }
        }
    });
}

/// The colour at a position of the field, both 0 to 1: hue across; from pale at the top over full to dark at the
/// bottom.
fn colour_at(x: f32, y: f32) -> Color32 {
    let (saturation, value) = if y < 0.5 {
        (lerp(0.15..=1.0, 2.0 * y), 1.0)
    } else {
        (1.0, lerp(1.0..=0.25, 2.0 * y - 1.0))
    };
    Hsva::new(x.clamp(0.0, 1.0), saturation, value, 1.0).into()
}

fn field(ui: &mut Ui, name: &str, rgb: &mut [u8; 3]) {
    let (rect, response) = ui.allocate_exact_size(FIELD, Sense::drag());
    response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("{name} field")));
    let mut mesh = Mesh::default();
    let [nx, ny] = QUADS;
    for j in 0..=ny {
        for i in 0..=nx {
            let (x, y) = (i as f32 / nx as f32, j as f32 / ny as f32);
            mesh.colored_vertex(rect.lerp_inside(vec2(x, y)), colour_at(x, y));
        }
    }
    for j in 0..ny {
        for i in 0..nx {
            let a = (j * (nx + 1) + i) as u32;
            let below = a + nx as u32 + 1;
            mesh.add_triangle(a, a + 1, below);
            mesh.add_triangle(a + 1, below + 1, below);
        }
    }
    ui.painter().add(mesh);
    if let (true, Some(pointer)) = (response.dragged(), response.interact_pointer_pos()) {
        let colour = picked(rect, pointer);
        *rgb = [colour.r(), colour.g(), colour.b()];
        let mark = pointer.clamp(rect.min, rect.max);
        ui.painter()
            .circle_stroke(mark, 5.0, Stroke::new(2.5, Color32::from_black_alpha(160)));
        ui.painter()
            .circle_stroke(mark, 5.0, Stroke::new(1.2, Color32::WHITE));
    }
}

fn picked(rect: Rect, point: Pos2) -> Color32 {
    let point = point.clamp(rect.min, rect.max);
    colour_at(
        (point.x - rect.min.x) / rect.width(),
        (point.y - rect.min.y) / rect.height(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use egui::pos2;

    const RECT: Rect = Rect {
        min: pos2(10.0, 20.0),
        max: pos2(10.0 + FIELD.x, 20.0 + FIELD.y),
    };

    /// The colour picked at a position of the field, both 0 to 1.
    fn picked_at(x: f32, y: f32) -> Color32 {
        picked(RECT, RECT.lerp_inside(vec2(x, y)))
    }

    #[test]
    fn hues_run_across_and_shades_down() {
        for (x, [r, g, b]) in [
            (0.0, [255, 0, 0]),
            (1.0 / 3.0, [0, 255, 0]),
            (2.0 / 3.0, [0, 0, 255]),
        ] {
            assert_eq!(picked_at(x, 0.5), Color32::from_rgb(r, g, b));
        }
        let [pale, full, dark] = [0.0, 0.5, 1.0].map(|y| {
            let colour = picked_at(0.1, y);
            u32::from(colour.r()) + u32::from(colour.g()) + u32::from(colour.b())
        });
        assert!(pale > full && full > dark);
        // Beyond the rim the colour of the rim is used.
        assert_eq!(picked(RECT, pos2(-500.0, 900.0)), picked_at(0.0, 1.0));
    }
}
