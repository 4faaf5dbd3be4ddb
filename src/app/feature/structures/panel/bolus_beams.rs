//! Which boluses lie on the patient for which beams.

use crate::command::Commands;
use crate::kit::{field, fields, section};
use crate::state::State;
use case::{Beam, Edit, Plan, Structure, StructureKind};
use egui::Ui;

/// The boluses of the case, each on or off for a beam, which has this index in the displayed plan.
pub fn of_beam(ui: &mut Ui, state: &State, index: usize, beam: &Beam, commands: &mut Commands) {
    let set = &state.case().structures.structures;
    for bolus in set.iter().filter(|s| s.kind == StructureKind::Bolus) {
        let mut on = beam.meets(bolus);
        let switch = ui
            .checkbox(&mut on, &bolus.name)
            .accessible_name(format!("{} for this beam", bolus.name));
        if switch
            .on_hover_text("Unticked, it is taken off for this beam")
            .changed()
        {
            let mut value = beam.clone();
            value.set_bolus(&bolus.name, on);
            commands.edit(Edit::SetBeam {
                plan: state.plan,
                beam: index,
                value,
            });
        }
    }
}

/// The treatment beams of the displayed plan, each with a bolus or without.
pub fn of_bolus(ui: &mut Ui, state: &State, bolus: &Structure, commands: &mut Commands) {
    let Some(plan) = state.plan().filter(|_| bolus.kind == StructureKind::Bolus) else {
        return;
    };
    section(ui, "Beams");
    let mut next = Plan::clone(plan);
    fields(ui, "bolus beams", |ui| {
        field(ui, "It lies on for", |ui| {
            ui.vertical(|ui| {
                for beam in next.beams.iter_mut().filter(|b| !b.setup) {
                    let mut on = beam.meets(bolus);
                    let switch = ui.checkbox(&mut on, &beam.name);
                    if switch
                        .accessible_name(format!("Bolus for {}", beam.name))
                        .changed()
                    {
                        beam.set_bolus(&bolus.name, on);
                    }
                }
            });
        });
    });
    if next != **plan {
        commands.edit(Edit::SetPlan {
            plan: state.plan,
            value: next,
        });
    }
}
