//! The question before a file is replaced.

use crate::command::{Command, Commands};
use crate::state::State;
use egui::{Label, Ui};

/// Shows the question about the first file that already exists.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(target) = state.replacing.first() else {
        return;
    };
    let name = target
        .path
        .file_name()
        .unwrap_or_default()
        .to_string_lossy();
    let modal = egui::Modal::new(egui::Id::unique("replacing")).show(ctx, |ui: &mut Ui| {
        ui.set_width(420.0);
        ui.heading(format!("Replace {name}?"));
        let text = format!(
            "{} is there already: what it holds would be lost.",
            target.path.display()
        );
        ui.add(Label::new(text).wrap());
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let keep = ui.button("Keep it");
            if ui.memory(|m| m.focused().is_none()) {
                keep.request_focus();
            }
            let replies = [(keep, false), (ui.button("Replace"), true)];
            replies
                .into_iter()
                .find(|(button, _)| button.clicked())
                .map(|(_, sure)| sure)
        })
        .inner
    });
    let escaped = modal.should_close().then_some(false);
    if let Some(sure) = modal.inner.or(escaped) {
        commands.push(Command::Replace(sure));
    }
}
