//! Small widgets that all panels share.

use super::drag::{NumberScale, drag};
use crate::kit::theme;
use crate::state::results::Stated;
use analysis::decimals;
use case::DoseStatus;
use egui::containers::menu::{MenuButton, MenuConfig};
use egui::{
    Align, Align2, Color32, DragValue, FontId, Layout, PopupCloseBehavior, Rect, Response,
    RichText, Role, Sense, TextFormat, TextStyle, TextWrapMode, Ui, UiBuilder, WidgetInfo,
    WidgetText, pos2, vec2,
};
use geometry::wrapped_deg;
use std::cell::Cell;
use std::ops::RangeInclusive;

/// Height of a row of the tree.
const ROW_HEIGHT: f32 = 22.0;

/// Width of the words below an angle.
const ANGLE_WIDTH: f32 = 76.0;

/// A heading inside a panel, with a hairline.
pub fn section(ui: &mut Ui, title: &str) {
    ui.add_space(6.0);
    ui.horizontal(|ui| {
        ui.label(
            egui::RichText::new(title)
                .strong()
                .size(12.0)
                .color(theme::palette(ui).weak),
        );
        let rect = ui.available_rect_before_wrap();
        ui.painter().hline(
            rect.x_range(),
            rect.center().y,
            egui::Stroke::new(1.0, theme::palette(ui).line),
        );
    });
    ui.add_space(1.0);
}

/// A menu that stays open while the user types or switches in it; closed by a click elsewhere. Its button, and what
/// the open menu returns.
pub fn lasting_menu<R>(
    ui: &mut Ui,
    button: egui::Button<'_>,
    content: impl FnOnce(&mut Ui) -> R,
) -> (Response, Option<R>) {
    let config = MenuConfig::new().close_behavior(PopupCloseBehavior::CloseOnClickOutside);
    let (button, inner) = MenuButton::from_button(button)
        .config(config)
        .ui(ui, content);
    (button, inner.map(|i| i.inner))
}

/// A menu whose button is as high as a small button.
pub fn small_menu(ui: &mut Ui, name: &str, content: impl FnOnce(&mut Ui)) -> Response {
    MenuButton::from_button(egui::Button::new(name).small())
        .ui(ui, content)
        .0
}

/// Lays content out in the panel's width: longer content is cut at its edge and never widens the panel, which would
/// push the views about.
pub fn held<R>(ui: &mut Ui, add: impl FnOnce(&mut Ui) -> R) -> R {
    let rect = ui.available_rect_before_wrap();
    let mut child = ui.new_child(UiBuilder::new().max_rect(rect));
    child.set_clip_rect(rect.expand2(vec2(4.0, 0.0)).intersect(ui.clip_rect()));
    let inner = add(&mut child);
    ui.advance_cursor_after_rect(rect);
    inner
}

/// A figure of a table that scrolls sideways, painted whole or, where the edge would cut it, as `…`: a number without its last digits
/// reads as another.
pub fn whole(ui: &mut Ui, text: impl Into<RichText>) -> Response {
    let text = text.into();
    let galley = WidgetText::from(text.clone()).into_galley(
        ui,
        Some(TextWrapMode::Extend),
        f32::INFINITY,
        TextStyle::Body,
    );
    let (size, seen) = (galley.size(), ui.clip_rect().x_range().expand(0.5));
    let left = ui.cursor().left();
    let [is_cut_left, is_cut_right] =
        [seen.min, seen.max].map(|edge| left < edge && edge < left + size.x);
    if !is_cut_left && !is_cut_right {
        return ui.label(galley);
    }
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    let (align, ellipsis) = match is_cut_right {
        true => (Align2::LEFT_CENTER, rect.left_center()),
        false => (Align2::RIGHT_CENTER, rect.right_center()),
    };
    ui.painter().text(
        ellipsis,
        align,
        "…",
        TextStyle::Body.resolve(ui.style()),
        theme::palette(ui).weak,
    );
    response.widget_info(|| WidgetInfo::labeled(Role::Label, true, text.text()));
    response
}

/// How a number is edited.
pub struct Number<'a> {
    value: &'a mut f64,
    name: &'a str,
    unit: &'a str,
    scale: NumberScale,
    /// An angle is shown modulo a full turn.
    is_periodic: bool,
    /// A row has no room below or beside it: a refusal stands over what is around it.
    is_in_a_row: bool,
}

