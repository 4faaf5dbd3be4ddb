//! The bar at the top: opening and saving, undo, presets, workspaces.

use crate::command::{Command, Commands};
use crate::feature::commission::state::MachineFitAction;
use crate::feature::network::state::NetworkAction;
use crate::feature::start::panel::recent::recent;
use crate::feature::start::state::Stop;
use crate::feature::{check, measure, start};
use crate::kit::{lasting_menu, number, theme};
use crate::state::display::{WINDOW_PRESETS, WindowLevel};
use crate::state::files::FileAction;
use crate::state::{State, Workspace};
use dicom::ExportPart;
use egui::{Align, Button, Color32, Layout, Ui};
use files::ThemeChoice;
use files::demo::DEMOS;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// Text typed into the bar's menus.
#[derive(Debug, Default)]
pub struct Drafts {
    pub path: String,
    pub save: String,
    /// The menus open in the last frame: the text field of a newly opened menu receives the focus.
    open_shown: bool,
    save_shown: bool,
}

pub fn show(ui: &mut Ui, state: &State, drafts: &mut Drafts, commands: &mut Commands) {
    let who = state.who();
    let shown = egui::RichText::new(theme::spelled(ui.ctx(), &who)).strong();
    let mut has_room = true;
    let is_narrow = ui.available_width() < ROOM_FOR_TOOLS;
    let has_tools = state.workspace != Workspace::Register && state.is_loaded();
    ui.horizontal(|ui| {
        open_menu(ui, state, drafts, commands);
        save_menu(ui, state, drafts, commands);
        ui.separator();
        super::history::show(ui, state, commands);
        ui.separator();
        for workspace in Workspace::ALL {
            let tab = Button::selectable(state.workspace == workspace, workspace.name());
            if ui.add(tab).clicked() {
                commands.push(Command::Workspace(workspace));
            }
        }
        if has_tools && !is_narrow {
            ui.separator();
            tools(ui, state, commands);
        }
        ui.with_layout(Layout::right_to_left(Align::Center), |ui| {
            if ui.button("About").clicked() {
                commands.push(Command::About(true));
            }
            theme_menu(ui, state, commands);
            super::log::menu(ui, state, commands);
            ui.colored_label(
                theme::palette(ui).warning,
                egui::RichText::new("Not for clinical use").small(),
            );
            // An identity that is cut short may be taken for another's: without room here it gets its own line.
            let font = egui::TextStyle::Body.resolve(ui.style());
            let galley =
                ui.painter()
                    .layout_no_wrap(shown.text().to_owned(), font, Color32::PLACEHOLDER);
            has_room = galley.size().x + ROOM_AROUND_IDENTITY <= ui.available_width();
            if has_room && !who.is_empty() {
                ui.separator();
                ui.add(egui::Label::new(shown.clone()).truncate())
                    .on_hover_text(&who);
            }
        });
    });
    let has_tools = has_tools && is_narrow;
    let names = !has_room && !who.is_empty();
    if has_tools || names {
        ui.horizontal_wrapped(|ui| {
            if has_tools {
                tools(ui, state, commands);
            }
            if names {
                ui.add(egui::Label::new(shown).wrap()).on_hover_text(&who);
            }
        });
    }
}

/// Width in points from which on the tools stand in the row of the workspaces.
const ROOM_FOR_TOOLS: f32 = 980.0;

fn tools(ui: &mut Ui, state: &State, commands: &mut Commands) {
    measure::panel::menu(ui, state, commands);
    window_level(ui, state, commands);
}

/// Points that the separator before the patient's name takes.
const ROOM_AROUND_IDENTITY: f32 = 24.0;

/// The choice of theme.
fn theme_menu(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let menu = ui.menu_button("Theme", |ui| {
        for choice in ThemeChoice::ALL {
            if ui
                .add(Button::selectable(state.theme == choice, choice.name()))
                .clicked()
            {
                commands.push(Command::Theme(choice));
                ui.close();
            }
        }
    });
    menu.response.on_hover_text(
        "Dark or light panels; images and plots are dark in both. Kept from run to run",
    );
}

