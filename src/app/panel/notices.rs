//! Messages that stay until dismissed.

use crate::app::command::{Command, Commands};
use crate::app::state::{NoticeKind, State};
use crate::app::theme;
use egui::Ui;

/// Shows the notices, newest last, above the views.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    for notice in state.notices.iter() {
        let (colour, word) = match notice.kind {
            NoticeKind::Info => (theme::of(ui).accent, "Note"),
            NoticeKind::Warning => (theme::of(ui).warning, "Warning"),
            NoticeKind::Error => (theme::of(ui).error, "Error"),
        };
        let frame = egui::Frame::new()
            .fill(theme::of(ui).tint(colour))
            .stroke(egui::Stroke::new(1.0, colour.gamma_multiply(0.6)))
            .corner_radius(4)
            .inner_margin(egui::Margin::symmetric(8, 4))
            .outer_margin(egui::Margin { bottom: 4, ..egui::Margin::ZERO });
        frame.show(ui, |ui| {
            ui.horizontal(|ui| {
                ui.colored_label(colour, egui::RichText::new(word).strong());
                let width = ui.available_width() - 70.0;
                ui.allocate_ui(egui::vec2(width, 18.0), |ui| {
                    ui.set_width(width);
                    ui.add(egui::Label::new(&notice.text).wrap());
                });
                if ui.small_button("Dismiss").clicked() {
                    commands.push(Command::Dismiss(notice.id));
                }
            });
        });
    }
}