/// A number field to drag or type in, with its name for screen readers and tests.
pub fn number<'a>(name: &'a str, value: &'a mut f64, unit: &'a str) -> Number<'a> {
    Number {
        value,
        name,
        unit,
        scale: NumberScale {
            speed: 0.5,
            decimals: 1,
            range: f64::MIN..=f64::MAX,
        },
        is_periodic: false,
        is_in_a_row: false,
    }
}

/// A machine angle in degrees. A drag continues past a full turn; typed values are at most a turn either way, and a
/// message explains if the field then shows another number.
pub fn angle<'a>(name: &'a str, value: &'a mut f64) -> Number<'a> {
    Number {
        is_periodic: true,
        ..number(name, value, "°").speed(1.0)
    }
}

impl Number<'_> {
    /// Change per point dragged and per arrow key.
    #[must_use]
    pub fn speed(mut self, speed: f64) -> Self {
        self.scale.speed = speed;
        self
    }

    #[must_use]
    pub fn decimals(mut self, decimals: usize) -> Self {
        self.scale.decimals = decimals;
        self
    }

    #[must_use]
    pub fn range(mut self, range: RangeInclusive<f64>) -> Self {
        self.scale.range = range;
        self
    }

    /// For a row of a list, where a refusal has room only over the rows.
    #[must_use]
    pub fn in_a_row(mut self) -> Self {
        self.is_in_a_row = true;
        self
    }

    /// Shows the field. A number typed outside its range is refused in words, not clamped; a number from a file stays
    /// unchanged until it is edited.
    pub fn show(self, ui: &mut Ui) -> Response {
        if !self.is_periodic {
            return self.show_here(ui);
        }
        // Beside the dial there is room for words below the number only.
        let field = ui.vertical(|ui| {
            ui.set_max_width(ANGLE_WIDTH);
            self.show_here(ui)
        });
        field.inner
    }

    fn show_here(self, ui: &mut Ui) -> Response {
        let said = Cell::new(None);
        let range = if self.is_periodic {
            -360.0..=360.0
        } else {
            self.scale.range.clone()
        };
        let is_periodic = self.is_periodic;
        let colours = theme::palette(ui);
        let places = self.scale.decimals;
        // Its own drag is relative to its last layout, ours tells a number before the next one.
        let is_dragged = ui.ctx().is_being_dragged(ui.next_auto_id());
        let field = DragValue::new(self.value)
            .speed(if is_dragged { 0.0 } else { self.scale.speed })
            .fixed_decimals(places)
            .custom_formatter(move |value, _| decimals(value, places))
            .range(self.scale.range.clone())
            .clamp_existing_to_range(false)
            .custom_parser(|text| {
                let value = typed_number(text)?;
                if !range.contains(&value) {
                    said.set(Some((colours.error, refused(value, &range))));
                    return None;
                }
                let shown = wrapped_deg(value);
                if is_periodic && shown != value {
                    said.set(Some((colours.warning, format!("{value}° is {shown}°"))));
                }
                Some(value)
            })
            .suffix(self.unit)
            .update_while_editing(false);
        let mut response = ui.add(field).accessible_name(self.name);
        drag(ui, &mut response, self.value, self.scale);
        let id = response.id.with("said");
        if response.changed() || response.gained_focus() || response.drag_started() {
            ui.data_mut(|d| d.remove::<(Color32, String)>(id));
        }
        if let Some(said) = said.take() {
            ui.data_mut(|d| d.insert_temp(id, said));
        }
        if let Some((colour, text)) = ui.data(|d| d.get_temp::<(Color32, String)>(id)) {
            if colour == colours.error {
                ui.data_mut(|d| *d.get_temp_mut_or_default::<u64>(refusals()) += 1);
            }
            let text = egui::RichText::new(text).small().color(colour);
            if self.is_in_a_row {
                response.show_tooltip_text(text);
                return response;
            }
            let label = egui::Label::new(text);
            ui.add(if is_periodic { label.wrap() } else { label });
        }
        response
    }
}

/// The number that a text stands for, with a degree sign or the minus of typesetting, where it stands for one.
fn typed_number(text: &str) -> Option<f64> {
    let text = text
        .trim()
        .trim_end_matches('°')
        .trim_end()
        .replace('\u{2212}', "-");
    text.parse().ok()
}

