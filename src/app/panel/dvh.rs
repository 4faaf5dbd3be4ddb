//! Dose-volume histograms.

use crate::app::command::Commands;
use crate::app::state::State;
use egui::Ui;

/// Shows the DVHs of the structures on show.
pub fn show(ui: &mut Ui, state: &State, _commands: &mut Commands) {
    if state.follow.shown_dose().is_none() {
        ui.weak("No dose yet.");
    }
}
