//! The panels of the Register workspace: images and their display on the left, the pose and its search on the right.

mod geometry;
mod images;
mod pose;
mod search;

use crate::command::Commands;
use crate::kit::theme;
use crate::state::State;
use egui::{Panel, ScrollArea, Ui};

/// Shows both, and the dialog if an X-ray lacks its geometry.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    geometry::show(ui.ctx(), state, commands);
    if state.register.images().is_empty() {
        return;
    }
    let left = Panel::left("register images").frame(theme::panel_frame(ui));
    left.default_size(252.0)
        .size_range(200.0..=420.0)
        .show(ui, |ui| {
            ScrollArea::vertical()
                .auto_shrink(false)
                .id_salt("register images")
                .show(ui, |ui| {
                    images::show(ui, state, commands);
                });
        });
    let right = Panel::right("register pose").frame(theme::panel_frame(ui));
    right
        .default_size(330.0)
        .size_range(300.0..=480.0)
        .show(ui, |ui| {
            ScrollArea::vertical()
                .auto_shrink(false)
                .id_salt("register pose")
                .show(ui, |ui| {
                    pose::show(ui, state, commands);
                    search::show(ui, state, commands);
                    pose::couch(ui, state);
                    pose::save(ui, state, commands);
                });
        });
}
