//! The look: calm, for a whole day's work; dark for a dim room, or light. What is drawn on images is dark in both.
//! Panels ask [`palette`] for the palette of their theme; views and plots take [`IMAGE`].

use analysis::second_check::Level;
use case::{DoseStatus, Rgb};
use egui::{
    Color32, CornerRadius, FontFamily, FontId, Frame, Margin, Rect, Stroke, StrokeKind, TextStyle,
    Ui, Visuals, vec2,
};
use files::ThemeChoice;
use input::code_of;
use std::borrow::Cow;

/// The colours of panels in one theme.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Palette {
    /// Background of the window, and between the views.
    pub ground: Color32,
    /// Side panels and bars.
    pub panel: Color32,
    /// Input fields.
    pub field: Color32,
    /// Every other row of a table.
    pub striped: Color32,
    /// Rows under the pointer, headers.
    pub raised: Color32,
    /// Buttons under the pointer.
    pub hovered: Color32,
    /// Hairlines.
    pub line: Color32,
    /// Outlines of buttons, at rest and under the pointer.
    pub outlines: [Color32; 2],
    /// Main text.
    pub text: Color32,
    /// Captions and units.
    pub weak: Color32,
    /// Selected rows and buttons, their text, and the captions in them.
    pub selected: Color32,
    pub selected_text: Color32,
    pub selected_weak: Color32,
    /// Selection and focus.
    pub accent: Color32,
    /// Warnings.
    pub warning: Color32,
    /// Errors.
    pub error: Color32,
    /// Success.
    pub good: Color32,
    /// Values at the crosshair, in the colour that it has in the views.
    pub crosshair: Color32,
}

const DARK: Palette = Palette {
    ground: Color32::from_rgb(16, 18, 21),
    panel: Color32::from_rgb(27, 30, 34),
    field: Color32::from_rgb(19, 21, 24),
    striped: Color32::from_rgb(31, 34, 39),
    raised: Color32::from_rgb(38, 42, 48),
    hovered: Color32::from_rgb(50, 56, 64),
    line: Color32::from_rgb(50, 55, 62),
    outlines: [
        Color32::from_rgb(56, 62, 70),
        Color32::from_rgb(90, 100, 112),
    ],
    text: Color32::from_rgb(222, 226, 230),
    weak: Color32::from_rgb(150, 158, 168),
    selected: Color32::from_rgb(38, 79, 120),
    selected_text: Color32::WHITE,
    selected_weak: Color32::from_rgb(205, 220, 235),
    accent: Color32::from_rgb(79, 157, 232),
    warning: Color32::from_rgb(240, 180, 64),
    error: Color32::from_rgb(245, 108, 100),
    good: Color32::from_rgb(104, 200, 130),
    crosshair: Color32::from_rgb(110, 190, 230),
};

/// Paper, not glaring: no ground is white.
const LIGHT: Palette = Palette {
    ground: Color32::from_rgb(222, 220, 214),
    panel: Color32::from_rgb(241, 239, 234),
    field: Color32::from_rgb(250, 249, 246),
    striped: Color32::from_rgb(235, 233, 227),
    raised: Color32::from_rgb(228, 225, 218),
    hovered: Color32::from_rgb(217, 214, 206),
    line: Color32::from_rgb(203, 199, 190),
    outlines: [
        Color32::from_rgb(190, 186, 177),
        Color32::from_rgb(140, 136, 128),
    ],
    text: Color32::from_rgb(33, 36, 41),
    weak: Color32::from_rgb(84, 89, 96),
    selected: Color32::from_rgb(190, 213, 238),
    selected_text: Color32::from_rgb(14, 30, 48),
    selected_weak: Color32::from_rgb(46, 64, 84),
    accent: Color32::from_rgb(16, 88, 162),
    warning: Color32::from_rgb(128, 76, 0),
    error: Color32::from_rgb(168, 30, 30),
    good: Color32::from_rgb(18, 98, 52),
    crosshair: Color32::from_rgb(8, 92, 128),
};

