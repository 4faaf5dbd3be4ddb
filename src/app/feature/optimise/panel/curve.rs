//! Monitor units below their row: what the leaves deliver, and the curve of plans at other weights, one of which a click chooses.

use crate::command::{Command, Commands, single_gesture};
use crate::feature::optimise::command::OptimiseAction;
use crate::feature::optimise::state::curve::knee;
use crate::kit::{status_chip, theme};
use crate::state::State;
use case::DoseStatus;
use egui::{
    Align2, Button, FontId, Label, Pos2, Rect, RichText, Role, Sense, Stroke, Ui, WidgetInfo, vec2,
};
use results::CurvePoint;
use sequence::PlanDelivery;

const HEIGHT: f32 = 84.0;
/// Room of the numbers left of the curve and below it.
const LEFT: f32 = 40.0;
const BELOW: f32 = 15.0;
const RADIUS: f32 = 4.0;

/// Shows the figures and the curve; the weight of a point that was clicked, with the gesture.
pub(super) fn show(ui: &mut Ui, state: &State, commands: &mut Commands) -> Option<(f64, u64)> {
    ui.horizontal(|ui| figures(ui, state, commands));
    if !state.optimise.shows_curve() {
        return None;
    }
    match state.monitor_unit_curve() {
        Some(Err(why)) => {
            let text = RichText::new(why).small().color(theme::palette(ui).error);
            ui.add(Label::new(text).truncate()).on_hover_text(why);
            None
        }
        Some(Ok(points)) => curve(ui, state, points),
        None => {
            weak(ui, "The curve is of a plan that is optimised and at rest.");
            None
        }
    }
}

fn weak(ui: &mut Ui, text: &str) {
    let colour = theme::palette(ui).weak;
    ui.add(Label::new(RichText::new(text).small().color(colour)).truncate());
}

fn figures(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let shows = state.optimise.shows_curve();
    let button = Button::selectable(shows, RichText::new("Curve").small());
    let button = ui
        .add(button)
        .accessible_name("Curve of monitor units")
        .on_hover_text("Solves the plan at five weights of monitor units: how many they save, and what that costs the goals");
    if button.clicked() {
        commands.push(Command::Optimise(OptimiseAction::ShowCurve(!shows)));
    }
    match state.delivery() {
        Some(delivery) => {
            let words = figures_words(&delivery.of_plan);
            // New leaves take the place of those whose figures these are.
            let is_replaced = state.optimise.is_running() || state.optimise.makes_leaves();
            let when = if is_replaced { ", before this run" } else { "" };
            weak(ui, &format!("{words}{when}"));
        }
        None => weak(ui, "no leaves yet"),
    }
}

/// Monitor units, in all and for each gray, and beam-on time.
fn figures_words(delivery: &PlanDelivery) -> String {
    let figures = &delivery.figures;
    let per_gy = { delivery.mu_per_gy }.map_or_else(String::new, |mu| format!("{mu:.0} MU/Gy, "));
    format!("{:.0} MU, {per_gy}{:.0} s", figures.mu, figures.beam_on_s)
}

/// Places of points in the curve: monitor units to the right, all other objectives upwards.
struct Axes {
    plot: Rect,
    mu: [f64; 2],
    objective: [f64; 2],
}

impl Axes {
    fn new(plot: Rect, points: &[CurvePoint]) -> Self {
        Self {
            plot,
            mu: range(points.iter().map(|point| point.delivery.figures.mu)),
            objective: range(points.iter().map(|point| point.objective)),
        }
    }

    fn place(&self, point: &CurvePoint) -> Pos2 {
        self.plot.lerp_inside(vec2(
            part_of_range(point.delivery.figures.mu, self.mu),
            1.0 - part_of_range(point.objective, self.objective),
        ))
    }
}

fn part_of_range(value: f64, range: [f64; 2]) -> f32 {
    ((value - range[0]) / (range[1] - range[0])) as f32
}

/// Least and greatest value with a margin; never empty.
fn range(values: impl Iterator<Item = f64>) -> [f64; 2] {
    let [low, high] = values.fold([f64::INFINITY, f64::NEG_INFINITY], |[low, high], value| {
        [low.min(value), high.max(value)]
    });
    let margin = (0.08 * (high - low)).max(1e-3 * high.abs()).max(1e-9);
    [low - margin, high + margin]
}

