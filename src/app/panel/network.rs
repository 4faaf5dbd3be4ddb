//! Other systems: a listener for what they send, and files sent to them. Nothing listens or connects until asked to.

use crate::app::command::{Command, Commands};
use crate::app::state::State;
use crate::app::state::network::{Network, NetworkAction};
use crate::app::theme;
use crate::files::PeerSettings;
use egui::{Button, RichText, TextEdit, Ui};

const WIDTH: f32 = 460.0;

/// Shows the box when it is open.
pub fn show(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let network = &state.network;
    if !network.is_open {
        return;
    }
    let (mut is_open, mut settings, mut actions) = (true, network.settings.clone(), Vec::new());
    egui::Window::new("Other systems").open(&mut is_open).resizable(false).default_width(WIDTH).show(
        ctx,
        |ui| {
            ui.set_width(WIDTH);
            ui.weak("DICOM to and from a PACS or planning system. No TLS: only in a network you trust.");
            receive(ui, network, &mut settings, &mut actions, commands);
            send(ui, network, &mut settings, &mut actions);
            lines(ui, network);
        },
    );
    if settings != network.settings {
        // What is typed counts before the button that is pressed with it.
        actions.insert(0, NetworkAction::Settings(settings));
    }
    if !is_open {
        actions.push(NetworkAction::Open(false));
    }
    actions.into_iter().for_each(|action| commands.push(Command::Network(action)));
}

/// A line of a form: its name, its text, what it is for.
fn field(ui: &mut Ui, enabled: bool, name: &str, text: &mut String, hint: &str) {
    let label = ui.label(name);
    let edit = TextEdit::singleline(text).desired_width(300.0);
    ui.add_enabled(enabled, edit).on_hover_text(hint).labelled_by(label.id);
    ui.end_row();
}

fn receive(
    ui: &mut Ui,
    network: &Network,
    settings: &mut PeerSettings,
    actions: &mut Vec<NetworkAction>,
    commands: &mut Commands,
) {
    super::section(ui, "From others");
    let free = !network.has_listener;
    egui::Grid::new("receive").num_columns(2).show(ui, |ui| {
        let hint = "By which name others call this program";
        field(ui, free && network.sending.is_none(), "Own AE title", &mut settings.own_title, hint);
        field(
            ui,
            free,
            "Folder for arrivals",
            &mut settings.into,
            "Each delivery gets a folder of its own in it",
        );
        let hint = "127.0.0.1: only this machine; 0.0.0.0: all addresses of this machine";
        field(ui, free, "Listen on address", &mut settings.bind, hint);
        field(ui, free, "Listen on port", &mut settings.port, "0: one that the system chooses");
        let hint = "AE titles, or any; empty: any, from this machine alone";
        field(ui, free, "Who may call", &mut settings.allow, hint);
    });
    ui.horizontal(|ui| {
        if free {
            let hint = "Takes what others send until it is stopped or the window closes";
            if ui.button("Listen").on_hover_text(hint).clicked() {
                actions.push(NetworkAction::Listen);
            }
            ui.weak("Off");
        } else {
            let hint = "Open associations are aborted, and nothing of them is kept";
            if ui.button("Stop listening").on_hover_text(hint).clicked() {
                actions.push(NetworkAction::StopListening);
            }
            if let Some(address) = network.listening {
                ui.colored_label(theme::of(ui).warning, format!("Listening on {address}"));
            }
        }
    });
    for folder in &network.arrived {
        let name = folder.file_name().unwrap_or(folder.as_os_str()).to_string_lossy();
        let hint = folder.display().to_string();
        if ui.add(Button::new(format!("Open {name}")).truncate()).on_hover_text(hint).clicked() {
            commands.push(Command::Open(folder.display().to_string()));
        }
    }
}

fn send(ui: &mut Ui, network: &Network, settings: &mut PeerSettings, actions: &mut Vec<NetworkAction>) {
    super::section(ui, "To another");
    let free = network.sending.is_none();
    egui::Grid::new("send").num_columns(2).show(ui, |ui| {
        field(ui, free, "Their AE title", &mut settings.called, "The name of the other system");
        field(ui, free, "Their host and port", &mut settings.to, "For example pacs:104");
        let hint = "The DICOM files in it leave as they are; export the case first to send what is on show";
        field(ui, free, "Folder or file to send", &mut settings.what, hint);
    });
    ui.horizontal(|ui| match network.sending {
        None => {
            let hint = "Every object in its own transfer syntax; what is not taken is named";
            if ui.button("Send").on_hover_text(hint).clicked() {
                actions.push(NetworkAction::Send);
            }
            if ui.button("Ask whether it is there").on_hover_text("C-ECHO").clicked() {
                actions.push(NetworkAction::Echo);
            }
        }
        Some(sending) => {
            let stop = ui.add_enabled(!sending.stopping, Button::new("Stop sending"));
            if stop.on_hover_text("Aborts the association").clicked() {
                actions.push(NetworkAction::StopSending);
            }
            let share = sending.done as f32 / sending.all.max(1) as f32;
            let text = format!("{} of {}", sending.done, sending.all);
            ui.add(egui::ProgressBar::new(share).text(text).desired_width(240.0));
        }
    });
}

fn lines(ui: &mut Ui, network: &Network) {
    if network.lines.is_empty() {
        return;
    }
    super::section(ui, "What happened");
    let area =
        egui::ScrollArea::vertical().max_height(140.0).auto_shrink([false, true]).stick_to_bottom(true);
    area.show(ui, |ui| {
        for (is_failure, line) in &network.lines {
            let text = RichText::new(line);
            let text = if *is_failure { text.color(theme::of(ui).error) } else { text };
            ui.add(egui::Label::new(text).wrap());
        }
    });
}