/// The colours on images, rooms, radiographs and plots, which are dark in both themes: grey values are read on black, and
/// the colours of structures and isodoses are chosen for it.
pub const IMAGE: Palette = DARK;

/// The colours for a panel, by its style.
pub fn palette(ui: &Ui) -> &'static Palette {
    of_visuals(ui.visuals())
}

/// The colours for what is drawn over panels.
pub fn of_ctx(ctx: &egui::Context) -> &'static Palette {
    of_visuals(&ctx.global_style().visuals)
}

fn of_visuals(visuals: &Visuals) -> &'static Palette {
    if visuals.dark_mode { &DARK } else { &LIGHT }
}

/// Gives what follows in `ui` the dark style: controls on images.
pub fn dark_style(ui: &mut Ui) {
    if !ui.visuals().dark_mode {
        let style = ui.ctx().style_of(egui::Theme::Dark);
        ui.set_style(style);
    }
}

/// A plot, on a dark plate in both themes: its curves have the colours of the structures in the views, of which pale ones
/// would not be seen on paper.
pub fn plate<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    if ui.visuals().dark_mode {
        return add(ui);
    }
    let frame = Frame::new()
        .fill(IMAGE.panel)
        .corner_radius(4)
        .inner_margin(Margin::same(4));
    frame
        .show(ui, |ui| {
            dark_style(ui);
            add(ui)
        })
        .inner
}

/// A patch in a colour of the case. On paper a hairline keeps pale ones visible.
pub fn swatch(ui: &Ui, rect: Rect, rgb: Rgb) {
    ui.painter().rect_filled(rect, 2.0, colour(rgb));
    if !ui.visuals().dark_mode {
        let stroke = Stroke::new(1.0, palette(ui).outlines[1]);
        ui.painter()
            .rect_stroke(rect, 2.0, stroke, StrokeKind::Inside);
    }
}

/// Gives the context the styles of both themes and the feel of its drags, and the dark one until [`choose`] says otherwise.
pub fn apply(ctx: &egui::Context) {
    choose(ctx, ThemeChoice::Dark);
    ctx.all_styles_mut(|style| {
        style.text_styles = [
            (
                TextStyle::Heading,
                FontId::new(15.0, FontFamily::Proportional),
            ),
            (TextStyle::Body, FontId::new(13.0, FontFamily::Proportional)),
            (
                TextStyle::Button,
                FontId::new(13.0, FontFamily::Proportional),
            ),
            (
                TextStyle::Small,
                FontId::new(11.0, FontFamily::Proportional),
            ),
            (
                TextStyle::Monospace,
                FontId::new(12.0, FontFamily::Monospace),
            ),
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
    });
    // Where a press may also click, a handle stays for this distance in points, then jumps to the pointer: the distance of
    // other desktops, not egui's 6.
    ctx.options_mut(|options| options.input_options.max_click_dist = 4.0);
    ctx.set_visuals_of(egui::Theme::Dark, visuals(Visuals::dark(), &DARK));
    ctx.set_visuals_of(egui::Theme::Light, visuals(Visuals::light(), &LIGHT));
}

/// Shows the chosen theme; where the system names none, the dark one (egui's own fallback).
pub fn choose(ctx: &egui::Context, choice: ThemeChoice) {
    let preference = match choice {
        ThemeChoice::Dark => egui::ThemePreference::Dark,
        ThemeChoice::Light => egui::ThemePreference::Light,
        ThemeChoice::System => egui::ThemePreference::System,
    };
    if ctx.options(|o| o.theme_preference) != preference {
        ctx.set_theme(preference);
        ctx.request_repaint();
    }
}

/// A text in which letters that no font of the window has are spelled by their code, `<U+5C71>`: the box or question mark in
/// their place would be the same for every name.
pub fn spelled<'a>(ctx: &egui::Context, text: &'a str) -> Cow<'a, str> {
    if text.is_ascii() {
        return Cow::Borrowed(text);
    }
    let font = FontId::new(13.0, FontFamily::Proportional);
    ctx.fonts_mut(|fonts| {
        if fonts.has_glyphs(&font, text) {
            return Cow::Borrowed(text);
        }
        let mut spelled = String::new();
        for c in text.chars() {
            if c.is_whitespace() || fonts.has_glyph(&font, c) {
                spelled.push(c)
            } else {
                spelled += &code_of(c)
            }
        }
        Cow::Owned(spelled)
    })
}

