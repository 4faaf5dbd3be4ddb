//! The list of goals in the Compare workspace, and the field for a typed goal.

use super::{buttons, form};
use crate::command::{Command, Commands, GoalAction};
use crate::panel::section;
use crate::state::State;
use crate::theme;
use egui::{Button, Key, Label, RichText, TextEdit, Ui};

/// Shows the goals, which are those of the Plan workspace.
pub fn show(ui: &mut Ui, state: &State, commands: &mut Commands) {
    section(ui, "Clinical goals");
    for (index, goal) in state.goals().iter().enumerate() {
        ui.horizontal(|ui| {
            let button = ui.add(Button::new("×").small());
            if button.accessible_name(format!("Remove goal {}", index + 1)).clicked() {
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
    if state.goals_are_usual() {
        let none = state.goals().is_empty();
        let text = if none { "none" } else { "the usual ones of the target, until you change or add one" };
        ui.label(RichText::new(text).small().color(theme::of(ui).weak));
    }
    ui.horizontal(|ui| buttons(ui, state, commands));
    typed(ui, state, commands);
}

/// The field in which a goal is typed.
pub(super) fn typed(ui: &mut Ui, state: &State, commands: &mut Commands) {
    ui.horizontal(|ui| {
        let mut text = state.goal_editor.draft.clone();
        // An identity of its own: the rows above come and go, and the focus stays.
        let field = TextEdit::singleline(&mut text).id(egui::Id::unique("typed goal"));
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
    if let Some(why) = &state.goal_editor.fault {
        ui.add(Label::new(RichText::new(why).small().color(theme::of(ui).error)).wrap());
    }
}
