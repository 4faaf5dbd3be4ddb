//! Control points of a dynamic beam: a list, and a player that shows them one after another.

use crate::command::{Command, Commands};
use crate::feature::beam::command::ApertureAction;
use crate::kit::{section, theme};
use crate::state::State;
use crate::state::results::CaseResults;
use crate::state::results::Shown;
use analysis::is_computed;
use case::Beam;
use egui::{RichText, ScrollArea, Ui};
use std::ops::Range;
use std::time::Duration;

/// Time for which the player shows a control point, s.
const SHOWN_S: f64 = 0.12;

/// Shows the control points of a beam that has more than one.
pub fn show(ui: &mut Ui, state: &State, beam: &Beam, commands: &mut Commands) {
    let count = beam.control_points.len();
    if count < 2 {
        return;
    }
    section(ui, "Control points");
    let current = state.shown_point(beam);
    let plays = state.aperture.plays && state.aperture.point.0 == beam.number;
    let (mut to, mut goes_on) = (current, plays);
    ui.horizontal(|ui| {
        if ui.small_button("First").clicked() {
            to = 0;
        }
        if ui.small_button("Back").clicked() {
            to = current.saturating_sub(1);
        }
        if ui
            .small_button(if plays { "Pause" } else { "Play" })
            .clicked()
        {
            goes_on = !plays;
            to = if goes_on && current + 1 == count {
                0
            } else {
                current
            };
        }
        if ui.small_button("Next").clicked() {
            to = (current + 1).min(count - 1);
        }
        ui.weak(format!("{} of {count}", current + 1));
    });
    if plays && goes_on {
        to = played(ui, current, count);
        goes_on &= to + 1 < count;
    }
    copies(ui, beam, current);
    let row = ui.spacing().interact_size.y;
    ui.horizontal(|ui| {
        ui.add_space(ui.spacing().button_padding.x);
        ui.label(
            RichText::new(HEADINGS)
                .small()
                .monospace()
                .color(theme::palette(ui).weak),
        );
    });
    let mut table = ScrollArea::vertical()
        .max_height(160.0)
        .min_scrolled_height(160.0)
        .id_salt("control points");
    if to != current || plays {
        // The table follows the player and the buttons, the chosen row in its middle.
        let step = row + ui.spacing().item_spacing.y;
        table = table.vertical_scroll_offset((to as f32 * step - 80.0 + 0.5 * row).max(0.0));
    }
    table.show_rows(ui, row, count, |ui, rows| {
        for n in rows {
            let p = &beam.control_points[n];
            let mu = beam.mu * p.meterset_weight;
            let ([x1, x2], [y1, y2]) = (p.jaws.x, p.jaws.y);
            let text = format!(
                "{:>3} {mu:7.1} {:6.1} {x1:4.0} {x2:4.0} {y1:4.0} {y2:4.0}",
                n + 1,
                p.gantry_deg
            );
            let line = ui.selectable_label(n == current, RichText::new(text).small().monospace());
            if line.clicked() {
                to = n;
                goes_on = false;
            }
        }
    });
    ui.weak(
        RichText::new(
            "MU up to the control point. The views show the chosen one; leaves are edited there.",
        )
        .small(),
    );
    dose(ui, &state.results, beam, to, commands);
    if (to, goes_on) != (current, plays) {
        let action = ApertureAction::Show {
            beam: beam.number,
            point: to,
            plays: goes_on,
        };
        commands.push(Command::Aperture(action));
    }
}

/// Columns of the table: monitor units up to the point, gantry angle, jaws in mm.
const HEADINGS: &str = "  n      MU gantry   X1   X2   Y1   Y2";

/// Copies rows for a spreadsheet.
fn copies(ui: &mut Ui, beam: &Beam, current: usize) {
    ui.horizontal(|ui| {
        let hint =
            "Into the clipboard, with the leaves, for a spreadsheet: columns are told apart by tabulators";
        if ui.small_button("Copy row").on_hover_text(hint).clicked() {
            ui.ctx().copy_text(rows_text(beam, current..current + 1));
        }
        if ui.small_button("Copy all rows").on_hover_text(hint).clicked() {
            ui.ctx().copy_text(rows_text(beam, 0..beam.control_points.len()));
        }
    });
}

