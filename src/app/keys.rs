//! The keyboard map.

use crate::command::{Command, Commands};
use crate::feature::draw::command::DrawAction;
use crate::feature::draw::state::Tool;
use crate::feature::draw::view::stepped;
use crate::feature::measure::command::MeasureAction;
use crate::feature::measure::state::Tool as MeasureTool;
use crate::feature::optimise::command::OptimiseAction;
use crate::feature::register::command::RegisterAction;
use crate::feature::register::state::{STEPS, seen_axes, shifted, turned};
use crate::feature::start::state::TourAction;
use crate::state::display::{DoseDisplay, WINDOW_PRESETS};
use crate::state::files::FileAction;
use crate::state::{State, Workspace};
use crate::view::page_mm;
use egui::{Id, Key, KeyboardShortcut, Modifiers, Popup};
use geometry::Grid;

/// A key of the window: what is pressed, and what it does. The list of the help is made of these.
struct Shortcut {
    keys: &'static [KeyboardShortcut],
    /// As the help writes the keys.
    word: &'static str,
    what: &'static str,
    command: fn(&State) -> Option<Command>,
    /// Whether the key also works over an open menu.
    over_menus: bool,
}

const fn plain(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::NONE, key)
}

const fn with_ctrl(key: Key) -> KeyboardShortcut {
    KeyboardShortcut::new(Modifiers::COMMAND, key)
}

/// Keys with a command each. Of two that share a key, the one with more modifiers comes first.
const SHORTCUTS: [Shortcut; 13] = [
    Shortcut {
        keys: &[
            KeyboardShortcut::new(Modifiers::COMMAND.plus(Modifiers::SHIFT), Key::Z),
            with_ctrl(Key::Y),
        ],
        word: "Ctrl + Y, Ctrl + Shift + Z",
        what: "redo",
        command: |_| Some(Command::Redo),
        over_menus: true,
    },
    Shortcut {
        keys: &[with_ctrl(Key::Z)],
        word: "Ctrl + Z",
        what: "undo",
        command: |_| Some(Command::Undo),
        over_menus: true,
    },
    Shortcut {
        keys: &[with_ctrl(Key::O)],
        word: "Ctrl + O",
        what: "open a folder",
        command: |_| Some(Command::Pick(FileAction::OpenFolder)),
        over_menus: true,
    },
    Shortcut {
        keys: &[with_ctrl(Key::S)],
        word: "Ctrl + S",
        what: "save the session",
        command: |_| Some(Command::Save),
        over_menus: true,
    },
    Shortcut {
        keys: &[
            plain(Key::F1),
            plain(Key::Questionmark),
            KeyboardShortcut::new(Modifiers::SHIFT, Key::Questionmark),
            KeyboardShortcut::new(Modifiers::SHIFT, Key::Slash),
        ],
        word: "F1, ?",
        what: "help: keys and guide",
        command: |_| Some(Command::About(true)),
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::D)],
        word: "D",
        what: "colourwash on and off",
        command: |s| {
            Some(Command::DoseDisplay(DoseDisplay {
                wash: !s.dose_display.wash,
                ..s.dose_display.clone()
            }))
        },
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::L)],
        word: "L",
        what: "isodose lines on and off",
        command: |s| {
            Some(Command::DoseDisplay(DoseDisplay {
                lines: !s.dose_display.lines,
                ..s.dose_display.clone()
            }))
        },
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::F)],
        word: "F",
        what: "fit the views to the patient",
        command: |_| Some(Command::FitViews),
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::B)],
        word: "B",
        what: "beams in the planes on and off",
        command: |s| Some(Command::ShowBeams(!s.show_beams)),
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::R)],
        word: "R",
        what: "ruler, in the hand and away",
        command: |s| measure_with(s, MeasureTool::Ruler),
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::Q)],
        word: "Q",
        what: "dose point, in the hand and away",
        command: |s| measure_with(s, MeasureTool::DosePoint),
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::T)],
        word: "T",
        what: "dose profile, in the hand and away",
        command: |s| measure_with(s, MeasureTool::Profile),
        over_menus: false,
    },
    Shortcut {
        keys: &[plain(Key::Escape)],
        word: "Esc",
        what: "take back the optimisation that runs or the leaves that are cut, else put the measuring tool down, else leave the tour",
        command: |s| match s.optimise.is_running() || s.optimise.drag().is_some() {
            true => Some(Command::Optimise(OptimiseAction::TakeBack)),
            false if s.optimise.makes_leaves() => Some(Command::Optimise(OptimiseAction::KeepMaps)),
            false if s.measures.tool.is_some() => Some(Command::Measure(MeasureAction::Tool(None))),
            false => s.tour_stop().map(|_| Command::Tour(TourAction::Leave)),
        },
        over_menus: false,
    },
];