/// Counts fields shown that refuse what was typed.
fn refusals() -> egui::Id {
    egui::Id::unique("refused numbers")
}

fn refusal_count(ui: &Ui) -> u64 {
    ui.data(|d| d.get_temp(refusals())).unwrap_or_default()
}

/// Shows number fields and says whether one of them refuses what was typed last: a button beside it must not act on the
/// number that the field had.
pub fn refuses(ui: &mut Ui, add: impl FnOnce(&mut Ui)) -> bool {
    let count = refusal_count(ui);
    add(ui);
    refusal_count(ui) != count
}

/// Why a button does nothing beside a field that refuses what was typed.
pub const REFUSED: &str = "The number typed last is refused: type another";

/// Why a number is refused.
fn refused(value: f64, range: &RangeInclusive<f64>) -> String {
    if *range.end() == f64::MAX {
        return format!("{value} refused: not a finite number");
    }
    format!("{value} refused: {} to {}", range.start(), range.end())
}

/// One line of the tree.
pub struct Row<'a> {
    name: &'a str,
    detail: &'a str,
    selected: bool,
    indent: f32,
    weak: bool,
}

/// A line of the tree: a name, and a detail at its right edge.
pub fn row<'a>(name: &'a str, detail: &'a str, selected: bool) -> Row<'a> {
    Row {
        name,
        detail,
        selected,
        indent: 0.0,
        weak: false,
    }
}

impl Row<'_> {
    #[must_use]
    pub fn indent(mut self, points: f32) -> Self {
        self.indent = points;
        self
    }

    /// Greyed: the item is hidden in the views.
    #[must_use]
    pub fn weak(mut self, weak: bool) -> Self {
        self.weak = weak;
        self
    }

    /// Shows the row, with `lead` (a switch, a swatch) before the name.
    pub fn show(self, ui: &mut Ui, lead_width: f32, lead: impl FnOnce(&mut Ui)) -> Response {
        let size = vec2(ui.available_width(), ROW_HEIGHT);
        let (rect, response) = ui.allocate_exact_size(size, Sense::click());
        let (name, selected) = (self.name, self.selected);
        response.widget_info(|| WidgetInfo::selected(Role::Button, true, selected, name));
        if !ui.is_rect_visible(rect) {
            return response;
        }
        let fill = match (self.selected, response.hovered()) {
            (true, _) => ui.visuals().selection.bg_fill,
            (false, true) => theme::palette(ui).raised,
            (false, false) => Color32::TRANSPARENT,
        };
        ui.painter().rect_filled(rect, 3.0, fill);
        if response.has_focus() {
            let stroke = egui::Stroke::new(1.0, theme::palette(ui).accent);
            ui.painter()
                .rect_stroke(rect, 3.0, stroke, egui::StrokeKind::Inside);
        }
        let left = rect.left() + 4.0 + self.indent;
        if lead_width > 0.0 {
            let lead_rect =
                Rect::from_min_size(pos2(left, rect.top()), vec2(lead_width, rect.height()));
            let layout = Layout::left_to_right(Align::Center);
            ui.scope_builder(UiBuilder::new().max_rect(lead_rect).layout(layout), |ui| {
                ui.spacing_mut().item_spacing.x = 4.0;
                lead(ui);
            });
        }
        let small = TextStyle::Small.resolve(ui.style());
        let strong = if self.selected {
            theme::palette(ui).selected_weak
        } else {
            theme::palette(ui).weak
        };
        let right = pos2(rect.right() - 5.0, rect.center().y);
        let taken = ui
            .painter()
            .text(right, Align2::RIGHT_CENTER, self.detail, small, strong);
        let from = left + lead_width + if lead_width > 0.0 { 4.0 } else { 0.0 };
        let colour = if self.weak {
            theme::palette(ui).weak
        } else {
            theme::palette(ui).text
        };
        let clipped = elided(ui, self.name, taken.left() - 6.0 - from, colour);
        let start = pos2(from, rect.center().y - 0.5 * clipped.size().y);
        ui.painter().galley(start, clipped, colour);
        response
    }
}

/// Text cut with an ellipsis if it is wider than `width`.
fn elided(ui: &Ui, text: &str, width: f32, colour: Color32) -> std::sync::Arc<egui::Galley> {
    let font = TextStyle::Body.resolve(ui.style());
    let mut job = egui::text::LayoutJob::simple_singleline(text.to_owned(), font, colour);
    job.wrap = egui::text::TextWrapping::truncate_at_width(width.max(8.0));
    ui.painter().layout_job(job)
}

