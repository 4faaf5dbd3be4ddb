//! Messages that stay until dismissed.

use crate::command::{Command, Commands};
use crate::state::{NoticeKind, State};
use crate::theme;
use egui::{Id, Ui};

/// Shows the notices, newest last, above the views. One that comes in a drag waits for its end: no view may move under
/// the pointer.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let id = Id::unique("newest notice on screen");
    let held: Option<u64> = ui.data(|d| d.get_temp(id)).filter(|_| ui.input(|i| i.pointer.any_down()));
    let newest = held.unwrap_or_else(|| state.notices.iter().map(|n| n.id).max().unwrap_or(0));
    ui.data_mut(|d| d.insert_temp(id, newest));
    for notice in state.notices.iter().filter(|n| n.id <= newest) {
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
