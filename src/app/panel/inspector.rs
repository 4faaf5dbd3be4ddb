//! The inspector: all editable properties of the selection.

use crate::command::Commands;
use crate::feature::{beam, ct, dose, plan, structures};
use crate::state::{Selection, State};
use egui::Ui;

/// Shows the inspector of the selection.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    egui::ScrollArea::vertical()
        .auto_shrink(false)
        .show(ui, |ui| match state.selection {
            Selection::Nothing => {
                ui.weak("Select a series, structure, plan, beam or dose on the left.");
            }
            Selection::Ct => ct::panel::show(ui, state, commands),
            Selection::Plan => plan::panel::show(ui, state, commands),
            Selection::Beam(_) => beam::panel::show(ui, state, commands),
            Selection::Structure(_) => structures::panel::show(ui, state, commands),
            Selection::DoseDisplay => dose::panel::show(ui, state, commands),
        });
}
