//! Unsaved work: the question before it is lost, and the offer to recover the unsaved work of earlier windows.

use crate::command::{Command, Commands};
use crate::kit::theme;
use crate::state::State;
use crate::state::unsaved::{Reply, Then};
use egui::{RichText, Ui};
use files::Recoverable;
use open::CaseWord;
use std::time::Duration;

/// More lines would leave no room for the views.
const MOST_LINES: usize = 4;

/// Shows the question, if any.
pub fn question(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(question) = state.question.as_ref().filter(|q| !q.saving) else {
        return;
    };
    let name = state.origin.as_ref().map(|o| o.name()).unwrap_or_default();
    let has_session = state.origin.as_ref().is_some_and(|o| o.session.is_some());
    let (heading, without) = match &question.then {
        Then::Close => ("Close the window?", "Close without saving"),
        Then::Open(_) | Then::Show(_) => ("Open another case?", "Open without saving"),
    };
    let modal = egui::Modal::new(egui::Id::unique("unsaved work")).show(ctx, |ui| {
        ui.set_width(420.0);
        ui.heading(heading);
        ui.label(format!("What was made of {name} is not saved."));
        ui.add(
            egui::Label::new(
                RichText::new(
                    "A session keeps plans, structures, the pose and how the case is looked at.",
                )
                .weak(),
            )
            .wrap(),
        );
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let save = ui.button(if has_session { "Save" } else { "Save as…" });
            if ui.memory(|m| m.focused().is_none()) {
                save.request_focus();
            }
            let replies = [
                (save, Reply::Save),
                (ui.button(without), Reply::Discard),
                (ui.button("Cancel"), Reply::Cancel),
            ];
            replies
                .into_iter()
                .find(|(button, _)| button.clicked())
                .map(|(_, reply)| reply)
        })
        .inner
    });
    let escaped = modal.should_close().then_some(Reply::Cancel);
    if let Some(reply) = modal.inner.or(escaped) {
        commands.push(Command::Reply(reply));
    }
}

/// Offers the unsaved work of closed windows.
pub fn recoverable(ui: &mut Ui, state: &State, commands: &mut Commands) {
    if state.recoverable.is_empty() {
        return;
    }
    let frame = egui::Frame::new()
        .fill(theme::palette(ui).raised)
        .stroke(egui::Stroke::new(1.0, theme::palette(ui).warning))
        .corner_radius(4)
        .inner_margin(egui::Margin::symmetric(8, 6))
        .outer_margin(egui::Margin {
            bottom: 4,
            ..egui::Margin::ZERO
        });
    frame.show(ui, |ui| {
        ui.horizontal(|ui| {
            ui.colored_label(
                theme::palette(ui).warning,
                RichText::new("Unsaved work").strong(),
            );
            ui.label("of a window that ended before it was saved.");
            if ui
                .small_button("Later")
                .on_hover_text("It is offered again at the next start")
                .clicked()
            {
                commands.push(Command::DismissRecoverable);
            }
        });
        for left in state.recoverable.iter().take(MOST_LINES) {
            line(ui, left, commands);
        }
        if let Some(more) = state
            .recoverable
            .len()
            .checked_sub(MOST_LINES)
            .filter(|n| *n > 0)
        {
            ui.weak(format!("and {more} older"));
        }
    });
}

fn line(ui: &mut Ui, left: &Recoverable, commands: &mut Commands) {
    ui.horizontal(|ui| {
        let age = left
            .written
            .and_then(|written| written.elapsed().ok())
            .map(ago)
            .unwrap_or_default();
        match &left.case {
            Ok(word) => {
                let name = word
                    .parse()
                    .map_or_else(|_| word.clone(), |w: CaseWord| w.short());
                if ui
                    .button(format!("Recover {name}"))
                    .on_hover_text(word)
                    .clicked()
                {
                    commands.push(Command::Recover(left.path.clone()));
                }
                ui.weak(age);
            }
            Err(why) => {
                let width = ui.available_width() - 80.0;
                let text = format!("Cannot be read, {age}: {why}");
                ui.allocate_ui(egui::vec2(width, 18.0), |ui| {
                    ui.add(
                        egui::Label::new(RichText::new(text).color(theme::palette(ui).error))
                            .wrap(),
                    );
                });
            }
        }
        if ui.small_button("Discard").clicked() {
            commands.push(Command::DiscardLeftOver(left.path.clone()));
        }
    });
}

/// The age of unsaved work, in words.
fn ago(age: Duration) -> String {
    let minutes = age.as_secs() / 60;
    let (count, unit) = match minutes {
        0 => return "just now".to_owned(),
        1..60 => (minutes, "minute"),
        60..1440 => (minutes / 60, "hour"),
        _ => (minutes / 1440, "day"),
    };
    format!("{count} {unit}{} ago", if count == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_are_said_in_words() {
        for (seconds, want) in [
            (59, "just now"),
            (60, "1 minute ago"),
            (7200, "2 hours ago"),
            (86_400, "1 day ago"),
        ] {
            assert_eq!(ago(Duration::from_secs(seconds)), want);
        }
    }
}