fn open_menu(ui: &mut Ui, state: &State, drafts: &mut Drafts, commands: &mut Commands) {
    let opens = !drafts.open_shown;
    let (_, shown) = lasting_menu(ui, Button::new("Open"), |ui| {
        ui.set_min_width(300.0);
        if ui.button("Folder…").clicked() {
            commands.push(Command::Pick(FileAction::OpenFolder));
            ui.close();
        }
        if ui.button("File…").clicked() {
            commands.push(Command::Pick(FileAction::OpenFile));
            ui.close();
        }
        if ui
            .button("Receive…")
            .on_hover_text("DICOM objects from a PACS or planning system")
            .clicked()
        {
            commands.push(Command::Network(NetworkAction::Open(true)));
            ui.close();
        }
        let hint = "A machine fitted to measured water-tank data, or compared with them";
        if ui.button("Machine…").on_hover_text(hint).clicked() {
            commands.push(Command::MachineFit(MachineFitAction::Open(true)));
            ui.close();
        }
        if check::panel::button(ui, commands) {
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
        if !state.recent.is_empty() {
            ui.separator();
            recent(ui, state, commands);
        }
        ui.separator();
        ui.weak("Folder, file or demo:NAME");
        ui.horizontal(|ui| {
            let field = egui::TextEdit::singleline(&mut drafts.path)
                .desired_width(220.0)
                .hint_text("path");
            let response = ui.add(field).accessible_name("Path to open");
            if opens {
                response.request_focus();
            }
            let entered = response.lost_focus() && ui.input(|i| i.key_pressed(egui::Key::Enter));
            let clicked = ui.button("Open path").clicked();
            if (entered || clicked) && !drafts.path.trim().is_empty() {
                commands.push(Command::Open(drafts.path.trim().to_owned()));
                ui.close();
            }
        });
    });
    drafts.open_shown = shown.is_some();
}

fn save_menu(ui: &mut Ui, state: &State, drafts: &mut Drafts, commands: &mut Commands) {
    let opens = !drafts.save_shown;
    let (button, shown) = lasting_menu(ui, Button::new("Save"), |ui| {
        ui.set_min_width(300.0);
        ui.weak("Path, or empty to browse");
        let field = egui::TextEdit::singleline(&mut drafts.save)
            .desired_width(280.0)
            .hint_text("plan.toml");
        let response = ui.add(field).accessible_name("File to save");
        if opens {
            response.request_focus();
        }
        let path = drafts.save.trim();
        let typed = (!path.is_empty()).then(|| std::path::PathBuf::from(path));
        ui.horizontal(|ui| {
            let hint = "Beams, monitor units, prescription (.toml)";
            let plan = ui.add_enabled(state.plan().is_some(), Button::new("Save plan")).on_hover_text(hint);
            if plan.clicked() {
                commands.push(typed.clone().map_or(Command::Pick(FileAction::SavePlan), Command::SavePlan));
                ui.close();
            }
            let hint = "Plans, structures and how the case is looked at; images stay where they are (.json)";
            let session = ui.add_enabled(state.is_loaded(), Button::new("Save session")).on_hover_text(hint);
            if session.clicked() {
                let command =
                    typed.clone().map_or(Command::Pick(FileAction::SaveSession), Command::SaveSession);
                commands.push(command);
                ui.close();
            }
        });
        ui.separator();
        if export(ui, state, typed, commands) {
            ui.close();
        }
        if ui
            .button("Send…")
            .on_hover_text("DICOM files to a PACS or planning system")
            .clicked()
        {
            commands.push(Command::Network(NetworkAction::Open(true)));
            ui.close();
        }
    });
    start::panel::tour::mark(ui, Stop::Save, button.rect);
    drafts.save_shown = shown.is_some();
}

/// Objects to export as DICOM, and the folder for them; `true` once the export is requested.
fn export(ui: &mut Ui, state: &State, typed: Option<PathBuf>, commands: &mut Commands) -> bool {
    ui.weak("DICOM files in a new folder");
    let mut choice = state.export.clone();
    let case = &choice.case_that_leaves(state.case());
    let mut left_out = choice.plans_left_out.clone();
    let doses = ExportPart::Dose.is_in(case) && choice.plans;
    let xrays = state.xrays();
    let has = xrays.is_some();
    let lines = [
        (
            &mut choice.ct,
            ExportPart::Ct.is_in(case),
            "CT",
            "The images: the files they were read from, where there are any",
        ),
        (
            &mut choice.structures,
            ExportPart::Structures.is_in(case),
            "Structures",
            "All structures, also the hidden ones",
        ),
        (
            &mut choice.plans,
            !state.case().plans.is_empty(),
            PLANS,
            "Those chosen below, with the beams that are switched on",
        ),
        (
            &mut choice.dose_of_plan,
            doses,
            "Dose of each plan",
            "By the engine of the plan; only a final dose leaves",
        ),
        (
            &mut choice.doses_of_beams,
            doses,
            "Dose of each beam",
            "All fractions of each beam by itself, of plans by collapsed cone",
        ),
        (
            &mut choice.sixteen_bits,
            doses,
            "16-bit dose",
            "For systems that read no 32-bit doses",
        ),
        (
            &mut choice.registration,
            has,
            "Registration",
            "Where Register has the patient before its X-rays: the matrix from the CT into the room",
        ),
        (
            &mut choice.xrays,
            has,
            "X-rays and DRRs",
            "The X-rays as they are, and the CT as they see it at that pose",
        ),
        (
            &mut choice.anonymous,
            state.is_loaded(),
            "Anonymise",
            "Names, numbers, dates, places and private elements are removed, UIDs replaced (DICOM PS3.15, basic profile). \
             Text burned into pixels stays",
        ),
    ];
    for (on, enabled, name, hint) in lines {
        ui.add_enabled(enabled, egui::Checkbox::new(on, name))
            .on_hover_text(hint);
        if name == PLANS && *on {
            plans_to_export(ui, state, &mut left_out);
        }
    }
    choice.plans_left_out = left_out;
    let leaves = state.is_loaded() && !choice.options(case, xrays.as_ref()).parts.is_empty();
    if choice != state.export {
        commands.push(Command::ExportChoice(choice));
    }
    let hint = "What was not changed leaves as its own file, the rest as new objects of the same study. All files or none";
    let is_requested = ui
        .add_enabled(leaves, Button::new("Export…"))
        .on_hover_text(hint)
        .clicked();
    if is_requested {
        commands.push(typed.map_or(Command::Pick(FileAction::Export), Command::Export));
    }
    is_requested
}

/// The part of an export whose plans are chosen.
const PLANS: &str = "Plans";

/// Height of the list of plans to choose from.
const PLANS_HEIGHT: f32 = 110.0;

/// Which plans of several leave.
fn plans_to_export(ui: &mut Ui, state: &State, left_out: &mut BTreeSet<usize>) {
    let plans = &state.case().plans;
    if plans.len() < 2 {
        return;
    }
    ui.indent("plans to export", |ui| {
        egui::ScrollArea::vertical()
            .max_height(PLANS_HEIGHT)
            .id_salt("plans to export")
            .show(ui, |ui| {
                for (index, plan) in plans.iter().enumerate() {
                    let mut leaves = !left_out.contains(&index);
                    let line = ui
                        .checkbox(&mut leaves, &plan.name)
                        .on_hover_text(plan.approval_words());
                    if line
                        .accessible_name(format!("Export plan {}", plan.name))
                        .changed()
                    {
                        if leaves {
                            left_out.remove(&index)
                        } else {
                            left_out.insert(index)
                        };
                    }
                }
            });
    });
}

fn window_level(ui: &mut Ui, state: &State, commands: &mut Commands) {
    // In a narrow window the presets are in a menu.
    if ui.available_width() > ROOM_FOR_PRESETS {
        presets(ui, state, commands);
    } else {
        let current = WINDOW_PRESETS
            .iter()
            .find(|(_, w)| *w == state.window)
            .map_or("Window", |(name, _)| *name);
        ui.menu_button(current, |ui| presets(ui, state, commands))
            .response
            .accessible_name("Window presets");
    }
    let mut width = f64::from(state.window.width_hu);
    let mut level = f64::from(state.window.level_hu);
    ui.weak("W");
    let w = number("Window width", &mut width, "")
        .speed(4.0)
        .decimals(0)
        .range(1.0..=20_000.0)
        .show(ui);
    ui.weak("L");
    let l = number("Window level", &mut level, "")
        .speed(4.0)
        .decimals(0)
        .range(-5000.0..=20_000.0)
        .show(ui);
    if w.changed() || l.changed() {
        commands.push(Command::Window(WindowLevel::new(
            width as f32,
            level as f32,
        )));
    }
}

/// Width in points of the presets, the numbers and the items at the right edge.
const ROOM_FOR_PRESETS: f32 = 815.0;

fn presets(ui: &mut Ui, state: &State, commands: &mut Commands) {
    for (index, (name, window)) in WINDOW_PRESETS.into_iter().enumerate() {
        let button = Button::selectable(state.window == window, name);
        let hint = format!(
            "Width {} HU, level {} HU (key {})",
            window.width_hu,
            window.level_hu,
            index + 1
        );
        if ui.add(button).on_hover_text(hint).clicked() {
            commands.push(Command::Window(window));
        }
    }
}