/// The visuals of a theme: egui's in the colours of the palette.
fn visuals(mut v: Visuals, p: &Palette) -> Visuals {
    v.panel_fill = p.panel;
    v.window_fill = p.panel;
    v.window_stroke = Stroke::new(1.0, p.line);
    v.extreme_bg_color = p.field;
    v.faint_bg_color = p.striped;
    v.text_edit_bg_color = Some(p.field);
    v.override_text_color = None;
    v.weak_text_color = Some(p.weak);
    v.warn_fg_color = p.warning;
    v.error_fg_color = p.error;
    v.hyperlink_color = p.accent;
    v.selection.bg_fill = p.selected;
    v.selection.stroke = Stroke::new(1.0, p.selected_text);
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
        w.fg_stroke = Stroke::new(1.0, p.text);
    }
    v.widgets.noninteractive.bg_stroke = Stroke::new(1.0, p.line);
    v.widgets.noninteractive.bg_fill = p.panel;
    v.widgets.inactive.bg_fill = p.raised;
    v.widgets.inactive.weak_bg_fill = p.raised;
    v.widgets.inactive.bg_stroke = Stroke::new(1.0, p.outlines[0]);
    v.widgets.hovered.bg_fill = p.hovered;
    v.widgets.hovered.weak_bg_fill = p.hovered;
    v.widgets.hovered.bg_stroke = Stroke::new(1.0, p.outlines[1]);
    v.widgets.active.bg_fill = p.selected;
    v.widgets.active.weak_bg_fill = p.selected;
    v.widgets.active.bg_stroke = Stroke::new(1.0, p.accent);
    v.widgets.open.bg_fill = p.raised;
    v.widgets.open.weak_bg_fill = p.raised;
    v
}

/// A side panel's frame.
pub fn panel_frame(ui: &Ui) -> Frame {
    Frame::new()
        .fill(palette(ui).panel)
        .inner_margin(Margin::symmetric(8, 6))
}

/// A bar's frame (toolbar, status line).
pub fn bar_frame(ui: &Ui) -> Frame {
    Frame::new()
        .fill(palette(ui).panel)
        .inner_margin(Margin::symmetric(8, 4))
}

/// A colour of the case as a screen colour.
pub fn colour(rgb: Rgb) -> Color32 {
    let [r, g, b] = rgb.0;
    Color32::from_rgb(r, g, b)
}

impl Palette {
    /// Colour of a dose status; the word is always written beside it.
    pub fn status(&self, status: DoseStatus) -> Color32 {
        match status {
            DoseStatus::Final => self.good,
            DoseStatus::Imported => self.accent,
            DoseStatus::Coarse | DoseStatus::Partial | DoseStatus::Preview | DoseStatus::Stale => {
                self.warning
            }
            DoseStatus::Failed => self.error,
        }
    }

    /// Colour of a number read from a dose: a warning where the dose does not belong to the case as it is.
    pub fn doubtful(&self, status: DoseStatus, sure: Color32) -> Color32 {
        if is_doubtful(status) {
            self.status(status)
        } else {
            sure
        }
    }

    /// Colour of a verdict by tolerance and action level; without a verdict the colour of text: nothing was missed.
    pub fn level(&self, level: Option<Level>) -> Color32 {
        match level {
            Some(Level::Within) => self.good,
            Some(Level::Between) => self.warning,
            Some(Level::Beyond) => self.error,
            None => self.text,
        }
    }