/// Control points as a table with headings: angles in degrees, jaws and leaves in mm.
fn rows_text(beam: &Beam, rows: Range<usize>) -> String {
    let mut heads: Vec<String> = [
        "point",
        "weight",
        "MU",
        "gantry",
        "collimator",
        "couch",
        "X1",
        "X2",
        "Y1",
        "Y2",
    ]
    .map(str::to_owned)
    .into();
    let pairs = beam.control_points.first().map_or(0, |p| p.leaves_mm.len());
    heads.extend((1..=pairs).flat_map(|pair| [format!("leaf {pair} A"), format!("leaf {pair} B")]));
    let mut lines = vec![heads.join("\t")];
    for n in rows {
        let Some(p) = beam.control_points.get(n) else {
            continue;
        };
        let numbers = [
            p.meterset_weight,
            beam.mu * p.meterset_weight,
            p.gantry_deg,
            p.collimator_deg,
            p.couch_deg,
            p.jaws.x[0],
            p.jaws.x[1],
            p.jaws.y[0],
            p.jaws.y[1],
        ];
        let values = numbers
            .into_iter()
            .chain(p.leaves_mm.iter().flatten().copied());
        // Six decimals keep a leaf to the nanometre; zeros behind them are left out.
        let words = values.map(|v| ((v * 1e6).round() / 1e6).to_string());
        lines.push(
            std::iter::once((n + 1).to_string())
                .chain(words)
                .collect::<Vec<_>>()
                .join("\t"),
        );
    }
    lines.join("\n") + "\n"
}

/// The switch that displays the dose of the selected control point.
fn dose(ui: &mut Ui, results: &CaseResults, beam: &Beam, point: usize, commands: &mut Commands) {
    let current = results.shown;
    let is_shown = matches!(current, Shown::Point(number, _) if number == beam.number);
    let mut on = is_shown;
    let by_beam = !results.is_monte_carlo() && is_computed(beam);
    let hint = "The views and the DVH show what is delivered from this control point to the next, before normalisation";
    let switch = ui.add_enabled(
        by_beam || on,
        egui::Checkbox::new(&mut on, "Dose of this control point alone"),
    );
    switch
        .on_hover_text(hint)
        .on_disabled_hover_text("Monte Carlo has no dose by control point");
    let next = match (on, is_shown) {
        (true, _) => Shown::Point(beam.number, point),
        (false, true) => Shown::Plan,
        (false, false) => current,
    };
    if next != current {
        commands.push(Command::ShowDose(next));
    }
}

/// The control point that the player has come to.
fn played(ui: &Ui, current: usize, count: usize) -> usize {
    let id = ui.scope_id().with("shown since");
    let time = ui.input(|i| i.time);
    let (point, since) = ui
        .data(|d| d.get_temp::<(usize, f64)>(id))
        .unwrap_or((usize::MAX, time));
    let since = if point == current { since } else { time };
    ui.data_mut(|d| d.insert_temp(id, (current, since)));
    let left = SHOWN_S - (time - since);
    ui.ctx()
        .request_repaint_after(Duration::from_secs_f64(left.clamp(0.005, SHOWN_S)));
    if left <= 0.0 {
        (current + 1).min(count - 1)
    } else {
        current
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use case::{GantryArc, Plan, Template};
    use glam::DVec3;

    #[test]
    fn copied_rows_have_a_column_for_every_number() {
        let plan = Plan::new("P", "generic-6mv");
        let arc = GantryArc {
            start_deg: 10.0,
            stop_deg: 0.0,
            clockwise: false,
        };
        let mut beam = Template::Arc(arc).beams(&plan, DVec3::ZERO).remove(0);
        for point in &mut beam.control_points {
            point.leaves_mm = vec![[-1.5, 2.25], [0.1 + 0.2, 4.0]];
        }
        let text = rows_text(&beam, 1..3);
        let cells: Vec<Vec<&str>> = text
            .lines()
            .map(|line| line.split('\t').collect())
            .collect();
        assert_eq!(cells.len(), 3, "headings and two rows");
        assert!(cells.iter().all(|row| row.len() == 14), "{text}");
        assert_eq!(cells[1][..4], ["2", "0.333333", "33.333333", "6.666667"]);
        assert_eq!(cells[1][10..], ["-1.5", "2.25", "0.3", "4"]);
        assert!(
            rows_text(&beam, 9..12).lines().count() == 1,
            "no rows that are not there"
        );
    }
}
