//! A beam among the others: its name, switch, weight, place in the order, copies.

use crate::command::{Command, Commands, gesture};
use crate::feature::plan::command::PlanAction;
use crate::kit::{field, fields, number};
use crate::state::State;
use case::{Beam, Edit, Plan};
use egui::{Button, Id, Ui};

/// A text field whose text is taken when the typing ends; an empty one is refused.
pub fn name_field(ui: &mut Ui, label: &str, id: Id, name: &str) -> Option<String> {
    let mut text = ui
        .data(|d| d.get_temp::<String>(id))
        .unwrap_or_else(|| name.to_owned());
    let response = ui
        .add(egui::TextEdit::singleline(&mut text).desired_width(150.0))
        .accessible_name(label);
    if response.has_focus() {
        ui.data_mut(|d| d.insert_temp(id, text));
        return None;
    }
    if !response.lost_focus() {
        ui.data_mut(|d| d.remove::<String>(id));
        return None;
    }
    ui.data_mut(|d| d.remove::<String>(id));
    let typed = text.trim().to_owned();
    (!typed.is_empty() && typed != name).then_some(typed)
}

pub fn show(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    index: usize,
    beam: &Beam,
    commands: &mut Commands,
) {
    fields(ui, "beam", |ui| {
        field(ui, "Name", |ui| {
            let id = Id::unique(("beam name", state.plan, beam.number));
            if let Some(typed) = name_field(ui, "Beam name", id, &beam.name) {
                let name = plan.free_beam_name(&typed, Some(index));
                let value = Beam {
                    name,
                    ..beam.clone()
                };
                commands.edit(Edit::SetBeam {
                    plan: state.plan,
                    beam: index,
                    value,
                });
            }
            let angles_name = beam.name_of_angles();
            if !beam.is_named_after_angles()
                && ui
                    .small_button(&angles_name)
                    .on_hover_text("Named after its angles")
                    .clicked()
            {
                let name = plan.free_beam_name(&angles_name, Some(index));
                let value = Beam {
                    name,
                    ..beam.clone()
                };
                commands.edit(Edit::SetBeam {
                    plan: state.plan,
                    beam: index,
                    value,
                });
            }
        });
        if beam.setup {
            return;
        }
        field(ui, "Deliver", |ui| {
            let mut on = !beam.off;
            let word = if on { "on" } else { "off: not in the dose" };
            if ui.checkbox(&mut on, word).changed() {
                let value = Beam {
                    off: !on,
                    ..beam.clone()
                };
                commands.edit(Edit::SetBeam {
                    plan: state.plan,
                    beam: index,
                    value,
                });
            }
        });
        if !beam.is_weighted() {
            return;
        }
        field(ui, "Weight", |ui| {
            let alone = plan.beams.iter().filter(|b| b.is_weighted()).count() < 2;
            let Some(mut percent) = plan.weight_percent(index) else {
                ui.weak("no beam has monitor units");
                return;
            };
            let response = ui
                .add_enabled_ui(!alone, |ui| {
                    number("Weight", &mut percent, " %")
                        .speed(0.2)
                        .range(0.0..=100.0)
                        .show(ui)
                })
                .inner
                .on_hover_text("Share of the plan's monitor units: the total stays")
                .on_disabled_hover_text("The only beam that is delivered has all monitor units");
            if response.changed() {
                let gesture = gesture(&response);
                commands.push(Command::Plans(PlanAction::Weight {
                    beam: index,
                    percent,
                    gesture,
                }));
            }
        });
    });
}

/// Copies, the opposing beam, the order, and the deletion of a beam.
pub fn buttons(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    index: usize,
    beam: &Beam,
    commands: &mut Commands,
) {
    ui.horizontal_wrapped(|ui| {
        if ui.button("Copy beam").clicked() {
            commands.push(Command::Plans(PlanAction::CopyBeam(index)));
        }
        let can = beam.read_only.is_none();
        let oppose = ui.add_enabled(can, Button::new("Opposing beam"));
        let why = "This beam is not computed here, nor is one like it";
        if oppose
            .on_hover_text("The same field from the other side")
            .on_disabled_hover_text(why)
            .clicked()
        {
            commands.push(Command::Plans(PlanAction::Oppose(index)));
        }
        let last = plan.beams.len().saturating_sub(1);
        if ui
            .add_enabled(index > 0, Button::new("Up"))
            .on_disabled_hover_text("It is the first")
            .clicked()
        {
            commands.push(Command::Plans(PlanAction::Reorder {
                beam: index,
                to: index - 1,
            }));
        }
        let down = ui.add_enabled(index < last, Button::new("Down"));
        if down.on_disabled_hover_text("It is the last").clicked() {
            commands.push(Command::Plans(PlanAction::Reorder {
                beam: index,
                to: index + 1,
            }));
        }
        if ui.button("Delete beam").clicked() {
            commands.edit(Edit::RemoveBeam {
                plan: state.plan,
                beam: index,
            });
        }
    });
}
