//! Questions about objects of several patient IDs: whose of a folder are opened, and whether an X-ray or a dose is of the
//! case's patient.

use crate::command::{Command, Commands};
use crate::feature::open::state::PatientReply;
use crate::feature::register::command::RegisterAction;
use crate::kit::theme;
use crate::state::State;
use egui::{Label, RichText};

const WIDTH: f32 = 520.0;

pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    folder(ctx, state, commands);
    xray(ctx, state, commands);
    dose(ctx, state, commands);
}

/// Whether a dose of another patient is of the case's patient.
fn dose(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(strange) = state.strange_doses.first() else {
        return;
    };
    let text = "To answer yes is to say that both are one patient. If they are not, its DVHs, goals and gamma are of one patient's \
                dose in another's body. The dose says the answer wherever it is shown.";
    let answer = asked(
        ctx,
        "strange dose",
        "Is this dose of the same patient?",
        &format!("{}.", strange.why),
        text,
    );
    commands.extend(answer.map(Command::ReplyDose));
}

/// A question about one object of another patient; leaving it out has the focus.
fn asked(ctx: &egui::Context, id: &str, heading: &str, what: &str, warning: &str) -> Option<bool> {
    let modal = egui::Modal::new(egui::Id::unique(id)).show(ctx, |ui| {
        ui.set_width(WIDTH);
        ui.heading(heading);
        ui.add(Label::new(theme::spelled(ui.ctx(), what)).wrap());
        ui.add_space(6.0);
        ui.add(Label::new(RichText::new(warning).color(theme::palette(ui).warning)).wrap());
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let no = ui.button("Leave it out");
            if ui.memory(|m| m.focused().is_none()) {
                no.request_focus();
            }
            let yes = ui.button("They are one patient: show it");
            [(no, false), (yes, true)]
                .into_iter()
                .find(|(button, _)| button.clicked())
                .map(|(_, yes)| yes)
        })
        .inner
    });
    modal.inner.or(modal.should_close().then_some(false))
}

/// Whether an X-ray of another patient ID is of the case's patient.
fn xray(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(strange) = state.register.strange.first() else {
        return;
    };
    let what = format!(
        "{} is of the patient ID {}, the CT of {}.",
        strange.label, strange.theirs, strange.ours
    );
    let text = "To answer yes is to say that both IDs are one patient. If they are not, a pose found here is of one patient \
                before the X-ray of another. The answer is kept in the session; the registration and exports say it.";
    let answer = asked(
        ctx,
        "strange x-ray",
        "Is this X-ray of the same patient?",
        &what,
        text,
    );
    commands
        .extend(answer.map(|accepted| Command::Register(RegisterAction::IsOfPatient(accepted))));
}

fn folder(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let Some(question) = &state.patients else {
        return;
    };
    let modal = egui::Modal::new(egui::Id::unique("patients")).show(ctx, |ui| {
        ui.set_width(WIDTH);
        ui.heading("Whose objects are to be opened?");
        let count = question.patients.len();
        ui.label(format!("{} holds objects of {count} patient IDs:", question.opening.word.short()));
        ui.add_space(4.0);
        let mut reply = None;
        for (n, choice) in question.patients.iter().enumerate() {
            let who = theme::spelled(ui.ctx(), &who(&choice.patient.name, &choice.patient.id)).into_owned();
            ui.horizontal(|ui| {
                let button = ui.add_enabled(choice.alone.is_some(), egui::Button::new(format!("Open {who} alone")));
                if button.clicked() {
                    reply = Some(PatientReply::Alone(n));
                }
                ui.weak(&choice.holds);
            });
        }
        ui.add_space(6.0);
        let text = "To open them together is to answer that they are one patient: structures, plans and doses of one ID are \
                    then shown and computed on the images of another, where frame of reference or references tie them to these. If \
                    they are not one patient, doses and contours lie in the wrong body. The answer is kept in the session; doses, \
                    reports, second checks and exports say it.";
        ui.add(Label::new(RichText::new(text).color(theme::palette(ui).warning)).wrap());
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            let cancel = ui.button("Open nothing");
            if ui.memory(|m| m.focused().is_none()) {
                cancel.request_focus();
            }
            if cancel.clicked() {
                reply = Some(PatientReply::Cancel);
            }
            if ui.button("They are one patient: open together").clicked() {
                reply = Some(PatientReply::Together);
            }
        });
        reply
    });
    let escaped = modal.should_close().then_some(PatientReply::Cancel);
    if let Some(reply) = modal.inner.or(escaped) {
        commands.push(Command::ReplyPatients(reply));
    }
}

/// A patient's name and ID, as far as the files have them.
pub fn who(name: &str, id: &str) -> String {
    match (name.replace('^', " ").trim(), id.trim()) {
        ("", "") => "one without name and ID".to_owned(),
        ("", id) => id.to_owned(),
        (name, "") => name.to_owned(),
        (name, id) => format!("{name} ({id})"),
    }
}