/// Takes a measuring tool, or puts it down where it is in the hand. X-rays are not measured.
fn measure_with(state: &State, tool: MeasureTool) -> Option<Command> {
    let can = state.is_loaded() && state.workspace != Workspace::Register;
    let tool = (state.measures.tool != Some(tool)).then_some(tool);
    can.then_some(Command::Measure(MeasureAction::Tool(tool)))
}

/// Mouse gestures, and keys whose command depends on the workspace or on the pointer.
const GESTURES: [(&str, &str); 22] = [
    ("Wheel", "next slice"),
    ("Drag", "pan"),
    ("Ctrl + wheel", "zoom a view"),
    ("Wheel", "in the beam's-eye view and on X-rays: zoom"),
    (
        "Ctrl + plus, minus, 0",
        "larger, smaller, normal text and buttons",
    ),
    ("Right drag", "window and level"),
    ("Double click", "crosshair here"),
    (
        "Drag of the crosshair's centre",
        "moves it, in all views and in the DVH",
    ),
    ("Page up, page down", "next axial slice"),
    ("1 … 6", "window presets, with the pointer over a view"),
    ("← →", "turn the gantry by 1°"),
    ("Shift + ← →", "turn the gantry by 10°"),
    (
        "P, S, G, H",
        "on a structure: brush, sphere brush, polygon, freehand",
    ),
    ("E", "while drawing: erase"),
    ("Shift or Ctrl + drag", "while drawing: erase once"),
    ("[ ], Shift + wheel", "while drawing: size of the brush"),
    ("Esc", "while drawing: drop the outline, then the tool"),
    ("Space, held", "Compare, flicker: dose B"),
    (
        "Arrows, page keys",
        "with X-rays: shift the patient by a step",
    ),
    ("Shift + these", "with X-rays: turn him"),
    ("[ ]", "with X-rays: a smaller, a larger step"),
    ("Space, held", "with X-rays: the DRR alone"),
];

/// All keys and gestures with what they do, for the help.
pub fn help() -> impl Iterator<Item = (&'static str, &'static str)> {
    GESTURES
        .into_iter()
        .chain(SHORTCUTS.iter().map(|s| (s.word, s.what)))
}

const PRESET_KEYS: [Key; 6] = [
    Key::Num1,
    Key::Num2,
    Key::Num3,
    Key::Num4,
    Key::Num5,
    Key::Num6,
];

/// The grid whose planes paging steps through: the CT's, else the dose's.
fn paged_grid(state: &State) -> Option<&Grid> {
    let ct = state.case().ct.as_ref().map(|ct| ct.hu.grid());
    ct.or_else(|| state.results.shown_dose().map(|d| d.gy.grid()))
        .map(|g| g.as_ref())
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
    pub fn new(ctx: &egui::Context) -> Self {
        let (widget, modal) = ctx.memory(|m| (m.focused(), m.top_modal_layer().is_some()));
        Self {
            widget,
            taken: modal || ctx.text_edit_focused(),
            menu: Popup::is_any_open(ctx),
        }
    }
}

/// Turns the keys of this frame into commands, after the panels are drawn: a field clicked in this frame has the focus
/// by then; a field whose typing ended in this frame had it in `previous`, the keyboard before the panels.
pub fn commands(ctx: &egui::Context, previous: Keyboard, state: &State, commands: &mut Commands) {
    let current = Keyboard::new(ctx);
    let has_new_focus = current.widget.is_some() && current.widget != previous.widget;
    if previous.taken || current.taken || has_new_focus {
        return;
    }
    push_shortcuts(ctx, state, true, commands);
    if previous.menu || current.menu {
        return;
    }
    if state.workspace == Workspace::Register {
        register_keys(ctx, state, commands);
    }
    if state.workspace == Workspace::Plan && state.selected_structure().is_some() {
        draw_keys(ctx, state, commands);
    }
    // The arrows turn the selected beam, unless a widget has the focus.
    let free = previous.widget.is_none() && current.widget.is_none();
    let turns = free && state.workspace != Workspace::Register;
    let beam = state
        .selected_beam()
        .filter(|(_, b)| turns && b.read_only.is_none());
    let turning = beam.and_then(|(index, b)| {
        Some((
            index,
            b.control_points.get(state.shown_point(b))?.gantry_deg,
        ))
    });
    push_shortcuts(ctx, state, false, commands);
    // A digit that missed its field must not change the views: the presets belong to the pointer over a view.
    let over_view = state.pointer_mm.is_some();
    ctx.input_mut(|i| {
        for (key, (_, window)) in PRESET_KEYS.into_iter().zip(WINDOW_PRESETS) {
            if over_view && i.consume_key(Modifiers::NONE, key) {
                commands.push(Command::Window(window));
            }
        }
        if let Some((beam, start_deg)) = turning {
            let mut turn = 0.0;
            for (modifiers, step) in [(Modifiers::SHIFT, 10.0), (Modifiers::NONE, 1.0)] {
                turn += step * i.count_and_consume_key(modifiers, Key::ArrowRight) as f64;
                turn -= step * i.count_and_consume_key(modifiers, Key::ArrowLeft) as f64;
            }
            if turn != 0.0 {
                commands.push(Command::Gantry {
                    beam,
                    gantry_deg: start_deg + turn,
                    gesture: None,
                });
            }
        }
        let pages = i.count_and_consume_key(Modifiers::NONE, Key::PageUp) as i32
            - i.count_and_consume_key(Modifiers::NONE, Key::PageDown) as i32;
        if let (true, Some(grid)) = (pages != 0, paged_grid(state)) {
            let mut to = state.crosshair_mm;
            to.z = page_mm(grid, 2, to, pages);
            commands.push(Command::CentreOn(to));
        }
    });
}

