//! The question before a structure is deleted that a plan refers to.

use crate::command::{Command, Commands};
use crate::state::State;
use egui::Ui;

pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let case = state.case();
    let Some(structure) = state.removal.and_then(|n| case.structures.by_number(n)) else {
        return;
    };
    let plans = case.plans_normalised_to(structure.number);
    let names: Vec<&str> = plans
        .iter()
        .filter_map(|n| Some(case.plans.get(*n)?.name.as_str()))
        .collect();
    let modal = egui::Modal::new(egui::Id::unique("removal")).show(ctx, |ui: &mut Ui| {
        ui.set_width(380.0);
        ui.heading(format!("Delete {}?", structure.name));
        let (plans, have) = if names.len() == 1 { ("plan", "has") } else { ("plans", "have") };
        ui.label(format!(
            "The {plans} {} {} normalised to it. Without it the {plans} {have} no dose until another structure is chosen for the \
             normalisation.",
            names.join(", "),
            if names.len() == 1 { "is" } else { "are" },
        ));
        ui.add_space(8.0);
        ui.horizontal(|ui| {
            if ui.button("Keep the structure").clicked() {
                commands.push(Command::AskRemoval(None));
            }
            if ui.button("Delete it all the same").clicked() {
                commands.push(Command::RemoveStructure { number: structure.number, sure: true });
            }
        });
    });
    if modal.should_close() {
        commands.push(Command::AskRemoval(None));
    }
}
