//! The list of goals in the Compare workspace, and the field for a typed goal.

use super::{buttons, form, lungs};
use crate::command::{Command, Commands};
use crate::feature::goals::command::GoalAction;
use crate::kit::{section, theme};
use crate::state::State;
use case::{Case, Metric};
use egui::text::{CCursor, CCursorRange};
use egui::text_edit::TextEditState;
use egui::{Button, Key, Label, Modifiers, RichText, TextEdit, Ui};

/// Shows the goals of the Plan workspace.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Clinical goals");
    for (index, goal) in state.goals().iter().enumerate() {
        ui.horizontal(|ui| {
            let button = ui.add(Button::new("×").small());
            if button
                .accessible_name(format!("Remove goal {}", index + 1))
                .clicked()
            {
                commands.push(Command::Goals(GoalAction::Remove(index)));
            }
            let open = state.goal_editor.open == Some(index);
            let text = Button::selectable(open, RichText::new(goal.to_string()).small()).truncate();
            if ui.add(text).on_hover_text("Click to change").clicked() {
                commands.push(Command::Goals(GoalAction::Open((!open).then_some(index))));
            }
        });
        if state.goal_editor.open == Some(index) {
            form::show(ui, state, index, goal, commands);
        }
    }
    lungs::offer(ui, state, commands);
    if state.goals_are_usual() {
        let none = state.goals().is_empty();
        let text = if none {
            "none"
        } else {
            "the usual ones of the target, until you change or add one"
        };
        ui.label(RichText::new(text).small().color(theme::palette(ui).weak));
    }
    ui.horizontal(|ui| buttons(ui, state, commands));
    typed(ui, state, commands);
}

/// The field in which a goal is typed.
pub(crate) fn typed(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.horizontal(|ui| {
        let mut text = state.goal_editor.draft.clone();
        let id = egui::Id::unique("typed goal");
        let offers = completions(state.case(), &text);
        let completes = ui.memory(|m| m.has_focus(id)) && !offers.is_empty();
        if completes && ui.input_mut(|i| i.consume_key(Modifiers::NONE, Key::Tab)) {
            text.clone_from(&offers[0].1);
            commands.push(Command::Goals(GoalAction::Draft(text.clone())));
            cursor_to_end(ui, id, &text);
        }
        // A fixed id keeps the focus while rows above come and go.
        let field = TextEdit::singleline(&mut text).id(id).lock_focus(completes);
        let field = field.desired_width(190.0).hint_text("Cord: Dmax <= 45 Gy");
        let response = ui.add(field).accessible_name("New goal");
        let response = response.on_hover_text(
            "Or type it: structure, metric, limit; (tolerance 2 Gy, priority 2) behind it where wanted",
        );
        if response.changed() {
            commands.push(Command::Goals(GoalAction::Draft(text.clone())));
        }
        let entered = response.lost_focus() && ui.input(|i| i.key_pressed(Key::Enter));
        if entered {
            // The next goal, or the correction, is typed here: its letters are no shortcuts.
            response.request_focus();
        }
        let add = ui.add(Button::new(RichText::new("Add").small())).accessible_name("Add typed goal");
        if (add.clicked() || entered) && !text.trim().is_empty() {
            commands.push(Command::Goals(GoalAction::AddTyped(text)));
        }
    });
    offered(ui, state, commands);
    if let Some(why) = &state.goal_editor.fault {
        ui.add(Label::new(RichText::new(why).small().color(theme::palette(ui).error)).wrap());
    }
    // The field is the last of the list: what is said below it is brought into view once it changes.
    let shown = (
        state.goal_editor.draft.clone(),
        state.goal_editor.fault.clone(),
    );
    let id = egui::Id::unique("said of the typed goal");
    let previous: (String, Option<String>) = ui.data(|d| d.get_temp(id)).unwrap_or_default();
    if previous != shown {
        if !shown.0.is_empty() {
            ui.scroll_to_cursor(Some(egui::Align::Max));
        }
        ui.data_mut(|d| d.insert_temp(id, shown));
    }
}

/// Maximum number of completions offered.
const OFFERED: usize = 6;

/// Completions of the typed text, each with the resulting text: structures before the colon, metrics behind it.
fn completions(case: &Case, text: &str) -> Vec<(String, String)> {
    let Some((structure, metric)) = text.rsplit_once(':') else {
        if text.trim().is_empty() {
            return Vec::new();
        }
        let names = case.structures.completions(text);
        let names = names.into_iter().take(OFFERED);
        return names
            .map(|s| (s.name.clone(), format!("{}: ", s.name)))
            .collect();
    };
    let prefix = metric.trim().to_lowercase();
    // The most usual metrics first.
    let usual = [
        Metric::MAX,
        Metric::MEAN,
        Metric::D95,
        Metric::D2,
        Metric::V95,
    ];
    let listed = Metric::LISTED
        .into_iter()
        .filter(|metric| !usual.contains(metric));
    let names = usual
        .into_iter()
        .chain(listed)
        .map(|metric| metric.to_string());
    let metrics = names.filter(|name| {
        let name = name.to_lowercase();
        name.starts_with(&prefix) && name != prefix
    });
    metrics
        .take(OFFERED)
        .map(|name| (name.clone(), format!("{structure}: {name} ")))
        .collect()
}

/// Completions of the typed text: a click, or the tabulator for the first.
fn offered(ui: &mut Ui, state: &State, commands: &mut Commands) {
    let offers = completions(state.case(), &state.goal_editor.draft);
    if offers.is_empty() {
        return;
    }
    ui.horizontal_wrapped(|ui| {
        ui.spacing_mut().item_spacing.x = 4.0;
        for (n, (name, text)) in offers.into_iter().enumerate() {
            let button = ui.add(Button::new(RichText::new(&name).small()));
            let hint = if n == 0 {
                "The tabulator takes it too"
            } else {
                "Completes what is typed"
            };
            if button
                .accessible_name(format!("Complete {name}"))
                .on_hover_text(hint)
                .clicked()
            {
                let id = egui::Id::unique("typed goal");
                cursor_to_end(ui, id, &text);
                ui.memory_mut(|m| m.request_focus(id));
                commands.push(Command::Goals(GoalAction::Draft(text)));
            }
        }
    });
}

/// Typing goes on behind a completed text.
fn cursor_to_end(ui: &Ui, id: egui::Id, text: &str) {
    let mut field = TextEditState::load(ui.ctx(), id).unwrap_or_default();
    let end = CCursor::new(text.chars().count());
    field.cursor.set_char_range(Some(CCursorRange::one(end)));
    field.store(ui.ctx(), id);
}
