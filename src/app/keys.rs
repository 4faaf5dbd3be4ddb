//! The keyboard map.

use crate::app::command::{Command, Commands, DrawAction, RegisterAction};
use crate::app::state::display::WINDOW_PRESETS;
use crate::app::state::drawing::Tool;
use crate::app::state::files::FileAction;
use crate::app::state::register::{STEPS, seen_axes, shifted, turned};
use crate::app::state::{State, Workspace};
use crate::app::view::{page_mm, stepped};
use crate::geometry::Grid;
use egui::{Id, Key, KeyboardShortcut, Modifiers, Popup};

/// Keys shown in the about box.
pub const HELP: [(&str, &str); 20] = [
    ("Wheel", "next slice"),
    ("Drag", "pan"),
    ("Ctrl + wheel", "zoom"),
    ("Right drag", "window and level"),
    ("Page up, page down", "next axial slice"),
    ("Double click", "crosshair here"),
    ("F", "fit the views to the patient"),
    ("1 … 6", "window presets"),
    ("← →", "turn the gantry by 1°"),
    ("Shift + ← →", "turn the gantry by 10°"),
    ("D, L", "colourwash, isodose lines"),
    ("B", "beams in the planes"),
    ("Space, held", "Compare, flicker: dose B"),
    ("Arrows, page keys", "with X-rays: shift the patient by a step"),
    ("Shift + these", "with X-rays: turn him"),
    ("Space, held", "with X-rays: the DRR alone"),
    ("Ctrl + Z, Ctrl + Y", "undo, redo"),
    ("Ctrl + O", "open a folder"),
    ("Ctrl + S", "save the session"),
    ("F1", "this box"),
];

const UNDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Z);
const REDO: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::Y);
const REDO_SHIFT: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z);
const OPEN: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::O);
const SAVE: KeyboardShortcut = KeyboardShortcut::new(Modifiers::COMMAND, Key::S);

const PRESET_KEYS: [Key; 6] = [Key::Num1, Key::Num2, Key::Num3, Key::Num4, Key::Num5, Key::Num6];

/// The grid whose planes paging steps through: the CT's, else the dose's.
fn paged_grid(state: &State) -> Option<&Grid> {
    let ct = state.case().ct.as_ref().map(|ct| ct.hu.grid());
    ct.or_else(|| state.results.shown_dose().map(|d| d.gy.grid())).map(|g| g.as_ref())
}

/// Owner of the keyboard focus.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keyboard {
    widget: Option<Id>,
    /// A text field or a box has the focus.
    taken: bool,
    /// A menu is open: single keys do not reach the widgets under it.
    menu: bool,
}

impl Keyboard {
    pub fn of(ctx: &egui::Context) -> Self {
        let (widget, modal) = ctx.memory(|m| (m.focused(), m.top_modal_layer().is_some()));
        Self { widget, taken: modal || ctx.text_edit_focused(), menu: Popup::is_any_open(ctx) }
    }
}

/// Turns the keys of this frame into commands, after the panels are drawn: a field clicked in this frame has the focus
/// by then, and a field whose typing ended in this frame had it `before`.
pub fn commands(ctx: &egui::Context, before: Keyboard, state: &State, commands: &mut Commands) {
    let now = Keyboard::of(ctx);
    let given = now.widget.is_some() && now.widget != before.widget;
    if before.taken || now.taken || given {
        return;
    }
    ctx.input_mut(|i| {
        if i.consume_shortcut(&REDO_SHIFT) || i.consume_shortcut(&REDO) {
            commands.push(Command::Redo);
        } else if i.consume_shortcut(&UNDO) {
            commands.push(Command::Undo);
        } else if i.consume_shortcut(&OPEN) {
            commands.push(Command::Pick(FileAction::OpenFolder));
        } else if i.consume_shortcut(&SAVE) {
            commands.push(Command::Save);
        }
    });
    if before.menu || now.menu {
        return;
    }
    if state.workspace == Workspace::Register {
        register_keys(ctx, state, commands);
    }
    if state.workspace == Workspace::Plan && state.selected_structure().is_some() {
        draw_keys(ctx, state, commands);
    }
    // The arrows turn the selected beam, unless a widget has the focus.
    let free = before.widget.is_none() && now.widget.is_none();
    let turns = free && state.workspace != Workspace::Register;
    let beam = state.selected_beam().filter(|(_, b)| turns && b.read_only.is_none());
    let turning = beam.and_then(|(index, b)| Some((index, b.start()?.gantry_deg)));
    ctx.input_mut(|i| {
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
        if let Some((beam, start_deg)) = turning {
            let mut turn = 0.0;
            for (modifiers, step) in [(Modifiers::SHIFT, 10.0), (Modifiers::NONE, 1.0)] {
                turn += step * i.count_and_consume_key(modifiers, Key::ArrowRight) as f64;
                turn -= step * i.count_and_consume_key(modifiers, Key::ArrowLeft) as f64;
            }
            if turn != 0.0 {
                commands.push(Command::Gantry { beam, gantry_deg: start_deg + turn, gesture: None });
            }
        }
        let pages = i.count_and_consume_key(Modifiers::NONE, Key::PageUp) as i32
            - i.count_and_consume_key(Modifiers::NONE, Key::PageDown) as i32;
        if let (true, Some(grid)) = (pages != 0, paged_grid(state)) {
            let mut to = state.crosshair_mm;
            to.z = page_mm(grid, 2, to, pages);
            commands.push(Command::CentreOn(to));
        }
        if i.consume_key(Modifiers::NONE, Key::F) {
            commands.push(Command::FitViews);
        }
        if i.consume_key(Modifiers::NONE, Key::B) {
            commands.push(Command::ShowBeams(!state.show_beams));
        }
    });
}