/// Pushes the commands of the shortcuts that are pressed, among those that work while a menu is open or among the others.
fn push_shortcuts(ctx: &egui::Context, state: &State, over_menus: bool, commands: &mut Commands) {
    for shortcut in SHORTCUTS.iter().filter(|s| s.over_menus == over_menus) {
        let mut keys = shortcut.keys.iter();
        if keys.any(|keys| ctx.input_mut(|i| i.consume_shortcut(keys))) {
            commands.extend((shortcut.command)(state));
        }
    }
}

/// Keys that take a tool for the selected structure, and keys of the tool that is taken.
fn draw_keys(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let drawing = &state.drawing;
    ctx.input_mut(|i| {
        let tools = [Key::P, Key::S, Key::G, Key::H].into_iter().zip(Tool::ALL);
        for (key, tool) in tools {
            if i.consume_key(Modifiers::NONE, key) && state.why_not_drawn().is_none() {
                commands.push(Command::Draw(DrawAction::Tool(
                    (drawing.tool != Some(tool)).then_some(tool),
                )));
            }
        }
        let Some(tool) = drawing.tool else { return };
        if i.consume_key(Modifiers::NONE, Key::E) {
            commands.push(Command::Draw(DrawAction::Erase(!drawing.erase)));
        }
        for (key, steps) in [(Key::OpenBracket, -1.0), (Key::CloseBracket, 1.0)] {
            if tool.is_round() && i.consume_key(Modifiers::NONE, key) {
                commands.push(Command::Draw(DrawAction::Diameter(stepped(
                    drawing.diameter_mm,
                    steps,
                ))));
            }
        }
        let outlined = drawing.outline.is_some();
        if outlined && i.consume_key(Modifiers::NONE, Key::Backspace) {
            commands.push(Command::Draw(DrawAction::TakeBack));
        }
        for (modifiers, flips) in [(Modifiers::SHIFT, true), (Modifiers::NONE, false)] {
            if outlined && i.consume_key(modifiers, Key::Enter) {
                commands.push(Command::Draw(DrawAction::Close {
                    erase: drawing.erase ^ flips,
                }));
            }
        }
        if i.consume_key(Modifiers::NONE, Key::Escape) {
            commands.push(Command::Draw(if outlined {
                DrawAction::Drop
            } else {
                DrawAction::Tool(None)
            }));
        }
    });
}

/// Keys of the Register workspace: arrows shift along the first image, page keys along its axis, with shift they turn.
fn register_keys(ctx: &egui::Context, state: &State, commands: &mut Commands) {
    let register = &state.register;
    let Some(image) = register.images().first() else {
        return;
    };
    let free = ctx.memory(|m| m.focused().is_none());
    let [right, up, towards] = seen_axes(&image.radiograph.projection);
    let step = register.step;
    let start = *register.poses.now();
    let mut pose = start;
    ctx.input_mut(|i| {
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
            let [turns, shifts] = [Modifiers::SHIFT, Modifiers::NONE].map(|modifiers| {
                let [more, less] =
                    [more, less].map(|key| i.count_and_consume_key(modifiers, key) as f64);
                more - less
            });
            if turns != 0.0 {
                pose = turned(&pose, turn, turns * step);
            }
            pose = shifted(&pose, axis * (shifts * step));
        }
        for (key, way) in [(Key::OpenBracket, -1_isize), (Key::CloseBracket, 1)] {
            if i.consume_key(Modifiers::NONE, key) {
                let index = STEPS.iter().position(|s| *s == step).unwrap_or(1);
                let next = index.saturating_add_signed(way).min(STEPS.len() - 1);
                commands.push(Command::Register(RegisterAction::Step(STEPS[next])));
            }
        }
    });
    if pose != start {
        commands.push(Command::Register(RegisterAction::Move {
            pose,
            gesture: None,
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_shortcuts_share_a_key_and_each_is_in_the_help() {
        let keys: Vec<_> = SHORTCUTS.iter().flat_map(|s| s.keys).collect();
        for (n, key) in keys.iter().enumerate() {
            assert!(!keys[..n].contains(key), "{key:?} twice");
        }
        let words: Vec<_> = help().map(|(word, _)| word).collect();
        assert!(SHORTCUTS.iter().all(|s| words.contains(&s.word)));
        assert!(help().any(|(_, what)| what.contains("zoom")));
    }
}
