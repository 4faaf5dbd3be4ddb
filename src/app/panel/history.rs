//! Undo, redo, and the list of steps by name.

use crate::command::{Command, Commands};
use crate::state::{State, Workspace};
use egui::{Button, RichText, ScrollArea, Ui};

/// The two buttons, which name their step, and the list.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    // X-rays have a history of the pose, without names.
    let of_case = state.workspace != Workspace::Register;
    let (names, done) = (state.history.names(), state.history.done());
    let undone = done.checked_sub(1).and_then(|step| names.get(step));
    let [undone, redone] = [undone, names.get(done)].map(|name| name.copied().filter(|_| of_case));
    let undo = ui.add_enabled(state.can_undo(), Button::new("Undo"));
    if undo
        .on_hover_text(hint("Undo", "Ctrl + Z", undone))
        .on_disabled_hover_text("Nothing to undo")
        .clicked()
    {
        commands.push(Command::Undo);
    }
    let redo = ui.add_enabled(state.can_redo(), Button::new("Redo"));
    if redo
        .on_hover_text(hint("Redo", "Ctrl + Y", redone))
        .on_disabled_hover_text("Nothing to redo")
        .clicked()
    {
        commands.push(Command::Redo);
    }
    if of_case {
        ui.add_enabled_ui(!names.is_empty(), |ui| {
            let menu = ui.menu_button("History", |ui| list(ui, &names, done, commands));
            menu.response.on_disabled_hover_text("No step yet");
        });
    }
}

/// A button's word with the name of its step, if it has one, and its keys.
fn hint(word: &str, keys: &str, step: Option<&str>) -> String {
    match step {
        Some(name) => format!("{word}: {name} ({keys})"),
        None => format!("{word} ({keys})"),
    }
}

/// The steps, newest first, over the case as it was opened; undone steps are grey.
fn list(ui: &mut Ui, names: &[&str], done: usize, commands: &mut Commands) {
    ui.set_min_width(240.0);
    ScrollArea::vertical().max_height(420.0).show(ui, |ui| {
        for step in (0..=names.len()).rev() {
            let name = step.checked_sub(1).map_or("As opened", |n| names[n]);
            let text = RichText::new(format!("{step}  {name}"));
            let text = if step > done { text.weak() } else { text };
            let row = Button::selectable(step == done, text)
                .min_size(egui::vec2(ui.available_width(), 0.0));
            let row = ui
                .add(row.truncate())
                .accessible_name(format!("Step {step}: {name}"));
            if step == done {
                row.scroll_to_me(None);
            }
            if row.clicked() {
                commands.push(Command::StepTo(step));
                ui.close();
            }
        }
    });
}
