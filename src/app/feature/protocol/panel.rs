//! The box of plans by protocol.

use crate::command::{Command, Commands};
use crate::feature::protocol::state::{PreparedPlan, ProtocolAction, ProtocolDraft};
use crate::kit::theme;
use crate::state::State;
use egui::{Button, ComboBox, Grid, Label, RichText, ScrollArea, Ui};
use files::{Delivery, Protocol};

const WIDTH: f32 = 620.0;

/// Deliveries with their names.
const DELIVERIES: [(Option<Delivery>, &str); 6] = [
    (None, "as the protocol says"),
    (Some(Delivery::Vmat), "arcs"),
    (Some(Delivery::Imrt), "sliding window"),
    (Some(Delivery::Step), "step and shoot"),
    (Some(Delivery::Few), "few segments"),
    (Some(Delivery::Maps), "maps alone"),
];

/// The button that opens the box.
pub fn button(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let can = state.case().ct.is_some();
    let open = ui.add_enabled(can, Button::new("Plan by protocol…").small());
    let open =
        open.on_hover_text("Structures, beams, goals, leaves and dose of a protocol, by one click");
    if open.on_disabled_hover_text("A plan needs a CT").clicked() {
        commands.push(Command::Protocol(ProtocolAction::Open(true)));
    }
}

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    if !state.protocol.is_open {
        return;
    }
    let mut is_open = true;
    let mut draft = state.protocol.draft.clone();
    let height = (ctx.content_rect().height() - 130.0).max(160.0);
    let width = WIDTH.min(ctx.content_rect().width() - 40.0);
    egui::Window::new("Plan by protocol")
        .open(&mut is_open)
        .resizable(false)
        .default_size([width, height])
        .show(ctx, |ui| {
            ui.set_width(width);
            ui.weak("For the fractionation named, of populations, and no prescription for a patient. Not for clinical use.");
            choices(ui, &mut draft, commands);
            let prepared = state.plan_to_make();
            ui.horizontal(|ui| {
                let make = Button::new(RichText::new("Make plan").strong());
                let make = ui.add_enabled(prepared.is_ok(), make);
                let make = make.on_hover_text(
                    "Adds structures, goals and plan as one step, optimises it and has leaves deliver it (Ctrl + Z takes all back)",
                );
                if make.clicked() {
                    commands.push(Command::Protocol(ProtocolAction::Make));
                }
                if ui.button("Close").clicked() {
                    commands.push(Command::Protocol(ProtocolAction::Open(false)));
                }
            });
            let area = ScrollArea::vertical().max_height(height - 110.0);
            area.show(ui, |ui| match prepared {
                Ok(prepared) => findings(ui, prepared),
                Err(why) if state.protocol.prepared.is_none() => _ = ui.weak(format!("{why}…")),
                Err(why) => {
                    let text = RichText::new(why).color(theme::palette(ui).warning);
                    ui.add(Label::new(text).wrap());
                }
            });
        });
    if draft != state.protocol.draft {
        commands.push(Command::Protocol(ProtocolAction::Draft(draft)));
    }
    if !is_open || ctx.input(|i| i.key_pressed(egui::Key::Escape)) {
        commands.push(Command::Protocol(ProtocolAction::Open(false)));
    }
}

fn choices(ui: &mut Ui, draft: &mut ProtocolDraft, commands: &mut Commands) {
    Grid::new("protocol").num_columns(2).show(ui, |ui| {
        ui.weak("Protocol");
        ui.horizontal(|ui| {
            let short = std::path::Path::new(&draft.word)
                .file_name()
                .map_or(draft.word.as_str().into(), |name| name.to_string_lossy());
            let combo = ComboBox::from_id_salt("protocol word")
                .selected_text(short)
                .width(260.0);
            let response = combo.show_ui(ui, |ui| {
                for word in Protocol::shipped() {
                    if ui.selectable_label(draft.word == word, word).clicked() {
                        word.clone_into(&mut draft.word);
                    }
                }
            });
            response.response.accessible_name("Protocol");
            let file = ui
                .button("File…")
                .on_hover_text("A protocol of your own (.toml)");
            if file.clicked() {
                commands.push(Command::Protocol(ProtocolAction::PickFile));
            }
        });
        ui.end_row();
        ui.weak("Delivery");
        let chosen = DELIVERIES.iter().find(|(d, _)| *d == draft.delivery);
        let combo = ComboBox::from_id_salt("protocol delivery")
            .selected_text(chosen.map_or("", |(_, name)| name))
            .width(260.0);
        let response = combo.show_ui(ui, |ui| {
            for (delivery, name) in DELIVERIES {
                ui.selectable_value(&mut draft.delivery, delivery, name);
            }
        });
        response
            .response
            .accessible_name("Delivery of the protocol");
        ui.end_row();
    });
}

/// Findings of the protocol in the case.
fn findings(ui: &mut Ui, prepared: &PreparedPlan) {
    let PreparedPlan { protocol, planned } = prepared;
    ui.strong(&protocol.name);
    ui.weak(&protocol.source);
    Grid::new("protocol findings")
        .num_columns(2)
        .min_col_width(150.0)
        .show(ui, |ui| {
            for (target, structure, gy) in &planned.targets {
                ui.weak(target);
                ui.label(format!("'{structure}', {gy} Gy"));
                ui.end_row();
            }
            row(ui, "Fractions", protocol.fractions.to_string());
            let beams: Vec<&str> = planned.plan.beams.iter().map(|b| b.name.as_str()).collect();
            row(ui, "Beams", beams.join(", "));
            row(ui, "Structures to make", planned.made.join(", "));
            row(ui, "Goals", planned.goals.goals.len().to_string());
            let most_mu = protocol.most_mu_per_gy;
            row(
                ui,
                "Monitor units",
                most_mu.map_or(String::new(), |mu| format!("at most {mu} MU/Gy")),
            );
        });
    for remark in &planned.remarks {
        let text = RichText::new(remark).color(theme::palette(ui).warning);
        ui.add(Label::new(text).wrap());
    }
}

/// A row of the findings; none where there is nothing.
fn row(ui: &mut Ui, caption: &str, words: String) {
    if words.is_empty() {
        return;
    }
    ui.weak(caption);
    ui.add(Label::new(words).wrap());
    ui.end_row();
}
