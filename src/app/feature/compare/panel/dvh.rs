//! DVHs of both doses, and their metrics side by side with differences.

use crate::command::{Command, Commands};
use crate::feature::dose::panel::dvh::{Axes, Curve, axes_choice, plot};
use crate::feature::goals::panel::verdict_text;
use crate::kit::theme::Palette;
use crate::kit::{status_chip, theme, whole};
use crate::state::{Selection, State};
use analysis::{DvhPair, MetricUnit, Side, difference_colour, met_text};
use case::{DoseStatus, Structure, StructureKind};
use egui::{Grid, Label, RichText, ScrollArea, Sense, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let rows = state.dvh_pairs();
    ui.horizontal(|ui| {
        ui.label(
            RichText::new("DVH")
                .strong()
                .size(12.0)
                .color(theme::palette(ui).weak),
        );
        ui.label(RichText::new("A solid, B dashed").small());
        if let Some(status) = state.results.pair_status() {
            let behind = !state.results.side_dvhs_current();
            status_chip(
                ui,
                if behind {
                    status.worst(DoseStatus::Stale)
                } else {
                    status
                },
            );
        }
        axes_choice(ui, state, commands);
    });
    if rows.is_empty() {
        ui.weak(match (state.results.pair(), state.results.pair_refusal()) {
            (Some(_), _) => "No structure on show has a DVH in both doses yet.",
            (None, Some(_)) => "A and B cannot be compared.",
            (None, None) => "Choose two doses on the left.",
        });
        return;
    }
    let axes = Axes::new(state.dvh_display, state.compare_reference());
    let width = 780.0_f32.min(0.76 * ui.available_width());
    let frame = egui::Frame::new().inner_margin(egui::Margin {
        left: 10,
        ..egui::Margin::ZERO
    });
    egui::Panel::right("compare table")
        .frame(frame)
        .resizable(false)
        .exact_size(width)
        .show(ui, |ui| {
            ScrollArea::both()
                .auto_shrink(false)
                .id_salt("compare table")
                .show(ui, |ui| {
                    goals(ui, state);
                    table(ui, state, &rows, commands);
                });
        });
    let mut curves: Vec<Curve<'_>> = Vec::new();
    for row in &rows {
        for (n, dvh) in row.dvhs.into_iter().enumerate() {
            curves.push(Curve {
                structure: row.structure,
                dvh,
                dashed: n == 1,
            });
        }
    }
    // In the order of the tree.
    curves.sort_by_key(|c| c.structure.kind.min(StructureKind::Organ));
    egui::CentralPanel::default()
        .frame(egui::Frame::new())
        .show(ui, |ui| plot(ui, state, &axes, &curves));
}

fn small(text: impl Into<String>) -> RichText {
    RichText::new(text).small()
}

/// Red where B is higher, blue where it is lower, as in the difference; dimmed where it hardly matters.
fn difference_text(colours: &Palette, value: f64, matters_from: f64, digits: usize) -> RichText {
    let text = small(format!("{value:+.digits$}"));
    if value.abs() < matters_from {
        return text.color(colours.weak);
    }
    text.color(colours.legible(theme::colour(difference_colour(value.signum() * 0.45))))
        .strong()
}