/// The status of a dose with its limitations, `PARTIAL` and, beside it, `2 of 3 beams`, and how much else is known of it.
pub fn status_with_caveats(
    ui: &mut Ui,
    status: DoseStatus,
    caveats: &[String],
    remarks: &[String],
) -> Response {
    let response = status_chip(ui, status);
    if !remarks.is_empty() {
        let text = format!(
            "{} remark{}",
            remarks.len(),
            if remarks.len() == 1 { "" } else { "s" }
        );
        let text = egui::RichText::new(text)
            .small()
            .color(theme::palette(ui).warning);
        ui.label(text).on_hover_text(remarks.join("\n"));
    }
    if !caveats.is_empty() {
        let text = egui::RichText::new(caveats.join(", "))
            .small()
            .color(theme::palette(ui).warning);
        ui.add(egui::Label::new(text).truncate())
            .on_hover_text(caveats.join("\n"));
    }
    response
}

/// A number with its digits after the point and its unit between words, followed by its status in the status's colour where that
/// is worse than final.
pub fn stated(
    ui: &mut Ui,
    prefix: &str,
    number: Stated,
    digits: usize,
    unit: &str,
    suffix: &str,
) -> Response {
    let (words, status_words) = number.words(digits, unit, suffix);
    let words = format!("{prefix}{words}");
    let mut job = egui::text::LayoutJob::default();
    let font = TextStyle::Body.resolve(ui.style());
    let colour = if number.is_provisional() {
        theme::palette(ui).weak
    } else {
        theme::palette(ui).text
    };
    job.append(&words, 0.0, TextFormat::simple(font.clone(), colour));
    job.append(
        &status_words,
        0.0,
        TextFormat::simple(font, theme::palette(ui).status(number.status)),
    );
    ui.label(job)
}

/// A word in a frame of its colour: the status of a dose.
pub fn status_chip(ui: &mut Ui, status: DoseStatus) -> Response {
    let colour = theme::palette(ui).status(status);
    let font = FontId::proportional(11.0);
    let galley = ui
        .painter()
        .layout_no_wrap(status.word().to_uppercase(), font, colour);
    let size = galley.size() + vec2(10.0, 4.0);
    let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
    ui.painter().rect(
        rect,
        3.0,
        theme::palette(ui).chip(colour),
        egui::Stroke::new(1.0, colour.gamma_multiply(0.7)),
        egui::StrokeKind::Inside,
    );
    ui.painter()
        .galley(rect.center() - 0.5 * galley.size(), galley, colour);
    response
        .widget_info(|| WidgetInfo::labeled(Role::Label, true, format!("Dose status {status}")));
    response
}

#[cfg(test)]
mod tests {
    use super::whole;
    use egui::{Shape, vec2};
    use egui_kittest::Harness;

    /// Words painted in an area that scrolls sideways and shows so much of a row of figures.
    fn painted(width: f32) -> Vec<String> {
        let harness = Harness::builder()
            .with_size(vec2(400.0, 100.0))
            .build_ui(move |ui| {
                ui.set_max_width(width);
                egui::ScrollArea::horizontal().show(ui, |ui| {
                    ui.horizontal(|ui| ["54.18", "20.77", "33.57"].map(|figure| whole(ui, figure)));
                });
            });
        let shapes = harness.output().shapes.iter();
        let words = shapes.filter_map(|clipped| match &clipped.shape {
            Shape::Text(text) => Some(text.galley.text().to_owned()),
            _ => None,
        });
        words.collect()
    }

    #[test]
    fn figures_are_painted_whole_or_not_at_all() {
        let (figures, two) = (["54.18", "20.77", "33.57"], ["54.18", "20.77"]);
        assert_eq!(painted(300.0), figures);
        let mut seen_cut = 0;
        for width in 60..130 {
            let words = painted(width as f32);
            let figures: Vec<&str> = words
                .iter()
                .map(String::as_str)
                .filter(|word| *word != "…")
                .collect();
            assert!(figures.starts_with(&figures), "{width}: {words:?}");
            seen_cut += usize::from(figures == two && words.len() == 3);
        }
        assert!(seen_cut > 10, "the edge never passed a figure");
    }
}
