//! Plans and beams in the tree.

use crate::command::{Command, Commands};
use crate::feature::plan::command::PlanAction;
use crate::feature::{beam, plan, protocol};
use crate::kit::{lasting_menu, row, section, small_menu, theme};
use crate::state::{Selection, State};
use case::{Beam, DoseStatus, Edit, Plan, Template};
use egui::{Button, Sense, Ui, vec2};

pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.add_space(4.0);
    section(ui, "Plans");
    if state.case().plans.is_empty() {
        ui.weak("No plan");
    }
    for (index, plan) in state.case().plans.iter().enumerate() {
        plan_row(ui, state, index, plan, commands);
    }
    plan_buttons(ui, state, commands);
    let Some(plan) = state.plan() else {
        plan::panel::refused_plans(ui, state.case());
        return;
    };
    let shares = plan.whole_percents();
    for (index, share) in shares.into_iter().enumerate() {
        beam_row(ui, state, plan, index, share, commands);
    }
    let misfits = state.misfits().len();
    if misfits > 0 {
        let text = match misfits {
            1 => "1 aperture no longer fits".to_owned(),
            count => format!("{count} apertures no longer fit"),
        };
        ui.horizontal_wrapped(|ui| {
            ui.label(
                egui::RichText::new(text)
                    .small()
                    .color(theme::palette(ui).warning),
            );
            beam::panel::aperture::refit(ui, state, commands);
        });
    }
    ui.horizontal_wrapped(|ui| {
        if ui.small_button("Add beam").clicked() {
            commands.push(Command::Plans(PlanAction::Add(Template::One)));
        }
        let menu = small_menu(ui, "Add beams", |ui| {
            for template in Template::ALL.into_iter().filter(|t| *t != Template::One) {
                if ui.button(template.name()).clicked() {
                    commands.push(Command::Plans(PlanAction::Add(template)));
                    ui.close();
                }
            }
        });
        menu.on_hover_text(
            "Round the isocentre of the other beams, else the target, else the crosshair",
        );
        let (arc, _) = lasting_menu(ui, Button::new("Arc…").small(), |ui| {
            beam::panel::arc::new_arc(ui, commands)
        });
        arc.on_hover_text("An arc by its start, stop and direction");
        let mut shown = state.show_beams;
        if ui.checkbox(&mut shown, "Show beams").changed() {
            commands.push(Command::ShowBeams(shown));
        }
    });
}

fn plan_row(ui: &mut Ui, state: &State, index: usize, plan: &Plan, commands: &mut Commands) {
    let displayed = index == state.plan;
    let selected = displayed && state.selection == Selection::Plan;
    let detail = match plan.prescription_gy {
        Some(gy) => format!("{gy:.1} Gy / {}", plan.fractions),
        None => format!("{} fx", plan.fractions),
    };
    let detail = match &plan.approval {
        Some(approval) => format!("{}  {detail}", approval.stage),
        None => detail,
    };
    let response = row(&plan.name, &detail, selected)
        .weak(!displayed)
        .show(ui, 0.0, |_| {});
    if response.clicked() {
        commands.push(Command::ShowPlan(index));
    }
    response.context_menu(|ui| {
        for (word, action) in [
            ("Copy plan", PlanAction::Copy(index)),
            ("Delete plan", PlanAction::Remove(index)),
        ] {
            if ui.button(word).clicked() {
                commands.push(Command::Plans(action));
                ui.close();
            }
        }
        let compare = Button::new("Compare with the displayed plan");
        let response = ui
            .add_enabled(!displayed, compare)
            .on_disabled_hover_text("This plan is displayed");
        if response.clicked() {
            commands.push(Command::Plans(PlanAction::Compare(index)));
            ui.close();
        }
    });
}

