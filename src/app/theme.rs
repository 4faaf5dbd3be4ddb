//! The look: dark and calm, for a dim room and a whole day's work.

use crate::case::DoseStatus;
use egui::{Color32, CornerRadius, FontFamily, FontId, Margin, Stroke, TextStyle, Visuals, vec2};

/// Background of the window, and between the views.
pub const GROUND: Color32 = Color32::from_rgb(16, 18, 21);
/// Side panels and bars.
pub const PANEL: Color32 = Color32::from_rgb(27, 30, 34);
/// Input fields.
pub const FIELD: Color32 = Color32::from_rgb(19, 21, 24);
/// Rows under the pointer, headers.
pub const RAISED: Color32 = Color32::from_rgb(38, 42, 48);
/// Hairlines.
pub const LINE: Color32 = Color32::from_rgb(50, 55, 62);
/// Main text.
pub const TEXT: Color32 = Color32::from_rgb(222, 226, 230);
/// Captions and units.
pub const WEAK: Color32 = Color32::from_rgb(150, 158, 168);
/// Selection and focus.
pub const ACCENT: Color32 = Color32::from_rgb(79, 157, 232);
/// Warnings.
pub const WARNING: Color32 = Color32::from_rgb(240, 180, 64);
/// Errors.
pub const ERROR: Color32 = Color32::from_rgb(245, 108, 100);
/// Success.
pub const GOOD: Color32 = Color32::from_rgb(104, 200, 130);

/// Applies the style to the context.
pub fn apply(ctx: &egui::Context) {
    ctx.set_theme(egui::Theme::Dark);
    ctx.all_styles_mut(|style| {
        style.text_styles = [
            (TextStyle::Heading, FontId::new(15.0, FontFamily::Proportional)),
            (TextStyle::Body, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Button, FontId::new(13.0, FontFamily::Proportional)),
            (TextStyle::Small, FontId::new(11.0, FontFamily::Proportional)),
            (TextStyle::Monospace, FontId::new(12.0, FontFamily::Monospace)),
        ]
        .into();
        style.spacing.item_spacing = vec2(6.0, 5.0);
        style.spacing.button_padding = vec2(7.0, 3.0);
        style.spacing.interact_size = vec2(36.0, 22.0);
        style.spacing.window_margin = Margin::same(12);
        style.spacing.indent = 14.0;
        style.spacing.scroll.floating = true;
        // No animations, and no needless repaints.
        style.animation_time = 0.0;
        style.interaction.tooltip_delay = 0.4;
        style.visuals = visuals();
    });
}

fn visuals() -> Visuals {
    let mut v = Visuals::dark();
    v.panel_fill = PANEL;
    v.window_fill = PANEL;
    v.window_stroke = Stroke::new(1.0, LINE);
    v.extreme_bg_color = FIELD;
    v.faint_bg_color = Color32::from_rgb(31, 34, 39);
    v.text_edit_bg_color = Some(FIELD);
    v.override_text_color = None;
    v.weak_text_color = Some(WEAK);
    v.warn_fg_color = WARNING;
    v.error_fg_color = ERROR;
    v.hyperlink_color = ACCENT;
    v.selection.bg_fill = Color32::from_rgb(38, 79, 120);
    v.selection.stroke = Stroke::new(1.0, Color32::WHITE);
    v.window_corner_radius = CornerRadius::same(6);
    v.menu_corner_radius = CornerRadius::same(4);
    let round = CornerRadius::same(4);
    for w in [
        &mut v.widgets.noninteractive,
        &mut v.widgets.inactive,
        &mut v.widgets.hovered,
        &mut v.widgets.active,
        &mut v.widgets.open,
    ] {
        w.corner_radius = round;
        w.expansion = 0.0;
        w.fg_stroke = Stroke::new(1.0, TEXT);
    }
    v.widgets.noninteractive.bg_stroke = Stroke::new(1.0, LINE);
    v.widgets.noninteractive.bg_fill = PANEL;
    v.widgets.inactive.bg_fill = RAISED;
    v.widgets.inactive.weak_bg_fill = RAISED;
    v.widgets.inactive.bg_stroke = Stroke::new(1.0, Color32::from_rgb(56, 62, 70));
    let hovered = Color32::from_rgb(50, 56, 64);
    v.widgets.hovered.bg_fill = hovered;
    v.widgets.hovered.weak_bg_fill = hovered;
    v.widgets.hovered.bg_stroke = Stroke::new(1.0, Color32::from_rgb(90, 100, 112));
    v.widgets.active.bg_fill = Color32::from_rgb(38, 79, 120);
    v.widgets.active.weak_bg_fill = Color32::from_rgb(38, 79, 120);
    v.widgets.active.bg_stroke = Stroke::new(1.0, ACCENT);
    v.widgets.open.bg_fill = RAISED;
    v.widgets.open.weak_bg_fill = RAISED;
    v
}

/// A side panel's frame.
pub fn panel_frame() -> egui::Frame {
    egui::Frame::new().fill(PANEL).inner_margin(Margin::symmetric(8, 6))
}

/// A bar's frame (toolbar, status line).
pub fn bar_frame() -> egui::Frame {
    egui::Frame::new().fill(PANEL).inner_margin(Margin::symmetric(8, 4))
}

/// A colour of the case as a screen colour.
pub fn colour(rgb: crate::case::Rgb) -> Color32 {
    let [r, g, b] = rgb.0;
    Color32::from_rgb(r, g, b)
}

/// Colour of a dose status; the word is always written beside it.
pub fn status_colour(status: DoseStatus) -> Color32 {
    match status {
        DoseStatus::Final => GOOD,
        DoseStatus::Imported => ACCENT,
        DoseStatus::Coarse | DoseStatus::Partial | DoseStatus::Preview | DoseStatus::Stale => WARNING,
        DoseStatus::Failed => ERROR,
    }
}

/// Colour of a number read from a dose: warned of where the dose is not that of the case as it is.
pub fn doubtful(status: DoseStatus, sure: Color32) -> Color32 {
    if is_doubtful(status) { status_colour(status) } else { sure }
}

/// Whether a number read from a dose of this status needs the word beside it.
pub fn is_doubtful(status: DoseStatus) -> bool {
    status >= DoseStatus::Partial
}

#[cfg(test)]
mod tests {
    use super::*;

    /// WCAG 2.2, contrast (minimum): 4.5 to 1 for text.
    #[test]
    fn text_stands_out_from_what_it_stands_on() {
        let luminance = |c: Color32| {
            let l = [c.r(), c.g(), c.b()].map(|v| {
                let v = f64::from(v) / 255.0;
                if v <= 0.04045 { v / 12.92 } else { ((v + 0.055) / 1.055).powf(2.4) }
            });
            0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]
        };
        let contrast = |a: Color32, b: Color32| {
            let (a, b) = (luminance(a), luminance(b));
            (a.max(b) + 0.05) / (a.min(b) + 0.05)
        };
        for text in [TEXT, WEAK, ACCENT, WARNING, ERROR, GOOD] {
            for ground in [GROUND, PANEL, FIELD, RAISED] {
                assert!(
                    contrast(text, ground) >= 4.5,
                    "{text:?} on {ground:?}: {:.2}",
                    contrast(text, ground)
                );
            }
        }
    }
}
