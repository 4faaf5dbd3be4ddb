//! The keyboard map.

use super::command::{Command, Commands};
use super::display::WINDOW_PRESETS;
use super::state::State;
use egui::{Key, KeyboardShortcut, Modifiers};

/// Shown in the about box.
pub const HELP: [(&str, &str); 14] = [
    ("Wheel, Page up/down", "next slice"),
    ("Drag", "pan"),
    ("Ctrl + wheel", "zoom"),
    ("Right drag", "window and level"),
    ("Double click", "crosshair here"),
    ("1 … 6", "window presets"),
    ("← →", "turn the gantry by 1°"),
    ("Shift + ← →", "turn the gantry by 10°"),
    ("D, L", "colourwash, isodose lines"),
    ("B", "beams"),
    ("F", "maximise the view under the pointer"),
    ("Ctrl + Z, Ctrl + Y", "undo, redo"),
    ("Ctrl + O", "open a folder"),
    ("F1", "this box"),
];

const UNDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
const REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);
const REDO_SHIFT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);

const PRESET_KEYS: [Key; 6] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6];

/// Turns the keys of this frame into commands. Keys belong to a text field while one is typed into.
pub fn commands(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    if ctx.text_edit_focused() || state.about_open {
        return;
    }
    ctx.input_mut(|i| {
        if i.consume_shortcut(&REDO_SHIFT) || i.consume_shortcut(&REDO) {
            commands.push(Command::Redo);
        } else if i.consume_shortcut(&UNDO) {
            commands.push(Command::Undo);
        } else if i.consume_shortcut(&OPEN) {
            commands.push(Command::PickFolder);
        }
        if i.consume_key(Modifiers::NONE, Key::F1) {
            commands.push(Command::About(true));
        }
        for (key, (_, window)) in PRESET_KEYS.into_iter().zip(WINDOW_PRESETS) {
            if i.consume_key(Modifiers::NONE, key) {
                commands.push(Command::Window(window));
            }
        }
        let mut display = state.dose_display.clone();
        display.wash ^= i.consume_key(Modifiers::NONE, Key::D);
        display.lines ^= i.consume_key(Modifiers::NONE, Key::L);
        if display != state.dose_display {
            commands.push(Command::DoseDisplay(display));
        }
        if i.consume_key(Modifiers::NONE, Key::B) {
            commands.push(Command::ShowBeams(!state.show_beams));
        }
    });
}
