//! The log: every message of this window, and the jobs that failed.

use crate::command::{Command, Commands};
use crate::state::{JobEnd, NoticeKind, State};
use crate::theme;
use egui::{Label, RichText, ScrollArea, Ui};
use std::time::{SystemTime, UNIX_EPOCH};

/// The button of the bar with the log under it.
pub fn menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let menu = ui.menu_button("Log", |ui| list(ui, state, commands));
    menu.response.on_hover_text("All messages of this window, also those dismissed");
}

fn list(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.set_width(560.0);
    ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
        let failed = state.jobs.finished.iter().filter_map(|job| match &job.end {
            JobEnd::Failed(why) => Some(format!("{} failed: {why}", job.name)),
            JobEnd::Done(_) => None,
        });
        for text in failed {
            ui.add(Label::new(RichText::new(text).small().color(theme::of(ui).error)).wrap());
        }
        if state.notices.log().next().is_none() {
            ui.weak("No message yet.");
        }
        for (time, kind, text) in state.notices.log() {
            let (colour, word) = match kind {
                NoticeKind::Info => (theme::of(ui).text, "note"),
                NoticeKind::Warning => (theme::of(ui).warning, "warning"),
                NoticeKind::Error => (theme::of(ui).error, "error"),
            };
            let line = format!("{}  {word}: {text}", clock(*time));
            ui.add(Label::new(RichText::new(line).small().color(colour)).wrap());
        }
    });
    if ui.small_button("Copy the log").clicked() {
        let lines = state.notices.log().map(|(time, _, text)| format!("{}  {text}", clock(*time)));
        ui.ctx().copy_text(lines.collect::<Vec<_>>().join("\n"));
        commands.push(Command::Notice(NoticeKind::Info, "The log is on the clipboard.".to_owned()));
        ui.close();
    }
}

/// Time of day, UTC.
fn clock(time: SystemTime) -> String {
    let s = time.duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() % 86_400);
    format!("{:02}:{:02}:{:02} UTC", s / 3600, s / 60 % 60, s % 60)
}