fn curve(ui: &mut Ui, state: &State, points: &[CurvePoint]) -> Option<(f64, u64)> {
    ui.horizontal(|ui| {
        status_chip(ui, DoseStatus::Preview);
        weak(ui, "other objectives against MU of leaves as sequenced");
    });
    let size = vec2(ui.available_width().clamp(120.0, 330.0), HEIGHT);
    let (rect, _) = ui.allocate_exact_size(size, Sense::hover());
    let plot = Rect::from_min_max(rect.min + vec2(LEFT, 2.0), rect.max - vec2(6.0, BELOW));
    let axes = Axes::new(plot, points);
    let palette = theme::palette(ui);
    let line = Stroke::new(1.0, palette.line);
    let painter = ui.painter();
    painter.line_segment([plot.left_top(), plot.left_bottom()], line);
    painter.line_segment([plot.left_bottom(), plot.right_bottom()], line);
    let lowest = { points.iter() }
        .map(|point| point.objective)
        .fold(f64::INFINITY, f64::min);
    let font = FontId::proportional(9.5);
    for (place, align, text) in [
        (
            plot.left_bottom(),
            Align2::LEFT_TOP,
            format!("{:.0} MU", axes.mu[0]),
        ),
        (
            plot.right_bottom(),
            Align2::RIGHT_TOP,
            format!("{:.0}", axes.mu[1]),
        ),
        (
            plot.left_top() - vec2(3.0, 0.0),
            Align2::RIGHT_TOP,
            over(axes.objective[1], lowest),
        ),
    ] {
        painter.text(place, align, text, font.clone(), palette.weak);
    }
    let places: Vec<Pos2> = points.iter().map(|point| axes.place(point)).collect();
    painter.line(places.clone(), Stroke::new(1.5, palette.accent));
    let weight = state.plan()?.objectives.monitor_units;
    let knee = knee(points);
    let mut chosen = None;
    for (n, (point, place)) in points.iter().zip(places).enumerate() {
        let area = Rect::from_center_size(place, vec2(14.0, 14.0));
        let response = ui.interact(area, ui.scope_id().with(("curve", n)), Sense::click());
        let at_knee = if knee == Some(n) { " (knee)" } else { "" };
        let name = format!(
            "{:.0} MU at weight {}{at_knee}",
            point.delivery.figures.mu, point.weight
        );
        response.widget_info(|| WidgetInfo::labeled(Role::Button, true, &name));
        let is_current = (point.weight / weight - 1.0).abs() < 1e-6;
        let painter = ui.painter();
        if is_current || response.hovered() || response.has_focus() {
            painter.circle_filled(place, RADIUS, palette.accent);
        } else {
            painter.circle(
                place,
                RADIUS,
                palette.panel,
                Stroke::new(1.5, palette.accent),
            );
        }
        if knee == Some(n) {
            let above = place - vec2(0.0, RADIUS + 1.0);
            painter.text(
                above,
                Align2::CENTER_BOTTOM,
                "knee",
                font.clone(),
                palette.weak,
            );
        }
        let [met, judged] = state.goals_met_by(point);
        let hint = format!(
            "Weight {}: {}\n{met} of {judged} goals met, other objectives {}\nClick: the plan takes this weight",
            point.weight,
            figures_words(&point.delivery),
            over(point.objective, lowest)
        );
        let response = response.on_hover_text(hint);
        if response.clicked() {
            chosen = Some((point.weight, single_gesture(&response)));
        }
    }
    chosen
}

/// An objective over the lowest, in words.
fn over(objective: f64, lowest: f64) -> String {
    format!(
        "+{:.0} %",
        100.0 * (objective / lowest.max(f64::MIN_POSITIVE) - 1.0)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_is_never_empty() {
        for values in [vec![], vec![0.0], vec![700.0, 700.0], vec![700.0, 900.0]] {
            let [low, high] = range(values.iter().copied());
            assert!(low < high || values.is_empty(), "{low} {high}");
        }
        let [low, high] = range([700.0, 900.0].into_iter());
        assert!((low, high) == (684.0, 916.0), "{low} {high}");
    }
}