fn table(ui: &mut Ui, state: &State, rows: &[DvhPair<'_>], commands: &mut Commands) {
    let reference_gy = state.compare_reference().map(|(gy, _)| gy);
    let metrics = DvhPair::metrics(reference_gy);
    ui.spacing_mut().interact_size.y = 15.0;
    let colours = theme::palette(ui);
    Grid::new("compare figures")
        .striped(true)
        .spacing([5.0, 2.0])
        .show(ui, |ui| {
            ui.label(small("changed most first").color(colours.weak));
            for metric in &metrics {
                for heading in [
                    format!("{metric} A"),
                    "B".to_owned(),
                    format!("B-A {}", metric.unit().symbol()),
                ] {
                    whole(ui, small(heading).color(colours.weak));
                }
            }
            ui.end_row();
            for row in rows {
                name(ui, state, row.structure, commands);
                for metric in &metrics {
                    let [a, b] = row.values(*metric, reference_gy);
                    for value in [a, b] {
                        whole(
                            ui,
                            small(value.map_or("-".to_owned(), |v| format!("{v:.2}"))),
                        );
                    }
                    // A fiftieth of a Gy in two columns of the same size is noise; a percent of 100 % is not.
                    let matters = match metric.unit() {
                        MetricUnit::Gy => reference_gy.unwrap_or(10.0) * 0.01,
                        MetricUnit::Percent | MetricUnit::Cm3 => 1.0,
                        MetricUnit::One => 0.01,
                    };
                    match a.zip(b) {
                        Some((a, b)) => whole(ui, difference_text(colours, b - a, matters, 2)),
                        None => whole(ui, small("-").color(colours.weak)),
                    };
                }
                ui.end_row();
            }
        });
    for row in rows {
        for (side, dvh) in Side::BOTH.into_iter().zip(row.dvhs) {
            for remark in dvh.remarks() {
                let text = format!("{} in {}: {remark}", row.structure.name, side.name());
                ui.add(Label::new(small(text).color(theme::palette(ui).warning)).wrap());
            }
        }
    }
}

fn name(ui: &mut Ui, state: &State, structure: &Structure, commands: &mut Commands) {
    let selected = state.selection == Selection::Structure(structure.number);
    ui.horizontal(|ui| {
        ui.set_width(96.0);
        let (rect, _) = ui.allocate_exact_size(vec2(10.0, 10.0), Sense::hover());
        theme::swatch(ui, rect, structure.colour);
        let text = small(&structure.name);
        let text = if selected { text.strong() } else { text };
        let label = ui.add(Label::new(text).truncate().sense(Sense::click()));
        if label
            .accessible_name(format!("Compare {}", structure.name))
            .clicked()
        {
            commands.push(Command::Select(Selection::Structure(structure.number)));
        }
    });
}

/// Goals of both doses side by side.
fn goals(ui: &mut Ui, state: &State) {
    let rows = Side::BOTH.map(|side| state.side_scorecard(side));
    if rows[0].is_empty() {
        return;
    }
    ui.spacing_mut().interact_size.y = 15.0;
    let status = state.results.pair_status();
    let behind = !state.results.side_dvhs_current();
    let reserved = behind || !matches!(status, Some(DoseStatus::Final | DoseStatus::Imported));
    let [a, b] = &rows;
    Grid::new("compare goals")
        .striped(true)
        .spacing([10.0, 2.0])
        .show(ui, |ui| {
            let [met_a, met_b] = rows.each_ref().map(|rows| met_text(rows));
            for heading in [
                "Goal".to_owned(),
                format!("A: {met_a}"),
                format!("B: {met_b}"),
                String::new(),
            ] {
                let heading = small(heading).color(theme::palette(ui).weak);
                whole(ui, heading);
            }
            ui.end_row();
            for (a, b) in a.iter().zip(b) {
                whole(ui, small(a.goal.to_string()));
                for row in [a, b] {
                    ui.horizontal(|ui| {
                        let verdict = ui.label(verdict_text(ui, &row.answer, reserved));
                        match &row.answer {
                            Ok(outcome) => {
                                let unit = row.goal.unit().symbol();
                                whole(ui, small(format!("{:.2} {unit}", outcome.value)));
                                verdict.on_hover_text(outcome.told(&row.goal));
                            }
                            Err(why) => _ = verdict.on_hover_text(why.to_string()),
                        }
                    });
                }
                ui.label(
                    match (
                        !a.is_undecided() && !b.is_undecided(),
                        a.is_met(),
                        b.is_met(),
                    ) {
                        (true, true, false) => small("lost in B").color(theme::palette(ui).error),
                        (true, false, true) => small("won in B").color(theme::palette(ui).good),
                        _ => small(""),
                    },
                );
                ui.end_row();
            }
        });
    if let Some((gy, name)) = state.compare_goal_hundred() {
        ui.label(
            small(format!("Goals in percent are of {gy:.2} Gy ({name})."))
                .color(theme::palette(ui).weak),
        );
    }
    ui.add_space(4.0);
}