/// Keys that take a tool for the selected structure, and those of the tool.
fn draw_keys(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let drawing = &state.drawing;
    let mut push = |action: DrawAction| commands.push(Command::Draw(action));
    ctx.input_mut(|i| {
        let tools = [Key::P, Key::S, Key::G, Key::H].into_iter().zip(Tool::ALL);
        for (key, tool) in tools {
            if i.consume_key(Modifiers::NONE, key) && state.why_not_drawn().is_none() {
                push(DrawAction::Tool((drawing.tool != Some(tool)).then_some(tool)));
            }
        }
        let Some(tool) = drawing.tool else { return };
        if i.consume_key(Modifiers::NONE, Key::E) {
            push(DrawAction::Erase(!drawing.erase));
        }
        for (key, steps) in [(Key::OpenBracket, -1.0), (Key::CloseBracket, 1.0)] {
            if tool.is_round() && i.consume_key(Modifiers::NONE, key) {
                push(DrawAction::Diameter(stepped(drawing.diameter_mm, steps)));
            }
        }
        let outlined = drawing.outline.is_some();
        if outlined && i.consume_key(Modifiers::NONE, Key::Backspace) {
            push(DrawAction::TakeBack);
        }
        for (modifiers, flips) in [(Modifiers::SHIFT, true), (Modifiers::NONE, false)] {
            if outlined && i.consume_key(modifiers, Key::Enter) {
                push(DrawAction::Close { erase: drawing.erase ^ flips });
            }
        }
        if i.consume_key(Modifiers::NONE, Key::Escape) {
            push(if outlined { DrawAction::Drop } else { DrawAction::Tool(None) });
        }
    });
}

/// Keys of the Register workspace: arrows shift along the first image, page keys along its axis, with shift they turn.
fn register_keys(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let register = &state.register;
    let Some(image) = register.images().first() else { return };
    let free = ctx.memory(|m| m.focused().is_none());
    let [right, up, towards] = seen_axes(&image.radiograph.projection);
    let step = register.step;
    let start = *register.poses.now();
    let mut pose = start;
    ctx.input_mut(|i| {
        let mut count = |modifiers, key| i.count_and_consume_key(modifiers, key) as f64;
        for (more, less, axis, pages) in [
            (Key::ArrowRight, Key::ArrowLeft, right, false),
            (Key::ArrowUp, Key::ArrowDown, up, false),
            (Key::PageUp, Key::PageDown, towards, true),
        ] {
            // The arrows belong to the widget with the focus.
            if !free && !pages {
                continue;
            }
            // With shift: the side that faces the source follows the arrow; the page keys turn in the plane of the
            // image.
            let turn = if pages { towards } else { towards.cross(axis) };
            let n = count(Modifiers::SHIFT, more) - count(Modifiers::SHIFT, less);
            if n != 0.0 {
                pose = turned(&pose, turn, n * step);
            }
            let n = count(Modifiers::NONE, more) - count(Modifiers::NONE, less);
            pose = shifted(&pose, axis * (n * step));
        }
        for (key, way) in [(Key::OpenBracket, -1_isize), (Key::CloseBracket, 1)] {
            if i.consume_key(Modifiers::NONE, key) {
                let now = STEPS.iter().position(|s| *s == step).unwrap_or(1);
                let next = now.saturating_add_signed(way).min(STEPS.len() - 1);
                commands.push(Command::Register(RegisterAction::Step(STEPS[next])));
            }
        }
    });
    if pose != start {
        commands.push(Command::Register(RegisterAction::Move { pose, gesture: None }));
    }
}