    /// A background in the hue of a colour of this palette: a notice's.
    pub fn tint(&self, colour: Color32) -> Color32 {
        let [hue, ground] = [colour, self.panel].map(|colour| colour.to_array().map(u16::from));
        let [r, g, b] = [0, 1, 2].map(|n| (hue[n] / 6 + ground[n] * 5 / 6) as u8);
        Color32::from_rgb(r, g, b)
    }

    /// A colour of a map as text on a panel: lighter in the dark theme, darker in the light one.
    pub fn legible(&self, colour: Color32) -> Color32 {
        let (towards, share) = if *self == DARK {
            (Color32::WHITE, 0.25)
        } else {
            (Color32::BLACK, 0.35)
        };
        colour.lerp_to_gamma(towards, share)
    }

    /// The ground of a chip in a colour of this palette.
    pub fn chip(&self, colour: Color32) -> Color32 {
        colour.gamma_multiply(0.15)
    }
}

/// Whether a number read from a dose of this status needs the word beside it.
pub fn is_doubtful(status: DoseStatus) -> bool {
    status >= DoseStatus::Partial
}

#[cfg(test)]
mod tests {
    use super::*;

    fn luminance(c: Color32) -> f64 {
        let l = [c.r(), c.g(), c.b()].map(|v| {
            let v = f64::from(v) / 255.0;
            if v <= 0.04045 {
                v / 12.92
            } else {
                ((v + 0.055) / 1.055).powf(2.4)
            }
        });
        0.2126 * l[0] + 0.7152 * l[1] + 0.0722 * l[2]
    }

    fn contrast(a: Color32, b: Color32) -> f64 {
        let (a, b) = (luminance(a), luminance(b));
        (a.max(b) + 0.05) / (a.min(b) + 0.05)
    }

    fn stands_out(text: Color32, ground: Color32) {
        let ratio = contrast(text, ground);
        assert!(ratio >= 4.5, "{text:?} on {ground:?}: {ratio:.2}");
    }

    /// WCAG 2.2, contrast (minimum): 4.5 to 1 for text.
    #[test]
    fn text_stands_out_from_what_it_stands_on() {
        // WCAG 2.2, relative luminance: black on white is 21 to 1.
        assert!((contrast(Color32::BLACK, Color32::WHITE) - 21.0).abs() < 1e-9);
        for p in [DARK, LIGHT] {
            let marks = [p.accent, p.warning, p.error, p.good];
            for ground in [p.ground, p.panel, p.field, p.striped, p.raised] {
                for text in [p.text, p.weak, p.crosshair].into_iter().chain(marks) {
                    stands_out(text, ground);
                }
            }
            stands_out(p.text, p.hovered);
            for text in [p.text, p.selected_text, p.selected_weak] {
                stands_out(text, p.selected);
            }
            for mark in marks {
                // The word of a notice, its text; the word of a chip.
                stands_out(mark, p.tint(mark));
                stands_out(p.text, p.tint(mark));
                stands_out(mark, p.panel.blend(p.chip(mark)));
            }
        }
    }

    #[test]
    fn a_panel_has_the_palette_of_its_style() {
        let ctx = egui::Context::default();
        apply(&ctx);
        assert_eq!(palettes(&ctx, ThemeChoice::Light), [LIGHT, IMAGE]);
        assert_eq!(palettes(&ctx, ThemeChoice::Dark), [DARK, IMAGE]);
        // A desktop that names no theme.
        assert_eq!(palettes(&ctx, ThemeChoice::System), [DARK, IMAGE]);
    }

    /// The palettes of a panel, and of the same panel as a dark one.
    fn palettes(ctx: &egui::Context, choice: ThemeChoice) -> Vec<Palette> {
        choose(ctx, choice);
        let mut seen = Vec::new();
        let mut output = ctx.run_ui(egui::RawInput::default(), |ui| {
            seen = vec![*palette(ui)];
            dark_style(ui);
            seen.push(*palette(ui));
        });
        // Nothing is drawn: egui warns of texture changes that nobody takes.
        output.textures_delta.clear();
        seen
    }
}