fn plan_buttons(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let plans = &state.case().plans;
    ui.horizontal_wrapped(|ui| {
        let can = state.case().ct.is_some();
        let add = ui.add_enabled(can, Button::new("New plan").small());
        if add.on_disabled_hover_text("A plan needs a CT").clicked() {
            commands.push(Command::AddPlan);
        }
        protocol::panel::button(ui, state, commands);
        if state.plan().is_none() {
            return;
        }
        if ui.small_button("Copy plan").clicked() {
            commands.push(Command::Plans(PlanAction::Copy(state.plan)));
        }
        if ui
            .small_button("Delete plan")
            .on_hover_text("Ctrl + Z brings it back")
            .clicked()
        {
            commands.push(Command::Plans(PlanAction::Remove(state.plan)));
        }
        if plans.len() > 1 {
            small_menu(ui, "Compare with", |ui| {
                for (index, other) in plans.iter().enumerate().filter(|(n, _)| *n != state.plan) {
                    let name = format!("Compare with {}", other.name);
                    if ui.button(&other.name).accessible_name(name).clicked() {
                        commands.push(Command::Plans(PlanAction::Compare(index)));
                        ui.close();
                    }
                }
            });
        }
    });
}

/// A beam of the list, by its index, with its share of the plan's monitor units, percent.
fn beam_row(
    ui: &mut Ui,
    state: &State,
    plan: &Plan,
    index: usize,
    share: Option<u32>,
    commands: &mut Commands,
) {
    let beam = &plan.beams[index];
    let selected = state.selection == Selection::Beam(beam.number);
    let gantry = beam.start().map_or(0.0, |c| c.gantry_deg);
    // The delivered monitor units, as in the plan's metrics; until they are known the typed ones, labelled as such.
    let normalised = plan.normalisation.is_some();
    let delivered = state
        .results
        .delivered_mu(plan, beam)
        .filter(|_| normalised && !beam.off);
    let mu = match delivered {
        _ if beam.off => "off".to_owned(),
        Some(mu) if mu.is_provisional() => format!("({:.1} MU)", mu.value),
        Some(mu) => format!("{:.1} MU", mu.value),
        None if normalised => format!("({:.1} MU)", beam.mu),
        None => format!("{:.1} MU", beam.mu),
    };
    let share = share.map_or(String::new(), |percent| format!("  {percent} %"));
    let detail = format!("{gantry:.0}°  {mu}{share}");
    let status = state.results.beam_status(beam.number).filter(|_| !beam.off);
    let lead_width = if beam.setup { 10.0 } else { 34.0 };
    let response = row(&beam.name, &detail, selected)
        .indent(6.0)
        .weak(beam.off)
        .show(ui, lead_width, |ui| {
            if !beam.setup {
                let mut on = !beam.off;
                let switch = ui.add(egui::Checkbox::without_text(&mut on));
                if switch
                    .accessible_name(format!("Deliver {}", beam.name))
                    .changed()
                {
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
            }
            status_dot(ui, status);
        });
    let response = match delivered {
        _ if beam.off => {
            response.on_hover_text("Switched off: not in the plan's dose, not exported")
        }
        Some(mu) => {
            let delivered = mu.worded(1, " MU", " a fraction are delivered");
            response.on_hover_text(format!(
                "{delivered}: {:.1} MU times the plan's normalisation",
                beam.mu
            ))
        }
        None if normalised => {
            response.on_hover_text("Monitor units before the plan's normalisation")
        }
        None => response,
    };
    let response = match (status, &beam.read_only) {
        (_, Some(why)) => response.on_hover_text(why),
        (Some(status), None) => response.on_hover_text(format!("Dose: {status}")),
        (None, None) => response,
    };
    if response.clicked() {
        commands.push(Command::Select(Selection::Beam(beam.number)));
    }
}

fn status_dot(ui: &mut Ui, status: Option<DoseStatus>) {
    let (rect, _) = ui.allocate_exact_size(vec2(8.0, 8.0), Sense::hover());
    match status {
        Some(status) => {
            ui.painter()
                .circle_filled(rect.center(), 3.5, theme::palette(ui).status(status));
        }
        None => {
            ui.painter().circle_stroke(
                rect.center(),
                3.0,
                egui::Stroke::new(1.0, theme::palette(ui).weak),
            );
        }
    }
}
