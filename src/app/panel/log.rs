//! The log: every message of this window with its time, newest first.

use super::notices;
use crate::command::{Command, Commands};
use crate::kit::theme;
use crate::state::{LogLine, NoticeKind, State};
use chrono::{DateTime, Local};
use egui::{Label, RichText, ScrollArea, Ui};
use std::time::SystemTime;

/// The button of the bar with the log under it.
pub fn menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let menu = ui.menu_button("Log", |ui| list(ui, state, commands));
    menu.response
        .on_hover_text("All messages of this window, also those dismissed");
}

fn list(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.set_width(560.0);
    let time = SystemTime::now();
    ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
        let mut case = None;
        for line in state.notices.log() {
            if case.replace(&line.case) != Some(&line.case) {
                ui.weak(theme::spelled(ui.ctx(), heading(line)));
            }
            let text = format!("{}  {}", clock(line.time, time), words(line));
            let text = RichText::new(theme::spelled(ui.ctx(), &text)).small();
            ui.add(Label::new(text.color(notices::colour(ui, line.kind))).wrap());
        }
        if case.is_none() {
            ui.weak("No message yet.");
        }
    });
    if ui.small_button("Copy the log").clicked() {
        let lines = state.notices.log();
        let lines: Vec<String> = lines
            .map(|l| format!("{}  {}  {}", clock(l.time, time), heading(l), words(l)))
            .collect();
        ui.ctx().copy_text(lines.join("\n"));
        commands.push(Command::Notice(
            NoticeKind::Success,
            "The log is on the clipboard.".to_owned(),
        ));
        ui.close();
    }
}

/// The case that a message belongs to.
fn heading(line: &LogLine) -> &str {
    if line.case.is_empty() {
        "Before a case"
    } else {
        &line.case
    }
}

/// `Warning: no such file (3 times)`.
fn words(line: &LogLine) -> String {
    let times = if line.times > 1 {
        format!(" ({} times)", line.times)
    } else {
        String::new()
    };
    format!("{}: {}{times}", line.kind.name(), line.text)
}

/// Local time of day, after the date where that is another than `today`'s.
fn clock(time: SystemTime, today: SystemTime) -> String {
    let [time, today] = [time, today].map(DateTime::<Local>::from);
    let format = if time.date_naive() == today.date_naive() {
        "%H:%M:%S"
    } else {
        "%Y-%m-%d %H:%M:%S"
    };
    time.format(format).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn a_line_of_another_day_has_its_date() {
        let noon = Local::now()
            .date_naive()
            .and_hms_opt(12, 3, 4)
            .and_then(|t| t.and_local_timezone(Local).earliest());
        let noon = SystemTime::from(noon.expect("a noon"));
        assert_eq!(clock(noon, noon), "12:03:04");
        let later = noon + Duration::from_secs(2 * 86_400);
        let dated = clock(noon, later);
        assert!(dated.ends_with(" 12:03:04") && dated.len() == 19, "{dated}");
    }
}
