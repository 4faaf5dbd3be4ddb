//! The bar at the top: opening and saving, undo, presets, workspaces.

use super::number;
use crate::app::command::{Command, Commands};
use crate::app::display::{WINDOW_PRESETS, WindowLevel};
use crate::app::state::{State, Workspace};
use crate::app::theme;
use crate::files::demo::DEMOS;
use egui::{Align, Button, Layout, Ui};

/// Text being typed in the bar's menus.
#[derive(Debug, Default)]
pub struct Drafts {
    pub path: String,
    pub save: String,
}

/// Shows the bar.
pub fn show(ui: &mut Ui, state: &State, drafts: &mut Drafts, commands: &mut Commands) {
    ui.horizontal(|ui| {
        open_menu(ui, drafts, commands);
        save_menu(ui, state, drafts, commands);
        ui.separator();
        if ui.add_enabled(state.history.can_undo(), Button::new("Undo")).clicked() {
            commands.push(Command::Undo);
        }
        if ui.add_enabled(state.history.can_redo(), Button::new("Redo")).clicked() {
            commands.push(Command::Redo);
        }
        ui.separator();
        for workspace in Workspace::ALL {
            let tab = Button::selectable(state.workspace == workspace, workspace.name());
            if ui.add(tab).clicked() {
                commands.push(Command::Workspace(workspace));
            }
        }
        ui.separator();
        window_level(ui, state, commands);
        let room = ui.available_width();
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("About").clicked() {
                commands.push(Command::About(true));
            }
            ui.colored_label(theme::WARNING, egui::RichText::new("Not for clinical use").small());
            if room > 260.0 {
                ui.separator();
                ui.add(egui::Label::new(who(state)).truncate());
            }
        });
    });
}

/// The patient, as far as the files say.
fn who(state: &State) -> String {
    let patient = &state.case().patient;
    match (patient.name.trim(), patient.id.trim()) {
        ("", "") => state.case().source.clone(),
        (name, "") => name.to_owned(),
        ("", id) => id.to_owned(),
        (name, id) if name == id => name.to_owned(),
        (name, id) => format!("{name}  ({id})"),
    }
}

fn open_menu(ui: &mut Ui, drafts: &mut Drafts, commands: &mut Commands) {
    ui.menu_button("Open", |ui| {
        ui.set_min_width(300.0);
        if ui.button("Folder…").clicked() {
            commands.push(Command::PickFolder);
            ui.close();
        }
        if ui.button("File…").clicked() {
            commands.push(Command::PickFile);
            ui.close();
        }
        ui.separator();
        for (name, what) in DEMOS {
            let word = format!("demo:{name}");
            let button = Button::new(&*word).right_text(egui::RichText::new(what).weak());
            if ui.add(button).clicked() {
                commands.push(Command::Open(word));
                ui.close();
            }
        }
        ui.separator();
        ui.weak("Folder, file or demo:NAME");
        ui.horizontal(|ui| {
            let field = egui::TextEdit::singleline(&mut drafts.path).desired_width(220.0).hint_text("path");
            let response = ui.add(field).accessible_name("Path to open");
            let entered = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
            let clicked = ui.button("Open path").clicked();
            if (entered || clicked) && !drafts.path.trim().is_empty() {
                commands.push(Command::Open(drafts.path.trim().to_owned()));
                ui.close();
            }
        });
    });
}

fn save_menu(ui: &mut Ui, state: &State, drafts: &mut Drafts, commands: &mut Commands) {
    ui.menu_button("Save", |ui| {
        ui.set_min_width(300.0);
        ui.weak("File (.toml a plan, .json a session)");
        let field = egui::TextEdit::singleline(&mut drafts.save).desired_width(280.0).hint_text("plan.toml");
        ui.add(field).accessible_name("File to save");
        let path = drafts.save.trim();
        ui.horizontal(|ui| {
            let plan = state.plan().is_some() && !path.is_empty();
            if ui.add_enabled(plan, Button::new("Save plan")).clicked() {
                commands.push(Command::SavePlan(path.into()));
                ui.close();
            }
            let session = state.is_loaded() && !path.is_empty();
            if ui.add_enabled(session, Button::new("Save session")).clicked() {
                commands.push(Command::SaveSession(path.into()));
                ui.close();
            }
        });
    });
}

fn window_level(ui: &mut Ui, state: &State, commands: &mut Commands) {
    // A narrow window has the presets in a menu.
    if ui.available_width() > ROOM_FOR_PRESETS {
        presets(ui, state, commands);
    } else {
        let now = WINDOW_PRESETS.iter().find(|(_, w)| *w == state.window).map_or("Window", |(name, _)| *name);
        ui.menu_button(now, |ui| presets(ui, state, commands)).response.accessible_name("Window presets");
    }
    let mut width = f64::from(state.window.width_hu);
    let mut level = f64::from(state.window.level_hu);
    ui.weak("W");
    let w = number("Window width", &mut width, "").speed(4.0).decimals(0).range(1.0..=20_000.0).show(ui);
    ui.weak("L");
    let l = number("Window level", &mut level, "").speed(4.0).decimals(0).range(-5000.0..=20_000.0).show(ui);
    if w.changed() || l.changed() {
        commands.push(Command::Window(WindowLevel::new(width as f32, level as f32)));
    }
}

/// Points that the presets, the numbers and what stands at the right edge need.
const ROOM_FOR_PRESETS: f32 = 760.0;

fn presets(ui: &mut Ui, state: &State, commands: &mut Commands) {
    for (index, (name, window)) in WINDOW_PRESETS.into_iter().enumerate() {
        let button = Button::selectable(state.window == window, name);
        let hint = format!("Width {} HU, level {} HU (key {})", window.width_hu, window.level_hu, index + 1);
        if ui.add(button).on_hover_text(hint).clicked() {
            commands.push(Command::Window(window));
        }
    }
}
