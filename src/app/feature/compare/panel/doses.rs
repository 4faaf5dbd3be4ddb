//! The choice of A and B, their status, and new doses computed from them.

use crate::command::{Command, Commands};
use crate::feature::compare::state::Compare;
use crate::feature::start::panel::tour;
use crate::feature::start::state::Stop;
use crate::kit::{number, section, status_with_caveats, theme};
use crate::state::State;
use crate::state::files::FileAction;
use crate::state::results::CaseResults;
use analysis::Side;
use case::{Dose, DoseStatus};
use egui::{Button, ComboBox, Label, RichText, Ui};

pub fn show(ui: &mut Ui, state: &State, next: &mut Compare, commands: &mut Commands) {
    section(ui, "Doses");
    for side in Side::BOTH {
        choice(ui, state, side, next);
    }
    tour::mark(ui, Stop::Compare, ui.min_rect());
    ui.horizontal_wrapped(|ui| {
        if ui.small_button("Swap A and B").clicked() {
            next.sides.swap(0, 1);
        }
        let hint = "An RTDOSE file, or a .mha volume in Gy; it becomes a dose of the case";
        if ui.small_button("Open dose…").on_hover_text(hint).clicked() {
            commands.push(Command::Pick(FileAction::OpenDose));
        }
    });
    if let Some(why) = state.results.pair_refusal() {
        ui.add(Label::new(RichText::new(why).color(theme::palette(ui).error)).wrap());
    } else if let Some(note) = state.results.pair_note() {
        ui.add(
            Label::new(
                RichText::new(note)
                    .small()
                    .color(theme::palette(ui).warning),
            )
            .wrap(),
        );
    }
    let unsure = state
        .results
        .pair_status()
        .filter(|s| !matches!(s, DoseStatus::Final | DoseStatus::Imported));
    if let Some(status) = unsure {
        let text = format!("One of the doses is {status}: so is everything below.");
        ui.add(
            Label::new(
                RichText::new(text)
                    .small()
                    .color(theme::palette(ui).warning),
            )
            .wrap(),
        );
    }
    ui.collapsing(RichText::new("New dose from A and B").small(), |ui| {
        new_dose(ui, &state.results, next, commands)
    });
}

fn choice(ui: &mut Ui, state: &State, side: Side, next: &mut Compare) {
    let sources = state.results.sources(state.case(), state.plan);
    let chosen = next.sides[side.index()];
    let label = sources
        .iter()
        .find(|(s, ..)| Some(*s) == chosen)
        .map_or("choose a dose", |(_, l, _)| l);
    ui.horizontal(|ui| {
        ui.label(RichText::new(side.name()).strong().size(16.0));
        let style = if side == Side::A { "solid" } else { "dashed" };
        let width = (ui.available_width() - 104.0).max(70.0);
        let combo = ComboBox::from_id_salt(("side", side.index()))
            .selected_text(label)
            .width(width)
            .truncate();
        // The combo box is as wide as its text, within a limit that leaves the status in place.
        let scope = ui.scope(|ui| {
            ui.set_max_width(width + 22.0);
            combo.show_ui(ui, |ui| {
                for (source, label, status) in &sources {
                    let status = status.map_or("not computed", DoseStatus::word);
                    let text = format!("{label}  ({status})");
                    if ui.selectable_label(chosen == Some(*source), text).clicked() {
                        next.sides[side.index()] = Some(*source);
                    }
                }
                if sources.is_empty() {
                    ui.weak("The case has no dose and no plan.");
                }
            })
        });
        scope
            .inner
            .response
            .accessible_name(format!("Dose {}", side.name()));
        if let Some(dose) = state.results.side(side) {
            status_with_caveats(ui, dose.status, &dose.caveats, &dose.remarks)
                .on_hover_text(format!("{} lines", style));
        }
    });
    match (state.results.side(side), state.results.side_failure(side)) {
        (dose, Some(why)) => {
            ui.add(Label::new(RichText::new(why).small().color(theme::palette(ui).error)).wrap());
            dose.into_iter()
                .for_each(|dose| about(ui, &state.results, side, dose));
        }
        (Some(dose), None) => about(ui, &state.results, side, dose),
        (None, None) if chosen.is_some() => {
            ui.label(
                RichText::new("being computed…")
                    .small()
                    .color(theme::palette(ui).warning),
            );
        }
        (None, None) => {
            let text = match state.compare.sides.iter().any(Option::is_some) {
                true => {
                    "Choose a second dose, open one, or keep a copy of the first below and change the plan."
                }
                false => "A plan, one of its beams, or a dose of a file.",
            };
            ui.add(Label::new(RichText::new(text).small().color(theme::palette(ui).weak)).wrap());
        }
    }
}

/// Maximum, grid and frame of reference.
fn about(ui: &mut Ui, results: &CaseResults, side: Side, dose: &Dose) {
    let [nx, ny, nz] = dose.gy.grid().size();
    let max_gy = results.side_max_gy(side).unwrap_or_default();
    let line = format!("max {max_gy:.2} Gy   {nx} × {ny} × {nz} voxels");
    ui.label(RichText::new(line).small().color(theme::palette(ui).weak));
    let frame = dose.frame_of_reference_uid.trim();
    let frame = if frame.is_empty() {
        "not named".to_owned()
    } else {
        shortened(frame)
    };
    let line = RichText::new(format!("frame of reference {frame}"))
        .small()
        .color(theme::palette(ui).weak);
    ui.add(Label::new(line).truncate())
        .on_hover_text(&dose.frame_of_reference_uid);
}

/// UIDs differ at their end, so the end is shown.
fn shortened(uid: &str) -> String {
    const KEPT: usize = 26;
    let count = uid.chars().count();
    if count <= KEPT {
        uid.to_owned()
    } else {
        format!("…{}", uid.chars().skip(count - KEPT).collect::<String>())
    }
}

fn new_dose(ui: &mut Ui, results: &CaseResults, next: &mut Compare, commands: &mut Commands) {
    let pair = results.pair().is_some();
    ui.horizontal_wrapped(|ui| {
        let copy_hint = "Stays as it is while the plan changes";
        let [has_a, has_b] = Side::BOTH.map(|side| results.side(side).is_some());
        for (enabled, word, hint, weights) in [
            (has_a, "Copy of A", copy_hint, [1.0, 0.0]),
            (has_b, "Copy of B", copy_hint, [0.0, 1.0]),
            (pair, "A + B", "The sum as a dose of its own", [1.0, 1.0]),
            (
                pair,
                "B - A",
                "The difference as a dose of its own",
                [-1.0, 1.0],
            ),
        ] {
            if ui
                .add_enabled(enabled, Button::new(word).small())
                .on_hover_text(hint)
                .clicked()
            {
                commands.push(Command::MakeDose(weights));
            }
        }
    });
    ui.horizontal(|ui| {
        let [a, b] = &mut next.weights;
        number("Weight of A", a, "")
            .speed(0.01)
            .decimals(2)
            .range(-100.0..=100.0)
            .show(ui);
        ui.label("× A +");
        number("Weight of B", b, "")
            .speed(0.01)
            .decimals(2)
            .range(-100.0..=100.0)
            .show(ui);
        ui.label("× B");
        if ui
            .add_enabled(pair, Button::new("Make").small())
            .accessible_name("Make weighted dose")
            .clicked()
        {
            commands.push(Command::MakeDose(next.weights));
        }
    });
}
