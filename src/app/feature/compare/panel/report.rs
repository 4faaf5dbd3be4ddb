//! The report of the comparison.

use crate::command::{Command, Commands};
use crate::feature::compare::state::Compare;
use crate::kit::section;
use crate::state::State;
use crate::state::files::FileAction;
use egui::{TextEdit, Ui};
use std::path::PathBuf;

/// Shows the buttons that write the report.
pub fn show(ui: &mut Ui, state: &State, next: &mut Compare, commands: &mut Commands) {
    section(ui, "Report");
    ui.add_enabled_ui(state.results.pair().is_some(), |ui| {
        ui.horizontal(|ui| {
            let field = TextEdit::singleline(&mut next.report_path)
                .desired_width(150.0)
                .hint_text("path");
            ui.add(field).accessible_name("Path of the report");
            let hint =
                "PDF with pictures, or figures as .csv or .json; without a path the desktop asks";
            if ui.button("Write report").on_hover_text(hint).clicked() {
                let path = next.report_path.trim();
                commands.push(match path {
                    "" => Command::Pick(FileAction::SaveReport),
                    path => Command::SaveReport(PathBuf::from(path)),
                });
            }
        });
        ui.weak(".pdf, .csv or .json");
    });
}
