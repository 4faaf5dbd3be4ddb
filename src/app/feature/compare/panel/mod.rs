//! The panels of the Compare workspace: the choice of doses and their display on the left, the answer on the right,
//! DVHs and metrics of both below.

mod answer;
mod criteria;
mod doses;
mod drawing;
mod dvh;
mod report;

use crate::command::{Command, Commands};
use crate::feature::compare::state::Compare;
use crate::feature::goals;
use crate::kit::{held, theme};
use crate::state::State;
use egui::{Panel, ScrollArea, Ui};

/// Shows the panels round the views.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let mut next = state.compare.clone();
    // The views come first in a small window.
    let window = ui.ctx().content_rect();
    let small = window.width() < 1300.0 || window.height() < 800.0;
    Panel::left("compare settings")
        .frame(theme::panel_frame(ui))
        .default_size(if small { 232.0 } else { 292.0 })
        .size_range(230.0..=(0.29 * window.width()).clamp(232.0, 420.0))
        .show(ui, |ui| {
            held(ui, |ui| {
                ScrollArea::vertical().auto_shrink(false).show(ui, |ui| {
                    doses::show(ui, state, &mut next, commands);
                    criteria::show(ui, state, &mut next);
                    drawing::show(ui, state, &mut next, commands);
                    goals::panel::list(ui, state, commands);
                    report::show(ui, state, &mut next, commands);
                });
            });
        });
    // Until there are two doses the views have the place.
    if state.compare.sides.iter().all(Option::is_some) {
        figures(ui, state, small, commands);
    }
    Panel::right("compare answer")
        .frame(theme::panel_frame(ui))
        .default_size(if small { 244.0 } else { 316.0 })
        .size_range(240.0..=(0.31 * window.width()).clamp(244.0, 460.0))
        .show(ui, |ui| {
            held(ui, |ui| {
                ScrollArea::vertical()
                    .auto_shrink(false)
                    .show(ui, |ui| answer::show(ui, state, commands));
            });
        });
    set(state, next, commands);
}

/// DVHs and metrics of both doses, below the views.
fn figures(ui: &mut Ui, state: &State, small: bool, commands: &mut Commands) {
    Panel::bottom("compare figures")
        .frame(theme::panel_frame(ui))
        .default_size(if small { 190.0 } else { 250.0 })
        .size_range(90.0..=(0.38 * ui.ctx().content_rect().height()).clamp(150.0, 600.0))
        .show(ui, |ui| {
            dvh::show(ui, state, commands);
            ui.take_available_space();
        });
}

/// Pushes the settings if they changed.
fn set(state: &State, next: Compare, commands: &mut Commands) {
    if next != state.compare {
        commands.push(Command::Compare(next));
    }
}
