//! Review and approval of a plan: who, when and why, and the read-only state that follows.

use crate::command::{Command, Commands};
use crate::feature::plan::command::PlanAction;
use crate::kit::{section, theme};
use crate::state::State;
use case::{NO_RELEASE, Plan, Stage};
use egui::{Button, Label, RichText, TextEdit, Ui};
use files::user_name;

/// Shows the record of a plan, and what the user may do about it.
pub fn show(ui: &mut Ui, state: &State, plan: &Plan, commands: &mut Commands) {
    section(ui, "Approval");
    let palette = theme::palette(ui);
    let colour = match plan.approval.as_ref().map(|approval| approval.stage) {
        Some(Stage::Approved) => palette.good,
        Some(Stage::Rejected) => palette.error,
        Some(Stage::Reviewed) | None => palette.text,
    };
    ui.colored_label(colour, sentence(&plan.approval_words()))
        .on_hover_text(NO_RELEASE);
    if plan.is_approved() {
        ui.weak("Read-only: copy the plan to change it, or take the approval back.");
        if ui
            .button("Take approval back")
            .on_hover_text("The plan can be changed again")
            .clicked()
        {
            commands.push(record(state.plan, None, ""));
        }
        return;
    }
    let id = egui::Id::unique(("reason of approval", state.plan));
    let mut reason: String = ui.data(|data| data.get_temp(id)).unwrap_or_default();
    let field = TextEdit::singleline(&mut reason)
        .desired_width(f32::INFINITY)
        .hint_text("reason or remark");
    if ui
        .add(field)
        .accessible_name("Reason of the approval")
        .changed()
    {
        ui.data_mut(|data| data.insert_temp(id, reason.clone()));
    }
    let user = user_name();
    let reservations = state.reservations_of_approval();
    let asks = egui::Id::unique(("question of approval", state.plan, &plan.name));
    ui.horizontal_wrapped(|ui| {
        for (words, stage, then) in [
            (
                "Reviewed",
                Stage::Reviewed,
                "A change of the plan ends the review",
            ),
            (
                "Approve",
                Stage::Approved,
                "The plan is read-only from then on",
            ),
        ] {
            let button = ui.add_enabled(!user.is_empty(), Button::new(words));
            let hint = format!("Recorded as by {user}, with the time. {then}. {NO_RELEASE}");
            let button = button
                .on_hover_text(hint)
                .on_disabled_hover_text("The system names no user");
            if !button.clicked() {
                continue;
            }
            if stage == Stage::Approved && !reservations.is_empty() {
                ui.data_mut(|data| data.insert_temp(asks, true));
                continue;
            }
            commands.push(record(state.plan, Some(stage), &reason));
            ui.data_mut(|data| data.remove_temp::<String>(id));
        }
        if plan.approval.is_some() && ui.button("Take back").clicked() {
            commands.push(record(state.plan, None, ""));
        }
        ui.weak(format!("as {user}"));
    });
    if reservations.is_empty() {
        // What spoke against it is gone: the question is not asked again by itself.
        ui.data_mut(|data| data.remove_temp::<bool>(asks));
        return;
    }
    if !ui.data(|data| data.get_temp(asks).unwrap_or(false)) {
        return;
    }
    if let Some(is_approved) = question(ui, &reservations) {
        if is_approved {
            commands.push(record(state.plan, Some(Stage::Approved), &reason));
            ui.data_mut(|data| data.remove_temp::<String>(id));
        }
        ui.data_mut(|data| data.remove_temp::<bool>(asks));
    }
}

fn record(plan: usize, stage: Option<Stage>, reason: &str) -> Command {
    Command::Plans(PlanAction::Record {
        plan,
        stage,
        reason: reason.to_owned(),
    })
}

/// Reservations against an approval, and the two ways on; `None` until one is chosen.
fn question(ui: &mut Ui, reservations: &[String]) -> Option<bool> {
    let palette = theme::palette(ui);
    ui.add_space(4.0);
    ui.colored_label(palette.warning, "Approve it all the same?");
    for words in reservations {
        ui.add(Label::new(RichText::new(words).small().color(palette.warning)).wrap());
    }
    ui.horizontal_wrapped(|ui| {
        let waits = ui.button("Not yet");
        let approves = ui.button("Approve all the same");
        if approves.clicked() {
            Some(true)
        } else {
            waits.clicked().then_some(false)
        }
    })
    .inner
}

/// The words with a capital letter.
fn sentence(words: &str) -> String {
    let mut letters = words.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}
